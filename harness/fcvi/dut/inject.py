"""``--inject COMMAND``: the laboratory's own means to lose, damage or cut what passes between the ends of a run of calls alone."""

from __future__ import annotations

import shlex
import subprocess
from typing import Any, Optional

from .base import AttachError, DutError

FAULTS = ("nothing", "lose", "corrupt", "cut", "link-down", "link-up")
_CANNOT = 4  # exit status: this fault cannot be made
_PATIENCE_S = 60.0


class Injector:
    """The command is run once for each fault, as ``COMMAND FAULT FROM``, without a shell. It prints a number or nothing."""

    def __init__(self, command: str) -> None:
        self._command = command
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise AttachError(f"--inject {command}: {error}") from error
        if not self._words:
            raise AttachError("--inject: name a command")

    def __call__(self, params: dict[str, Any]) -> dict[str, Any]:
        """The result of the method ``inject``. Raises DutError when the command fails."""
        words = [*self._words, str(params.get("fault")), str(params.get("from", 0))]
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise DutError(f"--inject {self._command}: no end within {_PATIENCE_S:.0f} s") from error
        except OSError as error:
            raise DutError(f"--inject {self._command}: {error.strerror}") from error
        if done.returncode not in (0, _CANNOT):
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise DutError(f"--inject {self._command}: status {done.returncode}{': ' + said[-1][:120] if said else ''}")
        return {"done": done.returncode == 0, "hits": _number(done.stdout)}


def _number(said: bytes) -> Optional[int]:
    text = said.strip()[:12]
    return int(text) if text.isdigit() else None
