"""The letters by name: where each is in place, what it does, and what the device owes for it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional

from .world import World

Act = Callable[[World], None]
Duty = Callable[[World], str]


@dataclass(frozen=True)
class Letter:
    """One letter.

    play: what it does wherever it comes; it does nothing where it makes no sense. duty: what it does in these phases, with what a
    conforming device owes for it; gives the phase that follows. needs: PICS. weight: how often a word has it.
    """

    name: str
    play: Optional[Act] = None
    duty: Optional[Duty] = None
    phases: frozenset[str] = frozenset()
    weight: int = 4
    needs: str = ""
    when: Callable[[World], bool] = lambda world: True  # beside the phase, for the duty


LETTERS: dict[str, Letter] = {}


def played(name: str, weight: int = 1, needs: str = "") -> Callable[[Act], Act]:
    """Declare what a letter does."""

    def declare(act: Act) -> Act:
        old = LETTERS.get(name)
        LETTERS[name] = (
            Letter(name, act, needs=needs, weight=weight)
            if old is None
            else Letter(name, act, old.duty, old.phases, old.weight, old.needs, old.when)
        )
        return act

    return declare


def owed(
    name: str, phases: str, weight: int = 4, needs: str = "", when: Callable[[World], bool] = lambda world: True
) -> Callable[[Duty], Duty]:
    """Declare what a letter does in these phases, and what is owed for it there."""

    def declare(duty: Duty) -> Duty:
        old = LETTERS.get(name)
        LETTERS[name] = Letter(name, old.play if old else None, duty, frozenset(phases.split()), weight, needs, when)
        return duty

    return declare


#: Alphabets in which words of ``fcvi random`` wander, by role.
WANDER: dict[str, tuple[str, ...]] = {
    "server": ("wait", "rqst", "accept", "reject", "resp2", "disc", "vipdisc", "discresp", "abts", "retry", "r-a-tov"),
    "client": ("request", "resp1", "resp1-04", "resp3", "disc", "vipdisc", "discresp", "baacc", "r-a-tov"),
    "peer": ("peer", "peer-rqst", "resp1", "resp1-04", "resp2", "resp3", "vipdisc", "discresp", "r-a-tov"),
}

#: Alphabets for ``fcvi learn``, by role: each is small enough that a device has few states over it.
ALPHABETS: dict[str, tuple[str, ...]] = {
    "server": ("wait", "rqst", "accept", "reject", "resp2", "disc", "vipdisc", "discresp", "retry"),
    "server-timers": ("wait", "rqst", "accept", "resp2", "vipdisc", "discresp", "r-a-tov"),
    "client": ("request", "resp1", "resp1-04", "resp3", "disc", "vipdisc", "discresp"),
    "client-timers": ("request", "resp1", "resp3", "baacc", "r-a-tov"),
    "peer": ("peer", "resp1", "resp1-04", "resp3", "disc", "vipdisc", "discresp"),
}
