"""junit.xml: a test case for each result; what is not a pass is said as what it is.

The file keeps to what the schemas of Ant and of Jenkins both allow. The cases are one suite, whose counts are those of the
other formats; what is wrong with the declarations is a suite of its own, so that it fails a pipeline and falsifies no count.
"""

from __future__ import annotations

import xml.etree.ElementTree as Tree

from fcvi.engine.results import Result, RunReport, Verdict
from . import explain, words

_NO_DATE = "1970-01-01T00:00:00"


def _seconds(us: int) -> str:
    """To three decimals: the schema of Jenkins' xUnit plugin takes no more."""
    return f"{us / 1e6:.3f}"


def _suite(root: Tree.Element, number: int, name: str, report: RunReport) -> Tree.Element:
    """An empty suite, in the order of members that the schema of Ant asks for."""
    suite = Tree.SubElement(
        root, "testsuite", name=name, package="fcvi", id=str(number), hostname="localhost",
        timestamp=report.date[:19] or _NO_DATE, tests="0", failures="0", errors="0", skipped="0", time=_seconds(0),
    )  # fmt: skip
    properties = Tree.SubElement(suite, "properties")
    known = {
        "suite.version": report.suite_version, "suite.catalogue_sha256": report.catalogue_sha256, "dut": report.attachment,
        "dut.implementation": report.implementation, "dut.version": report.implementation_version, "seed": str(report.seed),
        "shard": f"{report.shard[0]}/{report.shard[1]}", **({"select": report.select} if report.select else {}),
    } | {f"pics.{item}": str(value).lower() for item, value in report.pics.items()}  # fmt: skip
    known |= {f"profile.{item}": value for item, value in report.pixit.get("profile", {}).items() if item != "text"}
    for key, value in known.items():
        Tree.SubElement(properties, "property", name=words.harmless(key), value=words.harmless(value))
    return suite


def _ended(suite: Tree.Element, said: list[str], trouble: list[str]) -> None:
    """The counts, from what is there, and what the suite as a whole has to say."""
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
    Tree.SubElement(suite, "system-out").text = words.harmless("\n".join(said))
    Tree.SubElement(suite, "system-err").text = words.harmless("\n".join(trouble))


def _case(suite: Tree.Element, report: RunReport, result: Result) -> None:
    clause = result.id.split("/")[0]
    case = Tree.SubElement(suite, "testcase", classname=f"fcvi.{clause}", name=result.id, time=_seconds(result.wall_us))
    waived = report.waived.get(result.id, "")
    reason = words.timed(result.reason)
    if waived or result.verdict in (Verdict.NOT_APPLICABLE, Verdict.INCONCLUSIVE):
        message = f"{result.verdict.value}: {reason}" + (f" (does not count: {waived})" if waived else "")
        Tree.SubElement(case, "skipped", message=words.harmless(message))
    elif result.verdict in (Verdict.FAIL, Verdict.ERROR):
        kind = "failure" if result.verdict is Verdict.FAIL else "error"
        message = explain.cause_of(result)[1] if result.verdict is Verdict.FAIL else reason
        entry = Tree.SubElement(case, kind, message=words.harmless(message), type=result.broken[0] if result.broken else kind)
        entry.text = words.harmless("\n".join([result.title, *explain.explain(report, result).lines()]))


def render(report: RunReport) -> bytes:
    """The file."""
    root = Tree.Element("testsuites")
    suite = _suite(root, 0, "fcvi", report)
    suite.set("time", _seconds(sum(r.wall_us for r in report.results)))
    for result in report.results:
        _case(suite, report, result)
    if report.error:  # a run that never began must not look like an empty success
        case = Tree.SubElement(suite, "testcase", classname="fcvi", name="run", time=_seconds(0))
        entry = Tree.SubElement(case, "error", message=words.harmless(report.error), type="error")
        entry.text = words.harmless("\n".join([report.error, *(f"its last words: {line}" for line in report.last_words)]))
    said = [f"{r.id}: {r.qualifier}: {words.timed(r.reason)}" for r in report.results if r.qualifier]
    _ended(suite, said, [f"{g.title}: {', '.join(r.id for r in g.results)}" for g in explain.groups(report)])
    flaws = report.flaws()
    if flaws:
        suite = _suite(root, 1, "fcvi.declarations", report)
        for number, flaw in enumerate(flaws, 1):
            case = Tree.SubElement(suite, "testcase", classname="fcvi.declarations", name=f"flaw {number}", time=_seconds(0))
            Tree.SubElement(case, "failure", message=words.harmless(flaw), type="declaration").text = words.harmless(flaw)
        _ended(suite, [], [])
    Tree.indent(root)
    return bytes(Tree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"
