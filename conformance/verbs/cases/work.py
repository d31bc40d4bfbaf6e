"""VERBS.17 to VERBS.20: work in its order, work behind an error, work that tells nothing, and queues that are full."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant

from conformance.verbs.cases.states import unknown
from conformance.verbs.steps.account import Wr
from conformance.verbs.steps.declare import each, pairwise, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import FLUSHED, LOCAL, SUCCESS
from conformance.verbs.steps.session import (
    OK, REFUSED, Pair, alive, connect, ending, flushed, good, has_read, nodes, pair, receives, returned, said,
    settled,
)  # fmt: skip

SLOT = 64


@verbs(17, "Numbered Sends, Writes and Reads", "6.2.2-03 6.2.2-04 8.1.2.1-01 8.2.2-01..02 8.2.2-08 9.5.2-02",
       variants=pairwise(each("cq", ["two", "one"]), each("post", ["single", "list"]), each("length", {"small": 16, "large": 4096}),
                         each("receives", ["before", "between"])))  # fmt: skip
def mixture(t: Verbs) -> None:
    """Sends arrive in their order and with the bytes of the Writes before them; WCs come in the order of posting."""
    rounds, length = 16, t.params["length"]
    size = 2 * rounds * max(length, SLOT)
    one, _ = nodes(t)
    p = pair(t, size, sq_size=64, rq_size=64) if t.params["cq"] == "two" else shared(t, size)
    slot = max(length, SLOT)
    for k in range(rounds):
        p.ma.pattern(100 + k, k * slot, length)
    half = rounds // 2 if t.params["receives"] == "between" else rounds
    got = receives(p.b, p.mb, half, length=length, start=0)
    wrs: list[dict[str, Any]] = []
    sink = one.mem(rounds * slot)
    reads = has_read(t)
    for k in range(rounds):
        wrs.append({"opcode": "RDMA_WRITE", "sges": [p.ma.sge(k * slot, length)], "remote": p.mb.remote(rounds * slot + k * slot)})
        wrs.append({"opcode": "SEND", "sges": [p.ma.sge(k * slot, length)]})
        if reads:
            wrs.append({"opcode": "RDMA_READ", "sges": [sink.sge(k * slot, length)],
                        "remote": p.mb.remote(rounds * slot + k * slot)})  # fmt: skip
    sent: list[Wr] = []
    step = len(wrs) // rounds
    for k in range(rounds):
        if k == half:
            t.reap(got)
            got += receives(p.b, p.mb, rounds - half + 2, length=length, start=half * length)
        part = wrs[k * step : (k + 1) * step]
        if t.params["post"] == "list":
            sent += p.a.post(part).wrs
        else:
            sent += [p.a.post([wr]).wrs[0] for wr in part]
    left = got[rounds:] if half < rounds else receives(p.b, p.mb, 2, length=length, start=rounds * length)
    good(sent, "9.5.2-02", "Sends, Writes and Reads of a stream without errors")
    good(got[:rounds], "6.2.2-04", "Receives of a stream without errors")
    wrong = [k for k in range(rounds) if p.mb.wrong(100 + k, k * length, length)]
    t.require(not wrong, "8.2.2-08", "Receives that do not have the message of their place", wrong, "none")
    t.require(not wrong, "6.2.2-03", "Sends that arrived in another place", wrong, "none")
    t.require(not wrong, "9.5.2-02", "Sends that succeeded and whose bytes are not those sent", wrong, "none")
    wrong = [k for k in range(rounds) if p.mb.wrong(100 + k, (rounds + k) * slot, length)]
    for row in ("8.2.2-01", "9.5.2-02"):
        t.require(not wrong, row, "Writes whose bytes are not there when the Send behind them has arrived", wrong, "none")
    if reads:
        wrong = [k for k in range(rounds) if sink.wrong(100 + k, k * slot, length)]
        for row in ("6.2.2-04", "9.5.2-02"):
            t.require(not wrong, row, "Reads that did not bring what was written before them", wrong, "none")
    settled(p)
    p.b.recv_cq.empty()
    t.require(not any(wr.wcs for wr in left), "8.1.2.1-01", "Receives that no Send was for", [w.status for w in left], "unused")
    alive(t)


def shared(t: Verbs, size: int) -> Pair:
    """A pair whose QPs have one CQ each, for both queues."""
    one, other = nodes(t)
    a = one.qp(cq=one.cq(), sq_size=64, rq_size=64)
    b = other.qp(cq=other.cq(), sq_size=64, rq_size=64)
    p = Pair(a, b, one.mem(size), other.mem(size))
    b.idle()
    first = b.recv(p.mb.sge(0, 8))
    connect(a, b)
    sent = a.send(p.ma.sge(0, 8))
    good([sent, first], "6.2.1.2-03", "the first message of a stream")
    return p


@verbs(18, "An error in front, in the middle and at the end",
       "6.1.1-05 6.2.2.3-02..03 6.2.3-01..04 6.2.3-07 6.2.4-03..04 8.3.2-01..02", errata="B14 B15 B54 B59 B69 B80",
       variants=product(each("queue", ["sq", "rq"]), each("place", {"front": 0, "middle": 4, "end": 7})))  # fmt: skip
def error_in_a_queue(t: Verbs) -> None:
    """One WC tells the error. WRs ahead succeed or are flushed, those behind are flushed, and nothing of them is carried out."""
    place = t.params["place"]
    p = pair(t)
    (in_the_sq if t.params["queue"] == "sq" else in_the_rq)(t, p, place)
    alive(t)


def in_the_sq(t: Verbs, p: Pair, place: int) -> None:
    """Eight Sends in a list, one of them from memory that is not registered."""
    for k in range(8):
        p.ma.pattern(20 + k, SLOT * k, SLOT)
    got = receives(p.b, p.mb, 10)
    mine = receives(p.a, p.ma, 2, start=4096)
    wrs = [{"opcode": "SEND", "sges": [p.ma.sge(SLOT * k, SLOT) if k != place else unknown(t, p.ma)]} for k in range(8)]
    made = p.a.post(wrs, must=False, row="8.1.3.1-04")
    if len(made.wrs) <= place:  # refused at once, which harms nobody (B54): then it is a list that ended there
        t.require(len(made.wrs) == place, "8.2.1-04", "WRs accepted before the one that was refused", len(made.wrs), place)
        good(made.wrs, "8.2.1-04", "Sends in front of one that was refused")
        return
    began = t.now_us
    t.reap([made.wrs[place]])
    bad = made.wrs[place]
    t.require(bad.status in LOCAL, "6.2.2.3-03", "the Send from memory that is not registered", bad.status,
              " or ".join(sorted(LOCAL)))  # fmt: skip
    t.require(bool(bad.wcs) and bad.status != SUCCESS, "8.3.2-01", "the WC of a faulty Send", bad.status, "an error")
    around(t, made.wrs, place)
    flushed(mine, "6.2.2.3-02", "Receives of the QP with the error")
    limit = t.close_us + 4 * t.bound_us
    done = t.reap([*made.wrs, *mine], max(0, limit - (t.now_us - began)))
    took = t.now_us - began
    t.require(done, "6.2.3-04", "time until all is flushed", f"over {limit} us", f"{t.close_us} us")
    if done and took > 2 * t.bound_us:
        t.notice("6.2.3-04", "time until all is flushed", f"{took} us", f"{t.bound_us} us", "B80")
    t.reap(got, t.quiet_us)
    arrived = [k for k, wr in enumerate(got) if wr.good]
    t.require(len(arrived) <= place, "6.2.3-01", "Sends that arrived though they stand at or behind the error", len(arrived),
              f"{place} at most")  # fmt: skip
    wrong = [k for k in arrived if p.mb.wrong(20 + k, SLOT * k, SLOT)]
    t.require(not wrong, "6.2.3-01", "messages that are not those ahead of the error", wrong, "none")
    after(t, p, got)


def around(t: Verbs, wrs: list[Wr], place: int) -> None:
    """The WRs ahead of and behind the failing one."""
    t.reap(wrs)
    ahead = [wr.status for wr in wrs[:place] if wr.status not in (SUCCESS, FLUSHED)]
    t.require(not ahead, "6.2.4-03", "WRs in front of the failing one", ahead, "success or flushed")
    behind = [wr.status for wr in wrs[place + 1 :] if wr.wcs and wr.status != FLUSHED]
    t.require(not behind, "8.3.2-02", "WRs behind the failing one", behind, FLUSHED)


def after(t: Verbs, p: Pair, theirs: list[Wr]) -> None:
    """What the other end, and whoever listens for events, is told (iWARP)."""
    if t.iwarp:
        flushed(theirs, "6.2.3-02", "the peer's Receives", also=(SUCCESS,))
        told = p.a.disconnected() or p.b.disconnected()
        t.require(told, "6.2.3-03", "the end of the stream", "told to nobody", "DISCONNECTED at an end")
        events = p.a.told()
        t.require(not events, "6.2.3-07", "asynchronous events besides the WC of the error", [e.event for e in events], "none")


def in_the_rq(t: Verbs, p: Pair, place: int) -> None:
    """Eight Receives, one of them into memory that is not registered, and a message for each."""
    wrs = [{"sges": [p.mb.sge(SLOT * k, SLOT) if k != place else unknown(t, p.mb)]} for k in range(8)]
    theirs = receives(p.a, p.ma, 2, start=4096)
    made = p.b.post(wrs, queue="rq", must=False)
    if len(made.wrs) <= place:
        t.notice("6.2.2.3-03", "a Receive into memory that is not registered", made.said, "a Completion Error", "B54")
        return
    for k in range(place + 1):
        p.ma.pattern(20 + k, SLOT * k, SLOT)
        sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(SLOT * k, SLOT)]}], must=False)
        t.reap(sent.wrs, t.quiet_us)
    bad = made.wrs[place]
    t.reap([bad])
    t.require(bad.status in LOCAL, "6.2.2.3-03", "the Receive into memory that is not registered", bad.status,
              " or ".join(sorted(LOCAL)))  # fmt: skip
    t.require(bool(bad.wcs) and bad.status != SUCCESS, "8.3.2-01", "the WC of a faulty Receive", bad.status, "an error")
    around(t, made.wrs, place)
    flushed(made.wrs[place + 1 :], "6.2.2.3-02", "Receives behind the failing one")
    wrong = [k for k in range(place) if made.wrs[k].good and p.mb.wrong(20 + k, SLOT * k, SLOT)]
    t.require(not wrong, "8.2.2-08", "messages in front of the failing one", wrong, "those sent")
    late = p.b.post([{"sges": [p.mb.sge(0, 8)]}], queue="rq", must=False, row="6.2.4-06")
    flushed(late.wrs, "8.3.2-02", "a Receive posted behind the error")
    if t.iwarp:
        flushed(theirs, "6.2.3-02", "the peer's Receives")
        told = p.a.disconnected() or p.b.disconnected()
        t.require(told, "6.2.3-03", "the end of the stream", "told to nobody", "DISCONNECTED at an end")
        events = p.b.told()
        t.require(not events, "6.2.3-07", "asynchronous events besides the WC of the error", [e.event for e in events], "none")


def quiet_wr(p: Pair, op: str, k: int, bad: Any = None) -> dict[str, Any]:
    """An unsignaled Send, Write or Read of 64 bytes; bad: its SGE."""
    sge = bad if bad is not None else p.ma.sge(SLOT * k, SLOT)
    remote = {} if op == "SEND" else {"remote": p.mb.remote(4096 + SLOT * k)}
    return {"opcode": op, "sges": [sge], "flags": [], **remote}


_OPS = {"send": "SEND", "write": "RDMA_WRITE", "read": "RDMA_READ"}


@verbs(19, "Unsignaled WRs", "8.1.3.1-01..05 8.2.4-05", variants=[
    *product(each("what", ["success"]), each("op", _OPS)),
    *product(each("what", ["error", "behind"]), each("op", {"send": "SEND", "write": "RDMA_WRITE"})),
    Variant("resources", {"what": "resources", "op": "RDMA_WRITE"}),
    *product(each("what", ["all"]), each("op", _OPS)),
])  # fmt: skip
def unsignaled(t: Verbs) -> None:
    """A success tells nothing; an error and every flush behind it do; and they give their room back."""
    what, op = t.params["what"], t.params["op"]
    if op == "RDMA_READ" and not has_read(t):
        t.skip("the device has no RDMA Read")
    if what == "all":
        none_is_quiet(t, op)
    else:
        p = pair(t, sq_size=32, rq_size=32)
        {"success": quiet_success, "error": quiet_error, "behind": quiet_behind, "resources": quiet_resources}[what](t, p, op)
    alive(t)


def quiet_success(t: Verbs, p: Pair, op: str) -> None:
    """Seven unsignaled ones with a signaled one in the middle and at the end."""
    got = receives(p.b, p.mb, 9) if op == "SEND" else []
    wrs = [quiet_wr(p, op, k) for k in range(9)]
    wrs[4]["flags"] = wrs[8]["flags"] = ["SIGNALED"]
    made = p.a.post(wrs).wrs
    good([made[4], made[8]], "8.2.4-05", "signaled WRs among unsignaled ones")
    good(got, "8.1.3.1-02", "Receives of unsignaled Sends")
    p.a.send_cq.silent("8.1.3.1-01", "WCs beside those of the signaled WRs", t.quiet_us // 2)


def quiet_error(t: Verbs, p: Pair, op: str) -> None:
    """The error of an unsignaled WR."""
    made = p.a.post([quiet_wr(p, op, 0, unknown(t, p.ma))], must=False)
    if made.wrs:
        t.reap(made.wrs)
        t.require(made.wrs[0].status in LOCAL, "8.1.3.1-03", "the WC of an unsignaled WR with an error", made.wrs[0].status,
                  " or ".join(sorted(LOCAL)))  # fmt: skip


def quiet_behind(t: Verbs, p: Pair, op: str) -> None:
    """Five unsignaled WRs behind one that fails."""
    wrs = [quiet_wr(p, op, 0, unknown(t, p.ma)), *(quiet_wr(p, op, k) for k in range(1, 6))]
    wrs[0]["flags"] = ["SIGNALED"]
    made = p.a.post(wrs, must=False).wrs
    if len(made) > 1:
        ending(t, made, "8.1.3.1-04", "unsignaled WRs behind one that failed")
        missing = [wr.status for wr in made[1:] if not wr.flushed]
        t.require(not missing, "8.1.3.1-04", "unsignaled WRs behind one that failed",
                  f"{len(missing)} of {len(made) - 1}: {missing}", FLUSHED)  # fmt: skip


def quiet_resources(t: Verbs, p: Pair, op: str) -> None:
    """Ten times what the queue takes, every eighth signaled and polled."""
    rounds = min(10 * p.a.size("sq") // 8 + 1, 160)
    for turn in range(rounds):
        wrs = [quiet_wr(p, op, k) for k in range(8)]
        wrs[7]["flags"] = ["SIGNALED"]
        made = p.a.post(wrs, must=False)
        if not t.require(made.whole, "8.1.3.1-05", f"8 WRs in round {turn} of unsignaled work", made.said, "accepted"):
            return
        if not good(made.wrs[7:], "8.1.3.1-05", "the signaled WR of a round"):
            return


def none_is_quiet(t: Verbs, op: str) -> None:
    """Each WR of a QP that was made with sq_sig_all is signaled, whatever its flags. The text has no such QP: it may be refused."""
    one, _ = nodes(t)
    tried = one.qp_call(send_cq=one.cq(), recv_cq=one.cq(), srq=None, signal_all=True)
    if not returned(tried):
        t.skip(f"the device has no QP whose WRs are all signaled: {said(tried)}")
    one.call("DestroyQp", qp=tried.integer("qp"))
    p = pair(t, sq_size=32, rq_size=32, signal_all=True)
    got = receives(p.b, p.mb, 9) if op == "SEND" else []
    made = p.a.post([quiet_wr(p, op, k) for k in range(9)]).wrs
    good(made, "8.2.4-05", "WRs without a flag on a QP whose WRs are all signaled")
    good(got, "8.1.3.1-02", "Receives of Sends without a flag")


@verbs(20, "A full queue", "8.2.1-01 8.2.1-07..09", errata="B22 B55 B60",
       variants=[*product(each("queue", ["rq", "sq"]), each("what", ["full", "polled"])),
                 Variant("unsignaled", {"queue": "sq", "what": "unsignaled"})])  # fmt: skip
def full_queue(t: Verbs) -> None:
    """It takes as many WRs as were granted, in lists of any length, and no more until WCs have been polled."""
    one, other = nodes(t)
    most = min(4096, one.attr("max_cqe") - 64)
    a, b = one.qp(recv_cq=one.cq(2048), send_cq=one.cq(2048)), other.qp(recv_cq=other.cq(2048), send_cq=other.cq(2048))
    queue, what = t.params["queue"], t.params["what"]
    size = a.size(queue)
    cq = a.send_cq if queue == "sq" else a.recv_cq
    if size + 8 > min(cq.entries, most):
        t.lack(f"the queue takes {size} WRs, and the largest CQ here {cq.entries} WCs")
    ma, mb = one.mem(4096), other.mem(4096)
    if queue == "rq" and what == "full":
        if not a.to("INIT"):
            t.fail("6.2.1.1-01", "a move to INIT", REFUSED, OK)
        wrs = fill(t, a, "rq", {"sges": [ma.sge(0, 8)]}, size)
        more = a.post([{"sges": [ma.sge(0, 8)]}], queue="rq", must=False)
        t.require(not more.whole, "8.2.1-09", f"a Receive beyond the {size} that were granted", more.said, REFUSED)
        a.flush()
        flushed(wrs + more.wrs, "8.2.1-09", "Receives of a queue that was full")
        alive(t)
        return
    p = Pair(a, b, ma, mb)
    b.idle()
    first = b.recv(mb.sge(0, 8))
    connect(a, b)
    good([a.send(ma.sge(0, 8)), first], "6.2.1.2-03", "the first message of a stream")
    if queue == "rq":
        receive_room(t, p, size)
    elif what == "unsignaled":
        wr = {"opcode": "RDMA_WRITE", "sges": [ma.sge(0, 8)], "remote": mb.remote(0), "flags": []}
        fill(t, a, "sq", wr, size - 1)
        good(a.post([{**wr, "flags": ["SIGNALED"]}]).wrs, "8.2.1-08", "the signaled WR behind unsignaled ones")
        again = a.post([{**wr, "times": size - 1}, {**wr, "flags": ["SIGNALED"]}], must=False)
        t.require(again.whole, "8.2.1-08", f"{size} WRs when a later WC than theirs was polled", again.said, "accepted")
        good(again.wrs[-1:], "8.2.1-08", "the last of them")
    else:
        send_room(t, p, size, what == "polled")
    alive(t)


def fill(t: Verbs, qp: Any, queue: str, wr: dict[str, Any], count: int) -> list[Wr]:
    """So many WRs, in lists of 1, 2, 3 and so on."""
    wrs: list[Wr] = []
    step = 1
    while len(wrs) < count:
        part = min(step, count - len(wrs))
        made = qp.post([{**wr, "times": part}], queue=queue, must=False)
        wrs += made.wrs
        if not t.require(made.whole, "8.2.1-01", f"WR {len(wrs) + 1} of {count} that were granted", made.said, "accepted"):
            break
        step += 1
    return wrs


def send_room(t: Verbs, p: Pair, size: int, polled: bool) -> None:
    """A send queue whose WRs complete, and whose WCs nobody polls."""
    wr = {"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 8)], "remote": p.mb.remote(0)}
    wrs = fill(t, p.a, "sq", wr, size)
    t.wait(t.quiet_us)
    more = p.a.post([wr], must=False)
    t.require(not more.whole, "8.2.1-07", f"a WR when {size} WCs wait to be polled", more.said, REFUSED)
    if polled and not more.whole:
        got = p.a.send_cq.poll(4, t.bound_us)
        again = p.a.post([{**wr, "times": len(got)}], must=False)
        t.require(again.whole, "8.2.1-07", f"{len(got)} WRs when so many WCs were polled", again.said, "accepted")
        wrs = wrs + again.wrs
    good(wrs + more.wrs, "8.2.1-01", "the WRs of a queue that was full")


def receive_room(t: Verbs, p: Pair, size: int) -> None:
    """A receive queue whose WRs are used, and whose WCs nobody polls."""
    wrs = fill(t, p.a, "rq", {"sges": [p.ma.sge(0, 8)]}, size)
    good([p.b.send(p.mb.sge(0, 8)) for _ in range(4)], "6.2.2-04", "Sends into a full receive queue")
    settled(p.back())
    more = p.a.post([{"sges": [p.ma.sge(0, 8)]}], queue="rq", must=False)
    t.require(not more.whole, "8.2.1-07", "a Receive when the WCs of four wait to be polled", more.said, REFUSED)
    got = p.a.recv_cq.poll(4, t.bound_us)
    if not more.whole:
        again = p.a.post([{"sges": [p.ma.sge(0, 8)], "times": len(got)}], queue="rq", must=False)
        t.require(again.whole, "8.2.1-07", f"{len(got)} Receives when so many WCs were polled", again.said, "accepted")
    good(wrs[:4], "8.2.1-01", "the Receives that messages came for")
