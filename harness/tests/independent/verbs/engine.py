"""Decides what is done next, and what is done later."""

from __future__ import annotations

import heapq
import selectors
import time
from collections import deque
from typing import Any, Callable, Deque, List, Optional, Tuple

Step = Callable[..., None]


class RealClock:
    """The host's, which nobody moves. Others share it: agents in other processes are reached over TCP."""

    name = "real"
    #: So long does one round of a loop take at least, in microseconds.
    round_us = 0

    def now_us(self) -> int:
        """Since some time in the past."""
        return time.monotonic_ns() // 1000


class VirtualClock(RealClock):
    """The suite's, which moves it by clock.advance. It is this agent's alone: no other process is reached."""

    name = "virtual"
    round_us = 125

    def __init__(self) -> None:
        self.at_us = 0

    def now_us(self) -> int:
        """Since the last reset."""
        return self.at_us


class Engine:
    """Steps in order, timers, and sockets."""

    def __init__(self, clock: RealClock) -> None:
        self.clock = clock
        self.ready: Deque[Tuple[Step, Tuple[Any, ...]]] = deque()
        self.timers: List[Tuple[int, int, Step, Tuple[Any, ...]]] = []
        self._count = 0
        self.selector = selectors.DefaultSelector()

    def soon(self, step: Step, *args: Any) -> None:
        """After what is being done."""
        self.ready.append((step, args))

    def after(self, us: float, step: Step, *args: Any) -> None:
        """After so many microseconds; steps of one time keep their order."""
        self._count += 1
        heapq.heappush(self.timers, (self.clock.now_us() + int(us), self._count, step, args))

    def run(self) -> None:
        """Do all that is due."""
        ready, timers = self.ready, self.timers
        while True:
            while ready:
                step, args = ready.popleft()
                step(*args)
            if not timers or timers[0][0] > self.clock.now_us():
                return
            _, _, step, args = heapq.heappop(timers)
            step(*args)

    def due_us(self) -> Optional[int]:
        """When the next timer is due, by the clock."""
        return self.timers[0][0] if self.timers else None

    def watch(self, source: Any, step: Step) -> None:
        """Call the step when the source can be read."""
        self.selector.register(source, selectors.EVENT_READ, step)

    def forget(self, source: Any) -> None:
        """No more."""
        try:
            self.selector.unregister(source)
        except (KeyError, ValueError):
            pass

    def look(self, wait_us: Optional[int]) -> None:
        """Wait for a source or for the time."""
        for key, _ in self.selector.select(None if wait_us is None else wait_us / 1e6):
            key.data()
