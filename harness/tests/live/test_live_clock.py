"""Real time: what the suite's own host does late is never the device's fault."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from fcvi.engine import jitter, runner
from fcvi.engine.case import CaseInfo, Variant
from fcvi.engine.declaration import Declaration
from fcvi.engine.deviation import Deviation
from fcvi.engine.attachment import SETTLE_US, Dut, HostError, Notification, Reply
from fcvi.dut.planes import Frames, NoControl, PlaneDut, monotonic_us
from fcvi.engine.pixit import Pixit, pixit_for
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import run_variant
from fcvi.engine.target import parse
from fcvi.fc.scenario import Scenario

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


def timed(t: Scenario, nominal_us: int, what: str) -> None:
    """Something that is seen now was to come at this time."""
    t._timed(t.now_us, t.now_us, nominal_us, REQUIREMENT, what, None)


def judges_a_time(t: Scenario) -> None:
    t.wait(100_000)
    t.control("time passed")
    timed(t, 50_000, "the return")


def run(body: Any, dut: Dut, pixit: Pixit) -> Result:
    case = CaseInfo("X", "x", "1", "x", (REQUIREMENT,), (), (), "", (Variant(),), body, "FC-VI")
    return run_variant(dut, case, case.variants[0], {}, pixit, {**LEVELS, "FCVI-5.8.1-01": "shall"}, 1)


PIXIT = replace(pixit_for("real"), free=frozenset())  # nothing is drawn


def test_silence_fails_a_device() -> None:
    assert run(awaits_a_frame, Host(0), PIXIT).verdict is Verdict.FAIL
    assert run(awaits_a_frame, Host(PIXIT.late_us), PIXIT).verdict is Verdict.FAIL


def test_silence_while_the_host_stood_still_fails_nobody() -> None:
    result = run(awaits_a_frame, Host(PIXIT.late_us + 1), PIXIT)
    assert result.verdict is Verdict.INCONCLUSIVE and "stood still for 150 ms" in result.reason


def test_what_a_device_says_after_the_host_stood_still_hides_nothing() -> None:
    frame = STRANGE.replace("0000010300", "0000010200")
    host = Host(PIXIT.late_us + 1, frame[:8] + "00010200" + frame[16:])
    result = run(awaits_a_frame, host, PIXIT)
    assert result.verdict is Verdict.INCONCLUSIVE, result.reason


def test_a_wrong_byte_fails_a_device_on_any_host() -> None:
    result = run(awaits_a_frame, Host(PIXIT.late_us * 3, STRANGE), PIXIT)
    assert result.verdict is Verdict.FAIL and "FCVI-5.8.1-01" in result.broken


def test_a_bound_finer_than_the_jitter_fails_nobody() -> None:
    pixit = replace(PIXIT, late_us=20_000)  # the case sees 100 ms where 70 ms are the most
    assert run(judges_a_time, Host(0), pixit).verdict is Verdict.FAIL
    result = run(judges_a_time, Host(0), replace(pixit, jitter_us=60_000))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "a bound finer than the clock: the suite looks up to 60 ms late" in result.reason
    assert run(judges_a_time, Host(0), replace(pixit, jitter_us=20_000)).verdict is Verdict.FAIL


def test_the_jitter_is_kept_for_the_judge() -> None:
    pixit = replace(PIXIT, jitter_us=jitter.measure() + 1)
    assert pixit.jitter_us > 0 and Pixit.from_json(pixit.as_json()) == pixit
    assert "jitter_us" not in pixit_for("virtual").as_json()


class Tries:
    """A case that fails for want of an answer until the timers are so many times as long; what it was run with."""

    def __init__(self, enough: int, stop: Any = None) -> None:
        self.enough, self.stop, self.seen = enough, stop, list[int]()

    def __call__(self, t: Scenario) -> None:
        self.seen.append(t.pixit.slower)
        assert t.config["r_a_tov_us"] == t.r_a_tov_us == PIXIT.r_a_tov_us * t.pixit.slower
        if t.pixit.slower < self.enough:
            if self.stop is not None:
                raise self.stop
            t.expect("CONNECT_RQST", REQUIREMENT)
        t.control("in time")


def work(body: Tries, monkeypatch: pytest.MonkeyPatch, busy: bool, own_timers: bool = True, times: int = 1,
         known: tuple[Deviation, ...] = ()) -> Result:  # fmt: skip
    """What the engine makes of it, on a host that is busy or not."""
    monkeypatch.setattr(runner.HostWatch, "busy", lambda self: busy)
    r_a_tov_us = None if own_timers else PIXIT.r_a_tov_us
    options = runner.RunOptions(parse("ref"), r_a_tov_us=r_a_tov_us, declaration=Declaration(deviations=known))
    worker = runner._Worker(Host(0), {}, PIXIT, LEVELS, options)
    case = CaseInfo("X", "x", "1", "x", (REQUIREMENT,), (), (), "", (Variant(),), body, "FC-VI")
    return [worker.run(case, case.variants[0]) for _ in range(times)][-1]


def test_what_a_busy_host_may_have_spoilt_is_tried_again_with_longer_timers(monkeypatch: pytest.MonkeyPatch) -> None:
    body = Tries(4)
    result = work(body, monkeypatch, busy=True)
    assert (result.verdict, result.slower, body.seen) == (Verdict.PASS, 4, [1, 2, 4])
    assert "timers 4 times as long" in result.log[0]


class TooSoon(Tries):
    """A case in which something comes before its time until the timers are so many times as long."""

    def __call__(self, t: Scenario) -> None:
        self.seen.append(t.pixit.slower)
        t.control("it came")
        timed(t, t.now_us + (2 * t.pixit.early_us if t.pixit.slower < self.enough else 0), "the retry")


def test_what_came_too_soon_on_a_busy_host_is_tried_again_like_what_came_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that stands still sees a device's first frame late, and then its timer seems to be short."""
    body = TooSoon(2)
    assert work(body, monkeypatch, busy=True).verdict is Verdict.PASS and body.seen == [1, 2]
    body = TooSoon(99)
    assert work(body, monkeypatch, busy=True).verdict is Verdict.FAIL and body.seen == [1, 2, 4]
    body = TooSoon(2)
    assert work(body, monkeypatch, busy=False).verdict is Verdict.FAIL and body.seen == [1]


def test_what_fails_with_all_timers_is_the_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    body = Tries(99)
    assert work(body, monkeypatch, busy=True).verdict is Verdict.FAIL and body.seen == [1, 2, 4]


def test_what_the_lab_declared_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that is known to be silent there is silent with longer timers, too."""
    body = Tries(99)
    result = work(body, monkeypatch, busy=True, known=(Deviation("known", REQUIREMENT),))
    assert result.verdict is Verdict.FAIL and result.broken == [REQUIREMENT] and body.seen == [1]
    body = Tries(99)
    work(body, monkeypatch, busy=True, known=(Deviation("elsewhere", REQUIREMENT, case="Y"), Deviation("another", "FCVI-1-01")))
    assert body.seen == [1, 2, 4]


def test_an_idle_host_spoils_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    body = Tries(2)
    assert work(body, monkeypatch, busy=False).verdict is Verdict.FAIL and body.seen == [1]


def test_timers_of_the_lab_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    body = Tries(2)
    assert work(body, monkeypatch, busy=True, own_timers=False).verdict is Verdict.FAIL and body.seen == [1, 1, 1]


def test_a_device_that_always_fails_is_not_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    body = Tries(99)
    work(body, monkeypatch, busy=True, times=30)
    assert len(body.seen) == 20 * 3 + 10


def test_frames_that_the_host_lost_are_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    body = Tries(2, HostError("the host lost 3 frames"))
    assert work(body, monkeypatch, busy=False).verdict is Verdict.PASS and body.seen == [1, 2]


class Silence(Frames):
    """A wire on which nothing comes."""

    def __init__(self) -> None:
        self._pipe = os.pipe()

    def fileno(self) -> int:
        return self._pipe[0]

    def receive(self) -> list[tuple[int, dict[str, Any]]]:
        return []

    def deadline_us(self) -> None:
        return None

    def prepare(self, config: dict[str, Any]) -> None:
        """Nothing to prepare."""

    def send(self, params: dict[str, Any]) -> None:
        """Lost."""

    def run(self) -> None:
        """Nothing is due."""

    def restart(self) -> None:
        """Nothing to start."""

    def close(self) -> None:
        for end in self._pipe:
            os.close(end)


class Asked(NoControl):
    """An upper tester that does what it is told; how often it was asked for a sign of life."""

    def __init__(self) -> None:
        super().__init__({})
        self.asked = 0

    def sync(self) -> bool:
        self.asked += 1
        return True

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        return Reply(method, done=True)

    def reset(self, config: dict[str, Any]) -> None:
        """Done."""


def test_only_a_device_that_was_stirred_is_waited_for() -> None:
    """A settle asks the upper tester once; nobody waits again for a device that has been quiet since."""
    agent = Asked()
    dut = PlaneDut("stub", Silence(), agent)
    dut.reset({})
    for _ in range(3):
        dut.advance(0)
    assert agent.asked == 1
    dut.request("VipQueryVi", {})
    dut.advance(0)
    dut.notify("frame", {})
    dut.advance(0)
    dut.advance(0)
    assert agent.asked == 3
    dut.close()


def test_the_time_of_a_case_begins_with_it() -> None:
    dut = PlaneDut("stub", Silence(), Asked())
    began_us = monotonic_us()
    dut.reset({})
    dut.advance(0)
    assert 0 <= dut.now_us <= monotonic_us() - began_us
    dut.close()
