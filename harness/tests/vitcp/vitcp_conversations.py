"""Conversations of VI/TCP with one breach or one reading each, packed by the figures of the draft without any codec of the project.

As a program it writes them as captures: python3 -m harness.tests.vitcp.vitcp_conversations pcaps/vitcp
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from random import Random
from typing import Iterator, NamedTuple, Optional

SEND, REQUEST, RESPONSE, WRITE, NOP, CALL, ACCEPT, REJECT, NO_MATCH = range(1, 10)
END, IMMEDIATE = 2, 1
PORT, CALLER = 50444, 49200
HOSTS = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
#: Bits of Calling Attributes in profile T0.
RELIABLE, WRITES, READS, FLOW = 1, 2, 4, 8
MASK = 0xFFFFFFFF


def pdu(kind: int, number: int = 0, data: bytes = b"", *, offset: int = 0, flags: int = END, ack: int = MASK, rx: int = 100,
        error: int = 0, immediate: int = 0, rest: bytes = b"") -> bytes:  # fmt: skip
    """A Segment Header (3.1) and what follows it."""
    head = struct.pack(">BBHIIIIHH", 1, kind << 3 | flags, 24 + len(rest) + len(data), offset, immediate, number, ack, rx, error)
    return head + rest + data


def setup(kind: int, mtu: int = 4096, attributes: int = RELIABLE | WRITES | READS | FLOW, window: int = 2, rx: int = 100) -> bytes:
    """A PDU with a CE Header (3.2)."""
    rest = struct.pack(">HHI16sHH16s", attributes, 4, mtu, b"here", window, 5, b"there")
    return pdu(kind, rx=rx, rest=rest)


def rdma(kind: int, number: int, length: int, data: bytes = b"", **more: int) -> bytes:
    """A PDU with an RDMA Header (3.2.1)."""
    return pdu(kind, number, data, rest=struct.pack(">QII", 0x1000, 7, length), **more)


Step = tuple[int, bytes]  # direction (0: of the caller), and a PDU
CALLED: list[Step] = [(0, setup(CALL)), (1, setup(ACCEPT))]


class Conversation(NamedTuple):
    """steps: what is sent; found: requirement, class and erratum of each finding."""

    steps: list[Step]
    found: list[tuple[str, str, Optional[str]]]


def _breach(*steps: Step, by: str, start: Optional[list[Step]] = None) -> Conversation:
    return Conversation([*(CALLED if start is None else start), *steps], [(f"VITCP-{by}", "violation", None)])


def _reading(*steps: Step, by: str, erratum: str, start: Optional[list[Step]] = None) -> Conversation:
    return Conversation([*(CALLED if start is None else start), *steps], [(f"VITCP-{by}", "notice", erratum)])


def _good() -> list[Step]:
    return [
        *CALLED,
        (0, pdu(SEND, 10, b"a" * 100)), (1, pdu(SEND, 5, b"b" * 30, ack=10)), (0, pdu(NOP, 0, ack=5)),
        (0, pdu(SEND, 11, b"c" * 50, flags=0, ack=5)), (0, pdu(SEND, 11, b"d" * 9, offset=50, ack=5)),
        (1, rdma(REQUEST, 6, 60, ack=11)), (0, pdu(SEND, 12, b"e" * 7, flags=0, ack=6)),
        (0, rdma(RESPONSE, 6, 60, b"f" * 40, flags=0, ack=6)), (0, pdu(SEND, 12, b"g", offset=7, ack=6)),
        (0, rdma(RESPONSE, 6, 60, b"h" * 20, offset=40, ack=6)),
        (1, rdma(WRITE, 7, 33, b"i" * 30, flags=0, ack=12)), (1, rdma(WRITE, 7, 33, b"j" * 3, offset=30, ack=12)),
        (0, pdu(SEND, 13, ack=7, immediate=3, flags=END | IMMEDIATE)), (1, pdu(NOP, 0, ack=13)),
    ]  # fmt: skip


_UNRELIABLE: list[Step] = [(0, setup(CALL, attributes=0)), (1, setup(ACCEPT, attributes=0))]
_ONE = b"x" * 10
CONVERSATIONS: dict[str, Conversation] = {
    "good": Conversation(_good(), []),
    "request-twice": _breach((0, setup(CALL)), by="4.2-03"),
    "data-before-accept": _breach((0, setup(CALL)), (0, pdu(SEND, 1, _ONE)), by="2.2.2.1-04", start=[]),
    "data-instead-of-accept": _breach((0, setup(CALL)), (1, pdu(SEND, 1, _ONE)), by="2.2.2.1-04", start=[]),
    "answer-by-caller": _breach((0, setup(ACCEPT)), by="4.1-01"),
    "accepted-twice": _breach((1, setup(ACCEPT)), by="4.1-01"),
    "data-behind-reject": _breach((0, setup(CALL)), (1, pdu(REJECT)), (1, pdu(NOP)), by="4.3-08", start=[]),
    "data-behind-no-match": _breach((0, setup(CALL)), (1, pdu(NO_MATCH)), (1, pdu(NOP)), by="4.3-06", start=[]),
    "mtu-raised": _breach((0, setup(CALL, mtu=100)), (1, setup(ACCEPT, mtu=101)), by="3.2-15", start=[]),
    "longer-than-agreed-by-caller": _breach((0, pdu(SEND, 1, bytes(4097))), by="3.2-16"),
    "longer-than-agreed-by-called": _breach(
        (1, pdu(SEND, 1, bytes(4096), flags=0)), (1, pdu(SEND, 1, b"z", offset=4096)), by="3.2-14"),
    "number-skipped": _breach((0, pdu(SEND, 1, _ONE)), (0, pdu(SEND, 3, _ONE)), by="3.1-09"),
    "number-repeated": _breach((0, pdu(SEND, 1, _ONE)), (0, pdu(SEND, 1, _ONE)), by="3.1-09"),
    "first-offset-not-zero": _breach((0, pdu(SEND, 1, _ONE, offset=4)), by="3.1-13"),
    "offset-with-a-gap": _breach((0, pdu(SEND, 1, _ONE, flags=0)), (0, pdu(SEND, 1, _ONE, offset=11)), by="3.1-14"),
    "offset-counts-headers": _breach((0, pdu(SEND, 1, _ONE, flags=0)), (0, pdu(SEND, 1, _ONE, offset=34)), by="3.1-15"),
    "message-inside-a-message": _breach((0, pdu(SEND, 1, _ONE, flags=0)), (0, pdu(SEND, 2, _ONE)), by="2.2.2.2.3-08"),
    "responses-interleaved": _breach(
        (0, rdma(REQUEST, 1, 20)), (0, rdma(REQUEST, 2, 20)), (1, rdma(RESPONSE, 1, 20, _ONE, flags=0)),
        (1, rdma(RESPONSE, 2, 20, _ONE, flags=0)), by="2.2.2.2.3-10"),
    "response-to-nothing": _breach((0, rdma(REQUEST, 1, 10)), (1, rdma(RESPONSE, 2, 10, _ONE)), by="3.1-17"),
    "response-twice": _breach(
        (0, rdma(REQUEST, 1, 10)), (1, rdma(RESPONSE, 1, 10, _ONE)), (1, rdma(RESPONSE, 1, 10, _ONE)), by="3.1-17"),
    "response-too-short": _breach((0, rdma(REQUEST, 1, 11)), (1, rdma(RESPONSE, 1, 11, _ONE)), by="3.2.1-06"),
    "write-too-short": _breach(
        (0, rdma(WRITE, 1, 21, _ONE, flags=0)), (0, rdma(WRITE, 1, 21, _ONE, offset=10)), by="3.2.1-04"),
    "no-credit": _breach((0, setup(CALL)), (1, setup(ACCEPT, rx=1)), (0, pdu(SEND, 1, _ONE)), (0, pdu(SEND, 2, _ONE)),
                         by="3.1-23", start=[]),
    "ack-of-nothing": _reading((0, pdu(SEND, 1, _ONE)), (1, pdu(NOP, 50, ack=2)), by="3.1-34", erratum="V14"),
    "error-of-nothing": _reading(
        (0, pdu(SEND, 1, _ONE)), (1, pdu(NOP, 50, ack=2, error=0x200)), by="3.1-35", erratum="V14"),
    "error-on-unreliable": _breach((0, pdu(SEND, 1, _ONE)), (1, pdu(NOP, ack=1, error=0x200)), by="3.1-55", start=_UNRELIABLE),
    "immediate-in-nop": _breach((0, pdu(NOP, flags=END | IMMEDIATE)), by="3.1-06"),
    "header-in-first-only": _reading(
        (0, rdma(WRITE, 1, 60, b"k" * 20, flags=0)), (0, pdu(WRITE, 1, b"l" * 20, offset=20, flags=0)),
        (0, pdu(WRITE, 1, b"m" * 20, offset=40)), by="3-05", erratum="V10"),
    "nops-are-counted": _reading((0, pdu(SEND, 1, _ONE)), (0, pdu(NOP, 2)), (0, pdu(SEND, 3, _ONE)), by="3.1-09", erratum="V17"),
    "count-of-each-type": _reading(
        (0, pdu(SEND, 1, _ONE)), (0, rdma(WRITE, 1, 10, _ONE)), (0, pdu(SEND, 2, _ONE)), by="3.1-09", erratum="V18"),
    "immediate-in-first-only": _reading(
        (0, pdu(SEND, 1, _ONE, flags=IMMEDIATE)), (0, pdu(SEND, 1, _ONE, offset=10)), by="3.1-06", erratum="V19"),
    "window-exceeded": _reading(*((0, rdma(REQUEST, n, 8)) for n in (1, 2, 3)), by="2.2.2.2.6-02", erratum="V24"),
}  # fmt: skip


class Packet(NamedTuple):
    """A TCP segment. sequence and acknowledged: from the first byte of each direction on, its SYN before it."""

    direction: int
    flags: int
    sequence: int
    acknowledged: int
    data: bytes = b""
    window: int = 65535


_SYN, _ACK, _PUSH = 2, 16, 8


def packets(steps: list[Step], sizes: tuple[int, ...] = (1460,), seed: int = 1) -> list[Packet]:
    """The conversation as segments of any of the sizes."""
    random = Random(seed)
    sent = [1, 1]
    found = [Packet(0, _SYN, 0, 0), Packet(1, _SYN | _ACK, 0, 1), Packet(0, _ACK, 1, 1)]
    for direction, data in steps:
        at = 0
        while at < len(data):
            piece = data[at : at + random.choice(sizes)]
            found.append(Packet(direction, _PUSH | _ACK, sent[direction], sent[1 - direction], piece))
            sent[direction] += len(piece)
            at += len(piece)
    return found


def _bytes(p: Packet, first: tuple[int, int]) -> bytes:
    ports = (CALLER, PORT) if p.direction == 0 else (PORT, CALLER)
    hosts = HOSTS if p.direction == 0 else HOSTS[::-1]
    sequence, acknowledged = first[p.direction] + p.sequence, first[1 - p.direction] + p.acknowledged
    number = acknowledged & MASK if p.flags & _ACK else 0
    tcp = struct.pack(">HHIIBBHHH", *ports, sequence & MASK, number, 0x50, p.flags, p.window, 0, 0) + p.data
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, *hosts) + tcp


def write(path: Path, taken: list[Packet], snap: int = 65535, first: tuple[int, int] = (0xFFFFFF00, 7000),
          at: Optional[list[float]] = None) -> None:  # fmt: skip
    """A pcap file of IP packets. first: the initial sequence numbers, so that one of them wraps; at: seconds."""

    def records() -> Iterator[bytes]:
        yield struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
        for number, packet in enumerate(taken):
            data = _bytes(packet, first)
            us = 1_000_000 + number if at is None else round(at[number] * 1e6)
            yield struct.pack("<IIII", *divmod(us, 1_000_000), min(len(data), snap), len(data)) + data[:snap]

    path.write_bytes(b"".join(records()))


def write_tagged(path: Path, taken: list[tuple[int, Packet, tuple[int, int]]]) -> None:
    """A pcap file of Ethernet frames, each in its VLAN (0: no tag) and with the initial sequence numbers of its connection."""

    def records() -> Iterator[bytes]:
        yield struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
        for number, (vlan, packet, first) in enumerate(taken):
            tag = struct.pack(">HH", 0x8100, vlan) if vlan else b""
            data = bytes(12) + tag + struct.pack(">H", 0x0800) + _bytes(packet, first)
            yield struct.pack("<IIII", 1, number, len(data), len(data)) + data

    path.write_bytes(b"".join(records()))


def main() -> None:
    """Write all."""
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for name, conversation in CONVERSATIONS.items():
        write(folder / f"{name}.pcap", packets(conversation.steps))


if __name__ == "__main__":
    main()
