"""Conforming conversations between two FC-VI ports, frame by frame.

Each flow is a generator: it puts a frame on the wire, yields, and goes on when it is resumed, so that several flows
can be interleaved. What a flow knows it has received; a flow never sends what the text forbids in that state.
"""

import copy
import random
from dataclasses import dataclass, field
from typing import Any, Callable, Generator, Iterable, Optional

from conformance.tests.breaches.wire import (
    CONNECT_RQST, DISCONNECT_RESP, DISCONNECT_RQST, END, EXCHANGE_RESPONDER, FIRST, INITIATIVE, LAST, OFFSET, READ_RESP, READ_RQST,
    RESP1, RESP2, RESP3, ROUTING, SEND_RESP, SEND_RQST, SEQUENCE_RECIPIENT, UNASSIGNED, WRITE_RESP, Address,
    Attributes, Frame, connect_payload, device_header, login_payload,
)  # fmt: skip

Flow = Generator[None, None, Any]
#: R_A_TOV in microseconds, 8.3.
R_A_TOV = 10_000_000
PEER, CLIENT = 2, 1


@dataclass(eq=False)
class Port:
    """A port: what it hands out."""

    id: int
    name: int
    node: int
    host: bytes
    open_seq: set[tuple[int, int]] = field(default_factory=set)
    open_ox: set[int] = field(default_factory=set)
    handles: set[int] = field(default_factory=set)
    ids: set[int] = field(default_factory=set)


class Wire:
    """The frames in the order of the capture point, the clock, and every choice that the text leaves free."""

    def __init__(self, seed: Optional[int] = None) -> None:
        self.rng = random.Random(seed)
        self.free = seed is not None  #: draw the free choices; otherwise always take the plain one
        self.frames: list[Frame] = []
        self.now = 0
        self.step = 20
        self.limit = 2080
        self.serial: dict[int, int] = {}

    def port(self, number: int) -> Port:
        """Port number ``number``; a higher number has the higher Port_Name."""
        host = bytes.fromhex("20010db8") + bytes(11) + bytes([number])
        return Port(0x010100 * number, 0x1000000000000000 + number, 0x2000000000000000 + number, host)

    def pick(self, *choices: Any) -> Any:
        """The first of the choices, or any of them."""
        return self.rng.choice(choices) if self.free else choices[0]

    def emit(self, frame: Frame) -> Frame:
        """Put a frame on the wire."""
        self.now += self.rng.randint(1, 200) if self.free else self.step
        frame.at = self.now
        self.frames.append(frame)
        return frame

    def wait(self, microseconds: int) -> None:
        """Nothing happens for a while."""
        self.now += microseconds

    def run(self, flow: Flow) -> Any:
        """One flow to its end."""
        while True:
            try:
                next(flow)
            except StopIteration as stop:
                return stop.value

    def number(self, frame: Frame) -> int:
        """The number of a frame in the capture, from 1."""
        return next(i for i, f in enumerate(self.frames, 1) if f is frame)


def identifier(w: Wire, used: set[int], low: int, high: int) -> int:
    """One that is not in use; often the smallest one, so that identifiers are used again soon."""
    value = low
    if not w.free:  # each one new, so that what is wrong with one Exchange touches no other
        value = w.serial[id(used)] = w.serial.get(id(used), low - 1) + 1
    elif w.rng.random() < 0.5:
        value = w.rng.randint(low, high)
    while value in used:
        value = value + 1 if value < high else low
    used.add(value)
    return value


@dataclass(eq=False)
class Exchange:
    """An Exchange: both counts of both directions (E18, E19)."""

    w: Wire
    a: Port
    b: Port
    cls: int = 3
    ox: int = 0
    rx: int = 0xFFFF
    seen_rx: int = 0xFFFF
    counts: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})
    offsets: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})
    fresh: bool = True
    last_seq: dict[bool, int] = field(default_factory=lambda: {False: -1, True: -1})
    over: bool = False

    def __post_init__(self) -> None:
        self.ox = identifier(self.w, self.a.open_ox, 1, 0xFFFE)
        self.rx = self.w.pick(0xFFFF, self.w.rng.randint(0, 0xFFFE))

    def close(self) -> None:
        """The last IU is over: the OX_ID may be used again (5.4)."""
        self.a.open_ox.discard(self.ox)
        self.over = True


def iu(
    x: Exchange, answer: bool, header: bytes, payload: bytes = b"", cuts: Optional[list[int]] = None, si: bool = False,
    last: bool = False, pref: bool = False, lost: Callable[[int], str] = lambda i: "",
) -> Flow:  # fmt: skip
    """One IU as one Sequence; ``cuts`` are payload bytes of its frames but the last. Returns its frames.

    ``lost`` tells of a frame by its place in the IU "hidden" when it never reaches the capture point.
    """
    w = x.w
    src, dst = (x.b, x.a) if answer else (x.a, x.b)
    seq = x.ox + 2 * answer
    if w.free:
        seq = w.rng.choice((0, 1, 2, 255, w.rng.randrange(256)))
    while (dst.id, seq) in src.open_seq or seq == x.last_seq[answer]:
        seq = (seq + 1) % 256
    seq %= 256
    src.open_seq.add((dst.id, seq))
    x.last_seq[answer] = seq
    pieces, at = [], 0
    for size in cuts or []:
        pieces.append(payload[at : at + size])
        at += size
    pieces.append(payload[at:])
    first_sequence, x.fresh = x.fresh, False
    early_last = w.pick(False, True)
    frames = []
    if answer:
        x.seen_rx = x.rx
    owed = []
    for i, piece in enumerate(pieces):
        end = i == len(pieces) - 1
        fill = -len(piece) % 4
        f_ctl = EXCHANGE_RESPONDER * answer | FIRST * first_sequence | END * end | INITIATIVE * (end and si) | fill
        f_ctl |= LAST * (last and (end or early_last))
        if piece:
            f_ctl |= OFFSET
            param = x.offsets[answer]
        elif w.pick(False, True):
            f_ctl |= OFFSET
            param = w.pick(0, x.offsets[answer])
        else:
            param = 0
        f = Frame(
            src.id, dst.id, ROUTING[header[4]], f_ctl, seq, x.counts[answer] % 65536, x.ox, x.rx if answer else x.seen_rx,
            cs_ctl=0x80 * pref, df_ctl=1 if len(header) == 16 else 2, param=param,
            raw=bytearray(header + piece + bytes(fill)), cls=x.cls, first=i == 0, ends=end and x.cls == 3,
        )  # fmt: skip
        x.counts[answer] += 1
        x.offsets[answer] += len(piece)
        frames.append(f)
        if lost(i) != "hidden":
            w.emit(f)
        if end and x.cls == 3:
            src.open_seq.discard((dst.id, seq))
            if last:
                x.close()
        yield
        if x.cls == 2 and lost(i) == "":
            owed.append(f)
            if end or w.pick(True, False):
                for g in owed:
                    if not answer:
                        x.seen_rx = x.rx
                    ack(w, x, g)
                    yield
                owed = []
    if x.cls == 2:
        src.open_seq.discard((dst.id, seq))
        if last:
            x.close()
    return frames


def ack(w: Wire, x: Exchange, f: Frame, condition: int = 0) -> Frame:
    """ACK_1 to a frame of class 2."""
    f_ctl = (f.f_ctl ^ (EXCHANGE_RESPONDER | SEQUENCE_RECIPIENT)) & ~0x0F & ~0xF0 & ~0x3000 | condition << 4
    rx = x.rx if f.src == x.a.id else f.rx
    return w.emit(
        Frame(f.dst, f.src, 0xC0, f_ctl, f.seq_id, f.seq_cnt, f.ox, rx, type=0, param=1, cls=2, first=False,
              ends=bool(f.f_ctl & END))
    )  # fmt: skip


def service(
    w: Wire, a: Port, b_id: int, ox: int, command: bytes, answer: Optional[bytes], a_id: Optional[int] = None
) -> Flow:
    """An Extended Link Service request and its answer."""
    a_id = a.id if a_id is None else a_id
    seq = 200
    w.emit(Frame(a_id, b_id, 0x22, FIRST | END | INITIATIVE if answer else FIRST | LAST | END, seq, 0, ox, type=1,
                 raw=bytearray(command)))
    yield
    if answer:
        w.emit(
            Frame(b_id, a_id, 0x23, EXCHANGE_RESPONDER | LAST | END | INITIATIVE, seq, 0, ox, w.pick(0xFFFF, 0x7777), type=1,
                  raw=bytearray(answer))
        )  # fmt: skip
        yield


def login(w: Wire, a: Port, b: Port, ask: int = 0x8002, accept: int = 0x8002, size: int = 2112) -> Flow:
    """PLOGI and its LS_ACC."""
    yield from service(w, a, b.id, 0xF001, login_payload(3, a.name, a.node, ask, size),
                       login_payload(2, b.name, b.node, accept, size))


def logout(w: Wire, a: Port, b: Port) -> Flow:
    """LOGO and its LS_ACC: every Connection of the two is over (7.7.1) and identifiers are free at once (8.4.2 g, 8.5.3 c)."""
    command = bytes([5, 0, 0, 0, 0]) + a.id.to_bytes(3, "big") + a.name.to_bytes(8, "big")
    yield from service(w, a, b.id, 0xF002, command, bytes([2, 0, 0, 0]))


def abort(w: Wire, x: Exchange, answer: bool, reply: str = "acc", wait: bool = False) -> Flow:
    """ABTS of an Exchange by its originator (or responder), and what comes back: acc, rjt or nothing."""
    src, dst = (x.b, x.a) if answer else (x.a, x.b)
    seq = w.pick(x.last_seq[answer], 199)
    count = x.counts[answer] % 65536 if seq == x.last_seq[answer] else 0
    rx = x.rx if answer else x.seen_rx
    turn = EXCHANGE_RESPONDER * answer
    w.emit(Frame(src.id, dst.id, 0x81, turn | END | INITIATIVE, seq, count, x.ox, rx, type=0))
    yield
    back = turn ^ EXCHANGE_RESPONDER
    if reply == "acc":
        body = bytes([0, 0, 0, 0]) + x.ox.to_bytes(2, "big") + x.rx.to_bytes(2, "big") + b"\0\0\xff\xff"
        w.emit(Frame(dst.id, src.id, 0x84, back | LAST | END, 198, 0, x.ox, x.rx, type=0, raw=bytearray(body)))
        yield
    elif reply == "rjt":
        w.emit(Frame(dst.id, src.id, 0x85, back | LAST | END, 198, 0, x.ox, rx, type=0, raw=bytearray([0, 9, 3, 0])))
        yield


@dataclass(eq=False)
class Vi:
    """One end of a Connection."""

    port: Port
    handle: int
    local: Address
    remote: Address
    attrs: Attributes
    msg_id: int = 0
    done: int = 0
    open: int = 0


@dataclass(eq=False)
class Connection:
    """Both ends; ``a`` originated the setup that made it."""

    w: Wire
    a: Vi
    b: Vi
    cls: int = 3
    up: bool = False
    id: int = 0
    setup: Optional[Exchange] = None
    ius: dict[int, list[Frame]] = field(default_factory=dict)


def pair(w: Wire, a: Port, b: Port, level: int = 1, cls: int = 3, mode: int = CLIENT, **attrs: Any) -> Connection:
    """Two VIs that will be connected."""
    low, high = w.pick((1, 0xFFFFFFFE), (0, 0xFFFFFFFE), (0xFFFFFF00, 0xFFFFFFFE)) if w.free else (0x100, 0xFFFFFFFE)
    discriminator = bytes(w.rng.randrange(256) for _ in range(w.pick(16, 17, 128, 31)))
    address_a = Address(a.host, discriminator if mode == PEER and not w.free else bytes(range(w.pick(16, 20))))
    address_b = Address(b.host, discriminator)
    values = Attributes(level=level, **attrs)
    vi_a = Vi(a, identifier(w, a.handles, low, high), address_a, address_b, values)
    back = Address(a.host, discriminator) if mode == PEER else address_a
    vi_b = Vi(b, identifier(w, b.handles, low + (0 if w.free else 0x100), high), address_b, back, values)
    if w.free:
        vi_b.attrs = Attributes(level, w.pick(values.write, True), w.pick(values.read, True), values.max_size, values.pref,
                                values.depth)
    return Connection(w, vi_a, vi_b, cls)


def cut(w: Wire, length: int) -> list[int]:
    """Any segmentation into frames of whole words but the last (E44), none above the receive data field size."""
    limit = w.limit
    if not w.free or length < 8:
        return [limit] * ((length - 1) // limit) if length > limit else []
    cuts, left = [], length
    while left > 0 and (left > limit or w.rng.random() < 0.6) and len(cuts) < 40:
        size = w.rng.choice((4, 8, 12, 340, 512 - 32, 64, 256, 2048, limit))
        if left > 40 * limit // 2:
            size = limit
        size = min(size, limit)
        if size >= left:
            break
        cuts.append(size)
        left -= size
    while left > limit:
        cuts.append(limit)
        left -= limit
    return cuts


def request(c: Connection, x: Exchange, mode: int, retry: bool = False, back: bool = False, cuts: Optional[list[int]] = None,
            info: bytes = b"", lost: Callable[[int], str] = lambda i: "", own_id: Optional[int] = None) -> Flow:  # fmt: skip
    """FCVI_CONNECT_RQST of ``a`` (``back``: of ``b``)."""
    me = c.b if back else c.a
    flags = mode | 8 * bool(info) | 16 * retry
    payload = connect_payload(me.handle, me.local, me.remote, me.attrs, info)
    if cuts is None:
        cuts = cut(c.w, len(payload))
    head = device_header(CONNECT_RQST, UNASSIGNED, flags, word7=c.id if own_id is None else own_id)
    frames = yield from iu(x, False, head, payload, cuts, si=True, lost=lost)
    c.ius[CONNECT_RQST] = frames
    return frames


def response1(c: Connection, x: Exchange, retry: bool = False, back: bool = False, reason: int = 0,
              cuts: Optional[list[int]] = None,
              info: bytes = b"", lost: Callable[[int],
                                                str] = lambda i: "", own_id: Optional[int] = None) -> Flow:  # fmt: skip
    """FCVI_CONNECT_RESP1: an accept, or a refusal with ``reason``."""
    me, other = (c.a, c.b) if back else (c.b, c.a)
    flags = bool(reason) | 2 * bool(info) | 4 * retry
    handle = UNASSIGNED if reason in (1, 3) else me.handle
    if reason and reason not in (1, 3):
        handle = c.w.pick(UNASSIGNED, me.handle)
    payload = connect_payload(handle, me.local, other.local, me.attrs, info)
    if cuts is None:
        cuts = cut(c.w, len(payload))
    head = device_header(RESP1, UNASSIGNED, flags, parameter=reason << 16, word7=c.id if own_id is None else own_id)
    frames = yield from iu(x, True, head, payload, cuts, si=True, lost=lost)
    c.ius[RESP1] = frames
    return frames


def response23(c: Connection, x: Exchange, opcode: int, retry: bool = False, back: bool = False, refused: int = 0, reason: int = 0,
               lost: Callable[[int], str] = lambda i: "", own_id: Optional[int] = None) -> Flow:  # fmt: skip
    """FCVI_CONNECT_RESP2 or FCVI_CONNECT_RESP3; ``refused`` is the reason of FCVI_CONNECT_RESP1."""
    me, other = (c.b, c.a) if back else (c.a, c.b)
    if opcode == RESP2:
        handle = int.from_bytes(b"".join(bytes(f.raw[32:]) for f in c.ius[RESP1])[8:12], "big")
    else:
        handle = me.handle if not refused else c.w.pick(UNASSIGNED, me.handle if refused != 3 else UNASSIGNED)
    if refused and not reason:
        reason = c.w.pick(0, refused)
    head = device_header(opcode, handle, bool(reason) | 4 * retry, parameter=reason << 16, word7=c.id if own_id is None else own_id)
    frames = yield from iu(x, opcode == RESP3, head, si=opcode == RESP2, last=opcode == RESP3, lost=lost)
    c.ius[opcode] = frames
    return frames


def connect(c: Connection, mode: int = CLIENT, retry: bool = False, reason: int = 0, info: bool = False) -> Flow:
    """A whole setup (Figure 8), accepted or refused."""
    w = c.w
    x = c.setup = Exchange(w, c.a.port, c.b.port, c.cls)
    c.id = identifier(w, c.a.port.ids, 1, 0xFFFFFFFE)
    yield from request(c, x, mode, retry, info=bytes(256) if w.pick(info, True) else b"")
    yield from response1(c, x, retry, reason=reason, info=bytes(range(256)) if w.pick(info, True) else b"")
    yield from response23(c, x, RESP2, retry, refused=reason)
    if not reason:
        early = w.pick(False, True)
        if early:
            c.up = True
    yield from response23(c, x, RESP3, retry, refused=reason)
    if not reason:
        c.up = True
        c.a.port.ids.discard(c.id)


def message(
    c: Connection, back: bool, opcode: int, length: int, ius: int = 1, imm: Optional[int] = None, fault: int = 0,
    frame: int = 1024, answer: bool = True, va: int = 0x123456789ABC0000, va_handle: int = 0x5A5A5A5A,
    finished: Optional[list[Exchange]] = None, everywhere: bool = True, sent: Optional[list[bool]] = None,
) -> Flow:  # fmt: skip
    """A Message and its response where one is due (5.2). Returns the request IUs and the response IUs."""
    w = c.w
    me, other = (c.b, c.a) if back else (c.a, c.b)
    me.msg_id = (me.msg_id + 1) & 0xFFFFFFFF
    msg_id = me.msg_id
    me.open += 1
    x = Exchange(w, me.port, other.port, c.cls)
    due = opcode == READ_RQST or me.attrs.level == 3
    data = bytes(i & 0xFF for i in range(length))
    if opcode == SEND_RQST:
        va = va_handle = 0
    parts = [b""] if opcode == READ_RQST else share(w, data, ius)
    requests = []
    for i, part in enumerate(parts):
        end = i == len(parts) - 1
        has = imm is not None and (end or everywhere)
        head = device_header(opcode, other.handle, int(has), msg_id, imm if has and imm is not None else 0, va, va_handle, length)
        cuts = cut(w, len(part)) if w.free else sizes(len(part), frame)
        requests.append((yield from iu(x, False, head, part, cuts, si=end and due, last=end and not due, pref=me.attrs.pref)))
    if sent is not None:
        sent.append(True)
    responses = []
    if due and answer:
        pref = w.pick(other.attrs.pref, True, False) if w.free else other.attrs.pref
        if opcode == READ_RQST:
            got = data[: w.rng.randint(0, length) // 4 * 4] if fault and w.free else (b"" if fault else data)
            parts = share(w, got, ius)
            for i, part in enumerate(parts):
                end = i == len(parts) - 1
                head = device_header(READ_RESP, me.handle, fault if end else 0, msg_id, 0, va, va_handle, length)
                cuts = cut(w, len(part)) if w.free else sizes(len(part), frame)
                responses.append((yield from iu(x, True, head, part, cuts, last=end, pref=pref)))
        else:
            head = device_header(SEND_RESP if opcode == SEND_RQST else WRITE_RESP, me.handle, fault, msg_id)
            responses.append((yield from iu(x, True, head, last=True, pref=pref)))
    if not due or answer:
        me.open -= 1
        me.done = other.done = msg_id
    if finished is not None:
        finished.append(x)
    return requests, responses


def share(w: Wire, data: bytes, ius: int) -> list[bytes]:
    """Data over several IUs; fill bytes may end any of them, so the parts may have any length."""
    if ius == 1 or len(data) < 2:
        return [data]
    step = max(1, len(data) // ius)
    if not w.free:
        step = max(4, step // 4 * 4)
    return [data[i * step : (i + 1) * step if i < ius - 1 else len(data)] for i in range(ius)]


def sizes(length: int, frame: int) -> list[int]:
    """Frames of one size."""
    return [frame] * ((length - 1) // frame) if length else []


def disconnect(c: Connection, back: bool = False, app: bool = True, reason: int = 0, answer_reason: int = 0, answer: bool = True,
               setup: bool = False, known: bool = True, hidden: bool = False,
               order: Optional[list[Exchange]] = None) -> Flow:  # fmt: skip
    """A Disconnect of a Connection, or of a setup (Figure 11). Returns both IUs."""
    w = c.w
    me, other = (c.b, c.a) if back else (c.a, c.b)
    x = Exchange(w, me.port, other.port, c.cls)
    if order is not None:
        order.append(x)
    flags = bool(reason) | 2 * app | 4 * setup
    word7 = c.id if setup else 0
    head = device_header(
        DISCONNECT_RQST, other.handle if known else UNASSIGNED, flags, 0 if setup else me.done, reason << 16, word7=word7)
    asked = yield from iu(x, False, head, si=True, lost=lambda i: "hidden" if hidden else ("" if answer else "lost"))
    c.up = False
    if not answer:
        return asked, []
    flags = bool(answer_reason) | 2 * app | 4 * setup
    head = device_header(
        DISCONNECT_RESP, me.handle if answer_reason != 0x4A else UNASSIGNED, flags,
        0 if setup or answer_reason == 0x4A else other.done,
        answer_reason << 16, word7=word7)
    answered = yield from iu(x, True, head, last=True)
    return asked, answered


def duplicate(frame: Frame) -> Frame:
    """The same frame once more, as the Fabric may deliver it."""
    return copy.deepcopy(frame)


def flat(ius: Iterable[list[Frame]]) -> list[Frame]:
    """The frames of several IUs."""
    return [f for frames in ius for f in frames]
