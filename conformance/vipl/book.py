"""VIPL as the engine sees it: what is registered, and where each part is. There is no wire: the cases make calls alone."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fcvi.engine.protocol import Protocol, later

from .pics import ITEMS

if TYPE_CHECKING:
    from fcvi.engine.attachment import Dut
    from fcvi.engine.pixit import Pixit


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
    cases=later(f"{__package__}.cases", "all_cases"),
    scenario=later(f"{__package__}.steps.scenario", "Calls"),
    configuration=later("fcvi.engine.calls_scenario", "configuration"),
    pics=ITEMS,
    attachments=("api",),
    attach=later("fcvi.attach", "attach"),
    phases=later(f"{__package__}.phases", "phases"),
    reference=_reference,
)
