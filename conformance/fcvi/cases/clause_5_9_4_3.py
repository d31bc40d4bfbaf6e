"""Clauses 5.9.4.3 and 5.9.7.3: failures of Messages, in the flags of a response and in the reasons of a Disconnect."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.engine import pages
from fcvi.engine.case import case
from fcvi.engine.scenario import NotThere
from fcvi.fc.message import Message
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.lossy_line import Line
from .annex_b_rules_1_3 import RELIABLE
from .clause_6_requests import originate
from .clause_6_responses import take_read_response
from conformance.fcvi.steps.connection import REGISTRY, Setup, ask_to_disconnect, check_state, send_disconnect_resp
from conformance.fcvi.steps.message_checks import answer, in_all, respond, respond_with
from conformance.fcvi.steps.messages import (
    OUT_OF_ORDER,
    RD,
    RR,
    Region,
    Sent,
    deliver,
    expect_bad,
    expect_error,
    expect_good,
    expect_response,
    level_of,
    memory,
    open_connection,
    post,
    prepare,
    register,
    to_the_end_of_a_page,
    transmit,
    variants,
)

PART_OF_REPORT = 9

_RESP_ERR, _DESC_ERR, _PROT_ERR, _TRANS_ERR = 1, 2, 4, 8  # Table 6
#: One of which bits of the address or of the memory handle is wrong: each half is looked at.
_BITS = {"handle": (0, 16), "handle-high": (16, 32), "address": (20, 32), "address-high": (32, 64)}


def _target(t: Scenario, fault: str) -> tuple[Region, int, int]:
    """Memory of the DUT and the address and handle that a faulty RDMA operation gives: wrong in one point."""
    read = t.params["op"] == "rdma-read"
    allowed = fault != "not-enabled"
    rights: dict[str, Any] = {"write": allowed and not read, "read": allowed and read}
    region = to_the_end_of_a_page(t, **rights) if fault == "beyond-the-end" else register(t, 64, **rights)
    va, handle = region.va, region.handle
    if fault == "address-high" and pages.of_32_bits(va):
        raise NotThere("the DUT gives addresses of 32 bits: it need not look at the upper half")
    if fault in _BITS:
        bit = 1 << t.rng.randrange(*_BITS[fault])
        va, handle = (va ^ bit, handle) if "address" in fault else (va, handle ^ bit)
    elif fault == "beyond-the-end":
        va = pages.behind(va, region.length) - 16
    return region, va, handle


def _good(t: Scenario, setup: Setup) -> None:
    """Message 1 of this operation is answered without error: the positive control."""
    if t.params["op"] == "send":
        post(t, setup.vi, "recv", register(t, 32))
        deliver(t, setup, Message("send", 1, t.rng.randbytes(32)))
        expect_good(t, setup.vi, "recv", "FCVI-6.2.1-01")
    elif t.params["op"] == "rdma-write":
        region, data = register(t, 32, write=True), t.rng.randbytes(32)
        deliver(t, setup, Message("rdma-write", 1, data, va=region.va, region=region.handle))
        t.owed(lambda: memory(t, region) == data)
        t.require(memory(t, region) == data, "FCVI-6.4.1-02", "an RDMA Write was not placed", "other bytes", "its data")
    else:
        region = register(t, 32, read=True)
        sent = prepare(t, setup, Message("rdma-read", 1, va=region.va, region=region.handle, total=32))
        transmit(t, sent.frames)
        seen = b"".join(iu.payload for iu in take_read_response(t, setup, sent))
        t.require(seen == b"\xa5" * 32, "FCVI-6.7.1-02", "an RDMA Read got other bytes", seen.hex(), "a5...")
    t.control("a Message of the same operation succeeded")


_PROTECTION = [(name, {"fault": name}) for name in (*_BITS, "beyond-the-end", "not-enabled")]


@case(
    REGISTRY,
    "5.9.4.3.protection",
    "RDMA protection errors at the DUT",
    clause="5.9.4.3",
    requirements=[
        "FCVI-T06-2", "FCVI-T06-0", "FCVI-5.9.4.3-01", "FCVI-5.9.4.3-02", "FCVI-5.2.3-04", "FCVI-5.2.4-03",
        "FCVI-5.9.7.3.1-02", "FCVI-5.9.7.3.1-04", "FCVI-5.9.7.3.2-04", "FCVI-5.9.7.3.2-08", "FCVI-T12-41h", "FCVI-T12-43h",
        "FCVI-T12-47h", "FCVI-6.5.1-01", "FCVI-6.7.1-01", "FCVI-8.2-d3",
    ],  # fmt: skip
    errata=["E22", "E42", "E114", "E173", "E174"],
    tags=["message", "rdma", "error"],
    applies="client or server",
    variants=variants(levels=("reliable-reception",), ops=("rdma-write",), classes=(3, 2), choices=_PROTECTION)
    + variants(levels=RELIABLE, ops=("rdma-read",), choices=[(f"rdma-read/{n}", p) for n, p in _PROTECTION])
    + variants(levels=("reliable-delivery",), ops=("rdma-write",), choices=[(f"reliable-delivery/{n}", p) for n, p in _PROTECTION]),
)
def protection_error(t: Scenario) -> None:
    """An RDMA operation at memory that it may not touch: nothing is written or given away and the response says PROT_ERR.

    A later Disconnect gives a reason for it, if any: RDMA Protection Error, or that of the operation (overlapping codes).
    """
    setup = open_connection(t)
    _good(t, setup)
    op = str(t.params["op"])
    region, va, handle = _target(t, str(t.params["fault"]))
    message = Message(op, 2, b"" if op == "rdma-read" else t.rng.randbytes(32), None, va, handle, total=32)
    sent = prepare(t, setup, message)
    transmit(t, sent.frames)
    if op == "rdma-read":
        _refused_read(t, setup, sent)
    elif level_of(t) == RR:
        resp = expect_response(t, setup, sent, None)
        t.equal(resp, "PROT_ERR", 1, "FCVI-T06-2")
        _in_error(t, setup)
    else:
        t.wait(t.owed_us())
    seen = memory(t, region, 48)  # of an operation that leaves the region a part may have been done
    t.require(seen == b"\xa5" * 48, "FCVI-5.9.7.3.1-04", "memory was written in spite of its protection", seen[:16].hex(), "a5...")
    _reason_of_disconnect(t, setup, (0x41, 0x46, 0x47) if op == "rdma-read" else (0x41, 0x43, 0x46))


def _refused_read(t: Scenario, setup: Setup, sent: Sent) -> None:
    """FCVI_READ_RESP with RESP_ERR, or on Reliable Delivery a Disconnect by the provider instead (E42)."""
    kinds = ["READ_RESP", "DISCONNECT_RQST"] if level_of(t) == RD else ["READ_RESP"]
    resp = t.expect(kinds, "FCVI-5.2.4-03", why="after a faulty RDMA Read")
    if resp.kind == "DISCONNECT_RQST":
        _check_reason(t, resp, (0x41, 0x47))
        send_disconnect_resp(t, resp, setup.dut_handle)
        return
    t.equal(resp, "RESP_ERR", 1, "FCVI-5.9.4.3-01")
    t.equal(resp, "PROT_ERR", 1, "FCVI-T06-2")
    t.equal(resp, "Last_Sequence", 1, "FCVI-6.7.1-05")
    in_all(t, [resp], "FCVI_MSG_ID", sent.message.number, "FCVI-6.7.2-04")


def _in_error(t: Scenario, setup: Setup) -> None:
    """At Reliable Reception any error ends the Connection at the side that tells of it (VI-ARCH 2.5.3)."""
    t.wait(t.r_a_tov_us // 10)
    check_state(t, setup.vi, "error", "FCVI-8.2-d3")


def _check_reason(t: Scenario, iu: Received, reasons: tuple[int, ...]) -> None:
    if iu.dh("DISC_CONN_STS") and iu.dh("Reason_Code") not in reasons and iu.dh("Reason_Code") < 0xF0:
        t.equal(iu, "Reason_Code", reasons[0], "FCVI-5.9.7.3.1-02")


def _reason_of_disconnect(t: Scenario, setup: Setup, reasons: tuple[int, ...]) -> None:
    """VipDisconnect: the reason, which is optional, is one of these."""
    call = ask_to_disconnect(t, setup, lambda rqst: _check_reason(t, rqst, reasons))
    rqst = t.peek(["DISCONNECT_RQST"])
    if rqst is not None:
        rqst.taken = True
        _check_reason(t, rqst, reasons)
        send_disconnect_resp(t, rqst, setup.dut_handle)
    t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")


@case(
    REGISTRY,
    "5.9.4.3.descriptor",
    "Remote Descriptor errors at the DUT",
    clause="5.9.4.3",
    requirements=[
        "FCVI-T06-1", "FCVI-T06-0", "FCVI-5.9.4.3-01", "FCVI-5.9.4.3-02", "FCVI-5.2.2-04", "FCVI-5.9.7.3.1-02",
        "FCVI-5.9.7.3.1-05", "FCVI-6.3.1-01", "FCVI-8.2-d3", "FCVI-T12-42h",
    ],  # fmt: skip
    errata=["E22", "E114"],
    tags=["message", "error"],
    applies="client or server",
    variants=variants(
        levels=("reliable-reception",), ops=("send", "rdma-write"), immediate=True, classes=(3, 2),
        choices=[("none-posted", {"posted": None}), ("too-short", {"posted": 16})],
    )
    + variants(levels=("reliable-reception",), ops=("send",), choices=[("afterwards", {"posted": None, "again": True})]),
)  # fmt: skip
def descriptor_error(t: Scenario) -> None:
    """A Send, or an RDMA Write with Immediate Data, without a fitting receive Descriptor: RESP_ERR with DESC_ERR.

    An RDMA Write needs a Descriptor but no room in it: too short a one is no error there. On the next Connection a response says
    no error again.
    """
    setup = open_connection(t)
    _good(t, setup)
    op = str(t.params["op"])
    if t.params["posted"]:
        post(t, setup.vi, "recv", register(t, int(t.params["posted"])))
    region = register(t, 64, write=op == "rdma-write")
    immediate = 7 if op == "rdma-write" else None
    message = Message(op, 2, t.rng.randbytes(64), immediate, region.va, region.handle)
    if op == "send":
        message = Message(op, 2, message.data)
    sent = prepare(t, setup, message)
    transmit(t, sent.frames)
    if op == "rdma-write" and t.params["posted"]:
        expect_response(t, setup, sent)
        return
    resp = expect_response(t, setup, sent, None)
    t.equal(resp, "DESC_ERR", 1, "FCVI-T06-1")
    good = [c for c in t.completions if c.vi == setup.vi and c.queue == "recv" and c.good]
    t.require(not good, "FCVI-5.9.7.3.1-05", "a Descriptor completed without error", len(good), "none")
    _in_error(t, setup)
    _reason_of_disconnect(t, setup, (0x42,))
    if t.params.get("again"):
        _good(t, open_connection(t))


@case(
    REGISTRY,
    "5.9.4.3.transport",
    "Transport errors at the DUT",
    clause="5.9.4.3",
    requirements=[
        "FCVI-T06-3", "FCVI-T06-0", "FCVI-5.9.4.3-01", "FCVI-5.9.7.3.1-02", "FCVI-5.9.7.3.1-03", "FCVI-5.9.7.3.2-05",
        "FCVI-5.9.7.3.2-06", "FCVI-5.9.7.3.2-07", "FCVI-8.4.2-e", "FCVI-T12-40h", "FCVI-T12-44h", "FCVI-T12-45h",
        "FCVI-T12-46h",
    ],  # fmt: skip
    errata=["E22", "E88", "E114"],
    tags=["message", "error", "loss"],
    applies="client or server",
    variants=variants(
        levels=RELIABLE, ops=("send", "rdma-write"), immediate=True, classes=(3, 2), fabrics=("in-order", OUT_OF_ORDER)
    ),
)
def transport_error(t: Scenario) -> None:
    """A frame is lost: a response, if there is one, says RESP_ERR with TRANS_ERR; so does the reason of a Disconnect."""
    line = Line(t)
    line.good(1, 1)
    line.message(2, 4)
    line.send(2, [0, 1, 3])
    expect_error(t, line.setup, "FCVI-8.4.2-e", "after a lost frame")
    resp = t.peek(["SEND_RESP", "WRITE_RESP"], line.sent[2].exchange)
    if resp is not None:
        resp.taken = True
        t.equal(resp, "RESP_ERR", 1, "FCVI-5.9.4.3-01")
        t.equal(resp, "TRANS_ERR", 1, "FCVI-T06-3")
    reasons = (0x40, 0x48) if t.params["op"] == "send" else (0x40, 0x44, 0x45, 0x46, 0x48)
    _reason_of_disconnect(t, line.setup, reasons)


_FLAGS: list[tuple[str, dict[str, Any]]] = [
    ("descriptor", {"flags": _RESP_ERR | _DESC_ERR, "status": "VIP_STATUS_REMOTE_DESC_ERROR"}),
    ("protection", {"flags": _RESP_ERR | _PROT_ERR, "status": "VIP_STATUS_RDMA_PROT_ERROR"}),
    ("transport", {"flags": _RESP_ERR | _TRANS_ERR, "status": "VIP_STATUS_TRANSPORT_ERROR"}),
    ("no-cause", {"flags": _RESP_ERR, "status": None}),
    ("all-causes", {"flags": 0x0F, "status": None}),
]


@case(
    REGISTRY,
    "5.9.7.3.1",
    "The DUT takes in RESP_ERR",
    clause="5.9.7.3.1",
    requirements=[
        "FCVI-5.9.7.3.1-01", "FCVI-T06-0", "FCVI-T06-1", "FCVI-T06-2", "FCVI-T06-3", "FCVI-5.9.4.3-01", "FCVI-8.1-01",
        "FCVI-8.2-d3",
    ],  # fmt: skip
    errata=["E22", "E42"],
    tags=["message", "error"],
    applies="client or server",
    variants=variants(levels=("reliable-reception",), ops=("send", "rdma-write"), classes=(3, 2), choices=_FLAGS)
    + variants(levels=RELIABLE, ops=("rdma-read",), choices=[(f"rdma-read/{n}", p) for n, p in _FLAGS]),
)
def failed_response(t: Scenario) -> None:
    """RESP_ERR fails the Message, whatever the other flags and whatever data came: Descriptor in error, VI in Error.

    The causes may show as the Status bits of the same name.
    """
    setup = open_connection(t)
    taken, _ = originate(t, setup, 1, 64)
    answer(t, setup, taken)
    expect_good(t, setup.vi, "send", "FCVI-6.3.1-01")
    t.control("a Message that was answered well completed")
    taken, _ = originate(t, setup, 2, 64)
    flags = int(t.params["flags"])
    if t.params["op"] == "rdma-read":
        respond_with(t, setup, taken, t.rng.randbytes(64), flags=flags)
    else:
        respond(t, setup, taken, flags)
    done = expect_bad(t, setup.vi, "send", "FCVI-T06-0")
    status: Optional[str] = t.params["status"]
    if status is not None:
        t.require(status in done.status, "FCVI-5.9.7.3.1-01", "another status", sorted(done.status), status)
    expect_error(t, setup, "FCVI-8.2-d3", "after RESP_ERR")
    post(t, setup.vi, "send", register(t, 8))
    t.expect_nothing(["SEND_RQST"], t.r_a_tov_us // 10, "FCVI-8.1-01", "from a VI in Error")


_STATUS: list[tuple[str, dict[str, Any]]] = [
    (f"{code:02x}h", {"reason": code}) for code in (*range(0x40, 0x49), 0x4B, 0x4C, 0x60, 0xF0, 0xFF)
]


@case(
    REGISTRY,
    "5.9.7.3.2",
    "The DUT takes in the reasons of a Disconnect",
    clause="5.9.7.3.2",
    requirements=[
        "FCVI-5.9.4.6-01", "FCVI-5.9.4.6-04", "FCVI-5.9.7.3.2-01", "FCVI-5.9.7.3.2-02", "FCVI-5.9.7.3.4-01",
        "FCVI-5.9.7.3.2-12", "FCVI-T12-4Bh", "FCVI-T12-F0h", "FCVI-T11-b2", "FCVI-T11-b3", "FCVI-6.13.1-01", "FCVI-8.1-03",
        "FCVI-8.2-d3", "FCVI-5.9.7.1-05", "FCVI-T10-0",
    ],  # fmt: skip
    errata=["E11", "E41", "E114"],
    tags=["disconnect", "error"],
    applies="client or server",
    variants=variants(choices=[(f"{who}/{n}", {**p, "who": who}) for who in ("request", "response") for n, p in _STATUS]),
)
def disconnect_reasons(t: Scenario) -> None:
    """Whatever Reason Code, Reason Explanation and Vendor Unique byte a Disconnect IU has, it disconnects.

    The DUT answers a request, with Disconnect Accept or without status, and returns from VipDisconnect after a response.
    """
    setup = open_connection(t)
    t.control("a Connection Setup completed")
    reason = int(t.params["reason"])
    status = {"DISC_CONN_STS": 1, "Reason_Code": reason, "Reason_Explanation": 0x17, "Vendor_Unique": 0xEE}
    if t.params["who"] == "response":
        call = t.start("VipDisconnect", vi=setup.vi)
        rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", why="after VipDisconnect")
        t.tester.assign_rx_id(rqst.exchange)
        t.send("DISCONNECT_RESP", rqst.exchange, {"FCVI_HANDLE": setup.dut_handle, "VI_APP_DISCON": 1, **status})
        t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
        return
    exchange = t.tester.open_exchange()
    t.send("DISCONNECT_RQST", exchange, {"FCVI_HANDLE": setup.dut_handle, "VI_APP_DISCON": 1, **status})
    resp = t.expect("DISCONNECT_RESP", "FCVI-6.13.1-01", exchange=exchange, why="after FCVI_DISCONNECT_RQST")
    t.equal(resp, "VI_APP_DISCON", 1, "FCVI-5.9.4.6-04")
    t.require(
        not resp.dh("DISC_CONN_STS") or resp.dh("Reason_Code") in (*range(0x40, 0x49), 0x4B) or resp.dh("Reason_Code") >= 0xF0,
        "FCVI-5.9.7.3.2-12", "a good Disconnect was answered with another reason", f"{resp.dh('Reason_Code'):02X}h",
        "4Bh or no status", at=resp,
    )  # fmt: skip
    told = 0x40 <= reason <= 0x48  # the request told of an error: whose it was, and of which code, is not for us to say
    t.require(
        not resp.dh("DISC_CONN_STS") or resp.dh("Reason_Code") not in range(0x40, 0x49), "FCVI-T12-4Bh",
        "an error is reported though none occurred", f"{resp.dh('Reason_Code'):02X}h", "4Bh or no status", at=resp,
        erratum="E41" if told else None,
    )  # fmt: skip
    expect_error(t, setup, "FCVI-8.2-d3", "after FCVI_DISCONNECT_RQST", t.r_a_tov_us)
