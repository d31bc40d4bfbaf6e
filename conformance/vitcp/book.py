"""VI/TCP (draft-dicecco-vitcp-00) as the engine sees it: what is registered, and where each part is."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional

from fcvi.engine.protocol import Line, Protocol

from .pics import ITEMS

if TYPE_CHECKING:
    from fcvi.engine.attachment import Dut
    from fcvi.engine.case import CaseInfo
    from fcvi.engine.pixit import Pixit, Profile
    from fcvi.engine.scenario import Scenario
    from fcvi.engine.target import Target


def _cases() -> Iterable[CaseInfo]:
    from .cases import all_cases

    return all_cases()


def _scenario(*of_the_run: Any) -> Scenario:
    """With the lower tester on streams."""
    from fcvi.vitcp.scenario import Scenario as StreamScenario

    return StreamScenario(*of_the_run)


def _configuration(pixit: Pixit, seed: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    from fcvi.vitcp.configuration import configuration

    return configuration(pixit, seed, changes)


def _draw(pixit: Pixit, clock: str, rng: Random) -> tuple[Pixit, Mapping[str, Any]]:
    from fcvi.vitcp.configuration import draw

    return draw(pixit, clock, rng)


def _line() -> Line:
    from fcvi.vitcp.trace import LINE

    return LINE


def _attack() -> Any:
    from . import attack

    return attack


def _profile(path: Optional[str]) -> Profile:
    from fcvi.engine.files import FileError
    from fcvi.vitcp.codec import ProfileError, load

    try:
        return load(path).of_run
    except ProfileError as error:
        raise FileError(f"--profile {error}") from error


def _attach(target: Target, **how: Any) -> Dut:
    from fcvi.attach import attach

    return attach(target, **how)


def _reference() -> tuple[Dut, Pixit]:
    from fcvi.dut.ref import StreamDut
    from fcvi.engine.pixit import pixit_for

    return StreamDut(), pixit_for("virtual")


PROTOCOL = Protocol(
    name="VI/TCP",
    standard="draft-dicecco-vitcp-00",
    prefix="VITCP-",
    erratum="V",
    folder=Path(__file__).resolve().parent,
    cases=_cases,
    scenario=_scenario,
    configuration=_configuration,
    draw=_draw,
    pics=ITEMS,
    attachments=("ref", "exec", "unix", "tcp", "vitcp"),
    attach=_attach,
    line=_line,
    streams=True,
    profile=_profile,
    attack=_attack,
    reference=_reference,
)
