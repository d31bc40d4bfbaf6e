"""Clauses 5.7 and 5.9.6: the numbers of Messages, and how long one may be."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant, case
from fcvi.fc.message import Message
from fcvi.fc.scenario import Scenario

from .clause_6_responses import take_read_response
from conformance.fcvi.steps.connection import REGISTRY, Setup
from conformance.fcvi.steps.message_checks import respond, respond_with, take_request
from conformance.fcvi.steps.messages import (
    RR,
    deliver,
    expect_good,
    level_of,
    memory,
    open_connection,
    post,
    prepare,
    register,
    transmit,
)

PART_OF_REPORT = 9

_OPS = ("send", "rdma-write", "rdma-read")
_NEEDS = "(client or server) and send and rdma_write and rdma_read"


def _attributes(level: int, **more: int) -> dict[str, int]:
    return {"FCVI_RELIABILITY_LVL": level, "EnRdmaWr": 1, "EnRdmaRd": 1, **more}


def _from_dut(t: Scenario, setup: Setup, op: str, number: int) -> None:
    """One Message of the DUT, answered where a response is due."""
    data = t.rng.randbytes(24)
    region = register(t, 24, data=data)
    remote = None if op == "send" else (0xABCDEF0123456789, 0x77)
    va, handle = remote or (0, 0)
    post(t, setup.vi, op, region, remote=remote)
    message = Message(op, number, b"" if op == "rdma-read" else data, None, va, handle, total=24)
    taken = take_request(t, setup, message)
    if op == "rdma-read":
        respond_with(t, setup, taken, t.rng.randbytes(24))
    elif level_of(t) == RR:
        respond(t, setup, taken)
    expect_good(t, setup.vi, "send", "FCVI-5.9.6-04")


def _from_tester(t: Scenario, setup: Setup, op: str, number: int) -> None:
    """One Message of the tester; a number that is not the next one of this direction would be a Message Error."""
    data = t.rng.randbytes(24)
    region = register(t, 24, write=op == "rdma-write", read=op == "rdma-read", data=data if op == "rdma-read" else None)
    if op == "send":
        post(t, setup.vi, "recv", region)
        deliver(t, setup, Message(op, number, data))
        expect_good(t, setup.vi, "recv", "FCVI-4.2-13", length=24)
        return
    if op == "rdma-write":
        deliver(t, setup, Message(op, number, data, va=region.va, region=region.handle))
        t.owed(lambda: memory(t, region) == data)
        t.require(memory(t, region) == data, "FCVI-4.2-13", f"RDMA Write {number} was not placed", "other bytes", "its data")
        return
    sent = prepare(t, setup, Message(op, number, va=region.va, region=region.handle, total=24))
    transmit(t, sent.frames)
    take_read_response(t, setup, sent)


@case(
    REGISTRY,
    "5.9.6",
    "FCVI_MSG_ID of every kind of Message",
    clause="5.9.6",
    requirements=[
        "FCVI-5.9.6-01", "FCVI-5.9.6-02", "FCVI-5.9.6-03", "FCVI-5.9.6-04", "FCVI-5.9.6-06", "FCVI-4.2-10", "FCVI-4.2-12",
        "FCVI-4.2-13", "FCVI-4.2-16", "FCVI-6.2.2-08", "FCVI-6.4.2-08", "FCVI-6.6.2-06",
    ],  # fmt: skip
    tags=["message", "rdma"],
    applies=_NEEDS,
    variants=[
        Variant(
            f"{name}/class{cls}", {"role": "any", "op": "send", "attributes": _attributes(level)},
            f"{name.replace('-', '_')} and class{cls} and max_vis >= 2", {"class": cls},
        )
        for name, level in (("reliable-delivery", 2), ("reliable-reception", 3)) for cls in (3, 2)
    ],
)  # fmt: skip
def message_numbers(t: Scenario) -> None:
    """Sends, RDMA Writes and RDMA Reads of one VI share a count from 1 on; each direction and each VI has its own."""
    setups = [open_connection(t), open_connection(t)]
    counts: dict[tuple[int, str], int] = {}
    order = [0, 0, 1, 0, 1, 1, 1, 0, 0]
    for index, which in enumerate(order):
        setup, op = setups[which], _OPS[index % 3]
        for side, step in (("dut", _from_dut), ("tester", _from_tester)):
            if side == "tester" and index % 2:
                continue
            number = counts[which, side] = counts.get((which, side), 0) + 1
            step(t, setup, op, number)
    t.control("Messages of three kinds went both ways on two connections")


_LONG = 70_000  # more than FCVI_TOT_LEN could say in 16 bits


@case(
    REGISTRY,
    "5.7",
    "Messages as long as the VI allows",
    clause="5.7",
    requirements=["FCVI-5.6-01", "FCVI-5.9.10-01", "FCVI-6.2.1-01", "FCVI-6.2.2-10", "FCVI-7.3-04"],
    errata=["E77"],
    tags=["message"],
    applies="(client or server) and send",
    variants=[
        Variant(
            f"{size}-bytes{suffix}",
            {"role": "any", "op": "send", "attributes": {"FCVI_RELIABILITY_LVL": 1, "FCVI_MAX_TRANS_SIZE": size}},
            f"unreliable_delivery and max_transfer_size >= {size}", {"receive_size": field} if field else {},
        )
        for suffix, size, field in (("", 32768, 0), ("", _LONG, 0), ("/field-size-256", _LONG, 256))
    ],
)  # fmt: skip
def longest_messages(t: Scenario) -> None:
    """A Message of MaxTransferSize goes both ways; a Descriptor for one byte more puts nothing on the wire.

    In frames of 256 bytes the longest has more of them than 8 bits count (5.6).
    """
    setup = open_connection(t)
    size = int(t.params["attributes"]["FCVI_MAX_TRANS_SIZE"])
    data = t.rng.randbytes(size)
    region = register(t, size, data=data)
    post(t, setup.vi, "send", region)
    take_request(t, setup, Message("send", 1, data))
    expect_good(t, setup.vi, "send", "FCVI-5.9.10-01", length=size)
    buffer = register(t, size)
    post(t, setup.vi, "recv", buffer)
    deliver(t, setup, Message("send", 1, data))
    expect_good(t, setup.vi, "recv", "FCVI-6.2.1-01", length=size)
    seen = memory(t, buffer)
    t.require(seen == data, "FCVI-6.2.1-01", "the buffer differs from the Message Data", seen[:12].hex(), data[:12].hex())
    t.control("Messages of MaxTransferSize went both ways")
    post(t, setup.vi, "send", register(t, size + 1))
    t.expect_nothing(["SEND_RQST"], t.r_a_tov_us // 10, "FCVI-7.3-04", "longer than MaxTransferSize")
    good = [c for c in t.completions if c.vi == setup.vi and c.queue == "send" and c.good]
    t.require(not good, "FCVI-7.3-04", "a Message longer than MaxTransferSize completed without error", len(good), "none")


@case(
    REGISTRY,
    "5.7.reads",
    "RDMA Reads of more bytes than 16 bits can say",
    clause="5.7",
    requirements=[
        "FCVI-6.6.2-09", "FCVI-5.8.7-02", "FCVI-5.8.7-03", "FCVI-5.8.6-01", "FCVI-6.7.1-01", "FCVI-6.7.1-02", "FCVI-6.7.1-03",
        "FCVI-6.7.2-11",
    ],  # fmt: skip
    tags=["message", "rdma"],
    applies="(client or server) and send and rdma_read",
    variants=[
        Variant(
            f"{_LONG}-bytes{suffix}",
            {"role": "any", "op": "rdma-read", "attributes": _attributes(2, FCVI_MAX_TRANS_SIZE=_LONG)},
            f"reliable_delivery and max_transfer_size >= {_LONG}", {"receive_size": field} if field else {},
        )
        for suffix, field in (("", 0), ("/field-size-256", 256))
    ],
)  # fmt: skip
def longest_reads(t: Scenario) -> None:
    """The DUT reads so much from the tester, and the tester from the DUT: length, offsets, SEQ_CNT and bytes are right."""
    setup = open_connection(t)
    data, remote = t.rng.randbytes(_LONG), (0xABCDEF0123456789, 0x77)
    region = register(t, _LONG)
    post(t, setup.vi, "rdma-read", region, remote=remote)
    taken = take_request(t, setup, Message("rdma-read", 1, b"", None, *remote, total=_LONG))
    respond_with(t, setup, taken, data)
    expect_good(t, setup.vi, "send", "FCVI-6.7.1-02", length=_LONG)
    seen = memory(t, region)
    t.require(seen == data, "FCVI-5.8.7-03", "the memory differs from the FCVI_READ_RESP", seen[:12].hex(), data[:12].hex())
    asked = register(t, _LONG, read=True, data=data)
    sent = prepare(t, setup, Message("rdma-read", 1, va=asked.va, region=asked.handle, total=_LONG))
    transmit(t, sent.frames)
    answer = b"".join(iu.payload for iu in take_read_response(t, setup, sent))
    held = memory(t, asked)
    t.require(answer == held, "FCVI-6.7.1-03", "FCVI_READ_RESP differs from the memory", answer[:12].hex(), held[:12].hex())
    t.control("as many bytes were read both ways")


@case(
    REGISTRY,
    "5.7.writes",
    "RDMA Writes of more bytes than 16 bits can say",
    clause="5.7",
    requirements=["FCVI-6.4.2-13", "FCVI-5.8.7-02", "FCVI-5.8.7-03", "FCVI-5.8.6-01", "FCVI-6.4.1-01", "FCVI-6.4.1-02"],
    tags=["message", "rdma"],
    applies="(client or server) and send and rdma_write",
    variants=[
        Variant(
            f"{_LONG}-bytes{suffix}",
            {"role": "any", "op": "rdma-write", "attributes": _attributes(2, FCVI_MAX_TRANS_SIZE=_LONG)},
            f"reliable_delivery and max_transfer_size >= {_LONG}", {"receive_size": field} if field else {},
        )
        for suffix, field in (("", 0), ("/field-size-256", 256))
    ],
)  # fmt: skip
def longest_writes(t: Scenario) -> None:
    """The DUT writes so much to the tester, and the tester to the DUT: length, offsets, SEQ_CNT and bytes are right."""
    setup = open_connection(t)
    data, remote = t.rng.randbytes(_LONG), (0xABCDEF0123456789, 0x77)
    post(t, setup.vi, "rdma-write", register(t, _LONG, data=data), remote=remote)
    take_request(t, setup, Message("rdma-write", 1, data, None, *remote))
    expect_good(t, setup.vi, "send", "FCVI-6.4.1-01", length=_LONG)
    target = register(t, _LONG, write=True)
    deliver(t, setup, Message("rdma-write", 1, data, va=target.va, region=target.handle))
    t.owed(lambda: memory(t, target) == data)
    seen = memory(t, target)
    t.require(seen == data, "FCVI-5.8.7-03", "the memory differs from the Message Data", seen[:12].hex(), data[:12].hex())
    t.control("as many bytes were written both ways")


_JUMPS: dict[str, Any] = {"role": "any", "op": "send", "attributes": {"FCVI_RELIABILITY_LVL": 1}}


@case(
    REGISTRY,
    "5.9.6.wrap",
    "FCVI_MSG_ID comes to FFFFFFFFh and goes on with 0",
    clause="5.9.6",
    requirements=["FCVI-B-R4a-c3", "FCVI-5.2.1-10", "FCVI-6.2.1-01"],
    errata=["E29", "E93"],
    tags=["message", "loss"],
    applies="(client or server) and send",
    variants=[Variant("unreliable", _JUMPS, "unreliable_delivery")],
)
def number_wraps(t: Scenario) -> None:
    """Skipping Messages on an unreliable connection brings the tester's count near the wrap: 0 follows FFFFFFFFh.

    A DUT that keeps to rule 4a takes Messages FFFFFFFFh, 0 and 1 like any other; that is noted, not required.
    """
    setup = open_connection(t)
    lost: list[int] = []
    for number in (1, 0x7FFFFFFF, 0xFFFFFFFD, 0xFFFFFFFE, 0xFFFFFFFF, 0, 1):
        data = t.rng.randbytes(16)
        buffer = register(t, 16)
        post(t, setup.vi, "recv", buffer)
        transmit(t, prepare(t, setup, Message("send", number, data)).frames)
        t.owed(lambda: any(c.queue == "recv" for c in t.completions))
        good = [c for c in t.completions if c.queue == "recv" and c.good]
        t.completions.clear()
        if number == 1 and not lost:
            t.demand(bool(good), "FCVI-6.2.1-01", "Message 1 was not delivered", "nothing", "a completion")
        if good and not lost:
            t.require(memory(t, buffer) == data, "FCVI-5.2.1-10", f"Message {number:08X}h was delivered with other bytes",
                      memory(t, buffer).hex(), data.hex())  # fmt: skip
        if not good:
            lost.append(number)
        t.control("a Message was delivered")
    t.require(not lost, "FCVI-B-R4a-c3", "Messages around the wrap were not delivered", [f"{n:08X}h" for n in lost], "all")
