"""Descriptors and transfers that must not work: which bit, at which end, and what becomes of the VI at each level."""

from __future__ import annotations

import struct
from typing import Any, Mapping, Sequence

from fcvi.engine.case import Variant

from conformance.vipl.cases.ending import LOST, deaf, heard
from conformance.vipl.steps.declare import RD, RR, UD, each, levels, vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import (
    CONNECTED, ERROR, FORMAT, LENGTH, NOT_DONE, OK, PROTECTION, RDMA_PROT, REMOTE_DESC, SIZE, Got, Mem, Node, Pair,
    Vi, alive,
    best_level, connect, need_level, need_read, nodes, pair, transfer,
)  # fmt: skip

_STATE_ROW = {RD: "S2.5.2-04", RR: "S2.5.3-05"}


def after_local(t: Calls, p: Pair, vi: Vi, *, rows: bool = True) -> None:
    """An error of a local Descriptor: Connected and alive at UD, Error at RD and RR."""
    if p.level == UD:
        seen = vi.state()
        if seen == ERROR and vi is p.b:
            t.notice("S2.5.1-05", "the state of an unreliable VI after an error", seen, CONNECTED, "A15")
            return
        t.require(seen == CONNECTED, "S2.5.1-05", "the state of an unreliable VI after an error", seen, CONNECTED)
        transfer(p, 60, 77, row="S2.5.1-05", back=vi is p.b)
    elif rows:
        t.require(vi.becomes(ERROR), _STATE_ROW[p.level], "the state after an error", vi.state(), ERROR)
        t.require(vi.state() == ERROR, "S6.4.1-06", "the state after an error", vi.state(), ERROR)


def faulty(t: Calls, p: Pair, vi: Vi, queue: str, number: int, bit: str, row: str, what: str, other: Mapping[str, str] = {}) -> Got:
    """The Descriptor comes back with the bit; the reading of an erratum in place of it."""
    got = vi.reap(queue, 2 * t.settle_us)
    if got.ptr is None and queue == "Recv" and p.level == UD:
        t.step("nothing came back: the message was lost, which is right at this level")
        return got
    taken = next((b for b in other if b in got.errors and bit not in got.errors), None)
    if taken is not None:
        t.report(row, what, str(got), bit, erratum=other[taken])
        return got
    t.require(got.descriptor == number and bit in got.errors, row, what, got, f"the Descriptor with {bit}")
    t.require(bool(got.errors), "S2.5.2-07" if p.level != UD else "S2.5.1-06", what, got, "an error bit")
    t.require(bit in got.errors, "S6.4.1-06", what, got, bit)
    return got


def raw(mem: Mem, offset: int, *, control: int = 0, reserved: int = 0, length: int = 0, data: Sequence[tuple[int, int, int]] = (),
        remote: tuple[int, int, int] | None = None) -> None:  # fmt: skip
    """A Descriptor is written byte by byte (G 5). data has address, handle, length; remote address, handle, reserved."""
    count = len(data) + (remote is not None)
    head = struct.pack("<QIHHIIII", 0, 0, count, control, reserved, 0, length, 0)
    segments = [remote] if remote is not None else []
    mem.write(head + b"".join(struct.pack("<QII", *s) for s in [*segments, *data]), offset)


_SEND_FORMS: dict[str, Any] = {
    "op-3": {"control": 3}, **{f"bit-{b}": {"control": 1 << b} for b in (4, 9, 15)}, "bytes-16-19": {"reserved": 1},
    "address-reserved": {"control": 1, "remote": 7},
}  # fmt: skip
_RECV_FORMS: dict[str, Any] = {"op-1": {"control": 1}, "op-2": {"control": 2}, "op-3": {"control": 3}, "bit-4": {"control": 16},
                               "bit-12": {"control": 4096}, "bytes-16-19": {"reserved": 0x80000000}}  # fmt: skip


@vipl("X1", "Local format errors",
      "S2.5.1-05 S2.5.1-06 S2.5.2-04 S2.5.2-07 S2.5.3-05 S6.2-01 S6.4.1-06 G3.8.1-04 G5.2-01 G5.2-05 G5.2-06 G5.2-07 G5.2-20 "
      "G5.3-01", errata="A15 A88",
      variants=[*each(levels(), "send", {f"send-{k}": k for k in _SEND_FORMS}),
                *each(levels(), "recv", {f"recv-{k}": k for k in _RECV_FORMS})])  # fmt: skip
def format_errors(t: Calls) -> None:
    """An operation that is none or not of this queue, and reserved bits and bytes that are set: FORMAT, and nothing is moved."""
    p = pair(t, t.params["level"])
    transfer(p, 20, 1)
    sending = "send" in t.params
    name = t.params.get("send") or t.params["recv"]
    form = dict((_SEND_FORMS if sending else _RECV_FORMS)[name])
    row = {"op-1": "G5.2-05", "op-2": "G5.2-06", "op-3": "G5.2-07", "address-reserved": "G5.3-01"}.get(name, "G5.2-01")
    vi, mem, buffer = (p.a, p.a.node.mem(4096), p.src) if sending else (p.b, p.b.node.mem(4096), p.dst)
    remote = (p.dst.va + 4096, p.dst.handle, form.pop("remote")) if "remote" in form else None
    raw(mem, 64, length=16, data=[(buffer.va + 8192, buffer.handle, 16)], remote=remote, **form)
    before = p.dst.read(4096, 64)
    spare = p.b.recv(p.dst.part(12000, 64)) if sending else None
    queue = "Send" if sending else "Recv"
    posted = vi.node.call(f"VipPost{queue}Raw", vi=vi.vi, mem=mem.mem, offset=64)
    t.codes(row, "the post", posted.returned(), OK, {"VIP_INVALID_PARAMETER": "A99"})
    if posted.returned() != OK:
        alive(t, pair(t, p.level, ends=(t.a, t.b)))
        return
    number = posted.integer("descriptor")
    if not sending:
        t.wait(t.quiet_us // 2)
        if vi.state() == CONNECTED:
            p.a.send(p.src.part(0, 8))
    got = faulty(t, p, vi, queue, number, FORMAT, row, f"a Descriptor with {name}")
    t.require(got.ptr is None or FORMAT in got.errors, "G5.2-20", f"a Descriptor with {name}", got, FORMAT)
    if not sending:
        t.require(got.ptr is None or FORMAT in got.errors, "S6.2-01", f"a receive with {name}", got, FORMAT)
        t.require(got.ptr is None or FORMAT in got.errors, "G3.8.1-04", f"a receive with {name}", got,
                  "the error in the Descriptor")
    t.require(p.dst.read(4096, 64) == before, row, "memory of the other end", "changed", "as before")
    if sending:
        other = p.b.done("Recv")
        t.require(not other.good, row, "a receive at the other end", other, "is not filled")
    if p.level == UD:
        p.b.clean() if spare is not None else None
        p.a.clean()
        p.b.clean()
        connect(p.a, p.b)
    else:
        after_local(t, p, vi)
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("X2", "RDMA Read where there is none", "S2.5.1-07 S2.5.2-07 G5.2-06",
      variants=[*levels((UD,)), *levels((RD, RR), "not rdma_read")])  # fmt: skip
def no_read(t: Calls) -> None:
    """On a level without RDMA Read the Descriptor comes back with FORMAT, and nothing is moved."""
    p = pair(t, t.params["level"])
    if p.level in (p.a.node.attribs.get("RDMAReadSupport") or []) and p.level != UD:
        alive(t, p)
        t.lack("the provider has RDMA Read at this level")
    p.back.fill(5, 0, 64)
    p.dst.fill(6, 0, 64)
    number = p.a.rdma("read", p.dst.remote(), p.back.part(0, 64))
    got = faulty(t, p, p.a, "Send", number, FORMAT, "S2.5.1-07" if p.level == UD else "G5.2-06", "an RDMA Read")
    # a buffer of a Descriptor in error may hold anything (G 5.5), but not what was to be read
    t.require(p.back.wrong(6, 0, 64) > 32, "S2.5.1-07" if p.level == UD else "G5.2-06", "the sink of an RDMA Read",
              "the bytes of the other end", "other bytes")
    del got
    after_local(t, p, p.a)
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


_OPERATIONS = [*each(levels(), "op", {"send": "send", "write": "write"}),
               *each(levels((RD, RR), "rdma_read"), "op", {"read": "read"})]
_WRONG = ("bad-handle", "foreign-address", "foreign-tag", "deregistered", "second")
_WRONG_SINKS = tuple(how for how in _WRONG if how != "foreign-address")


def misplaced(t: Calls, node: Node, how: str) -> tuple[dict[str, Any], Mem]:
    """A data segment of 64 bytes that must not be reached, and the region whose bytes stay."""
    good, other = node.mem(16384, fill="5a"), node.mem(16384, fill="5a")
    if how == "bad-handle":
        return good.part(0, 64, handle=(max(good.handle, other.handle) + 0x5A5A) & 0xFFFFFFFF), good
    if how == "foreign-address":
        return good.part(0, 64, handle=other.handle), good
    if how in ("foreign-tag", "second"):
        tagged = node.mem(16384, ptag=node.ptag_new(), fill="5a")
        return tagged.part(0, 64), tagged
    node.code("VipDeregisterMem", mem=good.mem)
    return good.part(0, 64), good


@vipl("X3", "Local protection errors",
      "S1.5.3-02 S2.2-01 S2.5.1-05 S2.5.1-06 S2.5.2-04 S2.5.2-07 S2.5.3-05 S3.2.2.1-04 S6.4.1-06 G5.2-21",
      errata="A63 A23", variants=each(_OPERATIONS, "how", {h: h for h in _WRONG}))  # fmt: skip
def protection_errors(t: Calls) -> None:
    """A handle that is none, the address of another region, another tag, a region that is gone: PROTECTION, and no byte moves.

    In the second of two segments likewise. What is in the first may be on its way by then (PARTIAL, G 5.2).
    """
    p = pair(t, t.params["level"])
    op = t.params["op"]
    if op == "read":
        need_read(p.a.node, p.level)
        if p.level == UD:
            t.lack("there is no RDMA Read at this level")
    segment, region = misplaced(t, p.a.node, t.params["how"])
    first = 16 if t.params["how"] == "second" else 0
    segments = [*([(p.back if op == "read" else p.src).part(0, first)] if first else []), segment]
    p.dst.fill(3)
    spare = p.b.recv(p.dst.part(12000, 128))
    if op == "send":
        number = p.a.send(*segments)
    else:
        number = p.a.rdma(op, p.dst.remote(), *segments)
    row = {"bad-handle": "G5.2-21", "foreign-address": "S1.5.3-02", "foreign-tag": "S3.2.2.1-04",
           "deregistered": "S2.2-01", "second": "S3.2.2.1-04"}[t.params["how"]]
    faulty(t, p, p.a, "Send", number, PROTECTION, row, f"a Descriptor with {t.params['how']}")
    written = first if op == "write" else 0
    changed = p.dst.wrong(3 + written, written, 12000 - written) + p.dst.wrong(3 + 12128, 12128)
    t.require(changed == 0, row, "memory of the other end", "changed", "as before")
    t.require(region.read(0, 64) == b"\x5a" * 64, row, "memory that must not be reached", "changed", "as before")
    got = p.b.done("Recv")
    t.require(not got.good, row, "a receive at the other end", got, "is not filled")
    del spare
    if p.level == UD:
        p.b.clean()
        p.a.clean()
    else:
        after_local(t, p, p.a)
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("X4", "Lengths that are wrong",
      "S2.5.1-05 S2.5.2-04 S2.5.2-07 S2.5.3-05 S6.4.1-06 G5.2-12 G5.2-23 G5.2-24", errata="A08 A13 A16",
      variants=each(_OPERATIONS, "how",
                    {h: h for h in ("below", "above", "zero", "all-ones", "vi-maximum", "nic-maximum", "segments")}))  # fmt: skip
def length_errors(t: Calls) -> None:
    """Length is not the sum, or above the maximum, or there are too many segments: LENGTH, and nothing is moved."""
    p = pair(t, t.params["level"])
    op, how = t.params["op"], t.params["how"]
    if op == "read":
        need_read(p.a.node, p.level)
        if p.level == UD:
            t.lack("there is no RDMA Read at this level")
    most, nic_most = p.a.node.number("MaxSegmentsPerDesc"), p.a.node.number("MaxTransferSize")
    dst = p.b.node.mem(2 * SIZE)  # so that nothing but the length is wrong
    dst.fill(3)
    offset, room = (0, SIZE + 1) if how == "vi-maximum" else (12000, 64)
    p.b.recv(dst.part(offset, room))
    row = "G5.2-12"
    other: dict[str, Any] = {}
    segments = [p.src.part(0, 40), p.src.part(100, 24)]
    lengths = {"below": 63, "above": 65, "zero": 0, "all-ones": 0xFFFFFFFF}
    given: dict[str, Any] = {"Length": lengths[how]} if how in lengths else {}
    if how == "vi-maximum":
        row = "G5.2-24"
        big = p.a.node.mem(SIZE + 64)
        segments = [big.part(0, SIZE + 1)]
    elif how == "nic-maximum":
        row = "G5.2-24"
        segments = [p.src.part()] * (nic_most // SIZE) + [p.src.part(0, nic_most % SIZE + 1)]
        if len(segments) > most - 1:
            t.lack(f"the provider has a MaxTransferSize of {nic_most}, which is more than {most - 1} segments of {SIZE}")
    elif how == "segments":
        row, other = "G5.2-23", {FORMAT: "A13"}
        if most > 1000:
            t.lack(f"MaxSegmentsPerDesc is {most}")
        segments = [p.src.part(i, 1) for i in range(most + 1)]
    if how == "segments":  # the address segment counts, too (A16)
        segments.append(p.src.part(0, 1)) if op != "send" else None
        place = p.a.node.mem(32768)
        given = {"at": {"mem": place.mem, "offset": 0}}
    number = p.a.send(*segments, **given) if op == "send" else p.a.rdma(op, dst.remote(), *segments, **given)
    what = f"a Descriptor whose Length or count is wrong ({how})"
    if how == "vi-maximum" and nic_most > SIZE:
        got = p.a.reap("Send", 2 * t.settle_us)
        if got.good:
            t.report(row, what, str(got), LENGTH, erratum="A08")
            alive(t, pair(t, p.level, ends=(t.a, t.b)))
            return
        t.require(got.descriptor == number and LENGTH in got.errors, row, what, got, LENGTH)
    else:
        faulty(t, p, p.a, "Send", number, LENGTH, row, what, other)
    t.require(dst.wrong_around(3, offset, room) == 0, row, "memory of the other end", "changed", "as before")
    t.require(not p.b.done("Recv").good, row, "a receive at the other end", "filled", "is not filled")
    if p.level != UD:
        after_local(t, p, p.a)
    else:
        t.require(p.a.state() == CONNECTED, "S2.5.1-05", "the state of an unreliable VI after an error", p.a.state(), CONNECTED)
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


def told_anywhere(t: Calls, p: Pair, row: str, what: str, taken: bool = False) -> None:
    """RD: after a further transfer each way one of the ends knows (A89).

    taken: the further transfers find a receive, so that what is told is not that they found none.
    """
    def known() -> bool:
        return any(v.state() != CONNECTED for v in (p.a, p.b)) or bool(heard(t, p.a)) or bool(heard(t, p.b))

    end = t.now_us + t.async_us
    told = t.until(known, t.quiet_us)
    if taken and not told:
        p.a.recv(p.back.part(16, 8))
        p.b.recv(p.dst.part(16, 8))
    while not told and t.now_us < end:
        for v, mem, to, sink in ((p.a, p.src, p.b, p.dst), (p.b, p.dst, p.a, p.back)):
            v.send(mem.part(0, 8))
            got = v.reap("Send", t.settle_us)
            told = told or bool(got.errors)
            if taken and not told:
                got = to.done("Recv")
                told = bool(got.errors)
                if got.good:
                    to.recv(sink.part(16, 8))
        told = told or t.until(known, 100_000)
    t.require(told, row, what, "silence at both ends", "an error at one of them")


def refused_at_target(t: Calls, p: Pair, number: int, rr: Sequence[str], rows_rr: str, what: str) -> None:
    """What the target refuses: RR tells the initiator in its Descriptor, RD tells somebody, UD need not tell."""
    if p.level == RR:
        got = p.a.reap("Send", t.async_us)
        for row in rows_rr.split():
            t.require(got.descriptor == number and bool(set(rr) & got.errors), row, what, got, " or ".join(rr))
        t.require(got.ptr is not None and bool(got.errors), "S2.5.3-02", what, got, "an error in the initiator's Descriptor")
        t.require(p.a.becomes(ERROR, t.async_us), "S2.5.3-05", "the initiator's state", p.a.state(), ERROR)
    elif p.level == RD:
        p.a.reap("Send", t.settle_us)
        told_anywhere(t, p, "S2.5.2-03" if "receive" in what else "S2.5.2-08", what)
    else:
        p.a.reap("Send", t.settle_us)
        t.wait(t.quiet_us)
        for v in (p.a, p.b):
            deaf(t, v, "S7.1-01")
            for said in heard(t, v):
                t.notice("S7.1-01", f"{what}: a callback at an unreliable VI", said.get("code"), "silence", "A19")
            if v.state() == ERROR:
                t.notice("S2.5.1-05", f"{what}: the state of an unreliable VI", ERROR, CONNECTED, "A15")
            else:
                t.require(v.state() == CONNECTED, "S2.5.1-05", f"{what}: the state", v.state(), CONNECTED)


def reports_and_ends(t: Calls, p: Pair, what: str) -> None:
    """RD and RR: an end whose handler was called, or whose receive came back in error, has ended its Connection."""
    for v in (p.a, p.b) if p.level != UD else ():
        if heard(t, v):
            t.require(v.becomes(ERROR, t.async_us), "S2.3.1-04", f"the state of an end that was told of {what}", v.state(), ERROR)
        deaf(t, v, "S2.3.1-04")


@vipl("X5", "A Send into an empty receive queue",
      "S2.3.1-03 S2.3.1-04 S2.5.2-03 S2.5.2-08 S2.5.3-02 S2.5.3-03 S2.5.3-05 S7.1-01 G3.8.1-08 G5.2-34",
      errata="A15 A19 A89 A105", variants=levels())  # fmt: skip
def empty_queue(t: Calls) -> None:
    """UD: dropped. RD: one of the ends learns. RR: the sender's Descriptor tells. A receive posted later is not filled with it."""
    p = pair(t, t.params["level"])
    transfer(p, 20, 1)
    p.src.fill(66, 0, 64)
    number = p.a.send(p.src.part(0, 64))
    if p.level == RR:
        later = p.a.send(p.src.part(100, 8))
    refused_at_target(t, p, number, (REMOTE_DESC,), "G5.2-34", "a Send into an empty receive queue")
    reports_and_ends(t, p, "a Send into an empty receive queue")
    if p.level == RR:
        got = p.a.reap("Send", t.settle_us)
        t.require(got.descriptor == later and not got.good, "S2.5.3-03", "a Send behind the one in error", got, "an error")
    for v in (p.a, p.b):
        for said in heard(t, v):
            t.require(said.get("code") in ("VIP_ERROR_RECVQ_EMPTY", LOST), "G3.8.1-08", "the code of a callback", said.get("code"),
                      f"VIP_ERROR_RECVQ_EMPTY or {LOST}")  # fmt: skip
        deaf(t, v, "G3.8.1-08")
    if p.b.state() == CONNECTED:
        if p.level == UD:  # the message may be on its way, if not unduly long (S 2.5.1)
            t.wait(t.settle_us)
        p.b.recv(p.dst.part(0, 64))
        t.wait(t.quiet_us)
        got = p.b.done("Recv")
        t.require(got.code == NOT_DONE or not got.good or p.level == UD and got.length != 64, "S2.3.1-03",
                  "a receive posted after the message was dropped", got, "is not filled with it")  # fmt: skip
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("X6", "A Send that is too long for its receive",
      "S2.3.1-03 S2.3.1-04 S2.5.1-05 S2.5.3-02 S6.4.1-05 S6.4.1-06 G2.4-02 G2.4-03 G3.8.1-04 G5.2-15 G5.2-25 G5.2-34",
      errata="A10 A15 A59 A89 A105", variants=each(levels(), "over", {"one": 1, "much": 5000}))  # fmt: skip
def too_long(t: Calls) -> None:
    """The receive has LENGTH and Length 0; nothing is written past its segments; those before it stay good, none comes after it."""
    p = pair(t, t.params["level"])
    dst = p.b.node.mem(SIZE, fill="c3")
    first = p.b.recv(dst.part(0, 64))
    short = p.b.recv(dst.part(1024, 100))
    rest = [p.b.recv(dst.part(8192 + 6144 * i, 6144)) for i in range(3)]  # long enough, but they are not the next
    p.src.fill(9)
    p.a.send(p.src.part(0, 64))
    p.a.reap("Send")
    number = p.a.send(p.src.part(0, 100 + t.params["over"]))
    for _ in range(2):
        p.a.send(p.src.part(0, 32))
    got = p.b.reap("Recv")
    if p.level != UD:
        t.require(got.good and got.descriptor == first, "G2.4-03", "the receive before", got, "success")
    got = p.b.reap("Recv", 2 * t.settle_us)
    if p.level == UD and (got.ptr is None or got.good):
        t.step("the message was lost, which is right at this level")
    else:
        t.require(got.descriptor == short and LENGTH in got.errors, "G5.2-25", "a receive that is too short", got, LENGTH)
        t.require(LENGTH in got.errors, "S6.4.1-06", "a receive that is too short", got, LENGTH)
        t.require(bool(got.errors), "S2.3.1-03", "a receive that is too short", got, "an error")
        for row in ("S6.4.1-05", "G5.2-15"):
            t.require(LENGTH in got.errors and got.length == 0, row, "its status and Length", got, f"{LENGTH} and 0")
        t.require(LENGTH in got.errors, "G3.8.1-04", "a receive that is too short", got, "the error in the Descriptor")
    for at, size in ((960, 64), (1124, 2900)):
        seen = dst.read(at, size)
        t.require(seen == b"\xc3" * size, "S2.3.1-03", "bytes outside of a receive that is too short", "changed", "as before")
    if p.level != UD:
        t.require(p.b.becomes(ERROR), "G2.4-02" if p.level == RD else "S2.5.3-05", "the receiver's state", p.b.state(), ERROR)
        t.require(p.b.becomes(ERROR), "S2.3.1-04", "the state of the end whose receive is too short", p.b.state(), ERROR)
        for one in rest:
            later = p.b.reap("Recv")
            t.require(later.descriptor == one and bool(later.errors), "G2.4-03", "a receive behind the one in error", later,
                      "an error")
    else:
        t.require(p.b.state() in (CONNECTED, ERROR), "S2.5.1-05", "the receiver's state", p.b.state(), CONNECTED)
    if p.level == RR:
        mine = p.a.reap("Send", t.async_us)
        t.require(mine.descriptor == number and REMOTE_DESC in mine.errors, "G5.2-34", "the Send that was too long", mine,
                  REMOTE_DESC)
        t.require(bool(mine.errors), "S2.5.3-02", "the Send that was too long", mine, "an error in the Descriptor")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("X7", "A Send above the receiver's maximum", "G5.2-26", errata="A08 A09", variants=levels())
def above_maximum(t: Calls) -> None:
    """Both maxima are equal, so the sender's own LENGTH comes first, and nothing arrives."""
    p = pair(t, t.params["level"])
    big, sink = p.a.node.mem(2 * SIZE), p.b.node.mem(2 * SIZE)
    if min(p.a.node.number("MaxTransferSize"), p.b.node.number("MaxTransferSize")) < SIZE + 1:
        p.a.reap("Send", 0)
    p.b.recv(sink.part(0, SIZE + 100))
    number = p.a.send(big.part(0, SIZE + 1))
    got = p.a.reap("Send", 2 * t.settle_us)
    if got.good:
        t.report("G5.2-26", "a Send above the VI's maximum", str(got), LENGTH, erratum="A08")
    else:
        t.require(got.descriptor == number and LENGTH in got.errors, "G5.2-26", "a Send above the VI's maximum", got, LENGTH)
        t.wait(t.quiet_us)
        t.require(not p.b.done("Recv").good, "G5.2-26", "the receive at the other end", "filled", "is not filled")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("X8", "A faulty receive, and a message comes",
      "S2.5.3-02 S3.2.2.1-04 S6.4.1-06 G2.4-02 G2.4-03 G5.2-21 G5.2-23 G5.2-34", errata="A13 A15 A88 A105",
      variants=each(levels(), "how", {h: h for h in (*_WRONG_SINKS, "segments")}))  # fmt: skip
def faulty_receive(t: Calls) -> None:
    """The receive has the bit of its fault, at the post or when the message comes; the message does not land anywhere else.

    The message reaches into the second segment where that is the one at fault.
    """
    p = pair(t, t.params["level"])
    how = t.params["how"]
    if how == "segments":
        most = p.b.node.number("MaxSegmentsPerDesc")
        if most > 1000:
            t.lack(f"MaxSegmentsPerDesc is {most}")
        room = p.b.node.mem(32768)
        number = p.b.recv(*[p.dst.part(i, 1) for i in range(most + 1)], at={"mem": room.mem, "offset": 0})
        bit, row, region = LENGTH, "G5.2-23", None
    else:
        segment, region = misplaced(t, p.b.node, how)
        number = p.b.recv(*([p.dst.part(0, 16)] if how == "second" else []), segment)
        bit, row = PROTECTION, "S3.2.2.1-04" if how in ("foreign-tag", "second") else "G5.2-21"
    later = p.b.recv(p.dst.part(8192, 64))
    p.src.fill(9, 0, 32)
    t.wait(t.quiet_us // 4)
    sent_number = None
    if p.a.state() == CONNECTED:
        sent_number = p.a.send(p.src.part(0, 32))
    got = faulty(t, p, p.b, "Recv", number, bit, row, f"a receive with {how}", {FORMAT: "A13"} if how == "segments" else {})
    if region is not None:
        t.require(region.read(0, 64) == b"\x5a" * 64, row, "memory that must not be reached", "changed", "as before")
    if p.level != UD:
        t.require(p.b.becomes(ERROR), "G2.4-02" if p.level == RD else "S2.5.3-05", "the receiver's state", p.b.state(), ERROR)
        behind = p.b.reap("Recv")
        t.require(behind.descriptor == later and bool(behind.errors), "G2.4-03", "a receive behind the one in error", behind,
                  "an error")
    if p.level == RR and sent_number is not None:
        mine = p.a.reap("Send", t.async_us)
        if mine.errors and REMOTE_DESC not in mine.errors:
            t.notice("G5.2-34", "the Send for a faulty receive", mine, REMOTE_DESC, "A88")
        else:
            t.require(bool(mine.errors), "S2.5.3-02", "the Send for a faulty receive", mine, REMOTE_DESC)
    del got
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


_TARGETS = ("bad-handle", "range", "foreign-tag", "vi-off", "region-off", "deregistered")


def forbidden(t: Calls, p: Pair, how: str, reading: bool) -> tuple[dict[str, Any], Mem]:
    """A remote range that must not be reached, and the region there."""
    node = p.b.node
    if how == "foreign-tag":
        region = node.mem(16384, ptag=node.ptag_new(), fill="5a")
        return region.remote(), region
    if how == "region-off":
        region = node.mem(16384, write=reading, read=False if reading else None, fill="5a")
        return region.remote(), region
    region = node.mem(16384, fill="5a")
    if how == "bad-handle":
        return region.remote(handle=(region.handle + 0x5A5A) & 0xFFFFFFFF), region
    if how == "range":
        return region.remote(16384 + 8192), region
    if how == "deregistered":
        node.code("VipDeregisterMem", mem=region.mem)
    return region.remote(), region


def _pair_for(t: Calls, how: str, reading: bool) -> Pair:
    """Connected; the target VI has the enable unless the case takes it away."""
    one, other = nodes(t)
    level = need_level(one, t.params["level"])
    if reading:
        need_read(one, level)
    read = level in (other.attribs.get("RDMAReadSupport") or [])
    off = how == "vi-off"
    a = one.vi(level)
    b = other.vi(level, EnableRdmaWrite=not (off and not reading), EnableRdmaRead=read and not (off and reading))
    p = Pair(a, b, one.mem(SIZE, write=False, read=False), other.mem(SIZE), one.mem(SIZE, write=False, read=False))
    connect(a, b)
    return p


@vipl("X12", "RDMA Writes that must not reach memory",
      "S1.5.3-02 S2.5.1-05 S2.5.2-08 S2.5.3-02 S2.5.3-05 S3.2.1-05 S3.2.2.1-04 S3.2.2.2-01 S3.2.2.2-03 S6.3.2-01 S7.1-01 "
      "G3.8.1-10 G5.2-32", errata="A15 A19 A54 A63 A89",
      variants=each(levels(), "how", {h: h for h in _TARGETS}))  # fmt: skip
def write_forbidden(t: Calls) -> None:
    """Handle, range, tag, enables: no byte is written. UD: silence is right. RD: one end learns. RR: the Descriptor tells."""
    p = _pair_for(t, t.params["how"], False)
    remote, region = forbidden(t, p, t.params["how"], False)
    p.src.fill(8, 0, 64)
    number = p.a.rdma("write", remote, p.src.part(0, 64))
    row = {"range": "S3.2.1-05", "foreign-tag": "S3.2.2.1-04", "vi-off": "S3.2.2.2-01",
           "region-off": "S3.2.2.2-01"}.get(t.params["how"], "S6.3.2-01")  # fmt: skip
    refused_at_target(t, p, number, (RDMA_PROT,), "G5.2-32", f"an RDMA Write with {t.params['how']}")
    t.wait(t.quiet_us // 2)
    seen = region.read(0, 16384)
    t.require(seen == b"\x5a" * 16384, row, f"memory behind an RDMA Write with {t.params['how']}", "changed", "as before")
    t.require(seen == b"\x5a" * 16384, "S3.2.2.2-03", "memory behind an RDMA Write that is refused", "changed", "as before")
    if t.params["how"] == "bad-handle":
        t.require(seen == b"\x5a" * 16384, "S1.5.3-02", "memory behind an RDMA Write by another handle", "changed", "as before")
    for v in (p.a, p.b):
        for said in heard(t, v):
            t.require(said.get("code") in ("VIP_ERROR_RDMAW_PROT", LOST), "G3.8.1-10", "the code of a callback", said.get("code"),
                      f"VIP_ERROR_RDMAW_PROT or {LOST}")  # fmt: skip
        deaf(t, v, "G3.8.1-10")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("X13", "RDMA Writes with Immediate Data that must not reach memory",
      "S2.5.3-02 S3.2.2.2-03 G3.8.1-04 G3.8.1-10 G5.2-22 G5.2-32", errata="A14 A15 A54 A89 A105",
      variants=each(levels(), "how", {h: h for h in ("bad-handle", "range", "vi-off", "region-off")}))  # fmt: skip
def write_immediate_forbidden(t: Calls) -> None:
    """No byte is written; the receive that is consumed has PROTECTION; RR tells the initiator."""
    p = _pair_for(t, t.params["how"], False)
    remote, region = forbidden(t, p, t.params["how"], False)
    receive = p.b.recv(p.dst.part(0, 64))
    number = p.a.rdma("write", remote, p.src.part(0, 64), immediate=5)
    if p.level == RR:
        got = p.a.reap("Send", t.async_us)
        t.require(got.descriptor == number and bool({RDMA_PROT, REMOTE_DESC} & got.errors), "G5.2-32",
                  "the initiator's Descriptor", got, RDMA_PROT)
        t.require(bool(got.errors), "S2.5.3-02", "the initiator's Descriptor", got, "an error")
    else:
        p.a.reap("Send", t.settle_us)
    got = p.b.reap("Recv", 2 * t.settle_us)
    if got.ptr is None and p.level == UD:
        t.step("nothing came: the message was lost, which is right at this level")
    else:
        t.require(got.descriptor == receive and PROTECTION in got.errors, "G5.2-22", "the receive of a Write that is refused",
                  got, PROTECTION)
        t.require(PROTECTION in got.errors, "G3.8.1-04", "the receive of a Write that is refused", got,
                  "the error in the Descriptor")
    t.require(region.read(0, 16384) == b"\x5a" * 16384, "S3.2.2.2-03", "memory behind a Write that is refused", "changed",
              "as before")
    for v in (p.a, p.b):
        for said in heard(t, v):
            t.require(said.get("code") in ("VIP_ERROR_RDMAW_PROT", LOST), "G3.8.1-10", "the code of a callback", said.get("code"),
                      LOST)
        deaf(t, v, "G3.8.1-10")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("X16", "An RDMA Write with Immediate Data into an empty receive queue",
      "S2.3.1-04 S2.3.2-05 S2.5.2-03 S2.5.3-02 G3.8.1-08 G5.2-34", errata="A15 A19 A89", variants=levels())  # fmt: skip
def write_immediate_empty(t: Calls) -> None:
    """As a Send into an empty receive queue, by level."""
    p = pair(t, t.params["level"])
    transfer(p, 20, 1)
    number = p.a.rdma("write", p.dst.remote(), p.src.part(0, 64), immediate=5)
    refused_at_target(t, p, number, (REMOTE_DESC,), "S2.3.2-05 G5.2-34",
                      "an RDMA Write with Immediate Data that finds no receive")
    reports_and_ends(t, p, "an RDMA Write with Immediate Data that finds no receive")
    for said in heard(t, p.b):
        t.require(said.get("code") in ("VIP_ERROR_RECVQ_EMPTY", LOST), "G3.8.1-08", "the code of a callback", said.get("code"),
                  "VIP_ERROR_RECVQ_EMPTY")  # fmt: skip
    deaf(t, p.b, "G3.8.1-08")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("X17", "RDMA Reads that must not reach memory",
      "S3.2.2.1-04 S3.2.2.2-01 S3.2.2.2-03 S6.3.2-01 G3.8.1-13 G5.2-32", errata="A63 A89", applies="rdma_read",
      variants=each(levels((RD, RR)), "how", {h: h for h in _TARGETS}))  # fmt: skip
def read_forbidden(t: Calls) -> None:
    """The initiator's Descriptor has RDMA_PROT, and no byte of the region arrives in its sink."""
    p = _pair_for(t, t.params["how"], True)
    remote, region = forbidden(t, p, t.params["how"], True)
    p.back.fill(4, 0, 64)
    number = p.a.rdma("read", remote, p.back.part(0, 64))
    got = p.a.reap("Send", t.async_us)
    row = {"foreign-tag": "S3.2.2.1-04", "vi-off": "S3.2.2.2-01", "region-off": "S3.2.2.2-01"}.get(t.params["how"], "S6.3.2-01")
    t.require(got.descriptor == number and RDMA_PROT in got.errors, "G5.2-32", f"an RDMA Read with {t.params['how']}", got,
              RDMA_PROT)
    t.require(not got.good, row, f"an RDMA Read with {t.params['how']}", got, "an error")
    sink = p.back.read(0, 64)  # of a Descriptor in error: it may hold anything (G 5.5) but what may not be read
    t.require(b"\x5a" * 8 not in sink, "S3.2.2.2-03", "the sink of an RDMA Read that is refused", "bytes of the region",
              "other bytes")
    t.wait(t.quiet_us // 2)
    for said in heard(t, p.b):
        t.require(said.get("code") in ("VIP_ERROR_RDMAR_PROT", LOST), "G3.8.1-13", "the code of a callback", said.get("code"), LOST)
    deaf(t, p.b, "G3.8.1-13")
    del region
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("X23", "One Descriptor too many", "G3.8.1-09", errata="A20 A97", tags="limits",
      variants=[Variant("recv", {})])  # fmt: skip
def one_too_many(t: Calls) -> None:
    """MaxDescriptorsPerQueue receives go well; one more is refused, told of, or fits; none is lost silently."""
    one, _ = nodes(t)
    most = one.number("MaxDescriptorsPerQueue")
    if not 0 < most <= 2048:
        t.lack(f"MaxDescriptorsPerQueue is {most}")
    vi, mem = one.vi(best_level(one)), one.mem(64)
    numbers = []
    for _ in range(most + 1):
        posted = one.call("VipPostRecv", vi=vi.vi, descriptor={"op": "recv", "segments": [mem.part(0, 8)]})
        if posted.returned() != OK:
            break
        numbers.append(posted.integer("descriptor"))
    t.require(len(numbers) >= most, "G3.8.1-09", "receives that could be posted", len(numbers), most)
    t.wait(t.quiet_us)
    for said in heard(t, vi):
        t.require(said.get("code") in ("VIP_ERROR_VI_OVERRUN", "VIP_ERROR_POST_DESC"), "G3.8.1-09", "the code of a callback",
                  said.get("code"),
                  "VIP_ERROR_VI_OVERRUN")  # fmt: skip
    vi.disconnect()
    back: list[Any] = []
    for _ in range(len(numbers) + 1):
        got = vi.reap("Recv") if len(back) < most else vi.done("Recv")  # flushed Descriptors may need a moment
        if got.ptr is None:
            break
        back.append(got.descriptor)
    t.require(back[:most] == numbers[:most], "G3.8.1-09", "Descriptors that came back", len(back), f"the {most} posted, in order")
    alive(t)


@vipl("X24", "Memory de-registered under a receive", "S3.2.1-09 G3.8.1-14", errata="A96 A98",
      variants=each(levels((RD, RR)), "what", {"buffer": "buffer", "descriptor": "descriptor"}))  # fmt: skip
def deregistered_under(t: Calls) -> None:
    """A message comes for a receive whose buffer or Descriptor memory is gone: an error, or a provider that still has it mapped."""
    p = pair(t, t.params["level"])
    node = p.b.node
    mine, buffer = node.mem(4096), node.mem(4096)
    number = p.b.recv(buffer.part(0, 64), at={"mem": mine.mem, "offset": 0})
    gone = buffer if t.params["what"] == "buffer" else mine
    code = node.code("VipDeregisterMem", mem=gone.mem)
    if code != OK:
        t.codes("S3.2.1-09", "VipDeregisterMem under a posted receive", code, OK, {"VIP_ERROR_RESOURCE": "A96"})
        alive(t)
        return
    p.a.send(p.src.part(0, 64))
    p.a.reap("Send", t.settle_us)
    got = p.b.reap("Recv", 2 * t.settle_us)
    if got.good:
        t.notice("S3.2.1-09", "a message for memory that is gone", got, "an error", "A96")
    else:
        told = got.ptr is not None or bool(heard(t, p.b)) or p.b.becomes(ERROR)
        deaf(t, p.b, "G3.8.1-14")
        t.require(told or deaf(t, p.b, "S3.2.1-09"), "S3.2.1-09", "a message for memory that is gone", "silence", "an error")
        if t.params["what"] == "buffer":  # its Descriptor is there
            got = p.b.reap("Recv") if got.ptr is None else got
            t.require(got.descriptor == number and bool(got.errors), "S3.2.1-09", "the receive", got, PROTECTION)
        for said in heard(t, p.b):
            t.require(said.get("code") in ("VIP_ERROR_POST_DESC", "VIP_ERROR_COMP_PROT", LOST), "G3.8.1-14",
                      "the code of a callback",
                      said.get("code"), "VIP_ERROR_COMP_PROT")  # fmt: skip
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("X26", "Behind the first error", "S2.5.2-04 S2.5.3-03 S2.5.3-05 S5.4-01 S5.4-02 S5.4-03 G5.2-29",
      errata="A28 A59 A61",
      variants=levels((RD, RR)))  # fmt: skip
def behind_error(t: Calls) -> None:
    """Every later Descriptor of both queues comes back with an error, in order, and none of them had an effect."""
    p = pair(t, t.params["level"])
    p.dst.fill(2)
    there = [p.b.recv(p.dst.part(16384 + 64 * i, 64)) for i in range(8)]
    mine = [p.a.recv(p.back.part(64 * i, 64)) for i in range(4)]
    posted = [p.a.send(p.src.part(0, 40), Length=41)]
    posted += [p.a.send(p.src.part(0, 40)) for _ in range(4)]
    posted += [p.a.rdma("write", p.dst.remote(), p.src.part(0, 64))]
    for i, number in enumerate(posted):
        got = p.a.reap("Send", t.settle_us)
        t.require(got.descriptor == number, "S5.4-03", f"Descriptor {i} of the send queue", got, "in order")
        t.require(bool(got.errors), "S2.5.2-04" if p.level == RD else "S2.5.3-03", f"Descriptor {i} of the send queue", got,
                  "an error")
    for number in mine:
        got = p.a.reap("Recv", t.settle_us)
        t.require(got.descriptor == number and bool(got.errors), "S5.4-01", "a receive of the VI in error", got,
                  "an error, in order")
    t.require(p.a.state() == ERROR, "S2.5.2-04" if p.level == RD else "S2.5.3-05", "the state", p.a.state(), ERROR)
    t.wait(t.quiet_us)
    got = p.b.done("Recv")
    t.require(not got.good, "S5.4-02", "a receive at the other end", got, "is not filled")
    t.require(p.dst.wrong(2, 0, 4096) == 0, "S5.4-02", "memory of the other end", "changed", "as before")
    del there
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("E4", "Which errors come by callback", "S7.1-01 S7.2-01 G3.8.1-04", errata="A19 A56 A57", variants=levels())
def by_callback(t: Calls) -> None:
    """A local error is in its Descriptor, whatever else is told; on UD no callback is needed, and one that comes is noted."""
    p = pair(t, t.params["level"])
    number = p.a.send(p.src.part(0, 40), Length=41)
    got = p.a.reap("Send")
    t.require(got.descriptor == number and LENGTH in got.errors, "G3.8.1-04", "a Descriptor with a wrong Length", got, LENGTH)
    if p.level == RD:
        t.require(p.a.becomes(ERROR), "S7.2-01", "the state when its Descriptor has an error", p.a.state(), ERROR)
    t.wait(t.quiet_us)
    deaf(t, p.a, "S7.1-01")
    for said in heard(t, p.a):
        if p.level == UD:
            t.notice("S7.1-01", "a callback for a local error at UD", said.get("code"), "silence", "A19")
        else:
            t.require(said.get("code") == LOST, "S7.2-01", "the code of a callback", said.get("code"), LOST, erratum="A57")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("E6", "Successes before the report", "S2.5.2-08", errata="A55 A89", variants=levels((RD,)))
def successes(t: Calls) -> None:
    """RD: Sends into an empty queue may be successful; the error comes later, at one of the ends."""
    p = pair(t, t.params["level"])
    for _ in range(3):
        p.a.send(p.src.part(0, 32))
    told_anywhere(t, p, "S2.5.2-08", "Sends into an empty receive queue")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))
