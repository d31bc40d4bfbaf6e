"""L* for Mealy machines, with the counterexamples of Rivest and Schapire, and W-method tests to a depth.

It is complete when every word of the state cover, then any ``depth`` letters, then a word that tells two states apart, was
answered as the machine says: then the device has no other behaviour unless it has more than ``depth`` states that were not seen.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Callable, Iterator, Optional

from fcvi.dut.base import DutError

from .mealy import Mealy, Output, Word, apart
from .teacher import Exhausted, Teacher, Unsteady

MOST_STATES = 400


@dataclass
class Learner:
    """letters: the alphabet; depth: letters beyond what is known that equivalence is tested with."""

    teacher: Teacher
    letters: Word
    depth: int = 2
    tell: Callable[[int, int], None] = lambda states, queries: None
    _access: list[Word] = field(default_factory=list)  # a word to each state
    _suffixes: list[Word] = field(default_factory=list)  # tell states apart
    _rows: dict[tuple[Output, ...], int] = field(default_factory=dict)
    _last: Optional[Mealy] = None

    def learn(self) -> Mealy:
        """The machine, whether or not it could be completed. Raises DutError when the attachment fails."""
        self._access, self._suffixes = [()], [(letter,) for letter in self.letters]
        self._last = Mealy(self.letters, {(0, letter): (0, ("?",)) for letter in self.letters})
        try:
            while True:
                machine = self._last = self._hypothesis()
                counterexample = self._test(machine)
                if counterexample is None:
                    machine.complete = True
                    return machine
                self._refine(machine, counterexample)
                if len(self._access) > MOST_STATES:
                    raise Exhausted(f"more than {MOST_STATES} states")
        except (Exhausted, Unsteady) as stop:
            self._last.why = str(stop) if isinstance(stop, Exhausted) else f"two answers to one word: {stop}"
            return self._last

    def _row(self, word: Word) -> tuple[Output, ...]:
        size = len(word)
        return tuple(itertools.chain.from_iterable(self.teacher.ask(word + s)[size:] for s in self._suffixes))

    def _hypothesis(self) -> Mealy:
        self._rows = {}
        for state, word in enumerate(self._access):
            self._rows.setdefault(self._row(word), state)
        machine = Mealy(self.letters)
        state = 0
        while state < len(self._access):
            word = self._access[state]
            for letter in self.letters:
                longer = (*word, letter)
                row = self._row(longer)
                to = self._rows.get(row)
                if to is None:
                    to = self._rows[row] = len(self._access)
                    self._access.append(longer)
                    self.tell(len(self._access), self.teacher.queries)
                machine.step[state, letter] = to, self.teacher.ask(longer)[-1]
            state += 1
        return machine

    def _test(self, machine: Mealy) -> Optional[Word]:
        """A word that the device answers otherwise than the machine, cut behind the first difference."""
        for word in self._tests(machine):
            seen, said = self.teacher.ask(word), machine.run(word)
            for index, (left, right) in enumerate(zip(seen, said)):
                if left != right:
                    return word[: index + 1]
            self.tell(len(self._access), self.teacher.queries)
        return None

    def _tests(self, machine: Mealy) -> Iterator[Word]:
        access = machine.access()
        words: set[Word] = set()
        for one, other in itertools.combinations(range(machine.states), 2):
            word = apart(machine, one, other)
            if word is not None:
                words.add(word)
        tails = sorted(words, key=lambda w: (len(w), w)) or [(letter,) for letter in self.letters]
        by_state: dict[int, list[Word]] = {}
        for length in range(1, self.depth + 1):
            for state in sorted(access):
                for middle in itertools.product(self.letters, repeat=length):
                    reached = machine.after((*access[state], *middle))
                    if reached not in by_state:  # only what tells this state from another one
                        by_state[reached] = self._telling(machine, reached, tails)
                    for tail in by_state[reached]:
                        yield (*access[state], *middle, *tail)

    @staticmethod
    def _telling(machine: Mealy, state: int, tails: list[Word]) -> list[Word]:
        """Some of the words that together tell this state from every other one (the Wp-method's sets)."""
        left = set(range(machine.states)) - {state}
        own = {tail: machine.run(tail, state) for tail in tails}
        chosen = []
        for tail in tails:
            told = {other for other in left if machine.run(tail, other) != own[tail]}
            if told:
                chosen.append(tail)
                left -= told
            if not left:
                break
        return chosen or tails[:1]

    def _refine(self, machine: Mealy, word: Word) -> None:
        """One suffix of the counterexample tells two words apart that were taken to lead to one state."""
        low, high = 0, len(word)

        def agrees(index: int) -> bool:
            """Whether the machine is right about the end when the device begins in the state after so many letters."""
            access = self._access[machine.after(word[:index])]
            return self.teacher.ask((*access, *word[index:]))[-1] == machine.run(word)[-1]

        while high - low > 1:  # agrees(0) is false, agrees(len) true
            middle = (low + high) // 2
            if agrees(middle):
                high = middle
            else:
                low = middle
        suffix = word[high:]
        for cut in (suffix, *(word[i:] for i in range(1, len(word)))):
            if cut and cut not in self._suffixes:
                self._suffixes.append(cut)
                return
        raise DutError(f"the counterexample {' '.join(word)} tells nothing new: the device is not steady")


__all__ = ["Learner"]
