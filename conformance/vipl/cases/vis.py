"""Creating and destroying VIs, their attributes, and what state lets be done."""

from __future__ import annotations

from typing import Any

from conformance.vipl.cases.ending import deaf
from conformance.vipl.steps.declare import LEVELS, RD, RR, SHORT, UD, levels, vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import (
    BAD, CONNECTED, DESC_ERROR, ERROR, FLUSHED, IDLE, NOT_DONE, OK, PENDING, RESOURCE, SIZE, STATE, Node, Vi, alive, ask_waiting,
    best_level, connect, in_error, need_level, nodes, null, pair, request, stale, transfer,
)  # fmt: skip


@vipl("C3", "Reliability levels of VipCreateVi", "G3.2.1-03 G4.5-05", errata="A01")
def bad_levels(t: Calls) -> None:
    """No level, two at once, an unknown bit and a level that the NIC has not are refused; each that it has works."""
    one, _ = nodes(t)
    has = one.attribs.get("ReliabilityLevelSupport") or []
    numbers = one.call("layout").result().get("constants", {})
    usual = [numbers.get(level) for level in LEVELS] == [1, 2, 4]
    for bad in (0, 3, 5, 6, 7, 8) if usual else (8,):
        code = one.code("VipCreateVi", ViAttribs={"ReliabilityLevel": bad, "MaxTransferSize": SIZE})
        t.codes("G3.2.1-03", f"VipCreateVi with level {bad}", code, "VIP_INVALID_RELIABILITY_LEVEL")
    for level in LEVELS:
        made = one.call("VipCreateVi", ViAttribs={"ReliabilityLevel": level, "MaxTransferSize": SIZE})
        wanted = OK if level in has else "VIP_INVALID_RELIABILITY_LEVEL"
        t.codes("G4.5-05", f"VipCreateVi with {SHORT[level]}", made.returned(), wanted)
        if made.returned() == OK:  # MaxVI may be one
            one.code("VipDestroyVi", vi=made.integer("vi"))
    alive(t)


@vipl("C4", "MaxTransferSize of VipCreateVi", "G3.2.1-04", errata="A68 A69 A07")
def bad_sizes(t: Calls) -> None:
    """A size above the NIC's maximum is refused; the maximum and 32768 are taken; 0 is recorded only."""
    one, _ = nodes(t)
    level, most = best_level(one), one.number("MaxTransferSize")
    for size, wanted in ((SIZE, OK), (most, OK), (most + 1, "VIP_INVALID_MTU"), (0xFFFFFFFF, "VIP_INVALID_MTU")):
        if size > 0xFFFFFFFF or (wanted != OK and size <= most):
            continue
        made = one.call("VipCreateVi", ViAttribs={"ReliabilityLevel": level, "MaxTransferSize": size})
        t.codes("G3.2.1-04", f"VipCreateVi with MaxTransferSize {size}", made.returned(), wanted)
        if made.returned() == OK:  # MaxVI may be one
            one.code("VipDestroyVi", vi=made.integer("vi"))
    t.step(f"0 gives {one.code('VipCreateVi', ViAttribs={'ReliabilityLevel': level, 'MaxTransferSize': 0})}")
    alive(t)


@vipl("C6", "Tags that are gone", "G3.2.1-06", errata="A51")
def bad_tags(t: Calls) -> None:
    """VipCreateVi refuses a destroyed tag."""
    one, _ = nodes(t)
    level, tag = best_level(one), one.ptag_new()
    t.require(one.code("VipDestroyPtag", ptag=tag) == OK, "G3.2.1-06", "VipDestroyPtag of a tag that nothing uses", "an error", OK)
    code = one.code("VipCreateVi", ViAttribs={"ReliabilityLevel": level, "MaxTransferSize": SIZE, "Ptag": tag})
    t.codes("G3.2.1-06", "VipCreateVi with a destroyed tag", code, "VIP_INVALID_PTAG", {BAD: "A51"})
    alive(t)


@vipl("C7", "EnableRdmaRead at each level", "G3.2.1-07", errata="A100",
      variants=levels())  # fmt: skip
def enable_read(t: Calls) -> None:
    """EnableRdmaRead is taken where RDMAReadSupport has the level's bit, and refused where it has not."""
    one, _ = nodes(t)
    level = need_level(one, t.params["level"])
    reads = one.attribs.get("RDMAReadSupport") or []
    code = one.code("VipCreateVi", ViAttribs={"ReliabilityLevel": level, "MaxTransferSize": SIZE, "EnableRdmaRead": True})
    if level == UD and reads and UD not in reads:
        wanted = f"{OK} VIP_INVALID_RDMAREAD"
    else:
        wanted = OK if level in reads else "VIP_INVALID_RDMAREAD"
    t.codes("G3.2.1-07", f"VipCreateVi with EnableRdmaRead at {SHORT[level]}", code, wanted)
    alive(t, pair(t, level, ends=(t.a, t.b)))


def _foreign_cq(t: Calls, one: Node, other: Node, good: dict[str, Any]) -> None:
    """A CQ of the second NIC, where one agent has both."""
    if one.same_nic(other) or t.agents != 1:
        return
    cq = other.cq(8)
    for name in ("SendCQHandle", "RecvCQHandle"):
        code = one.code("VipCreateVi", **good, **{name: cq})
        if code != "VIP_ERROR_RESOURCE":
            what = f"VipCreateVi with {name} of another NIC"
            t.codes("G3.2.1-02", what, code, BAD)
            t.require(code != OK, "S3.1-01", what, code, "an error")


@vipl("C8", "CQs that are gone or of another NIC", "S3.1-01 S3.4-02 G3.2.1-02", errata="A51")
def bad_cqs(t: Calls) -> None:
    """VipCreateVi refuses a destroyed CQ, one of another NIC, and NULL as NIC handle."""
    one, other = nodes(t)
    level, cq = best_level(one), one.cq(8)
    good = {"ViAttribs": {"ReliabilityLevel": level, "MaxTransferSize": SIZE}}
    t.require(one.code("VipCreateVi", **good, SendCQHandle=cq) == OK, "S3.4-02", "VipCreateVi with a CQ", "an error", OK)
    gone = one.cq(8)
    t.require(one.code("VipDestroyCQ", cq=gone) == OK, "S3.4-02", "VipDestroyCQ of a CQ that nothing uses", "an error", OK)
    for name in ("SendCQHandle", "RecvCQHandle"):
        stale(t, "S3.4-02", f"VipCreateVi with {name}", one.code("VipCreateVi", **good, **{name: gone}))
    _foreign_cq(t, one, other, good)
    null(one, "G3.2.1-02", "nic", "VipCreateVi", **good)
    alive(t)


@vipl("C9", "VIs until there is no room", "G3.2.1-08", errata="A67", tags="limits")
def all_vis(t: Calls) -> None:
    """VIs are made until one is refused: the code is VIP_ERROR_RESOURCE; after one is destroyed another can be made."""
    one, _ = nodes(t)
    p = pair(t, ends=(t.a, t.b))
    level, made = best_level(one), []
    code = OK
    for _ in range(1200):
        call = one.call("VipCreateVi", ViAttribs={"ReliabilityLevel": level, "MaxTransferSize": SIZE})
        code = call.returned()
        if code != OK:
            break
        made.append(call.integer("vi"))
    if code == OK:
        t.lack(f"{len(made)} VIs were made and none was refused; the case goes no further")
    t.codes("G3.2.1-08", f"VipCreateVi behind {len(made)} others", code, RESOURCE)
    if made:
        t.require(one.code("VipDestroyVi", vi=made.pop()) == OK, "G3.2.1-08", "VipDestroyVi of an idle VI", "an error", OK)
        one.code("VipCreateVi", ViAttribs={"ReliabilityLevel": 8, "MaxTransferSize": SIZE})  # refused, it takes no room
        again = one.code("VipCreateVi", ViAttribs={"ReliabilityLevel": level, "MaxTransferSize": SIZE})
        t.codes("G3.2.1-08", "VipCreateVi after one was destroyed", again, OK)
    alive(t, p)


def _destroy_refused(t: Calls, vi: Vi, what: str) -> None:
    t.codes("G3.2.2-01", f"VipDestroyVi of a VI {what}", vi.destroy(), STATE, {RESOURCE: "A02"})


@vipl("C10", "VipDestroyVi where it is not allowed", "S5-01 G3.2.2-01 G3.3.5-07", errata="A02", variants=levels())
def destroy(t: Calls) -> None:
    """A VI that is not Idle, or has Descriptors on a queue, is not destroyed and still works; then it is."""
    one, other = nodes(t)
    level = need_level(one, t.params["level"])
    vi, mem = one.vi(level), one.mem(4096)
    asking, conn = request(vi, other)
    _destroy_refused(t, vi, "that is Pending")
    t.require(vi.state() == PENDING, "S5-01", "its state afterwards", vi.state(), PENDING)
    other.code("VipConnectReject", conn=conn)
    t.until(lambda: asking.done, t.settle_us)
    p = pair(t, level, ends=(one, other))
    _destroy_refused(t, p.a, "that is Connected")
    transfer(p, 100, 3, row="G3.2.2-01")
    if in_error(p):
        _destroy_refused(t, p.a, "in Error")
    p.a.clean()
    t.codes("G3.2.2-01", "VipDestroyVi of an Idle VI with empty queues", p.a.destroy(), OK)
    vi.becomes(IDLE)
    numbers = [vi.recv(mem.part(i * 64, 64)) for i in range(3)]
    _destroy_refused(t, vi, "with posted receives")
    t.codes("G3.3.5-07", "VipDisconnect in Idle", vi.disconnect(), OK)
    _destroy_refused(t, vi, "with receives that came back and were not taken")
    for number in numbers:
        got = vi.reap("Recv")
        t.require(got.descriptor == number and FLUSHED in got.status, "G3.3.5-07", "a receive after VipDisconnect in Idle", got,
                  "FLUSHED, in order")  # fmt: skip
    t.codes("G3.3.5-07", "VipDestroyVi of an Idle VI with empty queues", vi.destroy(), OK)
    vi = one.vi(level)
    vi.send(mem.part(0, 64))
    _destroy_refused(t, vi, "with a Send that was not taken")
    vi.reap("Send")
    t.codes("G3.2.2-01", "VipDestroyVi of an Idle VI whose Send was taken", vi.destroy(), OK)
    alive(t)


_OF_A_VI: tuple[tuple[str, dict[str, Any]], ...] = (
    ("VipQueryVi", {}), ("VipSendDone", {}), ("VipRecvDone", {}), ("VipSendWait", {"Timeout": 1000}),
    ("VipRecvWait", {"Timeout": 1000}),
    ("VipDisconnect", {}), ("VipPostSend", {}), ("VipPostRecv", {}), ("VipDestroyVi", {}),
)  # fmt: skip


def _with(mem: Any, method: str, params: dict[str, Any]) -> dict[str, Any]:
    if not method.startswith("VipPost"):
        return params
    return {"descriptor": {"op": "send" if method == "VipPostSend" else "recv", "segments": [mem.part(1024, 64)],
                           "at": {"mem": mem.mem, "offset": 0}}}  # fmt: skip


@vipl("C11", "VI handles that are gone", "G1.2.3-01 G3.2.2-02", errata="A51")
def stale_vis(t: Calls) -> None:
    """Each call on a destroyed VI fails, and a second VipDestroyVi does."""
    one, _ = nodes(t)
    mem = one.mem(4096)
    vi = one.vi(best_level(one))
    t.codes("G3.2.2-02", "VipDestroyVi", vi.destroy(), OK)
    for method, params in _OF_A_VI:
        stale(t, "G3.2.2-02", method, vi.code(method, **_with(mem, method, params)))
        null(one, "G1.2.3-01", "vi", method, **_with(mem, method, params))
    alive(t)


@vipl("C35", "NULL as VI handle, and posting that does not wait",
      "G1.2.3-01 G3.3.5-08 G3.3.7-06 G3.5.1-01 G3.5.1-02 G3.5.4-01 G3.5.4-02 G3.5.9-09 G3.7.3-03", errata="A99 A45")  # fmt: skip
def null_vis(t: Calls) -> None:
    """Each call refuses NULL; VipPostSend and VipPostRecv return at once with a good handle, though nobody takes the Send."""
    one, other = nodes(t)
    mem = one.mem(4096)
    lacks = one.missing
    rows = {"VipDisconnect": "G3.3.5-08", "VipQueryVi": "G3.7.3-03", "VipPostSend": "G3.5.1-02", "VipPostRecv": "G3.5.4-02",
            "VipConnectPeerDone": "G3.3.7-06", "VipConnectPeerWait": "G3.3.7-06", "VipSendNotify": "G3.5.9-09",
            "VipRecvNotify": "G3.5.9-09"}  # fmt: skip
    more: tuple[tuple[str, dict[str, Any]], ...] = (
        ("VipConnectPeerDone", {}), ("VipConnectPeerWait", {}), ("VipSendNotify", {"Context": 1}),
        ("VipRecvNotify", {"Context": 1}))
    for method, params in (*_OF_A_VI, *more):
        if method not in lacks:
            mine = {rows.get(method, "G1.2.3-01"): 0, "G1.2.3-01": 0}
            null(one, " ".join(mine), "vi", method, **_with(mem, method, params))
    p = pair(t, ends=(one, other))
    for queue, row in (("Recv", "G3.5.4-01"), ("Send", "G3.5.1-01")):  # the Send finds no receive, and then nothing waits any more
        done = one.call(f"VipPost{queue}", vi=p.a.vi, descriptor={"op": queue.lower(), "segments": [p.src.part(0, 64)]})
        took = int(done.result().get("us", 0))
        t.require(took < t.settle_us, row, f"VipPost{queue} waits", f"{took} us", "returns without waiting")
        empty = p.a.query().get(f"Vi{queue}QEmpty")
        t.require(empty is not True, row, f"Vi{queue}QEmpty behind a post", "true", "false",
                  **({"erratum": "A06"} if queue == "Send" else {}))  # fmt: skip
    alive(t)


@vipl("C43", "VipSetViAttributes in a state other than Idle", "G3.7.2-01")
def set_not_idle(t: Calls) -> None:
    """In Pending, Connected and Error the attributes cannot be changed, and are as before."""
    one, other = nodes(t)
    one.need("VipSetViAttributes")
    p = pair(t, ends=(one, other))
    vi = one.vi(p.level)
    asking, conn = request(vi, other, "22" * 16)
    tried = [(vi, "Pending"), (p.a, "Connected")]

    def refused(vi: Vi, what: str) -> None:
        before = vi.query().get("ViAttribs")
        code = vi.code("VipSetViAttributes",
                       ViAttribs={"ReliabilityLevel": p.level, "MaxTransferSize": SIZE, "EnableRdmaWrite": False})
        t.codes("G3.7.2-01", f"VipSetViAttributes of a VI that is {what}", code, STATE)
        now = vi.query().get("ViAttribs")
        t.require(now == before, "G3.7.2-01", f"attributes of a VI that is {what}", now, before)

    for one_vi, what in tried:
        refused(one_vi, what)
    other.code("VipConnectReject", conn=conn)
    t.until(lambda: asking.done, t.settle_us)
    alive(t, p)
    if in_error(p):
        refused(p.a, "in Error")


def another_level(node: Node, level: str) -> str:
    """A second level of the provider, or the same where it has one only."""
    return next((x for x in node.attribs.get("ReliabilityLevelSupport") or [] if x != level), level)


@vipl("C44", "Bad values for the attributes of VIs and regions", "G3.7.2-02 G3.7.2-03 G3.7.2-04 G3.7.4-02", errata="A47")
def set_bad(t: Calls) -> None:
    """One bad value among new good ones: its own code, and nothing is changed; then all good ones: what VipQueryVi tells."""
    one, other = nodes(t)
    one.need("VipSetViAttributes", "VipSetMemAttributes")
    level, most = best_level(one), one.number("MaxTransferSize")
    vi = one.vi(level)
    before = vi.query().get("ViAttribs")
    gone = one.ptag_new()
    one.code("VipDestroyPtag", ptag=gone)
    bad: list[tuple[dict[str, Any], str]] = [({"ReliabilityLevel": 8}, "VIP_INVALID_RELIABILITY_LEVEL"),
                                             ({"Ptag": gone}, "VIP_INVALID_PTAG")]  # fmt: skip
    if most < 0xFFFFFFFF:
        bad.append(({"MaxTransferSize": most + 1}, "VIP_INVALID_MTU"))
    good = {"ReliabilityLevel": another_level(one, level), "MaxTransferSize": min(2 * SIZE, most), "Ptag": one.ptag_new(),
            "EnableRdmaWrite": True}  # fmt: skip
    for change, wanted in bad:
        given = {**good, **change}
        code = vi.code("VipSetViAttributes", ViAttribs=given)
        t.codes("G3.7.2-03", f"VipSetViAttributes with a bad {next(iter(change))}", code, wanted)
        now = vi.query().get("ViAttribs")
        t.require(now == before, "G3.7.2-02", "attributes after an error", now, before)
    code = vi.code("VipSetViAttributes", ViAttribs={"ReliabilityLevel": level, "MaxTransferSize": SIZE, "EnableRdmaWrite": True})
    t.codes("G3.7.2-04", "VipSetViAttributes with good values", code, OK)
    now = vi.query().get("ViAttribs") or {}
    t.require(now.get("EnableRdmaWrite") is True, "G3.7.2-04", "EnableRdmaWrite after it was set", now, "true")
    mem = one.mem(64, write=False, read=False)
    code = one.code("VipSetMemAttributes", mem=mem.mem, MemAttribs={"Ptag": gone, "EnableRdmaWrite": True})
    t.codes("G3.7.4-02", "VipSetMemAttributes with a destroyed tag", code, "VIP_INVALID_PTAG")
    told = one.call("VipQueryMem", mem=mem.mem).result().get("MemAttribs", {})
    t.require(told.get("EnableRdmaWrite") is False, "G3.7.4-02", "attributes of a region after an error", told, "as before")
    peer = other.vi(level)
    connect(vi, peer)
    alive(t)


@vipl("S1", "The life of a VI",
      "S3.3-01 S5.1-01 S5.1-02 S5.2-01 S5.3-02 G3.2.1-01 G3.3-06 G3.7.3-01 G3.7.3-02", errata="A06 A07",
      variants=levels())  # fmt: skip
def life(t: Calls) -> None:
    """Idle with empty queues, Pending, Connected, Idle again: VipQueryVi tells each state and the attributes."""
    one, other = nodes(t)
    level = need_level(one, t.params["level"])
    vi, peer = one.vi(level, EnableRdmaWrite=True), other.vi(level)
    told = vi.query()
    for row in ("S3.3-01", "S5.1-01"):
        t.require(told.get("State") == IDLE, row, "the state of a new VI", told.get("State"), IDLE)
    for name in ("ViSendQEmpty", "ViRecvQEmpty"):
        t.require(told.get(name) is not False, "G3.7.3-02", f"{name} of a new VI", told.get(name), "true")
    attribs = told.get("ViAttribs", {})
    for name, wanted in (("ReliabilityLevel", level), ("EnableRdmaWrite", True), ("EnableRdmaRead", False)):
        for row in ("G3.2.1-01", "G3.7.3-01"):
            t.require(attribs.get(name) == wanted, row, f"{name} of a new VI", attribs.get(name), wanted)
    plain = peer.query().get("ViAttribs", {})
    for row in ("G3.2.1-01", "G3.7.3-01"):
        t.require(plain.get("EnableRdmaWrite") is False, row, "EnableRdmaWrite of a VI that was made without", plain, "false")
    size = attribs.get("MaxTransferSize")
    for row in ("G3.2.1-01", "G3.7.3-01"):
        t.require(size == SIZE, row, "MaxTransferSize of a new VI", size, SIZE,
                  **({"erratum": "A07"} if isinstance(size, int) and 0 < size < SIZE else {}))  # fmt: skip
    mem, back = one.mem(4096), other.mem(4096)
    number = peer.recv(back.part(0, 64))
    empty = peer.query().get("ViRecvQEmpty")
    t.require(empty is not True, "G3.7.3-02", "ViRecvQEmpty with a receive that was posted in Idle", "true", "false")
    asking, conn = request(vi, other)
    state = vi.state()
    for row in ("S5.1-02", "G3.3-06"):
        t.require(state == PENDING, row, "the state while a request waits for its answer", state, PENDING)
    t.require(peer.state() == IDLE, "S5.1-02", "the state of a VI that has nothing to do with it", peer.state(), IDLE)
    code = other.code("VipConnectAccept", conn=conn, vi=peer.vi)
    t.codes("S5.2-01", "VipConnectAccept", code, OK)
    t.until(lambda: asking.done, t.settle_us)
    for each_vi in (vi, peer):
        holds = each_vi.becomes(CONNECTED)
        for row in ("S5.2-01", "G3.7.3-01"):
            t.require(holds, row, "the state after success", each_vi.state(), CONNECTED)
    t.require(peer.query().get("ViRecvQEmpty") is not True, "G3.7.3-02", "ViRecvQEmpty with a posted receive", "true", "false")
    vi.send(mem.part(0, 64))
    vi.good("Send", "S5.3-02", "a Send")
    got = peer.reap("Recv")
    if level != UD:
        t.require(got.good and got.descriptor == number, "S5.3-02", "the receive", got, "success")
    if got.ptr is not None:
        t.require(peer.query().get("ViRecvQEmpty") is not False, "G3.7.3-02", "ViRecvQEmpty after the last Done", "false", "true")
    t.codes("G3.7.3-01", "VipDisconnect", vi.disconnect(), OK)
    t.require(vi.state() == IDLE, "G3.7.3-01", "the state after VipDisconnect", vi.state(), IDLE)
    alive(t)


@vipl("S2", "Posting before the connection", "S3.3-01 S5.1-04 S5.1-05 S5.2-04 S5.2-05 S5.2-06", errata="A27 A28 A34",
      variants=levels())  # fmt: skip
def early_posts(t: Calls) -> None:
    """Receives posted in Idle and in Pending wait for the connection and are filled in order; Sends posted there end in error."""
    one, other = nodes(t)
    level = need_level(one, t.params["level"])
    vi, peer = one.vi(level), other.vi(level)
    mem, back = one.mem(4096), other.mem(4096)
    back.fill(4)
    first = vi.recv(mem.part(0, 64))
    sent = vi.send(mem.part(1024, 64))
    got = vi.reap("Send")
    for row in ("S3.3-01", "S5.1-05"):
        t.require(got.descriptor == sent and bool(got.errors), row, "a Send posted in Idle", got, "an error, at once")
    t.wait(t.quiet_us)
    t.require(vi.done("Recv").code == NOT_DONE, "S5.1-04", "a receive posted in Idle", "came back", "waits")
    asking, conn = request(vi, other)
    second = vi.recv(mem.part(64, 64))
    sent = vi.send(mem.part(1024, 64))
    got = vi.reap("Send")
    t.require(got.descriptor == sent and bool(got.errors), "S5.2-05", "a Send posted in Pending", got, "an error")
    t.wait(t.quiet_us)
    t.require(vi.done("Recv").code == NOT_DONE, "S5.2-06", "a receive that was posted before the connection", "came back", "waits")
    taken = peer.recv(back.part(2048, 64))
    other.code("VipConnectAccept", conn=conn, vi=peer.vi)
    t.until(lambda: asking.done, t.settle_us)
    for v in (vi, peer):
        t.require(v.becomes(CONNECTED), "S5.2-04", "the state", v.state(), CONNECTED)
    t.wait(t.quiet_us)
    t.require(peer.done("Recv").code == NOT_DONE, "S5.2-05", "a Send that was posted before the connection", "arrived", "does not")
    rows = ("S5.1-04", "S5.2-04")
    for i, number in enumerate((first, second)):
        peer.send(back.part(i * 64, 64))
        peer.reap("Send")
        got = vi.reap("Recv")
        if level == UD and got.code == NOT_DONE:
            t.step("the message was lost, which is right at this level")
            break
        t.require(got.good and got.descriptor == number, rows[i], "the receive posted before the connection", got,
                  "filled, in order")
        t.require(mem.wrong(4, i * 64, 64) == 0 if i == 0 else mem.read(64, 64) == back.read(64, 64), rows[i], "its bytes",
                  "others",
                  "those sent")  # fmt: skip
    del taken
    alive(t)


@vipl("S4", "States against connect calls", "S5-01")
def matrix(t: Calls) -> None:
    """In Pending, Connected and Error every connect call is refused, and neither the state nor the queues change."""
    one, other = nodes(t)
    p = pair(t, ends=(one, other))
    vi = one.vi(p.level)
    asking, conn = request(vi, other, "33" * 16)
    there = other.address("44" * 16)

    def tried(vi: Vi, state: str) -> None:
        calls: list[tuple[str, dict[str, Any]]] = [("VipConnectRequest", {"Timeout": 300_000})]
        if t.pics.get("peer_to_peer"):
            calls.append(("VipConnectPeerRequest", {"Timeout": 300_000}))
        for method, params in calls:
            code = vi.code(method, LocalAddr=one.address(), RemoteAddr=there, **params)
            t.codes("S5-01", f"{method} of a VI in {state}", code, STATE)
        t.require(vi.state() == state, "S5-01", "the state afterwards", vi.state(), state)

    tried(vi, PENDING)
    tried(p.a, CONNECTED)
    if t.pics.get("peer_to_peer"):
        code = p.a.code("VipConnectPeerDone")
        t.codes("S5-01", "VipConnectPeerDone of a VI that is Connected by the other model", code, STATE)
    other.code("VipConnectReject", conn=conn)
    t.until(lambda: asking.done, t.settle_us)
    alive(t, p)
    if in_error(p):
        tried(p.a, ERROR)


@vipl("S5", "Two VIs of one process", "S4.1-07", variants=levels())
def one_process(t: Calls) -> None:
    """Two VIs on one NIC are connected to each other and exchange Sends."""
    one, _ = nodes(t)
    level = need_level(one, t.params["level"])
    if not t.pics.get("loopback", True):
        t.lack("the provider claims no loopback")
    p = pair(t, level, ends=(one, one))
    number, what = p.b.recv(p.dst.part(0, 64)), "a Send between two VIs of one NIC"
    p.a.send(p.src.part(0, 64))
    p.a.good("Send", "S4.1-07", what)
    got = p.b.reap("Recv")
    if level != UD:
        t.require(got.good and got.descriptor == number, "S4.1-07", what, got, "arrives")
    alive(t, p)


@vipl("S6", "An error in Idle", "S5.1-06", errata="A26 A98 A99", variants=levels((RD, RR)))
def error_in_idle(t: Calls) -> None:
    """A misaligned receive posted in Idle is told of: at the post, by a callback, by the connect call, or in the Descriptor."""
    one, other = nodes(t)
    level = need_level(one, t.params["level"])
    vi, peer = one.vi(level), other.vi(level)
    mem, back = one.mem(4096), other.mem(4096)
    posted = one.call("VipPostRecvRaw", vi=vi.vi, mem=mem.mem, offset=8)
    if posted.returned() != OK:
        t.report("S5.1-06", "a misaligned receive", posted.returned(), "an error later", erratum="A99")
        alive(t)
        return
    first = posted.integer("descriptor")
    told = t.until(lambda: bool(t.handled), t.quiet_us)
    if not told:
        vi.recv(mem.part(1024, 64))  # a message that it takes instead shows that nobody was told
        there = other.address("5e" * 16)
        waiting = other.start("VipConnectWait", LocalAddr=there, Timeout=1_000_000)
        asking = ask_waiting(vi, there, waiting, 5_000_000, one.address())
        t.until(lambda: waiting.done or (asking.done and asking.returned() not in (OK, "VIP_NO_MATCH")), t.async_us)
        if asking.done and asking.returned() not in (OK, "VIP_NO_MATCH", "VIP_TIMEOUT"):
            told = True  # the connect call itself tells (A26): no request need reach the server then
        elif waiting.done and waiting.returned() == OK:
            other.code("VipConnectAccept", conn=waiting.integer("conn"), vi=peer.vi)
        else:
            t.fail("G3.3-07", "VipConnectWait on the discriminator that a client asks for", "no request", OK)
        t.until(lambda: waiting.done, t.async_us)
        t.until(lambda: asking.done, t.async_us)
        if asking.done and asking.returned() == OK and peer.state() == CONNECTED:
            peer.send(back.part(0, 16))
            got = vi.reap("Recv", t.async_us)
            told = bool(t.handled) or bool(got.errors) or got.descriptor == first or t.until(lambda: bool(t.handled), t.quiet_us)
            if got.good and got.descriptor == first:
                t.report("S5.1-06", "a misaligned receive", str(got), "an error", erratum="A98")
        else:
            told = vi.state() == ERROR or (asking.done and asking.returned() != OK) or t.until(lambda: bool(t.handled), t.async_us)
    t.require(told or deaf(t, vi, "S5.1-06"), "S5.1-06", "a misaligned receive is never told of", "silence",
              "a callback, an error, or the Descriptor")
    alive(t)


@vipl("X21", "Posting in Error", "S5.4-01 S5.4-02", errata="A28 A18", variants=levels((RD, RR)))
def post_in_error(t: Calls) -> None:
    """What is posted on either queue in Error comes back with an error, and nothing of it is sent or received."""
    p = pair(t, t.params["level"])
    transfer(p, 10, 1)
    third = p.b.node.vi(p.level)
    if not in_error(p):
        t.fail("S5.4-01", "the VI after its peer has gone and Sends were posted", p.a.state(), ERROR)
    for queue in ("Send", "Recv"):
        for _ in range(64):
            if p.a.done(queue).ptr is None:
                break
    for queue in ("Recv", "Send"):
        number = p.a.send(p.src.part(0, 8)) if queue == "Send" else p.a.recv(p.back.part(0, 8))
        got = p.a.reap(queue)
        t.require(got.descriptor == number and bool(got.errors), "S5.4-01", f"a Descriptor posted on the {queue} queue in Error",
                  got,
                  "an error")  # fmt: skip
        t.require(got.code == DESC_ERROR, "S5.4-01", "the code of Done", got.code, DESC_ERROR)
    t.require(p.a.state() == ERROR, "S5.4-02", "the state", p.a.state(), ERROR)
    del third
    alive(t)
