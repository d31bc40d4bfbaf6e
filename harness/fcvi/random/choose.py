"""Chooses the next letter by what the tester knows of the device, so that most words go deep."""

from __future__ import annotations

from random import Random
from typing import Any, Mapping, Optional

from fcvi.engine import pics as pics_module

#: How often a word keeps to its place, wanders in the alphabet of one role, or anywhere.
_KINDS = {"in-place": 0.35, "narrow": 0.45, "wide": 0.2}
_SETTINGS = 0.5
_NARROW = 12  # letters of a word that wanders in one role
_STRAY = 0.3  # how often a letter of another word comes out of place
_STRAY_SHALLOW, _STRAY_DEEP = 0.1, 0.7  # of one that wanders in one role: before the VI is Connected, and then
_ROLES = {"server": 2, "client": 1.5, "peer": 1}
_LASTING = 0.8  # and how often another one follows it
_LONGEST = 26
_PROBED = 0.8  # how many words that wander in one role end without a look whether the device lives


class Chooser:
    """The letters of one word, by its seed. The end of a word in which something was out of place shows that the device lives."""

    def __init__(self, words: Any, pics: Mapping[str, Any], seed: int) -> None:
        self._words = words
        self._rng = rng = Random(f"letters:{seed}")
        self._able = able(words, pics)
        self._played = [n for n in self._able if words.LETTERS[n].play is not None]
        self._owed = [n for n in self._able if words.LETTERS[n].duty is not None]
        self._kind = rng.choices(list(_KINDS), list(_KINDS.values()))[0]
        self._left = rng.randint(6, _NARROW if self._kind == "narrow" else _LONGEST)
        if self._kind == "narrow":
            roles = [role for role, names in words.WANDER.items() if set(names) <= set(self._able)]
            narrow = words.WANDER[rng.choices(roles, [_ROLES[r] for r in roles])[0]] if roles else ()
            self._played = [n for n in narrow if words.LETTERS[n].play is not None] or self._played
            self._owed = [n for n in narrow if words.LETTERS[n].duty is not None] or self._owed
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
        if self._kind == "narrow" and world.murky:
            return self._out_of_place(world)
        if self._kind == "narrow":
            stray = self._rng.random() < (_STRAY_DEEP if world.slot.phase in ("connected", "acked") else _STRAY_SHALLOW)
            return self._out_of_place(world) if stray else self._in_place(world)
        if self._kind != "in-place" and self._rng.random() < (_LASTING if world.disturbed and world.murky else _STRAY):
            return self._out_of_place(world)
        if world.murky:
            return "rest"
        return self._in_place(world)

    def _out_of_place(self, world: Any) -> str:
        weights = [self._words.apt.weight(world, name) for name in self._played]
        return self._rng.choices(self._played, weights)[0] if any(weights) else "r-a-tov"

    def _in_place(self, world: Any) -> str:
        letters = self._words.LETTERS
        phase = world.slot.phase
        fit = [letters[n] for n in self._owed if phase in letters[n].phases and letters[n].when(world)]
        if not fit:
            return "other" if len(world.slots) < 5 else "rest"
        name: str = self._rng.choices(fit, [letter.weight for letter in fit])[0].name
        return name

    def _end(self, world: Any) -> list[str]:
        if not (world.disturbed or world.shaken) or (self._kind == "narrow" and self._rng.random() < _PROBED):
            return []
        login = ["plogi"] if world.linked else []
        setup = ["wait", "rqst", "accept", "resp2"] if self._server else ["request", "resp1", "resp3"]
        return ["rest", *login, *setup, "recv", "send", "post", "vipdisc"]


def able(words: Any, pics: Mapping[str, Any]) -> list[str]:
    """Letters that a device with these PICS can be asked for."""
    return [n for n, letter in words.LETTERS.items() if not letter.needs or pics_module.applies(letter.needs, pics)]
