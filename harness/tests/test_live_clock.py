"""Real time: what the suite's own host does late is never the device's fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fcvi import jitter
from fcvi.case import CaseInfo, Variant
from fcvi.dut.base import SETTLE_US, Dut, Notification, Reply
from fcvi.pixit import Pixit, pixit_for
from fcvi.results import Result, Verdict
from fcvi.runner import run_variant
from fcvi.scenario import Scenario

REQUIREMENT = "FCVI-8.5.4-01"
LEVELS = {REQUIREMENT: "shall"}
#: A frame whose S_ID is none of the device's (5.8.1), in an otherwise plain ABTS.
STRANGE = "810101000001030000090000060000001234ffff00000000"


class Host(Dut):
    """A silent device, on a host that comes late by so much once."""

    def __init__(self, stall_us: int, frame: str = "") -> None:
        super().__init__()
        self.spec, self.implementation, self.version, self.clock, self.pics = "stub", "stub", "1", "real", {}
        self._stall_us, self._frame = stall_us, frame

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        return Reply(method, done=True, result={"return": "VIP_SUCCESS"})

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Silent."""

    def advance(self, us: int) -> None:
        self.now_us += max(us, SETTLE_US) + self._stall_us
        self._stall_us = 0
        if self._frame:
            self.inbox.append(Notification("frame", {"hex": self._frame}, self.now_us, self.now_us))
            self._frame = ""

    def reset(self, config: dict[str, Any]) -> None:
        self.now_us = 0

    def restart(self) -> None:
        """Never broken."""

    def close(self) -> None:
        """Nothing to end."""


def awaits_a_frame(t: Scenario) -> None:
    t.expect("CONNECT_RQST", REQUIREMENT)


def judges_a_time(t: Scenario) -> None:
    t.wait(100_000)
    t.control("time passed")
    t.expect_now(50_000, REQUIREMENT, "the return")


def run(body: Any, dut: Dut, pixit: Pixit) -> Result:
    case = CaseInfo("X", "x", "1", "x", (REQUIREMENT,), (), (), "", (Variant(),), body)
    return run_variant(dut, case, case.variants[0], {}, pixit, {**LEVELS, "FCVI-5.8.1-01": "shall"}, 1)


PIXIT = pixit_for("real")


def test_silence_fails_a_device() -> None:
    assert run(awaits_a_frame, Host(0), PIXIT).verdict is Verdict.FAIL
    assert run(awaits_a_frame, Host(PIXIT.late_us), PIXIT).verdict is Verdict.FAIL


def test_silence_while_the_host_stood_still_fails_nobody() -> None:
    result = run(awaits_a_frame, Host(PIXIT.late_us + 1), PIXIT)
    assert result.verdict is Verdict.INCONCLUSIVE and f"stood still for {PIXIT.late_us + 1} us" in result.reason


def test_what_a_device_says_after_the_host_stood_still_hides_nothing() -> None:
    frame = STRANGE.replace("0000010300", "0000010200")
    host = Host(PIXIT.late_us + 1, frame[:8] + "00010200" + frame[16:])
    result = run(awaits_a_frame, host, PIXIT)
    assert result.verdict is Verdict.INCONCLUSIVE, result.reason


def test_a_wrong_byte_fails_a_device_on_any_host() -> None:
    result = run(awaits_a_frame, Host(PIXIT.late_us * 3, STRANGE), PIXIT)
    assert result.verdict is Verdict.FAIL and "FCVI-5.8.1-01" in result.broken


def test_a_bound_finer_than_the_jitter_fails_nobody() -> None:
    pixit = replace(PIXIT, late_us=20_000)
    assert run(judges_a_time, Host(0), pixit).verdict is Verdict.FAIL
    coarse = replace(pixit, jitter_us=min(pixit.early_us, pixit.late_us) + 1)
    result = run(judges_a_time, Host(0), coarse)
    assert result.verdict is Verdict.INCONCLUSIVE and "bound finer than the clock's jitter" in result.reason
    assert run(judges_a_time, Host(0), replace(pixit, jitter_us=min(pixit.early_us, pixit.late_us))).verdict is Verdict.FAIL


def test_the_jitter_is_kept_for_the_judge() -> None:
    pixit = replace(PIXIT, jitter_us=jitter.measure() + 1)
    assert pixit.jitter_us > 0 and Pixit.from_json(pixit.as_json()) == pixit
    assert "jitter_us" not in pixit_for("virtual").as_json()
