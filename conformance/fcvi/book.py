"""FC-VI (ISO/IEC 14165-331:2007) as the engine sees it: what is registered, and where each part is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fcvi.engine.protocol import Edition, Protocol, later

from .pics import ITEMS

if TYPE_CHECKING:
    from fcvi.engine.attachment import Dut
    from fcvi.engine.pixit import Pixit


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
    cases=later(f"{__package__}.cases", "all_cases"),
    scenario=later("fcvi.fc.scenario", "Scenario"),
    configuration=later("fcvi.fc.configuration", "configuration"),
    draw=later("fcvi.fc.drawing", "draw"),
    shortens=True,
    pics=ITEMS,
    pics_rules=later(f"{__package__}.pics_rules", "RULES"),
    attachments=("ref", "exec", "unix", "tcp", "fcoe", "frames"),
    attach=later("fcvi.attach", "attach"),
    line=later("fcvi.fc.trace", "LINE"),
    attack=later(f"{__package__}.attack"),
    words=later(f"{__package__}.words"),
    edition="2007",
    others=(Edition("rev1", "FC-VI Rev 1.0 (working draft of 1999)", Path(__file__).resolve().parents[1] / "rev1"),),
    reference=_reference,
)
