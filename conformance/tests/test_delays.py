"""A device may take FCVI_ULP_TIMEOUT for each answer (8.3, E123): however late it answers, no case fails it."""

from __future__ import annotations

import pytest

from fcvi.engine import pics as pics_module
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Verdict
from fcvi.engine.runner import not_applicable, run_variant

from .variants import CASES, LEVELS, IndependentDut

_ANSWERS = ("resp1_delay", "resp2_delay", "resp3_delay", "disconnect_resp_delay")
_NEARLY = 9_400_000  # R_A_TOV is 10 seconds
_ALL = [f"{name}={_NEARLY}" for name in _ANSWERS]
#: Cases whose tester uses up a part of the DUT's own FCVI_ULP_TIMEOUT, or whose far side has one for all answers together.
_UNDECIDED = 16


@pytest.mark.parametrize("settings", [*([one] for one in _ALL), _ALL], ids=[*_ANSWERS, "all"])
def test_late_answers_fail_nothing(settings: list[str]) -> None:
    dut = IndependentDut(settings)
    pics = pics_module.complete(dut.pics, "hello")
    chosen = [(c, v) for c, v in CASES if not_applicable(c, v, pics) is None]
    results = [run_variant(dut, c, v, pics, pixit_for("virtual"), LEVELS, 1) for c, v in chosen]
    assert len(results) > 300
    wrong = [(r.id, r.reason) for r in results if r.verdict not in (Verdict.PASS, Verdict.INCONCLUSIVE)]
    assert wrong == []
    assert sum(r.verdict is Verdict.INCONCLUSIVE for r in results) <= _UNDECIDED
