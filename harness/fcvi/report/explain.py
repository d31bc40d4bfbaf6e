"""Tells why a case did not pass, put so that nobody needs the source of the suite: the same for every format of the report.

``groups`` sorts what did not pass by its cause; ``explain`` says of one result what the case is for, what the tester did
wrong on purpose, what the standard demands, what was seen, what may have caused it, and how to see it again.
"""

from __future__ import annotations

import functools
import shlex
from dataclasses import dataclass, field
from typing import Any, Iterable, Optional

from fcvi.engine.attachment import crashed
from fcvi.engine.case import CaseInfo, Variant, load_cases
from fcvi.engine.catalogue import Requirement, load_requirements
from fcvi.engine.evidence import stem
from fcvi.engine.protocol import Line, Protocol, in_force, protocol_of
from fcvi.engine.results import NOT_TRIED, Finding, Result, RunReport, Verdict
from . import causes, words

_MOST_STEPS = 8  # of what the tester did; the ladder has all


@functools.cache
def _variants_of(_books: tuple[Protocol, ...]) -> dict[str, tuple[CaseInfo, Variant]]:
    return {case.variant_id(variant): (case, variant) for case in load_cases() for variant in case.variants}


def _variants() -> dict[str, tuple[CaseInfo, Variant]]:
    return _variants_of(in_force())


@functools.cache
def _requirements_of(books: tuple[Protocol, ...]) -> dict[str, Requirement]:
    return {r.id: r for r in load_requirements(books)}


def requirements() -> dict[str, Requirement]:
    """Every requirement by its id."""
    return _requirements_of(in_force())


@functools.cache
def _clauses_of(books: tuple[Protocol, ...]) -> dict[str, str]:
    return {r.id: r.clause for r in load_requirements(books)}


def clauses() -> dict[str, str]:
    """The clause of each requirement by its id."""
    return _clauses_of(in_force())


@dataclass(frozen=True)
class Explanation:
    """What is said of a result that is not a plain pass. Each member is plain text; lists may be empty.

    demands: the broken requirements. seen: one line for each failing finding. again, replay: commands for a shell; the second
    one for the directory of the report.
    """

    purpose: str
    provoked: list[str]
    demands: list[Requirement]
    seen: list[str]
    causes: list[str]
    again: str
    replay: str

    def lines(self) -> list[str]:
        """As text: a label and what belongs to it, one line each."""
        found = [f"purpose: {self.purpose}"] if self.purpose else []
        found += [f"the tester, on purpose: {step}" for step in self.provoked]
        found += [f"the standard (clause {r.clause}, {r.id}): {r.statement}" for r in self.demands]
        found += [f"seen: {line}" for line in self.seen]
        found += [f"likely cause: {cause}" for cause in self.causes]
        found.append(f"run it again: {self.again}")
        if self.replay:
            found.append(f"replay it: {self.replay}")
        return found


@dataclass
class Group:
    """Results with one cause. requirement: the first that they broke; "" for errors and what stayed open."""

    verdict: Verdict
    requirement: str
    cause: str
    results: list[Result] = field(default_factory=list)
    waived: str = ""  # why it does not count, when that is so

    @property
    def title(self) -> str:
        """One line: how many cases, and their one cause."""
        crash = crashed(self.cause)
        if crash:
            return f"{words.plural(len(self.results), 'case')} ended with a crash of the device: {crash}"
        kind = {Verdict.FAIL: "failed", Verdict.ERROR: "ended in an error", Verdict.INCONCLUSIVE: "stayed inconclusive"}
        word = kind.get(self.verdict, "passed with a reservation")
        return f"{words.plural(len(self.results), 'case')} {word}, one cause: {self.cause}"


def failing(result: Result) -> list[Finding]:
    """The findings that failed the case, each once."""
    found: dict[Any, Finding] = {}
    for finding in result.findings:
        if finding.requirement in result.broken:
            found.setdefault((finding.requirement, finding.message, finding.seen, finding.required), finding)
    return list(found.values())


def cause_of(result: Result) -> tuple[str, str]:
    """The requirement that was broken first ("" when none was) and the cause in a sentence."""
    first = next(iter(failing(result)), None)
    if first is None or result.verdict not in (Verdict.FAIL, Verdict.PASS):
        return "", words.timed(result.reason)
    return first.requirement, _cause(first)


def _cause(first: Finding) -> str:
    clause = requirements()[first.requirement].clause if first.requirement in requirements() else ""
    place = f" (clause {clause})" if clause else ""
    return f"{first.requirement}{place}: {words.timed(words.anywhere(first.message))}"


def groups(report: RunReport, verdicts: Iterable[Verdict] = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE)) -> list[Group]:
    """What did not pass by its cause: verdicts in their order, within one the most frequent cause first. What was not tried
    comes behind what it follows from.

    A group begins with its simplest case, as an example: that with the fewest frames, then with the fewest steps.
    """
    wanted = tuple(verdicts)
    one = _same_place(report.results)
    found: dict[tuple[Verdict, str, str, str], Group] = {}
    for result in report.results:
        if result.verdict not in wanted:
            continue
        requirement, cause = cause_of(result)
        waived = report.waived.get(result.id, "")
        cause_words = words.sorted_out(cause)
        key = (result.verdict, requirement, one.get(cause_words, cause_words), waived)
        found.setdefault(key, Group(result.verdict, requirement, cause, waived=waived)).results.append(result)
    for group in found.values():
        example = min(group.results, key=_size)
        group.results = [example, *(r for r in group.results if r is not example)]
    return sorted(
        found.values(),
        key=lambda g: (bool(g.waived), wanted.index(g.verdict), g.cause.startswith(NOT_TRIED), -len(g.results)),
    )


def _same_place(results: Iterable[Result]) -> dict[str, str]:
    """Causes that are one: two checks found the same bytes of one frame to break the same requirement."""
    one: dict[str, str] = {}
    for result in results:
        seen: dict[tuple[object, ...], str] = {}
        for finding in failing(result):
            if finding.byte is not None:
                cause = words.sorted_out(_cause(finding))
                first = seen.setdefault((finding.requirement, finding.frame, finding.byte, finding.bits), cause)
                if one.get(first, first) != one.get(cause, cause):
                    keep, goes = sorted((one.get(first, first), one.get(cause, cause)))
                    one = {name: keep if to == goes else to for name, to in one.items()} | {goes: keep}
    return one


def _size(result: Result) -> tuple[int, int, int]:
    return len(result.frames), len(result.expectations), len(result.log)


def _line(result: Result) -> Optional[Line]:
    make = protocol_of(result.protocol).line if result.frames else None
    return make() if make is not None else None


def provoked(result: Result, pair: bool = False) -> list[str]:
    """What the tester and the wire did wrong on purpose: lost frames, frames against the rules, steps that the case tells.

    pair: the frames are those of a second device, whose breaches are nobody's purpose.
    """
    line, found = _line(result), []
    for number, frame in enumerate(result.frames, 1):
        if line is None:
            break
        view = None
        if frame.lost:
            view = line.decode(frame, False)
            whose = "the device's" if frame.sender == "dut" else "the far device's" if pair else "the tester's"
            found.append(f"{whose} {view.summary().split(' ')[0]} is lost (frame {number})")
        if frame.sender == "tester" and not pair:
            view = line.decode(frame, True)
            for finding in getattr(view, "findings", [])[:2]:
                name = view.summary().split(" ")[0]
                found.append(f"sends {name} with {finding.message}, {finding.seen} for {finding.required} (frame {number})")
        if frame.note and not frame.lost:
            found.append(f"{frame.note} (frame {number})")
    if result.log:
        for entry in result.log:
            if isinstance(entry, str) and " us: -- " in entry:
                when, _, what = entry.partition(" us: -- ")
                found.append(f"{what} (after {words.duration(int(when))})" if when.isdecimal() else what)
    unique = list(dict.fromkeys(words.timed(entry) for entry in found))
    left = len(unique) - _MOST_STEPS
    return unique[:_MOST_STEPS] + ([f"and {left} more, which the ladder shows"] if left > 0 else [])


def explain(report: RunReport, result: Result) -> Explanation:
    """Everything about a result that is not a plain pass."""
    case = _variants().get(result.id)
    findings = failing(result)
    seen = []
    for f in findings:
        where = words.where(f)
        what = f.message if f.message.endswith(f.seen) else f"{f.message}: {f.seen}"
        seen.append(words.timed(f"{what}; required: {f.required}") + (f" ({where})" if where else ""))
    if not seen and result.reason:
        seen = [words.timed(result.reason)]
    needs = (case[1].applies or case[0].applies) if case else ""
    broken = [requirements()[ident] for ident in result.broken if ident in requirements()]
    return Explanation(
        case[0].purpose if case else "", provoked(result, bool(report.against)), broken, seen,
        causes.likely(findings[0] if findings else None, result.reason, needs), words.again(report, result.id),
        _replay(report, result),
    )  # fmt: skip


def _replay(report: RunReport, result: Result) -> str:
    if not result.frames:
        return ""
    return f"fcvi replay {shlex.quote(stem(result.id) + '.pcapng')} --dut {shlex.quote(report.attachment)}"


def last_words(log: bytes, most: int = 5) -> list[str]:
    """The last lines that the device wrote to standard error, from dut.log."""
    lines = [line for line in log[-8192:].decode("utf-8", "backslashreplace").splitlines() if line.strip()]
    return [line[:300] for line in lines[-most:]]
