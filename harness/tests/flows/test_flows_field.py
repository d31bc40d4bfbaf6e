"""`fcvi flows` and `fcvi explain`: the bank of known causes, the forms of output, statuses, and hostile input."""

from __future__ import annotations

import csv
import io
import json
import struct
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from harness.tests.flows.field import bank, twins
from harness.tests.flows.field.file import write_delimited
from harness.tests.flows.field.world import IDS, World

from .. import starts

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "harness/fcvi/flows/flows.schema.json").read_text())


def fcvi(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return starts.run([str(ROOT / "build/fcvi"), *words], capture_output=True, text=True, check=False, timeout=60)


def test_what_is_named_is_right_and_nobody_is_accused(tmp_path: Path) -> None:
    """Ten captures of each cause from each port, with the seeds that the rules were made with and with others."""
    for seeds in (range(bank.SEEDS), bank.HELD_OUT):
        found = bank.all_verdicts(tmp_path, seeds)
        every = [(cause, v) for cause, verdicts in found.items() for v in verdicts]
        assert len(every) >= 400
        assert not [(cause, v) for cause, v in every if v.accused]
        known = [v for _, v in every if v.said != "not-known"]
        assert sum(v.said == "right" for v in known) >= 0.95 * len(known)
        assert sum(v.first[:1] == (cause,) for cause, v in every) >= 0.95 * len(every)
        # "not known" only where the capture cannot show more
        assert {(cause, v.where) for cause, v in every if v.said == "not-known"} <= set(twins.TWINS)


@pytest.mark.parametrize("cause, where", twins.TWINS)
def test_not_known_is_said_where_another_cause_makes_the_same_capture(cause: str, where: int) -> None:
    assert all(twins.are_alike(cause, where, seed) for seed in (0, 1, 7000))


CUTS = (60, 64, 96, 128)


def of_a_part(frames: list[tuple[int, bytes, int, int, int]], snap: int, path: Path) -> Path:
    """A capture that holds the first bytes of each frame."""
    out = [struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, snap, 224)]
    for time_us, data, *_ in frames:
        out += [struct.pack("<IIII", *divmod(time_us, 1_000_000), min(snap, len(data)), len(data)), data[:snap]]
    path.write_bytes(b"".join(out))
    return path


@pytest.mark.parametrize("snap", CUTS)
def test_a_capture_that_is_cut_says_as_much(snap: int, tmp_path: Path) -> None:
    """The headers have what a cause is known by. What is cut off is not taken for lost (a wrong CRC is not in these)."""
    for entry in bank.BANK:
        for seed in range(3):
            for where in (0, 1):
                world = entry.make(Random(f"{entry.cause} {seed}"))
                whole = bank.verdict(entry, where, of_a_part(world.seen[where], 4096, tmp_path / "whole.pcap"))
                cut = bank.verdict(entry, where, of_a_part(world.seen[where], snap, tmp_path / "cut.pcap"))
                assert not cut.accused
                assert cut.first == whole.first or (cut.said != "wrong" and set(whole.first) <= set(cut.first)), entry.cause
    for seed in range(10):
        world = bank.healthy(Random(f"healthy {seed}"))
        assert bank.verdict(bank.Entry("", bank.healthy), 0, of_a_part(world.seen[0], snap, tmp_path / "h.pcap")).said == "nothing"


def test_what_is_cut_off_is_told_beside_what_is_found(tmp_path: Path) -> None:
    """Of a capture that shows nothing wrong, too: nobody takes it for whole."""
    frames = bank.healthy(Random("healthy 0")).seen[0]
    whole = of_a_part(frames, 4096, tmp_path / "whole.pcap").read_bytes()
    for snap, share in ((60, "; {} by their headers only: cut off"), (48, "not taken in: {} cut off")):
        share = share.format(sum(len(frame[1]) > snap for frame in frames))
        path = of_a_part(frames, snap, tmp_path / "c.pcap")
        if snap < 56:
            path.write_bytes(whole + path.read_bytes()[24:])
        for command in ("flows", "explain"):
            done = fcvi(command, str(path))
            assert done.returncode == 0 and share in done.stdout.splitlines()[-1], done.stdout
            assert ("not taken in" in done.stdout) == (snap < 56)


def test_what_went_before_changes_nothing_and_shows_when_the_capture_began(tmp_path: Path) -> None:
    """A Connection that was in order, and two minutes later the cause."""
    before = bank.healthy(Random("before"))
    for entry in bank.BANK:
        for where in (0, 1):
            world = entry.make(Random(f"{entry.cause} 7020"))
            alone = bank.verdict(entry, where, of_a_part(world.seen[where], 4096, tmp_path / "alone.pcap"))
            after = [(f[0] + before.now + 120_000_000, *f[1:]) for f in world.seen[where]]
            both = bank.verdict(entry, where, of_a_part(before.seen[where] + after, 4096, tmp_path / "both.pcap"))
            if (entry.cause, where) == ("lost-request", 1):
                assert both.said == "right" and alone.said == "not-known"  # the request is not older than the capture
            elif entry.cause == "edition-mismatch":
                assert both.said == "right" and alone.said == "not-known"  # the server speaks 2007
            else:
                assert (both.said, both.first, both.accused) == (alone.said, alone.first, alone.accused)


def test_a_capture_that_begins_late_ends_early_or_has_one_direction_accuses_nobody(tmp_path: Path) -> None:
    r = Random(20)
    for entry in bank.BANK:
        for seed in range(4):
            world, where = entry.make(Random(f"{entry.cause} {seed}")), seed % 2
            every = world.seen[where]
            for frames in (every[r.randrange(1, len(every) - 1) :], every[: r.randrange(len(every) // 3, len(every))],
                           [f for f in every if f[1][5:8] == IDS[0].to_bytes(3, "big")],
                           [f for f in every if f[1][5:8] == IDS[1].to_bytes(3, "big")]):  # fmt: skip
                if frames:
                    said = bank.verdict(entry, where, of_a_part(frames, 4096, tmp_path / "part.pcap"))
                    assert not said.accused
                    # of two Peers that gave up one direction shows one; else it shows that no answer came, or a refusal
                    is_one_way = len({f[1][5:8] for f in frames}) == 1
                    is_unheard = is_one_way and "".join(said.first[:1]).startswith("unheard-")
                    is_right = said.said != "wrong" or is_unheard or entry.cause == "peers-gave-up"
                    assert is_right, (entry.cause, seed, said)


def test_a_capture_without_a_fault_has_no_cause(tmp_path: Path) -> None:
    assert not [words for seed in range(30) if (words := bank.judge_healthy(seed, tmp_path))]


@pytest.fixture(name="capture", scope="module")
def _capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = bank.lost_response(Random("capture"))
    path = tmp_path_factory.mktemp("field") / "a.pcap"
    world.capture(0, path)
    return path


def test_json_is_as_the_schema_says(capture: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    done = fcvi("flows", "--json", str(capture))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows and done.returncode == 0, done.stderr
    for row in rows:
        jsonschema.validate(row, SCHEMA)
    assert rows[0]["port"] == ["010100", "010200"]
    assert rows[0]["host_address"] == ["fd00::1", "fd00::2"]
    assert rows[0]["discriminator"] == ["mirror", "mirror"]
    assert rows[0]["level"] == "Reliable Reception"
    assert rows[0]["setup_us"] > 0 and rows[0]["unanswered"] >= 1


def test_csv_openmetrics_and_page(capture: Path, tmp_path: Path) -> None:
    table = list(csv.DictReader(io.StringIO(fcvi("flows", "--csv", str(capture)).stdout)))
    assert table[0]["port_a"] == "010100"
    metrics = fcvi("flows", "--openmetrics", str(capture)).stdout
    assert metrics.endswith("# EOF\n") and "fcvi_connection_messages_total{" in metrics
    page = tmp_path / "page.html"
    assert fcvi("flows", "--html", str(page), str(capture)).returncode == 0
    assert "CONNECT_RQST" in page.read_text() and "http:" not in page.read_text() and "https:" not in page.read_text()


def test_statuses(capture: Path, tmp_path: Path) -> None:
    assert fcvi("explain", str(capture)).returncode == 1
    assert fcvi("flows", "--filter", "retries>5", str(capture)).returncode == 2
    assert fcvi("flows", "--filter", "nonsense", str(capture)).returncode == 2
    assert fcvi("flows", str(tmp_path / "missing")).returncode == 2
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(capture.read_bytes()[:24])
    done = fcvi("flows", str(cut))
    assert done.returncode == 2 and "nothing of FC-VI" in done.stderr and "Traceback" not in done.stderr


def test_a_capture_that_begins_later_makes_one_connection_of_two_directions(tmp_path: Path) -> None:
    world = bank.healthy(Random("7"))
    world = bank.lost_response(Random("halves"))
    path = tmp_path / "late.pcap"
    world.seen[0] = world.seen[0][4:]
    world.capture(0, path)
    rows = [json.loads(line) for line in fcvi("flows", "--json", str(path)).stdout.splitlines()]
    assert rows and all(not row["setup_seen"] for row in rows)


COUNTED = ("messages", "responses", "bytes", "frames", "state", "ended", "retries", "failed", "unanswered", "setup_us")


def test_frames_that_are_there_twice_count_once(tmp_path: Path) -> None:
    """A port mirrored in both directions, two capture points in one file, and frames that changed places."""
    w = World(11, latency_us=500)
    w.connect(3)
    for size in (0, 64, 5000, 9000):
        w.send(0, size)
        w.post(1, 1, size)
        w.post(0, 2, size)
        w.run(30_000)
    for side in (0, 1):
        w.disconnect(side)
    w.run(40_000_000)
    plain = w.seen[0]

    def seen(frames: list[tuple[int, bytes, int, int, int]], repeated: int) -> dict[str, Any]:
        write_delimited(tmp_path / "c.pcap", frames)
        (line,) = fcvi("flows", "--json", str(tmp_path / "c.pcap")).stdout.splitlines()
        text = fcvi("flows", str(tmp_path / "c.pcap")).stdout
        assert (f"; {repeated} repeat earlier ones" in text) == (repeated > 0), text
        return {name: value for name, value in json.loads(line).items() if name in COUNTED}

    expected = seen(plain, 0)
    assert expected["messages"] == [8, 4] and sum(expected["bytes"]) == 3 * (64 + 5000 + 9000)
    assert seen([f for f in plain for f in (f, f)], len(plain)) == expected
    both = sorted([*plain, *w.seen[1]], key=lambda f: f[0])
    assert {**seen(both, len(plain)), "setup_us": 0} == {**expected, "setup_us": 0}
    # a lost frame is a hole, and what stands there twice does not fill it
    without = [f for f in plain if f[1][20:24] != (2080).to_bytes(4, "big")]
    expected = seen(without, 0)
    assert seen([f for f in without for f in (f, f)], len(without)) == expected and len(without) < len(plain)
    expected = seen(plain, 0)
    # from behind the setup on, two by two the other way round
    times = [f[0] for f in plain]
    turned = plain[:4] + [plain[i ^ 1] if (i ^ 1) < len(plain) else plain[i] for i in range(4, len(plain))]
    # a Response before its request is not known to answer it
    assert {**seen([(t, *f[1:]) for t, f in zip(times, turned)], 0), "unanswered": 0} == expected


def test_a_cause_is_the_same_when_its_frames_are_there_twice(tmp_path: Path) -> None:
    """What is missing stays missing, and nothing comes late."""
    path = tmp_path / "c.pcap"
    for entry in bank.BANK:
        w = entry.make(Random(f"{entry.cause} 3"))
        for where in (0, 1):
            write_delimited(path, w.seen[where])
            once = bank.verdict(entry, where, path)
            write_delimited(path, [(f[0] + late, *f[1:]) for f in w.seen[where] for late in (0, 4)])
            assert bank.verdict(entry, where, path) == once, (entry.cause, where)


@pytest.mark.parametrize("seed", range(16))
def test_damaged_bytes_neither_crash_nor_hang(seed: int, tmp_path: Path) -> None:
    r = Random(seed)
    world = r.choice(bank.BANK).make(r)
    frames = []
    for time_us, data, sof, eof, crc in world.seen[seed % 2]:
        changed = bytearray(data[: r.choice((len(data), len(data), r.randint(24, len(data)) & ~3))])
        for _ in range(r.choice((0, 1, 3))):
            changed[r.randrange(len(changed))] = r.randrange(256)
        frames.append((time_us, bytes(changed), sof, eof, crc))
    path = tmp_path / "damaged.pcap"
    world.plain(path, frames)
    for command in ("flows", "explain"):
        done = fcvi(command, str(path))
        assert done.returncode in (0, 1, 2, 4) and "Traceback" not in done.stderr, done.stderr
