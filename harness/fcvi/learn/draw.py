"""Draws a machine as SVG: with graphviz where it is installed, otherwise in rows by the distance from the first state."""

from __future__ import annotations

import shutil
import subprocess
from html import escape

from .mealy import Mealy

_WIDE, _HIGH, _ROUND = 260, 110, 22
_DOT_S = 60


def svg(machine: Mealy) -> str:
    """The drawing."""
    program = shutil.which("dot")
    if program is not None:
        try:
            made = subprocess.run(
                [program, "-Tsvg"], input=machine.dot().encode(), capture_output=True, timeout=_DOT_S, check=True
            )  # fmt: skip
            return made.stdout.decode()
        except (subprocess.SubprocessError, OSError, UnicodeDecodeError):
            pass
    return plain(machine)


def plain(machine: Mealy) -> str:
    """Without graphviz: a column for each distance; what an arrow says shows when the pointer rests on it."""
    columns: dict[int, list[int]] = {}
    for state, word in machine.access().items():
        columns.setdefault(len(word), []).append(state)
    place = {
        state: (60 + column * _WIDE, 60 + row * _HIGH)
        for column, states in columns.items()
        for row, state in enumerate(sorted(states))
    }
    width = 120 + _WIDE * max(columns)
    height = 120 + _HIGH * max(len(states) for states in columns.values())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">',
        '<defs><marker id="end" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,0L8,4L0,8z"/></marker></defs>',
    ]
    for (state, to), labels in machine.arrows().items():
        if state not in place or to not in place:
            continue
        parts.append(_arrow(place[state], place[to], labels, state == to))
    for state, (x, y) in place.items():
        parts.append(f'<circle cx="{x}" cy="{y}" r="{_ROUND}" fill="white" stroke="black"/>')
        parts.append(f'<text x="{x}" y="{y + 4}" text-anchor="middle">{state}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _arrow(begin: tuple[int, int], end: tuple[int, int], labels: list[str], loop: bool) -> str:
    (x1, y1), (x2, y2) = begin, end
    if loop:
        path = f"M{x1 - 8},{y1 - _ROUND} C{x1 - 30},{y1 - 60} {x1 + 30},{y1 - 60} {x1 + 8},{y1 - _ROUND}"
        tx, ty = x1, y1 - 48
    else:
        long = max(1.0, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
        ux, uy = (x2 - x1) / long, (y2 - y1) / long
        mx, my = (x1 + x2) / 2 - uy * 24, (y1 + y2) / 2 + ux * 24
        path = f"M{x1 + ux * _ROUND:.0f},{y1 + uy * _ROUND:.0f} Q{mx:.0f},{my:.0f} {x2 - ux * _ROUND:.0f},{y2 - uy * _ROUND:.0f}"
        tx, ty = int(mx), int(my)
    title = escape("\n".join(labels))
    first, more = labels[0], "" if len(labels) == 1 else f" +{len(labels) - 1}"
    short = escape(first if len(first) <= 34 else first[:33] + "\u2026") + more
    return (
        f'<g><title>{title}</title><path d="{path}" fill="none" stroke="gray" marker-end="url(#end)"/>'
        f'<text x="{tx}" y="{ty}" text-anchor="middle">{short}</text></g>'
    )
