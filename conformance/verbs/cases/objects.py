"""VERBS.1 to VERBS.8: protection domains, completion queues and queue pairs: made, asked, changed, refused, destroyed."""

from __future__ import annotations

from fcvi.engine.case import Variant

from conformance.verbs.steps.account import Wr
from conformance.verbs.steps.declare import IB, SRQ, each, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.session import (
    OK, REFUSED, Cq, Node, Pair, Qp, alive, connect, event_of, flushed, good, message, nodes, pair, receives, returned, said, start,
)  # fmt: skip


def refused(t: Verbs, row: str, what: str, call: object) -> bool:
    """A call that has to be an Immediate Error; which number it gives is never judged (B36)."""
    return t.require(not returned(call), row, what, said(call), REFUSED)  # type: ignore[arg-type]


def success(t: Verbs, row: str, what: str, call: object) -> bool:
    """A call that has to be a success."""
    return t.require(returned(call), row, what, said(call), OK)  # type: ignore[arg-type]


def works(t: Verbs, row: str, node: Node, other: Node, pd: int) -> None:
    """A new region and a new QP on a PD carry a message."""
    mem, peer = node.mem(256, pd=pd, row=row), other.mem(256)
    a, b = node.qp(pd=pd, row=row), other.qp()
    b.idle()
    got = b.recv(peer.sge(0, 8))
    connect(a, b, row)
    p = Pair(a, b, mem, peer)
    start(p, got)
    message(p, 64, 3, row=row)


@verbs(1, "Deallocate a PD that is in use", "5.2.2-01..03 5.2.2-05..06 9.2.2.1-01",
       variants=each("user", ["mr", "qp", "srq"], {"srq": SRQ}))  # fmt: skip
def busy_pd(t: Verbs) -> None:
    """A PD with a region, a QP or an SRQ is not deallocated and works on; without it is."""
    one, other = nodes(t)
    pd = one.pd_new()
    user = t.params["user"]
    row = {"mr": "5.2.2-03", "qp": "5.2.2-01", "srq": "5.2.2-02"}[user]
    spare = one.pd_new()
    success(t, "5.2.2-06", "deallocating a PD that was never used", one.call("DeallocatePd", pd=spare))
    if user == "mr":
        mem = one.mem(128, pd=pd)
        refused(t, row, "deallocating a PD with a region", one.call("DeallocatePd", pd=pd))
        release = [mem.deregister]
    elif user == "qp":
        qp = one.qp(pd=pd)
        refused(t, row, "deallocating a PD with a QP", one.call("DeallocatePd", pd=pd))
        release = [qp.destroy]
    else:
        srq = one.srq(pd=pd)
        refused(t, row, "deallocating a PD with an SRQ", one.call("DeallocatePd", pd=pd))
        release = [srq.destroy]
    if any(f.requirement.endswith(row) for f in t.findings):
        t.control("the PD was deallocated while it was in use")
        return  # the PD is gone: whatever is done with it now tells nothing
    works(t, "5.2.2-05", one, other, pd)
    success(t, "5.2.2-06", "releasing what used the PD", release[0]())
    for qp in [q for q in t.account.qps if q.pd == pd and q.node is one and not q.gone]:
        success(t, "5.2.2-06", "destroying a QP of the PD", qp.destroy())
    for mem in [m for m in t.account.mems if m.node is one and m.mr and m.length == 256]:
        success(t, "5.2.2-06", "deregistering a region of the PD", mem.deregister())
    success(t, "5.2.2-06", "deallocating a PD that nothing uses any more", one.call("DeallocatePd", pd=pd))
    alive(t)


@verbs(2, "Destroy a CQ that is in use", "5.3.4-01..03 5.3.4-05", errata="B42", variants=each("queue", ["sq", "rq", "both"]))
def busy_cq(t: Verbs) -> None:
    """A CQ of a send queue or a receive queue is not destroyed and works on; when the QP is gone it is."""
    one, other = nodes(t)
    handler = one.handler()
    cq, extra = one.cq(64, handler), one.cq(64, handler)
    queue = t.params["queue"]
    a = one.qp(send_cq=cq if queue != "rq" else None, recv_cq=cq if queue != "sq" else None)
    b = other.qp()
    ma, mb = one.mem(256), other.mem(256)
    destroyed = cq.destroy()
    if not refused(t, "5.3.4-01", f"destroying the CQ of a QP ({queue})", destroyed):
        t.control("the CQ was destroyed while it was in use")
        return
    b.idle()
    first = b.recv(mb.sge(0, 8))
    connect(a, b)
    p = Pair(a, b, ma, mb)
    start(p, first)
    message(p, 64, 5, row="5.3.4-02")
    message(p.back(), 64, 6, row="5.3.4-02")
    success(t, "5.3.4-03", "destroying the QP", a.destroy())
    cq.empty()
    success(t, "5.3.4-03", "destroying a CQ that nothing uses any more", cq.destroy())
    # The other CQ of the channel gets its own events only, and none of the one that is gone.
    c, d = one.qp(cq=extra), other.qp()
    d.idle()
    first = d.recv(mb.sge(0, 8))
    connect(c, d)
    success(t, "5.3.4-05", "arming the other CQ of the channel", extra.arm())
    start(Pair(c, d, ma, mb), first)
    asked = one.call("GetEvent", handler=handler, Timeout=t.bound_us)
    seen = asked.result().get("cq") if returned(asked) else None
    t.require(seen == extra.cq, "5.3.4-05", "the CQ that the channel names", seen, extra.cq)
    alive(t)


@verbs(3, "Sizes of CQs", "5.3-01 5.3.1-01 5.3.1-03 5.3.1-04 5.3.1-07", errata="B36 B55", variants=each("size", {
    "zero": 0, "one": 1, "five": 5, "hundred": 100, "max": "max", "over": "over", "huge": "huge", "below-the-queues": "below",
}))  # fmt: skip
def cq_sizes(t: Verbs) -> None:
    """As many entries as asked for or more, or none at all. A CQ need not hold all that its queues could bring."""
    one, other = nodes(t)
    most, size = one.attr("max_cqe"), t.params["size"]
    plain = one.cq(16)
    plain.silent("5.3-01", "a CQ without queues", 0)
    if size == "below":
        cq = one.cq(1)
        qp = one.qp(cq=cq, sq_size=8, rq_size=max(64, min(cq.entries + 8, one.attr("max_qp_wr"))))
        qp.idle()
        mem = one.mem(64)
        more = min(qp.size("rq"), cq.entries + 8)
        qp.recv(mem.sge())  # whether Idle takes Receives is another question (B18)
        posted = qp.post([{"sges": [mem.sge()], "times": more - 1}], queue="rq", must=False)
        t.require(posted.whole, "5.3.1-07", f"{more} Receives on a CQ of {cq.entries} entries", posted.said, "accepted")
        success(t, "6.1.4-07", "destroying the QP", qp.destroy())  # nothing may complete into the small CQ
        alive(t)
        return
    if size in ("over", "huge"):
        asked = most + 1 if size == "over" else 1 << 30
        if size == "over" and most >= 2**31 - 1 or asked <= most:
            t.skip(f"the device's maximum of {most} entries cannot be passed")
        made = one.call("CreateCq", rnic=one.rnic, entries=asked)
        t.require(not returned(made), "5.3.1-04", f"a CQ of {asked} entries where {most} is the maximum",
                  made.result().get("entries"), REFUSED)  # fmt: skip
    elif size == 0:
        for asked in (0, -1):
            made = one.call("CreateCq", rnic=one.rnic, entries=asked)  # section 3 of the protocol: -1 is given as it is
            if returned(made):
                got = made.integer("entries")
                t.require(got >= 1, "5.3.1-01", f"entries of a CQ of {asked}", got, "at least 1, or a refusal")
                t.notice("5.3.1-01", f"a CQ of {asked} entries", f"one of {got}", REFUSED, "B36")
    else:
        asked = most if size == "max" else size
        if 0 < most < asked:
            t.lack(f"the case needs a CQ of {asked} entries, and max_cqe is {most}")
        made = one.call("CreateCq", rnic=one.rnic, entries=asked)
        if not returned(made):
            # A maximum need not be reached while there are other objects (5.1.1, 5.1.3).
            small = t.require(size == "max", "5.3.1-03", f"a CQ of {asked} entries", said(made), OK)
            if small and made.result().get("errno") != 12:
                t.notice("5.3.1-03", f"a CQ of {asked} entries", said(made), "ENOMEM", "B36")
        else:
            got = made.integer("entries")
            t.require(got >= asked, "5.3.1-03", f"entries of a CQ of {asked}", got, f"at least {asked}")
            if size != "max":
                holds(t, one, other, Cq(one, made.integer("cq"), got), size)
    good_cq = one.cq(16)
    t.require(good_cq.entries >= 16, "5.3.1-04", "a CQ of 16 entries afterwards", good_cq.entries, "at least 16")
    alive(t)


def holds(t: Verbs, one: Node, other: Node, cq: Cq, count: int, row: str = "5.3.1-03") -> None:
    """The CQ keeps so many entries that nobody polls."""
    a, b = one.qp(recv_cq=cq, rq_size=count), other.qp()
    ma, mb = one.mem(64), other.mem(64)
    a.idle()
    wrs = a.post([{"sges": [ma.sge(0, 8)], "times": count}], queue="rq").wrs
    connect(b, a)
    for _ in range(count):
        good([b.send(mb.sge(0, 8))], row, f"Sends whose Receives wait in a CQ of {count}")
    t.wait(t.quiet_us // 5)
    good(wrs, row, f"{count} entries that waited in a CQ of {count}")


@verbs(4, "Resize a CQ", "5.3.2-01 5.3.3-01..05 8.2.5-03..04 8.3.1-02", errata="B40 B63",
       variants=each("way", ["up", "down", "below", "over", "idle"]))  # fmt: skip
def resize(t: Verbs) -> None:
    """A resize with entries waiting and WRs outstanding loses nothing, and happens whole or not at all."""
    one, other = nodes(t)
    way = t.params["way"]
    handler = one.handler()
    cq = one.cq(64, handler)
    a, b = one.qp(recv_cq=cq, rq_size=64), other.qp(sq_size=64)
    ma, mb = one.mem(4096), other.mem(4096)
    a.idle()
    wrs = receives(a, ma, 40)
    connect(b, a)
    count = 0 if way == "idle" else 20
    sent = [b.send(mb.sge(0, 64)) for _ in range(count)]
    good(sent, "5.3.3-02", "Sends before a resize")
    t.wait(t.quiet_us // 5)
    before = cq.entries
    most = one.attr("max_cqe")
    asked = {"up": min(2 * before, most), "down": 40, "below": 1, "over": most + 1, "idle": min(2 * before, most)}[way]
    if way == "over" and most >= 2**31 - 1:
        t.skip(f"the device's maximum of {most} entries cannot be passed")
    if way == "idle":
        success(t, "8.2.5-05", "a request for notification", cq.arm())
    call = one.call("ResizeCq", cq=cq.cq, entries=asked)
    worked = returned(call)
    offered = worked or (t.pics["resize_cq"] and way in ("below", "over"))
    if way in ("up", "idle"):
        success(t, "5.3.3-01", "a CQ made twice as large, with Receives posted", call)
        if not worked and not t.iwarp:
            t.skip("the provider does not resize CQs, which verbs of its flavour may leave out (B63)")
    elif not offered and not t.pics["resize_cq"]:
        message_left(t, a, cq, wrs[:count], b, wrs[count:])
        if not t.findings:
            t.skip("the provider does not resize CQs (B63: the row 5.3.3-01 tells it alone)")
        return
    if worked:
        cq.entries = call.integer("entries")
        if way == "below":
            t.require(cq.entries >= count, "5.3.3-05", f"a CQ with {count} entries made 1 large", cq.entries, REFUSED)
            t.notice("5.3.3-05", "a CQ made smaller than what is in it", "nothing was done", REFUSED, "B63")
        elif way == "over":
            t.report("5.3.3-04", f"a CQ resized to {asked}, beyond the maximum", f"{cq.entries}", REFUSED)
        else:
            t.require(cq.entries >= asked, "5.3.3-01", f"entries after a resize to {asked}", cq.entries, f"at least {asked}")
            now = one.call("QueryCq", cq=cq.cq).result().get("entries")
            t.require(now == cq.entries, "5.3.2-01", "entries that the query tells after a resize", now, cq.entries)
        if count and t.iwarp:  # the CQ is not armed, and on InfiniBand an event is no breach (B40)
            told = event_of(one, handler, t.quiet_us)
            t.require(told is None, "8.2.5-03", "the event of a CQ that was resized with entries, and never armed", told, "none")
    else:
        now = one.call("QueryCq", cq=cq.cq).result().get("entries")
        t.require(now == before, "5.3.3-04", "entries after a resize that was refused", now, before)
        t.require(now == before, "8.3.1-02", "entries after a resize that was refused", now, before)
    message_left(t, a, cq, wrs[:count], b, wrs[count:], "5.3.3-02" if worked else "5.3.3-04")
    if way == "up":
        holds_more(t, one, other)
    if way == "idle":
        seen = event_of(one, handler, t.bound_us)
        t.require(seen == cq.cq, "8.2.5-04", "the event of a CQ that was armed before its resize", seen, f"cq {cq.cq}")
    errors = t.events(one.end.number, a.qp) + t.events(one.end.number, names=frozenset({"CQ_ERR"}))
    t.require(not errors, "5.3.3-03", "asynchronous errors of a resize", errors, "none")
    alive(t)


def holds_more(t: Verbs, one: Node, other: Node) -> None:
    """As many entries as a resize told fit a CQ that was smaller."""
    cq = one.cq(16)
    asked = min(cq.entries + 12, one.attr("max_cqe"))
    call = one.call("ResizeCq", cq=cq.cq, entries=asked)
    if returned(call) and asked > cq.entries and asked <= one.room(asked):
        holds(t, one, other, cq, asked, "5.3.3-01")


def message_left(t: Verbs, a: Qp, cq: Cq, waiting: list[Wr], b: Qp, left: list[Wr], row: str = "5.3.3-02") -> None:
    """What waited is all there and in order, and the Receives that were outstanding are used."""
    good(waiting, row, "entries that waited during a resize")
    mem = b.node.mem(64)
    sent = [b.send(mem.sge(0, 64)) for _ in range(8)]
    good(sent + left[:8], "5.3.3-03", "transfers behind a resize")


_STATES = ["reset", "init", "rts", "err", "closing", "working", "flushing"]


@verbs(5, "Destroy a QP in each state", "6.1.4-03 6.1.4-07", errata="B42 B83", variants=each("state", _STATES))
def destroy_in_state(t: Verbs) -> None:
    """A QP without windows is destroyed in any state, with work on it or without; its stream is taken away from it."""
    one, other = nodes(t)
    state = t.params["state"]
    if state in ("reset", "init"):
        qp = one.qp()
        if state == "init":
            t.require(qp.to("INIT"), "6.2.1.1-01", "a move to INIT", REFUSED, OK)
            receives(qp, one.mem(512), 4)
        success(t, "6.1.4-07", f"destroying a QP in {state.upper()}", qp.destroy())
        alive(t)
        return
    p = pair(t)
    at_b = receives(p.b, p.mb, 4, start=1024)
    if state == "err":
        p.a.flush()
    elif state == "closing":
        p.a.disconnect()
    elif state == "working":
        receives(p.a, p.ma, 4)
        p.a.post([{"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 4096)], "remote": p.mb.remote(4096), "times": 8}])
    elif state == "flushing":
        receives(p.a, p.ma, 8)
        p.a.flush()
    success(t, "6.1.4-07", f"destroying a QP: {state}", p.a.destroy())
    if t.iwarp:
        if not t.reap(at_b):  # no LLP Reset has to tell the peer: its next message finds nobody (B83)
            t.notice("6.1.4-03", "what the peer of a QP that was destroyed is told", "nothing by itself", "the end", "B83")
            p.b.post([{"opcode": "SEND", "sges": [p.mb.sge(0, 64)]}], must=False)
        flushed(at_b, "6.1.4-03", "the peer's Receives when a QP is destroyed")
        t.require(p.b.disconnected(), "6.1.4-03", "what the peer is told of a QP that was destroyed", "nothing", "DISCONNECTED")
    alive(t)


@verbs(7, "What the queries tell", "5.3.1-03 5.3.2-01 6.1.1-03 6.1.2-01 9.2.4.2-01 9.2.5.2-01", errata="B26 B47 B48 B52",
       variants=[Variant("cq", {"what": "cq"}), Variant("qp", {"what": "qp"}), Variant("srq", {"what": "srq"}, SRQ)])  # fmt: skip
def queries(t: Verbs) -> None:
    """CQ, QP and SRQ tell what was granted, and what was changed."""
    one, _ = nodes(t)
    what = t.params["what"]
    if what == "cq":
        for entries in (1, 5, min(100, one.attr("max_cqe") or 100)):
            cq = one.cq(entries)
            told = one.call("QueryCq", cq=cq.cq).result().get("entries")
            t.require(cq.entries >= entries, "5.3.1-03", "entries of a CQ", cq.entries, f"at least {entries}")
            t.require(told == cq.entries, "5.3.2-01", "entries that the query tells", told, cq.entries)
            t.require(told == cq.entries, "5.3.1-03", "entries that the creation told", cq.entries, told)
    elif what == "qp":
        for sizes in ((4, 32), (32, 4)):
            query_qp(t, one.qp(sq_size=sizes[0], rq_size=sizes[1]), sizes)
        states(t)
    else:
        srq = one.srq(16)
        told = srq.query()
        success(t, "9.2.4.2-01", "the query of an SRQ", told)
        result = told.result()
        t.require((result.get("size"), result.get("sges")) == (srq.size, srq.sges), "9.2.4.2-01", "what the query of an SRQ tells",
                  result, f"size {srq.size}, sges {srq.sges}")  # fmt: skip
        receives_of_srq = [{"sges": [one.mem(64).sge()]} for _ in range(8)]
        srq.post(receives_of_srq)
        success(t, "9.2.4.2-01", "setting the limit of an SRQ", one.call("ModifySrq", srq=srq.srq, limit=3))
        limit = srq.query().result().get("limit")
        t.require(limit == 3, "9.2.4.2-01", "the limit that was set", limit, 3)
        asked = one.qp(srq=srq, row="6.3-11").query()
        if success(t, "6.1.2-01", "the query of a QP of an SRQ", asked):
            told_srq = asked.result().get("srq")
            t.require(told_srq == srq.srq, "6.1.2-01", "srq that the query tells", told_srq, srq.srq)
    alive(t)


def query_qp(t: Verbs, qp: Qp, sizes: tuple[int, int]) -> None:
    """The query of a QP that was just made."""
    for name, least in zip(("sq_size", "rq_size"), sizes):
        t.require(qp.size(name[:2]) >= least, "6.1.1-03", f"{name} that was granted", qp.cap[name], f"at least {least}")
    asked = qp.query()
    if not success(t, "6.1.2-01", "the query of a QP", asked):
        return
    result = asked.result()
    cap = result.get("cap") or {}
    for name in ("sq_size", "rq_size", "sq_sges", "rq_sges"):
        t.require(cap.get(name) == qp.cap.get(name), "6.1.2-01", f"{name} that the query tells", cap.get(name), qp.cap.get(name))
    for name, number in (("send_cq", qp.send_cq.cq), ("recv_cq", qp.recv_cq.cq), ("srq", None)):
        t.require(result.get(name) == number, "6.1.2-01", f"{name} that the query tells", result.get(name), number)


def states(t: Verbs) -> None:
    """The state that Query QP tells in Idle, RTS and Error."""
    p = pair(t)
    fresh = p.a.node.qp()
    for qp, wanted in ((fresh, ("RESET", "INIT")), (p.a, ("RTS",))):
        t.require(qp.state() in wanted, "9.2.5.2-01", "the state that the query tells", qp.state(), " or ".join(wanted))
    message(p)
    p.a.flush()
    seen = t.until(lambda: p.a.state() == "ERR", t.bound_us)
    t.require(seen, "9.2.5.2-01", "the state that the query tells of a QP moved to Error", p.a.state(), "ERR")


@verbs(8, "Modify QP with one bad attribute", "6.1.3-01 6.1.3-04 8.3.1-01",
       variants=[Variant("missing", {"what": "missing"}, IB), *each("what", ["illegal", "legal-move"])])  # fmt: skip
def bad_attribute(t: Verbs) -> None:
    """What a call refuses it refuses whole: none of its attributes takes effect."""
    one, other = nodes(t)
    if t.params["what"] == "missing":
        qp = one.qp()
        refused(t, "6.1.3-01", "RESET to INIT with the state alone", qp.modify(state="INIT"))
        t.require(qp.state() == "RESET", "6.1.3-01", "the state after a refusal", qp.state(), "RESET")
        t.require(qp.to("INIT"), "6.1.3-01", "RESET to INIT with all it takes", REFUSED, OK)
        alive(t)
        return
    p = pair(t)
    if t.params["what"] == "legal-move":
        most = one.attr("max_qp_init_rd_atom")
        if not 0 < most < 255:  # it is told in 8 bits
            t.skip(f"max_qp_init_rd_atom is {most}")
        if returned(p.a.modify(state="ERR", max_rd_atomic=most + 1)):
            t.skip("a move to Error does not look at ORD, so that nothing is refused")
        message(p, 64, 8, row="6.1.3-04")
        alive(t)
        return
    write(t, p, "6.1.3-04", "a Write before")
    call = p.a.modify(state="INIT", access=[], port_num=1, pkey_index=0)
    if returned(call):
        t.lack("the illegal move was accepted, which VERBS.12 judges")
    write(t, p.back(), "6.1.3-04", "a Write to a QP whose rights a refused call was to take away")
    before = (p.a.query().result().get("attributes") or {}).get("max_rd_atomic")
    call = p.a.modify(state="INIT", max_rd_atomic=1, port_num=1, pkey_index=0)
    now = (p.a.query().result().get("attributes") or {}).get("max_rd_atomic")
    if not returned(call):
        t.require(now == before, "6.1.3-04", "max_rd_atomic after a call that was refused", now, before)
    message(p, 64, 8, row="8.3.1-01")
    alive(t)


def write(t: Verbs, p: Pair, row: str, what: str) -> None:
    """A Write from a that has to arrive: what follows it says so."""
    p.ma.pattern(17, 0, 64)
    wrote = p.a.write(p.mb.remote(512), p.ma.sge(0, 64))
    got = p.b.recv(p.mb.sge(0, 8))
    sent = p.a.send(p.ma.sge(0, 8))
    t.reap([wrote, sent, got])
    t.require(wrote.good and got.good and p.mb.wrong(17, 512, 64) == 0, row, what, f"{wrote.status} and {got.status}", "served")
