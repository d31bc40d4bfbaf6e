"""What is wrong with a device that breaks one check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

Value = Union[None, int, str, tuple[str, str]]


@dataclass(frozen=True)
class Break:
    """The one thing that a device does otherwise than the reference port.

    verb: "out" (a message that it sends), "say" (one that nobody asked for), "deaf" (what it does not hear), "ret" (the code of a
    call), "never", "early" and "ignore" (when a call returns, and whether anything is done), "member" (of an answer, from that call
    on), "done" (a completion), "error" (a callback), "state" (a notification), "tell" (one of these though nothing happened),
    "stream" (of VI/TCP), "config" (its timers) or "timer" (what it tells of them). kind: of message, the method, or the queue.
    nth: which of that kind, counted from 1; () is each. what: what becomes of it. value: what that needs: times are microseconds.
    """

    verb: str
    kind: str
    nth: tuple[int, ...] = ()
    what: str = ""
    value: Value = None

    def __str__(self) -> str:
        """In the words of a table: four, with "-" for nothing."""
        which = self.kind.replace(" ", "~") + (f"#{','.join(map(str, self.nth))}" if self.nth else "")
        value = ">".join(self.value) if isinstance(self.value, tuple) else "-" if self.value is None else str(self.value)
        return f"{self.verb} {which} {self.what or '-'} {value}"

    def concerns(self, verb: str, kind: str, number: int) -> bool:
        """Whether it is about this one of a kind."""
        if self.verb != verb or self.kind != kind:
            return False
        return number >= self.nth[0] if self.what == "drop-from-here" else not self.nth or number in self.nth


def understand(words: str) -> Break:
    """The break that the words of a table mean. Raises ValueError when they mean none."""
    verb, which, what, value = words.split(" ")
    kind, _, nth = which.partition("#")
    told: Value = None if value == "-" else int(value) if value.isdigit() else value
    if isinstance(told, str) and ">" in told:
        before, _, after = told.partition(">")
        told = (before, after)
    numbers = tuple(map(int, nth.split(","))) if nth else ()
    return Break(verb, kind.replace("~", " "), numbers, "" if what == "-" else what, told)


__all__ = ["Break", "understand"]
