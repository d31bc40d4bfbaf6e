"""Say whether a pause of one Connection is one of the whole capture: then the clock may have been set, as no frame tells."""

from __future__ import annotations

from fcvi.capture.limits import Limits
from fcvi.capture.reader import CaptureError, Reader, Record

_MOST = 200_000  # records that are looked at
_DENSE = 20  # frames of other ports at least whose pauses are known
_SHARE = 0.9  # of a pause: what passed just before or behind the rest divides nothing
_TIMES = 4  # as long as any other pause of the capture


class Pause:
    """What else a capture has. passed: records within the pause divide it; others: frames of other ports; longest_us: the next
    longest pause."""

    def __init__(self, passed: bool, others: int, longest_us: int) -> None:
        self.passed, self.others, self.longest_us = passed, others, longest_us

    def is_of_all(self, us: int) -> bool:
        """Whether ports that never pause stopped at once."""
        return not self.passed and self.others >= _DENSE and us > _TIMES * self.longest_us


def _is_of(record: Record, ports: tuple[int, int]) -> bool:
    data = record.data
    if record.kind not in ("frame", "cut") or len(data) < 8:
        return True  # nobody knows whose it is
    return {int.from_bytes(data[1:4], "big"), int.from_bytes(data[5:8], "big")} == set(ports)


def pause(path: str, number: int, us: int, ports: tuple[int, int], limits: Limits) -> Pause:
    """What passed in the time before a record of a file that can be read again."""
    times: list[tuple[int, int]] = []
    others = 0
    try:
        with Reader(path, limits) as reader:
            for count, record in enumerate(reader):
                if count >= _MOST:
                    break
                times.append((record.time_us, record.number))
                others += not _is_of(record, ports)
    except CaptureError:
        pass  # the first pass told of it
    end = next((time_us for time_us, n in times if n == number), None)
    if end is None:
        return Pause(True, 0, 0)
    ordered = sorted(time_us for time_us, _ in times)
    inside = [end - us, *(time_us for time_us in ordered if end - us < time_us < end), end]
    is_whole = max(b - a for a, b in zip(inside, inside[1:])) > us * _SHARE
    gaps = sorted(b - a for a, b in zip(ordered, ordered[1:]))
    return Pause(not is_whole, others, gaps[-2] if len(gaps) > 1 else 0)
