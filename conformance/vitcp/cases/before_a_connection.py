"""Clause 2.2.2.1: what a VI does before it is connected, and one transfer of each kind once it is."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.engine.scenario import NotThere
from fcvi.vitcp import wire
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.wire import READ_REQUEST, WRITE

from conformance.vitcp.steps.connection import (
    CLIENT, PENDING, REGISTRY, UNRELIABLE, Link, asked, call_out, check_state, connect, create, roles, roles_and_levels,
)  # fmt: skip
from conformance.vitcp.steps.messages import (
    acknowledge, alive, answer, ask, completion, contents, deliver, emit, message, pattern, post_receive, post_send, received,
    register, respond, response, segments, send, sent, write,
)  # fmt: skip


@case(
    REGISTRY,
    "TCP.2.2.2.2.4.a",
    "The timestamp option of TCP",
    clause="2.2.2.2.4",
    requirements=["VITCP-2.2.2.2.4-01"],
    applies="tcp",
    variants=roles(),
)
def timestamps(t: Scenario) -> None:
    """Both ends of a TCP connection have the option; its absence is a notice. Kernel sockets tell of it, others do not."""
    link = connect(t)
    alive(link)
    has = link.stream.timestamps
    if has is None:
        raise NotThere("the attachment does not tell the options of TCP: --dut vitcp:HOST:PORT does")
    t.require(has, "VITCP-2.2.2.2.4-01", "the DUT does without the timestamp option of TCP", "absent", "present")


@case(
    REGISTRY,
    "TCP.2.2.2.1.a",
    "Nothing crosses before a connection",
    clause="2.2.2.1",
    requirements=["VITCP-2.2.2.1-03", "VITCP-2.2.2.1-04"],
    errata=["V76"],
    applies="tcp and client",
    variants=[Variant("idle", {"pending": False}), Variant("pending", {"pending": True})],
)
def nothing_before(t: Scenario) -> None:
    """VipCreateVi opens no TCP connection. A Send posted in Idle, or while VipConnectRequest waits for its answer, is not sent
    and completes in error; the same VI connects afterwards.
    """
    vi = create(t)
    t.wait(t.nop_bound_us)
    t.require(not t.tester.opened, "VITCP-2.2.2.1-03", "VipCreateVi opens a TCP connection", len(t.tester.opened), "none")
    region = register(t, 64, data=pattern(64))
    descriptor = {"op": "send", "segments": [{"mem": region.mem, "offset": 0, "length": 64}]}
    stream = None
    if t.params["pending"]:
        call_out(t, vi)
        stream = t.expect_stream("VITCP-4.2-01")
        asked(t, stream)
        check_state(t, vi, PENDING, "VITCP-4.2-01")
    t.call("VipPostSend", vi=vi, descriptor=descriptor)
    t.owed(lambda: bool(t.completed(vi, "send")))
    done = t.completed(vi, "send")
    if t.require(bool(done), "VITCP-2.2.2.1-04", "a Send posted before the connection stays", "no completion", "an error"):
        t.require(not done[0].good, "VITCP-2.2.2.1-04", "a Send posted before the connection completes well", "no error",
                  "an error")
    crossed = [r for r in t.tester.inbox if not r.taken and r.pdu.kind not in wire.CE]
    t.require(not crossed, "VITCP-2.2.2.1-04", "a PDU leaves before the connection", str(crossed[:1]), "none")
    if stream is None:
        t.require(not t.tester.opened, "VITCP-2.2.2.1-04", "VipPostSend opens a TCP connection", "one", "none")
    else:
        t.call("VipDisconnect", vi=vi)
        t.expect_end(stream, "VITCP-2.2.2.2.2-04", why="after VipDisconnect")
    alive(connect(t, CLIENT, vi=vi))


@case(
    REGISTRY,
    "TCP.2.2.2.1.b",
    "Connect calls on a VI that is not Idle",
    clause="2.2.2.1",
    requirements=["VITCP-2.2.2.1-05"],
    applies="tcp",
    variants=roles(),
)
def not_idle(t: Scenario) -> None:
    """VipConnectRequest and VipConnectAccept with a VI that is connected return VIP_INVALID_STATE and send nothing; the
    connection that it has stays. A NOP may come in any idle moment (3.1).
    """
    link = connect(t)
    before = len(t.tester.inbox)
    call = call_out(t, link.vi)
    t.owed(lambda: call.done)
    code = call.returned() if call.done else "no return"
    t.require(code == "VIP_INVALID_STATE", "VITCP-2.2.2.1-05", "VipConnectRequest on a connected VI", code, "VIP_INVALID_STATE")
    t.require(not t.tester.opened, "VITCP-2.2.2.1-05", "VipConnectRequest on a connected VI opens TCP", "one stream", "none")
    said = [str(one) for one in t.tester.inbox[before:] if one.pdu.kind != wire.NOP]
    t.require(not said, "VITCP-2.2.2.1-05", "VipConnectRequest on a connected VI sends something", said[:1], "nothing")
    alive(link)


@case(
    REGISTRY,
    "TCP.2.2.2.1.c",
    "One transfer of each kind",
    clause="2.2.2.1",
    requirements=["VITCP-2.1-02", "VITCP-2.2.2.1-06", "VITCP-3.1-06", "VITCP-3.1-07"],
    errata=["V09", "V10", "V11"],
    applies="tcp and send",
    variants=roles_and_levels(),
)
def each_kind(t: Scenario) -> None:
    """A Send each way, and at what the device supports an RDMA Write and an RDMA Read each way, of one and of many segments."""
    link = connect(t)
    for length in (1, 5000):
        deliver(link, pattern(length))
        emit(link, pattern(length, 3))
    _past_a_receive(link)
    _into_nothing(link)
    if t.pics["rdma_write"]:
        _writes(t, link)
    if t.pics["rdma_read"] and link.level != UNRELIABLE:
        _reads(t, link)
    t.control("each kind of transfer has taken place")


def _past_a_receive(link: Link) -> None:
    """A receive Descriptor that waits while the device sends is still there for the Send that comes afterwards."""
    data = pattern(300, 7)
    region = post_receive(link, 512)
    emit(link, pattern(50, 4))
    send(link, segments(link, data))
    received(link, region, data, "VITCP-2.1-02")


def _into_nothing(link: Link) -> None:
    """A receive Descriptor without segments takes a Send without data, and the Immediate Data of an RDMA Write with some."""
    t, ways = link.t, ["send"] + ["write"] * bool(link.t.pics["rdma_write"] and link.t.pics["immediate_data"])
    for way in ways:
        link.post()
        code = t.call("VipPostRecv", vi=link.vi, descriptor={"op": "recv", "segments": []}).returned()
        t.require(code == "VIP_SUCCESS", "VITCP-2.1-02", "VipPostRecv without segments", code, "VIP_SUCCESS")
        t.settle()
        early = t.completed(link.vi, "recv")[link.completions["recv"] :]
        t.demand(not early, "VITCP-2.2.2.1-06", "a receive Descriptor without segments completes by itself", str(early[:1]), "none")
        if way == "send":
            send(link, segments(link, b""))
        else:
            write(link, register(t, 64, write=True), pattern(20), immediate=9)
        done = completion(link, "recv", "VITCP-2.2.2.1-06", f"for a {way} that needs no segment")
        t.require(done.good, "VITCP-2.2.2.1-06", "a receive Descriptor without segments is in error", sorted(done.status),
                  "no error bit")
        given = None if way == "send" else 9
        t.require(done.immediate == given, "VITCP-3.1-06", "the Immediate Data received", done.immediate, given)


def _writes(t: Scenario, link: Link) -> None:
    target = register(t, 4096, write=True)
    data = pattern(3000, 5)
    write(link, target, data, 96)
    t.owed(lambda: contents(t, target)[96:3096] == data)
    t.require(contents(t, target)[96:3096] == data, "VITCP-2.2.2.1-06", "an RDMA Write does not arrive", "other bytes",
              "those sent")
    post_send(link, data, "rdma-write", remote=(0x12345678000, 0xBEEF))
    now = message(link, WRITE, data, "VITCP-2.2.2.1-06", "after VipPostSend")
    if link.reliable:
        acknowledge(link, now.number)
    sent(link)


def _reads(t: Scenario, link: Link) -> None:
    data = pattern(3000, 9)
    source = register(t, 3000, read=True, data=data)
    response(link, ask(link, source.va, source.handle, 3000), data)
    region = register(t, 2500)
    post_send(link, op="rdma-read", remote=(0x7700, 0xBEEF), region=region, length=2500)
    now = message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06", "after VipPostSend")
    respond(link, answer(link, now, data[:2500]))
    done = completion(link, "send", "VITCP-2.2.2.1-06", "for a read")
    t.require(done.good, "VITCP-2.2.2.1-06", "the read is in error", sorted(done.status), "no error bit")
    t.require(contents(t, region) == data[:2500], "VITCP-2.2.2.1-06", "the bytes read", "others", "those sent")
