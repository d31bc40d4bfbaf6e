"""Makes a word that found something shorter, as long as it finds the same."""

from __future__ import annotations

from typing import Callable

from .word import Word

MOST_TRIES = 300  # times that a word is played to make it shorter


def shrink(word: Word, still: Callable[[Word], bool]) -> Word:
    """The shortest word that leaving out letters and settings comes to; still: whether a word finds the same.

    Letters go in halves, quarters and so on, until no single one can go; then settings one by one.
    """
    tries = 0

    def same(other: Word) -> bool:
        nonlocal tries
        tries += 1
        return tries <= MOST_TRIES and still(other)

    size = max(1, len(word.letters) // 2)
    while True:
        at, before = 0, len(word.letters)
        while at < len(word.letters):
            rest = Word(word.settings, word.letters[:at] + word.letters[at + size :], word.seed)
            if rest.letters and same(rest):
                word = rest
            else:
                at += size
        if size > 1:
            size = max(1, size // 2)
        elif len(word.letters) == before:
            break
    for name in word.settings:
        fewer = Word(tuple(s for s in word.settings if s != name), word.letters, word.seed)
        if same(fewer):
            word = fewer
    return word
