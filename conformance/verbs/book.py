"""RDMA verbs as the engine sees them. The book has rows and errata and no case yet, so that no verdict can come from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Mapping

from fcvi.engine.protocol import Protocol

if TYPE_CHECKING:
    from fcvi.engine.case import CaseInfo
    from fcvi.engine.pixit import Pixit
    from fcvi.engine.scenario import Scenario


def _cases() -> Iterable[CaseInfo]:
    return ()


def _scenario(*of_the_run: Any) -> Scenario:
    from fcvi.engine.ends import CallScenario

    return CallScenario(*of_the_run)


def _configuration(pixit: Pixit, seed: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    from fcvi.engine.ends import configuration

    return configuration(pixit, seed, changes)


PROTOCOL = Protocol(
    name="RDMA verbs",
    standard="RDMA Protocol Verbs Specification 1.0",
    prefix="VERBS-",
    erratum="B",
    folder=Path(__file__).resolve().parent,
    cases=_cases,
    scenario=_scenario,
    configuration=_configuration,
)
"""RDMA Protocol Verbs 1.0: the requirements and the errata that ``fcvi show`` prints."""
