"""Clause 4: peers."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.engine.case import Variant, case
from fcvi.vitcp import wire
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.stream import Stream
from fcvi.vitcp.wire import ACCEPT, NO_MATCH, REQUEST, Pdu

from conformance.vitcp.steps.connection import (
    IDLE, REGISTRY, SIZE, address, asked, attributes_of, check_state, connect_request, create, default_level, host,
    no_more_attempts, opened, refusal, wait_for_call,
)  # fmt: skip
from conformance.vitcp.steps.messages import pattern, register

_TIMEOUT_US = 6_000_000
_LONG_US = 60_000_000  # the draft has no interval of the attempts (V33): time for a few of any that serves its user
#: Both peers name it as their own and as the other's, so that they match whichever Discriminators are compared (V62).
_MEETING = b"where peers meet"


def _hosts(dut: str, tester: str) -> dict[str, Any]:
    def mapped(text: str) -> str:
        return "00000000000000000000ffff" + bytes(int(part) for part in text.split(".")).hex()

    return {"host": [mapped(dut)], "peer": {"host": [mapped(tester)]}}


#: Addresses of the DUT and of the tester, and whether the DUT is the lower one; None where text and bytes differ (V28). A lower one
#: agrees to a proposal of less, or of more, than it has.
_PAIRS = {
    "lower": ("192.168.10.10", "192.168.10.20", True),
    "higher": ("192.168.10.20", "192.168.10.10", False),
    "lower-in-the-first-byte": ("110.1.1.9", "192.1.1.1", True),
    "higher-in-the-first-byte": ("192.1.1.1", "110.1.1.9", False),
    "bytes-against-text": ("9.0.0.1", "10.0.0.1", None),
}


def _request(t: Scenario, vi: int, timeout_us: int = _TIMEOUT_US) -> None:
    t.call(
        "VipConnectPeerRequest", vi=vi, LocalAddr=address(host(t), _MEETING), RemoteAddr=address(host(t, "tester"), _MEETING),
        Timeout=timeout_us,
    )  # fmt: skip


def _accept(t: Scenario, stream: Stream, ce: wire.CeHeader) -> None:
    header = wire.ce_header(ce.calling, ce.called, attributes_of(t, default_level(t), peer=True), 4096, 4)
    t.send(stream, Pdu(ACCEPT, flags=wire.END, rx=8, ce=header))
    t.settle()


def _done(t: Scenario, vi: int, requirement: str, mtu: Optional[int] = 4096) -> None:
    call = t.start("VipConnectPeerWait", vi=vi)
    t.finish(call, requirement, returns="VIP_SUCCESS")
    told = call.table("RemoteViAttribs").get("MaxTransferSize")
    t.require(mtu is None or told == mtu, "VITCP-1-01", "MaxTransferSize of RemoteViAttribs", told, mtu)


def _works(t: Scenario, vi: int, stream: Stream) -> None:
    """A Send of the DUT crosses the connection that is left."""
    region = register(t, 48, data=pattern(48))
    t.call("VipPostSend", vi=vi, descriptor={"op": "send", "segments": [{"mem": region.mem, "offset": 0, "length": 48}]})
    one = t.expect(wire.SEND, "VITCP-4-03", stream=stream, why="after both calls have succeeded")
    whole = [m for m in stream.watch.messages if m.first is one] or stream.watch.messages[-1:]  # of any size (2.2.2.2.3)
    t.owed(lambda: whole[0].ended)
    got = bytes(whole[0].payload)
    t.require(got == pattern(48), "VITCP-4-03", "other bytes were sent", got.hex(), "those posted", at=one)
    t.control("a Send crossed the connection that the peers have made")


@case(
    REGISTRY,
    "TCP.4.a",
    "Crossing peers",
    clause="3.2, 4",
    requirements=["VITCP-1-01", "VITCP-3.2-15", "VITCP-4-01", "VITCP-4-02", "VITCP-4-03"],
    errata=["V28", "V30", "V35", "V62"],
    tags=["peer"],
    applies="tcp and peer_to_peer",
    variants=[
        Variant(name, {"lower": lower, "mtu": 4000 if name == "lower" else 2 * SIZE}, "", _hosts(dut, tester))
        for name, (dut, tester, lower) in _PAIRS.items()
    ],
)
def crossing(t: Scenario) -> None:
    """Both peers have asked when each hears of the other: the lower host concedes, so exactly one Connect Accept is sent, on the
    connection that the higher host opened, and then no other is asked for. Where text and bytes compare differently both outcomes
    are right.
    """
    lower, mtu = t.params["lower"], int(t.params["mtu"])
    vi = create(t, read=False)
    if t.pics["server"]:
        wait_for_call(t, b"somebody else")  # whatever makes the port listen (V35)
    _request(t, vi)
    own = t.expect_stream("VITCP-4.2-01")
    theirs = asked(t, own)
    stream = opened(t)
    flags = attributes_of(t, default_level(t), peer=True) & ~wire.READ_ENABLE
    pdu = connect_request(t, called=_MEETING, calling=_MEETING, attributes=flags, mtu=mtu)
    t.send(stream, pdu)
    t.until(lambda: t.peek([ACCEPT], stream) is not None or stream.over or t.peek([wire.REJECT, NO_MATCH],
                                                                                  stream) is not None, t.owed_us())
    accepted = t.peek([ACCEPT], stream)
    assert theirs.pdu.ce is not None
    if lower is None:
        t.report(
            "VITCP-4-01", "which of the two peers is the lower one", "text" if accepted is None else "bytes", "bytes", erratum="V28"
        ) if accepted is None else None
        lower = accepted is not None
    row = "VITCP-4-02"
    if lower:
        if accepted is None:
            t.absent(row, "the lower peer does not answer the higher one's request", "Connect Accept", stream)
            return
        accepted.taken = True
        size = 0 if accepted.pdu.ce is None else accepted.pdu.ce.mtu
        agreed = min(mtu, SIZE, int(t.pics["max_transfer_size"]))
        t.require(size == agreed, "VITCP-3.2-15", "MTU Size agreed", size, agreed, at=accepted, byte=28)
        _done(t, vi, "VITCP-4-03", mtu if mtu <= SIZE else None)  # of more than it has it may tell what is agreed
        no_more_attempts(t, "VITCP-4-01")
        _works(t, vi, stream)
        return
    t.require(accepted is None, row, "the higher peer answers the lower one's request", str(accepted), "none", at=accepted)
    if accepted is not None:
        t.control("both peers have asked")
        return
    t.require(not own.over, "VITCP-4-01", "both connections are given up", "closed", "the higher host's stays")
    if own.over:
        t.control("both peers have asked")
        return
    t.tester.close(stream)
    _accept(t, own, theirs.pdu.ce)
    _done(t, vi, "VITCP-4-03")
    _works(t, vi, own)


def _asks(t: Scenario, stream: Stream, within_us: int) -> None:
    t.until(lambda: stream.over or t.peek([REQUEST], stream) is not None, within_us)


@case(
    REGISTRY,
    "TCP.4.b",
    "A peer that is not there yet",
    clause="4",
    requirements=["VITCP-1-01", "VITCP-4-04", "VITCP-4-05"],
    errata=["V33"],
    tags=["peer", "timing"],
    applies="tcp and peer_to_peer",
    variants=[Variant("then-there", {"answers": 2}), Variant("never", {"answers": None})],
)
def not_there(t: Scenario) -> None:
    """After Connect No Match a peer tries again, on a TCP connection of its own each time, until the timeout of its call; then
    VIP_TIMEOUT, and no attempt any more.
    """
    vi = create(t, read=False)
    start, count = t.now_us, t.params["answers"]
    timeout_us = _TIMEOUT_US if count is None else _LONG_US
    _request(t, vi, timeout_us)
    wait = t.start("VipConnectPeerWait", vi=vi) if count is None else None
    attempts = 0
    came_us: Optional[int] = None

    def comes() -> bool:
        return wait is not None and came_us is None and wait.done

    while count is None or attempts < int(count):
        left = start + timeout_us - t.now_us
        t.until(lambda: bool(t.tester.opened) or comes(), max(left, 0))
        if comes():
            came_us = t.now_us  # a call that does not wait ends no attempts
            continue
        if not t.tester.opened:
            break
        stream = t.tester.opened.popleft()
        if count is None:
            _asks(t, stream, max(left, 0))
            if t.peek([*wire.NAMES], stream) is None and t.now_us >= start + timeout_us:
                break  # the call ended while TCP was being set up
        asked(t, stream)
        t.send(stream, refusal(NO_MATCH))
        t.settle()
        attempts += 1
    t.control(f"the peer asked {attempts} times") if attempts else None
    least = 1 if count is None else 2
    t.require(attempts >= least, "VITCP-4-04", "Connect No Match ends the attempts of a peer", attempts, f"at least {least}")
    if count is None:
        t.require(attempts <= 100 * _TIMEOUT_US // 1_000_000, "VITCP-4-04", "attempts follow too fast", attempts,
                  "100 a second", erratum="V33")
        assert wait is not None
        t.finish(wait, "VITCP-4-05", returns="VIP_TIMEOUT")
        took = (t.now_us if came_us is None else came_us) - start
        t.require(took >= _TIMEOUT_US - t.pixit.early_us, "VITCP-4-05", "VIP_TIMEOUT of a peer came early", f"{took} us",
                  f"{_TIMEOUT_US} us")  # fmt: skip
        check_state(t, vi, IDLE, "VITCP-4-05")
        no_more_attempts(t, "VITCP-4-05")
        return
    if attempts < 2:
        return
    stream = t.expect_stream("VITCP-4-04", max(start + timeout_us - t.now_us, 0))
    theirs = asked(t, stream)
    assert theirs.pdu.ce is not None
    _accept(t, stream, theirs.pdu.ce)
    _done(t, vi, "VITCP-4-04")
    _works(t, vi, stream)


@case(
    REGISTRY,
    "TCP.4.e",
    "A peer's request that does not match",
    clause="2.2.1, 3.2, 4",
    requirements=["VITCP-1-01", "VITCP-2.2.1-06", "VITCP-3.2-09"],
    errata=["V36", "V62"],
    tags=["peer"],
    applies="tcp and peer_to_peer",
    variants=[
        Variant(f"{name}/{what}", {"what": what}, "", _hosts(*_PAIRS[name][:2]))
        for name in ("lower", "higher") for what in ("discriminator", "one-byte", "shorter", "reliability")
    ],
)  # fmt: skip
def unmatched(t: Scenario) -> None:
    """While a peer waits for another, a peer's request comes with another Discriminator, or of a VI of another reliability: it is
    not accepted. The request of the peer itself stays, and is accepted then.
    """
    what, level = str(t.params["what"]), default_level(t)
    vi = create(t, read=False)
    if t.pics["server"]:
        wait_for_call(t, b"somebody else")  # whatever makes the port listen (V35)
    _request(t, vi, _LONG_US)
    own = t.expect_stream("VITCP-4.2-01")
    theirs = asked(t, own)
    stream = opened(t)
    flags = attributes_of(t, level, peer=True) & ~wire.READ_ENABLE
    names = {"discriminator": b"where others go", "one-byte": _MEETING[:-1] + b"S", "shorter": _MEETING[:-1]}
    name = names.get(what, _MEETING)
    if what == "reliability":
        flags ^= wire.RELIABLE
    t.send(stream, connect_request(t, called=name, calling=name, attributes=flags, mtu=SIZE))
    t.until(lambda: stream.over or t.peek([ACCEPT, wire.REJECT, NO_MATCH], stream) is not None, t.owed_us())
    accepted = t.peek([ACCEPT], stream)
    row = "VITCP-2.2.1-06" if what == "reliability" else "VITCP-3.2-09"
    t.require(accepted is None, row, "a peer's request that does not match is accepted", str(accepted), "none", at=accepted)
    t.control("both peers have asked")
    if accepted is not None or own.over:
        return
    t.tester.close(stream)
    assert theirs.pdu.ce is not None
    _accept(t, own, theirs.pdu.ce)
    _done(t, vi, "VITCP-4-03")
    _works(t, vi, own)
