"""VERBS.70 to VERBS.72: regions that are reregistered, registered in every way, and where their offsets begin."""

from __future__ import annotations

from typing import Any

from conformance.verbs.cases.remote import access, allowed, denied
from conformance.verbs.steps.declare import MT, MW, each, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.session import (
    ALL, LOCAL_WRITE, OK, REFUSED, REMOTE_WRITE, Mem, Node, Pair, alive, good, hex64, message, nodes, pair, returned, said,
)  # fmt: skip
from conformance.verbs.steps.windows import bind, window

_CMD = -3  # IBV_REREG_MR_ERR_CMD: neither the old nor a new region is valid (B34)


def rereg(t: Verbs, region: Mem, flags: list[str], /, **other: Any) -> Any:
    """The call; a provider without it fails the one row that says so, on iWARP (B61)."""
    call = region.node.call("ReregisterMr", mr=region.mr, flags=flags, **other)
    if not returned(call) and call.result().get("errno") in (95, 38):
        t.require(False, "7.3.2.3-01", "reregistration", said(call), OK)
        t.skip("the provider does not reregister (B61)")
    return call


def renewed(mem: Mem, call: Any, va: int = 0, offset: int = 0, length: int = 0, raw: int = 0) -> Mem:
    """The region as it is after the call."""
    found = Mem(mem.node, raw or mem.mem, offset or mem.offset, length or mem.length, mem.mr, call.integer("lkey"),
                call.integer("rkey"), va or mem.va, mem.fill, False)  # fmt: skip
    return found


@verbs(70, "Reregister", "7.3.2.3-01..10", errata="B34 B61", variants=each(
    "what", ["translation", "access", "pd", "many", "window", "failure", "loop"], {"window": MW, "loop": MT}))  # fmt: skip
def reregister(t: Verbs) -> None:
    """The region is then the new one, with the rights of the call, and the old one is gone."""
    _, other = nodes(t)
    what = t.params["what"]
    raw = other.raw(8192)
    mem = other.register(raw, 1024, 1024)
    base = mem.va - 1024
    p = pair(t)
    if what == "translation":
        call = rereg(t, mem, ["TRANSLATION"], mem=raw, offset=4096, length=1024)
        t.require(returned(call), "7.3.2.3-01", "a change of the range of a region", said(call), OK)
        if returned(call):
            new = renewed(mem, call, base + 4096, 4096)
            allowed(t, p, "write", new, "7.3.2.3-05")
            old = renewed(mem, call)
            denied(t, p, "write", {**old.remote(0)}, "7.3.2.3-05", "a Write to the range of before", region=old)
            if new.rkey != mem.rkey:
                q = pair(t)
                denied(t, q, "write", new.remote(0, rkey=mem.rkey), "7.3.2.3-07", "a Write by the STag of before", region=old)
    elif what == "access":
        call = rereg(t, mem, ["ACCESS"], access=[LOCAL_WRITE])
        t.require(returned(call), "7.3.2.3-01", "a change of the rights of a region", said(call), OK)
        if returned(call):
            now = renewed(mem, call)
            denied(t, p, "write", now.remote(0), "7.3.2.3-08", "a Write to a region whose rights were taken", region=now)
            call = rereg(t, now, ["ACCESS"], access=list(ALL))
            t.require(returned(call), "7.3.2.3-08", "a change of the rights of a region", said(call), OK)
            allowed(t, pair(t), "write", renewed(mem, call), "7.3.2.3-08")
    elif what == "pd":
        call = rereg(t, mem, ["PD"], pd=other.pd_new())
        t.require(returned(call), "7.3.2.3-01", "a change of the PD of a region", said(call), OK)
        if returned(call):
            now = renewed(mem, call)
            denied(t, p, "write", now.remote(0), "7.3.2.3-05", "a Write to a region that was moved to another PD", region=now)
    elif what == "many":
        for turn in range(100):
            call = rereg(t, mem, ["TRANSLATION"], mem=raw, offset=1024 + turn, length=1024 - turn)
            if not t.require(returned(call), "7.3.2.3-09", f"reregistration {turn}", said(call), OK):
                break
            mem = renewed(mem, call, base + 1024 + turn, 1024 + turn, 1024 - turn)
        allowed(t, p, "write", mem, "7.3.2.3-09")
    elif what == "window":
        mem = other.mem(1024, access=(*ALL, "MW_BIND"))
        mw = window(other)
        made = bind(p.b, mw, mem)
        if not made.good:
            t.lack(f"the window cannot be bound: {made.status}")
        call = rereg(t, mem, ["ACCESS"], access=[LOCAL_WRITE, "MW_BIND"])
        t.require(not returned(call), "7.3.2.3-02", "reregistering a region with a bound window", said(call), REFUSED)
        if not returned(call):
            allowed(t, p, "write", mem, "7.3.2.3-03")
    elif what == "failure":
        call = other.call("ReregisterMr", mr=mem.mr, flags=["ACCESS"], access=[REMOTE_WRITE])
        if not returned(call) and call.result().get("errno") in (95, 38):
            rereg(t, mem, ["ACCESS"], access=[REMOTE_WRITE])
        if not returned(call):
            code = call.result().get("code")
            if code == _CMD:
                denied(t, p, "write", mem.remote(0), "7.3.2.3-04", "a Write after a reregistration that failed", region=mem)
            elif code == -1:
                allowed(t, p, "write", mem, "6.2.2-04")  # the library refused it: the old region is valid (B34)
    else:
        under_a_peer(t, p, mem, raw, base)
    t.named("7.3.2.3-03 7.3.2.3-04 7.3.2.3-06 7.3.2.3-07 7.3.2.3-10")
    alive(t)


def under_a_peer(t: Verbs, p: Pair, mem: Mem, raw: int, base: int) -> None:
    """A peer writes all the time while the range is changed."""
    first = t.account.ids(1)
    t.account.foreign.add(first)
    wr = {"wr_id": hex64(first), "opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 1024)], "remote": mem.remote(0)}
    wr["flags"] = ["SIGNALED"]
    loop = p.a.node.end.call("agent.loop", qp=p.a.qp, cq=p.a.send_cq.cq, wr=wr, times=0, Timeout=t.bound_us).integer("loop")
    t.wait(t.quiet_us // 5)
    call = mem.node.call("ReregisterMr", mr=mem.mr, flags=["TRANSLATION"], mem=raw, offset=4096, length=1024)
    t.wait(t.quiet_us // 5)
    p.a.node.end.call("agent.stop", loop=loop)
    if not returned(call) and call.result().get("errno") in (95, 38):
        t.require(False, "7.3.2.3-01", "reregistration", said(call), OK)
        t.skip("the provider does not reregister (B61)")
    whole = Mem(mem.node, raw, 0, 8192, mem.mr, 0, 0, base, mem.fill, False)
    for at, size in ((0, 1024), (2048, 2048), (5120, 3072)):
        kept = whole.read(at, size) == bytes([mem.fill]) * size
        t.require(kept, "7.3.2.3-10", "memory beside both ranges", "changed", "as it was")


@verbs(71, "Register in every way",
       "7.2-02 7.2.1-01 7.3-02..03 7.3.2.2-02 7.4-01 7.4.1-01 7.4.2-01 7.4.2-11 7.6.1.1-02 8.3.1-04 9.2.6.2-01", errata="B30 B32",
       variants=each("what", ["rights", "odd", "failures", "at-once", "keys", "read-only"]))  # fmt: skip
def register(t: Verbs) -> None:
    """Any address, any length, each legal sum of rights. What fails leaves nothing behind, and what works can be used at once."""
    one, other = nodes(t)
    what = t.params["what"]
    if what == "rights":
        for rights in ((), (LOCAL_WRITE,), ("REMOTE_READ",), (LOCAL_WRITE, "REMOTE_READ"), (LOCAL_WRITE, REMOTE_WRITE), ALL):
            made = other.register_call(other.raw(64), 0, 64, access=rights)
            for row in ("7.4-01", "7.4.2-11", "7.4.1-01"):
                t.require(returned(made), row, f"a region with {'+'.join(rights) or 'no rights'}", said(made), OK)
        for rights in ((REMOTE_WRITE,), (REMOTE_WRITE, "REMOTE_READ")):
            made = other.register_call(other.raw(64), 0, 64, access=rights)
            for row in ("7.4.2-01", "7.4.2-11"):
                t.require(not returned(made), row, f"a region with {'+'.join(rights)}", said(made), REFUSED)
    elif what == "odd":
        p = pair(t, (1 << 20) + 4096)
        for start in (0, 1, 3, 4095):
            for length in (1, 3, 4096, 4097, (1 << 20) + 1):
                raw = other.raw(length + 4096 + 64)
                made = other.register_call(raw, start, length)
                what_ = f"a region of {length} bytes at offset {start}"
                if not t.require(returned(made), "7.6.1.1-02", what_, said(made), OK):
                    continue
                mem = Mem(other, raw, start, length, made.integer("mr"), made.integer("lkey"), made.integer("rkey"),
                          int(made.text("va"), 16), 0x5A, False)  # fmt: skip
                p.ma.pattern(3, 0, length)
                got = p.b.recv(p.mb.sge(0, 8))
                good([p.a.write(mem.remote(0), p.ma.sge(0, length)), p.a.send(p.ma.sge(0, 8)), got], "7.6.1.1-02", what_)
                t.require(mem.wrong(3, 0, length) == 0, "7.6.1.1-02", f"the bytes of {what_}", "wrong", "those written")
                mem.deregister()
    elif what == "failures":
        raw = other.raw(256)
        for _ in range(300):
            made = other.register_call(raw, 0, 256, access=(REMOTE_WRITE,))
            if returned(made):
                t.lack("an illegal sum of rights was taken, which VERBS.25 judges")
        p = pair(t)
        mem = other.register(raw, 0, 256, row="7.3-03")
        allowed(t, p, "write", mem, "7.3-03")
        t.named("7.3-02 8.3.1-04")
        allowed(t, p, "write", p.mb, "8.3.1-04")
    elif what == "at-once":
        p = pair(t)
        raw = other.raw(4096)
        for turn in range(60):
            mem = other.register(raw, turn, 64)
            got = p.b.recv(mem.sge(0, 8))
            if not good([p.a.write(mem.remote(0), p.ma.sge(0, 64)), p.a.send(p.ma.sge(0, 8)), got], "7.3.2.2-02",
                        f"a Write and a Receive right behind registration {turn}"):  # fmt: skip
                break
            mem.deregister()
    elif what == "keys":
        mems = [other.mem(64) for _ in range(64)]
        shift = 8 if t.iwarp else 0
        for name, keys in (("rkey", [m.rkey for m in mems]), ("lkey", [m.lkey for m in mems])):
            seen = {key >> shift for key in keys}
            t.require(len(seen) == len(mems), "7.2-02", f"{name}s of live regions", len(seen), len(mems))
            zero = [key for key in keys if not key >> 8]
            t.require(not zero, "7.2.1-01", f"{name}s of regions", zero, "no index 0")
    else:
        raw = other.raw(4096, pages="read-only")
        made = other.register_call(raw, 0, 4096, access=ALL)
        if returned(made):
            moved(t, other, made, raw)
        t.named("9.2.6.2-01")
    del one
    alive(t)


def moved(t: Verbs, node: Node, made: Any, raw: int) -> None:
    """Memory that nobody may write was registered for writing: it must not change."""
    va = int(made.text("va"), 16)
    mem = Mem(node, raw, 0, 4096, made.integer("mr"), made.integer("lkey"), made.integer("rkey"), va, 0, False)
    before = mem.read(0, 64)
    p = pair(t)
    p.ma.write(b"\x31" * 64, 0)
    t.reap(access(p, "write", mem.remote(0)))
    t.wait(t.quiet_us // 2)
    t.require(mem.read(0, 64) == before, "9.2.6.2-01", "memory that nobody may write", "changed", "as it was")


@verbs(72, "Where offsets begin", "7.3.1.1-01..02 7.6.1.1-01..02", errata="B31",
       variants=each("what", ["address", "zero", "upper"]))  # fmt: skip
def offsets(t: Verbs) -> None:
    """At the virtual address or at zero, and all of their 64 bits count."""
    _, other = nodes(t)
    what = t.params["what"]
    p = pair(t)
    if what == "address":
        mem = other.mem(8000)
        for at in (0, 4000, 8000 - 64):
            allowed(t, p, "write", mem, "7.3.1.1-01", at)
            got = p.b.recv(mem.sge(at, 64))
            good([p.a.send(p.ma.sge(0, 64)), got], "7.3.1.1-01", "a Receive by address")
        t.named("7.6.1.1-02")
    elif what == "zero":
        raw = other.raw(4096)
        made = other.register_call(raw, 512, 1024, iova="0000000000000000")
        if not returned(made):
            made = other.register_call(raw, 512, 1024, access=(*ALL, "ZERO_BASED"))
        if not returned(made):
            if not t.iwarp:
                t.skip("no region based at zero can be had (B31)")
            t.notice("7.3.1.1-02", "a region whose offsets begin at zero", said(made), OK, "B31")
        else:
            mem = Mem(other, raw, 512, 1024, made.integer("mr"), made.integer("lkey"), made.integer("rkey"), 0, 0x5A, False)
            for at in (0, 500, 1024 - 64):
                allowed(t, p, "write", mem, "7.3.1.1-02", at)
    else:
        for change in (1 << 32, 1 << 63, -(p.mb.va >> 32 << 32)):
            q = pair(t)
            if (q.mb.va + change) % (1 << 64) == q.mb.va:
                continue
            what = f"a Write with {hex64(change)} added to its offset"
            denied(t, q, "write", q.mb.remote(change), "7.6.1.1-01", what, local=True)
    message(p, 64, 3)
    alive(t)
