"""Logouts and link events in every legal combination of four choices: the covering rows of legality.py."""

from __future__ import annotations

from typing import Callable

from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from conformance.covering import Row, covering_rows
from conformance.fcvi.legality import EVENT, LINK_EVENTS
from conformance.fcvi.steps.connection import REGISTRY, check_state
from conformance.fcvi.steps.neighbours import FABRIC, POINT_TO_POINT, PRIVATE_LOOP, PUBLIC_LOOP
from conformance.fcvi.steps.traffic import both_ways

from .clause_7_7_1 import again, connect_as, ended, logged_out_by, point_to_point, silent
from .clause_7_7_3 import private_loop_validated
from .clause_7_7_4 import public_loop_validated
from .clause_7_7_5 import fabric_login_again
from .combined import log_in
from .combined_ends import variant_of


def _row(row: Row) -> Variant:
    return variant_of(row, [row[EVENT]], {"event": row[EVENT], "by": "any"}, "send")


@case(
    REGISTRY,
    "7.7.combined",
    "Logouts and link events in every legal combination of four choices",
    clause="7.7",
    requirements=[
        "FCVI-7.7.1-02", "FCVI-7.7.1-03", "FCVI-7.7.1-05", "FCVI-7.7.2-01", "FCVI-7.7.2-02", "FCVI-7.7.3-01", "FCVI-7.7.4-01",
        "FCVI-7.7.5-01", "FCVI-7.7.5-02",
    ],  # fmt: skip
    errata=["E83", "E86"],
    tags=["link", "login"],
    applies="(client or server) and send",
    variants=[_row(row) for row in covering_rows(LINK_EVENTS)],
)
def link_events_combined(t: Scenario) -> None:
    """What 7.7 says of LOGO, Link Reset, NOS/OLS and LIP, where there is a connection.

    Role, event, class, topology, Reliability Level and login: every legal combination of any four of them is in one of the
    variants.
    """
    log_in(t)
    event, topology = str(t.params["event"]), str(t.config["topology"])
    if event.startswith("logo"):
        _logout(t, "dut" if event == "logo-of-the-dut" else "tester")
    elif event == "lr":
        _reset(t, "FCVI-7.7.2-01" if topology == POINT_TO_POINT else "FCVI-7.7.5-01")
    else:
        _EVENTS[topology](t)


def _logout(t: Scenario, by: str) -> None:
    setup = connect_as(t)
    logged_out_by(t, by)
    ended(t, setup.vi, "FCVI-7.7.1-05")
    silent(t, setup, "FCVI-7.7.1-05")
    again(t, "FCVI-7.7.2-02")


def _reset(t: Scenario, requirement: str) -> None:
    setup = connect_as(t)
    t.link_event("lr")
    t.settle()
    check_state(t, setup.vi, "connected", "FCVI-7.7.1-03")
    both_ways(t, setup, requirement)
    t.control("a Message passed each way after LR")


_EVENTS: dict[str, Callable[[Scenario], None]] = {
    POINT_TO_POINT: point_to_point, FABRIC: fabric_login_again, PRIVATE_LOOP: private_loop_validated,
    PUBLIC_LOOP: public_loop_validated,
}  # fmt: skip
