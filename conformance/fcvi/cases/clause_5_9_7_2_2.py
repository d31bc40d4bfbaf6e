"""Clauses 5.9.7.2.2, 5.3.5: refusals for errors, and a Disconnect that the provider asks for."""

from __future__ import annotations

from fcvi.fc import els
from fcvi.fc.build import UNASSIGNED
from fcvi.engine.case import Variant, case
from fcvi.fc.message import Message
from fcvi.fc.scenario import Scenario

from .clause_7_7_1 import ROLES, connect_as
from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    accept_abts,
    accept_request,
    check_resp1,
    check_resp2,
    check_resp3,
    check_state,
    control_setup,
    expect_retry,
    finish_accept,
    finish_wait,
    send_disconnect_resp,
    send_resp1,
    send_resp2,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
    take_resp2,
)
from conformance.fcvi.steps.messages import expect_error, post, prepare, register, transmit
from conformance.fcvi.steps.neighbours import ask_login, expect_accept, login, login_anew

PART_OF_REPORT = 4

_BITS: dict[str, dict[str, int]] = {
    "no-s": {"CIRO": 1, "Random_Offset": 0, "SEQ_CNT_S": 0},
    "no-c": {"CIRO": 0, "Random_Offset": 0, "SEQ_CNT_S": 1},
    "neither": {"CIRO": 0, "Random_Offset": 0, "SEQ_CNT_S": 0},
}


@case(
    REGISTRY,
    "5.9.7.2.2.login",
    "A request from a port with unusable service parameters",
    clause="5.9.7.2.2",
    requirements=["FCVI-5.9.7.2.2-01", "FCVI-5.6-05", "FCVI-5.6-10"],
    errata=["E17", "E26", "E98"],
    tags=["setup", "login", "refusal"],
    applies="server and explicit_login",
    variants=[Variant(name, {"role": SERVER, "bits": bits}, "", {"login": "explicit"}) for name, bits in _BITS.items()]
    + [Variant("no-s/class2", {"role": SERVER, "bits": _BITS["no-s"]}, "class2", {"login": "explicit", "class": 2})],
)
def unusable_parameters(t: Scenario) -> None:
    """The tester's PLOGI lacks S, C (both bits that it may mean, E17), or both: its request is refused with 20h.

    After a PLOGI with both a request is accepted.
    """
    names = t.tester.services.ports[t.tester.n_port_id]
    exchange = ask_login(t, els.login(names, t.tester.receive_size, t.params["bits"]))
    if t.peek(["LS_RJT"], exchange) is None:
        expect_accept(t, exchange, "FCVI-4.1-04", "to PLOGI")
        wait = start_wait(t)
        setup = send_rqst(t)
        resp1 = t.expect("CONNECT_RESP1", "FCVI-5.9.7.2.2-01", exchange=setup.exchange, why="to refuse the request")
        check_resp1(t, resp1, setup, refused=[0x20])
        send_resp2(t, setup, handle=resp1.conn_int("FCVI_RESP_HANDLE"))
        resp3 = t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after RESP2")
        check_resp3(t, resp3, setup, refused=True)
        t.require(not wait.done, "FCVI-5.9.7.2.2-01", "VipConnectWait returned for it", "returned", "blocked")
        login_anew(t)
        setup = send_rqst(t)
        start_accept(t, setup, finish_wait(t, wait))
        finish_accept(t, setup)
        check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
        t.control("after a right PLOGI a request was accepted")
        return
    t.log.append("the PLOGI was rejected: no request can follow it")
    login(t)
    control_setup(t)


@case(
    REGISTRY,
    "5.9.7.2.2.transport",
    "The client is refused for a transport error",
    clause="5.9.7.2.2, 8.2",
    requirements=[
        "FCVI-5.9.7.2.2-03", "FCVI-8.2-b5", "FCVI-T12-22h",
    ],  # fmt: skip
    errata=["E53"],
    tags=["setup", "refusal", "retry"],
    applies="client",
    variants=[Variant("", {"role": CLIENT}), Variant("class2", {"role": CLIENT}, "class2", {"class": 2})],
)
def refused_with_22h(t: Scenario) -> None:
    """22h is no accept: the DUT retries once, with or without an ABTS before, or goes to Error at once (E53)."""
    setup = start_request(t)
    handle = send_resp1(t, setup, reason=0x22, handle=UNASSIGNED)
    resp2 = take_resp2(t, setup, "after a refusing RESP1")
    check_resp2(t, resp2, setup, handle)
    send_resp3(t, setup)
    assert setup.call is not None
    call = setup.call
    t.owed(lambda: call.done or t.peek(["CONNECT_RQST", "ABTS"]) is not None)
    accept_abts(t, setup)
    t.owed(lambda: call.done or t.peek(["CONNECT_RQST"]) is not None)
    if t.peek(["CONNECT_RQST"]) is not None:
        retry = expect_retry(t, setup)
        accept_request(t, retry)
        send_resp3(t, retry)
        t.settle()
        check_state(t, retry.vi, "connected", "FCVI-8.2-c1")
    else:
        code = t.finish(call, "FCVI-5.9.7.2.2-03")
        t.require(code != "VIP_SUCCESS", "FCVI-5.9.7.2.2-03", "a refusal was taken as an accept", code, "no success")
        check_state(t, setup.vi, "error", "FCVI-8.2-b5")
    control_setup(t)


@case(
    REGISTRY,
    "5.3.5",
    "A Disconnect that the provider asks for",
    clause="5.3.5, 6.12.2",
    requirements=["FCVI-6.12.2-09", "FCVI-8.4.2-e"],
    errata=["E03", "E41"],
    tags=["disconnect", "message", "loss"],
    applies="(client or server) and send and reliable_delivery",
    variants=[
        Variant(role, {"role": role, "op": "send", "attributes": {"FCVI_RELIABILITY_LVL": 2}}, pics) for role, pics, _ in ROLES
    ],
)
def provider_disconnects(t: Scenario) -> None:
    """A Message is missing on Reliable Delivery: the VI goes to Error; should the provider disconnect by itself,
    VI_APP_DISCON is zero. The tester answers it.
    """
    setup = connect_as(t)
    for _ in range(2):
        post(t, setup.vi, "recv", register(t, 64))
    transmit(t, prepare(t, setup, Message("send", 1, t.rng.randbytes(20))).frames)
    transmit(t, prepare(t, setup, Message("send", 3, t.rng.randbytes(20))).frames)
    expect_error(t, setup, "FCVI-8.4.2-e", "though Message 2 is missing")
    t.owed(lambda: t.peek(["DISCONNECT_RQST"]) is not None)
    rqst = t.peek(["DISCONNECT_RQST"])
    if rqst is not None:
        rqst.taken = True
        t.equal(rqst, "VI_APP_DISCON", 0, "FCVI-6.12.2-09")
        t.equal(rqst, "FCVI_HANDLE", setup.tester_handle, "FCVI-6.12.2-02")
        send_disconnect_resp(t, rqst, setup.dut_handle)
    else:
        t.log.append("the provider leaves the Disconnect to the application")
    t.control("the VI went to Error because a Message is missing")
