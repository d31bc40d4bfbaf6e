"""Text exports of analyzers: hexadecimal dumps as a capture that the reader takes. ``dump_text`` reads their text."""

from __future__ import annotations

import os
import struct
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, Callable, Iterable, Iterator, Optional

from fcvi.engine.words import refuse
from . import confined
from .dump_text import HexError, frames_of_text

__all__ = ["LINKS", "HexError", "capture_of", "captures_of", "frames_of", "link_of", "opened", "text_of"]

LINKS = {"frame": 224, "delimited": 225, "ethernet": 1}
_SOF = bytes.fromhex("bcb5")
_FRAME_HEADER = 24
_LONGEST = 65535
_MOST = 16 << 20  # bytes of text; what is longer is for a tool that makes captures
_VLANS = (0x8100, 0x88A8)


@contextmanager
def captures_of(paths: Iterable[str], args: Any) -> Iterator[dict[str, str | Exception]]:
    """The name of a pcap file in memory for each dump, or why there is none. args: link, limits and no_sandbox.

    Each is read in a process of its own, confined and limited as that which reads captures. Raises ReaderLost.
    """
    with ExitStack() as stack:
        found: dict[str, str | Exception] = {}
        for path in paths:
            try:
                found[path] = stack.enter_context(_in_memory(_packed(path, args)))
            except HexError as error:
                found[path] = error
        yield found


@contextmanager
def standing_in(paths: Iterable[str], args: Any) -> Iterator[dict[str, str | Exception]]:
    """The same of files that are dumps by --from hex, and nothing of captures. Raises ReaderLost, UsageError."""
    if args.form == "capture":
        refuse(args.given, ("--link",), "a capture says what its frames begin with: it goes with --from hex")
        yield {}
        return
    with captures_of(paths, args) as found:
        yield found


@contextmanager
def capture_of(path: str, args: Any) -> Iterator[str]:
    """That of one dump. Raises HexError, ReaderLost."""
    with captures_of([path], args) as found:
        name = found[path]
        if isinstance(name, Exception):
            raise name
        yield name


@contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    number = os.memfd_create("hex")
    try:
        with os.fdopen(os.dup(number), "wb") as file:
            file.write(data)
        only_read = os.open(f"/proc/self/fd/{number}", os.O_RDONLY | os.O_CLOEXEC)
        os.close(number)
        number = only_read
        yield f"/proc/self/fd/{number}"
    finally:
        os.close(number)


_GOOD, _WRONG = b"+", b"-"


def _packed(path: str, args: Any) -> bytes:
    """The pcap file. Raises HexError, ReaderLost."""
    got = bytearray()

    def work(box: confined.Box) -> int:
        try:
            box.hand_over(_GOOD + _pcap(path, args.link, box.enter))
        except HexError as error:
            box.hand_over(_WRONG + str(error).encode("utf-8", "surrogateescape"))
        return 0

    status = confined.take([path], args, work, got.extend)
    if status or not got:
        raise confined.ReaderLost(status or 3)
    if not got.startswith(_GOOD):
        raise HexError(got[1:].decode("utf-8", "surrogateescape"))
    return bytes(got[1:])


def _pcap(path: str, link: Optional[str], enter: Callable[[], None]) -> bytes:
    with opened(path) as file:
        enter()
        frames = frames_of(text_of(file, path), path)
    link = link or link_of(frames[0])
    if link == "frame" and len(frames) > 1 and all(len(frame) < _FRAME_HEADER for frame in frames):
        raise HexError(
            f"{path}: each line is taken for a frame, and none has the {_FRAME_HEADER} bytes of a Frame_Header; "
            "write a frame a line, lines with offsets, or an empty line between frames"
        )
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, _LONGEST, LINKS[link])
    return head + b"".join(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame for frame in frames)


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """A dump. "-": standard input. Raises HexError."""
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            yield file
    except OSError as error:
        raise HexError(f"{path}: {error.strerror}") from error


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
