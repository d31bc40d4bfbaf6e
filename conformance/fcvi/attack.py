"""Says where ``fcvi fuzz`` attacks a device: the states of a connection, the frames that are apt in each, and the probe.

A state is reached by what a correct peer does. The probe asks no more than the standard does of a device that has heard
nonsense: once all timers have run out, a new connection can be made, carries a Message each way, and ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional

from fcvi.fc import build, els
from fcvi.fc.build import UNASSIGNED, RawFrame
from fcvi.fc.message import Message, frames_of
from fcvi.fc.received import Exchange
from fcvi.fc.scenario import Scenario

from .steps import connection as common, traffic
from .steps.connection import CLIENT, SERVER, Setup

#: Logins end or begin anew, and connections with them, when a device does as these tell it: it is right to.
ENDS_THE_LOGIN = frozenset({0x03, 0x04, 0x05, 0x20, 0x21, 0x24, 0x50, 0x51, 0x60, 0x61})
_SETTLE = 5  # times R_A_TOV until a device has got over everything


@dataclass
class Place:
    """What the state is about: the setup that has begun, if any."""

    setup: Optional[Setup] = None


def _idle(t: Scenario) -> Place:
    common.create_vi(t)
    return Place()


def _listening(t: Scenario) -> Place:
    common.start_wait(t)
    return Place()


def _offered(t: Scenario) -> Place:
    wait = common.start_wait(t)
    setup = common.send_rqst(t)
    common.finish_wait(t, wait)
    return Place(setup)


def _accepting(t: Scenario) -> Place:
    wait = common.start_wait(t)
    setup = common.send_rqst(t)
    common.start_accept(t, setup, common.finish_wait(t, wait))
    return Place(setup)


def _requesting(t: Scenario) -> Place:
    return Place(common.start_request(t))


def _acknowledged(t: Scenario) -> Place:
    setup = common.start_request(t)
    common.accept_request(t, setup)
    return Place(setup)


def _connected_as(role: str) -> Callable[[Scenario], Place]:
    def reach(t: Scenario) -> Place:
        setup = common.connect_dut_client(t) if role == CLIENT else common.connect_dut_server(t)
        for _ in range(3):
            traffic.post_recv(t, setup.vi)
        return Place(setup)

    return reach


def _sending(t: Scenario) -> Place:
    place = _connected_as(SERVER if t.pics["server"] else CLIENT)(t)
    assert place.setup is not None
    traffic.post_send(t, place.setup.vi, t.rng.randbytes(64))
    t.settle()
    return place


def _disconnecting(t: Scenario) -> Place:
    place = _connected_as(SERVER if t.pics["server"] else CLIENT)(t)
    assert place.setup is not None
    t.start("VipDisconnect", vi=place.setup.vi)
    t.settle()
    return place


#: Name, role that the device needs (None: any), and how the state is reached.
STATES: dict[str, tuple[Optional[str], Callable[[Scenario], Place]]] = {
    "idle": (None, _idle),
    "listening": (SERVER, _listening),
    "offered": (SERVER, _offered),
    "accepting": (SERVER, _accepting),
    "requesting": (CLIENT, _requesting),
    "acknowledged": (CLIENT, _acknowledged),
    "connected-client": (CLIENT, _connected_as(CLIENT)),
    "connected-server": (SERVER, _connected_as(SERVER)),
    "sending": (None, _sending),
    "disconnecting": (None, _disconnecting),
}


def states(t: Scenario) -> list[str]:
    """Those that a device with these PICS can be in."""
    able = {CLIENT: bool(t.pics["client"]), SERVER: bool(t.pics["server"]), None: True}
    return [name for name, (role, _) in STATES.items() if able[role]]


# ---- frames that fit ----


def _setup_frames(t: Scenario, setup: Setup) -> list[RawFrame]:
    made = []
    for name in ("CONNECT_RESP1", "CONNECT_RESP2", "CONNECT_RESP3"):
        dh = {
            "FCVI_HANDLE": UNASSIGNED if name == "CONNECT_RESP1" else setup.dut_handle,
            "FCVI_CONNECTION_ID": setup.connection_id,
            "RESP_RETRY": setup.retry,
        }
        payload = common.connect_payload(t, name, setup.tester_handle) if name == "CONNECT_RESP1" else b""
        made += build.iu_frames(name, t.tester.envelope(setup.exchange), dh, payload)
    return made + [build.abts(t.tester.envelope(setup.exchange)), build.ba_acc(t.tester.envelope(setup.exchange))]


def _message_frames(t: Scenario, setup: Setup) -> list[RawFrame]:
    made: list[RawFrame] = []
    for op in ("send", "rdma-write", "rdma-read"):
        message = Message(op, 1 + t.rng.randrange(3), b"" if op == "rdma-read" else t.rng.randbytes(64), total=64)
        exchange = t.tester.open_exchange()
        dh = message.device_header(setup.dut_handle)
        made += frames_of(t.tester, exchange, message.iu, dh, message.data, answered=op == "rdma-read")
    for received in t.tester.inbox:
        if received.kind in ("SEND_RQST", "WRITE_RQST", "READ_RQST"):
            made += _response(t, setup, received.exchange, received.kind.replace("RQST", "RESP"))
    dh = {"FCVI_HANDLE": setup.dut_handle, "FCVI_FLAGS": 2}
    return made + build.iu_frames("DISCONNECT_RQST", t.tester.envelope(t.tester.open_exchange()), dh)


def _response(t: Scenario, setup: Setup, exchange: Exchange, name: str) -> list[RawFrame]:
    t.tester.assign_rx_id(exchange)
    dh = {"FCVI_HANDLE": setup.dut_handle, "FCVI_MSG_ID": 1}
    return build.iu_frames(name, t.tester.envelope(exchange), dh, t.rng.randbytes(64) if name == "READ_RESP" else b"")


def _always(t: Scenario) -> list[RawFrame]:
    exchange = t.tester.open_exchange()
    payload = common.connect_payload(t, "CONNECT_RQST", common.new_handle(t))
    dh = {"FCVI_HANDLE": UNASSIGNED, "FCVI_FLAGS": 1, "FCVI_CONNECTION_ID": t.rng.randrange(1, UNASSIGNED)}
    made = build.iu_frames("CONNECT_RQST", t.tester.envelope(exchange), dh, payload)
    adisc = t.tester.envelope(t.tester.open_exchange())
    return made + [els.request(adisc, 0x52, bytes(24)), build.abts(t.tester.envelope(exchange))]


def apt_frames(t: Scenario, place: Place) -> list[RawFrame]:
    """Frames that a peer might send next, and some that it sent already: what the attack is made from."""
    made = _always(t)
    if place.setup is not None:
        made += _setup_frames(t, place.setup) + _message_frames(t, place.setup)
    sent = [RawFrame(f.data, f.sof, f.eof) for f in t.tester.trace if f.sender == "tester"]
    return made + sent[-6:]


def permitted(frame: RawFrame) -> bool:
    """Whether a device that obeys the frame can still be asked for what the probe asks for."""
    data = frame.data
    is_els = len(data) > 24 and data[0] == 0x22 and data[8] == 0x01
    return not (is_els and data[24] in ENDS_THE_LOGIN)


# ---- the probe ----


def probe(t: Scenario) -> None:
    """Alive and right: raises what a case raises when the device is not."""
    t.wait(_SETTLE * t.r_a_tov_us)
    for received in t.tester.inbox:
        received.taken = True
    t.completions.clear()
    role = SERVER if t.pics["server"] else CLIENT
    t.params = {"role": role, "discriminator": t.rng.randbytes(16)}
    setup = common.connect(t)
    traffic.both_ways(t, setup, "FCVI-8.2-d1")
    common.disconnect_and_answer(t, setup)
