"""Annex C.4: what the Connect Request responder does about errors and retries (rules 6 and 8 to 12)."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    REGISTRY,
    SERVER,
    Setup,
    accept_retry,
    check_resp3,
    check_state,
    connect_dut_server,
    control_setup,
    expect_abts,
    finish_accept,
    finish_wait,
    send_resp2,
    send_rqst,
    start_accept,
    start_wait,
    tester_abts,
)
from conformance.fcvi.steps.peers import (
    CONCURRENT,
    accept_own,
    connected,
    cross,
    expect_peer_accept,
    expect_peer_refusal,
    finish_other,
)
from conformance.fcvi.steps.traffic import both_ways

PART_OF_REPORT = 5

_VARIANTS = [Variant("", {"role": SERVER}), Variant("class2", {"role": SERVER}, "class2", {"class": 2})]


@case(
    REGISTRY,
    "C.4",
    "A connection outlives the other Peer-to-Peer Exchange",
    clause="C.4",
    requirements=["FCVI-C.4-01", "FCVI-8.5.3-a"],
    errata=["E49", "E51"],
    tags=["setup", "peer", "loss", "timing"],
    applies="peer_to_peer",
    variants=[Variant("", {}, "", {"tester_name": "below"})],
)
def own_request_times_out(t: Scenario) -> None:
    """The DUT is Connected through the tester's request; its own is never answered and times out.

    The Exchange is aborted, without a retry. The connection stays; that it ends is the other reading (E51).
    """
    both = cross(t)
    expect_peer_accept(t, both.other, "FCVI-5.3.4-a")
    finish_other(t, both.other)
    connected(t, both.own, "FCVI-5.3.4-05")
    assert both.own.rqst is not None
    expect_abts(t, both.own.exchange, both.own.rqst, "FCVI-8.5.3-a")
    t.expect_nothing(["CONNECT_RQST"], t.r_a_tov_us, "FCVI-8.5.3-a3", "although the Peers are connected")
    check_state(t, both.vi, "connected", "FCVI-8.5.3-a3", {"error": "E51"})
    if t.call("VipQueryVi", vi=both.vi).text("State") == "VIP_STATE_CONNECTED":
        both.other.dut_handle = both.own.dut_handle
        both_ways(t, both.other, "FCVI-C.4-01")
    t.control("one Exchange connected the Peers")


@case(
    REGISTRY,
    "C.R6",
    "FCVI_CONNECT_RESP2 never comes to a Peer that is Connected",
    clause="C.4 rule 6",
    requirements=["FCVI-C-R6-a1"],
    errata=["E51"],
    tags=["setup", "peer", "loss", "timing"],
    applies="peer_to_peer",
    variants=[Variant("", {}, "", {"tester_name": "above"})],
)
def refused_exchange_times_out(t: Scenario) -> None:
    """The DUT refused the tester's request with 05h and is Connected by its own; RESP2 to the refusal is lost.

    When T2 has expired the connection is as it was (rule 6a); Error is the reading of 8.5.3 d (E51).
    """
    both = cross(t)
    accept_own(t, both.own)
    expect_peer_refusal(t, both.other, CONCURRENT, "FCVI-5.3.4-b2")
    connected(t, both.own, "FCVI-5.3.4-04")
    t.wait(3 * t.r_a_tov_us + t.pixit.late_us)
    check_state(t, both.vi, "connected", "FCVI-8.5.3-d", {"error": "E51"})
    if t.call("VipQueryVi", vi=both.vi).text("State") == "VIP_STATE_CONNECTED":
        both_ways(t, both.own, "FCVI-C-R6-a1")
    t.control("one Exchange connected the Peers")


def _unanswered(t: Scenario) -> tuple[Setup, Received]:
    """The DUT's RESP1 is lost; the tester aborts the Exchange after its T3."""
    wait = start_wait(t)
    first = send_rqst(t)
    conn = finish_wait(t, wait)
    resp1 = start_accept(t, first, conn)
    t.lose(resp1)
    t.wait(t.r_a_tov_us)
    tester_abts(t, first.exchange)
    return first, resp1


def _retried(t: Scenario, first: Setup) -> tuple[Setup, Received]:
    retry = send_rqst(t, retry_of=first)
    retry.vi, retry.call = first.vi, first.call
    return retry, accept_retry(t, first, retry)


@case(
    REGISTRY,
    "C.R8",
    "A retried request while the setup is open",
    clause="C.4.1 rule 8",
    requirements=["FCVI-C-R8-a", "FCVI-C-R8-a1", "FCVI-8.5.4-b1", "FCVI-8.5.4-b2"],
    errata=["E56"],
    tags=["setup", "loss", "retry"],
    applies="server",
    variants=_VARIANTS,
)
def rule_8(t: Scenario) -> None:
    """FCVI_CONNECT_RESP1 is sent again on the new Exchange, with its FCVI_CONNECTION_ID and RETRY one.

    FCVI_CONNECT_RESP2 on the first Exchange has no effect any more.
    """
    first, lost = _unanswered(t)
    retry, resp1 = _retried(t, first)
    t.require(
        resp1.payload == lost.payload, "FCVI-C-R8-a", "the repeated RESP1 has another payload", "different",
        "equal to the first", at=resp1,
    )  # fmt: skip
    send_resp2(t, first, handle=retry.dut_handle)
    t.expect_nothing(
        ["CONNECT_RESP3"], t.r_a_tov_us // 10, "FCVI-8.5.4-b1", "to a RESP2 of the first attempt", exchange=first.exchange
    )
    assert first.call is not None
    t.require(not first.call.done, "FCVI-8.5.4-b1", "VipConnectAccept returned after RESP2 of the first attempt",
              "returned", "blocked")  # fmt: skip
    finish_accept(t, retry)
    check_state(t, retry.vi, "connected", "FCVI-8.5.4-b1")
    t.control("the retry connected")


def _retry_when_connected(t: Scenario) -> tuple[Setup, Setup, Received]:
    """A Connected DUT hears its client retry: RESP1 again, or a refusal (E65)."""
    first = connect_dut_server(t)
    retry = send_rqst(t, retry_of=first)
    retry.vi, retry.call, retry.dut_handle = first.vi, first.call, first.dut_handle
    resp1 = t.expect("CONNECT_RESP1", "FCVI-6.9.1-01", exchange=retry.exchange, why="to a retry when Connected")
    return first, retry, resp1


@case(
    REGISTRY,
    "C.R9",
    "A retried request for a connection that exists",
    clause="C.4.1 rule 9",
    requirements=["FCVI-C-R9-a", "FCVI-C-R9-a1", "FCVI-C-R9-n3", "FCVI-5.9.4.5-06", "FCVI-6.9.2-09", "FCVI-8.5.4-b2"],
    errata=["E65"],
    tags=["setup", "retry"],
    applies="server",
    variants=_VARIANTS,
)
def rule_9(t: Scenario) -> None:
    """FCVI_CONNECT_RESP1 accepts again with the handle of the connection, RETRY one, the id of the retry.

    A refusal is tolerated. Either way the connection lives on, or a DUT that takes the retry for an error ends it (E65).
    """
    first, retry, resp1 = _retry_when_connected(t)
    t.equal(resp1, "RESP_RETRY", 1, "FCVI-5.9.4.5-06")
    t.equal(resp1, "FCVI_CONNECTION_ID", retry.connection_id, "FCVI-6.9.2-09")
    if t.equal(resp1, "CONN_STS", 0, "FCVI-C-R9-n3"):
        handle = resp1.conn_int("FCVI_RESP_HANDLE")
        t.require(
            handle == first.dut_handle, "FCVI-C-R9-a", "the repeated RESP1 has another FCVI_RESP_HANDLE",
            f"{handle:08X}h", f"{first.dut_handle:08X}h", at=resp1,
        )  # fmt: skip
    send_resp2(t, retry, handle=resp1.conn_int("FCVI_RESP_HANDLE"))
    t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=retry.exchange, why="after FCVI_CONNECT_RESP2")
    check_state(t, first.vi, "connected", "FCVI-8.2-d1", {"error": "E65"})
    t.control("the first attempt connected, and the retry was answered")


@case(
    REGISTRY,
    "C.R10",
    "FCVI_CONNECT_RESP2 with RETRY for a connection that exists",
    clause="C.4.1 rule 10",
    requirements=["FCVI-C-R10-a", "FCVI-C-R10-a1", "FCVI-C-R10-n5", "FCVI-5.9.4.5-06", "FCVI-6.11.2-09"],
    errata=["E65", "E66"],
    tags=["setup", "retry"],
    applies="server and unreliable_delivery and send",
    variants=_VARIANTS,
)
def rule_10(t: Scenario) -> None:
    """FCVI_CONNECT_RESP3 is sent again on the Exchange of the retry, RETRY one, CONN_STS zero; Messages still flow."""
    first, retry, resp1 = _retry_when_connected(t)
    accepted = not resp1.dh("CONN_STS")
    send_resp2(t, retry, handle=resp1.conn_int("FCVI_RESP_HANDLE"))
    resp3 = t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=retry.exchange, why="after RESP2 with RETRY")
    check_resp3(t, resp3, retry, refused=not accepted)
    if accepted:
        t.equal(resp3, "CONN_STS", 0, "FCVI-C-R10-n5")
    check_state(t, first.vi, "connected", "FCVI-8.2-d1", {"error": "E65"})
    if t.call("VipQueryVi", vi=first.vi).text("State") == "VIP_STATE_CONNECTED":
        both_ways(t, first, "FCVI-8.2-d1")
    t.control("the first attempt connected, and the retry was answered")


@case(
    REGISTRY,
    "C.R11",
    "A retried request of which nothing is known",
    clause="C.4.1 rule 11",
    requirements=["FCVI-C-R11", "FCVI-8.5.4-b1", "FCVI-8.5.4-b2", "FCVI-5.9.4.5-05", "FCVI-5.9.4.5-06"],
    errata=["E44"],
    tags=["setup", "loss", "retry"],
    applies="server",
    variants=_VARIANTS
    + [
        Variant("after-another-connection", {"role": SERVER, "beside": True}),
        Variant("256", {"role": SERVER}, "", {"receive_size": 256}),
    ],
)
def rule_11(t: Scenario) -> None:
    """It is a new request: VipConnectWait returns, RETRY is one in FCVI_CONNECT_RESP1 and RESP3, the setup succeeds.

    A connection with another FCVI_RQST_HANDLE of the same port has nothing to do with it.
    """
    if t.params.get("beside"):
        connect_dut_server(t)
    wait = start_wait(t)
    never_seen = Setup(SERVER, -1, t.tester.open_exchange(), 1, tester_handle=t.rng.randrange(1, 2**31))
    retry = send_rqst(t, retry_of=never_seen)
    start_accept(t, retry, finish_wait(t, wait))
    finish_accept(t, retry)
    check_state(t, retry.vi, "connected", "FCVI-8.5.4-b1")
    t.control("the retry connected")


@case(
    REGISTRY,
    "C.R12",
    "FCVI_CONNECT_RESP2 ends a retried setup",
    clause="C.4.1 rule 12",
    requirements=["FCVI-C-R12", "FCVI-8.5.4-b1", "FCVI-8.5.4-b2", "FCVI-6.11.2-09", "FCVI-5.9.4.5-06"],
    errata=["E47"],
    tags=["setup", "loss", "retry"],
    applies="server",
    variants=_VARIANTS,
)
def rule_12(t: Scenario) -> None:
    """With the FCVI_HANDLE of the DUT, the FCVI_CONNECTION_ID and the Exchange of the retry it draws RESP3 with RETRY."""
    first, _ = _unanswered(t)
    retry, _ = _retried(t, first)
    finish_accept(t, retry)
    check_state(t, retry.vi, "connected", "FCVI-8.5.4-b1")
    control_setup(t)
