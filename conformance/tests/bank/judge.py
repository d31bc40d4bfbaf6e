"""Runs one device of the bank against the cases that its requirements touch, and says what caught it."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Iterator

from conformance.fcvi.cases import all_cases
from conformance.catalogue import load_requirements
from fcvi.engine.case import CaseInfo, Variant
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import run_variant

from conformance.tests.faulty import FaultyDut
from .device import BankDut, Broken, Entry

#: What may become of a requirement whose device was run, best first. finding: a finding names it; case: a failed case
#: that tests it; notice: only a notice names it, as is right for what is no "shall" or what an erratum tolerates;
#: otherwise: something else failed.
VERDICTS = ("finding", "case", "notice", "otherwise", "missed")
_ALL_OF_A_CASE, _OTHER_CASES = 400, 200


@dataclass
class Outcome:
    """What the suite made of one device."""

    name: str
    breaks: tuple[str, ...]
    why: str
    how: str
    verdicts: dict[str, str] = field(default_factory=dict)  # by requirement
    by: dict[str, str] = field(default_factory=dict)  # the variant that caught it, by requirement
    named_instead: list[str] = field(default_factory=list)
    variants: int = 0

    def note(self, ident: str, verdict: str, by: str) -> None:
        """Keep the best verdict."""
        if VERDICTS.index(verdict) < VERDICTS.index(self.verdicts.get(ident, "missed")):
            self.verdicts[ident], self.by[ident] = verdict, by


@functools.cache
def catalogue() -> tuple[dict[str, str], tuple[tuple[CaseInfo, Variant], ...]]:
    """Levels of the requirements, and every variant."""
    levels = {r.id: r.level for r in load_requirements()}
    return levels, tuple((c, v) for c in all_cases() for v in c.variants)


def _chosen(entry: Entry) -> Iterator[tuple[CaseInfo, Variant]]:
    """Variants in the order in which they promise most: those named, one of each case that tests what is broken, the
    others of those cases, one of every other case."""
    _, every = catalogue()
    touching = [(c, v) for c, v in every if set(entry.breaks) & set(c.requirements)]
    named = [(c, v) for c, v in every if any(fnmatch(c.variant_id(v), glob) for glob in entry.cases)]
    one_each = {c.id: (c, v) for c, v in reversed(touching)}
    rest = {c.id: (c, v) for c, v in reversed(every) if c.id not in one_each}
    seen: set[str] = set()
    spread = sorted(touching, key=lambda cv: [i for i, v in enumerate(cv[0].variants) if v is cv[1]][0] * 7919 % 1009)
    for case, variant in [*named, *list(one_each.values())[::-1], *spread[:_ALL_OF_A_CASE], *list(rest.values())[:_OTHER_CASES]]:
        ident = case.variant_id(variant)
        if ident not in seen:
            seen.add(ident)
            yield case, variant


def _weigh(outcome: Outcome, case: CaseInfo, result: Result, levels: dict[str, str]) -> None:
    failed = result.verdict is Verdict.FAIL
    named = {f.requirement for f in result.findings}
    tolerated = {f.requirement for f in result.findings if f.erratum}
    for ident in outcome.breaks:
        if ident in result.broken:
            outcome.note(ident, "finding", result.id)
        elif failed and ident in case.requirements:
            outcome.note(ident, "case", result.id)
        elif ident in named and (levels.get(ident) != "shall" or ident in tolerated):
            outcome.note(ident, "notice", result.id)
        elif failed:
            outcome.note(ident, "otherwise", result.id)
    if failed and not outcome.named_instead:
        outcome.named_instead = result.broken


def judge(entry: Entry) -> Outcome:
    """Run it until every requirement is named, or nothing is left to try."""
    levels, _ = catalogue()
    outcome = Outcome(entry.name, entry.breaks, entry.why, entry.how, dict.fromkeys(entry.breaks, "missed"))
    fault = entry.fault
    dut = BankDut(fault) if isinstance(fault, Broken) else FaultyDut(fault)
    pixit = pixit_for("virtual")
    tried_after = 0
    for case, variant in _chosen(entry):
        result = run_variant(dut, case, variant, dut.pics, pixit, levels, 1)
        outcome.variants += 1
        if result.verdict is Verdict.ERROR:
            dut.restart()
        _weigh(outcome, case, result, levels)
        ranks = [VERDICTS.index(v) for v in outcome.verdicts.values()]
        if not any(ranks):
            break
        if max(ranks) <= 2:  # named by a case at least: look a little further for a finding that names it
            tried_after += 1
            if tried_after > 12:
                break
    return outcome
