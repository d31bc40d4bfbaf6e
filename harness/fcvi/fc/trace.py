"""How frames of FC-2 are written into captures and put into words."""

from __future__ import annotations

from fcvi.engine import pcapng
from fcvi.engine.protocol import Line
from fcvi.engine.results import TraceFrame
from . import codec

LINKTYPE_FC_2_WITH_FRAME_DELIMS = 225


def _captured(frame: TraceFrame) -> bytes:
    return codec.delimited(frame.data, frame.sof, frame.eof, frame.crc_ok)


def _decode(frame: TraceFrame, checksum: bool) -> codec.Frame:
    if not checksum:
        return codec.decode(frame.data, frame.sof, frame.eof)
    return codec.decode(frame.data, frame.sof, frame.eof, codec.CRC_OK if frame.crc_ok else codec.CRC_BAD)


LINE = Line(LINKTYPE_FC_2_WITH_FRAME_DELIMS, _captured, _decode)


def capture(frames: list[TraceFrame], comment: str) -> bytes:
    """A pcapng file of frames of FC-2 (linktype 225), with the findings as comments."""
    return pcapng.capture(frames, comment, LINE)
