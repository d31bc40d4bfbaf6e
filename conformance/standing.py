"""Finds how each row of a book stands: proved, decided by another check, or not tested, with the reason.

Proved means that a device that breaks the row made a case fail, and that the case named this row: ``proofs.tsv`` of the book has
the devices that follow from the checks, and those of the banks where no other is named. What a case or a device of a bank
declares counts for nothing here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Mapping, Sequence

from fcvi.engine.catalogue import DecidedBy, Requirement, load_decided_by, load_not_tested, proved_by
from fcvi.engine.protocol import Protocol
from fcvi.engine.scenario import FAILING_LEVELS

PROVED, DECIDED, OPEN, UNTESTABLE = "proved", "decided", "not tested", "untestable"
#: Why a row that can be tested is not, in the order in which the index tells them.
UNPROVED = "checked, but no device was seen to fail by it"
OTHER_LEVEL = "no device fails by a row of this level"
NOTHING = "nothing looks at it"
EXPLAINED = "the page of the book says why"
REASONS = (UNPROVED, OTHER_LEVEL, NOTHING, EXPLAINED)


@dataclass(frozen=True)
class Standing:
    """How one row stands. by: devices and checks. reason: why not, one of REASONS; of an untestable row its own.
    words: the reason that ``not_tested.tsv`` of the book has for just this row."""

    kind: str
    by: tuple[str, ...] = ()
    reason: str = ""
    words: str = ""


@dataclass(frozen=True)
class Known:
    """What is known of a book's rows. looked: what looks at each, in words. failing: the levels whose breach fails a device."""

    looked: Mapping[str, Sequence[str]]
    failing: frozenset[str] = FAILING_LEVELS


def standings(protocol: Protocol, requirements: Iterable[Requirement], known: Known) -> dict[str, Standing]:
    """Of each of these rows."""
    derived, table, open_rows = proved_by([protocol]), load_decided_by([protocol]), load_not_tested([protocol])
    return {r.id: _standing(r, known, derived.get(r.id, ()), table.get(r.id), open_rows.get(r.id, "")) for r in requirements}


def _standing(r: Requirement, known: Known, derived: Sequence[str], decided: DecidedBy | None, words: str = "") -> Standing:
    if not r.testable:
        return Standing(UNTESTABLE, reason=r.observable.removeprefix("n/a: "))
    if derived:
        return Standing(PROVED, tuple(dict.fromkeys(derived)))
    if decided is not None and decided.device:
        return Standing(DECIDED, (*decided.by, decided.device))
    if words:
        return Standing(OPEN, reason=EXPLAINED, words=words)
    if r.level not in known.failing:
        return Standing(OPEN, reason=OTHER_LEVEL)
    return Standing(OPEN, reason=UNPROVED if known.looked.get(r.id) else NOTHING)
