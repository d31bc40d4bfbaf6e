"""A recorded case of VI/TCP: what the tester did on its streams, and what the device said."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Optional

from fcvi.engine.evidence import FOLDER, RUN, load_run, load_trace, stem
from fcvi.engine.files import damage
from fcvi.engine.params import Params, ProtocolError
from fcvi.engine.pixit import Pixit, Profile
from fcvi.engine.record import Entry

from .recording import CallEvent, NoteEvent, Recording, RecordingError, ReturnEvent, require_method

_NOTES = ("completion", "error", "state")
_TESTERS = frozenset({"stream.open", "stream.opened", "stream.refused", "stream.data", "stream.window", "stream.close"})


@dataclass
class StreamEvent:
    """A notification about a stream, of either side. begin: the number of its first byte in its direction ("stream.data")."""

    time_us: int
    sender: str  # "tester" or "dut"
    method: str
    params: dict[str, Any]
    begin: int = 0


@dataclass
class PolicyEvent:
    """What the tester does with TCP connections that the device asks for, from now on."""

    time_us: int
    policy: str
    unlimited: bool


@dataclass
class StreamRecording(Recording):
    """profile: the numbers of the run. sent: all that the tester sent, by stream."""

    profile: Optional[Profile] = None
    sent: dict[str, bytes] = field(default_factory=dict)

    def streams(self) -> list[str]:
        """The names of all streams, in their order."""
        events: list[Any] = self.events
        return list(dict.fromkeys(str(e.params["stream"]) for e in events if isinstance(e, StreamEvent)))


def is_of_streams(directory: Path, ident: str) -> bool:
    """Whether the trace of a case is about streams. Raises FileError."""
    entries = load_trace(directory, ident)
    params = entries[0].get("params") if entries and entries[0].get("op") == "reset" else None
    return isinstance(params, dict) and params.get("wire") == "tcp"


def load(directory: Path, ident: str) -> StreamRecording:
    """The recording of a case. Raises FileError."""
    path = directory / FOLDER / f"{stem(ident)}.jsonl"
    entries = load_trace(directory, ident)
    try:
        config = {"wire": "tcp", **Params(entries[0].get("params")).stream_configuration()}
    except ProtocolError as error:
        raise RecordingError(f"{path}: line 2: {error.message}") from error
    found = StreamRecording(str(path), config, [], case=ident, profile=_profile(directory))
    events: list[Any] = found.events
    for number, entry in enumerate(entries[1:], 3):
        try:
            _add(events, entry, found)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise RecordingError(f"{path}: line {number}: damaged: {damage(error)}"[:300]) from error
    return found


def _profile(directory: Path) -> Optional[Profile]:
    try:
        return Pixit.from_json(load_run(directory)["pixit"]).profile
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordingError(f"{directory / FOLDER / RUN}: damaged: {damage(error)}"[:300]) from error


def _add(events: list[Any], entry: Entry, found: StreamRecording) -> None:
    """One operation: first what the suite did, then what the device said."""
    if "error" in entry:
        raise ValueError(f"the attachment failed here: {str(entry['error'])[:120]}")
    op, before = entry["op"], found.end_us
    if op == "request":
        method, params = require_method(entry["method"]), dict(entry["params"])
        events.append(CallEvent(before, 0, int(entry["n"]), method, params))
    elif op == "notify":
        events.append(_sent(before, str(entry["method"]), dict(entry["params"]), found.sent))
    elif op == "streams":
        policy, unlimited = entry["params"]
        events.append(PolicyEvent(before, str(policy), bool(unlimited)))
    elif op not in ("advance", "joined"):
        raise ValueError(f"{str(op)[:20]} is no operation of a case")
    for method, params, _, time_us in entry.get("notes", []):
        if str(method).startswith("stream."):
            events.append(_said(int(time_us), str(method), dict(params)))
        elif method in _NOTES:
            events.append(NoteEvent(int(time_us), 0, str(method), dict(params)))
    for call, answer, time_us in entry.get("done", []):
        error = int(answer["error"][0]) if "error" in answer else None
        events.append(ReturnEvent(int(time_us), 0, int(call), dict(answer.get("result", {})), error))
    found.end_us = int(entry["now"])
    if not before <= found.end_us < 2**53:
        raise ValueError(f"the time {str(entry['now'])[:20]} us comes after {before} us")


def _said(time_us: int, method: str, params: dict[str, Any]) -> StreamEvent:
    """What the device said, as far as it is played: of whole shape. Raises KeyError, TypeError or ValueError."""
    str(params["stream"])
    if method == "stream.data":
        bytes.fromhex(params["hex"])
    if method == "stream.open":
        for end in ("from", "to"):
            bytes.fromhex(params[end]["host"]), int(params[end]["port"])
    if method == "stream.close" and params["how"] not in ("fin", "reset"):
        raise ValueError(f"{str(params['how'])[:20]!r} is no end of a stream")
    return StreamEvent(time_us, "dut", method, params)


def _sent(time_us: int, method: str, params: Mapping[str, Any], sent: dict[str, bytes]) -> StreamEvent:
    if method not in _TESTERS:
        raise ValueError(f"{method[:40]!r} is nothing that the tester does on a stream")
    name = str(params["stream"])
    event = StreamEvent(time_us, "tester", method, _said(time_us, method, dict(params)).params, len(sent.get(name, b"")))
    if method == "stream.data":
        sent[name] = sent.get(name, b"") + bytes.fromhex(params["hex"])
    return event
