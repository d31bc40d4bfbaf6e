"""Clauses 5.4 and 5.5: Exchange IDs and SEQ_IDs that are used again."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import build, class2, codec
from fcvi.engine.case import case
from fcvi.fc.message import Cut, Message
from fcvi.fc.received import Exchange, Received
from fcvi.fc.scenario import Inconclusive, Scenario

from conformance.fcvi.steps.connection import REGISTRY, Setup
from conformance.fcvi.steps.message_checks import take_request
from conformance.fcvi.steps.messages import (
    LEVELS,
    RR,
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

_SEQ_IDS = 260  # Messages after which every SEQ_ID has come again


@case(
    REGISTRY,
    "5.5.receives",
    "The tester uses SEQ_ID and OX_ID again at once",
    clause="5.5",
    requirements=["FCVI-5.4-03", "FCVI-5.5-02", "FCVI-6.2.1-01", "FCVI-6.4.1-01"],
    errata=["E82"],
    tags=["message"],
    applies="client or server",
    variants=variants(levels=list(LEVELS), ops=("send", "rdma-write"), classes=(3, 2)),
)
def identifiers_again(t: Scenario) -> None:
    """Messages follow one another, each with the SEQ_ID of the one before and all but one with its OX_ID: all are delivered."""
    setup = open_connection(t)
    op = str(t.params["op"])
    for number in range(1, 6):
        data = t.rng.randbytes(32)
        region = register(t, 32, write=op == "rdma-write")
        if op == "send":
            post(t, setup.vi, "recv", region)
        message = Message(op, number, data, None, *((region.va, region.handle) if op == "rdma-write" else (0, 0)))
        sent = prepare(t, setup, message, Cut(frame=16, seq_id=0x55), ox_id=0x0D00 + (number > 3))
        transmit(t, sent.frames)
        if level_of(t) == RR:
            expect_response(t, setup, sent)
        requirement = "FCVI-6.2.1-01" if op == "send" else "FCVI-6.4.1-01"
        if op == "send":
            expect_good(t, setup.vi, "recv", requirement, length=32)
        t.owed(lambda: memory(t, region) == data)
        t.require(memory(t, region) == data, requirement, f"Message {number} was not delivered", "other bytes", "its data")
    t.control("five Messages with the same SEQ_ID and OX_ID were delivered")


def _open_sequences(t: Scenario, since: int) -> None:
    """No Sequence of the DUT begins with the SEQ_ID of one that has not ended (class 3: EOFt was sent)."""
    begun: dict[int, int] = {}
    for number, _, frame in t.crossed("dut", since):
        if frame.header("TYPE") != build.FC_VI:
            continue
        seq_id, exchange = frame.header("SEQ_ID"), frame.header("OX_ID")
        other = begun.get(seq_id)
        t.require(
            other in (None, exchange), "FCVI-5.5-04", f"frame {number} has the SEQ_ID of a Sequence that is still open",
            f"SEQ_ID {seq_id:02X}h in Exchange {exchange:04X}h", f"not that of Exchange {other or 0:04X}h",
        )  # fmt: skip
        begun[seq_id] = exchange
        if frame.header("End_Sequence"):
            del begun[seq_id]


@case(
    REGISTRY,
    "5.5.sends",
    "A SEQ_ID is not used twice at once",
    clause="5.5",
    requirements=["FCVI-5.5-01", "FCVI-5.5-04", "FCVI-5.6-02", "FCVI-4.2-02"],
    tags=["message"],
    applies="(client or server) and max_vis >= 2",
    variants=variants(ops=("send", "rdma-write"), classes=(3,), config={"receive_size": 256}),
)
def concurrent_sequences(t: Scenario) -> None:
    """Two VIs send long Messages at the same time: Sequences that are open together have different SEQ_IDs."""
    setups = [open_connection(t), open_connection(t)]
    op, size = str(t.params["op"]), 6 * 224
    since = len(t.tester.trace)
    messages = []
    remote = None if op == "send" else (0x10000, 3)
    va, handle = remote or (0, 0)
    for number in (1, 2, 3):
        for setup in setups:
            data = t.rng.randbytes(size)
            post(t, setup.vi, op, register(t, size, data=data), remote=remote)
            messages.append((setup, Message(op, number, data, None, va, handle)))
    for setup, message in messages:
        _take_of(t, setup, message)
        expect_good(t, setup.vi, "send", "FCVI-6.2.1-01" if op == "send" else "FCVI-6.4.1-01")
    _open_sequences(t, since)
    t.control("six Messages of two VIs arrived intact")


def _take_of(t: Scenario, setup: Setup, message: Message) -> None:
    """Take the request of this VI, whatever another VI sends before it: order is that of one VI (VI-ARCH 2.5)."""

    def requests(own: bool) -> list[Any]:
        waiting = [r for r in t.tester.inbox if not r.taken and r.kind == message.iu]
        return [r for r in waiting if (r.dh("FCVI_HANDLE") == setup.tester_handle) is own]

    t.owed(lambda: bool(requests(own=True)))
    held = requests(own=False)
    for received in held:
        received.taken = True
    try:
        take_request(t, setup, message)
    finally:
        for received in held:
            received.taken = False


@case(
    REGISTRY,
    "5.5.class2",
    "A SEQ_ID whose ACK is missing is not used again",
    clause="5.5",
    requirements=["FCVI-5.5-05", "FCVI-5.5-06"],
    tags=["message", "class2"],
    applies="(client or server) and max_vis >= 2",
    variants=variants(classes=(2,), choices=[("send", {})]),
)
def unacknowledged_sequence(t: Scenario) -> None:
    """The ACK of one Message is held back while another VI sends 260: none has the SEQ_ID of the open Sequence.

    Nor has the next Message between the ABTS that follows and its BA_ACC, if one comes. Which SEQ_ID is next is not said:
    a DUT whose turn is that of the open Sequence may wait until that is recovered.
    """
    slow, busy = open_connection(t), open_connection(t)
    held: list[Any] = []

    def acknowledge(view: codec.Frame, exchange: Exchange) -> Optional[build.RawFrame]:
        ack = class2.ack_1(view, exchange.rx_id)
        if view.iu == "SEND_RQST" and view.get("DH", "FCVI_HANDLE") == slow.tester_handle:
            held.append((view, ack))
            return None
        return ack

    t.tester.acknowledge = acknowledge
    post(t, slow.vi, "send", register(t, 16))
    t.owed(lambda: bool(held))
    t.demand(bool(held), "FCVI-5.2.1-09", "the Message was not sent", "nothing", "FCVI_SEND_RQST")
    seq_id = held[0][0].get("FC", "SEQ_ID")
    region, since = register(t, 4), t.now_us
    post(t, busy.vi, "send", region)
    t.until(lambda: _waiting(t, busy), t.pixit.e_d_tov_us // 2)
    if not _waiting(t, busy):
        raise Inconclusive("the DUT sends nothing at all while an ACK is missing (end-to-end credit)")
    _take_one(t, busy, 1, seq_id, "FCVI-5.5-05")
    number, waits = 1, False
    while number < _SEQ_IDS and not waits:
        number += 1
        post(t, busy.vi, "send", region)
        t.owed(lambda: _waiting(t, busy) or t.peek(["ABTS"]) is not None)
        waits = not _waiting(t, busy)
        if waits:
            break
        _take_one(t, busy, number, seq_id, "FCVI-5.5-05")
        if t.now_us - since > t.pixit.e_d_tov_us // 2:
            break  # a slow device: the Sequence would be recovered soon
    t.control("Messages of another VI were acknowledged and completed")
    t.owed(lambda: t.peek(["ABTS"]) is not None)
    abts = t.peek(["ABTS"])
    if abts is not None:
        abts.taken = True
        if not waits:
            number += 1
            post(t, busy.vi, "send", region)
        t.until(lambda: _waiting(t, busy), t.pixit.e_d_tov_us // 4)
        waits = not _waiting(t, busy)
        if not waits:
            _take_one(t, busy, number, seq_id, "FCVI-5.5-06")
        t.tester.send_ba_acc(abts)
        t.settle()
        if waits:  # what it held back may have any SEQ_ID now
            _take_one(t, busy, number, None, "FCVI-5.5-05")
    t.tolerate("SEND_RQST")


def _waiting(t: Scenario, setup: Setup) -> bool:
    return any(r.dh("FCVI_HANDLE") == setup.tester_handle for r in _sends(t))


def _sends(t: Scenario) -> list[Received]:
    return [r for r in t.tester.inbox if r.kind == "SEND_RQST" and not r.taken]


def _take_one(t: Scenario, setup: Setup, number: int, seq_id: object, requirement: str) -> None:
    while (iu := t.peek(["SEND_RQST"])) is not None and iu.dh("FCVI_HANDLE") != setup.tester_handle:
        iu.taken = True  # the Message whose ACK is held back
    iu = t.expect("SEND_RQST", "FCVI-6.2.1-01", why=f"of Message {number}")
    t.demand(iu.fc("SEQ_ID") != seq_id, requirement, "the SEQ_ID of a Sequence that is not closed is used again",
             f"{iu.fc('SEQ_ID'):02X}h", "another SEQ_ID", iu)  # fmt: skip
    expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
    t.call("VipSendDone", vi=setup.vi)  # make room in the queue
