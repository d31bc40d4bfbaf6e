"""Clauses 2.2.2.2.1 and 3.2: addresses, Discriminators, and what is matched with what."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.engine.upper_tester import Call
from fcvi.vitcp import wire
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.stream import Stream
from fcvi.vitcp.wire import ACCEPT, NO_MATCH, Pdu

from conformance.vitcp.steps.connection import (
    CLIENT, DELIVERY, DUT_DISCRIMINATOR, LEVELS, OF_LEVEL, RECEPTION, REGISTRY, SERVER, TESTER_DISCRIMINATOR, UNRELIABLE,
    accepted, address, asked, attributes_of, call_out, connect, connect_request, create, default_level, host, opened,
    wait_for_call,
)  # fmt: skip
from conformance.vitcp.steps.messages import alive, deliver, pattern

_LENGTHS = (0, 1, 15, 16)
IPV6 = {"host": ["fd00000000000000000000000000000b"], "peer": {"host": ["fd00000000000000000000000000000a"]}}


def _discriminator(length: int, seed: int = 0) -> bytes:
    return bytes((0xF0 + 7 * i + seed) & 0xFF for i in range(length))


@case(
    REGISTRY,
    "TCP.2.2.2.2.1.a",
    "IP address and Discriminator reach the other side",
    clause="2.2.2.2.1, 3.2",
    requirements=["VITCP-2.2.2.2.1-01", "VITCP-2.2.2.2.1-02", "VITCP-3.2-07", "VITCP-3.2-08"],
    errata=["V45", "V46"],
    applies="tcp and client",
    variants=[Variant(f"ipv4/{n}", {"length": n}) for n in _LENGTHS] + [Variant("ipv6", {"length": 16}, "ipv6", IPV6)],
)
def reach(t: Scenario) -> None:
    """VipConnectRequest opens TCP to the host of RemoteAddr, and its Connect Request has the Discriminators of both addresses.
    Those of 17 bytes, which the header cannot hold, are refused by the call.
    """
    length = int(t.params["length"])
    local, remote = _discriminator(length), _discriminator(length, 0x55)
    vi = create(t)
    call = call_out(t, vi, local=local, remote=remote)
    if call.done and not t.tester.opened:  # a TCP connection to elsewhere is refused, and ends the call as well
        t.fail("VITCP-2.2.2.2.1-02", f"a Discriminator of {length} bytes is refused", call.returned(), "a connection")
    stream = t.expect_stream("VITCP-4.2-01")
    seen = (stream.local[0].hex(), stream.local[1])
    own = (host(t, "tester"), t.tester.port)
    t.require(seen == own, "VITCP-2.2.2.2.1-01", "TCP goes elsewhere", seen, own)
    if seen[0] != host(t, "tester") or seen[1] != t.tester.port:
        t.require(seen[1] == t.tester.port, "VITCP-4.2-01", "TCP does not go to the reserved port", seen[1], t.tester.port)
        t.control("the device asked for a TCP connection")
        return
    one = asked(t, stream)
    ce = one.pdu.ce
    assert ce is not None
    for row, name, got, given in (
        ("VITCP-3.2-07", "Calling", (ce.calling_length, ce.calling), local), ("VITCP-3.2-08", "Called", (ce.called_length,
                                                                                                         ce.called), remote),
    ):  # fmt: skip
        t.require(got == (len(given), given), row, f"{name} Discriminator", f"{got[0]}: {got[1].hex()}",
                  f"{len(given)}: {given.hex()}", at=one)
    t.send(stream, Pdu(ACCEPT, flags=wire.END, rx=8, ce=wire.ce_header(ce.calling, ce.called, attributes_of(t, default_level(t)),
                                                                       4096, 4)))
    t.finish(call, "VITCP-4.2-07", returns="VIP_SUCCESS")
    t.call("VipDisconnect", vi=vi)
    for which in ("LocalAddr", "RemoteAddr"):
        ends = {"LocalAddr": address(host(t), local), "RemoteAddr": address(host(t, "tester"), remote)}
        ends[which]["discriminator"] = _discriminator(17).hex()
        late = t.start("VipConnectRequest", vi=vi, Timeout=t.r_a_tov_us, **ends)
        t.owed(lambda: late.done or bool(t.tester.opened))
        code = late.returned() if late.done else "a connection is tried"
        refused = late.done and code != "VIP_SUCCESS" and not t.tester.opened
        t.require(refused, "VITCP-2.2.2.2.1-02", f"a {which} with a Discriminator of 17 bytes", code, "a refusal of the call")
        if not late.done:
            t.call("VipDisconnect", vi=vi)
            t.tester.opened.clear()
    t.control("the connection was made with Discriminators that fit")


def _served(t: Scenario, wait: Call) -> None:
    t.owed(lambda: wait.done)


def _opened(t: Scenario, row: str) -> Stream:
    stream = t.open()
    if not t.owed(lambda: stream.opened or stream.refused) or stream.refused:
        t.fail(row, "the port does not accept TCP", "refused" if stream.refused else "no answer", "accepted")
    return stream


@case(
    REGISTRY,
    "TCP.2.2.2.2.1.b",
    "One port, many applications",
    clause="2.2.2.2.1",
    requirements=["VITCP-2.2.2.2.1-03", "VITCP-2.2.2.2.1-04", "VITCP-2.2.2.2.1-05", "VITCP-2.2.2.2.1-06"],
    applies="tcp and max_vis >= 2",
    variants=[
        Variant("in-order", {"order": (0, 1)}, "server"), Variant("crossed", {"order": (1, 0)}, "server"),
        Variant("outward", {"order": None}, "client"),
    ],
)  # fmt: skip
def one_port(t: Scenario) -> None:
    """Two VipConnectWait with two Discriminators are both served through the one port, whichever is called first. The request that
    came last is accepted first. Two calls of the DUT at once have two source ports.
    """
    order = t.params["order"]
    if order is None:
        calls = [call_out(t, create(t)) for _ in range(2)]
        streams = [t.expect_stream("VITCP-4.2-01") for _ in calls]
        ports = [s.remote[1] for s in streams]
        t.require(ports[0] != ports[1], "VITCP-2.2.2.2.1-06", "two connections have one source port", ports, "two ports")
        for stream in streams:
            asked(t, stream)
        t.control("both calls sent a Connect Request")
        return
    names = (b"first application", b"second")
    names = (names[0][:16], names[1])
    waits = [wait_for_call(t, name) for name in names]
    vis = [create(t) for _ in waits]
    streams = []
    for which in order:
        stream = _opened(t, "VITCP-2.2.2.2.1-04" if streams else "VITCP-2.2.2.2.1-03")
        t.send(stream, connect_request(t, called=names[which]))
        _served(t, waits[which])
        t.settle()
        served = [w.done for w in waits]
        wanted = [i == which or i in [order[k] for k in range(len(streams))] for i in range(2)]
        if served != wanted:
            t.fail("VITCP-2.2.2.2.1-05", "the request does not reach its own VipConnectWait", str(served), str(wanted))
        streams.append(stream)
    for which, stream in reversed([*zip(order, streams)]):
        accepted(t, vis[which], waits[which], stream)
        t.expect(ACCEPT, "VITCP-2.2.2.2.1-04", stream=stream, why="after VipConnectAccept")
    t.control("both applications were reached")


_FIELD = b"exactly-8"[:8]
_MATCHES: dict[str, tuple[bytes, int, bytes, bool]] = {
    # of the VI, Called Discriminator Length, Called Discriminator, whether it matches
    "equal": (_FIELD, 8, _FIELD, True),
    "rubbish-behind": (_FIELD, 8, _FIELD + b"\xa5" * 8, True),
    "shorter": (_FIELD, 7, _FIELD[:7], False),
    "longer": (_FIELD, 9, _FIELD + b"\0", False),
    "last-byte": (_FIELD, 8, _FIELD[:7] + b"9", False),
    "first-byte": (_FIELD, 8, b"E" + _FIELD[1:], False),
    "ninth-byte": (b"sixteen-bytes-ok", 16, b"sixteen-Bytes-ok", False),
    "sixteenth-byte": (b"sixteen-bytes-ok", 16, b"sixteen-bytes-oK", False),
    "empty": (b"", 0, b"", True),
    "empty-against-some": (_FIELD, 0, b"", False),
    "some-against-empty": (b"", 8, _FIELD, False),
    "length-17": (b"sixteen-bytes-ok", 17, b"sixteen-bytes-ok", False),
    "length-ffff": (b"sixteen-bytes-ok", 0xFFFF, b"sixteen-bytes-ok", False),
}


@case(
    REGISTRY,
    "TCP.3.2.d",
    "Matching of Discriminators",
    clause="3.2",
    requirements=["VITCP-3.2-09", "VITCP-3.2-10"],
    errata=["V46"],
    applies="tcp and server",
    variants=[Variant(name, {"what": name}) for name in _MATCHES],
)
def matching(t: Scenario) -> None:
    """A Connect Request reaches VipConnectWait when length and bytes of its Called Discriminator are those of LocalAddr; what
    stands behind the length decides nothing, and a length above 16 matches nothing.
    """
    own, length, called, matches = _MATCHES[str(t.params["what"])]
    row = "VITCP-3.2-10" if length > 16 else "VITCP-3.2-09"
    vi = create(t)
    wait = wait_for_call(t, own)
    stream = opened(t)
    pdu = connect_request(t)
    assert pdu.ce is not None
    ce = wire.CeHeader(
        pdu.ce.attributes, pdu.ce.calling_length, pdu.ce.mtu, pdu.ce.calling_field, pdu.ce.window, length, called.ljust(16, b"\0")
    )
    t.on_purpose("VITCP-3.2-08")  # rubbish behind the length, and a length above 16
    t.send(stream, pdu.but(ce=ce))
    t.owed(lambda: wait.done or stream.over)
    t.settle()
    t.require(wait.done == matches, row, "VipConnectWait does not return" if matches else "VipConnectWait returns",
              wait.done, matches)
    if matches and wait.done:
        accepted(t, vi, wait, stream)
        t.expect(ACCEPT, "VITCP-4.3-09", stream=stream)
        t.control("the request that matches was served")
        return
    if not wait.done:
        if not matches and length <= 16:
            t.expect(NO_MATCH, "VITCP-4.3-06", stream=stream, why="where no Discriminator matches")
        t.expect_end(stream, "VITCP-4.3-06" if length <= 16 else row, why="though nothing matches")
        good = opened(t)
        t.send(good, connect_request(t, called=own))
        t.finish(wait, "VITCP-3.2-09", returns="VIP_SUCCESS")
    t.control("the request that matches was served")


@case(
    REGISTRY,
    "TCP.3.2.e",
    "What VipConnectWait tells",
    clause="3.2",
    requirements=["VITCP-3.2-11", "VITCP-3.2-12"],
    errata=["V15", "V68"],
    applies="tcp and server",
    variants=[Variant(level, {"level": level}, OF_LEVEL[level]) for level in (UNRELIABLE, RECEPTION)]
    + [Variant("ipv6", {"level": default}, f"ipv6 and {OF_LEVEL[default]}", IPV6) for default in (RECEPTION,)],
)
def told(t: Scenario) -> None:
    """RemoteAddr is the caller's IP address and Calling Discriminator; RemoteViAttribs are its level, its enables and the MTU
    that it proposes.
    """
    level = str(t.params["level"])
    create(t, level)
    seen = 0
    for enables, mtu, calling in ((wire.WRITE_ENABLE, 4096, b"one"), (0, 1500, b""), (wire.READ_ENABLE, 30000, bytes(range(
            240, 256)))):
        wait = wait_for_call(t)
        stream = opened(t)
        flags = (wire.RELIABLE if level != UNRELIABLE else 0) | enables
        t.send(stream, connect_request(t, level, calling=calling, mtu=mtu, attributes=flags))
        t.finish(wait, "VITCP-4.3-07", returns="VIP_SUCCESS")
        remote = wait.table("RemoteAddr")
        wanted = address(host(t, "tester"), calling)
        t.require(remote == wanted, "VITCP-3.2-11", "RemoteAddr", remote, wanted)
        told_us = wait.table("RemoteViAttribs")
        levels = [LEVELS[UNRELIABLE]] if level == UNRELIABLE else [LEVELS[DELIVERY], LEVELS[RECEPTION]]
        t.require(told_us.get("ReliabilityLevel") in levels, "VITCP-3.2-12", "ReliabilityLevel", told_us.get(
            "ReliabilityLevel"), levels)
        for name, value in (
            ("MaxTransferSize", mtu), ("EnableRdmaWrite", bool(enables & wire.WRITE_ENABLE)), ("EnableRdmaRead", bool(
                enables & wire.READ_ENABLE)),
        ):  # fmt: skip
            t.require(told_us.get(name) == value, "VITCP-3.2-12", name, told_us.get(name), value)
        t.call("VipConnectReject", conn=wait.integer("conn"))
        seen += 1
    t.control(f"VipConnectWait returned {seen} times")


@case(
    REGISTRY,
    "TCP.3.2.f",
    "Security Information",
    clause="2.2.1, 3.2",
    requirements=["VITCP-2.2.1-04", "VITCP-3.2-18"],
    errata=["V07", "V50"],
    applies="tcp and server",
    variants=[Variant(str(n), {"bytes": n}) for n in (0, 1, 4, 65467)],
)
def security(t: Scenario) -> None:
    """A Connect Request with security bytes of any number is treated as one without them."""
    link = connect(t, SERVER, security=pattern(int(t.params["bytes"])))
    alive(link)


@case(
    REGISTRY,
    "TCP.3.2.g",
    "Attributes that differ",
    clause="2.2.1",
    requirements=["VITCP-2.2.1-06"],
    errata=["V36"],
    applies="tcp and server and max_vis >= 2",
    variants=[
        Variant("reliable-vi", {"vi": RECEPTION, "asked": UNRELIABLE}, "reliable_reception and unreliable_delivery"),
        Variant("unreliable-vi", {"vi": UNRELIABLE, "asked": RECEPTION}, "reliable_reception and unreliable_delivery"),
    ],
)
def differing(t: Scenario) -> None:
    """VipConnectAccept with a VI of another reliability returns an error and sends no Connect Accept. The request stays, and a VI
    that matches takes it; to refuse it at once is the other reading.
    """
    asked_for, other = str(t.params["asked"]), str(t.params["vi"])
    wrong, right = create(t, other), create(t, asked_for)
    wait = wait_for_call(t)
    stream = opened(t)
    t.send(stream, connect_request(t, asked_for))
    t.finish(wait, "VITCP-4.3-07", returns="VIP_SUCCESS")
    conn = wait.integer("conn")
    code = t.call("VipConnectAccept", conn=conn, vi=wrong).returned()
    t.require(code != "VIP_SUCCESS", "VITCP-2.2.1-06", "VipConnectAccept with a VI that does not match", code, "an error")
    t.settle()
    accept = t.peek([ACCEPT], stream)
    t.require(accept is None, "VITCP-2.2.1-06", "Connect Accept for a VI that does not match", str(accept), "none", at=accept)
    right_code = t.call("VipConnectAccept", conn=conn, vi=right).returned() if code != "VIP_SUCCESS" else ""
    if right_code not in ("", "VIP_SUCCESS"):
        t.owed(lambda: stream.over or t.peek([wire.REJECT, NO_MATCH], stream) is not None)
    if stream.over or t.peek([wire.REJECT, NO_MATCH], stream) is not None:
        t.report("VITCP-2.2.1-06", "the request is refused on the wire", "a refusal", "nothing", erratum="V36")
        t.control("a VI that does not match was not connected")
        return
    if code != "VIP_SUCCESS":
        words = "VipConnectAccept with the VI that matches"
        t.require(right_code == "VIP_SUCCESS", "VITCP-2.2.1-06", words, right_code, "VIP_SUCCESS")
        t.expect(ACCEPT, "VITCP-4.3-09", stream=stream)
    t.control("the VI that matches was tried as well")


__all__ = ["CLIENT", "DUT_DISCRIMINATOR", "TESTER_DISCRIMINATOR", "deliver"]
