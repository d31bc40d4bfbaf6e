"""Standard output and error of the command, which may go away, be full or never have been open.

A reader that has seen enough (head, less) takes nothing from the verdict: what else is printed is thrown away, and the exit
status is what it would have been. Output that cannot be written is a failure of the suite's host: status 3 and one line.
"""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import sys

from . import interrupt
from .words import without_commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

_SIZE = 1 << 16
_PATIENCE_S = 0.1  # for which an interrupt waits for a reader that does not read
#: Control characters but line break and tabulator: none of them is ever ours.
_CONTROLS = {n: f"\\x{n:02x}" for n in (*range(9), *range(11, 32), *range(127, 160))} | {
    n: f"\\u{n:04x}" for n in (0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
}


class _Raw(io.RawIOBase):
    """A descriptor that takes everything: what cannot be written is lost, and remembered."""

    def __init__(self, descriptor: int, lost: Optional[OSError]) -> None:
        super().__init__()
        self._descriptor, self.lost, self.gone = descriptor, lost, False
        self.wrote = False
        self._is_file = lost is None and stat.S_ISREG(os.fstat(descriptor).st_mode)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data: Any) -> int:
        self.wrote = True
        view = memoryview(data)
        while len(view) and self.lost is None and not self.gone:
            try:
                if self._is_file:
                    view = view[os.write(self._descriptor, view) :]
                elif self._has_room():
                    view = view[os.write(self._descriptor, view[: select.PIPE_BUF]) :]  # does not block
                else:
                    self.gone = True
            except BlockingIOError:
                continue
            except BrokenPipeError:
                self.gone = True
            except OSError as error:
                self.lost = error
        return len(data)

    def _has_room(self) -> bool:
        """Wait until a pipe or terminal takes more. False: its reader does not read, and an interrupt waits."""
        while not select.select([], [self._descriptor], [], _PATIENCE_S)[1]:
            if interrupt.pending():
                return False
        return True


class _Buffered(io.BufferedWriter):
    """What was written is not written again after an interrupt that came in the middle of it."""

    def write(self, data: Any) -> int:
        with interrupt.deferred():
            return super().write(data)

    def flush(self) -> None:
        with interrupt.deferred():
            super().flush()


class _Text(io.TextIOWrapper):
    """What is printed reaches a terminal without anything that plays with it, but for colours where ``paint`` uses them, and the
    log of a job without a command of its runner that is not ours."""

    paints = False

    def write(self, text: str) -> int:
        if not text.isprintable():
            text = _harmless(text) if self.paints else text.translate(_CONTROLS)
        return super().write(without_commands(text))


def _harmless(text: str) -> str:
    """The text with the colours of ``paint`` and no other control characters."""
    import re

    parts = re.split(r"(\x1b\[[0-9;]{1,4}m)", text)
    return "".join(part if index % 2 else part.translate(_CONTROLS) for index, part in enumerate(parts))


def allow_colour() -> None:
    """From now on colours reach standard output."""
    _Text.paints = True


_standard: list[tuple[_Raw, Any]] = []


def _opened(descriptor: int) -> Optional[OSError]:
    """Nothing else may get the number of a standard stream: the next file opened would be written what is printed."""
    try:
        os.fstat(descriptor)
        return None
    except OSError as error:
        while os.open(os.devnull, os.O_RDWR) < descriptor:
            pass
        os.set_inheritable(descriptor, True)
        return error


def install() -> None:
    """Take over the standard streams of this process."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        lost = _opened(descriptor)
        old = getattr(sys, name)
        if name == "stdin":
            if old is None:
                sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)), "utf-8")
            continue
        raw = _Raw(descriptor, lost)
        encoding = getattr(old, "encoding", None) or "utf-8"
        kind = _Text if name == "stdout" else io.TextIOWrapper  # a bar on standard error plays with the terminal
        buffered = _Buffered(raw, _SIZE)
        lines = name == "stderr" or raw.isatty()
        text = kind(buffered, encoding, "backslashreplace", line_buffering=lines)
        setattr(sys, name, text)
        _standard.append((raw, text))


def owned() -> bool:
    """Whether this process is the command's own, and no caller's of Python."""
    return bool(_standard)


def gone() -> bool:
    """Whether nobody reads standard output any more."""
    return bool(_standard) and _standard[0][0].gone


def lost() -> bool:
    """Whether something that was printed is lost, though somebody may wait for it. For a process of ours that prints on."""
    for _, text in _standard:
        text.flush()
    return any(raw.lost is not None and raw.wrote for raw, _ in _standard)


def inherited() -> None:
    """In a child of the command's: what was lost before it began the command itself tells of, and nobody waits for more."""
    for raw, _ in _standard:
        if raw.lost is not None and raw.wrote:
            raw.lost, raw.gone = None, True


def settle(status: int) -> int:
    """Write out what is left. The exit status, which is 3 when something was lost."""
    if not _standard:
        sys.stdout.flush()
        return status
    (out, text), (err, errors) = _standard
    text.flush()
    if out.lost is not None and out.wrote:
        words = "it is closed" if out.lost.errno == errno.EBADF else out.lost.strerror
        print(f"fcvi: cannot write to standard output: {words}", file=errors)
        status = 3
    errors.flush()
    if err.lost is not None and err.wrote and status not in (2, 3):
        status = 3
    return status
