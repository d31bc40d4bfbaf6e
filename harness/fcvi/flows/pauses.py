"""Say whether a pause of one Connection is one of the whole capture: then the clock may have been set, as no frame tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from fcvi.capture.limits import Limits
from fcvi.capture.reader import CaptureError, Reader, Record

if TYPE_CHECKING:
    from .table import Table

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
    return _pair(data) == set(ports)


def _pair(data: bytes) -> set[int]:
    return {int.from_bytes(data[1:4], "big"), int.from_bytes(data[5:8], "big")}


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


def waited_us(table: Table, since_us: int, ports: tuple[int, int], limit_us: int) -> int:
    """How long the capture went on behind a time; a standstill of all ports in which its clock may have been set is not counted."""
    waited = _ends_us(table, since_us, ports) - since_us
    if waited <= limit_us:
        return waited
    for file in table.files:
        if file.is_file and file.clock[2] > limit_us:
            waited -= _standstill_us(table, file.path, since_us, ports)
    return waited


def _ends_us(table: Table, since_us: int, ports: tuple[int, int]) -> int:
    """When the capture of two ports ended: where files are of one time, each a tap, that of the only one that has them."""
    spans = [file.span for file in table.files]
    whole = [span for span in spans if span is not None]
    if len(whole) < 2 or all(a[1] <= b[0] for a, b in zip(whole, whole[1:])):  # one after the other, as of a ring
        return table.last_us
    paths = {table.scan.place(number)[0] for flow in table.flows.values() if set(flow.ids) & set(ports)
             for number in (flow.first, flow.last) if number}  # fmt: skip
    ends = [span[1] for file, span in zip(table.files, spans) if span is not None and file.path in paths]
    return max(ends, default=table.last_us) if max(ends, default=0) >= since_us else table.last_us


def _standstill_us(table: Table, path: str, since_us: int, ports: tuple[int, int]) -> int:
    """The one long pause of a file, which lies behind a time, if other ports are heard before and behind it and never else pause
    so long."""
    if path not in table.times:
        table.times[path] = _times(path, table.limits)
    times = table.times[path]
    gaps = sorted((b[0] - a[0], place) for place, (a, b) in enumerate(zip(times, times[1:])))
    if len(gaps) < 2 or gaps[-1][0] <= _TIMES * gaps[-2][0]:
        return 0
    us, place = gaps[-1]
    others = [sum(pair is not None and pair != set(ports) for _, pair in part) for part in (times[: place + 1], times[place + 1 :])]
    return us if times[place + 1][0] > since_us and min(others) > 0 and sum(others) >= _DENSE else 0


def _times(path: str, limits: Limits) -> list[tuple[int, Optional[set[int]]]]:
    """When each record of a file came, and between which ports, None where nobody knows."""
    found: list[tuple[int, Optional[set[int]]]] = []
    try:
        with Reader(path, limits) as reader:
            for count, record in enumerate(reader):
                if count >= _MOST:
                    return []
                is_known = record.kind in ("frame", "cut") and len(record.data) >= 8
                found.append((record.time_us, _pair(record.data) if is_known else None))
    except CaptureError:
        pass  # the first pass told of it
    return sorted(found, key=lambda entry: entry[0])
