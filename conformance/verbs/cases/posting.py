"""VERBS.57, 59 to 62, 73, 81, 82, 93, 94: lists of WRs, lists of buffers, what a WC tells, and what is never touched."""

from __future__ import annotations

from typing import Any, Optional

from conformance.verbs.cases.states import unknown
from conformance.verbs.steps.account import Wr
from conformance.verbs.steps.declare import SRQ, each, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import LOCAL, TOO_LARGE, UNSUPPORTED
from conformance.verbs.steps.session import (
    OK, REFUSED, Cq, Pair, alive, ending, flushed, good, has_read, message, moved, need_read, nodes, pair, receives, returned,
    settled,
)  # fmt: skip
from conformance.verbs.steps.shared import Shared

SLOT = 64


@verbs(57, "Lists of WRs", "8.1.1-01 8.2.1-02..05 9.3.1.1-04", errata="B35 B36",
       variants=product(each("queue", ["sq", "rq", "srq"], {"srq": SRQ}),
                        each("bad", {"none": None, "front": 0, "middle": 2, "end": 4})))  # fmt: skip
def lists(t: Verbs) -> None:
    """A list is taken in its order. The first WR that is refused ends it: those before are done, those behind never."""
    queue, bad = t.params["queue"], t.params["bad"]
    count = 8 if bad is None else 5
    if queue == "srq":
        shared_list(t, count, bad)
        return
    p = pair(t, sq_sges=1, rq_sges=1)
    qp, mem = (p.a, p.ma) if queue == "sq" else (p.b, p.mb)
    limit = qp.cap[f"{queue}_sges"]
    wrs: list[dict[str, Any]] = []
    for k in range(count):
        p.ma.pattern(30 + k, SLOT * k, SLOT)
        sges = [mem.sge(SLOT * k, SLOT)]
        if k == bad:
            sges = [mem.sge(SLOT * k, 1) for _ in range(limit + 1)]
        wrs.append({"sges": sges, **({"opcode": "SEND"} if queue == "sq" else {})})
    got = receives(p.b, p.mb, count + 1) if queue == "sq" else []
    made = qp.post(wrs, queue=queue, must=False)
    if bad is None:
        t.require(made.whole, "8.1.1-01", "a list of 8 WRs", made.said, OK)
    else:
        t.require(not made.whole, "9.3.1.1-04", f"a WR with {limit + 1} SGEs where {limit} were granted", made.said, REFUSED)
        t.require(len(made.wrs) == bad, "8.2.1-05", "how many WRs stand before the one that was refused", len(made.wrs), bad)
    taken = count if bad is None else bad
    if queue == "sq":
        good(made.wrs[:taken] + got[:taken], "8.2.1-04", "WRs of a list in front of the one that was refused")
        settled(p)
        p.b.recv_cq.empty()
        t.require(not any(wr.wcs for wr in got[taken:]), "8.2.1-03", "WRs of a list behind the one that was refused",
                  "some arrived", "none")  # fmt: skip
        wrong = [k for k in range(taken) if p.mb.wrong(30 + k, SLOT * k, SLOT)]
        t.require(not wrong, "8.2.1-02", "messages that are not in the order of the list", wrong, "none")
    else:
        sent = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(SLOT * k, SLOT)]} for k in range(taken)]).wrs if taken else []
        good(made.wrs[:taken] + sent, "8.2.1-04", "Receives of a list in front of the one that was refused")
        wrong = [k for k in range(taken) if p.mb.wrong(30 + k, SLOT * k, SLOT)]
        t.require(not wrong, "8.2.1-02", "Receives that were not used in the order of the list", wrong, "none")
        if bad is not None:
            message(p, SLOT, 9, row="8.2.1-03", offset=4096)  # into its own Receive, not into one behind the refused one
    alive(t)


def shared_list(t: Verbs, count: int, bad: Optional[int]) -> None:
    """A list of Receives for an SRQ, which may be used in any order: one in front and one behind it show what a list left there."""
    s = Shared(t, 16)
    p = s.peer()
    mem, limit = s.node.mem(SLOT * count), s.srq.sges
    wrs = [{"sges": [mem.sge(SLOT * k, SLOT)]} for k in range(count)]
    if bad is not None:
        wrs[bad] = {"sges": [mem.sge(SLOT * bad, 1) for _ in range(limit + 1)]}
    own = s.post(1).wrs
    made = s.srq.post(wrs, must=False)
    s.posted.update({wr.wr_id: (wr, 0) for wr in made.wrs})
    if bad is None:
        t.require(made.whole, "8.1.1-01", f"a list of {count} Receives for an SRQ", made.said, OK)
    else:
        t.require(not made.whole, "9.3.1.1-04", f"a Receive with {limit + 1} SGEs where {limit} were granted", made.said, REFUSED)
    taken = len(made.wrs)
    if not t.require(taken == (count if bad is None else bad), "8.2.1-05", "posted, where the first that was not is", taken,
                     count if bad is None else bad):  # fmt: skip
        t.lack("what the call says was posted is not what can have been")
    own += s.post(1).wrs
    sent = s.send(p, taken + 2)
    s.came([p], taken + 2)
    good(made.wrs + sent, "8.2.1-04", "Receives of a list for an SRQ in front of the one that was refused")
    clean = mem.untouched(SLOT * taken, SLOT * (count - taken))
    t.require(clean, "8.2.1-03", "the memory of Receives of a list that were not posted", "changed", "as it was")
    good(own, "8.2.1-03", "Receives that were posted one by one")
    alive(t)


@verbs(59, "Gather and scatter", "8.1.2.2-02 8.1.3.2-01 8.1.3.2-03 8.1.3.2-05 8.1.3.2-10 8.3.1-01 9.2.5.1-02 9.3.1.1-04",
       errata="B54 B66", variants=[
           *product(each("op", ["send", "write"]), each("sges", {"one": 1, "two": 2, "four": 4, "most": 0})),
           *each("op", ["sum", "too-large", "more"])])  # fmt: skip
def gather(t: Verbs) -> None:
    """Buffers are taken and filled in the order of their list; the message is as long as they are together."""
    op = t.params["op"]
    if op in ("sum", "too-large", "more"):
        {"sum": sums, "too-large": too_large, "more": one_more}[op](t)
        alive(t)
        return
    most = min(node.attr("max_sge") for node in nodes(t))
    count = t.params["sges"] or min(most, 32)
    if count > most:
        t.require(not t.iwarp or most >= 4, "8.1.3.2-10", "max_sge", most, "at least 4")
        t.skip(f"the device has {most} SGEs in a list")
    p = pair(t, 16384, sq_sges=count, rq_sges=count)
    for qp in (p.a, p.b):
        for name in ("sq_sges", "rq_sges"):
            t.require(qp.cap[name] >= count, "9.2.5.1-02", f"{name} that was granted", qp.cap[name], f"at least {count}")
    size = 40
    places = [(k * 7 % count) * 64 for k in range(count)] if count % 7 else [(count - 1 - k) * 64 for k in range(count)]
    for k, at in enumerate(places):
        p.ma.pattern(60 + size * k, at, size)  # byte i of a piece is byte size * k + i of one pattern
    source = [p.ma.sge(at, size) for at in places]
    total = size * count
    if op == "write":
        posted = p.a.post([{"opcode": "RDMA_WRITE", "sges": source, "remote": p.mb.remote(8192)}], must=False)
        if not posted.whole and count > 1:
            t.notice("8.1.2.2-02", f"a Write of {count} SGEs", posted.said, OK, "B66")
            alive(t)
            return
        got = p.b.recv(p.mb.sge(0, 8))
        good([*posted.wrs, p.a.send(p.ma.sge(0, 8)), got], "8.1.2.2-02", f"a Write of {count} SGEs")
        t.require(p.mb.wrong(60, 8192, total) == 0, "8.1.2.2-02", "the bytes of a Write", "wrong", "those of the list, in order")
    else:
        sinks = [p.mb.sge(64 * (count - 1 - k), size) for k in range(count)]
        wr = p.b.recv(*sinks)
        sent = p.a.post([{"opcode": "SEND", "sges": source}], must=False)
        if not t.require(sent.whole, "8.1.3.2-01", f"posting a Send of {count} SGEs", sent.said, OK):
            return
        good([*sent.wrs, wr], "8.1.3.2-01", f"a Send and a Receive of {count} SGEs")
        wrong = [k for k in range(count) if p.mb.wrong(60 + size * k, 64 * (count - 1 - k), size)]
        t.require(not wrong, "8.1.3.2-01", "pieces of a message in the wrong place", wrong, "none")
        if wr.wc is not None and wr.good:
            t.require(wr.wc.byte_len == total, "8.1.3.2-05", "byte_len of a message of several buffers", wr.wc.byte_len, total)
        if count == 4:
            t.require(not wrong and wr.good, "8.1.3.2-10", "four SGEs in a Send and a Receive", wr.status, "success")
    alive(t, p)


def sums(t: Verbs) -> None:
    """Pieces of 1, 0, 7 and 100 bytes, gathered and scattered."""
    if min(node.attr("max_sge") for node in nodes(t)) < 4:
        t.skip("the device has fewer than 4 SGEs in a list")
    p = pair(t, sq_sges=4, rq_sges=4)
    wr = p.b.recv(p.mb.sge(0, 200))
    good([p.a.send(p.ma.sge(0, 1), p.ma.sge(10, 0), p.ma.sge(20, 7), p.ma.sge(64, 100)), wr], "8.1.3.2-05", "a Send of four pieces")
    if wr.wc is not None and wr.good:
        t.require(wr.wc.byte_len == 108, "8.1.3.2-05", "byte_len of 1, 0, 7 and 100 bytes", wr.wc.byte_len, 108)
    places = [(300, 1), (310, 0), (320, 7), (364, 100)]
    p.ma.pattern(9, 0, 108)
    sent = p.ma.read(0, 108)
    good([p.b.recv(*[p.mb.sge(*place) for place in places]), p.a.send(p.ma.sge(0, 108))], "8.1.3.2-01", "a Receive of four pieces")
    seen = b"".join(p.mb.read(*place) for place in places)
    t.require(seen == sent, "8.1.3.2-01", "the bytes of a Receive of four pieces, one of them empty", seen.hex(), sent.hex())


def too_large(t: Verbs) -> None:
    """Two pieces of 2^31 and 2^31 + 8 bytes: their sum has 33 bits."""
    p = pair(t, sq_sges=2)
    got = receives(p.b, p.mb, 1)
    made = p.a.post([{"opcode": "SEND", "sges": [p.ma.at(0, 1 << 31), p.ma.at(0, (1 << 31) + 8)]}], must=False)
    t.reap(made.wrs)
    for wr in made.wrs:
        t.require(wr.status in TOO_LARGE | LOCAL, "8.1.3.2-03", "a Send of 2^32 + 8 bytes", wr.status, "an error")
    t.reap(got, t.quiet_us)
    t.require(not got[0].good, "8.1.3.2-03", "a Send of 2^32 + 8 bytes", "arrived", "never")


def one_more(t: Verbs) -> None:
    """A WR with one SGE more than was granted, on each queue."""
    p = pair(t)
    for queue, qp, mem in (("sq", p.a, p.ma), ("rq", p.b, p.mb)):
        count = qp.cap[f"{queue}_sges"] + 1
        wr: dict[str, Any] = {"sges": [mem.sge(0, 1) for _ in range(count)]}
        made = qp.post([{**wr, "opcode": "SEND"} if queue == "sq" else wr], queue=queue, must=False)
        t.require(not made.whole, "9.3.1.1-04", f"a WR of {count} SGEs on the {queue}", made.said, REFUSED)
    message(p, SLOT, 4, row="9.3.1.1-04")
    bad, size = {"sges": [p.mb.sge(0, 1)] * (p.b.cap["rq_sges"] + 1)}, min(p.b.size("rq"), 64)
    if all(not p.b.post([bad], queue="rq", must=False).wrs for _ in range(size)):  # they take no room
        full = p.b.post([{"sges": [p.mb.sge(0, 8)]}] * size, queue="rq", must=False)
        t.require(full.whole, "8.3.1-01", f"{size} Receives behind as many that were refused", full.said, OK)


_IDS = {"zero": 0, "top": 1 << 63, "ones": (1 << 64) - 1, "mixed": 0x0123456789ABCDEF}


@verbs(60, "What a WC tells", "6.1.1-07 8.1.2.1-05 9.3.1.1-01..03 9.3.1.1-05 9.3.2.1-01..04 9.3.2.1-06", errata="B37 B38 B54 B64",
       variants=[*each("id", _IDS), *each("what", ["operations", "rubbish", "unsupported", "invalidating", "one-by-one",
                                                   "empty"])])  # fmt: skip
def completions(t: Verbs) -> None:
    """The wr_id as it was given, whatever the status; the operation, the length and the QP on success."""
    p = pair(t, sq_size=32, rq_size=32)
    what = t.params.get("what", "id")
    {"id": ids, "operations": operations, "rubbish": rubbish, "unsupported": unsupported, "invalidating": invalidating,
     "one-by-one": one_by_one, "empty": empty}[what](t, p)  # fmt: skip
    alive(t)


def ids(t: Verbs, p: Pair) -> None:
    """The same number on success, on an error and on a flush."""
    number = t.params["id"]
    given = f"{number:016x}"
    got = p.b.recv(p.mb.sge(0, SLOT), wr_id=given)
    good([p.a.send(p.ma.sge(0, SLOT)), got], "9.3.2.1-02", f"a Receive with wr_id {given}")
    sent = p.a.post([{"opcode": "SEND", "sges": [unknown(t, p.ma)], "wr_id": f"{number ^ 1:016x}"},
                     {"opcode": "SEND", "sges": [p.ma.sge(0, SLOT)], "wr_id": f"{number ^ 2:016x}"}], must=False).wrs  # fmt: skip
    t.reap(sent)
    for wr in sent[:1]:
        t.require(wr.status in LOCAL, "9.3.2.1-04", "the status of a Send from memory that is not registered", wr.status,
                  " or ".join(sorted(LOCAL)))  # fmt: skip


def operations(t: Verbs, p: Pair) -> None:
    """Each operation that the provider has to take."""
    got = receives(p.b, p.mb, 2)
    wrs: list[dict[str, Any]] = [
        {"opcode": "SEND", "sges": [p.ma.sge(0, SLOT)]},
        {"opcode": "SEND", "sges": [p.ma.sge(0, 17)], "flags": ["SIGNALED", "SOLICITED"]},
        {"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, SLOT)], "remote": p.mb.remote(4096)},
    ]  # fmt: skip
    if has_read(t):
        wrs.append({"opcode": "RDMA_READ", "sges": [p.ma.sge(4096, SLOT)], "remote": p.mb.remote(4096)})
    for wr in wrs:
        made = p.a.post([wr], must=False)
        t.require(made.whole, "9.3.1.1-01", f"{wr['opcode']} {wr.get('flags', '')}", made.said, OK)
        good(made.wrs, "9.3.1.1-01", f"{wr['opcode']} {wr.get('flags', '')}")
    good(got, "9.3.1.1-01", "the Receives of both Sends")
    seen = [wr.wc.byte_len for wr in got if wr.wc is not None and wr.good]
    t.require(seen == [SLOT, 17], "8.1.2.1-05", "byte_len of the Receives", seen, [SLOT, 17])


def rubbish(t: Verbs, p: Pair) -> None:
    """A Send with everything filled that other operations use."""
    region = p.mb.read(4096, SLOT)
    got = p.b.recv(p.mb.sge(0, SLOT))
    p.ma.pattern(6, 0, SLOT)
    sent = p.a.send(p.ma.sge(0, SLOT), remote=p.mb.remote(4096), invalidate=p.mb.rkey)
    good([sent, got], "9.3.1.1-03", "a Send with values that it does not use")
    t.require(p.mb.wrong(6, 0, SLOT) == 0, "9.3.1.1-03", "its bytes", "wrong", "those sent")
    t.require(p.mb.read(4096, SLOT) == region, "9.3.1.1-03", "memory that it names and does not use", "changed", "as it was")
    message(p, SLOT, 7, row="9.3.1.1-03")
    wrote = p.a.write(p.mb.remote(4096), p.ma.sge(0, SLOT))
    good([wrote], "9.3.1.1-03", "a Write to the region that a Send named without use")


def unsupported(t: Verbs, p: Pair) -> None:
    """Atomic operations, where the device has none."""
    _, other = nodes(t)
    if not other.attributes.get("atomic_cap") in (0, None, "ATOMIC_NONE", "NONE"):
        t.skip("the device has atomic operations")
    before = p.mb.read(4096, 16)
    for name in ("ATOMIC_FETCH_AND_ADD", "ATOMIC_CMP_AND_SWP"):
        q = pair(t)
        made = q.a.post([{"opcode": name, "sges": [q.ma.sge(0, 8)], "remote": q.mb.remote(4096)}], must=False)
        t.reap(made.wrs)
        for wr in made.wrs:
            t.require(not wr.good and wr.status in UNSUPPORTED, "9.3.1.1-05",
                      f"{name}, which the device does not have", wr.status, sorted(UNSUPPORTED))  # fmt: skip
    t.require(p.mb.read(4096, 16) == before, "9.3.1.1-05", "memory of an operation that is not there", "changed", "as it was")


def invalidating(t: Verbs, p: Pair) -> None:
    """Whether Send with Invalidate is taken (iWARP)."""
    spare = p.b.node.mem(64)
    got = p.b.recv(p.mb.sge(0, SLOT))
    made = p.a.post([{"opcode": "SEND_WITH_INV", "sges": [p.ma.sge(0, SLOT)], "invalidate": spare.rkey}], must=False)
    if not made.whole and not t.pics["send_with_inv"]:
        t.notice("9.3.1.1-02", "Send with Invalidate", made.said, OK, "B64")
    elif t.iwarp:
        t.require(made.whole, "9.3.1.1-02", "Send with Invalidate", made.said, OK)
    t.reap([*made.wrs, got])


def one_by_one(t: Verbs, p: Pair) -> None:
    """Polled one by one and all at once: the same sequence."""
    for most in (1, 8):
        got = receives(p.b, p.mb, 8)
        good(p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(SLOT * k, SLOT)]} for k in range(8)]).wrs, "6.2.2-04", "Sends")
        settled(p)
        t.wait(t.quiet_us // 2)
        seen: list[int] = []
        while len(seen) < 8:
            part = p.b.recv_cq.poll(most, t.bound_us // 8)
            if not part:
                break
            t.require(len(part) <= most, "9.3.2.1-01", f"WCs of a poll for {most}", len(part), f"{most} at most")
            seen += [wc.wr_id for wc in part]
        wanted = [wr.wr_id for wr in got]
        t.require(seen == wanted, "9.3.2.1-01", f"the sequence of WCs, polled {most} at a time", [wanted.index(i) for i in seen
                  if i in wanted], list(range(8)))  # fmt: skip


def empty(t: Verbs, p: Pair) -> None:
    """A CQ with nothing in it."""
    for cq in (p.a.send_cq, p.a.recv_cq, p.a.node.cq(8)):
        nothing(t, cq)
    good([p.a.write(p.mb.remote(0), p.ma.sge(0, 8))], "6.2.2-04", "a Write")
    nothing(t, p.a.send_cq)


def nothing(t: Verbs, cq: Cq) -> None:
    """A poll that gives no WC and is no failure."""
    call = cq.node.call("PollCq", cq=cq.cq, max=4)
    t.require(returned(call) and call.result().get("wcs") == [], "9.3.2.1-06", "polling an empty CQ", call.result(), "0")


@verbs(61, "The account of many WRs", "6.2.1.3-03 6.2.3-05 6.2.4-02 6.2.4-05 8.2.3-01 8.2.4-01 8.2.4-04 9.5.2-01", errata="B14 B15",
       variants=each("what", ["thousand", "faults", "error", "middle"]))  # fmt: skip
def many(t: Verbs) -> None:
    """Each WR that was accepted has one WC, none has two, and those not carried out say so."""
    what = t.params["what"]
    p = pair(t, sq_size=64, rq_size=64)
    if what == "thousand":
        for _ in range(20):
            got = p.b.post([{"sges": [p.mb.sge(0, 8)], "times": 50}], queue="rq").wrs
            wrs = p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 8)], "times": 50}]).wrs
            if not good(wrs + got, "8.2.3-01", "1000 signaled WRs"):
                break
    elif what == "faults":
        for turn in range(6):
            q = pair(t, sq_size=64, rq_size=64)
            got = receives(q.b, q.mb, 40)  # one for each Send: a sender that waits for a Receive owes nothing (B21)
            wrs_: list[dict[str, Any]] = [{"opcode": "SEND", "sges": [q.ma.sge(0, 8)]} for _ in range(30)]
            wrs_[5 * turn + 2] = {"opcode": "SEND", "sges": [unknown(t, q.ma)]}
            made = q.a.post(wrs_, must=False).wrs
            late = q.a.post([{"opcode": "SEND", "sges": [q.ma.sge(0, 8)], "times": 10}], must=False, row="6.2.3-05").wrs
            ending(t, made + late, "6.2.4-02", f"WRs around a fault (round {turn})")
            missing = sum(not wr.wcs for wr in made + late)
            t.require(not missing, "6.2.4-02", f"WRs around a fault that have no WC (round {turn})", missing, 0)
            del got
    elif what == "error":
        wrs = receives(p.b, p.mb, 40, length=8)
        good(p.a.post([{"opcode": "SEND", "sges": [p.ma.sge(0, 8)], "times": 20}]).wrs, "6.2.2-04", "Sends")
        settled(p)
        p.b.flush()
        t.reap(wrs)
        t.require(all(wr.good for wr in wrs[:20]), "6.2.1.3-03", "WCs that stood in the CQ when the QP left RTS",
                  sorted({wr.status for wr in wrs[:20]}), "success")  # fmt: skip
        t.require(all(wr.good for wr in wrs[:20]), "8.2.4-01", "WCs that nobody polled before Error",
                  sorted({wr.status for wr in wrs[:20]}), "success")  # fmt: skip
        flushed(wrs[20:], "9.5.2-01", "Receives that were not used")
    else:
        wrs_ = [{"opcode": "SEND", "sges": [p.ma.sge(0, 8)]} for _ in range(8)]
        wrs_[4] = {"opcode": "SEND", "sges": [unknown(t, p.ma)]}
        got = receives(p.b, p.mb, 8)
        made = p.a.post(wrs_, must=False).wrs
        t.reap(made)
        if len(made) > 4:
            t.require(made[4].status in LOCAL, "6.2.4-05", "the WR at fault in the middle of others", made[4].status, "its error")
        del got
    alive(t)


@verbs(62, "Nothing after Error", "6.2.2.4-04 6.2.3-01 6.4-02", variants=each("what", ["error", "stream", "fault"]))
def nothing_after(t: Verbs) -> None:
    """When the QP has left RTS nothing is sent, placed, read or delivered; what was delivered is a prefix."""
    what, (one, other) = t.params["what"], nodes(t)
    p = pair(t, 32768, sq_size=one.room(128), rq_size=other.room(128))
    count = min(100, p.a.size("sq"), p.b.size("rq"))
    if what == "error":
        p.ma.pattern(4)
        t.require(p.a.to("ERR"), "6.2.2.4-01", "a move from RTS to Error", REFUSED, OK)
        p.ma.write(b"\x44" * 256, 0)
        p.mb.write(b"\x45" * 256, 4096)
        sink = bytes(p.mb.read(8192, 64))
        wrs: list[dict[str, Any]] = [{"opcode": "RDMA_WRITE", "sges": [p.mb.sge(4096, 64)], "remote": p.ma.remote(0)}]
        if has_read(t):
            wrs.append({"opcode": "RDMA_READ", "sges": [p.mb.sge(8192, 64)], "remote": p.ma.remote(0)})
        for wr in wrs:
            p.b.post([wr], must=False, row="6.2.3-05")
        t.wait(t.quiet_us)
        t.require(p.ma.read(0, 256) == b"\x44" * 256, "6.2.2.4-04", "a Write into a QP in Error", "landed", "nothing lands")
        t.require(p.mb.read(8192, 64) == sink, "6.2.2.4-04", "a Read from a QP in Error", "brought bytes", "nothing comes")
    elif what == "stream":
        got = receives(p.b, p.mb, count)
        for k in range(count):
            p.ma.pattern(k, SLOT * k, SLOT)
        wrs = [{"opcode": "SEND", "sges": [p.ma.sge(SLOT * k, SLOT)]} for k in range(count)]
        p.a.post(wrs[: count // 2])
        p.a.post(wrs[count // 2 :])
        p.b.flush()
        t.reap(got)
        states = [wr.good for wr in got]
        t.require(all(states[: sum(states)]), "6.4-02", "Receives that succeeded", [k for k, s in enumerate(states) if s][-3:],
                  "the first ones")  # fmt: skip
        wrong = [k for k in range(count) if states[k] and p.mb.wrong(k, SLOT * k, SLOT)]
        t.require(not wrong, "6.4-02", "messages that are not those of their place", wrong, "none")
    else:
        region = p.mb.read(16384, 64)
        got = receives(p.b, p.mb, 4)
        bad = {"opcode": "SEND", "sges": [unknown(t, p.ma)]}
        behind: list[dict[str, Any]] = [{"opcode": "SEND", "sges": [p.ma.sge(0, 8)]}]
        behind.append({"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 64)], "remote": p.mb.remote(16384)})
        p.ma.write(b"\x66" * 64, 0)
        made = p.a.post([bad, *behind], must=False).wrs
        t.reap(made)
        t.reap(got, t.quiet_us)
        if made:
            t.require(not any(wr.good for wr in got), "6.2.3-01", "a Send behind a local fault", "arrived", "never")
            t.require(p.mb.read(16384, 64) == region, "6.2.3-01", "a Write behind a local fault", "landed", "never")
    alive(t)


@verbs(73, "Buffers after their WC", "8.2.4-03", variants=each("op", ["recv", "read", "send"]))
def afterwards(t: Verbs) -> None:
    """Nobody touches the memory of a WR any more; what was sent is what stood there."""
    op = t.params["op"]
    if op == "read":
        need_read(t)
    p = pair(t, 8192)
    for turn in range(20):
        p.ma.pattern(turn, 0, 256)
        if op == "send":
            got = p.b.recv(p.mb.sge(0, 256))
            sent = p.a.send(p.ma.sge(0, 256))
            t.reap([sent])
            p.ma.write(b"\x11" * 256, 0)
            good([sent, got], "6.2.2-04", "a Send")
            t.require(p.mb.wrong(turn, 0, 256) == 0, "8.2.4-03", "a message whose source was changed after its WC",
                      "changed bytes", "those from before")  # fmt: skip
            continue
        if op == "recv":
            wrs: list[Wr] = [p.b.recv(p.mb.sge(0, 256)), p.a.send(p.ma.sge(0, 256))]
            sink = p.mb
        else:
            wrs, sink = [p.a.read(p.mb.remote(0), p.ma.sge(1024, 256))], p.ma
        good(wrs, "6.2.2-04", "a transfer")
        at = 0 if op == "recv" else 1024
        sink.write(bytes([turn]) * 256, at)
        good([p.b.recv(p.mb.sge(4096, 64)), p.a.send(p.ma.sge(0, 64))], "6.2.2-04", "traffic behind it")
        t.require(sink.read(at, 256) == bytes([turn]) * 256, "8.2.4-03", f"a buffer that was filled after its WC ({op})",
                  "changed", "as it was filled")  # fmt: skip
    t.wait(t.quiet_us // 2)
    if op != "send":
        t.require(sink.read(at, 256) == bytes([19]) * 256, "8.2.4-03", f"a buffer that was filled after its WC ({op})",
                  "changed later", "as it was filled")  # fmt: skip
    alive(t, p)


@verbs(81, "Long and empty messages", "8.1.2.1-06 8.1.3.2-06",
       variants=product(each("op", ["send", "write", "read"]),
                        each("length", {"none": 0, "1m": 1 << 20, "16m": 1 << 24})))  # fmt: skip
def long_messages(t: Verbs) -> None:
    """They are longer than any segment, or have no byte, and arrive whole."""
    op, length = t.params["op"], t.params["length"]
    if op == "read":
        need_read(t)
    limit = min(int(node.port.get("max_msg_sz") or 0) or length for node in nodes(t))
    length = min(length, limit)
    row = "8.1.3.2-06" if length == 0 else "8.1.2.1-06"
    p = pair(t, max(length, 4096))
    if not length:
        empty_posts(t, p, op)
    (p.mb if op == "read" else p.ma).pattern(17, 0, length or 64)
    if op == "send":
        got = p.b.recv(p.mb.sge(0, length))
        good([p.a.send(p.ma.sge(0, length)), got], row, f"a Send of {length} bytes")
        if got.wc is not None and got.good:
            t.require(got.wc.byte_len == length, row, "byte_len of its Receive", got.wc.byte_len, length)
    else:
        post = p.a.write if op == "write" else p.a.read
        good([post(p.mb.remote(0), p.ma.sge(0, length))], row, f"a {op} of {length} bytes")
        if op == "write":
            got = p.b.recv(p.b.node.mem(8).sge())
            good([p.a.send(p.ma.sge(0, 8)), got], row, "a Send behind it")
    sink = p.ma if op == "read" else p.mb
    if length:
        t.require(sink.wrong(17, 0, length) == 0, row, f"the bytes of a {op} of {length}", "wrong", "all right")
    alive(t)


def empty_posts(t: Verbs, p: Pair, op: str) -> None:
    """Whether an operation of length zero is taken at all."""
    names = {"send": "SEND", "write": "RDMA_WRITE", "read": "RDMA_READ"}
    got = [p.b.recv(p.mb.sge(0, 8))] if op == "send" else []
    made = p.a.post([{"opcode": names[op], "sges": [p.ma.sge(0, 0)], **({} if got else {"remote": p.mb.remote(0)})}], must=False)
    if not t.require(made.whole, "8.1.3.2-06", f"a {op} of length zero", made.said, OK):
        t.lack("nothing of length zero can be posted")
    good([*made.wrs, *got], "8.1.3.2-06", f"a {op} of length zero")


@verbs(82, "A Read of length zero as fence", "6.6.2.5-01 8.2.2.2-05", variants=each("rkey", ["good", "unknown"]))
def zero_fence(t: Verbs) -> None:
    """When it is done everything before it is there, whatever its STag."""
    need_read(t)
    p = pair(t, 65536)
    for turn in range(20):
        p.ma.pattern(turn + 3, 0, 32768)
        rkey = p.mb.rkey if t.params["rkey"] == "good" else unknown(t, p.mb)["lkey"]
        got = p.b.recv(p.mb.sge(65536 - 64, 64))
        made = p.a.post([
            {"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 32768)], "remote": p.mb.remote(0)},
            {"opcode": "SEND", "sges": [p.ma.sge(0, 64)]},
            {"opcode": "RDMA_READ", "sges": [p.ma.sge(40000, 0)], "remote": p.mb.remote(0, rkey=rkey)},
        ]).wrs  # fmt: skip
        if not good(made, "8.2.2.2-05", f"a Read of length zero with {'a good' if rkey == p.mb.rkey else 'an unknown'} STag"):
            break
        # at once: the Receive's WC may take its time, and its being there would say the same of the Write (8.2.2)
        t.require(p.mb.wrong(turn + 3, 0, 32768) == 0, "6.6.2.5-01", "a Write before a Read that is done", "not there", "there")
        t.reap([got], t.bound_us // 4)
        t.require(got.good, "6.6.2.5-01", "the Receive of a Send before a Read that is done", got.status, "success")
    alive(t)


@verbs(93, "The two ends of a Read", "8.1.2.2-03..04 8.1.3.3-01..02", errata="B66",
       variants=each("what", ["odd", "own-key", "more", "one-place"]))  # fmt: skip
def two_ends(t: Verbs) -> None:
    """A Read has one buffer here and one place there, byte by byte; a Write has one place there. The place is the peer's."""
    what = t.params["what"]
    if what != "one-place":
        need_read(t)
    p = pair(t, sq_sges=min(2, min(node.attr("max_sge") for node in nodes(t))))
    if what == "odd":
        for at, size in ((1, 1), (3, 61), (17, 1000), (4095, 3)):
            p.mb.pattern(at, 7, size)
            good([p.a.read(p.mb.remote(7), p.ma.sge(at, size))], "8.1.2.2-03", f"a Read of {size} bytes to offset {at}")
            t.require(p.ma.wrong(at, at, size) == 0, "8.1.2.2-03", "its bytes", "wrong", "those read")
            beside = p.ma.read(at + size, 8) + p.ma.read(at - 1, 1)
            t.require(beside == bytes([p.ma.fill]) * 9, "8.1.2.2-03", "bytes beside them", "changed", "as they were")
            p.ma.write(bytes([p.ma.fill]) * (size + 16), max(at - 8, 0))
    elif what == "own-key":
        if p.ma.rkey in [m.rkey for m in t.account.mems if m.node is p.b.node]:
            t.lack("both ends gave the same number")
        p.mb.pattern(2, 100, 64)
        good([p.a.read(p.mb.remote(100), p.ma.sge(0, 64))], "8.1.2.2-04", "a Read by the peer's STag")
        t.require(p.ma.wrong(2, 0, 64) == 0, "8.1.2.2-04", "its bytes", "wrong", "the peer's")
        own = p.a.node.pd_new()  # of no use to the peer's QP, even where both ends are one device
        mine = p.a.node.mem(256, pd=own)
        if mine.rkey in [m.rkey for m in t.account.mems if m.node is p.b.node]:
            t.lack("both ends gave the same number")
        p.ma.write(b"\x77" * 64, 512)
        made = p.a.post([{"opcode": "RDMA_READ", "sges": [p.ma.sge(512, 64)], "remote": mine.remote(0)}], must=False).wrs
        t.reap(made)
        t.require(not any(wr.good for wr in made), "8.1.2.2-04", "a Read by an STag of this end", "success", "an error")
        seen = moved(p.ma.read(512, 64), bytes([mine.fill]) * 64)
        t.require(not seen, "8.1.2.2-04", "its sink", "bytes of this end's region", "none of them")
    elif what == "more":
        sges = [p.ma.sge(0, 32), p.ma.sge(64, 32)]
        twofold = p.a.post([{"opcode": "RDMA_READ", "sges": sges, "remote": p.mb.remote(0)}], must=False)
        t.reap(twofold.wrs)
        taken = twofold.whole and all(wr.good for wr in twofold.wrs)
        if taken and p.a.node.attr("max_sge_rd") < 2:
            t.notice("8.1.3.3-01", "a Read with two buffers", "taken", REFUSED, "B66")
        q = pair(t)
        good([q.a.read(q.mb.remote(0), q.ma.sge(0, 64))], "8.1.3.3-01", "a Read with one buffer")
    else:
        sges = [p.ma.sge(0, 32), p.ma.sge(64, 32)]
        p.ma.pattern(5, 0, 32)
        p.ma.pattern(37, 64, 32)
        wrote = p.a.post([{"opcode": "RDMA_WRITE", "sges": sges, "remote": p.mb.remote(1000)}], must=False)
        if wrote.whole:
            got = p.b.recv(p.mb.sge(0, 8))
            good([*wrote.wrs, p.a.send(p.ma.sge(0, 8)), got], "8.1.3.3-02", "a Write of two buffers")
            t.require(p.mb.wrong(5, 1000, 64) == 0, "8.1.3.3-02", "the bytes of a Write of two buffers", "apart", "in one piece")
        else:
            t.notice("8.1.3.3-02", "a Write of two buffers", wrote.said, OK, "B66")
    alive(t)


@verbs(94, "RDMA uses no Receive", "8.1.2.1-01 8.1.2.2-01", variants=each("op", ["write", "read", "both"]))
def no_receive_used(t: Verbs) -> None:
    """A hundred of them leave two Receives alone, and each of two Sends then uses one."""
    op = t.params["op"]
    if op != "write":
        need_read(t)
    p = pair(t, sq_size=64)
    got = receives(p.b, p.mb, 4)
    for _ in range(2):
        wrs: list[dict[str, Any]] = []
        for k in range(50):
            name = "RDMA_READ" if op == "read" or (op == "both" and k % 2) else "RDMA_WRITE"
            wrs.append({"opcode": name, "sges": [p.ma.sge(1024, 64)], "remote": p.mb.remote(1024)})
        good(p.a.post(wrs).wrs, "8.1.2.2-01", f"50 RDMA operations ({op})")
    p.b.recv_cq.silent("8.1.2.2-01", "WCs of Receives behind RDMA operations", t.quiet_us // 2)
    good([*(p.a.send(p.ma.sge(0, 64)) for _ in range(2)), *got[:2]], "8.1.2.2-01", "two Sends into the Receives that were there")
    settled(p)
    p.b.recv_cq.empty()
    unused = [wr.status for wr in got[2:] if wr.wcs]
    t.require(not unused, "8.1.2.1-01", "Receives that no Send was for", unused, "unused")
    alive(t)
