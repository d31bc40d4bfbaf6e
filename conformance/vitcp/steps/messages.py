"""Messages: what the tester sends on a connection, what the DUT is told to send, and what has to become of both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Optional, Sequence

from fcvi.engine import pages
from fcvi.engine.scenario import NotThere
from fcvi.engine.upper_tester import Completion
from fcvi.vitcp import wire
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.stream import Stream
from fcvi.vitcp.watch import Message
from fcvi.vitcp.wire import END, IMMEDIATE, MASK16, MASK32, NOP, READ_REQUEST, READ_RESPONSE, SEND, WRITE, Pdu

from .connection import Link

GUARD = 0xEE
_BEHIND = 32  # guard bytes behind a posted buffer
_READ_AT_ONCE = 30_000
A_LITTLE = 50_000  # bytes of a stream that are taken at once where the tester does not take all
_PERIOD = 128 * 128 - 1  # the pattern repeats, and not at 2^16


@lru_cache(maxsize=128)
def _block(seed: int, length: int) -> bytes:
    return bytes(0x80 | (seed + i * 7 + i // 128) & 0x7F for i in range(length))


def pattern(length: int, seed: int = 0) -> bytes:
    """Bytes of which none is a Version of the draft: a PDU that is read in the wrong place is not taken for one."""
    block = _block(seed * 31 & 0x7F, min(length, _PERIOD))
    return (block * (length // _PERIOD + 1))[:length]


@dataclass
class Region:
    """Registered memory of the DUT."""

    mem: int
    va: int
    handle: int
    length: int
    posted: int = 0  # so many bytes were posted for a Send; the guard lies behind them (VI-DG 5.5)


def register(t: Scenario, length: int, *, write: bool = False, read: bool = False, data: Optional[bytes] = None) -> Region:
    """Registered memory of the DUT, full of guard bytes or with the data."""
    call = t.call("VipRegisterMem", length=length, rdma_write=write, rdma_read=read, fill=f"{GUARD:02x}")
    if length > MASK16 and call.returned() == "VIP_ERROR_RESOURCE":
        raise NotThere(f"the DUT has no room for {length} bytes of registered memory")
    region = Region(call.integer("mem"), int(call.text("va"), 16), call.integer("handle"), length)
    for begin in range(0, len(data or b""), 16_000):
        assert data is not None
        t.call("mem.write", mem=region.mem, offset=begin, hex=data[begin : begin + 16_000].hex())
    return region


def to_the_end_of_a_page(t: Scenario, seed: int, **right: bool) -> Region:
    """Registered memory with a pattern of which the last byte is the last one of a page, where the DUT places regions alike: what
    lies behind it is certainly not registered (V82).
    """
    length = pages.left(register(t, 1).va)
    return register(t, length, data=pattern(length, seed), **right)


def contents(t: Scenario, region: Region, offset: int = 0, length: Optional[int] = None) -> bytes:
    """What the memory of the DUT holds."""
    end = region.length if length is None else offset + length
    found = b""
    for begin in range(offset, end, _READ_AT_ONCE):
        size = min(_READ_AT_ONCE, end - begin)
        found += bytes.fromhex(t.call("mem.read", mem=region.mem, offset=begin, length=size).text("hex"))
    return found


# ---- the DUT receives ----


def post_receive(link: Link, length: int = 4096, region: Optional[Region] = None, offset: int = 0) -> Region:
    """Post a receive Descriptor at the DUT."""
    t = link.t
    if region is None:
        region = register(t, length + _BEHIND)
        region.posted = length
    link.post()
    post_receive_to(t, link.vi, region, length, offset)
    t.settle()
    return region


def post_receive_to(t: Scenario, vi: int, region: Region, length: int, offset: int = 0) -> None:
    """Post a receive Descriptor to a VI that is connected or not."""
    segment = {"mem": region.mem, "offset": offset, "length": length}
    code = t.call("VipPostRecv", vi=vi, descriptor={"op": "recv", "segments": [segment]}).returned()
    t.require(code == "VIP_SUCCESS", "VITCP-2.1-02", "VipPostRecv fails", code, "VIP_SUCCESS")


def nop(link: Link, **fields: Any) -> None:
    """A NOP of the tester: its credits, its ACK."""
    link.t.send(link.stream, _pdu(link, NOP, 0, **fields))
    link.t.settle()


def _pdu(link: Link, kind: int, number: int, **fields: Any) -> Pdu:
    base: dict[str, Any] = {"ack": link.ack, "rx": link.rx, "flags": END if kind == NOP else 0}
    return Pdu(kind, number, **{**base, **fields})


def segments(
    link: Link,
    payload: bytes,
    kind: int = SEND,
    *,
    size: int = 1200,
    immediate: Optional[int] = None,
    rdma: Optional[tuple[int, int, int]] = None,
    number: Optional[int] = None,
    unused: int = 0,
) -> list[Pdu]:
    """The segments of a message of the tester. Immediate Data stand in each of them (V19), and so does the RDMA Header (V10).
    unused: what the field of Immediate Data has without its flag.
    """
    if number is None:
        number, link.first = link.first, (link.first + 1) & MASK32
    flags = IMMEDIATE if immediate is not None else 0
    begins = list(range(0, len(payload), size)) or [0]
    return [
        _pdu(
            link, kind, number, offset=begin, payload=payload[begin : begin + size], rdma=rdma,
            immediate=unused if immediate is None else immediate, flags=flags | (END if begin == begins[-1] else 0),
        )  # fmt: skip
        for begin in begins
    ]


def credit(link: Link) -> None:
    """Wait for a receive Descriptor that the DUT has told of, where flow control is in effect (3.1). One that is posted has to be
    told to a peer without any (V20). Without flow control nothing tells when it is taken up, which may take a while. When the DUT
    has ended TCP before, the case ends: without a credit the tester sends nothing.
    """
    own = link.stream.own
    if not link.flow_control:
        link.t.until(lambda: link.stream.over or own.credits > 0, link.t.nop_bound_us)
    elif not link.t.owed(lambda: link.stream.over or own.credits > 0) and not link.stream.watch.left_out:
        link.t.absent("VITCP-3.1-28", "the tester has no credit to send with", "the count of what was posted", link.stream)
    elif link.stream.over and not own.credits:
        link.t.absent("VITCP-2.2.2.1-06", "the connection is over", "one that takes a Send", link.stream)


def send(link: Link, pdus: Sequence[Pdu]) -> int:
    """The tester sends the segments of one message. Gives its number."""
    known, number = link.stream.watch.known, pdus[0].number
    if pdus[0].kind == SEND or pdus[0].flags & IMMEDIATE:
        credit(link)
    known.sending = number
    for pdu in pdus[:-1]:
        link.t.send(link.stream, pdu)
    if len(pdus) > 1:
        link.t.settle()
    known.sending = None
    known.complete(number)
    link.t.send(link.stream, pdus[-1])
    link.t.settle()
    return number


def completion(link: Link, queue: str, requirement: str, why: str = "") -> Completion:
    """The next completion of a queue of the VI."""
    t, at = link.t, link.completions[queue]
    if not t.owed(lambda: len(t.completed(link.vi, queue)) > at):
        t.absent(requirement, f"no completion on the {queue} queue {why}".strip(), f"one within {t.owed_us()} us", link.stream)
    link.completions[queue] += 1
    return t.completed(link.vi, queue)[at]


def all_completed(link: Link, queue: str, count: int, requirement: str, when: str) -> list[Completion]:
    """So many Descriptors that were posted to a queue complete, and no more."""
    t, at = link.t, link.completions[queue]
    t.owed(lambda: len(t.completed(link.vi, queue)) >= at + count)
    done = t.completed(link.vi, queue)[at:]
    t.require(len(done) == count, requirement, f"Descriptors of the {queue} queue that complete {when}", len(done), count)
    return done


def no_completion(link: Link, queue: str, requirement: str, why: str, for_us: int = 0) -> bool:
    """Nothing more completes on a queue for a time."""
    t, at = link.t, link.completions[queue]
    t.until(lambda: len(t.completed(link.vi, queue)) > at, for_us)
    more = t.completed(link.vi, queue)[at:]
    return t.require(not more, requirement, f"a Descriptor completes {why}", str(more[:1]), "none")


def received(link: Link, region: Region, payload: bytes, requirement: str, immediate: Optional[int] = None) -> Completion:
    """A receive Descriptor completes with this payload, and nothing behind what was posted is touched."""
    t = link.t
    done = completion(link, "recv", requirement, "for a Send")
    t.require("VIP_STATUS_DONE" in done.status, "VITCP-2.1-02", "a completed Descriptor is not marked done", sorted(
        done.status), "VIP_STATUS_DONE")
    t.require(done.good or "VIP_STATUS_DONE" not in done.status, requirement, "the receive Descriptor is in error", sorted(
        done.status), "no error bit")
    t.require(done.length == len(payload), requirement, "the length received", done.length, len(payload))
    t.require(done.immediate == immediate, "VITCP-3.1-06", "the Immediate Data received", done.immediate, immediate)
    seen = contents(t, region)
    t.require(seen[: len(payload)] == payload, requirement, "the bytes received", _first(seen, payload), "those sent")
    guarded(t, region, requirement)
    return done


def guarded(t: Scenario, region: Region, requirement: str) -> None:
    """Nothing was written behind what was posted of the memory. The provider may use a posted buffer as it likes (VI-DG 5.5)."""
    behind = contents(t, region)[region.posted :] if region.posted else b""
    t.require(behind == bytes([GUARD]) * len(behind), requirement, "bytes behind a posted buffer", behind[:16].hex(), "untouched")


def _first(seen: bytes, wanted: bytes) -> str:
    if seen.startswith(wanted):
        return ""
    at = next((i for i, (a, b) in enumerate(zip(seen, wanted)) if a != b), min(len(seen), len(wanted)))
    return f"{seen[at : at + 16].hex()} at {at}"


def deliver(link: Link, payload: bytes, requirement: str = "VITCP-2.2.2.1-06", immediate: Optional[int] = None, **how: Any) -> int:
    """A Send of the tester into a receive Descriptor of its size and some more. Gives its number."""
    region = post_receive(link, len(payload) + 32)
    number = send(link, segments(link, payload, immediate=immediate, **how))
    received(link, region, payload, requirement, immediate)
    return number


# ---- the DUT sends ----


def post_send(
    link: Link,
    payload: bytes = b"",
    op: str = "send",
    *,
    immediate: Optional[int] = None,
    remote: Optional[tuple[int, int]] = None,
    region: Optional[Region] = None,
    length: Optional[int] = None,
    settle: bool = True,
) -> Region:
    """Post a send Descriptor at the DUT. remote: address and handle at the tester."""
    t = link.t
    size = len(payload) if length is None else length
    region = register(t, max(1, size), data=payload) if region is None else region
    descriptor: dict[str, Any] = {
        "op": op,
        "segments": [{"mem": region.mem, "offset": 0, "length": size}] if size else [],
        "immediate": immediate,
        "remote": None if remote is None else {"va": f"{remote[0]:016x}", "handle": remote[1]},
    }
    link.floors.append(link.taken_up)
    code = t.call("VipPostSend", vi=link.vi, descriptor=descriptor).returned()
    t.require(code == "VIP_SUCCESS", "VITCP-2.1-02", "VipPostSend fails", code, "VIP_SUCCESS")
    if settle:
        t.settle()
    return region


def one_at_a_time(link: Link) -> bool:
    """Acknowledge the message that came last, if that was not done: a provider may send the next one only then (V79)."""
    found = link.stream.watch.messages
    if not link.reliable or not found or not found[-1].ended or found[-1].number == link.acknowledged:
        return False
    link.t.step("the tester acknowledges what came, since nothing more comes")
    acknowledge(link, found[-1].number)
    return True


def come(link: Link, count: int) -> bool:
    """Until so many messages have come; what came is acknowledged where nothing more comes (V79)."""
    found = link.stream.watch.messages
    while not link.t.until(lambda: len(found) >= count, link.t.nop_bound_us):
        if not one_at_a_time(link):
            return link.t.owed(lambda: len(found) >= count)
    return True


def wants_more(stream: Stream) -> bool:
    """Whether most of what the DUT may send on a stream has come."""
    return stream.granted is not None and stream.granted < A_LITTLE // 2


def message(
    link: Link, kind: int, payload: Optional[bytes], requirement: str, why: str = "", length: int = 0
) -> Message:
    """The next message of the DUT that the case has not looked at: of this type, whole, with this payload."""
    t, found = link.t, link.stream.watch.messages
    size = length if payload is None else len(payload)

    def come() -> bool:
        if wants_more(link.stream):
            t.tester.grant(link.stream, A_LITTLE)
            t.settle()  # when the DUT does something next is told anew
        return len(found) > link.taken and (found[link.taken].ended or (
            len(found[link.taken].payload) >= size and link.taken + 1 < len(found)
        ))

    if not t.until(come, t.nop_bound_us):
        one_at_a_time(link)
        before = -1
        while not come() and link.stream.arrived > before:  # what goes on coming is not absent
            before = link.stream.arrived
            t.owed(come)
    now = found[link.taken] if len(found) > link.taken else None
    name = wire.NAMES[kind]
    t.awaited(name, requirement, now.first if now else None)
    if now is None:
        t.absent(requirement, f"no {name} {why}".strip(), f"{name} within {t.owed_us()} us", link.stream)
        raise AssertionError("unreachable")
    if now.kind != kind:
        t.fail(requirement, f"{wire.NAMES[now.kind]} where {name} had to come", str(now.first), name, at=now.first)
    if not now.ended and len(now.payload) >= size:
        t.fail("VITCP-3.1-07", f"the last segment of {name} lacks End of Message", "0", "1", at=now.segments[-1])
    if not now.ended:
        t.absent(requirement, f"{name} does not come whole", f"{size} bytes", link.stream)
    link.taken += 1
    t.until(lambda: False, 0)
    _judge(link, now, payload, size)
    if kind != READ_RESPONSE and link.floors:
        _counted(link, now, link.floors.popleft())
    return now


def _counted(link: Link, now: Message, floor: int) -> None:
    """Rx Descriptors Posted of a message: it was formed behind the post of its own Descriptor, or behind the request that it
    answers, so that it knows of all that was taken up before that. Whatever else a device sends it may have formed before a post,
    and sent after it (V61).
    """
    watch = link.stream.watch
    required = floor - (watch.known.early if watch.left_out else 0)
    for one in now.segments:
        older = (required - one.pdu.rx) & MASK16
        if not link.t.require(not 0 < older < 0x8000, "VITCP-3.1-26", "Rx Descriptors Posted is older than the last post",
                              one.pdu.rx, required & MASK16, at=one, byte=20, bits="15-0"):
            return


def _judge(link: Link, now: Message, payload: Optional[bytes], size: int) -> None:
    t = link.t
    if now.kind != READ_REQUEST and not now.broken:
        got = bytes(now.payload)
        if len(got) < size:
            t.report("VITCP-3.1-07", "End of Message before the last byte", str(len(got)), str(size), at=now.segments[-1], byte=1)
        else:
            t.require(len(got) == size, "VITCP-3.1-11", "the payload of the message", len(got), size, at=now.segments[-1])
        if payload is not None and len(got) == size:
            row = "VITCP-3.2.1-06" if now.kind == READ_RESPONSE else "VITCP-2.2.2.1-06"
            t.require(got == payload, row, "other bytes were sent", _first(got, payload), "those posted", at=now.first)


def check_immediate(link: Link, now: Message, immediate: Optional[int]) -> None:
    """The Immediate Data of a message of the DUT (V19)."""
    t, last = link.t, now.segments[-1].pdu
    has = [bool(s.pdu.flags & IMMEDIATE) for s in now.segments]
    if immediate is None:
        t.require(not any(has), "VITCP-3.1-06", "Immediate Data that were not posted", "1", "0", at=now.first, byte=1, bits="0-0")
        return
    if not t.require(any(has), "VITCP-3.1-06", "Immediate Data are missing", "0", "1", at=now.segments[-1], byte=1, bits="0-0"):
        return
    if not has[-1]:
        t.report("VITCP-3.1-06", "Immediate Data only in an earlier segment", "0", "1", at=now.segments[-1], byte=1, erratum="V19")
    values = {s.pdu.immediate for s, flag in zip(now.segments, has) if flag}
    t.require(values == {immediate}, "VITCP-3.1-06", "the Immediate Data", [f"{v:X}h" for v in values], f"{immediate:X}h",
              at=now.segments[-1], byte=8)
    del last


def acknowledge(link: Link, number: int) -> None:
    """A NOP of the tester with this Message ACK."""
    link.acknowledged = number
    nop(link)


def sent(link: Link) -> Completion:
    """The next send Descriptor completes well: by the ACK at Reliable Reception (3.1-40), without one at Unreliable Delivery."""
    requirement = "VITCP-3.1-40" if link.reliable else "VITCP-3.1-45"
    done = completion(link, "send", requirement, "for a message that was acknowledged" if link.reliable else "for a message sent")
    link.t.require(done.good, requirement, "the send Descriptor is in error", sorted(done.status), "no error bit")
    return done


def emit(link: Link, payload: bytes, requirement: str = "VITCP-2.2.2.1-06", immediate: Optional[int] = None) -> Message:
    """A Send of the DUT that the tester acknowledges."""
    post_send(link, payload, immediate=immediate)
    now = message(link, SEND, payload, requirement, "after VipPostSend")
    check_immediate(link, now, immediate)
    if link.reliable:
        acknowledge(link, now.number)
    sent(link)
    return now


# ---- RDMA ----


def write(link: Link, region: Region, payload: bytes, offset: int = 0, immediate: Optional[int] = None, **how: Any) -> int:
    """An RDMA Write of the tester."""
    rdma = ((region.va + offset) % wire.TOP64, region.handle, len(payload))
    return send(link, segments(link, payload, WRITE, immediate=immediate, rdma=rdma, **how))


def ask(link: Link, va: int, handle: int, length: int) -> int:
    """A Read Request of the tester. Gives its number. Not where the DUT's VI allows reads, and its window takes none (V24)."""
    ce = link.answer.pdu.ce
    if link.window == 0 and ce is not None and ce.attributes & wire.READ_ENABLE:
        raise NotThere("the DUT's RDMA Read Window is 0: it takes no Read Requests")
    number, link.first = link.first, (link.first + 1) & MASK32
    known = link.stream.watch.known
    known.reads[number] = length
    link.asked[number] = link.taken_up
    known.complete(number)
    link.t.send(link.stream, _pdu(link, READ_REQUEST, number, flags=END, rdma=(va % wire.TOP64, handle, length)))
    link.t.settle()
    return number


def response(link: Link, number: int, payload: bytes, requirement: str = "VITCP-3.2.1-06") -> Message:
    """The Read Response of the DUT to a request of the tester."""
    now = message(link, READ_RESPONSE, payload, requirement, "to a Read Request")
    link.t.require(now.number == number, "VITCP-3.1-17", "the number of the Read Response", now.number, number, at=now.first,
                   byte=12)
    _counted(link, now, link.asked.get(number, 0))
    return now


def answer(link: Link, request: Message, payload: bytes, size: int = 1200, **fields: Any) -> list[Pdu]:
    """The segments of a Read Response of the tester to a request of the DUT."""
    rdma = request.first.pdu.rdma
    return segments(link, payload, READ_RESPONSE, size=size, rdma=rdma, number=request.number, **fields)


def respond(link: Link, pdus: Sequence[Pdu]) -> None:
    """Send a Read Response."""
    for pdu in pdus:
        link.t.send(link.stream, pdu)
    link.t.settle()


# ---- the positive control, and the ends ----


def alive(link: Link, words: str = "a Send passes each way") -> None:
    """A Send passes each way: the connection works, and the device does more than nothing."""
    deliver(link, pattern(40, link.first & 63))
    emit(link, pattern(56, link.taken))
    link.t.control(words)


def broken(link: Link, requirement: str, *, code: bool = True) -> None:
    """The VI is in Error and TCP is closed, the application has been told, and nothing stays posted."""
    t = link.t
    t.expect_end(link.stream, "VITCP-2.2.2.2.2-04", why="though the VI is in Error") if not link.stream.closed else None
    t.owed(lambda: any(vi == link.vi for vi, _ in t.errors))
    t.require(_state(t, link.vi) == "VIP_STATE_ERROR", requirement, "the state of the VI", _state(t, link.vi), "VIP_STATE_ERROR")
    if code:
        t.require(any(vi == link.vi for vi, _ in t.errors), requirement, "no VipErrorCallback", "none", "one")


def told(t: Scenario, vi: int, code: str) -> None:
    """VI-DG 3.8.1 has a code for each error; VIP_ERROR_CONN_LOST may stand beside it or in its place (V75)."""
    t.owed(lambda: any(of == vi for of, _ in t.errors))
    others = [said for of, said in t.errors if of == vi and said not in (code, "VIP_ERROR_CONN_LOST")]
    t.require(not others, "VITCP-1-01", "VipErrorCallback", others, f"{code} or VIP_ERROR_CONN_LOST")


def _state(t: Scenario, vi: int) -> str:
    return t.call("VipQueryVi", vi=vi).text("State")
