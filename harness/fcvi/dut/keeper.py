"""The process between the suite and a device that it starts: it ends the device whole, whatever becomes of the suite.

It is the parent of the device and adopts what the device leaves behind. It ends with the suite (PR_SET_PDEATHSIG), and the
device, with all that it started, ends with it. What the device writes to its standard error goes through it into the log, up
to a budget.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from typing import NoReturn, Optional, Sequence

from fcvi.engine import interrupt, process
from fcvi.engine.words import why

_SHUT_S = 2.0  # for a device to end after its input was closed
_RING = 1 << 16


class Keeper:
    """A device under a keeper, seen from the suite."""

    def __init__(self, words: Sequence[str], log: Optional[int], log_bytes: int) -> None:
        """log: a descriptor that appends to it, which stays the caller's. Raises OSError when it cannot be started."""
        to_device, self.sink = os.pipe()
        self.source, from_device = os.pipe()
        self._told, tell = os.pipe()
        self._words = b""
        parent = os.getpid()
        self._pid = interrupt.fork()
        if self._pid == 0:
            _be_keeper(words, log, log_bytes, parent, (to_device, from_device, tell))
        for descriptor in (to_device, from_device, tell):
            os.close(descriptor)
        if self._read(b"\n", 20.0) != b"started":
            refused = self._words.decode(errors="replace").strip()
            self.close()
            number, _, words_ = refused.partition(" ")
            raise OSError(int(number) if number.isdecimal() else 0, words_ or "it does not start")

    def _read(self, until: bytes, patience_s: float) -> bytes:
        """What the keeper says, a line at a time; "" when it says nothing more."""
        deadline = time.monotonic() + patience_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._told, selectors.EVENT_READ)
            while until not in self._words and selector.select(max(0.0, deadline - time.monotonic())):
                data = os.read(self._told, 4096)
                if not data:
                    break
                self._words += data
        line, found, rest = self._words.partition(until)
        if found and line == b"started":
            self._words = rest
        return line

    def how_it_ended(self) -> str:
        """For a sentence about a connection that was closed."""
        return self._read(b"\n", 0.5).decode(errors="replace").strip() or " and still runs"

    def close(self) -> None:
        """End the device: by closing its input, then by force."""
        for descriptor in (self.sink, self.source):
            with suppress(OSError):
                os.close(descriptor)
        if self._pid == 0:
            return
        deadline = time.monotonic() + _SHUT_S
        ended = 0
        pid, self._pid = self._pid, 0
        while not ended and time.monotonic() < deadline:
            ended = _ended(pid)
            if not ended:
                self._read(b"\0", 0.005)
        if not ended:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + 2 * _SHUT_S
            while not _ended(pid) and time.monotonic() < deadline:
                time.sleep(0.005)
        os.close(self._told)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _ended(pid: int) -> int:
    try:
        return os.waitpid(pid, os.WNOHANG)[0]
    except ChildProcessError:
        return pid


# ---- in the keeper ----


def _be_keeper(words: Sequence[str], log: Optional[int], log_bytes: int, parent: int, ends: tuple[int, int, int]) -> NoReturn:
    status = 3
    try:
        os.setsid()  # a terminal's Ctrl-C is for the suite, which ends the device in order
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)  # not ignored: the device would inherit that
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, lambda *_: None)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        process.adopt()
        process.end_with(parent, signal.SIGTERM)
        _close_others({0, 1, 2, *ends, wake, waker, *(() if log is None else (log,))})
        _Watch(words, log, log_bytes, ends, wake).run()
        status = 0
    finally:
        os._exit(status)


def _close_others(kept: set[int]) -> None:
    """The report's lock and the ends of other devices' pipes are the suite's."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with suppress(OSError):
                os.close(int(name))


class _Watch:
    """The device, from its start until nothing of it is left."""

    def __init__(self, words: Sequence[str], log: Optional[int], log_bytes: int, ends: tuple[int, int, int], wake: int) -> None:
        self._tell, self._wake, self._most, self._wrote = ends[2], wake, log_bytes, 0
        self._log = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC) if log is None else log
        self._errors, errors = os.pipe()
        self._over = self._over_log = False
        try:
            self._device = subprocess.Popen(  # pylint: disable=consider-using-with
                list(words), stdin=ends[0], stdout=ends[1], stderr=errors, start_new_session=True
            )
        except (OSError, ValueError) as error:
            self._say(f"{getattr(error, 'errno', 0) or 0} {why(error)}")
            os._exit(2)
        self._say("started")
        for descriptor in (ends[0], ends[1], errors):
            os.close(descriptor)

    def _say(self, words: str) -> None:
        with suppress(OSError):
            os.write(self._tell, words.encode(errors="replace") + b"\n")

    def run(self) -> None:
        """Until the device ends, writes too much or is to be ended; then nothing of it is left."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._errors, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            while self._device.poll() is None and not self._over:
                for key, _ in selector.select():
                    if key.fd == self._wake:
                        numbers = os.read(self._wake, 64)
                        self._over = self._over or signal.SIGTERM in numbers
                    elif not self._take():
                        selector.unregister(self._errors)
        status = self._device.poll()
        if self._over_log:
            self._say(", ended by the suite: it wrote more to its standard error than the budget log allows")
        elif status is not None:
            self._say(f", killed by {_signal(-status)}" if status < 0 else f", exit status {status}")
        process.end_descendants()
        os.set_blocking(self._errors, False)
        with suppress(BlockingIOError):
            while self._take():
                pass

    def _take(self) -> bool:
        data = os.read(self._errors, _RING)
        if data and not self._over_log:  # one log for every process of a run, and every start of the device
            room = self._most - max(self._wrote, os.fstat(self._log).st_size)
            with suppress(OSError):  # a full disk is told of by the report itself
                os.write(self._log, data[: max(0, room)])
            self._wrote += len(data)
            self._over_log = len(data) > room
            self._over = self._over or self._over_log
        return bool(data)
