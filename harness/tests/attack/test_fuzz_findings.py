"""``fcvi fuzz`` at a lab: its commands for a device that is ill, cutting down to single bits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fcvi.attack.blackbox import Step, plainer
from fcvi.attack.lab_commands import Commands
from fcvi.engine.attachment import DutError
from fcvi.fc.build import RawFrame

from ..conftest import CONNECT_RQST, fcvi


def test_the_health_command_finds_and_the_restart_command_revives(tmp_path: Path) -> None:
    """The device is ill until it was started again; what it prints is no part of the suite's own output."""
    ill, log = tmp_path / "ill", tmp_path / "log"
    ill.touch()
    health, restart = f"echo looked; test ! -e '{ill}'", f"rm -f '{ill}'; echo started >>'{log}'"
    done = fcvi("fuzz", "--dut", "ref", "--batches", "4", "--health-cmd", health, "--restart-cmd", restart, "--json")
    found, summary = (json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 1 and found["kind"] == "dead" and not found["reproduced"]
    assert log.read_text() == "started\n" and summary["summary"]["found"][0]["batches"] == 1


def test_what_was_found_is_told_when_the_device_does_not_come_back(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--batches", "4", "--health-cmd", "false", "--restart-cmd", "exit 7", "--out", str(out))
    done = fcvi("fuzz", "--dut", "ref", *words)
    assert done.returncode == 3 and "cannot attach again" in done.stderr and "status 7" in done.stderr
    assert "1 findings" in done.stdout and list(out.glob("dead-*/finding.json"))


def test_attaching_again_is_tried_for_a_while() -> None:
    tries = []

    def again() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise DutError("refused")

    Commands(patience_s=5).revive(again)
    assert len(tries) == 3
    with pytest.raises(DutError, match="status 3"):
        Commands(restart="exit 3").revive(again)
    tries.clear()
    with pytest.raises(DutError, match="refused"):
        Commands().revive(again)


def test_a_finding_is_cut_down_to_the_bit() -> None:
    """Six bytes in a row differ and the frame is longer; one bit in the middle is what matters."""
    right = bytes.fromhex(CONNECT_RQST)
    wrong = right[:30] + bytes(b ^ 0x33 for b in right[30:36]) + right[36:] + bytes(8)
    step = Step(RawFrame(wrong, 0x2E, 0x42), RawFrame(right, 0x2E, 0x42))

    def still(steps: list[Step]) -> bool:
        return (steps[0].frame.data[33] ^ right[33]) & 0x10 != 0

    (left,) = plainer([step], still, lambda: True)
    assert left.frame.data == right[:33] + bytes([right[33] ^ 0x10]) + right[34:]
