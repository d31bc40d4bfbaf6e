"""VERBS.78 to VERBS.80: connections made, refused and closed."""

from __future__ import annotations

from conformance.verbs.cases.states import second
from conformance.verbs.steps.declare import CM, IWARP, each, product, verbs
from conformance.verbs.steps.scenario import Verbs
from conformance.verbs.steps.sets import FLUSHED
from conformance.verbs.steps.session import (
    OK, REFUSED, Pair, alive, connect, flushed, good, heard, has_read, join, message, nodes, pair, receives, returned, said, start,
)  # fmt: skip


@verbs(78, "Connecting many times", "6-01 6.1.1-08 6.2.1.2-01 6.2.1.2-03..04 6.5-02 6.5-10 9.2.5.1-03",
       errata="B28 B49 B104", applies=CM, variants=each("what", ["many", "nothing-before", "granted", "beyond"]))  # fmt: skip
def many_times(t: Verbs) -> None:
    """No stream before, no first message lost, and ORD and IRD as granted."""
    one, other = nodes(t)
    what = t.params["what"]
    if what == "many":
        ma, mb = one.mem(64), other.mem(64)
        for turn in range(40):
            a, b = one.qp(send_cq=None), other.qp()
            b.idle()
            got = b.recv(mb.sge(0, 64))
            connect(a, b)
            ma.pattern(turn, 0, 64)
            sent = a.send(ma.sge(0, 64))
            if not good([sent, got], "6.2.1.2-04", f"the first message of connection {turn}"):
                break
            t.require(mb.wrong(turn, 0, 64) == 0, "6.2.1.2-04", "its bytes", "wrong", "those sent")
            back = a.recv(ma.sge(0, 64))
            good([b.send(mb.sge(0, 64)), back], "6.2.1.2-03", "a message back")
            for qp in (a, b):
                qp.flush()
                qp.destroy()
                for cq in (qp.send_cq, qp.recv_cq):
                    cq.empty()
                    cq.destroy()
    elif what == "nothing-before":
        a, b = one.qp(), other.qp()
        b.idle()
        mem = other.mem(64)
        wr = b.recv(mem.sge(0, 8))
        other.listener()
        before = len(t.told)
        b.recv_cq.silent("6.1.1-08", "WCs of a QP without a stream")
        t.require(not [e for e in t.told[before:] if e.kind == "connect-request"], "6.1.1-08", "requests for a connection",
                  "some came", "none")  # fmt: skip
        connect(a, b)
        start(Pair(a, b, one.mem(64), mem), wr)
    elif what == "granted":
        if not has_read(t):
            t.skip("the device has no RDMA Read")
        for ord, ird in ((1, 1), (2, 4), (4, 2), (4, 4)):
            ord = min(ord, one.attr("max_qp_init_rd_atom"))
            ird = min(ird, one.attr("max_qp_rd_atom"))
            a, b = one.qp(), other.qp()
            p = Pair(a, b, one.mem(1024), other.mem(1024))
            b.idle()
            first = b.recv(p.mb.sge(0, 8))
            made = connect(a, b, ord=ord, ird=ird)
            for name, asked in (("ord", ord), ("ird", ird)):
                given = made.active.result().get(name)
                most = asked if name == "ord" else 255  # an IRD above the request is not forbidden (B104)
                t.require(isinstance(given, int) and 1 <= given <= most, "9.2.5.1-03",
                          f"{name} granted", given, f"1 to {most}, where {asked} was asked for")  # fmt: skip
            told = (a.query().result().get("attributes") or {}).get("max_rd_atomic")  # which need not be filled (B28)
            t.require(not isinstance(told, int) or told <= ord, "9.2.5.1-03", f"max_rd_atomic where an ORD of {ord} was asked for",
                      told, f"{ord} at most")  # fmt: skip
            start(p, first)
            for k in range(6):
                p.mb.pattern(30 + k, 64 * k, 64)
            wrs = [a.read(p.mb.remote(64 * k), p.ma.sge(64 * k, 64)) for k in range(6)]
            if good(wrs, "6-01", f"six Reads with ORD {ord}"):
                wrong = [k for k in range(6) if p.ma.wrong(30 + k, 64 * k, 64)]
                t.require(not wrong, "6-01", "Reads with wrong data", wrong, "none")
            good([b.read(p.ma.remote(0), p.mb.sge(512, 64))], "6.5-10", "a Read the other way")
    else:
        if not has_read(t):
            t.skip("the device has no RDMA Read")
        most = one.attr("max_qp_init_rd_atom")
        a, b = one.qp(), other.qp()
        b.idle()
        first = b.recv(other.mem(64).sge(0, 8))
        del first
        _, port = b.node.listener()
        wish = {"address": other.end.address, "port": port, "ord": min(most + 1, 255), "ird": 1}
        call = one.start("Connect", qp=a.qp, **wish, Timeout=t.bound_us)
        t.until(lambda: call.done or any(e.kind == "connect-request" for e in t.told), t.bound_us)
        for told in [e for e in t.told if e.kind == "connect-request"]:
            other.start("Accept", request=told.get("request"), qp=b.qp, ord=1, ird=1, Timeout=t.bound_us)
        t.finished(call, 4 * t.bound_us)
        given = call.result().get("ord") if returned(call) else None
        t.require(not isinstance(given, int) or given <= most, "6.5-02", f"ORD granted where {most + 1} was asked for", given,
                  f"{most} at most, or a refusal")  # fmt: skip
        a.flush()
    alive(t)


@verbs(79, "A connection that does not come about", "6.2.1.2-02", errata="B49", applies=CM,
       variants=each("how", ["nobody", "rejected", "timed-out"]))  # fmt: skip
def refused(t: Verbs) -> None:
    """The QP stays Idle, and can be connected afterwards."""
    one, other = nodes(t)
    a, b = one.qp(), other.qp()
    how = t.params["how"]
    listener, port = other.listener()
    if how == "nobody":
        spare = other.call("Listen", rnic=other.rnic)
        port = spare.integer("port")
        other.call("Unlisten", listener=spare.integer("listener"))
    limit = t.bound_us
    call = one.start("Connect", qp=a.qp, address=other.end.address, port=port, ord=1, ird=1, Timeout=limit)
    if how == "rejected":
        t.until(lambda: any(e.kind == "connect-request" for e in t.told), t.bound_us)
        for told in [e for e in t.told if e.kind == "connect-request" and e.get("listener") == listener]:
            other.call("Reject", request=told.get("request"))
    t.finished(call, t.patience_us + 4 * limit)
    t.require(not returned(call), "6.2.1.2-02", f"a connection that nobody accepts ({how})", call.result().get("event"),
              "an error")  # fmt: skip
    again = a.state() not in ("RESET", "INIT")
    if again:  # librdmacm may have moved it; what counts is that it can be connected
        a.flush()
        a.reset()
    mem = other.mem(64)
    b.idle()
    wr = b.recv(mem.sge(0, 8))
    made = join(a, b)
    if not made.established:
        t.notice("6.2.1.2-02", "a second attempt to connect", made.said, "ESTABLISHED", "B49")
        a.flush()
        a.reset()
        b = other.qp()
        b.idle()
        wr = b.recv(mem.sge(0, 8))
        connect(a, b, "6.2.1.2-02")  # by way of Error, as after a stream that was there
    start(Pair(a, b, one.mem(64), mem), wr)
    alive(t)


@verbs(80, "An orderly close",
       "6.2.1.2-05 6.2.2.2-01..06 6.2.5-01 6.2.5-03 6.2.5-06..08 6.6.2.1-01", errata="B11 B19 B20 B50 B53 B80",
       applies=f"{IWARP} and {CM}",
       variants=[*product(each("who", ["local", "peer"]), each("again", ["once", "again"])),
                 *each("who", ["work", "stopped"])])  # fmt: skip
def orderly(t: Verbs) -> None:
    """Receives are flushed at both ends, both are told, nobody sees an error, and the QP can take another stream."""
    who = t.params["who"]
    if who == "stopped" and t.agents < 2:
        t.lack("this needs a process for each end: --agent2")
    p = pair(t)
    message(p, 64, 3)
    message(p.back(), 64, 4)
    mine, theirs = receives(p.a, p.ma, 8), receives(p.b, p.mb, 8)
    if who == "work":
        sent = p.b.post([{"opcode": "RDMA_WRITE", "sges": [p.mb.sge(0, 4096)], "remote": p.ma.remote(4096), "times": 8}]).wrs
        call = p.a.disconnect()
        t.require(returned(call), "6.2.2.2-05", "rdma_disconnect", said(call), OK)
        if not t.reap(sent):
            t.reap(sent, p.b.ends_within())
        missing = sum(not wr.wcs for wr in sent)
        t.require(not missing, "6.2.2.2-03", "WRs of an end whose peer closed the stream, without a WC", missing, 0)
        told = t.until(lambda: heard(t, p.b), t.bound_us)
        t.require(told, "6.2.2.2-04", "what it is told", "nothing", "an event")
        alive(t)
        return
    if who == "stopped":
        t.kill(1)
        p.a.disconnect()
        t.reap(mine, t.close_us)
        flushed(mine, "6.2.5-08", "Receives of an end that closes when its peer no longer answers")
        alive(t)
        return
    near, far = (p.a, p.b) if who == "local" else (p.b, p.a)
    call = near.disconnect()
    t.require(returned(call), "6.2.2.2-05", "rdma_disconnect of a quiet QP", said(call), OK)
    at_near, at_far = (mine, theirs) if near is p.a else (theirs, mine)
    flushed(at_near, "6.2.5-03", "Receives of the end that closes")
    left = flushed(at_far, "6.2.2.2-01", "Receives of the end whose peer closes")  # the look moves what stays to Error
    t.require(left, "6.2.5-03", "Receives of the end whose peer closes", "not flushed by the close", FLUSHED)
    for qp, row in ((near, "6.2.5-06"), (far, "6.2.2.2-04")):
        came = qp.disconnected(t.bound_us)
        if not came and qp.disconnected(t.close_us - t.bound_us):
            t.notice("6.2.5-06", "the time until the end of the close is told", f"over {t.bound_us} us", "sooner", "B20")
            came = True
        t.require(came, row, "what an end is told of the close", "nothing", "DISCONNECTED")
        if qp is near:
            state = "" if came else near.state()
            t.require(state != "SQD", "6.2.5-08", "the state when the time of a close is over", state, "no longer Closing")
        t.require(came, "6.2.5-06", "what an end is told of the close", "nothing", "DISCONNECTED")
    for qp, row in ((near, "6.2.2.2-06"), (far, "6.2.2.2-02")):
        seen = [e.event for e in t.events(qp.end, qp.qp)]
        t.require(not seen, row, "asynchronous errors of a quiet close", seen, "none")
        t.require(not seen, "6.6.2.1-01", "asynchronous errors of a quiet close", seen, "none")
    if t.params["again"] == "once":  # a Send that is accepted in Idle waits for the next stream
        late = near.post([{"opcode": "SEND", "sges": [(p.ma if near is p.a else p.mb).sge(0, 8)]}], must=False, row="6.2.5-02").wrs
        t.reap(late, t.quiet_us // 5)
        t.require(not any(wr.good for wr in late), "6.2.5-01", "a Send behind the close", "success", "never")
    idle = near.reset(t.quiet_us)
    if not idle:
        limit = near.ends_within()  # Closing may go on when librdmacm has told of the end
        way, erratum = ("by way of Error", "B50") if limit == t.bound_us else ("later", "B80")
        idle = near.reset(limit)
        if idle:
            t.notice("6.2.5-07", "the way from a closed stream to Idle", way, "at once", erratum)
    t.require(idle, "6.2.5-07", "a move to Idle after a quiet close", REFUSED, OK)
    if t.params["again"] == "again" and near is p.a:
        second(t, p.a, p.ma, "6.2.5-07")
    alive(t)
