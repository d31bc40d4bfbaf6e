"""The standards: one folder each, with what the standard demands (requirements, errata) and the cases that try it."""

from __future__ import annotations

import os
import sys

from fcvi.engine.words import UsageError

TYPE_CHECKING = False  # a command that reads a capture needs no book: what only the books need is loaded with them
if TYPE_CHECKING:
    from fcvi.engine.protocol import Protocol

#: Folders of more standards that are not in this tree, separated by colons.
VARIABLE = "FCVI_STANDARDS"


class NoStandard(UsageError):
    """A folder that is no standard."""


def protocols() -> list[Protocol]:
    """The protocol object of every standard here, which is each folder that has a module ``book``: FC-VI first, the others by
    name."""
    import importlib
    import pkgutil
    from pathlib import Path

    here = Path(__file__).resolve().parent
    names = [m.name for m in pkgutil.iter_modules([str(here)]) if m.ispkg and (here / m.name / "book.py").is_file()]
    names.sort(key=lambda name: (name != "fcvi", name))
    return [importlib.import_module(f"{__name__}.{name}.book").PROTOCOL for name in names]


def beside() -> list[Protocol]:
    """Those of the folders that FCVI_STANDARDS names. Raises NoStandard for a folder that is none."""
    import importlib
    from pathlib import Path

    found = []
    for folder in filter(None, os.environ.get(VARIABLE, "").split(":")):
        path = Path(folder).resolve()
        if not (path / "book.py").is_file():
            raise NoStandard(f"{VARIABLE}: {folder} is not the folder of a standard: it has no book.py")
        package = f"{__name__}.{path.name}" if path.parent == Path(__file__).resolve().parent else path.name
        if package == path.name and str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        found.append(importlib.import_module(f"{package}.book").PROTOCOL)
    return found


def register_all() -> None:
    """Hand every standard to the engine. Their cases are loaded when somebody asks for them."""
    from fcvi.engine.protocol import register

    register(*protocols())
    register(*beside(), beside=True)
