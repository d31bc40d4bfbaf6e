"""Annex C.5.1 to C.5.4: when the connect calls complete, and that they do so together with the wire."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    CONNECT_TIMEOUT,
    NO_WAITING,
    REGISTRY,
    SERVER,
    Setup,
    accept_request,
    before_t3,
    check_resp2,
    check_resp3,
    check_state,
    connect_dut_client,
    connect_dut_server,
    control_setup,
    expect_abts,
    expect_retry,
    finish_accept,
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
from conformance.fcvi.steps.traffic import expect_send, post_send

PART_OF_REPORT = 5

_MESSAGES = "unreliable_delivery and send"


def _blocked(t: Scenario, setup: Setup, requirement: str, when: str) -> None:
    assert setup.call is not None
    t.require(not setup.call.done, requirement, f"{setup.call.method} returned {when}", "returned", "blocked")


@case(
    REGISTRY,
    "C.5.1",
    "When the connect calls complete",
    clause="C.5.1",
    requirements=[
        "FCVI-C.5.1-01", "FCVI-C.5.1-04", "FCVI-C.5.1-05", "FCVI-8.2-b1", "FCVI-6.10.1-01", "FCVI-6.11.1-01", "FCVI-4.2-33",
    ],  # fmt: skip
    tags=["setup", "timing"],
    applies="client or server",
    variants=[
        Variant(f"{CLIENT}/resp2", {"role": CLIENT}, "client"),
        Variant(f"{SERVER}/resp3", {"role": SERVER, "t0": False}, "server"),
        Variant(f"{SERVER}/t0", {"role": SERVER, "t0": True}, "server"),
        Variant(f"{CLIENT}/resp2/class2", {"role": CLIENT}, "client and class2", {"class": 2}),
        Variant(f"{SERVER}/resp3/class2", {"role": SERVER, "t0": False}, "server and class2", {"class": 2}),
    ],
)
def calls_complete(t: Scenario) -> None:
    """VipConnectRequest returns with RESP2, VipConnectAccept with RESP3, VipConnectWait with a request or at T0."""
    if t.params["role"] == CLIENT:
        setup = start_request(t)
        t.wait(t.r_a_tov_us // 10)
        _blocked(t, setup, "FCVI-C.5.1-01", "before RESP1 came")
        handle = send_resp1(t, setup)
        resp2 = take_resp2(t, setup, "after an accepting RESP1")
        check_resp2(t, resp2, setup, handle)
        assert setup.call is not None
        at_once = t.until(lambda: bool(setup.call and setup.call.done), before_t3(t, setup, t.r_a_tov_us))
        t.require(at_once, "FCVI-C.5.1-01", "VipConnectRequest did not return with RESP2", "blocked", "returned")
        send_resp3(t, setup)
        t.finish(setup.call, "FCVI-8.2-b1", returns="VIP_SUCCESS")
    elif t.params["t0"]:
        wait = start_wait(t, timeout_us=t.r_a_tov_us // 2)
        t.finish(wait, "FCVI-C.5.1-04", returns="VIP_TIMEOUT")
        t.expect_return(wait, t.r_a_tov_us // 2, "FCVI-C.5.1-04")
        control_setup(t)
        return
    else:
        wait = start_wait(t)
        t.wait(t.r_a_tov_us // 2)
        t.require(not wait.done, "FCVI-4.2-33", "VipConnectWait returned before any request", "returned", "blocked")
        setup = send_rqst(t)
        start_accept(t, setup, finish_wait(t, wait))
        t.wait(t.r_a_tov_us // 10)
        _blocked(t, setup, "FCVI-C.5.1-05", "before RESP2 came")
        finish_accept(t, setup)
    t.settle()
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    t.control("the Connection Setup completed")


@case(
    REGISTRY,
    "C.5.1.send",
    "A client sends before FCVI_CONNECT_RESP3",
    clause="C.5.1, C.5.5",
    requirements=["FCVI-C.5.1-03", "FCVI-6.2.1-01"],
    errata=["E64", "E74"],
    tags=["setup", "message"],
    applies=f"client and {_MESSAGES}",
    variants=[Variant("", {"role": CLIENT}), Variant("class2", {"role": CLIENT}, "class2", {"class": 2})],
)
def send_before_resp3(t: Scenario) -> None:
    """VipPostSend works once VipConnectRequest succeeded; its Descriptor waits for RESP3, the data need not."""
    setup = start_request(t)
    handle = send_resp1(t, setup)
    resp2 = take_resp2(t, setup, "after an accepting RESP1")
    check_resp2(t, resp2, setup, handle)
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.2-b1", returns="VIP_SUCCESS")
    data = t.rng.randbytes(40)
    post_send(t, setup.vi, data)
    t.until(lambda: bool(t.completions), before_t3(t, setup, t.r_a_tov_us // 10))
    t.require(not t.completions, "FCVI-C.5.1-03", "a send Descriptor completed before RESP3", "completed", "waiting")
    send_resp3(t, setup)
    expect_send(t, setup, 1, data, "FCVI-6.2.1-01")
    t.owed(lambda: bool(t.completions))
    t.require(bool(t.completions), "FCVI-6.2.1-01", "the send Descriptor did not complete", "nothing", "completion")
    t.control("the Message came and its Descriptor completed")


@case(
    REGISTRY,
    "C.5.2",
    "The timers of a Connection Setup",
    clause="C.5.2",
    requirements=["FCVI-C.5.2-07", "FCVI-C.5.2-08", "FCVI-8.3-02", "FCVI-8.5.4-01", "FCVI-8.2-d1"],
    errata=["E55", "E56"],
    tags=["setup", "timing"],
    applies="client or server",
    variants=[
        Variant(f"{CLIENT}/t1-after-t3", {"role": CLIENT, "what": "retry"}, "client"),
        Variant(f"{CLIENT}/t3-stopped", {"role": CLIENT, "what": "stopped"}, "client"),
        Variant(f"{CLIENT}/t3-stopped-by-a-refusal", {"role": CLIENT, "what": "refused"}, "client"),
        Variant(f"{SERVER}/t2-stopped", {"role": SERVER, "what": "stopped"}, "server"),
    ],
)
def setup_timers(t: Scenario) -> None:
    """T3 comes before a long T1 and leads to the retry; RESP3 stops T3, RESP2 stops T2: nothing happens later.

    A refused client does not retry either once RESP3 is there.
    """
    what = t.params["what"]
    if t.params["role"] == SERVER:
        setup = connect_dut_server(t)
    elif what == "stopped":
        setup = connect_dut_client(t)
    else:
        setup = start_request(t, timeout_us=3 * t.r_a_tov_us)
        call = setup.call
        assert setup.rqst is not None and call is not None
        if what == "retry":
            expect_abts(t, setup.exchange, setup.rqst, "FCVI-8.5.3-a")
            setup = expect_retry(t, setup)
            accept_request(t, setup)
            send_resp3(t, setup)
            t.settle()
        else:
            handle = send_resp1(t, setup, reason=NO_WAITING)
            resp2 = take_resp2(t, setup, "after a refusing RESP1")
            check_resp2(t, resp2, setup, handle)
            send_resp3(t, setup)
            t.finish(call, "FCVI-4.2-38", returns="VIP_NO_MATCH")
    t.expect_nothing(["ABTS", "CONNECT_RQST"], 4 * t.r_a_tov_us, "FCVI-8.5.4-01", "after the setup has ended")
    check_state(t, setup.vi, "idle" if what == "refused" else "connected", "FCVI-8.2-d1")
    if what == "refused":
        control_setup(t)
    else:
        t.control("the Connection Setup completed, and the VI is still Connected")


_EDGES = ("just-before", "at", "after")


def _offset(t: Scenario) -> int:
    return {"just-before": -2 * t.pixit.late_us, "at": 0, "after": t.pixit.late_us}[str(t.params["edge"])]


@case(
    REGISTRY,
    "C.5.3",
    "VipConnectRequest completes in one step",
    clause="C.5.3",
    requirements=["FCVI-C.5.3-01", "FCVI-5.9.7.2.1-02", "FCVI-8.2-b2", "FCVI-8.2-b1"],
    errata=["E40"],
    tags=["setup", "timing"],
    applies="client",
    variants=[Variant(edge, {"role": CLIENT, "edge": edge}) for edge in _EDGES],
)
def request_is_atomic(t: Scenario) -> None:
    """RESP1 arrives around T1. Either VIP_SUCCESS and an accepting RESP2, or VIP_TIMEOUT and 02h: never a mixture."""
    t1 = t.r_a_tov_us // 2
    setup = start_request(t, timeout_us=t1)
    assert setup.call is not None
    t.wait(t1 + _offset(t))
    handle = send_resp1(t, setup)
    resp2 = take_resp2(t, setup, "after RESP1")
    send_resp3(t, setup)
    t.settle()
    code = t.finish(setup.call, "FCVI-8.2-b2", returns=["VIP_SUCCESS", "VIP_TIMEOUT"])
    accepted = code == "VIP_SUCCESS"
    check_resp2(t, resp2, setup, handle, reason=None if accepted else CONNECT_TIMEOUT)
    t.equal(resp2, "CONN_STS", int(not accepted), "FCVI-5.9.7.2.1-02")
    check_state(t, setup.vi, "connected" if accepted else "idle", "FCVI-8.2-b1" if accepted else "FCVI-8.2-b2")
    if t.params["edge"] == "just-before":
        in_time = resp2.time_us < setup.call.started_us + t1  # a DUT that answers later was overtaken by T1 (E123)
        t.require(accepted or not in_time, "FCVI-8.2-b2", "VipConnectRequest timed out before T1", code, "VIP_SUCCESS")
    elif t.params["edge"] == "after":
        t.require(not accepted, "FCVI-8.2-b2", "VipConnectRequest ignored T1", code, "VIP_TIMEOUT")
    control_setup(t)


@case(
    REGISTRY,
    "C.5.4",
    "VipConnectAccept completes in one step",
    clause="C.5.4",
    requirements=["FCVI-C.5.4-01", "FCVI-8.3-03", "FCVI-8.5.3-d"],
    errata=["E55", "E61"],
    tags=["setup", "timing"],
    applies="server",
    variants=[Variant(edge, {"role": SERVER, "edge": edge}) for edge in _EDGES],
)
def accept_is_atomic(t: Scenario) -> None:
    """RESP2 arrives around T2. Either VIP_SUCCESS and RESP3, or VIP_TIMEOUT and no RESP3: never a mixture.

    Which code it returns without RESP3 is of an informative annex: noted, not required.
    """
    wait = start_wait(t)
    setup = send_rqst(t)
    resp1 = start_accept(t, setup, finish_wait(t, wait))
    assert setup.call is not None
    t.wait(resp1.earliest_us + 2 * t.r_a_tov_us + _offset(t) - t.now_us)
    send_resp2(t, setup)
    t.settle()
    code = t.finish(setup.call, "FCVI-8.5.3-d")
    in_time = t.params["edge"] == "just-before"
    t.require(code == "VIP_SUCCESS" or not in_time, "FCVI-8.3-03", "the server gave up before T2", code, "VIP_SUCCESS")
    if code == "VIP_SUCCESS":
        resp3: Received = t.expect("CONNECT_RESP3", "FCVI-8.3-03", exchange=setup.exchange, why="with VIP_SUCCESS")
        check_resp3(t, resp3, setup)
        check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    else:
        t.require(code == "VIP_TIMEOUT", "FCVI-C.5.4-01", f"VipConnectAccept returned {code}", code, "VIP_TIMEOUT")
        t.expect_nothing(
            ["CONNECT_RESP3"], t.r_a_tov_us // 10, "FCVI-8.5.3-d", "after VIP_TIMEOUT", exchange=setup.exchange
        )
        check_state(t, setup.vi, "error", "FCVI-8.5.3-d", {"idle": "E61"})
    control_setup(t)
