"""Whether the suite's own host had too much to do while a case ran in real time."""

from __future__ import annotations

import os
import re
import time
from typing import Optional

_PRESSURE = "/proc/pressure/cpu"  # how long some task was kept waiting for a processor
_BUSY = 0.1  # of the time, above which the host had too much to do
_TOTAL = re.compile(rb"^some .*\btotal=(\d+)", re.MULTILINE)


def _waited_us() -> Optional[int]:
    """Microseconds since the host started in which some task waited; None when the kernel does not count them."""
    try:
        with open(_PRESSURE, "rb") as source:
            found = _TOTAL.search(source.read(4096))
    except OSError:
        return None
    return int(found[1]) if found else None


class HostWatch:
    """From its making on."""

    def __init__(self) -> None:
        self._since, self._waited = time.monotonic(), _waited_us()

    def busy(self) -> bool:
        """Whether tasks of this host, a device of software among them perhaps, had to wait for a processor."""
        waited = _waited_us()
        if waited is None or self._waited is None:
            return os.getloadavg()[0] > (os.cpu_count() or 1)
        return waited - self._waited > _BUSY * 1_000_000 * (time.monotonic() - self._since)
