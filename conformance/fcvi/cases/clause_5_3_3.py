"""Clause 5.3.3: Peer-to-Peer Connection Setup whose requests do not cross."""

from __future__ import annotations

from fcvi.fc.build import UNASSIGNED, net_address
from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT_SERVER,
    OTHER_DISCRIMINATOR,
    REGISTRY,
    Setup,
    another_host,
    check_resp2,
    check_state,
    create_vi,
    discriminator_of,
    dut_host,
    send_resp1,
    send_resp2,
    send_resp3,
    send_rqst,
    start_wait,
    take_resp2,
    take_resp3,
    tester_host,
)
from conformance.fcvi.steps.peers import (
    NOT_FOUND,
    accept_own,
    connected,
    control_peer,
    expect_peer_accept,
    finish_other,
    finish_own,
    send_peer_rqst,
    start_peer,
)

PART_OF_REPORT = 1

FIRST, SECOND = "dut-first", "dut-second"
_EXCHANGE_1 = ["FCVI-5.3.3-01", "FCVI-5.3.3-03", "FCVI-5.3.3-04", "FCVI-5.3.3-05", "FCVI-5.3.3-06"]
_EXCHANGE_2 = ["FCVI-5.3.3-02", "FCVI-5.3.3-07", "FCVI-5.3.3-08", "FCVI-5.3.3-09"]


def refuse_first(t: Scenario, setup: Setup, reason: int, resp3_handle: int = UNASSIGNED) -> None:
    """Exchange 1: the tester, as the Peer that has not asked yet, refuses the DUT's request."""
    handle = send_resp1(t, setup, reason=reason, handle=UNASSIGNED)
    resp2 = take_resp2(t, setup, "after a refusing RESP1")
    t.equal(resp2, "FCVI_HANDLE", handle, "FCVI-5.3.3-04")
    check_resp2(t, resp2, setup, handle)
    send_resp3(t, setup, handle=resp3_handle)
    t.settle()


def be_refused(t: Scenario, setup: Setup) -> None:
    """Exchange 1: the DUT, as the Peer that has not asked yet, refuses the tester's request."""
    resp1 = t.expect("CONNECT_RESP1", "FCVI-5.3.3-01", exchange=setup.exchange, why="though no Peer is waiting")
    if t.equal(resp1, "CONN_STS", 1, "FCVI-5.3.3-01") and resp1.dh("Reason_Code") not in NOT_FOUND:
        t.equal(resp1, "Reason_Code", 3, "FCVI-5.3.3-01")
    seen = resp1.conn_int("FCVI_RESP_HANDLE")
    t.require(
        seen == UNASSIGNED, "FCVI-5.3.3-03", "FCVI_RESP_HANDLE of a Peer that is not there", f"{seen:08X}h",
        "FFFFFFFFh", at=resp1, byte=resp1.byte_of("CONN", "FCVI_RESP_HANDLE"), bits="31-0",
    )  # fmt: skip
    send_resp2(t, setup, handle=seen)
    resp3 = t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after the refused setup's RESP2")
    if resp1.dh("Reason_Code") == 3 or resp3.dh("FCVI_HANDLE") != setup.tester_handle:
        t.equal(resp3, "FCVI_HANDLE", UNASSIGNED, "FCVI-5.3.3-05", {setup.tester_handle: "E14"})


@case(
    REGISTRY,
    "5.3.3",
    "Peer-to-Peer Connection Setup, one Peer after the other",
    clause="5.3.3",
    requirements=[
        *_EXCHANGE_1, *_EXCHANGE_2, "FCVI-5.3.1-01", "FCVI-4.2-03", "FCVI-4.2-15", "FCVI-4.2-43", "FCVI-T08-010",
    ],  # fmt: skip
    errata=["E13", "E14", "E40", "E48", "E64", "E78"],
    tags=["setup", "peer"],
    applies="peer_to_peer",
    variants=[
        Variant(f"{FIRST}/03", {"role": FIRST, "reason": 3, "resp3": UNASSIGNED}),
        Variant(f"{FIRST}/01", {"role": FIRST, "reason": 1, "resp3": UNASSIGNED}),
        Variant(f"{FIRST}/resp3-with-handle", {"role": FIRST, "reason": 3, "resp3": None}),
        Variant(f"{FIRST}/03/class2", {"role": FIRST, "reason": 3, "resp3": UNASSIGNED}, "class2", {"class": 2}),
        Variant(SECOND, {"role": SECOND}),
        Variant(f"{SECOND}/class2", {"role": SECOND}, "class2", {"class": 2}),
    ],
)
def one_after_the_other(t: Scenario) -> None:
    """The first request is refused because nobody waits; the second one, on an Exchange of its own, connects.

    A refused Peer stays Pending Connect and accepts the request that comes later (E48), without its application.
    The handles of Exchange 1 are unassigned in FCVI_CONNECT_RESP2 and RESP3, those of Exchange 2 are real.
    """
    if t.params["role"] == FIRST:
        own = start_peer(t)
        given = t.params["resp3"]
        refuse_first(t, own, int(t.params["reason"]), own.dut_handle if given is None else int(given))
        check_state(t, own.vi, "pending", "FCVI-5.3.3-02")
        other = send_peer_rqst(t)
        other.vi = own.vi
        expect_peer_accept(t, other, "FCVI-5.3.3-02")
        finish_other(t, other)
        connected(t, own, "FCVI-5.3.3-02")
    else:
        vi = create_vi(t)
        other = send_peer_rqst(t)
        be_refused(t, other)
        check_state(t, vi, "idle", "FCVI-5.3.3-06")
        own = start_peer(t, vi=vi)
        accept_own(t, own)
        connected(t, own, "FCVI-5.3.3-02")
    t.require(not t.errors, "FCVI-5.3.3-02", "VipErrorCallback in a setup without error", t.errors, "none")
    t.control("the second Exchange connected the Peers")


@case(
    REGISTRY,
    "4.2.37",
    "A Client-Server request never meets a Peer",
    clause="4.2",
    requirements=["FCVI-4.2-37", "FCVI-4.2-28"],
    errata=["E78"],
    tags=["setup", "peer", "matching"],
    applies="peer_to_peer",
    variants=[
        Variant("client-at-a-peer", {"mode": CLIENT_SERVER}),
        Variant("peer-at-a-server", {"mode": 2}, "server"),
    ],
)
def modes_do_not_match(t: Scenario) -> None:
    """A request of mode 001b does not match VipConnectPeerRequest, one of mode 010b not VipConnectWait.

    Addresses, Discriminators and attributes are equal: only the mode keeps them apart. The answer is 01h or 03h.
    """
    if t.params["mode"] == CLIENT_SERVER:
        waiting = start_peer(t)
        setup = send_rqst(t, flags=CLIENT_SERVER)
    else:
        wait = start_wait(t)
        setup = send_peer_rqst(t)
    resp1 = t.expect("CONNECT_RESP1", "FCVI-4.2-28", exchange=setup.exchange, why="to a request of the other model")
    if t.equal(resp1, "CONN_STS", 1, "FCVI-4.2-37") and resp1.dh("Reason_Code") not in NOT_FOUND:
        t.equal(resp1, "Reason_Code", 1, "FCVI-4.2-37")
    send_resp2(t, setup, handle=resp1.conn_int("FCVI_RESP_HANDLE"))
    take_resp3(t, setup, "after the refused setup's RESP2")
    if t.params["mode"] == CLIENT_SERVER:
        handle = send_resp1(t, waiting)
        finish_own(t, waiting, handle)
        connected(t, waiting, "FCVI-4.2-37")
        t.control("the Peer was still waiting and was connected by its own request")
    else:
        t.require(not wait.done, "FCVI-4.2-37", "VipConnectWait returned for a Peer", "returned", "blocked")
        control_peer(t)


@case(
    REGISTRY,
    "4.2.36",
    "What makes two Peers match",
    clause="4.2",
    requirements=["FCVI-4.2-36", "FCVI-4.2-28"],
    errata=["E78"],
    tags=["setup", "peer", "matching"],
    applies="peer_to_peer",
    variants=[
        Variant("local-discriminators-differ", {"local": True, "match": True}),
        Variant("remote-discriminators-differ", {"remote": True, "match": False}),
        Variant("other-host-of-the-tester", {"host": "FCVI_LOC_ADDR", "match": False}),
    ],
)
def peers_match(t: Scenario) -> None:
    """The hosts have to correspond crosswise and the Discriminators of both RemoteAddr to be equal, nothing else.

    The Discriminators of the LocalAddr are each side's own business (VI-DG 6.7).
    """
    own = start_peer(t)
    refuse_first(t, own, 3)
    other = send_peer_rqst(t, **_address_fields(t))
    other.vi = own.vi
    if t.params["match"]:
        resp1 = t.expect("CONNECT_RESP1", "FCVI-4.2-36", exchange=other.exchange, why="to a matching request")
        if t.equal(resp1, "CONN_STS", 0, "FCVI-4.2-36"):
            other.dut_handle = resp1.conn_int("FCVI_RESP_HANDLE")
            finish_other(t, other)
            connected(t, own, "FCVI-4.2-36")
            t.control("the Peers were connected")
        return
    resp1 = t.expect("CONNECT_RESP1", "FCVI-4.2-28", exchange=other.exchange, why="to a request that does not match")
    if t.equal(resp1, "CONN_STS", 1, "FCVI-4.2-36") and resp1.dh("Reason_Code") not in NOT_FOUND:
        t.equal(resp1, "Reason_Code", 1, "FCVI-4.2-36")
    send_resp2(t, other, handle=resp1.conn_int("FCVI_RESP_HANDLE"))
    take_resp3(t, other, "after the refused setup's RESP2")
    check_state(t, own.vi, "pending", "FCVI-4.2-36")
    matching = send_peer_rqst(t)
    matching.vi = own.vi
    expect_peer_accept(t, matching, "FCVI-4.2-36")
    finish_other(t, matching)
    connected(t, own, "FCVI-4.2-36")
    t.control("a request that matches was accepted afterwards")


def _address_fields(t: Scenario) -> dict[str, bytes]:
    tester, dut, usual = tester_host(t), dut_host(t), discriminator_of(t)
    if t.params.get("local"):
        return {"FCVI_LOC_ADDR": net_address(tester, OTHER_DISCRIMINATOR)}
    if t.params.get("remote"):
        return {"FCVI_REM_ADDR": net_address(dut, OTHER_DISCRIMINATOR)}
    return {"FCVI_LOC_ADDR": net_address(another_host(t), usual)}
