"""The suite against an endpoint written from the standard alone: no choice fails, every broken rule is caught.

Every choice meets a part of the cases, another for each, and every fault the cases that know its kind. FCVI_FULL=1 lets each
meet all of them. The endpoint runs in this process; only what breaks the DUT protocol itself is tried over a pipe.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shlex
import subprocess
from pathlib import Path
from typing import Optional

import pytest

from conformance.fcvi.cases import all_cases
from conformance.tests.variants import LEVELS, IndependentDut
from fcvi.cli import main
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Verdict
from fcvi.engine.select import selected

from ..conftest import ROOT
from ..inside import run_all

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
_PARTS = [30, pytest.param(10, marks=pytest.mark.nightly)]  # a choice meets one in so many case variants
#: Where nearly all faults are caught, and where the others are.
_FAULT_CASES = "4.2.*,5.2.1*,5.3.2*,5.9.5*,8.2*,C.5.*,D.*"
_FAULT_OWN_CASES = {
    "reject-as-no-match": "5.9.7.2.1",
    "connections-survive-logout": "7.7.1.logout",
    "no-plogi-after-logo": "7.7.1.logout",
    "immediate-without-flag": "6.2",
}


def is_part_of(chosen: str, ident: str, parts: int) -> bool:
    """Whether this choice meets this case variant: the same in every run."""
    return FULL or hashlib.sha256(f"{chosen} {ident}".encode()).digest()[0] % parts == 0


def cases_for(fault: str) -> Optional[str]:
    """The cases for a fault, as ``--select`` has them."""
    return None if FULL else _FAULT_OWN_CASES.get(fault, _FAULT_CASES)


@pytest.mark.parametrize("chosen", SINGLE + COMBINED, ids=lambda c: "+".join(f"{n}={v}" for n, v in c)[:60])
@pytest.mark.parametrize("parts", _PARTS)
def test_what_the_standard_permits_passes(parts: int, chosen: list[tuple[str, str]]) -> None:
    settings = [f"{name}={value}" for name, value in chosen]
    arguments = " ".join(f"--choose {one}" for one in settings)
    book = selected(all_cases(), None)
    part = [(case, variant) for case, variant in book if is_part_of(arguments, case.variant_id(variant), parts)]
    results = run_all(IndependentDut(settings), part, pixit_for("virtual"), LEVELS)
    fair = {Verdict.PASS, Verdict.NOT_APPLICABLE}
    if ("setup_abts", "ends") in chosen:  # what such a setup was to show cannot be seen then (E153); it may not fail
        fair.add(Verdict.INCONCLUSIVE)
    assert results and [(r.id, r.reason) for r in results if r.verdict not in fair] == []


FAULTS = {row[0]: row[1] for row in listed("--list-faults")}


@pytest.mark.parametrize("fault", [name for name, kind in FAULTS.items() if name not in NOT_CAUGHT and kind != "dut-protocol"])
def test_what_the_standard_forbids_is_caught(fault: str) -> None:
    chosen = selected(all_cases(), cases_for(fault))
    results = run_all(IndependentDut([], fault), chosen, pixit_for("virtual"), LEVELS, until=Verdict.FAIL)
    assert results[-1].verdict is Verdict.FAIL


def test_a_wrong_type_is_shown_at_its_byte() -> None:
    chosen = selected(all_cases(), cases_for("type"))
    failed = run_all(IndependentDut([], "type"), chosen, pixit_for("virtual"), LEVELS, until=Verdict.FAIL)[-1]
    assert {f.byte for f in failed.findings if f.requirement == "FCVI-5.8.3-01"} == {8}  # of the Frame_Header (FC-FS)


@pytest.mark.parametrize("fault", [name for name, kind in FAULTS.items() if kind == "dut-protocol"])
def test_what_the_protocol_of_devices_forbids_is_caught(fault: str, tmp_path: Path) -> None:
    main(["run", "--quiet", "--dut", f"exec:{ENDPOINT} --fault {fault}", "--report", str(tmp_path), "--formats", "json",
          "--rpc-timeout", "2", "--select", cases_for(fault) or "*"])  # fmt: skip
    summary = json.loads((tmp_path / "report.json").read_text())["summary"]
    assert summary["pass"] == 0 and summary["fail"] + summary["error"] > 0, summary


@pytest.mark.parametrize("fault", NOT_CAUGHT)
def test_what_is_not_caught_is_still_not_caught(fault: str) -> None:
    """Otherwise the list and the documents would say too little of the suite."""
    results = run_all(IndependentDut([], fault), selected(all_cases(), cases_for(fault)), pixit_for("virtual"), LEVELS)
    assert {r.verdict for r in results} <= {Verdict.PASS, Verdict.NOT_APPLICABLE}
