"""Clauses 5.1 and 5.9: the Device_Header of Connection IUs - FCVI_HANDLE, FCVI_FLAGS, FCVI_PARAMETER, FCVI_CONNECTION_ID."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fcvi.fc.build import UNASSIGNED
from fcvi.engine.case import Variant, case
from fcvi.fc.message import Message
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    DOES_NOT_EXIST,
    REGISTRY,
    SERVER,
    SETUP_TIMEOUT,
    Setup,
    accept_request,
    accept_retry,
    connect_dut_client,
    connect_dut_server,
    disconnect_and_answer,
    expect_disconnect_resp,
    expect_retry,
    finish_accept,
    finish_wait,
    send_disconnect_rqst,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
)
from conformance.fcvi.steps.failures import lose_request, lose_request_and_retry
from conformance.fcvi.steps.message_checks import take_request
from conformance.fcvi.steps.messages import expect_good, post, prepare, register, transmit, variants

PART_OF_REPORT = 9

_ROLES = [Variant(CLIENT, {"role": CLIENT}, "client"), Variant(SERVER, {"role": SERVER}, "server")]
_RETRY_RQST, _INFO_RQST, _RETRY_RESP, _INFO_RESP = 0x10, 0x08, 4, 2  # Tables 7 and 9


def _flags(t: Scenario, iu: Received, wanted: int, requirement: str) -> None:
    """FCVI_FLAGS but for FCVI_CONN_INFO, which is the DUT's choice and has to agree with the payload (the codec looks)."""
    info = _INFO_RQST if iu.kind == "CONNECT_RQST" else _INFO_RESP
    seen = iu.dh("FCVI_FLAGS") & ~info if iu.kind in ("CONNECT_RQST", "CONNECT_RESP1") else iu.dh("FCVI_FLAGS")
    byte, bits = iu.last.where("DH", "FCVI_FLAGS")
    t.require(seen == wanted, requirement, f"FCVI_FLAGS of FCVI_{iu.kind} are wrong", f"{seen:02X}h", f"{wanted:02X}h",
              at=iu, byte=byte, bits=bits)  # fmt: skip
    if iu.kind in ("CONNECT_RQST", "CONNECT_RESP1"):
        wanted_length = 596 if iu.dh("FCVI_FLAGS") & info else 340
        row = "FCVI-T07-3" if iu.kind == "CONNECT_RQST" else "FCVI-T09-1"
        t.require(len(iu.payload) == wanted_length, row, "FCVI_CONN_INFO does not agree with the payload",
                  f"{len(iu.payload)} bytes", f"{wanted_length} bytes", at=iu)  # fmt: skip


@case(
    REGISTRY,
    "5.9.4",
    "FCVI_FLAGS of a Connection Setup, first and retried",
    clause="5.9.4",
    requirements=[
        "FCVI-T07-4", "FCVI-T07-3", "FCVI-T07-2..0", "FCVI-T07-7..5", "FCVI-T09-0", "FCVI-T09-1", "FCVI-T09-2",
        "FCVI-5.9.4.1-01", "FCVI-5.9.4.1-02", "FCVI-5.9.4.4-01", "FCVI-5.9.4.4-02", "FCVI-5.9.4.4-03", "FCVI-5.9.4.4-04",
        "FCVI-5.9.4.5-01", "FCVI-5.9.4.5-03", "FCVI-5.9.4.5-04", "FCVI-5.9.4.5-05", "FCVI-5.9.4.5-06", "FCVI-5.9.4.5-07",
        "FCVI-5.9.7.1-04", "FCVI-5.9.10-02", "FCVI-5.9.10-03", "FCVI-5.9.10-04", "FCVI-T08-001",
    ],  # fmt: skip
    errata=["E07", "E23", "E24"],
    tags=["setup", "loss", "timing"],
    applies="client or server",
    variants=[
        Variant(f"{role}/{name}", {"role": role, "info": info}, role.removeprefix("dut-"))
        for role in (CLIENT, SERVER) for name, info in (("plain", False), ("connect-info", True))
    ],
)  # fmt: skip
def setup_flags(t: Scenario) -> None:
    """RETRY is zero in all IUs of the first attempt and one in all IUs of the retry; no other bit is set.

    The first attempt fails for want of RESP1 or RESP2. FCVI_CONNECTION_ID is repeated and differs between the attempts.
    The tester's IUs may bring 256 bytes of provider information.
    """
    if t.params["role"] == CLIENT:
        _client_flags(t)
    else:
        _server_flags(t)
    t.control("the retried Connection Setup completed")


def _client_flags(t: Scenario) -> None:
    first = start_request(t)
    assert first.rqst is not None
    _flags(t, first.rqst, 0x01, "FCVI-5.9.4.4-03")
    lose_request(t, first)
    retry = expect_retry(t, first)
    assert retry.rqst is not None
    _flags(t, retry.rqst, 0x01 | _RETRY_RQST, "FCVI-5.9.4.4-04")
    t.require(retry.connection_id != first.connection_id, "FCVI-5.9.10-03", "the retry has the FCVI_CONNECTION_ID of the first",
              f"{retry.connection_id:08X}h", "another", at=retry.rqst)  # fmt: skip
    accept_request(t, retry, flags=_INFO_RESP if t.params["info"] else 0)
    resp2 = next(r for r in reversed(t.tester.inbox) if r.kind == "CONNECT_RESP2")
    _flags(t, resp2, _RETRY_RESP, "FCVI-5.9.4.5-07")
    t.equal(resp2, "FCVI_CONNECTION_ID", retry.connection_id, "FCVI-5.9.10-04")
    send_resp3(t, retry)
    t.settle()


def _server_flags(t: Scenario) -> None:
    info = bytes(range(256)) if t.params["info"] else b""
    wait = start_wait(t)
    first = send_rqst(t, info=info)
    resp1 = start_accept(t, first, finish_wait(t, wait))
    _flags(t, resp1, 0, "FCVI-5.9.4.5-06")
    t.step("RESP1 is lost: the tester aborts the setup and tries again")
    t.lose(resp1)
    t.tester.send_abts(first.exchange)
    t.expect("BA_ACC", "FCVI-4.1-04", exchange=first.exchange, why="after ABTS")
    retry = send_rqst(t, retry_of=first, info=info)
    retry.vi, retry.call = first.vi, first.call
    again = accept_retry(t, first, retry)
    _flags(t, again, _RETRY_RESP, "FCVI-5.9.4.5-06")
    t.equal(again, "FCVI_CONNECTION_ID", retry.connection_id, "FCVI-5.9.10-04")
    finish_accept(t, retry)
    resp3 = next(r for r in reversed(t.tester.inbox) if r.kind == "CONNECT_RESP3")
    _flags(t, resp3, _RETRY_RESP, "FCVI-5.9.4.5-06")


@case(
    REGISTRY,
    "5.9.4.6",
    "FCVI_FLAGS of Disconnect IUs",
    clause="5.9.4.6",
    requirements=[
        "FCVI-T10-0", "FCVI-T10-1", "FCVI-T10-2", "FCVI-T10-7..3", "FCVI-5.9.4.1-01", "FCVI-5.9.4.1-02", "FCVI-5.9.4.6-01",
        "FCVI-5.9.4.6-02", "FCVI-5.9.4.6-03", "FCVI-5.9.4.6-04", "FCVI-5.9.4.6-05", "FCVI-5.9.4.6-06", "FCVI-5.9.7.1-05",
        "FCVI-5.9.7.1-07", "FCVI-5.9.7.1-08", "FCVI-5.9.7.3.3-01", "FCVI-T11-b1", "FCVI-T12-49h", "FCVI-T12-4Ch",
        "FCVI-5.9.10-02", "FCVI-5.9.10-05", "FCVI-5.9.10-06",
    ],  # fmt: skip
    errata=["E03", "E04", "E08", "E11", "E41", "E116"],
    tags=["disconnect", "loss", "timing"],
    applies="client or server",
    variants=[
        *[Variant(f"{v.suffix}/established", {**v.params, "abort": False}, v.applies) for v in _ROLES],
        Variant(f"{CLIENT}/setup-abort", {"role": CLIENT, "abort": True}, "client"),
        *[Variant(f"{v.suffix}/answers", {**v.params, "abort": None}, v.applies) for v in _ROLES],
    ],
)
def disconnect_flags(t: Scenario) -> None:
    """CONN_SETUP_ABORT tells a setup from a connection, VI_APP_DISCON who asked, CONN_STS whether there is a reason.

    The reason is one for Disconnect IUs; the response repeats the two first flags and FCVI_CONNECTION_ID.
    """
    if t.params["abort"]:
        _setup_abort(t)
        return
    setup = connect_dut_client(t) if t.params["role"] == CLIENT else connect_dut_server(t)
    t.control("a Connection Setup completed")
    if t.params["abort"] is False:
        disconnect_and_answer(t, setup)
        return
    for abort, app in ((1, 0), (1, 1), (0, 0), (0, 1)):
        number = 0 if not abort else 0x01020304
        handle = UNASSIGNED if abort else setup.dut_handle
        exchange = send_disconnect_rqst(t, handle=handle, connection_id=number, abort=abort, app=app)
        expect_disconnect_resp(t, exchange, connection_id=number, abort=abort, app=app)


def _setup_abort(t: Scenario) -> None:
    _, retry = lose_request_and_retry(t)
    assert retry.call is not None
    t.finish(retry.call, "FCVI-8.5.4-02", returns="VIP_NOT_REACHABLE")
    disconnect_and_answer(
        t, retry, abort=1, reasons=(SETUP_TIMEOUT, 0x40), handle=UNASSIGNED, resp_reason=DOES_NOT_EXIST
    )
    t.control("an aborted setup was disconnected")


@case(
    REGISTRY,
    "5.1",
    "All Connection IUs",
    clause="5.1",
    requirements=[
        "FCVI-5.1-02", "FCVI-5.1-03", "FCVI-5.9.2-04", "FCVI-5.9.3-02", "FCVI-T01-CONNECT_RQST-enc",
        "FCVI-T01-CONNECT_RESP1-enc", "FCVI-T01-CONNECT_RESP2-enc", "FCVI-T01-CONNECT_RESP3-enc",
        "FCVI-T01-DISCONNECT_RQST-enc", "FCVI-T01-DISCONNECT_RESP-enc", "FCVI-T11-b1", "FCVI-6.12.1-01",
        "FCVI-6.13.1-01", "FCVI-5.3.1-04", "FCVI-T01-DISCONNECT_RESP-pos", "FCVI-6.13.1-03",
    ],  # fmt: skip
    tags=["setup", "disconnect"],
    applies="client or server",
    variants=[
        Variant(f"{v.suffix}/class{cls}", v.params, f"{v.applies} and class{cls}", {"class": cls}) for v in _ROLES for cls in (3, 2)
    ],
)
def all_connection_ius(t: Scenario) -> None:
    """Connections are set up and removed, by the DUT and by the tester, in either class: every Connection IU is in use."""
    for by_dut in (True, False):
        setup = connect_dut_client(t) if t.params["role"] == CLIENT else connect_dut_server(t)
        if by_dut:
            disconnect_and_answer(t, setup)
            continue
        exchange = send_disconnect_rqst(t, handle=setup.dut_handle, connection_id=0, abort=0)
        expect_disconnect_resp(t, exchange, connection_id=0, abort=0, handle=setup.tester_handle)
    t.control("two connections were set up and removed")


_HANDLES = [0, 0x80000000, 0xFFFFFFFE]


@case(
    REGISTRY,
    "5.9.2",
    "FCVI_HANDLE of Messages",
    clause="5.9.2",
    requirements=[
        "FCVI-5.2.1-08", "FCVI-5.9.2-01", "FCVI-5.9.2-02", "FCVI-5.9.2-03", "FCVI-5.9.2-04", "FCVI-4.2-05", "FCVI-4.2-41",
        "FCVI-6.2.2-02", "FCVI-6.2.1-01",
    ],  # fmt: skip
    errata=["E12", "E45"],
    tags=["message", "setup"],
    applies="(client or server) and max_vis >= 2",
    variants=variants(
        classes=(3, 2), roles=(CLIENT, SERVER), choices=[(f"{h:08x}", {"handle": h}) for h in _HANDLES],
    ),
)  # fmt: skip
def handles(t: Scenario) -> None:
    """The tester's handle is any value but FFFFFFFFh: the DUT's Messages carry it as long as the connection lives.

    Of two connections each has its own handle at the DUT, and Messages reach the Endpoint that the handle names.
    """
    params: Any = t.params
    setups: list[Setup] = []
    for value in (params["handle"], params["handle"] ^ 2):
        t.params = {**params, "handle": value}
        setups.append(connect_dut_client(t) if params["role"] == CLIENT else connect_dut_server(t))
    t.require(setups[0].dut_handle != setups[1].dut_handle, "FCVI-4.2-09", "two connections have the same handle at the DUT",
              f"{setups[0].dut_handle:08X}h", "different values")  # fmt: skip
    for number in (1, 2, 3):
        for setup in setups:
            data = t.rng.randbytes(20)
            post(t, setup.vi, "send", register(t, 20, data=data))
            take_request(t, setup, Message("send", number, data))
            expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
            post(t, setup.vi, "recv", register(t, 20))
            transmit(t, prepare(t, setup, Message("send", number, data)).frames)
            expect_good(t, setup.vi, "recv", "FCVI-5.9.2-02", length=20)
    t.control("Messages went both ways on two connections")
    _to_nobody(t, setups)


def _to_nobody(t: Scenario, setups: list[Setup]) -> None:
    """A Message whose FCVI_HANDLE differs in one bit from one that the DUT gave is delivered to nobody (E45)."""
    t.tolerate("LOGO", "ABTS", "P_RJT")
    known = {UNASSIGNED, *(setup.dut_handle for setup in setups)}
    for setup in setups:
        post(t, setup.vi, "recv", register(t, 20))
    for half in (0, 16):
        bits = [bit for bit in range(half, half + 16) if setups[0].dut_handle ^ 1 << bit not in known]
        stray = replace(setups[0], dut_handle=setups[0].dut_handle ^ 1 << t.rng.choice(bits))
        transmit(t, prepare(t, stray, Message("send", 4, t.rng.randbytes(20))).frames)
        t.wait(t.r_a_tov_us // 10)
        taken = [c for c in t.completions if c.queue == "recv" and c.good]
        words = f"a Message for the FCVI_HANDLE {stray.dut_handle:08X}h, which is nobody's, was delivered"
        t.require(not taken, "FCVI-4.2-41", words, f"{len(taken)} completions", "none")
