"""Annex C.5.9: FCVI_CONNECT_RESP2 is lost (C.5.9.1), and what the server does meanwhile (C.5.9.2)."""

from __future__ import annotations

from fcvi.fc.build import UNASSIGNED
from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    SETUP_TIMEOUT,
    TRANSPORT_ERROR,
    Setup,
    accept_request,
    check_resp3,
    check_state,
    connection_lost,
    control_setup,
    disconnect_and_answer,
    disconnect_unanswered,
    expect_abts,
    expect_disconnect_resp,
    finish_wait,
    send_disconnect_resp,
    send_disconnect_rqst,
    send_resp2,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
)

PART_OF_REPORT = 5

_T3_CONNECTED = [
    "FCVI-8.2-d3", "FCVI-8.3-02", "FCVI-8.3-05", "FCVI-8.5.2-b", "FCVI-8.5.3-a", "FCVI-8.5.3-a3", "FCVI-C-R5-a",
    "FCVI-C-R5-b", "FCVI-C-R5-e",
]  # fmt: skip
_DISCONNECT = [
    "FCVI-6.12.2-02", "FCVI-6.12.2-07", "FCVI-6.12.2-08", "FCVI-6.12.2-15", "FCVI-8.1-03", "FCVI-8.2-e1",
    "FCVI-8.6.2-b", "FCVI-8.6.3-a1", "FCVI-8.6.3-a2", "FCVI-8.6.3-a3",
]  # fmt: skip


@case(
    REGISTRY,
    "C.5.9.1",
    "Lost FCVI_CONNECT_RESP2",
    clause="C.5.9.1",
    requirements=[*_T3_CONNECTED, *_DISCONNECT, "FCVI-C.5.9.1-01", "FCVI-C.5.9.1-02", "FCVI-C.5.9.1-03"],
    errata=["E03", "E52", "E59", "E63", "E116"],
    tags=["setup", "loss", "timing"],
    applies="client",
    variants=[
        Variant(f"{CLIENT}/disconnect", {"role": CLIENT, "answered": True}),
        Variant(f"{CLIENT}/disconnect-unanswered", {"role": CLIENT, "answered": False}),
    ],
)
def lost_resp2(t: Scenario) -> None:
    """The client is Connected once RESP2 is sent; RESP3 never comes, so T3 leads to ABTS, Error and CONN_LOST.

    There is no hidden retry. VipDisconnect then disconnects an established connection.
    """
    setup = start_request(t)
    accept_request(t, setup)
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    t.step("the tester's server never got RESP2 and sends no RESP3")
    t3_while_connected(t, setup, answered=bool(t.params["answered"]))
    control_setup(t)


def t3_while_connected(t: Scenario, setup: Setup, answered: bool) -> None:
    """RESP3 stays away, because RESP2 or RESP3 was lost (rule C-5, 8.5.3 a)3))."""
    assert setup.rqst is not None
    expect_abts(t, setup.exchange, setup.rqst, "FCVI-8.5.3-a")
    check_state(t, setup.vi, "error", "FCVI-8.5.3-a3")
    connection_lost(t, setup.vi, "FCVI-C-R5-e")
    t.expect_nothing(["CONNECT_RQST"], t.r_a_tov_us + t.pixit.late_us, "FCVI-8.5.3-a3", "as a retry from Connected")
    if answered:
        disconnect_and_answer(t, setup, reasons=(TRANSPORT_ERROR, SETUP_TIMEOUT))
    else:
        disconnect_unanswered(t, setup)


@case(
    REGISTRY,
    "C.5.9.2",
    "Server timing out Connection Setup",
    clause="C.5.9.2",
    requirements=[
        "FCVI-8.3-03", "FCVI-8.5.2-c", "FCVI-8.5.3-d", "FCVI-6.13.1-01", "FCVI-6.13.2-02", "FCVI-5.9.4.6-04",
        "FCVI-5.9.4.6-06", "FCVI-8.1-03", "FCVI-C.5.2-04", "FCVI-C-R6-b1",
    ],  # fmt: skip
    errata=["E03", "E41", "E55", "E61", "E115"],
    tags=["setup", "loss", "timing"],
    applies="server",
    variants=[
        Variant(f"{SERVER}/disconnect-before-t2", {"role": SERVER, "end": "disconnect"}),
        Variant(f"{SERVER}/t2", {"role": SERVER, "end": "t2"}),
        Variant(f"{SERVER}/resp2-just-before-t2", {"role": SERVER, "end": "late"}),
    ],
)
def server_waits_for_resp2(t: Scenario) -> None:
    """The server waits twice FCVI_ULP_TIMEOUT for RESP2 and then moves to Error; a late RESP2 has no effect.

    A FCVI_DISCONNECT_RQST that comes first is answered and ends the wait. RESP2 within the time is accepted. The code that the
    call returns after T2, and its callback, are of an informative annex: noted, not required.
    """
    wait = start_wait(t)
    setup = send_rqst(t)
    resp1 = start_accept(t, setup, finish_wait(t, wait))
    assert setup.call is not None
    if t.params["end"] == "disconnect":
        _disconnect_before_t2(t, setup)
    elif t.params["end"] == "late":
        t.wait(resp1.began_us + 2 * t.r_a_tov_us - 2 * t.pixit.late_us - t.now_us)
        t.require(not setup.call.done, "FCVI-8.3-03", "VipConnectAccept returned before T2", "returned", "blocked")
        send_resp2(t, setup)
        resp3 = t.expect("CONNECT_RESP3", "FCVI-8.3-03", exchange=setup.exchange, why="after a RESP2 before T2")
        check_resp3(t, resp3, setup)
        t.finish(setup.call, "FCVI-8.3-03", returns="VIP_SUCCESS")
        check_state(t, setup.vi, "connected", "FCVI-8.3-03")
        t.control("the Connection Setup completed shortly before T2")
        return
    else:
        _t2_expires(t, setup, resp1.time_us)
    control_setup(t)


def _disconnect_before_t2(t: Scenario, setup: Setup) -> None:
    t.wait(t.r_a_tov_us)
    exchange = send_disconnect_rqst(
        t, handle=setup.dut_handle, connection_id=0, abort=0, reason=TRANSPORT_ERROR
    )
    expect_disconnect_resp(t, exchange, connection_id=0, abort=0, handle=setup.tester_handle)
    assert setup.call is not None
    code = t.finish(setup.call, "FCVI-8.5.3-d")
    t.require(code != "VIP_SUCCESS", "FCVI-8.5.3-d", "VipConnectAccept succeeded without RESP2", code, "no success")
    check_state(t, setup.vi, "error", "FCVI-6.12.1-01", {"idle": "E61"})
    disconnect_if_error(t, setup)


def _t2_expires(t: Scenario, setup: Setup, resp1_us: int) -> None:
    """T2 runs from RESP1 on, which no control plane shows: VipConnectAccept began before it."""
    assert setup.call is not None
    nominal = resp1_us + 2 * t.r_a_tov_us
    limit = nominal + t.owed_us() - t.now_us  # E55: up to one more for the start of the timer
    code = t.finish(setup.call, "FCVI-8.5.2-c", within_us=limit)
    t.expect_return(setup.call, 2 * t.r_a_tov_us, "FCVI-8.3-03")
    t.require(code != "VIP_SUCCESS", "FCVI-8.5.3-d", "VipConnectAccept succeeded without RESP2", code, "VIP_TIMEOUT")
    t.require(code == "VIP_TIMEOUT", "FCVI-C.5.2-04", f"VipConnectAccept returned {code}", code, "VIP_TIMEOUT")
    check_state(t, setup.vi, "error", "FCVI-8.5.3-d", {"idle": "E61"})
    connection_lost(t, setup.vi, "FCVI-C.5.2-04")
    t.step("RESP2 arrives after T2")
    send_resp2(t, setup)
    t.expect_nothing(["CONNECT_RESP3"], t.r_a_tov_us // 2, "FCVI-8.5.3-d", "after T2", exchange=setup.exchange)
    disconnect_if_error(t, setup)


def disconnect_if_error(t: Scenario, setup: Setup) -> None:
    """VipDisconnect brings a VI from Error to Idle; whether an IU is due depends on what the DUT still knows."""
    call = t.start("VipDisconnect", vi=setup.vi)
    t.owed(lambda: call.done or t.peek(["DISCONNECT_RQST"]) is not None)
    if t.peek(["DISCONNECT_RQST"]) is not None:
        rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03")
        t.equal(rqst, "VI_APP_DISCON", 1, "FCVI-6.12.2-08")
        if rqst.dh("CONN_SETUP_ABORT"):  # FCVI_RQST_HANDLE was known once; whether it still is, the DUT has to know (E04)
            t.equal(rqst, "FCVI_HANDLE", setup.tester_handle, "FCVI-6.12.2-02", {UNASSIGNED: "E04", setup.dut_handle: "E04"})
        send_disconnect_resp(t, rqst, setup.dut_handle)
    t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
    check_state(t, setup.vi, "idle", "FCVI-8.2-e1")
