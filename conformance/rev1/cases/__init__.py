"""The cases: those of the draft, "R1." and a clause, by theme; and those of 2007 whose requirements all hold (of_2007.py).

Every module here is found: none is listed. Reports have the cases in the order of their clauses, those of 2007 behind.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re

from fcvi.engine.case import CaseInfo

from conformance.rev1.steps.connection import REGISTRY


def _by_clause(case: CaseInfo) -> list[tuple[bool, int, str]]:
    """Numbers as numbers."""
    return [(not w.isdigit(), int(w) if w.isdigit() else 0, w) for w in re.split(r"\.", case.id)]


@functools.cache
def _load() -> tuple[CaseInfo, ...]:
    for found in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{found.name}")
    from .of_2007 import cases_that_hold

    return (*sorted(REGISTRY.cases(), key=_by_clause), *cases_that_hold())


def all_cases() -> list[CaseInfo]:
    """Every case of the edition. Which module was imported first makes no difference to their order."""
    return list(_load())
