"""Annex C.5.8: FCVI_CONNECT_RESP1 is lost."""

from __future__ import annotations

from fcvi.fc.build import UNASSIGNED
from fcvi.engine.case import Variant, case
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Call

from .annex_c_5_7_1 import CLIENT_REQUIREMENTS, client_gives_up
from conformance.fcvi.steps.connection import (
    CLIENT,
    DOES_NOT_EXIST,
    REGISTRY,
    SERVER,
    SETUP_TIMEOUT,
    Setup,
    accept_retry,
    check_state,
    control_setup,
    expect_disconnect_resp,
    finish_accept,
    finish_wait,
    send_disconnect_rqst,
    send_rqst,
    start_accept,
    start_wait,
    tester_abts,
)

PART_OF_REPORT = 5


@case(
    REGISTRY,
    "C.5.8",
    "Lost FCVI_CONNECT_RESP1",
    clause="C.5.8",
    requirements=[
        *CLIENT_REQUIREMENTS, "FCVI-C.5.8-01", "FCVI-5.9.7.3.2-11", "FCVI-5.9.4.6-04", "FCVI-5.9.4.6-06",
        "FCVI-6.13.1-01", "FCVI-6.13.2-02", "FCVI-6.13.2-11", "FCVI-8.5.4-b1", "FCVI-8.5.4-b2", "FCVI-6.12.1-01",
        "FCVI-8.5.3-d", "FCVI-C-R8-a", "FCVI-C-R8-a1", "FCVI-C-R12",
    ],  # fmt: skip
    errata=["E41", "E56", "E61", "E67", "E72", "E115"],
    tags=["setup", "loss", "timing"],
    applies="client or server",
    variants=[
        Variant(CLIENT, {"role": CLIENT}, "client"),
        Variant(f"{SERVER}/disconnect", {"role": SERVER, "end": "disconnect"}, "server"),
        Variant(f"{SERVER}/retry", {"role": SERVER, "end": "retry"}, "server"),
        Variant(f"{SERVER}/retry-before-accept", {"role": SERVER, "end": "early-retry"}, "server"),
    ],
)
def lost_resp1(t: Scenario) -> None:
    """To the client it is as if the request were lost. The server has context and shows it.

    It answers a Disconnect of the setup with something else than Connection Does Not Exist, and a retry with the
    same RESP1, RETRY set, on the Exchange and with the FCVI_CONNECTION_ID of the retry, also when its application
    has not decided yet. What the second RESP1 repeats of the first is an informative rule: noted, not required.
    """
    if t.params["role"] == CLIENT:
        client_gives_up(t, lost="CONNECT_RESP1")
        control_setup(t)
        return
    wait = start_wait(t)
    first = send_rqst(t)
    conn = finish_wait(t, wait)
    if t.params["end"] == "early-retry":
        _retry_before_accept(t, first, conn)
        return
    resp1 = start_accept(t, first, conn)
    t.lose(resp1)
    t.wait(t.r_a_tov_us)
    tester_abts(t, first.exchange)
    if t.params["end"] == "retry":
        _retry(t, first, resp1)
    else:
        _disconnect(t, first)
        control_setup(t)


def _retry(t: Scenario, first: Setup, lost: Received) -> None:
    retry = send_rqst(t, retry_of=first)
    retry.vi, retry.call = first.vi, first.call
    resp1 = accept_retry(t, first, retry)
    t.require(
        retry.dut_handle == first.dut_handle, "FCVI-C-R8-a", "the repeated RESP1 has another FCVI_RESP_HANDLE",
        f"{retry.dut_handle:08X}h", f"{first.dut_handle:08X}h", at=resp1,
    )  # fmt: skip
    t.require(
        resp1.payload == lost.payload, "FCVI-C-R8-a", "the repeated RESP1 has another payload", "different",
        "equal to the first", at=resp1,
    )  # fmt: skip
    finish_accept(t, retry)
    check_state(t, retry.vi, "connected", "FCVI-8.5.4-b1")
    t.control("the retry connected")


def _retry_before_accept(t: Scenario, first: Setup, conn: int) -> None:
    t.wait(t.r_a_tov_us)
    tester_abts(t, first.exchange)
    second: Call = start_wait(t)
    retry = send_rqst(t, retry_of=first)
    t.until(lambda: second.done, t.r_a_tov_us // 10)
    if not t.require(
        not second.done, "FCVI-C-R8-a", "the retry was handed to another VipConnectWait", "returned", "blocked"
    ):
        conn = second.integer("conn")
    start_accept(t, retry, conn)
    t.require(
        t.peek(["CONNECT_RESP1"], first.exchange) is None, "FCVI-8.5.4-b1", "RESP1 on the aborted Exchange too",
        "CONNECT_RESP1", "none",
    )  # fmt: skip
    finish_accept(t, retry)
    check_state(t, retry.vi, "connected", "FCVI-8.5.4-b1")
    t.control("the retry connected")


def _disconnect(t: Scenario, setup: Setup) -> None:
    assert setup.call is not None
    gave_up = setup.call.done and setup.call.returned() != "VIP_SUCCESS"  # with the ABTS (8.5.3 d, E153)
    exchange = send_disconnect_rqst(
        t, handle=UNASSIGNED, connection_id=setup.connection_id, abort=1, reason=SETUP_TIMEOUT
    )
    resp = expect_disconnect_resp(
        t, exchange, connection_id=setup.connection_id, abort=1, handle=None if gave_up else setup.tester_handle
    )
    known = gave_up or not (resp.dh("DISC_CONN_STS") and resp.dh("Reason_Code") == DOES_NOT_EXIST)
    t.require(
        known, "FCVI-5.9.7.3.2-11", "the server denies a setup that it has open", "4Ah", "another code or no status",
        at=resp,
    )  # fmt: skip
    code = t.finish(setup.call, "FCVI-8.5.3-d")
    t.require(code != "VIP_SUCCESS", "FCVI-8.5.3-d", "VipConnectAccept succeeded without a connection", code, "no success")
    check_state(t, setup.vi, "error", "FCVI-6.12.1-01", {"idle": "E61"})
