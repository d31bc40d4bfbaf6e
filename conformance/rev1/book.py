"""FC-VI Rev 1.0 (working draft of 1999) as the engine sees it: what is registered, and where each part is.

Its catalogue is requirements.tsv and the requirements of 2007 that hold (holds.tsv). Its cases are those of cases/ and those of
2007 that demand nothing but what holds (cases/of_2007.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping

from fcvi.engine.protocol import Protocol, later

from conformance.fcvi.book import PROTOCOL as OF_2007

if TYPE_CHECKING:
    from fcvi.engine.attachment import Dut
    from fcvi.engine.pixit import Pixit
    from fcvi.engine.scenario import Scenario

NAME = "FC-VI Rev 1.0"


def _scenario(*of_the_run: Any) -> Scenario:
    """With the lower tester of FC that speaks the draft, and a monitor of the draft's rules."""
    from fcvi.engine.catalogue import not_held
    from fcvi.fc.rev1_scenario import Rev1Scenario

    return Rev1Scenario(*of_the_run, void=not_held(PROTOCOL))


def _configuration(pixit: Pixit, seed: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    from fcvi.fc.configuration import configuration

    return {**configuration(pixit, seed, changes), "revision": PROTOCOL.edition}


def _reference() -> tuple[Dut, Pixit]:
    from fcvi.dut.ref import RefDut
    from fcvi.engine.pixit import Given, pixit_for

    return RefDut("ref", PROTOCOL.edition), pixit_for("virtual", given=Given(ulp_timeout_us=10_000_000))  # that of the port


PROTOCOL = Protocol(
    name=NAME,
    standard="FC-VI Rev 1.0 (NCITS working draft of 1999-02-03)",
    prefix="REV1-",
    erratum="R",
    folder=Path(__file__).resolve().parent,
    cases=later(f"{__package__}.cases", "all_cases"),
    scenario=_scenario,
    configuration=_configuration,
    draw=later("fcvi.fc.drawing", "draw"),
    shortens=True,
    pics=OF_2007.pics,
    pics_rules=later(f"{__package__}.pics_rules", "RULES"),
    attachments=OF_2007.attachments,
    attach=OF_2007.attach,
    line=later("fcvi.fc.trace", "LINE_REV1"),
    edition="rev1",
    base=OF_2007,
    reference=_reference,
)
