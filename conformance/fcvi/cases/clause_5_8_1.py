"""Clauses 5.8.1 and 7.3: what a port has to turn away: a frame that was damaged, and RDMA that the VI is not enabled for. And 3.4:
what it has to take, though not every port writes its frames so, with whatever OX_ID and RX_ID.
"""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario
from fcvi.fc import build
from fcvi.fc.message import Cut, Message, frames_of

from .clause_6_requests import originate
from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    Setup,
    check_state,
    connect_payload,
    disconnect_and_answer,
    expect_disconnect_resp,
    finish_accept,
    finish_wait,
    new_handle,
    send_disconnect_rqst,
    send_rqst,
    start_accept,
    start_wait,
)
from conformance.fcvi.steps.message_checks import answer, read_header
from conformance.fcvi.steps.messages import (
    deliver, expect_connected, expect_good, memory, open_connection, post, prepare, register, transmit, variants, written_otherwise,
)  # fmt: skip


@case(
    REGISTRY,
    "5.8.1.crc",
    "A frame with a wrong CRC",
    clause="5.8.1",
    requirements=["FCVI-5.8.1-01"],
    tags=["setup", "loss"],
    applies="server",
    variants=[Variant("", {"role": SERVER}), Variant("class2", {"role": SERVER}, "class2", {"class": 2})],
)
def damaged_frame(t: Scenario) -> None:
    """A FCVI_CONNECT_RQST whose CRC is wrong was never received (FC-FS): no answer. The next one, undamaged, connects."""
    wait = start_wait(t)
    handle = new_handle(t)
    damaged = Setup(SERVER, -1, t.tester.open_exchange(), t.rng.randrange(1, build.UNASSIGNED), tester_handle=handle)
    dh = {"FCVI_HANDLE": build.UNASSIGNED, "FCVI_FLAGS": 1, "FCVI_CONNECTION_ID": damaged.connection_id}
    payload = connect_payload(t, "CONNECT_RQST", handle)
    envelope = t.tester.envelope(damaged.exchange)
    for frame in t.tester.frames_of("CONNECT_RQST", damaged.exchange, envelope, dh, payload):
        frame.crc_ok = False
        t.tester.send_frame(frame, "its CRC is wrong")
    t.expect_nothing(["CONNECT_RESP1"], t.r_a_tov_us // 10, "FCVI-5.8.1-01", "to a frame with a wrong CRC", damaged.exchange)
    t.require(not wait.done, "FCVI-5.8.1-01", "VipConnectWait returned for a frame with a wrong CRC", "returned", "blocked")
    if wait.done:
        wait = start_wait(t)
    setup = send_rqst(t)
    start_accept(t, setup, finish_wait(t, wait))
    finish_accept(t, setup)
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    t.control("the undamaged request connected")


@case(
    REGISTRY,
    "5.8.3.other",
    "Frames of another TYPE",
    clause="5.8.3",
    requirements=["FCVI-5.8.3-01", "FCVI-6.2.1-01"],
    tags=["message"],
    applies="client or server",
    variants=variants(levels=("unreliable", "reliable-delivery"), ops=("send",), classes=(3, 2),
                      choices=[(f"{n:02x}", {"type": n}) for n in (0x59, 0xD8)]),
)  # fmt: skip
def another_type(t: Scenario) -> None:
    """What looks like a Message but has another TYPE is not for FC-VI (FC-FS): it completes nothing.

    The port may discard it, or refuse it in class 2; the Message with the same FCVI_MSG_ID is delivered then.
    """
    setup = open_connection(t)
    region = register(t, 32)
    post(t, setup.vi, "recv", region)
    message = Message("send", 1, t.rng.randbytes(32))
    of_another = prepare(t, setup, Message("send", 1, t.rng.randbytes(32)))
    t.tolerate("P_RJT", "ABTS")
    transmit(t, [build.changed(frame, {"TYPE": t.params["type"]}) for frame in of_another.frames], "of another FC-4")
    t.wait(t.r_a_tov_us // 10)
    completed = sum(c.vi == setup.vi for c in t.completions)  # what is posted is the device's, so its bytes say nothing
    t.require(completed == 0, "FCVI-5.8.3-01", "a frame of another TYPE completed a Descriptor", completed, 0)
    deliver(t, setup, message)
    expect_good(t, setup.vi, "recv", "FCVI-6.2.1-01", length=32)
    seen = memory(t, region)
    t.require(seen == message.data, "FCVI-6.2.1-01", "the Message was not delivered", seen[:16].hex(), message.data[:16].hex())
    t.control("the Message with TYPE 58h arrived")


#: What FC-FS gives no meaning to, or none that the recipient of a Message acts on.
_MEANS_NOTHING: list[tuple[str, dict[str, Any]]] = [(what, {"what": what}) for what in ("fill", "continue", "dscp", "last-in-all")]
_ACK_FORM: list[tuple[str, dict[str, Any]]] = [("ack-form", {"what": "ack-form"})]
_OPS = ("send", "rdma-write", "rdma-read")


@case(
    REGISTRY,
    "3.4.messages",
    "What has no meaning in the frames of a Message is not looked at",
    clause="3.4, 5.8.1",
    requirements=["FCVI-3.4-04", "FCVI-5.8.1-01"],
    tags=["message", "fields"],
    applies="client or server",
    variants=variants(levels=("reliable-delivery",), ops=_OPS, classes=(3, 2), choices=_MEANS_NOTHING)
    + variants(levels=("reliable-delivery",), ops=_OPS, choices=_ACK_FORM),
)  # fmt: skip
def meaningless_in_messages(t: Scenario) -> None:
    """Messages of the tester are taken whatever their fill bytes hold, with a Continue Sequence Condition, a code point for
    differentiated services in CS_CTL, Last_Sequence in each frame of the last Sequence, or in class 3 an ACK_Form.
    """
    setup = open_connection(t)
    cut = Cut(frame=100, ius=2)
    for number, size in enumerate((41, 242, 303), 1):  # three, two and one fill bytes
        data = t.rng.randbytes(size)
        if t.params["op"] == "rdma-read":
            taken, buffer = originate(t, setup, number, size)
            t.tester.assign_rx_id(taken.exchange)
            header = read_header(setup, taken)
            frames = frames_of(t.tester, taken.exchange, "READ_RESP", header, data, answered=False, cut=cut)
        else:
            buffer = register(t, size, write=True)
            if t.params["op"] == "send":
                post(t, setup.vi, "recv", buffer)
            remote = (buffer.va, buffer.handle) if t.params["op"] == "rdma-write" else (0, 0)
            frames = prepare(t, setup, Message(str(t.params["op"]), number, data, None, *remote), cut).frames
        transmit(t, written_otherwise(t, str(t.params["what"]), frames))
        if t.params["op"] != "rdma-write":
            expect_good(t, setup.vi, "recv" if t.params["op"] == "send" else "send", "FCVI-3.4-04", length=size)
        t.owed(lambda: memory(t, buffer, size) == data)  # noqa: B023
        seen = memory(t, buffer, size)
        t.require(seen == data, "FCVI-3.4-04", "the data are not in their place", seen[:12].hex(), data[:12].hex())
    check_state(t, setup.vi, "connected", "FCVI-3.4-04")
    t.control("the Messages arrived")


_BELOW_ZERO = 0xFFFD  # then FFFEh, and zero: FFFFh is no X_ID (FC-FS)


@case(
    REGISTRY,
    "5.8.1.rx-id",
    "Any RX_ID of a responder, or none",
    clause="5.8.1",
    requirements=["FCVI-5.8.1-01", "FCVI-8.2-b1", "FCVI-6.3.1-01", "FCVI-6.5.1-01", "FCVI-6.7.1-02", "FCVI-8.1-03"],
    tags=["setup", "message"],
    applies="client or server",
    variants=variants(levels=("reliable-delivery",), ops=("rdma-read",), classes=(3, 2), choices=[("reliable-delivery", {})])
    + variants(levels=("reliable-reception",), ops=("send", "rdma-write", "rdma-read"), classes=(3, 2),
               choices=[("", {}), ("around-zero", {"first": _BELOW_ZERO})]),
)  # fmt: skip
def any_rx_id(t: Scenario) -> None:
    """The tester answers with RX_ID FFFFh in every Exchange that the DUT begins: it need not use RX_IDs (FC-FS). OX_ID names the
    Exchange, so the setup, the responses to Messages and that to a Disconnect are taken all the same. So they are with the
    highest RX_ID and with zero.
    """
    t.tester.uses_rx_ids = "first" in t.params
    t.tester.next_rx_id = int(t.params.get("first", 0))
    setup = open_connection(t)
    for number in range(1, 5):
        taken, _ = originate(t, setup, number, 300)
        answer(t, setup, taken)
        expect_good(t, setup.vi, "send", "FCVI-5.8.1-01", length=300)
    expect_connected(t, setup, "FCVI-5.8.1-01", "with answers that have such an RX_ID")
    t.control("Messages whose answers had such an RX_ID completed")
    disconnect_and_answer(t, setup)


@case(
    REGISTRY,
    "5.8.1.ox-id",
    "Any OX_ID of an originator",
    clause="5.8.1",
    requirements=["FCVI-5.8.1-01", "FCVI-5.4-01", "FCVI-6.2.1-01", "FCVI-6.3.1-01", "FCVI-6.13.1-01"],
    tags=["setup", "message"],
    applies="client or server",
    variants=variants(levels=("reliable-delivery", "reliable-reception"), classes=(3, 2), roles=(CLIENT, SERVER)),
)
def any_ox_id(t: Scenario) -> None:
    """The Exchanges of the tester have the highest OX_IDs and then zero: a request for a connection, Messages and a Disconnect."""
    t.tester.next_ox_id = _BELOW_ZERO
    setup = open_connection(t)
    for number in range(1, 5):
        data, buffer = t.rng.randbytes(300), register(t, 300)
        post(t, setup.vi, "recv", buffer)
        deliver(t, setup, Message("send", number, data))
        expect_good(t, setup.vi, "recv", "FCVI-5.8.1-01", length=300)
        t.require(memory(t, buffer) == data, "FCVI-6.2.1-01", "a Send was not placed", "other bytes", "its data")
    t.control("Messages with such OX_IDs arrived")
    exchange = send_disconnect_rqst(t, handle=setup.dut_handle, connection_id=0, abort=0)
    expect_disconnect_resp(t, exchange, connection_id=0, abort=0, handle=setup.tester_handle)


@case(
    REGISTRY,
    "7.3.enabled",
    "RDMA at a VI that is not enabled for it",
    clause="7.3",
    requirements=["FCVI-T17-1", "FCVI-T17-0"],
    errata=["E22", "E42"],
    tags=["message", "rdma", "error"],
    applies="client or server",
    variants=variants(levels=("unreliable", "reliable-delivery", "reliable-reception"), ops=("rdma-write", "rdma-read"),
                      choices=[("", {"not_enabled": True})]),
)  # fmt: skip
def not_enabled(t: Scenario) -> None:
    """The DUT's VI says EnRdmaWr or EnRdmaRd 0: nothing is written to its memory, and nothing of it given away.

    The memory itself is open to RDMA. What becomes of the connection is the business of the Reliability Level; a response
    says RESP_ERR.
    """
    op = str(t.params["op"])
    attributes = {**t.params["attributes"], "EnRdmaWr": 0, "EnRdmaRd": 0}
    t.params = {**t.params, "attributes": attributes}
    setup = open_connection(t)
    t.control("a Connection Setup completed")
    secret = t.rng.randbytes(48)
    region = register(t, 48, write=True, read=True, data=secret)
    data = b"" if op == "rdma-read" else t.rng.randbytes(32)
    sent = prepare(t, setup, Message(op, 1, data, None, region.va, region.handle, total=32))
    transmit(t, sent.frames)
    kind, requirement = ("READ_RESP", "FCVI-T17-0") if op == "rdma-read" else ("WRITE_RESP", "FCVI-T17-1")
    t.owed(lambda: t.peek([kind], sent.exchange) is not None)
    answer = t.peek([kind], sent.exchange)
    if answer is not None:
        answer.taken = True
        t.equal(answer, "RESP_ERR", 1, requirement)
        if op == "rdma-read":
            given = len(answer.payload) >= 8 and answer.payload in secret
            t.require(not given, requirement, "memory was given away", answer.payload[:16].hex(), "no data", at=answer)
    seen = memory(t, region)
    t.require(seen == secret, requirement, "memory was written", seen[:16].hex(), secret[:16].hex())
    t.tolerate("READ_RESP", "WRITE_RESP", "DISCONNECT_RQST", "ABTS")
