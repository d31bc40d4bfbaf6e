"""The second arrangement: the reference port on the far side, the harness as the Fabric that loses and reorders.

Both ends are driven by VIPL calls; what is judged is what the DUT's application sees and every frame that it sends.
"""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant, case
from fcvi.fc.received import kind_of
from fcvi.fc.scenario import Inconclusive, Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    STATE,
    check_state,
    connection_lost,
    dut_address,
    tester_address,
)
from conformance.fcvi.steps.second_port_ends import Decided, Ends, transfer
from conformance.fcvi.steps.neighbours import NEEDS, TOPOLOGIES, UNKNOWN_HOST, need_broadcast
from conformance.fcvi.steps.peers import call_peer_request

PART_OF_REPORT = 5

_LEVELS = (("unreliable", "unreliable_delivery", 1), ("reliable-delivery", "reliable_delivery", 2),
           ("reliable-reception", "reliable_reception", 3))  # fmt: skip
_FABRICS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("in-order", "", {}), ("out-of-order", " and out_of_order_fabric", {"fabric": "out-of-order"}),
)  # fmt: skip
_ROLES = ((CLIENT, "client"), (SERVER, "server"))
_OPS = (("send", "send"), ("rdma-write", "rdma_write"), ("rdma-read", "rdma_read"))


@case(
    REGISTRY,
    "5.2.far",
    "Every operation between the DUT and the reference port",
    clause="5.2, 5.3.2",
    requirements=["FCVI-4.2-16", "FCVI-8.2-b1"],
    tags=["far-side", "message", "setup"],
    applies="client or server",
    variants=[
        Variant(
            f"{level}/{op}/{role}/class{cls}/{fabric}",
            {"role": role, "op": op, "attributes": {
                "FCVI_RELIABILITY_LVL": number, "EnRdmaWr": int(op == "rdma-write"), "EnRdmaRd": int(op == "rdma-read")}},
            f"{pics} and {item} and {claim} and class{cls}{extra}", {"class": cls, "receive_size": 512, **config},
        )
        for level, claim, number in _LEVELS
        for op, item in _OPS
        if not (op == "rdma-read" and number == 1)
        for role, pics in _ROLES
        for cls in (3, 2)
        for fabric, extra, config in _FABRICS
    ],  # fmt: skip
)
def operations(t: Scenario) -> None:
    """A setup, then Messages of one frame and of many from each end: every byte arrives, both applications see success."""
    ends = Ends(t)
    ends.connect()
    try:
        for size in (1, 480, 2000):
            for from_dut in (True, False):
                transfer(ends, str(t.params["op"]), from_dut, size)
    except Decided:
        t.control("Messages of one frame completed at both ends, and the frames of a longer one bring every byte")
        return
    check_state(t, ends.vi, "connected", "FCVI-8.2-d1")
    t.control("both ends saw every Message complete")


@case(
    REGISTRY,
    "5.3.4.far",
    "Both Peers ask at once",
    clause="5.3.4",
    requirements=["FCVI-5.3.4-02", "FCVI-5.3.4-01"],
    tags=["far-side", "setup", "peer", "arbitration"],
    applies="peer_to_peer",
    variants=[
        Variant(f"{name}/class{cls}/{order}", {"order": order}, f"class{cls}", {"tester_name": name, "class": cls})
        for name in ("below", "above")
        for cls in (3, 2)
        for order in ("crossing", "dut-first", "far-first")
    ],
)
def peers(t: Scenario) -> None:
    """VipConnectPeerRequest on both ends, crossing on the wire or one after the other: one connection results."""
    ends = Ends(t)
    own, other, order = dut_address(t), tester_address(t), t.params["order"]
    if order == "crossing":  # the far side's request is on its way while the DUT sends its own
        t.tester.link.delay("tester", "CONNECT_RQST", t.r_a_tov_us // 100)
        t.tester.link.delay("dut", "CONNECT_RQST", t.r_a_tov_us // 100)
    if order != "far-first":
        call_peer_request(t, ends.vi)
    if order == "dut-first":
        t.owed(lambda: any(iu.kind == "CONNECT_RQST" for iu in t.tester.inbox))
    ends.call("VipConnectPeerRequest", vi=ends.second_vi, LocalAddr=other, RemoteAddr=own, Timeout=None)
    if order == "far-first":
        t.wait(t.r_a_tov_us // 10)
        call_peer_request(t, ends.vi)
    far = ends.call("VipConnectPeerWait", vi=ends.second_vi)
    own_wait = t.start("VipConnectPeerWait", vi=ends.vi)
    t.owed(lambda: own_wait.done or ends.login_renewed())
    if not own_wait.done and ends.login_renewed():
        raise Inconclusive("the DUT logged in or out while the far side waited for its Peer, which ends what it had begun (7.7.1)")
    t.finish(own_wait, "FCVI-5.3.4-02", returns="VIP_SUCCESS")
    ends.both_connected(far)
    t.wait(2 * t.r_a_tov_us)
    t.require(not t.errors, "FCVI-5.3.4-02", "VipErrorCallback after the arbitration", t.errors, "none")
    check_state(t, ends.vi, "connected", "FCVI-5.3.4-02")
    t.control("exactly one connection resulted")


_LOST = ("CONNECT_RQST", "CONNECT_RESP1", "CONNECT_RESP2", "CONNECT_RESP3")


@case(
    REGISTRY,
    "C.5.far",
    "One IU of a Connection Setup is lost",
    clause="C.5.7 to C.5.10",
    requirements=["FCVI-8.5.4-01", "FCVI-8.5.4-b1", "FCVI-8.5.3-a3", "FCVI-8.5.3-d"],
    errata=["E61"],
    tags=["far-side", "setup", "loss", "retry", "timing"],
    applies="client or server",
    variants=[
        Variant(f"{role}/{lost.lower().replace('connect_', '')}", {"role": role, "lost": lost}, pics)
        for role, pics in _ROLES
        for lost in _LOST
    ],
)
def lost_iu(t: Scenario) -> None:
    """Before RESP2 the retry connects both ends. Later a client goes to Error after T3; so does a server without RESP2.

    A server that has sent RESP3 is Connected until the client disconnects. Afterwards a further setup succeeds.
    """
    ends, lost = Ends(t), str(t.params["lost"])
    sends = t.params["role"] == (CLIENT if lost in ("CONNECT_RQST", "CONNECT_RESP2") else SERVER)
    t.tester.link.drop("dut" if sends else "tester", lost)
    own, other = ends.setup()
    if lost in ("CONNECT_RQST", "CONNECT_RESP1"):
        ends.settled(own, other, answers=3)
        aborted = any(kind_of(frame) == "ABTS" for _, _, frame in t.crossed("tester"))
        if own.done and own.returned() != "VIP_SUCCESS" and aborted:
            raise Inconclusive("the DUT may have ended the setup when the far side aborted its Exchange (8.5.3 d, E153)")
        t.finish(own, "FCVI-8.5.4-b1", within_us=0, returns="VIP_SUCCESS")
        ends.both_connected(other)
    else:
        t.wait(4 * t.r_a_tov_us)
        if t.params["role"] == CLIENT:
            check_state(t, ends.vi, "error", "FCVI-8.5.3-a3")
            connection_lost(t, ends.vi, "FCVI-C-R5-e")
        elif lost == "CONNECT_RESP2":
            check_state(t, ends.vi, "error", "FCVI-8.5.3-d", {"idle": "E61"})
        else:
            check_state(t, ends.vi, "connected", "FCVI-8.2-b1")
            ends.call("VipDisconnect", vi=ends.second_vi)
            check_state(t, ends.vi, "error", "FCVI-8.2-d3")
    t.finish(t.start("VipDisconnect", vi=ends.vi), "FCVI-8.1-03", within_us=t.owed_us(3))
    ends.call("VipDisconnect", vi=ends.second_vi)
    t.wait(2 * t.r_a_tov_us)
    check_state(t, ends.vi, "idle", "FCVI-8.2-e1")
    ends.connect()
    t.control("a further setup connected both ends")


@case(
    REGISTRY,
    "D.2.far",
    "Disconnect from either end",
    clause="D.2",
    requirements=["FCVI-8.1-03", "FCVI-8.2-d2", "FCVI-8.2-d3", "FCVI-8.2-e1"],
    tags=["far-side", "disconnect"],
    applies="client or server",
    variants=[
        Variant(f"{role}/{order}", {"role": role, "order": order}, pics)
        for role, pics in _ROLES
        for order in ("dut-first", "far-first", "both")
    ],
)
def disconnects(t: Scenario) -> None:
    """A Message passes each way. The end that disconnects is Idle; the other is told, goes to Error, and to Idle by its own call.
    Then all again, with the same VIs.
    """
    ends, order = Ends(t), t.params["order"]
    for _ in range(2):
        ends.connect()
        for from_dut in (True, False) if t.pics["send"] else ():  # each Connection counts from 1 on (5.9.6)
            transfer(ends, "send", from_dut, 64)
        if order == "far-first":
            ends.disconnect_second()
            check_state(t, ends.vi, "error", "FCVI-8.2-d3")
        if order == "both":
            t.tester.link.delay("tester", "DISCONNECT_RQST", t.r_a_tov_us // 100)
            t.tester.link.delay("dut", "DISCONNECT_RQST", t.r_a_tov_us // 100)
            other = ends.second.start("VipDisconnect", vi=ends.second_vi)
        t.finish(t.start("VipDisconnect", vi=ends.vi), "FCVI-8.1-03", returns="VIP_SUCCESS")
        if order == "both":  # the far side is free again once the DUT has answered it, within FCVI_ULP_TIMEOUT (8.3)
            t.owed(lambda: other.done)
        t.wait(t.r_a_tov_us // 10)
        check_state(t, ends.vi, "idle", "FCVI-8.2-d2" if order == "dut-first" else "FCVI-8.2-e1")
        if order == "dut-first":
            seen = ends.second_state()
            t.require(seen == STATE["error"], "FCVI-8.1-03", "the far side was not told", seen, STATE["error"])
            ends.disconnect_second()
        t.settle()
    t.control("two connections were made and removed")


@case(
    REGISTRY,
    "7.5.far",
    "FARP between the DUT and the reference port",
    clause="7.5",
    requirements=["FCVI-7.4-03"],
    tags=["far-side", "address", "farp"],
    applies="client and farp",
    variants=[
        Variant(topology, {"role": CLIENT, "tester_host": UNKNOWN_HOST}, NEEDS[topology], TOPOLOGIES[topology])
        for topology in ("point-to-point", "private-loop")
    ],
)
def farp(t: Scenario) -> None:
    """The far side has a Host Address that the DUT does not know: FARP finds it, and the setup succeeds."""
    need_broadcast(t)
    ends = Ends(t, hosts=[t.config["peer"]["host"][0], UNKNOWN_HOST])
    ends.connect()
    asked = [r for r in t.tester.inbox if r.kind == "FARP_REQ"]
    t.require(bool(asked), "FCVI-7.4-03", "no FARP-REQ for an unknown Host Address", "none", "FARP-REQ")
    t.control("both ends are Connected")
