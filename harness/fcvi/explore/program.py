"""Running ``fcvi-explore``, the C program that explores, and reading what it says: one JSON object a line."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence

from fcvi.engine.words import Ending

PROGRAM = Path(__file__).resolve().parents[3] / "build" / "fcvi-explore"
_STATUSES = (0, 1, 4)  # nothing found, a violation, a bound reached


class ExplorationError(Ending):
    """The program cannot be run, or failed."""


@dataclass(frozen=True)
class Scenario:
    """What can be explored."""

    name: str
    title: str


@dataclass
class Outcome:
    """One scenario explored: the bounds and totals, and for a violation the shortest way to it."""

    summary: dict[str, Any]
    path: list[dict[str, Any]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The scenario's."""
        return str(self.summary["scenario"])

    @property
    def violation(self) -> bool:
        """Whether a rule is broken."""
        return bool(self.summary["result"] == "violation")


def _lines(arguments: Sequence[str]) -> list[dict[str, Any]]:
    try:
        done = subprocess.run([str(PROGRAM), *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise ExplorationError(f"{PROGRAM}: {error.strerror}; `make` builds it") from error
    if done.returncode not in _STATUSES:
        raise ExplorationError(" ".join(done.stderr.split()) or f"fcvi-explore ended with status {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def scenarios() -> list[Scenario]:
    """Every scenario, in the order in which they are explored."""
    return [Scenario(line["scenario"], line["title"]) for line in _lines(["list"])]


def explore(name: str, settings: Mapping[str, object]) -> Outcome:
    """Explore one scenario."""
    found = _lines([*(f"{key}={value}" for key, value in settings.items()), name])
    return Outcome(found[0], found[1:])


def explore_all(
    names: Sequence[str], settings: Mapping[str, object], jobs: int, done: Optional[Callable[[Outcome], None]] = None
) -> list[Outcome]:
    """Several, up to `jobs` at a time, told and returned in the order of their names."""
    outcomes = []
    with ThreadPoolExecutor(jobs) as pool:
        for outcome in pool.map(lambda name: explore(name, settings), names):
            outcomes.append(outcome)
            if done is not None:
                done(outcome)
    return outcomes
