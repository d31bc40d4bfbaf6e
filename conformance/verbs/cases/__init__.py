"""The cases, by subject; an id is "VERBS." and a number of ``planned_cases.tsv``. Every module here is found: none is listed.

VERBS.1 to 50: objects, queues, states, closing, work, order, protection, remote, windows. Of the rest:
posting: 57, 59 to 62, 73, 81, 82, 93, 94. notices: 74 to 77. connecting: 78 to 80. registering: 70 to 72.
devices: 56, 58, 89 to 92. lifetimes: 63, 87, 88, 95. shared_receive: 51 to 55. shared_queues: 83 to 86.
bound_windows: 64 to 66, 69. invalidation: 67, 68.
"""

from __future__ import annotations

import functools

from fcvi.engine.case import CaseInfo, by_numbers

from conformance.verbs.steps.declare import REGISTRY


@functools.cache
def all_cases() -> tuple[CaseInfo, ...]:
    """Every case of the standard."""
    return REGISTRY.of_package(__name__, lambda case: by_numbers(case.id))
