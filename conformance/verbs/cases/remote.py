"""VERBS.30 to VERBS.34: memory that the peer names.

It is reached by the rights of QP and region, by its PD, its bounds and its STag.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

from fcvi.engine.case import Variant

from conformance.verbs.cases.states import unknown
from conformance.verbs.steps.account import Wr
from conformance.verbs.steps.declare import CM, IWARP, MW, each, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import FLUSHED, LOCAL, REFUSED_IB, REFUSED_IWARP, SINK, SUCCESS
from conformance.verbs.steps.session import (
    ALL, LOCAL_WRITE, OK, REMOTE_READ, REMOTE_WRITE, Mem, Pair, alive, connect, ending, flushed, good, heard, message, moved,
    need_read, nodes, pair, receives, returned, said, start, to_idle, unused_key,
)  # fmt: skip

LENGTH = 64
OPS = {"write": "RDMA_WRITE", "read": "RDMA_READ"}


def access(p: Pair, op: str, remote: Mapping[str, Any], sge: Optional[Mapping[str, Any]] = None) -> list[Wr]:
    """A Write or Read of a; the WRs that were accepted."""
    wr = {"opcode": OPS[op], "sges": [dict(sge or p.ma.sge(0, LENGTH))], "remote": dict(remote)}
    return p.a.post([wr], must=False).wrs


def allowed(t: Verbs, p: Pair, op: str, target: Mem, row: str, at: int = 0) -> bool:
    """An access that has to be served, seen by its bytes."""
    if op == "write":
        p.ma.pattern(21, 0, LENGTH)
        got = p.b.recv(p.mb.sge(0, 8))
        held = good([*access(p, op, target.remote(at)), p.a.send(p.ma.sge(0, 8)), got], row, "a Write that is allowed")
        return held and t.require(target.wrong(21, at, LENGTH) == 0, row, "the bytes of a permitted Write", "wrong", "written")
    target.pattern(22, at, LENGTH)
    held = good(access(p, op, target.remote(at)), row, "a Read that is allowed")
    return held and t.require(p.ma.wrong(22, 0, LENGTH) == 0, row, "the bytes of a Read that is allowed", "wrong", "those read")


def denied(t: Verbs, p: Pair, op: str, remote: Mapping[str, Any], rows: str, what: str, *, event: str = "", ib: str = "",
           length: int = LENGTH, local: bool = False, region: Optional[Mem] = None) -> None:  # fmt: skip
    """An access that may move no byte.

    rows: of the breach; event: the row of the event at the target (iWARP); ib: the row of the WC at the initiator (IB); local: the
    initiator's provider may stop it itself; region: the one that is named, at first the bytes of its fill.
    """
    target, first = region or p.mb, rows.split()[0]
    p.ma.write(b"\x77" * min(length, 4096), 0)
    target.write(bytes([target.fill]) * LENGTH, 0)
    theirs = receives(p.b, p.mb, 3, start=p.mb.length - 256)
    mine = receives(p.a, p.ma, 2, start=p.ma.length - 256)
    wrs = access(p, op, remote, p.ma.sge(0, length))
    ending(t, wrs, first, what)
    wanted = (REFUSED_IWARP if op == "write" else REFUSED_IWARP - {SUCCESS}) if t.iwarp else REFUSED_IB
    wanted = wanted | LOCAL if local else wanted
    judged = [ib if ib and not t.iwarp else first]
    judged += ["8.1.2.2-06"] if not t.iwarp and "8.1.2.2-06" in rows.split() and ib != "8.1.2.2-06" else []
    for wr in wrs:
        for row in judged:
            t.require(wr.status in wanted, row, what, wr.status, " or ".join(sorted(wanted)))
    stopped = any(wr.status in LOCAL for wr in wrs) or not wrs
    if t.iwarp and not (local and stopped):
        # Where a WC is missing `flushed` ends the stream itself: what tells that it ended is looked for before.
        seen = [t.reap(wrs) or heard(t, qp) for wrs, qp in ((theirs, p.b), (mine, p.a))]
        ended = flushed(theirs, "6.2.2.3-02", f"the target's Receives: {what}") or seen[0]
        t.require(ended, "8.1.2.2-06", "the target's end of the stream", f"it stays up behind {what}", "it ends")
        ended = flushed(mine, "6.2.2.3-04", f"the initiator's Receives: {what}") or seen[1]
        t.require(ended, "6.2.3-02", "the initiator's end of the stream", f"it stays up behind {what}", "it ends")
        told = t.until(lambda: heard(t, p.a), t.bound_us)
        t.require(told, "6.2.2.3-05", f"what the initiator is told: {what}", "nothing", "an event")
        if event:
            found = p.b.told(t.bound_us)
            t.require(bool(found), event, f"what the target is told: {what}", "nothing", "an asynchronous event of its QP")
    else:
        t.wait(t.quiet_us // 2)
    if op == "read":
        sink = p.ma.read(0, min(length, 4096))
        carried = moved(sink, bytes([target.fill]) * len(sink))
        t.require(not carried, first, "the sink of a Read that is denied", f"bytes of the source: {what}", "none of them")
    for row in rows.split():
        t.require(target.read(0, 256) == bytes([target.fill]) * 256, row, f"the target: {what}", "changed", "as it was")
    late = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 8)]}], must=False, row="6.2.4-06").wrs
    if not stopped:
        t.reap(late)
        bad = [wr.status for wr in late if wr.good and not t.iwarp]
        t.require(not bad, "8.3.2-02", f"a Send behind it: {what}", bad, FLUSHED)


@verbs(30, "Rights of the QP and of the region", "6.2.2-04 7.4.2-02..07 7.6.3-01 8.1.2.2-05..06 8.3.3-12..13",
       errata="B44 B53 B62",
       variants=[*product(each("op", list(OPS)), each("qp", {"qp-on": True, "qp-off": False}),
                          each("region", {"mr-on": True, "mr-off": False})),
                 Variant("second-stream", {"op": "write", "qp": None}, CM)])  # fmt: skip
def rights(t: Verbs) -> None:
    """Only where both permit it are bytes moved; where one does not the target is told (iWARP), or the initiator (IB)."""
    if t.params["qp"] is None:
        second_stream(t)
        alive(t)
        return
    op, of_qp, of_region = t.params["op"], t.params["qp"], t.params["region"]
    if op == "read":
        need_read(t)
    one, other = nodes(t)
    right = REMOTE_WRITE if op == "write" else REMOTE_READ
    target = other.mem(8192, access=ALL if of_region else [r for r in ALL if r != right])
    without = None if of_qp else [r for r in (REMOTE_READ, REMOTE_WRITE) if r != right]
    p = pair(t, memory=(one.mem(8192), target), theirs=without)
    if without is not None:
        p.b.has_rights(without)
    what = f"a {op} where {'the region' if not of_region else 'the QP'} does not permit it"
    if of_qp and of_region:
        allowed(t, p, op, target, "6.2.2-04")
    elif not of_region:
        rows, event, ib = ("7.4.2-02", "7.4.2-03", "7.4.2-04") if op == "write" else ("7.4.2-05", "7.4.2-06", "7.4.2-07")
        denied(t, p, op, target.remote(0), f"{rows} 8.1.2.2-05 8.1.2.2-06", what, event=event, ib=ib)
    else:
        denied(t, p, op, target.remote(0), "7.6.3-01 8.1.2.2-05 8.1.2.2-06", what,
               event="8.3.3-13" if op == "write" else "8.3.3-12", ib="8.1.2.2-06")  # fmt: skip
    alive(t)


def second_stream(t: Verbs) -> None:
    """A QP whose first stream had all rights, and its second has not: what the first had counts for nothing."""
    (one, other), only = nodes(t), [REMOTE_READ]
    fresh = pair(t, ends=(other, one), access=only)
    told = (fresh.a.query().result().get("attributes") or {}).get("qp_access_flags")
    if not isinstance(told, list) or {REMOTE_READ, REMOTE_WRITE} & set(map(str, told)) != set(only):
        t.skip("the rights of a QP cannot be chosen with its stream (B62)")
    p = pair(t)
    allowed(t, p, "write", p.mb, "6.2.2-04")
    p.b.flush()
    if not to_idle(t, p.b):
        t.lack("the QP does not come back to Idle, which VERBS.14 judges")
    p.b.send_cq.empty()
    p.b.recv_cq.empty()
    q = Pair(one.qp(), p.b, p.ma, p.mb)
    q.a.idle()
    first = q.a.recv(q.ma.sge(0, 8))
    connect(q.b, q.a, access=only)
    start(q.back(), first)
    denied(t, q, "write", q.mb.remote(0), "7.6.3-01 8.1.2.2-05", "a Write to a QP whose stream before this one permitted it")


_REMOTE = {
    "unknown": "7.3-01", "no-rights": "7.3.2.2-01", "zero": "7.2.1-03", "pd": "7.6.3-02", "before": "7.6.3-04",
    "beyond": "7.6.3-05", "too-long": "7.6.3-04", "wrap": "7.6.3-04", "outside": "7.6.3-04",
}  # fmt: skip
_EVENTS = {
    "write": {"unknown": "8.3.3-03", "zero": "8.1.3.2.1-01", "pd": "8.3.3-05", "before": "8.3.3-04", "beyond": "8.3.3-04",
              "too-long": "8.3.3-04", "outside": "8.3.3-04", "wrap": "8.3.3-06", "no-rights": "7.4.2-03"},
    "read": {"unknown": "8.3.3-08", "zero": "8.3.3-08", "pd": "8.3.3-10", "before": "8.3.3-09", "beyond": "8.3.3-09",
             "too-long": "8.3.3-09", "outside": "8.3.3-09", "wrap": "8.3.3-11", "no-rights": "7.4.2-06"},
}  # fmt: skip


@verbs(31, "Access that names memory wrongly",
       "6.2.2.3-02 6.2.2.3-04..05 6.2.3-02 7.2.1-03 7.3-01 7.3.2.2-01 7.4-02 7.6.3-02 7.6.3-04..05 8.1.3.2.1-01..02 8.3.3-03..06 "
       "8.3.3-08..11", errata="B44 B53 B54 B105",
       variants=product(each("op", list(OPS)), each("fault", [*_REMOTE, "good"])))  # fmt: skip
def named_wrongly(t: Verbs) -> None:
    """No byte is moved, the stream ends, and the target is told; the bytes inside the bounds are served."""
    op, fault = t.params["op"], t.params["fault"]
    if op == "read":
        need_read(t)
    one, other = nodes(t)
    size = 100  # inside one page, and its first and last byte are not at its borders
    if fault == "good":
        p = pair(t, memory=(one.mem(8192), other.mem(12288)))
        for at in (0, 4096 - 32, 8192, 12288 - LENGTH):  # the first, a crossing of pages, the middle, the last
            allowed(t, p, op, p.mb, "7.4-02", at)
        allowed(t, p, op, other.mem(LENGTH), "7.3.2.2-01")
        alive(t)
        return
    p = pair(t)
    message(p, LENGTH, 5)
    if fault == "zero" and not t.iwarp and not unused_key(t, 0):
        t.skip("a region has the number 0, as it may on InfiniBand (B105)")
    part = other.mem(size)
    foreign = {"pd": other.pd_new()}.get(fault)
    ways: dict[str, Callable[[], dict[str, Any]]] = {
        "unknown": lambda: p.mb.remote(0, rkey=unknown(t, p.mb)["lkey"]),
        "no-rights": lambda: other.mem(256, access=(LOCAL_WRITE,)).remote(0),
        "zero": lambda: p.mb.remote(0, rkey=0),
        "pd": lambda: other.mem(256, pd=foreign).remote(0),
        "before": lambda: part.remote(-1),
        "beyond": lambda: part.remote(size - LENGTH + 1),
        "too-long": lambda: part.remote(0),
        "wrap": lambda: {"addr": "fffffffffffffff0", "rkey": part.rkey},
        "outside": lambda: part.remote(1 << 20),
    }
    remote = ways[fault]()
    length = size + 1 if fault == "too-long" else LENGTH
    mems = [m for m in t.account.mems if m.node is other and m is not p.mb]
    denied(t, p, op, remote, _REMOTE[fault], f"a {op} that names memory wrongly ({fault})", event=_EVENTS[op][fault],
           length=length, local=fault in ("zero", "wrap"))  # fmt: skip
    for mem in mems:
        t.require(mem.untouched(), _REMOTE[fault], f"memory that was named wrongly ({fault})", "changed", "as it was")
    if fault == "zero" and t.iwarp:
        mine = t.account.of(p.a, "sq")
        bad = [wr.status for wr in mine if wr.opcode == OPS[op]]
        t.require(SUCCESS not in bad, "8.1.3.2.1-02", f"a {op} to STag zero", bad, "an error at the poster")
    alive(t)


@verbs(32, "Access of length zero with everything wrong", "7.6.3-06 7.10.6.2-04", errata="B33", variants=[
    *product(each("op", list(OPS)), each("by", ["stag", "address", "pd", "rights"])),
    *product(each("op", list(OPS)), each("by", ["window"], {"window": MW})),
])  # fmt: skip
def length_zero(t: Verbs) -> None:
    """It is a success, and the stream goes on."""
    op, by = t.params["op"], t.params["by"]
    if op == "read":
        need_read(t)
    _, other = nodes(t)
    p = pair(t)
    row = "7.6.3-06"
    if by == "window":
        made = other.call("AllocateMw", pd=other.pd, type=2)
        if not returned(made):
            made = other.call("AllocateMw", pd=other.pd, type=1)
        if not returned(made):
            t.lack(f"no window can be allocated: {said(made)}")
        remote, row = {"addr": "0000000000001000", "rkey": made.integer("rkey")}, "7.10.6.2-04"
    else:
        ways: dict[str, Callable[[], dict[str, Any]]] = {
            "stag": lambda: {"addr": "fffffffffffffff0", "rkey": unknown(t, p.mb)["lkey"]},
            "address": lambda: p.mb.remote(1 << 40),
            "pd": lambda: other.mem(64, pd=other.pd_new()).remote(0),
            "rights": lambda: other.mem(64, access=()).remote(0),
        }
        remote = ways[by]()
        if remote["rkey"] == 0:
            remote["rkey"] = unknown(t, p.mb)["lkey"]  # 0 is another row's (8.1.3.2.1-02)
    good(access(p, op, remote, p.ma.sge(0, 0)), row, f"a {op} of length zero with a wrong {by}")
    message(p, LENGTH, 6, row=row)
    alive(t, p)


@verbs(33, "The sink of a Read", "7.4.2-08..09 7.6.3-01", errata="B29 B54 B62", applies=IWARP,
       variants=[*each("length", {"small": 64, "large": 65536}), Variant("qp-off", {"length": 64, "qp": False})])  # fmt: skip
def sink(t: Verbs) -> None:
    """It needs remote write, in the region and in the QP, which is tested when the response comes and not at the post."""
    need_read(t)
    one, _ = nodes(t)
    length = t.params["length"]
    if not t.params.get("qp", True):
        p = pair(t, access=[REMOTE_READ])
        p.a.has_rights([REMOTE_READ])
        [wr] = access(p, "read", p.mb.remote(0))
        ending(t, [wr], "7.6.3-01", "a Read into a sink whose QP has no remote write")
        t.require(wr.status in SINK, "7.6.3-01", "a Read into a sink whose QP has no remote write", wr.status, "an error")
        t.require(p.ma.untouched(), "7.6.3-01", "the sink of a QP without remote write", "changed", "as it was")
        alive(t)
        return
    p = pair(t, 65536)
    p.mb.pattern(9, 0, length)
    into = one.mem(length)
    good([p.a.read(p.mb.remote(0), into.sge())], "6.2.2-04", "a Read that is allowed")
    t.require(into.wrong(9) == 0, "6.2.2-04", "the bytes of a Read that is allowed", "wrong", "those read")
    local = one.mem(length, access=(LOCAL_WRITE,))
    made = p.a.post([{"opcode": "RDMA_READ", "sges": [local.sge()], "remote": p.mb.remote(0)}], must=False)
    t.require(made.whole, "7.4.2-09", "posting a Read into a sink without remote write", made.said, OK)
    ending(t, made.wrs, "7.4.2-08", "a Read into a sink without remote write")
    for wr in made.wrs:
        t.require(wr.status in SINK, "7.4.2-08", "a Read into a sink without remote write", wr.status, " or ".join(sorted(SINK)))
    alive(t)


@verbs(34, "Each bit of an STag", "7.2-02 7.4-03", errata="B32", variants=product(
    each("key", ["rkey", "lkey"]), each("bits", {f"{8 * k}-{8 * k + 7}": range(8 * k, 8 * k + 8) for k in range(4)})))  # fmt: skip
def every_bit(t: Verbs) -> None:
    """An STag with any one bit flipped is refused, unless that is the STag of another region."""
    one, other = nodes(t)
    tried = 0
    for bit in t.params["bits"]:
        p = pair(t, primed=True, size=1024)
        node = one if t.params["key"] == "lkey" else other
        mem = node.mem(256)
        key = (mem.lkey if t.params["key"] == "lkey" else mem.rkey) ^ 1 << bit
        if key == 0 or not unused_key(t, key):
            continue
        tried += 1
        p.ma.write(b"\x77" * LENGTH, 0)
        if t.params["key"] == "lkey":
            mem.write(b"\x77" * LENGTH, 0)
            wrs = access(p, "write", p.mb.remote(0), mem.sge(0, LENGTH, lkey=key))
            t.reap(wrs)
            for wr in wrs:
                t.require(wr.status in LOCAL, "7.4-03", f"a Write with bit {bit} of the lkey flipped", wr.status,
                          " or ".join(sorted(LOCAL)))  # fmt: skip
            reached = p.mb
        else:
            t.reap(access(p, "write", mem.remote(0, rkey=key)))
            reached = mem
        t.wait(t.quiet_us // 10)
        t.require(reached.read(0, LENGTH) == bytes([reached.fill]) * LENGTH, "7.4-03",
                  f"a Write with bit {bit} of the {t.params['key']} flipped", "moved bytes", "nothing moved")  # fmt: skip
    for name, keys in (("rkeys", [m.rkey for m in t.account.mems]), ("lkeys", [m.lkey for m in t.account.mems if t.iwarp])):
        of_one = [key for key, mem in zip(keys, t.account.mems) if mem.node is one]
        t.require(len(set(of_one)) == len(of_one), "7.2-02", f"{name} of the regions of a device", len(set(of_one)), len(of_one))
    if not tried:
        t.lack("each key with one bit flipped is that of another region")
    alive(t)
