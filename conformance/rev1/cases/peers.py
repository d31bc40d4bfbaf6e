"""Clauses 5.3.3 and 5.3.4: a Peer whose application is late, and two Peers that ask at once."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.engine.case import Variant, case
from fcvi.fc.received import Received

from conformance.fcvi.steps.connection import OTHER_DISCRIMINATOR
from conformance.fcvi.steps.peers import call_peer_request
from conformance.rev1.steps.connection import (
    BY_KERNEL, CONCURRENT, DUPLICATE, DUPLICATE_READ, NO_MATCH, NO_WAITING, PEER_TO_PEER, REGISTRY, STATE, Scenario, Setup,
    check_refusal, check_resp1, check_resp2, check_rqst, check_state, create_vi, finish_refused, net_address, originated,
    send_resp1, send_resp2, send_rqst, start_wait, tester_host,
)  # fmt: skip
from fcvi.fc.rev1_scenario import Rev1Scenario
from fcvi.engine.scenario import Inconclusive

from conformance.rev1.steps.messages import deliver, exchange_a_send, pattern


def start_peer(t: Scenario, timeout_us: Optional[int] = None) -> Setup:
    """VipConnectPeerRequest on the DUT, its FCVI_CONNECT_RQST, and a VipConnectPeerWait."""
    vi = create_vi(t)
    call_peer_request(t, vi, timeout_us)
    rqst = t.expect("CONNECT_RQST", "FCVI-5.3.1-01", why="after VipConnectPeerRequest")
    check_rqst(t, rqst, PEER_TO_PEER)
    return originated(t, vi, t.start("VipConnectPeerWait", vi=vi), rqst)


def finish_peer(t: Scenario, setup: Setup) -> None:
    """The tester accepts the DUT's request: RESP2, and VIP_SUCCESS."""
    send_resp1(t, setup)
    resp2 = t.expect("CONNECT_RESP2", "REV1-5.3-03", exchange=setup.exchange, why="after an accepting RESP1")
    check_resp2(t, resp2, setup)
    connected(t, setup, "REV1-5.3.3-02")


def connected(t: Scenario, setup: Setup, requirement: str) -> None:
    """VipConnectPeerWait says so, and the VI is Connected."""
    assert setup.call is not None
    t.finish(setup.call, requirement, returns="VIP_SUCCESS")
    check_state(t, setup.vi, "connected", requirement)


def accepted(t: Scenario, setup: Setup, requirement: str) -> Received:
    """The DUT accepts the tester's request."""
    resp1 = t.expect("CONNECT_RESP1", requirement, exchange=setup.exchange, why="to the tester's request")
    if not t.equal(resp1, "CONN_ERR", 0, requirement):
        t.fail(requirement, "the DUT refused", f"{resp1.dh('REASON'):02X}h", "accept", resp1)
    check_resp1(t, resp1, setup)
    setup.dut_handle = resp1.conn_int("VI_RQST_HANDLE")
    return resp1


def refused(t: Scenario, setup: Setup, code: int, requirement: str, tolerated: Optional[dict[int, str]] = None) -> None:
    """The DUT refuses the tester's request, and the tester ends the Exchange."""
    resp1 = t.expect("CONNECT_RESP1", requirement, exchange=setup.exchange, why="to the tester's request")
    check_refusal(t, resp1, setup, code, requirement, tolerated)
    send_resp2(t, setup)


@case(
    REGISTRY,
    "R1.5.3.3.a",
    "A Peer whose application is late",
    clause="5.3.3",
    requirements=["REV1-5.3-03", "REV1-5.3.3-01", "REV1-5.3.3-02", "REV1-5.7.6-07", "FCVI-5.3.1-01"],
    errata=["R08", "R24", "R35", "R36"],
    tags=["setup", "peer"],
    applies="peer_to_peer and send",
    variants=[
        Variant("dut-late/nobody-waits", {"what": "late"}),
        Variant("dut-late/another-waits", {"what": "late", "other": True}, "server"),
        Variant("dut-late/class2", {"what": "late"}, "class2", {"class": 2}),
        Variant("tester-late/no-waiting", {"what": "first", "code": NO_WAITING}),
        Variant("tester-late/no-match", {"what": "first", "code": NO_MATCH}),
        Variant("tester-late/local-discriminators-differ",
                {"what": "first", "code": NO_WAITING, "tester_discriminator": OTHER_DISCRIMINATOR}),
        Variant("tester-late/dut-lower", {"what": "first", "code": NO_WAITING}, "not loopback",
                {"host": ["0000000000000000000000000a000001"], "peer": {"host": ["0000000000000000000000000a000002"]}}),
        Variant("tester-late/class2", {"what": "first", "code": NO_WAITING}, "class2", {"class": 2}),
        Variant("reserved-code-08", {"what": "reserved", "code": 0x08}),
        Variant("reserved-code-ff", {"what": "reserved", "code": 0xFF}),
    ],
)
def late(t: Scenario) -> None:
    """A Peer whose application has not called refuses with 04h; its own later request connects. A Peer that was refused so accepts
    the later request of the other one. A refusal with a reserved code connects nobody.
    """
    t.params = {"role": "dut-client", "level": "unreliable", **t.params}
    what = t.params["what"]
    if what == "late":
        if t.params.get("other"):
            start_wait(t, discriminator=OTHER_DISCRIMINATOR)
        asked = send_rqst(t, PEER_TO_PEER)
        # where another Connection Point waits, no match may be said as well (R24)
        tolerated = {NO_MATCH: "R24"} if t.params.get("other") else None
        refused(t, asked, NO_WAITING, "REV1-5.3.3-01", tolerated)
        setup = start_peer(t)
        finish_peer(t, setup)
    else:
        setup = start_peer(t)
        code = int(t.params["code"])
        send_resp1(t, setup, reason=code)
        finish_refused(t, setup, code)
        if what == "reserved":
            seen = t.call("VipQueryVi", vi=setup.vi).text("State")
            t.require(seen != "VIP_STATE_CONNECTED", "REV1-5.7.6-07", f"the state after a refusal with {code:02X}h", seen,
                      "not Connected")  # fmt: skip
            setup = start_peer(t)
            finish_peer(t, setup)
        else:
            setup = _later(t, setup)
    exchange_a_send(t, setup)
    t.control("the two Peers were connected, and Messages passed")


def _later(t: Scenario, first: Setup) -> Setup:
    """The request of the tester, whose application has called by now. The Discriminators of the two LocalAddr may differ (4.2)."""
    if t.peek(["CONNECT_RQST"]):
        return _asked_again(t, first)
    own = t.params.get("tester_discriminator")
    fields: dict[str, Any] = {"VI_LOC_ADDR": net_address(tester_host(t), own)} if isinstance(own, bytes) else {}
    other = send_rqst(t, PEER_TO_PEER, **fields)
    other.vi, other.call = first.vi, first.call
    t.owed(lambda: t.peek(["CONNECT_RESP1"], other.exchange) is not None)
    resp1 = t.peek(["CONNECT_RESP1"], other.exchange)
    if resp1 is not None and resp1.dh("REASON") == CONCURRENT and t.peek(["CONNECT_RQST"]):
        refused(t, other, CONCURRENT, "REV1-5.3.4-02")
        return _asked_again(t, first)
    accepted(t, other, "REV1-5.3.3-02")
    send_resp2(t, other)
    connected(t, other, "REV1-5.3.3-02")
    return other


def _asked_again(t: Scenario, first: Setup) -> Setup:
    """A Peer that was refused may ask again before the other one does, as often as it likes (5.3.3)."""
    rqst = t.expect("CONNECT_RQST", "REV1-5.3.3-02", why="again")
    check_rqst(t, rqst, PEER_TO_PEER)
    setup = originated(t, first.vi, first.call, rqst)
    finish_peer(t, setup)
    return setup


# ---- two Peers that ask at once ----

#: (Host Address of the DUT, of the tester): the order of the two by 128 bits without a sign.
_PAIRS: dict[str, tuple[str, str]] = {
    "last-byte": ("fe8000000000000000000000000000b2", "fe8000000000000000000000000000a1"),
    "first-byte": ("fe800000000000000000000000000001", "20010db8ffffffffffffffffffffffff"),
    "top-bit": ("80000000000000000000000000000001", "7fffffffffffffffffffffffffffffff"),
    "high-word": ("00000000000000010000000000000000", "0000000000000000ffffffffffffffff"),
    "ipv4": ("0000000000000000000000000a000002", "0000000000000000000000000a000001"),
    "ipv4-top-byte": ("000000000000000000000000c0a80001", "0000000000000000000000000a0000ff"),
}

_EQUAL = _PAIRS["last-byte"][0]


def _crossing(name: str, higher: bool, order: str = "", extra: str = "", **config: Any) -> Variant:
    """The DUT has the higher Host Address, or the lower one; by Port_Names it is the other way round."""
    own, other = _PAIRS[name] if higher else _PAIRS[name][::-1]
    changes = {"host": [own], "peer": {"host": [other]}, "tester_name": "above" if higher else "below", **config}
    suffix = "/".join(p for p in ("dut-higher" if higher else "dut-lower", name, order) if p)
    return Variant(suffix, {"higher": higher, "order": order, "pair": name}, extra, changes)


@case(
    REGISTRY,
    "R1.5.3.4.a",
    "Crossing Peers: the Host Addresses decide",
    clause="5.3.4",
    requirements=["REV1-5.3.4-01", "REV1-5.3.4-02", "REV1-5.3.4-03", "REV1-5.3.4-04", "REV1-5.3.4-05"],
    errata=["R05", "R08", "R33", "R41"],
    tags=["setup", "peer", "arbitration"],
    applies="peer_to_peer and send",
    variants=[_crossing(name, higher) for higher in (True, False) for name in _PAIRS]
    + [_crossing("last-byte", True, order) for order in ("refused-first", "refused-between")]
    + [_crossing("last-byte", False, order) for order in ("accepted-first",)]
    + [_crossing("last-byte", higher, "class2", "class2", **{"class": 2}) for higher in (True, False)]
    + [Variant("equal", {"equal": True}, "not loopback", {"host": [_EQUAL], "peer": {"host": [_EQUAL]}}),
       Variant("not-crossing/dut-first", {"alone": "dut"}), Variant("not-crossing/tester-first", {"alone": "tester"})],
)  # fmt: skip
def crossing(t: Scenario) -> None:
    """Both have asked before a RESP1 came. The higher Host Address accepts, the lower refuses with 05h at once, equal ones
    refuse with 07h (R05); Port_Names, which are the other way round, decide nothing. One connection results, that of the lower
    one's request.
    """
    t.params = {"role": "dut-client", "level": "unreliable", **t.params}
    if t.params.get("equal"):
        _equal(t)
        return
    if "alone" in t.params:
        setup = _alone(t)
    else:
        own = start_peer(t)
        other = send_rqst(t, PEER_TO_PEER)
        other.vi, other.call = own.vi, own.call
        setup = _higher(t, own, other) if t.params["higher"] else _lower(t, own, other)
    t.require(not t.errors, "REV1-5.3.4-05", "VipErrorCallback though one setup completed", t.errors, "none")
    exchange_a_send(t, setup)
    t.owed(lambda: _given_up(t))
    if _given_up(t):
        raise Inconclusive("the provider of the DUT ended the Connection by itself, which nothing forbids (R41)")
    check_state(t, setup.vi, "connected", "REV1-5.3.4-05")
    deliver(t, setup, pattern(16))
    t.control("exactly one connection resulted, and Messages passed")


def _given_up(t: Scenario) -> bool:
    """Whether the DUT's provider has disconnected of its own accord, in good order."""
    rqst = t.peek(["DISCONNECT_RQST"])
    return rqst is not None and rqst.dh("VI_FLAGS") == BY_KERNEL


def _alone(t: Scenario) -> Setup:
    """The positive control: requests that do not cross."""
    if t.params["alone"] == "dut":
        setup = start_peer(t)
        finish_peer(t, setup)
        return setup
    asked = send_rqst(t, PEER_TO_PEER)
    refused(t, asked, NO_WAITING, "REV1-5.3.3-01")
    first = start_peer(t)
    finish_peer(t, first)
    return first


def _row(t: Scenario, plain: str) -> str:
    """What is broken by the wrong answer: the comparison, where the addresses are such that another one comes out otherwise."""
    return plain if t.params["pair"] == "last-byte" else "REV1-5.3.4-04"


def _higher(t: Scenario, own: Setup, other: Setup) -> Setup:
    """The DUT accepts the tester's request; the tester, which is the lower one, refuses the DUT's."""
    if t.params["order"] == "refused-first":
        send_resp1(t, own, reason=CONCURRENT)
    accepted(t, other, _row(t, "REV1-5.3.4-01"))
    if t.params["order"] == "refused-between":
        send_resp1(t, own, reason=CONCURRENT)
        t.settle()
    send_resp2(t, other)
    connected(t, other, "REV1-5.3.4-05")
    if not t.params["order"] or t.params["order"] == "class2":
        send_resp1(t, own, reason=CONCURRENT)
    finish_refused(t, own, CONCURRENT)
    return other


def _lower(t: Scenario, own: Setup, other: Setup) -> Setup:
    """The DUT refuses the tester's request with 05h, whether or not the tester has answered; the tester accepts the DUT's."""
    if t.params["order"] == "accepted-first":
        send_resp1(t, own)
    refused(t, other, CONCURRENT, _row(t, "REV1-5.3.4-02"))
    if t.params["order"] != "accepted-first":
        send_resp1(t, own)
        _still_asks(t, own)
    resp2 = t.expect("CONNECT_RESP2", "REV1-5.3-03", exchange=own.exchange, why="after an accepting RESP1")
    check_resp2(t, resp2, own)
    connected(t, own, "REV1-5.3.4-05")
    return own


def _still_asks(t: Scenario, own: Setup) -> None:
    """The refusal may take FCVI_ULP_TIMEOUT (E123), and the DUT's own request may end by it before the tester answers (8)."""
    assert own.rqst is not None
    t.owed(lambda: t.peek(["CONNECT_RESP2", "ABTS"], own.exchange) is not None)
    first = t.peek(["CONNECT_RESP2", "ABTS"], own.exchange)
    ends_us = own.rqst.time_us + (t.ulp_us or t.ulp_timeout_us) - t.pixit.early_us
    if first is not None and first.kind == "ABTS" and first.time_us >= ends_us:
        raise Inconclusive("FCVI_ULP_TIMEOUT ended the DUT's request while the tester waited for its refusal")


def _equal(t: Rev1Scenario) -> None:
    """Equal Host Addresses on two ports: both refuse. A device that takes its own address for itself sends no request."""
    vi = create_vi(t)
    call_peer_request(t, vi, None)
    t.owed(lambda: t.peek(["CONNECT_RQST"]) is not None)
    rqst = t.peek(["CONNECT_RQST"])
    if rqst is None:
        raise Inconclusive("the DUT takes its own Host Address for itself: no request crosses")
    rqst.taken = True
    check_rqst(t, rqst, PEER_TO_PEER)
    own = originated(t, vi, None, rqst)
    other = send_rqst(t, PEER_TO_PEER)
    resp1 = t.expect("CONNECT_RESP1", "REV1-5.3.4-03", exchange=other.exchange, why="to the tester's request")
    check_refusal(t, resp1, other, DUPLICATE, "REV1-5.3.4-03", {DUPLICATE_READ: "R05"})
    send_resp2(t, other)
    send_resp1(t, own, reason=DUPLICATE)
    finish_refused(t, own, DUPLICATE)
    seen = t.call("VipQueryVi", vi=vi).text("State")
    t.require(seen != STATE["connected"], "REV1-5.3.4-03", "the state of the VI", seen, "not Connected")
    if seen not in (STATE["connected"], STATE["pending"]):
        t.report("REV1-5.3.4-03", "the peer request does not wait on", seen, STATE["pending"], erratum="R33")
    t.control("a request crossed, and the DUT refused it")
