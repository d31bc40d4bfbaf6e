"""Cases of one's own: new-case, --cases, --watch, --step, --debug."""

from __future__ import annotations

import argparse
import json
import os
import re
from pathlib import Path

import pytest

from fcvi.commands import watch
from fcvi.dut.debug import debugged
from fcvi.engine.attachment import AttachError
from fcvi.engine.target import parse

from ..conftest import FCVI, fcvi

_TRIES = "    raise Inconclusive("


def _new(folder: Path, *words: str) -> Path:
    done = fcvi("new-case", *words, "--out", str(folder))
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.partition(": ")[0])


def _tried(path: Path) -> None:
    """Something is tried: the last line goes."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith(_TRIES)]
    path.write_text("\n".join(lines) + "\n")


def test_a_new_case_passes_only_once_something_is_tried(tmp_path: Path) -> None:
    path, report = _new(tmp_path / "cases", "FCVI-8.5.3-a3"), tmp_path / "report"
    assert "[shall]" in path.read_text()
    words = ("--cases", str(path.parent), "--select", "own.*", "--report", str(report))
    assert fcvi("run", *words).returncode == 4
    _tried(path)
    done = fcvi("run", *words, "--force")
    assert done.returncode == 0 and "2 cases: 2 pass" in done.stdout
    results = json.loads((report / "report.json").read_text())["results"]
    assert [r["id"] for r in results] == ["own.8.5.3/dut-client", "own.8.5.3/dut-server"]
    assert fcvi("judge", str(report), "--cases", str(path.parent)).returncode == 0
    trace = sorted(report.glob("evidence/own*.jsonl"))[0]
    assert fcvi("replay", "--offline", str(trace), "--cases", str(path.parent)).returncode == 0
    assert fcvi("replay", "--offline", str(trace)).returncode == 2
    listed = json.loads(fcvi("list", "--json", "--cases", str(path.parent)).stdout)
    assert listed[-1]["id"] == "own.8.5.3" and len(listed) > 100
    assert "own.8.5.3" in fcvi("show", "FCVI-8.5.3-a3", "--cases", str(path.parent)).stdout
    assert "own." not in fcvi("list").stdout


@pytest.mark.parametrize("words, says", [
    (("nothing",), "neither a requirement nor a clause"),
    (("8.5.3", "--id", "a b"), "letters, digits"),
    (("8.5.3", "--id", "5.3.2"), "the suite has a case of this name"),
])
def test_what_is_no_case_is_told(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = fcvi("new-case", *words, "--out", str(tmp_path))
    assert done.returncode == 2 and says in done.stderr and not list(tmp_path.iterdir())


@pytest.mark.parametrize("text, says", [
    ("x = ", "line 1: invalid syntax"),
    ("1 / 0", "line 1: ZeroDivisionError"),
    ("", "no file there declares a case"),
    ("import sys; sys.modules['fcvi.nothing'].x", "line 1: KeyError"),
])
def test_a_folder_that_cannot_be_used_is_one_line(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text)
    for command in (("run",), ("list",), ("show", "5.3.2")):
        done = fcvi(*command, "--cases", str(tmp_path))
        assert done.returncode == 2 and says in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_certificate_has_no_case_of_ones_own(tmp_path: Path) -> None:
    done = fcvi("certify", "--cases", str(tmp_path), "--report", str(tmp_path / "report"))
    assert done.returncode == 2 and not (tmp_path / "report").exists()
    assert done.stderr.startswith("fcvi: --cases: a certificate is about the cases of the suite alone; ")
    assert len(done.stderr.splitlines()) == 1


def test_names_and_requirements_are_looked_up(tmp_path: Path) -> None:
    path = _new(tmp_path, "8.5.3")
    text = path.read_text()
    path.write_text(text.replace('"own.8.5.3"', '"5.3.2"'))
    assert "declared twice" in fcvi("list", "--cases", str(tmp_path)).stderr
    path.write_text(text.replace('requirements=["', 'requirements=["FCVI-0-0", "'))
    assert "there is no requirement FCVI-0-0" in fcvi("list", "--cases", str(tmp_path)).stderr


def test_steps_show_frames_and_states() -> None:
    done = fcvi("run", "--select", "5.3.2/dut-server", "--step", "--quiet", stdin=b"\n\nc\n")
    assert done.returncode == 0
    assert done.stderr.count("> ") >= 3 and "<- FCVI_CONNECT_RESP1" in done.stderr
    assert re.search(r"VI \d connected", done.stderr)
    stopped = fcvi("run", "--select", "5.3.2/dut-server", "--step", "--quiet", stdin=b"q\n")
    assert stopped.returncode == 3


def test_a_device_runs_under_another_command(tmp_path: Path) -> None:
    log = tmp_path / "words"
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\necho "$@" > {log}\nexec "$@"\n')
    wrapper.chmod(0o755)
    done = fcvi("run", "--dut", f"exec:{FCVI} endpoint", "--debug", f"{wrapper}", "--select", "5.3.2/dut-server", "--quiet")
    assert done.returncode == 0 and log.read_text() == f"{FCVI} endpoint\n"
    assert fcvi("run", "--debug", "gdb", "--quiet").returncode == 2


def test_gdb_gets_the_terminal_and_the_device_the_pipes() -> None:
    spec = str(debugged(parse("exec:./device -x"), "gdb --args"))
    assert "set exec-wrapper" in spec and spec.endswith(" --args ./device -x")
    with pytest.raises(AttachError):
        debugged(parse("exec:./device"), "gdb '")


def test_a_change_of_a_case_selects_its_own(tmp_path: Path) -> None:
    path, other = _new(tmp_path, "8.5.3"), _new(tmp_path, "8.5.4", "--id", "own.other")
    args = argparse.Namespace(cases=tmp_path, target=parse("ref"), pics=None, select="own.*")
    before = watch.times(watch.watched(args))
    assert set(before) == {path, other} and not watch.changed(before, before)
    os.utime(path, ns=(1, 1))
    files = watch.changed(before, watch.times(watch.watched(args)))
    assert files == {path}
    device = argparse.Namespace(cases=None, target=parse(f"exec:{path} --flag"), pics=other, select=None)
    assert watch.watched(device) == [path, other] and watch.again(device, {path}) is None
