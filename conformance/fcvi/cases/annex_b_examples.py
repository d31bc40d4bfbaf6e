"""Annex B.3: the worked examples, frame by frame with their numbers (Figures B.1 and B.2)."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.lossy_line import Line
from .annex_b_rules_1_3 import REASONS, RELIABLE
from conformance.fcvi.steps.connection import REGISTRY, ask_to_disconnect, check_disconnect_rqst, send_disconnect_resp
from conformance.fcvi.steps.messages import (
    LEVELS,
    OUT_OF_ORDER,
    expect_connected,
    expect_error,
    open_connection,
    reliable,
    variants,
)

_LONG = 194  # frames of Message 9: SEQ_CNT 192 is in it
_FIVE = 30  # frames of Message 5: SEQ_CNT 26 is in it


def _figure_b1(t: Scenario, five: int = _FIVE, nine: int = _LONG) -> Line:
    """Messages 1 to 4, Message 5 up to SEQ_CNT 26, then SEQ_CNT 192 of Message 9."""
    line = Line(t, descriptors=12, longest=nine)
    line.good(1, 4)
    line.message(5, five)
    for number in (6, 7, 8):
        line.message(number, 1)
    line.message(9, nine)
    if t.params.get("five", "open") == "complete":
        line.send(5)
        line.expect([5], line.delivery)
    else:
        line.send(5, range(0, 27))
    line.send(9, [192])
    return line


_LATE: list[tuple[int, Any]] = [(5, [27, 28, 29]), (6, None), (7, None), (8, None), (9, [0, 193])]


@case(
    REGISTRY,
    "B.3.2.2",
    "Example: Mrcv > Mexp, In-Order Fabric, Unreliable Delivery",
    clause="B.3.2.2",
    requirements=["FCVI-B.3.2.2-02", "FCVI-B.3.2.2-03", "FCVI-B.3.2.2-04", "FCVI-5.2.1-10", "FCVI-8.4.2-d"],
    errata=["E88", "E92"],
    tags=["message", "loss", "timing"],
    applies="client or server",
    variants=variants(choices=[("message-5-open", {"five": "open"}), ("message-5-complete", {"five": "complete"})]),
)
def example_b322(t: Scenario) -> None:
    """Messages 5 to 9 are lost, Message 10 is delivered; the connection stays.

    The Descriptor of Message 5 completes with VIP_STATUS_TRANSPORT_ERROR if the Message was open, else no Descriptor fails.
    There is no error callback. Late frames of 5 to 9 are discarded for R_A_TOV.
    """
    line = _figure_b1(t)
    line.not_delivered(9, "FCVI-5.2.1-10", "from one of its frames")
    opened = t.params["five"] == "open"
    if opened:
        line.not_delivered(5, "FCVI-5.2.1-10", "although SEQ_CNT 27 is missing")
        line.transport_error(5, "FCVI-B.3.2.2-02")
    else:
        t.require(line.pool.failed == 0, "FCVI-B.3.2.2-03", "a Descriptor completed in error", line.pool.failed, "none")
    t.require(not t.errors, "FCVI-B.3.2.2-03", "VipErrorCallback was called", t.errors, "no callback")
    expect_connected(t, line.setup, "FCVI-B.3.2.2-02", "though it is unreliable")
    requirement = "FCVI-8.4.2-d" if line.pool.failed else "FCVI-B.3.2.2-04"
    late = _LATE if opened else _LATE[1:]
    line.late(late[:1] if opened else late, requirement, "by a late frame")
    line.late(late[1:], "FCVI-B.3.2.2-04", "by a late frame")
    t.wait(t.r_a_tov_us - 2 * t.pixit.late_us)
    line.late(late[-1:], "FCVI-B.3.2.2-04", "by a late frame")
    line.survives(10, frames=2)


@case(
    REGISTRY,
    "B.3.2.3",
    "Example: Mrcv > Mexp, In-Order Fabric, reliable levels",
    clause="B.3.2.3",
    requirements=[
        "FCVI-B.3.2.3-01", "FCVI-B.3.2.3-02", "FCVI-8.1-03", "FCVI-8.2-e1", "FCVI-8.4.1-c", "FCVI-8.4.2-e",
        "FCVI-8.4.2-f1", "FCVI-8.4.2-f2",
    ],  # fmt: skip
    errata=["E88", "E114"],
    tags=["message", "loss", "timing"],
    applies="client or server",
    variants=variants(levels=RELIABLE),
)
def example_b323(t: Scenario) -> None:
    """The VI is in Error and frames for H are discarded; VipDisconnect may give Transport Error as the reason.

    H is not used for the next connection.
    """
    line = _figure_b1(t)
    line.fails("after a skipped Message")
    line.late(_LATE, "FCVI-8.4.2-f1", "by a frame for a VI in Error")
    call = ask_to_disconnect(t, line.setup)
    if not line.setup.disconnected or t.peek(["DISCONNECT_RQST"]) is not None:  # else nothing is left to ask for (E151)
        rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", within_us=0, why="after VipDisconnect")
        check_disconnect_rqst(t, rqst, line.setup, abort=0, reasons=REASONS, handle=line.setup.tester_handle)
        if rqst.dh("DISC_CONN_STS"):
            t.require(rqst.dh("Reason_Code") in (0x40, 0x48), "FCVI-B.3.2.3-02", "another Reason Code",
                      f"{rqst.dh('Reason_Code'):02X}h", "40h", at=rqst)  # fmt: skip
        send_disconnect_resp(t, rqst, line.setup.dut_handle)
    t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
    t.tolerate("SEND_RESP")
    setup = open_connection(t)
    t.require(setup.dut_handle != line.setup.dut_handle, "FCVI-8.4.2-f2", "FCVI_HANDLE H is used again at once",
              f"{setup.dut_handle:08X}h", "another value")  # fmt: skip


_TIMES = [
    ("before-e-d-tov", {"share": "early"}),
    ("just-inside-r-a-tov", {"share": "inside"}),
    ("outside-r-a-tov", {"share": "outside"}),
]


def _epoch(t: Scenario, line: Line, missing: list[tuple[int, list[int]]], started_us: int, whole: list[int]) -> None:
    """What is missing comes in time and completes the Messages, or stays away too long and is lost."""
    share = t.params["share"]
    for number, which in missing[:-1]:
        line.send(number, which)
    last_number, last = missing[-1]
    line.send(last_number, last[:-1])
    if share == "early":
        t.wait(t.pixit.e_d_tov_us // 2)
    else:
        end = started_us + t.r_a_tov_us + (-2 if share == "inside" else 2) * t.pixit.late_us
        t.wait(end - t.now_us)
    if share == "outside":
        _too_late(t, line, (last_number, last[-1:]))
        return
    line.send(last_number, last[-1:])
    if share == "early":
        line.expect(whole, line.delivery)
        line.good(max(line.sent) + 1, max(line.sent) + 1)
        return
    arrived = line.arrived(whole)
    t.require(arrived, "FCVI-B.3.2.4-02", "a frame of the epoch inside R_A_TOV came too late", line.pool.delivered, whole)
    t.tolerate("SEND_RESP")


def _too_late(t: Scenario, line: Line, frame: tuple[int, list[int]]) -> None:
    if reliable(t):
        expect_error(t, line.setup, "FCVI-8.4.1-d", "because a frame is missing", 2 * t.r_a_tov_us)
        line.look()
        line.late([frame], "FCVI-8.4.2-f1", "by a frame for a VI in Error")
        line.not_delivered(frame[0], "FCVI-8.4.1-d", "although a frame came too late")
        return
    expect_connected(t, line.setup, "FCVI-B.3.2.4-04", "though it is unreliable")
    line.not_delivered(frame[0], "FCVI-5.2.1-10", "although a frame is missing")
    if line.pool.failed:
        line.late([frame], "FCVI-8.4.2-d", "by a frame of a Message in error")
    line.survives(max(line.sent) + 1)


@case(
    REGISTRY,
    "B.3.2.4",
    "Example: Mrcv > Mexp, Out-of-Order Fabric",
    clause="B.3.2.4",
    requirements=[
        "FCVI-B.3.2.4-02", "FCVI-B.3.2.4-03", "FCVI-B.3.2.4-04", "FCVI-4.2-19", "FCVI-5.2.1-10", "FCVI-8.4.1-01",
        "FCVI-8.4.1-d", "FCVI-8.4.2-d", "FCVI-8.4.2-f1",
    ],  # fmt: skip
    errata=["E87", "E90", "E91"],
    tags=["message", "order", "timing"],
    applies="client or server",
    variants=variants(levels=list(LEVELS), fabrics=(OUT_OF_ORDER,), choices=_TIMES),
)
def example_b324(t: Scenario) -> None:
    """The epoch from SEQ_CNT 27 of Message 5 to SEQ_CNT 191 of Message 9: inside R_A_TOV Messages 5 to 9 are delivered.

    Of the last missing frame outside R_A_TOV one Message is lost, or the VI goes to Error. (Inside E_D_TOV is required,
    between it and R_A_TOV noted: Annex B is one way to do it.)
    """
    line = _figure_b1(t)
    started = t.now_us
    # Messages 6 to 8 first: a DUT need not keep hundreds of frames of which it cannot know the Descriptor
    missing = [(8, [0]), (6, [0]), (7, [0]), (9, [193, *range(100, 192)]), (9, list(range(0, 100))), (5, [29, 28, 27])]
    _epoch(t, line, missing, started, [5, 6, 7, 8, 9])


@case(
    REGISTRY,
    "B.3.3.2",
    "Example: Mrcv = Mexp, In-Order Fabric, Unreliable Delivery",
    clause="B.3.3.2",
    requirements=["FCVI-B.3.3.2-01", "FCVI-5.2.1-10", "FCVI-8.4.2-d"],
    errata=["E88", "E92"],
    tags=["message", "loss"],
    applies="client or server",
    variants=variants(),
)
def example_b332(t: Scenario) -> None:
    """After SEQ_CNT 26 of Message 5 comes SEQ_CNT 192: the Message is lost, Message 6 is delivered."""
    line = _figure_b2(t)
    line.not_delivered(5, "FCVI-5.2.1-10", "although SEQ_CNT 27 is missing")
    line.transport_error(5, "FCVI-B.3.3.2-01")
    if line.pool.failed:
        line.late([(5, [27, 28, 193])], "FCVI-8.4.2-d", "by a frame of a Message in error")
    line.survives(6, frames=2)


def _figure_b2(t: Scenario) -> Line:
    """Messages 1 to 4, Message 5 up to SEQ_CNT 26, then its SEQ_CNT 192."""
    line = Line(t, longest=_LONG)
    line.good(1, 4)
    line.message(5, _LONG)
    line.send(5, range(0, 27))
    line.send(5, [192])
    return line


@case(
    REGISTRY,
    "B.3.3.3",
    "Example: Mrcv = Mexp, Out-of-Order Fabric",
    clause="B.3.3.3",
    requirements=[
        "FCVI-B.3.3.3-02", "FCVI-B.3.3.3-04", "FCVI-4.2-19", "FCVI-5.2.1-10", "FCVI-8.4.1-01", "FCVI-8.4.1-d",
        "FCVI-8.4.2-d", "FCVI-8.4.2-f1",
    ],  # fmt: skip
    errata=["E90", "E92"],
    tags=["message", "order", "timing"],
    applies="client or server",
    variants=variants(levels=list(LEVELS), fabrics=(OUT_OF_ORDER,), choices=_TIMES),
)
def example_b333(t: Scenario) -> None:
    """SEQ_CNT 27 to 191 of Message 5 come inside R_A_TOV: it is delivered. Outside: lost, or the VI in Error."""
    line = _figure_b2(t)
    started = t.now_us
    _epoch(t, line, [(5, [193]), (5, [*range(191, 27, -1), 27])], started, [5])
