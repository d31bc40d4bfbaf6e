"""Holds what the Peer-to-Peer cases share: requests that cross, and the ends of both Exchanges (5.3.3, 5.3.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from .connection import (
    PEER_TO_PEER,
    Setup,
    check_connect_rqst,
    check_resp1,
    check_resp2,
    check_resp3,
    check_state,
    create_vi,
    dut_address,
    originated,
    send_resp1,
    send_resp2,
    send_resp3,
    send_rqst,
    take_resp2,
    take_resp3,
    tester_address,
)

HIGHER, LOWER = "dut-higher", "dut-lower"  # the DUT's Port_Name against the tester's
CONCURRENT, PROTOCOL_ERROR, CONNECT_REJECT = 0x05, 0x21, 0x04
NOT_FOUND = [0x01, 0x03]  # no connection yet: the answers stand for each other (E78)


@dataclass
class Crossing:
    """Two Connection Setups for one VI of the DUT: the request of each side."""

    own: Setup  # the DUT's
    other: Setup  # the tester's

    @property
    def vi(self) -> int:
        """The DUT's VI."""
        return self.own.vi


def call_peer_request(t: Scenario, vi: int, timeout_us: Optional[int] = None) -> None:
    """VipConnectPeerRequest on the DUT, which returns at once (C.5.1, VI-DG 3.3.6)."""
    call = t.call("VipConnectPeerRequest", vi=vi, LocalAddr=dut_address(t), RemoteAddr=tester_address(t), Timeout=timeout_us)
    code = call.returned()
    t.demand(code == "VIP_SUCCESS", "FCVI-4.2-15", f"VipConnectPeerRequest returned {code}", code, "VIP_SUCCESS")


def start_peer(t: Scenario, timeout_us: Optional[int] = None, vi: Optional[int] = None) -> Setup:
    """VipConnectPeerRequest on the DUT, its FCVI_CONNECT_RQST, and a VipConnectPeerWait that waits for the result."""
    if vi is None:
        vi = create_vi(t)
    call_peer_request(t, vi, timeout_us)
    rqst = t.expect("CONNECT_RQST", "FCVI-5.3.1-01", why="after VipConnectPeerRequest")
    check_connect_rqst(t, rqst, retry=0, mode=PEER_TO_PEER)
    return originated(t, vi, t.start("VipConnectPeerWait", vi=vi), rqst)


def send_peer_rqst(t: Scenario, **fields: object) -> Setup:
    """The tester's FCVI_CONNECT_RQST as a Peer."""
    return send_rqst(t, flags=PEER_TO_PEER, **fields)  # type: ignore[arg-type]


def cross(t: Scenario) -> Crossing:
    """Concurrent Matching Peer-to-Peer Requests: both have sent theirs before a FCVI_CONNECT_RESP1 came (5.3.4)."""
    own = start_peer(t)
    other = send_peer_rqst(t)
    other.vi = own.vi
    return Crossing(own, other)


# ---- the Exchange of the tester's request: the DUT answers ----


def expect_peer_accept(t: Scenario, setup: Setup, requirement: str) -> Received:
    """An accepting FCVI_CONNECT_RESP1 on the Exchange of the tester's request."""
    resp1 = _resp1(t, setup, requirement, "accepting")
    if not t.equal(resp1, "CONN_STS", 0, requirement):
        t.fail(requirement, "the DUT refused", f"{resp1.dh('Reason_Code'):02X}h", "accept", resp1)
    check_resp1(t, resp1, setup)
    setup.dut_handle = resp1.conn_int("FCVI_RESP_HANDLE")
    return resp1


def expect_peer_refusal(
    t: Scenario, setup: Setup, code: int, requirement: str, tolerated: Optional[dict[int, str]] = None
) -> Received:
    """A refusing FCVI_CONNECT_RESP1 with this Reason Code, or with one that an erratum tolerates."""
    resp1 = _resp1(t, setup, requirement, "refusing")
    t.equal(resp1, "FCVI_CONNECTION_ID", setup.connection_id, "FCVI-6.9.2-09")
    if t.equal(resp1, "CONN_STS", 1, requirement):
        t.equal(resp1, "Reason_Code", code, requirement, tolerated)
    setup.dut_handle = resp1.conn_int("FCVI_RESP_HANDLE")
    return resp1


def _resp1(t: Scenario, setup: Setup, requirement: str, how: str) -> Received:
    return t.expect("CONNECT_RESP1", requirement, exchange=setup.exchange, why=f"{how} the tester's request")


def finish_other(t: Scenario, setup: Setup, *, refused: bool = False) -> None:
    """FCVI_CONNECT_RESP2 of the tester and the DUT's FCVI_CONNECT_RESP3 (6.10.1, 6.11.1), also after a refusal."""
    send_resp2(t, setup)
    resp3 = take_resp3(t, setup, "after FCVI_CONNECT_RESP2")
    if resp3 is not None:
        check_resp3(t, resp3, setup, refused=refused)


# ---- the Exchange of the DUT's request: the tester answers ----


def accept_own(t: Scenario, setup: Setup) -> None:
    """The tester accepts: FCVI_CONNECT_RESP1, the DUT's FCVI_CONNECT_RESP2, FCVI_CONNECT_RESP3."""
    handle = send_resp1(t, setup)
    finish_own(t, setup, handle)


def refuse_own(t: Scenario, setup: Setup, reason: int) -> None:
    """The tester refuses; the DUT sends FCVI_CONNECT_RESP2 all the same (6.10.1, E40)."""
    handle = send_resp1(t, setup, reason=reason)
    finish_own(t, setup, handle)


def finish_own(t: Scenario, setup: Setup, handle: int) -> None:
    """After the tester's FCVI_CONNECT_RESP1: the DUT's FCVI_CONNECT_RESP2, which copies the handle, and the tester's RESP3."""
    resp2 = take_resp2(t, setup, "after FCVI_CONNECT_RESP1")
    check_resp2(t, resp2, setup, handle)
    send_resp3(t, setup)
    t.settle()


# ---- the result ----


def connected(t: Scenario, setup: Setup, requirement: str) -> None:
    """VipConnectPeerWait says so, and the VI is Connected."""
    assert setup.call is not None
    t.finish(setup.call, requirement, returns="VIP_SUCCESS")
    check_state(t, setup.vi, "connected", requirement)


def not_connected(t: Scenario, setup: Setup, requirement: str) -> None:
    """The VI is not Connected, now and later, and VipConnectPeerWait never says that it is."""
    for _ in range(2):
        state = t.call("VipQueryVi", vi=setup.vi).text("State")
        t.require(state != "VIP_STATE_CONNECTED", requirement, "the VI is Connected", state, "any other state")
        t.wait(t.r_a_tov_us // 4)
    assert setup.call is not None
    if setup.call.done:
        code = setup.call.returned()
        t.require(code != "VIP_SUCCESS", requirement, "VipConnectPeerWait succeeded", code, "no success")


def control_peer(t: Scenario) -> None:
    """Positive control: a Peer-to-Peer setup that the tester accepts succeeds with this DUT."""
    setup = start_peer(t)
    accept_own(t, setup)
    connected(t, setup, "FCVI-5.3.3-02")
    t.control("a further Peer-to-Peer setup completed")
