"""The suite against an endpoint written from the standard alone: no choice fails, every broken rule is caught."""

from __future__ import annotations

import json
import random
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, fcvi

ENDPOINT = f"/usr/bin/python3 {shlex.quote(str(ROOT))}/harness/tests/independent/endpoint.py"
_RANGES = {"split": ["100", "340"], "send_ius": ["3"]}  # values to try of choices that are ranges
_DELAYS = ["5000", "1000000"]

#: Faults that the suite does not catch yet, and why.
NOT_CAUGHT = {
    "no-conn-lost": "informative: only examples and informative rules ask for the callback",
    "t2-no-conn-lost": "informative, as above",
    "quiet-disconnect": "informative, as above",
    "callback-when-idle": "informative, as above",
    "no-flush": "informative: flushing Descriptors is VI-ARCH's",
    "r6-closes": "rule D-6 does not say what becomes of the connection",
}


def listed(option: str) -> list[list[str]]:
    """Rows of --list-choices or --list-faults."""
    out = subprocess.run([*shlex.split(ENDPOINT), option], capture_output=True, text=True, check=True).stdout
    return [line.split("\t") for line in out.splitlines()]


def values(name: str, alternatives: str) -> list[str]:
    """What may be chosen."""
    found: list[str] = []
    for value in alternatives.split("|"):
        found += (_RANGES.get(name, _DELAYS)) if ".." in value else [value]
    return found


CHOICES = {name: values(name, alternatives) for name, alternatives, _ in listed("--list-choices")}
SINGLE = [[(name, value)] for name, chosen in CHOICES.items() for value in chosen[1:]]
_RNG = random.Random(331)
COMBINED = [[(name, _RNG.choice(chosen)) for name, chosen in CHOICES.items()] for _ in range(12)]


def run(arguments: str, directory: Path) -> dict[str, Any]:
    """Run the whole suite."""
    fcvi("run", "--quiet", "--dut", f"exec:{ENDPOINT} {arguments}", "--report", str(directory), "--formats", "json",
         "--rpc-timeout", "2")  # fmt: skip
    report: dict[str, Any] = json.loads((directory / "report.json").read_text())
    return report


@pytest.mark.parametrize("chosen", SINGLE + COMBINED, ids=lambda c: "+".join(f"{n}={v}" for n, v in c)[:60])
def test_what_the_standard_permits_passes(chosen: list[tuple[str, str]], tmp_path: Path) -> None:
    report = run(" ".join(f"--choose {name}={value}" for name, value in chosen), tmp_path)
    wrong = [(r["id"], r["reason"]) for r in report["results"] if r["verdict"] not in ("pass", "not-applicable")]
    assert wrong == []


FAULTS = {row[0]: row[1] for row in listed("--list-faults")}


def results_in(directory: Path) -> list[Any]:
    """The results of the run whose report is there."""
    results: list[Any] = json.loads((directory / "report.json").read_text())["results"]
    return results


@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in NOT_CAUGHT])
def test_what_the_standard_forbids_is_caught(fault: str, tmp_path: Path) -> None:
    """A mistake in FC-VI fails a case; that the attachment broke down does not count as catching it."""
    summary = run(f"--fault {fault}", tmp_path)["summary"]
    if FAULTS[fault] == "dut-protocol":
        assert summary["pass"] == 0 and summary["fail"] + summary["error"] > 0, summary
    else:
        assert summary["fail"] > 0, summary


@pytest.mark.parametrize("fault", NOT_CAUGHT)
def test_what_is_not_caught_is_still_not_caught(fault: str, tmp_path: Path) -> None:
    """Otherwise the list and the README would say too little of the suite."""
    summary = run(f"--fault {fault}", tmp_path)["summary"]
    assert summary["pass"] + summary["not-applicable"] == len(results_in(tmp_path)), summary
