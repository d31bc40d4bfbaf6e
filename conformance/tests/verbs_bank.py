"""The bank of faulty providers of RDMA verbs: each fault of the model is tried by the cases that list the row that it breaks.

Usage: make verbs-bank, or python3 -m conformance.tests.verbs_bank [--flavour ib] [--jobs N] [FAULT...]. It prints each fault, its
row and what came of it: "own" (a case failed by that row), "case" (a case that lists the row failed by another), "unseen" or
"error". The exit status is 1 when fewer than 95 of 100 are caught by their own row.

A few variants of each case are tried first, and the others only while the fault's own row has not been broken. Times are 2/5 of
those of a run (`--r-a-tov`): the model answers within milliseconds, and a fault is not accused wrongly.
"""

from __future__ import annotations

import argparse
import itertools
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
_PARTS = (6, 18)  # variants of the first and the second try; the third has the rest
_TIMES = ("--r-a-tov", "200")


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


def parts(row: str) -> list[list[str]]:
    """The variants of the cases that list a row, in the order in which they are tried: one of each case in turn."""
    cases = [[case.variant_id(variant) for variant in case.variants] for case in all_cases() if row in case.requirements]
    every = [variant for turn in itertools.zip_longest(*cases) for variant in turn if variant]
    first, second = _PARTS
    return [part for part in (every[:first], every[first : first + second], every[first + second :]) if part]


def outcome(fault: Fault, flavour: str, folder: Path, *more: str) -> Outcome:
    """Try one."""
    results: list[dict[str, Any]] = []
    for number, part in enumerate(parts(fault.row)):
        try:
            results += run(f"{MODEL} --flavour {flavour} --fault {fault.name}", ",".join(part), folder / f"{fault.name}-{number}",
                           *_TIMES, *more)  # fmt: skip
        except subprocess.TimeoutExpired:
            continue
        if any(r["verdict"] == "fail" and fault.row in r.get("broken", []) for r in results):
            break
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
            caught += got.kind == "own"
            print(got.kind, got.fault.name, got.fault.row, " ".join(got.variants[:3]), sep="\t", flush=True)
    print(f"{caught} of {len(chosen)} caught by their own row ({args.flavour})")
    return 0 if caught >= _ENOUGH * len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
