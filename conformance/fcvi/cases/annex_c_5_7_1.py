"""Annex C.5.7.1: FCVI_CONNECT_RQST is lost and the client's application gives up (T1) before T3."""

from __future__ import annotations

from fcvi.engine.case import case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    BOTH_ROLES,
    CLIENT,
    REGISTRY,
    check_state,
    control_setup,
    expect_abts,
    send_resp1,
    start_request,
    tester_abts,
)

PART_OF_REPORT = 5

CLIENT_REQUIREMENTS = [
    "FCVI-C-R2-a", "FCVI-C.5.2-07", "FCVI-C.5.2-09", "FCVI-8.2-b2", "FCVI-8.3-02", "FCVI-8.3-05",
    "FCVI-8.5.2-b", "FCVI-8.5.3-a", "FCVI-8.5.4-01",
]  # fmt: skip


@case(
    REGISTRY,
    "C.5.7.1",
    "Lost FCVI_CONNECT_RQST",
    clause="C.5.7.1",
    requirements=[
        *CLIENT_REQUIREMENTS, "FCVI-C.5.7.1-01", "FCVI-C.5.7.1-02", "FCVI-C.5.7.1-03", "FCVI-C.5.7.1-04", "FCVI-4.1-04",
    ],  # fmt: skip
    errata=["E62", "E72"],
    tags=["setup", "loss", "timing"],
    applies="client or server",
    variants=BOTH_ROLES,
)
def lost_connect_rqst(t: Scenario) -> None:
    """The client is Idle after T1, recovers the Exchange with ABTS after T3 and does not retry.

    A server that never saw the request accepts the ABTS of an Exchange unknown to it.
    """
    if t.params["role"] == CLIENT:
        client_gives_up(t, lost="CONNECT_RQST")
    else:
        t.step("the tester's FCVI_CONNECT_RQST never arrived; its ABTS does")
        tester_abts(t, t.tester.open_exchange())
    control_setup(t)


def client_gives_up(t: Scenario, lost: str) -> None:
    """The client's side, which cannot tell a lost request from a lost RESP1 (C.5.8)."""
    t1 = t.r_a_tov_us // 2
    setup = start_request(t, timeout_us=t1)
    assert setup.call is not None and setup.rqst is not None
    if lost == "CONNECT_RQST":
        t.lose(setup.rqst)
    else:
        t.tester.link.drop("tester", "CONNECT_RESP1")
        send_resp1(t, setup)
    t.expect_next_timer(t.r_a_tov_us, "FCVI-C.5.2-07", "T3")
    t.finish(setup.call, "FCVI-8.2-b2", returns="VIP_TIMEOUT")
    t.expect_return(setup.call, t1, "FCVI-8.2-b2")
    check_state(t, setup.vi, "idle", "FCVI-8.2-b2")
    expect_abts(t, setup.exchange, setup.rqst, "FCVI-8.5.3-a")
    t.expect_nothing(["CONNECT_RQST"], 2 * t.r_a_tov_us, "FCVI-8.5.4-01", "although the application had given up")
    check_state(t, setup.vi, "idle", "FCVI-8.2-b2")
