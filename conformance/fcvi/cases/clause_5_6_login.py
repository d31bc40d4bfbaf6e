"""Clause 5.6: what N_Port Login says about SEQ_CNT and Relative Offset, and with whom no connection is made."""

from __future__ import annotations


from fcvi.fc import els
from fcvi.engine.case import Variant, case
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    check_resp1,
    connect,
    control_setup,
    create_vi,
    dut_address,
    send_resp2,
    send_rqst,
    start_wait,
    tester_address,
)
from conformance.fcvi.steps.neighbours import ask_login, check_service_parameters, logo

PART_OF_REPORT = 7

_INVALID_PARAMETER = 0x20
_FEATURES: list[tuple[str, dict[str, int]]] = [
    ("without-s", {"CIRO": 1}),
    ("without-c", {"SEQ_CNT_S": 1}),
    ("without-both", {}),
]
_NEITHER: dict[str, tuple[str, str]] = {
    "without-s": ("FCVI-5.6-05", "FCVI-5.6-06"),
    "without-c": ("FCVI-5.6-10", "FCVI-5.6-11"),
    "without-both": ("FCVI-5.6-05", "FCVI-5.6-06"),
}
_EXPLICIT = {"login": "explicit"}


def check_login(t: Scenario, frame: Received, requirement: str) -> None:
    """S (bit 17) and C (bit 31; bit 30 in the text, E17) of Word 1 are one; the names are those of the port, and the Receive
    Data_Field Size is one that FC-FS has.
    """
    t.require(frame.part("LOGIN", "SEQ_CNT_S") == 1, requirement, f"{frame.kind}: Word 1 bit 17 (S) is zero", 0, 1, at=frame)
    t.require(frame.part("LOGIN", "CIRO") == 1, "FCVI-5.6-08", f"{frame.kind}: Word 1 bit 31 (C) is zero", 0, 1, at=frame)
    check_service_parameters(t, frame)


def _tester_logs_in(t: Scenario, features: dict[str, int]) -> Received:
    """The tester's PLOGI with these features, and the DUT's LS_ACC; without S or C an LS_RJT will do as well (E126)."""
    body = els.login(t.tester.services.ports[t.tester.n_port_id], t.tester.receive_size, features)
    answers = ["LS_ACC"] if features == els.C_AND_S else ["LS_ACC", "LS_RJT"]
    return t.expect(answers, "FCVI-4.1-04", exchange=ask_login(t, body), why="to PLOGI")


@case(
    REGISTRY,
    "5.6",
    "S and C in the DUT's N_Port Login",
    clause="5.6",
    requirements=["FCVI-5.6-03", "FCVI-5.6-04", "FCVI-5.6-08", "FCVI-5.8.1-01"],
    errata=["E17"],
    tags=["login"],
    applies="explicit_login",
    variants=[
        Variant(f"{role}/class{cls}", {"role": role}, f"{pics} and class{cls}", {**_EXPLICIT, "class": cls})
        for role, pics in ((CLIENT, "client"), (SERVER, "server")) for cls in (3, 2)
    ],
)  # fmt: skip
def login_bits(t: Scenario) -> None:
    """PLOGI of a client and LS_ACC of a server have both bits set; with a tester that has them a connection is made."""
    if t.params["role"] == SERVER:
        check_login(t, _tester_logs_in(t, els.C_AND_S), "FCVI-5.6-04")
    connect(t)
    if t.params["role"] == CLIENT:
        plogi = next((r for r in t.tester.inbox if r.kind == "PLOGI"), None)
        t.demand(plogi is not None, "FCVI-5.6-03", "no PLOGI before the Connection Setup", "none", "PLOGI")
        assert plogi is not None
        check_login(t, plogi, "FCVI-5.6-03")


@case(
    REGISTRY,
    "5.6.server",
    "A client that lacks S or C is refused",
    clause="5.6",
    requirements=["FCVI-5.6-05", "FCVI-5.6-10", "FCVI-T12-20h", "FCVI-6.9.1-01"],
    errata=["E17", "E126"],
    tags=["login", "setup", "refusal"],
    applies="server and explicit_login",
    variants=[
        Variant(f"{again}{name}", {"role": SERVER, "name": name, "features": f, "again": bool(again)}, "", _EXPLICIT)
        for again, which in (("", _FEATURES), ("relogin/", _FEATURES[:2])) for name, f in which
    ],  # fmt: skip
)
def server_refuses(t: Scenario) -> None:
    """FCVI_CONNECT_RESP1 has CONN_STS one and Connect Reject - Invalid Service Parm (20h), although a server waits. So it is
    behind a login that had both bits: the last one counts.
    """
    if t.params["again"]:
        _tester_logs_in(t, els.C_AND_S)
        control_setup(t)
    if _tester_logs_in(t, t.params["features"]).kind == "LS_RJT":
        t.step("the PLOGI was rejected: no request can follow it")
        if not t.params["again"]:  # else another login may be rejected as well, while the first one stands (FC-FS)
            _tester_logs_in(t, els.C_AND_S)
            control_setup(t)
        return
    start_wait(t)
    setup = send_rqst(t)
    requirement = _NEITHER[str(t.params["name"])][0]
    resp1 = t.expect("CONNECT_RESP1", requirement, exchange=setup.exchange, why="to refuse the request")
    t.equal(resp1, "CONN_STS", 1, requirement)
    t.equal(resp1, "Reason_Code", _INVALID_PARAMETER, requirement)
    check_resp1(t, resp1, setup, refused=[_INVALID_PARAMETER])
    send_resp2(t, setup, handle=resp1.conn_int("FCVI_RESP_HANDLE"))
    t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after RESP2")
    t.control("the DUT answered the refused setup to its end")


@case(
    REGISTRY,
    "5.6.client",
    "No setup with a server that lacks S or C",
    clause="5.6",
    requirements=["FCVI-5.6-06", "FCVI-5.6-11"],
    errata=["E17"],
    tags=["login", "setup"],
    applies="client and explicit_login",
    variants=[
        Variant(f"{name}/{how}", {"role": CLIENT, "name": name, "features": f, "how": how}, "", _EXPLICIT)
        for name, f in _FEATURES for how in ("acc", "plogi")
    ],
)  # fmt: skip
def client_does_not_connect(t: Scenario) -> None:
    """The tester's LS_ACC, or its PLOGI, lacks a bit: VipConnectRequest sends no FCVI_CONNECT_RQST and fails.

    After a logout and a login with both bits a connection is made.
    """
    requirement = _NEITHER[str(t.params["name"])][1]
    t.tester.services.features = t.params["features"]
    if t.params["how"] == "plogi":
        _tester_logs_in(t, t.params["features"])
    vi = create_vi(t)
    call = t.start(
        "VipConnectRequest", vi=vi, LocalAddr=dut_address(t), RemoteAddr=tester_address(t), Timeout=2 * t.r_a_tov_us
    )
    t.expect_nothing(["CONNECT_RQST"], t.r_a_tov_us, requirement, "to a port without S or C")
    if any(f.requirement == requirement for f in t.findings):
        return  # how that setup ends says nothing
    if t.params["how"] == "acc":
        t.require(any(r.kind == "PLOGI" for r in t.tester.inbox), "FCVI-5.6-03", "no PLOGI", "none", "PLOGI")
    code = t.finish(call, requirement, within_us=4 * t.r_a_tov_us)
    t.require(code != "VIP_SUCCESS", requirement, "VipConnectRequest succeeded", code, "no success")
    t.step("the tester logs out and comes back with both bits")
    logo(t)
    t.tester.services.features = els.C_AND_S
    connect(t)
