"""The cases, one module per clause; a case's id is the standard's own number. Every module here is found: none is listed.

Reports have the cases of a module together, in the order in which they are declared. A module says with PART_OF_REPORT
which part of a report it belongs to: connections come first, Messages later. Modules of one part, and those without one
behind all parts, follow by their clause.
"""

from __future__ import annotations

import functools
import math
import sys
from types import ModuleType

from fcvi.engine.case import CaseInfo, by_numbers

from conformance.fcvi.steps.connection import REGISTRY


def _by_place(module: ModuleType) -> tuple[float, list[tuple[bool, int, str]]]:
    """Its part, then its name."""
    return getattr(module, "PART_OF_REPORT", math.inf), by_numbers(module.__name__.rpartition(".")[2])


@functools.cache
def all_cases() -> tuple[CaseInfo, ...]:
    """Every case of the standard."""
    return REGISTRY.of_package(__name__, lambda case: _by_place(sys.modules[case.body.__module__]))
