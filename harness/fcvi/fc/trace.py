"""Writes frames of FC-2 into captures, and puts them into words."""

from __future__ import annotations

from fcvi.engine import pcapng
from fcvi.engine.page_words import value
from fcvi.engine.protocol import Line, View
from fcvi.engine.results import TraceFrame
from . import codec

LINKTYPE_FC_2_WITH_FRAME_DELIMS = 225


def _captured(frame: TraceFrame) -> list[bytes]:
    return [codec.delimited(frame.data, frame.sof, frame.eof, frame.crc_ok)]


def _decode(frame: TraceFrame, checksum: bool) -> codec.Frame:
    if not checksum:
        return codec.decode(frame.data, frame.sof, frame.eof)
    return codec.decode(frame.data, frame.sof, frame.eof, codec.CRC_OK if frame.crc_ok else codec.CRC_BAD)


def _decode_rev1(frame: TraceFrame, checksum: bool) -> codec.Frame:
    crc = (codec.CRC_OK if frame.crc_ok else codec.CRC_BAD) if checksum else codec.CRC_ABSENT
    return codec.decode(frame.data, frame.sof, frame.eof, crc, edition=codec.EDITION["rev1"])


_IDENTITY = frozenset(("FCVI_HANDLE", "FCVI_OPCODE", "VI_HANDLE", "VI_OPCODE"))  # which IU it is, and whose

_STATUS = frozenset((name, "CONN_STS") for name in ("FCVI_CONNECT_RESP1", "FCVI_DISCONNECT_RESP"))


def _words(view: View) -> str:
    """Which IU it is, and the fields of the Device_Header that are not zero; also CONN_STS 0 of what answers a request. Of an IU in
    several frames each is a step of its own, so all but the last say what they are.
    """
    name = view.summary().split(" ")[0]
    fields = [f for f in view.json().get("fields", ()) if f["structure"] == "Device_Header" and f["name"] not in _IDENTITY]
    shown = [f"{f['name']} {value(_number(f['value']))}" for f in fields if _number(f["value"]) or (name, f["name"]) in _STATUS]
    last = next((f["value"] for f in view.json().get("fields", ()) if f["name"] == "End_Sequence"), 1)
    return ", ".join([name, *shown]) + ("" if last else " (not its last frame)")


def _number(of: int | str) -> int:
    return of if isinstance(of, int) else int(of, 16)


LINE = Line(LINKTYPE_FC_2_WITH_FRAME_DELIMS, _captured, _decode, _words)
#: Of a device of FC-VI Rev 1.0 (1999): the same frames in other words.
LINE_REV1 = Line(LINKTYPE_FC_2_WITH_FRAME_DELIMS, _captured, _decode_rev1, _words)


def capture(frames: list[TraceFrame], comment: str) -> bytes:
    """A pcapng file of frames of FC-2 (linktype 225), with the findings as comments."""
    return pcapng.capture(frames, comment, LINE)
