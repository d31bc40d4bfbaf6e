"""SIGINT, SIGTERM and SIGHUP alike: what is under way ends, and what is done is kept.

The first one interrupts; those that come while the report is written are left alone.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Iterator, Optional

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal that ends the command. Its text is the name of the signal."""


def _stop(number: int, _frame: Optional[FrameType]) -> None:
    for one in SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    raise Interrupted(signal.Signals(number).name)


def install() -> None:
    """Whoever started us may have chosen to ignore one (nohup): then so do we."""
    for one in SIGNALS:
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, _stop)


@contextmanager
def held() -> Iterator[None]:
    """Leave them alone for a while: what is done is being written down."""
    before = {one: signal.signal(one, signal.SIG_IGN) for one in SIGNALS}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def words(error: BaseException) -> str:
    """Which signal it was."""
    return str(error) or "SIGINT"
