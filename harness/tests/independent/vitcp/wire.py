"""The PDUs of VI/TCP, from the three figures of clause 3 and the numbers of profile T0 (V02 to V07)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Optional

VERSION = 1
SEND, READ_REQUEST, READ_RESPONSE, WRITE, NOP, REQUEST, ACCEPT, REJECT, NO_MATCH = range(1, 10)
DATA = (SEND, READ_REQUEST, READ_RESPONSE, WRITE)
RDMA = (READ_REQUEST, READ_RESPONSE, WRITE)
CE = (REQUEST, ACCEPT, REJECT, NO_MATCH)
IMMEDIATE, END, TRANSMIT_ERROR = 1, 2, 4
RELIABLE, WRITE_ENABLE, READ_ENABLE, FLOW_CONTROL, PEER = 1, 2, 4, 8, 16
NO_ERROR, MEMORY_PROTECTION, DESCRIPTOR_ERROR = 0, 1, 2
HEADER, RDMA_HEADER, CE_HEADER = 24, 16, 44
LONGEST = 65535


class Malformed(Exception):
    """Bytes that are no segment: what comes behind them cannot be found."""


@dataclass
class Setup:
    """A CE Header (3.2)."""

    attributes: int = 0
    mtu: int = 0
    calling: bytes = b""
    window: int = 0
    called: bytes = b""
    calling_length: Optional[int] = None
    called_length: Optional[int] = None
    security: bytes = b""
    called_field: bytes = b""  # all of it, of one that was received

    def pack(self) -> bytes:
        """The 44 bytes and the security part."""
        calling_length = len(self.calling) if self.calling_length is None else self.calling_length
        called_length = len(self.called) if self.called_length is None else self.called_length
        return struct.pack(
            ">HHI16sHH16s", self.attributes, calling_length, self.mtu, self.calling, self.window, called_length, self.called
        ) + self.security

    @classmethod
    def unpack(cls, data: bytes) -> "Setup":
        """The header; a Discriminator longer than its field stays None-like: its length says so."""
        attributes, calling_length, mtu, calling, window, called_length, called = struct.unpack_from(">HHI16sHH16s", data)
        return cls(attributes, mtu, calling[:calling_length], window, called[:called_length], calling_length, called_length,
                   data[CE_HEADER:], called)


@dataclass
class Segment:
    """One PDU."""

    kind: int
    number: int = 0
    offset: int = 0
    flags: int = 0
    immediate: int = 0
    ack: int = 0
    rx: int = 0
    error: int = NO_ERROR
    is_code: int = 0
    version: int = VERSION
    address: Optional[int] = None
    handle: int = 0
    length: int = 0
    setup: Optional[Setup] = None
    payload: bytes = b""
    adjust: int = 0  # what is added to Segment Length, for a fault
    little: bool = False  # for a fault: Segment Length with its bytes exchanged
    extra: dict = field(default_factory=dict)

    def pack(self) -> bytes:
        """The bytes."""
        rest = b""
        if self.address is not None:
            rest += struct.pack(">QII", self.address & (1 << 64) - 1, self.handle, self.length)
        if self.setup is not None:
            rest += self.setup.pack()
        rest += self.payload
        total = (HEADER + len(rest) + self.adjust) & 0xFFFF
        if self.little:
            total = total >> 8 | (total & 0xFF) << 8
        return struct.pack(
            ">BBHIIIIHBB", self.version, self.kind << 3 & 0xFF | self.flags, total, self.offset & 0xFFFFFFFF,
            self.immediate & 0xFFFFFFFF, self.number & 0xFFFFFFFF, self.ack & 0xFFFFFFFF, self.rx & 0xFFFF, self.error,
            self.is_code,
        ) + rest


def length_of(header: bytes) -> int:
    """Segment Length of a header; Malformed when it cannot be (V39, V40)."""
    kind, total = header[1] >> 3, header[2] << 8 | header[3]
    least = HEADER + (RDMA_HEADER if kind in RDMA else CE_HEADER if kind in (REQUEST, ACCEPT) else 0)
    if not SEND <= kind <= NO_MATCH:
        raise Malformed(f"type {kind}")
    if total < least:
        raise Malformed(f"Segment Length {total}")
    return total


def parse(data: bytes) -> Segment:
    """A whole segment, which length_of has looked at."""
    version, byte, _, offset, immediate, number, ack, rx, error, is_code = struct.unpack_from(">BBHIIIIHBB", data)
    segment = Segment(byte >> 3, number, offset, byte & 7, immediate, ack, rx, error, is_code, version)
    rest = data[HEADER:]
    if segment.kind in RDMA:
        segment.address, segment.handle, segment.length = struct.unpack_from(">QII", rest)
        rest = rest[RDMA_HEADER:]
    elif segment.kind in (REQUEST, ACCEPT):
        segment.setup, rest = Setup.unpack(rest), b""
    segment.payload = rest
    return segment
