"""Timers over a clock that somebody else moves."""

from __future__ import annotations

import heapq
from typing import Callable, List, Optional, Tuple


class Timer:
    """A pending call; cancel() takes it back."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act: Optional[Callable[[], None]] = act

    def cancel(self) -> None:
        """The timer will not fire any more."""
        self.act = None


class Clock:
    """Microseconds since the last reset, and what is due when."""

    def __init__(self) -> None:
        self.now = 0
        self._heap: List[Tuple[int, int, Timer]] = []
        self._count = 0

    def after(self, us: int, act: Callable[[], None]) -> Timer:
        """Call `act` in `us` microseconds."""
        timer = Timer(act)
        self._count += 1
        heapq.heappush(self._heap, (self.now + us, self._count, timer))
        return timer

    def next_us(self) -> Optional[int]:
        """Time until the next timer, None when none runs."""
        while self._heap and self._heap[0][2].act is None:
            heapq.heappop(self._heap)
        return max(0, self._heap[0][0] - self.now) if self._heap else None

    def run_until(self, end: int, settle: Callable[[], None]) -> None:
        """Fire what is due up to `end`, in order; `settle` is called after each."""
        while True:
            wait = self.next_us()
            if wait is None or self.now + wait > end:
                break
            due, _, timer = heapq.heappop(self._heap)
            self.now = max(self.now, due)
            act, timer.act = timer.act, None
            if act:
                act()
            settle()
        self.now = max(self.now, end)
