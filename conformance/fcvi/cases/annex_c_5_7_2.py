"""Annex C.5.7.2: the lost setup is retried (8.5.4, rules C-3, C-4 and C-11, rules D-2 and D-3)."""

from __future__ import annotations

from fcvi.fc.build import UNASSIGNED
from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Inconclusive, Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    DOES_NOT_EXIST,
    NO_WAITING,
    REGISTRY,
    SERVER,
    SETUP_TIMEOUT,
    TRANSPORT_ERROR,
    Setup,
    accept_request,
    check_reason,
    check_resp2,
    check_state,
    control_setup,
    disconnect_and_answer,
    disconnect_unanswered,
    expect_abts,
    expect_disconnect_resp,
    expect_retry,
    finish_accept,
    finish_wait,
    send_disconnect_rqst,
    send_resp1,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
    take_resp2,
    tester_abts,
)
from conformance.fcvi.steps.failures import lose_request

PART_OF_REPORT = 5

_RETRY = [
    "FCVI-8.2-b4", "FCVI-8.3-02", "FCVI-8.3-05", "FCVI-8.5.2-b", "FCVI-8.5.3-a", "FCVI-8.5.3-a2a", "FCVI-8.5.3-a2b",
    "FCVI-8.5.4-01", "FCVI-8.5.4-a1", "FCVI-8.5.4-a2", "FCVI-8.5.4-a3", "FCVI-5.9.4.4-04", "FCVI-5.9.4.5-05",
    "FCVI-C.5.7.2-01", "FCVI-C-R3-a", "FCVI-C-R3-c", "FCVI-C-R3-d", "FCVI-C.5.2-08",
]  # fmt: skip


@case(
    REGISTRY,
    "C.5.7.2",
    "Retried Connection Setup",
    clause="C.5.7.2",
    requirements=[
        *_RETRY, "FCVI-8.2-c1", "FCVI-8.2-c2", "FCVI-8.2-c3", "FCVI-8.5.3-a1", "FCVI-8.5.4-02", "FCVI-8.5.4-b1",
        "FCVI-8.5.4-b2", "FCVI-C-R3-b", "FCVI-C-R4-a", "FCVI-C-R4-b", "FCVI-C-R4-e", "FCVI-C-R11", "FCVI-C.5.7.2-02",
        "FCVI-C.5.7.2-03", "FCVI-C.5.7.2-05", "FCVI-C.5.7.2-07", "FCVI-C.5.7.2-08", "FCVI-C.5.7.2-09",
        "FCVI-C.5.7.2-10", "FCVI-D-R2-a1", "FCVI-D-R2-a2", "FCVI-D-R2-a3", "FCVI-D-R2-b1", "FCVI-D-R2-c",
        "FCVI-6.12.2-03", "FCVI-6.12.2-06", "FCVI-6.12.2-14", "FCVI-8.6.2-b", "FCVI-8.6.3-a1", "FCVI-8.6.3-a2",
        "FCVI-8.6.3-a3", "FCVI-5.9.7.3.2-10", "FCVI-5.9.7.3.2-11",
    ],  # fmt: skip
    errata=["E04", "E05", "E37", "E39", "E52", "E59", "E82", "E116", "E170", "E171"],
    tags=["setup", "loss", "retry", "timing"],
    applies="client or server",
    variants=[
        Variant(f"{CLIENT}/succeeds", {"role": CLIENT, "end": "succeeds"}, "client"),
        Variant(f"{CLIENT}/refused", {"role": CLIENT, "end": "refused"}, "client"),
        Variant(f"{CLIENT}/fails", {"role": CLIENT, "end": "fails"}, "client"),
        Variant(f"{CLIENT}/disconnect-unanswered", {"role": CLIENT, "end": "unanswered"}, "client"),
        Variant(f"{CLIENT}/abts-unanswered", {"role": CLIENT, "end": "no-ba-acc"}, "client"),
        Variant(f"{SERVER}/first-seen-as-retry", {"role": SERVER, "end": "succeeds"}, "server"),
        Variant(f"{SERVER}/fails", {"role": SERVER, "end": "fails"}, "server"),
    ],
)
def retried_setup(t: Scenario) -> None:
    """After T3 the client aborts the Exchange and retries once; RETRY is one in all IUs of the retry.

    When the retry fails as well the VI is in Error, VipConnectRequest returns VIP_NOT_REACHABLE, and
    VipDisconnect tells the server that a setup timed out. A server takes the retry of a request that it never saw
    as a new one and repeats RETRY; to a Disconnect of a setup it never saw it says that there is none.
    """
    if t.params["role"] == SERVER:
        _dut_server(t, str(t.params["end"]))
        return
    end = str(t.params["end"])
    first = start_request(t)
    assert first.rqst is not None and first.call is not None
    t.lose(first.rqst)
    expect_abts(t, first.exchange, first.rqst, "FCVI-8.5.3-a", accept=end != "no-ba-acc")
    # rule C-3b: BA_ACC may be awaited for up to R_A_TOV before the retry
    if end == "no-ba-acc":
        t.owed(lambda: t.peek(["CONNECT_RQST", "LOGO", "PLOGI"]) is not None)
        if t.peek(["CONNECT_RQST"]) is None and t.peek(["LOGO", "PLOGI"]) is not None:
            raise Inconclusive("the DUT recovers the missing BA_ACC by a new login (FC-FS, rule C-3b), which ends the setup")
    retry = expect_retry(t, first)
    if end in ("succeeds", "no-ba-acc"):
        accept_request(t, retry)
        send_resp3(t, retry)
        t.settle()
        check_state(t, retry.vi, "connected", "FCVI-8.2-c1")
        t.control("the retry connected")
    elif end == "refused":
        _refuse_retry(t, retry)
    else:
        _retry_fails(t, retry, answered=end == "fails")


def _refuse_retry(t: Scenario, retry: Setup) -> None:
    handle = send_resp1(t, retry, reason=NO_WAITING)
    resp2 = take_resp2(t, retry, "after the refused retry")
    check_resp2(t, resp2, retry, handle)
    send_resp3(t, retry)
    assert retry.call is not None
    t.finish(retry.call, "FCVI-4.2-38", returns="VIP_NO_MATCH")
    check_state(t, retry.vi, "idle", "FCVI-8.2-c2")
    control_setup(t)


def _retry_fails(t: Scenario, retry: Setup, answered: bool) -> None:
    assert retry.rqst is not None and retry.call is not None
    lose_request(t, retry)
    t.finish(retry.call, "FCVI-8.5.4-02", returns="VIP_NOT_REACHABLE")
    check_state(t, retry.vi, "error", "FCVI-8.5.3-a1")
    t.expect_nothing(["CONNECT_RQST"], 2 * t.r_a_tov_us, "FCVI-8.5.4-01", "as a second retry")
    if answered:
        disconnect_and_answer(
            t, retry, abort=1, reasons=(SETUP_TIMEOUT, TRANSPORT_ERROR), handle=UNASSIGNED,
            resp_reason=DOES_NOT_EXIST,
        )  # fmt: skip
    else:
        disconnect_unanswered(t, retry)
    control_setup(t)


def _dut_server(t: Scenario, end: str) -> None:
    t.step("the tester's first FCVI_CONNECT_RQST never arrived")
    lost = Setup(SERVER, -1, t.tester.open_exchange(), t.rng.randrange(1, UNASSIGNED), tester_handle=0x00C0FFEE)
    tester_abts(t, lost.exchange)
    if end == "fails":
        _disconnect_of_unknown_setup(t)
        control_setup(t)
        return
    wait = start_wait(t)
    retry = send_rqst(t, retry_of=lost)
    start_accept(t, retry, finish_wait(t, wait))
    finish_accept(t, retry)
    check_state(t, retry.vi, "connected", "FCVI-8.5.4-b1")
    t.control("the retry connected")


def _disconnect_of_unknown_setup(t: Scenario) -> None:
    t.step("the retry was lost as well; the tester's FCVI_DISCONNECT_RQST arrives")
    connection_id = t.rng.randrange(1, UNASSIGNED)
    exchange = send_disconnect_rqst(
        t, handle=UNASSIGNED, connection_id=connection_id, abort=1, reason=SETUP_TIMEOUT
    )
    resp = expect_disconnect_resp(t, exchange, connection_id=connection_id, abort=1, handle=UNASSIGNED)
    check_reason(t, resp, DOES_NOT_EXIST, "FCVI-5.9.7.3.2-11")
