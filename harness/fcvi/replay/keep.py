"""Keeps a recording as a capture with an expectations file beside it: a regression that needs no report directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator, Mapping, Optional, Sequence

from fcvi.engine.files import write_file
from fcvi.fc.trace import capture
from fcvi.engine.results import TraceFrame
from .recording import CallEvent, FrameEvent, LinkEvent, NoteEvent, Recording, ReturnEvent


def keep(recording: Recording, directory: Path, name: str, comment: str) -> list[Path]:
    """Write NAME.pcapng, with the frames that reached the other side, and NAME.toml. Raises OSError."""
    frames = [
        TraceFrame(e.time_us, e.sender, e.frame.data, e.frame.sof, e.frame.eof, e.frame.crc_ok)
        for e in recording.events
        if isinstance(e, FrameEvent)
    ]
    made = {f"{name}.pcapng": capture(frames, comment), f"{name}.toml": expectations(recording, comment).encode()}
    directory.mkdir(parents=True, exist_ok=True)
    for file, data in made.items():
        write_file(directory / file, data)
    return [directory / file for file in made]


def expectations(recording: Recording, comment: str, numbers: Optional[Sequence[int]] = None) -> str:
    """The expectations file. numbers: which frame of the capture each frame of the recording is, where it has others too."""
    words = " ".join(comment.split())
    counted = [0, *numbers] if numbers is not None else None
    start = next((e.time_us for e in recording.events if isinstance(e, FrameEvent)), 0)
    lines = [f"# {words}", f"start_us = {start}", f"end_us = {recording.end_us}"]
    lines += [f"case = {_value(recording.case)}"] if recording.case else []
    lines += ["", "[config]"]
    lines += [f"{key} = {_value(value)}" for key, value in recording.config.items()]
    returns = recording.returns()
    for event in recording.events:
        if isinstance(event, CallEvent):
            lines += _table(event, counted, {"call": event.method, "params": event.params, **_answer(returns.get(event.call))})
        elif isinstance(event, NoteEvent):
            lines += _table(event, counted, {"note": event.method, "params": event.params})
        elif isinstance(event, LinkEvent):
            lines += _table(event, counted, {"link": event.event})
    return "\n".join(lines) + "\n"


def _answer(answer: ReturnEvent | None) -> dict[str, Any]:
    if answer is None:
        return {}
    return {"result": answer.result} if answer.error is None else {"error": answer.error}


def _table(
    event: CallEvent | NoteEvent | LinkEvent, counted: Optional[Sequence[int]], members: Mapping[str, Any]
) -> Iterator[str]:
    yield ""
    yield "[[step]]"
    yield f"after = {event.after if counted is None else counted[event.after]}"
    if event.time_us:
        yield f"time_us = {event.time_us}"
    for key, value in members.items():
        yield f"{key} = {_value(value)}"


def _value(value: Any) -> str:
    """A value; members that are null are left out, for TOML has none and the DUT protocol takes them as missing."""
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items() if v is not None)
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(v) for v in value if v is not None) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f")
    return json.dumps(value)


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)
