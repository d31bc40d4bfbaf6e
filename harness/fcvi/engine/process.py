"""Processes that end with the one that started them, and whatever they have started (Linux, prctl)."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from contextlib import suppress

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PATIENCE_S = 2.0


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def end_with(parent: int, number: int) -> None:
    """Get this signal when the parent ends, even by SIGKILL; at once when it has ended already."""
    _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def adopt() -> None:
    """What descendants leave behind becomes ours."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _parents() -> dict[int, int]:
    """The parent of every process."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    words = file.read(512).rpartition(b")")[2].split()
                found[int(name)] = int(words[1])
    return found


def descendants() -> list[int]:
    """The processes that are below this one."""
    parents, found = _parents(), {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {os.getpid()})


def end_descendants() -> None:
    """Kill whatever is below this process (see adopt), and what that starts meanwhile; leave no zombie."""
    deadline = time.monotonic() + _PATIENCE_S
    while (found := descendants()) and time.monotonic() < deadline:
        for number in (signal.SIGSTOP, signal.SIGKILL):  # what stands still starts nothing
            for one in found:
                with suppress(OSError):
                    os.kill(one, number)
        time.sleep(0.001)
        reap()
    reap()


def reap() -> None:
    """Take note of every child that has ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
