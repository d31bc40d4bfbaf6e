"""Annex C.3: what the Connect Request originator does about errors (rules 2 to 5)."""

from __future__ import annotations

from fcvi.fc.build import UNASSIGNED
from fcvi.engine.case import Variant, case
from fcvi.fc.received import Received
from fcvi.fc.scenario import Inconclusive, Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    NO_WAITING,
    REGISTRY,
    SETUP_TIMEOUT,
    TRANSPORT_ERROR,
    Setup,
    accept_request,
    before_t3,
    check_resp2,
    check_state,
    connection_lost,
    control_setup,
    create_vi,
    disconnect_and_answer,
    expect_abts,
    expect_retry,
    send_resp1,
    send_resp3,
    start_request,
    take_resp2,
)
from conformance.fcvi.steps.failures import lose_request
from conformance.fcvi.steps.traffic import flushed, post_recv

PART_OF_REPORT = 5

_T3 = ["FCVI-8.3-02", "FCVI-8.3-05", "FCVI-8.5.2-b", "FCVI-8.5.3-a"]


_HOW = ("pending", "pending-retry", "refused")


@case(
    REGISTRY,
    "C.R2",
    "FCVI_CONNECT_RESP3 never comes and the Endpoint is Idle",
    clause="C.3 rule 2",
    requirements=[*_T3, "FCVI-C-R2-a", "FCVI-C-R2-b", "FCVI-8.5.4-01"],
    errata=["E62", "E72"],
    tags=["setup", "loss", "timing"],
    applies="client",
    variants=[
        Variant(f"{how}/{name}", {"role": CLIENT, "how": how, "ba_acc": ba_acc})
        for how in _HOW
        for name, ba_acc in (("ba-acc", True), ("no-ba-acc", False))
    ],
)
def idle_without_resp3(t: Scenario) -> None:
    """The application stopped waiting, or was refused; T3 then leads to ABTS and to nothing else.

    Idle is reached from Pending Connect and from Pending Connect Retry. Without BA_ACC no LOGO comes before
    R_A_TOV has passed.
    """
    how = t.params["how"]
    waits = {"pending": t.r_a_tov_us // 2, "pending-retry": t.r_a_tov_us * 3 // 2, "refused": None}[str(how)]
    setup = start_request(t, timeout_us=waits)
    assert setup.rqst is not None and setup.call is not None
    if how == "refused":
        handle = send_resp1(t, setup, reason=NO_WAITING)
        resp2 = take_resp2(t, setup, "after a refusing RESP1")
        check_resp2(t, resp2, setup, handle)
        t.finish(setup.call, "FCVI-4.2-38", returns="VIP_NO_MATCH")
    else:
        t.lose(setup.rqst)
        if how == "pending-retry":
            expect_abts(t, setup.exchange, setup.rqst, "FCVI-8.5.3-a")
            setup = _retry_before_t1(t, setup, setup.call.started_us + int(waits or 0))
        assert setup.call is not None and waits is not None
        t.finish(setup.call, "FCVI-8.2-b2", returns="VIP_TIMEOUT")
        t.expect_return(setup.call, waits, "FCVI-8.2-b2")
    check_state(t, setup.vi, "idle", "FCVI-8.2-b3" if how == "refused" else "FCVI-8.2-b2")
    assert setup.rqst is not None
    accept = bool(t.params["ba_acc"])
    abts = expect_abts(t, setup.exchange, setup.rqst, "FCVI-8.5.3-a", accept=accept)
    _quiet(t, abts, accept)
    check_state(t, setup.vi, "idle", "FCVI-8.5.4-01")
    control_setup(t)


def _retry_before_t1(t: Scenario, first: Setup, t1_us: int) -> Setup:
    """The retry, whenever it comes before the application stops waiting: how soon after BA_ACC is not said (rule 3 b)."""
    t.until(lambda: t.peek(["CONNECT_RQST"]) is not None, t1_us - 2 * t.pixit.early_us - t.now_us)
    if t.peek(["CONNECT_RQST"]) is None:
        raise Inconclusive("the application stopped waiting before the DUT tried again")
    return expect_retry(t, first, 0)


def _quiet(t: Scenario, abts: Received, accepted: bool) -> None:
    if not accepted:
        t.expect_nothing(
            ["LOGO"], abts.time_us + t.r_a_tov_us - t.pixit.early_us - t.now_us, "FCVI-C-R2-b",
            "before BA_ACC had R_A_TOV to come",
        )  # fmt: skip
        t.tolerate("ABTS")
        logo = t.peek(["LOGO"])
        if logo is not None:
            t.log.append("the DUT recovers by a logout")
    t.expect_nothing(["CONNECT_RQST"], t.r_a_tov_us, "FCVI-8.5.4-01", "although the Endpoint was Idle")


@case(
    REGISTRY,
    "C.R3",
    "FCVI_CONNECT_RESP3 never comes and the Endpoint is Pending Connect",
    clause="C.3 rule 3",
    requirements=[
        *_T3, "FCVI-C-R3-a", "FCVI-C-R3-b", "FCVI-C-R3-c", "FCVI-C-R3-d", "FCVI-8.5.3-a2a", "FCVI-8.5.3-a2b",
        "FCVI-8.5.4-a1", "FCVI-8.5.4-a2", "FCVI-8.5.4-a3",
    ],  # fmt: skip
    errata=["E37", "E82"],
    tags=["setup", "loss", "retry", "timing"],
    applies="client",
    variants=[
        Variant(f"{lost}/{answer}", {"role": CLIENT, "lost": lost, "answer": answer})
        for lost in ("rqst", "resp1")
        for answer in ("ba-acc", "no-ba-acc")
    ]
    + [
        Variant("rqst/class2", {"role": CLIENT, "lost": "rqst", "answer": "ba-acc"}, "class2", {"class": 2}),
        Variant(
            "rqst/out-of-order", {"role": CLIENT, "lost": "rqst", "answer": "ba-acc"}, "out_of_order_fabric",
            {"fabric": "out-of-order"},
        ),
    ],  # fmt: skip
)
def pending_without_resp3(t: Scenario) -> None:
    """ABTS, then the setup once more: new Exchange and FCVI_CONNECTION_ID, the same handle, RETRY one.

    The retry may come with the ABTS, after BA_ACC, or R_A_TOV later when no BA_ACC comes.
    """
    first = start_request(t)
    assert first.rqst is not None
    if t.params["lost"] == "resp1":
        t.tester.link.drop("tester", "CONNECT_RESP1")
        send_resp1(t, first)
    else:
        t.lose(first.rqst)
    expect_abts(t, first.exchange, first.rqst, "FCVI-8.5.3-a", accept=t.params["answer"] == "ba-acc")
    retry = expect_retry(t, first)
    check_state(t, retry.vi, "pending", "FCVI-8.5.3-a2a", stays=True)
    accept_request(t, retry)
    send_resp3(t, retry)
    t.settle()
    check_state(t, retry.vi, "connected", "FCVI-8.2-c1")
    t.control("the retry connected")


@case(
    REGISTRY,
    "C.R4",
    "The retry fails as well",
    clause="C.3 rule 4",
    requirements=[
        *_T3, "FCVI-C-R4-a", "FCVI-C-R4-b", "FCVI-C-R4-d", "FCVI-C-R4-e", "FCVI-8.5.3-a1", "FCVI-8.5.4-01",
        "FCVI-8.5.4-02", "FCVI-C.5.1-01",
    ],  # fmt: skip
    errata=["E52"],
    tags=["setup", "loss", "retry", "timing"],
    applies="client",
    variants=[Variant("", {"role": CLIENT}), Variant("class2", {"role": CLIENT}, "class2", {"class": 2})],
)
def retry_fails(t: Scenario) -> None:
    """ABTS, VIP_NOT_REACHABLE, Error; Descriptors are flushed; the VI stays in Error until it is disconnected.

    That Descriptors are flushed, and that the call returns after the retry, are of an informative annex: noted, not required.
    """
    vi = create_vi(t)
    post_recv(t, vi)
    first = start_request(t, vi=vi)
    assert first.rqst is not None and first.call is not None
    lose_request(t, first)
    retry = expect_retry(t, first)
    assert retry.rqst is not None
    t.require(not first.call.done, "FCVI-C.5.1-01", "VipConnectRequest returned before its retry failed", "returned",
              "blocked")  # fmt: skip
    lose_request(t, retry)
    t.finish(first.call, "FCVI-8.5.4-02", returns="VIP_NOT_REACHABLE")
    check_state(t, vi, "error", "FCVI-8.5.3-a1")
    flushed(t, vi, "FCVI-C-R4-d")
    for _ in range(2):
        t.expect_nothing(["CONNECT_RQST"], t.r_a_tov_us, "FCVI-8.5.4-01", "as a second retry")
        check_state(t, vi, "error", "FCVI-8.5.3-a1")
    disconnect_and_answer(t, retry, abort=1, reasons=(SETUP_TIMEOUT, TRANSPORT_ERROR), handle=UNASSIGNED)
    control_setup(t)


@case(
    REGISTRY,
    "C.R5",
    "FCVI_CONNECT_RESP3 never comes and the Endpoint is Connected",
    clause="C.3 rule 5",
    requirements=[
        *_T3, "FCVI-C-R5-a", "FCVI-C-R5-b", "FCVI-C-R5-d", "FCVI-C-R5-e", "FCVI-8.5.3-a3",
    ],  # fmt: skip
    errata=["E52", "E63"],
    tags=["setup", "loss", "timing"],
    applies="client",
    variants=[
        Variant("", {"role": CLIENT, "late": False}),
        Variant("class2", {"role": CLIENT, "late": False}, "class2", {"class": 2}),
        Variant("late-resp1", {"role": CLIENT, "late": True}),
    ],
)
def connected_without_resp3(t: Scenario) -> None:
    """ABTS, Error, VIP_ERROR_CONN_LOST, posted Descriptors flushed; no retry.

    T3 runs from FCVI_CONNECT_RQST on, also where FCVI_CONNECT_RESP1 comes half of it later (8.5.2 b).
    """
    vi = create_vi(t)
    post_recv(t, vi)
    setup = start_request(t, vi=vi)
    assert setup.rqst is not None
    if t.params["late"]:
        t.wait(before_t3(t, setup, t.r_a_tov_us // 2))
    accept_request(t, setup)
    expect_abts(t, setup.exchange, setup.rqst, "FCVI-8.5.3-a")
    check_state(t, vi, "error", "FCVI-8.5.3-a3")
    flushed(t, vi, "FCVI-C-R5-d")
    connection_lost(t, vi, "FCVI-C-R5-e")
    t.expect_nothing(["CONNECT_RQST"], t.r_a_tov_us, "FCVI-8.5.3-a3", "as a retry from Connected")
    disconnect_and_answer(t, setup, reasons=(TRANSPORT_ERROR, SETUP_TIMEOUT))
    control_setup(t)
