"""VERBS.102 to VERBS.106: STags of shared queues, rights that nothing else changes, offsets that fit, buffers that overlap."""

from __future__ import annotations

from conformance.verbs.cases.protection import bad_of_srq, faulty
from conformance.verbs.cases.remote import allowed, denied
from conformance.verbs.steps.declare import IWARP, MW, SRQ, each, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import INVALIDATE
from conformance.verbs.steps.session import (
    LOCAL_WRITE, MW_BIND, OK, REFUSED, REMOTE_READ, REMOTE_WRITE, Mem, alive, good, hex64, need_read, nodes, pair, returned,
    said,
)  # fmt: skip
from conformance.verbs.steps.shared import Shared
from conformance.verbs.steps.windows import bind, invalidate, window

_FAR = 1 << 40  # between two addresses that fit each other whatever the size of a Physical Buffer


@verbs(102, "STags in the Receives of an SRQ", "6.3.5-11", applies=f"{IWARP} and {SRQ}", errata="B54 B58 B73",
       variants=each("what", ["zero", "local-inv", "send-inv"],
                     {"local-inv": "local_inv", "send-inv": "send_with_inv"}))  # fmt: skip
def of_an_srq(t: Verbs) -> None:
    """STag zero is an error of the QP that takes the Receive, and the PD of a QP decides of what it may invalidate."""
    what = t.params["what"]
    if what == "zero":
        s = Shared(t)
        bad_of_srq(t, s, faulty(t, s.node, s.mem, "zero"), "6.3.5-11", "STag zero")
        alive(t)
        return
    s = Shared(t, pd=nodes(t)[1].pd_new())
    p, q = s.peer(), s.peer()
    if what == "local-inv":
        wr = invalidate(p.b, s.mem.rkey)
        wanted = "refused, " + " or ".join(sorted(INVALIDATE))
        held = wr is None or wr.status in INVALIDATE
        t.require(held, "6.3.5-11", "invalidating a region of the SRQ's PD by a QP of another", wr and wr.status, wanted)
    else:
        s.post(1)
        p.a.post([{"opcode": "SEND_WITH_INV", "sges": [p.ma.sge(0, 8)], "invalidate": s.mem.rkey}], must=False)
        got = s.came([p], 1)
        t.require(not any(wc.good for wc in got), "6.3.5-11",
                  "a Send that invalidates a region of the SRQ's PD, to a QP of another", "success", "an error")  # fmt: skip
    s.post(2)
    s.serves(q, 2, "6.3.5-11")
    alive(t)


@verbs(103, "Rights that nothing else changes", "7.4-04", errata="B44 B53 B54 B65",
       variants=each("what", ["window", "overlap"], {"window": MW}))  # fmt: skip
def unchanged(t: Verbs) -> None:
    """Neither a window nor a second region of the same bytes gives a region a right for remote access."""
    one, other = nodes(t)
    raw = other.raw(512)
    bare = other.register(raw, 64, 256, access=(LOCAL_WRITE, MW_BIND) if t.params["what"] == "window" else (LOCAL_WRITE,))
    p = pair(t)
    if t.params["what"] == "window":
        made = bind(p.b, window(other), bare)
        if not made.good:
            t.lack("no window can be bound, which VERBS.37 judges")
        wrote = p.a.write({"addr": hex64(bare.va), "rkey": made.rkey}, p.ma.sge(0, 8))
        held = good([wrote], "7.10.2-11", "a Write through a window")
        good([p.b.recv(p.mb.sge(0, 8)), p.a.send(p.ma.sge(0, 8))], "6.2.2-04", "a Send behind it")
    else:
        second = other.register(raw, 64, 256)
        held = allowed(t, p, "write", second, "7.4-01")
    if not held:
        return
    bare.write(bytes([bare.fill]) * 256)
    what = "a Write into a region without the right, whose bytes " + (
        "a window gives" if t.params["what"] == "window" else "a second region gives")
    denied(t, p, "write", bare.remote(0), "7.4-04", what, ib="7.4-04", region=bare)
    alive(t)


@verbs(104, "A window's STag as the sink of a Read", "8.1.2.2-07", applies=f"{IWARP} and {MW}", errata="B29 B44 B54",
       variants=each("what", ["right", "no-right", "outside"]))  # fmt: skip
def window_as_sink(t: Verbs) -> None:
    """A device may take it or not. Where a Read succeeds the window gave the right and held the bytes, which are those read."""
    need_read(t)
    what, p = t.params["what"], pair(t)
    mem = p.a.node.mem(512, access=(LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, MW_BIND))
    of = window(p.a.node)
    rights = (REMOTE_READ,) if what == "no-right" else (REMOTE_READ, REMOTE_WRITE)
    if not bind(p.a, of, mem, 0, 128, access=rights).good:
        t.lack("no window can be bound, which VERBS.37 judges")
    p.mb.pattern(9, 0, 64)
    at = 128 - 63 if what == "outside" else 0
    before = mem.read(0, 512)
    made = p.a.post([{"opcode": "RDMA_READ", "sges": [mem.sge(at, 64, lkey=of.rkey)], "remote": p.mb.remote(0)}], must=False)
    t.reap(made.wrs)
    worked = any(wr.good for wr in made.wrs)
    if what == "right":
        right = not worked or mem.wrong(9, 0, 64) == 0
        t.require(right, "8.1.2.2-07", "the bytes of a Read into a window", "wrong", "those of the peer")
    else:
        t.require(not worked, "8.1.2.2-07", f"a Read into a window ({what})", "success", "an error")
        t.require(mem.read(128, 384) == before[128:], "8.1.2.2-07", "bytes outside of the window", "changed", "as they were")
    alive(t)


@verbs(105, "Offsets that fit the memory", "7.6.1-01", applies=IWARP, errata="B31 B36")
def offsets(t: Verbs) -> None:
    """A base that is one byte off the memory's own place in a page is refused, whatever the size of a Physical Buffer is."""
    one, other = nodes(t)
    plain = other.mem(8192)
    whole = other.register_call(plain.mem, plain.offset, 4096, iova=hex64(plain.va ^ _FAR))
    if not returned(whole):
        t.skip("the device takes no base of the consumer's choice")
    p = pair(t)
    shifted = Mem(other, plain.mem, plain.offset, 4096, whole.integer("mr"), whole.integer("lkey"), whole.integer("rkey"),
                  plain.va ^ _FAR, plain.fill, watched=False)  # fmt: skip
    if not allowed(t, p, "write", shifted, "7.4-01"):
        return
    call = other.register_call(plain.mem, plain.offset, 4096, iova=hex64((plain.va ^ _FAR) + 1))
    t.require(not returned(call), "7.6.1-01", "a region whose base is a byte off its memory's place in a page", said(call), REFUSED)
    alive(t)


@verbs(106, "Buffers that overlap", "8.2.2-14", errata="B70", variants=each("what", ["receives", "sources", "writes"]))
def overlapping(t: Verbs) -> None:
    """Which bytes are left is open, but each WR is carried out, and what is left comes from one of them."""
    what, p = t.params["what"], pair(t)
    p.ma.write(b"\xa1" * 64 + b"\xb2" * 64)
    sges = [p.ma.sge(0, 64), p.ma.sge(64, 64)] if what != "sources" else [p.ma.sge(0, 96), p.ma.sge(32, 96)]
    if what == "writes":
        wrs = [{"opcode": "RDMA_WRITE", "sges": [sge], "remote": p.mb.remote(1024)} for sge in sges]
        made = p.a.post(wrs, must=False)
        got = p.b.recv(p.mb.sge(0, 8))
        t.require(made.whole, "8.2.2-14", "Writes to the same bytes", made.said, OK)
        good([*made.wrs, p.a.send(p.ma.sge(0, 8)), got], "8.2.2-14", "Writes to the same bytes")
    else:
        step = 0 if what == "receives" else 128
        theirs = p.b.post([{"sges": [p.mb.sge(1024 + step * k, 128)]} for k in range(2)], queue="rq", must=False)
        t.require(theirs.whole, "8.2.2-14", f"Receives whose buffers {'overlap' if not step else 'lie apart'}", theirs.said, OK)
        made = p.a.post([{"opcode": "SEND", "sges": [sge]} for sge in sges[: len(theirs.wrs)]], must=False)
        t.require(made.whole, "8.2.2-14", "Sends whose buffers overlap", made.said, OK)
        good([*made.wrs, *theirs.wrs[: len(made.wrs)]], "8.2.2-14", f"messages whose {what} overlap")
    if what == "sources":
        wrong = [k for k in range(2) if p.mb.read(1024 + 128 * k, 96) != p.ma.read(32 * k, 96)]
        t.require(not wrong, "8.2.2-14", "messages from buffers that overlap", wrong, "whole")
    else:
        odd = sum(byte not in (0xA1, 0xB2) for byte in p.mb.read(1024, 64))
        t.require(not odd, "8.2.2-14", "bytes that are of neither message", odd, 0)
    alive(t)
