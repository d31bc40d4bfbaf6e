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


class _Programs:
    """Those that run: an interrupt of the command ends them, for a thread that waits for one hears of no signal."""

    def __init__(self) -> None:
        self._ended = False
        self._running: set[subprocess.Popen[str]] = set()

    def lines(self, arguments: Sequence[str]) -> list[dict[str, Any]]:
        """What one says, when it ends."""
        try:
            program = subprocess.Popen([str(PROGRAM), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        except OSError as error:
            raise ExplorationError(f"{PROGRAM}: {error.strerror}; `make` builds it") from error
        with program:
            self._running.add(program)
            if self._ended:
                program.kill()
            said, complaint = program.communicate()
            self._running.discard(program)
        if program.returncode not in _STATUSES:
            raise ExplorationError(" ".join(complaint.split()) or f"fcvi-explore ended with status {program.returncode}")
        return [json.loads(line) for line in said.splitlines()]

    def end(self) -> None:
        """No other begins, either."""
        self._ended = True
        for program in list(self._running):
            program.kill()


def scenarios() -> list[Scenario]:
    """Every scenario, in the order in which they are explored."""
    return [Scenario(line["scenario"], line["title"]) for line in _Programs().lines(["list"])]


def explore_all(
    names: Sequence[str], settings: Mapping[str, object], jobs: int, done: Optional[Callable[[Outcome], None]] = None
) -> list[Outcome]:
    """Several, up to `jobs` at a time, told and returned in the order of their names."""
    outcomes = []
    programs = _Programs()

    def explore(name: str) -> Outcome:
        found = programs.lines([*(f"{key}={value}" for key, value in settings.items()), name])
        return Outcome(found[0], found[1:])

    with ThreadPoolExecutor(jobs) as pool:
        try:
            for outcome in pool.map(explore, names):
                outcomes.append(outcome)
                if done is not None:
                    done(outcome)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            programs.end()
            raise
    return outcomes
