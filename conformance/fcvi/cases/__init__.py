"""The cases, one module per clause; a case's id is the standard's own number. Every module here is found: none is listed."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from fcvi.engine.case import CaseInfo

from conformance.fcvi.steps.connection import REGISTRY

#: The order in which reports have always had the cases: connections first, then Messages. Other modules follow by name.
_ORDER = """
    clause_5_3_3 annex_a clause_4_2 clause_7_7_1 clause_4_1 clause_4_2_handles clause_4_2_matching
    clause_4_2_reach clause_5_2_2 clause_5_2_1 clause_5_3_2 clause_5_3_4 clause_5_8 clause_5_9_7_2
    clause_5_9_7_2_2 clause_6_8 clause_7_4 clause_7_6 clause_7_7_3 clause_7_7_4 clause_7_7_5 clause_8_5_2
    clause_8_6 annex_c_2 annex_c_3 annex_c_4 annex_c_5_1 annex_c_5_5 annex_c_5_6 annex_c_5_7_1 annex_c_5_7_2
    annex_c_5_8 annex_c_5_9 annex_c_5_10 annex_d_1 annex_d_2 second_port clause_6_requests clause_5_2_5
    clause_5_5 clause_5_6_login annex_b_rules_1_3 clause_6_responses clause_5_9_4_3 clause_5_9_6
    clause_5_9_flags clause_6_order clause_8_states annex_b_rules_4_5 annex_b_rules_6_7 annex_b_rule_8
    annex_b_rule_9 annex_b_examples annex_e annex_f
""".split()


def _place(name: str) -> tuple[int, str]:
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)


@functools.cache
def _load() -> tuple[CaseInfo, ...]:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return tuple(sorted(REGISTRY.cases(), key=lambda case: _place(case.body.__module__.rpartition(".")[2])))


def all_cases() -> list[CaseInfo]:
    """Every case of the standard. Which module was imported first makes no difference to their order."""
    return list(_load())
