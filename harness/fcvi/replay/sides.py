"""Finds who sent which frame of a capture: the tester, whose side is played, or the device."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Iterator, Optional

from fcvi.engine.files import read_file

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_OURS = struct.pack("<II", _SECTION, 0)[:4]
_IF_NAME = 2
_COMMENT = 1
_LOST = b"lost on the way"


def of_capture(path: Path) -> Optional[list[str]]:
    """What the capture of a case says: "tester" or "dut" for each frame. None for any other file."""
    data = read_file(path)
    if data[:4] != _OURS or data[8:12] != b"\x4d\x3c\x2b\x1a":
        return None
    names: list[str] = []
    senders: list[str] = []
    for kind, body in _blocks(data):
        if kind == _INTERFACE:
            names.append(_name(body))
        elif kind == _PACKET and len(body) >= 4:
            interface = int.from_bytes(body[:4], "little")
            senders.append(names[interface] if interface < len(names) else "")
    return senders if senders and set(senders) <= {"tester", "dut"} else None


def lost(path: Path) -> frozenset[int]:
    """Frames, from 0, that the capture of a case marks as lost on the way: what the tester sent there reached nobody."""
    packets = (body for kind, body in _blocks(read_file(path)) if kind == _PACKET and len(body) >= 20)
    return frozenset(index for index, body in enumerate(packets) if _LOST in _comments(body))


def _comments(body: bytes) -> Iterator[bytes]:
    at = 20 + int.from_bytes(body[12:16], "little")
    at += -at % 4
    while at + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, at)
        if code == 0:
            return
        if code == _COMMENT:
            yield body[at + 4 : at + 4 + length]
        at += 4 + length + -length % 4


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length < 12 or length % 4 or at + length > len(data):
            return
        yield kind, data[at + 8 : at + length - 4]
        at += length


def _name(body: bytes) -> str:
    at = 8
    while at + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, at)
        if code == _IF_NAME:
            return body[at + 4 : at + 4 + length].decode("utf-8", "replace")
        if code == 0:
            break
        at += 4 + length + -length % 4
    return ""
