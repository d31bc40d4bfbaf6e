"""Clause 5.3.4: Concurrent Matching Peer-to-Peer Requests, the rules of the arbitration."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    REGISTRY,
    check_resp3,
    check_state,
    create_vi,
    dut_address,
    expect_retry,
    send_resp1,
    send_resp2,
)
from conformance.fcvi.steps.peers import (
    CONCURRENT,
    HIGHER,
    LOWER,
    PROTOCOL_ERROR,
    Crossing,
    accept_own,
    connected,
    control_peer,
    cross,
    expect_peer_accept,
    expect_peer_refusal,
    finish_other,
    finish_own,
    not_connected,
    refuse_own,
)

PART_OF_REPORT = 4

_BELOW, _ABOVE = ("below", "below-in-the-high-word"), ("above", "above-in-the-high-word", "above-by-the-top-bit")
_TRUTH = ["FCVI-5.3.4-01", "FCVI-5.3.4-02", "FCVI-5.3.4-03", "FCVI-A.1-01", "FCVI-A.1-02", "FCVI-5.3.1-01", "FCVI-4.2-03"]


@case(
    REGISTRY,
    "5.3.4.a",
    "The Peer with the higher Port_Name accepts",
    clause="5.3.4 a)",
    requirements=[*_TRUTH, "FCVI-5.3.4-05", "FCVI-5.3.4-a", "FCVI-5.3.4-08"],
    errata=["E49", "E50"],
    tags=["setup", "peer", "arbitration"],
    applies="peer_to_peer",
    variants=[Variant(f"tester-{name}", {"end": "last"}, "", {"tester_name": name}) for name in _BELOW]
    + [
        Variant("refused-before-resp2", {"end": "first"}, "", {"tester_name": "below"}),
        Variant("refusal-after-resp2", {"end": "between"}, "", {"tester_name": "below"}),
        Variant("class2", {"end": "last"}, "class2", {"tester_name": "below", "class": 2}),
        Variant(
            "refusal-overtakes-resp2", {"end": "swapped"}, "out_of_order_fabric",
            {"tester_name": "below", "fabric": "out-of-order"},
        ),
    ],  # fmt: skip
)
def higher_accepts(t: Scenario) -> None:
    """The DUT accepts the tester's request without waiting for the answer to its own.

    Its own request is refused with 05h, before, between or after the other Exchange's last IUs: it answers that
    with FCVI_CONNECT_RESP2 and is and stays Connected through the tester's Exchange (E50).
    """
    both = cross(t)
    expect_peer_accept(t, both.other, "FCVI-5.3.4-a")
    end = t.params["end"]
    if end == "first":
        refuse_own(t, both.own, CONCURRENT)
        finish_other(t, both.other)
    elif end in ("between", "swapped"):
        if end == "swapped":
            t.tester.link.reorder("tester", "CONNECT_RESP2")
        _refuse_between(t, both)
    else:
        finish_other(t, both.other)
        connected(t, both.own, "FCVI-5.3.4-05")
        refuse_own(t, both.own, CONCURRENT)
    connected(t, both.own, "FCVI-5.3.4-05")
    t.require(not t.errors, "FCVI-5.3.4-02", "VipErrorCallback though one setup completed", t.errors, "none")
    t.wait(t.r_a_tov_us + 2 * t.pixit.late_us)
    check_state(t, both.vi, "connected", "FCVI-5.3.4-02")
    t.control("exactly one of two setups completed")


def _refuse_between(t: Scenario, both: Crossing) -> None:
    """RESP2 of the tester's setup and the refusal of the DUT's are on their way together."""
    send_resp2(t, both.other)
    handle = send_resp1(t, both.own, reason=CONCURRENT)
    resp3 = t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=both.other.exchange, why="after FCVI_CONNECT_RESP2")
    check_resp3(t, resp3, both.other)
    finish_own(t, both.own, handle)


@case(
    REGISTRY,
    "5.3.4.b",
    "The Peer with the lower Port_Name waits and refuses",
    clause="5.3.4 b)",
    requirements=[*_TRUTH, "FCVI-5.3.4-04", "FCVI-5.3.4-b", "FCVI-5.3.4-b2"],
    errata=["E49", "E80"],
    tags=["setup", "peer", "arbitration"],
    applies="peer_to_peer",
    variants=[Variant(f"tester-{name}", {"role": LOWER}, "", {"tester_name": name}) for name in _ABOVE]
    + [
        Variant("class2", {"role": LOWER}, "class2", {"tester_name": "above", "class": 2}),
        Variant("explicit-login", {"role": LOWER}, "explicit_login", {"tester_name": "above", "login": "explicit"}),
    ],
)
def lower_refuses(t: Scenario) -> None:
    """The DUT holds its answer until the tester has accepted; then it refuses with 05h and its own setup completes.

    Port_Names are compared as numbers of 64 bits without a sign.
    """
    both = cross(t)
    t.expect_nothing(
        ["CONNECT_RESP1"], t.r_a_tov_us // 4, "FCVI-5.3.4-b", "before the higher Peer's FCVI_CONNECT_RESP1",
        exchange=both.other.exchange,
    )  # fmt: skip
    accept_own(t, both.own)
    expect_peer_refusal(t, both.other, CONCURRENT, "FCVI-5.3.4-b2")
    finish_other(t, both.other, refused=True)
    connected(t, both.own, "FCVI-5.3.4-04")
    t.control("exactly one of two setups completed")


@case(
    REGISTRY,
    "5.3.4.b.unanswered",
    "The Peer with the lower Port_Name gets no answer",
    clause="5.3.4 b), 8.5.3",
    requirements=["FCVI-5.3.4-02", "FCVI-8.5.3-a", "FCVI-8.5.3-a2a", "FCVI-8.5.3-a2b"],
    errata=["E80"],
    tags=["setup", "peer", "arbitration", "loss", "timing"],
    applies="peer_to_peer",
    variants=[Variant("", {"role": LOWER}, "", {"tester_name": "above"})],
)
def lower_unanswered(t: Scenario) -> None:
    """FCVI_CONNECT_RESP1 never comes: after T3 the DUT aborts its Exchange; both end Connected, or neither.

    What becomes of the request that it holds is left open (E80): it may be accepted, refused, or left alone. A retry
    of the DUT's own request is accepted by the tester.
    """
    both = cross(t)
    assert both.own.rqst is not None
    abts = t.expect("ABTS", "FCVI-8.5.3-a", exchange=both.own.exchange, within_us=2 * t.r_a_tov_us, why="after T3")
    t.tester.send_ba_acc(abts)
    t.owed(lambda: t.peek(["CONNECT_RQST", "CONNECT_RESP1"]) is not None)
    answer = t.peek(["CONNECT_RESP1"], both.other.exchange)
    if answer is not None and not answer.dh("CONN_STS"):
        expect_peer_accept(t, both.other, "FCVI-5.3.4-02")
        finish_other(t, both.other)
        t.tolerate("CONNECT_RQST", "ABTS")
        connected(t, both.own, "FCVI-5.3.4-02")
        t.control("the request that was held connected the Peers")
        return
    t.tolerate("CONNECT_RESP1", "CONNECT_RESP3", "ABTS")
    retry = expect_retry(t, both.own)
    accept_own(t, retry)
    connected(t, retry, "FCVI-5.3.4-02")
    t.control("the retry connected the Peers")


@case(
    REGISTRY,
    "5.3.4.c",
    "A Peer with the same Port_Name is refused",
    clause="5.3.4 c)",
    requirements=["FCVI-5.3.4-c"],
    errata=["E79"],
    tags=["setup", "peer", "arbitration"],
    applies="peer_to_peer",
    variants=[
        Variant("", {"role": HIGHER}, "", {"tester_name": "equal"}),
        Variant("class2", {"role": HIGHER}, "class2", {"tester_name": "equal", "class": 2}),
    ],
)
def equal_names(t: Scenario) -> None:
    """Another port, with an N_Port Identifier of its own, that claims the DUT's Port_Name gets 21h.

    The DUT's own request is then refused by the tester as well: nobody is connected.
    """
    both = cross(t)
    expect_peer_refusal(t, both.other, PROTOCOL_ERROR, "FCVI-5.3.4-c")
    finish_other(t, both.other, refused=True)
    refuse_own(t, both.own, PROTOCOL_ERROR)
    not_connected(t, both.own, "FCVI-5.3.4-c")
    control_peer(t)


@case(
    REGISTRY,
    "5.3.4.loopback",
    "Two Peers on one port",
    clause="5.3.4",
    requirements=["FCVI-5.3.4-06"],
    errata=["E79"],
    tags=["setup", "peer", "arbitration", "loopback"],
    applies="peer_to_peer and loopback",
)
def loopback(t: Scenario) -> None:
    """Two VIs of the DUT that ask for each other are connected, though their Port_Names are equal.

    Exactly one connection results: a Disconnect of one VI is the end of both, and no more than that happens.
    """
    address, vis = dut_address(t), [create_vi(t), create_vi(t)]
    for vi in vis:
        request = t.call("VipConnectPeerRequest", vi=vi, LocalAddr=address, RemoteAddr=address, Timeout=None)
        t.require(
            request.returned() == "VIP_SUCCESS", "FCVI-5.3.4-06", "VipConnectPeerRequest failed", request.returned(),
            "VIP_SUCCESS",
        )  # fmt: skip
    for vi in vis:
        wait = t.start("VipConnectPeerWait", vi=vi)
        t.finish(wait, "FCVI-5.3.4-06", returns="VIP_SUCCESS")
        check_state(t, vi, "connected", "FCVI-5.3.4-06")
    t.finish(t.start("VipDisconnect", vi=vis[0]), "FCVI-5.3.4-06", returns="VIP_SUCCESS")
    check_state(t, vis[0], "idle", "FCVI-8.2-d2")
    check_state(t, vis[1], "error", "FCVI-8.2-d3")
    control_peer(t)
