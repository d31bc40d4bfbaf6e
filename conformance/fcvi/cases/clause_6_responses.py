"""Clauses 6.2 to 6.7, the other way round: Messages that the tester originates, placed and answered by the DUT."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import case
from fcvi.fc.message import Cut, Message
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import CLIENT, REGISTRY, SERVER, Setup
from conformance.fcvi.steps.message_checks import each_frame, in_all
from conformance.fcvi.steps.messages import (
    LEVELS,
    RR,
    Sent,
    deliver,
    expect_good,
    level_of,
    memory,
    open_connection,
    post,
    prepare,
    register,
    transmit,
    variants,
)

PART_OF_REPORT = 8

_CUTS: list[tuple[str, dict[str, Any]]] = [
    ("one-iu", {"sizes": [224, 3 * 224 + 3], "cut": Cut(), "config": {"receive_size": 256}}),
    ("two-ius", {"sizes": [225, 3 * 224], "cut": Cut(ius=2), "config": {"receive_size": 256}}),
    ("many-ius", {"sizes": [60], "cut": Cut(frame=4, ius=15)}),
    ("immediate", {"sizes": [8, 0], "cut": Cut(), "immediate": 0x01020304, "applies": "immediate_data"}),
]
_ONCE: list[tuple[str, dict[str, Any]]] = [
    ("largest", {"sizes": [32768], "cut": Cut()}),
    ("immediate-zero", {"sizes": [8, 0], "cut": Cut(), "immediate": 0, "applies": "immediate_data"}),
    ("uneven-frames", {"sizes": [903], "cut": Cut(frame=20, uneven=True)}),  # 5.8.7: the Relative Offset places them
]
#: A Message of no data at all is one (VI-ARCH 6.1.1.1).
_EMPTY: list[tuple[str, dict[str, Any]]] = [("empty", {"sizes": [0, 8], "cut": Cut()})]
_GUARD = 16


def _no_response(t: Scenario) -> None:
    if level_of(t) != RR:
        send = t.params["op"] == "send"
        requirement = "FCVI-6.3.1-03" if send else "FCVI-6.5.1-02"
        t.expect_nothing(["SEND_RESP", "WRITE_RESP", "READ_RESP"], t.r_a_tov_us // 2, requirement, "on a level without responses")
    else:
        requirement = "FCVI-6.3.1-02" if t.params["op"] == "send" else "FCVI-6.5.1-03"
        t.expect_nothing(["SEND_RESP", "WRITE_RESP"], t.r_a_tov_us // 2, requirement, "a second time")


@case(
    REGISTRY,
    "6.3",
    "The DUT receives Sends and answers them",
    clause="6.3",
    requirements=[
        "FCVI-4.2-11", "FCVI-5.1-05", "FCVI-5.2.1-03", "FCVI-5.2.1-06", "FCVI-5.2.1-07", "FCVI-5.2.2-01",
        "FCVI-5.2.2-02", "FCVI-5.2.2-03", "FCVI-5.2.2-04", "FCVI-5.9.1-02", "FCVI-5.9.4.2-01", "FCVI-5.9.6-06",
        "FCVI-5.9.7.1-01", "FCVI-5.9.7.1-03", "FCVI-6.2.1-01", "FCVI-6.2.1-02", "FCVI-6.2.2-04", "FCVI-6.3.1-01",
        "FCVI-6.3.1-02", "FCVI-6.3.1-03", "FCVI-6.3.1-04", "FCVI-6.3.1-05", "FCVI-6.3.1-06", "FCVI-6.3.2-01",
        "FCVI-6.3.2-02", "FCVI-6.3.2-03", "FCVI-6.3.2-04", "FCVI-6.3.2-05", "FCVI-T01-SEND_RESP-enc",
        "FCVI-T01-SEND_RESP-pos", "FCVI-T03-w0", "FCVI-T03-w1", "FCVI-T03-w2", "FCVI-T03-w3", "FCVI-T06-0",
        "FCVI-5.9.4.1-01",
    ],  # fmt: skip
    errata=["E21", "E22", "E43"],
    tags=["message"],
    applies="client or server",
    variants=variants(levels=list(LEVELS), classes=(3, 2), roles=(CLIENT, SERVER), choices=_CUTS)
    + variants(levels=list(LEVELS), choices=_ONCE)
    + variants(levels=list(LEVELS), choices=_EMPTY),
)
def dut_receives_sends(t: Scenario) -> None:
    """A Send in any number of IUs and frames lands in the next receive Descriptor, with its Immediate Data.

    In Reliable Reception one FCVI_SEND_RESP of one frame follows on the same Exchange with the same FCVI_MSG_ID and
    flags zero; on the other levels none does.
    """
    setup = open_connection(t)
    immediate = t.params.get("immediate")
    for number, size in enumerate(t.params["sizes"], 1):
        data = t.rng.randbytes(size)
        buffer = register(t, size + _GUARD)
        post(t, setup.vi, "recv", buffer, length=size)  # the guard lies behind what is posted (VI-DG 5.5)
        deliver(t, setup, Message("send", number, data, immediate), t.params["cut"])
        done = expect_good(t, setup.vi, "recv", "FCVI-6.2.1-01", length=size)
        t.require(done.immediate == immediate, "FCVI-5.9.7.1-01", "wrong Immediate Data in the receive Descriptor",
                  done.immediate, immediate)  # fmt: skip
        seen = memory(t, buffer)
        wanted = data + b"\xa5" * _GUARD
        t.require(seen == wanted, "FCVI-6.2.1-01", "the buffer differs from the Message Data", seen[:12].hex(),
                  wanted[:12].hex())  # fmt: skip
    _no_response(t)
    t.control("the Messages were placed byte for byte")


@case(
    REGISTRY,
    "6.5",
    "The DUT receives RDMA Writes and answers them",
    clause="6.5",
    requirements=[
        "FCVI-4.2-11", "FCVI-5.1-05", "FCVI-5.2.1-03", "FCVI-5.2.1-06", "FCVI-5.2.1-07", "FCVI-5.2.3-01",
        "FCVI-5.2.3-02", "FCVI-5.2.3-03", "FCVI-5.2.3-04", "FCVI-5.9.6-06", "FCVI-5.9.7.1-01", "FCVI-5.9.7.1-03",
        "FCVI-6.4.1-01", "FCVI-6.4.1-02", "FCVI-6.4.1-03", "FCVI-6.4.2-04", "FCVI-6.5.1-01", "FCVI-6.5.1-02",
        "FCVI-6.5.1-03", "FCVI-6.5.1-04", "FCVI-6.5.1-05", "FCVI-6.5.1-06", "FCVI-6.5.2-01", "FCVI-6.5.2-02",
        "FCVI-6.5.2-03", "FCVI-6.5.2-04", "FCVI-6.5.2-05", "FCVI-T01-WRITE_RESP-enc", "FCVI-T01-WRITE_RESP-pos",
        "FCVI-T01-WRITE_RQST-pos", "FCVI-T03-w0", "FCVI-T03-w1", "FCVI-T03-w2", "FCVI-T03-w3", "FCVI-T06-0",
        "FCVI-5.9.1-02", "FCVI-5.9.4.1-01",
    ],  # fmt: skip
    errata=["E22", "E43"],
    tags=["message", "rdma"],
    applies="client or server",
    variants=variants(levels=list(LEVELS), ops=("rdma-write",), classes=(3, 2), roles=(CLIENT, SERVER), choices=_CUTS)
    + variants(levels=list(LEVELS), ops=("rdma-write",), choices=_ONCE),
)
def dut_receives_writes(t: Scenario) -> None:
    """Each frame lands at FCVI_RMT_VA plus its Relative Offset and nothing beside it is touched.

    With Immediate Data one receive Descriptor is consumed, without none. In Reliable Reception one FCVI_WRITE_RESP
    follows once the data are in memory; on the other levels none does.
    """
    setup = open_connection(t)
    immediate = t.params.get("immediate")
    descriptor = register(t, 16)
    post(t, setup.vi, "recv", descriptor)
    for number, size in enumerate(t.params["sizes"], 1):
        data = t.rng.randbytes(size)
        target = register(t, size + 2 * _GUARD, write=True)
        message = Message("rdma-write", number, data, immediate, target.va + _GUARD, target.handle)
        deliver(t, setup, message, t.params["cut"])
        if immediate is not None:
            done = expect_good(t, setup.vi, "recv", "FCVI-6.4.2-04")
            t.require(done.immediate == immediate, "FCVI-5.9.7.1-01", "wrong Immediate Data in the receive Descriptor",
                      done.immediate, immediate)  # fmt: skip
            post(t, setup.vi, "recv", descriptor)
        wanted = b"\xa5" * _GUARD + data + b"\xa5" * _GUARD
        t.owed(lambda: memory(t, target) == wanted)
        seen = memory(t, target)
        t.require(seen == wanted, "FCVI-6.4.1-02", "the memory is not what the RDMA Write makes of it",
                  seen[_GUARD : _GUARD + 12].hex(), data[:12].hex())  # fmt: skip
    _no_response(t)
    spare = [c for c in t.completions if c.vi == setup.vi and c.queue == "recv"]
    t.require(not spare, "FCVI-6.4.2-04", "an RDMA Write without Immediate Data took a receive Descriptor", len(spare), 0)
    t.control("the RDMA Writes were placed byte for byte")


_READS: list[tuple[str, dict[str, Any]]] = [
    ("small", {"sizes": [1, 100]}),
    ("frames", {"sizes": [224, 5 * 224 + 3], "config": {"receive_size": 256}}),
]
_READS_ONCE: list[tuple[str, dict[str, Any]]] = [("largest", {"sizes": [32768]}), ("empty", {"sizes": [0, 100]})]


@case(
    REGISTRY,
    "6.7",
    "The DUT answers RDMA Reads",
    clause="6.7",
    requirements=[
        "FCVI-4.2-11", "FCVI-5.1-05", "FCVI-5.2.1-03", "FCVI-5.2.1-06", "FCVI-5.2.1-07", "FCVI-5.2.4-01",
        "FCVI-5.2.4-03", "FCVI-5.4-01", "FCVI-5.9.6-06", "FCVI-5.9.7.1-03", "FCVI-5.9.8-01", "FCVI-5.9.8-04",
        "FCVI-5.9.9-01", "FCVI-6.6.1-01", "FCVI-6.7.1-01", "FCVI-6.7.1-02", "FCVI-6.7.1-03", "FCVI-6.7.1-04",
        "FCVI-6.7.1-05", "FCVI-6.7.1-06", "FCVI-6.7.2-01", "FCVI-6.7.2-02", "FCVI-6.7.2-03", "FCVI-6.7.2-04",
        "FCVI-6.7.2-05", "FCVI-6.7.2-06", "FCVI-6.7.2-07", "FCVI-6.7.2-08", "FCVI-6.7.2-09", "FCVI-6.7.2-10",
        "FCVI-6.7.2-11", "FCVI-6.7.2-12", "FCVI-T01-READ_RESP-enc", "FCVI-T01-READ_RESP-pos", "FCVI-5.6-07",
        "FCVI-5.9.4.1-01",
    ],  # fmt: skip
    errata=["E19", "E20"],
    tags=["message", "rdma"],
    applies="client or server",
    variants=variants(
        levels=("reliable-delivery", "reliable-reception"), ops=("rdma-read",), classes=(3, 2), roles=(CLIENT, SERVER),
        choices=_READS,
    )
    + variants(levels=("reliable-delivery", "reliable-reception"), ops=("rdma-read",), choices=_READS_ONCE),
)  # fmt: skip
def dut_answers_reads(t: Scenario) -> None:
    """FCVI_READ_RQST is answered by FCVI_READ_RESP IUs with the memory's bytes; words 2 and 4 to 7 are the request's.

    Relative Offset starts at 0; the last IU, and no other, ends the Exchange. A Read of no data is answered as well (5.2.4).
    """
    setup = open_connection(t)
    for number, size in enumerate(t.params["sizes"], 1):
        data = t.rng.randbytes(size)
        source = register(t, size + 2 * _GUARD, read=True, data=b"\x5a" * _GUARD + data)
        message = Message("rdma-read", number, va=source.va + _GUARD, region=source.handle, total=size)
        sent = prepare(t, setup, message)
        transmit(t, sent.frames)
        seen = b"".join(iu.payload for iu in take_read_response(t, setup, sent))
        t.require(seen == data, "FCVI-6.7.1-02", "the data of FCVI_READ_RESP are not those of the memory", seen[:12].hex(),
                  data[:12].hex())  # fmt: skip
    t.control("the memory was read byte for byte")


def take_read_response(t: Scenario, setup: Setup, sent: Sent) -> list[Received]:
    """All IUs of a good FCVI_READ_RESP, checked against the request (6.7.2)."""
    message = sent.message
    ius: list[Received] = []
    while not ius or not ius[-1].fc("Last_Sequence"):
        iu = t.expect("READ_RESP", "FCVI-6.7.1-01", exchange=sent.exchange, why="after FCVI_READ_RQST")
        ius.append(iu)
        if sum(len(i.payload) for i in ius) >= (message.total or 0):
            break
    in_all(t, ius, "FCVI_HANDLE", setup.tester_handle, "FCVI-6.7.2-02")
    in_all(t, ius, "FCVI_MSG_ID", message.number, "FCVI-6.7.2-04")
    in_all(t, ius, "FCVI_FLAGS", 0, "FCVI-T06-0")
    in_all(t, ius, "FCVI_RMT_VA", message.va, "FCVI-6.7.2-07")
    in_all(t, ius, "FCVI_RMT_VA_HANDLE", message.region, "FCVI-6.7.2-09")
    in_all(t, ius, "FCVI_TOT_LEN", message.total or 0, "FCVI-6.7.2-11")
    t.equal(ius[-1], "Last_Sequence", 1, "FCVI-6.7.1-05")
    for iu in ius:
        for frame in each_frame(iu):
            if frame.fc("First_Sequence"):
                t.equal(frame, "First_Sequence", 0, "FCVI-T01-READ_RESP-pos")
    return ius
