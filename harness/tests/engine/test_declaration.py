"""Tests what a lab declares: PICS and their review, PIXIT, known deviations."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import xml.etree.ElementTree as Tree
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conformance.catalogue import load_errata, load_requirements
from conformance.fcvi.pics import ITEMS
from conformance.fcvi.pics_rules import RULES
from fcvi.engine.deviation import Deviation, apply
from fcvi.engine.pics import applies, complete
from fcvi.dut.refserver import PICS
from fcvi.report.json_report import requirement_verdicts
from fcvi.engine.results import Result, RunReport, Verdict
from fcvi.engine.review import review
from fcvi.engine.runner import exit_status

from ..conftest import ROOT, fcvi

SCHEMA = json.loads((ROOT / "harness/fcvi/report/report.schema.json").read_text())
LEVELS = {r.id: r.level for r in load_requirements()}
INDEPENDENT = f"exec:/usr/bin/python3 {shlex.quote(str(ROOT))}/harness/tests/independent/endpoint.py"
ALL = "[pics]\nclient = true\nserver = true\nunreliable_delivery = true\nsend = true\nmax_transfer_size = 65536\n"


def run(directory: Path, toml: str, *args: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Run with this declaration; the process and the report."""
    (directory / "lab.toml").write_text(toml)
    done = fcvi("run", "--pics", str(directory / "lab.toml"), "--report", str(directory / "r"), "--force", *args, timeout=300)
    report = json.loads((directory / "r/report.json").read_text())
    jsonschema.validate(report, SCHEMA)
    return done, report


# ---- deviations ----

NO_RETRY = ["--dut", f"{INDEPENDENT} --fault no-retry", "--select", "C.5.7.2,D.R1"]
DECLARED = '\n[[deviation]]\nrequirement = "FCVI-8.5.4-01"\nreason = "no retry before firmware 2"\nlink = "https://x.example/1"\n'


def test_an_undeclared_deviation_fails(tmp_path: Path) -> None:
    done, report = run(tmp_path, ALL, *NO_RETRY)
    assert done.returncode == 1 and report["summary"]["fail"] > 0 and report["deviations"] == []


def test_a_declared_deviation_is_reported_as_such(tmp_path: Path) -> None:
    done, report = run(tmp_path, ALL + DECLARED, *NO_RETRY)
    assert done.returncode == 0 and report["summary"]["fail"] == 0, done.stdout
    deviating = [r for r in report["results"] if r["qualifier"] == "deviation"]
    assert deviating and all(r["verdict"] == "pass" and "no retry before firmware 2" in r["reason"] for r in deviating)
    assert all(any(f["requirement"] == "FCVI-8.5.4-01" for f in r["findings"]) for r in deviating)
    assert report["requirements"]["FCVI-8.5.4-01"] == "fail", "the requirement is broken, declared or not"
    (outcome,) = report["deviations"]
    assert outcome["status"] == "occurred" and outcome["occurred"] == [r["id"] for r in deviating]
    assert outcome["link"] == "https://x.example/1"


def test_a_deviation_declared_for_cases_covers_those_only(tmp_path: Path) -> None:
    toml = ALL + '\n[[deviation]]\ncase = "C.5.7.2/dut-client/succeeds"\nreason = "known"\n'
    done, report = run(tmp_path, toml, *NO_RETRY)
    verdicts = {r["id"]: (r["verdict"], r["qualifier"]) for r in report["results"]}
    assert done.returncode == 1
    assert verdicts["C.5.7.2/dut-client/succeeds"] == ("pass", "deviation")
    assert verdicts["C.5.7.2/dut-client/fails"] == ("fail", None)


def test_a_declared_deviation_that_does_not_occur_is_a_finding(tmp_path: Path) -> None:
    done, report = run(tmp_path, ALL + DECLARED, "--select", "C.5.7.2,D.R1")
    assert done.returncode == 1 and report["summary"]["fail"] == 0
    assert report["deviations"][0]["status"] == "absent"
    assert "deviation FCVI-8.5.4-01: did NOT occur" in done.stdout
    cases, suite = Tree.parse(tmp_path / "r/junit.xml").getroot().findall("testsuite")
    assert cases.get("failures") == "0" and suite.get("failures") == "1"
    assert suite.get("tests") == str(len(suite.findall("testcase")))
    tap = (tmp_path / "r/report.tap").read_text().splitlines()
    assert [t for t in tap if t.startswith("not ok ")][0].endswith("(no retry before firmware 2)")
    assert tap[1] == f"1..{len([t for t in tap if re.match('(not )?ok ', t)])}"


def test_a_deviation_whose_cases_did_not_run_is_no_finding(tmp_path: Path) -> None:
    done, report = run(tmp_path, ALL + DECLARED, "--select", "5.3.2")
    assert done.returncode == 0 and report["deviations"][0]["status"] == "not-tested"


def a_result(ident: str, verdict: Verdict, *broken: str, names: tuple[str, ...] = ("R-1",)) -> Result:
    """A result with these breaches."""
    return Result(ident, "", verdict, "because", requirements=list(names), broken=list(broken))


def a_report(*results: Result) -> RunReport:
    """A report of them."""
    return RunReport("0", "0" * 64, "ref", "", "", {}, {}, 1, list(results))


def test_one_undeclared_breach_beside_a_declared_one_fails() -> None:
    report = a_report(a_result("X.1/a", Verdict.FAIL, "R-1", "R-2"), a_result("X.1/b", Verdict.FAIL, "R-1"))
    apply(report, [Deviation("why", requirement="R-1", case="X.1")])
    assert [(r.verdict, r.qualifier) for r in report.results] == [(Verdict.FAIL, None), (Verdict.PASS, "deviation")]
    assert report.deviations[0].occurred == ["X.1/a", "X.1/b"] and exit_status(report) == 1
    assert requirement_verdicts(report) == {"R-1": "fail", "R-2": "fail"}


def test_what_a_case_left_open_has_no_verdict_by_it() -> None:
    left = a_result("X.1", Verdict.PASS, names=("R-1", "R-2"))
    left.undecided = ["R-2"]
    report = a_report(left, a_result("X.2", Verdict.PASS, names=("R-2", "R-3")))
    assert requirement_verdicts(report) == {"R-1": "pass", "R-2": "inconclusive", "R-3": "pass"}
    assert left.as_json()["undecided"] == ["R-2"] and "undecided" not in report.results[1].as_json()


@pytest.mark.parametrize("verdict", [Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE])
def test_what_gave_no_verdict_says_nothing_of_a_deviation(verdict: Verdict) -> None:
    report = a_report(a_result("X.1", verdict))
    apply(report, [Deviation("why", requirement="R-1")])
    assert report.deviations[0].status == "not-tested" and report.results[0].verdict is verdict
    assert report.flaws() == []


# ---- errata ----


@pytest.mark.parametrize(
    "choice, erratum",
    [("disconnect_connection_id=ffffffff", "E03"), ("abort_handle=own", "E04"), ("resp_unknown_id=ffffffff", "E05")],
)
def test_the_tolerated_reading_of_an_erratum_is_an_interpretation(choice: str, erratum: str, tmp_path: Path) -> None:
    done, report = run(tmp_path, ALL, "--dut", f"{INDEPENDENT} --choose {choice}", "--select", "5.3.2,C.5.7.*,C.5.9.*,D.*")
    assert done.returncode == 0 and report["summary"]["fail"] == 0
    qualified = {r["id"]: r for r in report["results"] if r["qualifier"] == "interpretation"}
    tolerated = {r["id"]: {f["erratum"] for f in r["findings"]} - {None} for r in report["results"]}
    assert set(qualified) == {ident for ident, errata in tolerated.items() if errata}
    assert any(erratum in errata for errata in tolerated.values())
    for ident, result in qualified.items():
        assert result["verdict"] == "pass" and tolerated[ident] <= set(result["errata"])
        assert all(number in result["reason"] for number in tolerated[ident])


# ---- the review of the PICS ----


def test_every_rule_names_what_there_is() -> None:
    assert {rule.requirement for rule in RULES} <= set(LEVELS)
    assert {rule.erratum for rule in RULES} - {""} <= set(load_errata())
    for rule in RULES:
        applies(rule.broken, complete({}, "x"))


def test_the_reference_port_may_claim_what_it_claims() -> None:
    assert review(PICS, LEVELS) == []


@pytest.mark.parametrize(
    "changes, requirement, kind, cls",
    [
        ({"reliable_delivery": False, "reliable_reception": False}, "FCVI-5.2.4-02", "contradiction", "violation"),
        ({"max_transfer_size": 0}, "FCVI-7.3-04", "contradiction", "violation"),
        ({"max_vis": 0}, "FCVI-4.2-01", "contradiction", "violation"),
        ({"send": False}, "FCVI-T01-SEND_RQST-pos", "missing", "violation"),
        ({"rdma_write": False}, "FCVI-T01-WRITE_RQST-pos", "missing", "violation"),
        ({"server": False}, "FCVI-T01-CONNECT_RESP1-pos", "missing", "violation"),
        ({"client": False}, "FCVI-T01-CONNECT_RQST-pos", "missing", "violation"),
        ({"class2": False, "class3": False}, "FCVI-4.2-17", "missing", "violation"),
        ({"farp": False}, "FCVI-7.4-02", "missing", "violation"),
        ({"peer_to_peer": False}, "FCVI-4.2-15", "missing", "notice"),  # E111: by declaration
    ],
)
def test_each_claim_is_reviewed(changes: dict[str, Any], requirement: str, kind: str, cls: str) -> None:
    found = review({**PICS, **changes}, LEVELS)
    assert (requirement, kind, cls) in {(r.requirement, r.kind, r.cls) for r in found}


@pytest.mark.parametrize("optional", ["rdma_read", "reliable_reception", "immediate_data", "class2", "preference", "loopback"])
def test_what_is_optional_is_not_missed(optional: str) -> None:
    assert optional in ITEMS.booleans and review({**PICS, optional: False}, LEVELS) == []


def test_a_contradiction_is_a_finding_and_what_is_missing_counts_in_certify(tmp_path: Path) -> None:
    contradiction = ALL + "rdma_read = true\n"
    done, report = run(tmp_path, contradiction, "--select", "D.R1")
    assert done.returncode == 1 and "PICS contradiction [violation] FCVI-5.2.4-02" in done.stdout
    assert report["summary"]["fail"] == 0 and report["review"][0]["requirement"] == "FCVI-5.2.4-02"
    done, report = run(tmp_path, ALL, "--select", "D.R1")
    assert done.returncode == 0 and "which counts in a certificate: FCVI-T01-WRITE_RQST-pos" in " ".join(done.stdout.split())
    done = fcvi("certify", "--pics", str(tmp_path / "lab.toml"), "--report", str(tmp_path / "c"), timeout=300)
    assert done.returncode == 1 and "0 fail" in done.stdout


# ---- the PIXIT ----


def test_addresses_and_times_come_from_the_file(tmp_path: Path) -> None:
    """No case knows an address by heart: all pass with others, and the frames carry them."""
    toml = """
[pixit]
r_a_tov_ms = 3000
e_d_tov_ms = 700
late_ms = 200
early_ms = 20
dut = { n_port_id = "0000EF", port_name = "50000000c9000033", host = ["fe800000000000000000000000000099"] }
tester = { n_port_id = "0000E8", node_name = "50000000c9000044", host = ["fe800000000000000000000000000077"] }
"""
    done, report = run(tmp_path, toml, "--formats", "json,pcapng")
    assert done.returncode == 0 and report["summary"]["pass"] == len(report["results"]), done.stdout
    pixit = report["pixit"]
    assert [pixit[n] for n in ("r_a_tov_us", "e_d_tov_us", "late_us", "early_us")] == [3_000_000, 700_000, 200_000, 20_000]
    assert report["dut"]["pics"] == PICS, "without [pics] those of hello hold"
    capture = (tmp_path / "r/5.3.2__dut-client.pcapng").read_bytes()
    assert bytes.fromhex("020000e8000000ef") in capture and bytes.fromhex("fe800000000000000000000000000077") in capture
    assert bytes.fromhex("0200010100") not in capture
    _, report = run(tmp_path, toml, "--r-a-tov", "5000", "--select", "D.R1")
    assert report["pixit"]["r_a_tov_us"] == 5_000_000, "the command line has the last word"


@pytest.mark.parametrize(
    "toml, words",
    [
        (f'[[deviation]]\ncase = "*"\nreason = "{"x" * 2001}"', "reason has 2001 characters"),
        ("[pixit]\nr_a_tov_ms = 0", "r_a_tov_ms must be milliseconds"),
        ("[pixit]\nr_a_tov_ms = 99999999999999999999", "r_a_tov_ms must be milliseconds"),
        ("[pixit]\nr_a_tov_ms = true", "r_a_tov_ms must be milliseconds"),
        ("[pixit]\nspeed = 1", "unknown PIXIT item 'speed'"),
        ("pixit = 3", "[pixit] must be a table"),
        ("[pixit]\ndut = 3", "dut must be a table"),
        ('[pixit]\ndut = { n_port_id = "0102" }', "6 hexadecimal digits"),
        ('[pixit]\ndut = { n_port_id = "fffffe" }', "identifier of an N_Port"),
        ('[pixit]\ndut = { n_port_id = "010100" }', "the same for dut and tester"),
        ('[pixit]\ndut = { port_name = "../../../etc/pas" }', "16 hexadecimal digits"),
        ("[pixit]\ndut = { host = [] }", "1 to 4 addresses"),
        ('[pixit]\ndut = { wwn = "1" }', "unknown PIXIT item dut.wwn"),
        ("deviation = 3", "[[deviation]]"),
        ("[deviation]\nreason = 'x'", "[[deviation]]"),
        ("[[deviation]]\ncase = 'D.R1'", "needs a reason"),
        ("[[deviation]]\ncase = 'D.R1'\nreason = ' '", "reason must be words"),
        ("[[deviation]]\nreason = 'x'", "needs a requirement or a case"),
        ("[[deviation]]\nreason = 'x'\ncase = 'Z.*'", "no case matches 'Z.*'"),
        ("[[deviation]]\nreason = 'x'\nrequirement = 'FCVI-0'", "no requirement has the id 'FCVI-0'"),
        ("[[deviation]]\nreason = 'x'\ncase = 'D.R1'\nticket = '1'", "unknown item 'ticket'"),
        ("[pics]\nclient = true\n[more]\nx = 1", "no table is called [more]"),
        ("x = [" + "[" * 3000, "not a TOML file"),
    ],
)
def test_a_bad_declaration_is_one_line_and_status_2(toml: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(toml)
    done = fcvi("run", "--pics", str(path))
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
