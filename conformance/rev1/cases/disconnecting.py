"""Clauses 5.3.5, 5.7.2, 6.10 and 6.11: Disconnect by either side."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import case

from conformance.fcvi.steps.connection import connection_lost
from conformance.rev1.steps.connection import (
    BY_APPLICATION, BY_KERNEL, REGISTRY, Scenario, Setup, UNASSIGNED, answer_disconnect, check_disconnect, check_reason,
    check_state, connect, disconnect, expect_disconnect_resp, one_frame, send_disconnect, variants,
)  # fmt: skip
from conformance.rev1.steps.messages import (
    answered, build, exchange_a_send, expect_good, originate, pattern, post, register, respond, take, transmit, untouched,
)  # fmt: skip

_ALL = ("unreliable", "reliable-delivery", "reliable-reception")
_WAYS: list[tuple[str, dict[str, Any]]] = [
    *((f"dut/after-{n}", {"what": "dut", "messages": n}) for n in (0, 1, 3)),
    ("tester/application", {"what": "tester", "mode": BY_APPLICATION}),
    ("tester/kernel", {"what": "tester", "mode": BY_KERNEL}),
    ("crossing", {"what": "crossing"}),
]


@case(
    REGISTRY,
    "R1.5.3.5.a",
    "Disconnect",
    clause="5.3.5, 5.7.2, 6.10, 6.11",
    requirements=[
        "REV1-5.3.5-01", "REV1-5.3.5-02", "REV1-5.7.2-05", "REV1-5.7.2-06", "REV1-5.7.2-08", "REV1-6.10-01", "REV1-6.10-02",
        "REV1-6.11-01", "REV1-5.7.4-02", "REV1-5.7.6-01", "REV1-5.7.6-03",
        "FCVI-8.1-03", "FCVI-8.2-d2", "FCVI-8.2-d3",
    ],  # fmt: skip
    errata=["R07", "R12", "R23", "R38", "R39", "R41", "R45"],
    tags=["disconnect"],
    applies="(client or server) and send",
    variants=variants(levels=("unreliable", "reliable-reception"), choices=_WAYS)
    + variants(levels=("unreliable",), classes=(2,), choices=[(f"class2/{n}", c) for n, c in (_WAYS[1], _WAYS[3])])
    + variants(choices=[("unknown-handle", {"what": "unknown"}), ("twice", {"what": "twice"})], pics="max_vis >= 2")
    + variants(levels=("reliable-delivery", "reliable-reception"), choices=[("provider", {"what": "provider"})]),
)  # fmt: skip
def disconnects(t: Scenario) -> None:
    """VipDisconnect sends 05h with the count of the Messages sent; a Disconnect of the tester is answered and makes the VI lose its
    Connection. Both at once are answered both. One with an unknown handle makes no crash, and a provider of the DUT says 04h.
    """
    setup = connect(t)
    exchange_a_send(t, setup) if t.params.get("messages") != 0 else t.step("no Message before the Disconnect (R12)")
    t.control("a Connection was made")
    {"dut": _by_dut, "tester": _by_tester, "crossing": _crossing, "unknown": _unknown, "twice": _twice, "provider": _provider}[
        str(t.params["what"])
    ](t, setup)


def _by_dut(t: Scenario, setup: Setup) -> None:
    for n in range(setup.got, int(t.params["messages"])):
        originate(t, setup, pattern(20, n))
        taken = take(t, setup, "send", pattern(20, n))
        if answered(t):
            respond(t, setup, taken)
        expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
    disconnect(t, setup)


def _by_tester(t: Scenario, setup: Setup) -> None:
    exchange = send_disconnect(t, setup.dut_handle, int(t.params["mode"]))
    expect_disconnect_resp(t, setup, exchange, setup.sent)
    connection_lost(t, setup.vi, "REV1-5.3.5-01")
    check_state(t, setup.vi, "error", "FCVI-8.2-d3")
    call = t.start("VipDisconnect", vi=setup.vi)
    t.owed(lambda: call.done or t.peek(["DISCONNECT_RQST"]) is not None)
    rqst = t.peek(["DISCONNECT_RQST"])
    if rqst is not None:  # whether one is sent for a Connection that the other side has ended is left open (R38)
        rqst.taken = True
        t.equal(rqst, "VI_FLAGS", BY_APPLICATION, "REV1-5.7.2-05")
        answer_disconnect(t, rqst, setup)
    t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
    check_state(t, setup.vi, "idle", "FCVI-8.2-e1")


def _crossing(t: Scenario, setup: Setup) -> None:
    call = t.start("VipDisconnect", vi=setup.vi)
    rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", why="after VipDisconnect")
    check_disconnect(t, rqst, setup)
    exchange = send_disconnect(t, setup.dut_handle)
    if not call.done:  # the DUT may take as long to answer as it waits for the answer itself
        answer_disconnect(t, rqst, setup)
    expect_disconnect_resp(t, setup, exchange, setup.sent)
    t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
    check_state(t, setup.vi, "idle", "FCVI-8.2-d2")


def _unknown(t: Scenario, setup: Setup) -> None:
    unknown = next(h for h in range(0x5EED, 0x5EFF) if h != setup.dut_handle)
    for handle in (unknown, UNASSIGNED):
        exchange = send_disconnect(t, handle, VI_MSG_ID=0)
        t.owed(lambda e=exchange: t.peek(["DISCONNECT_RESP"], e) is not None)  # type: ignore[misc]
        resp = t.peek(["DISCONNECT_RESP"], exchange)
        if resp is None:  # silence is one answer, CONN_ERR with a reason another (R07)
            continue
        resp.taken = True
        one_frame(t, resp, "REV1-6.11-01", ends=True)
        t.equal(resp, "VI_MSG_ID", 0, "REV1-6.11-01")
        check_reason(t, resp)
    untouched(t, setup, "REV1-5.7.4-02", "after a Disconnect with an unknown handle")


def _twice(t: Scenario, setup: Setup) -> None:
    """A Disconnect of a Connection that is over, and then one of another VI: the first one touches nobody."""
    other = connect(t)
    first = send_disconnect(t, setup.dut_handle)
    expect_disconnect_resp(t, setup, first, setup.sent)
    second = send_disconnect(t, setup.dut_handle, VI_MSG_ID=setup.sent)
    t.owed(lambda: t.peek(["DISCONNECT_RESP"], second) is not None)
    if t.peek(["DISCONNECT_RESP"], second) is not None:
        expect_disconnect_resp(t, setup, second, setup.sent, known=False)
    untouched(t, other, "REV1-5.7.4-02", "after a second Disconnect of the same Connection")


def _provider(t: Scenario, setup: Setup) -> None:
    """A lost Message at a reliable level: a provider may give the VI up, and then says so with 04h."""
    post(t, setup.vi, "recv", register(t, 64))
    setup.sent += 1
    t.tolerate("SEND_RESP", "ABTS")
    transmit(t, build(t, setup, pattern(20)))
    t.owed(lambda: t.peek(["DISCONNECT_RQST"]) is not None, 2)
    rqst = t.peek(["DISCONNECT_RQST"])
    if rqst is None:
        return
    rqst.taken = True
    check_disconnect(t, rqst, setup, BY_KERNEL)
    answer_disconnect(t, rqst, setup)
