"""The monitor in ``fcvi lint`` and in the harness: its rules themselves are tested in conformance/monitor/tests."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from fcvi.fc import codec
from fcvi.capture.reader import write
from fcvi.fc.monitor import WHOLE, Monitor

from ..conftest import CONNECT_RESP3, CONNECT_RQST, fcvi

RQST = bytes.fromhex(CONNECT_RQST)
RESP3 = bytes.fromhex(CONNECT_RESP3)
OTHER_HANDLE = RESP3[:24] + bytes([0, 0, 0, 9]) + RESP3[28:]


def capture(path: Path, *frames: bytes, linktype: int = 225) -> str:
    """A capture with one frame a millisecond."""
    write(path, linktype, [(1000 * n, data, 0x2E, 0x42) for n, data in enumerate(frames, 1)])
    return str(path)


def lint(*args: str) -> tuple[list[dict[str, Any]], dict[str, Any], int]:
    """Findings, summary and exit status."""
    done = fcvi("lint", "--json", *args)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[:-1], lines[-1]["summary"], done.returncode


def test_a_rule_between_frames(tmp_path: Path) -> None:
    """FCVI-6.11.2-02: CONNECT_RESP3 has the handle of the CONNECT_RQST; what lies between them is missing.

    That it answers this CONNECT_RQST has to be trusted: a login that was not seen would have freed every name (8.4.2 g).
    """
    assert lint(capture(tmp_path / "a.pcap", RQST, OTHER_HANDLE))[0] == []
    found, summary, status = lint("--trust", "all", capture(tmp_path / "a.pcap", RQST, OTHER_HANDLE))
    assert [(f["requirement"], f["frame"], f["class"]) for f in found] == [("FCVI-6.11.2-02", 2, "violation")]
    assert found[0]["seen"] == "00000009h" and found[0]["required"] == "00000005h" and found[0]["byte"] == 24
    assert "see frame 1" in found[0]["message"]
    assert summary["violations"] == 1 and status == 1


def test_what_is_missing_is_no_breach(tmp_path: Path) -> None:
    found, summary, status = lint(capture(tmp_path / "a.pcap", RQST, RESP3))
    assert (found, summary["violations"], status) == ([], 0, 0)
    reasons = {u["reason"]: u for u in summary["not_judged"]}
    assert reasons["what the IU answers may not be in the capture"]["first"] == 2
    text = fcvi("lint", str(tmp_path / "a.pcap")).stdout
    assert "not judged: what the IU answers may not be in the capture (1 times, first in frame 2)" in text


def test_the_summary_comes_before_what_was_not_judged(tmp_path: Path) -> None:
    """Of a healthy capture the first line counts its records, and the last one says how more is judged."""
    path = capture(tmp_path / "a.pcap", RQST, RESP3)
    lines = fcvi("lint", path).stdout.splitlines()
    assert lines[0].startswith("2 records: 2 judged") and lines[1].endswith("0 violations, 0 malformed, 0 notices")
    assert "not judged: " in lines[2] and "`--trust whole`" in lines[-1]
    assert "--trust" not in fcvi("lint", "--trust", "whole", path).stdout


def test_findings_are_counted_by_requirement(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", RQST, OTHER_HANDLE)
    for args in ([path, path], ["--jobs", "2", path, path]):
        text = fcvi("lint", "--trust", "all", *args).stdout
        assert "  FCVI-6.11.2-02: 2 findings\n" in text, text
        _, summary, _ = lint("--trust", "all", *args)
        assert summary["by_requirement"] == {"FCVI-6.11.2-02": 2}


@pytest.mark.parametrize("trust", ["whole", "all,start,order,once"])
def test_what_is_missing_breaks_a_rule_where_nothing_can_be(tmp_path: Path, trust: str) -> None:
    """FCVI-5.3.1-05: CONNECT_RESP3 without CONNECT_RESP2; and the responder's SEQ_CNT does not begin with 0."""
    found, _, status = lint("--trust", trust, capture(tmp_path / "a.pcap", RQST, RESP3))
    assert [(f["requirement"], f["frame"]) for f in found] == [("FCVI-5.6-01", 2), ("FCVI-5.3.1-05", 2)]
    assert status == 1


def test_a_record_that_was_cut_is_a_hole(tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 224)
    records = [(RQST, len(RQST)), (RQST[:30], len(RQST)), (RESP3, len(RESP3))]
    path.write_bytes(header + b"".join(struct.pack("<IIII", 0, 0, len(d), n) + d for d, n in records))
    found, _, status = lint("--trust", "whole", str(path))
    assert (found, status) == ([], 0)


def test_vlans_are_fabrics_of_their_own(tmp_path: Path) -> None:
    """The same identifiers on another VLAN belong to other ports."""
    plain = tmp_path / "plain.pcap"
    capture(plain, RQST, OTHER_HANDLE, linktype=1)
    data, at, number, tagged = plain.read_bytes(), 24, 0, b""
    while at < len(data):
        captured = struct.unpack_from("<I", data, at + 8)[0]
        frame = data[at + 16 : at + 16 + captured]
        number += 1
        frame = frame[:12] + bytes([0x81, 0, 0, number]) + frame[12:]
        tagged += data[at : at + 8] + struct.pack("<II", len(frame), len(frame)) + frame
        at += 16 + captured
    vlans = tmp_path / "vlans.pcap"
    vlans.write_bytes(data[:24] + tagged)
    assert [f["requirement"] for f in lint("--trust", "all", str(plain))[0]] == ["FCVI-6.11.2-02"]
    assert lint("--trust", "all", str(vlans))[0] == []


@pytest.mark.parametrize("args", [("--trust", "everything"), ("--trust", ""), ("--r-a-tov", "0"), ("--r-a-tov", "ten")])
def test_wrong_usage(args: tuple[str, ...], tmp_path: Path) -> None:
    done = fcvi("lint", *args, capture(tmp_path / "a.pcap", RQST))
    assert done.returncode == 2 and args[0] in done.stderr


def test_frames_that_are_only_followed_count(tmp_path: Path) -> None:
    """What the tester sends is followed like what the device sends, but not judged."""
    monitor = Monitor(WHOLE)
    monitor.follow(RQST, (0x2E, 0x42, True), 1, 0)
    breaches = monitor.frame(codec.decode(RESP3, 0x2E, 0x42), 2, 10)
    assert [b.finding.requirement for b in breaches] == ["FCVI-5.6-01", "FCVI-5.3.1-05"]
    assert {(b.finding.frame, b.sender) for b in breaches} == {(2, 0x010200)}
    monitor = Monitor(WHOLE)
    monitor.follow(RQST, (0x2E, 0x42, True), 1, 0)
    monitor.forget()
    assert monitor.frame(codec.decode(RESP3, 0x2E, 0x42), 2, 10) == []
    assert monitor.unjudged()
