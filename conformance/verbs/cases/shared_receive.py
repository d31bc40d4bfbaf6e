"""VERBS.51 to VERBS.55: what QPs take from a shared receive queue, what their ends leave there, and its limit."""

from __future__ import annotations

from typing import Any, Sequence

from conformance.verbs.cases.objects import success
from conformance.verbs.cases.protection import faulty
from conformance.verbs.steps.account import Wc
from conformance.verbs.steps.declare import SRQ, each, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import LOCAL, TOO_SHORT
from conformance.verbs.steps.session import (
    OK, REFUSED, Pair, alive, flushed, good, has_read, nodes, returned, said,
)  # fmt: skip
from conformance.verbs.steps.shared import Shared


@verbs(51, "A QP of an SRQ has no receive queue of its own", "6.3-08..09 6.3-11 6.3.4-01", applies=SRQ, errata="B55",
       variants=[*product(each("what", ["post"]), each("state", ["idle", "rts"])),
                 *product(each("what", ["size"]), each("rq", {"zero": 0, "one": 1, "most": "most", "over": "over"}))])  # fmt: skip
def no_queue(t: Verbs) -> None:
    """Receives are posted to the SRQ and not to the QP, and the size that was given for a receive queue counts for nothing."""
    one, other = nodes(t)
    if t.params["what"] == "post":
        s = Shared(t)
        if t.params["state"] == "idle":
            qp = other.qp(srq=s.srq, row="6.3-11")
            qp.idle()
        else:
            qp = s.peer().b
        extra = other.mem(64)
        # A provider may refuse the first for its element: the QP has no room for any. An empty list leaves the SRQ as the reason.
        for sges in ([extra.sge()], []):
            made = qp.post([{"sges": sges}], queue="rq", must=False)
            if not t.require(not made.whole, "6.3-09", "a Receive posted to the QP of an SRQ", made.said, REFUSED):
                qp.abandon()
        p = s.peer()
        s.post(8)
        s.serves(p, 8, "6.3-08")
        t.require(extra.untouched(), "6.3-09", "the memory of a Receive that was refused", "changed", "as it was")
        alive(t)
        return
    asked, most = t.params["rq"], one.attr("max_qp_wr")
    size = {"most": most, "over": most + 1}.get(asked, asked) if isinstance(asked, str) else asked
    s = Shared(t, 32)
    call = other.qp_call(send_cq=other.cq(), recv_cq=other.cq(), srq=s.srq.srq, rq_size=size)
    if not returned(call):
        if asked == "over":
            t.notice("6.3.4-01", f"a QP of an SRQ with {size} Receives, where {most} is the maximum", said(call), OK, "B55")
        elif asked == "most" and other.no_room(call):
            t.lack("the provider has no room for so large a queue")
        else:
            t.report("6.3.4-01", f"a QP of an SRQ with {size} Receives", said(call), OK)
        alive(t)
        return
    success(t, "6.1.4-07", "destroying the QP", other.call("DestroyQp", qp=call.integer("qp")))
    p = s.peer(rq_size=size, row="6.3.4-01")
    s.post(24)
    s.serves(p, 24, "6.3.4-01")  # none of the WCs was polled before the last message was sent
    alive(t)


_ENDS = ["err", "too-long", "closed", "peer-closed", "destroyed"]


@verbs(52, "The end of a QP of an SRQ", "6.3.6-01..04", applies=SRQ, errata="B54", variants=each("end", _ENDS))
def one_ends(t: Verbs) -> None:
    """The SRQ, its unused Receives and its other QPs go on; what the QP had taken is told by a WC."""
    end = t.params["end"]
    s = Shared(t)
    p, q = s.peer(), s.peer()
    s.post(14)
    s.serves(p, 3, "6.3-08")
    s.serves(q, 1, "6.3-08")
    left = 10
    if end == "err":
        p.b.flush()
    elif end == "too-long":
        out = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, s.slot + 1)]}], must=False).wrs
        got = s.came([p], 1)
        seen = got[0].status if got else "none"
        t.require(seen in TOO_SHORT, "6.3.6-01", "the WC of a Receive of an SRQ that the message does not fit", seen,
                  " or ".join(sorted(TOO_SHORT)))  # fmt: skip
        t.reap(out)
        left -= 1
    elif end == "closed":
        p.b.disconnect()
    elif end == "peer-closed":
        p.a.disconnect()
    else:
        success(t, "6.1.4-07", "destroying a QP of an SRQ", p.b.destroy())
    watched = [q] if end == "destroyed" else [p, q]
    s.quiet(watched, "6.3.6-04", f"WCs of unused Receives of an SRQ, when one of its QPs ends ({end})")
    unused = s.unused()
    s.serves(q, left, "6.3.6-03")
    t.require(all(wr.wcs for wr in unused), "6.3.6-04", "Receives of the SRQ that were not used by as many messages",
              sum(not wr.wcs for wr in unused), "none")  # fmt: skip
    t.require(s.post(6, must=False).whole, "6.3.6-02", "posting to the SRQ afterwards", REFUSED, OK)
    s.serves(q, 2, "6.3.6-02")
    r = s.peer(row="6.3.6-02")
    s.serves(r, 2, "6.3.6-02")
    errors = t.events(q.b.end, q.b.qp) + t.events(s.node.end.number, names=frozenset({"SRQ_ERR"}))
    t.require(not errors, "6.3.6-03", "asynchronous errors of the SRQ and of its other QP", errors, "none")
    alive(t)


@verbs(53, "The limit of an SRQ", "6.3-12 6.3.8-01..07 8.3.1-03 9.2.4.2-01", applies=SRQ, errata="B26 B27",
       variants=each("what", ["passed", "again", "rearmed", "above", "below", "zero"]))  # fmt: skip
def limit(t: Verbs) -> None:
    """One event for each arming, when fewer Receives are left than the limit, and nothing else comes of it."""
    what = t.params["what"]
    s = Shared(t, 32)
    p = s.peer()
    s.post(4 if what == "below" else 16)
    if what == "below":
        armed(t, s, 8, "6.3.8-01")
        t.wait(t.quiet_us // 2)
        s.serves(p, 2, "6.3.8-02")
        t.wait(t.quiet_us // 2)
        t.require(len(s.limits()) <= 1, "6.3.8-04", "events of a limit that was armed below it", len(s.limits()), "one at most")
    elif what == "rearmed":
        for value in (12, 12, 6):
            armed(t, s, value, "6.3.8-06")
        crosses(t, s, p, 6, 1, "6.3.8-06", "6.3.8-05")
    elif what == "zero":
        armed(t, s, 8, "6.3.8-01")
        if not s.arm(0):
            t.skip("a limit cannot be taken back, and no text says that it can")
        t.require(s.told().get("limit") == 0, "9.2.4.2-01", "the limit behind a change to zero", s.told(), 0)
        s.serves(p, 16, "6.3.8-02")
        t.wait(t.quiet_us // 2)
        t.require(not s.limits(), "6.3.8-03", "limit events of a limit of zero", len(s.limits()), "none")
    elif what == "above":
        armed(t, s, 8, "6.3.8-01")
        before = s.told()
        top = before["size"] if isinstance(before["size"], int) else s.srq.size
        t.require(not s.arm(top + 1), "6.3.8-07", f"a limit of {top + 1} on an SRQ of {top} Receives", OK, REFUSED)
        t.require(s.told() == before, "6.3.8-07", "the SRQ after a limit that was refused", s.told(), before)
        t.require(s.told() == before, "8.3.1-03", "the SRQ after a limit that was refused", s.told(), before)
        crosses(t, s, p, 8, 1, "8.3.1-03")
    else:
        armed(t, s, 8, "6.3.8-01")
        crosses(t, s, p, 8, 1, "6.3.8-03")
        if what == "again":
            s.post(16 - len(s.unused()))
            armed(t, s, 8, "6.3.8-05")
            crosses(t, s, p, 8, 2, "6.3.8-05")
    errors = t.events(p.b.end, p.b.qp)
    t.require(not errors, "6.3.8-02", "asynchronous errors of the QP whose SRQ came below its limit", errors, "none")
    alive(t)


def armed(t: Verbs, s: Shared, value: int, row: str) -> None:
    """Setting the limit has to work."""
    t.require(s.arm(value), row, f"a limit of {value} on an SRQ of {s.srq.size}", REFUSED, OK)


def crosses(t: Verbs, s: Shared, p: Pair, value: int, count: int, *rows: str) -> None:
    """Messages until as many Receives are left as the limit: no event. One more: the event. More still: no other."""
    before = count - 1
    s.serves(p, len(s.unused()) - value, "6.3.8-02")
    t.wait(t.quiet_us // 2)
    t.require(len(s.limits()) == before, "6.3.8-04" if before else "6.3.8-03", f"limit events while {value} Receives are left, "
              f"with the limit {value}", len(s.limits()), before)  # fmt: skip
    s.serves(p, 1, "6.3.8-02")
    came = t.until(lambda: len(s.limits()) > before, t.bound_us)
    for of in dict.fromkeys((*rows, "6.3.8-03")):
        t.require(came, of, f"limit events when {value - 1} Receives are left, with the limit {value}", len(s.limits()), count)
    s.serves(p, 3, "6.3.8-02")
    t.wait(t.quiet_us // 2)
    t.require(len(s.limits()) <= count, "6.3.8-04", "limit events of one arming", len(s.limits()) - before, 1)
    for told in s.limits():
        t.require(told.get("srq") == s.srq.srq, "6.3-12", "the SRQ that the limit event names", told.get("srq"), s.srq.srq)


@verbs(54, "Numbered messages to two QPs of an SRQ", "6.3-03 6.3-07 6.3.5-03..05", applies=SRQ, errata="B30 B54", variants=[
    *product(each("what", ["numbered"]), each("cqs", ["own", "one"]), each("length", {"8": 8, "1000": 1000})),
    *each("what", ["send-queue", "send-error"])])  # fmt: skip
def numbered(t: Verbs) -> None:
    """Each message takes one Receive, whichever; the WCs of a QP come to its own CQ in the order of its peer's Sends."""
    if t.params["what"] != "numbered":
        sends(t, t.params["what"] == "send-error")
        alive(t)
        return
    length, each_ = t.params["length"], 20
    s = Shared(t, 64, slot=1024)
    recv_cq = s.node.cq() if t.params["cqs"] == "one" else None
    pairs = [s.peer(recv_cq=recv_cq), s.peer(recv_cq=recv_cq)]
    s.post(48)
    for p in pairs:
        p.ma.write(b"\0" * 1024)
    sent = []
    for number in range(each_):
        for k, p in enumerate(pairs):
            at = 1024 + number * 8
            p.ma.write(bytes([k, number]) + b"\0" * 6, at)
            sges = p.ma.sge(at, 8)
            sent.append(p.a.send({**sges, "length": length}))
    got = s.came(pairs, 2 * each_)
    good(sent, "6.3-08", "numbered Sends to QPs of an SRQ")
    t.require(len(got) == 2 * each_ and all(wc.good for wc in got), "6.3.5-05", "WCs of numbered messages", len(got), 2 * each_)
    _in_order(t, s, pairs, got)
    again = [wr for wr, _ in s.posted.values() if len(wr.wcs) > 1]
    t.require(not again, "6.3.5-03", "Receives of the SRQ that were used twice", len(again), 0)
    left = len(s.unused())
    s.serves(pairs[0], left, "6.3.5-05")
    alive(t)


def _in_order(t: Verbs, s: Shared, pairs: Sequence[Pair], got: Sequence[Wc]) -> None:
    """What each WC is of, by the bytes of its slot."""
    for k, p in enumerate(pairs):
        mine = [wc for wc in got if wc.qp_num == p.b.qp_num and wc.good]
        marks = [tuple(s.bytes_of(wc, 2)) for wc in mine]
        foreign = [mark for mark in marks if mark[0] != k]
        t.require(not foreign, "6.3-03", f"messages of another QP among the WCs of QP {k}", len(foreign), 0)
        numbers = [mark[1] for mark in marks if mark[0] == k]
        t.require(numbers == sorted(numbers), "6.3.5-04", f"numbers of the messages of QP {k}, by its WCs", numbers, "rising")
        t.require(len(set(numbers)) == len(numbers), "6.3.5-03", f"numbers of the messages of QP {k}", numbers, "each once")
        for wc in mine:
            wr = s.posted[wc.wr_id][0]
            t.require(wr.wc is wc, "6.3-03", "the CQ of a WC", "another", "that of the QP")


def sends(t: Verbs, error: bool) -> None:
    """The send queue of such a QP: order, silence of what is not signaled, and an error with the rest flushed."""
    s = Shared(t)
    p = s.peer(sq_size=32)
    back = p.back()
    source = s.node.mem(4096)
    source.pattern(5)
    theirs = p.a.post([{"sges": [p.ma.sge(64 * k, 64)]} for k in range(12)], queue="rq").wrs
    write = {"opcode": "RDMA_WRITE", "sges": [source.sge(0, 64)], "remote": p.ma.remote(4096)}
    read = {"opcode": "RDMA_READ", "sges": [source.sge(2048, 64)], "remote": p.ma.remote(6144)}
    send = {"opcode": "SEND", "sges": [source.sge(0, 64)]}
    quiet: dict[str, Any] = {**send, "flags": []}
    mixed: list[dict[str, Any]] = [send, write, quiet, *([read] if has_read(t) else []), send, quiet, send]
    wrs = back.a.post(mixed).wrs
    signaled = [wr for wr in wrs if wr.signaled]
    good(signaled, "6.3-07", "signaled WRs of a QP with an SRQ")
    good(theirs[:5], "6.3-07", "the Receives of its Sends")
    t.require(not [wr for wr in wrs if not wr.signaled and wr.wcs], "6.3-07", "WCs of unsignaled successes", "some", "none")
    if error:
        s.post(4)
        bad = {"opcode": "SEND", "sges": [faulty(t, s.node, source, "deregistered")]}
        made = back.a.post([send, bad, send, send], must=False)
        t.reap(made.wrs)
        if len(made.wrs) > 1:
            t.require(made.wrs[1].status in LOCAL, "6.3-07", "a Send from memory that was deregistered", made.wrs[1].status,
                      " or ".join(sorted(LOCAL)))  # fmt: skip
            flushed(made.wrs[2:], "6.3-07", "the Sends behind it")
        t.require(not s.came([p], 1, t.quiet_us // 2), "6.3.6-04", "a WC of an unused Receive of the SRQ", "one", "none")
        s.serves(s.peer(row="6.3.6-02"), len(s.unused()), "6.3.6-02")


_SIZES = {"zero": 0, "one": 1, "large": 100_000}


@verbs(55, "One message takes one Receive of an SRQ", "6.3.5-05", applies=SRQ, errata="B67",
       variants=[*each("length", _SIZES), *each("length", {"mixed": None})])  # fmt: skip
def one_each(t: Verbs) -> None:
    """As many Receives are used as there are messages, however long these are; the others stay."""
    length = t.params["length"]
    s = Shared(t, 16, slot=100_000, slots=13)
    p = s.peer(size=100_000)
    s.post(12)
    lengths = [length] * 8 if length is not None else [0, 1, 100_000, 0, 100_000, 1, 4096, 0]
    p.ma.pattern(9)
    sent = [p.a.send(p.ma.sge(0, n)) for n in lengths]
    got = s.came([p], 8)
    good(sent, "6.3.5-05", "Sends to a QP of an SRQ")
    for n, wc in zip(lengths, got):
        t.require(wc.good and wc.byte_len == n, "6.3.5-05", f"the WC of a message of {n} bytes", wc, "a success of that length")
        at = s.posted[wc.wr_id][1]
        t.require(s.mem.wrong(9, at, n) == 0, "6.3.5-05", f"the bytes of a message of {n}", "wrong", "those sent")
    t.require(len(got) == 8, "6.3.5-05", "Receives that 8 messages used", len(got), 8)
    s.quiet([p], "6.3.5-05", "more WCs than messages")
    t.require(len(s.unused()) == 4, "6.3.5-05", "Receives left of 12 after 8 messages", len(s.unused()), 4)
    s.serves(p, 4, "6.3.5-05")
    alive(t)
