"""Random conforming sessions of FC-VI ports, from a seed: each permission of the text used to the full.

A session is a list of frames and what is true of the capture: the claims that ``fcvi lint --trust`` may make.
"""

import copy
import random
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Iterator

from conformance.tests.breaches import flows, wire
from conformance.tests.breaches.flows import (
    CLIENT, PEER, R_A_TOV, Connection, Exchange, Flow, Port, Wire, abort, ack, connect, disconnect, duplicate, identifier, iu,
    login, logout,
    message, pair, request, response1, response23, service,
)  # fmt: skip
from conformance.tests.breaches.wire import (
    DISCONNECT_RESP, DISCONNECT_RQST, READ_RQST, RESP1, RESP2, RESP3, SEND_RQST, UNASSIGNED, WRITE_RQST, Frame, device_header,
    write_pcap,
)  # fmt: skip

CLAIMS = ("all", "start", "order", "once")
REASONS = (0x01, 0x03, 0x04, 0x21, 0x22, 0xF0, 0xFF)


@dataclass
class Session:
    """A capture and what is certain of it."""

    name: str
    frames: list[Frame]
    claims: frozenset[str]


def traffic(c: Connection, count: int) -> Flow:
    """Messages both ways, as many open at a time as FCVI_PIPELINE_DEPTH allows, their frames in any order that the text allows."""
    w = c.w
    running: list[Any] = []
    sent = {False: [True], True: [True]}
    left = count
    while running or left:
        back = w.rng.random() < 0.4
        me, other = (c.b, c.a) if back else (c.a, c.b)
        if left and sent[back] and me.open <= min(c.a.attrs.depth, c.b.attrs.depth) and w.rng.random() < 0.5:
            left -= 1
            kinds = [SEND_RQST]
            if other.attrs.write:
                kinds.append(WRITE_RQST)
            if other.attrs.read and me.attrs.level > 1:
                kinds.append(READ_RQST)
            opcode = w.rng.choice(kinds)
            length = w.rng.choice((0, 1, 3, 4, 64, 511, 512, 1000, 2080, 2081, 5000, w.rng.randrange(9000)))
            imm = None if opcode == READ_RQST or w.rng.random() < 0.6 else w.rng.randrange(1 << 32)
            sent[back] = []
            va = w.rng.choice((0, 0xFFFFFFFFFFFF0000, w.rng.randrange(1 << 64)))
            running.append(message(c, back, opcode, length, w.rng.choice((1, 1, 2, 3)), imm, va=va,
                                   va_handle=w.rng.randrange(1 << 32),
                                   everywhere=w.rng.random() < 0.5, sent=sent[back]))  # fmt: skip
        if running:
            flow = w.rng.choice(running)
            try:
                next(flow)
                yield
            except StopIteration:
                running.remove(flow)


def farewell(c: Connection) -> Flow:
    """The Disconnects of a Connection."""
    w = c.w
    back = w.rng.random() < 0.5
    kind = w.rng.choice(("plain", "plain", "crossing", "in flight", "provider", "left"))
    answer = w.rng.choice((0, 0x4B, 0, 0x40, 0xF3))
    if kind == "plain":
        yield from disconnect(c, back, answer_reason=answer)
    elif kind == "provider":
        yield from disconnect(c, back, app=False, reason=w.rng.choice((0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0xF5,
                                                                       0)), answer_reason=answer)
    elif kind == "crossing":
        flags = 2
        x, y = Exchange(w, c.a.port, c.b.port, c.cls), Exchange(w, c.b.port, c.a.port, c.cls)
        yield from iu(x, False, device_header(DISCONNECT_RQST, c.b.handle, flags, c.a.done), si=True)
        yield from iu(y, False, device_header(DISCONNECT_RQST, c.a.handle, flags, c.b.done), si=True)
        for z, handle, done in w.rng.sample([(x, c.a.handle, c.b.done), (y, c.b.handle, c.a.done)], 2):
            code = w.rng.choice((0, 0x4B, 0x4A))
            yield from iu(z, True, device_header(DISCONNECT_RESP, handle, flags | bool(code), done, code << 16), last=True)
    elif kind == "in flight" and c.a.attrs.level < 3 and c.cls == 3:
        flow = disconnect(c, back, answer_reason=answer)
        next(flow)
        yield
        other = message(c, not back, SEND_RQST, 3000, 2)
        for _ in range(w.rng.randint(0, 4)):
            try:
                next(other)
                yield
            except StopIteration:
                break
        yield from flow


def setup(c: Connection, mode: int) -> Flow:
    """A setup that succeeds in the end, or is refused; whether it succeeded."""
    w = c.w
    info = w.rng.random() < 0.3
    kind = w.rng.choice(("plain",) * 6 + ("refused",) * 2 + ("gives up", "aborted"))
    if kind == "refused":
        yield from connect(c, mode, reason=w.rng.choice(REASONS), info=info)
        return False
    if kind == "gives up":  # the application has timed out: RESP2 says so
        x = Exchange(w, c.a.port, c.b.port, c.cls)
        c.id = identifier(w, c.a.port.ids, 1, 0xFFFFFFFE)
        yield from request(c, x, mode)
        yield from response1(c, x)
        yield from response23(c, x, RESP2, reason=2)
        yield from response23(c, x, RESP3, refused=w.rng.choice((0, 2)))
        return False
    if kind == "aborted":  # Disconnect in the course of the setup, before or after RESP1
        x = Exchange(w, c.a.port, c.b.port, c.cls)
        c.id = identifier(w, c.a.port.ids, 1, 0xFFFFFFFE)
        yield from request(c, x, mode)
        known = w.rng.random() < 0.5
        if known:
            yield from response1(c, x)
        if w.rng.random() < 0.5:
            yield from abort(w, x, False)
        yield from disconnect(c, setup=True, known=known, answer_reason=w.rng.choice((0, 0x4B)))
        return False
    if mode == PEER and w.rng.random() < 0.7:
        return (yield from peers(c))
    yield from connect(c, mode, info=info)
    return True


def peers(c: Connection) -> Flow:
    """Two Peers: one asks before the other, or both at once (Figures 9 and 10, Table 2). ``c.a`` has the lower Port_Name."""
    w = c.w
    x, y = Exchange(w, c.a.port, c.b.port, c.cls), Exchange(w, c.b.port, c.a.port, c.cls)
    mine, other = identifier(w, c.a.port.ids, 1, 999), identifier(w, c.b.port.ids, 1, 999)
    lower, higher = c.a, c.b

    def ask(z: Exchange) -> Flow:
        return request(c, z, PEER, back=z is y, own_id=mine if z is x else other)

    def answer(z: Exchange, reason: int = 0) -> Flow:
        return response1(c, z, back=z is y, reason=reason, own_id=mine if z is x else other)

    def finish(z: Exchange, reason: int, handle: int) -> Flow:
        number = mine if z is x else other
        code = w.rng.choice((0, reason)) if reason else 0
        yield from iu(z, False, device_header(RESP2, handle, bool(code), 0, code << 16, word7=number), si=True)
        own = (lower if z is x else higher).handle
        last = w.rng.choice((UNASSIGNED, own)) if reason and reason != 3 else UNASSIGNED if reason else own
        yield from iu(z, True, device_header(RESP3, last, bool(code), 0, code << 16, word7=number), last=True)

    def given() -> int:
        return int.from_bytes(b"".join(bytes(f.raw[32:]) for f in c.ius[RESP1])[8:12], "big")

    kind = w.rng.choice(("late", "crossing", "crossing", "reordered", "refused"))
    if kind == "late":  # Figure 9
        first, second = (x, y) if w.rng.random() < 0.5 else (y, x)
        yield from ask(first)
        yield from answer(first, 3)
        handle = given()
        yield from finish(first, 3, handle)
        yield from ask(second)
        yield from answer(second)
        yield from finish(second, 0, given())
        return True
    flows_ = [ask(x), ask(y)]
    if kind == "refused":  # both at once, the higher-named one has a transport or protocol error: the lower-named one says 04h
        yield from interleave(w, flows_)
        code = w.rng.choice((0x22, 0x21, 0x04))
        yield from answer(x, code)
        tail = [finish(x, code, given())]
        yield from answer(y, 4)
        yield from interleave(w, [*tail, finish(y, 4, given())])
        return False
    if kind == "reordered":  # the higher-named Peer had no request yet
        yield from flows_[0]
        yield from answer(x, 3)
        refused = given()
        yield from flows_[1]
        yield from answer(y)
        accepted = given()
        tail = [finish(x, 3, refused), finish(y, 0, accepted)]
    else:
        yield from interleave(w, flows_)
        yield from answer(x)
        accepted = given()
        early = finish(x, 0, accepted)
        steps = w.rng.randint(0, 2) if c.cls == 3 else 0
        for _ in range(steps):
            next(early, None)
            yield
        yield from answer(y, 5)
        tail = [early, finish(y, 5, given())]
    yield from interleave(w, tail)
    return True


def interleave(w: Wire, running: list[Any]) -> Flow:
    """Flows that know nothing of each other."""
    running = list(running)
    while running:
        flow = w.rng.choice(running)
        try:
            next(flow)
            yield
        except StopIteration:
            running.remove(flow)


def life(w: Wire, a: Port, b: Port, name: bool = True) -> Flow:
    """A VI pair from its setup to its end."""
    mode = w.rng.choice((CLIENT, CLIENT, PEER))
    if mode == CLIENT and w.rng.random() < 0.3:
        a, b = b, a
    level = w.rng.choice((1, 2, 3))
    depth = w.rng.choice((0, 0, 1, 3, 7))
    c = pair(w, a, b, level, w.rng.choice((3, 3, 2)), mode, depth=depth, pref=w.rng.random() < 0.3, write=w.rng.random() < 0.8,
             read=w.rng.random() < 0.8, max_size=w.rng.choice((65536, 0xFFFFFFFF, 9000)))  # fmt: skip
    for _ in range(w.rng.choice((1, 1, 2))):
        if (yield from setup(c, mode)):
            break
        if w.rng.random() < 0.5:
            return
    else:
        return
    if w.rng.random() < 0.05:
        c.a.msg_id = 0
    yield from traffic(c, w.rng.randint(0, 6))
    if w.rng.random() < 0.15 and level == 3:  # the last Message fails, the VI is in the Error state
        opcode = w.rng.choice((SEND_RQST, READ_RQST) if c.b.attrs.read else (SEND_RQST,))
        yield from message(c, opcode == SEND_RQST and w.rng.random() < 0.5, opcode, 100, w.rng.choice((1, 2)),
                           fault=w.rng.choice((3, 5, 9, 15)))
    yield from farewell(c)


def losses(w: Wire, a: Port, b: Port) -> Flow:
    """One Connection whose frames are lost on the way behind the capture point, alone on the wire."""
    kind = w.rng.choice(("request", "resp1", "resp2", "resp3", "message", "response", "read", "disconnect", "gone", "decision",
                         "unreliable"))
    mode = CLIENT
    level = 1 if kind == "unreliable" else w.rng.choice((2, 3)) if kind not in ("response",) else 3
    c = pair(w, a, b, level, 3, mode)
    reply = w.rng.choice(("acc", "acc", "rjt", ""))
    slack = w.rng.choice((0, 1000, 500_000))
    x = Exchange(w, a, b)
    c.id = identifier(w, a.ids, 1, 0xFFFFFFFE)
    if kind in ("request", "resp1", "gone", "decision"):
        yield from request(c, x, mode)
        if kind in ("resp1", "gone") and w.rng.random() < 0.9:
            yield from response1(c, x)
        w.wait(R_A_TOV + slack)
        yield from abort(w, x, False, reply)
        if w.rng.random() < 0.5:
            w.wait(w.rng.choice((R_A_TOV, 2 * R_A_TOV)))
        c.id = identifier(w, a.ids, 1, 0xFFFFFFFE)
        x = Exchange(w, a, b)
        if kind == "gone":  # the retry comes to nothing as well: Error, and in the end a Disconnect
            yield from request(c, x, mode, retry=True)
            w.wait(R_A_TOV + slack)
            yield from abort(w, x, False, reply)
            if w.rng.random() < 0.7:
                yield from disconnect(c, setup=True, known=False, reason=w.rng.choice((0, 0x49, 0x40)),
                                      answer_reason=w.rng.choice((0, 0x4A, 0x4B)))
            return
        yield from request(c, x, mode, retry=True)
        reason = w.rng.choice((0, 0, 0, 3, 4))
        yield from response1(c, x, retry=True, reason=reason)
        yield from response23(c, x, RESP2, retry=True, refused=reason)
        yield from response23(c, x, RESP3, retry=True, refused=reason)
        if reason:
            return
    elif kind in ("resp2", "resp3"):
        yield from request(c, x, mode)
        yield from response1(c, x)
        yield from response23(c, x, RESP2)
        if kind == "resp3":
            yield from response23(c, x, RESP3)
            if w.rng.random() < 0.5:
                yield from message(c, True, SEND_RQST, 64, answer=False)
        w.wait(R_A_TOV + slack)
        yield from abort(w, x, False, reply)
        as_setup = w.rng.random() < 0.5 and kind == "resp2"
        yield from disconnect(c, setup=as_setup, reason=w.rng.choice((0, 0x49, 0x40)), answer_reason=w.rng.choice((0, 0x4B)))
        return
    else:
        yield from request(c, x, mode)
        yield from response1(c, x)
        yield from response23(c, x, RESP2)
        yield from response23(c, x, RESP3)
    yield from traffic(c, w.rng.randint(0, 3))
    if kind in ("message", "response", "read"):
        opcode = READ_RQST if kind == "read" else w.rng.choice((SEND_RQST, WRITE_RQST))
        done: list[Exchange] = []
        back = w.rng.random() < 0.5
        if kind == "message" and level == 2:
            yield from message(c, back, opcode, 3000)
            yield from disconnect(c, not back, app=False, reason=0x40)
        else:
            yield from message(c, back, opcode, 3000, answer=kind == "response" and w.rng.random() < 0.5, finished=done)
            w.wait(R_A_TOV + slack)
            yield from abort(w, done[0], False, reply)
            yield from disconnect(c, back, app=w.rng.random() < 0.5, reason=w.rng.choice((0, 0x40)))
    elif kind == "unreliable":
        yield from message(c, False, SEND_RQST, 3000)
        yield from message(c, False, SEND_RQST, 64)
    elif kind == "disconnect":
        back = w.rng.random() < 0.5
        order: list[Exchange] = []
        yield from disconnect(c, back, answer=False, order=order)
        if w.rng.random() < 0.5:
            yield from iu(order[0], True, device_header(DISCONNECT_RESP, (c.b if back else c.a).handle, 2, 0), last=True)
        w.wait(R_A_TOV + slack)
        yield from abort(w, order[0], False, reply)
        if w.rng.random() < 0.7:
            yield from disconnect(c, back, answer_reason=w.rng.choice((0, 0x4A, 0x4B)))


def services(w: Wire, a: Port, b: Port) -> Flow:
    """RSCN, ADISC, FAN, RRQ between the rest: none of them ends a Connection."""
    kind = w.rng.choice(("rscn", "adisc", "fan", "farp"))
    if kind == "rscn":
        page = bytes([0x61, 4, 0, 8, 0]) + b.id.to_bytes(3, "big")
        w.emit(Frame(0xFFFFFD, a.id, 0x22, wire.FIRST | wire.END | wire.INITIATIVE, 3, 0, 0xF003, type=1, raw=bytearray(page)))
        yield
        back = wire.EXCHANGE_RESPONDER | wire.LAST | wire.END | wire.INITIATIVE
        w.emit(Frame(a.id, 0xFFFFFD, 0x23, back, 3, 0, 0xF003, 0xFFFF, type=1, raw=bytearray([2, 0, 0, 0])))
        yield
    elif kind == "adisc":
        def body(code: int, p: Port) -> bytes:
            names = p.name.to_bytes(8, "big") + p.node.to_bytes(8, "big")
            return bytes([code, 0, 0, 0]) + bytes(4) + names + bytes(1) + p.id.to_bytes(3, "big")

        yield from service(w, a, b.id, 0xF004, body(0x52, a), body(2, b))
    elif kind == "farp":
        from conformance.tests.breaches.breach_services import farp

        w.emit(Frame(a.id, 0xFFFFFF, 0x22, wire.FIRST | wire.LAST | wire.END, 9, 0, 0xF100, type=1, raw=farp(0x54, a, b)))
        yield
        yield from service(w, b, a.id, 0xF101, bytes(farp(0x55, a, b)), bytes([2, 0, 0, 0]))
    else:
        fan = bytes([0x60, 0, 0, 0, 0, 0, 0, 1]) + (0x2000000000000050).to_bytes(8, "big") + (0x1000000000000050).to_bytes(8, "big")
        w.emit(Frame(0xFFFFFE, a.id, 0x22, wire.FIRST | wire.LAST | wire.END, 4, 0, 0xF005, type=1, raw=bytearray(fan)))
        yield


def draw(seed: int) -> Session:
    """Session number ``seed``."""
    w = Wire(seed)
    rng = w.rng
    ports = [w.port(i) for i in range(1, rng.choice((3, 3, 4)))]
    a, b = ports[0], ports[1]
    w.limit = rng.choice((2080, 2080, 480, 224))
    known = rng.random() < 0.8
    if known:
        for i, one in enumerate(ports):
            for two in ports[i + 1 :]:
                w.run(login(w, one, two, *rng.choice(((0x8002, 0x8002), (0xC002, 0x8002), (0x8802, 0xC802))), size=w.limit + 32))
    kind = rng.choice(("several", "several", "several", "losses", "losses", "logouts", "again"))
    if kind == "several":
        pairs = [(ports[i], ports[j]) for i in range(len(ports)) for j in range(i + 1, len(ports))]
        running: list[Any] = [life(w, *rng.choice(pairs)) for _ in range(rng.choice((1, 1, 2, 3, 5)))]
        running += [services(w, a, b)] * (rng.random() < 0.3)
        w.run(interleave(w, running))
    elif kind == "again":  # the identifiers of a Connection serve the next one as soon as R_A_TOV is over (8.4.2 f)
        c = pair(w, a, b, rng.choice((1, 2, 3)), 3, depth=rng.choice((0, 2)))
        for _ in range(3):
            w.run(connect(c))
            w.run(traffic(c, 3))
            w.run(disconnect(c, rng.random() < 0.5, answer_reason=rng.choice((0, 0x4B))))
            w.wait(R_A_TOV)
            c.a.msg_id = c.b.msg_id = c.a.done = c.b.done = 0
    elif kind == "losses":
        for _ in range(rng.choice((1, 2, 3))):
            w.run(losses(w, *rng.choice(((a, b), (b, a)))))
            w.wait(rng.choice((0, 2 * R_A_TOV)))
    else:
        for _ in range(3):
            w.run(life(w, a, b))
            w.run(logout(w, *rng.choice(((a, b), (b, a)))))
            for port in (a, b):  # every identifier is free again (8.4.2 g, 8.5.3 c)
                port.handles.clear()
                port.ids.clear()
                port.open_ox.clear()
                port.open_seq.clear()
            w.run(login(w, a, b, size=w.limit + 32))
    return Session(f"session{seed}-{kind}", *touch(rng, w.frames))


def touch(rng: random.Random, frames: list[Frame]) -> tuple[list[Frame], frozenset[str]]:
    """What the Fabric and the capture may do to it: duplicates, reordering, frames not captured, a capture cut at either end."""
    claims = set(CLAIMS)
    frames = list(frames)
    if rng.random() < 0.2 and frames:
        claims -= {"once", "order"}  # what the Fabric delivers again is not in the order in which it was sent
        again = []
        for f in frames:
            again.append(f)
            if rng.random() < 0.1 and f.r_ctl < 0x10:
                twin = duplicate(f)
                again.append(twin)
                if f.cls == 2:
                    same = (f.ox, f.seq_id, f.seq_cnt, f.dst)
                    answer = next((g for g in frames if g.r_ctl == 0xC0 and (g.ox, g.seq_id, g.seq_cnt, g.src) == same), None)
                    if answer:
                        other = duplicate(answer)
                        if f.seq_cnt == 0 and f.rx == 0xFFFF and not f.f_ctl >> 23:  # it may take it for a new Exchange
                            other.rx = rng.choice((answer.rx, 0x2222))
                        again.append(other)
        frames = again
    if rng.random() < 0.2:
        claims.discard("order")
        for _ in range(len(frames)):
            i = rng.randrange(max(1, len(frames) - 1))
            two = frames[i : i + 2]
            if len(two) == 2 and len({(f.src, f.dst, f.type) for f in two}) == 1 and two[0].type == 0x58:
                frames[i], frames[i + 1] = frames[i + 1], frames[i]
    if rng.random() < 0.2:
        claims.discard("all")
        frames = [f for f in frames if rng.random() > 0.07]
    if rng.random() < 0.15:
        claims.discard("start")
        frames = frames[rng.randrange(len(frames) + 1) :]
    if rng.random() < 0.15:
        frames = frames[: rng.randrange(len(frames) + 1)]
    times = sorted(f.at for f in frames)
    out = []
    for f, at in zip(frames, times):
        g = copy.copy(f)
        g.at = at
        out.append(g)
    return out, frozenset(claims)


def trusts() -> Iterator[tuple[str, ...]]:
    """Every set of claims."""
    for count in range(len(CLAIMS) + 1):
        yield from combinations(CLAIMS, count)


def judge_sessions(
    folder: Path, seed: int, count: int, every: bool = True, snap: int = 65535
) -> list[tuple[str, str, dict[str, Any]]]:
    """Alarms of lint on ``count`` sessions from number ``seed`` on, under each --trust that is true of them."""
    from conformance.tests.breaches.judge import bad, lint

    sessions = [draw(n) for n in range(seed, seed + count)]
    for s in sessions:
        write_pcap(folder / f"{s.name}.pcap", s.frames, snap)
    alarms = []
    for trust in trusts() if every else ((), CLAIMS):
        for timing in (False, True) if trust in ((), CLAIMS) else (True,):
            group = {str(folder / f"{s.name}.pcap"): s.name for s in sessions if s.claims >= set(trust) and s.frames}
            for path, findings in lint([Path(p) for p in group], ",".join(trust), timing).items():
                alarms += [(group[path], ",".join(trust) + " --r-a-tov" * timing, f) for f in findings if bad(f)]
    return alarms


def smallest(session: Session, requirement: str, trust: str, timing: bool, folder: Path) -> list[Frame]:
    """The fewest frames of the session's connections that still raise the alarm: whole Exchanges are left out one by one."""
    from conformance.tests.breaches.judge import bad, lint

    def alarmed(frames: list[Frame]) -> bool:
        path = folder / "smaller.pcap"
        write_pcap(path, frames)
        return any(bad(f) and f["requirement"] == requirement for f in lint([path], trust, timing)[str(path)])

    frames = list(session.frames)
    for key in {(min(f.src, f.dst), max(f.src, f.dst), f.ox) for f in frames}:
        fewer = [f for f in frames if (min(f.src, f.dst), max(f.src, f.dst), f.ox) != key]
        if fewer and alarmed(fewer):
            frames = fewer
    return frames


__all__ = ["Session", "draw", "judge_sessions", "smallest", "ack", "flows"]
