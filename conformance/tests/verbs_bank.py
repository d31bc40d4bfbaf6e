"""The bank of faulty providers of RDMA verbs: each fault of the model is tried by the cases that list the row that it breaks.

Usage: make verbs-bank, or python3 -m conformance.tests.verbs_bank [--flavour ib] [--jobs N] [FAULT...]. It prints each fault, its
row and what came of it: "own" (a case failed by that row), "case" (a case that lists the row failed by another), "unseen" or
"error". The exit status is 1 when fewer than 95 of 100 are caught.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from conformance.verbs.cases import all_cases

ROOT = Path(__file__).resolve().parents[2]
MODEL = f"{sys.executable} -m harness.tests.independent.verbs.agent"
_ENOUGH = 0.95
_LONGEST_S = 900


class Fault(NamedTuple):
    """A fault as the model lists it."""

    name: str
    row: str
    flavours: str
    words: str


class Outcome(NamedTuple):
    """What came of a fault, and the variants that say so."""

    fault: Fault
    kind: str
    variants: list[str]


def environment() -> dict[str, str]:
    """With everything of this tree."""
    return {**os.environ, "PYTHONPATH": f"{ROOT}/build/python:{ROOT}/harness:{ROOT}"}


def faults(flavour: str) -> list[Fault]:
    """Those of a flavour."""
    words = [sys.executable, "-m", "harness.tests.independent.verbs.agent", "--list-faults"]
    told = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60, check=True).stdout
    found = [Fault(*line.split("\t")[:4]) for line in told.splitlines()]
    return [fault for fault in found if flavour in fault.flavours.split()]


def run(agent: str, select: str, report: Path, *more: str) -> list[dict[str, Any]]:
    """The results of a run through this agent; empty when there was none."""
    words = [sys.executable, "-m", "conformance", "run", "--dut", "verbs", "--agent", f"exec:{agent}", "--select", select]
    words += ["--report", str(report), "--formats", "json", "--quiet", *more]
    subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, timeout=_LONGEST_S, check=False)
    try:
        results: list[dict[str, Any]] = json.loads((report / "report.json").read_text())["results"]
    except OSError:
        return []
    return results


def outcome(fault: Fault, flavour: str, folder: Path, *more: str) -> Outcome:
    """Try one."""
    select = ",".join(case.id for case in all_cases() if fault.row in case.requirements)
    try:
        results = run(f"{MODEL} --flavour {flavour} --fault {fault.name}", select, folder / fault.name, *more) if select else []
    except subprocess.TimeoutExpired:
        results = []
    failed = [r for r in results if r["verdict"] == "fail"]
    own = [r["id"] for r in failed if fault.row in r.get("broken", [])]
    broke = not results or any(r["verdict"] == "error" for r in results)
    kind = "own" if own else "case" if failed else "error" if broke else "unseen"
    return Outcome(fault, kind, own or [r["id"] for r in failed])


def main() -> int:
    """The whole bank, or the faults that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flavour", choices=("iwarp", "ib"), default="iwarp")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("names", nargs="*", metavar="FAULT")
    args = parser.parse_args()
    chosen = [fault for fault in faults(args.flavour) if not args.names or fault.name in args.names]
    caught = 0
    with tempfile.TemporaryDirectory(prefix="fcvi-verbs-bank.") as folder, ThreadPoolExecutor(args.jobs) as pool:
        for got in pool.map(lambda fault: outcome(fault, args.flavour, Path(folder)), chosen):
            caught += got.kind in ("own", "case")
            print(got.kind, got.fault.name, got.fault.row, " ".join(got.variants[:3]), sep="\t", flush=True)
    print(f"{caught} of {len(chosen)} caught ({args.flavour})")
    return 0 if caught >= _ENOUGH * len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
