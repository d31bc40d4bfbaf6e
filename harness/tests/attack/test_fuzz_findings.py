"""``fcvi fuzz`` at a lab: its commands for a device that is ill, cutting down to single bits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fcvi.attack.bins import Batch, Bins
from fcvi.attack.blackbox import Step, plainer
from fcvi.attack.lab_commands import Commands
from fcvi.engine.attachment import DutError
from fcvi.fc.build import RawFrame

from ..conftest import CONNECT_RQST, ROOT, fcvi

CRASHING = f"exec:/usr/bin/python3 {ROOT}/harness/tests/dut/crashing.py SIGSEGV"


def test_the_health_command_finds_and_the_restart_command_revives(tmp_path: Path) -> None:
    """The device falls ill with the first batch, until it was started again; what commands print is none of the output."""
    seen, healed, log = tmp_path / "seen", tmp_path / "healed", tmp_path / "log"
    health = f"echo looked; if test -e '{seen}'; then test -e '{healed}'; else touch '{seen}'; fi"
    restart = f"touch '{healed}'; echo started >>'{log}'"
    done = fcvi("fuzz", "--dut", "ref", "--batches", "4", "--health-cmd", health, "--restart-cmd", restart, "--json")
    found, summary = (json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 1 and found["kind"] == "dead" and not found["reproduced"]
    assert log.read_text() == "started\n" and summary["summary"]["found"][0]["batches"] == 1


def test_what_was_found_is_told_when_the_device_does_not_come_back(tmp_path: Path) -> None:
    out, seen = tmp_path / "out", tmp_path / "seen"
    health = f"test ! -e '{seen}' && touch '{seen}'"
    words = ("--batches", "4", "--health-cmd", health, "--restart-cmd", "exit 7", "--out", str(out))
    done = fcvi("fuzz", "--dut", "ref", *words)
    assert done.returncode == 3 and "cannot attach again" in done.stderr and "status 7" in done.stderr
    assert "1 findings" in done.stdout and list(out.glob("dead-*/finding.json"))


def test_a_device_that_is_ill_before_the_first_batch_is_no_finding() -> None:
    """A health command that cannot work says "ill" of every device."""
    done = fcvi("fuzz", "--dut", "ref", "--batches", "1", "--health-cmd", "exit 5")
    assert done.returncode == 3 and not done.stdout and "before anything was sent" in done.stderr and "status 5" in done.stderr


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


@pytest.mark.parametrize("stack, findings", [(" take_frame run_port", 1), pytest.param("", 2, marks=pytest.mark.nightly)])
def test_what_breaks_a_device_in_the_same_way_is_one_finding(stack: str, findings: int, tmp_path: Path) -> None:
    """The same stack is the same fault in every state. Without a stack the state tells crashes apart."""
    done = fcvi("fuzz", "--dut", CRASHING + stack, "--batches", "2", "--json", "--out", str(tmp_path / "out"))
    *found, summary = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1 and len(found) == findings
    told = summary["summary"]["found"]
    assert len(told) == findings and sum(one["times"] for one in told) == 2
    before = json.loads((Path(found[0]["directory"]) / "before.json").read_text())
    assert before and len(list((tmp_path / "out").glob("dead-*"))) == findings


def test_a_stack_and_the_words_tell_findings_apart(tmp_path: Path) -> None:
    log = tmp_path / "dut.log"
    bins = Bins(log, keep=2)

    def key(text: str, kind: str = "dead", reason: str = "SIGSEGV after 12 us", state: str = "idle") -> tuple[str, ...]:
        bins.begin()
        with log.open("a") as file:
            file.write(text)
        return bins.key(kind, reason, state)

    sanitizer = "==7==ERROR\n    #0 0x{:x} in parse_header wire.c:3\n    #1 0x{:x} in take_frame port.c:9\n"
    first = key(sanitizer.format(0x1000, 0x2000))
    assert first == key(sanitizer.format(0x7F00, 0x8F00), state="connected", reason="SIGSEGV after 99 us"), "numbers do not count"
    allocated = "allocated by thread T0 here:\n    #0 0x10 in malloc\n    #1 0x20 in start wire.c:1\n"
    assert first == key(sanitizer.format(1, 2) + allocated), "who allocated is no part of the fault"
    assert first != key("    #0 0x1000 in parse_trailer wire.c:7\n"), "another function is another fault"
    assert first != key(sanitizer.format(1, 2), reason="SIGABRT after 12 us"), "so is another signal"
    assert key("no stack at all\n") != key("", state="connected"), "what was read of the log before is not read again"
    assert key("", "stuck", "no answer") == key("", "stuck", "no answer", "connected"), "a device that lives is told by its answer"
    assert [bins.count(first), bins.count(first), bins.count(("stuck", "x"))] == [1, 2, 1]
    for seed in range(5):
        bins.played(Batch(seed, "idle", []))
    assert [batch.seed for batch in bins.last] == [3, 4]
