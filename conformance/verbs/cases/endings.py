"""VERBS.96 to VERBS.98: calls while a stream comes to its end, which of several errors ends it, and what is left to clean up."""

from __future__ import annotations

from typing import Any

from conformance.verbs.cases.states import unknown
from conformance.verbs.steps.declare import CM, IWARP, MW, each, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import FLUSHED, SUCCESS, TOO_SHORT
from conformance.verbs.steps.session import (
    ALL, MW_BIND, OK, REFUSED, Qp, alive, flushed, good, pair, receives, returned, said,
)  # fmt: skip
from conformance.verbs.steps.windows import bind, invalidate, window

_REFUSED_IN_ALL = ("RTS", "SQD", "SQE")  # out of Terminate, Closing, Error and Idle: the next state may be there already
_PASSING = {"SQE": ("Terminate", "6.2.3-10"), "SQD": ("Closing", "6.2.5-09")}


@verbs(96, "Modify QP while the stream ends", "6.2.3-10 6.2.5-09", errata="B17 B50 B52 B80", applies=f"{IWARP} and {CM}",
       variants=each("how", ["fault", "terminate", "close"]))  # fmt: skip
def while_ending(t: Verbs) -> None:
    """A QP that Query QP shows in Terminate or in Closing takes no Modify QP."""
    how, p = t.params["how"], pair(t)
    if p.a.state() != "RTS":
        t.skip("Query QP does not tell the state (B52)")
    if how == "fault":
        bad = p.a.post([{"opcode": "SEND", "sges": [unknown(t, p.ma)]}], must=False)
        if not bad.wrs:
            t.lack("a Send with an unknown STag is refused at once, so that no error begins (B54)")
        t.reap(bad.wrs)
    elif how == "terminate":
        if not p.a.to("SQE"):
            t.skip("Modify QP does not take the QP to Terminate (B50)")
    elif not returned(p.a.disconnect()):
        t.lack("the stream cannot be closed, which VERBS.15 judges")
    asked = sum(_asked(t, p.a, state) for state in _REFUSED_IN_ALL)
    if not asked:
        t.skip("the device had left Terminate and Closing before it could be asked (B17)")
    alive(t)


def _asked(t: Verbs, qp: Qp, state: str) -> bool:
    """A move that no state refuses less than the one that is passed through; whether the QP was seen there."""
    name, row = _PASSING.get(qp.state(), ("", ""))
    if row:
        call = qp.modify(state=state)
        t.require(not returned(call), row, f"a move to {state} in {name}", said(call), REFUSED)
    return bool(row)


@verbs(97, "What an error leaves is cleaned up", "6.2.4-10", errata="B65 B106",
       variants=each("what", ["window", "region", "invalidate"],
                     {"window": MW, "invalidate": f"{IWARP} and local_inv"}))  # fmt: skip
def cleaned_up(t: Verbs) -> None:
    """Behind an error windows and regions can be deallocated, and another QP of the PD can invalidate a region."""
    what, p = t.params["what"], pair(t)
    mem = p.a.node.mem(256, access=(*ALL, MW_BIND) if what == "window" else ALL)
    of = window(p.a.node) if what == "window" else None
    if of is not None and not bind(p.a, of, mem).good:
        t.lack("no window can be bound, which VERBS.37 judges")
    left = p.a.post([{"sges": [mem.sge(0, 64)]}], queue="rq").wrs
    t.require(p.a.to("ERR"), "6.2.2.4-01", "a move from RTS to Error", REFUSED, OK)
    flushed(left, "6.2.4-02", "a Receive of a QP in Error")
    if of is not None:
        t.require(of.deallocate(), "6.2.4-10", "deallocating a window of a QP in Error", REFUSED, OK)
        call = p.a.destroy()
        t.require(returned(call), "6.2.4-10", "destroying a QP whose window was deallocated in Error", said(call), OK)
    elif what == "region":
        call = mem.deregister()
        t.require(returned(call), "6.2.4-10", "deallocating a region that a QP in Error had used", said(call), OK)
    else:
        q = pair(t)
        wr = invalidate(q.a, mem.rkey)
        status = "refused" if wr is None else wr.status
        t.require(status == SUCCESS, "6.2.4-10", "invalidating a region of a QP in Error by another QP", status, SUCCESS)
    alive(t)


@verbs(98, "Which of several errors ends the stream", "6.4-03", errata="B15 B44 B54",
       variants=each("what", ["receives", "write-first"]))  # fmt: skip
def first_error(t: Verbs) -> None:
    """Of the errors of what comes in, that of the message that came first counts; what is behind it is never delivered."""
    p = pair(t, sq_size=16, rq_size=16)
    sends: list[dict[str, Any]] = [{"opcode": "SEND", "sges": [p.ma.sge(0, 64)]} for _ in range(3)]
    if t.params["what"] == "receives":
        got = p.b.post([{"sges": [p.mb.sge(64 * k, size)]} for k, size in enumerate((64, 32, 16))], queue="rq").wrs
        p.a.post(sends, must=False)
        good(got[:1], "6.2.2-04", "the Receive ahead of two that are too short")
        t.reap(got[1:2])
        wanted = " or ".join(sorted(TOO_SHORT))
        t.require(got[1].status in TOO_SHORT, "6.4-03", "the first of two Receives that are too short", got[1].status, wanted)
        behind = got[2:]
    else:
        behind = receives(p.b, p.mb, 2, length=16)
        bad = {"opcode": "RDMA_WRITE", "sges": [p.ma.sge(0, 64)], "remote": p.mb.remote(0, rkey=unknown(t, p.mb)["lkey"])}
        made = p.a.post([bad, *sends], must=False)
        if not made.wrs:
            t.lack("the Write is refused at once, so that no error comes in")
        t.reap(made.wrs[:1])
    t.reap(behind, t.quiet_us)
    if any(not wr.wcs for wr in behind):
        p.b.flush()
    t.reap(behind)
    odd = [wr.status for wr in behind if not wr.flushed]
    t.require(not odd, "6.4-03", "Receives behind the first error", ", ".join(odd), FLUSHED)
    alive(t)
