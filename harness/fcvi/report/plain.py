"""The ladder of a plain pass as HTML, which is most of a report: the same rows as case.html.j2, written without a template.

Every string that comes from a device or a file goes through ``escape``.
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

_HEAD = (
    '<thead><tr><th scope="col" class="t">Time</th><th scope="col" class="e">Expected</th>'
    '<th scope="col">Seen</th></tr></thead><tbody>'
)


def escape(text: object) -> str:
    """Text for HTML; what has nothing to escape is left as it is."""
    plain = str(text)
    if "&" in plain or "<" in plain or ">" in plain or '"' in plain or "'" in plain:
        return str(markup(plain))
    return plain


@functools.lru_cache(maxsize=4096)
def _awaited(what: str, requirement: str, clause: str, arrow: bool) -> str:
    """What a case waited for, with the requirement that it owes to."""
    if what == "continued":
        return '<span class="small">continued</span>'
    what = escape(what)
    if arrow:
        what = f'<span class="arrow right"><span class="sr">DUT to tester: </span>{what}</span>'
    return f'{what}\n<span class="small">{escape(requirement)}{f", clause {escape(clause)}" if clause else ""}</span>'


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
    return f'<tr><td class="t">{_time(e.time_us)}</td><td class="e">{what}</td><td class="s">{seen}</td></tr>'


def _of_frame(
    number: int, frame: TraceFrame, brief: tuple[str, str], owed: Optional[Expectation], fields: bool, clauses: Mapping[str, str]
) -> str:
    name, _, summary = brief[0].partition(" ")
    lost = " lost" if frame.lost else ""
    note = f' <span class="small">({escape(frame.note)})</span>' if frame.note else ""
    shown = (
        f'<details><summary class="small">frame {number}: fields that are not zero</summary>'
        f'<pre tabindex="0">{brief[1]}</pre></details>'
    ) if fields else ""
    end = f'</span>\n<span class="mono small">{number}: {summary}</span>{note}{shown}</td></tr>'
    if frame.sender == "tester":
        return (
            f'<tr><td class="t">{_time(frame.time_us)}</td><td class="e"><span class="arrow left stimulus"><span class="sr">'
            f'tester to DUT: </span>{name}</span></td><td class="s"><span class="arrow left stimulus{lost}"><span class="sr">'
            f"tester to DUT: </span>{name}{end}"
        )
    if owed is None:
        what = '<span class="small">not awaited; held against the rules that always hold</span>'
    else:
        said = owed.words if number == owed.frames[0] else "continued"
        what = _awaited(said, owed.requirement, clauses.get(owed.requirement, ""), not owed.silence)
    return (
        f'<tr><td class="t">{_time(frame.time_us)}</td><td class="e">{what}</td><td class="s"><span class="arrow right{lost}">'
        f'<span class="sr">DUT to tester: </span>{name}{end}'
    )


def render(result: Result, fields: bool, clauses: Mapping[str, str]) -> str:
    """The body of a case without findings. fields: whether each frame shows its own."""
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
        steps = "".join([f"<li>{escape(line)}</li>" for line in result.log[:400]])
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
