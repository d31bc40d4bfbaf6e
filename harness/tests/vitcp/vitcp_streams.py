"""Streams of VI/TCP for tests: PDUs packed by the figures of the draft (3.1, 3.2, 3.2.1) without any codec of the project, and
captures of TCP that carry them in pieces."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import Any

PORT = 50444
#: A Connect Request with which a stream begins: a reader that knows no port knows it by this.
FIRST = bytes.fromhex(
    "01300044 00000000 00000000 00000000 00000000 00040000 000b0003 00010000 63616c00000000000000000000000000 00080000" + "00" * 16
)


def any_pdu(random: Random) -> bytes:
    """A PDU with any numbers: types 1 to 9 and two that the profile does not have, mostly Version 1."""
    kind, flags = random.randrange(1, 12), random.randrange(8)
    version = 1 if random.random() < 0.95 else random.randrange(256)
    rest = random.randbytes(16) if kind in (2, 3, 4) else b""
    if kind in (6, 7) or (kind in (8, 9) and random.random() < 0.5):
        calling, called = random.randbytes(16), random.randbytes(16)
        rest = struct.pack(">HHI", random.getrandbits(16), random.randrange(20), random.getrandbits(32)) + calling
        rest += struct.pack(">HH", random.getrandbits(16), random.randrange(20)) + called
    if kind not in (8, 9) or rest:
        rest += random.randbytes(random.choice([0, 0, 1, 3, 8, 40, 700]))
    numbers = [random.getrandbits(32) for _ in range(4)]
    counts = random.getrandbits(16), random.randrange(4), random.randrange(256)
    return struct.pack(">BBHIIIIHBB", version, kind << 3 | flags, 24 + len(rest), *numbers, *counts) + rest


def stream_of(random: Random, pdus: int) -> bytes:
    """So many PDUs, the first of them a Connect Request."""
    return FIRST + b"".join(any_pdu(random) for _ in range(pdus - 1))


def _packet(at: int, data: bytes) -> bytes:
    tcp = struct.pack(">HHIIBBHHH", 40000, PORT, 1 + at & 0xFFFFFFFF, 1, 0x50, 0x18, 65535, 0, 0) + data
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = struct.pack(">H", 0xFFFF & ~((total & 0xFFFF) + (total >> 16)))
    return bytes(12) + b"\x08\0" + head[:10] + checksum + head[12:] + tcp


def write_capture(path: Path, stream: bytes, random: Random, **pieces: Any) -> None:
    """A pcap file with the stream in pieces of any size."""
    sizes = pieces.get("sizes", (1, 3, 24, 100, 1400, 1400, 1400, 5000))
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        at = number = 0
        while at < len(stream):
            piece = stream[at : at + random.choice(sizes)]
            packet = _packet(at, piece)
            file.write(struct.pack("<IIII", number // 1000000, number % 1000000, len(packet), len(packet)) + packet)
            at += len(piece)
            number += 1
