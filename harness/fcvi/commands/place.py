"""The directory that a command writes into: what is refused, and the option --force.

A directory that holds a report, evidence, a certificate or findings is refused without --force, lest they be lost or mixed with
what is written now. What is signed is refused always: whoever has the signature relies on it.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterable, Iterator

from fcvi.engine.evidence import FOLDER, RUN
from fcvi.engine.files import FileError, parse_json
from fcvi.engine.folder import load_report, read_report
from fcvi.engine.words import UsageError, why
from fcvi.report import manifest

#: What an earlier run leaves; dut.log alone is of no value.
_REPORT = ("report.json", "report.html", "report.txt", "report.tap", "report.sarif", "junit.xml", f"{FOLDER}/{RUN}")
_CERTIFICATE = (*manifest.CERTIFICATE, manifest.NAME)


def force(p: Any) -> None:
    """The option --force."""
    p.add_argument("--force", action="store_true",
                   help="Replace what an earlier command left in the directory; what is signed is never replaced.")  # fmt: skip


def directory(text: str) -> Path:
    """What an option names, as it will be when what is missing of it is made: NEW/../OLD is OLD, and makes no NEW."""
    path = Path(text)
    return path if ".." not in path.parts else Path(os.path.relpath(os.path.realpath(path)))


def refuse_file(option: str, directory: Path) -> None:
    """Raises UsageError when the name of a directory is that of something else."""
    if os.path.lexists(directory) and not directory.is_dir():
        raise UsageError(f"{option} {directory}: is there and is no directory; name a directory")
    here = directory.absolute()
    above = next((path for path in here.parents if os.path.lexists(path)), here)
    if not above.is_dir():
        raise UsageError(f"{option} {directory}: {above} is no directory; name a directory")
    if here.resolve() == Path("/"):
        raise UsageError(f"{option} {directory}: is the root of the file system; name a directory of its own")
    if here.name == FOLDER and os.path.lexists(here / RUN):
        raise UsageError(f"{option} {directory}: holds the evidence of a report; name a directory beside {here.parent}")


def refuse_what_is_signed(option: str, directory: Path) -> None:
    """Raises UsageError for a directory in which a signature covers every file: one more, or another one, would belie it."""
    if os.path.lexists(directory / manifest.SIGNATURE):
        raise UsageError(f"{option} {directory}: holds a signed certificate, which is never replaced; name another directory")


def refuse_what_is_kept(option: str, directory: Path, forced: bool, own: Iterable[str] = ()) -> None:
    """Raises UsageError for a directory whose files would be lost. own: globs of what this command leaves, beside reports."""
    refuse_file(option, directory)
    refuse_what_is_signed(option, directory)
    if forced:
        return
    held = _held(directory, own)
    if held:
        raise UsageError(f"{option} {directory}: holds {held}; name another directory, or replace it with --force")


def ready(option: str, directory: Path, forced: bool, own: Iterable[str] = ()) -> None:
    """The same, and the directory can be written into: said before the work begins, not after it. Raises UsageError, OSError."""
    refuse_what_is_kept(option, directory, forced, own)
    with writing(option, directory):
        _try_to_write(directory.absolute())


@contextmanager
def writing(option: str, name: object) -> Iterator[None]:
    """What is written in it is what an option names: an error of the system says so."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"{option} {name}: cannot write there: {why(error)}") from error


def _try_to_write(directory: Path) -> None:
    """Leaves nothing behind. Raises OSError."""
    if directory.is_dir():
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return
    made = next(path for path in (directory, *directory.parents) if path.parent.exists())
    made.mkdir()
    made.rmdir()


def ready_file(option: str, path: Path) -> None:
    """A file of this name can be written: it is no directory, and its own is there. Raises UsageError, OSError."""
    if path.is_dir():
        raise UsageError(f"{option} {path}: is a directory; name a file")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no directory {path.parent}; make it first")
    refuse_what_is_signed(option, path.parent)
    if not os.access(path if os.path.exists(path) and not path.is_file() else path.parent, os.W_OK):
        raise OSError(errno.EACCES, f"{option} {path}: cannot write there: {os.strerror(errno.EACCES)}")


def _held(directory: Path, own: Iterable[str]) -> str:
    """What of value is in the directory, in words; "" when nothing is."""
    if any(os.path.lexists(directory / name) for name in _CERTIFICATE):
        return "the certificate of an earlier run"
    if any(os.path.lexists(directory / name) for name in _REPORT) and not _nothing_ran(directory):
        return _of_a_run(directory)
    for pattern in own:
        found = next(iter(sorted(directory.glob(pattern))), None)
        if found is not None:
            return f"what an earlier command left ({found.name})"
    return ""


def _run_of(directory: Path) -> Any:
    try:
        return parse_json(read_report(directory, f"{FOLDER}/{RUN}"), "")
    except FileError:
        return None


def _of_a_run(directory: Path) -> str:
    run = _run_of(directory)
    if isinstance(run, dict) and "incomplete" in run:
        certifies = run.get("certification") is True
        return f"a run that was cut off, which fcvi {'certify' if certifies else 'run'} --resume {directory} goes on with"
    return "the report of an earlier run"


def _nothing_ran(directory: Path) -> bool:
    """A report that says only that its run could not begin."""
    run = _run_of(directory)
    if isinstance(run, dict):
        cases = run.get("cases")
        return "incomplete" not in run and isinstance(cases, list) and all(_not_run(case) for case in cases)
    try:
        report = load_report(directory)[1]
    except FileError:
        return False
    return isinstance(report, dict) and bool(report.get("error")) and not report.get("results")


def _not_run(case: Any) -> bool:
    return isinstance(case, dict) and case.get("not_run") == "error"
