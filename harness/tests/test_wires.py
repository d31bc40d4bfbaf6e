"""Which book a command line brings in, and that a device is judged by the standard of its wire alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance import asked_for

from . import starts
from .conftest import FCVI, ROOT


@pytest.mark.parametrize(("words", "books"), [
    ("run", set()), ("run --dut exec:fcvi", set()), ("run --wire fc", set()), ("lint TCP", set()), ("decode --family vitcp", set()),
    ("run --wire tcp", {"vitcp"}), ("run --wire=tcp --dut exec:x", {"vitcp"}), ("run --dut ref:vitcp", {"vitcp"}),
    ("run --dut=ref:vitcp", {"vitcp"}), ("show VITCP-2.1-01", {"vitcp"}), ("list --select C.1,TCP.4.*", {"vitcp"}),
    ("run --dut api", {"vipl"}), ("run --dut=api", {"vipl"}), ("show VIPL-S2.2-01", {"vipl"}),
    ("list --select VIPL.*,TCP.*", {"vipl", "vitcp"}), ("show A01 V02 B03", {"vipl", "vitcp", "verbs"}), ("lint A01", set()),
    ("show E03", set()), ("show VERBS-6.2.1-02", {"verbs"}), ("run --dut verbs", {"verbs"}), ("run B03", set()),
])  # fmt: skip
def test_a_command_line_brings_in_the_books_that_it_is_about(words: str, books: set[str]) -> None:
    assert asked_for(words.split()) == books


def test_a_device_of_streams_is_judged_by_its_own_standard_alone(tmp_path: Path) -> None:
    report = tmp_path / "report"
    words = ["certify", "--wire", "tcp", "--report", str(report)]
    done = starts.run([str(FCVI), *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    certificate = json.loads((report / "certificate.json").read_text())
    assert certificate["standard"] == "draft-dicecco-vitcp-00" and certificate["outcome"] == "conformant"
    assert {ident.split("-")[0] for ident in certificate["requirements"]} == {"VITCP"}
    assert asked_for(["certify", "--verify", str(report)]) == {"vitcp"}
    words = ["certify", "--verify", str(report)]
    verified = starts.run([str(FCVI), *words], capture_output=True, text=True, timeout=60, check=False)
    assert verified.returncode == 0 and verified.stdout.startswith("conformant"), verified.stdout
    assert "FCVI-" not in (report / "report.html").read_text()


def test_the_reference_port_of_fc_is_judged_as_before() -> None:
    words = ["run", "--select", "3.4,TCP.2.2.2.1.a"]
    done = starts.run([str(FCVI), *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 4) and " fail" in done.stdout and "0 fail" in done.stdout


def test_a_device_of_streams_without_its_book_is_told_what_to_say() -> None:
    words = ["run", "--dut", f"exec:{FCVI} endpoint --wire tcp"]
    done = starts.run([str(FCVI), *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "--wire tcp" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_an_agent_on_sockets_makes_calls_alone() -> None:
    """Without a second agent both ends are in its process, and connect to each other."""
    agent = f"exec:{ROOT}/build/fcvi-agent --on vitcp:127.0.0.1:5657"
    words = ["run", "--dut", "api", "--wire", "tcp", "--agent", agent, "--select", "VIPL.C1,VIPL.C12"]
    done = starts.run([str(FCVI), *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "0 fail" in done.stdout and "inconclusive" not in done.stdout, done.stdout
