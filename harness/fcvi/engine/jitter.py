"""Measures how late this host wakes up: what real-time bounds are worth here."""

from __future__ import annotations

import select
import time

_WAITS = 60
_WAIT_US = 1_000


def measure() -> int:
    """The longest of some short waits, in microseconds beyond what was asked for; takes about 60 ms."""
    worst = 0
    for _ in range(_WAITS):
        before = time.monotonic_ns()
        select.select([], [], [], _WAIT_US / 1_000_000)
        worst = max(worst, (time.monotonic_ns() - before) // 1000 - _WAIT_US)
    return worst
