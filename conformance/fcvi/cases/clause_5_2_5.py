"""Clauses 5.2.4 and 5.2.5: RDMA Reads only on reliable levels, and two receive streams at one Endpoint."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant, case
from fcvi.fc.message import Message, frames_of, send_frames
from fcvi.fc.scenario import Scenario

from .clause_6_requests import originate
from conformance.fcvi.steps.connection import REGISTRY
from conformance.fcvi.steps.message_checks import read_header, respond
from conformance.fcvi.steps.messages import (
    RR,
    expect_connected,
    expect_good,
    expect_response,
    level_of,
    memory,
    open_connection,
    post,
    prepare,
    register,
    transmit,
    variants,
)

PART_OF_REPORT = 7

_BOTH = "rdma_read and rdma_write and (client or server)"


def _levels(level: int) -> dict[str, int]:
    return {"FCVI_RELIABILITY_LVL": level, "EnRdmaWr": 1, "EnRdmaRd": 1}


@case(
    REGISTRY,
    "5.2.5",
    "Two receive streams at one Endpoint",
    clause="5.2.5",
    requirements=["FCVI-5.2.5-01", "FCVI-5.2.5-02"],
    errata=["E93", "E100"],
    tags=["message", "rdma"],
    applies=_BOTH,
    variants=[
        Variant(
            f"{name}/class{cls}", {"role": "any", "op": "rdma-read", "attributes": _levels(level)},
            f"{name.replace('-', '_')} and class{cls}", {"class": cls, "receive_size": 256},
        )
        for name, level in (("reliable-delivery", 2), ("reliable-reception", 3)) for cls in (3, 2)
    ],
)  # fmt: skip
def two_streams(t: Scenario) -> None:
    """The data of the DUT's RDMA Read and an RDMA Write of the tester come frame by frame in turn, both with FCVI_MSG_ID 1.

    Both are placed intact; so are Messages 2, one each way, after them.
    """
    setup = open_connection(t)
    size = 5 * 224 + 12
    for number in (1, 2):
        taken, buffer = originate(t, setup, number, size)
        t.tester.assign_rx_id(taken.exchange)
        read, written = t.rng.randbytes(size), t.rng.randbytes(size)
        target = register(t, size, write=True)
        write = prepare(t, setup, Message("rdma-write", number, written, va=target.va, region=target.handle))
        reads = frames_of(t.tester, taken.exchange, "READ_RESP", read_header(setup, taken), read, answered=False)
        for pair in zip(write.frames, reads):
            send_frames(t.tester, pair)
        t.settle()
        if level_of(t) == RR:
            expect_response(t, setup, write)
        expect_good(t, setup.vi, "send", "FCVI-5.2.5-01", length=size)
        seen = memory(t, buffer, size)
        t.require(seen == read, "FCVI-5.2.5-01", "the data read are not in the buffer", seen[:12].hex(), read[:12].hex())
        t.owed(lambda: memory(t, target) == written)
        seen = memory(t, target)
        t.require(seen == written, "FCVI-5.2.5-01", "the data written are not in memory", seen[:12].hex(), written[:12].hex())
    expect_connected(t, setup, "FCVI-5.2.5-01", "with two streams")
    t.control("both streams arrived intact")


@case(
    REGISTRY,
    "5.2.5.responses",
    "A request of the other side before the response",
    clause="5.2.5",
    requirements=["FCVI-5.2.5-01", "FCVI-5.2.5-02", "FCVI-6.2.1-01", "FCVI-6.3.1-01"],
    errata=["E93"],
    tags=["message"],
    applies="client or server",
    variants=variants(
        levels=("reliable-reception",), classes=(3, 2), choices=(("", {"same": False}), ("same-ox-id", {"same": True})),
    ),
)
def crossing_sends(t: Scenario) -> None:
    """The DUT waits for the response to its Send n when Send n of the tester arrives: each is taken for what it is.

    Each port numbers the Exchanges that it opens (FC-FS, 5.8.1): both may have the same OX_ID.
    """
    setup = open_connection(t)
    for number in (1, 2, 3):
        data = t.rng.randbytes(48)
        buffer = register(t, 48)
        post(t, setup.vi, "recv", buffer)
        taken, _ = originate(t, setup, number, 40)  # from here on the DUT waits for the response
        sent = prepare(t, setup, Message("send", number, data), ox_id=taken.exchange.ox_id if t.params["same"] else None)
        transmit(t, sent.frames)
        expect_response(t, setup, sent)
        expect_good(t, setup.vi, "recv", "FCVI-5.2.5-01", length=48)
        early = [c for c in t.completions if c.queue == "send"]
        t.require(not early, "FCVI-5.2.5-02", "a request was taken for the response", "completed", "not yet")
        respond(t, setup, taken)
        expect_good(t, setup.vi, "send", "FCVI-5.2.5-01")
        t.require(memory(t, buffer) == data, "FCVI-5.2.5-01", "the tester's Send was not placed", "other bytes", "the data")
    t.control("Messages with equal FCVI_MSG_IDs went both ways")


_UNRELIABLE: dict[str, Any] = {"role": "any", "op": "send", "attributes": {"FCVI_RELIABILITY_LVL": 1}}


@case(
    REGISTRY,
    "6.6.1",
    "No RDMA Read in Unreliable Delivery",
    clause="6.6.1",
    requirements=["FCVI-5.2.4-02", "FCVI-6.6.1-02"],
    tags=["message", "rdma"],
    applies="(client or server) and unreliable_delivery and send",
    variants=[
        Variant("posted", {**_UNRELIABLE, "posted": True}, "rdma_read"),
        Variant("received", {**_UNRELIABLE, "posted": False}),
    ],
)
def no_unreliable_read(t: Scenario) -> None:
    """A posted RDMA Read puts no FCVI_READ_RQST on the wire and does not succeed; a received one gives no data away."""
    setup = open_connection(t)
    secret = t.rng.randbytes(64)
    region = register(t, 64, read=True, data=secret)
    if t.params["posted"]:
        code = post(t, setup.vi, "rdma-read", region, remote=(0x1000, 7))
        t.expect_nothing(["READ_RQST"], t.r_a_tov_us // 4, "FCVI-6.6.1-02", "in Unreliable Delivery")
        good = [c for c in t.completions if c.vi == setup.vi and c.good]
        t.require(not good, "FCVI-5.2.4-02", f"an RDMA Read succeeded (VipPostSend: {code})", "good", "an error")
    else:
        sent = prepare(t, setup, Message("rdma-read", 1, va=region.va, region=region.handle, total=64))
        transmit(t, sent.frames)
        t.owed(lambda: t.peek(["READ_RESP"]) is not None)
        resp = t.peek(["READ_RESP"])
        if resp is not None:
            resp.taken = True
            t.require(not resp.payload, "FCVI-6.6.1-02", "an RDMA Read got data in Unreliable Delivery", len(resp.payload),
                      "no data", at=resp)  # fmt: skip
    t.control("a Connection Setup completed")
