"""The smallest conforming captures of frames that cross on the wire, or come when their identifiers serve another purpose."""

from conformance.tests.breaches import flows
from conformance.tests.breaches.flows import CLIENT, R_A_TOV, Connection, Exchange, Port, Wire
from conformance.tests.breaches.flows import abort, connect, disconnect, iu, login, message, pair, request, response1, response23
from conformance.tests.breaches.minimal import minimal
from conformance.tests.breaches.scene import start
from conformance.tests.breaches.wire import DISCONNECT_RESP, END, READ_RQST, RESP2, RESP3, SEND_RQST, Frame, device_header

F_BSY = 0xC5


def connected(w: Wire, a: Port, b: Port, level: int = 1, cls: int = 3, **attrs: int) -> Connection:
    """A Connection."""
    c = pair(w, a, b, level, cls, **attrs)
    w.run(connect(c))
    return c


@minimal()
def answer_under_way_when_its_exchange_is_aborted() -> Wire:
    """The responder has not seen the ABTS yet. What it sent of RESP1 ends with the Exchange, and its SEQ_ID is free (5.5)."""
    w, a, b = start()
    c = pair(w, a, b)
    x = Exchange(w, a, b)
    c.id = 5
    w.run(request(c, x, CLIENT))
    parts = response1(c, x, cuts=[100, 100])
    next(parts)
    ending = abort(w, x, False)
    next(ending)
    next(parts)
    seq_id = w.frames[-1].seq_id
    w.run(ending)
    other = connected(w, b, a)
    asked, _ = w.run(disconnect(other))
    asked[0].seq_id = seq_id
    return w


@minimal()
def request_under_way_when_a_plogi_comes() -> Wire:
    """A PLOGI ends what the other port sent before it arrived (7.7.1): the OX_ID of that is free after the LS_ACC."""
    w, a, b = start()
    again = login(w, a, b)
    next(again)
    first = pair(w, b, a)
    first.id = 5
    x = Exchange(w, b, a)
    w.run(request(first, x, CLIENT))
    w.run(again)
    x.close()
    second = connected(w, b, a)
    assert second.setup is not None
    for f in w.frames[-4:]:
        f.ox = x.ox
    return w


@minimal()
def disconnect_that_comes_when_the_handle_serves_the_next_connection() -> Wire:
    """D.2: the application whose peer disconnected does so as well, as late as it likes (8.4.2 f, E68)."""
    w, a, b = start()
    old = connected(w, a, b)
    for _ in range(2):
        w.run(message(old, False, SEND_RQST, 16))
    w.run(disconnect(old, True))
    w.wait(R_A_TOV)
    new = pair(w, a, b)
    new.b.handle = old.b.handle
    w.run(connect(new))
    w.run(message(new, False, SEND_RQST, 16))
    w.run(disconnect(old))  # FCVI_MSG_ID 2
    w.run(message(new, False, SEND_RQST, 16))
    return w


@minimal()
def disconnect_answered_when_the_handle_serves_the_next_connection() -> Wire:
    """The answer takes its time, and R_A_TOV after the Error state the handle that it was sent to may be in use again."""
    w, a, b = start()
    old = connected(w, a, b)
    w.run(disconnect(old))
    w.wait(R_A_TOV - 1_000_000)
    late: list[Exchange] = []
    w.run(disconnect(old, True, answer=False, order=late))
    w.wait(1_000_000)
    new = pair(w, a, b)
    new.a.handle = old.a.handle
    w.run(connect(new))
    w.run(iu(late[0], True, device_header(DISCONNECT_RESP, old.b.handle, 2, 0), last=True))
    w.run(message(new, False, SEND_RQST, 16))
    return w


@minimal("all")
def preference_in_a_fragment_that_is_missing() -> Wire:
    """FCVI_PREF is byte 316 of the payload; the frame that had it was not captured (E44)."""
    w, a, b = start()
    c = pair(w, a, b, 1, 3, pref=True)
    x = Exchange(w, a, b)
    c.id = 5
    w.run(request(c, x, CLIENT, cuts=[312, 12], lost=lambda i: "hidden" if i == 1 else ""))
    w.run(response1(c, x, cuts=[312, 12], lost=lambda i: "hidden" if i == 1 else ""))
    w.run(response23(c, x, RESP2))
    w.run(response23(c, x, RESP3))
    w.run(message(c, False, SEND_RQST, 16))
    w.run(message(c, True, SEND_RQST, 16))
    return w


@minimal("once")
def first_frame_of_an_answer_comes_again_after_a_busy() -> Wire:
    """Class 2: F_BSY sends the first frame back, which comes again when the last has passed. It begins no second answer."""
    w, a, b = start()
    c = pair(w, a, b, 1, 2)
    x = Exchange(w, a, b, 2)
    c.id = 5
    w.run(request(c, x, CLIENT))
    w.run(response1(c, x, cuts=[300]))
    first, first_ack, second, second_ack = w.frames[-4:]
    del w.frames[-4:]
    again = flows.duplicate(first)
    busy = Frame(first.dst, first.src, F_BSY, first_ack.f_ctl & ~0xFF, first.seq_id, first.seq_cnt, first.ox, first.rx, type=0,
                 param=0x00010000, cls=2, first=False)  # fmt: skip
    for f in (first, busy, second, again, second_ack, first_ack):
        w.emit(f)
    w.run(response23(c, x, RESP2))
    w.run(response23(c, x, RESP3))
    w.run(message(c, True, SEND_RQST, 16))
    w.frames[-2].seq_id = w.frames[-1].seq_id = first.seq_id
    return w


@minimal()
def responder_aborts_an_exchange_that_its_originator_has_ended() -> Wire:
    """5.4: the OX_ID was used again at once. The ABTS is of the Message before, and the answer of the Disconnect after it."""
    w, a, b = start()
    c = connected(w, a, b)
    ended: list[Exchange] = []
    w.run(message(c, False, SEND_RQST, 16, finished=ended))
    order: list[Exchange] = []
    asked = disconnect(c, order=order, answer=False)
    next(asked)
    w.frames[-1].ox = order[0].ox = ended[0].ox
    w.run(asked)
    w.emit(Frame(b.id, a.id, 0x81, 0x800000 | END | 0x010000, 77, 0, ended[0].ox, 0x2222, type=0))
    w.run(iu(order[0], True, device_header(DISCONNECT_RESP, c.a.handle, 2, 0), last=True))
    return w


@minimal()
def request_aborted_in_its_first_frame_then_retried() -> Wire:
    """8.5.2 a, 8.5.4: the handle of the first try was in a frame that was never sent (E44)."""
    w, a, b = start()
    c = pair(w, a, b)
    x = Exchange(w, a, b)
    c.id = 5
    parts = request(c, x, CLIENT, cuts=[4])
    next(parts)
    w.emit(Frame(b.id, a.id, 0x81, 0x800000 | END | 0x010000, 77, 0, x.ox, 0x2222, type=0))
    w.run(abort(w, x, False))
    w.run(connect(c, retry=True))
    return w


@minimal("all")
def handle_used_again_in_a_setup_that_is_missing() -> Wire:
    """R_A_TOV after its Disconnect a handle serves a VI of another level. The DISCONNECT_RESP keeps nothing alive (8.4.2 f)."""
    w, a, b = start()
    old = connected(w, a, b, 1)
    slow: list[Exchange] = []
    w.run(disconnect(old, True, answer=False, order=slow))
    w.wait(R_A_TOV // 2)
    w.run(iu(slow[0], True, device_header(DISCONNECT_RESP, old.b.handle, 2, 0), last=True))
    w.wait(R_A_TOV // 2)
    new = pair(w, a, b, 3)
    new.b.handle = old.b.handle
    before = len(w.frames)
    w.run(connect(new))
    del w.frames[before:]
    w.run(message(new, False, SEND_RQST, 16))
    return w


@minimal("once", "order")
def requests_of_both_ports_seen_twice() -> Wire:
    """A SPAN port repeats frames late. Both ports have asked under one OX_ID and one SEQ_ID, in two frames (E44)."""
    w, a, b = start()
    one, two = pair(w, a, b), pair(w, b, a)
    x = Exchange(w, a, b)
    y = Exchange(w, b, a)
    one.id, two.id = 5, 6
    w.run(request(one, x, CLIENT, cuts=[100]))
    asked = w.run(request(two, y, CLIENT, cuts=[100]))
    answer = response1(one, x, cuts=[100])
    next(answer)
    w.emit(flows.duplicate(asked[0]))
    w.run(answer)
    w.emit(flows.duplicate(asked[1]))
    for f in w.frames[4:]:
        if f.src == b.id:
            f.seq_id, f.ox = 9, x.ox
    return w


__all__ = ["connected"]


def freed_by_a_logout(level: int, **attrs: int) -> tuple[Wire, Connection, Connection]:
    """Two Connections with the same handles, which a LOGO and a PLOGI between them freed (8.4.2 g). These were not captured."""
    w, a, b = start()
    old = connected(w, a, b, level, **attrs)
    w.run(message(old, False, SEND_RQST, 16))
    seen = len(w.frames)
    w.run(flows.logout(w, a, b))
    w.run(login(w, b, a))
    del w.frames[seen:]
    new = pair(w, a, b, 4 - level)
    new.a.handle, new.b.handle = old.a.handle, old.b.handle
    return w, old, new


@minimal("all")
def handle_freed_by_a_logout_that_is_missing() -> Wire:
    """Only the LOGO and the PLOGI are missing: the setup that follows uses the handles at once (4.2-09, 8.4.2-f2)."""
    w, _, new = freed_by_a_logout(1)
    w.run(connect(new))
    w.run(message(new, False, SEND_RQST, 16))
    return w


@minimal("all")
def handle_freed_after_a_disconnect_by_a_logout_that_is_missing() -> Wire:
    """Likewise when the first Connection had begun to end: R_A_TOV need not pass after a logout."""
    w, a, b = start()
    old = connected(w, a, b)
    w.run(disconnect(old))
    new = pair(w, a, b)
    new.a.handle, new.b.handle = old.a.handle, old.b.handle
    w.run(connect(new))
    return w


@minimal("all")
def connection_whose_setup_is_missing_with_the_logout_before_it() -> Wire:
    """The second Connection has another Reliability Level, and Messages with the numbers of the first one's."""
    w, _, new = freed_by_a_logout(3)
    seen = len(w.frames)
    w.run(connect(new))
    del w.frames[seen:]
    for back in (False, True, False):
        w.run(message(new, back, SEND_RQST, 16))
    return w


@minimal("all")
def reads_over_a_connection_whose_setup_is_missing_with_the_logout_before_it() -> Wire:
    """Likewise from Unreliable Delivery to Reliable Reception: responses and RDMA Reads come, and Preference goes (E34)."""
    w, _, new = freed_by_a_logout(1, pref=1)
    seen = len(w.frames)
    w.run(connect(new))
    del w.frames[seen:]
    for opcode in (SEND_RQST, READ_RQST):
        w.run(message(new, False, opcode, 16))
    return w
