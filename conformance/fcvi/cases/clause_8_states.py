"""Clauses 8.1, 8.2 and 8.4.1: the states of an Endpoint, and how long it waits within a Message."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.lossy_line import Line
from .annex_b_rules_1_3 import REASONS, RELIABLE, lose_message
from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    accept_abts,
    accept_request,
    ask_to_disconnect,
    check_state,
    create_vi,
    disconnect_and_answer,
    expect_disconnect_resp,
    send_disconnect_resp,
    send_disconnect_rqst,
    send_resp3,
    start_request,
)
from conformance.fcvi.steps.messages import (
    IN_ORDER,
    LEVELS,
    OUT_OF_ORDER,
    RR,
    expect_error,
    expect_response,
    level_of,
    open_connection,
    post,
    register,
    variants,
)
from conformance.fcvi.steps.traffic import FLUSHED

PART_OF_REPORT = 9


@case(
    REGISTRY,
    "8.1",
    "VipDisconnect in every state",
    clause="8.1",
    requirements=["FCVI-8.1-03", "FCVI-8.1-04", "FCVI-8.2-01", "FCVI-8.2-a1", "FCVI-8.2-d2", "FCVI-8.2-e1"],
    errata=["E76", "E85"],
    tags=["disconnect"],
    applies="client or server",
    variants=variants(levels=("reliable-delivery",), choices=[(s, {"state": s}) for s in ("idle", "connected", "error")])
    + [Variant("pending", {"role": CLIENT, "state": "pending"}, "client and unreliable_delivery")],
)
def disconnect_in_state(t: Scenario) -> None:
    """VipDisconnect returns VIP_SUCCESS in each state and leaves the VI Idle; then it can be connected.

    From Connected and Error a Disconnect IU goes out; from Idle none should. In Pending Connect the setup is aborted, by a
    Disconnect IU or by ABTS.
    """
    state = t.params["state"]
    if state == "idle":
        vi = create_vi(t)
        call = t.start("VipDisconnect", vi=vi)
        t.owed(lambda: call.done or t.peek(["DISCONNECT_RQST"]) is not None)
        rqst = t.peek(["DISCONNECT_RQST"])
        t.require(rqst is None, "FCVI-8.1-03", "a Disconnect IU from an Idle Endpoint", rqst, "none", at=rqst, erratum="E76")
        if rqst is not None:
            rqst.taken = True
            send_disconnect_resp(t, rqst, rqst.dh("FCVI_HANDLE"))
        t.finish(call, "FCVI-8.1-04", returns="VIP_SUCCESS")
        check_state(t, vi, "idle", "FCVI-8.2-a1")
        open_connection(t)
    elif state == "pending":
        _from_pending(t)
    else:
        line = Line(t)
        if state == "error":
            line.good(1, 1)
            lose_message(line, 2)
            expect_error(t, line.setup, "FCVI-8.4.2-e", "after a lost Message")
        disconnect_and_answer(t, line.setup, reasons=REASONS if state == "error" else ())
        open_connection(t)
    t.control("a Connection Setup completed")


def _from_pending(t: Scenario) -> None:
    setup = start_request(t)
    check_state(t, setup.vi, "pending", "FCVI-8.2-a2")
    call = t.start("VipDisconnect", vi=setup.vi)
    t.owed(lambda: call.done or t.peek(["DISCONNECT_RQST"]) is not None)
    rqst = t.peek(["DISCONNECT_RQST"])
    if rqst is not None:
        rqst.taken = True
        t.equal(rqst, "CONN_SETUP_ABORT", 1, "FCVI-6.12.2-06")
        send_disconnect_resp(t, rqst, setup.dut_handle)
    t.tolerate("ABTS")
    t.owed(lambda: call.done or t.peek(["ABTS"]) is not None)
    accept_abts(t, setup)  # the DUT may hold the call back until its setup Exchange has ended
    t.finish(call, "FCVI-8.1-04", returns="VIP_SUCCESS")
    check_state(t, setup.vi, "idle", "FCVI-8.1-03")
    t.owed(lambda: t.peek(["ABTS"]) is not None)
    accept_abts(t, setup)
    t.params = {**t.params, "role": CLIENT}
    open_connection(t)


@case(
    REGISTRY,
    "8.1.flushed",
    "What a Disconnect finds posted is flushed",
    clause="8.1",
    requirements=["FCVI-8.1-03", "FCVI-8.2-d3"],
    errata=["E62"],
    tags=["disconnect", "message"],
    applies="client or server",
    variants=variants(
        levels=list(LEVELS), choices=[(who, {"who": who}) for who in ("by-dut", "by-tester")],
    ),
)  # fmt: skip
def disconnect_flushes(t: Scenario) -> None:
    """Receive Descriptors that a Disconnect finds posted complete with Descriptor Flushed (VI-DG 3.3.5, 5.2).

    Those of the side that disconnects are complete when it is Idle; nobody says how soon the other side's are (E62), so it
    disconnects as well if they are not.
    """
    setup = open_connection(t)
    for _ in range(2):
        post(t, setup.vi, "recv", register(t, 16))
    requirement = "FCVI-8.1-03"
    if t.params["who"] == "by-tester":
        requirement = "FCVI-8.2-d3"
        exchange = send_disconnect_rqst(t, handle=setup.dut_handle, connection_id=0, abort=0)
        expect_disconnect_resp(t, exchange, connection_id=0, abort=0)
        expect_error(t, setup, requirement, "after FCVI_DISCONNECT_RQST", t.r_a_tov_us)
    else:
        disconnect_and_answer(t, setup)
    t.control("the connection was disconnected")

    def completed() -> int:
        return sum(c.vi == setup.vi for c in t.completions)

    t.owed(lambda: completed() == 2)
    if completed() < 2 and t.params["who"] == "by-tester":
        disconnect_and_answer(t, setup)
        t.owed(lambda: completed() == 2)
    t.require(completed() == 2, requirement, "a posted Descriptor did not complete with the Disconnect", completed(), 2)
    wrong = [sorted(c.status) for c in t.completions if c.vi == setup.vi and FLUSHED not in c.status]
    t.require(not wrong, requirement, "a Descriptor completed with the Disconnect, and not as flushed", wrong, FLUSHED)


@case(
    REGISTRY,
    "8.1.error",
    "An Endpoint in Error waits for its application",
    clause="8.1",
    requirements=["FCVI-8.1-01", "FCVI-8.1-02", "FCVI-8.1-03", "FCVI-8.2-d3", "FCVI-8.2-e1", "FCVI-8.4.2-e", "FCVI-8.4.2-f1"],
    errata=["E58"],
    tags=["message", "timing"],
    applies="client or server",
    variants=variants(levels=RELIABLE, classes=(3, 2), fabrics=(IN_ORDER, OUT_OF_ORDER)),
)
def error_stays(t: Scenario) -> None:
    """After a Message Error the VI stays in Error, sends no Message and takes none, for three R_A_TOV and more.

    No Disconnect on behalf of the application goes out until VipDisconnect is called; that brings the VI to Idle.
    """
    line = Line(t)
    line.good(1, 2)
    lose_message(line, 3)
    expect_error(t, line.setup, "FCVI-8.4.2-e", "after a lost Message")
    line.look()
    for _ in range(3):
        post(t, line.setup.vi, "send", register(t, 8))
        t.expect_nothing(["SEND_RQST", "WRITE_RQST", "READ_RQST"], t.r_a_tov_us, "FCVI-8.1-01", "from a VI in Error")
        line.discards()
        expect_error(t, line.setup, "FCVI-8.2-e1", "and stays there", 0)
    rqst = t.peek(["DISCONNECT_RQST"])
    if rqst is not None:  # a provider may disconnect on its own account (5.3.5)
        rqst.taken = True
        t.equal(rqst, "VI_APP_DISCON", 0, "FCVI-8.1-02")
        send_disconnect_resp(t, rqst, line.setup.dut_handle)
    t.completions.clear()
    call = ask_to_disconnect(t, line.setup)
    asked = t.peek(["DISCONNECT_RQST"])
    if asked is not None:
        asked.taken = True
        t.equal(asked, "VI_APP_DISCON", 1, "FCVI-6.12.2-08")
        send_disconnect_resp(t, asked, line.setup.dut_handle)
    t.require(
        asked is not None or rqst is not None or line.setup.disconnected, "FCVI-8.1-03", "VipDisconnect sent no Disconnect IU",
        "none", "FCVI_DISCONNECT_RQST",
    )  # fmt: skip
    t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
    check_state(t, line.setup.vi, "idle", "FCVI-8.2-e1")


@case(
    REGISTRY,
    "8.2",
    "The states of an Endpoint",
    clause="8.2",
    requirements=[
        "FCVI-8.2-01", "FCVI-8.2-a1", "FCVI-8.2-a2", "FCVI-8.2-b1", "FCVI-8.2-d1", "FCVI-8.2-d2", "FCVI-8.2-d3",
        "FCVI-8.2-e1",
    ],  # fmt: skip
    errata=["E85"],
    tags=["setup", "message", "disconnect"],
    applies="client",
    variants=variants(levels=RELIABLE, roles=(CLIENT,)),
)
def states(t: Scenario) -> None:
    """Idle after VipCreateVi, Pending Connect after the request, Connected, Error after a Message Error, Idle at last."""
    vi = create_vi(t)
    check_state(t, vi, "idle", "FCVI-8.2-a1")
    setup = start_request(t, vi=vi)
    check_state(t, vi, "pending", "FCVI-8.2-a2")
    accept_request(t, setup)
    send_resp3(t, setup)
    t.settle()
    check_state(t, vi, "connected", "FCVI-8.2-d1")
    disconnect_and_answer(t, setup)
    check_state(t, vi, "idle", "FCVI-8.2-d2")
    line = Line(t)
    check_state(t, line.setup.vi, "connected", "FCVI-8.2-d1")
    line.good(1, 1)
    lose_message(line, 2)
    expect_error(t, line.setup, "FCVI-8.2-d3", "after a lost Message")
    disconnect_and_answer(t, line.setup, reasons=REASONS)
    check_state(t, line.setup.vi, "idle", "FCVI-8.2-e1")


_PAUSES: list[tuple[str, dict[str, Any]]] = [("half-e-d-tov", {"pause": 2}), ("never", {"pause": 0})]


@case(
    REGISTRY,
    "8.4.1.n1",
    "The next Sequence of a Message is late, or never comes",
    clause="8.4.1",
    requirements=["FCVI-8.4.1-n1a", "FCVI-8.4.1-n1b", "FCVI-8.4.2-e", "FCVI-8.4.2-f1"],
    errata=["E81", "E118", "E152"],
    tags=["message", "timing"],
    applies="client or server",
    variants=variants(
        levels=RELIABLE, ops=("send", "rdma-write"), immediate=True,
        classes=(3, 2), fabrics=(IN_ORDER, OUT_OF_ORDER), choices=_PAUSES
    ),
)
def next_sequence(t: Scenario) -> None:
    """The first of two IUs of a Message has come whole: the DUT may wait for the second as long as it likes, not for ever.

    A pause of half E_D_TOV is noted if it is too long for the DUT. When the IU never comes the VI goes to Error.
    """
    line = Line(t)
    line.good(1, 1)
    line.message(2, 4, 2)
    line.send(2, [0, 1])
    if not t.params["pause"]:
        line.fails("because the next Sequence never came", "FCVI-8.4.1-n1b")
        return
    t.wait(t.pixit.e_d_tov_us // 2)
    line.send(2, [2, 3])
    if line.arrived([2]):
        if level_of(t) == RR:
            expect_response(t, line.setup, line.sent[2])
        line.good(3, 3)
        return
    t.report("FCVI-8.4.1-n1a", "the DUT did not wait half E_D_TOV for the next Sequence", "not delivered", "Message 2")
    expect_error(t, line.setup, "FCVI-8.4.2-e", "since it gave the Message up")
