"""Clauses 6.4, 6.6 and 6.7 on faulty ways: RDMA without Descriptors at the responder, frames out of order or lost."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import case
from fcvi.fc.message import Cut, Message, frames_of
from fcvi.fc.scenario import Scenario

from .annex_b_rules_1_3 import RELIABLE
from .clause_6_requests import originate
from .clause_6_responses import take_read_response
from conformance.fcvi.steps.connection import REGISTRY, Setup
from conformance.fcvi.steps.message_checks import Taken, read_header, respond_with
from conformance.fcvi.steps.messages import (
    LEVELS,
    OUT_OF_ORDER,
    RR,
    Region,
    expect_connected,
    expect_error,
    expect_good,
    expect_response,
    level_of,
    memory,
    next_completion,
    open_connection,
    prepare,
    register,
    transmit,
    variants,
)

PART_OF_REPORT = 9

_PIECE, _SIZE = 16, 6 * 16
_ORDERS: list[tuple[str, dict[str, Any]]] = [
    ("reversed", {"order": [5, 4, 3, 2, 1, 0], "ius": 1}),
    ("ius-mixed", {"order": [4, 0, 2, 5, 3, 1], "ius": 3}),
]


@case(
    REGISTRY,
    "6.4.1",
    "Frames of an RDMA Write overtake each other",
    clause="6.4.1",
    requirements=["FCVI-6.4.1-02", "FCVI-4.2-19"],
    tags=["message", "rdma", "order"],
    applies="client or server",
    variants=variants(levels=list(LEVELS), ops=("rdma-write",), classes=(3, 2), fabrics=(OUT_OF_ORDER,), choices=_ORDERS),
)
def write_out_of_order(t: Scenario) -> None:
    """Without Immediate Data only memory tells: each frame's bytes are where FCVI_RMT_VA and Relative Offset say."""
    setup = open_connection(t)
    for number in (1, 2):
        data, target = t.rng.randbytes(_SIZE), register(t, _SIZE, write=True)
        message = Message("rdma-write", number, data, None, target.va, target.handle)
        sent = prepare(t, setup, message, Cut(frame=_PIECE, ius=int(t.params["ius"])))
        transmit(t, [sent.frames[i] for i in t.params["order"]])
        if level_of(t) == RR:
            expect_response(t, setup, sent)
        t.owed(lambda: memory(t, target) == data)
        seen = memory(t, target)
        t.require(seen == data, "FCVI-6.4.1-02", "the memory is not what the RDMA Write makes of it", seen[:12].hex(),
                  data[:12].hex())  # fmt: skip
    expect_connected(t, setup, "FCVI-4.2-19", "because frames overtook each other")
    t.control("RDMA Writes were placed byte for byte")


def _read(t: Scenario, setup: Setup, number: int) -> tuple[Taken, Region]:
    taken, region = originate(t, setup, number, _SIZE)
    t.tester.assign_rx_id(taken.exchange)
    return taken, region


@case(
    REGISTRY,
    "6.7.1",
    "Frames of a FCVI_READ_RESP overtake each other",
    clause="6.7.1",
    requirements=["FCVI-5.2.4-04", "FCVI-6.7.1-02", "FCVI-6.7.1-03"],
    tags=["message", "rdma", "order"],
    applies="client or server",
    variants=variants(levels=RELIABLE, ops=("rdma-read",), classes=(3, 2), fabrics=(OUT_OF_ORDER,), choices=_ORDERS),
)
def response_out_of_order(t: Scenario) -> None:
    """The DUT reads; the frames of the response come in any order within E_D_TOV: the Descriptor completes with the data."""
    setup = open_connection(t)
    for number in (1, 2):
        taken, region = _read(t, setup, number)
        data, cut = t.rng.randbytes(_SIZE), Cut(frame=_PIECE, ius=int(t.params["ius"]))
        frames = frames_of(t.tester, taken.exchange, "READ_RESP", read_header(setup, taken), data, answered=False, cut=cut)
        transmit(t, [frames[i] for i in t.params["order"]])
        expect_good(t, setup.vi, "send", "FCVI-6.7.1-02", length=_SIZE)
        seen = memory(t, region, _SIZE)
        t.require(seen == data, "FCVI-6.7.1-02", "the buffer differs from the data of FCVI_READ_RESP", seen[:12].hex(),
                  data[:12].hex())  # fmt: skip
    t.control("responses out of order were put together")


@case(
    REGISTRY,
    "6.7.1.lost",
    "A frame of a FCVI_READ_RESP is lost",
    clause="6.7.1",
    requirements=["FCVI-5.2.1-10", "FCVI-6.7.1-02", "FCVI-8.4.1-a", "FCVI-8.4.2-e"],
    errata=["E81", "E96"],
    tags=["message", "rdma", "loss"],
    applies="client or server",
    variants=variants(
        levels=RELIABLE, ops=("rdma-read",), classes=(3, 2), fabrics=("in-order", OUT_OF_ORDER),
        choices=[("first", {"lost": 0}), ("middle", {"lost": 3}), ("last", {"lost": 5})],
    ),
)  # fmt: skip
def response_incomplete(t: Scenario) -> None:
    """The data of an RDMA Read never come whole: the Descriptor completes in error and the VI goes to Error."""
    setup = open_connection(t)
    taken, _ = _read(t, setup, 1)
    respond_with(t, setup, taken, t.rng.randbytes(_SIZE))
    expect_good(t, setup.vi, "send", "FCVI-6.7.1-02", length=_SIZE)
    t.control("an RDMA Read completed")
    taken, _ = _read(t, setup, 2)
    frames = frames_of(
        t.tester, taken.exchange, "READ_RESP", read_header(setup, taken), t.rng.randbytes(_SIZE), answered=False,
        cut=Cut(frame=_PIECE),
    )  # fmt: skip
    transmit(t, [f for i, f in enumerate(frames) if i != t.params["lost"]])
    t.tolerate("ABTS")
    done = next_completion(t, setup.vi, "send", "FCVI-8.4.1-a", 4 * t.r_a_tov_us)
    t.require(not done.good, "FCVI-5.2.1-10", "an RDMA Read completed without error though a frame is missing",
              sorted(done.status), "an error bit")  # fmt: skip
    expect_error(t, setup, "FCVI-8.4.2-e", "after an incomplete response")


@case(
    REGISTRY,
    "B.R4b.read",
    "Rule 4 b: a FCVI_READ_RQST before its turn",
    clause="B.2.5 rule 4b",
    requirements=["FCVI-B-R4b-a", "FCVI-B-R4b-b", "FCVI-8.1-01", "FCVI-8.4.1-c", "FCVI-8.4.2-e"],
    tags=["message", "rdma", "loss"],
    applies="client or server",
    variants=variants(levels=RELIABLE, ops=("rdma-read",), classes=(3, 2)),
)
def read_before_its_turn(t: Scenario) -> None:
    """Message 2 is lost, Message 3 is a FCVI_READ_RQST: the VI goes to Error, data are not given away."""
    setup = open_connection(t)
    source = register(t, 32, read=True, data=t.rng.randbytes(32))
    first = prepare(t, setup, Message("rdma-read", 1, va=source.va, region=source.handle, total=32))
    transmit(t, first.frames)
    take_read_response(t, setup, first)
    t.control("an RDMA Read was answered")
    early = prepare(t, setup, Message("rdma-read", 3, va=source.va, region=source.handle, total=32))
    transmit(t, early.frames)
    expect_error(t, setup, "FCVI-8.4.2-e", "after a lost Message")
    resp = t.peek(["READ_RESP"], early.exchange)
    if resp is not None:
        resp.taken = True
        t.require(not resp.payload, "FCVI-8.4.1-c", "a FCVI_READ_RQST before its turn got data", len(resp.payload), "none",
                  at=resp)  # fmt: skip
