"""Records what the checks of a case compare, as they are made.

From each record follow the devices that break just this check (conformance/proofs) and a step of the page of a case. Nothing is
recorded unless somebody asks for it with ``recording``: until then a primitive looks at one name, ``ACTIVE``, and goes on.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence

#: Modules with this name in them hold primitives: a check is that of whoever called them. Those of the harness need it not.
MARK = "HOLDS_PRIMITIVES"
#: The primitives that compare a condition.
CONDITIONS = frozenset(("require", "demand"))
_RUNNER = "fcvi.engine.runner"  # calls the case; what it calls beside that is no check of a case
_NUMBERS = re.compile(r"\b0x[0-9A-Fa-f]+\b|\b(?=[0-9A-Fa-f]*\d)[0-9A-Fa-f]{4,}h?\b|\d+")
_LONG = 90  # letters of a turn
_MOST = 24  # things that a case looked at and no check has taken; older ones are forgotten


@dataclass(frozen=True)
class Sight:
    """Something of the device that a check is about.

    what: "message" (it came), "silence" (it did not come), "field" or "payload" (of a message), "time" (when it came), "call"
    (that it returned), "return" (its code), "member" (of its answer), "completion", "error" (a callback) or "state" (a
    notification). kind: the kind of message, the method, or the queue. nth: which of that kind, counted from 1 in the order in
    which the device sent them or was asked; a message in several frames has several. name: the field or member, for the book
    to understand. value: what was seen.
    """

    what: str
    kind: str
    nth: tuple[int, ...] = ()
    name: str = ""
    value: Any = None


@dataclass(frozen=True)
class Record:
    """One check as it was made.

    place: file:line of the case or step that asked. step: module and function of it. wanted: the values that pass; () where the
    check does not compare with a value. tolerated: further values that pass, with their errata. sights: what it is about, the
    surest first. now_us: the device's time at which the check began to look. words: what its breach is called. turn: these words
    without what was seen: they tell one turn of a loop from the others. erratum: by which a breach of it fails nobody.
    """

    primitive: str
    place: str
    step: str
    requirement: str
    sights: tuple[Sight, ...]
    wanted: tuple[Any, ...] = ()
    tolerated: tuple[tuple[Any, str], ...] = ()
    now_us: int = 0
    words: str = ""
    turn: str = ""
    erratum: str = ""

    @property
    def subject(self) -> str:
        """What is compared, where the check says it itself."""
        if self.primitive in CONDITIONS or not self.sights:
            return ""
        first = self.sights[0]
        if self.primitive == "expect":
            return " or ".join(map(str, self.wanted))
        return f"{first.kind} {first.name}".strip() if first.what == "field" else first.kind


class Breach(NamedTuple):
    """A breach that was reported, and where."""

    place: str
    step: str
    requirement: str


class Look(NamedTuple):
    """Something that a case has read and that no check has taken yet: a message, a call, a completion."""

    what: str
    thing: Any
    name: str


@dataclass
class Recorder:
    """The checks and breaches of the cases that run while it is active. Calls and completions are counted for each case."""

    records: list[Record] = field(default_factory=list)
    breaches: list[Breach] = field(default_factory=list)
    _looks: dict[tuple[str, int, str], Look] = field(default_factory=dict)
    _before: tuple[Look, ...] = ()
    _counts: dict[str, list[Any]] = field(default_factory=dict)  # calls by method, notifications by what they are
    _ordinals: dict[tuple[str, int], int] = field(default_factory=dict)  # by the identity of what is in _counts
    _resolving: bool = False  # what is read now is read for the record

    def begin(self) -> None:
        """A case begins: what was counted and looked at is that of another."""
        self._looks.clear()
        self._counts.clear()
        self._ordinals.clear()
        self._before = ()

    def started(self, method: str, call: Any) -> None:
        """The device was asked."""
        self._count(method, call)

    def told(self, what: str, thing: Any) -> None:
        """The device told something by itself."""
        self._count(what, thing)
        self.look(what, thing)

    def ordinal(self, kind: str, thing: Any) -> tuple[int, ...]:
        """Which call of a method, or which notification, it is."""
        number = self._ordinals.get((kind, id(thing)))
        return () if number is None else (number,)

    def _count(self, kind: str, thing: Any) -> None:
        same = self._counts.setdefault(kind, [])
        same.append(thing)
        self._ordinals.setdefault((kind, id(thing)), len(same))

    def look(self, what: str, thing: Any, name: str = "") -> None:
        """The case reads something: it belongs to the next check that compares a condition."""
        if self._resolving:
            return
        key = (what, id(thing), name)
        self._looks.pop(key, None)
        self._looks[key] = Look(what, thing, name)
        if len(self._looks) > _MOST:
            del self._looks[next(iter(self._looks))]

    def note(
        self, primitive: str, requirement: str, looks: Sequence[Look], resolve: Callable[[Look], Optional[Sight]],
        condition: bool = False, wanted: Sequence[Any] = (), tolerated: Optional[Mapping[Any, str]] = None, now_us: int = 0,
        words: str = "", turn: str = "", erratum: str = "",
    ) -> None:  # fmt: skip
        """A check is made. looks: what it says that it is about. condition: it compares a condition, which may be about all that
        the case has read since the last one, the latest first. words: what its breach is called, for the page of the case.
        """
        for one in looks:
            self._looks.pop((one.what, id(one.thing), one.name), None)
        chosen = list(looks)
        if condition:
            fresh = tuple(reversed(self._looks.values()))
            self._before = fresh or self._before
            self._looks.clear()
            chosen += self._before
        self._resolving = True
        sights: list[Sight] = []
        for sight in map(resolve, chosen):
            if sight is not None and sight not in sights:
                sights.append(sight)
        self._resolving = False
        place, step = asker()
        passing, further = tuple(wanted), tuple((tolerated or {}).items())
        self.records.append(
            Record(primitive, place, step, requirement, tuple(sights), passing, further, now_us, words, turn, erratum)
        )  # fmt: skip

    def breach(self, requirement: str, turn: str = "") -> None:
        """A breach is reported."""
        self.breaches.append(Breach(*asker(), requirement))


#: Whoever records now.
ACTIVE: Optional[Recorder] = None


@contextmanager
def recording(into: Optional[Recorder] = None) -> Iterator[Recorder]:
    """Everything that cases check meanwhile."""
    global ACTIVE
    before, ACTIVE = ACTIVE, into or Recorder()
    try:
        yield ACTIVE
    finally:
        ACTIVE = before


def turn(words: str, seen: str) -> str:
    """The words of a check without what was seen, and without numbers: those of a loop's turn, whatever the device does."""
    known = re.sub(rf"(?<!\w){re.escape(seen)}(?!\w)", "...", words) if len(seen) > 1 else words
    return _NUMBERS.sub("#", known)[:_LONG]


def asker() -> tuple[str, str]:
    """file:line of the case or step that called a primitive, and the name of its module and function; "" for what is checked of
    every case."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and (frame.f_globals.get("__name__", "").startswith("fcvi.") or MARK in frame.f_globals):
        frame = None if frame.f_globals["__name__"] == _RUNNER else frame.f_back
    if frame is None:
        return "", ""
    module = str(frame.f_globals.get("__name__", "")).removeprefix("conformance.")
    function = frame.f_code.co_qualname.split(".<")[0]
    return f"{frame.f_code.co_filename}:{frame.f_lineno}", f"{module}.{function}"


__all__ = ["ACTIVE", "CONDITIONS", "Breach", "Look", "MARK", "Record", "Recorder", "Sight", "asker", "recording", "turn"]
