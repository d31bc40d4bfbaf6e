"""Clauses 6.8 to 6.13: every connection IU of the DUT, field by field."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc.build import UNASSIGNED
from fcvi.engine.case import Variant, case
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Call

from conformance.fcvi.steps.connection import (
    CLIENT,
    DOES_NOT_EXIST,
    REGISTRY,
    SERVER,
    STATE,
    Setup,
    check_reason,
    check_resp1,
    check_resp2,
    check_resp3,
    check_state,
    connect,
    create_vi,
    expect_disconnect_resp,
    finish_wait,
    new_handle,
    send_disconnect_resp,
    send_disconnect_rqst,
    send_resp1,
    send_resp2,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
    take_resp2,
    takes,
)
from conformance.fcvi.steps.traffic import answer_send, both_ways, delivered, expect_send, post_recv, post_send, send_message
from .clause_7_7_1 import wait_from
from conformance.fcvi.steps.messages import state_of
from conformance.fcvi.steps.ius import check_header, check_payload, check_status

PART_OF_REPORT = 4

_LONG = bytes(range(0x81, 0x100)) + b"\x00"
_ZEROS = bytes(15) + b"\xff\x00\x00"
_HOSTS = {"host": ["00112233445566778899aabbccddeeff"], "peer": {"host": ["ffeeddccbbaa99887766554433221100"]}}
_LEVELS = (
    ("unreliable", "unreliable_delivery", 1), ("reliable-delivery", "reliable_delivery", 2),
    ("reliable-reception", "reliable_reception", 3),
)  # fmt: skip
_TABLES = [
    *(f"FCVI-T15-w{n}" for n in (0, 1, 5)), *(f"FCVI-T16-w{n}" for n in (0, 1, 2)), *(f"FCVI-T18-w{n}" for n in range(5)),
    "FCVI-T17-1", "FCVI-T17-0", "FCVI-7.2-01", "FCVI-7.2-02", "FCVI-7.2-05", "FCVI-7.2-07", "FCVI-7.2-08", "FCVI-7.2-10",
    "FCVI-7.2-11", "FCVI-7.2-12", "FCVI-7.2-14", "FCVI-7.2-15", "FCVI-7.3-01", "FCVI-7.3-03", "FCVI-7.3-04", "FCVI-7.3-05",
    "FCVI-7.3-02", "FCVI-4.2-23", "FCVI-4.2-32", "FCVI-4.2-40", "FCVI-3.4-03", "FCVI-5.8.3-01",
]  # fmt: skip


def _variants(role: str) -> list[Variant]:
    def attributes(**values: int) -> dict[str, Any]:
        return {"role": role, "attributes": values}

    found = [Variant("", {"role": role})]
    found += [
        Variant(f"discriminator-{n}", {"role": role, "discriminator": _LONG[:n]}, takes(_LONG[:n])) for n in (16, 17, 127, 128)
    ]
    found += [
        Variant("zeros-in-the-discriminator", {"role": role, "discriminator": _ZEROS}, takes(_ZEROS)),
        Variant("distinct-hosts", {"role": role}, "", _HOSTS),
        Variant("receive-size-256", {"role": role, "discriminator": _LONG}, takes(_LONG), {"receive_size": 256, **_HOSTS}),
        Variant("class2", {"role": role}, "class2", {"class": 2}),
        Variant("rdma-write", attributes(EnRdmaWr=1), "rdma_write"),
        Variant("no-rdma-write", attributes(EnRdmaWr=0), "rdma_write"),
        Variant("rdma-read", attributes(EnRdmaRd=1, FCVI_RELIABILITY_LVL=2), "rdma_read and reliable_delivery"),
        Variant("rdma-both", attributes(EnRdmaRd=1, EnRdmaWr=1, FCVI_RELIABILITY_LVL=2),
                "rdma_read and rdma_write and reliable_delivery"),
        Variant("tester-allows-rdma-write", {"role": role, "tester_attributes": {"EnRdmaWr": 1}}, "rdma_write"),
        Variant("only-the-dut-allows-rdma-write", {**attributes(EnRdmaWr=1), "tester_attributes": {"EnRdmaWr": 0}}, "rdma_write"),
        Variant("transfer-size-4097", attributes(FCVI_MAX_TRANS_SIZE=4097)),
        Variant("pipeline-depth-3", attributes(FCVI_PIPELINE_DEPTH=3, FCVI_RELIABILITY_LVL=3),
                "reliable_reception and pipeline_depth >= 3"),
        Variant("preference", {"role": role, "preference": True, "tester_preference": True}, "preference"),  # E34
    ]  # fmt: skip
    found += [Variant(name, attributes(FCVI_RELIABILITY_LVL=level), item) for name, item, level in _LEVELS]
    return found


@case(
    REGISTRY,
    "6.8.3",
    "FCVI_CONNECT_RQST, FCVI_CONNECT_RESP2 and the Messages of a client",
    clause="6.8, 6.10",
    requirements=[
        *_TABLES, *(f"FCVI-T13-w{n}" for n in (0, 1, 2, 3, 40, 77, 85)), "FCVI-6.8.1-02", "FCVI-6.8.1-03",
        "FCVI-6.8.1-04", "FCVI-6.8.2-01", "FCVI-6.8.2-02", "FCVI-6.8.2-03", "FCVI-6.8.3-01", "FCVI-6.8.3-02",
        "FCVI-6.8.3-04", "FCVI-6.8.3-05", "FCVI-6.8.3-06", "FCVI-6.8.3-07", "FCVI-6.9.3-03", "FCVI-6.10.1-03",
        "FCVI-6.10.2-01", "FCVI-6.10.2-03", "FCVI-7.2-16", "FCVI-5.3.1-04",
    ],  # fmt: skip
    errata=["E07", "E10", "E15", "E23", "E24", "E30", "E31", "E32", "E44", "E120"],
    tags=["setup", "fields"],
    applies="client",
    variants=_variants(CLIENT),
)
def client_ius(t: Scenario) -> None:
    """Every word of the request follows from the call and the VI; FCVI_RESP_HANDLE is the handle of the client's Messages.

    Discriminators are byte strings of 16 to 128 bytes, zeros included, that always take 128 bytes.
    """
    setup = start_request(t)
    assert setup.rqst is not None
    check_header(t, setup.rqst)
    check_payload(t, setup.rqst, setup)
    handle = send_resp1(t, setup)
    resp2 = take_resp2(t, setup, "after an accepting RESP1")
    check_resp2(t, resp2, setup, handle)
    check_header(t, resp2)
    check_status(t, resp2)
    send_resp3(t, setup)
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.2-b1", returns="VIP_SUCCESS")
    _use(t, setup, "FCVI-6.9.3-03")


@case(
    REGISTRY,
    "6.9.3",
    "FCVI_CONNECT_RESP1, FCVI_CONNECT_RESP3 and the Messages of a server",
    clause="6.9, 6.11",
    requirements=[
        *_TABLES, *(f"FCVI-T14-w{n}" for n in (0, 1, 2, 3, 40, 77, 85)), "FCVI-6.8.3-03", "FCVI-6.9.1-02",
        "FCVI-6.9.1-03", "FCVI-6.9.1-04", "FCVI-6.9.2-01", "FCVI-6.9.2-02", "FCVI-6.9.2-03", "FCVI-6.9.3-01",
        "FCVI-6.9.3-02", "FCVI-6.9.3-04", "FCVI-6.9.3-05", "FCVI-6.9.3-06", "FCVI-6.9.3-07", "FCVI-6.11.1-03",
        "FCVI-6.11.2-01", "FCVI-6.11.2-03", "FCVI-7.2-16", "FCVI-5.3.1-04",
    ],  # fmt: skip
    errata=["E07", "E10", "E15", "E16", "E23", "E30", "E31", "E32", "E44", "E109", "E120"],
    tags=["setup", "fields"],
    applies="server",
    variants=_variants(SERVER),
)
def server_ius(t: Scenario) -> None:
    """The same for a server: its own address first, its own attributes, FCVI_RQST_HANDLE in its Messages."""
    wait = start_wait(t)
    setup = send_rqst(t)
    resp1 = start_accept(t, setup, finish_wait(t, wait))
    check_header(t, resp1)
    check_payload(t, resp1, setup)
    check_status(t, resp1)
    send_resp2(t, setup)
    resp3 = t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after RESP2")
    check_resp3(t, resp3, setup)
    check_header(t, resp3)
    check_status(t, resp3)
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.2-b1", returns="VIP_SUCCESS")
    _use(t, setup, "FCVI-6.8.3-03")


def _use(t: Scenario, setup: Setup, requirement: str) -> None:
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    if t.pics["send"]:
        both_ways(t, setup, requirement)
    t.control("the Connection Setup completed")


@case(
    REGISTRY,
    "6.9.2",
    "The status fields of refused setups",
    clause="6.9.2, 6.11.2",
    requirements=[
        "FCVI-6.9.2-06", "FCVI-6.11.2-06", "FCVI-6.9.2-02", "FCVI-6.9.2-03", "FCVI-6.9.1-03", "FCVI-5.9.7.2.1-06",
        "FCVI-5.9.7.2.2-04", "FCVI-6.11.1-03", "FCVI-5.9.4.5-02", "FCVI-5.9.7.1-05", "FCVI-5.9.7.1-06", "FCVI-T09-0",
        "FCVI-T11-b1", "FCVI-T12-06h", "FCVI-T12-23h",
    ],  # fmt: skip
    errata=["E07", "E11", "E14", "E27", "E40"],
    tags=["setup", "fields", "refusal"],
    applies="server",
    variants=[
        Variant("nobody-waits", {"role": SERVER, "how": "nobody"}),
        Variant("rejected", {"role": SERVER, "how": "reject"}),
        Variant("reserved-mode", {"role": SERVER, "how": "mode"}),
        Variant("unassigned-handle", {"role": SERVER, "how": "handle"}),
        Variant("nobody-waits/class2", {"role": SERVER, "how": "nobody"}, "class2", {"class": 2}),
    ],
)
def refusing_ius(t: Scenario) -> None:
    """A refusal has CONN_STS one and a Reason Code that Table 12 gives to Connect Responses, in RESP1 and, if any, RESP3.

    Provoked by an absent or unwilling application, a reserved CONN_MODE (E25) and an FCVI_RQST_HANDLE that is none (E12).
    """
    how = t.params["how"]
    wait = start_wait(t) if how != "nobody" else None
    fields: dict[str, Any] = {"FCVI_RQST_HANDLE": UNASSIGNED} if how == "handle" else {}
    setup = send_rqst(t, flags=4 if how == "mode" else 1, **fields)
    if how == "handle":
        setup.tester_handle = UNASSIGNED
    if how == "reject":
        assert wait is not None
        t.call("VipConnectReject", conn=finish_wait(t, wait)).returned()
    t.owed(lambda: t.peek(["CONNECT_RESP1"], setup.exchange) is not None or (how == "handle" and returned(wait)))
    if how == "handle" and returned(wait):  # what the DUT does with it is not prescribed, so long as no connection results
        assert wait is not None
        _no_connection(t, setup, wait)
        wait = None
    elif t.peek(["CONNECT_RESP1"], setup.exchange) is not None or how in ("nobody", "reject"):
        resp1 = t.expect("CONNECT_RESP1", "FCVI-6.9.1-01", exchange=setup.exchange, why="to refuse the request")
        t.equal(resp1, "CONN_STS", 1, "FCVI-5.9.4.5-02")
        check_header(t, resp1)
        check_status(t, resp1)
        send_resp2(t, setup, handle=resp1.conn_int("FCVI_RESP_HANDLE"))
        resp3 = t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after the refused setup's RESP2")
        check_header(t, resp3)
        check_status(t, resp3)
    if wait is not None and how in ("mode", "handle"):
        t.require(not wait.done, "FCVI-T08-rsvd", "VipConnectWait returned for a request that is none", "returned", "blocked")
        setup = send_rqst(t)
        start_accept(t, setup, finish_wait(t, wait))
        send_resp2(t, setup)
        t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after RESP2")
        t.control("a right request connected")
    else:
        again = start_wait(t)
        setup = send_rqst(t)
        resp1 = start_accept(t, setup, finish_wait(t, again))
        check_resp1(t, resp1, setup)
        send_resp2(t, setup)
        t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after RESP2")
        t.control("a further request connected")


def returned(call: Optional[Call]) -> bool:
    """Whether there is such a call, and the DUT has answered it."""
    return call is not None and call.done


def _no_connection(t: Scenario, setup: Setup, wait: Call) -> None:
    """The application was handed the request: if it accepts, the DUT refuses, or no connection results (E12)."""
    vi = create_vi(t)
    accept = t.start("VipConnectAccept", conn=wait_from(t, wait), vi=vi)
    t.owed(lambda: accept.done or t.peek(["CONNECT_RESP1"], setup.exchange) is not None)
    resp1 = t.peek(["CONNECT_RESP1"], setup.exchange)
    if resp1 is not None:
        resp1.taken = True
        send_resp2(t, setup, handle=resp1.conn_int("FCVI_RESP_HANDLE"))
        t.owed(lambda: accept.done)
    t.tolerate("CONNECT_RESP1", "CONNECT_RESP3", "DISCONNECT_RQST")
    state = state_of(t, vi)
    t.require(state != STATE["connected"], "FCVI-5.9.2-03", "a connection with FCVI_RQST_HANDLE FFFFFFFFh resulted", state,
              "any other state", erratum="E12")  # fmt: skip


@case(
    REGISTRY,
    "6.12.2",
    "FCVI_DISCONNECT_RQST and FCVI_DISCONNECT_RESP, field by field",
    clause="6.12, 6.13",
    requirements=[
        "FCVI-6.12.1-03", "FCVI-6.12.2-01", "FCVI-6.12.2-02", "FCVI-6.12.2-04", "FCVI-6.12.2-11", "FCVI-6.13.2-01",
        "FCVI-6.13.2-02", "FCVI-6.13.2-03", "FCVI-6.13.2-04", "FCVI-6.13.2-08", "FCVI-D-R1-a4", "FCVI-3.4-03",
        "FCVI-5.3.1-04", "FCVI-5.9.1-01", "FCVI-5.9.2-01", "FCVI-5.9.8-02", "FCVI-5.9.9-02", "FCVI-6.13.2-12",
        "FCVI-T12-60h",
    ],  # fmt: skip
    errata=["E03", "E08", "E09", "E28", "E41", "E170"],
    tags=["disconnect", "fields", "message"],
    applies="(client or server) and send",
    variants=[
        Variant(f"{role}/{way}/{name}", {"role": role, "way": way, "sent": sent, "received": received}, pics)
        for role, pics in ((CLIENT, "client"), (SERVER, "server"))
        for way in ("dut-first", "tester-first")
        for name, sent, received in (("no-messages", 0, 0), ("received-3", 0, 3), ("sent-2", 2, 0), ("both", 2, 3))
    ]
    + [
        Variant(f"{role}/unknown-setup", {"role": role, "way": "unknown", "sent": 0, "received": 0}, pics)
        for role, pics in ((CLIENT, "client"), (SERVER, "server"))
    ],
)
def disconnect_ius(t: Scenario) -> None:
    """Flags by Table 10, one frame, and FCVI_MSG_ID of the last Message completed.

    Which of the two counts of a VI that is the standard does not say: either is right, and zero where a side has
    nothing to report (E28).
    """
    setup = connect(t)
    _traffic(t, setup, int(t.params["sent"]), int(t.params["received"]))
    allowed = {0, int(t.params["sent"]), int(t.params["received"])}
    if t.params["sent"] and t.params["received"]:
        allowed.discard(0)
    way = t.params["way"]
    if way == "dut-first":
        call = t.start("VipDisconnect", vi=setup.vi)
        rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", why="after VipDisconnect")
        check_header(t, rqst)
        check_status(t, rqst)
        t.equal(rqst, "FCVI_HANDLE", setup.tester_handle, "FCVI-6.12.2-02")
        _message_id(t, rqst, allowed, "FCVI-6.12.2-11")
        send_disconnect_resp(t, rqst, setup.dut_handle)
        t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
        return
    unknown = way == "unknown"
    handle, connection_id = (UNASSIGNED, new_handle(t)) if unknown else (setup.dut_handle, 0)
    exchange = send_disconnect_rqst(t, handle=handle, connection_id=connection_id, abort=int(unknown))
    back = UNASSIGNED if unknown else setup.tester_handle
    resp = expect_disconnect_resp(t, exchange, connection_id=connection_id, abort=int(unknown), handle=back)
    check_header(t, resp)
    check_status(t, resp)
    if unknown:
        check_reason(t, resp, DOES_NOT_EXIST, "FCVI-5.9.7.3.2-11")
        check_state(t, setup.vi, "connected", "FCVI-8.2-d1")
    else:
        _message_id(t, resp, allowed, "FCVI-6.13.2-08")
        check_state(t, setup.vi, "error", "FCVI-8.2-d3")


def _message_id(t: Scenario, iu: Received, allowed: set[int], requirement: str) -> None:
    seen = iu.dh("FCVI_MSG_ID")
    if allowed == {0}:
        t.require(seen == 0, requirement, "FCVI_MSG_ID though no Message completed", seen, "0", at=iu, erratum="E28",
                  **t.place(iu, "FCVI_MSG_ID"))  # fmt: skip
        return
    wanted = " or ".join(str(n) for n in sorted(allowed))
    t.require(seen in allowed, requirement, "FCVI_MSG_ID of the last Message completed", seen, wanted, at=iu,
              **t.place(iu, "FCVI_MSG_ID"))  # fmt: skip


def _traffic(t: Scenario, setup: Setup, sent: int, received: int) -> None:
    """Messages each way, all completed."""
    for number in range(1, received + 1):
        buffer, data = post_recv(t, setup.vi), t.rng.randbytes(24)
        send_message(t, setup, number, data)
        delivered(t, buffer, data, "FCVI-6.2.1-01")
    for number in range(1, sent + 1):
        data = t.rng.randbytes(24)
        post_send(t, setup.vi, data)
        answer_send(t, setup, expect_send(t, setup, number, data, "FCVI-6.2.1-01"))
    t.settle()
