"""Annex C.5.10: FCVI_CONNECT_RESP3 is lost."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from .annex_c_5_9 import t3_while_connected
from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    TRANSPORT_ERROR,
    Setup,
    accept_request,
    check_resp3,
    check_state,
    connection_lost,
    control_setup,
    disconnect_and_answer,
    expect_disconnect_resp,
    finish_wait,
    send_disconnect_rqst,
    send_resp2,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
)

PART_OF_REPORT = 5


@case(
    REGISTRY,
    "C.5.10",
    "Lost FCVI_CONNECT_RESP3",
    clause="C.5.10",
    requirements=[
        "FCVI-C.5.10-01", "FCVI-C.5.10-05", "FCVI-C-R5-a", "FCVI-C-R5-b", "FCVI-C-R5-e", "FCVI-6.12.2-02",
        "FCVI-6.12.2-07", "FCVI-6.12.2-08", "FCVI-6.12.2-15", "FCVI-6.13.1-01", "FCVI-6.13.2-02", "FCVI-6.13.2-05",
        "FCVI-8.1-03", "FCVI-8.2-b1", "FCVI-8.2-d2", "FCVI-8.2-d3", "FCVI-8.2-e1", "FCVI-8.3-02", "FCVI-8.3-05",
        "FCVI-8.5.2-b", "FCVI-8.5.3-a", "FCVI-8.5.3-a3", "FCVI-D.2-02",
    ],  # fmt: skip
    errata=["E03", "E41", "E52", "E63", "E68", "E74"],
    tags=["setup", "loss", "timing"],
    applies="client or server",
    variants=[
        Variant(CLIENT, {"role": CLIENT}, "client"),
        Variant(SERVER, {"role": SERVER}, "server"),
    ],
)
def lost_resp3(t: Scenario) -> None:
    """A client without RESP3 ends in Error after T3, as after a lost RESP2.

    A server is Connected once it has sent RESP3; the client's FCVI_DISCONNECT_RQST moves it to Error and raises
    VIP_ERROR_CONN_LOST, and its own VipDisconnect leads to Idle.
    """
    if t.params["role"] == CLIENT:
        setup = start_request(t)
        accept_request(t, setup)
        t.tester.link.drop("tester", "CONNECT_RESP3")
        send_resp3(t, setup)
        check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
        t3_while_connected(t, setup, answered=True)
    else:
        _dut_server(t)
    control_setup(t)


def _dut_server(t: Scenario) -> None:
    wait = start_wait(t)
    setup: Setup = send_rqst(t)
    start_accept(t, setup, finish_wait(t, wait))
    send_resp2(t, setup)
    resp3 = t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after RESP2")
    check_resp3(t, resp3, setup)
    t.lose(resp3)
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.2-b1", returns="VIP_SUCCESS")
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    t.wait(t.r_a_tov_us)
    t.step("the tester's client timed out: ABTS, then Disconnect")
    t.tester.send_abts(setup.exchange)
    answer = t.expect(["BA_ACC", "BA_RJT"], "FCVI-4.1-04", exchange=setup.exchange, why="after ABTS")
    t.log.append(f"the ABTS of the finished Exchange was answered with {answer.kind}")
    check_state(t, setup.vi, "connected", "FCVI-8.2-d1")
    exchange = send_disconnect_rqst(
        t, handle=setup.dut_handle, connection_id=0, abort=0, reason=TRANSPORT_ERROR
    )
    expect_disconnect_resp(t, exchange, connection_id=0, abort=0, handle=setup.tester_handle)
    connection_lost(t, setup.vi, "FCVI-D.2-02")
    check_state(t, setup.vi, "error", "FCVI-8.2-d3")
    disconnect_and_answer(t, setup, reasons=tuple(range(0x40, 0x4C)), resp_reason=None)
