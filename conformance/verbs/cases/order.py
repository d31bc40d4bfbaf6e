"""VERBS.40 to VERBS.49: Reads and how many are under way, fences, what is settled when, and messages that nobody waits for."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant

from conformance.verbs.cases.protection import sender
from conformance.verbs.cases.states import unknown
from conformance.verbs.steps.account import Wr
from conformance.verbs.steps.declare import CM, IWARP, SRQ, each, pairwise, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import NO_RECEIVE_IB, ORD_ZERO, REFUSED_IB, REFUSED_IWARP, SUCCESS
from conformance.verbs.steps.session import (
    Pair, alive, connect, ending, flushed, good, join, message, need_read, nodes, pair, receives, settled, start,
)  # fmt: skip

MIB = 1 << 20


@verbs(40, "Reads beyond ORD", "6-01 6.5-03..05 6.5-10", errata="B28", variants=[
    *pairwise(each("ord", {"ord-1": 1, "ord-4": 4}), each("length", {"small": 64, "large": 65536}),
              each("post", ["list", "single"])),
    Variant("full", {"what": "full"}), Variant("eight", {"what": "eight"})])  # fmt: skip
def beyond_ord(t: Verbs) -> None:
    """They wait; all complete in order and with the right data, and Sends behind them too. The queue takes what it has room for."""
    need_read(t)
    what = t.params.get("what")
    if what == "eight":
        eight(t)
    elif what == "full":
        p = pair(t, ord=1, ird=1)
        size = p.a.size("sq")
        if size > 200:
            t.lack(f"the smallest send queue that can be had takes {size} WRs")
        wr = {"opcode": "RDMA_READ", "sges": [p.ma.sge(0, 64)], "remote": p.mb.remote(0), "times": size}
        made = p.a.post([wr], must=False)
        t.require(made.whole, "6.5-04", f"{size} Reads with ORD 1", made.said, "accepted")
        good(made.wrs, "6.5-05", "Reads that wait for each other")
    else:
        sixteen(t, t.params["ord"], t.params["length"], t.params["post"])
    alive(t)


def sixteen(t: Verbs, ord: int, length: int, post: str) -> None:
    """Sixteen Reads of distinct ranges at once, and two Sends behind them."""
    p = pair(t, 16 * length, ord=ord, ird=ord, sq_size=32)
    for k in range(16):
        p.mb.pattern(50 + k, k * length, length)
    sink = p.a.node.mem(16 * length)
    got = receives(p.b, p.b.node.mem(256), 2)
    wrs: list[dict[str, Any]] = [
        {"opcode": "RDMA_READ", "sges": [sink.sge(k * length, length)], "remote": p.mb.remote(k * length)} for k in range(16)
    ]  # fmt: skip
    wrs += [{"opcode": "SEND", "sges": [p.ma.sge(0, 64)]}] * 2
    made = p.a.post(wrs).wrs if post == "list" else [p.a.post([wr]).wrs[0] for wr in wrs]
    row = "6-01" if ord > 1 else "6.5-03"
    good(made[:16], row, f"16 Reads with ORD {ord}")
    good(made[16:] + got, "6.5-05", "Sends behind Reads")
    wrong = [k for k in range(16) if sink.wrong(50 + k, k * length, length)]
    t.require(not wrong, row, "Reads with wrong data", wrong, "none")
    t.require(not wrong, "6.5-05", "Reads with wrong data", wrong, "none")


def eight(t: Verbs) -> None:
    """A Read each way on each of eight QPs with ORD and IRD 1."""
    for _ in range(8):
        p = pair(t, 1024, ord=1, ird=1)
        p.ma.pattern(1, 0, 64)
        p.mb.pattern(2, 0, 64)
        wrs = [p.a.read(p.mb.remote(0), p.ma.sge(512, 64)), p.b.read(p.ma.remote(0), p.mb.sge(512, 64))]
        good(wrs, "6.5-10", "a Read each way with ORD and IRD 1")
        wrong = [p.ma.wrong(2, 512, 64), p.mb.wrong(1, 512, 64)]
        t.require(wrong == [0, 0], "6.5-10", "the wrong bytes of a Read each way", wrong, "none")


@verbs(41, "A Read with ORD zero", "8.2.2-13", errata="B28 B54", applies=f"{IWARP} and {CM}",
       variants=each("behind", ["alone", "send"]))  # fmt: skip
def ord_zero(t: Verbs) -> None:
    """It completes in error, or is refused at the post."""
    need_read(t)
    one, other = nodes(t)
    a, b = one.qp(), other.qp()
    p = Pair(a, b, one.mem(256), other.mem(256))
    first = b.recv(p.mb.sge(0, 8))
    made = join(a, b, ord=0, ird=1)
    if not made.established:
        t.skip(f"no stream with ORD zero can be had: {made.said}")
    if made.active.result().get("ord") != 0:
        t.skip(f"ORD {made.active.result().get('ord')} was granted where none was asked for")
    start(p, first)
    wrs: list[dict[str, Any]] = [{"opcode": "RDMA_READ", "sges": [p.ma.sge(0, 64)], "remote": p.mb.remote(0)}]
    wrs += [{"opcode": "SEND", "sges": [p.ma.sge(0, 8)]}] if t.params["behind"] == "send" else []
    post = p.a.post(wrs, must=False)
    t.reap(post.wrs)
    for wr in post.wrs[:1]:
        t.require(wr.status in ORD_ZERO, "8.2.2-13", "a Read with ORD zero", wr.status, " or ".join(sorted(ORD_ZERO)))
    flushed(post.wrs[1:], "8.3.2-02", "the Send behind it")
    alive(t)


@verbs(43, "A Read behind a Write or a Send", "6.6.2.5-01 8.2.2-06 8.2.2-11",
       variants=product(each("op", ["write", "send"]), each("length", {"small": 64, "large": 16384})))  # fmt: skip
def read_behind(t: Verbs) -> None:
    """It brings what they brought, and when it is done they are."""
    need_read(t)
    length, op = t.params["length"], t.params["op"]
    p = pair(t, 8 * length, sq_size=32, rq_size=32)
    sink = p.a.node.mem(8 * length)
    for turn in range(25 if length < 1000 else 8):
        p.ma.pattern(1000 * turn + 7)
        got = receives(p.b, p.mb, 8, length=length) if op == "send" else []
        wrs: list[dict[str, Any]] = []
        for k in range(8):
            sge, there = p.ma.sge(k * length, length), p.mb.remote(k * length)
            first: dict[str, Any] = {"opcode": "SEND" if op == "send" else "RDMA_WRITE", "sges": [sge]}
            first |= {"remote": there} if op == "write" else {}
            wrs += [first, {"opcode": "RDMA_READ", "sges": [sink.sge(k * length, length)], "remote": there}]
        made = p.a.post(wrs).wrs
        if not good(made, "8.2.2-11", f"Reads behind a {op}, round {turn}"):
            break
        t.reap(got, t.bound_us // 4)
        late = sum(not wr.wcs for wr in got)
        t.require(not late, "6.6.2.5-01", "Receives without a WC though the Read behind them is done", late, "none")
        good(got, "6.6.2.5-01", "Receives ahead of a Read that is done")
        right = sink.wrong(1000 * turn + 7) == 0
        for row in ("8.2.2-06", "8.2.2-11"):
            t.require(right, row, f"the data of Reads behind a {op}, round {turn}", "old", "what was just brought")
        if not right:
            break
        if op == "write" and not good([p.b.recv(p.b.node.mem(8).sge()), p.a.send(p.ma.sge(0, 8))], "6.2.2-04", "a Send"):
            break  # what a Write brought may be looked at when a later Send is done (8.2.2, rule 6)
        there_now = p.mb.wrong(1000 * turn + 7) == 0
        t.require(there_now, "6.6.2.5-01", f"the bytes of a {op} ahead of a Read that is done", "old", "there")
    alive(t)


@verbs(44, "Fences", "8.2.2.2-01..03", errata="B68",
       variants=each("what", ["send", "write", "with-inv", "unfenced", "nothing", "sixteen", "quiet"],
                     {"with-inv": f"{IWARP} and send_with_inv"}))  # fmt: skip
def fences(t: Verbs) -> None:
    """A fenced Send or Write waits for the Reads before it, and for nothing else; without a fence either order is right."""
    need_read(t)
    what = t.params["what"]
    if what == "with-inv":
        fenced_invalidation(t)
        alive(t)
        return
    if what in ("nothing", "sixteen"):
        p = pair(t, 16384, sq_size=32)
        reads = [{"opcode": "RDMA_READ", "sges": [p.ma.sge(0, 4096)], "remote": p.mb.remote(0), "times": 16}]
        got = receives(p.b, p.mb, 2, start=8192)
        wrs: list[dict[str, Any]] = [
            {"opcode": "SEND", "sges": [p.ma.sge(8192, 64)], "flags": ["SIGNALED", "FENCE"]},
            {"opcode": "RDMA_WRITE", "sges": [p.ma.sge(8192, 64)], "remote": p.mb.remote(12288), "flags": ["SIGNALED", "FENCE"]},
            {"opcode": "SEND", "sges": [p.ma.sge(8192, 64)]},
        ]  # fmt: skip
        made = p.a.post([*(reads if what == "sixteen" else []), *wrs], must=False)
        t.require(made.whole, "8.2.2.2-01", "a fenced Send and a fenced Write", made.said, "accepted")
        good(made.wrs + got, "8.2.2.2-03", f"fenced WRs behind {'16 Reads' if what == 'sixteen' else 'nothing'}")
        alive(t)
        return
    p = pair(t, MIB + 4096)
    sink = p.a.node.mem(MIB)
    for turn in range(4):
        p.mb.pattern(turn + 70, 0, MIB)
        p.ma.write(b"\x99" * 4096, MIB)
        got = [] if what == "write" else [p.b.recv(p.mb.sge(MIB, 64))]
        wrs = [{"opcode": "RDMA_READ", "sges": [sink.sge()], "remote": p.mb.remote(0)}]
        if what == "quiet":  # a Read without a WC is waited for, too
            wrs[0]["flags"] = []
        if turn % 2:  # all Reads before it, and a short one is done first
            wrs.insert(0, {"opcode": "RDMA_READ", "sges": [sink.sge(0, 64)], "remote": p.mb.remote(0)})
        flags = ["SIGNALED"] if what == "unfenced" else ["SIGNALED", "FENCE"]
        if what == "write":
            places = (MIB - 4096, MIB // 2, 0)
            over = {"opcode": "RDMA_WRITE", "sges": [p.ma.sge(MIB, 4096)], "flags": flags}
            wrs += [{**over, "remote": p.mb.remote(at)} for at in places]
        else:
            solicited = ["SOLICITED"] if turn > 1 else []
            wrs += [{"opcode": "SEND", "sges": [p.ma.sge(MIB, 64)], "flags": flags + solicited}]
        made = p.a.post(wrs)
        if got:
            t.reap(got)
            p.mb.write(b"\x98" * 4096, MIB - 4096)  # what the Send told the peer to do: the source is free now
            p.mb.write(b"\x98" * 4096, 0)
        told = [wr for wr in made.wrs if wr.signaled] + got
        good(told, "8.2.2.2-02" if what != "unfenced" else "6.2.2-04", f"a Read of 1 MiB and what is behind it ({what})")
        settled(p)  # the Writes, whose WCs do not say that they have arrived (8.2.2, rule 11)
        wrong = sink.wrong(turn + 70)
        kept = f"bytes of a Read that a fenced {what} behind it has changed"
        if what != "unfenced" and not t.require(not wrong, "8.2.2.2-02", kept, wrong, 0):  # unfenced either order is right
            break
    alive(t)


def fenced_invalidation(t: Verbs) -> None:
    """A fenced Send with Invalidate takes away the STag of the Reads before it, which have read by then."""
    p = pair(t)
    source, sink = p.b.node.mem(65536), p.a.node.mem(65536)
    source.pattern(23)
    got = p.b.recv(p.mb.sge(0, 64))
    wrs: list[dict[str, Any]] = [
        {"opcode": "RDMA_READ", "sges": [sink.sge(k * 16384, 16384)], "remote": source.remote(k * 16384)} for k in range(4)
    ]  # fmt: skip
    wrs += [{"opcode": "SEND_WITH_INV", "sges": [p.ma.sge(0, 64)], "invalidate": source.rkey, "flags": ["SIGNALED", "FENCE"]}]
    made = p.a.post(wrs, must=False)
    if not t.require(made.whole, "8.2.2.2-01", "a fenced Send with Invalidate", made.said, "accepted"):
        return
    t.reap([*made.wrs, got])
    if all(wr.good for wr in made.wrs):
        wrong = sink.wrong(23)
        kept = t.require(wrong == 0, "8.2.2.2-02", "bytes of Reads before a fenced Send with Invalidate of their source", wrong, 0)
        if kept and got.wcs and not got.good and not got.flushed:  # the fence held: what failed is the invalidation
            t.skip("a Send with Invalidate of a region does not succeed, which VERBS.67 judges (B106)")
    good([*made.wrs, got], "8.2.2.2-02", "Reads and a fenced Send with Invalidate of their source")


@verbs(45, "A message without a Receive", "8.1.2.1-02 8.3.3-07", errata="B21 B53 B54",
       variants=each("queue", ["rq", "srq"], {"srq": SRQ}))  # fmt: skip
def no_receive(t: Verbs) -> None:
    """The stream ends and the receiver is told, or the message waits; it is never lost while the stream goes on."""
    one, other = nodes(t)
    near = pair(t)
    srq = other.srq(8) if t.params["queue"] == "srq" else None
    a, b = one.qp(), other.qp(srq=srq)
    p = Pair(a, b, one.mem(1024), other.mem(1024))
    b.idle()
    first = srq.recv(p.mb.sge(0, 8)) if srq else b.recv(p.mb.sge(0, 8))
    connect(a, b)
    sent = a.send(p.ma.sge(0, 8))
    t.reap([sent], t.bound_us)
    b.recv_cq.poll(1, t.bound_us)
    if not (sent.good and first.good):
        t.fail("6.2.1.2-03", "the first message of a new stream", f"{sent.status} and {first.status}", "success at both ends")
    p.ma.pattern(13, 0, 64)
    lost = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 64)]}]).wrs[0]
    t.wait(2 * t.quiet_us)
    message(near, 64, 3, row="6.2.3-02" if t.iwarp else "6.2.2-04")
    late = srq.post([{"sges": [p.mb.sge(64, 64)]}], must=False) if srq else b.post([{"sges": [p.mb.sge(64, 64)]}], queue="rq",
                                                                                   must=False)  # fmt: skip
    end = t.now_us + t.bound_us
    while late.wrs and not late.wrs[0].wcs and t.now_us < end and not t.cms(b.end, b.qp) and not lost.wcs:
        b.recv_cq.poll(1, t.bound_us // 20)
        a.send_cq.poll(1)
    t.reap([lost], t.bound_us)
    b.recv_cq.poll(1, t.quiet_us // 2)
    got = late.wrs[0] if late.wrs else None
    if got is not None and got.good:
        t.require(p.mb.wrong(13, 64, 64) == 0, "8.1.2.1-02", "the message that waited for a Receive", "wrong bytes", "those sent")
        good([lost], "8.1.2.1-02", "the Send that waited for a Receive")
    elif t.iwarp:
        over = t.until(lambda: bool(t.cms(b.end, b.qp) or t.cms(a.end, a.qp)), t.bound_us)
        if not over and got is not None and waited(t, p, got):
            alive(t)
            return
        t.require(over, "8.1.2.1-02", "a message without a Receive", "lost, and the stream goes on", "delivered later, or the end")
        if over:
            ending(t, [lost], "8.1.2.1-02", "the Send without a Receive")
            t.require(bool(b.told(t.bound_us)), "8.3.3-07", "what the receiver is told of a message without a Receive", "nothing",
                      "an asynchronous event of its QP")  # fmt: skip
            t.require(lost.status in REFUSED_IWARP, "9.3.2.1-04", "the Send without a Receive", lost.status, "a status of the set")
    else:
        wanted = NO_RECEIVE_IB | REFUSED_IB
        t.require(lost.status in wanted, "8.1.2.1-02", "a Send without a Receive", lost.status, " or ".join(sorted(wanted)))
    alive(t)


def waited(t: Verbs, p: Pair, got: Wr) -> bool:
    """The message that was held back comes late: it is sent again at intervals that grow, for which no time is said (13.2)."""
    end = t.now_us + 4 * t.bound_us
    while not got.wcs and t.now_us < end and not t.cms(p.b.end, p.b.qp):
        p.b.recv_cq.poll(1, t.bound_us)
    if got.good:
        t.require(p.mb.wrong(13, 64, 64) == 0, "8.1.2.1-02", "the message that waited for a Receive", "wrong bytes", "those sent")
    return got.good


@verbs(46, "What is settled when a Receive is done", "8.2.2-05 8.2.2-09", errata="B70",
       variants=product(each("length", {"small": 64, "large": 65536}),
                        each("signaled", {"signaled": True, "quiet": False})))  # fmt: skip
def settled_bytes(t: Verbs) -> None:
    """A hundred Writes, then a Send: at the WC of its Receive all their bytes are there. Nothing is looked at before."""
    length = t.params["length"]
    flags = ["SIGNALED"] if t.params["signaled"] else []
    p = pair(t, 16 * length + 64, sq_size=nodes(t)[0].room(128))
    count = min(100, p.a.size("sq") - 1)
    places = min(16, count)  # a device may have queues too short for sixteen Writes (5.1.3)
    for turn in range(15 if length < 1000 else 3):
        p.ma.pattern(500 * turn + 9, 0, 16 * length)
        got = p.b.recv(p.mb.sge(16 * length, 64))
        wrs: list[dict[str, Any]] = [
            {"opcode": "RDMA_WRITE", "sges": [p.ma.sge(at, length)], "remote": p.mb.remote(at), "flags": flags}
            for at in (k % places * length for k in range(count))
        ]  # fmt: skip
        made = p.a.post([*wrs, {"opcode": "SEND", "sges": [p.ma.sge(16 * length, 64)]}]).wrs
        t.reap([got])
        if not t.require(got.good, "8.2.2-09", f"the Receive behind a hundred Writes, round {turn}", got.status, SUCCESS):
            break
        wrong = p.mb.wrong(500 * turn + 9, 0, places * length)
        for row in ("8.2.2-09", "8.2.2-05"):
            t.require(wrong == 0, row, f"bytes of Writes not there at the WC of the Receive behind them, round {turn}", wrong, 0)
        if wrong:
            break
        good([wr for wr in made if wr.signaled], "6.2.2-04", "the Writes and the Send")
    alive(t)


@verbs(49, "More than one fault", "6.2.4-04", errata="B14 B15",
       variants=each("what", ["three-sends", "three-receives", "both-queues"]))  # fmt: skip
def more_than_one(t: Verbs) -> None:
    """One WC of the QP at most is neither success nor flushed; which fault it tells of is open."""
    what = t.params["what"]
    p = pair(t)
    if what == "three-sends":
        wrs = [{"opcode": "SEND", "sges": [unknown(t, p.a.node.mem(64))]} for _ in range(3)]
        made = p.a.post(wrs, must=False, row="8.1.3.1-04").wrs
        t.reap(made)
        seen = p.a
    elif what == "three-receives":
        made = p.b.post([{"sges": [unknown(t, p.mb)]} for _ in range(3)], queue="rq", must=False).wrs
        sent = [wr for _ in made for wr in p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 64)]}], must=False).wrs]
        t.reap(made)
        sender(t, sent[:1])
        seen = p.b
    else:
        made = p.b.post([{"sges": [unknown(t, p.mb)]}], queue="rq", must=False).wrs
        sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 64)]}], must=False).wrs
        made += p.b.post([{"opcode": "SEND", "sges": [unknown(t, p.mb)]}], must=False).wrs
        t.reap(made)
        sender(t, sent, ended=True)
        seen = p.b
    faults = t.account.faults(seen)
    if made and not faults:
        t.report("6.2.4-02", f"WRs with faults ({what})", [wr.status for wr in made].__repr__(), "one error")
    alive(t)
