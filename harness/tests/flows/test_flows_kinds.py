"""`fcvi explain` of kinds that a second bank of causes found: who goes on, who is busy, who answers late, and what is legal."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Callable, Optional

import pytest

from fcvi.capture.limits import Limits
from fcvi.flows.cause import Cause
from fcvi.flows.causes import explain
from fcvi.flows.clocks import look
from fcvi.flows.table import Flow, Table
from harness.tests.capture import wrappings as w
from harness.tests.flows.field import second, stories
from harness.tests.flows.field.stories import A, B, OTHERS, R_A_TOV_US, Talk

MINUTE_US = 60_000_000


def talk(level: int = 3) -> Talk:
    """A and B, logged in."""
    t = Talk(Random(1))
    t.ends, t.level = (A, B), level
    t.login()
    return t


def told(t: Talk, path: Path) -> tuple[list[Cause], list[Flow], Table]:
    """What is explained of a capture."""
    frames, how = sorted(t.frames, key=lambda s: s.us), stories.Wrapping("fcoe")
    path.write_bytes(w.pcap(*stories.records(frames, how, Random(1)), how.snap))
    table = Table()
    table.take(str(path))
    return *explain(table, table.finish()), table


def speak(t: Talk, us: int = MINUTE_US) -> None:
    """Two other ports with a Connection go on with Messages, and with nothing else."""
    other = Talk(Random(2))
    other.ends, other.level, other.now = OTHERS, 3, t.frames[0].us - 1_000_000
    other.login(), other.setup()
    other.now, end = t.now, t.now + us
    while other.now < end:
        other.message(0, 100), other.wait(900_000)
    t.frames += other.frames


@pytest.mark.parametrize("upto, first", [(0, "lost-request"), (1, "lost-resp1"), (2, "lost-resp2")])
def test_a_setup_is_silent_where_others_go_on_with_messages_alone(upto: int, first: str, tmp_path: Path) -> None:
    t = talk()
    t.setup(upto), speak(t)
    causes, _, _ = told(t, tmp_path / "a.pcap")
    assert [c.names[0] for c in causes] == [first] and "port-silent" in causes[0].names


def _message(t: Talk) -> None:
    t.setup(), t.message(0), t.message(0, 500, answered=False)


def _disconnect(t: Talk) -> None:
    t.setup(), t.message(0), t.disconnect(answered=False, both=False)


def _login(t: Talk) -> None:
    t.frames.clear()
    t.service(0, 0x03, stories.service_parameters(1))


@pytest.mark.parametrize("ends, name", [(_message, "lost-response"), (_disconnect, "lost-disconnect"), (_login, "no-answer")])
def test_what_was_asked_is_silent_where_others_go_on_with_messages_alone(
    ends: Callable[[Talk], None], name: str, tmp_path: Path
) -> None:
    t = talk()
    ends(t)
    end = len(t.frames)
    speak(t)
    assert [c.names[0] for c in told(t, tmp_path / "a.pcap")[0]] == [name]
    t.frames = t.frames[:end]
    assert told(t, tmp_path / "b.pcap")[0] == []  # the capture ends


@pytest.mark.parametrize("how", ["one RemoteAddr", "mirrored", "others"])
def test_a_peer_that_comes_late_is_no_cause_whatever_its_discriminators_are(how: str, tmp_path: Path) -> None:
    """5.3.3. VI-DG 6.7 gives both Peers one RemoteAddr; some take the other's LocalAddr for it."""
    t = talk()
    local, remote = 56 + 12 + 20, 56 + 160 + 20

    def of_peer(data: bytes, is_late: bool) -> bytes:
        if data[8] != 0x58 or data[28] not in (0x10, 0x18):
            return data
        flags = data[29] & ~7 | 2 if data[28] == 0x10 else data[29]
        data = data[:29] + bytes([flags]) + data[30:]
        words = data[local : local + 128], data[remote : remote + 128]
        if is_late and how != "one RemoteAddr":
            words = words[::-1] if how == "mirrored" else (b"another place---".ljust(128, b"\0"),) * 2
        return data[:local] + words[0] + data[local + 128 : remote] + words[1] + data[remote + 128 :]

    t.refuse(3), t.wait(1_000_000)
    first = len(t.frames)
    t.ends, t.handle = (B, A), t.handle[::-1]
    t.setup(), t.message(0), t.disconnect()
    t.frames = [stories.replace(s, data=of_peer(s.data, n >= first)) for n, s in enumerate(t.frames)]
    causes, unknown, _ = told(t, tmp_path / "a.pcap")
    assert not unknown and [c.names for c in causes] == ([("no-waiting",)] if how == "others" else [])


def test_a_port_that_was_busy_and_took_the_frame_then_is_no_cause(tmp_path: Path) -> None:
    """And one that stayed busy is."""
    for answered, names in ((True, []), (False, [("busy",)])):
        t = talk()
        t.setup(), t.message(0)
        ox, msg = t.message(0, 100, answered=False)
        sent = t.frames[-1]
        word = stories.header(0xC4, A, B, 0, 0xD00000, sent.data[12], 0, 0, ox, 0xFFFF, 0x02030000)
        t.put(word, 0x2D)
        t.put(sent.data, after=50_000)
        if answered:
            t.answer(1, ox, msg), t.message(0), t.disconnect()
        speak(t)
        assert [c.names for c in told(t, tmp_path / "a.pcap")[0]] == names


@pytest.mark.parametrize("reason", [0x03, 0x09])
def test_ba_rjt_that_knows_no_such_exchange_shows_that_the_request_was_lost(reason: int, tmp_path: Path) -> None:
    t = talk()
    ox = t.setup(0)
    t.abort(0, ox, R_A_TOV_US, 0x85)
    last = t.frames[-1]
    t.frames[-1] = stories.replace(last, data=last.data[:25] + bytes([reason]) + last.data[26:])
    t.setup(retry=1), t.message(0), t.disconnect()
    assert [c.names for c in told(t, tmp_path / "a.pcap")[0]] == [("lost-request",)]


@pytest.mark.parametrize("is_heard", [False, True])
def test_an_abts_without_an_answer_shows_that_the_port_is_silent(is_heard: bool, tmp_path: Path) -> None:
    """But not where it goes on elsewhere."""
    t = talk()
    for retry in (0, 1):
        ox = t.setup(0, retry=retry)
        t.abort(0, ox, R_A_TOV_US, 0)
    if is_heard:
        t.put(stories.link_service(0x52, OTHERS[0], B, 0x77, bytes(24)), after=1_000_000)
    speak(t)
    causes, _, _ = told(t, tmp_path / "a.pcap")
    assert ("port-silent" == causes[0].names[0]) is not is_heard and "lost-request" in causes[0].names


@pytest.mark.parametrize("code, is_refusal", [(1, False), (6, False), (2, True), (5, True), (8, True)])
def test_a_prli_may_be_refused_by_its_response_code(code: int, is_refusal: bool, tmp_path: Path) -> None:
    t = talk()
    page = bytes([0x58, 0, 0x20, 0]) + bytes(12)
    ox = t.next_ox(0)
    t.put(stories.link_service(0x20, B, A, ox, page))
    t.put(stories.link_service(0x02, A, B, ox, page[:2] + bytes([0x20 | code]) + page[3:], reply=True))
    speak(t)
    causes, _, _ = told(t, tmp_path / "a.pcap")
    assert [c.names for c in causes] == ([("login-refused",)] if is_refusal else [])
    assert not causes or f"response code {code}h" in causes[0].text


@pytest.mark.parametrize("kind", [0x58, 0x08])
def test_a_prli_for_fc_vi_is_told_among_ports_of_other_fc_4s(kind: int, tmp_path: Path) -> None:
    t = talk()
    ox = t.next_ox(0)
    t.put(stories.link_service(0x20, B, A, ox, bytes([kind, 0, 0x20, 0]) + bytes(12)))
    t.put(stories.link_service(0x01, A, B, ox, bytes([0, 3, 0, 0]), reply=True))
    t.put(stories.header(6, OTHERS[0], OTHERS[1], 0x08, 0x290000, 1, 0, 0, 0x77, 0xFFFF, 0) + bytes(32))
    causes, _, _ = told(t, tmp_path / "a.pcap")
    assert [c.names for c in causes] == ([("login-refused",)] if kind == 0x58 else [])


@pytest.mark.parametrize("us, names", [(9_000_000, ("credit-starvation", "timeout-too-short")), (0, ("timeout-too-short",))])
def test_a_message_that_was_held_back_is_not_too_far_away(us: int, names: tuple[str, ...], tmp_path: Path) -> None:
    t = talk()
    t.setup(), t.message(0)
    ox, msg = t.message(0, 9000, answered=False)
    t.frames[-1] = stories.replace(t.frames[-1], us=t.frames[-1].us + us)
    t.wait(us)
    t.abort(0, ox, R_A_TOV_US + 1000 - us, 0)
    t.answer(1, ox, msg, after=100_000)
    t.disconnect(0, 0x40)
    assert [c.names for c in told(t, tmp_path / "a.pcap")[0]][0] == names


@pytest.mark.parametrize("reason, first", [(0x44, "bit-errors"), (0x45, "lost-message")])
def test_a_disconnect_for_damaged_data_points_at_damage(reason: int, first: str, tmp_path: Path) -> None:
    t = talk(2)
    t.setup(), t.message(0, 500), t.disconnect(1, reason, both=False)
    speak(t)
    assert [c.names[0] for c in told(t, tmp_path / "a.pcap")[0]] == [first]


def test_keep_alives_that_stop_say_more_than_a_message_without_an_answer(tmp_path: Path) -> None:
    t = talk()
    t.setup()
    mac = b"\x0e\xfc\0" + A.to_bytes(3, "big")
    for _ in range(5):
        t.wait(8_000_000), t.message(1, 100)
        alive = stories.fip(3, 1, stories.descriptor(2, mac) + stories.vx_port(A))
        t.frames.append(stories.Seen(t.now, b"", fip=alive))
    t.message(1, 100, answered=False)
    speak(t, 100_000_000)
    assert set(told(t, tmp_path / "a.pcap")[0][0].names) == {"keep-alive-stopped", "port-silent"}


def test_the_crc_that_a_host_leaves_out_is_not_damage_where_others_have_its_name_too(tmp_path: Path) -> None:
    """Each FLOGI comes from 000000: that of the host whose adapter computes the CRC, and that of another one."""
    t = talk()
    t.setup(), t.message(0), t.message(0)
    for n, word in ((1, b"\xff" * 4), (2, b"")):
        t.put(stories.link_service(0x04, stories.F_PORT, 0, n, stories.service_parameters(n)))
        t.put(stories.link_service(0x02, A if word else B, stories.F_PORT, n, stories.service_parameters(7), reply=True))
    how = stories.Wrapping("fcoe", words={A: "ones"})
    link, records, *rest = stories.records(sorted(t.frames, key=lambda s: s.us), how, Random(1))
    first = next(n for n, s in enumerate(t.frames) if s.sender == 0)
    us, data, *more = records[first]
    records[first] = (us, data[:-8] + b"\xff" * 4 + data[-4:], *more)
    path = tmp_path / "a.pcap"
    path.write_bytes(w.pcap(link, records, *rest, how.snap))
    table = Table()
    table.take(str(path))
    assert explain(table, table.finish()) == ([], [])


@pytest.mark.parametrize("us, names", [(1000, []), (30_000_000, [("no-answer",)])])
def test_a_message_alone_at_the_end_is_no_cause_where_its_response_may_come(us: int, names: list[object], tmp_path: Path) -> None:
    t = talk()
    t.setup(), t.message(0, 64, answered=False)
    t.frames = t.frames[-1:]
    speak(t, us)
    assert [c.names for c in told(t, tmp_path / "a.pcap")[0]] == names


@pytest.mark.parametrize("gone", range(6))
def test_a_capture_that_begins_within_a_setup_shows_silence(gone: int, tmp_path: Path) -> None:
    """What began before the capture is not what a capture lacks."""
    t = talk()
    _message(t), speak(t)
    t.frames = sorted(t.frames, key=lambda s: s.us)[gone:]  # those of the others begin it
    causes, _, _ = told(t, tmp_path / "a.pcap")
    assert [c.names[0] for c in causes] == ["lost-response"]


@pytest.mark.parametrize("by_fip", [False, True])
@pytest.mark.parametrize("level", [2, 3])
def test_who_goes_on_behind_a_logout_has_lost_the_login(level: int, by_fip: bool, tmp_path: Path) -> None:
    """Of a LOGO to the Fabric, and of a Clear Virtual Links, the other port is not told."""
    t = talk(level)
    t.setup(), t.message(0, 64), t.message(1, 64)
    if by_fip:
        t.frames.append(stories.Seen(t.now + 10, b"", fip=stories.fip(3, 2, stories.vx_port(A))))
    else:
        t.put(stories.link_service(0x05, stories.F_PORT, A, 0x99, b"\0" + A.to_bytes(3, "big") + bytes(8)))
    t.wait(1000), t.message(1, 64, answered=False), t.chatter(MINUTE_US)
    causes, _, _ = told(t, tmp_path / "a.pcap")
    assert [(c.names, c.party) for c in causes] == [(("login-lost",), None if by_fip else A)]


@pytest.mark.parametrize("hours", [-24, -1, 1, 24])
@pytest.mark.parametrize("port", [A, B])
@pytest.mark.parametrize("name", ["healthy", "lost-response", "lost-frame", "rejected", "lost-request"])
def test_clocks_far_apart_change_nothing(name: str, port: int, hours: int, tmp_path: Path) -> None:
    """One tap a direction, whose clocks differ by more than the Connection lives. A clock that was set forward would put no answer
    before its question."""
    for seed in range(3):
        r = Random(f"{name} {seed}")
        made = stories.healthy(r) if name == "healthy" else stories.CAUSES[name](r)
        frames = [stories.replace(s, us=s.us + hours * 60 * MINUTE_US) if s.owner == port else s for s in made.frames]
        path = tmp_path / "c.pcap"
        path.write_bytes(w.pcap(*stories.records(sorted(frames, key=lambda s: s.us), stories.Wrapping("bare"), Random(1))))
        found, parties, unknown = second.said(path)
        assert not set(parties) - set(made.parties), (seed, found)
        assert not (found or unknown) if name == "healthy" else set(found[0]) & set(made.causes), (seed, found)


def test_copies_of_frames_say_nothing_of_clocks(tmp_path: Path) -> None:
    """Two capture points, one of which is milliseconds behind and does not keep the order: no port has a clock of its own."""
    path = tmp_path / "a.pcap"
    for seed in range(12):
        r = Random(seed)
        t = talk()
        t.far = (2, 2)
        t.setup(), t.message(0, 64), t.message(1, 64), t.disconnect()
        t.frames += [stories.replace(s, us=s.us + r.randrange(3_000)) for s in t.frames]
        causes, unknown, _ = told(t, path)
        assert not causes and not unknown and second.said(path) == ([], [], 0)
        assert not look(str(path), Limits(), (0, 0, 0), 2 * R_A_TOV_US).said


def test_copies_behind_a_disconnect_are_no_frames_that_overtook_others(tmp_path: Path) -> None:
    """The second capture point has the end of the Connection, and then its last frames, in another order."""
    path = tmp_path / "a.pcap"
    for seed in range(12):
        t = talk(2)
        t.setup(), t.message(0, 6000), t.message(1, 64), t.message(0, 6000)
        t.disconnect(1, 0x44, both=False)
        r = Random(seed)
        t.frames += [stories.replace(s, us=s.us + 500 + r.randrange(3_000)) for s in t.frames]
        causes, _, _ = told(t, path)
        assert [c.names for c in causes] == [("bit-errors", "lost-message", "out-of-order")]


@pytest.mark.parametrize("waited_us, party", [(R_A_TOV_US, None), (100_000, A)])
def test_a_logout_of_who_gave_up_before_accuses_nobody(waited_us: int, party: Optional[int], tmp_path: Path) -> None:
    """The other port was taken out of the zone: the logout is what its partner does about it. One that aborts what is under way
    because it logs out has waited for nothing."""
    t = talk()
    t.setup(), t.message(0, 64)
    ox, _ = t.message(0, 64, answered=False)
    t.abort(0, ox, waited_us, answer=0)
    t.service(0, 0x05, bytes(1) + A.to_bytes(3, "big") + bytes(8))
    speak(t)
    causes, _, _ = told(t, tmp_path / "a.pcap")
    assert causes[0].party == party and (causes[0].name == "login-lost") is (party is not None)


def test_a_port_name_that_another_port_has_ends_what_is_asked_in_vain(tmp_path: Path) -> None:
    """A second adapter with the same Port_Name logs in; the partner of the first, which is silent, does not know yet."""
    t = talk()
    t.setup(), t.message(0, 64)
    name, ox = stories.service_parameters(0x10000000C9000000 + A), t.next_ox(0)
    t.put(stories.link_service(0x04, stories.F_PORT, 0, ox, name))
    t.put(stories.link_service(0x02, A + 0xE00, stories.F_PORT, ox, stories.service_parameters(7), reply=True), after=200)
    t.wait(1_000_000), t.message(1, 64, answered=False)
    speak(t)
    causes, _, _ = told(t, tmp_path / "a.pcap")
    assert [(c.names, c.party) for c in causes] == [(("login-lost",), None)]


@pytest.mark.parametrize("known", [True, False])
def test_a_farp_request_in_vain_is_told_beside_a_connection_that_goes_on(known: bool, tmp_path: Path) -> None:
    """Not where it asks for an address of that Connection: its sender wants to be sure of it."""
    t = talk()
    t.setup(), t.message(0, 64)
    target = stories.host_address(B) if known else bytes(15) + b"\x77"
    body = bytes([4]) + A.to_bytes(3, "big") + bytes([2]) + bytes(35) + stories.host_address(A) + target
    for _ in range(3):
        t.put(stories.link_service(0x54, 0xFFFFFF, A, t.next_ox(0), body)), t.wait(3_000_000)
    t.message(0, 64), speak(t)
    causes, _, _ = told(t, tmp_path / "a.pcap")
    assert [c.names for c in causes] == ([] if known else [("address-unanswered",)])
