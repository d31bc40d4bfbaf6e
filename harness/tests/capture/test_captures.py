"""Captures: what libpcap, tshark and we read out of a file is the same."""

from __future__ import annotations

import gzip
import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from fcvi.fc import codec
from fcvi.fc import trace as pcapng
from fcvi.capture.reader import CaptureError, Reader, write
from fcvi.engine.results import Finding, TraceFrame

from ..conftest import CONNECT_RQST, PCAPS, ROOT, fcvi

REAL = sorted(PCAPS.glob("libfc/*.pcap"))
CRAFTED = sorted(PCAPS.glob("crafted/*.pcap"))
HEADER = {
    "fc.r_ctl": "R_CTL", "fc.d_id": "D_ID", "fc.s_id": "S_ID", "fc.type": "TYPE", "fc.f_ctl": "F_CTL",
    "fc.seq_id": "SEQ_ID", "fc.df_ctl": "DF_CTL", "fc.seq_cnt": "SEQ_CNT", "fc.ox_id": "OX_ID",
    "fc.rx_id": "RX_ID", "fc.parameter": "Parameter", "fc.cs_ctl": "CS_CTL",
}  # fmt: skip
OTHER = [
    "frame.number", "fc.crc.status", "fcoe.crc.status", "fc.bls_oxid", "fc.bls_rxid", "fc.bls_seqidvld",
    "fc.bls_lseqcnt", "fc.bls_hseqcnt", "fcels.opcode", "_ws.malformed",
]  # fmt: skip


def tshark(path: Path) -> list[dict[str, str]]:
    """Each record's first FC header as tshark sees it."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    fields = [*HEADER, *OTHER]
    command = ["tshark", "-r", str(path), "-o", "fc.reassemble:FALSE", "-T", "fields", "-E", "occurrence=f", "-E", "separator=;"]
    for name in fields:
        command += ["-e", name]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [dict(zip(fields, line.split(";"))) for line in out.splitlines()]


def number(text: str) -> int:
    """tshark's numbers: hexadecimal, decimal, or an address with dots."""
    return int(text.replace(".", ""), 16) if "." in text else int(text, 0)


def assert_agrees(path: Path) -> int:
    """tshark and our reader say the same of every frame; gives how many there were."""
    rows = {int(row["frame.number"]): row for row in tshark(path)}
    compared = 0
    with Reader(str(path)) as reader:
        for record in reader:
            if record.kind != "frame":
                continue
            row, frame = rows[record.number], codec.decode(record.data, record.sof, record.eof, record.crc)
            for theirs, ours in HEADER.items():
                if row[theirs]:
                    assert number(row[theirs]) == frame.get("FC", ours), (path.name, record.number, theirs)
            status = row["fc.crc.status"] or row["fcoe.crc.status"]
            if status:
                assert (int(status) == 1) == (record.crc == codec.CRC_OK), (path.name, record.number)
            if row["fc.bls_oxid"]:
                base = frame.payload_offset
                for theirs, ours in (("fc.bls_oxid", "BA_OX_ID"), ("fc.bls_rxid", "BA_RX_ID"),
                                     ("fc.bls_lseqcnt", "Low_SEQ_CNT"), ("fc.bls_hseqcnt", "High_SEQ_CNT")):  # fmt: skip
                    assert number(row[theirs]) == codec.get("BA_ACC", ours, record.data, base)
            if row["fcels.opcode"] and frame.kind == "els":
                assert number(row["fcels.opcode"]) == frame.get("ELS", "ELS_Command")
            compared += 1
    return compared


@pytest.mark.parametrize("path", REAL, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_frames_of_a_real_stack_give_no_wrong_finding(path: Path) -> None:
    done = fcvi("lint", "--json", str(path))
    summary = json.loads(done.stdout.splitlines()[-1])["summary"]
    assert (summary["violations"], summary["malformed"], summary["notices"]) == (0, 0, 0), done.stdout[:500]
    assert done.returncode == 2 and "nothing of FC-VI was judged" in done.stderr  # logins alone are no FC-VI
    assert fcvi("decode", str(path)).returncode == 0


@pytest.mark.parametrize("path", REAL, ids=lambda p: p.name)
def test_real_headers_agree_with_tshark(path: Path) -> None:
    assert assert_agrees(path) > 0


@pytest.mark.parametrize("name", ["fc2-224.pcap", "fc2-225.pcap", "fc2-225-badcrc.pcap", "fcoe.pcap"])
def test_crafted_headers_agree_with_tshark(name: str) -> None:
    assert assert_agrees(PCAPS / "crafted" / name) > 0


def test_deliberately_bad_frames_are_found() -> None:
    """Frames 2 and 3 have a bad CRC, 5 and 6 an EOF that says the frame is invalid; 4 has EOFt's other spelling.

    They are ELSs, whose FC-2 frame is broken all the same.
    """
    done = fcvi("lint", "--json", str(PCAPS / "crafted/fc2-225-badcrc.pcap"))
    found = [json.loads(line) for line in done.stdout.splitlines()[:-1]]
    assert [(f["frame"], f["seen"]) for f in found] == [
        (2, "another CRC"), (3, "another CRC"), (5, "EOFni (49h)"), (6, "EOFa (50h)")]  # fmt: skip
    assert {(f["byte"], f["bits"]) for f in found} == {(None, None)}  # they stand around the frame
    assert done.returncode == 1


def test_fcoe_variants() -> None:
    """A VLAN tag, a trailing FCS and what is appended (frame 5) are fine; frame 2 has a bad CRC."""
    with Reader(str(PCAPS / "crafted/fcoe-variants.pcap")) as reader:
        states = {r.number: (r.kind, r.crc) for r in reader}
    good = ("frame", codec.CRC_OK)
    assert [states[n] == good for n in (1, 2, 3, 4, 5, 6)] == [True, False, True, True, True, True]


@pytest.mark.parametrize("linktype", [224, 225, 1])
def test_written_frames_are_read_back(linktype: int, tmp_path: Path, frames: list[tuple[int, bytes, int, int]]) -> None:
    path = tmp_path / "out.pcap"
    write(path, linktype, frames)
    with Reader(str(path)) as reader:
        back = list(reader)
    assert [(r.time_us, r.data) for r in back] == [(t, d) for t, d, _, _ in frames]
    if linktype != 224:
        assert [(r.sof, r.eof, r.crc) for r in back] == [(s, e, codec.CRC_OK) for _, _, s, e in frames]
    assert assert_agrees(path) == len(frames)


def test_a_reader_tells_how_far_it_is() -> None:
    """What a terminal shows of a long capture: bytes taken, of the bytes of the file."""
    path = PCAPS / "crafted/fcoe-variants.pcap"
    size = path.stat().st_size
    with Reader(str(path)) as reader:
        assert reader.progress()[1] == size
        assert list(reader) and reader.progress() == (size, size)


def test_case_captures_are_read_by_tshark_with_comments(tmp_path: Path, frames: list[tuple[int, bytes, int, int]]) -> None:
    finding = Finding("FCVI-5.8.3-01", "violation", "TYPE is wrong", "59h", "58h", 1, 8, "7-0")
    trace = [TraceFrame(t, "dut", d, s, e, findings=[finding]) for t, d, s, e in frames]
    trace[2].lost, trace[2].note = True, "lost on the way"
    path = tmp_path / "case.pcapng"
    path.write_bytes(pcapng.capture(trace, "a case"))
    assert assert_agrees(path) == 3
    with Reader(str(path)) as reader:
        assert [r.data for r in reader] == [d for _, d, _, _ in frames]
    out = subprocess.run(
        ["tshark", "-r", str(path), "-T", "fields", "-e", "frame.comment", "-e", "frame.interface_name"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "FCVI-5.8.3-01" in out and "lost on the way" in out and out.count("dut") == 3


def test_every_frame_of_the_suite_agrees_with_tshark(tmp_path: Path) -> None:
    """The captures of a run on the reference port, explicit login included: CRC, header, BLS and ELS."""
    report = tmp_path / "report"
    assert fcvi("run", "--quiet", "--report", str(report), "--select", "C.5.7.2,D.R1").returncode == 0
    captures = sorted(report.glob("*.pcapng"))
    assert len(captures) == 13
    for path in captures[:4]:
        assert assert_agrees(path) > 0
        rows = tshark(path)
        assert not [row for row in rows if row["fc.crc.status"] != "1" or row["_ws.malformed"]]


# ---- what is broken ----


@pytest.mark.parametrize(
    "content, words",
    [
        (None, "No such file"),
        (b"", "is empty"),
        (b"this is no capture at all", "unknown file format"),
        (b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00", "truncated"),
        (struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 113), "no records"),
        (struct.pack("<IHHiIIIIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 105, 0, 0, 4, 4) + b"abcd", "linktype 105"),
    ],
)
@pytest.mark.parametrize("command", ["lint", "decode"])
def test_bad_captures_get_one_clear_line(command: str, content: bytes | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.pcap"
    if content is not None:
        path.write_bytes(content)
    done = fcvi(command, str(path))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and words in done.stderr and "bad.pcap" in done.stderr, done.stderr


@pytest.mark.parametrize("command", ["lint", "decode", "flows", "explain"])
def test_a_pipe_without_a_byte_is_an_empty_capture(command: str) -> None:
    done = fcvi(command, "-", stdin=b"")
    assert done.returncode == 2 and "-: is empty; a capture has at least a file header" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("command", ["lint", "decode"])
def test_a_directory_is_no_capture(command: str, tmp_path: Path) -> None:
    done = fcvi(command, str(tmp_path))
    assert done.returncode == 2 and "is a directory" in done.stderr and len(done.stderr.splitlines()) == 1


def test_truncated_at_every_byte(tmp_path: Path, frames: list[tuple[int, bytes, int, int]]) -> None:
    """Nothing is lost: the records before the cut are read, then one error says where the file broke."""
    whole = tmp_path / "whole.pcap"
    write(whole, 225, frames[1:])
    data = whole.read_bytes()
    path = tmp_path / "cut.pcap"
    for length in range(1, len(data)):
        path.write_bytes(data[:length])
        seen = 0
        try:
            with Reader(str(path)) as reader:
                for _ in reader:
                    seen += 1
            complete = length in (24, 24 + 16 + 68)
            assert complete
        except CaptureError as error:
            assert "cut.pcap" in str(error) and "\n" not in str(error)
        assert seen == (1 if length >= 24 + 16 + 68 else 0)


def test_snaplen_cut_frames_are_judged_by_their_headers(tmp_path: Path) -> None:
    data = bytes.fromhex(CONNECT_RQST)
    path = tmp_path / "snap.pcap"
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 224)
    path.write_bytes(header + struct.pack("<IIII", 0, 0, 64, len(data)) + data[:64])
    done = fcvi("lint", str(path))
    assert done.returncode == 0 and "1 judged (1 frames by their headers only: cut off)" in done.stdout
    assert "cut off" in fcvi("decode", "--summary", str(path)).stdout
    path.write_bytes(header + struct.pack("<IIII", 0, 0, 48, len(data)) + data[:48])
    done = fcvi("lint", str(path))
    assert done.returncode == 2 and "1 cut off before what is needed to judge it" in done.stderr


def test_lint_of_a_connect_iu_in_several_frames(tmp_path: Path) -> None:
    """E44: the payload is checked when all parts are there; FCVI_REVISION 2 stands in the first of them."""
    data = bytearray.fromhex(CONNECT_RQST)
    data[63] = 2
    first, second = bytearray(data[: 56 + 200]), bytearray(data[:56] + data[56 + 200 :])
    first[9] = 0x20  # First_Sequence only
    second[14:16], second[20:24] = b"\0\1", (200).to_bytes(4, "big")
    path = tmp_path / "parts.pcap"
    write(path, 225, [(0, bytes(first), 0x2E, 0x41), (1, bytes(second), 0x36, 0x42)])
    done = fcvi("lint", "--json", str(path))
    findings = [json.loads(line) for line in done.stdout.splitlines()[:-1]]
    assert [(f["requirement"], f["frame"], f["class"]) for f in findings] == [("FCVI-6.8.3-01", 2, "violation")]
    assert done.returncode == 1


def test_standard_input_and_closed_output(tmp_path: Path) -> None:
    data = (PCAPS / "libfc/vn2vn-login.pcap").read_bytes()
    assert fcvi("lint", "-", stdin=data).returncode == 2
    shell = f"'{ROOT}/build/fcvi' decode '{PCAPS}/libfc/target-abts.pcap' | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {shell}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""


def test_decode_forms() -> None:
    path = str(PCAPS / "crafted/fc2-225.pcap")
    objects = [json.loads(line) for line in fcvi("decode", "--json", path).stdout.splitlines()]
    assert len(objects) == 29 and objects[0]["title"] == "PLOGI" and objects[5]["title"] == "ABTS"
    one = fcvi("decode", "--summary", "--frames", "8", path).stdout
    assert one.split()[2] == "BA_ACC" and len(one.splitlines()) == 1
    assert fcvi("decode", "--frames", "7-3", path).returncode == 2


# a process begins with the memory of the one that starts it in its books, so a small one does
_PEAK = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_kib(command: str, path: Path, sequences: int) -> int:
    """The most memory of a command over the first frames of so many CONNECT_RQSTs in two frames each (E44)."""
    first = bytearray(bytes.fromhex(CONNECT_RQST)[: 56 + 200])
    first[9] = 0x20  # First_Sequence only
    frames = []
    for number in range(sequences):
        first[16:18] = (number % 0xFFFF).to_bytes(2, "big")  # OX_ID
        frames.append((number, bytes(first), 0x2E, 0x41))
    write(path, 225, frames)
    packed = path.with_suffix(".gz")  # of a plain file the pages that are read count too
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    words = [sys.executable, "-c", _PEAK, str(ROOT / "build/fcvi"), command, str(packed)]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert told[0] in "012"
    return int(told[1])


@pytest.mark.parametrize("command", ["lint", "flows", "explain"])
def test_connect_sequences_that_never_end_take_no_memory(command: str, tmp_path: Path) -> None:
    few, many = (peak_kib(command, tmp_path / "unfinished.pcap", n) for n in (10_000, 60_000))
    assert many - few < 8_000, "what is kept of them has a bound"


def test_a_frame_that_no_record_takes_is_named_by_its_number(tmp_path: Path) -> None:
    frames = [(number, bytes(size), 0x2E, 0x42) for number, size in enumerate((60, 60, 1 << 18, 60))]
    with pytest.raises(CaptureError, match="frame 3 does not fit"):
        write(tmp_path / "x.pcap", 1, frames)
