"""Limits how much of the suite's time, memory and disk a device may take; more is verdict ``error``."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields

from .attachment import DutError
from .words import number

_MB = 1_000_000
_ANSWER = 4_000  # bytes that any request may bring: its answer, a completion and a frame, with what each costs in memory


@dataclass(frozen=True)
class Limits:
    """Megabytes that a device may send and seconds that it may take, in one step, one case and one run; megabytes of log.

    Of a case only what goes beyond the usual answers counts.
    """

    step_mb: int = 4
    case_mb: int = 16
    run_mb: int = 8_000
    log_mb: int = 16
    case_s: int = 1_800
    run_s: int = 86_400


def limits_of(words: str) -> Limits:
    """NAME=VALUE,...: "case-s=60,log-mb=1". Raises ValueError."""
    known = {field.name.replace("_", "-"): field.name for field in fields(Limits)}
    given = {}
    for word in words.split(","):
        name, _, value = word.partition("=")
        found = number(value, 1, 999_999_999)
        if name.strip() not in known or found is None:
            raise ValueError(f"must be NAME=NUMBER,... with the names {', '.join(known)}")
        if known[name.strip()] in given:
            raise ValueError(f"names {name.strip()} twice")
        given[known[name.strip()]] = found
    return Limits(**given)


class Budget:
    """What is left of the limits. It outlives the connections of one attachment."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._step = self._case = self._run = self._notes = 0
        self._case_since = self._run_since = time.monotonic()

    def next_step(self) -> None:
        """The suite asks for something."""
        self._step = -_ANSWER * self._notes
        self._case = max(0, self._case - _ANSWER * (1 + self._notes))
        self._notes = 0

    def next_note(self) -> None:
        """The suite tells something, which a device may answer as it answers a request: each byte of a stream by a window."""
        self._notes += 1

    def next_case(self) -> None:
        """A case begins."""
        self._step = self._case = self._notes = 0
        self._case_since = time.monotonic()

    def took(self, size: int) -> None:
        """The device sent so many bytes. Raises DutError when they are too many."""
        self._step += size
        self._case += size
        self._run += size
        limits = self.limits
        for name, spent, most in (
            ("step", self._step, limits.step_mb), ("case", self._case, limits.case_mb), ("run", self._run, limits.run_mb)
        ):  # fmt: skip
            if spent > most * _MB:
                raise DutError(f"the DUT floods: it sent over {most} MB in one {name} (budget {name}-mb)")

    def check_time(self) -> None:
        """Raises DutError when a case, or the run, has taken too long."""
        now = time.monotonic()
        for name, since, most in (
            ("case", self._case_since, self.limits.case_s), ("run", self._run_since, self.limits.run_s)
        ):  # fmt: skip
            if now - since > most:
                raise DutError(f"the DUT took over {most} s for one {name} (budget {name}-s)")
