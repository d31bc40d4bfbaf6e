"""Clauses 8.6.2 a) and 8.6.3: a Sequence error on the Exchange of a Disconnect."""

from __future__ import annotations

from typing import Any

from fcvi.fc import build
from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    check_disconnect_rqst,
    check_state,
    connect,
    control_setup,
    disconnect_and_answer,
    expect_disconnect_resp,
)

PART_OF_REPORT = 4

_LATER: dict[str, Any] = {"SEQ_CNT": 5}  # frames before it are missing
_ROLES = [Variant(CLIENT, {"role": CLIENT}, "client"), Variant(SERVER, {"role": SERVER}, "server")]
_CAUSES = (0x40, *range(0x41, 0x4C))


@case(
    REGISTRY,
    "8.6.2.a",
    "A damaged FCVI_DISCONNECT_RESP",
    clause="8.6.2 a), 8.6.3 a)",
    requirements=["FCVI-8.6.2-a", "FCVI-8.6.3-a1", "FCVI-8.6.3-a2", "FCVI-8.6.3-a3"],
    errata=["E59", "E88", "E124"],
    tags=["disconnect", "loss", "timing"],
    applies="client or server",
    variants=_ROLES
    + [
        Variant(f"{role}/sofn3", {"role": role, "continues": True}, pics)
        for role, pics in ((CLIENT, "client"), (SERVER, "server"))
    ],
)
def damaged_response(t: Scenario) -> None:
    """An answer with a Sequence error is none: ABTS, at the latest after FCVI_ULP_TIMEOUT, then VIP_NOT_REACHABLE and Error.
    A second VipDisconnect, answered as it should be, gives Idle.

    With SOFn3 the only frame that came says that one before it is missing. Where only its SEQ_CNT is too high it stands
    for a whole Sequence, and what a Sequence error is nobody says (E124): to take it is tolerated.
    """
    setup = connect(t)
    call = t.start("VipDisconnect", vi=setup.vi)
    rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", why="after VipDisconnect")
    check_disconnect_rqst(t, rqst, setup, abort=0, reasons=_CAUSES, handle=setup.tester_handle)
    t.tester.assign_rx_id(rqst.exchange)
    dh = {"FCVI_HANDLE": setup.dut_handle, "FCVI_FLAGS": rqst.dh("FCVI_FLAGS") & 6}
    continues = bool(t.params.get("continues"))
    (frame,) = build.iu_frames("DISCONNECT_RESP", t.tester.envelope(rqst.exchange, _LATER), dh)
    if continues:
        frame.sof = build.SOF[int(t.config["class"])][1]
    rqst.exchange.tester_cnt += 1
    t.tester.send_frame(frame)
    t.settle()
    t.owed(lambda: call.done or t.peek(["ABTS"], rqst.exchange) is not None)
    if not t.require(
        not call.done or call.result().get("return") != "VIP_SUCCESS", "FCVI-8.6.2-a",
        "a FCVI_DISCONNECT_RESP with a Sequence error was taken", "VIP_SUCCESS", "an error",
        erratum=None if continues else "E124",
    ) and not continues:  # fmt: skip
        check_state(t, setup.vi, "idle", "FCVI-8.2-d2")
        control_setup(t)
        return
    abts = t.expect("ABTS", "FCVI-8.6.3-a1", exchange=rqst.exchange, why="after the Sequence error")
    t.tester.send_ba_acc(abts)
    t.settle()
    t.tolerate("DISCONNECT_RQST", "ABTS")  # one or more retries are permitted (E59)
    t.finish(call, "FCVI-8.6.3-a3", within_us=6 * t.r_a_tov_us, returns="VIP_NOT_REACHABLE")
    check_state(t, setup.vi, "error", "FCVI-8.6.3-a2")
    t.discard("DISCONNECT_RQST")
    disconnect_and_answer(t, setup, reasons=_CAUSES)
    t.control("a Disconnect that was answered well succeeded")


@case(
    REGISTRY,
    "8.6.3.b",
    "A damaged FCVI_DISCONNECT_RQST",
    clause="8.6.2 a), 8.6.3 b)",
    requirements=["FCVI-8.6.2-a", "FCVI-8.6.3-b"],
    errata=["E60"],
    tags=["disconnect", "loss"],
    applies="client or server",
    variants=_ROLES,
)
def damaged_request(t: Scenario) -> None:
    """A request whose SEQ_CNT is not 0 is ignored: no answer, and the VI stays Connected; to answer it is tolerated (E60).

    A request as it should be is answered afterwards.
    """
    setup = connect(t)
    dh = {"FCVI_HANDLE": setup.dut_handle, "VI_APP_DISCON": 1}
    exchange = t.tester.open_exchange()
    t.send("DISCONNECT_RQST", exchange, dh, fc=_LATER)
    t.owed(lambda: t.peek(["DISCONNECT_RESP"], exchange) is not None)
    answer = t.peek(["DISCONNECT_RESP"], exchange)
    for requirement in ("FCVI-8.6.2-a", "FCVI-8.6.3-b"):
        t.require(answer is None, requirement, "a FCVI_DISCONNECT_RQST with a Sequence error was answered", "FCVI_DISCONNECT_RESP",
                  "nothing", at=answer, erratum="E60")  # fmt: skip
    if answer is not None:
        answer.taken = True
    else:
        check_state(t, setup.vi, "connected", "FCVI-8.6.3-b")
    exchange = t.tester.open_exchange()
    t.send("DISCONNECT_RQST", exchange, dh)
    expect_disconnect_resp(t, exchange, connection_id=0, abort=0)
    t.control("a FCVI_DISCONNECT_RQST without error was answered")
