"""Attacks an attached device with mutated frames, or PDUs, in every state of a connection, and cuts what broke it down.

A batch is a seed and a state: the device is brought to the state, hears a few mutated frames with some time between
them, and is then probed. The same seed gives the same batch, as far as the device chooses its handles and
Exchange Identifiers in the same way again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Callable, Mapping, Optional

from .bins import Batch, Bins
from .frames import Frames
from .transport import Transport
from fcvi.engine.attachment import Dut, DutError, Unavailable
from fcvi.engine.record import RecordingDut
from fcvi.engine.pixit import Pixit
from fcvi.engine.protocol import protocol_of
from fcvi.engine.results import TraceFrame
from fcvi.engine.scenario import Failed, Inconclusive
from fcvi.engine.upper_tester import Refused, Unimplemented

_MOST_TRIES = 200  # replays that cutting down one finding may take


@dataclass(frozen=True)
class Step:
    """A frame, or a PDU, that is sent, after some time; origin: the one that it was made from."""

    frame: Any
    origin: Any
    wait_us: int = 0


@dataclass
class Outcome:
    """What a batch did to the device. kind: "dead", "stuck", "malformed", or "" when all is well."""

    kind: str = ""
    reason: str = ""
    trace: list[TraceFrame] = field(default_factory=list)
    lines: bytes = b""  # of evidence: all that passed, calls too


@dataclass
class Broken:
    """A batch that broke the device, cut down."""

    seed: int
    state: str
    outcome: Outcome
    steps: list[Step]
    reproduced: bool
    changes: list[str] = field(default_factory=list)  # fields that matter, in words
    key: tuple[str, ...] = ()  # which kind of finding it is
    before: list[Batch] = field(default_factory=list)  # the batches that were played last, this one among them


@dataclass
class Tally:
    """What was done, by state and by what was sent."""

    batches: int = 0
    frames: int = 0
    by_state: dict[str, int] = field(default_factory=dict)
    by_kind: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)  # batches that ended for want of a call, by what was said


class Care:
    """What a lab does for a device that a batch has left ill. This one does nothing, and finds nothing."""

    def ill(self) -> str:
        """Asked after each batch, beside the probe: what is wrong, in words, or nothing."""
        return ""

    def revive(self, again: Callable[[], None]) -> None:
        """The device is dead: bring it back, then attach again. Raises DutError when that fails."""
        again()


def _places(standard: str) -> Any:
    """Where a device of this standard can be attacked."""
    attack = protocol_of(standard).attack
    assert attack is not None
    return attack()


class Attack:
    """Batches against one device."""

    def __init__(
        self, dut: Dut, pics: Mapping[str, Any], pixit: Pixit, levels: Mapping[str, str], frames: int,
        *, care: Care = Care(), transport: Transport = Frames(), bins: Optional[Bins] = None,
    ) -> None:  # fmt: skip
        """transport: the wire. bins: what tells findings apart; None: each is one of its own."""
        self.bins = bins
        self._dut = RecordingDut(dut)
        self._pics = pics
        self._pixit = pixit
        self._levels = levels
        self._frames = frames
        self.transport = transport
        self._places: Any = _places(transport.standard)
        self._care = care
        self.tally = Tally()
        self.gone = ""  # why the device that died could not be attached again: there is nothing left to attack

    def states(self) -> list[str]:
        """The states in which this device can be attacked."""
        names: list[str] = self._places.states(self._scenario(0))
        return names

    def batch(self, seed: int, state: str) -> Optional[Broken]:
        """One batch; what broke the device is cut down at once, as long as it can be attached again (see gone). None: nothing did,
        or it did as an earlier batch (see bins)."""
        steps: list[Step] = []
        if self.bins is not None:
            self.bins.begin()
        outcome = self._run(seed, state, None, steps)
        self.tally.batches += 1
        self.tally.frames += len(steps)
        self.tally.by_state[state] = self.tally.by_state.get(state, 0) + 1
        for step in steps:
            name = self.transport.name_of(step.frame)
            self.tally.by_kind[name] = self.tally.by_kind.get(name, 0) + 1
        if self.bins is not None:
            self.bins.played(Batch(seed, state, steps))
        if not outcome.kind:
            return None
        found = Broken(seed, state, outcome, steps, False)
        if self.bins is not None:
            found.key, found.before = self.bins.key(outcome.kind, outcome.reason, state), list(self.bins.last)
            if self.bins.count(found.key) > 1:
                return None
        return self._cut_down(found)

    def unserved(self, states: list[str]) -> dict[str, str]:
        """By state, the call that the unharmed device does not serve and that the state or the probe needs. What else goes wrong
        here goes wrong under the attack too, which tells of it. Raises DutError when a device that died cannot be attached again.
        """
        missing: dict[str, str] = {}
        for state in states:
            reason = self._refusal(self._places.STATES[state][1])
            if reason:
                missing[state] = reason
        reason = self._refusal(self._places.probe)
        self._dut.take()
        return {state: reason for state in states} if reason else missing

    def _refusal(self, step: Callable[[Any], Any]) -> str:
        """What the unharmed device says of a call of this step that it does not serve, or nothing."""
        t = self._scenario(0)
        try:
            self._dut.reset(dict(t.config))
            step(t)
        except Unimplemented as stop:
            return str(stop)
        except (Failed, Inconclusive, Refused):
            pass
        except DutError:
            self._care.revive(self._dut.restart)
        return ""

    def understood(self) -> bool:
        """Whether the device has the numbers of the run, where the standard leaves some open."""
        return bool(self.transport.understood(self._scenario(0)))

    def repeat(self, seed: int, state: str, steps: list[Step]) -> Outcome:
        """The steps of an earlier finding."""
        return self._run(seed, state, steps, [])

    # ---- one batch ----

    def _scenario(self, seed: int) -> Any:
        return self.transport.scenario(self._dut, self._pics, self._pixit, self._levels, Random(f"attack:{seed}"))

    def _run(self, seed: int, state: str, given: Optional[list[Step]], sent: list[Step]) -> Outcome:
        self._dut.take()
        outcome = self._run_once(seed, state, given, sent)
        outcome.lines = self._dut.take()
        return outcome

    def _run_once(self, seed: int, state: str, given: Optional[list[Step]], sent: list[Step]) -> Outcome:
        t = self._scenario(seed)
        try:
            self._dut.reset(dict(t.config))
            place = self._places.STATES[state][1](t)
            before = len(t.tester.trace)
            if given is None:
                self._attack(t, place, Random(f"frames:{seed}:{state}"), sent)
            else:
                for step in given:
                    self._send(t, place, step)
            broken = self._malformed(t, before)
            if broken is None:
                self._places.probe(t)
                broken = self._malformed(t, before)
            ill = "" if broken else self._care.ill()
            if ill:
                raise DutError(ill)
        except (Refused, Unimplemented) as stop:  # nothing that follows from it is the device's
            return self._refused(t, stop)
        except DutError as error:
            self._restart()
            return Outcome("dead", str(error), t.tester.trace)
        except Failed as stop:
            try:
                t.heed_late_answers()
            except (Refused, Unimplemented) as refusal:
                return self._refused(t, refusal)
            return Outcome("stuck", str(stop), t.tester.trace)
        except Inconclusive as stop:
            return Outcome("", str(stop), t.tester.trace)
        return Outcome("malformed", broken, t.tester.trace) if broken else Outcome("", "", t.tester.trace)

    def _refused(self, t: Any, stop: Exception) -> Outcome:
        self.tally.refused[str(stop)] = self.tally.refused.get(str(stop), 0) + 1
        return Outcome("", str(stop), t.tester.trace)

    def _attack(self, t: Any, place: Any, rng: Random, sent: list[Step]) -> None:
        while len(sent) < self._frames:
            origin = rng.choice(self._places.apt_frames(t, place))
            step = Step(self._mutated(origin, rng), origin, self._pause(rng))
            if not self._places.permitted(step.frame):
                continue
            sent.append(step)
            self._send(t, place, step)

    def _mutated(self, origin: Any, rng: Random) -> Any:
        if rng.random() < 0.15:
            return origin
        data = self.transport.mutate(origin.data, rng.getrandbits(64))
        how = rng.choice(self.transport.hows) if rng.random() < 0.1 else None
        return self.transport.made(data, origin, how, rng.random() >= 0.05)

    def _pause(self, rng: Random) -> int:
        chance = rng.random()
        if chance < 0.7:
            return 0
        return rng.randrange(self._pixit.r_a_tov_us if chance > 0.95 else max(2, self._pixit.r_a_tov_us // 50))

    def _send(self, t: Any, place: Any, step: Step) -> None:
        if step.wait_us:
            t.wait(step.wait_us)
        try:
            self.transport.send(t, place, step.frame, step.frame.data != step.origin.data)
        except Unavailable:
            return  # the path cannot carry this one (a delimiter that FCoE has no code for); the others go on
        t.settle()

    def _malformed(self, t: Any, before: int) -> Optional[str]:
        """A frame of the device, since the attack began, that no correct device sends whatever it has heard."""
        for number, entry in enumerate(t.tester.trace[before:], before + 1):
            wrong = self.transport.wrong(entry) if entry.sender == "dut" else ""
            if wrong:
                requirement, _, words = wrong.partition(": ")
                return f"{requirement}: {self.transport.unit} {number} of the device: {words}"
        return None

    def _restart(self) -> None:
        try:
            self._care.revive(self._dut.restart)
        except DutError as error:
            self.gone = str(error)

    # ---- cutting down ----

    def _cut_down(self, found: Broken) -> Broken:
        tries = 0

        def still(steps: list[Step]) -> bool:
            nonlocal tries
            if self.gone:
                return False
            tries += 1
            outcome = self._run(found.seed, found.state, steps, [])
            if outcome.kind == found.outcome.kind:
                found.outcome = outcome
                return True
            return False

        if self.gone or not still(found.steps):
            return found  # the device chose otherwise this time
        found.reproduced = True
        found.steps = fewer(found.steps, still, lambda: tries < _MOST_TRIES and not self.gone)
        found.steps = plainer(found.steps, still, lambda: tries < _MOST_TRIES and not self.gone)
        still(found.steps)
        found.changes = [words for step in found.steps for words in changed_fields(step, self.transport)]
        return found


def fewer(steps: list[Step], still: Callable[[list[Step]], bool], may_go_on: Callable[[], bool]) -> list[Step]:
    """Leave out whatever the failure does not need, in halves, quarters and so on."""
    size = max(1, len(steps) // 2)
    while may_go_on():
        at = 0
        while at < len(steps) and may_go_on():
            rest = steps[:at] + steps[at + size :]
            if still(rest):
                steps = rest
            else:
                at += size
        if size == 1:
            break
        size = max(1, size // 2)
    return steps


def plainer(steps: list[Step], still: Callable[[list[Step]], bool], may_go_on: Callable[[], bool]) -> list[Step]:
    """Give bytes their right values again, and take waiting out, where the failure does not mind."""
    for i in range(len(steps)):
        for simpler in simplifications(steps[i]):
            if not may_go_on():
                return steps
            tried = steps[:i] + [simpler(steps[i])] + steps[i + 1 :]
            if tried[i] != steps[i] and still(tried):
                steps = tried
    return steps


def simplifications(step: Step) -> list[Callable[[Step], Step]]:
    """Ways to make a step plainer: no waiting, the right frame, the right delimiters or cut, the right length,
    each changed run of bytes, then byte, then bit."""

    def right_bytes(first: int, last: int) -> Callable[[Step], Step]:
        def apply(s: Step) -> Step:
            if len(s.frame.data) < last:
                return s
            data = s.frame.data[:first] + s.origin.data[first:last] + s.frame.data[last:]
            return Step(replace(s.frame, data=data), s.origin, s.wait_us)

        return apply

    ways: list[Callable[[Step], Step]] = [
        lambda s: Step(s.frame, s.origin),
        lambda s: Step(s.origin, s.origin, s.wait_us),
        lambda s: Step(replace(s.origin, data=s.frame.data), s.origin, s.wait_us),
    ]
    if len(step.frame.data) != len(step.origin.data):
        ways.append(_right_length)
    runs = _runs(step.frame.data, step.origin.data)
    ways += [right_bytes(first, last) for first, last in runs]
    ways += [right_bytes(i, i + 1) for first, last in runs if last - first > 1 for i in range(first, last)]
    return ways + [_right_bit(i, bit) for first, last in runs for i in range(first, last) for bit in range(8)]


def _right_length(s: Step) -> Step:
    """As long as the right frame: cut, or with its last bytes."""
    data = s.frame.data[: len(s.origin.data)] + s.origin.data[len(s.frame.data) :]
    return Step(replace(s.frame, data=data), s.origin, s.wait_us)


def _right_bit(at: int, bit: int) -> Callable[[Step], Step]:
    """One bit as in the right frame: several fields share a byte (F_CTL, flags)."""

    def apply(s: Step) -> Step:
        if at >= len(s.frame.data):
            return s
        byte = s.frame.data[at] ^ ((s.frame.data[at] ^ s.origin.data[at]) & 1 << bit)
        data = s.frame.data[:at] + bytes([byte]) + s.frame.data[at + 1 :]
        return Step(replace(s.frame, data=data), s.origin, s.wait_us)

    return apply


def _runs(a: bytes, b: bytes) -> list[tuple[int, int]]:
    """Where two byte strings differ, as far as the shorter one goes, as runs."""
    runs: list[tuple[int, int]] = []
    for i in range(min(len(a), len(b))):
        if a[i] == b[i]:
            continue
        if runs and runs[-1][1] == i:
            runs[-1] = (runs[-1][0], i + 1)
        else:
            runs.append((i, i + 1))
    return runs


def changed_fields(step: Step, transport: Transport = Frames()) -> list[str]:
    """What is different from the frame that the step was made from, field by field."""
    if step.frame.data == step.origin.data:
        return []
    (now, new), (was, old) = transport.fields(step.frame.data), transport.fields(step.origin.data)
    name = was or now
    words = [
        f"{name}: {key[1]} (byte {key[2]}) is {value}, not {old[key]}"
        for key, value in new.items()
        if key in old and old[key] != value
    ]
    if len(step.frame.data) != len(step.origin.data):
        words.append(f"{name}: {len(step.frame.data)} bytes, not {len(step.origin.data)}")
    return words or [f"{name}: bytes behind the fields differ"]
