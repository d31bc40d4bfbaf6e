"""The cases, by theme; a case's id is the draft's own number with "TCP." before it. Every module here is found: none is listed.

Reports have the cases in the order of their clauses.
"""

from __future__ import annotations

import functools

from fcvi.engine.case import CaseInfo, by_numbers

from conformance.vitcp.steps.connection import REGISTRY


@functools.cache
def all_cases() -> tuple[CaseInfo, ...]:
    """Every case of the standard."""
    return REGISTRY.of_package(__name__, lambda case: by_numbers(case.id))
