"""VERBS.67 and VERBS.68: STags that are invalidated, by the peer's Send and by a WR of one's own."""

from __future__ import annotations

from typing import Any, Optional

from conformance.verbs.cases.bound_windows import BOTH, under_way
from conformance.verbs.cases.objects import refused, success
from conformance.verbs.cases.protection import sender
from conformance.verbs.cases.registering import in_domain
from conformance.verbs.cases.remote import OPS, access, allowed, denied
from conformance.verbs.cases.states import unknown
from conformance.verbs.cases.windows import bound, region, seen
from conformance.verbs.steps.account import Wr
from conformance.verbs.steps.declare import IWARP, MT, MW, SRQ, each, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import BIND, INVALIDATE, LOCAL, SINK, SUCCESS, TOO_SHORT
from conformance.verbs.steps.session import (
    ALL, LOCAL_WRITE, MW_BIND, OK, REFUSED, REMOTE_READ, REMOTE_WRITE, Mem, Pair, alive, ending, flushed, good, has_read,
    need_read, nodes, pair, receives,
)  # fmt: skip
from conformance.verbs.steps.shared import Shared
from conformance.verbs.steps.windows import bind, invalidate, kind, window


@verbs(67, "Send with Invalidate", "7.2.1-05 7.4.2-10 7.8-02 7.8-06..07 7.10.4-01 8.2.2.1-01 8.3.2-06 9.3.1.1-02 9.3.2.1-05",
       applies=f"{IWARP} or {MW}", errata="B53 B54 B62 B64 B65 B106", variants=each("what", [
           "valid", "again", "plain", "no-right", "local-rights", "unknown", "domain", "bound-region", "other-qp", "zero",
           "read-right", "write-right", "own-buffer", "twice", "local-end", "srq"],
           {"no-right": IWARP, "local-rights": IWARP, "bound-region": MW, "other-qp": f"{IWARP} and {MW}",
            "zero": IWARP, "read-right": IWARP, "write-right": IWARP, "own-buffer": IWARP, "twice": IWARP,
            "local-end": IWARP, "srq": f"{IWARP} and {SRQ}"}))  # fmt: skip
def by_the_peer(t: Verbs) -> None:
    """The Receive tells which STag is Invalid now; what may not be invalidated ends the stream instead."""
    what = t.params["what"]
    if not t.pics["send_with_inv"]:
        if t.iwarp:
            t.notice("9.3.1.1-02", "Send with Invalidate", "not offered", "taken", "B64")
        t.skip("the provider does not take Send with Invalidate (B64)")
    if what == "srq":
        through_srq(t)
        alive(t)
        return
    p = pair(t, theirs=[] if what == "no-right" else None)
    if what == "no-right":
        p.b.has_rights([])
    if what == "plain":
        got = p.b.recv(p.mb.sge(0, 64))
        good([p.a.send(p.ma.sge(0, 64)), got], "6.2.2-04", "a Send")
        flags = got.wc.flags if got.wc else frozenset()
        t.require("WITH_INV" not in flags, "9.3.2.1-05", "the flags in the WC of a plain Send", sorted(flags), "no WITH_INV")
        alive(t, p)
        return
    if what in _ONE_RIGHT or what in ("twice", "local-end"):
        (one_right if what in _ONE_RIGHT else of_a_region)(t, p, what)
        alive(t)
        return
    mem, rkey = target(t, p, what)
    if rkey is None:
        t.skip("the device has no STag that a peer has to be able to invalidate (B106)")
    bound_by, p = p, pair(t) if what == "other-qp" else p
    got = p.b.recv(p.mb.sge(0, 64))
    p.ma.pattern(13, 0, 64)
    made = p.a.post([{"opcode": "SEND_WITH_INV", "sges": [p.ma.sge(0, 64)], "invalidate": rkey}], must=False)
    if what == "zero" and not made.whole:  # stopped at its own end, which harms nobody
        alive(t)
        return
    if not t.require(made.whole, "9.3.1.1-02", "a post of a Send with Invalidate", made.said, OK):
        return
    t.reap([got])
    if what == "valid":
        early = access(p, "write", mem.remote(0, rkey=rkey), p.ma.sge(0, 64))  # with no call between it and the WC of the Receive
        t.reap([*early, *made.wrs])
        told(t, p, got, rkey)
        t.wait(t.quiet_us // 2)
        wrong = "a write right after the WC of a Send with Invalidate"
        for row in ("8.2.2.1-01", "7.8-02"):
            t.require(mem.untouched(0, 64), row, f"the memory of {wrong}", "changed", "as it was")
            t.require(t.iwarp or not any(wr.good for wr in early), row, wrong, "success", "an error")
        alive(t)
        return
    t.reap(made.wrs)
    if what == "again":
        told(t, p, got, rkey)
        good(made.wrs, "9.3.1.1-02", "a Send with Invalidate")
        op = "read" if has_read(t) else "write"
        denied(t, p, op, mem.remote(0, rkey=rkey), "7.8-02", "an access by an STag that the peer invalidated", region=mem)
    else:
        failing(t, p, what, got, rkey)
        if what == "local-rights":
            still(t, mem)
        elif what == "other-qp":
            allowed(t, bound_by, "write", seen(mem, rkey, mem.va), "7.10.4-01")
    alive(t)


_ONE_RIGHT = {"read-right": [LOCAL_WRITE, REMOTE_READ], "write-right": [LOCAL_WRITE, REMOTE_WRITE], "own-buffer": ALL}


def one_right(t: Verbs, p: Pair, what: str) -> None:
    """A region with one of the remote rights is invalidated as well; and the one that the Receive itself lies in, behind it."""
    mem = nodes(t)[1].mem(4096, access=_ONE_RIGHT[what])
    sink = mem if what == "own-buffer" else p.mb
    got = p.b.recv(sink.sge(0, 64))
    p.ma.pattern(13, 0, 64)
    made = p.a.post([{"opcode": "SEND_WITH_INV", "sges": [p.ma.sge(0, 64)], "invalidate": mem.rkey}], must=False)
    if not t.require(made.whole, "9.3.1.1-02", "a post of a Send with Invalidate", made.said, OK):
        return
    t.reap([got, *made.wrs])
    row, of = ("8.2.2.1-01", "its own buffer") if what == "own-buffer" else ("7.8-06", f"a region with one remote right ({what})")
    words = f"the Receive of a Send that invalidates {of}"
    if not t.require(got.good, row, words, got.status, SUCCESS) or got.wc is None:
        return
    t.require("WITH_INV" in got.wc.flags, row, f"the flags of {words}", sorted(got.wc.flags), "WITH_INV")
    t.require(sink.wrong(13, 0, 64) == 0, "8.2.2.1-01", "the payload at the WC of its Receive", "wrong", "that of the Send")


def through_srq(t: Verbs) -> None:
    """The Send takes a Receive of an SRQ: told and done as at a receive queue."""
    s, mem = Shared(t), nodes(t)[1].mem(4096)
    p = s.peer()
    s.post(1)
    sent = p.a.post([{"opcode": "SEND_WITH_INV", "sges": [p.ma.sge(0, 64)], "invalidate": mem.rkey}], must=False)
    got = s.came([p], 1)
    good(sent.wrs, "7.8-02", "a Send with Invalidate to a QP of an SRQ")
    seen = [(wc.status, wc.invalidated if "WITH_INV" in wc.flags else None) for wc in got]
    t.require(seen == [(SUCCESS, mem.rkey)], "9.3.2.1-05", "the WC of a Receive of an SRQ", seen, f"WITH_INV, {mem.rkey:08x}")
    p.ma.write(b"\x77" * 64)
    t.reap(access(p, "write", mem.remote(0)))
    t.wait(t.quiet_us // 2)
    t.require(mem.untouched(0, 64), "7.8-02", "a region that a Send through an SRQ invalidated", "written by the peer", "as it was")


def of_a_region(t: Verbs, p: Pair, what: str) -> None:
    """A region that the peer invalidated: it may do so again, and its own end does not get at it any more."""
    mem = nodes(t)[1].mem(4096)
    for turn in range(2 if what == "twice" else 1):
        got = p.b.recv(p.mb.sge(0, 64))
        made = p.a.post([{"opcode": "SEND_WITH_INV", "sges": [p.ma.sge(0, 64)], "invalidate": mem.rkey}], must=False)
        t.require(made.whole, "9.3.1.1-02", "a post of a Send with Invalidate", made.said, OK)
        row = "7.8-04" if turn else "7.8-02"
        good([got, *made.wrs], row, f"a Send that invalidates a region for the {'second' if turn else 'first'} time")
    if what == "local-end":
        theirs = p.a.recv(p.ma.sge(64, 64))
        sent = p.b.post([{"opcode": "SEND", "sges": [mem.sge(0, 64)]}], must=False).wrs
        t.reap(sent)
        for row in ("7.2.2-01", "7.8-03"):
            t.require(all(wr.status in LOCAL for wr in sent), row, "a Send from a region that the peer invalidated",
                      [wr.status for wr in sent], " or ".join(sorted(LOCAL)))  # fmt: skip
        t.reap([theirs], t.quiet_us)
        t.require(not theirs.good, "7.8-03", "a Send from a region that the peer invalidated", "arrived", "never")


def target(t: Verbs, p: Pair, what: str) -> tuple[Mem, Optional[int]]:
    """What the Send is to invalidate: a window where there are any, else a region (B64)."""
    _, other = nodes(t)
    if what in ("local-rights", "domain", "bound-region") or not t.pics["mw"] or kind(t) == 1 and not t.iwarp:
        if what == "local-rights":
            mem = other.mem(4096, access=(LOCAL_WRITE,))
        elif what == "domain":
            mem = other.mem(4096, pd=other.pd_new())
        elif what == "bound-region":
            mem = region(t)
            bound(t, p, mem, BOTH, "7.10.2-01", "a bind")
        else:
            mem = other.mem(4096)
        if what in ("valid", "again") and not t.iwarp:
            return mem, None
        return mem, {"unknown": unknown(t, mem)["lkey"], "zero": 0}.get(what, mem.rkey)
    mem = region(t)
    _, made = bound(t, p, mem, BOTH, "7.10.2-01", "a bind")
    if what in ("unknown", "zero"):
        return mem, unknown(t, mem)["lkey"] if what == "unknown" else 0
    if what in ("valid", "again"):
        allowed(t, p, "write", seen(mem, made.rkey, mem.va), "7.10.2-01")
        mem.write(bytes([mem.fill]) * 256)
    return mem, made.rkey


def told(t: Verbs, p: Pair, got: Any, rkey: int) -> None:
    """The Receive of a Send whose invalidation is allowed."""
    if not t.require(got.good, "7.8-02", "the Receive of a Send with Invalidate", got.status, SUCCESS) or got.wc is None:
        return
    t.require("WITH_INV" in got.wc.flags, "9.3.2.1-05", "the flags in the WC", sorted(got.wc.flags), "WITH_INV")
    t.require("WITH_INV" in got.wc.flags, "9.3.1.1-02", "the flags in the WC", sorted(got.wc.flags), "WITH_INV")
    t.require(got.wc.invalidated == rkey, "9.3.2.1-05", "the STag that the WC names", f"{got.wc.invalidated:08x}", f"{rkey:08x}")
    t.require(p.mb.wrong(13, 0, 64) == 0, "8.2.2.1-01", "the payload at the WC of its Receive", "wrong", "that of the Send")


def failing(t: Verbs, p: Pair, what: str, got: Any, rkey: int) -> None:
    """A Send whose invalidation is not allowed: no success with WITH_INV, and the stream ends."""
    own = {"no-right": ["7.8-06"], "local-rights": ["7.4.2-10"], "other-qp": ["7.10.4-01"], "zero": ["7.2.1-05"]}
    rows = ["7.8-07", "8.3.2-06", *own.get(what, [])]
    words = f"the Receive of a Send with Invalidate that is not allowed ({what})"
    for row in rows:
        event = bool(t.events(p.b.end, p.b.qp))
        t.require(not got.good or event, row, words, got.status, "an error, or an event of the QP")
        invalid = got.wc is not None and got.good and "WITH_INV" in got.wc.flags
        t.require(not invalid, row, words, f"success, and {rkey:08x} invalidated", "an error")
    # The stream does not go on: either end refuses or does not complete what is sent on it.
    late = p.b.post([{"sges": [p.mb.sge(128, 8)]}], queue="rq", must=False, row="6.2.4-06").wrs
    sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 8)]}], must=False, row="6.2.4-06").wrs
    t.reap([*late, *sent], t.bound_us // 2)
    t.require(not any(wr.good for wr in late), "7.8-07", f"a message behind it ({what})", "arrived", "the end of the stream")


def still(t: Verbs, mem: Mem) -> None:
    """The region serves its own end."""
    q = pair(t)
    got = q.a.recv(q.ma.sge(0, 64))
    good([q.b.send(mem.sge(0, 64)), got], "7.4.2-10", "a Send from a region that a peer tried to invalidate")


@verbs(68, "Invalidate Local STag",
       "7.2.1-05 7.2.2-01 7.8-01..05 7.8-07 7.9-07 7.10.4-01..03 7.10.4.1-01 7.10.6.1-02 8.1.2.3.3-01 8.2.2.1-03 8.2.2.2-04 "
       "8.3.2-07 8.3.2-09..10",
       applies=f"{MW} and local_inv", errata="B54 B64 B65 B68 B100 B103 B106", variants=[
           *product(each("what", ["plain"]), each("op", ["write", "read"])),
           *product(each("what", ["region"]),
                    each("op", ["send", "write", "read", "deregister", "bind", "pd-kept", "recv", "sink"])),
           *each("what", ["overlap", "order", "twice", "new", "key", "region-key", "zero", "unknown", "bound-region", "region-pd",
                          "other-qp", "other-pd", "rebind", "list", "quiet", "fence", "fence-region", "fence-source", "loop"],
                 {"loop": MT, "other-qp": IWARP, "zero": IWARP, "fence-source": IWARP})])  # fmt: skip
def by_oneself(t: Verbs) -> None:
    """From its WC on the STag gives nothing, other STags of the memory do, and the window can be bound anew."""
    what = t.params["what"]
    if kind(t) == 1 and not t.iwarp:
        t.skip("windows of type 1 are not invalidated (B65)")
    if t.params.get("op") in ("read", "sink") or what in ("fence", "fence-region"):
        need_read(t)
    if what == "region":
        invalid_region(t, t.params["op"])
        alive(t)
        return
    p, mem = pair(t), region(t)
    if what in ("new", "other-pd"):
        new_window(t, p, what)
        alive(t)
        return
    alone = {"fence-region": fenced_region, "fence-source": fenced_source, "region-key": region_key}
    if what in alone:
        alone[what](t, p)
        alive(t)
        return
    mw, made = bound(t, p, mem, BOTH, "7.10.2-01", "a bind")
    view = seen(mem, made.rkey, mem.va)
    if what == "fence":
        fenced(t, p, mem, made.rkey)
        alive(t)
        return
    allowed(t, p, "write", view, "7.10.2-01")
    mem.write(bytes([mem.fill]) * 256)
    gone = mem.remote(0, rkey=made.rkey)
    if what == "plain":
        done(t, p, made.rkey, "7.8-02")
        denied(t, p, t.params["op"], gone, "7.8-02 7.8-03 7.10.4-03", "an access by an STag that was invalidated", event="7.8-03",
               region=mem)  # fmt: skip
    elif what == "overlap":
        second = bind(p.b, window(p.b.node), mem, access=BOTH)
        t.require(second.good, "7.10.2-18", "a second window on one range", second.status, OK)
        done(t, p, made.rkey, "7.8-02")
        allowed(t, p, "write", seen(mem, second.rkey, mem.va), "7.8-01")
        allowed(t, p, "write", mem, "7.8-01")
        denied(t, p, "write", gone, "7.8-02", "a write by the window that was invalidated", region=mem)
    elif what == "order":
        theirs = receives(p.a, p.ma, 2, start=4096)
        wrs = p.b.post([{"opcode": "SEND", "sges": [p.mb.sge(0, 8)]}, {"opcode": "LOCAL_INV", "sges": [], "invalidate": made.rkey},
                        {"opcode": "SEND", "sges": [p.mb.sge(0, 8)]}]).wrs  # fmt: skip
        good([*wrs, *theirs], "8.1.2.3.3-01", "an Invalidate between two Sends")
        opcode = wrs[1].wc.opcode if wrs[1].wc else "none"
        t.require(opcode == "LOCAL_INV", "8.1.2.3.3-01", "the opcode in the WC of an Invalidate", opcode, "LOCAL_INV")
    elif what == "twice":
        done(t, p, made.rkey, "7.8-02")
        again(t, p, made.rkey, "invalidating a window twice")
    elif what == "key":
        window_key(t, p, made.rkey ^ 0x15)
    elif what in ("zero", "unknown", "bound-region", "region-pd"):
        foreign = nodes(t)[1].mem(64, pd=nodes(t)[1].pd_new())
        key = {"zero": 0, "unknown": unknown(t, mem)["lkey"], "bound-region": mem.rkey, "region-pd": foreign.rkey}[what]
        bad(t, p, key, ["8.3.2-10", "7.8-07", *(["7.2.1-05"] if what == "zero" else [])], what)
    elif what == "other-qp":
        q = pair(t)
        bad(t, q, made.rkey, ["7.10.4-01", "8.3.2-10"], what)
        allowed(t, p, "write", view, "7.10.4-01")
    elif what == "rebind":
        done(t, p, made.rkey, "7.8-02")
        q = pair(t)
        anew = bind(q.b, mw, mem, 1024, 512, access=BOTH)
        t.require(anew.good, "7.10.4-03", "binding an invalidated window by another QP of its PD", anew.status, OK)
        allowed(t, q, "write", seen(mem, anew.rkey, mem.va), "7.10.4-03", 1024)
    elif what in ("list", "quiet"):
        there = p.a.recv(p.ma.sge(4096, 8))
        flags = ["SIGNALED"] if what == "list" else []
        wrs = p.b.post([{"opcode": "LOCAL_INV", "sges": [], "invalidate": made.rkey, "flags": flags},
                        {"opcode": "SEND", "sges": [p.mb.sge(0, 8)]}]).wrs  # fmt: skip
        good([there, *(wr for wr in wrs if wr.signaled)], "8.1.2.3.3-01", "an Invalidate and a Send in one list")
        denied(t, p, "write", gone, "8.2.2.1-03", "a write after a Send that stands behind an Invalidate", region=mem)
    else:
        under_way(t, p, mem, made, "7.10.4.1-01", "invalidated", lambda: _worked(p, made.rkey))
    alive(t)


def _worked(p: Pair, rkey: int) -> bool:
    """The peer's Write that is refused then may end the QP before the WC is there, which is flushed in that case (B103)."""
    wr = invalidate(p.b, rkey)
    return wr is not None and (wr.good or wr.flushed)


def done(t: Verbs, p: Pair, rkey: int, row: str) -> None:
    """An Invalidate that has to succeed."""
    wr = invalidate(p.b, rkey)
    status = wr.status if wr else REFUSED
    if not t.require(status == SUCCESS, row, "an Invalidate of a bound window", status, SUCCESS):
        t.lack("the Invalidate failed, so that nothing can be seen of it")


def again(t: Verbs, p: Pair, rkey: int, what: str) -> None:
    """An Invalidate of what is Invalid."""
    wr = invalidate(p.b, rkey)
    status = wr.status if wr else REFUSED
    if t.iwarp:
        t.require(status == SUCCESS, "7.8-04", what, status, SUCCESS)
    elif status != SUCCESS:
        t.notice("7.8-04", what, status, SUCCESS, "B64")


def window_key(t: Verbs, p: Pair, key: int) -> None:
    """A bound window by another key: what has to be checked of it does not name the key (B100)."""
    wr = invalidate(p.b, key)
    if wr is not None and wr.good:
        t.notice("7.8-05", "an Invalidate of a window by another key", wr.status, "an error", "B100")
    else:
        judged(t, p, wr, ["8.3.2-10", "7.8-07", "7.8-05"], "key")


def region_key(t: Verbs, p: Pair) -> None:
    """A region by another key, where one can be invalidated by its own."""
    one = p.b.node
    wr = invalidate(p.b, one.mem(256).rkey)
    if wr is None or not wr.good:
        t.skip("regions are not invalidated by a WR, so that their key cannot be tried (B106)")
    mem = one.mem(256)
    bad(t, p, mem.rkey ^ 0x15, ["8.3.2-10", "7.8-07", "7.8-05"], "region-key")
    allowed(t, pair(t), "write", mem, "7.8-05")


def invalid_region(t: Verbs, use: str) -> None:
    """A region that is Invalid gives no access at either end and takes no window, and can be deregistered."""
    other = nodes(t)[1]
    pd = other.pd_new() if use == "pd-kept" else other.pd
    p = pair(t) if use != "pd-kept" else in_domain(t, pd)
    mem = other.mem(256, access=(*ALL, MW_BIND), pd=pd)
    allowed(t, p, "write", mem, "7.4-02")
    wr = invalidate(p.b, mem.rkey)
    if wr is None or not wr.good:
        t.skip("regions are not invalidated by a WR (B106)")
    if use == "pd-kept":
        success(t, "6.1.4-07", "destroying the QP", p.b.destroy())
        p.mb.guarded()
        p.mb.watched = mem.watched = False
        success(t, "7.9-01", "deregistering a region that is Valid", p.mb.deregister())
        if refused(t, "5.2.2-03", "deallocating a PD with a region that is Invalid", other.call("DeallocatePd", pd=pd)):
            success(t, "7.9-07", "deregistering a region that is Invalid", mem.deregister())
            success(t, "5.2.2-06", "deallocating a PD whose regions are gone", other.call("DeallocatePd", pd=pd))
    elif use == "deregister":
        success(t, "7.9-07", "deregistering a region that is Invalid", mem.deregister())
        mem.watched = False
    elif use in OPS:
        denied(t, p, use, mem.remote(0), "7.2.2-01 7.8-02 7.8-03", f"a {use} of a region that is Invalid", event="7.8-03",
               region=mem)  # fmt: skip
    elif use in ("recv", "sink"):
        filled(t, p, mem, use)
    elif use == "send":
        got = p.a.recv(p.ma.sge(0, 64))
        made = p.b.post([{"opcode": "SEND", "sges": [mem.sge(0, 64)]}], must=False).wrs
        t.reap(made)
        for row in ("7.2.2-01", "7.8-03", "8.3.2-07"):
            t.require(all(wr.status in LOCAL for wr in made), row, "a Send from a region that is Invalid",
                      [wr.status for wr in made], " or ".join(sorted(LOCAL)))  # fmt: skip
        t.reap([got], t.quiet_us)
        t.require(not got.good, "7.2.2-01", "a Send from a region that is Invalid", "arrived", "never")
    else:
        tied = bind(p.b, window(other), mem, access=BOTH)
        for row in ("7.10.6.1-02", "8.3.2-09"):
            t.require(tied.status in BIND or tied.status == "refused", row, "a bind to a region that is Invalid", tied.status,
                      "refused, or an error of the set")  # fmt: skip


def filled(t: Verbs, p: Pair, mem: Mem, use: str) -> None:
    """A Receive into a region that is Invalid, or a Read of its own end into it."""
    what = f"a {'Receive' if use == 'recv' else 'Read'} into a region that is Invalid"
    if use == "sink":
        wrs = p.b.post([{"opcode": "RDMA_READ", "sges": [mem.sge(0, 64)], "remote": p.ma.remote(0)}], must=False).wrs
        ending(t, wrs, "7.8-03", what)
    else:
        wrs = p.b.post([{"sges": [mem.sge(0, 64)]}], queue="rq", must=False).wrs
        sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 64)]}], must=False).wrs if wrs else []
        t.reap(wrs)
        sender(t, sent)
    wanted = LOCAL | (TOO_SHORT if use == "recv" else SINK if t.iwarp else frozenset())
    for row in ("7.2.2-01", "7.8-03"):
        t.require(all(wr.status in wanted for wr in wrs), row, what, [wr.status for wr in wrs], " or ".join(sorted(wanted)))
        t.require(mem.untouched(64), row, f"the memory of {what}", "changed", "as it was")


def bad(t: Verbs, p: Pair, key: int, rows: list[str], what: str) -> None:
    """An Invalidate that is not allowed."""
    judged(t, p, invalidate(p.b, key), rows, what)


def judged(t: Verbs, p: Pair, wr: Optional[Wr], rows: list[str], what: str) -> None:
    """It is an error or refused; what stands behind the error is flushed."""
    status = wr.status if wr else "refused"
    for row in rows:
        t.require(status in INVALIDATE or wr is None, row, f"an Invalidate that is not allowed ({what})", status,
                  "refused, or an error of the set")  # fmt: skip
    if wr is not None and not wr.good:
        late = p.b.post([{"opcode": "SEND", "sges": [p.mb.sge(0, 8)]}], must=False, row="6.2.4-06").wrs
        flushed(late, "7.8-07", f"a Send behind an Invalidate that is not allowed ({what})")


def new_window(t: Verbs, p: Pair, what: str) -> None:
    """A window that was never bound: its PD decides."""
    one, other = nodes(t)
    if what == "new":
        again(t, p, window(other).rkey, "invalidating a window that was never bound")
        return
    foreign = window(other, pd=other.pd_new())
    bad(t, p, foreign.rkey, ["7.10.4-02", "8.3.2-10"], what)


def fenced(t: Verbs, p: Pair, mem: Mem, rkey: int) -> None:
    """A Read of one's own into the window's region, and an Invalidate with a fence behind it."""
    p.ma.pattern(19, 0, 1024)
    wrs = p.b.post([{"opcode": "RDMA_READ", "sges": [mem.sge(0, 1024)], "remote": p.ma.remote(0)},
                    {"opcode": "LOCAL_INV", "sges": [], "invalidate": rkey, "flags": ["SIGNALED", "FENCE"]}]).wrs  # fmt: skip
    good(wrs, "8.2.2.2-04", "a Read and an Invalidate with a fence behind it")
    t.require(mem.wrong(19, 0, 1024) == 0, "8.2.2.2-04", "the sink of the Read", "wrong", "what the peer has")


def fenced_region(t: Verbs, p: Pair) -> None:
    """A Read of one's own, and with a fence behind it an Invalidate of its sink, which a provider may not take for a region.

    Where the Invalidate is an error, the Read before it may be flushed (B14). An error of the Read says that it came too late.
    """
    sink = p.b.node.mem(65536)
    p.ma.pattern(20)
    reads = [{"opcode": "RDMA_READ", "sges": [sink.sge(k * 4096, 4096)], "remote": p.ma.remote(0)} for k in range(4)]
    made = p.b.post([*reads, {"opcode": "LOCAL_INV", "sges": [], "invalidate": sink.rkey, "flags": ["SIGNALED", "FENCE"]}],
                    must=False).wrs  # fmt: skip
    t.reap(made)
    bad = [wr.status for wr in made[:4] if not wr.good and not (wr.flushed and not (len(made) > 4 and made[4].good))]
    t.require(not bad, "8.2.2.2-04", "Reads whose sink is invalidated by a WR with a fence behind them", bad, SUCCESS)


def fenced_source(t: Verbs, p: Pair) -> None:
    """Writes and Sends, and with a fence behind them an Invalidate of the region that they come from; then a Send goes on.

    The flag for a fence is the Local Fence of an Invalidate here (B68). Where the Invalidate is an error, the WRs before it may be
    flushed (B14).
    """
    source, target = p.b.node.mem(32768), p.a.node.mem(65536)
    source.pattern(21)
    theirs = receives(p.a, target, 4, length=4096, start=32768)
    wrs: list[dict[str, Any]] = []
    for k in range(3):
        wrs += [{"opcode": "RDMA_WRITE", "sges": [source.sge(k * 4096, 4096)], "remote": target.remote(k * 4096)},
                {"opcode": "SEND", "sges": [source.sge(16384 + k * 4096, 4096)]}]  # fmt: skip
    wrs += [{"opcode": "LOCAL_INV", "sges": [], "invalidate": source.rkey, "flags": ["SIGNALED", "FENCE"]},
            {"opcode": "SEND", "sges": [p.mb.sge(0, 64)]}]  # fmt: skip
    made = p.b.post(wrs, must=False).wrs
    t.reap([*made, *theirs])
    carried = len(made) == len(wrs) and made[6].good
    bad = [wr.status for wr in made[:6] if not wr.good and not (wr.flushed and not carried)]
    t.require(not bad, "8.2.2.2-04", "Writes and Sends whose source is invalidated by a WR with a fence behind them", bad, SUCCESS)
    if carried and not bad:
        good([made[7], *theirs], "8.2.2.2-04", "a Send behind an Invalidate with a fence, and the Receives of all Sends")
        wrong = target.wrong(21, 0, 12288) + sum(target.wrong(21 + 16384 + k * 4096, 32768 + k * 4096, 4096) for k in range(3))
        t.require(wrong == 0, "8.2.2.2-04", "bytes of Writes and Sends whose source was invalidated behind them", wrong, 0)
