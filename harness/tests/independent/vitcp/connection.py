"""A VI that is connected: messages both ways, credits, acknowledgements, errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, List, Optional, Tuple

from . import wire
from .stream import Stream
from .vi import Descriptor, Memory, Vi
from .wire import (
    DESCRIPTOR_ERROR, END, IMMEDIATE, MEMORY_PROTECTION, NO_ERROR, NOP, READ_REQUEST, READ_RESPONSE, SEND, TRANSMIT_ERROR,
    WRITE, Segment, Setup,
)

if TYPE_CHECKING:
    from .port import Port

MASK32, MASK16 = 0xFFFFFFFF, 0xFFFF
KINDS = {"send": SEND, "rdma-write": WRITE, "rdma-read": READ_REQUEST}


@dataclass
class Outgoing:
    """A message under way: its bytes are looked up as they are sent."""

    kind: int
    number: int
    length: int
    descriptor: Optional[Descriptor] = None
    request: Optional[Segment] = None
    copy: Optional[bytes] = None  # of a read's bytes
    sent: int = 0
    begun: bool = False
    rested: bool = False  # its last segment was empty
    done: bool = False
    failed: bool = False


@dataclass
class Incoming:
    """A message that is being received."""

    kind: int
    number: int
    descriptor: Optional[Descriptor] = None
    region: Optional[Memory] = None
    address: int = 0
    handle: int = 0
    length: int = 0
    immediate: Optional[int] = None
    taken: List[Tuple[int, int]] = field(default_factory=list)
    total: Optional[int] = None
    error: str = ""
    dropped: bool = False
    last_offset: int = 0
    pieces: int = 0
    held: List[Tuple[int, bytes]] = field(default_factory=list)  # where, what: written when the message is whole

    def got(self) -> int:
        """Bytes received."""
        return sum(end - begin for begin, end in self.taken)


class Connection:
    """One VI over one stream."""

    def __init__(self, port: "Port", vi: Vi, stream: Stream, mine: Setup, theirs: Setup, mtu: int, count: int, told: int) -> None:
        """mine, theirs: the CE Headers sent and received. count: the other side's Rx Descriptors Posted. told: ours, last sent."""
        self.port, self.vi, self.stream = port, vi, stream
        self.reliable = vi.attributes.reliable
        self.credit_checked = bool(mine.attributes & theirs.attributes & wire.FLOW_CONTROL)
        if port.bad("flow-control-by-one-flag"):
            self.credit_checked = bool((mine.attributes | theirs.attributes) & wire.FLOW_CONTROL)
        if port.bad("flow-control-of-the-first-connection"):
            self.credit_checked = vi.first_flow = self.credit_checked if vi.first_flow is None else vi.first_flow
        self.mtu, self.peer_window = mtu, theirs.window
        self.count, self.used = count, 0  # of the other side's receive Descriptors: posted, consumed by us
        self.posted = len(vi.open("recv")) if port.choose("early_posts") == "counted" else 0
        if port.bad("rx-goes-on"):
            self.posted += vi.before[0]
        if port.bad("credits-go-on"):
            self.used = vi.before[1]
        self.told, self.taken = told, 0
        self.base = port.first_number(vi)
        if port.choose("ce_number") == "counted":
            self.base += 1
        self.numbers = {kind: self.base for kind in (SEND, READ_REQUEST, WRITE, NOP)}
        self.unacked: List[Outgoing] = []
        self.reads: List[Outgoing] = []
        self.queue: List[Outgoing] = []  # Read Responses that are due
        self.later = 0  # and those that are held back
        self.current: Optional[Outgoing] = None
        self.response: Optional[Outgoing] = None
        self.aside: List[Outgoing] = []  # begun and put by, for a fault
        self.turn = False
        self.seen: Optional[int] = None  # the last Message Number received
        self.good: Optional[int] = None  # of the last message received without error
        self.owes = False
        self.first_seen: Optional[int] = None
        self.incoming: Optional[Incoming] = None
        self.answers: List[Incoming] = []
        self.old_reads = 0
        self.nop_due = False
        self.over = False
        self.served = self.spoilt = False  # a read, and by a message in error, for faults
        self.asked = self.before = self.first_read = 0
        self.last_immediate: Optional[int] = None
        if port.bad("half-a-message-stays"):
            self.incoming = vi.left_open
        if port.bad("reads-of-the-first-connection"):
            self.old_reads = vi.left_reads
        if port.bad("size-of-the-first-connection"):
            self.mtu = vi.first_size = vi.first_size or mtu
        if port.bad("size-of-the-last-connection"):
            for line in [one.connection for one in port.vis.values() if one.connection is not None]:
                line.mtu = mtu
        if port.bad("memory-goes-with-the-connection") and vi.connections:
            port.gone = set(port.memory)
        if port.bad("window-of-its-own"):
            self.peer_window = mine.window
        vi.connection = self
        vi.connections += 1
        stream.on_segment = self.segment
        stream.on_rubbish = lambda why: self.broken()
        stream.on_end = self.ended
        stream.on_room = self.pump
        vi.become("connected")
        if port.choose.number("keepalive"):
            port.clock.after(port.choose.number("keepalive"), self.keep_alive)

    def bad(self, name: str) -> bool:
        """Whether this mistake is made."""
        return self.port.bad(name)

    # ---- out ----

    def head_of(self, kind: int, number: int, **more: object) -> Segment:
        """A Segment Header with what stands in every one (3.1)."""
        self.told = self.posted
        self.owes = False
        code = self.port.choose.number("code_beside_good") if self.good is not None and self.reliable else 0
        return Segment(kind, number, ack=self.ack(), rx=self.posted, is_code=code, **more)  # type: ignore[arg-type]

    def ack(self) -> int:
        """Message ACK (V16)."""
        level = self.vi.attributes.level
        if (level == 2 and self.port.choose("ack_at_delivery") != "number") or (
            level == 1 and self.port.choose("ack_at_unreliable") == "arbitrary"
        ):
            return (self.taken * 0x9E3779B1 + 0x7F4A7C15) & MASK32
        if self.good is not None:
            good = self.good
            if self.bad("ack-lags"):
                good -= 1
            if self.bad("ack-ahead"):
                good += 1
            return good & MASK32
        filler = self.port.choose("filler")
        return {"previous": ((self.first_seen or 0) - 1) & MASK32, "zero": 0, "arbitrary": 0xABCD1234}[filler]

    def take_number(self, kind: int) -> int:
        """The next Message Number (V18)."""
        mine = kind if self.port.choose("count") == "each-type" else SEND
        if self.bad("numbers-of-all-vis"):
            self.numbers[mine] = max((self.port.highest + 1) & MASK32, self.numbers[mine])
            self.port.highest = self.numbers[mine]
        number = self.numbers[mine]
        self.vi.next_number = (number + 1) & MASK32
        step = 2 if self.bad("number-by-two") else 0 if self.bad("number-constant") and number > self.base else 1
        if self.bad("number-by-three-after-write") and kind == WRITE:
            step = 3
        if self.bad("number-down"):
            step = -1
        if self.bad("number-not-for-reads") and kind == READ_REQUEST:
            step = 0
        self.numbers[mine] = (number + step) & MASK32
        if self.bad("numbers-of-16-bits"):
            self.numbers[mine] = self.base & ~MASK16 | self.numbers[mine] & MASK16
        return number

    def keep_alive(self) -> None:
        """A NOP though there may be nothing to tell (3.1), between messages (2.2.2.2.3)."""
        if self.over:
            return
        if self.stream.roomy and self.current is None:
            self.stream.write(self.head_of(NOP, self.nop_number(), flags=END))
        self.port.clock.after(self.port.choose.number("keepalive"), self.keep_alive)

    def posted_receive(self) -> None:
        """One more receive Descriptor."""
        step = 2 if self.bad("rx-by-two") else 1
        if self.posted < 0xFFFF or not self.bad("rx-saturates"):
            self.posted = (self.posted + step) & (MASK16 >> (8 if self.bad("rx-wraps-at-256") else 0))
        self.pump()

    def credit(self) -> int:
        """How many messages the other side can still receive (3.1); without flow control, more than ever needed."""
        if not self.credit_checked:
            return 1
        left = (self.count - self.used) & MASK16
        if self.bad("one-credit-too-many"):
            left += 1
        if self.bad("credit-ignored"):
            left = 1
        return 0 if left >= 0x8000 else left

    def pump(self) -> None:
        """Send what can be sent."""
        guard = 0
        while self.stream.roomy and not self.over:
            segment = self.next_segment()
            if segment is None or self.over:
                break
            self.stream.write(segment)
            if self.bad("nop-inside") and self.current is not None and not self.current.done:
                self.stream.write(self.head_of(NOP, self.numbers[SEND], flags=wire.END))
            self.after(segment)
            guard += 1
            if self.bad("mixes-what-waits") and self.current is not None and not self.current.done:
                self.aside.append(self.current)
                self.current = None
                self.start_message()
                self.current = self.current or self.aside.pop(0)
            elif self.aside and self.current is None:
                self.current = self.aside.pop(0)
        self.nop()

    def after(self, segment: Segment) -> None:
        """What is done once a segment is on its way."""
        for one in (self.current, self.response):
            if one is not None and one.done and one.kind == segment.kind:
                self.sent_whole(one)

    def sent_whole(self, one: Outgoing) -> None:
        """The last segment of a message has been written."""
        if one is self.response:
            self.response = None
            if self.port.choose("read_ack") == "answered" and one.request is not None:
                behind = self.good is not None and (one.request.number - self.good) & MASK32 >= 1 << 31
                self.good, self.owes = self.good if behind else one.request.number, True  # a later message may be acknowledged
            return
        self.current = None
        if self.port.choose.yes("more_nops"):
            self.stream.write(self.head_of(NOP, self.nop_number(), flags=END))
        descriptor = one.descriptor
        assert descriptor is not None
        early = self.vi.attributes.level == 2 and self.port.choose("delivery_completes") == "sent"
        if one.kind == READ_REQUEST:
            self.unacked.append(one)
            self.reads.append(one)
            if self.bad("read-completes-when-sent"):
                self.vi.finish(descriptor, [])
        elif not self.reliable and self.bad("unreliable-waits-for-ack"):
            self.unacked.append(one)
        elif not self.reliable or early or self.bad("completes-when-sent"):
            self.finish_later(descriptor)
        else:
            self.unacked.append(one)

    def finish_later(self, descriptor: Descriptor, choice: str = "completion_delay") -> None:
        """A send Descriptor is done, and the application is told in a while."""
        delay = self.port.choose.number(choice)
        if not delay:
            self.vi.finish(descriptor, [])
            return
        descriptor.ready, descriptor.rests = [], True
        self.port.clock.after(delay, lambda: self.vi.tell(descriptor))

    def next_segment(self) -> Optional[Segment]:
        """The next segment, of a message or of a Read Response."""
        held = self.bad("responses-consume-credit") and self.credit() <= 0
        if self.response is None and self.queue and not held and (self.current is None or self.port.choose.yes("interleave")):
            self.response = self.queue.pop(0)
            if self.bad("responses-interleaved") and self.queue:
                self.queue.append(self.response)
                self.response = self.queue.pop(0)
        if self.current is None and (self.response is None or self.port.choose.yes("interleave")):
            self.start_message()
        if self.over:
            return None
        self.turn = not self.turn
        first, second = (self.current, self.response) if self.turn else (self.response, self.current)
        one = first or second
        if one is None:
            return None
        segment = self.segment_of(one)
        if one is self.response and self.bad("responses-interleaved") and self.queue and not one.done:
            self.queue.append(one)
            self.response = self.queue.pop(0)
        return segment

    def start_message(self) -> None:
        """Begin with the next send Descriptor, if nothing holds it back."""
        waiting = [d for d in self.vi.open("send") if not (d.started or d.rests)]
        if not waiting or (self.unacked and self.port.choose.yes("one_at_a_time")):
            return
        descriptor = waiting[0]
        if self.bad("send-passes-write"):
            descriptor = next((d for d in waiting if d.op == "send"), descriptor)
        if self.bad("lifo") and len(waiting) > 1:
            descriptor = waiting[-1]
        problem = self.port.problem_with(self.vi, descriptor)
        free = self.bad("mtu-not-kept") or (descriptor.op != "send" and self.bad("rdma-beyond-mtu"))
        if not problem and descriptor.room() > self.mtu and not free:
            problem = "VIP_STATUS_LENGTH_ERROR"
        if self.bad("agreed-size-refused") and descriptor.room() == self.mtu:
            problem = "VIP_STATUS_LENGTH_ERROR"
        if problem:
            self.refuse(descriptor, problem)
            return
        if descriptor.room() == 0 and self.bad(f"empty-{descriptor.op}-stays"):
            descriptor.started = True
            self.vi.finish(descriptor, [])
            return
        kind = KINDS[descriptor.op]
        consumes = kind == SEND or (kind == WRITE and descriptor.immediate is not None)
        if self.bad("write-with-immediate-free") and kind == WRITE:
            consumes = False
        if kind == READ_REQUEST and self.bad("reads-consume-credit"):
            consumes = True
        if (consumes or self.bad("everything-consumes")) and self.credit() <= 0:
            reads = [d for d in waiting if d.op == "rdma-read"]
            if not (reads and self.bad("reads-pass-a-send")):
                return
            descriptor, kind, consumes = reads[0], READ_REQUEST, False
        if kind == READ_REQUEST and not self.may_read(descriptor):
            return
        waits = self.port.choose("send_behind_read") == "waits" and self.vi.attributes.level == 3  # Reliable Reception
        if kind == SEND and waits and self.reads:
            return
        if consumes or self.bad("everything-consumes"):
            self.used += 1
            if self.bad("credits-of-all-vis"):
                for vi in self.port.vis.values():
                    if vi.connection is not None and vi.connection is not self:
                        vi.connection.used += 1
        descriptor.started = True
        self.current = Outgoing(kind, self.take_number(kind), descriptor.room(), descriptor)

    def may_read(self, descriptor: Descriptor) -> bool:
        """Whether one more read keeps within the other side's window (V24, V69)."""
        if self.peer_window == 0 and self.port.choose("no_window") == "error":
            self.refuse(descriptor, "VIP_STATUS_FORMAT_ERROR")
            return False
        if self.bad("window-never-freed"):
            self.asked += 1
            return self.asked <= self.peer_window
        under_way = len(self.reads) + self.old_reads
        if self.bad("window-of-all-vis"):
            under_way = sum(len(vi.connection.reads) for vi in self.port.vis.values() if vi.connection is not None)
        return under_way < self.peer_window or self.bad("read-window-ignored")

    def refuse(self, descriptor: Descriptor, problem: str) -> None:
        """A Descriptor that cannot be sent; on a reliable connection it is the end."""
        if any(d.ready is None and d is not descriptor for d in self.vi.open("send")[: self.vi.open("send").index(descriptor)]):
            return  # those before it come first
        descriptor.started = True
        self.vi.finish(descriptor, [problem])
        if self.reliable:
            self.die(None)
        else:
            self.pump()

    def segment_of(self, one: Outgoing) -> Segment:
        """The next segment of a message."""
        if one.kind == READ_REQUEST:
            return self.read_request(one)
        room = 70_000 if self.bad("segments-too-long") else self.port.choose.number("segment")
        if one.kind == READ_RESPONSE:
            room = self.port.choose.number("response_segment") or room
        size = min(room, one.length - one.sent)
        division = self.port.choose("division")
        if division == "uneven":
            size = min(size, 1 + (one.sent * 7 + 13) % room)
        if division == "empty-first" and not one.begun:
            size = 0
        first, last = not one.begun, one.sent + size == one.length
        if division == "empty-last" and size:
            last = False
        if division == "empty-between" and one.begun and not one.rested:
            size, last = 0, False
        one.rested = size == 0
        one.begun = True
        segment = self.head_of(one.kind, one.number, offset=one.sent + (self.before if self.bad("offset-goes-on") else 0))
        descriptor = one.descriptor
        if one.kind == READ_RESPONSE:
            self.response_header(one, segment)
            if one.copy is not None:
                data: Optional[bytes] = one.copy[one.sent: one.sent + size]
            else:
                data = self.port.read_region(segment.extra["region"], segment.extra["va"] + one.sent, size)
        else:
            assert descriptor is not None
            data = self.port.gather(self.vi, descriptor, one.sent, size)
            self.immediate(descriptor, segment, first, last)
            if one.kind == WRITE:
                self.write_header(one, descriptor, segment, first)
        if data is None:
            gone = self.port.choose("source_gone")
            if gone == "closed":
                one.done = True
                self.die("VIP_ERROR_CONN_LOST")
            data, one.failed = b"\x5A" * size if gone == "rubbish" else bytes(size), True
        if one.failed and not self.bad("padding-not-told"):
            segment.flags |= TRANSMIT_ERROR
        segment.payload = data
        segment.flags |= END if last else 0
        one.sent += size
        one.done = last
        if last:
            self.before += one.sent
        return segment

    def read_request(self, one: Outgoing) -> Segment:
        """An RDMA Read Request (V12)."""
        descriptor = one.descriptor
        assert descriptor is not None
        segment = self.head_of(one.kind, one.number)
        segment.flags |= END if self.port.choose("request_end") == "set" else 0
        segment.address, segment.handle, segment.length = descriptor.remote_va, descriptor.remote_handle, one.length
        if self.bad("read-address-of-32-bits"):
            segment.address &= MASK32
        if self.bad("read-handle-of-16-bits"):
            segment.handle &= MASK16
        one.done = True
        return segment

    def response_header(self, one: Outgoing, segment: Segment) -> None:
        """The RDMA Header of a Read Response (V11)."""
        request = one.request
        assert request is not None and request.address is not None
        segment.extra = {"va": request.address, "region": self.port.region_of(request.handle)}
        how = self.port.choose("response_header")
        echo = (request.address, request.handle)
        segment.address, segment.handle = {"echo": echo, "zero": (0, 0), "arbitrary": (0x1122334455667788, 0x99)}[how]
        segment.length = 0 if how == "zero" else one.length - one.sent * self.bad("response-length-of-the-rest")

    def write_header(self, one: Outgoing, descriptor: Descriptor, segment: Segment, first: bool) -> None:
        """The RDMA Header of an RDMA Write (V09, V10)."""
        if first or self.port.choose("rdma_header") == "every":
            moved = one.sent if self.port.choose("rdma_address") == "advancing" else 0
            segment.address, segment.handle = descriptor.remote_va + moved, descriptor.remote_handle
            segment.length = one.length

    def immediate(self, descriptor: Descriptor, segment: Segment, first: bool, last: bool) -> None:
        """Immediate Data (V19)."""
        where = {"all": True, "first": first, "last": last}[self.port.choose("immediate")]
        if descriptor.immediate == 0 and self.bad("immediate-zero-is-none"):
            return
        if self.bad("sends-the-last-immediate"):
            self.last_immediate = self.last_immediate if descriptor.immediate is None else descriptor.immediate
            if self.last_immediate is not None:
                segment.flags, segment.immediate = segment.flags | IMMEDIATE, self.last_immediate
                return
        if descriptor.immediate is not None and where:
            segment.flags |= IMMEDIATE
            segment.immediate = descriptor.immediate & (MASK16 if self.bad("immediate-of-16-bits") else MASK32)

    # ---- NOP ----

    def nop(self) -> None:
        """Send a NOP when there is nothing else to carry what has to be told."""
        if self.over or self.nop_due or not self.nop_needed():
            return
        delay = self.port.choose.number("nop_delay")
        if self.bad("nop-too-late"):
            delay = 3 * self.port.nop_bound
        if delay:
            self.nop_due = True
            self.port.clock.after(delay, self.nop_now)
        else:
            self.nop_now()

    def nop_needed(self) -> bool:
        """An ACK or a count that the other side does not have."""
        waits = any(not d.started for d in self.vi.open("send")) and self.bad("no-ack-while-a-send-waits")
        waits = waits or (bool(self.unacked) and self.bad("no-ack-while-unacknowledged"))
        owes = self.owes and self.reliable and not (waits or self.bad("no-ack-nop"))
        if self.vi.attributes.level == 2 and self.port.choose("ack_at_delivery") == "never":
            owes = False
        owes = owes and not (self.served and self.bad("no-ack-behind-a-read"))
        changed = self.credit_checked and self.told != self.posted and not self.bad("no-count-nop")
        if changed and self.port.choose("nop") == "half":
            changed = 2 * ((self.told - self.taken) & MASK16) <= self.told
        if changed and (self.port.choose("nop") == "needed" or self.bad("no-count-nop-when-empty")):
            empty = (self.told - self.taken) & MASK16 == 0
            changed = empty if not self.bad("no-count-nop-when-empty") else not empty
        return owes or changed

    def nop_now(self) -> None:
        """The NOP."""
        self.nop_due = False
        if self.over or not self.nop_needed() or not self.stream.roomy:
            return
        segment = self.head_of(NOP, self.nop_number())
        segment.flags |= END if self.port.choose("end_of_nop") == "set" else 0
        self.stream.write(segment)

    def nop_number(self) -> int:
        """The Message Number of a NOP, which takes one or does not (V17)."""
        return self.take_number(NOP) if self.port.choose("nop_number") == "counted" else self.numbers[SEND]

    # ---- in ----

    def segment(self, segment: Segment) -> None:
        """A segment of the other side."""
        if self.over:
            return
        deaf = self.bad("credit-only-in-nop") or (self.bad("credit-not-in-responses") and segment.kind == READ_RESPONSE)
        if segment.kind == NOP or not deaf:
            self.count = max(self.count, segment.rx) if self.bad("peer-count-no-wrap") else segment.rx
            self.count &= 0xFF if self.bad("peer-count-of-8-bits") else MASK16
        if self.bad("takes-offset-of-16-bits"):
            segment.offset &= 0xFFFF
        if self.first_seen is None and segment.kind in (SEND, WRITE, READ_REQUEST):
            self.first_seen = segment.number
        self.take_ack(segment)
        if self.over:
            return
        if segment.kind == NOP and self.incoming is not None and self.port.choose.yes("police"):
            self.broken()
            return
        if segment.kind != NOP and self.port.choose.yes("answers_all") and self.current is None and self.stream.roomy:
            self.stream.write(self.head_of(NOP, self.nop_number(), flags=END))
        if segment.kind in (SEND, WRITE, READ_REQUEST):
            self.take_message(segment)
        elif segment.kind == READ_RESPONSE:
            if self.incoming is not None and self.incoming.number == segment.number and self.bad("same-number-same-message"):
                self.place(self.incoming, segment)
            else:
                self.take_response(segment)
        elif segment.kind != NOP:
            if segment.kind == wire.REQUEST and self.bad("second-request-accepted"):
                self.stream.write(self.head_of(wire.ACCEPT, 0, setup=Setup(), flags=END))
            elif not self.bad("setup-pdu-ignored"):
                self.broken()
                return
        if not self.over:
            self.pump()

    def take_ack(self, segment: Segment) -> None:
        """Message ACK and Remote Error Code (V14)."""
        if not self.reliable:
            numbers = [one.number for one in self.unacked]
            if segment.ack in numbers:
                self.acked(self.unacked.pop(numbers.index(segment.ack)))
            if self.bad("unreliable-minds-errors") and segment.error != NO_ERROR:
                self.die("VIP_ERROR_CONN_LOST")
            return
        if self.bad("stops-at-is-code") and segment.is_code and segment.error == NO_ERROR:
            self.die("VIP_ERROR_CONN_LOST")
            return
        if self.bad("ack-only-in-nop") and segment.kind != NOP:
            return
        if self.bad("reports-only-in-nops") and segment.kind != NOP:
            segment.error = NO_ERROR
        if self.bad("ack-not-in-nop") and segment.kind == NOP:
            return
        if self.bad("ack-in-sends-and-nops-only") and segment.kind not in (NOP, SEND):
            return
        numbers = [one.number for one in self.unacked]
        if segment.is_code and self.bad("is-code-is-error"):
            segment.error = DESCRIPTOR_ERROR
        if self.bad("acks-of-16-bits"):
            segment.ack = next((number for number in numbers if number & MASK16 == segment.ack & MASK16), segment.ack)
        if segment.ack not in numbers:
            if self.bad("any-ack-completes") and self.unacked:
                self.acked(self.unacked.pop(0))
            return
        at = numbers.index(segment.ack)
        if segment.error != NO_ERROR and self.unacked[at].kind == READ_REQUEST and self.bad("report-of-a-read-ignored"):
            return
        if segment.error == NO_ERROR or self.bad("error-is-ignored"):
            first = at if self.bad("ack-not-cumulative") else 0
            for one in self.unacked[first: at + 1]:
                self.acked(one)
            del self.unacked[first: at + 1]
            return
        for one in self.unacked[:at]:
            self.acked(one)
        wrong = self.unacked[at]
        self.unacked = []
        bit = "VIP_STATUS_RDMA_PROT_ERROR" if segment.error == MEMORY_PROTECTION else "VIP_STATUS_REMOTE_DESC_ERROR"
        if self.bad("error-types-swapped"):
            bit = "VIP_STATUS_REMOTE_DESC_ERROR" if segment.error == MEMORY_PROTECTION else "VIP_STATUS_RDMA_PROT_ERROR"
        if self.bad("error-becomes-transport"):
            bit = "VIP_STATUS_TRANSPORT_ERROR"
        assert wrong.descriptor is not None
        if self.bad("reported-is-flushed"):
            bit = "VIP_STATUS_DESC_FLUSHED_ERROR"
        for one in [d for d in self.vi.open("send") if d is not wrong.descriptor and d.ready is None]:
            if self.vi.open("send").index(one) < self.vi.open("send").index(wrong.descriptor):
                one.ready = ["VIP_STATUS_DESC_FLUSHED_ERROR"]
        self.vi.finish(wrong.descriptor, [bit])
        if self.bad("behind-the-error-is-good"):
            for one in self.vi.open("send"):
                if one.started:
                    self.vi.finish(one, [])
        if self.bad("goes-on-after-report"):
            return
        self.die(None)

    def acked(self, one: Outgoing) -> None:
        """The other side has it; a read waits for its response."""
        assert one.descriptor is not None
        if one.kind != READ_REQUEST or self.bad("read-completes-by-ack"):
            self.finish_later(one.descriptor)

    def take_message(self, segment: Segment) -> None:
        """A segment of a Send, an RDMA Write or a Read Request."""
        if self.spoilt and self.bad("nothing-behind-an-error"):
            return
        now = self.incoming
        if now is not None and (now.kind, now.number) != (segment.kind, segment.number):
            self.breach(now.number)
            return
        if now is None:
            now = self.begin(segment)
            if now is None:
                return
        if segment.kind == READ_REQUEST:
            self.incoming = None
            self.read_asked(segment)
            return
        self.place(now, segment)

    def begin(self, segment: Segment) -> Optional[Incoming]:
        """The first segment of a message."""
        if segment.number == 0 and self.bad("number-zero-refused"):
            self.breach(segment.number)
            return None
        if self.seen is not None:
            step = (segment.number - self.seen) & MASK32
            if self.bad("numbers-unsigned") and segment.number < self.seen:
                self.breach(segment.number)
                return None
            if self.reliable and step != 1 and not self.bad("numbers-not-checked"):
                self.breach(segment.number)
                return None
            if not self.reliable and step == 0 and not self.bad("numbers-not-checked"):
                return None  # it has been delivered (V58)
        elif self.bad("first-number-is-one") and segment.number != 1:
            self.breach(segment.number)
            return None
        if self.bad("ack-before-whole"):
            self.good, self.owes = segment.number, True
            self.nop()
        self.seen = segment.number
        now = Incoming(segment.kind, segment.number, address=segment.address or 0, length=segment.length)
        if segment.kind == SEND or (segment.kind == WRITE and self.bad("writes-consume-receives")):
            self.consume(now)
        self.incoming = now
        return None if self.over else now

    def consume(self, now: Incoming) -> None:
        """Take a receive Descriptor for a message (X5, X6)."""
        if self.credit_checked and self.taken == self.told and self.port.choose.yes("police"):
            self.broken()
            return
        self.taken = (self.taken + 1) & MASK16
        others = [vi for vi in self.port.vis.values() if vi.connection is not None and vi.head() is not None]
        now.descriptor = others[0].head() if others and self.bad("fills-the-first-vi") else self.vi.head()
        if now.descriptor is None:
            now.dropped = True
            if self.reliable:
                code = "VIP_ERROR_COMP_PROT" if self.bad("empty-queue-told-otherwise") else "VIP_ERROR_RECVQ_EMPTY"
                self.report(now.number, DESCRIPTOR_ERROR, code)
            elif self.bad("unreliable-ends-on-errors"):
                self.broken()

    def place(self, now: Incoming, segment: Segment) -> None:
        """Put the payload where it belongs."""
        size, offset = len(segment.payload), segment.offset
        now.pieces += 1
        if self.bad("immediate-by-value") and segment.immediate:
            segment.flags |= IMMEDIATE
        if segment.flags & TRANSMIT_ERROR and not self.bad("transmit-error-ignored"):
            now.error = "VIP_STATUS_TRANSPORT_ERROR"
        ignored = self.bad("immediate-not-taken") or (self.bad("immediate-zero-not-taken") and segment.immediate == 0)
        ignored = ignored or (self.bad("immediate-of-writes-not-taken") and now.kind == WRITE)
        if segment.flags & IMMEDIATE and not ignored:
            spared = self.bad("write-without-receive-is-good") and self.vi.head() is None
            if now.kind == WRITE and now.immediate is None and not (self.bad("writes-consume-receives") or spared):
                self.consume(now)
                if self.over:
                    return
            now.immediate = segment.immediate
        if not self.in_order(now, offset, size):
            self.disorder(now)
            return
        if now.kind == WRITE and not self.write(now, segment):
            return
        if now.kind == SEND and not now.dropped and not now.error:
            self.deliver(now, segment)
            if self.over:
                return
        now.taken.append((offset, offset + size))
        now.last_offset = offset + size
        if self.bad("send-completes-early" if now.kind == SEND else "write-completes-early") and now.descriptor is not None:
            now.descriptor.immediate = now.immediate
            self.vi.complete("recv", now.descriptor, [], now.length or now.descriptor.room())
        full = now.kind == WRITE and now.length == offset + size and bool(size) and self.bad("ends-by-count")
        if now.kind == SEND and now.descriptor is not None and size and self.bad("full-buffer-ends"):
            full = offset + size == now.descriptor.room()
        if segment.flags & END or full or (not size and offset and self.bad("ends-on-empty-segment")):
            now.total = offset + size
        if now.total is not None and now.got() >= now.total:
            self.whole(now)

    def in_order(self, now: Incoming, offset: int, size: int) -> bool:
        """Whether the segment fits to those before it (V41)."""
        if self.bad("offset-ignored"):
            return True
        if self.port.choose("swapped") == "taken":
            return all(offset + size <= begin or offset >= end for begin, end in now.taken)
        return offset == now.last_offset

    def disorder(self, now: Incoming) -> None:
        """A gap or an overlap: the message is not good."""
        if self.reliable:
            self.breach(now.number)
        else:
            now.error = now.error or "VIP_STATUS_TRANSPORT_ERROR"
            self.die("VIP_ERROR_CONN_LOST")

    def deliver(self, now: Incoming, segment: Segment) -> None:
        """Payload of a Send."""
        assert now.descriptor is not None
        end = segment.offset + len(segment.payload)
        limit = min(now.descriptor.room() + self.bad("one-byte-over-descriptor"), self.mtu + self.bad("one-byte-over-mtu"))
        if end > limit and not self.bad("overlong-is-cut"):
            now.error = "VIP_STATUS_LENGTH_ERROR"
            if self.bad("overlong-overflows"):
                self.port.fill_behind(now.descriptor)
            if self.reliable and self.port.choose("overlong_told") == "at-once":
                self.not_good(now, DESCRIPTOR_ERROR, None)
            elif self.reliable:
                return
            elif self.bad("unreliable-ends-on-errors"):
                self.broken()
            elif self.port.choose("overlong") == "lost":
                now.dropped, now.descriptor = True, None
            return
        if segment.offset + len(segment.payload) == now.descriptor.room() and self.bad("full-buffer-is-overlong"):
            now.error = "VIP_STATUS_LENGTH_ERROR"
            return
        if self.port.choose("placing") != "at-once" and not self.bad("payload-corrupted"):
            now.held.append((segment.offset, segment.payload))
        elif not self.port.scatter(now.descriptor, segment.offset, segment.payload):
            now.error = "VIP_STATUS_PROTECTION_ERROR"
            if self.reliable:
                self.not_good(now, DESCRIPTOR_ERROR, None)

    def write(self, now: Incoming, segment: Segment) -> bool:
        """Payload of an RDMA Write; False when the message is over."""
        assert segment.address is not None
        end = segment.offset + len(segment.payload)
        if now.dropped:
            return True
        if self.port.choose("write_header") == "first":
            now.handle = segment.handle if now.pieces == 1 else now.handle
            segment.address, segment.handle = now.address, now.handle
        region = self.port.region_of(now_handle := segment.handle)
        fits = self.port.fits(region, segment.address, max(now.length, 0), "write", now_handle)
        if self.bad("write-without-right") and region is not None:
            fits = self.port.inside(region, segment.address, now.length)
        first = next(iter(self.port.vis.values()))
        enabled = (first if self.bad("rights-of-the-first-vi") else self.vi).attributes.write or self.bad("write-not-enabled-taken")
        if now.length == 0 and end == 0 and self.port.choose("empty_rdma") == "free":
            fits = enabled = True  # nothing to be written
        if now.length > self.mtu and not (self.bad("mtu-not-kept") or self.bad("written-beyond-mtu")):
            fits = False
        if now.pieces > 1 and (self.bad("later-writes-not-checked") and region is not None):
            fits = True
        if not fits or not enabled:
            now.dropped = True
            if self.reliable:
                if self.bad("protection-reported-as-descriptor"):
                    self.not_good(now, DESCRIPTOR_ERROR, "VIP_ERROR_RDMAW_PROT")
                else:
                    code = "VIP_ERROR_RDMAR_PROT" if self.bad("write-error-told-as-read-error") else "VIP_ERROR_RDMAW_PROT"
                    self.not_good(now, MEMORY_PROTECTION, code)
                return False
            now.error = "VIP_STATUS_RDMA_PROT_ERROR"
            if self.bad("unreliable-ends-on-bad-writes"):
                self.broken()
            return not self.over
        if (end > now.length or (segment.flags & END and end != now.length)) and not self.bad("rdma-length-ignored"):
            self.disorder(now)
            return False
        if region is not None and (self.port.choose("placing") != "at-once" or self.bad("ack-before-placed")):
            now.region, now.address = region, segment.address
            now.held.append((segment.offset, segment.payload))
        elif region is not None and not (segment.offset and self.bad("rest-of-writes-lost")):
            self.port.put(region, segment.address, segment.offset, segment.payload)
        return True

    def put_held(self, now: Incoming) -> None:
        """What was held back goes to its place: a message is whole."""
        for offset, data in now.held[:: -1 if self.port.choose("placing") == "backwards" else 1]:
            if now.kind == WRITE and now.region is not None:
                self.port.put(now.region, now.address, offset, data)
            elif now.descriptor is not None and not now.error and not self.port.scatter(now.descriptor, offset, data):
                now.error = "VIP_STATUS_PROTECTION_ERROR"
        now.held.clear()

    def whole(self, now: Incoming) -> None:
        """Every byte of a message is there."""
        self.incoming = None
        self.spoilt = self.spoilt or bool(now.error) or now.dropped
        if now.kind == WRITE and now.held and self.bad("ack-before-placed"):
            self.port.clock.after(100_000, lambda: self.put_held(now))
        else:
            self.put_held(now)
        if now.error and self.reliable:
            self.not_good(now, DESCRIPTOR_ERROR, None)
            return
        if now.kind == WRITE and self.bad("writes-not-acked"):
            return
        empty = now.total == 0 and self.reliable
        if (now.kind == SEND and empty and self.bad("empty-send-lost")) or (empty and self.bad("empty-not-acked")):
            return
        if now.kind == SEND and now.pieces > 1 and self.bad("many-segments-not-acked"):
            return
        self.good, self.owes = now.number, True
        if self.bad("acks-every-other") and now.number % 2:
            self.owes = False
            self.good = now.number - 1
        descriptor = now.descriptor
        if descriptor is None:
            return
        descriptor.immediate = now.immediate
        if self.bad("tells-the-last-immediate"):
            self.last_immediate = descriptor.immediate = self.last_immediate if now.immediate is None else now.immediate
        if self.bad("ack-before-completion"):
            self.pump()
            self.port.clock.after(1000, lambda: self.vi.complete("recv", descriptor, [], now.total or 0))
            return
        if now.kind == WRITE and self.port.choose("receive_op") == "remote-write":
            descriptor.named = ["VIP_STATUS_OP_REMOTE_RDMA_WRITE"]
        if self.bad("immediate-counts-in-length") and now.immediate is not None and now.kind == SEND:
            now.total = (now.total or 0) + 4
        if self.bad("told-length-of-16-bits"):
            now.total = (now.total or 0) & MASK16
        length = 0 if now.error and self.port.choose("error_length") == "zero" else now.total or 0
        if self.bad("told-length-is-zero"):
            length = 0
        if self.port.choose("rest_of_receive") == "filled" and now.kind == SEND:
            self.port.fill_rest(descriptor, now.total or 0)
        self.vi.complete("recv", descriptor, [now.error] if now.error else [], length)
        if self.bad("completes-twice"):
            descriptor.status = None
            self.vi.complete("recv", descriptor, [], length)

    # ---- reads ----

    def read_asked(self, segment: Segment) -> None:
        """A Read Request (V24, V51)."""
        assert segment.address is not None
        region = self.port.region_of(segment.handle)
        fits = self.port.fits(region, segment.address, segment.length, "read", segment.handle)
        if self.bad("read-without-right") and region is not None:
            fits = self.port.inside(region, segment.address, segment.length)
        enabled = self.vi.attributes.read or self.bad("read-not-enabled-taken")
        if segment.length == 0 and enabled and self.port.choose("empty_rdma") == "free":
            fits = True
        if not self.reliable and not self.bad("read-at-unreliable"):
            self.die("VIP_ERROR_CONN_LOST")
            return
        if not (fits and enabled):
            if self.bad("bad-read-dropped"):
                self.good, self.owes = segment.number, True
                return
            error = DESCRIPTOR_ERROR if self.bad("bad-read-reported-as-descriptor") else MEMORY_PROTECTION
            self.report(segment.number, error, "VIP_ERROR_RDMAR_PROT")
            return
        waiting = len(self.queue) + self.later + (self.response is not None)
        if waiting >= self.port.choose.number("read_window"):
            if self.bad("surplus-read-dropped"):
                self.good, self.owes = segment.number, True
                return
            if self.port.choose("surplus") == "closed":
                self.die("VIP_ERROR_CONN_LOST")
                return
        if self.port.choose("read_ack") == "validated":
            self.good, self.owes = segment.number, True
        length = 0 if segment.length >= 1 << 31 and self.bad("read-length-is-signed") else segment.length
        if not length and self.bad("empty-read-not-answered"):
            return
        if self.bad("response-short") and length:
            length -= 1
        self.served = True
        number = self.take_number(SEND) if self.bad("response-own-number") else segment.number
        if self.bad("responds-with-the-first-read"):
            self.first_read = segment.address = self.first_read or segment.address
        if self.bad("second-read-lost") and waiting:
            self.good, self.owes = segment.number, True
            return
        copy = self.port.read_region(region, segment.address, length) if self.port.choose.yes("read_copies") else None
        times = 2 if self.bad("read-served-twice") else 1
        due = [Outgoing(READ_RESPONSE, number, length, request=segment, copy=copy) for _ in range(times)]
        delay = self.port.choose.number("response_delay")
        if delay:
            self.later += len(due)
            self.port.clock.after(delay, lambda: self.respond_now(due))
        else:
            self.queue += due

    def respond_now(self, due: List[Outgoing]) -> None:
        """Read Responses that were held back."""
        self.later -= len(due)
        self.queue += due
        if not self.over:
            self.pump()

    def take_response(self, segment: Segment) -> None:
        """A Read Response."""
        if self.current is not None and not self.current.done and self.bad("responses-not-while-sending"):
            return
        if self.incoming is not None and self.bad("responses-only-between"):
            self.broken()
            return
        asked = next((one for one in self.reads if one.number == segment.number), None)
        if asked is None and self.bad("unknown-response-taken") and self.reads:
            asked = self.reads[0]
        if asked is None:
            self.broken()
            return
        descriptor = asked.descriptor
        assert descriptor is not None
        now = next((one for one in self.answers if one.number == asked.number), None)
        if now is None:
            if self.answers:
                self.broken()
                return
            now = Incoming(READ_RESPONSE, asked.number, descriptor)
            self.answers.append(now)
        end = segment.offset + len(segment.payload)
        wrong = segment.offset != now.last_offset or end > asked.length
        wrong = wrong or (segment.length not in (0, asked.length))
        wrong = wrong or bool(segment.flags & END and end != asked.length)
        if self.bad("response-length-ignored"):
            wrong = False
        if segment.flags & TRANSMIT_ERROR and not self.bad("transmit-error-ignored"):
            wrong = True
        if not wrong:
            now.held.append((segment.offset, segment.payload))
            if self.port.choose("placing") == "at-once" or segment.flags & END:
                self.put_held(now)
            now.last_offset, descriptor.begun = end, True
            if self.bad("read-completes-early"):
                self.vi.finish(descriptor, [])
        if wrong:
            self.reads.remove(asked)
            for one in self.vi.open("send"):
                if one is descriptor:
                    break
                one.ready = one.ready if one.ready is not None else ["VIP_STATUS_DESC_FLUSHED_ERROR"]
            self.vi.finish(descriptor, ["VIP_STATUS_TRANSPORT_ERROR"])
            self.die("VIP_ERROR_CONN_LOST")
        elif not asked.length and self.bad("empty-response-not-taken"):
            self.answers.remove(now)
        elif segment.flags & END or (end == asked.length and asked.length and self.bad("ends-by-count")):
            if self.bad("acks-responses"):
                self.good, self.owes = segment.number, True
            self.answers.remove(now)
            if self.bad("response-ends-what-is-around"):
                self.incoming = None
            self.reads.remove(asked)
            self.unacked = [one for one in self.unacked if one is not asked]
            self.finish_later(descriptor, "read_delay")

    # ---- errors ----

    def not_good(self, now: Incoming, error: int, code: Optional[str]) -> None:
        """A message of a reliable connection that came with an error: complete its Descriptor, report, end."""
        self.incoming = None
        if now.descriptor is not None:
            if self.bad("erroneous-is-good"):
                self.vi.complete("recv", now.descriptor, [], now.got())
                self.good, self.owes = now.number, True
                return
            length = now.got() if self.port.choose("error_length") == "received" else 0
            self.vi.complete("recv", now.descriptor, [now.error or "VIP_STATUS_DESC_FLUSHED_ERROR"], length)
        if now.pieces > 1 and self.bad("later-errors-only-close"):
            self.die(code)
            return
        self.report(now.number, error, code)

    def report(self, number: int, error: int, code: Optional[str]) -> None:
        """Say which message was in error and why (3.1), then end the connection."""
        silent = self.vi.attributes.level == 2 and self.port.choose("error_at_delivery") == "silent"
        if self.reliable and not silent and not self.bad("errors-not-reported"):
            named = number + 1 if self.bad("report-names-next") else number
            named = named - 1 if self.bad("report-names-last-good") else named
            segment = self.head_of(NOP, self.numbers[SEND])
            segment.ack, segment.error, segment.is_code = named & MASK32, error, self.port.choose.number("is_code")
            if self.bad("report-without-type"):
                segment.error = NO_ERROR
            segment.flags |= END if self.port.choose("end_of_nop") == "set" else 0
            self.stream.write(segment)
        if self.bad("survives-errors"):
            self.good = number
            return
        self.vi.sticks = self.bad("error-sticks")
        self.die(code)

    def breach(self, number: int) -> None:
        """The other side broke a rule (V67)."""
        if self.reliable and self.port.choose("breach") == "report":
            now = self.incoming
            if now is not None and now.descriptor is not None:
                self.vi.complete("recv", now.descriptor, ["VIP_STATUS_TRANSPORT_ERROR"])
            self.report(number, DESCRIPTOR_ERROR, None)
        else:
            self.broken()

    def broken(self) -> None:
        """Nothing more can be done with this stream."""
        if self.bad("rubbish-ignored"):
            return
        self.die("VIP_ERROR_CONN_LOST")

    def die(self, code: Optional[str]) -> None:
        """The VI goes to Error, and TCP is closed with it (2.2.2.2.2)."""
        if self.over:
            return
        self.over = True
        self.leave("error-ends-all-vis")
        if not self.bad("tcp-stays-open-after-error"):
            self.stream.close()
        self.vi.fail(None if code == "VIP_ERROR_CONN_LOST" else code)

    def leave(self, fault: str) -> None:
        """What the connection leaves to the next one and to others, for faults."""
        self.vi.before, self.vi.left_open, self.vi.left_reads = (self.posted, self.used), self.incoming, len(self.reads)
        self.port.left_unread = self.stream.unread
        if self.bad(fault):
            for vi in self.port.vis.values():
                if vi is not self.vi and vi.connection is not None and not vi.connection.over:
                    vi.connection.die("VIP_ERROR_CONN_LOST")

    def ended(self, how: str) -> None:
        """The other side closed TCP."""
        if self.bad("end-not-noticed"):
            return
        if self.bad("reset-not-noticed") and how == "reset":
            return
        deaf = {
            "fin-with-reads-not-noticed": bool(self.reads), "fin-in-message-not-noticed": self.incoming is not None,
            "fin-with-sends-not-noticed": bool(self.vi.open("send")),
        }
        if how == "fin" and any(there and self.bad(fault) for fault, there in deaf.items()):
            return
        if self.bad("fin-not-answered"):
            self.over = True
            self.vi.fail(None)
            return
        self.die("VIP_ERROR_CONN_LOST")

    def disconnect(self) -> None:
        """VipDisconnect."""
        self.leave("disconnect-ends-all-vis")
        self.port.listening = not self.bad("deaf-after-a-close")
        if self.port.choose.yes("last_words") and self.stream.roomy and self.current is None:
            self.stream.write(self.head_of(NOP, self.nop_number(), flags=END))
        if self.port.choose.yes("finishes"):
            while self.current is not None and not self.current.done and self.stream.is_open and not self.stream.closing:
                self.stream.write(self.segment_of(self.current))
        self.over = True
        under_way = {
            "disconnect-leaves-tcp": True,
            "waiting-sends-hold-tcp": any(not d.started for d in self.vi.open("send")),
            "reads-hold-tcp": bool(self.reads),
            "unacked-hold-tcp": bool(self.unacked),
            "half-sent-holds-tcp": self.current is not None,
        }
        if not any(there and self.bad(fault) for fault, there in under_way.items()):
            self.stream.close()
