"""The cases: those of the draft, "R1." and a clause, by theme; and those of 2007 whose requirements all hold (of_2007.py).

Every module here is found: none is listed. Reports have the cases in the order of their clauses, those of 2007 behind.
"""

from __future__ import annotations

import functools

from fcvi.engine.case import CaseInfo, by_numbers

from conformance.rev1.steps.connection import REGISTRY


@functools.cache
def all_cases() -> tuple[CaseInfo, ...]:
    """Every case of the edition."""
    from .of_2007 import cases_that_hold

    return (*REGISTRY.of_package(__name__, lambda case: by_numbers(case.id)), *cases_that_hold())
