"""Order on the queues and on the way, and several threads on one NIC."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant
from fcvi.engine.upper_tester import Call

from conformance.vipl.cases.errors import forbidden
from conformance.vipl.cases.queues import entries, has_notify, message, notify
from conformance.vipl.steps.declare import RD, RR, UD, each, levels, vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import (
    NOT_DONE, OK, RDMA_PROT, RESOURCE, SIZE, Pair, Vi, alive, connect, need_read, nodes, pair,
)  # fmt: skip

_STATUS = 28  # of the control segment
_EACH = 4  # Sends of each of several VIs


def in_order(t: Calls, met: list[dict[str, Any]], row: str, what: str) -> None:
    """A later word is never seen done in an earlier round than one before it."""
    rounds = {m["place"]: m["round"] for m in met}
    late = [(i, j) for i in rounds for j in rounds if i < j and rounds[j] < rounds[i]]
    t.require(not late, row, what, f"{late[:3]} of {rounds}" if late else "", "each not before the one posted before it")


def _watched(t: Calls, vi: Vi, mem: Any, count: int) -> Call:
    places = [{"mem": mem.mem, "offset": 128 * i + _STATUS} for i in range(count)]
    call: Call = vi.node.start("mem.poll", places=places, mask=1, value=1, Timeout=3 * t.settle_us)
    return call


@vipl("O1", "The order of the send queue",
      "S6.3.1.1-01 S6.3.1.1-03 G3.5.2-01", variants=levels())  # fmt: skip
def send_order(t: Calls) -> None:
    """Sends and RDMA Writes of all sizes complete in order among themselves and are taken in the order of posting."""
    p = pair(t, t.params["level"])
    mine = p.a.node.mem(8192)
    watch = _watched(t, p.a, mine, 16)
    for _ in range(8):
        p.b.recv(p.dst.part(0, 8192))
    numbers = []
    for i in range(16):
        at = {"mem": mine.mem, "offset": 128 * i}
        size = (8000, 1, 4000, 0)[i % 4]
        if i % 2:
            numbers.append(p.a.rdma("write", p.dst.remote(9000), p.src.part(0, size), at=at))
        else:
            numbers.append(p.a.send(p.src.part(0, size), at=at))
    for i, number in enumerate(numbers):
        got = p.a.reap("Send", 3 * t.settle_us)
        t.require(got.descriptor == number, "S6.3.1.1-01", f"Descriptor {i} of the send queue", got, "in the order of posting")
        t.require(got.good and got.descriptor == number, "G3.5.2-01", f"Descriptor {i} of the send queue", got, "success")
    t.until(lambda: watch.done, 4 * t.settle_us)
    if watch.done:
        in_order(t, watch.result().get("met") or [], "S6.3.1.1-03", "Sends and Writes that completed")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("O2", "The order of the receive queue",
      "S2.5-06 S6.3.1.1-01 S6.3.1.1-02 G3.5.5-01", variants=levels())  # fmt: skip
def receive_order(t: Calls) -> None:
    """Receives are filled and completed strictly in order, and the n-th message is in the n-th."""
    p = pair(t, t.params["level"])
    mine = p.b.node.mem(8192)
    numbers = [p.b.recv(p.dst.part(64 * i, 64), at={"mem": mine.mem, "offset": 128 * i}) for i in range(16)]
    watch = _watched(t, p.b, mine, 16)
    for i in range(16):
        p.src.write(bytes([i + 1]) * 32, 64 * i)
        p.a.send(p.src.part(64 * i, 32))
    seen = []
    for i, number in enumerate(numbers):
        got = p.b.reap("Recv", t.settle_us)
        if got.code == NOT_DONE and p.level == UD:
            break
        t.require(got.good and got.descriptor == number, "S6.3.1.1-01", f"Descriptor {i} of the receive queue", got,
                  "in the order of posting")
        t.require(got.good and got.descriptor == number, "G3.5.5-01", f"Descriptor {i} of the receive queue", got,
                  "in the order of posting")
        seen.append(p.dst.read(64 * i, 1)[0])
        if p.level != UD:
            t.require(seen[-1] == i + 1, "S6.3.1.1-02", f"the message in receive {i}", seen[-1], i + 1)
    if len(seen) == len(numbers):
        got = p.b.done("Recv")
        t.require(got.ptr is None, "G3.5.5-01", "VipRecvDone behind the last Descriptor", got, "no Descriptor")
    t.require(len(set(seen)) == len(seen), "S2.5-06", "messages that arrived", seen, "each once")
    t.until(lambda: watch.done, 4 * t.settle_us)
    if watch.done:
        in_order(t, watch.result().get("met") or [], "S6.3.1.1-02", "receives that completed")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("O3", "The order of RDMA Reads",
      "S6.3.1.1-01 S6.3.1.1-04 S6.3.1.1-06", errata="A95", applies="rdma_read",
      variants=levels((RD, RR)))  # fmt: skip
def read_order(t: Calls) -> None:
    """Reads complete in order; a later Send may be done first, but is taken later; a Read brings what a Write before it wrote."""
    p = pair(t, t.params["level"])
    need_read(p.a.node, p.level)
    mine = p.a.node.mem(8192)
    p.b.recv(p.dst.part(30000, 64))
    watch = _watched(t, p.a, mine, 4)
    numbers = [p.a.rdma("read", p.dst.remote(), p.back.part(0, size), at={"mem": mine.mem, "offset": 128 * i})
               for i, size in enumerate((20000, 10, 5000, 1))]  # fmt: skip
    numbers.append(p.a.send(p.src.part(0, 8)))
    for i, number in enumerate(numbers):
        got = p.a.reap("Send", 5 * t.settle_us)
        t.require(got.good and got.descriptor == number, "S6.3.1.1-01", f"Descriptor {i} behind RDMA Reads", got,
                  "in the order of posting")
    t.until(lambda: watch.done, 4 * t.settle_us)
    if watch.done:
        in_order(t, watch.result().get("met") or [], "S6.3.1.1-04", "RDMA Reads that completed")
    p.src.fill(31, 0, 4000)
    p.a.rdma("write", p.dst.remote(8192), p.src.part(0, 4000))
    p.a.rdma("read", p.dst.remote(8192), p.back.part(0, 4000))
    for _ in range(2):
        p.a.good("Send", "S6.3.1.1-06", "a Write and a Read", 5 * t.settle_us)
    t.require(p.back.wrong(31, 0, 4000) == 0, "S6.3.1.1-06", "an RDMA Read behind an RDMA Write of the same place", "other bytes",
              "the new ones")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("O4", "The Queue Fence", "S6.3.1.1-06 S6.3.1.2-01 G5.2-11", errata="A21", variants=[*levels((RD, RR), "rdma_read")])
def fence(t: Calls) -> None:
    """When a fenced Send is received, the Reads before it are done, and what a fenced Write replaces was read before. A flag word
    that was written before a Send is there with it.
    """
    p = pair(t, t.params["level"])
    need_read(p.a.node, p.level)
    mine = p.a.node.mem(4096)
    for round_ in range(5):
        p.b.recv(p.dst.part(32000, 64))
        places = [0, 2048][: 1 + round_ % 2]  # one Read, or two
        for at in places:
            p.a.rdma("read", p.dst.remote(), p.back.part(at, 20000), at={"mem": mine.mem, "offset": at})
        p.a.send(p.src.part(0, 8), fence=True, **({"immediate": 7} if round_ > 2 else {}))
        got = p.b.reap("Recv", 5 * t.settle_us)
        t.require(got.good, "G5.2-11", "a fenced Send", got, "arrives")
        words = [int.from_bytes(mine.read(at + _STATUS, 4), "little") for at in places]
        done = all(word & 1 for word in words)
        t.require(done, "S6.3.1.2-01", f"the Reads before a fenced Send that has arrived, round {round_}", list(map(hex, words)),
                  "DONE")
        for _ in range(1 + len(places)):
            p.a.good("Send", "G5.2-11", "Reads and a fenced Send", 5 * t.settle_us)
    p.dst.fill(20, 0, 24_000)
    p.src.fill(99, 0, 8000)
    for at in (0, 8000, 16_000):
        p.a.rdma("read", p.dst.remote(at), p.back.part(at, 8000))
        p.a.rdma("write", p.dst.remote(at), p.src.part(0, 8000), fence=True)
        for _ in range(2):
            p.a.good("Send", "G5.2-11", "a Read and a fenced RDMA Write", 5 * t.settle_us)
        wrong = p.back.wrong(20 + at, at, 8000)
        t.require(wrong == 0, "S6.3.1.2-01", "bytes of a Read whose source a fenced RDMA Write replaces", f"{wrong} others",
                  "those before")  # fmt: skip
    p.src.write(b"flag", 100)
    p.b.recv(p.dst.part(31000, 64))
    p.a.rdma("write", p.dst.remote(30000), p.src.part(100, 4))
    p.a.send(p.src.part(0, 8))
    p.b.good("Recv", "S6.3.1.1-06", "a Send behind an RDMA Write")
    t.require(p.dst.read(30000, 4) == b"flag", "S6.3.1.1-06", "the flag when the Send behind it is received", "old", "new")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("O5", "Entries in order", "G6.1-01 G6.1-02", applies="rdma_read", variants=levels((RD, RR)))
def entry_order(t: Calls) -> None:
    """A Send done before an earlier Read has no entry before the Read has one; then both can be taken, the Read first."""
    one, other = nodes(t)
    level = t.params["level"]
    need_read(one, level)
    cq = one.cq(16)
    vi, peer = one.vi(level, send_cq=cq), other.vi(level, EnableRdmaRead=True)
    src, dst, back = one.mem(SIZE), other.mem(SIZE), one.mem(SIZE)
    connect(vi, peer)
    for _ in range(10):
        peer.recv(dst.part(0, 64))
        numbers = [vi.rdma("read", dst.remote(), back.part(0, 20000)), vi.send(src.part(0, 8))]
        for number in numbers:
            found = entries(one, cq, 1, 5 * t.settle_us)
            if not t.require(found == [(vi.vi, False)], "G6.1-01", "an entry", found, "of the send queue"):
                return  # each further one would be waited for as long
            got = vi.done("Send")
            t.require(got.descriptor == number and got.good, "G6.1-02", "the head when there is an entry", got,
                      "done, in the order of posting")
        peer.reap("Recv")
    alive(t)


@vipl("O6", "Many numbered messages", "S2.5-06 S2.5.2-01 S6.3.1.1-06", errata="A105", variants=levels(),
      tags="soak")
def many(t: Calls) -> None:
    """At most once at every level; exactly once, intact and in order at RD and RR. 400 messages of many sizes."""
    p = pair(t, t.params["level"])
    count, window = 400, 16
    seen: list[int] = []
    for first in range(0, count, window):
        for i in range(window):
            p.b.recv(p.dst.part(2048 * i, 2048))
        for i in range(window):
            number, size = first + i, 4 + (37 * (first + i)) % 2000
            p.src.write(number.to_bytes(4, "little"), 2048 * i)
            p.a.send(p.src.part(2048 * i, size))
        for i in range(window):
            p.a.good("Send", "S2.5.2-01", "a Send of many", 2 * t.settle_us)
        for i in range(window):
            got = p.b.reap("Recv", t.settle_us if p.level != UD else t.settle_us // 10)
            if got.code == NOT_DONE:
                break
            number = int.from_bytes(p.dst.read(2048 * i, 4), "little")
            seen.append(number)
            t.require(got.good and got.length == 4 + (37 * number) % 2000, "S2.5.2-01", f"message {number}", got, "whole")
        if p.level == UD and len(seen) < first + window:
            break
    t.require(len(set(seen)) == len(seen), "S2.5-06", "messages that arrived", len(seen) - len(set(seen)), "none twice")
    if p.level != UD:
        t.require(seen == list(range(count)), "S6.3.1.1-06", "messages that arrived", f"{len(seen)} of {count}", "all, in order")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("O7", "Behind an RDMA Read that fails", "S6.3.1.1-07 S6.3.1.1-08 S6.3.1.1-09 S6.3.1.1-10", errata="A61",
      applies="rdma_read",
      variants=each(levels((RD, RR)), "then", {"send": "send", "write": "write", "immediate": "immediate"}))  # fmt: skip
def failing_read(t: Calls) -> None:
    """RR: what stands behind it has no effect at the other end. RD: it may, or may not: a Send that is received is whole, and a
    Write changes its target alone."""
    p = pair(t, t.params["level"])
    need_read(p.a.node, p.level)
    remote, _ = forbidden(t, p, "region-off", True)
    p.dst.fill(6, 0, 4096)
    p.b.recv(p.dst.part(30000, 64))
    p.src.write(b"\x77" * 64)
    read = p.a.rdma("read", remote, p.back.part(0, 64))
    then = t.params["then"]
    if then == "send":
        p.a.send(p.src.part(0, 64))
    else:
        p.a.rdma("write", p.dst.remote(), p.src.part(0, 64), immediate=3 if then == "immediate" else None)
    got = p.a.reap("Send", t.async_us)
    t.require(got.descriptor == read and bool(got.errors), "S6.3.1.1-08" if p.level == RR else "S5.4-03",
              "an RDMA Read that must fail", got, RDMA_PROT)
    t.wait(t.quiet_us)
    if p.level == RR:
        head = p.b.done("Recv")
        t.require(not head.good, "S6.3.1.1-08" if then == "send" else "S6.3.1.1-10",
                  f"a receive behind a failed Read and a {then}", head,
                  "is not consumed")  # fmt: skip
        t.require(p.dst.wrong(6, 0, 4096) == 0, "S6.3.1.1-10", "memory behind a failed Read", "changed", "as before")
    else:
        _passed(t, p, then)
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


def _passed(t: Calls, p: Pair, then: str) -> None:
    """RD: what may have passed a Read that failed."""
    head = p.b.done("Recv")
    row, at = ("S6.3.1.1-07", 30000) if then == "send" else ("S6.3.1.1-09", 0)
    whole = then != "write" and head.length == 64 and p.dst.read(at, 64) == b"\x77" * 64
    t.require(not head.good or whole, row, f"the receive behind a failed Read and a {then}", head,
              "whole, or in error, or none")  # fmt: skip
    target = 0 if then == "send" else 64
    t.require(p.dst.wrong(6 + target, target, 4096 - target) == 0, row, "memory beside the target", "changed", "as before")


@vipl("O8", "Success at Reliable Reception", "S2.5.3-01 S2.5.3-03", variants=levels((RR,)))
def reception(t: Calls) -> None:
    """When a Send or Write is successful its bytes are there; nothing behind an error has an effect."""
    p = pair(t, t.params["level"])
    for i in range(20):
        p.src.fill(i, 0, 3000)
        if i % 2:
            p.a.rdma("write", p.dst.remote(), p.src.part(0, 3000))
        else:
            p.b.recv(p.dst.part(0, 3000))
            p.a.send(p.src.part(0, 3000))
        p.a.good("Send", "S2.5.3-01", "a Send or a Write", 3 * t.settle_us)
        t.require(p.dst.wrong(i, 0, 3000) == 0, "S2.5.3-01", "the bytes when it is successful", "others", "there")
        if not i % 2:
            p.b.reap("Recv")
    p.dst.fill(99, 0, 3000)
    for _ in range(3):
        p.a.send(p.src.part(0, 64))
    p.a.rdma("write", p.dst.remote(), p.src.part(0, 3000))
    codes = [p.a.reap("Send", t.async_us) for _ in range(4)]
    t.require(all(c.errors for c in codes), "S2.5.3-03", "Descriptors from the first error on", [str(c) for c in codes], "errors")
    t.wait(t.quiet_us)
    t.require(p.dst.wrong(99, 0, 3000) == 0, "S2.5.3-03", "memory behind an error", "changed", "as before")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


def room(p: Pair, wanted: int) -> int:
    """How many Descriptors to post on a queue: no more than the NICs say that one takes."""
    most = [node.number("MaxDescriptorsPerQueue") for node in (p.a.node, p.b.node)]
    return min([wanted, *(m for m in most if m > 0)])


@vipl("O9", "Small Sends beside large ones", "S2.5.1-08 S2.6-01", variants=levels())
def beside(t: Calls) -> None:
    """Four VIs have Sends under way at once, one of them small ones that are posted last: the Sends of each VI complete."""
    level, ends = t.params["level"], nodes(t)
    pairs = [pair(t, level, ends=ends) for _ in range(4)]
    sizes = {id(p): 64 if p is pairs[-1] else SIZE for p in pairs}
    for p in pairs:
        for _ in range(_EACH):
            p.b.recv(p.dst.part(0, sizes[id(p)]))
    for p in pairs:
        for _ in range(_EACH):
            p.a.send(p.src.part(0, sizes[id(p)]))
    for p in reversed(pairs):
        small = p is pairs[-1]
        left = sum(p.a.reap("Send", t.async_us).code == NOT_DONE for _ in range(_EACH))
        t.require(left == 0, "S2.5.1-08" if small and level == UD else "S2.6-01",
                  f"{'small' if small else 'large'} Sends that do not complete beside those of other VIs", left, 0)
    alive(t, pair(t, level, ends=ends))


def threadsafe(t: Calls, safe: bool = True) -> Pair:
    """A pair, if threads may do this."""
    one, other = nodes(t)
    if safe and one.attribs.get("ThreadSafe") is not True:
        t.lack("the provider says that it is not thread-safe")
    return pair(t, ends=(one, other))


@vipl("T1", "Done beside a Wait that blocks", "G2.3-05 G3.5.2-05 G3.5.5-03 G3.5.6-04 G3.5.7-03", errata="A109",
      variants=[Variant(what, {"what": what}) for what in ("recv", "cq", "flush", "waits")])  # fmt: skip
def done_beside_wait(t: Calls) -> None:
    """VipSendDone, VipRecvDone and VipCQDone answer at once though another thread waits; a flush ends the Wait. Of two Waits each
    gets a Descriptor of its own."""
    p = threadsafe(t)
    what = t.params["what"]
    if what == "waits":
        two_waits(t, p)
        alive(t)
        return
    if what == "cq":
        cq = p.a.node.cq(8)
        waiting = p.a.node.start("VipCQWait", cq=cq, Timeout=3_000_000, thread=1)
        t.wait(50_000)
        asked = p.a.node.start("VipCQDone", cq=cq, thread=2)
        t.require(t.until(lambda: asked.done, t.settle_us), "G3.5.7-03", "VipCQDone beside VipCQWait", "blocks", "answers at once")
        if asked.done:
            t.codes("G3.5.7-03", "VipCQDone beside VipCQWait", asked.returned(), NOT_DONE)
        t.until(lambda: waiting.done, 3_000_000 + t.late_us)
        alive(t, p)
        return
    number = p.a.recv(p.back.part(0, 32))
    waiting = p.a.node.start("VipRecvWait", vi=p.a.vi, Timeout=None if what == "flush" else 10_000_000, thread=1)
    t.wait(50_000)
    if what == "recv":
        asked = p.a.node.start("VipRecvDone", vi=p.a.vi, thread=2)
        t.require(t.until(lambda: asked.done, t.settle_us), "G3.5.5-03", "VipRecvDone beside VipRecvWait", "blocks",
                  "answers at once")
        if asked.done:
            t.codes("G3.5.5-03", "VipRecvDone beside VipRecvWait", asked.returned(), NOT_DONE)
            sent = p.a.node.start("VipSendDone", vi=p.a.vi, thread=2)
            t.require(t.until(lambda: sent.done, t.settle_us), "G3.5.2-05", "VipSendDone beside VipRecvWait", "blocks",
                      "answers at once")
        message(p)
    else:
        p.a.node.start("VipDisconnect", vi=p.a.vi, thread=2)
    ended_ = t.until(lambda: waiting.done, 2 * t.settle_us)
    t.require(ended_, "G3.5.6-04", "VipRecvWait when its Descriptor is done", "blocks", "returns")
    if ended_:
        got = waiting.result().get("DescriptorPtr") or {}
        t.require(got.get("descriptor") == number, "G3.5.6-04", "its Descriptor", got, "the one that was posted")
    alive(t)


def two_waits(t: Calls, p: Pair) -> None:
    """Two threads wait at one queue: each completion ends one Wait, with its Descriptor."""
    numbers = [p.a.recv(p.back.part(64 * i, 32)) for i in range(2)]
    waits = [p.a.node.start("VipRecvWait", vi=p.a.vi, Timeout=None, thread=1 + i) for i in range(2)]
    t.wait(50_000)
    for count in (1, 2):
        message(p)
        t.until(lambda: sum(call.done for call in waits) >= count, 2 * t.settle_us)  # noqa: B023
        t.wait(t.quiet_us // 2)
        ended = [call for call in waits if call.done]
        t.require(len(ended) == count, "G3.5.6-04", f"Waits that {count} completions ended", len(ended), count)
    back = sorted(str((call.result().get("DescriptorPtr") or {}).get("descriptor")) for call in ended)
    t.require(back == sorted(map(str, numbers)), "G2.3-05", "the Descriptors of two Waits", back, "each once")


def many_calls(t: Calls, calls: list[Any], row: str) -> None:
    """All of them come back, and well."""
    t.require(t.until(lambda: all(c.done for c in calls), 10 * t.settle_us), row, "calls of several threads",
              sum(not c.done for c in calls), "all come back")  # fmt: skip


@vipl("T2", "Both queues from two threads", "S6.2-02 G2.3-02")
def two_threads(t: Calls) -> None:
    """One thread sends, the other posts receives, on one VI: nothing is lost and nothing changes its order."""
    p = threadsafe(t, safe=False)
    calls = []
    receives = room(p, 100)
    for i in range(receives):
        calls.append(p.b.node.start("VipPostRecv", vi=p.b.vi, descriptor={"op": "recv", "segments": [p.dst.part(64 * i, 64)]},
                                    thread=1))
    many_calls(t, calls, "G2.3-02")
    sends = []
    for i in range(receives // 2):
        sends.append(p.a.node.start("VipPostSend", vi=p.a.vi, descriptor={"op": "send", "segments": [p.src.part(64 * i, 64)]},
                                    thread=1))
        sends.append(p.a.node.start("VipPostRecv", vi=p.a.vi, descriptor={"op": "recv", "segments": [p.back.part(64 * i, 64)]},
                                    thread=2))
    many_calls(t, sends, "G2.3-02")
    t.require(all(c.returned() == OK for c in [*calls, *sends] if c.done), "G2.3-02", "posts of two threads", "an error", OK)
    for call in sends[::2]:
        got = p.a.reap("Send", 2 * t.settle_us)
        t.require(got.good and got.descriptor == call.integer("descriptor"), "G2.3-02", "a Send of two threads", got, "in order")
    for call in calls[: receives // 2]:
        got = p.b.reap("Recv", 2 * t.settle_us)
        t.require(got.good and got.descriptor == call.integer("descriptor"), "S6.2-02", "a receive of two threads", got, "in order")
    alive(t)


@vipl("T3", "Objects from several threads", "S3.2.1-06 G2.3-04")
def objects(t: Calls) -> None:
    """Four threads register, create, query and destroy, each its own: as in one thread. A region serves all threads."""
    p = threadsafe(t, safe=False)
    node, level = p.a.node, p.level
    for _ in range(4):
        made = [node.start("VipRegisterMem", length=4096, MemAttribs={"Ptag": node.ptag}, thread=i) for i in range(1, 5)]
        vis = [node.start("VipCreateVi", ViAttribs={"ReliabilityLevel": level, "MaxTransferSize": SIZE}, SendCQHandle=None,
                          RecvCQHandle=None, thread=i) for i in range(1, 5)]  # fmt: skip
        many_calls(t, [*made, *vis], "G2.3-04")
        if not all(c.done for c in [*made, *vis]):
            break
        if any(c.returned() == RESOURCE for c in [*made, *vis]):
            t.lack("the provider has no room for four more VIs and regions")
        for c in [*made, *vis]:
            t.require(c.returned() == OK, "G2.3-04", f"{c.method} of several threads", c.returned(), OK)
        handles = [c.result().get("handle") for c in made]
        t.require(len(set(handles)) == 4, "G2.3-04", "handles of four regions", handles, "all different")
        gone = [node.start("VipDeregisterMem", mem=c.integer("mem"), thread=5 - i) for i, c in enumerate(made, 1)]
        gone += [node.start("VipDestroyVi", vi=c.integer("vi"), thread=5 - i) for i, c in enumerate(vis, 1)]
        many_calls(t, gone, "G2.3-04")
        for c in gone:
            if c.done:
                t.require(c.returned() == OK, "G2.3-04", f"{c.method} of several threads", c.returned(), OK)
    made = [node.start("VipRegisterMem", length=4096, fill="77", MemAttribs={"Ptag": node.ptag}, thread=6)]
    many_calls(t, made, "S3.2.1-06")
    p.b.recv(p.dst.part(0, 64))
    posted = node.start("VipPostSend", vi=p.a.vi,
                        descriptor={"op": "send", "segments": [{"mem": made[0].integer("mem"), "length": 64}]}, thread=7)
    many_calls(t, [posted], "S3.2.1-06")
    p.a.good("Send", "S3.2.1-06", "a Send out of a region that another thread registered")
    p.b.good("Recv", "S3.2.1-06", "its receive")
    alive(t, p)


@vipl("T4", "One queue from four threads", "G2.3-05")
def four_threads(t: Calls) -> None:
    """Only a thread-safe provider: each Descriptor that four threads post comes back once."""
    p = threadsafe(t)
    count = room(p, 80)
    calls = [p.b.node.start("VipPostRecv", vi=p.b.vi, descriptor={"op": "recv", "segments": [p.dst.part(64 * i, 64)]},
                            thread=1 + i % 4)
             for i in range(count)]  # fmt: skip
    many_calls(t, calls, "G2.3-05")
    sends = [p.a.node.start("VipPostSend", vi=p.a.vi, descriptor={"op": "send", "segments": [p.src.part(64 * i, 64)]},
                            thread=1 + i % 4)
             for i in range(count)]  # fmt: skip
    many_calls(t, sends, "G2.3-05")
    for queue, vi, posted in (("Send", p.a, sends), ("Recv", p.b, calls)):
        back = []
        for _ in range(count):
            got = vi.reap(queue, 2 * t.settle_us)
            if got.ptr is None:
                break
            back.append(got.descriptor)
        numbers = sorted(str(c.integer("descriptor")) for c in posted if c.done)
        t.require(sorted(map(str, back)) == numbers, "G2.3-05", f"Descriptors of the {queue} queue that came back", len(back),
                  "each once")  # fmt: skip
    alive(t)


@vipl("T5", "Handlers beside threads that post", "G6.4-01")
def handlers(t: Calls) -> None:
    """Handlers that register the next one, with posts from another thread: none is lost and none comes twice."""
    p = threadsafe(t, safe=False)
    has_notify(p.a.node)
    count = room(p, 40)
    for i in range(count):
        p.a.recv(p.back.part(64 * (i % 64), 32))
    for i in range(count):
        code = notify(p.a, "Recv", i)
        t.require(code == OK, "G6.4-01", "VipRecvNotify", code, OK)
    for _ in range(count):
        p.b.node.start("VipPostSend", vi=p.b.vi, descriptor={"op": "send", "segments": [p.dst.part(0, 32)]}, thread=1)
    for had in range(count):
        if not t.until(lambda: len(t.notifies) > had, t.settle_us):  # noqa: B023
            break
    t.wait(t.quiet_us)
    got = sorted((n.get("Context"), (n.get("DescriptorPtr") or {}).get("descriptor")) for n in t.notifies)
    t.require(len(got) == count and len({c for c, _ in got}) == count, "G6.4-01", "handlers that were called", len(got),
              f"{count}, each once")
    t.require(all(n.get("count") in (None, 1) for n in t.notifies), "G6.4-01", "calls of one registration", "more than one", 1)
    alive(t)
