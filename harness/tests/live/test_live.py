"""The suite against the reference port over real frames in real time."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from ..conftest import FCVI
from .test_privileges import nothing_left
from .net import DEVICE, TESTER, Net

#: Short cases of every kind: setup from both sides, messages, loss, both classes, a timer, a disconnect.
SELECTION = "A.1/*,5.3.2/dut-client,5.3.2/dut-server,C.R3*,D.R1*,D.R3"


def test_cases_pass_over_real_frames_and_tshark_reads_them(net: Net, tmp_path: Path) -> None:
    agent = net.endpoint(tmp_path / "control")
    wire = tmp_path / "wire.pcap"
    dumpcap = shutil.which("dumpcap")
    capture = None
    if dumpcap is not None:
        capture = net.start(dumpcap, "-q", "-i", TESTER, "-w", str(wire), until="File:")
    report = tmp_path / "report"
    done = net.fcvi("run", "--dut", f"fcoe:{TESTER}", "--agent", agent, "--select", SELECTION, "--report", str(report))
    assert done.returncode == 0, done.stdout + done.stderr
    data = json.loads((report / "report.json").read_text())
    assert data["summary"]["pass"] >= 10
    judged = subprocess.run([str(FCVI), "judge", str(report)], capture_output=True, text=True, timeout=120, check=False)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    if capture is None:
        pytest.skip("no dumpcap: the wire was not captured")
    net.stop_capture(capture)
    _tshark_reads(wire, _crossed(report))


def _crossed(report: Path) -> int:
    """Frames that crossed the wire, by the evidence."""
    count = 0
    for trace in (report / "evidence").glob("*.jsonl"):
        for entry in map(json.loads, trace.read_text().splitlines()[1:]):
            count += (entry["op"], entry.get("method")) == ("notify", "frame")
            count += sum(note[0] == "frame" for note in entry.get("notes", []))
    return count


def _tshark_reads(wire: Path, frames: int) -> None:
    """FCoE throughout, every CRC right but those that a case spoils, nothing malformed in FCoE or FC-2."""
    fields = ["-T", "fields", "-e", "fcoe.crc.status", "-e", "fcoe.eof", "-e", "_ws.malformed"]
    command = ["tshark", "-r", str(wire), "-Y", "fcoe", *fields]
    read = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    lines = [line.split("\t") for line in read.stdout.splitlines()]
    assert len(lines) >= frames > 0
    assert all(status == "1" and not malformed for status, _, malformed in lines)
    assert {eof for _, eof, _ in lines} <= {"0x41", "0x42"}


#: An upper tester that answers everything, and misbehaves on the wire at the first VIPL call.
AGENT = f"""
import json, os, socket, subprocess, sys, threading, zlib
mode = sys.argv[1]
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[2])
listening.listen()
print("listening", flush=True)
client, _ = listening.accept()
for end in (0, 1):
    os.dup2(client.fileno(), end)
def attack():
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind(("{DEVICE}", 0))
    head = bytes.fromhex("0efc00010100" "0efc00010200" "8906")
    frame = head + bytes(13) + b"\\x2e" + os.urandom(2112) + b"\\x42\\0\\0\\0"
    if mode == "floods":
        while True:
            s.send(frame)
    if mode == "sends garbage at line rate":
        noise = [head + os.urandom(n % 2144) for n in range(0, 40000, 97)]
        while True:
            for frame in noise:
                s.send(frame)
    if mode == "opens every exchange":
        fc = "06010100" "00010200" "58290000" "00020000" "%04xffff" "00000000" + "00" * 64
        for ox_id in range(65535):
            data = bytes.fromhex(fc % ox_id)
            crc = zlib.crc32(data).to_bytes(4, "little")
            s.send(head + bytes(13) + b"\\x2e" + data + crc + b"\\x42\\0\\0\\0")
    for length in list(range(0, 64)) + [100, 1000, 2144] * 20:
        s.send(head + os.urandom(length))
        s.send(head[:12] + b"\\x89\\x14" + os.urandom(length))
for line in sys.stdin:
    m = json.loads(line)
    method, result = m["method"], {{"return": "VIP_SUCCESS", "vi": 1, "conn": 1, "mem": 1, "va": "0" * 16, "handle": 1}}
    result.update(state="idle", State="VIP_STATE_IDLE")
    if method == "hello":
        result = {{"implementation": "x", "version": "1", "clock": "real", "pics": {{"client": True, "server": True,
                  "class3": True, "unreliable_delivery": True, "send": True}}}}
    elif method.startswith("VipConnect") and mode == "has no exchange left":
        result["return"] = "VIP_ERROR_RESOURCE"
    elif method == "VipCreateVi" and mode not in ("is silent", "has no exchange left"):
        if mode == "goes down":
            subprocess.run(["ip", "link", "set", "{TESTER}", "down"])
        elif mode == "flaps":
            subprocess.run("ip link set {DEVICE} down; ip link set {DEVICE} up", shell=True)
        else:
            threading.Thread(target=attack, daemon=True).start()
    if "id" in m:
        answer = {{"jsonrpc": "2.0", "id": m["id"], "result": result}}
        if method.startswith("probe."):
            answer = {{"id": m["id"], "error": {{"code": -32601, "message": "no"}}}}
        if not method.startswith("VipConnect") or mode == "has no exchange left":
            print(json.dumps(answer), flush=True)
"""
ATTACKS = [
    ("goes down", {"error"}, "interface is down"),
    ("flaps", {"error"}, "went down for a moment"),
    ("is silent", {"fail"}, "no FCVI_CONNECT_RQST"),
    ("floods", {"fail", "error"}, "floods|host lost"),
    ("sends garbage", {"fail", "error"}, ""),
    ("sends garbage at line rate", {"fail", "error"}, "floods|host lost|malformed|no FCVI_CONNECT_RQST"),
    ("opens every exchange", {"fail", "error"}, "floods|host lost"),
    ("has no exchange left", {"fail"}, "no FCVI_CONNECT_RQST"),
]


@pytest.mark.parametrize("mode, verdicts, words", ATTACKS, ids=[a[0] for a in ATTACKS])
def test_a_device_that(net: Net, tmp_path: Path, mode: str, verdicts: set[str], words: str) -> None:
    """The run ends in bounded time and memory, nothing passes, and the report says why."""
    script = tmp_path / "agent.py"
    script.write_text(AGENT)
    report = tmp_path / "report"
    limited = f"ulimit -v 2000000; exec {FCVI} \"$@\""
    # not a child of the suite, which would have no right to an interface
    net.start("/usr/bin/python3", str(script), mode, str(tmp_path / "control"), until="listening")
    done = net.run(
        "sh", "-c", limited, "sh", "run", "--dut", f"fcoe:{TESTER}", "--agent", f"unix:{tmp_path / 'control'}",
        "--select", "5.3.2/dut-client,C.R3/rqst/ba-acc", "--report", str(report), "--rpc-timeout", "2", "--r-a-tov", "200",
    )  # fmt: skip
    assert done.returncode in (1, 3), done.stdout + done.stderr
    results = [r for r in json.loads((report / "report.json").read_text())["results"] if r["verdict"] != "not-applicable"]
    assert results[0]["verdict"] in verdicts and "pass" not in {r["verdict"] for r in results}
    assert re.search(words, " ".join(r["reason"] for r in results)), [r["reason"] for r in results]


_USER = "setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps +net_raw,+net_admin --ambient-caps +net_raw,+net_admin"
#: How the right to open an interface may come: what stands before a command.
WAYS = {
    "root by login": "env SUDO_UID= SUDO_GID=", "sudo": "env SUDO_UID=1000 SUDO_GID=1000",
    "ambient": f"env SUDO_UID= SUDO_GID= {_USER}",
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_nothing_that_runs_has_a_capability(net: Net, way: str) -> None:
    """The suite, what it starts, the endpoint and the agent, once the interface is open; a socket goes with its process."""
    as_before = WAYS[way].split()
    if way != "root by login" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    if way != "root by login" and subprocess.run([*_USER.split(), "test", "-r", str(FCVI)], check=False).returncode != 0:
        pytest.skip("another user cannot read the tree")
    place = Path(tempfile.mkdtemp(prefix="fcvi-ways-"))
    place.chmod(0o777)
    try:
        _nothing_left(net, as_before, place)
    finally:
        shutil.rmtree(place)


def _nothing_left(net: Net, as_before: list[str], place: Path) -> None:
    on = f"fcoe:{DEVICE}"
    control = place / "endpoint"
    net.start(*as_before, str(FCVI), "endpoint", "--on", on, "--control", f"unix:{control}", until="control at")
    net.start(*as_before, str(FCVI.with_name("fcvi-agent")), "--on", on, f"unix:{place / 'agent'}", until="listening")
    for process, name in zip(net.started(), ("endpoint", "agent")):
        nothing_left(Path(f"/proc/{process.pid}/status").read_text(), 1)
        assert (place / name).exists()
        net.stop(process)
        assert not (place / name).exists(), name
    child = f"cat /proc/self/status /proc/$PPID/status > {place / 'both'}; exit 1"
    agent = f"exec:sh -c '{child}'"
    done = net.run(*as_before, str(FCVI), "run", "--dut", f"fcoe:{TESTER}", "--agent", agent, "--select", "5.3.2/dut-client")
    assert (place / "both").exists(), done.stderr
    nothing_left((place / "both").read_text(), 2)  # the device, and the keeper that started it
    done = net.run(*as_before, "sh", "-c", _PARENTS, "sh", str(FCVI), f"fcoe:{TESTER}", str(place / "suite"))
    nothing_left((place / "suite").read_text(), 1)


#: Runs the suite with a device that tells the status of the process which started its keeper: the suite itself.
_PARENTS = r"""
device="exec:sh -c 'suite=\$(sed -n s/^PPid:.//p /proc/\$PPID/status); cat /proc/\$suite/status > $3; exit 1'"
exec "$1" run --dut "$2" --agent "$device" --select 5.3.2/dut-client
"""


def test_a_carrier_that_comes_late_is_waited_for(net: Net, tmp_path: Path) -> None:
    """The other end of the cable is set up while the endpoint starts already."""
    assert net.run("ip", "link", "set", TESTER, "down").returncode == 0
    up = f"(sleep 0.7; ip link set {TESTER} up) & exec {FCVI} endpoint --on fcoe:{DEVICE} --control unix:{tmp_path / 'control'}"
    net.start("sh", "-c", up, until="control at")


def test_mutated_frames_over_an_interface(net: Net, tmp_path: Path) -> None:
    """fuzz reaches a device by its frames and its upper tester; without an upper tester it says so in one line."""
    agent = net.endpoint(tmp_path / "control")
    words = ("fuzz", "--dut", f"fcoe:{TESTER}", "--batches", "2", "--frames", "3", "--r-a-tov", "200")
    done = net.fcvi(*words, "--agent", agent)
    assert done.returncode == 0, done.stdout + done.stderr
    alone = net.fcvi(*words)
    assert alone.returncode == 2 and "--agent" in alone.stderr and alone.stderr.count("\n") == 1, alone.stderr


def test_vn2vn_over_real_frames(net: Net, tmp_path: Path) -> None:
    """Two ends that claim their identifiers by FIP; tshark finds nothing wrong with it."""
    pics = tmp_path / "pics.toml"
    pics.write_text('[pixit]\ndut = { n_port_id = "00b2b2" }\ntester = { n_port_id = "00a1a1" }\n')
    agent = net.endpoint(tmp_path / "control", ",role=vn2vn")
    done = net.fcvi("run", "--dut", f"fcoe:{TESTER},role=vn2vn", "--agent", agent, "--pics", str(pics),
                    "--select", "5.3.2/dut-client,5.3.2/dut-server,D.R3/dut-client/established")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[pixit]\ntester = { n_port_id = "020304" }\n')
    run = ("run", "--dut", f"fcoe:{TESTER},role=vn2vn", "--select", "5.3.2/dut-client")
    refused = net.fcvi(*run, "--agent", agent, "--pics", str(wrong))
    assert refused.returncode == 4 and "N_Port_IDs from 000001" in refused.stdout


def test_vn2vn_carries_broadcasts(net: Net, tmp_path: Path) -> None:
    """FARP-REQ goes to D_ID FFFFFFh, which no port has claimed: both ends send it to everyone and take it from there (7.5)."""
    agent = net.endpoint(tmp_path / "control", ",role=vn2vn")
    done = net.fcvi("run", "--dut", f"fcoe:{TESTER},role=vn2vn", "--agent", agent, "--select", "7.5.re*")
    # inconclusive are the variants of a loop and of a Fabric only, which VN2VN cannot be
    assert done.returncode == 4 and "22 pass, 0 fail, 8 inconclusive" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("the device cannot be configured so: VN2VN") == 6, done.stdout


def test_vn2vn_without_addresses(net: Net, tmp_path: Path) -> None:
    """Both N_Port_IDs are made of the Port_Names; a device without an upper tester is whoever is there."""
    agent = net.endpoint(tmp_path / "control", ",role=vn2vn")
    report = tmp_path / "report"
    run = ("run", "--dut", f"fcoe:{TESTER},role=vn2vn", "--report", str(report), "--select")
    done = net.fcvi(*run, "5.3.2/dut-client", "--agent", agent)
    assert done.returncode == 0, done.stdout + done.stderr
    pixit = json.loads((report / "report.json").read_text())["pixit"]
    assert (pixit["tester"]["n_port_id"], pixit["dut"]["n_port_id"]) == ("000001", "000002")
    pics = tmp_path / "pics.toml"
    pics.write_text("[pics]\nserver = true\nclass3 = true\n")
    alone = net.fcvi(*run, "5.3.2/dut-server", "--pics", str(pics), "--force")
    assert alone.returncode == 4, alone.stdout + alone.stderr  # it came as far as to lack an upper tester
    assert json.loads((report / "report.json").read_text())["pixit"]["dut"]["n_port_id"] == "000002"


def test_our_libvipl_behind_the_agent(net: Net, tmp_path: Path) -> None:
    """fcvi-agent with our provider on the wire, and no other way to reach it."""
    done = net.fcvi("run", "--dut", f"fcoe:{TESTER}", "--agent", net.agent(tmp_path / "control"),
                    "--select", SELECTION + ",4.2.21,B.3.2.2*,4.1.2")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_agent_refuses(net: Net) -> None:
    """An interface that is not there, and what is no interface."""
    agent = str(FCVI.with_name("fcvi-agent"))
    for spec, words in (("fcoe:none", "no such interface"), ("tcp:x", "use fcoe:IFACE")):
        done = net.run(agent, "--on", spec, "unix:/nowhere/agent")
        assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_device_behind_our_fcf(net: Net, tmp_path: Path) -> None:
    """Discovery, fabric login by FIP with short timers, and logins that a case is about."""
    agent = net.endpoint(tmp_path / "control", ",role=enode")
    wire = tmp_path / "wire.pcap"
    dumpcap = shutil.which("dumpcap")
    capture = net.start(dumpcap, "-q", "-i", TESTER, "-w", str(wire), until="File:") if dumpcap else None
    done = net.fcvi("run", "--dut", f"fcoe:{TESTER},role=fabric", "--agent", agent, "--r-a-tov", "600",
                    "--select", "5.3.2/dut-client,5.3.2/dut-server,7.7.5.changed/*,D.R3/dut-client/established")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    if capture is None:
        pytest.skip("no dumpcap: the wire was not captured")
    net.stop_capture(capture)
    said = _tshark(wire, "fip", "-V")
    assert "Flags: 0x8007, Fabric Provided MAC addr, Available, Solicited, F_Port" in said  # the advertisement asked for
    assert "E_D_TOV: 200" in said  # by the LS_ACC to FLOGI: a third of R_A_TOV
    assert _tshark(wire, "_ws.malformed || fip.descriptors.length_error || fcoe.crc.status == 0") == ""


def test_our_n_port_behind_the_fcf_of_a_device(net: Net, tmp_path: Path) -> None:
    """Login, registration and lookup in the Fabric of the other end; tshark says what was registered."""
    agent = net.endpoint(tmp_path / "control", ",role=fabric")
    wire = tmp_path / "wire.pcap"
    dumpcap = shutil.which("dumpcap")
    capture = net.start(dumpcap, "-q", "-i", TESTER, "-w", str(wire), until="File:") if dumpcap else None
    done = net.fcvi("run", "--dut", f"fcoe:{TESTER},role=enode", "--agent", agent, "--select", "5.3.2/dut-client,5.3.2/dut-server")
    assert done.returncode == 0, done.stdout + done.stderr
    if capture is None:
        pytest.skip("no dumpcap: the wire was not captured")
    net.stop_capture(capture)
    names = [line.split()[-1] for line in _tshark(wire, "fc.type == 0x20").splitlines()]
    assert names == [word for one in ("RNN_ID", "RFT_ID", "RIPP_ID", "GID_PN") for word in (one, f"({one})")]
    assert _tshark(wire, "_ws.malformed || fip.descriptors.length_error || fcoe.crc.status == 0") == ""


def _tshark(wire: Path, display: str, *words: str) -> str:
    command = ["tshark", "-r", str(wire), "-Y", display, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def test_without_an_upper_tester(net: Net, tmp_path: Path) -> None:
    """Cases that tell the device nothing run against a port that only answers; the others say what they lack."""
    net.start(str(FCVI), "endpoint", "--on", f"fcoe:{DEVICE}", until="without control")
    pics = tmp_path / "pics.toml"
    pics.write_text("[pics]\nclient = true\nserver = true\nclass3 = true\nfarp = true\nexplicit_login = true\n")
    report = tmp_path / "report"
    select = "7.5.reply/*right,7.5.reply/foreign-address,7.5.reply/action*,7.5.reply/second-address,A.1/class3/in-order"
    run = ("run", "--dut", f"fcoe:{TESTER}", "--report", str(report), "--select", select)
    assert net.fcvi(*run).returncode == 2  # nobody says what it supports
    done = net.fcvi(*run, "--pics", str(pics))
    results = {r["id"]: r for r in json.loads((report / "report.json").read_text())["results"]}
    assert results["7.5.reply/right"]["verdict"] == "pass", done.stdout
    assert "cannot be told that host is" in results["7.5.reply/second-address"]["reason"]
    assert "fail" not in {r["verdict"] for r in results.values()}
    judged = subprocess.run([str(FCVI), "judge", str(report)], capture_output=True, text=True, timeout=120, check=False)
    assert judged.returncode == done.returncode, judged.stdout + judged.stderr
