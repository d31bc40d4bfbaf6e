"""Differences between conforming devices that were decided: what the standard leaves open, and where readings of it differ."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

FILE = "decided.toml"


@dataclass(frozen=True)
class Decision:
    """What devices may do differently. letters: after which of them; before: letters of which one came earlier in the word (empty:
    any); items: what one did and the other did not. All are shell patterns.
    """

    cls: str  # "choice" or "erratum"
    clause: str
    reason: str
    letters: tuple[str, ...]
    items: tuple[str, ...]
    before: tuple[str, ...] = ()
    erratum: str = ""
    ends: bool = False  # from there on the two are in different states: the rest of the word says nothing

    def covers(self, letters: tuple[str, ...], at: int, item: str) -> bool:
        """Whether it says that devices may differ in this."""
        return (
            any(fnmatchcase(letters[at], glob) for glob in self.letters)
            and any(fnmatchcase(item, glob) for glob in self.items)
            and (not self.before or any(fnmatchcase(name, glob) for name in letters[:at] for glob in self.before))
        )

    def __str__(self) -> str:
        return f"{self.erratum or self.clause}: {self.reason}"


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
