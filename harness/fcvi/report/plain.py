"""The ladder of a plain pass as HTML, which is most of a report: the same rows as case.html.j2, written without a template.

Every string that comes from a device or a file goes through ``escape``. In the rows the markup that always comes again is one
control character each time (FRAGMENTS), which the page replaces when it shows the ladder; ``escape`` lets none through.
"""

from __future__ import annotations

import functools
from collections import deque
from typing import Mapping, Optional, Sequence
from urllib.parse import quote

from markupsafe import escape as markup

from fcvi.engine.evidence import stem
from fcvi.engine.protocol import Line
from fcvi.engine.results import Expectation, Result, TraceFrame
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
_HEAD = (
    '<thead><tr><th scope="col" class="t">Time</th><th scope="col" class="e">Expected</th>'
    '<th scope="col">Seen</th></tr></thead><tbody>'
)


_KEPT_LEFT, _LOST_LEFT, _KEPT_RIGHT, _LOST_RIGHT = "\x03", "\x04", "\x06", "\x07"


def escape(text: object) -> str:
    """Text for HTML; what has nothing to escape is left as it is."""
    plain = str(text)
    if not plain.isprintable():
        plain = words.harmless(plain)
    if "&" in plain or "<" in plain or ">" in plain or '"' in plain or "'" in plain:
        return str(markup(plain))
    return plain


def _escaped(lines: Sequence[object]) -> Sequence[str]:
    """As escape, of each: they are escaped together where none has a control character, which then can stand between them."""
    texts = [str(line) for line in lines]
    if not "".join(texts).isprintable():
        return [escape(text) for text in texts]
    return str(markup("\0".join(texts))).split("\0")


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


def _brief(frames: Sequence[TraceFrame], line: Line, fields: bool) -> list[tuple[str, str]]:
    """Summary and fields of each frame, escaped."""
    if line.brief is not None:
        return line.brief(frames, fields)
    views = [line.decode(frame, False) for frame in frames]
    return [(escape(view.summary()), escape(ladder.not_zero(view.text())) if fields else "") for view in views]


def _rows(result: Result, fields: bool, clauses: Mapping[str, str]) -> tuple[list[str], int]:
    """The rows of the ladder, and how many were left off."""
    line = ladder.wire_of(result) if result.frames else None
    count = len(result.frames) if line is not None else 0
    owed: dict[int, Expectation] = {}
    for expectation in result.expectations:
        for number in expectation.frames:
            owed[number] = expectation
    waited = (e for e in result.expectations if not e.frames and e.after <= count)
    beside = deque(sorted(waited, key=lambda e: e.after))
    briefs = _brief(result.frames[: ladder.MOST_ROWS], line, fields) if line is not None else []
    left_off = max(0, count + len(beside) - ladder.MOST_ROWS)
    rows: list[str] = []
    for number in range(count + 1):
        if number and len(rows) < ladder.MOST_ROWS:
            rows.append(_of_frame(number, result.frames[number - 1], briefs[number - 1], owed.get(number), fields, clauses))
        while beside and beside[0].after == number and len(rows) < ladder.MOST_ROWS:
            rows.append(_of_silence(beside.popleft(), clauses))
        if len(rows) == ladder.MOST_ROWS:
            break
    return rows, left_off


def _of_silence(e: Expectation, clauses: Mapping[str, str]) -> str:
    what = _awaited(e.words, e.requirement, clauses.get(e.requirement, ""), not e.silence)
    seen = "none" if e.silence else "nothing"
    return f"\x01{_time(e.time_us)}\x05{what}\x17{seen}\x12"


def _of_frame(
    number: int, frame: TraceFrame, brief: tuple[str, str], owed: Optional[Expectation], fields: bool, clauses: Mapping[str, str]
) -> str:
    name, _, summary = brief[0].partition(" ")
    note = f" \x14({escape(frame.note)})\x0e" if frame.note else ""
    shown = f"\x0f{number}\x10{brief[1]}\x11" if fields else ""
    end = f"\x08{number}: {summary}\x0e{note}{shown}\x12"
    if frame.sender == "tester":
        return f"\x01{_time(frame.time_us)}\x02{name}{_LOST_LEFT if frame.lost else _KEPT_LEFT}{name}{end}"
    if owed is None:
        what = "\x15"
    else:
        said = owed.words if number == owed.frames[0] else "continued"
        what = _awaited(said, owed.requirement, clauses.get(owed.requirement, ""), not owed.silence)
    return f"\x01{_time(frame.time_us)}\x05{what}{_LOST_RIGHT if frame.lost else _KEPT_RIGHT}{name}{end}"


def render(result: Result, fields: bool, clauses: Mapping[str, str]) -> str:
    """The body of a case without findings, to be packed. fields: whether each frame shows its own."""
    rows, left_off = _rows(result, fields, clauses)
    ident = escape(result.id)
    name = stem(result.id) + ".pcapng"
    capture = f'Capture: <a href="{escape(quote(name))}">{escape(name)}</a>. ' if result.frames else ""
    errata = f" Errata: {escape(', '.join(result.errata))}." if result.errata else ""
    parts = [
        f'<div class="body">\n<p class="small">{capture}DUT time {words.duration(result.virtual_us)}.{errata}</p>\n'
        f'<details><summary class="small">{len(result.requirements)} requirements</summary>'
        f'<p class="small">{escape(", ".join(result.requirements))}</p></details>'
    ]
    if rows:
        parts.append(
            f'<table class="ladder"><caption>Ladder of {ident}: the DUT is on the left of each diagram, '
            f"the tester on the right.</caption>{_HEAD}"
        )
        parts += rows
        parts.append("</tbody></table>")
    if left_off:
        parts.append(f'<p class="small">{left_off} more rows are in the capture.</p>')
    if fields and result.log:
        steps = "".join([f"<li>{line}</li>" for line in _escaped(result.log[:400])])
        title = "steps of the case and calls at the DUT"
        parts.append(f'<details><summary class="small">{title}</summary><ol class="steps">{steps}</ol></details>')
    return "\n".join(parts) + "\n</div>"


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
