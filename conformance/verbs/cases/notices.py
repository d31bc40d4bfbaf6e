"""VERBS.74 to VERBS.77: notifications of completion queues, and asynchronous events."""

from __future__ import annotations

from typing import Any

from conformance.verbs.cases.queues import arm, armed_pair, send
from conformance.verbs.cases.states import unknown
from conformance.verbs.steps.account import Wr
from conformance.verbs.steps.declare import IWARP, MW, SRQ, each, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.session import (
    ALL, MW_BIND, Cq, Node, Pair, Qp, alive, connect, event_of, good, heard, has_read, hex64, nodes, pair, receives, returned, said,
    settled, start,
)  # fmt: skip
from conformance.verbs.steps.shared import Shared
from conformance.verbs.steps.windows import next_key, window


@verbs(74, "Armed for solicited completions", "8.2.5-05..08", errata="B39 B40 B106",
       variants=each("what", ["solicited", "error", "plain", "invalidate", "send-error", "srq"],
                     {"invalidate": "send_with_inv", "srq": SRQ}))  # fmt: skip
def solicited(t: Verbs) -> None:
    """A solicited Send and an error raise the event. A plain success need not, and one event too many harms nobody."""
    if t.params["what"] in ("send-error", "srq"):
        (send_error if t.params["what"] == "send-error" else through_srq)(t)
        alive(t)
        return
    _, other = nodes(t)
    handler = other.handler()
    p = armed_pair(t, handler)
    cq = p.b.recv_cq
    got = p.b.recv(p.mb.sge(0, 8))
    call = cq.arm(True)
    t.require(returned(call), "8.2.5-05", "a request for the next solicited completion", said(call), "success")
    what = t.params["what"]
    if what == "plain":
        good([p.a.send(p.ma.sge(0, 8)), got], "6.2.2-04", "a plain Send")
        seen = event_of(other, handler, t.quiet_us)
        if seen is not None:
            t.notice("8.2.5-08", "an event of a plain Send at a CQ that waits for a solicited one", seen, "none", "B40")
        got = p.b.recv(p.mb.sge(0, 8))
        if seen is not None:
            arm(t, cq, True)
        good([p.a.send(p.ma.sge(0, 8), flags=["SIGNALED", "SOLICITED"]), got], "6.2.2-04", "a solicited Send")
        seen = event_of(other, handler, t.bound_us)
        t.require(seen == cq.cq, "8.2.5-06", "the event of a solicited Send behind a plain one", seen, f"cq {cq.cq}")
    elif what == "solicited":
        good([p.a.send(p.ma.sge(0, 8), flags=["SIGNALED", "SOLICITED"]), got], "6.2.2-04", "a solicited Send")
        seen = event_of(other, handler, t.bound_us)
        t.require(seen == cq.cq, "8.2.5-06", "the event of a solicited Send", seen, f"cq {cq.cq}")
        got = p.b.recv(p.mb.sge(0, 8))
        arm(t, cq)
        good([p.a.send(p.ma.sge(0, 8)), got], "6.2.2-04", "a plain Send")
        seen = event_of(other, handler, t.bound_us)
        t.require(seen == cq.cq, "8.2.5-05", "the event of the next completion of any kind", seen, f"cq {cq.cq}")
    elif what == "invalidate":
        wr = {"opcode": "SEND_WITH_INV", "sges": [p.ma.sge(0, 8)], "invalidate": other.mem(64).rkey}
        t.reap([*p.a.post([{**wr, "flags": ["SIGNALED", "SOLICITED"]}], must=False).wrs, got])
        if not got.good:
            t.skip("a Send with Invalidate of a region does not succeed, which VERBS.67 judges (B106)")
        seen = event_of(other, handler, t.bound_us)
        t.require(seen == cq.cq, "8.2.5-06", "the event of a solicited Send with Invalidate", seen, f"cq {cq.cq}")
    else:
        p.b.flush()
        seen = event_of(other, handler, t.bound_us)
        t.require(seen == cq.cq, "8.2.5-07", "the event of a completion in error", seen, f"cq {cq.cq}")
    alive(t)


def _started(a: Qp, b: Qp) -> Pair:
    """These QPs connected, with their first message behind them."""
    p = Pair(a, b, a.node.mem(1024), b.node.mem(1024))
    b.idle()
    first = b.recv(p.mb.sge(0, 8))
    connect(a, b)
    start(p, first)
    return p


def send_error(t: Verbs) -> None:
    """The error of a Send, at the CQ of a send queue."""
    one, other = nodes(t)
    handler = one.handler()
    cq = one.cq(64, handler)
    p = _started(one.qp(send_cq=cq), other.qp())
    arm(t, cq, True)
    made = p.a.post([{"opcode": "SEND", "sges": [unknown(t, p.ma)]}], must=False)
    if not made.wrs:
        t.lack("a Send with an unknown STag is refused at once, so that no error begins (B54)")
    seen = event_of(one, handler, t.bound_us)
    t.require(seen == cq.cq, "8.2.5-07", "the event of a Send that completed in error", seen, f"cq {cq.cq}")
    t.reap(made.wrs)


def through_srq(t: Verbs) -> None:
    """Receives of an SRQ at the CQ of its QP: a solicited one, and one of any kind."""
    other = nodes(t)[1]
    handler, s = other.handler(), Shared(t)
    cq = other.cq(64, handler)
    p = s.peer(recv_cq=cq)
    for solicited, row in ((True, "8.2.5-06"), (False, "8.2.5-05")):
        s.post(1)
        arm(t, cq, solicited)
        sent = p.a.send(p.ma.sge(0, 8), flags=["SIGNALED", *(["SOLICITED"] if solicited else [])])
        seen = event_of(other, handler, t.bound_us)
        t.require(seen == cq.cq, row, "the event of a Receive of an SRQ", seen, f"cq {cq.cq}")
        s.came([p], 1)
        good([sent], "6.2.2-04", "a Send to a QP of an SRQ")


_KINDS = ["receive", "send", "write", "read", "bind", "invalidate"]


@verbs(75, "Arming", "8.2.5-01..02 8.2.5-05 8.2.5-09..11 8.2.5-14", errata="B40",
       variants=[*each("kind", _KINDS, {"bind": MW, "invalidate": f"{MW} and local_inv"}),
                 *each("what", ["both-ways", "five-times", "two-cqs", "two-qps", "stay"])])  # fmt: skip
def arming(t: Verbs) -> None:
    """Each kind of completion raises the event of an armed CQ, once however often it was armed; the WCs stay where they are."""
    one, _ = nodes(t)
    handler = one.handler()
    p = armed_pair(t, t.b.handler()).back()  # a, with a channel of its own, is told of below
    del p
    if "kind" in t.params:
        of_kind(t, one, handler, t.params["kind"])
    else:
        what = {"both-ways": both_ways, "five-times": five_times, "two-cqs": two_cqs, "two-qps": two_qps, "stay": stay}
        what[t.params["what"]](t)
    alive(t)


def of_kind(t: Verbs, one: Node, handler: int, kind: str) -> None:
    """One completion of a kind at an armed CQ."""
    if kind == "read" and not has_read(t):
        t.skip("the device has no RDMA Read")
    _, other = nodes(t)
    cq = one.cq(64, handler)
    p = _started(one.qp(cq=cq), other.qp())
    arm(t, cq)
    wrs = one_of(p, kind)
    seen = event_of(one, handler, t.bound_us)
    t.require(seen == cq.cq, "8.2.5-09", f"the event of a {kind}", seen, f"cq {cq.cq}")
    good(wrs, "8.2.5-14", f"the WC of a {kind} behind its event")
    more = event_of(one, handler, t.quiet_us // 2)
    t.require(more is None, "8.2.5-01", "a second event of one arming", more, "none")
    good(one_of(p, kind), "6.2.2-04", f"another {kind}, without arming")
    more = event_of(one, handler, t.quiet_us // 2)
    t.require(more is None, "8.2.5-01", f"an event of another {kind}, without arming", more, "none")


def one_of(p: Pair, kind: str) -> list[Wr]:
    """What makes a completion of the kind at a; a completion of b's, if it has one, comes with it."""
    a, b = p.a, p.b
    if kind in ("bind", "invalidate"):
        return [of_a_window(a, kind)]
    if kind == "receive":
        return [a.recv(p.ma.sge(64, 8)), b.send(p.mb.sge(0, 8))]
    if kind == "send":
        return [b.recv(p.mb.sge(64, 8)), a.send(p.ma.sge(0, 8))]
    return [(a.write if kind == "write" else a.read)(p.mb.remote(512), p.ma.sge(512, 8))]


def of_a_window(a: Qp, kind: str) -> Wr:
    """A bind, or an Invalidate of a window that was never bound: its PD alone is checked."""
    t, mw = a.t, window(a.node)
    if mw.kind == 1:
        t.skip("windows of type 1 are bound by a call of their own, and not invalidated (B65)")
    wr: dict[str, Any] = {"opcode": "LOCAL_INV", "sges": [], "invalidate": mw.rkey}
    if kind == "bind":
        mem = a.node.mem(64, access=(*ALL, MW_BIND))
        where = {"mw": mw.mw, "rkey": next_key(mw.rkey), "mr": mem.mr, "addr": hex64(mem.va), "length": 64,
                 "access": ["REMOTE_READ"]}  # fmt: skip
        wr = {"opcode": "BIND_MW", "sges": [], "bind": where}
    return a.post([wr]).wrs[0]


def both_ways(t: Verbs) -> None:
    """Armed for solicited and for the next, in both orders."""
    _, other = nodes(t)
    for order in ((True, False), (False, True)):
        handler = other.handler()
        p = armed_pair(t, handler)
        for kind in order:
            arm(t, p.b.recv_cq, kind)
        wrs = send(p)
        seen = event_of(other, handler, t.bound_us)
        t.require(seen == p.b.recv_cq.cq, "8.2.5-10", "the event of a plain Send at a CQ that was armed for both", seen,
                  f"cq {p.b.recv_cq.cq}")  # fmt: skip
        good(wrs, "6.2.2-04", "a plain Send")


def five_times(t: Verbs) -> None:
    """Armed five times, and one completion."""
    _, other = nodes(t)
    handler = other.handler()
    p = armed_pair(t, handler)
    for _ in range(5):
        arm(t, p.b.recv_cq)
    wrs = send(p)
    seen = event_of(other, handler, t.bound_us)
    t.require(seen == p.b.recv_cq.cq, "8.2.5-09", "the event of a CQ that was armed five times", seen, f"cq {p.b.recv_cq.cq}")
    more = event_of(other, handler, t.quiet_us)
    t.require(more is None, "8.2.5-11", "a second event of a CQ that was armed five times", more, "none")
    good(wrs, "6.2.2-04", "a plain Send")


def two_cqs(t: Verbs) -> None:
    """Two channels, each with a CQ."""
    _, other = nodes(t)
    handlers = [other.handler(), other.handler()]
    pairs = [armed_pair(t, handler) for handler in handlers]
    for p in pairs:
        arm(t, p.b.recv_cq)
    for k in (1, 0):
        good(send(pairs[k]), "6.2.2-04", "a Send")
        seen = event_of(other, handlers[k], t.bound_us)
        own = pairs[k].b.recv_cq.cq
        t.require(seen == own, "8.2.5-02", "the event on the channel of a CQ", seen, f"cq {own}")
        stray = event_of(other, handlers[1 - k], t.quiet_us // 2) if k else None
        t.require(stray is None, "8.2.5-02", "an event on the channel of another CQ", stray, "none")


def two_qps(t: Verbs) -> None:
    """A CQ of two QPs: a completion of either raises the event."""
    one, other = nodes(t)
    handler = other.handler()
    p = armed_pair(t, handler)
    cq = p.b.recv_cq
    q = Pair(one.qp(), other.qp(recv_cq=cq), one.mem(4096), other.mem(4096))
    q.b.idle()
    first = q.b.recv(q.mb.sge(0, 8))
    connect(q.a, q.b)
    start(q, first)
    for which, of in enumerate((q, p, q)):
        arm(t, cq)
        wrs = send(of)
        seen = event_of(other, handler, t.bound_us)
        t.require(seen == cq.cq, "8.2.5-09", f"event {which + 1} of a CQ that two QPs have", seen, f"cq {cq.cq}")
        good(wrs, "6.2.2-04", "a Send")


def stay(t: Verbs) -> None:
    """The WCs are there when the event has come."""
    _, other = nodes(t)
    handler = other.handler()
    p = armed_pair(t, handler)
    arm(t, p.b.recv_cq)
    wrs = send(p, 8)
    seen = event_of(other, handler, t.bound_us)
    t.require(seen is not None, "8.2.5-09", "the event of the next completion", seen, "one")
    settled(p)
    t.wait(t.quiet_us // 2)
    good(wrs, "8.2.5-14", "WCs that are polled after their event")
    good(send(p), "6.2.2-04", "a message to a CQ that was not armed again")
    more = event_of(other, handler, t.quiet_us // 2)
    t.require(more is None, "8.2.5-01", "an event of a message to a CQ that was not armed again", more, "none")


@verbs(76, "Channels", "5.3.4-05 8.2.5-13 9.4.1-01..03", errata="B47",
       variants=each("what", ["eight", "never-armed", "destroyed", "vectors"]))  # fmt: skip
def channels(t: Verbs) -> None:
    """An event carries the CQ it is for. A CQ that was never armed raises none, and one that is gone neither."""
    _, other = nodes(t)
    handler = other.handler()
    if isinstance(other.vectors, int):
        t.require(other.vectors >= 1, "9.4.1-01", "completion vectors", other.vectors, "at least 1")
    if t.params["what"] == "vectors":
        by_vector(t, other)
    elif t.params["what"] == "never-armed":
        p = armed_pair(t, handler)
        good(send(p, 10), "6.2.2-04", "Sends")
        seen = event_of(other, handler, t.quiet_us)
        t.require(seen is None, "9.4.1-03", "an event of a CQ that was never armed", seen, "none")
    elif t.params["what"] == "eight":
        pairs = [armed_pair(t, handler) for _ in range(8)]
        for p in pairs:
            arm(t, p.b.recv_cq)
        for p in reversed(pairs):
            good(send(p), "6.2.2-04", "a Send")
            seen = event_of(other, handler, t.bound_us)
            t.require(seen == p.b.recv_cq.cq, "8.2.5-13", "the CQ of an event of eight", seen, p.b.recv_cq.cq)
    else:
        p, q = armed_pair(t, handler), armed_pair(t, handler)
        arm(t, p.b.recv_cq)
        arm(t, q.b.recv_cq)
        p.b.flush()
        p.b.recv_cq.empty()
        while event_of(other, handler, t.quiet_us // 5) is not None:
            pass
        t.require(returned(p.b.destroy()), "6.1.4-07", "destroying a QP", "refused", "success")
        gone = p.b.recv_cq
        t.require(returned(gone.destroy()), "5.3.4-03", "destroying a CQ that nothing uses", "refused", "success")
        good(send(q), "6.2.2-04", "a Send")
        seen = event_of(other, handler, t.bound_us)
        left = q.b.recv_cq.cq
        t.require(seen == left, "5.3.4-05", "the CQ of an event when another of the channel is gone", seen, left)
        more = event_of(other, handler, t.quiet_us // 2)
        t.require(more is None, "5.3.4-05", "a second event", more, "none")
    alive(t)


def by_vector(t: Verbs, other: Node) -> None:
    """A handler for each of some completion vectors: each hears of the CQ that is its own, and of no other."""
    count = min(other.vectors if isinstance(other.vectors, int) else 1, 4)
    if count < 2:
        t.skip("the device has one completion vector")
    handlers = [other.handler()]
    for _ in range(count - 1):
        made = other.call("SetCompletionEventHandler", rnic=other.rnic)
        if not returned(made):
            t.skip("the device has one completion event handler")
        handlers.append(made.integer("handler"))
    pairs = []
    for vector, handler in enumerate(handlers):
        made = other.call("CreateCq", rnic=other.rnic, entries=min(64, other.attr("max_cqe") or 64), handler=handler,
                          vector=vector)  # fmt: skip
        other.good(made, "5.3.1-03", f"a CQ of vector {vector}")
        cq = Cq(other, made.integer("cq"), made.integer("entries"), handler)
        pairs.append(_started(nodes(t)[0].qp(), other.qp(recv_cq=cq)))
        receives(pairs[-1].b, pairs[-1].mb, 1)
        arm(t, cq)
    for p, handler in zip(reversed(pairs), reversed(handlers)):
        good([p.a.send(p.ma.sge(0, 8))], "6.2.2-04", "a Send")
        seen = event_of(other, handler, t.bound_us)
        t.require(seen == p.b.recv_cq.cq, "9.4.1-02", "the event at the handler of a CQ", seen, p.b.recv_cq.cq)
    for handler in handlers:
        more = event_of(other, handler, t.quiet_us // 2)
        t.require(more is None, "9.4.1-02", "an event of another handler's CQ", more, "none")


@verbs(77, "Asynchronous events", "6.2.2.3-05 6.2.3-07 7.4.2-03 7.4.2-06 8.3.3-01..05 8.3.3-08..10 9.4.2-01",
       errata="B44 B53 B57 B59", variants=each("what", ["sixteen", "bystander", "reads", "own-errors"],
                                               {"sixteen": IWARP, "reads": IWARP, "own-errors": IWARP}))  # fmt: skip
def events(t: Verbs) -> None:
    """Each names the QP that it is about. None is lost when it is read late, and none comes besides a WC."""
    what = t.params["what"]
    one, other = nodes(t)
    if what == "sixteen":
        pairs = [pair(t, 1024) for _ in range(8)]
        other.end.call("agent.hold", **{"async": True})
        for k, p in enumerate(pairs):
            remote = p.mb.remote(0, rkey=unknown(t, p.mb)["lkey"]) if k % 2 else p.mb.remote(1 << 20)
            p.a.post([{"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 8)], "remote": remote}], must=False)
        t.wait(t.quiet_us)
        other.end.call("agent.hold", **{"async": False})
        missing = [p.b.qp for p in pairs if not p.b.told(t.bound_us)]
        t.require(not missing, "8.3.3-01", "QPs with a protection error and no event, which was read late", missing, "none")
        for k, p in enumerate(pairs):
            row = "8.3.3-03" if k % 2 else "8.3.3-04"
            t.require(p.b.qp not in missing, row, "the event of a Write that was refused", "none", "one")
            told = t.until(lambda p=p: heard(t, p.a), t.bound_us)  # type: ignore[misc]
            t.require(told, "6.2.2.3-05", "what the initiator is told", "nothing", "an event")
    elif what == "bystander":
        near = pair(t, 1024)
        p = pair(t, 1024)
        remote = p.mb.remote(0, rkey=unknown(t, p.mb)["lkey"])
        t.reap(p.a.post([{"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 8)], "remote": remote}], must=False).wrs)
        t.wait(t.quiet_us)
        strange = [e for q in (near.a, near.b) for e in t.events(q.end, q.qp)]
        t.require(not strange, "8.3.3-02", "events that name a bystander", strange, "none")
        named = [e for e in t.told if e.kind == "async" and e.event in ("QP_ACCESS_ERR", "QP_REQ_ERR") and e.get("qp") is None]
        t.require(not named, "8.3.3-02", "events that name a QP nobody knows", named, "none")
        good([*receives(near.b, near.mb, 1), near.a.send(near.ma.sge(0, 64))], "8.3.3-02", "a message of the bystander")
    elif what == "reads":
        if not has_read(t):
            t.skip("the device has no RDMA Read")
        foreign = other.pd_new()
        ways: list[tuple[str, Any]] = [
            ("8.3.3-08", lambda p: p.mb.remote(0, rkey=unknown(t, p.mb)["lkey"])),
            ("8.3.3-09", lambda p: p.mb.remote(p.mb.length - 7)),
            ("8.3.3-10", lambda p: other.mem(64, pd=foreign).remote(0)),
            ("7.4.2-06", lambda p: other.mem(64, access=("LOCAL_WRITE", "REMOTE_WRITE")).remote(0)),
        ]  # fmt: skip
        for row, way in ways:
            p = pair(t, 1024)
            made = p.a.post([{"opcode": "RDMA_READ", "sges": [p.ma.sge(0, 8)], "remote": way(p)}], must=False).wrs
            t.reap(made)
            t.require(bool(p.b.told(t.bound_us)), row, "the event of a Read that was refused", "none", "one of its QP")
        p = pair(t, 1024)
        p.a.post([{"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 8)],
                   "remote": other.mem(64, access=("LOCAL_WRITE",)).remote(0)}], must=False)  # fmt: skip
        t.require(bool(p.b.told(t.bound_us)), "7.4.2-03", "the event of a Write without the right", "none", "one of its QP")
        p = pair(t, 1024)
        p.a.post([{"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 8)], "remote": other.mem(64, pd=foreign).remote(0)}], must=False)
        t.require(bool(p.b.told(t.bound_us)), "8.3.3-05", "the event of a Write to another PD", "none", "one of its QP")
    else:
        p = pair(t, 1024)
        wrs = p.a.post([{"opcode": "SEND", "sges": [unknown(t, p.ma)]}], must=False).wrs
        t.reap(wrs)
        p.a.disconnected()
        t.wait(t.quiet_us)
        seen = [e.event for e in t.events(p.a.end, p.a.qp)] if wrs else []
        t.require(not seen, "6.2.3-07", "events besides the WC of a Send at fault", seen, "none")
        p = pair(t, 1024)
        short = p.b.recv(p.mb.sge(0, 4))
        p.a.send(p.ma.sge(0, 64))
        t.reap([short])
        p.b.disconnected()
        t.wait(t.quiet_us)
        seen = [e.event for e in t.events(p.b.end, p.b.qp)]
        t.require(not seen, "6.2.3-07", "events besides the WC of a Receive that was too short", seen, "none")
    alive(t)
