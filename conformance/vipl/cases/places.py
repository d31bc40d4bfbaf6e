"""Posts Descriptors that lie in a wrong place, come with a wrong handle, or have a Next that leads nowhere (G 3.8.1)."""

from __future__ import annotations

import struct
from typing import Any, Mapping

from conformance.vipl.cases.ending import deaf, heard
from conformance.vipl.cases.errors import raw
from conformance.vipl.steps.declare import RD, each, levels, vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import CONNECTED, ERROR, IDLE, OK, RESOURCE, Mem, Node, Pair, Vi, alive, pair

_QUEUES = {"send": "Send", "recv": "Recv"}
_ROWS = {"foreign-tag": "S3.2.2.1-05", "unregistered": "S2.2-01", "other-handle": "S6.1-03", "behind": "S3.2.1-01",
         "runs-out": "S3.2.1-01"}  # fmt: skip


def _part(node: Node, whole: Mem, offset: int, page: int) -> int:
    """The handle of a page of a region that is registered once more."""
    made = node.call("VipRegisterMem", length=page, of={"mem": whole.mem, "offset": offset},
                     MemAttribs={"Ptag": node.ptag, "EnableRdmaWrite": False, "EnableRdmaRead": False})  # fmt: skip
    if made.returned() == RESOURCE:
        node.t.lack("the provider has no room for another region")
    node.t.codes("S3.2.1-08", "VipRegisterMem of a part", made.returned(), OK)
    return made.integer("handle")


def _placed(t: Calls, node: Node, how: str, data: Mem) -> tuple[dict[str, Any], bool]:
    """A Descriptor of 16 bytes where it must not lie: what the post names, and whether a page of it is out of place (A63)."""
    segment = (data.va, data.handle, 16)
    if how in ("misaligned", "unregistered", "foreign-tag"):
        mem = node.mem(16384, ptag=node.ptag_new() if how == "foreign-tag" else None)
        offset = 72 if how == "misaligned" else 64
        raw(mem, offset, length=16, data=[segment])
        if how == "unregistered":
            node.code("VipDeregisterMem", mem=mem.mem)
        return {"mem": mem.mem, "offset": offset}, True
    page = int(node.call("layout").result().get("pagesize", 4096))
    whole = node.mem(9 * page)
    first = -whole.va % page  # where its first whole page begins
    if how == "other-handle":
        handle, offset, segments = node.mem(64).handle, first + 4 * page, [segment]
        if handle == whole.handle:
            t.lack("the provider has one handle for two regions (A71)")
    else:
        handle, offset, segments = _part(node, whole, first + 2 * page, page), first + 5 * page, [segment]
    if how == "runs-out":
        most = node.number("MaxSegmentsPerDesc") - 1
        offset, segments = first + 3 * page - 64, [segment, *[(data.va, data.handle, 0)] * (min(most, 2 + 2 * page // 16) - 1)]
    raw(whole, offset, length=16, data=segments)
    sure = how != "runs-out" or offset + 32 + 16 * len(segments) >= first + 4 * page
    return {"va": f"{whole.va + offset:016x}", "handle": handle}, sure


@vipl("X22", "Descriptors in the wrong place",
      "S2.2-01 S3.2.1-01 S3.2.1-08 S3.2.2.1-05 S6.1-03 G3.5.1-02 G3.5.4-02 G3.8.1-05 G6.3.1-01", errata="A20 A63 A71 A98 A99",
      variants=each(each(levels((RD,)), "queue", _QUEUES), "how", {h: h for h in ("misaligned", *_ROWS)}))  # fmt: skip
def wrong_place(t: Calls) -> None:
    """A misaligned Descriptor, one in memory that is not registered, under another tag, under the handle of another region, behind
    its region, or one that runs out of it: told, and not taken for a good one."""
    p = pair(t, t.params["level"])
    queue, how = t.params["queue"], t.params["how"]
    vi = p.a
    params, sure = _placed(t, vi.node, how, p.src if queue == "Send" else p.back)
    p.b.recv(p.dst.part(0, 64))
    posted = vi.node.call(f"VipPost{queue}Raw", vi=vi.vi, **params)
    code = posted.returned()
    if code != OK:
        t.codes(f"G3.5.{1 if queue == 'Send' else 4}-02", f"the post of a Descriptor that is {how}", code, OK,
                {"VIP_INVALID_PARAMETER": "A99"})
        alive(t, pair(t, p.level, ends=(t.a, t.b)))
        return
    if queue == "Recv":
        p.b.send(p.dst.part(100, 16))
    t.until(lambda: bool(heard(t, vi)), t.quiet_us)
    got = vi.reap(queue, t.quiet_us)
    row = _ROWS.get(how, "G3.8.1-05")
    open_: Mapping[str, Any] = {"erratum": "A98"} if how == "misaligned" else {} if sure else {"erratum": "A63"}
    t.require(not got.good, row, f"a Descriptor that is {how} and was processed", got, "an error", **open_)
    if not got.good and got.ptr is not None and not heard(t, vi):
        t.notice(row, f"a Descriptor that is {how}", got, "VIP_ERROR_POST_DESC", "A98")
    told = got.ptr is not None or bool(heard(t, vi)) or t.until(lambda: bool(heard(t, vi)) or vi.done(queue).ptr is not None,
                                                                t.async_us)
    deaf(t, vi, "G6.3.1-01")
    t.require(told or deaf(t, vi, "G3.8.1-05"), "G3.8.1-05", f"a Descriptor that is {how}", "never told of", "VIP_ERROR_POST_DESC")
    for said in heard(t, vi):
        t.require("_RDMA" not in str(said.get("code")), "G3.8.1-05", f"the code for a Descriptor that is {how}", said.get("code"),
                  "VIP_ERROR_POST_DESC")
    if any(h.get("code") == "VIP_ERROR_POST_DESC" for h in heard(t, vi)):
        t.require(vi.becomes(ERROR), "G6.3.1-01", "the state afterwards", vi.state(), ERROR)
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


@vipl("X27", "Next that is altered after the post", "G3.3.5-06 G3.8.1-06", errata="A98",
      variants=each(levels((RD,)), "queue", _QUEUES))  # fmt: skip
def next_altered(t: Calls) -> None:
    """Next of the first of two Descriptors comes to lead to one in memory that is not registered. A provider with a list of its own
    does not see it; any other tells of it. What is there is not done, and VipDisconnect works."""
    p = pair(t, t.params["level"])
    queue = t.params["queue"]
    vi, decoy = p.a, p.a.node.mem(16384)
    p.back.write(b"\x5a" * 64, 4096)  # where the other one would receive
    p.src.write(b"\xd7" * 64, 4096)  # what it would send
    named = p.src if queue == "Send" else p.back
    raw(decoy, 64, length=16, data=[(named.va + 4096, named.handle, 16)])
    vi.node.code("VipDeregisterMem", mem=decoy.mem)
    numbers, first = _two(p, queue)
    first.write(struct.pack("<QI", decoy.va + 64, decoy.handle))
    for i in range(2 if queue == "Recv" else 0):
        p.b.send(p.dst.part(64 * i, 16))
    back: list[Any] = []

    def ended() -> bool:
        for _ in numbers:
            got = vi.done(queue)
            back.extend([got.descriptor] if got.ptr is not None else [])
        return len(back) >= len(numbers) or bool(heard(t, vi)) or vi.state() != CONNECTED

    told = t.until(ended, t.async_us)
    t.require(told or deaf(t, vi, "G3.8.1-06"), "G3.8.1-06", "Descriptors of which the first has another Next",
              f"{back} came back", "both, or an error is told")
    t.wait(t.quiet_us)
    got = [p.b.done("Recv") for _ in range(3)] if queue == "Send" else []
    t.require(b"\xd7" * 8 not in p.dst.read(0, 192), "G3.8.1-06", "the message of a Descriptor that was not posted",
              ", ".join(map(str, got)), "none")  # fmt: skip
    seen = p.back.read(4096, 64)
    t.require(seen == b"\x5a" * 64, "G3.8.1-06", "the buffer of a Descriptor that was not posted", "changed", "as before")
    t.codes("G3.3.5-06", "VipDisconnect", vi.disconnect(), OK)
    t.require(vi.state() == IDLE, "G3.3.5-06", "the state", vi.state(), IDLE)
    alive(t, pair(t, p.level, ends=(t.a, t.b)))


def _two(p: Pair, queue: str) -> tuple[list[int], Mem]:
    """Two Descriptors of 16 bytes, and the memory of the first."""
    vi: Vi = p.a
    places = [vi.node.mem(4096) for _ in range(2)]
    for i in range(3):
        p.b.recv(p.dst.part(64 * i, 64)) if queue == "Send" else None
    data = p.src if queue == "Send" else p.back
    numbers = [vi.post(queue, queue.lower(), [data.part(64 * i, 16)], at={"mem": place.mem, "offset": 0})
               for i, place in enumerate(places)]  # fmt: skip
    return numbers, places[0]
