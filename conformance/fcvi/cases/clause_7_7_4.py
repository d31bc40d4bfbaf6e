"""Clause 7.7.4: what is validated on a public loop after a LIP."""

from __future__ import annotations

from typing import Any, Callable, Optional

from fcvi.fc import els
from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from .clause_7_7_1 import ROLES, again, connect_as, ended
from .clause_7_7_3 import (
    MESSAGES,
    hold_adisc,
    adisc_of,
    validate,
    logged_out_now,
    blocked_send,
    resumed_or_ended,
    logged_out,
    resolved_anew,
)
from conformance.fcvi.steps.connection import REGISTRY
from conformance.fcvi.steps.neighbours import PUBLIC_LOOP, TOPOLOGIES, add_second_port, login, no_fc_vi

PART_OF_REPORT = 4


def send_fan(t: Scenario, names: dict[str, str]) -> None:
    """FAN of the FL_Port."""
    t.tester.send_els(els.FAN, els.fan(names, t.tester.dut_id & 0xFFFF00), {"S_ID": els.F_PORT}, service_class=3)
    t.settle()


OTHER_FABRIC = {"port_name": "200100c0dd0000ff", "node_name": "100000c0dd0000ff"}


def know_fabric(t: Scenario, learn: Callable[[Scenario], None]) -> None:
    """Let the DUT learn the names of the Fabric, in whichever way it does; then both ports log in."""
    learn(t)
    t.wait(t.r_a_tov_us // 5)
    login(t)
    for left in t.tester.inbox:
        left.taken = True
    t.errors.clear()


def _lip_and_fan(t: Scenario) -> None:
    t.link_event("lip")
    send_fan(t, dict(t.tester.services.fabric_names))


def _public(role: str, pics: str, name: str, params: dict[str, Any], peer: Optional[str] = None) -> Variant:
    config = dict(TOPOLOGIES[PUBLIC_LOOP])
    if peer:
        config["peer"] = {"n_port_id": peer}
    return Variant(f"{role}/{name}" if name else role, {"role": role, **params}, pics, config)


@case(
    REGISTRY,
    "7.7.4",
    "Public loop: FAN after a LIP",
    clause="7.7.4",
    requirements=["FCVI-7.7.4-01", "FCVI-7.7.1-02"],
    errata=["E83"],
    tags=["link", "loop"],
    applies=f"(client or server) and {MESSAGES}",
    variants=[_public(role, pics, "", {}) for role, pics, _ in ROLES],
)
def public_loop(t: Scenario) -> None:
    """No FC-VI IU between the LIP and FAN; with the same FL_Port and AL_PA the connection may go on."""
    public_loop_validated(t)


def public_loop_validated(t: Scenario) -> None:
    """What 7.7.4 says: no FC-VI IU between the LIP and FAN; with the same FL_Port and AL_PA the connection may go on."""
    know_fabric(t, _lip_and_fan)
    setup = connect_as(t)
    t.link_event("lip")
    data = blocked_send(t, setup, "FCVI-7.7.4-01", "between LIP and FAN")
    send_fan(t, dict(t.tester.services.fabric_names))
    resumed_or_ended(t, setup, data)


@case(
    REGISTRY,
    "7.7.4.changed",
    "Public loop: another FL_Port",
    clause="7.7.4",
    requirements=["FCVI-7.7.4-01", "FCVI-7.7.4-03", "FCVI-7.7.4-04", "FCVI-7.7.4-05", "FCVI-7.7.1-01", "FCVI-7.7.1-05"],
    errata=["E83", "E86"],
    tags=["link", "loop"],
    applies="(client or server) and loop",
    variants=[
        _public(role, pics, name, {"changed": name})
        for role, pics, _ in ROLES
        for name in ("port_name", "node_name", "both")
    ],
)
def public_loop_changed(t: Scenario) -> None:
    """FAN with another Port_Name or Node_Name: FLOGI, LOGO to each logged-in port, every mapping is resolved anew."""
    know_fabric(t, _lip_and_fan)
    other = add_second_port(t)
    login(t, other)
    setup = connect_as(t)
    changed = str(t.params["changed"])
    names = dict(t.tester.services.fabric_names)
    for name in names if changed == "both" else [changed]:
        names[name] = OTHER_FABRIC[name]
    t.tester.services.fabric_names = names
    t.link_event("lip")
    no_fc_vi(t, t.r_a_tov_us // 20, "FCVI-7.7.4-01", "between LIP and FAN")
    send_fan(t, names)
    t.expect("FLOGI", "FCVI-7.7.4-03", why="after FAN of another FL_Port")
    logged_out(t, {t.tester.n_port_id, other}, "FCVI-7.7.4-05")
    ended(t, setup.vi, "FCVI-7.7.1-05")
    resolved_anew(t, "FCVI-7.7.4-04")


@case(
    REGISTRY,
    "7.7.4.private",
    "Public loop: ports with Domain and Area zero",
    clause="7.7.4",
    requirements=["FCVI-7.7.4-06", "FCVI-7.7.3-04"],
    errata=["E83"],
    tags=["link", "loop"],
    applies=f"(client or server) and {MESSAGES}",
    variants=[
        _public(role, pics, name, {"changed": changed}, "0000e4")
        for role, pics, _ in ROLES
        for name, changed in (("unchanged", None), ("node_name", "node_name"))
    ],
)
def private_port_on_public_loop(t: Scenario) -> None:
    """After FAN a port 0000xxh is validated by ADISC as on a private loop, before any FC-VI IU goes to it."""
    know_fabric(t, _lip_and_fan)
    setup = connect_as(t)
    hold_adisc(t)
    t.link_event("lip")
    send_fan(t, dict(t.tester.services.fabric_names))
    data = blocked_send(t, setup, "FCVI-7.7.4-06", "to a private port between LIP and ADISC")
    changed = t.params["changed"]
    validate(t, adisc_of(t), changed)
    if changed is None:
        resumed_or_ended(t, setup, data)
        return
    t.expect("LOGO", "FCVI-7.7.3-04", why="to a port whose addresses have changed")
    logged_out_now(t, None)
    ended(t, setup.vi, "FCVI-7.7.1-05")
    again(t, "FCVI-7.7.1-05")
