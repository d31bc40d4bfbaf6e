"""What is done next, and what is done later."""

from __future__ import annotations

import heapq
import selectors
import time
from collections import deque
from typing import Any, Callable, Deque, List, Optional, Tuple

Step = Callable[..., None]


class Engine:
    """Steps in order, timers, and sockets."""

    def __init__(self) -> None:
        self.ready: Deque[Tuple[Step, Tuple[Any, ...]]] = deque()
        self.timers: List[Tuple[float, int, Step, Tuple[Any, ...]]] = []
        self._count = 0
        self.selector = selectors.DefaultSelector()

    def soon(self, step: Step, *args: Any) -> None:
        """After what is being done."""
        self.ready.append((step, args))

    def after(self, us: float, step: Step, *args: Any) -> None:
        """After so many microseconds; steps of one time keep their order."""
        self._count += 1
        heapq.heappush(self.timers, (time.monotonic() + us / 1e6, self._count, step, args))

    def run(self) -> None:
        """Do all that is due."""
        ready, timers = self.ready, self.timers
        while True:
            while ready:
                step, args = ready.popleft()
                step(*args)
            if not timers or timers[0][0] > time.monotonic():
                return
            _, _, step, args = heapq.heappop(timers)
            step(*args)

    def wait(self) -> Optional[float]:
        """Seconds until the next timer."""
        return max(0.0, self.timers[0][0] - time.monotonic()) if self.timers else None

    def watch(self, source: Any, step: Step) -> None:
        """Call the step when the source can be read."""
        self.selector.register(source, selectors.EVENT_READ, step)

    def forget(self, source: Any) -> None:
        """No more."""
        try:
            self.selector.unregister(source)
        except (KeyError, ValueError):
            pass

    def look(self, wait: Optional[float]) -> None:
        """Wait for a source or for the time."""
        for key, _ in self.selector.select(wait):
            key.data()
