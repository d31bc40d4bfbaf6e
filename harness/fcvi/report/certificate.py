"""The certificate: who was tested by what, a verdict for every requirement, and the hashes of the evidence.

``certificate.json`` is made from report.json, the date and the hashes alone, so that it can be checked against them
(check). ``certificate.html`` is the same for people; its hash stands in certificate.json.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, Mapping

from fcvi.engine.catalogue import load_requirements
from fcvi.engine.files import FileError, encoded, read_json
from . import html

JSON, HTML = "certificate.json", "certificate.html"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_COPIED = ("suite", "dut", "pixit", "seed", "summary", "review", "deviations")


def digest(hashes: Mapping[str, str]) -> str:
    """One hash for all: of the lines that sha256sum would print for the files, in the order of their names."""
    lines = "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes))
    return hashlib.sha256(encoded(lines)).hexdigest()


def outcome(report: Mapping[str, Any]) -> str:
    """What the certificate says, from report.json."""
    summary = report["summary"]
    if "error" in report or summary["error"]:
        return "error"
    flaws = any(r["class"] == "violation" for r in report["review"])
    if summary["fail"] or flaws or any(d["status"] == "absent" for d in report["deviations"]):
        return "not conformant"
    return "inconclusive" if summary["inconclusive"] or not summary["pass"] else "conformant"


def build(report: Mapping[str, Any], date: str, hashes: Mapping[str, str], requirements: Iterable[str]) -> dict[str, Any]:
    """certificate.json, without the hash of certificate.html."""
    verdicts = {ident: html.NOT_TESTED for ident in requirements} | report["requirements"]
    return {
        "schema": 1,
        "certificate": "fcvi",
        "standard": "ISO/IEC 14165-331:2007",
        "outcome": outcome(report),
        "date": date,
        **{name: report[name] for name in _COPIED},
        "failed": [
            {"id": r["id"], "verdict": r["verdict"], "qualifier": r["qualifier"], "reason": r["reason"]}
            for r in report["results"]
            if r["verdict"] in ("fail", "error", "inconclusive") or r["qualifier"]
        ],
        "requirements": verdicts,
        "files_sha256": digest(hashes),
        "files": {name: hashes[name] for name in sorted(hashes)},
    }


def render(report: Mapping[str, Any], date: str, hashes: Mapping[str, str]) -> dict[str, bytes]:
    """Both files."""
    catalogue = load_requirements()
    data = build(report, date, hashes, [r.id for r in catalogue])
    style, style_hash = html.asset("style.css")
    counts = {name: list(data["requirements"].values()).count(name) for name in html.VERDICTS}
    tested = [(ident, v) for ident, v in data["requirements"].items() if v != html.NOT_TESTED]
    others = [(ident, v) for ident, v in data["requirements"].items() if v == html.NOT_TESTED]
    page = encoded(
        html.environment().get_template("certificate.html.j2").render(
            c=data, counts=counts, catalogue={r.id: r for r in catalogue}, style=style, style_hash=style_hash,
            tables=[("Requirements that were tested", tested, False), ("Requirements that were not tested", others, True)],
            unobservable=sum(not r.testable and data["requirements"][r.id] == html.NOT_TESTED for r in catalogue),
            frames_checked=report.get("frames_checked", {}),
            declared=html.declared(report["dut"]["pics"], report["pixit"]),
            tone={"conformant": "pass", "inconclusive": "inconclusive"}.get(data["outcome"], "fail"),
        )  # fmt: skip
    )
    data["files"] = {**data["files"], HTML: hashlib.sha256(page).hexdigest()}
    return {HTML: page, JSON: encoded(json.dumps(data, indent=1, ensure_ascii=False) + "\n")}


# ---- checking ----


@dataclass
class Check:
    """What became of a certificate's files. disagrees: members of certificate.json that report.json contradicts."""

    outcome: str
    sha256: str
    files: int = 0
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    additional: list[str] = field(default_factory=list)
    disagrees: list[str] = field(default_factory=list)

    def holds(self) -> bool:
        """Whether everything is as it was certified."""
        return not (self.changed or self.missing or self.additional or self.disagrees)


def sha256_of(path: Path) -> str:
    """Of a file, without holding it in memory. Raises OSError."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def _walk(directory: Path) -> Iterable[tuple[str, os.stat_result, Path]]:
    """Everything below that is no directory; links are not followed. Raises OSError."""

    def fail(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(directory, onerror=fail):
        for name in sorted(names) + [f for f in folders if os.path.islink(os.path.join(folder, f))]:
            path = Path(folder, name)
            yield path.relative_to(directory).as_posix(), path.lstat(), path


def check(directory: Path) -> Check:
    """Compare a report directory with its certificate.

    No name of the certificate is ever opened: only what is found in the directory. Raises FileError, OSError.
    """
    path = directory / JSON
    certified = read_json(path)
    hashes = certified.get("files") if isinstance(certified, dict) and certified.get("certificate") == "fcvi" else None
    if not isinstance(hashes, dict) or not all(isinstance(h, str) and _SHA256.fullmatch(h) for h in hashes.values()):
        raise FileError(f"{path}: not a certificate of fcvi")
    result = Check(str(certified.get("outcome"))[:40], sha256_of(path))
    seen: set[str] = set()
    for name, status, file in _walk(directory):
        if name == JSON:
            continue
        seen.add(name)
        if name not in hashes:
            result.additional.append(name)
        elif not stat.S_ISREG(status.st_mode) or sha256_of(file) != hashes[name]:
            result.changed.append(name)
    result.missing = sorted(set(hashes) - seen)
    result.files = len(hashes)
    if "report.json" in seen and "report.json" not in result.changed:
        result.disagrees = _disagreements(certified, read_json(directory / "report.json"))
    return result


def _disagreements(certified: dict[str, Any], report: Any) -> list[str]:
    """Members of the certificate other than what report.json gives."""
    try:
        hashes = {name: value for name, value in certified["files"].items() if name != HTML}
        expected = build(report, certified["date"], hashes, list(certified["requirements"]))
    except (KeyError, TypeError, AttributeError):
        return ["its shape"]
    expected["files"] = certified["files"]
    return sorted(name for name in {*expected, *certified} if expected.get(name) != certified.get(name))
