"""5.5: a device may begin nothing between its ABTS and the BA_ACC, and no case fails it for that."""

from __future__ import annotations

from conformance.catalogue import load_requirements
from conformance.fcvi.cases import all_cases
from conformance.tests.odd_reports import RecoversFirst, make
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Verdict
from fcvi.engine.runner import run_variant


def test_a_device_that_recovers_first_passes() -> None:
    dut, levels = make(RecoversFirst, "recovers-first"), {r.id: r.level for r in load_requirements()}
    chosen = [(c, v) for c in all_cases() if c.id == "5.5.class2" for v in c.variants]
    results = [run_variant(dut, c, v, dut.pics, pixit_for("virtual"), levels, 1) for c, v in chosen]
    assert results and [(r.id, r.verdict.value, r.reason) for r in results if r.verdict is not Verdict.PASS] == []
