"""The cases, by subject; a case's id is "VIPL." and that of the plan. Every module here is found: none is listed."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re

from fcvi.engine.case import CaseInfo

from conformance.vipl.steps.declare import REGISTRY


def _in_order(case: CaseInfo) -> tuple[str, int]:
    """Letters first, numbers as numbers: VIPL.C10 comes behind VIPL.C9."""
    letters, number = re.fullmatch(r"VIPL\.([A-Z]+)(\d+)", case.id).groups()  # type: ignore[union-attr]
    return letters, int(number)


@functools.cache
def _load() -> tuple[CaseInfo, ...]:
    for found in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{found.name}")
    return tuple(sorted(REGISTRY.cases(), key=_in_order))


def all_cases() -> list[CaseInfo]:
    """Every case of the standard. Which module was imported first makes no difference to their order."""
    return list(_load())
