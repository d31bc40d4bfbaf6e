"""Annex E: Messages streamed in Reliable Reception, and FCVI_PIPELINE_DEPTH (7.3)."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import case
from fcvi.fc.message import Message
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.lossy_line import Line
from conformance.fcvi.steps.connection import REGISTRY, Setup, send_disconnect_resp
from conformance.fcvi.steps.message_checks import Taken, answer, respond, take_request
from conformance.fcvi.steps.messages import (
    expect_error,
    expect_good,
    expect_response,
    next_completion,
    open_connection,
    post,
    register,
    transmit,
    variants,
)

_DESC_ERR, _RESP_ERR = 2, 1  # Table 6
_RECEPTION = ("reliable-reception",)


def _posted(t: Scenario, setup: Setup, count: int, first: int = 1) -> list[Message]:
    """Post Descriptors of the operation one after the other, and the Messages that follow from them."""
    op, messages = str(t.params["op"]), []
    datas = [t.rng.randbytes(20 + number) for number in range(first, first + count)]
    region = register(t, sum(len(d) for d in datas), data=b"".join(datas))
    offset = 0
    for number, data in enumerate(datas, first):  # at once: the first wants its response within R_A_TOV
        remote = None if op == "send" else (0x1000 * number, 7)
        post(t, setup.vi, op, region, length=len(data), offset=offset, remote=remote)
        va, handle = remote or (0, 0)
        messages.append(Message(op, number, b"" if op == "rdma-read" else data, None, va, handle, total=len(data)))
        offset += len(data)
    return messages


def _open_now(t: Scenario, setup: Setup, messages: list[Message], limit: int, others: int = 0) -> list[Taken]:
    """The Message Requests that come without any further response; others are open already.

    One has to come if none is open. For more the wait is short: those that are open want their responses in time.
    """
    taken: list[Taken] = []
    while messages:
        first = not taken and not others
        t.until(lambda: t.peek([messages[0].iu]) is not None, t.r_a_tov_us * 8 // 10 if first else t.r_a_tov_us // 25)
        if not first and t.peek([messages[0].iu]) is None:
            break
        taken.append(take_request(t, setup, messages.pop(0)))
        t.require(
            len(taken) <= limit, "FCVI-7.3-14", "more Messages are open than FCVI_PIPELINE_DEPTH allows", len(taken),
            f"at most {limit}", at=taken[-1].last,
        )  # fmt: skip
    return taken


_DEPTHS: list[tuple[str, dict[str, Any], int]] = [("depth-0", {}, 0), ("depth-1", {}, 1), ("depth-3", {}, 3)]


@case(
    REGISTRY,
    "E.1",
    "Streaming and FCVI_PIPELINE_DEPTH",
    clause="E",
    requirements=["FCVI-E-01", "FCVI-E-02", "FCVI-E-05", "FCVI-7.3-14", "FCVI-5.9.6-04", "FCVI-6.3.1-01"],
    errata=["E33"],
    tags=["message", "streaming"],
    applies="client or server",
    variants=[
        v
        for name, choice, depth in _DEPTHS
        for v in variants(
            levels=_RECEPTION, ops=("send", "rdma-write", "rdma-read"), classes=(3, 2), depth=depth,
            choices=[(name, {**choice, "depth": depth, "applies": f"pipeline_depth >= {depth}"})],
        )
    ],
)  # fmt: skip
def streams(t: Scenario) -> None:
    """Six Messages are posted and none is answered: with FCVI_PIPELINE_DEPTH N at most N + 1 are open.

    Each response lets further ones out, never more than that. Descriptors complete in order, after their responses.
    """
    setup = open_connection(t)
    limit = int(t.params["depth"]) + 1
    waiting = _posted(t, setup, 6)
    open_now = _open_now(t, setup, waiting, limit)
    answers = 0

    def complete() -> int:  # how soon the application is told is not said
        return sum(c.vi == setup.vi and c.queue == "send" for c in t.completions)

    while open_now:
        answer(t, setup, open_now.pop(0))
        answers += 1
        early = complete() - answers
        t.require(early <= 0, "FCVI-E-02", "a Descriptor completed before its response", early, "none")
        if waiting:
            open_now += _open_now(t, setup, waiting, limit - len(open_now), len(open_now))
    for _ in range(answers):
        expect_good(t, setup.vi, "send", "FCVI-6.7.1-02" if t.params["op"] == "rdma-read" else "FCVI-6.3.1-01")
    t.control("six streamed Messages were answered and completed")


@case(
    REGISTRY,
    "E.2",
    "A Message of a stream fails at the responder",
    clause="E",
    requirements=["FCVI-5.9.4.3-01", "FCVI-8.1-01", "FCVI-8.4.2-e", "FCVI-5.9.7.3.1-01"],
    tags=["message", "streaming"],
    applies="client or server",
    variants=variants(
        levels=_RECEPTION, ops=("send", "rdma-write"), depth=3, choices=[("", {"applies": "pipeline_depth >= 3"})]
    )
    + variants(levels=_RECEPTION, ops=("send", "rdma-write"), choices=[("not-streamed", {})]),
)
def stream_fails(t: Scenario) -> None:
    """The tester answers Message 2 of four with RESP_ERR: Message 1 is good, 2 to 4 complete in error, the VI is in Error.

    A good response to Message 3 that comes after it changes nothing.
    """
    setup = open_connection(t)
    limit = t.params["attributes"]["FCVI_PIPELINE_DEPTH"] + 1
    waiting = _posted(t, setup, 4)
    open_now = _open_now(t, setup, waiting, limit)
    respond(t, setup, open_now.pop(0))
    expect_good(t, setup.vi, "send", "FCVI-6.3.1-01")
    t.control("the Message before it completed")
    if not open_now:
        open_now = _open_now(t, setup, waiting, limit)
    respond(t, setup, open_now.pop(0), _RESP_ERR | _DESC_ERR)
    for taken in open_now[:1]:
        respond(t, setup, taken)
    expect_error(t, setup, "FCVI-8.4.2-e", "after RESP_ERR")
    t.tolerate("SEND_RQST", "WRITE_RQST", "ABTS")  # what was under way; Exchanges of Messages that will not complete
    for number in (2, 3, 4):
        done = next_completion(t, setup.vi, "send", "FCVI-5.9.4.3-01")
        t.require(not done.good, "FCVI-5.9.4.3-01", f"Message {number} completed without error", sorted(done.status),
                  "an error bit")  # fmt: skip
        if number == 2:
            t.require("VIP_STATUS_REMOTE_DESC_ERROR" in done.status, "FCVI-5.9.7.3.1-01", "another status",
                      sorted(done.status), "VIP_STATUS_REMOTE_DESC_ERROR")  # fmt: skip


@case(
    REGISTRY,
    "E.3",
    "The DUT fails a Message of a stream",
    clause="E",
    requirements=[
        "FCVI-E-01", "FCVI-5.2.2-04", "FCVI-5.9.4.3-01", "FCVI-5.9.4.3-02", "FCVI-T06-1", "FCVI-5.9.7.3.1-05",
        "FCVI-6.3.1-01",
    ],  # fmt: skip
    errata=["E22"],
    tags=["message", "streaming"],
    applies="client or server",
    variants=variants(levels=_RECEPTION, classes=(3, 2), depth=3, choices=[("", {"applies": "pipeline_depth >= 3"})]),
)
def dut_fails_stream(t: Scenario) -> None:
    """Four Sends are streamed at two receive Descriptors: 1 and 2 are good, 3 gets RESP_ERR with DESC_ERR, 4 no success."""
    line = Line(t, descriptors=2)
    for number in range(1, 5):
        line.message(number, 2)
    transmit(t, [f for n in range(1, 5) for f in line.sent[n].frames])
    line.expect([1, 2], "FCVI-6.2.1-01")
    t.control("Messages 1 and 2 were delivered and answered")
    resp = expect_response(t, line.setup, line.sent[3], None)
    t.equal(resp, "DESC_ERR", 1, "FCVI-T06-1")
    exchange = line.sent[4].exchange
    t.until(lambda: t.peek(["SEND_RESP"], exchange) is not None, t.r_a_tov_us // 10)
    later = t.peek(["SEND_RESP"], exchange)
    if later is not None:
        later.taken = True
        t.equal(later, "RESP_ERR", 1, "FCVI-5.9.4.3-01")
    t.tolerate("DISCONNECT_RQST")


@case(
    REGISTRY,
    "E.6",
    "FCVI_MSG_ID of Disconnect IUs",
    clause="E",
    requirements=["FCVI-E-06", "FCVI-6.12.2-11", "FCVI-6.13.2-08"],
    errata=["E28"],
    tags=["message", "disconnect"],
    applies="client or server",
    variants=variants(
        levels=("unreliable", "reliable-delivery", "reliable-reception"),
        choices=[
            (f"{side}-{count}", {"side": side, "count": count})
            for side in ("dut-disconnects", "tester-disconnects") for count in (0, 3)
        ],
    ),
)  # fmt: skip
def last_completed(t: Scenario) -> None:
    """Messages go from the tester to the DUT only: the DUT's Disconnect IU tells the last that it completed, or 0.

    Which of a VI's two counts is meant is not said: the count of Messages sent, which is 0 here, is accepted as well.
    """
    line = Line(t)
    count = int(t.params["count"])
    line.good(1, count)
    if t.params["side"] == "dut-disconnects":
        call = t.start("VipDisconnect", vi=line.setup.vi)
        iu = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", why="after VipDisconnect")
        requirement = "FCVI-6.12.2-11"
        send_disconnect_resp(t, iu, line.setup.dut_handle)
        t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
    else:
        exchange = t.tester.open_exchange()
        t.send("DISCONNECT_RQST", exchange, {"FCVI_HANDLE": line.setup.dut_handle, "VI_APP_DISCON": 1})
        iu = t.expect("DISCONNECT_RESP", "FCVI-6.13.1-01", exchange=exchange, why="after FCVI_DISCONNECT_RQST")
        requirement = "FCVI-6.13.2-08"
    if count:
        t.equal(iu, "FCVI_MSG_ID", count, requirement, {0: "E28"})
    else:
        t.require(iu.dh("FCVI_MSG_ID") == 0, requirement, "FCVI_MSG_ID is not zero though no Message completed",
                  f"{iu.dh('FCVI_MSG_ID'):X}h", "0h", at=iu, erratum="E28")  # fmt: skip
    t.control("the Disconnect was exchanged")
