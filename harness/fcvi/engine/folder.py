"""A directory of files that is open: whatever is put in its place meanwhile, all of them are read from and written into the same.

No link is followed in it. A name may have one folder before it ("evidence/run.json"); that is a folder of the directory, no link.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterator, Mapping, Optional, Sequence, Union

from .files import LARGEST, SCRATCH, FileError, parse_json, read_in, read_json, write_in
from .words import why

_REPORT = "report.json"
_FEW = 8  # files that are brought to the disk one by one
_DEEPEST = 8  # folders in folders; a report has one
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PLAIN = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
_READ = os.O_RDONLY | _PLAIN
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _PLAIN


class Folder:
    """The directory: of others, as it is. With `ours` it is made where it is missing, locked, and freed of what is half written."""

    def __init__(self, path: Path, ours: bool = False, named: bool = True) -> None:
        """named: by the user, who may name a link. Raises OSError."""
        self.path = path
        if ours:
            path.mkdir(parents=True, exist_ok=True)
        self._ours = ours
        self._held: Optional[Mapping[str, str]] = None
        self._said: Mapping[str, bytes] = {}
        try:
            self._folders = {"": os.open(path, _FOLDER if named else _FOLDER | os.O_NOFOLLOW)}
        except NotADirectoryError as error:
            raise OSError(error.errno, "it is a link, and none is followed here" if path.is_symlink() else why(error)) from error
        if not ours:
            return
        try:
            fcntl.flock(self._folders[""], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise OSError(error.errno, "another fcvi is writing there") from error
        self._tidy("")

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __truediv__(self, name: str) -> Path:
        """How a file of it is called in a message."""
        return self.path / name

    def __str__(self) -> str:
        return str(self.path)

    def _tidy(self, name: str) -> None:
        """Take away what a writer that was killed left half written: nobody else writes there now."""
        for found in os.listdir(self._folders[name]) if self._ours else ():
            if SCRATCH.fullmatch(found):
                with suppress(OSError):
                    os.unlink(found, dir_fd=self._folders[name])

    def _folder(self, name: str, make: bool = False) -> int:
        if name not in self._folders:
            base = self._folders[""]
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=base)
            try:
                self._folders[name] = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=base)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise OSError(error.errno, f"{name} is a link or no folder") from error
            self._tidy(name)
        return self._folders[name]

    def _split(self, name: str, make: bool = False) -> tuple[int, str]:
        folder, _, last = name.rpartition("/")
        if last in ("", ".", "..") or folder in (".", "..") or "/" in folder:
            raise OSError(errno.EINVAL, f"{name!r} is no name of a file here")
        return self._folder(folder, make), last

    def refuse_link(self, name: str) -> None:
        """Raises OSError when a folder of ours would be a link, and what we write would go elsewhere."""
        with suppress(FileNotFoundError):
            if stat.S_ISLNK(os.stat(name, dir_fd=self._folders[""], follow_symlinks=False).st_mode):
                raise OSError(errno.ELOOP, f"{name} is a link")

    # ---- what is there ----

    def hold(self, hashes: Mapping[str, str], said: Mapping[str, bytes]) -> None:
        """From now on no file has another content than one of these hashes, as `walk` gives them: whatever is put in its place is
        refused. said: what files are taken to hold, whatever lies there.
        """
        self._held, self._said = dict(hashes), dict(said)

    def read(self, name: str) -> bytes:
        """As read_file. Raises FileError, also where the file is not what the folder was held to."""
        if name in self._said:
            return self._said[name]
        data = self._read(name)
        if self._held is not None and self._held.get(name) != hashlib.sha256(data).hexdigest():
            raise FileError(f"{self.path / name}: somebody changed it while it was judged")
        return data

    def _read(self, name: str) -> bytes:
        try:
            folder, last = self._split(name)
        except OSError as error:
            raise FileError(f"{self.path / name}: cannot read it: {why(error)}") from error
        return read_in(folder, last, self.path / name)

    def has(self, name: str) -> bool:
        """Whether this is a plain file."""
        if self._held is not None:
            return bool(self._held.get(name))
        try:
            folder, last = self._split(name)
            return stat.S_ISREG(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode)
        except OSError:
            return False

    def holds(self, name: str, data: bytes) -> bool:
        """Whether this is a plain file with this content."""
        try:
            return self.read(name) == data
        except FileError:
            return False

    def sha256(self, name: str) -> str:
        """Of a plain file, without holding it in memory; "" of what is none or larger than what a run writes. Raises OSError."""
        if self._held is not None:
            return self._held.get(name, "")
        folder, last = self._split(name)
        return _sha256(last, folder)

    def walk(self) -> Iterator[tuple[str, str]]:
        """Everything below that is no folder: its name, and its hash as by sha256. A folder that is deeper than a report has any is
        named as a whole, without a hash. Raises OSError.
        """
        yield from _below("", self._folders[""], _DEEPEST)

    # ---- what is written ----

    def write(self, name: str, data: bytes) -> None:
        """All or nothing. Raises OSError."""
        folder, last = self._split(name, make=True)
        write_in(folder, last, data)

    def append(self, name: str) -> int:
        """A descriptor that appends to the file. A link is refused, a hard one as well: what is appended would stand in a file of
        the user's. So is a pipe, which would be waited for. Raises OSError.
        """
        folder, last = self._split(name, make=True)
        file = os.open(last, _APPEND, 0o666, dir_fd=folder)
        status = os.fstat(file)
        if stat.S_ISREG(status.st_mode) and status.st_nlink < 2:
            return file
        os.close(file)
        raise OSError(errno.EINVAL, f"{name} is no plain file, or has another name as well")

    def remove(self, name: str) -> None:
        """Take a file away, if it is there. Raises OSError."""
        with suppress(FileNotFoundError):
            folder, last = self._split(name)
            os.unlink(last, dir_fd=folder)

    def names(self, folder: str = "") -> list[str]:
        """What is in the directory, or in a folder of it: nothing where that is missing. Raises OSError."""
        try:
            return os.listdir(self._folder(folder))
        except FileNotFoundError:
            return []

    def remove_folder(self, name: str) -> None:
        """Take away a folder that is empty; another stays."""
        with suppress(OSError):
            os.rmdir(name, dir_fd=self._folders[""])
            os.close(self._folders.pop(name, -1))

    def sync(self, names: Sequence[str]) -> None:
        """What was written is on the disk when this returns. Raises OSError."""
        if len(names) > _FEW and self._sync_all():
            return
        folders = set()
        for name in names:
            folder, last = self._split(name)
            file = os.open(last, _READ, dir_fd=folder)
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


def _below(place: str, folder: int, deeper: int) -> Iterator[tuple[str, str]]:
    for name in sorted(os.listdir(folder)):
        try:
            below = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
        except NotADirectoryError:  # a link is none either
            yield place + name, _sha256(name, folder)
            continue
        try:
            if deeper:
                yield from _below(f"{place}{name}/", below, deeper - 1)
            else:
                yield f"{place}{name}/", ""
        finally:
            os.close(below)


def _sha256(name: str, folder: int) -> str:
    try:
        file = os.open(name, _READ, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENOENT):  # a link, a socket, one that has gone
            return ""
        raise
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return ""
        found, left = hashlib.sha256(), LARGEST
        while block := os.read(file, 1 << 20):
            left -= len(block)
            if left < 0:  # it grows
                return ""
            found.update(block)
        return found.hexdigest()
    finally:
        os.close(file)


#: A report directory: its name, or the directory itself, open. Who reads more than one file of it opens it once: another one may
#: have the name by then.
Place = Union[Path, Folder]


def read_report(directory: Place, name: str) -> bytes:
    """One file of a report directory. Raises FileError."""
    if isinstance(directory, Folder):
        return directory.read(name)
    with open_report(directory, name) as folder:
        return folder.read(name)


def load_report(place: Path) -> tuple[Path, Any]:
    """What report.json says, in a report directory or by its own name; and its name. Raises FileError."""
    if not place.is_dir():
        return place, read_json(place)
    return place / _REPORT, parse_json(read_report(place, _REPORT), str(place / _REPORT))


def open_report(directory: Path, name: str) -> Folder:
    """A report directory; name: the file that is wanted of it first, for a message. Raises FileError."""
    try:
        return Folder(directory)
    except OSError as error:
        raise FileError(f"{directory / name}: cannot read it: {why(error)}") from error
