"""report.html: the run for people, in one file that needs nothing else.

Every string is escaped by the template engine. The size is bounded: ladders of what is not a plain pass stand in the page
while there is room (_FULL, _ALL), those of plain passes are packed and unpacked by the page when one is opened
(_PACKED_FULL, _PACKED_ALL), and for what is left there is one line a case.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import itertools
import json
import re
from pathlib import Path
from typing import Any, Iterable, Iterator, Optional

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from fcvi.engine.catalogue import load_requirements
from fcvi.engine.evidence import stem
from fcvi.engine.files import encoded
from fcvi.engine.protocol import Protocol, in_force
from fcvi.engine.results import Result, RunReport, Verdict
from . import explain, ladder, packs, phases, plain, text, words
from .compiled import Compiled, Templates
from .diff import NOT_TESTED
from .json_report import WORST, requirement_verdicts

_FULL, _ALL = 2 << 20, 4 << 20  # bytes of ladders in the page with every field, and of all of them
_PACKED_FULL, _PACKED_ALL = 8 << 20, 10 << 20  # the same of packed ladders
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
        loader=Templates(TEMPLATES), bytecode_cache=Compiled(), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    clauses = {r.id: r.clause for r in load_requirements(books)}
    env.filters.update(
        seconds=seconds, timed=words.timed, anchor=anchor, is_web=is_web,
        decoded=ladder.decoded, fields_set=ladder.fields_set,
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


def _packed(result: Result, fields: str) -> bytes:
    """The ladder of a plain pass for a pack; fields: "set" (those that are not zero) or "none"."""
    if result.settled is not None and result.settled.ladder is not None:
        body = result.settled.ladder.body()
        return body if fields == "set" else plain.without_fields(body)
    if result.findings:
        return encoded(words.harmless(_ladder(result, fields)))
    return plain.render(result, fields == "set", explain.clauses())


def _ladder(result: Result, fields: str, explanation: Optional[explain.Explanation] = None) -> str:
    """The ladder of a case; fields: "all" of every frame with its bytes, "set" (those that are not zero), or "none"."""
    rows = ladder.rows(result)
    page: str = environment().get_template("case.html.j2").render(
        r=result, rows=rows[: ladder.MOST_ROWS], left_off=max(0, len(rows) - ladder.MOST_ROWS), fields=fields,
        capture=stem(result.id) + ".pcapng", x=explanation, detail_only=False,
        named=list(dict.fromkeys([*result.broken, *result.requirements])),
    )  # fmt: skip
    return page


def _explained(report: RunReport, group: explain.Group) -> Markup:
    """The first case of a cause, explained, with a link to its ladder."""
    first = group.results[0]
    link = environment().from_string('<p><a href="#{{ r.id | anchor }}">{{ r.id }}</a> {{ r.title }}</p>').render(r=first)
    body = environment().get_template("case.html.j2").render(x=explain.explain(report, first), detail_only=True)
    return Markup(link) + Markup(body)


def _is_empty(result: Result) -> bool:
    if result.settled is not None:
        return result.settled.ladder is None
    return not result.frames and not result.findings and not result.log


def _details(report: RunReport) -> dict[int, Markup]:
    """The ladders that stand in the page, by the index of the result."""
    used, found, results = 0, {}, report.results
    order = sorted((i for i, r in enumerate(results) if _rank(r) < 2 and not _is_empty(r)), key=lambda i: (_rank(results[i]), i))
    for index in order:
        if used >= _ALL:
            break
        page = _ladder(results[index], "all" if used < _FULL else "none", explain.explain(report, results[index]))
        used += len(page)
        found[index] = Markup(page)
    return found


def _pack(results: list[Result], fields: str) -> bytes:
    """The ladders of these passes, packed."""
    drawn = [r.settled.ladder if r.settled is not None else None for r in results]
    return (packs.whole(drawn) if fields == "set" else b"") or packs.packed([_packed(r, fields) for r in results])


def _packs(results: list[Result]) -> tuple[list[bytes], dict[int, tuple[int, int]]]:
    """The ladders of plain passes: packs, and where each result's is: (pack, position)."""
    made: list[bytes] = []
    places: dict[int, tuple[int, int]] = {}
    used = 0
    chosen = [i for i, r in enumerate(results) if _rank(r) == 2 and not _is_empty(r)]
    chosen.sort(key=lambda i: not results[i].is_plain)  # those that may have been packed early come first
    for start in range(0, len(chosen), packs.IN_A_PACK):
        if used >= _PACKED_ALL:
            break
        part = chosen[start : start + packs.IN_A_PACK]
        made.append(_pack([results[i] for i in part], "set" if used < _PACKED_FULL else "none"))
        used += len(made[-1])
        places.update({index: (len(made) - 1, position) for position, index in enumerate(part)})
    return made, places


def worst(verdicts: Iterable[str]) -> str:
    """The verdict of several requirements together; what was not tested does not count beside what was."""
    names = set(verdicts)
    return next((name for name in VERDICTS if name in names), NOT_TESTED)


def _clause_rows(report: RunReport, verdicts: dict[str, str]) -> list[dict[str, Any]]:
    by: dict[str, list[str]] = {}
    for r in load_requirements():
        by.setdefault(r.clause, []).append(verdicts.get(r.id, NOT_TESTED))
    return [
        {"clause": clause, "verdict": worst(found), "counts": {v: found.count(v) for v in VERDICTS}}
        for clause, found in by.items()
    ]


_MOST_LINKS = 3  # to the cases of a requirement


def _requirement_row(q: dict[str, Any]) -> str:
    """There are a thousand of them, each with six strings to escape: too many for the template engine."""
    e, cases = plain.escape, q["cases"]
    links = ", ".join([f'<a href="#{e(anchor(i))}">{e(i)}</a>' for i in cases[:_MOST_LINKS]])
    more = f" and {len(cases) - _MOST_LINKS} more" if len(cases) > _MOST_LINKS else ""
    return (
        f'<tr><th scope="row"><code>{e(q["id"])}</code></th><td>{e(q["level"])}</td>'
        f'<td class="v {q["verdict"]}">{q["verdict"]}</td><td>{e(q["statement"])}</td><td>{links}{more}</td></tr>'
    )


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
        {"title": title, "count": len(found), "rows": Markup("\n".join(map(_requirement_row, found))),
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


_AT_ONCE = 1 << 16  # characters of the page


def _encoded(pieces: Iterable[str]) -> Iterator[bytes]:
    """The pieces of a page as UTF-8, many of them together: the page as one string would be copied several times."""
    waiting: list[str] = []
    length = 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length >= _AT_ONCE:
            yield encoded(words.harmless("".join(waiting)))
            waiting, length = [], 0
    yield encoded(words.harmless("".join(waiting)))


def render(report: RunReport) -> list[bytes]:
    """The file, in parts that follow each other: the packs are most of it, and stand behind everything that is a stranger's."""
    script, script_hash = asset("filter.js")
    made, page = _page(report, script_hash)
    parts = list(_encoded(page))
    for pack in made:
        parts += [b'<script type="text/plain" class="pack">', pack, b"</script>\n"]
    return [*parts, encoded(environment().get_template("foot.html.j2").render(script=script))]


def _page(report: RunReport, script_hash: str) -> tuple[list[bytes], Iterator[str]]:
    """The packs, and the pieces of the page that stand before them. script_hash: of the script that comes last."""
    env, verdicts = environment(), requirement_verdicts(report)
    details, (made, places) = _details(report), _packs(report.results)
    head = env.get_template("head.html.j2")
    style, style_hash = asset("style.css")
    word, tone = headline(report)
    order = sorted(range(len(report.results)), key=lambda i: (_rank(report.results[i]), i))
    listed: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for i in order:  # failures first, what does not apply last and folded
        r = report.results[i]
        place = places.get(i)
        whole = Markup(plain.article(r, place, anchor(r.id))) if place is not None and not r.reason and not r.qualifier else None
        entry = {"r": r, "detail": details.get(i), "place": place, "capture": stem(r.id) + ".pcapng", "whole": whole}
        listed[r.verdict is Verdict.NOT_APPLICABLE].append(entry)
    cases, outside = listed
    page = env.get_template("report.html.j2").generate(
        report=report, headline=word, tone=tone, summary=report.summary(), declared=declared(report.pics, report.pixit),
        qualified={q: sum(r.qualifier == q for r in report.results) for q in ("deviation", "interpretation")},
        spent=sum(r.wall_us for r in report.results), clause_rows=_clause_rows(report, verdicts), verdict_names=VERDICTS,
        parts=_parts(report, verdicts), failed=explain.groups(report),
        explained=lambda group: _explained(report, group), counts=text.counts(report),
        phases=phases.lines(phases.of(report.results, lambda: verdicts)), cases=cases, outside=outside,
        head=lambda r: Markup(head.render(r=r)), plain=len(report.results) - len(details) - len(places), packs=bool(made),
        fragments=Markup(json.dumps(plain.FRAGMENTS).replace("</", "<\\/")),
        bounds=[f"{size >> 20} MiB" for size in (_FULL, _ALL, _PACKED_FULL, _PACKED_ALL)],
        style=style, style_hash=style_hash, script_hash=script_hash,
    )  # fmt: skip
    return made, page
