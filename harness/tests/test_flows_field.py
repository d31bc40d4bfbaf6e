"""`fcvi flows` and `fcvi explain`: the bank of known causes, the forms of output, statuses, and hostile input."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path
from random import Random

import pytest

from harness.tests.field import bank

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "harness/fcvi/flows/flows.schema.json").read_text())


def fcvi(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run([str(ROOT / "build/fcvi"), *words], capture_output=True, text=True, check=False, timeout=60)


def test_the_first_cause_is_right_and_nobody_is_accused(tmp_path: Path) -> None:
    found = [v for verdicts in bank.all_verdicts(tmp_path).values() for v in verdicts]
    assert len(found) >= 120
    assert not [v for v in found if v.accused]
    known = [v for v in found if v.said != "not-known"]
    assert sum(v.said != "wrong" for v in known) >= 0.95 * len(known)
    assert sum(v.said == "exact" for v in found) >= 0.75 * len(found)


def test_captures_that_no_rule_was_made_for_are_explained_as_well(tmp_path: Path) -> None:
    """Other seeds, each from both ports. What is beyond the capture point looks like several causes, and is one of them."""
    found = [bank.judge(e, seed, where, tmp_path) for e in bank.BANK for seed in (1000, 1001, 1002) for where in (0, 1)]
    assert not [v for v in found if v.accused or v.said == "wrong"]
    assert sum(v.said == "exact" for v in found) >= 0.75 * len(found)


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
    assert "CONNECT_RQST" in page.read_text() and "http" not in page.read_text()


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
