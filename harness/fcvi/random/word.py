"""A word: settings, and the letters one after the other, as people write it: ``class2 reception: wait rqst accept``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable


@dataclass(frozen=True)
class Word:
    """What is played. seed: of the values that letters choose (data, handles)."""

    settings: tuple[str, ...]
    letters: tuple[str, ...]
    seed: int = 1

    def __str__(self) -> str:
        letters = " ".join(self.letters)
        return f"{' '.join(self.settings)}: {letters}" if self.settings else letters


def parse(text: str, letters: Iterable[str], settings: Iterable[str], seed: int = 1) -> Word:
    """A word as str() gives it. Raises ValueError, in one line, for a letter or a setting that there is not."""
    head, colon, tail = text.partition(":")
    if not colon:
        head, tail = "", head
    word = Word(tuple(head.split()), tuple(tail.split()), seed)
    for given, known, what in ((word.settings, set(settings), "setting"), (word.letters, set(letters), "letter")):
        for name in given:
            if name not in known:
                raise ValueError(f"{name!r} is no {what}; there are: {', '.join(sorted(known))}")
    if not word.letters:
        raise ValueError("a word has one letter at least")
    return word
