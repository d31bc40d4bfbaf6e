"""Tests what a pipeline reads: TAP with prove, JUnit and SARIF against their schemas, shards, baselines, quarantine, templates."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as Tree
from pathlib import Path

import jsonschema
import pytest
import yaml

from conformance import register_all
from fcvi.arguments import parser
from fcvi.cli import main
from fcvi.engine.results import NOT_TRIED, Result, RunReport, Verdict
from fcvi.report import explain, junit

from ..conftest import ROOT, fcvi
from .html_check import Page
from ..engine.test_declaration import INDEPENDENT

SCHEMAS = ROOT / "harness/tests/report/schemas"
PIPELINE = ROOT / "harness/pipeline"
SARIF = json.loads((SCHEMAS / "sarif.json").read_text())
PART = "5.3.2,C.5.7.2,D.*,8.5.2.a"


def run(directory: Path, *words: str, dut: str = f"{INDEPENDENT} --fault no-retry") -> int:
    """Run a few cases into the directory."""
    done = fcvi("run", "--dut", dut, "--select", PART, "--report", str(directory), *words)
    assert "Traceback" not in done.stderr
    return done.returncode


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a device that never retries."""
    directory = tmp_path_factory.mktemp("failing") / "r"
    assert run(directory) == 1
    return directory


@pytest.fixture(scope="module")
def passing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the reference port."""
    directory = tmp_path_factory.mktemp("passing") / "r"
    assert run(directory, dut="ref") == 0
    return directory


@pytest.fixture(scope="module")
def nobody(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a device that says two lines and goes."""
    directory = tmp_path_factory.mktemp("nobody") / "r"
    assert run(directory, dut="exec:sh -c 'echo loading >&2; echo no licence >&2'") == 3
    return directory


def prove(directory: Path) -> subprocess.CompletedProcess[str]:
    """What Perl's prove makes of the report."""
    return subprocess.run(["prove", "--exec", "cat", str(directory / "report.tap")], capture_output=True, text=True, check=False)


def test_prove_passes_a_passing_run(passing: Path) -> None:
    done = prove(passing)
    assert done.returncode == 0 and done.stdout.endswith("Result: PASS\n"), done.stdout


def test_prove_reads_each_failure_with_its_explanation(failing: Path) -> None:
    assert prove(failing).returncode == 1
    read = subprocess.run(["perl", str(ROOT / "harness/tests/report/read_tap.pl"), str(failing / "report.tap")],
                          capture_output=True, text=True, check=True).stdout  # fmt: skip
    results = json.loads((failing / "report.json").read_text())["results"]
    failed = [r["id"] for r in results if r["verdict"] == "fail"]
    assert re.findall(r"^failed - (\S+)$", read, re.M)[: len(failed)] == failed and len(failed) > 5
    assert read.count("verdict fail") == read.count("  purpose: ") == read.count("  run it again: ") == len(failed)
    assert read.endswith("0 errors in the file\n")


def test_prove_fails_a_device_that_did_not_attach(nobody: Path) -> None:
    done = prove(nobody)
    assert done.returncode != 0 and "did not attach" in done.stdout + done.stderr


@pytest.mark.parametrize("which", ["passing", "failing", "nobody"])
@pytest.mark.parametrize("schema", ["ant", "jenkins"])
def test_junit_is_valid(which: str, schema: str, request: pytest.FixtureRequest) -> None:
    file = request.getfixturevalue(which) / "junit.xml"
    done = subprocess.run(["xmllint", "--noout", "--schema", str(SCHEMAS / f"junit-{schema}.xsd"), str(file)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[:2000]


def test_junit_shows_what_xml_has_no_character_for() -> None:
    results = [Result("a", "", Verdict.ERROR, "\0 \x1b \ud800 \uffff \U0001f600")]
    report = RunReport("0", "0" * 64, "ref", "x", "1", {}, {}, 1, results)
    error = Tree.fromstring(junit.render(report)).find(".//error")
    assert error is not None and error.get("message") == "\\x00 \\x1b \\ud800 \\uffff \U0001f600"


def test_every_format_counts_alike(failing: Path) -> None:
    data = json.loads((failing / "report.json").read_text())
    summary = data["summary"]
    suite = Tree.parse(failing / "junit.xml").getroot().find("testsuite")
    assert suite is not None and suite.get("name") == "fcvi"
    assert (suite.get("tests"), suite.get("failures")) == (str(len(data["results"])), str(summary["fail"]))
    assert suite.get("skipped") == str(summary["not-applicable"] + summary["inconclusive"])
    words = (failing / "report.txt").read_text()
    assert f"{len(data['results'])} cases: {summary['pass']} pass, {summary['fail']} fail" in words
    tap = (failing / "report.tap").read_text()
    flaws = len(re.findall(r"^not ok \d+ - PICS", tap, re.M))
    assert len(re.findall("^not ok ", tap, re.M)) == summary["fail"] + flaws
    sarif = json.loads((failing / "report.sarif").read_text())["runs"][0]["results"]
    places = {r["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] for r in sarif}
    assert places - {"declarations"} == {r["id"] for r in data["results"] if r["verdict"] in ("fail", "inconclusive", "error")}


def test_one_cause_is_told_once(failing: Path) -> None:
    """The device never retries: that is one cause of many cases, and each finding stands in the text once."""
    done = fcvi("run", "--dut", f"{INDEPENDENT} --fault no-retry", "--select", PART)
    first = done.stdout.splitlines()[0]
    failed = json.loads((failing / "report.json").read_text())["summary"]["fail"]
    assert re.fullmatch(rf"1\. {failed} cases failed, one cause: FCVI-8\.5\.4-01 \(clause 8\.5\.4\): .* as the retry", first)
    assert done.stdout.count("no FCVI_CONNECT_RQST as the retry") == 2, "in the title, and where it was seen"
    assert "000000 us" not in done.stdout


def test_what_ended_a_device_comes_before_the_cases_that_were_not_tried_for_it() -> None:
    results = [Result("a", "", Verdict.ERROR, "it went away")]
    results += [Result(str(n), "", Verdict.ERROR, f"{NOT_TRIED}: the attachment failed 3 times in a row") for n in range(5)]
    groups = explain.groups(RunReport("0", "0" * 64, "ref", "x", "1", {}, {}, 1, results))
    assert [len(group.results) for group in groups] == [1, 5]


@pytest.mark.parametrize("name", ["report.txt", "junit.xml", "report.tap", "report.sarif", "report.html"])
def test_a_failure_explains_itself_in_every_format(name: str, failing: Path) -> None:
    text = " ".join((failing / name).read_text().split())
    # the text explains the simplest case of a cause, the others each case
    purpose, variant = ("An IU of the setup has a gap", "8.5.2.a/dut-client/first")
    if name == "report.txt":
        purpose, variant = ("After T3 the client aborts the Exchange", "C.5.7.2/dut-client/abts-unanswered")
    for words in (
        purpose, "A failed Connection Setup is retried once and only once", "clause 8.5.4", "the device never retries",
        f"--seed 1 --select {variant}", f"fcvi replay {variant.replace('/', '__')}.pcapng",
    ):  # fmt: skip
        assert words in text, words


@pytest.mark.parametrize("name", ["report.txt", "junit.xml", "report.tap", "report.sarif", "report.html"])
def test_a_device_that_did_not_attach_is_one_error_with_its_last_words(name: str, nobody: Path) -> None:
    text = (nobody / name).read_text()
    assert "no licence" in text and "did not attach" in text and "8.5.2.a/dut-client" not in text
    data = json.loads((nobody / "report.json").read_text())
    assert data["results"] == [] and "did not attach" in data["error"]
    assert fcvi("judge", str(nobody), "--quiet").returncode == 3


@pytest.mark.parametrize("which", ["passing", "failing", "nobody"])
def test_sarif_is_valid(which: str, request: pytest.FixtureRequest) -> None:
    directory = request.getfixturevalue(which)
    data = json.loads((directory / "report.sarif").read_text())
    jsonschema.validate(data, SARIF)
    known = {rule["id"] for rule in data["runs"][0]["tool"]["driver"]["rules"]}
    for result in data["runs"][0]["results"]:
        assert result["ruleId"] in known
        assert (directory / result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]).is_file()
        assert result["locations"][0]["physicalLocation"]["region"], "a code host shows nothing without one"
    assert data["runs"][0]["invocations"][0]["executionSuccessful"] is (which != "nobody")


# ---- a job of GitHub ----


@pytest.mark.parametrize("which, lines", [("passing", 0), ("failing", 2), ("nobody", 1)])
def test_a_job_of_github_shows_each_cause_once(which: str, lines: int, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    directory = request.getfixturevalue(which)
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    done = fcvi("report", "github", str(directory), "--summary", str(summary))
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert len(told) == lines if lines < 2 else 1 <= len(told) <= 10
    assert all(re.match(r"::(error|warning) title=[^:,\n]*::\S", line) for line in told), told
    written = summary.read_text()
    assert written.startswith("before\n## Conformance\n") and "| pass |" in written
    assert ("FCVI-8.5.4-01" in written) == (which == "failing")


def test_what_a_device_says_is_no_command_of_the_runner(failing: Path, tmp_path: Path) -> None:
    """A line break would begin a command, a percent sign an escape, and HTML or Markdown would be shown as such."""
    report = json.loads((failing / "report.json").read_text())
    evil = "x\n::set-output name=a::b\r%0A::stop <img src=x> | [a](http://b) **c** @everyone"
    for result in report["results"]:
        result["reason"], result["id"] = evil, "A.1" if len(result["id"]) > 5 else result["id"]
        for finding in result["findings"]:
            finding["message"] = evil
    report["dut"]["implementation"] = evil
    (tmp_path / "report.json").write_text(json.dumps(report))
    done = fcvi("report", "github", str(tmp_path), "--summary", str(tmp_path / "s.md"))
    begins = ("::error title=", "::warning title=")
    assert done.returncode == 0 and all(line.startswith(begins) for line in done.stdout.splitlines())
    written = (tmp_path / "s.md").read_text()
    assert "<img" not in written and "](http" not in written and "**c**" not in written and "\n::" not in written


# ---- runs that look at other runs ----


def test_what_failed_is_run_again(failing: Path, passing: Path, tmp_path: Path) -> None:
    device = f"{INDEPENDENT} --fault no-retry"
    done = fcvi("run", "--quiet", "--dut", device, "--rerun-failed", str(failing), "--report", str(tmp_path / "r"))
    assert done.returncode == 1, done.stderr
    before, now = (json.loads((d / "report.json").read_text())["results"] for d in (failing, tmp_path / "r"))
    assert {r["id"] for r in now} == {r["id"] for r in before if r["verdict"] in ("fail", "error", "inconclusive")}
    none = fcvi("run", "--rerun-failed", str(passing))
    assert none.returncode == 0 and "every case passed there" in none.stderr and none.stdout == ""
    assert fcvi("run", "--rerun-failed", str(failing), "--select", "D.R1").returncode == 2


def test_what_passed_beside_a_failure_of_its_case_is_not_run_again(tmp_path: Path) -> None:
    """C.R8 names its plain variant and, as a term of --select, C.R8/class2 as well."""
    old = tmp_path / "report.json"
    old.write_text(json.dumps({"results": [{"id": "C.R8", "verdict": "fail"}, {"id": "C.R8/class2", "verdict": "pass"}]}))
    done = fcvi("run", "--quiet", "--rerun-failed", str(old), "--formats", "json", "--report", str(tmp_path / "r"))
    assert done.returncode == 0, done.stderr
    assert [r["id"] for r in json.loads((tmp_path / "r/report.json").read_text())["results"]] == ["C.R8"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_ends_with_the_first_failure_that_counts(jobs: str, failing: Path, tmp_path: Path) -> None:
    place = tmp_path / "r"
    assert run(place, "--fail-fast", "--jobs", jobs) == 1
    whole, ended = (json.loads((d / "report.json").read_text())["results"] for d in (failing, place))
    assert 0 < len(ended) < len(whole) and "fail" in {r["verdict"] for r in ended}
    if jobs == "1":
        assert [r["verdict"] for r in ended].count("fail") == 1 and ended[-1]["verdict"] == "fail"
    assert fcvi("judge", "--quiet", str(place)).returncode == 1
    assert run(tmp_path / "known", "--fail-fast", "--baseline", str(failing)) in (0, 4), "what is known does not count"


def test_a_run_is_repeated_with_other_seeds(tmp_path: Path) -> None:
    words = ("run", "--select", "D.R1", "--seed", "5", "--times", "3", "--report", str(tmp_path / "r"), "--formats", "json")
    done = fcvi(*words)
    assert done.returncode == 0 and "3 runs of" in done.stdout and "0 cases were not the same in each" in done.stdout
    seeds = [json.loads((tmp_path / "r" / str(n) / "report.json").read_text())["seed"] for n in (1, 2, 3)]
    assert seeds == [5, 6, 7] and not (tmp_path / "r/4").exists()
    assert fcvi(*words).returncode == 2, "the first of them is kept"


# ---- baseline, quarantine, shards ----


def test_only_what_is_new_fails(failing: Path, tmp_path: Path) -> None:
    assert run(tmp_path / "same", "--baseline", str(failing)) == run(tmp_path / "ref", dut="ref")
    assert prove(tmp_path / "same").returncode == 0
    suite = Tree.parse(tmp_path / "same/junit.xml").getroot().find("testsuite")
    assert suite is not None and suite.get("failures") == "0"
    assert json.loads((tmp_path / "same/report.json").read_text())["summary"]["fail"] > 5, "verdicts stay what they are"
    assert fcvi("judge", str(tmp_path / "same"), "--quiet", "--baseline", str(failing)).returncode == 0
    alone = fcvi("judge", str(tmp_path / "same"), "--quiet")
    assert alone.returncode == 1 and "waives what counts" in alone.stderr, "evidence waives nothing"
    other = f"{INDEPENDENT} --fault resp1-revision"
    assert run(tmp_path / "worse", "--baseline", str(failing), dut=other) == 1


@pytest.mark.parametrize("until, status", [("2999-01-01", 0), ("2001-01-01", 1)])
def test_quarantine_ends_on_its_day(until: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text(f'[[quarantine]]\ncase = "*"\nreason = "firmware 2"\nuntil = {until}\n')
    assert run(tmp_path / "r", "--quarantine", str(tmp_path / "q.toml")) == status


@pytest.mark.parametrize(
    "text, words",
    [
        ('[[quarantine]]\ncase = "Z.9"\nreason = "x"\nuntil = 2030-01-01', "no case matches 'Z.9'"),
        ('[[quarantine]]\ncase = "D.*"\nreason = "x"', "needs until"),
        ('[[quarantine]]\ncase = "D.*"\nreason = "x"\nuntil = "soon"', "must be a date"),
        ('[[quarantine]]\ncase = "D.*"\nreason = "x"\nuntil = 2030-01-01\nrequirement = "X"', "no requirement has the id 'X'"),
        (f'[[quarantine]]\ncase = "D.*"\nreason = "{"x" * 2001}"\nuntil = 2030-01-01', "reason has 2001 characters"),
        (f'[[quarantine]]\ncase = "{"*" * 2001}"\nreason = "x"\nuntil = 2030-01-01', "case has 2001 characters"),
        ('[[quarantine]]\nwhy = "x"', "unknown item 'why'"),
        ("quarantine = 3", "[[quarantine]] tables"),
        ("x = ", "not a TOML file"),
    ],
)
def test_a_bad_quarantine_file_is_one_line(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text(text)
    done = fcvi("run", "--quarantine", str(tmp_path / "q.toml"))
    assert (done.returncode, done.stdout) == (2, "") and words in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("content", ["{}", "[]", '{"results": [{}]}', '{"results": [], "error": "nothing"}', "x"])
def test_a_bad_baseline_is_one_line(content: str, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(content)
    done = fcvi("run", "--baseline", str(tmp_path))
    if content != "{}":
        assert done.returncode == 2
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1


def test_shards_together_are_the_run(failing: Path, tmp_path: Path) -> None:
    for k in (1, 2, 3):
        assert run(tmp_path / str(k), "--shard", f"{k}/3") in (0, 1)
    parts = [str(tmp_path / str(k)) for k in (3, 1, 2)]
    assert fcvi("report", "merge", "--quiet", "--out", str(tmp_path / "all"), *parts).returncode == 1
    whole, joined = (json.loads((d / "report.json").read_text()) for d in (failing, tmp_path / "all"))
    for results in (whole["results"], joined["results"]):
        for result in results:
            del result["wall_us"]
    assert whole == joined
    assert fcvi("judge", str(tmp_path / "all"), "--quiet").returncode == 1
    again = {p.name for p in (tmp_path / "all").iterdir()}
    assert again == {p.name for p in failing.iterdir()}


@pytest.mark.parametrize("where", ["rejudge", "write_report"])
def test_a_merge_that_is_interrupted_leaves_nothing(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the same command joins the parts."""
    for k in (1, 2):
        run(tmp_path / str(k), "--shard", f"{k}/2", dut="ref")
    words = ["report", "merge", "--quiet", "--out", str(tmp_path / "all"), str(tmp_path / "1"), str(tmp_path / "2")]
    with monkeypatch.context() as patched:
        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt
        patched.setattr(f"fcvi.commands.report.{where}", interrupted)
        assert main(words, register_all) == 3
    assert not list((tmp_path / "all").iterdir())
    assert main(words, register_all) == 0


def test_a_part_that_is_missing_or_foreign_is_told(failing: Path, tmp_path: Path) -> None:
    for k in (1, 2):
        run(tmp_path / str(k), "--shard", f"{k}/2")
    run(tmp_path / "seed", "--shard", "2/2", "--seed", "2")
    for parts, words in (
        (["1"], "part 2 of 2 is missing"), (["1", "1"], "part 1 of 2, as"), (["1", "seed"], "another seed"),
        (["1", str(failing)], "not a part of 2"), (["1", "gone"], "cannot read"),
    ):  # fmt: skip
        done = fcvi("report", "merge", "--out", str(tmp_path / "out"), *(str(tmp_path / p) for p in parts))
        assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2"])
def test_a_shard_that_is_none(shard: str) -> None:
    assert fcvi("run", f"--shard={shard}").returncode == 2


# ---- several runs ----


def test_a_matrix_shows_what_changed(failing: Path, passing: Path, tmp_path: Path) -> None:
    done = fcvi("report", "matrix", "--out", str(tmp_path), f"old={passing}", f"=new={failing}".removeprefix("="))
    assert done.returncode == 0, done.stderr
    page = Page((tmp_path / "matrix.html").read_text())
    assert page.problems == [] and page.named("script") == []
    rows = list(csv.DictReader((tmp_path / "matrix.csv").open()))
    by = {r["id"]: r for r in rows}
    assert (by["D.R2/answered"]["kind"], by["D.R2/answered"]["old"], by["D.R2/answered"]["new"]) == ("case", "pass", "fail")
    assert by["FCVI-8.5.4-01"]["new"] == "fail" and by["8.5.4"]["kind"] == "clause"
    assert "D.R2/answered" in "".join(page.text)
    tables = page.named("table")
    assert tables and all("stack" in (attrs.get("class") or "") for attrs in tables)  # on a phone a row is a block of its own
    assert all(attrs.get("data-of") for attrs in page.named("td"))  # and each cell names its column


def test_a_matrix_tells_of_a_run_that_has_nothing(passing: Path, tmp_path: Path) -> None:
    """Where a run has no case nothing is compared: "0 differences" alone would look as if all were well."""
    nothing = tmp_path / "nothing.json"
    report = json.loads((passing / "report.json").read_text())
    nothing.write_text(json.dumps({**report, "results": []}))
    done = fcvi("report", "matrix", "--out", str(tmp_path / "out"), str(passing), f"none={nothing}")
    assert done.returncode == 0 and "cases are not in every run; none has no case at all" in done.stdout, done.stdout
    done = fcvi("report", "matrix", "--out", str(tmp_path / "none"), str(nothing), f"none={nothing}")
    assert done.returncode == 2 and not (tmp_path / "none").exists(), done.stdout
    assert done.stderr == "fcvi: report matrix: none of the reports has a case: there is nothing to set side by side\n"


def test_what_is_tested_at_last_is_not_worse(passing: Path, tmp_path: Path) -> None:
    """From not tested to a pass is no step back; from a pass to not tested is one."""
    nothing = tmp_path / "nothing.json"
    report = json.loads((passing / "report.json").read_text())
    nothing.write_text(json.dumps({**report, "results": [], "requirements": {}, "frames_checked": {}}))
    for runs, worse in (((str(nothing), str(passing)), False), ((str(passing), str(nothing)), True)):
        done = fcvi("report", "matrix", "--json", "--force", "--out", str(tmp_path / "out"), *runs)
        changed = [row["worse"] for row in json.loads(done.stdout)["rows"] if row["kind"] == "requirement" and row["changed"]]
        assert changed and set(changed) == {worse}


def test_a_matrix_needs_reports(tmp_path: Path, passing: Path) -> None:
    assert fcvi("report", "matrix", "--out", str(tmp_path / "o"), str(passing)).returncode == 2
    assert fcvi("report", "matrix", "--out", str(tmp_path / "o"), str(passing), "/nonexistent").returncode == 2


# ---- templates ----


def _shell(lines: list[str], **environment: str) -> list[list[str]]:
    """The fcvi commands that a shell makes of these lines."""
    script = "fcvi() { printf '%s\\0' \"$@\"; printf '\\n'; }\n" + "\n".join(lines)
    done = subprocess.run(["bash", "-eu", "-c", script], env={**os.environ, **environment}, capture_output=True, check=True)
    return [line.split("\0")[:-1] for line in done.stdout.decode().splitlines()]


FILLED = {"DUT": "exec:a device", "PICS": "my pics.toml", "BASELINE": "old", "QUARANTINE": "q.toml", "SHARD": "1/2", "REPORT": "r"}


@pytest.mark.parametrize("filled", [True, False])
def test_the_action_says_what_fcvi_understands(filled: bool) -> None:
    action = yaml.safe_load((PIPELINE / "action.yml").read_text())
    steps = action["runs"]["steps"]
    names = set(steps[0]["env"])
    assert {v[len("${{ inputs.") : -len(" }}")].upper() for v in steps[0]["env"].values()} == names == set(FILLED)
    assert {name.lower() for name in names} == set(action["inputs"])
    values = FILLED if filled else {name: action["inputs"][name.lower()].get("default", "ref") for name in names}
    (words,) = _shell([steps[0]["run"]], **values)
    (shown,) = _shell([steps[1]["run"]], **values, GITHUB_STEP_SUMMARY="s.md")
    assert parser("report").parse_args(shown).directory == Path(values["REPORT"])
    args = parser("run").parse_args(words)
    assert args.dut == values["DUT"] and str(args.pics) == (values["PICS"] or "None")
    assert action["outputs"]["sarif"]["value"].endswith("/report.sarif")


def test_the_gitlab_template_says_what_fcvi_understands(tmp_path: Path) -> None:
    template = yaml.safe_load((PIPELINE / "fcvi.gitlab-ci.yml").read_text())
    number = template["fcvi"]["parallel"]
    environment = {**template["variables"], "CI_NODE_INDEX": "2", "CI_NODE_TOTAL": str(number)}
    (words,) = _shell(template["fcvi"]["script"], **environment)
    assert parser("run").parse_args(words).shard == (2, number)
    for place in ("fcvi-1", "fcvi-2", "fcvi-3", "fcvi-report"):
        (tmp_path / place).mkdir()
    waived = {"FCVI_BASELINE": "old/report.json", "FCVI_QUARANTINE": "q.toml"}
    (words,) = _shell([f"cd {tmp_path}", *template["fcvi-report"]["script"]], **waived)
    args = parser("report").parse_args(words)
    assert (str(args.baseline), str(args.quarantine)) == tuple(waived.values()), "what the parts waived counts in the whole again"
    (words,) = _shell([f"cd {tmp_path}", *template["fcvi-report"]["script"]], FCVI_BASELINE="", FCVI_QUARANTINE="")
    args = parser("report").parse_args(words)
    assert args.baseline is None and args.quarantine is None
    assert [str(p) for p in args.parts] == ["fcvi-1", "fcvi-2", "fcvi-3"], "as many as there are, whatever the number is"
    assert template["fcvi-report"]["artifacts"]["reports"]["junit"] == f"{args.out}/junit.xml"


@pytest.mark.parametrize("filled", [True, False])
def test_the_jenkinsfile_says_what_fcvi_understands(filled: bool) -> None:
    text = (PIPELINE / "Jenkinsfile").read_text()
    lines = re.findall(r"^\s*(fcvi .*)$", text, re.M)
    values = FILLED if filled else {"DUT": "ref", "PICS": "", "BASELINE": "", "QUARANTINE": ""}
    (words,) = _shell(lines, **{**values, "REPORT": "fcvi-report"})
    args = parser("run").parse_args(words)
    assert args.dut == values["DUT"] and args.force and str(args.report) == "fcvi-report"
    assert "junit 'fcvi-report/junit.xml'" in text and text.count("{") == text.count("}")


CONTAINER = (PIPELINE / "Containerfile").read_text()


def _steps() -> list[tuple[str, str]]:
    """The instructions of the container file and what follows each, continued lines joined."""
    text = re.sub(r"^#.*\n", "", CONTAINER, flags=re.M).replace("\\\n", " ")
    return [(words[0], words[1]) for line in text.splitlines() if line.strip() for words in [line.split(None, 1)]]


def _packages() -> list[str]:
    found = re.search(r"no-install-recommends install (.*?) && ", " ".join(" ".join(rest for _, rest in _steps()).split()))
    assert found is not None
    return found[1].split()


def test_the_container_file_has_a_base_that_a_digest_replaces() -> None:
    steps = _steps()
    assert {name for name, _ in steps} <= {"ARG", "FROM", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT"}
    assert steps[0] == ("ARG", "BASE=docker.io/library/debian:12-slim"), "12 is what bootstrap is made for"
    assert [rest.split()[0] for name, rest in steps if name == "FROM"] == ["${BASE}", "${BASE}"]
    assert "--build-arg BASE=" in CONTAINER and "@sha256:" in CONTAINER
    assert (steps[-1], ("USER", "fcvi") in steps) == (("ENTRYPOINT", '["fcvi"]'), True), "nothing runs as root"


def test_the_container_file_copies_what_there_is() -> None:
    copies = [rest.split() for name, rest in _steps() if name == "COPY"]
    assert copies == [[".", "."], ["--from=build", "/out/", "/"]]
    (build,) = (rest for name, rest in _steps() if name == "RUN" and "bootstrap" in rest)
    assert build.split()[0] == "./bootstrap" and os.access(ROOT / "bootstrap", os.X_OK)
    assert "make install DESTDIR=/out PREFIX=/usr" in build
    assert re.search(r"^install\b.*:", (ROOT / "Makefile").read_text(), re.M)
    assert "build" in (ROOT / ".dockerignore").read_text().split(), "what was built for another system stays outside"


def test_the_container_file_names_packages_that_there_are() -> None:
    if shutil.which("apt-cache") is None:
        pytest.skip("no Debian here")
    packages = _packages()
    done = subprocess.run(["apt-cache", "show", "--no-all-versions", *packages], capture_output=True, text=True, check=False)
    assert [p for p in packages if f"Package: {p}\n" not in done.stdout] == []


def _needed() -> set[str]:
    """The libraries that what make install installs is linked to."""
    built = [ROOT / "build" / name for name in ("fcvi-agent", "fcvi-explore", "libfcvi.so", "libvipl.so", "libfcvi-mutator.so")]
    found = set()
    for path in [*built, *(ROOT / "build/python").glob("*.so")]:
        said = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True).stdout
        found |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", said))
    return found


def test_the_container_has_each_library_that_is_needed() -> None:
    if shutil.which("dpkg-query") is None:
        pytest.skip("no Debian here")
    everywhere = {"libc6", "libgcc-s1", "libstdc++6"}  # the first two are essential, the third comes with libtins
    for library in sorted(_needed()):
        said = subprocess.run(["dpkg-query", "-S", f"*/{library}"], capture_output=True, text=True, check=False).stdout
        owners = {line.split(":")[0] for line in said.splitlines()}
        assert owners & {*everywhere, *_packages()}, f"{library} is of {owners}, which the container file does not install"
    modules = ("cffi", "jinja2", "rich")
    assert all(any(module in package for package in _packages()) for module in modules)


@pytest.mark.parametrize("choice, status", [("at-once", 1), ("resp3", 0)])
def test_what_breaks_a_recommendation_fails_only_who_asks_for_it(choice: str, status: int, tmp_path: Path) -> None:
    """FCVI-C.5.1-03 is a should: a Send completes when RESP3 has come. The verdict is the same either way."""
    words = ("--dut", f"{INDEPENDENT} --choose send_completion={choice}", "--select", "C.5.1.send", "--report", str(tmp_path / "r"))
    assert fcvi("run", *words, "--quiet").returncode == 0
    done = fcvi("run", *words, "--quiet", "--force", "--fail-on", "should")
    assert done.returncode == status and ("C.5.1.send: FCVI-C.5.1-03: " in done.stderr) is bool(status)
    results = json.loads((tmp_path / "r/report.json").read_text())["results"]
    assert "pass" in [r["verdict"] for r in results] and "fail" not in [r["verdict"] for r in results]
