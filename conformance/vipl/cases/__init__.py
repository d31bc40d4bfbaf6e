"""The cases, by subject; a case's id is "VIPL." and that of the plan. Every module here is found: none is listed."""

from __future__ import annotations

import functools

from fcvi.engine.case import CaseInfo, by_numbers

from conformance.vipl.steps.declare import REGISTRY


@functools.cache
def all_cases() -> tuple[CaseInfo, ...]:
    """Every case of the standard."""
    return REGISTRY.of_package(__name__, lambda case: by_numbers(case.id))
