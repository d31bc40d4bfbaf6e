"""Annex D.2: both sides of an ordinary Disconnect."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    DOES_NOT_EXIST,
    REGISTRY,
    SERVER,
    Setup,
    check_disconnect_rqst,
    check_state,
    connect,
    connection_lost,
    disconnect_and_answer,
    expect_disconnect_resp,
    send_disconnect_resp,
    send_disconnect_rqst,
)

PART_OF_REPORT = 5

_ANY_STATUS = tuple(range(0x40, 0x4C))


@case(
    REGISTRY,
    "D.2",
    "Disconnect from both sides",
    clause="D.2",
    requirements=[
        "FCVI-D.2-01", "FCVI-D.2-02", "FCVI-D.2-03", "FCVI-D.2-05", "FCVI-D.2-06", "FCVI-D.2-07", "FCVI-5.3.5-01",
        "FCVI-5.3.5-02", "FCVI-6.13.1-01", "FCVI-6.13.2-02", "FCVI-6.13.2-05", "FCVI-6.13.2-11", "FCVI-8.1-03",
        "FCVI-8.2-d2", "FCVI-8.2-d3", "FCVI-8.2-e1",
    ],  # fmt: skip
    errata=["E03", "E41", "E57", "E68"],
    tags=["disconnect"],
    applies="client or server",
    variants=[
        Variant(f"{role}/{order}", {"role": role, "order": order}, pics)
        for role, pics in ((CLIENT, "client"), (SERVER, "server"))
        for order in ("dut-first", "tester-first", "crossing")
    ],
)
def disconnect_both(t: Scenario) -> None:
    """Each side disconnects once; the one that is told raises VIP_ERROR_CONN_LOST unless it had let go before.

    DUT first: it is Idle after the answer and answers the tester's own request without a callback. Tester first:
    the DUT goes to Error, and to Idle by its own VipDisconnect. Crossing: both requests are answered.
    """
    setup = connect(t)
    if t.params["order"] == "dut-first":
        dut_first(t, setup)
    elif t.params["order"] == "tester-first":
        tester_first(t, setup)
    else:
        crossing(t, setup)
    check_state(t, setup.vi, "idle", "FCVI-8.2-e1")


def dut_first(t: Scenario, setup: Setup) -> None:
    """VipDisconnect, and a Disconnect of the tester's that comes too late to end anything."""
    disconnect_and_answer(t, setup)
    exchange = send_disconnect_rqst(t, handle=setup.dut_handle, connection_id=0, abort=0)
    # E68: Idle may answer without status, with 4Ah or with 4Bh; the handle may be forgotten with 4Ah
    resp = expect_disconnect_resp(t, exchange, connection_id=0, abort=0)
    if not (resp.dh("DISC_CONN_STS") and resp.dh("Reason_Code") == DOES_NOT_EXIST):
        t.equal(resp, "FCVI_HANDLE", setup.tester_handle, "FCVI-6.13.2-02")
    _no_callback(t, setup)


def tester_first(t: Scenario, setup: Setup) -> None:
    """A Disconnect of the tester's, and VipDisconnect on the VI in Error."""
    exchange = send_disconnect_rqst(t, handle=setup.dut_handle, connection_id=0, abort=0)
    expect_disconnect_resp(t, exchange, connection_id=0, abort=0, handle=setup.tester_handle)
    check_state(t, setup.vi, "error", "FCVI-8.2-d3")
    connection_lost(t, setup.vi, "FCVI-D.2-02")
    disconnect_and_answer(t, setup, reasons=_ANY_STATUS, resp_reason=DOES_NOT_EXIST)


def crossing(t: Scenario, setup: Setup) -> None:
    """Both ask before either has an answer."""
    call = t.start("VipDisconnect", vi=setup.vi)
    rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", why="after VipDisconnect")
    check_disconnect_rqst(t, rqst, setup, abort=0, reasons=_ANY_STATUS, handle=setup.tester_handle)
    exchange = send_disconnect_rqst(t, handle=setup.dut_handle, connection_id=0, abort=0)
    t.until(lambda: t.peek(["DISCONNECT_RESP"], exchange) is not None, t.r_a_tov_us // 2)
    send_disconnect_resp(t, rqst, setup.dut_handle)  # in time, also for a DUT that takes its own
    resp = expect_disconnect_resp(t, exchange, connection_id=0, abort=0)
    if not (resp.dh("DISC_CONN_STS") and resp.dh("Reason_Code") == DOES_NOT_EXIST):
        t.equal(resp, "FCVI_HANDLE", setup.tester_handle, "FCVI-6.13.2-02")
    t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
    _no_callback(t, setup)


def _no_callback(t: Scenario, setup: Setup) -> None:
    seen = [code for vi, code in t.errors if vi == setup.vi]
    t.require(not seen, "FCVI-D.2-06", "a VipErrorCallback for a VI that was not Connected", seen, "no callback")
