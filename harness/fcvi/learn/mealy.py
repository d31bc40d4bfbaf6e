"""Mealy machines: states, letters, outputs; their drawing in dot's language; words that tell two of them apart."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Iterator, Optional

from fcvi.engine import strict
from fcvi.engine.files import FileError, damage
from fcvi.engine.words import printable

Word = tuple[str, ...]
Output = tuple[str, ...]
_MOST_STATES = 1000  # of a machine that was written down: two of them have so many pairs of states as their product


@dataclass
class Mealy:
    """State 0 is the first one. step: by state and letter, the next state and the output."""

    letters: Word
    step: dict[tuple[int, str], tuple[int, Output]] = field(default_factory=dict)
    device: str = ""
    settings: Word = ()
    complete: bool = False
    why: str = ""  # it is not complete

    @property
    def states(self) -> int:
        """How many there are."""
        return 1 + max((state for state, _ in self.step), default=0)

    def run(self, word: Word, state: int = 0) -> list[Output]:
        """The outputs along a word."""
        outputs = []
        for letter in word:
            state, output = self.step[state, letter]
            outputs.append(output)
        return outputs

    def after(self, word: Word) -> int:
        """The state that a word leads to."""
        state = 0
        for letter in word:
            state = self.step[state, letter][0]
        return state

    def access(self) -> dict[int, Word]:
        """The shortest word to each state."""
        found: dict[int, Word] = {0: ()}
        waiting = deque([0])
        while waiting:
            state = waiting.popleft()
            for letter in self.letters:
                following = self.step[state, letter][0]
                if following not in found:
                    found[following] = (*found[state], letter)
                    waiting.append(following)
        return found

    # ---- as data ----

    def as_json(self) -> dict[str, Any]:
        """What read() takes."""
        steps = [[s, letter, to, list(out)] for (s, letter), (to, out) in sorted(self.step.items())]
        return {
            "fcvi-learn": 1, "device": self.device, "settings": list(self.settings), "letters": list(self.letters),
            "complete": self.complete, "why": self.why, "states": self.states, "steps": steps,
        }  # fmt: skip

    @classmethod
    def from_json(cls, text: bytes, path: str) -> Mealy:
        """What as_json gave. Raises FileError for anything else."""
        try:
            data = strict.loads(text.decode("utf-8"))
            if data["fcvi-learn"] != 1:
                raise ValueError("of another version")
            made = cls(tuple(map(str, data["letters"])), {}, str(data["device"]), tuple(map(str, data["settings"])),
                       bool(data["complete"]), str(data["why"]))  # fmt: skip
            for state, letter, to, out in data["steps"]:
                made.step[int(state), str(letter)] = int(to), tuple(map(str, out))
            if made.states > _MOST_STATES:
                raise ValueError(f"{made.states} states are more than the {_MOST_STATES} that are compared")
            states = range(made.states)
            whole = all((s, a) in made.step and made.step[s, a][0] in states for s in states for a in made.letters)
            if not whole or not made.letters:
                raise ValueError("a step is missing")
            return made
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            why = damage(error)
            raise FileError(f"{path}: not a machine of fcvi learn ({why}); name a machine.json that --out wrote") from error

    def dot(self) -> str:
        """For graphviz: letters that lead from one state to another with the same output share an arrow."""
        lines = ["digraph machine {", "  rankdir=LR;", "  node [shape=circle];", '  start [shape=point]; start -> "0";']
        for (state, to), labels in self.arrows().items():
            label = "\\n".join(text.replace("\\", "\\\\").replace('"', "'") for text in labels)
            lines.append(f'  "{state}" -> "{to}" [label="{label}"];')
        return "\n".join([*lines, "}"]) + "\n"

    def arrows(self) -> dict[tuple[int, int], list[str]]:
        """Letters and outputs by the two states that they join."""
        joined: dict[tuple[int, int], dict[Output, list[str]]] = {}
        for (state, letter), (to, out) in sorted(self.step.items()):
            if state == to and len(out) == 1:
                continue  # nothing happened
            joined.setdefault((state, to), {}).setdefault(out, []).append(letter)
        return {
            ends: [printable(f"{', '.join(letters)} / {' '.join(out)}") for out, letters in by_output.items()]
            for ends, by_output in joined.items()
        }


Pair = tuple[int, int]
Came = dict[Pair, Optional[tuple[Pair, str]]]  # each pair of states that was reached: from where, and by which letter


def _word(came: Came, pair: Pair, letter: str) -> Word:
    """The letters that lead to a pair, and one more."""
    letters = [letter]
    while (step := came[pair]) is not None:
        pair, before = step
        letters.append(before)
    return tuple(reversed(letters))


def differences(a: Mealy, b: Mealy, most: int) -> Iterator[tuple[Word, Output, Output]]:
    """Shortest words after which the two give different outputs, each pair of outputs for a letter once, at most so many."""
    theirs = set(b.letters)
    letters = [letter for letter in a.letters if letter in theirs]
    came: Came = {(0, 0): None}
    waiting: deque[Pair] = deque([(0, 0)])
    told: set[tuple[str, Output, Output]] = set()
    while waiting:
        pair = waiting.popleft()
        for letter in letters:
            (to_left, out_left), (to_right, out_right) = a.step[pair[0], letter], b.step[pair[1], letter]
            if out_left != out_right:
                key = letter, out_left, out_right
                if key not in told:
                    told.add(key)
                    yield _word(came, pair, letter), out_left, out_right
                    if len(told) >= most:
                        return
            elif (to_left, to_right) not in came:
                came[to_left, to_right] = pair, letter
                waiting.append((to_left, to_right))


def apart(machine: Mealy, one: int, other: int) -> Optional[Word]:
    """A shortest word that tells two states of a machine apart; None when none does."""
    came: Came = {(one, other): None}
    waiting: deque[Pair] = deque([(one, other)])
    while waiting:
        pair = waiting.popleft()
        for letter in machine.letters:
            (to_left, out_left), (to_right, out_right) = machine.step[pair[0], letter], machine.step[pair[1], letter]
            if out_left != out_right:
                return _word(came, pair, letter)
            if (to_left, to_right) not in came and to_left != to_right:
                came[to_left, to_right] = pair, letter
                waiting.append((to_left, to_right))
    return None
