"""Cases of one's own: files in a folder beside the suite, which declare cases as the suite's own files do (``--cases DIR``)."""

from __future__ import annotations

import functools
import importlib.util
import sys
import traceback
from pathlib import Path

from . import case as registry
from .blame import code_of
from .case import CaseInfo, load_cases
from .catalogue import load_catalogue
from .files import FileError, read_file
from .protocol import registered
from .own_check import check, mistake
from .words import near


def files_of(directory: Path) -> list[Path]:
    """The files that declare cases, in their order. Raises FileError."""
    if not directory.is_dir():
        raise FileError(f"--cases {directory}: no such folder")
    return sorted(path for path in directory.glob("*.py") if not path.name.startswith(("_", ".")))


@functools.cache
def load(directory: Path) -> dict[Path, list[CaseInfo]]:
    """Make the cases of a folder known, behind those of the suite. Returns what each file declares. Raises FileError.

    The files are programs of the user's, and run with all that the user may do.
    """
    found = {path: _declared(path) for path in files_of(directory)}
    if not any(found.values()):
        raise FileError(f"--cases {directory}: no file there declares a case; fcvi new-case writes one")
    return found


def _declared(path: Path) -> list[CaseInfo]:
    suite = load_cases()  # first: whether a name is taken shows only then
    name = f"fcvi_own_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    text = read_file(path)
    if b"\0" in text:
        raise mistake(path, text.count(b"\n", 0, text.index(b"\0")) + 1, "a zero byte, which no program has")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # the folder is the user's
    with registry.collecting() as declared:
        try:
            spec.loader.exec_module(module)
        except SyntaxError as error:
            raise mistake(path, error.lineno, error.msg) from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # pylint: disable=broad-except  # also a program that ends, as if nothing were to be run
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
            raise mistake(path, lines[-1] if lines else None, f"{type(error).__name__}: {error}") from error
        finally:
            sys.dont_write_bytecode = writes
    check(path, text, module, declared)
    known, levels = {case.id for case in suite}, load_catalogue(registered()).levels
    for case in declared:
        code = code_of(case)
        line = code.co_firstlineno if code is not None else None
        if case.id in known:
            raise mistake(path, line, f"case {case.id}: the suite has a case of this name")
        strange = [ident for ident in case.requirements if ident not in levels]
        if strange:
            raise mistake(path, line, f"case {case.id}: there is no requirement {strange[0]}{near(strange[0], levels)}")
    registry.OWN.extend(declared)
    return declared
