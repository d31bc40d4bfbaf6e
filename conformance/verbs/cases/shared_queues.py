"""VERBS.83 to VERBS.86: shared receive queues as objects: their sizes, how they are counted, their end, their PD."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant

from conformance.verbs.cases.objects import success
from conformance.verbs.cases.remote import allowed
from conformance.verbs.steps.declare import IWARP, SRQ, each, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import LOCAL
from conformance.verbs.steps.session import OK, REFUSED, Mem, Node, Pair, alive, good, moved, need_read, nodes, returned, said
from conformance.verbs.steps.shared import Shared

_ENOMEM = 12
_FULL = 4096  # so many Receives are posted at most to see that an SRQ holds what it was granted
_ROUNDS, _REFILLS = 200, 10_000
_MANY = 200  # so many SRQs are made at most


@verbs(83, "SRQs: made, asked, changed, destroyed",
       "6.3-02 6.3-04..06 6.3-10 6.3.1-01 6.3.2-02..04 6.3.3-01 6.3.7-02 6.3.8-01 6.3.8-07..08 8.3.1-03 9.2.4.1-01..02 9.2.4.2-01",
       errata="B26 B36 B47 B55 B110", variants=[
           Variant("told", {"what": "told"}),
           *[Variant(what, {"what": what}, SRQ) for what in (
               "many", "sizes", "sges", "beyond", "one-pd", "query", "limit", "destroy",
               "resize-up", "resize-below-used", "resize-below-limit")]])  # fmt: skip
def objects(t: Verbs) -> None:
    """What the device tells of SRQs holds for each of them, and a call that is refused changes nothing."""
    one, other = nodes(t)
    what = t.params["what"]
    if what == "told":
        told(t, one)
    elif what == "many":
        many(t, one)
    elif what == "sizes":
        sizes(t, other)
    elif what == "sges":
        sges(t)
    elif what == "beyond":
        beyond(t, one)
    elif what == "one-pd":
        first, second = Shared(t), Shared(t)
        for s in (first, second):
            p = s.peer()
            s.post(8)
            s.serves(p, 8, "6.3-06")
    elif what == "query":
        s = Shared(t, 20)
        fresh = {"size": s.srq.size, "sges": s.srq.sges, "limit": 0}
        t.require(s.told() == fresh, "9.2.4.2-01", "what the query of a new SRQ tells", s.told(), fresh)
        s.post(12)
        t.require(s.arm(5), "6.3-10", "Modify SRQ with a limit", REFUSED, OK)
        after = {**fresh, "limit": 5}
        t.require(s.told() == after, "9.2.4.2-01", "what the query tells after a limit was set", s.told(), after)
        success(t, "6.3-10", "destroying it", s.srq.destroy())
    elif what == "limit":
        s = Shared(t)
        p = s.peer()
        s.post(12)
        t.require(s.arm(3), "6.3-10", "Modify SRQ with a limit", REFUSED, OK)
        before = s.told()
        top = max(s.srq.size, before["size"] if isinstance(before["size"], int) else 0)
        t.require(not s.arm(top + 1), "6.3.8-07", f"a limit of {top + 1} on an SRQ of {top}", OK, REFUSED)
        for row in ("6.3.8-07", "8.3.1-03"):
            t.require(s.told() == before, row, "the SRQ after a limit that was refused", s.told(), before)
        s.serves(p, 12, "8.3.1-03")
    elif what == "destroy":
        destroy(t)
    else:
        resize(t, what.removeprefix("resize-"))
    alive(t)


def told(t: Verbs, one: Node) -> None:
    """max_srq and max_srq_wr against what Create SRQ does."""
    most, wrs = one.attr("max_srq"), one.attr("max_srq_wr")
    made = one.call("CreateSrq", pd=one.pd, size=1, sges=1)
    words = f"max_srq {most}, and Create SRQ: {said(made)}"
    if most and not returned(made) and one.no_room(made):
        t.lack("the provider has no room for an SRQ")
    for row in ("6.3-02", "6.3-04"):
        t.require(returned(made) == (most > 0), row, "whether there are SRQs", words, "both say the same")
    t.require(wrs > 0 or not returned(made), "6.3-05", "max_srq_wr where there are SRQs", wrs, "more than 0")
    if not most and wrs:
        t.notice("6.3-05", "max_srq_wr without SRQs", wrs, 0, "B47")


def many(t: Verbs, one: Node) -> None:
    """As many as the device tells."""
    most = one.attr("max_srq")
    count = min(most, _MANY)
    made = []
    for number in range(count):
        call = one.call("CreateSrq", pd=one.pd, size=1, sges=1)
        if not returned(call):
            # Want of room is right at any number (5.1.3), and the number of the error says nothing (B36).
            t.require(number > 0, "6.3-04", f"SRQ {number + 1} where {most} are told", said(call), OK)
            break
        made.append(call.integer("srq"))
    for srq in made:
        success(t, "6.3-10", "destroying an SRQ that nothing uses", one.call("DestroySrq", srq=srq))


def sizes(t: Verbs, node: Node) -> None:
    """At least as many Receives as asked for, and so many are taken."""
    most = node.attr("max_srq_wr")
    mem = node.mem(64)
    for asked in dict.fromkeys((1, 16, 100, most)):
        if asked > most:
            continue
        call = node.call("CreateSrq", pd=node.pd, size=asked, sges=1)
        if not returned(call):
            full = asked == most  # a maximum need not be reached while there are other objects (5.1.1, 5.1.3)
            if full and call.result().get("errno") != _ENOMEM:
                t.notice("6.3.1-01", f"an SRQ of {asked} Receives, the maximum", said(call), "ENOMEM", "B36")
            for row in ("6.3.1-01", "9.2.4.1-01"):
                t.require(full, row, f"an SRQ of {asked} Receives, where {most} is the maximum", said(call), OK)
            continue
        srq, got = call.integer("srq"), call.integer("size")
        t.require(got >= asked, "6.3.1-01", "the size of an SRQ", got, f"at least {asked}")
        left = min(asked, _FULL)
        posted = node.call("PostSrq", srq=srq, wrs=[{"wr_id": "0000000000000001", "sges": [mem.sge()], "times": left}])
        t.require(returned(posted), "6.3.1-01", f"{left} Receives on an SRQ of {asked}", said(posted), OK)
        success(t, "6.3-10", "destroying an SRQ", node.call("DestroySrq", srq=srq))


def sges(t: Verbs) -> None:
    """At least as many elements as asked for, and so many serve a message."""
    _, other = nodes(t)
    most = other.attr("max_srq_sge")
    t.require(most > 0, "9.2.4.1-02", "max_srq_sge where there are SRQs", most, "at least 1")
    for asked in dict.fromkeys((1, 2, 4, most)):
        if not 0 < asked <= min(most, 16):
            continue
        s = Shared(t)
        s.srq = other.srq(8, sges=asked)
        t.require(s.srq.sges >= asked, "9.2.4.1-02", f"elements of an SRQ of {asked}", s.srq.sges, f"at least {asked}")
        p = s.peer()
        made = s.srq.post([{"sges": [s.mem.sge(4096 + 64 * k, 8) for k in range(asked)]}], must=False)
        if t.require(made.whole, "9.2.4.1-02", f"a Receive of {asked} elements", made.said, OK):
            p.ma.pattern(4, 0, 8 * asked)
            s.posted[made.wrs[0].wr_id] = (made.wrs[0], 4096)
            s.serves(p, 1, "9.2.4.1-02", 8 * asked)
            got = b"".join(s.mem.read(4096 + 64 * k, 8) for k in range(asked))
            t.require(got == p.ma.read(0, 8 * asked), "9.2.4.1-02", "the bytes of the message", "wrong", "those sent")


def beyond(t: Verbs, one: Node) -> None:
    """More than the device tells."""
    for name, other, row in (("max_srq_wr", "size", "6.3-05"), ("max_srq_sge", "sges", "9.2.4.1-01")):
        most = one.attr(name)
        if most >= 2**31 - 1:
            continue
        asked: dict[str, Any] = {"size": 1, "sges": 1, other: most + 1}
        call = one.call("CreateSrq", pd=one.pd, **asked)
        if not returned(call):
            continue
        got = call.integer(other)
        what, words = f"an SRQ with {other} {most + 1}, where {name} is {most}", f"one of {got}"
        if other == "size" and got <= most:
            t.notice("9.2.4.1-01", what, words, REFUSED, "B55")
        else:
            for of in dict.fromkeys((row, "9.2.4.1-01")):
                t.report(of, what, words, REFUSED)
        one.call("DestroySrq", srq=call.integer("srq"))


def destroy(t: Verbs) -> None:
    """Refused while there is a QP, and without an effect; a success afterwards."""
    s = Shared(t)
    p = s.peer()
    s.post(8)
    before = s.told()
    if not t.require(not returned(s.srq.destroy()), "6.3.3-01", "destroying the SRQ of a QP", OK, REFUSED):
        p.b.abandon()
        return
    t.require(s.told() == before, "8.3.1-03", "the SRQ after a refused destruction", s.told(), before)
    for row in ("6.3.3-01", "8.3.1-03"):
        s.serves(p, 4, row)
    success(t, "6.1.4-07", "destroying the QP", p.b.destroy())
    success(t, "6.3.3-01", "destroying an SRQ without QPs", s.srq.destroy())


def resize(t: Verbs, way: str) -> None:
    """With Receives posted. Where nothing is said of it a refusal is right, and changes nothing."""
    s = Shared(t, 16)
    p = s.peer()
    s.post(16 if way != "below-limit" else 3)
    if way in ("up", "below-limit"):
        t.require(s.arm(3), "6.3-10", "Modify SRQ with a limit", REFUSED, OK)
    before, used = s.told(), len(s.unused())
    most = s.node.attr("max_srq_wr")
    asked = {"up": min(2 * s.srq.size, most), "below-used": 4, "below-limit": 2}[way]
    worked = s.resize(asked)
    if not worked:
        t.require(s.told() == before, "8.3.1-03", "the SRQ after a resize that was refused", s.told(), before)
        if way == "below-used":
            t.require(s.told() == before, "6.3.2-04", "the SRQ after a resize that was refused", s.told(), before)
    size = s.told()["size"]
    now = size if isinstance(size, int) else 0
    if way == "up":
        if s.must_resize():
            t.require(worked, "6.3.2-02", "an SRQ made twice as large, with Receives posted", REFUSED, OK)
        if worked:
            t.require(now >= asked, "6.3.2-02", f"the size after a resize to {asked}", now, f"at least {asked}")
            half(t, s, used + 1)
            s.post(asked - used)
    elif worked:
        row, least = ("6.3.2-04", used) if way == "below-used" else ("6.3.8-08", 3)
        words = f"an SRQ with {used} Receives" if way == "below-used" else "an SRQ with a limit of 3"
        if now >= least:
            t.notice(row, f"{words} made {asked} large", f"{now} large", REFUSED, "B55")
        else:
            t.report(row, f"{words} made {asked} large", f"{now} large", REFUSED)
    left = len(s.unused())
    s.serves(p, left, "6.3.7-02" if way == "up" and worked else "6.3.2-04" if way == "below-used" else "8.3.1-03")
    if way == "up":
        came = t.until(lambda: bool(s.limits()), t.bound_us)
        t.require(came, "6.3.8-01", "the event of a limit that was armed before a resize, with no Receive left", "none", "one")
    errors = t.events(p.b.end, p.b.qp) + t.events(s.node.end.number, names=frozenset({"SRQ_ERR"}))
    if worked:
        t.require(not errors, "6.3.2-03", "asynchronous errors of a resize", errors, "none")
    elif not s.resizable():
        alive(t)
        t.skip("the device does not change the size of an SRQ, which it need not (6.3.2)")


def half(t: Verbs, s: Shared, size: int) -> None:
    """A size that could be had, and beside it a limit that nobody could: both, or neither."""
    most, before = s.node.attr("max_srq_wr"), s.told()
    if most >= 2**31 - 1:
        return
    taken = s.node.ok("ModifySrq", srq=s.srq.srq, size=size, limit=most + 1)
    what = f"a size of {size} beside a limit of {most + 1}, where max_srq_wr is {most}"
    if t.require(not taken, "6.3.8-07", what, OK, REFUSED):
        t.require(s.told() == before, "8.3.1-03", f"the SRQ after {what} was refused", s.told(), before)


@verbs(84, "How the Receives of an SRQ are counted", "6.3.5-01..02 6.3.5-06..07 6.3.7-01..02", applies=SRQ, errata="B60", variants=[
    *each("what", ["full", "polled", "refilled", "shared", "one", "resized"], {"polled": IWARP})])  # fmt: skip
def counting(t: Verbs) -> None:
    """As many as were granted, each until its WC was polled; one QP can have them all, and none keeps them from others."""
    what = t.params["what"]
    s = Shared(t, 64 if what == "refilled" else 16)
    if what == "full":
        fill(t, s, s.srq.size, "6.3.5-01")
    elif what == "polled":
        polled(t, s)
    elif what == "refilled":
        refilled(t, s)
    elif what == "shared":
        pairs = [s.peer(), s.peer()]
        s.post(16 - len(s.unused()))
        sent = [p.a.send(p.ma.sge(0, 8)) for p in pairs for _ in range(8)]
        got = s.came(pairs, 16)
        good(sent, "6.3.5-07", "Sends to two QPs of an SRQ")
        for p in pairs:
            mine = sum(wc.good and wc.qp_num == p.b.qp_num for wc in got)
            t.require(mine == 8, "6.3.5-07", "messages of a QP, with Receives for all in the SRQ", mine, 8)
    else:
        p = s.peer(rq_size=1)
        if what == "resized":
            if not s.resize(min(32, s.node.attr("max_srq_wr"))):
                t.skip("the device does not change the size of an SRQ")
        count, row = min(s.srq.size, 64), "6.3.7-02" if what == "resized" else "6.3.7-01"
        s.post(count)
        s.serves(p, count, row)
    alive(t)


def fill(t: Verbs, s: Shared, count: int, row: str) -> None:
    """So many more Receives are taken, and no further one."""
    left = count
    while left > 0:
        part = min(left, 64)
        made = s.post(part, must=False)
        if not t.require(made.whole, row, f"{part} Receives on an SRQ with room for {left}", made.said, OK):
            return
        left -= part
    over = s.post(1, must=False)
    t.require(not over.wrs, row, f"one Receive more than the {s.srq.size} that were granted", over.said, REFUSED)


def polled(t: Verbs, s: Shared) -> None:
    """A Receive counts until its WC was polled."""
    if s.srq.size > 1024:
        t.skip("the SRQ is too large to be filled")
    p = s.peer(recv_cq=s.node.cq(2 * s.srq.size))
    fill(t, s, s.srq.size, "6.3.5-01")
    good(s.send(p, 5), "6.3-08", "Sends to a QP of an SRQ")
    t.wait(t.quiet_us // 2)
    early = s.post(1, must=False)
    what = "a Receive on a full SRQ, 5 of which had messages that nobody polled"
    t.require(not early.wrs, "6.3.5-02", what, early.said, REFUSED)
    if early.wrs:
        return
    got = s.came([p], 5)
    t.require(len(got) == 5, "6.3.5-07", "WCs of 5 messages", len(got), 5)
    fill(t, s, len(got), "6.3.5-02")


def refilled(t: Verbs, s: Shared) -> None:
    """For each WC that was polled one more Receive can be posted at once, however often."""
    if s.srq.size > 1024:
        t.skip("the SRQ is too large to be filled")
    p = s.peer(recv_cq=s.node.cq(2 * s.srq.size))
    fill(t, s, s.srq.size, "6.3.5-01")
    done, count = 0, min(32, s.srq.size)
    while done < _REFILLS:
        sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 8)], "times": count}]).wrs
        single = done < 320  # at first one by one, then several together
        for part in [1] * count if single else [count]:
            got = s.came([p], part)
            more = s.post(len(got), must=False) if got else None
            if len(got) < part or more is None or not more.whole:
                t.report("6.3.5-06", f"a Receive posted after a WC was polled, after {done}",
                         more.said if more is not None and len(got) == part else f"{len(got)} of {part} WCs", OK)  # fmt: skip
                return
        good(sent, "6.3-08", "Sends to a QP of an SRQ")
        done += count


@verbs(85, "An SRQ destroyed with Receives on it", "6.3.3-02..04", applies=SRQ, errata="B69",
       variants=each("what", ["posted", "traffic", "rounds"]))  # fmt: skip
def destroyed(t: Verbs) -> None:
    """It is, its Receives are forgotten, and nobody uses their memory any more."""
    what = t.params["what"]
    if what == "rounds":
        _, other = nodes(t)
        mem = other.mem(64)
        for number in range(_ROUNDS):
            srq = other.call("CreateSrq", pd=other.pd, size=min(64, other.attr("max_srq_wr") or 64), sges=1)
            if not t.require(returned(srq), "6.3.3-03", f"SRQ {number + 1}, the ones before being destroyed", said(srq), OK):
                break
            handle, size = srq.integer("srq"), srq.integer("size")
            wr = {"wr_id": "0000000000000001", "sges": [mem.sge()], "times": min(size, _FULL)}
            posted = other.call("PostSrq", srq=handle, wrs=[wr])
            gone = other.call("DestroySrq", srq=handle)
            for row, call in (("6.3.3-03", posted), ("6.3.3-02", gone)):
                t.require(returned(call), row, f"{call.method} in round {number + 1}", said(call), OK)
            if not returned(gone):
                break
        alive(t)
        return
    s = Shared(t)
    p = s.peer()
    s.post(12)
    if what == "traffic":
        s.serves(p, 2, "6.3-08")
        p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 64)], "times": 8}])
    else:
        s.serves(p, 4, "6.3-08")
    success(t, "6.1.4-07", "destroying the QP of an SRQ", p.b.destroy())
    if not success(t, "6.3.3-02", "destroying an SRQ with Receives posted", s.srq.destroy()):
        alive(t)
        return
    gone = s.mem.deregister()
    success(t, "6.3.3-04", "deregistering the memory of an SRQ that was destroyed", gone)
    s.mem.watched = False
    s.mem.write(b"\xc3" * s.mem.length)
    t.wait(t.quiet_us)
    kept = s.mem.read() == b"\xc3" * s.mem.length
    t.require(kept, "6.3.3-04", "the memory of an SRQ that was destroyed", "changed", "as it was filled")
    alive(t)


@verbs(86, "The PDs of an SRQ and of its QPs", "6.3.5-09..10 7.6.3-03", applies=f"{IWARP} and {SRQ}", errata="B54 B73", variants=[
    *each("what", ["srq-pd", "qp-pd"]),
    *product(each("what", ["others"]), each("op", ["send", "write", "read", "their-write", "their-read"]),
             each("pd", ["of-qp", "of-srq"]))])  # fmt: skip
def domains(t: Verbs) -> None:
    """The PD of the SRQ decides for its Receives, and that of the QP for everything else."""
    one, other = nodes(t)
    what, op = t.params["what"], t.params.get("op", "")
    if op.endswith("read"):
        need_read(t)
    s = Shared(t)
    pd = other.pd_new()
    tried = other.qp_call(pd=pd, send_cq=other.cq(), recv_cq=other.cq(), srq=s.srq.srq)
    if not returned(tried):
        t.notice("6.3.5-09", "a QP of another PD than its SRQ's", said(tried), OK, "B73")
        t.skip("a QP and its SRQ have one PD on this device (B73)")
    success(t, "6.1.4-07", "destroying the QP", other.call("DestroyQp", qp=tried.integer("qp")))
    p = s.peer(pd=pd, row="6.3.5-09", primed=what != "qp-pd")
    foreign = other.mem(4096, pd=pd)
    if what == "srq-pd":
        s.post(4)
        s.serves(p, 4, "6.3.5-09")
    elif what == "qp-pd":
        made = s.srq.post([{"sges": [foreign.sge(0, 64)]}], must=False)
        if not made.wrs:
            t.notice("6.3.5-10", "a Receive of an SRQ with memory of another PD", made.said, "a Completion Error", "B54")
        else:
            s.posted[made.wrs[0].wr_id] = (made.wrs[0], 0)
            p.ma.write(b"\x77" * 64)
            p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 64)]}], must=False)
            got = s.came([p], 1)
            seen = got[0].status if got else "none"
            t.require(seen in LOCAL, "6.3.5-10", "a Receive of an SRQ with memory of the QP's PD", seen, " or ".join(sorted(LOCAL)))
            t.require(foreign.untouched(), "6.3.5-10", "memory of the QP's PD", "changed", "as it was")
    else:
        local = foreign if t.params["pd"] == "of-qp" else other.mem(4096)
        others(t, s, p, op, local, t.params["pd"] == "of-qp")
    alive(t)


def others(t: Verbs, s: Shared, p: Pair, op: str, local: Mem, right: bool) -> None:
    """Everything but the Receives: with memory of the QP's PD it works, with that of the SRQ's it does not."""
    back = Pair(p.b, p.a, local, p.ma)
    row = "7.6.3-03"
    if op.startswith("their-"):
        there = Pair(p.a, p.b, p.ma, local)
        word = op.removeprefix("their-")
        if right:
            s.post(1)
            seen = local.read(0, 8)
            p.ma.pattern(21, 0, 64)
            if word == "write":
                wrs = [p.a.write(local.remote(0), p.ma.sge(0, 64))]
                good(wrs, row, "a Write to memory of the QP's PD")
                s.serves(p, 1, row)
                t.require(seen != local.read(0, 8), row, "its bytes", "as they were", "those written")
                t.require(local.wrong(21, 0, 64) == 0, row, "its bytes", "wrong", "those written")
            else:
                allowed(t, there, "read", local, row)
        else:
            wr = {"opcode": "RDMA_WRITE" if word == "write" else "RDMA_READ", "sges": [p.ma.sge(0, 64)], "remote": local.remote(0)}
            p.ma.write(b"\x77" * 64)
            made = p.a.post([wr], must=False).wrs
            t.reap(made)
            t.wait(t.quiet_us // 2)
            t.require(local.untouched(), row, f"memory of the SRQ's PD after a peer's {word}", "changed", "as it was")
            if word == "read":
                t.require(not any(one.good for one in made), row, "a peer's Read of memory of the SRQ's PD", "success", "an error")
                carried = moved(p.ma.read(0, 64), bytes([local.fill]) * 64)
                t.require(not carried, row, "its sink", "bytes of the source", "none of them")
        return
    got = p.a.recv(p.ma.sge(1024, 64)) if op == "send" else None
    local.pattern(6, 0, 64)
    wr = {"opcode": {"send": "SEND", "write": "RDMA_WRITE", "read": "RDMA_READ"}[op], "sges": [local.sge(0, 64)]}
    if op != "send":
        wr["remote"] = p.ma.remote(2048)
    p.ma.write(b"\x77" * 64, 2048)
    made = back.a.post([wr], must=False).wrs
    t.reap([*made, *([got] if got else [])], t.bound_us if right else t.quiet_us)
    if right:
        good([*made, *([got] if got else [])], row, f"a {op} with memory of the QP's PD")
        return
    t.require(not any(w.good for w in made), row, f"a {op} with memory of the SRQ's PD", "success", "an error")
    if got is not None:
        t.require(not got.good, row, "a Send with memory of the SRQ's PD", "arrived", "never")
    if op == "write":
        t.require(p.ma.read(2048, 64) == b"\x77" * 64, row, "the target of a Write from memory of the SRQ's PD", "changed",
                  "as it was")  # fmt: skip
    if op == "read":
        t.require(local.wrong(6, 0, 64) == 0, row, "a sink in memory of the SRQ's PD", "changed", "as it was")
