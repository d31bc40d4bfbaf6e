"""Says where ``fcvi fuzz`` attacks a device of VI/TCP: the states of a connection, the PDUs that are apt in each, and the probe.

A state is reached by what a correct peer does. The probe asks no more than the draft does of a device that has heard nonsense:
once all timers have run out, a new connection can be made, and carries a Send each way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional

from fcvi.attack.pdus import Piece
from fcvi.engine.scenario import Failed
from fcvi.vitcp import wire
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.stream import Stream
from fcvi.vitcp.wire import ACCEPT, END, IMMEDIATE, NO_MATCH, NOP, READ_REQUEST, READ_RESPONSE, REJECT, SEND, WRITE, Pdu

from .steps.connection import (
    CLIENT, RECEPTION, SERVER, UNRELIABLE, Link, asked, call_out, connect, connect_request, create, default_level, opened, refusal,
    wait_for_call,
)  # fmt: skip
from .steps.messages import Region, alive, ask, pattern, post_receive, post_send, register, segments

_SENT = 6  # of what was sent already, the last few may be sent again


@dataclass
class Place:
    """What the state is about: the stream, the connection if there is one, and memory of the device."""

    stream: Optional[Stream] = None
    link: Optional[Link] = None
    region: Optional[Region] = None


def _idle(t: Scenario) -> Place:
    create(t, default_level(t))
    return Place()


def _listening(t: Scenario) -> Place:
    create(t, default_level(t))
    wait_for_call(t)
    return Place()


def _opened(t: Scenario) -> Place:
    create(t, default_level(t))
    wait_for_call(t)
    return Place(opened(t))


def _offered(t: Scenario) -> Place:
    place = _opened(t)
    assert place.stream is not None
    t.send(place.stream, connect_request(t, default_level(t)))
    t.settle()
    return place


def _requesting(t: Scenario) -> Place:
    call_out(t, create(t, default_level(t)))
    stream = t.expect_stream("VITCP-4.2-01")
    asked(t, stream)
    return Place(stream)


def _connected_as(role: str, level: str = "") -> Callable[[Scenario], Place]:
    def reach(t: Scenario) -> Place:
        link = connect(t, role, level or default_level(t))
        for _ in range(3):
            post_receive(link, 256)
        region = register(t, 512, write=bool(t.pics["rdma_write"]), read=bool(t.pics["rdma_read"]) and link.reliable)
        return Place(link.stream, link, region)

    return reach


def _sending(t: Scenario) -> Place:
    place = _connected_as(SERVER if t.pics["server"] else CLIENT)(t)
    assert place.link is not None
    post_send(place.link, pattern(64))
    return place


def _reading(t: Scenario) -> Place:
    place = _connected_as(SERVER if t.pics["server"] else CLIENT)(t)
    assert place.link is not None and place.region is not None
    post_send(place.link, op="rdma-read", remote=(0x7700, 0xBEEF), region=register(t, 64), length=64)
    ask(place.link, place.region.va, place.region.handle, 64)
    return place


def _half(t: Scenario) -> Place:
    """A message has begun that has not ended."""
    place = _connected_as(SERVER if t.pics["server"] else CLIENT)(t)
    assert place.link is not None
    t.send(place.link.stream, segments(place.link, pattern(100), size=50)[0])
    t.settle()
    return place


def _disconnecting(t: Scenario) -> Place:
    place = _connected_as(SERVER if t.pics["server"] else CLIENT)(t)
    assert place.link is not None
    t.start("VipDisconnect", vi=place.link.vi)
    t.settle()
    return place


#: Name, PICS item that the device needs ("": none), and how the state is reached.
STATES: dict[str, tuple[str, Callable[[Scenario], Place]]] = {
    "idle": ("", _idle),
    "listening": ("server", _listening),
    "opened": ("server", _opened),
    "offered": ("server", _offered),
    "requesting": ("client", _requesting),
    "connected-client": ("client", _connected_as(CLIENT)),
    "connected-server": ("server", _connected_as(SERVER)),
    "connected-unreliable": ("unreliable_delivery", _connected_as("", UNRELIABLE)),
    "sending": ("", _sending),
    "reading": ("rdma_read", _reading),
    "half-a-message": ("", _half),
    "disconnecting": ("", _disconnecting),
}


def states(t: Scenario) -> list[str]:
    """Those that a device with these PICS can be in."""
    return [name for name, (item, _) in STATES.items() if not item or t.pics[item]]


# ---- PDUs that fit ----


def _setup(t: Scenario) -> list[Pdu]:
    request = connect_request(t, default_level(t))
    assert request.ce is not None
    ce = request.ce
    theirs = next((r.pdu.ce for r in t.tester.inbox if r.pdu.kind == wire.REQUEST and r.pdu.ce is not None), ce)
    accept = wire.ce_header(theirs.calling, theirs.called, ce.attributes, 4096, 4)
    return [request, Pdu(ACCEPT, 7, flags=END, rx=8, ce=accept), refusal(REJECT), refusal(NO_MATCH)]


def _messages(link: Link, region: Region) -> list[Pdu]:
    number, ack = link.first, link.ack
    rdma = (region.va % wire.TOP64, region.handle, 64)
    requests = [m.number for m in link.stream.watch.messages if m.kind == READ_REQUEST]
    return [
        Pdu(SEND, number, flags=END, ack=ack, rx=link.rx, payload=pattern(64)),
        Pdu(SEND, number, flags=0, ack=ack, rx=link.rx, payload=pattern(32)),
        Pdu(SEND, number, flags=END | IMMEDIATE, immediate=9, ack=ack, rx=link.rx, payload=b""),
        Pdu(WRITE, number, flags=END, ack=ack, rx=link.rx, rdma=rdma, payload=pattern(64)),
        Pdu(READ_REQUEST, number, flags=END, ack=ack, rx=link.rx, rdma=rdma),
        Pdu(READ_RESPONSE, (requests or [number])[-1], flags=END, ack=ack, rx=link.rx, rdma=rdma, payload=pattern(64)),
        Pdu(NOP, 0, flags=END, ack=ack, rx=link.rx),
        Pdu(NOP, 0, flags=END, ack=_newest(link), rx=link.rx),
    ]


def _newest(link: Link) -> int:
    messages = link.stream.watch.messages
    return messages[-1].number if messages else link.ack


def apt_frames(t: Scenario, place: Place) -> list[Piece]:
    """PDUs that a peer might send next, and some that it sent already: what the attack is made from."""
    made = _setup(t)
    if place.link is not None and place.region is not None and place.link.stream is place.stream:
        # a PDU of the setup ends a connection: the fewer of them, the longer it lives
        made = [t.rng.choice(made), *_messages(place.link, place.region)]
        place.link.first = (place.link.first + 1) & wire.MASK32
    sent = [Piece(u.data) for u in t.tester.trace if u.sender == "tester" and u.event == "data" and not u.note]
    return [Piece(pdu.pack()) for pdu in made] + (sent[-_SENT:] if t.numbers.plain else [])


def permitted(piece: Piece) -> bool:
    """No PDU asks a device to do without what the probe needs."""
    return bool(piece.data)


# ---- the probe ----


def probe(t: Scenario) -> None:
    """Alive and right: raises what a case raises when the device is not."""
    for stream in t.tester.streams.values():
        t.tester.close(stream, "reset")
    t.wait(int(t.config["incoming_timeout_us"]) + 2 * t.nop_bound_us)
    for received in t.tester.inbox:
        received.taken = True
    t.tester.opened.clear()
    t.completions.clear()
    t.findings.clear()
    level = RECEPTION if t.pics["reliable_reception"] else default_level(t)
    alive(connect(t, SERVER if t.pics["server"] else CLIENT, level, called=t.rng.randbytes(15)))
    broken = next((f for f in t.findings if f.cls != "notice"), None)
    if broken is not None:
        raise Failed(f"{broken.requirement}: {broken.message} (seen {broken.seen}, required {broken.required})")
