"""Captures are read in a process of its own that has given up what reading does not need.

The process prints as the command would. What it cannot do itself, such as writing a file, it hands over as bytes to the process
that waits for it. That one never reads a capture and trusts nothing of what it gets but the exit status and those bytes.
"""

from __future__ import annotations

import os
import signal
import sys

from fcvi.engine import interrupt, output
from fcvi.engine.status import status_of
from fcvi.engine.words import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Optional

    from .limits import Limits

_PIECE = 1 << 16
_MOST = 1 << 32  # bytes that are taken from a reader of files
ENDLESS = 1 << 62  # of one that watches a link
_LIBRARIES = ("/usr", "/lib", "/lib64", "/opt", "/etc/ld.so.cache", "/etc/localtime", "/proc/self", "/dev/null")
ENVIRONMENT = "FCVI_NO_SANDBOX"


class ReaderLost(Exception):
    """The reader ended before it was done, and has said why."""


class SandboxError(OSError):
    """The process cannot be confined."""


class Box:
    """The process in which captures are read."""

    def __init__(self, sink: Optional[Callable[[bytes], None]] = None, enter: Callable[[], None] = lambda: None) -> None:
        self._enter: Optional[Callable[[], None]] = enter
        self.hand_over: Callable[[bytes], None] = sink or (lambda data: None)  #: give bytes to the process that waits

    def enter(self) -> None:
        """From here on the process is confined: to be called before the first byte of a capture is read."""
        enter, self._enter = self._enter, None
        if enter is not None:
            enter()


def active() -> list[str]:
    """What confines a reader on this kernel, in words."""
    from _fcvi import lib

    version = lib.fcvi_sandbox_landlock()
    seccomp = ["no_new_privs", "seccomp"] if lib.fcvi_sandbox_seccomp() else []
    return [*seccomp, f"Landlock (version {version})" if version else "no Landlock", "limits"] if seccomp else []


def off(args: Any) -> bool:
    """Whether the user wants no sandbox."""
    return bool(args.no_sandbox or os.environ.get(ENVIRONMENT, "0") not in ("", "0"))


def run(files: Iterable[str], args: Any, work: Callable[[Box], int], quiet: bool = False) -> int:
    """Do the work where captures are read. Returns its exit status, 3 when the reader was killed; what it hands over is dropped."""
    return take(files, args, work, lambda data: None, quiet)


def take(files: Iterable[str], args: Any, work: Callable[[Box], int], taken: Callable[[bytes], None], quiet: bool = False,
         most: int = _MOST) -> int:  # fmt: skip
    """Do the same, and give taken what is handed over, as it comes, in pieces of any size; at most so many bytes.

    Where the process is not the command's own (a caller of Python's) the work is done in it, unconfined. quiet: another
    process tells of interrupts.
    """
    if not output.owned():
        return work(Box(taken))
    if off(args):
        _say_off()
        return work(Box(taken))
    sys.stdout.flush()
    sys.stderr.flush()
    source, sink = os.pipe()
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, interrupt.SIGNALS)
    child = interrupt.fork()
    if child == 0:
        os.close(source)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _be(lambda: _enter(parent, sink, args.limits, files), sink, work, args.limits, quiet)
    os.close(sink)
    return _wait(child, source, before, taken, args.limits, most)


_said_off = False


def _say_off() -> None:
    global _said_off  # pylint: disable=global-statement
    if not _said_off:
        complain("captures are read without a sandbox, with all rights of the user")
    _said_off = True


# ---- the process that reads ----


def _bounded(work: Callable[[Box], int], box: Box, limits: Limits) -> int:
    try:
        return work(box)
    except MemoryError:
        complain(limits.hint("out of memory"))
        return 3


def _be(enter: Callable[[], None], sink: int, work: Callable[[Box], int], limits: Limits, quiet: bool) -> None:
    status = 1
    try:
        sys.dont_write_bytecode = True
        output.inherited()
        box = Box(lambda data: _write(sink, data), enter)
        try:
            status = output.settle(status_of(lambda: _bounded(work, box, limits), quiet))
        except KeyboardInterrupt:
            status = output.settle(3)
    except BaseException:  # pylint: disable=broad-except
        sys.excepthook(*sys.exc_info())  # of FCVI_TRACEBACK
        sys.stderr.flush()
    finally:
        os._exit(status)


def _write(sink: int, data: bytes) -> None:
    view = memoryview(data)
    while len(view):
        view = view[os.write(sink, view) :]


def _readable(files: Iterable[str]) -> list[bytes]:
    """What may be opened: the captures, libraries, and the modules of the suite that are not loaded yet."""
    environment = (os.environ.get(name, "").split(":") for name in ("LD_LIBRARY_PATH", "FCVI_STANDARDS"))
    paths = [*_LIBRARIES, sys.prefix, sys.base_prefix, *sys.path, *(path for paths in environment for path in paths), *files]
    return [path.encode(errors="surrogateescape") for path in dict.fromkeys(paths) if path not in ("", "-") and "\0" not in path]


def _enter(parent: int, sink: int, limits: Limits, files: Iterable[str]) -> None:
    from _fcvi import ffi, lib

    error = ffi.new("char[]", 256)
    keep = [ffi.new("char[]", path) for path in _readable(files)]
    numbers = {"memory": limits.memory << 20, "cpu_s": limits.cpu, "output": limits.output << 20}
    most = ffi.new("struct fcvi_sandbox_limits *", numbers)
    if lib.fcvi_sandbox_enter(parent, sink, most, ffi.new("char *[]", keep), len(keep), error, 256) != 0:
        why = str(ffi.string(error), errors="replace")
        raise SandboxError(0, f"the reader cannot be confined: {why}; --no-sandbox reads without a sandbox")


# ---- the process that waits ----


def _wait(child: int, source: int, mask: Any, taken: Callable[[bytes], None], limits: Limits, most: int) -> int:
    """Wait until the reader ends, and return its status. Signals go on to the reader, which ends as the command would."""

    def forward(number: int, _frame: Any) -> None:
        os.kill(child, number)

    handlers = {one: signal.getsignal(one) for one in interrupt.SIGNALS}
    for one, handler in handlers.items():
        if handler is not signal.SIG_IGN:
            signal.signal(one, forward)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        _collect(source, taken, most)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(source)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        signal.pthread_sigmask(signal.SIG_BLOCK, interrupt.SIGNALS)  # its number may be another's once it was waited for
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for one, handler in handlers.items():
            signal.signal(one, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if status < 0:
        complain(_ended(-status, limits))
        return 3
    return status


def _collect(source: int, taken: Callable[[bytes], None], most: int) -> None:
    while data := os.read(source, _PIECE):
        most -= len(data)
        if most < 0:
            raise OSError(0, "the reader hands over more than it can have read")
        taken(data)


_HOSTILE = (
    "the sandbox stopped the reader: it tried what reading does not need (a file for writing, a connection, a program). "
    "The capture may attack its reader: do not open it elsewhere, and report it as SECURITY.md says"
)
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP)


def _ended(number: int, limits: Limits) -> str:
    """What ended the reader, and what to do."""
    if number == signal.SIGSYS:
        return _HOSTILE
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if number in _CRASHES:
        return f"the reader crashed ({name}), so that its output is not whole; report the capture as SECURITY.md says"
    if number == signal.SIGXCPU:
        return f"the reader took more than {limits.cpu} s of processor time; --limits cpu=SECONDS gives it more"
    want = "the host has too little memory, or somebody ended it" if number == signal.SIGKILL else "somebody ended it"
    return f"the reader was killed ({name}), so that its output is not whole: {want}"
