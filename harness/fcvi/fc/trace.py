"""How frames of FC-2 are written into captures and put into words."""

from __future__ import annotations

from typing import Any, Sequence

from _fcvi import ffi, lib
from fcvi.engine import pcapng
from fcvi.engine.protocol import Line
from fcvi.engine.results import TraceFrame
from . import codec

LINKTYPE_FC_2_WITH_FRAME_DELIMS = 225
_USUAL_BRIEF = 3072  # bytes of text a frame; longer texts are printed twice
_room = ffi.new_allocator(should_clear_after_alloc=False)


def _captured(frame: TraceFrame) -> list[bytes]:
    return [codec.delimited(frame.data, frame.sof, frame.eof, frame.crc_ok)]


def _decode(frame: TraceFrame, checksum: bool) -> codec.Frame:
    if not checksum:
        return codec.decode(frame.data, frame.sof, frame.eof)
    return codec.decode(frame.data, frame.sof, frame.eof, codec.CRC_OK if frame.crc_ok else codec.CRC_BAD)


def _decode_rev1(frame: TraceFrame, checksum: bool) -> codec.Frame:
    crc = (codec.CRC_OK if frame.crc_ok else codec.CRC_BAD) if checksum else codec.CRC_ABSENT
    return codec.decode(frame.data, frame.sof, frame.eof, crc, edition=codec.EDITION["rev1"])


def _in_c(frames: Sequence[TraceFrame], options: Sequence[bytes]) -> tuple[Any, bytes]:
    """The frames as C takes them, and their bytes one behind the other."""
    traced = ffi.new("struct calls_traced[]", [
        (f.time_us, len(f.data), len(o), f.sof, f.eof, codec.CRC_OK if f.crc_ok else codec.CRC_BAD, f.sender == "dut")
        for f, o in zip(frames, options)
    ])  # fmt: skip
    return traced, b"".join([f.data for f in frames])


def _packets(frames: Sequence[TraceFrame], options: Sequence[bytes]) -> bytes:
    traced, data = _in_c(frames, options)
    comments = b"".join(options)
    room = len(data) + len(comments) + len(frames) * lib.CALLS_BLOCK
    out = _room("uint8_t[]", room)
    length = lib.calls_packets(traced, len(frames), data, comments, out, room)
    return bytes(ffi.buffer(out, length))


def _brief(frames: Sequence[TraceFrame], fields: bool) -> list[tuple[str, str]]:
    if not frames:
        return []
    traced, data = _in_c(frames, [b""] * len(frames))
    room = len(frames) * _USUAL_BRIEF
    while True:
        out = _room("char[]", room)
        length = lib.calls_brief(traced, len(frames), data, fields, out, room)
        if length <= room:
            break
        room = length
    texts = str(ffi.buffer(out, length), "ascii").split("\0")
    pairs = iter(texts)
    return list(zip(pairs, pairs))


LINE = Line(LINKTYPE_FC_2_WITH_FRAME_DELIMS, _captured, _decode, _packets, _brief)
#: Of a device of FC-VI Rev 1.0 (1999): the same frames in other words.
LINE_REV1 = Line(LINKTYPE_FC_2_WITH_FRAME_DELIMS, _captured, _decode_rev1, _packets)


def capture(frames: list[TraceFrame], comment: str) -> bytes:
    """A pcapng file of frames of FC-2 (linktype 225), with the findings as comments."""
    return pcapng.capture(frames, comment, LINE)
