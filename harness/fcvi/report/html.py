"""report.html: the run for people, in one file that needs nothing else.

Every string is escaped by the template engine. The size is bounded: ladders of what is not a plain pass stand in the page
while there is room (_FULL with every field, _ALL), those of plain passes without fields are deflated, several together, and
unpacked by the page when one is opened (_PACKED), and for what is left there is one line a case.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import itertools
import re
import zlib
from pathlib import Path
from typing import Any, Iterable, Optional, Sequence

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fcvi.engine.catalogue import load_requirements
from fcvi.engine.evidence import stem
from fcvi.engine.files import encoded
from fcvi.engine.protocol import Protocol, in_force
from fcvi.engine.results import Result, RunReport, Verdict
from . import clauses, explain, ladder, phases, steps, text, words
from .diff import NOT_TESTED
from .json_report import WORST, requirement_verdicts

_FULL, _ALL = 2 << 20, 4 << 20  # bytes of ladders in the page with every field, and of all of them
_PACKED = 10 << 20  # of packed ladders
_IN_A_PACK = 32  # cases; they are unpacked together
_PAGES = 40  # cases that have their steps in the page, as they run on the reference device
_EFFORT = 4  # of zlib: less of it packs a fifth worse
TEMPLATES = Path(__file__).parent / "templates"
VERDICTS = [v.value for v in WORST] + [NOT_TESTED]


def seconds(us: int) -> str:
    """A time in seconds, without digits that say nothing."""
    return f"{us / 1e6:.6f}".rstrip("0").rstrip(".") + " s"


@functools.lru_cache(maxsize=8192)
def anchor(ident: str) -> str:
    """The id of a case's element."""
    return "case-" + re.sub("[^A-Za-z0-9._-]", "_", stem(ident))


def is_web(link: str) -> bool:
    """Whether a link may be one that can be followed."""
    return link.startswith(("https://", "http://"))


def environment() -> Environment:
    """The templates; everything they print is escaped."""
    return _environment(in_force())


@functools.cache
def _environment(books: tuple[Protocol, ...]) -> Environment:
    env = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, auto_reload=False,
    )  # fmt: skip
    clauses = {r.id: r.clause for r in load_requirements(books)}
    env.filters.update(
        seconds=seconds, duration=words.duration, timed=words.timed, anchor=anchor, is_web=is_web,
        decoded=ladder.decoded,
        with_clause=lambda f: {**dataclasses.asdict(f), "clause": clauses.get(f.requirement, ""), "at_bits": words.bits(f)},
    )  # fmt: skip
    env.globals["clauses"] = clauses
    return env


def asset(name: str) -> tuple[Markup, str]:
    """A style sheet or script of ours, and the hash by which the page allows it."""
    return inline("\n" + (TEMPLATES / name).read_text(encoding="utf-8"))


def inline(text: str) -> tuple[Markup, str]:
    """A style sheet or script for the page itself, and the hash by which the page allows it."""
    return Markup(text), base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _rank(result: Result) -> int:
    """Failures first, then what is not a plain pass."""
    if result.verdict in (Verdict.FAIL, Verdict.ERROR):
        return 0
    return 1 if result.verdict is Verdict.INCONCLUSIVE or result.qualifier else 2


def _ladder(
    result: Result, decode: bool, explanation: Optional[explain.Explanation] = None, page: Sequence[steps.Row] = ()
) -> str:
    """The ladder of a case; decode: with every field and byte of its frames. page: what the case asks, step by step."""
    rows = ladder.rows(result)
    text: str = environment().get_template("case.html.j2").render(
        page=page, key=steps.KEY, r=result,
        rows=rows[: ladder.MOST_ROWS], left_off=max(0, len(rows) - ladder.MOST_ROWS), decode=decode,
        capture=stem(result.id) + ".pcapng", x=explanation, detail_only=False,
        named=list(dict.fromkeys([*result.broken, *result.requirements])),
    )  # fmt: skip
    return text


def _explained(report: RunReport, group: explain.Group) -> Markup:
    """The first case of a cause, explained, with a link to its ladder."""
    first = group.results[0]
    link = environment().from_string('<p><a href="#{{ r.id | anchor }}">{{ r.id }}</a> {{ r.title }}</p>').render(r=first)
    body = environment().get_template("case.html.j2").render(x=explain.explain(report, first), detail_only=True)
    return Markup(link) + Markup(body)


def _is_empty(result: Result) -> bool:
    return not result.frames and not result.findings and not result.log


def _details(report: RunReport) -> dict[int, Markup]:
    """The ladders that stand in the page, by the index of the result."""
    used, found, results = 0, {}, report.results
    order = sorted((i for i, r in enumerate(results) if _rank(r) < 2 and not _is_empty(r)), key=lambda i: (_rank(results[i]), i))
    for place, index in enumerate(order):
        if used >= _ALL:
            break
        asked = steps.of(results[index].id) if place < _PAGES else ()
        page = _ladder(results[index], used < _FULL, explain.explain(report, results[index]), asked)
        used += len(page)
        found[index] = Markup(page)
    return found


def _pack(texts: Sequence[str]) -> Markup:
    """Texts with a NUL between two, deflated (RFC 1950), in base64."""
    return Markup(base64.b64encode(zlib.compress(encoded("\0".join(texts)), _EFFORT)).decode())


def _packs(results: list[Result]) -> tuple[list[Markup], dict[int, tuple[int, int]]]:
    """The ladders of plain passes: packs, and where each result's is: (pack, position)."""
    made: list[Markup] = []
    places: dict[int, tuple[int, int]] = {}
    used = 0
    chosen = [i for i, r in enumerate(results) if _rank(r) == 2 and not _is_empty(r)]
    for start in range(0, len(chosen), _IN_A_PACK):
        if used >= _PACKED:
            break
        part = chosen[start : start + _IN_A_PACK]
        made.append(_pack([words.harmless(_ladder(results[i], False)) for i in part]))
        used += len(made[-1])
        places.update({index: (len(made) - 1, position) for position, index in enumerate(part)})
    return made, places


def worst(verdicts: Iterable[str]) -> str:
    """The verdict of several requirements together; what was not tested does not count beside what was."""
    names = set(verdicts)
    return next((name for name in VERDICTS if name in names), NOT_TESTED)


def _clause_rows(verdicts: dict[str, str]) -> list[dict[str, Any]]:
    by: dict[str, list[str]] = {}
    for r in load_requirements():
        by.setdefault(r.clause, []).append(verdicts.get(r.id, NOT_TESTED))
    return [
        {"clause": clause, "verdict": worst(found), "counts": {v: found.count(v) for v in VERDICTS}}
        for clause, found in by.items()
    ]


def _parts(report: RunReport, verdicts: dict[str, str]) -> list[dict[str, Any]]:
    """The catalogue by clauses and annexes, each requirement with its verdict and cases."""
    cases: dict[str, list[str]] = {}
    for (_, broken), same in itertools.groupby(report.results, lambda r: (id(r.requirements), r.broken)):
        results = list(same)
        for ident in dict.fromkeys([*results[0].requirements, *broken]):
            cases.setdefault(ident, []).extend([r.id for r in results])
    parts: dict[str, list[dict[str, Any]]] = {}
    for r in load_requirements():
        top = r.clause.split(".")[0].split(" ")[0]
        title = f"Clause {top}" if top.isdigit() else f"Annex {top}" if len(top) == 1 else top
        parts.setdefault(title, []).append(
            {"id": r.id, "level": r.level, "statement": r.statement, "verdict": verdicts.get(r.id, NOT_TESTED),
             "cases": cases.get(r.id, [])}
        )  # fmt: skip
    return [
        {"title": title, "count": len(found), "rows": found,
         "verdict": worst(q["verdict"] for q in found),
         "tested": sum(q["verdict"] not in (NOT_TESTED, "not-applicable") for q in found),
         "outside": sum(q["verdict"] == "not-applicable" for q in found)}
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


def standard() -> str:
    """What the cases of this run are about: the standards in force, those that declare PICS items where there are some."""
    books = in_force()
    return "; ".join(book.standard for book in [b for b in books if b.pics is not None] or books)


def declared(pics: dict[str, Any], pixit: dict[str, Any]) -> list[tuple[str, Any]]:
    """PICS and PIXIT as rows of a table."""
    rows: list[tuple[str, Any]] = list(pics.items())
    for name, value in pixit.items():
        rows += [(f"{name}.{n}", v) for n, v in value.items()] if isinstance(value, dict) else [(name, value)]
    return [(name, _plain(value)) for name, value in rows]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def render(report: RunReport) -> bytes:
    """The file."""
    env, verdicts = environment(), requirement_verdicts(report)
    details, (made, places) = _details(report), _packs(report.results)
    script, script_hash = asset("filter.js")
    style, style_hash = asset("style.css")
    word, tone = headline(report)
    order = sorted(range(len(report.results)), key=lambda i: (_rank(report.results[i]), i))
    listed: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for i in order:  # failures first, what does not apply last and folded
        r = report.results[i]
        entry = {"r": r, "detail": details.get(i), "place": places.get(i), "capture": stem(r.id) + ".pcapng"}
        listed[r.verdict is Verdict.NOT_APPLICABLE].append(entry)
    cases, outside = listed
    page = env.get_template("report.html.j2").generate(
        far=words.far_breaches(report), chosen=words.chosen(report.select),
        report=report, standard=standard(), headline=word, tone=tone, summary=report.summary(),
        declared=declared(report.pics, report.pixit),
        qualified={q: sum(r.qualifier == q for r in report.results) for q in ("deviation", "interpretation")},
        spent=sum(r.wall_us for r in report.results), clause_rows=_clause_rows(verdicts), verdict_names=VERDICTS,
        map=clauses.clause_map(report.results), trend=clauses.trend(report),
        parts=_parts(report, verdicts), failed=explain.groups(report),
        explained=lambda group: _explained(report, group), counts=text.counts(report),
        phases=phases.lines(phases.of(report.results, lambda: verdicts)), cases=cases, outside=outside,
        plain=len(report.results) - len(details) - len(places), packs=made,
        bounds=[f"{size >> 20} MiB" for size in (_FULL, _ALL, _PACKED)],
        style=style, style_hash=style_hash, script=script, script_hash=script_hash,
    )  # fmt: skip
    return b"".join([encoded(words.harmless(piece)) for piece in page])  # as one string it would be copied several times
