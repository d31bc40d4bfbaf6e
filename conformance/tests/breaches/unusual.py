"""Random conforming ports that run by themselves: both sides have clocks, delays, timers and losses of their own.

``conforming`` writes down conversations; here two or three ports act on what reaches them, as late and in as unusual a way as
ISO/IEC 14165-331 and FC-FS let them, so that their frames cross: timers of 8.3 that run out while the answer is on its way,
Disconnects of both sides, logouts and new logins in the middle of everything, identifiers that are used again as soon as 5.4, 5.5
and 8.4.2 allow it. Whatever ``fcvi lint`` says of such a capture is a false alarm.
"""

import heapq
import random
from dataclasses import dataclass, field
from typing import Any, Callable, Generator, Iterator, Optional

from conformance.tests.breaches import wire
from conformance.tests.breaches.conforming import CLAIMS, Session
from conformance.tests.breaches.flows import R_A_TOV
from conformance.tests.breaches.wire import (
    CONNECT_RQST, DISCONNECT_RESP, DISCONNECT_RQST, END, EXCHANGE_RESPONDER, FIRST, INITIATIVE, LAST, OFFSET, READ_RESP, READ_RQST,
    RESP1, RESP2, RESP3, ROUTING, SEND_RESP, SEND_RQST, SEQUENCE_RECIPIENT, UNASSIGNED, WRITE_RESP, WRITE_RQST, Address, Attributes,
    Frame, connect_payload, device_header, login_payload,
)  # fmt: skip

Step = Generator[Any, Any, Any]
E_D_TOV = 2_000_000
ABTS, BA_ACC, ACK_1, ACK_0, F_BSY, P_BSY = 0x81, 0x84, 0xC0, 0xC1, 0xC5, 0xC4
PLOGI, LOGO, ADISC, LS_ACC, LS_RJT = 3, 5, 0x52, 2, 1


class Event:
    """Something that a process waits for."""

    def __init__(self) -> None:
        self.value: Any = None
        self.set = False
        self.waiting: list[Callable[[], None]] = []

    def fire(self, value: Any = None) -> None:
        """It has happened."""
        if self.set:
            return
        self.set, self.value = True, value
        for go in self.waiting:
            go()


class World:
    """The clock, the Fabric and the capture point in its middle."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 0
        self.heap: list[tuple[int, int, Callable[[], None]]] = []
        self.serial = 0
        self.tap: list[tuple[int, int, Frame]] = []
        self.ports: dict[int, "Port"] = {}
        self.last: dict[Any, int] = {}
        self.in_order = True
        self.loss = 0.0
        self.jitter = 0
        self.busy = 0.0
        self.limit = 2080

    def at(self, delay: float, do: Callable[[], None]) -> None:
        """Do it after a while."""
        self.serial += 1
        heapq.heappush(self.heap, (self.now + int(delay), self.serial, do))

    def spawn(self, step: Step) -> None:
        """Run a process: it yields a delay, or (event, timeout), for which it is told whether the event came."""

        def go(value: Any = None) -> None:
            try:
                wanted = step.send(value)
            except StopIteration:
                return
            if not isinstance(wanted, tuple):
                self.at(wanted, go)
                return
            event, timeout = wanted
            done = [False]

            def once(came: bool) -> None:
                if not done[0]:
                    done[0] = True
                    go(came)

            if event.set:
                self.at(0, lambda: once(True))
                return
            event.waiting.append(lambda: self.at(0, lambda: once(True)))
            self.at(timeout, lambda: once(False))

        self.at(0, go)

    def run(self, until: int) -> None:
        """Let time pass."""
        while self.heap and self.heap[0][0] <= until:
            self.now, _, do = heapq.heappop(self.heap)
            do()
        self.now = until

    def send(self, f: Frame) -> None:
        """Carry a frame from one port past the capture point to another."""
        src, dst = self.ports[f.src], self.ports.get(f.dst)
        tapped = max(self.now + src.away, self.last.get(f.src, 0) + 1)
        self.last[f.src] = tapped
        self.serial += 1
        self.tap.append((tapped, self.serial, f))
        if dst is None:
            return
        if f.r_ctl < 0x10 and f.cls == 3 and self.rng.random() < self.loss:
            return
        if f.r_ctl < 0x10 and f.cls == 2 and self.rng.random() < self.busy:  # the Fabric or the port has no room for it
            kind = self.rng.choice((F_BSY, P_BSY))
            back = (f.f_ctl ^ (EXCHANGE_RESPONDER | SEQUENCE_RECIPIENT)) & ~0xFF
            answer = Frame(f.dst, f.src, kind, back, f.seq_id, f.seq_cnt, f.ox, f.rx, type=0, param=0x00010000, cls=2, first=False)
            answer.cs_ctl = 0
            at = tapped + dst.away
            self.serial += 1
            self.tap.append((at, self.serial, answer))
            self.at(at + src.away - self.now, lambda: src.take(answer))
            return
        arrives = tapped + dst.away + self.rng.randint(0, self.jitter)
        if self.in_order or f.r_ctl >= 0x10 or f.type != 0x58:
            arrives = max(arrives, self.last.get((f.src, f.dst), 0) + 1)
            self.last[(f.src, f.dst)] = arrives
        self.at(arrives - self.now, lambda: dst.take(f))


@dataclass(eq=False)
class Exchange:
    """One side's view of an Exchange."""

    world: World
    me: "Port"
    far: int
    ox: int
    originator: bool
    cls: int
    rx: int = 0xFFFF
    count: int = 0
    offset: int = 0
    fresh: bool = True
    dead: bool = False
    taken: dict[int, Frame] = field(default_factory=dict)
    parts: list[Frame] = field(default_factory=list)
    queue: list[tuple[bytes, bytes, Frame]] = field(default_factory=list)
    news: Event = field(default_factory=Event)
    owed: set[int] = field(default_factory=set)
    acked: Event = field(default_factory=Event)
    pending: dict[int, Frame] = field(default_factory=dict)
    aborted: Event = field(default_factory=Event)
    ba: Event = field(default_factory=Event)
    last_seq: int = 0
    expected: int = 0
    acks: int = 0
    abort: bool = False
    asks: int = -1

    def take(self, f: Frame) -> None:
        """A frame of the other side; IUs that are whole are queued."""
        if f.seq_cnt in self.taken:
            return
        self.taken[f.seq_cnt] = f
        while self.expected in self.taken:
            g = self.taken[self.expected]
            self.expected = (self.expected + 1) % 65536
            self.parts.append(g)
            if g.f_ctl & END:
                size = 16 if g.df_ctl == 1 else 32
                head = bytes(self.parts[-1].raw[:size])
                data = b"".join(bytes(p.raw[size : len(p.raw) - (p.f_ctl & 3)]) for p in self.parts)
                self.queue.append((head, data, g))
                self.parts = []
                self.news.fire()

    def get(self, timeout: float) -> Step:
        """The next IU, or None."""
        end = self.world.now + timeout
        while not self.queue:
            if self.dead or self.world.now >= end:
                return None
            self.news = Event()
            if not (yield (self.news, end - self.world.now)):
                return None
        return self.queue.pop(0)


@dataclass(eq=False)
class Vi:
    """One end."""

    port: "Port"
    far: int
    handle: int
    attrs: Attributes
    far_handle: int = UNASSIGNED
    far_attrs: Optional[Attributes] = None
    state: str = "idle"
    cid: int = 0
    sent: int = 0
    open: int = 0
    done: int = 0
    sending: bool = False
    error_at: int = 0
    closed: bool = False
    mode: int = 1
    asked: Optional["Event"] = None  #: RESP1 to its own request of Peer-to-Peer has come: the Reason Code, or 0
    gone: bool = False
    answering: bool = False  #: a request of its Peer was accepted, and RESP2 is waited for


class Port:
    """A port that does what the standard lets it."""

    def __init__(self, world: World, number: int) -> None:
        self.world, self.rng = world, world.rng
        self.id, self.name = 0x010000 + 0x100 * number + world.rng.randint(0, 1), 0x1000000000000000 + number
        self.node = 0x2000000000000000 + number
        self.host = bytes.fromhex("20010db8") + bytes(11) + bytes([number])
        self.away = world.rng.choice((0, 5, 500, 20_000))
        self.mine: dict[int, Exchange] = {}  #: by OX_ID, not free yet
        self.theirs: dict[tuple[int, int], Exchange] = {}
        self.vis: dict[int, Vi] = {}  #: handles that are not free
        self.ids: set[int] = set()
        self.seqs: set[tuple[int, int]] = set()
        self.logged: set[int] = set()
        self.els: dict[int, Event] = {}
        self.retries: dict[tuple[int, int], Vi] = {}
        self.cls = world.rng.choice(("3", "3", "2", "mixed"))
        self.lazy = world.rng.choice((0, 1000, 100_000, R_A_TOV // 4, R_A_TOV))
        self.epoch: dict[int, int] = {}
        self.own_rx = world.rng.random() < 0.7
        self.prefers = world.rng.random() < 0.3
        self.quick = world.rng.random() < 0.5  #: identifiers are used again at once
        world.ports[self.id] = self

    # ---- identifiers ----

    def pick_id(self, used: Any, low: int, high: int) -> int:
        """One that is free."""
        value = low if self.quick else self.rng.randint(low, high)
        while value in used:
            value = value + 1 if value < high else low
        return value

    def exchange(self, far: int) -> Exchange:
        """A new one."""
        cls = int(self.cls) if self.cls != "mixed" else self.rng.choice((2, 3))
        ox = self.pick_id(self.mine, 1, 0xEFFF)
        x = Exchange(self.world, self, far, ox, True, cls)
        self.mine[ox] = x
        return x

    def free(self, x: Exchange, after: float = 0) -> None:
        """Its OX_ID may be used again."""
        x.dead = True

        def do() -> None:
            if self.mine.get(x.ox) is x:
                del self.mine[x.ox]

        if after:
            self.world.at(after, do)
        else:
            do()

    def pause(self, most: Optional[int] = None) -> float:
        """How long it takes its time."""
        most = self.lazy if most is None else min(most, self.lazy)
        return self.rng.choice((0, 0, most, self.rng.randint(0, max(1, most)), self.rng.randint(0, 200)))

    # ---- frames ----

    def emit(self, f: Frame) -> None:
        """Send one."""
        self.world.send(f)

    def iu(self, x: Exchange, head: bytes, data: bytes = b"", si: bool = False, last: bool = False, pref: bool = False,
           alive: Callable[[], bool] = lambda: True) -> Step:  # fmt: skip
        """One IU; True when it was sent to its end, and in class 2 acknowledged."""
        rng, epoch = self.rng, self.epoch.get(x.far, 0)
        seq = rng.choice((0, 1, 255, rng.randrange(256))) if not self.quick else 0
        while (x.far, seq) in self.seqs or (seq == x.last_seq and not x.fresh):
            seq = (seq + 1) % 256
        key = (x.far, seq)
        self.seqs.add(key)
        x.last_seq = seq
        pieces = self.cut(data)
        first_sequence, x.fresh = x.fresh and x.originator, False
        early = rng.random() < 0.3
        x.acked = Event()
        for i, piece in enumerate(pieces):
            if epoch != self.epoch.get(x.far, 0) or x.dead or x.aborted.set:
                self.seqs.discard(key)
                return False
            end = i == len(pieces) - 1
            fill = -len(piece) % 4
            f_ctl = EXCHANGE_RESPONDER * (not x.originator) | FIRST * first_sequence | END * end | INITIATIVE * (end and si) | fill
            f_ctl |= LAST * (last and (end or early))
            f_ctl |= OFFSET * bool(piece)
            cnt = x.count % 65536
            f = Frame(self.id, x.far, ROUTING[head[4]], f_ctl, seq, cnt, x.ox, x.rx, cs_ctl=0x80 * pref,
                      df_ctl=1 if len(head) == 16 else 2, param=x.offset if piece else 0, raw=bytearray(head + piece + bytes(fill)),
                      cls=x.cls, first=i == 0, ends=end and x.cls == 3)  # fmt: skip
            x.count += 1
            x.offset += len(piece)
            if x.cls == 2:
                x.owed.add(cnt)
                x.pending[cnt] = f
            if end and x.cls == 3:
                self.seqs.discard(key)
            self.emit(f)
            if not end:
                yield rng.choice((0, 1, 20, 500, self.pause(5000)))
        if x.cls == 2:
            while x.owed:
                x.acked = Event()
                if not (yield (x.acked, E_D_TOV + R_A_TOV)) and x.owed:
                    return False
            if x.abort:
                self.seqs.discard(key)
                return False
            if epoch == self.epoch.get(x.far, 0):
                self.seqs.discard(key)
        return epoch == self.epoch.get(x.far, 0)

    def cut(self, data: bytes) -> list[bytes]:
        """Whole words to a frame, as many or few as it likes (E44)."""
        out, limit, at = [], self.world.limit, 0
        small = self.rng.random() < 0.3 and len(data) < 700
        while True:
            size = self.rng.choice((4, 8, 12, 148, 256)) if small else limit
            size = min(size, limit)
            out.append(data[at : at + size])
            at += size
            if at >= len(data):
                return out

    def ack(self, f: Frame, x: Exchange) -> None:
        """ACK_1 for a frame, ACK_0 for a Sequence of one frame now and then."""
        kind = ACK_1
        f_ctl = (f.f_ctl ^ (EXCHANGE_RESPONDER | SEQUENCE_RECIPIENT)) & ~0x30FF
        rx = x.rx
        vi = self.vis.get(f.get(wire.HANDLE)) if f.raw[4] in (SEND_RQST, WRITE_RQST, READ_RQST) else None
        if vi is not None and vi.state == "error":
            f_ctl |= 0x10  # Abort Sequence, Perform ABTS
        a = Frame(self.id, f.src, kind, f_ctl, f.seq_id, f.seq_cnt, f.ox, rx, type=0, param=1, cls=2, first=False,
                  ends=bool(f.f_ctl & END))  # fmt: skip
        now = self.world.now  # the end of an Exchange is acknowledged at once, before its OX_ID may come again
        x.acks = max(x.acks + 1, now + (0 if f.f_ctl & LAST else self.rng.choice((0, 0, 10, 3000))))
        if x.acks <= now + 1:
            self.emit(a)
        else:
            self.world.at(x.acks - now, lambda: self.emit(a) if f.src in self.logged else None)

    # ---- what arrives ----

    def take(self, f: Frame) -> None:
        """A frame."""
        if f.type == 1 and f.r_ctl in (0x22, 0x23):
            self.take_els(f)
            return
        if f.src not in self.logged:
            return
        from_originator = not f.f_ctl & EXCHANGE_RESPONDER
        x = self.theirs.get((f.src, f.ox)) if from_originator else self.mine.get(f.ox)
        if x is not None and x.far != f.src:
            return
        if f.r_ctl == ABTS:
            self.take_abts(f, x, from_originator)
        elif f.r_ctl == BA_ACC:
            if x is not None:
                x.ba.fire()
        elif f.r_ctl in (ACK_1, ACK_0):
            if x is not None and f.seq_id == x.last_seq:
                if x.originator and f.rx != 0xFFFF:
                    x.rx = f.rx
                if f.f_ctl & 0x30 == 0x10:
                    x.abort = True
                x.owed.discard(f.seq_cnt)
                x.pending.pop(f.seq_cnt, None)
                if not x.owed:
                    x.acked.fire()
        elif f.r_ctl in (F_BSY, P_BSY):
            if x is not None and f.seq_cnt in x.pending:
                g = x.pending[f.seq_cnt]
                self.world.at(self.rng.choice((10, 1000, 50_000)), lambda: self.again(x, g))
        elif f.type == 0x58 and f.r_ctl < 0x10:
            self.take_iu(f, x, from_originator)

    def again(self, x: Exchange, f: Frame) -> None:
        """A frame that found no room."""
        if not x.dead and not x.aborted.set and x.far in self.logged and f.seq_cnt in x.owed:
            self.emit(f)

    def take_iu(self, f: Frame, x: Optional[Exchange], from_originator: bool) -> None:
        """A frame of an IU."""
        if x is not None and x.dead and from_originator and f.f_ctl & FIRST:
            x = None
        if from_originator and (x is None or (f.f_ctl & FIRST and f.raw[4] != self.kind_of(x))):
            x = Exchange(self.world, self, f.src, f.ox, False, f.cls)
            x.rx = self.rng.randrange(0xFFFE) if self.own_rx else 0xFFFF
            self.theirs[(f.src, f.ox)] = x
            self.world.spawn(self.respond(x))
        if x is None or x.dead:
            return
        if x.originator and f.rx != 0xFFFF:
            x.rx = f.rx
        if f.cls == 2:
            self.ack(f, x)
        if f.cls == 3 and x.originator is False and self.rng.random() < 0.003:  # it has no room: the responder ends it (FC-FS)
            self.world.spawn(self.abort(x))
            return
        x.take(f)

    @staticmethod
    def kind_of(x: Exchange) -> int:
        """Opcode of the first frame that came of it."""
        for f in x.taken.values():
            return f.raw[4]
        return -1

    def take_abts(self, f: Frame, x: Optional[Exchange], from_originator: bool) -> None:
        """BA_ACC, or nothing."""
        if x is not None:
            x.aborted.fire()
            x.dead = True
            x.news.fire()
            if x.originator:
                self.free(x, R_A_TOV)
        if self.rng.random() < 0.15:
            return
        rx = f.rx if x is None else x.rx if not x.originator else f.rx
        body = bytes(4) + f.ox.to_bytes(2, "big") + rx.to_bytes(2, "big") + b"\0\0\xff\xff"
        back = (0 if f.f_ctl & EXCHANGE_RESPONDER else EXCHANGE_RESPONDER) | LAST | END
        answer = Frame(self.id, f.src, BA_ACC, back, 198, 0, f.ox, rx, type=0, raw=bytearray(body))
        self.world.at(self.pause(R_A_TOV // 2), lambda: self.emit(answer) if f.src in self.logged else None)

    def abort(self, x: Exchange) -> Step:
        """ABTS, and the wait for BA_ACC."""
        x.dead = True
        x.aborted.fire()
        rx = x.rx
        turn = EXCHANGE_RESPONDER * (not x.originator)
        self.emit(Frame(self.id, x.far, ABTS, turn | END | INITIATIVE, x.last_seq, x.count % 65536, x.ox, rx, type=0))
        if self.rng.random() < 0.7:
            yield (x.ba, R_A_TOV)
        if x.originator:
            self.free(x, R_A_TOV)

    # ---- logins ----

    def forget(self, far: int) -> None:
        """A login or logout ended all that was with the port (7.7.1, 8.4.2 g, 8.5.3 c)."""
        self.epoch[far] = self.epoch.get(far, 0) + 1
        for ox, x in list(self.mine.items()):
            if x.far == far:
                x.dead = True
                x.news.fire()
                x.aborted.fire()
                x.acked.fire()
                del self.mine[ox]
        for key, x in list(self.theirs.items()):
            if key[0] == far:
                x.dead = True
                x.news.fire()
                x.aborted.fire()
                x.acked.fire()
                del self.theirs[key]
        for handle, vi in list(self.vis.items()):
            if vi.far == far:
                vi.gone, vi.state = True, "error"
                del self.vis[handle]
        self.retries = {k: v for k, v in self.retries.items() if k[0] != far}
        self.seqs = {k for k in self.seqs if k[0] != far}

    def request_els(self, far: int, body: bytes, tries: int = 3) -> Step:
        """An ELS and its answer, or None."""
        ox = self.pick_id(self.els, 0xF000, 0xFFFE)
        event = self.els[ox] = Event()
        self.emit(Frame(self.id, far, 0x22, FIRST | END | INITIATIVE, 200, 0, ox, type=1, raw=bytearray(body)))
        came = yield (event, 2 * R_A_TOV)
        del self.els[ox]
        return event.value if came else None

    def plogi(self, far: int) -> Step:
        """Log in."""
        self.forget(far)
        self.logged.discard(far)
        answer = yield from self.request_els(far, login_payload(PLOGI, self.name, self.node, 0x8002, self.world.limit + 32))
        if answer is not None and answer[0] == LS_ACC:
            self.logged.add(far)

    def logo(self, far: int) -> Step:
        """Log out."""
        self.forget(far)
        self.logged.discard(far)
        body = bytes([LOGO, 0, 0, 0, 0]) + self.id.to_bytes(3, "big") + self.name.to_bytes(8, "big")
        yield from self.request_els(far, body)

    def take_els(self, f: Frame) -> None:
        """A request or an answer."""
        if f.r_ctl == 0x23:
            event = self.els.get(f.ox)
            if event is not None:
                if f.raw[0] == LS_ACC and len(f.raw) > 100:
                    self.logged.add(f.src)
                event.fire(bytes(f.raw))
            return
        code = f.raw[0]
        answer = bytes([LS_ACC, 0, 0, 0])
        if code == PLOGI:
            self.forget(f.src)
            self.logged.add(f.src)
            answer = login_payload(LS_ACC, self.name, self.node, 0x8002, self.world.limit + 32)
        elif code == LOGO:
            self.forget(f.src)
            self.logged.discard(f.src)
        elif code == ADISC:
            answer = bytes([LS_ACC, 0, 0, 0]) + self.adisc_body()
            if f.src not in self.logged:
                answer = bytes([LS_RJT, 0, 0, 0, 0, 9, 0x1E, 0])
        else:
            return
        back = EXCHANGE_RESPONDER | LAST | END | INITIATIVE
        self.emit(Frame(self.id, f.src, 0x23, back, 201, 0, f.ox, self.rng.choice((0xFFFF, 0x7777)), type=1, raw=bytearray(answer)))

    def adisc_body(self) -> bytes:
        """Who it is."""
        return bytes(4) + self.name.to_bytes(8, "big") + self.node.to_bytes(8, "big") + bytes(1) + self.id.to_bytes(3, "big")

    # ---- VIs ----

    def new_vi(self, far: int, attrs: Attributes) -> Vi:
        """One with a handle that is free."""
        vi = Vi(self, far, self.pick_id(self.vis, 0 if self.quick else 1, 0xFFFFFFFE), attrs)
        self.vis[vi.handle] = vi
        return vi

    def release(self, vi: Vi) -> None:
        """Its handle may serve another Connection."""
        if self.vis.get(vi.handle) is vi:
            del self.vis[vi.handle]

    def addresses(self, far: int) -> tuple[Address, Address]:
        """Its own and the other's."""
        discriminator = bytes(range(16 + (self.name + self.world.ports[far].name) % 3))
        return Address(self.host, discriminator), Address(self.world.ports[far].host, discriminator)

    def failed(self, vi: Vi) -> None:
        """The Endpoint goes to the Error state."""
        if vi.state != "error":
            vi.state, vi.error_at = "error", self.world.now

    def client(self, far: int, attrs: Attributes) -> Step:
        """VipConnectRequest, traffic, VipDisconnect."""
        vi = self.new_vi(far, attrs)
        for retry in (False, True):
            outcome = yield from self.attempt(vi, retry)
            if outcome != "again" or vi.gone:
                break
        else:
            self.failed(vi)
        if vi.gone:
            return
        if vi.state == "connected":
            yield from self.live(vi)
        elif outcome != "refused":  # in the Error state, out of which a Disconnect leads
            yield self.pause()
            if not vi.gone and self.rng.random() < 0.8:
                yield from self.disconnect(vi, setup=vi.far_handle == UNASSIGNED)
        else:
            self.world.at(R_A_TOV, lambda: self.release(vi))

    def attempt(self, vi: Vi, retry: bool) -> Step:
        """One Connection Setup."""
        if vi.far not in self.logged:
            vi.gone = True
            self.release(vi)
            return "gone"
        x = self.exchange(vi.far)
        vi.cid = self.pick_id(self.ids, 1, 0xFFFFFFFE)
        self.ids.add(vi.cid)
        if vi.state == "idle":
            vi.state = "pending"
        deadline = self.world.now + R_A_TOV
        local, remote = self.addresses(vi.far)
        vi.asked = Event() if vi.mode == 2 else None
        info = bytes(256) if self.rng.random() < 0.2 else b""
        head = device_header(CONNECT_RQST, UNASSIGNED, vi.mode | 8 * bool(info) | 16 * retry, word7=vi.cid)
        if not (yield from self.iu(x, head, connect_payload(vi.handle, local, remote, vi.attrs, info), si=True)):
            return "gone" if vi.gone else (yield from self.expired(vi, x, retry))
        impatient = vi.mode == 1 and self.rng.random() < 0.1
        wait = self.rng.randint(0, R_A_TOV) if impatient else max(0, deadline - self.world.now)
        got = yield from x.get(wait)
        if vi.gone:
            return "gone"
        if got is None and impatient and self.world.now < deadline:  # VipDisconnect while the setup is under way
            if self.rng.random() < 0.5:
                yield from self.abort(x)
            else:
                x.dead = True
                self.free(x, 3 * R_A_TOV)
            self.failed(vi)
            return "lost"
        if got is None:
            return (yield from self.expired(vi, x, retry))
        head1, data, _ = got
        refused = head1[5] & 1
        handle = int.from_bytes(data[8:12], "big")
        if vi.asked is not None:
            vi.asked.fire(head1[13] if refused else 0)
        if not refused:
            vi.far_handle = handle
            vi.far_attrs = attributes(data)
        yield self.pause(max(0, min(R_A_TOV, deadline - self.world.now)))
        if vi.gone:
            return "gone"
        if self.world.now >= deadline:
            return (yield from self.expired(vi, x, retry))
        give_up = vi.mode == 1 and not refused and self.rng.random() < 0.05
        status = give_up or (refused and self.rng.random() < 0.5)
        code = 2 if give_up else head1[13]
        two = device_header(RESP2, handle, int(status) | 4 * retry, 0, (code << 16) * int(status), word7=vi.cid)
        if not refused and not give_up:
            vi.state = "connected"
        if not (yield from self.iu(x, two, si=True)):
            return "gone" if vi.gone else (yield from self.late(vi, x))
        self.world.spawn(self.await_resp3(vi, x, deadline))
        if vi.mode == 2 and refused:
            return head1[13]
        if refused or give_up:
            vi.state = "idle"
            return "refused"
        if self.rng.random() < 0.5:
            while not x.dead and vi.state == "connected" and not x.queue and self.world.now < deadline:
                yield 25_000
        return "connected"

    def await_resp3(self, vi: Vi, x: Exchange, deadline: int) -> Step:
        """T3 runs until RESP3 (8.5.2 b)."""
        got = yield from x.get(max(0, deadline - self.world.now))
        if got is not None:
            self.free(x)
        elif not vi.gone and not x.dead:
            yield from self.late(vi, x)

    def late(self, vi: Vi, x: Exchange) -> Step:
        """Connected, and no RESP3: Error (8.5.3 a 3)."""
        if vi.state == "connected":
            self.failed(vi)
        yield from self.abort(x)
        return "lost"

    def expired(self, vi: Vi, x: Exchange, retry: bool) -> Step:
        """T3 in Pending Connect: ABTS, and a retry, once (8.5.3 a, 8.5.4)."""
        if vi.asked is not None:
            vi.asked.fire(-1)
        yield from self.abort(x)
        if vi.gone:
            return "gone"
        if vi.mode == 2 and vi.state != "pending":  # connected through the other's request (C.4, E51)
            return "other"
        if retry:
            self.failed(vi)
        return "again"

    def peer(self, far: int, attrs: Attributes) -> Step:
        """VipConnectPeerRequest (5.3.3, 5.3.4), traffic, VipDisconnect."""
        vi = self.new_vi(far, attrs)
        vi.mode = 2
        outcome: Any = "again"
        for retry in (False, True):
            outcome = yield from self.attempt(vi, retry)
            if outcome != "again" or vi.gone or vi.state != "pending":
                break
        else:
            self.failed(vi)
        if vi.gone:
            return
        if outcome == "connected" and vi.state == "connected":
            yield from self.live(vi)
            return
        if outcome in (1, 3):  # the other may ask yet (E48)
            until = self.world.now + self.rng.randint(0, 3 * R_A_TOV)
            while vi.state == "pending" and not vi.gone and (vi.answering or self.world.now < until):
                yield 100_000
        while vi.answering and vi.state == "pending" and not vi.gone:
            yield 100_000
        if vi.gone or vi.state == "connected":
            return
        if vi.state == "pending":
            vi.state = "idle"
            self.world.at(R_A_TOV, lambda: self.release(vi))
        elif self.rng.random() < 0.8:
            yield from self.disconnect(vi, setup=vi.far_handle == UNASSIGNED)

    def choose(self, vi: Vi, x: Exchange) -> Step:
        """What a Peer that waits answers to a request: a Reason Code, 0 for an accept, or None (Table 2)."""
        far = self.world.ports[x.far].name
        if vi.asked is None or (vi.asked.set and vi.asked.value in (1, 3)):
            return 0
        if vi.asked.set and vi.asked.value == -1:  # it has given its own up (E80)
            return self.rng.choice((0, 4))
        if self.name > far:
            return 0
        yield (vi.asked, 2 * R_A_TOV)
        code = vi.asked.value
        if code is None:
            return None
        return {0: 5, 1: 0, 3: 0, 5: 0x21, -1: self.rng.choice((0, 4))}.get(code, 4)

    def server_peer(self, x: Exchange, head: bytes, data: bytes) -> Step:
        """A request of Peer-to-Peer."""
        cid, handle, retry = int.from_bytes(head[28:32], "big"), int.from_bytes(data[8:12], "big"), head[5] >> 4 & 1
        yield self.rng.choice((0, 0, 1000, self.pause(R_A_TOV // 2)))
        if x.dead:
            return
        wanted = data[160 + 20 : 160 + 20 + data[160 + 3]]
        vi = next((v for v in self.vis.values() if v.mode == 2 and v.far == x.far and not v.gone and v.state == "pending"
                   and self.addresses(v.far)[1].discriminator == wanted), None)  # fmt: skip
        of_far = (v for v in self.vis.values() if v.mode == 2 and v.far == x.far)
        busy = next((v for v in of_far if v.state == "connected" and not v.gone), None)
        if vi is None and busy is not None and retry and busy.far_handle == handle:
            vi, reason = busy, 0
        elif vi is not None:
            reason = yield from self.choose(vi, x)
        else:
            reason = 3 if busy is None else 5 if retry or self.name < self.world.ports[x.far].name else 3
        if reason is None or x.dead or (vi is not None and vi.gone):
            return
        if vi is not None and not reason and vi is not busy and vi.state != "pending":
            reason = 5 if self.name < self.world.ports[x.far].name else 3
        accept = vi is not None and not reason
        if accept and vi is not None and vi is not busy:
            vi.answering, vi.far_handle, vi.far_attrs = True, handle, attributes(data)
        theirs = attributes(data)
        attrs = vi.attrs if vi is not None else Attributes(theirs.level)
        if accept and attrs.level != theirs.level:
            accept, reason = False, 4
            if vi is not None:
                vi.answering = False
        mine = vi.handle if vi is not None and accept else UNASSIGNED
        flags = bool(reason) | 4 * retry
        one = device_header(RESP1, UNASSIGNED, flags, 0, reason << 16, word7=cid)
        swapped_local, swapped_remote = address(data, 160), address(data, 12)
        if not (yield from self.iu(x, one, connect_payload(mine, swapped_local, swapped_remote, attrs), si=True)):
            if vi is not None:
                vi.answering = False
            return
        got = yield from x.get(2 * R_A_TOV)
        if x.aborted.set or (vi is not None and vi.gone) or got is None:
            if vi is not None and accept:
                vi.answering = False
                if got is None and not x.aborted.set and vi.state == "pending":
                    self.failed(vi)
            return
        status = got[0][5] & 1
        code = got[0][13] if status else reason
        say = bool(reason or status) and self.rng.random() < 0.5
        to = handle if accept else UNASSIGNED
        if x.dead or (accept and vi is not None and vi.state not in ("pending", "connected")):
            return
        three = device_header(RESP3, to, say | 4 * retry, 0, (code << 16) * say, word7=cid)
        sent = yield from self.iu(x, three, last=True)
        x.dead = True
        if vi is None or not accept or not sent or vi.gone or vi is busy:
            return
        vi.answering = False
        if status:
            return
        if vi.state == "pending":
            vi.state = "connected"
            yield from self.live(vi)

    def respond(self, x: Exchange) -> Step:
        """The responder of an Exchange."""
        got = yield from x.get(4 * R_A_TOV)
        if got is None or x.dead:
            return
        head, data, _ = got
        opcode = head[4]
        if opcode == CONNECT_RQST and head[5] & 7 == 2:
            yield from self.server_peer(x, head, data)
        elif opcode == CONNECT_RQST:
            yield from self.server(x, head, data)
        elif opcode == DISCONNECT_RQST:
            yield from self.answer_disconnect(x, head)
        else:
            yield from self.receive(x, head, data)

    def server(self, x: Exchange, head: bytes, data: bytes) -> Step:
        """VipConnectWait and VipConnectAccept or VipConnectReject."""
        cid, handle, retry = int.from_bytes(head[28:32], "big"), int.from_bytes(data[8:12], "big"), head[5] >> 4 & 1
        if retry:  # the first try, if it waits for the application yet, is not answered any more
            for other in self.theirs.values():
                if other is not x and other.far == x.far and other.asks == handle and not other.count:
                    other.dead = True
        x.asks = handle
        yield self.pause()
        known = self.retries.get((x.far, handle)) if retry else None
        if x.dead:
            return
        reason = 0 if known or self.rng.random() < 0.85 else self.rng.choice((1, 3, 4, 0x21, 0x22, 0xF1))
        theirs = attributes(data)
        vi = known
        if not reason and (vi is None or vi.gone or vi.closed or vi.state == "error"):
            vi = self.new_vi(x.far, Attributes(theirs.level, self.rng.random() < 0.7, self.rng.random() < 0.7, theirs.max_size,
                                               self.prefers, self.rng.choice((0, 1, theirs.depth))))  # fmt: skip
            self.retries[(x.far, handle)] = vi
        local, remote = self.addresses(x.far)
        info = bytes(256) if self.rng.random() < 0.2 else b""
        flags = bool(reason) | 2 * bool(info) | 4 * retry
        one = device_header(RESP1, UNASSIGNED, flags, 0, reason << 16, word7=cid)
        mine = vi.handle if vi is not None and not reason else UNASSIGNED
        attrs = vi.attrs if vi is not None else theirs
        if vi is not None and not reason:
            if vi.state == "idle":
                vi.state = "pending"
            vi.far_handle, vi.far_attrs, vi.cid = handle, theirs, cid
        swapped_local, swapped_remote = address(data, 160), address(data, 12)
        if not (yield from self.iu(x, one, connect_payload(mine, swapped_local, swapped_remote, attrs, info), si=True)):
            return
        got = yield from x.get(2 * R_A_TOV)
        if x.aborted.set or (vi is not None and vi.gone):  # a retry may come
            return
        if got is None:
            if vi is not None and vi.state == "pending":
                self.failed(vi)
                yield self.pause()
                if self.rng.random() < 0.5 and not vi.gone:
                    yield from self.disconnect(vi, setup=True)
            return
        yield self.pause(R_A_TOV // 2)
        if x.dead or (vi is not None and vi.gone):
            return
        status = got[0][5] & 1
        if vi is not None and not reason and vi.state in ("error", "idle"):
            return
        code = got[0][13] if status else reason
        say = bool(reason or status) and self.rng.random() < 0.5
        to = handle if not reason else self.rng.choice((handle, UNASSIGNED)) if reason not in (1, 3) else UNASSIGNED
        three = device_header(RESP3, to, say | 4 * retry, 0, (code << 16) * say, word7=cid)
        sent = yield from self.iu(x, three, last=True)
        x.dead = True
        if vi is None or reason or not sent or vi.gone:
            return
        if status:
            vi.state = "idle"
            return
        if vi.state == "pending":
            vi.state = "connected"
            yield from self.live(vi)

    # ---- Messages ----

    def live(self, vi: Vi) -> Step:
        """Messages, then a Disconnect, or none."""
        for _ in range(self.rng.randint(0, 6)):
            yield self.pause()
            if vi.state != "connected" or vi.gone:
                break
            depth = min(vi.attrs.depth, vi.far_attrs.depth if vi.far_attrs else 0)
            if vi.open > depth or vi.sending:
                continue
            yield from self.message(vi)
        yield self.pause()
        if vi.gone or vi.closed:
            return
        if self.rng.random() < 0.8 or vi.state == "error":
            yield from self.disconnect(vi)

    def message(self, vi: Vi) -> Step:
        """One Message; its answer is waited for beside the rest."""
        rng = self.rng
        kinds = [SEND_RQST, WRITE_RQST] + [READ_RQST] * (vi.attrs.level > 1)
        opcode = rng.choice(kinds)
        length = rng.choice((0, 1, 3, 64, 511, 2080, 2081, rng.randrange(6000)))
        imm = None if opcode == READ_RQST or rng.random() < 0.6 else rng.randrange(1 << 32)
        va, va_handle = (0, 0) if opcode == SEND_RQST else (rng.randrange(1 << 64), rng.randrange(1 << 32))
        x = self.exchange(vi.far)
        vi.sent = (vi.sent + 1) & 0xFFFFFFFF
        vi.open += 1
        vi.sending = True
        number = vi.sent
        due = opcode == READ_RQST or vi.attrs.level == 3
        data = bytes(length)
        parts = [b""] if opcode == READ_RQST else split(data, rng.choice((1, 1, 2, 3)))
        everywhere = rng.random() < 0.5
        for i, part in enumerate(parts):
            end = i == len(parts) - 1
            has = imm is not None and (end or everywhere)
            word = imm if has and imm is not None else 0
            head = device_header(opcode, vi.far_handle, int(has), number, word, va, va_handle, length)
            ok = yield from self.iu(x, head, part, si=end and due, last=end and not due, pref=vi.attrs.pref)
            if not ok:
                vi.sending = False
                if not vi.gone and not x.dead:
                    self.failed(vi)
                    yield from self.abort(x)
                return
            if not end:
                yield self.pause(3000)
        vi.sending = False
        if not due:
            self.free(x)
            vi.open -= 1
            vi.done = number
            return
        self.world.spawn(self.await_answer(vi, x, number, opcode))

    def await_answer(self, vi: Vi, x: Exchange, number: int, opcode: int) -> Step:
        """FCVI_ULP_TIMEOUT runs (8.4.1 a)."""
        while True:
            got = yield from x.get(R_A_TOV)
            if vi.gone or (got is None and x.dead):
                return
            if got is None:
                self.failed(vi)
                yield from self.abort(x)
                return
            if got[2].f_ctl & LAST:
                break
        self.free(x)
        vi.open -= 1
        if got[0][5] & 1:
            self.failed(vi)
        else:
            vi.done = number

    def receive(self, x: Exchange, head: bytes, data: bytes) -> Step:
        """A Message that arrives."""
        handle, opcode = int.from_bytes(head[:4], "big"), head[4]
        vi = self.vis.get(handle)
        if vi is None or vi.far != x.far or vi.state == "idle" or vi.state == "error" or vi.gone:
            return
        total = int.from_bytes(head[28:32], "big")
        number = int.from_bytes(head[8:12], "big")
        got = len(data)
        while opcode != READ_RQST and got < total:
            more = yield from x.get(R_A_TOV)
            if more is None or vi.gone:
                if more is None and not vi.gone and vi.attrs.level > 1 and self.rng.random() < 0.7:
                    self.failed(vi)
                return
            got += len(more[1])
        if vi.attrs.level < 3 and opcode != READ_RQST:
            vi.done = number
            x.dead = True
            return
        yield self.pause(R_A_TOV)
        if x.dead or vi.gone or vi.state == "error":
            return
        barred = (opcode == WRITE_RQST and not vi.attrs.write) or (opcode == READ_RQST and not vi.attrs.read)
        rng = self.rng
        fault = 5 if barred and (total or rng.random() < 0.5) else rng.choice((3, 9, 15)) if rng.random() < 0.05 else 0
        va, va_handle = int.from_bytes(head[16:24], "big"), int.from_bytes(head[24:28], "big")
        pref = self.rng.random() < 0.5
        if opcode == READ_RQST:
            body = b"" if fault and (barred or self.rng.random() < 0.5) else bytes(total // 2 // 4 * 4 if fault else total)
            parts = split(body, self.rng.choice((1, 1, 2, 3)))
            for i, part in enumerate(parts):
                end = i == len(parts) - 1
                out = device_header(READ_RESP, vi.far_handle, fault if end else 0, number, 0, va, va_handle, total)
                if not (yield from self.iu(x, out, part, last=end, pref=pref)):
                    return
                if not end:
                    yield self.pause(3000)
        else:
            out = device_header(SEND_RESP if opcode == SEND_RQST else WRITE_RESP, vi.far_handle, fault, number)
            if not (yield from self.iu(x, out, last=True, pref=pref)):
                return
        x.dead = True
        if fault:
            self.failed(vi)
        else:
            vi.done = number

    # ---- Disconnect ----

    def disconnect(self, vi: Vi, setup: bool = False) -> Step:
        """VipDisconnect, or the provider's; tried again when no answer comes (E59)."""
        rng = self.rng
        if vi.closed:
            return
        vi.closed = True
        while vi.sending and not vi.gone:
            yield 5_000
        self.failed(vi)
        for _ in range(rng.choice((1, 1, 2))):
            if vi.gone or vi.far not in self.logged:
                return
            x = self.exchange(vi.far)
            app = rng.random() < 0.7
            reason = rng.choice((0, 0, 0x40, 0x49 if setup else 0x48, 0x42, 0xF3))
            flags = bool(reason) | 2 * app | 4 * setup
            handle = vi.far_handle
            number, word7 = (0, vi.cid) if setup else (vi.done, 0)
            head = device_header(DISCONNECT_RQST, handle, flags, number, reason << 16, word7=word7)
            ok = yield from self.iu(x, head, si=True)
            got = (yield from x.get(R_A_TOV)) if ok else None
            if vi.gone:
                return
            if got is not None:
                self.free(x)
                vi.state = "idle"
                rest = max(0, vi.error_at + R_A_TOV - self.world.now) + rng.choice((0, R_A_TOV))
                self.world.at(rest, lambda: self.release(vi))
                return
            yield from self.abort(x)

    def answer_disconnect(self, x: Exchange, head: bytes) -> Step:
        """D.1, D.2."""
        rng = self.rng
        handle, setup, cid = int.from_bytes(head[:4], "big"), head[5] >> 2 & 1, int.from_bytes(head[28:32], "big")
        vi = self.vis.get(handle)
        if vi is not None and vi.far != x.far:
            vi = None
        if vi is None and setup:
            vi = next((v for v in self.vis.values() if v.far == x.far and v.cid == cid and v.state != "idle"), None)
        yield self.pause(R_A_TOV // 2)
        if x.dead:
            return
        code = rng.choice((0, 0x4B)) if vi is not None and not vi.gone else rng.choice((0, 0x4A, 0x4B))
        to = vi.far_handle if vi is not None else UNASSIGNED
        done = 0 if setup or vi is None else vi.done
        out = device_header(DISCONNECT_RESP, to, (head[5] & 6) | bool(code), done, code << 16, word7=cid)
        was = vi.state if vi is not None else "idle"
        if vi is not None and not vi.gone:
            self.failed(vi)
        if not (yield from self.iu(x, out, last=True)):
            return
        x.dead = True
        if vi is not None and not vi.gone:
            if was == "connected" and rng.random() < 0.7:
                yield self.pause()
                if not vi.gone and not vi.closed:
                    yield from self.disconnect(vi)


def attributes(data: bytes) -> Attributes:
    """Those of a connect payload."""
    at = 308
    return Attributes(data[at + 2], bool(data[at + 3] & 2), bool(data[at + 3] & 1), int.from_bytes(data[at + 4 : at + 8], "big"),
                      bool(data[at + 8] & 0x80), int.from_bytes(data[at + 24 : at + 28], "big"))  # fmt: skip


def address(data: bytes, at: int) -> Address:
    """An FCVI_NET_ADDRESS of a connect payload."""
    return Address(data[at + 4 : at + 20], data[at + 20 : at + 20 + data[at + 3]])


def split(data: bytes, parts: int) -> list[bytes]:
    """Several IUs of a Message."""
    if parts == 1 or len(data) < 3:
        return [data]
    step = len(data) // parts
    return [data[i * step : (i + 1) * step if i < parts - 1 else len(data)] for i in range(parts)]


def events(w: World, a: Port, b: Port) -> Step:
    """What happens beside the Connections: logouts, logins anew, ADISC, restarts."""
    rng = w.rng
    for _ in range(rng.randint(1, 3)):
        yield rng.randint(0, 4 * R_A_TOV)
        one, two = rng.choice(((a, b), (b, a)))
        kind = rng.choice(("adisc", "logo", "plogi", "restart", "both"))
        if kind == "adisc" and two.id in one.logged:
            yield from one.request_els(two.id, bytes([ADISC, 0, 0, 0]) + one.adisc_body())
        elif kind == "logo" and two.id in one.logged:
            yield from one.logo(two.id)
            yield rng.randint(0, R_A_TOV)
            yield from rng.choice((one.plogi(two.id), two.plogi(one.id)))
        elif kind == "plogi":
            yield from one.plogi(two.id)
        elif kind == "restart":
            one.forget(two.id)
            one.logged.discard(two.id)
            yield rng.randint(0, R_A_TOV)
            yield from one.plogi(two.id)
        elif kind == "both":
            w.spawn(one.plogi(two.id))
            yield rng.choice((0, 10, 1000))
            yield from two.plogi(one.id)


def draw(seed: int) -> Session:
    """Session number ``seed``."""
    w = World(seed)
    rng = w.rng
    ports = [Port(w, i) for i in range(1, rng.choice((3, 3, 4)))]
    w.in_order = rng.random() < 0.7
    w.loss = rng.choice((0, 0, 0, 0.02, 0.1))
    w.jitter = rng.choice((0, 10, 1000, 100_000, R_A_TOV // 4))
    w.busy = rng.choice((0, 0, 0.05))
    w.limit = rng.choice((2080, 480, 224))
    pairs = [(p, q) for i, p in enumerate(ports) for q in ports[i + 1 :]]
    if rng.random() < 0.8:
        for p, q in pairs:
            w.spawn(p.plogi(q.id) if rng.random() < 0.5 else q.plogi(p.id))
    else:  # the logins were before
        for p, q in pairs:
            p.logged.add(q.id)
            q.logged.add(p.id)

    def start(p: Port, q: Port, peers: bool) -> Step:
        yield 1_000_000 + rng.randint(0, 5 * R_A_TOV)
        while q.id not in p.logged and w.now < 20 * R_A_TOV:
            yield 1_000_000
        attrs = Attributes(rng.choice((1, 2, 3)), rng.random() < 0.8, rng.random() < 0.8, rng.choice((65536, 9000)), p.prefers,
                           rng.choice((0, 0, 1, 4)))  # fmt: skip
        if peers:  # both ask, about the same time or not
            other = Attributes(attrs.level, attrs.write, attrs.read, attrs.max_size, q.prefers, attrs.depth)
            w.at(rng.choice((0, 10, 1000, 100_000, rng.randint(0, 2 * R_A_TOV))), lambda: w.spawn(q.peer(p.id, other)))
            yield from p.peer(q.id, attrs)
            return
        yield from p.client(q.id, attrs)

    paired: set[tuple[Port, Port]] = set()
    for _ in range(rng.choice((1, 2, 3, 6))):
        p, q = rng.choice(pairs)
        peers = (p, q) not in paired and rng.random() < 0.3
        paired |= {(p, q)} if peers else set()
        w.spawn(start(p, q, peers) if rng.random() < 0.5 else start(q, p, peers))
    if rng.random() < 0.4:
        w.spawn(events(w, *rng.choice(pairs)))
    w.run(40 * R_A_TOV)
    return Session(f"unusual{seed}", *capture(rng, w))


def capture(rng: random.Random, w: World) -> tuple[list[Frame], frozenset[str]]:
    """What the capture point has, cut at either end, with holes, with each record twice as a SPAN of both directions has it."""
    import copy

    claims = set(CLAIMS)
    frames = []
    for at, _, f in sorted(w.tap, key=lambda t: (t[0], t[1])):
        g = copy.copy(f)
        g.at = at
        frames.append(g)
    if rng.random() < 0.1:
        claims -= {"once", "order"}
        lag = rng.choice((0, 1, 2, 5))
        both: list[Frame] = []
        late: list[tuple[int, Frame]] = []
        for i, f in enumerate(frames):
            both.append(f)
            late.append((i + lag, f))
            while late and late[0][0] <= i:
                g = copy.copy(late.pop(0)[1])
                g.at = f.at
                both.append(g)
        frames = both
    if rng.random() < 0.15:
        claims.discard("all")
        few = rng.choice((0.02, 0.2, 0.5))
        frames = [f for f in frames if rng.random() > few]
    if rng.random() < 0.2:
        claims.discard("start")
        frames = frames[rng.randrange(len(frames) + 1) :]
    if rng.random() < 0.2:
        frames = frames[: rng.randrange(len(frames) + 1)]
    return frames, frozenset(claims)


def sessions(seed: int, count: int) -> Iterator[Session]:
    """Several."""
    for number in range(seed, seed + count):
        yield draw(number)
