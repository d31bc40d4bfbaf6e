"""The cases, by theme; a case's id is the draft's own number with "TCP." before it. Every module here is found: none is listed.

Reports have the cases in the order of their clauses.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re

from fcvi.engine.case import CaseInfo

from conformance.vitcp.steps.connection import REGISTRY


def _by_clause(case: CaseInfo) -> list[tuple[bool, int, str]]:
    """Numbers as numbers: TCP.2.2.2.10 comes behind TCP.2.2.2.9."""
    return [(not w.isdigit(), int(w) if w.isdigit() else 0, w) for w in re.split(r"\.", case.id)]


@functools.cache
def _load() -> tuple[CaseInfo, ...]:
    for found in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{found.name}")
    return tuple(sorted(REGISTRY.cases(), key=_by_clause))


def all_cases() -> list[CaseInfo]:
    """Every case of the standard. Which module was imported first makes no difference to their order."""
    return list(_load())
