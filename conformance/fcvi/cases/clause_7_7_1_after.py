"""Clauses 7.7.1 and 7.7.2: what the tester sends on a connection that a logout has ended, and logouts that are none of FC-VI."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant, case
from fcvi.fc import els
from fcvi.fc.build import FC_VI
from fcvi.fc.message import Message
from fcvi.fc.received import Received, kind_of
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    REGISTRY,
    SERVER,
    STATE,
    Setup,
    check_state,
    connect_dut_server,
    create_vi,
    expect_disconnect_resp,
    finish_accept,
    finish_wait,
    send_disconnect_rqst,
    send_rqst,
    start_accept,
    start_wait,
)
from conformance.fcvi.steps.lossy_line import Line
from conformance.fcvi.steps.messages import LEVELS, Sent, deliver, open_connection, prepare, register, state_of, transmit, variants
from conformance.fcvi.steps.neighbours import POINT_TO_POINT, TOPOLOGIES, login
from conformance.fcvi.steps.stale import Stale, usable
from conformance.fcvi.steps.traffic import both_ways

from .annex_b_rules_1_3 import RELIABLE
from .clause_7_7_1 import ended, logged_in_again, logged_out_by

PART_OF_REPORT = 2

_EXPLICIT = {"login": "explicit"}
_BY: list[tuple[str, dict[str, Any]]] = [
    ("by-tester", {"by": "tester"}),
    ("by-dut", {"by": "dut"}),
    ("relogin", {"by": "relogin", "config": _EXPLICIT, "applies": "explicit_login"}),
]
_NOS: list[tuple[str, dict[str, Any]]] = [("nos", {"by": "nos", "config": TOPOLOGIES[POINT_TO_POINT]})]


def _logged_out(t: Scenario, setup: Setup) -> bool:
    """The logout of this variant; whether the connection is over. The DUT may refuse a second PLOGI."""
    by = str(t.params["by"])
    if by == "nos":
        t.link_event("nos")
    elif by == "relogin":
        if not logged_in_again(t, setup.vi):
            return False
    else:
        logged_out_by(t, by)
    ended(t, setup.vi, "FCVI-7.7.1-05")
    return True


def _logs_in(t: Scenario) -> None:
    """A login of the tester's where the DUT may take it for logged out."""
    if usable(t) and t.params["by"] != "relogin":
        login(t)


def _begins(t: Scenario) -> None:
    if t.params["by"] == "relogin" and not t.pics["client"]:
        login(t)


@case(
    REGISTRY,
    "7.7.1.inbound",
    "Messages on a connection that a logout has ended",
    clause="7.7.1",
    requirements=["FCVI-7.7.1-05", "FCVI-6.13.1-01"],
    errata=["E45", "E86"],
    tags=["link", "login", "message"],
    applies="client or server",
    variants=variants(levels=list(LEVELS), choices=_BY + _NOS)
    + variants(ops=("rdma-write",), immediate=True, choices=[(f"rdma-write/{name}", {**p}) for name, p in _BY + _NOS])
    + variants(classes=(2,), choices=[(f"{name}/class2", {**p}) for name, p in _BY]),
)  # fmt: skip
def inbound(t: Scenario) -> None:
    """A Message has half arrived when a logout ends its connection: neither its rest nor a further Message is delivered.

    That holds before a new login and behind it. Then a Disconnect for the old FCVI_HANDLE is answered, and a connection works.
    """
    _begins(t)
    line = Line(t, 4)
    line.good(1, 1)
    line.message(2, 4, 2)
    line.send(2, [0, 1])
    stale = Stale(line, {2: [2, 3], 3: None})
    if not _logged_out(t, line.setup):
        line.send(2, [2, 3])
        line.expect([2], "FCVI-7.7.1-05")
        return
    if t.params["by"] != "relogin":
        stale.comes("FCVI-7.7.1-05", "after a logout")
    _logs_in(t)
    stale.comes("FCVI-7.7.1-05", "after a logout and a new login")
    usable(t)
    exchange = send_disconnect_rqst(t, handle=line.setup.dut_handle, connection_id=0, abort=0)
    expect_disconnect_resp(t, exchange, connection_id=0, abort=0)
    Line(t, 2).good(1, 1)


@case(
    REGISTRY,
    "7.7.1.read",
    "An RDMA Read on a connection that a logout has ended",
    clause="7.7.1",
    requirements=["FCVI-7.7.1-05"],
    errata=["E45", "E86"],
    tags=["link", "login", "message"],
    applies="client or server",
    variants=variants(levels=RELIABLE, ops=("rdma-read",), choices=_BY + _NOS),
)
def read(t: Scenario) -> None:
    """FCVI_READ_RQST draws no data from memory that the connection could read before a logout ended it."""
    _begins(t)
    setup = open_connection(t)
    region = register(t, 64, read=True, data=t.rng.randbytes(64))
    first, second, third = (Message("rdma-read", n, va=region.va, region=region.handle, total=64) for n in (1, 2, 3))
    sent = deliver(t, setup, first)
    t.expect("READ_RESP", "FCVI-6.7.1-01", exchange=sent.exchange, why="to FCVI_READ_RQST")
    t.control("an RDMA Read was answered")
    stale = [prepare(t, setup, message) for message in (second, third)]
    if not _logged_out(t, setup):
        return
    if t.params["by"] != "relogin":
        _is_not_read(t, stale[0])
    _logs_in(t)
    _is_not_read(t, stale[1])
    usable(t)
    open_connection(t)


def _is_not_read(t: Scenario, sent: Sent) -> None:
    transmit(t, sent.frames, "after a logout")
    t.expect_nothing(["READ_RESP"], t.r_a_tov_us // 10, "FCVI-7.7.1-05", "on a connection that a logout has ended",
                     exchange=sent.exchange)  # fmt: skip


@case(
    REGISTRY,
    "7.7.2.request",
    "A request before PLOGI",
    clause="7.7.2",
    requirements=["FCVI-7.7.2-02"],
    errata=["E83"],
    tags=["link", "login", "setup"],
    applies="server",
    variants=[
        Variant("class3", {"role": SERVER}, config=TOPOLOGIES[POINT_TO_POINT]),
        Variant("class2", {"role": SERVER}, "class2", {**TOPOLOGIES[POINT_TO_POINT], "class": 2}),
    ],
)
def request_before_login(t: Scenario) -> None:
    """After NOS/OLS the tester asks for a connection without PLOGI: the DUT does not accept it before either port has sent one."""
    connect_dut_server(t)
    t.link_event("nos")
    wait = start_wait(t)
    setup = send_rqst(t)
    t.until(lambda: wait.done or t.peek(["CONNECT_RESP1"], setup.exchange) is not None, t.r_a_tov_us // 10)
    if wait.done and wait.returned() == "VIP_SUCCESS":
        t.start("VipConnectAccept", conn=wait.integer("conn"), vi=create_vi(t))
        t.until(lambda: t.peek(["CONNECT_RESP1"], setup.exchange) is not None, t.r_a_tov_us // 10)
    resp1 = t.peek(["CONNECT_RESP1"], setup.exchange)
    if resp1 is not None:
        resp1.taken = True
        _too_early(t, resp1)
        return
    login(t)
    t.discard("LOGO")
    t.wait(t.r_a_tov_us // 10)
    if not wait.done:  # else the DUT kept the first request until it was logged in
        setup = send_rqst(t)
    start_accept(t, setup, finish_wait(t, wait))
    finish_accept(t, setup)
    t.control("after PLOGI a request was accepted")


def _too_early(t: Scenario, resp1: Received) -> None:
    """A request is answered: no breach where a login came before. A refusal is tolerated (E45)."""
    since = t.frames_before_event
    logins = [n for sender in ("dut", "tester") for n, _, frame in t.crossed(sender, since) if kind_of(frame) == "PLOGI"]
    t.require(
        any(n < resp1.numbers[0] for n in logins), "FCVI-7.7.2-02", "a request was answered after NOS/OLS, before PLOGI", resp1,
        "no FCVI_CONNECT_RESP1", at=resp1, erratum="E45" if resp1.dh("CONN_STS") else None,
    )  # fmt: skip
    t.control("the request was answered")


@case(
    REGISTRY,
    "7.7.1.process",
    "A Process Logout is no logout of the port",
    clause="7.7.1, 8.2",
    requirements=["FCVI-8.2-d1", "FCVI-6.2.1-01"],
    errata=["E84"],
    tags=["link", "login", "message"],
    applies="(client or server) and send and unreliable_delivery",
    variants=[Variant(name, {"role": "any", "type": code}) for name, code in (("another-fc-4", 0x08), ("fc-vi", FC_VI))],
)
def process_logout(t: Scenario) -> None:
    """PRLO for another FC-4 leaves the connection alone; what PRLO for TYPE 58h means to it is not said (E84).

    The DUT may answer as it likes, and may log out of its own accord. The connection carries Messages, or a further one does.
    """
    setup = open_connection(t)
    exchange = t.tester.send_els(els.PRLO, els.process_logout(int(t.params["type"])))
    t.owed(lambda: t.peek(["LS_ACC", "LS_RJT"], exchange) is not None)
    t.wait(t.r_a_tov_us // 10)
    if int(t.params["type"]) != FC_VI and t.peek(["LOGO"]) is None:
        check_state(t, setup.vi, "connected", "FCVI-8.2-d1")
    if state_of(t, setup.vi) != STATE["connected"]:
        usable(t)
        setup = open_connection(t)
    both_ways(t, setup, "FCVI-6.2.1-01")
    t.control("a connection carries Messages")
