"""RDMA in every legal combination of four choices: the covering rows of legality.py."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant, case
from fcvi.fc.message import Cut, Message, frames_of, send_frames
from fcvi.fc.scenario import Scenario

from conformance.covering import Row, covering_rows
from conformance.fcvi.legality import CLASS, CUT, IMMEDIATE, LENGTH, LEVEL, OPERATION, ORDER, ADDRESS, RDMA, WHO
from conformance.fcvi.steps.connection import REGISTRY, Setup, check_state
from conformance.fcvi.steps.message_checks import Taken, read_header, respond, take_request
from conformance.fcvi.steps.messages import (
    OUT_OF_ORDER,
    RR,
    Region,
    answered,
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
from conformance.fcvi.steps.neighbours import FABRIC, TOPOLOGIES

from .clause_6_responses import take_read_response
from .combined import mixed, same

_IMMEDIATE = 0xA1B2C3D4
_REMOTE = (0x1122334455660000, 0x00001234)
_BESIDE = 5  # bytes of the region before and behind the data; odd, so that an odd address follows from an even region


def _row(row: Row) -> Variant:
    immediate = row[IMMEDIATE] == "with"
    words = [f"{row[WHO]}-requests", row[OPERATION], row[LEVEL], f"class{row[CLASS]}", row[ORDER], f"{row[LENGTH]}-bytes"]
    words += ["several-ius"] * (row[CUT] == "several") + ["immediate"] * immediate + ["odd-address"] * (row[ADDRESS] == "odd")
    config: dict[str, Any] = {"receive_size": 256, **(TOPOLOGIES[FABRIC] if row[ORDER] == OUT_OF_ORDER else {})}
    choice: dict[str, Any] = {
        "who": row[WHO], "length": int(row[LENGTH]), "ius": 2 if row[CUT] == "several" else 1,
        "immediate": _IMMEDIATE if immediate else None, "before": _BESIDE + (row[ADDRESS] == "even"), "config": config,
    }  # fmt: skip
    if immediate:
        choice["applies"] = "immediate_data"
    [made] = variants(
        levels=(row[LEVEL],), ops=(row[OPERATION],), classes=(int(row[CLASS]),), fabrics=(row[ORDER],),
        choices=[("/".join(words), choice)],
    )  # fmt: skip
    return made


@case(
    REGISTRY,
    "5.2.4.combined",
    "RDMA in every legal combination of four choices",
    clause="5.2.3, 5.2.4",
    requirements=["FCVI-6.4.1-01", "FCVI-6.4.1-02", "FCVI-6.7.1-01", "FCVI-6.7.1-02", "FCVI-5.9.7.1-01"],
    tags=["message", "rdma"],
    applies="client or server",
    variants=[_row(row) for row in covering_rows(RDMA)],
)
def rdma_combined(t: Scenario) -> None:
    """RDMA reads or writes just the bytes that it names.

    Who requests, operation, Reliability Level, class, Fabric order, length, IUs, Immediate Data and the virtual address: every
    legal combination of any four of them is in one of the variants.
    """
    setup = open_connection(t)
    act = _ACTS[t.params["who"], t.params["op"]]
    act(t, setup, t.rng.randbytes(t.params["length"]))
    check_state(t, setup.vi, "connected", "FCVI-8.2-d1")
    t.control("the data arrived")


def _cut(t: Scenario) -> Cut:
    return Cut(ius=t.params["ius"])


def _wide(t: Scenario, data: bytes, **how: Any) -> Region:
    """A region that has more bytes than the Message on both sides of it."""
    before = t.params["before"]
    return register(t, before + len(data) + _BESIDE, data=how.pop("fill", b""), **how)


def _write(t: Scenario, setup: Setup, data: bytes) -> None:
    before, immediate = t.params["before"], t.params["immediate"]
    source, va = _wide(t, data, fill=bytes(before) + data), _REMOTE[0] + before
    post(t, setup.vi, "rdma-write", source, length=len(data), offset=before, remote=(va, _REMOTE[1]), immediate=immediate)
    taken = take_request(t, setup, Message("rdma-write", 1, data, immediate, va, _REMOTE[1]))
    if answered(t):
        respond(t, setup, taken)
    expect_good(t, setup.vi, "send", "FCVI-6.4.1-01")


def _read(t: Scenario, setup: Setup, data: bytes) -> None:
    before = t.params["before"]
    target, va = _wide(t, data), _REMOTE[0] + before
    post(t, setup.vi, "rdma-read", target, length=len(data), offset=before, remote=(va, _REMOTE[1]))
    taken = take_request(t, setup, Message("rdma-read", 1, va=va, region=_REMOTE[1], total=len(data)))
    _answer(t, setup, taken, data)
    expect_good(t, setup.vi, "send", "FCVI-6.7.1-02", length=len(data))
    _only_there(t, target, data, "FCVI-6.7.1-02")


def _answer(t: Scenario, setup: Setup, taken: Taken, data: bytes) -> None:
    t.tester.assign_rx_id(taken.exchange)
    header = read_header(setup, taken)
    frames = frames_of(t.tester, taken.exchange, "READ_RESP", header, data, answered=False, cut=_cut(t))
    send_frames(t.tester, frames[1:] + frames[:1] if t.config["fabric"] == OUT_OF_ORDER else frames)
    t.settle()


def _written(t: Scenario, setup: Setup, data: bytes) -> None:
    before, immediate = t.params["before"], t.params["immediate"]
    target = _wide(t, data, write=True)
    if immediate is not None:
        post(t, setup.vi, "recv", register(t, 16))
    sent = prepare(t, setup, Message("rdma-write", 1, data, immediate, target.va + before, target.handle), _cut(t))
    mixed(t, sent)
    if level_of(t) == RR:
        expect_response(t, setup, sent)
    if immediate is not None:
        done = expect_good(t, setup.vi, "recv", "FCVI-6.4.1-02")
        t.require(done.immediate == immediate, "FCVI-5.9.7.1-01", "wrong Immediate Data in the receive Descriptor",
                  done.immediate, immediate)  # fmt: skip
    t.owed(lambda: memory(t, target, len(data), before) == data)
    _only_there(t, target, data, "FCVI-6.4.1-02")


def _was_read(t: Scenario, setup: Setup, data: bytes) -> None:
    before = t.params["before"]
    source = _wide(t, data, read=True, fill=bytes(before) + data)
    sent = prepare(t, setup, Message("rdma-read", 1, va=source.va + before, region=source.handle, total=len(data)))
    transmit(t, sent.frames)
    same(t, b"".join(iu.payload for iu in take_read_response(t, setup, sent)), data, "FCVI-6.7.1-02")


def _only_there(t: Scenario, region: Region, data: bytes, requirement: str) -> None:
    """The data are in their place, and what lies beside them is as it was."""
    before = t.params["before"]
    same(t, memory(t, region), b"\xa5" * before + data + b"\xa5" * _BESIDE, requirement)


_ACTS = {
    ("dut", "rdma-write"): _write, ("dut", "rdma-read"): _read, ("tester", "rdma-write"): _written,
    ("tester", "rdma-read"): _was_read,
}  # fmt: skip
