"""One line on a terminal that says how far a command is."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_EVERY_S = 0.5


class Line:
    """mode: of --progress. words: what is said, of what ``tell`` is told."""

    def __init__(self, mode: str, words: Callable[..., str]) -> None:
        self._on = mode == "always" or (mode == "auto" and sys.stderr.isatty())
        self._words, self._next, self._shown = words, time.monotonic() + 1, False

    def tell(self, *so_far: Any) -> None:
        """So far."""
        if self._on and time.monotonic() >= self._next:
            self._next, self._shown = time.monotonic() + _EVERY_S, True
            print(f"\r{self._words(*so_far)} ", end="", file=sys.stderr)

    def end(self) -> None:
        """Leave the line."""
        if self._shown:
            print(file=sys.stderr)
