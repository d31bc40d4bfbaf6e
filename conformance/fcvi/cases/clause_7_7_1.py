"""Clauses 7.7.1 and 7.7.2: logout, Link Reset, and loss of the link between two ports."""

from __future__ import annotations

from typing import Callable

from fcvi.engine.case import Variant, case
from fcvi.fc import els
from fcvi.fc.received import kind_of
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Call

from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    STATE,
    Setup,
    accept_request,
    check_state,
    connect_dut_client,
    connect_dut_server,
    connection_lost,
    create_vi,
    dut_address,
    finish_accept,
    finish_wait,
    originated,
    send_resp3,
    send_rqst,
    start_accept,
    start_wait,
    tester_address,
)
from conformance.fcvi.steps.neighbours import (
    FABRIC,
    NEEDS,
    POINT_TO_POINT,
    PRIVATE_LOOP,
    PUBLIC_LOOP,
    TOPOLOGIES,
    add_second_port,
    ask_login,
    login,
    logo,
    no_fc_vi,
    taken,
)
from conformance.fcvi.steps.traffic import both_ways

PART_OF_REPORT = 2

ROLES: tuple[tuple[str, str, Callable[[Scenario], Setup]], ...] = (
    (CLIENT, "client", connect_dut_client),
    (SERVER, "server", connect_dut_server),
)
_ALL = (POINT_TO_POINT, PRIVATE_LOOP, PUBLIC_LOOP, FABRIC)


def connect_as(t: Scenario) -> Setup:
    """A setup in the DUT's role of this variant."""
    return next(connect for role, _, connect in ROLES if role == t.params["role"])(t)


def ended(t: Scenario, vi: int, requirement: str) -> None:
    """The connection is over without Disconnect IUs: Error and VIP_ERROR_CONN_LOST; Idle is tolerated (E86)."""
    t.owed(lambda: t.call("VipQueryVi", vi=vi).text("State") != STATE["connected"])
    check_state(t, vi, "error", requirement, {"idle": "E86"})
    if t.call("VipQueryVi", vi=vi).text("State") == "VIP_STATE_ERROR":
        connection_lost(t, vi, "FCVI-C.5.9.1-02")
    left = t.peek(["DISCONNECT_RQST"])
    t.require(left is None, requirement, "a Disconnect IU though the port is logged out", left, "none", at=left)
    if left is not None:
        left.taken = True


def silent(t: Scenario, setup: Setup, requirement: str) -> None:
    """A Send on the connection that is over puts nothing on the wire."""
    post_send_if_possible(t, setup)
    t.expect_nothing(["SEND_RQST"], t.r_a_tov_us // 10, requirement, "on a connection that a logout has ended")


def post_send_if_possible(t: Scenario, setup: Setup) -> None:
    """VipPostSend; VIPL may refuse it in this state."""
    mem = t.call("VipRegisterMem", length=8, rdma_write=False, rdma_read=False, fill="11").integer("mem")
    segments = [{"mem": mem, "offset": 0, "length": 8}]
    t.call("VipPostSend", vi=setup.vi,
           descriptor={"op": "send", "segments": segments, "remote": None, "immediate": None}).returned()  # fmt: skip


def _ended_at(t: Scenario) -> int:
    """The last frame with which a login ended, or before the event of the link that ended it."""
    logouts = [n for sender in ("dut", "tester") for n, _, frame in t.crossed(sender) if kind_of(frame) == "LOGO"]
    return max([t.frames_before_event, *logouts])


def client_after_logout(t: Scenario, requirement: str) -> Setup:
    """A further setup as client: PLOGI is on the wire before FCVI_CONNECT_RQST. A DUT may log in at once, before it has to."""
    for old in ("PLOGI", "FLOGI"):
        taken(t, old)
    ended_at = _ended_at(t)
    vi = create_vi(t)
    call = t.start("VipConnectRequest", vi=vi, LocalAddr=dut_address(t), RemoteAddr=tester_address(t), Timeout=None)
    rqst = t.expect("CONNECT_RQST", requirement, why="after VipConnectRequest and PLOGI")
    taken(t, "PLOGI")
    plogi = [p for p in t.tester.inbox if p.kind == "PLOGI" and p.numbers[0] > ended_at and p.fc("D_ID") == rqst.fc("D_ID")]
    t.require(bool(plogi), requirement, "FCVI_CONNECT_RQST without PLOGI after a logout", "no PLOGI", "PLOGI", at=rqst)
    setup = originated(t, vi, call, rqst)
    accept_request(t, setup)
    send_resp3(t, setup)
    t.settle()
    check_state(t, vi, "connected", "FCVI-8.2-b1")
    return setup


def server_after_logout(t: Scenario) -> Setup:
    """A further setup as server, after the tester's PLOGI."""
    login(t)
    return connect_dut_server(t)


def logged_out_by(t: Scenario, who: str) -> None:
    """LOGO of the DUT's or of the tester's."""
    if who == "dut":
        t.link_event("logo")
        t.expect("LOGO", "FCVI-7.7.1-05", why="when the DUT is told to log out")
    else:
        logo(t)


def again(t: Scenario, requirement: str) -> None:
    """Positive control: in the role of the variant a further setup succeeds, after PLOGI."""
    if t.params["role"] == CLIENT:
        client_after_logout(t, requirement)
    else:
        server_after_logout(t)
    t.control("after PLOGI a further Connection Setup completed")


@case(
    REGISTRY,
    "7.7.1.logout",
    "A logout ends every connection with that port",
    clause="7.7.1",
    requirements=["FCVI-7.7.1-05", "FCVI-7.7.2-02"],
    errata=["E86"],
    tags=["link", "login"],
    applies="client or server",
    variants=[
        Variant(f"{role}/{by}/{topology}", {"role": role, "by": by}, " and ".join(e for e in (pics, NEEDS[topology]) if e),
                TOPOLOGIES[topology])
        for role, pics, _ in ROLES
        for by in ("dut", "tester")
        for topology in _ALL
    ]
    + [
        Variant(f"{role}/{by}/class2", {"role": role, "by": by}, f"{pics} and class2", {"class": 2})
        for role, pics, _ in ROLES
        for by in ("dut", "tester")
    ],  # fmt: skip
)
def logout(t: Scenario) -> None:
    """LOGO sent or received: all VIs connected with that port leave Connected, no Disconnect IU, no further Message.

    A PLOGI comes before the next FC-VI IU.
    """
    first, second = connect_as(t), connect_as(t)
    logged_out_by(t, str(t.params["by"]))
    for setup in (first, second):
        ended(t, setup.vi, "FCVI-7.7.1-05")
    if t.pics["send"]:
        silent(t, first, "FCVI-7.7.1-05")
    again(t, "FCVI-7.7.2-02")


def logged_in_again(t: Scenario, vi: int) -> bool:
    """Whether the DUT accepts a second PLOGI. It may refuse it: then the VI stays connected."""
    exchange = ask_login(t, els.login(t.tester.services.ports[t.tester.n_port_id], t.tester.receive_size))
    if t.expect(["LS_ACC", "LS_RJT"], "FCVI-4.1-04", exchange=exchange, why="to PLOGI").kind == "LS_ACC":
        return True
    check_state(t, vi, "connected", "FCVI-8.2-b1")
    return False


_SECOND_LOGINS: tuple[tuple[str, dict[str, int]], ...] = (("", {}), ("/field-size-256", {"field_size": 256}))


@case(
    REGISTRY,
    "7.7.1.relogin",
    "A second PLOGI ends what stood on the first",
    clause="7.7.1",
    requirements=["FCVI-7.7.1-05", "FCVI-5.8.1-01"],
    errata=["E86"],
    tags=["link", "login"],
    applies="explicit_login and (client or server)",
    variants=[
        Variant(f"{role}/class{cls}{suffix}", {"role": role, **more}, f"{pics} and class{cls}", {"login": "explicit", "class": cls})
        for suffix, more in _SECOND_LOGINS
        for role, pics, _ in ROLES
        for cls in (3, 2)
    ],
)
def second_login(t: Scenario) -> None:
    """A PLOGI that the DUT accepts logs out what was logged in before it (FC-FS): the connection ends, without Disconnect IUs.

    The DUT may refuse that PLOGI; then nothing has changed. A Receive Data_Field Size that is less than the first one holds for
    the frames that follow.
    """
    if t.params["role"] == SERVER:
        login(t)
    setup = connect_as(t)
    t.tester.receive_size = int(t.params.get("field_size", t.tester.receive_size))
    if not logged_in_again(t, setup.vi):
        t.control("a second PLOGI was refused, and the connection stayed")
        return
    ended(t, setup.vi, "FCVI-7.7.1-05")
    if t.pics["send"]:
        silent(t, setup, "FCVI-7.7.1-05")
    connect_as(t)
    t.control("after the second PLOGI a further Connection Setup completed")


@case(
    REGISTRY,
    "7.7.1.other-port",
    "A logout leaves the connections with other ports alone",
    clause="7.7.1",
    requirements=["FCVI-7.7.1-05"],
    tags=["link", "login"],
    applies="server and send and unreliable_delivery",
    variants=[
        Variant(topology, {"role": SERVER}, NEEDS[topology], TOPOLOGIES[topology])
        for topology in (PRIVATE_LOOP, PUBLIC_LOOP, FABRIC)
    ],
)
def logout_of_another(t: Scenario) -> None:
    """The tester's second port logs in, connects and logs out: that connection ends, the first port's lives on."""
    first = connect_dut_server(t)
    other = add_second_port(t)
    login(t, other)
    wait = start_wait(t)
    second = send_rqst(t, port=other)
    start_accept(t, second, wait_from(t, wait))
    finish_accept(t, second)
    logo(t, other)
    ended(t, second.vi, "FCVI-7.7.1-05")
    check_state(t, first.vi, "connected", "FCVI-7.7.1-05")
    both_ways(t, first, "FCVI-7.7.1-05")
    t.control("the connection with the first port carries Messages")


def wait_from(t: Scenario, wait: Call) -> int:
    """The conn of a VipConnectWait that returned, whoever asked."""
    t.finish(wait, "FCVI-4.2-33", returns="VIP_SUCCESS")
    return wait.integer("conn")


@case(
    REGISTRY,
    "7.7.1.reset",
    "Link Reset changes nothing",
    clause="7.7.1, 7.7.2, 7.7.5",
    requirements=["FCVI-7.7.1-03", "FCVI-7.7.2-01", "FCVI-7.7.5-01"],
    errata=["E83"],
    tags=["link"],
    applies="(client or server) and send and unreliable_delivery",
    variants=[
        Variant(f"{role}/{topology}", {"role": role}, " and ".join(e for e in (pics, NEEDS[topology]) if e), TOPOLOGIES[topology])
        for role, pics, _ in ROLES
        for topology in (POINT_TO_POINT, FABRIC)
    ],
)
def link_reset(t: Scenario) -> None:
    """After LR the connection is there, its Messages flow, and the port has the N_Port Identifier that it had."""
    setup = connect_as(t)
    t.link_event("lr")
    t.settle()
    check_state(t, setup.vi, "connected", "FCVI-7.7.1-03")
    both_ways(t, setup, "FCVI-7.7.2-01" if t.config["topology"] == POINT_TO_POINT else "FCVI-7.7.5-01")
    t.require(not t.peek(["LOGO"]), "FCVI-7.7.1-03", "LOGO after LR", "LOGO", "none")
    t.control("a Message passed each way after LR")


@case(
    REGISTRY,
    "7.7.2",
    "NOS/OLS between two ports is a logout",
    clause="7.7.2",
    requirements=["FCVI-7.7.2-01", "FCVI-7.7.2-02", "FCVI-7.7.1-02"],
    errata=["E83", "E86"],
    tags=["link", "login"],
    applies="client or server",
    variants=[
        Variant(f"{role}", {"role": role}, pics, TOPOLOGIES[POINT_TO_POINT])
        for role, pics, _ in ROLES
    ]
    + [Variant(f"{role}/class2", {"role": role}, f"{pics} and class2", {"class": 2}) for role, pics, _ in ROLES],
)
def point_to_point(t: Scenario) -> None:
    """The connection ends, without Disconnect IUs; no FC-VI IU goes out before PLOGI, which either port may send."""
    setup = connect_as(t)
    t.link_event("nos")
    no_fc_vi(t, t.r_a_tov_us // 10, "FCVI-7.7.2-02", "after NOS/OLS, before PLOGI")
    ended(t, setup.vi, "FCVI-7.7.2-01")
    again(t, "FCVI-7.7.2-02")


@case(
    REGISTRY,
    "8.5.3.c",
    "A logout sets the FCVI_CONNECTION_IDs free",
    clause="8.5.3 c)",
    requirements=["FCVI-8.5.3-c", "FCVI-6.9.1-01"],
    errata=["E57"],
    tags=["setup", "login", "timing"],
    applies="server",
    variants=[
        Variant("by-tester", {"role": SERVER, "by": "tester"}),
        Variant("by-dut", {"role": SERVER, "by": "dut"}),
    ],
)
def id_after_logout(t: Scenario) -> None:
    """A setup fails at T2; after LOGO and PLOGI a request with the same FCVI_CONNECTION_ID is a new one and connects."""
    wait = start_wait(t)
    failed = send_rqst(t)
    start_accept(t, failed, finish_wait(t, wait))
    assert failed.call is not None
    t.finish(failed.call, "FCVI-8.5.2-c", within_us=t.owed_us(3))
    if t.params["by"] == "dut":
        t.link_event("logo")
        t.expect("LOGO", "FCVI-7.7.1-05", why="when the DUT is told to log out")
    else:
        logo(t)
    login(t)
    wait = start_wait(t)
    setup = send_rqst(t, connection_id=failed.connection_id)
    start_accept(t, setup, finish_wait(t, wait))
    finish_accept(t, setup)
    check_state(t, setup.vi, "connected", "FCVI-8.5.3-c")
    t.control("the setup with the FCVI_CONNECTION_ID of the failed one completed")
