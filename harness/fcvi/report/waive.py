"""Failures that do not count in a pipeline: those that an earlier run had as well, and those in quarantine until a date.

Verdicts stay what they are in every file; only the exit status, and the mark of the case in JUnit, TAP and SARIF, leave them
out. A certification waives nothing.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Collection, Mapping, Optional

from fcvi.engine import strict
from fcvi.engine.case import load_cases
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.deviation import too_long
from fcvi.engine.files import FileError, read_file
from fcvi.engine.folder import load_report
from fcvi.engine.results import Result, RunReport, Verdict

_MOST = 1000
_MEMBERS = {"case", "requirement", "reason", "until"}
_WAIVABLE = (Verdict.FAIL, Verdict.INCONCLUSIVE)


@dataclass(frozen=True)
class Entry:
    """One [[quarantine]]: cases (a glob), if wanted one requirement only, why, and the last day on which it holds."""

    case: str
    reason: str
    until: date
    requirement: Optional[str] = None

    def covers(self, result: Result) -> bool:
        """Whether the entry is about this failure, and about all that it broke."""
        if not fnmatch.fnmatchcase(result.id, self.case) and not fnmatch.fnmatchcase(result.id.split("/")[0], self.case):
            return False
        return self.requirement is None or set(result.broken) == {self.requirement}


def _member(table: Mapping[str, Any], name: str, where: str) -> str:
    value = table[name]
    if not isinstance(value, str) or not value.strip():
        raise FileError(f"{where}: {name} must be words, not {value!r:.60}")
    try:
        too_long({name: value})
    except ValueError as error:
        raise FileError(f"{where}: {error}") from error
    return value


def load_quarantine(path: Path, variants: Collection[str], requirements: Collection[str]) -> list[Entry]:
    """The entries of a quarantine file. Raises FileError for what cannot be read, names nothing, or has no last day."""
    try:
        data = strict.toml(read_file(path))
    except ValueError as error:
        raise FileError(f"{path}: not a TOML file: {' '.join(str(error).split())[:200]}") from error
    tables = data.pop("quarantine", [])
    if data or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise FileError(f"{path}: a quarantine file has [[quarantine]] tables and nothing else")
    if len(tables) > _MOST:
        raise FileError(f"{path}: {len(tables)} entries are more than the {_MOST} that are compared with every case")
    entries = []
    for number, table in enumerate(tables, 1):
        where = f"{path}: quarantine {number}"
        unknown = sorted(set(table) - _MEMBERS)
        if unknown:
            raise FileError(f"{where}: unknown item {unknown[0]!r}; known: {', '.join(sorted(_MEMBERS))}")
        lacking = sorted({"case", "reason", "until"} - set(table))
        if lacking:
            raise FileError(f"{where}: it needs {' and '.join(lacking)}")
        if type(table["until"]) is not date:  # pylint: disable=unidiomatic-typecheck
            raise FileError(f"{where}: until must be a date such as 2027-01-31, not {table['until']!r:.60}")
        requirement = _member(table, "requirement", where) if "requirement" in table else None
        entry = Entry(_member(table, "case", where), _member(table, "reason", where), table["until"], requirement)
        if not any(entry.covers(Result(v, "", Verdict.FAIL, broken=[requirement or ""])) for v in variants):
            raise FileError(f"{where}: no case matches {entry.case!r}; `fcvi list` shows what there is")
        if requirement is not None and requirement not in requirements:
            raise FileError(f"{where}: no requirement has the id {requirement!r}")
        entries.append(entry)
    return entries


def load_baseline(path: Path) -> dict[str, tuple[str, set[str]]]:
    """Of each case that did not pass in an earlier run: its verdict and what it broke. path: report directory or report.json.

    Raises FileError.
    """
    file, data = load_report(path)
    try:
        if data.get("error"):
            raise FileError(f"{file}: nothing ran there ({str(data['error'])[:100]}), so it is no baseline")
        return {
            str(r["id"]): (str(r["verdict"]), {str(i) for i in r["broken"]})
            for r in data["results"]
            if r["verdict"] in {v.value for v in _WAIVABLE}
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{file}: not a report.json of this version of fcvi") from error


Waivers = tuple[dict[str, tuple[str, set[str]]], str, list[Entry]]


def load(baseline: Optional[Path], quarantine: Optional[Path]) -> Waivers:
    """Baseline, its name, and quarantine, as `apply` takes them. Raises FileError."""
    known = load_baseline(baseline) if baseline is not None else {}
    entries = []
    if quarantine is not None:
        variants = [ident for case in load_cases() for ident in case.variant_ids()]
        entries = load_quarantine(quarantine, variants, load_catalogue().levels)
    return known, str(baseline or ""), entries


def why(result: Result, baseline: Mapping[str, tuple[str, set[str]]], name: str, entries: Collection[Entry], on: str) -> str:
    """Why a failure does not count; "" when it does. on: the day of the run, ISO 8601."""
    known = baseline.get(result.id)
    if result.verdict not in _WAIVABLE:
        return ""
    if known is not None and known[0] == result.verdict.value and set(result.broken) <= known[1]:
        return f"known from {name}"
    today = _day(on)
    entry = next((e for e in entries if e.covers(result) and today <= e.until), None)
    return f"in quarantine until {entry.until}: {entry.reason}" if entry is not None else ""


def _day(of: str) -> date:
    return date.fromisoformat(of[:10])


def apply(report: RunReport, baseline: Mapping[str, tuple[str, set[str]]], name: str, entries: Collection[Entry]) -> list[str]:
    """Fill report.waived. Gives one line for each entry whose time is over and for each that nothing needs any more."""
    if name:
        report.baseline = {"name": name, "failed": {ident: verdict for ident, (verdict, _) in baseline.items()}}
    today = _day(report.date)
    used: set[Entry] = set()
    for result in report.results:
        if result.verdict not in _WAIVABLE:
            continue
        used |= {entry for entry in entries if entry.covers(result)}
        reason = why(result, baseline, name, entries, report.date)
        if reason:
            report.waived[result.id] = reason
    ran = [r.id for r in report.results if r.verdict in (Verdict.PASS, *_WAIVABLE)]
    lines = [f"quarantine of {e.case} ended on {e.until}: {e.reason}" for e in entries if today > e.until]
    for entry in entries:
        about = any(entry.covers(Result(i, "", Verdict.FAIL, broken=[entry.requirement or ""])) for i in ran)
        if about and entry not in used and today <= entry.until:
            lines.append(f"quarantine of {entry.case} is not needed any more: nothing of it fails")
    return lines
