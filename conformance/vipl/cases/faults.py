"""Messages that are lost, damaged or cut short below the calls, and a link that is cut: they need an injector."""

from __future__ import annotations

from typing import Any

from conformance.vipl.cases.connecting import ask, ended
from conformance.vipl.cases.ending import LOST, deaf, heard
from conformance.vipl.cases.errors import told_anywhere
from conformance.vipl.cases.peers import meet, outcome
from conformance.vipl.steps.declare import LEVELS, RD, RR, UD, each, levels, vipl
from conformance.vipl.steps.faults import inject, link_down, met
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import (
    CONNECTED, ERROR, FLUSHED, IDLE, OK, PENDING, TIMEOUT, Got, Pair, Vi, alive, need_level, need_read, nodes, pair,
    request, transfer,
)  # fmt: skip

_LONG = 8000  # bytes of a message: several frames or packets of most networks
_ROOM = 8192
_UNREACHABLE = "VIP_NOT_REACHABLE"
_OF_WRITES = ("VIP_ERROR_RDMAW_DATA", "VIP_ERROR_RDMAW_ABORT", "VIP_ERROR_RDMA_TRANSPORT", LOST)


def state_fits(t: Calls, vi: Vi, got: Got, what: str) -> None:
    """RD and RR: a Descriptor with TRANSPORT means that the VI is in Error."""
    if vi.level != UD and "TRANSPORT_ERROR" in got.errors:
        t.require(vi.becomes(ERROR), "G5.2-30", f"the state when {what} has TRANSPORT", vi.state(), ERROR)


def gather(t: Calls, p: Pair, count: int) -> list[Got]:
    """What comes back on the receive queue of b. At RD and RR a loss may be noticed only after a time (A55)."""
    came: list[Got] = []
    limit = t.settle_us if p.level == UD else t.async_us
    end = t.now_us + limit
    while len(came) < count and t.now_us < end:
        got = p.b.reap("Recv", t.quiet_us)
        if got.ptr is not None:
            came.append(got)
        elif p.a.state() != CONNECTED and p.b.state() != CONNECTED:
            break
    return came


def hit(t: Calls, before: int | None, whole: bool) -> None:
    """The fault has to have met the message: else the case says nothing. Who repairs what was met does more than is asked."""
    was = met(t, before)
    if was is False:
        t.lack("the injector met no message")
    if was is None and whole:
        t.lack("all arrived as it was sent: the injector does not say whether it met a message")


def initiator(t: Calls, p: Pair, numbers: list[int], what: str) -> None:
    """RR: the Descriptor in error tells, none behind it is successful, and the VI is in Error."""
    for place, number in enumerate(numbers):
        got = p.a.reap("Send", t.async_us if place == 0 else t.settle_us)
        row = "S2.5.3-02" if place == 0 else "S7.3-01"
        t.require(got.descriptor == number and bool(got.errors), row, f"Descriptor {place} of the sender, {what} met the first",
                  got, "an error")  # fmt: skip
        state_fits(t, p.a, got, "the sender's Descriptor")
    t.require(p.a.becomes(ERROR, t.async_us), "S2.5.3-05", "the sender's state", p.a.state(), ERROR)


def sent(t: Calls, fault: str, level: str, damaged: str) -> None:
    """Three Sends, of which the fault meets the first."""
    p = pair(t, level)
    transfer(p, 100, 3)
    before = inject(t, fault)
    receives = [p.b.recv(p.dst.part(_ROOM * i, _LONG)) for i in range(3)]
    for i in range(3):
        p.src.fill(60 + i, _ROOM * i, _LONG)
    numbers = [p.a.send(p.src.part(_ROOM * i, _LONG)) for i in range(3)]
    what = {"lose": "a loss", "corrupt": "damage", "cut": "a cut"}[fault]
    came = gather(t, p, 3)
    arrived: list[int] = []
    for place, got in enumerate(came):
        t.require(got.descriptor == receives[place], "S6.3.1.1-02", f"receive {place}", got, "in order")
        state_fits(t, p.b, got, "a receive")
        if got.good:
            whole = [i for i in range(3) if p.dst.wrong(60 + i, _ROOM * place, _LONG) == 0]
            if got.length != _LONG or not whole:
                t.fail(damaged, f"a receive without error behind {what}", str(got), f"the {_LONG} bytes of a message")
            arrived += whole[:1]
        elif fault == "cut" and FLUSHED not in got.errors and "PARTIAL_ERROR" not in got.errors:
            t.notice("G5.2-28", "a receive whose message was cut short", got, "PARTIAL", "A53")
    hit(t, before, arrived == [0, 1, 2])
    if level == UD:
        t.require(len(set(arrived)) == len(arrived), "S2.5-06", "messages that arrived", arrived, "each once at most")
        t.step(f"messages {arrived} of 3 arrived, the others were lost: either is right at this level")
    elif arrived == [0, 1, 2]:
        t.step("the provider repaired what was met")
    else:
        t.require(arrived == [], "G2.4-01", f"receives without error behind {what} that met the first message", arrived, "none")
        for got in came:
            if got.errors:
                t.require(p.b.becomes(ERROR), "G2.4-02", "the state of the receiver", p.b.state(), ERROR)
        if level == RD:
            told_anywhere(t, p, "S2.5.2-02", what, taken=True)
        else:
            initiator(t, p, numbers, what)


@vipl("X9", "A payload that is corrupted",
      "S2.5-05 S2.5.1-01 S2.5.2-02 S2.5.3-02 S2.5.3-05 S7.3-01 G2.4-01 G2.4-02 G5.2-30", errata="A55 A59 A105", tags="fault",
      variants=levels())  # fmt: skip
def corrupted(t: Calls) -> None:
    """UD: dropped, or an error bit. RD: one end learns, and nothing later succeeds. RR: the sender's Descriptor tells."""
    sent(t, "corrupt", need(t), "S2.5.1-01" if t.params["level"] == UD else "S2.5-05")
    alive(t)


def need(t: Calls) -> str:
    """The level of the variant."""
    return need_level(nodes(t)[0], t.params["level"])


@vipl("X10", "A message that is lost",
      "S2.5.2-02 S2.5.3-02 S2.5.3-05 S7.3-01 G2.4-01 G3.8.1-12 G5.2-30", errata="A55 A59 A89 A105",
      tags="fault", variants=each(levels(), "op", {"send": "send", "write": "write"}))  # fmt: skip
def lost_message(t: Calls) -> None:
    """UD: nothing need be told. RD: one end learns at the next message or by a timer. RR: at most the one in error is done."""
    if t.params["op"] == "send":
        sent(t, "lose", need(t), "S2.5-06")
    else:
        written(t, "lose", need(t), False)
    alive(t)


@vipl("X11", "A message that is cut short", "S2.5.2-02 S2.5.3-02 G2.4-01 G5.2-27 G5.2-28", errata="A53 A55 A59 A86 A105",
      tags="fault", variants=levels())  # fmt: skip
def cut_short(t: Calls) -> None:
    """No receive is successful with a part of a message; PARTIAL tells of it, on the send queue beside the cause."""
    sent(t, "cut", need(t), "G5.2-28")
    alive(t)


def written(t: Calls, fault: str, level: str, immediate: bool) -> None:
    """An RDMA Write that the fault meets, and a Send behind it."""
    p = pair(t, level)
    transfer(p, 100, 3)
    p.src.fill(71, 0, _LONG)
    p.src.fill(72, _ROOM, 64)
    before = inject(t, fault)
    receives = [p.b.recv(p.dst.part(2 * _ROOM + 64 * i, 64)) for i in range(2 if immediate else 1)]
    write = p.a.rdma("write", p.dst.remote(), p.src.part(0, _LONG), **({"immediate": 7} if immediate else {}))
    numbers = [write, p.a.send(p.src.part(_ROOM, 64))]
    came = gather(t, p, len(receives))
    whole = p.dst.wrong(71, 0, _LONG) == 0
    good = [got for got in came if got.good]
    if immediate:
        for got in good:
            if got.immediate is not None and not whole:
                t.fail("S2.5-05", "a receive of an RDMA Write that was met", str(got), "an error")
    if level != UD and good and not whole:
        t.fail("G2.4-01", "a receive behind an RDMA Write that was met", str(good[0]), "an error")
    for got in came:
        state_fits(t, p.b, got, "a receive")
    hit(t, before, whole and len(good) == len(receives))
    if level != UD and not (whole and len(good) == len(receives)):
        if level == RD:
            told_anywhere(t, p, "S2.5.2-02", f"an RDMA Write ({fault})", taken=True)
        else:
            initiator(t, p, numbers, fault)
    row = "G3.8.1-12" if fault == "lose" else "G3.8.1-11"
    deaf(t, p.b, row)
    for said in heard(t, p.b) if level != UD else ():
        t.require(said.get("code") in _OF_WRITES, row, "the code of a callback at the target", said.get("code"),
                  " or ".join(_OF_WRITES))  # fmt: skip
        if not immediate and fault == "corrupt":
            t.require(said.get("code") in _OF_WRITES, "G3.8.1-12", "the code of a callback at the target", said.get("code"),
                      " or ".join(_OF_WRITES))  # fmt: skip


_WRITES = each(levels(), "immediate", {"plain": False, "immediate": True})


@vipl("X14", "An RDMA Write that is corrupted", "S2.5-05 S2.5.2-02 S2.5.3-02 G3.8.1-11 G3.8.1-12", errata="A54 A55 A89 A105",
      tags="fault", variants=_WRITES)  # fmt: skip
def write_corrupted(t: Calls) -> None:
    """Nothing behind it is successful at RD and RR; with Immediate Data the receive is not good over wrong bytes."""
    written(t, "corrupt", need(t), t.params["immediate"])
    alive(t)


@vipl("X15", "An RDMA Write that is cut short", "S2.5.2-02 S2.5.3-02 G3.8.1-11", errata="A54 A55 A89 A105", tags="fault",
      variants=_WRITES)  # fmt: skip
def write_cut(t: Calls) -> None:
    """As an RDMA Write that is corrupted."""
    written(t, "cut", need(t), t.params["immediate"])
    alive(t)


@vipl("X18", "An RDMA Read whose answer is lost or corrupted", "S2.5-05 S2.5.2-02 S2.5.3-02 G5.2-30", errata="A55 A85 A89",
      applies="rdma_read", tags="fault",
      variants=each(levels((RD, RR)), "fault", {f: f for f in ("lose", "corrupt", "cut")}))  # fmt: skip
def answer_lost(t: Calls) -> None:
    """The Descriptor has TRANSPORT, or the bytes of the source; success over other bytes is the breach."""
    level = need(t)
    p = pair(t, level)
    need_read(p.a.node, level)
    transfer(p, 100, 3)
    p.dst.fill(81, 0, _LONG)
    p.back.fill(4, 0, _LONG)
    before = inject(t, t.params["fault"], 1)
    number = p.a.rdma("read", p.dst.remote(), p.back.part(0, _LONG))
    got = p.a.reap("Send", t.async_us)
    whole = p.back.wrong(81, 0, _LONG) == 0
    if got.good and not whole:
        t.fail("S2.5-05", "the sink of an RDMA Read that is successful", str(got), "the bytes of its source")
    hit(t, before, got.good and whole)
    if not got.good:
        row = "S2.5.2-02" if level == RD else "S2.5.3-02"
        t.require(got.descriptor == number and bool(got.errors), row, "an RDMA Read whose answer was met", got, "an error")
        if got.errors and "TRANSPORT_ERROR" not in got.errors:
            t.notice("G5.2-30", "an RDMA Read whose answer was met", got, "TRANSPORT", "A85")
        state_fits(t, p.a, got, "an RDMA Read")
        t.require(p.a.becomes(ERROR), "G5.2-30", "the state afterwards", p.a.state(), ERROR)
    alive(t)


def partition(t: Calls, vi: Vi, code: str, row: str, early: int | None = None) -> None:
    """The state that goes with VIP_NOT_REACHABLE: Error at RD and RR, with its receives flushed."""
    if code != _UNREACHABLE:
        return
    seen = vi.state()
    if seen == ERROR and early is not None:
        got = vi.reap("Recv")
        t.require(got.descriptor == early and bool(got.errors), row, "a receive when there is a partition", got, FLUSHED)
    if vi.level != UD and seen == IDLE:
        t.report(row, f"the state after {code}", seen, ERROR, erratum="A31")
    else:
        t.require(seen in (IDLE, ERROR), row, f"the state after {code}", seen, ERROR)


@vipl("C24", "Connecting with the link cut", "G3.3.2-09 G3.3.3-03 G3.3.4-07 G3.3.4-09 G3.3.7-07", errata="A30 A31 A34 A75 A92",
      tags="fault",
      variants=[*each(levels(), "what", {w: w for w in ("request", "accept", "reject")}),
                *each(levels(LEVELS, "peer_to_peer"), "what", {"peer": "peer"})])  # fmt: skip
def connecting_without_link(t: Calls) -> None:
    """VIP_NOT_REACHABLE where the NIC notices it, else VIP_TIMEOUT when the time is over, and no answer of the server's."""
    one, other = nodes(t)
    level = need_level(one, t.params["level"])
    inject(t, "nothing")
    {"request": _request, "accept": _accept, "reject": _reject, "peer": _peer}[t.params["what"]](t, one.vi(level), other.vi(level))
    alive(t)


_LIMIT = 1_500_000


def _request(t: Calls, vi: Vi, peer: Vi) -> None:
    other = peer.node
    early = vi.recv(vi.node.mem(64).part())
    waiting = other.start("VipConnectWait", LocalAddr=other.address(), Timeout=2 * _LIMIT)
    t.wait(20_000)
    with link_down(t):
        before = t.now_us
        code = ended(t, ask(vi, other.address(), _LIMIT), "G3.3.4-09", _LIMIT + t.late_us + t.async_us)
        took = t.now_us - before
        t.codes("G3.3.4-07", "VipConnectRequest over a link that is cut", code, f"{_UNREACHABLE} {TIMEOUT}",
                {"VIP_ERROR_RESOURCE": "A34"})  # fmt: skip
        if code == TIMEOUT:
            t.require(took >= _LIMIT - 16_000, "G3.3.4-09", "VIP_TIMEOUT came", took, f"not before {_LIMIT} us")
            if not vi.becomes(IDLE):
                t.report("S5.2-02", "the state after VIP_TIMEOUT", vi.state(), IDLE, erratum="A34")
        partition(t, vi, code, "G3.3.4-09", early)
    t.until(lambda: waiting.done, 2 * _LIMIT + t.late_us)
    vi.clean()


def _accept(t: Calls, vi: Vi, peer: Vi) -> None:
    asking, conn = request(vi, peer.node, timeout_us=_LIMIT)
    with link_down(t):
        accepting = peer.node.start("VipConnectAccept", conn=conn, vi=peer.vi)
        code = ended(t, accepting, "G3.3.2-09", t.async_us + 2 * t.r_a_tov_us + _LIMIT)
        t.codes("G3.3.2-09", "VipConnectAccept over a link that is cut", code, f"{_UNREACHABLE} {TIMEOUT}",
                {OK: "A92", "VIP_INVALID_PARAMETER": "A92", "VIP_ERROR_RESOURCE": "A34"})  # fmt: skip
        t.require(peer.state() != PENDING, "G3.3.2-09", "the state after VipConnectAccept", PENDING, f"{ERROR} or {IDLE}")
        partition(t, peer, code, "G3.3.2-09")
        ended(t, asking, "G3.3.4-09", _LIMIT + t.late_us + t.async_us)
    vi.clean()
    peer.clean()


def _reject(t: Calls, vi: Vi, peer: Vi) -> None:
    asking, conn = request(vi, peer.node, timeout_us=_LIMIT)
    with link_down(t):
        code = ended(t, peer.node.start("VipConnectReject", conn=conn), "G3.3.3-03", t.async_us)
        t.codes("G3.3.3-02", "VipConnectReject over a link that is cut", code, f"{OK} {_UNREACHABLE}",
                {"VIP_INVALID_PARAMETER": "A92", "VIP_ERROR_RESOURCE": "A34"})  # fmt: skip
        t.require(peer.state() == IDLE, "G3.3.3-03", "a VI of the server's that has no part in it", peer.state(), IDLE)
        ended(t, asking, "G3.3.4-09", _LIMIT + t.late_us + t.async_us)
    vi.clean()


def _peer(t: Calls, vi: Vi, peer: Vi) -> None:
    early = vi.recv(vi.node.mem(64).part())
    with link_down(t):
        meet(peer, vi.node, _LIMIT)
        t.codes("G3.3.6-01", "VipConnectPeerRequest over a link that is cut", meet(vi, peer.node, _LIMIT), OK,
                {_UNREACHABLE: "A34", "VIP_ERROR_RESOURCE": "A34"})  # fmt: skip
        code = outcome(t, vi, "G3.3.7-07", _LIMIT + t.late_us + t.async_us)
        t.codes("G3.3.7-07", "VipConnectPeerDone over a link that is cut", code, f"{_UNREACHABLE} {TIMEOUT}",
                {"VIP_INVALID_STATE": "A34", "VIP_ERROR_RESOURCE": "A34"})  # fmt: skip
        partition(t, vi, code, "G3.3.7-07", early)
        t.require(vi.state() != PENDING, "G3.3.7-07", "the state afterwards", vi.state(), IDLE)
    vi.clean()
    peer.clean()


@vipl("X25", "The link is cut in Connected and Pending",
      "S5.2-03 S5.3-01 S5.4-01 G3.3.2-09 G3.3.5-09 G3.8.1-15 G6.3.1-01 G6.3.3-01", errata="A18 A31 A34 A53", tags="fault",
      variants=each(levels(), "state", {s: s for s in ("pending", "connected", "disconnect")}))  # fmt: skip
def link_cut(t: Calls) -> None:
    """Connected: Error, what is posted comes back, the handler is called. Pending: it ends. VipDisconnect works or tells."""
    level = need(t)
    inject(t, "nothing")
    if t.params["state"] == "pending":
        vi = t.a.vi(level)
        t.b.vi(level)
        asking, _ = request(vi, t.b, timeout_us=_LIMIT)
        with link_down(t):
            code = ended(t, asking, "S5.2-03", _LIMIT + t.late_us + t.async_us)
            t.require(vi.state() != PENDING, "S5.2-03", "the state when the link was cut in Pending", vi.state(),
                      f"{ERROR} or {IDLE}")  # fmt: skip
            partition(t, vi, code, "G3.3.2-09")
        vi.clean()
    else:
        p = pair(t, level, ends=(t.a, t.b))
        transfer(p, 100, 3)
        numbers = [p.a.recv(p.back.part(64 * i, 64)) for i in range(3)]
        with link_down(t):
            if t.params["state"] == "connected":
                without_link(t, p, numbers)
            else:
                code = ended(t, p.a.node.start("VipDisconnect", vi=p.a.vi), "G3.3.5-09", t.async_us + 2 * t.r_a_tov_us)
                t.codes("G3.3.5-09", "VipDisconnect over a link that is cut", code, f"{OK} {_UNREACHABLE}")
                t.require(code != OK or p.a.state() == IDLE, "G3.3.5-09", f"the state after {code}", p.a.state(), IDLE)
                partition(t, p.a, code, "G3.3.5-09", numbers[0])
        p.a.clean()
        p.b.clean()
    alive(t)


def without_link(t: Calls, p: Pair, numbers: list[int]) -> None:
    """Both ends go on sending until they know."""
    for vi, mem in ((p.a, p.src), (p.b, p.dst)):
        end = t.now_us + t.async_us + 2 * t.r_a_tov_us
        while vi.state() == CONNECTED and t.now_us < end:
            vi.send(mem.part(0, 8))
            vi.reap("Send", t.settle_us)
            t.until(lambda: vi.state() != CONNECTED, t.quiet_us)  # noqa: B023
        seen: Any = vi.state()
        if vi.level == UD:
            t.require(seen == ERROR, "G6.3.3-01", "the state of an unreliable VI whose link was cut", seen, ERROR)
        else:
            t.require(seen == ERROR, "S5.3-01", "the state of a VI whose link was cut", seen, ERROR)
        for said in heard(t, vi):
            if said.get("code") not in (LOST, "VIP_ERROR_CATASTROPHIC"):
                t.notice("G3.8.1-15", "the code when the link was cut", said.get("code"), f"VIP_ERROR_CATASTROPHIC or {LOST}",
                         "A53")  # fmt: skip
    if p.a.state() == ERROR:
        for number in numbers:
            got = p.a.reap("Recv")
            t.require(got.descriptor == number and bool(got.errors), "S5.4-01", "a receive of a VI whose link was cut", got,
                      "an error, in order")  # fmt: skip
            t.require(bool(got.errors), "G6.3.1-01", "a receive of a VI whose link was cut", got, "an error")
