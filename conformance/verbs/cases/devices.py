"""VERBS.56, 58 and 89 to 92: what a device says of itself, and the attributes of QPs that it makes or changes."""

from __future__ import annotations

from typing import Any

from conformance.verbs.cases.objects import success
from conformance.verbs.steps.declare import CM, IWARP, each, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.session import (
    OK, REFUSED, Node, Pair, Qp, alive, connect, flushed, good, has_read, heard, join, message, need_read, nodes, pair, prime,
    receives, returned, said,
)  # fmt: skip

_ENOMEM, _EOPNOTSUPP = 12, 95
_OTHER = {"sq_sges": "rq_sges", "rq_sges": "sq_sges"}
_NO_END = 2**31 - 1  # a maximum that cannot be passed
_RESIZE_MAX_WR = 1 << 0
_POSITIVE = ("max_qp", "max_qp_wr", "max_sge", "max_cq", "max_cqe", "max_mr", "max_pd")


@verbs(56, "What the device tells of itself", "5.1.2-01 5.1.3-01 5.1.3-02 5.2-01 6.5-01 6.5-11 8.1.3.2-08 8.1.3.2-10 9.2.5.1-01",
       errata="B36 B47 B55 B66 B101",
       variants=each("what", ["attributes", "beyond", "many", "elements", "four", "reads"]))  # fmt: skip
def attributes(t: Verbs) -> None:
    """The attributes can be had, are not zero, and are the limits of what can be made."""
    one, other = nodes(t)
    what = t.params["what"]
    if what == "attributes":
        for node in (one, other):
            missing = [name for name in _POSITIVE if node.attr(name) <= 0]
            t.require(not missing, "5.1.3-01", "attributes of a device that are 0", ", ".join(missing), "none")
    elif what == "beyond":
        for name, asked in (("max_cqe", "entries"), ("max_qp_wr", "sq_size"), ("max_qp_wr", "rq_size"), ("max_sge", "sq_sges"),
                            ("max_sge", "rq_sges")):  # fmt: skip
            beyond(t, one, name, asked)
    elif what == "many":
        pd = one.pd_new()
        a, b = one.qp(pd=pd, row="5.2-01"), one.qp(pd=pd, row="5.2-01")
        for qp in (a, b):
            success(t, "6.1.4-07", "destroying a QP", qp.destroy())
        several(t, one)
    elif what == "elements":
        most = one.attr("max_sge")
        t.require(most > 0, "8.1.3.2-08", "max_sge", most, "more than 0")
        elements(t, most, "8.1.3.2-08")
    elif what == "four":
        most = min(one.attr("max_sge"), other.attr("max_sge"))
        if not t.iwarp and most < 4:
            t.skip("fewer than four elements, which an InfiniBand provider may have")
        if t.require(most >= 4, "8.1.3.2-10", "max_sge", most, "at least 4"):
            elements(t, 4, "8.1.3.2-10")
    else:
        if not has_read(t):
            without_reads(t, one, other)
        need_read(t)
        total, qps = one.attr("max_res_rd_atom"), one.attr("max_qp")
        if 0 < total < qps:
            t.notice("6.5-11", "max_res_rd_atom", total, f"at least max_qp, {qps}", "B47")
    alive(t)


def without_reads(t: Verbs, one: Node, other: Node) -> None:
    """A limit of 0 is the word of a device that does no Reads: it grants none, or what it granted serves none."""
    a, b = one.qp(), other.qp()
    if not join(a, b, ord=1, ird=1, answer=(1, 1), beyond=True).established:
        alive(t)
        return
    p = Pair(a, b, one.mem(64), other.mem(64))
    prime(p)
    p.mb.pattern(7, 0, 64)
    wrs = p.a.post([{"opcode": "RDMA_READ", "sges": [p.ma.sge(0, 64)], "remote": p.mb.remote(0)}], must=False).wrs
    t.reap(wrs)
    for name in ("max_qp_rd_atom", "max_qp_init_rd_atom"):
        told, served = min(one.attr(name), other.attr(name)), any(wr.good for wr in wrs) and p.ma.wrong(7, 0, 64) == 0
        t.require(told > 0 or not served, "6.5-01", f"{name} of a device that does Reads", told, "more than 0")
    alive(t)


def beyond(t: Verbs, node: Node, name: str, asked: str) -> None:
    """One more than a maximum."""
    most = node.attr(name)
    if most >= _NO_END:
        return
    if asked == "entries":
        call = node.call("CreateCq", rnic=node.rnic, entries=most + 1)
    else:
        cq = node.cq()
        call = node.qp_call(send_cq=cq, recv_cq=cq, **{asked: most + 1})
    what = f"{asked} {most + 1}, where {name} is {most}"
    if not returned(call):
        if asked != "entries":
            success(t, "9.2.5.1-01", "destroying the CQ that a refused QP was to have", cq.destroy())
        return
    got = call.integer("entries") if asked == "entries" else call.table("cap").get(asked)
    if asked.endswith("sges") and isinstance(got, int) and got > most and not _grants(node, name, _OTHER[asked]):
        for row in ("5.1.3-02", "9.2.5.1-01", "8.1.3.2-09"):
            t.notice(row, what, f"{got} granted, and no more than {most} in the other queue", REFUSED, "B101")
        node.call("DestroyQp", qp=call.integer("qp"))
        return
    if asked.endswith("_size") and isinstance(got, int) and got <= most:
        t.notice("5.1.3-02", what, f"{got} granted", REFUSED, "B55")
        t.notice("9.2.5.1-01", what, f"{got} granted", REFUSED, "B55")
    else:
        rows = ["5.1.3-02", *(["9.2.5.1-01"] if asked != "entries" else []), *(["8.1.3.2-09"] if asked.endswith("sges") else [])]
        for row in rows:
            t.report(row, what, f"{got} granted", REFUSED)
    if asked != "entries":
        node.call("DestroyQp", qp=call.integer("qp"))


def _grants(node: Node, name: str, asked: str) -> bool:
    """Whether one more than a maximum is granted."""
    cq = node.cq()
    call = node.qp_call(send_cq=cq, recv_cq=cq, **{asked: node.attr(name) + 1})
    if not returned(call):
        return False
    got = call.table("cap").get(asked)
    node.call("DestroyQp", qp=call.integer("qp"))
    return isinstance(got, int) and got > node.attr(name)


def several(t: Verbs, node: Node) -> None:
    """QPs until there is no room: want of memory is right at any number."""
    cq = node.cq()
    made = []
    for number in range(min(64, node.attr("max_qp"))):
        call = node.qp_call(send_cq=cq, recv_cq=cq, sq_size=1, rq_size=1)
        if not returned(call):
            t.require(number > 1, "5.2-01", f"QP {number + 1} of one PD", said(call), OK)
            break
        made.append(call.integer("qp"))
    for qp in made:
        success(t, "6.1.4-07", "destroying a QP", node.call("DestroyQp", qp=qp))


def elements(t: Verbs, count: int, row: str) -> None:
    """So many elements in a Send and in its Receive."""
    count = min(count, nodes(t)[1].attr("max_sge"), 30)
    p = pair(t, sq_size=1, rq_size=1, sq_sges=count, rq_sges=count, row=row)
    p.ma.pattern(6, 0, 16 * count)
    got = p.b.recv(*[p.mb.sge(1024 + 16 * k, 16) for k in range(count)])
    sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(16 * k, 16) for k in range(count)]}], must=False)
    if not t.require(sent.whole, row, f"posting a Send of {count} elements", sent.said, OK):
        return
    good([*sent.wrs, got], row, f"a Send and a Receive of {count} elements each")
    t.require(p.mb.wrong(6, 1024, 16 * count) == 0, row, "its bytes", "wrong", "those sent")


@verbs(58, "QPs of all sizes", "5.1.3-02 5.3.1-07 6.1.1-01..03 8.1.3.2-09 9.2.5.1-01..02", errata="B36 B55 B60 B101", variants=[
    *product(each("what", ["sizes"]), each("sizes", {"64-4": (64, 4), "4-64": (4, 64), "1-1": (1, 1), "33-7": (33, 7)})),
    *product(each("what", ["beyond"]), each("asked", ["sq_size", "rq_size", "sq_sges", "rq_sges"])),
    *each("what", ["type", "elements", "small-cq"])])  # fmt: skip
def creation(t: Verbs) -> None:
    """What is granted is at least what was asked for, and is what the queues take; what is illegal makes nothing."""
    one, other = nodes(t)
    what = t.params["what"]
    if what == "sizes":
        sq, rq = t.params["sizes"]
        if max(sq, rq) > one.attr("max_qp_wr"):
            t.skip("the device has no queues so large")
        a, b = one.qp(sq_size=sq, rq_size=rq, row="6.1.1-02", send_cq=one.cq(1024), recv_cq=one.cq(1024)), other.qp()
        for queue, asked in (("sq", sq), ("rq", rq)):
            for row in ("6.1.1-03", "6.1.1-02"):
                t.require(a.size(queue) >= asked, row, f"the {queue} that was granted", a.size(queue), f"at least {asked}")
        takes(t, a, b)
    elif what == "beyond":
        asked = t.params["asked"]
        beyond(t, one, "max_sge" if asked.endswith("sges") else "max_qp_wr", asked)
    elif what == "type":
        cq = one.cq()
        call = one.qp_call(send_cq=cq, recv_cq=cq, type=199)
        t.require(not returned(call), "6.1.1-01", "a QP of a type that does not exist", OK, REFUSED)
    elif what == "elements":
        most = min(one.attr("max_sge"), 16)
        for sges in dict.fromkeys((1, 2, most)):
            qp = one.qp(sq_sges=sges, rq_sges=sges)
            for name in ("sq_sges", "rq_sges"):
                got = qp.cap.get(name)
                enough = isinstance(got, int) and got >= sges
                t.require(enough, "9.2.5.1-02", f"{name} that was granted", got, f"at least {sges}")
        elements(t, most, "9.2.5.1-02")
    else:
        cq = one.cq(1)
        rq = min(one.attr("max_qp_wr"), cq.entries + 16)
        call = one.qp_call(send_cq=cq, recv_cq=cq, sq_size=16, rq_size=rq)
        t.require(returned(call), "5.3.1-07", f"a QP whose queues are larger than its CQ of {cq.entries}", said(call), OK)
        if returned(call):
            success(t, "6.1.4-07", "destroying the QP", one.call("DestroyQp", qp=call.integer("qp")))
    alive(t)


def takes(t: Verbs, a: Qp, b: Qp) -> None:
    """Each queue takes as many WRs as were granted."""
    ma, mb = a.node.mem(64), b.node.mem(64)
    connect(a, b)
    rq = min(a.size("rq"), 512)
    posted = a.post([{"sges": [ma.sge()], "times": rq}], queue="rq", must=False)
    t.require(posted.whole, "6.1.1-03", f"{rq} Receives on a queue of {a.size('rq')}", posted.said, OK)
    sq = min(a.size("sq"), 512)
    wr = {"opcode": "RDMA_WRITE", "sges": [ma.sge(0, 8)], "remote": mb.remote(0), "times": sq}
    wrote = a.post([wr], must=False)
    t.require(wrote.whole, "6.1.1-03", f"{sq} Writes on a queue of {a.size('sq')}", wrote.said, OK)
    good(wrote.wrs, "6.2.2-04", "Writes that fill a send queue")


@verbs(89, "Queue sizes that are changed", "6.1.3-05..09", errata="B36 B55 B110", variants=each("way", ["up", "below"]))
def resize(t: Verbs) -> None:
    """Where the device says so, with WRs outstanding and without loss; where it does not, nothing changes."""
    way = t.params["way"]
    p = pair(t, rq_size=32)
    qp, able = p.b, bool(p.b.node.attr("device_cap_flags") & _RESIZE_MAX_WR)
    theirs = receives(qp, p.mb, 16)
    before = (qp.query().result().get("cap") or {}).get("rq_size")
    asked = {"up": 48, "below": 4}[way]
    sizes = {"rq_size": asked, "sq_size": 24 if way == "up" else qp.size("sq")}
    call = qp.change(**sizes)
    after = (qp.query().result().get("cap") or {}).get("rq_size")
    if not able:
        same = not returned(call) or after == before or isinstance(after, int) and after >= asked
        t.require(same, "6.1.3-05", "Modify QP with sizes, which the device does not offer", f"{said(call)}, {after} of {before}",
                  REFUSED)  # fmt: skip
    elif way == "up":
        t.require(returned(call), "6.1.3-06", "a QP made larger with WRs outstanding", said(call), OK)
        if returned(call) and isinstance(after, int):
            for of in ("6.1.3-05", "6.1.3-09"):
                t.require(after >= asked, of, f"the receive queue after a resize to {asked}", after, f"at least {asked}")
            extra = receives(qp, p.mb, min(asked, after) - 16, start=2048, length=8)
            theirs += extra
        if returned(call):
            fills_larger(t, p, sizes["sq_size"])
    elif returned(call):
        if isinstance(after, int) and after >= 16:
            t.notice("6.1.3-08", "a queue made smaller than what is on it", f"{after} left", REFUSED, "B55")
        else:
            t.report("6.1.3-08", f"a queue with 16 Receives made {asked} large", f"{said(call)}, {after}", REFUSED)
    else:
        t.require(after == before, "6.1.3-08", "the size after a resize that was refused", after, before)
    row = "6.1.3-08" if way == "below" and able else "6.1.3-06" if able else "6.1.3-05"
    sent = []
    for _ in theirs:
        sent.append(p.a.send(p.ma.sge(0, 8)))
        t.reap(sent[-1:])
    good([*sent, *theirs], row, "the Receives of a queue whose size was to be changed")
    if able:
        errors = t.events(qp.end, qp.qp)
        t.require(not errors, "6.1.3-07", "asynchronous errors of a resize", errors, "none")
    alive(t)


def fills_larger(t: Verbs, p: Pair, asked: int) -> None:
    """The send queue was made larger, too: the query tells it, and so many WRs have room."""
    told = (p.b.query().result().get("cap") or {}).get("sq_size")
    if isinstance(told, int):
        t.require(told >= asked, "6.1.3-06", f"the send queue after a resize to {asked}", told, f"at least {asked}")
    wr = {"opcode": "RDMA_WRITE", "sges": [p.mb.sge(4096, 8)], "remote": p.ma.remote(4096), "times": asked}
    posted = p.b.post([wr], must=False)
    t.require(posted.whole, "6.1.3-06", f"{asked} Writes on a send queue made {asked} large", posted.said, OK)
    good(posted.wrs, "6.1.3-06", "Writes that fill a send queue that was made larger")


@verbs(90, "ORD and IRD that are changed", "6.1.3-02 6.2.2.1-02 6.5-02 6.5-06..09", errata="B28", applies=CM,
       variants=each("what", ["idle", "less", "more", "beyond", "outstanding", "told"]))  # fmt: skip
def read_limits(t: Verbs) -> None:
    """Reads go on by the new values, or by the old ones where the change was refused; other QPs do not notice."""
    need_read(t)
    what = t.params["what"]
    one, _ = nodes(t)
    if what == "idle":
        p = pair(t, ord=1, ird=1)
        reads(t, p, 8, "6.5-08")
        alive(t)
        return
    p, other = pair(t, ord=4, ird=4), pair(t, ord=4, ird=4)
    reads(t, p, 4, "6.5-06")
    if what == "outstanding":
        p.mb.pattern(3)
        wr = {"opcode": "RDMA_READ", "sges": [p.ma.sge(0, 4096)], "remote": p.mb.remote(0), "times": 8}
        theirs = other.a.post([{**wr, "sges": [other.ma.sge(0, 4096)], "remote": other.mb.remote(0)}]).wrs
        mine = p.a.post([wr]).wrs
        p.a.change(max_rd_atomic=1)
        for qp in (p.a, p.b):
            qp.abandon()  # what becomes of this QP is open
        good(theirs, "6.5-07", "Reads of another QP while ORD is changed")
        t.reap(mine)
        reads(t, other, 4, "6.5-07")
        alive(t)
        return
    if what in ("more", "beyond"):
        found = more if what == "more" else above_maximum
        found(t, p)
        reads(t, other, 4, "6.5-07")
        alive(t)
        return
    call = p.a.change(max_rd_atomic=1)
    if what == "told":
        now = (p.a.query().result().get("attributes") or {}).get("max_rd_atomic")
        # ORD is what was asked for at most (9.2.5.3); 0 is a field that is not filled (B28).
        held = not returned(call) or not isinstance(now, int) or now <= 1
        t.require(held, "6.1.3-02", "max_rd_atomic that the query tells after a change to 1", now, "1 at most")
        reads(t, p, 4, "6.1.3-02")
        alive(t)
        return
    if what == "less":
        if returned(call):
            reads(t, p, 4, "6.1.3-02")
        elif call.result().get("errno") == _EOPNOTSUPP:
            t.notice("6.1.3-02", "a smaller ORD in RTS", said(call), OK, "B28")
        else:
            for row in ("6.1.3-02", "6.5-08"):
                t.report(row, "a smaller ORD in RTS", said(call), OK)
    p.b.change(max_dest_rd_atomic=2)
    message(p, 64, 4, row="6.2.2.1-02")
    if what == "less" and returned(call):
        reads(t, p, 8, "6.5-08")  # more than two at once are too many for the peer now
    reads(t, other, 4, "6.5-07")
    alive(t)


def above_maximum(t: Verbs, p: Pair) -> None:
    """An ORD above the maximum is refused, or less is granted (9.2.5.3)."""
    most = p.a.node.attr("max_qp_init_rd_atom")
    if not 0 < most < 255:  # it is told in 8 bits
        t.skip(f"max_qp_init_rd_atom is {most}")
    call = p.a.change(max_rd_atomic=most + 1)
    now: Any = (p.a.query().result().get("attributes") or {}).get("max_rd_atomic")
    granted = isinstance(now, int) and returned(call)
    what = f"max_rd_atomic after a change to {most + 1}"
    t.require(not granted or now <= most, "6.5-02", what, now, f"refused, or {most} at most")


def more(t: Verbs, p: Pair) -> None:
    """The target's IRD first: more Reads under way than it takes would end the stream, and neither change has to be taken (6.5)."""
    ird = min(8, p.b.node.attr("max_qp_rd_atom"))
    wider = returned(p.b.change(max_dest_rd_atomic=ird))
    now = (p.b.query().result().get("attributes") or {}).get("max_dest_rd_atomic")
    if wider and now == ird:  # a query that tells the old value, or none, does not say that it was changed
        p.a.change(max_rd_atomic=min(ird, p.a.node.attr("max_qp_init_rd_atom")))
    reads(t, p, 8, "6.5-09")
    message(p, 64, 4, row="6.2.2.1-02")


def reads(t: Verbs, p: Pair, count: int, row: str) -> None:
    """Several Reads at once, with the right bytes."""
    p.mb.pattern(7, 0, 64 * count)
    wrs = [{"opcode": "RDMA_READ", "sges": [p.ma.sge(64 * k, 64)], "remote": p.mb.remote(64 * k)} for k in range(count)]
    good(p.a.post(wrs).wrs, row, f"{count} Reads")
    t.require(p.ma.wrong(7, 0, 64 * count) == 0, row, "the bytes of Reads", "wrong", "those of the peer")


@verbs(91, "Modify to Terminate", "6.2.2.3-01 6.2.3-06", applies=IWARP, errata="B10 B50",
       variants=each("work", ["receives", "both"]))  # fmt: skip
def terminate(t: Verbs) -> None:
    """The stream ends at both ends, and no event tells the consumer what it asked for itself."""
    p = pair(t)
    mine, theirs = receives(p.a, p.ma, 4), receives(p.b, p.mb, 4)
    if t.params["work"] == "both":
        good([p.a.send(p.ma.sge(0, 8)), theirs.pop(0)], "6.2.2-04", "a Send before")
    call = p.a.modify(state="SQE")
    if not returned(call):
        t.notice("6.2.2.3-01", "a move from RTS to Terminate", said(call), OK, "B50")
        alive(t)
        return
    seen = t.reap(theirs) or heard(t, p.b)  # before `flushed` ends the stream itself, where a WC is missing
    ended = flushed(theirs, "6.2.2.3-04", "the peer's Receives after Modify to Terminate") or seen
    t.require(ended, "6.2.2.3-01", "the peer's end of the stream after Modify to Terminate", "it stays up", "it ends")
    flushed(mine, "6.2.3-08", "the Receives after Modify to Terminate")
    events = t.events(p.a.end, p.a.qp)
    if events:
        t.notice("6.2.3-06", "events of the QP that was moved to Terminate", [e.event for e in events], "none", "B10")
    alive(t)


@verbs(92, "Posting returns at once", "8.2.1-06", errata="B21 B54",
       variants=each("what", ["receives", "no-receive", "reads", "fence", "full"]))  # fmt: skip
def at_once(t: Verbs) -> None:
    """However long the work takes, and whether or not the peer does its part, the call does not wait for it."""
    what = t.params["what"]
    if what in ("reads", "fence"):
        need_read(t)
    p = pair(t, 1 << 20, sq_size=64, rq_size=64, ord=1, ird=1)
    queue, wr = "sq", dict[str, Any](opcode="SEND", sges=[p.ma.sge(0, 65536)])
    if what == "receives":
        queue, wr = "rq", {"sges": [p.ma.sge(0, 64)], "times": 32}
    elif what == "reads":
        wr = {"opcode": "RDMA_READ", "sges": [p.ma.sge(0, 1 << 18)], "remote": p.mb.remote(0), "times": 16}
    elif what == "fence":
        p.a.read(p.mb.remote(0), p.ma.sge(0, 1 << 18))
        wr = {"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 1 << 18)], "remote": p.mb.remote(0), "flags": ["SIGNALED", "FENCE"]}
    elif what == "full":
        wr = {"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 1 << 15)], "remote": p.mb.remote(0), "times": p.a.size("sq") + 1}
    posted = p.a.post([wr], queue=queue, must=False)
    took = posted.call.result().get("us")
    quick = not isinstance(took, int) or took <= t.bound_us
    t.require(quick, "8.2.1-06", f"the time inside a post ({what})", f"{took} us", f"at most {t.bound_us} us")
    if what == "no-receive":
        t.reap(posted.wrs, t.quiet_us)
    elif what != "receives":
        good(posted.wrs, "6.2.2-04", f"the WRs that were posted ({what})")
    alive(t)
