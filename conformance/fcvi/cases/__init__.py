"""The cases, one module per clause; a case's id is the standard's own number. Every module here is found: none is listed.

Reports have the cases of a module together, in the order in which they are declared. A module says with PART_OF_REPORT
which part of a report it belongs to: connections come first, Messages later. Modules of one part, and those without one
behind all parts, follow by their clause.
"""

from __future__ import annotations

import functools
import importlib
import math
import pkgutil
from types import ModuleType

from fcvi.engine.case import CaseInfo

from conformance.fcvi.steps.connection import REGISTRY


def _by_place(module: ModuleType) -> tuple[float, list[tuple[bool, int, str]]]:
    """Its part, then its name with numbers as numbers: 5.9 comes before 5.10."""
    words = module.__name__.rpartition(".")[2].split("_")
    return getattr(module, "PART_OF_REPORT", math.inf), [(not w.isdigit(), int(w) if w.isdigit() else 0, w) for w in words]


@functools.cache
def _load() -> tuple[CaseInfo, ...]:
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    places = {module.__name__: place for place, module in enumerate(sorted(modules, key=_by_place))}
    return tuple(sorted(REGISTRY.cases(), key=lambda case: places[case.body.__module__]))


def all_cases() -> list[CaseInfo]:
    """Every case of the standard. Which module was imported first makes no difference to their order."""
    return list(_load())
