"""Annex B rules 4 and 5: a Message comes before, or after, the one that is expected (8.4.1 b, c, e)."""

from __future__ import annotations

from fcvi.engine.case import case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.lossy_line import Line
from .annex_b_rules_1_3 import RELIABLE
from conformance.fcvi.steps.connection import REGISTRY
from conformance.fcvi.steps.messages import LEVELS, OUT_OF_ORDER, prepare, reliable, transmit, variants

PART_OF_REPORT = 10

_SKIPS = [("first-frame", {"frames": range(0, 4)}), ("later-frame", {"frames": range(1, 4)})]


@case(
    REGISTRY,
    "B.R4a",
    "Rule 4 a: Messages are skipped on an unreliable connection",
    clause="B.2.5 rule 4a",
    requirements=["FCVI-B-R4a-a", "FCVI-B-R4a-c3", "FCVI-B-R3a", "FCVI-5.2.1-10", "FCVI-8.4.2-d"],
    errata=["E81", "E88"],
    tags=["message", "loss"],
    applies="client or server",
    variants=variants(ops=("send", "rdma-write"), immediate=True, classes=(3, 2), choices=_SKIPS),
)
def skipped_unreliable(t: Scenario) -> None:
    """After a part of Message 3 comes Message 6, from its first frame on or without it.

    With the first frame Message 6 is delivered, without it not; Message 7, from SEQ_CNT 0, is delivered either way. What
    comes of Messages 3 to 5 later has no effect if the DUT gave them up.
    """
    line = Line(t)
    line.good(1, 2)
    for number, frames in ((3, 4), (4, 1), (5, 1), (6, 4)):
        line.message(number, frames)
    line.send(3, [0, 1])
    line.send(6, t.params["frames"])
    if t.params["frames"][0]:
        line.not_delivered(6, "FCVI-5.2.1-10", "without its first frame")
    elif line.arrived([6], 0):
        line.expect([6], line.delivery)
    else:
        t.report("FCVI-B-R4a-c3", "Message 6 was not delivered", f"delivered: {line.look()}", "Message 6")
    line.survives(7)
    line.transport_error(3, "FCVI-B-R3a")
    if line.pool.failed:
        line.late([(3, [2, 3])], "FCVI-8.4.2-d", "by a frame of a Message in error")
        line.late([(4, None), (5, None)], "FCVI-B-R4a-a", "by a skipped Message")


@case(
    REGISTRY,
    "B.R4b",
    "Rule 4 b: Messages are skipped on a reliable connection",
    clause="B.2.5 rule 4b",
    requirements=["FCVI-B-R4b-a", "FCVI-B-R4b-b", "FCVI-8.1-01", "FCVI-8.4.1-c", "FCVI-8.4.2-e", "FCVI-8.4.2-f1"],
    tags=["message", "loss"],
    applies="client or server",
    variants=variants(
        levels=RELIABLE, ops=("send", "rdma-write"), immediate=True, classes=(3, 2),
        choices=[*_SKIPS, ("nothing-open", {"frames": range(0, 4), "open": False}),
                 ("far-ahead", {"frames": range(0, 4), "open": False, "number": 0x1_0003})],
    ),
)  # fmt: skip
def skipped_reliable(t: Scenario) -> None:
    """A Message before its turn is a Message Error: the VI goes to Error, neither it nor what follows is delivered. All 32 bits of
    FCVI_MSG_ID count (5.9.6).
    """
    line, number = Line(t), int(t.params.get("number", 6))
    line.good(1, 2)
    line.message(3, 4)
    line.message(number, 4)
    if t.params.get("open", True):
        line.send(3, [0, 1])
    line.send(number, t.params["frames"])
    line.fails("after skipped Messages")
    line.not_delivered(number, "FCVI-8.4.1-c", "although Messages before it are missing")
    line.late([(3, None)], "FCVI-8.4.2-f1", "by a frame for a VI in Error")


@case(
    REGISTRY,
    "B.R4c",
    "Rule 4 c: Messages overtake each other",
    clause="B.2.5 rule 4c",
    requirements=["FCVI-B-R4c-a", "FCVI-4.2-19", "FCVI-8.4.1-01"],
    errata=["E87"],
    tags=["message", "order"],
    applies="client or server",
    variants=variants(
        levels=list(LEVELS), ops=("send", "rdma-write"), immediate=True, classes=(3, 2), fabrics=(OUT_OF_ORDER,),
        choices=[("at-once", {"wait": 0}), ("before-e-d-tov", {"wait": 5})],
    ),
)  # fmt: skip
def overtaking(t: Scenario) -> None:
    """The end of Message 6 comes after a part of Message 3; all that is missing comes in time, in no order.

    Nothing completes before its turn; then Messages 3 to 7 are delivered whole and in order.
    """
    line = Line(t)
    line.good(1, 2)
    for number, frames in ((3, 4), (4, 2), (5, 1), (6, 4), (7, 1)):
        line.message(number, frames)
    line.send(3, [0, 1])
    line.send(6, [2, 3])
    line.send(5)
    line.not_delivered(5, "FCVI-8.4.1-01" if reliable(t) else "FCVI-B-R4c-a", "before Message 4")
    t.wait(t.params["wait"] * t.pixit.e_d_tov_us // 10)
    for number, which in ((4, [1]), (7, [0]), (6, [1, 0]), (3, [3]), (4, [0]), (3, [2])):
        line.send(number, which)
    line.expect([3, 4, 5, 6, 7], line.delivery)
    line.good(8, 8)


@case(
    REGISTRY,
    "B.R5a",
    "Rule 5 a: a Message comes again where the Fabric keeps order",
    clause="B.2.5 rule 5a",
    requirements=["FCVI-B-R5a-a", "FCVI-B-R5a-b", "FCVI-8.4.1-c", "FCVI-8.4.2-e", "FCVI-8.4.2-f1", "FCVI-6.2.1-01"],
    errata=["E94"],
    tags=["message", "order"],
    applies="client or server",
    variants=variants(levels=list(LEVELS), ops=("send", "rdma-write"), immediate=True, classes=(3, 2)),
)
def repeated_message(t: Scenario) -> None:
    """FCVI_MSG_ID 2 comes a second time, in an Exchange of its own and with other data: it is not delivered.

    A reliable VI goes to Error. An unreliable one may, or discards it and delivers the next Message.
    """
    line = Line(t)
    line.good(1, 2)
    before = line.pool.contents()
    original = line.sent[2]
    again = prepare(t, line.setup, line.pool.message(2, t.rng.randbytes(len(original.message.data))))
    transmit(t, again.frames)
    line.pool.untouched("FCVI-8.4.1-c" if reliable(t) else "FCVI-B-R5a-b", before, "by a Message that had been delivered before")
    if reliable(t):
        line.fails("after a repeated Message")
    else:
        line.survives(3)


@case(
    REGISTRY,
    "B.R5b",
    "Rule 5 b: a late frame of an earlier Message",
    clause="B.2.5 rule 5b",
    requirements=["FCVI-B-R5b", "FCVI-4.2-19", "FCVI-8.4.1-01"],
    tags=["message", "order"],
    applies="client or server",
    variants=variants(levels=list(LEVELS), ops=("send", "rdma-write"), immediate=True, classes=(3, 2), fabrics=(OUT_OF_ORDER,)),
)
def late_frame(t: Scenario) -> None:
    """Message 3 has come whole when the last frames of Message 2 arrive: both are delivered, 2 first."""
    line = Line(t)
    line.good(1, 1)
    line.message(2, 3)
    line.message(3, 2)
    line.send(2, [0])
    line.send(3)
    line.not_delivered(3, "FCVI-8.4.1-01" if reliable(t) else "FCVI-B-R5b", "before Message 2")
    line.send(2, [2, 1])
    line.expect([2, 3], line.delivery)
