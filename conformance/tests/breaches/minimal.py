"""The smallest conforming captures of situations in which a rule that is too strict accuses somebody.

Each has the claims that are true of it; ``fcvi lint`` reports nothing about any of them.
"""

from typing import Callable

from conformance.tests.breaches import flows, wire
from conformance.tests.breaches.conforming import CLAIMS, Session
from conformance.tests.breaches.flows import CLIENT, R_A_TOV, Exchange, Wire, abort, disconnect, iu, message, request, response1
from conformance.tests.breaches.flows import response23
from conformance.tests.breaches.scene import start
from conformance.tests.breaches.wire import RESP2, RESP3, SEND_RQST, device_header

MINIMAL: dict[str, Callable[[], Session]] = {}


def minimal(*missing: str) -> Callable[[Callable[[], Wire]], Callable[[], Wire]]:
    """Register a capture of which all but ``missing`` may be claimed."""

    def keep(make: Callable[[], Wire]) -> Callable[[], Wire]:
        name = make.__name__
        MINIMAL[name] = lambda: Session(name, make().frames, frozenset(CLAIMS) - set(missing))
        return make

    return keep


def asked(cuts: list[int], cls: int = 3) -> tuple[Wire, flows.Connection, Exchange]:
    """A FCVI_CONNECT_RQST in frames of these sizes."""
    w, a, b = start()
    c = flows.pair(w, a, b, 2, cls)
    x = Exchange(w, a, b, cls)
    c.id = 5
    w.run(request(c, x, CLIENT, cuts=cuts))
    return w, c, x


@minimal()
def first_fragment_of_8_bytes_then_setup_abort() -> Wire:
    """E44 allows any cut: the first frame ends before FCVI_RQST_HANDLE. The setup that is aborted is that one (6.12.2)."""
    w, c, _ = asked([8])
    w.run(disconnect(c, setup=True, known=False))
    return w


@minimal()
def first_fragment_of_4_bytes_then_retry() -> Wire:
    """Likewise with a retry (8.5.4 a)."""
    w, c, x = asked([4])
    w.wait(R_A_TOV)
    w.run(abort(w, x, False))
    c.id = 6
    w.run(request(c, Exchange(w, c.a.port, c.b.port), CLIENT, retry=True))
    return w


@minimal("once", "order")
def class_2_request_delivered_twice_and_acknowledged_twice() -> Wire:
    """Each copy of a first frame may be given an RX_ID."""
    w, a, b = start()
    c = flows.pair(w, a, b, 2, 2)
    x = Exchange(w, a, b, 2)
    x.rx = 0x1111
    c.id = 5
    w.run(request(c, x, CLIENT))
    first, ack = w.frames[-2:]
    for twin in (flows.duplicate(first), flows.duplicate(ack)):
        if twin.r_ctl == 0xC0:
            twin.rx = 0x2222
        w.emit(twin)
    return w


@minimal("once", "order")
def class_2_send_delivered_twice_and_acknowledged_twice() -> Wire:
    """Likewise of a Message without a response: the RX_ID of the second ACK is a new one."""
    w, a, b = start()
    c = flows.pair(w, a, b, 1, 2)
    w.run(flows.connect(c))
    c.a.msg_id = 0
    x = Exchange(w, a, b, 2)
    x.rx = 0x1111
    w.run(iu(x, False, device_header(SEND_RQST, c.b.handle, 0, 1, word7=64), bytes(64), last=True))
    first, ack = w.frames[-2:]
    w.emit(flows.duplicate(first))
    second = flows.duplicate(ack)
    second.rx = 0x2222
    w.emit(second)
    return w


@minimal("all")
def class_2_ox_id_used_again_and_its_request_not_captured() -> Wire:
    """The Exchange is over; the last ACK, and the request that uses the OX_ID again, are missing in the capture (5.4)."""
    w, a, b = start()
    c = flows.pair(w, a, b, 2, 2)
    x = Exchange(w, a, b, 2)
    x.rx = 0x1111
    c.id = 5
    for flow in (request(c, x, CLIENT), response1(c, x), response23(c, x, RESP2), response23(c, x, RESP3)):
        w.run(flow)
    w.frames.pop()  # the ACK to FCVI_CONNECT_RESP3
    y = Exchange(w, a, b, 2)
    y.ox, y.rx = x.ox, 0x2222
    w.run(iu(y, False, device_header(SEND_RQST, c.b.handle, 0, 1, word7=64), bytes(64), last=True))
    w.frames.pop(-2)  # the FCVI_SEND_RQST: its ACK is there, with First_Sequence one
    return w


@minimal()
def class_2_seq_ids_of_an_aborted_exchange() -> Wire:
    """ABTS and BA_ACC recover the SEQ_IDs of every Sequence of the Exchange, not of the last one only (5.5)."""
    w, a, b = start()
    c = flows.pair(w, a, b, 1, 2)
    w.run(flows.connect(c))
    x = Exchange(w, a, b, 2)
    c.a.msg_id = 1
    for last in (False, True):
        flow = iu(x, False, device_header(SEND_RQST, c.b.handle, 0, 1, word7=128), bytes(64), last=last)
        next(flow)  # the frame, of which the ACK never comes
    first = w.frames[-2].seq_id
    w.wait(R_A_TOV)
    w.run(abort(w, x, False))
    w.wait(R_A_TOV)
    frames = w.run(message(c, False, SEND_RQST, 64))[0][0]
    frames[0].seq_id = first
    w.frames[-1].seq_id = first
    return w


@minimal("order")
def handle_and_ox_id_used_again_after_r_a_tov() -> Wire:
    """A Connection has the handles (8.4.2 f) and OX_ID (5.4) of one removed R_A_TOV before; its frames overtake each other."""
    w, a, b = start()
    c = flows.pair(w, a, b, 2)
    for opcode in (SEND_RQST, wire.WRITE_RQST):
        w.run(flows.connect(c))
        frames = flows.flat(w.run(message(c, False, opcode, 1000, 2 if opcode == wire.WRITE_RQST else 4))[0])
        for f in frames:
            f.ox = 0x999
        if opcode == wire.WRITE_RQST:
            w.frames[-2:] = w.frames[:-3:-1]
            w.frames[-2].at, w.frames[-1].at = w.frames[-1].at, w.frames[-2].at
        else:
            w.run(disconnect(c))
            w.wait(R_A_TOV + 1000)
            c.a.msg_id = c.a.done = c.b.done = 0
    return w


def logged_in_again(first: flows.Flow, w: Wire, c: flows.Connection) -> None:
    """What is open when a port logs out is over (7.7.1, 8.4.2 g, 8.5.3 c)."""
    w.run(first)
    w.run(flows.logout(w, c.a.port, c.b.port))
    w.run(flows.login(w, c.a.port, c.b.port))


@minimal()
def ox_id_of_an_open_setup_used_again_after_logout() -> Wire:
    """The setup Exchange was never ended; the logout ended it."""
    w, a, b = start()
    c = flows.pair(w, a, b, 2)
    c.id = 5
    x = Exchange(w, a, b)
    logged_in_again(request(c, x, CLIENT), w, c)
    y = Exchange(w, a, b)
    y.ox = x.ox
    w.run(request(c, y, CLIENT))
    return w


@minimal()
def seq_id_of_an_open_sequence_used_again_after_logout() -> Wire:
    """A Message broke off in the middle of a Sequence; the logout ended that, too."""
    w, a, b = start()
    c = flows.pair(w, a, b, 1)
    w.run(flows.connect(c))
    flow = message(c, False, SEND_RQST, 3000)
    next(flow)
    seq = w.frames[-1].seq_id
    logged_in_again(flows.service(w, a, 0xFFFFFD, 0xF009, bytes([0x62, 0, 0, 0, 0, 0, 0, 3]), bytes([2, 0, 0, 0])), w, c)
    d = flows.pair(w, a, b, 1)
    d.id = 9
    w.run(request(d, Exchange(w, a, b), CLIENT))
    w.frames[-1].seq_id = seq
    return w


@minimal()
def crossing_requests_of_which_one_arrives_first() -> Wire:
    """The lower-named Peer is Connected before the other request reaches it, and still refuses it with 05h (5.3.4 b 2)."""
    w, a, b = start()
    c = flows.pair(w, a, b, 2, mode=flows.PEER)
    c.id = 1
    x, y = Exchange(w, a, b), Exchange(w, b, a)
    w.run(request(c, x, flows.PEER))
    w.run(request(c, y, flows.PEER, back=True, own_id=9))
    w.run(response1(c, x))
    w.run(response23(c, x, RESP2))
    w.run(response23(c, x, RESP3))
    w.run(response1(c, y, back=True, reason=5, own_id=9))
    return w


@minimal()
def client_message_before_resp3() -> Wire:
    """The Client is Connected once it has sent FCVI_CONNECT_RESP2 (E74)."""
    w, c, x = asked([])
    w.run(response1(c, x))
    w.run(response23(c, x, RESP2))
    w.run(message(c, False, SEND_RQST, 64))
    w.run(response23(c, x, RESP3))
    return w


@minimal()
def frames_with_a_vft_header() -> Wire:
    """An extended header of eight bytes (R_CTL 50h) stands before the frame header on a link of several Virtual Fabrics."""
    w, c, x = asked([])
    for flow in (response1(c, x), response23(c, x, RESP2), response23(c, x, RESP3)):
        w.run(flow)
    for f in w.frames:
        f.prefix = bytes([0x50, 0, 2, 0, 0, 0, 0, 0])
    return w


@minimal()
def message_of_more_than_65536_frames_in_two_ius() -> Wire:
    """SEQ_CNT may repeat within an Exchange (5.2.1), though not within one IU (5.6)."""
    w, a, b = start()
    c = flows.pair(w, a, b, 2, max_size=1 << 20)
    w.run(flows.connect(c))
    w.run(message(c, False, SEND_RQST, 4 * 65600, 2, frame=4))
    return w


@minimal()
def rx_id_never_assigned() -> Wire:
    """A responder may keep FFFFh, and an originator then does so too."""
    w, c, x = asked([])
    x.rx = 0xFFFF
    w.run(response1(c, x))
    w.run(response23(c, x, RESP2))
    w.run(response23(c, x, RESP3))
    return w


__all__ = ["MINIMAL", "wire"]
