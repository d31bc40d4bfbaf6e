"""Text exports of analyzers: hexadecimal dumps as a capture that the reader takes. ``dump_text`` reads their text."""

from __future__ import annotations

import os
import struct
import sys
from contextlib import contextmanager
from typing import BinaryIO, Callable, Iterator, Optional

from .dump_text import HexError, frames_of_text

__all__ = ["LINKS", "Dump", "HexError", "capture_of", "frames_of", "link_of", "text_of"]

LINKS = {"frame": 224, "delimited": 225, "ethernet": 1}
_SOF = bytes.fromhex("bcb5")
_FRAME_HEADER = 24
_LONGEST = 65535
_MOST = 16 << 20  # bytes of text; what is longer is for a tool that makes captures
_VLANS = (0x8100, 0x88A8)


class Dump:
    """A dump that becomes a pcap file in memory. It is opened at once, and read where captures are read, under the same limits."""

    def __init__(self, path: str) -> None:
        """Raises HexError."""
        self._path, self._whole = path, False
        try:
            self.file: BinaryIO = sys.stdin.buffer if path == "-" else open(path, "rb")  # pylint: disable=consider-using-with
        except OSError as error:
            raise HexError(f"{path}: {error.strerror}") from error
        self._written = os.memfd_create("hex")
        self._read = os.open(f"/proc/self/fd/{self._written}", os.O_RDONLY | os.O_CLOEXEC)

    def __enter__(self) -> Dump:
        return self

    def __exit__(self, *_: object) -> None:
        if self._path != "-":
            self.file.close()
        os.close(self._written)
        os.close(self._read)

    def capture(self, link: Optional[str]) -> str:
        """The name of the file in memory. link: of ``LINKS``, None: as the first frame looks. Raises HexError."""
        if not self._whole:
            try:
                self._write(frames_of(text_of(self.file, self._path), self._path), link)
            except OSError as error:
                raise HexError(f"{self._path}: {error.strerror}") from error
            self._whole = True
        return f"/proc/self/fd/{self._read}"

    def _write(self, frames: list[bytes], link: Optional[str]) -> None:
        link = link or link_of(frames[0])
        if link == "frame" and len(frames) > 1 and all(len(frame) < _FRAME_HEADER for frame in frames):
            raise HexError(
                f"{self._path}: each line is taken for a frame, and none has the {_FRAME_HEADER} bytes of a Frame_Header; "
                "write a frame a line, lines with offsets, or an empty line between frames"
            )
        with os.fdopen(os.dup(self._written), "wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, _LONGEST, LINKS[link]))
            for frame in frames:
                file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


@contextmanager
def capture_of(path: str, link: Optional[str], enter: Callable[[], None] = lambda: None) -> Iterator[str]:
    """The name of a pcap file in memory with the frames of the dump. enter: called before the first byte is read. Raises HexError."""
    with Dump(path) as dump:
        enter()
        yield dump.capture(link)


def read(path: str) -> str:
    """The text of a dump. "-": standard input. Raises HexError."""
    with Dump(path) as dump:
        return text_of(dump.file, path)


def text_of(file: BinaryIO, path: str) -> str:
    """As tools of Windows write it, too. Raises HexError, OSError."""
    data = file.read(_MOST + 1)
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
