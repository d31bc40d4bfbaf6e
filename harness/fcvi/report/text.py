"""The report in words, for a terminal and for report.txt: failures first, by their cause, each finding once."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import Iterator

from fcvi.engine.attachment import crashed
from fcvi.engine.files import one_line
from fcvi.engine.results import Result, RunReport, Verdict
from . import explain, json_report, phases, words

_WIDTH = 110
_MOST_NAMES = 12  # of the cases of a cause that are named after the first, unless all are wanted


def _paragraph(text: str, indent: str = "     ") -> list[str]:
    plain = one_line(text)
    return textwrap.wrap(
        plain, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_long_words=False, break_on_hyphens=False
    ) or [indent]


def _command(text: str) -> list[str]:
    """A line that can be copied: never broken."""
    return [f"     {one_line(text)}"]


def _first(report: RunReport, result: Result, verbose: bool) -> list[str]:
    lines = [f"     {result.verdict.value}: {result.id}  {result.title}"]
    for line in explain.explain(report, result).lines():
        lines += _command(line) if line.startswith(("run it again: ", "replay it: ")) else _paragraph(line)
    return lines + (_log(result) if verbose else [])


def _log(result: Result) -> list[str]:
    return [f"       | {line}" for line in result.log]


def _group(report: RunReport, number: int, group: explain.Group, verbose: bool) -> Iterator[str]:
    known = f" [does not count: {group.waived}]" if group.waived else ""
    yield from _paragraph(f"{number}. {group.title}{known}", "")
    yield from _first(report, group.results[0], verbose)
    others = group.results[1:]
    if verbose:
        for result in others:
            yield f"     {result.verdict.value}: {result.id}  {result.title}"
            for line in explain.explain(report, result).seen:
                yield from _paragraph(line, "       ")
            yield from _log(result)
    elif others:
        left = len(others) - _MOST_NAMES
        names = ", ".join(r.id for r in others[:_MOST_NAMES]) + (f" and {left} more" if left > 0 else "")
        yield from _paragraph(f"also: {names}")
    yield ""


def _reservations(report: RunReport, verbose: bool) -> list[str]:
    """What passed with a qualifier: by its reason, one line each."""
    by: dict[str, list[Result]] = {}
    for result in report.results:
        if result.verdict is Verdict.PASS and result.qualifier:
            key = result.reason if result.qualifier == "interpretation" else result.reason.split(": ")[0]
            by.setdefault(f"[{result.qualifier}] {key}", []).append(result)
    lines = []
    for reason, results in by.items():
        lines += _paragraph(f"{words.plural(len(results), 'case')} passed {reason}", "")
        left = len(results) - _MOST_NAMES
        shown = results if verbose else results[:_MOST_NAMES]
        lines += _paragraph(", ".join(r.id for r in shown) + (f" and {left} more" if left > 0 and not verbose else ""))
    return [*lines, ""] if lines else []


def _nothing_ran(report: RunReport) -> list[str]:
    lines = [f"nothing ran: {report.error}"]
    lines += [f"  its last words: {line}" for line in report.last_words]
    return [*lines, ""]


_MOST_REASONS = 4


def _nothing_applies(report: RunReport) -> list[str]:
    """Why no case was run, where none applies: an item of the PICS may be missing that decides all of them."""
    if not report.results or any(r.verdict is not Verdict.NOT_APPLICABLE for r in report.results):
        return []
    by = Counter(r.reason for r in report.results).most_common(_MOST_REASONS)
    lines = ["no case applies to this device:"]
    for reason, count in by:
        lines += _paragraph(f"{words.plural(count, 'case')}: {reason}")
    return [*lines, ""]


def _declarations(report: RunReport, verbose: bool) -> list[str]:
    lines = []
    missing = [] if report.certification or verbose else [r for r in report.review if r.kind == "missing"]
    if missing:
        names = ", ".join(dict.fromkeys(r.requirement for r in missing))
        lines += _paragraph(f"the PICS does not claim all that the standard asks for, which counts in a certificate: {names}", "")
    for review in (r for r in report.review if r not in missing):
        tolerated = f" (tolerated: {review.erratum})" if review.erratum else ""
        lines.append(f"PICS {review.kind} [{review.cls}]{tolerated} {review.requirement}: {review.message}")
        lines.append(f"      claimed {review.seen}, required {review.required}")
    for outcome in report.deviations:
        happened = {"occurred": f"occurred {len(outcome.occurred)} times", "absent": "did NOT occur"}
        lines.append(f"deviation {outcome.deviation.words()}: {happened.get(outcome.status, 'was not tested')}")
        lines.append(f"      {outcome.deviation.reason}")
    return [*lines, ""] if lines else []


def counts(report: RunReport) -> str:
    """The counts, which every format has alike: cases by verdict, then what is wrong beyond the cases."""
    qualified = {"deviation": "a declared deviation", "interpretation": "another reading of an erratum"}
    parts = [f"{count} {name}" for name, count in report.summary().items() if count or name in ("pass", "fail")]
    for name, meaning in qualified.items():
        count = sum(r.qualifier == name for r in report.results)
        parts += [f"{count} of the passes with {meaning}"] if count else []
    crashes = sum(bool(crashed(r.reason)) for r in report.results if r.verdict is Verdict.ERROR)
    parts += [f"{crashes} of the errors with a crash of the device"] if crashes else []
    parts += [f"{len(report.waived)} waived"] if report.waived else []
    flaws = report.flaws()
    parts += [words.plural(len(flaws), "declaration") + " wrong"] if flaws else []
    return f"{words.plural(len(report.results), 'case')}: " + ", ".join(parts)


def render(report: RunReport, verbose: bool = False) -> str:
    """Everything that is not a plain pass, then the counts."""
    lines: list[str] = []
    if report.error:
        lines += _nothing_ran(report)
    found = explain.groups(report)
    for number, group in enumerate(found, 1):
        lines += _group(report, number, group, verbose)
    lines += _reservations(report, verbose)
    lines += _nothing_applies(report)
    lines += _declarations(report, verbose)
    spent = sum(r.wall_us for r in report.results) / 1e6
    dut = f"{report.implementation} {report.implementation_version}".strip() or "not attached"
    lines.append(f"DUT: {report.attachment} ({dut})")
    if report.against:
        lines.append("against: {attachment} ({implementation} {version})".format(**report.against))
        lines += [words.far_breaches(report)] if words.far_breaches(report) else []
    if "profile" in report.pixit:
        lines.append(f"numbers: profile {report.pixit['profile']['name']}, SHA-256 {report.pixit['profile']['sha256']}")
    if report.select:
        lines.append(f"the cases are {words.chosen(report.select)}")
    if report.shard != (1, 1):
        lines.append(f"this is part {report.shard[0]} of {report.shard[1]}; `fcvi report merge` joins the parts")
    for line in phases.lines(phases.of(report.results, lambda: json_report.requirement_verdicts(report))):
        lines += _paragraph(line, "")
    lines.append(f"{counts(report)}; {spent:.2f} s")
    return "\n".join(_no_command(one_line(line)) for line in lines) + "\n"


def _no_command(line: str) -> str:
    """GitHub's runner takes a line that begins with two colons for a command, and in a paragraph any word can begin one."""
    words_alone = line.lstrip()
    return line if not words_alone.startswith("::") else line[: -len(words_alone)] + "\\x3a" + words_alone[1:]
