"""VERBS.70 to VERBS.72: regions that are registered, refused, registered anew, and where their offsets begin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional, Sequence

from fcvi.engine.case import Variant
from fcvi.engine.upper_tester import Call

from conformance.verbs.cases.objects import refused
from conformance.verbs.cases.protection import sender, served
from conformance.verbs.cases.remote import allowed, denied
from conformance.verbs.cases.windows import bound, region, seen
from conformance.verbs.steps.declare import IWARP, MT, MW, each, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import LOCAL, REFUSED_IB, REFUSED_IWARP
from conformance.verbs.steps.windows import invalidate
from conformance.verbs.steps.session import (
    ALL, LOCAL_WRITE, OK, REFUSED, REMOTE_READ, REMOTE_WRITE, Mem, Node, Pair, alive, connect, good, has_read, hex64, need_read,
    nodes, pair,
    returned, said, start,
)  # fmt: skip

_BOTH = (REMOTE_READ, REMOTE_WRITE)
_GUARD, _ENOMEM = 64, 12
_BEYOND = 1 << 16  # bytes from memory of 256: a page behind it is not mapped (mem.new)
_TIMES, _FAILURES = 1000, 10_000
_CMD = (-4, -5)  # IBV_REREG_MR_ERR_CMD, IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW


def again(mem: Mem, flags: Sequence[str], /, **params: Any) -> Call:
    """Reregister. On success the region has the STags of the answer."""
    call = mem.node.call("ReregisterMr", mr=mem.mr, flags=list(flags), **params)
    if returned(call):
        mem.lkey, mem.rkey = call.integer("lkey"), call.integer("rkey")
    return call


def offered(t: Verbs, first: bool) -> None:
    """Reregistration is mandatory on iWARP, and its absence breaks one row; elsewhere it is an option (B61)."""
    if t.pics["rereg_mr"]:
        return
    if first:
        call = again(nodes(t)[1].mem(256), ["ACCESS"], access=list(ALL))
        t.require(returned(call), "7.3.2.3-01", "reregistering a region with other rights", said(call), OK)
        alive(t)
    t.skip("the provider does not reregister regions (B61)")


def must(t: Verbs, call: Call, what: str) -> None:
    """A reregistration that has to work."""
    if not returned(call) and call.result().get("errno") == _ENOMEM:
        t.lack("the provider has no room to reregister a region")
    for row in ("7.3.2.3-01", "7.3.2.3-05"):
        if not t.require(returned(call), row, what, said(call), OK) and row == "7.3.2.3-05":
            t.lack("the reregistration failed, so that nothing can be seen of it")


@verbs(70, "Regions that are registered anew", "7.3.2.3-01..05 7.3.2.3-07..10", errata="B34 B53 B54 B61", variants=[
    *each("what", ["access", "access-read", "domain", "translation", "shorter", "longer", "everything", "failed", "window", "often",
                   "loop", "posted", "domain-local", "invalid"],
          {"failed": IWARP, "window": MW, "loop": MT, "invalid": "local_inv"})])  # fmt: skip
def reregister(t: Verbs) -> None:
    """What the call names is changed and what it does not name stays; the old place and the old STag serve no more."""
    what = t.params["what"]
    offered(t, what == "access")
    one, other = nodes(t)
    if what == "window":
        with_window(t)
        alive(t)
        return
    alone = {"longer": longer, "posted": posted_before, "domain-local": at_its_own_end, "invalid": from_invalid}
    if what in alone:
        alone[what](t)
        alive(t)
        return
    mem = other.mem(4096)
    p = pair(t)
    old = replace(mem)  # the region as it was
    old.watched = False
    allowed(t, p, "write", mem, "7.4-02")
    if what == "access-read":
        need_read(t)
        must(t, again(mem, ["ACCESS"], access=[LOCAL_WRITE]), "reregistering a region without remote rights")
        denied(t, p, "read", mem.remote(0), "7.3.2.3-08", "a read of a region whose remote rights were taken away", region=mem)
    elif what == "access":
        must(t, again(mem, ["ACCESS"], access=[LOCAL_WRITE]), "reregistering a region without remote rights")
        denied(t, p, "write", mem.remote(0), "7.3.2.3-08", "a write to a region whose remote rights were taken away", region=mem)
        must(t, again(mem, ["ACCESS"], access=list(ALL)), "reregistering a region with remote rights")
        allowed(t, pair(t), "write", mem, "7.3.2.3-08")
    elif what in ("domain", "everything"):
        pd = other.pd_new()
        if what == "everything":
            call, fresh = moved(mem, pd)
        else:
            call, fresh = again(mem, ["PD"], pd=pd), mem
        must(t, call, f"reregistering a region ({what})")
        allowed(t, in_domain(t, pd), "write", fresh, "7.3.2.3-05")
        denied(t, p, "write", fresh.remote(0), "7.3.2.3-05", "a write through a QP of the old PD", region=fresh)
    elif what == "translation":
        call, fresh = moved(mem)
        must(t, call, "reregistering a region with other memory")
        allowed(t, p, "write", fresh, "7.3.2.3-05")
        denied(t, p, "write", {"addr": hex64(old.va), "rkey": mem.rkey}, "7.3.2.3-05", "a write to the old place", region=old)
    elif what == "shorter":
        must(t, again(mem, ["TRANSLATION"], mem=mem.mem, offset=mem.offset, length=1024), "reregistering a part of a region")
        allowed(t, p, "write", mem, "7.3.2.3-05")
        denied(t, p, "write", mem.remote(2048), "7.3.2.3-05", "a write behind a region that was made shorter", region=mem)
        t.require(mem.untouched(2048, 256), "7.3.2.3-05", "memory behind a region that was made shorter", "changed", "as it was")
    elif what == "failed":
        failed(t, p, mem)
    elif what == "often":
        for number in range(_TIMES):
            rights = ALL if number % 2 else (LOCAL_WRITE, REMOTE_WRITE)
            call = again(mem, ["ACCESS"], access=list(rights))
            if not t.require(returned(call), "7.3.2.3-09", f"reregistration {number + 1} of a region", said(call), OK):
                break
        else:
            allowed(t, pair(t), "write", mem, "7.3.2.3-09")
    else:
        under_way(t, p, mem)
    if mem.rkey != old.rkey and what in ("access", "domain", "translation"):
        q = pair(t)
        denied(t, q, "write", old.remote(0), "7.3.2.3-07", "a write by the STag before the reregistration", region=old)
    alive(t)


def posted_before(t: Verbs) -> None:
    """A Receive that was posted before its region lost local write: it is used after the call, and by the rights of the call."""
    p, mem = pair(t), nodes(t)[1].mem(256)
    got = p.b.recv(mem.sge(0, 64))
    call = again(mem, ["ACCESS"], access=[])
    if not returned(call):
        t.notice("7.3.2.3-08", "reregistering a region of a posted Receive", said(call), OK, "B54")
        return
    sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 64)]}], must=False)
    t.reap([got])
    what = "a Receive whose region lost local write after the post"
    t.require(got.status in LOCAL, "7.3.2.3-08", what, got.status, " or ".join(sorted(LOCAL)))
    sender(t, sent.wrs)
    t.require(mem.untouched(), "7.3.2.3-08", f"the memory of {what}", "changed", "as it was")


def longer(t: Verbs) -> None:
    """More of the memory than before: all of it is served, where the provider has room for that (7.3.2.3)."""
    p, mem = pair(t), nodes(t)[1].mem(16384)
    must(t, again(mem, ["TRANSLATION"], mem=mem.mem, offset=mem.offset, length=1024), "reregistering a part of a region")
    call = again(mem, ["TRANSLATION"], mem=mem.mem, offset=mem.offset, length=mem.length)
    if not returned(call):
        t.skip("the provider has no room for a region that grows, which is right (7.3.2.3)")
    allowed(t, p, "write", mem, "7.3.2.3-05", 12288)
    got = p.a.recv(p.ma.sge(0, 64))
    good([p.b.send(mem.sge(mem.length - 64, 64)), got], "7.3.2.3-05", "a Send from what a region gained")


def from_invalid(t: Verbs) -> None:
    """A region that is Invalid serves again, in the PD that it kept, when it is reregistered with the memory that it had."""
    p, mem = pair(t), nodes(t)[1].mem(4096)
    wr = invalidate(p.b, mem.rkey)
    if wr is None or not wr.good:
        t.skip("regions are not invalidated by a WR (B106)")
    call = again(mem, ["TRANSLATION", "ACCESS"], mem=mem.mem, offset=mem.offset, length=mem.length, access=list(ALL))
    must(t, call, "reregistering a region that is Invalid")
    allowed(t, p, "write", mem, "7.3.2.3-05")


def at_its_own_end(t: Verbs) -> None:
    """Another PD, and the first one again: SGEs work with the QP of the PD that the region has, and with no other."""
    other = nodes(t)[1]
    pd, mem = other.pd_new(), other.mem(256)
    for now, then in ((pd, other.pd), (other.pd, pd)):
        must(t, again(mem, ["PD"], pd=now), "reregistering a region into another PD")
        mine, foreign = in_domain(t, now), in_domain(t, then)
        got = mine.a.recv(mine.ma.sge(0, 64))
        good([mine.b.send(mem.sge(0, 64)), got], "7.3.2.3-05", "a Send from a region by a QP of its new PD")
        got = foreign.a.recv(foreign.ma.sge(0, 64))
        made = foreign.b.post([{"opcode": "SEND", "sges": [mem.sge(0, 64)]}], must=False).wrs
        t.reap(made)
        t.require(all(wr.status in LOCAL for wr in made), "7.3.2.3-05", "a Send from a region by a QP of its former PD",
                  [wr.status for wr in made], " or ".join(sorted(LOCAL)))  # fmt: skip
        t.reap([got], t.quiet_us)
        t.require(not got.good, "7.3.2.3-05", "a Send from a region by a QP of its former PD", "arrived", "never")


def moved(mem: Mem, pd: Optional[int] = None) -> tuple[Call, Mem]:
    """Reregister with other memory of the same length, guarded, and all rights; gives the region as it is then, too."""
    node = mem.node
    made = node.end.call("mem.new", length=mem.length + 2 * _GUARD, fill=f"{mem.fill:02x}", align=0, pages="read-write")
    raw, va = made.integer("mem"), int(made.text("va"), 16)
    more: dict[str, Any] = {} if pd is None else {"pd": pd, "access": list(ALL)}
    call = again(mem, ["TRANSLATION"] if pd is None else ["TRANSLATION", "PD", "ACCESS"], mem=raw, offset=_GUARD,
                 length=mem.length, **more)  # fmt: skip
    return call, Mem(node, raw, _GUARD, mem.length, mem.mr, mem.lkey, mem.rkey, va + _GUARD, mem.fill)


def in_domain(t: Verbs, pd: int) -> Pair:
    """A pair whose far end has a PD of its own."""
    one, other = nodes(t)
    a, b = one.qp(), other.qp(pd=pd)
    p = Pair(a, b, one.mem(8192), other.mem(8192, pd=pd))
    b.idle()
    first = b.recv(p.mb.sge(0, 8))
    connect(a, b)
    start(p, first)
    return p


def with_window(t: Verbs) -> None:
    """A bound window holds its region."""
    p, mem = pair(t), region(t)
    _, made = bound(t, p, mem, _BOTH, "7.10.2-01", "a bind")
    keys = mem.lkey, mem.rkey
    call = again(mem, ["ACCESS"], access=[LOCAL_WRITE])
    if not refused(t, "7.3.2.3-02", "reregistering a region with a bound window", call):
        return
    mem.lkey, mem.rkey = keys
    allowed(t, p, "write", seen(mem, made.rkey, mem.va), "7.3.2.3-03")
    allowed(t, p, "write", mem, "7.3.2.3-03")


def failed(t: Verbs, p: Pair, mem: Mem) -> None:
    """Rights that no region may have: neither the old region nor a new one is left."""
    mem.write(bytes([mem.fill]) * 256)
    call = again(mem, ["ACCESS"], access=[REMOTE_WRITE])
    if returned(call):
        t.report("7.4.2-01", "reregistering a region with remote write and no local write", OK, REFUSED)
        return
    if call.result().get("code") not in _CMD:
        t.skip("the call was refused before it came to the provider (B34)")
    denied(t, p, "write", mem.remote(0), "7.3.2.3-04", "a write by the STag of a region whose reregistration failed", region=mem)
    mem.deregister()


def under_way(t: Verbs, p: Pair, mem: Mem) -> None:
    """The peer writes all the time: into the old place, or the new one, or not at all."""
    p.ma.write(b"\x77" * 4096)
    first = t.account.ids(1)
    t.account.foreign.add(first)
    wr = {"wr_id": hex64(first), "opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 4096)], "remote": mem.remote(0),
          "flags": ["SIGNALED"]}  # fmt: skip
    number = p.a.node.end.call("agent.loop", qp=p.a.qp, cq=p.a.send_cq.cq, wr=wr, times=0, Timeout=t.bound_us).integer("loop")
    t.wait(t.quiet_us // 5)
    call, _ = moved(mem)  # the account watches the guards of both
    mem.write(b"\xc3" * 4096)
    t.wait(t.quiet_us)
    ended = p.a.node.end.call("agent.stop", loop=number).result()
    if not returned(call):
        t.notice("7.3.2.3-10", "reregistering a region that the peer is using", said(call), OK, "B34")
        return
    t.require(mem.read(0, 4096) == b"\xc3" * 4096, "7.3.2.3-10", "the old place after the call", "changed", "as it was filled")
    status, wanted = ended.get("status"), REFUSED_IWARP if t.iwarp else REFUSED_IB | {"WR_FLUSH_ERR"}
    if status is not None:
        t.require(status in wanted, "7.3.2.3-10", "the Write that was cut off", status, " or ".join(sorted(wanted)))
    mem.guarded()
    mem.write(bytes([mem.fill]) * 4096)


_SUMS = [(), (LOCAL_WRITE,), (REMOTE_READ,), (LOCAL_WRITE, REMOTE_READ), (LOCAL_WRITE, REMOTE_WRITE), ALL,
         (REMOTE_WRITE,), (REMOTE_WRITE, REMOTE_READ)]  # fmt: skip


@verbs(71, "Regions that are registered and refused",
       "7.2-02 7.2.1-01 7.3-03 7.3.2.2-02 7.4-01 7.4.1-01 7.4.2-01 7.4.2-11 7.6.1.1-02 8.3.1-04 9.2.6.2-01",
       errata="B30 B36", variants=[
           *each("what", ["sums", "failures", "at-once", "numbers", "zero", "read-only"], {"zero": IWARP}),
           *product(each("what", ["odd"]), each("offset", {str(n): n for n in (0, 1, 3, 4095)}),
                    each("length", {str(n): n for n in (1, 3, 4096, 4097, (1 << 20) + 1)}))])  # fmt: skip
def register(t: Verbs) -> None:
    """Each legal sum of rights on any bytes, usable when the call returns; a refusal leaves nothing behind."""
    one, other = nodes(t)
    what = t.params["what"]
    if what == "sums":
        sums(t, other)
    elif what == "failures":
        failures(t, other)
    elif what == "at-once":
        at_once(t, other)
    elif what == "numbers":
        mems = [other.mem(64) for _ in range(64)]
        for name, keys in (("rkeys", [m.rkey for m in mems]), *([("lkeys", [m.lkey for m in mems])] if t.iwarp else [])):
            shown = [key >> 8 if t.iwarp else key for key in keys]
            t.require(len(set(shown)) == 64, "7.2-02", f"{name} of 64 regions", f"{len(set(shown))} different", "64 different")
        served(t, pair(t), mems[63], 0, 3, "7.2-02")
    elif what == "zero":
        for number in range(_TIMES):
            mem = other.register_call(_raw(t, other), 0, 64, access=ALL)
            if not returned(mem):
                t.lack(f"region {number + 1} was refused: {said(mem)}")
            zero = not mem.integer("lkey") >> 8 or not mem.integer("rkey") >> 8
            t.require(not zero, "7.2.1-01", "an STag index", 0, "not 0")
            other.call("DeregisterMr", mr=mem.integer("mr"))
        windows_of(t, other)
    elif what == "read-only":
        read_only(t, other)
    else:
        odd(t, other, t.params["offset"], t.params["length"])
    alive(t)


def _raw(t: Verbs, node: Node) -> int:
    """One piece of memory for all that is registered and given back."""
    for mem in t.account.mems:
        if mem.node is node:
            return mem.mem
    return node.mem(64).mem


def windows_of(t: Verbs, node: Node) -> None:
    """The STag indices of windows."""
    if not t.pics["mw"]:
        return
    for _ in range(100):
        made = node.call("AllocateMw", pd=node.pd, type=2)
        made = made if returned(made) else node.call("AllocateMw", pd=node.pd, type=1)
        if not returned(made):
            return
        t.require(made.integer("rkey") >> 8 != 0, "7.2.1-01", "the STag index of a window", 0, "not 0")
        node.call("DeallocateMw", mw=made.integer("mw"))


def sums(t: Verbs, node: Node) -> None:
    """The eight sums of three rights."""
    raw = node.raw(256)
    for rights in _SUMS:
        legal = REMOTE_WRITE not in rights or LOCAL_WRITE in rights
        call = node.register_call(raw, 0, 256, access=rights)
        words = "+".join(rights) or "no rights"
        rows = ["7.4.2-11", *(["7.4-01"] if legal else ["7.4.2-01"]), *(["7.4.1-01"] if rights in ((), (LOCAL_WRITE,)) else [])]
        for row in rows:
            t.require(returned(call) == legal, row, f"a region with {words}", said(call), OK if legal else REFUSED)
    p = pair(t)
    source, sink = node.mem(64, access=()), nodes(t)[0].mem(64, access=(LOCAL_WRITE,))
    got = p.a.recv(sink.sge(0, 64))
    good([p.b.send(source.sge(0, 64)), got], "7.4.1-01", "a Send from memory without rights into memory with local write")


def failures(t: Verbs, node: Node) -> None:
    """Refused over and over, by its rights and by memory that is not there; then a good one works, and the one from before."""
    before, raw = node.mem(256), node.raw(256)
    ways = [(256, (REMOTE_WRITE,)), (_BEYOND, ALL)]
    for number in range(_FAILURES):
        length, access = ways[number % len(ways)]
        call = node.register_call(raw, 0, length, access=access)
        if returned(call) and length == _BEYOND:
            t.notice("9.2.6.2-01", "registering memory of which a page is not mapped", OK, REFUSED, "B36")
            node.call("DeregisterMr", mr=call.integer("mr"))
            del ways[1]
        elif returned(call):
            t.require(False, "7.4.2-01", "a region with remote write alone", OK, REFUSED)
            return
    call = node.register_call(raw, 0, 256, access=ALL)
    t.require(returned(call), "7.3-03", f"a good registration after {_FAILURES} that were refused", said(call), OK)
    p = pair(t)
    served(t, p, before, 0, 5, "8.3.1-04")
    served(t, p, node.mem(256, row="7.3-03"), 0, 6, "7.3-03")


def at_once(t: Verbs, node: Node) -> None:
    """Used right after the call, many times."""
    p = pair(t)
    raw = node.raw(256)
    for number in range(_TIMES // 4):
        call = node.register_call(raw, 0, 256, access=ALL)
        t.require(returned(call), "7.3.2.2-02", f"registration {number + 1}", said(call), OK)
        if not returned(call):
            return
        got = p.a.recv(p.ma.sge(0, 64))
        sge = {"mem": raw, "offset": 0, "length": 64, "mr": call.integer("mr")}
        remote = {"addr": call.text("va"), "rkey": call.integer("rkey")}
        there = p.b.recv(p.mb.sge(0, 8))  # what tells that the Write has arrived, which its WC does not (8.2.2, rule 11)
        wrs = [p.b.send(sge), p.a.write(remote, p.ma.sge(128, 64)), p.a.send(p.ma.sge(0, 8)), got, there]
        if not good(wrs, "7.3.2.2-02", f"a Send and a Write right after registration {number + 1}"):
            return
        if not returned(node.call("DeregisterMr", mr=call.integer("mr"))):
            t.lack("a region that nothing uses could not be deregistered, which VERBS.27 judges")


def read_only(t: Verbs, node: Node) -> None:
    """Memory that the process may not write."""
    raw = node.raw(4096, pages="read-only")
    call = node.register_call(raw, 0, 4096, access=ALL)
    if not returned(call):
        return
    p = pair(t)
    before = node.end.call("mem.read", mem=raw, offset=0, length=64).text("hex")
    p.ma.write(b"\x77" * 64)
    remote = {"addr": call.text("va"), "rkey": call.integer("rkey")}
    p.a.post([{"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 64)], "remote": remote}], must=False)
    t.wait(t.quiet_us // 2)
    now = node.end.call("mem.read", mem=raw, offset=0, length=64).text("hex")
    t.require(now == before, "9.2.6.2-01", "memory that may not be written, registered with local write", "changed", "as it was")
    t.notice("9.2.6.2-01", "registering memory that may not be written with local write", OK, REFUSED, "B36")


def odd(t: Verbs, node: Node, offset: int, length: int) -> None:
    """Any bytes."""
    raw = node.raw(4096 + length + _GUARD)
    mem = node.register(raw, offset, length, row="7.6.1.1-02")
    p = pair(t, max(8192, length))
    p.ma.pattern(7, 0, length)
    got = p.b.recv(p.mb.sge(0, 8))
    good([p.a.write(mem.remote(0), p.ma.sge(0, length)), p.a.send(p.ma.sge(0, 8)), got], "7.6.1.1-02",
         f"a Write of a whole region of {length} bytes at offset {offset}")  # fmt: skip
    t.require(mem.wrong(7, 0, length) == 0, "7.6.1.1-02", "its bytes", "wrong", "those written")
    behind = node.end.call("mem.read", mem=raw, offset=offset + length, length=8).text("hex")
    t.require(behind == f"{mem.fill:02x}" * 8, "7.6.1.1-02", "bytes behind it", behind, "as they were")


_FAR = {"plus": 1 << 32, "high": 1 << 63, "low-half": None}


@verbs(72, "Offsets of regions", "7.3.1.1-01..02 7.6.1.1-01..02", errata="B31 B53", variants=[
    *product(each("what", ["virtual"]), each("op", ["write", "read"])),
    Variant("zero", {"what": "zero"}, IWARP),
    *product(each("what", ["far"]), each("far", _FAR)), *each("what", ["odd"])])  # fmt: skip
def offsets(t: Verbs) -> None:
    """They are the virtual address or begin at zero, in 64 bits, all of which count."""
    one, other = nodes(t)
    what = t.params["what"]
    if t.params.get("op") == "read" and not has_read(t):
        t.skip("the device has no RDMA Read")
    if what == "virtual":
        mem = other.mem(12288)
        p = pair(t)
        for at in (0, 6000, mem.length - 64):
            allowed(t, p, t.params["op"], mem, "7.3.1.1-01", at)
        got = p.a.recv(p.ma.sge(0, 64))
        good([p.b.send(mem.at(6000, 64)), got], "7.3.1.1-01", "a Send whose element has a virtual address")
    elif what == "zero":
        zero_based(t, other)
    elif what == "odd":
        odd(t, other, 4093, 7)
    else:
        mem = other.mem(4096)
        p = pair(t)
        allowed(t, p, "write", mem, "7.3.1.1-01")
        more = t.params["far"]
        addr = mem.va & 0xFFFFFFFF if more is None else mem.va + more
        if addr == mem.va:
            t.skip("the region lies in the first 4 GiB")
        denied(t, p, "write", mem.remote(0, addr=hex64(addr)), "7.6.1.1-01", f"a write to {hex64(addr)}, whose lower half is right",
               region=mem)  # fmt: skip
    alive(t)


def zero_based(t: Verbs, node: Node) -> None:
    """By ibv_reg_mr_iova, and by a right of its own, from the first byte of a page and from another; each may be refused (B31)."""
    ways: list[dict[str, Any]] = [{"access": ALL, "iova": "0000000000000000"}, {"access": (*ALL, "ZERO_BASED")}]
    words = []
    for way in ways:
        for offset, length in ((0, 4096), (100, 2000)):
            raw = node.raw(4096)
            call = node.register_call(raw, offset, length, **way)
            if not returned(call):
                words += [said(call)] if offset == 0 else []
                continue
            mem = Mem(node, raw, offset, length, call.integer("mr"), call.integer("lkey"), call.integer("rkey"), 0, 0x5A, False)
            p = pair(t)
            for at in (0, length // 2, length - 64):
                allowed(t, p, "write", mem, "7.3.1.1-02", at)
                if has_read(t):
                    allowed(t, p, "read", mem, "7.3.1.1-02", at)
    if len(words) == len(ways):
        t.notice("7.3.1.1-02", "a region whose offsets begin at zero", words[0], OK, "B31")
