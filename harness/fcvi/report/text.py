"""The report in words, for a terminal and for report.txt."""

from __future__ import annotations

from fcvi.engine.files import one_line
from fcvi.engine.results import Finding, Result, RunReport, Verdict


def _where(f: Finding) -> str:
    parts = []
    if f.frame is not None:
        parts.append(f"frame {f.frame}")
    if f.byte is not None:
        parts.append(f"byte {f.byte}" + (f" bits {f.bits}" if f.bits else ""))
    if f.time_us is not None:
        parts.append(f"at {f.time_us} us")
    return ", ".join(parts)


def _finding(f: Finding) -> list[str]:
    tolerated = f" (tolerated: {f.erratum})" if f.erratum else ""
    where = _where(f)
    return [
        f"    {f.requirement} [{f.cls}]{tolerated} {f.message}",
        f"      seen {f.seen}, required {f.required}" + (f"; {where}" if where else ""),
    ]


def _result(result: Result, verbose: bool) -> list[str]:
    qualifier = f" [{result.qualifier}]" if result.qualifier else ""
    lines = [f"{result.verdict.value}{qualifier}: {result.id}  {result.title}"]
    if result.reason:
        lines.append(f"    {result.reason}")
    for finding in result.findings:
        lines += _finding(finding)
    if verbose:
        lines += [f"    | {line}" for line in result.log]
    return lines


def _qualified(report: RunReport) -> dict[str, int]:
    names = {"deviation": "a declared deviation", "interpretation": "another reading of an erratum"}
    counts = {words: sum(r.qualifier == name for r in report.results) for name, words in names.items()}
    return {words: count for words, count in counts.items() if count}


def render(report: RunReport, verbose: bool = False) -> str:
    """Everything that is not a plain pass, then the counts."""
    lines = []
    shown = [r for r in report.results if r.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE) or r.qualifier]
    for result in shown:
        lines += [*_result(result, verbose), ""]
    if report.error:
        lines += [f"nothing ran: {report.error}", ""]
    for review in report.review:
        tolerated = f" (tolerated: {review.erratum})" if review.erratum else ""
        lines.append(f"PICS {review.kind} [{review.cls}]{tolerated} {review.requirement}: {review.message}")
        lines.append(f"      claimed {review.seen}, required {review.required}")
    for outcome in report.deviations:
        happened = {"occurred": f"occurred {len(outcome.occurred)} times", "absent": "did NOT occur"}
        lines.append(f"deviation {outcome.deviation.words()}: {happened.get(outcome.status, 'was not tested')}")
        lines.append(f"      {outcome.deviation.reason}")
    if report.review or report.deviations:
        lines.append("")
    counts = report.summary()
    spent = sum(r.wall_us for r in report.results) / 1e6
    dut = f"{report.implementation} {report.implementation_version}".strip() or "not attached"
    lines.append(f"DUT: {report.attachment} ({dut})")
    lines.append(
        f"{len(report.results)} cases: "
        + ", ".join(f"{count} {name}" for name, count in counts.items() if count or name in ("pass", "fail"))
        + "".join(f", {count} with {name}" for name, count in _qualified(report).items())
        + f"; {spent:.2f} s"
    )
    return "\n".join(one_line(line) for line in lines) + "\n"
