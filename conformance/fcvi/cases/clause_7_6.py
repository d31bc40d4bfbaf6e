"""Clause 7.6: the Name Server; and several Host Addresses of one port (4.2)."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.fc import codes
from fcvi.fc.scenario import Scenario

from .clause_7_4 import UNKNOWN_TARGET, request_unknown, expect_resolved
from conformance.fcvi.steps.connection import CLIENT, REGISTRY, SERVER, connect_dut_client, connect_dut_server
from conformance.fcvi.steps.neighbours import (
    FABRIC,
    NEEDS,
    PUBLIC_LOOP,
    TOPOLOGIES,
    UNKNOWN_HOST,
    add_second_port,
    count,
    taken,
)

PART_OF_REPORT = 4

# ---- the Name Server ----

_WITH_SERVER = (FABRIC, PUBLIC_LOOP)


@case(
    REGISTRY,
    "7.6",
    "The DUT resolves a Host Address by the Name Server",
    clause="7.4, 7.6",
    requirements=["FCVI-7.6-02", "FCVI-7.4-01", "FCVI-7.4-06", "FCVI-4.2-24"],
    errata=["E84"],
    tags=["address", "name-server"],
    applies="client and name_server",
    variants=[
        Variant(f"{topology}/{where}", {**UNKNOWN_TARGET, "where": where}, NEEDS[topology], TOPOLOGIES[topology])
        for topology in _WITH_SERVER
        for where in ("known-port", "other-port", "two-ports", "nowhere")
    ]
    + [Variant("class2", {**UNKNOWN_TARGET, "where": "known-port"}, "class2", {**TOPOLOGIES[FABRIC], "class": 2})],
)
def name_server(t: Scenario) -> None:
    """GID_IPP asks for the Host Address of the call; the request goes to the, or to one of the, N_Port Identifiers.

    The Name Server is preferred to FARP (a should). When nobody has the address, no request goes out.
    """
    where = t.params["where"]
    ports = {t.tester.n_port_id}
    if where in ("other-port", "two-ports"):
        other = add_second_port(t)
        ports = {other} if where == "other-port" else {other, *ports}
    if where != "nowhere":
        t.tester.services.directory[UNKNOWN_HOST] = sorted(ports)
    vi, call = request_unknown(t, t.r_a_tov_us // 2 if where == "nowhere" else None)
    if where == "nowhere":
        code = t.finish(call, "FCVI-7.4-01", within_us=3 * t.r_a_tov_us)
        t.require(code != "VIP_SUCCESS", "FCVI-7.4-01", "connected with nobody", code, "no success")
        t.expect_nothing(["CONNECT_RQST"], t.r_a_tov_us, "FCVI-7.4-01", "though the Name Server knows nobody")
        t.tester.services.directory[UNKNOWN_HOST] = [t.tester.n_port_id]
        vi, call = request_unknown(t)
    t.owed(lambda: t.peek(["CONNECT_RQST"]) is not None)
    queries = [q for q in taken(t, "CT") if q.part("CT", "CT_Command") == codes.CT_COMMAND.GID_IPP]
    t.require(bool(queries), "FCVI-7.4-06", "the Name Server was not asked", f"{count(t, 'FARP_REQ')} FARP-REQ", "GID_IPP")
    for query in queries:
        asked = query.blob("GID_IPP", "GID_IPP_Address").hex()
        t.require(asked == UNKNOWN_HOST, "FCVI-7.6-02", "GID_IPP asks for another Host Address", asked, UNKNOWN_HOST, at=query,
                  byte=query.byte_of("GID_IPP", "GID_IPP_Address"))  # fmt: skip
    expect_resolved(t, vi, call, ports)
    if queries and where != "nowhere":
        t.require(not count(t, "FARP_REQ"), "FCVI-4.2-24", "FARP as well as the Name Server", "FARP-REQ", "none")
    t.control("a port with the Host Address was connected")


# ---- several Host Addresses, four topologies ----


_THREE_HOSTS = [f"20010db8{n:024x}" for n in (1, 2, 3)]


@case(
    REGISTRY,
    "4.2.21",
    "Several Host Addresses of one port",
    clause="4.2",
    requirements=["FCVI-4.2-21", "FCVI-6.8.3-04", "FCVI-6.9.3-04"],
    tags=["address", "setup"],
    applies="client or server",
    variants=[
        Variant(f"{role}/{index}", {"role": role, "host_index": index}, role.removeprefix("dut-"), {"host": _THREE_HOSTS})
        for role in (CLIENT, SERVER)
        for index in (0, 1, 2)
    ],
)
def several_addresses(t: Scenario) -> None:
    """A setup to, or from, each of the Host Addresses that the DUT has."""
    (connect_dut_client if t.params["role"] == CLIENT else connect_dut_server)(t)
    t.control("the Connection Setup completed")
