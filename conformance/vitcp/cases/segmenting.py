"""Clauses 2.2.2.2.3, 2.2.2.2.5 and 3.1: segments of messages, both ways."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.vitcp import wire
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.wire import END, READ_REQUEST, SEND, TRANSMIT_ERROR, WRITE

from conformance.vitcp.steps.connection import (
    DELIVERY, RECEPTION, REGISTRY, UNRELIABLE, connect, roles, roles_and_levels, with_each,
)  # fmt: skip
from conformance.vitcp.steps.messages import (
    acknowledge, answer, ask, check_immediate, completion, contents, credit, deliver, emit, guarded, message, pattern, post_receive,
    post_send, received, register, respond, response, segments, send, sent, write,
)  # fmt: skip


@case(
    REGISTRY,
    "TCP.2.2.2.2.3.a",
    "How the DUT divides its messages",
    clause="2.2.2.2.3, 3.1",
    requirements=[
        "VITCP-2.2.2.2.3-03", "VITCP-2.2.2.2.3-08", "VITCP-3.1-07", "VITCP-3.1-13", "VITCP-3.1-14", "VITCP-3.1-15",
    ],
    errata=["V10", "V53", "V80"],
    applies="tcp and send",
    variants=roles_and_levels(),
)  # fmt: skip
def divides(t: Scenario) -> None:
    """Messages of 0, 1 and many bytes, posted one behind the other: the segments of each are in order, their Data Offsets are the
    payload so far, End of Message is on the last one, and no message begins inside another.
    """
    link = connect(t)
    sizes = [0, 1, 8000, 4097, 17]
    for number, size in enumerate(sizes):
        post_send(link, pattern(size, number), settle=False)
    if t.pics["rdma_write"]:
        post_send(link, pattern(7000, 9), "rdma-write", remote=(0x40000, 0x33), settle=False)
    for number, size in enumerate(sizes):
        now = message(link, SEND, pattern(size, number), "VITCP-2.2.2.1-06")
        if link.reliable:
            acknowledge(link, now.number)  # each by itself: with a count for each type (V18) no ACK speaks for another type
    if t.pics["rdma_write"]:
        now = message(link, WRITE, pattern(7000, 9), "VITCP-2.2.2.1-06")
        if link.reliable:
            acknowledge(link, now.number)
    for _ in range(len(sizes) + bool(t.pics["rdma_write"])):
        sent(link)
    t.control("every message came whole")


@case(
    REGISTRY,
    "TCP.2.2.2.2.3.c",
    "A Read Response between the segments of another message",
    clause="2.2.2.2.3, 3.1",
    requirements=["VITCP-2.2.2.2.3-09", "VITCP-3.1-18"],
    applies="tcp and rdma_read",
    variants=with_each(with_each(roles_and_levels((DELIVERY, RECEPTION), "rdma_write"), "kind", {"send": SEND, "write": WRITE}),
                       "first", {"message-first": False, "response-first": True}),
)  # fmt: skip
def interleaved(t: Scenario) -> None:
    """The tester sends segments of a Read Response between those of a Send, or an RDMA Write, of the same number: both arrive,
    whichever of them ends first.
    """
    link = connect(t)
    local = register(t, 2000)
    post_send(link, op="rdma-read", remote=(0x9000, 5), region=local, length=2000)
    request = message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06", "after VipPostSend")
    link.first = request.number
    data, other = pattern(2000, 1), pattern(1500, 2)
    if t.params["kind"] == SEND:
        region = post_receive(link, 1600)
        theirs = segments(link, other, size=300)
        credit(link)
    else:
        region = register(t, 1600, write=True)
        theirs = segments(link, other, WRITE, size=300, rdma=(region.va, region.handle, 1500))
    ours = answer(link, request, data, 400)
    known = link.stream.watch.known
    known.sending = theirs[0].number
    for a, b in zip(theirs[:-1], ours[:-1]):
        t.send(link.stream, a)
        t.send(link.stream, b)
    for pdu in ours[len(theirs) - 1 : -1]:
        t.send(link.stream, pdu)
    if t.params["first"]:
        t.send(link.stream, ours[-1])
    t.settle()
    known.sending = None
    known.complete(theirs[0].number)
    t.send(link.stream, theirs[-1])
    if not t.params["first"]:
        t.send(link.stream, ours[-1])
    t.settle()
    row = "VITCP-3.1-18"
    done = completion(link, "send", row, "for the read")
    t.require(done.good and contents(t, local) == data, row, "the read does not complete well", sorted(done.status),
              "the bytes sent")
    if t.params["kind"] == SEND:
        received(link, region, other, row)
    else:
        t.owed(lambda: contents(t, region)[:1500] == other)
        t.require(contents(t, region)[:1500] == other, row, "the RDMA Write does not arrive", "other bytes", "those sent")
    t.control("the read completed")


@case(
    REGISTRY,
    "TCP.2.2.2.2.3.d",
    "Two reads at the DUT",
    clause="2.2.2.2.3, 3.1",
    requirements=["VITCP-2.2.2.2.3-10", "VITCP-3.1-17"],
    applies="tcp and rdma_read",
    variants=roles_and_levels((DELIVERY, RECEPTION)),
)
def two_reads(t: Scenario) -> None:
    """Two Read Requests with a Send between them: the responses are not interleaved, each has its request's number."""
    link = connect(t)
    data = pattern(5000, 4)
    source = register(t, 5000, read=True, data=data)
    if link.window < 2:
        deliver(link, pattern(10))
        t.control("a Send arrived; the device takes one read at a time")
        return
    post_receive(link, 100)
    first = ask(link, source.va, source.handle, 4500)
    send(link, segments(link, pattern(50)))
    second = ask(link, source.va + 100, source.handle, 4800)
    response(link, first, data[:4500])
    response(link, second, data[100:4900])
    t.control("both reads were answered")


_FIRST_WINDOW = 65_536  # bytes that stream.window lets the DUT send before the tester has said more


@case(
    REGISTRY,
    "TCP.2.2.2.2.5.a",
    "Memory that goes away under a Send",
    clause="2.2.2.2.5",
    requirements=["VITCP-2.2.2.2.5-08", "VITCP-3.1-08"],
    errata=["V44", "V66"],
    applies="tcp and send",
    variants=roles(),
)
def source_gone(t: Scenario) -> None:
    """A Send is stopped by a closed window, its memory is deregistered, the window opens: what comes whole has the bytes of the
    memory or says Transmit Error.
    """
    t.tester.unlimited = False
    link = connect(t, size=60000)
    size = min(50_000, link.mtu)
    region = register(t, size, data=pattern(size))
    before = link.stream.received
    for _ in range(_FIRST_WINDOW // size + 1):
        post_send(link, region=region, length=size)
    known = link.stream.watch.known
    known.padding_due = known.stalled = True
    t.owed(lambda: link.stream.received > before)  # else there is nothing to stop
    t.call("VipDeregisterMem", mem=region.mem)
    t.tester.grant(link.stream, None)
    t.wait(t.nop_bound_us)
    found = link.stream.watch.messages
    t.require(bool(found), "VITCP-2.2.2.1-06", "no Send came", "nothing", "a part of it at least")
    for now in found:
        marked = any(s.pdu.flags & TRANSMIT_ERROR for s in now.segments)
        good = bytes(now.payload) == pattern(size)
        t.require(not now.ended or marked or good, "VITCP-2.2.2.2.5-08", "padding without Transmit Error", "0", "1",
                  at=now.segments[-1])
    t.control("a Send came before its memory went")


@case(
    REGISTRY,
    "TCP.2.2.2.2.5.b",
    "Transmit Error from the tester",
    clause="3.1",
    requirements=["VITCP-3.1-08"],
    errata=["V42"],
    applies="tcp",
    variants=with_each(roles_and_levels(), "where", {"first": 0, "last": -1}),
)
def transmit_error(t: Scenario) -> None:
    """A Send with Transmit Error in one segment is not reported as good; a good one before it is."""
    link = connect(t)
    deliver(link, pattern(100))
    t.control("a good Send was delivered")
    post_receive(link, 4000)
    pdus = segments(link, pattern(3000), size=1000)
    where = int(t.params["where"])
    pdus[where] = pdus[where].but(flags=pdus[where].flags | TRANSMIT_ERROR)
    link.stream.watch.known.error_due = True
    send(link, pdus)
    t.wait(t.nop_bound_us // 2)
    done = t.completed(link.vi, "recv")[link.completions["recv"] :]
    t.require(not any(c.good for c in done), "VITCP-3.1-08", "a message with Transmit Error is good", "good", "an error")


@case(
    REGISTRY,
    "TCP.3.1.a",
    "The bytes of every PDU",
    clause="3, 3.1, 3.2, 3.2.1",
    requirements=[
        *(f"VITCP-3-0{n}" for n in range(1, 8)), *(f"VITCP-3.1-0{n}" for n in range(1, 7)), "VITCP-3.1-47", "VITCP-3.1-52",
        "VITCP-2.2.2.2.3-02", "VITCP-3.2-01", "VITCP-3.2.1-01",
    ],
    errata=["V02", "V03", "V04", "V05", "V06"],
    applies="tcp and send",
    variants=roles_and_levels((UNRELIABLE, RECEPTION)),
)  # fmt: skip
def golden(t: Scenario) -> None:
    """Known messages of the DUT, field by field by the three figures; numbers that the draft never assigned by the profile."""
    link = connect(t, size=8192, mtu=4096 + 0x102)
    one = link.answer
    ce = one.pdu.ce
    assert ce is not None  # a CE PDU without its header is none to the codec, which names 3-06
    wanted = 8192 if one.pdu.kind == wire.REQUEST else 4096 + 0x102
    if ce.mtu == _swapped(wanted):
        t.report("VITCP-3-01", "MTU Size is little-endian", f"{ce.mtu:08X}h", f"{wanted:08X}h", at=one)
    post_send(link, pattern(0x102), immediate=0x01020304)
    now = message(link, SEND, pattern(0x102), "VITCP-3-04")
    last = now.segments[-1].pdu
    if last.flags & wire.IMMEDIATE:
        t.require(last.immediate == 0x01020304, "VITCP-3-01", "Immediate Data", f"{last.immediate:08X}h", "01020304h",
                  at=now.segments[-1], byte=8)
    if t.pics["rdma_write"]:
        golden_header = (0x0102030405060708, 0x0A0B0C0D, 0x102)  # Address, Handle, Length
        post_send(link, pattern(0x102), "rdma-write", remote=golden_header[:2])
        now = message(link, WRITE, pattern(0x102), "VITCP-3-05")
        seen, data = now.first.pdu.rdma, now.first.pdu.payload
        if seen is not None and seen[2] == _swapped(golden_header[2]):
            t.report("VITCP-3-01", "RDMA Length is little-endian", f"{seen[2]:08X}h", "00000102h", at=now.first)
        behind = data.endswith(b"".join(n.to_bytes(size, "big") for n, size in zip(golden_header, (8, 4, 4))))
        if len(now.segments) == 1 and seen != golden_header and behind:
            t.report("VITCP-3-07", "the RDMA Header stands behind the data", str(seen), str(golden_header), at=now.first)
    post_send(link, pattern(5000))
    t.wait(t.nop_bound_us // 4)
    t.control("a Send came")


def _swapped(number: int) -> int:
    """The 32 bits of a number in the order of a little-endian host."""
    return int.from_bytes(number.to_bytes(4, "little"), "big")


@case(
    REGISTRY,
    "TCP.3.1.c",
    "Message Numbers",
    clause="3.1",
    requirements=["VITCP-3.1-09", "VITCP-3.1-10", "VITCP-3.1-20"],
    errata=["V17", "V18", "V58"],
    applies="tcp and send",
    variants=with_each(
        roles_and_levels((UNRELIABLE, RECEPTION)), "first",
        {"0": 0, "1": 1, "7fffffff": 0x7FFFFFFF, "fffffffe": 0xFFFFFFFE, "repeat": -1},
    ),
)  # fmt: skip
def numbers(t: Scenario) -> None:
    """Whatever number the tester begins with is taken, and 0 follows FFFFFFFFh. The DUT's own rise by one over all types. A
    repeated number is not delivered twice.
    """
    first = int(t.params["first"])
    link = connect(t, first=None if first < 0 else first)
    for size in (20, 1300, 7, 0):
        deliver(link, pattern(size), "VITCP-3.1-10")
    if t.pics["rdma_write"]:
        target = register(t, 100, write=True)
        write(link, target, pattern(60))
    for op in ("send", "send", "rdma-write", "send", "rdma-read", "send", "send", "rdma-read", "rdma-write", "send"):
        if op == "send":
            emit(link, pattern(30))
        elif op == "rdma-write" and t.pics["rdma_write"]:
            post_send(link, pattern(30), op, remote=(0x100, 1))
            now = message(link, WRITE, pattern(30), "VITCP-3.1-09")
            if link.reliable:
                acknowledge(link, now.number)
            sent(link)
        elif op == "rdma-read" and t.pics["rdma_read"] and link.reliable:
            post_send(link, op=op, remote=(0x100, 1), length=30, region=register(t, 30))
            now = message(link, READ_REQUEST, None, "VITCP-3.1-09")
            respond(link, answer(link, now, pattern(30)))
            completion(link, "send", "VITCP-3.1-41")
    t.control("messages of every number were delivered")
    if first < 0:
        deliver(link, pattern(10))
        post_receive(link, 64)
        t.on_purpose("VITCP-3.1-09")
        credit(link)
        pdus = segments(link, pattern(20, 5), number=(link.first - 1) & wire.MASK32)
        for pdu in pdus:
            t.send(link.stream, pdu)
        link.stream.watch.known.error_due = True
        t.wait(t.nop_bound_us // 2)
        done = t.completed(link.vi, "recv")[link.completions["recv"] :]
        t.require(not any(c.good for c in done), "VITCP-3.1-20", "a repeated number is delivered", "good", "nothing, or an error")
    done = [c for c in t.completions if c.queue == "recv"]
    posted = link.stream.watch.known.posted
    t.require(len(done) <= posted, "VITCP-3.1-20", "a Descriptor completes twice", len(done), posted)


@case(
    REGISTRY,
    "TCP.3.1.d",
    "Data Offsets that do not fit",
    clause="3.1",
    requirements=["VITCP-3.1-19", "VITCP-3.1-14"],
    errata=["V41", "V67"],
    applies="tcp",
    variants=with_each(roles_and_levels((UNRELIABLE, RECEPTION)), "how", {w: w for w in ("swap", "gap", "overlap", "first-not-0")}),
)
def offsets(t: Scenario) -> None:
    """Two exchanged segments are delivered whole or are an error; a gap, an overlap or a first offset that is not 0 is no good
    message; no byte is written outside.
    """
    link = connect(t)
    deliver(link, pattern(100))
    t.control("a good Send was delivered")
    region = post_receive(link, 4000)
    data = pattern(3000, 3)
    pdus = segments(link, data, size=1000)
    how = str(t.params["how"])
    if how == "swap":
        pdus[0], pdus[1] = pdus[1], pdus[0]
    elif how == "gap":
        pdus[2] = pdus[2].but(offset=2500)
    elif how == "overlap":
        pdus[2] = pdus[2].but(offset=1500)
    else:
        pdus = [pdu.but(offset=pdu.offset + 700) for pdu in pdus]
    known = link.stream.watch.known
    known.error_due = True
    t.on_purpose("VITCP-3.1-13", "VITCP-3.1-14")
    send(link, pdus)
    t.wait(t.nop_bound_us // 2)
    done = t.completed(link.vi, "recv")[link.completions["recv"] :]
    good = [c for c in done if c.good]
    seen = contents(t, region)
    whole = how == "swap" and bool(good) and seen[:3000] == data and good[0].length == 3000
    t.require(not good or whole, "VITCP-3.1-19", f"a message with a {how} is good", f"{good[0].length} bytes" if good else "",
              "an error")
    guarded(t, region, "VITCP-3.1-19")


@case(
    REGISTRY,
    "TCP.3.1.e",
    "Immediate Data",
    clause="3.1",
    requirements=["VITCP-3.1-06", "VITCP-3.1-16"],
    errata=["V19"],
    applies="tcp and immediate_data",
    variants=roles_and_levels((UNRELIABLE, RECEPTION)),
)
def immediate(t: Scenario) -> None:
    """Immediate Data reach the other side with Sends of one and many segments and with RDMA Writes; without them the flag is
    zero. The value 0 is a value, and what the field has without the flag is none.
    """
    link = connect(t)
    for size, value in ((0, 0xDEADBEEF), (10, 0), (4000, 0xDEADBEEF)):
        deliver(link, pattern(size), "VITCP-3.1-06", value)
        deliver(link, pattern(size), "VITCP-3.1-06", unused=0x5A5A5A5A)
        emit(link, pattern(size), "VITCP-3.1-06", value)
        emit(link, pattern(size), "VITCP-3.1-06")
    t.control("Sends with and without Immediate Data passed each way")
    if not t.pics["rdma_write"]:
        return
    for posted in (0x01234567, 0, None):
        post_send(link, pattern(3000), "rdma-write", remote=(0x100, 1), immediate=posted)
        now = message(link, WRITE, pattern(3000), "VITCP-3.1-06")
        check_immediate(link, now, posted)
        if link.reliable:
            acknowledge(link, now.number)
        sent(link)
    target = register(t, 3000, write=True)
    post_receive(link, 64)
    write(link, target, pattern(2900), immediate=0x89ABCDEF)
    done = completion(link, "recv", "VITCP-3.1-06", "for an RDMA Write with Immediate Data")
    t.require(done.good and done.immediate == 0x89ABCDEF, "VITCP-3.1-06", "the Immediate Data received", done.immediate, 0x89ABCDEF)


__all__ = ["END", "Variant"]
