"""Say in what order the frames of a capture went, where its file or its time stamps tell another one.

A question comes before its answer. Where the file has many answers first and the time stamps do not, its records are out of
order: several interfaces wrote in bursts. Where the time stamps of one sender have them first, the clocks of two capture points
differ. Where time leaps while an Exchange goes on that no port would have waited for, the clock was set.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Optional

from fcvi.capture.limits import Limits
from fcvi.capture.reader import CaptureError, Reader, Record
from fcvi.capture.scan import ANYBODY, Order, Shift
from fcvi.capture.skew import JITTER_US, Entry, Key, Pair, lagging, put_right
from fcvi.capture.units import duration

from .names import FC_VI

_MOST = 200_000  # records that are looked at
_AGAIN_US = 200_000  # a frame that comes again byte by byte was captured twice, and tells nothing of the order


@dataclass
class Clocks:
    """How to read a file, and what there is to say of that, a line each."""

    order: Order = field(default_factory=lambda: Order(renumber=True))
    said: list[str] = field(default_factory=list)
    jumps: list[tuple[int, int]] = field(default_factory=list)  # number of a record, and by how much its time differs from the last

    def jump(self, before: Entry, after: Entry) -> int:
        """The record where time jumps between two frames, which need not be the second of them."""
        inside = [(abs(us), number) for number, us in self.jumps if before.number < number <= after.number]
        return max(inside, default=(0, after.number))[1]


# ---- questions and answers ----

_TURNS = {
    0x00: (0, 0), 0x01: (0, 0), 0x02: (0, 0), 0x08: (0, 1), 0x09: (0, 1), 0x0A: (0, 1), 0x10: (1, 0), 0x18: (1, 1), 0x19: (1, 2),
    0x1A: (1, 3), 0x12: (2, 0), 0x1B: (2, 1),
}  # fmt: skip
_MESSAGES, _ELS, _BLS = 0, 3, 4
_F_PORT = 0xFFFFFE


def _entry(place: int, record: Record) -> Optional[Entry]:
    data = record.data
    r_ctl = data[0]
    kind = phase = unique = -1
    if data[8] == FC_VI and r_ctl < 0x40 and len(data) >= 40 and (turn := _TURNS.get(data[28])) is not None:
        is_short = data[13] & 3 == 1  # of Rev 1.0, but for two Responses: without FCVI_CONNECTION_ID, and with another 1Ah
        kind, phase = (2, 1) if is_short and data[28] == 0x1A else turn
        unique = int.from_bytes(data[32:36] if kind == _MESSAGES else b"" if is_short else data[52:56], "big")
    elif r_ctl in (0x22, 0x23) and data[8] == 1:
        kind, phase, unique = _ELS, r_ctl - 0x22, 0
    elif r_ctl in (0xC2, 0xC3) and data[8] < 2:  # P_RJT and F_RJT to a link service
        kind, phase, unique = _ELS, 1, 0
    elif r_ctl in (0x81, 0x84, 0x85):
        kind, phase, unique = _BLS, int(r_ctl != 0x81), 0
    if kind < 0:
        return None
    sender, target = int.from_bytes(data[5:8], "big"), int.from_bytes(data[1:4], "big")
    ends = (sender, target) if (phase & 1) == 0 else (target, sender)
    if kind == _ELS and ends[1] == _F_PORT:
        ends = (0, _F_PORT)  # the answer to a FLOGI goes to the N_Port_ID that it gives
    if kind == _BLS:
        ends = (min(ends), max(ends))
    key = (record.network, *ends, int.from_bytes(data[16:18], "big"), unique if kind < _ELS else 0, kind)
    return Entry(place, record.number, record.time_us, sender, key, phase)


def _pairs(entries: list[Entry]) -> list[Pair]:
    """Each answer with the question of its Exchange that is nearest to it."""
    turns: dict[tuple[Key, int], list[Entry]] = defaultdict(list)
    for entry in entries:
        turns[entry.key, entry.phase].append(entry)
    found = []
    for (key, phase), answers in turns.items():
        asked = turns.get((key, phase - 1), []) if phase else []
        seen: set[int] = set()
        for answer in answers:
            question = min(asked, key=lambda e: abs(e.time_us - answer.time_us), default=None) if len(asked) < 64 else None
            if question is not None and question.sender != answer.sender and question.place not in seen:
                seen.add(question.place)
                found.append(Pair(question, answer))
    return found


# ---- the order of the file ----


def _drops(entries: list[Entry]) -> list[tuple[Entry, Entry, int]]:
    """Where time goes back: before and behind that, and by how much."""
    return [(a, b, a.time_us - b.time_us) for a, b in zip(entries, entries[1:]) if b.time_us < a.time_us]


_ALONE = 8  # times: a step of the clock beside what queues of one adapter do


def _step_back(entries: list[Entry]) -> Optional[tuple[Entry, Entry, int]]:
    """The one place where time goes back, or goes back by far more than elsewhere."""
    drops = sorted(_drops(entries), key=lambda drop: -drop[2])
    return drops[0] if drops and (len(drops) == 1 or drops[0][2] > _ALONE * drops[1][2]) else None


def _is_set_back(entries: list[Entry]) -> bool:
    """Whether a port speaks before and behind a step back: bursts of two interfaces are of two ports. Records that fill a gap of
    those before them were written late.
    """
    step = _step_back(entries)
    if step is None:
        return False
    before, after, _ = step
    late = [e for e in entries if e.place >= after.place and e.time_us < before.time_us]
    newer = [e for e in entries if e.place <= before.place and e.time_us > after.time_us]
    fills_gap = min(e.time_us for e in newer) > max(e.time_us for e in late)
    return not fills_gap and bool({e.sender for e in late} & {e.sender for e in newer})


def _by_time(entries: list[Entry], pairs: list[Pair], lag_us: int) -> bool:
    """Whether the time stamps tell the order, and not the file."""
    in_file = sum(pair.answered.place < pair.asked.place for pair in pairs)
    behind = lagging(pairs)
    in_time = min(sum(p.took_us < 0 for p in pairs),
                  sum(p.took_us + behind.get(p.answered.sender, 0) - behind.get(p.asked.sender, 0) < 0 for p in pairs))  # fmt: skip
    if in_file != in_time:
        return in_time < in_file
    return not _is_set_back(entries) and (lag_us <= JITTER_US or sum(us > JITTER_US for _, _, us in _drops(entries)) > 1)


def _ordered(clocks: Clocks, entries: list[Entry], pairs: list[Pair], late: int, lag_us: int) -> list[Entry]:
    if not late:
        return entries
    if _by_time(entries, pairs, lag_us):
        clocks.order.window_us = lag_us + 1
        clocks.said.append(
            f"The file is not in the order of its time stamps: {late} records come later than newer ones, by up to "
            f"{duration(lag_us)}. They are taken in the order of their times.")  # fmt: skip
        return sorted(entries, key=lambda e: (e.time_us, e.place))
    step = _step_back(entries)
    for before, after, us in _drops(entries):
        if us > JITTER_US or (before, after, us) == step:
            number = clocks.jump(before, after)
            clocks.order.shifts.append(Shift(ANYBODY, number, us + 1))
            clocks.said.append(f"The clock of the capture goes back by {duration(us)} before frame {number}, while frames go on in "
                               "their order: times behind it are read as if it had gone on.")  # fmt: skip
    return _shifted(clocks, entries)


def _shifted(clocks: Clocks, entries: list[Entry]) -> list[Entry]:
    if not clocks.order.shifts:
        return entries
    found = []
    for e in entries:
        us = sum(s.us for s in clocks.order.shifts if e.number >= s.first and s.s_id in (ANYBODY, e.sender))
        found.append(Entry(e.place, e.number, e.time_us + us, e.sender, e.key, e.phase))
    return found


def _leaps(clocks: Clocks, entries: list[Entry], pairs: list[Pair], pause_us: int, wait_us: int) -> list[Entry]:
    """Time goes on by more than any port waits, and an Exchange goes on as if it had not."""
    if pause_us <= wait_us:
        return entries
    for before, after in zip(entries, entries[1:]):
        us = after.time_us - before.time_us
        if us <= wait_us:
            continue
        over = [p for p in pairs if p.asked.place <= before.place and p.answered.place >= after.place and p.took_us >= us]
        goes_on = any(e.key == before.key and e.phase == before.phase and e.sender == before.sender for e in (after,))
        if over or goes_on:
            number = clocks.jump(before, after)
            clocks.order.shifts.append(Shift(ANYBODY, number, 1 - us))
            clocks.said.append(
                f"The clock of the capture goes on by {duration(us)} before frame {number} while an Exchange goes on that no "
                "port would have waited for: times behind it are read as if it had not.")  # fmt: skip
    return _shifted(clocks, entries)


# ---- two clocks ----


def _two_taps(clocks: Clocks, pairs: list[Pair], entries: list[Entry]) -> None:
    ends: dict[int, int] = {}
    behind = lagging(pairs, ends)
    shifts = put_right(behind, ends, entries)
    for port, us in behind.items():
        early = sum(p.took_us < 0 and (p.asked.sender, p.answered.sender) == (ends[port], port) for p in pairs)
        many = f"{early} answers of {port:06X} stand" if early > 1 else f"1 answer of {port:06X} stands"
        odd = port if port in shifts else ends[port]
        clocks.said.append(
            f"{many} before the questions of {ends[port]:06X}: the two directions have two clocks, about {duration(us)} apart. "
            f"What {odd:06X} sends is read as that much {'later' if odd == port else 'earlier'}.")  # fmt: skip
    for port, us in shifts.items():
        clocks.order.shifts.append(Shift(port, 0, us))
    clocks.order.window_us += max((abs(us) + 1 for us in shifts.values()), default=0)


def look(path: str, limits: Limits, clock: tuple[int, int, int], wait_us: int) -> Clocks:
    """Look at a file that can be read again. clock: how many records are late, by how much at most, the longest pause; wait_us:
    no port waits longer. Nothing is said where nothing is wrong."""
    late, lag_us, pause_us = clock
    clocks, entries, latest = Clocks(), [], 0
    seen: dict[int, int] = {}  # when frames came, by a hash of their bytes
    try:
        with Reader(path, limits) as reader:
            for place, record in enumerate(reader):
                if place and (record.time_us < latest or record.time_us > latest + JITTER_US):
                    clocks.jumps.append((record.number, record.time_us - latest))
                latest = record.time_us
                if record.kind in ("frame", "cut") and len(record.data) >= 24 and (entry := _entry(place, record)) is not None:
                    which = hash((record.network, bytes(record.data)))
                    if abs(entry.time_us - seen.get(which, entry.time_us - _AGAIN_US - 1)) > _AGAIN_US:
                        entries.append(entry)
                        seen[which] = entry.time_us
                if place >= _MOST:
                    break
    except CaptureError:
        pass  # the first pass told of it
    pairs = _pairs(entries)
    entries = _ordered(clocks, entries, pairs, late, lag_us)
    if clocks.order.shifts:
        pairs = _pairs(entries)
    if not clocks.order.shifts:
        _two_taps(clocks, pairs, entries)  # a clock that was set forward puts no answer before its question
    if not clocks.order.shifts:
        _leaps(clocks, entries, pairs, pause_us, wait_us)
    return clocks
