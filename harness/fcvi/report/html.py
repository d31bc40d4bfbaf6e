"""report.html: the run for people, in one file that needs nothing else.

Every string is escaped by the template engine. The size is bounded: ladders are written while there is room, those of
failures first, then only one line a case (_FULL, _ALL).
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import importlib
import re
from pathlib import Path
from typing import Any, Iterable

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..evidence import stem
from ..results import Result, RunReport, Verdict
from . import ladder
from .json_report import WORST, requirement_verdicts

_FULL, _ALL = 2 << 20, 4 << 20  # bytes of ladders with every field, and of all ladders
NOT_TESTED = "not-tested"
TEMPLATES = Path(__file__).parent / "templates"
VERDICTS = [v.value for v in WORST] + [NOT_TESTED]


def seconds(us: int) -> str:
    """A time in seconds, without digits that say nothing."""
    return f"{us / 1e6:.6f}".rstrip("0").rstrip(".") + " s"


def anchor(ident: str) -> str:
    """The id of a case's element."""
    return "case-" + re.sub("[^A-Za-z0-9._-]", "_", stem(ident))


def is_web(link: str) -> bool:
    """Whether a link may be one that can be followed."""
    return link.startswith(("https://", "http://"))


@functools.cache
def environment() -> Environment:
    """The templates; everything they print is escaped."""
    env = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    clauses = {r.id: r.clause for r in _requirements()}
    env.filters.update(
        seconds=seconds, anchor=anchor, is_web=is_web, decoded=ladder.decoded,
        with_clause=lambda f: {**dataclasses.asdict(f), "clause": clauses.get(f.requirement, "")},
    )  # fmt: skip
    env.globals["clauses"] = clauses
    return env


def _requirements() -> tuple[Any, ...]:
    catalogue: tuple[Any, ...] = importlib.import_module("conformance.catalogue").load_requirements()
    return catalogue


def asset(name: str) -> tuple[Markup, str]:
    """A style sheet or script of ours, and the hash by which the page allows it."""
    text = "\n" + (TEMPLATES / name).read_text(encoding="utf-8")
    return Markup(text), base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _rank(result: Result) -> int:
    """Failures first, then what is not a plain pass."""
    if result.verdict in (Verdict.FAIL, Verdict.ERROR):
        return 0
    return 1 if result.verdict is Verdict.INCONCLUSIVE or result.qualifier else 2


def _details(results: list[Result]) -> dict[int, Markup]:
    """The ladders for which there is room, by the index of the result."""
    template, used = environment().get_template("case.html.j2"), 0
    found: dict[int, Markup] = {}
    for index in sorted(range(len(results)), key=lambda i: (_rank(results[i]), i)):
        result = results[index]
        if used >= _ALL:
            break
        if not result.frames and not result.findings and not result.log:
            continue
        rows = ladder.rows(result)
        text = template.render(
            r=result, rows=rows[: ladder.MOST_ROWS], left_off=max(0, len(rows) - ladder.MOST_ROWS), full=used < _FULL,
            capture=stem(result.id) + ".pcapng",
        )  # fmt: skip
        used += len(text)
        found[index] = Markup(text)
    return found


def worst(verdicts: Iterable[str]) -> str:
    """The verdict of several requirements together; what was not tested does not count beside what was."""
    names = set(verdicts)
    return next((name for name in VERDICTS if name in names), NOT_TESTED)


def _clause_rows(verdicts: dict[str, str]) -> list[dict[str, Any]]:
    by: dict[str, list[str]] = {}
    for r in _requirements():
        by.setdefault(r.clause, []).append(verdicts.get(r.id, NOT_TESTED))
    return [
        {"clause": clause, "verdict": worst(found), "counts": {v: found.count(v) for v in VERDICTS}}
        for clause, found in by.items()
    ]


def _parts(report: RunReport, verdicts: dict[str, str]) -> list[dict[str, Any]]:
    """The catalogue by clauses and annexes, each requirement with its verdict and cases."""
    cases: dict[str, list[str]] = {}
    for result in report.results:
        for ident in dict.fromkeys([*result.requirements, *result.broken]):
            cases.setdefault(ident, []).append(result.id)
    parts: dict[str, list[dict[str, Any]]] = {}
    for r in _requirements():
        top = r.clause.split(".")[0].split(" ")[0]
        title = f"Clause {top}" if top.isdigit() else f"Annex {top}" if len(top) == 1 else top
        parts.setdefault(title, []).append(
            {"id": r.id, "level": r.level, "statement": r.statement, "verdict": verdicts.get(r.id, NOT_TESTED),
             "cases": cases.get(r.id, [])}
        )  # fmt: skip
    return [
        {"title": title, "requirements": found, "verdict": worst(q["verdict"] for q in found),
         "tested": sum(q["verdict"] != NOT_TESTED for q in found)}
        for title, found in parts.items()
    ]  # fmt: skip


def headline(report: RunReport) -> tuple[str, str]:
    """The outcome in a word, and how it is coloured. Only a certification speaks of conformance: a run may be partial."""
    counts = report.summary()
    if report.error or counts["error"]:
        return "error", "error"
    if counts["fail"] or report.flaws():
        return "not conformant" if report.certification else "failed", "fail"
    if counts["inconclusive"] or not counts["pass"]:
        return "inconclusive", "inconclusive"
    return "conformant" if report.certification else "passed", "pass"


def _failed(results: list[Result]) -> list[dict[str, Any]]:
    """What failed, by the first requirement it broke; errors by their reason."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if _rank(result) == 0:
            broken = result.broken[0] if result.broken else ""
            groups.setdefault((broken, "" if broken else result.reason), []).append(result)
    return [{"requirement": requirement, "results": found} for (requirement, _), found in groups.items()]


def _declared(report: RunReport) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = list(report.pics.items())
    for name, value in report.pixit.items():
        rows += [(f"{name}.{n}", v) for n, v in value.items()] if isinstance(value, dict) else [(name, value)]
    return [(name, _plain(value)) for name, value in rows]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def render(report: RunReport) -> str:
    """The file."""
    env, verdicts = environment(), requirement_verdicts(report)
    details = _details(report.results)
    head = env.get_template("head.html.j2")
    (style, style_hash), (script, script_hash) = asset("style.css"), asset("filter.js")
    word, tone = headline(report)
    return env.get_template("report.html.j2").render(
        report=report, headline=word, tone=tone, summary=report.summary(), declared=_declared(report),
        qualified={q: sum(r.qualifier == q for r in report.results) for q in ("deviation", "interpretation")},
        spent=sum(r.wall_us for r in report.results), clause_rows=_clause_rows(verdicts), verdict_names=VERDICTS,
        parts=_parts(report, verdicts), failed=_failed(report.results),
        cases=[
            {"r": r, "detail": details.get(i), "capture": stem(r.id) + ".pcapng"} for i, r in enumerate(report.results)
        ],
        head=lambda r: Markup(head.render(r=r)), plain=len(report.results) - len(details),
        bounds={"full": f"{_FULL >> 20} MiB", "all": f"{_ALL >> 20} MiB"},
        style=style, style_hash=style_hash, script=script, script_hash=script_hash,
    )  # fmt: skip
