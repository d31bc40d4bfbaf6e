"""Connections: how a case gets a VI of the DUT connected to the tester, as the side that calls or that is called."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Deque, Optional

from fcvi.engine.case import Registry, Variant
from fcvi.engine.scenario import Failed, Inconclusive
from fcvi.engine.upper_tester import Call
from fcvi.vitcp import wire
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.stream import Received, Stream
from fcvi.vitcp.wire import ACCEPT, FLOW_CONTROL, MASK32, READ_RESPONSE, REQUEST, Pdu

REGISTRY = Registry("VI/TCP")
CLIENT, SERVER = "dut-client", "dut-server"
UNRELIABLE, DELIVERY, RECEPTION = "ud", "rd", "rr"
LEVELS = {
    UNRELIABLE: "VIP_SERVICE_UNRELIABLE", DELIVERY: "VIP_SERVICE_RELIABLE_DELIVERY", RECEPTION: "VIP_SERVICE_RELIABLE_RECEPTION",
}  # fmt: skip
OF_LEVEL = {UNRELIABLE: "unreliable_delivery", DELIVERY: "reliable_delivery", RECEPTION: "reliable_reception"}
OF_ROLE = {CLIENT: "client", SERVER: "server"}
DUT_DISCRIMINATOR, TESTER_DISCRIMINATOR = b"device under", b"the tester's end"
SIZE = 8192  # MaxTransferSize of the VI where the case does not say
CREDIT = 200  # receive Descriptors that the tester says to have posted


def roles(*more: str) -> list[Variant]:
    """A variant for each role."""
    return [Variant(role, {"role": role}, " and ".join([OF_ROLE[role], *more])) for role in (CLIENT, SERVER)]


def roles_and_levels(levels: tuple[str, ...] = (UNRELIABLE, DELIVERY, RECEPTION), *more: str) -> list[Variant]:
    """A variant for each role at each level."""
    return [
        Variant(f"{role}/{level}", {"role": role, "level": level}, " and ".join([OF_ROLE[role], OF_LEVEL[level], *more]))
        for role in (CLIENT, SERVER)
        for level in levels
    ]


def with_each(variants: list[Variant], name: str, values: dict[str, Any]) -> list[Variant]:
    """Each of the variants with each of the values of one more parameter."""
    return [
        Variant(f"{v.suffix}/{words}" if v.suffix else words, {**v.params, name: value}, v.applies, v.config)
        for v in variants
        for words, value in values.items()
    ]


@dataclass
class Link:
    """A connection between a VI of the DUT and the tester."""

    t: Scenario
    vi: int
    stream: Stream
    role: str
    level: str
    mtu: int  # agreed
    answer: Received  # the Connect Request or Connect Accept of the DUT
    first: int  # Message Number of the tester's next message
    rx: int  # what the tester says to have posted
    behind: int  # so far is Message ACK behind what the DUT may begin with, until a message is acknowledged
    flow_control: bool
    window: int  # of reads, as the DUT offers it
    acknowledged: Optional[int] = None  # the DUT's message that the tester has acknowledged last
    taken: int = 0  # messages of the DUT that the case has looked at
    posts: list[int] = field(default_factory=list)  # when each receive Descriptor was posted to the connection
    floors: Deque[int] = field(default_factory=deque)  # those that had been taken up when each send Descriptor was posted (V61)
    asked: dict[int, int] = field(default_factory=dict)  # and those when each Read Request of the tester was sent
    completions: dict[str, int] = field(default_factory=lambda: {"send": 0, "recv": 0})

    def post(self) -> None:
        """A receive Descriptor is posted."""
        self.stream.watch.known.posted += 1
        self.posts.append(self.t.now_us)

    @property
    def taken_up(self) -> int:
        """Receive Descriptors that the DUT must know of by now: queues are processed on their own (V61)."""
        since = self.t.now_us - self.t.nop_bound_us
        return self.stream.watch.known.early + sum(at <= since for at in self.posts)

    @property
    def ack(self) -> int:
        """Message ACK of what the tester sends now. Until it has acknowledged a message it names none (V16): far behind the first
        that came. Before one has come the number of the CE PDU is the best guess, though it says nothing (V17).
        """
        if self.acknowledged is not None:
            return self.acknowledged
        came = next((m.number for m in self.stream.watch.messages if m.kind != READ_RESPONSE), self.answer.pdu.number)
        return (came - self.behind) & MASK32

    @property
    def reliable(self) -> bool:
        """Whether the Reliable flag is set."""
        return self.level != UNRELIABLE


def host(t: Scenario, side: str = "dut", number: int = 0) -> str:
    """A host of the DUT or of the tester, as the DUT protocol has it."""
    hosts = t.config["host"] if side == "dut" else t.config["peer"]["host"]
    return str(hosts[number])


def address(host_hex: str, discriminator: bytes) -> dict[str, str]:
    """A VI Network Address."""
    return {"host": host_hex, "discriminator": discriminator.hex()}


def create(
    t: Scenario, level: Optional[str] = None, size: int = SIZE, write: Optional[bool] = None, read: Optional[bool] = None
) -> int:
    """A VI of the DUT, at the highest level that it has where none is given; RDMA is enabled as far as the PICS has it, reads at
    the reliable levels only (V51).
    """
    level = level or default_level(t)
    attributes = {
        "ReliabilityLevel": LEVELS[level],
        "MaxTransferSize": min(size, int(t.pics["max_transfer_size"])),
        "EnableRdmaWrite": bool(t.pics["rdma_write"]) and write is not False,
        "EnableRdmaRead": bool(t.pics["rdma_read"]) and (level != UNRELIABLE if read is None else read),
    }
    vi = t.call("VipCreateVi", ViAttribs=attributes).integer("vi")
    t.vis.append(vi)
    return vi


def attributes_of(t: Scenario, level: str, flow: Optional[bool] = None, peer: bool = False) -> int:
    """Calling Attributes of the tester that match a VI of `create`."""
    flags = wire.RELIABLE if level != UNRELIABLE else 0
    flags |= wire.WRITE_ENABLE | (wire.READ_ENABLE if level != UNRELIABLE else 0)
    offered = bool(t.pics["flow_control"]) if flow is None else flow
    return flags | (FLOW_CONTROL if offered else 0) | (wire.PEER if peer else 0)


def connect_request(
    t: Scenario,
    level: Optional[str] = None,
    *,
    called: bytes = DUT_DISCRIMINATOR,
    calling: bytes = TESTER_DISCRIMINATOR,
    mtu: int = SIZE,
    attributes: Optional[int] = None,
    rx: int = CREDIT,
    window: int = 8,
    security: bytes = b"",
) -> Pdu:
    """A Connect Request of the tester, of the highest level that the device has where none is given."""
    flags = attributes_of(t, level or default_level(t)) if attributes is None else attributes
    ce = wire.ce_header(calling, called, flags, mtu, window, security)
    return Pdu(REQUEST, t.rng.randrange(1 << 31), flags=wire.END, rx=rx, ce=ce)


def refusal(kind: int) -> Pdu:
    """A Connect Reject or Connect No Match of the tester, in the long form (V08)."""
    return Pdu(kind, flags=wire.END, ce=wire.CeHeader())


def wait_for_call(t: Scenario, discriminator: bytes = DUT_DISCRIMINATOR, number: int = 0) -> Call:
    """VipConnectWait at the DUT."""
    return t.start("VipConnectWait", LocalAddr=address(host(t, number=number), discriminator), Timeout=None)


def call_out(
    t: Scenario, vi: int, timeout_us: Optional[int] = None, local: bytes = DUT_DISCRIMINATOR, remote: bytes = TESTER_DISCRIMINATOR
) -> Call:
    """VipConnectRequest at the DUT towards the tester."""
    return t.start(
        "VipConnectRequest", vi=vi, LocalAddr=address(host(t), local), RemoteAddr=address(host(t, "tester"), remote),
        Timeout=4 * t.r_a_tov_us if timeout_us is None else timeout_us,
    )  # fmt: skip


def opened(t: Scenario, **where: Any) -> Stream:
    """A TCP connection of the tester's that the DUT has accepted."""
    stream = t.open(**where)
    t.owed(lambda: stream.opened or stream.refused)
    t.demand(not stream.refused, "VITCP-2.2.2.2.1-03", "the port does not accept TCP", "refused", "accepted")
    t.demand(stream.opened, "VITCP-4.3-02", "the port does not accept TCP", "no answer", "accepted")
    return stream


def asked(t: Scenario, stream: Stream) -> Received:
    """The Connect Request of the DUT, the first PDU on the stream that it has opened."""
    one = t.expect([*wire.NAMES], "VITCP-2.2.2.2.2-12", stream=stream, why="on the new TCP connection")
    t.demand(one.pdu.kind == REQUEST, "VITCP-2.2.2.2.2-06", "the first PDU is no Connect Request", one, "Connect Request", at=one)
    return one


def check_state(t: Scenario, vi: int, state: str, requirement: str) -> bool:
    """VipQueryVi tells this state."""
    seen = t.call("VipQueryVi", vi=vi).text("State")
    return t.require(seen == state, requirement, f"the state of the VI is {seen}", seen, state)


def no_more_attempts(t: Scenario, requirement: str) -> None:
    """Nothing is tried any more once the call has returned. What began before that may be seen behind it, for order is known within
    a plane only; it has to be closed.
    """
    t.wait(2 * t.nop_bound_us)
    left = [stream.name for stream in t.tester.opened if not stream.over]
    t.require(not left, requirement, "a further attempt", len(left), "none")
    t.tester.opened.clear()


IDLE, PENDING, CONNECTED, ERROR = (
    "VIP_STATE_IDLE", "VIP_STATE_CONNECT_PENDING", "VIP_STATE_CONNECTED", "VIP_STATE_ERROR",
)  # fmt: skip


def check_failed(t: Scenario, vi: int, code: str, requirement: str) -> bool:
    """The VI is Idle after a connect call that failed. With VIP_NOT_REACHABLE a reliable one may be in Error (V57), from where
    VipDisconnect brings it.
    """
    states = [IDLE, ERROR] if code == "VIP_NOT_REACHABLE" else [IDLE]
    seen = t.call("VipQueryVi", vi=vi).text("State")
    if seen == ERROR and ERROR in states:
        t.call("VipDisconnect", vi=vi)
        seen, states = t.call("VipQueryVi", vi=vi).text("State"), [IDLE]
    return t.require(seen in states, requirement, f"the state of the VI is {seen}", seen, " or ".join(states))


class ClosedAtGreater(Exception):
    """The DUT has ended the setup, as it may where an Accept has more than was proposed (V26)."""


def connect(
    t: Scenario,
    role: Optional[str] = None,
    level: Optional[str] = None,
    *,
    vi: Optional[int] = None,
    size: int = SIZE,
    mtu: Optional[int] = None,
    flow: Optional[bool] = None,
    rx: int = CREDIT,
    window: int = 8,
    first: Optional[int] = None,
    posted: int = 0,
    called: bytes = DUT_DISCRIMINATOR,
    security: bytes = b"",
    cut: Optional[str] = None,
    may_close: bool = False,
    wait: Optional[Call] = None,
) -> Link:
    """A VI of the DUT is connected to the tester. Without arguments as the variant says.

    size: MaxTransferSize of the VI, or the most that the device has. mtu: what the tester proposes or agrees to. flow: the
    tester's flag, as the DUT's PICS when it is not given. posted: receive Descriptors that the case has posted to the VI
    before. first: the tester's first Message Number. wait: a VipConnectWait that is there. may_close: an Accept may end the
    setup, which then raises ClosedAtGreater.
    """
    role = role or str(t.params.get("role", SERVER if t.pics["server"] else CLIENT))
    level = level or str(t.params.get("level", default_level(t)))
    vi = create(t, level, size) if vi is None else vi
    own = min(size, int(t.pics["max_transfer_size"]))
    mtu = own if mtu is None else mtu
    t.tester.cut = cut or str(t.params.get("cut", "whole"))
    flags = attributes_of(t, level, flow)
    number = t.rng.randrange(1 << 16, 1 << 30) if first is None else first
    if role == CLIENT:
        stream, theirs = _called(t, vi, flags, mtu, rx, window, may_close)
    else:
        stream, theirs = _calling(t, vi, level, flags, mtu, rx, window, called, security, wait)
    ce = theirs.pdu.ce
    assert ce is not None
    both = bool(flags & ce.attributes & FLOW_CONTROL)
    known = stream.watch.known
    known.reliable, known.delivery, known.flow_control = level != UNRELIABLE, level == DELIVERY, both
    known.posted = known.floor = known.early = posted
    behind = 0x40000000 + t.rng.randrange(1 << 16)
    link = Link(t, vi, stream, role, level, min(mtu, own), theirs, number, rx, behind, both, ce.window)
    link.completions = {queue: len(t.completed(vi, queue)) for queue in ("send", "recv")}
    return link


def default_level(t: Scenario) -> str:
    """The highest level that the device has."""
    return next((level for level in (RECEPTION, DELIVERY, UNRELIABLE) if t.pics[OF_LEVEL[level]]), RECEPTION)


def _called(
    t: Scenario, vi: int, flags: int, mtu: int, rx: int, window: int, may_close: bool = False
) -> tuple[Stream, Received]:
    """The DUT calls, the tester accepts."""
    call = call_out(t, vi)
    stream = t.expect_stream("VITCP-4.2-01")
    theirs = asked(t, stream)
    ce = theirs.pdu.ce
    assert ce is not None
    accept = wire.ce_header(ce.calling, ce.called, flags, mtu, window)
    t.send(stream, Pdu(ACCEPT, theirs.pdu.number, flags=wire.END, rx=rx, ce=accept))
    if may_close and t.owed(lambda: call.done) and call.returned() != "VIP_SUCCESS":
        check_failed(t, vi, call.returned(), "VITCP-3.2-16")
        t.expect_end(stream, "VITCP-3.2-16", why="after an Accept that is refused")
        raise ClosedAtGreater
    t.finish(call, "VITCP-4.2-07", returns="VIP_SUCCESS")
    return stream, theirs


def accepted(t: Scenario, vi: int, wait: Call, stream: Stream) -> str:
    """What VipConnectAccept of a request returned. Where the time of Incoming has gone by meanwhile, on the way of the calls or in
    the call itself, a DUT may have ended the request (V81): the case decides nothing then.
    """
    code = t.call("VipConnectAccept", conn=wait.integer("conn"), vi=vi).returned()
    most, took = int(t.config["incoming_timeout_us"]), t.now_us - stream.time_us
    if code != "VIP_SUCCESS" and took >= most - t.pixit.early_us and t.owed(lambda: stream.over):
        raise Inconclusive(f"the DUT ended the request {took} us after TCP was there; its timer of Incoming has {most} us (V81)")
    return code


def _calling(
    t: Scenario, vi: int, level: str, flags: int, mtu: int, rx: int, window: int, called: bytes, security: bytes,
    wait: Optional[Call]
) -> tuple[Stream, Received]:
    """The tester calls, the DUT accepts."""
    wait = wait or wait_for_call(t, called)
    stream = opened(t)
    t.send(stream, connect_request(t, level, called=called, mtu=mtu, attributes=flags, rx=rx, window=window, security=security))
    if t.finish(wait, "VITCP-4.3-07", returns="VIP_SUCCESS") != "VIP_SUCCESS":
        raise Failed("VipConnectWait gave no request that could be accepted")
    code = accepted(t, vi, wait, stream)
    t.demand(code == "VIP_SUCCESS", "VITCP-4.3-09", "VipConnectAccept does not connect", code, "VIP_SUCCESS")
    theirs = t.expect(sorted(wire.CE), "VITCP-4.3-09", stream=stream, why="after VipConnectAccept")
    if theirs.pdu.kind != ACCEPT or theirs.pdu.ce is None:
        t.fail("VITCP-4.3-09", "VipConnectAccept does not send Connect Accept", str(theirs), "Connect Accept", at=theirs)
    return stream, theirs
