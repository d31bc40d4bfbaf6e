"""The standards: one folder each, with what the standard demands (requirements, errata) and the cases that try it."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fcvi.engine.words import UsageError

if TYPE_CHECKING:
    from fcvi.engine.protocol import Protocol

#: Folders of more standards that are not in this tree, separated by colons.
VARIABLE = "FCVI_STANDARDS"
#: Folders here that only FCVI_STANDARDS brings in: the programs beside the command still know one register of errata.
_ON_REQUEST = frozenset({"vipl", "vitcp"})


class NoStandard(UsageError):
    """A folder that is no standard."""


def protocols() -> list[Protocol]:
    """The protocol object of every standard: of each folder here that has a module ``book``, and of those in FCVI_STANDARDS.

    FC-VI comes first, the others follow by name. Raises NoStandard for a folder that is no standard.
    """
    here = Path(__file__).resolve().parent
    names = [m.name for m in pkgutil.iter_modules([str(here)]) if m.ispkg and (here / m.name / "book.py").is_file()]
    names = [name for name in names if name not in _ON_REQUEST]
    found = [importlib.import_module(f"{__name__}.{name}.book") for name in sorted(names, key=lambda name: (name != "fcvi", name))]
    for folder in filter(None, os.environ.get(VARIABLE, "").split(":")):
        path = Path(folder).resolve()
        if not (path / "book.py").is_file():
            raise NoStandard(f"{VARIABLE}: {folder} is not the folder of a standard: it has no book.py")
        if path.parent == here:
            found.append(importlib.import_module(f"{__name__}.{path.name}.book"))
            continue
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        found.append(importlib.import_module(f"{path.name}.book"))
    return [module.PROTOCOL for module in found]


def register_all() -> None:
    """Hand every standard to the engine."""
    from fcvi.engine.protocol import register

    register(*protocols())
