"""The primitives a case is written with.

A case never sleeps, never names a transport and never knows whether time is real or virtual: it says what it calls, what it
expects and within which time, and this module moves the clock and the control plane. Nothing here knows of a wire: a case
of an API needs no more than this, and the scenario of a wire (fc/scenario.py) adds its lower tester. Whether a breach
fails the DUT is decided in one place, here: by the level of the requirement that was broken.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Callable, Iterator, Mapping, Optional, Protocol, Sequence

from . import proof
from .attachment import SETTLE_US, Dut, DutError, Notification, Unanswered
from .own_part import OwnPart
from .pixit import Pixit
from .results import Expectation, Finding, TraceFrame
from .upper_tester import CANCELLED, Call, Completion, Refused, Told, Unimplemented, is_number, parse_completion
from .words import as_json

#: Levels of requirements whose breach fails a device. Informative rules and examples never do by themselves.
FAILING_LEVELS = frozenset({"shall"})
_ENDS_A_PROCESS = frozenset(("agent.restart", "agent.exit"))
_CALL = 2  # answers: so many a call may take part in (E123)
_TICKS_PER_R_A_TOV = 20  # steps of the clock for a DUT that does not tell when its next timer fires


class Failed(Exception):
    """The case cannot go on: what it needed from the DUT did not happen."""


class Inconclusive(Exception):
    """No verdict can be reached, for the reason given."""


class NotThere(Exception):
    """The device does not have what the case is about, and need not: the case is not applicable, for the reason given."""


class Seen(Protocol):
    """Something of the DUT that a finding can be about: where it stands in the trace, and when it came."""

    numbers: list[int]
    earliest_us: int
    time_us: int


class Scenario:
    """One run of one case variant against one DUT."""

    def __init__(
        self,
        dut: Dut,
        pics: Mapping[str, Any],
        pixit: Pixit,
        levels: Mapping[str, str],
        rng: Random,
        params: Mapping[str, Any],
        config: Mapping[str, Any],
    ) -> None:
        self.dut = dut
        self.pics = pics
        self.pixit = pixit
        self.params = params
        self.rng = rng
        self.config = config
        self.findings: list[Finding] = []
        self.expectations: list[Expectation] = []
        self.controls: list[str] = []
        self.log: list[object] = []  # lines, put into words when somebody reads them
        self.completions: list[Completion] = []
        self.errors: list[tuple[Optional[int], str]] = []
        self.states: list[tuple[int, str]] = []
        self.vis: list[int] = []  # that the case has created and not destroyed
        #: What the suite itself takes of the device's time.
        self.own = OwnPart(pixit.early_us, pixit.late_us, dut.clock == "real")
        self._reported: list[Completion | tuple[Optional[int], str]] = []  # all of these in their order
        self.doubt = ""  # why a breach that was found need not be the device's, in words
        self.joint = ""  # why what the case itself found need not be this device's, in words; what codec and monitor found is
        self.refused: Optional[Call] = None  # the first call that was answered with a JSON-RPC error
        self.misnamed: Optional[Call] = None  # the first whose return is no return code of VIPL
        self._under_way: list[Call] = []  # calls of whose answers the engine has not taken note
        self._at_errors = False  # the case looks at the errors of the calls that it starts now
        self._cancels = False  # the case has ended a process of the device: what is open there is cancelled
        self._levels = levels
        #: The requirements that the case left open (`leave_open`).
        self.undecided: set[str] = set()
        self.checked: set[str] = set()  # the requirements that a check named, whatever came of it
        if proof.ACTIVE is not None:
            proof.ACTIVE.begin()

    # ---- time ----

    @property
    def now_us(self) -> int:
        """DUT time since the reset."""
        return self.dut.now_us

    @property
    def r_a_tov_us(self) -> int:
        """FCVI_ULP_TIMEOUT (8.3)."""
        return self.pixit.r_a_tov_us

    @property
    def ulp_timeout_us(self) -> int:
        """How long the DUT may take to answer in this variant, which may be configured to be longer than usual (FC-VI: 8.3)."""
        return int(self.config.get("r_a_tov_us", self.pixit.r_a_tov_us))

    def settle(self) -> None:
        """Let the DUT finish what it can do without time passing."""
        self._advance(0)

    def wait(self, us: int) -> None:
        """Let time pass, whatever arrives."""
        self.until(lambda: False, us)

    def until(self, holds: Callable[[], bool], within_us: int) -> bool:
        """Let time pass until the condition holds, at most within_us. The last instant is included.

        What the suite spent since it last looked at a real clock is not taken off the device's time.
        """
        dut, own = self.dut, self.own
        self._advance(0)
        deadline = dut.now_us + within_us
        if not own.real:
            return self._until(holds, deadline)
        own.waits(dut.now_us, deadline)
        try:
            return self._until(holds, deadline)
        finally:
            own.waited(dut.now_us)

    def _until(self, holds: Callable[[], bool], deadline: int) -> bool:
        while not holds():
            if self.dut.now_us >= deadline:
                return False
            self._advance(self._step(deadline))
        return True

    def owed(self, holds: Callable[[], bool], answers: int = 1) -> bool:
        """Let time pass until what the DUT owes has come; whether it has.

        This is the one rule of how long the suite waits for something. An answer may take FCVI_ULP_TIMEOUT, a call that takes
        part in one attempt two answers (FC-VI: 8.3, E123). ``until`` and ``wait`` are for time in which the DUT owes nothing.
        """
        return self.until(holds, self.owed_us(answers))

    def owed_us(self, answers: int = 1) -> int:
        """How long the DUT may take for so many answers, one after the other."""
        return answers * self.ulp_timeout_us + self.pixit.late_us

    def _step(self, deadline: int) -> int:
        now = self.dut.now_us
        step = deadline - now
        if not self.dut.knows_next:
            step = min(step, max(1, self.r_a_tov_us // _TICKS_PER_R_A_TOV))
        elif self.dut.next_us is not None and self.dut.next_us > 0:
            step = min(step, max(1, self.dut.next_us - 1))  # stop just before it: then its time is known exactly
        event = self._next_event_us()
        return max(1, min(step, event - now)) if event is not None else step

    def _advance(self, us: int) -> None:
        self._pass(us)
        answered = self._drain()
        while self._run_events() or answered:
            self._pass(0)
            answered = self._drain()
        if self._under_way:
            self._heed_answers()

    def _pass(self, us: int) -> None:
        if self.own.real:
            self._pass_real_time(us, self.own)
        else:
            self.dut.advance(us)

    def _next_event_us(self) -> Optional[int]:
        """When something of the tester's is due next."""
        return None

    def _run_events(self) -> bool:
        """Do what of the tester's is due; true when there was something."""
        return False

    @property
    def still_us(self) -> int:
        """How late the suite's host may come without a doubt about what the device did meanwhile."""
        return self.pixit.late_us

    def _pass_real_time(self, us: int, own: OwnPart) -> None:
        due = self.dut.now_us + max(us, SETTLE_US)
        self.dut.advance(us)
        heard = [note.time_us for note in self.dut.inbox]
        # whoever waits on time hears something before it is due, or nothing
        late = max(min(heard, default=self.now_us) - due, self.now_us - max([due, *heard]))
        if late > self.still_us:
            own.stood_still(late, self.now_us)
        own.taken_in(max((note.time_us - note.earliest_us for note in self.dut.inbox), default=0))

    def _drain(self) -> bool:
        """Take in what the DUT said; true when the tester answered some of it by itself."""
        inbox = self.dut.inbox
        while inbox:
            self._take_in(inbox.popleft())
        return False

    def _take_in(self, note: Notification) -> None:
        if note.method == "completion":
            self.completions.append(parse_completion(note.params, note.earliest_us, note.time_us))
            self._reported.append(self.completions[-1])
            self._told("completion", self.completions[-1])
            self.log.append(Told(note.time_us, "completion", note.params))
        elif note.method == "error":
            code = note.params.get("code")
            vi = note.params.get("vi")
            if not isinstance(code, str) or not (vi is None or is_number(vi)):
                raise DutError(f"error notification broke the DUT protocol: {as_json(note.params, 120)}")
            self.errors.append((vi, code))
            self._reported.append(self.errors[-1])
            self._told("error", self.errors[-1])
            self.log.append(f"{note.time_us} us: VipErrorCallback {code} for vi {vi}")
        elif note.method == "state":
            self.states.append((int(note.params.get("vi", -1)), str(note.params.get("state"))))
            self._reported.append(self.states[-1])
            self._told("state", self.states[-1])
            self.log.append(Told(note.time_us, "state", note.params))
        elif note.method == "stranger":
            self._met(note)
        else:
            self.log.append(f"{note.time_us} us: {note.method} {str(note.params)[:200]}")

    def _met(self, note: Notification) -> None:
        """Somebody else than the device spoke on a live plane: that decides nothing, unless it is the device elsewhere."""
        station, count = str(note.params.get("station"))[:60], note.params.get("count")
        self.log.append(f"{note.time_us} us: the stranger {station} has spoken, {count} times so far; the suite does not hear it")
        if note.params.get("as_device") and not note.params.get("device_heard"):
            self.doubt = f"{station} speaks as the device, which has not spoken from its own address (peer-mac={station}?)"

    def reported_before(self, completion: Completion) -> list[str]:
        """The states and callbacks of its VI that the control plane reported before this completion.

        Order is known within one plane only: what a frame says may be older or newer than what a notification says (E121).
        """
        place = next(n for n, one in enumerate(self._reported) if one is completion)
        return [said[1] for said in self._reported[:place] if not isinstance(said, Completion) and said[0] == completion.vi]

    # ---- what the checks are about (proof.py) ----

    def note(
        self, primitive: str, requirement: str, *looks: proof.Look, condition: bool = False, wanted: Sequence[Any] = (),
        tolerated: Optional[Mapping[Any, str]] = None, since_us: Optional[int] = None, words: str = "", turn: str = "",
        erratum: str = "",
    ) -> None:  # fmt: skip
        """A check is made, of something that the case looked at; see Recorder.note."""
        if proof.ACTIVE is not None:
            since = self.now_us if since_us is None else since_us
            proof.ACTIVE.note(
                primitive, requirement, looks, self.sight, condition=condition, wanted=wanted, tolerated=tolerated, now_us=since,
                words=words, turn=turn, erratum=erratum,
            )  # fmt: skip

    def sight(self, look: proof.Look) -> Optional[proof.Sight]:
        """What was looked at, in words from which a device can be made; None for what is none of the device's."""
        assert proof.ACTIVE is not None
        if look.what in ("call", "return", "member") and isinstance(look.thing, Call):
            call = look.thing
            name = "return" if look.what == "return" else look.name
            nth = proof.ACTIVE.ordinal(call.method, call)
            return proof.Sight(look.what, call.method, nth, name, call.reply.result.get(name, call.reply.done)) if nth else None
        if look.what in ("completion", "error", "state"):
            return proof.Sight(look.what, look.what, proof.ACTIVE.ordinal(look.what, look.thing))
        return None

    def _told(self, what: str, thing: object) -> None:
        if proof.ACTIVE is not None:
            proof.ACTIVE.told(what, thing)

    @classmethod
    def words(cls) -> dict[str, dict[int, frozenset[str]]]:
        """Methods that take names: by the place of the argument the names that there are (own_check.py). A method of something
        else than the scenario has a point before it."""
        schema = json.loads((Path(__file__).parents[1] / "dut/protocol.schema.json").read_text(encoding="utf-8"))
        methods = frozenset(name.partition(".")[2] for name in schema["$defs"] if name.startswith(("params.", "call.")))
        return {"call": {0: methods}, "start": {0: methods}}

    def given(self) -> str:
        """What of the configuration decides how the case goes, for its page; "" for nothing."""
        return ""

    # ---- judging ----

    def step(self, words: str) -> None:
        """Say in the report what the case does now."""
        self.log.append(f"{self.now_us} us: -- {words}")

    def control(self, words: str) -> None:
        """A positive control held: the DUT is alive and did what a mute or constant device would not."""
        self.controls.append(words)
        self.log.append(f"{self.now_us} us: positive control: {words}")

    def report(
        self,
        requirement: str,
        message: str,
        seen: str,
        required: str,
        *,
        at: Optional[Seen] = None,
        byte: Optional[int] = None,
        bits: Optional[str] = None,
        erratum: Optional[str] = None,
    ) -> None:
        """Record a breach. With an erratum it is tolerated; otherwise the requirement's level decides."""
        self.checked.add(requirement)
        if proof.ACTIVE is not None and erratum is None:
            proof.ACTIVE.breach(requirement, proof.turn(message, seen))
        level = self._levels.get(requirement)
        if level is None:
            raise KeyError(f"{requirement} is not in the catalogue")
        fails = level in FAILING_LEVELS and erratum is None
        self.findings.append(
            Finding(
                requirement, "behaviour" if fails else "notice", message, seen, required,
                at.numbers[-1] if at else None, byte, bits, erratum, at.time_us if at else self.now_us,
            )  # fmt: skip
        )

    def require(
        self, holds: bool, requirement: str, message: str, seen: object, required: object, *,
        tolerated: Optional[Mapping[Any, str]] = None, **where: Any,
    ) -> bool:  # fmt: skip
        """Record a breach unless the condition holds; the case goes on. tolerated: values of what was seen, with their errata."""
        self.checked.add(requirement)
        if proof.ACTIVE is not None:
            self.note(
                "require", requirement, *self._places(where), condition=True, wanted=(_said(required),), tolerated=tolerated,
                words=message, turn=proof.turn(message, _said(seen)), erratum=where.get("erratum") or "",
            )  # fmt: skip
        if not holds:
            if tolerated is not None and seen in tolerated:
                where = {**where, "erratum": tolerated[seen]}
            self.report(requirement, message, _said(seen), _said(required), **where)
        return holds

    def demand(
        self, holds: bool, requirement: str, message: str, seen: object, required: object, at: Optional[Seen] = None
    ) -> None:  # fmt: skip
        """A condition without which the case cannot go on: its breach ends it."""
        self.checked.add(requirement)
        self.note(
            "demand", requirement, *self._places({"at": at}), condition=True, wanted=(_said(required),), words=message,
            turn=proof.turn(message, _said(seen)),
        )  # fmt: skip
        if not holds:
            self.fail(requirement, message, _said(seen), _said(required), at)

    def _places(self, where: Mapping[str, Any]) -> Sequence[proof.Look]:
        """What a finding is about: the bits that it names, then the whole of the message."""
        at, byte, bits = where.get("at"), where.get("byte"), where.get("bits")
        if at is None:
            return ()
        whole = proof.Look("payload", at, "")
        return (whole,) if byte is None else (proof.Look("field", at, f"@{byte}" + (f"/{bits}" if bits else "")), whole)

    def fail(self, requirement: str, message: str, seen: str, required: str, at: Optional[Seen] = None) -> None:
        """Record a breach that ends the case."""
        self.report(requirement, message, seen, required, at=at)
        raise Failed(message)

    def _awaited(self, words: str, requirement: str, came: Optional[Seen], silence: bool = False) -> None:
        self.checked.add(requirement)
        frames = tuple(came.numbers) if came is not None else ()
        after = len(self.frames())
        self.expectations.append(Expectation(words, requirement, frames, after, self.now_us, silence))

    def expect_time(
        self, received: Seen, nominal_us: int, requirement: str, what: str, since: Optional[Seen] = None, took_us: int = 0
    ) -> None:
        """The frame came at this time, within the PIXIT's tolerances. since: it counts from there; the page of the case says so.

        took_us: that took so long, and the DUT may have counted from its begin.
        """
        begin = str(since.numbers[-1]) if since is not None else ""
        self.note("expect_time", requirement, proof.Look("time", received, ""), wanted=(nominal_us,), words=begin)
        self._timed(received.earliest_us, received.time_us, nominal_us, requirement, what, received, took_us)

    def expect_return(self, call: Call, after_us: int, requirement: str) -> None:
        """A call that returned by now did so no sooner than so long after it began.

        How much later is the control plane's business: nothing bounds it but the time of a call (E123).
        """
        self.checked.add(requirement)
        self.note("expect_return", requirement, proof.Look("call", call, ""), wanted=(after_us,))
        took = self.now_us - call.started_us
        if took < after_us - self.pixit.early_us:
            self._timed(self.now_us, self.now_us, call.started_us + after_us, requirement, f"the return of {call.method}", None)

    def _timed(
        self, low: int, high: int, nominal: int, requirement: str, what: str, at: Optional[Seen], took_us: int = 0
    ) -> None:
        self.checked.add(requirement)
        first, last = nominal - took_us - self.pixit.early_us, nominal + self.pixit.late_us
        if high < first or low > last:
            if self.own.real:
                self.own.timed(self.pixit.jitter_us, first - high if high < first else low - last, self.now_us)
            self.report(requirement, f"{what} at the wrong time", f"{high} us", f"{first} to {last} us", at=at)
        elif self.dut.clock == "virtual" and (low < first - self.pixit.late_us or high > last + self.pixit.late_us):
            raise Inconclusive(f"{what} happened between {low} and {high} us, too coarse for {first} to {last} us")

    def expect_next_timer(self, within_us: int, requirement: str, what: str) -> None:
        """A timer of the DUT runs and fires within this time. Says nothing when the DUT cannot tell."""
        self.checked.add(requirement)
        self.note("expect_next_timer", requirement, wanted=(within_us,))
        self.settle()
        if self.dut.knows_next:
            due = self.dut.next_us
            self.require(
                due is not None and due <= within_us + self.pixit.late_us, requirement,
                f"no timer runs for {what}", "none" if due is None else f"{due} us", f"at most {within_us} us",
            )  # fmt: skip

    # ---- the control plane ----

    def start(self, method: str, **params: Any) -> Call:
        """Start a VIPL call that may block."""
        dut = self.dut
        self.log.append(Told(dut.now_us, method, params))
        call = Call(method, params, dut.request(method, params), dut.now_us, self.all_findings())
        if proof.ACTIVE is not None:
            proof.ACTIVE.started(method, call)
        call.crowded = method == "VipConnectWait" and any(one.method == method for one in self._under_way)
        if not self._at_errors:
            self._under_way.append(call)
        self._cancels |= method in _ENDS_A_PROCESS
        if self.own.real and is_number(params.get("Timeout")):
            self.own.asked(call.reply, dut.now_us, int(params["Timeout"]), method)
        self._advance(0)
        return call

    @contextmanager
    def looking_at_errors(self) -> Iterator[None]:
        """A JSON-RPC error that answers a call started within is for the case to look at: without this it ends the case."""
        before, self._at_errors = self._at_errors, True
        try:
            yield
        finally:
            self._at_errors = before

    def _heed_answers(self) -> None:
        """A call that ended with an error made the device do nothing: what follows from that is nobody's breach."""
        done = [call for call in self._under_way if call.reply.done]
        if not done:
            return
        self._under_way = [call for call in self._under_way if not call.reply.done]
        for call in done:
            error = call.reply.error
            if error is None and call.is_misnamed:
                self.misnamed = self.misnamed or call
            if call.crowded and call.reply.result.get("return") == "VIP_ERROR_RESOURCE":
                raise NotThere(f"the DUT has no room for {call.method} beside those that wait (VI-DG 4.2)")
            if error is None or (error[0] == CANCELLED and self._cancels):
                continue
            self.refused = self.refused or call
            call.check()

    def heed_late_answers(self) -> None:
        """The case is to fail: hear what has become of the calls that are still under way, and raise it if one was refused.

        A misspelt return code says nothing about the device: whoever wrote it meant another (dut-protocol.md, section 5).
        """
        self._hear()
        if self.misnamed is not None and not self.misnamed.found:
            said = f"{self.misnamed.method} returned {as_json(self.misnamed.reply.result['return'])}"
            raise DutError(f"{said}, which is no return code of VI-DG 4.2: the adapter seems to misspell one")

    def _hear(self) -> None:
        if not self._under_way:
            return
        try:
            self.settle()
        except Refused:
            raise
        except DutError:
            return  # the device is gone since: what it did before stands

    def finish(
        self,
        call: Call,
        requirement: str,
        within_us: Optional[int] = None,
        returns: Optional[str | Sequence[str]] = None,
    ) -> str:
        """Wait for a blocked call and give its VIPL return code; checks it when returns is given.

        Unless the case says within_us the DUT has the time of a call (see owed).
        """
        self.checked.add(requirement)
        limit = self.owed_us(_CALL) if within_us is None else within_us
        since = self.now_us
        if not self.until(lambda: call.reply.done, limit):
            self.fail(requirement, f"{call.method} did not return", "still blocked", f"within {limit} us")
        code = call.returned()
        self.log.append(f"{self.now_us} us: {call.method} returned {code}")
        wanted = [] if returns is None else [returns] if isinstance(returns, str) else list(returns)
        self._returned(call, requirement, wanted, since)
        if wanted and code not in wanted:
            self.report(requirement, f"{call.method} returned {code}", code, " or ".join(wanted))
        return code

    def _returned(self, call: Call, requirement: str, wanted: Sequence[str], since: int) -> None:
        """A call was waited for; it has a code where that is checked, else the case may look at that itself."""
        came, code = proof.Look("call", call, ""), proof.Look("return", call, "")
        self.note("finish", requirement, *((came, code) if wanted else (came,)), wanted=wanted, since_us=since)

    def call(self, method: str, **params: Any) -> Call:
        """A VIPL call that does not block. One that gives no answer in the time of a call broke the DUT protocol."""
        call, since = self.start(method, **params), self.now_us
        came = call.reply.done or self._until(lambda: call.reply.done, self.now_us + self.owed_us(_CALL))
        if self.now_us > since:
            self.own.called(since, self.now_us)
        if not came:
            limit = self.owed_us(_CALL)
            raise Unanswered(
                f"{method} does not block, yet was not answered within {limit} us, twice R_A_TOV and the tolerance (E123): "
                "for an adapter that needs longer raise --r-a-tov"
            )
        return call

    # ---- the end ----

    def leave_open(self, requirement: str, why: str) -> None:
        """A requirement of the case of which this device shows nothing: it gets no verdict by this run, the others do."""
        if requirement not in self.undecided:
            self.undecided.add(requirement)
            self.step(f"{requirement} is left open: {why}")

    def conclude(self) -> None:
        """The case has said all it wants: let the DUT finish, and report what nobody expected."""
        self.settle()

    def reconsider(self) -> None:
        """The case is to fail: find out whether something else than the device could be the reason, and say it in ``doubt``."""

    def all_findings(self) -> list[Finding]:
        """What was found out: on the wire first, then by the case."""
        return list(self.findings)

    def convicting(self) -> list[Finding]:
        """Of what was found out, all that a refused call cannot have caused: what was found before it was started."""
        return self.all_findings() if self.refused is None else self.refused.found

    def follows_a_breach(self, finding: Finding) -> bool:
        """Whether what was found in a frame of the DUT may be its answer to a breach of a second device."""
        return False

    def far_findings(self) -> list[Finding]:
        """What the frames of a second device broke."""
        return []

    def unused(self) -> str:
        """What the case planned and what never came about, in words; "" when all of it did."""
        return ""

    def close(self) -> None:
        """The case is over: nothing is sent or awaited any more."""

    def frames(self) -> list[TraceFrame]:
        """The trace; empty where there is no wire."""
        return []

    def judged(self) -> dict[str, int]:
        """How many units of the DUT codec and monitor judged, by their names; empty where there is no wire."""
        return {}


def _said(of: object) -> str:
    """A value in a report: members as the DUT protocol has them."""
    return as_json(of, 200) if isinstance(of, Mapping) else str(of)


__all__ = ["Failed", "Inconclusive", "NotThere", "Scenario", "Unimplemented"]
