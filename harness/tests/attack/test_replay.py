"""``fcvi replay``: regressions against the reference port, differences found where they were made, hostile input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fcvi.fc import codec
from fcvi.capture.reader import Reader, write
from fcvi.engine.attachment import Reply
from fcvi.engine.declaration import Declaration
from fcvi.engine.pixit import pixit_for
from fcvi.engine.target import parse
from fcvi.replay import bare, trace
from fcvi.replay.control import Calls
from fcvi.replay.ids import Translation
from fcvi.replay.recording import CallEvent, ReturnEvent
from fcvi.replay.session import Session

from conformance.tests.refusing import Refusal
from ..conftest import CONNECT_RQST, FCVI, PCAPS, RECORDED, ROOT, fcvi

REGRESSIONS = sorted((PCAPS / "regressions").glob("*.pcapng"))
INDEPENDENT = f"exec:/usr/bin/python3 {ROOT}/harness/tests/independent/endpoint.py"
RETRY = PCAPS / "regressions/retry-succeeds.pcapng"

#: Everything that may be otherwise: addresses of both sides, time-outs.
ELSEWHERE = """[pixit]
r_a_tov_ms = 3000
e_d_tov_ms = 900
dut = { port_name = "50000000000000f2", n_port_id = "0a0b0c", host = ["20010db8000000000000000000000002"] }
tester = { port_name = "50000000000000f1", n_port_id = "0d0e0f", host = ["20010db8000000000000000000000001"] }
"""


def test_there_are_regressions() -> None:
    """Each with its expectations, and with what it is about in words."""
    assert len(REGRESSIONS) >= 7
    for path in REGRESSIONS:
        assert path.with_suffix(".toml").read_text().startswith("# ")


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda p: p.stem)
def test_regression(path: Path, tmp_path: Path) -> None:
    """The reference port answers as recorded, also with other addresses and timers."""
    done = fcvi("replay", str(path))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    elsewhere = tmp_path / "lab.toml"
    elsewhere.write_text(ELSEWHERE)
    endpoint, out = f"exec:{FCVI} endpoint", tmp_path / "o.pcapng"
    done = fcvi("replay", str(path), "--dut", endpoint, "--pics", str(elsewhere), "--out", str(out))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    with Reader(str(out)) as reader:
        ids = {int(codec.get("FC", "S_ID", r.data)) for r in reader}
    assert ids == {0x0A0B0C, 0x0D0E0F}


def altered(tmp_path: Path, number: int, byte: int, value: int) -> Path:
    """The retry regression with one byte of one frame recorded otherwise, as a plain capture."""
    with Reader(str(RETRY)) as reader:
        records = list(reader)
    frames = []
    for r in records:
        data = bytearray(r.data)
        if r.number == number:
            data[byte] = value
        frames.append((r.time_us, bytes(data), r.sof, r.eof))
    path = tmp_path / "altered.pcap"
    write(path, 225, frames)
    shutil.copy(RETRY.with_suffix(".toml"), path.with_suffix(".toml"))
    return path


def test_first_difference(tmp_path: Path) -> None:
    """Table 7: RETRY is bit 4 of byte 5 of the Device_Header, which follows the header's 24 bytes. No requirement decides it."""
    path = altered(tmp_path, 4, 29, 0x01)
    done = fcvi("replay", str(path), "--side", "010100", "--expect", str(path.with_suffix(".toml")))
    assert done.returncode == 4
    first = done.stdout.splitlines()[0]
    assert first == ("first difference: frame 4 (recorded frame 4): FCVI_CONNECT_RQST: RETRY, byte 29 bits 4-4: "
                     "recorded 0h, seen 1h")  # fmt: skip
    done = fcvi("replay", str(path), "--side", "010100", "--json")
    said = json.loads(done.stdout)
    assert said["first"] == said["differences"][0]
    assert {k: said["first"][k] for k in ("kind", "field", "recorded", "seen", "frame", "recorded_frame", "byte")} == {
        "kind": "field", "field": "RETRY", "recorded": "0h", "seen": "1h", "frame": 4, "recorded_frame": 4, "byte": 29,
    }  # fmt: skip
    assert fcvi("replay", str(path), "--side", "010100", "--ignore", "RETRY").returncode == 0


def test_consistent_identifiers(tmp_path: Path) -> None:
    """The DUT's OX_ID may be any, but the recorded RESP2 has to be of the Exchange of the recorded RESP1."""
    path = altered(tmp_path, 6, 17, 0x00)
    done = fcvi("replay", str(path), "--side", "010100")
    assert done.returncode == 4 and "FCVI_CONNECT_RESP2" in done.stdout


def test_missing_frame() -> None:
    """A device that never tries again. Without the case behind a recording nobody says whether it had to."""
    done = fcvi("replay", str(RETRY), "--dut", f"{INDEPENDENT} --fault no-retry", "--json")
    assert done.returncode == 4
    missing = [d for d in json.loads(done.stdout)["differences"] if d["kind"] == "missing"]
    assert (missing[0]["iu"], missing[0]["recorded_frame"], missing[0]["frame"]) == ("FCVI_CONNECT_RQST", 4, None)


def test_another_implementation() -> None:
    """An endpoint by other people has other handles and ids; it does the same."""
    done = fcvi("replay", str(PCAPS / "regressions/disconnect-from-both-sides.pcapng"), "--dut", INDEPENDENT, "--ignore", "state")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_return_code(tmp_path: Path) -> None:
    """The control plane is compared as well."""
    for suffix in (".pcapng", ".toml"):
        shutil.copy(RETRY.with_suffix(suffix), tmp_path)
    toml = tmp_path / "retry-succeeds.toml"
    text = toml.read_text()
    at = text.index('"VipConnectRequest"')
    toml.write_text(text[:at] + text[at:].replace("VIP_SUCCESS", "VIP_TIMEOUT", 1))
    done = fcvi("replay", str(tmp_path / RETRY.name))
    assert done.returncode == 4 and fcvi("replay", "--strict", str(tmp_path / RETRY.name)).returncode == 1
    assert "VipConnectRequest return: recorded VIP_TIMEOUT, seen VIP_SUCCESS" in done.stdout


def test_recorded_case(tmp_path: Path) -> None:
    """A case of a report directory: by capture and by trace, judged offline, kept as a regression."""
    report = tmp_path / "report"
    assert fcvi("run", "--select", "5.3.2", "--quiet", "--report", str(report)).returncode == 0
    capture = next(p for p in sorted(report.glob("5.3.2*.pcapng")))
    trace = report / "evidence" / f"{capture.stem}.jsonl"
    for path in (capture, trace):
        assert fcvi("replay", str(path)).returncode == 0
        done = fcvi("replay", str(path), "--offline")
        assert (done.returncode, done.stdout.split(": ")[1].strip()) == (0, "pass")
    assert fcvi("replay", str(capture), "--keep", str(tmp_path / "kept")).returncode == 0
    assert fcvi("replay", str(tmp_path / "kept" / capture.name)).returncode == 0


def test_a_capture_without_its_calls_accuses_nobody_who_stays_silent(tmp_path: Path) -> None:
    report = tmp_path / "report"
    assert fcvi("run", "--select", "5.3.2/dut-client", "--quiet", "--report", str(report)).returncode == 0
    lone = tmp_path / "lone.pcapng"
    shutil.copy(next(report.glob("5.3.2__dut-client.pcapng")), lone)
    done = fcvi("replay", str(lone))
    assert done.returncode == 4 and "the device was given no call" in done.stdout and "--expect" in done.stdout, done.stdout
    assert json.loads(fcvi("replay", "--json", str(lone)).stdout)["uncalled"] is True
    broken = tmp_path / "library" / "retry.pcapng"
    broken.parent.mkdir()
    shutil.copy(lone, broken.parent)
    shutil.copy(RETRY, broken)
    broken.with_suffix(".toml").write_text(RETRY.with_suffix(".toml").read_text().replace('"VIP_SUCCESS"', '"VIP_TIMEOUT"'))
    done = fcvi("replay", str(broken.parent))
    assert done.returncode == 4 and "1 suspicious, 1 without calls" in done.stdout, done.stdout


def test_offline_fail(tmp_path: Path) -> None:
    """The verdict of a broken device, and its exit status."""
    fcvi("run", "--dut", f"{INDEPENDENT} --fault no-retry", "--select", "C.5.7.2", "--quiet", "--report", str(tmp_path / "r"))
    capture = next((tmp_path / "r").glob("C.5.7.2__dut-client__succeeds.pcapng"))
    done = fcvi("replay", str(capture), "--offline", "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["verdict"] == "fail"


def hostile(tmp_path: Path) -> dict[str, list[str]]:
    """Arguments by what is wrong with them."""
    whole = RETRY.read_bytes()
    files = {"cut.pcapng": whole[: len(whole) // 2], "empty.pcap": b"", "noise.pcap": bytes(range(256)) * 8}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    write(tmp_path / "bare.pcap", 225, [(0, bytes.fromhex(CONNECT_RQST), 0x2E, 0x42)])
    tomls = {
        "noise": "\0\1", "step": "step = 3", "call": '[[step]]\ncall = "reset"', "after": '[[step]]\nafter = 9\nlink = "lip"',
        "config": "[config]\nclass = 4", "unknown": "clas = 4", "nothing": "[[step]]\nafter = 0", "time": "end_us = -1",
        "link": '[[step]]\nlink = "up"', "side": "side = 3", "params": '[[step]]\ncall = "VipCreateVi"\nparams = 1',
    }  # fmt: skip
    wrong = {name: [str(tmp_path / name)] for name in files}
    for name, text in tomls.items():
        (tmp_path / f"{name}.toml").write_text(text)
        wrong[f"toml {name}"] = [str(tmp_path / "bare.pcap"), "--side", "010100", "--expect", str(tmp_path / f"{name}.toml")]
    evidence = tmp_path / "r" / "evidence"
    evidence.mkdir(parents=True)
    traces = {"a": '{"trace":1,"case":"a"}', "b": '{"trace":1,"case":"b"}\n{"op":"reset","params":{}}', "c": "[1]", "d": "\xff"}
    for name, text in traces.items():
        (evidence / f"{name}.jsonl").write_text(text + "\n")
        wrong[f"trace {name}"] = [str(evidence / f"{name}.jsonl")]
    wrong["no side"] = [str(tmp_path / "bare.pcap")]
    wrong["no such side"] = [str(tmp_path / "bare.pcap"), "--side", "abcdef"]
    wrong["side is no number"] = [str(tmp_path / "bare.pcap"), "--side", "x"]
    wrong["not there"] = [str(tmp_path / "nothing.pcap")]
    wrong["directory"] = [str(tmp_path / "r")]
    wrong["not FC-VI"] = [str(PCAPS / "crafted/fcoe-variants.pcap"), "--side", "ffffff"]
    wrong["offline"] = [str(tmp_path / "bare.pcap"), "--offline"]
    return wrong


def test_hostile(tmp_path: Path) -> None:
    """One clear line, exit status 2."""
    for name, args in hostile(tmp_path).items():
        done = fcvi("replay", *args)
        assert done.returncode == 2, (name, done)
        assert done.stdout == "" and done.stderr.startswith("fcvi: ") and done.stderr.count("\n") == 1, (name, done)


@pytest.mark.parametrize("value", ["-1", str(2**53), "true", '"x"'])
def test_times_that_no_case_has_are_refused_by_name(tmp_path: Path, value: str) -> None:
    write(tmp_path / "bare.pcap", 225, [(0, bytes.fromhex(CONNECT_RQST), 0x2E, 0x42)])
    (tmp_path / "bare.toml").write_text(f"start_us = {value}\n")
    done = fcvi("replay", str(tmp_path / "bare.pcap"), "--side", "010100")
    assert done.returncode == 2 and "start_us must be a number of microseconds" in done.stderr, done


def test_every_case_replays_from_the_repository() -> None:
    """The calls stand beside each capture; where a link delayed frames, their order is all that may differ."""
    done = fcvi("replay", "--json", str(RECORDED / "cases"))
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr, len(said)) == (0, "", len(list((RECORDED / "cases").glob("*.pcapng"))))
    assert {d["kind"] for one in said for d in one["differences"]} <= {"order"}
    assert not any(one["not_applicable"] for one in said)


CONFORMING = "4.2.30", "5.3.2.combined", "8.5.2.a", "B.R2a", "C.R1", "5.2.1"
SLOW = " --choose resp1_delay=3000000 --choose resp2_delay=3000000 --choose resp3_delay=3000000 " \
       "--choose disconnect_resp_delay=3000000"  # fmt: skip


@pytest.mark.parametrize("choice", [
    "", " --choose handle=max --choose split=200", " --choose retry_waits_for_ba_acc=yes", SLOW, " --choose prli=first",
    SLOW + " --choose prli=first",
])  # fmt: skip
def test_a_conforming_device_breaks_nothing_by_differing(choice: str) -> None:
    """What another implementation may do is permitted; at most somebody has to look at it, and that is no accusation."""
    files = [str(RECORDED / f"cases/{name}.pcapng") for name in CONFORMING] + list(map(str, REGRESSIONS))
    done = fcvi("replay", "--json", "--dut", INDEPENDENT + choice, *files)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(said) == len(files) and [one["file"] for one in said if one["classes"]["breach"]] == []
    assert done.returncode in (0, 4), done


@pytest.mark.parametrize("choice", [SLOW, " --choose prli=first", SLOW + " --choose prli=first"])
def test_a_slow_device_and_one_that_asks_first_are_waited_for_and_answered(choice: str) -> None:
    """Answers may take R_A_TOV (8.3, E123), and a PRLI is nobody's business (E84): all that was recorded comes."""
    same = [path for path in REGRESSIONS if path.stem != "disconnect-from-both-sides"]  # of its states 8.2 d leaves two open
    done = fcvi("replay", "--json", "--dut", INDEPENDENT + choice, *map(str, same))
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and [d for one in said for d in one["differences"] if d["class"] != "permitted"] == []
    told = {(d["kind"], d["field"]) for one in said for d in one["differences"]}
    assert ("service", "PRLI") in told or "prli" not in choice


@pytest.mark.parametrize("method", ["VipConnectRequest", "VipConnectWait", "VipConnectAccept", "VipDisconnect", "VipCreateVi"])
def test_a_call_that_is_not_served_decides_nothing(method: str) -> None:
    """-32601: what needs the call is undecided, and the device is not accused."""
    for path in REGRESSIONS:
        recording = trace.find(path)
        loaded = bare.load(path, None, None) if recording is None else trace.load(*recording)
        dut = parse("ref").attach()
        refusal = Refusal(dut)
        refusal.refuse(method, -32601, False)
        with Session(lambda: dut, Declaration(), lambda recorded, given, clock: pixit_for(clock), frozenset()) as session:
            played = session.play(loaded)
        if method not in refusal.made:
            continue
        assert played.count("breach") == 0 and played.count("suspicious") > 0, (path, played.differences)
        assert any("not served" in d.why for d in played.differences if d.kind == "call"), (path, played.differences)


@pytest.mark.parametrize("fault, name, requirement", [
    ("resp2-no-initiative", "8.5.2.a", "FCVI-"), ("no-retry", "8.5.2.a", "FCVI-8.5.4"), ("reserved-flag", "4.2.30", "FCVI-T09"),
])  # fmt: skip
def test_a_breach_is_told_from_a_choice(fault: str, name: str, requirement: str) -> None:
    """Codec, monitor or the recorded case name the requirement."""
    done = fcvi("replay", "--json", "--dut", f"{INDEPENDENT} --fault {fault}", str(RECORDED / f"cases/{name}.pcapng"))
    first = json.loads(done.stdout)["first"]
    assert done.returncode == 1 and first["class"] == "breach" and first["field"].startswith(requirement), first


def test_what_a_device_does_not_claim_is_not_applicable() -> None:
    """Nobody fails for a Reliability Level that its PICS does not have."""
    done = fcvi("replay", "--dut", INDEPENDENT, str(PCAPS / "regressions/rdma-read-answered.pcapng"))
    assert done.returncode == 0 and done.stdout.startswith("not applicable: the recording needs reliable_delivery"), done.stdout


def test_a_permitted_difference_counts_only_when_it_is_asked_for() -> None:
    words = "replay", "--dut", INDEPENDENT, str(RETRY), "--ignore", "state"
    assert fcvi(*words).returncode == 0 and fcvi(*words, "--strict").returncode == 1


def test_a_library_goes_on_after_a_bad_file(tmp_path: Path) -> None:
    """A line for what differs, one for all; the status is the highest."""
    for suffix in (".pcapng", ".toml"):
        shutil.copy(RETRY.with_suffix(suffix), tmp_path)
    (tmp_path / "a.pcap").write_bytes(b"noise")
    done = fcvi("replay", str(tmp_path))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "a.pcap" in done.stderr
    assert done.stdout == "2 recordings: 1 not readable, 1 same\n"
    done = fcvi("replay", str(tmp_path), "--dut", "exec:true")
    assert done.returncode == 3 and done.stdout == "2 recordings: 1 not played, 1 not readable\n"
    for words in (["--offline"], ["--keep", str(tmp_path)], ["--out", str(tmp_path / "o")]):
        assert fcvi("replay", str(tmp_path), *words).returncode == 2


def test_frames_that_were_sent_together_are_sent_together(tmp_path: Path) -> None:
    """A device on a pipe answers as soon as it is let: between two frames that had no time between them it must not be."""
    endpoint = f"exec:{FCVI} endpoint"
    done = fcvi("run", "--dut", endpoint, "--quiet", "--select", "5.3.4.a", "--record", str(tmp_path / "kept"))
    assert done.returncode == 0, done.stderr
    kept = sorted((tmp_path / "kept").glob("*.pcapng"))
    assert len(kept) == len(list((tmp_path / "kept").glob("*.toml"))) > 1
    done = fcvi("replay", "--strict", "--dut", endpoint, str(tmp_path / "kept"))
    assert (done.returncode, done.stdout) == (0, f"{len(kept)} recordings: {len(kept)} same\n")


def test_a_recording_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = fcvi("run", "--quiet", "--select", "5.3.2", "--record", str(tmp_path / "file"))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "--record" in done.stderr


@pytest.mark.parametrize("dut, status", [("exec:/nonexistent", 3), ("unix:/nonexistent", 3), ("exec:true", 3), ("nonsense", 2)])
def test_attachment_fails(dut: str, status: int) -> None:
    """One line. What names no device is wrong usage."""
    done = fcvi("replay", str(RETRY), "--dut", dut)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1)


def test_what_another_implementation_says_besides_is_no_difference() -> None:
    """The protocol has unknown members ignored; what was recorded has to be there all the same."""
    calls = Calls(Translation(), frozenset(), lambda us: us)
    call = CallEvent(0, 0, 1, "VipConnectWait", {})
    recorded = ReturnEvent(0, 0, 1, {"return": "VIP_SUCCESS"})
    more = Reply("VipConnectWait", True, {"return": "VIP_SUCCESS", "vendor": 7})
    assert calls.compare_return(call, recorded, more) == []
    other = Reply("VipConnectWait", True, {"return": "VIP_TIMEOUT", "vendor": 7})
    assert [d.words() for d in calls.compare_return(call, recorded, other)] == [
        "VipConnectWait return: recorded VIP_SUCCESS, seen VIP_TIMEOUT"
    ]
    (missing,) = calls.compare_return(call, recorded, Reply("VipConnectWait", True, {"vendor": 7}))
    assert missing.seen == "nothing"
