"""Checks: The states of a QP (6.2, Figures 7 to 11)."""

from __future__ import annotations

from .checks import FLUSHED, Make, SOON, SUCCESS, alive, among, check, errors, over, reads, same, told


@check()
def idle_moves(make: Make) -> None:
    """Figure 7: Idle to Idle and to Error; not to Closing, to Terminate, or to RTS without a stream."""
    pair = make(join=False)
    left, ib = pair.left, pair.agent.flavour == "ib"
    init = {"port_num": 1, "pkey_index": 0, "access": []} if ib else {}
    same(left.to("INIT", **init)["return"], "success")
    same(left.to("INIT", **init)["return"], "success")
    for state in ("SQD", "RTS") if ib else ("SQD", "SQE", "RTS"):
        same(left.to(state)["return"], "immediate-error")
        among(left.state(), ("RESET", "INIT"))
    same(left.receive([pair.source.sge(8)], 3, 2)["return"], "success")
    same(left.received(1, SOON), [])
    same(left.to("ERR")["return"], "success")
    same(left.received(2), [(3, FLUSHED), (4, FLUSHED)])
    same(left.state(), "ERR")
    for state in ("RTS", "SQD") if ib else ("RTS", "SQD", "SQE"):
        same(left.to(state)["return"], "immediate-error")
        same(left.state(), "ERR")
    assert pair.agent.until(lambda: left.to("RESET")["return"] == "success", 0.4), "Error is not left"
    among(left.state(), ("RESET", "INIT"))


@check("iwarp")
def idle_sends_wait(make: Make) -> None:
    """Sends taken in Idle are not processed there, and start in RTS (6.2.1, 6.2.2)."""
    pair = make(join=False)
    taken = pair.left.post("SEND", [pair.source.sge(8)], 4)["return"] == "success"
    same(pair.left.sent(1, SOON), [])
    same(pair.right.receive([pair.sink.sge(16)], 5)["return"], "success")
    pair.join()
    if taken:
        same(pair.left.sent(), [(4, SUCCESS)])
        same(pair.right.received(), [(5, SUCCESS)])


@check()
def first_message(make: Make) -> None:
    """The peer's first message is not lost, however soon it comes; Receives posted before are used (6.2.1.2)."""
    pair = make(join=False)
    if pair.agent.flavour == "ib":
        for end in (pair.left, pair.right):
            end.to("INIT", port_num=1, pkey_index=0, access=["REMOTE_READ", "REMOTE_WRITE"])
    pair.right.receive([pair.sink.sge(8)], 6, 2)
    pair.join()
    pair.left.post("SEND", [pair.source.sge(8)], 1)
    same(pair.right.received(), [(6, SUCCESS)])
    same(pair.sink.get(8), "a1" * 8)


@check()
def rts_moves(make: Make) -> None:
    """Figure 8: RTS to Idle is refused (by way of INIT), to Error allowed; the QP's WRs are flushed."""
    pair = make()
    left, right = pair.left, pair.right
    same(left.to("INIT")["return"], "immediate-error")
    if pair.agent.flavour == "iwarp":
        same(left.to("RESET")["return"], "immediate-error")
    alive(pair)
    left.receive([pair.source.sge(8)], 1, 3)
    right.receive([pair.sink.sge(8)], 1, 3)
    same(left.to("ERR")["return"], "success")
    same(left.received(3), [(1, FLUSHED), (2, FLUSHED), (3, FLUSHED)])
    same(left.received(1, SOON), [])
    if pair.agent.flavour == "iwarp":
        same(right.received(3), [(1, FLUSHED), (2, FLUSHED), (3, FLUSHED)])
        same(right.state(), "ERR")
        assert over(pair, right), "the peer was not told of the reset"


@check()
def reuse(make: Make) -> None:
    """After Error and Idle the QP serves a new stream, in which nothing of the old one comes (6.2.4, 6.2.1.2)."""
    pair = make(settings_also=("irrq=late",))
    alive(pair)
    reading = reads(pair)
    for index in range(4 if reading else 0):
        pair.left.post("RDMA_READ", [pair.source.sge(8)], 20 + index, remote=pair.sink.remote())
    pair.left.to("ERR")
    if reading:
        pair.left.sent(4)
    if pair.agent.flavour == "ib":
        pair.right.to("ERR")
    pair.agent.until(lambda: pair.right.state() == "ERR", 0.4)
    for end in (pair.left, pair.right):
        assert pair.agent.until(lambda: end.to("RESET")["return"] == "success", 0.4), "Error is not left"
    pair.join()
    pair.right.receive([pair.sink.sge(16)], 7, 2)
    pair.left.post("SEND", [pair.source.sge(16)], 8)
    same(pair.left.sent(), [(8, SUCCESS)])
    same(pair.right.received(2, SOON), [(7, SUCCESS)])
    if reading:
        pair.left.post("RDMA_READ", [pair.source.sge(8)], 9, remote=pair.sink.remote())
        same(pair.left.sent(), [(9, SUCCESS)])


@check("iwarp")
def idle_waits_for_the_flush(make: Make) -> None:
    """Modify QP to Idle fails while WRs are flushed; none is lost (6.2.4)."""
    pair = make(settings_also=("flush=late",))
    pair.right.receive([pair.sink.sge(8)], 1, 4)
    pair.right.to("ERR")
    pair.right.to("RESET")
    same(pair.right.received(4, 0.1), [(index, FLUSHED) for index in range(1, 5)])


@check()
def posts_in_error(make: Make) -> None:
    """Posts in Error are refused, or flushed (Figure 10)."""
    pair = make()
    pair.left.to("ERR")
    pair.agent.rest(0.01)
    if pair.left.post("SEND", [pair.source.sge(8)], 8)["return"] == "success":
        same(pair.left.sent(1, 0.1), [(8, FLUSHED)])
    if pair.left.receive([pair.source.sge(8)], 8)["return"] == "success":
        same(pair.left.received(1, 0.1), [(8, FLUSHED)])


@check("iwarp")
def orderly_close(make: Make) -> None:
    """Figure 11: Receives flushed at both ends, each told, no error event, Idle in the end, and a new stream."""
    pair = make()
    agent = pair.agent
    pair.left.receive([pair.source.sge(8)], 1, 2)
    pair.right.receive([pair.sink.sge(8)], 1, 2)
    agent.verb("Disconnect", qp=pair.left.qp)
    for end in (pair.left, pair.right):
        same(end.received(2), [(1, FLUSHED), (2, FLUSHED)])
        assert agent.until(lambda: bool(agent.events("cm", event="DISCONNECTED", qp=end.qp)), 0.4), "not told"
        assert agent.until(lambda: end.state() in ("RESET", "INIT", "ERR"), 0.4), end.state()
        if end.state() == "ERR":
            assert agent.until(lambda: end.to("RESET")["return"] == "success", 0.4), "Error is not left"
    same(errors(agent), [])
    pair.join()
    alive(pair)


@check("iwarp")
def close_with_work_left(make: Make) -> None:
    """The peer's close with a Send Queue that is not empty: an error that is told, and all flushed (6.2.2.2, Figure 8)."""
    pair = make(settings_also=("empty_rq=pause", "remote_error=flushed"))
    pair.right.post("SEND", [pair.sink.sge(8)], 7)
    if pair.agent.call("verbs.Disconnect", qp=pair.left.qp)["return"] != "success":
        return
    among(pair.right.sent(1, 0.3), ([(7, FLUSHED)], [(7, SUCCESS)]))
    assert told(pair, pair.left) or told(pair, pair.right), "nobody was told"


@check("iwarp")
def peer_closes_with_work(make: Make) -> None:
    """The same with work at the end that the close reaches: it is told there."""
    pair = make(settings_also=("wire=late",))
    if not reads(pair):
        return
    pair.right.post("RDMA_READ", [pair.sink.sge(8)], 7, remote=pair.source.remote(64))
    pair.agent.verb("Disconnect", qp=pair.left.qp)
    seen = pair.right.sent(1, 0.3)
    if seen != [(7, SUCCESS)]:
        same(seen, [(7, FLUSHED)])
        assert over(pair, pair.right) and (told(pair, pair.right) or told(pair, pair.left)), "no event of the bad close"


@check("iwarp")
def own_close_with_work(make: Make) -> None:
    """Closing with work left ends in Error, and is told, or the work is done first (6.2.5)."""
    pair = make(settings_also=("irrq=late",))
    if not reads(pair):
        return
    pair.left.post("RDMA_READ", [pair.source.sge(8)], 7, remote=pair.sink.remote())
    pair.agent.verb("Disconnect", qp=pair.left.qp)
    seen = pair.left.sent(1, 0.3)
    among(seen, ([(7, FLUSHED)], [(7, SUCCESS)]))
    if seen == [(7, FLUSHED)]:
        assert told(pair, pair.left), "no event of the bad close"


@check("iwarp")
def terminate_by_modify(make: Make) -> None:
    """RTS to Terminate: Error comes by itself, no event here, an event at the peer (6.2.3)."""
    pair = make()
    pair.right.receive([pair.sink.sge(8)], 1)
    same(pair.left.to("SQE")["return"], "success")
    assert pair.agent.until(lambda: pair.left.state() == "ERR", 0.1), "Terminate does not end"
    same(errors(pair.agent, qp=pair.left.qp), [])
    assert over(pair, pair.right), "the peer was not told"
    same(pair.right.received(), [(1, FLUSHED)])
