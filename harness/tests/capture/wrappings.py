"""FC-2 frames in every wrapping that a capture can have, built from the descriptions of the formats alone (struct, zlib).

Boardwalk and the MDS header are as Wireshark's dissectors describe them, FCIP as RFC 3643 and RFC 3821, VFT as FC-FS.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Callable, Iterable, Sequence

SOF = {0x2D: 4, 0x35: 5, 0x2E: 6, 0x36: 7, 0x28: 8}  # codes of RFC 3643 as Cisco numbers them
EOF = {0x41: 3, 0x42: 1, 0x49: 7, 0x50: 4}
MACS = bytes.fromhex("0efc00010200 0efc00010100".replace(" ", ""))


@dataclass(frozen=True)
class Frame:
    """One FC-2 frame, with the codes of its delimiters."""

    data: bytes
    sof: int
    eof: int
    good: bool = True  # its CRC
    time_us: int = 0

    @property
    def crc(self) -> bytes:
        """As it stands on the wire."""
        return struct.pack("<I", zlib.crc32(self.data) ^ (0 if self.good else 0xFFFF))


def pcap(linktype: int, records: Iterable[tuple[int, bytes]], snap: int = 0) -> bytes:
    """A file of records (time_us, bytes), cut at snap bytes."""
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, linktype)]
    for time_us, data in records:
        kept = data[:snap] if snap else data
        out.append(struct.pack("<IIII", time_us // 10**6, time_us % 10**6, len(kept), len(data)) + kept)
    return b"".join(out)


def ethernet(ethertype: int, payload: bytes, vlans: Sequence[int] = ()) -> bytes:
    """An Ethernet frame."""
    tags = b"".join(struct.pack(">HH", 0x8100, vlan) for vlan in vlans)
    return MACS + tags + struct.pack(">H", ethertype) + payload


def fcoe(f: Frame) -> bytes:
    """The payload of EtherType 8906h."""
    return bytes(13) + bytes([f.sof]) + f.data + f.crc + bytes([f.eof, 0, 0, 0])


def fcoe_in_vlan(f: Frame) -> bytes:
    """What follows a tag's EtherType 8100h."""
    return struct.pack(">HH", 1002, 0x8906) + fcoe(f)


def boardwalk(f: Frame, count: int, vsan: int = 7, length: bool = False, keep: int = 0) -> bytes:
    """The payload of EtherType 88AEh. length: the original length is told; keep: the adapter cut the frame there."""
    body = f.data + f.crc
    flags = (0x10 if not f.good else 0) | (0x01 if length else 0) | (0x08 if keep else 0)
    said = struct.pack(">I", len(body) // 4) if length else b""
    head = struct.pack(">H", SOF[f.sof] << 12 | vsan)
    return head + (body[:keep] if keep else body) + said + struct.pack(">HBB", count & 0xFFFF, flags, EOF[f.eof])


def mds(f: Frame, vsan: int = 7) -> bytes:
    """The payload of EtherType FCFCh."""
    header = bytearray(16)
    header[1] = SOF[f.sof]
    header[2:4] = struct.pack(">H", len(f.data) + 6)
    header[5:8] = bytes([0x01, 0x23, 0x45])
    header[13:15] = struct.pack(">H", vsan)
    return bytes(header) + f.data + bytes([EOF[f.eof], 0]) + f.crc


def tagged(f: Frame, vf_id: int) -> Frame:
    """The frame behind a VFT header; the CRC covers both."""
    header = bytes([0x50, 0x00]) + struct.pack(">H", vf_id << 1) + bytes([32, 0, 0, 0])
    return Frame(header + f.data, f.sof, f.eof, f.good, f.time_us)


def fcip(f: Frame) -> bytes:
    """The bytes of one encapsulated frame."""
    body = _twice(f.sof) + f.data + f.crc + _twice(f.eof)
    words = (28 + len(body)) // 4
    first = bytes([1, 1, 0xFE, 0xFE])
    return first + first + bytes([0, 0, 0xFF, 0xFF]) + struct.pack(">HH", words, words ^ 0xFFFF) + bytes(12) + body


def _twice(code: int) -> bytes:
    return bytes([code, code, code ^ 0xFF, code ^ 0xFF])


class Tcp:
    """One direction of a TCP connection to port 3225, and what acknowledges it."""

    def __init__(self, ethertype: int = 0x0800) -> None:
        self.sequence, self.ethertype = 1000, ethertype
        self.records: list[tuple[int, bytes]] = []

    def segment(self, data: bytes, time_us: int, flags: int = 0x18, sequence: int = -1) -> None:
        """Send it."""
        at = self.sequence if sequence < 0 else sequence
        self.records.append((time_us, self._packet(40000, 3225, at, 9000, flags, data, (1, 2))))
        if sequence < 0:
            self.sequence += len(data) + (flags & 2) // 2

    def acknowledge(self, time_us: int) -> None:
        """The other side has all of it."""
        self.records.append((time_us, self._packet(3225, 40000, 9000, self.sequence, 0x10, b"", (2, 1))))

    def _packet(self, source: int, to: int, seq: int, ack: int, flags: int, data: bytes, hosts: tuple[int, int]) -> bytes:
        tcp = struct.pack(">HHIIBBHHH", source, to, seq, ack, 0x50, flags, 65535, 0, 0) + data
        if self.ethertype == 0x86DD:
            ends = b"".join(bytes.fromhex("20010db8") + bytes(11) + bytes([host]) for host in hosts)
            return ethernet(0x86DD, struct.pack(">IHBB", 0x60000000, len(tcp), 6, 64) + ends + tcp)
        ends = b"".join(bytes([192, 0, 2, host]) for host in hosts)
        return ethernet(0x0800, struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + ends + tcp)


def _alone(tcp: Tcp, frames: Sequence[Frame]) -> list[tuple[int, bytes]]:
    for f in frames:
        tcp.segment(fcip(f), f.time_us)
    return tcp.records


def _in_pieces(frames: Sequence[Frame], size: int) -> list[tuple[int, bytes]]:
    """All frames as one stream, in segments of so many bytes."""
    tcp, stream = Tcp(), b"".join(fcip(f) for f in frames)
    for at in range(0, len(stream), size):
        tcp.segment(stream[at : at + size], frames[-1].time_us)
    return tcp.records


def _erf(data: bytes, lost: int = 0) -> bytes:
    padded = data + bytes(-(len(data) + 18) % 8)
    return bytes(8) + struct.pack(">BBHHH", 2, 4, len(padded) + 18, lost, len(data)) + bytes(2) + padded


def each(wrap: Callable[[int, Frame], bytes], frames: Sequence[Frame]) -> list[tuple[int, bytes]]:
    """A record for each frame."""
    return [(f.time_us, wrap(i, f)) for i, f in enumerate(frames)]


# name: linktype, and records of frames; what gives a record for each frame comes first
ALONE: dict[str, tuple[int, Callable[[Sequence[Frame]], list[tuple[int, bytes]]]]] = {
    "fcoe": (1, lambda fs: each(lambda i, f: ethernet(0x8906, fcoe(f)), fs)),
    "fcoe-vlan": (1, lambda fs: each(lambda i, f: ethernet(0x8906, fcoe(f), [1002]), fs)),
    "fcoe-fcs": (1, lambda fs: each(lambda i, f: ethernet(0x8906, fcoe(f)) + b"\1\2\3\4", fs)),
    "fcoe-stamped": (1, lambda fs: each(lambda i, f: ethernet(0x8906, fcoe(f)) + struct.pack(">IQH", 0, i, 7), fs)),
    "fcoe-old-qinq": (1, lambda fs: each(lambda i, f: ethernet(0x9100, struct.pack(">HH", 9, 0x8100) + fcoe_in_vlan(f)), fs)),
    "boardwalk": (1, lambda fs: each(lambda i, f: ethernet(0x88AE, boardwalk(f, i)), fs)),
    "boardwalk-length": (1, lambda fs: each(lambda i, f: ethernet(0x88AE, boardwalk(f, i, length=True)), fs)),
    "mds": (1, lambda fs: each(lambda i, f: ethernet(0xFCFC, mds(f)), fs)),
    "mds-eisl": (1, lambda fs: each(lambda i, f: ethernet(0xFCFC, mds(tagged(f, 9))), fs)),
    "vft": (224, lambda fs: each(lambda i, f: tagged(f, 9).data, fs)),
    "erf": (197, lambda fs: each(lambda i, f: _erf(ethernet(0x8906, fcoe(f)) + bytes(4)), fs)),
    "sll": (113, lambda fs: each(lambda i, f: bytes(14) + struct.pack(">H", 0x8906) + fcoe(f), fs)),
    "sll2": (276, lambda fs: each(lambda i, f: struct.pack(">H", 0x8906) + bytes(18) + fcoe(f), fs)),
    "fcip": (1, lambda fs: _alone(Tcp(), fs)),
    "fcip-v6": (1, lambda fs: _alone(Tcp(0x86DD), fs)),
    "fcip-raw": (101, lambda fs: [(t, data[14:]) for t, data in _alone(Tcp(), fs)]),
    "fcip-eisl": (1, lambda fs: _alone(Tcp(), [tagged(f, 9) for f in fs])),
}
TOGETHER: dict[str, Callable[[Sequence[Frame]], list[tuple[int, bytes]]]] = {
    "fcip-batched": lambda fs: _in_pieces(fs, 60000),
    "fcip-split": lambda fs: _in_pieces(fs, 100),
}
erf = _erf
