"""Work shared out to processes of our own, which hand back each result as soon as they have it.

A process that ends, or is ended, takes nothing with it but what it had not finished. All of them end with this one.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import struct
import sys
import time
from contextlib import suppress
from typing import Any, Callable

from . import interrupt, process
from .words import complain, why

_LENGTH = struct.Struct("=I")
_PATIENCE_S = 10.0  # for a process to end its device after it was told to stop

#: Does one share, handing over each result.
Work = Callable[[int, Callable[[Any], None]], None]


class _Share:
    """One process."""

    def __init__(self, work: Work, number: int, others: list[int]) -> None:
        self.out, sink = os.pipe()
        self._received = bytearray()
        parent = os.getpid()
        self.pid = interrupt.fork()
        if self.pid == 0:
            for descriptor in (self.out, *others):
                os.close(descriptor)
            self._be(work, number, sink, parent)
        os.close(sink)

    @staticmethod
    def _be(work: Work, number: int, sink: int, parent: int) -> None:
        def hand_over(result: Any) -> None:
            data = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
            view = memoryview(_LENGTH.pack(len(data)) + data)
            while len(view):
                view = view[os.write(sink, view) :]

        status = 1
        try:
            interrupt.install()
            process.end_with(parent, signal.SIGTERM)
            work(number, hand_over)
            status = 0
        except BrokenPipeError:
            pass  # nobody waits any more
        except Exception as error:  # pylint: disable=broad-except
            complain(f"a process of --jobs ended: {type(error).__name__}: {why(error)}")  # whoever waits sees what is missing
        except BaseException:  # pylint: disable=broad-except
            pass  # it was told to end
        finally:
            with suppress(BaseException):
                sys.stdout.flush()
            os._exit(status)

    def read(self) -> tuple[list[Any], bool]:
        """Results that have come, and whether more may."""
        data = os.read(self.out, 1 << 20)
        self._received += data
        found = []
        while len(self._received) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._received)[0]
            if len(self._received) < end:
                break
            found.append(pickle.loads(self._received[_LENGTH.size : end]))  # our own process wrote it
            del self._received[:end]
        return found, bool(data)


def run(work: Work, shares: int, take: Callable[[Any], None], over: Callable[[], bool] = lambda: False) -> None:
    """Do every share; take gets each result as it comes. An interrupt stops the processes first and keeps what they had; so does
    over, which is asked after each result, when no more is wanted."""
    sys.stdout.flush()
    sys.stderr.flush()
    running: list[_Share] = []
    try:
        for number in range(shares):
            with interrupt.deferred():
                running.append(_Share(work, number, [share.out for share in running]))
        if not _collect(running, take, None, over):
            _tell(running, signal.SIGTERM)
            _collect(running, take, time.monotonic() + _PATIENCE_S)
    except KeyboardInterrupt:
        _tell(running, signal.SIGTERM)
        _collect(running, take, time.monotonic() + _PATIENCE_S)
        raise
    finally:
        _tell(running, signal.SIGKILL)
        for share in running:
            os.close(share.out)
            os.waitpid(share.pid, 0)


def _tell(running: list[_Share], number: int) -> None:
    for share in running:
        with suppress(ProcessLookupError):
            os.kill(share.pid, number)


def _collect(
    running: list[_Share], take: Callable[[Any], None], until: float | None, over: Callable[[], bool] = lambda: False
) -> bool:
    """Whether all has come: false when the time is up, or no more is wanted."""
    with selectors.DefaultSelector() as selector:
        for share in running:
            selector.register(share.out, selectors.EVENT_READ, share)
        while selector.get_map():
            ready = selector.select(None if until is None else max(0.0, until - time.monotonic()))
            if not ready:
                return False
            for key, _ in ready:
                with interrupt.deferred():  # what has been read is counted
                    found, more = key.data.read()
                    if not more:
                        selector.unregister(key.fd)
                    for result in found:
                        take(result)
            if over():
                return False
    return True
