"""FC-VI (ISO/IEC 14165-331:2007) as the engine sees it: what is registered, and where each part is."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence

from fcvi.engine.protocol import Edition, Line, Protocol

from .pics import ITEMS

if TYPE_CHECKING:
    from fcvi.engine.attachment import Dut
    from fcvi.engine.case import CaseInfo
    from fcvi.engine.pixit import Pixit
    from fcvi.engine.review import PicsRule
    from fcvi.engine.scenario import Scenario
    from fcvi.engine.target import Target


def _cases() -> Iterable[CaseInfo]:
    from .cases import all_cases

    return all_cases()


def _scenario(*of_the_run: Any) -> Scenario:
    """With the lower tester of FC, which has the monitor."""
    from fcvi.fc.scenario import Scenario as FcScenario

    return FcScenario(*of_the_run)


def _configuration(pixit: Pixit, seed: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    from fcvi.fc.configuration import configuration

    return configuration(pixit, seed, changes)


def _draw(pixit: Pixit, clock: str, rng: Random) -> tuple[Pixit, Mapping[str, Any]]:
    from fcvi.fc.drawing import draw

    return draw(pixit, clock, rng)


def _pics_rules() -> Sequence[PicsRule]:
    from .pics_rules import RULES

    return RULES


def _attach(target: Target, **how: Any) -> Dut:
    from fcvi.attach import attach

    return attach(target, **how)


def _line() -> Line:
    from fcvi.fc.trace import LINE

    return LINE


def _attack() -> Any:
    from . import attack

    return attack


def _words() -> Any:
    from . import words

    return words


def _reference() -> tuple[Dut, Pixit]:
    from fcvi.dut.ref import RefDut
    from fcvi.engine.pixit import pixit_for

    return RefDut(), pixit_for("virtual")


PROTOCOL = Protocol(
    name="FC-VI",
    standard="ISO/IEC 14165-331:2007",
    prefix="FCVI-",
    erratum="E",
    folder=Path(__file__).resolve().parent,
    cases=_cases,
    scenario=_scenario,
    configuration=_configuration,
    draw=_draw,
    pics=ITEMS,
    pics_rules=_pics_rules,
    attachments=("ref", "exec", "unix", "tcp", "fcoe", "frames"),
    attach=_attach,
    line=_line,
    attack=_attack,
    words=_words,
    edition="2007",
    others=(Edition("rev1", "FC-VI Rev 1.0 (working draft of 1999)", "R", Path(__file__).resolve().parents[1] / "rev1"),),
    reference=_reference,
)
