"""VERBS.15 and VERBS.16: a stream that is closed while there is work, and one that is cut off."""

from __future__ import annotations

from conformance.verbs.steps.account import Wr
from conformance.verbs.steps.declare import CM, IWARP, each, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import FLUSHED
from conformance.verbs.steps.session import (
    OK, REFUSED, Pair, alive, flushed, heard, has_read, nodes, pair, receives, returned, said, to_idle,
)  # fmt: skip


def outstanding(p: Pair, op: str) -> list[Wr]:
    """Work of a that takes a while: 8 WRs of 64 KiB."""
    size = 65536
    if op == "send":
        p.b.post([{"sges": [p.mb.sge(0, size)], "times": 8}], queue="rq")
        wr = {"opcode": "SEND", "sges": [p.ma.sge(0, size)], "times": 8}
    else:
        name = {"write": "RDMA_WRITE", "read": "RDMA_READ"}[op]
        wr = {"opcode": name, "sges": [p.ma.sge(0, size)], "remote": p.mb.remote(0), "times": 8}
    return p.a.post([wr]).wrs


def each_has_one(t: Verbs, p: Pair, wrs: list[Wr], row: str, what: str) -> None:
    """Each has a WC, if need be after a move to Error by the consumer. How many succeeded is open (B19)."""
    if not t.reap(wrs, t.bound_us):
        t.reap(wrs, p.a.ends_within())
    missing = sum(not wr.wcs for wr in wrs)
    t.require(not missing, row, what, f"{missing} of {len(wrs)} without a WC", "one WC each")


@verbs(15, "Close with work outstanding", "6.2.2.2-03..04 6.2.2.2-07 6.2.5-01..02 6.2.5-04..05", errata="B15 B19 B50 B80",
       applies=f"{IWARP} and {CM}",
       variants=[*product(each("who", ["local", "peer"]), each("op", ["send", "write", "read"])),
                 *product(each("who", ["late"]), each("op", ["send", "recv", "write"]))])  # fmt: skip
def close_with_work(t: Verbs) -> None:
    """Each WR has one WC, the QP can be used again, and what is posted once the close has begun is never carried out."""
    who, op = t.params["who"], t.params["op"]
    if op == "read" and not has_read(t):
        t.skip("the device has no RDMA Read")
    p = pair(t, 65536, rq_size=32)
    if who == "late":
        late_posts(t, p, op)
    else:
        mine = receives(p.a, p.ma, 2)
        wrs = outstanding(p, op)
        call = (p.a if who == "local" else p.b).disconnect()
        t.require(returned(call), "6.2.2.2-07", "rdma_disconnect while there is work", said(call), OK)
        row = "6.2.2.2-07" if who == "local" else "6.2.2.2-03"
        each_has_one(t, p, wrs, row, f"{op} outstanding when the stream was closed ({who})")
        told = t.until(lambda: heard(t, p.a), t.close_us)
        for row in ("6.2.5-04", *(["6.2.2.2-04"] if who == "peer" else [])):
            t.require(told, row, "what the end with work outstanding is told of the close", "nothing", "an event")
        if not t.reap(mine):
            p.a.flush()
        flushed(mine, "6.2.4-02", "Receives when the stream was closed")
        p.a.send_cq.empty()
        t.require(to_idle(t, p.a), "6.2.5-05", "a move to Idle after the close", REFUSED, OK)
    alive(t)


def late_posts(t: Verbs, p: Pair, op: str) -> None:
    """Posts right behind rdma_disconnect of a quiet stream."""
    at_b = receives(p.b, p.mb, 4)
    region = p.mb.read(8192, 64)
    call = p.a.disconnect()
    t.require(returned(call), "6.2.2.2-05", "rdma_disconnect of a quiet QP", said(call), OK)
    late: list[Wr] = []
    for k in range(4):
        sge = p.ma.sge(64 * k, 64)
        wr: dict[str, object] = {
            "send": {"opcode": "SEND", "sges": [sge]}, "recv": {"sges": [sge]},
            "write": {"opcode": "RDMA_WRITE", "sges": [sge], "remote": p.mb.remote(8192)},
        }[op]  # type: ignore[assignment]  # fmt: skip
        late += p.a.post([wr], queue="rq" if op == "recv" else "sq", must=False, row="6.2.5-02").wrs
    if not t.reap(late, t.quiet_us):
        p.a.flush()  # in Idle a late post waits in silence
    t.reap(late)
    t.require(not any(wr.good for wr in late), "6.2.5-02", "WRs posted once the close had begun", [wr.status for wr in late],
              "refused, or flushed")  # fmt: skip
    t.reap(at_b, t.quiet_us)
    t.require(not any(wr.good for wr in at_b), "6.2.5-01", "a Send posted once the close had begun", "delivered", "never")
    t.require(p.mb.read(8192, 64) == region, "6.2.5-01", "a Write posted once the close had begun", "landed", "never")
    p.b.disconnected(t.close_us)
    before = p.ma.read(8192, 64)
    p.b.post([{"opcode": "RDMA_WRITE", "sges": [p.mb.sge(0, 64)], "remote": p.ma.remote(8192)}], must=False, row="6.2.3-05")
    t.wait(t.quiet_us)
    t.require(p.ma.read(8192, 64) == before, "6.2.5-01", "a Write of the peer after its DISCONNECTED", "landed", "never")


@verbs(16, "A stream that is cut off", "6.2.2.4-01..03 6.2.2.4-05..06", errata="B44 B52 B53 B57 B80 B82",
       variants=each("how", ["err", "killed"], {"killed": IWARP}))  # fmt: skip
def cut_off(t: Verbs) -> None:
    """Error by the consumer or by the end of the peer's process: flush, state and what is told. Nothing follows from a Send."""
    if t.params["how"] == "killed" and t.agents < 2:
        t.lack("this needs a process for each end: --agent2")
    nodes(t)
    p = pair(t)
    tells = p.a.state() == "RTS"
    mine, theirs = receives(p.a, p.ma, 4), receives(p.b, p.mb, 4)
    if t.params["how"] == "killed":
        p.a.send(p.ma.sge(0, 64))
        t.kill(1)
        flushed(mine, "6.2.2.4-02", "Receives when the peer's process has ended")
        told = t.until(lambda: heard(t, p.a), t.bound_us)
        t.require(told, "6.2.2.4-05", "what an end is told when the peer's process has ended", "nothing", "an event")
    else:
        call = p.a.modify(state="ERR")
        t.require(returned(call), "6.2.2.4-01", "a move from RTS to Error", said(call), OK)
        flushed(mine, "6.2.2.4-06", "Receives of a QP that was moved to Error")
        if t.iwarp:
            left = flushed(theirs, "6.2.2.4-03", "the peer's Receives when a QP is moved to Error")
            t.require(p.b.disconnected(), "6.2.2.4-03", "what the peer of a QP in Error is told", "nothing", "DISCONNECTED")
            # To that end it is a failure of the LLP. The first look has moved what stays to Error.
            t.require(left, "6.2.2.4-02", "Receives of a QP whose stream was reset", "not flushed by the reset", FLUSHED)
            told = heard(t, p.b)
            t.require(told, "6.2.2.4-05", "what an end is told whose stream was reset", "nothing", "an event")
    if tells and t.params["how"] == "err":
        t.until(lambda: p.a.state() == "ERR", t.bound_us)
        t.require(p.a.state() == "ERR", "6.2.2.4-06", "the state when the stream was cut off", p.a.state(), "ERR")
    elif tells:  # the peer's host may have closed in good order, after which Idle is right (B82)
        t.require(p.a.state() != "RTS", "6.2.2.4-02", "the state when the peer's process has ended", "RTS", "another than RTS")
    alive(t)
