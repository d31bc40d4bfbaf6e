"""RDMA verbs as the engine sees them: what is registered, and where each part is. There is no wire: the cases make calls alone."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Mapping

from fcvi.engine.protocol import Protocol, later

from .pics import ITEMS

if TYPE_CHECKING:
    from fcvi.engine.attachment import Dut
    from fcvi.engine.pixit import Pixit


def _configuration(pixit: Pixit, seed: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    return {"wire": "verbs", "seed": seed, **changes}


def _reference() -> tuple[Dut, Pixit]:
    """The model provider of iWARP, which was written from the specification alone."""
    from fcvi.engine.pixit import pixit_for

    inside, server, choices, engine = (import_module(f"harness.tests.{name}") for name in _MODEL)

    def make(write: Callable[[str], None]) -> Any:
        return server.Server("iwarp", choices.Choices(()), None, write, ["model0"], ["127.0.0.1"], engine.VirtualClock())

    return inside.InsideDut("model", make), pixit_for("virtual", 500_000)


_MODEL = ("inside", "independent.verbs.server", "independent.verbs.choices", "independent.verbs.engine")


PROTOCOL = Protocol(
    name="RDMA verbs",
    standard="RDMA Protocol Verbs Specification 1.0",
    prefix="VERBS-",
    erratum="B",
    folder=Path(__file__).resolve().parent,
    cases=later(f"{__package__}.cases", "all_cases"),
    scenario=later(f"{__package__}.steps.scenario", "Verbs"),
    configuration=_configuration,
    pics=ITEMS,
    attachments=("verbs",),
    attach=later("fcvi.attach", "attach"),
    reference=_reference,
)
