"""Clauses 1, 2.2.2.2.2 and 3.1: what carries credit, what waits together, and a VI that is connected a second time."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.engine.scenario import Inconclusive
from fcvi.vitcp import wire
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.wire import MASK16, READ_REQUEST, SEND, WRITE

from conformance.vitcp.steps.connection import (
    CLIENT, ERROR, OF_LEVEL, RECEPTION, REGISTRY, SERVER, UNRELIABLE, LEVELS, Link, asked, attributes_of, call_out, check_state,
    connect, create, roles, roles_and_levels, with_each,
)  # fmt: skip
from conformance.vitcp.steps.messages import (
    acknowledge, alive, all_completed, answer, ask, come, completion, deliver, emit, message, nop, pattern, post_receive,
    post_send, register, respond, segments, send, sent, write,
)  # fmt: skip

_BOTH = (UNRELIABLE, RECEPTION)


@case(
    REGISTRY,
    "TCP.3.1.o",
    "Credit in whatever PDU it comes",
    clause="3.1",
    requirements=["VITCP-3.1-23", "VITCP-3.1-26", "VITCP-2.2.1-03"],
    errata=["V23"],
    applies="tcp and flow_control and send",
    variants=[v for by, *needs in (("send",), ("write", "rdma_write"), ("request", "rdma_read"), ("response", "rdma_read"))
              for v in with_each(roles_and_levels((RECEPTION,), *needs), "by", {by: by})],
)  # fmt: skip
def carried(t: Scenario) -> None:
    """A Send that waits for credit goes out when the count rises in a Send, an RDMA Write, a Read Request or a Read Response."""
    by = str(t.params["by"])
    link = connect(t, rx=0)
    reading = None
    if by == "response":
        post_send(link, op="rdma-read", remote=(0x100, 1), region=register(t, 64), length=20)
        reading = message(link, READ_REQUEST, None, "VITCP-3.1-24", "without any credit")
    post_send(link, pattern(50, 3))
    t.wait(t.nop_bound_us // 4)
    early = [m for m in link.stream.watch.messages if m.kind == SEND]
    t.require(not early, "VITCP-3.1-23", "a Send without credit", str(early[:1]), "none")
    link.rx += 1
    if by == "send":
        post_receive(link, 64)
        send(link, segments(link, pattern(20)))
    elif by == "write":
        write(link, register(t, 64, write=True), pattern(20))
    elif by == "request":
        source = register(t, 64, read=True, data=pattern(64))
        number = ask(link, source.va, source.handle, 20)
        _both(t, link, number)
        return
    elif reading is not None:
        respond(link, answer(link, reading, pattern(20)))
        completion(link, "send", "VITCP-3.1-41", "for the read")
    if not t.owed(lambda: len(link.stream.watch.messages) > link.taken):  # before an ACK of the tester's brings it
        t.fail("VITCP-2.2.1-03", f"a Send waits though a {by} has brought credit", "nothing", "the Send")
    now = message(link, SEND, pattern(50, 3), "VITCP-2.2.1-03")
    t.control("the Send that waited came")
    acknowledge(link, now.number)
    sent(link)


def _both(t: Scenario, link: Link, number: int) -> None:
    """The Read Response and the Send that waited, in either order."""
    found = link.stream.watch.messages
    t.owed(lambda: len([m for m in found[link.taken :] if m.ended]) >= 2)
    sends = [m for m in found[link.taken :] if m.kind == SEND and m.ended]
    t.require(bool(sends), "VITCP-2.2.1-03", "a Send waits though a Read Request has brought credit", "nothing", "the Send")
    t.control(f"the read of number {number} was asked for")
    if sends:
        acknowledge(link, sends[0].number)
        sent(link)


@case(
    REGISTRY,
    "TCP.2.2.2.2.3.e",
    "Messages of many segments that wait together",
    clause="2.2.2.2.3, 3.1",
    requirements=["VITCP-2.2.2.2.3-08", "VITCP-3.1-20", "VITCP-3.1-14"],
    errata=["V79"],
    applies="tcp and flow_control and send",
    variants=roles_and_levels(_BOTH),
)
def together(t: Scenario) -> None:
    """Sends, an RDMA Write between them and a read behind them are posted while there is no credit, which comes for all at once: no
    segment of one stands inside another, and they come in their order.
    """
    link = connect(t, rx=0)
    kinds = [SEND, WRITE if t.pics["rdma_write"] else SEND, SEND, SEND]
    for number, kind in enumerate(kinds):
        remote = None if kind == SEND else (0x100, 1)
        post_send(link, pattern(7900, number), "send" if kind == SEND else "rdma-write", remote=remote, settle=False)
    reads = bool(t.pics["rdma_read"]) and link.reliable
    if reads:
        post_send(link, op="rdma-read", remote=(0x100, 1), region=register(t, 20), length=20, settle=False)
    t.settle()
    link.rx += len(kinds)
    nop(link)
    come(link, len(kinds))
    for number, kind in enumerate(kinds):
        now = message(link, kind, pattern(7900, number), "VITCP-3.1-20")
        if link.reliable:
            acknowledge(link, now.number)
    for _ in kinds:
        sent(link)
    if reads:
        respond(link, answer(link, message(link, READ_REQUEST, None, "VITCP-3.1-20"), pattern(20)))
        completion(link, "send", "VITCP-3.1-41", "for the read")
    t.control("every message came whole")


@case(
    REGISTRY,
    "TCP.2.2.2.2.2.f",
    "A second connection of a VI",
    clause="2.2.2.2.2, 3.1",
    requirements=[
        "VITCP-1-01", "VITCP-2.2.1-03", "VITCP-2.2.2.2.2-03", "VITCP-3.1-21", "VITCP-3.1-23", "VITCP-3.1-24", "VITCP-3.1-34",
        "VITCP-3.2-14", "VITCP-3.2-16",
    ],
    errata=["V23", "V24", "V25", "V55", "V79"],
    applies="tcp and send",
    variants=with_each(roles_and_levels(_BOTH), "end", {"disconnect": "disconnect", "fin": "fin", "reset": "reset"}),
)  # fmt: skip
def second(t: Scenario) -> None:
    """Counts are those of the connection's lifetime: on a second one Rx Descriptors Posted, the credits used and Message ACK begin
    anew, and so do the agreed size and the window of reads, whatever ended the first. What the first left half done or posted
    ends with it: a part of a Send and of a header, reads without an answer, a Send without credit.
    """
    link = connect(t, rx=3, mtu=1000, window=2)
    for number in range(3):
        deliver(link, pattern(30, number))
        emit(link, pattern(40, number))
    flow, reads = link.flow_control, bool(t.pics["rdma_read"]) and link.reliable
    posted = {"recv": 2, "send": int(flow) + 2 * reads}
    for _ in range(posted["recv"]):
        post_receive(link, 1000)
    for _ in range(2 * reads):
        post_send(link, op="rdma-read", remote=(0x100, 1), region=register(t, 20), length=20)
    if flow:
        post_send(link, pattern(50))
    t.wait(t.nop_bound_us)
    part = t.numbers.pack(segments(link, pattern(900), size=500)[0])
    t.tester.send_bytes(link.stream, part + part[:13], "a part of a Send, and of a header")
    t.settle()
    _end(t, link, str(t.params["end"]), posted)
    again = connect(t, vi=link.vi, rx=1 if flow else 50, window=2)
    found = again.stream.watch.messages
    deliver(again, pattern(20), "VITCP-2.2.2.2.2-03")
    post_send(again, pattern(30, 1))
    post_send(again, pattern(30, 2))
    now = message(again, SEND, pattern(30, 1), "VITCP-2.2.1-03", "on a second connection, with a credit")
    if again.reliable:
        acknowledge(again, now.number)
    t.control("a Send came on the second connection")
    if flow:
        t.wait(t.nop_bound_us // 2)
        t.require(len(found) == 1, "VITCP-3.1-23", "messages on one credit of a second connection", len(found), 1)
        again.rx = (again.rx + 1) & MASK16
        nop(again)
    now = message(again, SEND, pattern(30, 2), "VITCP-2.2.1-03", "on a second connection, with another credit")
    if again.reliable:
        acknowledge(again, now.number)
    for _ in range(2):
        sent(again)
    again.rx = (again.rx + 1) & MASK16
    nop(again)
    emit(again, pattern(3000), "VITCP-3.2-16" if again.role == CLIENT else "VITCP-3.2-14")
    if reads:
        post_send(again, op="rdma-read", remote=(0x100, 1), region=register(t, 20), length=20)
        respond(again, answer(again, message(again, READ_REQUEST, None, "VITCP-3.1-24", "of a second connection"), pattern(20)))
        completion(again, "send", "VITCP-3.1-41", "for a read on a second connection")


def _end(t: Scenario, link: Link, how: str, posted: dict[str, int]) -> None:
    """The connection ends, and each Descriptor that is posted completes in error."""
    if how != "disconnect":
        t.tester.close(link.stream, how)
        t.owed(lambda: t.call("VipQueryVi", vi=link.vi).text("State") == ERROR)
    t.call("VipDisconnect", vi=link.vi)
    t.owed(lambda: link.stream.over or how == "reset")
    for queue, count in posted.items():
        done = all_completed(link, queue, count, "VITCP-1-01", "when the VI is disconnected")
        t.require(not any(c.good for c in done), "VITCP-1-01", "a Descriptor completes well when the VI is disconnected", "good",
                  "an error")


@case(
    REGISTRY,
    "TCP.3.1.v",
    "Flow control that is agreed anew",
    clause="3.1, 3.2",
    requirements=["VITCP-3.1-23", "VITCP-3.1-24", "VITCP-2.2.1-03"],
    errata=["V22"],
    applies="tcp and flow_control and send",
    variants=roles_and_levels(_BOTH),
)
def flow_agreed_anew(t: Scenario) -> None:
    """A VI is connected three times, to a peer with flow control, to one without and to one with it again. A Send without any
    credit waits on the first and on the third connection and not on the second.
    """
    vi = None
    for flow in (True, False, True):
        link = connect(t, vi=vi, flow=flow, rx=0)
        vi = link.vi
        post_send(link, pattern(40))
        if flow and link.flow_control:
            t.wait(t.nop_bound_us // 2)
            early = [m for m in link.stream.watch.messages if m.kind == SEND]
            t.require(not early, "VITCP-3.1-23", "a Send without credit", str(early[:1]), "none")
            link.rx += 1
            nop(link)
        now = message(link, SEND, pattern(40), "VITCP-2.2.1-03" if flow else "VITCP-3.1-24", "on this connection")
        if link.reliable:
            acknowledge(link, now.number)
        sent(link)
        t.call("VipDisconnect", vi=vi)
        t.expect_end(link.stream, "VITCP-2.2.2.2.2-04", why="after VipDisconnect")
    t.control("a Send came on each connection")


@case(
    REGISTRY,
    "TCP.1.a",
    "What the Developer's Guide asks on this wire too",
    clause="1",
    requirements=["VITCP-1-01"],
    errata=["V15", "V47", "V51", "V68"],
    applies="tcp",
    variants=[
        *(Variant(f"answer/{level}", {"what": "answer", "level": level}, f"client and {OF_LEVEL[level]}") for level in _BOTH),
        Variant("read-asked", {"what": "read-asked", "level": UNRELIABLE}, "unreliable_delivery and rdma_read"),
        Variant("read-received", {"what": "read-received", "level": UNRELIABLE}, "unreliable_delivery"),
        *(Variant(f"post-in-error/{queue}", {"what": "error", "queue": queue}) for queue in ("send", "recv")),
        *with_each(roles("send"), "what", {"operations": "operations"}),
    ],
)  # fmt: skip
def of_the_guide(t: Scenario) -> None:
    """RemoteViAttribs of VipConnectRequest are the acceptor's; an RDMA Read at Unreliable Delivery is a format error, and one that
    comes is never answered (VI-ARCH 2.5.1); a Descriptor posted in the Error state is flushed. A Descriptor that completes names
    its own operation (VI-DG 5.4).
    """
    {
        "answer": _answer, "read-asked": _read_asked, "read-received": _read_received, "error": _error, "operations": _operations,
    }[str(t.params["what"])](t)  # fmt: skip


def _answer(t: Scenario) -> None:
    row, level = "VITCP-1-01", str(t.params["level"])
    vi = create(t, level)
    for flags, mtu in ((wire.WRITE_ENABLE, 2000), (0, 1500)):
        call = call_out(t, vi)
        stream = t.expect_stream("VITCP-4.2-01")
        theirs = asked(t, stream)
        assert theirs.pdu.ce is not None
        own = flags | attributes_of(t, level) & ~(wire.WRITE_ENABLE | wire.READ_ENABLE)
        ce = wire.ce_header(theirs.pdu.ce.calling, theirs.pdu.ce.called, own, mtu, 4)
        t.send(stream, wire.Pdu(wire.ACCEPT, flags=wire.END, rx=8, ce=ce))
        t.finish(call, "VITCP-4.2-07", returns="VIP_SUCCESS")
        told = call.table("RemoteViAttribs")
        levels = [LEVELS[UNRELIABLE]] if level == UNRELIABLE else [LEVELS["rd"], LEVELS[RECEPTION]]
        t.require(told.get("ReliabilityLevel") in levels, row, "ReliabilityLevel of RemoteViAttribs", told.get("ReliabilityLevel"),
                  levels)
        for name, value in (("EnableRdmaWrite", bool(flags)), ("EnableRdmaRead", False), ("MaxTransferSize", mtu)):
            t.require(told.get(name) == value, row, f"{name} of RemoteViAttribs", told.get(name), value)
        t.call("VipDisconnect", vi=vi)
    t.control("VipConnectRequest returned twice")


def _read_asked(t: Scenario) -> None:
    link = connect(t)
    alive(link)
    post_send(link, op="rdma-read", remote=(0x100, 1), region=register(t, 20), length=20)
    done = completion(link, "send", "VITCP-1-01", "for a read at Unreliable Delivery")
    t.require(not done.good, "VITCP-1-01", "a read at Unreliable Delivery completes well", "good", "VIP_STATUS_FORMAT_ERROR")
    found = [m for m in link.stream.watch.messages if m.kind == READ_REQUEST]
    t.require(not found, "VITCP-1-01", "a Read Request at Unreliable Delivery", len(found), "none")


def _read_received(t: Scenario) -> None:
    attributes = {"ReliabilityLevel": LEVELS[UNRELIABLE], "MaxTransferSize": 4096, "EnableRdmaRead": True}
    call = t.call("VipCreateVi", ViAttribs=attributes)  # which the DUT may refuse
    vi = call.integer("vi") if call.returned() == "VIP_SUCCESS" else create(t, UNRELIABLE, 4096)
    link = connect(t, vi=vi, size=4096)
    alive(link)
    source = register(t, 64, read=True, data=pattern(64))
    t.on_purpose("VITCP-2.2.2.1-06")
    t.send(link.stream, wire.Pdu(READ_REQUEST, link.first, flags=wire.END, rx=link.rx, rdma=(source.va, source.handle, 20)))
    t.wait(t.nop_bound_us)
    found = [m for m in link.stream.watch.messages if m.kind == wire.READ_RESPONSE]
    t.require(not found, "VITCP-1-01", "a read at Unreliable Delivery is answered", len(found), "none")


def _error(t: Scenario) -> None:
    queue = str(t.params["queue"])
    link = connect(t)
    alive(link)
    t.tester.close(link.stream, "fin")
    t.owed(lambda: t.call("VipQueryVi", vi=link.vi).text("State") == ERROR)
    check_state(t, link.vi, ERROR, "VITCP-2.2.2.2.2-05")
    before = len(t.completed(link.vi, queue))
    descriptor = {"op": "send" if queue == "send" else "recv", "segments": [{"mem": register(t, 8).mem, "offset": 0, "length": 8}]}
    t.call("VipPostSend" if queue == "send" else "VipPostRecv", vi=link.vi, descriptor=descriptor)
    t.owed(lambda: len(t.completed(link.vi, queue)) > before)
    done = t.completed(link.vi, queue)[before:]
    t.require(bool(done), "VITCP-1-01", "a Descriptor posted in the Error state stays", "no completion", "it is flushed")
    good = any(c.good for c in done)
    t.require(not good, "VITCP-1-01", "a Descriptor posted in the Error state completes well", "good", "an error")


_OP = "VIP_STATUS_OP_"
#: By operation, what a completed Descriptor may name. A receive that an RDMA Write took is a receive, too.
_NAMES = {
    "send": {""}, "rdma-write": {_OP + "RDMA_WRITE"}, "rdma-read": {_OP + "RDMA_READ"}, "recv": {_OP + "RECEIVE"},
    "written": {_OP + "RECEIVE", _OP + "REMOTE_RDMA_WRITE"},
}  # fmt: skip


def _operations(t: Scenario) -> None:
    link = connect(t)
    done = {}
    deliver(link, pattern(40))
    done["recv"] = t.completed(link.vi, "recv")[-1]
    emit(link, pattern(50))
    done["send"] = t.completed(link.vi, "send")[-1]
    t.control("a Send passed each way")
    if t.pics["rdma_write"]:
        post_send(link, pattern(30), "rdma-write", remote=(0x100, 1))
        now = message(link, WRITE, pattern(30), "VITCP-2.2.2.1-06")
        if link.reliable:
            acknowledge(link, now.number)
        done["rdma-write"] = sent(link)
    if t.pics["rdma_write"] and t.pics["immediate_data"]:
        post_receive(link, 64)
        write(link, register(t, 64, write=True), pattern(20), immediate=5)
        done["written"] = completion(link, "recv", "VITCP-3.1-06", "for an RDMA Write with Immediate Data")
    if t.pics["rdma_read"] and link.reliable:
        post_send(link, op="rdma-read", remote=(0x100, 1), region=register(t, 64), length=40)
        respond(link, answer(link, message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06"), pattern(40)))
        done["rdma-read"] = completion(link, "send", "VITCP-3.1-41", "for a read")
    named = {op: {name for name in one.status if name.startswith(_OP)} or {""} for op, one in done.items()}
    if all(names == {""} for names in named.values()):
        return  # the adapter tells of no operation, not even of a receive
    for words, ops in (("RDMA operation", ("rdma-write", "rdma-read")), ("receive that a Send took", ("recv",))):
        of_queue = [named[op] for op in ops if op in named]
        if of_queue and all(names == {""} for names in of_queue):  # Send has the value 0, which is not named
            raise Inconclusive(f"no {words} is named: the device may call it a Send, or its adapter names others alone")
    for op, names in named.items():
        t.require(names <= _NAMES[op], "VITCP-1-01", f"the operation of a completed Descriptor: {op}", sorted(names),
                  " or ".join(sorted(_NAMES[op])) or "none")


__all__ = ["CLIENT", "SERVER", "roles"]
