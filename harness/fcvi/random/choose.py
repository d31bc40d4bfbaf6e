"""Chooses the next letter by what the tester knows of the device, so that most words go deep."""

from __future__ import annotations

from random import Random
from typing import Any, Mapping, Optional

from fcvi.engine import pics as pics_module

_CLEAN_WORDS, _SETTINGS = 0.6, 0.6
_STRAY = 0.3  # how often a letter of another word comes out of place
_LASTING = 0.8  # and how often another one follows it
_LONGEST = 26


class Chooser:
    """The letters of one word, by its seed. The end of a word in which something was out of place shows that the device lives."""

    def __init__(self, words: Any, pics: Mapping[str, Any], seed: int) -> None:
        self._words = words
        self._rng = rng = Random(f"letters:{seed}")
        self._able = able(words, pics)
        self._played = [n for n in self._able if words.LETTERS[n].play is not None]
        self._owed = [n for n in self._able if words.LETTERS[n].duty is not None]
        self._clean = rng.random() < _CLEAN_WORDS
        self._left = rng.randint(6, _LONGEST)
        self._ending: Optional[list[str]] = None
        self._server = bool(pics["server"])
        self.settings = self._settings(pics)

    def _settings(self, pics: Mapping[str, Any]) -> tuple[str, ...]:
        rng, words = self._rng, self._words
        if rng.random() > _SETTINGS:
            return ()
        by_kind: dict[str, list[str]] = {}
        for name, setting in words.SETTINGS.items():
            if words.applicable(name, pics):
                by_kind.setdefault(setting.kind, []).append(name)
        kinds = sorted(by_kind)
        chosen = [rng.choice(by_kind[kind]) for kind in kinds if rng.random() < 0.35]
        return tuple(chosen)

    def next(self, world: Any) -> Optional[str]:
        """The next letter."""
        if self._ending is not None:
            return self._ending.pop(0) if self._ending else None
        self._left -= 1
        if self._left < 0:
            self._ending = self._end(world)
            return self.next(world)
        if not self._clean and self._rng.random() < (_LASTING if world.disturbed and world.murky else _STRAY):
            return self._rng.choice(self._played)
        if world.murky:
            return "rest"
        return self._in_place(world)

    def _in_place(self, world: Any) -> str:
        letters = self._words.LETTERS
        phase = world.slot.phase
        fit = [letters[n] for n in self._owed if phase in letters[n].phases and letters[n].when(world)]
        if not fit:
            return "other" if len(world.slots) < 5 else "rest"
        name: str = self._rng.choices(fit, [letter.weight for letter in fit])[0].name
        return name

    def _end(self, world: Any) -> list[str]:
        if not world.disturbed and not world.shaken:
            return []
        login = ["plogi"] if world.linked else []
        setup = ["wait", "rqst", "accept", "resp2"] if self._server else ["request", "resp1", "resp3"]
        return ["rest", *login, *setup, "recv", "send", "post", "vipdisc"]


def able(words: Any, pics: Mapping[str, Any]) -> list[str]:
    """Letters that a device with these PICS can be asked for."""
    return [n for n, letter in words.LETTERS.items() if not letter.needs or pics_module.applies(letter.needs, pics)]
