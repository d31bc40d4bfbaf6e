"""Every sentence of `explain` says only what the frames bear out: where one of its claims is made untrue, it is not told."""

from __future__ import annotations

import ast
import re
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Callable, Optional

import pytest

from fcvi.capture.limits import Limits
from fcvi.commands.flows import taken
from fcvi.flows import causes
from fcvi.flows.cause import Cause, Claim
from fcvi.flows.causes import explain
from fcvi.flows.table import Step, Table

from .field import stories
from .field.stories import Seen
from harness.tests.capture import wrappings as w

_OPCODES = {"CONNECT_RESP1": 0x18, "CONNECT_RESP2": 0x19, "CONNECT_RESP3": 0x1A, "DISCONNECT_RESP": 0x1B}


def causes_of(frames: list[Seen], path: Path) -> list[Cause]:
    """What is explained of frames."""
    how = stories.Wrapping("fcoe" if any(s.fip for s in frames) else "bare")
    path.write_bytes(w.pcap(*stories.records(frames, how, stories.Random(1))))
    table, _ = taken("explain", [str(path)], Table, SimpleNamespace(reorder=0, limits=Limits()))
    return explain(table, table.finish())[0]


def _iu(opcode: int, about: Step, handle: int = 0xFFFFFFFF, msg: int = 0) -> bytes:
    """An IU of the Exchange that a frame is of, by whoever has its turn."""
    by_originator = opcode == 0x19
    me, you = (about.sender, about.target) if by_originator != about.by_responder else (about.target, about.sender)
    size = 16 if opcode == 0x08 else 32
    f_ctl, df_ctl = 0x090000 if by_originator else 0x980000, 2 if size == 32 else 1
    head = stories.header(3, you, me, 0x58, f_ctl, 9, df_ctl, 0, about.ox_id, 1, 0)
    return head + struct.pack(">IBBHII", handle, opcode, 0, 0, msg, 0) + bytes(size - 16) + (bytes(340) if opcode == 0x18 else b"")


def _message_behind(frames: list[Seen], about: Step, alone: bool) -> Optional[bytes]:
    """The next Message of its sender, or else of its receiver. alone: of its sender."""
    sent = [s for s in reversed(frames) if s.opcode == 0 and s.data[20:24] == bytes(4) and s.data[9] & 8]
    of_pair = [s for s in sent if {s.sender, int.from_bytes(s.data[1:4], "big")} == about.ports]
    found = sorted(of_pair, key=lambda s: s.sender != about.sender)
    found = [s for s in found if s.sender == about.sender or not alone]
    if not found:
        return None
    last = found[0].data
    return last[:16] + b"\x0f\xf0" + last[18:32] + struct.pack(">I", int.from_bytes(last[32:36], "big") + 1) + last[36:]


def _answer(frames: list[Seen], about: Step) -> Optional[bytes]:
    """The Response to the Message that a frame is of."""
    request = next((s.data for s in frames if s.opcode == 0 and s.data[16:18] == struct.pack(">H", about.ox_id)
                    and s.sender == about.originator), None)  # fmt: skip
    if request is None:
        return None
    back = next((s.data for s in frames if s.opcode in (0, 8) and s.data[1:4] == request[5:8]), None)
    step = Step(0, 0, about.originator, int.from_bytes(request[1:4], "big"), "", about.ox_id, 0)
    handle = None if back is None else int.from_bytes(back[24:28], "big")
    return None if handle is None else _iu(0x08, step, handle, int.from_bytes(request[32:36], "big"))


def made_untrue(frames: list[Seen], claim: Claim) -> Optional[list[Seen]]:
    """The frames, and the one among them that the claim says is not there."""
    about, name = claim.about, claim.absent[0] if claim.absent else ""
    if about is None or not name:
        return None
    data: Optional[bytes] = None
    if name == "a frame":
        return _without_one(frames, about)
    if name == "peer mode":
        return [stories.replace(s, data=_as_peer(s.data)) if s.opcode == 0x10 else s for s in frames]
    if claim.words == "no request of the other Peer":
        return _other_peer(frames, about)
    if name == "an earlier CONNECT_RQST":
        return _first_try(frames, about)
    if name in _OPCODES:
        data = _iu(_OPCODES[name], about)
    elif name == "DISCONNECT_RQST":
        asked = next(s.data for s in frames if s.opcode == 0x12 and s.data[16:18] == struct.pack(">H", about.ox_id))
        handle = frames[about.number - 1].data[24:28]
        data = asked[:1] + asked[5:8] + asked[4:5] + asked[1:4] + asked[8:16] + b"\x0f\xf1" + asked[18:24] + handle + asked[28:]
    elif name == "PLOGI":
        login = stories.link_service(0x03, about.target, about.sender, 0x77, stories.service_parameters(7))
        return [Seen(frames[0].us - 1, login), *frames]
    elif name == "CONNECT_RQST":
        talk = stories.Talk(stories.Random(1))
        talk.ends = (about.sender, about.target if about.target < 0xFFFC00 else stories.OTHERS[0])
        talk.setup(0)
        data = next((s.data for s in frames if s.opcode == 0x10), talk.frames[0].data)
    elif name == "SEND_RQST":
        data = _message_behind(frames, about, f"{about.sender:06X}" in claim.words)
    elif name == "SEND_RESP":
        data = _answer(frames, about)
    elif name in ("LS_ACC", "LS_RJT"):
        body = stories.service_parameters(7) if name == "LS_ACC" else bytes([0, 9, 0, 0])
        data = stories.link_service(2 if name == "LS_ACC" else 1, about.sender, about.target, about.ox_id, body, reply=True)
    if data is None:
        return None
    at = len(frames) if name == "SEND_RQST" else about.number
    if name in ("SEND_RESP", "CONNECT_RQST"):
        at = max([at, *(n for n, s in enumerate(frames, 1) if s.opcode >= 0)])
    return frames[:at] + [Seen(frames[at - 1].us + 1, data)] + frames[at:]


def _first_try(frames: list[Seen], about: Step) -> list[Seen]:
    """The request of which the first one in the capture is the retry, with an Exchange and an FCVI_CONNECTION_ID of its own."""
    data = frames[about.number - 1].data
    data = data[:16] + b"\x0f\xf2" + data[18:29] + bytes([data[29] & ~0x10]) + data[30:52] + b"\x7f\xff\xff\xf2" + data[56:]
    return [Seen(frames[0].us - 1, data), *frames]


def _retry_alone(r: stories.Random) -> stories.Story:
    """A setup of which the capture has the retry."""
    t = stories.begun(r)
    t.talk()
    again = [stories.replace(s, data=s.data[:29] + bytes([s.data[29] | 0x10]) + s.data[30:]) if s.opcode == 0x10 else s
             for s in t.frames]  # fmt: skip
    return stories.Story(again, ("lost-request",))


def alone(story: Callable[[stories.Random], stories.Story], asks: bool) -> Callable[[stories.Random], stories.Story]:
    """A capture without a frame of the port that is asked for the Connection, or without one of the port that asks."""

    def made(r: stories.Random) -> stories.Story:
        frames = story(r).frames
        rqst = next(s for s in frames if s.opcode == 0x10)
        unheard = int.from_bytes(rqst.data[1:4], "big") if asks else rqst.sender
        return stories.Story([s for s in frames if s.sender != unheard], ("unheard-answer",))

    return made


def _given_up(r: stories.Random) -> stories.Story:
    """FCVI_CONNECT_RESP1 passes, and its requester aborts the setup."""
    t = stories.Talk(r)
    t.login()
    ox = t.setup(1)
    t.abort(0, ox, 10_000_000, 0x84)
    return stories.Story(t.frames, ("lost-resp1",))


def _refused_quietly(r: stories.Random) -> stories.Story:
    """The reason is in FCVI_CONNECT_RESP1 alone (Figure 9)."""
    frames = stories.refused(1, "no-match")(r).frames
    return stories.Story([stories.replace(s, data=s.data[:29] + b"\0" + s.data[30:36] + bytes(4) + s.data[40:])
                          if s.opcode == 0x19 else s for s in frames])  # fmt: skip


def _as_peer(data: bytes) -> bytes:
    """FCVI_CONNECT_RQST in peer mode."""
    return data[:29] + bytes([(data[29] & ~7) | 2]) + data[30:]


def _peer_refused(r: stories.Random) -> stories.Story:
    """05h to a request in peer mode, and no request of the other Peer."""
    made = stories.refused(5, "peer-refused")(r)
    made.frames[:] = [stories.replace(s, data=_as_peer(s.data)) if s.opcode == 0x10 else s for s in made.frames]
    return made


def _says_error(r: stories.Random) -> stories.Story:
    """All came by in order, and a side says that something did not."""
    t = stories.begun(r)
    t.level = 2
    t.message(0, 9000), t.message(0, 64), t.message(0, 64), t.disconnect(1, 0x40 if r.random() < 0.5 else 0x44, both=False)
    return stories.Story(t.frames, ("lost-message",))


def _slow(r: stories.Random) -> stories.Story:
    """A Response that takes seconds, with nothing lost."""
    t = stories.begun(r)
    t.level = 3
    t.message(0, 64), t.message(0, 64), t.message(0, 64)
    ox, msg = t.message(0, 64, answered=False)
    t.answer(1, ox, msg, after=3_000_000)
    t.message(0, 64)
    return stories.Story(t.frames, ("credit-starvation",))


STORIES = {**stories.CAUSES, "peer-refused": _peer_refused, "client-refused": stories.refused(5, "peer-refused"),
           "says-error": _says_error, "slow": _slow, "retry-alone": _retry_alone,
           "request-alone": alone(stories.lost_request, True), "message-alone": alone(stories.lost_response, True),
           "given-up-alone": alone(_given_up, False), "silent-alone": alone(stories.silent_setup(0), True),
           "refused-alone": alone(_refused_quietly, True)}  # fmt: skip


def _other_peer(frames: list[Seen], about: Step) -> list[Seen]:
    """The other Peer asks while the request waits."""
    talk = stories.Talk(stories.Random(1))
    talk.ends, talk.now = (about.target, about.sender), frames[about.number - 1].us + 1
    talk.setup(0)
    return [*frames[: about.number], stories.replace(talk.frames[0], data=_as_peer(talk.frames[0].data)), *frames[about.number :]]


def _without_one(frames: list[Seen], about: Step) -> Optional[list[Seen]]:
    """A frame of a Message is taken away, behind which its sender has another one, and before which it has one too."""
    sent = [n for n, s in enumerate(frames) if s.opcode == 0 and {s.sender, int.from_bytes(s.data[1:4], "big")} == about.ports]
    by: dict[int, list[int]] = {}
    for n in sent:
        by.setdefault(frames[n].sender, []).append(n)
    middle = next((found[-2] for found in by.values() if len(found) > 2), None)
    return None if middle is None else frames[:middle] + frames[middle + 1 :]


def _sentence(cause: Cause) -> str:
    """The first one, whatever its numbers are."""
    return re.sub(r"(?<![A-Z\d])\d+(\.\d+)?( (us|ms|s)\b)?", "#", cause.text.split(". ")[0])


@pytest.mark.parametrize("name", list(STORIES))
def test_a_sentence_with_an_untrue_claim_is_not_told(name: str, tmp_path: Path) -> None:
    tried = 0
    for seed in range(6):
        frames = STORIES[name](stories.Random(f"{name} {seed}")).frames
        for cause in causes_of(frames, tmp_path / "c.pcap"):
            assert cause.is_borne_out
            for claim in cause.claims:
                other = made_untrue(frames, claim)
                if other is None:
                    continue
                tried += 1
                said = [_sentence(c) for c in causes_of(other, tmp_path / "d.pcap") if (c.flow is None) == (cause.flow is None)]
                assert _sentence(cause) not in said, (name, seed, claim.words, cause.text)
    shown = {"rejected-frame", "no-match", "no-waiting", "connect-timeout", "rejected", "no-parameters", "late-answer",
             "protection", "damage", "new-address", "lost-frame", "lost-response", "asked-by-ack", "message-alone"}  # fmt: skip
    assert tried or name in shown, "a cause that says what is not there claims it"


_IN_TEXT = re.compile(r"\bframe \d+")


def _said(cause: Cause) -> str:
    """The text whatever the numbers of its frames are."""
    return _IN_TEXT.sub("frame #", cause.text)


def _names(cause: Cause, step: Step) -> bool:
    """Whether the text speaks of a frame by its name, and of no other frame of that name."""
    told = re.search(rf"\b(FCVI_)?{re.escape(step.name)}\b", cause.text) is not None
    return told and step.name != "Message" and sum(s.name == step.name for s in cause.frames) == 1


@pytest.mark.parametrize("name", list(STORIES))
def test_a_sentence_is_not_told_without_the_frame_that_it_names(name: str, tmp_path: Path) -> None:
    for seed in range(3):
        frames = STORIES[name](stories.Random(f"{name} {seed}")).frames
        for cause in causes_of(frames, tmp_path / "c.pcap"):
            for step in cause.frames:
                if _names(cause, step):
                    other = frames[: step.number - 1] + frames[step.number :]
                    said = [_said(c) for c in causes_of(other, tmp_path / "d.pcap")]
                    assert _said(cause) not in said, (name, seed, step.words())


def _with_other_code(data: bytes) -> Optional[bytes]:
    """A frame that says another reason, or reports another error."""
    if data[0] in (0xC2, 0xC3):
        return data[:21] + bytes([data[21] ^ 0x10]) + data[22:]
    if data[0] == 0xC0:
        return data[:11] + bytes([data[11] & ~0x30]) + data[12:]
    if data[8] == 1 and data[24] == 1:
        return data[:29] + bytes([data[29] ^ 0x0E]) + data[30:]
    if data[8] == 0x58 and len(data) > 37 and data[28] in (0x12, 0x18, 0x19, 0x1A) and data[37]:
        return data[:37] + bytes([data[37] ^ 0xF8]) + data[38:]
    if data[8] == 0x58 and len(data) > 29 and data[28] in (0x08, 0x09) and data[29] & 6:
        return data[:29] + bytes([data[29] ^ 6]) + data[30:]
    return None


@pytest.mark.parametrize("name", list(STORIES))
def test_a_sentence_says_what_the_code_of_its_frame_is(name: str, tmp_path: Path) -> None:
    for seed in range(3):
        frames = STORIES[name](stories.Random(f"{name} {seed}")).frames
        for cause in causes_of(frames, tmp_path / "c.pcap"):
            last: dict[str, Step] = {s.name: s for s in cause.frames}  # of several the latest is quoted
            for step in last.values():
                data = _with_other_code(frames[step.number - 1].data) if frames[step.number - 1].data else None
                if data is None or not re.search(rf"\b(FCVI_)?{re.escape(step.name)}\b|The Disconnect says", cause.text):
                    continue
                other = [*frames]
                for n, seen in enumerate(frames):
                    if seen.data[:1] == data[:1] and seen.data[28:29] == data[28:29]:
                        other[n] = stories.replace(seen, data=_with_other_code(seen.data) or seen.data)
                said = [_said(c) for c in causes_of(other, tmp_path / "d.pcap")]
                assert _said(cause) not in said, (name, seed, step.words())


def _crosses(t: stories.Talk) -> None:
    """Both ask before either answers, and each has ended when it answers."""
    t.disconnect(0, answered=False), t.disconnect(1, both=False, answer=0x4A)


def _second(t: stories.Talk) -> None:
    """The other side disconnected first."""
    t.disconnect(0, both=False), t.disconnect(1, both=False, answer=0x4A)


def _logged_out(t: stories.Talk) -> None:
    """Its login ended with the Connection on it."""
    t.service(0, 0x05, b"\0" + t.ends[0].to_bytes(3, "big") + bytes(8))
    t.disconnect(0, both=False, answer=0x4A)


def _never_set_up(t: stories.Talk) -> None:
    """4Ah to a Disconnect of a Connection of which the capture shows nothing before."""
    t.frames.clear()
    t.disconnect(0, both=False, answer=0x4A)


@pytest.mark.parametrize("act", [_crosses, _second, _logged_out, _never_set_up])
def test_4Ah_is_right_where_the_connection_may_have_ended(act: Callable[[stories.Talk], None], tmp_path: Path) -> None:
    for seed in range(4):
        t = stories.begun(stories.Random(f"right {seed}"))
        t.message(0), t.message(1), act(t)
        assert "connection-unknown" not in {name for c in causes_of(t.frames, tmp_path / "c.pcap") for name in c.names}


@pytest.mark.parametrize("answer, both, first", [
    (0x4A, False, "connection-unknown"), (0x4B, False, "lost-response"), (0x4A, True, "lost-response"),
])  # fmt: skip
def test_4Ah_behind_an_aborted_message_says_that_its_responder_forgot(answer: int, both: bool, first: str, tmp_path: Path) -> None:
    """Not where that one asked for a Disconnect itself."""
    for seed in range(4):
        t = stories.begun(stories.Random(f"forgot {seed}"))
        t.level = 3
        t.message(0), t.message(1)
        ox, _ = t.message(0, answered=False)
        t.abort(0, ox, 10_000_000, 0x85)
        if both:
            t.disconnect(1, answered=False, both=False)
        t.disconnect(0, 0x40, both=False, answer=answer)
        found = causes_of(t.frames, tmp_path / "c.pcap")
        assert [(c.name, c.party) for c in found[:1]] == [(first, None)]


@pytest.mark.parametrize("by_us", [-400_000_000, 400_000_000])
@pytest.mark.parametrize("which", [0, 1])
def test_two_clocks_hide_no_silence(which: int, by_us: int, tmp_path: Path) -> None:
    """The clock of one port of the Connection is far off, and others go on by the other clock."""
    for seed in range(4):
        t = stories.begun(stories.Random(f"clocks {seed}"))
        t.level = 3
        t.message(0), t.message(1), t.chatter(10_000_000), t.message(0), t.message(1)
        t.message(0, answered=False), t.chatter(60_000_000)
        frames = [stories.replace(s, us=s.us + by_us) if s.sender == t.ends[which] else s for s in t.frames]
        found = causes_of(sorted(frames, key=lambda s: s.us), tmp_path / "c.pcap")
        assert [c.names for c in found] == [("lost-response", "lost-message", "port-silent")]


#: Functions whose sentences have no claim of their own: how many, and why no frame but those that they show can contradict them.
CODES, SHOWN, LATER = "they quote a code of a frame", "they speak of frames that they show", "who calls it adds the claims"
WITHOUT = {
    "causes._refusal": (3, CODES), "causes._parameters": (2, CODES), "causes._old_edition": (2, CODES),
    "causes._damage": (1, SHOWN), "causes._link_answers": (1, CODES), "causes._errors": (5, CODES), "causes._messages": (4, SHOWN),
    "causes._aborted": (5, SHOWN), "causes._answered_in_vain": (1, SHOWN),
    "setups._of_1999": (2, SHOWN), "setups._withdrawal": (1, SHOWN), "setups._unanswered": (1, LATER),
    "setups._attempt": (13, LATER), "silence._came_to_nothing": (3, LATER),
}  # fmt: skip


def test_a_sentence_has_a_claim_or_a_reason_why_it_needs_none() -> None:
    """A new sentence comes with ``claims=``, which the tests above make untrue; or it is counted here."""
    found: dict[str, int] = {}
    for path in sorted(Path(causes.__file__).parent.glob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                made = [n for n in ast.walk(function) if isinstance(n, ast.Call) and ast.unparse(n.func) == "Cause"]
                bare = sum(all(k.arg != "claims" for k in call.keywords) for call in made)
                if bare:
                    found[f"{path.stem}.{function.name}"] = bare
    assert found == {name: count for name, (count, _) in WITHOUT.items()}


@pytest.mark.parametrize("snap", [0, 60])
def test_of_frames_that_are_cut_off_it_is_not_said_that_all_came_in_order(snap: int, tmp_path: Path) -> None:
    frames = _says_error(stories.Random(1)).frames
    path = tmp_path / "c.pcap"
    path.write_bytes(w.pcap(*stories.records(frames, stories.Wrapping("bare"), stories.Random(1)), *[snap] * bool(snap)))
    table, _ = taken("explain", [str(path)], Table, SimpleNamespace(reorder=0, limits=Limits()))
    text = explain(table, table.finish())[0][0].text
    assert ("every frame passed" in text) is (not snap) and ("not known" in text) is bool(snap)
