"""The ladder diagram of a case as data: what was expected beside what was seen, row by row."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Iterable, Optional

from fcvi.engine.protocol import Line as Wire, View, protocol_of
from fcvi.engine.results import Expectation, Finding, Result, TraceFrame

MOST_ROWS = 300  # of one case; what follows is in its capture
_MOST_HEX = 640  # bytes of a frame that are shown, unless a finding points further


@dataclass(slots=True)
class Row:
    """One step. number: of the frame in the capture, None for an expectation or a finding without a frame."""

    time_us: Optional[int]
    number: Optional[int] = None
    sender: str = ""
    name: str = ""
    summary: str = ""
    note: str = ""
    lost: bool = False
    expected: str = ""
    requirement: str = ""
    seen: str = ""
    silence: bool = False
    missing: bool = False
    findings: list[Finding] = field(default_factory=list)
    first_difference: bool = False
    frame: Optional[TraceFrame] = None
    wire: Optional[Wire] = None  # that the frame crossed
    view: Optional[View] = None  # the frame, decoded without its checksum

    @property
    def numbered(self) -> str:
        """The summary behind the number."""
        return f"{self.number}: {self.summary}"


def rows(result: Result) -> list[Row]:
    """The rows of a case in their order; the first one that broke a requirement is marked."""
    wire = wire_of(result) if result.frames else None
    found = [_of_frame(number, frame, wire) for number, frame in enumerate(result.frames, 1) if wire is not None]
    for finding in result.findings:  # what the case found out about a frame is not in the frame's own list
        if finding.frame is not None and 0 < finding.frame <= len(found):
            row = found[finding.frame - 1]
            if finding not in row.findings:
                row.findings.append(finding)
    _expect(found, result.expectations)
    beside = [_of_expectation(e) for e in result.expectations if not e.frames]
    beside_after = [e.after for e in result.expectations if not e.frames]
    homeless = [f for f in result.findings if f.frame is None or not 0 < f.frame <= len(found)]
    for finding in homeless:
        about = [row for row in beside if _is_about(row, finding)]
        if not about:
            about = [Row(finding.time_us, expected=finding.required, requirement=finding.requirement)]
            beside += about
            beside_after.append(_frames_until(result.frames, finding.time_us))
        about[0].findings.append(finding)
        about[0].seen, about[0].silence = finding.seen, False
    merged = _merge(found, beside, beside_after)
    for row in merged if result.broken else ():
        if any(f.requirement in result.broken and f.erratum is None for f in row.findings):
            row.first_difference = True
            break
    return merged


def wire_of(result: Result) -> Optional[Wire]:
    """The wire of the case's standard."""
    line = protocol_of(result.protocol).line
    return line() if line is not None else None


def _of_frame(number: int, frame: TraceFrame, wire: Wire) -> Row:
    view = wire.decode(frame, False)
    name, _, rest = view.summary().partition(" ")
    return Row(
        frame.time_us, number, frame.sender, name, rest, frame.note, frame.lost, findings=list(frame.findings), frame=frame,
        wire=wire, view=view,
    )


def _expect(found: list[Row], expectations: Iterable[Expectation]) -> None:
    for expectation in expectations:
        for position, number in enumerate(expectation.frames):
            row = found[number - 1]
            row.expected = expectation.words if position == 0 else "continued"
            row.requirement = expectation.requirement
            row.silence = expectation.silence


def _of_expectation(expectation: Expectation) -> Row:
    return Row(
        expectation.time_us, expected=expectation.words, requirement=expectation.requirement,
        seen="none" if expectation.silence else "nothing", silence=expectation.silence,
        missing=not expectation.silence,
    )  # fmt: skip


def _is_about(row: Row, finding: Finding) -> bool:
    return row.requirement == finding.requirement and row.time_us == finding.time_us and not row.findings


def _frames_until(frames: list[TraceFrame], time_us: Optional[int]) -> int:
    if time_us is None:
        return len(frames)
    return max((number for number, frame in enumerate(frames, 1) if frame.time_us <= time_us), default=0)


def _merge(found: list[Row], beside: list[Row], after: list[int]) -> list[Row]:
    behind: dict[int, list[Row]] = {}
    for row, where in zip(beside, after):
        behind.setdefault(where, []).append(row)
    merged = behind.get(0, [])
    for number, row in enumerate(found, 1):
        merged += [row, *behind.get(number, ())]
    return merged


# ---- one frame in full ----


@dataclass(frozen=True)
class Line:
    """A line of the decoded frame."""

    text: str
    marked: bool


@dataclass(frozen=True)
class HexLine:
    """Sixteen bytes; runs of (hexadecimal, marked)."""

    offset: str
    runs: list[tuple[str, bool]]


def marks(view: View, findings: Iterable[Finding]) -> tuple[set[int], set[tuple[int, str]]]:
    """The bytes that findings point at, and the fields (byte, name)."""
    bytes_, names = set(), set()
    pointing = [f for f in findings if f.byte is not None]
    fields = view.json().get("fields", []) if pointing else []
    for finding in pointing:
        same = [f for f in fields if f["byte"] == finding.byte and finding.bits in (None, f["bits"])]
        names |= {(f["byte"], f["name"]) for f in same}
        bytes_ |= _bytes(finding, same[0]["size"] if same else None)
    return bytes_, names


def _bytes(finding: Finding, size: Optional[int]) -> set[int]:
    assert finding.byte is not None
    bits = re.fullmatch(r"(\d+)-(\d+)", finding.bits or "")
    if bits is None:
        return set(range(finding.byte, finding.byte + (size or 1)))
    high, low = int(bits[1]), int(bits[2])
    length = max(size or 0, high // 8 + 1)
    return set(range(finding.byte + length - 1 - high // 8, finding.byte + length - low // 8))


def decoded(row: Row) -> dict[str, Any]:
    """Lines in words and in hexadecimal, with what the findings point at marked."""
    assert row.frame is not None and row.wire is not None
    frame = row.frame
    view = row.wire.decode(frame, True)
    bytes_, names = marks(view, row.findings)
    lines = []
    for text in view.text().splitlines():
        parts = re.match(r"\s*(\d+)(?:\.[\d-]+)? +(.*?)(?:  |$)", text)
        lines.append(Line(text, parts is not None and (int(parts[1]), parts[2].strip()) in names))
    shown = max(_MOST_HEX, max((b for b in bytes_ if b < len(frame.data)), default=0) + 1)
    data = frame.data[:shown]
    dump = [HexLine(f"{at:4}", _runs(data, at, bytes_)) for at in range(0, len(data), 16)]
    return {"lines": lines, "hex": dump, "left_off": len(frame.data) - len(data)}


def _runs(data: bytes, at: int, marked: set[int]) -> list[tuple[str, bool]]:
    runs: list[tuple[str, bool]] = []
    for index in range(at, min(at + 16, len(data))):
        is_marked = index in marked
        if runs and runs[-1][1] == is_marked:
            runs[-1] = (f"{runs[-1][0]} {data[index]:02x}", is_marked)
        else:
            runs.append((f"{data[index]:02x}", is_marked))
    return runs
