"""Plays words on a device: letter by letter, with what is owed and what always holds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random
from typing import Any, Mapping, Optional, Protocol, Sequence

from fcvi.dut.base import Dut, DutError, Unavailable
from fcvi.fc.configuration import base_config, configured
from fcvi.engine.pixit import Pixit
from fcvi.engine.results import Finding, TraceFrame
from fcvi.engine.protocol import in_force
from fcvi.engine.runner import fails
from fcvi.engine.scenario import Failed, Inconclusive
from fcvi.engine.upper_tester import Unimplemented
from fcvi.fc import codec
from fcvi.fc.received import Received
from fcvi.fc.scenario import leftover_requirement
from fcvi.report.words import anywhere

from . import invariants
from .observe import Observer
from .scenario import WordScenario
from .word import Word

_STAYS = frozenset({"idle", "connected", "listening", "error"})  # phases that time does not end
_TIMELESS = frozenset({"tick", "half", "r-a-tov"})
_TURNS = frozenset({"other", "back"})


class Source(Protocol):
    """Where the letters come from."""

    def next(self, world: Any) -> Optional[str]:
        """The next letter; None at the end of the word."""


@dataclass
class Fixed:
    """The letters of a word."""

    letters: tuple[str, ...]
    at: int = 0

    def next(self, world: Any) -> Optional[str]:
        """One after the other."""
        self.at += 1
        return self.letters[self.at - 1] if self.at <= len(self.letters) else None


@dataclass
class Played:
    """What became of a word. outputs: what was seen after each letter, in words without the device's own numbers."""

    word: Word
    findings: list[Finding] = field(default_factory=list)  # that convict
    notices: list[Finding] = field(default_factory=list)  # that name an erratum
    outputs: list[tuple[str, ...]] = field(default_factory=list)
    trace: list[TraceFrame] = field(default_factory=list)
    error: str = ""  # the attachment failed: no verdict
    refused: str = ""  # a call that the word needs is not served: no verdict
    disturbed: bool = False  # a letter came out of place

    @property
    def key(self) -> tuple[str, str]:
        """What the first finding is about: words with the same one are taken to have found the same."""
        first = self.findings[0]
        return first.requirement, anywhere(first.message)


class Player:
    """Plays words on one device."""

    def __init__(self, dut: Dut, pics: Mapping[str, Any], pixit: Pixit, levels: Mapping[str, str]) -> None:
        self.dut, self.pics, self.pixit, self.levels = dut, pics, pixit, levels
        self.words: Any = in_force()[0].words()
        self.steps = 0
        self.even = False  # a letter may not last as long as the device's own timers say: another device plays the word too
        self._seen = False  # a frame of the device has come, in any word

    def play(self, word: Word, judged: bool = True) -> Played:
        """A given word."""
        return self.run(word.settings, word.seed, Fixed(word.letters), judged)

    def run(self, settings: tuple[str, ...], seed: int, source: Source, judged: bool = True) -> Played:
        """Letters from the source until it ends or something is found."""
        played = Played(Word(settings, (), seed))
        rng = Random(f"word:{seed}")
        config = configured(base_config(self.pixit, rng.randrange(2**31)), self.words.configuration(settings))
        t: Optional[WordScenario] = None
        letters: list[str] = []
        try:
            self.dut.reset(config)
            t = WordScenario(
                self.dut, self.pics, self.pixit, self.levels, rng, self.words.parameters(settings), config
            )
            self._letters(t, source, judged, letters, played)
            if self._convicting(t, letters, played.disturbed):
                t.heed_late_answers()
        except DutError as error:
            played.error = str(error)
            self.dut.restart()
        except Unavailable as error:  # an agent without a wire, or a link that cannot be had
            played.error = str(error)
        except Unimplemented as stop:
            played.refused = str(stop)
        except (Failed, Inconclusive):  # Failed: the first VI was refused
            pass
        played.word = Word(settings, tuple(letters), seed)
        if t is not None:
            self._seen = self._seen or any(f.sender == "dut" for f in t.tester.trace)
            if not played.error:
                self._weigh(t, played)
            if played.findings and not self._seen:  # an agent without frames is not accused of what it cannot show
                played.findings, played.error = [], "no frame of the device was ever seen: words are judged by its frames"
            played.trace = t.tester.trace
            t.close()
        return played

    def _letters(self, t: WordScenario, source: Source, judged: bool, letters: list[str], played: Played) -> None:
        world = self.words.World(t, judged)
        world.even = self.even and not judged
        observer = Observer(t, world)
        clean, seen = judged, 0
        while (name := source.next(world)) is not None:
            letters.append(name)
            self.steps += 1
            letter = self.words.LETTERS[name]
            try:
                clean = self._letter(world, letter, judged) and clean
            except Failed:
                played.disturbed = world.disturbed
                return
            new = world.look()
            if not judged:
                played.outputs.append(observer.look(new))
                continue
            if world.shaken:
                t.shaken.append((seen, len(t.tester.trace)))
            seen = len(t.tester.trace)
            invariants.after_letter(t, world)
            played.disturbed = world.disturbed
            if self._convicting(t, letters, world.disturbed):
                return
        if judged:
            invariants.after_word(t, world)
            if clean:
                _leftovers(t)

    @staticmethod
    def _letter(world: Any, letter: Any, judged: bool) -> bool:
        """Play it; false when it came out of place."""
        slot = world.slot
        if judged and not world.murky and letter.duty is not None and slot.phase in letter.phases and letter.when(world):
            slot.phase = letter.duty(world)
            world.murky |= slot.phase == "unknown"
            return not world.murky
        if letter.play is not None:
            harmless = letter.name in _TIMELESS or letter.name in _TURNS
            stray = letter.name != "rest" and not (harmless and slot.phase in _STAYS)
            if stray:
                world.stray()
            letter.play(world)
            return not stray
        return True

    def _convicting(self, t: WordScenario, letters: Sequence[str], disturbed: bool) -> list[Finding]:
        found = t.tester.findings + [f for f in t.findings if not _permitted(f, letters)] + t.invariants
        if t.refused is not None:
            found = [f for f in found if f in t.refused.found]
        return [f for f in found if fails(f, self.levels) and not (disturbed and _excused(f, t))]

    def _weigh(self, t: WordScenario, played: Played) -> None:
        found = t.tester.findings + t.findings
        played.findings = self._convicting(t, played.word.letters, played.disturbed)
        played.notices = [f for f in found if f.erratum is not None]


#: Letters after which a device may end a setup by itself.
_ENDS = frozenset({"abts", "retry", "t1", "t3", "disc", "vipdisc", "request-short"})

#: What holds however a setup ended: no Endpoint has the handle of nobody, and each Disconnect is answered (5.3.5, 6.13.1).
_WHATEVER_ENDED = frozenset({"FCVI-5.9.2-03", "FCVI-5.3.5-02", "FCVI-6.13.1-01"})


def _permitted(finding: Finding, letters: Sequence[str]) -> bool:
    """Whether the text leaves it open: a setup may end with the client's ABTS (E153), and a provider may disconnect by itself, with
    either VI_DISCONNECT bit (E151). What a frame says wrongly on its own is for codec and monitor, which convict all the same.
    """
    if finding.requirement in _WHATEVER_ENDED or not _ENDS & set(letters):
        return False
    return finding.cls == "behaviour"


_SEE = re.compile(r"\(see frame (\d+)\)")


def _excused(finding: Finding, t: WordScenario) -> bool:
    """Whether a frame is at fault only if an earlier one of the tester's counts, which the device may have had to ignore; or only
    beside others while a link event is not over: what it had sent before may still come.
    """
    trace = t.tester.trace
    if finding.frame is None or finding in t.findings:
        return False
    see = _SEE.search(finding.message)
    if see is not None and 0 < int(see[1]) <= len(trace) and trace[int(see[1]) - 1].sender == "tester":
        return True
    if not any(first <= finding.frame - 1 < last for first, last in t.shaken):
        return False
    entry = trace[finding.frame - 1]
    alone = codec.decode(entry.data, entry.sof, entry.eof, 1 if entry.crc_ok else 2).findings
    return not any(f.requirement == finding.requirement and f.byte == finding.byte for f in alone)


def _leftovers(t: WordScenario) -> None:
    """Frames that nobody asked for, in a word in which everything had its place."""
    t.settle()
    left: Received
    for left in t.leftovers():
        requirement = leftover_requirement(left)
        if requirement is not None:
            t.report(requirement, f"unexpected {left.kind}", str(left), "none", at=left)
