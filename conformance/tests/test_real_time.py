"""In real time a slow device loses nothing, a faulty one gains nothing, and a quick one costs little."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from fcvi.dut.ref import RefDut
from fcvi.engine import runner
from fcvi.engine.attachment import DutError
from fcvi.engine.host import HostWatch
from fcvi.engine.pixit import AGAIN, SHORT
from fcvi.engine.results import Result, Verdict

from .as_real import RealDut, run_all, worker
from .faulty import Fault, FaultyDut
from .odd_latency import MS, Latency, LatentDut
from .test_faults import FAULTS
from .variants import CASES

_BY_ID = {c.variant_id(v): (c, v) for c, v in CASES}
_SHARE = 30
#: A host interface with as much latency on each frame, each return and each notification. The first is as long as the timers are
#: short, the second beyond E_D_TOV, the others differ from frame to frame.
_SLOW = [
    Latency("20 ms", control_us=(20 * MS, 20 * MS), wire_us=(20 * MS, 20 * MS)),
    Latency("200 ms", control_us=(200 * MS, 200 * MS), wire_us=(200 * MS, 200 * MS)),
    Latency("20 to 60 ms, both ways", control_us=(20 * MS, 60 * MS), wire_us=(20 * MS, 60 * MS), heard_us=(20 * MS, 60 * MS)),
]
#: A book of 2,530 variants waits for so long at most; what the suite and the device compute comes to this.
_MOST_S = 180


@pytest.fixture(autouse=True)
def idle_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostWatch, "busy", lambda self: False)


def _wrong(results: list[Result]) -> list[tuple[str, str]]:
    return [(r.id, r.reason) for r in results if r.verdict in (Verdict.FAIL, Verdict.ERROR)]


@pytest.mark.parametrize("share", [_SHARE, pytest.param(5, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("slow", _SLOW, ids=lambda slow: slow.name)
def test_a_slow_device_loses_no_verdict(slow: Latency, share: int) -> None:
    results = run_all(RealDut(LatentDut(RefDut(), slow)), CASES[_SLOW.index(slow) :: share])
    assert len(results) > 2000 // share and _wrong(results) == []
    assert sum(r.verdict is Verdict.INCONCLUSIVE for r in results) <= max(1, len(results) // 100)
    assert any(r.pace == AGAIN for r in results)


def test_a_device_that_needs_more_time_often_is_given_it_at_once() -> None:
    results = run_all(RealDut(LatentDut(RefDut(), _SLOW[1])), CASES[::_SHARE])
    paces = [r.pace for r in results]
    assert paces[0] in (SHORT, AGAIN) and SHORT not in paces[-10:]


def test_a_quick_device_waits_for_little() -> None:
    dut = RealDut(RefDut())
    results = run_all(dut, CASES[::_SHARE])
    assert {(r.verdict, r.pace) for r in results} == {(Verdict.PASS, SHORT)}
    assert sum(dut.waited_us.values()) * _SHARE < _MOST_S * 1_000_000, dut.waited_us


def _found(names: list[str]) -> Counter[bool]:
    """Whether the faulty devices of these names fail, by the requirement that they break, in real time."""
    found: Counter[bool] = Counter()
    for fault in (fault for fault in FAULTS if fault.name in names):
        result = worker(RealDut(FaultyDut(fault))).run(*_BY_ID[fault.case])
        found[fault.requirement in result.broken] += 1
    return found


def test_a_fault_of_a_timer_is_found_with_short_timers_too() -> None:
    names = ["waits-for-ever", "lower-does-not-recover", "no-loopback"]
    assert _found(names) == {True: len(names)}


@pytest.mark.nightly
def test_nearly_all_faults_are_found_in_real_time() -> None:
    """The others show in a time that only a virtual clock tells so finely, or on a device that tells its next timer."""
    found = _found([fault.name for fault in FAULTS])
    assert found[False] <= 14, found


def test_a_lost_answer_is_not_waited_for_again_for_ever() -> None:
    """After so many that more time did not help, nothing is tried again, and the timers are the run's."""
    fault = next(f for f in FAULTS if f.name == "lower-does-not-recover")
    of = worker(RealDut(FaultyDut(fault)))
    results = [of.run(*_BY_ID[fault.case]) for _ in range(runner._MOST_IN_VAIN + 2)]
    assert {r.verdict for r in results} == {Verdict.FAIL}
    assert (results[0].slower, results[0].pace) == (4, AGAIN) and (results[-1].slower, results[-1].pace) == (1, "")


class _OnceFaulty(FaultyDut):
    """Breaks its rule in its first case alone, as a device that loses a frame now and then."""

    cases = 0

    def reset(self, config: dict[str, Any]) -> None:
        self.cases += 1
        if self.cases > 1:
            self.fault = Fault("mended", self.fault.case, self.fault.requirement)
        super().reset(config)


def test_what_failed_once_and_passes_with_the_same_timers_is_undecided() -> None:
    """Neither a slow interface nor a lost frame is ruled out: a pass would hide the second, a failure accuse the first."""
    fault = next(f for f in FAULTS if f.name == "lower-does-not-recover")
    result = worker(RealDut(_OnceFaulty(fault))).run(*_BY_ID[fault.case])
    assert (result.verdict, result.broken, result.unsteady, result.pace) == (Verdict.INCONCLUSIVE, [], True, SHORT)
    assert "set --r-a-tov" in result.reason and fault.requirement in result.reason


class _DiesOnReplay(_OnceFaulty):
    """Its third case, the replay with the first timers, ends the device; so does each after it until it is started again."""

    restarts = 0

    def reset(self, config: dict[str, Any]) -> None:
        if self.cases >= 2 and not self.restarts:
            raise DutError("the device is gone")
        super().reset(config)

    def restart(self) -> None:
        self.restarts += 1
        super().restart()


def test_a_replay_that_ends_the_device_costs_no_other_case() -> None:
    fault = next(f for f in FAULTS if f.name == "lower-does-not-recover")
    inner = _DiesOnReplay(fault)
    of = worker(RealDut(inner))
    results = [of.run(*_BY_ID[fault.case]) for _ in range(2)]
    assert [r.verdict for r in results] == [Verdict.PASS, Verdict.PASS], [r.reason for r in results]
    assert inner.restarts == 1
