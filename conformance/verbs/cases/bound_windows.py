"""VERBS.64 to VERBS.66 and VERBS.69: the life of a window, what holds it and what it holds, and binds that fail."""

from __future__ import annotations

from typing import Any, Mapping

from conformance.verbs.cases.objects import refused, success
from conformance.verbs.cases.protection import sender
from conformance.verbs.cases.remote import allowed, denied
from conformance.verbs.cases.windows import bound, region, seen, through
from conformance.verbs.steps.declare import IWARP, MT, MW, each, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import BIND, LOCAL, REFUSED_IB, REFUSED_IWARP, TOO_SHORT
from conformance.verbs.steps.session import (
    ALL, OK, REFUSED, REMOTE_READ, REMOTE_WRITE, Mem, Pair, Qp, alive, connect, flushed, good, heard, hex64, need_read, nodes,
    pair, receives, returned, said, start,
)  # fmt: skip
from conformance.verbs.steps.windows import Bound, Window, bind, invalidate, kind, next_key, per_qp, window

BOTH = (REMOTE_READ, REMOTE_WRITE)
_MANY, _ROUNDS = 64, 100


def released(t: Verbs, qp: Qp, of: Window, key: int) -> bool:
    """The window is Invalid again where it can be made so: by an Invalidate, and for type 1 by a bind of length zero (B65)."""
    if of.kind == 1 and not t.iwarp:
        return bind(qp, of, _any(t), 0, 0).good
    if not t.pics["local_inv"]:
        return False
    wr = invalidate(qp, key)
    return wr is not None and wr.good


def _any(t: Verbs) -> Mem:
    """Some region that windows may be bound to."""
    return region(t, length=64)


@verbs(64, "The STag of a window in a list of local memory", "8.1.3.2-02", applies=MW, errata="B54 B69",
       variants=product(each("op", ["send", "write", "recv"]), each("state", ["bound", "new"])))  # fmt: skip
def local_list(t: Verbs) -> None:
    """The WR ends with an error or is refused, and no byte is moved."""
    op = t.params["op"]
    p, mem = pair(t), region(t)
    mw = window(p.b.node)
    if t.params["state"] == "bound":
        mw, _ = bound(t, p, mem, BOTH, "7.10.2-01", "a bind")
    back = p.back()
    bad = mem.sge(0, 64, lkey=mw.rkey)
    what = f"a {op} with a window's STag in its list"
    if op == "recv":
        made = p.b.post([{"sges": [bad]}], queue="rq", must=False)
        if made.wrs:
            sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 64)]}], must=False).wrs
            t.reap(made.wrs)
            wanted = LOCAL | TOO_SHORT
            t.require(made.wrs[0].status in wanted, "8.1.3.2-02", what, made.wrs[0].status, " or ".join(sorted(wanted)))
            sender(t, sent)
        else:
            t.notice("8.1.3.2-02", what, made.said, "a Completion Error", "B54")
    else:
        got = receives(p.a, p.ma, 1)
        wr: dict[str, Any] = {"opcode": "SEND" if op == "send" else "RDMA_WRITE", "sges": [bad]}
        if op == "write":
            wr["remote"] = p.ma.remote(4096)
        made = back.a.post([wr], must=False)
        t.reap(made.wrs)
        for one in made.wrs:
            t.require(one.status in LOCAL, "8.1.3.2-02", what, one.status, " or ".join(sorted(LOCAL)))
        t.reap(got, t.quiet_us)
        t.require(not got[0].good, "8.1.3.2-02", what, "arrived", "never")
        t.require(p.ma.untouched(4096, 64), "8.1.3.2-02", what, "bytes moved", "none")
    t.require(mem.untouched(), "8.1.3.2-02", "the memory of the window", "changed", "as it was")
    alive(t)


_KEYS = {"previous": 0xFF, "next": 1, "low-bit": 0x81, "far": 0x5A}  # added to the low byte of the rkey


@verbs(65, "The life of a window",
       "5.2-03 7.2-01 7.2-03..04 7.2.2-01 7.9-07 7.10.1-01 7.10.2-01..02 7.10.2-07 7.10.2-09 7.10.2-11 7.10.2-15..16 7.10.2-18 "
       "7.10.4-03 7.10.4.1-02 7.10.6.2-03 8.1.2.3.1-01 8.2.2.1-02 9.2.6.7-01", applies=MW, errata="B53 B54 B64 B65", variants=[
           *product(each("what", ["new"]), each("op", ["write", "read"])),
           *each("what", ["numbers", "bound", "rebound", "shorter", "weaker", "many", "overlapping", "bind-then-send", "quiet",
                          "independent"]),
           *product(each("what", ["key"]), each("key", _KEYS)),
           *product(each("what", ["bounds"]), each("side", {"before": -1, "beyond": 37, "read-beyond": "read"})),
           *product(each("what", ["deallocated"]), each("state", ["new", "bound", "invalid", "read"])),
           *each("what", ["loop"], {"loop": MT})])  # fmt: skip
def life(t: Verbs) -> None:
    """A window gives what its bind says, by the rkey of the bind, from its WC on and until it is invalidated or deallocated."""
    what = t.params["what"]
    p, mem = pair(t), region(t)
    if what == "new":
        if t.params["op"] == "read":
            need_read(t)
        mw = window(p.b.node)
        remote = mem.remote(0, rkey=mw.rkey)
        denied(t, p, t.params["op"], remote, "7.10.1-01 7.2.2-01", "an access by a window that was never bound", region=mem)
    elif what == "numbers":
        numbers(t, p)
    elif what == "bound":
        in_order(t, p, mem)
    elif what == "rebound":
        rebound(t, p, mem)
    elif what in ("shorter", "weaker"):
        bound_to_less(t, p, mem, what == "weaker")
    elif what == "many":
        many(t, p, mem)
    elif what == "overlapping":
        overlapping(t, p, mem)
    elif what in ("bind-then-send", "quiet"):
        bind_then_send(t, p, mem, ["SIGNALED"] if what == "bind-then-send" else [])
    elif what == "independent":
        independent(t, p, mem)
    elif what == "key":
        if kind(t) == 1 and not t.iwarp:
            t.skip("the provider chooses the key of windows of type 1 (B65)")
        _, made = bound(t, p, mem, BOTH, "7.10.2-01", "a bind")
        allowed(t, p, "write", seen(mem, made.rkey, mem.va), "7.2-01")
        mem.write(bytes([mem.fill]) * 256)
        other = made.rkey & 0xFFFFFF00 | made.rkey + t.params["key"] & 0xFF
        denied(t, p, "write", mem.remote(0, rkey=other), "7.10.2-16", f"a write by another key of a bound window, {other:08x}",
               region=mem)  # fmt: skip
    elif what == "bounds":
        op, side = ("read", 37) if t.params["side"] == "read" else ("write", t.params["side"])
        if op == "read":
            need_read(t)
        mw = window(p.b.node)
        made = bind(p.b, mw, mem, 1001, 100, access=BOTH)
        t.require(made.good, "7.10.2-01", "a bind of 100 bytes at an odd address", made.status, OK)
        view = seen(mem, made.rkey, mem.va)
        for at in (1001, 1037):  # the first and the last 64 bytes of the window
            allowed(t, p, "write", view, "7.10.2-07", at)
        mem.write(bytes([mem.fill]) * 200, 950)
        denied(t, p, op, mem.remote(1001 + side, rkey=made.rkey), "7.10.2-09",
               f"a {op} with a byte outside of the window", region=mem)  # fmt: skip
        t.require(mem.untouched(900, 300), "7.10.2-09", "the memory around a window", "changed", "as it was")
    elif what == "deallocated":
        deallocated(t, p, mem)
    else:
        loop(t, p, mem)
    alive(t)


def numbers(t: Verbs, p: Pair) -> None:
    """Windows and regions have numbers of their own."""
    made = [window(p.b.node)]
    for _ in range(min(16, p.b.node.attr("max_mw")) - 1):
        call = p.b.node.call("AllocateMw", pd=p.b.node.pd, type=made[0].kind)
        if not returned(call):  # want of room is right at any number (5.1.3), and the number of the error says nothing (B36)
            break
        made.append(Window(p.b.node, call.integer("mw"), made[0].kind, call.integer("rkey")))
    indices = [mw.rkey >> 8 if mw.kind == 2 or t.iwarp else mw.rkey for mw in made]
    apart = len(set(indices)) == len(indices)
    t.require(apart, "7.2-03", "the STag indices of windows", [hex(n) for n in indices], "all different")
    rkeys = {m.rkey for m in t.account.mems if m.node is p.b.node}
    t.require(not rkeys & {mw.rkey for mw in made}, "7.2-03", "STags of windows that regions have as well", "some", "none")
    for mw in made:
        t.require(mw.deallocate(), "7.9-07", "deallocating a window that was never bound", REFUSED, OK)


def in_order(t: Verbs, p: Pair, mem: Mem) -> None:
    """A bind among Sends: its WC stands between theirs, and the whole range is served by the new rkey."""
    theirs = receives(p.a, p.ma, 2, start=4096)
    mw = window(p.b.node)
    first = p.b.send(p.mb.sge(0, 64))
    made = bind(p.b, mw, mem, access=BOTH)
    t.require(made.good, "7.10.2-01", "a bind", made.status, OK)
    last = p.b.send(p.mb.sge(0, 64))
    good([first, last, *theirs], "8.1.2.3.1-01", "Sends before and behind a bind")
    if made.wr is not None and made.wr.wc is not None:
        t.require(made.wr.wc.opcode == "BIND_MW", "8.1.2.3.1-01", "the opcode in the WC of a bind", made.wr.wc.opcode, "BIND_MW")
    view = seen(mem, made.rkey, mem.va)
    own = ["7.10.2-15"] if mw.kind == 2 else []  # the rkey has the index of the allocation: that it serves shows that it stayed
    for at in (0, 1024, mem.length - 64):
        for row in ("7.10.2-01", "7.10.2-07", "7.2-01", *own):
            allowed(t, p, "write", view, row, at)
            if row == "7.10.2-07" and p.b.node.attr("max_qp_rd_atom") and p.a.node.attr("max_qp_init_rd_atom"):
                allowed(t, p, "read", view, row, at)


def rebound(t: Verbs, p: Pair, mem: Mem) -> None:
    """Bound, released, bound to a part of another region by a new key: the new one serves, the old one does not."""
    mw, first = bound(t, p, mem, BOTH, "7.10.2-01", "a bind")
    allowed(t, p, "write", seen(mem, first.rkey, mem.va), "7.10.2-01")
    if not released(t, p.b, mw, first.rkey):
        t.skip("windows cannot be made Invalid without being deallocated (B64)")
    other = region(t)
    second = bind(p.b, mw, other, 2048, 1024, access=BOTH)
    if not t.require(second.good, "7.10.4-03", "binding a window that was made Invalid", second.status, OK):
        return
    mem.write(bytes([mem.fill]) * 256, 0)
    allowed(t, p, "write", seen(other, second.rkey, other.va), "7.10.4-03", 2048)
    t.require(mem.untouched(), "7.10.4-03", "the region that the window had before", "changed", "as it was")
    if first.rkey != second.rkey:
        denied(t, p, "write", mem.remote(0, rkey=first.rkey), "7.10.2-16", "a write by the STag of the bind before", region=mem)


def bound_to_less(t: Verbs, p: Pair, mem: Mem, weaker: bool) -> None:
    """Bound, released, bound to the same region with fewer bytes or fewer rights: what the first bind gave is refused."""
    mw, first = bound(t, p, mem, BOTH, "7.10.2-01", "a bind")
    allowed(t, p, "write", seen(mem, first.rkey, mem.va), "7.10.2-01")
    if not released(t, p.b, mw, first.rkey):
        t.skip("windows cannot be made Invalid without being deallocated (B64)")
    second = bind(p.b, mw, mem, 0, 1024, access=(REMOTE_READ,) if weaker else BOTH)
    if not t.require(second.good, "7.10.4-03", "binding a window that was made Invalid", second.status, OK):
        return
    row, at = ("7.10.2-11", 0) if weaker else ("7.10.2-09", 2048)
    denied(t, p, "write", mem.remote(at, rkey=second.rkey), row, "a write that the first bind allowed", region=mem)
    t.require(mem.untouched(at, 256), row, "memory that the second bind does not give", "changed", "as it was")


def many(t: Verbs, p: Pair, mem: Mem) -> None:
    """Many windows of one PD on one region, bound through one QP."""
    count = min(_MANY, p.b.node.attr("max_mw"))
    parts = []
    for number in range(count):
        call = p.b.node.call("AllocateMw", pd=p.b.node.pd, type=kind(t))
        if not returned(call):
            t.require(number > 1, "5.2-03", f"window {number + 1} of one PD, where {count} are told", said(call), OK)
            break
        mw = Window(p.b.node, call.integer("mw"), kind(t), call.integer("rkey"))
        made = bind(p.b, mw, mem, number * 64 % mem.length, 64, access=BOTH)
        for row in ("5.2-03", "7.10.2-02"):
            t.require(made.good, row, f"bind {number + 1} to one region through one QP", made.status, OK)
        if not made.good:
            return
        parts.append((number * 64 % mem.length, made))
    for at, made in (*parts[:3], *parts[-3:]):
        allowed(t, p, "write", seen(mem, made.rkey, mem.va), "7.10.2-02", at)


def overlapping(t: Verbs, p: Pair, mem: Mem) -> None:
    """Windows that overlap, each with its own rights."""
    need_read(t)
    parts = [(0, 1024, BOTH), (512, 1024, (REMOTE_READ,)), (512, 64, (REMOTE_WRITE,)), (2048, 512, BOTH)]
    made = []
    for at, length, access in parts:
        one = bind(p.b, window(p.b.node), mem, at, length, access=access)
        t.require(one.good, "7.10.2-18", "a bind to memory that another window has as well", one.status, OK)
        made.append(one)
    for (at, _, access), one in zip(parts, made):
        for right, op in ((REMOTE_WRITE, "write"), (REMOTE_READ, "read")):
            if right in access:
                allowed(t, p, op, seen(mem, one.rkey, mem.va), "7.10.2-18", at)
    mem.write(bytes([mem.fill]) * 1024)
    view = Mem(mem.node, mem.mem, mem.offset + 512, 512, mem.mr, mem.lkey, made[1].rkey, mem.va + 512, mem.fill, False)
    t.account.mems.remove(view)
    what = "a write by the window for Reads, where another allows Writes"
    denied(t, p, "write", view.remote(0), "7.10.2-18", what, region=view)


def bind_then_send(t: Verbs, p: Pair, mem: Mem, flags: list[str]) -> None:
    """A bind and a Send that tells of it in one list: the peer that has the Send gets in."""
    if kind(t) == 1:
        t.skip("windows of type 1 are bound by a call of their own (B65)")
    mw = window(p.b.node)
    rounds = _ROUNDS if t.pics["local_inv"] and flags else 1
    for number in range(rounds):
        key = next_key(mw.rkey)
        there = p.a.recv(p.ma.sge(4096, 8))
        where = {"mw": mw.mw, "rkey": key, "mr": mem.mr, "addr": hex64(mem.va), "length": mem.length, "access": list(BOTH)}
        wrs = p.b.post([{"opcode": "BIND_MW", "sges": [], "bind": where, "flags": flags},
                        {"opcode": "SEND", "sges": [p.mb.sge(0, 8)]}]).wrs  # fmt: skip
        t.reap([there])
        wrote = p.a.write(mem.remote(0, rkey=key), p.ma.sge(0, 64))
        back = p.b.recv(p.mb.sge(64, 8))
        told = p.a.send(p.ma.sge(0, 8))
        done = [*(wr for wr in wrs if wr.signaled), there, wrote, told, back]
        if not good(done, "8.2.2.1-02", f"a Write by a window that was bound right before (round {number})"):
            return
        mw.rkey = key
        if number < rounds - 1 and not released(t, p.b, mw, key):
            break


def independent(t: Verbs, p: Pair, mem: Mem) -> None:
    """What is done to one window is not done to another."""
    if not t.pics["local_inv"] or kind(t) == 1 and not t.iwarp:
        t.skip("windows cannot be invalidated (B64)")
    first, one = bound(t, p, mem, BOTH, "7.10.2-01", "a bind")
    second = window(p.b.node)
    wr = invalidate(p.b, second.rkey)
    if wr is None or not wr.good:
        t.notice("7.2-04", "invalidating a window that is Invalid", wr.status if wr else REFUSED, OK, "B64")
        t.skip("an Invalid window cannot be invalidated, so that the two cannot be compared (B64)")
    allowed(t, p, "write", seen(mem, one.rkey, mem.va), "7.2-04")
    made = bind(p.b, second, mem, 1024, 1024, access=BOTH)
    t.require(made.good, "7.2-04", "binding the other window", made.status, OK)
    wr = invalidate(p.b, first.rkey)
    t.require(wr is not None and wr.good, "7.2-04", "invalidating the first window", wr.status if wr else REFUSED, OK)
    allowed(t, p, "write", seen(mem, made.rkey, mem.va), "7.2-04", 1024)
    mem.write(bytes([mem.fill]) * 256)
    denied(t, p, "write", mem.remote(0, rkey=one.rkey), "7.2.2-01", "a write by a window that was invalidated", region=mem)


def deallocated(t: Verbs, p: Pair, mem: Mem) -> None:
    """In each state; and nobody gets in by it afterwards."""
    state = t.params["state"]
    op = "read" if state == "read" else "write"
    if op == "read":
        need_read(t)
    mw = window(p.b.node)
    if state != "new":
        mw, made = bound(t, p, mem, BOTH, "7.10.2-01", "a bind")
        allowed(t, p, "write", seen(mem, made.rkey, mem.va), "7.10.2-01")
        mem.write(bytes([mem.fill]) * 256)
        if state == "invalid" and not released(t, p.b, mw, made.rkey):
            t.skip("windows cannot be made Invalid without being deallocated (B64)")
    t.require(mw.deallocate(), "7.9-07", f"deallocating a window ({state})", REFUSED, OK)
    denied(t, p, op, mem.remote(0, rkey=mw.rkey), "7.10.6.2-03", f"a {op} by a window that was deallocated", region=mem)


def loop(t: Verbs, p: Pair, mem: Mem) -> None:
    """The peer writes all the time while the window is deallocated."""
    mw, made = bound(t, p, mem, BOTH, "7.10.2-01", "a bind")
    under_way(t, p, mem, made, "7.10.4.1-02", "deallocated", lambda: mw.deallocate())


def under_way(t: Verbs, p: Pair, mem: Mem, made: Bound, row: str, word: str, stop: Any) -> None:
    """Writes in a loop through a window; stop ends the window, and what is filled then stays."""
    p.ma.write(b"\x77" * 4096)
    first = t.account.ids(1)
    t.account.foreign.add(first)
    wr = {"wr_id": hex64(first), "opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 4096)], "remote": through(mem, made), "flags":
          ["SIGNALED"]}  # fmt: skip
    number = p.a.node.end.call("agent.loop", qp=p.a.qp, cq=p.a.send_cq.cq, wr=wr, times=0, Timeout=t.bound_us).integer("loop")
    t.wait(t.quiet_us // 5)
    worked = stop()
    if worked:
        mem.write(b"\xc3" * mem.length)
        t.wait(t.quiet_us)
        kept = mem.read() == b"\xc3" * mem.length
        t.require(kept, row, f"memory whose window was {word} under a peer's Writes", "changed", "as it was filled")
    ended = p.a.node.end.call("agent.stop", loop=number).result()
    t.require(worked, row, f"the end of a window under a peer's Writes ({word})", REFUSED, OK)
    wanted = REFUSED_IWARP if t.iwarp else REFUSED_IB | {"WR_FLUSH_ERR"}
    status = ended.get("status")
    if status is not None:
        t.require(status in wanted, row, "the Write that was cut off", status, " or ".join(sorted(wanted)))
    mem.write(bytes([mem.fill]) * mem.length)


@verbs(66, "What a window holds", "5.2.2-04 6.1.4-05..06 7.9-08..09 7.10.4-04 8.3.1-04", applies=MW, errata="B43 B64", variants=[
    *product(each("what", ["pd"]), each("state", ["new", "bound", "invalid"])),
    *each("what", ["region", "qp", "qp-freed"], {"qp": IWARP, "qp-freed": IWARP})])  # fmt: skip
def holds(t: Verbs) -> None:
    """Its PD, and while it is bound its region and its QP, are not taken away and go on; afterwards they are."""
    what = t.params["what"]
    if what == "pd":
        held_pd(t, t.params["state"])
        alive(t)
        return
    p, mem = pair(t), region(t)
    mw, made = bound(t, p, mem, BOTH, "7.10.2-01", "a bind")
    view = seen(mem, made.rkey, mem.va)
    allowed(t, p, "write", view, "7.10.2-01")
    if what == "qp-freed":
        t.require(mw.deallocate(), "7.9-07", "deallocating a bound window", REFUSED, OK)
        success(t, "6.1.4-06", "destroying a QP whose bound window was deallocated", p.b.destroy())
    elif what == "region":
        if not refused(t, "7.9-08", "deregistering a region with a bound window", mem.deregister()):
            mem.watched = False
            return
        for row in ("7.9-09", "8.3.1-04"):
            allowed(t, p, "write", view, row)
            allowed(t, p, "write", mem, row)
        second, _ = bound(t, p, also := region(t), BOTH, "7.10.2-01", "a bind")
        t.require(second.deallocate(), "7.9-07", "deallocating a bound window", REFUSED, OK)
        success(t, "7.10.4-04", "deregistering a region whose bound window was deallocated", also.deregister())
        if released(t, p.b, mw, made.rkey):
            success(t, "7.10.4-04", "deregistering a region whose window was invalidated", mem.deregister())
        else:
            t.require(mw.deallocate(), "7.9-07", "deallocating a bound window", REFUSED, OK)
            success(t, "7.10.4-04", "deregistering a region whose window was deallocated", mem.deregister())
    else:
        if not refused(t, "6.1.4-05", "destroying a QP with a bound window", p.b.destroy()):
            return
        allowed(t, p, "write", view, "6.1.4-06")
        if not released(t, p.b, mw, made.rkey):
            t.require(mw.deallocate(), "7.9-07", "deallocating a bound window", REFUSED, OK)
        success(t, "6.1.4-06", "destroying a QP whose window is bound no more", p.b.destroy())
    alive(t)


def held_pd(t: Verbs, state: str) -> None:
    """A PD that has a window."""
    one, other = nodes(t)
    pd = other.pd_new()
    mw = window(other, pd=pd)
    row = "5.2.2-04"
    if state != "new":
        b, a = other.qp(pd=pd), one.qp()
        mem = other.mem(256, pd=pd, access=(*ALL, "MW_BIND"))
        p = Pair(a, b, one.mem(256), mem)
        b.idle()
        first = b.recv(mem.sge(0, 8))
        connect(a, b)
        start(p, first)
        made = bind(b, mw, mem, access=BOTH)
        t.require(made.good, "7.10.2-01", "a bind", made.status, OK)
        refused(t, row, "deallocating a PD with a bound window", other.call("DeallocatePd", pd=pd))
        if state == "invalid" and not released(t, b, mw, made.rkey):
            t.skip("windows cannot be made Invalid without being deallocated (B64)")
        if state == "invalid":
            success(t, "6.1.4-07", "destroying the QP", b.destroy())
            mem.guarded()
            mem.watched = False
            success(t, "7.10.4-04", "deregistering the region", mem.deregister())
    if state != "bound" and not refused(t, row, f"deallocating a PD with a window ({state})", other.call("DeallocatePd", pd=pd)):
        return
    t.require(mw.deallocate(), "7.9-07", f"deallocating a window ({state})", REFUSED, OK)
    if state != "bound":
        success(t, "5.2.2-06", "deallocating a PD whose window is gone", other.call("DeallocatePd", pd=pd))


_BAD = {
    "window-pd": "5.2-05", "region-pd": "5.2-05", "qp-pd": "5.2-05", "before": "7.10.2-04", "beyond": "7.10.2-04",
    "wrap": "7.10.2-04", "no-right": "7.10.6.1-01", "bound": "7.10.2-14",
}  # fmt: skip


@verbs(69, "Binds that fail", "5.2-05..06 7.10.2-04 7.10.2-14 7.10.2-17 7.10.6.1-01 8.3.2-09", applies=MW, errata="B12 B54 B65",
       variants=each("fault", list(_BAD)))  # fmt: skip
def bad_binds(t: Verbs) -> None:
    """The bind is an error and does nothing; the QP ends with it, unless the post was refused."""
    fault = t.params["fault"]
    if fault == "bound" and not (t.iwarp or kind(t) == 2):
        t.skip("a window of type 1 may be bound again (B65)")
    one, other = nodes(t)
    p = pair(t)
    pd = other.pd_new()
    rights = ALL if fault == "no-right" else (*ALL, "MW_BIND")
    mem = other.mem(4096, pd=pd if fault in ("region-pd", "qp-pd") else None, access=rights)
    mw = window(other, pd=pd if fault in ("window-pd", "qp-pd") else None)
    if fault == "bound":
        before = bind(p.b, mw, mem, 0, 1024, access=BOTH)
        t.require(before.good, "7.10.2-01", "a bind", before.status, OK)
    theirs = receives(p.b, p.mb, 2, start=4096)
    where: Mapping[str, Any] = {"before": {"addr": mem.va - 1, "length": 64}, "beyond": {"addr": mem.va + 1, "length": mem.length},
                                "wrap": {"addr": -16, "length": 64}}.get(fault, {"offset": 0, "length": 256})  # fmt: skip
    made = bind(p.b, mw, mem, access=BOTH, **where)
    what = f"a bind that is not allowed ({fault})"
    for row in dict.fromkeys((_BAD[fault], "8.3.2-09", *(["5.2-06"] if fault.endswith("pd") else []))):
        t.require(made.status in BIND or made.status == "refused", row, what, made.status, "refused, or an error of the set")
    if made.wr is not None and not made.good:
        late = p.b.post([{"opcode": "SEND", "sges": [p.mb.sge(0, 8)]}], must=False, row="6.2.4-06").wrs
        flushed([*late, *theirs], "7.10.2-17", f"the WRs of a QP after {what}")
        if t.iwarp:
            gone = t.until(lambda: heard(t, p.a), t.bound_us)
            t.require(gone, "7.10.2-17", f"what the peer is told after {what}", "nothing", "the end of the stream")
    q = pair(t)
    if fault != "bound" or not per_qp(t):
        mem.write(bytes([mem.fill]) * 256)
        wrote = q.a.post([{"opcode": "RDMA_WRITE", "sges": [q.ma.sge(0, 64)], "remote": mem.remote(0, rkey=made.rkey)}], must=False)
        t.reap(wrote.wrs)
        t.wait(t.quiet_us // 2)
        row = "5.2-06" if fault.endswith("pd") else _BAD[fault]
        t.require(mem.untouched(), row, f"memory after {what} and a Write by the rkey that was meant", "changed", "as it was")
    alive(t)
