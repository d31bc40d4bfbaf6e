"""The ladder of a plain pass as HTML, which is most of a report: the same rows as case.html.j2, written without a template.

Every string that comes from a device or a file goes through ``escape``. In the rows the markup that always comes again is one
control character each time (FRAGMENTS), which the page replaces when it shows the ladder; ``escape`` lets none through.
"""

from __future__ import annotations

import functools
import re
from operator import itemgetter
from typing import Mapping, Sequence
from urllib.parse import quote

import _fcvi_text
from markupsafe import escape as markup

from fcvi.engine.evidence import stem
from fcvi.engine.files import encoded
from fcvi.engine.protocol import Line
from fcvi.engine.results import Expectation, Result, TraceFrame
from fcvi.engine.upper import Told, readable
from . import ladder, words

_LEFT = '<span class="arrow left stimulus"><span class="sr">tester to DUT: </span>'
_RIGHT = '<span class="arrow right"><span class="sr">DUT to tester: </span>'
#: What each control character in a packed ladder stands for.
FRAGMENTS = {
    "\x01": '<tr><td class="t">',
    "\x02": f'</td><td class="e">{_LEFT}',
    "\x03": f'</span></td><td class="s">{_LEFT}',
    "\x04": '</span></td><td class="s"><span class="arrow left stimulus lost"><span class="sr">tester to DUT: </span>',
    "\x05": '</td><td class="e">',
    "\x06": f'</td><td class="s">{_RIGHT}',
    "\x07": '</td><td class="s"><span class="arrow right lost"><span class="sr">DUT to tester: </span>',
    "\x08": '</span>\n<span class="mono small">',
    "\x0e": "</span>",
    "\x0f": '<details><summary class="small">frame ',
    "\x10": ': fields that are not zero</summary><pre tabindex="0">',
    "\x11": "</pre></details>",
    "\x12": "</td></tr>",
    "\x13": _RIGHT,
    "\x14": '\n<span class="small">',
    "\x15": '<span class="small">not awaited; held against the rules that always hold</span>',
    "\x16": '<span class="small">continued</span>',
    "\x17": '</td><td class="s">',
}
_SAFE = re.compile("[A-Za-z0-9._-]*")  # is itself in a link and in HTML
_MOST_STEPS = 400  # of a case
_STEPS = b'\n<details><summary class="small">steps of the case and calls at the DUT</summary><ol class="steps">'
_END = b"\n</div>"
_FIELDS = re.compile(rb"\x0f[^\x11]*\x11")
_HEAD = (
    '<thead><tr><th scope="col" class="t">Time</th><th scope="col" class="e">Expected</th>'
    '<th scope="col">Seen</th></tr></thead><tbody>'
)


def escape(text: object) -> str:
    """Text for HTML; what has nothing to escape is left as it is."""
    plain = str(text)
    if not plain.isprintable():
        plain = words.harmless(plain)
    if "&" in plain or "<" in plain or ">" in plain or '"' in plain or "'" in plain:
        return str(markup(plain))
    return plain


@functools.lru_cache(maxsize=4096)
def _awaited(what: str, requirement: str, clause: str, arrow: bool) -> str:
    """What a case waited for, with the requirement that it owes to."""
    if what == "continued":
        return "\x16"
    what = escape(what)
    if arrow:
        what = f"\x13{what}\x0e"
    return f'{what}\x14{escape(requirement)}{f", clause {escape(clause)}" if clause else ""}\x0e'


_time = functools.lru_cache(maxsize=4096)(words.duration)


def _brief(frames: Sequence[TraceFrame], line: Line, fields: bool) -> bytes | memoryview:
    """Summary and fields of each frame, escaped, each with a NUL behind it."""
    if line.brief is not None:
        return line.brief(frames, fields)
    views = [line.decode(frame, False) for frame in frames]
    texts = [(escape(view.summary()), escape(ladder.not_zero(view.text())) if fields else "") for view in views]
    return encoded("".join([f"{summary}\0{shown}\0" for summary, shown in texts]))


def _rows(result: Result, fields: bool, clauses: Mapping[str, str]) -> tuple[bytes, int]:
    """The rows of the ladder, and how many were left off."""
    line = ladder.wire_of(result) if result.frames else None
    frames = result.frames if line is not None else []
    owed: dict[int, str] = {}
    beside: list[tuple[int, str]] = []
    for e in result.expectations:
        if e.frames:
            what = _awaited(e.words, e.requirement, clauses.get(e.requirement, ""), not e.silence)
            owed.update(zip(e.frames, (what, *["\x16"] * len(e.frames))))
        elif e.after <= len(frames):
            beside.append((e.after, _of_silence(e, clauses)))
    beside.sort(key=itemgetter(0))
    brief = _brief(frames[: ladder.MOST_ROWS], line, fields) if line is not None else b""
    rows = _fcvi_text.rows(frames, brief, owed, beside, fields, ladder.MOST_ROWS, escape)
    return rows, max(0, len(frames) + len(beside) - ladder.MOST_ROWS)


def _of_silence(e: Expectation, clauses: Mapping[str, str]) -> str:
    what = _awaited(e.words, e.requirement, clauses.get(e.requirement, ""), not e.silence)
    seen = "none" if e.silence else "nothing"
    return f"\x01{_time(e.time_us)}\x05{what}\x17{seen}\x12"


def _link(name: str) -> str:
    """A link to a file beside the page."""
    if _SAFE.fullmatch(name):
        return f'<a href="{name}">{name}</a>'
    return f'<a href="{escape(quote(name))}">{escape(name)}</a>'


@functools.lru_cache(maxsize=1024)
def _required(requirements: tuple[str, ...]) -> str:
    """The requirements of a case, which its variants share."""
    return (
        f'<details><summary class="small">{len(requirements)} requirements</summary>'
        f'<p class="small">{escape(", ".join(requirements))}</p></details>'
    )


def render(result: Result, fields: bool, clauses: Mapping[str, str]) -> bytes:
    """The body of a case without findings, to be packed. fields: whether each frame shows its own."""
    return b"".join(parts_of(result, fields, clauses))


def parts_of(result: Result, fields: bool, clauses: Mapping[str, str]) -> list[bytes]:
    """As render, in parts that follow each other."""
    rows, left_off = _rows(result, fields, clauses)
    ident = escape(result.id)
    capture = f"Capture: {_link(stem(result.id) + '.pcapng')}. " if result.frames else ""
    errata = f" Errata: {escape(', '.join(result.errata))}." if result.errata else ""
    before = (
        f'<div class="body">\n<p class="small">{capture}DUT time {words.duration(result.virtual_us)}.{errata}</p>\n'
        f"{_required(tuple(result.requirements))}"
    )
    behind = ""
    if rows:
        before += (
            f'\n<table class="ladder"><caption>Ladder of {ident}: the DUT is on the left of each diagram, '
            f"the tester on the right.</caption>{_HEAD}\n"
        )
        behind = "\n</tbody></table>"
    if left_off:
        behind += f'\n<p class="small">{left_off} more rows are in the capture.</p>'
    parts = [encoded(before), rows, encoded(behind)]
    if fields and result.log:
        parts += [_STEPS, _fcvi_text.items(result.log[:_MOST_STEPS], Told, escape, readable), b"</ol></details>"]
    return [*parts, _END]


def without_fields(body: bytes) -> bytes:
    """What render gives without fields, made of what it gives with them."""
    before, steps, _ = body.partition(_STEPS)
    return _FIELDS.sub(b"", before + _END if steps else before)


def article(result: Result, place: tuple[int, int], anchor: str) -> str:
    """The entry of a case that passed and gave no reason; its body is in a pack, at this place."""
    ident, title = escape(result.id), escape(result.title)
    said = escape(f"{result.id} {result.title} {' '.join(result.broken)}".lower())
    verdict = result.verdict.value
    return (
        f'<article class="case" id="{escape(anchor)}" data-verdict="{verdict}" data-words="{said}">\n'
        f'<details data-pack="{place[0]}" data-at="{place[1]}"><summary><span class="v {verdict}">{verdict}</span> '
        f"<b>{ident}</b> {title}\n</summary></details>\n</article>"
    )
