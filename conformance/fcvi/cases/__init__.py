"""The cases, one module per clause; a case's id is the standard's own number."""

from __future__ import annotations

from fcvi.engine.case import CaseInfo

from . import (  # noqa: F401
    annex_a as a,
    clause_4_2 as c4_2,
    clause_4_1 as c4_1,
    clause_4_2_handles as c4_2_handles,
    clause_4_2_matching as c4_2_matching,
    clause_4_2_reach as c4_2_reach,
    clause_5_2_1 as c5_2_1,
    clause_5_2_2 as c5_2_2,
    clause_5_3_2 as c5_3_2,
    clause_5_3_3 as c5_3_3,
    clause_5_3_4 as c5_3_4,
    clause_5_8 as c5_8,
    clause_5_8_1 as c5_8_1,
    clause_5_9_7_2 as c5_9_7_2,
    clause_5_9_7_2_2 as c5_9_7_2_2,
    clause_6_8 as c6_8,
    clause_7_4 as c7_4,
    clause_7_6 as c7_6,
    clause_7_7_1 as c7_7_1,
    clause_7_7_3 as c7_7_3,
    clause_7_7_4 as c7_7_4,
    clause_7_7_5 as c7_7_5,
    clause_8_5_2 as c8_5_2,
    clause_8_6 as c8_6,
    annex_c_2 as c_2,
    annex_c_3 as c_3,
    annex_c_4 as c_4,
    annex_c_5_1 as c_5_1,
    annex_c_5_5 as c_5_5,
    annex_c_5_6 as c_5_6,
    annex_c_5_7_1 as c_5_7_1,
    annex_c_5_7_2 as c_5_7_2,
    annex_c_5_8 as c_5_8,
    annex_c_5_9 as c_5_9,
    annex_c_5_10 as c_5_10,
    annex_d_1 as d_1,
    annex_d_2 as d_2,
    second_port as far_side,
    message_modules,
)
from conformance.fcvi.steps.connection import REGISTRY


def all_cases() -> list[CaseInfo]:
    """Every case of the suite, in the order of the clauses."""
    return REGISTRY.cases()
