"""A second standard in a folder of its own is listed, shown, run, judged again and reported; nothing else knows of it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from random import Random

from fcvi.engine.pixit import pixit_for
from fcvi.engine.scenario import Scenario

from .. import starts
from ..conftest import FCVI
from .dummy_protocol.device import Counter

DUMMY = Path(__file__).parent / "dummy_protocol"


def fcvi(*args: str, standards: str = str(DUMMY)) -> subprocess.CompletedProcess[str]:
    """Run the command with the dummy standard beside its own."""
    environment = {**os.environ, "FCVI_STANDARDS": standards}
    return starts.run([str(FCVI), *args], env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_it_is_small() -> None:
    lines = sum(len(path.read_text().splitlines()) for path in DUMMY.iterdir() if path.is_file())
    assert lines < 200


def test_its_cases_are_listed_after_those_of_fc_vi() -> None:
    listed = json.loads(fcvi("list", "--json").stdout)
    assert [case["id"] for case in listed[-2:]] == ["Dummy.1", "Dummy.2"] and len(listed) > 150
    assert "Dummy" not in fcvi("list", standards="").stdout


def test_its_requirements_and_errata_are_shown() -> None:
    assert "adds one" in fcvi("show", "DUMMY-1-01").stdout
    assert "very time" in fcvi("show", "Q1").stdout
    assert "DUMMY-2-01" in fcvi("show", "Dummy.2").stdout


def test_a_run_passes_and_is_reported(tmp_path: Path) -> None:
    done = fcvi("run", "--dut", "counter", "--select", "Dummy.*", "--report", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert [(r["id"], r["verdict"]) for r in report["results"]] == [("Dummy.1", "pass"), ("Dummy.2", "pass")]
    assert report["requirements"]["DUMMY-2-01"] == "pass" and report["review"] == []
    page = (tmp_path / "report.html").read_text()
    assert "The counter counts" in page and "Each call of Count adds one." in page
    again = fcvi("judge", str(tmp_path))
    assert again.returncode == 0, again.stdout + again.stderr


def test_a_broken_device_fails(tmp_path: Path) -> None:
    done = fcvi("run", "--dut", "counter:stuck", "--report", str(tmp_path))
    assert done.returncode == 1, done.stdout + done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["summary"]["fail"] == 1 and report["summary"]["pass"] == 1 and report["summary"]["error"] == 0
    assert report["requirements"]["DUMMY-1-01"] == "fail"


def test_a_folder_that_is_no_standard_is_refused(tmp_path: Path) -> None:
    done = fcvi("list", standards=str(tmp_path))
    assert done.returncode == 2 and "book.py" in done.stderr and "Traceback" not in done.stderr


def test_a_scenario_needs_no_lower_tester() -> None:
    dut = Counter("counter")
    t = Scenario(dut, {}, pixit_for("virtual"), {"R": "shall"}, Random(1), {}, {})
    t.wait(5)
    assert t.now_us == 5 and t.frames() == [] and t.unused() == ""
    t.require(False, "R", "words", 1, 2)
    t.conclude()
    assert [f.requirement for f in t.all_findings()] == ["R"]
