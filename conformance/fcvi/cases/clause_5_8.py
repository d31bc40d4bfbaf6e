"""Clauses 5.8 and 7.3: Preference, Sequence Initiative and how many Messages may be open."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.engine.case import Variant, case
from fcvi.fc.message import Message
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from .clause_6_requests import originate
from .clause_7_7_1 import ROLES, connect_as
from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    Setup,
    check_resp2,
    check_state,
    create_vi,
    disconnect_and_answer,
    expect_accept,
    finish_accept,
    finish_wait,
    send_resp1,
    send_resp3,
    send_rqst,
    start_request,
    start_wait,
    take_resp2,
)
from conformance.fcvi.steps.message_checks import respond, respond_with
from conformance.fcvi.steps.messages import RR, expect_good, expect_response, level_of, open_connection, prepare, transmit, variants
from conformance.fcvi.steps.neighbours import UNHURRIED
from conformance.fcvi.steps.traffic import answer_send, delivered, expect_send, post_recv, post_send

PART_OF_REPORT = 4

_RR = {"FCVI_RELIABILITY_LVL": 3}
_CLASSES: tuple[tuple[str, str, dict[str, Any]], ...] = (("", "", {}), ("/class2", " and class2", {"class": 2}))


def _preference(t: Scenario, frames: Received, wanted: int) -> None:
    """PREF of every frame of a Message IU. Where F_CTL bit 17 says so, CS_CTL has a priority and no PREF (FC-FS)."""
    for number, frame in zip(frames.numbers, frames.frames):
        if frame.header("Priority_Enable"):
            continue
        seen, (byte, bits) = frame.header("PREF"), frame.where("FC", "PREF")
        for requirement in (
            ("FCVI-5.8.2-03", "FCVI-7.3-07") if wanted else ("FCVI-5.8.2-04", "FCVI-7.3-08")
        ) + ("FCVI-5.8.2-01", "FCVI-5.8.2-02"):  # fmt: skip
            t.require(seen == wanted, requirement, f"PREF of frame {number}", seen, wanted, at=frames, byte=byte, bits=bits)


def _connect_or_refuse(t: Scenario) -> Optional[Setup]:
    """A setup, which the DUT may refuse where FCVI_PREF is not equal (E34). None: it did so, and accepts one where it is."""
    own, other = bool(t.params["preference"]), bool(t.params["tester_preference"])
    if own == other:
        return connect_as(t)
    refused = _refused_as_client(t) if t.params["role"] == CLIENT else _refused_as_server(t)
    if isinstance(refused, Setup):
        return refused
    t.report("FCVI-5.8.2-05", "unequal FCVI_PREF is refused", refused, "a connection", erratum="E34")
    t.params = {**t.params, "tester_preference": own}
    connect_as(t)
    t.control("a setup with equal FCVI_PREF completed")
    return None


def _advertised(t: Scenario) -> int:
    """What FCVI_PREF of the DUT's connect payload said; a provider may decide for Preference by itself (5.8.2)."""
    setup = next(r for r in reversed(t.tester.inbox) if r.kind in ("CONNECT_RQST", "CONNECT_RESP1"))
    return setup.number("CONN", "FCVI_LOC_ATTRS.FCVI_QOS.FCVI_PREF") >> 7


def _refused_as_client(t: Scenario) -> Setup | str:
    setup = start_request(t)
    handle = send_resp1(t, setup)
    resp2 = take_resp2(t, setup, "after an accepting RESP1")
    assert setup.call is not None
    code = t.finish(setup.call, "FCVI-8.2-b1")
    send_resp3(t, setup)
    t.settle()
    if resp2.dh("CONN_STS"):
        return code
    check_resp2(t, resp2, setup, handle)
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    return setup


def _refused_as_server(t: Scenario) -> Setup | str:
    wait = start_wait(t)
    setup = send_rqst(t)
    conn = finish_wait(t, wait)
    setup.vi = create_vi(t)
    setup.call = call = t.start("VipConnectAccept", conn=conn, vi=setup.vi)
    t.owed(lambda: call.done or t.peek(["CONNECT_RESP1"], setup.exchange) is not None)
    if call.done and call.returned() != "VIP_SUCCESS":
        t.tolerate("CONNECT_RESP1", "CONNECT_RESP3")
        return call.returned()
    expect_accept(t, setup)
    finish_accept(t, setup)
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    return setup


@case(
    REGISTRY,
    "5.8.2",
    "Preference",
    clause="5.8.2, 7.3",
    requirements=[
        "FCVI-5.8.2-01", "FCVI-5.8.2-02", "FCVI-5.8.2-03", "FCVI-5.8.2-04", "FCVI-5.8.2-05", "FCVI-7.3-07", "FCVI-7.3-08",
    ],
    errata=["E34"],
    tags=["message", "fields"],
    applies="(client or server) and send and unreliable_delivery",
    variants=[
        Variant(
            f"{role}/dut-{'on' if own else 'off'}/tester-{'on' if other else 'off'}{suffix}",
            {"role": role, "preference": own, "tester_preference": other},
            f"{pics} and preference{extra}" if own else pics + extra, {"receive_size": 256, **config},
        )
        for role, pics, _ in ROLES
        for own in (True, False)
        for other in (True, False)
        for suffix, extra, config in _CLASSES
    ],  # fmt: skip
)
def preference(t: Scenario) -> None:
    """Every frame of the DUT's Messages has PREF as its own FCVI_PREF said, whatever the other Endpoint uses.

    Messages of the tester are received with either setting. A device may refuse unequal FCVI_PREF at setup as a
    mismatch of QOS (E34).
    """
    setup = _connect_or_refuse(t)
    if setup is None:
        return
    wanted = _advertised(t)
    if t.params["preference"]:
        t.require(wanted == 1, "FCVI-5.8.2-03", "FCVI_PREF of a VI with Preference", "00h", "80h")
    for number in (1, 2):
        data = t.rng.randbytes(600)
        post_send(t, setup.vi, data)
        iu = expect_send(t, setup, number, data, "FCVI-6.2.1-01")
        _preference(t, iu, wanted)
    buffer, data = post_recv(t, setup.vi, 500), t.rng.randbytes(500)
    exchange = t.tester.open_exchange()
    dh = {"FCVI_HANDLE": setup.dut_handle, "FCVI_MSG_ID": 1, "FCVI_TOT_LEN": len(data)}
    t.send("SEND_RQST", exchange, dh, data, {"PREF": int(bool(t.params["tester_preference"]))})
    delivered(t, buffer, data, "FCVI-6.2.1-01")
    check_state(t, setup.vi, "connected", "FCVI-8.2-d1")
    t.control("Messages passed in both directions")


@case(
    REGISTRY,
    "5.8.2.rdma",
    "Preference of RDMA and of what ends the Connection",
    clause="5.8.2, 7.3",
    requirements=["FCVI-5.8.2-01", "FCVI-5.8.2-02", "FCVI-5.8.2-03", "FCVI-7.3-07"],
    errata=["E34"],
    tags=["message", "rdma", "fields"],
    applies="client or server",
    variants=variants(
        levels=("reliable-delivery", "reliable-reception"), ops=("rdma-write", "rdma-read"), classes=(3, 2),
        choices=[("", {"preference": True, "tester_preference": True, "applies": "preference", "config": {"receive_size": 256}})],
    ),
)  # fmt: skip
def preference_of_rdma(t: Scenario) -> None:
    """Every frame of an RDMA request has PREF where FCVI_PREF of the DUT says so; a Disconnect IU never has it."""
    setup = open_connection(t)
    wanted = _advertised(t)
    t.require(wanted == 1, "FCVI-5.8.2-03", "FCVI_PREF of a VI with Preference", "00h", "80h")
    for number, size in enumerate((600, 8), 1):
        taken, _ = originate(t, setup, number, size)
        for iu in taken.ius:
            _preference(t, iu, wanted)
        if t.params["op"] == "rdma-read":
            respond_with(t, setup, taken, t.rng.randbytes(size))
        elif level_of(t) == RR:
            respond(t, setup, taken)
        expect_good(t, setup.vi, "send", "FCVI-6.7.1-02" if t.params["op"] == "rdma-read" else "FCVI-6.4.1-01", length=size)
    disconnect_and_answer(t, setup)
    t.control("RDMA passed, and the Connection ended")


@case(
    REGISTRY,
    "5.8.4",
    "Sequence Initiative and the end of the Exchange",
    clause="5.8.4, 5.8.6",
    requirements=["FCVI-5.8.4-02", "FCVI-5.8.4-03", "FCVI-5.8.6-02"],
    errata=["E18"],
    tags=["message", "fields"],
    applies="(client or server) and send and reliable_reception",
    variants=[
        Variant(f"{role}/{size}-bytes{suffix}", {"role": role, "size": size, "attributes": _RR}, f"{pics}{extra}",
                {"receive_size": 256, **config})
        for role, pics, _ in ROLES
        for size in (1, 700)
        for suffix, extra, config in _CLASSES
    ],  # fmt: skip
)
def initiative(t: Scenario) -> None:
    """With a response due the last frame of the request passes Sequence Initiative and does not end the Exchange.

    The response ends it. No SEQ_CNT comes twice in a Sequence.
    """
    setup: Setup = connect_as(t)
    data = t.rng.randbytes(int(t.params["size"]))
    post_send(t, setup.vi, data)
    request = expect_send(t, setup, 1, data, "FCVI-6.2.1-01")
    t.equal(request, "Sequence_Initiative", 1, "FCVI-5.8.4-02")
    t.equal(request, "Last_Sequence", 0, "FCVI-5.8.4-02")
    counts = [frame.get("FC", "SEQ_CNT") for frame in request.frames]
    if len(counts) > 1:
        same = len(counts) - len(set(counts))
        t.require(same == 0, "FCVI-5.8.6-02", "a SEQ_CNT twice in a Sequence", counts, "each once", at=request)
    answer_send(t, setup, request)
    buffer = post_recv(t, setup.vi, len(data))
    sent = prepare(t, setup, Message("send", 1, data))
    transmit(t, sent.frames)
    response = expect_response(t, setup, sent)
    t.equal(response, "Last_Sequence", 1, "FCVI-5.8.4-03")
    delivered(t, buffer, data, "FCVI-6.2.1-01")
    t.control("Messages passed in both directions")


@case(
    REGISTRY,
    "7.3.14",
    "FCVI_PIPELINE_DEPTH",
    clause="7.3",
    requirements=["FCVI-7.3-14"],
    errata=["E33"],
    tags=["message"],
    applies="(client or server) and send and reliable_reception",
    variants=[
        Variant(f"{role}/{depth}", {"role": role, "attributes": {**_RR, "FCVI_PIPELINE_DEPTH": depth}},
                f"{pics} and pipeline_depth >= {depth}", UNHURRIED)
        for role, pics, _ in ROLES
        for depth in (0, 1, 3)
    ],  # fmt: skip
)
def pipeline(t: Scenario) -> None:
    """No more than N + 1 Messages are open while the tester answers none; when it answers, the others follow in order."""
    depth = int(t.params["attributes"]["FCVI_PIPELINE_DEPTH"])
    setup = connect_as(t)
    total = depth + 4
    messages = [t.rng.randbytes(20) for _ in range(total)]
    for data in messages:
        post_send(t, setup.vi, data)
    t.wait(t.r_a_tov_us // 10)
    requests = [r for r in t.tester.inbox if r.kind == "SEND_RQST" and not r.taken]
    waiting = list({r.dh("FCVI_MSG_ID"): r for r in requests}.values())  # one Message may come in several IUs (5.2.2)
    t.require(
        len(waiting) <= depth + 1, "FCVI-7.3-14", "more Messages are open than the pipeline allows", len(waiting),
        f"at most {depth + 1}", at=waiting[-1] if waiting else None,
    )  # fmt: skip
    for number, data in enumerate(messages, 1):
        request = expect_send(t, setup, number, data, "FCVI-6.2.1-01")
        answer_send(t, setup, request)
    t.owed(lambda: sum(c.queue == "send" for c in t.completions) == total)
    done = sum(c.queue == "send" and c.good for c in t.completions)
    t.require(done == total, "FCVI-6.2.1-01", "not every Message completed", done, total)
    t.control("all Messages came once they were answered")
