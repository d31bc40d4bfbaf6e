"""Clauses 2.2.2.2.6 and 3.2.1: RDMA Writes and Reads."""

from __future__ import annotations

from fcvi.engine.case import case
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.stream import Received
from fcvi.vitcp.wire import END, MASK32, READ_REQUEST, READ_RESPONSE, WRITE

from conformance.vitcp.steps.connection import DELIVERY, RECEPTION, REGISTRY, Link, connect, roles_and_levels, with_each
from conformance.vitcp.steps.messages import (
    A_LITTLE, Region, acknowledge, alive, answer, ask, completion, contents, deliver, message, pattern, post_send, register,
    respond, response, segments, send, sent, wants_more, write,
)  # fmt: skip

_RELIABLE = (DELIVERY, RECEPTION)
# Bytes of each read, where the MTU allows it: a few fill the first window (stream.window begins at 65,536), and those behind wait.
_SIZE = 30_000


@case(
    REGISTRY,
    "TCP.2.2.2.2.6.a",
    "More reads than the window, and memory that goes away under one",
    clause="2.2.2.2.6",
    requirements=["VITCP-2.2.2.2.3-10", "VITCP-2.2.2.2.6-01", "VITCP-2.2.2.2.6-02", "VITCP-2.2.2.2.6-03"],
    errata=["V24", "V44", "V66"],
    applies="tcp and rdma_read",
    variants=with_each(roles_and_levels(_RELIABLE), "what", {"surplus": "surplus", "deregistered": "deregistered"}),
)
def flood(t: Scenario) -> None:
    """Requests beyond the window, none of whose answers is taken: each is answered, or the connection is closed. A response that is
    stopped while its memory is deregistered comes with right bytes, or is an error.
    """
    t.tester.unlimited = False
    link = connect(t, size=_SIZE)
    deliver(link, pattern(10))
    size = min(_SIZE, link.mtu)
    data = pattern(40_000, 3)
    source = register(t, 40_000, read=True, data=data)
    known = link.stream.watch.known
    known.stalled = True
    count = min(link.window + 3, 40) if t.params["what"] == "surplus" else min(3, link.window)
    t.on_purpose("VITCP-2.2.2.2.6-02") if t.params["what"] == "surplus" else None
    asked = [ask(link, source.va, source.handle, size) for _ in range(count)]
    if t.params["what"] == "deregistered":
        known.padding_due = known.error_due = True
        t.call("VipDeregisterMem", mem=source.mem)
    _let_in(t, link, asked)
    found = [m for m in link.stream.watch.messages if m.ended]
    for one in found:
        good = bytes(one.payload) == data[:size]
        marked = any(s.pdu.flags & 4 for s in one.segments)
        if not (one.broken or marked or len(one.payload) != size):
            t.require(good, "VITCP-2.2.2.2.6-01", "the bytes of a Read Response", "others", "those of the memory", at=one.first)
    answered = {m.number for m in found}
    if t.params["what"] == "surplus":
        missing = [n for n in asked if n not in answered]
        t.require(not missing or link.stream.over, "VITCP-2.2.2.2.6-03", "reads are dropped in silence", len(missing),
                  "answers, or the end of TCP")
    t.control("a Send was received")


def _let_in(t: Scenario, link: Link, asked: list[int]) -> None:
    """Take what was held back, a little at a time: in segments of a few bytes, which 2.2.2.2.3 allows, it is megabytes of the DUT
    protocol, and a device that sends them all at once on our word floods nobody.
    """
    stream, before = link.stream, -1

    def answered() -> bool:
        found = [m for m in stream.watch.messages if m.kind == READ_RESPONSE and m.ended]
        return stream.over or {m.number for m in found} >= {*asked}

    def used() -> bool:
        return answered() or wants_more(stream)

    while not answered() and stream.arrived > before:  # what goes on coming is not absent
        before = stream.arrived
        t.tester.grant(stream, A_LITTLE)
        t.owed(used)


@case(
    REGISTRY,
    "TCP.2.2.2.2.6.b",
    "The DUT keeps the window",
    clause="2.2.2.2.6",
    requirements=["VITCP-2.2.2.2.6-04", "VITCP-2.2.2.2.6-05", "VITCP-2.2.2.2.6-06"],
    errata=["V24", "V69"],
    applies="tcp and rdma_read",
    variants=with_each(roles_and_levels(_RELIABLE), "window", {"0": 0, "1": 1, "3": 3}),
)
def window(t: Scenario) -> None:
    """The DUT has no more reads outstanding than the tester offered; a proposal of the draft, so a surplus is a notice."""
    size = int(t.params["window"])
    link = connect(t, window=size)
    if size == 0:
        alive(link)
    local = register(t, 100)
    for _ in range(size + 3):
        post_send(link, op="rdma-read", remote=(0x100, 1), region=local, length=100)
    t.wait(t.nop_bound_us // 4)
    rounds = 0
    while size and rounds < 3:
        found = [m for m in link.stream.watch.messages[link.taken :] if m.kind == READ_REQUEST]
        t.require(len(found) <= size, "VITCP-2.2.2.2.6-06" if rounds else "VITCP-2.2.2.2.6-05", "reads outstanding", len(
            found), size)
        if not found:
            break
        now = message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06", "after VipPostSend")
        respond(link, answer(link, now, pattern(100)))
        completion(link, "send", "VITCP-3.1-41", "for a read")
        rounds += 1
    if not size:
        found = [m for m in link.stream.watch.messages[link.taken :] if m.kind == READ_REQUEST]
        t.require(not found, "VITCP-2.2.2.2.6-05", "a read towards a window of 0", len(found), 0)
        return
    t.control("reads were asked for and answered")


@case(
    REGISTRY,
    "TCP.3.2.1.a",
    "The RDMA Header of the DUT",
    clause="3, 3.2.1",
    requirements=["VITCP-3-05", "VITCP-3.2.1-02", "VITCP-3.2.1-03", "VITCP-3.2.1-04"],
    errata=["V09", "V10", "V12"],
    applies="tcp and rdma_write",
    variants=roles_and_levels(),
)
def headers(t: Scenario) -> None:
    """RDMA Address and handle are those of the Descriptor's remote buffer, RDMA Length is that of the message, in each segment."""
    link = connect(t)
    for va, handle, size in ((0x0123456789ABCDE0, 0xFEDCBA98, 5000), (0x10, 1, 1), (0xFFFFFFFF00000000, 0, 0)):
        post_send(link, pattern(size), "rdma-write", remote=(va, handle))
        now = message(link, WRITE, pattern(size), "VITCP-2.2.2.1-06")
        _header(t, now.first, va, handle, size)
        if link.reliable:
            acknowledge(link, now.number)
        sent(link)
    if t.pics["rdma_read"] and link.reliable:
        local = register(t, 3000)
        post_send(link, op="rdma-read", remote=(0x0123456789ABCDE0, 0xFEDCBA98), region=local, length=3000)
        now = message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06")
        _header(t, now.first, 0x0123456789ABCDE0, 0xFEDCBA98, 3000)
        respond(link, answer(link, now, pattern(3000)))
        completion(link, "send", "VITCP-3.1-41", "for a read")
    t.control("RDMA messages came")


def _becomes(t: Scenario, target: Region, wanted: bytes, what: str) -> None:
    """What was written is there, in a while."""
    t.owed(lambda: contents(t, target) == wanted)
    t.require(contents(t, target) == wanted, "VITCP-3.2.1-05", what, "others", "the data there, nothing beside")


def _header(t: Scenario, one: Received, va: int, handle: int, size: int) -> None:
    assert one.pdu.rdma is not None
    address, seen, length = one.pdu.rdma
    t.require(address == va, "VITCP-3.2.1-02", "RDMA Address", f"{address:x}h", f"{va:x}h", at=one, byte=24)
    t.require(seen == handle, "VITCP-3.2.1-03", "Registered Memory Handle", f"{seen:x}h", f"{handle:x}h", at=one, byte=32)
    t.require(length == size, "VITCP-3.2.1-04", "RDMA Length", length, size, at=one, byte=36)


@case(
    REGISTRY,
    "TCP.3.2.1.b",
    "RDMA Writes into the DUT",
    clause="3.2.1",
    requirements=["VITCP-3.2.1-05", "VITCP-3.2.1-07"],
    errata=["V10", "V41", "V67"],
    applies="tcp and rdma_write",
    variants=with_each(roles_and_levels(), "how", {w: w for w in ("good", "more", "fewer")}),
)
def writes(t: Scenario) -> None:
    """The data go to RDMA Address + Data Offset, and not a byte beside them. Other than RDMA Length bytes are an error."""
    how = str(t.params["how"])
    link = connect(t)
    target = register(t, 8000, write=True)
    for size, at in ((1, 0), (5000, 1000), (0, 10), (1, 7999)):
        before = contents(t, target)
        data = pattern(size, 6)
        write(link, target, data, at)
        wanted = before[:at] + data + before[at + size :]
        _becomes(t, target, wanted, f"memory after an RDMA Write of {size} bytes at {at}")
    t.control("RDMA Writes arrived")
    if how == "good":
        return
    link.stream.watch.known.error_due = True
    before = contents(t, target)
    data = pattern(3000, 8)
    told = 2000 if how == "more" else 4000
    pdus = segments(link, data, WRITE, size=1000, rdma=(target.va, target.handle, told), immediate=5)
    from conformance.vitcp.steps.messages import post_receive

    post_receive(link, 64)
    t.on_purpose("VITCP-3.2.1-04")
    send(link, pdus)
    t.wait(t.nop_bound_us // 2)
    seen = contents(t, target)
    t.require(seen[told:] == before[told:], "VITCP-3.2.1-07", "bytes beyond RDMA Length are written", "others", "untouched")
    done = t.completed(link.vi, "recv")[link.completions["recv"] :]
    t.require(not any(c.good for c in done), "VITCP-3.2.1-07", f"a message of {how} bytes than RDMA Length is good", "good",
              "an error")


@case(
    REGISTRY,
    "TCP.3.2.1.c",
    "RDMA Reads",
    clause="3.1, 3.2.1",
    requirements=["VITCP-3.2.1-06", "VITCP-3.2.1-07", "VITCP-3.1-17", "VITCP-3.1-41"],
    errata=["V11", "V41", "V53"],
    applies="tcp and rdma_read",
    variants=with_each(roles_and_levels(_RELIABLE), "how", {w: w for w in ("from-the-dut", "short", "long", "unknown-number")}),
)
def reads(t: Scenario) -> None:
    """The DUT answers reads of 0, 1 and many bytes exactly. As a requester it takes no response of another length and none with an
    unknown number.
    """
    how = str(t.params["how"])
    link = connect(t)
    if how == "from-the-dut":
        most = link.mtu
        data = pattern(most, 2)
        source = register(t, most, read=True, data=data)
        for size, at in ((0, 0), (1, most - 1), (1, 0), (most - 1, 1), (most, 0)):
            response(link, ask(link, source.va + at, source.handle, size), data[at : at + size])
        t.control("reads were answered")
        return
    local = register(t, 3000)
    post_send(link, op="rdma-read", remote=(0x100, 1), region=local, length=2000)
    first = message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06")
    respond(link, answer(link, first, pattern(2000)))
    done = completion(link, "send", "VITCP-3.1-41", "for a read")
    t.require(done.good, "VITCP-3.1-41", "a read that was answered", sorted(done.status), "no error bit")
    t.control("a read was answered")
    post_send(link, op="rdma-read", remote=(0x100, 1), region=local, length=0)
    t.owed(lambda: len(link.stream.watch.messages) > link.taken or len(t.completed(link.vi, "send")) > link.completions["send"])
    if len(link.stream.watch.messages) > link.taken:  # nothing has to cross for it
        respond(link, answer(link, message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06"), b""))
    completion(link, "send", "VITCP-3.1-41", "for a read of no bytes")
    post_send(link, op="rdma-read", remote=(0x100, 1), region=local, length=2000)
    request = message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06")
    size = {"short": 1000, "long": 2500, "unknown-number": 2000}[how]
    pdus = answer(link, request, pattern(size, 4))
    if how == "unknown-number":
        pdus = [pdu.but(number=(pdu.number + 77) & MASK32) for pdu in pdus]
    link.stream.watch.known.error_due = True
    t.on_purpose("VITCP-3.1-17", "VITCP-3.2.1-06")
    respond(link, pdus)
    t.wait(t.nop_bound_us // 4)
    more = t.completed(link.vi, "send")[link.completions["send"] :]
    row = "VITCP-3.1-17" if how == "unknown-number" else "VITCP-3.2.1-07"
    t.require(not any(c.good for c in more), row, f"a read completes well by a response that is {how}", "good", "an error")
    t.require(contents(t, local)[2000:] == b"\xee" * 1000, row, "bytes beyond the read are written", "others", "untouched")


__all__ = ["END"]
