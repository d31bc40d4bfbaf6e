"""Answers queries: by what is known already, or by the device. What it said is kept in a file, so that a run can go on."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Optional

from fcvi.dut.base import DutError
from fcvi.engine.files import FileError, damage, read_file
from fcvi.random.play import Player
from fcvi.random.word import Word as Played

from .mealy import Output, Word


class Exhausted(Exception):
    """No more queries are allowed, for the reason given."""


class Unsteady(Exception):
    """The device answered the same word in two ways."""


class _Node:
    __slots__ = ("output", "next")

    def __init__(self, output: Output) -> None:
        self.output = output
        self.next: dict[str, _Node] = {}


class Teacher:
    """A device with these settings. queries: words that were played on it; known: words that the file had."""

    def __init__(self, player: Player, settings: Word, queries: Optional[int], seconds: Optional[float]) -> None:
        self._player, self._settings = player, settings
        self._most, self._seconds = queries, seconds
        self._started = time.monotonic()
        self._root = _Node(())
        self.queries = self.letters = self.known = 0
        self._new: list[tuple[Word, list[Output]]] = []

    def ask(self, word: Word) -> list[Output]:
        """The outputs along a word. Raises Exhausted, Unsteady, DutError."""
        answer = self._recall(word)
        if answer is not None:
            return answer
        if self._most is not None and self.queries >= self._most:
            raise Exhausted(f"--queries {self._most}")
        if self._seconds is not None and time.monotonic() - self._started > self._seconds:
            raise Exhausted(f"--seconds {self._seconds:g}")
        self.queries += 1
        self.letters += len(word)
        played = self._player.play(Played(self._settings, word, 1), judged=False)
        if played.error:
            raise DutError(played.error)
        if played.refused:
            raise Exhausted(f"{played.refused}; leave out the letters that need it (--letters)")
        if len(played.outputs) != len(word):
            raise DutError(f"the word {' '.join(word)} could not be played to its end")
        self._learn(word, played.outputs)
        self._new.append((word, played.outputs))
        return played.outputs

    def _recall(self, word: Word) -> Optional[list[Output]]:
        node, outputs = self._root, []
        for letter in word:
            following = node.next.get(letter)
            if following is None:
                return None
            outputs.append(following.output)
            node = following
        return outputs

    def _learn(self, word: Word, outputs: list[Output]) -> None:
        node = self._root
        for index, (letter, output) in enumerate(zip(word, outputs)):
            following = node.next.setdefault(letter, _Node(output))
            if following.output != output:
                raise Unsteady(f"{' '.join(word[: index + 1])}: {' '.join(following.output)}, then {' '.join(output)}")
            node = following

    # ---- the file ----

    def head(self) -> dict[str, Any]:
        """What a file of answers has to be about."""
        dut = self._player.dut
        return {"fcvi-learn-answers": 1, "device": dut.implementation, "version": dut.version, "settings": list(self._settings)}

    def load(self, path: Path) -> None:
        """Take in what an earlier run was told. Raises FileError for a file of another device, or of no run."""
        if not os.path.lexists(path):
            return
        try:
            lines = read_file(path).decode("utf-8").splitlines()
        except ValueError as error:
            raise FileError(f"{path}: not UTF-8; remove it to begin anew") from error
        try:
            if not lines or json.loads(lines[0]) != self.head():
                raise FileError(f"{path}: answers of another device, version or setting; name another --answers file")
            for line in lines[1:]:
                word, outputs = json.loads(line)
                self._learn(tuple(word), [tuple(o) for o in outputs])
                self.known += 1
        except (ValueError, TypeError, RecursionError) as error:
            raise FileError(f"{path}: damaged ({damage(error)}); remove it to begin anew") from error
        except Unsteady as error:
            raise FileError(f"{path}: contradicts itself: {error}; remove it to begin anew") from error

    def save(self, path: Path) -> None:
        """Add what this run was told. Raises OSError."""
        begins = not path.exists()
        with path.open("a", encoding="utf-8") as file:
            if begins:
                file.write(json.dumps(self.head()) + "\n")
            for word, outputs in self._new:
                file.write(json.dumps([word, outputs]) + "\n")
        self._new.clear()
