"""The cases of RDMA verbs against the model in this process, on a virtual clock."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Optional, Sequence

from conformance.verbs.book import PROTOCOL
from fcvi.engine.case import CaseInfo, Variant
from fcvi.engine.catalogue import load_requirements
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Result
from harness.tests.independent.verbs.choices import Choices
from harness.tests.independent.verbs.degenerate import degenerate
from harness.tests.independent.verbs.engine import VirtualClock
from harness.tests.independent.verbs.server import Server
from harness.tests.inside import InsideDut, run_all

LEVELS = {row.id: row.level for row in load_requirements([PROTOCOL])}
#: The PIXIT of a laboratory: what has to happen happens within four times this, and a close lasts 120 times this at most.
_R_A_TOV_US = 500_000


def model(flavour: str, settings: Sequence[str], fault: Optional[str], kind: str = "") -> InsideDut:
    """The model with these choices and this fault; or one of the agents that do not try."""

    def make(write: Callable[[str], None]) -> Any:
        server = Server(flavour, Choices(settings), fault, write, ["model0"], ["127.0.0.1"], VirtualClock())
        return degenerate(kind, server) if kind else server

    return InsideDut(" ".join([flavour, *settings, fault or "", kind]), make)


def run_cases(
    chosen: Iterable[tuple[CaseInfo, Variant]], flavour: str = "iwarp", settings: Sequence[str] = (), fault: Optional[str] = None,
    kind: str = "",
) -> list[Result]:  # fmt: skip
    """The results of these variants; those that the PICS rules out are left out."""
    return run_all(model(flavour, settings, fault, kind), chosen, pixit_for("virtual", _R_A_TOV_US), LEVELS)
