"""Finds what the suite itself took of the time that a timer of the device ran.

A timer of the device starts with something that one side said, and ends with what the suite has to do next. Where it fired while
the suite was busy with itself, or in a wait that was to end before, what the device did from then on need not be its fault. All
times are those of the evidence, so that a judge who has only that finds the same. In virtual time the suite takes none but for
its calls that do not block: while one of them is under way it does nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Hashable, Optional

from .attachment import Reply


@dataclass(frozen=True)
class Timer:
    """One that runs at the device. what: what it waits for, in words."""

    since_us: int
    length_us: int
    what: str

    @property
    def fires_us(self) -> int:
        """When it fires at the latest."""
        return self.since_us + self.length_us


@dataclass(frozen=True)
class Wait:
    """The case let time pass for the device: from when, and until when it would have done so at most."""

    since_us: int
    deadline_us: int


class OwnPart:
    """Of one case. real: the clock is."""

    def __init__(self, early_us: int, late_us: int, real: bool) -> None:
        self.real = real
        self._early_us, self._late_us = early_us, late_us
        self._called: list[Wait] = []
        self._timers: dict[Hashable, Timer] = {}
        self._waits: list[tuple[Wait, Optional[int]]] = []  # and when each was over; None: not yet
        self._asked: list[tuple[Reply, Timer]] = []
        self._taken_in_us = 0  # the longest time for which something of the device may have waited to be taken in
        #: From when on the suite's own part may be seen in what the device does, and how, in words; None: nowhere.
        self.since_us: Optional[int] = None
        self.words = ""

    def runs(self, key: Hashable, since_us: int, length_us: int, what: str) -> None:
        """A timer of the device has started, or starts anew."""
        self.ends(key, since_us)
        self._timers[key] = Timer(since_us, length_us, what)

    def ends(self, key: Hashable, now_us: int) -> None:
        """What the timer waited for has been done."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            self._judge(timer, now_us)

    def waits(self, since_us: int, deadline_us: int) -> None:
        """The case begins to wait for the device."""
        self._waits.append((Wait(since_us, deadline_us), None))

    def waited(self, now_us: int) -> None:
        """The wait is over."""
        wait, _ = self._waits[-1]
        self._waits[-1] = wait, now_us

    def called(self, since_us: int, now_us: int) -> None:
        """The case did nothing but wait for a call that does not block, until now."""
        self._called.append(Wait(since_us, now_us))

    @property
    def has_called(self) -> bool:
        """Whether a call that does not block took time."""
        return bool(self._called)

    def stood_still(self, us: int, now_us: int) -> None:
        """The suite came so late to the end of a step."""
        self._doubt(now_us - us, f"the suite's host stood still for {_ms(us)}")

    def asked(self, reply: Reply, now_us: int, timeout_us: int, method: str) -> None:
        """A call with a Timeout was made: until it is answered, that timer runs."""
        self._asked.append((reply, Timer(now_us, timeout_us, f"what ends {method}")))

    def awaited(self, reply: Reply) -> None:
        """The case did nothing else until the call was answered: no timer of it ran while the suite owed the device something."""
        self._asked = [(asked, timer) for asked, timer in self._asked if asked is not reply]

    def taken_in(self, us: int) -> None:
        """So long something of the device may have waited before the suite looked."""
        self._taken_in_us = max(self._taken_in_us, us)

    def timed(self, jitter_us: int, beside_us: int, now_us: int) -> None:
        """Something came so far beside its time, on a host that wakes up so late."""
        late = max(jitter_us if jitter_us > min(self._early_us, self._late_us) else 0, self._taken_in_us)
        if beside_us <= late:
            self._doubt(now_us, f"a bound finer than the clock: the suite looks up to {_ms(late)} late")

    def conclude(self, now_us: int) -> None:
        """The case is over."""
        for key in list(self._timers):
            self.ends(key, now_us)
        for reply, timer in self._asked:
            self._judge(timer, reply.time_us if reply.done else now_us)

    def begun(self, since_us: Optional[int]) -> bool:
        """Whether the suite's own part may be seen in what was found at this time."""
        return self.since_us is not None and (since_us is None or since_us >= self.since_us)

    def _judge(self, timer: Timer, now_us: int) -> None:
        fires = timer.fires_us - self._early_us
        if now_us < fires:
            return
        took = f"{_ms(now_us - timer.since_us)}, while a timer of {_ms(timer.length_us)} ran at the device"
        if any(call.since_us < fires <= call.deadline_us for call in self._called):
            self._doubt(fires, f"the control plane held the suite up: {timer.what} took {took}")
        elif self.real:
            self._judge_waits(timer, fires, took)

    def _judge_waits(self, timer: Timer, fires: int, took: str) -> None:
        wait = next((w for w, over in reversed(self._waits) if w.since_us <= fires and (over is None or fires <= over)), None)
        if wait is None or wait.deadline_us < fires:
            self._doubt(fires, f"the suite was busy with itself: {timer.what} took {took}")
        elif wait.deadline_us - self._late_us < fires - self._early_us:
            planned = _ms(wait.deadline_us - wait.since_us)
            self._doubt(fires, f"the suite waits for {planned} here on purpose, too long for this timer: {timer.what} took {took}")

    def _doubt(self, since_us: int, words: str) -> None:
        if self.since_us is None or since_us < self.since_us:
            self.since_us, self.words = since_us, words


def _ms(us: int) -> str:
    return f"{us / 1000:.0f} ms"
