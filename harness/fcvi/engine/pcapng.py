"""pcapng files for the captures of cases.

libpcap writes no pcapng, and only pcapng has comments on frames. The format is five kinds of blocks
(draft-ietf-opsawg-pcapng); three are needed here.
"""

from __future__ import annotations

import functools
import struct

from .files import encoded
from .protocol import Line
from .results import Finding, TraceFrame

_OPT_COMMENT, _OPT_IF_NAME, _OPT_IF_TSRESOL, _OPT_EPB_FLAGS, _OPT_SHB_USERAPPL = 1, 2, 9, 2, 4
_SIDES = ("tester", "dut")
_LONGEST_COMMENT = 60_000


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def _text(words: str) -> bytes:
    """A comment: an option holds less than 64 KiB, and what is no character stays visible as an escape."""
    whole = encoded(words)
    return whole if len(whole) <= _LONGEST_COMMENT else whole[:_LONGEST_COMMENT].decode("utf-8", "ignore").encode()


def _block(kind: int, body: bytes) -> bytes:
    length = 12 + len(body)
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


_SECTION = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
_WRITER = _option(_OPT_SHB_USERAPPL, b"fcvi") + bytes(4)


def _section(comment: str) -> bytes:
    return _block(0x0A0D0D0A, _SECTION + _option(_OPT_COMMENT, _text(comment)) + _WRITER)


def _interface(name: str, linktype: int) -> bytes:
    options = _option(_OPT_IF_NAME, name.encode()) + _option(_OPT_IF_TSRESOL, b"\x06") + bytes(4)
    return _block(1, struct.pack("<HHI", linktype, 0, 0) + options)


def _words(finding: Finding) -> str:
    where = "" if finding.byte is None else f" byte {finding.byte}" + (f" bits {finding.bits}" if finding.bits else "")
    tolerated = f" (tolerated: {finding.erratum})" if finding.erratum else ""
    return f"{finding.requirement} [{finding.cls}]{tolerated} {finding.message}{where}: seen {finding.seen}, " \
           f"required {finding.required}"  # fmt: skip


def _comments(frame: TraceFrame) -> bytes:
    if not frame.note and not frame.findings:
        return b""
    comments = [frame.note] if frame.note else []
    comments += [_words(finding) for finding in frame.findings]
    return b"".join([_option(_OPT_COMMENT, _text(words)) for words in comments])


def _packets(frame: TraceFrame, line: Line) -> bytes:
    """A unit: one packet, or several of which the first has the comments."""
    found, comments = b"", _comments(frame)
    flags = _option(_OPT_EPB_FLAGS, struct.pack("<I", 1 if frame.sender == "dut" else 2))
    high, low = divmod(frame.time_us, 1 << 32)
    for data in line.captured(frame):
        head = struct.pack("<IIIII", _SIDES.index(frame.sender), high, low, len(data), len(data))
        found += _block(6, head + data + bytes(-len(data) % 4) + comments + flags + bytes(4))
        comments = b""
    return found


@functools.cache
def _interfaces(linktype: int) -> bytes:
    return b"".join([_interface(side, linktype) for side in _SIDES])


def capture(frames: list[TraceFrame], comment: str, line: Line) -> bytes:
    """The file: one interface for each side with the linktype of the line, findings as comments on the frames that caused them."""
    return b"".join([_section(comment), _interfaces(line.linktype), *[_packets(frame, line) for frame in frames]])
