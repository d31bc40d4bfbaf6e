"""report.sarif: what did not pass as SARIF 2.1.0, for code hosts that show findings beside a change.

Each finding points at the capture of its case. What is waived is suppressed, with the reason as its justification.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, Iterable, Mapping, Optional
from urllib.parse import quote

from fcvi.engine.evidence import stem
from fcvi.engine.results import Finding, Result, RunReport, Verdict
from . import explain, words

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Verdict.FAIL: "error", Verdict.ERROR: "error", Verdict.INCONCLUSIVE: "warning"}
_NO_RULE = {
    "fcvi.error": "The suite or the attachment of the device failed, so that nothing follows about the device.",
    "fcvi.inconclusive": "The case could not be brought to a verdict.",
    "fcvi.declaration": "The PICS contradicts itself, or a declared deviation did not occur.",
}


def _rule(ident: str, text: str, clause: str = "") -> dict[str, Any]:
    rule: dict[str, Any] = {"id": ident, "shortDescription": {"text": text}, "fullDescription": {"text": text}}
    return {**rule, "properties": {"clause": clause}} if clause else rule


def rules(idents: Iterable[str]) -> list[dict[str, Any]]:
    """The requirements (and what stands for none) that results name, sorted."""
    known = explain.requirements()
    return [
        _rule(ident, known[ident].statement, known[ident].clause) if ident in known else _rule(ident, _NO_RULE.get(ident, ident))
        for ident in sorted(set(idents))
    ]


def log(
    version: str, results: list[dict[str, Any]], properties: Mapping[str, Any], date: str = "", errors: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> str:  # fmt: skip
    """The file: one run of one tool. errors: why it could not do its work; notes: what else a reader has to know."""
    failed = [{"level": "error", "message": {"text": text}} for text in errors]
    told = [*failed, *({"level": "note", "message": {"text": text}} for text in notes)]
    invocation: dict[str, Any] = {"executionSuccessful": not failed}
    invocation |= {"startTimeUtc": date} if date else {}
    invocation |= {"toolExecutionNotifications": told} if told else {}
    driver = {"name": "fcvi", "version": version, "rules": rules(r["ruleId"] for r in results)}
    run = {
        "tool": {"driver": driver}, "invocations": [invocation], "results": results, "columnKind": "utf16CodeUnits",
        "properties": dict(properties),
    }  # fmt: skip
    return json.dumps(_harmless({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}), indent=1, ensure_ascii=False) + "\n"


def _harmless(value: Any) -> Any:
    """A viewer shows the strings as they are."""
    if isinstance(value, dict):
        return {name: _harmless(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_harmless(member) for member in value]
    return words.harmless(value) if isinstance(value, str) else value


def result_of(
    rule: str, level: str, text: str, file: str, place: str, byte: Optional[int] = None, size: int = 1
) -> dict[str, Any]:
    """One finding. place: the case or the frame, in words; byte: its offset in the file, when that is known."""
    # code hosts show nothing without a line, and a capture has none: the first stands for the whole file
    region = {"startLine": 1} if byte is None else {"byteOffset": byte, "byteLength": size}
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(os.fsencode(file))}, "region": region}
    print_ = hashlib.sha256(f"{rule}\n{place}\n{words.sorted_out(text)}".encode("utf-8", "backslashreplace")).hexdigest()
    return {
        "ruleId": rule, "level": level, "message": {"text": text},
        "locations": [{"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": place}]}],
        "partialFingerprints": {"fcvi/v1": print_},
    }  # fmt: skip


def _results(report: RunReport, result: Result) -> list[dict[str, Any]]:
    lines = explain.explain(report, result).lines()
    file = stem(result.id) + ".pcapng" if result.frames else "report.json"
    found = []
    for finding in explain.failing(result) if result.verdict is Verdict.FAIL else []:
        text = words.timed(f"{finding.message}: {finding.seen}; required: {finding.required}")
        found.append((finding.requirement, "\n".join([f"{result.id}: {text}", *lines])))
    if not found:
        rule = f"fcvi.{'inconclusive' if result.verdict is Verdict.INCONCLUSIVE else 'error'}"
        found = [(rule, "\n".join([f"{result.id}: {words.timed(result.reason)}", *lines]))]
    made = [result_of(rule, _LEVELS[result.verdict], text, file, result.id) for rule, text in found]
    waived = report.waived.get(result.id)
    for entry in made if waived else ():
        entry["suppressions"] = [{"kind": "external", "status": "accepted", "justification": waived}]
    return made


def render(report: RunReport) -> str:
    """The file."""
    results = [entry for r in report.results if r.verdict in _LEVELS for entry in _results(report, r)]
    results += [result_of("fcvi.declaration", "error", flaw, "report.json", "declarations") for flaw in report.flaws()]
    properties = {"dut": report.attachment, "seed": report.seed, "summary": report.summary()}
    properties |= {"select": report.select} if report.select else {}
    errors = [report.error, *report.last_words] if report.error else []
    return log(report.suite_version, results, properties, report.date, errors)


_CLASSES = {"violation": "error", "malformed": "error", "notice": "note"}


def of_captures(
    version: str, findings: Iterable[tuple[str, int, Finding]], summary: Mapping[str, Any], left_off: int, whole: bool
) -> str:
    """The findings of ``fcvi lint``, each with its file and the number of its record.

    left_off: how many more there are; whole: each capture was read to its end and judged.
    """
    made = []
    for file, number, f in findings:
        where = "" if f.byte is None else f" at byte {f.byte} of the frame" + (f" bits {f.bits}" if f.bits else "")
        text = f"frame {number}: {f.message}{where}: seen {f.seen}, required {f.required}"
        entry = result_of(f.requirement, _CLASSES.get(f.cls, "warning"), text, file, f"frame {number}")
        entry["properties"] = {"class": f.cls, "frame": number, **({"erratum": f.erratum} if f.erratum else {})}
        made.append(entry)
    notes = [f"{left_off} more findings are not in this file"] if left_off else []
    errors = [] if whole else ["a capture could not be read to its end, or nothing of FC-VI in it was judged"]
    return log(version, made, {"summary": dict(summary)}, errors=errors, notes=notes)
