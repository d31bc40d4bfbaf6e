"""VERBS.24 to VERBS.29: memory that a WR names at its own end.

It is used by its rights, its PD and its bounds, and only while it is registered.
"""

from __future__ import annotations

from typing import Any, Mapping

from fcvi.engine.case import Variant

from conformance.verbs.cases.states import unknown
from conformance.verbs.steps.account import Wr
from conformance.verbs.steps.declare import IWARP, MT, SRQ, each, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import LOCAL, REFUSED_IB, REFUSED_IWARP, SINK, SUCCESS, TOO_SHORT, UNFIT_IB
from conformance.verbs.steps.session import (
    ALL, LOCAL_WRITE, OK, REFUSED, REMOTE_READ, REMOTE_WRITE, Mem, Node, Pair, Qp, alive, connect, ending, flushed, good, has_read,
    message, moved, need_read, nodes, pair, receives, returned, said, start, unused_key,
)  # fmt: skip
from conformance.verbs.steps.shared import Shared

LENGTH = 64
WRAP = "fffffffffffffff0"
_AHEAD = 16  # bytes of a good element ahead of the bad one
_AROUND, _PART = 4096, 1024  # some memory, and where in it a region begins that is a part of it


def faulty(t: Verbs, node: Node, mem: Mem, fault: str) -> Mapping[str, Any]:
    """An SGE of 64 bytes at this end with one thing wrong."""
    if fault == "pd":
        return node.mem(256, pd=node.pd_new()).sge(0, LENGTH)
    if fault == "unknown":
        return unknown(t, mem)
    if fault == "flipped":
        for bit in range(1, 8):
            if unused_key(t, mem.lkey ^ 1 << bit):
                return mem.sge(0, LENGTH, lkey=mem.lkey ^ 1 << bit)
        t.lack("each key with one bit flipped is that of another region")
    if fault == "deregistered":
        gone = node.mem(256)
        if not returned(gone.deregister()):
            t.fail("7.9-01", "deregistering a region that nothing uses", REFUSED, OK)
        return gone.sge(0, LENGTH, lkey=gone.lkey)
    if fault == "zero":
        return mem.sge(0, LENGTH, lkey=0)
    part = node.register(node.raw(_AROUND), _PART, 256)
    if fault == "beyond":
        return part.at(part.length - LENGTH + 1, LENGTH)
    if fault == "before":
        return part.at(-1, LENGTH)
    return {"addr": WRAP, "lkey": part.lkey, "length": LENGTH}


_FAULTS = {
    "pd": "7.6.3-02", "unknown": "7.3-01", "flipped": "8.3.2-07", "deregistered": "8.3.2-07", "zero": "7.2.1-02",
    "beyond": "8.3.2-08", "before": "8.3.2-08", "wrap": "8.3.2-05",
}  # fmt: skip
_OF_RECEIVES = {"flipped": "8.3.2-03", "deregistered": "8.3.2-03", "beyond": "8.3.2-04", "before": "8.3.2-04"}


@verbs(24, "A local buffer that may not be used",
       "5.2-01..02 5.2-04 5.2.1-01 6.2.2.3-03 6.4-01 7.2.1-02 7.3-01 7.6.3-02 7.6.3-05 8.1.3.2.1-03 8.3.2-02..05 8.3.2-07..08",
       errata="B30 B44 B54 B69", variants=[
           *product(each("fault", list(_FAULTS), {"zero": IWARP}), each("op", ["send", "second", "write", "read", "recv"])),
           *product(each("fault", ["pd", "deregistered"]), each("op", ["second-recv"])),
           *product(each("fault", ["flipped", "beyond"]), each("op", ["srq-recv"], {"srq-recv": SRQ})),
           Variant("domains", {"fault": "domains"})])  # fmt: skip
def local_buffer(t: Verbs) -> None:
    """The WR ends with an error of protection or is refused; nothing is sent from it, and nothing is placed into it."""
    fault = t.params["fault"]
    if fault == "domains":
        domains(t)
    elif t.params["op"] == "srq-recv":
        s = Shared(t)
        bad_of_srq(t, s, faulty(t, s.node, s.mem, fault), _OF_RECEIVES[fault], f"memory that may not be used ({fault})")
    elif t.params["op"].endswith("recv"):
        bad_receive(t, fault, _AHEAD if t.params["op"] == "second-recv" else 0)
    elif t.params["op"] == "read":
        bad_sink(t, fault)
    else:
        bad_source(t, fault, t.params["op"])
    alive(t)


def bad_source(t: Verbs, fault: str, op: str) -> None:
    """A Send or a Write from such a buffer, or a Send whose second buffer is such."""
    p = pair(t, sq_sges=2)
    message(p, LENGTH, 2)
    got = receives(p.b, p.mb, 2, length=2 * LENGTH)
    bad = faulty(t, p.a.node, p.ma, fault)
    wr: dict[str, Any] = {"opcode": "RDMA_WRITE" if op == "write" else "SEND", "sges": [bad]}
    if op == "second":
        wr["sges"] = [p.ma.sge(0, LENGTH), bad]
    if op == "write":
        wr["remote"] = p.mb.remote(4096)
    made = p.a.post([wr], must=False)
    row = _FAULTS[fault]
    if made.wrs:
        t.reap(made.wrs)
        failed(t, row, made.wrs[0], f"a {op} from memory that may not be used ({fault})")
        bounded(t, fault, made.wrs[0], f"a {op} of 64 bytes, one of which lies outside the region ({fault})")
        late = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, LENGTH)]}], must=False, row="6.2.4-06")
        flushed(late.wrs, "8.3.2-02", "a Send behind the error")
    t.reap(got, t.quiet_us)
    t.require(not any(wr.good for wr in got), "6.4-01", f"a {op} from memory that may not be used ({fault})", "arrived", "never")
    t.require(p.mb.untouched(4096, 256), "6.4-01", f"a {op} from memory that may not be used ({fault})", "bytes moved", "none")


def bad_sink(t: Verbs, fault: str) -> None:
    """A Read into such a buffer. Figure 23 has Read Types beside Send Types and Writes."""
    need_read(t)
    p = pair(t)
    message(p, LENGTH, 2)
    p.mb.pattern(9, 0, LENGTH)
    bad = faulty(t, p.a.node, p.ma, fault)
    before = {mem: outside(mem, fault) for mem in t.account.mems if mem.node is p.a.node}
    what, row = f"a Read into memory that may not be used ({fault})", _FAULTS[fault]
    made = p.a.post([{"opcode": "RDMA_READ", "sges": [bad], "remote": p.mb.remote(0)}], must=False)
    if made.wrs:
        ending(t, made.wrs, row, what)
        also = SINK if t.iwarp else frozenset()
        failed(t, row, made.wrs[0], what, also)
        bounded(t, fault, made.wrs[0], f"a Read of 64 bytes, one of which lies outside the region ({fault})", also)
        late = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, LENGTH)]}], must=False, row="6.2.4-06")
        flushed(late.wrs, "8.3.2-02", "a Send behind the error")
    t.wait(t.quiet_us // 2)
    for mem, bytes_ in before.items():
        t.require(outside(mem, fault) == bytes_, row, f"memory at {what}", "changed", "as it was")


def outside(mem: Mem, fault: str) -> bytes:
    """What a sink of that fault may not reach: the bytes around a region of which it names a part, else the region itself."""
    if fault in ("beyond", "before", "wrap") and mem.offset == _PART:
        return mem.read(-_PART, _PART) + mem.read(mem.length, _AROUND - _PART - mem.length)
    return mem.read(0, min(mem.length, _AROUND))


def failed(t: Verbs, row: str, wr: Wr, what: str, also: frozenset[str] = frozenset()) -> None:
    """The WC of a WR at fault, by the row of the fault and those that every such WC decides."""
    wanted = " or ".join(sorted(LOCAL | also))
    t.require(wr.status in LOCAL | also, row, what, wr.status, wanted)
    if row == _FAULTS["zero"]:
        t.require(wr.status in LOCAL | also, "8.1.3.2.1-03", what, wr.status, wanted)
    t.require(wr.status in LOCAL | also, "6.2.2.3-03", what, wr.status, wanted)


def bounded(t: Verbs, fault: str, wr: Wr, what: str, also: frozenset[str] = frozenset()) -> None:
    """The region lies within a page, so that only a check of each byte finds the one outside (7.5.1)."""
    if fault in ("beyond", "before"):
        t.require(wr.status in LOCAL | also, "7.6.3-05", what, wr.status, " or ".join(sorted(LOCAL | also)))


def bad_receive(t: Verbs, fault: str, ahead: int) -> None:
    """A Receive into such a buffer, with a good one ahead of it or none, and a message that reaches the bad place."""
    p = pair(t, rq_sges=2 if ahead else 1)
    message(p, LENGTH, 2)
    sges = [*([p.mb.sge(1024, ahead)] if ahead else []), faulty(t, p.b.node, p.mb, fault)]
    made = p.b.post([{"sges": sges}, {"sges": [p.mb.sge(0, LENGTH)]}], queue="rq", must=False)
    row = _OF_RECEIVES.get(fault, _FAULTS[fault])
    if not made.wrs:
        if fault != "wrap":  # there a refusal is as right (8.3.2-05)
            t.notice(row, f"a Receive into memory that may not be used ({fault})", made.said, "a Completion Error", "B54")
        return
    sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, LENGTH + ahead)]}], must=False)
    t.reap(made.wrs)
    failed(t, row, made.wrs[0], f"a Receive into memory that may not be used ({fault})", TOO_SHORT)
    bounded(t, fault, made.wrs[0], f"a Receive of 64 bytes, one of which lies outside the region ({fault})", TOO_SHORT)
    flushed(made.wrs[1:], "8.3.2-02", "the Receive behind it")
    sender(t, sent.wrs)
    regions = [m for m in t.account.mems if m.node is p.b.node and m not in (p.mb, p.ma)]
    for mem in regions:
        kept = mem.read(-1 if mem.offset else 0, 257 if mem.offset else 256)
        t.require(set(kept) == {mem.fill}, row, f"memory that may not be used ({fault})", "changed", "as it was")


def bad_of_srq(t: Verbs, s: Shared, sge: Mapping[str, Any], row: str, into: str) -> None:
    """The only Receive of an SRQ has such a buffer: the message that takes it ends with its QP, and the SRQ serves another."""
    p, q = s.peer(), s.peer()
    made = s.srq.post([{"sges": [sge]}], must=False)
    if not made.wrs:
        t.notice(row, f"a Receive of an SRQ into {into}", made.said, "a Completion Error", "B54")
        return
    s.posted[made.wrs[0].wr_id] = (made.wrs[0], 0)
    before = {mem: outside(mem, t.params.get("fault", "")) for mem in t.account.mems if mem.node is s.node}
    sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, LENGTH)]}], must=False)
    got = s.came([p], 1)
    seen = got[0].status if got else "none"
    wanted = LOCAL | TOO_SHORT
    t.require(seen in wanted, row, f"a Receive of an SRQ into {into}", seen, " or ".join(sorted(wanted)))
    sender(t, sent.wrs)
    for mem, bytes_ in before.items():
        t.require(outside(mem, t.params.get("fault", "")) == bytes_, row, f"memory at a Receive of an SRQ into {into}", "changed",
                  "as it was")  # fmt: skip
    s.post(2)
    s.serves(q, 2, "6.3.6-03")


def sender(t: Verbs, wrs: list[Wr], ended: bool = False) -> None:
    """The end that sent what the other's Receive could not take, or met an end that was in Error already: the sets of B54."""
    t.reap(wrs)
    retried = frozenset({"RNR_RETRY_EXC_ERR", *(["RETRY_EXC_ERR"] if ended else [])})
    wanted = REFUSED_IWARP if t.iwarp else UNFIT_IB | REFUSED_IB | retried
    for wr in wrs:
        t.require(not wr.wcs or wr.status in wanted, "9.3.2.1-04", "the Send that the other end could not take", wr.status,
                  " or ".join(sorted(wanted)))  # fmt: skip


def domains(t: Verbs) -> None:
    """Four PDs made in one order, regions and QPs in others: each works with its own, and no cross pair does."""
    one, _ = nodes(t)
    pds = [one.pd_new() for _ in range(4)]
    mems = {pd: one.mem(256, pd=pd, row="5.2-04") for pd in (pds[2], pds[0], pds[3], pds[1])}
    second = {pd: one.mem(256, pd=pd, row="5.2-02") for pd in pds}
    for pd in reversed(pds):
        for region in (mems[pd], second[pd]):
            p = of_domain(t, pd, region)
            message(p, LENGTH, 6, row="5.2-04" if region is mems[pd] else "5.2-02")
            message(p.back(), LENGTH, 7, row="5.2-01")
    for k, pd in enumerate(pds):
        foreign = mems[pds[(k + 1) % 4]]
        p = of_domain(t, pd, mems[pd])
        got = p.b.recv(p.mb.sge(0, LENGTH))
        made = p.a.post([{"opcode": "SEND", "sges": [foreign.sge(0, LENGTH)]}], must=False)
        t.reap(made.wrs)
        for wr in made.wrs:
            t.require(wr.status in LOCAL, "5.2.1-01", "a Send from a region of the next PD", wr.status, " or ".join(sorted(LOCAL)))
        t.reap([got], t.quiet_us)
        t.require(not got.good, "5.2.1-01", "a Send from a region of the next PD", "arrived", "never")


def of_domain(t: Verbs, pd: int, region: Mem) -> Pair:
    """A QP of a PD with a stream, and a region."""
    one, other = nodes(t)
    a, b = one.qp(pd=pd, row="5.2-01"), other.qp()
    p = Pair(a, b, region, other.mem(512))
    b.idle()
    first = b.recv(p.mb.sge(0, 8))
    connect(a, b)
    start(p, first)
    return p


_SUMS = {
    "none": (), "lw": (LOCAL_WRITE,), "rr": (REMOTE_READ,), "rw": (REMOTE_WRITE,), "lw-rr": (LOCAL_WRITE, REMOTE_READ),
    "lw-rw": (LOCAL_WRITE, REMOTE_WRITE), "rr-rw": (REMOTE_READ, REMOTE_WRITE), "all": ALL,
}  # fmt: skip


@verbs(25, "Local rights", "7.4-01 7.4.1-01..04 7.4.2-11", errata="B30 B54", variants=[
    *product(each("what", ["sum"]), each("rights", _SUMS)),
    *each("what", ["send-from-none", "receive-into-none", "receive-into-read", "local-only", "srq-into-none"],
          {"srq-into-none": SRQ}),
])  # fmt: skip
def local_rights(t: Verbs) -> None:
    """Each legal sum of rights can be had, and the others cannot. A Receive needs local write, and local rights alone decide."""
    one, other = nodes(t)
    what = t.params["what"]
    if what == "sum":
        rights = t.params["rights"]
        legal = REMOTE_WRITE not in rights or LOCAL_WRITE in rights
        made = one.register_call(one.raw(256), 0, 256, access=rights)
        words = "+".join(rights) or "no rights"
        t.require(returned(made) == legal, "7.4.2-11", f"a region with {words}", said(made), OK if legal else REFUSED)
        if legal:
            t.require(returned(made), "7.4-01", f"a region with {words}", said(made), OK)
        if rights in ((), (LOCAL_WRITE,)):
            t.require(returned(made), "7.4.1-01", f"a region with {words}", said(made), OK)
        alive(t)
        return
    if what == "srq-into-none":
        bad_of_srq(t, Shared(t), other.mem(256, access=()).sge(0, LENGTH), "7.4.1-02", "memory without local write")
        alive(t)
        return
    p = pair(t)
    if what in ("send-from-none", "local-only"):
        rights = () if what == "send-from-none" else (LOCAL_WRITE,)
        source, sink = one.mem(256, access=rights), other.mem(256, access=(LOCAL_WRITE,))
        source.pattern(8, 0, LENGTH)
        got = p.b.recv(sink.sge(0, LENGTH))
        wrs = [p.a.send(source.sge(0, LENGTH)), p.a.write(p.mb.remote(512), source.sge(0, LENGTH))]
        row = "7.4.1-01" if what == "send-from-none" else "7.4.1-03"
        good([*wrs, got], row, f"a Send and a Write from memory with {'+'.join(rights) or 'no rights'}")
        t.require(got.good, "7.4.1-04", "a Receive into memory with local write alone", got.status, SUCCESS)
        behind = p.b.recv(p.mb.sge(0, 8))
        good([p.a.send(source.sge(0, 8)), behind], row, "a Send behind them")
        for mem, at in ((sink, 0), (p.mb, 512)):
            t.require(mem.wrong(8, at, LENGTH) == 0, row, "the bytes that arrived", "wrong", "those of the source")
    else:
        row, rights = ("7.4.1-02", ()) if what == "receive-into-none" else ("7.4.1-04", (REMOTE_READ,))
        sink = other.mem(256, access=rights)
        made_ = p.b.post([{"sges": [sink.sge(0, LENGTH)]}], queue="rq", must=False)
        if not made_.wrs:
            t.notice(row, "a Receive into memory without local write", made_.said, "a Completion Error", "B54")
            alive(t)
            return
        sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, LENGTH)]}], must=False)
        t.reap(made_.wrs)
        t.require(made_.wrs[0].status in LOCAL, row, "a Receive into memory without local write", made_.wrs[0].status,
                  " or ".join(sorted(LOCAL)))  # fmt: skip
        sender(t, sent.wrs)
        t.require(sink.untouched(), row, "memory without local write", "changed", "as it was")
    alive(t)


@verbs(26, "Length zero and an STag that is wrong", "7.6.3-06 8.1.3.2-04", errata="B33 B67",
       variants=each("what", ["send", "recv", "write", "read", "send-alone", "write-remote", "read-remote"]))  # fmt: skip
def nothing_to_check(t: Verbs) -> None:
    """Nothing of an element of length zero is checked, neither at its own end nor at the other."""
    what = t.params["what"]
    if what in ("read", "read-remote") and not has_read(t):
        t.skip("the device has no RDMA Read")
    p = pair(t, sq_sges=2, rq_sges=2)
    none = {**unknown(t, p.ma), "length": 0}
    p.ma.pattern(3, 0, LENGTH)
    row = "7.6.3-06" if what.endswith("remote") or what == "read" else "8.1.3.2-04"
    if what in ("send", "recv"):
        extra = {**unknown(t, p.mb), "length": 0}
        got = p.b.recv(*[p.mb.sge(0, LENGTH), *([extra] if what == "recv" else [])])
        sent = p.a.send(*[p.ma.sge(0, LENGTH), *([none] if what == "send" else [])])
    else:
        got = p.b.recv(p.mb.sge(0, LENGTH))
        remote = {"addr": "0000000000001000", "rkey": unknown(t, p.mb)["lkey"]}
        if what == "send-alone":
            first = p.a.send(none)
            good([first, got], row, "a Send of length zero from an unknown STag")
            got = p.b.recv(p.mb.sge(0, LENGTH))
        elif what in ("write", "read"):
            first = (p.a.write if what == "write" else p.a.read)(p.mb.remote(0), none)
        elif what == "write-remote":
            first = p.a.write(remote, p.ma.sge(0, 0))
        else:
            first = p.a.read(remote, p.ma.sge(0, 0))
        good([first], row, f"length zero with an unknown STag ({what})")
        sent = p.a.send(p.ma.sge(0, LENGTH))
    good([sent, got], row, f"a Send beside or behind an element of length zero ({what})")
    t.require(p.mb.wrong(3, 0, LENGTH) == 0, row, "its bytes", "wrong", "those sent")
    alive(t, p)


def use(p: Pair, mem: Mem, op: str) -> None:
    """One good operation with the region, so that the provider may know its translation; its bytes are then as before."""
    if op == "send":
        wrs = [p.b.recv(p.mb.sge(0, 8)), p.a.send(mem.sge(0, 8))]
    elif op == "read":
        wrs = [p.a.read(mem.remote(0), p.ma.sge(0, 8))]
    elif op == "write":  # the Send behind it says that it is there (8.2.2 rule 13)
        wrs = [p.b.recv(p.mb.sge(0, 8)), p.a.write(mem.remote(0), p.ma.sge(0, 8)), p.a.send(p.ma.sge(0, 8))]
    else:
        wrs = [p.b.recv(mem.sge(0, 8)), p.a.send(p.ma.sge(0, 8))]
    good(wrs, "7.9-04", "an operation with a region that is there")
    mem.write(bytes([mem.fill]) * 8, 0)


@verbs(27, "Memory that is deregistered", "7.9-01 7.9-03..05", errata="B54", variants=[
    *product(each("when", ["before"]), each("op", ["send", "recv", "write", "read"])),
    *each("when", ["between", "under-way"]),
    *each("when", ["loop-write", "loop-read"], {"loop-write": MT, "loop-read": MT}),
])  # fmt: skip
def deregistered(t: Verbs) -> None:
    """When the call returns nobody gets in any more, at either end, whatever was posted or under way."""
    when = t.params["when"]
    p = pair(t)
    op = t.params.get("op", when.removeprefix("loop-"))
    if (op == "read" or when == "under-way") and not has_read(t):
        t.skip("the device has no RDMA Read")
    if when == "under-way":
        sink_gone(t, p)
        alive(t)
        return
    if when.startswith("loop"):
        in_a_loop(t, p, op)
        alive(t)
        return
    node = p.a.node if op == "send" else p.b.node
    mem = node.mem(512)
    use(p, mem, op)
    p.ma.write(b"\x77" * LENGTH)  # what is in no other region
    if when == "between":
        made = p.b.post([{"sges": [mem.sge(0, LENGTH)]}], queue="rq").wrs
        call = mem.deregister()
        if not returned(call):
            t.notice("7.9-03", "deregistering a region of a posted Receive", said(call), OK, "B54")
            alive(t)
            return
        sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, LENGTH)]}], must=False)
        t.reap(made)
        t.require(made[0].status in LOCAL, "7.9-04", "a Receive whose region was deregistered", made[0].status,
                  " or ".join(sorted(LOCAL)))  # fmt: skip
        sender(t, sent.wrs)
        t.require(mem.untouched(), "7.9-04", "memory that was deregistered", "changed", "as it was")
        alive(t)
        return
    t.require(returned(mem.deregister()), "7.9-01", "deregistering a region that nothing uses", REFUSED, OK)
    gone = mem.sge(0, LENGTH, lkey=mem.lkey)
    if op in ("write", "read"):
        remote_gone(t, p, mem, op)
    elif op == "send":
        got = p.b.recv(p.mb.sge(0, LENGTH))
        made = p.a.post([{"opcode": "SEND", "sges": [gone]}], must=False).wrs
        t.reap(made)
        t.require(all(wr.status in LOCAL for wr in made), "7.9-01", "a Send from memory that was deregistered",
                  [wr.status for wr in made], " or ".join(sorted(LOCAL)))  # fmt: skip
        t.reap([got], t.quiet_us)
        t.require(not got.good, "7.9-04", "a Send from memory that was deregistered", "arrived", "never")
    else:
        made = p.b.post([{"sges": [gone]}], queue="rq", must=False).wrs
        if made:
            sender(t, p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, LENGTH)]}], must=False).wrs)
            t.reap(made)
            t.require(made[0].status in LOCAL, "7.9-01", "a Receive into memory that was deregistered", made[0].status,
                      " or ".join(sorted(LOCAL)))  # fmt: skip
        t.require(mem.untouched(), "7.9-04", "memory that was deregistered", "changed", "as it was")
    alive(t)


def remote_gone(t: Verbs, p: Pair, mem: Mem, op: str) -> None:
    """The peer's access by an rkey that is gone."""
    name = "RDMA_WRITE" if op == "write" else "RDMA_READ"
    made = p.a.post([{"opcode": name, "sges": [p.ma.sge(0, LENGTH)], "remote": mem.remote(0)}], must=False).wrs
    t.reap(made)
    wanted = (REFUSED_IWARP if op == "write" else REFUSED_IWARP - {SUCCESS}) if t.iwarp else REFUSED_IB
    t.require(all(wr.status in wanted for wr in made), "7.9-01", f"a {op} by an rkey that is gone", [wr.status for wr in made],
              " or ".join(sorted(wanted)))  # fmt: skip
    t.wait(t.quiet_us // 2)
    for row in ("7.9-01", "7.9-04"):
        t.require(mem.untouched(), row, f"memory that was deregistered ({op})", "changed", "as it was")
        if op == "read":
            seen = moved(p.ma.read(0, LENGTH), bytes([mem.fill]) * LENGTH)
            t.require(not seen, row, "the sink of a Read by an rkey that is gone", "bytes of the source", "none of them")


def sink_gone(t: Verbs, p: Pair) -> None:
    """The sink of a Read goes while the Read is under way, or behind it: nobody can say which, but nothing comes there later."""
    sink = p.a.node.mem(65536)
    reads = [{"opcode": "RDMA_READ", "sges": [sink.sge(k * 8192, 8192)], "remote": p.mb.remote(0)} for k in range(8)]
    made = p.a.post(reads).wrs
    for qp in (p.a, p.b):
        qp.abandon()
    call = sink.deregister()
    if not returned(call):
        t.notice("7.9-03", "deregistering the sink of a Read that is under way", said(call), OK, "B54")
        t.reap(made)
        return
    for at in range(0, 65536, 8192):
        sink.write(b"\xc3" * 8192, at)
    t.reap(made)
    t.wait(t.quiet_us)
    for at in range(0, 65536, 8192):
        t.require(sink.read(at, 8192) == b"\xc3" * 8192, "7.9-05", "memory that was deregistered under a Read of one's own",
                  "changed", "as it was filled")  # fmt: skip


def in_a_loop(t: Verbs, p: Pair, op: str) -> None:
    """The peer writes or reads all the time while its target is deregistered and then filled anew."""
    size = 65536
    target, mine = p.b.node.mem(size), p.a.node.mem(size)
    target.pattern(11)
    mine.pattern(11)
    name = "RDMA_WRITE" if op == "write" else "RDMA_READ"
    first = t.account.ids(1)
    t.account.foreign.add(first)
    wr = {"wr_id": f"{first:016x}", "opcode": name, "sges": [mine.sge()], "remote": target.remote(0), "flags": ["SIGNALED"]}
    loop = p.a.node.end.call("agent.loop", qp=p.a.qp, cq=p.a.send_cq.cq, wr=wr, times=0, Timeout=t.bound_us).integer("loop")
    t.wait(t.quiet_us // 5)
    call = target.deregister()
    if not returned(call):
        t.notice("7.9-03", "deregistering a region that the peer is using", said(call), OK, "B54")
        p.a.node.end.call("agent.stop", loop=loop)
        return
    target.write(b"\xc3" * 4096, 0)
    target.write(b"\xc3" * 4096, size - 4096)
    t.wait(t.quiet_us)
    for at in (0, size - 4096):
        t.require(target.read(at, 4096) == b"\xc3" * 4096, "7.9-05", f"memory that was deregistered under a peer's {op}", "changed",
                  "as it was filled")  # fmt: skip
    ended = p.a.node.end.call("agent.stop", loop=loop).result()
    wanted = REFUSED_IWARP if t.iwarp else REFUSED_IB | {"WR_FLUSH_ERR"}
    status = ended.get("status")
    if status is not None:
        t.require(status in wanted, "7.9-03", f"the {op} that was cut off", status, " or ".join(sorted(wanted)))
    elif not ended.get("errno"):
        t.require(op == "write" and t.iwarp, "7.9-03", f"a {op} of memory that was deregistered", "a success", "an error")
    if op == "read":
        later = any(moved(mine.read(at, 4096), b"\xc3" * 4096) for at in (0, size - 4096))
        t.require(not later, "7.9-03", "the sink of Reads under which the source was deregistered", "bytes that came there later",
                  "none of them")  # fmt: skip


@verbs(28, "Memory that is registered more than once", "7.4.3-01..02 7.9-02 8.3.1-04",
       variants=each("what", ["same", "half", "nested", "rights", "domain"]))  # fmt: skip
def twice(t: Verbs) -> None:
    """Each registration has an STag, rights and a PD of its own, and goes on when another of the same memory is gone."""
    one, other = nodes(t)
    what = t.params["what"]
    raw = other.raw(1024)
    whole = other.register(raw, 0, 512)
    place = {"same": (0, 512), "half": (256, 512), "nested": (128, 256)}.get(what, (0, 512))
    rights = (LOCAL_WRITE,) if what == "rights" else ALL
    pd = other.pd_new() if what == "domain" else None
    made = other.register_call(raw, *place, access=rights, pd=pd)
    t.require(returned(made), "7.4.3-01", f"a second registration of the same memory ({what})", said(made), OK)
    if not returned(made):
        alive(t)
        return
    second = Mem(other, raw, *place, made.integer("mr"), made.integer("lkey"), made.integer("rkey"), int(made.text("va"), 16), 0x5A)
    index = 8 if t.iwarp else 0  # the key beside the index is the consumer's
    apart = whole.lkey >> index != second.lkey >> index and (what == "rights" or whole.rkey >> index != second.rkey >> index)
    t.require(apart, "7.4.3-01", "STags of two regions", (whole.lkey, whole.rkey, second.lkey, second.rkey), "different")
    p = pair(t)
    if what in ("same", "half", "nested"):
        for region, seed in ((whole, 31), (second, 32)):
            served(t, p, region, 128 if region is whole and what == "nested" else 0, seed, "7.4.3-02")
    elif what == "rights":
        served(t, p, whole, 0, 33, "7.4.3-02")
        q = pair(t)
        refused_write(t, q, second, "7.4.3-02")
    else:
        served(t, p, whole, 0, 33, "7.4.3-02")
        q = pair(t)
        refused_write(t, q, second, "7.4.3-02")
    bad = other.register_call(raw, 0, 64, access=(REMOTE_WRITE,))
    if not returned(bad):
        served(t, p, whole, 0, 36, "8.3.1-04")
    t.require(returned(second.deregister()), "7.9-01", "deregistering one of two regions", REFUSED, OK)
    served(t, p, whole, 0, 34, "7.9-02")
    local = other.register(raw, 512, 64)
    got = p.b.recv(whole.sge(0, LENGTH))
    p.ma.pattern(35, 0, LENGTH)
    good([p.a.send(p.ma.sge(0, LENGTH)), got], "7.9-02", "a Receive into memory whose other region is gone")
    del local
    alive(t)


def served(t: Verbs, p: Pair, region: Mem, at: int, seed: int, row: str) -> None:
    """A Write of a reaches the region."""
    p.ma.pattern(seed, 0, LENGTH)
    got = p.b.recv(p.mb.sge(0, 8))
    wrs = [p.a.write(region.remote(at), p.ma.sge(0, LENGTH)), p.a.send(p.ma.sge(0, 8)), got]
    good(wrs, row, "a Write to memory that is registered more than once")
    t.require(region.wrong(seed, at, LENGTH) == 0, row, "its bytes", "wrong", "those written")


def refused_write(t: Verbs, p: Pair, region: Mem, row: str) -> None:
    """A Write of a does not."""
    before = region.read(0, LENGTH)
    p.ma.write(b"\x77" * LENGTH, 0)
    made = p.a.post([{"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, LENGTH)], "remote": region.remote(0)}], must=False).wrs
    t.reap(made)
    t.wait(t.quiet_us // 2)
    t.require(region.read(0, LENGTH) == before, row, "a Write by a region that does not allow it", "moved bytes", "nothing moved")


@verbs(29, "Receives shorter, as long and longer than the message", "8.1.2.1-03..05 8.3.2-04", errata="B54 B108", variants=[
    *each("sizes", {f"{m}-into-{r}": (m, r) for m, r in ((65, 64), (4097, 4096), (1, 0), (64, 64), (64, 128), (0, 64), (1, 64),
                    (4096, 8000), (0, 0))})])  # fmt: skip
def lengths(t: Verbs) -> None:
    """A message that fits is the whole Receive; one that does not is an error. No byte behind the buffer is changed."""
    sent, room = t.params["sizes"]
    p = pair(t, 16384)
    sink = p.b.node.mem(max(room, 1))
    p.ma.pattern(12, 0, max(sent, 1))
    wrs = p.b.post([{"sges": [sink.sge(0, room)]}, {"sges": [p.mb.sge(0, 64)]}], queue="rq").wrs
    out = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, sent)]}], must=False).wrs
    t.reap([wrs[0]])
    got = wrs[0]
    if sent <= room:
        good([got, *out], "8.1.2.1-04" if sent < room else "8.1.2.1-05", f"a message of {sent} bytes into {room}")
        if got.wc is not None and got.good:
            t.require(got.wc.byte_len == sent, "8.1.2.1-05", "byte_len of the Receive", got.wc.byte_len, sent)
        t.require(sink.wrong(12, 0, sent) == 0, "8.1.2.1-04", "the bytes of the message", "wrong", "those sent")
        t.require(set(sink.read(room, 64)) == {sink.fill}, "8.1.2.1-04", "bytes behind the buffer", "changed",
                  "as they were")  # fmt: skip
    else:
        t.require(got.status in TOO_SHORT, "8.1.2.1-03", f"a message of {sent} bytes into {room}", got.status,
                  " or ".join(sorted(TOO_SHORT)))  # fmt: skip
        t.require(got.status in TOO_SHORT, "8.3.2-04", f"a message of {sent} bytes into {room}", got.status,
                  " or ".join(sorted(TOO_SHORT)))  # fmt: skip
        sender(t, out)
        flushed(wrs[1:], "8.1.2.1-03", "the Receive behind it")
        beyond = sink.read(sink.length, 64)
        t.require(set(beyond) == {sink.fill}, "8.1.2.1-03", "bytes beyond the buffer of a message that was too long", "changed",
                  "as they were")  # fmt: skip
    alive(t)


__all__ = ["Qp", "faulty", "refused_write", "sender", "served"]
