"""Annex C.5.5: from when on Messages are received and sent around the end of a Connection Setup."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Completion

from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    Setup,
    accept_request,
    check_resp3,
    check_state,
    control_setup,
    create_vi,
    finish_wait,
    not_timed_out,
    send_resp2,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
    take_resp3,
)
from conformance.fcvi.steps.traffic import FLUSHED, delivered, expect_send, post_recv, post_send, send_message

PART_OF_REPORT = 5

_MESSAGES = "unreliable_delivery and send"
_RELIABLE = {"attributes": {"FCVI_RELIABILITY_LVL": 3}}
_OVERTAKES = ("out_of_order_fabric", {"fabric": "out-of-order"})


@case(
    REGISTRY,
    "C.5.5",
    "Messages around the end of the setup are received",
    clause="C.5.5",
    requirements=["FCVI-4.2-42", "FCVI-C.5.5-01", "FCVI-C.5.5-02"],
    errata=["E73", "E74"],
    tags=["setup", "message"],
    applies=f"(client or server) and {_MESSAGES}",
    variants=[
        Variant(f"{role}/behind", {"role": role, "overtakes": False}, pics)
        for role, pics in ((CLIENT, "client"), (SERVER, "server"))
    ]
    + [
        Variant(f"{role}/overtaking", {"role": role, "overtakes": True}, f"{pics} and {_OVERTAKES[0]}", _OVERTAKES[1])
        for role, pics in ((CLIENT, "client"), (SERVER, "server"))
    ]
    + [Variant(f"{SERVER}/behind/class2", {"role": SERVER, "overtakes": False}, "server and class2", {"class": 2})],
)
def received_at_once(t: Scenario) -> None:
    """The tester sends a Message as soon as it may: behind its last setup IU, or before it on a Fabric that swaps them.

    The Endpoint of the DUT has been bound and enabled before, so the Message is delivered.
    """
    data = t.rng.randbytes(50)
    last = "CONNECT_RESP3" if t.params["role"] == CLIENT else "CONNECT_RESP2"
    if t.params["role"] == CLIENT:
        setup = start_request(t)
        accept_request(t, setup)
    else:
        wait = start_wait(t)
        setup = send_rqst(t)
        start_accept(t, setup, finish_wait(t, wait))
    buffer = post_recv(t, setup.vi)
    if t.params["overtakes"]:
        t.tester.link.reorder("tester", last)
    if t.params["role"] == CLIENT:
        send_resp3(t, setup)
    else:
        send_resp2(t, setup)
    send_message(t, setup, 1, data)
    if t.params["role"] == SERVER:
        resp3 = t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after RESP2")
        check_resp3(t, resp3, setup)
        assert setup.call is not None
        t.finish(setup.call, "FCVI-8.2-b1", returns="VIP_SUCCESS")
    delivered(t, buffer, data, "FCVI-4.2-42")
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    t.control("the setup completed and the Message was delivered")


@case(
    REGISTRY,
    "C.5.5.pending",
    "No Descriptor completes while the setup is pending",
    clause="C.5.5",
    requirements=["FCVI-C.5.5-04", "FCVI-C.5.5-06", "FCVI-8.2-b2"],
    errata=["E62"],
    tags=["setup", "message", "timing"],
    applies=f"client and {_MESSAGES}",
    variants=[Variant("", {"role": CLIENT})],
)
def nothing_completes_while_pending(t: Scenario) -> None:
    """A posted receive Descriptor stays posted until T1; then it is flushed, or stays posted in Idle (E62)."""
    vi = create_vi(t)
    post_recv(t, vi)
    setup = start_request(t, timeout_us=t.r_a_tov_us // 2, vi=vi)
    t.wait(t.r_a_tov_us // 4)
    t.require(not t.completions, "FCVI-C.5.5-04", "a Descriptor completed while pending", t.completions, "none")
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.2-b2", returns="VIP_TIMEOUT")
    check_state(t, vi, "idle", "FCVI-8.2-b2")
    t.wait(t.pixit.late_us)
    wrong = [c for c in t.completions if FLUSHED not in c.status]
    t.require(not wrong, "FCVI-C.5.5-06", "the Descriptor completed, and not as flushed", wrong, "flushed or posted")
    t.tolerate("ABTS")
    control_setup(t)


@case(
    REGISTRY,
    "C.5.5.server",
    "A server sends after FCVI_CONNECT_RESP3 only",
    clause="C.5.5",
    requirements=["FCVI-5.9.3-03", "FCVI-4.2-25", "FCVI-6.2.1-01"],
    errata=["E74"],
    tags=["setup", "message"],
    applies=f"server and {_MESSAGES}",
    variants=[Variant("", {"role": SERVER}), Variant("class2", {"role": SERVER}, "class2", {"class": 2})],
)
def server_sends_last(t: Scenario) -> None:
    """A Send posted while VipConnectAccept is under way, and one posted after it: no Message before RESP3."""
    wait = start_wait(t)
    setup = send_rqst(t)
    start_accept(t, setup, finish_wait(t, wait))
    early = post_or_refuse(t, setup)
    t.expect_nothing(["SEND_RQST"], t.r_a_tov_us // 10, "FCVI-5.9.3-03", "before FCVI_CONNECT_RESP3")
    send_resp2(t, setup)
    resp3 = take_resp3(t, setup, "after RESP2")
    if resp3 is not None:
        check_resp3(t, resp3, setup)
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.2-b1", returns="VIP_SUCCESS")
    if early == "VIP_SUCCESS":  # it goes out, or ends in error; a device may take its time for either
        t.owed(lambda: t.peek(["SEND_RQST"]) is not None or bool(_failed(t, setup)))
    sent = t.peek(["SEND_RQST"])
    if sent is not None:
        t.require(
            resp3 is None or sent.numbers[0] > resp3.numbers[-1], "FCVI-5.9.3-03", "a Message before FCVI_CONNECT_RESP3", sent,
            "after it", at=sent,
        )  # fmt: skip
        sent.taken = True
        t.equal(sent, "FCVI_MSG_ID", 1, "FCVI-5.9.6-03")
    t.log.append(f"the Send posted early {'went out' if sent else 'did not go out'}; posting it returned {early}")
    data = t.rng.randbytes(30)
    post_send(t, setup.vi, data)
    expect_send(t, setup, 2 if sent else 1, data, "FCVI-6.2.1-01")
    t.control("the Message came after the setup")


def _failed(t: Scenario, setup: Setup) -> list[Completion]:
    return [c for c in t.completions if c.vi == setup.vi and c.queue == "send" and not c.good]


def post_or_refuse(t: Scenario, setup: Setup) -> str:
    """VipPostSend before the VI is Connected: VIPL may refuse it, or complete it in error."""
    mem = t.call("VipRegisterMem", length=8, rdma_write=False, rdma_read=False, fill="11").integer("mem")
    segments = [{"mem": mem, "offset": 0, "length": 8}]
    call = t.call("VipPostSend", vi=setup.vi,
                  descriptor={"op": "send", "segments": segments, "remote": None, "immediate": None})  # fmt: skip
    return call.returned()


@case(
    REGISTRY,
    "C.5.10.response",
    "A client answers Messages after FCVI_CONNECT_RESP3",
    clause="C.5.10",
    requirements=["FCVI-C.5.10-02", "FCVI-6.3.1-01", "FCVI-4.2-42"],
    errata=["E75"],
    tags=["setup", "message"],
    applies="client and reliable_reception and send and out_of_order_fabric",
    variants=[
        Variant("", {"role": CLIENT, **_RELIABLE}, "", _OVERTAKES[1]),
        Variant("class2", {"role": CLIENT, **_RELIABLE}, "class2", {**_OVERTAKES[1], "class": 2}),
    ],
)
def response_after_resp3(t: Scenario) -> None:
    """A Message on Reliable Reception overtakes FCVI_CONNECT_RESP3: it is answered, and rather after RESP3 (E75)."""
    setup = start_request(t)
    buffer = post_recv(t, setup.vi)  # while the DUT waits for no more than its first answer
    accept_request(t, setup)
    data = t.rng.randbytes(20)
    t.tester.link.delay("tester", "CONNECT_RESP3", t.r_a_tov_us // 10)
    arrives_us = t.now_us + t.r_a_tov_us // 10
    send_resp3(t, setup)
    exchange = send_message(t, setup, 1, data)
    t.until(lambda: t.peek(["SEND_RESP"]) is not None, t.r_a_tov_us // 20)
    t.require(t.peek(["SEND_RESP"]) is None, "FCVI-C.5.10-02", "FCVI_SEND_RESP before RESP3", "FCVI_SEND_RESP", "none")
    t.owed(lambda: t.peek(["SEND_RESP"], exchange) is not None or t.peek(["ABTS"], setup.exchange) is not None)
    abts = t.peek(["ABTS"], setup.exchange)
    if abts is not None and abts.time_us <= arrives_us + t.pixit.late_us:
        not_timed_out(t, setup, "the delayed FCVI_CONNECT_RESP3")
    response = t.expect("SEND_RESP", "FCVI-6.3.1-01", exchange=exchange, why="in Reliable Reception")
    t.equal(response, "FCVI_MSG_ID", 1, "FCVI-4.2-11")
    delivered(t, buffer, data, "FCVI-4.2-42")
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    t.control("the Message was delivered and answered")
