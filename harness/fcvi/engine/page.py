"""The page of a case: its steps as they ran against a device, for a reader who knows the standard and no Python.

``watch`` runs a variant and notes in one order what the suite asks, what the device says, and what each check compares
(proof.py). ``Watcher.page`` makes of that a table as test specifications have it: step, who, what, requirement. A check
stands with the step that it looks at.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from itertools import islice
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Optional, Sequence

from . import proof
from .break_words import in_words
from .breaks import understand
from .catalogue import (
    COMES, EVERY_CASE, TURN, Proof, load_catalogue, load_explained, load_proofs, of_every_turn,
)  # fmt: skip
from .conditions import here
from .page_words import answered, asked, compared, otherwise, said, span, tolerance
from .pics import complete
from .protocol import Line, protocol_of
from .results import Result, TraceFrame
from .runner import not_applicable, run_variant
from .upper_tester import Call, Told

if TYPE_CHECKING:
    from .attachment import Dut
    from .case import CaseInfo, Variant
    from .pixit import Pixit
    from .scenario import Scenario

TESTER, DEVICE, UPPER, CHECK = "tester", "device", "upper tester", "check"
_SHOWN = 2  # devices of one check
_COARSE = ("say ", "says ", "tell ", "fault ")  # devices that break more than one thing
_LARGE = 0x100  # a value that is no mere number of something
_SAYS = ("notify ", "async", "cm", "connect-request")  # notifications of agents
_CONTROL = "positive control"
_TOLD = ("completion", "state", "VipErrorCallback")  # the recorder is told of these by itself
_OF_CASES = ("conformance.", "fcvi_own_")  # modules of cases and their steps, the user's own too (own_cases.py)
AT_THE_END = "What every case owes when it ends"


@dataclass
class Check:
    """What a check of a step compares, in words, and the requirement that it breaks.

    step: another step that the words name: they end before its number, and rest goes on behind it. shown_by: devices that break
    just this, and that the suite has failed by it. why_not: why there is none.
    """

    words: str  # "" where the step itself is what is checked
    requirement: str
    times: int = 1
    step: Optional[Step] = field(default=None, compare=False)
    rest: str = ""
    shown_by: tuple[Proof, ...] = field(default=(), compare=False)
    why_not: str = field(default="", compare=False)

    def text(self) -> str:
        """The whole of it, with the number of the other step."""
        named = f" step {self.step.number}" if self.step is not None else ""
        return self.words + named + self.rest + (f" ({self.times} times)" if self.times > 1 else "")

    def proof(self, variant: str) -> str:
        """The devices in words; "" where there is none. variant: that of the page, which is not named."""
        told = (f"a device that {in_words(understand(one.device))}" + ("" if one.variant == variant else f", in {one.variant}")
                for one in self.shown_by)  # fmt: skip
        return "; ".join(islice(dict.fromkeys(told), _SHOWN))


@dataclass
class Step:
    """A row. who: the tester on the wire, the upper tester that makes the calls, the device, or a check of all that came before.
    part: the step of the suite that it belongs to, in words; "" in the case itself. later: how much later than the step ``after``,
    in words. frame: its number in the capture. times: how often it came in a row. number: from 1, in the order of the page.
    """

    who: str
    what: str
    part: str = ""
    later: str = ""
    frame: Optional[int] = None
    checks: list[Check] = field(default_factory=list)
    times: int = 1
    after: Optional[Step] = field(default=None, compare=False)
    number: int = field(default=0, compare=False)

    def text(self) -> str:
        """What happened, when and how often."""
        when = f", {self.later} after step {self.after.number}" if self.after is not None else ""
        return self.what + when + (f" ({self.times} times)" if self.times > 1 else "")


@dataclass
class Event:
    """Something that happened. kind: "given" (the configuration), "crossed" (a frame), "asked", "answered", "told", "logged" or
    "checked"."""

    kind: str
    time_us: int
    part: str
    thing: Any
    words: str = ""
    record: Optional[proof.Record] = None
    parts: tuple[str, ...] = ()  # of the condition that is checked, as their words stand in the case


class _Heard(list[Any]):
    """A list of the case's that tells what is put into it: its log, its trace."""

    def __init__(self, of: Sequence[Any], hear: Callable[[Any], None]) -> None:
        super().__init__(of)
        self._hear = hear

    def append(self, one: Any) -> None:
        super().append(one)
        self._hear(one)


class Watcher(proof.Recorder):
    """Notes everything of one case in the order in which it happens."""

    def __init__(self, body: CodeType) -> None:
        super().__init__()
        self.events: list[Event] = []
        self.pixit: Optional[Pixit] = None
        self.frame_us: dict[int, int] = {}  # when each frame came, by its number
        self._body, self._ended = body, False
        self._scenario: Optional[Scenario] = None
        self._open: list[Call] = []

    def attach(self, t: Scenario) -> None:
        """The case begins: its log and its clock are looked at from here on."""
        self._scenario, self.pixit = t, t.pixit
        if given := t.given():
            self._add("given", None, given)
        t.log = _Heard(t.log, self.logged)
        tester = getattr(t, "tester", None)  # of a wire
        if tester is not None:
            tester.trace = _Heard(tester.trace, self._crossed)
        advance: Callable[[int], None] = t._advance

        def advanced(us: int) -> None:
            advance(us)
            self._poll()

        setattr(t, "_advance", advanced)

    def ends(self) -> None:
        """The body of the case is over: what is checked now every case owes."""
        self._ended = True

    def _crossed(self, frame: TraceFrame) -> None:
        self.frame_us[len(self.frame_us) + 1] = frame.time_us
        self._add("crossed", frame)

    def _add(
        self, kind: str, thing: Any, words: str = "", record: Optional[proof.Record] = None, parts: tuple[str, ...] = ()
    ) -> None:  # fmt: skip
        now = 0 if self._scenario is None else self._scenario.now_us
        part = AT_THE_END if self._ended else _part(self._body)
        self.events.append(Event(kind, now, part, thing, words, record, parts))

    def _poll(self) -> None:
        for call in [call for call in self._open if call.reply.done]:
            self._open.remove(call)
            self._add("answered", call)

    def started(self, method: str, call: Any) -> None:
        super().started(method, call)
        self._poll()
        self._add("asked", call)
        self._open.append(call)

    def told(self, what: str, thing: object) -> None:
        super().told(what, thing)
        self._poll()
        self._add("told", thing, said(what, thing))

    def logged(self, line: object) -> None:
        """A line of the case's log."""
        self._poll()
        if not isinstance(line, Told):
            words = str(line).partition(" us: ")[2].removeprefix("-- ")
            if not words.startswith(_TOLD) and " returned " not in words:
                self._add("logged", None, words)

    def note(
        self, primitive: str, requirement: str, looks: Sequence[proof.Look], resolve: Callable[[proof.Look], Optional[proof.Sight]],
        condition: bool = False, wanted: Sequence[Any] = (), tolerated: Optional[Mapping[Any, str]] = None, now_us: int = 0,
        words: str = "", turn: str = "", erratum: str = "",
    ) -> None:  # fmt: skip
        self._poll()
        about = list(looks) or (list(self._looks.values())[-1:] if condition else [])
        super().note(primitive, requirement, looks, resolve, condition, wanted, tolerated, now_us, words, turn, erratum)
        found = here() if primitive in proof.CONDITIONS else None
        parts = found.parts if found is not None else ()
        if found is not None and any(hasattr(thing, "over") for part in parts for thing in found.things(part)):
            about = []  # a TCP connection: what came of it is the last step
        thing = about[0].thing if about else None
        subjects = tuple(found.subject(part.words, turn) for part in parts) if found is not None else ()
        self._add("checked", thing, words, self.records[-1], subjects)


def _part(body: CodeType) -> str:
    """What the function says of itself that the case has called and that is under way; "" in the case itself."""
    frame: Optional[FrameType] = sys._getframe(1)
    inner: Optional[FrameType] = None
    while frame is not None and frame.f_code is not body:
        if frame.f_globals.get("__name__", "").startswith(_OF_CASES) and "." not in frame.f_code.co_qualname:
            inner = frame
        frame = frame.f_back
    if frame is None or inner is None:
        return ""
    function = inner.f_globals.get(inner.f_code.co_name)
    words = " ".join((getattr(function, "__doc__", None) or "").split())
    return words.partition(". ")[0].rstrip(".")


def page(case: CaseInfo, variant: Optional[Variant] = None) -> tuple[Optional[Result], list[Step]]:
    """The steps of a case as it runs on the reference device of its standard: of this variant, or of the first that applies.

    None and no steps where the standard has no such device, or the installation has none.
    """
    make = protocol_of(case.protocol).reference
    if make is None:
        return None, []
    try:
        dut, pixit = make()
    except ImportError:
        return None, []
    try:
        pics = complete(dut.pics, "hello")
        fit = (one for one in case.variants if not_applicable(case, one, pics) is None)
        chosen = variant or next(fit, None)
        return watch(dut, case, chosen, pics, pixit) if chosen is not None else (None, [])
    finally:
        dut.close()


def watch(dut: Dut, case: CaseInfo, variant: Variant, pics: Mapping[str, Any], pixit: Pixit) -> tuple[Result, list[Step]]:
    """Run a variant, and give its steps. See runner.run_variant."""
    watcher, protocol = Watcher(getattr(case.body, "__wrapped__", case.body).__code__), protocol_of(case.protocol)

    def body(t: Scenario) -> None:
        watcher.attach(t)
        case.body(t)
        watcher.ends()

    with proof.recording(watcher):
        result = run_variant(dut, replace(case, body=body), variant, pics, pixit, load_catalogue([protocol]).levels, 1)
    proofs, reasons = load_proofs([protocol]), load_explained([protocol])
    return result, _Page(watcher, None if protocol.line is None else protocol.line(), proofs, reasons, result.id).steps()


class _Page:
    """Makes the steps of what was watched."""

    def __init__(
        self, watcher: Watcher, line: Optional[Line], proofs: Sequence[Proof], reasons: Mapping[tuple[str, str, str, str], str],
        variant: str,
    ) -> None:  # fmt: skip
        self._watcher, self._line, self._reasons = watcher, line, reasons
        self._proofs: dict[tuple[str, str, str], list[Proof]] = {}
        # What breaks a value comes before an absence and what nothing caused, and the devices of this variant before others.
        for proof_of in sorted(proofs, key=lambda one: (_coarse(one), one.variant != variant)):
            self._proofs.setdefault((proof_of.step, proof_of.primitive, proof_of.requirement), []).append(proof_of)
        self._steps: list[Step] = []
        self._of: dict[int, Step] = {}  # by the identity of a call, or of what the device told
        self._of_frame: dict[int, Step] = {}
        self._seen: dict[int, list[Step]] = {}  # large values, and the frames with each
        self._now = 0

    def steps(self) -> list[Step]:
        """All of them."""
        make = {
            "crossed": self._crossed, "asked": self._asked, "answered": self._answered, "told": self._told, "logged": self._logged,
            "checked": self._checked, "given": self._given,
        }  # fmt: skip
        for event in self._watcher.events:
            make[event.kind](event)
        return list(_without_repeats(self._steps))

    def _given(self, event: Event) -> None:
        self._put(UPPER, f"configures the device: {event.words}", event.time_us, event.part)

    def _put(self, who: str, what: str, time_us: int, part: str) -> Step:
        """One more step; it says how much later than the one before it is."""
        passed, self._now = time_us - self._now, max(self._now, time_us)
        before = self._steps[-1] if self._steps and passed > 0 else None
        self._steps.append(Step(who, what, part, self._span(passed) if before is not None else "", after=before))
        return self._steps[-1]

    def _span(self, us: int) -> str:
        return span(us, None if self._line is None else self._watcher.pixit)

    def _crossed(self, event: Event) -> None:
        frame, line, number = event.thing, self._line, len(self._of_frame) + 1
        assert line is not None
        view = line.decode(frame, False)
        words = line.words(view) + (" (lost on the way)" if frame.lost else "")
        step = self._put(DEVICE if frame.sender == "dut" else TESTER, words, frame.time_us, event.part)
        step.frame, self._of_frame[number] = number, step
        for one in view.json().get("fields", ()):
            if isinstance(one.get("value"), int) and one["value"] >= _LARGE:
                self._seen.setdefault(one["value"], []).append(step)

    def _asked(self, event: Event) -> None:
        end = event.thing.params.get("end", 0)
        self._of[id(event.thing)] = self._put(UPPER + (f" {end + 1}" if end else ""), asked(event.thing), event.time_us, event.part)

    def _answered(self, event: Event) -> None:
        call = event.thing
        own = self._of[id(call)]
        if self._steps[-1] is own:
            own.what += f" -> {answered(call)}"
            return
        self._of[id(call)] = self._put(DEVICE, f"{call.method} returns {answered(call)}", event.time_us, event.part)

    def _told(self, event: Event) -> None:
        self._of[id(event.thing)] = self._put(DEVICE, event.words, event.time_us, event.part)

    def _logged(self, event: Event) -> None:
        who = DEVICE if event.words.startswith(_SAYS) else CHECK if event.words.startswith(_CONTROL) else TESTER
        self._put(who, event.words, event.time_us, event.part)

    def _checked(self, event: Event) -> None:
        record = event.record
        assert record is not None
        if record.primitive == "expect_nothing":
            words = f"{compared(record, event.words, self._span)} for {self._span(event.time_us - record.now_us)}"
            self._now = max(self._now, event.time_us)
            self._steps.append(Step(DEVICE, words, event.part))
            _count(self._steps[-1], self._shown(Check("", record.requirement), event))
            return
        numbers = tuple(getattr(event.thing, "numbers", ()))
        step = self._about(event, numbers)
        check = self._shown(self._check(record, event.words, step, numbers), event)
        _count(step, check, like=event.part == AT_THE_END)

    def _check(self, record: proof.Record, said_of_breach: str, step: Step, numbers: Sequence[int]) -> Check:
        """The check in words, with the step from which the value or the time comes."""
        pixit = self._watcher.pixit
        late = "" if pixit is None else tolerance(record.primitive, pixit)
        if record.primitive == "expect_time" and said_of_breach:
            begin = self._of_frame[int(said_of_breach)]  # there are no words of a breach, but the frame from which the time counts
            took = record.wanted[0] - self._watcher.frame_us[int(said_of_breach)]
            return Check(f"comes {self._span(took)} after", record.requirement, 1, begin, late)
        words = compared(record, said_of_breach, self._span, self._line is not None)
        origin = self._origin(record, step, numbers) if record.primitive == "equal" else None
        words += ", as in" if origin else ""
        return Check(words, record.requirement, 1, origin, otherwise(record) + late)

    def _shown(self, check: Check, event: Event) -> Check:
        """The same with the devices that the table of the book has for it, or the reason why it has none.

        Of a condition these are the devices of its parts. That it comes at all is a line of the table for each function: it is
        this check's where the function asks nothing else of the requirement.
        """
        record = event.record
        assert record is not None
        name = (record.step or EVERY_CASE, record.primitive, record.requirement)
        every = self._proofs.get(name, [])
        subjects = event.parts or (record.subject,)
        if not any(one.subject in subjects for one in every):  # all turns of a loop have one line
            subjects = tuple(subject.partition(TURN)[0] for subject in subjects)
        turns = {subject.partition(TURN)[2] for subject in subjects}
        mine = [one for one in every if one.subject.partition(TURN)[2] in turns]
        alone = {one.subject for one in mine if not _comes(one)} <= {*subjects}
        own = [one for one in mine if one.subject in subjects or _comes(one) and event.parts and alone]
        check.shown_by = tuple(one for one in own if one.device)
        names = [(*name[:2], subject, name[2]) for subject in subjects]
        reasons = (self._reasons.get(one, "") for one in [*names, *map(of_every_turn, names)])
        tolerated = f"{record.erratum or 'An erratum'} lets a device do otherwise." if record.erratum or any(
            one.verdict == "tolerated" for one in own) else ""  # fmt: skip
        check.why_not = "" if check.shown_by else next(filter(None, reasons), tolerated)
        return check

    def _origin(self, record: proof.Record, step: Step, numbers: Sequence[int]) -> Optional[Step]:
        """The last frame before these with a value that is compared: of the other side, or else of the same."""
        found = [one for wanted in record.wanted if isinstance(wanted, int) for one in self._seen.get(wanted, ())]
        before = [one for one in found if one.frame is not None and numbers and one.frame < numbers[0]]
        return next((one for one in reversed(before) if one.who != step.who), before[-1] if before else None)

    def _about(self, event: Event, numbers: Sequence[int]) -> Step:
        """The step that a check looks at: a message, a call, something told; else the step before it."""
        found = self._of_frame.get(numbers[-1]) if numbers else self._of.get(id(event.thing))
        last = self._steps[-1] if self._steps else None
        if event.part == AT_THE_END or (last is None and found is None):
            if last is None or last.who != CHECK or last.what or last.part != event.part:
                return self._put(CHECK, "", event.time_us, event.part)
            return last
        step = found or last
        assert step is not None
        return step


def _comes(one: Proof) -> bool:
    return one.subject.partition(TURN)[0] == COMES


def _coarse(one: Proof) -> bool:
    """Whether the device breaks more than a value."""
    return _comes(one) or one.device.startswith(_COARSE)


def _count(step: Step, check: Check, like: bool = False) -> None:
    """A check that stands there already is counted; like: one of the same requirement is enough."""
    for known in step.checks:
        if known.requirement == check.requirement and (like or known.words == check.words):
            known.times += 1
            return
    step.checks.append(check)


def _without_repeats(steps: Sequence[Step]) -> Iterator[Step]:
    """What comes again and again, with the same answer and the same checks, is one step. Each has its number."""
    last: Optional[Step] = None
    for step in steps:
        if last is not None and (step.who, step.what, step.part, step.checks) == (last.who, last.what, last.part, last.checks):
            last.times += 1
            step.number = last.number
            continue
        if last is not None:
            yield last
        step.number = 1 if last is None else last.number + 1
        last = step
    if last is not None:
        yield last
