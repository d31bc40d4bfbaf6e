"""VERBS.37 and VERBS.38: what a window may be bound to, what it then permits, and to whom."""

from __future__ import annotations

from typing import Sequence

from conformance.verbs.cases.remote import allowed, denied
from conformance.verbs.steps.declare import IWARP, MW, each, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import BIND
from conformance.verbs.steps.session import (
    ALL, LOCAL_WRITE, MW_BIND, REMOTE_READ, REMOTE_WRITE, Mem, Pair, alive, need_read, nodes, pair, returned, said,
)  # fmt: skip
from conformance.verbs.steps.windows import Bound, Window, bind, per_qp, window

_RIGHTS = {"read": (REMOTE_READ,), "write": (REMOTE_WRITE,), "both": (REMOTE_READ, REMOTE_WRITE)}


def region(t: Verbs, access: Sequence[str] = ALL, length: int = 4096) -> Mem:
    """A region at the far end that windows may be bound to."""
    return nodes(t)[1].mem(length, access=(*access, MW_BIND))


def bound(t: Verbs, p: Pair, mem: Mem, access: Sequence[str], row: str, what: str, offset: int = 0) -> tuple[Window, Bound]:
    """A bind that has to succeed."""
    mw = window(p.b.node)
    made = bind(p.b, mw, mem, offset, access=access)
    if not t.require(made.good, row, what, made.status, "success"):
        t.lack("the bind failed, so that nothing can be tried through the window")
    return mw, made


def through(mem: Mem, made: Bound, offset: int = 0) -> dict[str, object]:
    """The remote end of an access through a window."""
    return mem.remote(offset, rkey=made.rkey)


class Seen(Mem):
    """A region as somebody sees it who has the rkey of a window."""


def seen(mem: Mem, rkey: int, va: int) -> Mem:
    """The same memory, named by a window; it is watched already."""
    found = Seen(mem.node, mem.mem, mem.offset, mem.length, mem.mr, mem.lkey, rkey, va, mem.fill, False)
    mem.node.t.account.mems.remove(found)
    return found


@verbs(37, "Binds, and the rights of window and region", "7.10.2-05..06 7.10.2-08 7.10.2-10..13 7.10.6.2-01 8.3.2-09", applies=MW,
       errata="B12 B30 B31 B54 B65", variants=[
           *product(each("what", ["rights"]), each("window", _RIGHTS), each("op", ["write", "read"])),
           *each("what", ["zero-based", "zero-region", "no-local-write", "read-only", "no-remote-rights", "region-ignored",
                          "zero-based-end"],
                 {"zero-region": IWARP})])  # fmt: skip
def binds(t: Verbs) -> None:
    """A window has rights of its own, within what the region's local rights bear; the region's remote rights count for nothing."""
    what = t.params["what"]
    p = pair(t)
    if what == "rights":
        access, op = t.params["window"], t.params["op"]
        if op == "read":
            need_read(t)
        mem = region(t)
        _, made = bound(t, p, mem, access, "7.10.2-13", "a bind whose rights fit those of the region")
        right = REMOTE_WRITE if op == "write" else REMOTE_READ
        if right in access:
            allowed(t, p, op, seen(mem, made.rkey, mem.va), "7.10.2-06")
        else:
            denied(t, p, op, through(mem, made), "7.10.2-11", f"a {op} through a window without the right", region=mem)
    elif what == "zero-based":
        mem = region(t)
        mw = window(p.b.node)
        made = bind(p.b, mw, mem, 512, access=(REMOTE_READ, REMOTE_WRITE, "ZERO_BASED"))
        if not made.good:
            t.notice("7.10.2-05", "a bind with offsets from zero", made.status, "success", "B31")
        else:
            part = seen(mem, made.rkey, -512)
            allowed(t, p, "write", part, "7.10.2-05", 512)
    elif what == "zero-based-end":
        mem = region(t)
        made = bind(p.b, window(p.b.node), mem, 512, 100, access=(REMOTE_READ, REMOTE_WRITE, "ZERO_BASED"))
        if not made.good:
            t.skip(f"no window with offsets from zero can be had, which the variant zero-based judges: {made.status} (B31)")
        what = "a write with a byte behind a window of offsets from zero"
        denied(t, p, "write", seen(mem, made.rkey, -512).remote(549), "7.10.2-09", what, region=mem)
        t.require(mem.untouched(512, 256), "7.10.2-09", f"the memory of {what}", "changed", "as it was")
    elif what == "read-only":
        need_read(t)
        one = nodes(t)[1]
        raw = one.raw(4096)
        call = one.register_call(raw, 0, 4096, access=(MW_BIND,))
        if not returned(call):
            t.skip(f"no region without local write can have windows: {said(call)}")
        va = int(call.text("va"), 16)
        mem = Mem(one, raw, 0, 4096, call.integer("mr"), call.integer("lkey"), call.integer("rkey"), va, 0x5A, False)
        _, made = bound(t, p, mem, (REMOTE_READ,), "7.10.2-13", "a window with remote read on a region without local write")
        allowed(t, p, "read", seen(mem, made.rkey, mem.va), "7.10.2-13")
    elif what == "no-local-write":
        one = nodes(t)[1]
        call = one.register_call(one.raw(4096), 0, 4096, access=(MW_BIND,))
        if not returned(call):
            t.skip(f"no region without local write can have windows: {said(call)}")
        va = int(call.text("va"), 16)
        mem = Mem(one, -1, 0, 4096, call.integer("mr"), call.integer("lkey"), call.integer("rkey"), va, 0, False)
        refused_bind(t, p, mem, "7.10.2-10", "a window with remote write on a region without local write")
    elif what == "zero-region":
        other = nodes(t)[1]
        raw = other.raw(4096)
        call = other.register_call(raw, 0, 4096, access=(*ALL, MW_BIND), iova="0000000000000000")
        if not returned(call):
            call = other.register_call(raw, 0, 4096, access=(*ALL, MW_BIND, "ZERO_BASED"))
        if not returned(call):
            t.skip(f"no region based at zero can be had: {said(call)} (B31)")
        mem = Mem(other, raw, 0, 4096, call.integer("mr"), call.integer("lkey"), call.integer("rkey"), 0, 0x5A, False)
        refused_bind(t, p, mem, "7.10.2-08", "a window on a region based at zero")
    elif what == "no-remote-rights":
        mem = region(t, (LOCAL_WRITE,))
        _, made = bound(t, p, mem, (REMOTE_WRITE,), "7.10.2-12", "a window with remote write on a region without remote rights")
        allowed(t, p, "write", seen(mem, made.rkey, mem.va), "7.10.2-12")
    else:
        need_read(t)
        mem = region(t, (LOCAL_WRITE, REMOTE_READ))
        _, made = bound(t, p, mem, (REMOTE_WRITE,), "7.10.2-13", "a window with remote write on a region with remote read")
        allowed(t, p, "write", seen(mem, made.rkey, mem.va), "7.10.6.2-01")
        mem.write(bytes([mem.fill]) * 64, 0)
        denied(t, p, "read", through(mem, made), "7.10.6.2-01", "a Read through a window for Writes", region=mem)
    alive(t)


def refused_bind(t: Verbs, p: Pair, mem: Mem, row: str, what: str) -> None:
    """A bind that is an error or refused at the post (B54)."""
    made = bind(p.b, window(p.b.node), mem, 0, 256, access=(REMOTE_WRITE,))
    for of in (row, "8.3.2-09"):
        t.require(made.status in BIND or made.status == "refused", of, what, made.status, "refused, or an error of the set")


@verbs(38, "A window for another QP, and QPs without the right", "7.10.2-03 7.10.6.2-02..03", applies=MW, errata="B53 B62 B65",
       variants=product(each("what", ["other-qp", "qp-off"]), each("op", ["write", "read"])))  # fmt: skip
def another_qp(t: Verbs) -> None:
    """A window serves the QP that it was bound through, and only as far as that QP permits."""
    what, op = t.params["what"], t.params["op"]
    if op == "read":
        need_read(t)
    if what == "other-qp" and not per_qp(t):
        t.skip("windows of this device belong to a PD, or to a QP number alone (B65)")
    right = REMOTE_WRITE if op == "write" else REMOTE_READ
    without = [r for r in (REMOTE_READ, REMOTE_WRITE) if r != right] if what == "qp-off" else None
    p, mem = pair(t, theirs=without), region(t)
    if without is not None:
        p.b.has_rights(without)
    _, made = bound(t, p, mem, _RIGHTS["both"], "7.10.2-06", "a bind")
    view = seen(mem, made.rkey, mem.va)
    if what == "other-qp":
        q = pair(t)
        mem.write(bytes([mem.fill]) * 256, 0)
        denied(t, q, op, through(mem, made), "7.10.2-03 7.10.6.2-03", f"a {op} through a window of another QP",
               event="7.10.6.2-03", ib="7.10.6.2-03", region=mem)  # fmt: skip
        allowed(t, p, op, view, "7.10.2-03")
    else:
        denied(t, p, op, through(mem, made), "7.10.6.2-02 7.10.6.2-03", f"a {op} through a window of a QP without the right",
               event="7.10.6.2-03", ib="7.10.6.2-03", region=mem)  # fmt: skip
    alive(t)
