"""Writes what a job of GitHub shows of a run: annotations of the job, and a summary in Markdown.

Both are made from ``report.json``. What a device or a lab says is hostile: it can neither end an annotation nor begin a command of
the runner, and no mark of Markdown or HTML in it has an effect.
"""

from __future__ import annotations

import html
from typing import Any, Iterable, Mapping

from fcvi.engine.results import Verdict
from . import words

_MOST_ANNOTATIONS = 10  # GitHub shows no more of each kind for a step
_MOST_ROWS = 50
_COMMANDS = {Verdict.FAIL.value: "error", Verdict.ERROR.value: "error", Verdict.INCONCLUSIVE.value: "warning"}


class Cause:
    """Cases that did not pass for one reason."""

    def __init__(self, verdict: str, requirement: str, reason: str) -> None:
        self.verdict, self.requirement, self.reason = verdict, requirement, reason
        self.cases: list[Mapping[str, Any]] = []

    @property
    def example(self) -> Mapping[str, Any]:
        """The case with the fewest frames."""
        return min(self.cases, key=lambda case: int(case["frames"]))


def causes(report: Mapping[str, Any]) -> list[Cause]:
    """What did not pass and is not waived: failures first, the most frequent cause first."""
    found: dict[tuple[str, str, str], Cause] = {}
    for result in report["results"]:
        if result["verdict"] not in _COMMANDS or result["id"] in report.get("waived", {}):
            continue
        requirement = next(iter(result["broken"]), "")
        said = next((f for f in result["findings"] if f["requirement"] == requirement), None)
        reason = words.anywhere(str(said["message"])) if said is not None and requirement else words.timed(str(result["reason"]))
        key = (result["verdict"], requirement, words.sorted_out(reason))
        found.setdefault(key, Cause(result["verdict"], requirement, reason)).cases.append(result)
    order = list(_COMMANDS)
    return sorted(found.values(), key=lambda cause: (order.index(cause.verdict), -len(cause.cases)))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def annotated(report: Mapping[str, Any]) -> list[str]:
    """Commands of the runner, one a line: an annotation for each cause."""
    lines = []
    if report.get("error"):
        lines.append(f"::error title=fcvi::{_data(words.harmless(str(report['error'])))}")
    for cause in causes(report):
        ident = str(cause.example["id"])
        title = f"{words.plural(len(cause.cases), 'case')}: {cause.requirement or cause.verdict}"
        text = words.harmless(f"{cause.reason} (for one: {ident})")
        lines.append(f"::{_COMMANDS[cause.verdict]} title={_property(words.harmless(title))}::{_data(text)}")
    left = len(lines) - _MOST_ANNOTATIONS
    more = f"::error title=fcvi::and {left + 1} causes more, in the report"
    return lines if left <= 0 else [*lines[: _MOST_ANNOTATIONS - 1], more]


def _cell(text: object) -> str:
    """Text for a cell of a table in Markdown: nothing in it is markup."""
    plain = " ".join(words.harmless(str(text)).split())
    return "".join(f"&#{ord(c)};" if c in "|`*_[]()!~\\#:@/'" else html.escape(c) for c in plain)


def _rows(found: Iterable[Cause]) -> list[str]:
    return [
        f"| {_cell(cause.verdict)} | {len(cause.cases)} | {_cell(cause.requirement)} | {_cell(cause.reason)} | "
        f"{_cell(cause.example['id'])} |"
        for cause in found
    ]


def summary(report: Mapping[str, Any]) -> str:
    """The summary of the job, as Markdown."""
    counts, dut = report["summary"], report["dut"]
    lines = [
        "## Conformance", "",
        f"Device: {_cell(dut['implementation'] or dut['attachment'])} {_cell(dut['version'])}", "",
        "| pass | fail | inconclusive | error | not applicable |", "| ---: | ---: | ---: | ---: | ---: |",
        f"| {counts['pass']} | {counts['fail']} | {counts['inconclusive']} | {counts['error']} | {counts['not-applicable']} |", "",
    ]  # fmt: skip
    if report.get("select"):
        lines += [f"These are selected cases alone, {_cell(words.chosen(str(report['select'])))}.", ""]
    if report.get("error"):
        lines += [f"**Nothing ran:** {_cell(report['error'])}", ""]
    found = causes(report)
    if found:
        lines += ["| verdict | cases | requirement | cause | simplest case |", "| --- | ---: | --- | --- | --- |"]
        lines += _rows(found[:_MOST_ROWS])
        if len(found) > _MOST_ROWS:
            lines += ["", f"{len(found) - _MOST_ROWS} causes more are in the report."]
    if report.get("waived"):
        lines += ["", f"{words.plural(len(report['waived']), 'case')} did not count: known from the baseline, or in quarantine."]
    return "\n".join(lines) + "\n"
