"""The certificate: who tested what for whom and how, a verdict for every requirement, and the hashes of all files.

``certificate.json`` is made from report.json, the facts of the run in evidence/run.json, and the hashes alone, in one canonical
form. ``certificate.html`` is the same for people, ``statement.json`` for machines that read in-toto, ``SHA256SUMS`` covers every
file and is what a laboratory signs. ``verify.py`` makes them all again and compares.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import Any, Collection, Mapping

from fcvi.engine import pics as pics_module
from fcvi.engine.case import load_cases
from fcvi.engine.catalogue import load_errata, load_requirements
from fcvi.engine.files import encoded
from fcvi.engine.folder import Folder
from fcvi.engine.laboratory import ITEM, LAB, OF_CUSTOMER, missing
from fcvi.engine.results import RunReport
from . import canonical, diff, html, manifest, phases, proforma, words

JSON, HTML, STATEMENT, PDF = manifest.CERTIFICATE
#: Files that no hash in certificate.json covers: they are made from it, or cover it.
BESIDE = (JSON, STATEMENT, PDF, manifest.NAME, manifest.SIGNATURE)
SCHEMA = 2
_COPIED = ("suite", "dut", "pixit", "seed", "summary", "review", "deviations")
_FACTS = ("date", "ended", "host", "lab", "item", "commit", "clock", "select", "shard")
_DECISION_RULE = (
    "The item conforms when the whole list of cases ran, every applicable case passed, and the PICS claims all that is mandatory. "
    "Values are compared exactly; a time is in order within the tolerances early_us and late_us of the PIXIT. No measurement "
    "uncertainty is added. A declared deviation stays a broken requirement."
)


def facts_of(report: RunReport) -> dict[str, Any]:
    """What the certificate needs of a run beside report.json."""
    return {
        "date": report.date, "ended": report.ended, "host": report.host, "lab": report.lab, "item": report.item,
        "commit": report.commit, "clock": report.clock,
        "select": report.select, "shard": list(report.shard),
    }  # fmt: skip


def facts_in(run: Mapping[str, Any]) -> dict[str, Any]:
    """The same from evidence/run.json. Raises KeyError, TypeError."""
    facts = {name: run["dut"]["clock"] if name == "clock" else run[name] for name in _FACTS if name not in ("ended", "host")}
    return {**facts, "ended": str(run.get("ended", "")), "host": str(run.get("host", ""))}


def digest(hashes: Mapping[str, str]) -> str:
    """One hash for all: of the lines that sha256sum would print for the files, in the order of their names."""
    return hashlib.sha256(manifest.render(hashes)).hexdigest()


def applicable(pics: Mapping[str, Any]) -> list[str]:
    """The cases that a device of this PICS has to pass. Raises PicsError."""
    return [
        case.variant_id(variant)
        for case in load_cases()
        for variant in case.variants
        if pics_module.applies(case.applies, pics) and pics_module.applies(variant.applies, pics)
    ]


def listed() -> list[str]:
    """Every case of the books in force."""
    return [ident for case in load_cases() for ident in case.variant_ids()]


def _cases(report: Mapping[str, Any]) -> dict[str, Any]:
    """The cases that had to run and did: counts, and the hash of the list of applicable ones."""
    ran, known = [r["id"] for r in report["results"]], listed()
    try:
        due = applicable(report["dut"]["pics"])
    except pics_module.PicsError:  # not a whole PICS: nothing can be said to apply
        due = []
    # what was run took time; it may have found out that it does not apply, and the certificate says why
    tried = {r["id"] for r in report["results"] if r["verdict"] != "not-applicable" or r["wall_us"]}
    return {
        "listed": len(known), "complete": bool(due) and ran == known and tried == set(due), "applicable": len(due),
        "applicable_sha256": hashlib.sha256(encoded("".join(f"{ident}\n" for ident in due))).hexdigest(),
    }  # fmt: skip


def outcome(report: Mapping[str, Any], complete: bool = True) -> str:
    """What the certificate says, from report.json. complete: every case that applies to the device was tried."""
    summary = report["summary"]
    if "error" in report or summary["error"]:
        return "error"
    flaws = any(r["class"] == "violation" for r in report["review"])
    if summary["fail"] or flaws or any(d["status"] == "absent" for d in report["deviations"]):
        return "not conformant"
    return "inconclusive" if summary["inconclusive"] or not summary["pass"] or not complete else "conformant"


def _outside(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Why cases were not tested: each reason and how many there are, the most first."""
    counts: dict[str, int] = {}
    for result in report["results"]:
        if result["verdict"] == "not-applicable":
            counts[result["reason"]] = counts.get(result["reason"], 0) + 1
    return [{"reason": r, "cases": n} for r, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def build(report: Mapping[str, Any], facts: Mapping[str, Any], hashes: Mapping[str, str]) -> dict[str, Any]:
    """certificate.json, without the hash of certificate.html.

    Args:
        report: report.json.
        facts: facts_of or facts_in.
        hashes: SHA-256 of each file but BESIDE and certificate.html.
    """
    verdicts = {r.id: diff.NOT_TESTED for r in load_requirements()} | report["requirements"]
    cases, files = _cases(report), digest(hashes)
    lab = dict(facts["lab"])
    return {
        "schema": SCHEMA,
        "certificate": "fcvi",
        "number": lab.get("number") or f"{facts['date'][:10]}-{files[:12]}",
        "standard": html.standard(),
        "outcome": outcome(report, cases["complete"]),
        **{name: facts[name] for name in _FACTS},
        "issued": lab.get("issued") or facts["date"][:10],
        "draft": missing(lab, facts["item"]),
        "decision_rule": _DECISION_RULE,
        "cases": cases,
        "pics_sha256": canonical.sha256(report["dut"]["pics"]),
        "pixit_sha256": canonical.sha256(report["pixit"]),
        **{name: report[name] for name in _COPIED},
        "failed": [
            {"id": r["id"], "verdict": r["verdict"], "qualifier": r["qualifier"], "reason": r["reason"]}
            for r in report["results"]
            if r["verdict"] in ("fail", "error", "inconclusive") or r["qualifier"]
        ],
        "outside": _outside(report),
        "requirements": verdicts,
        "frames_checked": report.get("frames_checked", {}),
        **({"phases": report["phases"]} if "phases" in report else {}),
        "files_sha256": files,
        "files": {name: hashes[name] for name in sorted(hashes)},
    }


def statement(data: Mapping[str, Any], sha256: str) -> dict[str, Any]:
    """The in-toto statement of the certificate whose hash this is: predicate test-result, version 0.1."""
    firmware = data["item"].get("firmware_sha256")
    tested = [{"name": data["item"].get("firmware", "firmware"), "digest": {"sha256": firmware}}] if firmware else []
    ran: dict[str, list[str]] = {"pass": [], "fail": [], "inconclusive": []}
    for ident, verdict in data["requirements"].items():
        if verdict in ran:
            ran[verdict].append(ident)
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [*tested, {"name": JSON, "digest": {"sha256": sha256}}],
        "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
        "predicate": {
            "result": {"conformant": "PASSED", "inconclusive": "WARNED"}.get(data["outcome"], "FAILED"),
            "configuration": [
                {"name": "catalogue of requirements", "digest": {"sha256": data["suite"]["catalogue_sha256"]}},
                {"name": "list of applicable cases", "digest": {"sha256": data["cases"]["applicable_sha256"]}},
                {"name": "PICS", "digest": {"sha256": data["pics_sha256"]}},
                {"name": "PIXIT", "digest": {"sha256": data["pixit_sha256"]}},
            ],
            "passedTests": sorted(ran["pass"]),
            "warnedTests": sorted(ran["inconclusive"]),
            "failedTests": sorted(ran["fail"]),
        },
    }


def render(report: Mapping[str, Any], facts: Mapping[str, Any], hashes: Mapping[str, str]) -> dict[str, bytes]:
    """The page, the certificate and the statement."""
    data = build(report, facts, hashes)
    page = encoded(_page(data))
    data["files"] = {**data["files"], HTML: hashlib.sha256(page).hexdigest()}
    certified = canonical.dumps(data)
    return {
        HTML: page, JSON: certified,
        STATEMENT: canonical.dumps(statement(data, hashlib.sha256(certified).hexdigest())),
    }  # fmt: skip


def sums(folder: Folder, made: Mapping[str, bytes], hashes: Mapping[str, str]) -> bytes:
    """SHA256SUMS: the files that are hashed already, those just made, and a PDF that is there. Raises OSError."""
    found = dict(hashes) | {name: hashlib.sha256(data).hexdigest() for name, data in made.items()}
    if folder.has(PDF):
        found[PDF] = folder.sha256(PDF)
    return manifest.render(found)


# ---- the page ----

_ERRATUM = re.compile(r"\b[A-Z]\d+\b")

_MOST_FAILED = 12  # on the second page; the annex has them all


def _by_clause(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The requirements of each clause and annex by verdict."""
    parts: dict[str, list[str]] = {}
    verdicts = data["requirements"]
    for r in load_requirements():
        top = r.clause.split(".")[0].split(" ")[0]
        title = f"Clause {top}" if top.isdigit() else f"Annex {top}" if len(top) == 1 else top
        parts.setdefault(title, []).append(verdicts.get(r.id, diff.NOT_TESTED))
    rows = []
    for title, found in parts.items():
        applying = [v for v in found if v != "not-applicable"]
        verdict = html.worst(applying) if applying else "not-applicable"
        rows.append({"title": title, "verdict": verdict, "counts": {v: found.count(v) for v in html.VERDICTS}})
    return rows


def _untested(data: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Why requirements have no verdict, and how many."""
    known = {r.id: r for r in load_requirements()}
    of = [known[i] for i, v in data["requirements"].items() if v == diff.NOT_TESTED and i in known]
    found = [("not observable from outside the item", [r for r in of if not r.testable])]
    rest = [r for r in of if r.testable]
    found.append(("recommendations, permissions and examples", [r for r in rest if r.level != "shall"]))
    found.append(("not named by any case of this suite, nor seen in any frame", [r for r in rest if r.level == "shall"]))
    counted = [(why, len(rs)) for why, rs in found if rs]
    outside = sum(v == "not-applicable" for v in data["requirements"].values())
    return counted + ([("of functions that the PICS does not claim", outside)] if outside else [])


def _wrong(data: Mapping[str, Any]) -> list[str]:
    """Why the item does not conform, counted: nobody is to look for it behind page 1."""
    claims = sum(r["class"] == "violation" for r in data["review"])
    absent = sum(d["status"] == "absent" for d in data["deviations"])
    failed = data["summary"]["fail"]
    return [
        *([f"{words.plural(failed, 'case')} failed"] if failed else []),
        *([f"{words.plural(claims, 'claim')} of the PICS {'is' if claims == 1 else 'are'} missing or wrong"] if claims else []),
        *([f"{words.plural(absent, 'declared deviation')} did not occur"] if absent else []),
    ]


def _groups(data: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, int]]]]:
    """The requirements by verdict: each with the number of frames on which it was checked, 0 for those that cases decided."""
    frames: Mapping[str, int] = data["frames_checked"]
    return [
        (verdict, [(i, frames.get(i, 0)) for i, v in data["requirements"].items() if v == verdict])
        for verdict in html.VERDICTS
        if verdict in data["requirements"].values()
    ]  # fmt: skip


def _readings(data: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """Each erratum of which the item took the other reading, in a line, and in how many cases."""
    known, counts = load_errata(), Counter(
        number for r in data["failed"] if r["qualifier"] == "interpretation" for number in _ERRATUM.findall(r["reason"])
    )  # fmt: skip
    titles = {number: re.sub(r"^\[\w\] ", "", known[number].title) for number in counts if number in known}
    return [(number, titles[number], count) for number, count in sorted(counts.items()) if number in titles]


def _margin(number: str) -> str:
    """The number as a string of CSS. What is not plain is replaced: a stray quote must not end the style sheet."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "._/ -") else "_" for c in number)


def _page(data: dict[str, Any]) -> str:
    first, _ = html.asset("certificate.css")
    style, style_hash = html.inline(str(first).replace("CERTIFICATE-NUMBER", _margin(data["number"])))
    return words.harmless(html.environment().get_template("certificate.html.j2").render(
        c=data, style=style, style_hash=style_hash, lab_words=LAB, item_words=ITEM, clauses_of=_by_clause(data),
        verdicts=[v for v in html.VERDICTS if v in data["requirements"].values()], untested=_untested(data),
        groups=_groups(data), proforma=proforma.rows(data["dut"]["pics"]), pixit=html.declared({}, data["pixit"]),
        counts={name: list(data["requirements"].values()).count(name) for name in html.VERDICTS},
        phases=phases.lines(data.get("phases", [])), most=_MOST_FAILED, timed=words.timed, of_customer=OF_CUSTOMER,
        wrong=_wrong(data) if data["outcome"] == "not conformant" else [],
        plural=words.plural, readings=_readings(data), but=[r for r in data["failed"] if r["qualifier"] != "interpretation"],
        tone={"conformant": "pass", "inconclusive": "inconclusive"}.get(data["outcome"], "fail"),
    ))  # fmt: skip


OPTIONAL = frozenset({"phases"})  # members that a certificate has only where they say something


def members() -> Collection[str]:
    """Every member of certificate.json, the optional ones as well."""
    return (
        "schema", "certificate", "number", "standard", "outcome", *_FACTS, "issued", "draft", "decision_rule", "cases",
        "pics_sha256", "pixit_sha256", *_COPIED, "failed", "outside", "requirements", "frames_checked", "phases",
        "files_sha256", "files",
    )  # fmt: skip
