"""Says what is wrong with a device that breaks one check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

Value = Union[None, int, str, tuple[str, str]]
#: The verbs whose value is JSON.
OF_CALLS = frozenset(("ahead", "answer", "answer-from", "asked", "asked-from", "nothing", "pretend", "says", "told"))


@dataclass(frozen=True)
class Break:
    """The one thing that a device does otherwise than the reference device.

    verb: "out" (a message that it sends), "say" (one that nobody asked for), "upon" (when this one is heard a Descriptor completes,
    or a message is said), "reply" (one that is said at once when this many were heard), "deaf" (what it does not hear), "ret" (the
    code of a call), "never", "early" and "ignore" (when a call returns, and whether anything is done), "member" (of an answer, from
    that call on), "done" (a completion), "error" (a callback), "state" (a notification), "tell" (one of these though nothing
    happened), "stream" (of VI/TCP), "config" (its timers) or "timer" (what it tells of them). kind: of message, the method, or the
    queue. nth: which of that kind, counted from 1; () is each. what: what becomes of it. value: what that needs: times are
    microseconds.

    Of a provider of calls (layer.py): "answer" (the member ``what`` of an answer is another; value: JSON), "asked" (a member of a
    request is taken for another), both with "-from" also later, where it would be as it was then; "nothing" (from this answer on
    each is the value), "again" (the answer comes in the place of the next, too), "late" (it comes when time passes, so much at
    least), "pretend" (nothing is done, and the value told), "ahead" (the value is told at once, and nothing when it is done),
    "silent" and "twice" (notifications of a kind are lost, or come twice), "told" (a member of one is another), "says" (one comes
    behind an answer, of no cause), "fault" (of the model itself, or of the bank, by its name).
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
        return f"{self.verb} {which} {self.what.replace(' ', '~') or '-'} {value}"

    def since(self, verb: str, kind: str, number: int) -> bool:
        """Whether it is about this one of a kind as one of those from the first on."""
        return self.verb == verb and self.kind == kind and number >= self.nth[0]

    def concerns(self, verb: str, kind: str, number: int) -> bool:
        """Whether it is about this one of a kind."""
        if self.verb != verb or self.kind != kind:
            return False
        if self.what == "drop-from-here" or self.what.endswith("+"):
            return number >= self.nth[0]
        return not self.nth or number in self.nth


def understand(words: str) -> Break:
    """The break that the words of a table mean. Raises ValueError when they mean none."""
    verb, which, what, value = words.split(" ", 3)
    kind, _, nth = which.partition("#")
    json = verb in OF_CALLS
    told: Value = None if value == "-" else int(value) if value.isdigit() and not json else value
    if isinstance(told, str) and ">" in told and not json:
        before, _, after = told.partition(">")
        told = (before, after)
    numbers = tuple(map(int, nth.split(","))) if nth else ()
    return Break(verb, kind.replace("~", " "), numbers, "" if what == "-" else what.replace("~", " "), told)


__all__ = ["Break", "OF_CALLS", "understand"]
