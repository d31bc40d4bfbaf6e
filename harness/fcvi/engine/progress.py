"""Shows how far a long pass over a capture is: rate and time left, on a terminal only."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

_PATIENCE = 1.0  # seconds without a word


class Progress:
    """One pass. Nothing is shown, or loaded, before it has taken a second."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._start = time.monotonic()
        self._bar: Optional[Any] = None
        self._task: Any = None

    def tell(self, frames: int, done: int, size: int) -> None:
        """So many frames; so many bytes of a file of size bytes (0: not known)."""
        spent = time.monotonic() - self._start
        if spent < _PATIENCE:
            return
        if self._bar is None:
            self._show(size)
        rate = f"{frames:,} frames, {frames / spent:,.0f}/s"
        self._bar.update(self._task, completed=done, rate=rate)  # type: ignore[union-attr]

    def _show(self, size: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress as Bar, TaskProgressColumn, TextColumn, TimeRemainingColumn

        known = [BarColumn(bar_width=20), TaskProgressColumn(), TimeRemainingColumn()] if size else []
        self._bar = Bar(
            TextColumn("{task.description}", markup=False), *known, TextColumn("{task.fields[rate]}"),
            console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty(),
        )  # fmt: skip
        self._task = self._bar.add_task(self._path, total=size or None, rate="")
        self._bar.start()

    def end(self) -> None:
        """Take it off the terminal."""
        if self._bar is not None:
            self._bar.stop()


def wanted() -> bool:
    """Somebody is there to see it."""
    return sys.stderr.isatty()
