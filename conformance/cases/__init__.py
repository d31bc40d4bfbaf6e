"""The cases, one module per clause; a case's id is the standard's own number."""

from __future__ import annotations

from fcvi.case import CaseInfo

from . import (  # noqa: F401  (each module declares its cases when it is imported)
    a,
    c4_2,
    c4_1,
    c4_2_handles,
    c4_2_matching,
    c4_2_reach,
    c5_2_1,
    c5_2_2,
    c5_3_2,
    c5_3_3,
    c5_3_4,
    c5_8,
    c5_9_7_2,
    c5_9_7_2_2,
    c6_8,
    c7_4,
    c7_6,
    c7_7_1,
    c7_7_3,
    c7_7_4,
    c7_7_5,
    c8_5_2,
    c8_6,
    c_2,
    c_3,
    c_4,
    c_5_1,
    c_5_5,
    c_5_6,
    c_5_7_1,
    c_5_7_2,
    c_5_8,
    c_5_9,
    c_5_10,
    d_1,
    d_2,
    far_side,
    message_modules,
)
from .common import REGISTRY


def all_cases() -> list[CaseInfo]:
    """Every case of the suite, in the order of the clauses."""
    return REGISTRY.cases()
