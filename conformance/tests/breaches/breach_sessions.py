"""Messages broken in their course: order, responses, lengths, rights, identifiers, classes, timing."""

from typing import Callable

from conformance.tests.breaches import flows, wire
from conformance.tests.breaches.flows import R_A_TOV, Exchange, Wire, abort, iu, message
from conformance.tests.breaches.scene import Place, Scene, add, scene
from conformance.tests.breaches.wire import READ_RESP, READ_RQST, SEND_RESP, SEND_RQST, WRITE_RESP, WRITE_RQST, Frame, device_header

Made = tuple[Wire, Frame, Place]
NAME = {SEND_RQST: "send", WRITE_RQST: "write", READ_RQST: "read"}


def linked(level: int = 3, cls: int = 3, size: int = 2112, **attrs: object) -> Scene:
    """A Connection without traffic."""
    w = Wire()
    a, b = w.port(1), w.port(2)
    w.run(flows.login(w, a, b, size=size))
    c = flows.pair(w, a, b, level, cls, **attrs)
    w.run(flows.connect(c))
    return Scene(w, a, b, c, {})


def message_order() -> None:
    """FCVI_MSG_ID from Message to Message."""
    for first in (0, 2):
        def begin(first: int = first) -> Made:
            s = linked(2)
            s.c.a.msg_id = first - 1
            return s.w, s.w.run(message(s.c, False, SEND_RQST, 64))[0][0][0], wire.MSG_ID

        add(f"first_msg_id_{first}", "4.2-10 5.9.6-03", begin)
    for back in (False, True):
        for step in (0, 2):
            def go_on(back: bool = back, step: int = step) -> Made:
                s = linked(2)
                s.w.run(message(s.c, back, SEND_RQST, 64))
                me = s.c.b if back else s.c.a
                me.msg_id += step - 1
                return s.w, s.w.run(message(s.c, back, WRITE_RQST, 64))[0][0][0], wire.MSG_ID

            add(f"msg_id_step_{step}{'_of_server' if back else ''}", "4.2-12 5.9.6-04 6.4.2-08", go_on)


def responses() -> None:
    """What answers a Message, and what may not."""
    for level in (1, 2):
        for opcode, answer, req in ((SEND_RQST, SEND_RESP, "6.3.1-03 5.2.2-03 5.4-01"),
                                    (WRITE_RQST, WRITE_RESP, "6.5.1-02 5.2.3-03 5.4-01")):
            def unasked(level: int = level, opcode: int = opcode, answer: int = answer) -> Made:
                s = linked(level)
                done: list[Exchange] = []
                s.w.run(message(s.c, False, opcode, 64, finished=done))
                f = s.w.run(iu(done[0], True, device_header(answer, s.c.a.handle, 0, 1), last=True))[0]
                return s.w, f, None

            add(f"{NAME[opcode]}_response_at_level_{level}", req, unasked)

            def kept(level: int = level, opcode: int = opcode, answer: int = answer) -> Made:
                s = linked(level)
                x = Exchange(s.w, s.a, s.b)
                v = 0 if opcode == SEND_RQST else 0x1000
                f = s.w.run(iu(x, False, device_header(opcode, s.c.b.handle, 0, 1, 0, v, v, 64), bytes(64), si=True))[0]
                return s.w, f, wire.F_CTL

            req2 = "6.2.1-04" if opcode == SEND_RQST else "6.4.1-05"
            add(f"{NAME[opcode]}_passes_initiative_at_level_{level}", f"5.8.4-01 5.2.1-05 5.4-01 {req2}", kept)

    def read_unreliable() -> Made:
        s = linked(1)
        return s.w, s.w.run(message(s.c, False, READ_RQST, 64, answer=False))[0][0][0], None

    add("read_at_level_1", "6.6.1-02 5.2.4-02", read_unreliable)
    for opcode, wrong, req in ((SEND_RQST, WRITE_RESP, "6.3.1-01 5.2.2-04 6.5.1-01"),
                               (WRITE_RQST, SEND_RESP, "6.5.1-01 5.2.3-04 6.3.1-01"),
                               (READ_RQST, SEND_RESP, "6.7.1-01 5.2.4-01 6.3.1-01"), (SEND_RQST, READ_RESP,
                                                                                      "6.3.1-01 5.2.2-04 6.7.1-01")):  # fmt: skip
        def crossed(opcode: int = opcode, wrong: int = wrong) -> Made:
            s = linked(3)
            done: list[Exchange] = []
            s.w.run(message(s.c, False, opcode, 64, answer=False, finished=done))
            f = s.w.run(iu(done[0], True, device_header(wrong, s.c.a.handle, 0, 1), last=True))[0]
            return s.w, f, None

        add(f"{NAME[opcode]}_answered_with_{wrong:02X}h", req + " 5.2.1-01 T01-SEND_RESP-pos T01-WRITE_RESP-pos T01-READ_RESP-pos",
            crossed)
    for opcode, answer, req in ((SEND_RQST, SEND_RESP, "6.3.1-02 5.2.2-04"), (WRITE_RQST, WRITE_RESP, "6.5.1-03 5.2.3-04")):
        def again(opcode: int = opcode, answer: int = answer) -> Made:
            s = linked(3)
            done: list[Exchange] = []
            s.w.run(message(s.c, False, opcode, 64, finished=done))
            f = s.w.run(iu(done[0], True, device_header(answer, s.c.a.handle, 0, 1), last=True))[0]
            return s.w, f, None

        add(f"{NAME[opcode]}_answered_twice", req + " 5.4-01 5.8.1-01", again)

        def long(opcode: int = opcode, answer: int = answer) -> Made:
            s = linked(3)
            done: list[Exchange] = []
            s.w.run(message(s.c, False, opcode, 64, answer=False, finished=done))
            f = s.w.run(iu(done[0], True, device_header(answer, s.c.a.handle, 0, 1), bytes(4), last=True))[0]
            return s.w, f, None

        clause = "6.3.1" if opcode == SEND_RQST else "6.5.1"
        add(f"{NAME[opcode]}_response_with_payload", f"{clause}-04 T01-{'SEND' if opcode == SEND_RQST else 'WRITE'}_RESP-enc", long)

        def before(opcode: int = opcode, answer: int = answer) -> Made:
            s = linked(3)
            x = Exchange(s.w, s.a, s.b)
            x.fresh = False
            f = s.w.run(iu(x, True, device_header(answer, s.c.a.handle, 0, 1), last=True))[0]
            return s.w, f, None

        add(f"{NAME[opcode]}_response_without_request",
            f"{clause}-01 5.2.1-01 5.8.1-01 5.9.6-06 T01-SEND_RESP-pos T01-WRITE_RESP-pos", before)

        def hasty(opcode: int = opcode, answer: int = answer) -> Made:
            s = linked(3)
            x = Exchange(s.w, s.a, s.b)
            v = 0 if opcode == SEND_RQST else 0x1000
            s.w.run(iu(x, False, device_header(opcode, s.c.b.handle, 0, 1, 0, v, v, 128), bytes(64)))
            f = s.w.run(iu(x, True, device_header(answer, s.c.a.handle, 0, 1), last=True))[0]
            return s.w, f, None

        add(f"{NAME[opcode]}_success_before_the_request_is_over", f"{clause}-01 5.8.1-01 5.2.1-04 5.8.4-02 T06-0", hasty)

    def read_payload() -> Made:
        s = linked(3)
        x = Exchange(s.w, s.a, s.b)
        f = s.w.run(iu(x, False, device_header(READ_RQST, s.c.b.handle, 0, 1, 0, 1, 1, 64), bytes(4), si=True))[0]
        return s.w, f, None

    add("read_request_with_payload", "6.6.1-03 T01-READ_RQST-enc", read_payload)
    for length, name in ((32, "short"), (96, "long")):
        def amount(length: int = length) -> Made:
            s = linked(3)
            done: list[Exchange] = []
            s.w.run(message(s.c, False, READ_RQST, 64, answer=False, finished=done))
            head = device_header(READ_RESP, s.c.a.handle, 0, 1, 0, 0x123456789ABC0000, 0x5A5A5A5A, 64)
            return s.w, s.w.run(iu(done[0], True, head, bytes(length), last=True))[0], None

        add(f"read_answered_{name}", "6.7.1-02 5.9.10-01 6.7.2-11 6.6.2-09 5.2.4-03", amount)

    def late_requests() -> Made:
        s = linked(2)
        done: list[Exchange] = []
        s.w.run(message(s.c, False, SEND_RQST, 64, finished=done))
        x = done[0]
        return s.w, s.w.run(iu(x, False, device_header(SEND_RQST, s.c.b.handle, 0, 2, word7=64), bytes(64), last=True))[0], None

    add("two_messages_in_one_exchange", "4.2-02 5.4-01 5.4-02 5.2.1-07", late_requests)

    def two_types() -> Made:
        s = linked(2)
        x = Exchange(s.w, s.a, s.b)
        s.w.run(iu(x, False, device_header(SEND_RQST, s.c.b.handle, 0, 1, word7=128), bytes(64)))
        return s.w, s.w.run(iu(x, False, device_header(WRITE_RQST, s.c.b.handle, 0, 1, 0, 0, 0, 128), bytes(64),
                               last=True))[0], None

    add("request_of_two_types", "5.2.1-02", two_types)

    def two_in_sequence() -> Made:
        s = linked(2)
        x = Exchange(s.w, s.a, s.b)
        frames = s.w.run(iu(x, False, device_header(SEND_RQST, s.c.b.handle, 0, 1, word7=128), bytes(128), [64], last=True))
        frames[1].put(wire.OPCODE, WRITE_RQST)
        return s.w, frames[1], wire.OPCODE

    add("opcode_changes_in_a_sequence", "5.2.1-02 4.2-04 5.5-01 5.9.3-01", two_in_sequence)


def limits() -> None:
    """Lengths, rights, pipeline, frame sizes."""
    for opcode in (SEND_RQST, WRITE_RQST):
        def size(opcode: int = opcode) -> Made:
            s = linked(2, max_size=256)
            return s.w, s.w.run(message(s.c, False, opcode, 260))[0][0][0], wire.TOT_LEN

        add(f"{NAME[opcode]}_above_max_trans_size", "7.3-04 T16-w1", size)

    def right(opcode: int, level: int) -> Callable[[], Made]:
        def make() -> Made:
            s = linked(level, write=False, read=False)
            _, answered = s.w.run(message(s.c, False, opcode, 64))
            return s.w, answered[0][0], None

        return make

    add("write_granted_without_right", "T17-1 7.3-03", right(WRITE_RQST, 3))
    add("read_granted_without_right", "T17-0 7.3-03", right(READ_RQST, 3))
    add("read_granted_without_right_level_2", "T17-0 7.3-03", right(READ_RQST, 2))
    for depth in (0, 2):
        for opcode in (SEND_RQST, READ_RQST):
            def pipeline(depth: int = depth, opcode: int = opcode) -> Made:
                s = linked(3, depth=depth)
                for _ in range(depth + 2):
                    asked, _ = s.w.run(message(s.c, False, opcode, 64, answer=False))
                return s.w, asked[0][0], None

            add(f"{NAME[opcode]}_beyond_depth_{depth}", "7.3-14", pipeline)
    for opcode in (SEND_RQST, READ_RQST):
        def frame_size(opcode: int = opcode) -> Made:
            s = linked(2, size=512)
            asked, answered = s.w.run(message(s.c, False, opcode, 600))
            return s.w, (answered or asked)[0][0], None

        add(f"{NAME[opcode]}_frame_above_receive_size", "5.8.1-01", frame_size)


def sequences() -> None:
    """Identifiers, delimiters and fill bytes of Sequences."""

    def open_one() -> Made:
        s = linked(2)
        x, y = Exchange(s.w, s.a, s.b), Exchange(s.w, s.a, s.b)
        d = flows.pair(s.w, s.a, s.b, 2)
        s.w.run(flows.connect(d))
        first = s.w.run(iu(x, False, device_header(SEND_RQST, s.c.b.handle, 0, 1, word7=128), bytes(128), [64], last=True))
        second = s.w.run(iu(y, False, device_header(SEND_RQST, d.b.handle, 0, 1, word7=64), bytes(64), last=True))[0]
        second.seq_id = first[0].seq_id
        s.w.frames.remove(first[1])
        s.w.frames.append(first[1])
        first[1].at = second.at + 10
        return s.w, second, wire.SEQ_ID

    add("seq_id_of_an_open_sequence", "5.5-02 5.5-04", open_one)

    def open_exchange() -> Made:
        s = linked(3, depth=3)
        s.w.run(message(s.c, False, SEND_RQST, 64, answer=False))
        first = s.w.frames[-1]
        asked, _ = s.w.run(message(s.c, False, SEND_RQST, 64, answer=False))
        asked[0][0].ox = first.ox
        return s.w, asked[0][0], wire.OX_ID

    add("ox_id_of_an_open_exchange", "4.2-02 5.4-02 5.4-03 5.8.1-01 5.2.1-07", open_exchange)

    def long() -> Made:
        s = linked(2, max_size=1 << 20)
        frames = s.w.run(message(s.c, False, SEND_RQST, 4 * 65540, frame=4))[0][0]
        return s.w, frames[65536], wire.SEQ_CNT

    add("seq_cnt_repeats_in_an_iu_of_65540_frames", "5.6-02 5.8.6-02", long)

    def fill() -> Made:
        s = linked(2)
        frames = s.w.run(message(s.c, False, SEND_RQST, 3000))[0][0]
        frames[1].f_ctl |= 2
        return s.w, frames[1], wire.F_CTL

    add("fill_bytes_in_a_middle_frame", "5.8.1-01", fill)

    def end_early() -> Made:
        s = linked(2)
        frames = s.w.run(message(s.c, False, SEND_RQST, 3000))[0][0]
        frames[1].f_ctl |= wire.END
        return s.w, frames[1], wire.F_CTL

    add("end_sequence_in_a_middle_frame", "5.8.1-01 5.9.10-01 4.2-04", end_early)

    def unended() -> Made:
        s = linked(2)
        frames = s.w.run(message(s.c, False, SEND_RQST, 64))[0][0]
        frames[0].f_ctl &= ~wire.END
        s.w.run(message(s.c, False, SEND_RQST, 64))
        return s.w, frames[0], wire.F_CTL

    add("end_sequence_missing", "5.8.1-01 5.2.1-05 5.5-04", unended, later=(8,))

    def gap(level: int, missing: int) -> Callable[[], Made]:
        def make() -> Made:
            s = linked(level)
            frames = s.w.run(message(s.c, False, SEND_RQST, 3000))[0][0]
            s.w.frames.remove(frames[missing])
            return s.w, frames[missing + 1], None

        return make

    add("frame_never_sent", "5.8.6-01 5.6-01", gap(2, 1))
    add("first_frame_never_sent", "5.8.6-01 5.6-01", gap(2, 0))

    def source() -> Made:
        s = linked(2)
        frames = s.w.run(message(s.c, False, SEND_RQST, 64))[0][0]
        third = s.w.port(3)
        frames[0].src = third.id
        return s.w, frames[0], None

    add("message_of_a_third_port", "5.9.2-01 4.2-01 4.2-25 5.9.3-03 4.2-07", source)

    def ack_class3() -> Made:
        s = linked(2)
        frames = s.w.run(message(s.c, False, SEND_RQST, 64))[0][0]
        x = Exchange(s.w, s.a, s.b)
        f = flows.ack(s.w, x, frames[0])
        f.cls = 3
        return s.w, f, None

    add("ack_in_class_3", "5.8.1-01", ack_class3)

    def class2_seq() -> Made:
        s = linked(2, cls=2)
        frames, _ = s.w.run(message(s.c, False, SEND_RQST, 64))
        first = frames[0][0]
        del s.w.frames[s.w.number(first) :]
        second = s.w.run(message(s.c, False, SEND_RQST, 64))[0][0][0]
        second.seq_id = first.seq_id
        return s.w, second, wire.SEQ_ID

    add("class_2_seq_id_before_its_ack", "5.5-05 5.5-02", class2_seq)

    def initiative() -> Made:
        s = linked(3)
        done: list[Exchange] = []
        s.w.run(message(s.c, False, SEND_RQST, 64, answer=False, finished=done))
        f = s.w.run(iu(done[0], False, device_header(SEND_RQST, s.c.b.handle, 0, 1, word7=64), bytes(4), si=True))[0]
        return s.w, f, None

    add("request_goes_on_without_initiative", "5.8.1-01 5.2.1-04 5.9.10-01", initiative)


def errors() -> None:
    """8.3, 8.4: what follows an error."""

    def unanswered(wait: int, with_abort: bool, opcode: int = SEND_RQST) -> tuple[Scene, Exchange]:
        s = linked(3, depth=7)
        done: list[Exchange] = []
        s.w.run(message(s.c, False, opcode, 64, answer=False, finished=done))
        s.w.wait(wait)
        if with_abort:
            s.w.run(abort(s.w, done[0], False))
        return s, done[0]

    def ignored() -> Made:
        s, _ = unanswered(3 * R_A_TOV, False)
        f = s.w.run(message(s.c, False, SEND_RQST, 64, answer=False))[0][0][0]
        return s.w, f, None

    add("no_abts_after_a_missing_response", "8.4.2-a 8.4.1-a 8.3-01", ignored, timing=True, later=(7,))

    def goes_on(opcode: int) -> Callable[[], Made]:
        def make() -> Made:
            s, _ = unanswered(R_A_TOV, True, opcode)
            return s.w, s.w.run(message(s.c, False, SEND_RQST, 64))[0][0][0], None

        return make

    add("message_after_own_abts_of_a_send", "8.4.2-e 8.1-01", goes_on(SEND_RQST), timing=True)
    add("message_after_own_abts_of_a_read", "8.4.2-e 8.1-01", goes_on(READ_RQST), timing=True)

    def logged_out(back: bool) -> Callable[[], Made]:
        def make() -> Made:
            s = scene(2, end=False)
            s.w.run(flows.logout(s.w, s.a, s.b))
            s.w.run(flows.login(s.w, s.a, s.b))
            return s.w, s.w.run(message(s.c, back, SEND_RQST, 64))[0][0][0], None

        return make

    over = "7.7.1-05 4.2-01 4.2-25 5.9.3-03 5.9.2-01"
    add("message_after_own_logout", over, logged_out(False))
    add("message_after_logout_of_the_other", over, logged_out(True))


message_order()
responses()
limits()
sequences()
errors()
