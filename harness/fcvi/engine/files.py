"""Files that are written whole or not at all, and files of others that are read without trust."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Iterator, Sequence

from . import strict
from .words import printable, why

LARGEST = 128 * 1024 * 1024  # of what is read whole; a run of ten thousand cases stays far below


class FileError(Exception):
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


_FEW = 8  # files that are brought to the disk one by one
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_SCRATCH = re.compile(r"\.[0-9a-f]{16}\.new")  # the names of write_in
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


class Folder:
    """A directory that is open, so that nobody can put another in its place, and ours alone while we write there.

    Names may have one folder before them ("evidence/run.json"); it has to be a folder of this directory, no link.
    """

    def __init__(self, path: Path) -> None:
        """Make it where it is missing, and lock it. Raises OSError."""
        path.mkdir(parents=True, exist_ok=True)
        self._folders = {"": os.open(path, _FOLDER)}
        try:
            fcntl.flock(self._folders[""], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise OSError(error.errno, "another fcvi is writing there") from error
        self._tidy("")

    def _tidy(self, name: str) -> None:
        """Take away what a writer that was killed left half written: nobody else writes there now."""
        for found in os.listdir(self._folders[name]):
            if _SCRATCH.fullmatch(found):
                with suppress(OSError):
                    os.unlink(found, dir_fd=self._folders[name])

    def _folder(self, name: str) -> int:
        if name not in self._folders:
            base = self._folders[""]
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=base)
            try:
                self._folders[name] = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=base)
            except OSError as error:
                raise OSError(error.errno, f"{name} is a link or no folder") from error
            self._tidy(name)
        return self._folders[name]

    def refuse_link(self, name: str) -> None:
        """Raises OSError when a folder of ours would be a link, and what we write would go elsewhere."""
        with suppress(FileNotFoundError):
            if stat.S_ISLNK(os.stat(name, dir_fd=self._folders[""], follow_symlinks=False).st_mode):
                raise OSError(errno.ELOOP, f"{name} is a link")

    def _split(self, name: str) -> tuple[int, str]:
        folder, _, last = name.rpartition("/")
        if last in ("", ".", ".."):
            raise OSError(errno.EINVAL, f"{last!r} is no name of a file")
        return self._folder(folder), last

    def write(self, name: str, data: bytes) -> None:
        """All or nothing. Raises OSError."""
        write_in(*self._split(name), data)

    def append(self, name: str) -> int:
        """A descriptor that appends to the file; a link is refused. Raises OSError."""
        folder, last = self._split(name)
        return os.open(last, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder)

    def remove(self, name: str) -> None:
        """Take a file away, if it is there. Raises OSError."""
        folder, last = self._split(name)
        with suppress(FileNotFoundError):
            os.unlink(last, dir_fd=folder)

    def sync(self, names: Sequence[str]) -> None:
        """What was written is on the disk when this returns. Raises OSError."""
        if len(names) > _FEW and self._sync_all():
            return
        folders = set()
        for name in names:
            folder, last = self._split(name)
            file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                os.fsync(file)
            finally:
                os.close(file)
            folders.add(folder)
        for folder in folders:
            os.fsync(folder)

    def _sync_all(self) -> bool:
        """The whole file system at once, which many files are a hundred times faster with; false when it cannot say that it did."""
        with suppress(OSError, AttributeError):
            return bool(ctypes.CDLL(None).syncfs(self._folders[""]) == 0)
        return False

    def check(self) -> None:
        """Raises OSError when the directory was taken away meanwhile."""
        if os.fstat(self._folders[""]).st_nlink == 0:
            raise OSError(errno.ENOENT, "it was removed during the run")

    def close(self) -> None:
        """Let go of it and of its lock."""
        for folder in self._folders.values():
            os.close(folder)
        self._folders.clear()


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
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot read it: {why(error)}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileError(f"{path}: not a regular file")
        if status.st_size > LARGEST:
            raise FileError(f"{path}: {status.st_size} bytes are too many; at most {LARGEST} are read")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST)
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
