"""VERBS.21 to VERBS.23: completion queues that are armed, shared, full and overrun."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant

from conformance.verbs.steps.account import Wr
from conformance.verbs.steps.declare import MT, each, verbs
from conformance.verbs.steps.scenario import Told, Verbs
from conformance.verbs.steps.sets import QP_EVENTS
from conformance.verbs.steps.session import (
    OK, Cq, Node, Pair, Qp, alive, connect, event_of, good, nodes, pair, receives, returned, said, settled, start,
)  # fmt: skip


def armed_pair(t: Verbs, handler: int, **params: Any) -> Pair:
    """A pair whose b has a receive CQ on a channel, after the first message; its CQ is empty and not armed."""
    one, other = nodes(t)
    a, b = one.qp(**params), other.qp(recv_cq=other.cq(512, handler), **params)
    p = Pair(a, b, one.mem(4096), other.mem(4096))
    b.idle()
    first = b.recv(p.mb.sge(0, 8))
    connect(a, b)
    start(p, first)
    return p


def arm(t: Verbs, cq: Cq, solicited: bool = False) -> None:
    """Request a notification; it has to be accepted (8.2.5-05)."""
    call = cq.arm(solicited)
    t.require(returned(call), "8.2.5-05", "a request for notification", said(call), OK)


def send(p: Pair, count: int = 1) -> list[Wr]:
    """Messages to b; its Receives are posted before."""
    got = p.b.post([{"sges": [p.mb.sge(0, 8)], "times": count}], queue="rq").wrs
    sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 8)], "times": count}]).wrs
    return sent + got


@verbs(21, "Poll, arm, poll", "8.2.5-01 8.2.5-03..04 8.2.5-12", errata="B40 B41",
       variants=[*each("what", ["next", "once", "waiting", "empty"]), Variant("race", {"what": "race"}, MT)])  # fmt: skip
def poll_arm_poll(t: Verbs) -> None:
    """The next entry raises one event; entries that were there raise none (iWARP); whoever polls, arms and polls misses nothing."""
    _, other = nodes(t)
    handler = other.handler()
    p = armed_pair(t, handler, sq_size=32, rq_size=32)
    what, cq = t.params["what"], p.b.recv_cq
    if what == "empty":
        arm(t, cq)
        t.require(not cq.poll(), "8.2.5-04", "WCs of a CQ to which nothing came", "some", "none")
        wrs = send(p)
        seen = event_of(other, handler, t.bound_us)
        for row in ("8.2.5-04", "8.2.5-12"):
            t.require(seen == cq.cq, row, "the event of a CQ that was polled in vain behind its arming", seen, f"cq {cq.cq}")
        good(wrs, "6.2.2-04", "a message")
    elif what in ("next", "once"):
        arm(t, cq)
        wrs = send(p, 1 if what == "next" else 10)
        seen = event_of(other, handler, t.bound_us)
        t.require(seen == cq.cq, "8.2.5-04", "the event of the next entry of an armed CQ", seen, f"cq {cq.cq}")
        more = event_of(other, handler, t.quiet_us)
        t.require(more is None, "8.2.5-01", "a second event of one arming", more, "none")
        good(wrs, "6.2.2-04", "messages")
        if what == "once":
            good(send(p), "6.2.2-04", "a message to a CQ that was not armed again")
            more = event_of(other, handler, t.quiet_us)
            t.require(more is None, "8.2.5-01", "an event of a message to a CQ that was not armed again", more, "none")
    elif what == "waiting":
        wrs = send(p, 3)
        good(wrs[:3], "6.2.2-04", "Sends")
        settled(p)
        t.wait(t.quiet_us)
        arm(t, cq)
        seen = event_of(other, handler, t.quiet_us)
        if seen is not None and not t.iwarp:
            t.notice("8.2.5-04", "an event for entries that were there when the CQ was armed", seen, "none", "B40")
        t.require(seen is None, "8.2.5-03", "an event for entries that were there when the CQ was armed", seen, "none")
        if seen is None:
            late = send(p)
            good(late[:1], "6.2.2-04", "a Send to an armed CQ that is not empty")
            seen = event_of(other, handler, t.bound_us)
            t.require(seen == cq.cq, "8.2.5-04", "the event of the next entry of an armed CQ with entries", seen, f"cq {cq.cq}")
            good([*wrs, *late], "6.2.2-04", "messages")
            arm(t, cq)
            seen = None
        good(wrs, "6.2.2-04", "messages")
        if seen is None:
            good(send(p), "6.2.2-04", "a message to an armed CQ")
            seen = event_of(other, handler, t.bound_us)
            t.require(seen == cq.cq, "8.2.5-04", "the event of the next entry of an armed CQ", seen, f"cq {cq.cq}")
    else:
        race(t, p, other, handler)
    alive(t)


def race(t: Verbs, p: Pair, other: Node, handler: int) -> None:
    """A message and the arming at the same time, in threads of their own."""
    cq = p.b.recv_cq
    for turn in range(150):
        got = p.b.recv(p.mb.sge(0, 8))
        pause = t.rng.choice((0, 0, 0, 500, 2000))
        wr = [{"opcode": "SEND", "sges": [p.ma.sge(0, 8)]}]
        armed = p.b.node.start("RequestNotification", cq=cq.cq, solicited=False, thread=2)
        if pause:
            t.wait(pause)
        sent = p.a.post(wr).wrs
        t.finished(armed)
        t.require(returned(armed), "8.2.5-05", "a request for notification", said(armed), OK)
        cq.poll(1)
        if not got.wcs:
            seen = event_of(other, handler, t.bound_us)
            cq.poll(1)
            there = "there" if got.wcs else "not there"
            if not t.require(seen == cq.cq, "8.2.5-12", f"the event of round {turn}, whose entry is {there}", seen, f"cq {cq.cq}"):
                break
            t.reap([got])
        if not good([*sent, got], "8.2.5-12", f"the message of round {turn}"):
            break
        while event_of(other, handler, 1000) is not None:
            pass


@verbs(22, "Queues and QPs on CQs", "5.3-02..03 6.1.1-05 6.1.1-07 8.2.2-02",
       variants=each("what", ["send-only", "receive-only", "both", "eight"]))  # fmt: skip
def sharing(t: Verbs) -> None:
    """A CQ serves send queues, receive queues or both, and those of several QPs; each WC is in its CQ, once. The end of one of
    these QPs leaves the others alone."""
    one, other = nodes(t)
    what = t.params["what"]
    cq = one.cq(512)
    count = 8 if what == "eight" else 1
    if cq.entries < 16 * count:
        t.lack(f"the case needs a CQ of {16 * count} entries, and max_cqe is {cq.entries}")
    pairs = []
    for _ in range(count):
        send_cq = cq if what in ("send-only", "both", "eight") else None
        recv_cq = cq if what in ("receive-only", "both", "eight") else None
        pairs.append(joined(one.qp(send_cq=send_cq, recv_cq=recv_cq, row="5.3-02" if count == 1 else "5.3-03"), other.qp()))
    wrs: list[Wr] = []
    for p in pairs:
        wrs += receives(p.a, p.ma, 8, start=1024) + receives(p.b, p.mb, 8, start=1024)
    for k in range(8):
        for p in pairs:
            wrs += [p.a.send(p.ma.sge(64 * k, 64)), p.b.send(p.mb.sge(64 * k, 64))]
    good(wrs, "5.3-02" if count == 1 else "5.3-03", f"work whose WCs come through one CQ ({what})")
    cq.silent("8.2.4-04", "WCs beyond those that were due", t.quiet_us // 5)
    if count > 1:
        waiting = [p.a.recv(p.ma.sge(1024 + 64 * k, 64)) for k in range(2) for p in pairs[1:]]
        good([p.b.send(p.mb.sge(0, 64)) for p in pairs[1:]], "5.3-03", "Sends")
        t.wait(t.quiet_us // 5)  # their Receives are done, and nobody has polled them
        pairs[0].a.flush()
        sent = [p.b.send(p.mb.sge(0, 64)) for p in pairs[1:]]
        good([*sent, *waiting], "5.3-03", "work beside a QP of the same CQ that has ended")
    alive(t)


def joined(a: Qp, b: Qp) -> Pair:
    """A connection of two QPs that are there, and its first message."""
    p = Pair(a, b, a.node.mem(4096), b.node.mem(4096))
    b.idle()
    first = b.recv(p.mb.sge(0, 8))
    connect(a, b)
    start(p, first)
    return p


@verbs(23, "A CQ that is overrun, and one that is kept full", "5.3.1-05..06 8.2.4-02 8.3.3-14", errata="B22 B53",
       variants=each("what", ["overrun", "full"]))  # fmt: skip
def overrun(t: Verbs) -> None:
    """Whatever becomes of the CQ that is overrun and of its QP, others go on. A CQ that is exactly full loses nothing."""
    one, other = nodes(t)
    cq = one.cq(4)
    if cq.entries > 512:
        t.lack(f"the smallest CQ that can be had has {cq.entries} entries")
    size = cq.entries + 16
    victim = joined(one.qp(recv_cq=cq, rq_size=size + 1), other.qp(sq_size=size + 1)).back()
    if t.params["what"] == "full":
        full(t, victim, cq)
        alive(t)
        return
    near = pair(t, sq_size=64, rq_size=64)
    waiting = receives(near.b, near.mb, 20)
    good(near.a.post([{"opcode": "SEND", "sges": [near.ma.sge(0, 64)], "times": 20}]).wrs, "6.2.2-04", "Sends of the bystander")
    settled(near)
    before = len(_all(t))
    victim.b.post([{"sges": [victim.mb.sge(0, 8)], "times": size}], queue="rq")
    sent = victim.a.post([{"opcode": "SEND", "sges": [victim.ma.sge(0, 8)], "times": size}], must=False)
    t.wait(t.quiet_us)
    for qp in (victim.a, victim.b):
        qp.abandon()
    cq.gone = victim.a.send_cq.gone = victim.a.recv_cq.gone = victim.b.send_cq.gone = True
    del sent
    good(waiting, "5.3.1-06", "entries that waited in the CQ of a bystander")
    for _ in range(5):
        got = near.b.post([{"sges": [near.mb.sge(0, 64)], "times": 20}], queue="rq").wrs
        wrs = near.a.post([{"opcode": "SEND", "sges": [near.ma.sge(0, 64)], "times": 20}]).wrs
        good(wrs + got, "5.3.1-05", "transfers of a bystander")
    known = (victim.a.qp, victim.b.qp)
    strange = [e for e in _all(t)[before:] if e.get("qp") not in known]
    t.require(not strange, "5.3.1-05", "asynchronous events of others than the QPs of the CQ", strange, "none")
    for told in t.events(one.end.number, names=frozenset({"CQ_ERR"})):
        t.require(told.get("cq") == cq.cq, "8.3.3-14", "the CQ that its event names", told.get("cq"), cq.cq)
    alive(t)


def _all(t: Verbs) -> list[Told]:
    """Asynchronous errors of QPs at both ends."""
    return [e for e in t.told if e.kind == "async" and e.event in QP_EVENTS]


def full(t: Verbs, p: Pair, cq: Cq) -> None:
    """As many entries as there are; then one is polled and one more comes, again and again."""
    got = p.b.post([{"sges": [p.mb.sge(0, 8)], "times": cq.entries}], queue="rq").wrs
    wr = {"opcode": "SEND", "sges": [p.ma.sge(0, 8)]}
    good(p.a.post([{**wr, "times": cq.entries}]).wrs, "8.2.4-02", "Sends whose Receives fill a CQ")
    settled(Pair(p.a, p.b, p.ma, p.mb))
    for turn in range(60):
        cq.poll(1, t.bound_us)
        got.append(p.b.recv(p.mb.sge(0, 8)))
        if not good([p.a.send(p.ma.sge(0, 8))], "8.2.4-02", f"the Send of round {turn}"):
            return
    good(got, "8.2.4-02", f"entries of a CQ that was kept full with {cq.entries}")
