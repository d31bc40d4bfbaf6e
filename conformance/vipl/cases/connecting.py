"""Client and server: who is matched with whom, what does not fit, how long a call waits, and what both ends learn."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant
from fcvi.engine.scenario import NotThere
from fcvi.engine.upper_tester import Call

from conformance.vipl.steps.declare import LEVELS, UD, each, levels, vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import (
    BAD, CLIENT, CONNECTED, ERROR, IDLE, NOT_DONE, OK, PENDING, SIZE, STATE, TIMEOUT, Node, Vi, alive, ask_waiting, best_level,
    connect, in_error, need_level, nodes, null, pair, request, stale, transfer,
)  # fmt: skip

NO_MATCH, REJECT = "VIP_NO_MATCH", "VIP_REJECT"
GRAIN_US = 16_000  # of a clock (A75)
_THERE = b"sixteen of bytes".hex()


def timed(t: Calls, row: str, call: Call, timeout_us: int, within_us: int | None = None) -> bool:
    """A call came back by its timeout: not before it, nor much later (A75)."""
    limit = timeout_us + t.late_us if within_us is None else within_us
    if not t.until(lambda: call.done, limit + t.settle_us):
        t.require(False, row, f"{call.method} with a Timeout of {timeout_us} us does not return", "still blocked", "returns")
        return False
    took = int(call.result().get("us", 0))
    t.require(took >= timeout_us - GRAIN_US, row, f"{call.method} timed out too early", f"{took} us", f"{timeout_us} us")
    t.require(took <= limit, row, f"{call.method} timed out too late", f"{took} us", f"{limit} us at most")
    return True


def ask(vi: Vi, server: dict[str, str], timeout_us: int | None, local: dict[str, str] | None = None) -> Call:
    """Start a request."""
    return vi.node.start("VipConnectRequest", vi=vi.vi, LocalAddr=local or vi.node.address(CLIENT), RemoteAddr=server,
                         Timeout=timeout_us)  # fmt: skip


def ended(t: Calls, call: Call, row: str, within_us: int) -> str:
    """What a call that has to come back returned."""
    if not t.until(lambda: call.done, within_us):
        t.fail(row, f"{call.method} does not return", "still blocked", f"within {within_us} us")
    return call.returned()


@vipl("C12", "The host part of LocalAddr", "G3.3.1-01 G3.3.4-01 G3.3.6-02",
      variants=[Variant("wait", {"call": "VipConnectWait"}), Variant("request", {"call": "VipConnectRequest"}),
                Variant("peer", {"call": "VipConnectPeerRequest"}, "peer_to_peer")])  # fmt: skip
def foreign_host(t: Calls) -> None:
    """A host part that is another node's, or of another length, is refused as LocalAddr; the NIC's own is taken."""
    one, other = nodes(t)
    call = t.params["call"]
    row = {"VipConnectWait": "G3.3.1-01", "VipConnectRequest": "G3.3.4-01", "VipConnectPeerRequest": "G3.3.6-02"}[call]
    vi = one.vi(best_level(one))
    flipped = f"{int(one.host[:2], 16) ^ 0x5A:02x}{one.host[2:]}"
    for what, host in (("of nobody", flipped), ("cut short", one.host[:-2]), ("too long", one.host + "00")):
        if len(host) > 128:
            continue  # no agent takes more than 64 bytes
        local = {"host": host, "discriminator": CLIENT}
        params: dict[str, Any] = {"LocalAddr": local, "Timeout": 300_000}
        if call != "VipConnectWait":
            params.update(vi=vi.vi, RemoteAddr=other.address())
        t.codes(row, f"{call} with a host part {what}", one.code(call, **params), BAD)
        if call != "VipConnectWait":
            t.require(vi.state() == IDLE, row, "the state afterwards", vi.state(), IDLE)
    alive(t)


@vipl("C13", "The Timeout of VipConnectWait", "G3.3.1-03 G3.3.1-04", errata="A75",
      variants=[Variant("zero", {"us": 0}), Variant("half-a-second", {"us": 500_000}),
                Variant("infinite", {"us": None})])  # fmt: skip
def wait_timeout(t: Calls) -> None:
    """VipConnectWait returns VIP_TIMEOUT when its time is over, at once for zero; without limit it is served later."""
    one, other = nodes(t)
    us = t.params["us"]
    waiting = other.start("VipConnectWait", LocalAddr=other.address(), Timeout=us)
    if us is not None:
        if timed(t, "G3.3.1-03", waiting, us, t.settle_us if us == 0 else None):
            t.codes("G3.3.1-04", f"VipConnectWait with Timeout {us} us", waiting.returned(), TIMEOUT)
    else:
        t.until(lambda: waiting.done, 5_000_000)
        t.require(not waiting.done, "G3.3.1-03", "VipConnectWait without limit", "returned", "waits")
        vi, peer = one.vi(best_level(one)), other.vi(best_level(one))
        asking = ask(vi, other.address(), 5_000_000)
        code = ended(t, waiting, "G3.3.1-03", 2 * t.settle_us)
        if code != OK:
            t.fail("G3.3.1-03", "VipConnectWait without limit, when a client comes", code, OK)
        other.code("VipConnectAccept", conn=waiting.integer("conn"), vi=peer.vi)
        t.codes("G3.3.1-03", "the client", ended(t, asking, "G3.3.1-03", t.async_us), OK)
    alive(t)


@vipl("C14", "VipConnectAccept with a VI that is not Idle", "S1.5.3-01 G3.3.2-01")
def accept_not_idle(t: Calls) -> None:
    """A VI in Pending, Connected or Error cannot accept; the same request is then accepted by an Idle one."""
    one, other = nodes(t)
    p, broken = pair(t, ends=(one, other)), pair(t, ends=(one, other))
    busy = other.vi(p.level)
    blocked, its = request(busy, one, "33" * 16)
    fresh = one.vi(p.level)
    asking, conn = request(fresh, other, "44" * 16)
    not_idle = [(busy, "Pending"), (p.b, "Connected")]
    broken.b.send(broken.dst.part(0, 8), Control=3)  # an operation that there is not, which ends a reliable connection
    if broken.level != UD and broken.b.becomes(ERROR):
        not_idle.append((broken.b, "in Error"))
    for vi, what in not_idle:
        t.codes("G3.3.2-01", f"VipConnectAccept with a VI that is {what}", other.code("VipConnectAccept", conn=conn, vi=vi.vi),
                STATE)
    t.require(not asking.done, "G3.3.2-01", "the client of a failed accept", "returned", "waits")
    good = other.vi(p.level)
    t.codes("G3.3.2-01", "VipConnectAccept with an Idle VI", other.code("VipConnectAccept", conn=conn, vi=good.vi), OK)
    t.codes("G3.3.2-01", "its client", ended(t, asking, "G3.3.2-01", t.settle_us), OK)
    one.code("VipConnectReject", conn=its)
    ended(t, blocked, "G3.3.2-01", t.async_us)
    transfer(p, 100, 8, row="S1.5.3-01")
    alive(t, p)


_DIFFER: dict[str, dict[str, Any]] = {
    "level": {"level": True}, "size": {"size": True}, "both": {"level": True, "size": True},
}  # fmt: skip


@vipl("C15", "VipConnectAccept with attributes that do not fit",
      "S2.5-04 S4.1-05 S5.1-03 S5.1-04 G3.3.2-02 G3.3.2-04 G3.3.2-05 G6.7-09", errata="A07 A33 A47 A68",
      variants=[Variant(f"{d}-{then}", {**_DIFFER[d], "then": then}) for d in _DIFFER
                for then in ("fitting", "reject", "nothing")])  # fmt: skip
def unequal(t: Calls) -> None:
    """Level or size differ: the accept says which, the client stays blocked; then a VI that fits, a reject, or nothing."""
    one, other = nodes(t)
    has = [level for level in LEVELS if level in (one.attribs.get("ReliabilityLevelSupport") or [])]
    if t.params.get("level") and len(has) < 2:
        t.lack("the provider has one level only")
    level = best_level(one)
    second = next((x for x in has if x != level), level) if t.params.get("level") else level
    size = SIZE
    if t.params.get("size"):
        size = min(2 * SIZE, other.number("MaxTransferSize"))
        if size <= SIZE:
            t.lack("the provider has one size of 32768 and more only")
    vi, misfit = one.vi(level), other.vi(second, MaxTransferSize=size)
    misfit.recv(other.mem(64).part())
    limit = 800_000 if t.params["then"] == "nothing" else 6_000_000
    asking, conn = request(vi, other, timeout_us=limit)
    code = other.code("VipConnectAccept", conn=conn, vi=misfit.vi)
    wanted = " ".join((["VIP_INVALID_RELIABILITY_LEVEL"] if second != level else []) + (["VIP_INVALID_MTU"] if size != SIZE
                                                                                        else []))
    if code == OK and size != SIZE and second == level:
        sizes = [v.query().get("ViAttribs", {}).get("MaxTransferSize") for v in (vi, misfit)]
        t.require(sizes[0] == sizes[1], "G3.3.2-02", "connected with unequal sizes", sizes, "equal", **({"erratum": "A07"}
                  if sizes[0] == sizes[1] else {}))  # fmt: skip
        t.lack("the provider agrees on a size (A07)")
    t.codes("G3.3.2-04", "VipConnectAccept with attributes that do not fit", code, wanted)
    t.require(misfit.state() == IDLE, "S5.1-03", "the state of the VI afterwards", misfit.state(), IDLE)
    t.require(misfit.done("Recv").code == NOT_DONE, "S5.1-04", "a receive that it had", "came back", "stays queued")
    for v in (vi, misfit):
        t.require(v.state() != CONNECTED, "S2.5-04", "the state of a VI that differs from its peer", CONNECTED, f"not {CONNECTED}")
    t.wait(t.quiet_us)
    if t.params["then"] != "nothing":
        t.require(not asking.done, "G3.3.2-05", "the client of a failed accept", "returned", "waits")
        t.require(vi.state() == PENDING, "G3.3.2-05", "its state", vi.state(), PENDING)
    if t.params["then"] == "fitting":
        good = other.vi(level)
        t.codes("S4.1-05", "VipConnectAccept with a VI that fits", other.code("VipConnectAccept", conn=conn, vi=good.vi), OK)
        t.codes("S4.1-05", "the client", ended(t, asking, "S4.1-05", t.settle_us), OK)
    elif t.params["then"] == "reject":
        t.codes("S4.1-05", "VipConnectReject after a failed accept", other.code("VipConnectReject", conn=conn), OK)
        t.codes("S4.1-05", "the client", ended(t, asking, "S4.1-05", t.settle_us), REJECT)
    else:
        code = ended(t, asking, "G6.7-09", limit + 2 * t.late_us)
        t.codes("G6.7-09", "the client that nobody answers", code, TIMEOUT)
        t.require(vi.becomes(IDLE), "G6.7-09", "its state", vi.state(), IDLE)
    alive(t)


@vipl("C16", "A late accept", "S5.1-03 G3.3.2-07 G6.7-07", errata="A33 A92")
def late_accept(t: Calls) -> None:
    """The client has timed out when the server accepts: VIP_TIMEOUT, and the VI does not stay Pending."""
    one, other = nodes(t)
    vi, peer = one.vi(best_level(one)), other.vi(best_level(one))
    asking, conn = request(vi, other, timeout_us=300_000)
    t.codes("G3.3.2-07", "the client that nobody answers", ended(t, asking, "G3.3.2-07", t.settle_us + 300_000 + t.late_us),
            TIMEOUT)
    t.wait(200_000)
    accepting = other.start("VipConnectAccept", conn=conn, vi=peer.vi)
    code = ended(t, accepting, "G6.7-07", t.async_us + 2 * t.r_a_tov_us)
    t.codes("G6.7-07", "VipConnectAccept after the client timed out", code, TIMEOUT, {BAD: "A92", "VIP_NOT_REACHABLE": "A33"})
    t.require(peer.state() != PENDING, "S5.1-03", "the state after a late accept", peer.state(), f"{IDLE}, or the standard's own")
    t.require(vi.state() != CONNECTED, "G6.7-07", "the client's state", vi.state(), IDLE)
    alive(t)


@vipl("C17", "ConnHandles that are used up", "G3.3.2-08 G3.3.3-02", errata="A51")
def used_conn(t: Calls) -> None:
    """VipConnectAccept and VipConnectReject refuse a ConnHandle that was accepted or rejected, and NULL."""
    one, other = nodes(t)
    level = best_level(one)
    vi, peer, spare = one.vi(level), other.vi(level), other.vi(level)
    asking, accepted = request(one.vi(level), other)
    t.codes("G3.3.2-08", "VipConnectAccept", other.code("VipConnectAccept", conn=accepted, vi=other.vi(level).vi), OK)
    t.codes("G3.3.2-08", "its client", ended(t, asking, "G3.3.2-08", t.settle_us), OK)
    asking, rejected = request(vi, other)
    t.codes("G3.3.3-02", "VipConnectReject", other.code("VipConnectReject", conn=rejected), OK)
    t.codes("G3.3.3-02", "its client", ended(t, asking, "G3.3.3-02", t.settle_us), REJECT)
    for conn, what in ((accepted, "accepted"), (rejected, "rejected"), (None, "NULL")):
        uses: tuple[tuple[str, dict[str, int], str], ...] = (
            ("VipConnectAccept", {"vi": spare.vi}, "G3.3.2-08"), ("VipConnectReject", {}, "G3.3.3-02"),
        )  # fmt: skip
        for method, params, row in uses:
            if conn is None:
                null(other, row, "conn", method, **params)
            else:
                stale(t, row, f"{method} ({what})", other.code(method, conn=conn, **params))
    connect(vi, peer)
    alive(t)


@vipl("C18", "A late reject", "G6.7-08")
def late_reject(t: Calls) -> None:
    """The client has timed out when the server rejects: VIP_SUCCESS."""
    one, other = nodes(t)
    vi = one.vi(best_level(one))
    asking, conn = request(vi, other, timeout_us=300_000)
    t.codes("G6.7-08", "the client that nobody answers", ended(t, asking, "G6.7-08", t.settle_us + 300_000 + t.late_us), TIMEOUT)
    t.wait(200_000)
    t.codes("G6.7-08", "VipConnectReject after the client timed out", other.code("VipConnectReject", conn=conn), OK)
    alive(t)


@vipl("C19", "VipConnectRequest with Timeout 0", "G3.3.4-03", errata="A03")
def zero_timeout(t: Calls) -> None:
    """Refused at once though a server waits; the server hears nothing, and the VI stays Idle."""
    one, other = nodes(t)
    vi = one.vi(best_level(one))
    waiting = other.start("VipConnectWait", LocalAddr=other.address(), Timeout=500_000)
    t.wait(20_000)
    asking = ask(vi, other.address(), 0)
    code = ended(t, asking, "G3.3.4-03", t.settle_us)
    t.codes("G3.3.4-03", "VipConnectRequest with Timeout 0", code, BAD, {TIMEOUT: "A03"})
    t.require(vi.state() == IDLE, "G3.3.4-03", "the state afterwards", vi.state(), IDLE)
    t.codes("G3.3.4-03", "the server", ended(t, waiting, "G3.3.4-03", 2 * t.settle_us), TIMEOUT)
    alive(t)


@vipl("C20", "A request that no wait fits", "S5.2-02 G3.3-07 G3.3.4-02 G3.3.4-07 G6.7-04 G6.7-05", errata="A24 A34 A48",
      variants=[Variant(w, {"what": w})
                for w in ("no-wait", "other-discriminator", "used-up", "wait-later", "local-only")])  # fmt: skip
def no_match(t: Calls) -> None:
    """The client gets VIP_NO_MATCH well before its timeout, and its VI is Idle; a wait that begins later gets nothing."""
    one, other = nodes(t)
    level, what = best_level(one), t.params["what"]
    vi = one.vi(level)
    mem = one.mem(64)
    early = vi.recv(mem.part())
    waits: list[Call] = []
    row = {"other-discriminator": "G3.3-07", "local-only": "G3.3-07", "used-up": "G6.7-04",
           "wait-later": "G6.7-05"}.get(what, "G3.3.4-07")
    if what == "used-up":
        connect(one.vi(level), other.vi(level), _THERE)
    elif what in ("other-discriminator", "local-only"):
        waits.append(other.start("VipConnectWait", LocalAddr=other.address("55" * 16), Timeout=1_500_000))
        t.wait(20_000)
    asking = ask(vi, other.address(_THERE), 3_000_000, one.address("55" * 16) if what == "local-only" else None)
    if what == "wait-later":
        t.wait(300_000)
        waits.append(other.start("VipConnectWait", LocalAddr=other.address(_THERE), Timeout=500_000))
    code = ended(t, asking, row, 3_000_000 + 2 * t.late_us)
    if what == "wait-later" and waits[0].done and waits[0].returned() == OK:
        t.report(row, "a wait that came later took the request", OK, "nothing", erratum="A24")
    else:
        silent = {"VIP_NOT_REACHABLE": "A24"} if what in ("no-wait", "wait-later") else {}
        t.codes(row, "VipConnectRequest that no wait fits", code, NO_MATCH, {REJECT: "A24", TIMEOUT: "A24", **silent})
        if code == "VIP_NOT_REACHABLE":
            vi.clean()  # its state is that of a partition (A31)
        else:
            t.require(vi.becomes(IDLE), "S5.2-02", "the state afterwards", vi.state(), IDLE)
            t.require(vi.done("Recv").code == NOT_DONE, "S5.2-02", "a receive posted before", "came back", "stays queued")
        for wait in waits:
            t.codes(row, "the wait of another", ended(t, wait, row, 3 * t.settle_us), TIMEOUT)
    if what == "no-wait":
        code = ended(t, ask(vi, {"host": "", "discriminator": _THERE}, 1_000_000), "G3.3.4-02", 3 * t.settle_us)
        t.codes("G3.3.4-02", "VipConnectRequest with an empty host part", code, f"{BAD} {NO_MATCH}", {TIMEOUT: "A48",
                "VIP_NOT_REACHABLE": "A48"})  # fmt: skip
    del early
    alive(t)


@vipl("C21", "A request that is rejected", "S5.2-02 G3.3-08 G3.3.3-01", variants=levels())
def rejected(t: Calls) -> None:
    """The client learns at once that it was rejected and is Idle; the next request on the same discriminator is accepted."""
    one, other = nodes(t)
    level = need_level(one, t.params["level"])
    vi, mem = one.vi(level), one.mem(64)
    vi.recv(mem.part())
    asking, conn = request(vi, other)
    t.codes("G3.3.3-01", "VipConnectReject", other.code("VipConnectReject", conn=conn), OK)
    t.codes("G3.3.3-01", "the client that was rejected", ended(t, asking, "G3.3.3-01", t.settle_us), REJECT)
    t.require(vi.becomes(IDLE), "S5.2-02", "its state", vi.state(), IDLE)
    t.require(vi.done("Recv").code == NOT_DONE, "S5.2-02", "a receive posted before", "came back", "stays queued")
    peer = other.vi(level)
    connect(vi, peer)
    t.require(vi.state() == CONNECTED, "G3.3-08", "the state after the next request", vi.state(), CONNECTED)
    alive(t, pair(t, level, ends=(one, other)))


@vipl("C22", "A request that nobody answers in time", "S5.2-02 G3.3.4-06", errata="A34 A75",
      variants=[Variant("thinks", {"what": "thinks"}), Variant("no-node", {"what": "no-node"})])  # fmt: skip
def unanswered(t: Calls) -> None:
    """VIP_TIMEOUT when the time is over, not before; a receive waits on, and the VI can be connected afterwards."""
    one, other = nodes(t)
    vi, peer = one.vi(best_level(one)), other.vi(best_level(one))
    vi.recv(one.mem(64).part())
    row = "G3.3.4-06"
    if t.params["what"] == "thinks":
        asking, conn = request(vi, other, timeout_us=700_000)
        if timed(t, row, asking, 700_000):
            t.codes(row, "VipConnectRequest whose server thinks", asking.returned(), TIMEOUT)
        other.code("VipConnectReject", conn=conn)
    else:
        nobody = f"{other.host[:-2]}{int(other.host[-2:], 16) ^ 0x77:02x}"
        asking = ask(vi, {"host": nobody, "discriminator": _THERE}, 700_000)
        code = ended(t, asking, row, 700_000 + 2 * t.late_us)
        t.codes(row, "VipConnectRequest to an address where nothing is", code, f"{TIMEOUT} VIP_NOT_REACHABLE {NO_MATCH}")
    if vi.state() != IDLE:
        t.notice("S5.2-02", "the state after the timeout", vi.state(), IDLE, "A34")
        vi.clean()
    else:
        t.require(vi.done("Recv").code == NOT_DONE, "S5.2-02", "a receive posted before", "came back", "stays queued")
    t.require(vi.state() == IDLE, "S5.2-02", "the state", vi.state(), IDLE)
    connect(vi, peer)
    alive(t)


@vipl("C23", "Connecting a VI that is not Idle", "S1.5.3-01 S5-01 G3.3.4-08 G3.3.6-05")
def not_idle(t: Calls) -> None:
    """VipConnectRequest and VipConnectPeerRequest refuse a VI in Pending, Connected and Error; its state is as before."""
    one, other = nodes(t)
    p = pair(t, ends=(one, other))
    busy = one.vi(p.level)
    blocked, conn = request(busy, other, "33" * 16)

    def refused(vi: Vi, state: str) -> None:
        t.codes("G3.3.4-08", f"VipConnectRequest of a VI in {state}", ended(t, ask(vi, other.address(_THERE), 300_000), "G3.3.4-08",
                2 * t.settle_us), STATE)  # fmt: skip
        if t.pics.get("peer_to_peer"):
            code = vi.code("VipConnectPeerRequest", LocalAddr=one.address(CLIENT), RemoteAddr=other.address(_THERE),
                           Timeout=300_000)
            t.codes("G3.3.6-05", f"VipConnectPeerRequest of a VI in {state}", code, STATE)
        t.require(vi.state() == state, "S5-01", "the state afterwards", vi.state(), state)

    refused(busy, PENDING)
    refused(p.a, CONNECTED)
    transfer(p, 99, 4, row="S1.5.3-01")
    other.code("VipConnectReject", conn=conn)
    ended(t, blocked, "S5-01", t.async_us)
    alive(t, p)
    if in_error(p):
        refused(p.a, "VIP_STATE_ERROR")


def _told_apart(t: Calls, one: Node, other: Node, words: list[str]) -> None:
    """Of two waits the one whose discriminator was asked for returns, and none by other discriminators."""
    level = best_level(one)
    waits = [other.start("VipConnectWait", LocalAddr=other.address(word), Timeout=3_000_000) for word in words[:2]]
    asking = ask_waiting(one.vi(level), other.address(words[1]), waits[1], 3_000_000)
    t.require(waits[1].done, "S4.1-02", "the wait on the discriminator that was asked for", "still blocked", "returns")
    t.require(not waits[0].done, "S4.3-01", "a wait on another discriminator", "returned", "waits")
    if waits[1].done and waits[1].returned() == OK:
        peer = other.vi(level)
        t.codes("G3.3.1-02", "VipConnectAccept", other.code("VipConnectAccept", conn=waits[1].integer("conn"), vi=peer.vi), OK)
        t.codes("G3.3.1-02", "the client", ended(t, asking, "G3.3.1-02", t.settle_us), OK)
    for word in words[2:]:
        ask(one.vi(level), other.address(word), 300_000)
        t.until(lambda: waits[0].done, 300_000)
    t.require(not waits[0].done or waits[0].returned() != OK, "S4.3-01", "a wait on another discriminator", "returned", "waits")


@vipl("K1", "Discriminators", "S4.1-02 S4.3-01 G3.3-04 G3.3-07 G3.3.1-02", errata="A41 A48 A50")
def discriminators(t: Calls) -> None:
    """Of 16 bytes and of the longest: equal ones match, different ones do not; two waits are told apart; a longer one fails.

    They are bytes of a length (G 4.9), no text: they differ behind a zero, or in the case of a letter.
    """
    one, other = nodes(t)
    level, there = best_level(one), other.number("MaxDiscriminatorLen")
    most = min(one.number("MaxDiscriminatorLen"), there)
    lengths = [16, most] if 16 < most <= 4000 else [16]
    for length in lengths:
        word = bytes((7 * i + 1) & 0xFF for i in range(length)).hex()
        connect(one.vi(level), other.vi(level), word)
    for length in lengths:
        same = b"\x0f\0" + b"A" * (length - 2)
        differ = ((length - 1, b"a"), (length // 2, b"\x10"), (0, b"\x10"))  # in one byte
        _told_apart(t, one, other, [same.hex(), *((same[:at] + byte + same[at + 1:]).hex() for at, byte in differ)])
    if there <= 4000:
        code = ended(t, other.start("VipConnectWait", LocalAddr=other.address("ab" * (there + 1)), Timeout=100_000), "G3.3-04",
                     3 * t.settle_us)
        t.codes("G3.3-04", "VipConnectWait with a discriminator that is too long", code, BAD,
                {"VIP_ERROR_RESOURCE": "A48", TIMEOUT: "A48"})
    alive(t)


@vipl("K2", "RemoteAddr of VipConnectWait", "G3.3-07 G3.3.1-05 G3.3.1-07 G4.9-01", errata="A41",
      variants=[Variant(str(n), {"length": n}) for n in (16, 17, 0)])  # fmt: skip
def remote_addr(t: Calls) -> None:
    """RemoteAddr is the client's LocalAddr byte by byte: host, lengths, discriminator; nothing is written past the room."""
    one, other = nodes(t)
    most = min(node.number("MaxDiscriminatorLen") for node in (one, other))
    length = t.params["length"] or most
    if length == 17 and most == 16:  # the least of 3.3, which keeps no phase open
        raise NotThere("MaxDiscriminatorLen is 16")
    if not 16 <= length <= min(most, 4000):
        t.lack(f"MaxDiscriminatorLen is {most}")
    mine = one.address(bytes((13 * i + 5) & 0xFF for i in range(length)).hex())
    vi, peer = one.vi(best_level(one)), other.vi(best_level(one))
    waiting = other.start("VipConnectWait", LocalAddr=other.address(), Timeout=3_000_000)
    asking = ask_waiting(vi, other.address(), waiting, 3_000_000, mine)
    t.codes("G3.3-07", "VipConnectWait", ended(t, waiting, "G3.3-07", 2 * t.settle_us), OK)
    seen = waiting.result().get("RemoteAddr", {})
    t.require(seen.get("host") == mine["host"], "G3.3.1-05", "the host of RemoteAddr", seen.get("host"), mine["host"])
    for row in ("G3.3.1-05", "G4.9-01"):
        t.require(seen.get("discriminator") == mine["discriminator"], row, "the discriminator of RemoteAddr",
                  seen.get("discriminator"), mine["discriminator"])  # fmt: skip
    t.require(waiting.result().get("guard") is not False, "G3.3.1-05", "bytes past the room for RemoteAddr", "written", "untouched")
    t.codes("G3.3.1-07", "VipConnectAccept", other.code("VipConnectAccept", conn=waiting.integer("conn"), vi=peer.vi), OK)
    t.codes("G3.3.1-07", "the client", ended(t, asking, "G3.3.1-07", t.settle_us), OK)
    alive(t)


@vipl("K3", "RemoteViAttribs",
      "S5.2-01 G3.2.1-01 G3.3.1-06 G3.3.2-03 G3.3.4-05 G3.3.7-03 G3.7.3-01 G6.7-06", errata="A93 A110",
      variants=each([Variant("server", {"model": "server"}), Variant("peer", {"model": "peer"}, "peer_to_peer")], "write",
                    {"enabled": True, "off": False}))  # fmt: skip
def remote_attribs(t: Calls) -> None:
    """Each end learns level, size and enables of the other's VI, and keeps its own; tags and enables need not match."""
    one, other = nodes(t)
    level, on = best_level(one), t.params["write"]
    vi = one.vi(level, EnableRdmaWrite=on)
    peer = other.vi(level, EnableRdmaWrite=not on,
                    Ptag=other.ptag_new() if other.ptag is not None else None)  # fmt: skip
    if t.params["model"] == "server":
        asking, conn = request(vi, other)
        wait = next(c for c in reversed(t.made) if c.method == "VipConnectWait" and c.done and c.returned() == OK)
        seen_there = wait.result().get("RemoteViAttribs") or {}
        code = other.code("VipConnectAccept", conn=conn, vi=peer.vi)
        for row in ("G3.3.2-03", "G6.7-06"):
            t.codes(row, "VipConnectAccept with other enables and another tag", code, OK)
        t.codes("S5.2-01", "VipConnectRequest", ended(t, asking, "S5.2-01", t.settle_us), OK)
        seen_here = asking.result().get("RemoteViAttribs") or {}
        rows = ("G3.3.1-06", "G3.3.4-05")
    else:
        for v, n, o in ((vi, one, other), (peer, other, one)):
            code = v.code("VipConnectPeerRequest", LocalAddr=n.address(), RemoteAddr=o.address(), Timeout=3_000_000)
            t.codes("S5.2-01", "VipConnectPeerRequest", code, OK)
        told = [n.start("VipConnectPeerWait", vi=v.vi) for v, n in ((vi, one), (peer, other))]
        for call in told:
            code = ended(t, call, "G3.3.7-03", 5 * t.settle_us)
            for row in ("G3.3.7-03", "G6.7-06"):
                t.codes(row, "VipConnectPeerWait with other enables and another tag", code, OK)
        seen_here, seen_there = (call.result().get("RemoteViAttribs") or {} for call in told)
        rows = ("G3.3.7-03", "G3.3.7-03")
    for row, seen, write in ((rows[0], seen_there, on), (rows[1], seen_here, not on)):
        for name, wanted in (("ReliabilityLevel", level), ("MaxTransferSize", SIZE), ("EnableRdmaWrite", write),
                             ("EnableRdmaRead", False)):
            one_flag = t.pics.get("tcp") and name == "ReliabilityLevel" and {seen.get(name), wanted} <= {*LEVELS[1:]}
            t.require(seen.get(name) == wanted, row, f"{name} of RemoteViAttribs", seen.get(name), wanted, **({"erratum": "A110"}
                      if one_flag else {}))  # fmt: skip
    for v, write in ((vi, on), (peer, not on)):
        t.require(v.becomes(CONNECTED), "S5.2-01", "the state", v.state(), CONNECTED)
        own = (v.query().get("ViAttribs") or {}).get("EnableRdmaWrite")
        t.require(own is write, "G3.7.3-01", "EnableRdmaWrite of a connected VI by VipQueryVi", own, write)
    alive(t)


@vipl("K5", "Many rounds on the same two VIs", "S3.2.2-01 S4.1-01 S4.2-01", errata="A90",
      variants=levels(), tags="soak")  # fmt: skip
def rounds(t: Calls) -> None:
    """Connect, send, disconnect, again and again: each message belongs to its round, and so does one that the disconnect
    overtakes. A former peer's Sends do not arrive."""
    one, other = nodes(t)
    p = pair(t, need_level(one, t.params["level"]), ends=(one, other))
    third = other.vi(p.level)
    transfer(p, 64, 1)
    for round_ in range(12):
        for vi in (p.a, p.b):
            vi.clean()
        early = p.b.recv(p.dst.part(0, 64)) if round_ % 2 else None  # in Idle, and for the connection that follows (S 5.1)
        connect(p.a, p.b)
        p.src.fill(round_ + 2, 0, 64)
        number = p.b.recv(p.dst.part(0, 64)) if early is None else early
        p.a.send(p.src.part(0, 64))
        p.a.reap("Send")
        got = p.b.reap("Recv", t.settle_us if p.level != UD else t.settle_us // 4)
        if got.code == NOT_DONE and p.level == UD:
            continue
        t.require(got.good and got.descriptor == number and p.dst.wrong(round_ + 2, 0, 64) == 0, "S4.1-01", f"round {round_}", got,
                  "the message of this round")  # fmt: skip
        p.a.send(p.src.part(64, 64))  # the disconnect of the next round may overtake it
    for vi in (p.a,):
        vi.clean()
    connect(p.a, third)
    mark = p.a.recv(p.back.part(0, 64))
    p.b.send(p.dst.part(0, 64))
    p.b.reap("Send", t.quiet_us)
    t.wait(t.quiet_us)
    got = p.a.done("Recv")
    for row in ("S3.2.2-01", "S4.2-01"):
        t.require(got.code == NOT_DONE, row, "a Send of the former peer", got, "does not arrive")
    del mark
    alive(t)


@vipl("K6", "Timeouts of the connect calls", "S5.2-02 G3.3.1-03 G3.3.4-04 G3.3.6-04 G3.3.8-01", errata="A34 A75",
      variants=[Variant("wait", {"what": "wait"}), Variant("request", {"what": "request"}),
                Variant("infinite", {"what": "infinite"}),
                Variant("peer", {"what": "peer"}, "peer_to_peer")])  # fmt: skip
def timeouts(t: Calls) -> None:
    """Each call that times out does so not before its time and not much later; VIP_INFINITE waits."""
    one, other = nodes(t)
    vi, peer = one.vi(best_level(one)), other.vi(best_level(one))
    what = t.params["what"]
    if what == "wait":
        timed(t, "G3.3.1-03", other.start("VipConnectWait", LocalAddr=other.address(), Timeout=300_000), 300_000)
    elif what == "request":
        asking, conn = request(vi, other, timeout_us=400_000)
        timed(t, "S5.2-02", asking, 400_000)
        t.require(vi.becomes(IDLE), "S5.2-02", "the state after the timeout", vi.state(), IDLE)
        other.code("VipConnectReject", conn=conn)
    elif what == "infinite":
        waiting = other.start("VipConnectWait", LocalAddr=other.address(), Timeout=None)
        asking = ask_waiting(vi, other.address(), waiting, None)
        ended(t, waiting, "G3.3.4-04", 2 * t.settle_us)
        t.wait(1_500_000)
        if asking.done and asking.returned() == "VIP_NOT_REACHABLE":  # timers of the wire's own ended it (FC-VI 8.5.3)
            t.notice("G3.3.4-04", "VipConnectRequest without limit", asking.returned(), "waits", "A34")
            alive(t)
            return
        t.require(not asking.done, "G3.3.4-04", "VipConnectRequest without limit", "returned", "waits")
        t.codes("G3.3.4-04", "VipConnectAccept", other.code("VipConnectAccept", conn=waiting.integer("conn"), vi=peer.vi), OK)
        t.codes("G3.3.4-04", "VipConnectRequest without limit", ended(t, asking, "G3.3.4-04", 2 * t.settle_us), OK)
    else:
        vi.code("VipConnectPeerRequest", LocalAddr=one.address(), RemoteAddr=other.address(), Timeout=400_000)
        begun = t.now_us
        waiting = one.start("VipConnectPeerWait", vi=vi.vi)
        t.until(lambda: waiting.done, 400_000 + 2 * t.late_us)
        took = t.now_us - begun
        t.require(waiting.done and took >= 400_000 - 60_000, "G3.3.8-01", "VipConnectPeerWait", f"{took} us", "until 400000 us")
        if waiting.done:
            t.codes("G3.3.6-04", "VipConnectPeerWait after the timeout", waiting.returned(), TIMEOUT)
    alive(t)


@vipl("K8", "The VI that accepts", "S4.1-04 G3.3.2-05 G3.3.2-06 G3.7.2-04",
      variants=[Variant(w, {"what": w}) for w in ("before", "after", "changed")])  # fmt: skip
def which_vi(t: Calls) -> None:
    """The VI was there before the request, or is made after it, or its attributes are changed after an accept that failed."""
    one, other = nodes(t)
    level, what = best_level(one), t.params["what"]
    if what == "changed":
        other.need("VipSetViAttributes")
    early = other.vi(level)
    vi = one.vi(level)
    asking, conn = request(vi, other)
    peer = other.vi(level) if what == "after" else early
    if what == "changed":
        size = min(2 * SIZE, other.number("MaxTransferSize"))
        if size == SIZE:
            t.lack("the provider has one size only")
        misfit = other.vi(level, MaxTransferSize=size)
        code = other.code("VipConnectAccept", conn=conn, vi=misfit.vi)
        if code == OK:
            t.lack("the provider agrees on a size (A07)")
        t.codes("G3.3.2-05", "VipConnectAccept with another size", code, "VIP_INVALID_MTU")
        code = misfit.code("VipSetViAttributes", ViAttribs={"Ptag": other.ptag, "ReliabilityLevel": level, "MaxTransferSize": SIZE})
        t.codes("G3.7.2-04", "VipSetViAttributes", code, OK)
        peer = misfit
    row = "G3.3.2-06" if what == "changed" else "S4.1-04"
    t.codes(row, "VipConnectAccept", other.code("VipConnectAccept", conn=conn, vi=peer.vi), OK)
    t.codes(row, "the client", ended(t, asking, row, t.settle_us), OK)
    alive(t)


@vipl("K9", "Two requests answered in reverse", "G3.3.1-07 G6.7-04", errata="A108")
def reverse(t: Calls) -> None:
    """Two clients, two waits: each wait takes one request, and each answer reaches its own client."""
    one, other = nodes(t)
    level = best_level(one)
    first, second = one.vi(level), one.vi(level)
    asked = [request(vi, other, "66" * 15 + f"{i:02x}") for i, vi in enumerate((first, second))]
    peer = other.vi(level)
    t.codes("G3.3.1-07", "VipConnectReject of the later one", other.code("VipConnectReject", conn=asked[1][1]), OK)
    t.codes("G3.3.1-07", "the later client", ended(t, asked[1][0], "G3.3.1-07", t.settle_us), REJECT)
    t.require(not asked[0][0].done, "G3.3.1-07", "the earlier client", "returned", "waits")
    t.codes("G3.3.1-07", "VipConnectAccept of the earlier one", other.code("VipConnectAccept", conn=asked[0][1], vi=peer.vi), OK)
    t.codes("G3.3.1-07", "the earlier client", ended(t, asked[0][0], "G3.3.1-07", t.settle_us), OK)
    third = one.vi(level)
    code = ended(t, ask(third, other.address("66" * 15 + "00"), 1_000_000), "G6.7-04", 3 * t.settle_us)
    t.codes("G6.7-04", "a third client on a wait that is used up", code, NO_MATCH, {TIMEOUT: "A24", REJECT: "A24"})
    alive(t)
