"""Annex B rules 6 and 7: something is wrong in the Message that is expected, and what is missing stays away (8.4.1)."""

from __future__ import annotations

from typing import Any

from fcvi.fc.build import changed
from fcvi.engine.case import case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.lossy_line import PIECE, Line
from .annex_b_rules_1_3 import RELIABLE
from conformance.fcvi.steps.connection import REGISTRY, tester_abts
from conformance.fcvi.steps.messages import IN_ORDER, LEVELS, OUT_OF_ORDER, expect_connected, reliable, variants

PART_OF_REPORT = 10

_SEQUENCE_ERRORS = [("relative-offset", {"error": "offset"}), ("aborted", {"error": "abts"})]


def _break_sequence(t: Scenario, line: Line, number: int) -> None:
    """Two frames of four, then a Sequence error: the third with the Relative Offset of the fourth, or an ABTS."""
    sent = line.message(number, 4)
    line.send(number, [0, 1])
    if t.params["error"] == "abts":
        tester_abts(t, sent.exchange)
        return
    t.tester.send_frame(changed(sent.frames[2], {"Parameter": 3 * PIECE}), "Relative Offset of the next frame")
    t.settle()


@case(
    REGISTRY,
    "B.R6a",
    "Rule 6 a: a Sequence error on an unreliable connection",
    clause="B.2.5 rule 6a",
    requirements=["FCVI-B-R6a-a", "FCVI-5.2.1-10", "FCVI-8.4.2-d"],
    errata=["E88"],
    tags=["message", "loss"],
    applies="client or server",
    variants=variants(
        ops=("send", "rdma-write"), immediate=True, classes=(3, 2), fabrics=(IN_ORDER, OUT_OF_ORDER), choices=_SEQUENCE_ERRORS
    ),
)
def sequence_error_unreliable(t: Scenario) -> None:
    """The Message is not delivered, the next one, from SEQ_CNT 0, is; the Descriptor completes in error."""
    line = Line(t)
    line.good(1, 1)
    _break_sequence(t, line, 2)
    if line.out_of_order:
        t.wait(t.r_a_tov_us + t.pixit.late_us)  # what is missing might still come
    line.survives(3, frames=2)
    line.not_delivered(2, "FCVI-5.2.1-10", "although a part of it never came")
    line.transport_error(2, "FCVI-B-R6a-a")


@case(
    REGISTRY,
    "B.R6b",
    "Rule 6 b: a Sequence error on a reliable connection",
    clause="B.2.5 rule 6b",
    requirements=["FCVI-B-R6b-a", "FCVI-8.4.2-e", "FCVI-8.4.2-f1"],
    errata=["E81", "E88"],
    tags=["message", "loss"],
    applies="client or server",
    variants=variants(
        levels=RELIABLE, ops=("send", "rdma-write"), immediate=True,
        classes=(3, 2), fabrics=(IN_ORDER, OUT_OF_ORDER), choices=_SEQUENCE_ERRORS
    ),
)
def sequence_error_reliable(t: Scenario) -> None:
    """The rest of the Message never comes: at the latest when the DUT waits no longer the VI goes to Error (Note 1)."""
    line = Line(t)
    line.good(1, 1)
    _break_sequence(t, line, 2)
    line.fails("after a Sequence error")
    line.not_delivered(2, "FCVI-8.4.2-e", "although a part of it never came")


_ORDERS: list[tuple[str, dict[str, Any]]] = [
    ("first-lost", {"order": [1, 2, 3]}),
    ("middle-lost", {"order": [0, 1, 3]}),
    ("swapped", {"order": [0, 2, 1, 3]}),
    ("last-comes-first", {"order": [3, 0, 1, 2]}),
]


@case(
    REGISTRY,
    "B.R6c",
    "Rule 6 c: frames are missing or out of order on an unreliable connection",
    clause="B.2.5 rule 6c",
    requirements=["FCVI-5.2.1-10", "FCVI-8.4.2-d"],
    errata=["E81", "E89"],
    tags=["message", "loss", "order"],
    applies="client or server",
    variants=variants(
        ops=("send", "rdma-write"), immediate=True, classes=(3, 2), choices=[*_ORDERS, ("repeated", {"order": [0, 1, 1, 2, 3]})]
    ),
)
def frames_unreliable(t: Scenario) -> None:
    """A Message with a gap is not delivered; one that is whole, only out of order, may be. The next Message is delivered."""
    line = Line(t)
    line.good(1, 1)
    line.message(2, 4)
    line.send(2, t.params["order"])
    line.survives(3, frames=2)
    if len(set(t.params["order"])) < 4:
        line.not_delivered(2, "FCVI-5.2.1-10", "although a frame is missing")
    else:
        line.look()  # good only if whole


@case(
    REGISTRY,
    "B.R6d",
    "Rule 6 d: frames are missing or out of order on a reliable connection",
    clause="B.2.5 rule 6d",
    requirements=["FCVI-B-R6d-a", "FCVI-8.2-d3", "FCVI-8.4.1-c", "FCVI-8.4.2-e", "FCVI-8.4.2-f1"],
    tags=["message", "loss", "order"],
    applies="client or server",
    variants=variants(levels=RELIABLE, ops=("send", "rdma-write"), immediate=True, classes=(3, 2), choices=_ORDERS),
)
def frames_reliable(t: Scenario) -> None:
    """Frames out of order are a Message Error where the Fabric keeps the order: the VI goes to Error."""
    line = Line(t)
    line.good(1, 1)
    line.message(2, 4)
    line.send(2, t.params["order"])
    line.fails("after frames out of order", "FCVI-8.4.1-c")
    line.not_delivered(2, "FCVI-8.4.1-c", "although its frames were out of order")


_MIXES: list[tuple[str, dict[str, Any]]] = [
    ("reversed", {"order": [5, 4, 3, 2, 1, 0], "ius": 1}),
    ("one-late", {"order": [0, 2, 3, 4, 5, 1], "ius": 1}),
    ("first-late", {"order": [1, 2, 3, 4, 5, 0], "ius": 1}),
    ("ius-mixed", {"order": [4, 0, 2, 5, 3, 1], "ius": 3}),
]


@case(
    REGISTRY,
    "B.R6e",
    "Rule 6 e: frames of a Message overtake each other",
    clause="B.2.5 rule 6e",
    requirements=["FCVI-B-R6e-b", "FCVI-4.2-19", "FCVI-8.4.1-01"],
    tags=["message", "order"],
    applies="client or server",
    variants=variants(
        levels=list(LEVELS), ops=("send", "rdma-write"), immediate=True, classes=(3, 2), fabrics=(OUT_OF_ORDER,), choices=_MIXES
    ),
)
def frames_overtake(t: Scenario) -> None:
    """All frames come within E_D_TOV: the Message is delivered whole, and so is the next one."""
    line = Line(t, longest=6)
    line.good(1, 1)
    line.message(2, 6, int(t.params["ius"]))
    for index, frame in enumerate(t.params["order"]):
        line.send(2, [frame])
        t.wait(t.pixit.e_d_tov_us // 10 if index in (0, 4) else 0)
    line.expect([2], line.delivery)
    line.good(3, 3)


def _lose(t: Scenario, line: Line) -> None:
    """Message 2 lacks a frame, Message 3 is whole; or Message 2 is missing altogether."""
    line.message(2, 4)
    if t.params["lost"] == "frame":
        line.send(2, [0, 1, 3])
    line.message(3, 2)
    line.send(3)


_LOSSES = [("frame", {"lost": "frame"}), ("message", {"lost": "message"})]


@case(
    REGISTRY,
    "B.R7a",
    "Rule 7 a: what is missing does not come, on an unreliable connection",
    clause="B.2.5 rule 7a",
    requirements=["FCVI-B-R7a", "FCVI-5.2.1-10", "FCVI-8.4.2-d"],
    errata=["E90"],
    tags=["message", "loss", "timing"],
    applies="client or server",
    variants=variants(ops=("send", "rdma-write"), immediate=True, classes=(3, 2), fabrics=(OUT_OF_ORDER,), choices=_LOSSES),
)
def missing_unreliable(t: Scenario) -> None:
    """Only the Message that is not whole is lost; the one behind it is delivered, and so is the next.

    The Message Error is found some time after the gap (R_A_TOV in Annex B); late frames then have no effect.
    """
    line = Line(t)
    line.good(1, 1)
    _lose(t, line)
    t.wait(t.r_a_tov_us + t.pixit.late_us)
    line.survives(4)
    line.not_delivered(2, "FCVI-5.2.1-10", "although it is not whole")
    if 3 not in line.look():
        t.report("FCVI-B-R7a", "more than the incomplete Message was lost", f"delivered: {line.look()}", "Message 3 too")
    expect_connected(t, line.setup, "FCVI-B-R7a", "though it is unreliable")
    if t.params["lost"] == "frame":
        line.transport_error(2, "FCVI-B-R3a")
        line.late([(2, [2])], "FCVI-8.4.2-d", "by a frame of a Message in error")


@case(
    REGISTRY,
    "B.R7b",
    "Rule 7 b: what is missing does not come, on a reliable connection",
    clause="B.2.5 rule 7b",
    requirements=[
        "FCVI-B-R7b-a", "FCVI-8.4.1-01", "FCVI-8.4.1-d", "FCVI-8.4.1-e", "FCVI-8.4.1-n2", "FCVI-8.4.2-e",
        "FCVI-8.4.2-f1",
    ],  # fmt: skip
    errata=["E81"],
    tags=["message", "loss", "timing"],
    applies="client or server",
    variants=variants(
        levels=RELIABLE, ops=("send", "rdma-write"), immediate=True, classes=(3, 2), fabrics=(OUT_OF_ORDER,), choices=_LOSSES
    ),
)
def missing_reliable(t: Scenario) -> None:
    """The Messages behind the gap are not delivered and the VI goes to Error, one R_A_TOV after the gap by Annex B."""
    line = Line(t)
    line.good(1, 1)
    _lose(t, line)
    started = t.now_us
    line.fails("because something is missing", "FCVI-8.4.1-d" if t.params["lost"] == "frame" else "FCVI-8.4.1-e")
    line.not_delivered(3, "FCVI-8.4.1-01", "although Message 2 is not whole")
    took = t.now_us - started
    tick = t.r_a_tov_us // 20
    t.require(
        abs(took - t.r_a_tov_us) <= t.pixit.late_us + 2 * tick, "FCVI-B-R7b-a", "the VI went to Error at another time",
        f"{took} us", f"about {t.r_a_tov_us} us",
    )  # fmt: skip
    assert reliable(t)
