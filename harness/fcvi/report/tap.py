"""report.tap: TAP version 13, which every reader of TAP knows, with the explanation of each failure as its diagnostics."""

from __future__ import annotations

from fcvi.engine.files import one_line
from fcvi.engine.results import Result, RunReport, Verdict
from . import explain, words


def _safe(text: str) -> str:
    """On one line, and without a character that a reader of TAP would take for the beginning of a directive."""
    return one_line(" ".join(text.split())).replace("\\", "\\\\").replace("#", "\\#")


def _quoted(text: str) -> str:
    """A double-quoted scalar of the small YAML that TAP::Parser reads."""
    return '"' + one_line(" ".join(text.split())).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _line(number: int, result: Result, waived: str) -> str:
    name = f"{number} - {_safe(result.id)}"
    if result.verdict in (Verdict.FAIL, Verdict.ERROR):
        return f"not ok {name}" + (f" # TODO {_safe(waived)}" if waived else "")
    if result.verdict in (Verdict.NOT_APPLICABLE, Verdict.INCONCLUSIVE):
        return f"ok {name} # SKIP {result.verdict.value}: {_safe(words.timed(result.reason))}"
    return f"ok {name}"


def _diagnostics(report: RunReport, result: Result) -> list[str]:
    lines = ["  ---", f"  verdict: {_quoted(result.verdict.value)}", f"  title: {_quoted(result.title)}"]
    if result.broken:
        lines.append("  requirements:")
        lines += [f"    - {_quoted(ident)}" for ident in result.broken]
    lines.append("  explanation: |")
    lines += [f"    {one_line(' '.join(line.split()))}" for line in explain.explain(report, result).lines()]
    return [*lines, "  ..."]


def render(report: RunReport) -> str:
    """The file. What is wrong with the declarations follows the cases, one test each."""
    flaws = report.flaws()
    lines = ["TAP version 13", f"1..{len(report.results) + len(flaws) or 1}"]
    for number, result in enumerate(report.results, 1):
        lines.append(_line(number, result, report.waived.get(result.id, "")))
        if result.verdict in (Verdict.FAIL, Verdict.ERROR):
            lines += _diagnostics(report, result)
    for number, flaw in enumerate(flaws, len(report.results) + 1):
        lines.append(f"not ok {number} - {_safe(flaw)}")
    if report.error:
        lines += [f"# {_safe(line)}" for line in report.last_words]
        lines.append(f"Bail out! {_safe(report.error)}")
    return "\n".join(lines) + "\n"
