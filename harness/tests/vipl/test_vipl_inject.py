"""Faults below the calls: the agent's own, those of a laboratory's command, and a provider that does not look at the CRC."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from ..conftest import FCVI, ROOT

BUILD = Path(os.environ.get("FCVI_BUILD", str(ROOT / "build")))
HOOK = ROOT / "harness/shims/inject_pair.py"
QUICK = "VIPL.X9/rd,VIPL.X11/rr,VIPL.X14/rd-immediate,VIPL.X18/rd-corrupt"


def run(*words: str, report: Path | None = None) -> subprocess.CompletedProcess[str]:
    written = ["--report", str(report)] if report is not None else []
    return subprocess.run([str(FCVI), "run", "--dut", "api", *words, *written], capture_output=True, text=True, timeout=300,
                          check=False)  # fmt: skip


def verdicts(report: Path) -> dict[str, str]:
    return {r["id"]: r["verdict"] for r in json.loads((report / "report.json").read_text())["results"]}


def pair(socket: Path | None = None) -> str:
    """The plain agent over a provider of two NICs, which listens for faults at the socket."""
    listens = f"FCVI_PAIR_INJECT={socket} " if socket is not None else ""
    return (f"exec:env LD_LIBRARY_PATH={BUILD} LD_PRELOAD={BUILD}/libvipl-pair.so {listens}{BUILD}/fcvi-agent-plain "
            "--device VINIC0 --device VINIC1")  # fmt: skip


def test_our_libvipl_passes_what_the_agent_injects(tmp_path: Path) -> None:
    done = run("--agent", f"exec:{BUILD}/fcvi-agent", "--select", QUICK, report=tmp_path)
    assert done.returncode in (0, 4), done.stdout + done.stderr
    found = list(verdicts(tmp_path).values())
    assert "pass" in found and set(found) <= {"pass", "inconclusive"}


def test_a_command_of_the_laboratory_injects(tmp_path: Path) -> None:
    socket, report = tmp_path / "s", tmp_path / "r"
    done = run("--agent", pair(socket), "--inject", f"{HOOK} {socket}", "--select", QUICK, report=report)
    assert done.returncode in (0, 4), done.stdout + done.stderr
    assert set(verdicts(report).values()) <= {"pass", "inconclusive"}
    assert "pass" in verdicts(report).values()
    again = subprocess.run([str(FCVI), "judge", str(report)], capture_output=True, text=True, timeout=60, check=False)
    assert "byte for byte the same" in again.stdout, again.stdout + again.stderr


def test_a_provider_that_does_not_notice_damage_fails(tmp_path: Path) -> None:
    """The damage has a CRC that fits, as if the provider had not compared it."""
    socket, report, hook = tmp_path / "s", tmp_path / "r", tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\nfault=$1\n[ $fault = corrupt ] && fault=alter\nexec {HOOK} {socket} $fault $2\n")
    hook.chmod(0o755)
    cases = "VIPL.X9/ud,VIPL.X9/rr,VIPL.X14/rd-immediate,VIPL.X18/rd-corrupt"
    done = run("--agent", pair(socket), "--inject", str(hook), "--select", cases, report=report)
    assert done.returncode == 1, done.stdout + done.stderr
    found = set(verdicts(report).values())
    assert "fail" in found and found <= {"fail", "inconclusive"}  # where the host stood still, nothing is judged


@pytest.mark.parametrize("inject, verdict", [
    (None, "inconclusive"), ("sh -c 'exit 4'", "inconclusive"), ("false", "error"), ("/nobody/has/this", "error"),
    ("true", "inconclusive"),  # it says that it did, and all arrived
])  # fmt: skip
def test_who_cannot_inject_accuses_nobody(inject: str | None, verdict: str, tmp_path: Path) -> None:
    words = [] if inject is None else ["--inject", inject]
    run("--agent", pair(), *words, "--select", "VIPL.X9/rd", report=tmp_path)
    assert verdicts(tmp_path) == {"VIPL.X9/rd": verdict}


@pytest.mark.parametrize("words, said", [
    (["--dut", "ref", "--inject", "x"], "only for --dut api"),
    (["--dut", "api", "--agent", "exec:true", "--inject", "'"], "--inject '"),
])  # fmt: skip
def test_wrong_usage_is_told_in_one_line(words: list[str], said: str) -> None:
    done = subprocess.run([str(FCVI), "run", *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
