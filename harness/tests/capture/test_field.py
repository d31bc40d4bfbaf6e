"""Tests what engineers capture: every wrapping, what is cut off, lost or foreign. None of it is green unjudged."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import subprocess
import tempfile
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, Callable, Sequence

import pytest

from fcvi.capture.reader import Reader

from .. import starts
from ..conftest import CONNECT_RQST, FCVI, PCAPS, RECORDED, ROOT, fcvi
from ..flows.field import stories
from . import wrappings as w
from .wrappings import Frame

CASES = ["3.4", "5.2.1", "5.3.4.a", "5.5.class2", "6.2.1", "7.3"]
SOURCES = [path for name in CASES if (path := RECORDED / f"cases/{name}.pcapng").exists()]
WITHOUT_DELIMITERS = {"vft"}
RQST = Frame(bytes.fromhex(CONNECT_RQST), 0x2E, 0x42)
BROKEN = Frame(RQST.data[:8] + b"\x58\x39" + RQST.data[10:], 0x2E, 0x42)  # Last_Sequence is not the RQST's to set


@cache
def frames_of(path: Path) -> tuple[Frame, ...]:
    """The frames of a case that every wrapping can carry."""
    with Reader(str(path)) as reader:
        records = [r for r in reader if r.kind == "frame" and len(r.data) >= 24 and len(r.data) % 4 == 0]
    return tuple(Frame(r.data, r.sof, r.eof, r.crc != 2, r.time_us) for r in records if r.sof in w.SOF and r.eof in w.EOF)


def lint(data: bytes, path: Path, *words: str) -> tuple[list[dict[str, Any]], dict[str, Any], int, str]:
    """Findings, summary, status and what is said to standard error."""
    path.write_bytes(data)
    done = fcvi("lint", "--json", *words, str(path))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[:-1], lines[-1]["summary"], done.returncode, done.stderr


@cache
def lint_bare(data: bytes) -> tuple[list[dict[str, Any]], dict[str, Any], int, str]:
    """What every wrapping of the same frames is compared with."""
    with tempfile.TemporaryDirectory() as place:
        return lint(data, Path(place) / "plain.pcap", "--trust", "whole")


def adds_up(summary: dict[str, Any]) -> bool:
    """Judged, not judged and foreign are all the records."""
    r = summary["records"]
    return bool(r["judged"] + sum(r["not_judged"].values()) + sum(r["foreign"].values()) == r["all"])


# ---- the same frames in every wrapping ----


def delimited(frames: Sequence[Frame]) -> bytes:
    """What all are compared with: linktype 225."""
    sofs = {0x2D: 0xBCB55555, 0x35: 0xBCB53535, 0x2E: 0xBCB55656, 0x36: 0xBCB53636, 0x28: 0xBCB55858}
    eofs = {0x41: 0xBC95D5D5, 0x42: 0xBC957575, 0x49: 0xBC8AD5D5, 0x50: 0xBC95F5F5}
    return w.pcap(
        225, [(f.time_us, struct.pack(">I", sofs[f.sof]) + f.data + f.crc + struct.pack(">I", eofs[f.eof])) for f in frames]
    )


def told(findings: list[dict[str, Any]], numbers: bool = True) -> list[tuple[Any, ...]]:
    """What must be the same."""
    said = [(f["frame"] if numbers else 0, f["requirement"], f["class"], f["byte"], f["bits"], f["seen"]) for f in findings]
    return said if numbers else sorted(map(str, said))  # type: ignore[return-value]


def two_frames(tmp_path: Path) -> list[tuple[Frame, ...]]:
    return [*map(frames_of, SOURCES), (RQST, BROKEN, RQST)]


@pytest.mark.parametrize("name", w.ALONE)
def test_findings_do_not_depend_on_the_wrapping(name: str, tmp_path: Path) -> None:
    found = 0
    for frames in two_frames(tmp_path):
        linktype, wrap = w.ALONE[name]
        if name in WITHOUT_DELIMITERS:
            frames = tuple(f for f in frames if f.good and f.eof in (0x41, 0x42))
        bare = w.pcap(224, w.each(lambda i, f: f.data, frames)) if name in WITHOUT_DELIMITERS else delimited(frames)
        plain = deepcopy(lint_bare(bare))
        wrapped = lint(w.pcap(linktype, wrap(frames)), tmp_path / "wrapped.pcap", "--trust", "whole")
        assert told(wrapped[0]) == told(plain[0]) and wrapped[2] == plain[2], name
        appended = wrapped[1]["records"].pop("appended"), plain[1]["records"].pop("appended")
        assert appended == (len(frames) if name == "fcoe-stamped" else 0, 0)
        assert {**wrapped[1], "not_judged": 0} == {**plain[1], "not_judged": 0}
        assert adds_up(wrapped[1]) and wrapped[1]["records"]["judged"] == len(frames)
        found += len(plain[0])
    assert found > 0


@pytest.mark.parametrize("name", w.TOGETHER)
def test_findings_do_not_depend_on_segments(name: str, tmp_path: Path) -> None:
    """Several frames come in one segment, and frames lie across the borders of segments."""
    for frames in two_frames(tmp_path):
        plain = deepcopy(lint_bare(delimited(frames)))
        records = w.TOGETHER[name](frames)
        wrapped = lint(w.pcap(1, records), tmp_path / "wrapped.pcap", "--trust", "whole")
        assert told(wrapped[0], False) == told(plain[0], False), name
        assert wrapped[1]["frames"] == len(frames)
        assert adds_up(wrapped[1]) and wrapped[1]["records"]["judged"] == len(records) == wrapped[1]["records"]["all"]


# ---- field by field with tshark ----


def some_frames(count: int, seed: int = 1) -> list[Frame]:
    """Frames with any addresses, identifiers and delimiters."""
    rng = random.Random(seed)
    frames = []
    for _ in range(count):
        data = bytearray(rng.randbytes(24 + 4 * rng.randrange(2, 40)))
        data[0], data[8], data[13], data[11] = rng.choice([1, 2, 3, 4, 6, 7]), 0x58, 0, data[11] & ~3
        frames.append(Frame(bytes(data), rng.choice(list(w.SOF)), rng.choice(list(w.EOF))))
    return frames


def tshark(path: Path, fields: Sequence[str]) -> list[dict[str, str]]:
    """Fields of every record."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    command = ["tshark", "-r", str(path), "-o", "fc.reassemble:FALSE", "-T", "fields", "-E", "separator=;", "-E", "occurrence=l"]
    for name in fields:
        command += ["-e", name]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [dict(zip(fields, line.split(";"))) for line in out.splitlines()]


def number(text: str) -> int:
    """tshark's numbers: hexadecimal, decimal, or an address with dots."""
    return int(text.replace(".", ""), 16) if "." in text else int(text, 0)


HEADER: dict[str, Callable[[bytes], int]] = {
    "fc.r_ctl": lambda d: d[0],
    "fc.d_id": lambda d: int.from_bytes(d[1:4], "big"),
    "fc.s_id": lambda d: int.from_bytes(d[5:8], "big"),
    "fc.type": lambda d: d[8],
    "fc.f_ctl": lambda d: int.from_bytes(d[9:12], "big"),
    "fc.seq_id": lambda d: d[12],
    "fc.seq_cnt": lambda d: int.from_bytes(d[14:16], "big"),
    "fc.ox_id": lambda d: int.from_bytes(d[16:18], "big"),
    "fc.rx_id": lambda d: int.from_bytes(d[18:20], "big"),
    "fc.parameter": lambda d: int.from_bytes(d[20:24], "big"),
}


def compare(data: bytes, path: Path, extra: dict[str, Callable[[Any], int]]) -> int:
    """Our reader and tshark say the same of every record; gives how many there were."""
    path.write_bytes(data)
    rows = tshark(path, ["frame.number", *HEADER, *extra])
    compared = 0
    with Reader(str(path)) as reader:
        for record, row in zip(reader, rows):
            for name, ours in HEADER.items():
                assert number(row[name]) == ours(record.data), (record.number, name, row[name])
            for name, of_record in extra.items():
                assert number(row[name]) == of_record(record), (record.number, name, row[name])
            compared += 1
    return compared


COUNT = int(os.environ.get("FCVI_WRAPPED_FRAMES", "2000"))


def test_boardwalk_agrees_with_tshark(tmp_path: Path) -> None:
    frames, rng = some_frames(COUNT), random.Random(2)

    def wrap(i: int, f: Frame) -> bytes:
        return w.ethernet(0x88AE, w.boardwalk(f, i + (i > 700), rng.randrange(1, 4096), rng.random() < 0.5))

    records = w.each(wrap, frames)
    same = {"brdwlk.vsan": lambda r: r.network & 0xFFF, "brdwlk.sof": lambda r: w.SOF[r.sof], "brdwlk.eof": lambda r: w.EOF[r.eof]}
    assert compare(w.pcap(1, records), tmp_path / "b.pcap", same) == COUNT
    counts = [int(row["brdwlk.pktcnt"]) for row in tshark(tmp_path / "b.pcap", ["brdwlk.pktcnt"])]
    jumps = [i + 1 for i in range(1, COUNT) if counts[i] != (counts[i - 1] + 1) % 65536]
    with Reader(str(tmp_path / "b.pcap")) as reader:
        assert [r.number for r in reader if r.gap] == jumps == [702]


def test_mds_header_agrees_with_tshark(tmp_path: Path) -> None:
    frames, rng = some_frames(COUNT, 3), random.Random(4)
    records = w.each(lambda i, f: w.ethernet(0xFCFC, w.mds(f, rng.randrange(1, 4096))), frames)
    same = {"mdshdr.vsan": lambda r: r.network & 0xFFF, "mdshdr.sof": lambda r: w.SOF[r.sof], "mdshdr.eof": lambda r: w.EOF[r.eof]}
    assert compare(w.pcap(1, records), tmp_path / "m.pcap", same) == COUNT


def test_vft_header_agrees_with_tshark(tmp_path: Path) -> None:
    rng = random.Random(5)
    frames = [w.tagged(f, rng.randrange(1, 4096)) for f in some_frames(COUNT, 6)]
    path = tmp_path / "v.pcap"
    path.write_bytes(w.pcap(224, w.each(lambda i, f: f.data, frames)))
    rows = tshark(path, ["fc.vft.vf_id", "fc.s_id", "fc.ox_id"])
    with Reader(str(path)) as reader:
        for record, row in zip(reader, rows):
            assert record.network & 0xFFF == int(row["fc.vft.vf_id"], 0)
            for name in ("fc.s_id", "fc.ox_id"):
                assert number(row[name]) == HEADER[name](record.data)


def test_fcip_agrees_with_tshark(tmp_path: Path) -> None:
    """tshark takes frames of one segment apart wrongly, so that each has its own."""
    frames = some_frames(COUNT, 7)
    same = {"fcip.sof": lambda r: r.sof, "fcip.eof": lambda r: r.eof, "fcip.framelen": lambda r: (len(r.data) + 40) // 4}
    linktype, wrap = w.ALONE["fcip"]
    assert compare(w.pcap(linktype, wrap(frames)), tmp_path / "f.pcap", same) == COUNT


# ---- nothing is green without having been judged ----


def cut(name: str, snap: int, frames: Sequence[Frame] = ()) -> bytes:
    linktype, wrap = w.ALONE[name]
    return w.pcap(linktype, wrap(frames or frames_of(SOURCES[0])), snap)


def gapped() -> bytes:
    """A segment of FCIP is missing; the other side acknowledges it."""
    tcp = w.Tcp()
    for i in range(12):
        tcp.segment(w.fcip(RQST), i)
        if i == 5:
            tcp.records.pop()
    tcp.acknowledge(20)
    return w.pcap(1, tcp.records)


def swapped() -> bytes:
    """Two segments changed places, and one comes twice."""
    tcp = w.Tcp()
    for i in range(6):
        tcp.segment(w.fcip(RQST), i)
    r = tcp.records
    return w.pcap(1, [r[0], r[2], r[1], r[3], r[3], r[4], r[5]])


def one_direction() -> bytes:
    frames = frames_of(SOURCES[0])
    return w.pcap(224, [(f.time_us, f.data) for f in frames if f.data[5:8] == frames[0].data[5:8]])


def pcapng(
    interfaces: Sequence[int], packets: Sequence[tuple[int, bytes, int]], order: str = "<", more: bytes = b"",
    times: Sequence[int] = (),
) -> bytes:  # fmt: skip
    """Packets (interface, bytes, dropped before). more: options of each interface; times: of the packets, in its units."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)

    out = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += b"".join(block(1, struct.pack(order + "HHI", link, 0, 65535) + more) for link in interfaces)
    for number, (interface, data, lost) in enumerate(packets):
        options = struct.pack(order + "HHQI", 4, 8, lost, 0) if lost else b""
        padded = data + bytes(-len(data) % 4)
        high, low = divmod(times[number] if times else 0, 1 << 32)
        out += block(6, struct.pack(order + "IIIII", interface, high, low, len(data), len(data)) + padded + options)
    return out


GOOD = [RQST]
IP = w.ethernet(0x0800, bytes.fromhex("45000020000000004011000001020304010203050035003500080000") + bytes(8))
ARP = w.ethernet(0x0806, bytes(28))
FCOE = w.ethernet(0x8906, w.fcoe(RQST))
OTHER = Frame(bytes.fromhex("060102000001010008290000050000001234ffff00000000") + bytes(8), 0x2E, 0x42)  # SCSI-FCP

# name: (capture, status, judged, not judged, foreign, in part)
ODD: dict[str, tuple[Callable[[], bytes], int, int, int, int, int]] = {
    "empty": (lambda: w.pcap(225, []), 2, 0, 0, 0, 0),
    "empty-pcapng": (lambda: pcapng([225], []), 2, 0, 0, 0, 0),
    "no-interface": (lambda: pcapng([], []), 2, 0, 0, 0, 0),
    "foreign": (lambda: w.pcap(1, [(0, IP), (1, ARP)]), 2, 0, 0, 2, 0),
    "foreign-linktype": (lambda: w.pcap(105, [(0, bytes(40))]), 2, 0, 0, 1, 0),
    "runts": (lambda: w.pcap(1, [(0, b""), (1, bytes(13))]), 2, 0, 0, 2, 0),
    "fcp-only": (lambda: w.pcap(224, [(0, OTHER.data)] * 3), 2, 0, 0, 3, 0),
    "logins-only": (lambda: (PCAPS / "libfc/vn2vn-ageing.pcap").read_bytes(), 2, 4, 0, 12, 0),
    "mixed": (lambda: w.pcap(1, [(0, IP), (1, FCOE), (2, ARP)]), 0, 1, 0, 2, 0),
    "mixed-fcp": (lambda: w.pcap(224, [(0, OTHER.data), (1, RQST.data)]), 0, 1, 0, 1, 0),
    "mixed-interfaces": (lambda: pcapng([1, 224, 105], [(0, FCOE, 0), (1, RQST.data, 0), (2, b"x", 0)]), 0, 2, 0, 1, 0),
    "big-endian-pcapng": (lambda: pcapng([1, 224], [(0, FCOE, 0), (1, RQST.data, 0)], ">"), 0, 2, 0, 0, 0),
    "dropped-pcapng": (lambda: pcapng([224], [(0, RQST.data, 0), (0, RQST.data, 5)]), 0, 2, 0, 0, 0),
    "wrong-crc": (lambda: w.pcap(1, [(0, w.ethernet(0x8906, w.fcoe(Frame(RQST.data, 0x2E, 0x42, False))))]), 1, 1, 0, 0, 0),
    "wrong-crc-boardwalk": (lambda: cut("boardwalk", 0, [Frame(RQST.data, 0x2E, 0x42, False)]), 1, 1, 0, 0, 0),
    "one-direction": (one_direction, 0, 3, 0, 0, 0),
    "fcoe-of-3-vlans": (lambda: w.pcap(1, [(0, w.ethernet(0x8906, w.fcoe(RQST), [1, 2, 3]))]), 0, 1, 0, 0, 0),
    "fcoe-of-8-vlans": (lambda: w.pcap(1, [(0, w.ethernet(0x8906, w.fcoe(RQST), range(1, 9)))]), 0, 1, 0, 0, 0),
    "vlan-tags-alone": (lambda: w.pcap(1, [(0, w.ethernet(0x8100, bytes(2)))]), 2, 0, 0, 1, 0),
    "erf-lost": (lambda: w.pcap(197, [(0, w.erf(FCOE + bytes(4), 3))]), 0, 1, 0, 0, 0),
    "erf-other": (lambda: w.pcap(197, [(0, bytes(8) + bytes([1]) + bytes(40))]), 2, 0, 0, 1, 0),
    "fcip-gap": (gapped, 0, 12, 0, 0, 0),
    "fcip-swapped": (swapped, 0, 7, 0, 0, 0),
    "fcip-handshake": (lambda: (PCAPS / "crafted/fcip-split.pcap").read_bytes(), 2, 2, 0, 3, 0),
    "port-3225-no-fcip": (lambda: w.pcap(1, _no_fcip()), 2, 0, 3, 0, 0),
    "fip": (lambda: (PCAPS / "crafted/fip.pcap").read_bytes(), 2, 0, 0, 14, 0),
    "boardwalk-cut-by-adapter": (lambda: w.pcap(1, [(0, w.ethernet(0x88AE, w.boardwalk(RQST, 0, keep=60)))]), 0, 1, 0, 0, 1),
    "boardwalk-cut-with-length": (lambda: w.pcap(1, [(0, w.ethernet(0x88AE, w.boardwalk(RQST, 0, 7, True, 60)))]), 0, 1, 0, 0, 1),
    "extended-header-of-others": (lambda: w.pcap(224, [(0, b"\x52" + bytes(47))]), 2, 0, 0, 1, 0),
}


def test_a_segment_that_cannot_be_read_is_never_passed_over(tmp_path: Path) -> None:
    """Where libtins is missing, FCIP ends the reading, also when frames that can be read stand before and behind it."""
    (tmp_path / "build/python").mkdir(parents=True)
    shutil.copy(FCVI, tmp_path / "build/fcvi")
    for path in (FCVI.parent / "python").glob("_fcvi*.so"):
        shutil.copy(path, tmp_path / "build/python")
    for name in ("harness", "conformance"):
        (tmp_path / name).symlink_to(ROOT / name)
    frames = frames_of(SOURCES[0])[:4]
    fcoe, fcip = (w.ALONE[name][1](frames) for name in ("fcoe", "fcip"))
    (tmp_path / "mixed.pcap").write_bytes(w.pcap(1, [*fcoe[:2], fcip[0], *fcoe[2:]]))
    for stdin in (None, (tmp_path / "mixed.pcap").read_bytes()):
        words = [str(tmp_path / "build/fcvi"), "lint", "-" if stdin else str(tmp_path / "mixed.pcap")]
        done = subprocess.run(words, input=stdin, capture_output=True, timeout=60, check=False)
        assert done.returncode == 2 and b"install libtins" in done.stderr, (done.stdout, done.stderr)


def _no_fcip() -> list[tuple[int, bytes]]:
    tcp = w.Tcp()
    for i in range(3):
        tcp.segment(bytes(range(1, 200)), i)
    return tcp.records


@pytest.mark.parametrize("name", ODD)
def test_every_record_is_judged_not_judged_or_foreign(name: str, tmp_path: Path) -> None:
    make, status, judged, unjudged, foreign, in_part = ODD[name]
    data = make()
    findings, summary, said, error = lint(data, tmp_path / "odd.pcap")
    records = summary["records"]
    assert adds_up(summary), records
    counts = (records["judged"], sum(records["not_judged"].values()), sum(records["foreign"].values()), records["judged_in_part"])
    assert counts == (judged, unjudged, foreign, in_part), records
    assert said == status and (status == 1) == bool(findings), (error, findings)
    assert len(error.splitlines()) == (1 if status == 2 else 0), error
    text = fcvi("lint", str(tmp_path / "odd.pcap"))
    assert ("violations" in text.stdout) == (status < 2), text.stdout
    decoded = fcvi("decode", "--summary", str(tmp_path / "odd.pcap"))
    assert len(decoded.stdout.splitlines()) >= records["all"] - 1
    assert decoded.returncode in (0, 2) and len(decoded.stderr.splitlines()) == (1 if decoded.returncode else 0)


HEADERS = {
    "fcoe": 14 + 14, "fcoe-vlan": 18 + 14, "boardwalk": 16, "boardwalk-length": 16, "mds": 30, "vft": 8, "erf": 46, "fcip": 86,
}  # fmt: skip


@pytest.mark.parametrize("snap", [24, 48, 60, 64, 96, 128])
@pytest.mark.parametrize("name", HEADERS)
def test_cut_frames_are_judged_as_far_as_they_go(name: str, snap: int, tmp_path: Path) -> None:
    """No finding comes of what is cut off; a frame with its headers is judged."""
    for source in SOURCES[:2]:
        frames = [f for f in frames_of(source) if f.good and f.eof in (0x41, 0x42)]
        before = {(f["frame"], f["requirement"]) for f in lint(cut(name, 0, frames), tmp_path / "whole.pcap")[0]}
        findings, summary, status, error = lint(cut(name, snap, frames), tmp_path / "cut.pcap")
        assert {(f["frame"], f["requirement"]) for f in findings} <= before
        assert adds_up(summary) and summary["records"]["all"] == len(frames)
        ius = [f for f in frames if f.data[8] == 0x58]
        if snap >= HEADERS[name] + 56:
            assert summary["fcvi"] == len(ius) and status == (1 if findings else 0)
        if snap < HEADERS[name] + 24:
            assert summary["records"]["judged"] == 0 and status == 2 and "nothing of FC-VI was judged" in error


def test_nobody_is_accused_of_what_a_damaged_frame_says(tmp_path: Path) -> None:
    """Each bit of the headers of a frame was turned over on the way: its CRC or its EOF says that it is damaged, and nothing else
    is found. Its sender sent another frame."""
    path, good = tmp_path / "bits.pcap", frames_of(SOURCES[0])
    for frame in good[:3]:
        damaged = []
        for bit in range(8 * min(56, len(frame.data))):
            data = bytearray(frame.data)
            data[bit // 8] ^= 1 << bit % 8
            sent = w.fcoe(frame)
            marked = w.fcoe(Frame(bytes(data), frame.sof, 0x49))  # EOFni
            damaged += [(0, w.ethernet(0x8906, sent[:14] + bytes(data) + sent[14 + len(data) :])), (0, w.ethernet(0x8906, marked))]
        path.write_bytes(w.pcap(1, damaged))
        findings, summary, status, _ = lint(path.read_bytes(), path, "--trust", "whole")
        assert status == 1 and summary["violations"] == 0 and adds_up(summary)
        assert {f["frame"] for f in findings} == set(range(1, len(damaged) + 1))
        assert {f["message"].split(":")[0] for f in findings} == {"CRC", "EOF"}
        flows = fcvi("flows", "--json", str(path))
        assert flows.returncode == 1 or not flows.stdout, flows.stdout


def test_a_breach_in_the_headers_is_found_at_64_bytes(tmp_path: Path) -> None:
    path = tmp_path / "snap.pcap"
    path.write_bytes(delimited([BROKEN]))
    short = tmp_path / "short.pcap"
    subprocess.run(["editcap", "-F", "pcap", "-s", "64", str(path), str(short)], check=True, capture_output=True)
    whole, cut_off = fcvi("lint", "--json", str(path)), fcvi("lint", "--json", str(short))
    names = [[json.loads(line).get("requirement") for line in done.stdout.splitlines()[:-1]] for done in (whole, cut_off)]
    assert names[0] and names[1] == names[0] and cut_off.returncode == 1
    decoded = json.loads(fcvi("decode", "--json", str(short)).stdout)
    assert decoded["record"] == "cut" and [f["requirement"] for f in decoded["findings"]] == names[0]


# ---- VSANs, gaps ----


def test_identifiers_of_different_vsans_are_not_mixed(tmp_path: Path) -> None:
    """One FCVI_HANDLE for two Connections of one port is a breach in one Fabric only."""
    other = bytearray(RQST.data)
    other[17] ^= 1
    pair = [RQST, Frame(bytes(other), 0x2E, 0x42)]
    for wrap in (lambda i, f: w.ethernet(0x88AE, w.boardwalk(f, i, vsan=7 + i)), lambda i, f: w.ethernet(0xFCFC, w.mds(f, 7 + i))):
        apart = lint(w.pcap(1, w.each(wrap, pair)), tmp_path / "apart.pcap", "--trust", "whole")
        assert apart[0] == [] and apart[1]["fcvi"] == 2
    tags = lint(w.pcap(224, w.each(lambda i, f: w.tagged(f, 7 + i).data, pair)), tmp_path / "vft.pcap", "--trust", "whole")
    assert tags[0] == []
    same = lint(w.pcap(224, w.each(lambda i, f: w.tagged(f, 7).data, pair)), tmp_path / "same.pcap", "--trust", "whole")
    assert same[0] != []


@pytest.mark.parametrize("resolution", [0, 6, 9, 19, 20, 0x7F, 0x80, 0xBF, 0xFF])
@pytest.mark.parametrize("offset", [0, 2**63 - 1, -(2**63)])
def test_no_two_times_are_too_far_apart_to_tell(resolution: int, offset: int, tmp_path: Path) -> None:
    frames = [(0, f.data, 0) for f in frames_of(SOURCES[0])[:8]]
    times = [0, 2**64 - 1, 1, 2**63, 5, 2**64 - 2, 7, 8][: len(frames)]
    more = struct.pack("<HHB3xHHqHH", 9, 1, resolution, 14, 8, offset, 0, 0)
    (tmp_path / "a.pcapng").write_bytes(pcapng([224], frames, more=more, times=times))
    with Reader(str(tmp_path / "a.pcapng")) as reader:
        assert all(0 <= r.time_us < 2**62 for r in reader)
    for command in ("flows", "explain"):
        assert fcvi(command, str(tmp_path / "a.pcapng")).returncode < 3, command


def test_the_monitor_hears_of_lost_frames(tmp_path: Path) -> None:
    frames = [RQST] * 4
    lost = [0, 1, 5, 6]
    data = w.pcap(1, w.each(lambda i, f: w.ethernet(0x88AE, w.boardwalk(f, lost[i])), frames))
    assert lint(data, tmp_path / "a.pcap")[1]["records"]["gaps"] == 1
    assert lint(gapped(), tmp_path / "b.pcap")[1]["records"]["gaps"] == 1
    assert lint(ODD["dropped-pcapng"][0](), tmp_path / "c.pcap")[1]["records"]["gaps"] == 1
    assert lint(ODD["erf-lost"][0](), tmp_path / "d.pcap")[1]["records"]["gaps"] == 1


# ---- hexadecimal dumps ----


@pytest.mark.parametrize("form", ["lines", "groups", "xxd", "hexdump", "text2pcap"])
@pytest.mark.parametrize("link", ["frame", "delimited", "ethernet"])
def test_hexadecimal_dumps(form: str, link: str, tmp_path: Path) -> None:
    raw = {"frame": RQST.data, "ethernet": FCOE, "delimited": delimited([RQST])[40:]}[link]
    if form == "lines":
        text = f"# an export\n{raw.hex()}\n\n{raw.hex().upper()}\n"
    elif form == "groups":
        words = " ".join("0x" + raw[i : i + 4].hex() for i in range(0, len(raw), 4))
        text = f"{words}\n{words}\n"
    elif form == "xxd":
        text = 2 * "".join(
            f"{i:08x}: {' '.join(raw[j : j + 2].hex() for j in range(i, min(i + 16, len(raw)), 2)):<41}beefcafe..ab..cd\n"
            for i in range(0, len(raw), 16)
        )
    elif form == "hexdump":
        lines = "".join(f"{i:08x}  {raw[i : i + 16].hex(' ')}  |dead beef|\n" for i in range(0, len(raw), 16))
        text = 2 * (lines + f"{len(raw):08x}\n")
    else:
        text = 2 * "".join(f"{i:06x} {raw[i : i + 16].hex(' ')}\n" for i in range(0, len(raw), 16))
    path = tmp_path / "dump.txt"
    path.write_text(text)
    done = fcvi("decode", "--from", "hex", "--json", str(path))
    frames = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and [f["iu"] for f in frames] == ["FCVI_CONNECT_RQST"] * 2, done.stderr
    assert all(f["length"] == len(RQST.data) and f["findings"] == [] for f in frames)
    lint = fcvi("lint", "--from", "hex", str(path))
    assert lint.returncode == 0 and "2 records: 2 judged, 0 not judged" in lint.stdout, lint.stdout + lint.stderr
    assert "\n2 frames, 2 of them FC-VI: 0 violations, 0 malformed, 0 notices\n" in lint.stdout


def test_lint_judges_a_dump_as_the_capture_it_came_from(tmp_path: Path) -> None:
    bad = bytearray(RQST.data)
    bad[13] = 1  # DF_CTL: a Device_Header of 16 bytes
    (tmp_path / "dump.txt").write_text(f"{RQST.data.hex()}\n{bad.hex()}\n")
    write = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 224)
    for data in (RQST.data, bytes(bad)):
        write += struct.pack("<IIII", 0, 0, len(data), len(data)) + data
    (tmp_path / "dump.pcap").write_bytes(write)
    dump = fcvi("lint", "--from", "hex", "--json", str(tmp_path / "dump.txt"))
    capture = fcvi("lint", "--json", str(tmp_path / "dump.pcap"))
    assert dump.returncode == capture.returncode == 1
    assert dump.stdout.replace("dump.txt", "dump.pcap") == capture.stdout


BAD_DUMPS = [("", "no hexadecimal dump"), ("zz", "line 1"), ("0000 11\n0005 22", "offset 0005"), ("000 11\nxx", "line 2")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_every_command_reads_a_dump_as_the_capture_it_came_from(encoding: str, tmp_path: Path) -> None:
    """But for its times, and by its own name. Standard input, too; VI/TCP as well; and one that is no dump gets a line."""
    talk = stories.Talk(random.Random(1))
    talk.login(), talk.setup(), talk.message(0, 3000), talk.disconnect()
    capture, dump = tmp_path / "a.pcap", tmp_path / "a.txt"
    capture.write_bytes(w.pcap(224, [(0, f.data) for f in talk.frames]))
    dump.write_text("\n".join(f.data.hex() for f in talk.frames), encoding)
    for command in ("flows", "explain", "lint", "decode"):
        whole = fcvi(command, str(capture))
        done = fcvi(command, "--from", "hex", str(dump))
        assert (done.stdout, done.returncode) == (whole.stdout.replace("a.pcap", "a.txt"), whole.returncode)
        assert "/proc" not in done.stdout
    (tmp_path / "b.txt").write_text("no dump\n")
    for command in (["flows"], ["explain"], ["flows", "--wire", "tcp"]):
        done = fcvi(*command, "--from", "hex", str(tmp_path / "b.txt"))
        assert done.returncode == 2 and "b.txt: line 1: 'no' is not hexadecimal" in done.stderr
    raw, at, packets = (PCAPS / "vitcp/good.pcap").read_bytes(), 24, []
    while at < len(raw):
        length = int.from_bytes(raw[at + 8 : at + 12], "little")
        packets.append(bytes(12) + b"\x08\x00" + raw[at + 16 : at + 16 + length])
        at += 16 + length
    dump.write_text("\n".join(p.hex() for p in packets), encoding)
    assert "Connect Accept" in fcvi("flows", "--wire", "tcp", "--from", "hex", "--link", "ethernet", str(dump)).stdout
    assert "1 of VI/TCP" in fcvi("explain", "--from", "hex", "--link", "ethernet", str(dump)).stdout


def test_a_last_row_whose_text_stands_close_is_read_to_its_end(tmp_path: Path) -> None:
    """Tools other than `hexdump -C` do not fill a short row up before the column of text."""
    rows = [RQST.data[at : at + 16] for at in range(0, 28, 16)]
    rows[1] = rows[1][:12]
    text = "".join(f"{n:07x}0  {row[:8].hex(' ')}  {row[8:].hex(' ')}  |{'.' * len(row)}|\n" for n, row in enumerate(rows))
    (tmp_path / "c.txt").write_text(text + "0000001c\n")
    done = fcvi("decode", "--summary", "--from", "hex", "--link", "frame", str(tmp_path / "c.txt"))
    assert done.returncode != 2 and "0000001c" not in done.stderr, done.stderr


@pytest.mark.parametrize("text, words", BAD_DUMPS)
def test_bad_dumps_get_one_line(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    path.write_text(text)
    for command in ("decode", "lint"):
        done = fcvi(command, "--from", "hex", str(path))
        assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


# ---- hostile input ----


@pytest.mark.parametrize("first", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("magic", ["1f8b08000000", "28b52ffd0000", "fd377a585a00", "04224d180000", "425a68390000"])
def test_a_pipe_that_gives_a_few_bytes_first(first: int, magic: str) -> None:
    command = [str(FCVI), "lint", "-"]
    with starts.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None and process.stderr is not None
        data = bytes.fromhex(magic) + bytes(1 << 17)
        try:
            process.stdin.write(data[:first])
            process.stdin.write(data[first:])
            process.stdin.close()
        except BrokenPipeError:
            pass
        error = process.stderr.read().decode()
        assert process.wait() == 2 and len(error.splitlines()) == 1


def test_what_is_packed_twice_or_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    import bz2
    import gzip

    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(gzip.compress(delimited([RQST]))))
    done = fcvi("lint", str(path))
    assert done.returncode == 2 and "packed twice" in done.stderr
    record = struct.pack("<IIII", 0, 0, 1 << 16, 1 << 16) + bytes(1 << 16)
    path.write_bytes(bz2.compress(w.pcap(1, []) + record * 5000))
    done = fcvi("lint", "--json", str(path))
    assert done.returncode == 2 and "2000 times its size" in done.stderr and len(done.stderr.splitlines()) == 1


# ---- the length of answers ----


@pytest.mark.parametrize("command, length", [(0x03, 112), (0x04, 112), (0x50, 112), (0x51, 112), (0x52, 24)])
def test_an_ls_acc_is_as_long_as_what_it_answers_asks_for(command: int, length: int, tmp_path: Path) -> None:
    """Where it came at once: an OX_ID comes again, and a capture lacks frames. A whole one, and an LS_RJT, are right."""
    to = stories.F_PORT if command == 0x04 else stories.B
    by = 0 if command == 0x04 else stories.A

    def malformed(answer: bytes, reply: int = 0x02, after: int = 1000, ox_id: int = 7) -> int:
        frames = [stories.Seen(10, stories.link_service(command, to, by, 7, bytes(length))),
                  stories.Seen(10 + after, stories.link_service(reply, stories.A, to, ox_id, answer, reply=True))]  # fmt: skip
        frames.append(stories.Seen(after + 20, RQST.data))
        data = w.pcap(*stories.records(frames, stories.Wrapping("fcoe"), random.Random(1)))
        return int(lint(data, tmp_path / "a.pcap")[1]["malformed"])

    assert malformed(bytes(length)) == malformed(bytes(length + 140)) == 0
    assert malformed(b"") == malformed(bytes(length - 4)) == 1
    assert malformed(bytes(4), reply=0x01) == malformed(b"", ox_id=8) == malformed(b"", after=200_000) == 0


@pytest.mark.parametrize("linktype, written", [(1, 2), (224, 2), (224, 0), (225, 0)])
def test_zeros_behind_what_was_written_are_one_line(linktype: int, written: int, tmp_path: Path) -> None:
    """A file that was made larger than what was written into it ends in zeros, which read as records without a byte: no port sent
    them. What was written is judged as without them."""
    records = w.ALONE["fcoe"][1]([RQST] * written) if linktype == 1 else [(n + 1, RQST.data) for n in range(written)]
    path = tmp_path / "zeros.pcap"
    path.write_bytes(w.pcap(linktype, records) + bytes(16 * 5000))
    done = fcvi("lint", str(path))
    lines = [line for line in done.stdout.splitlines() if "5000 records without a byte, from record" in line]
    assert len(lines) == 1 and ("keeps what stands before" if written else "take the capture anew") in lines[0]
    assert "malformed]" not in done.stdout and "order of their time stamps" not in done.stdout
    assert done.returncode == (0 if written else 2)
