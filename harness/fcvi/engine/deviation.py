"""Deviations that the lab declared beforehand: what they cover, and whether they occurred."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence

from .results import Result, RunReport, Verdict


MOST = 1000  # declarations, each of which is compared with every case
LONGEST = 2000  # characters of each text of one, which may stand beside every case


def too_long(texts: Mapping[str, object]) -> None:
    """Raises ValueError where a text is longer than may stand beside every case."""
    for name, text in texts.items():
        if isinstance(text, str) and len(text) > LONGEST:
            raise ValueError(f"{name} has {len(text)} characters; at most {LONGEST} are taken")


@dataclass(frozen=True)
class Deviation:
    """One declaration: a requirement, a case (id or glob) or both; both together narrow each other."""

    reason: str
    requirement: Optional[str] = None
    case: Optional[str] = None
    link: Optional[str] = None

    def __post_init__(self) -> None:
        """Raises ValueError."""
        too_long(vars(self))

    def as_json(self) -> dict[str, Any]:
        """The declaration."""
        return {"requirement": self.requirement, "case": self.case, "reason": self.reason, "link": self.link}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Deviation:
        """What as_json gave. Raises KeyError, TypeError or ValueError for anything else."""
        return cls(str(data["reason"]), *(None if data[k] is None else str(data[k]) for k in ("requirement", "case", "link")))

    def words(self) -> str:
        """What it is about."""
        return " in ".join(part for part in (self.requirement, self.case) if part)

    def names_case(self, ident: str) -> bool:
        """Whether the case variant is among those it is about."""
        return self.case is None or any(
            fnmatch.fnmatchcase(name, self.case) for name in (ident, ident.split("/", maxsplit=1)[0])
        )

    def covers(self, result: Result, requirement: str) -> bool:
        """Whether it is about this breach."""
        return self.names_case(result.id) and self.requirement in (None, requirement)


@dataclass
class Outcome:
    """What became of one declaration. status: "occurred", "absent" or "not-tested"."""

    deviation: Deviation
    occurred: list[str] = field(default_factory=list)
    status: str = "not-tested"

    def as_json(self) -> dict[str, Any]:
        """As report.json has it."""
        return {**self.deviation.as_json(), "status": self.status, "occurred": self.occurred}


def declared(result: Result, deviations: Sequence[Deviation]) -> bool:
    """Whether a case failed by nothing but what was declared."""
    return bool(result.broken) and all(any(d.covers(result, r) for d in deviations) for r in result.broken)


def apply(report: RunReport, declared: list[Deviation]) -> None:
    """Qualify what was declared and look for what did not occur.

    A failed case whose every breach is declared passes with the qualifier ``deviation``; one undeclared breach, and it
    fails. The requirement stays broken either way (results.Result.broken).
    """
    outcomes = [Outcome(deviation) for deviation in declared]
    for result in report.results:
        _tell_tested(outcomes, result)
        if result.verdict is Verdict.FAIL:
            _cover(outcomes, result)
    report.deviations = outcomes


def _tell_tested(outcomes: list[Outcome], result: Result) -> None:
    if result.verdict not in (Verdict.PASS, Verdict.FAIL):
        return
    for outcome in outcomes:
        wanted = outcome.deviation
        if outcome.status == "not-tested" and wanted.names_case(result.id):
            if wanted.requirement is None or wanted.requirement in (*result.requirements, *result.broken):
                outcome.status = "absent"


def _cover(outcomes: list[Outcome], result: Result) -> None:
    by = {r: [o for o in outcomes if o.deviation.covers(result, r)] for r in result.broken}
    covering_one = {id(outcome) for covering in by.values() for outcome in covering}
    for outcome in outcomes:
        if id(outcome) in covering_one:
            outcome.occurred.append(result.id)
            outcome.status = "occurred"
    if by and all(by.values()):
        reasons = dict.fromkeys(covering[0].deviation.reason for covering in by.values())
        result.verdict, result.qualifier = Verdict.PASS, "deviation"
        result.reason = f"declared deviation ({'; '.join(reasons)}): {result.reason}"
