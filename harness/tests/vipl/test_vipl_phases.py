"""The phases of conformance (VI-DG 2.2) are a result of their own, and what a vendor does not claim is no fault."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from conformance.vipl.phases import CALLS, EARLY, FULL, FUNCTIONAL, phase_of, phases
from fcvi.engine.case import load_cases
from fcvi.engine.protocol import registered
from fcvi.engine.results import Finding, Result, Verdict
from fcvi.report.phases import lines

from ..conftest import FCVI, ROOT

SCHEMA = json.loads((ROOT / "harness/fcvi/report/report.schema.json").read_text())
#: An agent whose library lacks the calls that are named: it says so in its layout.
WITHOUT = r"""
import json, subprocess, sys, threading
agent = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def answers():
    for line in agent.stdout:
        told = json.loads(line).get("result")
        if isinstance(told, dict) and "missing" in told and "sizes" in told:
            told["missing"] += sys.argv[2:]
            line = json.dumps({**json.loads(line), "result": told}) + chr(10)
        print(line, end="", flush=True)

threading.Thread(target=answers, daemon=True).start()
for line in sys.stdin:
    print(line, end="", file=agent.stdin, flush=True)
"""


@pytest.mark.parametrize(("condition", "phase"), [
    ("always", EARLY), ("RD", EARLY), ("UD or RD", EARLY), ("RD or RR", EARLY), ("MT", EARLY),
    ("CQ", FUNCTIONAL), ("PTAG", FUNCTIONAL), ("CQ and MT and THREADSAFE", FUNCTIONAL),
    ("NOTIFY and CQ", FULL), ("UD and CALLBACK", FULL), ("PTAG and SETATTR", FULL),
    ("RR", ""), ("RD and RDMA-READ", ""), ("CALLBACK and FAULT", ""),
])  # fmt: skip
def test_a_row_belongs_to_the_phase_that_first_asks_for_its_condition(condition: str, phase: str) -> None:
    assert phase_of(condition) == phase


def test_the_guide_has_twenty_fifteen_and_six_calls() -> None:
    assert [len(CALLS[name]) for name in (EARLY, FUNCTIONAL, FULL)] == [20, 15, 6]
    assert len({call for calls in CALLS.values() for call in calls}) == 41


def _passed() -> dict[str, str]:
    """A verdict for each row: all pass."""
    from conformance.vipl.phases import _rows

    return {row: "pass" for rows in _rows().values() for row in rows}


def _holds(verdicts: dict[str, str], *findings: Finding) -> list[str]:
    result = Result("VIPL.V1", "", Verdict.PASS, findings=list(findings))
    return [phase["holds"] for phase in phases([result], verdicts)]


def test_the_highest_phase_is_the_last_before_the_first_that_is_broken() -> None:
    assert _holds(_passed()) == ["yes", "yes", "yes"]
    assert _holds({**_passed(), "VIPL-G3.5.9-01": "inconclusive"}) == ["yes", "yes", "yes"]
    for row, held in (("VIPL-S2.2-01", ["no", "no", "no"]), ("VIPL-S3.2.2.1-04", ["yes", "no", "no"])):
        assert _holds({**_passed(), row: "fail"}) == held
        assert _holds({k: v for k, v in _passed().items() if k != row}) == ["open" if h == "no" else h for h in held]
    lacks = Finding("VIPL-G2.2.3-01", "notice", "calls are not there", "VipCQNotify", "none", erratum="A22")
    assert _holds(_passed(), lacks) == ["yes", "yes", "no"]


def test_a_run_of_every_case_reaches_a_phase() -> None:
    """Each demand has a case, or a reason for which no provider can break it; a case that was not run leaves its phase open."""
    named = {row for case in load_cases(registered()) if case.id.startswith("VIPL.") for row in case.requirements}
    run = {row: verdict for row, verdict in _passed().items() if row in named}
    assert _holds(run) == ["yes", "yes", "yes"]
    for row in ("VIPL-S2.2-01", "VIPL-G2.2.1-01", "VIPL-G2.2.3-01"):
        assert "open" in _holds({k: v for k, v in run.items() if k != row})


def test_what_belongs_to_no_phase_lowers_none() -> None:
    for row in ("VIPL-S2.5.3-01", "VIPL-G2.2.3-02"):
        assert _holds({**_passed(), row: "fail"}) == ["yes", "yes", "yes"]


def test_nothing_is_told_when_nothing_of_it_was_tried() -> None:
    assert phases([], {"VIPL-S2.2-01": "pass"}) == [] and lines([]) == []


@pytest.mark.parametrize(("missing", "verdict", "broken"), [
    (["VipErrorCallback"], "pass", [[], ["VIPL-G2.2.2-01"], []]),
    (["VipCQNotify"], "pass", [[], [], ["VIPL-G2.2.3-01"]]),
    (["VipQueryMem"], "fail", [["VIPL-G2.2.1-01"], [], []]),
])  # fmt: skip
def test_a_call_that_is_not_there_lowers_the_phase_that_asks_for_it(
    tmp_path: Path, missing: list[str], verdict: str, broken: list[list[str]]
) -> None:
    (tmp_path / "agent.py").write_text(WITHOUT)
    agent = f"exec:{sys.executable} {tmp_path}/agent.py {ROOT}/build/fcvi-agent {' '.join(missing)}"
    subprocess.run(
        [str(FCVI), "run", "--dut", "api", "--agent", agent, "--select", "VIPL.V1", "--report", str(tmp_path / "report")],
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    report = json.loads((tmp_path / "report/report.json").read_text())
    jsonschema.validate(report, SCHEMA)
    assert [r["verdict"] for r in report["results"]] == [verdict], report["results"]
    assert [p["broken"] for p in report["phases"]] == broken
    said = (tmp_path / "report/report.txt").read_text()
    assert "phase of conformance: none holds" in said  # the other rows were not tried
    assert "phase of conformance" in (tmp_path / "report/report.html").read_text()
