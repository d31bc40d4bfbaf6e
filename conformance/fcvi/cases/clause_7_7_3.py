"""Clause 7.7.3: what is validated on a private loop after a LIP."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import els
from fcvi.engine.case import Variant, case
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from .clause_7_7_1 import ROLES, again, client_after_logout, connect_as, ended
from conformance.fcvi.steps.connection import REGISTRY, SERVER, Setup, check_state
from conformance.fcvi.steps.neighbours import (
    PRIVATE_LOOP,
    TOPOLOGIES,
    add_second_port,
    expect_accept,
    login,
    no_fc_vi,
    taken,
)
from conformance.fcvi.steps.traffic import answer_send, expect_send, post_send

PART_OF_REPORT = 4

MESSAGES = "loop and send and unreliable_delivery"


def hold_adisc(t: Scenario) -> None:
    """The tester does not answer ADISC by itself from here on; what came before was answered."""
    t.tester.services.handlers.pop("ADISC", None)
    taken(t, "ADISC")


def _held(t: Scenario, port: int) -> list[Received]:
    """Each ADISC to that port of the tester that nobody has answered."""
    return [r for r in t.tester.inbox if r.kind == "ADISC" and not r.taken and r.fc("D_ID") == port]


def adisc_of(t: Scenario, port: Optional[int] = None) -> Optional[Received]:
    """The DUT's ADISC to that port of the tester; None when it waits for the tester's (E83)."""
    wanted = t.tester.n_port_id if port is None else port
    t.until(lambda: bool(_held(t, wanted)), t.r_a_tov_us // 10)
    if not (held := _held(t, wanted)):
        return None
    held[0].taken = True
    _own_names(t, held[0], "the DUT's ADISC")
    return held[0]


def _own_names(t: Scenario, told: Received, where: str) -> None:
    """The three addresses of the DUT in its ADISC, or in its LS_ACC to one, which has the same payload (FC-FS)."""
    for name, required in (
        ("ADISC_Port_Name", t.config["port_name"]), ("ADISC_Node_Name", t.config["node_name"]),
        ("ADISC_N_Port_Identifier", t.config["n_port_id"]),
    ):  # fmt: skip
        seen = told.number("ADISC", name)
        t.require(seen == int(required, 16), "FCVI-7.7.3-02", f"{name[6:]} of {where}", f"{seen:X}h", f"{required}h", at=told)


def validate(t: Scenario, adisc: Optional[Received], changed: Optional[str] = None, port: Optional[int] = None) -> None:
    """Complete the ADISC: answer the DUT's, or send the tester's; one of the three addresses may have changed."""
    n_port_id = t.tester.n_port_id if port is None else port
    names = dict(t.tester.services.ports[n_port_id])
    if changed in ("port_name", "node_name"):
        names[changed] = f"{int(names[changed], 16) ^ 0x100:016x}"
    claimed = n_port_id ^ 0x100 if changed == "n_port_id" else n_port_id
    services, before = t.tester.services, t.tester.services.handlers.get("ADISC")

    def answer(request: Received) -> None:
        """Every ADISC that comes is answered: nobody says when one comes, and how many (E83)."""
        if request.fc("D_ID") == n_port_id:
            request.taken = True
            services.accept(request, els.adisc(names, claimed))
        elif before is not None:
            before(request)

    services.handlers["ADISC"] = answer
    if adisc is None:
        exchange = t.tester.send_els(els.ADISC, els.adisc(names, claimed), port=port)
        if changed is None:
            accept = expect_accept(t, exchange, "FCVI-7.7.3-02", "to the tester's ADISC")
            _own_names(t, accept, "the DUT's LS_ACC to ADISC")
    else:
        answer(adisc)
    if adisc is not None or changed is None:
        for held in _held(t, n_port_id):
            answer(held)
    t.settle()


def logged_out_now(t: Scenario, adisc: Optional[Received]) -> None:
    """After LOGO an ADISC, the one that was held or one that comes late, is rejected: login required."""

    def reject(request: Received) -> None:
        t.tester.services.reject(request, 0x03, 0x1E)

    t.tester.services.handlers["ADISC"] = reject
    if adisc is not None:
        reject(adisc)
        t.settle()


def blocked_send(t: Scenario, setup: Setup, requirement: str, why: str) -> bytes:
    """A Send is posted; nothing of FC-VI goes out."""
    data = t.rng.randbytes(32)
    post_send(t, setup.vi, data)
    no_fc_vi(t, t.r_a_tov_us // 20, requirement, why)
    return data


def resumed_or_ended(t: Scenario, setup: Setup, data: bytes) -> None:
    """Nothing has changed: the connection may go on, which is the DUT's choice.

    A VI that is Connected carries the Message that was held; one that is not has ended as after a logout (E86).
    """
    if t.call("VipQueryVi", vi=setup.vi).text("State") == "VIP_STATE_CONNECTED":
        answer_send(t, setup, expect_send(t, setup, 1, data, "FCVI-6.2.1-01"))
        check_state(t, setup.vi, "connected", "FCVI-8.2-d1")
        t.control("the Message that was held went out")
    else:
        ended(t, setup.vi, "FCVI-7.7.1-05")
        again(t, "FCVI-7.7.1-05")


def _private(role: str, pics: str, name: str, params: dict[str, Any], extra: str = "") -> Variant:
    expression = " and ".join(e for e in (pics, extra) if e)
    return Variant(f"{role}/{name}", {"role": role, **params}, expression, TOPOLOGIES[PRIVATE_LOOP])


@case(
    REGISTRY,
    "7.7.3",
    "Private loop: ADISC after a LIP",
    clause="7.7.3",
    requirements=["FCVI-7.7.3-01", "FCVI-7.7.3-02", "FCVI-7.7.1-02"],
    errata=["E83"],
    tags=["link", "loop"],
    applies=f"(client or server) and {MESSAGES}",
    variants=[
        _private(role, pics, name, {"by": name})
        for role, pics, _ in ROLES
        for name in ("any", "tester-first")
    ]
    + [
        Variant(f"{role}/class2", {"role": role, "by": "any"}, f"{pics} and class2", {**TOPOLOGIES[PRIVATE_LOOP], "class": 2})
        for role, pics, _ in ROLES
    ],
)
def private_loop(t: Scenario) -> None:
    """No FC-VI IU between the LIP and the end of ADISC, which the DUT sends or answers; then the connection may go on."""
    private_loop_validated(t)


def private_loop_validated(t: Scenario) -> None:
    """What 7.7.3 says: no FC-VI IU between the LIP and the end of ADISC, which the DUT sends or answers; then all may go on."""
    setup = connect_as(t)
    hold_adisc(t)
    t.link_event("lip")
    data = blocked_send(t, setup, "FCVI-7.7.3-01", "between LIP and ADISC")
    if t.params["by"] == "tester-first":
        validate(t, None)
    else:
        validate(t, adisc_of(t))
    resumed_or_ended(t, setup, data)


@case(
    REGISTRY,
    "7.7.3.changed",
    "Private loop: another port answers ADISC",
    clause="7.7.3",
    requirements=["FCVI-7.7.3-04", "FCVI-7.7.1-05"],
    errata=["E83", "E86"],
    tags=["link", "loop"],
    applies="(client or server) and loop",
    variants=[
        _private(role, pics, f"{changed}{suffix}", {"changed": changed, "own": own})
        for role, pics, _ in ROLES
        for changed in ("port_name", "node_name", "n_port_id")
        for suffix, own in (("", False), ("/in-the-testers-adisc", True))
        if not (own and changed == "n_port_id")
    ],
)
def private_loop_changed(t: Scenario) -> None:
    """Port_Name, Node_Name or N_Port Identifier differ from those before the LIP: explicit LOGO, connections end."""
    setup = connect_as(t)
    hold_adisc(t)
    t.link_event("lip")
    adisc = adisc_of(t)
    validate(t, None if t.params["own"] else adisc, str(t.params["changed"]))
    t.expect("LOGO", "FCVI-7.7.3-04", why="to a port whose addresses have changed")
    logged_out_now(t, adisc if t.params["own"] else None)
    ended(t, setup.vi, "FCVI-7.7.1-05")
    again(t, "FCVI-7.7.1-05")


@case(
    REGISTRY,
    "7.7.3.each",
    "Private loop: every logged-in port is validated by itself",
    clause="7.7.3",
    requirements=["FCVI-7.7.3-01", "FCVI-7.7.3-02", "FCVI-7.7.3-04"],
    errata=["E83"],
    tags=["link", "loop"],
    applies=f"(client or server) and {MESSAGES}",
    variants=[_private(role, pics, "two-ports", {}) for role, pics, _ in ROLES],
)
def private_loop_each(t: Scenario) -> None:
    """Of two logged-in ports one has changed: it is logged out; the connection with the other may go on."""
    other = add_second_port(t)
    login(t, other)
    setup = connect_as(t)
    hold_adisc(t)
    t.link_event("lip")
    validate(t, adisc_of(t, other), "node_name", port=other)
    logo = t.expect("LOGO", "FCVI-7.7.3-04", why="to the port whose Node_Name has changed")
    t.require(logo.fc("D_ID") == other, "FCVI-7.7.3-04", "LOGO to another port", f"{logo.fc('D_ID'):06X}h",
              f"{other:06X}h", at=logo, **t.place(logo, "D_ID"))  # fmt: skip
    data = blocked_send(t, setup, "FCVI-7.7.3-01", "to a port that is not validated yet")
    validate(t, adisc_of(t))
    resumed_or_ended(t, setup, data)


# ---- public loop ----


def logged_out(t: Scenario, ports: set[int], requirement: str) -> None:
    """LOGO to each of the ports that were logged in."""

    def to() -> set[int]:
        return {r.fc("D_ID") for r in t.tester.inbox if r.kind == "LOGO"}

    t.owed(lambda: ports <= to())
    missing = sorted(ports - to())
    t.require(not missing, requirement, "no LOGO to each logged-in port", ", ".join(f"{p:06X}h" for p in sorted(to())),
              ", ".join(f"{p:06X}h" for p in sorted(ports)))  # fmt: skip
    for received in t.tester.inbox:
        if received.kind == "LOGO":
            received.taken = True


def resolved_anew(t: Scenario, requirement: str) -> None:
    """The Host Address has moved to another N_Port Identifier: the next request goes there, not where it was."""
    services, old = t.tester.services, t.tester.n_port_id
    if t.params["role"] == SERVER:
        again(t, requirement)
        return
    new = old ^ 0x800 if old & 0xFFFF00 else old ^ 0x03
    names = services.ports[old]
    services.add_port(new, names)
    services.directory = {host: [new] for host in names["host"]}
    t.tester.n_port_id = new
    again_at(t, new, requirement)
    t.control("the request went to the new N_Port Identifier and connected")


def again_at(t: Scenario, port: int, requirement: str) -> Setup:
    """A setup as client, whose request has to go to this N_Port Identifier."""
    setup = client_after_logout(t, requirement)
    assert setup.rqst is not None
    d_id = setup.rqst.fc("D_ID")
    t.require(d_id == port, requirement, "the request goes where the Host Address was", f"{d_id:06X}h", f"{port:06X}h",
              at=setup.rqst, **t.place(setup.rqst, "D_ID"))  # fmt: skip
    return setup
