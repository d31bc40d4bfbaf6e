"""No case fails a device for the latency of a plane, or for a count that goes on from the other side's (E18, E121, E123)."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from conformance.catalogue import load_requirements
from conformance.fcvi.cases import all_cases
from fcvi.dut.ref import RefDut
from fcvi.engine.attachment import Dut
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import run_variant

from .liberties.mixer import device
from .odd import Odd, OddDut
from .odd_latency import MS, SECOND, Latency, LatentDut
from .odd_reports import CompletesWhenSent, make

LEVELS = {r.id: r.level for r in load_requirements()}
VARIANTS = [(c, v) for c in all_cases() for v in c.variants]

_CONNECT = ("VipConnectWait", "VipConnectRequest", "VipConnectAccept", "VipConnectPeerWait", "VipDisconnect")
_BEGUN = ("VipConnectRequest", "VipConnectPeerRequest", "VipConnectAccept", "VipConnectReject", "VipDisconnect", "VipPostSend")
_LATE = [
    Latency("a control plane of 20 ms", control_us=(20 * MS, 20 * MS)),
    Latency("a control plane of 1 s", control_us=(SECOND, SECOND)),
    Latency("a control plane of 0 to 3 s", control_us=(0, 3 * SECOND)),
    Latency("a control plane of half of R_A_TOV", control_us=(4900 * MS, 4900 * MS)),
    Latency("a wire of 200 ms", wire_us=(200 * MS, 200 * MS)),
    Latency("both planes, varying", control_us=(0, 500 * MS), wire_us=(0, 40 * MS), heard_us=(0, 40 * MS)),
    Latency("requests 200 ms after the call", begun_us=dict.fromkeys(_BEGUN, 200 * MS)),
    Latency("requests 3 s after the call", begun_us=dict.fromkeys(_BEGUN, 3 * SECOND)),
    Latency("connect calls that return 3 s late", said_us=dict.fromkeys(_CONNECT, 3 * SECOND)),
    Latency("connect calls that return 9 s late", said_us=dict.fromkeys(_CONNECT, 9 * SECOND)),
    Latency("FARP that takes half of R_A_TOV", said_us=dict.fromkeys(("FARP_REPLY", "FARP_REQ"), 5 * SECOND)),
]


def _completes_when_sent() -> Dut:
    return make(CompletesWhenSent, "completes-when-sent")


def _run(dut: Dut, share: int, shares: int) -> list[Result]:
    """A share of the book: which one follows from the device."""
    results = []
    for case, variant in VARIANTS[share % shares :: shares]:
        results.append(run_variant(dut, case, variant, dut.pics, pixit_for("virtual"), LEVELS, 1))
        if results[-1].verdict is Verdict.ERROR:
            dut.restart()
    assert len(results) > 2000 // shares
    return results


def _wrong(results: list[Result]) -> list[tuple[str, str]]:
    return [(r.id, r.reason) for r in results if r.verdict in (Verdict.FAIL, Verdict.ERROR)]


@pytest.mark.parametrize("shares", [20, pytest.param(4, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("late", _LATE, ids=lambda late: late.name)
@pytest.mark.parametrize("inner", [RefDut, _completes_when_sent], ids=["when-answered", "when-sent"])
def test_latency_fails_nothing(late: Latency, inner: Callable[[], Dut], shares: int) -> None:
    results = _run(LatentDut(inner(), late), _LATE.index(late), shares)
    assert _wrong(results) == []
    undecided = sum(r.verdict is Verdict.INCONCLUSIVE for r in results)
    assert undecided <= len(results) // 20


def test_a_crossing_that_the_device_does_not_let_happen_is_undecided() -> None:
    chosen = [(c, v) for c, v in VARIANTS if c.id == "5.3.4.far" and v.suffix.endswith("crossing")]
    dut = device(1, ["request-that-waits-is-withdrawn"], True)
    results = [run_variant(dut, c, v, dut.pics, pixit_for("virtual"), LEVELS, 1) for c, v in chosen]
    assert {r.verdict for r in results} == {Verdict.PASS, Verdict.INCONCLUSIVE}
    assert all("never crossed" in r.reason for r in results if r.verdict is Verdict.INCONCLUSIVE)


class CountsOn(OddDut):
    """As responder it goes on from the furthest SEQ_CNT that it has from the originator (E18), in whatever order that came."""

    def reset(self, config: dict[str, Any]) -> None:
        self._furthest: dict[bytes, int] = {}
        self._begun: dict[bytes, int] = {}  # where its own count began
        super().reset(config)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        data = bytes.fromhex(params.get("hex", "")) if method == "frame" else b""
        if len(data) >= 24 and data[0] < 0x10 and not data[9] & 0x80:
            ox_id = data[16:18]
            if data[9] & 0x20 and self._begun.pop(ox_id, None) is not None:  # the OX_ID of a new Exchange
                self._furthest.pop(ox_id)
            self._furthest[ox_id] = max(self._furthest.get(ox_id, 0), int.from_bytes(data[14:16], "big"))
        super().notify(method, params)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        data = bytearray.fromhex(params.get("hex", "")) if method == "frame" else bytearray()
        ox_id = bytes(data[16:18])
        if data and data[0] < 0x10 and data[8] == 0x58 and data[9] & 0x80 and ox_id in self._furthest:
            begun = self._begun.setdefault(ox_id, self._furthest[ox_id] + 1)
            data[14:16] = (int.from_bytes(data[14:16], "big") + begun).to_bytes(2, "big")
            params = {**params, "hex": data.hex()}
        super()._emit(method, params)


def test_a_count_that_goes_on_is_no_more_than_a_warning_in_any_order() -> None:
    dut = CountsOn(Odd("counts-on", "E18"))
    chosen = [(c, v) for c, v in VARIANTS if "message" in c.tags]
    results = [run_variant(dut, c, v, dut.pics, pixit_for("virtual"), LEVELS, 1) for c, v in chosen]
    assert [(r.id, r.reason) for r in results if r.verdict is not Verdict.PASS] == []
    assert any("E18" in r.reason for r in results)
