"""The two clocks that a provider may have, in microseconds."""

from __future__ import annotations

import time


class RealClock:
    """The host's; nobody moves it."""

    name = "real"

    def now_us(self) -> int:
        """Since some time in the past."""
        return time.monotonic_ns() // 1000


class VirtualClock(RealClock):
    """Moved by the suite's ``clock.advance`` alone; 0 at a reset."""

    name = "virtual"

    def __init__(self) -> None:
        self.at_us = 0

    def now_us(self) -> int:
        """Since the last reset."""
        return self.at_us
