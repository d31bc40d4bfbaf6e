"""VI/TCP (draft-dicecco-vitcp-00) as the engine sees it: what is registered, and where each part is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Optional

from fcvi.engine.protocol import Protocol, later

from .pics import ITEMS

if TYPE_CHECKING:
    from fcvi.engine.attachment import Dut
    from fcvi.engine.pixit import Pixit, Profile


def _profile(path: Optional[str]) -> Profile:
    from fcvi.engine.files import FileError
    from fcvi.vitcp.codec import ProfileError, load

    try:
        return load(path).of_run
    except ProfileError as error:
        raise FileError(f"--profile {error}") from error


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
    cases=later(f"{__package__}.cases", "all_cases"),
    scenario=later("fcvi.vitcp.scenario", "Scenario"),
    configuration=later("fcvi.vitcp.configuration", "configuration"),
    draw=later("fcvi.vitcp.configuration", "draw"),
    pics=ITEMS,
    attachments=("ref", "exec", "unix", "tcp", "vitcp"),
    attach=later("fcvi.attach", "attach"),
    line=later("fcvi.vitcp.trace", "LINE"),
    streams=True,
    profile=_profile,
    attack=later(f"{__package__}.attack"),
    reference=_reference,
)
