"""report.tap: TAP version 14 with diagnostics."""

from __future__ import annotations

import json

from fcvi.engine.files import one_line
from fcvi.engine.results import Result, RunReport, Verdict


def _line(number: int, result: Result) -> str:
    ok = "not ok" if result.verdict in (Verdict.FAIL, Verdict.ERROR) else "ok"
    directive = ""
    if result.verdict in (Verdict.NOT_APPLICABLE, Verdict.INCONCLUSIVE):
        directive = f" # SKIP {result.verdict.value}: {' '.join(result.reason.split())}"
    return f"{ok} {number} - {result.id}{directive}"


def _diagnostics(result: Result) -> list[str]:
    lines = ["  ---", f"  verdict: {result.verdict.value}", f"  reason: {json.dumps(result.reason)}"]
    if result.findings:
        lines.append("  findings:")
        lines += [f"    - {json.dumps(f.as_json())}" for f in result.findings]
    return [*lines, "  ..."]


def render(report: RunReport) -> str:
    """The file."""
    flaws = report.flaws()
    lines = ["TAP version 14", f"1..{len(report.results) + len(flaws)}"]
    for number, result in enumerate(report.results, 1):
        lines.append(_line(number, result))
        if result.verdict in (Verdict.FAIL, Verdict.ERROR) or result.findings:
            lines += _diagnostics(result)
    for number, flaw in enumerate(flaws, len(report.results) + 1):
        lines.append(f"not ok {number} - {' '.join(flaw.split()).replace('#', chr(92) + '#')}")
    if report.error:
        lines.append(f"Bail out! {' '.join(report.error.split())}")
    return "\n".join(one_line(line) for line in lines) + "\n"
