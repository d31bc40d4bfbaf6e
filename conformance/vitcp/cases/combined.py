"""Messages and credits in every legal combination of three choices: the covering rows of legality.py."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.engine.scenario import NotThere
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.wire import END, READ_REQUEST, SEND, WRITE, Pdu

from conformance.covering import Row, covering_rows
from conformance.vitcp.legality import (
    CONNECTION, CREDIT, CREDITS, FAMILY, LENGTH, LEVEL, MESSAGES, OPERATION, ROLE, SEGMENTS, SENDER, WAITING,
)  # fmt: skip
from conformance.vitcp.steps.connection import (
    CONNECTED, ERROR, OF_LEVEL, OF_ROLE, REGISTRY, SIZE, Link, check_state, connect, create,
)  # fmt: skip
from conformance.vitcp.steps.messages import (
    GUARD, acknowledge, answer, ask, come, completion, contents, deliver, emit, message, nop, pattern, post_receive, post_send,
    register, respond, response, segments, send, sent,
)  # fmt: skip

from .addressing import IPV6
from .lengths import gather, post, scattered, spread

_PIECE = 60_000  # bytes of the longest segment of the tester's
_NEEDS = {"send": "send", "rdma-write": "rdma_write", "rdma-read": "rdma_read"}


def _row(row: Row) -> Variant:
    needs = [OF_ROLE[row[ROLE]], OF_LEVEL[row[LEVEL]], _NEEDS[row[OPERATION]]]
    if CREDIT in row:
        needs += ["rdma_read"] * (row[CREDIT] == "response") + ["ipv6"] * (row[FAMILY] == "ipv6")
        needs += ["immediate_data"] * (row[OPERATION] == "rdma-write")
    return Variant("/".join(row.values()), dict(row), " and ".join(needs), IPV6 if row.get(FAMILY) == "ipv6" else {})


def _connected(t: Scenario, size: int, rx: int) -> Link:
    """The connection of the variant: the first of its VI, or the one after another that has carried something."""
    level, before = str(t.params[LEVEL]), str(t.params[CONNECTION])
    vi = create(t, level, max(size, SIZE))
    if before != "first":
        link = connect(t, vi=vi, size=max(size, SIZE), rx=5)
        deliver(link, pattern(30))
        emit(link, pattern(40))
        if before == "after-reset":
            t.tester.close(link.stream, "reset")
            t.owed(lambda: t.call("VipQueryVi", vi=vi).text("State") == ERROR)
        t.call("VipDisconnect", vi=vi)
    t.tester.unlimited = False  # what is long is taken as it comes
    return connect(t, vi=vi, size=max(size, SIZE), mtu=size, rx=rx)


@case(
    REGISTRY,
    "TCP.3.1.t",
    "Messages in every legal combination of three choices",
    clause="2.1, 2.2.2.1, 2.2.2.2.3, 3.1, 3.2.1",
    requirements=["VITCP-2.1-02", "VITCP-2.2.2.1-06", "VITCP-3.1-07", "VITCP-3.2.1-05", "VITCP-3.2.1-06", "VITCP-3.1-41"],
    errata=["V10", "V25", "V41", "V79"],
    applies="tcp",
    variants=[_row(row) for row in covering_rows(MESSAGES)],
)
def messages_combined(t: Scenario) -> None:
    """A message comes whole, and nothing beside it is touched.

    Role, level, operation, who sends, length, segments, division of the stream, and the connection of the VI: every legal
    combination of any three of them is in one of the variants. The length is the agreed size.
    """
    size = int(t.params[LENGTH])
    if size > int(t.pics["max_transfer_size"]):
        raise NotThere(f"the DUT has no messages of {size} bytes")
    link, data = _connected(t, size, 50), pattern(size, 23)
    if t.params[SENDER] == "dut":
        _by_dut(t, link, data)
    else:
        _by_tester(t, link, data)
    check_state(t, link.vi, CONNECTED, "VITCP-3.1-07")  # what ends a message alone is no other message
    t.control("the message came")


def _lengths(t: Scenario, size: int) -> list[int]:
    """Of the segments."""
    half = size - size // 2
    if t.params[SEGMENTS] == "many":
        return [size // 16] * 15 + [size - size // 16 * 15]
    return {"one": [size], "two": [half, size - half], "empty-between": [half, 0, size - half]}[str(t.params[SEGMENTS])]


def _by_dut(t: Scenario, link: Link, data: bytes) -> None:
    op, lengths = str(t.params[OPERATION]), _lengths(t, len(data))
    if op != "rdma-read":
        gather(link, lengths, data, op, SEND if op == "send" else WRITE)
        return
    places = spread(t, lengths)
    post(link, "VipPostSend", op, places)
    respond(link, _divided(link, answer(link, message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06"), data, _size(t, data))))
    completion(link, "send", "VITCP-3.1-41", "for a read")
    scattered(t, places, data)


def _by_tester(t: Scenario, link: Link, data: bytes) -> None:
    op, lengths = str(t.params[OPERATION]), _lengths(t, len(data))
    if op == "rdma-read":
        source = register(t, len(data), read=True, data=data)
        response(link, ask(link, source.va, source.handle, len(data)), data)
    elif op == "rdma-write":
        target = register(t, len(data) + 1, write=True)
        send(link, _divided(link, segments(link, data, WRITE, size=_size(t, data), rdma=(target.va, target.handle, len(data)))))
        t.owed(lambda: contents(t, target) == data + bytes([GUARD]))
        t.require(contents(t, target) == data + bytes([GUARD]), "VITCP-3.2.1-05", "the memory after an RDMA Write", "others",
                  "the data, and nothing behind")
    else:
        places = spread(t, lengths)
        link.post()
        post(link, "VipPostRecv", "recv", places)
        send(link, _divided(link, segments(link, data, size=_size(t, data))))
        done = completion(link, "recv", "VITCP-2.2.2.1-06", "for a Send")
        t.require(done.good and done.length == len(data), "VITCP-2.2.2.1-06", "a Send", str(done), f"{len(data)} bytes")
        scattered(t, places, data)


def _size(t: Scenario, data: bytes) -> int:
    """Bytes of a segment of the tester's."""
    return max(1, min(_PIECE, max(_lengths(t, len(data)))))


def _divided(link: Link, pdus: list[Pdu]) -> list[Pdu]:
    """With an empty segment before the last one, where the variant says so. Of two parts an empty segment is the end."""
    rest, last = pdus[:-1], pdus[-1]
    if link.t.params[SEGMENTS] == "empty-between":
        return [*rest, last.but(payload=b"", flags=last.flags & ~END), last]
    if link.t.params[SEGMENTS] == "two":
        return [*rest, last.but(flags=last.flags & ~END), last.but(payload=b"", offset=last.offset + len(last.payload))]
    return pdus


@case(
    REGISTRY,
    "TCP.3.1.u",
    "Credits in every legal combination of three choices",
    clause="2.2.1, 3.1",
    requirements=["VITCP-2.2.1-02", "VITCP-2.2.1-03", "VITCP-3.1-20", "VITCP-3.1-23"],
    errata=["V22", "V23", "V79"],
    applies="tcp and flow_control and send",
    variants=[_row(row) for row in covering_rows(CREDITS)],
)
def credits_combined(t: Scenario) -> None:
    """What consumes a receive Descriptor waits for credit, and goes out in its order when it comes.

    Role, family of addresses, level, operation, how many wait, where the credit travels, and the connection of the VI: every legal
    combination of any three of them is in one of the variants.
    """
    by, count = str(t.params[CREDIT]), 1 if t.params[WAITING] == "one" else 3
    link = _connected(t, SIZE, 1 if by == "ack" else 0)
    found = link.stream.watch.messages
    reading = unacknowledged = None
    if by == "response":
        post_send(link, op="rdma-read", remote=(0x100, 1), region=register(t, 64), length=20)
        reading = message(link, READ_REQUEST, None, "VITCP-3.1-24", "without any credit")
    elif by == "ack":
        post_send(link, pattern(10))
        unacknowledged = message(link, SEND, pattern(10), "VITCP-2.2.1-03", "with a credit")
    op = str(t.params[OPERATION])
    kind, remote = (SEND, None) if op == "send" else (WRITE, (0x100, 1))
    for number in range(count):
        post_send(link, pattern(3000, number), op, remote=remote, immediate=None if kind == SEND else number)
    t.wait(t.nop_bound_us // 4)
    early = [m for m in found[link.taken :] if m.kind == kind]
    t.require(not early, "VITCP-3.1-23", "a message without credit", str(early[:1]), "none")
    t.require(not link.stream.over, "VITCP-2.2.1-02", "the connection ends for want of credit", "closed", "open")
    link.rx += count
    if reading is not None:
        respond(link, answer(link, reading, pattern(20)))
        completion(link, "send", "VITCP-3.1-41", "for the read")
    elif unacknowledged is not None:
        acknowledge(link, unacknowledged.number)
        sent(link)
    elif by == "send":
        post_receive(link, 64)
        send(link, segments(link, pattern(20)))
    else:
        nop(link)
    come(link, link.taken + count)
    for number in range(count):
        now = message(link, kind, pattern(3000, number), "VITCP-2.2.1-03", f"though a {by} has brought credit")
        if link.reliable:
            acknowledge(link, now.number)
        sent(link)
    t.control("every message came")
