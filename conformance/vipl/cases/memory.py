"""Registered memory: attributes, tags, enables, ranges, and what is left after de-registration."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant

from conformance.vipl.steps.declare import RD, RR, UD, each, levels, vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import (
    BAD, OK, PROTECTION, RESOURCE, SIZE, Got, Mem, Node, Pair, Vi, alive, best_level, connect, need_level,
    need_read, nodes, null, pair, request, stale,
)  # fmt: skip


@vipl("C30", "VipDestroyPtag", "G3.4.2-01 G3.4.2-02", errata="A51",
      variants=[Variant(w, {"what": w}) for w in ("vi", "region", "changed-vi", "changed-region", "neither")])  # fmt: skip
def destroy_ptag(t: Calls) -> None:
    """A tag that a VI or a region has, from the first or by a change, is not destroyed; without them it is, and not twice."""
    one, _ = nodes(t)
    tag, what = one.ptag_new(), t.params["what"]
    vi = one.vi(best_level(one), Ptag=tag) if what.endswith("vi") else None
    mem = one.mem(64, ptag=tag) if what.endswith("region") else None
    if what.startswith("changed"):
        tag = retagged(t, one, tag, vi, mem)
    if vi or mem:
        t.codes("G3.4.2-01", f"VipDestroyPtag of a tag that a {what.rpartition('-')[2]} has", one.code("VipDestroyPtag", ptag=tag),
                RESOURCE)
        one.mem(64, ptag=tag)
        for call in [c for c in t.made if c.method == "VipRegisterMem" and c.done]:
            one.code("VipDeregisterMem", mem=call.integer("mem")) if "mem" in call.result() else None
    if vi:
        vi.destroy()
    t.codes("G3.4.2-01", "VipDestroyPtag of a tag that nothing has", one.code("VipDestroyPtag", ptag=tag), OK)
    code = one.code("VipDestroyPtag", ptag=tag)
    if code == "VIP_INVALID_PTAG":
        t.report("G3.4.2-02", "VipDestroyPtag twice", code, BAD, erratum="A51")
    else:
        stale(t, "G3.4.2-02", "VipDestroyPtag", code)
    null(one, "G3.4.2-02", "nic", "VipDestroyPtag", ptag=one.ptag)
    alive(t)


def retagged(t: Calls, node: Node, first: int, vi: Vi | None, mem: Mem | None) -> int:
    """The VI or the region gets another tag, which is given. The first one is nobody's then, and can be destroyed."""
    call = "VipSetViAttributes" if vi else "VipSetMemAttributes"
    if call in node.missing:
        t.lack(f"the provider has no {call}")
    tag = node.ptag_new()
    if vi:
        attribs = {"Ptag": tag, "ReliabilityLevel": vi.level, "MaxTransferSize": SIZE}
        t.codes("G3.4.2-01", call, vi.code(call, ViAttribs=attribs), OK)
    elif mem:
        t.codes("G3.4.2-01", call, node.code(call, mem=mem.mem, MemAttribs={"Ptag": tag}), OK)
    t.codes("G3.4.2-01", "VipDestroyPtag of a tag that was changed for another", node.code("VipDestroyPtag", ptag=first), OK)
    return tag


@vipl("C31", "VipRegisterMem of nothing", "G3.4.3-01 G3.4.3-04", errata="A52")
def register_zero(t: Calls) -> None:
    """Length 0 is refused, and the handle is NULL."""
    one, _ = nodes(t)
    call = one.call("VipRegisterMem", length=0, MemAttribs={"Ptag": one.ptag})
    t.codes("G3.4.3-04", "VipRegisterMem with Length 0", call.returned(), BAD)
    handle_null(t, call.result())
    alive(t)


def handle_null(t: Calls, result: dict[str, Any]) -> None:
    """The memory handle of a registration that failed."""
    handle = result.get("handle")
    if handle == 0xFFFFFFFF:
        t.report("G3.4.3-01", "the handle of a failed VipRegisterMem", "as before", "0", erratum="A52")
    else:
        t.require(handle == 0, "G3.4.3-01", "the handle of a failed VipRegisterMem", handle, 0)


@vipl("C32", "VipRegisterMem with bad attributes", "G3.4.3-07 G3.4.3-08", errata="A71")
def register_bad(t: Calls) -> None:
    """A destroyed tag is refused; EnableRdmaRead where the provider has none."""
    one, _ = nodes(t)
    tag = one.ptag_new()
    one.code("VipDestroyPtag", ptag=tag)
    call = one.call("VipRegisterMem", length=64, MemAttribs={"Ptag": tag})
    t.codes("G3.4.3-07", "VipRegisterMem with a destroyed tag", call.returned(), "VIP_INVALID_PTAG")
    handle_null(t, call.result())
    reads = bool(one.attribs.get("RDMAReadSupport"))
    call = one.call("VipRegisterMem", length=64, MemAttribs={"Ptag": one.ptag, "EnableRdmaRead": True})
    t.codes("G3.4.3-08", "VipRegisterMem with EnableRdmaRead", call.returned(), OK if reads else "VIP_INVALID_RDMAREAD")
    alive(t)


@vipl("C33", "VipRegisterMem beyond the limits", "S3.2.1-07 G3.4.3-01 G3.4.3-09", errata="A67", tags="limits")
def register_limits(t: Calls) -> None:
    """Regions until one is refused, with VIP_ERROR_RESOURCE and no handle; after one is given back another can be had."""
    one, _ = nodes(t)
    p = pair(t, ends=(t.a, t.b))
    block = one.mem(4096)
    alive(t, p)  # the agent registers what its own Descriptors lie in, and has to before there is no room
    made: list[int] = []
    code = OK
    for _ in range(min(one.number("MaxRegisterRegions") + 8, 4200)):
        call = one.call("VipRegisterMem", length=16, of={"mem": block.mem, "offset": 0}, MemAttribs={"Ptag": one.ptag})
        code = call.returned()
        if code != OK:
            handle_null(t, call.result())
            break
        made.append(call.integer("mem"))
    if code == OK:
        alive(t, p)
        t.lack(f"{len(made)} regions were registered and none was refused")
    t.codes("G3.4.3-09", f"VipRegisterMem behind {len(made)} others", code, RESOURCE)
    if not made:
        t.lack("the case itself has taken all the room for regions")
    t.codes("S3.2.1-07", "VipDeregisterMem", one.code("VipDeregisterMem", mem=made.pop()), OK)
    again = one.call("VipRegisterMem", length=16, of={"mem": block.mem, "offset": 0}, MemAttribs={"Ptag": one.ptag})
    t.codes("S3.2.1-07", "VipRegisterMem after one was given back", again.returned(), OK)
    alive(t, p)


@vipl("C34", "Address and handle that do not fit", "S3.1-01 G3.4.4-02 G3.7.4-02 G3.7.5-01", errata="A51")
def mismatched(t: Calls) -> None:
    """VipDeregisterMem, VipQueryMem and VipSetMemAttributes refuse a region's address with another's handle, a region of another
    NIC, and what is gone."""
    one, far = nodes(t)
    mine, other = one.mem(8192), one.mem(8192)
    rows = {"VipDeregisterMem": "G3.4.4-02", "VipQueryMem": "G3.7.5-01", "VipSetMemAttributes": "G3.7.4-02"}
    missing = one.missing
    for method, row in rows.items():
        if method in missing:
            continue
        params: dict[str, Any] = {"MemAttribs": {"Ptag": one.ptag}} if method == "VipSetMemAttributes" else {}
        code = one.code(method, va=f"{mine.va:016x}", handle=other.handle, **params)
        t.codes(row, f"{method} with the address of one region and the handle of another", code, BAD)
        if t.agents == 1 and not one.same_nic(far):
            code = far.code(method, va=f"{mine.va:016x}", handle=mine.handle, **params)
            t.require(code != OK, "S3.1-01", f"{method} with a region of another NIC", code, "an error")
    told = one.call("VipQueryMem", mem=mine.mem)
    t.codes("G3.7.5-01", "VipQueryMem afterwards", told.returned(), OK)
    t.codes("G3.4.4-02", "VipDeregisterMem", one.code("VipDeregisterMem", mem=mine.mem), OK)
    for method, row in rows.items():
        if method not in missing:
            stale(t, row, method, one.code(method, mem=mine.mem, **({"MemAttribs": {"Ptag": one.ptag}} if "Set" in method else {})))
    alive(t)


@vipl("R1", "Registering at any address, of any length",
      "S3.2.1-02 S3.2.1-03 G3.4.3-02 G3.4.3-05 G3.4.4-01 G3.7.5-01")  # fmt: skip
def any_address(t: Calls) -> None:
    """Odd addresses and lengths register, tell their attributes, carry Sends, and are as before when they are de-registered."""
    p = pair(t)
    node = p.a.node
    pairs = set()
    for align in (0, 1, 63, 4095):
        for length in (1, 2, 4095, 4097):
            mem = node.mem(length, align=align, fill="a7", write=bool(align & 1), read=False)
            pairs.add((mem.handle, mem.va))
            t.require(mem.read() == b"\xa7" * length, "G3.4.3-05", "memory that was registered", "changed", "as before")
            told = node.call("VipQueryMem", mem=mem.mem).result().get("MemAttribs") or {}
            seen = (told.get("EnableRdmaWrite"), told.get("EnableRdmaRead"), t.number_of("ptag", told.get("Ptag")))
            for row in ("G3.4.3-02", "G3.7.5-01"):
                t.require(seen == (bool(align & 1), False, node.ptag), row, "what VipQueryMem tells", told, "the attributes given")
            number = p.b.recv(p.dst.part(0, length))
            p.a.send(mem.part())
            p.a.good("Send", "S3.2.1-03", f"a Send out of {length} bytes at offset {align} of a page")
            got = p.b.reap("Recv")
            t.require(got.good and got.descriptor == number and p.dst.read(0, length) == b"\xa7" * length, "S3.2.1-03",
                      "its receive", got,
                      "the bytes")  # fmt: skip
            t.codes("G3.4.4-01", "VipDeregisterMem", node.code("VipDeregisterMem", mem=mem.mem), OK)
            t.require(mem.read() == b"\xa7" * length, "G3.4.4-01", "memory that was de-registered", "changed", "as before")
            stale(t, "G3.7.5-01", "VipQueryMem", node.code("VipQueryMem", mem=mem.mem))
    both = [node.mem(4096), node.mem(4096)]
    t.require((both[0].handle, both[0].va) != (both[1].handle, both[1].va), "S3.2.1-02", "two live regions", both, "told apart")
    alive(t, p)


@vipl("R2", "One range three times", "S3.2.1-08 G3.4.4-01")
def thrice(t: Calls) -> None:
    """Each registration has a handle and attributes of its own; de-registering one leaves the others usable, and also one that
    only overlaps it. Its own handle gives no access any more, though the range is registered."""
    p = pair(t)
    node = p.a.node
    first = node.mem(4096, write=True, read=False)
    more = []
    for write in (False, True):
        call = node.call("VipRegisterMem", length=4096, of={"mem": first.mem, "offset": 0},
                         MemAttribs={"Ptag": node.ptag, "EnableRdmaWrite": write, "EnableRdmaRead": False})  # fmt: skip
        if call.returned() == RESOURCE:
            t.lack("the provider has no room for another region")
        if call.returned() != OK:
            t.fail("S3.2.1-08", "VipRegisterMem of a range that is registered", call.returned(), OK)
        more.append((call.integer("mem"), call.integer("handle"), write))
    half = node.call("VipRegisterMem", length=2048, of={"mem": first.mem, "offset": 2048}, MemAttribs={"Ptag": node.ptag})
    handles = {first.handle, *[h for _, h, _ in more]}
    t.require(len(handles) == 3, "S3.2.1-08", "handles of one range", handles, "three")
    for mem, _, write in more:
        told = node.call("VipQueryMem", mem=mem).result().get("MemAttribs") or {}
        t.require(told.get("EnableRdmaWrite") is write, "S3.2.1-08", "attributes of one of them", told, write)
    t.codes("S3.2.1-08", "VipDeregisterMem of the first", node.code("VipDeregisterMem", mem=first.mem), OK)
    for mem, handle, _ in more:
        number = p.b.recv(p.dst.part(0, 64))
        p.a.send(first.part(0, 64, handle=handle))
        got = p.a.reap("Send")
        t.require(got.good, "S3.2.1-08", "a Send by a handle that is left", got, "success")
        got = p.b.reap("Recv")
        t.require(got.good and got.descriptor == number, "S3.2.1-08", "its receive", got, "success")
    if half.returned() != RESOURCE:
        t.codes("S3.2.1-08", "VipRegisterMem of half of it", half.returned(), OK)
        p.b.recv(p.dst.part(0, 64))
        p.a.send(first.part(3072, 64, handle=half.integer("handle")))
        p.a.good("Send", "S3.2.1-08", "a Send from a region that overlapped the one that is gone")
        p.b.good("Recv", "S3.2.1-08", "its receive")
    p.b.recv(p.dst.part(0, 64))
    p.a.send(first.part(0, 64))
    got = p.a.reap("Send")
    t.require(PROTECTION in got.errors, "G3.4.4-01", "a Send by the handle that is gone, its range has others", got, PROTECTION)
    alive(t)


@vipl("P1", "Tags of VIs and regions",
      "S3.2.2.1-01 S3.2.2.1-04 G3.4.1-01", errata="A23",
      variants=each(levels((RD, RR)), "op", {"send": "send", "recv": "recv", "write": "write"}))  # fmt: skip
def tags(t: Calls) -> None:
    """Ten tags are all different; the same tag at VI and region works, another does not, whatever the other end's is."""
    one, other = nodes(t)
    one.need("VipCreatePtag")
    level, op = need_level(one, t.params["level"]), t.params["op"]
    made = [one.call("VipCreatePtag") for _ in range(10)]
    values = [c.result().get("value") for c in made if c.returned() == OK]
    t.require(len(set(values)) == len(values), "S3.2.2.1-01", "values of the tags", values, "all different")
    room = one.number("MaxPtags")  # some are in use
    t.require(len(values) == 10 or 0 < room < 16, "G3.4.1-01", "tags of one process", len(values), 10)
    if len(values) < 10:
        t.lack(f"the provider has no room for ten tags more (MaxPtags is {room})")
    node = other if op != "send" else one
    extra = [node.ptag_new(), node.ptag_new()]
    for vi_tag in extra:
        for mem_tag in extra:
            a = one.vi(level, Ptag=vi_tag) if op == "send" else one.vi(level)
            b = other.vi(level, EnableRdmaWrite=True) if op == "send" else other.vi(level, EnableRdmaWrite=True, Ptag=vi_tag)
            region = node.mem(4096, ptag=mem_tag, fill="5a")
            src = region if op == "send" else one.mem(4096)
            dst = region if op != "send" else other.mem(4096)
            connect(a, b)
            src.write(b"\x77" * 64)
            right = vi_tag == mem_tag
            if op == "write":
                a.rdma("write", dst.remote(), src.part(0, 64))
                a.reap("Send", t.async_us if right else t.settle_us)
                seen = t.until(lambda: dst.read(0, 64) == b"\x77" * 64, t.settle_us if right else t.quiet_us)  # noqa: B023
                t.require(seen == right, "S3.2.2.1-04",
                          f"an RDMA Write into a region of {'the same' if right else 'another'} tag", seen, right)
            else:
                b.recv(dst.part(0, 64))
                a.send(src.part(0, 64))
                got = a.reap("Send") if op == "send" else b.reap("Recv", t.settle_us)
                t.require(got.good == right, "S3.2.2.1-04", f"a {op} with {'the same' if right else 'another'} tag", got,
                          "success" if right else PROTECTION)  # fmt: skip
                if not right:
                    t.require(PROTECTION in got.errors, "S3.2.2.1-04", f"a {op} with another tag", got, PROTECTION)
                    if op == "recv":
                        t.require(dst.read(0, 64) == b"\x5a" * 64, "S3.2.2.1-04", "memory of another tag", "changed", "as before")
            a.clean()
            b.clean()
    alive(t)


@vipl("P2", "Enables of VIs and regions", "S3.2.2.2-01 S3.2.2.2-02 S3.2.2.2-03 S6.3.2-01", errata="A54 A89",
      variants=[*each(levels(), "op", {"write": "write"}),
                *each(levels((RD, RR), "rdma_read"), "op", {"read": "read"})])  # fmt: skip
def enables(t: Calls) -> None:
    """Only both enabled works; the initiator's own enables count for nothing."""
    one, other = nodes(t)
    level, op = need_level(one, t.params["level"]), t.params["op"]
    if op == "read":
        need_read(one, level)
    for of_vi in (True, False):
        for of_region in (True, False):
            flag = {"EnableRdmaWrite": of_vi} if op == "write" else {"EnableRdmaRead": of_vi}
            a, b = one.vi(level), other.vi(level, **flag)
            src = one.mem(4096, write=False, read=False, fill="77" if op == "write" else "00")
            dst = other.mem(4096, write=of_region if op == "write" else False, read=of_region if op == "read" else False,
                            fill="5a" if op == "write" else "77")  # fmt: skip
            connect(a, b)
            right = of_vi and of_region
            a.rdma(op, dst.remote(), src.part(0, 64))
            got = a.reap("Send", t.async_us if right or op == "read" else t.settle_us)
            what = f"RDMA {op} with VI {'on' if of_vi else 'off'} and region {'on' if of_region else 'off'}"
            target = dst if op == "write" else src
            done = t.until(lambda: target.read(0, 64) == b"\x77" * 64,
                           t.settle_us // (4 if level == UD else 1) if right else t.quiet_us)  # noqa: B023
            if right:
                t.require(got.good, "S3.2.2.2-02", f"{what}, with the initiator's own off", got, "success")
                if not (level == UD and not done):
                    t.require(done, "S3.2.2.2-01", what, "no byte was moved", "works")
            else:
                t.require(not done, "S3.2.2.2-03", what, "bytes were moved", "none")
                seen = target.read(0, 64)
                # the sink of a Read that failed holds anything (G 5.5)
                none = seen == b"\x5a" * 64 if op == "write" else b"\x77" * 4 not in seen
                t.require(none, "S6.3.2-01", what, "bytes were moved", "none")
            a.clean()
            b.clean()
    alive(t)


@vipl("P4", "Ranges outside by a page", "S1.5.3-02 S3.2.1-05 S6.3.2-01", errata="A63 A94",
      variants=[*each(levels((RD, RR)), "op", {"send": "send", "recv": "recv", "write": "write"}),
                *each(levels((RD, RR), "rdma_read"), "op", {"sink": "sink"})])  # fmt: skip
def outside(t: Calls) -> None:
    """A range that lies behind a region, runs out of it or into it is refused; pages of another region stay as they are.

    What is nearer to the region than a page is not judged: its pages may be larger than it is.
    """
    one, other = nodes(t)
    level, op = need_level(one, t.params["level"]), t.params["op"]
    if op == "sink":
        need_read(one, level)
    page = int(one.call("layout").result().get("pagesize", 4096))
    node = one if op in ("send", "sink") else other
    behind, before = (4 * page, 2 * page), (64, page - 64)
    for start, length, judged in ((5 * page, 64, behind), (3 * page - 64, 2 * page, behind), (64, 2 * page, before)):
        p = pair(t, level, ends=(one, other))
        whole = node.mem(8 * page, write=False, read=False, fill="5a")
        part = node.call("VipRegisterMem", length=page, of={"mem": whole.mem, "offset": 2 * page},
                         MemAttribs={"Ptag": node.ptag, "EnableRdmaWrite": True, "EnableRdmaRead": False})  # fmt: skip
        if part.returned() == RESOURCE:
            t.lack("the provider has no room for another region")
        t.codes("S3.2.1-05", "VipRegisterMem of a part", part.returned(), OK)
        at = {"va": f"{whole.va + start:016x}", "handle": part.integer("handle")}
        p.src.write(b"\x77" * 30000)
        number, got = range_used(p, op, at, length)
        if op != "write":
            t.require(got.descriptor == number and PROTECTION in got.errors, "S3.2.1-05", f"a range outside of a region ({op})",
                      got, PROTECTION)  # fmt: skip
            t.require(bool(got.errors), "S1.5.3-02", f"a range outside of a region ({op})", got, PROTECTION)
        if op != "send":
            t.wait(t.quiet_us)
            seen = whole.read(*judged)
            for row in ("S6.3.2-01", "S3.2.1-05") if op == "write" else ("S3.2.1-05",):
                t.require(seen == b"\x5a" * judged[1], row, "the pages outside of the region", "changed", "as before")
    alive(t)


def range_used(p: Pair, op: str, at: dict[str, Any], length: int) -> tuple[int, Got]:
    """Use the range so. The Descriptor that names it, and what came of that; of an RDMA Write it is the target."""
    t, segment = p.a.t, {**at, "length": length}
    if op == "recv":
        number = p.b.recv(segment)
        p.a.send(p.src.part(0, length))
        return number, p.b.reap("Recv", 2 * t.settle_us)
    if op == "send":
        p.b.recv(p.dst.part())
        number = p.a.send(segment)
    elif op == "sink":
        number = p.a.rdma("read", p.dst.remote(), segment)
    else:
        number = p.a.rdma("write", at, p.src.part(0, length))
    return number, p.a.reap("Send", 2 * t.settle_us)


@vipl("P7", "Read-only and unmapped pages", "G3.4.3-03 G3.4.3-06", errata="A64 A65")
def odd_pages(t: Calls) -> None:
    """Neither crashes the provider; a read-only page that it takes is never changed."""
    p = pair(t)
    node = p.b.node
    call = node.call("VipRegisterMem", length=4096, pages="unmapped", MemAttribs={"Ptag": node.ptag})
    t.require(call.returned() != OK, "G3.4.3-06", "VipRegisterMem of pages that are not there", OK, f"{BAD} or {RESOURCE}",
              erratum="A65")
    call = node.call("VipRegisterMem", length=4096, pages="read-only", fill="5a",
                     MemAttribs={"Ptag": node.ptag, "EnableRdmaWrite": True, "EnableRdmaRead": False})  # fmt: skip
    if call.returned() == OK:
        mem = Mem(node, call.integer("mem"), int(call.text("va"), 16), call.integer("handle"), 4096)
        before = mem.read(0, 64)
        p.a.rdma("write", mem.remote(), p.src.part(0, 64))
        p.a.reap("Send", t.settle_us)
        t.wait(t.quiet_us)
        t.require(mem.read(0, 64) == before, "G3.4.3-03", "a read-only page", "changed", "as before")
    alive(t)


@vipl("P8", "Use after de-registration", "S2.2-01 S3.2.1-09 G3.4.4-01",
      variants=each(levels((RD, RR)), "role", {r: r for r in ("source", "sink", "target")}))  # fmt: skip
def after_deregistration(t: Calls) -> None:
    """Memory that was good before is refused after VipDeregisterMem, as source, sink and target; its bytes stay."""
    p = pair(t, t.params["level"])
    role = t.params["role"]
    node = p.a.node if role == "source" else p.b.node
    mem = node.mem(4096, fill="5a")
    p.src.write(b"\x77" * 64)
    for good in (True, False):
        if not good:
            t.codes("G3.4.4-01", "VipDeregisterMem", node.code("VipDeregisterMem", mem=mem.mem), OK)
            mem.write(b"\x5a" * 64)
        if role == "target":
            p.a.rdma("write", mem.remote(), p.src.part(0, 64))
            p.a.reap("Send", t.async_us if good else t.settle_us)
            changed = t.until(lambda: mem.read(0, 64) == b"\x77" * 64, t.settle_us if good else t.quiet_us)
            t.require(changed == good, "S2.2-01", "an RDMA Write into memory that is gone", changed, good)
            continue
        p.b.recv(mem.part(0, 64) if role == "sink" else p.dst.part(0, 64))
        p.a.send(mem.part(0, 64) if role == "source" else p.src.part(0, 64))
        got = p.a.reap("Send") if role == "source" else p.b.reap("Recv", 2 * t.settle_us)
        if role == "sink":
            p.a.reap("Send", t.quiet_us)
        elif good:
            p.b.reap("Recv")
        t.require(got.good == good, "S2.2-01", f"memory that is {'registered' if good else 'gone'} as {role}", got,
                  "success" if good else PROTECTION)
        if not good:
            t.require(PROTECTION in got.errors, "S3.2.1-09", f"memory that is gone as {role}", got, PROTECTION)
            t.require(mem.read(0, 64) == b"\x5a" * 64, "S2.2-01", "its bytes", "changed", "as before")
    alive(t)


@vipl("P9", "Tag and enables changed between transfers", "S3.2.2.1-03 G3.7.2-04 G3.7.4-01", variants=levels((RD, RR)))
def changed(t: Calls) -> None:
    """After VipSetMemAttributes and VipSetViAttributes access works or fails by what is set now."""
    one, other = nodes(t)
    one.need("VipSetMemAttributes")
    level = need_level(one, t.params["level"])
    p = pair(t, level, ends=(one, other))
    region = other.mem(4096, write=False, read=False, fill="5a")
    p.src.write(b"\x77" * 64)
    code = other.code("VipSetMemAttributes", mem=region.mem, MemAttribs={"Ptag": other.ptag, "EnableRdmaWrite": True})
    t.codes("G3.7.4-01", "VipSetMemAttributes", code, OK)
    told = other.call("VipQueryMem", mem=region.mem).result().get("MemAttribs") or {}
    t.require(told.get("EnableRdmaWrite") is True, "G3.7.4-01", "what VipQueryMem tells", told, "EnableRdmaWrite")
    p.a.rdma("write", region.remote(), p.src.part(0, 64))
    p.a.good("Send", "G3.7.4-01", "an RDMA Write into memory that was enabled")
    t.require(t.until(lambda: region.read(0, 64) == b"\x77" * 64, t.settle_us), "G3.7.4-01", "its bytes", "not written", "written")
    tag = other.ptag_new()
    t.codes("G3.7.4-01", "VipSetMemAttributes", other.code("VipSetMemAttributes", mem=region.mem, MemAttribs={"Ptag": tag,
            "EnableRdmaWrite": True}), OK)  # fmt: skip
    region.write(b"\x5a" * 64)
    p.a.rdma("write", region.remote(), p.src.part(0, 64))
    p.a.reap("Send", t.settle_us)
    t.wait(t.quiet_us)
    t.require(region.read(0, 64) == b"\x5a" * 64, "S3.2.2.1-03", "memory whose tag was changed", "written", "as before")
    p.a.clean()
    p.b.clean()
    vi = other.vi(level)
    size = min(2 * SIZE, *(node.number("MaxTransferSize") for node in (one, other)))
    attribs = {"Ptag": tag, "ReliabilityLevel": level, "MaxTransferSize": size, "EnableRdmaWrite": True}
    t.codes("G3.7.2-04", "VipSetViAttributes", vi.code("VipSetViAttributes", ViAttribs=attribs), OK)
    fresh = one.vi(level, MaxTransferSize=size)
    connect(fresh, vi)
    fresh.rdma("write", region.remote(), p.src.part(0, 64))
    got = fresh.reap("Send")
    t.require(got.good and t.until(lambda: region.read(0, 64) == b"\x77" * 64, t.settle_us), "G3.7.2-04",
              "an RDMA Write by the new tag", got,
              "works")  # fmt: skip
    source, sink = other.mem(size, ptag=tag), one.mem(size)
    source.fill(4)
    fresh.recv(sink.part())
    vi.send(source.part())
    got = vi.reap("Send")
    t.require(got.good, "G3.7.2-04", f"a Send of {size} bytes, which the new size allows", got, "success")
    got = fresh.reap("Recv")
    t.require(got.good and sink.wrong(4) == 0, "G3.7.2-04", "its receive", got, "the bytes that were sent")
    old = other.mem(4096, fill="5a")
    fresh.rdma("write", old.remote(), p.src.part(0, 64))
    fresh.reap("Send", t.settle_us)
    t.wait(t.quiet_us)
    t.require(old.read(0, 64) == b"\x5a" * 64, "S3.2.2.1-03", "memory of the tag that a VI had before", "written", "as before")
    alive(t)


@vipl("P10", "Enables set and cleared", "S3.2.2.2-01 G3.3.4-05 G3.7.2-04 G3.7.4-01",
      variants=each([Variant(f"{whose}-{op}", {"whose": whose, "op": op}, "rdma_read" if op == "read" else "")
                     for whose in ("region", "vi") for op in ("write", "read")],
                    "now", {"set": True, "cleared": False}))  # fmt: skip
def enables_changed(t: Calls) -> None:
    """One enable of a region, or of an Idle VI, is changed, and the other allows the access: RDMA works by what is set now."""
    one, other = nodes(t)
    whose, op, now = t.params["whose"], t.params["op"], t.params["now"]
    call, row = ("VipSetMemAttributes", "G3.7.4-01") if whose == "region" else ("VipSetViAttributes", "G3.7.2-04")
    other.need(call)
    level = best_level(one, reliable=True)
    if op == "read":
        level = next((name for name in (RD, RR) if name in (one.attribs.get("RDMAReadSupport") or [])), level)
        need_read(one, level)
    name = f"EnableRdma{op.capitalize()}"
    first = {"region": True, "vi": True, whose: not now}
    region = other.mem(4096, write=op == "write" and first["region"], read=op == "read" and first["region"], fill="5a")
    vi, peer, mine = other.vi(level, **{name: first["vi"]}), one.vi(level), one.mem(4096, fill="77")
    attribs = {"ReliabilityLevel": level, "MaxTransferSize": SIZE, name: now}
    code = other.code(call, mem=region.mem, MemAttribs={name: now}) if whose == "region" else vi.code(call, ViAttribs=attribs)
    t.codes(row, call, code, OK)
    if whose == "vi":
        asking, conn = request(peer, other)
        t.codes("S5.2-01", "VipConnectAccept", other.code("VipConnectAccept", conn=conn, vi=vi.vi), OK)
        answered = t.until(lambda: asking.done, t.settle_us)
        told = answered and asking.result().get("RemoteViAttribs") or {}
        t.require(told.get(name) is now, "G3.3.4-05", f"{name} of RemoteViAttribs", told.get(name), now)
    else:
        connect(peer, vi)
    peer.rdma(op, region.remote(), mine.part(0, 64))
    got = peer.reap("Send")
    filled, byte = (region, b"\x77") if op == "write" else (mine, b"\x5a")
    if not now:
        t.wait(t.quiet_us)
    moved = t.until(lambda: filled.read(0, 64) == byte * 64, t.settle_us if now else 0)
    for broken in (row, "S3.2.2.2-01"):
        t.require(moved == now, broken, f"an RDMA {op.capitalize()} where {name} was {'set' if now else 'cleared'}", got,
                  "bytes moved" if now else "no bytes moved")  # fmt: skip
    if op == "read":
        t.require(got.good == now, row, "the RDMA Read", got, "success" if now else "an error")
    alive(t)
