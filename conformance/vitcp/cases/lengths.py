"""Clauses 2.2.2.1, 3.1, 3.2 and 3.2.1: how long a message is, of how many segments its Descriptor, and what is too long."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Sequence

from fcvi.engine.case import Variant, case
from fcvi.engine.scenario import NotThere
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.watch import Message
from fcvi.vitcp.wire import READ_REQUEST, SEND, WRITE

from conformance.vitcp.steps.connection import RECEPTION, REGISTRY, UNRELIABLE, Link, connect, roles, roles_and_levels, with_each
from conformance.vitcp.steps.messages import (
    GUARD, Region, acknowledge, alive, answer, ask, completion, contents, message, pattern, post_receive, post_send, received,
    register, respond, response, segments, send, sent, write,
)  # fmt: skip

#: Bytes of a message: the most of one segment and one more, 2^16 and its neighbours, more than 2^17.
_LENGTHS = {
    "one-segment": 65_511, "one-more": 65_512, "less-2^16": 65_535, "2^16": 65_536, "over-2^16": 65_537, "over-2^17": 131_089,
}  # fmt: skip
_OPERATIONS = {"send": "", "rdma-write": "rdma_write", "rdma-read": "rdma_read and (reliable_delivery or reliable_reception)"}
_PIECE = 60_000  # of a segment of the tester's
_FEW = 64  # bytes of a segment, on average, with which the longest message stays below the budget of a case
_MOST = (2 << 20) + 17  # bytes of the longest message that is tried


@case(
    REGISTRY,
    "TCP.3.1.n",
    "Messages of more than 65,535 bytes",
    clause="3.1, 3.2.1",
    requirements=["VITCP-2.2.2.1-06", "VITCP-3.1-11", "VITCP-3.1-14", "VITCP-3.2.1-04", "VITCP-3.2.1-05", "VITCP-3.2.1-06"],
    errata=["V10"],
    applies="tcp and send",
    variants=[
        *with_each(roles_and_levels((UNRELIABLE, RECEPTION)), "length", _LENGTHS),
        *(Variant(f"largest/{op}", {"only": op}, needs) for op, needs in _OPERATIONS.items()),
    ],
)  # fmt: skip
def long_messages(t: Scenario) -> None:
    """Data Offset and RDMA Length have 32 bits, Segment Length has 16: Sends, RDMA Writes and RDMA Reads of such a length come
    whole, both ways. The largest is what the DUT has, and at most little more than 2 MiB.
    """
    only = str(t.params.get("only", ""))
    size = min(int(t.pics["max_transfer_size"]), _MOST) if only else int(t.params["length"])
    if size > int(t.pics["max_transfer_size"]):
        raise NotThere(f"the DUT has no messages of {size} bytes")
    t.tester.unlimited = False  # in segments of a few bytes it is megabytes of the DUT protocol: they are taken as they come
    link, data = connect(t, size=size), pattern(size, 11)
    if only:
        _divided(t, link, only)
    if only in ("", "send"):
        region = post_receive(link, size)
        send(link, segments(link, data, size=_PIECE))
        received(link, region, data, "VITCP-2.2.2.1-06")
        _free(t, region)
        region = post_send(link, data)
        arrives(link, SEND, data)
        _free(t, region)
    else:
        alive(link)
    t.control("a Send passed each way")
    if only in ("", "rdma-write") and t.pics["rdma_write"]:
        target = register(t, size + 1, write=True)
        write(link, target, data, size=_PIECE)
        t.owed(lambda: contents(t, target, size - 1, 1) == data[-1:])
        t.require(contents(t, target) == data + bytes([GUARD]), "VITCP-3.2.1-05", "the memory after a long RDMA Write", "others",
                  "the data, and nothing behind")
        _free(t, target)
        region = post_send(link, data, "rdma-write", remote=(0x10000, 7))
        arrives(link, WRITE, data)
        _free(t, region)
    if only in ("", "rdma-read") and t.pics["rdma_read"] and link.reliable:
        source = register(t, size, read=True, data=data)
        response(link, ask(link, source.va, source.handle, size), data)
        _free(t, source)
        local = register(t, size)
        post_send(link, op="rdma-read", remote=(0x10000, 7), region=local, length=size)
        request = message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06")
        length = (request.first.pdu.rdma or (0, 0, 0))[2]
        if not t.require(length == size, "VITCP-3.2.1-04", "RDMA Length", length, size, at=request.first):
            return
        respond(link, answer(link, request, data, _PIECE))
        completion(link, "send", "VITCP-3.1-41", "for a long read")
        t.require(contents(t, local) == data, "VITCP-2.2.2.1-06", "the bytes read", "others", "those sent")


def _divided(t: Scenario, link: Link, op: str) -> None:
    """How the DUT divides a message. One of megabytes, in segments of a few bytes, is more than a case may take (2.2.2.2.3)."""
    data = pattern(4_096, 12)
    if op == "rdma-read":
        source = register(t, len(data), read=True, data=data)
        now = response(link, ask(link, source.va, source.handle, len(data)), data)
    else:
        post_send(link, data, op, remote=(0x10000, 7) if op == "rdma-write" else None)
        now = arrives(link, WRITE if op == "rdma-write" else SEND, data)
    if len(data) // len(now.segments) < _FEW:
        raise NotThere(f"the DUT sends {len(data)} bytes in {len(now.segments)} segments: no case has room for its longest message")


def _free(t: Scenario, region: Region) -> None:
    """Give memory of such a size back before more is asked for."""
    t.call("VipDeregisterMem", mem=region.mem)


def arrives(link: Link, kind: int, data: bytes) -> Message:
    """A message of the DUT comes, and its Descriptor completes."""
    now = message(link, kind, data, "VITCP-2.2.2.1-06", "after VipPostSend")
    if link.reliable:
        acknowledge(link, now.number)
    sent(link)
    return now


#: Lengths of the segments of a Descriptor: with an empty one between, of one byte, of more than a segment of the wire, and as
#: many as every provider takes (VI-ARCH 3.4, VI-DG 2.2).
_SEGMENTS = {
    "two": (300, 200), "empty-between": (100, 0, 50), "single-bytes": (1, 1, 1, 1), "long": (5, 4000, 1, 2000, 300),
    "many": (1,) * 252,
}  # fmt: skip


@case(
    REGISTRY,
    "TCP.2.2.2.1.e",
    "Descriptors of several segments",
    clause="2.1, 2.2.2.1",
    requirements=["VITCP-2.1-02", "VITCP-2.2.2.1-06"],
    applies="tcp and send",
    variants=with_each(roles_and_levels((UNRELIABLE, RECEPTION)), "segments", _SEGMENTS),
)
def several_segments(t: Scenario) -> None:
    """A message is gathered from the segments of its Descriptor in their order; what is received, or read, is scattered over them.

    Nothing beside them is touched. Few segments lie in a region each, many in one.
    """
    lengths: Sequence[int] = t.params["segments"]
    link, data = connect(t), pattern(sum(t.params["segments"]), 21)
    places = spread(t, lengths)
    link.post()
    post(link, "VipPostRecv", "recv", places)
    send(link, segments(link, data, size=77))
    done = completion(link, "recv", "VITCP-2.2.2.1-06", "for a Send")
    t.require(done.good and done.length == len(data), "VITCP-2.2.2.1-06", "a Send into several segments", str(done), "good")
    scattered(t, places, data)
    gather(link, lengths, data, "send", SEND)
    t.control("a Send passed each way")
    if t.pics["rdma_write"]:
        gather(link, lengths, data, "rdma-write", WRITE)
    if t.pics["rdma_read"] and link.reliable:
        places = spread(t, lengths)
        post(link, "VipPostSend", "rdma-read", places)
        request = message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06")
        respond(link, answer(link, request, data, 77))
        completion(link, "send", "VITCP-3.1-41", "for a read into several segments")
        scattered(t, places, data)


#: So many regions are registered for one Descriptor; of more segments all lie in one region.
_REGIONS = 8
_BESIDE = 8  # bytes on each side of a segment


@dataclass(frozen=True)
class Place:
    """A segment of a Descriptor: bytes of a region, from an offset on, with others on both sides."""

    region: Region
    offset: int
    length: int


def spread(t: Scenario, lengths: Sequence[int], data: bytes = b"") -> list[Place]:
    """Places of these lengths with the data, each in a region of its own. Of many each lies before the one in front of it."""
    parts, at = [], 0
    for length in lengths:
        parts.append(bytes(_BESIDE) + data[at : at + length] + bytes(_BESIDE) if data else b"")
        at += length
    if len(lengths) <= _REGIONS:
        return [Place(register(t, n + 2 * _BESIDE, data=part), _BESIDE, n) for n, part in zip(lengths, parts)]
    region = register(t, at + 2 * _BESIDE * len(lengths), data=b"".join(parts[::-1]))
    begins = accumulate((n + 2 * _BESIDE for n in lengths[::-1]), initial=_BESIDE)
    return [Place(region, begin, n) for begin, n in zip(begins, lengths[::-1])][::-1]


def gather(link: Link, lengths: Sequence[int], data: bytes, op: str, kind: int) -> None:
    """The DUT sends a message from segments of these lengths."""
    post(link, "VipPostSend", op, spread(link.t, lengths, data))
    arrives(link, kind, data)


def post(link: Link, method: str, op: str, places: Sequence[Place]) -> None:
    """Post a Descriptor of several segments."""
    parts = [{"mem": p.region.mem, "offset": p.offset, "length": p.length} for p in places]
    remote = {"va": f"{0x10000:016x}", "handle": 7} if op.startswith("rdma") else None
    descriptor: dict[str, Any] = {"op": op, "segments": parts, "immediate": None, "remote": remote}
    code = link.t.call(method, vi=link.vi, descriptor=descriptor).returned()
    link.t.require(code == "VIP_SUCCESS", "VITCP-2.1-02", method, code, "VIP_SUCCESS")
    link.t.settle()


def scattered(t: Scenario, places: Sequence[Place], data: bytes) -> None:
    """The data are in the segments, and nothing beside them is touched."""
    at, guard = 0, bytes([GUARD]) * _BESIDE
    for number, place in enumerate(places):
        wanted = guard + data[at : at + place.length] + guard
        seen = contents(t, place.region, place.offset - _BESIDE, len(wanted))
        t.require(seen == wanted, "VITCP-2.2.2.1-06", f"segment {number} of the Descriptor", "others",
                  "its part of the data, nothing beside")
        at += place.length


@case(
    REGISTRY,
    "TCP.3.2.h",
    "RDMA beyond the agreed MTU",
    clause="3.2",
    requirements=["VITCP-3.2-14", "VITCP-3.2-16"],
    errata=["V25", "V71"],
    applies="tcp",
    variants=[v for op, item in (("rdma-write", "rdma_write"), ("rdma-read", "rdma_read"), ("written", "rdma_write"))
              for v in with_each(roles(item), "op", {op: op})],
)  # fmt: skip
def beyond(t: Scenario) -> None:
    """An RDMA Write or Read of just the agreed size passes; of one byte more the DUT sends nothing, and what the tester sends is
    not taken.
    """
    op = str(t.params["op"])
    link = connect(t, size=3000)
    alive(link)
    size = link.mtu
    if op == "written":
        target = register(t, size + 1, write=True)
        write(link, target, pattern(size, 1))
        t.owed(lambda: contents(t, target, size - 1, 1) == pattern(size, 1)[-1:])
        t.on_purpose("VITCP-3.2-14", "VITCP-3.2-16")
        link.stream.watch.known.error_due = True
        write(link, target, pattern(size + 1, 2))
        if link.reliable:
            t.expect_end(link.stream, "VITCP-3.2-14", why="after an RDMA Write longer than the MTU")
        t.wait(t.nop_bound_us // 4)
        t.require(contents(t, target, size, 1) == bytes([GUARD]), "VITCP-3.2-14", "the byte beyond the MTU", "written", "untouched")
        return
    row = "VITCP-3.2-16" if link.role == "dut-client" else "VITCP-3.2-14"
    if op == "rdma-read" and not link.reliable:
        raise NotThere("the DUT has no reliable level")
    local = register(t, size + 1)
    post_send(link, op=op, remote=(0x100, 1), region=local, length=size)
    if op == "rdma-read":
        respond(link, answer(link, message(link, READ_REQUEST, None, row), pattern(size)))
    else:
        now = message(link, WRITE, bytes([GUARD]) * size, row)
        if link.reliable:
            acknowledge(link, now.number)
    completion(link, "send", row, "for the agreed size")
    post_send(link, op=op, remote=(0x100, 1), region=local, length=size + 1)
    done = completion(link, "send", row, "for more than the agreed size")
    t.require(not done.good, row, "more than the agreed size completes well", "good", "VIP_STATUS_LENGTH_ERROR")
    more = link.stream.watch.messages[link.taken :]
    t.require(not more, row, "more than the agreed size is sent", f"{len(more)} messages", "nothing", at=more[0].first if more else
              None)  # fmt: skip
