"""Writes what crosses a stream into captures, and puts it into words."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Optional

from fcvi.engine.page_words import value
from fcvi.engine.protocol import Line, View
from fcvi.engine.results import TraceFrame
from . import wire
from .numbers import Numbers, numbers_of

_LONGEST = 65_535 - 20 - 20  # bytes of data in a packet of IP
LINKTYPE_RAW = 101  # a packet begins with its IP header
_SYN, _RST, _ACK, _FIN, _PUSH = 2, 4, 16, 1, 8
_FLAGS = {"open": _SYN, "opened": _SYN | _ACK, "refused": _RST | _ACK, "fin": _FIN | _ACK, "reset": _RST, "data": _PUSH | _ACK}
_WORDS = {
    "open": "TCP: connection is asked for", "opened": "TCP: connection is accepted", "refused": "TCP: connection is refused",
    "fin": "TCP: end of stream", "reset": "TCP: reset",
}  # fmt: skip
Address = tuple[bytes, int]


@dataclass(slots=True)
class TraceUnit(TraceFrame):
    """A PDU, other bytes, or what happened to a stream.

    event: "data", or one of those above. begin: the number of its first byte in its direction. numbers: what its bytes mean.
    """

    stream: str = ""
    event: str = "data"
    begin: int = 0
    source: Address = (bytes(16), 0)
    target: Address = (bytes(16), 0)
    numbers: Numbers = field(default_factory=lambda: numbers_of(""))


class _View:
    """A unit in words."""

    def __init__(self, unit: TraceFrame) -> None:
        assert isinstance(unit, TraceUnit)
        self._unit = unit

    def summary(self) -> str:
        """One line."""
        pdu = self._pdu()
        return self.name() if pdu is None else f"{self._unit.stream}: {pdu.summary()}"

    def name(self) -> str:
        """The stream, and which PDU or event it is."""
        unit, pdu = self._unit, self._pdu()
        what = _WORDS[unit.event] if unit.event != "data" else f"{len(unit.data)} bytes" if pdu is None else pdu.name
        return f"{unit.stream}: {what}"

    def _pdu(self) -> Optional[wire.Pdu]:
        """What the unit is; None for an event, and for bytes that are no whole PDU."""
        unit, data = self._unit, self._unit.data
        if unit.event != "data" or len(data) < wire.HEADER:
            return None
        _, kind, length = unit.numbers.header(data)
        whole = length == len(data) and kind in wire.NAMES and length >= wire.least_length(kind)
        return unit.numbers.parse(data) if whole else None

    def _fields(self) -> list[tuple[str, int, int]]:
        data, numbers = self._unit.data, self._unit.numbers
        fields = [
            ("Version", 0, 1), ("Type/Flags", 1, 1), ("Segment Length", 2, 2), ("Data Offset", 4, 4), ("Immediate Data", 8, 4),
            ("Message Number", 12, 4), ("Message ACK", 16, 4), ("Rx Descriptors Posted", 20, 2), ("Remote Error Code", 22, 2),
        ]  # fmt: skip
        kind = numbers.header(data)[1] if len(data) >= wire.HEADER else 0
        if kind in wire.RDMA:
            fields += [("RDMA Address", 24, 8), ("Registered Memory Handle", 32, 4), ("RDMA Length", 36, 4)]
        if kind in wire.CE:
            fields += [
                ("Calling Attributes", 24, 2), ("Calling Discriminator Length", 26, 2), ("MTU Size", 28, 4),
                ("Calling Discriminator", 32, 16), ("Calling RDMA Read Window", 48, 2), ("Called Discriminator Length", 50, 2),
                ("Called Discriminator", 52, 16),
            ]  # fmt: skip
        return [one for one in fields if one[1] + one[2] <= len(data)]

    def text(self) -> str:
        """Every field, one a line, which begins with the number of its first byte."""
        data = self._unit.data
        return "".join(f"{byte:3} {name}: {data[byte : byte + size].hex()}h\n" for name, byte, size in self._fields())

    def json(self) -> dict[str, Any]:
        """The fields as data."""
        data = self._unit.data
        return {
            "fields": [
                {"name": name, "byte": byte, "size": size, "bits": f"{8 * size - 1}-0", "value": data[byte : byte + size].hex()}
                for name, byte, size in self._fields()
            ]
        }


def _ip(source: bytes, target: bytes, size: int) -> bytes:
    mapped = bytes(10) + b"\xff\xff"
    if source[:12] == mapped == target[:12]:
        head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + size, 0, 0x4000, 64, 6, 0, source[12:], target[12:])
        total = sum(struct.unpack(">10H", head))
        total = (total & 0xFFFF) + (total >> 16)
        return head[:10] + struct.pack(">H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + head[12:]
    return struct.pack(">IHBB16s16s", 6 << 28, size, 6, 64, source, target)


def _captured(unit: TraceFrame) -> list[bytes]:
    """IP packets with TCP headers of our own: the streams of the DUT protocol have none. A PDU may be longer than a packet.

    Their checksums are left zero, and so is what they acknowledge: nobody has told what the DUT's TCP had received.
    """
    assert isinstance(unit, TraceUnit)
    begins = range(0, len(unit.data), _LONGEST) if unit.data else range(1)
    return [_packet(unit, begin, unit.data[begin : begin + _LONGEST]) for begin in begins]


def _packet(unit: TraceUnit, begin: int, data: bytes) -> bytes:
    sequence = unit.begin + begin + (unit.event not in ("open", "opened"))
    head = struct.pack(
        ">HHIIBBHHH", unit.source[1], unit.target[1], sequence & wire.MASK32, 0, 5 << 4, _FLAGS[unit.event], 65535, 0, 0
    )
    return _ip(unit.source[0], unit.target[0], len(head) + len(data)) + head + data


def _words(view: View) -> str:
    """The stream, which PDU it is, and its fields that are not zero."""
    assert isinstance(view, _View)
    fields = [f for f in view.json()["fields"] if f["value"].strip("0") and f["name"] not in _LAYOUT]
    return ", ".join([view.name(), *(f"{f['name']} {value(int(f['value'], 16))}" for f in fields)])


_LAYOUT = frozenset(("Version", "Type/Flags", "Segment Length", "Data Offset"))
LINE = Line(LINKTYPE_RAW, _captured, lambda unit, checksum: _View(unit), _words)
