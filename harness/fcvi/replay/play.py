"""Plays a recording to a device.

The tester's actions come in their order and at their times, scaled by the ratio of the R_A_TOVs; a pause of more than ten
R_A_TOV is cut to that, for no timer of the standard is longer. Before each action the device gets the time to say what it
had said by then: an answer may take R_A_TOV and a call twice that (E123), and the tolerance of the PIXIT beyond it. What it
takes longer than the recorded device, all later actions come later. Link services that the recording does not have are answered.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any, Deque, Mapping, Optional

from fcvi.fc import notation
from fcvi.fc.build import RawFrame
from fcvi.engine.attachment import Dut, DutError, Notification, Reply
from fcvi.fc.requests import Requests
from fcvi.engine.results import TraceFrame
from .control import Calls, given
from .difference import Difference
from .oracle import Oracle, recorded
from .frames import View, Wire
from .ids import Translation
from .neighbour import Neighbour
from .recording import CallEvent, FrameEvent, LinkEvent, NoteEvent, Recording

_LONGEST_PAUSE = 10  # R_A_TOVs
_AHEAD = 256  # recorded frames among which one that came early is looked for
_MOST_DIFFERENCES = 1000
_STEPS = 20  # of the clock, in the tolerance


@dataclass
class Outcome:
    """What a replay gave."""

    differences: list[Difference] = field(default_factory=list)
    frames: list[TraceFrame] = field(default_factory=list)
    sent: int = 0
    compared: int = 0
    calls: int = 0
    of_streams: bool = False


@dataclass
class _Expected:
    event: FrameEvent
    view: View
    actions: int  # of the tester that came before it


class Player:
    """One replay. live: the configuration of ``reset`` now. late_us: so much later than it may be an answer is still taken."""

    def __init__(
        self, dut: Dut, recording: Recording, live: Mapping[str, Any], late_us: int, ignore: frozenset[str]
    ) -> None:
        self._dut, self._recording, self._config = dut, recording, dict(live)
        self._answer_us, self._late_us = int(live["r_a_tov_us"]), late_us
        self._ignore = frozenset(word.lower() for word in ignore | recording.ignore)
        ids = Translation()
        ids.addresses(recording.config, live)
        ids.addresses(recording.config["peer"], live["peer"])
        ids.times(recording.config, live)
        self._wire, self._calls = Wire(ids, self._ignore), Calls(ids, self._ignore, self._scaled)
        self._returns = recording.returns()
        self._given = given(self._returns)
        self._expected: Deque[_Expected] = deque()
        self._notes: dict[tuple[object, ...], Deque[NoteEvent]] = {}
        self._open: list[tuple[CallEvent, Reply, int]] = []
        self._then, self._now = Requests(), Requests()
        self._answers: dict[int, int] = {}  # by frame: the request that a reply of the tester answers
        self._actions = 0
        self._behind = 0  # by how much the device was slower than the recorded one
        self._states = False
        self._oracle, self._known = Oracle(live, recording.edition), recorded(recording)
        self.outcome = Outcome()
        self._neighbour = Neighbour(live, recording.edition, self._put)

    # ---- the whole ----

    def run(self) -> Outcome:
        """Play. Raises DutError when the attachment fails."""
        self._dut.reset(self._config)
        self._expect_all()
        last_us, total, target = 0, 0, 0
        for event in self._recording.events:
            pause = min(max(0, event.time_us - last_us), _LONGEST_PAUSE * int(self._recording.config["r_a_tov_us"]))
            last_us, total = max(last_us, event.time_us), total + pause
            target = self._scaled(total) + self._behind
            if isinstance(event, FrameEvent) and event.sender == "tester":
                if not event.together:
                    self._reach(target)
                self._send(event)
            elif isinstance(event, CallEvent):
                if not event.together or self._calls.unbound(event.params, self._given):
                    self._reach(target, event)
                self._call(event)
            elif isinstance(event, LinkEvent):
                self._reach(target)
                self._dut.notify("link", {"event": event.event})
                self._oracle.link()
                self._actions += 1
        rest = min(max(0, self._recording.end_us - last_us), _LONGEST_PAUSE * int(self._recording.config["r_a_tov_us"]))
        self._reach(self._scaled(total + rest) + self._behind, everything=True)
        self._finish()
        self._oracle.close()
        return self.outcome

    def _scaled(self, us: int) -> int:
        """A time of the recording now, never too early by the rounding."""
        return -(-us * int(self._config["r_a_tov_us"]) // int(self._recording.config["r_a_tov_us"]))

    def _expect_all(self) -> None:
        actions = 0
        for event in self._recording.events:
            if isinstance(event, FrameEvent) and event.sender == "dut":
                view = View(event.frame, "dut", self._then.see(event.frame.data), self._recording.edition)
                if not self._passed_over(view):
                    self._expected.append(_Expected(event, view, actions))
            elif isinstance(event, FrameEvent):
                self._answers[event.number] = self._then.see(event.frame.data)
                actions += 1
            elif isinstance(event, (CallEvent, LinkEvent)):
                actions += 1
        self._note_events = [e for e in self._recording.events if isinstance(e, NoteEvent)]

    def _passed_over(self, view: View) -> bool:
        return bool({view.title.lower(), view.kind.lower(), f"fcvi_{view.kind.lower()}"} & self._ignore)

    def _differ(self, difference: Difference, frame: Optional[int] = None, recorded: Optional[int] = None) -> None:
        if difference.field.lower() in self._ignore or difference.kind in self._ignore:
            return
        if len(self.outcome.differences) < _MOST_DIFFERENCES:
            number = frame if frame is not None else (len(self.outcome.frames) or None if recorded is None else None)
            located = replace(difference, frame=number, recorded_frame=recorded, time_us=self._dut.now_us)
            self.outcome.differences.append(located)
            if frame is not None:
                entry = self.outcome.frames[frame - 1]
                entry.note = "; ".join(filter(None, (entry.note, located.words())))[:2000]

    # ---- time ----

    def _owes(self, call: Optional[CallEvent], everything: bool) -> bool:
        if self._expected and (everything or self._expected[0].actions <= self._actions):
            return True
        if call is not None and self._calls.unbound(call.params, self._given):
            return bool(self._open)
        return everything and any(c.call in self._returns for c, _, _ in self._open)

    def _reach(self, target: int, call: Optional[CallEvent] = None, everything: bool = False) -> None:
        """Let time pass until the target, and on while the device owes something that had come by then."""
        self._advance(0)
        while self._dut.now_us < target:
            self._advance(target - self._dut.now_us)
        reached = self._dut.now_us
        patience = self._answer_us * (2 if self._open else 1) + self._late_us
        while self._owes(call, everything) and self._dut.now_us < reached + patience:
            self._advance(max(1, min(reached + patience - self._dut.now_us, self._late_us // _STEPS)))
        self._behind += self._dut.now_us - reached
        while self._expected and self._expected[0].actions <= self._actions:
            missed = self._expected.popleft()
            self._differ(Difference("missing", "", "this frame", "none", iu=missed.view.title), recorded=missed.event.number)

    def _advance(self, us: int) -> None:
        self._dut.advance(us)
        while self._dut.inbox:
            note = self._dut.inbox.popleft()
            if note.method == "frame":
                self._take_frame(note)
            elif note.method in ("completion", "error", "state"):
                self._take_note(note)
        self._take_answers()

    # ---- actions ----

    def _send(self, event: FrameEvent) -> None:
        view = View(event.frame, "tester", self._answers[event.number], self._recording.edition)
        frame = self._wire.outgoing(view)
        self.outcome.sent += 1
        self._actions += 1
        self._put(frame)

    def _put(self, frame: RawFrame) -> None:
        self._now.see(frame.data)
        entry = TraceFrame(self._dut.now_us, "tester", frame.data, frame.sof, frame.eof, frame.crc_ok)
        self.outcome.frames.append(entry)
        self._oracle.sent(frame, len(self.outcome.frames), self._dut.now_us)
        self._dut.send_frame(frame)

    def _call(self, event: CallEvent) -> None:
        reply = self._dut.request(event.method, self._calls.params(event.params))
        self._open.append((event, reply, event.after))
        self.outcome.calls += 1
        self._actions += 1
        self._take_answers()

    # ---- what the device says ----

    def _take_frame(self, note: Notification) -> None:
        try:
            raw = notation.from_params(note.params)
        except ValueError as error:
            raise DutError(f"frame notification broke the DUT protocol: {error}") from error
        seen = View(raw, "dut", self._now.see(raw.data), self._recording.edition)
        self.outcome.frames.append(TraceFrame(note.time_us, "dut", raw.data, raw.sof, raw.eof, raw.crc_ok))
        number = len(self.outcome.frames)
        self._judge(raw, number, note.time_us)
        if self._passed_over(seen):
            return
        expected = self._match(seen)
        if expected is None:
            kind = "service" if self._neighbour.asked(seen, number, note) else "additional"
            self._differ(Difference(kind, seen.kind, "no such frame", "this frame", iu=seen.title), number)
            return
        self._expected.remove(expected)
        self.outcome.compared += 1
        if expected.actions > self._actions and self._dut.clock == "virtual":
            words = f"after {expected.actions} actions of the tester"
            early = Difference("order", "order", words, f"after {self._actions}", iu=seen.title)
            self._differ(early, number, expected.event.number)
        for difference in self._wire.compare(expected.view, seen):
            self._differ(difference, number, expected.event.number)

    def _judge(self, raw: RawFrame, number: int, time_us: int) -> None:
        """What is wrong with a frame of the device that was not wrong in the recording."""
        for finding in self._oracle.came(raw, number, time_us):
            if self._known[finding.requirement] > 0:
                self._known[finding.requirement] -= 1
                continue
            self._differ(
                Difference("finding", finding.requirement, str(finding.required), str(finding.seen), iu=finding.message,
                           byte=finding.byte, bits=finding.bits), number)  # fmt: skip

    def _match(self, seen: View) -> Optional[_Expected]:
        """The recorded frame in whose place this one came: the next of its Exchange, or of a new Exchange."""
        exchange = self._wire.exchange_now(seen)
        near = [self._expected[i] for i in range(min(len(self._expected), _AHEAD))]
        if exchange is not None:
            return next((e for e in near if e.view.exchange == exchange), None)
        new = [e for e in near if self._wire.begins(e.view)]
        alike = next((e for e in new if e.view.title == seen.title), None)
        return alike or next((e for e in new if e.view.frame.kind == seen.frame.kind == "iu"), None)

    def _take_note(self, note: Notification) -> None:
        if not self._recording.knows_calls:
            return
        self._states |= note.method == "state"
        key = self._calls.note_key(note.method, note.params, False)
        for index, event in enumerate(self._note_events[:_AHEAD]):
            if self._calls.note_key(event.method, event.params, True) == key:
                del self._note_events[index]
                for difference in self._calls.compare_note(event, note.params):
                    self._differ(difference)
                return
        if note.method != "state" or any(e.method == "state" for e in self._recording.events if isinstance(e, NoteEvent)):
            self._differ(Difference("note", note.method, "none", str(note.params)[:120]))

    def _take_answers(self) -> None:
        for call, reply, _ in [o for o in self._open if o[1].done]:
            recorded = self._returns.get(call.call)
            if recorded is None:
                if self._recording.knows_calls and reply.error is None and self._whole():
                    self._differ(Difference("call", call.method, "no answer", str(reply.result.get("return"))))
                continue
            if reply.error is None:
                self._calls.learn(call, recorded, reply.result)
            for difference in self._calls.compare_return(call, recorded, reply):
                self._differ(difference)
        self._open = [o for o in self._open if not o[1].done]

    def _whole(self) -> bool:
        """Whether the recording has the answers of all calls that were answered."""
        return any(r.whole for r in self._returns.values())

    def _finish(self) -> None:
        for missed in self._expected:
            self._differ(Difference("missing", "", "this frame", "none", iu=missed.view.title), recorded=missed.event.number)
        for call, _, _ in self._open:
            if call.call in self._returns:
                self._differ(Difference("call", call.method, "an answer", "none"))
        states = any(f.method == "state" for f in self._note_events) and self._states
        for event in self._note_events:
            if event.method != "state" or states:
                self._differ(Difference("note", event.method, str(event.params)[:120], "none"))
