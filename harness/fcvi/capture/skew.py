"""Finds by how much the clocks of two capture points differ, by questions and answers: no answer comes before its question."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Iterator, Optional

_SHARE = 0.1  # of the answers of a port stand before their questions: no accident
JITTER_US = 1_000_000  # queues of one adapter are not farther apart

Key = tuple[int, int, int, int, int, int]  # network, both ports, OX_ID, what tells Exchanges of one OX_ID apart, which kind


@dataclass(frozen=True)
class Entry:
    """A frame that asks or answers. place: in the file; phase: how many turns went before in its Exchange."""

    place: int
    number: int
    time_us: int
    sender: int
    key: Key
    phase: int


@dataclass(frozen=True)
class Pair:
    """The last frame of a question, and the first of its answer."""

    asked: Entry
    answered: Entry

    @property
    def took_us(self) -> int:
        """By the time stamps."""
        return self.answered.time_us - self.asked.time_us


def _skews(pairs: list[Pair]) -> Iterator[tuple[int, int, int]]:
    """Of two ports: who asks, who answers, and by how much the clock of the latter is behind."""
    took: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for pair in pairs:
        took[pair.asked.key[0], pair.asked.sender, pair.answered.sender].append(pair.took_us)
    for (network, asks, answers), times in took.items():
        early = sum(us < 0 for us in times)
        if not early or early < _SHARE * len(times):
            continue
        least = -min(times)
        back = took.get((network, answers, asks))
        if back is None:
            yield asks, answers, least + 1
            continue
        times, back = sorted(times), sorted(back)
        middle = (back[len(back) // 10] - times[len(times) // 10]) // 2
        yield asks, answers, max(least + 1, min(middle, back[0])) if back[0] > least else max(least + 1, middle)


def lagging(pairs: list[Pair], ends: Optional[dict[int, int]] = None) -> dict[int, int]:
    """The ports whose clocks are behind those of the ports that ask them, which ends gets, and by how much."""
    behind: dict[int, int] = {}
    for asks, answers, us in _skews(pairs):
        if answers not in behind and asks not in behind:
            behind[answers] = us
            if ends is not None:
                ends[answers] = asks
    return behind


def put_right(behind: dict[int, int], ends: dict[int, int], entries: list[Entry]) -> dict[int, int]:
    """What is added to the clock of each port. Of two clocks that of the further ports stays: where one port of a pair speaks
    beside them and the other beyond them, it is the other that is put right, so that what goes on goes on behind both."""
    spans: dict[int, tuple[int, int]] = {}
    for e in entries:
        first, last = spans.get(e.sender, (e.time_us, e.time_us))
        spans[e.sender] = (min(first, e.time_us), max(last, e.time_us))
    others = [span for port, span in spans.items() if port not in behind and port not in ends.values()]
    if not others:
        return behind
    begin, end = min(first for first, _ in others), max(last for _, last in others)

    def is_beside(port: int) -> bool:
        return spans[port][0] <= end + JITTER_US and spans[port][1] >= begin - JITTER_US

    shifts: dict[int, int] = {}
    for asks in set(ends.values()):
        asked = {port: us for port, us in behind.items() if ends[port] == asks}
        if asks not in behind and not is_beside(asks) and all(is_beside(port) for port in asked):
            shifts[asks] = -max(asked.values())
        else:
            shifts.update(asked)
    return shifts


__all__ = ["JITTER_US", "Entry", "Key", "Pair", "lagging", "put_right"]
