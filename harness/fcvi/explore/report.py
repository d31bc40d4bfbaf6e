"""A violation that ``fcvi explore`` found: its capture, and a ladder diagram in text."""

from __future__ import annotations

from typing import Any

from fcvi.fc import codec
from .program import Outcome
from fcvi.fc.trace import capture
from fcvi.engine.results import TraceFrame

_SENDERS = ("tester", "dut")  # the interfaces of a capture: port 0 and port 1
_NOTES = {
    "lose": "lost",
    "duplicate": "arrives, and once more later",
    "overtake": "overtakes those before it",
    "hasten": "arrives just before the timer that is due",
}
_COLUMN = 62


def _frames(outcome: Outcome) -> dict[int, TraceFrame]:
    """By number. The path begins after the setup in some scenarios; then the numbers do not begin with 1."""
    frames = {}
    for step in outcome.path:
        if step["kind"] == "frame":
            data = bytes.fromhex(step["bytes"])
            frames[step["number"]] = TraceFrame(step["time"], _SENDERS[step["from"]], data, step["sof"], step["eof"])
    for step in outcome.path:
        if step["kind"] == "choice" and step["choice"] in _NOTES and step["frame"] in frames:
            frame = frames[step["frame"]]
            frame.note = "; ".join(filter(None, [frame.note, _NOTES[step["choice"]]]))
            frame.lost = frame.lost or step["choice"] == "lose"
    return frames


def pcapng(outcome: Outcome) -> bytes:
    """Every frame as it was sent, with a comment on what became of it. Interface 1 is port 0, interface 2 port 1."""
    s = outcome.summary
    return capture(list(_frames(outcome).values()), f"fcvi explore {outcome.name}: {s['rule']}: {s['text']}")


def _words(step: dict[str, Any], frames: dict[int, TraceFrame]) -> str:
    if step["kind"] == "event":
        return f"* {step['text']}"
    if step["kind"] == "frame":
        frame = frames[step["number"]]
        return f"#{step['number']} {codec.decode(frame.data, frame.sof, frame.eof).summary()}"
    if step["choice"] == "call":
        return f"calls {step['call']}"
    if step["choice"] == "expire":
        return "a timer expires"
    return f"#{step['frame']} {_NOTES.get(step['choice'], 'arrives')}"


def _row(step: dict[str, Any], frames: dict[int, TraceFrame]) -> str:
    """Port 0 on the left, port 1 on the right; an arrow leaves its sender, and another one comes in."""
    port = step["from"] if step["kind"] == "frame" else step["port"]
    text = _words(step, frames)
    arrow = "   "
    if step["kind"] == "frame":
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
    return "\n".join([*head, *(_row(step, frames) for step in outcome.path), ""])
