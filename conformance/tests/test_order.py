"""The order of the cases: modules are found, and each says itself where reports have its cases."""

from __future__ import annotations

import itertools
from types import ModuleType

import pytest

from conformance.fcvi import cases


def test_the_cases_of_a_module_stand_together() -> None:
    groups = [module for module, _ in itertools.groupby(case.body.__module__ for case in cases.all_cases())]
    assert len(groups) == len(set(groups)) > 50


def test_connections_come_first_and_combinations_last() -> None:
    order = [case.id for case in cases.all_cases()]
    assert order[0] == "5.3.3" and order.index("A.1") < order.index("6.2") < order.index("E.1")
    assert cases.all_cases()[-1].body.__module__.rpartition(".")[2].startswith("combined")


@pytest.mark.parametrize(
    "names, wanted",
    [
        ({"annex_c_5_10": 5, "annex_c_5_9": 5}, ["annex_c_5_9", "annex_c_5_10"]),
        ({"clause_4_1": None, "clause_9_9": 2, "annex_a": 3}, ["clause_9_9", "annex_a", "clause_4_1"]),
    ],
)
def test_modules_follow_by_part_then_by_clause(names: dict[str, int | None], wanted: list[str]) -> None:
    modules = [ModuleType(f"conformance.fcvi.cases.{name}") for name in names]
    for module, place in zip(modules, names.values()):
        if place is not None:
            module.__dict__["PART_OF_REPORT"] = place
    assert [module.__name__.rpartition(".")[2] for module in sorted(modules, key=cases._by_place)] == wanted
