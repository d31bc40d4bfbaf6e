"""The book of VIPL on a provider that shares no code with ours, written from the texts alone: it fails with none of its choices.

As a program it runs the whole book with each choice: ``python3 -m harness.tests.test_independent_vipl``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .conftest import FCVI, ROOT
from .independent_vipl.variants import VARIANTS

SHARDS = 6  # most of a run is waiting
#: In a run of the tests the other choices are tried where they show: states, order, errors, names and limits.
SAMPLE = "VIPL.S*,VIPL.O*,VIPL.L*,VIPL.X2*,VIPL.K2,VIPL.D4"
_ENDS_WELL = ("pass", "not-applicable", "inconclusive")


def shard(variant: str, select: str, number: int) -> dict[str, str]:
    """What did not end well in one part of a run, with its reason; how many passed under the key "passed"."""
    agent = f"env -C {ROOT} PYTHONPATH={ROOT}:{ROOT}/harness {sys.executable} -m harness.tests.independent_vipl --variant {variant}"
    with tempfile.TemporaryDirectory() as report:
        done = subprocess.run(
            [str(FCVI), "run", "--dut", "api", "--agent", f"exec:{agent}", "--select", select, "--shard", f"{number}/{SHARDS}",
             "--report", report], capture_output=True, text=True, timeout=1800, check=False)  # fmt: skip
        path = Path(report) / "report.json"
        assert path.is_file(), done.stdout + done.stderr
        results = json.loads(path.read_text())["results"]
    found = {r["id"]: f"{r['verdict']}: {r['reason']}" for r in results if r["verdict"] not in _ENDS_WELL}
    return {**found, "passed": str(sum(r["verdict"] == "pass" for r in results))}


def run(variant: str, select: str) -> tuple[int, dict[str, str]]:
    """How many variants passed, and what did not end well."""
    with ThreadPoolExecutor(SHARDS) as pool:
        parts = list(pool.map(lambda n: shard(variant, select, n), range(1, SHARDS + 1)))
    passed = sum(int(part.pop("passed")) for part in parts)
    return passed, {ident: why for part in parts for ident, why in part.items()}


def test_it_passes_the_book() -> None:
    passed, wrong = run("plain", "VIPL.*")
    assert wrong == {} and passed > 480


@pytest.mark.parametrize("variant", sorted(set(VARIANTS) - {"plain"}))
def test_no_choice_that_the_texts_permit_is_failed(variant: str) -> None:
    passed, wrong = run(variant, SAMPLE)
    assert wrong == {} and passed > 20


def main() -> int:
    """The whole book with each choice; exit status 1 when anything failed."""
    bad = 0
    for variant in VARIANTS:
        passed, wrong = run(variant, "VIPL.*")
        print(f"{variant}: {passed} pass, {len(wrong)} failed {wrong or ''}", flush=True)
        bad += len(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
