"""VIPL as the engine sees it: what is registered, and where each part is. There is no wire: the cases make calls alone."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence

from fcvi.engine.protocol import Protocol

from .pics import ITEMS

if TYPE_CHECKING:
    from fcvi.engine.attachment import Dut
    from fcvi.engine.case import CaseInfo
    from fcvi.engine.pixit import Pixit
    from fcvi.engine.results import Result
    from fcvi.engine.scenario import Scenario
    from fcvi.engine.target import Target


def _cases() -> Iterable[CaseInfo]:
    from .cases import all_cases

    return all_cases()


def _scenario(*of_the_run: Any) -> Scenario:
    from .steps.scenario import Calls

    return Calls(*of_the_run)


def _configuration(pixit: Pixit, seed: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    from fcvi.engine.calls_scenario import configuration

    return configuration(pixit, seed, changes)


def _phases(results: Sequence[Result], verdicts: Mapping[str, str]) -> list[dict[str, Any]]:
    from .phases import phases

    return phases(results, verdicts)


def _attach(target: Target, **how: Any) -> Dut:
    from fcvi.attach import attach

    return attach(target, **how)


def _reference() -> tuple[Dut, Pixit]:
    """The model provider, which was written from the texts alone."""
    from fcvi.engine.pixit import pixit_for

    inside, server, clock = (import_module(f"harness.tests.{name}") for name in _MODEL)
    return inside.InsideDut("model", lambda write: server.Server("plain", clock.VirtualClock(), write)), pixit_for("virtual")


_MODEL = ("inside", "independent.provider.server", "independent.provider.clock")


PROTOCOL = Protocol(
    name="VIPL",
    standard="VI Architecture 1.0 and Developer's Guide 1.0",
    prefix="VIPL-",
    erratum="A",
    folder=Path(__file__).resolve().parent,
    cases=_cases,
    scenario=_scenario,
    configuration=_configuration,
    pics=ITEMS,
    attachments=("api",),
    attach=_attach,
    phases=_phases,
    reference=_reference,
)
