"""Good transfers: contents, lengths, immediate data, lists of segments, limits, and what a Descriptor holds when it is done."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant

from conformance.vipl.cases.queues import entries
from conformance.vipl.steps.declare import RD, RR, UD, each, levels, vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import (
    BAD, NOT_DONE, OK, RESOURCE, SIZE, Got, Mem, Node, Pair, alive, best_level, connect, need_level, need_read, nodes, pair,
    transfer,
)  # fmt: skip

_GUARD = 0xC3


def split(mem: Mem, offset: int, length: int, pieces: int) -> list[dict[str, Any]]:
    """A range as so many data segments, some of them of unequal length."""
    cuts = [length * i // pieces for i in range(pieces + 1)]
    return [mem.part(offset + a, b - a) for a, b in zip(cuts, cuts[1:])]


def sent(p: Pair, segments: list[dict[str, Any]], into: list[dict[str, Any]], row: str,
         recv_at: dict[str, Any] | None = None, **other: Any) -> Got | None:  # fmt: skip
    """One Send and its receive, which may be lost on UD (A105). None when it was."""
    t = p.a.t
    number = p.b.recv(*into, **({"at": recv_at} if recv_at else {}))
    for _ in range(3 if p.level == UD else 1):
        p.a.send(*segments, **other)
        p.a.good("Send", row, "a Send")
        got = p.b.reap("Recv", t.settle_us if p.level != UD else t.settle_us // 2)
        if got.code != NOT_DONE:
            t.require(got.good and got.descriptor == number, row, "its receive", got, "success")
            return got
    if p.level != UD:
        t.fail(row, "the receive of a good Send", "nothing", "success")
    t.step("the message was lost three times, which no rule forbids at this level")
    p.b.clean()
    p.a.clean()
    connect(p.a, p.b)
    return None


def guards(t: Calls, mem: Mem, offset: int, length: int, row: str) -> None:
    """The bytes around a range are those of before."""
    for at in (offset - 64, offset + length):
        if at < 0 or at + 64 > mem.length:
            continue
        seen = mem.read(at, 64)
        t.require(seen == bytes([_GUARD]) * 64, row, f"bytes {'before' if at < offset else 'behind'} the buffer", seen[:8].hex(),
                  f"{_GUARD:02x} in each")  # fmt: skip


def guarded(p: Pair) -> Mem:
    """A region of the target's that is full of guard bytes."""
    return p.b.node.mem(p.dst.length, fill=f"{_GUARD:02x}")


@vipl("D1", "Sends of every size, gathered and scattered",
      "S2.2-02 S2.3.1-01 S2.3.1-02 S2.5.2-01 S5.3-02 S6.1.1.2-02 G5.2-04 G6.6-01", errata="A55 A105",
      variants=each(levels(), "lists", {"one": (1, 1), "gather": (7, 1), "scatter": (1, 7), "both": (5, 3)}))  # fmt: skip
def sends(t: Calls) -> None:
    """Bytes arrive in the order of the segments and nowhere else; Length is their number."""
    p = pair(t, t.params["level"])
    dst = guarded(p)
    gather, scatter = t.params["lists"]
    for i, length in enumerate((0, 1, 2, 63, 64, 65, 1000, 2112, 4096, 4097, 32768 - 128)):
        p.src.fill(i, 0, max(length, 1))
        got = sent(p, split(p.src, 0, length, gather), split(dst, 64, length, scatter), "S2.3.1-01")
        if got is None:
            continue
        t.require(got.length == length, "S6.1.1.2-02", "Length of a receive", got.length, length)
        t.require(dst.wrong(i, 64, length) == 0, "S2.3.1-01", f"{dst.wrong(i, 64, length)} of {length} bytes", "others",
                  "those sent")
        guards(t, dst, 64, length, "S2.3.1-01")
        dst.write(bytes([_GUARD]) * min(30000, length), 64)
        if length > 30000 - 64:
            dst.write(bytes([_GUARD]) * (length - 30000), 64 + 30000)
    number = p.b.recv(dst.part(0, 100))
    p.a.send(p.src.part(0, 100))
    got = p.b.wait("Recv", t.settle_us)
    if p.level != UD:
        t.require(got.good and got.descriptor == number, "G6.6-01", "a message whose sender made no other call", got, "arrives")
    p.a.good("Send", "G5.2-04", "a Send")
    for i in range(8):
        p.b.recv(dst.part(i * 64, 64))
    for i in range(8):
        p.src.fill(50 + i, i * 64, 40)
        p.a.send(p.src.part(i * 64, 40))
    for i in range(8):
        p.a.good("Send", "S5.3-02", "a Send of eight")
        got = p.b.reap("Recv", t.settle_us)
        if p.level != UD:
            t.require(got.good and got.length == 40 and dst.wrong(50 + i, i * 64, 40) == 0, "S2.3.1-02", f"message {i} of eight",
                      got,
                      "one whole message each")  # fmt: skip
            for row in ("S2.2-02", "S2.5.2-01"):  # from one region to one region, which were registered once
                t.require(got.good and dst.wrong(50 + i, i * 64, 40) == 0, row, f"message {i} of eight", got,
                          "once, intact, in order")  # fmt: skip
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("D2", "RDMA Writes of every size", "S2.3.2-01 S2.3.2-03 S2.3.2-06 G5.2-14 G5.3-02", errata="A105",
      variants=each(levels(), "gather", {"one": 1, "two": 2, "seven": 7, "many": 251}))  # fmt: skip
def writes(t: Calls) -> None:
    """The remote bytes are the segments one behind another; guard bytes stay, no receive is used, and a Send behind it uses it."""
    p = pair(t, t.params["level"])
    dst, gather = guarded(p), t.params["gather"]
    waiting = p.b.recv(p.dst.part(0, 64))
    for i, (length, offset) in enumerate(((0, 64), (1, 64), (300, 65), (1000, 127), (4097, 4095), (20000, 1024))):
        p.src.fill(i, 0, max(length, 1))
        dst = guarded(p) if p.level == UD else dst  # what was lost may come at any time (S 2.5.1)
        for _ in range(3 if p.level == UD else 1):
            p.a.rdma("write", dst.remote(offset), *split(p.src, 0, length, gather))
            p.a.good("Send", "S2.3.2-06", "an RDMA Write")
            wrong = [1]

            def written() -> bool:
                wrong[0] = dst.wrong(i, offset, length)  # noqa: B023
                return wrong[0] == 0  # noqa: B023

            if t.until(written, t.settle_us // (1 if p.level != UD else 4)):
                break
        if p.level == UD and wrong[0]:
            t.step("an RDMA Write was lost, which is right at this level")
            continue
        t.require(wrong[0] == 0, "S2.3.2-01", f"{wrong[0]} of {length} bytes of an RDMA Write", "others", "those written")
        t.require(wrong[0] == 0, "G5.3-02", f"an RDMA Write at offset {offset}", "other bytes", "those written")
        guards(t, dst, offset, length, "S2.3.2-01")
        dst.write(bytes([_GUARD]) * min(length, 30000), offset)
    got = p.b.done("Recv")
    t.require(got.code == NOT_DONE, "S2.3.2-03", "a receive behind RDMA Writes", got, NOT_DONE)
    p.a.send(p.src.part(0, 10))
    p.a.good("Send", "S2.3.2-03", "a Send behind RDMA Writes")
    got = p.b.reap("Recv")
    if p.level != UD:
        t.require(got.good and got.descriptor == waiting, "S2.3.2-03", "the receive of that Send", got, "success")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("D3", "RDMA Reads of every size",
      "S2.3.2-02 S2.3.2-03 S2.3.2-08 S2.5.2-06 S6.1.1.2-01 G5.2-06 G5.2-14 G5.3-02", applies="rdma_read",
      variants=each(levels((RD, RR)), "scatter", {"one": 1, "two": 2, "seven": 7}))  # fmt: skip
def reads(t: Calls) -> None:
    """The local segments hold the remote range in order when VipSendDone gives the Descriptor; the source is as before."""
    p = pair(t, t.params["level"])
    need_read(p.a.node, p.level)
    sink = p.a.node.mem(SIZE + 128, fill=f"{_GUARD:02x}")
    waiting = p.b.recv(p.dst.part(32000, 64))
    for i, (length, offset) in enumerate(((1, 0), (300, 63), (4097, 4095), (20000, 1024), (SIZE, 0))):
        p.dst.fill(i)
        p.a.rdma("read", p.dst.remote(offset), *split(sink, 64, length, t.params["scatter"]))
        got = p.a.reap("Send", 5 * t.settle_us)
        for row in ("G5.2-06", "S2.3.2-08"):
            t.require(got.errors != {"FORMAT_ERROR"}, row, "an RDMA Read at a level of RDMAReadSupport", got,
                      "an operation that there is")
        row = "S6.1.1.2-01" if length == SIZE else "S2.3.2-02"
        t.demand(got.good, row, f"an RDMA Read of {length} bytes", got, "a Descriptor without error")
        t.require(got.length == length, "G5.2-14", "Length of an RDMA Read", got.length, length)
        expected = p.dst.read(offset, min(length, 8000))
        seen = sink.read(64, min(length, 8000))
        for row in ("S2.5.2-06", "S2.3.2-02", "G5.3-02"):
            t.require(seen == expected, row, "the bytes of an RDMA Read that is done", seen[:8].hex(), expected[:8].hex())
        t.require(p.dst.wrong_around(i, 32000, 64) == 0, "S2.3.2-02", "the source of an RDMA Read", "other bytes", "as before")
        guards(t, sink, 64, length, "G5.3-02")
        sink.write(bytes([_GUARD]) * length, 64)
    got = p.b.done("Recv")
    t.require(got.code == NOT_DONE, "S2.3.2-03", "a receive behind RDMA Reads", got, NOT_DONE)
    del waiting
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("D4", "Nothing in it", "S6.1.1.1-02 S6.1.1.1-03 G5.2-03", errata="A62",
      variants=[*each(levels(), "op", {"send": "send", "write": "write"}),
                *each(levels((RD, RR), "rdma_read"), "op", {"read": "read"})])
def zero_length(t: Calls) -> None:
    """Empty lists, and segments of no length at the first, middle and last place."""
    p = pair(t, t.params["level"])
    op = t.params["op"]
    if op == "read":
        need_read(p.a.node, p.level)
    p.src.fill(3, 0, 200)
    part = p.src.part
    lists: dict[str, list[dict[str, Any]]] = {
        "none": [], "first": [part(0, 0), part(0, 100)], "middle": [part(0, 50), part(9, 0), part(50, 50)],
        "last": [part(0, 100), part(100, 0)],
    }  # fmt: skip
    for name, segments in lists.items():
        length = sum(s["length"] for s in segments)
        row = "S6.1.1.1-02" if name == "none" else "S6.1.1.1-03"
        if op == "send":
            got = sent(p, segments, [p.dst.part(0, length)] if length else [], row)
            if got is not None:
                t.require(got.length == length and p.dst.wrong(3, 0, length) == 0, row, f"a Send with {name}", got,
                          f"Length {length}")
        else:
            p.a.rdma(op, p.dst.remote(), *segments)
            got = p.a.good("Send", "G5.2-03" if name == "none" else row, f"RDMA with {name}", 3 * t.settle_us)
            t.require(got.length == length, row, f"Length of RDMA with {name}", got.length, length)
            if op == "write" and p.level != UD and length:
                t.require(t.until(lambda: p.dst.wrong(3, 0, length) == 0, t.settle_us), row, "bytes written", "others",
                          "those sent")  # noqa: B023
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("D5", "Immediate Data", "S2.3.2-04 G5.2-08 G5.2-16 G5.2-17 G5.2-38 G5.2-39", errata="A11 A105",
      variants=each(levels(), "op", {"send": "send", "write": "write"}))  # fmt: skip
def immediate(t: Calls) -> None:
    """Every value, with and without bytes: bit 19, the value, Length without it; without the bit bit 19 is clear. What an RDMA
    Write brings has its place, so that its receive needs no room.
    """
    p = pair(t, t.params["level"])
    op = t.params["op"]
    for value in (0, 1, 0x80000000, 0xFFFFFFFF, None):
        for length in (0, 200):
            if value is None and op == "write":
                continue
            p.src.fill(7, 0, 200)
            p.dst.write(b"\0" * 200, 1000)
            number = p.b.recv(p.dst.part(0, 8 if op == "write" and value in (1, 0x80000000) else 400))
            immediate_data = "no" if value is None else "some" if value else "zero as"
            what = f"{immediate_data} Immediate Data, {'some' if length else 'no'} bytes"
            got = Got(NOT_DONE, None)
            for _ in range(3 if p.level == UD else 1):
                segments = [p.src.part(0, length)] if length else []
                if op == "send":
                    p.a.send(*segments, immediate=value)
                else:
                    p.a.rdma("write", p.dst.remote(1000), *segments, immediate=value)
                p.a.good("Send", "G5.2-08", what)
                got = p.b.reap("Recv", t.settle_us if p.level != UD else t.settle_us // 2)
                if got.code != NOT_DONE:
                    break
            if got.code == NOT_DONE and p.level == UD:
                t.lack("messages were lost, which is right at this level")
            row = "S2.3.2-04" if op == "write" else "G5.2-08"
            t.require(got.good and got.descriptor == number, row, what, got, "one receive, without error")
            t.require(got.immediate == value, "G5.2-08", what, got.immediate, value)
            t.require(("IMMEDIATE" in got.status) == (value is not None), "G5.2-39", f"bit 19 of a receive: {what}", got, "as sent")
            t.require(got.length == length, "G5.2-17" if op == "write" else "G5.2-16", f"Length: {what}", got.length, length)
            word = int((got.ptr or {}).get("Status", 0)) >> 16 & 7
            t.require(word == (3 if op == "write" else 1), "G5.2-38", f"the operation of a receive: {what}", word,
                      3 if op == "write" else 1)
            if op == "write" and length and p.level != UD:
                t.require(p.dst.wrong(7, 1000, length) == 0, "S2.3.2-04", "bytes of the Write when its receive is done", "others",
                          "written")
    alive(t, p)


@vipl("D6", "What is ignored", "G5.2-09 G5.2-10 G5.2-13", variants=levels())
def ignored(t: Calls) -> None:
    """Length, the Immediate bit and the Fence bit of a receive, and the Immediate bit of an RDMA Read, change nothing."""
    p = pair(t, t.params["level"])
    p.src.fill(9, 0, 100)
    for row, name, value in (("G5.2-13", "Length", 0), ("G5.2-13", "Length", 0xFFFFFFFF), ("G5.2-10", "Control", 4),
                             ("G5.2-10", "Control", 8), ("G5.2-10", "Control", 12)):  # fmt: skip
        p.b.recv(p.dst.part(0, 200), **{name: value})
        got = Got(NOT_DONE, None)
        for _ in range(3 if p.level == UD else 1):
            p.a.send(p.src.part(0, 100))
            p.a.good("Send", row, "a Send")
            got = p.b.reap("Recv", t.settle_us if p.level != UD else t.settle_us // 2)
            if got.code != NOT_DONE:
                break
        if got.code == NOT_DONE and p.level == UD:
            t.lack("messages were lost, which is right at this level")
        t.require(got.good and got.length == 100, row, f"a receive posted with {name} {value:#x}", got, "success, Length 100")
        t.require("IMMEDIATE" not in got.status, row, f"bit 19 with {name} {value:#x}", "set", "as the sender's")
    if p.level in (p.a.node.attribs.get("RDMAReadSupport") or []) and p.level != UD:
        p.a.rdma("read", p.dst.remote(), p.back.part(0, 100), Control=2 | 4)
        got = p.a.reap("Send", 3 * t.settle_us)
        t.require(got.good, "G5.2-09", "an RDMA Read with the Immediate bit", got, "success")
    alive(t, p)


@vipl("D7", "The status word of every completion",
      "G5.1-01 G5.2-19 G5.2-20 G5.2-27 G5.2-30 G5.2-31 G5.2-33 G5.2-35 G5.2-36 G5.2-37 G5.2-38 G5.2-39",
      errata="A77 A82 A86 A112", variants=levels())  # fmt: skip
def status_words(t: Calls) -> None:
    """Bits that are defined, in places where they may be. The same is asked of each completion of every other case."""
    p = pair(t, t.params["level"])
    alive(t, p)
    p.b.recv(p.dst.part(0, 64))
    p.a.rdma("write", p.dst.remote(100), p.src.part(0, 64), immediate=5)
    p.a.reap("Send")
    got = p.b.reap("Recv", t.settle_us // 2)
    if got.good:
        op = int((got.ptr or {}).get("Status", 0)) >> 16 & 7
        t.require(op == 3, "G5.2-37", "the code of the operation of a receive that an RDMA Write took", op, 3)
    if p.level in (p.a.node.attribs.get("RDMAReadSupport") or []) and p.level != UD:
        p.a.rdma("read", p.dst.remote(100), p.back.part(0, 64))
        p.a.reap("Send", 3 * t.settle_us)
    at = p.src.length - 256
    p.b.recv(p.dst.part(0, 64))
    number = p.a.send(p.src.part(0, 8), at={"mem": p.src.mem, "offset": at}, Status=0)
    got = p.a.reap("Send")
    word = int.from_bytes(p.src.read(at + 28, 4), "little")
    t.require(got.descriptor == number and word == int((got.ptr or {}).get("Status", -1)), "G5.1-01",
              "the status bytes in memory", hex(word),
              "the word that was told, little-endian")  # fmt: skip
    raw = p.a.node.mem(256)
    raw.write(bytes(28) + b"\xff\xff\x00\x00")
    for vi in (p.a, p.b):  # both before the first call: in Error any bit is right (A28)
        vi.recv(p.back.part(0, 8) if vi is p.a else p.dst.part(0, 8), Status=0xFFFFFFFF)
    for vi in (p.a, p.b):
        vi.disconnect()
        vi.reap("Recv")
    for queue, _, _, found in t.descriptors():
        status = set(found.get("status") or [])
        bits = int(found.get("Status") or 0)
        t.require(("VIP_STATUS_TRANSPORT_ERROR" not in status) or p.level != UD or queue == "recv", "G5.2-30", "TRANSPORT",
                  hex(bits),
                  "not here")  # fmt: skip
        t.require("VIP_STATUS_FORMAT_ERROR" not in status, "G5.2-20", "FORMAT of a Descriptor that is well-formed", hex(bits),
                  "clear")


@vipl("D8", "What is written back",
      "S2.1.1-01 S2.1.1-02 S6.4.1-01 S6.4.1-02 G5.2-02 G5.2-14 G5.2-18", errata="A29",
      variants=levels())  # fmt: skip
def write_back(t: Calls) -> None:
    """Length, immediate data and payload are there when DONE is; rubbish in the library's fields does nothing."""
    p = pair(t, t.params["level"])
    node = p.b.node
    mine = node.mem(4096)
    for i in range(60):
        p.src.fill(i, 0, 500)
        at = {"mem": mine.mem, "offset": 64}
        number = p.b.recv(p.dst.part(0, 600), at=at, Next="deadbeefdeadbeef", NextHandle=0xDEAD, Status=0)
        polled = node.start("mem.poll", places=[{"mem": mine.mem, "offset": 64 + 28}], mask=1, value=1, Timeout=t.settle_us)
        p.a.send(p.src.part(0, 400 + i), immediate=i)
        got = p.a.reap("Send")
        t.require(got.ptr is not None, "S2.1.1-01", "a Send that was posted", got, "its Descriptor")
        if not got.good:
            t.fail("G5.2-14", "a Send", str(got), "a Descriptor without error")
        t.until(lambda: polled.done, 2 * t.settle_us)  # noqa: B023
        if not polled.result().get("met"):
            if p.level == UD:
                t.lack("a message was lost, which is right at this level")
            t.fail("S2.1.1-01", "the status word of a receive", "never DONE", "DONE without a call")
        head = mine.read(64, 32)
        length, value = int.from_bytes(head[24:28], "little"), int.from_bytes(head[20:24], "little")
        status = int.from_bytes(head[28:32], "little")
        t.require(not status & 2, "G5.2-02", "a receive with rubbish in Next and NextHandle", hex(status), "no FORMAT error")
        t.require(length == 400 + i, "S6.4.1-02", "Length when DONE is seen", length, 400 + i)
        t.require(value == i, "S6.4.1-02", "ImmediateData when DONE is seen", value, i)
        t.require(p.dst.wrong(i, 0, 400 + i) == 0, "S6.4.1-02", "the payload when DONE is seen", "other bytes",
                  "that of the message")
        got = p.b.done("Recv")
        t.require(got.good and got.descriptor == number, "S2.1.1-02", f"round {i} with the same Descriptor", got, "success")
        t.require(got.length == 400 + i, "G5.2-14", "Length", got.length, 400 + i)
        updated = (got.length, got.immediate)
        t.require(updated == (400 + i, i), "S6.4.1-01", "Length and Immediate Data", updated, (400 + i, i))
        if not got.good:
            break
    number = p.b.recv(p.dst.part(0, 600), Status=0xFFFFFFFF)
    got = p.b.done("Recv")
    if got.code != NOT_DONE:
        t.report("G5.2-18", "a receive posted with a status full of ones", str(got), NOT_DONE, erratum="A29")
    else:
        p.a.send(p.src.part(0, 8))
        p.a.reap("Send")
        got = p.b.reap("Recv")
        if p.level != UD or got.code != NOT_DONE:
            t.require(got.good and got.descriptor == number, "G5.2-18", "a receive posted with a status full of ones", got,
                      "success")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("D9", "Guard bytes", "S2.3.1-01", variants=levels())
def guard_bytes(t: Calls) -> None:
    """What lies around every buffer of a receive stays as it was; what is inside of it is not judged behind the message."""
    p = pair(t, t.params["level"])
    dst = guarded(p)
    for length in (1, 63, 100, 4000):
        got = sent(p, [p.src.part(0, length)], [dst.part(1024, 4096)], "S2.3.1-01")
        if got is not None:
            guards(t, dst, 1024, 4096, "S2.3.1-01")
    alive(t, p)


@vipl("D10", "Descriptors across pages", "S6.1-02", variants=[Variant("long", {"n": 251}), Variant("short", {"n": 3})])
def across_pages(t: Calls) -> None:
    """A Descriptor that crosses a page boundary is processed, long or short."""
    p = pair(t)
    page = int(p.a.node.call("layout").result().get("pagesize", 4096))
    mem = p.a.node.mem(4 * page)
    count = t.params["n"]
    size = 32 + 16 * count
    steps = range(page - (size // 64) * 64, page, 64) if count == 3 else (page - 64, page - 2048, page - 4032)
    for offset in [o for o in steps if o >= 0][:12] or [page - 64]:
        p.src.fill(offset, 0, 5 * count)
        number = p.b.recv(p.dst.part(0, 5 * count))
        posted = p.a.send(*split(p.src, 0, 5 * count, count), at={"mem": mem.mem, "offset": offset})
        got = p.a.reap("Send")
        t.require(got.good and got.descriptor == posted, "S6.1-02", f"a Descriptor at offset {offset} of its page", got, "success")
        got = p.b.reap("Recv")
        t.require(got.good and got.descriptor == number and p.dst.wrong(offset, 0, 5 * count) == 0, "S6.1-02", "its receive", got,
                  "success")
    alive(t, p)


@vipl("D11", "A Descriptor that came back", "S6.1-04 G5.5-01", variants=levels())
def came_back(t: Calls) -> None:
    """The provider writes it no more, nor its buffer, whatever goes on on the queue."""
    p = pair(t, t.params["level"])
    mine = p.b.node.mem(4096)
    buffer = p.b.node.mem(4096)
    p.b.recv(buffer.part(0, 64), at={"mem": mine.mem, "offset": 0})
    p.a.send(p.src.part(0, 64))
    p.a.reap("Send")
    got = p.b.reap("Recv")
    if got.code == NOT_DONE:
        t.lack("the message was lost, which is right at this level")
    for mem in (mine, buffer):
        mem.write(bytes(range(32)))
    for i in range(20):
        transfer(p, 50, i)
    t.require(buffer.read(0, 32) == bytes(range(32)), "G5.5-01", "the buffer of a Descriptor that came back",
              buffer.read(0, 32).hex(), "as the case left it")
    t.require(mine.read(0, 32) == bytes(range(32)), "S6.1-04", "a Descriptor that came back", mine.read(0, 32).hex(),
              "as the case left it")
    alive(t, p)


@vipl("L1", "Numbers of data segments", "S6.1.1.1-01 S6.1.1.1-04 G4.5-03", errata="A16",
      variants=[Variant("send", {"op": "send"}), Variant("write", {"op": "write"})])  # fmt: skip
def segments(t: Calls) -> None:
    """0, 1, 2, 251, 252 and the maximum of data segments; an RDMA Write with one less and its address segment."""
    p = pair(t)
    most = p.a.node.number("MaxSegmentsPerDesc")
    op = t.params["op"]
    places = [{"mem": node.mem(32768).mem, "offset": 0} for node in (p.a.node, p.b.node)]
    counts = sorted({0, 1, 2, 251, 252, min(most, 1000)} if op == "send" else {0, 1, 2, 250, 251, min(most, 1000) - 1})
    for count in counts:
        p.src.fill(count, 0, 3 * count + 1)
        if op == "send":
            got = sent(p, split(p.src, 0, 3 * count, count) if count else [], split(p.dst, 0, 3 * count, count) if count else [],
                       "S6.1.1.1-04" if count >= 251 else "S6.1.1.1-01", at=places[0], recv_at=places[1])  # fmt: skip
            assert got is not None
            t.require(got.length == 3 * count and p.dst.wrong(count, 0, 3 * count) == 0,
                      "S6.1.1.1-04" if count >= 251 else "S6.1.1.1-01",
                      f"a Send and a receive of {count} segments", got, f"Length {3 * count}")  # fmt: skip
        else:
            p.a.rdma("write", p.dst.remote(), *(split(p.src, 0, 3 * count, count) if count else []), at=places[0])
            got = p.a.good("Send", "G4.5-03", f"an RDMA Write of {count} segments")
            t.require(t.until(lambda: p.dst.wrong(count, 0, 3 * count) == 0, t.settle_us), "G4.5-03", "its bytes", "others",
                      "written")  # noqa: B023
    alive(t, p)


@vipl("L2", "Sizes up to the maximum", "S6.1.1.2-01 S6.1.1.2-03 G4.5-04", variants=levels())
def sizes(t: Calls) -> None:
    """Around 4 KB, 32 KB and the NIC's maximum: Sends and RDMA Writes go through whole."""
    one, other = nodes(t)
    level, most = need_level(one, t.params["level"]), min(one.number("MaxTransferSize"), other.number("MaxTransferSize"))
    if most > 8 << 20:
        most = 8 << 20
    p = pair(t, level, ends=(one, other), size=most)
    for length in sorted({0, 1, 2, 3, 4095, 4096, 4097, 32767, 32768, most - 1, most}):
        p.src.fill(length, 0, max(length, 1))
        row = "S6.1.1.2-03" if length == 32768 else "G4.5-04" if length == most else "S6.1.1.2-01"
        got = sent(p, [p.src.part(0, length)], [p.dst.part(0, length)], row)
        if got is not None:
            t.require(got.length == length and p.dst.wrong(length, 0, length) == 0, row, f"a Send of {length} bytes", got, "whole")
    alive(t, p)


@vipl("L3", "Numbers of VIs and tags", "S3.2.2.1-06 S8.1-01 G3.2.1-08", errata="A67 A106", tags="limits")
def numbers(t: Calls) -> None:
    """A VI with a tag of its own can be made as often as MaxVI says, or so often as the suite goes."""
    one, _ = nodes(t)
    one.need("VipCreatePtag")
    most = one.number("MaxVI")
    t.require(most >= 60, "S8.1-01", "MaxVI", most, "60 or more")
    level = best_level(one)
    count = min(most, one.number("MaxPtags"), 64)
    made = 0
    for _ in range(count - 4):
        tag = one.call("VipCreatePtag")
        if tag.returned() != OK:
            t.codes("S3.2.2.1-06", f"VipCreatePtag behind {made} others", tag.returned(), RESOURCE)
            break
        code = one.code("VipCreateVi", ViAttribs={"ReliabilityLevel": level, "MaxTransferSize": SIZE, "Ptag": tag.integer("ptag")})
        if code != OK:
            t.codes("G3.2.1-08", f"VipCreateVi behind {made} others", code, RESOURCE)
            break
        made += 1
    t.step(f"{made} VIs with a tag each")
    other = one.call("VipCloseNic", nic=one.nic)
    del other
    if made == 0 and most < 16:
        t.lack(f"the provider has no room for another VI or tag (MaxVI is {most})")
    t.require(made >= 1, "S3.2.2.1-06", "VIs with a tag of their own", made, "one at least")
    nodes(t)
    alive(t)


@vipl("L4", "A CQ of 1,024 entries", "S3.4-04 S3.4-05 G3.6.1-01", errata="A38 A39 A67", tags="limits")
def big_cq(t: Calls) -> None:
    """It can be made, and as many completions as fit the queues lose no entry; more than MaxCQEntries are refused or work."""
    one, other = nodes(t)
    one.need("VipCreateCQ")
    level = best_level(one, reliable=True)
    code = one.call("VipCreateCQ", EntryCount=1024)
    if code.returned() != OK:
        t.fail("S3.4-04", "VipCreateCQ of 1,024 entries", code.returned(), OK)
    cq = code.integer("cq")
    most, spare = one.number("MaxCQEntries"), one.cq(8)
    if most < 0xFFFFFFFF and one.code("VipCreateCQ", EntryCount=most + 1) not in (RESOURCE, "VIP_INVALID_PARAMETER", OK):
        t.require(False, "S3.4-05", f"VipCreateCQ of {most + 1} entries", "another code", RESOURCE)
    most = min(256, one.number("MaxDescriptorsPerQueue") or 64)
    mem, back, count = one.mem(64), other.mem(64), 0
    for _ in range(min(16, -(-1024 // most))):
        share = min(most, 1024 - count)
        vi, peer = one.vi(level, recv_cq=cq), other.vi(level)
        connect(vi, peer)
        for _ in range(share):
            vi.recv(mem.part(0, 8))
        for _ in range(share):
            peer.send(back.part(0, 8))
        for _ in range(share):
            peer.reap("Send")
        count += share
    t.wait(t.quiet_us)
    found = entries(one, cq, count, 5 * t.settle_us)
    for row in ("S3.4-04", "G3.6.1-01"):
        t.require(len(found) == count, row, "entries that were not read meanwhile", len(found), count)
    none_left(t, one, spare)
    alive(t)


def none_left(t: Calls, node: Node, spare: int) -> None:
    """CQs until one is refused: nothing was made of it, so that one that is given back makes room for another."""
    made = [spare]
    for _ in range(min(node.number("MaxCQ"), 1000) + 1):
        call = node.call("VipCreateCQ", EntryCount=8)
        if call.returned() != OK:
            break
        made.append(call.integer("cq"))
    else:
        t.step(f"{len(made)} CQs were made, and none was refused")
        return
    t.codes("S3.4-05", f"VipCreateCQ behind {len(made)} others", call.returned(), RESOURCE, {BAD: "A39"})
    t.codes("S3.4-05", "VipDestroyCQ", node.code("VipDestroyCQ", cq=made.pop()), OK)
    t.codes("S3.4-05", "VipCreateCQ after one was given back", node.code("VipCreateCQ", EntryCount=8), OK)
    for cq in made:
        node.code("VipDestroyCQ", cq=cq)


@vipl("L5", "MaxDescriptorsPerQueue", "G3.8.1-09 G4.5-07", errata="A97", tags="limits")
def full_queues(t: Calls) -> None:
    """So many receives can be posted, and all are filled."""
    one, other = nodes(t)
    count = min(one.number("MaxDescriptorsPerQueue"), 512)
    p = pair(t, best_level(one, reliable=True), ends=(one, other))
    numbers = [p.b.recv(p.dst.part(0, 8)) for _ in range(count)]
    for i in range(count):
        p.a.send(p.src.part(0, 8))
        p.a.good("Send", "G4.5-07", f"Send {i} into a full queue")
    for number in numbers:
        got = p.b.reap("Recv")
        if not t.require(got.good and got.descriptor == number, "G4.5-07", "a receive of a full queue", got, "filled"):
            break
    t.require(p.b.state() == "VIP_STATE_CONNECTED", "G3.8.1-09", "the state after a full queue", p.b.state(), "Connected")
    alive(t, p)
