"""Clauses 2.2.2.1 and 2.2.2.2.2: registered memory, and who may reach it."""

from __future__ import annotations

from fcvi.engine import pages
from fcvi.engine.case import case
from fcvi.engine.scenario import NotThere
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.wire import MEMORY_PROTECTION, SEND, TOP64, WRITE

from conformance.vitcp.steps.connection import DELIVERY, RECEPTION, REGISTRY, connect, create, roles, roles_and_levels, with_each
from conformance.vitcp.steps.messages import (
    GUARD, alive, ask, completion, contents, pattern, post_send,
    register, response, segments, send, to_the_end_of_a_page, told, write,
)  # fmt: skip


@case(
    REGISTRY,
    "TCP.2.2.2.1.d",
    "Send from memory that is not registered",
    clause="2.2.2.1",
    requirements=["VITCP-2.2.2.1-01"],
    applies="tcp and send",
    variants=roles_and_levels(),
)
def unregistered(t: Scenario) -> None:
    """A Send from a region that was deregistered completes with an error, and nothing of it is sent."""
    link = connect(t)
    alive(link)
    region = register(t, 64, data=pattern(64))
    t.call("VipDeregisterMem", mem=region.mem)
    post_send(link, region=region, length=64)
    done = completion(link, "send", "VITCP-2.2.2.1-01", "for a Send from memory that is gone")
    t.require(not done.good, "VITCP-2.2.2.1-01", "a Send from memory that is gone completes well", "good",
              "VIP_STATUS_PROTECTION_ERROR")
    sent = [m for m in link.stream.watch.messages[link.taken :] if m.kind == SEND]
    t.require(not sent, "VITCP-2.2.2.1-01", "a Send from memory that is gone is sent", "a Send", "nothing")


#: Where the transfer goes: offset, its length, what is done to the handle, the row. Protection is by page (VI-DG), so the offset
#: of those that leave the region is from the end of its last page, or from the begin of its first.
_BOTH = ("rdma_read", "rdma_write")
_LEAVES = ("one-byte-beyond", "behind", "far-beyond", "below")
_WAYS = {
    "one-byte-beyond": (-64, 65, "", "08"),
    "behind": (0, 64, "", "08"),
    "far-beyond": (-24, 4000, "", "08"),
    "below": (-1, 64, "", "08"),
    "wraps": (None, 64, "", "08"),
    "unknown-handle": (0, 64, "unknown", "09"),
    "stale-handle": (0, 64, "stale", "09"),
    "no-right": (0, 64, "no-right", "09"),
    "other-right": (0, 64, "other-right", "09"),
    "vi-not-enabled": (0, 64, "not-enabled", "09"),
    "pair": (0, 64, "pair", "10"),
    "address-high": (0, 64, "address-high", "08"),
    "handle-high": (0, 64, "handle-high", "09"),
}
#: Lengths of 32 bits that have another sign, or nearly come round: for reads, of which no byte has to be sent.
_LONG = {"length-of-31-bits": (0, 0x80000040, "length", "08"), "length-of-32-bits": (64, 0xFFFFFFFF, "length", "08")}


@case(
    REGISTRY,
    "TCP.2.2.2.2.2.d",
    "RDMA that must not reach memory",
    clause="2.2.2.1, 2.2.2.2.2",
    requirements=["VITCP-1-01", "VITCP-2.2.2.1-02", "VITCP-2.2.2.2.2-08", "VITCP-2.2.2.2.2-09", "VITCP-2.2.2.2.2-10"],
    errata=["V71", "V75", "V82", "V83"],
    applies="tcp",
    variants=with_each(roles("rdma_write"), "op", {"write": "write"}) and [
        v for op, item, ways in (("write", "rdma_write", _WAYS), ("read", "rdma_read", {**_WAYS, **_LONG}))
        for w in ways for items in (_BOTH if w == "other-right" else (item,),)
        for v in with_each(with_each(roles_and_levels((DELIVERY, RECEPTION), *items), "op", {op: op}), "way", {w: w})
    ],
)  # fmt: skip
def protected(t: Scenario) -> None:
    """An address outside the region, a handle that is unknown or stale or has no right, or the address of one region with the
    handle of another: no byte moves; a good transfer works before.
    """
    offset, length, what, row = {**_WAYS, **_LONG}[str(t.params["way"])]
    row = f"VITCP-2.2.2.2.2-{row}"
    reading = t.params["op"] == "read"
    enabled = what != "not-enabled"
    level = str(t.params["level"])
    vi = create(t, level, write=enabled or reading, read=enabled or not reading)
    link = connect(t, vi=vi)
    right = {"read": True} if reading else {"write": True}
    data = pattern(1024, 7)
    region = to_the_end_of_a_page(t, 7, **right) if t.params["way"] in _LEAVES else register(t, 1024, data=data, **right)
    data = pattern(region.length, 7)
    other = register(t, 1024, data=data[:1024], **right)
    if enabled:
        if reading:
            response(link, ask(link, region.va + 100, region.handle, 200), data[100:300])
        else:
            write(link, region, data[300:400], 300)
    t.control("a good transfer worked") if enabled else alive(link)
    base = region.va
    if t.params["way"] in _LEAVES:
        base = pages.begin(base) if t.params["way"] == "below" else pages.behind(base, region.length)
    va, handle = base + (offset or 0), region.handle
    if offset is None:
        va = TOP64 - 32
    if what == "unknown":
        handle = (max(region.handle, other.handle) + 0x5A5A5) & 0xFFFFFFFF
    elif what == "address-high":
        if pages.of_32_bits(va):
            raise NotThere("the DUT gives addresses of 32 bits: it need not look at the upper half")
        va ^= 1 << 32
    elif what == "handle-high":
        handle ^= 1 << t.rng.randrange(16, 32)
    elif what == "stale":
        t.call("VipDeregisterMem", mem=other.mem)
        va, handle = other.va, other.handle
    elif what in ("no-right", "other-right"):
        bare = register(t, 1024, data=data, write=reading and what == "other-right", read=not reading and what == "other-right")
        va, handle = bare.va, bare.handle
    elif what == "pair":
        handle = other.handle
    known = link.stream.watch.known
    known.error_due = True
    before = {one.mem: contents(t, one) for one in (region, other) if what != "stale" or one is region}
    messages = len(link.stream.watch.messages)
    if reading:
        t.on_purpose("VITCP-2.2.2.2.6-02")  # a VI without the enable offers no window
        if what == "length":
            t.on_purpose("VITCP-3.2-14", "VITCP-3.2-16")  # which may be what the DUT finds wrong
        ask(link, va, handle, length)
    else:
        from conformance.vitcp.steps.messages import Region

        write(link, Region(0, va % TOP64, handle, length), bytes([GUARD ^ 0xFF]) * length)
    t.owed(lambda: link.stream.over)
    for one in (region, other):
        if one.mem in before:
            t.require(contents(t, one) == before[one.mem], row, "memory has changed", "other bytes", "untouched")
    if what in ("no-right", "other-right"):
        t.require(contents(t, bare) == data, row, "memory without the right has changed", "other bytes", "untouched")
    answers = link.stream.watch.messages[messages:]
    t.require(not answers, row, "a read that is not allowed is answered", str(len(answers)), "none", at=answers[0].first
              if answers else None)
    reports = [r for r in t.tester.inbox if r.stream is link.stream and r.pdu.error]
    if not t.require(bool(reports) or link.stream.over, row, "a transfer that is not allowed has no consequence", "silence",
                     "an error"):
        return
    t.expect_end(link.stream, "VITCP-2.2.2.2.2-04", why="after an error on a reliable connection")
    if what == "length":
        return
    told(t, vi, "VIP_ERROR_RDMAR_PROT" if reading else "VIP_ERROR_RDMAW_PROT")
    if level == RECEPTION:
        kinds = [r.pdu.error for r in reports]
        seen = [t.numbers.error_of(kind) for kind in kinds]
        t.require(MEMORY_PROTECTION in kinds, "VITCP-3.1-53", "the VI Error Type of the report", seen or "no report",
                  t.numbers.error_of(MEMORY_PROTECTION))


#: What the RDMA Header of a later segment names, and the row: memory without the right, a handle of nothing, or the address of one
#: region with the handle of another.
_LATER = {"no-right": "09", "unknown-handle": "09", "pair": "10"}


@case(
    REGISTRY,
    "TCP.2.2.2.2.2.i",
    "A later segment of an RDMA Write that must not reach memory",
    clause="2.2.2.2.2",
    requirements=["VITCP-2.2.2.2.2-09", "VITCP-2.2.2.2.2-10"],
    errata=["V10", "V67"],
    applies="tcp and rdma_write",
    variants=with_each(roles_and_levels(), "way", {way: way for way in _LATER}),
)
def later_segments(t: Scenario) -> None:
    """The first segment of an RDMA Write names memory that may be written, the second other memory. Whether its header counts is
    the device's affair (V10); if so it is checked as the first one is, and no other byte is written.
    """
    way = str(t.params["way"])
    row = f"VITCP-2.2.2.2.2-{_LATER[way]}"
    link = connect(t)
    alive(link)
    region = register(t, 2048, write=True)
    bare = register(t, 1024, write=way == "pair")
    write(link, region, pattern(40), 0)
    t.owed(lambda: contents(t, region, 0, 40) == pattern(40))
    pdus = segments(link, pattern(600, 3), WRITE, size=300, rdma=(region.va + 100, region.handle, 600))
    va, handle = {
        "no-right": (bare.va, bare.handle), "pair": (bare.va, region.handle),
        "unknown-handle": (region.va + 1000, (max(region.handle, bare.handle) + 0x5A5A5) & 0xFFFFFFFF),
    }[way]  # fmt: skip
    pdus[1] = pdus[1].but(rdma=(va % TOP64, handle, 600))
    link.stream.watch.known.error_due = True
    t.on_purpose("VITCP-3.2.1-02", "VITCP-3.2.1-03")
    send(link, pdus)
    t.wait(t.nop_bound_us // 2)
    guard = bytes([GUARD])
    t.require(contents(t, bare) == guard * 1024, row, "memory that a later segment names has changed", "others", "untouched")
    seen = contents(t, region)
    beside = seen[40:100] + seen[700:]
    t.require(beside == guard * len(beside), row, "memory beside an RDMA Write has changed", "others", "untouched")
