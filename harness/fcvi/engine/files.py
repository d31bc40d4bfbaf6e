"""Files that are written whole or not at all, and files of others that are read without trust."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from . import strict
from .words import printable, why

LARGEST = 128 * 1024 * 1024  # of what is read whole; a run of ten thousand cases stays far below


class FileError(Exception):
    """A file that cannot be read or used: one line that names it and says why."""


def write_file(path: Path, data: bytes) -> None:
    """All or nothing: a reader never sees half a file. Raises OSError."""
    scratch = path.with_name(path.name + ".new")
    scratch.write_bytes(data)
    os.replace(scratch, path)


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
    try:
        return strict.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FileError(f"{where}: not UTF-8 at byte {error.start}") from error
    except ValueError as error:
        raise FileError(f"{where}: not JSON: {printable(error)[:200]}") from error


def read_json(path: Path) -> Any:
    """A JSON file. Raises FileError."""
    return parse_json(read_file(path), str(path))
