"""VERBS.9 to VERBS.14: the states of a QP, what may be posted in each, and the ways between them."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant

from conformance.verbs.steps.account import Wr
from conformance.verbs.steps.declare import CM, IWARP, each, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import FLUSHED
from conformance.verbs.steps.session import (
    OK, REFUSED, Mem, Pair, Qp, alive, connect, flushed, good, has_read, message, nodes, pair, receives, returned, said, settled,
    start,
)  # fmt: skip


def numbered(p: Pair, count: int, seed: int = 40, length: int = 64) -> list[Wr]:
    """Sends of a, each with bytes of its own. The k-th has those of seed + k."""
    for k in range(count):
        p.ma.pattern(seed + k, 64 * k, length)
    return p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(64 * k, length)]} for k in range(count)]).wrs


def in_order(t: Verbs, row: str, mem: Mem, count: int, seed: int = 40, at: int = 0, length: int = 64) -> None:
    """The k-th message is in the k-th buffer."""
    wrong = [k for k in range(count) if mem.wrong(seed + k, at + 64 * k, length)]
    t.require(not wrong, row, "buffers that do not have the message of their place", wrong, "none")


@verbs(9, "Receives posted in Idle", "6.2-02 6.2.1-01 6.2.1-03..04 6.2.2-01 6.2.2-05 8.2.2-08", errata="B18 B52",
       variants=product(each("state", ["as-made", "init"]), each("pause", {"short": 1, "long": 10})))  # fmt: skip
def receives_in_idle(t: Verbs) -> None:
    """They give no WC until the stream is there, and are then used in order, before those posted later. A QP left alone stays."""
    one, other = nodes(t)
    a, b = one.qp(), other.qp(rq_size=32)
    ma, mb = one.mem(2048), other.mem(2048)
    if t.params["state"] == "init" and not b.to("INIT"):
        t.fail("6.2.1.1-01", "a move to INIT", REFUSED, OK)
    before = b.state()
    early = b.post([{"sges": [mb.sge(64 * k, 64)]} for k in range(4)], queue="rq", must=False, row="6.2.1-03")
    if not early.whole and t.params["state"] == "init":
        t.notice("6.2.1-03", "Receives posted in INIT", early.said, OK, "B18")
    b.recv_cq.silent("6.2.1-04", "WCs of a QP in Idle", t.params["pause"] * t.quiet_us)
    p = Pair(a, b, ma, mb)
    connect(a, b, "6.2.1-01" if before not in ("RESET", "INIT", "") else "6.2.1.2-01")
    told = a.state() == "RTS"  # only then is the query evidence (B52)
    t.require(not told or before in ("RESET", "INIT"), "6.2.1-01", "the state of a new QP", before, "RESET or INIT")
    count = len(early.wrs)
    if not count and t.iwarp:
        t.lack("no Receive can be posted before the stream is there, so that nothing can safely be sent")
    late = receives(b, mb, 4, start=64 * count)
    sent = numbered(p, count + 4)
    good(sent + early.wrs + late, "6.2.2-05", "Sends into Receives from before and after the connection")
    in_order(t, "8.2.2-08", mb, count + 4)
    t.wait(t.params["pause"] * t.quiet_us)
    message(p, 64, 9, row="6.2-02", offset=1024)
    more = receives(b, mb, 2, start=1536)
    b.flush()
    if t.iwarp:  # a Send before the end of the stream has arrived may succeed, one behind it may not: the case wants the second
        a.disconnected()
        t.wait(t.quiet_us // 5)
    p.a.post([{"opcode": "SEND", "sges": [ma.sge(0, 64)]}], must=False, row="6.2.3-05")
    flushed(more, "6.2.2-01", "Receives of a QP that has left RTS")
    alive(t)


@verbs(10, "Sends posted in Idle", "6.2.1-02 6.2.1-04 6.2.2-02", errata="B18", variants=each("count", {"one": 1, "four": 4}))
def sends_in_idle(t: Verbs) -> None:
    """They are refused, or silent until the stream is there and then begun first."""
    one, other = nodes(t)
    a, b = one.qp(), other.qp()
    ma, mb = one.mem(2048), other.mem(2048)
    a.idle()
    b.idle()
    count = t.params["count"]
    for k in range(count + 1):
        ma.pattern(40 + k, 64 * k, 64)
    wrs = [{"opcode": "SEND", "sges": [ma.sge(64 * k, 64)]} for k in range(count)]
    early = a.post(wrs, must=False, row="6.2.1-02")
    if early.wrs:
        a.send_cq.silent("6.2.1-04", "WCs of Sends of a QP in Idle")
    got = receives(b, mb, count + 1)
    connect(a, b)
    if len(early.wrs) == count:
        later = a.send(ma.sge(64 * count, 64))
        t.reap([*early.wrs, *got, later])
        if any(not wr.wcs for wr in early.wrs) and not t.iwarp:
            t.notice("6.2.2-02", "Sends that were accepted in Idle", "never begun", "begun in RTS", "B18")
        else:
            good([*early.wrs, *got, later], "6.2.2-02", "Sends that were accepted in Idle")
            in_order(t, "6.2.2-02", mb, count + 1)
    alive(t)


@verbs(11, "Idle to Error to Idle", "6.2.1-02..03 6.2.1-08 6.2.1.3-01..03", variants=each("what", ["receives", "waiting"]))
def idle_error_idle(t: Verbs) -> None:
    """What was posted in Idle is flushed, and WCs that wait keep what they say."""
    one, _ = nodes(t)
    if t.params["what"] == "receives":
        qp, mem = one.qp(), one.mem(512)
        t.require(qp.to("INIT"), "6.2.1.1-01", "a move to INIT", REFUSED, OK)
        wrs = qp.post([{"sges": [mem.sge(64 * k, 64)]} for k in range(6)], queue="rq", row="6.2.1-03").wrs
        sends = qp.post([{"opcode": "SEND", "sges": [mem.sge(0, 8)]}], must=False, row="6.2.1-02").wrs
        call = qp.modify(state="ERR")
        t.require(returned(call), "6.2.1.3-01", "a move from Idle to Error", said(call), OK)
        flushed(wrs, "6.2.1.3-02", "WRs posted in Idle, when the QP goes to Error")
        flushed(sends, "6.2.1.3-02", "Sends accepted in Idle, when the QP goes to Error")
        flushed(wrs, "6.2.1-08", "WRs from before, when the QP goes by Error")
        t.require(qp.reset(), "6.2.4-08", "a move from Error to Idle after the flush", REFUSED, OK)
    else:
        p = pair(t)
        wrs = receives(p.b, p.mb, 6)
        good(numbered(p, 4), "6.2.2-04", "good Sends")
        settled(p)
        p.b.flush()
        t.reap(wrs)
        bad = [wr.status for wr in wrs[:4] if not wr.good]
        t.require(not bad, "6.2.1.3-03", "WCs that waited while the QP went to Error", bad, "success")
        flushed(wrs[4:], "6.2.4-02", "Receives that were outstanding")
    alive(t)


_MOVES = {
    "idle-idle": "6.2.1.1-01", "idle-rts": "6.2.1.2-02", "idle-sqd": "6.2.1-07", "idle-sqe": "6.2.1-06",
    "rts-rts": "6.2.2.1-01", "rts-init": "6.2.2-06", "rts-reset": "6.2.2-07", "rts-err": "6.1.3-09",
    "err-rts": "6.2.4-01", "err-sqd": "6.2.4-01", "err-sqe": "6.2.4-01",
}  # fmt: skip
_ONLY_IWARP = dict.fromkeys(("idle-sqe", "rts-reset", "err-sqe"), IWARP)


@verbs(12, "Moves that are illegal, and those to the same state",
       "6.1.3-09 6.2-01 6.2.1-06..07 6.2.1.1-01 6.2.1.2-02 6.2.2-06..07 6.2.2.1-01 6.2.4-01 8.3.1-01 9.2.5.2-01",
       errata="B50 B51 B52", variants=each("move", list(_MOVES), _ONLY_IWARP))  # fmt: skip
def moves(t: Verbs) -> None:
    """An illegal move is refused and changes nothing; one to the same state is a success and changes nothing."""
    move = t.params["move"]
    begin, _, end = move.partition("-")
    row, legal = _MOVES[move], move in ("idle-idle", "rts-rts")
    if begin == "idle":
        from_idle(t, row, end.upper() if end != "idle" else "INIT", legal)
    elif begin == "err":
        p = pair(t)
        left = receives(p.a, p.ma, 2)
        p.a.flush()
        flushed(left, "6.2.4-02", "Receives of a QP in Error")
        moved = p.a.modify(state=end.upper())
        t.require(not returned(moved), row, f"a move from Error to {end.upper()}", said(moved), REFUSED)
    elif move == "rts-err":
        p = pair(t)
        got = receives(p.b, p.mb, 2)
        t.require(p.a.to("ERR"), "6.2.2.4-01", "a move from RTS to Error", REFUSED, OK)
        late = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 64)]}], must=False, row="6.2.4-06")
        t.reap(got, t.quiet_us)
        t.require(not any(wr.good for wr in got), row, "a Send posted when the move to Error had returned", "delivered", "never")
        flushed(late.wrs, "6.2.4-06", "a Send posted in Error")
    else:
        p = pair(t)
        t.require(p.a.state() == "RTS", "9.2.5.2-01", "the state that the query tells of a connected QP", p.a.state(), "RTS")
        got = receives(p.a, p.ma, 1, start=4096)
        moved = p.a.modify(state=end.upper(), **(p.a.init() if end == "init" else {}))
        if t.require(returned(moved) == legal, row, f"a move from RTS to {end.upper()}", said(moved), OK if legal else REFUSED):
            message(p, 64, 4, row="8.3.1-01")
            sent = p.b.send(p.mb.sge(0, 64))
            good([sent, *got], "6.2-01", "a message after the move")
        else:
            p.a.abandon()
            p.b.abandon()
    alive(t)


def from_idle(t: Verbs, row: str, state: str, legal: bool) -> None:
    """A move of a QP in INIT with a Receive, and the stream that it takes afterwards."""
    one, other = nodes(t)
    a, b = one.qp(), other.qp()
    ma, mb = one.mem(256), other.mem(256)
    t.require(b.to("INIT"), "6.2.1.1-01", "a move to INIT", REFUSED, OK)
    wr = b.recv(mb.sge(0, 8))
    moved = b.modify(state=state, **(b.init() if state == "INIT" else {}))
    if not t.require(returned(moved) == legal, row, f"a move from Idle to {state}", said(moved), OK if legal else REFUSED):
        b.abandon()
        return
    b.recv_cq.silent("6.2-01", "WCs after a move that changes nothing", t.quiet_us // 2)
    connect(a, b, "6.1.3-09" if not legal else row)
    start(Pair(a, b, ma, mb), wr)
    message(Pair(a, b, ma, mb), 64, 4, row="8.3.1-01")


@verbs(13, "Posts in Error and while the QP dies",
       "6.2.2.3-02 6.2.2.4-06 6.2.3-05 6.2.4-02 6.2.4-06 8.2.4-01 9.5.2-01", errata="B16 B51 B52 B80",
       variants=[*product(each("how", ["err", "fault"]), each("queue", ["sq", "rq"])),
                 Variant("kept", {"how": "kept"})])  # fmt: skip
def posts_in_error(t: Verbs) -> None:
    """Each is refused, or accepted and flushed; none is carried out, none is forgotten, and what waits in the CQ stays."""
    p = pair(t)
    how = t.params["how"]
    tells = p.a.state() == "RTS"
    if how == "kept":
        kept(t, p)
        alive(t)
        return
    queue = t.params["queue"]
    outstanding = receives(p.a, p.ma, 4)
    at_b = receives(p.b, p.mb, 4)
    row = "6.2.4-06" if how == "err" else "6.2.3-05"
    if how == "err":
        t.require(p.a.to("ERR"), "6.2.2.4-01", "a move from RTS to Error", REFUSED, OK)
    else:
        bad = p.a.post([{"opcode": "SEND", "sges": [unknown(t, p.ma)]}], must=False)
        if not bad.wrs:
            t.lack("a Send with an unknown STag is refused at once, so that no error begins (B54)")
        t.reap(bad.wrs)  # the error first: what is posted from here on meets a QP that dies (errata.md, 5)
    late = []
    for k in range(12):
        sge = p.ma.sge(64 * k, 64)
        wr = {"opcode": "SEND", "sges": [sge]} if queue == "sq" else {"sges": [sge]}
        late += p.a.post([wr], queue=queue, must=False, row=row).wrs
    flushed(late, row, f"WRs that were accepted in the {queue} of a QP that is in Error")
    flushed(outstanding, "6.2.4-02", "Receives that were outstanding")
    t.require(all(wr.flushed for wr in outstanding), "9.5.2-01", "the status of WRs that were not carried out",
              [wr.status for wr in outstanding], FLUSHED)  # fmt: skip
    t.reap(at_b, t.quiet_us)
    t.require(not any(wr.good for wr in at_b), "6.2.4-06", "a Send posted in Error", "delivered", "never")
    if tells and how == "err":
        t.until(lambda: p.a.state() == "ERR", t.bound_us)
        t.require(p.a.state() == "ERR", "6.2.2.4-06", "the state after Error was entered", p.a.state(), "ERR")
    elif tells:  # Terminate lasts as long as the close does (6.2.3)
        t.require(p.a.state() != "RTS", "6.2.2.3-02", "the state after an error", "RTS", "another than RTS")
    alive(t)


def unknown(t: Verbs, mem: Mem) -> dict[str, Any]:
    """An SGE whose lkey no region of the case has."""
    live = {m.lkey for m in t.account.mems} | {m.rkey for m in t.account.mems}
    lkey = next(key for key in (mem.lkey ^ 0x5A5A5A00 ^ k << 8 for k in range(4096)) if key not in live and key > 255)
    return mem.sge(0, 64, lkey=lkey)


def kept(t: Verbs, p: Pair) -> None:
    """WCs that nobody polled are there after Error, and on iWARP after Idle too."""
    wrs = receives(p.b, p.mb, 6)
    sent = numbered(p, 4)
    good(sent, "6.2.2-04", "good Sends")
    settled(p)
    p.b.flush()
    if t.iwarp:
        t.wait(t.quiet_us // 5)
        if t.until(lambda: p.b.to("RESET"), t.bound_us):
            t.log.append("the QP is back in RESET with its WCs unpolled")
    t.reap(wrs)
    bad = [wr.status for wr in wrs[:4] if not wr.good]
    t.require(not bad, "8.2.4-01", "WCs that nobody polled before the QP left RTS", bad, "success")
    flushed(wrs[4:], "6.2.4-02", "Receives that were outstanding")


@verbs(14, "Error to Idle, and a second stream", "6.2.1-01 6.2.1-05 6.2.1.2-05 6.2.3-08..09 6.2.4-07..09", errata="B51 B52 B80",
       applies=CM, variants=each("when", ["during", "after", "fault"], {"during": IWARP, "fault": IWARP}))  # fmt: skip
def error_idle(t: Verbs) -> None:
    """A move to Idle is refused while the flush goes on and a success after it; the QP then serves a new stream."""
    when = t.params["when"]
    size = nodes(t)[0].room(256 if when == "during" else 16)
    p = pair(t, 20000, rq_size=size)
    tells = p.a.state() == "RTS"
    count = min(size, p.a.size("rq")) - 2
    wrs = receives(p.a, p.ma, count)
    if when == "fault":
        bad = p.a.post([{"opcode": "SEND", "sges": [unknown(t, p.ma)]}], must=False)
        if not bad.wrs:
            t.lack("a Send with an unknown STag is refused at once, so that no error begins (B54)")
        flushed(wrs, "6.2.3-08", "Receives after an error, without a move to Error by the consumer")
        t.reap(bad.wrs)
    else:
        under_way = p.a.post(reading(p, 4), must=False).wrs if when == "after" and has_read(t) else []
        t.require(p.a.to("ERR"), "6.2.2.4-01", "a move from RTS to Error", REFUSED, OK)
        t.reap(under_way)  # done or flushed: no Read of this stream counts in the next one
    if when == "during":
        if t.until(lambda: p.a.to("RESET"), t.bound_us):
            while p.a.recv_cq.poll():
                pass
            missing = sum(not wr.wcs for wr in wrs)
            t.require(not missing, "6.2.4-07", "flushed WCs that were not there when the move to Idle was a success", missing, 0)
    flushed(wrs, "6.2.4-02", "Receives of a QP in Error")
    p.a.send_cq.empty()
    row = "6.2.3-08" if when == "fault" else "6.2.4-08"
    # A reset that only a move to Error makes possible comes too late; in Terminate, which may last, that move is refused (B80).
    back = p.a.reset() or (when == "fault" and not p.a.flush() and p.a.reset(t.close_us))
    if not t.require(back, row, "a move from Error to Idle after the flush", REFUSED, OK):
        alive(t)
        return
    if tells:
        t.require(p.a.state() in ("RESET", "INIT"), "6.2.1-01", "the state after the way back", p.a.state(), "RESET or INIT")
    nothing_of_the_old(t, p)
    second(t, p.a, p.ma, "6.2.3-09" if when == "fault" else "6.2.4-09")
    alive(t)


def reading(p: Pair, count: int) -> list[dict[str, Any]]:
    """Reads of a, of 64 bytes each, into the second KiB of its region."""
    return [{"opcode": "RDMA_READ", "sges": [p.ma.sge(1024 + 64 * k, 64)], "remote": p.mb.remote(64 * k)} for k in range(count)]


def nothing_of_the_old(t: Verbs, p: Pair) -> None:
    """The peer of the stream that is gone reaches nothing."""
    p.ma.write(b"\x33" * 64, 4096)
    p.b.post([{"opcode": "RDMA_WRITE", "sges": [p.mb.sge(64, 64)], "remote": p.ma.remote(4096)}], must=False, row="6.2.3-05")
    t.wait(t.quiet_us)
    t.require(p.ma.read(4096, 64) == b"\x33" * 64, "6.2.1-05", "a Write from the stream that is gone", "landed", "nothing lands")
    if t.iwarp:
        t.require(p.b.disconnected(), "6.2.1-05", "what the peer of a stream that is gone is told", "nothing", "DISCONNECTED")


def second(t: Verbs, a: Qp, ma: Mem, row: str) -> None:
    """A new stream for a QP that had one."""
    _, other = nodes(t)
    b, mb = other.qp(), other.mem(2048)
    q = Pair(a, b, ma, mb)
    b.idle()
    wrs = receives(b, mb, 6)
    connect(a, b, row)
    sent = numbered(q, 4, 60)
    before = len(t.findings)
    good(sent + wrs[:4], row, "the first messages of a second stream")
    in_order(t, "6.2.1.2-05", mb, 4, 60)
    t.reap(wrs[4:], t.quiet_us // 5)
    t.require(not any(wr.wcs for wr in wrs[4:]), "6.2.1.2-05", "messages of the first stream in the second", "some", "none")
    got = a.recv(ma.sge(1024, 64))
    good([b.send(mb.sge(0, 64)), got], row, "a message back on a second stream")
    if has_read(t):
        good(a.post(reading(q, 5), must=False).wrs, row, "Reads on a second stream")
    if len(t.findings) == before:
        t.control("a second stream carried messages both ways")
