"""Puts into words what a device has said on its streams, to compare two runs: units of the draft, no cuts of TCP.

A device divides its messages and answers with NOPs as it likes (2.2.2.2.3, V20). What it must do alike is told here: the PDUs of
the setup, whole messages in their order, what it has acknowledged in the end, and the ends of its connections.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

from fcvi.vitcp import wire
from fcvi.vitcp.numbers import Numbers
from fcvi.vitcp.wire import CE, END, IMMEDIATE, MASK32, MESSAGES, NOP, READ_REQUEST, READ_RESPONSE, TRANSMIT_ERROR, Pdu


@dataclass
class Item:
    """A PDU of the setup or a message. number: its Message Number. fields: what is compared."""

    kind: int
    number: int
    fields: dict[str, Any] = field(default_factory=dict)
    payload: bytearray = field(default_factory=bytearray)
    whole: bool = False

    @property
    def name(self) -> str:
        """The type in the words of the draft."""
        return wire.NAMES[self.kind]


class Voice:
    """One direction of one stream: the device's."""

    def __init__(self, numbers: Numbers) -> None:
        self.items: list[Item] = []
        self.last: Optional[Pdu] = None
        self.ended = False
        self.rubbish = b""
        self._numbers, self._rest = numbers, bytearray()

    def hear(self, data: bytes) -> list[Pdu]:
        """More bytes; the PDUs that are whole now."""
        if self.rubbish:
            self.rubbish += data
            return []
        self._rest += data
        found = []
        while len(self._rest) >= 4:
            _, kind, length = self._numbers.header(self._rest)
            if kind not in wire.NAMES or length < wire.least_length(kind):
                self.rubbish = bytes(self._rest)
                break
            if len(self._rest) < length:
                break
            pdu = self._numbers.parse(bytes(self._rest[:length]))
            del self._rest[:length]
            self._take(pdu)
            found.append(pdu)
        return found

    def messages(self) -> list[int]:
        """The numbers of those that take one, in their order."""
        return [item.number for item in self.items if item.kind in MESSAGES]

    def count(self) -> int:
        """How many PDUs of the setup and whole messages there are."""
        return sum(item.whole for item in self.items)

    def _take(self, pdu: Pdu) -> None:
        self.last = pdu
        if pdu.kind == NOP:
            return
        if pdu.kind in CE:
            fields = {} if pdu.ce is None else {
                "Calling Attributes": pdu.ce.attributes, "Calling Discriminator": pdu.ce.calling.hex(), "MTU Size": pdu.ce.mtu,
                "Called Discriminator": pdu.ce.called.hex(), "Calling RDMA Read Window": pdu.ce.window,
            }  # fmt: skip
            self.items.append(Item(pdu.kind, pdu.number, fields, whole=True))
            return
        item = next((i for i in reversed(self.items) if (i.kind, i.number, i.whole) == (pdu.kind, pdu.number, False)), None)
        if item is None:
            item = Item(pdu.kind, pdu.number)
            if pdu.rdma is not None and pdu.kind != READ_RESPONSE:
                item.fields |= {"RDMA Address": pdu.rdma[0], "Registered Memory Handle": pdu.rdma[1], "RDMA Length": pdu.rdma[2]}
            self.items.append(item)
        later = bool(item.payload) and pdu.rdma is None and pdu.kind in wire.RDMA
        item.payload += pdu.raw[wire.HEADER :] if later else pdu.payload
        if pdu.flags & IMMEDIATE:
            item.fields["Immediate Data"] = pdu.immediate
        if pdu.flags & TRANSMIT_ERROR:
            item.fields["Transmit Error"] = 1
        item.whole = bool(pdu.flags & END) or pdu.kind == READ_REQUEST


def shifted(number: int, then: list[int], now: list[int]) -> int:
    """The Message Number now of what had this number then; as it is when it named no message of the device."""
    if number in then:
        index = then.index(number)
        if index < len(now):
            return now[index]
        return (number - then[0] + now[0]) & MASK32 if now else number
    return number
