"""The command: exit statuses, reports, selections, determinism."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
import xml.etree.ElementTree as Tree
from pathlib import Path

import jsonschema
import pytest

from conformance.catalogue import load_requirements
from fcvi.arguments import parser
from fcvi.commands import lint
from fcvi.engine.results import Result, RunReport, Verdict
from fcvi.engine.runner import exit_status

from ..conftest import ROOT, fcvi

GOOD = ROOT / "pcaps/crafted/fc2-225.pcap"
SCHEMA = json.loads((ROOT / "harness/fcvi/report/report.schema.json").read_text())


@pytest.mark.parametrize(
    "args, words",
    [
        (["run", "--select", "Z.9"], "no case matches 'Z.9'"),
        (["run", "--select", "D.R1,,D.R2"], "cannot read the term"),
        (["run", "--select", "D.R1,not D.*"], "selects no case"),
        (["list", "--select", "tag:none"], "no case matches"),
        (["run", "--jobs", "0"], "--jobs"),
        (["run", "--jobs", "many"], "--jobs"),
        (["lint", "--jobs", "0", str(GOOD)], "must be a number from 1 to 1024"),
        (["lint", "--jobs", "1025", str(GOOD)], "must be a number from 1 to 1024"),
        (["decode", "--jobs", "many", str(GOOD)], "must be a number from 1 to 1024"),
        (["flows", "--jobs"], "--jobs"),
        (["lint", "--jobs", "2"], "fcvi lint --help"),
        (["run", "--nonsense"], "--nonsense"),
        (["run", "--formats", "json,pdf"], "'pdf' is none of"),
        (["run", "--rpc-timeout", "-1"], "--rpc-timeout"),
        (["run", "--pics", "/nonexistent.toml"], "cannot read it"),
        (["show", "X.1"], "no such case, requirement or erratum"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(args: list[str], words: str) -> None:
    done = fcvi(*args)
    assert done.returncode == 2
    assert words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "args, status, words",
    [
        (["--select", "Z.9"], 2, "no case matches 'Z.9'"),
        (["--dut", "exec:/nonexistent/device"], 3, "cannot start it"),
        (["--dut", "tcp:127.0.0.1:1"], 3, "cannot connect"),
        (["--dut", "tcp:a..b:1"], 2, "no host has such a name"),
        (["--pics", "/nonexistent.toml"], 2, "cannot read it"),
    ],
)
def test_a_run_that_cannot_begin_replaces_the_report(args: list[str], status: int, words: str, tmp_path: Path) -> None:
    """An all-green report of an earlier run in the same directory must not be taken for this one's."""
    assert fcvi("run", "--select", "D.R1", "--report", str(tmp_path)).returncode == 0
    assert fcvi("run", *args, "--report", str(tmp_path), "--force").returncode == status
    data = json.loads((tmp_path / "report.json").read_text())
    jsonschema.validate(data, SCHEMA)
    assert words in data["error"] and data["results"] == []
    suite = Tree.parse(tmp_path / "junit.xml").getroot().find("testsuite")
    assert suite.get("errors") == "1" and words in suite.find("testcase/error").get("message")
    assert words in (tmp_path / "report.txt").read_text()
    assert (tmp_path / "report.tap").read_text().splitlines()[-1].startswith("Bail out! ")


def test_one_of_two_processes_cannot_attach(tmp_path: Path) -> None:
    """A device that can be started only twice: the suite's look at it and one of the two processes."""
    device = tmp_path / "device"
    device.write_text(
        f"#!/bin/sh\nfor n in 1 2; do mkdir '{tmp_path}'/$n 2>/dev/null && exec '{ROOT}/build/fcvi' endpoint; done\nexit 1\n"
    )
    device.chmod(0o755)
    done = fcvi("run", "--dut", f"exec:{shlex.quote(str(device))}", "--jobs", "2", "--select", "5.3.*,C.5.*",
                "--report", str(tmp_path / "report"))  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    summary = json.loads((tmp_path / "report/report.json").read_text())["summary"]
    assert 0 < summary["error"] and abs(summary["error"] - summary["pass"]) <= 1


@pytest.mark.parametrize("files", [["a.pcap"], ["-"], ["b", "-", "a"]])
def test_lint_of_files_alone_is_what_the_parser_makes_of_them(files: list[str]) -> None:
    """Files alone are taken without argparse."""
    parsed = vars(parser("lint").parse_args(["lint", *files]))
    assert parsed.pop("run") == lint.run
    taken = lint.Arguments(files)
    assert {name: getattr(taken, name) for name in parsed} == parsed


@pytest.mark.parametrize("words, loaded", [(["lint", "-"], False), (["lint", "--", "-"], True), (["lint", "-", "--json"], True)])
def test_only_options_need_the_parser(words: list[str], loaded: bool) -> None:
    script = f"import sys; from fcvi.cli import main; main({words}); print('argparse' in sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], input=GOOD.read_bytes(), capture_output=True, check=True)
    assert done.stdout and done.stderr.decode().splitlines()[-1] == str(loaded)


def test_lint_says_nothing_of_what_it_cannot_read(tmp_path: Path) -> None:
    done = fcvi("lint", str(tmp_path / "missing.pcap"))
    assert (done.returncode, done.stdout) == (2, "") and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "content, words",
    [("client = 3", "true or false"), ("wings = true", "unknown PICS item"), ("= x", "not a TOML file"), ("pics = 1", "table")],
)
def test_bad_pics(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "pics.toml"
    path.write_text(content)
    done = fcvi("run", "--pics", str(path))
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1


def test_pics_select(tmp_path: Path) -> None:
    path = tmp_path / "pics.toml"
    path.write_text("[pics]\nclient = true\nunreliable_delivery = true\nmax_transfer_size = 65536\n")
    report = tmp_path / "report"
    assert fcvi("run", "--pics", str(path), "--report", str(report), "--quiet").returncode == 0
    verdicts = {r["id"]: r["verdict"] for r in json.loads((report / "report.json").read_text())["results"]}
    assert verdicts["5.3.2/dut-client"] == "pass" and verdicts["5.3.2/dut-server"] == "not-applicable"
    path.write_text("client = false\n")
    assert fcvi("run", "--pics", str(path)).returncode == 2  # nothing applies: no green result out of nothing


@pytest.mark.nightly
def test_certify_leaves_every_file(certified_reference: Path) -> None:
    place = certified_reference
    assert "0 fail" in (place.parent / "printed").read_text()
    data = json.loads((place / "report.json").read_text())
    jsonschema.validate(data, SCHEMA)
    assert data["summary"]["pass"] == len(data["results"]) == len(list(place.glob("*.pcapng")))
    assert set(data["requirements"].values()) == {"pass"}
    assert {f for r in data["results"] for f in r["requirements"]} <= {r.id for r in load_requirements()}
    suite = Tree.parse(place / "junit.xml").getroot().find("testsuite")
    assert suite.get("tests") == str(len(data["results"])) and suite.get("failures") == "0"
    tap = (place / "report.tap").read_text().splitlines()
    assert tap[1] == f"1..{len(data['results'])}" and len([t for t in tap if t.startswith("ok ")]) == len(data["results"])


def a_report(*verdicts: Verdict) -> RunReport:
    """A report of these verdicts."""
    results = [Result(f"X.{i}", "x", v, "why # so\x01", requirements=["FCVI-8.3-05"]) for i, v in enumerate(verdicts)]
    return RunReport("0", "0" * 64, "ref", "i", "v", {}, {}, 1, results)


@pytest.mark.parametrize(
    "verdicts, status",
    [
        ([Verdict.PASS], 0),
        ([Verdict.PASS, Verdict.NOT_APPLICABLE], 0),
        ([Verdict.NOT_APPLICABLE], 2),
        ([Verdict.PASS, Verdict.INCONCLUSIVE], 4),
        ([Verdict.FAIL, Verdict.INCONCLUSIVE], 1),
        ([Verdict.FAIL, Verdict.ERROR], 3),
    ],
)
def test_exit_status(verdicts: list[Verdict], status: int) -> None:
    assert exit_status(a_report(*verdicts)) == status


def test_files_say_what_is_not_a_pass() -> None:
    from fcvi.report import json_report, junit, tap, text

    report = a_report(*Verdict)
    jsonschema.validate(json.loads(json_report.render(report)), SCHEMA)
    suite = Tree.fromstring(junit.render(report))
    assert [len(list(suite.iter(k))) for k in ("failure", "error", "skipped")] == [1, 1, 2]
    lines = tap.render(report)
    assert lines.count("\nnot ok ") == 2 and lines.count("# SKIP") == 2
    assert "inconclusive: X.2" in text.render(report)
    assert json_report.requirement_verdicts(report) == {"FCVI-8.3-05": "error"}


def test_list_and_show() -> None:
    listed = json.loads(fcvi("list", "--json").stdout)
    names = {"id", "title", "clause", "purpose", "requirements", "errata", "tags", "applies", "variants"}
    assert all(set(case) == names for case in listed)
    assert {"C.5.6", "C.5.7.1", "C.5.7.2", "C.5.8", "C.5.9.1", "C.5.10", "D.R1", "D.R2", "D.R3", "D.R6", "D.2"} <= {
        case["id"] for case in listed
    }
    wanted = [c for c in listed if c["id"].startswith("C.5.") and "retry" not in c["tags"]]
    chosen = fcvi("list", "--select", "C.5.*,not tag:retry").stdout.splitlines()
    assert [line.split()[0] for line in chosen] == [v for c in wanted for v in c["variants"]]
    assert "Lost FCVI_CONNECT_RESP2" in fcvi("show", "C.5.9.1").stdout
    assert "C.5.9.1" in fcvi("show", "FCVI-8.5.3-a3").stdout
    assert "FFFFFFFFh" in fcvi("show", "E03").stdout
    assert fcvi("show", "E97").returncode == 0


@pytest.mark.parametrize("command", ["", "run", "certify", "judge", "report", "list", "show", "decode", "lint", "endpoint"])
def test_help(command: str) -> None:
    done = fcvi(*([command] if command else []), "--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: fcvi")


def test_what_an_output_option_names_stays_what_it_is(tmp_path: Path) -> None:
    """A pipe gets the bytes: a regular file in its place would be the end of /dev/stdout for everybody."""
    capture = ROOT / "pcaps/field/empty-last-frame.pcap"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    lonely = fcvi("lint", "--sarif", str(pipe), str(capture))
    assert lonely.returncode == 3 and len(lonely.stderr.splitlines()) == 1
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        time.sleep(0.5)
        done = fcvi("lint", "--sarif", str(pipe), str(capture))
        told = reader.communicate(timeout=30)[0]
    assert done.returncode == 0 and pipe.is_fifo() and json.loads(told)["version"] == "2.1.0"
    through = fcvi("lint", "--json", "--sarif", "/dev/stdout", str(capture))
    assert through.returncode == 0 and Path("/dev/stdout").is_symlink() and '"version": "2.1.0"' in through.stdout
