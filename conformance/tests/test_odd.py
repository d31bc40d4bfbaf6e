"""No case fails a device for a choice that the standard leaves to it."""

from __future__ import annotations

import pytest

from conformance.fcvi.cases import all_cases
from conformance.catalogue import load_requirements
from .odd import ODD, Odd, OddDut
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Verdict
from fcvi.engine.runner import run_variant

LEVELS = {r.id: r.level for r in load_requirements()}
VARIANTS = [(c, v) for c in all_cases() if "message" in c.tags for v in c.variants]


@pytest.mark.parametrize("shares", [9, pytest.param(3, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("odd", ODD, ids=lambda o: o.name)
def test_the_choice_passes(odd: Odd, shares: int) -> None:
    dut = OddDut(odd)
    share = VARIANTS[ODD.index(odd) % shares :: shares]  # every variant meets one of them
    results = [run_variant(dut, c, v, dut.pics, pixit_for("virtual"), LEVELS, 1) for c, v in share]
    assert len(results) > 900 // shares
    assert [(r.id, r.reason) for r in results if r.verdict is not Verdict.PASS] == []
