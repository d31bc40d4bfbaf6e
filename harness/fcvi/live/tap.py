"""Hands over what passes an interface, for commands that read captures: they read standard input, and never hold the socket.

Three processes share the work. The tap opens the interface, gives up every privilege and writes pcapng into a pipe and into the
ring. The reader is confined as for any capture. The command's own process waits for both and keeps files of the ring.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from argparse import ArgumentTypeError
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Optional

from _fcvi import ffi, lib

from fcvi.engine import interrupt
from fcvi.engine.words import complain, number

from . import privileges

_ERROR_SIZE = 512
_FILES, _FILE_MIB, _KEPT = 4, 16, 64
_MOST = 1 << 20  # of each
_READY = b"+"


class TapError(Exception):
    """The interface cannot be watched: one line."""


class Ring:
    """A directory in which the latest frames are, and those from before a finding for good."""

    def __init__(self, text: str) -> None:
        """DIR[,files=N][,mib=N][,keep=N]. Raises ArgumentTypeError."""
        path, *words = text.split(",")
        numbers = {"files": _FILES, "mib": _FILE_MIB, "keep": _KEPT}
        for word in words:
            name, _, value = word.partition("=")
            found = number(value, 1, _MOST)
            if name not in numbers:
                raise ArgumentTypeError(f"{word[:40]!r} is not files=N, mib=N or keep=N")
            if found is None:
                raise ArgumentTypeError(f"{word[:40]!r}: {name} takes a whole number from 1 to {_MOST}")
            numbers[name] = found
        if not path:
            raise ArgumentTypeError("write DIR[,files=N][,mib=N][,keep=N]")
        self.path, self.files, self.bytes, self._most = Path(path), numbers["files"], numbers["mib"] << 20, numbers["keep"]
        self._kept: set[str] = set()
        self._full = False

    def prepare(self) -> None:
        """Make the directory. Raises TapError where files of another run are."""
        try:
            self.path.mkdir(exist_ok=True)
            old = next((p for p in self.path.iterdir() if p.name.startswith(("ring-", "kept-"))), None)
        except OSError as error:
            raise TapError(f"{self.path}: {error.strerror}") from error
        if old is not None:
            raise TapError(f"{old} is of another run; --keep wants a directory without such files")

    def keep(self) -> None:
        """There was a finding: what the ring has now stays, as kept-NNNNNN.pcapng, when the ring goes on without it."""
        for path in sorted(self.path.glob("ring-*.pcapng")):
            name = path.name.replace("ring-", "kept-")
            if name in self._kept:
                continue
            if len(self._kept) >= self._most:
                if not self._full:
                    complain(f"{self.path}: {self._most} files are kept, and no more will be; keep=N keeps more")
                self._full = True
                return
            try:
                os.link(path, self.path / name)
            except FileNotFoundError:
                continue  # the ring went on meanwhile
            except OSError as error:
                complain(f"{self.path / name}: {error.strerror}")
            self._kept.add(name)


def add_options(parser: Any) -> None:
    """-i and --keep."""
    parser.add_argument("-i", "--interface", metavar="IFACE", help="Watch this Ethernet interface until Ctrl-C, instead of files.")
    parser.add_argument(
        "--keep", type=Ring, metavar="DIR[,files=N][,mib=N][,keep=N]",
        help="With -i, write the latest frames into a ring of N files (4) of N MiB (16) in DIR; what preceded a finding is "
        "kept there as kept-*.pcapng, at most N files (64).",
    )  # fmt: skip


def wrong(args: Any, files: list[str]) -> Optional[str]:
    """What is wrong with -i, --keep and the files together; None when nothing is."""
    if args.interface is None:
        if args.keep is not None:
            return "--keep goes with -i"
        return None if files else "name a capture, or an interface with -i"
    return "-i goes without files" if files else None


@contextmanager
def watched(interface: str, ring: Optional[Ring]) -> Iterator[None]:
    """Standard input is what passes the interface, and this process has no privileges any more. Raises TapError."""
    with privileges.as_caller():
        if ring is not None:
            ring.prepare()
    sys.stdout.flush()
    sys.stderr.flush()
    source, sink = os.pipe()
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        os.close(ready)
        _tap(interface, ring, sink, tell)
    os.close(sink)
    os.close(tell)
    try:
        said = _told(ready)
        if not said.startswith(_READY):
            raise TapError(said.decode(errors="replace") or f"{interface}: the process that reads it ended")
        try:
            privileges.drop()
        except OSError as error:
            raise TapError(f"{interface}: cannot give up privileges: {error.strerror}") from error
        before = os.dup(0)
        os.dup2(source, 0)
        try:
            yield
        finally:
            os.dup2(before, 0)
            os.close(before)
            failed = select.select([ready], [], [], 0)[0] and _told(ready)
        if failed:
            raise TapError(failed.decode(errors="replace"))
    finally:
        os.close(source)
        os.close(ready)
        os.kill(child, signal.SIGKILL)  # it writes each packet at once, and has nothing to finish
        os.waitpid(child, 0)


def _told(ready: int) -> bytes:
    return os.read(ready, _ERROR_SIZE)


def _tap(interface: str, ring: Optional[Ring], sink: int, tell: int) -> None:
    """The process that has the interface; it does not return."""
    try:
        for one in interrupt.SIGNALS:
            signal.signal(one, signal.SIG_IGN)  # the command ends it
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        error = ffi.new("char[]", _ERROR_SIZE)
        tap = lib.fcvi_tap_open(interface.encode(errors="surrogateescape"), error, _ERROR_SIZE)
        if tap == ffi.NULL:
            os.write(tell, ffi.string(error))
            return
        try:
            privileges.drop()
        except OSError as problem:
            os.write(tell, f"{interface}: cannot give up privileges: {problem.strerror}".encode())
            return
        os.write(tell, _READY)
        where = ffi.NULL if ring is None else ffi.new("char[]", os.fsencode(ring.path))
        files = ffi.NULL if ring is None else ffi.new("struct tap_ring *", (where, ring.files, ring.bytes))
        if lib.fcvi_tap_pump(tap, sink, files) != 0:
            os.write(tell, ffi.string(lib.fcvi_tap_why(tap)))
    finally:
        os._exit(0)
