"""A capture as a recording, with the calls and answers that an expectations file beside it names.

The file is TOML and everything in it is optional::

    side = ["010100"]            # S_IDs of the side that is played
    start_us = 500000            # when the first frame comes, and
    end_us = 2000000             # how long it all goes on
    case = "8.5.2.a/dut-client/first"   # the case of the suite that was recorded; it decides what a difference means
    ignore = ["FCVI_PIPELINE_DEPTH"]
    [config]                     # members of ``reset`` under which the capture was made
    fabric = "out-of-order"
    [[step]]                     # what happens between the frames, in this order
    after = 0                    # how many frames of the capture come before it
    time_us = 0                  # default: that of the frame before it
    call = "VipCreateVi"         # a VIPL call, mem.read or mem.write
    params = { ViAttribs = { MaxTransferSize = 4096 } }
    result = { return = "VIP_SUCCESS", vi = 1 }     # what is compared; vi, conn and mem name the handles for later calls
    # or error = -32602, a JSON-RPC error
    [[step]]
    after = 7
    note = "completion"          # what the device says by itself: "completion", "error" or "state"
    params = { vi = 1, queue = "send", status = ["VIP_STATUS_DONE"], length = 64 }
    [[step]]
    after = 9
    link = "lip"                 # a link event
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, Optional

from fcvi.fc import codec
from fcvi.fc.build import RawFrame
from fcvi.capture import confined_records
from fcvi.capture.limits import Wishes
from fcvi.capture.reader import CaptureError, Record
from fcvi.capture.scan import Editions
from fcvi.engine import strict
from fcvi.engine.files import damage, read_file
from fcvi.engine.params import Params, ProtocolError
from fcvi.engine.pixit import Pixit
from fcvi.fc.received import kind_of
from fcvi.fc.configuration import base_config, configured
from . import sides
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

_KEYS = frozenset({"side", "start_us", "end_us", "ignore", "config", "step", "case"})
_MOST_FRAMES = 1_000_000
_LONGEST = 24 + 2112


def load(
    path: Path, side: Optional[frozenset[int]], expectations: Optional[Path], wishes: Any = Wishes(), edition: str = "auto"
) -> Recording:  # fmt: skip
    """The recording. side: S_IDs of the tester, None when the file says. wishes: --limits and --no-sandbox. edition: of EDITIONS.

    Raises FileError, and ReaderLost when the process that reads the capture was ended.
    """
    beside = expectations or path.with_suffix(".toml")
    said = _toml(beside) if expectations is not None or beside.is_file() else {}
    where = str(beside)
    try:
        records = _records(path, wishes)
        said_side = _side(said)
        frames = _Frames(path, records, side or said_side, _time(said, "start_us", 0)).events
        read_by = _edition(frames, edition)
        config = _config(said, frames, read_by)
        listed = _listed(said, len(records), frames)
        if not any(isinstance(e, (CallEvent, NoteEvent)) or isinstance(e, FrameEvent) and e.sender == "dut" for e in listed):
            raise RecordingError(f"{path}: nothing to compare: no frame of the device is in it, and {beside.name} names no call")
        end = max(_time(said, "end_us", 0), max(e.time_us for e in listed))
        ignore = frozenset(_strings(said.get("ignore", []), "ignore"))
        case = said.get("case", "")
        if not isinstance(case, str):
            raise ValueError("case must be a string")
    except (KeyError, TypeError, ValueError) as error:
        raise RecordingError(f"{where}: {damage(error)}") from error
    knows_calls = any("call" in step for step in said.get("step", []))
    return Recording(str(path), config, listed, end, ignore, knows_calls, case, read_by)


def _toml(path: Path) -> dict[str, Any]:
    try:
        said = strict.toml(read_file(path))
    except ValueError as error:
        raise RecordingError(f"{path}: not TOML: {damage(error)}") from error
    unknown = sorted(set(said) - _KEYS)
    if unknown:
        raise RecordingError(f"{path}: unknown member {unknown[0]!r}; there are {', '.join(sorted(_KEYS))}")
    return said


def _strings(value: object, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise ValueError(f"{name} must be an array of strings")
    return value


def s_ids(words: list[str]) -> frozenset[int]:
    """N_Port Identifiers in hexadecimal. Raises ValueError."""
    for word in words:
        if not 0 < len(word) <= 6 or set(word) - set("0123456789abcdefABCDEF"):
            raise ValueError(f"{word[:20]!r} is no N_Port Identifier: up to six hexadecimal digits")
    return frozenset(int(word, 16) for word in words)


def _side(said: Mapping[str, Any]) -> Optional[frozenset[int]]:
    return s_ids(_strings(said["side"], "side")) if "side" in said else None


def _records(path: Path, wishes: Any) -> list[Record]:
    try:
        records = confined_records.records(str(path), _MOST_FRAMES, wishes)
    except CaptureError as error:
        raise RecordingError(str(error)) from error
    if len(records) > _MOST_FRAMES:
        raise RecordingError(f"{path}: over {_MOST_FRAMES} frames")
    return records


class _Frames:
    """The frames between the two sides; frames of others and what is no FC-2 frame are passed over."""

    def __init__(self, path: Path, records: list[Record], side: Optional[frozenset[int]], first_us: int) -> None:
        self._path, self._side = path, side
        self._said = sides.of_capture(path) if side is None else None
        if self._said is not None and len(self._said) != len(records):
            self._said = None
        self.events: list[FrameEvent] = []
        if side is None and self._said is None:
            raise RecordingError(f"{path}: does not say whose side to play: give --side S_ID, {self._choices(records)}")
        start = records[0].time_us - first_us if records else 0
        before = 0
        lost = sides.lost(path) if self._said is not None else frozenset[int]()
        for index, record in enumerate(records):
            sender = self._sender(index, record)
            if sender is None or (sender == "tester" and index in lost):
                continue
            before = max(before, record.time_us - start)
            if before >= 2**53:
                raise RecordingError(f"{path}: frame {record.number}: its time is out of range")
            raw = RawFrame(record.data, record.sof, record.eof, record.crc != codec.CRC_BAD)
            last = self.events[-1] if self.events else None
            together = last is not None and sender == last.sender == "tester" and before == last.time_us
            self.events.append(FrameEvent(before, sender, record.number, raw, record.crc, together))
        if not any(e.sender == "tester" for e in self.events):
            raise RecordingError(f"{path}: no frame of the side that is to be played")
        if all(codec.decode(e.frame.data).kind == "other" for e in self.events):
            raise RecordingError(f"{path}: nothing of FC-VI: the frames of the two sides are of other protocols")

    def _sender(self, index: int, record: Record) -> Optional[str]:
        if record.kind in ("fip", "foreign"):
            return None
        if record.kind == "malformed" or len(record.data) < 24:
            raise RecordingError(f"{self._path}: frame {record.number}: not an FC-2 frame: {record.problem or 'too short'}")
        if self._said is not None:
            sender: Optional[str] = self._said[index]
        else:
            s_id, d_id = (int(codec.get("FC", name, record.data)) for name in ("S_ID", "D_ID"))
            side = self._side or frozenset()
            sender = "tester" if s_id in side else "dut" if d_id in side else None
        if sender is not None and record.kind == "cut":
            raise RecordingError(f"{self._path}: frame {record.number} is cut off in the capture and cannot be played")
        if sender is not None and len(record.data) > _LONGEST:
            words = f"has {len(record.data)} bytes; a frame has at most {_LONGEST}"
            raise RecordingError(f"{self._path}: frame {record.number} {words}")
        return sender

    @staticmethod
    def _choices(records: list[Record]) -> str:
        found = {int(codec.get("FC", "S_ID", r.data)) for r in records if r.kind == "frame" and len(r.data) >= 24}
        return "one of " + ", ".join(f"{s:06x}" for s in sorted(found)[:8]) if found else "but it has no FC-2 frame"


def _edition(frames: list[FrameEvent], told: str) -> str:
    """The edition that the two sides speak, by their frames or as it is told."""
    editions = Editions(told)
    views = [codec.decode(event.frame.data) for event in frames]
    seen = [editions.of(view.view, 0) for view in views if view.kind == "iu"]
    return "rev1" if codec.EDITION["rev1"] in seen else "2007"


def _config(said: Mapping[str, Any], frames: list[FrameEvent], edition: str) -> dict[str, Any]:
    """The configuration: what the file says, then what the frames show, then the suite's default."""
    changes = said.get("config", {})
    if not isinstance(changes, dict) or not isinstance(changes.get("peer", {}), dict):
        raise ValueError("config and config.peer must be tables")
    base = base_config(Pixit(), 1)
    shown = _shown(frames, edition)
    base = {**base, **shown["dut"], "peer": {**base["peer"], **shown["tester"]}}
    try:
        return Params(configured(base, changes)).configuration()
    except ProtocolError as error:
        raise ValueError(f"config: {error.message}") from error


#: By edition: the connect payload, its net address, and the Host Address in that.
_HOST = {
    "2007": (("CONN", "FCVI_LOC_ADDR"), ("ADDR", "HOST_ADD")),
    "rev1": (("CONN_REV1", "VI_LOC_ADDR"), ("ADDR_REV1", "HOST_IP_ADDR")),
}


def _shown(frames: list[FrameEvent], edition: str) -> dict[str, dict[str, Any]]:
    """Addresses that the frames of each side show: the N_Port Identifier, and with a connect IU the Host Address."""
    shown: dict[str, dict[str, Any]] = {"dut": {}, "tester": {}}
    for event in frames:
        view = codec.decode(event.frame.data, edition=codec.EDITION[edition])
        other = "tester" if event.sender == "dut" else "dut"
        if view.kind == "iu":
            for who, name in ((event.sender, "S_ID"), (other, "D_ID")):
                shown[who].setdefault("n_port_id", f"{int(view.get('FC', name)):06x}")
        connect, place = _HOST[edition]
        if kind_of(view) in ("CONNECT_RQST", "CONNECT_RESP1") and len(view.payload) >= codec.LENGTH[connect[0]]:
            address = codec.get(*connect, view.payload)
            assert isinstance(address, bytes)
            host = codec.get(*place, address)
            assert isinstance(host, bytes)
            shown[event.sender].setdefault("host", [host.hex()])
    return shown


def _listed(said: Mapping[str, Any], total: int, frames: list[FrameEvent]) -> list[Event]:
    """The frames, with the calls, notifications and link events of the file at their places."""
    placed: list[tuple[int, int, Event]] = [(f.number, 0, f) for f in frames]
    times = {f.number: f.time_us for f in frames}

    def time_after(after: int) -> int:
        return max((t for n, t in times.items() if n <= after), default=0)

    tables = said.get("step", [])
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise ValueError("step must be an array of tables")
    for index, table in enumerate(tables, 1):
        try:
            after = Params(table).integer("after", 0, total, 0)
            time_us = _time(table, "time_us", time_after(after))
            placed += [(after, index, event) for event in _events(index, table, after, time_us)]
        except ProtocolError as error:
            raise ValueError(f"step {index}: {error.message} (frames of the capture)") from error
        except ValueError as error:
            raise ValueError(f"step {index}: {error}") from error
    return [event for *_, event in sorted(placed, key=lambda item: item[:2])]


def _time(table: Mapping[str, Any], name: str, default: int) -> int:
    value = table.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise ValueError(f"{name} must be a number of microseconds, not {str(value)[:20]}")
    return value


_MEMBERS = {"call": {"params", "result", "error"}, "note": {"params"}, "link": set[str]()}


def _events(index: int, table: dict[str, Any], after: int, time_us: int) -> list[Event]:
    kinds = [kind for kind in _MEMBERS if kind in table]
    if len(kinds) != 1:
        raise ValueError("needs one of call, note and link")
    unknown = sorted(set(table) - _MEMBERS[kinds[0]] - {"after", "time_us", kinds[0]})
    if unknown:
        raise ValueError(f"unknown member {unknown[0]!r}")
    params, result = table.get("params", {}), table.get("result", {})
    if not isinstance(params, dict) or not isinstance(result, dict):
        raise ValueError("params and result must be tables")
    if kinds == ["link"]:
        return [LinkEvent(time_us, after, _one_of(table["link"], ("lip", "nos", "lr", "logo")))]
    if kinds == ["note"]:
        return [NoteEvent(time_us, after, _one_of(table["note"], ("completion", "error", "state")), params)]
    call: Event = CallEvent(time_us, after, index, require_method(table["call"]), params)
    error = table.get("error")
    if error is not None and (isinstance(error, bool) or not isinstance(error, int)):
        raise ValueError("error must be a number")
    return [call, ReturnEvent(time_us, after, index, result, error, False)] if result or error is not None else [call]


def _one_of(value: object, names: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{str(value)[:20]!r} is none of {', '.join(names)}")
    return value
