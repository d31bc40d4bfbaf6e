"""Setups and Disconnects broken in their course: who may send what when, handles, identifiers, retries, crossing Peers."""

from typing import Callable, Optional

from conformance.tests.breaches import flows, wire
from conformance.tests.breaches.flows import CLIENT, PEER, R_A_TOV, Connection, Exchange, Wire, abort, disconnect, iu, message
from conformance.tests.breaches.flows import request, response1, response23
from conformance.tests.breaches.scene import Place, Scene, add, scene, start
from conformance.tests.breaches.wire import DISCONNECT_RESP, DISCONNECT_RQST, RESP2, RESP3, UNASSIGNED, Address, Attributes, Frame
from conformance.tests.breaches.wire import device_header

Made = tuple[Wire, Frame, Place]


def refused(reason: int = 4) -> Scene:
    """A setup that the Server refuses."""
    w, a, b = start()
    c = flows.pair(w, a, b, 2)
    w.run(flows.connect(c, reason=reason))
    names = {"RQST": wire.CONNECT_RQST, "RESP1": wire.RESP1, "RESP2": wire.RESP2, "RESP3": wire.RESP3}
    return Scene(w, a, b, c, {name: c.ius[opcode] for name, opcode in names.items()})


def begun(level: int = 2, mode: int = CLIENT, steps: int = 1, **attrs: int) -> tuple[Wire, Connection, Exchange]:
    """A setup up to its ``steps``-th IU."""
    w, a, b = start()
    c = flows.pair(w, a, b, level, mode=mode, **attrs)
    x = c.setup = Exchange(w, a, b)
    c.id = 0x51
    w.run(request(c, x, mode))
    if steps > 1:
        w.run(response1(c, x))
    if steps > 2:
        w.run(response23(c, x, RESP2))
    if steps > 3:
        w.run(response23(c, x, RESP3))
        c.up = True
    return w, c, x


def course() -> None:
    """IUs of a setup that come out of turn."""

    def resp3_early() -> Made:
        w, c, x = begun(steps=2)
        x.counts[True] = 1
        return w, w.run(response23(c, x, RESP3))[0], None

    def resp2_early() -> Made:
        w, c, x = begun(steps=1)
        head = device_header(RESP2, c.b.handle, word7=c.id)
        return w, w.run(iu(x, False, head, si=True))[0], None

    def resp1_alone() -> Made:
        w, a, b = start()
        c = flows.pair(w, a, b, 2)
        x = Exchange(w, a, b)
        x.fresh = False
        c.id = 5
        return w, w.run(response1(c, x))[0], None

    def resp3_for_resp1() -> Made:
        w, c, x = begun(steps=1)
        head = device_header(RESP3, c.a.handle, word7=c.id)
        return w, w.run(iu(x, True, head, last=True))[0], None

    def twice(steps: int, again: Callable[[Connection, Exchange], flows.Flow]) -> Callable[[], Made]:
        def make() -> Made:
            w, c, x = begun(steps=steps)
            return w, w.run(again(c, x))[0], None

        return make

    order = "5.3.1-05 5.8.1-01 6.9.1-01 6.10.1-01 6.11.1-01 4.2-27 5.3.1-04 T01-CONNECT_RESP1-pos "
    order += "T01-CONNECT_RESP2-pos T01-CONNECT_RESP3-pos"
    add("resp3_before_resp2", order, resp3_early)
    add("resp2_before_resp1", order, resp2_early)
    add("resp1_without_request", order + " 5.3.2-10", resp1_alone)
    add("resp3_instead_of_resp1", order, resp3_for_resp1)
    add("request_twice_in_one_exchange", order + " T01-CONNECT_RQST-pos", twice(1, lambda c, x: request(c, x, CLIENT)))
    add("resp1_twice", order, twice(2, lambda c, x: response1(c, x)))
    add("refusal_after_accept", order, twice(2, lambda c, x: response1(c, x, reason=4)))
    add("resp2_twice", order, twice(3, lambda c, x: response23(c, x, RESP2)))
    add("resp3_twice", order + " 5.4-01", twice(4, lambda c, x: response23(c, x, RESP3)))

    def too_soon(steps: int, back: bool) -> Callable[[], Made]:
        def make() -> Made:
            w, c, x = begun(steps=steps)
            asked, _ = w.run(message(c, back, wire.SEND_RQST, 64))
            return w, asked[0][0], None

        return make

    early = "4.2-01 4.2-25 5.9.3-03 5.9.2-01"
    add("client_message_before_resp1", early, too_soon(1, False))
    add("client_message_before_resp2", early, too_soon(2, False))
    add("server_message_before_resp1", early, too_soon(1, True))
    add("server_message_before_resp2", early, too_soon(2, True))
    add("server_message_before_resp3", early, too_soon(3, True))

    def after_refusal(back: bool) -> Callable[[], Made]:
        def make() -> Made:
            s = refused()
            asked, _ = s.w.run(message(s.c, back, wire.SEND_RQST, 64))
            return s.w, asked[0][0], None

        return make

    add("client_message_after_refusal", early, after_refusal(False))
    add("server_message_after_refusal", early, after_refusal(True))

    def never() -> Made:
        w, a, b = start()
        c = flows.pair(w, a, b, 2)
        asked, _ = w.run(message(c, False, wire.SEND_RQST, 64))
        return w, asked[0][0], None

    add("message_without_any_setup", early, never)

    def resp_long(opcode: int, payload: bytes, cuts: Optional[list[int]]) -> Callable[[], Made]:
        def make() -> Made:
            w, c, x = begun(steps=opcode - 0x17)
            handle = c.b.handle if opcode == RESP2 else c.a.handle
            frames = w.run(iu(x, opcode == RESP3, device_header(opcode, handle, word7=c.id), payload, cuts, si=opcode == RESP2,
                              last=opcode == RESP3))
            return w, frames[1 if cuts else 0], None

        return make

    add("resp2_with_payload", "6.10.1-02 T01-CONNECT_RESP2-enc", resp_long(RESP2, bytes(4), None))
    add("resp3_with_payload", "6.11.1-02 T01-CONNECT_RESP3-enc", resp_long(RESP3, bytes(4), None))
    add("resp2_of_two_frames", "6.10.1-04 6.10.1-02", resp_two(RESP2))
    add("resp3_of_two_frames", "6.11.1-04 6.11.1-02", resp_two(RESP3))

    def accept_level() -> Made:
        w, c, x = begun(steps=1)
        c.b.attrs = Attributes(level=3)
        f = w.run(response1(c, x))[0]
        return w, f, (wire.PAYLOAD + 310, 1)

    add("accept_of_another_level", "4.2-39 7.3-02", accept_level)

    def accept_address(which: str) -> Callable[[], Made]:
        def make() -> Made:
            w, c, x = begun(steps=1)
            local = c.a.local
            if which == "remote_host":
                c.a.local = Address(bytes(15) + b"\x77", local.discriminator)
            elif which == "remote_discriminator":
                c.a.local = Address(local.host, bytes(16))
            elif which == "local_discriminator":
                c.b.local = Address(c.b.local.host, b"\x99" * 16)
            else:
                c.a.local, c.b.local = c.b.local, c.a.local
            f = w.run(response1(c, x))[0]
            c.a.local = local
            return w, f, (wire.PAYLOAD + (160 if which.startswith("remote") else 12), 148)

        return make

    add("accept_remote_host_of_another", "6.9.3-05", accept_address("remote_host"))
    add("accept_remote_discriminator_of_another", "6.9.3-05", accept_address("remote_discriminator"))
    add("accept_local_discriminator_not_asked_for", "6.9.3-04 4.2-34", accept_address("local_discriminator"))
    add("accept_addresses_not_exchanged", "6.9.3-04 6.9.3-05", accept_address("both"))

    def resp3_unassigned() -> Made:
        w, c, x = begun(steps=3)
        f = w.run(response23(c, x, RESP3))[0]
        return w, f.put(wire.HANDLE, UNASSIGNED), wire.HANDLE

    add("resp3_unassigned_after_accept", "6.11.2-02 5.3.2-06 5.9.2-01 5.3.3-09", resp3_unassigned)

    def resp1_assigned(reason: int) -> Callable[[], Made]:
        def make() -> Made:
            s = refused(reason)
            s.one("RESP1").put((wire.PAYLOAD + 8, 4), 0x4321)
            s.one("RESP2").put(wire.HANDLE, 0x1111)
            return s.w, s.one("RESP2"), wire.HANDLE

        return make

    add("resp2_handle_not_that_of_refusal", "6.10.2-02 5.3.2-09 5.3.3-04 5.9.2-01", resp1_assigned(4))

    def open_twice(what: str) -> Callable[[], Made]:
        def make() -> Made:
            w, c, x = begun(steps=1)
            d = flows.pair(w, c.a.port, c.b.port, 2)
            if what == "id":
                d.id = c.id
            else:
                d.id = c.id + 1
                d.a.handle = c.a.handle
            y = Exchange(w, c.a.port, c.b.port)
            f = w.run(request(d, y, CLIENT))[0]
            return w, f, wire.CONNECTION_ID if what == "id" else (wire.PAYLOAD + 8, 4)

        return make

    add("connection_id_of_an_open_setup", "5.3.2-10 5.9.10-03 6.8.2-08", open_twice("id"))

    def handle_twice(back: bool) -> Callable[[], Made]:
        def make() -> Made:
            w, c, x = begun(steps=4)
            d = flows.pair(w, c.a.port, c.b.port, 2)
            d.id = c.id + 1
            y = Exchange(w, c.a.port, c.b.port)
            if back:
                d.b.handle = c.b.handle
                w.run(request(d, y, CLIENT))
                f = w.run(response1(d, y))[0]
            else:
                d.a.handle = c.a.handle
                f = w.run(request(d, y, CLIENT))[0]
            return w, f, (wire.PAYLOAD + 8, 4)

        return make

    add("request_handle_of_an_open_connection", "4.2-09", handle_twice(False))
    add("response_handle_of_an_open_connection", "4.2-09", handle_twice(True))


def resp_two(opcode: int) -> Callable[[], Made]:
    """RESP2 or RESP3 as a Sequence of two empty frames."""

    def make() -> Made:
        w, c, x = begun(steps=opcode - 0x17)
        handle = c.b.handle if opcode == RESP2 else c.a.handle
        first = w.run(iu(x, opcode == RESP3, device_header(opcode, handle, word7=c.id), si=opcode == RESP2,
                         last=opcode == RESP3))[0]
        second = flows.duplicate(first)
        second.first, second.seq_cnt, second.at = False, first.seq_cnt + 1, first.at + 5
        first.ends, first.f_ctl = False, first.f_ctl & ~(wire.END | wire.INITIATIVE)
        w.frames.append(second)
        return w, first, None

    return make


def retries() -> None:
    """8.5.3 and 8.5.4."""

    def lost(with_abort: bool = True) -> tuple[Wire, Connection]:
        """A first attempt that is never answered."""
        w, c, x = begun(steps=1)
        w.wait(R_A_TOV)
        if with_abort:
            w.run(abort(w, x, False))
        return w, c

    def retry(change: Callable[[Connection], None], place: Place, with_abort: bool = True, again: int = 1,
              flag: bool = True) -> Callable[[], Made]:
        def make() -> Made:
            w, c = lost(with_abort)
            x: Optional[Exchange] = None
            for i in range(again):
                if x:
                    w.wait(R_A_TOV)
                    w.run(abort(w, x, False))
                c.id += 1
                if i == again - 1:
                    change(c)
                x = Exchange(w, c.a.port, c.b.port)
                f = w.run(request(c, x, CLIENT, retry=flag))[0]
            return w, f, place

        return make

    def other_handle(c: Connection) -> None:
        c.a.handle += 0x10

    def same_id(c: Connection) -> None:
        c.id -= 1

    add("retry_with_another_handle", "8.5.4-a1", retry(other_handle, None))
    add("retry_with_the_same_id", "8.5.4-a1 8.5.3-b", retry(same_id, wire.CONNECTION_ID), timing=True)
    add("retry_a_second_time", "8.5.4-01 8.5.4-02 8.5.4-a1", retry(lambda c: None, None, again=2), timing=True)

    def unaborted() -> Made:
        w, c = lost(False)
        c.id += 1
        x = Exchange(w, c.a.port, c.b.port)
        f = w.run(request(c, x, CLIENT, retry=True))[0]
        w.run(response1(c, x, retry=True))
        w.run(response23(c, x, RESP2, retry=True))
        w.run(response23(c, x, RESP3, retry=True))
        w.wait(R_A_TOV)
        w.run(message(c, False, wire.SEND_RQST, 64))
        return w, f, None

    add("retry_without_abts", "8.5.3-a 8.5.2-b", unaborted, timing=True, later=(5, 6, 7, 8))

    def first_marked() -> Made:
        w, a, b = start()
        c = flows.pair(w, a, b, 2)
        c.id = 7
        return w, w.run(request(c, Exchange(w, a, b), CLIENT, retry=True))[0], wire.FLAGS

    add("retry_that_is_the_first_attempt", "5.9.4.4-03 8.5.4-a1 T07-4 5.9.4.4-04", first_marked)

    def after_connected() -> Made:
        w, c, x = begun(steps=4)
        c.id += 1
        return w, w.run(request(c, Exchange(w, c.a.port, c.b.port), CLIENT, retry=True))[0], None

    add("retry_of_a_setup_that_completed", "8.5.4-a1 8.5.4-01 8.5.3-a3 5.9.4.4-03 4.2-09", after_connected)

    def id_again() -> Made:
        w, c = lost()
        d = flows.pair(w, c.a.port, c.b.port, 2)
        d.id = c.id
        w.wait(R_A_TOV // 2)
        return w, w.run(request(d, Exchange(w, c.a.port, c.b.port), CLIENT))[0], wire.CONNECTION_ID

    add("connection_id_of_a_failed_setup_again", "8.5.3-b", id_again, timing=True)

    def handle_again(back: bool) -> Callable[[], Made]:
        def make() -> Made:
            w, c, x = begun(steps=4)
            w.run(disconnect(c))
            w.wait(R_A_TOV // 2)
            d = flows.pair(w, c.a.port, c.b.port, 2)
            d.id = c.id + 1
            y = Exchange(w, c.a.port, c.b.port)
            if back:
                d.b.handle = c.b.handle
                w.run(request(d, y, CLIENT))
                return w, w.run(response1(d, y))[0], (wire.PAYLOAD + 8, 4)
            d.a.handle = c.a.handle
            w.run(request(d, y, CLIENT))
            w.run(response1(d, y))
            f = w.run(response23(d, y, RESP2))[0]
            return w, w.frames[-3], (wire.PAYLOAD + 8, 4) if f else None

        return make

    add("response_handle_again_within_r_a_tov", "8.4.2-f2", handle_again(True), timing=True)
    add("request_handle_again_within_r_a_tov", "8.4.2-f2", handle_again(False), timing=True)


def crossing() -> None:
    """Table 2: requests of two Peers that cross."""

    def cross(first: int, second: int, mine: str = "lower", equal: bool = False, hasty: bool = False) -> Callable[[], Made]:
        """The higher-named Peer answers ``first`` (0 for an accept), the lower-named one ``second``; ``mine`` is wrong."""

        def make() -> Made:
            w = Wire()
            a, b = w.port(1), w.port(2)
            if equal:
                b.name = a.name
            w.run(flows.login(w, a, b))
            c = flows.pair(w, a, b, 2, mode=PEER)
            c.id = 0x11
            x, y = Exchange(w, a, b), Exchange(w, b, a)
            if first in (1, 3):  # it answered before it asked
                w.run(request(c, x, PEER))
                higher = w.run(response1(c, x, reason=first))[0]
                w.run(request(c, y, PEER, back=True, own_id=0x22))
            else:
                w.run(request(c, x, PEER))
                w.run(request(c, y, PEER, back=True, own_id=0x22))
                if hasty:
                    return w, w.run(response1(c, y, back=True, reason=second, own_id=0x22))[0], None
                higher = w.run(response1(c, x, reason=first))[0]
            if first == 0 and mine == "lower":  # it is Connected: its application has not given up
                w.run(response23(c, x, RESP2))
            lower = w.run(response1(c, y, back=True, reason=second, own_id=0x22))[0]
            return w, (lower if mine == "lower" else higher), None

        return make

    row = {0: "T02-1 5.3.4-b2 5.3.4-02 5.3.4-07 5.3.4-04 TA1-1 A.2-02", 1: "T02-2 5.3.4-b1 5.3.4-07 TA1-2",
           3: "T02-3 5.3.4-b1 5.3.4-07 TA1-3",
           5: "T02-4 5.3.4-b3 5.3.4-07 TA1-4", 0x22: "T02-5 5.3.4-b4 5.3.4-07 TA1-5", 0x21: "T02-6 5.3.4-b4 5.3.4-07 TA1-6",
           4: "T02-7 5.3.4-b4 5.3.4-07 TA1-7", 0x20: "T02-7 5.3.4-b4 5.3.4-07 TA1-7"}  # fmt: skip
    for first, wrong in ((0, (0, 1, 3, 4, 0x21)), (1, (5,)), (3, (5,)), (0x22, (0, 0x21, 5)), (0x21, (0, 5)), (4, (0, 5)),
                         (0x20, (0, 5))):
        for second in wrong:
            add(f"peers_{first:02X}h_then_{second:02X}h", row[first] + " 5.3.4-02", cross(first, second))
    for second in (0, 5):
        add(f"peers_05h_then_{second:02X}h", row[5] + " 5.3.4-02", cross(5, second), also=(5,))
    for reason in (5,):
        add(f"peers_higher_refuses_{reason:02X}h", "5.3.4-a 5.3.4-05 5.3.4-02 A.5-01", cross(reason, 0x21, "higher"))
    add("peers_lower_does_not_wait_accept", "5.3.4-b 5.3.4-02 5.3.4-04", cross(0, 0, hasty=True))
    add("peers_lower_does_not_wait_05h", "5.3.4-b 5.3.4-02", cross(0, 5, hasty=True))
    add("peers_of_one_name_accept", "5.3.4-c 5.3.4-02", cross(0, 0x21, "higher", equal=True))
    add("peers_of_one_name_refuse_05h", "5.3.4-c 5.3.4-02", cross(5, 0x21, "higher", equal=True))


def closing() -> None:
    """Disconnects."""

    def alone() -> Made:
        w, c, x = begun(steps=4)
        y = Exchange(w, c.a.port, c.b.port)
        y.fresh = False
        return w, w.run(iu(y, True, device_header(DISCONNECT_RESP, c.a.handle, 2), last=True))[0], None

    add("disconnect_resp_without_request", "6.13.1-01 T01-DISCONNECT_RESP-pos 5.8.1-01", alone)

    def inside() -> Made:
        w, c, x = begun(steps=2)
        f = w.run(iu(x, False, device_header(DISCONNECT_RQST, c.b.handle, 6, word7=c.id), si=True))[0]
        return w, f, None

    add("disconnect_in_the_setup_exchange", "T01-DISCONNECT_RQST-pos", inside)

    def two(opcode: int) -> Callable[[], Made]:
        def make() -> Made:
            w, c, x = begun(steps=4)
            y = Exchange(w, c.a.port, c.b.port)
            w.run(iu(y, False, device_header(DISCONNECT_RQST, c.b.handle, 2), bytes(4 * (opcode == DISCONNECT_RQST)), si=True))
            w.run(iu(y, True, device_header(DISCONNECT_RESP, c.a.handle, 2), bytes(4 * (opcode == DISCONNECT_RESP)), last=True))
            return w, w.frames[-2 if opcode == DISCONNECT_RQST else -1], None

        return make

    add("disconnect_rqst_with_payload", "6.12.1-02 T01-DISCONNECT_RQST-enc", two(DISCONNECT_RQST))
    add("disconnect_resp_with_payload", "6.13.1-02 T01-DISCONNECT_RESP-enc", two(DISCONNECT_RESP))

    def traffic(back: bool, answered: bool) -> Callable[[], Made]:
        def make() -> Made:
            s = scene(2, end=False)
            s.w.run(disconnect(s.c, answer=answered))
            s.w.wait(1000)
            asked, _ = s.w.run(message(s.c, back, wire.SEND_RQST, 64))
            return s.w, asked[0][0], None

        return make

    over = "8.1-03 8.1-01 4.2-01 4.2-25 5.9.3-03 5.9.2-01 8.2-d2"
    add("message_after_own_disconnect_rqst", over, traffic(False, False))
    add("message_after_disconnect_by_originator", over, traffic(False, True))
    add("message_after_own_disconnect_resp", over, traffic(True, True))

    def aborting(steps: int, known: bool, setup: bool, id_: Optional[int] = None, msg: int = 0,
                 back: bool = False) -> Callable[[Place], Callable[[], Made]]:
        def at(place: Place) -> Callable[[], Made]:
            def make() -> Made:
                w, c, x = begun(steps=steps)
                me, other = (c.b, c.a) if back else (c.a, c.b)
                y = Exchange(w, me.port, other.port)
                head = device_header(
                    DISCONNECT_RQST, other.handle if known else UNASSIGNED, 2 | 4 * setup, msg,
                    word7=(c.id if setup else 0) if id_ is None else id_)
                return w, w.run(iu(y, False, head, si=True))[0], place

            return make

        return at

    add("setup_abort_handle_not_known", "6.12.2-03 5.9.2-05 5.9.2-01 6.12.2-02", aborting(1, True, True)(wire.HANDLE))
    add("setup_abort_unassigned_after_own_resp2", "6.12.2-02 5.9.2-01", aborting(3, False, True)(wire.HANDLE))
    add("setup_abort_unassigned_by_server", "6.12.2-02 5.9.2-01", aborting(2, False, True, back=True)(wire.HANDLE), timing=True)
    add("setup_abort_id_of_another", "6.12.2-14 5.9.10-05", aborting(2, True, True, 0x999)(wire.CONNECTION_ID))
    add("setup_abort_msg_id", "6.12.2-10", aborting(2, True, True, msg=1)(wire.MSG_ID))
    add("abort_flag_0_without_connection", "6.12.2-06 5.9.4.6-05 6.12.2-02", aborting(1, False, False)(None))

    def carried() -> Made:
        s = scene(2, end=False)
        y = Exchange(s.w, s.a, s.b)
        head = device_header(DISCONNECT_RQST, s.c.b.handle, 6, 0, word7=s.c.id)
        return s.w, s.w.run(iu(y, False, head, si=True))[0], wire.FLAGS

    add("abort_flag_1_of_a_used_connection", "6.12.2-07 5.9.4.6-05", carried)

    def other_exchange() -> Made:
        w, c, x = begun(steps=4)
        f = w.run(disconnect(c, answer=False))[0][0]
        y = Exchange(w, c.a.port, c.b.port)
        y.fresh = False
        g = w.run(iu(y, True, device_header(DISCONNECT_RESP, c.a.handle, 2), last=True))[0]
        return w, g, None if f else None

    add("disconnect_resp_on_another_exchange", "6.13.1-01 T01-DISCONNECT_RESP-pos 5.8.1-01", other_exchange)

    def twice() -> Made:
        w, c, x = begun(steps=4)
        order: list[Exchange] = []
        w.run(disconnect(c, order=order))
        g = w.run(iu(order[0], True, device_header(DISCONNECT_RESP, c.a.handle, 2), last=True))[0]
        return w, g, None

    add("disconnect_resp_twice", "6.13.1-03 5.4-01 T01-DISCONNECT_RESP-pos 5.8.1-01 6.13.1-01", twice)


def login_parameters() -> None:
    """5.6: S and C of PLOGI and its LS_ACC, and what follows from them."""
    feature = (32, 2)
    for who, index in (("plogi", 0), ("acc", 1)):
        for name, value, req in (("s", 0x8000, "5.6-03 5.6-04"), ("c", 0x0002, "5.6-08"), ("c_in_bit_30_only", 0x4002, "5.6-08")):
            def make(index: int = index, value: int = value) -> Made:
                w = Wire()
                a, b = w.port(1), w.port(2)
                w.run(flows.login(w, a, b, *((value, 0x8002) if index == 0 else (0x8002, value))))
                poor, good = (a, b) if index == 0 else (b, a)
                c = flows.pair(w, poor, good, 2)
                w.run(flows.connect(c, reason=0x20))  # an FC-VI port it is: it asks for a Connection
                return w, w.frames[index], feature

            add(f"{who}_without_{name}", req, make, later=(3,))
            if value == 0x4002:
                continue  # what the other port makes of bit 30 alone is open (E17)
            for act in ("accepted", "refused_04h", "originated"):
                def setup(index: int = index, value: int = value, act: str = act) -> Made:
                    w = Wire()
                    a, b = w.port(1), w.port(2)
                    w.run(flows.login(w, a, b, *((value, 0x8002) if index == 0 else (0x8002, value))))
                    poor, good = (a, b) if index == 0 else (b, a)
                    me, other = (good, poor) if act == "originated" else (poor, good)
                    c = flows.pair(w, me, other, 2)
                    c.id = 3
                    x = Exchange(w, me, other)
                    f = w.run(request(c, x, CLIENT))[0]
                    if act != "originated":
                        f = w.run(response1(c, x, reason=0 if act == "accepted" else 4))[0]
                    return w, f, None

                sentence = {"accepted": "5.6-05 5.6-10", "refused_04h": "5.6-05 5.6-10 5.9.7.2.2-01",
                            "originated": "5.6-06 5.6-11"}[act]
                add(f"{who}_without_{name}_{act}", sentence, setup, also=(index + 1,))


course()
retries()
crossing()
closing()
login_parameters()
