"""Every case fails a device that breaks its rule, and says which rule; devices that do nothing pass nothing."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.catalogue import load_requirements
from conformance.fcvi.cases import all_cases
from . import faults_clause4, faults_combined, faults_ends, faults_far, faults_link, faults_messages, faults_setup, faulty
from .bank.table import bank
from .faulty import Fault, FaultyDut
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import run_variant

_BANKS = (faulty, faults_setup, faults_messages, faults_link, faults_clause4, faults_ends, faults_far, faults_combined)
FAULTS = [fault for bank in _BANKS for fault in bank.FAULTS]
LEVELS = {r.id: r.level for r in load_requirements()}
#: Cases whose broken devices are made from the field table (test_reserved).
GENERATED = {"5.9.5.setup", "5.9.5.disconnect", "5.9.5.message"}
VARIANTS = {c.variant_id(v): (c, v) for c in all_cases() for v in c.variants}


def run_on(dut: Any, ident: str) -> Result:
    case, variant = VARIANTS[ident]
    return run_variant(dut, case, variant, dut.pics, pixit_for("virtual"), LEVELS, 1)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_fault_is_caught_for_its_reason(fault: Fault) -> None:
    result = run_on(FaultyDut(fault), fault.case)
    named = [f.requirement for f in result.findings if f.cls != "notice" or LEVELS[f.requirement] == "shall"]
    assert result.verdict is Verdict.FAIL, f"{result.verdict.value}: the fault was not seen, or never came about. {result.reason}"
    assert fault.requirement in named, (result.reason, named)


@pytest.mark.parametrize("case", sorted({fault.case for fault in FAULTS}))
def test_without_the_fault_the_case_passes(case: str) -> None:
    result = run_on(FaultyDut(Fault("none", case, "")), case)
    assert result.verdict is Verdict.PASS, result.reason


def test_every_case_has_a_broken_device() -> None:
    played = [fault.case for fault in FAULTS] + [ident for entry in bank() for ident in entry.cases if ident in VARIANTS]
    broken = {VARIANTS[ident][0].id for ident in played} | GENERATED
    assert broken == {c.id for c in all_cases()}


def test_fault_names_are_requirements() -> None:
    assert not [f.requirement for f in FAULTS if f.requirement not in LEVELS]


MUTE = Fault("mute", "", "", out={"*": lambda d, v, b: []}, mute={"completion", "error", "state"})
CONSTANT = Fault(
    "constant",
    "",
    "",
    results={m: (lambda d, r: {**r, "return": "VIP_SUCCESS"}) for m in ("VipConnectRequest", "VipDisconnect")},
    out={"*": lambda d, v, b: []},
)


class EchoDut(FaultyDut):
    """Sends every frame back, source and destination exchanged, and does nothing else."""

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method == "frame":
            data = bytearray.fromhex(params["hex"])
            data[1:4], data[5:8] = data[5:8], data[1:4]
            self.late({**params, "hex": data.hex()})


@pytest.mark.parametrize(
    "dut", [FaultyDut(MUTE), FaultyDut(CONSTANT), EchoDut(MUTE)], ids=["mute", "constant", "echo"]
)
def test_a_device_that_does_nothing_passes_nothing(dut: FaultyDut) -> None:
    passed = [ident for ident in VARIANTS if run_on(dut, ident).verdict is Verdict.PASS]
    assert passed == []
