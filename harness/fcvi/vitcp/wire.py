"""The PDUs of VI/TCP as the tester builds and reads them (draft-dicecco-vitcp-00, clause 3).

The tester may send anything, so what is built here is not checked. What the draft leaves without a number has that of profile T0
(errata V02 to V07); numbers.py makes it another profile's. These are the two places where the tester touches bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import Any, Optional

HEADER, RDMA_HEADER, CE_HEADER = 24, 16, 44
LONGEST = 65535  # Segment Length has 16 bits
MASK32, MASK16, TOP64 = 0xFFFFFFFF, 0xFFFF, 1 << 64

SEND, READ_REQUEST, READ_RESPONSE, WRITE, NOP, REQUEST, ACCEPT, REJECT, NO_MATCH = range(1, 10)
NAMES = {
    SEND: "Send", READ_REQUEST: "RDMA Read Request", READ_RESPONSE: "RDMA Read Response", WRITE: "RDMA Write", NOP: "NOP",
    REQUEST: "Connect Request", ACCEPT: "Connect Accept", REJECT: "Connect Reject", NO_MATCH: "Connect No Match",
}  # fmt: skip
MESSAGES = frozenset({SEND, READ_REQUEST, WRITE})  # they take a Message Number (V17, V18)
RDMA = frozenset({READ_REQUEST, READ_RESPONSE, WRITE})
CE = frozenset({REQUEST, ACCEPT, REJECT, NO_MATCH})
IMMEDIATE, END, TRANSMIT_ERROR = 1, 2, 4
RELIABLE, WRITE_ENABLE, READ_ENABLE, FLOW_CONTROL, PEER = 1, 2, 4, 8, 16
NO_ERROR, MEMORY_PROTECTION, DESCRIPTOR_ERROR = 0, 1, 2
VERSION = 1

_SEGMENT = struct.Struct(">BBHIIIIHBB")
_CE = struct.Struct(">HHI16sHH16s")
_RDMA = struct.Struct(">QII")


@dataclass(frozen=True)
class CeHeader:
    """A Connection Establishment Header (3.2). Discriminators are the whole fields of 16 bytes."""

    attributes: int = 0
    calling_length: int = 0
    mtu: int = 0
    calling_field: bytes = bytes(16)
    window: int = 0
    called_length: int = 0
    called_field: bytes = bytes(16)
    security: bytes = b""

    @property
    def calling(self) -> bytes:
        """The Calling Discriminator."""
        return self.calling_field[: self.calling_length]

    @property
    def called(self) -> bytes:
        """The Called Discriminator."""
        return self.called_field[: self.called_length]

    def pack(self) -> bytes:
        """The 44 bytes and the security part."""
        return (
            _CE.pack(
                self.attributes, self.calling_length, self.mtu, self.calling_field, self.window, self.called_length,
                self.called_field
            )
            + self.security
        )


def ce_header(calling: bytes, called: bytes, attributes: int, mtu: int, window: int, security: bytes = b"") -> CeHeader:
    """A CE Header with these Discriminators, of at most 16 bytes, padded with zeros."""
    return CeHeader(
        attributes, len(calling), mtu, calling.ljust(16, b"\0"), window, len(called), called.ljust(16, b"\0"), security
    )


@dataclass(frozen=True)
class Pdu:
    """One PDU: a Segment Header (3.1), an RDMA Header (3.2.1) or CE Header (3.2) if it has one, and the payload.

    length: Segment Length, when it is not to be what the bytes are.
    """

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
    rdma: Optional[tuple[int, int, int]] = None  # RDMA Address, Registered Memory Handle, RDMA Length
    ce: Optional[CeHeader] = None
    payload: bytes = b""
    length: Optional[int] = None
    raw: bytes = field(default=b"", repr=False)  # of one that was received

    @property
    def name(self) -> str:
        """The type in the words of the draft."""
        return NAMES.get(self.kind, f"PDU of type {self.kind}")

    def but(self, **changes: Any) -> Pdu:
        """The same with other values."""
        return replace(self, **changes)

    def pack(self) -> bytes:
        """The bytes."""
        rest = _RDMA.pack(*self.rdma) if self.rdma is not None else b""
        rest += (self.ce.pack() if self.ce is not None else b"") + self.payload
        length = HEADER + len(rest) if self.length is None else self.length
        head = _SEGMENT.pack(
            self.version, (self.kind << 3 | self.flags) & 0xFF, length & MASK16, self.offset & MASK32, self.immediate & MASK32,
            self.number & MASK32, self.ack & MASK32, self.rx & MASK16, self.error, self.is_code,
        )  # fmt: skip
        return head + rest

    def summary(self) -> str:
        """One line: the type, then what matters of it."""
        words = [self.name]
        if self.kind in MESSAGES or self.kind == READ_RESPONSE:
            words.append(f"number {self.number} offset {self.offset} payload {len(self.payload)}")
        if self.rdma is not None:
            words.append(f"address {self.rdma[0]:x}h handle {self.rdma[1]:x}h length {self.rdma[2]}")
        if self.ce is not None:
            words.append(f"attributes {self.ce.attributes:x}h MTU {self.ce.mtu} called {self.ce.called.hex() or '-'}")
        words.append(f"ack {self.ack} rx {self.rx}")
        words += [word for bit, word in ((IMMEDIATE, "immediate"), (END, "end"), (TRANSMIT_ERROR, "transmit error"))
                  if self.flags & bit]
        if self.error or self.is_code:
            words.append(f"error {self.error} code {self.is_code}")
        return ", ".join(words)


def header(data: bytes) -> tuple[int, int, int]:
    """Version, type and Segment Length of at least four bytes."""
    return data[0], data[1] >> 3, data[2] << 8 | data[3]


def least_length(kind: int) -> int:
    """The shortest Segment Length of a type: with the header that it must have (3)."""
    return HEADER + (RDMA_HEADER if kind in RDMA else CE_HEADER if kind in (REQUEST, ACCEPT) else 0)


def parse(data: bytes) -> Pdu:
    """A PDU whose Segment Length is right for its type. A refusal with and without CE Header is taken (V08), and so is a later
    segment that is too short for an RDMA Header (V10).
    """
    version, byte, _, offset, immediate, number, ack, rx, error, is_code = _SEGMENT.unpack_from(data)
    kind, rest = byte >> 3, data[HEADER:]
    rdma: Optional[tuple[int, int, int]] = None
    ce: Optional[CeHeader] = None
    if kind in RDMA and len(rest) >= RDMA_HEADER:
        address, handle, total = _RDMA.unpack_from(rest)
        rdma, rest = (address, handle, total), rest[RDMA_HEADER:]
    elif kind in CE and len(rest) >= CE_HEADER:
        ce, rest = replace(CeHeader(*_CE.unpack_from(rest)), security=rest[CE_HEADER:]), b""
    return Pdu(kind, number, offset, byte & 7, immediate, ack, rx, error, is_code, version, rdma, ce, rest, None, bytes(data))
