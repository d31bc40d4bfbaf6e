"""The fcvi command."""

from __future__ import annotations

import gc
import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional, Sequence


def _without_options(words: Sequence[str]) -> Optional[Callable[[], int]]:
    """The work of `fcvi lint FILE...`: loading argparse would take longer than all but large captures do. None: something else."""
    if len(words) < 2 or words[0] != "lint" or any(word.startswith("-") and word != "-" for word in words):
        return None
    from .commands import lint

    return lambda: lint.run(lint.Arguments(words[1:]))


def _parsed(words: Sequence[str], standards: Callable[[], None]) -> Callable[[], int]:
    from .arguments import parser

    args = parser(words[0] if words else "").parse_args(words)
    standards()
    return lambda: int(args.run(args))


def main(argv: Optional[Sequence[str]] = None, standards: Callable[[], None] = lambda: None) -> int:
    """Run one command; returns its exit status. standards registers those that there are (engine/protocol.py)."""
    words = sys.argv[1:] if argv is None else argv
    work = _without_options(words) or _parsed(words, standards)
    gc.set_threshold(100_000, 50, 100)  # a run keeps nearly all that it makes: looking for garbage is a seventh of its time
    for stream in (sys.stdout, sys.stderr):  # what a DUT or a file says need not be made of characters
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = work()
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("fcvi: interrupted", file=sys.stderr)
        return 3
