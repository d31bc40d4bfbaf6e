"""No case fails a device for what the standard lets it report later, elsewhere or not at all."""

from __future__ import annotations

import pytest

from conformance.catalogue import load_requirements
from conformance.fcvi.cases import all_cases
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Verdict
from fcvi.engine.runner import run_variant

from .odd import OddDut
from .odd_reports import REPORTS, make

LEVELS = {r.id: r.level for r in load_requirements()}


@pytest.mark.parametrize("shares", [4, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind, name, tags", REPORTS, ids=[name for _, name, _ in REPORTS])
def test_the_device_passes(kind: type[OddDut], name: str, tags: tuple[str, ...], shares: int) -> None:
    dut = make(kind, name)
    chosen = [(c, v) for c in all_cases() if set(tags) & set(c.tags) for v in c.variants]
    chosen = chosen[len(name) % shares :: shares]
    results = [run_variant(dut, c, v, dut.pics, pixit_for("virtual"), LEVELS, 1) for c, v in chosen]
    assert len(results) > 20 // shares
    assert [(r.id, r.reason) for r in results if r.verdict is not Verdict.PASS] == []
