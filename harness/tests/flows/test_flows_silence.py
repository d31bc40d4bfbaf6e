"""`fcvi explain` of what was asked and not answered, of logins that end, and of sentences that the frames contradict.

Each capture is made from a healthy session of the bank: frames are taken out or put in, and other ports go on talking.
"""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Optional

import pytest

from fcvi.capture.reader import Record
from fcvi.flows.cause import Cause
from fcvi.flows.causes import _is_reaction, explain
from fcvi.flows.clocks import _entry
from fcvi.flows.table import Flow, Table
from harness.tests.flows.field import bank

Frame = tuple[int, bytes]
A, B = 0x010100, 0x010200
LATER_US = 100_000_000  # ten times R_A_TOV


def header(r_ctl: int, to: int, by: int, kind: int, f_ctl: int, ox_id: int) -> bytes:
    """A Frame_Header (FC-FS)."""
    ends = bytes([r_ctl, *to.to_bytes(3, "big"), 0, *by.to_bytes(3, "big")])
    return ends + bytes([kind, *f_ctl.to_bytes(3, "big"), 0, 0, 0, 0]) + struct.pack(">HHI", ox_id, 0xFFFF, 0)


def els(command: int, to: int, by: int, ox_id: int, body: bytes = b"", reply: bool = False) -> bytes:
    """An Extended Link Service."""
    f_ctl = 0x990000 if reply else 0x290000
    return header(0x23 if reply else 0x22, to, by, 0x01, f_ctl, ox_id) + bytes([command, 0, 0, 0]) + body


def parameters(port_name: int) -> bytes:
    """Service Parameters of a login, with the bits that 5.6 asks for."""
    return bytes.fromhex("2020000a88020840") + bytes(8) + port_name.to_bytes(8, "big") + bytes(8) + bytes(80)


def is_iu(data: bytes, *opcodes: int) -> bool:
    """Whether it is one of these IUs of FC-VI."""
    return data[8] == 0x58 and len(data) > 28 and data[28] in opcodes


SEED = next(s for s in range(400) if sum(is_iu(f[1], 0x08, 0x09) for f in bank.healthy(Random(f"healthy {s}")).seen[0]) >= 4)


def session() -> list[Frame]:
    """A healthy one with its login, without what ends it. Side 0 asks for the Connection."""
    seen = [(time_us + 10_000, data) for time_us, data, *_ in bank.healthy(Random(f"healthy {SEED}")).seen[0]]
    rqst = next(data for _, data in seen if is_iu(data, 0x10))
    to, by = int.from_bytes(rqst[1:4], "big"), int.from_bytes(rqst[5:8], "big")
    login = [(1, els(0x03, to, by, 0x42, parameters(by))), (500, els(0x02, by, to, 0x42, parameters(to), reply=True))]
    return login + [(t, d) for t, d in seen if not is_iu(d, 0x12, 0x1B)]


def chatter(since_us: int) -> list[Frame]:
    """Two other ports, which log in again and again."""
    found = []
    for n in range(20):
        at = since_us + n * LATER_US // 19
        found += [(at, els(0x52, 0x020100, 0x020200, 0x700 + n, bytes(24)))]
        found += [(at + 50, els(0x02, 0x020200, 0x020100, 0x700 + n, bytes(24), reply=True))]
    return found


def told(frames: list[Frame], path: Path) -> tuple[list[Cause], list[Flow]]:
    """What is explained of a capture."""
    out = [struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 4096, 224)]
    for time_us, data in sorted(frames, key=lambda f: f[0]):
        out += [struct.pack("<IIII", *divmod(time_us, 1_000_000), len(data), len(data)), data]
    path.write_bytes(b"".join(out))
    table = Table()
    table.take(str(path))
    return explain(table, table.finish())


def cut_behind(frames: list[Frame], *opcodes: int) -> list[Frame]:
    """The session up to the last of these IUs, and chatter behind it."""
    last = max(n for n, (_, data) in enumerate(frames) if is_iu(data, *opcodes))
    return frames[: last + 1] + chatter(frames[last][0] + 1000)


@pytest.mark.parametrize(
    "opcode, names",
    [
        (0x10, ("lost-request", "lost-resp1", "slow-accept", "port-silent")),
        (0x18, ("lost-resp1", "lost-resp2", "port-silent")),
        (0x19, ("lost-resp2", "lost-resp3", "port-silent")),
    ],
)
def test_a_setup_that_falls_silent_is_told(opcode: int, names: tuple[str, ...], tmp_path: Path) -> None:
    causes, _ = told(cut_behind(session(), opcode), tmp_path / "a.pcap")
    assert [c.names for c in causes] == [names] and causes[0].party is None and causes[0].score < 70


def test_a_message_without_an_answer_is_told(tmp_path: Path) -> None:
    frames = session()
    answers = [n for n, (_, data) in enumerate(frames) if is_iu(data, 0x08, 0x09, 0x0A)]
    part = frames[: answers[-1]]
    causes, _ = told(part + chatter(part[-1][0] + 1000), tmp_path / "a.pcap")
    assert causes and causes[0].names == ("lost-response", "lost-message", "port-silent") and causes[0].party is None


def test_a_quiet_connection_and_the_end_of_a_capture_are_no_silence(tmp_path: Path) -> None:
    """All was answered; or the capture ends before anybody would have given up."""
    frames = session()
    assert told(frames + chatter(frames[-1][0] + 1000), tmp_path / "a.pcap") == ([], [])
    rqst = next(n for n, (_, data) in enumerate(frames) if is_iu(data, 0x10))
    assert told(frames[: rqst + 1], tmp_path / "b.pcap") == ([], [])


@pytest.mark.parametrize("command, score", [(0x01, 90), (0, 60)])
def test_a_login_that_comes_to_nothing_is_told(command: int, score: int, tmp_path: Path) -> None:
    """LS_RJT three times, or no answer of a port that is heard elsewhere."""
    frames = chatter(1000) + [(500, els(0x52, 0x020100, A, 0x42, bytes(24)))]
    for n in range(3):
        frames.append((2000 + n * 1000, els(0x03, A, B, 0x100 + n, parameters(2))))
        if command:
            frames.append((2500 + n * 1000, els(command, B, A, 0x100 + n, bytes([0, 9, 0, 0]), reply=True)))
    causes, _ = told(frames, tmp_path / "a.pcap")
    assert [(c.name, c.score) for c in causes] == [("login-refused" if command else "login-unanswered", score)]
    assert not command or "3 times by LS_RJT, reason 09h" in causes[0].text


@pytest.mark.parametrize("tries, goes_on, names", [(3, False, ["login-refused"]), (1, False, []), (3, True, [])])
def test_a_login_that_is_refused_behind_another_one_is_told(tries: int, goes_on: bool, names: list[str], tmp_path: Path) -> None:
    """The first login ended with a LOGO, which nothing followed. Where the Connection goes on, the login does."""
    frames = session()
    to, by = int.from_bytes(frames[0][1][1:4], "big"), int.from_bytes(frames[0][1][5:8], "big")
    at, again = frames[-1][0], [f for f in frames if is_iu(f[1], 0x00)][-1:]
    if not goes_on:
        frames += [(at + 100, els(0x05, by, to, 0x300, bytes(12))), (at + 150, els(0x02, to, by, 0x300, reply=True))]
    for n in range(tries):
        us = at + 200_000 * (n + 1)
        frames.append((us, els(0x03, to, by, 0x310 + n, parameters(by))))
        frames.append((us + 100, els(0x01, by, to, 0x310 + n, bytes([0, 9, 0, 0]), reply=True)))
    if goes_on:
        frames += [(at + 900_000, again[0][1])]
    causes, _ = told(frames + chatter(at + 1_000_000), tmp_path / "a.pcap")
    assert [c.name for c in causes if c.name == "login-refused"] == names


def test_other_initiators_that_refuse_each_other_are_no_cause(tmp_path: Path) -> None:
    """Initiators of FCP do so all day; and a login that is taken at the second try is taken."""
    plain = bytes.fromhex("2020000a08000840") + bytes(104)
    frames = chatter(1000) + [(1, els(0x03, A, B, 1, plain)), (2, els(0x01, B, A, 1, bytes([0, 9, 0, 0]), reply=True))]
    assert told(frames, tmp_path / "a.pcap") == ([], [])
    frames = chatter(1000) + [(1, els(0x03, A, B, 1, parameters(2))), (2, els(0x01, B, A, 1, bytes([0, 5, 0, 0]), reply=True))]
    frames += [(3, els(0x03, A, B, 2, parameters(2))), (4, els(0x02, B, A, 2, parameters(1), reply=True))]
    assert told(frames, tmp_path / "a.pcap") == ([], [])


@pytest.mark.parametrize("moves", [True, False])
def test_a_port_that_gets_another_n_port_id_has_lost_its_logins(moves: bool, tmp_path: Path) -> None:
    """7.7.5. One that gets the same N_Port_ID again has not."""
    frames = session()
    ident = name = int.from_bytes(frames[0][1][5:8], "big")
    at = frames[-1][0] + 1000
    frames.append((at, els(0x04, 0xFFFFFE, 0, 0x700, parameters(name))))
    frames.append((at + 100, els(0x02, 0x010F00 if moves else ident, 0xFFFFFE, 0x700, parameters(7), reply=True)))
    causes, unknown = told(frames, tmp_path / "a.pcap")
    assert [c.names for c in causes] == ([("login-lost",)] if moves else []) and not unknown
    assert not moves or f"{name:016X}" in causes[0].text


def test_a_port_name_that_two_n_port_ids_use_at_once_tells_no_port_from_another(tmp_path: Path) -> None:
    """Captures of several Fabrics, and Port_Names that were given twice: the port whose setup stops did not log in anew."""
    frames = [f for f in cut_behind(session(), 0x10) if not is_iu(f[1], 0x18, 0x19, 0x1A)]
    name = next(parameters(s_id)[16:24] for _, d in frames if is_iu(d, 0x10) for s_id in [int.from_bytes(d[5:8], "big")])
    at = frames[-1][0]
    twins = [(at + n * 1000, els(0x03, 0x030100, 0x040000 + n, 0x50 + n, parameters(int.from_bytes(name, "big")))) for n in (1, 2)]
    cause = told(frames + twins[:1] + chatter(at), tmp_path / "moved.pcap")[0][0]
    assert cause.names == ("login-lost",)
    talks = [(at + 9000, els(0x52, 0x030100, 0x040001, 0x60, bytes(24)))]
    cause = told(frames + twins + talks + chatter(at), tmp_path / "shared.pcap")[0][0]
    assert cause.names == ("lost-request", "lost-resp1", "slow-accept", "port-silent")


@pytest.mark.parametrize("command", [0x03, 0x05])
def test_a_login_of_another_port_name_is_that_of_another_fabric(command: int, tmp_path: Path) -> None:
    """A capture of two Fabrics: both have the N_Port_ID. PLOGI, and LOGO."""
    frames = session()
    to, by = (int.from_bytes(frames[0][1][at : at + 3], "big") for at in (1, 5))
    at = frames[-1][0] + 1000
    for name, causes in ((by, ["login-lost"]), (0x2100000000000077, [])):
        body = parameters(name) if command == 0x03 else bytes(1) + by.to_bytes(3, "big") + name.to_bytes(8, "big")
        again = [(at, els(command, to, by, 0x55, body)), (at + 50, els(0x02, by, to, 0x55, parameters(name + 1), reply=True))]
        found, unknown = told(frames + again + chatter(at), tmp_path / f"{name:X}.pcap")
        assert [c.name for c in found] == causes and not unknown


def test_messages_that_are_answered_later_contradict_a_lost_login(tmp_path: Path) -> None:
    """An RSCN, and one Response that the capture lacks: the Connection goes on, and the notice adds nothing."""
    frames = session()
    answers = [n for n, (_, data) in enumerate(frames) if is_iu(data, 0x08, 0x09)]
    assert len(answers) >= 3
    page = bytes([0]) + frames[0][1][1:4]
    frames[answers[0]] = (frames[answers[0]][0], els(0x61, 0x010300, 0xFFFFFD, 0x99, page))
    causes, _ = told(frames, tmp_path / "a.pcap")
    assert "login-lost" not in [c.name for c in causes]


def _stopped(us: int, chatting_us: int) -> list[Frame]:
    """A session that stops for so long before its last Response, beside ports that speak at short intervals, if at all."""
    frames = session()
    last = max(n for n, (_, data) in enumerate(frames) if is_iu(data, 0x08, 0x09))
    at = frames[last][0]
    others = [(at - 20_000_000 + n * chatting_us, els(0x52, 0x020100, 0x020200, 0x700 + n, bytes(24)))
              for n in range(200)] if chatting_us else []  # fmt: skip
    begun = [(t + 30_000_000, d) for t, d in [*frames[:last], *others]]
    return [(t, d) if t <= at + 30_000_000 - 1 else (t + us, d) for t, d in begun] + [
        (t + us + 30_000_000, d) for t, d in frames[last:]]  # fmt: skip


@pytest.mark.parametrize("chatting_us, names", [(0, ("credit-starvation", "clock-set")), (200_000, None)])
def test_a_pause_of_every_port_may_be_of_the_clock(chatting_us: int, names: Optional[tuple[str, ...]], tmp_path: Path) -> None:
    """Alone it is not told from frames that were held back; where others that never pause stop at once, it is the clock."""
    causes, unknown = told(_stopped(5_000_000, chatting_us), tmp_path / "c.pcap")
    assert [c.names for c in causes] == ([names] if names else []) and not unknown


def test_a_pause_in_which_others_speak_is_no_clock_that_was_set(tmp_path: Path) -> None:
    frames = _stopped(5_000_000, 0)
    last = max(t for t, _ in frames)
    meanwhile = [(last - 2_000_000, els(0x52, 0x020100, 0x020200, 0x777, bytes(24)))]
    causes, _ = told(frames + meanwhile, tmp_path / "c.pcap")
    assert [c.names for c in causes] == [("credit-starvation",)]


@pytest.mark.parametrize("sender, number, reacts", [(A, 5, True), (B, 5, False), (A, 2, False)])
def test_a_login_of_the_port_that_gave_up_before_explains_nothing(sender: int, number: int, reacts: bool) -> None:
    flow = SimpleNamespace(named=lambda name: [SimpleNamespace(sender=A, number=3)] if name == "ABTS" else [])
    assert _is_reaction(Table(), flow, SimpleNamespace(sender=sender, number=number, name="PLOGI")) is reacts


def test_setups_are_told_apart_by_each_byte_of_their_connection_id() -> None:
    """Two that follow one another have one OX_ID, and pair their questions with their own answers."""
    keys = set()
    for ident in (0, *[1 << 8 * n for n in range(4)]):
        data = bytearray(header(0x06, B, A, 0x58, 0x290000, 7) + bytes(40))
        data[28], data[52:56] = 0x10, ident.to_bytes(4, "big")
        entry = _entry(0, Record(1, 0, "frame", "", bytes(data), 0x2E, 0x42, 0))
        assert entry is not None
        keys.add(entry.key)
    assert len(keys) == 5


@pytest.mark.parametrize("us, is_whole", [(0, True), (1000, True), (5000, False)])
def test_an_answer_just_before_its_request_is_of_the_order_of_the_tap(us: int, is_whole: bool, tmp_path: Path) -> None:
    """Each direction of a tap may be of a core of its own: nothing is missing, and the Connection is one."""
    frames = session() + chatter(200_000_000)
    request = next(n for n, (_, data) in enumerate(frames) if is_iu(data, 0x10))
    answer = next(n for n, (_, data) in enumerate(frames) if is_iu(data, 0x18))
    frames.insert(request, (frames[request][0] - us, frames.pop(answer)[1]))
    told(frames, tmp_path / "a.pcap")
    table = Table()
    table.take(str(tmp_path / "a.pcap"))
    flows = table.finish()
    causes, _ = explain(table, flows)
    assert (len(flows), bool(table.lacking.count), bool(table.orphans)) == ((1, False, False) if is_whole else (2, True, True))
    assert not is_whole or (flows[0].ended, causes) == ("open", [])


@pytest.mark.parametrize("us, is_whole", [(0, True), (1000, True), (5000, False)])
def test_a_response_just_before_its_message_is_of_the_order_of_the_tap(us: int, is_whole: bool, tmp_path: Path) -> None:
    """It answers the Message, so nothing is missing before it, and nothing waits."""
    frames = session() + chatter(200_000_000)
    answer = next(n for n, (_, data) in enumerate(frames) if is_iu(data, 0x08, 0x09))
    ox_id = frames[answer][1][16:18]
    request = next(n for n, (_, data) in enumerate(frames) if is_iu(data, 0x00, 0x01) and data[16:18] == ox_id)
    frames.insert(request, (frames[request][0] - us, frames.pop(answer)[1]))
    told(frames, tmp_path / "a.pcap")
    table = Table()
    table.take(str(tmp_path / "a.pcap"))
    flows = table.finish()
    causes, _ = explain(table, flows)
    assert (flows[0].unanswered_count == 0, not table.lacking.count, causes) == (is_whole, is_whole, [])


@pytest.mark.parametrize("since_us, goes_on, is_told", [(-1000, False, False), (-1000, True, True), (1000, False, True)])
def test_a_tap_that_ended_before_another_one_shows_no_silence(since_us: int, goes_on: bool, is_told: bool, tmp_path: Path) -> None:
    """Two files of one time are two taps; of two that follow each other the second goes on where the first ended."""
    frames = session()
    part = frames[: max(n for n, (_, data) in enumerate(frames) if is_iu(data, 0x08, 0x09, 0x0A))]
    end = part[-1][0]
    logins = [(end + LATER_US, els(0x52, 0x020100, 0x020200, 0x70, bytes(24)))]
    told(part + logins * goes_on, tmp_path / "a.pcap")
    told(chatter(end + since_us), tmp_path / "b.pcap")
    table = Table()
    for name in ("a", "b"):
        table.take(str(tmp_path / f"{name}.pcap"))
    causes, _ = explain(table, table.finish())
    assert bool(causes) is is_told
