"""Colour for people who look at a terminal: never in a file, a pipe or where NO_COLOR asks for none (no-color.org)."""

from __future__ import annotations

import os

from .output import allow_colour

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class _Stream(Protocol):
        def isatty(self) -> bool:
            """Whether a terminal shows it."""


_STYLES = {"title": "1", "violation": "1;31", "malformed": "1;31", "notice": "33", "place": "36", "quiet": "2"}


class Paint:
    """Paints words, or leaves them as they are."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, words: str, style: str) -> str:
        """The words in a style of the table above; of another style as they are."""
        code = _STYLES.get(style) if self.on and words else None
        return f"\x1b[{code}m{words}\x1b[0m" if code else words


PLAIN = Paint(False)


def paint_for(stream: _Stream) -> Paint:
    """Colour when the stream is a terminal that has some, and nobody asks for none."""
    environment = os.environ
    on = stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM", "") not in ("", "dumb")
    if on:
        allow_colour()
    return Paint(on)
