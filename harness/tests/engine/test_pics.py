"""``fcvi pics``: a commented file of every item, filled from hello, and its review."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from conformance.fcvi.pics import ITEMS, MEANINGS

from ..conftest import fcvi

NAMES = [*ITEMS.booleans, *ITEMS.numbers, *ITEMS.words]


def test_every_item_has_a_meaning_and_no_other() -> None:
    assert sorted(MEANINGS) == sorted(NAMES)
    assert all(item.meaning and item.clause for item in MEANINGS.values())


@pytest.mark.parametrize("dut", [[], ["--dut", "ref"]])
def test_new_writes_every_item_with_its_meaning(dut: list[str], tmp_path: Path) -> None:
    done = fcvi("pics", "new", *dut)
    assert done.returncode == 0 and done.stderr == ""
    data = tomllib.loads(done.stdout)
    assert list(data["pics"]) == NAMES and data["lab"] == data["item"] == {}
    assert data["pics"]["client"] is bool(dut)
    lines = done.stdout.splitlines()
    for name in NAMES:
        at = next(n for n, line in enumerate(lines) if line.startswith(f"{name} = "))
        assert lines[at - 1].startswith("# The device: ") and "Clause " in lines[at - 1] and "decides " in lines[at - 1]
    (tmp_path / "p.toml").write_text(done.stdout)
    checked = fcvi("pics", "check", str(tmp_path / "p.toml"))
    assert checked.returncode == (0 if dut else 1) and "a certificate would not state: Laboratory" in checked.stdout


def test_the_number_of_cases_is_what_changes(tmp_path: Path) -> None:
    """An item decides as many cases as it says: of the full PICS, no more than these cease to apply without it."""
    done = fcvi("pics", "new", "--dut", "ref")
    lines = done.stdout.splitlines()
    at = lines.index("farp = true")
    number = int(lines[at - 1].split("decides ")[1].split()[0])
    (tmp_path / "p.toml").write_text(done.stdout)
    (tmp_path / "q.toml").write_text(done.stdout.replace("farp = true", "farp = false"))
    counts = [json.loads(fcvi("pics", "check", "--json", str(tmp_path / f"{n}.toml")).stdout)["applicable"] for n in "pq"]
    assert 0 < counts[0] - counts[1] <= number


def test_out_overwrites_nothing(tmp_path: Path) -> None:
    assert fcvi("pics", "new", "--out", str(tmp_path / "p.toml")).returncode == 0
    done = fcvi("pics", "new", "--out", str(tmp_path / "p.toml"))
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "args, status",
    [
        (["new", "--dut", "exec:false"], 3), (["new", "--dut", "what:ever"], 2), (["check", "/nonexistent"], 2),
        (["check", "/dev/null"], 2),
    ],
)
def test_what_cannot_be_done_is_one_line(args: list[str], status: int) -> None:
    done = fcvi("pics", *args)
    assert done.returncode == status and done.stdout == "" and len(done.stderr.splitlines()) == 1, done.stderr
