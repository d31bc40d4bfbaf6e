"""`fcvi explain` of setups that somebody left or refused, of Reads that are given up half-way, and of late answers with a reason.

Each broken capture has a conforming neighbour beside it, of which nothing may be said. Frames are made from the tables of the
standards.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Optional

import pytest

from fcvi.flows.cause import Cause
from fcvi.flows.causes import explain
from fcvi.flows.table import Table
from harness.tests.capture.wrappings import pcap
from harness.tests.flows.field.stories import (
    F_PORT, R_A_TOV_US, Seen, Talk, Wrapping, header, link_service, records, service_parameters,
)  # fmt: skip
from harness.tests.flows.test_flows_silence import told

_RQST_SI, _RESP_LAST = 0x290000, 0x980000
_SETUP_ABORT, _APPLICATION, _STATUS = 4, 2, 1
_CHATTER_US = 60_000_000


def begun(level: int = 3, seed: int = 1) -> Talk:
    """Two ports that have logged in."""
    t = Talk(Random(seed))
    t.level = level
    t.login()
    return t


def causes(t: Talk, path: Path) -> list[Cause]:
    """What is explained of it; nothing stays without a cause."""
    found, unknown = told([(s.us, s.data) for s in t.frames], path / "c.pcap")
    assert not unknown
    return found


def disconnect(t: Talk, side: int, flags: int, reason: int = 0, **more: int) -> None:
    """An FCVI_DISCONNECT_RQST and its answer (Table 10)."""
    ox = t.next_ox(side)
    t.put(t.iu(side, 0x12, flags, _RQST_SI, ox, word=reason << 16, r_ctl=2, **more))
    t.put(t.iu(1 - side, 0x1B, flags & ~_STATUS, _RESP_LAST, ox, rx=0x7001, **more), after=t.back(1 - side))


def peer_request(t: Talk, side: int, ox: int, opcode: int = 0x10, reason: int = 0) -> None:
    """A connect IU of a setup that a side asks for in peer mode, or its answer."""
    is_answer = opcode == 0x18
    flags = int(reason != 0) if is_answer else 2
    by = 1 - side if is_answer else side
    data = t.iu(by, opcode, flags, 0x890008 if is_answer else 0x290008, ox, r_ctl=3 if is_answer else 2, word=reason << 16,
                ident=0x100 + side)  # fmt: skip
    t.put(data + t.payload(by), after=t.back(by))


# ---- who withdraws ----


@pytest.mark.parametrize("upto, side", [(0, 0), (1, 0), (2, 1)])
def test_an_application_that_leaves_a_setup_withdrew(upto: int, side: int, tmp_path: Path) -> None:
    """CONN_SETUP_ABORT and VI_APP_DISCON before FCVI_CONNECT_RESP3, and no ABTS (6.12.2): nothing was lost."""
    t = begun()
    t.setup(upto)
    disconnect(t, side, _SETUP_ABORT | _APPLICATION)
    t.chatter(_CHATTER_US)
    (cause,) = causes(t, tmp_path)
    assert cause.names == ("withdrawn",) and cause.party is None and f"{t.ends[side]:06X} sent" in cause.text


def test_an_application_that_leaves_a_connection_withdrew_from_nothing(tmp_path: Path) -> None:
    """A normal end, and one that is sent while FCVI_CONNECT_RESP3 is under way."""
    for flags, more in ((_APPLICATION, {"ident": 0}), (_SETUP_ABORT | _APPLICATION, {})):
        t = begun()
        t.setup()
        disconnect(t, 0, flags, **more)
        t.chatter(_CHATTER_US)
        assert not causes(t, tmp_path)


# ---- 05h ----


def test_a_request_in_client_server_mode_is_refused_by_05h(tmp_path: Path) -> None:
    """Only a Peer whose own request was accepted may answer so (5.3.4)."""
    t = begun()
    t.refuse(5)
    t.chatter(_CHATTER_US)
    (cause,) = causes(t, tmp_path)
    assert cause.names == ("peer-refused",) and "client-server mode" in cause.text


@pytest.mark.parametrize("won", [False, True])
def test_05h_to_a_peer_is_right_where_the_other_request_was_accepted(won: bool, tmp_path: Path) -> None:
    """Table 2: Peer B accepts nobody, but its own request is accepted."""
    t = begun()
    mine, theirs = t.next_ox(0), t.next_ox(1)
    peer_request(t, 0, mine)
    if won:
        peer_request(t, 1, theirs), peer_request(t, 1, theirs, 0x18)
    peer_request(t, 0, mine, 0x18, reason=5)
    if won:
        t.put(t.iu(1, 0x19, 0, 0x090000, theirs, handle=t.handle[0], ident=0x101))
        t.put(t.iu(0, 0x1A, 0, _RESP_LAST, theirs, handle=t.handle[1], ident=0x101))
    found = causes(t, tmp_path)
    assert not found if won else [c.names for c in found] == [("peer-refused",)]


# ---- Messages ----


@pytest.mark.parametrize("lost", [False, True])
def test_a_message_left_out_before_a_protocol_error_was_lost(lost: bool, tmp_path: Path) -> None:
    """A gap of FCVI_MSG_ID, and its receiver disconnects by 48h. Without the gap the frames do not show what the error was."""
    t = begun(2)
    t.setup(), t.message(0, 64)
    t.msg[0] += lost
    t.message(0, 64)
    disconnect(t, 1, _STATUS, 0x48, ident=0, handle=t.handle[0])
    (cause,) = causes(t, tmp_path)
    assert cause.name == ("lost-message" if lost else "protocol-error")
    assert not lost or "1 Message is" in cause.text


def read(t: Talk, data: int, total: int) -> int:
    """An RDMA Read of side 0 of which so many bytes come back (6.6, 6.7). Gives its OX_ID."""
    t.msg[0] += 1
    ox, ends = t.next_ox(0), (t.ends[1], t.ends[0])

    def frame(r_ctl: int, opcode: int, f_ctl: int, count: int, offset: int, size: int) -> bytes:
        side = int(opcode == 0x0A)
        head = header(r_ctl, ends[side], ends[1 - side], 0x58, f_ctl, 9, 2, count, ox, 0xFFFF, offset)
        return head + struct.pack(">IBBHIIQII", t.handle[1 - side], opcode, 0, 0, t.msg[0], 0, 0x1000, 7, total) + bytes(size)

    t.put(frame(6, 2, 0x290000, 0, 0, 0))
    for n, at in enumerate(range(0, data, 2048)):
        t.put(frame(1, 0x0A, 0x980008 if at + 2048 >= total else 0x800008, n, at, min(2048, data - at)), after=t.back(1))
    return ox


@pytest.mark.parametrize(
    "data, after_us, names",
    [
        (4096, 500, ("given-up-early",)),  # its data are on their way
        (4096, R_A_TOV_US, ("lost-response", "port-silent")),  # the rest never came
        (8192, R_A_TOV_US, ("lost-response",)),  # all of it passed
    ],
)
def test_a_read_that_is_aborted_says_how_much_of_its_data_passed(
    data: int, after_us: int, names: tuple[str, ...], tmp_path: Path
) -> None:
    """The sentence of a whole Response is not told of a part of one."""
    t = begun()
    t.setup(), t.message(0, 64), t.message(1, 64)
    t.abort(0, read(t, data, 8192), after_us)
    disconnect(t, 0, _STATUS, 0x40, ident=0, handle=t.handle[1])
    (cause,) = causes(t, tmp_path)
    assert cause.names == names
    assert ("The Response to" in cause.text) == (data == 8192)


@pytest.mark.parametrize("data, names", [(4096, [("lost-response", "port-silent")]), (8192, [])])
def test_a_read_whose_data_stop_is_silent(data: int, names: list[tuple[str, ...]], tmp_path: Path) -> None:
    """Nobody aborts it, and the capture goes on for longer than any answer takes (8.4.2 a)."""
    t = begun()
    t.setup(), t.message(0, 64), t.message(1, 64)
    read(t, data, 8192)
    t.chatter(_CHATTER_US)
    assert [c.names for c in causes(t, tmp_path)] == names


def test_a_read_of_whose_data_some_are_missing_is_not_given_up_early(tmp_path: Path) -> None:
    """Its requester ends in Error (8.4.2 e), and need not wait for R_A_TOV."""
    t = begun()
    t.setup(), t.message(0, 64), t.message(1, 64)
    ox = read(t, 8192, 8192)
    del t.frames[-3]
    t.abort(0, ox, 500)
    disconnect(t, 0, 0, ident=0, handle=t.handle[1])
    assert [c.names for c in causes(t, tmp_path)] == [("lost-message",)]


@pytest.mark.parametrize("flags, soon, is_lost", [(0, True, True), (_APPLICATION, True, False), (0, False, False)])
def test_a_provider_that_disconnects_behind_a_gap_missed_it(flags: int, soon: bool, is_lost: bool, tmp_path: Path) -> None:
    """A Disconnect needs no status (5.9.4.6). One of the application, or of much later, has reasons of its own."""
    t = begun(level=2)
    t.setup(), t.message(0, 64), t.message(1, 64)
    t.message(0, 9000, lost=2)
    t.wait(1000 if soon else 3 * R_A_TOV_US)
    disconnect(t, 1, flags, ident=0, handle=t.handle[0])
    assert [c.names for c in causes(t, tmp_path)] == ([("lost-message",)] if is_lost else [])


@pytest.mark.parametrize("reason", [0, 0x48])
def test_frames_that_overtake_each_other_explain_a_protocol_error(reason: int, tmp_path: Path) -> None:
    """An endpoint that counts on order says so (8.4.1 c); one that does not goes on."""
    t = begun(level=2)
    t.setup(), t.message(0, 64), t.message(1, 64), t.message(0, 9000)
    one, two = t.frames[-3:-1]
    t.frames[-3:-1] = [replace(two, us=one.us), replace(one, us=two.us)]
    disconnect(t, 1, _STATUS if reason else _APPLICATION, reason, ident=0, handle=t.handle[0])
    assert [c.names for c in causes(t, tmp_path)][:1] == ([("out-of-order",)] if reason else [])


def test_of_two_causes_that_are_shown_the_first_to_begin_comes_first(tmp_path: Path) -> None:
    t = begun()
    t.refuse(1)
    t.ident, t.handle = t.ident + 1, [t.handle[0] + 1, t.handle[1] + 1]
    t.setup(), t.message(0, 64)
    ox, msg = t.message(0, 64, answered=False)
    t.answer(1, ox, msg, flags=5)
    disconnect(t, 0, 0, ident=0, handle=t.handle[1])
    assert [c.name for c in causes(t, tmp_path)] == ["no-match", "memory-protection"]


def test_a_message_that_crosses_a_logout_does_not_hide_it(tmp_path: Path) -> None:
    """Until it has the LOGO the other side goes on (7.7.1)."""
    t = begun(level=2)
    t.setup(), t.message(0, 64), t.message(1, 64)
    t.service(0, 0x05, bytes(12), (0x02, b""))
    answer = t.frames.pop()
    t.message(1, 64)
    t.frames.append(replace(answer, us=t.now + 1000))
    (cause,) = causes(t, tmp_path)
    assert (cause.name, cause.party) == ("login-lost", t.ends[0])


@pytest.mark.parametrize("what", ["ADISC", "SCSI", "Message"])
def test_an_abts_for_an_exchange_of_another_service_is_of_no_message(what: str, tmp_path: Path) -> None:
    t = begun(level=2)
    t.setup(), t.message(0, 64), t.message(1, 64)
    ox, (me, you) = t.next_ox(0), t.ends
    if what != "Message":
        r_ctl, kind = (0x22, 1) if what == "ADISC" else (6, 8)
        t.put(header(r_ctl, you, me, kind, 0x290000, 1, 0, 0, ox, 0xFFFF, 0) + b"\x52" + bytes(31 if kind == 8 else 27))
    t.abort(0, ox, 2 * R_A_TOV_US)
    disconnect(t, 1, _STATUS, 0x40, ident=0, handle=t.handle[0])
    assert ("of which no frame is in the capture" in causes(t, tmp_path)[0].text) == (what == "Message")


def test_who_was_busy_answers_late(tmp_path: Path) -> None:
    """P_BSY, and the frame once more after 300 ms, which is taken: its Response is late for that, and nothing is wrong."""
    for busy in (True, False):
        t = begun()
        t.setup()
        for _ in range(20):
            t.message(0, 64), t.wait(1000)
        ox, msg = t.message(0, 64, answered=False)
        if busy:
            frame = t.frames[-1]
            t.put(header(0xC4, t.ends[0], t.ends[1], 0, 0xE90000, frame.data[12], 0, 0, ox, 0xFFFF, 0x02030000), 0x35, after=20)
            t.frames.append(replace(frame, us=t.now + 300_000))
        t.now += 300_000
        t.answer(1, ox, msg)
        t.message(0, 64), t.chatter(_CHATTER_US)
        found = causes(t, tmp_path)
        assert not found if busy else found[0].name == "credit-starvation"


# ---- FCVI_CONNECT_RESP2 or FCVI_CONNECT_RESP3 ----


@pytest.mark.parametrize("after, has_said, names", [
    (2.0, False, ("lost-resp2", "lost-resp3")),  # the time of 8.5.2 c is over
    (2.0, None, ("lost-resp2", "lost-resp3")),  # and the requester's ABTS did not come by
    (3.0, False, ("lost-resp2", "lost-resp3")),  # an application may leave at any time behind that
    (2.0, True, ("lost-resp3",)),  # who sends Messages is connected
    (1.2, False, ("lost-resp3",)),  # too early for 8.5.2 c
])  # fmt: skip
def test_a_responder_whose_time_is_over_lacks_resp2(
    after: float, has_said: Optional[bool], names: tuple[str, ...], tmp_path: Path
) -> None:
    """It disconnects without CONN_SETUP_ABORT. A responder that was connected and whose application leaves just then makes the same
    frames, so both are named."""
    t = begun()
    ox = t.setup(2)
    if has_said:
        t.message(1, 64, answered=False)
    if has_said is None:
        t.wait(R_A_TOV_US)
    else:
        t.abort(0, ox, R_A_TOV_US)
    t.wait(round((after - 1) * R_A_TOV_US))
    disconnect(t, 1, 0 if has_said is None else _APPLICATION, ident=0, handle=t.handle[0])
    t.chatter(_CHATTER_US)
    assert causes(t, tmp_path)[0].names == names


def test_a_disconnect_behind_that_of_the_requester_shows_no_connection(tmp_path: Path) -> None:
    """FCVI_DISCONNECT_RQST tells a responder that lacks FCVI_CONNECT_RESP2 of a Connection (C.5.9.2): its own is one of a
    Connection, too."""
    t = begun()
    ox = t.setup(2)
    t.message(0, 64, answered=False)
    t.abort(0, ox, R_A_TOV_US)
    disconnect(t, 0, _APPLICATION | _STATUS, 0x40, ident=0, handle=t.handle[1])
    disconnect(t, 1, _APPLICATION, ident=0, handle=t.handle[0])
    t.chatter(_CHATTER_US)
    assert causes(t, tmp_path)[0].names == ("lost-resp2", "lost-resp3")


# ---- a clock that was set ----


@pytest.mark.parametrize("goes_on_us, is_silent", [(3_000_000, False), (60_000_000, True)])
def test_a_standstill_of_all_ports_is_no_silence_of_one(goes_on_us: int, is_silent: bool, tmp_path: Path) -> None:
    """The clock was set by two hours while a setup and a login waited; the capture ends soon after, or goes on."""
    t = begun()
    t.chatter(30_000_000)
    t.setup(0), t.service(0, 0x03, service_parameters(0x10000000C9000000 + t.ends[0]))
    t.now += 7_200_000_000
    t.chatter(goes_on_us)
    assert bool(causes(t, tmp_path)) == is_silent


def test_what_was_aborted_is_among_the_frames(tmp_path: Path) -> None:
    """Who reads of a Message finds it beside the ABTS, in the text and in the ladder."""
    t = begun()
    t.setup()
    ox, _ = t.message(0, 64, answered=False)
    at = len(t.frames)
    t.abort(0, ox, R_A_TOV_US)
    (cause,) = causes(t, tmp_path)
    assert [(s.number, s.name) for s in cause.frames] == [(at, "Message"), (at + 1, "ABTS")]
    assert cause.frames[0].words() == f"Message {t.ends[0]:06X}>{t.ends[1]:06X} OX {ox:04X}"


@pytest.mark.parametrize("accepted", [True, False])
def test_a_login_that_was_accepted_was_not_damaged(accepted: bool, tmp_path: Path) -> None:
    """An adapter computes CRCs behind the capture point. Its FLOGI has no N_Port_ID that the other frames have, and one answer."""
    t = begun()
    name, ox = 0x10000000C9000000 + t.ends[0], t.next_ox(0)
    flogi = link_service(0x04, F_PORT, 0, ox, service_parameters(name))
    answer = link_service(0x02, t.ends[0], F_PORT, ox, service_parameters(0x2000000000000001), reply=True)
    frames = [Seen(t.now, flogi, good=False)] + [Seen(t.now + 50, answer)] * accepted
    t.now += 100
    del t.frames[:]
    t.login(), t.setup(), t.talk()
    linktype, made = records([*frames, *t.frames], Wrapping("delimited"), Random(1))
    path = tmp_path / "c.pcap"
    path.write_bytes(pcap(linktype, made))
    table = Table()
    table.take(str(path))
    found, unknown = explain(table, table.finish())
    assert not found and not unknown
    assert bool(table.said) != accepted  # else nobody knows whether a link damaged it


def test_an_unknown_revision_is_of_its_connection(tmp_path: Path) -> None:
    """Table 13: FCVI_REVISION is 1."""
    t = begun()
    t.setup(0)
    last = t.frames[-1]
    t.frames[-1] = replace(last, data=last.data[:62] + b"\0\7" + last.data[64:])
    found = causes(t, tmp_path)
    assert found[0].names == ("unknown-revision",) and found[0].flow is not None


@pytest.mark.parametrize("answer, names", [(0x01, ("login-refused",)), (0, None), (0x02, None)])
def test_a_fabric_login_alone_is_told_where_it_is_rejected(answer: int, names: Optional[tuple[str, ...]], tmp_path: Path) -> None:
    """A capture of FLOGIs alone: its ports may be of any FC-4, so silence says nothing; a rejection is there for all of them."""
    frames = []
    for ox in (0x10, 0x11, 0x12):
        frames.append((ox * 2_000_000, link_service(0x04, F_PORT, 0, ox, service_parameters(0x10000000C9000001))))
        body = bytes([0, 9, 0x2C, 0]) if answer == 1 else service_parameters(0x2000000000000001)
        reply = link_service(answer, 0x010100 * (answer == 2), F_PORT, ox, body, reply=True)
        frames += [(ox * 2_000_000 + 90, reply)] * bool(answer)
    found, unknown = told(frames, tmp_path / "c.pcap")
    assert [c.names for c in found] == ([names] if names else []) and not unknown
