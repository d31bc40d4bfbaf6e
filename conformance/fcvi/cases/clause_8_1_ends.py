"""Clause 8.1: a connection ends while a Message is under way, in either direction."""

from __future__ import annotations

from typing import Callable

from fcvi.engine.case import case
from fcvi.fc.message import Cut, frames_of
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    REGISTRY,
    Setup,
    disconnect_and_answer,
    expect_disconnect_resp,
    send_disconnect_rqst,
)
from conformance.fcvi.steps.lossy_line import PIECE, Line
from conformance.fcvi.steps.message_checks import Taken, answer, read_header, respond
from conformance.fcvi.steps.messages import (
    LEVELS,
    OUT_OF_ORDER,
    expect_error,
    memory,
    open_connection,
    post,
    register,
    transmit,
    variants,
)
from conformance.fcvi.steps.stale import Stale, usable

from .annex_b_rules_1_3 import RELIABLE
from .clause_6_requests import originate

PART_OF_REPORT = 9

_WHO = ("by-dut", "by-tester")
_HALF = [(f"half/{who}", {"what": "half", "who": who}) for who in _WHO]
_WAITS = [(f"waits/{who}", {"what": "waits", "who": who}) for who in _WHO]
_DESCRIPTORS = 4


def _disconnected_by_the_tester(t: Scenario, setup: Setup) -> None:
    exchange = send_disconnect_rqst(t, handle=setup.dut_handle, connection_id=0, abort=0)
    expect_disconnect_resp(t, exchange, connection_id=0, abort=0)
    expect_error(t, setup, "FCVI-8.2-d3", "after FCVI_DISCONNECT_RQST", t.owed_us())


@case(
    REGISTRY,
    "8.1.inbound",
    "A Disconnect while a Message of the tester is under way",
    clause="8.1",
    requirements=["FCVI-8.1-01", "FCVI-8.1-03", "FCVI-6.12.2-11", "FCVI-8.2-d3"],
    errata=["E28", "E45", "E62"],
    tags=["disconnect", "message"],
    applies="client or server",
    variants=variants(levels=list(LEVELS), ops=("send", "rdma-write"), immediate=True, choices=_HALF)
    + variants(levels=RELIABLE, fabrics=(OUT_OF_ORDER,), choices=_WAITS)
    + variants(levels=("reliable-reception",), classes=(2,), choices=[(f"{name}/class2", {**p}) for name, p in _HALF]),
)
def inbound(t: Scenario) -> None:
    """A Message has half arrived, or waits for the one before it, when the connection ends: it is never delivered.

    By VipDisconnect the VI is Idle, and its Descriptors complete in error (VI-ARCH 4.2). By the tester's Disconnect it is in
    Error. What comes of the Message then completes no Descriptor, writes no memory and draws no response of success. A further
    connection works.
    """
    line = Line(t, _DESCRIPTORS)
    line.good(1, 1)
    if t.params["what"] == "half":
        line.message(2, 4, 2)
        line.send(2, [0, 1])
        stale = Stale(line, {2: [2, 3], 3: None})
    else:
        line.message(2)
        line.message(3)
        line.send(3)
        stale = Stale(line, {2: None, 4: None})
    if t.params["who"] == "by-tester":
        _disconnected_by_the_tester(t, line.setup)
        stale.comes("FCVI-8.1-01", "to a VI in Error")
    if usable(t):  # else the logout has ended what there was to disconnect (E86)
        _let_go(t, line, stale)
    usable(t)
    Line(t, 2).good(1, 1)


def _let_go(t: Scenario, line: Line, stale: Stale) -> None:
    """VipDisconnect, and what the tester still sends."""
    began = len(t.tester.trace)
    disconnect_and_answer(t, line.setup)
    if t.params["who"] == "by-dut":
        _tells_the_last(t, began)
    _all_completed(t, line)
    if int(t.pics["max_vis"]) > 1:  # an Idle VI takes Descriptors, and processes none (VI-ARCH 5.1); it is not destroyed then
        post(t, line.setup.vi, "recv", register(t, PIECE))
    stale.comes("FCVI-8.1-03", "to a VI that is Idle since VipDisconnect")


def _tells_the_last(t: Scenario, began: int) -> None:
    """FCVI_MSG_ID of the DUT's FCVI_DISCONNECT_RQST: that of Message 1, not of the one that is under way (6.12.2)."""
    rqst = next(r for r in t.tester.inbox if r.kind == "DISCONNECT_RQST" and r.numbers[0] > began)
    t.equal(rqst, "FCVI_MSG_ID", 1, "FCVI-6.12.2-11", {0: "E28"})


def _all_completed(t: Scenario, line: Line) -> None:
    def completed() -> int:
        line.look()
        return len(line.pool.taken)

    t.owed(lambda: completed() == _DESCRIPTORS)
    t.require(completed() == _DESCRIPTORS, "FCVI-8.1-03", "a posted Descriptor did not complete with the Disconnect",
              completed(), _DESCRIPTORS)  # fmt: skip
    t.require(line.pool.delivered == [1], "FCVI-8.1-03", "a Message that had not come whole was delivered", line.pool.delivered,
              [1])  # fmt: skip


@case(
    REGISTRY,
    "8.1.outbound",
    "A Disconnect while a Message of the DUT awaits its response",
    clause="8.1",
    requirements=["FCVI-8.1-01", "FCVI-8.1-03", "FCVI-8.2-d3"],
    errata=["E45", "E62"],
    tags=["disconnect", "message"],
    applies="client or server",
    variants=variants(
        levels=("reliable-reception",), ops=("send", "rdma-write"), choices=[(who, {"who": who}) for who in _WHO]
    ) + variants(levels=RELIABLE, ops=("rdma-read",), choices=[(f"rdma-read/{who}", {"who": who}) for who in _WHO]),
)  # fmt: skip
def outbound(t: Scenario) -> None:
    """The response has not come, that to an RDMA Read has half come, when the connection ends: the Descriptor completes in error.

    The response that comes later completes nothing and writes no memory.
    """
    setup = open_connection(t)
    taken, _ = originate(t, setup, 1, 64)
    answer(t, setup, taken)
    t.owed(lambda: any(c.queue == "send" and c.good for c in t.completions))
    t.control("an answered Message completed")
    t.completions.clear()
    taken, region = originate(t, setup, 2, 64)
    rest = _half(t, setup, taken)
    t.tester.services.handlers["ABTS"] = t.tester.send_ba_acc  # a DUT may end the Exchange before the connection, or after it
    t.tolerate("ABTS")

    def late(requirement: str, why: str) -> None:
        before = memory(t, region)
        rest()
        t.wait(t.r_a_tov_us // 10)
        good = [c for c in t.completions if c.vi == setup.vi and c.good]
        t.require(not good, requirement, f"a response that came {why} completed a Descriptor without error", len(good), "none")
        t.require(memory(t, region) == before, requirement, f"a response that came {why} was placed", "written", "no change")

    def completed() -> bool:
        return any(c.vi == setup.vi for c in t.completions)

    if t.params["who"] == "by-tester":
        _disconnected_by_the_tester(t, setup)
        late("FCVI-8.1-01", "to a VI in Error")
        t.owed(completed)
    if t.params["who"] == "by-dut" or not completed():  # in Error nobody says how soon (E62)
        disconnect_and_answer(t, setup)
        t.owed(completed)
        late("FCVI-8.1-03", "to a VI that is Idle since VipDisconnect")
    seen = [sorted(c.status) for c in t.completions if c.vi == setup.vi]
    bad = [c for c in t.completions if c.vi == setup.vi and not c.good]
    t.require(len(bad) == len(seen) == 1, "FCVI-8.1-03", "the Descriptor of an open Message did not complete once, in error", seen,
              "one completion with an error bit")  # fmt: skip
    usable(t)
    fresh = open_connection(t)
    taken, _ = originate(t, fresh, 1, 64)
    answer(t, fresh, taken)


def _half(t: Scenario, setup: Setup, taken: Taken) -> Callable[[], None]:
    """Send the first half of FCVI_READ_RESP, nothing of another response; returned: send the rest."""
    if taken.message.op != "rdma-read":
        return lambda: respond(t, setup, taken)
    t.tester.assign_rx_id(taken.exchange)
    data = t.rng.randbytes(taken.message.total or 0)
    frames = frames_of(t.tester, taken.exchange, "READ_RESP", read_header(setup, taken), data, answered=False, cut=Cut(frame=PIECE))
    transmit(t, frames[:2])
    return lambda: transmit(t, frames[2:], "late")
