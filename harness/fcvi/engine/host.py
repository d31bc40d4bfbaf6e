"""Finds out whether the suite's own host had too much to do while a case ran in real time."""

from __future__ import annotations

import os
import re
import time
from typing import Optional

_PRESSURE = "/proc/pressure/cpu"  # how long some task was kept waiting for a processor
_STAT = "/proc/stat"  # how long the processors themselves were kept from a virtual machine
_BUSY = 0.1  # of the time, above which the host had too much to do
_TOTAL = re.compile(rb"^some .*\btotal=(\d+)", re.MULTILINE)
_STOLEN = re.compile(rb"^cpu (?: *\d+){7} (\d+)")  # in ticks, over all processors


def _counted_us(name: str, pattern: re.Pattern[bytes], unit_us: float) -> Optional[float]:
    """Microseconds since the host started, by what a file counts; None when the kernel does not count them."""
    try:
        with open(name, "rb") as source:
            found = pattern.search(source.read(4096))
    except OSError:
        return None
    return int(found[1]) * unit_us if found else None


def _waited_us() -> Optional[float]:
    """In which some task waited for a processor."""
    return _counted_us(_PRESSURE, _TOTAL, 1)


def _stolen_us() -> float:
    """In which a virtual machine had work, and its host let it have no processor."""
    return _counted_us(_STAT, _STOLEN, 1_000_000 / os.sysconf("SC_CLK_TCK")) or 0


class HostWatch:
    """From its making on."""

    def __init__(self) -> None:
        self._since, self._waited, self._stolen = time.monotonic(), _waited_us(), _stolen_us()

    def busy(self) -> bool:
        """Whether tasks of this host, a device of software among them perhaps, had to wait for a processor."""
        most = _BUSY * 1_000_000 * (time.monotonic() - self._since)
        if _stolen_us() - self._stolen > most:
            return True
        waited = _waited_us()
        if waited is None or self._waited is None:
            return os.getloadavg()[0] > (os.cpu_count() or 1)
        return waited - self._waited > most
