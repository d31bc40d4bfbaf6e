"""Text exports of analyzers: hexadecimal dumps as a capture that the reader takes.

Two forms are read. One frame a line: nothing but hexadecimal digits, in groups or not, with ``0x`` or not. Lines with offsets, as
``xxd``, ``hexdump -C`` and ``text2pcap`` have them: an offset, bytes, and perhaps a column of text; offset 0 begins a frame.
Lines that are empty or begin with # are passed over.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from contextlib import contextmanager
from typing import Iterator, Optional

LINKS = {"frame": 224, "delimited": 225, "ethernet": 1}
_SOF = bytes.fromhex("bcb5")
_ETHERTYPES = {0x8100, 0x88A8, 0x8906, 0x88AE, 0xFCFC, 0x0800, 0x86DD}
_LONGEST = 65535
_OFFSET = re.compile(r"\s*(?:0x)?([0-9A-Fa-f]{3,16})(?::|\s\s?|$)\s*(.*)$")
_DATA = re.compile(r"(?:0x)?((?:[0-9A-Fa-f]{2})+)")


class HexError(Exception):
    """A dump that cannot be read: one line that says what and where."""


@contextmanager
def capture_of(path: str, link: Optional[str]) -> Iterator[str]:
    """The name of a pcap file in memory with the frames of the dump. link: of ``LINKS``, None: as the first frame looks."""
    try:
        if path == "-":
            text = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                text = file.read()
    except OSError as error:
        raise HexError(f"{path}: {error.strerror}") from error
    frames = frames_of(text.decode("utf-8", "replace"), path)
    number = os.memfd_create("hex")
    try:
        with os.fdopen(os.dup(number), "wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, _LONGEST, LINKS[link or link_of(frames[0])]))
            for frame in frames:
                file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
        only_read = os.open(f"/proc/self/fd/{number}", os.O_RDONLY | os.O_CLOEXEC)
        os.close(number)
        number = only_read
        yield f"/proc/self/fd/{number}"
    finally:
        os.close(number)


def link_of(frame: bytes) -> str:
    """What a frame looks like."""
    if frame.startswith(_SOF):
        return "delimited"
    if len(frame) >= 14 and int.from_bytes(frame[12:14], "big") in _ETHERTYPES and frame[0] != frame[8]:
        return "ethernet"
    return "frame"


def frames_of(text: str, path: str, longest: Optional[int] = _LONGEST) -> list[bytes]:
    """The frames of a dump, none longer than so many bytes; None: of any length. Raises HexError."""
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise HexError(f"{path}: has no hexadecimal dump")
    first = _OFFSET.match(lines[0][1])
    offsets = first is not None and int(first[1], 16) == 0 and first[2] != ""
    frames = _with_offsets(lines, path) if offsets else [_of_line(n, line, path) for n, line in lines]
    for frame in frames:
        if longest is not None and len(frame) > longest:
            raise HexError(f"{path}: a frame has {len(frame)} bytes, and no capture holds more than {longest}")
    return frames


def _of_line(number: int, line: str, path: str) -> bytes:
    words = line.replace(":", " ").replace("-", " ").split()
    found = [_DATA.fullmatch(word) for word in words]
    if not all(found):
        word = words[[match is None for match in found].index(True)]
        raise HexError(f"{path}: line {number}: {word[:20]!r} is not hexadecimal; write a frame a line, or lines with offsets")
    return bytes.fromhex("".join(match[1] for match in found if match))


def _with_offsets(lines: list[tuple[int, str]], path: str) -> list[bytes]:
    frames: list[bytearray] = []
    for number, line in lines:
        match = _OFFSET.match(line)
        if match is None:
            raise HexError(f"{path}: line {number}: has no offset where the lines before it have one")
        offset = int(match[1], 16)
        if offset == 0 and match[2]:
            frames.append(bytearray())
        if offset != len(frames[-1]) and not (offset < len(frames[-1]) and not match[2]):
            raise HexError(f"{path}: line {number}: offset {offset:x}h, but {len(frames[-1]):x}h bytes came before it")
        frames[-1] += _bytes(match[2])
    return [bytes(frame) for frame in frames]


def _bytes(rest: str) -> bytes:
    """The bytes of a line: at most 32, up to what is no hexadecimal or the gap before the column of text."""
    rest = rest.split("|", 1)[0]
    rest = re.split(r"\s{2,}(?=\S{1,32}$)", rest.rstrip(), maxsplit=1)[0] if not _all_hex(rest) else rest
    data = bytearray()
    for word in re.sub(r"\s{2,}", " ", rest).split():
        match = _DATA.fullmatch(word)
        if match is None:
            break
        data += bytes.fromhex(match[1])
    return bytes(data)


def _all_hex(rest: str) -> bool:
    return all(_DATA.fullmatch(word) for word in rest.split())
