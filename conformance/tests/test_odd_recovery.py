"""Conforming devices that the register of errata speaks of, in the cases that would fail them without it."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.catalogue import load_requirements
from conformance.fcvi.cases import all_cases
from conformance.tests.odd import Odd, OddDut
from fcvi.dut.base import Reply
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import run_variant
from fcvi.fc import codec, els
from fcvi.fc.build import Envelope
from fcvi.fc.received import kind_of

LEVELS = {r.id: r.level for r in load_requirements()}


def is_retry(params: dict[str, Any]) -> bool:
    """Whether the frame begins a FCVI_CONNECT_RQST with RETRY."""
    view = codec.decode(bytes.fromhex(params["hex"]))
    return kind_of(view) == "CONNECT_RQST" and bool(view.get("DH", "RQST_RETRY"))


class EndsOnRetry(OddDut):
    """Who is Connected takes the retry of that setup for an error of the protocol, and ends the connection (E65, 8.2 d)."""

    def __init__(self) -> None:
        super().__init__(Odd("ends-on-retry", "E65"))
        self._ended = False

    def reset(self, config: dict[str, Any]) -> None:
        self._ended = False
        super().reset(config)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._ended = self._ended or (method == "frame" and is_retry(params))
        super().notify(method, params)

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        reply = super().request(method, params)
        if method == "VipQueryVi" and self._ended and reply.result.get("State") == "VIP_STATE_CONNECTED":
            reply.result = {**reply.result, "State": "VIP_STATE_ERROR"}
        return reply


class LogsOut(OddDut):
    """Nobody answers its ABTS of a setup: second level error recovery of FC-FS comes before the retry (E171, rule C-3b)."""

    def __init__(self) -> None:
        super().__init__(Odd("logs-out", "E171"))
        self._config: dict[str, Any] = {}

    def reset(self, config: dict[str, Any]) -> None:
        self._config = config
        super().reset(config)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        if method == "frame" and is_retry(params):
            own, peer = int(self._config["n_port_id"], 16), int(self._config["peer"]["n_port_id"], 16)
            logo = els.request(Envelope(peer, own, 0x7FF0), els.LOGO, els.logo(self._config, own))
            params = logo.params()
        super()._emit(method, params)


def judged(dut: OddDut, case_id: str, variant: str = "") -> list[Result]:
    """The results of a case with this device."""
    chosen = [(c, v) for c in all_cases() if c.id == case_id for v in c.variants if variant in ("", v.suffix)]
    return [run_variant(dut, c, v, dut.pics, pixit_for("virtual"), LEVELS, 1) for c, v in chosen]


@pytest.mark.parametrize("case_id", ["C.R9", "C.R10"])
def test_a_retry_may_end_the_connection_that_it_repeats(case_id: str) -> None:
    results = judged(EndsOnRetry(), case_id)
    assert results and {(r.verdict, r.reason) for r in results} == {(Verdict.PASS, "the DUT took the other reading of E65")}


def test_a_logout_may_stand_for_the_retry_when_nobody_answers_the_abts() -> None:
    (result,) = judged(LogsOut(), "C.5.7.2", "dut-client/abts-unanswered")
    assert result.verdict is Verdict.INCONCLUSIVE and "new login" in result.reason, result.reason
