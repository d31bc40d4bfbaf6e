"""A violation that ``fcvi explore`` found: its capture, and a ladder diagram in text."""

from __future__ import annotations

from typing import Any

from fcvi.engine import pcapng as captures
from fcvi.engine.protocol import Line
from fcvi.engine.results import TraceFrame
from fcvi.fc.trace import LINE as FRAMES
from fcvi.vitcp.trace import LINE as STREAMS, Address, TraceUnit
from .program import Outcome

_RESERVED_PORT, _FIRST_PORT = 7000, 50_000  # of who is called, of who calls
_SENDERS = ("tester", "dut")  # the interfaces of a capture: port 0 and port 1
_NOTES = {
    "lose": "lost",
    "duplicate": "arrives, and once more later",
    "overtake": "overtakes those before it",
    "hasten": "arrives just before the timer that is due",
    "cut": "arrives in two pieces, of which this is the first",
}
_COLUMN = 62


def _line(outcome: Outcome) -> Line:
    return STREAMS if outcome.summary["wire"] == "vitcp" else FRAMES


def _ends(step: dict[str, Any], openers: dict[int, int]) -> list[Address]:
    """The addresses of port 0 and of port 1 on this TCP connection, which begins when a port asks for it."""
    if step["event"] == "open":
        openers[step["link"]] = step["from"]
    opener = openers.get(step["link"], 0)
    hosts = [bytes.fromhex("fe80") + bytes(13) + bytes([0xA1 + port]) for port in range(2)]
    return [(hosts[port], _FIRST_PORT + step["link"] if port == opener else _RESERVED_PORT) for port in range(2)]


def _unit(step: dict[str, Any], openers: dict[int, int]) -> TraceFrame:
    """What a step of the path says was sent."""
    data, sender = bytes.fromhex(step["bytes"]), _SENDERS[step["from"]]
    if step["kind"] == "frame":
        return TraceFrame(step["time"], sender, data, step["sof"], step["eof"])
    ends = _ends(step, openers)
    return TraceUnit(
        step["time"], sender, data, 0, 0, stream=f"stream {step['link']}", event=step["event"], begin=step["begin"],
        source=ends[step["from"]], target=ends[1 - step["from"]],
    )  # fmt: skip


def _frames(outcome: Outcome) -> dict[int, TraceFrame]:
    """By number. The path begins after the setup in some scenarios; then the numbers do not begin with 1."""
    frames: dict[int, TraceFrame] = {}
    openers: dict[int, int] = {}
    for step in outcome.path:
        if step["kind"] in ("frame", "unit"):
            frames[step["number"]] = _unit(step, openers)
    for step in outcome.path:
        if step["kind"] == "choice" and step["choice"] in _NOTES and step["frame"] in frames:
            frame = frames[step["frame"]]
            frame.note = "; ".join(filter(None, [frame.note, _NOTES[step["choice"]]]))
            frame.lost = frame.lost or step["choice"] == "lose"
    return frames


def pcapng(outcome: Outcome) -> bytes:
    """Every frame or PDU as it was sent, with a comment on what became of it. Interface 1 is port 0, interface 2 port 1."""
    s = outcome.summary
    comment = f"fcvi explore {outcome.name}: {s['rule']}: {s['text']}"
    return captures.capture(list(_frames(outcome).values()), comment, _line(outcome))


def _words(step: dict[str, Any], frames: dict[int, TraceFrame], line: Line) -> str:
    if step["kind"] == "event":
        return f"* {step['text']}"
    if step["kind"] in ("frame", "unit"):
        return f"#{step['number']} {line.decode(frames[step['number']], False).summary()}"
    if step["choice"] == "reset":
        return f"stream {step['link']} is reset on its way"
    if step["choice"] == "call":
        return f"calls {step['call']}"
    if step["choice"] == "expire":
        return "a timer expires"
    return f"#{step['frame']} {_NOTES.get(step['choice'], 'arrives')}"


def _row(step: dict[str, Any], frames: dict[int, TraceFrame], line: Line) -> str:
    """Port 0 on the left, port 1 on the right; an arrow leaves its sender, and another one comes in."""
    sent = step["kind"] in ("frame", "unit")
    port = step["from"] if sent else step["port"]
    text = _words(step, frames, line)
    arrow = "   "
    if sent:
        arrow = "-->" if port == 0 else "<--"
    elif step["kind"] == "choice" and step["frame"] != 0:
        arrow = "-->" if port == 1 else "<--"
        arrow = arrow.replace("-", "x", 2) if step["choice"] == "lose" else arrow
    columns = [text if port == i else "" for i in range(2)]
    return f"{step['time']:>8}  {columns[0]:<{_COLUMN}.{_COLUMN}} {arrow} {columns[1]:.{_COLUMN}}".rstrip()


def ladder(outcome: Outcome) -> str:
    """The way to the violation: each choice, and what the ports said and their applications heard."""
    s = outcome.summary
    frames = _frames(outcome)
    head = [
        f"{outcome.name}: {s['title']}",
        f"{s['rule']}: {s['text']}",
        f"after {s['steps']} steps; no shorter way leads there",
        "",
        f"{'us':>8}  {'port 0':<{_COLUMN}}     port 1",
    ]
    return "\n".join([*head, *(_row(step, frames, _line(outcome)) for step in outcome.path), ""])
