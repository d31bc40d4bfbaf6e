"""Note what the checks of a wire compare, each part of a condition for itself, and the devices at which it does not come.

A check of a condition is noted once for each of its parts (conditions.py of the engine), and once more where it looks for something
among what came, or counts that: then the devices are those which leave it out.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

from fcvi.engine import proof
from fcvi.engine.breaks import Break
from fcvi.engine.catalogue import COMES, TURN
from fcvi.engine.conditions import Condition, Part, here, scenario_of
from fcvi.engine.proof import CONDITIONS


HOLDS_PRIMITIVES = True  # a check is that of whoever called the recorder (proof.py)
_QUEUES = {"completions": "completion", "errors": "error", "states": "state"}
_LATEST = 6  # of a queue
_DEPTH = 2


@dataclass(frozen=True)
class Aspect(proof.Record):
    """One thing that a check compares. aspect: the part of its condition, or COMES. gone: the devices at which what it is about
    does not come. seen, passing: a value that the part looks at, and others that it lets pass."""

    aspect: str = ""
    gone: tuple[Break, ...] = ()
    seen: Any = None
    passing: tuple[Any, ...] = ()

    @property
    def subject(self) -> str:
        return f"{self.aspect}{TURN}{self.turn}" if self.turn else self.aspect


class Parted(proof.Recorder):
    """Notes a check of a condition once for each part of it, and for each turn of a loop that checks another thing."""

    def note(
        self, primitive: str, requirement: str, looks: Sequence[proof.Look], resolve: Callable[[proof.Look], Optional[proof.Sight]],
        condition: bool = False, wanted: Sequence[Any] = (), tolerated: Optional[Mapping[Any, str]] = None, now_us: int = 0,
        words: str = "", turn: str = "", erratum: str = "",
    ) -> None:  # fmt: skip
        super().note(primitive, requirement, looks, resolve, condition, wanted, tolerated, now_us, words, turn, erratum)
        if primitive not in CONDITIONS:
            return
        record, found = self.records.pop(), here()
        told = {one.name: getattr(record, one.name) for one in fields(record) if one.name != "sights"}
        told["turn"] = record.turn if found is not None and found.varies and record.place else ""
        lost: dict[Break, None] = {}
        for part in found.parts if found is not None else ():
            assert found is not None
            things, several = _things(found, part)
            self._resolving = True
            own = [sight for sight in (resolve(_look(thing)) for thing in things) if sight is not None]
            self._resolving = False
            every = (*record.sights, *(sight for sight in own if sight not in record.sights))
            sights = tuple(sorted(every, key=lambda one: _far(one, f"{part.words} {words}")))
            gone = tuple(dict.fromkeys(device for sight in own or sights for device in absences(sight))) if several else ()
            lost.update(dict.fromkeys(gone))
            seen, passing = found.passing(part)
            self.records.append(Aspect(**told, sights=sights, aspect=part.words, gone=gone, seen=seen, passing=passing))
        if found is None:
            self.records.append(record)
        elif lost:
            self.records.append(Aspect(**told, sights=record.sights, aspect=COMES, gone=tuple(lost)))


def absences(sight: proof.Sight) -> Iterator[Break]:
    """The devices that leave out what was seen."""
    if sight.what in ("message", "payload", "field"):
        yield Break("out", sight.kind, sight.nth, "drop")
        yield Break("out", sight.kind, sight.nth[:1], "drop-from-here")
    elif sight.what in ("completion", "error", "state"):
        yield Break("done" if sight.what == "completion" else sight.what, sight.kind, sight.nth, "none")


def is_absence(device: Break) -> bool:
    """Whether a device leaves something out."""
    return device.what in ("drop", "drop-from-here", "none")


def _things(condition: Condition, part: Part) -> tuple[list[Any], bool]:
    """What the device sent or told that the names of a part stand for, and whether these are several among which it looks."""
    found: list[Any] = []
    several = False
    for name, value in condition.named_things(part):
        if name in part.each and hasattr(value, "reply"):
            continue
        inside = list(_inside(value, _DEPTH))
        found += inside
        several |= name in part.among and any(one is not value for one in inside)
    scenario = scenario_of(condition.frame)
    for name, what in _QUEUES.items():
        if f".{name}" in part.words:
            found += [_Told(what, one) for one in getattr(scenario, name)[-_LATEST:]]
            several |= bool(part.among)
    return found, several and part.comes


@dataclass(frozen=True)
class _Told:
    """A member of a queue of the scenario."""

    what: str
    thing: Any


def _inside(value: Any, depth: int) -> Iterator[Any]:
    """The messages, completions and streams in a value."""
    if hasattr(value, "numbers") or hasattr(value, "reply") or hasattr(value, "over") or hasattr(value, "queue"):
        yield value
    elif depth and isinstance(value, (list, tuple, set, dict, deque)):
        for one in list(value.values() if isinstance(value, dict) else value)[:_LATEST]:
            yield from _inside(one, depth - 1)


def _far(sight: proof.Sight, words: str) -> tuple[int, int]:
    """How far a sight is from what a check compares: first the field that it names, a part before the whole, then its place, then
    the message."""
    if not sight.name:
        return 2, 0
    return (0, -len(sight.name)) if sight.name.rpartition(".")[2] in words else (1 if sight.name.startswith("@") else 3, 0)


def _look(thing: Any) -> proof.Look:
    if isinstance(thing, _Told):
        return proof.Look(thing.what, thing.thing, "")
    if hasattr(thing, "reply"):
        return proof.Look("call", thing, "")
    if hasattr(thing, "over"):
        return proof.Look("stream", thing, "end")
    return proof.Look("completion" if hasattr(thing, "queue") else "payload", thing, "")


__all__ = ["Aspect", "Parted", "absences", "is_absence"]
