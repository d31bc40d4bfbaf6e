"""Times and latencies as places in a drawing. Places are percentages, so that text keeps its size at every width."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Sequence

_TICKS = 4
_LOGARITHMIC = 50  # times the shortest: then a step upwards is a factor


def duration(us: float) -> str:
    """A time with three digits and a unit: 850 us, 1.25 ms, 10.0 s."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if abs(us) >= size:
            value = us / size
            return f"{value:.{max(0, 2 - int(math.log10(abs(value))))}f} {unit}"
    return f"{us:.0f} us"


@dataclass(frozen=True)
class Tick:
    """A label of an axis. anchor: how it stands to its place."""

    at: str
    label: str
    anchor: str = "middle"


class Scale:
    """Time from the left to the right. Seconds."""

    def __init__(self, begin: float, end: float) -> None:
        self.begin, self.span = begin, max(end - begin, 1e-6)

    def percent(self, seconds: float) -> float:
        """Where a time is."""
        return min(100.0, max(0.0, (seconds - self.begin) / self.span * 100))

    def ticks(self) -> list[Tick]:
        """Labels, from the begin on."""
        parts = [i / _TICKS for i in range(_TICKS + 1)]
        anchors = ["start", *["middle"] * (_TICKS - 1), "end"]
        return [Tick(f"{p * 100:.0f}%", duration(p * self.span * 1e6) if p else "0", a) for p, a in zip(parts, anchors)]


@dataclass(frozen=True)
class Dot:
    """One latency. side: whose request it was; to: where the line to the next one ends, empty at the last."""

    x: str
    y: str
    side: int
    words: str
    to: tuple[str, str] | tuple[()] = ()


@dataclass(frozen=True)
class Plot:
    """Latencies over the life of a Connection. ticks: of time; levels: of latency; marks: kind and place."""

    dots: list[Dot]
    ticks: list[Tick]
    levels: list[Tick]
    marks: list[tuple[str, str]]
    is_logarithmic: bool


def of_latencies(
    samples: Sequence[Sequence[tuple[int, int]]], begin: float, end: float, marks: Sequence[tuple[str, float]]
) -> Plot:  # fmt: skip
    """samples: of each side, time and latency in microseconds. marks: kind and time in seconds."""
    found = [latency for side in samples for _, latency in side]
    low, high = max(1, min(found)), max(1, *found)
    steep = high > low * _LOGARITHMIC
    scale = Scale(begin, end)

    def place(latency: float) -> float:
        share = math.log(max(latency, 1) / low) / math.log(high / low) if steep else latency / high
        return 94 - 88 * min(1.0, max(0.0, share))

    dots: list[Dot] = []
    for side, list_ in enumerate(samples):
        where = [(f"{scale.percent(t / 1e6):.2f}%", f"{place(latency):.2f}%") for t, latency in list_]
        for i, (x, y) in enumerate(where):
            dots.append(Dot(x, y, side, duration(list_[i][1]), where[i + 1] if i + 1 < len(where) else ()))
    levels = [low, math.sqrt(low * high), high] if steep else [0, high / 2, high]
    return Plot(
        dots, scale.ticks(), [Tick(f"{place(level):.1f}%", duration(level) if level else "0") for level in levels],
        [(kind, f"{scale.percent(at):.2f}%") for kind, at in marks], steep,
    )  # fmt: skip
