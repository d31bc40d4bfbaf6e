"""Clauses 5.3.2, 5.7.2 to 5.7.4 and 6.7 to 6.9: a Client-Server setup, modes and reserved bits, handles."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant, case
from fcvi.engine.scenario import Inconclusive
from fcvi.engine.upper_tester import Call
from fcvi.fc.build import UNASSIGNED

from conformance.fcvi.steps.connection import connection_lost
from conformance.rev1.steps.connection import (
    CLIENT, REGISTRY, SERVER, Scenario, Setup, answer_disconnect, check_disconnect, check_state, connect, connect_client,
    connect_server, create_vi, expect_disconnect_resp, finish_accept, finish_request, finish_wait, make_room, send_disconnect,
    send_resp1, send_resp2, send_rqst, start_accept, start_request, start_wait, variants, with_rdma,
)  # fmt: skip
from conformance.rev1.steps.messages import (
    answered, build, exchange_a_send, expect_good, expect_response, memory, originate, pattern, post, register, respond,
    respond_with, take, take_read, transmit, until_completed, untouched, written,
)  # fmt: skip

_ALL = ("unreliable", "reliable-delivery", "reliable-reception")
_RDMA: list[tuple[str, dict[str, Any]]] = [
    ("rdma-write", {"rdma": (1, 0), "applies": "rdma_write"}),
    ("rdma-both", {"rdma": (1, 1), "applies": "rdma_write and rdma_read", "only": ("reliable-delivery", "reliable-reception")}),
]
_HANDLES: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("answer-to-the-requester", {"resp1_handle": "requester"}),
    ("acknowledged-to-nobody", {"resp2_handle": "unassigned"}),
]


def _rdma(t: Scenario) -> None:
    write, read = t.params.get("rdma", (0, 0))
    t.params = {**t.params, "attributes": {**t.params["attributes"], "EnRdmaWr": write, "EnRdmaRd": read}}


@case(
    REGISTRY,
    "R1.5.3.a",
    "Client-Server: the DUT is the client",
    clause="5.3, 5.3.2, 6.7, 6.9",
    requirements=[
        "REV1-5.3-01", "REV1-5.3-03", "REV1-5.3.2-02", *(f"REV1-6.7-0{n}" for n in range(1, 8)), "REV1-6.9-01", "REV1-5.7.4-01",
        "REV1-5.7.6-01", "FCVI-4.2-25", "FCVI-6.8.1-01", "FCVI-8.2-b1",
    ],  # fmt: skip
    errata=["R01", "R03", "R10"],
    tags=["setup"],
    applies="client and send",
    variants=variants(roles=(CLIENT,), levels=_ALL, classes=(3, 2))
    + variants(roles=(CLIENT,), levels=_ALL, choices=[(f"/{n}".strip("/"), c) for n, c in [*_HANDLES[1:2], *_RDMA]])
    + variants(roles=(CLIENT,), levels=_ALL, choices=[("at-once", {"at_once": True})])
    + [Variant("explicit-login", {"role": CLIENT, "level": "unreliable", "attributes": {"FCVI_RELIABILITY_LVL": 1}},
               "explicit_login", {"login": "explicit"})],
)  # fmt: skip
def client(t: Scenario) -> None:
    """Three IUs on one Exchange; every field of FCVI_CONNECT_RQST and FCVI_CONNECT_RESP2. The client is Connected when RESP2 is
    sent, sends nothing more on the Exchange, and takes Messages by the handle of its payload. A Send that is posted as soon as the
    call returns does not leave before RESP2.
    """
    _rdma(t)
    setup = start_request(t)
    assert setup.call is not None
    t.require(not setup.call.done, "REV1-5.3.2-02", "VipConnectRequest returned before FCVI_CONNECT_RESP1", "returned", "blocked")
    send_resp1(t, setup)
    if t.params.get("at_once"):
        _at_once(t, setup, setup.call)
        return
    finish_request(t, setup)
    t.expect_nothing(["UNKNOWN_IU", "CONNECT_RESP2"], t.ulp_timeout_us // 10, "REV1-5.3-03", "after FCVI_CONNECT_RESP2",
                     setup.exchange)  # fmt: skip
    region = register(t, 64)
    post(t, setup.vi, "recv", region)
    first = build(t, setup, pattern(40))
    transmit(t, first)
    done = until_completed(t, setup.vi, "recv")
    t.require(done is not None and done.good, "REV1-6.7-06", "a Message with VI_RQST_HANDLE did not arrive",
              "nothing" if done is None else sorted(done.status), "a completion")  # fmt: skip
    if answered(t):
        expect_response(t, setup, first)
    exchange_a_send(t, setup)
    t.control("the Connection Setup completed, and Messages passed")


def _at_once(t: Scenario, setup: Setup, call: Call) -> None:
    """The Connection is there before any Message of it (4.2)."""
    t.until(lambda: call.done, t.owed_us())
    originate(t, setup, pattern(40))
    finish_request(t, setup)
    (resp2,) = [iu for iu in t.tester.inbox if iu.kind == "CONNECT_RESP2" and iu.exchange is setup.exchange]
    taken = take(t, setup, "send", pattern(40))
    turns = int(t.config["e_d_tov_us"])  # for so long frames of two Exchanges may take turns where they leave a port (FC-PH)
    late = resp2.time_us - taken.ius[0].time_us
    t.require(late <= turns, "FCVI-4.2-25", "a Message before FCVI_CONNECT_RESP2", str(taken.ius[0]),
              "behind it", at=taken.ius[0])  # fmt: skip
    if answered(t):
        respond(t, setup, taken)
    expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
    t.control("the Connection Setup completed, and a Message came")


@case(
    REGISTRY,
    "R1.5.3.b",
    "Client-Server: the DUT is the server",
    clause="5.3, 5.3.2, 6.8",
    requirements=["REV1-5.3-02", "REV1-5.3.2-01", "REV1-5.3.2-03", "REV1-6.8-01", "REV1-6.8-02", "REV1-6.8-03", "REV1-5.7.4-01",
                  "REV1-5.7.5-03",
                  "FCVI-6.9.1-01", "FCVI-8.2-b1"],
    errata=["R01", "R03", "R11", "R30"],
    tags=["setup"],
    applies="server and send",
    variants=variants(roles=(SERVER,), levels=_ALL, classes=(3, 2))
    + variants(roles=(SERVER,), levels=_ALL, choices=[*_HANDLES[2:], *_RDMA])
    + variants(roles=(SERVER,), choices=[("acknowledged-with-an-error", {"error": True})])
    + [Variant("explicit-login", {"role": SERVER, "level": "unreliable", "attributes": {"FCVI_RELIABILITY_LVL": 1}},
               "explicit_login", {"login": "explicit"})],
)  # fmt: skip
def server(t: Scenario) -> None:
    """FCVI_CONNECT_RESP1 comes after VipConnectAccept, with every field; the server is Connected on FCVI_CONNECT_RESP2, and not
    on one with CONN_ERR.
    """
    _rdma(t)
    wait = start_wait(t)
    setup = send_rqst(t)
    conn = finish_wait(t, wait)
    t.expect_nothing(["CONNECT_RESP1"], t.ulp_timeout_us // 20, "REV1-5.3.2-01", "before the application accepted", setup.exchange)
    start_accept(t, setup, conn)
    if t.params.get("error"):
        send_resp2(t, setup, reason=3)
        assert setup.call is not None
        code = t.finish(setup.call, "REV1-5.3.2-03")
        t.require(code != "VIP_SUCCESS", "REV1-5.3.2-03", "VipConnectAccept on a RESP2 with CONN_ERR", code, "no success")
        seen = t.call("VipQueryVi", vi=setup.vi).text("State")
        t.require(seen != "VIP_STATE_CONNECTED", "REV1-5.3.2-03", "the state after a RESP2 with CONN_ERR", seen, "not Connected")
        setup = connect_server(t)
    else:
        finish_accept(t, setup)
    exchange_a_send(t, setup)
    t.control("the Connection Setup completed, and Messages passed")


# ---- modes and reserved bits that come in ----


_MODES = (0x00, 0x03, 0x04, 0x05, 0x06, 0x07)


@case(
    REGISTRY,
    "R1.5.7.2.b",
    "Modes and reserved bits",
    clause="5.7.2, 5.7.3",
    requirements=["REV1-5.7.2-04", "REV1-5.7.2-06", "REV1-5.7.3-01"],
    errata=["R27"],
    tags=["setup", "fields", "robustness"],
    applies="client or server or peer_to_peer",
    variants=[
        Variant(f"mode-{mode:02x}", {"role": SERVER, "level": "unreliable", "what": "mode", "mode": mode},
                "server and send and max_vis >= 2")
        for mode in _MODES
    ]
    + [Variant(f"disconnect-mode-{mode:02x}", {"role": SERVER, "level": "unreliable", "what": "disconnect", "mode": mode},
               "server and send and max_vis >= 2") for mode in (0x00, 0x01, 0x02, 0x06)]
    + [Variant("own-mode/client", {"role": CLIENT, "level": "unreliable", "what": "own"}, "client"),
       Variant("own-mode/peer", {"role": CLIENT, "level": "unreliable", "what": "peer"}, "peer_to_peer")]
    + variants(levels=("unreliable", "reliable-reception"), choices=[("reserved-bytes", {"what": "reserved"})], pics="send")
    + variants(roles=("any",), levels=_ALL, choices=[("reserved-bytes/rdma", {"what": "reserved-rdma"})], pics="rdma_write"),
)  # fmt: skip
def modes(t: Scenario) -> None:
    """A reserved mode makes no crash and touches no other VI, and a connection by it is another reading (R27). VI_RSVD with ones is
    handled as without. The DUT's own modes are 01h and 02h exactly.
    """
    what = t.params["what"]
    if what == "reserved":
        _reserved_bytes(t)
    elif what == "reserved-rdma":
        _reserved_in_rdma(t)
    elif what == "own":
        connect_client(t)
        t.control("the setup completed")
    elif what == "peer":
        from .peers import finish_peer, start_peer

        setup = start_peer(t)
        finish_peer(t, setup)
        t.control("the setup completed")
    else:
        other = connect_server(t)
        t.control("a Connection was made")
        _reserved_mode(t) if what == "mode" else _reserved_disconnect(t)
        untouched(t, other, "REV1-5.7.2-06", "after a reserved mode")
        make_room(t, other)
        connect_server(t)


def _reserved_mode(t: Scenario) -> None:
    mode = int(t.params["mode"])
    wait = start_wait(t)
    t.tolerate("CONNECT_RESP1", "DISCONNECT_RESP")
    setup = send_rqst(t, mode)
    t.owed(lambda: wait.done)
    if not (wait.done and wait.returned() == "VIP_SUCCESS"):
        t.discard("CONNECT_RESP1", "DISCONNECT_RESP")
        good = send_rqst(t)  # the call that waits is there yet
        start_accept(t, good, finish_wait(t, wait))
        finish_accept(t, good)
        return
    setup.vi = create_vi(t)
    call = t.start("VipConnectAccept", conn=wait.integer("conn"), vi=setup.vi)
    t.owed(lambda: call.done or t.peek(["CONNECT_RESP1"], setup.exchange) is not None)
    resp1 = t.peek(["CONNECT_RESP1"], setup.exchange)
    if resp1 is not None and not resp1.dh("CONN_ERR"):
        t.report("REV1-5.7.2-06", f"a request with mode {mode:02X}h is accepted", str(resp1), "no acceptance", erratum="R27")


def _reserved_disconnect(t: Scenario) -> None:
    setup = connect_server(t)
    t.tolerate("DISCONNECT_RESP")  # which may take its time
    exchange = send_disconnect(t, setup.dut_handle, int(t.params["mode"]))
    t.owed(lambda: t.peek(["DISCONNECT_RESP"], exchange) is not None)
    if t.peek(["DISCONNECT_RESP"], exchange) is not None:
        expect_disconnect_resp(t, setup, exchange, setup.sent)


def _reserved_bytes(t: Scenario) -> None:
    ones: dict[str, Any] = {"VI_RSVD": 0xFFFF}
    if t.params["role"] == CLIENT:
        setup = start_request(t)
        send_resp1(t, setup, **ones)
        finish_request(t, setup)
    else:
        wait = start_wait(t)
        setup = send_rqst(t, dh_VI_RSVD=0xFFFF)
        t.finish(wait, "REV1-5.7.3-01", returns="VIP_SUCCESS")
        start_accept(t, setup, wait.integer("conn"))
        assert setup.call is not None
        send_resp2(t, setup, **ones)
        t.finish(setup.call, "REV1-5.7.3-01", returns="VIP_SUCCESS")
        check_state(t, setup.vi, "connected", "REV1-5.7.3-01")
    data, region = pattern(30), register(t, 64)
    post(t, setup.vi, "recv", region)
    sent = build(t, setup, data, VI_RSVD=0xFFFF)
    transmit(t, sent)
    expect_good(t, setup.vi, "recv", "REV1-5.7.3-01", len(data))
    if answered(t):
        expect_response(t, setup, sent)
    originate(t, setup, data)
    taken = take(t, setup, "send", data)
    if answered(t):
        t.tester.assign_rx_id(taken.exchange)
        t.send("SEND_RESP", taken.exchange, {"VI_HANDLE": setup.dut_handle, **ones})
    expect_good(t, setup.vi, "send", "REV1-5.7.3-01")
    exchange = send_disconnect(t, setup.dut_handle, **ones)
    expect_disconnect_resp(t, setup, exchange, setup.sent)
    connection_lost(t, setup.vi, "REV1-5.7.3-01")
    t.control("a Connection with ones in the reserved bytes went from its setup to its end")


def _reserved_in_rdma(t: Scenario) -> None:
    """RDMA in both directions, and a Disconnect of the DUT: each IU of the tester has ones."""
    row, ones = "REV1-5.7.3-01", {"VI_RSVD": 0xFFFF}
    with_rdma(t)
    setup = connect(t)
    data = pattern(30)
    region = register(t, len(data), write=True)
    sent = build(t, setup, data, "rdma-write", va=region.va, region=region.handle, VI_RSVD=0xFFFF)
    transmit(t, sent)
    if answered(t):
        expect_response(t, setup, sent)
    t.require(written(t, region, data), row, "an RDMA Write was not placed", memory(t, region, 8).hex(), data[:8].hex())
    originate(t, setup, data, "rdma-write", remote=(0x9000, 5))
    taken = take(t, setup, "rdma-write", data)
    if answered(t):
        t.tester.assign_rx_id(taken.exchange)
        t.send("WRITE_RESP", taken.exchange, {"VI_HANDLE": setup.dut_handle, **ones})
    expect_good(t, setup.vi, "send", row)
    call = t.start("VipDisconnect", vi=setup.vi)
    rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", why="after VipDisconnect")
    check_disconnect(t, rqst, setup)
    t.tester.assign_rx_id(rqst.exchange)
    t.send("DISCONNECT_RESP", rqst.exchange, {"VI_HANDLE": setup.dut_handle, **ones})
    t.finish(call, row, returns="VIP_SUCCESS")
    if t.params["attributes"]["EnRdmaRd"]:
        _reserved_in_reads(t, connect(t), data)
    t.control("RDMA and a Disconnect of the DUT, with ones in the reserved bytes, went to their end")


def _reserved_in_reads(t: Scenario, setup: Setup, data: bytes) -> None:
    row = "REV1-5.7.3-01"
    source = register(t, len(data), read=True, data=data)
    sent = build(t, setup, b"", "rdma-read", va=source.va, region=source.handle, VI_RMT_TOT_LEN=len(data), VI_RSVD=0xFFFF)
    transmit(t, sent)
    take_read(t, sent, len(data), row)
    sink = register(t, len(data))
    post(t, setup.vi, "rdma-read", sink, length=len(data), remote=(0x9000, 5))
    taken = take(t, setup, "rdma-read", None)
    if not taken.last.dh("VI_RMT_TOT_LEN"):
        raise Inconclusive("the DUT gives no length with an RDMA Read (R04), and does not take what was not asked for")
    respond_with(t, setup, taken, data, VI_RSVD=0xFFFF)
    expect_good(t, setup.vi, "send", row)


# ---- handles ----


@case(
    REGISTRY,
    "R1.5.7.4.a",
    "Handles in use",
    clause="5.7.4",
    requirements=["REV1-5.7.4-02", "FCVI-4.2-07", "FCVI-4.2-09"],
    errata=["R03"],
    tags=["message", "setup", "fields"],
    applies="(client or server) and send and max_vis >= 2",
    variants=variants(levels=("unreliable", "reliable-reception"),
                      choices=[(f"{first:08x}-{second:08x}", {"handles": (first, second)}) for first, second in
                               ((0, 1), (0xFFFFFFFE, 0x80000000), (0x01000000, 0x00000001))]),
)  # fmt: skip
def handles(t: Scenario) -> None:
    """Two Connections with handles from the ends of the range: each Message and each Disconnect of the DUT has the handle that the
    tester chose, and each Message of the tester reaches the VI whose handle it has.
    """
    setups = []
    for handle in t.params["handles"]:
        t.params = {**t.params, "handle": handle}
        setups.append(connect(t))
    first, second = setups
    t.require(first.dut_handle != second.dut_handle, "FCVI-4.2-09", "two open Connections have one handle",
              f"{first.dut_handle:08X}h", "two handles")  # fmt: skip
    for setup in (first, second, first):
        exchange_a_send(t, setup)
    # a Message with a handle that nobody gave reaches no VI, also where it is right but for one of its upper bits (5.7.4)
    given = (first.dut_handle, second.dut_handle, UNASSIGNED)
    near = (first.dut_handle ^ 1 << t.rng.randrange(16, 32), second.dut_handle ^ 1 << t.rng.randrange(16, 32))
    unknown = next(h for h in range(0x7E57, 0x7E77) if h not in given)
    regions = [register(t, 32), register(t, 32)]
    for setup, region in zip(setups, regions):
        post(t, setup.vi, "recv", region)
    t.tolerate("SEND_RESP")
    for setup, handle in ((first, unknown), (first, near[0]), (second, near[1])):
        if handle not in given:
            transmit(t, build(t, Setup("", -1, first.exchange, 0, handle), pattern(20), number=setup.sent))
    t.wait(t.ulp_timeout_us // 10)
    t.require(not t.completions, "FCVI-4.2-07", "a Message to an unknown handle completed a Descriptor", str(t.completions[:1]),
              "none")
    for setup in (first, second):
        call = t.start("VipDisconnect", vi=setup.vi)
        rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", why="after VipDisconnect")
        check_disconnect(t, rqst, setup)
        answer_disconnect(t, rqst, setup)
        t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
    t.control("Messages of two Connections were kept apart")
