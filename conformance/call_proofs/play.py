"""Plays the cases of a book of calls on its model, and each check against the providers that follow from it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from importlib import import_module
from itertools import zip_longest
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence

from fcvi.engine import proof
from fcvi.engine.attachment import Dut
from fcvi.engine.case import CaseInfo, Variant
from fcvi.engine.catalogue import load_requirements
from fcvi.engine.pics import complete
from fcvi.engine.pixit import Pixit, pixit_for
from fcvi.engine.protocol import Protocol, judging_by
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import not_applicable, run_variant
from fcvi.engine.scenario import FAILING_LEVELS
from fcvi.engine.upper_tester import Call

from .derive import NAMES, Answer, devices
from .layer import Break, Layer, Server, understand

HOLDS_PRIMITIVES = True  # a check is that of whoever called the recorder (proof.py)
_READ = 6  # answers before a check that it may be about
MOST = 48  # providers of a check that are tried
_BANK = "the bank of faults"
_TOO_LONG_S = 3.0  # a variant that takes longer on the model proves nothing here
_OF_THE_SUITE = ("agent.", "inject", "mem.new", "mem.pattern-write")
NAMED, OTHERWISE, PASSES, OPEN = "named", "fails otherwise", "pass", "inconclusive"


@dataclass
class Check:
    """A check: the step that makes it, what it says of a breach, and its requirement. variant: where it was met first."""

    step: str
    words: str
    requirement: str
    variant: str
    answers: tuple[Answer, ...]
    wanted: tuple[Any, ...]
    earlier: tuple[Answer, ...] = ()  # that gave something a name
    outcomes: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)  # device, verdict, requirements named

    @property
    def verdict(self) -> str:
        """The best of its outcomes."""
        found = [verdict for _, verdict, _ in self.outcomes]
        return next((verdict for verdict in (NAMED, OTHERWISE, OPEN, PASSES) if verdict in found), PASSES)


class _Reader(proof.Recorder):
    """Notes beside each check the answers that had been read before it."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[tuple[proof.Record, str, tuple[Answer, ...], tuple[Answer, ...]]] = []
        self._answers: list[Call] = []

    def begin(self) -> None:
        super().begin()
        self._answers.clear()

    def started(self, method: str, call: Any) -> None:
        super().started(method, call)
        if not method.startswith(_OF_THE_SUITE):
            self._answers.append(call)

    def note(
        self, primitive: str, requirement: str, looks: Sequence[proof.Look], resolve: Callable[[proof.Look], Optional[proof.Sight]],
        condition: bool = False, wanted: Sequence[Any] = (), tolerated: Optional[Mapping[Any, str]] = None, now_us: int = 0,
        words: str = "",
    ) -> None:  # fmt: skip
        read = [look.thing for look in (*reversed(self._looks.values()), *looks) if isinstance(look.thing, Call)]
        super().note(primitive, requirement, looks, resolve, condition, wanted, tolerated, now_us, words)
        last = [call for call in self._answers[-8:] if call.reply.done and call.reply.error is None][::-1]
        chosen = list({id(call): call for call in (*read, *last) if call.reply.done and call.reply.error is None}.values())
        named = [call for call in self._answers if not NAMES.isdisjoint(call.reply.result) and call not in chosen][-_READ:]
        self.noted.append((self.records[-1], words, self._told(chosen[:_READ]), self._told(named)))

    def _told(self, calls: Iterable[Call]) -> tuple[Answer, ...]:
        return tuple(
            Answer(call.method, self.ordinal(call.method, call)[0], dict(call.reply.result), call.params)
            for call in calls if self.ordinal(call.method, call)
        )  # fmt: skip


#: Makes the model, given where it writes and the name of its fault.
Make = Callable[[Callable[[str], None], Optional[str]], Server]


class Player:
    """A book on its model."""

    def __init__(self, protocol: Protocol, make: Make, pixit: Pixit, faults: Sequence[tuple[str, str]] = ()) -> None:
        self.protocol, self._make, self._pixit = protocol, make, pixit
        self.faults = faults  # of the model, each by its name and the requirement that it was written to break
        with judging_by(protocol):
            self.levels = {r.id: r.level for r in load_requirements([protocol])}
        self.failing = FAILING_LEVELS | ({"may"} if protocol.book == "verbs" else set())
        self.variants: dict[str, tuple[CaseInfo, Variant]] = {}
        self.played = 0
        self.skipped: list[str] = []
        dut = self.dut(None)
        self._pics = complete(dut.pics, "hello")
        dut.close()

    def dut(self, broken: Optional[Break]) -> Dut:
        """The model behind a layer, or with a fault of its own."""
        inside, fault = import_module("harness.tests.inside"), broken.kind if broken and broken.what == "fault" else None
        layered = None if fault else broken
        dut: Dut = inside.InsideDut(
            str(broken or "model"), lambda write: Layer(layered, lambda told: self._make(told, fault), write),
        )  # fmt: skip
        return dut

    def proves(self, requirement: str, variant: str, device: str) -> bool:
        """Whether this provider is failed by the requirement in this variant, as a line of the table says."""
        case = next(c for c in self.protocol.cases() if variant in c.variant_ids())
        self.variants[variant] = case, next(v for v in case.variants if case.variant_id(v) == variant)
        return requirement in self.named(self._run(understand(device), variant))

    def _run(self, broken: Optional[Break], variant: str) -> Result:
        case, chosen = self.variants[variant]
        dut = self.dut(broken)
        try:
            self.played += 1
            return run_variant(dut, case, chosen, self._pics, self._pixit, self.levels, 1)
        finally:
            dut.close()

    def checks(self, cases: Sequence[CaseInfo], most: int) -> list[Check]:
        """Every check that passes on the model, once for a step and a requirement; most: variants of a case that are played, spread
        over the list of them: neighbours mostly differ in what matters least."""
        found: dict[tuple[str, str, str], Check] = {}
        for case in cases:
            fit = [v for v in case.variants if not_applicable(case, v, self._pics) is None]
            spread = dict.fromkeys(at * len(fit) // most for at in range(most)) if fit else ()
            for variant in (fit[at] for at in spread):
                for check in self._met(case, variant):
                    found.setdefault((check.step, check.words, check.requirement), check)
        return list(found.values())

    def _met(self, case: CaseInfo, variant: Variant) -> Iterator[Check]:
        ident = case.variant_id(variant)
        self.variants[ident] = case, variant
        began = time.process_time()
        reader = _Reader()
        with proof.recording(reader):
            result = self._run(None, ident)
        if result.verdict is not Verdict.PASS or time.process_time() - began > _TOO_LONG_S:
            self.skipped.append(ident)
            return
        for record, words, answers, earlier in reader.noted:
            bare = "".join(c for c in words if not c.isdigit())
            step = record.step if record.step.startswith(self.protocol.book) else "every call and completion"
            yield Check(step, bare, record.requirement, ident, answers, record.wanted, earlier)

    def of_fault(self, name: str, requirement: str) -> Check:
        """What a fault of the model comes to in the cases that list its requirement, a variant of each case in turn."""
        fit = [
            [(case, v) for v in case.variants if not_applicable(case, v, self._pics) is None]
            for case in self.protocol.cases() if requirement in case.requirements
        ]  # fmt: skip
        turns = [one for turn in zip_longest(*fit) for one in turn if one is not None]
        check = Check(_BANK, name, requirement, "", (), ())
        device = Break("fault", name)
        for case, variant in turns[:MOST]:
            check.variant = case.variant_id(variant)
            self.variants[check.variant] = case, variant
            result = self._run(device, check.variant)
            named = self.named(result)
            check.outcomes = [(str(device), _verdict(result, requirement, named), named)]
            if check.verdict == NAMED:
                break
        return check

    def prove(self, check: Check) -> None:
        """Try its providers until one is failed by its requirement."""
        for count, device in enumerate(devices(check.answers, check.wanted, check.words, check.earlier)):
            if count == MOST:
                break
            result = self._run(device, check.variant)
            named = self.named(result)
            verdict = _verdict(result, check.requirement, named)
            check.outcomes.append((str(device), verdict, named))
            if verdict == NAMED:
                break

    def named(self, result: Result) -> tuple[str, ...]:
        """The requirements by which a provider is failed; of another level, by which it gets a notice."""
        broken = [f.requirement for f in result.findings if f.erratum is None]
        return tuple(dict.fromkeys(broken)) if result.verdict in (Verdict.FAIL, Verdict.PASS) else ()


def _verdict(result: Result, requirement: str, named: Sequence[str]) -> str:
    if requirement in named:
        return NAMED
    if result.verdict is Verdict.FAIL:
        return OTHERWISE
    return PASSES if result.verdict is Verdict.PASS else OPEN


def player(protocol: Protocol) -> Player:
    """Of VIPL or of verbs."""
    if protocol.book == "vipl":
        server, clock = (import_module(f"harness.tests.independent.provider.{name}") for name in ("server", "clock"))

        def plain(write: Callable[[str], None], _: Optional[str]) -> Server:
            made: Server = server.Server("plain", clock.VirtualClock(), write)
            return made

        return Player(protocol, plain, pixit_for("virtual"))
    names = ("server", "choices", "engine", "faults")
    server, choices, engine, faults = (import_module(f"harness.tests.independent.verbs.{name}") for name in names)

    def make(write: Callable[[str], None], fault: Optional[str]) -> Server:
        clock, choose = engine.VirtualClock(), choices.Choices(())
        made: Server = server.Server("iwarp", choose, fault, write, ["model0"], ["127.0.0.1"], clock)
        return made

    of_iwarp = [(fault.name, fault.row) for fault in faults.FAULTS if "iwarp" in fault.flavours]
    return Player(protocol, make, pixit_for("virtual", 500_000), of_iwarp)


__all__ = ["Check", "MOST", "Player", "player"]
