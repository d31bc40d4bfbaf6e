"""Text exports of analyzers: hexadecimal dumps as a capture that the reader takes. ``dump_text`` reads their text."""

from __future__ import annotations

import os
import struct
import sys
from contextlib import contextmanager
from typing import Iterator, Optional

from .dump_text import HexError, frames_of_text

__all__ = ["LINKS", "HexError", "capture_of", "frames_of", "link_of"]

LINKS = {"frame": 224, "delimited": 225, "ethernet": 1}
_SOF = bytes.fromhex("bcb5")
_FRAME_HEADER = 24
_LONGEST = 65535
_MOST = 16 << 20  # bytes of text; what is longer is for a tool that makes captures
_VLANS = (0x8100, 0x88A8)


@contextmanager
def capture_of(path: str, link: Optional[str]) -> Iterator[str]:
    """The name of a pcap file in memory with the frames of the dump. link: of ``LINKS``, None: as the first frame looks."""
    frames = frames_of(read(path), path)
    link = link or link_of(frames[0])
    if link == "frame" and len(frames) > 1 and all(len(frame) < _FRAME_HEADER for frame in frames):
        raise HexError(
            f"{path}: each line is taken for a frame, and none has the {_FRAME_HEADER} bytes of a Frame_Header; "
            "write a frame a line, lines with offsets, or an empty line between frames"
        )
    number = os.memfd_create("hex")
    try:
        with os.fdopen(os.dup(number), "wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, _LONGEST, LINKS[link]))
            for frame in frames:
                file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
        only_read = os.open(f"/proc/self/fd/{number}", os.O_RDONLY | os.O_CLOEXEC)
        os.close(number)
        number = only_read
        yield f"/proc/self/fd/{number}"
    finally:
        os.close(number)


def read(path: str) -> str:
    """The text of a dump, as tools of Windows write it, too. "-": standard input. Raises HexError."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(_MOST + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(_MOST + 1)
    except OSError as error:
        raise HexError(f"{path}: {error.strerror}") from error
    if len(data) > _MOST:
        raise HexError(f"{path}: is more than {_MOST >> 20} MiB of text; make a capture of it with text2pcap")
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    return data.decode("utf-16" if utf16 else "utf-8-sig", "replace")


def frames_of(text: str, path: str, longest: Optional[int] = _LONGEST) -> list[bytes]:
    """The frames of a dump, none longer than so many bytes; None: of any length. Raises HexError."""
    frames = frames_of_text(text, path, _MOST if longest is None else longest)
    for frame in frames:
        if longest is not None and len(frame) > longest:
            raise HexError(f"{path}: a frame has {len(frame)} bytes, and no capture holds more than {longest}")
    return frames


def link_of(frame: bytes) -> str:
    """What a frame looks like."""
    if frame.startswith(_SOF):
        return "delimited"
    return "ethernet" if len(frame) >= 14 and _is_ethernet(frame, 12) else "frame"


def _is_ethernet(frame: bytes, at: int) -> bool:
    """Whether an EtherType stands there, with what follows it. In an FC frame SEQ_ID and DF_CTL are there."""
    kind, rest = int.from_bytes(frame[at : at + 2], "big"), frame[at + 2 :]
    if kind in _VLANS:
        return len(rest) >= 4 and _is_ethernet(frame, at + 4)
    if kind == 0x0800:
        return rest[:1] != b"" and 0x45 <= rest[0] <= 0x4F
    if kind == 0x86DD:
        return rest[:1] != b"" and rest[0] >> 4 == 6
    if kind == 0x8906:  # FC-BB-5: the version and reserved bytes before the SOF
        return not any(rest[:13])
    return kind in (0x8914, 0x88AE, 0xFCFC, 0x8926)
