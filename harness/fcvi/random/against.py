"""Two devices play the same words: where they differ, and whether that is a breach, an erratum or a choice."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any, Callable, Optional

from fcvi.report.words import anywhere
from .campaign import DEAD, Limits, Tally, play_word
from .decided import Decision, decisions
from .choose import able
from .play import Played, Player
from .shrink import shrink
from .word import Word

CLASSES = ("breach", "undecided", "erratum", "choice")
_OPEN = CLASSES[:2]
_MOST_CUT = 40  # decided differences that are cut down; the others are counted. What is open is cut down always


@dataclass
class Difference:
    """Where two devices part. cls: one of CLASSES; left and right: what only the first, only the second device did then."""

    cls: str
    word: Word
    at: int
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    why: str = ""
    words: int = 1
    ends: bool = False  # the rest of the word says nothing

    @property
    def key(self) -> tuple[object, ...]:
        """Differences with the same key are one; a breach is one for each rule that is broken."""
        if self.cls == "breach":
            return self.cls, self.why
        return self.cls, self.word.letters[self.at], self.left, self.right

    def as_json(self) -> dict[str, Any]:
        """As --json prints it."""
        return {
            "class": self.cls, "word": str(self.word), "seed": self.word.seed, "letter": self.word.letters[self.at],
            "first": self.left, "second": self.right, "why": self.why, "words": self.words,
        }  # fmt: skip

    def __str__(self) -> str:
        sides = f"after {self.word.letters[self.at]}: first {' '.join(self.left) or 'nothing'}, " \
                f"second {' '.join(self.right) or 'nothing'}"  # fmt: skip
        why = self.why or "no case, erratum or choice says which"
        return f"{self.cls}: {self.word}\n    {sides}\n    {why} ({self.words} words)"


class Comparison:
    """Words on two devices."""

    def __init__(self, first: Player, second: Player) -> None:
        self._first, self._second = first, second
        self.tally = Tally()
        self._found: dict[tuple[object, ...], Difference] = {}
        self._decisions = decisions(first.words)
        self._classes: Counter[str] = Counter()

    def search(self, seed: int, limits: Limits, tell: Callable[[Tally], None]) -> None:
        """Play words that the first device's behaviour leads deep; end when the attachment fails word after word."""
        started, number, dead = time.monotonic(), 0, 0
        while self.tally.steps < limits.steps:
            word = play_word(self._first, seed, number).word
            number += 1
            if _able(word, self._second):
                before = self.tally.errors
                self.word(word)
                dead = dead + 1 if self.tally.errors > before else 0
            tell(self.tally)
            undecided = sum(d.cls in _OPEN for d in self._found.values())
            late = limits.seconds is not None and time.monotonic() - started > limits.seconds
            if undecided >= limits.findings or late or dead >= DEAD:
                break

    def word(self, word: Word) -> None:
        """One word on both devices."""
        self.tally.words += 1
        self.tally.steps += len(word.letters)
        found = self._differ(word)
        if found is not None and found.cls == "undecided" and "real" in (self._first.dut.clock, self._second.dut.clock):
            found = self._differ(word)  # what a busy host did late once is nobody's difference
        if found is None:
            return
        self._classes[found.cls] += 1
        known = self._found.get(found.key)
        if known is not None:
            known.words += 1
            return
        if found.cls in _OPEN or len(self._found) < _MOST_CUT:
            found = self._cut_down(found)
        found.words = self._found[found.key].words + 1 if found.key in self._found else 1
        self._found[found.key] = found

    def shortest(self) -> list[Difference]:
        """The differences, by class, the shortest word first."""
        return sorted(self._found.values(), key=lambda d: (CLASSES.index(d.cls), len(d.word.letters), str(d.word)))

    def counts(self) -> dict[str, int]:
        """How many words differed, by class."""
        return {name: self._classes[name] for name in CLASSES}

    # ---- one word ----

    def _differ(self, word: Word) -> Optional[Difference]:
        for which, player in (("first", self._first), ("second", self._second)):
            played = player.play(word)
            if self._error(played):
                return None
            if played.findings:
                finding = played.findings[0]
                why = f"the {which} device breaks {finding.requirement}: {anywhere(finding.message)}"
                return Difference("breach", word, max(0, len(played.word.letters) - 1), why=why)
        # after the words above each device has said whether it tells its timers
        self._first.even = self._second.even = not (self._first.dut.knows_next and self._second.dut.knows_next)
        first, second = self._first.play(word, judged=False), self._second.play(word, judged=False)
        if self._error(first) or self._error(second):
            return None
        decided: Optional[Difference] = None
        for at, (left, right) in enumerate(zip(first.outputs, second.outputs)):
            if left != right:
                only = tuple((Counter(left) - Counter(right)).elements()), tuple((Counter(right) - Counter(left)).elements())
                found = self._classed(word, at, *only)
                if found.cls == "undecided":
                    return found
                decided = decided or found
                if found.ends:
                    return decided
        return decided

    def _error(self, played: Played) -> bool:
        return self.tally.note(played)

    def _classed(self, word: Word, at: int, left: tuple[str, ...], right: tuple[str, ...]) -> Difference:
        taken: list[Decision] = []
        for item in (*left, *right):
            decision = next((d for d in self._decisions if d.covers(word.letters, at, item, (left, right))), None)
            if decision is None:
                return Difference("undecided", word, at, left, right)
            if decision not in taken:
                taken.append(decision)
        cls = "choice" if any(d.cls == "choice" for d in taken) else "erratum"
        why = "; ".join(str(d) for d in taken)
        return Difference(cls, word, at, left, right, why, ends=any(d.ends for d in taken))

    def _cut_down(self, found: Difference) -> Difference:
        key = found.key
        best = found

        def same(word: Word) -> bool:
            nonlocal best
            other = self._differ(word)
            if other is None or other.key != key:
                return False
            best = other
            return True

        if found.cls != "breach":
            cut = Word(found.word.settings, found.word.letters[: found.at + 1], found.word.seed)
            if not same(cut):
                return found
        shrink(best.word, same)
        return best


def _able(word: Word, player: Player) -> bool:
    names = set(able(player.words, player.pics))
    return set(word.letters) <= names and all(player.words.applicable(s, player.pics) for s in word.settings)
