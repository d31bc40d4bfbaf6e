"""What every PDU of the DUT has to be, whatever the case: the rules of one direction of one stream.

What a device may do in two ways is reported with the erratum that tolerates both. What the tester cannot know is not judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, Optional

from . import wire
from .numbers import Numbers
from .wire import END, IMMEDIATE, MASK16, MASK32, NOP, READ_REQUEST, READ_RESPONSE, TRANSMIT_ERROR, WRITE

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
    broken: bool = False  # its Data Offsets have been reported
    headers: int = 0  # bytes of headers so far

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
    sent: list[int] = field(default_factory=list)  # Message Numbers of the tester's messages that are complete
    sending: Optional[int] = None  # of the one that is not
    posted: int = 0  # receive Descriptors that the DUT has said to have taken
    floor: int = 0  # those of them that were answered before what now comes was sent
    early: int = 0  # those of them that were posted before the connection
    flow_control: bool = False
    reads: dict[int, int] = field(default_factory=dict)  # the tester's Read Requests: number, length
    error_due: bool = False  # the tester has done what a VI error may be reported for
    padding_due: bool = False  # Transmit Error may be set
    stalled: bool = False  # the tester has stopped taking (V61)


class Watch:
    """The rules of what comes on one stream."""

    def __init__(self, report: Report, checked: set[str], numbers: Numbers) -> None:
        self._report, self._checked, self._numbers = report, checked, numbers
        self.known = Known()
        self.messages: list[Message] = []
        self.last: Optional[int] = None  # Message Number
        self._by_kind: dict[int, int] = {}
        self._unnumbered = 0  # NOPs and CE PDUs since the last message
        self._each_type = False  # one count per type has been seen (V18)
        self._ack: Optional[int] = None  # the last ACK that named a message
        self.left_out = False  # V55: what was posted early does not count
        self._rx_told: set[str] = set()
        self._undefined = False  # it was told of a Message ACK that may say anything

    def take(self, one: Received) -> Optional[Message]:
        """Judge a PDU; the message that it belongs to, if it belongs to one."""
        pdu = one.pdu
        self._header(one)
        if pdu.kind in wire.CE:
            self._unnumbered += 1
            self._ce(one)
            return None
        self._counts(one)
        self._acks(one)
        if pdu.kind == NOP:
            self._unnumbered += 1
            if any(m.kind != READ_RESPONSE and not (m.ended or m.broken) for m in self.messages[-2:]):
                self._report("VITCP-2.2.2.2.3-08", "a NOP before End of Message", pdu.summary(), "none", at=one, erratum="V80")
            return None
        message = self._responses(one) if pdu.kind == READ_RESPONSE else self._message(one)
        self._segment(message, one)
        return message

    # ---- the header ----

    def _see(self, row: str) -> None:
        self._checked.add(row)

    def _header(self, one: Received) -> None:
        pdu = one.pdu
        if pdu.version != wire.VERSION:
            self._report(
                "VITCP-3.1-02", "Version is not that of the profile", self._numbers.version_of(pdu.version), self._numbers.version,
                at=one, byte=0, bits="7-0"
            )
        for row in ("3-02", "3.1-01", "3.1-02", "3.1-04", "3.1-06", "3.1-08", "3.1-52", "2.2.2.2.3-02", "3.1-11"):
            self._see(f"VITCP-{row}")
        if pdu.flags & IMMEDIATE and pdu.kind not in (wire.SEND, WRITE):
            self._report(
                "VITCP-3.1-06", f"{pdu.name} says that it has Immediate Data", "1", "0", at=one, byte=1, bits="0-0"
            )
        if pdu.flags & TRANSMIT_ERROR and not self.known.padding_due:
            self._report(
                "VITCP-3.1-08", f"{pdu.name} says Transmit Error where there was none", "1", "0", at=one, byte=1, bits="2-2"
            )
        if pdu.error not in (0, 1, 2):
            self._report("VITCP-3.1-52", "VI Error Type is none of three", self._numbers.error_of(pdu.error), self._numbers.errors,
                         at=one, byte=22, bits="7-0")

    def _ce(self, one: Received) -> None:
        ce = one.pdu.ce
        if ce is None:
            return
        if one.pdu.kind == wire.REQUEST:
            for row, name, length, whole, byte in (
                ("VITCP-3.2-07", "Calling", ce.calling_length, ce.calling_field, 26),
                ("VITCP-3.2-08", "Called", ce.called_length, ce.called_field, 50),
            ):
                self._see(row)
                if length > 16:
                    self._report(row, f"{name} Discriminator Length", length, "0 to 16", at=one, byte=byte, bits="15-0")
                elif any(whole[length:]):
                    self._report(
                        row, f"{name} Discriminator goes on behind its length", whole[length:].hex(), "zeros", at=one,
                        byte=(32 if name == "Calling" else 52) + length, erratum="V46",
                    )  # fmt: skip

    def _counts(self, one: Received) -> None:
        """Rx Descriptors Posted (V23, V55, V61)."""
        known, seen = self.known, one.pdu.rx
        if known.reliable is None:
            return
        self._see("VITCP-3.1-21")
        above = (seen - known.posted) & MASK16
        if 0 < above < 0x8000:
            self._once("high", "VITCP-3.1-21", "Rx Descriptors Posted is more than was posted", seen, known.posted & MASK16, one)
        if known.stalled:
            return
        self._see("VITCP-3.1-26")
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
            self._see("VITCP-3.1-55")
            if pdu.error:
                self._report(
                    "VITCP-3.1-55", "VI Error Type at Unreliable Delivery", self._numbers.error_of(pdu.error), "No Error", at=one,
                    byte=22, bits="7-0"
                )
            return
        self._see("VITCP-3.1-34")
        self._see("VITCP-3.1-35")
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
        elif names and self._ack is not None and known.sent.index(pdu.ack) < known.sent.index(self._ack):
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
        open_one = next((m for m in reversed(self.messages) if m.kind != READ_RESPONSE and not m.ended), None)
        if now is not None and (now.kind, now.number) == (pdu.kind, pdu.number) and not now.ended:
            return now
        if open_one is not None:
            if (open_one.kind, open_one.number) == (pdu.kind, pdu.number):
                return open_one
            self._unfinished(open_one, one)
            open_one.ended = True
        before = next((m for m in reversed(self.messages) if (m.kind, m.number) == (pdu.kind, pdu.number)), None)
        if before is not None and before is self._newest() and pdu.offset == len(before.payload) and pdu.offset:
            self._report("VITCP-3.1-07", "a segment follows End of Message", str(pdu.summary()), "another message", at=one,
                         byte=1, bits="1-1")
            before.broken = True
            return before
        self._number(one)
        return self._new(one)

    def _newest(self) -> Optional[Message]:
        return next((m for m in reversed(self.messages) if m.kind != READ_RESPONSE), None)

    def _unfinished(self, open_one: Message, one: Received) -> None:
        """Another message begins before End of Message: the message was whole and lacks its flag, or was cut short."""
        rdma = open_one.first.pdu.rdma
        whole = open_one.kind == WRITE and rdma is not None and len(open_one.payload) >= rdma[2]
        row = "VITCP-3.1-07" if whole else "VITCP-2.2.2.2.3-08"
        words = "the last segment lacks End of Message" if whole else "another message begins before End of Message"
        self._report(row, words, one.pdu.summary(), f"the end of message {open_one.number}", at=one)

    def _new(self, one: Received) -> Message:
        message = Message(one.pdu.kind, one.pdu.number, one)
        self.messages.append(message)
        return message

    def _number(self, one: Received) -> None:
        """Message Numbers rise by one in one count (V17, V18)."""
        pdu = one.pdu
        self._see("VITCP-3.1-09")
        last, number = self.last, pdu.number
        self.last = number
        of_kind, self._by_kind[pdu.kind] = self._by_kind.get(pdu.kind), number
        skipped, self._unnumbered = self._unnumbered, 0
        if last is None:
            return
        step = (number - last) & MASK32
        if step == 1 and not self._each_type:
            return
        if 1 < step <= 1 + skipped and not self._each_type:
            self._report("VITCP-3.1-09", "a NOP took a Message Number", number, (last + 1) & MASK32, at=one, byte=12, erratum="V17")
            return
        if of_kind is None or (number - of_kind) & MASK32 == 1:
            if of_kind is None and len(self._by_kind) == 1:
                pass
            else:
                self._each_type = True
                self._report(
                    "VITCP-3.1-09", "each type has a count of its own", number, (last + 1) & MASK32, at=one, byte=12, erratum="V18"
                )
                return
        self._report("VITCP-3.1-09", "Message Number is not the next", number, (last + 1) & MASK32, at=one, byte=12, bits="31-0")

    def _responses(self, one: Received) -> Message:
        """The Read Response that a segment belongs to."""
        pdu, reads = one.pdu, self.known.reads
        self._see("VITCP-3.1-17")
        self._see("VITCP-2.2.2.2.3-10")
        open_ones = [m for m in self.messages if m.kind == READ_RESPONSE and not m.ended]
        message = next((m for m in open_ones if m.number == pdu.number), None)
        others = [m for m in open_ones if m is not message]
        if others:
            if message is None and pdu.number not in reads:
                self._report("VITCP-3.1-17", "a Read Response changes its number", pdu.number, others[0].number, at=one, byte=12)
                return others[0]
            self._report("VITCP-2.2.2.2.3-10", "two Read Responses are interleaved", pdu.number, others[0].number, at=one)
        if message is not None:
            return message
        if pdu.number not in reads:
            self._report(
                "VITCP-3.1-17", "a Read Response has the number of no request", pdu.number,
                " or ".join(str(n) for n in list(reads)[:4]) or "none", at=one, byte=12, bits="31-0",
            )  # fmt: skip
        elif any(m.kind == READ_RESPONSE and m.number == pdu.number for m in self.messages):
            self._report("VITCP-2.2.2.2.6-02", "a read is answered twice", pdu.number, "one response", at=one, byte=12)
        return self._new(one)

    def _segment(self, message: Message, one: Received) -> None:
        """Data Offset, headers and End of Message of a segment."""
        pdu, first = one.pdu, not message.segments
        payload, headers = pdu.payload, wire.HEADER + (wire.RDMA_HEADER if pdu.kind in wire.RDMA else 0)
        if not first and pdu.kind == WRITE:
            payload, headers = self._later_write(message, one)
        row = "VITCP-3.1-13" if first else "VITCP-3.1-14"
        self._see(row)
        self._see("VITCP-2.2.2.2.3-03")
        required = 0 if first else len(message.payload)
        if pdu.offset != required and not message.broken:
            message.broken = True
            if not first and pdu.offset == required + message.headers:
                row = "VITCP-3.1-15"
            self._report(row, f"Data Offset of {pdu.name} {pdu.number}", pdu.offset, required, at=one, byte=4, bits="31-0")
        message.headers += headers
        message.segments.append(one)
        message.payload += payload
        message.ended = message.ended or bool(pdu.flags & END) or pdu.kind == READ_REQUEST
        if pdu.kind == READ_REQUEST and not pdu.flags & END:
            self._report("VITCP-3.1-07", "a Read Request lacks End of Message", "0", "1", at=one, byte=1, bits="1-1", erratum="V12")
        if pdu.kind in (WRITE, READ_RESPONSE) and pdu.flags & END:
            self._total(message, one)

    def _later_write(self, message: Message, one: Received) -> tuple[bytes, int]:
        """A later segment of an RDMA Write: with a header like the first one, an address that rises, or no header (V10)."""
        pdu, start = one.pdu, message.first.pdu.rdma
        self._see("VITCP-3-05")
        assert start is not None
        if pdu.rdma is None:
            pass
        elif pdu.rdma == start:
            return pdu.payload, wire.HEADER + wire.RDMA_HEADER
        elif pdu.rdma[1] == start[1] and pdu.rdma[0] == (start[0] + len(message.payload)) % wire.TOP64:
            if pdu.rdma[2] == start[2]:
                self._report(
                    "VITCP-3.2.1-02", "RDMA Address rises with the segments", f"{pdu.rdma[0]:x}h", f"{start[0]:x}h", at=one,
                    byte=24, erratum="V10"
                )
                return pdu.payload, wire.HEADER + wire.RDMA_HEADER
        elif pdu.rdma[:2] == start[:2]:
            self._report("VITCP-3.2.1-04", "RDMA Length changes within a message", pdu.rdma[2], start[2], at=one, byte=36,
                         bits="31-0")
            return pdu.payload, wire.HEADER + wire.RDMA_HEADER
        self._report("VITCP-3-05", "a later segment has no RDMA Header", "none", "16 bytes", at=one, byte=24, erratum="V10")
        return pdu.raw[wire.HEADER :], wire.HEADER

    def _total(self, message: Message, one: Received) -> None:
        """RDMA Length against what came (V11)."""
        rdma = message.first.pdu.rdma
        assert rdma is not None
        got = len(message.payload)
        if message.kind == WRITE:
            self._see("VITCP-3.2.1-04")
            if got != rdma[2] and not message.broken:
                row = "VITCP-3.1-07" if got < rdma[2] else "VITCP-3.2.1-04"
                words = "End of Message before RDMA Length bytes" if got < rdma[2] else "RDMA Length is not what came"
                self._report(row, words, got, rdma[2], at=one, byte=36, bits="31-0")
            return
        asked = self.known.reads.get(message.number)
        self._see("VITCP-3.2.1-06")
        if asked is None or message.broken or any(s.pdu.flags & TRANSMIT_ERROR for s in message.segments):
            return
        if got != asked:
            self._report("VITCP-3.2.1-06", "the Read Response does not bring what was asked for", got, asked, at=one)
        elif rdma[2] not in (0, asked):
            self._report("VITCP-3.2.1-06", "RDMA Length of the Read Response", rdma[2], f"{asked} or 0", at=one, byte=36)
