"""The book of VIPL on our own libvipl: it passes all that calls alone can decide."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Sequence

import pytest

from conformance.tests.first_written import unexplained
from conformance.vipl.cases import all_cases

from ..conftest import FCVI, ROOT

pytestmark = pytest.mark.early

AGENT = os.environ.get("FCVI_AGENT", str(ROOT / "build/fcvi-agent"))
#: What needs two processes on one node.
OPEN = {f"VIPL.P3/{name}" for name in ("send", "recv", "end", "write", "read")}
SHARDS = 6  # most of a run is waiting: for silence, and for timers


def fcvi(*args: str) -> subprocess.CompletedProcess[str]:
    """Run the command, without more standards than it asks for by itself."""
    environment = {name: value for name, value in os.environ.items() if name != "FCVI_STANDARDS"}
    return subprocess.run([str(FCVI), *args], env=environment, capture_output=True, text=True, timeout=300, check=False)


def shard(number: int, folder: Path) -> list[dict[str, Any]]:
    report = folder / str(number)
    done = fcvi("run", "--dut", "api", "--agent", f"exec:{AGENT}", "--shard", f"{number}/{SHARDS}", "--report", str(report),
                *(() if number == 1 else ("--formats", "json")))  # fmt: skip
    assert done.returncode in (0, 4), done.stdout + done.stderr
    results: list[dict[str, Any]] = json.loads((report / "report.json").read_text())["results"]
    return results


@pytest.mark.parametrize("numbers", [(1, 4), pytest.param(range(1, SHARDS + 1), marks=pytest.mark.nightly)], ids=["part", "whole"])
def test_our_libvipl_passes_the_book(numbers: Sequence[int], tmp_path: Path) -> None:
    """Both ends are NICs of one agent. No frame is seen: --dut api has none to show."""
    with ThreadPoolExecutor(SHARDS) as pool:
        results = [r for part in pool.map(lambda n: shard(n, tmp_path), numbers) for r in part]
    assert abs(len(results) * SHARDS / len(numbers) - sum(len(case.variants) for case in all_cases())) <= SHARDS
    wrong = {r["id"]: r["reason"] for r in results if r["verdict"] not in ("pass", "not-applicable", "inconclusive")}
    assert wrong == {}
    assert {r["id"] for r in results if r["verdict"] == "inconclusive"} == {r["id"] for r in results} & OPEN
    again = fcvi("judge", str(tmp_path / "1"))
    assert again.returncode in (0, 4) and "byte for byte the same" in again.stdout, again.stdout + again.stderr


def test_other_runs_do_not_know_the_book() -> None:
    shown = fcvi("list")
    assert shown.returncode == 0 and "VIPL." not in shown.stdout
    unfit = fcvi("run", "--dut", "ref", "--select", "VIPL.C1")
    assert unfit.returncode == 2 and "attach api" in unfit.stderr and unfit.stdout == ""


#: The catalogue as it was first written, before the changes that requirements_changed.tsv gives reasons for.
FIRST_WRITTEN = "82bf0d22fb901f6a4974eeb337286c8998feddcaeefc550daad06adf0f670411"


def test_the_differences_from_the_first_catalogue_are_the_changes_with_a_reason() -> None:
    assert unexplained(ROOT / "conformance/vipl", FIRST_WRITTEN) == ""
