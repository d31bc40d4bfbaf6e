"""Follows what the PDUs of the DUT say against what the suite has told it to do, and the messages that they make, of one stream.

What a PDU or a stream breaks by itself codec and monitor find (monitor.py). What a device may do in two ways is reported with the
erratum that tolerates both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, Optional

from . import wire
from .numbers import Numbers
from .wire import END, IMMEDIATE, MASK16, NOP, READ_REQUEST, READ_RESPONSE, TRANSMIT_ERROR, WRITE

if TYPE_CHECKING:
    from .stream import Received

#: Rows that are about a number which the draft never assigned, with the erratum that names the profile.
T0 = {
    "VITCP-3.1-02": "V02", "VITCP-3.1-03": "V04", "VITCP-3.1-04": "V03", "VITCP-3.1-05": "V04", "VITCP-3.1-47": "V06",
    "VITCP-3.1-52": "V06", "VITCP-3.2-02": "V05", "VITCP-3.2-03": "V05", "VITCP-3.2-04": "V05", "VITCP-3.2-05": "V05",
    "VITCP-3.2-06": "V05",
}  # fmt: skip

Report = Callable[..., None]


@dataclass
class Message:
    """A message of the DUT, as far as it has come."""

    kind: int
    number: int
    first: Received
    segments: list[Received] = field(default_factory=list)
    payload: bytearray = field(default_factory=bytearray)
    ended: bool = False
    broken: bool = False  # its Data Offsets are wrong

    @property
    def immediate(self) -> Optional[int]:
        """The Immediate Data, if a segment has them."""
        values = [one.pdu.immediate for one in self.segments if one.pdu.flags & IMMEDIATE]
        return values[-1] if values else None


@dataclass
class Known:
    """What the tester knows of a connection: it makes more of the DUT's PDUs judgeable."""

    reliable: Optional[bool] = None
    delivery: bool = False  # the DUT's VI is at Reliable Delivery, where Message ACK may say anything (V14)
    sent: dict[int, int] = field(default_factory=dict)  # of the tester's messages that are complete: Message Number, place
    sending: Optional[int] = None  # of the one that is not
    posted: int = 0  # receive Descriptors that the DUT has said to have taken
    floor: int = 0  # those of them that were answered before what now comes was sent
    early: int = 0  # those of them that were posted before the connection
    flow_control: bool = False
    reads: dict[int, int] = field(default_factory=dict)  # the tester's Read Requests: number, length
    error_due: bool = False  # the tester has done what a VI error may be reported for
    padding_due: bool = False  # Transmit Error may be set
    stalled: bool = False  # the tester has stopped taking (V61)

    def complete(self, number: int) -> None:
        """A message of the tester's has gone out whole."""
        self.sent.setdefault(number, len(self.sent))


class Watch:
    """The rules of what comes on one stream."""

    def __init__(self, report: Report, numbers: Numbers) -> None:
        self._report, self._numbers = report, numbers
        self.known = Known()
        self.messages: list[Message] = []
        self._by_number: dict[tuple[int, int], Message] = {}  # by type, the last one of each number
        self._newest: Optional[Message] = None  # but for Read Responses
        self._answers: list[Message] = []  # Read Responses that have not ended
        self._ack: Optional[int] = None  # the last ACK that named a message
        self.left_out = False  # V55: what was posted early does not count
        self._rx_told: set[str] = set()
        self._undefined = False  # it was told of a Message ACK that may say anything

    def take(self, one: Received) -> Optional[Message]:
        """Judge a PDU; the message that it belongs to, if it belongs to one."""
        pdu = one.pdu
        self._header(one)
        if pdu.kind in wire.CE:
            return None
        self._counts(one)
        self._acks(one)
        if pdu.kind == NOP:
            return None
        message = self._responses(one) if pdu.kind == READ_RESPONSE else self._message(one)
        self._segment(message, one)
        return message

    def goes_on(self, kind: int, data: bytes) -> bool:
        """Whether these bytes begin a segment behind the first one of a message, which may have been empty (2.2.2.2.3)."""
        number = int.from_bytes(data[12:16], "big")
        message = self._by_number.get((kind, number))
        return any(data[4:8]) or (message is not None and not message.ended)

    # ---- the header ----

    def _header(self, one: Received) -> None:
        pdu = one.pdu
        if pdu.flags & TRANSMIT_ERROR and not self.known.padding_due:
            self._report(
                "VITCP-3.1-08", f"{pdu.name} says Transmit Error where there was none", "1", "0", at=one, byte=1, bits="2-2"
            )

    def _counts(self, one: Received) -> None:
        """Rx Descriptors Posted (V23, V55, V61)."""
        known, seen = self.known, one.pdu.rx
        if known.reliable is None:
            return
        above = (seen - known.posted) & MASK16
        if 0 < above < 0x8000:
            self._once("high", "VITCP-3.1-21", "Rx Descriptors Posted is more than was posted", seen, known.posted & MASK16, one)
        if known.stalled:
            return
        below = (known.floor - seen) & MASK16
        if 0 < below < 0x8000:
            of_now = (seen - known.floor + known.early) & MASK16  # without what was posted before, and beyond what it has to be
            left_out = known.early > 0 and of_now <= (known.posted - known.floor) & MASK16
            if left_out and (seen != 0 or known.floor != known.early):
                self.left_out = True
                self._once("early", "VITCP-3.1-21", "what was posted before the connection does not count", seen, known.floor,
                           one, "V55")
            elif not left_out:
                self._once("low", "VITCP-3.1-26", "Rx Descriptors Posted is older than the last post", seen,
                           known.floor & MASK16, one)

    def _once(self, what: str, row: str, words: str, seen: int, required: int, one: Received, erratum: Optional[
            str] = None) -> None:
        if what not in self._rx_told:
            self._rx_told.add(what)
            self._report(row, words, seen, required, at=one, byte=20, bits="15-0", erratum=erratum)

    def _acks(self, one: Received) -> None:
        """Message ACK and VI Error Type (V14, V16)."""
        known, pdu = self.known, one.pdu
        if known.reliable is None:
            return
        if not known.reliable:
            return
        if pdu.error:
            if not known.error_due:
                self._report(
                    "VITCP-3.1-35", "a VI error is reported where there was none", self._numbers.error_of(pdu.error), "No Error",
                    at=one, byte=22, bits="7-0"
                )
            return
        names = pdu.ack in known.sent
        if not names and pdu.ack == known.sending:
            self._ack_is_wrong("names a message that has not come whole", "an earlier one", one)
        elif names and self._ack is not None and known.sent[pdu.ack] < known.sent[self._ack]:
            self._ack_is_wrong("goes back", f"{self._ack} or later", one)
        elif not names and self._ack is not None:
            self._ack_is_wrong("names no message that was sent", f"{self._ack} or later", one)
        if names:
            self._ack = pdu.ack

    def _ack_is_wrong(self, how: str, required: str, one: Received) -> None:
        """At Reliable Delivery once, and tolerated."""
        if self.known.delivery and self._undefined:
            return
        self._undefined = self.known.delivery
        self._report("VITCP-3.1-34", f"Message ACK {how}", one.pdu.ack, required, at=one, byte=16,
                     erratum="V14" if self.known.delivery else None)

    # ---- messages ----

    def _message(self, one: Received) -> Message:
        """The message of a Send, RDMA Write or Read Request."""
        pdu = one.pdu
        now = self.messages[-1] if self.messages else None
        open_one = None if self._newest is None or self._newest.ended else self._newest
        if now is not None and (now.kind, now.number) == (pdu.kind, pdu.number) and not now.ended:
            return now
        if open_one is not None:
            if (open_one.kind, open_one.number) == (pdu.kind, pdu.number):
                return open_one
            self._unfinished(open_one, one)
            open_one.ended = True
        before = self._by_number.get((pdu.kind, pdu.number))
        if before is not None and before is self._newest and pdu.offset == len(before.payload) and pdu.offset:
            self._report("VITCP-3.1-07", "a segment follows End of Message", str(pdu.summary()), "another message", at=one,
                         byte=1, bits="1-1")
            before.broken = True
            return before
        return self._new(one)

    def _unfinished(self, open_one: Message, one: Received) -> None:
        """Another message begins before End of Message; one that was whole lacks its flag."""
        rdma = open_one.first.pdu.rdma
        if open_one.kind == WRITE and rdma is not None and len(open_one.payload) >= rdma[2]:
            self._report("VITCP-3.1-07", "the last segment lacks End of Message", one.pdu.summary(),
                         f"the end of message {open_one.number}", at=one)

    def _new(self, one: Received) -> Message:
        message = Message(one.pdu.kind, one.pdu.number, one)
        self.messages.append(message)
        self._by_number[message.kind, message.number] = message
        if message.kind == READ_RESPONSE:
            self._answers.append(message)
        else:
            self._newest = message
        return message

    def _responses(self, one: Received) -> Message:
        """The Read Response that a segment belongs to."""
        pdu = one.pdu
        self._answers = [m for m in self._answers if not m.ended]
        message = next((m for m in self._answers if m.number == pdu.number), None)
        if message is None and self._answers and pdu.number not in self.known.reads:
            return self._answers[0]  # it has changed its number
        return message or self._new(one)

    def _segment(self, message: Message, one: Received) -> None:
        """Data Offset, headers and End of Message of a segment."""
        pdu, first = one.pdu, not message.segments
        payload = self._later_write(message, one) if pdu.kind == WRITE and not first else pdu.payload
        required = 0 if first else len(message.payload)
        message.broken = message.broken or pdu.offset != required
        message.segments.append(one)
        message.payload += payload
        message.ended = message.ended or bool(pdu.flags & END) or pdu.kind == READ_REQUEST
        if pdu.kind in (WRITE, READ_RESPONSE) and pdu.flags & END:
            self._total(message, one)

    def _later_write(self, message: Message, one: Received) -> bytes:
        """A later segment of an RDMA Write: with a header like the first one, an address that rises, or no header (V10)."""
        pdu, start = one.pdu, message.first.pdu.rdma
        assert start is not None
        if pdu.rdma is None:  # no header is told by the monitor (V10)
            return pdu.raw[wire.HEADER :]
        risen = ((start[0] + len(message.payload)) % wire.TOP64, *start[1:])
        if pdu.rdma == risen != start:
            self._report(
                "VITCP-3.2.1-02", "RDMA Address rises with the segments", f"{pdu.rdma[0]:x}h", f"{start[0]:x}h", at=one,
                byte=24, erratum="V10"
            )  # fmt: skip
        return pdu.payload if pdu.rdma[:2] in (start[:2], risen[:2]) else pdu.raw[wire.HEADER :]

    def _total(self, message: Message, one: Received) -> None:
        """RDMA Length against what came (V11)."""
        rdma = message.first.pdu.rdma
        assert rdma is not None
        got = len(message.payload)
        if message.kind == WRITE:
            return
        asked = self.known.reads.get(message.number)
        if asked is None or message.broken or any(s.pdu.flags & TRANSMIT_ERROR for s in message.segments):
            return
        lengths = {s.pdu.rdma[2] for s in message.segments if s.pdu.rdma is not None} - {0, asked}
        if got == asked and lengths:
            self._report("VITCP-3.2.1-06", "RDMA Length of the Read Response", max(lengths), f"{asked} or 0", at=one, byte=36)
