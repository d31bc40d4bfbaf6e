"""Annex C.2 and 8.5.3 b): what is discarded, and what rests, after a setup has failed (rule 1)."""

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
    check_state,
    control_setup,
    disconnect_and_answer,
    expect_abts,
    expect_retry,
    finish_wait,
    send_resp1,
    send_resp2,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
)
from conformance.fcvi.steps.failures import lose_request, lose_request_and_retry
from conformance.fcvi.steps.traffic import flushed, post_recv

PART_OF_REPORT = 5


def late_answer_is_ignored(t: Scenario, setup: Setup, requirement: str) -> None:
    """An accepting RESP1 for a setup that failed draws no RESP2 (8.5.3 a, rule 1)."""
    send_resp1(t, setup)
    t.expect_nothing(
        ["CONNECT_RESP2"], t.r_a_tov_us // 10, requirement, "for a setup that failed", exchange=setup.exchange
    )


@case(
    REGISTRY,
    "C.R1",
    "Frames of a failed setup are discarded",
    clause="C.2 rule 1",
    requirements=["FCVI-C-R1-a", "FCVI-8.5.3-a"],
    errata=["E52"],
    tags=["setup", "loss", "timing"],
    applies="client",
    variants=[
        Variant("resp1-while-retrying", {"role": CLIENT, "when": "retry"}),
        Variant("resp1-after-the-retry", {"role": CLIENT, "when": "error"}),
        Variant("resp3-after-t3", {"role": CLIENT, "when": "connected"}),
        Variant("resp1-while-retrying/class2", {"role": CLIENT, "when": "retry"}, "class2", {"class": 2}),
    ],
)
def late_frames(t: Scenario) -> None:
    """After T3 a late FCVI_CONNECT_RESP1 or RESP3 for that FCVI_CONNECTION_ID has no effect for R_A_TOV."""
    first = start_request(t)
    assert first.rqst is not None and first.call is not None
    if t.params["when"] == "connected":
        accept_request(t, first)
        expect_abts(t, first.exchange, first.rqst, "FCVI-8.5.3-a")
        send_resp3(t, first)
        t.settle()
        check_state(t, first.vi, "error", "FCVI-8.5.3-a")
        disconnect_and_answer(t, first, reasons=(TRANSPORT_ERROR, SETUP_TIMEOUT))
        control_setup(t)
        return
    lose_request(t, first)
    retry = expect_retry(t, first)
    if t.params["when"] == "retry":
        late_answer_is_ignored(t, first, "FCVI-8.5.3-a")
        accept_request(t, retry)
        send_resp3(t, retry)
        t.settle()
        check_state(t, retry.vi, "connected", "FCVI-8.2-c1")
        t.control("the retry connected all the same")
        return
    assert retry.rqst is not None
    expect_abts(t, retry.exchange, retry.rqst, "FCVI-8.5.3-a")
    t.finish(first.call, "FCVI-8.5.4-02", returns="VIP_NOT_REACHABLE")
    late_answer_is_ignored(t, retry, "FCVI-8.5.3-a")
    check_state(t, retry.vi, "error", "FCVI-8.5.3-a1")
    disconnect_and_answer(t, retry, abort=1, reasons=(SETUP_TIMEOUT, TRANSPORT_ERROR), handle=UNASSIGNED)
    control_setup(t)


@case(
    REGISTRY,
    "C.R1.server",
    "A server discards frames of a setup that it gave up",
    clause="C.2 rule 1",
    requirements=["FCVI-8.5.3-d", "FCVI-C-R6-b3", "FCVI-C-R6-b1"],
    errata=["E55", "E61"],
    tags=["setup", "loss", "timing"],
    applies="server",
    variants=[Variant("", {"role": SERVER}), Variant("class2", {"role": SERVER}, "class2", {"class": 2})],
)
def late_resp2(t: Scenario) -> None:
    """After T2 a late FCVI_CONNECT_RESP2 draws no RESP3; Descriptors that were posted are flushed (rule 6b).

    The rule is of an informative annex: Descriptors that are not flushed are noted, and fail nobody.
    """
    wait = start_wait(t)
    setup = send_rqst(t)
    conn = finish_wait(t, wait)
    start_accept(t, setup, conn)
    post_recv(t, setup.vi)
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.5.2-c", within_us=t.owed_us(3))
    check_state(t, setup.vi, "error", "FCVI-8.5.3-d", {"idle": "E61"})
    flushed(t, setup.vi, "FCVI-C-R6-b3")
    send_resp2(t, setup)
    t.expect_nothing(["CONNECT_RESP3"], t.r_a_tov_us // 2, "FCVI-8.5.3-d", "after T2", exchange=setup.exchange)
    check_state(t, setup.vi, "error", "FCVI-8.5.3-d", {"idle": "E61"})
    control_setup(t)


@case(
    REGISTRY,
    "8.5.3.b",
    "The FCVI_CONNECTION_ID of a failed setup rests",
    clause="8.5.3 b)",
    requirements=["FCVI-8.5.3-b", "FCVI-5.3.2-10"],
    errata=["E47", "E57", "E113"],
    tags=["setup", "loss", "timing"],
    applies="client",
    variants=[Variant("", {"role": CLIENT})],
)
def id_rests(t: Scenario) -> None:
    """Within R_A_TOV of the failure no FCVI_CONNECT_RQST has an FCVI_CONNECTION_ID of the setup that failed."""
    first, retry = lose_request_and_retry(t)
    assert retry.call is not None
    t.finish(retry.call, "FCVI-8.5.4-02", returns="VIP_NOT_REACHABLE")
    disconnect_and_answer(t, retry, abort=1, reasons=(SETUP_TIMEOUT, TRANSPORT_ERROR), handle=UNASSIGNED)
    resting = {first.connection_id, retry.connection_id}
    for _ in range(4):
        setup = start_request(t)
        assert setup.rqst is not None
        t.require(
            setup.connection_id not in resting, "FCVI-8.5.3-b", "the FCVI_CONNECTION_ID of a setup that failed again",
            f"{setup.connection_id:08X}h", "another value", at=setup.rqst,
            **t.place(setup.rqst, "FCVI_CONNECTION_ID"),
        )  # fmt: skip
        accept_request(t, setup)
        send_resp3(t, setup)
        t.settle()
    t.control("four further setups completed")
