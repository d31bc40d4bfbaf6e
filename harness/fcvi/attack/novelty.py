"""What a device shows while it is attacked, hashed into a bitmap: a batch that sets a bit nobody set before is worth keeping.

A real device has no branch counters. What it has are the IUs and answers that it sends, their codes, how it completes
descriptors, and how long it takes. One signal is a pair of what was shown before and what is shown now, another what was
sent and what it led to, a third how long it took, as a power of two.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Optional
from zlib import crc32

from .medium import Medium

BITS = 1 << 16


def bucket(us: int) -> int:
    """A time, as a power of two, coarse below a millisecond: the jitter of a host is no signal."""
    return max(us // 1000, 0).bit_length()


class Watch:
    """One batch: gathers its signals step by step."""

    def __init__(self, t: Any, state: str, medium: Medium) -> None:
        self.signals: set[int] = set()
        self.words: set[str] = set()
        self._t, self._state, self._medium = t, state, medium
        self._before = "nothing"
        self._frames, self._completions = len(t.tester.trace), len(t.completions)
        self._states, self._errors = len(t.states), len(t.errors)

    def step(self, sent: str, since_us: int) -> None:
        """What came since the step before. sent: what was sent, in a word; since_us: when."""
        frames = self._t.tester.trace[self._frames :]
        shown = self._medium.shown
        told: list[tuple[str, Optional[int]]] = [(shown(entry), entry.time_us) for entry in frames if entry.sender == "dut"]
        done = self._t.completions[self._completions :]
        told += [("completion " + " ".join([c.queue, *sorted(c.status)]), c.time_us) for c in done]
        self._frames, self._completions = len(self._t.tester.trace), len(self._t.completions)
        told += [(f"state {state}", None) for _, state in self._t.states[self._states :]]
        told += [(f"error {code}", None) for _, code in self._t.errors[self._errors :]]
        self._states, self._errors = len(self._t.states), len(self._t.errors)
        now = ", ".join(word for word, _ in told) or "nothing"
        self._note("after", self._before, now)
        self._note("for", sent, now)
        for word, time_us in told:
            self.words.add(word)
            if time_us is not None:
                self._note("took", word, bucket(time_us - since_us))
        if told:
            self._before = now

    def _note(self, *what: object) -> None:
        self.signals.add(crc32(repr((self._state, *what)).encode()) % BITS)


class Map:
    """All signals of a campaign."""

    def __init__(self, bits: Iterable[int] = ()) -> None:
        self.bits = set(bits)
        self.words: dict[str, int] = {}  # what the device showed, and in how many batches

    def fresh(self, watch: Watch) -> int:
        """How many signals of this batch nobody saw before; they are known from now on."""
        new = len(watch.signals - self.bits)
        self.bits |= watch.signals
        for word in watch.words:
            self.words[word] = self.words.get(word, 0) + 1
        return new


def map_of(data: Mapping[str, Any]) -> Map:
    """A map that as_json gave. Raises ValueError, KeyError or TypeError for anything else."""
    made = Map(int(bit) for bit in data["bits"])
    made.words = {str(word): int(count) for word, count in data["words"].items()}
    return made


def as_json(known: Map) -> dict[str, Any]:
    """The map, to go on with later."""
    return {"bits": sorted(known.bits), "words": known.words}
