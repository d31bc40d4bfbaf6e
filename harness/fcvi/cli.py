"""The fcvi command."""

from __future__ import annotations

import gc
import sys

from .engine import interrupt, output
from .engine.status import status_of
from .engine.words import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional, Sequence


def _plain(words: Sequence[str]) -> Optional[Callable[[], int]]:
    """The work of `fcvi lint FILE...` and `fcvi flows FILE...`: loading argparse would take longer than all but large captures do.
    None: something else."""
    if not words or words[0] not in ("lint", "flows"):
        return None
    files = words[1:]
    if not files or any(not word or (word.startswith("-") and word != "-") for word in files):
        return None
    if words[0] == "flows":
        from .commands import flows as command
    else:
        from .commands import lint as command  # type: ignore[no-redef]
    args = command.Arguments(files)
    return lambda: command.run(args)


def _parsed(words: Sequence[str], standards: Callable[[], None]) -> Callable[[], int]:
    from .arguments import parser

    args = parser(words[0] if words else "").parse_args(words)
    if getattr(args, "books", True):  # a command that looks nothing up in one says so in its parser
        standards()
    return lambda: int(args.run(args))


def _status(words: Sequence[str], standards: Callable[[], None]) -> int:
    def work() -> int:
        command = _plain(words) or _parsed(words, standards)
        gc.set_threshold(100_000, 50, 100)  # a run keeps nearly all that it makes: looking for garbage is a seventh of its time
        return command()

    return status_of(work)


def main(argv: Optional[Sequence[str]] = None, standards: Callable[[], None] = lambda: None) -> int:
    """Run one command; returns its exit status. standards registers those that there are (engine/protocol.py).

    Without argv it is the command of this process, which then owns its standard streams and its signals.
    """
    if argv is not None:
        status = _status(argv, standards)
        sys.stdout.flush()
        return status
    output.install()
    try:
        interrupt.install()
        return output.settle(_status(sys.argv[1:], standards))
    except KeyboardInterrupt as stop:
        complain(f"interrupted by {interrupt.words(stop)}")
        return output.settle(3)
