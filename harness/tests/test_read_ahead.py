"""One capture with `--jobs 2`: two threads take turns at it, and what is said is the same to the byte."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from random import Random

import pytest

from harness.tests import wrappings
from harness.tests.field import bank

from . import starts

ROOT = Path(__file__).resolve().parents[2]
_HEADER = 24


def fcvi(*words: str) -> tuple[int, str, str]:
    """Run the command: status, output, errors."""
    done = starts.run([str(ROOT / "build/fcvi"), *words], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def records_of(capture: bytes) -> list[tuple[bytes, bytes]]:
    """Header and bytes of each record of a pcap file."""
    found, at = [], _HEADER
    while at < len(capture):
        length = struct.unpack_from("<I", capture, at + 8)[0]
        found.append((capture[at : at + 16], capture[at + 16 : at + 16 + length]))
        at += 16 + length
    return found


def made(path: Path, damage: float) -> bytes:
    """Several blocks of records; this share of them is missing, and half of it each is cut off, has another bit or comes twice."""
    bank.lost_response(Random("ahead")).capture(0, path)
    whole, random = path.read_bytes(), Random(331)
    out, records = [whole[:_HEADER]], records_of(whole)
    while sum(map(len, out)) < 1_500_000:
        for header, data in records:
            odd = random.random()
            if odd < damage:
                continue
            if odd < 1.5 * damage:
                at = random.randrange(4, len(data))
                data = data[:at] + bytes((data[at] ^ 1 << random.randrange(8),)) + data[at + 1 :]
            if odd > 1 - damage:
                data = data[: random.randrange(1, len(data))]
            out += [header[:8], struct.pack("<I", len(data)), header[12:], data] * (2 if odd > 1 - 1.5 * damage else 1)
    return b"".join(out)


@pytest.fixture(name="damaged", scope="module")
def _damaged(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Among all blocks are records that the threads judge alone."""
    return made(tmp_path_factory.mktemp("ahead") / "a.pcap", 0.01)


def same(path: Path, *words: str) -> int:
    """The status, which is the same with one job and with two, as is all that is said."""
    one, two = fcvi(*words, str(path)), fcvi(*words, "--jobs", "2", str(path))
    assert one == two
    return one[0]


def test_lint_and_flows_say_the_same_with_two_jobs(damaged: bytes, tmp_path: Path) -> None:
    path = tmp_path / "damaged.pcap"
    path.write_bytes(damaged)
    assert same(path, "lint", "--json") == 1
    assert same(path, "lint", "--trust", "all,order") == 1
    same(path, "flows", "--json")


@pytest.mark.parametrize("damage", [0.0, 0.0001, 0.002])
def test_what_one_thread_watches_while_the_other_judges_is_said_in_its_place(damage: float, tmp_path: Path) -> None:
    path = tmp_path / "seldom.pcap"
    path.write_bytes(made(tmp_path / "a.pcap", damage))
    same(path, "flows", "--json")


@pytest.mark.parametrize("what", ["compressed", "cut off", "no record", "empty", "no capture"])
def test_other_files_end_the_same_way(what: str, damaged: bytes, tmp_path: Path) -> None:
    path = tmp_path / "some.pcap"
    path.write_bytes({
        "compressed": gzip.compress(damaged, 1), "cut off": damaged[:700_001], "no record": damaged[:_HEADER], "empty": b"",
        "no capture": b"no capture at all" * 9,
    }[what])  # fmt: skip
    for command in ("lint", "flows"):
        status = same(path, command)
        assert status == 2 or what == "compressed"


def test_the_same_frames_in_every_case_capture(tmp_path: Path) -> None:
    paths = sorted(str(path) for path in (ROOT / "build/pcaps/cases").glob("5.*.pcapng"))[:12]
    assert paths
    for command in (("lint", "--ring", "--json"), ("flows", "--json")):
        assert fcvi(*command, *paths) == fcvi(*command, "--jobs", "2", *paths)


def test_ports_of_both_editions_take_turns_in_one_file(tmp_path: Path) -> None:
    """A pair of ports speaks the edition of its latest FCVI_CONNECT_RQST, which either thread may have seen."""
    old = [path.read_bytes() for path in sorted((ROOT / "build/pcaps/rev1").glob("*.pcapng"))]
    new = [path.read_bytes() for path in sorted((ROOT / "build/pcaps/cases").glob("5.*.pcapng"))[: len(old)]]
    path = tmp_path / "both.pcapng"
    path.write_bytes(b"".join(section for pair in zip(old, new) for section in pair) * 40)
    assert old and path.stat().st_size > 1_500_000  # several blocks
    same(path, "flows", "--json")
    same(path, "lint", "--json")


def test_a_stream_of_fcip_with_its_acknowledgements(tmp_path: Path) -> None:
    """Segments that hold a frame, a part of one, or none: whatever is left for the next record, each is judged in its place."""
    bank.lost_response(Random("ahead")).capture(0, tmp_path / "a.pcap")
    random, tcp, stream = Random(3225), wrappings.Tcp(), b""
    for _, data in records_of((tmp_path / "a.pcap").read_bytes()) * 120:
        stream += wrappings.fcip(wrappings.Frame(data[4:-8], 0x36, 0x41))
        size = random.choice([len(stream), len(stream), random.randrange(1, len(stream))])
        tcp.segment(stream[:size], 0)
        stream = stream[size:]
        if random.random() < 0.3:
            tcp.acknowledge(0)
    path = tmp_path / "fcip.pcap"
    path.write_bytes(wrappings.pcap(1, tcp.records))
    assert path.stat().st_size > 1_000_000  # several blocks
    same(path, "lint", "--json")
    same(path, "flows", "--json")
