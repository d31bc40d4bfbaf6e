"""Clauses 6.2, 6.4 and 6.6: Messages that the DUT originates, and how the Exchange goes on (5.2, 6.3, 6.5, 6.7)."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import case
from fcvi.fc.message import Cut, Message
from fcvi.fc.received import Exchange
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import CLIENT, REGISTRY, SERVER, Setup
from conformance.fcvi.steps.message_checks import Taken, respond, respond_with, take_request
from conformance.fcvi.steps.messages import (
    LEVELS,
    RR,
    Region,
    answered,
    expect_good,
    level_of,
    memory,
    open_connection,
    post,
    register,
    variants,
)

PART_OF_REPORT = 6

_RELIABLE = ("reliable-delivery", "reliable-reception")
_SMALL: dict[str, Any] = {"sizes": [1, 62]}
_FRAMES: dict[str, Any] = {"sizes": [2 * 224, 3 * 224 + 3], "config": {"receive_size": 256}}
_IMMEDIATE: dict[str, Any] = {"sizes": [8, 0], "immediate": 0x01020304, "applies": "immediate_data"}
_ZERO: dict[str, Any] = {**_IMMEDIATE, "immediate": 0}  # the value of FCVI_PARAMETER without Immediate Data
_EACH_FRAME: dict[str, Any] = {**_FRAMES, "immediate": 0x01020304, "applies": "immediate_data"}
_ONCE: list[tuple[str, dict[str, Any]]] = [
    ("largest", {"sizes": [32768]}), ("immediate-zero", _ZERO), ("immediate-in-frames", _EACH_FRAME),
]

_ALL = [
    "FCVI-4.2-02", "FCVI-4.2-07", "FCVI-4.2-12", "FCVI-5.1-01", "FCVI-5.2.1-01", "FCVI-5.2.1-02", "FCVI-5.2.1-07",
    "FCVI-5.2.1-09", "FCVI-5.2.1-11", "FCVI-5.4-01", "FCVI-5.4-02", "FCVI-5.5-01", "FCVI-5.5-03", "FCVI-5.6-01",
    "FCVI-5.6-07", "FCVI-5.6-09", "FCVI-5.9.1-02", "FCVI-5.9.2-01", "FCVI-5.9.6-02", "FCVI-5.9.6-03",
    "FCVI-5.9.6-04", "FCVI-5.9.10-01", "FCVI-T04-w0", "FCVI-T04-w1", "FCVI-T04-w2", "FCVI-T04-w3", "FCVI-T04-w7",
]  # fmt: skip
_DATA = [
    "FCVI-5.2.1-04", "FCVI-5.2.1-05", "FCVI-5.8.4-01", "FCVI-5.9.4.2-01", "FCVI-5.9.4.2-02", "FCVI-5.9.7.1-01",
    "FCVI-T05-0",
]
_RDMA = [
    "FCVI-5.9.8-01", "FCVI-5.9.8-03", "FCVI-5.9.8-04", "FCVI-5.9.9-01", "FCVI-T04-w4", "FCVI-T04-w6",
]


def _remote(t: Scenario) -> tuple[int, int]:
    """An address with eight different bytes and the handle of memory at the tester (5.9.8)."""
    return int.from_bytes(bytes(t.rng.sample(range(1, 256), 8)), "big"), t.rng.randrange(1, 2**32)


def originate(t: Scenario, setup: Setup, number: int, size: int, bare: bool = False) -> tuple[Taken, Region]:
    """Post one Descriptor of this variant's operation and take the Message Request that follows.

    bare: without the Immediate Data of the variant.
    """
    op = str(t.params["op"])
    data = t.rng.randbytes(size) if op != "rdma-read" else b""
    region = register(t, max(size, 1), data=data)
    remote = _remote(t) if op != "send" else None
    va, handle = remote or (0, 0)
    immediate = None if bare else t.params.get("immediate")
    message = Message(op, number, data, immediate, va, handle, total=size)
    code = post(t, setup.vi, op, region, length=size, remote=remote, immediate=message.immediate)
    t.require(code == "VIP_SUCCESS", "FCVI-5.2.1-09", f"VipPostSend returned {code}", code, "VIP_SUCCESS")
    return take_request(t, setup, message), region


def _data_goes_out(t: Scenario) -> None:
    setup = open_connection(t)
    seen: list[Exchange] = []
    sizes = list(t.params["sizes"])
    last = len(sizes) + 1 if "immediate" in t.params else 0  # a Message without Immediate Data behind those that have some
    for number, size in enumerate(sizes + [8] * bool(last), 1):
        taken, _ = originate(t, setup, number, size, bare=number == last)
        t.require(all(taken.exchange is not e for e in seen), "FCVI-5.4-02", "a Message is on the Exchange of another one",
                  taken.exchange, "a new Exchange", at=taken.last)  # fmt: skip
        seen.append(taken.exchange)
        if level_of(t) == RR:
            early = [c for c in t.completions if c.vi == setup.vi and c.queue == "send"]
            t.require(not early, "FCVI-E-02", "the Descriptor completed before its response", "completed", "not yet")
            respond(t, setup, taken)
        expect_good(t, setup.vi, "send", f"FCVI-{'6.2' if t.params['op'] == 'send' else '6.4'}.1-01", length=size)
    t.control("Messages arrived intact, each in an Exchange of its own")


@case(
    REGISTRY,
    "6.2",
    "The DUT sends Messages",
    clause="6.2",
    requirements=[
        *_ALL, *_DATA, "FCVI-5.2.2-02", "FCVI-5.9.8-02", "FCVI-5.9.9-02", "FCVI-6.2.1-01", "FCVI-6.2.1-03",
        "FCVI-6.2.1-04", "FCVI-6.2.1-05", "FCVI-6.2.2-01", "FCVI-6.2.2-02", "FCVI-6.2.2-03", "FCVI-6.2.2-05",
        "FCVI-6.2.2-06", "FCVI-6.2.2-07", "FCVI-6.2.2-08", "FCVI-6.2.2-09", "FCVI-6.2.2-10",
        "FCVI-T01-SEND_RQST-enc", "FCVI-T01-SEND_RQST-pos", "FCVI-5.9.4.1-01",
    ],  # fmt: skip
    errata=["E18", "E19", "E43", "E46"],
    tags=["message"],
    applies="client or server",
    variants=variants(
        levels=list(LEVELS), ops=("send",), classes=(3, 2), roles=(CLIENT, SERVER),
        choices=[("small", _SMALL), ("frames", _FRAMES), ("immediate", _IMMEDIATE)],
    ) + variants(levels=list(LEVELS), ops=("send",), choices=_ONCE),
)  # fmt: skip
def dut_sends(t: Scenario) -> None:
    """VipPostSend gives one Message of one or more FCVI_SEND_RQST IUs, with the data and fields of the Descriptor.

    The last IU ends the Exchange, or passes Sequence Initiative in Reliable Reception; there the Descriptor completes
    after the tester's FCVI_SEND_RESP.
    """
    _data_goes_out(t)


@case(
    REGISTRY,
    "6.4",
    "The DUT does RDMA Writes",
    clause="6.4",
    requirements=[
        *_ALL, *_DATA, *_RDMA, "FCVI-5.2.3-02", "FCVI-6.4.1-01", "FCVI-6.4.1-04", "FCVI-6.4.1-05", "FCVI-6.4.1-06",
        "FCVI-6.4.2-01", "FCVI-6.4.2-02", "FCVI-6.4.2-03", "FCVI-6.4.2-05", "FCVI-6.4.2-06", "FCVI-6.4.2-07",
        "FCVI-6.4.2-08", "FCVI-6.4.2-09", "FCVI-6.4.2-10", "FCVI-6.4.2-11", "FCVI-6.4.2-12", "FCVI-6.4.2-13",
        "FCVI-6.4.2-14", "FCVI-T01-WRITE_RQST-enc", "FCVI-T01-WRITE_RQST-pos", "FCVI-5.9.4.1-01",
    ],  # fmt: skip
    errata=["E18", "E19", "E43", "E46"],
    tags=["message", "rdma"],
    applies="client or server",
    variants=variants(
        levels=list(LEVELS), ops=("rdma-write",), classes=(3, 2), roles=(CLIENT, SERVER),
        choices=[("small", _SMALL), ("frames", _FRAMES), ("immediate", _IMMEDIATE)],
    ) + variants(levels=list(LEVELS), ops=("rdma-write",), choices=_ONCE),
)  # fmt: skip
def dut_writes(t: Scenario) -> None:
    """An RDMA Write Descriptor gives FCVI_WRITE_RQST IUs that all name the Remote region as the Descriptor does.

    The data start at Relative Offset 0. In Reliable Reception the Descriptor completes after FCVI_WRITE_RESP.
    """
    _data_goes_out(t)


_CUTS: list[tuple[str, dict[str, Any]]] = [
    ("one-frame", {"sizes": [1, 100], "cut": Cut()}),
    ("frames", {**_FRAMES, "cut": Cut()}),
    ("two-ius", {**_FRAMES, "cut": Cut(ius=2)}),
    ("many-ius", {"sizes": [60], "cut": Cut(frame=4, ius=15)}),
]
#: The Relative Offset places them, not their number (5.8.7).
_UNEVEN: list[tuple[str, dict[str, Any]]] = [("uneven-frames", {"sizes": [903], "cut": Cut(frame=20, uneven=True)})]


@case(
    REGISTRY,
    "6.6",
    "The DUT does RDMA Reads",
    clause="6.6",
    requirements=[
        *_ALL, *_RDMA, "FCVI-5.2.1-04", "FCVI-5.2.4-01", "FCVI-5.2.4-04", "FCVI-6.7.1-02", "FCVI-6.6.1-01",
        "FCVI-6.6.1-03", "FCVI-6.6.1-04", "FCVI-6.6.1-05", "FCVI-6.6.2-01", "FCVI-6.6.2-02", "FCVI-6.6.2-03",
        "FCVI-6.6.2-04", "FCVI-6.6.2-05", "FCVI-6.6.2-06", "FCVI-6.6.2-07", "FCVI-6.6.2-08", "FCVI-6.6.2-09",
        "FCVI-T01-READ_RQST-enc", "FCVI-T01-READ_RQST-pos",
    ],  # fmt: skip
    errata=["E18", "E19"],
    tags=["message", "rdma"],
    applies="client or server",
    variants=variants(levels=_RELIABLE, ops=("rdma-read",), classes=(3, 2), roles=(CLIENT, SERVER), choices=_CUTS)
    + variants(levels=_RELIABLE, ops=("rdma-read",), choices=_UNEVEN),
)
def dut_reads(t: Scenario) -> None:
    """An RDMA Read Descriptor gives one FCVI_READ_RQST of one frame that passes Sequence Initiative.

    The response's data reach the local buffer, in however many IUs and frames they come; then the Descriptor completes.
    """
    assert answered(t)
    setup = open_connection(t)
    for number, size in enumerate(t.params["sizes"], 1):
        taken, region = originate(t, setup, number, size)
        data = t.rng.randbytes(size)
        respond_with(t, setup, taken, data, t.params["cut"])
        expect_good(t, setup.vi, "send", "FCVI-6.7.1-02", length=size)
        seen = memory(t, region, size)
        t.require(seen == data, "FCVI-6.7.1-02", "the buffer differs from the data of FCVI_READ_RESP", seen[:12].hex(),
                  data[:12].hex())  # fmt: skip
    t.control("the data read were placed byte for byte")


@case(
    REGISTRY,
    "6.6.immediate",
    "Immediate Data in the Descriptor of an RDMA Read",
    clause="6.6.2",
    requirements=["FCVI-5.9.4.2-03", "FCVI-6.6.2-04", "FCVI-6.6.2-05"],
    tags=["message", "rdma"],
    applies="client or server",
    variants=variants(levels=_RELIABLE, ops=("rdma-read",), classes=(3, 2), choices=[("", {"applies": "immediate_data"})]),
)
def read_with_immediate(t: Scenario) -> None:
    """Immediate Data do not go on the wire: IMM_DATA and FCVI_PARAMETER are zero, or the DUT refuses the Descriptor."""
    setup = open_connection(t)
    taken, _ = originate(t, setup, 1, 16)
    respond_with(t, setup, taken, t.rng.randbytes(16))
    expect_good(t, setup.vi, "send", "FCVI-6.7.1-02", length=16)
    t.control("an RDMA Read without Immediate Data completed")
    va, handle = _remote(t)
    code = post(t, setup.vi, "rdma-read", register(t, 16), remote=(va, handle), immediate=0x01020304)
    t.owed(lambda: t.peek(["READ_RQST"]) is not None or bool(t.completions))
    if t.peek(["READ_RQST"]) is None:
        t.step(f"the DUT did not take the Descriptor: VipPostSend returned {code}")
        return
    message = Message("rdma-read", 2, b"", None, va, handle, total=16)
    respond_with(t, setup, take_request(t, setup, message), t.rng.randbytes(16))
    expect_good(t, setup.vi, "send", "FCVI-6.7.1-02", length=16)
