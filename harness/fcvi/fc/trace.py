"""How frames of FC-2 are written into captures and put into words."""

from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

import _fcvi_text
from _fcvi import ffi, lib
from fcvi.engine import pcapng
from fcvi.engine.protocol import Line
from fcvi.engine.results import TraceFrame
from . import codec

LINKTYPE_FC_2_WITH_FRAME_DELIMS = 225
_USUAL_BRIEF = 3072  # bytes of text a frame; longer texts are printed twice
_MIB = 1 << 20
_new = ffi.new_allocator(should_clear_after_alloc=False)


@functools.lru_cache(maxsize=1)
def _room(mib: int) -> Any:
    """Kept from one case to the next: the pages of fresh memory cost more than what is done with them."""
    return _new("char[]", mib * _MIB)


def _texts(needed: int) -> tuple[Any, int]:
    """Room for texts, and how much there is: at least so many bytes."""
    mib = needed // _MIB + 1
    return _room(mib), mib * _MIB


def _captured(frame: TraceFrame) -> list[bytes]:
    return [codec.delimited(frame.data, frame.sof, frame.eof, frame.crc_ok)]


def _decode(frame: TraceFrame, checksum: bool) -> codec.Frame:
    if not checksum:
        return codec.decode(frame.data, frame.sof, frame.eof)
    return codec.decode(frame.data, frame.sof, frame.eof, codec.CRC_OK if frame.crc_ok else codec.CRC_BAD)


def _decode_rev1(frame: TraceFrame, checksum: bool) -> codec.Frame:
    crc = (codec.CRC_OK if frame.crc_ok else codec.CRC_BAD) if checksum else codec.CRC_ABSENT
    return codec.decode(frame.data, frame.sof, frame.eof, crc, edition=codec.EDITION["rev1"])


def _packets(frames: Sequence[TraceFrame], comments: Callable[[TraceFrame], bytes]) -> bytes:
    traced, data, options = _fcvi_text.traced(frames, codec.CRC_OK, codec.CRC_BAD, comments)
    out, room = _texts(len(data) + len(options) + len(frames) * lib.CALLS_BLOCK)
    at = ffi.cast("uint8_t *", out)
    return bytes(ffi.buffer(out, lib.calls_packets(_array(traced), len(frames), data, options, at, room)))


def _brief(frames: Sequence[TraceFrame], fields: bool) -> memoryview:
    traced, data, _ = _fcvi_text.traced(frames, codec.CRC_OK, codec.CRC_BAD, None)
    out, room = _texts(len(frames) * _USUAL_BRIEF)
    length = lib.calls_brief(_array(traced), len(frames), data, fields, out, room)
    if length > room:
        out, room = _texts(length)
        length = lib.calls_brief(_array(traced), len(frames), data, fields, out, room)
    return memoryview(ffi.buffer(out, length))


def _array(traced: bytes) -> Any:
    return ffi.from_buffer("struct calls_traced[]", traced)


LINE = Line(LINKTYPE_FC_2_WITH_FRAME_DELIMS, _captured, _decode, _packets, _brief)
#: Of a device of FC-VI Rev 1.0 (1999): the same frames in other words.
LINE_REV1 = Line(LINKTYPE_FC_2_WITH_FRAME_DELIMS, _captured, _decode_rev1, _packets)


def capture(frames: list[TraceFrame], comment: str) -> bytes:
    """A pcapng file of frames of FC-2 (linktype 225), with the findings as comments."""
    return pcapng.capture(frames, comment, LINE)
