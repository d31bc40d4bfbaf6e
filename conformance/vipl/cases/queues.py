"""Work queues, Completion Queues and the Notify calls: empty, waiting, done, in error; who is told, and how often."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.engine.case import Variant

from conformance.vipl.cases.connecting import GRAIN_US, ended, timed
from conformance.vipl.steps.declare import UD, each, levels, vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import (
    BAD, DESC_ERROR, ERROR, FLUSHED, NOT_DONE, OK, RESOURCE, TIMEOUT, Mem, Node, Pair, Vi, alive, best_level,
    connect, need_read, nodes, null, pair, stale,
)  # fmt: skip

QUEUES = [Variant("send", {"queue": "Send"}), Variant("recv", {"queue": "Recv"})]


def has_notify(node: Node, *calls: str) -> None:
    """End the case where the provider has no Notify calls."""
    node.need(*calls or ("VipSendNotify", "VipRecvNotify"))


def by_context(t: Calls, context: int) -> list[dict[str, Any]]:
    """The notifications of this context."""
    return [dict(n.params) for n in t.notifies if n.get("Context") == context]


def message(p: Pair, length: int = 32, offset: int = 0) -> int:
    """A Send from b to a, taken off b's queue; its receive has to be posted."""
    number = p.b.send(p.dst.part(offset, length))
    p.b.reap("Send")
    return number


def notify(vi: Vi, queue: str, context: int, **other: Any) -> str:
    """A handler is registered. Gives what the call returned."""
    return vi.code(f"Vip{queue}Notify", Context=context, **other)


@vipl("C36", "Empty queues", "G3.5.2-03 G3.5.3-03 G3.5.5-02 G3.5.6-02 G3.5.9-07 G3.5.10-03", errata="A04",
      variants=each(QUEUES, "call", {"done": "Done", "wait": "Wait", "notify": "Notify"}))  # fmt: skip
def empty(t: Calls) -> None:
    """Done and Wait on an empty queue give VIP_DESCRIPTOR_ERROR and NULL, at once; Notify is refused and its handler not called."""
    one, _ = nodes(t)
    vi, queue, call = one.vi(best_level(one)), t.params["queue"], t.params["call"]
    row = {"SendDone": "G3.5.2-03", "SendWait": "G3.5.3-03", "RecvDone": "G3.5.5-02", "RecvWait": "G3.5.6-02",
           "SendNotify": "G3.5.9-07", "RecvNotify": "G3.5.10-03"}[queue + call]  # fmt: skip
    other = {} if t.has_descriptor_error else {NOT_DONE: "A04", TIMEOUT: "A04"}
    for what in ("an empty queue", "an empty queue beside one that is not"):
        if what.endswith("not"):
            (vi.recv if queue == "Send" else vi.send)(one.mem(64).part())
        if call == "Notify":
            has_notify(one, f"Vip{queue}Notify")
            t.codes(row, f"Vip{queue}Notify on {what}", notify(vi, queue, 5), DESC_ERROR)
            t.wait(t.quiet_us)
            t.require(not by_context(t, 5), row, "its handler", by_context(t, 5), "not called")
        else:
            got = vi.done(queue) if call == "Done" else vi.wait(queue, 400_000)
            t.codes(row, f"Vip{queue}{call} on {what}", got.code, DESC_ERROR, other)
            t.require(got.ptr is None, row, "its Descriptor", got, "NULL")
    alive(t)


@vipl("C37", "A head that completed in error", "G3.5.2-02 G3.5.3-03 G3.5.5-02 G3.5.6-02 G5.2-19", errata="A04",
      variants=each(QUEUES, "call", {"done": "Done", "wait": "Wait"}))  # fmt: skip
def head_in_error(t: Calls) -> None:
    """Done and Wait give VIP_DESCRIPTOR_ERROR and the Descriptor."""
    one, _ = nodes(t)
    queue, call = t.params["queue"], t.params["call"]
    row = {"SendDone": "G3.5.2-02", "SendWait": "G3.5.3-03", "RecvDone": "G3.5.5-02", "RecvWait": "G3.5.6-02"}[queue + call]
    vi, mem = one.vi(best_level(one)), one.mem(64)
    number = vi.send(mem.part()) if queue == "Send" else vi.recv(mem.part())
    if queue == "Recv":
        vi.disconnect()
    if call == "Done":
        got = vi.reap(queue)
    else:
        t.wait(20_000)
        got = vi.wait(queue, t.settle_us)
    t.codes(row, f"Vip{queue}{call} with a head in error", got.code, DESC_ERROR, {} if t.has_descriptor_error else {OK: "A04"})
    t.require(got.descriptor == number and bool(got.errors), "G5.2-19", "its Descriptor", got,
              "the one that was posted, with an error")
    t.require(got.descriptor == number, row, "its Descriptor", got.descriptor, number)
    alive(t)


@vipl("C38", "A head that is not done", "S2.1.1-01 G3.5.2-01 G3.5.2-04 G3.5.5-01 G3.5.5-02", variants=levels())
def head_not_done(t: Calls) -> None:
    """VipRecvDone gives VIP_NOT_DONE until a message comes, then the Descriptor; what VipSendDone gives fits the status word."""
    p = pair(t, t.params["level"])
    first, second = p.a.recv(p.back.part(0, 32)), p.a.recv(p.back.part(32, 32))
    t.wait(t.quiet_us)
    got = p.a.done("Recv")
    t.codes("G3.5.5-02", "VipRecvDone while nothing has come", got.code, NOT_DONE)
    message(p)
    got = p.a.reap("Recv")
    if p.level != UD or got.code != NOT_DONE:
        t.require(got.good and got.descriptor == first, "G3.5.5-01", "VipRecvDone after a message", got, "the first Descriptor")
        t.codes("G3.5.5-02", "VipRecvDone of the next", p.a.done("Recv").code, NOT_DONE)
    del second
    p.b.recv(p.dst.part(64, 32))
    sent = p.a.send(p.src.part(0, 32), at={"mem": p.src.mem, "offset": 8192})
    got = p.a.done("Send")
    word = int.from_bytes(p.src.read(8192 + 28, 4), "little")
    if got.code == NOT_DONE:
        got = p.a.reap("Send")
    t.require(got.descriptor == sent and got.good, "G3.5.2-01", "VipSendDone", got, "the Descriptor")
    again = p.a.done("Send")
    t.require(again.ptr is None, "G3.5.2-01", "VipSendDone behind the last Descriptor", again, "no Descriptor")
    t.require(bool(got.ptr) and "DONE" in got.status, "G3.5.2-04", "what VipSendDone gives", got, "done")
    t.require(bool((got.ptr or {}).get("Status", 0) & 1), "S2.1.1-01", "the status word", hex(word), "DONE")
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("C39", "VipSendWait and VipRecvWait", "G3.5.3-01 G3.5.3-02 G3.5.6-01 G5.5-02", errata="A75",
      variants=[Variant(w, {"what": w}) for w in ("before", "during", "timeout", "infinite")])  # fmt: skip
def waits(t: Calls) -> None:
    """Done before: at once. Done during: then. Nothing comes: VIP_TIMEOUT, not before its time, and what comes later is there."""
    p = pair(t)
    what = t.params["what"]
    number = p.a.recv(p.back.part(0, 32))
    if what == "before":
        message(p)
        t.wait(t.quiet_us)
        asked = p.a.node.start("VipRecvWait", vi=p.a.vi, Timeout=10_000_000)
        t.require(t.until(lambda: asked.done, t.settle_us), "G3.5.6-01", "VipRecvWait of a head that is done", "blocks", "at once")
        p.b.recv(p.dst.part(0, 32))
        sent = p.a.send(p.src.part(0, 32))
        t.wait(t.quiet_us)
        asking = p.a.node.start("VipSendWait", vi=p.a.vi, Timeout=10_000_000)
        t.require(t.until(lambda: asking.done, t.settle_us), "G3.5.3-01", "VipSendWait of a head that is done", "blocks", "at once")
        found = asking.result().get("DescriptorPtr") or {} if asking.done else {}
        if asking.done:
            t.require(asking.returned() == OK and found.get("descriptor") == sent, "G3.5.3-01", "VipSendWait", asking.returned(),
                      "the Descriptor")
    elif what == "timeout":
        asked = p.a.node.start("VipRecvWait", vi=p.a.vi, Timeout=300_000)
        if timed(t, "G3.5.6-01", asked, 300_000):
            t.codes("G3.5.6-01", "VipRecvWait when nothing comes", asked.returned(), TIMEOUT)
        zero = p.a.node.start("VipRecvWait", vi=p.a.vi, Timeout=0)
        t.require(t.until(lambda: zero.done, t.settle_us), "G3.5.6-01", "VipRecvWait with Timeout 0", "blocks", "at once")
        if zero.done:
            t.codes("G3.5.6-01", "VipRecvWait with Timeout 0", zero.returned(), TIMEOUT)
        message(p)
        got = p.a.reap("Recv")
        if p.level != UD or got.code != NOT_DONE:
            t.require(got.good and got.descriptor == number, "G3.5.6-01", "a receive behind VipRecvWaits that timed out", got,
                      "the Descriptor")
        p.b.recv(p.dst.part(0, 32))
        p.a.send(p.src.part(0, 32))
        asking = p.a.node.start("VipSendWait", vi=p.a.vi, Timeout=100_000)
        code = ended(t, asking, "G3.5.3-02", 100_000 + t.late_us + t.settle_us)
        least = 100_000 - GRAIN_US if code == TIMEOUT else 0  # a Send that is done ends it at any time
        took = int(asking.result().get("us", 0))
        t.require(took >= least, "G3.5.3-02", f"VipSendWait that returned {code}", f"{took} us", f"{least} us")
        alive(t)
        return
    else:
        asked = p.a.node.start("VipRecvWait", vi=p.a.vi, Timeout=None if what == "infinite" else 10_000_000)
        t.wait(1_000_000 if what == "infinite" else 300_000)
        t.require(not asked.done, "G3.5.6-01", "VipRecvWait before a message", "returned", "blocks")
        message(p)
        t.require(t.until(lambda: asked.done, t.settle_us), "G3.5.6-01", "VipRecvWait when a message came", "blocks", "returns")
    if asked.done:
        found = asked.result().get("DescriptorPtr") or {}
        t.codes("G3.5.6-01", "VipRecvWait of a good receive", asked.returned(), OK)
        t.require(found.get("descriptor") == number and found.get("length") == 32, "G5.5-02", "its Descriptor", found,
                  "the one posted")
    alive(t)


@vipl("C40", "Waiting on a queue with a CQ", "S2.4-02 G3.5.3-04 G3.5.6-03 G3.5.9-06 G3.5.10-04", errata="A05",
      variants=each(QUEUES, "call", {"wait": "Wait", "notify": "Notify"}))  # fmt: skip
def wait_with_cq(t: Calls) -> None:
    """SendWait, RecvWait, SendNotify and RecvNotify refuse a queue that has a CQ; the VI's other queue is not refused."""
    one, _ = nodes(t)
    queue, call = t.params["queue"], t.params["call"]
    row = {"SendWait": "G3.5.3-04", "RecvWait": "G3.5.6-03", "SendNotify": "G3.5.9-06", "RecvNotify": "G3.5.10-04"}[queue + call]
    if call == "Notify":
        has_notify(one)
    cq = one.cq(8)
    vi = one.vi(best_level(one), send_cq=cq if queue == "Send" else None, recv_cq=cq if queue == "Recv" else None)
    mem = one.mem(64)
    vi.post(queue, "send" if queue == "Send" else "recv", [mem.part()])
    asked = one.start(f"Vip{queue}{call}", vi=vi.vi, **({"Timeout": 2_000_000} if call == "Wait" else {"Context": 1}))
    if t.require(t.until(lambda: asked.done, t.settle_us), row, f"{asked.method} of a queue with a CQ", "blocks", RESOURCE):
        t.codes(row, f"{asked.method} of a queue with a CQ", asked.returned(), RESOURCE, {BAD: "A05"})
    free = "Recv" if queue == "Send" else "Send"
    vi.post(free, "send" if free == "Send" else "recv", [mem.part()])
    asked = one.start(f"Vip{free}Wait", vi=vi.vi, Timeout=50_000)
    t.until(lambda: asked.done, t.settle_us)
    t.require(asked.done and asked.returned() not in (RESOURCE, BAD), "S2.4-02", "the queue that has no CQ", asked.done
              and asked.returned(), "is not refused")  # fmt: skip
    alive(t)


@vipl("C41", "VipCQDone and VipCQWait", "S6.4.2-01 G3.5.7-01 G3.5.7-05 G3.5.8-01 G3.5.8-02 G3.5.11-04", errata="A45 A46 A51 A75")
def cq_calls(t: Calls) -> None:
    """Empty: VIP_NOT_DONE and VIP_TIMEOUT; with an entry: VI and queue, once. NULL and destroyed handles are refused."""
    one, other = nodes(t)
    level, cq = best_level(one), one.cq(8)
    vi = one.vi(level, recv_cq=cq)
    peer, mem, back = other.vi(level), one.mem(256), other.mem(64)
    connect(vi, peer)
    t.codes("G3.5.7-01", "VipCQDone of an empty CQ", one.code("VipCQDone", cq=cq), NOT_DONE)
    asked = one.start("VipCQWait", cq=cq, Timeout=200_000)
    if timed(t, "G3.5.8-01", asked, 200_000):
        t.codes("G3.5.8-02", "VipCQWait of an empty CQ", asked.returned(), TIMEOUT)
    for way in ("VipCQDone", "VipCQWait"):
        number = vi.recv(mem.part(0, 64))
        waiting = one.start("VipCQWait", cq=cq, Timeout=5_000_000) if way == "VipCQWait" else None
        peer.send(back.part())
        peer.reap("Send")
        row = "G3.5.7-01" if way == "VipCQDone" else "G3.5.8-01"
        if waiting is not None:
            ended(t, waiting, row, 2 * t.settle_us)
            found = waiting
        else:
            found = one.call(way, cq=cq)
            for _ in range(200):
                if found.returned() != NOT_DONE:
                    break
                t.wait(5000)
                found = one.call(way, cq=cq)
        t.codes(row, way, found.returned(), OK)
        seen = (t.number_of("vi", found.result().get("vi")), found.result().get("RecvQueue"))
        t.require(seen == (vi.vi, True), row, f"the entry that {way} gave", found.result(), f"the receive queue of VI {vi.vi}")
        t.codes("G3.5.7-01", "VipCQDone behind the only entry", one.code("VipCQDone", cq=cq), NOT_DONE)
        got = vi.done("Recv")
        t.require(got.good and got.descriptor == number, "S6.4.2-01", "the receive behind its entry", got, "success")
    gone = one.cq(4)
    one.code("VipDestroyCQ", cq=gone)
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("VipCQDone", {}, "G3.5.7-05"), ("VipCQWait", {"Timeout": 10_000}, "G3.5.7-05"),
        ("VipResizeCQ", {"EntryCount": 4}, "G3.5.7-05"),
        ("VipDestroyCQ", {}, "G3.5.7-05"), ("VipCQNotify", {"Context": 3}, "G3.5.11-04"),
    ]  # fmt: skip
    for method, params, row in calls:
        if method not in one.missing:
            null(one, row, "cq", method, **params)
            stale(t, row, method, one.code(method, cq=gone, **params))
    if "VipCQNotify" not in one.missing:
        t.codes("G3.5.11-04", "VipCQNotify with NULL as handler", one.code("VipCQNotify", cq=cq, Handler=False), BAD)
    _without_limit(t, one, cq, vi, peer, mem, back)
    alive(t)


def _without_limit(t: Calls, one: Node, cq: int, vi: Vi, peer: Vi, mem: Mem, back: Mem) -> None:
    """A Wait without a limit blocks until there is an entry."""
    waiting = one.start("VipCQWait", cq=cq, Timeout=None)
    t.wait(1_500_000)
    t.require(not waiting.done, "G3.5.8-01", "VipCQWait without limit before an entry", "returned", "blocks")
    vi.recv(mem.part(0, 64))
    peer.send(back.part())
    peer.reap("Send")
    t.codes("G3.5.8-01", "VipCQWait without limit", ended(t, waiting, "G3.5.8-01", 2 * t.settle_us), OK)
    vi.reap("Recv")


@vipl("C42", "VipDestroyCQ", "G3.5.7-05 G3.6.2-01", errata="A51")
def destroy_cq(t: Calls) -> None:
    """A CQ with a queue tied to it is not destroyed and still works; without it is."""
    one, other = nodes(t)
    level, cq, sends = best_level(one), one.cq(8), one.cq(8)
    vi, peer, mem, back = one.vi(level, send_cq=sends, recv_cq=cq), other.vi(level), one.mem(64), other.mem(64)
    for used, queue in ((cq, "receive"), (sends, "send")):
        code = one.code("VipDestroyCQ", cq=used)
        t.codes("G3.6.2-01", f"VipDestroyCQ of a CQ that a {queue} queue is tied to", code, RESOURCE)
    connect(vi, peer)
    vi.recv(mem.part())
    peer.send(back.part())
    peer.reap("Send")
    asked = one.call("VipCQWait", cq=cq, Timeout=t.settle_us)
    t.codes("G3.6.2-01", "VipCQWait afterwards", asked.returned(), OK)
    vi.clean()
    t.codes("G3.6.2-01", "VipDestroyVi", vi.destroy(), OK)
    for unused in (sends, cq):
        t.codes("G3.6.2-01", "VipDestroyCQ of a CQ that nothing uses", one.code("VipDestroyCQ", cq=unused), OK)
    stale(t, "G3.5.7-05", "VipDestroyCQ", one.code("VipDestroyCQ", cq=cq))
    alive(t)


def entries(node: Node, cq: int, count: int, within_us: int) -> list[tuple[Any, Any]]:
    """Take entries until there are so many, or the time is up."""
    t = node.t
    found: list[tuple[Any, Any]] = []
    end, pause = t.now_us + within_us, 2000
    while len(found) < count:
        asked = node.call("VipCQDone", cq=cq)
        if asked.returned() == OK:
            found.append((t.number_of("vi", asked.result().get("vi")), asked.result().get("RecvQueue")))
            pause = 2000
        elif t.now_us >= end:
            break
        else:
            t.wait(pause)
            pause = min(2 * pause, 50_000)
    return found


@vipl("Q1", "Arrangements of CQs", "S2.4-01 S3.4-01 S6.4.1-03 G3.5.7-01 G6.1-02",
      variants=[Variant(f"{s}-{r}", {"send": s, "recv": r}) for s in ("none", "one", "two") for r in ("none", "one", "two")]
      + [Variant("eight-vis", {"send": "one", "recv": "one", "vis": 8}), Variant("oldest", {"oldest": True})])  # fmt: skip
def arrangements(t: Calls) -> None:
    """Each queue is tied to a CQ or not on its own; an entry comes for each Descriptor of a tied queue, and for no other. The
    oldest entry of several VIs comes first.
    """
    one, other = nodes(t)
    level = best_level(one)
    if t.params.get("oldest"):
        _oldest(t, one, other, level)
        return
    cqs: dict[str, Optional[int]] = {"none": None, "one": one.cq(64), "two": one.cq(64)}
    count = t.params.get("vis", 1)
    vis = [one.vi(level, send_cq=cqs[t.params["send"]], recv_cq=cqs[t.params["recv"]]) for _ in range(count)]
    peers = [other.vi(level) for _ in vis]
    mem, back = one.mem(4096), other.mem(4096)
    for vi, peer in zip(vis, peers):
        connect(vi, peer)
    wanted: dict[str, list[tuple[int, bool]]] = {"one": [], "two": []}
    for vi, peer in zip(vis, peers):
        vi.recv(mem.part(0, 32))
        peer.recv(back.part(0, 32))
        peer.send(back.part(64, 32))
        vi.send(mem.part(64, 32))
        for queue, recv in (("send", False), ("recv", True)):
            if t.params[queue] != "none":
                wanted[t.params[queue]].append((vi.vi, recv))
    for name in ("one", "two"):
        cq = cqs[name]
        assert cq is not None
        found = entries(one, cq, len(wanted[name]), 2 * t.settle_us)
        for row in ("S6.4.1-03", "S2.4-01"):
            t.require(sorted(map(str, found)) == sorted(map(str, wanted[name])), row, f"the entries of CQ {name}", found,
                      wanted[name])
        t.codes("S2.4-01", f"VipCQDone of CQ {name} behind its entries", one.code("VipCQDone", cq=cq), NOT_DONE)
    for vi in vis:
        for queue in ("Send", "Recv"):
            tied = t.params[queue.lower()] != "none"
            got = vi.done(queue) if tied else vi.reap(queue)
            t.require(got.good, "G6.1-02" if tied else "S3.4-01", f"the head of a {queue} queue whose entry was taken", got, "done")
    alive(t)


def _oldest(t: Calls, one: Node, other: Node, level: str) -> None:
    """Sends and receives of two VIs, a while apart: entries come in the order in which they were done."""
    cq = one.cq(16)
    vis, mem, back = [one.vi(level, send_cq=cq, recv_cq=cq) for _ in range(2)], one.mem(256), other.mem(256)
    peers = [other.vi(level) for _ in vis]
    for vi, peer in zip(vis, peers):
        connect(vi, peer)
    order = ((1, True), (0, False), (0, True))
    for at, (which, receives) in enumerate(order):
        to, by, there, here = (vis, peers, mem, back) if receives else (peers, vis, back, mem)
        to[which].recv(there.part(at * 32, 32))
        by[which].send(here.part(128, 32))
        t.wait(t.settle_us)
    found = entries(one, cq, len(order), t.settle_us)
    wanted = [(vis[which].vi, receives) for which, receives in order]
    if level != UD or len(found) == len(order):
        t.require(found == wanted, "G3.5.7-01", "the entries of a CQ", found, f"the oldest first: {wanted}")
    alive(t)


@vipl("Q2", "Entries and Descriptors", "S2.4-02 G3.5.7-02 G3.7.3-02", errata="A06 A79 A81")
def entries_and_descriptors(t: Calls) -> None:
    """VipCQDone takes the entry only; VipRecvDone works without it."""
    one, other = nodes(t)
    level, cq = best_level(one), one.cq(8)
    vi, peer, mem, back = one.vi(level, recv_cq=cq), other.vi(level), one.mem(64), other.mem(64)
    connect(vi, peer)
    number = vi.recv(mem.part())
    peer.send(back.part())
    t.require(bool(entries(one, cq, 1, t.settle_us)), "G3.5.7-02", "the entry", "none", "one")
    told = vi.query().get("ViRecvQEmpty")
    if told is True:
        t.report("G3.7.3-02", "ViRecvQEmpty while a completed receive is left", "true", "false", erratum="A06")
    got = vi.done("Recv")
    t.require(got.good and got.descriptor == number, "G3.5.7-02", "the receive behind VipCQDone", got, "still there")
    t.require(vi.query().get("ViRecvQEmpty") is not False, "G3.7.3-02", "ViRecvQEmpty after VipRecvDone", "false", "true")
    number = vi.recv(mem.part())
    peer.send(back.part())
    got = vi.reap("Recv")
    t.require(got.good and got.descriptor == number, "S2.4-02", "VipRecvDone without VipCQDone", got, "the Descriptor")
    alive(t)


@vipl("Q3", "VipResizeCQ", "S3.4-06 S3.4-07 G3.6.3-01", errata="A40")
def resize(t: Calls) -> None:
    """The CQ grows and shrinks with entries inside and under traffic: none is lost, and they come in order.

    There may be no room to grow, but the size that a CQ has needs none.
    """
    one, other = nodes(t)
    one.need("VipResizeCQ")
    level, cq = best_level(one), one.cq(16)
    vi, peer, mem, back = one.vi(level, recv_cq=cq), other.vi(level), one.mem(4096), other.mem(4096)
    connect(vi, peer)
    sizes = (16, 64, 16, 1024, 16)
    for round_, size in enumerate(sizes[1:]):
        for i in range(12):
            vi.recv(mem.part(64 * i, 64))
        for i in range(6):
            peer.send(back.part(64 * i, 64))
        code = one.code("VipResizeCQ", cq=cq, EntryCount=size)
        if code == RESOURCE and one.code("VipResizeCQ", cq=cq, EntryCount=sizes[round_]) == OK:
            t.lack(f"the provider has no room for a Completion Queue of {size}")
        t.codes("G3.6.3-01", f"VipResizeCQ to {size}", code, OK)
        for i in range(6):
            peer.send(back.part(64 * i, 64))
        found = entries(one, cq, 12, 3 * t.settle_us)
        if level == UD and len(found) < 12:
            t.lack("messages were lost, which is right at this level")
        t.require(len(found) == 12, "S3.4-06", f"entries of round {round_}", len(found), 12)
        for _ in range(12):
            got = vi.done("Recv")
            t.require(got.good, "S3.4-07", "a receive under VipResizeCQ", got, "success")
            peer.reap("Send")
    if level != UD and one.number("MaxDescriptorsPerQueue") >= 40:
        t.codes("G3.6.3-01", "VipResizeCQ to 40", one.code("VipResizeCQ", cq=cq, EntryCount=40), OK)
        for _ in range(40):
            vi.recv(mem.part(0, 64))
        for _ in range(40):
            peer.send(back.part(0, 64))
            peer.reap("Send")
        t.wait(t.quiet_us)
        found = entries(one, cq, 40, 3 * t.settle_us)
        t.require(len(found) == 40, "G3.6.3-01", "entries of a CQ that has grown to 40", len(found), 40)
    alive(t)


@vipl("Q4", "Entries of flushed Descriptors", "S6.4.1-03 G6.2-02", errata="A28",
      variants=[Variant("here", {"who": "a"}), Variant("there", {"who": "b"}), Variant("error", {"who": ""}),
                Variant("idle", {"who": "a", "alone": True})])  # fmt: skip
def flushed_entries(t: Calls) -> None:
    """Eight receives are flushed by a disconnect of either end, or of a VI that is Idle (G 3.3.5): eight entries, then eight
    Descriptors in order. A Send in error, and one behind it, have theirs, too."""
    one, other = nodes(t)
    level, cq = best_level(one, reliable=True), one.cq(16)
    if not t.params["who"]:
        failed_entries(t, one, other, level, cq)
        alive(t)
        return
    vi, peer, mem = one.vi(level, recv_cq=cq), other.vi(level), one.mem(4096)
    if not t.params.get("alone"):
        connect(vi, peer)
    numbers = [vi.recv(mem.part(64 * i, 64)) for i in range(8)]
    (vi if t.params["who"] == "a" else peer).disconnect()
    if t.params["who"] == "b" and not vi.becomes(ERROR):
        for _ in range(5):
            vi.send(mem.part(0, 8))
        vi.becomes(ERROR, t.async_us)
    found = entries(one, cq, 8, t.async_us if t.params["who"] == "b" else t.settle_us)
    t.require(found == [(vi.vi, True)] * 8, "G6.2-02", "entries of flushed receives", found, "eight")
    for number in numbers:
        got = vi.done("Recv")
        t.require(got.descriptor == number and bool(got.errors), "S6.4.1-03", "a flushed receive behind its entry", got, "FLUSHED")
    alive(t)


def failed_entries(t: Calls, one: Node, other: Node, level: str, cq: int) -> None:
    """A Send whose operation there is not, and one behind it: an entry for each."""
    vi, peer, mem = one.vi(level, send_cq=cq), other.vi(level), one.mem(4096)
    connect(vi, peer)
    numbers = [vi.send(mem.part(0, 8), Control=3), vi.send(mem.part(64, 8))]
    found = entries(one, cq, 2, t.settle_us)
    t.require(found == [(vi.vi, False)] * 2, "S6.4.1-03", "entries of Descriptors in error", found, "two")
    for number in numbers:
        got = vi.done("Send")
        found_it = got.descriptor == number and bool(got.errors)
        t.require(found_it, "S6.4.1-03", "a Descriptor in error behind its entry", got, "an error")


@vipl("Q5", "A CQ that is full", "G3.6.1-01", errata="A38 A67")
def full_cq(t: Calls) -> None:
    """As many completions as were asked for lose no entry; beyond, entries may be lost, but the queue has its Descriptors."""
    one, other = nodes(t)
    level, cq = best_level(one, reliable=True), one.cq(8)
    vi, peer, mem, back = one.vi(level, recv_cq=cq), other.vi(level), one.mem(4096), other.mem(4096)
    connect(vi, peer)
    for i in range(8):
        vi.recv(mem.part(64 * i, 64))
    for i in range(8):
        peer.send(back.part(64 * i, 64))
        peer.reap("Send")
    t.wait(t.quiet_us)
    found = entries(one, cq, 8, t.settle_us)
    t.require(len(found) == 8, "G3.6.1-01", "entries of a CQ of 8 that is full", len(found), 8)
    for _ in range(8):
        vi.good("Recv", "G3.6.1-01", "a receive behind its entry")
    alive(t)


@vipl("N1", "Notify with a completed head", "G3.5.9-01 G3.5.9-09 G3.5.10-01 G5.5-02", errata="A45",
      variants=QUEUES)  # fmt: skip
def notify_done(t: Calls) -> None:
    """The Descriptor is taken off and the handler is called with it, once; Done afterwards does not give it. NULL is refused."""
    p = pair(t)
    has_notify(p.a.node)
    queue = t.params["queue"]
    row = "G3.5.9-01" if queue == "Send" else "G3.5.10-01"
    code = notify(p.a, queue, 1, Handler=False)
    t.codes("G3.5.9-09", f"Vip{queue}Notify with NULL as handler", code, BAD)
    if queue == "Send":
        p.b.recv(p.dst.part(0, 32))
        number = p.a.send(p.src.part(0, 32))
    else:
        number = p.a.recv(p.back.part(0, 32))
        message(p)
    t.wait(t.quiet_us)
    t.codes(row, f"Vip{queue}Notify", notify(p.a, queue, 7), OK)
    t.require(t.until(lambda: bool(by_context(t, 7)), t.settle_us), row, "the handler", "not called", "called")
    t.wait(t.quiet_us // 2)
    said = by_context(t, 7)
    t.require(len(said) == 1, row, "calls of the handler", len(said), 1)
    if said:
        got = said[0].get("DescriptorPtr") or {}
        seen = (got.get("descriptor"), t.number_of("vi", said[0].get("vi")))
        t.require(seen == (number, p.a.vi), row, "what the handler got", said[0], "VI and Descriptor")
        t.require(got.get("length") == 32 and "VIP_STATUS_DONE" in got.get("status", []), "G5.5-02", "its status", got,
                  "done, Length 32")
    left = p.a.done(queue)
    t.require(left.ptr is None, row, "the queue afterwards", left, "empty")
    alive(t)


@vipl("N2", "Notify before the completion", "G3.5.9-02 G3.5.10-01 G3.5.10-05", errata="A28",
      variants=[Variant("message", {"how": "message"}), Variant("flush", {"how": "flush"}),
                Variant("read", {"how": "read"}, "rdma_read")])  # fmt: skip
def notify_later(t: Calls) -> None:
    """The handler runs when the Descriptor completes, and not before: by a message, by a flush, by an RDMA Read."""
    p = pair(t)
    has_notify(p.a.node)
    how = t.params["how"]
    if how == "read":
        need_read(p.a.node, p.level)
        number = p.a.rdma("read", p.dst.remote(), p.back.part(0, 20000))
        code = notify(p.a, "Send", 8)
        t.codes("G3.5.9-02", "VipSendNotify behind an RDMA Read", code, OK)
        row = "G3.5.9-02"
    else:
        row = "G3.5.10-01" if how == "message" else "G3.5.10-05"
        number = p.a.recv(p.back.part(0, 32))
        t.codes(row, "VipRecvNotify", notify(p.a, "Recv", 8), OK)
        t.wait(t.quiet_us)
        t.require(not by_context(t, 8), row, "the handler before anything came", by_context(t, 8), "not called")
        message(p) if how == "message" else p.a.disconnect()
    t.require(t.until(lambda: bool(by_context(t, 8)), 2 * t.settle_us), row, "the handler", "not called", "called")
    t.wait(t.quiet_us // 2)
    said = by_context(t, 8)
    t.require(len(said) <= 1, row, "calls of the handler", len(said), 1)
    got = (said[0].get("DescriptorPtr") or {}) if said else {}
    t.require(got.get("descriptor") == number, row, "what the handler got", got, "the Descriptor")
    if how == "flush" and said:
        t.require("VIP_STATUS_DESC_FLUSHED_ERROR" in got.get("status", []), row, "its status", got.get("status"), FLUSHED)
    alive(t)


@vipl("N3", "Several handlers", "G3.5.9-03 G3.5.9-04 G3.5.10-02", errata="A44", variants=QUEUES)
def notify_several(t: Calls) -> None:
    """Three registrations and three completions: in order, each once; one registration and two completions: one call."""
    p = pair(t)
    has_notify(p.a.node)
    queue = t.params["queue"]
    row = "G3.5.9-04" if queue == "Send" else "G3.5.10-02"
    numbers: list[int] = []
    if queue == "Recv":
        numbers = [p.a.recv(p.back.part(64 * i, 32)) for i in range(4)]
        for context in (1, 2, 3):
            t.codes(row, f"VipRecvNotify {context}", notify(p.a, queue, context), OK)
        for _ in range(4):
            message(p)
    else:
        for i in range(4):
            p.b.recv(p.dst.part(64 * i, 32))
        numbers = [p.a.send(p.src.part(0, 32)) for _ in range(4)]
        t.wait(t.quiet_us)
        for context in (1, 2, 3):
            t.codes(row, f"VipSendNotify {context}", notify(p.a, queue, context), OK)
    t.until(lambda: len(t.notifies) >= 3, t.settle_us)
    t.wait(t.quiet_us // 2)
    mine = [n for n in t.notifies if n.end == p.a.node.end.number]
    t.require(len(mine) == 3, "G3.5.9-03" if queue == "Send" else row, "calls of three registrations", len(mine), 3)
    got = [(n.get("Context"), (n.get("DescriptorPtr") or {}).get("descriptor")) for n in mine]
    t.require(sorted(got, key=str) == list(zip((1, 2, 3), numbers)), row, "handlers and Descriptors", got, "each its own")
    left = p.a.reap(queue)
    t.require(left.descriptor == numbers[3] and left.good, row, "the fourth Descriptor", left, "left on the queue")
    alive(t)


@vipl("N4", "A queue that becomes empty", "G3.5.9-07 G3.5.9-08 G3.5.10-03", errata="A43")
def notify_empty(t: Calls) -> None:
    """Two registrations and one receive: the first handler gets it, the second NULL."""
    p = pair(t)
    has_notify(p.a.node)
    t.codes("G3.5.10-03", "VipRecvNotify of an empty queue", notify(p.a, "Recv", 3), DESC_ERROR)
    t.codes("G3.5.9-07", "VipSendNotify of an empty queue", notify(p.a, "Send", 3), DESC_ERROR)
    number = p.a.recv(p.back.part(0, 32))
    for context in (1, 2):
        t.codes("G3.5.10-03", "VipRecvNotify", notify(p.a, "Recv", context), OK)
    message(p)
    t.until(lambda: bool(by_context(t, 1)) and bool(by_context(t, 2)), t.settle_us)
    first, second = by_context(t, 1), by_context(t, 2)
    t.require(bool(first) and (first[0].get("DescriptorPtr") or {}).get("descriptor") == number, "G3.5.10-03",
              "the first handler", first,
              "the Descriptor")  # fmt: skip
    t.wait(t.quiet_us)
    second = by_context(t, 2)
    t.require(len(second) == 1 and second[0].get("DescriptorPtr") is None, "G3.5.10-03", "the second handler", second,
              "called with NULL, once")
    t.require(not by_context(t, 3), "G3.5.9-07", "a handler that was refused", by_context(t, 3), "not called")
    if not p.level == UD and p.b.node.attribs.get("RDMAReadSupport") and p.level in p.b.node.attribs["RDMAReadSupport"]:
        p.a.rdma("read", p.dst.remote(), p.back.part(0, 30000))
        codes = [notify(p.a, "Send", c) for c in (11, 12)]
        t.until(lambda: bool(by_context(t, 11)), t.settle_us)
        if codes == [OK, OK]:
            t.until(lambda: bool(by_context(t, 12)), t.settle_us)
            t.wait(t.quiet_us)
            last = by_context(t, 12)
            t.require(len(last) == 1 and last[0].get("DescriptorPtr") is None, "G3.5.9-08", "the second handler", last,
                      "called with NULL")
    alive(t)


@vipl("N5", "Destroying with handlers that wait", "G3.5.9-05 G3.5.10-02 G3.5.11-03", errata="A87",
      variants=[Variant("vi", {"what": "vi"}), Variant("cq", {"what": "cq"})])  # fmt: skip
def notify_destroyed(t: Calls) -> None:
    """Nothing is called after VipDestroyVi or VipDestroyCQ has returned."""
    one, other = nodes(t)
    has_notify(one, "VipRecvNotify", "VipCQNotify")
    if t.params["what"] == "cq":
        cq = one.cq(8)
        t.codes("G3.5.11-03", "VipCQNotify", one.code("VipCQNotify", cq=cq, Context=4), OK)
        code = one.code("VipDestroyCQ", cq=cq)
        t.codes("G3.5.11-03", "VipDestroyCQ with a handler that waits", code, OK)
    else:
        level = best_level(one)
        vi, mem = one.vi(level), one.mem(256)
        vi.recv(mem.part(0, 64))
        for context in (4, 5):
            notify(vi, "Recv", context)
        vi.disconnect()
        t.until(lambda: len(t.notifies) >= 2, t.quiet_us)
        t.codes("G3.5.9-05", "VipDestroyVi", vi.destroy(), OK)
    before = len(t.notifies)
    t.wait(t.quiet_us)
    t.require(len(t.notifies) == before, "G3.5.10-02" if t.params["what"] == "vi" else "G3.5.11-03",
              "handlers after it was destroyed",
              len(t.notifies) - before, "none is called")  # fmt: skip
    alive(t)


@vipl("N6", "VipCQNotify", "G3.5.11-01 G3.5.11-02 G3.5.11-04", errata="A46",
      variants=[Variant(when, {"when": when}) for when in ("before", "after", "oldest")])  # fmt: skip
def cq_notify(t: Calls) -> None:
    """The handler gets VI and queue of the oldest entry, or of the next; one registration, one entry, the first registration the
    first; the Descriptor stays."""
    one, other = nodes(t)
    has_notify(one, "VipCQNotify")
    level, cq = best_level(one), one.cq(8)
    if t.params["when"] == "oldest":
        _notified_of_the_oldest(t, one, other, level, cq)
        return
    vi, peer, mem, back = one.vi(level, recv_cq=cq), other.vi(level), one.mem(256), other.mem(64)
    connect(vi, peer)
    numbers = [vi.recv(mem.part(64 * i, 32)) for i in range(3)]
    if t.params["when"] == "before":
        for context in (1, 2):
            t.codes("G3.5.11-01", "VipCQNotify", one.code("VipCQNotify", cq=cq, Context=context), OK)
        t.wait(t.quiet_us // 2)
        t.require(not t.notifies, "G3.5.11-01", "handlers before an entry is there", len(t.notifies), "none is called")
    for i in range(3):
        peer.send(back.part(0, 32))
        peer.reap("Send")
        if i == 0 and t.params["when"] == "before" and t.until(lambda: bool(t.notifies), t.settle_us):
            first = t.notifies[0].get("Context")
            t.require(first == 1, "G3.5.11-02", "the Context of the handler that the first entry is given to", first, 1)
    if t.params["when"] == "after":
        t.wait(t.quiet_us)
        for context in (1, 2):
            t.codes("G3.5.11-01", "VipCQNotify", one.code("VipCQNotify", cq=cq, Context=context), OK)
    t.until(lambda: len(t.notifies) >= 2, t.settle_us)
    t.wait(t.quiet_us // 2)
    t.require(len(t.notifies) == 2, "G3.5.11-02", "calls of two registrations", len(t.notifies), 2)
    t.require(bool(t.notifies), "G3.5.11-01", "calls of the handlers of two entries", 0, "2")
    for said in t.notifies:
        seen = (t.number_of("vi", said.get("vi")), said.get("RecvQueue"))
        t.require(seen == (vi.vi, True), "G3.5.11-01", "what the handler got", dict(said.params), "VI and queue")
    found = entries(one, cq, 1, t.settle_us)
    t.require(len(found) == 1, "G3.5.11-02", "entries that are left", len(found), 1)
    more = entries(one, cq, 1, t.quiet_us)
    t.require(not more, "G3.5.11-01", "entries that a handler took", f"{more} on the queue", "gone from it")
    for number in numbers:
        got = vi.done("Recv")
        t.require(got.good and got.descriptor == number, "G3.5.11-01", "a Descriptor whose entry a handler took", got,
                  "still there")
    t.codes("G3.5.11-04", "VipCQNotify with NULL as handler", one.code("VipCQNotify", cq=cq, Handler=False), BAD)
    alive(t)


def _notified_of_the_oldest(t: Calls, one: Node, other: Node, level: str, cq: int) -> None:
    """Receives of two VIs, a while apart: the first handler gets the entry of the first one."""
    vis, mem, back = [one.vi(level, recv_cq=cq) for _ in range(2)], one.mem(64), other.mem(64)
    for vi in vis:
        peer = other.vi(level)
        connect(vi, peer)
        vi.recv(mem.part())
        peer.send(back.part())
        t.wait(t.settle_us)
    t.codes("G3.5.11-01", "VipCQNotify", one.code("VipCQNotify", cq=cq, Context=1), OK)
    t.until(lambda: bool(t.notifies), t.settle_us)
    seen = [t.number_of("vi", said.get("vi")) for said in t.notifies]
    left = [vi for vi, _ in entries(one, cq, 1, t.settle_us)]
    if level != UD or len(seen) + len(left) == len(vis):
        t.require(seen == [vis[0].vi], "G3.5.11-01", "the VI of the entry that a handler gets", seen, f"{vis[0].vi}, the oldest")
    alive(t)


@vipl("N7", "The threads of handlers", "G3.5.12-01", errata="A44")
def notify_threads(t: Calls) -> None:
    """One thread a queue serves its handlers, other than the callers': a notice where it is not so."""
    p = pair(t)
    has_notify(p.a.node)
    for context in (1, 2):
        p.a.recv(p.back.part(0, 32))
        notify(p.a, "Recv", context)
        message(p)
        t.until(lambda: bool(by_context(t, context)), t.settle_us)  # noqa: B023
    threads = {n.get("thread") for n in t.notifies}
    t.require(len(threads) == 1, "G3.5.12-01", "threads that served one queue", sorted(threads, key=str), "one")
    t.require(all(n.get("within") is None for n in t.notifies), "G3.5.12-01", "handlers inside of calls", [n.get("within")
              for n in t.notifies], "a thread of their own")  # fmt: skip
    alive(t)
