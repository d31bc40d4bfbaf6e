"""Differences between conforming devices that were decided: what the standard leaves open, and where readings of it differ."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

FILE = "decided.toml"
_OVER = "rest"


@dataclass(frozen=True)
class Decision:
    """What devices may do differently. letters: after which of them; before: letters of which one came earlier in the word, since
    all was over for the last time, or with ever since the word began (empty: any); items: what one did and the other did not.
    All are shell patterns.
    """

    cls: str  # "choice" or "erratum"
    clause: str
    reason: str
    letters: tuple[str, ...]
    items: tuple[str, ...]
    before: tuple[str, ...] = ()
    erratum: str = ""
    ends: bool = False  # from there on the two are in different states: the rest of the word says nothing
    ever: bool = False
    both: bool = False  # each did one of the items: they differ in how, not in whether

    def covers(self, letters: tuple[str, ...], at: int, item: str, sides: tuple[tuple[str, ...], ...] = ()) -> bool:
        """Whether it says that devices may differ in this. sides: all that only one, and only the other did."""
        earlier = letters[:at] if self.ever else _since_rest(letters[:at])
        return (
            any(fnmatchcase(letters[at], glob) for glob in self.letters)
            and self._names(item)
            and (not self.before or any(fnmatchcase(name, glob) for name in earlier for glob in self.before))
            and (not self.both or all(any(self._names(done) for done in side) for side in sides))
        )

    def _names(self, item: str) -> bool:
        return any(fnmatchcase(item, glob) for glob in self.items)

    def __str__(self) -> str:
        return f"{self.erratum or self.clause}: {self.reason}"


def _since_rest(letters: tuple[str, ...]) -> tuple[str, ...]:
    """The letters after the last one that lets all that began be over."""
    return letters[len(letters) - letters[::-1].index(_OVER) :] if _OVER in letters else letters


def decisions(words: Any) -> list[Decision]:
    """Those of the file beside the letters. Raises ValueError for an entry that is no decision."""
    path = Path(words.__file__).parent / FILE
    found = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["decided"]:
        made = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
        decision = Decision(**made)
        if decision.cls not in ("choice", "erratum") or (decision.cls == "erratum") != bool(decision.erratum):
            raise ValueError(f"{path}: {decision.clause}: cls is choice, or erratum with the erratum's id")
        found.append(decision)
    return found
