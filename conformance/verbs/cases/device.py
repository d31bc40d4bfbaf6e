"""VERBS.56, 58, 63, 87 to 92, 95: the device and its limits, QPs as objects under load, and bystanders."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant

from conformance.verbs.cases.states import unknown
from conformance.verbs.steps.declare import IWARP, each, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.session import (
    OK, REFUSED, Node, Pair, alive, connect, flushed, good, has_read, message, need_read, nodes, pair, receives,
    returned, said, start,
)  # fmt: skip

_HUGE = (1 << 31) - 1


@verbs(56, "What the device says of itself", "5.1.2-01 5.1.3-01..03 5.2-01 6.5-01 6.5-11 8.1.3.2-08 8.1.3.2-10", errata="B47 B65")
def attributes(t: Verbs) -> None:
    """All can be read; the maxima make sense, are usable, and are not below what the text asks for."""
    one, _ = nodes(t)
    for name in ("max_qp", "max_qp_wr", "max_sge", "max_cq", "max_cqe", "max_mr", "max_pd"):
        t.require(one.attr(name) > 0, "5.1.3-01", f"the attribute {name}", one.attributes.get(name), "positive")
    t.require(one.attr("max_sge") >= 1, "8.1.3.2-08", "max_sge", one.attr("max_sge"), "positive")
    t.require(one.attr("max_sge") >= 4, "8.1.3.2-10", "max_sge", one.attr("max_sge"), "at least 4")
    most = min(one.attr("max_sge"), 255)
    made = one.qp_call(send_cq=one.cq(), recv_cq=one.cq(), sq_size=1, rq_size=1, sq_sges=most, rq_sges=most)
    t.require(returned(made), "8.1.3.2-08", f"a QP with {most} SGEs in each queue", said(made), OK)
    if has_read(t):
        for name in ("max_qp_rd_atom", "max_qp_init_rd_atom"):
            t.require(one.attr(name) > 0, "6.5-01", name, one.attr(name), "positive")
        total = one.attr("max_res_rd_atom")
        if 0 < total < one.attr("max_qp"):
            t.notice("6.5-11", "max_res_rd_atom", total, f"at least max_qp, {one.attr('max_qp')}", "B47")
    if one.attr("max_mw") == 0 and t.iwarp:
        t.notice("5.1.3-01", "max_mw", 0, "positive", "B65")
    pds = [one.pd_new() for _ in range(min(8, one.attr("max_pd") - 1))]
    t.require(len(set(pds)) == len(pds), "5.2-01", "PDs", pds, "all different")
    within = one.call("CreateCq", rnic=one.rnic, entries=min(one.attr("max_cqe"), 4096))
    if not returned(within):
        t.require(within.result().get("errno") == 12, "5.1.3-02", "a CQ within the maximum", said(within), "a CQ, or no memory")
    over(t, one)
    t.named("5.1.2-01 5.1.3-03 6.5-11")
    alive(t)


def over(t: Verbs, one: Node) -> None:
    """Each maximum plus one is refused, or cut down with the truth told (queue sizes; B55)."""
    cq = one.cq(16)
    for name, members in (("max_qp_wr", ("sq_size", "rq_size")), ("max_sge", ("sq_sges", "rq_sges"))):
        most = one.attr(name)
        if not 0 < most < _HUGE:
            continue
        for member in members:
            made = one.qp_call(send_cq=cq, recv_cq=cq, **{member: most + 1})
            row = "8.1.3.2-08" if name == "max_sge" else "5.1.3-02"
            if returned(made):
                granted = made.table("cap").get(member)
                if name == "max_qp_wr" and isinstance(granted, int) and granted <= most:
                    t.notice("5.1.3-02", f"{member} of {most + 1} where {most} is the maximum", granted, REFUSED, "B55")
                else:
                    t.report("5.1.3-02", f"{member} of {most + 1} where {most} is the maximum", str(granted), REFUSED)
            t.named(row)


@verbs(58, "Making QPs", "5.1.3-02 5.3.1-07 6.1.1-01..04 8.1.3.2-09 9.2.5.1-01..02", errata="B55 B60", variants=[
    *each("sizes", {"4-64": (4, 64), "64-4": (64, 4), "1-1": (1, 1)}), *each("over", ["sq_size", "rq_size", "sq_sges", "rq_sges"]),
    Variant("type", {"what": "type"}), Variant("sges", {"what": "sges"}),
])  # fmt: skip
def making(t: Verbs) -> None:
    """As much as was asked for is granted, or more, for each queue by itself; nothing beyond a maximum, and no unknown type."""
    one, _ = nodes(t)
    cq = one.cq(16)
    if "sizes" in t.params:
        sq, rq = t.params["sizes"]
        qp = one.qp(cq=cq, sq_size=sq, rq_size=rq, row="6.1.1-02")
        for queue, asked in (("sq", sq), ("rq", rq)):
            t.require(qp.size(queue) >= asked, "6.1.1-03", f"{queue}_size where {asked} was asked for", qp.size(queue),
                      f"at least {asked}")  # fmt: skip
        if qp.size("rq") + 8 <= 2000:
            roomy = one.qp(recv_cq=one.cq(2048), sq_size=sq, rq_size=rq)
            t.require(roomy.to("INIT"), "6.2.1.1-01", "a move to INIT", REFUSED, OK)
            count = roomy.size("rq")
            made = roomy.post([{"sges": [one.mem(64).sge(0, 8)], "times": count}], queue="rq", must=False)
            t.require(made.whole, "6.1.1-02", f"{count} Receives where so many were granted", made.said, OK)
            roomy.flush()
            flushed(made.wrs, "6.2.1.3-02", "Receives of a QP in Error")
        t.named("5.3.1-07 6.1.1-04")
    elif "over" in t.params:
        member = t.params["over"]
        most = one.attr("max_sge" if member.endswith("sges") else "max_qp_wr")
        if not 0 < most < _HUGE:
            t.skip("the device's maximum cannot be passed")
        made_ = one.qp_call(send_cq=cq, recv_cq=cq, **{member: most + 1})
        what = f"{member} of {most + 1} where {most} is the maximum"
        if member.endswith("sges"):
            for row in ("8.1.3.2-09", "9.2.5.1-01"):
                t.require(not returned(made_), row, what, said(made_), REFUSED)
        elif returned(made_):
            granted = made_.table("cap").get(member)
            if isinstance(granted, int) and granted <= most:
                t.notice("9.2.5.1-01", what, f"a QP with {granted}", REFUSED, "B55")
            else:
                t.report("5.1.3-02", what, f"a QP with {granted}", REFUSED)
        t.named("9.2.5.1-01 5.1.3-02")
    elif t.params["what"] == "type":
        made_ = one.qp_call(send_cq=cq, recv_cq=cq, type=113)
        t.require(not returned(made_), "6.1.1-01", "a QP of a type that does not exist", said(made_), REFUSED)
    else:
        most = min(4, one.attr("max_sge"))
        qp = one.qp(cq=cq, sq_sges=most, rq_sges=most)
        for member in ("sq_sges", "rq_sges"):
            t.require(qp.cap[member] >= most, "9.2.5.1-02", member, qp.cap[member], f"at least {most}")
    alive(t)


def everything(node: Node) -> list[Any]:
    """One of each object."""
    mem = node.mem(4096)
    return [node.pd_new(), node.cq(64), node.qp(), mem, *([node.srq()] if node.t.pics["srq"] else [])]


@verbs(63, "A process that ends with everything alive", "5.1.4-01..02 10.4.1-01", errata="B45",
       variants=each("what", ["killed", "connected", "closed"]))  # fmt: skip
def killed(t: Verbs) -> None:
    """Its resources come back, those of its connections too; so do those of a device that was closed."""
    rounds = 5
    if t.params["what"] == "closed":
        closing(t)
        alive(t)
        return
    for _ in range(rounds):
        one, other = nodes(t)
        for _ in range(8):
            everything(one)
        if t.params["what"] == "connected":
            for _ in range(6):
                p = pair(t, 256)
                receives(p.a, p.ma, 2)
        del other
        t.kill(0)
    one, _ = nodes(t)
    for _ in range(8):
        everything(one)
    t.named("5.1.4-01 10.4.1-01")
    alive(t)


def closing(t: Verbs) -> None:
    """Opened, used, emptied and closed in rounds."""
    end = t.ends[0]
    for turn in range(10):
        node = Node(t, end)
        cq, qp, mem = node.cq(64), node.qp(), node.mem(4096)
        for call, name in ((qp.destroy(), "the QP"), (mem.deregister(), "the region"), (cq.destroy(), "the CQ"),
                           (qp.send_cq.destroy(), "a CQ"), (qp.recv_cq.destroy(), "a CQ"),
                           (node.call("DeallocatePd", pd=node.pd), "the PD")):  # fmt: skip
            t.require(returned(call), "5.1.4-02", f"giving {name} back in round {turn}", said(call), OK)
        mem.watched = False
        t.require(returned(node.close()), "5.1.4-02", f"closing a device that has nothing left, round {turn}", REFUSED, OK)
    t.named("5.1.4-02")


@verbs(87, "Objects made and destroyed in rounds", "5.3.4-04 6.1.1-06 6.1.4-01 6.3.3-03 7.9-06", variants=[
    *each("what", ["cq", "numbers", "qp", "mr"]), Variant("srq", {"what": "srq"}, "srq")])  # fmt: skip
def rounds(t: Verbs) -> None:
    """None of them is used up, and QP numbers are unique."""
    one, other = nodes(t)
    what = t.params["what"]
    if what == "numbers":
        cq = one.cq(16)
        qps = [one.qp(cq=cq, sq_size=1, rq_size=1) for _ in range(64 if one.attr("max_qp") > 80 else 8)]
        numbers = [qp.qp_num for qp in qps]
        t.require(len(set(numbers)) == len(numbers), "6.1.1-06", "qp_num of live QPs", len(set(numbers)), len(numbers))
        for qp in qps:
            t.require(returned(qp.destroy()), "6.1.4-07", "destroying a QP", REFUSED, OK)
    elif what == "qp":
        for turn in range(25):
            p = pair(t, 64)
            for qp in (p.a, p.b):
                t.require(returned(qp.destroy()), "6.1.4-01", f"destroying a QP in round {turn}", REFUSED, OK)
                for cq in (qp.send_cq, qp.recv_cq):
                    cq.empty()
                    cq.destroy()
        t.named("6.1.4-01")
    else:
        row = {"cq": "5.3.4-04", "mr": "7.9-06", "srq": "6.3.3-03"}[what]
        for turn in range(150):
            if what == "cq":
                made = one.call("CreateCq", rnic=one.rnic, entries=min(1024, one.attr("max_cqe")))
                gone = one.call("DestroyCq", cq=made.integer("cq")) if returned(made) else made
            elif what == "mr":
                made = one.register_call(spare(one), 0, 4096)
                gone = one.call("DeregisterMr", mr=made.integer("mr")) if returned(made) else made
            else:
                made = one.call("CreateSrq", pd=one.pd, size=16, sges=1)
                if returned(made):
                    wr = {"wr_id": f"{turn:016x}", "sges": [_region(one).sge(0, 8)], "times": 16}
                    one.call("PostSrq", srq=made.integer("srq"), wrs=[wr])
                gone = one.call("DestroySrq", srq=made.integer("srq")) if returned(made) else made
            if not t.require(returned(made) and returned(gone), row, f"round {turn} of making and destroying ({what})",
                             f"{said(made)}, {said(gone)}", OK):  # fmt: skip
                break
    del other
    alive(t)


def spare(node: Node) -> int:
    """Memory of the node, made once a case."""
    found: int = node.__dict__.setdefault("_spare", 0) or node.raw(4096)
    node.__dict__["_spare"] = found
    return found


def _region(node: Node) -> Any:
    found = node.__dict__.get("_region") or node.mem(4096)
    node.__dict__["_region"] = found
    return found


@verbs(88, "Destroy a QP with WRs outstanding", "6.1.4-02 6.1.4-08..09", variants=each("what", ["receives", "both", "shared"]))
def outstanding(t: Verbs) -> None:
    """It goes, adds no WC and touches no buffer any more; another QP of its CQ loses nothing."""
    what = t.params["what"]
    one, _ = nodes(t)
    p = pair(t, 32768, rq_size=32) if what != "shared" else None
    near = None
    if p is None:
        cq = one.cq(512)
        p, near = on_cq(t, cq), on_cq(t, cq)
        wrs = receives(near.a, near.ma, 4)
        good([near.b.send(near.mb.sge(0, 64)) for _ in range(4)], "6.2.2-04", "Sends to a QP of the same CQ")
    receives(p.a, p.ma, 8)
    if what == "both":
        p.a.post([{"opcode": "RDMA_WRITE", "sges": [p.ma.sge(4096, 4096)], "remote": p.mb.remote(4096), "times": 8}])
    call = p.a.destroy()
    t.require(returned(call), "6.1.4-08", f"destroying a QP with work outstanding ({what})", said(call), OK)
    if near is not None:
        good(wrs, "6.1.4-09", "WCs of another QP of the CQ")
    left = p.a.recv_cq.empty()
    p.ma.write(b"\x21" * 512, 0)
    p.b.post([{"opcode": "SEND", "sges": [p.mb.sge(0, 64)], "times": 4}], must=False)
    t.wait(t.quiet_us)
    more = [wc for wc in p.a.recv_cq.empty() if wc.qp_num == p.a.qp_num]
    t.require(not more, "6.1.4-02", "WCs of a QP after its end", [str(wc) for wc in more], "none")
    t.require(p.ma.read(0, 512) == b"\x21" * 512, "6.1.4-02", "buffers of a QP after its end", "changed", "as they were")
    del left
    t.named("6.1.4-09")
    alive(t)


def on_cq(t: Verbs, cq: Any) -> Pair:
    """A pair whose a has this CQ for both queues; the other end has sent nothing but its first message."""
    one, other = nodes(t)
    a, b = one.qp(cq=cq), other.qp()
    p = Pair(a, b, one.mem(8192), other.mem(8192))
    b.idle()
    first = b.recv(p.mb.sge(0, 8))
    connect(a, b)
    start(p, first)
    return p


@verbs(89, "Resize a QP", "6.1.3-03 6.1.3-05..08", variants=each("what", ["without", "up", "below"]))
def resize(t: Verbs) -> None:
    """Where the device says that it can, with WRs outstanding and on both queues; where it does not it changes nothing."""
    what, able = t.params["what"], bool(nodes(t)[0].attr("device_cap_flags") & 1 << 0)  # IBV_DEVICE_RESIZE_MAX_WR
    if able == (what == "without"):
        t.skip(f"the device {'says' if able else 'does not say'} that the size of a QP can be changed")
    p = pair(t, rq_size=32)
    wrs = receives(p.a, p.ma, 16)
    before = p.a.query().result().get("cap") or {}
    size = 4 if what == "below" else 2 * p.a.size("rq")
    call = p.a.modify(rq_size=size, sq_size=size if what != "below" else 2 * p.a.size("sq"))
    now = p.a.query().result().get("cap") or {}
    if what == "without":
        held = now.get("rq_size") == before.get("rq_size")
        t.require(held or not returned(call) or now.get("rq_size") == size, "6.1.3-05", "sizes after a change that is not offered",
                  now, before)  # fmt: skip
    elif what == "up":
        t.require(returned(call), "6.1.3-06", "both queues made larger, with Receives outstanding", said(call), OK)
    else:
        kept = not returned(call) or int(now.get("rq_size") or 0) >= 16
        t.require(kept, "6.1.3-08", "a queue with 16 WRs made 4 large", said(call), REFUSED)
        if returned(call) and kept:
            t.notice("6.1.3-08", "a queue with 16 WRs made 4 large", "nothing was done", REFUSED, "B63")
    good([p.b.send(p.mb.sge(0, 64)) for _ in range(16)] + wrs, "6.1.3-07", "work that was outstanding at a resize")
    events = t.events(p.a.end, p.a.qp)
    t.require(not events, "6.1.3-07", "asynchronous errors of a resize", events, "none")
    t.named("6.1.3-03 6.1.3-05 6.1.3-06 6.1.3-08")
    alive(t)


@verbs(90, "Change ORD and IRD", "6.1.3-02 6.2.2.1-02 6.5-06..09", errata="B28",
       variants=each("when", ["idle", "rts", "outstanding", "increase"]))  # fmt: skip
def change_ord(t: Verbs) -> None:
    """ORD can be lowered in Idle and in RTS, and Reads go on. Raising it is an option. Others notice nothing."""
    need_read(t)
    when = t.params["when"]
    most = min(node.attr("max_qp_init_rd_atom") for node in nodes(t))
    if when == "idle":
        p = pair(t, ord=1, ird=1)
        good([p.a.read(p.mb.remote(64 * k), p.ma.sge(64 * k, 64)) for k in range(6)], "6.5-08", "Reads with ORD lowered in Idle")
        t.named("6.5-06 6.5-08 6.1.3-02")
        alive(t)
        return
    start_ord = 1 if when == "increase" else min(4, most)
    p, near = pair(t, 65536, ord=start_ord, ird=4), pair(t, 4096)
    wrs = []
    if when == "outstanding":
        wrs = p.a.post([{"opcode": "RDMA_READ", "sges": [p.ma.sge(0, 16384)], "remote": p.mb.remote(0), "times": 8}]).wrs
    call = p.a.modify(max_rd_atomic=min(4, most) if when == "increase" else 1)
    if not returned(call) and when != "increase":
        if call.result().get("errno") in (95, 22) or not t.iwarp:
            t.notice("6.1.3-02", "a lower ORD in RTS", said(call), OK, "B28")
        else:
            t.report("6.1.3-02", "a lower ORD in RTS", said(call), OK)
    if when == "outstanding":
        t.reap(wrs)
    else:
        p.mb.pattern(6, 0, 4096)
        good([p.a.read(p.mb.remote(64 * k), p.ma.sge(64 * k, 64)) for k in range(8)], "6.1.3-02" if when == "rts" else "6.5-09",
             f"Reads behind a change of ORD ({when})")  # fmt: skip
        t.require(p.ma.wrong(6, 0, 512) == 0, "6.1.3-02" if when == "rts" else "6.5-09", "their data", "wrong", "those read")
    good([near.a.read(near.mb.remote(64 * k), near.ma.sge(64 * k, 64)) for k in range(8)], "6.5-07", "Reads of a bystander")
    t.named("6.1.3-02 6.2.2.1-02 6.5-06 6.5-07 6.5-09")
    alive(t)


@verbs(91, "Modify to Terminate", "6.2.2.3-01 6.2.3-06", errata="B10 B50", applies=IWARP)
def terminate(t: Verbs) -> None:
    """The stream of the peer ends, or the move is refused; without any effect it may not succeed."""
    p = pair(t)
    theirs, mine = receives(p.b, p.mb, 4), receives(p.a, p.ma, 4)
    call = p.a.modify(state="SQE")
    if not returned(call):
        t.notice("6.2.2.3-01", "a move from RTS to Terminate", said(call), OK, "B50")
        message_with(t, p, theirs)
    else:
        flushed(theirs, "6.2.2.3-01", "the peer's Receives when a QP is moved to Terminate")
        flushed(mine, "6.2.2.3-01", "Receives of a QP moved to Terminate")
        if p.a.told(t.quiet_us):
            t.notice("6.2.3-06", "an asynchronous event of a move to Terminate", "one", "none", "B10")
    t.named("6.2.3-06")
    alive(t)


def message_with(t: Verbs, p: Pair, posted: list[Any]) -> None:
    """A Send into a Receive that is there."""
    good([p.a.send(p.ma.sge(0, 64)), posted[0]], "8.3.1-01", "a message behind a move that was refused")


@verbs(92, "Posting returns at once", "8.2.1-06", variants=each("what", ["stall", "empty", "many"]))
def at_once(t: Verbs) -> None:
    """Control comes back within the bound, whatever the peer does."""
    what = t.params["what"]
    p = pair(t, 1 << 20, sq_size=64, ord=1, ird=1)
    wr: dict[str, Any] = {"opcode": "SEND", "sges": [p.ma.sge(0, 64)]}
    if what == "stall":
        need_read(t)
        wr = {"opcode": "RDMA_READ", "sges": [p.ma.sge(0, 1 << 18)], "remote": p.mb.remote(0)}
    elif what == "many":
        wr = {"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 1 << 20)], "remote": p.mb.remote(0)}
    longest = 0
    for _ in range(30 if what != "empty" else 4):
        made = p.a.post([wr], must=False)
        taken = made.call.result().get("us")
        longest = max(longest, taken if isinstance(taken, int) else 0)
    t.require(longest <= t.bound_us, "8.2.1-06", f"the time inside a post ({what})", f"{longest} us", f"{t.bound_us} us at most")
    p.a.flush()
    alive(t)


@verbs(95, "A bystander", "10-01..02 10.4.1-01", variants=each("who", ["peer", "local", "process"]))
def bystander(t: Verbs) -> None:
    """Whatever a hostile peer or a faulty neighbour does, its transfers go on."""
    who = t.params["who"]
    one, other = nodes(t)
    if who == "process" and t.agents < 2:
        t.lack("this needs a second process: --agent2")
    near = pair(t)
    row = "10-01" if who == "peer" else "10-02"
    for turn in range(6):
        if who == "process":
            t.kill(1)
            near = pair(t)
        else:
            p = pair(t, 1024)
            bad: list[dict[str, Any]] = [
                {"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 8)], "remote": p.mb.remote(0, rkey=unknown(t, p.mb)["lkey"])},
                {"opcode": "SEND", "sges": [p.ma.sge(0, 1024)]}, {"opcode": "SEND", "sges": [p.ma.sge(0, 8)], "times": 8},
            ]  # fmt: skip
            if who == "local":
                bad = [{"opcode": "SEND", "sges": [unknown(t, p.ma)]}, {"opcode": "SEND", "sges": [p.ma.at(-1, 64)]}]
            p.b.recv(p.mb.sge(0, 4))
            p.a.post([bad[turn % len(bad)]], must=False)
            t.wait(t.quiet_us // 20)
        if not message(near, 64, turn, row=row) or not message(near.back(), 64, turn + 20, row=row):
            break
    strange = [e for q in (near.a, near.b) for e in t.events(q.end, q.qp)]
    t.require(not strange, row, "events that name the bystander", strange, "none")
    good([near.a.write(near.mb.remote(0), near.ma.sge(0, 64))], row, "a Write of the bystander")
    t.named("10-01 10-02 10.4.1-01")
    del one, other
    alive(t)
