"""A device may take FCVI_ULP_TIMEOUT for each answer (8.3, E123): however late it answers, no case fails it."""

from __future__ import annotations

from typing import Any

import pytest

from fcvi.engine import pics as pics_module
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Verdict
from fcvi.engine.runner import not_applicable, run_variant

from .odd import LateDut
from .variants import CASES, LEVELS, IndependentDut

_ANSWERS = ("resp1_delay", "resp2_delay", "resp3_delay", "disconnect_resp_delay")
_NEARLY = 9_400_000  # R_A_TOV is 10 seconds
_ALL = [f"{name}={_NEARLY}" for name in _ANSWERS]
#: Cases whose tester uses up a part of the DUT's own FCVI_ULP_TIMEOUT, or whose far side has one for all answers together.
_UNDECIDED = 16


@pytest.mark.parametrize(
    "settings", [*(pytest.param([one], marks=pytest.mark.nightly) for one in _ALL), _ALL], ids=[*_ANSWERS, "all"]
)
def test_late_answers_fail_nothing(settings: list[str]) -> None:
    dut = IndependentDut(settings)
    pics = pics_module.complete(dut.pics, "hello")
    chosen = [(c, v) for c, v in CASES if not_applicable(c, v, pics) is None]
    results = [run_variant(dut, c, v, pics, pixit_for("virtual"), LEVELS, 1) for c, v in chosen]
    assert len(results) > 300
    wrong = [(r.id, r.reason) for r in results if r.verdict not in (Verdict.PASS, Verdict.INCONCLUSIVE)]
    assert wrong == []
    assert sum(r.verdict is Verdict.INCONCLUSIVE for r in results) <= _UNDECIDED


class SpacedDut(LateDut):
    """The reference port whose frames of one Exchange come 1.5 seconds apart, which E_D_TOV (2 seconds) allows."""

    _BETWEEN_US = 1_500_000

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        own = [due for due, m, late in self._late if m == method and self._behind(params, late)]
        self.emit_after(max(own) + self._BETWEEN_US - self._server.now_us if own else 1, method, params)


#: The port takes its frames for sent at once, and its own FCVI_ULP_TIMEOUT for a response begins with them.
_IMPATIENT = ("6.2/reliable-reception/largest", "6.4/reliable-reception/largest")
_LARGEST = {c.variant_id(v): (c, v) for c, v in CASES if c.variant_id(v).endswith("/largest")}


@pytest.mark.parametrize("ident", sorted(set(_LARGEST) - set(_IMPATIENT)))
def test_a_message_slower_than_r_a_tov_fails_nothing(ident: str) -> None:
    dut = SpacedDut("spaced")
    result = run_variant(dut, *_LARGEST[ident], dut.pics, pixit_for("virtual"), LEVELS, 1)
    assert result.verdict is Verdict.PASS, result.reason
