"""``fcvi replay`` of recorded cases of VI/TCP: the same device does the same, another does what it may, a faulty one is found."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fcvi.engine import pcapng
from fcvi.vitcp.trace import LINE, TraceUnit

from ..conftest import RECORDED, ROOT, fcvi
from .test_vitcp_codec import LAB

SCHEMA = json.loads((ROOT / "harness/fcvi/commands/schemas/replay.schema.json").read_text())
INDEPENDENT = f"exec:/usr/bin/python3 {ROOT / 'harness/tests/independent/vitcp/endpoint.py'}"
SELECTED = "TCP.2.2.2.1.*,TCP.3.1.g,TCP.3.1.b,TCP.4.2.a,TCP.4.3.a,TCP.4.a"


@pytest.fixture(name="report", scope="module")
def _report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams") / "report"
    done = fcvi("run", "--wire", "tcp", "--select", SELECTED, "--report", folder, "--quiet")
    assert done.returncode == 0, done.stderr
    return folder


def played(folder: Path, *options: str) -> list[dict[str, Any]]:
    """What became of each recording that was not played alike."""
    done = fcvi("replay", "--json", *options, folder)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for one in found:
        jsonschema.validate(one, SCHEMA)
    return found


def test_the_same_device_does_the_same(report: Path) -> None:
    done = fcvi("replay", "--dut", f"exec:{ROOT / 'build/fcvi'} endpoint --wire tcp", report)
    count = len(list(report.glob("*.pcapng")))
    assert (done.returncode, done.stdout) == (0, f"{count} recordings: {count} same\n") and count > 50


def test_a_device_of_another_hand_does_what_it_may(report: Path) -> None:
    """It chooses other Message Numbers, counts and windows. Nothing of that is a breach, and little needs a look."""
    found = played(report, "--dut", INDEPENDENT, "--strict")
    classes = Counter(next((c for c in ("breach", "suspicious", "permitted") if one["classes"][c]), "same") for one in found)
    assert classes["breach"] == 0 and classes["permitted"] + classes["same"] > 10 * classes["suspicious"], classes


def test_a_faulty_device_is_found_with_its_clause(report: Path) -> None:
    """Its Read Responses begin one byte further than they were asked to (3.2.1)."""
    found = played(report, "--dut", f"{INDEPENDENT} --fault read-one-further")
    broken = [d for one in found for d in one["differences"] if d["class"] == "breach"]
    assert {d["field"] for d in broken} >= {"VITCP-3.2.1-06"}


def test_a_laboratorys_numbers_are_played_with(tmp_path: Path) -> None:
    """The evidence has them: nothing has to be said again."""
    (tmp_path / "lab.toml").write_text(LAB)
    fcvi("run", "--wire", "tcp", "--profile", tmp_path / "lab.toml", "--select", SELECTED, "--report", tmp_path / "r", "--quiet")
    done = fcvi("replay", "--dut", "ref:vitcp", tmp_path / "r")
    assert done.returncode == 0 and done.stdout.rstrip().endswith("same"), done.stdout


def test_what_crossed_is_written_as_a_capture(report: Path, tmp_path: Path) -> None:
    recording = report / "TCP.2.2.2.1.c__dut-server__rr.pcapng"
    done = fcvi("replay", "--dut", "ref:vitcp", recording, "--out", tmp_path / "now.pcapng")
    assert done.returncode == 0 and done.stdout.startswith("same: ")
    judged = fcvi("lint", tmp_path / "now.pcapng")
    assert judged.returncode == 0 and " 0 violations" in judged.stdout and "VI/TCP: " in judged.stdout
    assert fcvi("replay", "--offline", recording).returncode == 0


def test_wires_are_not_crossed(report: Path) -> None:
    """A recording of frames is not played to a device of VI/TCP, and a recording of streams is not played to one of FC-VI."""
    done = fcvi("replay", "--dut", "ref:vitcp", sorted((RECORDED / "cases").glob("*.pcapng"))[0])
    assert done.returncode == 0 and done.stdout.startswith("not applicable")
    assert "same" not in fcvi("replay", "--dut", "ref", report).stdout
    kept = fcvi("replay", "--keep", report / "kept", report / "TCP.4.2.a__fin.pcapng")
    assert kept.returncode == 2 and "--keep: a recording of streams" in kept.stderr


@pytest.mark.parametrize("damage", ('"op":"notify"', '"method":"stream.data"', '"hex":"01', '"op":"advance"', '"stream":"t'))
def test_a_damaged_trace_is_told_in_one_line(damage: str, report: Path, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    (folder / "evidence").mkdir(parents=True)
    (folder / "evidence/run.json").write_bytes((report / "evidence/run.json").read_bytes())
    text = (report / "evidence/TCP.2.2.2.1.c__dut-server__rr.jsonl").read_text()
    assert damage in text
    path = folder / "evidence/TCP.2.2.2.1.c__dut-server__rr.jsonl"
    wrong = damage.replace('":', 'x":') if damage == '"stream":"t' else damage[:-3] + '?!"'
    path.write_text(text.replace(damage, wrong, 1))
    done = fcvi("replay", "--dut", "ref:vitcp", path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "jsonl" in done.stderr and "Traceback" not in done.stderr


def test_a_pdu_that_is_longer_than_a_packet_is_captured_whole(tmp_path: Path) -> None:
    """Segment Length has 16 bits, and so has the length of an IP packet, which has headers of its own."""
    sender, taker = (bytes(10) + b"\xff\xff" + bytes([10, 0, 0, n]) for n in (1, 2))
    request = bytes.fromhex("0132004400000000000000000000000000000000000800000001000200001000" + "61" * 2 + "00" * 14 + "00000002"
                            + "62" * 2 + "00" * 14)  # fmt: skip
    accept = b"\x01\x3a" + request[2:]
    pdu = bytes.fromhex("010affff000000000000000000000007ffffffff00080000") + bytes(65_511)
    said = [("open", "tester", b"", 0), ("opened", "dut", b"", 0), ("data", "tester", request, 0), ("data", "dut", accept, 0),
            ("data", "tester", pdu, 68), ("fin", "tester", b"", 68 + 65_535)]  # fmt: skip
    units: list[Any] = [
        TraceUnit(n, by, data, 0, 0, stream="t1", event=event, begin=begin, source=((sender, 4000), (taker, 5000))[by == "dut"],
                  target=((taker, 5000), (sender, 4000))[by == "dut"])
        for n, (event, by, data, begin) in enumerate(said)
    ]  # fmt: skip
    (tmp_path / "long.pcapng").write_bytes(pcapng.capture(units, "a long PDU", LINE))
    done = fcvi("decode", "--family", "vitcp", "--json", tmp_path / "long.pcapng")
    assert [json.loads(line)["length"] for line in done.stdout.splitlines()] == [68, 68, 65_535]
    if shutil.which("tshark"):
        words = ["tshark", "-r", str(tmp_path / "long.pcapng"), "-T", "fields", "-e", "tcp.len"]
        told = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        assert told == ["0", "0", "68", "68", "65495", "40", "0"]
