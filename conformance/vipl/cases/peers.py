"""Peers: two requests that meet, and what PeerDone and PeerWait tell."""

from __future__ import annotations

from fcvi.engine.case import Variant

from conformance.vipl.cases.connecting import NO_MATCH, ask, ended
from conformance.vipl.steps.declare import LEVELS, vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import (
    BAD, CLIENT, CONNECTED, ERROR, IDLE, NOT_DONE, OK, PENDING, SIZE, STATE, TIMEOUT, Node, Vi, alive, best_level, nodes, pair,
)  # fmt: skip

_D = b"where peers meet".hex()


def meet(vi: Vi, there: Node, timeout_us: int | None = 5_000_000, discriminator: str = _D) -> str:
    """VipConnectPeerRequest, and what it returned."""
    return vi.code("VipConnectPeerRequest", LocalAddr=vi.node.address(CLIENT), RemoteAddr=there.address(discriminator),
                   Timeout=timeout_us)  # fmt: skip


def outcome(t: Calls, vi: Vi, row: str, within_us: int) -> str:
    """Poll VipConnectPeerDone until there is one."""
    codes = [NOT_DONE]

    def there() -> bool:
        codes.append(vi.code("VipConnectPeerDone"))
        return codes[-1] != NOT_DONE

    end = t.now_us + within_us
    while not there() and t.now_us < end:
        t.wait(5000)
    t.require(codes[-1] != NOT_DONE, row, "VipConnectPeerDone", NOT_DONE, f"an outcome within {within_us} us")
    return codes[-1]


@vipl("C25", "Timeout of VipConnectPeerRequest", "G3.3.6-01 G3.3.6-03", applies="peer_to_peer")
def peer_timeout(t: Calls) -> None:
    """Zero is refused; the call returns at once, and without limit a late peer is still met."""
    one, other = nodes(t)
    vi, peer = one.vi(best_level(one)), other.vi(best_level(one))
    t.codes("G3.3.6-03", "VipConnectPeerRequest with Timeout 0", meet(vi, other, 0), BAD)
    t.require(vi.state() == IDLE, "G3.3.6-03", "the state afterwards", vi.state(), IDLE)
    before = t.now_us
    t.codes("G3.3.6-01", "VipConnectPeerRequest", meet(vi, other, None), OK)
    t.require(t.now_us - before < t.settle_us, "G3.3.6-01", "VipConnectPeerRequest waits", t.now_us - before, "returns at once")
    t.wait(1_500_000)
    t.codes("G3.3.6-03", "VipConnectPeerDone of a request without limit", vi.code("VipConnectPeerDone"), NOT_DONE)
    t.codes("G3.3.6-03", "the late peer", meet(peer, one), OK)
    for v in (vi, peer):
        t.codes("G3.3.6-03", "VipConnectPeerDone", outcome(t, v, "G3.3.6-03", 5 * t.settle_us), OK)
    alive(t)


@vipl("C26", "VipConnectPeerDone before, during and after", "S5.2-02 G3.3-05 G3.3.6-01 G3.3.6-04 G3.3.7-01 G3.3.7-02",
      applies="peer_to_peer", variants=[Variant("met", {"met": True}), Variant("alone", {"met": False})])  # fmt: skip
def peer_done(t: Calls) -> None:
    """VIP_NOT_DONE while the request waits, then VIP_SUCCESS at both, or VIP_TIMEOUT and Idle; a receive waits on. The next request
    of that VI has an outcome of its own."""
    one, other = nodes(t)
    vi, peer = one.vi(best_level(one)), other.vi(best_level(one))
    vi.recv(one.mem(64).part())
    t.codes("G3.3.6-01", "VipConnectPeerRequest", meet(vi, other, 600_000), OK)
    before = t.now_us
    t.codes("G3.3.7-02", "VipConnectPeerDone while the request waits", vi.code("VipConnectPeerDone"), NOT_DONE)
    t.require(t.now_us - before < t.settle_us, "G3.3.7-01", "VipConnectPeerDone blocks", t.now_us - before, "returns at once")
    t.require(vi.state() == PENDING, "G3.3-05", "the state while the request waits", vi.state(), PENDING)
    if t.params["met"]:
        t.codes("G3.3-05", "the other request", meet(peer, one), OK)
        for v in (vi, peer):
            t.codes("G3.3-05", "VipConnectPeerDone", outcome(t, v, "G3.3-05", 5 * t.settle_us), OK)
            t.require(v.state() == CONNECTED, "G3.3-05", "the state", v.state(), CONNECTED)
    else:
        t.codes("G3.3.6-04", "VipConnectPeerDone of a request that nobody met",
                outcome(t, vi, "G3.3.6-04", 600_000 + 2 * t.late_us),
                TIMEOUT)  # fmt: skip
        t.require(vi.becomes(IDLE), "G3.3.6-04", "the state after the timeout", vi.state(), IDLE)
        t.require(vi.done("Recv").code == NOT_DONE, "S5.2-02", "a receive posted before", "came back", "stays queued")
        meet(vi, other), meet(peer, one)
        for v in (vi, peer):
            t.codes("G3.3-05", "VipConnectPeerDone of the next request", outcome(t, v, "G3.3-05", 5 * t.settle_us), OK)
        _ended(t, one, other)
    alive(t)


def _ended(t: Calls, one: Node, other: Node) -> None:
    """A request that ended by its time, or by VipDisconnect, meets nobody who comes later."""
    for row, ends in (("G3.3.6-04", "its time"), ("G3.3.5-06", "VipDisconnect")):
        vi, late = one.vi(best_level(one)), other.vi(best_level(one))
        meet(vi, other, 300_000 if ends == "its time" else 5_000_000)
        if ends == "its time":
            outcome(t, vi, row, 300_000 + 2 * t.late_us)
        else:
            vi.disconnect()
        meet(late, one, 300_000)
        code = outcome(t, late, row, 300_000 + 2 * t.late_us)
        t.codes(row, f"a peer that comes when a request has ended by {ends}", code, f"{TIMEOUT} {NO_MATCH}")
        t.require(vi.state() == IDLE, row, f"the state of a VI whose request has ended by {ends}", vi.state(), IDLE)


@vipl("C27", "PeerDone and PeerWait without a request", "G3.3.5-06 G3.3.7-05", errata="A32 A74", applies="peer_to_peer")
def peer_state(t: Calls) -> None:
    """VIP_INVALID_STATE before any request; the first call after the outcome tells it, the next VIP_INVALID_STATE."""
    one, other = nodes(t)
    vi, peer = one.vi(best_level(one)), other.vi(best_level(one))
    for method in ("VipConnectPeerDone", "VipConnectPeerWait"):
        call = one.start(method, vi=vi.vi)
        t.codes("G3.3.7-05", f"{method} without a request", ended(t, call, "G3.3.7-05", t.settle_us), STATE)
    t.codes("G3.3.7-05", "VipConnectPeerRequest", meet(vi, other), OK)
    t.codes("G3.3.7-05", "VipConnectPeerRequest", meet(peer, one), OK)
    t.until(lambda: vi.state() != PENDING, 5 * t.settle_us)
    code = outcome(t, vi, "G3.3.7-05", 5 * t.settle_us)
    t.codes("G3.3.7-05", "the first VipConnectPeerDone after the outcome", code, OK)
    t.codes("G3.3.7-05", "the second one", vi.code("VipConnectPeerDone"), STATE, {OK: "A32"})
    taken_back(t, one, other)
    alive(t)


def taken_back(t: Calls, one: Node, other: Node) -> None:
    """VipDisconnect of a VI whose request waits: it is in Pending no more, so that Done and Wait are refused. How the request ended
    may be told instead (A32, A74)."""
    for method in ("VipConnectPeerDone", "VipConnectPeerWait"):
        vi = one.vi(best_level(one))
        meet(vi, other)
        t.codes("G3.3.5-06", "VipDisconnect of a VI whose request waits", vi.disconnect(), OK)
        once = (TIMEOUT, NO_MATCH, "VIP_REJECT", "VIP_ERROR_RESOURCE")
        for erratum in ("A74", "A32"):
            code = ended(t, one.start(method, vi=vi.vi), "G3.3.7-05", t.settle_us)
            t.codes("G3.3.7-05", f"{method} behind VipDisconnect", code, STATE, dict.fromkeys(once, erratum))


@vipl("C28", "Peers that do not fit", "S2.5-04 S5.2-02 G3.3.7-04", errata="A34 A68 A91", applies="peer_to_peer",
      variants=[Variant("level", {"what": "level"}), Variant("size", {"what": "size"})])  # fmt: skip
def peers_differ(t: Calls) -> None:
    """Both learn what differs, or one of them and the other its timeout; neither is Connected."""
    one, other = nodes(t)
    has = [x for x in LEVELS if x in (one.attribs.get("ReliabilityLevelSupport") or [])]
    level, second, size = best_level(one), best_level(one), SIZE
    if t.params["what"] == "level":
        second = next((x for x in has if x != level), "")
        wanted = "VIP_INVALID_RELIABILITY_LEVEL"
    else:
        size, wanted = min(2 * SIZE, other.number("MaxTransferSize")), "VIP_INVALID_MTU"
    if not second or (t.params["what"] == "size" and size == SIZE):
        t.lack("the provider has nothing that differs")
    vi, peer = one.vi(level), other.vi(second, MaxTransferSize=size)
    meet(vi, other, 1_500_000), meet(peer, one, 1_500_000)
    codes = [outcome(t, v, "G3.3.7-04", 1_500_000 + 2 * t.late_us) for v in (vi, peer)]
    if codes == [OK, OK]:
        sizes = [v.query().get("ViAttribs", {}).get("MaxTransferSize") for v in (vi, peer)]
        t.require(False, "S2.5-04", "peers that differ are connected", sizes, wanted, **({"erratum": "A07"}
                  if size != SIZE and sizes[0] == sizes[1] else {}))  # fmt: skip
    else:
        for code in codes:
            t.codes("G3.3.7-04", "VipConnectPeerDone of peers that differ", code, wanted, {TIMEOUT: "A91", NO_MATCH: "A91"})
        t.require(wanted in codes, "G3.3.7-04", "peers that differ", codes, f"{wanted} at one of them")
        for v in (vi, peer):
            t.require(v.state() != CONNECTED, "S2.5-04", "the state", v.state(), IDLE)
            ended_so = v.becomes((IDLE, ERROR), t.async_us)
            if t.require(ended_so, "S5.2-02", "the state of a peer that does not fit", v.state(), IDLE) and v.state() != IDLE:
                t.notice("S5.2-02", "the state of a peer that does not fit", v.state(), IDLE, "A34")
    alive(t)


@vipl("K4", "Client against peer", "G3.3-01 G3.3-02", applies="peer_to_peer")
def models(t: Calls) -> None:
    """A client does not meet a peer, nor a peer a server; both models work side by side."""
    one, other = nodes(t)
    level = best_level(one)
    vi, peer = one.vi(level), other.vi(level)
    meet(peer, one, 1_500_000)
    code = ended(t, ask(vi, other.address(_D), 500_000), "G3.3-01", 500_000 + 2 * t.late_us)
    t.codes("G3.3-01", "a client that asks where a peer is", code, f"{NO_MATCH} {TIMEOUT}", {"VIP_REJECT": "A24"})
    peer.disconnect()
    waiting = other.start("VipConnectWait", LocalAddr=other.address(_D), Timeout=1_200_000)
    t.wait(20_000)
    lone = one.vi(level)
    meet(lone, other, 500_000)
    code = outcome(t, lone, "G3.3-01", 500_000 + 2 * t.late_us)
    t.codes("G3.3-01", "a peer that asks where a server waits", code, f"{TIMEOUT} {NO_MATCH}", {"VIP_REJECT": "A24"})
    t.codes("G3.3-01", "the server", ended(t, waiting, "G3.3-01", 3 * t.settle_us), TIMEOUT)
    both = [one.vi(level), other.vi(level)]
    meet(both[0], other), meet(both[1], one)
    p = pair(t, level, ends=(one, other))
    for v in both:
        t.codes("G3.3-02", "peers beside a client and a server", outcome(t, v, "G3.3-02", 5 * t.settle_us), OK)
    alive(t, p)


@vipl("K7", "Where peers meet", "G3.3-05 G3.3.8-01 G6.7-02 G6.7-03", errata="A49", applies="peer_to_peer")
def crosswise(t: Calls) -> None:
    """Peers meet by host and the discriminator of RemoteAddr; that of LocalAddr decides nothing; another one keeps them apart."""
    one, other = nodes(t)
    level = best_level(one)
    vi, peer, stranger = one.vi(level), other.vi(level), other.vi(level)
    meet(vi, other, 5_000_000)
    meet(stranger, one, 500_000, "77" * 16)
    code = outcome(t, stranger, "G6.7-02", 500_000 + 2 * t.late_us)
    t.codes("G6.7-02", "a peer with another discriminator", code, f"{TIMEOUT} {NO_MATCH}")
    nobody = f"{one.host[:-2]}{int(one.host[-2:], 16) ^ 0x77:02x}"
    code = stranger.code("VipConnectPeerRequest", LocalAddr=other.address(CLIENT),
                         RemoteAddr={"host": nobody, "discriminator": _D}, Timeout=500_000)  # fmt: skip
    if code == OK:
        code = outcome(t, stranger, "G6.7-02", 500_000 + 2 * t.late_us)
    t.require(code != OK, "G6.7-02", "a peer that asks for another host", code, "no connection")
    t.codes("G6.7-03", "the request that waits", vi.code("VipConnectPeerDone"), NOT_DONE)
    waiting = one.start("VipConnectPeerWait", vi=vi.vi)
    t.require(not waiting.done, "G3.3.8-01", "VipConnectPeerWait before the peer comes", "returned", "blocks")
    code = peer.code("VipConnectPeerRequest", LocalAddr=other.address("88" * 16), RemoteAddr=one.address(_D), Timeout=5_000_000)
    t.codes("G3.3-05", "VipConnectPeerRequest", code, OK)
    t.codes("G3.3.8-01", "VipConnectPeerWait", ended(t, waiting, "G3.3.8-01", 5 * t.settle_us), OK)
    t.codes("G6.7-02", "VipConnectPeerDone of the other", outcome(t, peer, "G6.7-02", 5 * t.settle_us), OK)
    near = one.vi(level)
    meet(near, other, 600_000)
    meet(stranger, one, 600_000, f"{_D[:-2]}53")
    for v in (near, stranger):
        code = outcome(t, v, "G6.7-02", 600_000 + 2 * t.late_us)
        t.codes("G6.7-02", "peers whose discriminators differ in the last byte", code, f"{TIMEOUT} {NO_MATCH}")
    alive(t)
