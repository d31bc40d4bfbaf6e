"""Finds what changed between two runs, from their report.json files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Optional

from fcvi.engine.files import FileError, damage, one_line
from fcvi.engine.folder import load_report
from fcvi.engine.words import as_json

#: As the report calls a requirement of which no case tells.
NOT_TESTED = "not-tested"
_RANK = {"not-applicable": 0, "pass": 0, "inconclusive": 1, "fail": 2, "error": 3}
_LONGEST_NAME = 200  # of what a report is about: the name of an object stands before that of each member
_TIMES = re.compile(r"(?<!\d)\d+ us")


@dataclass(frozen=True)
class Outcome:
    """A case's result as far as two runs are compared."""

    verdict: str
    qualifier: Optional[str]
    reason: str

    def words(self) -> str:
        """The verdict with its qualifier."""
        return f"{self.verdict} [{self.qualifier}]" if self.qualifier else self.verdict


@dataclass
class Run:
    """One report. about: what a reader has to know to judge the differences, flat."""

    path: str
    about: dict[str, Any]
    cases: dict[str, Outcome]
    requirements: dict[str, str]
    deviations: dict[str, str]


@dataclass
class Difference:
    """Everything that differs; ``about`` alone is no difference."""

    about: list[dict[str, Any]] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    reasons: list[dict[str, Any]] = field(default_factory=list)
    new: list[dict[str, Any]] = field(default_factory=list)
    removed: list[dict[str, Any]] = field(default_factory=list)
    requirements: list[dict[str, Any]] = field(default_factory=list)
    deviations: list[dict[str, Any]] = field(default_factory=list)

    def differs(self) -> bool:
        """Whether a verdict, a reason, a case, a requirement or a deviation does."""
        return any(v for name, v in vars(self).items() if name != "about")

    def as_json(self) -> dict[str, Any]:
        """As ``--json`` prints it."""
        return {"differs": self.differs(), **vars(self)}


def _flat(prefix: str, value: Any) -> dict[str, Any]:
    if len(prefix) > _LONGEST_NAME:
        raise ValueError(f"the name {prefix[:40]!r}... is too long")
    if not isinstance(value, dict):
        return {prefix: value}
    return {k: v for name, inner in value.items() for k, v in _flat(f"{prefix}.{name}", inner).items()}


def load(path: Path) -> Run:
    """A report directory, or a report.json. Raises FileError."""
    file, data = load_report(path)
    try:
        return _run(str(path), data)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FileError(f"{file}: not a report of fcvi: {damage(error)}") from error


def _run(path: str, data: Any) -> Run:
    if data["schema"] != 1:
        raise ValueError("another schema")
    cases: dict[str, Outcome] = {}
    for result in data["results"]:
        if _text(result["verdict"]) not in _RANK or result["id"] in cases:
            raise ValueError(f"result {result['id']!r:.60}")
        cases[_text(result["id"])] = Outcome(result["verdict"], _maybe(result["qualifier"]), _text(result["reason"]))
    about = {k: v for name in ("suite", "dut", "pixit", "seed") for k, v in _flat(name, data[name]).items()}
    about |= {name: data.get(name) for name in ("select", "error")}
    deviations = {
        " in ".join(filter(None, (_maybe(d["requirement"]), _maybe(d["case"])))): _text(d["status"])
        for d in data.get("deviations", [])
    }
    requirements = {_text(ident): _text(verdict) for ident, verdict in data["requirements"].items()}
    for ident, verdict in requirements.items():
        if verdict.split(" ")[0] not in (*_RANK, NOT_TESTED):
            raise ValueError(f"requirement {ident}: no verdict is called {as_json(verdict)}")
    return Run(path, about, cases, requirements, deviations)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is no string")
    return value


def _maybe(value: Any) -> Optional[str]:
    return None if value is None else _text(value)


def compare(a: Run, b: Run) -> Difference:
    """From a to b."""
    found = Difference(about=_changes(a.about, b.about), requirements=_changes(a.requirements, b.requirements))
    found.deviations = _changes(a.deviations, b.deviations)
    for ident, before in a.cases.items():
        after = b.cases.get(ident)
        if after is None:
            found.removed.append({"id": ident, "verdict": before.words()})
        elif after.words() != before.words():
            direction = _direction(before, after)
            found.verdicts.append(
                {"id": ident, "a": before.words(), "b": after.words(), "direction": direction, "reason": after.reason}
            )
        elif _TIMES.sub("", after.reason) != _TIMES.sub("", before.reason):
            found.reasons.append({"id": ident, "verdict": after.words(), "a": before.reason, "b": after.reason})
    found.new = [{"id": i, "verdict": o.words()} for i, o in b.cases.items() if i not in a.cases]
    order = ("worse", "better", "other")
    found.verdicts.sort(key=lambda change: order.index(change["direction"]))
    return found


def _direction(before: Outcome, after: Outcome) -> str:
    ranks = _RANK[before.verdict], _RANK[after.verdict]
    return "worse" if ranks[0] < ranks[1] else "better" if ranks[0] > ranks[1] else "other"


def _changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[dict[str, Any]]:
    names = [*a, *(name for name in b if name not in a)]
    return [{"id": n, "a": a.get(n), "b": b.get(n)} for n in names if a.get(n) != b.get(n)]


# ---- in words ----


def _safe(value: Any) -> str:
    return "none" if value is None else one_line(str(value))


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"{title}: {len(lines)}", *(f"  {line}" for line in lines)] if lines else []


def text(a: Run, b: Run, found: Difference) -> str:
    """For a reader."""
    lines = [f"A: {_safe(a.path)}", f"B: {_safe(b.path)}"]
    lines += [f"  {_safe(c['id'])}: {_safe(c['a'])} -> {_safe(c['b'])}" for c in found.about]
    lines += _section("verdicts changed", [
        f"{c['direction']:6} {_safe(c['id'])}: {_safe(c['a'])} -> {_safe(c['b'])}"
        + (f"\n         {_safe(c['reason'])}" if c["reason"] else "") for c in found.verdicts
    ])  # fmt: skip
    lines += _section("same verdict for another reason", [
        f"{_safe(c['id'])} {_safe(c['verdict'])}\n      A: {_safe(c['a'])}\n      B: {_safe(c['b'])}" for c in found.reasons
    ])  # fmt: skip
    lines += _section("new cases", [f"{_safe(c['id'])} {_safe(c['verdict'])}" for c in found.new])
    lines += _section("removed cases", [f"{_safe(c['id'])} {_safe(c['verdict'])}" for c in found.removed])
    for title, changes in (("requirements", found.requirements), ("deviations", found.deviations)):
        lines += _section(f"{title} changed", [f"{_safe(c['id'])}: {_safe(c['a'])} -> {_safe(c['b'])}" for c in changes])
    if not found.differs():
        lines.append(f"no difference in {len(b.cases)} cases")
    return "\n".join(lines) + "\n"
