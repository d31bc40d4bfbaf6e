"""The ladder of a plain pass as HTML, which is most of a report: the same rows as case.html.j2, written without a template.

Every string that comes from a device or a file goes through ``escape``.
"""

from __future__ import annotations

from typing import Mapping
from urllib.parse import quote

from markupsafe import escape as markup

from fcvi.engine.evidence import stem
from fcvi.engine.results import Result
from . import ladder, words

_HEAD = (
    '<thead><tr><th scope="col" class="t">Time</th><th scope="col" class="e">Expected</th>'
    '<th scope="col">Seen</th></tr></thead><tbody>'
)
_ARROW = {"tester": ("left stimulus", "tester to DUT"), "dut": ("right", "DUT to tester")}


def escape(text: object) -> str:
    """Text for HTML; what has nothing to escape is left as it is."""
    plain = str(text)
    if "&" in plain or "<" in plain or ">" in plain or '"' in plain or "'" in plain:
        return str(markup(plain))
    return plain


def _expected(row: ladder.Row, clauses: Mapping[str, str]) -> str:
    if row.number and row.sender == "tester":
        return f'<span class="arrow left stimulus"><span class="sr">tester to DUT: </span>{escape(row.name)}</span>'
    if row.expected == "continued":
        return '<span class="small">continued</span>'
    if not row.expected:
        return '<span class="small">not awaited; held against the rules that always hold</span>' if row.number else ""
    what = escape(row.expected)
    if (row.number or row.missing) and not row.silence:
        what = f'<span class="arrow right"><span class="sr">DUT to tester: </span>{what}</span>'
    clause = f", clause {escape(clauses[row.requirement])}" if row.requirement in clauses else ""
    return f'{what}\n<span class="small">{escape(row.requirement)}{clause}</span>'


def _seen(row: ladder.Row) -> str:
    if not row.number:
        return escape(row.seen)
    shape, way = _ARROW["tester" if row.sender == "tester" else "dut"]
    note = f' <span class="small">({escape(row.note)})</span>' if row.note else ""
    return (
        f'<span class="arrow {shape}{" lost" if row.lost else ""}"><span class="sr">{way}: </span>{escape(row.name)}</span>\n'
        f'<span class="mono small">{row.number}: {escape(row.summary)}</span>{note}'
    )


def _fields(row: ladder.Row) -> str:
    return (
        f'<details><summary class="small">frame {row.number}: fields that are not zero</summary>'
        f'<pre tabindex="0">{escape(ladder.fields_set(row))}</pre></details>'
    )


def render(result: Result, rows: list[ladder.Row], left_off: int, fields: bool, clauses: Mapping[str, str]) -> str:
    """The body of a case without findings. rows: those that are shown; fields: whether each frame shows its own."""
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
        for row in rows:
            time = words.duration(row.time_us) if row.time_us is not None else ""
            shown = _fields(row) if fields and row.number else ""
            cells = f'<td class="e">{_expected(row, clauses)}</td><td class="s">{_seen(row)}{shown}</td>'
            parts.append(f'<tr><td class="t">{time}</td>{cells}</tr>')
        parts.append("</tbody></table>")
    if left_off:
        parts.append(f'<p class="small">{left_off} more rows are in the capture.</p>')
    if fields and result.log:
        steps = "".join([f"<li>{escape(line)}</li>" for line in result.log[:400]])
        title = "steps of the case and calls at the DUT"
        parts.append(f'<details><summary class="small">{title}</summary><ol class="steps">{steps}</ol></details>')
    return "\n".join(parts) + "\n</div>"
