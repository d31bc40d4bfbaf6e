"""Annex C.5.6: the client's application gives up (T1) before the setup is complete."""

from __future__ import annotations

from fcvi.engine.case import case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    BOTH_ROLES,
    CLIENT,
    CONNECT_TIMEOUT,
    REGISTRY,
    check_resp2,
    check_resp3,
    check_state,
    control_setup,
    finish_wait,
    send_resp1,
    send_resp2,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
    take_resp2,
)

PART_OF_REPORT = 5


@case(
    REGISTRY,
    "C.5.6",
    "Client timeout of VipConnectRequest",
    clause="C.5.6",
    requirements=[
        "FCVI-C.5.6-01", "FCVI-C.5.2-05", "FCVI-C.5.2-06", "FCVI-C.5.2-09", "FCVI-5.9.7.2.1-02", "FCVI-8.2-b2",
        "FCVI-8.2-b3", "FCVI-6.10.1-01", "FCVI-6.10.2-06", "FCVI-6.11.1-01", "FCVI-T12-02h",
    ],  # fmt: skip
    errata=["E40", "E61", "E62"],
    tags=["setup", "timing"],
    applies="client or server",
    variants=BOTH_ROLES,
)
def client_timeout(t: Scenario) -> None:
    """T1 expires before T3: RESP2 says Connect Timeout, both Endpoints are Idle, the Exchange ends in order."""
    if t.params["role"] == CLIENT:
        _dut_times_out(t)
    else:
        _tester_times_out(t)
    control_setup(t)


def _dut_times_out(t: Scenario) -> None:
    t1 = t.r_a_tov_us // 2
    setup = start_request(t, timeout_us=t1)
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.2-b2", returns="VIP_TIMEOUT")
    t.expect_return(setup.call, t1, "FCVI-8.2-b2")
    check_state(t, setup.vi, "idle", "FCVI-8.2-b2")
    t.step("RESP1 arrives after T1 and before T3")
    handle = send_resp1(t, setup)
    resp2 = take_resp2(t, setup, "after a RESP1 that came after T1")
    check_resp2(t, resp2, setup, handle, reason=CONNECT_TIMEOUT)
    send_resp3(t, setup)
    t.settle()
    check_state(t, setup.vi, "idle", "FCVI-8.2-b2")
    t.expect_nothing(["CONNECT_RQST"], 2 * t.r_a_tov_us, "FCVI-8.5.4-01", "although the application had given up")


def _tester_times_out(t: Scenario) -> None:
    wait = start_wait(t)
    setup = send_rqst(t)
    start_accept(t, setup, finish_wait(t, wait))
    send_resp2(t, setup, reason=CONNECT_TIMEOUT)
    resp3 = t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after RESP2 with status")
    check_resp3(t, resp3, setup, refused=True)
    assert setup.call is not None
    code = t.finish(setup.call, "FCVI-8.2-b3")
    t.require(code != "VIP_SUCCESS", "FCVI-8.2-b3", "VipConnectAccept succeeded without a connection", code, "VIP_TIMEOUT")
    t.require(code == "VIP_TIMEOUT", "FCVI-C.5.2-06", f"VipConnectAccept returned {code}", code, "VIP_TIMEOUT")
    check_state(t, setup.vi, "idle", "FCVI-8.2-b3")
