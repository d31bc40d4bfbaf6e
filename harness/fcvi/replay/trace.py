"""A recorded case as a recording: its trace has the frames that reached the device, and the control plane."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

from fcvi.fc import codec, notation
from fcvi.engine.record import Entry
from fcvi.engine.evidence import FOLDER, load_trace, stem
from fcvi.engine.files import FileError, damage, parse_json, read_file
from fcvi.engine.params import Params, ProtocolError
from .recording import (
    CallEvent,
    Event,
    FrameEvent,
    LinkEvent,
    NoteEvent,
    Recording,
    RecordingError,
    ReturnEvent,
    require_method,
)

_NOTES = ("completion", "error", "state")


def find(path: Path) -> Optional[tuple[Path, str]]:
    """The report directory and the case of a trace, or of a case's capture beside its evidence."""
    if path.suffix == ".jsonl":
        return path.parent.parent, _case_of(path)
    traced = path.parent / FOLDER / f"{path.stem}.jsonl"
    return (path.parent, _case_of(traced)) if traced.is_file() else None


def _case_of(path: Path) -> str:
    head = parse_json(read_file(path).partition(b"\n")[0], f"{path}: line 1")
    case = head.get("case") if isinstance(head, dict) else None
    if not isinstance(case, str) or path.parent.name != FOLDER or stem(case) != path.stem:
        raise RecordingError(f"{path}: not the trace of a case in a report directory")
    return case


def load(directory: Path, ident: str) -> Recording:
    """The recording of a case. Raises FileError."""
    path = directory / FOLDER / f"{stem(ident)}.jsonl"
    entries = load_trace(directory, ident)
    if not entries or entries[0].get("op") != "reset":
        raise RecordingError(f"{path}: the trace does not begin with reset")
    try:
        config, edition = _told(entries[0])
    except ProtocolError as error:
        raise RecordingError(f"{path}: line 2: {error.message}") from error
    builder = _Builder()
    for number, entry in enumerate(entries[1:], 3):
        try:
            builder.add(entry)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise RecordingError(f"{path}: line {number}: damaged: {damage(error)}"[:300]) from error
    return Recording(str(path), config, builder.events, builder.now, case=ident, edition=edition)


def of_entries(source: str, entries: list[Entry]) -> Recording:
    """The recording of what has just passed; where the attachment failed it ends, with what the device was told last."""
    builder = _Builder()
    for entry in entries[1:]:
        if "error" in entry:
            builder.asked(entry)
            break
        builder.add(entry)
    config, edition = _told(entries[0])
    return Recording(source, config, builder.events, builder.now, edition=edition)


def _told(reset: Entry) -> tuple[dict[str, Any], str]:
    """Configuration and edition of a reset. Raises ProtocolError."""
    params = Params(reset.get("params"))
    return params.configuration(), params.revision("2007")


class _Builder:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.frames = 0
        self.now = 0
        self._behind = False  # nothing but an action of the tester came last

    def add(self, entry: Entry) -> None:
        """One operation: first what the suite did, then what the device said."""
        if "error" in entry:
            raise ValueError(f"the attachment failed here: {str(entry['error'])[:120]}")
        self.asked(entry)
        self._behind = entry["op"] in ("request", "notify") and not entry.get("notes") and not entry.get("done")
        for method, params, _, time_us in entry.get("notes", []):
            self._said(str(method), dict(params), int(time_us))
        for call, answer, time_us in entry.get("done", []):
            error = int(answer["error"][0]) if "error" in answer else None
            self.events.append(ReturnEvent(int(time_us), self.frames, int(call), dict(answer.get("result", {})), error))
        now = int(entry["now"])
        if not self.now <= now < 2**53:
            raise ValueError(f"the time {str(now)[:20]} us comes after {self.now} us")
        self.now = now

    def asked(self, entry: Entry) -> None:
        """What the suite did."""
        op = entry["op"]
        if op == "request":
            require_method(entry["method"])
            call = CallEvent(self.now, self.frames, int(entry["n"]), str(entry["method"]), dict(entry["params"]), self._behind)
            self.events.append(call)
        elif op == "notify" and entry["method"] == "frame":
            self._frame("tester", dict(entry["params"]), self.now)
        elif op == "notify" and entry["method"] == "link":
            self.events.append(LinkEvent(self.now, self.frames, str(entry["params"]["event"])))
        elif op not in ("advance", "joined", "streams"):
            raise ValueError(f"{str(op)[:20]} is no operation of a case")

    def _said(self, method: str, params: dict[str, Any], time_us: int) -> None:
        if method == "frame":
            self._frame("dut", params, time_us)
        elif method in _NOTES:
            self.events.append(NoteEvent(time_us, self.frames, method, params))

    def _frame(self, sender: str, params: dict[str, Any], time_us: int) -> None:
        self.frames += 1
        raw = notation.from_params(params)
        crc = codec.CRC_OK if raw.crc_ok else codec.CRC_BAD
        self.events.append(FrameEvent(time_us, sender, self.frames, raw, crc, sender == "tester" and self._behind))


__all__ = ["FileError", "find", "load", "of_entries"]
