"""Annex F: FCVI_CONNECT_RESP3 as Message 0 - what may pass before it, what may not, and what its loss does (C.5.5, C.5.10)."""

from __future__ import annotations

from fcvi.engine.case import case
from fcvi.fc.message import Message
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Completion

from conformance.fcvi.steps.lossy_line import Line
from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    STATE,
    Setup,
    accept_request,
    check_resp3,
    check_state,
    finish_wait,
    send_resp2,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
)
from conformance.fcvi.steps.message_checks import respond, take_request
from conformance.fcvi.steps.messages import LEVELS, RR, expect_good, level_of, post, register, state_of, variants

_ALL = list(LEVELS)


class Half(Line):
    """A Line over a connection of which the DUT, as client, has not seen FCVI_CONNECT_RESP3 yet."""

    def __init__(self, t: Scenario) -> None:
        """The setup up to the DUT's FCVI_CONNECT_RESP2; receive Descriptors are posted."""
        self.opened = start_request(t)
        accept_request(t, self.opened)
        super().__init__(t)

    def connect(self) -> Setup:
        """The half-open connection."""
        return self.opened


@case(
    REGISTRY,
    "F.1",
    "Messages overtake FCVI_CONNECT_RESP3",
    clause="F",
    requirements=["FCVI-F-01", "FCVI-F-02", "FCVI-4.2-42", "FCVI-8.4.1-01"],
    errata=["E74", "E75"],
    tags=["message", "setup", "order"],
    applies="client",
    variants=variants(levels=_ALL, classes=(3, 2), fabrics=("out-of-order",), roles=(CLIENT,)),
)
def messages_before_resp3(t: Scenario) -> None:
    """The server sends right after RESP3 and an Out-of-Order Fabric delivers its Messages first: the client takes them.

    The client's Endpoint receives from before its RESP2 on; FCVI_MSG_ID 1 is the first Message.
    """
    line = Half(t)
    line.message(1, 2)
    line.message(2, 1)
    line.send(1)
    line.send(2)
    t.wait(t.pixit.e_d_tov_us // 10)
    send_resp3(t, line.setup)
    t.settle()
    line.expect([1, 2], "FCVI-4.2-42")
    check_state(t, line.setup.vi, "connected", "FCVI-8.2-b1")
    t.control("the connection is established and the Messages were delivered")


@case(
    REGISTRY,
    "F.3",
    "FCVI_CONNECT_RESP3 is lost and the server sends",
    clause="F",
    requirements=["FCVI-F-03", "FCVI-F-06", "FCVI-8.4.2-f1", "FCVI-8.5.3-a", "FCVI-8.5.3-a3"],
    errata=["E74", "E75"],
    tags=["message", "setup", "loss", "timing"],
    applies="client",
    variants=variants(levels=_ALL, classes=(3, 2), fabrics=("in-order", "out-of-order"), roles=(CLIENT,)),
)
def resp3_lost(t: Scenario) -> None:
    """Messages come, RESP3 does not: at the latest FCVI_ULP_TIMEOUT after FCVI_CONNECT_RQST the client aborts the setup.

    It may find out earlier, by the missing Message 0. From then on Messages have no effect.
    """
    line = Half(t)
    t.control("the setup went as far as FCVI_CONNECT_RESP2")
    assert line.setup.rqst is not None
    line.message(1, 2)
    line.send(1)
    noticed_us = t.now_us
    limit = line.setup.rqst.time_us + t.r_a_tov_us + 2 * t.pixit.late_us - t.now_us
    abts = t.expect("ABTS", "FCVI-8.5.3-a", exchange=line.setup.exchange, within_us=limit, why="without FCVI_CONNECT_RESP3")
    t.require(
        abts.earliest_us <= noticed_us + t.r_a_tov_us + t.pixit.late_us, "FCVI-F-06",
        "the missing Message 0 was noticed late", f"{abts.time_us} us", f"{noticed_us + t.r_a_tov_us} us", at=abts,
    )  # fmt: skip
    t.tester.send_ba_acc(abts)
    t.settle()
    check_state(t, line.setup.vi, "error", "FCVI-8.5.3-a3")
    line.look()
    line.discards()
    t.tolerate("SEND_RESP", "DISCONNECT_RQST")


@case(
    REGISTRY,
    "F.5",
    "FCVI_CONNECT_RESP3 has FCVI_MSG_ID 0, the first Message 1",
    clause="F",
    requirements=["FCVI-F-05", "FCVI-F-08", "FCVI-5.9.3-03", "FCVI-5.9.6-03", "FCVI-6.11.2-04", "FCVI-4.2-10"],
    errata=["E71", "E74"],
    tags=["message", "setup"],
    applies="server",
    variants=variants(levels=_ALL, classes=(3, 2), roles=(SERVER,)),
)
def server_sends_after_resp3(t: Scenario) -> None:
    """A Send is posted at the server before RESP2: no Message comes before RESP3; the first after it has FCVI_MSG_ID 1."""
    wait = start_wait(t)
    setup = send_rqst(t)
    start_accept(t, setup, finish_wait(t, wait))
    data = t.rng.randbytes(24)
    region = register(t, 24, data=data)
    refused = post(t, setup.vi, "send", region) != "VIP_SUCCESS"  # VI-ARCH 5 lets a provider refuse it
    t.expect_nothing(["SEND_RQST"], t.r_a_tov_us // 4, "FCVI-5.9.3-03", "before FCVI_CONNECT_RESP3")
    send_resp2(t, setup)
    first = t.expect(["CONNECT_RESP3", "SEND_RQST"], "FCVI-6.11.1-01", why="after RESP2")
    t.demand(first.kind != "SEND_RQST", "FCVI-5.9.3-03", "a Message came before FCVI_CONNECT_RESP3", first, "FCVI_CONNECT_RESP3",
             first)  # fmt: skip
    check_resp3(t, first, setup)
    t.equal(first, "FCVI_MSG_ID", 0, "FCVI-6.11.2-04")
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.2-b1", returns="VIP_SUCCESS")

    def ended() -> list[Completion]:
        return [c for c in t.completions if c.vi == setup.vi and c.queue == "send"]

    t.owed(lambda: refused or bool(ended()) or t.peek(["SEND_RQST"]) is not None)
    if any(c.good for c in ended()):  # a Descriptor may complete before its frame is on the wire (VI-ARCH 2.5)
        t.owed(lambda: t.peek(["SEND_RQST"]) is not None)
    flushed = ended() if t.peek(["SEND_RQST"]) is None else []
    if flushed or refused:  # or flush it
        t.require(not any(c.good for c in flushed), "FCVI-5.9.3-03", "a Message completed that was never sent", "good", "an error")
        t.completions.clear()
        post(t, setup.vi, "send", region)
    taken = take_request(t, setup, Message("send", 1, data))
    if level_of(t) == RR:
        respond(t, setup, taken)
    expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
    t.control("the first Message followed the setup")


@case(
    REGISTRY,
    "F.7",
    "FCVI_CONNECT_RESP3 lets the client's Descriptors complete",
    clause="F",
    requirements=["FCVI-F-07", "FCVI-6.2.1-01", "FCVI-5.9.6-03"],
    errata=["E74"],
    tags=["message", "setup"],
    applies="client",
    variants=variants(levels=_ALL, classes=(3, 2), roles=(CLIENT,)),
)
def client_completes_after_resp3(t: Scenario) -> None:
    """A Send that the client posts between RESP2 and RESP3 may go out at once, but completes after RESP3 (a should of C.5.1)."""
    setup = start_request(t)
    accept_request(t, setup)
    data = t.rng.randbytes(24)
    post(t, setup.vi, "send", register(t, 24, data=data))
    t.until(lambda: t.peek(["SEND_RQST"]) is not None, t.r_a_tov_us // 10)
    taken = None
    if t.peek(["SEND_RQST"]) is not None:
        taken = take_request(t, setup, Message("send", 1, data))
        if level_of(t) == RR:
            respond(t, setup, taken)
    early = [c for c in t.completions if c.vi == setup.vi and c.queue == "send"]
    t.require(not early, "FCVI-F-07", "a Descriptor completed before FCVI_CONNECT_RESP3", "completed", "not yet",
              erratum="E74")  # fmt: skip
    send_resp3(t, setup)
    t.settle()
    if taken is None:
        taken = take_request(t, setup, Message("send", 1, data))
        if level_of(t) == RR:
            respond(t, setup, taken)
    expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
    t.require(state_of(t, setup.vi) == STATE["connected"], "FCVI-8.2-b1", "the VI is not Connected",
              state_of(t, setup.vi), STATE["connected"])  # fmt: skip
    t.control("the Message sent during the setup completed")
