"""Setups and Messages in every legal combination of four choices: the covering rows of legality.py, each with whole checks."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario
from fcvi.fc.message import Cut, Message, frames_of, send_frames

from conformance.covering import Row, covering_rows
from conformance.fcvi.legality import (
    CLASS,
    IMMEDIATE,
    INFO,
    LEVEL,
    LOGIN,
    MESSAGES,
    OPERATION,
    ORDER,
    ROLE,
    SETUPS,
    SIZE,
    TOPOLOGY,
)
from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    Setup,
    accept_request,
    check_state,
    connect,
    disconnect_and_answer,
    finish_accept,
    finish_wait,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
)
from conformance.fcvi.steps.message_checks import Taken, read_header, respond, take_request
from conformance.fcvi.steps.messages import (
    LEVELS,
    OUT_OF_ORDER,
    RR,
    Sent,
    answered,
    expect_good,
    expect_response,
    level_of,
    memory,
    post,
    prepare,
    register,
    transmit,
    variants,
)
from conformance.fcvi.steps.neighbours import NEEDS, TOPOLOGIES, login

from .clause_6_responses import take_read_response

_BYTES = 500  # three frames of the smallest receive size
_IMMEDIATE = 0xA1B2C3D4
_REMOTE = (0x1122334455660000, 0x00001234)


def needed_by(row: Row) -> str:
    """The PICS items that the topology and the login of a row need."""
    return " and ".join(e for e in (NEEDS[row[TOPOLOGY]], "explicit_login" if row[LOGIN] == "explicit" else "") if e)


def _message_row(row: Row) -> Variant:
    config: dict[str, Any] = {**TOPOLOGIES[row[TOPOLOGY]], "login": row[LOGIN], "receive_size": 256}
    immediate = row[IMMEDIATE] == "with"
    choice: dict[str, Any] = {"immediate": _IMMEDIATE if immediate else None}
    needed = " and ".join(e for e in (needed_by(row), "immediate_data" if immediate else "") if e)
    if needed:
        choice["applies"] = needed
    made = variants(
        levels=(row[LEVEL],), ops=(row[OPERATION],), classes=(int(row[CLASS]),), fabrics=(row[ORDER],), roles=(row[ROLE],),
        choices=[("/".join(_words(row)), {**choice, "config": config})],
    )  # fmt: skip
    return made[0]


def _words(row: Row) -> list[str]:
    words = [row[ROLE], row[OPERATION], row[LEVEL], f"class{row[CLASS]}", row[ORDER], row[TOPOLOGY], row[LOGIN]]
    return words + (["immediate"] if row[IMMEDIATE] == "with" else [])


def log_in(t: Scenario) -> None:
    """The client logs in; the tester is one where the DUT is the server."""
    if t.config["login"] == "explicit" and t.params["role"] != CLIENT:
        login(t)


@case(
    REGISTRY,
    "5.2.combined",
    "Messages in every legal combination of four choices",
    clause="5.2",
    requirements=["FCVI-6.2.1-01", "FCVI-6.4.1-02", "FCVI-6.7.1-01", "FCVI-6.7.1-02", "FCVI-5.9.7.1-01"],
    tags=["message", "link"],
    applies="client or server",
    variants=[_message_row(row) for row in covering_rows(MESSAGES)],
)
def messages_combined(t: Scenario) -> None:
    """A Message of the DUT's and one of the tester's, of three frames each, are complete and right, with their Immediate Data.

    Role, operation, Reliability Level, class, Fabric order, topology, login and Immediate Data: every legal combination of any
    four of them is in one of the variants. Where the Fabric keeps no order, the tester's frames come in another.
    """
    log_in(t)
    setup = connect(t)
    said, heard = _EACH_WAY[t.params["op"]]
    said(t, setup, 1)
    heard(t, setup, 1)
    check_state(t, setup.vi, "connected", "FCVI-8.2-d1")
    t.control("Messages passed both ways")


def mixed(t: Scenario, sent: Sent) -> None:
    """The frames of a Message of the tester, in another order where the Fabric keeps none."""
    frames = sent.frames
    transmit(t, frames[1:] + frames[:1] if t.config["fabric"] == OUT_OF_ORDER else frames)


def same(t: Scenario, seen: bytes, wanted: bytes, requirement: str) -> None:
    """The data of a Message are those that were sent."""
    t.require(seen == wanted, requirement, "the data are not those of the Message", f"{len(seen)} bytes {seen[:12].hex()}",
              f"{len(wanted)} bytes {wanted[:12].hex()}")  # fmt: skip


def _say(t: Scenario, setup: Setup, number: int) -> None:
    op, immediate, data = t.params["op"], t.params["immediate"], t.rng.randbytes(_BYTES)
    remote = _REMOTE if op == "rdma-write" else None
    post(t, setup.vi, op, register(t, _BYTES, data=data), remote=remote, immediate=immediate)
    va, region = remote or (0, 0)
    taken = take_request(t, setup, Message(op, number, data, immediate, va, region))
    if answered(t):
        respond(t, setup, taken)
    expect_good(t, setup.vi, "send", "FCVI-6.2.1-01" if op == "send" else "FCVI-6.4.1-01")


def _say_read(t: Scenario, setup: Setup, number: int) -> None:
    data, target = t.rng.randbytes(_BYTES), register(t, _BYTES)
    post(t, setup.vi, "rdma-read", target, remote=_REMOTE)
    taken = take_request(t, setup, Message("rdma-read", number, va=_REMOTE[0], region=_REMOTE[1], total=_BYTES))
    _answer_read(t, setup, taken, data)
    expect_good(t, setup.vi, "send", "FCVI-6.7.1-02", length=_BYTES)
    same(t, memory(t, target), data, "FCVI-6.7.1-02")


def _answer_read(t: Scenario, setup: Setup, taken: Taken, data: bytes) -> None:
    t.tester.assign_rx_id(taken.exchange)
    frames = frames_of(t.tester, taken.exchange, "READ_RESP", read_header(setup, taken), data, answered=False, cut=Cut())
    send_frames(t.tester, frames[1:] + frames[:1] if t.config["fabric"] == OUT_OF_ORDER else frames)
    t.settle()


def _heard(t: Scenario, setup: Setup, sent: Sent) -> None:
    mixed(t, sent)
    if level_of(t) == RR:
        expect_response(t, setup, sent)


def _hear_send(t: Scenario, setup: Setup, number: int) -> None:
    data, immediate, buffer = t.rng.randbytes(_BYTES), t.params["immediate"], register(t, _BYTES)
    post(t, setup.vi, "recv", buffer)
    _heard(t, setup, prepare(t, setup, Message("send", number, data, immediate)))
    _told(t, setup)
    same(t, memory(t, buffer), data, "FCVI-6.2.1-01")


def _told(t: Scenario, setup: Setup) -> None:
    immediate = t.params["immediate"]
    done = expect_good(t, setup.vi, "recv", "FCVI-6.2.1-01")
    t.require(done.immediate == immediate, "FCVI-5.9.7.1-01", "wrong Immediate Data in the receive Descriptor", done.immediate,
              immediate)  # fmt: skip


def _hear_write(t: Scenario, setup: Setup, number: int) -> None:
    data, immediate = t.rng.randbytes(_BYTES), t.params["immediate"]
    target = register(t, _BYTES, write=True)
    if immediate is not None:
        post(t, setup.vi, "recv", register(t, 16))
    _heard(t, setup, prepare(t, setup, Message("rdma-write", number, data, immediate, target.va, target.handle)))
    if immediate is not None:
        _told(t, setup)
    t.owed(lambda: memory(t, target) == data)
    same(t, memory(t, target), data, "FCVI-6.4.1-02")


def _hear_read(t: Scenario, setup: Setup, number: int) -> None:
    data = t.rng.randbytes(_BYTES)
    source = register(t, _BYTES, read=True, data=data)
    sent = prepare(t, setup, Message("rdma-read", number, va=source.va, region=source.handle, total=_BYTES))
    transmit(t, sent.frames)
    same(t, b"".join(iu.payload for iu in take_read_response(t, setup, sent)), data, "FCVI-6.7.1-02")


_EACH_WAY = {"send": (_say, _hear_send), "rdma-write": (_say, _hear_write), "rdma-read": (_say_read, _hear_read)}

# ---- Connection Setups ----

LEVEL_PICS = {
    "unreliable": "unreliable_delivery", "reliable-delivery": "reliable_delivery", "reliable-reception": "reliable_reception",
}  # fmt: skip


def _setup_row(row: Row) -> Variant:
    words = [row[ROLE], f"class{row[CLASS]}", row[TOPOLOGY], row[LEVEL], row[SIZE], row[LOGIN]]
    words += ["info"] if row[INFO] == "with" else []
    config = {
        **TOPOLOGIES[row[TOPOLOGY]], "class": int(row[CLASS]), "login": row[LOGIN], "receive_size": int(row[SIZE]),
    }  # fmt: skip
    pics = [row[ROLE].removeprefix("dut-"), f"class{row[CLASS]}", LEVEL_PICS[row[LEVEL]], needed_by(row)]
    params = {
        "role": row[ROLE], "info": row[INFO] == "with", "attributes": {"FCVI_RELIABILITY_LVL": LEVELS[row[LEVEL]]},
    }  # fmt: skip
    return Variant("/".join(words), params, " and ".join(e for e in pics if e), config)


@case(
    REGISTRY,
    "5.3.2.combined",
    "Connection Setups in every legal combination of four choices",
    clause="5.3.2",
    requirements=["FCVI-6.8.1-01", "FCVI-6.9.1-01", "FCVI-6.10.1-01", "FCVI-6.11.1-01", "FCVI-8.2-b1", "FCVI-8.1-03"],
    tags=["setup", "link"],
    applies="client or server",
    variants=[_setup_row(row) for row in covering_rows(SETUPS)],
)
def setups_combined(t: Scenario) -> None:
    """A connection is set up and removed.

    Role, class, topology, Reliability Level, receive size (one to three frames of an IU), login and provider information in
    the tester's IU: every legal combination of any four of them is in one of the variants.
    """
    log_in(t)
    info = bool(t.params["info"])
    if t.params["role"] == CLIENT:
        setup = start_request(t)
        accept_request(t, setup, flags=2 if info else None)
        send_resp3(t, setup)
        t.settle()
    else:
        wait = start_wait(t)
        setup = send_rqst(t, info=bytes(range(256)) if info else b"")
        start_accept(t, setup, finish_wait(t, wait))
        finish_accept(t, setup)
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    t.control("the Connection Setup completed")
    disconnect_and_answer(t, setup)
