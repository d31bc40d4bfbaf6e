"""Captures of any size and from anywhere: standard input, pipes, compressed files, rings, several at a time."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from fcvi.capture.reader import write

from .. import starts
from ..conftest import CONNECT_RQST, PCAPS, RECORDED, ROOT, fcvi

FCVI = str(ROOT / "build/fcvi")
BAD_CRC = PCAPS / "crafted/fc2-225-badcrc.pcap"
GOOD = PCAPS / "crafted/fc2-225.pcap"


def lint(*words: str, stdin: bytes = b"") -> tuple[int, list[str], str]:
    """Exit status, lines of standard output, standard error."""
    done = fcvi("lint", *words, stdin=stdin)
    return done.returncode, done.stdout.splitlines(), done.stderr


def connect_frames(count: int, revision: int = 1) -> list[tuple[int, bytes, int, int]]:
    """CONNECT_RQSTs of different Exchanges and FCVI_CONNECTION_IDs, one a millisecond."""
    frames = []
    for i in range(count):
        data = bytearray.fromhex(CONNECT_RQST)
        data[63] = revision
        data[16:18] = (0x1000 + i).to_bytes(2, "big")
        frames.append((1000 * i, bytes(data), 0x2E, 0x42))
    return frames


# ---- standard input ----


def test_standard_input_is_read_like_a_file() -> None:
    of_file, of_input = lint("--json", str(BAD_CRC)), lint("--json", "-", stdin=BAD_CRC.read_bytes())
    assert of_file[0] == of_input[0] == 1
    assert [line.replace(str(BAD_CRC), "-") for line in of_file[1]] == of_input[1]


def test_findings_of_a_pipe_come_while_it_is_open() -> None:
    """As `tcpdump -w -` gives them: a record at a time, the first half of one before the second."""
    data = BAD_CRC.read_bytes()
    length = 24
    for _ in range(2):  # up to the end of the second record, which has a wrong CRC
        length += 16 + struct.unpack("<I", data[length + 8 : length + 12])[0]
    with starts.Popen([FCVI, "lint", "--json", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        for part in (data[:10], data[10 : length - 5], data[length - 5 : length]):
            process.stdin.write(part)
            process.stdin.flush()
            time.sleep(0.05)
        assert json.loads(process.stdout.readline())["frame"] == 2
        process.stdin.write(data[length:])
        process.stdin.close()
        rest = process.stdout.read().decode().splitlines()
    assert [json.loads(line)["frame"] for line in rest[:-1]] == [3, 5, 6] and process.returncode == 1


def heed_interrupts() -> None:
    """What is started in the background of a shell without job control ignores them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interrupting_a_live_pipe_ends_it_with_the_summary() -> None:
    with starts.Popen(
        [FCVI, "lint", "--json", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=heed_interrupts
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(BAD_CRC.read_bytes())
        process.stdin.flush()
        lines = [process.stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGINT)
        summary = json.loads(process.stdout.read())["summary"]
    assert len(lines) == 4 and summary["malformed"] == 4 and process.returncode == 1


@pytest.mark.parametrize("cut", [1, 12, 40, 41])
def test_a_pipe_that_ends_within_a_record(cut: int) -> None:
    """What came before is judged, then one line says how far it went."""
    data = BAD_CRC.read_bytes()
    status, lines, error = lint("--json", "-", stdin=data[:-cut])
    whole = lint("--json", str(BAD_CRC))[1]
    assert status == 2 and lines[:-1] == [line.replace(str(BAD_CRC), "-") for line in whole[:-1]][: len(lines) - 1]
    assert len(error.splitlines()) == 1 and "truncated" in error and "after record" in error, error


# ---- compressed ----

PACKERS = {"gz": ["gzip", "-c"], "zst": ["zstd", "-qc"], "lz4": ["lz4", "-qc"]}


def packed(data: bytes, how: str) -> bytes:
    """Compressed by an implementation that is not ours."""
    if how in ("gz", "bz2", "xz"):
        return {"gz": gzip, "bz2": bz2, "xz": lzma}[how].compress(data)  # type: ignore[attr-defined, no-any-return]
    if shutil.which(PACKERS[how][0]) is None:
        pytest.skip(f"{PACKERS[how][0]} is not installed")
    return subprocess.run(PACKERS[how], input=data, capture_output=True, check=True).stdout


@pytest.mark.parametrize("how", ["gz", "zst", "xz", "lz4", "bz2"])
@pytest.mark.parametrize("source", [BAD_CRC, RECORDED / "cases/3.4.pcapng"], ids=["pcap", "pcapng"])
def test_compressed_captures_say_what_plain_ones_say(how: str, source: Path, tmp_path: Path) -> None:
    path = tmp_path / f"capture.{how}"
    path.write_bytes(packed(source.read_bytes(), how))
    plain = lint("--json", str(source))
    for words, name, stdin in (((str(path),), str(path), b""), (("-",), "-", path.read_bytes())):
        status, lines, error = lint("--json", *words, stdin=stdin)
        assert (status, error) == (plain[0], "")
        assert lines == [line.replace(str(source), name) for line in plain[1]]
    assert fcvi("decode", "--summary", str(path)).stdout == fcvi("decode", "--summary", str(source)).stdout


@pytest.mark.parametrize("how", ["gz", "zst", "xz", "lz4", "bz2"])
def test_broken_compressed_captures_get_one_line(how: str, tmp_path: Path) -> None:
    path = tmp_path / f"capture.{how}"
    frames = connect_frames(400)
    write(tmp_path / "plain.pcap", 225, frames)
    whole = packed((tmp_path / "plain.pcap").read_bytes(), how)
    corrupt = bytearray(whole)
    for i in range(len(whole) // 2, len(whole) // 2 + 8):
        corrupt[i] ^= 0x5A
    for data in (whole[: len(whole) // 2], whole[:7], bytes(corrupt)):
        path.write_bytes(data)
        status, lines, error = lint("--json", str(path))
        assert status == 2 and len(error.splitlines()) == 1 and str(path) in error, (how, len(data), error)
        assert json.loads(lines[-1])["summary"]["frames"] < len(frames)


def test_a_gzip_file_is_whole_or_damaged(tmp_path: Path) -> None:
    """Members one after another, and zeros, are a file of gzip (RFC 1952, 2.2); what was damaged is held against no device."""
    source = RECORDED / "cases/3.4.pcapng"
    data, plain, path = source.read_bytes(), lint("--json", str(source)), tmp_path / "capture.gz"
    members = gzip.compress(data[:1000]) + gzip.compress(b"") + gzip.compress(data[1000:])
    for whole in (members, members + bytes(600), gzip.compress(data, 0)):
        path.write_bytes(whole)
        status, lines, error = lint("--json", str(path))
        assert (status, error) == (plain[0], "")
        assert lines == [line.replace(str(source), str(path)) for line in plain[1]]
    one = gzip.compress(data)
    for at, words in ((-1, "damaged"), (-5, "check value"), (len(one) // 2, "")):
        spoilt = bytearray(one)
        spoilt[at] ^= 0x10
        path.write_bytes(spoilt)
        status, _, error = lint("--json", str(path))
        assert status == 2 and words in error and len(error.splitlines()) == 1, (at, error)
    for more, words in ((one[:-1], "ends early"), (one + b"more", "behind its end"), (one + bytes(4) + one, "behind its end")):
        path.write_bytes(more)
        status, _, error = lint("--json", str(path))
        assert status == 2 and words in error and len(error.splitlines()) == 1, (words, error)


def test_what_is_packed_twice_is_not_unpacked(tmp_path: Path) -> None:
    """A few bytes of nested archives would become gigabytes."""
    path = tmp_path / "twice.gz"
    path.write_bytes(gzip.compress(gzip.compress(BAD_CRC.read_bytes())))
    status, lines, error = lint(str(path))
    assert (status, lines) == (2, []) and "packed twice" in error and len(error.splitlines()) == 1


# ---- pcap in place and through libpcap ----


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic, unit", [(0xA1B2C3D4, 1), (0xA1B23C4D, 1000)])
def test_byte_orders_and_units_of_time(order: str, magic: int, unit: int, tmp_path: Path) -> None:
    """Of this machine's order we read ourselves, of the other libpcap does."""
    data = bytes.fromhex(CONNECT_RQST)
    path = tmp_path / "order.pcap"
    record = struct.pack(order + "IIII", 7, 250000 * unit, len(data), len(data)) + data
    path.write_bytes(struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, 224) + 2 * record)
    out = [json.loads(line) for line in fcvi("decode", "--json", str(path)).stdout.splitlines()]
    assert [(frame["frame"], frame["time"]) for frame in out] == [(1, 7.25), (2, 7.25)]
    assert out[0]["fields"] == out[1]["fields"]


def test_frames_longer_than_the_snaplen_are_cut(tmp_path: Path) -> None:
    """As libpcap does with files that other programs wrote so."""
    data = bytes.fromhex(CONNECT_RQST)
    path = tmp_path / "long.pcap"
    record = struct.pack("<IIII", 0, 0, len(data), len(data)) + data
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 40, 224) + 2 * record)
    kinds = [json.loads(line)["record"] for line in fcvi("decode", "--json", str(path)).stdout.splitlines()]
    assert kinds == ["cut", "cut"]


def test_a_length_beyond_any_frame_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "length.pcap"
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 225) + struct.pack("<IIII", 0, 0, 1 << 20, 1 << 20))
    status, _, error = lint(str(path))
    assert status == 2 and "after record 0: invalid packet capture length 1048576" in error


# ---- several files ----


def ring(tmp_path: Path) -> list[str]:
    """A stream in three files whose names are not in order; the second breaks a rule with the first (a reused ID)."""
    frames = connect_frames(6)
    names = ["r_00002.pcap", "r_00003.pcap", "r_00001.pcap"]
    for i, name in enumerate(names):
        write(tmp_path / name, 225, frames[2 * i : 2 * i + 2])
    return [str(tmp_path / name) for name in names]


def test_a_ring_is_one_stream_in_the_order_of_its_frames(tmp_path: Path) -> None:
    """Judged like the one file that tcpdump would have written: setups with one FCVI_CONNECTION_ID are open at once."""
    whole = tmp_path / "whole.pcap"
    write(whole, 225, connect_frames(6))
    files = ring(tmp_path)
    status, lines, _ = lint("--json", "--trust", "whole", "--ring", *sorted(files))
    wanted_status, wanted, _ = lint("--json", "--trust", "whole", str(whole))
    assert status == wanted_status == 1
    found, same = ([json.loads(x) for x in y[:-1]] for y in (lines, wanted))
    place = {i + 1: (files[i // 2], i % 2 + 1) for i in range(6)}
    assert [(f["file"], f["frame"], f["requirement"]) for f in found] == [(*place[f["frame"]], f["requirement"]) for f in same]
    first = next(f for f in found if f["file"] == files[1])
    assert f"of {files[0]})" in first["message"]
    alone = json.loads(lint("--json", "--trust", "whole", *files)[1][-1])["summary"]
    assert alone["violations"] < json.loads(lines[-1])["summary"]["violations"]


def test_a_ring_with_a_file_that_is_still_written(tmp_path: Path) -> None:
    files = ring(tmp_path)
    last = Path(files[2])
    last.write_bytes(last.read_bytes()[:-7])
    status, lines, error = lint("--json", "--ring", *files)
    assert status == 2 and "truncated" in error and json.loads(lines[-1])["summary"]["frames"] == 5


@pytest.mark.parametrize("jobs", ["2", "5"])
@pytest.mark.parametrize("form", [["--json"], []])
def test_jobs_change_nothing(jobs: str, form: list[str], tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.pcap")
    files = [str(BAD_CRC), missing, *map(str, sorted(RECORDED.glob("cases/5.3*.pcapng"))), str(GOOD), str(BAD_CRC)]
    one, several = lint(*form, *files), lint(*form, "--jobs", jobs, *files)
    assert several == one and one[0] == 2 and "missing.pcap" in one[2]
    assert fcvi("decode", "--summary", "--jobs", jobs, *files).stdout == fcvi("decode", "--summary", *files).stdout


@pytest.mark.parametrize("words", [["--jobs", "0", "x"], ["--jobs", "many", "x"], ["--jobs", "2", "-", "x"], ["--ring", "x", "-"]])
def test_wrong_usage_gets_one_line(words: list[str]) -> None:
    done = fcvi("lint", *words)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "--help" in done.stderr


def test_json_lines_are_objects_of_one_shape() -> None:
    """What DuckDB, Spark or jq take as they are: one object a line, the same names in each finding."""
    lines = [json.loads(line) for line in lint("--json", str(BAD_CRC), str(GOOD))[1]]
    shapes = {tuple(line) for line in lines[:-1]}
    assert len(shapes) == 1 and {"file", "frame", "time", "requirement", "class", "seen", "required"} <= set(shapes.pop())
    assert list(lines[-1]) == ["summary"]


def test_memory_does_not_grow_with_the_capture(tmp_path: Path) -> None:
    """40 times the frames in the same Exchanges: at most a tenth more memory, whole process."""

    def peak(frames: int) -> int:
        path = tmp_path / f"{frames}.pcap"
        write(path, 225, connect_frames(50) * (frames // 50))
        # a real start: a fork has the memory of its server in its books
        with subprocess.Popen([FCVI, "lint", str(path)], stdout=subprocess.DEVNULL) as process:
            _, _, used = os.wait4(process.pid, 0)
            process.returncode = 0
        return used.ru_maxrss

    assert peak(40000) < 1.1 * peak(1000)
