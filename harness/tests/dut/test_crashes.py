"""A device that ends by a signal; what the report says of it, of groups of failures and of a PICS."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fcvi.engine.results import Finding, Result, RunReport, Verdict
from fcvi.report import causes, explain

from ..conftest import ROOT, fcvi

CRASHING = f"exec:{sys.executable} {ROOT}/harness/tests/dut/crashing.py"
INDEPENDENT = f"exec:{sys.executable} {ROOT}/harness/tests/independent/endpoint.py"


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE"])
def test_a_crash_is_told_with_its_signal_and_the_last_frame(name: str, tmp_path: Path) -> None:
    """A process brings these upon itself. No requirement is broken, so nothing fails."""
    report = tmp_path / "r"
    done = fcvi("run", "--dut", f"{CRASHING} {name}", "--select", "5.3.2/dut-server", "--rpc-timeout", "20",
                "--report", str(report))  # fmt: skip
    assert done.returncode == 3, done.stdout + done.stderr
    line = f"1 case ended with a crash of the device: {name}, and the last frame sent to it was FCVI_CONNECT_RQST (frame 1)"
    assert line in " ".join(done.stdout.split()), done.stdout
    assert "1 of the errors with a crash of the device" in done.stdout and "--rpc-timeout" not in done.stdout, done.stdout
    (result,) = json.loads((report / "report.json").read_text())["results"]
    assert result["verdict"] == "error" and result["reason"].startswith(f"the device crashed: {name}")
    judged = fcvi("judge", str(report))
    assert judged.returncode == 3 and "differ" not in judged.stdout, judged.stdout + judged.stderr


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_what_anybody_may_have_ended_is_no_crash_of_the_device(name: str) -> None:
    done = fcvi("run", "--dut", f"{CRASHING} {name}", "--select", "5.3.2/dut-server", "--rpc-timeout", "20")
    assert done.returncode == 3 and f"killed by {name}" in done.stdout and "crash of the device" not in done.stdout, done.stdout


def test_a_passing_run_speaks_of_no_violation() -> None:
    """What a PICS does not claim counts in a certificate alone: one line says so."""
    done = fcvi("run", "--dut", INDEPENDENT, "--select", "5.3.2/dut-client")
    assert done.returncode == 0 and "violation" not in done.stdout, done.stdout
    assert "which counts in a certificate: FCVI-T01-WRITE_RQST-pos" in " ".join(done.stdout.split()), done.stdout


def _failed(name: str, frames: int) -> Result:
    finding = Finding("FCVI-6.10.2-02", "behaviour", "FCVI_HANDLE is wrong", "00000001h", "00000002h", None, None, None, None, 0)
    result = Result(name, name, Verdict.FAIL, findings=[finding])
    result.broken = ["FCVI-6.10.2-02"]
    result.frames = [None] * frames  # type: ignore[list-item]
    return result


def test_a_group_shows_its_simplest_case() -> None:
    """That with the fewest frames; the others stay in the order of the catalogue."""
    results = [_failed("a", 9), _failed("b", 3), _failed("c", 3), _failed("d", 12)]
    report = RunReport("0", "0" * 64, "ref", "i", "v", {}, {}, 1, results)
    (group,) = explain.groups(report)
    assert [r.id for r in group.results] == ["b", "a", "c", "d"]


@pytest.mark.parametrize("seen, needs, said", [
    ("nothing", "rdma_read", True), ("VIP_NOT_SUPPORTED", "class2 and client", True), ("00000001h", "rdma_read", False),
    ("nothing", "client", False), ("nothing", "", False), ("VIP_SUCCESS", "rdma_read", False),
])  # fmt: skip
def test_a_claim_is_doubted_only_where_the_device_did_nothing(seen: str, needs: str, said: bool) -> None:
    finding = Finding("FCVI-6.10.2-02", "behaviour", "no answer", seen, "an answer", None, None, None, None, 0)
    assert any("PICS claims" in cause for cause in causes.likely(finding, "", needs)) is said


def test_silence_is_no_wrong_identifier() -> None:
    """The Exchange that a sentence names says nothing of what the device did wrong, and is another one in each case."""
    message = "no LS_ACC on Exchange OX_ID 3956h of the tester to PLOGI"
    finding = Finding("FCVI-4.1-04", "behaviour", message, "nothing", "LS_ACC within 20 s", None, None, None, None, 0)
    assert causes.likely(finding, "", "")[0].startswith("the device did not notice what the tester sent")
    result = Result("a", "a", Verdict.FAIL, findings=[finding])
    result.broken = ["FCVI-4.1-04"]
    (group,) = explain.groups(RunReport("0", "0" * 64, "ref", "i", "v", {}, {}, 1, [result]))
    assert group.cause.endswith(": no LS_ACC to PLOGI")
