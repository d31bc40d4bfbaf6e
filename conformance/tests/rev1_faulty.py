"""Broken devices of Rev 1.0: the reference port of the draft with one rule broken on the way out, or in.

As faulty.py has them for 2007. Each fault says which case variant has to fail, and for which requirement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from fcvi.dut.ref import RefDut
from fcvi.engine.attachment import Notification, Reply
from fcvi.fc import codec
from fcvi.fc.received import kind_of

_DRAFT = codec.EDITION["rev1"]
HEADER = 24  # bytes of a frame header
FrameEdit = Callable[["BrokenDut", codec.Frame, bytearray], Optional[list[bytes]]]
ParamsEdit = Callable[[dict[str, Any]], dict[str, Any]]
ResultEdit = Callable[["BrokenDut", dict[str, Any]], dict[str, Any]]
CompletionEdit = Callable[["BrokenDut", dict[str, Any]], dict[str, Any]]


@dataclass
class Fault:
    """One broken device."""

    name: str
    case: str  # the variant that has to fail
    requirement: str  # and the requirement that has to be named
    out: dict[str, FrameEdit] = field(default_factory=dict)  # by kind of frame that the DUT sends
    into: dict[str, FrameEdit] = field(default_factory=dict)  # by kind of frame, before the DUT hears it
    results: dict[str, ResultEdit] = field(default_factory=dict)  # by method
    completions: Optional[CompletionEdit] = None
    params: dict[str, ParamsEdit] = field(default_factory=dict)  # by method: what the device makes of a call
    config: dict[str, Any] = field(default_factory=dict)  # of reset
    ignore: frozenset[str] = frozenset()  # calls answered with VIP_SUCCESS and nothing done
    mute: frozenset[str] = frozenset()  # notifications that are not sent


class BrokenDut(RefDut):
    """The reference port of Rev 1.0 with a fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.counts: dict[str, int] = {}
        self.memory: dict[Any, Any] = {}
        super().__init__("broken:" + fault.name, "rev1")

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        if method in self.fault.mute:
            return
        if method == "completion" and self.fault.completions is not None:
            params = self.fault.completions(self, params)
        if method != "frame":
            super()._emit(method, params)
            return
        for data in self._edited(bytes.fromhex(params["hex"]), self.fault.out):
            # the delimiters follow from the header where it was changed
            same = data.hex() == params["hex"]
            super()._emit("frame", params if same else {"hex": data.hex(), "crc": "ok"})

    def _edited(self, data: bytes, edits: dict[str, FrameEdit]) -> list[bytes]:
        view = codec.decode(data, edition=_DRAFT)
        kind = kind_of(view)
        edit = edits.get(kind) or edits.get("*")
        if edits is self.fault.out:
            self.counts[kind] = self.counts.get(kind, 0) + 1
        if edit is None:
            return [data]
        buf = bytearray(data)
        sent = edit(self, view, buf)
        return [bytes(buf)] if sent is None else sent

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method != "frame":
            super().notify(method, params)
            return
        for data in self._edited(bytes.fromhex(params["hex"]), self.fault.into):
            super().notify(method, params if data.hex() == params["hex"] else {**params, "hex": data.hex()})

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        if method in self.fault.ignore:
            return Reply(method, True, {"return": "VIP_SUCCESS"})
        params = self.fault.params.get(method, lambda p: p)(params)
        reply = super().request(method, {**params, **self.fault.config} if method == "reset" else params)
        if reply.done:
            self._edit_result(reply)
        return reply

    def _answer(self, token: int, result: Optional[dict[str, Any]], error: Optional[tuple[int, str]]) -> None:
        reply = self._replies[token]
        super()._answer(token, result, error)
        self._edit_result(reply)

    def _edit_result(self, reply: Reply) -> None:
        edit = self.fault.results.get(reply.method)
        if edit is not None and reply.error is None and "return" in reply.result and "edited" not in reply.result:
            reply.result = {**edit(self, dict(reply.result)), "edited": True}

    def reset(self, config: dict[str, Any]) -> None:
        self.counts.clear()
        self.memory.clear()
        super().reset(config)

    def invent(self, data: bytes) -> None:
        """Send a frame that the port did not."""
        self.inbox.append(Notification("frame", {"hex": data.hex(), "crc": "ok"}, self.now_us, self.now_us))


# ---- edits ----


def put(structure: str, name: str, value: int | Callable[[int], int], nth: int = 0) -> FrameEdit:
    """Set a field; of the nth frame of its kind only, when nth is given. Structures are FC, DH and those of the payload."""

    def edit(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
        if nth and dut.counts.get(kind_of(view)) != nth:
            return
        layout, offset = _FIXED[structure] if structure in _FIXED else (structure, _place(structure, view))
        old = codec.get(layout, name, bytes(buf), offset)
        assert isinstance(old, int)
        codec.put(layout, name, buf, value(old) if callable(value) else value, offset)

    return edit


_FIXED = {"FC": ("FC", 0), "DH": ("DH_REV1", HEADER)}
_IN_PAYLOAD = {"CONN_REV1": 0, "LOCAL": 8, "REMOTE": 156, "ATTRS_REV1": 304, "QOS_REV1": 312}


def _place(structure: str, view: codec.Frame) -> int:
    return view.payload_offset + _IN_PAYLOAD[structure]


def payload_byte(at: int, value: int | Callable[[int], int]) -> FrameEdit:
    """A byte of the payload."""

    def edit(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
        place = view.payload_offset + at
        buf[place] = (value(buf[place]) if callable(value) else value) & 0xFF

    return edit


def both(*edits: FrameEdit) -> FrameEdit:
    """Several edits of one frame."""

    def edit(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> Optional[list[bytes]]:
        for one in edits:
            one(dut, view, buf)
        return None

    return edit


def drop(nth: int = 0) -> FrameEdit:
    """Do not send it, or hear it (the nth only, when nth is given)."""
    return lambda dut, view, buf: [] if not nth or dut.counts.get(kind_of(view)) == nth else None


def twice(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """Send it again with the next SEQ_CNT and SEQ_ID."""
    again = bytearray(buf)
    codec.put("FC", "SEQ_CNT", again, int(codec.get("FC", "SEQ_CNT", bytes(buf))) + 1)
    codec.put("FC", "SEQ_ID", again, int(codec.get("FC", "SEQ_ID", bytes(buf))) ^ 0x40)
    return [bytes(buf), bytes(again)]


def only(condition: Callable[[codec.Frame], bool], edit: FrameEdit) -> FrameEdit:
    """The edit, where the frame is such."""
    return lambda dut, view, buf: edit(dut, view, buf) if condition(view) else None


def refuses(view: codec.Frame) -> bool:
    """A connect response with CONN_ERR."""
    return bool(view.get("DH", "CONN_ERR"))


def no_rx_id(view: codec.Frame) -> bool:
    """A frame whose sender uses no RX_ID."""
    return view.get("FC", "RX_ID") == 0xFFFF


def says_when_it_goes_on(view: codec.Frame) -> bool:
    """A frame with a Continue Sequence Condition."""
    return view.get("FC", "Continue_Sequence_Condition") != 0


def later_frame(view: codec.Frame) -> bool:
    """Not the first frame of its Exchange."""
    return bool(view.get("FC", "SEQ_CNT"))


def refusing(code: int) -> FrameEdit:
    """CONN_ERR with this reason."""
    return both(put("DH", "CONN_ERR", 1), put("DH", "Reason_Code", code))


def accepting(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """No CONN_ERR, and a handle in the payload."""
    codec.put("DH_REV1", "VI_FLAGS", buf, 0, HEADER)
    codec.put("DH_REV1", "NUMBER", buf, 0, HEADER)
    codec.put("CONN_REV1", "VI_RQST_HANDLE", buf, 5, view.payload_offset)


def longer_header(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """32 bytes of Device_Header in place of 16, as 2007 has."""
    buf[HEADER + 16 : HEADER + 16] = bytes(16)
    codec.put("FC", "Device_Header", buf, 2)


def shorter_header(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """16 bytes of Device_Header in place of 32."""
    del buf[HEADER + 16 : HEADER + 32]
    codec.put("FC", "Device_Header", buf, 1)


def with_payload(data: bytes) -> FrameEdit:
    """Bytes behind the frame."""
    return lambda dut, view, buf: buf.extend(data)


def cut(count: int) -> FrameEdit:
    """Without its last bytes."""

    def edit(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
        del buf[-count:]

    return edit


def swap_addresses(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """VI_LOC_ADDR and VI_REM_ADDR of the payload exchanged."""
    at = view.payload_offset + 8
    buf[at : at + 296] = buf[at + 148 : at + 296] + buf[at : at + 148]


def returns(code: str, instead_of: Optional[str] = None) -> ResultEdit:
    """Return another VIPL code."""

    def edit(dut: BrokenDut, result: dict[str, Any]) -> dict[str, Any]:
        if instead_of is not None and result["return"] != instead_of:
            return result
        return {**result, "return": code}

    return edit


def state(name: str, instead_of: str) -> ResultEdit:
    """Report another state."""
    return lambda dut, result: {**result, "State": name} if result.get("State") == instead_of else result


__all__ = [
    "BrokenDut", "Fault", "FrameEdit", "HEADER", "accepting", "both", "cut", "drop", "later_frame", "longer_header", "only",
    "payload_byte",
    "put", "refuses", "refusing", "returns", "shorter_header", "state", "swap_addresses", "twice", "with_payload",
]  # fmt: skip
