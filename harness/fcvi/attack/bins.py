"""Findings of one kind: what broke the device in the same way is one finding, with a count.

Two outcomes are of one kind when they are called the same ("dead", "stuck" or "malformed"), when the device left the same stack on
its standard error, and when the suite says the same of them but for numbers. A dead device that left no stack says little: there
the state counts too.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from fcvi.report.words import sorted_out

_DEPTH = 4  # frames of a stack that tell two crashes apart
_LAST_BYTES = 1 << 16
#: A frame of a stack as sanitizers, gdb and Go's or Python's runtime write it: the name of the function.
_FRAME = re.compile(
    r"^\s*#\d+\s+(?:0x[0-9a-f]+ )?(?:in )?([A-Za-z_][\w:~<>.]*)|^\s*File \"[^\"]*\", line \d+, in (\w+)"
    r"|^([\w./*()-]+\.[\w*()-]+)\(0x",
    re.M,
)
#: Where the next stack begins: a sanitizer shows who allocated, too, and a program that goes on may leave several.
_STACK = re.compile(r"^(?=\s*#0\s|Traceback |goroutine \d)", re.M)


@dataclass
class Batch:
    """A batch that was played: what repeats it, and what was sent."""

    seed: int
    state: str
    steps: list[Any]


@dataclass
class Bins:
    """What was found so far, and the batches before it."""

    log: Optional[Path] = None  # with the standard error of the device
    keep: int = 8  # so many batches
    counts: dict[tuple[str, ...], int] = field(default_factory=dict)
    last: deque[Batch] = field(default_factory=deque)
    _read: int = 0

    def begin(self) -> None:
        """A batch begins: what the device has written until now, also while an earlier finding was cut down, is not of it."""
        if self.log is not None and self.log.is_file():
            self._read = self.log.stat().st_size

    def played(self, batch: Batch) -> None:
        """A batch is over."""
        self.last.append(batch)
        while len(self.last) > self.keep:
            self.last.popleft()

    def key(self, kind: str, reason: str, state: str) -> tuple[str, ...]:
        """Which kind of finding an outcome is."""
        stack = self._stack()
        if kind != "dead" or stack:
            return (kind, sorted_out(reason), *stack)
        return (kind, sorted_out(reason), state)

    def count(self, key: tuple[str, ...]) -> int:
        """How often it was found, this time with it."""
        self.counts[key] = self.counts.get(key, 0) + 1
        return self.counts[key]

    def _stack(self) -> tuple[str, ...]:
        """The functions at the top of the first stack that the device has written in this batch."""
        if self.log is None or not self.log.is_file():
            return ()
        with open(self.log, "rb") as file:
            file.seek(self._read)
            data = file.read(_LAST_BYTES)
        stacks = _STACK.split(data.decode("utf-8", "replace"))
        found: list[list[str]] = [[next(filter(None, match)) for match in _FRAME.findall(stack)] for stack in stacks]
        return tuple(next(filter(None, found), [])[:_DEPTH])
