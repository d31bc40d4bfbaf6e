"""VERBS.99 to VERBS.101: entries of a CQ that are freed, what an Immediate Error leaves alone, and lists of buffers."""

from __future__ import annotations

from conformance.verbs.cases.states import unknown
from conformance.verbs.steps.declare import IWARP, each, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.session import (
    OK, REMOTE_WRITE, Cq, Node, Pair, alive, connect, good, nodes, pair, receives, returned, said, start,
)  # fmt: skip

_MANY = 512
_NO_END = 2**31 - 1


@verbs(99, "Entries of a CQ behind a QP that was destroyed", "6.1.4-10 8.2.4-06", errata="B22 B60",
       variants=each("way", ["empty", "later"]))  # fmt: skip
def entries_freed(t: Verbs) -> None:
    """Polled until it is empty, or by the WC of a later WR, the CQ has room for all its entries again."""
    one, other = nodes(t)
    cq = other.cq(8)
    if cq.entries > min(_MANY, other.room(_MANY), one.room(_MANY)):
        t.skip(f"the smallest CQ has {cq.entries} entries, more than the queues of a QP")
    _abandoned(t, cq)
    if t.params["way"] == "empty":
        cq.empty()
    p = _with(t, cq)  # its first message is the later WR
    got = receives(p.b, p.mb, cq.entries, length=8)
    sent = [p.a.send(p.ma.sge(0, 8)) for _ in got]
    good(sent, "6.2.2-04", "Sends that fill a CQ")
    t.wait(t.quiet_us)
    t.reap(got)
    bad = sum(not wr.good for wr in got)
    for row in ("8.2.4-06", "6.1.4-10"):
        t.require(not bad, row, f"{cq.entries} WCs of a CQ of {cq.entries} that a destroyed QP had used",
                  f"{bad} are missing or failed", "a success each")  # fmt: skip
    alive(t)


def _with(t: Verbs, cq: Cq) -> Pair:
    """A pair whose far end has its Receives on this CQ, behind a first message whose WC was polled."""
    one, other = nodes(t)
    size = cq.entries
    p = Pair(one.qp(sq_size=size), other.qp(rq_size=size, recv_cq=cq), one.mem(64), other.mem(8 * _MANY))
    p.b.idle()
    first = p.b.recv(p.mb.sge(0, 8))
    connect(p.a, p.b)
    start(p, first)
    return p


def _abandoned(t: Verbs, cq: Cq) -> None:
    """A QP that is destroyed with WCs on the CQ and Receives outstanding, together less than its entries (5.3.1)."""
    p = _with(t, cq)
    got = receives(p.b, p.mb, cq.entries - 1, length=8)
    good([p.a.send(p.ma.sge(0, 8)) for _ in got[: len(got) // 2]], "6.2.2-04", "Sends")
    call = p.b.destroy()
    t.require(returned(call), "6.1.4-08", "destroying a QP with WRs outstanding", said(call), OK)
    p.a.abandon()


@verbs(100, "What an Immediate Error leaves alone", "8.3.1-05", errata="B36 B44 B53",
       variants=each("what", ["attributes", "events"], {"events": IWARP}))  # fmt: skip
def left_alone(t: Verbs) -> None:
    """Behind calls that were refused the RNIC tells of itself what it told before, and no asynchronous event is lost."""
    _, other = nodes(t)
    if t.params["what"] == "attributes":
        before = _told(other)
        if _told(other) != before:
            t.skip("what the device tells of itself changes by itself")
        if not _refused(other):
            t.lack("no call is refused")
        after = _told(other)
        odd = sorted(name for name in {**before, **after} if before.get(name) != after.get(name))
        t.require(not odd, "8.3.1-05", "attributes of the RNIC that changed behind calls that were refused", ", ".join(odd), "none")
    else:
        p = pair(t)
        if not _refused(other):
            t.lack("no call is refused")
        told = _told_of(p, t)
        if not told:  # an event that never comes breaks another row
            if not _told_of(pair(t), t):
                t.lack("the target of a Write with an unknown STag is told nothing, which VERBS.31 judges")
        t.require(told, "8.3.1-05", "the asynchronous event behind calls that were refused", "lost", "told")
    alive(t)


def _told(node: Node) -> dict[str, object]:
    return dict(node.call("QueryRnic", rnic=node.rnic).table("attributes"))


def _refused(node: Node) -> bool:
    """Calls with the RNIC, and with a PD, that have to be refused (5.3.1, 7.4.2); whether one was."""
    most = node.attr("max_cqe")
    calls = [node.register_call(node.raw(256), 0, 256, access=[REMOTE_WRITE])]
    if 0 < most < _NO_END:
        calls.append(node.call("CreateCq", rnic=node.rnic, entries=most + 1))
    return not all([returned(call) for call in calls])


def _told_of(p: Pair, t: Verbs) -> bool:
    """Whether the target is told of a Write whose STag is unknown."""
    bad = {"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 64)], "remote": p.mb.remote(0, rkey=unknown(t, p.mb)["lkey"])}
    t.reap(p.a.post([bad], must=False).wrs)
    return bool(p.b.told(t.bound_us))


@verbs(101, "Lists of buffers at both ends of a message", "8.1.2.1-07", variants=each("what", ["apart", "unlike"]))  # fmt: skip
def lists(t: Verbs) -> None:
    """A Send takes its bytes from a list, a Receive puts them into one, and the lists need not be alike."""
    sizes, theirs = {"apart": ((13, 50, 1), (13, 50, 1)), "unlike": ((5, 59), (31, 1, 40))}[t.params["what"]]
    most = min(node.attr("max_sge") for node in nodes(t))
    if most < 3:
        t.skip(f"max_sge is {most}")
    p = pair(t, sq_sges=3, rq_sges=3)
    at = 0
    for k, size in enumerate(sizes):
        p.ma.pattern(7 + at, 100 * k, size)
        at += size
    got = p.b.recv(*[p.mb.sge(1000 - 300 * k, size) for k, size in enumerate(theirs)])
    sent = p.a.send(*[p.ma.sge(100 * k, size) for k, size in enumerate(sizes)])
    good([sent, got], "8.1.2.1-07", "a Send and a Receive of several buffers")
    at, wrong = 0, []
    for k, size in enumerate(theirs):
        part = min(size, 64 - at)
        wrong += [k] if p.mb.wrong(7 + at, 1000 - 300 * k, part) else []
        at += part
    t.require(not wrong, "8.1.2.1-07", "buffers of a Receive without the bytes of their place", wrong, "none")
    alive(t)
