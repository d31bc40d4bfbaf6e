"""Clause 7.7.5: a Fabric after NOS/OLS."""

from __future__ import annotations

from typing import Any

from fcvi.fc import els
from fcvi.engine.case import Variant, case
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Call

from .clause_7_7_1 import ROLES, connect_as, ended
from .clause_7_7_3 import blocked_send, logged_out, resolved_anew, resumed_or_ended
from .clause_7_7_4 import OTHER_FABRIC, know_fabric
from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    accept_request,
    check_state,
    connect_dut_client,
    create_vi,
    disconnect_and_answer,
    dut_address,
    originated,
    send_resp3,
    tester_address,
)
from conformance.fcvi.steps.neighbours import FABRIC, NEEDS, SECOND, TOPOLOGIES, add_second_port, count, login

PART_OF_REPORT = 4

_MESSAGES = "send and unreliable_delivery"


def _nos(t: Scenario) -> None:
    t.link_event("nos")


def _fabric(role: str, pics: str, name: str, params: dict[str, Any], **config: Any) -> Variant:
    expression = f"{pics} and {NEEDS[FABRIC]}"
    return Variant(f"{role}/{name}" if name else role, {"role": role, **params}, expression, {**TOPOLOGIES[FABRIC], **config})


def hold_flogi(t: Scenario) -> None:
    """The tester does not answer FLOGI by itself from here on."""
    t.tester.services.handlers.pop("FLOGI", None)


def flogi_of(t: Scenario) -> Received:
    """The DUT's FLOGI after NOS/OLS."""
    return t.expect("FLOGI", "FCVI-7.7.5-02", why="after NOS/OLS")


@case(
    REGISTRY,
    "7.7.5",
    "Fabric: FLOGI after NOS/OLS",
    clause="7.7.5",
    requirements=["FCVI-7.7.5-02", "FCVI-7.7.1-02"],
    errata=["E83"],
    tags=["link", "fabric"],
    applies=f"(client or server) and {_MESSAGES}",
    variants=[_fabric(role, pics, "", {}) for role, pics, _ in ROLES]
    + [_fabric(role, f"{pics} and class2", "class2", {}, **{"class": 2}) for role, pics, _ in ROLES],
)
def same_fabric(t: Scenario) -> None:
    """FLOGI comes before any FC-VI IU. With the same Fabric and N_Port Identifier the connection may go on."""
    fabric_login_again(t)


def fabric_login_again(t: Scenario) -> None:
    """What 7.7.5 says: FLOGI comes before any FC-VI IU. With the same Fabric and N_Port Identifier the connection may go on."""
    know_fabric(t, _nos)
    setup = connect_as(t)
    hold_flogi(t)
    t.link_event("nos")
    data = blocked_send(t, setup, "FCVI-7.7.1-02", "between NOS/OLS and FLOGI")
    t.tester.services.accept_fabric_login(flogi_of(t), t.tester.dut_id)
    t.settle()
    resumed_or_ended(t, setup, data)


@case(
    REGISTRY,
    "7.7.5.changed",
    "Another Fabric, or another N_Port Identifier, after NOS/OLS",
    clause="7.7.5",
    requirements=["FCVI-7.7.5-02", "FCVI-7.7.5-04", "FCVI-7.7.5-05", "FCVI-7.7.5-06", "FCVI-7.7.1-01", "FCVI-7.7.1-05"],
    errata=["E83", "E86"],
    tags=["link", "fabric"],
    applies="client or server",
    variants=[
        _fabric(role, pics, name, {"changed": name})
        for role, pics, _ in ROLES
        for name in ("port_name", "node_name", "n_port_id")
    ],
)
def other_fabric(t: Scenario) -> None:
    """The reply to FLOGI differs from before: LOGO to each logged-in port, every mapping is resolved anew.

    One FLOGI is enough (E83).
    """
    know_fabric(t, _nos)
    other = add_second_port(t)
    login(t, other)
    setup = connect_as(t)
    hold_flogi(t)
    changed, services = str(t.params["changed"]), t.tester.services
    n_port_id = t.tester.dut_id
    if changed == "n_port_id":
        n_port_id ^= 0x0100
    else:
        services.fabric_names = {**services.fabric_names, changed: OTHER_FABRIC[changed]}
    t.link_event("nos")
    first = flogi_of(t)
    t.tester.dut_id = n_port_id
    services.handlers["FLOGI"] = lambda r: services.accept_fabric_login(r, n_port_id)
    services.accept_fabric_login(first, n_port_id)
    t.settle()
    logged_out(t, {t.tester.n_port_id, other}, "FCVI-7.7.5-06")
    ended(t, setup.vi, "FCVI-7.7.1-05")
    resolved_anew(t, "FCVI-7.7.5-05")


@case(
    REGISTRY,
    "7.7.1.rscn",
    "A remote port has changed places",
    clause="7.7.1",
    requirements=["FCVI-7.7.1-04", "FCVI-7.7.1-01"],
    errata=["E122"],
    tags=["link", "fabric", "address"],
    applies="client",
    variants=[_fabric(CLIENT, "client", "", {}), _fabric(CLIENT, "client and class2", "class2", {}, **{"class": 2})],
)
def remote_change(t: Scenario) -> None:
    """An RSCN names the tester's port; another port answers there now, and the Host Address has moved.

    A device that has registered by SCR and accepts the RSCN has been told: its next request goes where the Host Address
    is. To register is optional (7.7.5). Of a device that did not, what it does with an RSCN is noted (E122): both ports
    answer its request.
    """
    know_fabric(t, _nos)
    setup = connect_dut_client(t)
    disconnect_and_answer(t, setup)
    services, old = t.tester.services, t.tester.n_port_id
    names, new = services.ports[old], old ^ 0x800
    registered = count(t, "SCR") > 0
    services.add_port(new, names)
    if registered:
        services.ports[old] = SECOND
    services.directory = {host: [new] for host in names["host"]}
    exchange = t.tester.send_els(els.RSCN, els.rscn([old]), {"S_ID": els.FABRIC_CONTROLLER})
    if not registered:
        t.owed(lambda: t.peek(["LS_ACC", "LS_RJT"], exchange) is not None)
        t.tolerate("LS_ACC", "LS_RJT")
        answer = t.peek(["LS_ACC", "LS_RJT"], exchange)
    else:
        answer = t.expect(["LS_ACC", "LS_RJT"], "FCVI-4.1-04", exchange=exchange, why="to RSCN")
    if answer is None or answer.kind == "LS_RJT":
        t.log.append("the DUT does not know RSCN, and need not")
        services.ports[old] = names
        connect_dut_client(t)
        t.control("a further setup completed")
        return
    answer.taken = True
    t.wait(t.r_a_tov_us // 2)  # the DUT may validate what it knows
    if registered:
        t.tester.n_port_id = new
    vi, call = request(t)
    rqst = t.expect("CONNECT_RQST", "FCVI-7.7.1-04", why="after VipConnectRequest")
    d_id = rqst.fc("D_ID")
    t.require(
        d_id == new, "FCVI-7.7.1-04", "the request goes where the Host Address was", f"{d_id:06X}h", f"{new:06X}h", at=rqst,
        **t.place(rqst, "D_ID"), erratum=None if registered else "E122",
    )  # fmt: skip
    setup = originated(t, vi, call, rqst)
    accept_request(t, setup)
    send_resp3(t, setup)
    t.settle()
    check_state(t, vi, "connected", "FCVI-8.2-b1")
    t.control("a request after the RSCN connected")


def request(t: Scenario) -> tuple[int, Call]:
    """VipConnectRequest on a new VI."""
    vi = create_vi(t)
    return vi, t.start("VipConnectRequest", vi=vi, LocalAddr=dut_address(t), RemoteAddr=tester_address(t), Timeout=None)
