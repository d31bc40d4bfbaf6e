"""VERBS.63, 87, 88 and 95: objects that come and go, processes that end, and bystanders that do not notice."""

from __future__ import annotations

from typing import Any, Callable, Optional

from conformance.verbs.cases.objects import success
from conformance.verbs.cases.states import unknown
from conformance.verbs.steps.declare import MW, SRQ, each, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.session import (
    ALL, OK, Node, Pair, Qp, alive, connect, good, hex64, message, nodes, pair, receives, returned, said, start,
)  # fmt: skip
from conformance.verbs.steps.windows import kind

_KILLS, _CLOSES, _IDLE = 5, 50, 16
_QPS, _CQS, _MRS, _MWS, _SRQS, _CONNECTED = 500, 1000, 3000, 1000, 200, 60
_HOSTILE = 12


def made(t: Verbs, node: Node) -> dict[str, int]:
    """Some of each kind of object at this end, how many of each there were."""
    counts = {"pd": 0, "cq": 0, "qp": 0, "mr": 0, "srq": 0}
    raw = node.raw(4096)
    pd, cq = node.pd, None  # a device may have no other PD (5.1.3)
    for _ in range(4):
        call = node.call("AllocatePd", rnic=node.rnic)
        if returned(call):
            counts["pd"], pd = counts["pd"] + 1, call.integer("pd")
    for _ in range(8):
        call = node.call("CreateCq", rnic=node.rnic, entries=16)
        if returned(call):
            counts["cq"], cq = counts["cq"] + 1, call.integer("cq")
    for _ in range(8) if cq is not None else ():
        params = {"send_cq": cq, "recv_cq": cq, "sq_size": 4, "rq_size": 4, "sq_sges": 1, "rq_sges": 1}
        counts["qp"] += node.ok("CreateQp", pd=pd, **params)
        counts["mr"] += node.ok("RegisterMr", pd=pd, mem=raw, offset=0, length=4096, access=list(ALL))
    if t.pics["srq"]:
        for _ in range(2):
            counts["srq"] += node.ok("CreateSrq", pd=pd, size=8, sges=1)
    return counts


@verbs(63, "Resources come back", "5.1.4-01..02 10.4.1-01", errata="B45", variants=each("how", ["killed", "idle-killed", "closed"]))
def come_back(t: Verbs) -> None:
    """When a process has ended, or a device is closed with nothing left on it, what it had can be had again."""
    how = t.params["how"]
    if how == "closed":
        closed(t)
        alive(t)
        return
    rows = ["5.1.4-01", *(["10.4.1-01"] if how == "idle-killed" else [])]
    first: Optional[dict[str, int]] = None
    for number in range(_KILLS):
        one, other = nodes(t)
        held = idle(t, one, other) if how == "idle-killed" else []
        worked = made(t, other)
        if first is None:
            first = worked
        else:
            enough = all(worked[name] >= first[name] for name in first)
            for row in rows:
                t.require(enough, row, f"objects of each kind after process {number} has ended", worked, first)
        t.kill(1)
        for qp in held if t.agents == 2 else ():
            qp.destroy()  # the other process goes on, and what it has is not given back
    nodes(t)
    alive(t)


def idle(t: Verbs, one: Node, other: Node) -> list[Qp]:
    """Connections that do nothing; their ends in the process that is not killed."""
    mine, theirs = one.cq(), other.cq()
    held: list[Qp] = []
    for _ in range(_IDLE):
        a, b = one.qp(cq=mine, sq_size=2, rq_size=2), other.qp(cq=theirs, sq_size=2, rq_size=2)
        connect(a, b)
        held.append(a)
    return held


def closed(t: Verbs) -> None:
    """Opened, used and closed, over and over."""
    _, other = nodes(t)
    for number in range(_CLOSES):
        opened = other.end.call("verbs.OpenRnic", device=other.end.device)
        t.require(returned(opened), "5.1.4-02", f"opening the device for the time {number + 1}", said(opened), OK)
        if not returned(opened):
            return
        rnic = opened.integer("rnic")
        steps: list[tuple[str, str, dict[str, Any]]] = [
            ("AllocatePd", "pd", {"rnic": rnic}), ("CreateCq", "cq", {"rnic": rnic, "entries": 16}),
        ]  # fmt: skip
        held: dict[str, int] = {}
        for method, name, params in steps:
            held[name] = _one(t, other, method, name, params, number)
        sizes = {"sq_size": 4, "rq_size": 4, "sq_sges": 1, "rq_sges": 1}
        of = {"pd": held["pd"], "send_cq": held["cq"], "recv_cq": held["cq"], **sizes}
        held["qp"] = _one(t, other, "CreateQp", "qp", of, number)
        for method, name in (("DestroyQp", "qp"), ("DestroyCq", "cq"), ("DeallocatePd", "pd")):
            success(t, "5.1.4-02", f"{method} in round {number + 1}", other.call(method, **{name: held[name]}))
        success(t, "5.1.4-02", f"closing the device in round {number + 1}", other.call("CloseRnic", rnic=rnic))


def _one(t: Verbs, node: Node, method: str, name: str, params: dict[str, Any], number: int) -> int:
    call = node.call(method, **params)
    if number == 0 and not returned(call) and node.no_room(call):
        t.lack(f"the provider has no room beside what the case has: {method}")
    if not returned(call):
        t.fail("5.1.4-02", f"{method} in round {number + 1}", said(call), OK)
    return call.integer(name)


@verbs(87, "Objects in rounds", "5.3.4-04 6.1.1-06 6.1.4-01 6.3.3-03 7.9-06", errata="B42",
       variants=each("what", ["cq", "qp", "connected", "numbers", "mr", "mw", "srq"], {"mw": MW, "srq": SRQ}))  # fmt: skip
def rounds(t: Verbs) -> None:
    """What is destroyed gives its room back, and no two QPs have one number."""
    _, other = nodes(t)
    what = t.params["what"]
    if what == "numbers":
        cq, seen = other.cq(), []
        for _ in range(min(64, other.attr("max_qp"))):
            call = other.qp_call(send_cq=cq, recv_cq=cq, sq_size=1, rq_size=1)
            if not returned(call):
                break
            seen.append((call.integer("qp"), call.integer("qp_num")))
        different = len({number for _, number in seen})
        t.require(different == len(seen), "6.1.1-06", f"numbers of {len(seen)} QPs", f"{different} different", "all different")
        for qp, _ in seen:
            success(t, "6.1.4-01", "destroying a QP", other.call("DestroyQp", qp=qp))
    elif what == "connected":
        for number in range(_CONNECTED):
            one_round(t, number)
    else:
        raw, cq = other.raw(4096), other.cq()
        ways: dict[str, tuple[int, str, Callable[[], Any], str]] = {
            "cq": (_CQS, "5.3.4-04", lambda: other.call("CreateCq", rnic=other.rnic, entries=_large(other)), "DestroyCq"),
            "qp": (_QPS, "6.1.4-01", lambda: other.qp_call(send_cq=cq, recv_cq=cq), "DestroyQp"),
            "mr": (_MRS, "7.9-06", lambda: other.register_call(raw, 0, 4096), "DeregisterMr"),
            "mw": (_MWS, "7.9-06", lambda: other.call("AllocateMw", pd=other.pd, type=kind(t)), "DeallocateMw"),
            "srq": (_SRQS, "6.3.3-03", lambda: _full_srq(other, raw), "DestroySrq"),
        }  # fmt: skip
        times, row, make, end = ways[what]
        for number in range(times):
            call = make()
            if not t.require(returned(call), row, f"{call.method} in round {number + 1}", said(call), OK):
                break
            gone = other.call(end, **{what: call.integer(what)})
            if not t.require(returned(gone), row, f"{end} in round {number + 1}", said(gone), OK):
                break
    alive(t)


def _large(node: Node) -> int:
    """Entries of a CQ near to what is granted."""
    return max(16, min(node.attr("max_cqe"), 4096) // 2)


def _full_srq(node: Node, raw: int) -> Any:
    """An SRQ with Receives on it."""
    call = node.call("CreateSrq", pd=node.pd, size=16, sges=1)
    if returned(call):
        mem = node.t.account.mems[0] if node.t.account.mems else node.mem(64)
        wr = {"wr_id": "0000000000000001", "sges": [mem.sge()], "times": 16}
        node.call("PostSrq", srq=call.integer("srq"), wrs=[wr])
    return call


def one_round(t: Verbs, number: int) -> None:
    """Made, connected, used and destroyed."""
    one, other = nodes(t)
    cqs = one.cq(64), other.cq(64)
    a, b = one.qp(cq=cqs[0], row="6.1.4-01"), other.qp(cq=cqs[1], row="6.1.4-01")
    mems = [m for m in t.account.mems if m.length == 512]
    ma, mb = (mems[0], mems[1]) if len(mems) > 1 else (one.mem(512), other.mem(512))
    p = Pair(a, b, ma, mb)
    b.idle()
    first = b.recv(mb.sge(0, 8))
    connect(a, b, "6.1.4-01")
    start(p, first)
    message(p, 64, number % 200, row="6.1.4-01")
    for qp in (a, b):
        success(t, "6.1.4-01", f"destroying a QP in round {number + 1}", qp.destroy())
    for cq in cqs:
        cq.empty()
        success(t, "5.3.4-04", f"destroying a CQ in round {number + 1}", cq.destroy())


@verbs(88, "A QP destroyed with WRs on it", "6.1.4-02 6.1.4-08..09", errata="B42",
       variants=each("work", ["receives", "sends", "both"]))  # fmt: skip
def with_work(t: Verbs) -> None:
    """It is gone when the call returns: no further WC, no byte. A QP that shares its CQ keeps its WCs."""
    work = t.params["work"]
    cq = nodes(t)[1].cq()
    p, q = shared(t, cq), shared(t, cq)
    if work != "sends":
        receives(p.b, p.mb, 8, length=64, start=1024)
    if work != "receives":
        p.b.post([{"opcode": "RDMA_WRITE", "sges": [p.mb.sge(2048, 64)], "remote": p.ma.remote(4096), "times": 8}])
    waiting = receives(q.b, q.mb, 4, start=1024)
    sent = [q.a.send(q.ma.sge(0, 64)) for _ in range(4)]
    gone = p.b.destroy()
    success(t, "6.1.4-08", f"destroying a QP with WRs outstanding ({work})", gone)
    if not returned(gone):
        alive(t)
        return
    number = p.b.qp_num
    good([*sent, *waiting], "6.1.4-09", "the transfers of a QP whose CQ a destroyed one had as well")
    message(q, 64, 8, row="6.1.4-09")  # what stood in the CQ at the end of the call comes before, however late a poll tells it
    p.mb.write(b"\xc3" * 512, 1024)
    p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 64)]}] * 4, must=False)
    late = cq.poll(1, t.quiet_us)
    t.require(not [wc for wc in late if wc.qp_num == number], "6.1.4-02", "a WC of a QP that was destroyed",
              ", ".join(map(str, late)), "none")  # fmt: skip
    t.require(p.mb.read(1024, 512) == b"\xc3" * 512, "6.1.4-02", "the memory of its Receives", "changed", "as it was filled")
    message(q, 64, 9, row="6.1.4-09")
    alive(t)


def shared(t: Verbs, cq: Any) -> Pair:
    """A pair whose far end has this CQ."""
    one, other = nodes(t)
    p = Pair(one.qp(), other.qp(cq=cq), one.mem(8192), other.mem(8192))
    p.b.idle()
    first = p.b.recv(p.mb.sge(0, 8))
    connect(p.a, p.b)
    start(p, first)
    return p


@verbs(95, "Bystanders", "5.3.4-03 6.1.4-07 10-01..02 10.4.1-01", errata="B21 B22 B102", variants=each("what", [
    "bad-rkeys", "too-long", "floods", "drops", "idle", "bad-lkeys", "overrun", "killed"]))  # fmt: skip
def bystanders(t: Verbs) -> None:
    """What a hostile peer or a faulty process of this host does to its own QPs touches no QP of others."""
    what = t.params["what"]
    if what == "killed" and t.agents < 2:
        t.lack("this needs a process for each end: --agent2")
    one, other = nodes(t)
    row = "10-02" if what in ("bad-lkeys", "overrun", "killed") else "10-01"
    if what == "killed":
        own = pair(t, ends=(one, one))
        pair(t)
        t.kill(1)
        nodes(t)
        message(own, 64, 1, row=row)
        alive(t)
        return
    by = apart(t)
    loop = looping(t, by) if t.pics["threads"] else None
    for number in range(_HOSTILE if what != "overrun" else 2):
        attack(t, what, number)
        if not unharmed(t, by, number, row) or t.events(by.a.end, by.a.qp) or t.events(by.b.end, by.b.qp):
            t.require(not t.events(by.b.end, by.b.qp), row, "asynchronous errors of a bystander", "some", "none")
            break
    if loop is not None:
        ended = by.a.node.end.call("agent.stop", loop=loop).result()
        t.require(ended.get("status") is None, row, "the transfers of a bystander", ended.get("status"), "success each")
    alive(t)


def unharmed(t: Verbs, by: Pair, seed: int, row: str) -> bool:
    """A message of the bystander. It may be late, as both share a link and a processor (B102)."""
    got = by.b.recv(by.mb.sge(0, 64))
    by.ma.pattern(seed, 0, 64)
    sent = by.a.send(by.ma.sge(0, 64))
    if not t.reap([sent, got]) and t.reap([sent, got], t.close_us):
        t.notice(row, "a message of a bystander", f"over {t.bound_us} us", "sooner", "B102")
    held = good([sent, got], row, "a message of a bystander")
    return t.require(by.mb.wrong(seed, 0, 64) == 0, row, "the bytes of a bystander's message", "wrong", "those sent") and held


def apart(t: Verbs) -> Pair:
    """The bystander: PDs and CQs of its own at both ends."""
    one, other = nodes(t)
    pds = one.pd_new(), other.pd_new()
    p = Pair(one.qp(pd=pds[0], sq_size=32), other.qp(pd=pds[1]), one.mem(8192, pd=pds[0]), other.mem(8192, pd=pds[1]))
    p.b.idle()
    first = p.b.recv(p.mb.sge(0, 8))
    connect(p.a, p.b)
    start(p, first)
    return p


def looping(t: Verbs, by: Pair) -> int:
    """Writes of another pair of bystanders all the time, whose WCs the agent polls."""
    p = apart(t)
    first = t.account.ids(1)
    t.account.foreign.add(first)
    wr = {"wr_id": hex64(first), "opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 64)], "remote": p.mb.remote(64),
          "flags": ["SIGNALED"]}  # fmt: skip
    node = by.a.node
    return node.end.call("agent.loop", qp=p.a.qp, cq=p.a.send_cq.cq, wr=wr, times=0, Timeout=t.bound_us).integer("loop")


def attack(t: Verbs, what: str, number: int) -> None:
    """One round of it, on a pair of its own that does not survive."""
    one, other = nodes(t)
    if what == "idle":
        cqs = one.cq(16), other.cq(16)
        ends = [(one.qp(cq=cqs[0], sq_size=2, rq_size=2), other.qp(cq=cqs[1], sq_size=2, rq_size=2)) for _ in range(4)]
        for a, b in ends:
            connect(a, b)
        for a, b in ends:
            for qp in (a, b):
                gone = qp.destroy()
                for row in ("6.1.4-07", "10.4.1-01"):
                    success(t, row, "destroying a QP with a connection that did nothing", gone)
        for cq in cqs:
            success(t, "5.3.4-03", "destroying its CQ", cq.destroy())
        return
    p = overrun(t) if what == "overrun" else pair(t)
    wr: dict[str, Any] = {"opcode": "SEND", "sges": [p.ma.sge(0, 64)]}
    if what == "bad-rkeys":
        wr = {"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 64)], "remote": p.mb.remote(0, rkey=unknown(t, p.mb)["lkey"])}
    elif what == "too-long":
        p.b.recv(p.mb.sge(0, 16))
    elif what == "floods":
        wr["times"] = 8
    elif what == "bad-lkeys":
        wr["sges"] = [unknown(t, p.ma)]
    if what == "drops":
        p.a.post([{**wr, "opcode": "RDMA_WRITE", "remote": p.mb.remote(0), "times": 8}], must=False)
    elif what != "overrun":
        made_ = p.a.post([wr], must=False)
        t.reap(made_.wrs, t.quiet_us // 2)
    for qp in (p.a, p.b):
        qp.destroy()
        qp.send_cq.empty()
        if what != "overrun":
            qp.recv_cq.empty()
            for cq in (qp.send_cq, qp.recv_cq):
                cq.destroy()


def overrun(t: Verbs) -> Pair:
    """A QP whose CQ gets more WCs than it holds: what becomes of the two is open (B22)."""
    one, other = nodes(t)
    cq = other.cq(4)
    count = min(2 * cq.entries, other.attr("max_qp_wr"), 128)
    p = Pair(one.qp(sq_size=count), other.qp(recv_cq=cq, rq_size=count), one.mem(256), other.mem(256))
    cq.gone = True  # whatever it holds is not polled
    p.b.idle()
    p.b.post([{"sges": [p.mb.sge(0, 64)], "times": count}], queue="rq")
    connect(p.a, p.b)
    wrs = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 64)], "times": count}], must=False).wrs
    t.reap(wrs, t.quiet_us)
    return p
