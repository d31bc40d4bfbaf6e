"""VipDisconnect at both ends, a peer that goes away, and what the asynchronous handler is told."""

from __future__ import annotations

from typing import Any

from fcvi.engine.calls_scenario import Handled
from fcvi.engine.case import Variant
from fcvi.engine.upper_tester import METHOD_NOT_FOUND

from conformance.vipl.cases.connecting import ask, ended
from conformance.vipl.steps.declare import RD, RR, UD, each, levels, vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import (
    CONNECTED, ERROR, FLUSHED, IDLE, OK, PROTECTION, STATE, Node, Pair, Vi, alive, best_level, connect, in_error, need_level,
    need_read, nodes, pair, request, transfer,
)  # fmt: skip

LOST = "VIP_ERROR_CONN_LOST"
_RUNS_US = 10_000  # a handler that runs when its NIC is closed may end, and its host may note its beginning so late


def heard(t: Calls, vi: Vi) -> list[dict[str, Any]]:
    """What a handler was told of this VI, or of none: then the NIC says whose it is (G 4.4).

    One agent has both ends and names neither: there the handles alone tell them apart."""
    end, nic = vi.node.end.number, vi.node.nic

    def mine(told: Handled) -> bool:
        if told.end != end and t.agents > 1:
            return False
        if told.get("vi") is not None:
            return bool(told.get("vi") == vi.vi)
        return bool(told.get("nic") == nic) or told.get("nic") is None and told.end == end

    return [dict(h.params) for h in t.handled if mine(h)]


def deaf(t: Calls, vi: Vi, *rows: str) -> bool:
    """Whether the library has no VipErrorCallback (G 2.2.1). These rows, which only a handler shows, are left open then."""
    for row in rows if "VipErrorCallback" in vi.node.missing else ():
        t.leave_open(row, "the provider has no VipErrorCallback")
    return "VipErrorCallback" in vi.node.missing


def flushed(t: Calls, vi: Vi, queue: str, numbers: list[int], row: str) -> None:
    """These come back with FLUSHED, in the order in which they were posted."""
    for number in numbers:
        got = vi.reap(queue)
        if not t.require(got.descriptor == number and bool(got.errors), row, f"a Descriptor of the {queue} queue", got,
                         "FLUSHED, in order"):
            return
        if FLUSHED not in got.status:
            t.notice("G5.2-29", "the bit of a Descriptor that was flushed", got, FLUSHED, "A28")


@vipl("C29", "VipDisconnect with work on the queues",
      "S5.1-04 G3.3.5-01 G3.3.5-02 G3.3.5-06 G3.3.5-07 G3.5.10-05 G5.2-29", errata="A28 A59 A60",
      variants=each(levels(), "state", {"idle": IDLE, "connected": CONNECTED}))  # fmt: skip
def disconnect_with_work(t: Calls) -> None:
    """What was completed keeps its status, what was not is flushed in order; a handler that waits gets it, too."""
    one, other = nodes(t)
    level = need_level(one, t.params["level"])
    if t.params["state"] == IDLE:
        vi, mem = one.vi(level), one.mem(4096)
        numbers = [vi.recv(mem.part(64 * i, 64)) for i in range(8)]
        t.codes("G3.3.5-06", "VipDisconnect in Idle", vi.disconnect(), OK)
        flushed(t, vi, "Recv", numbers, "S5.1-04")
        t.require(vi.state() == IDLE, "G3.3.5-06", "the state", vi.state(), IDLE)
        t.codes("G3.3.5-07", "VipDestroyVi", vi.destroy(), OK)
        alive(t)
        return
    p = pair(t, level, ends=(one, other))
    place = one.mem(128)
    at = -place.va % 64
    first = p.a.recv(p.back.part(0, 64), at={"mem": place.mem, "offset": at})
    p.dst.fill(21, 0, 64)
    p.b.send(p.dst.part(0, 64))
    p.b.reap("Send")
    t.until(lambda: bool(place.read(at + 28, 1)[0] & 1), t.settle_us if level == UD else t.async_us)  # DONE (S 6.4.2)
    rest = [p.a.recv(p.back.part(64 * i, 64)) for i in range(1, 8)]
    t.codes("G3.3.5-06", "VipDisconnect", p.a.disconnect(), OK)
    t.require(p.a.state() == IDLE, "G3.3.5-01", "the state", p.a.state(), IDLE)
    got = p.a.reap("Recv")
    if level != UD or got.good:
        t.require(got.good and got.descriptor == first and p.back.wrong(21, 0, 64) == 0, "G3.3.5-02",
                  "a receive completed before", got,
                  "its status and data")  # fmt: skip
        flushed(t, p.a, "Recv", rest, "G3.3.5-01")
    else:
        flushed(t, p.a, "Recv", rest, "G3.3.5-01")
    last = p.a.done("Recv")
    t.require(last.ptr is None, "G3.3.5-01", "one more Descriptor", last, "none")
    # a handler that waits, and a queue with a CQ
    q = pair(t, level, ends=(one, other))
    number = q.a.recv(q.back.part(0, 64))
    if "VipRecvNotify" not in one.missing:
        t.codes("G3.5.10-05", "VipRecvNotify", q.a.code("VipRecvNotify", Context=9), OK)
        q.a.disconnect()
        came = t.until(lambda: any(n.get("Context") == 9 for n in t.notifies), t.settle_us)
        t.require(came, "G3.5.10-05", "the handler of a receive that is flushed", "not called", "called")
        if came:
            seen = next(n for n in t.notifies if n.get("Context") == 9).get("DescriptorPtr") or {}
            t.require(seen.get("descriptor") == number and "VIP_STATUS_DESC_FLUSHED_ERROR" in seen.get("status", []), "G3.5.10-05",
                      "what the handler got", seen, "the Descriptor, FLUSHED")  # fmt: skip
    alive(t)


@vipl("S3", "VipDisconnect in each state", "G3.3.5-01 G3.3.5-05 G3.3.5-06", errata="A74", variants=levels())
def disconnect_each(t: Calls) -> None:
    """Idle twice, Pending, Connected, Error: VIP_SUCCESS and Idle each time, and a new connection works."""
    one, other = nodes(t)
    level = need_level(one, t.params["level"])
    vi, peer = one.vi(level), other.vi(level)
    for _ in range(2):
        t.codes("G3.3.5-06", "VipDisconnect in Idle", vi.disconnect(), OK)
        t.require(vi.state() == IDLE, "G3.3.5-06", "the state", vi.state(), IDLE)
    asking, conn = request(vi, other)
    t.codes("G3.3.5-06", "VipDisconnect in Pending", vi.disconnect(), OK)
    t.require(vi.becomes(IDLE), "G3.3.5-06", "the state after VipDisconnect in Pending", vi.state(), IDLE)
    t.require(t.until(lambda: asking.done, t.async_us), "G3.3.5-06", "a request whose VI was disconnected", "still blocked",
              "returns")
    other.code("VipConnectReject", conn=conn)
    connect(vi, peer)
    t.codes("G3.3.5-01", "VipDisconnect in Connected", vi.disconnect(), OK)
    t.require(vi.state() == IDLE, "G3.3.5-01", "the state after VipDisconnect in Connected", vi.state(), IDLE)
    peer.clean()
    t.require(peer.state() == IDLE, "G3.3.5-05", "the other end after its VipDisconnect", peer.state(), IDLE)
    p = pair(t, level, ends=(one, other))
    if in_error(p):
        code = ended(t, ask(p.a, other.address("11" * 16), 300_000), "G3.3.5-05", 2 * t.settle_us)
        t.codes("G3.3.5-05", "VipConnectRequest of a VI in Error", code, STATE)
        p.a.clean()
        t.require(p.a.state() == IDLE, "G3.3.5-06", "the state after VipDisconnect in Error", p.a.state(), IDLE)
    else:
        p.a.clean()
    p.b.clean()
    connect(p.a, p.b)
    alive(t)


@vipl("X19", "VipDisconnect here: nobody is called back", "G3.3.5-01 G3.3.5-04 G5.2-29 G6.3.3-02", variants=levels())
def local_disconnect(t: Calls) -> None:
    """Eight receives are flushed, the VI is Idle, and no handler is called at this end."""
    p = pair(t, t.params["level"])
    transfer(p, 32, 1)
    numbers = [p.a.recv(p.back.part(64 * i, 64)) for i in range(8)]
    t.codes("G3.3.5-01", "VipDisconnect", p.a.disconnect(), OK)
    t.require(p.a.state() == IDLE, "G6.3.3-02", "the state", p.a.state(), IDLE)
    flushed(t, p.a, "Recv", numbers, "G5.2-29")
    t.wait(t.quiet_us)
    said = heard(t, p.a) if p.a.node.end.number != p.b.node.end.number else []
    t.require(not said, "G3.3.5-04", "the handler at the end that disconnected", said, "not called")
    deaf(t, p.a, "G3.3.5-04")
    alive(t)


def tell(t: Calls, p: Pair, row: str) -> None:
    """b has gone: a learns of it at its next transfers at the latest."""
    told = bool(heard(t, p.a)) or p.a.state() == ERROR
    end = t.now_us + t.async_us
    while not told and t.now_us < end:
        p.a.send(p.src.part(0, 8))
        got = p.a.reap("Send", t.async_us)
        told = bool(got.errors) or bool(heard(t, p.a)) or p.a.state() == ERROR
        if not told:
            t.wait(100_000)
    if not told and p.level == UD and deaf(t, p.a, row):  # a handler may be told alone at this level (A18)
        return
    t.require(told, row, "a VI whose connection is gone", "goes on for ever", "an error at its next transfer")


@vipl("X20", "The other end disconnects",
      "S4.2-03 G3.3.5-03 G3.3.5-04 G3.3.5-05 G3.3.5-06 G3.8.1-07 G5.2-29 G6.2-01 G6.3.3-01", errata="A17 A18 A90",
      variants=levels())  # fmt: skip
def remote_disconnect(t: Calls) -> None:
    """The VI learns of it, is in Error, what is posted comes back with an error, and VipDisconnect leads to Idle.

    Nobody is called back for that VipDisconnect. One level waits until all that the loss itself had to tell is told.
    """
    p = pair(t, t.params["level"])
    transfer(p, 32, 1)
    numbers = [p.a.recv(p.back.part(64 * i, 64)) for i in range(4)]
    p.b.disconnect()
    t.until(lambda: bool(heard(t, p.a)), t.quiet_us)
    tell(t, p, "S4.2-03")
    said = heard(t, p.a)
    if not deaf(t, p.a, "G3.3.5-03", "G3.3.5-04", "G3.8.1-07", "G6.2-01"):
        t.require(any(s.get("code") == LOST for s in said), "G3.3.5-03", "the handler at the other end", said, LOST)
        t.require(any(s.get("code") == LOST for s in said), "G6.2-01", "the handler at the other end", said, LOST)
    if p.level != UD or p.a.becomes(ERROR, t.quiet_us):
        t.require(p.a.becomes(ERROR), "G3.8.1-07", "the state of a VI that lost its connection", p.a.state(), ERROR)
        flushed(t, p.a, "Recv", numbers, "G3.3.5-06")
    else:
        t.require(False, "G6.3.3-01", "the state of an unreliable VI that lost its connection", p.a.state(), ERROR)
    if p.level == RD:
        t.wait(t.async_us)
    before = len(heard(t, p.a))
    t.codes("G3.3.5-05", "VipDisconnect in Error", p.a.disconnect(), OK)
    t.require(p.a.state() == IDLE, "G3.3.5-05", "the state", p.a.state(), IDLE)
    if p.level == RD:
        t.wait(t.quiet_us)
        again = heard(t, p.a)[before:]
        t.require(not again, "G3.3.5-04", "the handler after VipDisconnect in Error", again, "not called")
    alive(t)


@vipl("E1", "VipErrorCallback", "S7-01 G3.8.1-01 G3.8.1-02", errata="A17", variants=levels((RD, RR)))
def handler(t: Calls) -> None:
    """The handler gets its context; after NULL it is called no more, and the process lives on."""
    one, other = nodes(t)
    one.need("VipErrorCallback")
    level = need_level(one, t.params["level"])
    t.codes("S7-01", "VipErrorCallback", one.code("VipErrorCallback", Context=4242), OK)
    again = Node(t, t.ends[0], handler=False)  # its handler is its own, as that of the other end is
    t.codes("S7-01", "VipErrorCallback of another handle", again.code("VipErrorCallback", Context=1717), OK)
    t.codes("S7-01", "VipErrorCallback of the other end", other.code("VipErrorCallback", Context=2424), OK)
    p = pair(t, level, ends=(one, other))
    transfer(p, 32, 2)
    p.b.disconnect()
    tell(t, p, "G3.8.1-01")
    t.until(lambda: bool(heard(t, p.a)), t.quiet_us)
    for said in heard(t, p.a):
        t.require(said.get("Context") == 4242, "G3.8.1-01", "the context of the handler", said.get("Context"), 4242)
    code = one.code("VipErrorCallback", Handler=False)
    t.codes("G3.8.1-02", "VipErrorCallback with NULL", code, OK)
    before = len(t.handled)
    q = pair(t, level, ends=(one, other))
    q.b.disconnect()
    tell(t, q, "G3.8.1-02")
    t.wait(t.quiet_us)
    now = [h for h in t.handled[before:] if h.end == one.end.number and h.get("vi") == q.a.vi]
    t.require(not now, "G3.8.1-02", "the handler after it was taken away", [dict(h.params) for h in now], "not called")
    alive(t)


@vipl("E2", "What an error descriptor holds", "G4.4-01 G4.4-02", errata="A66", variants=levels((RD, RR)))
def error_descriptor(t: Calls) -> None:
    """Of a lost connection and of a misaligned Descriptor: NIC, VI, Descriptor and codes are right or NULL."""
    p = pair(t, t.params["level"])
    p.a.node.need("VipErrorCallback")
    p.b.disconnect()
    tell(t, p, "G4.4-02")
    vi = p.a.node.vi(p.level)
    mem = p.a.node.mem(4096)
    p.a.node.call("VipPostRecvRaw", vi=vi.vi, mem=mem.mem, offset=8)
    t.wait(t.quiet_us)
    mine = {p.a.vi, vi.vi, None}
    for told in t.handled:
        if told.end != p.a.node.end.number:
            continue
        t.require(told.get("nic") != -1 and told.get("cq") != -1, "G4.4-01", "NicHandle and CQHandle", told.get("nic"),
                  "those of the registration, or NULL")
        t.require(told.get("vi") in mine | {p.b.vi}, "G4.4-01", "ViHandle", told.get("vi"), "the VI that it is about, or NULL")
        t.require(t.number_of("nic", told.get("nic")) is not None, "G4.4-01", "NicHandle", told.get("nic"),
                  "that of the registration")
        code = str(told.get("code"))
        t.require(not code.startswith("VIP_CODE") and code in (LOST, "VIP_ERROR_POST_DESC"), "G4.4-02", "ErrorCode", code,
                  f"{LOST} or VIP_ERROR_POST_DESC")  # fmt: skip
        layers = ("NIC", "VI") if code == LOST else ("NIC", "VI", "DESCRIPTOR")  # no VI of the case has a CQ
        t.require(told.get("ResourceCode") in {f"VIP_RESOURCE_{layer}" for layer in layers}, "G4.4-02",
                  f"ResourceCode of {code}", told.get("ResourceCode"), " or ".join(layers))
    alive(t)


@vipl("E3", "A lost connection is told at the other end only", "S4.2-03 G3.3.5-03 G3.3.5-04 G3.8.1-07 G6.2-01",
      errata="A17", variants=levels())  # fmt: skip
def lost(t: Calls) -> None:
    """CONN_LOST comes at the other end, whose VI is then in Error; the end that called VipDisconnect hears nothing."""
    one, other = nodes(t)
    one.need("VipErrorCallback")
    if one.same_nic(other):
        t.lack("both ends are on one NIC")
    p = pair(t, t.params["level"], ends=(one, other))
    transfer(p, 32, 1)
    p.b.disconnect()
    came = t.until(lambda: bool(heard(t, p.a)), t.settle_us)
    t.require(came, "G3.3.5-03", "the handler at the other end", "not called", LOST)
    t.require(came, "G6.2-01", "the handler at the other end", "not called", LOST)
    for said in heard(t, p.a):
        if said.get("code") == LOST:
            t.require(p.a.state() == ERROR, "G3.8.1-07", f"the state when {LOST} was delivered", p.a.state(), ERROR)
    t.wait(t.quiet_us)
    t.require(not heard(t, p.b), "G3.3.5-04", "the handler at the end that disconnected", heard(t, p.b), "not called")
    tell(t, p, "S4.2-03")
    alive(t)


@vipl("E7", "VipCloseNic with a connection up", "G3.1.2-02", variants=[Variant("closed", {"how": "close"})])
def closes(t: Calls) -> None:
    """VipCloseNic with a connection up: the peer learns of it. No receive of that NIC is filled any more, and no handler called."""
    one, other = nodes(t)
    if one.same_nic(other):
        t.lack("both ends are on one NIC")
    p = pair(t, best_level(one), ends=(one, other))
    transfer(p, 32, 1)
    for i in range(8):
        p.b.recv(p.dst.part(64 * i, 64))
    p.src.fill(77, 0, 64)
    closed = other.call("VipCloseNic", nic=other.nic)
    t.codes("G3.1.2-02", "VipCloseNic with a connection up", closed.returned(), OK)
    p.a.send(p.src.part(0, 64))
    t.wait(t.quiet_us)
    t.require(p.dst.wrong(77, 0, 64) > 0, "G3.1.2-02", "a receive of a NIC that was closed", "filled", "not filled")
    tell(t, p, "G3.1.2-02")
    end = int(closed.result().get("at_us", t.now_us)) + t.pixit.jitter_us + _RUNS_US * t.pixit.slower
    late = [told for told in heard(t, p.b) if int(told.get("at_us") or 0) > end]
    t.require(not late, "G3.1.2-02", "the error handler of a NIC that was closed", late, "not called")
    alive(t)


@vipl("P3", "Two processes", "S1.5.3-03 S3.1-02 S3.2.2.1-02 G5.3-03", errata="A71",
      variants=[*(Variant(op, {"op": op}) for op in ("send", "recv", "end", "write")),
                Variant("read", {"op": "read"}, "rdma_read")])  # fmt: skip
def two_processes(t: Calls) -> None:
    """Region and tag of one process give the other's VI no access, nor those who reach it by RDMA. What a process held can be had
    again when it has ended."""
    if t.ends[0].call("agent.devices").result().get("agents", 1) < 2:
        alive(t)
        t.lack("it needs two processes: --agent2")
    {"send": foreign_memory, "recv": foreign_memory, "end": process_ends}.get(t.params["op"], foreign_target)(t)
    alive(t)


def foreign_memory(t: Calls) -> None:
    """A region of the first process, named by a VI of the second: its bytes are neither sent nor written."""
    p = pair(t)
    op, foreign = t.params["op"], p.a.node.mem(4096, fill="5a")
    segment = {"va": f"{foreign.va:016x}", "handle": foreign.handle, "length": 64}
    if op == "send":
        p.a.recv(p.back.part(0, 64))
        p.b.send(segment)
        got = p.b.reap("Send", t.settle_us)
        t.until(lambda: p.back.read(0, 64) == b"\x5a" * 64, t.quiet_us)
        moved = p.back.read(0, 64) == b"\x5a" * 64
    else:
        p.b.recv(segment)
        p.src.fill(9, 0, 64)
        p.a.send(p.src.part(0, 64))
        got = p.b.reap("Recv", t.settle_us)
        moved = foreign.read(0, 64) != b"\x5a" * 64
    for row in ("S1.5.3-03", "S3.2.2.1-02"):
        t.require(not moved, row, f"a {op} of a VI by address and handle of another process", got, PROTECTION)
    if got.good:
        t.step("the handle is one of this process, too, which proves nothing (A71)")
    else:
        t.require(not got.errors or PROTECTION in got.errors, "S1.5.3-03", f"a {op} by a handle of another process", got,
                  PROTECTION)  # fmt: skip


def foreign_target(t: Calls) -> None:
    """RDMA to a VI of the second process names a region of the first: its bytes are neither written nor read."""
    one, other = nodes(t)
    op, level = t.params["op"], best_level(one)
    if op == "read":
        level = next((name for name in (RD, RR) if name in (one.attribs.get("RDMAReadSupport") or [])), level)
        need_read(one, level)
    p = pair(t, level, ends=(one, other))
    foreign = one.mem(4096, fill="5a")
    p.src.fill(9, 0, 64)
    p.a.rdma(op, foreign.remote(), (p.src if op == "write" else p.back).part(0, 64))
    got = p.a.reap("Send", t.settle_us)
    t.wait(t.quiet_us)
    moved = foreign.read(0, 64) != b"\x5a" * 64 if op == "write" else b"\x5a" * 8 in p.back.read(0, 64)
    t.require(not moved, "G5.3-03", f"an RDMA {op.capitalize()} by address and handle of a region of another process", got,
              "moves no byte of it")  # fmt: skip


def process_ends(t: Calls) -> None:
    """The second process ends with a connection up, and another takes its place: the first one learns of it (RR)."""
    one, other = nodes(t)
    confirmed = RR in (one.attribs.get("ReliabilityLevelSupport") or [])
    p = pair(t, RR if confirmed else best_level(one), ends=(one, other))
    transfer(p, 32, 1)
    with t.looking_at_errors():
        call = t.ends[1].call("agent.restart")
    if call.reply.error is not None and call.reply.error[0] == METHOD_NOT_FOUND:
        alive(t)
        t.lack("the process of the second end cannot be ended: it needs --agent2 exec:...")
    call.result()
    if confirmed:  # at the other levels a Send may be successful when it is out, and whoever should answer may be gone as well
        tell(t, p, "S3.1-02")
