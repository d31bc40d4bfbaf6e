"""That a device is judged by the standard of its wire alone."""

from __future__ import annotations

import json
from pathlib import Path

from .. import starts
from ..conftest import FCVI, ROOT


def test_a_device_of_streams_is_judged_by_its_own_standard_alone(tmp_path: Path) -> None:
    report = tmp_path / "report"
    words = ["certify", "--wire", "tcp", "--report", str(report)]
    done = starts.run([str(FCVI), *words], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    certificate = json.loads((report / "certificate.json").read_text())
    assert certificate["standard"] == "draft-dicecco-vitcp-00" and certificate["outcome"] == "conformant"
    assert {ident.split("-")[0] for ident in certificate["requirements"]} == {"VITCP"}
    words = ["certify", "--verify", str(report)]
    verified = starts.run([str(FCVI), *words], capture_output=True, text=True, timeout=300, check=False)
    assert verified.returncode == 0 and verified.stdout.startswith("conformant"), verified.stdout
    assert "FCVI-" not in (report / "report.html").read_text()


def test_a_device_of_streams_without_its_book_is_told_what_to_say() -> None:
    words = ["run", "--dut", f"exec:{FCVI} endpoint --wire tcp"]
    done = starts.run([str(FCVI), *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "--book vitcp" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_an_agent_on_sockets_makes_calls_alone() -> None:
    """Without a second agent both ends are in its process, and connect to each other."""
    agent = f"exec:{ROOT}/build/fcvi-agent --on vitcp:127.0.0.1:5657"
    words = ["run", "--dut", "api", "--agent", agent, "--select", "VIPL.C1,VIPL.C12"]
    done = starts.run([str(FCVI), *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "0 fail" in done.stdout and "inconclusive" not in done.stdout, done.stdout
