"""The suite against an endpoint written from the standard alone: no choice fails, every broken rule is caught.

Every choice meets a part of the cases, another for each, and every fault the cases that know its kind. FCVI_FULL=1 lets each
meet all of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conformance.fcvi.cases import all_cases
from fcvi.cli import main

from .conftest import ROOT

ENDPOINT = f"/usr/bin/python3 {shlex.quote(str(ROOT))}/harness/tests/independent/endpoint.py"
_RANGES = {"split": ["100", "340"], "send_ius": ["3"], "vis": ["16", "32"]}  # values to try of choices that are ranges
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


FULL = os.environ.get("FCVI_FULL") == "1"
_PARTS = 10  # a choice meets one in so many case variants
#: Where nearly all faults are caught, and where the others are.
_FAULT_CASES = "4.2.*,5.2.1*,5.3.2*,5.9.5*,8.2*,C.5.*,D.*"
_FAULT_OWN_CASES = {
    "reject-as-no-match": "5.9.7.2.1",
    "connections-survive-logout": "7.7.1.logout",
    "no-plogi-after-logo": "7.7.1.logout",
    "immediate-without-flag": "6.2",
}


def part_for(chosen: str) -> list[str]:
    """The options that select this choice's part of the case variants: the same in every run."""
    if FULL:
        return []
    idents = [i for case in all_cases() for i in case.variant_ids()]
    mine = [i for i in idents if hashlib.sha256(f"{chosen} {i}".encode()).digest()[0] % _PARTS == 0]
    return ["--select", ",".join(mine)]


def cases_for(fault: str) -> list[str]:
    """The options that select the cases for a fault."""
    return [] if FULL else ["--select", _FAULT_OWN_CASES.get(fault, _FAULT_CASES)]


def run(arguments: str, directory: Path, selection: list[str]) -> dict[str, Any]:
    """Run cases against the endpoint; in this process, which has loaded the suite already."""
    main(["run", "--quiet", "--dut", f"exec:{ENDPOINT} {arguments}", "--report", str(directory), "--formats", "json",
          "--rpc-timeout", "2", *selection])  # fmt: skip
    report: dict[str, Any] = json.loads((directory / "report.json").read_text())
    return report


@pytest.mark.parametrize("chosen", SINGLE + COMBINED, ids=lambda c: "+".join(f"{n}={v}" for n, v in c)[:60])
def test_what_the_standard_permits_passes(chosen: list[tuple[str, str]], tmp_path: Path) -> None:
    arguments = " ".join(f"--choose {name}={value}" for name, value in chosen)
    report = run(arguments, tmp_path, part_for(arguments))
    fair = {"pass", "not-applicable"}
    if ("setup_abts", "ends") in chosen:  # what such a setup was to show cannot be seen then (E153); it may not fail
        fair.add("inconclusive")
    wrong = [(r["id"], r["reason"]) for r in report["results"] if r["verdict"] not in fair]
    assert wrong == [] and report["results"] and not report["summary"]["error"], report["summary"]


FAULTS = {row[0]: row[1] for row in listed("--list-faults")}


def results_in(directory: Path) -> list[Any]:
    """The results of the run whose report is there."""
    results: list[Any] = json.loads((directory / "report.json").read_text())["results"]
    return results


@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in NOT_CAUGHT])
def test_what_the_standard_forbids_is_caught(fault: str, tmp_path: Path) -> None:
    """A mistake in FC-VI fails a case; that the attachment broke down does not count as catching it."""
    summary = run(f"--fault {fault}", tmp_path, cases_for(fault))["summary"]
    if FAULTS[fault] == "dut-protocol":
        assert summary["pass"] == 0 and summary["fail"] + summary["error"] > 0, summary
    else:
        assert summary["fail"] > 0, summary


@pytest.mark.parametrize("fault", NOT_CAUGHT)
def test_what_is_not_caught_is_still_not_caught(fault: str, tmp_path: Path) -> None:
    """Otherwise the list and the documents would say too little of the suite."""
    summary = run(f"--fault {fault}", tmp_path, cases_for(fault))["summary"]
    assert summary["pass"] + summary["not-applicable"] == len(results_in(tmp_path)), summary
