"""Work on several files at a time, each in a process of its own; what they print comes in the order of the files."""

from __future__ import annotations

import os
import signal
import sys

from . import interrupt
from .output import lost
from .words import complain, number, why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, Callable, Iterator, Sequence


_MOST = 1024


def number_of_jobs(value: str) -> int:
    """For the command line."""
    found = number(value, 1, _MOST)
    if found is None:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"must be a number from 1 to {_MOST}")
    return found


class _Child:
    """One file under way. What it prints and what it returns go to unnamed files."""

    def __init__(self, work: Callable[[str], Any], path: str) -> None:
        import tempfile

        self._printed: IO[bytes] = tempfile.TemporaryFile()
        self._returned: IO[bytes] = tempfile.TemporaryFile()
        sys.stdout.flush()
        self._pid = interrupt.fork()
        if self._pid == 0:
            self._be(work, path)

    def _be(self, work: Callable[[str], Any], path: str) -> None:
        import pickle

        status = 1
        try:
            os.dup2(self._printed.fileno(), 1)
            pickle.dump(work(path), self._returned)
            self._returned.flush()
            sys.stdout.flush()
            status = int(lost())
        except KeyboardInterrupt:
            pass
        except BaseException as error:  # pylint: disable=broad-except
            complain(f"{path}: {why(error)}")
        finally:
            os._exit(status)

    def end(self) -> Any:
        """Wait for it, print what it printed, and give what it returned; None when it failed."""
        import pickle
        import shutil

        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        self._printed.seek(0)
        shutil.copyfileobj(self._printed, sys.stdout.buffer)
        sys.stdout.flush()
        self._returned.seek(0)
        return pickle.load(self._returned) if status == 0 else None  # our own child wrote it

    def stop(self) -> None:
        """It is not wanted any more."""
        if self._pid:
            os.kill(self._pid, signal.SIGTERM)
            os.waitpid(self._pid, 0)


def each(work: Callable[[str], Any], paths: Sequence[str], jobs: int) -> Iterator[Any]:
    """What work(path) returns for each path, in their order; what it prints comes just before. None when it failed."""
    waiting = list(reversed(paths))
    running: list[_Child] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_Child(work, waiting.pop()))
            yield running[0].end()
            running.pop(0)
    finally:
        for child in running:
            child.stop()
