"""Records the checks of a book, plays the devices that follow from each, and says what the suite made of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice, product, zip_longest
from pathlib import Path
from typing import Container, Iterator, Mapping, Optional, Sequence

from fcvi.engine import proof
from fcvi.engine.attachment import Dut
from fcvi.engine.breaks import Break
from fcvi.engine.case import CaseInfo, Variant
from fcvi.engine.catalogue import COMES, EVERY_CASE, TURN, of_every_turn
from fcvi.engine.conditions import Judge
from fcvi.engine.proof import CONDITIONS
from fcvi.engine.protocol import judging_by
from fcvi.engine.results import Verdict
from fcvi.engine.runner import not_applicable, run_variant

from .books import Banked, Book
from .parts import Aspect, is_absence

ROOT = Path(__file__).resolve().parents[2]
SEED = 1
#: In how many places a check is tried, a device of the bank, and what can be broken at all; and how much a variant may cost.
_OCCASIONS, _PLACES, _SWEPT, _EFFORT = 4, 64, 300, 12000
#: In so many other variants is a check tried, with so many devices, where none is named in the cheapest ones.
_OTHERS, _SUREST = 6, 32
#: Verdicts, best first. tolerated: the requirement is named, with the erratum by which nobody fails.
ORDER = ("named", "tolerated", "otherwise", "inconclusive", "error", "passes")

#: What an absence is: such a device says nothing of a value that is compared.
_ABSENT = frozenset(("never", "late", "nothing", "silent"))

Key = tuple[str, str, str, str]  # place, primitive, subject, requirement
Name = tuple[str, str, str, str]  # step, primitive, subject, requirement
Broken = tuple[str, str, str]  # place, requirement, part of a condition


@dataclass(frozen=True)
class Occasion:
    """One time that a check was made."""

    case: CaseInfo
    variant: Variant
    record: proof.Record
    cost: int  # of the variant: frames, calls and notifications
    kind: str = ""  # of the variant: of those of one kind the cheapest stands for all

    @property
    def ident(self) -> str:
        """The variant's id."""
        return self.case.variant_id(self.variant)


@dataclass(frozen=True)
class Outcome:
    """What the suite said of a device."""

    device: Break
    variant: str
    verdict: str  # of ORDER
    named: tuple[str, ...]  # the requirements that failed it
    aspect: str  # what of the check it breaks


@dataclass(frozen=True)
class Seen:
    """What a run with a broken device ended with. failing: what failed it. noticed: each requirement of a finding, and whether it
    was found without an erratum. broken: the parts of conditions that did not hold."""

    verdict: Verdict
    failing: tuple[str, ...]
    noticed: Mapping[str, bool]
    broken: frozenset[Broken] = frozenset()

    def names(self, requirement: str, levels: Mapping[str, str]) -> bool:
        """Whether the device was failed by it, or noticed where nothing fails by it."""
        judged = levels.get(requirement, "shall") == "shall"
        return requirement in self.failing or (not judged and bool(self.noticed.get(requirement)))

    def of(self, requirement: str, levels: Mapping[str, str], part: Optional[Broken] = None) -> str:
        """What it says of a check of this requirement (ORDER). part: of its condition that has to be broken, in its turn."""
        if self.names(requirement, levels):
            shown = part is None or not self.broken.isdisjoint((part, _any_turn(part)))
            return "named" if shown else "otherwise"
        if requirement in self.noticed and not self.noticed[requirement]:
            return "tolerated"
        words = {Verdict.FAIL: "otherwise", Verdict.PASS: "passes", Verdict.INCONCLUSIVE: "inconclusive"}
        return words.get(self.verdict, "error")


@dataclass
class Check:
    """One check of a case or step, and what came of the devices that follow from it."""

    place: str
    step: str
    primitive: str
    subject: str
    requirement: str
    occasions: list[Occasion] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    choices: list[Outcome] = field(default_factory=list)  # of devices that take what the check lets pass
    banked: list[tuple[Break, Occasion]] = field(default_factory=list)  # devices made by hand for its requirement, where they show
    gone: set[Break] = field(default_factory=set)  # devices at which what it is about does not come
    places: dict[str, Occasion] = field(default_factory=dict)  # every variant in which it is made, up to _PLACES

    @property
    def name(self) -> Name:
        """What tells it from others in a table, which has no lines."""
        return self.step, self.primitive, self.subject, self.requirement

    @property
    def is_part(self) -> bool:
        """Whether it is one of several things that a check of a condition compares."""
        return self.primitive in CONDITIONS and self.subject != ""

    @property
    def comes(self) -> bool:
        """Whether it is that something comes at all."""
        return self.subject.partition(TURN)[0] == COMES

    @property
    def part(self) -> Optional[Broken]:
        """The part of its condition that has to be broken; None where that its requirement is named is enough."""
        return (self.place, self.requirement, self.subject) if self.is_part and not self.comes else None

    def takes(self, device: Break) -> bool:
        """Whether a device can prove it: that something does not come says nothing of a value, and the other way round."""
        if self.comes:
            return device in self.gone
        return not self.gone or device not in self.gone and device.verb not in _ABSENT and not is_absence(device)

    def add(self, occasion: Occasion) -> None:
        """Keep it, if it is one of the cheapest, with at most two of one case, and of one kind of its variants."""
        same = [one for one in self.occasions if one.case is occasion.case]
        alike = [one for one in same if occasion.kind and one.kind == occasion.kind]
        if alike:
            if alike[0].cost <= occasion.cost:
                return
            self.occasions.remove(alike[0])
            same = [one for one in same if one is not alike[0]]
        among, most = (same, 2) if len(same) >= 2 else (self.occasions, _OCCASIONS)
        if len(among) >= most:
            worst = max(among, key=lambda one: one.cost)
            if worst.cost <= occasion.cost:
                return
            self.occasions.remove(worst)
        self.occasions.append(occasion)
        self.occasions.sort(key=lambda one: one.cost)

    def aspects(self) -> dict[str, str]:
        """The best verdict of each thing that the check compares: that it came, and its value."""
        best: dict[str, str] = {}
        for one in self.outcomes:
            best[one.aspect] = min(best.get(one.aspect, "passes"), one.verdict, key=ORDER.index)
        return best

    @property
    def verdict(self) -> str:
        """named, if all aspects are; else the worst of them; "no device" where none can be made."""
        found = self.aspects().values()
        return max(found, key=ORDER.index) if found else "tolerated" if self.choices else "no device"


def _any_turn(part: Broken) -> Broken:
    return part[0], part[1], part[2].partition(TURN)[0]


def aspect_of(primitive: str, device: Break) -> str:
    """Which part of the check a device breaks."""
    return device.verb if primitive == "finish" else primitive


def _relative(place: str) -> str:
    if not place:
        return f"{EVERY_CASE}:0"
    file, _, line = place.rpartition(":")
    path = Path(file)
    return f"{path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name}:{line}"


def _within(occasion: Occasion, most: int, least: int = 8) -> int:
    """How many devices are tried: fewer where a variant has hundreds of frames."""
    return max(least, min(most, _EFFORT // (occasion.cost + 1)))


class Player:
    """Plays the cases of a book, against the reference port and broken ones. shown: devices that the table of the book names; each
    is tried where no other device is named, so that a proof that still holds stays. explained: checks of calls for which it is
    known why no device proves them: not everything is tried for those again."""

    def __init__(self, book: Book, shown: Sequence[Banked] = (), explained: Container[Name] = ()) -> None:
        self.book = book
        self.levels, self.pics, self._pixit = book.levels(), book.pics(), book.pixit()
        self._with = book.broken()
        self._bank: dict[str, list[Banked]] = {}
        for one in (*shown, *book.bank()):
            self._bank.setdefault(one.requirement, []).append(one)
        self._explained = explained
        self._parts: set[Broken] = set()  # of the conditions that the reference device was held against
        self._shown = {one.check: one for one in shown if one.check is not None}
        self._everywhere = [one for one in shown if one.check is None]
        self._shows: dict[Broken, list[Outcome]] = {}  # the devices that broke a part, of whichever check they were made
        self._by_ident: dict[str, tuple[CaseInfo, Variant]] = {}
        self._last: Optional[Dut] = None  # the device of the last run
        self._pics_by_hand: dict[Break, dict[str, object]] = {}
        self._known: dict[tuple[str, Break], Seen] = {}
        self.played = 0

    def variants(
        self, cases: Optional[Sequence[CaseInfo]] = None, device: Optional[Break] = None
    ) -> Iterator[tuple[CaseInfo, Variant]]:  # fmt: skip
        """Those that the reference port can be tried with, or a device of the bank."""
        pics = self._pics_of(device)
        for case in self.book.cases() if cases is None else cases:
            for variant in case.variants:
                if not_applicable(case, variant, pics) is None:
                    yield case, variant

    def _pics_of(self, device: Optional[Break]) -> dict[str, object]:
        """A device of the bank may support other things than the reference device."""
        if device is None or device.verb != "fault":
            return self.pics
        if device not in self._pics_by_hand:
            self._pics_by_hand[device] = self.book.pics(device)
        return self._pics_by_hand[device]

    def checks(self, cases: Optional[Sequence[CaseInfo]] = None) -> list[Check]:
        """Every check that these cases make of the reference port, in the order of their places."""
        found: dict[Key, Check] = {}
        dut = self.book.reference()
        with judging_by(self.book.protocol):
            for case, variant in self.variants(cases):
                with proof.recording(self.book.recorder()) as recorder:
                    result = run_variant(dut, case, variant, self.pics, self._pixit, self.levels, SEED)
                if result.verdict is Verdict.ERROR:
                    raise RuntimeError(f"{case.variant_id(variant)} ends before it has made its checks: {result.reason}")
                cost = len(result.frames) + len(result.log)
                for record in recorder.records:
                    place = _relative(record.place)
                    key = (place, record.primitive, record.subject, record.requirement)
                    self._parts.add((place, record.requirement, record.subject))
                    check = found.setdefault(key, Check(key[0], record.step or EVERY_CASE, key[1], key[2], key[3]))
                    occasion = Occasion(case, variant, record, cost, self.book.kind_of(variant))
                    check.add(occasion)
                    if len(check.places) < _PLACES and check.part is not None:
                        check.places.setdefault(occasion.ident, occasion)
                    check.gone |= set(record.gone) if isinstance(record, Aspect) else set()
                    known = {device for device, _ in check.banked}
                    fit = [b for b in self._bank.get(check.requirement, ()) if b.device not in known and b.shows_in(occasion.ident)]
                    check.banked += [(one.device, occasion) for one in fit]
        dut.close()
        return [found[key] for key in sorted(found, key=_by_place)]

    def checked(self, case: CaseInfo) -> set[str]:
        """The requirements that the checks of a case are handed in a run of the reference device."""
        found: set[str] = set()
        with judging_by(self.book.protocol):
            for _, variant in self.variants([case]):
                found |= run_variant(self._with(None), case, variant, self.pics, self._pixit, self.levels, SEED).checked
        return found

    def prove(self, check: Check) -> None:
        """Play the devices of a check: those that break it, and those that take what it lets pass."""
        self._choose(check)
        self._prove(check)
        check.choices += [o for o in check.outcomes if o.verdict == "tolerated" and not o.named][:1]

    def _prove(self, check: Check) -> None:
        """At one occasion after the other until each of its aspects is named."""
        late_us = 4 * self._pixit.late_us
        if check.primitive in CONDITIONS and self._is_shown(check):
            return
        for occasion in check.occasions[: _OCCASIONS if check.comes else self.book.occasions]:
            named = {aspect for aspect, verdict in check.aspects().items() if verdict == "named"}
            for device in islice(self.book.devices(occasion.record, late_us), _within(occasion, self.book.candidates)):
                if aspect_of(check.primitive, device) in named or not check.takes(device):
                    continue
                check.outcomes.append(self._play(check, occasion, device))
                if check.primitive in CONDITIONS and check.outcomes[-1].verdict == "named":
                    return
            if check.verdict == "named":
                return
        if check.part is not None:  # what was made of another check
            check.outcomes += [o for o in self._shows.get(check.part, ()) if check.takes(o.device)][:1]
            if check.verdict == "named":
                return
        lacking = {aspect for aspect, verdict in check.aspects().items() if verdict != "named"} or {check.primitive}
        for device, occasion in check.banked if check.part is None else self._by_hand(check):
            if not check.takes(device):
                continue
            outcome = self._play(check, occasion, device)
            if outcome.verdict == "named":
                check.outcomes += [replace(outcome, aspect=aspect) for aspect in sorted(lacking)]
                return
        if not (check.is_part and (check.name in self._explained or of_every_turn(check.name) in self._explained)):
            self._elsewhere(check, late_us)  # also what is tolerated: in another variant it may not be
            if check.verdict not in ("named", "tolerated"):
                self._sweep(check)

    def _elsewhere(self, check: Check, late_us: int) -> None:
        """The surest devices in other variants in which the check is made."""
        others = [one for one in check.places.values() if all(one.ident != other.ident for other in check.occasions)]
        for occasion in others[:: max(1, len(others) // _OTHERS)][:_OTHERS] if check.part is not None else ():
            for device in islice(self.book.devices(occasion.record, late_us), _SUREST):
                if check.takes(device):
                    check.outcomes.append(self._play(check, occasion, device))
                    if check.outcomes[-1].verdict == "named":
                        return

    def _by_hand(self, check: Check) -> Iterator[tuple[Break, Occasion]]:
        """Devices made by hand for its requirement, in each variant in which the check is made."""
        for occasion, one in product(check.places.values(), self._bank.get(check.requirement, ())):
            if one.shows_in(occasion.ident):
                yield one.device, occasion

    def _is_shown(self, check: Check) -> bool:
        """Whether the device that the table names for it still breaks just its part."""
        one = self._shown.get(check.name)
        if one is not None:
            fit = (o for o in check.occasions if one.shows_in(o.ident))
            found = next(fit, None) or self._occasion(one, check)
            if found is not None and check.takes(one.device):
                check.outcomes.append(self._play(check, found, one.device))
        return check.verdict == "named"

    def _occasion(self, one: Banked, check: Check) -> Optional[Occasion]:
        """The variant of a device of the table, where it is none of those that are kept for the check."""
        found = self._named_variants().get(one.where[0])
        return None if found is None else replace(check.occasions[0], case=found[0], variant=found[1])

    def _named_variants(self) -> Mapping[str, tuple[CaseInfo, Variant]]:
        if not self._by_ident:
            self._by_ident = {case.variant_id(variant): (case, variant) for case, variant in self.variants()}
        return self._by_ident

    def sweep_fields(self, checks: Sequence[Check]) -> list[Outcome]:
        """Every field of each kind of message, altered once: what codec, monitor and the checks of a whole message say of it."""
        cheapest: dict[str, tuple[Occasion, int]] = {}
        for check in checks:
            for occasion in check.occasions[: self.book.occasions]:
                for sight in occasion.record.sights:
                    best = cheapest.get(sight.kind)
                    if sight.what in ("message", "field") and sight.nth and (best is None or occasion.cost < best[0].cost):
                        cheapest[sight.kind] = occasion, sight.nth[-1]
        found = []
        for kind, (occasion, nth) in sorted(cheapest.items()):
            for name in self.book.fields(kind):
                for value in (1, 0x80):
                    device = Break("out", kind, (nth,), f"{name}^", value)
                    seen = self.seen(occasion.case, occasion.variant, device)
                    said = "otherwise" if seen.verdict is Verdict.FAIL else "passes"
                    found.append(Outcome(device, occasion.ident, said, seen.failing, "finding"))
        return found

    def _still(self, one: Banked) -> list[Outcome]:
        """What comes now of a device that the table names for a requirement which no check of a case proves."""
        found = next((place for place in self.variants(device=one.device) if place[0].variant_id(place[1]) == one.where[0]), None)
        if found is None:
            return []
        seen = self.seen(*found, one.device)
        shown = Outcome(one.device, one.where[0], "otherwise", seen.failing, "finding")
        return [shown] if one.requirement in seen.failing else []

    def sweep_bank(self, named: Container[str]) -> list[Outcome]:
        """The faults that were made by hand, each of a requirement that is not among these, in the cases that list it: a variant of
        each case in turn until it is failed by it."""
        found = [o for one in self._everywhere if one.requirement not in named for o in self._still(one)]
        for one in self.book.bank():
            ident = one.requirement
            done = any(ident in outcome.named for outcome in found) or ident in named
            cases = [case for case in self.book.cases() if not done and ident in case.requirements]
            listing = [list(self.variants([case], one.device)) for case in cases]
            turns = [place for turn in zip_longest(*listing) for place in turn if place is not None]
            fit = [(case, variant) for case, variant in turns if one.shows_in(case.variant_id(variant))]
            for case, variant in fit[:_PLACES]:
                seen = self.seen(case, variant, one.device)
                if ident in seen.failing:
                    found.append(Outcome(one.device, case.variant_id(variant), "otherwise", seen.failing, "finding"))
                    break
        return found

    def _choose(self, check: Check) -> None:
        """Play the devices that take what the check lets pass: it may not name them."""
        for occasion in check.occasions:
            check.choices += [self._play(check, occasion, device) for device in self.book.choices(occasion.record)]

    def _sweep(self, check: Check) -> None:
        """What can be broken at all, at the cheapest two occasions, for what is not named by a device of its own."""
        for occasion in check.occasions[:2] if not check.comes else ():
            lacking = {aspect for aspect, verdict in check.aspects().items() if verdict != "named"} or {check.primitive}
            self.seen(occasion.case, occasion.variant, None)
            assert self._last is not None
            for device in islice(self.book.everywhere(self._last, occasion.record), _within(occasion, _SWEPT, 64)):
                if not check.takes(device):
                    continue
                outcome = self._play(check, occasion, device)
                if ORDER.index(outcome.verdict) < ORDER.index(check.verdict if check.outcomes else ORDER[-1]):
                    check.outcomes += [replace(outcome, aspect=aspect) for aspect in sorted(lacking)]
                if outcome.verdict == "named":
                    return

    def _play(self, check: Check, occasion: Occasion, device: Break) -> Outcome:
        key = (occasion.ident, device)
        if key not in self._known:
            self._known[key] = self.seen(occasion.case, occasion.variant, device)
        seen = self._known[key]
        said = seen.of(check.requirement, self.levels, check.part)
        return Outcome(device, occasion.ident, said, seen.failing, aspect_of(check.primitive, device))

    def _known_turn(self, part: Broken) -> Broken:
        """Of a turn that the reference device has not: its words are made of what is wrong, so that it may be any."""
        return part if not self._parts or part in self._parts else _any_turn(part)

    def seen(self, case: CaseInfo, variant: Variant, device: Optional[Break]) -> Seen:
        """What the suite says of a device in a variant; None: of the port as it is."""
        dut = self._last = self._with(device)
        self.played += 1
        judge = Judge()
        with judging_by(self.book.protocol), proof.recording(judge):
            result = run_variant(dut, case, variant, self._pics_of(device), self._pixit, self.levels, SEED)
        if result.verdict is Verdict.ERROR:
            self._with(None).restart()
        noticed = {f.requirement: f.erratum is None for f in sorted(result.findings, key=lambda f: f.erratum is None)}
        broken = sorted(self._known_turn((_relative(place), row, part)) for place, row, part in judge.broken)
        seen = Seen(result.verdict, tuple(result.broken), noticed, frozenset(broken))
        for part in broken:
            if device is not None and seen.names(part[1], self.levels):
                found = Outcome(device, case.variant_id(variant), "named", seen.failing, "require")
                self._shows.setdefault(part, []).append(found)
        return seen


def _by_place(key: Key) -> tuple[str, int, Key]:
    file, _, line = key[0].rpartition(":")
    return file, int(line), key


def levels_of(checks: Sequence[Check], levels: Mapping[str, str]) -> list[Check]:
    """Those of `shall` rows."""
    return [check for check in checks if levels.get(check.requirement) == "shall"]


__all__ = ["Check", "Occasion", "Outcome", "Player", "ROOT", "aspect_of", "levels_of"]
