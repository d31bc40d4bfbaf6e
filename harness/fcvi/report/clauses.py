"""The cases of a run by the clauses of the standard, in its order: what the map of the report is drawn from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Union

from fcvi.engine.case import load_cases
from fcvi.engine.results import Result, RunReport, Verdict

#: Verdicts in the order of the bars: what a reader looks for comes first.
ORDER = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.PASS, Verdict.NOT_APPLICABLE)
_WIDTH = 100.0  # of a bar


@dataclass
class Counted:
    """How many variants have which verdict."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """One more."""
        self.counts[result.verdict.value] = self.counts.get(result.verdict.value, 0) + 1

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.counts.values())

    @property
    def worst(self) -> str:
        """The verdict that a reader looks for first."""
        return next((v.value for v in ORDER if self.counts.get(v.value)), Verdict.NOT_APPLICABLE.value)

    def told(self) -> list[tuple[str, int]]:
        """Verdicts with their numbers, those that there are."""
        return [(v.value, self.counts[v.value]) for v in ORDER if self.counts.get(v.value)]

    def bar(self) -> list[tuple[str, str, str]]:
        """Verdict, beginning and width of each piece of a bar. What there is can be seen, however little of it."""
        pieces = self.told()
        shares = [max(4.0, _WIDTH * count / self.total) for _, count in pieces]
        scale, at, found = _WIDTH / sum(shares) if shares else 1.0, 0.0, []
        for (verdict, _), share in zip(pieces, shares):
            found.append((verdict, f"{at:.1f}", f"{share * scale:.1f}"))
            at += share * scale
        return found


@dataclass
class Case(Counted):
    """A case with those of its variants that a reader may want."""

    id: str = ""
    title: str = ""
    first: str = ""
    others: list[Result] = field(default_factory=list)  # that did not pass


@dataclass
class Clause(Counted):
    """A clause with its cases."""

    clause: str = ""
    cases: list[Case] = field(default_factory=list)


@dataclass
class Part(Counted):
    """A clause of the first level, or an annex."""

    title: str = ""
    clauses: list[Clause] = field(default_factory=list)


def _key(clause: str) -> list[tuple[int, Union[int, str]]]:
    """Numbers as numbers, and before letters: 5.9.10 behind 5.9.2, annexes behind clauses."""
    return [(0, int(word)) if word.isdigit() else (1, word) for word in re.findall(r"\d+|[A-Za-z]+", clause)]


def _plain(clause: str) -> str:
    return clause.removeprefix("Annex ").removeprefix("Table ")


def _part_of(clause: str) -> str:
    top = _plain(clause).split(".")[0].split(" ")[0]
    return f"Clause {top}" if top.isdigit() else f"Annex {top}" if len(top) == 1 else top


def clause_map(results: Iterable[Result]) -> list[Part]:
    """The parts of the standard with the clauses and cases that these results are of."""
    known = {ident: case for case in load_cases() for ident in case.variant_ids()}
    clauses: dict[str, Clause] = {}
    cases: dict[str, Case] = {}
    for result in results:
        case = known.get(result.id)
        ident, clause = (case.id, case.clause) if case else (result.id, "others")
        there = clauses.setdefault(clause, Clause(clause=clause))
        if ident not in cases:
            cases[ident] = Case(id=ident, title=result.title, first=result.id)
            there.cases.append(cases[ident])
        for counted in (there, cases[ident]):
            counted.add(result)
        if result.verdict in (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE):
            cases[ident].others.append(result)
    parts: dict[str, Part] = {}
    for name in sorted(clauses, key=lambda name: _key(_part_of(name).split(" ")[-1]) + _key(_plain(name))):
        part = parts.setdefault(_part_of(name), Part(title=_part_of(name)))
        part.clauses.append(clauses[name])
        for verdict, count in clauses[name].counts.items():
            part.counts[verdict] = part.counts.get(verdict, 0) + count
    return list(parts.values())


def trend(report: RunReport) -> dict[str, Any]:
    """What is other than in the baseline: which cases fail newly, which as before, and which no longer. Empty without one."""
    if not report.baseline:
        return {}
    before: Mapping[str, str] = report.baseline["failed"]
    bad = [r.id for r in report.results if r.verdict in (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE)]
    good = {r.id for r in report.results if r.verdict is Verdict.PASS}
    return {
        "name": report.baseline["name"], "new": [i for i in bad if i not in before], "known": [i for i in bad if i in before],
        "mended": [i for i in before if i in good],
    }  # fmt: skip
