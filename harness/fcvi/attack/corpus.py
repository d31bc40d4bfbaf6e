"""The recipes that showed something new, in memory and, where asked for, in a directory: a later campaign begins with them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Optional

from fcvi.engine.files import FileError, damage, encoded, read_json, write_file

from .genome import Gene, Genome, as_json, genome_of, vary
from .novelty import Map

_FRESH = 0.35  # of the batches are made by chance: what no recipe leads to is found too


@dataclass
class Kept:
    """A recipe, how much it showed that was new, and how often it had children."""

    state: str
    genome: Genome
    new: int
    chosen: int = 0


class Corpus:
    """Recipes by state, and all signals seen."""

    def __init__(self, folder: Optional[Path] = None) -> None:
        self.known = Map()
        self.kept: list[Kept] = []
        self._folder = folder
        self._waiting: list[Kept] = []
        if folder is not None:
            self._waiting = [_read(path) for path in sorted(folder.glob("*.recipe.json"))]

    def take_up(self, known: Map) -> None:
        """Go on from an earlier campaign: its recipes are the pool, and need not be played again to be known."""
        self.known = known
        self.kept, self._waiting = self.kept + self._waiting, []

    def next(self, state: str, rng: Random, frames: int) -> list[Optional[Gene]]:
        """The recipe of the next batch. None: a gene is chosen when its turn comes."""
        for kept in self._waiting:  # what an earlier campaign kept is played once as it is
            if kept.state == state:
                self._waiting.remove(kept)
                return list(kept.genome)
        pool = [kept for kept in self.kept if kept.state == state]
        if not pool or rng.random() < _FRESH:
            return [None] * frames
        parent = rng.choices(pool, [kept.new / (1 + kept.chosen) for kept in pool])[0]
        parent.chosen += 1
        return vary(parent.genome, rng.choice(self.kept).genome, rng, 2 * frames)

    def keep(self, state: str, genome: Genome, new: int) -> None:
        """This recipe showed something new."""
        kept = Kept(state, genome, new)
        self.kept.append(kept)
        if self._folder is not None:
            text = json.dumps({"fcvi-recipe": 1, "state": state, "genes": as_json(genome)}) + "\n"
            self._folder.mkdir(parents=True, exist_ok=True)
            write_file(self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.recipe.json", encoded(text))


def _read(path: Path) -> Kept:
    try:
        data = read_json(path)
        if data["fcvi-recipe"] != 1:
            raise ValueError("another version")
        return Kept(str(data["state"]), genome_of(data["genes"]), 1)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise FileError(f"{path}: not a recipe of fcvi fuzz ({damage(error)}); take it out of the corpus directory") from error
