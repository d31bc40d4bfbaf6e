"""junit.xml: a test case for each result; what is not a pass is said as what it is."""

from __future__ import annotations

import re
import xml.etree.ElementTree as Tree

from fcvi.engine.results import RunReport, Verdict

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd]")


def _clean(words: str) -> str:
    return _UNPRINTABLE.sub("?", words)


def render(report: RunReport) -> bytes:
    """The file."""
    counts = report.summary()
    suite = Tree.Element(
        "testsuite", name="fcvi", tests=str(len(report.results)), failures=str(counts["fail"]),
        errors=str(counts["error"]), skipped=str(counts["not-applicable"] + counts["inconclusive"]),
        time=f"{sum(r.wall_us for r in report.results) / 1e6:.6f}",
    )  # fmt: skip
    for result in report.results:
        clause = result.id.split("/")[0]
        case = Tree.SubElement(
            suite, "testcase", classname=f"fcvi.{clause}", name=result.id, time=f"{result.wall_us / 1e6:.6f}"
        )
        words = _clean(result.reason)
        if result.verdict is Verdict.FAIL:
            detail = "\n".join(f"{f.requirement}: {f.message} ({f.seen}; required {f.required})" for f in result.findings)
            Tree.SubElement(case, "failure", message=words, type="fail").text = _clean(detail)
        elif result.verdict is Verdict.ERROR:
            Tree.SubElement(case, "error", message=words, type="error")
        elif result.qualifier is not None:
            Tree.SubElement(case, "system-out").text = f"{result.qualifier}: {words}"
        elif result.verdict in (Verdict.NOT_APPLICABLE, Verdict.INCONCLUSIVE):
            Tree.SubElement(case, "skipped", message=f"{result.verdict.value}: {words}")
    flaws = report.flaws()
    if flaws:
        suite.set("tests", str(len(report.results) + len(flaws)))
        suite.set("failures", str(counts["fail"] + len(flaws)))
    for number, flaw in enumerate(flaws, 1):
        case = Tree.SubElement(suite, "testcase", classname="fcvi.declarations", name=f"flaw {number}", time="0.000000")
        Tree.SubElement(case, "failure", message=_clean(flaw), type="fail")
    if report.error:  # a run that never began must not look like an empty success
        suite.set("tests", "1")
        suite.set("errors", "1")
        case = Tree.SubElement(suite, "testcase", classname="fcvi", name="run", time="0.000000")
        Tree.SubElement(case, "error", message=_clean(report.error), type="error")
    Tree.indent(suite)
    return bytes(Tree.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"
