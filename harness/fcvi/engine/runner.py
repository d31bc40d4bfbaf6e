"""Runs cases: attaches, resets, executes, and turns what happened into verdicts."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from random import Random
from typing import Any, Callable, Mapping, Optional, Sequence

from fcvi import __version__
from . import blame, declaration as declaration_module, deviation, interrupt, jitter, laboratory, pics as pics_module, workers
from .case import CaseInfo, Variant, load_cases
from .catalogue import load_catalogue
from .attachment import AttachError, Dut, DutError, HostError, Unanswered, Unavailable, crashed
from .budget import Limits
from .evidence import CUT_OFF, Store
from .record import RecordingDut
from .host import HostWatch
from .in_step import in_step
from .pics import PicsError
from .files import FileError
from .pixit import AGAIN, SHORT, Pixit, Profile, pixit_for
from .protocol import Line, protocol_of
from .results import NOT_TRIED, Finding, Result, RunReport, Verdict
from .review import review
from .scenario import Failed, Inconclusive, NotThere, Scenario
from .select import SelectionError, far_side, select
from .target import Target
from .upper_tester import Unimplemented

__all__ = ["AttachError", "PicsError", "RunOptions", "SelectionError", "exit_status", "load_catalogue", "not_run", "run"]

#: How many times as long the timers are when a case is tried again that the suite's own host may have spoilt.
_SLOWER = (2, 4)
_MOST_IN_VAIN = 20  # so many that fail with long timers too are the device's: nothing is tried again after them
_MOST_TOO_SHORT = 20  # so many that needed more time than short timers left are the device's, or the host's: no others are drawn
_TOGETHER, _AT_MOST_S = 16, 0.05  # results that wait for each other, and for how long
_CONSECUTIVE_ERRORS = 3  # after so many dead attachments in a row the rest of the run is not tried


@dataclass(frozen=True)
class Resume:
    """A run that was cut off: what it had, and what its other cases have to be run with."""

    selected: tuple[str, ...]
    results: Mapping[str, Result]
    identity: tuple[str, str, str]  # implementation, version and clock of the device
    pics: dict[str, Any]
    pixit: Pixit
    deviations: tuple[deviation.Deviation, ...]
    own_timers: bool
    lab: dict[str, str]
    item: dict[str, str]
    far: Optional[tuple[str, str, str]] = None  # identity of the device at the far side, where there was one


@dataclass
class RunOptions:
    """What the command line says about a run."""

    target: Target
    pics_file: Optional[Path] = None  # None: the DUT's hello
    select: Optional[str] = None
    shard: tuple[int, int] = (1, 1)  # which part of the selected cases, of how many
    jobs: int = 1
    seed: int = 1
    rpc_timeout_s: float = 5.0
    r_a_tov_us: Optional[int] = None
    e_d_tov_us: Optional[int] = None
    tolerance_us: Optional[int] = None
    profile_file: Optional[str] = None  # with the numbers that the standard leaves open; None: those that it takes without one
    profile: Optional[Profile] = None  # what the file says, once it was read
    log: Optional[int] = None  # a descriptor that appends to where the DUT's standard error is kept
    record: bool = False  # keep what passed between suite and DUT, for evidence
    keep: bool = True  # keep what a case saw also when it passed: a report shows it
    certification: bool = False
    date: str = ""  # when it begins, for the report
    jitter_us: int = 0  # of this host, once it was measured
    limits: Optional[Limits] = None  # what the device may take; None: the attachment's own
    store: Optional[Store] = None  # where the evidence of each case is written as soon as it is done
    resume: Optional[Resume] = None  # an earlier run that this one ends
    enough: Optional[Callable[[Result], bool]] = None  # asked after each case whether it is the last; None: all are run
    against: Optional[Target] = None  # a second device, at the far side of the link
    attach_as: Optional[Target] = None  # what is attached in fact, where that is not the target itself: under a debugger
    around: Callable[[Dut], Dut] = lambda dut: dut  # put around the device: something that shows what passes
    #: What pics_file says, once it was read.
    declaration: declaration_module.Declaration = declaration_module.Declaration()


def _sentence(finding: Finding) -> str:
    where = "" if finding.frame is None else f" in frame {finding.frame}"
    if finding.byte is not None:
        where += f", byte {finding.byte}" + (f" bits {finding.bits}" if finding.bits else "")
    when = "" if finding.time_us is None else f" at {finding.time_us} us"
    return (
        f"{finding.requirement}: {finding.message}{where}{when} (seen {finding.seen}, required {finding.required})"
    )


def _more(findings: Sequence[Finding]) -> str:
    return f" and {len(findings) - 1} more" if len(findings) > 1 else ""


def fails(finding: Finding, levels: Mapping[str, str]) -> bool:
    """Whether a finding fails the DUT.

    Reserved bits are a notice to a receiver and to a linter, yet 5.9.5 and 5.9.4.1 bind the sender: under
    certification they fail. A notice that an erratum or an informative rule caused never does.
    """
    if finding.cls != "notice":
        return True
    return finding.erratum is None and levels.get(finding.requirement) == "shall"


def _heed_refusal(result: Result, scenario: Scenario, levels: Mapping[str, str]) -> None:
    """A call that was refused may be the cause of all that was found since the case began it. What had been found before stands:
    a device that broke a rule then fails whatever its adapter serves."""
    refused = scenario.refused
    if refused is None or result.verdict in (Verdict.ERROR, Verdict.NOT_APPLICABLE):
        return
    if any(fails(f, levels) for f in scenario.convicting()):
        result.verdict = Verdict.FAIL
    elif result.verdict is Verdict.FAIL or any(fails(f, levels) for f in scenario.all_findings()):  # the case went on after it
        result.verdict, result.reason = Verdict.INCONCLUSIVE, f"{refused.method} was refused: nothing that follows is the device's"


def judge(result: Result, scenario: Scenario, levels: Mapping[str, str]) -> None:
    """The verdict from what the scenario recorded; ``result.verdict`` is PASS on entry unless the case stopped."""
    _heed_refusal(result, scenario, levels)
    findings = scenario.convicting()
    result.findings = findings
    failing = [f for f in findings if fails(f, levels)]
    if result.verdict is Verdict.NOT_APPLICABLE and failing:  # what the device lacks does not undo what it did
        result.verdict = Verdict.INCONCLUSIVE
    if result.verdict is Verdict.INCONCLUSIVE and failing:
        result.reason += f"; before that the case had found: {_sentence(failing[0])}{_more(failing)}"
    if result.verdict in (Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE):
        return
    own = scenario.own
    result.untimely = bool(failing) and all(f.cls == "behaviour" for f in failing)
    if result.untimely:
        own.conclude(scenario.now_us)
        if all(own.begun(f.time_us) for f in failing):
            result.verdict, result.disturbed = Verdict.INCONCLUSIVE, True
            result.reason = f"{own.words}: {_sentence(failing[0])}{_more(failing)}"
            return
    if failing and scenario.doubt:
        result.verdict, result.reason = Verdict.INCONCLUSIVE, f"{scenario.doubt}: {_sentence(failing[0])}"
        return
    if failing and scenario.joint:
        joint, broken = scenario.joint, scenario.far_findings()
        if broken:
            first = broken[0]
            broke = f"the far device broke {first.requirement} in frame {first.frame} ({first.message})"
            joint = f"{broke}, and what follows may come of it"
        own_breaches = [f for f in failing if f.cls != "behaviour" and not scenario.follows_a_breach(f)]
        if not own_breaches:
            result.verdict, result.reason = Verdict.INCONCLUSIVE, f"{joint}: {_sentence(failing[0])}{_more(failing)}"
            return
        failing = own_breaches
    if failing:
        result.verdict = Verdict.FAIL
        result.broken = list(dict.fromkeys(f.requirement for f in failing))
        result.reason = _sentence(failing[0]) + _more(failing)
        return
    if result.verdict is Verdict.FAIL:  # stopped by the breach of an informative rule only
        result.verdict = Verdict.INCONCLUSIVE
        result.reason = f"stimulus not provokable: {result.reason}"
        return
    unused = scenario.unused()
    if unused:
        result.verdict, result.reason = Verdict.INCONCLUSIVE, f"stimulus not provokable: {unused}"
    elif not scenario.controls:
        result.verdict = Verdict.ERROR
        result.reason = "the case has no positive control: this is a defect of the suite"
    else:
        taken = sorted({f.erratum for f in findings if f.erratum})
        if taken:
            result.qualifier = "interpretation"
            result.reason = "the DUT took the other reading of " + ", ".join(taken)
            result.errata = sorted({*result.errata, *taken})


def configuration_of(
    case: CaseInfo, variant: Variant, pixit: Pixit, clock: str, seed: int, rng: Random
) -> tuple[Pixit, dict[str, Any]]:
    """The PIXIT of this variant, and the parameters of its ``reset``: what the lab left open is drawn by seed and name."""
    protocol = protocol_of(case.protocol)
    pixit, drawn = protocol.draw(pixit, clock, Random(f"{seed}:{case.variant_id(variant)}:configuration"))
    return pixit, protocol.configuration(pixit, rng.randrange(2**31), {**drawn, **variant.config})


def run_variant(
    dut: Dut, case: CaseInfo, variant: Variant, pics: Mapping[str, Any], pixit: Pixit, levels: Mapping[str, str], seed: int
) -> Result:
    """Run one variant; never raises for anything the DUT does. DutError shows as verdict ERROR."""
    ident = case.variant_id(variant)
    protocol = protocol_of(case.protocol)
    result = _result(case, ident, Verdict.PASS)
    result.slower, result.pace = pixit.slower, pixit.pace
    rng = Random(f"{seed}:{ident}")
    started = time.monotonic_ns()
    scenario: Optional[Scenario] = None
    try:
        pixit, config = configuration_of(case, variant, pixit, dut.clock, seed, rng)
        dut.reset(config)
        scenario = protocol.scenario(dut, pics, pixit, levels, rng, variant.params, config)
        _try(case, scenario, result)
        if any(fails(f, levels) for f in scenario.convicting()):
            scenario.heed_late_answers()
            scenario.reconsider()
    except (Inconclusive, Unavailable, Unimplemented) as stop:
        result.verdict, result.reason = Verdict.INCONCLUSIVE, str(stop)
    except NotThere as stop:
        result.verdict, result.reason = Verdict.NOT_APPLICABLE, str(stop)
    except DutError as stop:
        result.verdict, result.reason, result.disturbed = Verdict.ERROR, str(stop), isinstance(stop, HostError)
        result.hasty = isinstance(stop, Unanswered)
    except (Exception, SystemExit) as defect:  # a defect of the suite is never the DUT's fault; a case ends no run
        result.verdict = Verdict.ERROR
        result.reason = f"defect of the suite: {defect!r} at {blame.places(case, defect)}"
    if scenario is not None:
        stopped = result.verdict is Verdict.ERROR
        judge(result, scenario, levels)
        if result.verdict is Verdict.ERROR and not stopped:
            result.reason += f" ({blame.declared(case)})"
        result.hasty |= result.untimely and result.verdict is Verdict.FAIL
        result.hasty |= result.verdict is Verdict.INCONCLUSIVE and scenario.refused is None
        if pixit.pace == AGAIN:
            times = f"{pixit.slower} times those" if pixit.slower > 1 else "those"
            scenario.log.insert(0, f"tried again with {times} of the run as timers: shorter ones decided nothing")
        elif pixit.slower > 1:
            scenario.log.insert(0, f"tried again on a busy host, with timers {pixit.slower} times as long")
        if crashed(result.reason):
            result.reason += _last_given(scenario, protocol.line)
        result.frames, result.log, result.checked = scenario.frames(), scenario.log, scenario.checked
        result.expectations, result.judged, result.far = scenario.expectations, scenario.judged(), scenario.far_findings()
        result.virtual_us, result.undecided = scenario.now_us, sorted(scenario.undecided)
        scenario.close()
    result.wall_us = (time.monotonic_ns() - started) // 1000
    return result


def doubt_unsteady(result: Result) -> None:
    """Decide nothing of a case that failed for want of time and then passed with the same timers.

    The device or its host interface may have been slow once, which is no breach, or may have lost something, which is one.
    """
    result.unsteady = True
    if result.verdict is Verdict.FAIL:
        result.verdict, result.broken = Verdict.INCONCLUSIVE, []
        result.reason = f"it failed once, then passed with longer timers and with the same ones (set --r-a-tov): {result.reason}"


def _last_given(scenario: Scenario, make: Optional[Callable[[], Line]]) -> str:
    """What the device had been sent last when it crashed."""
    frames = scenario.frames()
    given = [number for number, frame in enumerate(frames, 1) if frame.sender == "tester" and not frame.lost]
    if not given or make is None:
        return ", before it was sent anything"
    name = make().decode(frames[given[-1] - 1], False).summary().split(" ")[0]
    return f", and the last frame sent to it was {name} (frame {given[-1]})"


def _try(case: CaseInfo, scenario: Scenario, result: Result) -> None:
    """The case from its beginning to its end, or to the breach that ends it."""
    try:
        case.body(scenario)
        scenario.conclude()
    except Failed as stop:
        result.verdict, result.reason = Verdict.FAIL, str(stop)
    except Unimplemented as stop:
        result.verdict, result.reason = Verdict.INCONCLUSIVE, str(stop)


def not_applicable(case: CaseInfo, variant: Variant, pics: Mapping[str, Any]) -> Optional[Result]:
    """The result of a variant that the PICS rules out; None when it is to be run."""
    for expression in (case.applies, variant.applies):
        if expression and not pics_module.applies(expression, pics):
            return _result(case, case.variant_id(variant), Verdict.NOT_APPLICABLE, f"PICS: needs {expression}")
    return None


class _Worker:
    """Runs variants on one attachment and brings it back after it broke."""

    def __init__(
        self, dut: Dut, pics: Mapping[str, Any], pixit: Pixit, levels: Mapping[str, str], options: RunOptions
    ) -> None:
        self._dut, self._pics, self._pixit, self._levels = dut, pics, pixit, levels
        self._seed, self._keep = options.seed, options.keep
        self._recording = dut if isinstance(dut, RecordingDut) else None
        self._errors_in_a_row = self._in_vain = self._too_short = 0
        self._broken = False
        #: What is known to break a rule breaks it with more time as well.
        self._declared = options.declaration.deviations
        #: Timers that the lab has set are not ours to change.
        self._slower = _SLOWER if _own_timers(options) else (1,) * len(_SLOWER)

    def _try(self, case: CaseInfo, variant: Variant, slower: int = 1, pace: str = "") -> Result:
        pixit = self._pixit.slowed(slower, pace)
        result = run_variant(self._dut, case, variant, self._pics, pixit, self._levels, self._seed)
        if self._recording is not None:
            result.evidence = self._recording.take()
        return result

    def run(self, case: CaseInfo, variant: Variant) -> Result:
        ident = case.variant_id(variant)
        result = not_applicable(case, variant, self._pics)
        if result is not None:
            return result
        if self._errors_in_a_row >= _CONSECUTIVE_ERRORS:
            return error_result(case, ident, f"{NOT_TRIED}: the attachment failed {_CONSECUTIVE_ERRORS} times in a row")
        if self._broken:
            try:
                _restart(self._dut)
                self._broken = False
            except DutError as error:
                self._errors_in_a_row += 1
                return error_result(case, ident, f"cannot attach again: {error}")
        result = self._patiently(case, variant)
        if not self._keep and result.verdict is Verdict.PASS:
            result.forget()
        self._broken = result.verdict is Verdict.ERROR
        self._errors_in_a_row = self._errors_in_a_row + 1 if self._broken else 0
        return result

    def _patiently(self, case: CaseInfo, variant: Variant) -> Result:
        """Run it; in real time, what too little of it may have spoilt is tried again with more.

        A busy host can be the reason, and so can timers that the suite has drawn: a host interface may take longer than these.
        """
        if self._dut.clock != "real" or self._in_vain >= _MOST_IN_VAIN:
            return self._try(case, variant)
        watch = HostWatch()
        drawn = "timers" in self._pixit.free and protocol_of(case.protocol).shortens
        tries = [(slower, AGAIN if drawn else "") for slower in self._slower]
        if drawn and self._too_short < _MOST_TOO_SHORT:
            tries.insert(0, (1, AGAIN))
        first_pace = SHORT if len(tries) > len(self._slower) else ""
        result = first = self._try(case, variant, pace=first_pace)
        idle = not watch.busy()
        for slower, pace in tries:
            late = (result.hasty and drawn) or (result.untimely and watch.busy())
            if not (result.disturbed or late) or deviation.declared(result, self._declared) or not self._back(result):
                break
            watch = HostWatch()
            result = self._try(case, variant, slower, pace)
        self._too_short += first.pace == SHORT and result is not first and result.verdict is Verdict.PASS
        self._in_vain += result is not first and result.verdict is not Verdict.PASS
        if result.verdict is Verdict.PASS and first.verdict is Verdict.FAIL and first.hasty and idle:
            same = self._try(case, variant, pace=first_pace)
            if same.verdict is Verdict.PASS:
                doubt_unsteady(first)
                return first
            if not self._back(same):
                return same
        return result

    def _back(self, result: Result) -> bool:
        """Whether the device is there for another try."""
        if result.verdict is Verdict.ERROR:
            try:
                _restart(self._dut)
            except DutError:
                return False
        return True


class _Finished:
    """Results on their way into the evidence and the report.

    Cases of a virtual-time device follow each other within a millisecond, and what is written between two of them costs them the
    processor's caches. So a few wait for each other, and none for longer than people notice. With a real clock none waits: the next
    case may take minutes.
    """

    def __init__(self, options: RunOptions, clock: str, take: Callable[[Result], None]) -> None:
        self._store, self._take = options.store, take
        self._together = _TOGETHER if clock == "virtual" else 1
        self._waiting: list[Result] = []
        self._since = time.monotonic()

    def __enter__(self) -> _Finished:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()

    def add(self, result: Result) -> None:
        """A case is done."""
        self._waiting.append(result)
        if len(self._waiting) == self._together or time.monotonic() - self._since > _AT_MOST_S:
            self._flush()

    def _flush(self) -> None:
        with interrupt.deferred():  # what is in the evidence is in the report, and the other way round
            waiting, self._waiting = self._waiting, []
            if self._store is not None:
                self._store.keep(waiting)
            for result in waiting:
                self._take(result)
            self._since = time.monotonic()


def error_result(case: CaseInfo, ident: str, reason: str) -> Result:
    """The result of a variant that was not run for a reason of the suite or the attachment."""
    return _result(case, ident, Verdict.ERROR, reason)


def _result(case: CaseInfo, ident: str, verdict: Verdict, reason: str = "") -> Result:
    return Result(
        ident, case.title, verdict, reason, requirements=case.requirements, errata=list(case.errata),
        protocol=case.protocol,
    )  # fmt: skip


def _attach(options: RunOptions) -> Dut:
    dut = (options.attach_as or options.target).attach(
        identity=options.declaration.pixit.dut, rpc_timeout_s=options.rpc_timeout_s, log=options.log,
        **({} if options.limits is None else {"limits": options.limits}),
    )  # fmt: skip
    if options.against is not None:
        try:
            far = dut.far = _attach_far(options, options.against)
            _check_pair(options, dut, far)
            dut = in_step(dut, far)
        except BaseException:
            _close(dut)
            raise
    dut = options.around(dut)
    return RecordingDut(dut) if options.record else dut


def _attach_far(options: RunOptions, target: Target) -> Dut:
    """Raises AttachError and DutError, in whose words it is the device of --against."""
    try:
        return target.attach(rpc_timeout_s=options.rpc_timeout_s, log=options.log)
    except AttachError as error:
        raise type(error)(str(error).replace("--dut ", "--against ", 1)) from error
    except DutError as error:
        raise type(error)(f"--against {target}: {error}") from error


def _check_pair(options: RunOptions, dut: Dut, far: Dut) -> None:
    """Raises AttachError for two devices that cannot stand at one link."""
    editions = [str(device.pics.get("revision", "2007")) for device in (dut, far)]
    if editions[0] != editions[1]:
        raise AttachError(f"--against: the device speaks edition {editions[0]} of FC-VI, and the other one {editions[1]}")


def _restart(dut: Dut) -> None:
    dut.restart()
    if dut.far is not None:
        dut.far.restart()
        dut.look_at(dut.far)


def _close(dut: Dut) -> None:
    if dut.far is not None:
        dut.far.close()
    dut.close()


def _applied(dut: Dut, pics: Mapping[str, Any]) -> Mapping[str, Any]:
    """The items by which cases apply: those of the device, and with a second one those of both."""
    return pics if dut.far is None else pics_module.together(pics, pics_module.of_hello(dut.far.pics))


def _run_share(options: RunOptions, mine: Sequence[tuple[CaseInfo, Variant]], hand_over: Callable[[Any], None]) -> None:
    """One process of a parallel run: variants on an attachment of its own."""
    store = options.store
    try:
        dut = _attach(options)
    except (DutError, AttachError) as error:
        for case, variant in mine:
            hand_over((error_result(case, case.variant_id(variant), str(error)), None))
        return
    try:
        pics = _applied(dut, _pics(options, dut))
        worker = _Worker(dut, pics, _pixit(options, dut), load_catalogue().levels, options)

        def taken(result: Result) -> None:
            hand_over((result, store.failed if store is not None else None))

        with _Finished(options, dut.clock, taken) as finished:
            for case, variant in mine:
                result = worker.run(case, variant)
                finished.add(result)
                if options.enough is not None and options.enough(result):
                    break
    finally:
        _close(dut)
        if store is not None and store.failed is None:
            store.sync()


def _pics(options: RunOptions, dut: Dut) -> dict[str, Any]:
    if options.resume is not None:
        return options.resume.pics
    if options.declaration.pics is not None:
        return options.declaration.pics
    if options.target.on_a_wire and not options.target.agent:
        raise PicsError("the device cannot say what it supports: declare it with --pics, or attach an upper tester (--agent)")
    return pics_module.of_hello(dut.pics)


def _check_edition(pics: Mapping[str, Any], chosen: Sequence[tuple[CaseInfo, Variant]]) -> None:
    """No case of one edition is run against a device that says it follows another. Raises PicsError."""
    editions = {protocol_of(case.protocol).edition for case, _ in chosen} - {""}
    said = pics.get("revision")
    if not editions or said is None or editions == {said}:
        return
    other = ", ".join(sorted(editions - {said}))
    raise PicsError(
        f"the PICS of the device (hello, or --pics) says revision {said}, and the cases are those of {other}: run it with "
        f"--revision {said}"
    )


def _pixit(options: RunOptions, dut: Dut) -> Pixit:
    if options.resume is not None:
        return dut.settled(options.resume.pixit)
    pixit = pixit_for(
        dut.clock, options.r_a_tov_us, options.e_d_tov_us, options.tolerance_us, options.declaration.pixit
    )
    if pixit.e_d_tov_us > pixit.r_a_tov_us:
        given = f"E_D_TOV is {pixit.e_d_tov_us // 1000} ms and R_A_TOV {pixit.r_a_tov_us // 1000} ms"
        raise PicsError(f"{given}; FC-FS counts E_D_TOV into R_A_TOV, so it cannot be longer (--e-d-tov, or e_d_tov_ms in [pixit])")
    free = pixit.free if _own_timers(options) else pixit.free - {"timers"}
    return dut.settled(replace(pixit, jitter_us=options.jitter_us, profile=options.profile, free=free))


def _profile(path: Optional[str], target: Target) -> Optional[Profile]:
    """The numbers that the standard leaves open. Raises FileError."""
    found = target.book.profile
    if found is None and path is not None:
        raise FileError(f"--profile: {target.book.name} leaves no numbers open; VI/TCP does (--book vitcp)")
    return None if found is None else found(path)


def _own_timers(options: RunOptions) -> bool:
    """Whether R_A_TOV is the suite's choice, which the device is told of at each reset."""
    given = options.declaration.pixit
    if options.resume is not None:
        return options.resume.own_timers
    return not (options.r_a_tov_us or options.e_d_tov_us or given.r_a_tov_us or given.e_d_tov_us) and (
        not options.target.on_a_wire or options.target.agent != ""
    )


def run(options: RunOptions, on_result: Callable[[int, int, Result], None] = lambda done, total, result: None) -> RunReport:
    """Run the selected cases. on_result is called after each with (how many are done, of how many, the result).

    Raises SelectionError, PicsError and AttachError before anything has run. An attachment that fails after that gives
    results with verdict ERROR, never an exception.
    """
    chosen = _chosen(options)
    catalogue = load_catalogue()
    options = replace(
        options, declaration=declaration_module.load(options.pics_file, catalogue.levels),
        profile=_profile(options.profile_file, options.target),
    )  # fmt: skip
    report = new_report(options)
    report.lab, report.item = options.declaration.lab, options.declaration.item
    if options.resume is not None:
        report.lab, report.item = options.resume.lab, options.resume.item
    elif options.certification:
        laboratory.check_dates(report.lab, report.item, options.date)
    dut: Optional[Dut] = None
    done: dict[str, Result] = dict(options.resume.results) if options.resume is not None else {}

    def take(result: Result) -> None:
        done[result.id] = result
        if options.enough is not None and not report.ended_after and options.enough(result):
            report.ended_after = result.id
        on_result(len(done), len(chosen), result)

    def run_all() -> None:
        nonlocal dut, options
        dut = _attach(options)
        if dut.clock == "real":
            options = replace(options, jitter_us=jitter.measure())
        pics, pixit = _pics(options, dut), _pixit(options, dut)
        _check_edition(pics, chosen)
        report.implementation, report.implementation_version = dut.implementation, dut.version
        report.pics, report.pixit, report.clock = pics, pixit.as_json(), dut.clock
        if dut.far is not None:
            names = {"implementation": dut.far.implementation, "version": dut.far.version}
            report.against = {
                "attachment": str(options.against), **names, "clock": dut.far.clock, "pics": pics_module.of_hello(dut.far.pics),
            }  # fmt: skip
        if options.resume is not None:
            _check_same(options.resume, report, pixit)
        _begin(options, report, chosen)
        left = [(c, v) for c, v in chosen if c.variant_id(v) not in done]
        if options.jobs > 1 and options.target.repeatable:
            _run_parallel(options, left, take, lambda: bool(report.ended_after))
        else:
            worker = _Worker(dut, _applied(dut, pics), pixit, catalogue.levels, options)
            with _Finished(options, dut.clock, take) as finished:
                for case, variant in left:
                    result = worker.run(case, variant)
                    finished.add(result)
                    if options.enough is not None and options.enough(result):
                        break

    try:
        try:
            run_all()
        finally:
            interrupt.hold()  # what is done from here on is told whole
    except DutError as error:  # nothing to attach, or the addresses that were left open could not be found
        if not done:
            _none_can_run(report, chosen, error)
        for case, variant in chosen:
            if not report.unattached and case.variant_id(variant) not in done:
                take(error_result(case, case.variant_id(variant), str(error)))
    except KeyboardInterrupt as stop:
        report.interrupted = interrupt.words(stop) if len(done) < len(chosen) else ""
    finally:
        if dut is not None:
            _close(dut)
    if report.ended_after:
        report.not_tried = len(chosen) - len(done)
        chosen = [(c, v) for c, v in chosen if c.variant_id(v) in done]
    why = _why_not(options, report)
    if not report.unattached:
        report.results = [done.get(c.variant_id(v)) or error_result(c, c.variant_id(v), why) for c, v in chosen]
    if not report.interrupted:
        report.ended = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    conclude(report, list(_deviations(options)), catalogue.levels)
    return report


def _why_not(options: RunOptions, report: RunReport) -> str:
    """Why a case has no result."""
    if not report.interrupted:
        return "not run: the process that was to run it ended"
    goes_on = options.store is not None and options.store.begun
    return CUT_OFF if goes_on else f"not run: the run was cut off by {report.interrupted}"


def _chosen(options: RunOptions) -> list[tuple[CaseInfo, Variant]]:
    if options.resume is None:
        cases = load_cases() if options.against is None else far_side(load_cases())
        try:
            return select(cases, options.select, options.shard)
        except SelectionError as error:
            if options.against is None:
                raise
            raise SelectionError(f"{error} (--against plays the cases of tag:far-side alone)") from error
    known = {c.variant_id(v): (c, v) for c in load_cases() for v in c.variants}
    return [known[ident] for ident in options.resume.selected]


def _deviations(options: RunOptions) -> Sequence[deviation.Deviation]:
    return options.declaration.deviations if options.resume is None else options.resume.deviations


def _check_same(resume: Resume, report: RunReport, pixit: Pixit) -> None:
    """The cases of one report are about one device."""
    now = (report.implementation, report.implementation_version, report.clock)
    if now != resume.identity:
        raise AttachError(f"--resume: the device was {', '.join(resume.identity)} and is {', '.join(now)} now")
    far = tuple(str(report.against[name]) for name in ("implementation", "version", "clock")) if report.against else None
    if far != resume.far:
        was, now_is = (", ".join(of) if of else "none" for of in (resume.far, far))
        raise AttachError(f"--resume: the device of --against was {was} and is {now_is} now")
    if pixit != resume.pixit:
        raise AttachError("--resume: the addresses or timers are not those of the run that was cut off")


def _begin(options: RunOptions, report: RunReport, chosen: list[tuple[CaseInfo, Variant]]) -> None:
    if options.store is None:
        return
    report.deviations = [deviation.Outcome(d) for d in _deviations(options)]
    said = {
        "agent": options.target.agent, "agent2": options.target.agent2,
        **({"inject": options.target.inject} if options.target.inject else {}),
        "rpc_timeout_s": options.rpc_timeout_s, "own_timers": _own_timers(options),
    }  # fmt: skip
    options.store.begin(report, [c.variant_id(v) for c, v in chosen], said, options.resume is not None)
    report.deviations = []


def _none_can_run(report: RunReport, chosen: list[tuple[CaseInfo, Variant]], error: DutError) -> None:
    """The attachment failed before the first case: that is one error, not one for each case."""
    report.results, report.unattached = [], True
    report.error = f"the device did not attach, so none of {len(chosen)} cases ran: {error}"


def conclude(report: RunReport, declared: list[deviation.Deviation], levels: Mapping[str, str]) -> None:
    """What can be said once all results are there: deviations, and the review of the PICS."""
    deviation.apply(report, declared)
    tried = {r.protocol for r in report.results if r.verdict is not Verdict.NOT_APPLICABLE}
    tried = (tried or {r.protocol for r in report.results}) - {""}
    report.review = review(report.pics, levels, [protocol_of(name) for name in sorted(tried)]) if report.pics else []


def _host() -> str:
    system = os.uname()
    return f"{system.sysname} {system.release} {system.machine}, Python {'.'.join(map(str, sys.version_info[:3]))}"


def new_report(options: RunOptions) -> RunReport:
    """The report of a run that begins."""
    return RunReport(
        __version__, load_catalogue().sha256, str(options.target), "", "", {}, {}, options.seed,
        certification=options.certification, date=options.date, shard=options.shard,
        select=options.select or "", book=options.target.book.book, host=_host(),
    )  # fmt: skip


def not_run(options: RunOptions, reason: str) -> RunReport:
    """The report of a run that could not begin."""
    report = new_report(options)
    report.error = reason
    return report


def _run_parallel(
    options: RunOptions, left: Sequence[tuple[CaseInfo, Variant]], take: Callable[[Result], None], over: Callable[[], bool]
) -> None:
    """Several processes; the verdicts do not depend on how the variants are shared out."""
    count = min(options.jobs, len(left))

    def taken(one: tuple[Result, Optional[OSError]]) -> None:
        result, failed = one
        if failed is not None and options.store is not None:
            options.store.failed = options.store.failed or failed
        take(result)

    workers.run(lambda share, hand_over: _run_share(options, left[share::count], hand_over), count, taken, over)


def exit_status(report: RunReport) -> int:
    """0 all as it should be, 1 a failed case or a flaw of the declarations, 2 nothing was applicable, 3 the suite or
    the attachment failed, 4 nothing failed but something stayed inconclusive."""
    counts = report.decisive()
    if counts["error"] or report.unattached:
        return 3
    if counts["fail"] or report.flaws():
        return 1
    if counts["inconclusive"]:
        return 4
    return 0 if counts["pass"] else 2
