"""SIGINT, SIGTERM and SIGHUP alike: what is under way ends, and what is done is kept.

The first one interrupts; those that come while the report is written are left alone. What has to be done whole or not at all,
such as writing a finished case down and counting it, defers the first one until it is done.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Optional

_AGAIN_S = 0.01
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal that ends the command. Its text is the name of the signal."""


_depth = 0  # of deferred()
_pending: Optional[str] = None  # the signal that came meanwhile


def _stop(number: int, _frame: Optional[FrameType]) -> None:
    hold()
    _raise(signal.Signals(number).name)


def _raise(name: str) -> None:
    global _pending
    if _depth == 0:
        raise Interrupted(name)
    _pending = name


def _swallowed(told: Any) -> None:
    """An interrupt that came while Python ran what can raise nothing (a weak reference's callback in an import) comes again."""
    if not isinstance(told.exc_value, Interrupted):
        sys.__unraisablehook__(told)
        return
    name = str(told.exc_value)
    signal.signal(signal.SIGALRM, lambda _number, _frame: _raise(name))
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)


def _leave(_number: int, _frame: Optional[FrameType]) -> None:
    """A signal that is left alone. SIG_IGN would not do: Python writes a traceback for a signal that had come before it was set."""


def install() -> None:
    """For a process of its own. Whoever started us may have chosen to ignore one (nohup): then so do we. The command blocks them
    while Python starts, and one that came meanwhile comes now.

    Raises Interrupted for a signal that came to a forked process before it got here.
    """
    global _depth, _pending
    sys.unraisablehook = _swallowed
    for one in SIGNALS:
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, _stop)
            _ours.add(one)
    _depth = 0
    name, _pending = _pending, None
    if name is not None:
        raise Interrupted(name)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


_ours: set[signal.Signals] = set()


def hold() -> None:
    """Leave them alone from now on: what is done is being written down. The handlers of other programs stay."""
    for one in _ours:
        signal.signal(one, _leave)


def release() -> None:
    """Heed them again: what had to be written is written."""
    for one in _ours:
        signal.signal(one, _stop)


class _Deferred:
    """See deferred(). A signal is either before it, and nothing of it has happened, or after it, and all of it has."""

    def __enter__(self) -> None:
        global _depth
        _depth += 1

    def __exit__(self, *_: object) -> None:
        global _depth, _pending
        _depth -= 1
        if _depth == 0 and _pending is not None:
            name, _pending = _pending, None
            raise Interrupted(name)


_DEFERRED = _Deferred()  # made once: every line that is printed is in one


def deferred() -> _Deferred:
    """What stands in it is done whole: an interrupt comes at its end."""
    return _DEFERRED


def fork() -> int:
    """os.fork, whole or not at all. Python's own hooks around it swallow an exception, and so would lose the interrupt."""
    global _pending
    try:
        with deferred():
            pid = os.fork()
            if pid == 0:
                _pending = None  # the parent's
    except Interrupted:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    return pid


def pending() -> bool:
    """Whether a signal waits for the end of what is deferred."""
    return _pending is not None


def words(error: BaseException) -> str:
    """Which signal it was."""
    return str(error) or "SIGINT"
