"""Files that are written whole or not at all, and files of others that are read without trust."""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Iterator, Optional

from . import strict
from .words import UsageError, printable, why

LARGEST = 128 * 1024 * 1024  # of what is read whole; a run of ten thousand cases stays far below


class FileError(UsageError):
    """A file that cannot be read or used: one line that names it and says why, whatever its name is made of."""

    def __init__(self, words: object) -> None:
        super().__init__(printable(words))


def write_file(path: Path, data: bytes) -> None:
    """All or nothing: a reader never sees half a file. A link of this name is replaced, never followed. Raises OSError."""
    with opened(path.parent) as folder:
        write_in(folder, path.name, data)


def write_named(path: Path, data: bytes) -> None:
    """What the user names for the output of a command: a device or a pipe (/dev/stdout, >(command)) is written into, and stays what
    it is; anything else as by write_file. Raises OSError.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        mode = stat.S_IFREG
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        write_file(path, data)
        return
    file = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)  # a pipe that nobody reads is an error
    try:
        os.set_blocking(file, True)
        _write_all(file, data)
    finally:
        os.close(file)


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A directory for `write_in`: whatever is put in its place meanwhile, all files go into the same. Raises OSError."""
    folder = os.open(path, _FOLDER)
    try:
        yield folder
    finally:
        os.close(folder)


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
SCRATCH = re.compile(r"\.[0-9a-f]{16}\.new")  # the names of write_in
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_in(folder: int, name: str, data: bytes) -> None:
    """As write_file, in a folder that is open: at first under a name that nobody can have put there before. Raises OSError."""
    scratch = f".{os.urandom(8).hex()}.new"
    file = os.open(scratch, _NEW, 0o666, dir_fd=folder)
    try:
        try:
            _write_all(file, data)
        finally:
            os.close(file)
        os.replace(scratch, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(scratch, dir_fd=folder)
        raise


def _write_all(file: int, data: bytes) -> None:
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, memoryview(data)[written:])


def encoded(text: str) -> bytes:
    """As UTF-8; what a DUT sent that is no character stays visible as an escape."""
    return text.encode("utf-8", "backslashreplace")


def one_line(text: str) -> str:
    """Without line breaks and control characters, which would forge lines or play with a terminal."""
    return printable(text)


def damage(error: Exception) -> str:
    """What is wrong with data that were read and could not be used, in words that are not Python's."""
    if isinstance(error, KeyError):
        return f"{printable(error.args[0])[:60]} is missing" if error.args else "something is missing"
    if isinstance(error, OverflowError):
        return "a number is too large"
    if isinstance(error, (TypeError, AttributeError, IndexError)):
        return "a value is of another kind than it has to be"
    words = printable(error)
    return "a value is no number" if words.startswith(("invalid literal", "non-hexadecimal", "Exceeds the limit")) else words[:200]


def read_file(path: Path) -> bytes:
    """A regular file of bearable size; nothing that could block (a pipe, a device). Raises FileError."""
    return read_in(None, str(path), path)


def read_in(folder: Optional[int], name: str, path: Path) -> bytes:
    """As read_file, in a folder that is open, where a link is refused. path: how it is called in a message. Raises FileError."""
    try:
        descriptor = os.open(name, _READ | (os.O_NOFOLLOW if folder is not None else 0), dir_fd=folder)
    except (OSError, ValueError) as error:
        link = folder is not None and isinstance(error, OSError) and error.errno == errno.ELOOP
        raise FileError(f"{path}: cannot read it: {'it is a link, and none is followed here' if link else why(error)}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileError(f"{path}: not a regular file")
        if status.st_size > LARGEST:
            raise FileError(f"{path}: {status.st_size} bytes are too many; at most {LARGEST} are read")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data: Optional[bytes] = file.read(LARGEST + 1)
        if data is None:  # a file of the kernel that has nothing yet
            raise FileError(f"{path}: nothing can be read there now")
        if len(data) > LARGEST:
            raise FileError(f"{path}: grew while it was read; at most {LARGEST} bytes are")
        return data
    except OSError as error:
        raise FileError(f"{path}: cannot read it: {why(error)}") from error
    finally:
        os.close(descriptor)


def parse_json(data: bytes, where: str) -> Any:
    """JSON, and strictly JSON. Raises FileError."""
    if not data.strip():
        raise FileError(f"{where}: not JSON: it is empty")
    try:
        return strict.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FileError(f"{where}: not UTF-8 at byte {error.start}") from error
    except ValueError as error:
        raise FileError(f"{where}: not JSON: {printable(error)[:200]}") from error


def read_json(path: Path) -> Any:
    """A JSON file. Raises FileError."""
    return parse_json(read_file(path), str(path))
