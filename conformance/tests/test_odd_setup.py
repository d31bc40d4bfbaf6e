"""No case on connections, addresses or link events fails a device for a choice that the standard leaves to it."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.fcvi.cases import all_cases
from conformance.catalogue import load_requirements
from .odd import Odd, OddDut
from .odd_setup import ODD
from fcvi.dut.ref import RefDut
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Verdict
from fcvi.engine.runner import run_variant
from fcvi.fc import codec

LEVELS = {r.id: r.level for r in load_requirements()}
VARIANTS = [(c, v) for c in all_cases() if {"setup", "link", "address", "disconnect", "login"} & set(c.tags) for v in c.variants]


@pytest.mark.parametrize("shares", [8, pytest.param(2, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("odd", ODD, ids=lambda o: o.name)
def test_the_choice_passes(odd: Odd, shares: int) -> None:
    dut = OddDut(odd)
    share = VARIANTS[ODD.index(odd) % shares :: shares]  # every variant meets some of them
    results = [run_variant(dut, c, v, dut.pics, pixit_for("virtual"), LEVELS, 1) for c, v in share]
    assert len(results) > 400 // shares
    assert [(r.id, r.reason) for r in results if r.verdict is not Verdict.PASS] == []


class RepeatingDut(RefDut):
    """The reference port whose RESP2 repeats the Reason Code of the refusal that it answers, whatever that is (E40)."""

    def __init__(self) -> None:
        self._refused: dict[Any, Any] = {}  # Reason Code by OX_ID
        self.repeated: set[int] = set()
        super().__init__("repeats refusals")

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method == "frame":
            view = codec.decode(bytes.fromhex(params["hex"]))
            if view.iu == "CONNECT_RESP1":
                self._refused[view.get("FC", "OX_ID")] = view.get("DH", "Reason_Code") if view.get("DH", "CONN_STS") else None
        super().notify(method, params)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        view = codec.decode(bytes.fromhex(params["hex"])) if method == "frame" else None
        code = self._refused.get(view.get("FC", "OX_ID")) if view is not None and view.iu == "CONNECT_RESP2" else None
        if view is not None and code is not None:
            buf = bytearray(view.data)
            codec.put("DH", "CONN_STS", buf, 1, view.dh_offset)
            codec.put("DH", "Reason_Code", buf, code, view.dh_offset)
            params = {**params, "hex": buf.hex()}
            self.repeated.add(code)
        super()._emit(method, params)


def test_a_refusal_is_repeated_with_any_code() -> None:
    dut = RepeatingDut()
    chosen = [(c, v) for c, v in VARIANTS if c.id.startswith(("A.", "5.3.4", "5.9.7.2"))]
    results = [run_variant(dut, c, v, dut.pics, pixit_for("virtual"), LEVELS, 1) for c, v in chosen]
    assert [(r.id, r.reason) for r in results if r.verdict is not Verdict.PASS] == []
    assert {0x00, 0x06, 0x23, 0x40, 0x5F, 0x70} <= dut.repeated  # reserved, or of a Disconnect, in Table 12
