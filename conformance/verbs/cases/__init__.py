"""The cases, by subject; an id is "VERBS." and a number of ``planned_cases.tsv``. Every module here is found: none is listed.

objects, queues, states, closing, work, order, protection, remote and windows have VERBS.1 to VERBS.50, the other modules the rest.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from fcvi.engine.case import CaseInfo

from conformance.verbs.steps.declare import REGISTRY


@functools.cache
def _load() -> tuple[CaseInfo, ...]:
    for found in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{found.name}")
    return tuple(sorted(REGISTRY.cases(), key=lambda case: int(case.id.rpartition(".")[2])))


def all_cases() -> list[CaseInfo]:
    """Every case of the standard. Which module was imported first makes no difference to their order."""
    return list(_load())
