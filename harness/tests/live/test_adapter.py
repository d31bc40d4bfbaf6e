"""The FCoE frame adapter of harness/starters, against the reference port on the other end of a veth pair."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ..conftest import ROOT
from .net import TESTER, Net

_ADAPTER = f"exec:{sys.executable} {ROOT}/harness/starters/fcoe_adapter.py {TESTER}"


def test_cases_pass_through_the_fcoe_adapter(net: Net, tmp_path: Path) -> None:
    agent, report = net.endpoint(tmp_path / "control"), tmp_path / "report"
    done = net.fcvi("run", "--frames", _ADAPTER, "--agent", agent, "--select", "A.1/*,5.3.2/dut-client,5.3.2/dut-server,D.R3",
                    "--report", str(report))  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    data = json.loads((report / "report.json").read_text())
    assert data["summary"]["pass"] >= 7 and data["summary"]["inconclusive"] == 0


def test_the_fcoe_adapter_keeps_to_the_protocol(net: Net) -> None:
    done = net.fcvi("dut", "check", f"frames:{_ADAPTER}")
    assert done.returncode == 0 and "Nothing to mend" in done.stdout, done.stdout + done.stderr
