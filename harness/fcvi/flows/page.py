"""Connections as a page that needs nothing else: time lines, causes, and for each of them ladder and latencies.

All that stands in it comes out of a capture and is hostile: the templates escape it, ``printable`` keeps it on its line, and the
page allows no script and no style but its own. Its size has a bound.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Sequence

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fcvi.capture.units import duration
from fcvi.engine.words import printable

from . import plot
from .cause import TITLES, Cause
from .glossary import logs_of
from .table import Flow, Step, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .rows import Row

_TEMPLATES = Path(__file__).parent / "templates"
MOST_ROWS, MOST_OPEN, MOST_STEPS = 2000, 200, 200  # Connections, those with a ladder, frames of a ladder
_MOST_MARKS, _MOST_CAUSES = 60, 100


@dataclass
class _Mark:
    """Something that happened: where on the time line, of which kind, in words."""

    x: str
    kind: str  # a class of the style: retry, gap, refuse, cause
    words: str


@dataclass
class _Rung:
    """A frame of a ladder. way: right or left between the two ports, beside for one to or from somebody else; causes: those that
    it shows."""

    step: Step
    after_us: int
    way: str
    notes: list[str]
    causes: list[int]


@dataclass
class _Connection:
    """One Connection as the page has it."""

    row: Row
    is_bad: bool
    left: str
    width: str
    marks: list[_Mark]
    causes: list[int]
    rungs: Optional[list[_Rung]] = None  # None: it has one line only
    plot: Optional[plot.Plot] = None
    is_open: bool = False
    left_off: int = 0

    @property
    def words(self) -> str:
        """What the search looks at."""
        r = self.row
        return printable(" ".join([str(r["connection"]), *r["port"], *r["port_name"], *r["host_address"], *r["discriminator"],
                                   r["level"], r["ended"], r["reason_text"]]).lower())  # fmt: skip


@dataclass
class _Told:
    """A cause. frames: the file and number of each, and its words."""

    number: int
    title: str
    may_be: list[str]
    sure: str
    cause: Cause
    connection: int
    frames: list[tuple[str, int, str]] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    others: list[int] = field(default_factory=list)  # further Connections that failed so


@functools.cache
def _environment() -> Environment:
    env = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                      lstrip_blocks=True)  # fmt: skip
    env.filters.update(plain=printable, us=lambda us: duration(round(us)))
    return env


def _inline(name: str) -> tuple[Markup, str]:
    """A style or script of ours, and the hash by which the page allows it."""
    text = "\n" + (_TEMPLATES / name).read_text(encoding="utf-8")
    return Markup(text), base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# ---- what happened ----

_ENDS = {
    "ABTS": "aborts the Exchange", "LOGO": "logs out", "BA_RJT": "rejects the ABTS", "F_BSY": "the Fabric is busy",
    "P_BSY": "the port is busy", "F_RJT": "the Fabric rejects it", "P_RJT": "the port rejects it", "LS_RJT": "rejects the request",
}  # fmt: skip


def _odd(step: Step) -> list[tuple[str, str]]:
    """What is out of the ordinary in a frame: kind and words."""
    from . import scan

    what, bits = step.what, int(step.what.get("why", 0))
    found = []
    if what.get("retry"):
        found.append(("retry", "tried again"))
    if bits & scan.GAP:
        found.append(("gap", f"{what.get('missing', 0)} bytes are missing before it"))
    if bits & scan.SKIP:
        found.append(("gap", f"{what.get('missing', 0)} Messages are missing before it"))
    if bits & (scan.LATE | scan.LATE_MSG):
        found.append(("gap", "overtaken by later ones"))
    if bits & scan.AGAIN:
        found.append(("retry", "was there before"))
    if bits & scan.UNASKED:
        found.append(("gap", "its request was not seen"))
    if bits & scan.FAILED:
        found.append(("refuse", "reports an error"))
    if what.get("refused") and step.name.startswith("DISCONNECT"):
        found += [("refuse", "reports an error")] if what["reason"] != _ACCEPTED else []
    elif what.get("refused"):
        found.append(("refuse", "refuses"))
    if step.name in _ENDS:
        found.append(("refuse", _ENDS[step.name]))
    return found


_ACCEPTED = 0x4B  # Disconnect Accept, of a Disconnect that is as it should be (5.9.7.3.2)


def _is_bad(r: Row) -> bool:
    return r["ended"] not in ("open", "disconnected") or r["reason"] not in (-1, _ACCEPTED) or bool(r["violations"])


class _Maker:
    """Makes the parts of one page."""

    def __init__(self, table: Table, flows: Sequence[Flow], rows: Sequence[Row], causes: Sequence[Cause]) -> None:
        self._table, self._flows, self._causes = table, flows, causes
        begin = min((r["first_time"] for r in rows), default=0.0)
        self.scale = plot.Scale(begin, max((r["last_time"] for r in rows), default=begin))
        self._by_number: dict[int, list[int]] = {}
        for number, cause in enumerate(causes, 1):
            for step in cause.frames:
                self._by_number.setdefault(step.number, []).append(number)

    def told(self) -> list[_Told]:
        """The causes."""
        found = []
        for number, cause in enumerate(self._causes[:_MOST_CAUSES], 1):
            title = TITLES[cause.name] if cause.is_known else f"Not known which of {len(cause.names)}"
            may_be = [] if cause.is_known else [TITLES[name] for name in cause.names]
            connection = self._flows.index(cause.flow) + 1 if cause.flow is not None else 0
            one = _Told(number, title, may_be, cause.sure, cause, connection, logs=logs_of(cause.name))
            one.others = [self._flows.index(flow) + 1 for flow in cause.others]
            for step in cause.frames:
                path, frame = self._table.scan.place(step.number)
                one.frames.append((path, frame, step.words()))
            found.append(one)
        return found

    def connection(self, r: Row) -> _Connection:
        """One line."""
        flow = self._flows[r["connection"] - 1]
        causes = [n for n, cause in enumerate(self._causes, 1) if cause.flow is flow or flow in cause.others]
        left, right = self.scale.percent(r["first_time"]), self.scale.percent(r["last_time"])
        width = f"{max(0.4, right - left):.2f}%"
        return _Connection(r, _is_bad(r) or bool(causes), f"{left:.2f}%", width, self._marks(flow), causes)

    def _steps(self, flow: Flow) -> list[Step]:
        """The frames that the table kept of a Connection, and those that show what went wrong in it."""
        kept = {step.number: step for cause in self._causes if cause.flow is flow for step in cause.frames}
        kept.update({step.number: step for step in flow.steps})
        return [kept[number] for number in sorted(kept)]

    def _marks(self, flow: Flow) -> list[_Mark]:
        marks: list[_Mark] = []
        for step in self._steps(flow):
            numbers = self._by_number.get(step.number, [])
            odd = [("cause", f"cause {number}") for number in numbers] or _odd(step)
            for kind, words in odd[:1]:
                x = f"{self.scale.percent(step.time_us / 1e6):.2f}%"
                if len(marks) < _MOST_MARKS or kind == "cause":
                    marks.append(_Mark(x, kind, f"frame {self._table.scan.place(step.number)[1]}: {step.name}, {words}"))
        return marks

    def fill(self, c: _Connection) -> None:
        """The ladder and the latencies."""
        flow = self._flows[c.row["connection"] - 1]
        c.rungs, before = [], flow.first_us
        every = self._steps(flow)
        steps = every[:MOST_STEPS]
        c.left_off = len(every) - len(steps) + flow.steps_left_off
        for step in steps:
            causes = self._by_number.get(step.number, [])
            notes = [words for _, words in _odd(step)]
            way = ("right" if step.sender == flow.ids[0] else "left") if step.ports == set(flow.ids) else "beside"
            c.rungs.append(_Rung(step, step.time_us - before, way, notes, causes))
            before = step.time_us
        samples = [self._table.scan.samples(flow.index, side) for side in (0, 1)]
        if any(samples):
            marks = [(kind, step.time_us / 1e6) for step in every if (kind := self._kind(step))]
            c.plot = plot.of_latencies(samples, c.row["first_time"], c.row["last_time"], marks[:_MOST_MARKS])

    def _kind(self, step: Step) -> str:
        odd = _odd(step)
        return "cause" if step.number in self._by_number else odd[0][0] if odd else ""

    def frame(self, step: Step) -> int:
        """Its number in its file."""
        return self._table.scan.place(step.number)[1]


def page(
    table: Table, flows: Sequence[Flow], rows: Sequence[Row], ladder: int = 0, causes: Optional[Sequence[Cause]] = None,
    summary: Sequence[str] = (),
) -> str:
    """The page. ladder: the Connection that is open; 0: the first in which something went wrong, or the first. causes: what went
    wrong, where that was asked (None: it was not). summary: sentences about the capture."""
    maker = _Maker(table, flows, rows, causes or ())
    connections = [maker.connection(r) for r in rows[:MOST_ROWS]]
    bad_first = sorted(connections, key=lambda c: (c.row["connection"] != ladder, not c.causes, not c.is_bad))
    for c in bad_first[:MOST_OPEN]:
        maker.fill(c)
    for c in bad_first[:1]:
        c.is_open = True
    style, style_hash = _inline("flows.css")
    script, script_hash = _inline("flows.js")
    values: dict[str, Any] = {
        "connections": connections, "told": maker.told(), "asked": causes is not None, "summary": summary, "scale": maker.scale,
        "left_off": len(rows) - len(connections), "frame": maker.frame, "more_causes": max(0, len(causes or ()) - _MOST_CAUSES),
        "bad": sum(c.is_bad for c in connections), "files": [path for _, path in table.scan.files],
        "style": style, "style_hash": style_hash, "script": script, "script_hash": script_hash,
    }  # fmt: skip
    return _environment().get_template("flows.html.j2").render(values)
