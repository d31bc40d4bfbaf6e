"""Annex B rules 1 to 3: what is discarded after an error, until when, and which Descriptor completes (8.4.2 d to h)."""

from __future__ import annotations

from fcvi.engine.case import case
from fcvi.fc.message import Message
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.lossy_line import Line
from .clause_6_requests import originate
from conformance.fcvi.steps.connection import REGISTRY, TRANSPORT_ERROR, disconnect_and_answer
from conformance.fcvi.steps.message_checks import answer
from conformance.fcvi.steps.messages import (
    IN_ORDER,
    OUT_OF_ORDER,
    UD,
    expect_bad,
    expect_connected,
    expect_error,
    level_of,
    open_connection,
    reliable,
    variants,
)
from conformance.fcvi.steps.neighbours import login

PART_OF_REPORT = 8

RELIABLE = ("reliable-delivery", "reliable-reception")
REASONS = (TRANSPORT_ERROR, *range(0x41, 0x49))


def lose_message(line: Line, number: int) -> None:
    """An In-Order Fabric skips this Message: the next one arrives instead (8.4.1 c)."""
    line.message(number)
    line.message(number + 1)
    line.send(number + 1)


@case(
    REGISTRY,
    "B.R1a",
    "Rule 1 a: frames for a connection in error are discarded",
    clause="B.2.4 rule 1",
    requirements=[
        "FCVI-B-R1-a1", "FCVI-B-R1-a2", "FCVI-8.1-01", "FCVI-8.2-d3", "FCVI-8.4.2-e", "FCVI-8.4.2-f1", "FCVI-8.4.2-h",
    ],  # fmt: skip
    errata=["E58", "E121"],
    tags=["message", "loss"],
    applies="client or server",
    variants=variants(levels=RELIABLE, ops=("send", "rdma-write"), immediate=True, classes=(3, 2)),
)
def frames_after_error(t: Scenario) -> None:
    """A lost Message brings a reliable VI to Error; from then on Messages have no effect and get no response.

    The discarding lasts R_A_TOV at least, and as long as the VI is in Error. In class 2 the ACKs ask for ABTS.
    """
    line = Line(t)
    line.good(1, 2)
    lose_message(line, 3)
    expect_error(t, line.setup, "FCVI-8.4.2-e", "after a lost Message")
    t.owed(lambda: any(vi == line.setup.vi for vi, _ in t.errors))
    t.require(any(vi == line.setup.vi for vi, _ in t.errors), "FCVI-8.4.2-e", "no VipErrorCallback for the Message Error",
              "none", "VIP_ERROR_CONN_LOST", erratum="E121")  # fmt: skip
    line.look()
    for wait in (0, t.r_a_tov_us // 2, t.r_a_tov_us):
        t.wait(wait)
        line.discards()
        line.abort_asked([max(line.sent)], "FCVI-B-R1-a2")
    line.abort_asked([n for n in line.sent if n > 3], "FCVI-8.4.2-h")  # that showed the error, or came after it
    expect_error(t, line.setup, "FCVI-8.2-e1", "and stays there", 0)


@case(
    REGISTRY,
    "B.R1a.responses",
    "Rule 1 a at the originator: responses for a connection in error are discarded",
    clause="B.2.4 rule 1",
    requirements=["FCVI-B-R1-a1", "FCVI-8.4.1-a", "FCVI-8.4.2-e", "FCVI-8.4.2-f1"],
    tags=["message", "timing"],
    applies="client or server",
    variants=variants(levels=("reliable-reception",), ops=("send", "rdma-write"))
    + variants(levels=RELIABLE, ops=("rdma-read",), choices=[("read", {})]),
)
def responses_after_error(t: Scenario) -> None:
    """A response that comes after FCVI_ULP_TIMEOUT makes no Descriptor complete without error and writes no memory."""
    setup = open_connection(t)
    taken, region = originate(t, setup, 1, 64)
    answer(t, setup, taken)
    t.control("an answered Message completed")
    t.owed(lambda: any(c.queue == "send" and c.good for c in t.completions))
    t.completions.clear()
    taken, region = originate(t, setup, 2, 64)
    t.expect("ABTS", "FCVI-8.4.2-a", exchange=taken.exchange, within_us=t.r_a_tov_us + 2 * t.pixit.late_us, why="without response")
    expect_error(t, setup, "FCVI-8.4.2-e", "without a response")
    expect_bad(t, setup.vi, "send", "FCVI-8.4.1-a")
    before = t.call("mem.read", mem=region.mem, offset=0, length=64).text("hex")
    answer(t, setup, taken)
    t.wait(t.r_a_tov_us // 10)
    good = [c for c in t.completions if c.vi == setup.vi and c.good]
    t.require(not good, "FCVI-8.4.2-f1", "a late response completed a Descriptor without error", len(good), "none")
    after = t.call("mem.read", mem=region.mem, offset=0, length=64).text("hex")
    t.require(after == before, "FCVI-8.4.2-f1", "a late FCVI_READ_RESP was placed", after[:16], before[:16])
    expect_error(t, setup, "FCVI-8.2-e1", "and stays there", 0)


@case(
    REGISTRY,
    "B.R1b",
    "Rule 1 b: a handle is not used again before Disconnect and R_A_TOV",
    clause="B.2.4 rule 1",
    requirements=["FCVI-8.4.2-f2", "FCVI-8.2-e1", "FCVI-8.1-03"],
    errata=["E57"],
    tags=["message", "loss", "timing"],
    applies="client or server",
    variants=variants(levels=RELIABLE, choices=[("at-once", {"share": 0}), ("shortly-before", {"share": 9})]),
)
def handle_after_error(t: Scenario) -> None:
    """After an error and a Disconnect that was answered, new connections within R_A_TOV get other FCVI_HANDLEs.

    Several are set up and dropped; neither the first handle nor one of theirs comes again.
    """
    line = Line(t)
    line.good(1, 1)
    lose_message(line, 2)
    expect_error(t, line.setup, "FCVI-8.4.2-e", "after a lost Message")
    free_at: dict[int, int] = {}  # DUT time from which a handle may come again
    setup = line.setup
    for _ in range(4):
        disconnect_and_answer(t, setup, reasons=REASONS)
        free_at[setup.dut_handle] = t.now_us + t.r_a_tov_us - t.pixit.early_us
        t.wait(int(t.params["share"]) * (t.r_a_tov_us - t.pixit.late_us) // 40)
        t.tolerate("SEND_RESP")
        setup = open_connection(t)
        t.require(
            free_at.get(setup.dut_handle, -1) < t.now_us, "FCVI-8.4.2-f2",
            "a FCVI_HANDLE is used again before R_A_TOV has passed", f"{setup.dut_handle:08X}h", "another value",
        )  # fmt: skip


@case(
    REGISTRY,
    "B.R1c",
    "Rules 1 c and 2 b: a logout ends what an error has left",
    clause="B.2.4 rules 1 and 2",
    requirements=["FCVI-8.4.2-g", "FCVI-6.2.1-01"],
    errata=["E86"],
    tags=["message", "login"],
    applies="(client or server) and explicit_login",
    variants=variants(levels=("unreliable", *RELIABLE), config={"login": "explicit"}),
)
def logout_clears(t: Scenario) -> None:
    """After LOGO and PLOGI a new connection works at once: Messages with the FCVI_MSG_IDs that were lost are delivered."""
    if not t.pics["client"]:
        login(t)  # else the DUT asks for the Connection, and logs in before
    line = Line(t)
    line.good(1, 1)
    lose_message(line, 2)
    t.settle()
    t.link_event("logo")
    t.expect("LOGO", "FCVI-8.4.2-g", why="when the DUT logs out")
    t.wait(t.pixit.late_us)
    t.tolerate("SEND_RESP", "DISCONNECT_RQST", "ABTS")
    if not t.pics["client"]:
        login(t)
    fresh = Line(t)
    fresh.good(1, 3)
    expect_connected(t, fresh.setup, "FCVI-8.4.2-g", "after a logout and a new login")


@case(
    REGISTRY,
    "B.R2a",
    "Rule 2 a: frames of a Message in error are discarded",
    clause="B.2.4 rule 2",
    requirements=["FCVI-5.2.1-10", "FCVI-8.4.2-d", "FCVI-8.4.2-h"],
    errata=["E81"],
    tags=["message", "loss"],
    applies="client or server",
    variants=variants(ops=("send", "rdma-write"), immediate=True, classes=(3, 2)),
)
def frames_of_lost_message(t: Scenario) -> None:
    """A Message of which a frame was lost completes in error; what comes of it within R_A_TOV has no effect.

    The Messages after it are delivered. In class 2 the ACK of what is discarded asks for ABTS.
    """
    line = Line(t)
    line.good(1, 1)
    line.message(2, 4)
    line.send(2, [0, 1])
    line.send(2, [3])  # SEQ_CNT 2 is missing
    line.survives(3)
    line.look()
    if line.pool.failed == 0:
        t.step("no Message Error was detected, which 8.4.1 b) leaves open")
        return
    for _ in range(5):  # the last of them near the end of R_A_TOV
        line.late([(2, [2, 3])], "FCVI-8.4.2-d", "by a frame of a Message in error")
        t.wait((t.r_a_tov_us - t.pixit.late_us) // 5)
    line.abort_asked([2], "FCVI-8.4.2-h")
    line.survives(4)


@case(
    REGISTRY,
    "B.R3a",
    "Rule 3 a: the Descriptor of a broken Message completes in error",
    clause="B.2.4 rule 3",
    requirements=["FCVI-B-R3a", "FCVI-5.2.1-10", "FCVI-8.4.2-d"],
    errata=["E88"],
    tags=["message", "loss"],
    applies="client or server",
    variants=variants(ops=("send", "rdma-write"), immediate=True, fabrics=(IN_ORDER, OUT_OF_ORDER), classes=(3, 2)),
)
def descriptor_in_error(t: Scenario) -> None:
    """Unreliable Delivery: the Descriptor of a Send, or of an RDMA Write with Immediate Data, is not left and not good."""
    assert level_of(t) == UD and not reliable(t)
    line = Line(t)
    line.good(1, 1)
    line.message(2, 4)
    line.send(2, [0, 1, 3])
    if line.out_of_order:
        t.wait(t.r_a_tov_us + t.pixit.late_us)
    line.survives(3)
    line.not_delivered(2, "FCVI-5.2.1-10", "although a frame is missing")
    line.transport_error(2, "FCVI-B-R3a")


__all__ = ["Message", "RELIABLE", "REASONS", "lose_message"]
