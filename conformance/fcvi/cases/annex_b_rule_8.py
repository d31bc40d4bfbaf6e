"""Annex B rule 8: what a Message originator does in class 2 when a frame is not acknowledged as it should be (8.4.2 b)."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import build, class2, codec
from fcvi.engine.case import case
from fcvi.fc.message import Message
from fcvi.fc.received import Exchange, Received
from fcvi.fc.scenario import Scenario

from .clause_6_requests import originate
from conformance.fcvi.steps.connection import REGISTRY, STATE, Setup
from conformance.fcvi.steps.message_checks import Taken, answer, take_request
from conformance.fcvi.steps.messages import (
    IN_ORDER,
    LEVELS,
    OUT_OF_ORDER,
    Region,
    answered,
    expect_error,
    expect_good,
    next_completion,
    open_connection,
    post,
    register,
    reliable,
    state_of,
    variants,
)

PART_OF_REPORT = 11

_ROOM = 256 - 32
_SIZE = 3 * _ROOM + 40  # four frames
_R_CTL = {"P_BSY": class2.P_BSY, "F_BSY": class2.F_BSY, "P_RJT": class2.P_RJT, "F_RJT": class2.F_RJT}
_REQUESTS = ("SEND_RQST", "WRITE_RQST", "READ_RQST")


class Disturbance:
    """Answers one data frame of the DUT's next Message in another way; everything else is acknowledged."""

    def __init__(self, t: Scenario, how: str, seq_cnt: int) -> None:
        """how: a busy, a reject, "abort" (ACK with 01b) or "none"; seq_cnt: of the frame."""
        self.exchange: Optional[Exchange] = None
        self.frame: Optional[codec.Frame] = None
        self.numbers: list[int] = []  # of the frame in the trace
        self.earliest_us = self.time_us = 0
        self._t, self._how, self._seq_cnt = t, how, seq_cnt
        t.tester.acknowledge = self._answer

    def _answer(self, view: codec.Frame, exchange: Exchange) -> Optional[build.RawFrame]:
        hit = self.frame is None and view.iu in _REQUESTS and view.get("FC", "SEQ_CNT") == self._seq_cnt
        if not hit:
            return class2.ack_1(view, exchange.rx_id)
        self.frame, self.exchange, self.numbers = view, exchange, [len(self._t.tester.trace)]
        self.earliest_us = self.time_us = self._t.now_us
        if self._how == "none":
            return None
        if self._how == "abort":
            return class2.ack_abort(view, exchange.rx_id)
        return class2.refusal(_R_CTL[self._how], view, exchange.rx_id)

    def repeated(self) -> list[codec.Frame]:
        """The disturbed frame as the DUT sent it: more than one when it came again. An earlier Exchange may have had its OX_ID."""
        assert self.frame is not None
        names = ("TYPE", "Exchange_Context", "OX_ID", "SEQ_CNT")
        wanted = [self.frame.header(name) for name in names]
        sent = [frame for _, _, frame in self._t.crossed("dut") if frame.kind != "malformed"]
        first = next(number for number, frame in enumerate(sent) if frame.data == self.frame.data)
        return [frame for frame in sent[first:] if [frame.header(name) for name in names] == wanted]


def _disturbed(t: Scenario) -> tuple[Setup, Message, Disturbance, Region]:
    """A good Message, and then one of which a frame is answered in the way of this variant."""
    setup = open_connection(t)
    taken, _ = originate(t, setup, 1, 64)
    if answered(t):
        answer(t, setup, taken)
    expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
    t.control("an acknowledged Message completed")
    op = str(t.params["op"])
    seq_cnt = 0 if op == "rdma-read" else int(t.params["seq_cnt"])
    disturbance = Disturbance(t, str(t.params["how"]), seq_cnt)
    data = t.rng.randbytes(_SIZE) if op != "rdma-read" else b""
    region = register(t, _SIZE, data=data)
    remote = None if op == "send" else (0x0102030405060708, 9)
    va, handle = remote or (0, 0)
    post(t, setup.vi, op, region, remote=remote)
    t.owed(lambda: disturbance.frame is not None)
    t.demand(disturbance.frame is not None, "FCVI-5.2.1-09", "the second Message was not sent", "nothing",
             f"its frame with SEQ_CNT {seq_cnt}")  # fmt: skip
    return setup, Message(op, 2, data, None, va, handle, total=_SIZE), disturbance, region


def _abts(t: Scenario, disturbance: Disturbance, requirement: str) -> Optional[Received]:
    """ABTS for the Exchange, answered by BA_ACC; the IUs of the Message are looked at no further."""
    t.owed(lambda: t.peek(["ABTS"], disturbance.exchange) is not None)
    abts = t.peek(["ABTS"], disturbance.exchange)
    forget(t, disturbance.exchange)
    t.require(abts is not None, requirement, f"no ABTS after {t.params['how']}", "none", "ABTS for the Exchange of the Message")
    if abts is None:
        return None
    abts.taken = True
    t.tester.send_ba_acc(abts)
    t.settle()
    return abts


def forget(t: Scenario, exchange: Optional[Exchange]) -> None:
    """What came on the Exchange is not looked at any more."""
    for received in t.tester.inbox:
        if received.exchange is exchange:
            received.taken = True


def _aftermath(t: Scenario, setup: Setup, rule: str) -> None:
    """A reliable VI is in Error and sends nothing more; an unreliable one goes on (or is in Error, 8.4.2 c)."""
    if reliable(t):
        expect_error(t, setup, "FCVI-8.4.2-e", f"after {t.params['how']}")
        _reported(t, setup)
        post(t, setup.vi, "send", register(t, 8))
        t.expect_nothing(_REQUESTS, t.r_a_tov_us // 10, "FCVI-8.1-01", "from a VI in Error")
        return
    if state_of(t, setup.vi) == STATE["error"]:
        t.report(rule, "the VI went to Error, which 8.4.2 c) permits", STATE["error"], STATE["connected"])
        return
    t.completions.clear()
    data = t.rng.randbytes(20)
    post(t, setup.vi, "send", register(t, 20, data=data))
    take_request(t, setup, Message("send", 3, data))


def _reported(t: Scenario, setup: Setup) -> None:
    """The application learns of the error, from the Descriptor or, if that had completed before, by VipErrorCallback.

    Without a response a Descriptor of Reliable Delivery is complete once its data were sent (VI-ARCH 2.5.2), and what goes
    wrong later is reported asynchronously. Which of both came first is known from the control plane alone (E121).
    """
    done = next_completion(t, setup.vi, "send", "FCVI-8.4.2-e")
    if not done.good:
        return
    before = not answered(t) and not {"error", "VIP_ERROR_CONN_LOST"} & set(t.reported_before(done))
    t.require(before, "FCVI-8.4.2-e", "the Descriptor completed without error after the error", sorted(done.status),
              "an error bit")  # fmt: skip
    t.owed(lambda: any(vi == setup.vi for vi, _ in t.errors))
    t.require(any(vi == setup.vi for vi, _ in t.errors), "FCVI-8.4.2-e", "the application was not told of the error",
              "no VipErrorCallback", "VIP_ERROR_CONN_LOST")  # fmt: skip


def _variants(choices: list[tuple[str, dict[str, Any]]], fabrics: tuple[str, ...] = (IN_ORDER, OUT_OF_ORDER)) -> Any:
    small: dict[str, Any] = {"config": {"receive_size": 256}}
    placed = [(f"{name}-{n}", {**p, **small, "seq_cnt": n}) for name, p in choices for n in (0, 2)]
    return variants(levels=list(LEVELS), ops=("send", "rdma-write"), classes=(2,), fabrics=fabrics, choices=placed) + variants(
        levels=("reliable-delivery", "reliable-reception"), ops=("rdma-read",), classes=(2,), fabrics=fabrics,
        choices=[(f"rdma-read/{name}", {**p, "seq_cnt": 0}) for name, p in choices],
    )  # fmt: skip


@case(
    REGISTRY,
    "B.R8a",
    "Rule 8 a: busy where the Fabric keeps order",
    clause="B.2.6.1 rule 8a",
    requirements=["FCVI-B-R8a-a", "FCVI-B-R8a-b", "FCVI-B-R8a-c1", "FCVI-8.1-01", "FCVI-8.4.2-e"],
    errata=["E95"],
    tags=["message", "class2"],
    applies="client or server",
    variants=_variants([("p-bsy", {"how": "P_BSY"}), ("f-bsy", {"how": "F_BSY"})], (IN_ORDER,)),
)
def busy_in_order(t: Scenario) -> None:
    """After F_BSY or P_BSY the Exchange is aborted; a reliable VI goes to Error, an unreliable one goes on.

    Sending the frame again, as FC-FS has it, is accepted as well: then the Message completes.
    """
    setup, message, disturbance, _ = _disturbed(t)
    t.owed(lambda: t.peek(["ABTS"]) is not None or len(disturbance.repeated()) > 1)
    if len(disturbance.repeated()) > 1 and t.peek(["ABTS"]) is None:
        t.report("FCVI-B-R8a-a", "the frame was sent again", "retransmission", "ABTS", erratum="E95")
        _completes(t, setup, message, disturbance)
        return
    _abts(t, disturbance, "FCVI-B-R8a-a")
    _aftermath(t, setup, "FCVI-B-R8a-b")


def _completes(t: Scenario, setup: Setup, message: Message, disturbance: Disturbance) -> None:
    """The Message that was sent again in part completes."""
    assert disturbance.exchange is not None
    ends = ("Last_Sequence", "Sequence_Initiative")

    def whole() -> bool:  # the rest may come one frame after the other, as the DUT's credit allows
        return any(r.exchange is disturbance.exchange and r.kind == message.iu and any(map(r.fc, ends)) for r in t.tester.inbox)

    t.owed(whole)
    t.settle()
    forget(t, disturbance.exchange)
    if answered(t):
        answer(t, setup, Taken(message, disturbance.exchange, []))
    whole_row = {"send": "FCVI-6.2.1-01", "rdma-write": "FCVI-6.4.1-01", "rdma-read": "FCVI-6.7.1-02"}[message.op]
    expect_good(t, setup.vi, "send", whole_row)


@case(
    REGISTRY,
    "B.R8b",
    "Rule 8 b: busy where the Fabric does not keep order",
    clause="B.2.6.1 rule 8b",
    requirements=["FCVI-B-R8b", "FCVI-6.2.1-01", "FCVI-6.4.1-01", "FCVI-6.6.1-01", "FCVI-6.7.1-02", "FCVI-8.4.2-e"],
    tags=["message", "class2"],
    applies="client or server",
    variants=_variants([("p-bsy", {"how": "P_BSY"}), ("f-bsy", {"how": "F_BSY"})], (OUT_OF_ORDER,)),
)
def busy_out_of_order(t: Scenario) -> None:
    """The frame that met F_BSY or P_BSY is sent again, the same in all its bytes, and the Message completes.

    A DUT that gives up at once instead is noted; it then has to abort the Exchange like any other lost Message.
    """
    setup, message, disturbance, _ = _disturbed(t)
    t.owed(lambda: t.peek(["ABTS"]) is not None or len(disturbance.repeated()) > 1)
    again = disturbance.repeated()[1:]
    if not again:
        t.report("FCVI-B-R8b", "the busy frame was not sent again", "no second frame", "the same frame")
        _abts(t, disturbance, "FCVI-B-R8b")
        _aftermath(t, setup, "FCVI-B-R8b")
        return
    first = disturbance.repeated()[0]
    requirement = {"send": "FCVI-6.2.1-01", "rdma-write": "FCVI-6.4.1-01", "rdma-read": "FCVI-6.6.1-01"}[message.op]
    for what, seen, wanted in (("Device_Header", again[0].device_header, first.device_header),
                               ("payload", again[0].payload, first.payload)):  # fmt: skip
        t.require(seen == wanted, requirement, f"the frame that was sent again has another {what}", seen[:48].hex(),
                  wanted[:48].hex())  # fmt: skip
    _completes(t, setup, message, disturbance)


@case(
    REGISTRY,
    "B.R8c",
    "Rule 8 c: a data frame is rejected",
    clause="B.2.6.1 rule 8c",
    requirements=["FCVI-B-R8c-a", "FCVI-B-R8c-b", "FCVI-B-R8c-c1", "FCVI-8.1-01", "FCVI-8.4.2-e"],
    tags=["message", "class2"],
    applies="client or server",
    variants=_variants([("p-rjt", {"how": "P_RJT"}), ("f-rjt", {"how": "F_RJT"})]),
)
def rejected(t: Scenario) -> None:
    """After F_RJT or P_RJT the Exchange is aborted; a reliable VI goes to Error, an unreliable one goes on."""
    setup, _, disturbance, _ = _disturbed(t)
    _abts(t, disturbance, "FCVI-B-R8c-a")
    _aftermath(t, setup, "FCVI-B-R8c-b")


@case(
    REGISTRY,
    "B.R8d",
    "Rule 8 d: an ACK asks for ABTS",
    clause="B.2.6.1 rule 8d",
    requirements=["FCVI-B-R8d-b", "FCVI-B-R8d-c1", "FCVI-8.1-01", "FCVI-8.4.2-b", "FCVI-8.4.2-e"],
    tags=["message", "class2"],
    applies="client or server",
    variants=_variants([("abort", {"how": "abort"})]),
)
def abort_asked(t: Scenario) -> None:
    """After an ACK with Abort Sequence Condition 01b the Exchange is aborted by ABTS, whatever the Reliability Level."""
    setup, _, disturbance, _ = _disturbed(t)
    _abts(t, disturbance, "FCVI-8.4.2-b")
    _aftermath(t, setup, "FCVI-B-R8d-b")


@case(
    REGISTRY,
    "B.R8e",
    "Rule 8 e: an ACK does not come",
    clause="B.2.6.1 rule 8e",
    requirements=["FCVI-B-R8e-a", "FCVI-B-R8e-b", "FCVI-B-R8e-c1", "FCVI-8.1-01", "FCVI-8.4.2-e"],
    tags=["message", "class2", "timing"],
    applies="client or server",
    variants=_variants([("none", {"how": "none"})]),
)
def ack_missing(t: Scenario) -> None:
    """E_D_TOV after a frame whose ACK does not come the Exchange is aborted; a reliable VI goes to Error."""
    setup, _, disturbance, _ = _disturbed(t)
    abts = _abts(t, disturbance, "FCVI-B-R8e-a")
    if abts is not None:
        due = disturbance.time_us + t.pixit.e_d_tov_us
        t.expect_time(abts, due, "FCVI-B-R8e-a", "ABTS after E_D_TOV without an ACK", since=disturbance)
    _aftermath(t, setup, "FCVI-B-R8e-b")
