"""Does with queues what an application is asked not to do, and sees what the provider owes all the same: overruns a CQ, takes what
an entry names without the entry, and mixes Notify with Done."""

from __future__ import annotations

from typing import Any

from conformance.vipl.cases.ending import heard
from conformance.vipl.cases.queues import QUEUES, entries, has_notify, notify
from conformance.vipl.steps.declare import UD, vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import CONNECTED, NOT_DONE, OK, Mem, Node, Vi, alive, best_level, connect, nodes, pair

_ROOM, _EACH, _SIZE = 8, 12, 64


def lost(t: Calls, vi: Vi) -> bool:
    """Whether the provider has told of an error, or has ended the Connection (G 6.3.2 recommends both of an overrun)."""
    return bool(heard(t, vi)) or vi.state() != CONNECTED


@vipl("Q6", "A CQ that is overrun", "S3.4-03 S6.4.1-04 G3.6.1-02", errata="A38")
def overrun(t: Calls) -> None:
    """24 receives of two VIs complete on a CQ of 8 before anybody reads it. Entries may be lost, but no Descriptor; another CQ has
    its entry; what completes later has one. A provider may end the Connections instead, and tells that. An
    overrun may corrupt data, and G 6.3.2 only recommends that the provider says so. No breach of these rows fails a provider."""
    one, other = nodes(t)
    level = best_level(one, reliable=True)
    cq, beside = one.cq(_ROOM), one.cq(_ROOM)
    vis = [one.vi(level, recv_cq=used) for used in (cq, cq, beside)]
    peers = [other.vi(level) for _ in vis]
    mems, source = [one.mem(_SIZE * _EACH) for _ in vis], other.mem(_SIZE)
    for vi, peer in zip(vis, peers):
        connect(vi, peer)
    numbers = [[vi.recv(mem.part(_SIZE * i, _SIZE)) for i in range(_EACH)] for vi, mem in zip(vis[:2], mems)]
    for of_vi, (vi, peer) in enumerate(zip(vis[:2], peers)):
        for i in range(_EACH):
            _message(peer, source, _SIZE * of_vi + i)
    t.until(lambda: any(lost(t, vi) for vi in vis[:2]), t.settle_us)
    for vi, mem, posted, seed in zip(vis, mems, numbers, (0, _SIZE)):
        _came_back(t, vi, mem, posted, seed)
    found = entries(one, cq, 2 * _EACH, t.settle_us)
    _tell(t, found, 2 * _EACH)
    wild = [entry for entry in found if entry not in [(vi.vi, True) for vi in vis[:2]]]
    t.require(not wild, "S6.4.1-04", "entries of a CQ that was overrun", wild, "of the receive queues tied to it alone")
    much = [vi.vi for vi in vis[:2] if found.count((vi.vi, True)) > _EACH]
    t.require(not much, "S6.4.1-04", "entries of a queue", found, f"{_EACH} at most")
    _later(t, one, cq, (vis[0], peers[0], mems[0], source), "G3.6.1-02", "a CQ that was overrun and read empty")
    _later(t, one, beside, (vis[2], peers[2], mems[2], source), "S3.4-03", "another CQ than the one that was overrun")
    alive(t, pair(t, level, ends=(one, other)))


def _message(peer: Vi, source: Mem, seed: int) -> None:
    source.fill(seed)
    peer.send(source.part())
    peer.reap("Send")


def _tell(t: Calls, found: list[Any], completed: int) -> None:
    what = "the CQ has more room" if len(found) == completed else "it lost some"
    t.step(f"{len(found)} entries of {completed} Descriptors: {what}")


def _came_back(t: Calls, vi: Vi, mem: Mem, posted: list[int], seed: int) -> None:
    """Each Descriptor, with its message, unless the Connection was ended."""
    for i, number in enumerate(posted):
        got = vi.reap("Recv")
        whole = got.good and got.descriptor == number and mem.wrong(seed + i, _SIZE * i, _SIZE) == 0
        if not whole and lost(t, vi):
            return
        if not t.require(whole, "S6.4.1-04", f"receive {i} of a queue whose CQ is overrun", got,
                         "the Descriptor, with its message"):  # fmt: skip
            return


def _later(t: Calls, node: Node, cq: int, of: tuple[Vi, Vi, Mem, Mem], row: str, what: str) -> None:
    vi, peer, mem, source = of
    if lost(t, vi):
        t.step(f"the Connection of the VI of {what} was ended")
        return
    vi.recv(mem.part(0, _SIZE))
    _message(peer, source, 99)
    found = entries(node, cq, 1, 2 * t.settle_us)
    t.require(found == [(vi.vi, True)] or lost(t, vi), row, f"the entry of the next receive of {what}", found, "one of it")
    vi.reap("Recv")


@vipl("Q7", "Descriptors that are taken without their entries", "G3.5.7-04", errata="A81", variants=QUEUES)
def without_entries(t: Calls) -> None:
    """Done takes three Descriptors of a queue with a CQ. Their entries may be left or not; behind none of them does a Descriptor
    come back once more, and the next one has an entry."""
    one, other = nodes(t)
    queue, level, cq = t.params["queue"], best_level(one), one.cq(_ROOM)
    tied = {"recv_cq": cq} if queue == "Recv" else {"send_cq": cq}
    vi, peer, mem, there = one.vi(level, **tied), other.vi(level), one.mem(256), other.mem(256)
    connect(vi, peer)
    for _ in range(3):
        number = _work(queue, vi, peer, mem, there)
        got = vi.reap(queue)
        if got.code == NOT_DONE and level == UD:
            t.lack("the message was lost, which is right at this level")
        t.require(got.good and got.descriptor == number, "G3.5.7-04", f"Vip{queue}Done without VipCQDone", got, "the Descriptor")
    left = entries(one, cq, 4, t.quiet_us)
    t.require(len(left) <= 3, "G3.5.7-04", "entries of Descriptors that were taken", left, "three at most")
    again = [vi.done(queue) for _ in range(max(1, len(left)))]
    t.require(not any(got.ptr for got in again), "G3.5.7-04", f"Vip{queue}Done behind an entry whose Descriptor was taken",
              ", ".join(map(str, again)), "no Descriptor")  # fmt: skip
    number = _work(queue, vi, peer, mem, there)
    found = entries(one, cq, 4 - len(left), t.settle_us // 2)
    if found or level != UD:
        t.require((vi.vi, queue == "Recv") in found, "G3.5.7-04", "the entry of the next one", found, "one")
        got = vi.reap(queue)
        t.require(got.good and got.descriptor == number, "G3.5.7-04", "the next one", got, "the Descriptor")
    alive(t)


def _work(queue: str, vi: Vi, peer: Vi, mem: Mem, there: Mem) -> int:
    """One Descriptor of the queue completes."""
    (vi if queue == "Recv" else peer).recv((mem if queue == "Recv" else there).part(0, 32))
    (peer if queue == "Recv" else vi).send((there if queue == "Recv" else mem).part(64, 32))
    if queue == "Recv":
        peer.reap("Send")
    return vi.posted[queue][-1]


@vipl("N8", "Notify beside Done", "G3.5.12-02", errata="A43", variants=QUEUES)
def notify_beside_done(t: Calls) -> None:
    """Two handlers wait at a queue, and Done is called until it gives no more: which of them gets which Descriptor is open, but
    each Descriptor is given once."""
    p = pair(t)
    has_notify(p.a.node)
    queue = t.params["queue"]
    numbers = []
    for i in range(4):
        (p.a if queue == "Recv" else p.b).recv((p.back if queue == "Recv" else p.dst).part(64 * i, 32))
    if queue == "Recv":
        numbers = p.a.posted["Recv"][-4:]
    else:
        numbers = [p.a.send(p.src.part(0, 32)) for _ in range(4)]
    for context in (1, 2):
        t.codes("G3.5.12-02", f"Vip{queue}Notify", notify(p.a, queue, context), OK)
    for _ in range(4 if queue == "Recv" else 0):
        p.b.send(p.dst.part(0, 32))
        p.b.reap("Send")
    taken: list[Any] = []

    def given() -> list[Any]:
        told = [n.get("DescriptorPtr") for n in t.notifies if n.end == p.a.node.end.number]
        return [*taken, *(found.get("descriptor") for found in told if found)]

    def every() -> bool:
        for _ in numbers:
            got = p.a.done(queue)
            taken.extend([got.descriptor] if got.ptr is not None else [])
        return len(given()) >= len(numbers)

    t.until(every, 2 * t.settle_us)
    t.wait(t.quiet_us)
    every()
    if p.level == UD and len(given()) < len(numbers):
        t.lack("messages were lost, which is right at this level")
    found = sorted(given(), key=str)
    t.require(found == sorted(numbers, key=str), "G3.5.12-02", "Descriptors that handlers and Done were given", found,
              f"each of {numbers} once")  # fmt: skip
    alive(t)
