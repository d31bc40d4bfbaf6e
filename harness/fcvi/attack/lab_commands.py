"""Runs the commands of a lab for a device under attack: one tells whether it is well, one starts it again."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Callable

from fcvi.engine.attachment import DutError

from .blackbox import Care

_BETWEEN_S = 0.5  # until attaching is tried again
_LONGEST_S = 60.0  # a command that takes longer is ended


class Commands(Care):
    """Commands of the shell. patience_s: how long attaching is tried again after the device died."""

    def __init__(self, health: str = "", restart: str = "", patience_s: float = 0.0) -> None:
        self._health, self._restart, self._patience_s = health, restart, patience_s

    def ill(self) -> str:
        if not self._health:
            return ""
        status = _run(self._health)
        return "" if status == 0 else f"the health command says that the device is ill: {_words(status)}"

    def revive(self, again: Callable[[], None]) -> None:
        if self._restart and (status := _run(self._restart)) != 0:
            raise DutError(f"the restart command failed: {_words(status)}")
        end = time.monotonic() + self._patience_s
        while True:
            try:
                return again()
            except DutError:
                if time.monotonic() >= end:
                    raise
            time.sleep(_BETWEEN_S)


def _run(command: str) -> int | None:
    """The exit status; None when the command took too long. What it prints goes to standard error."""
    try:
        done = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, stdout=sys.stderr, timeout=_LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def _words(status: int | None) -> str:
    if status is None:
        return f"it did not end within {_LONGEST_S:.0f} s"
    return f"it was ended by signal {-status}" if status < 0 else f"it ended with status {status}"
