"""Annex D.1: the rules of the Disconnect operation."""

from __future__ import annotations

from fcvi.fc.build import UNASSIGNED
from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    DOES_NOT_EXIST,
    PROTOCOL_ERROR,
    REGISTRY,
    SERVER,
    SETUP_TIMEOUT,
    TRANSPORT_ERROR,
    check_reason,
    check_state,
    connect,
    control_setup,
    disconnect_and_answer,
    disconnect_unanswered,
    expect_disconnect_resp,
    send_disconnect_rqst,
)
from conformance.fcvi.steps.failures import lose_request_and_retry

PART_OF_REPORT = 5

_ROLES = [(CLIENT, "client"), (SERVER, "server")]


@case(
    REGISTRY,
    "D.R1",
    "Disconnect of an established connection",
    clause="D.1 rule 1",
    requirements=[
        "FCVI-D-R1-a1", "FCVI-D-R1-a3", "FCVI-D-R1-a5", "FCVI-D-R1-b1", "FCVI-D-R1-c1", "FCVI-D-R1-c2", "FCVI-5.3.5-01",
        "FCVI-6.12.1-01", "FCVI-6.12.2-02", "FCVI-6.12.2-05", "FCVI-6.12.2-07", "FCVI-6.12.2-08", "FCVI-6.12.2-15",
        "FCVI-8.1-03", "FCVI-8.2-d2", "FCVI-8.3-04", "FCVI-8.6.2-b", "FCVI-8.6.3-a1", "FCVI-8.6.3-a2", "FCVI-8.6.3-a3",
        "FCVI-T01-DISCONNECT_RQST-pos", "FCVI-T10-1", "FCVI-D.2-04",
    ],  # fmt: skip
    errata=["E03", "E28", "E41", "E59"],
    tags=["disconnect", "timing"],
    applies="client or server",
    variants=[
        Variant(f"{role}/{name}", {"role": role, "resp": resp}, pics)
        for role, pics in _ROLES
        for name, resp in (("answered", 0), ("disconnect-accept", 0x4B), ("unanswered", None))
    ],
)
def disconnect_established(t: Scenario) -> None:
    """VipDisconnect sends FCVI_DISCONNECT_RQST with VI_APP_DISCON one and CONN_SETUP_ABORT zero and waits.

    An answer, with or without the status Disconnect Accept, gives VIP_SUCCESS and Idle; none gives ABTS after
    FCVI_ULP_TIMEOUT, VIP_NOT_REACHABLE and Error.
    """
    setup = connect(t)
    if t.params["resp"] is None:
        disconnect_unanswered(t, setup)
    else:
        disconnect_and_answer(t, setup, resp_reason=t.params["resp"] or None)


@case(
    REGISTRY,
    "D.R2",
    "Disconnect after a setup timeout",
    clause="D.1 rule 2",
    requirements=[
        "FCVI-D-R2-a1", "FCVI-D-R2-a2", "FCVI-D-R2-a3", "FCVI-D-R2-b1", "FCVI-D-R2-c", "FCVI-5.9.2-05",
        "FCVI-5.9.10-05", "FCVI-6.12.2-03", "FCVI-6.12.2-06", "FCVI-6.12.2-08", "FCVI-6.12.2-14", "FCVI-8.1-03",
        "FCVI-8.2-e1", "FCVI-8.6.2-b", "FCVI-8.6.3-a1", "FCVI-8.6.3-a2", "FCVI-8.6.3-a3",
    ],  # fmt: skip
    errata=["E04", "E59", "E69", "E116"],
    tags=["disconnect", "loss", "timing"],
    applies="client",
    variants=[
        Variant("answered", {"role": CLIENT, "answered": True}),
        Variant("unanswered", {"role": CLIENT, "answered": False}),
    ],
)
def disconnect_failed_setup(t: Scenario) -> None:
    """RESP1 never came, neither to the request nor to its retry: VipDisconnect aborts the setup.

    CONN_SETUP_ABORT and VI_APP_DISCON are one, FCVI_HANDLE is FFFFFFFFh, FCVI_CONNECTION_ID that of the retry.
    """
    _, retry = lose_request_and_retry(t)
    assert retry.call is not None
    t.finish(retry.call, "FCVI-8.5.4-02", returns="VIP_NOT_REACHABLE")
    check_state(t, retry.vi, "error", "FCVI-8.5.3-a1")
    if t.params["answered"]:
        disconnect_and_answer(
            t, retry, abort=1, reasons=(SETUP_TIMEOUT, TRANSPORT_ERROR), handle=UNASSIGNED,
            resp_reason=DOES_NOT_EXIST,
        )  # fmt: skip
    else:
        disconnect_unanswered(t, retry)
    control_setup(t)


@case(
    REGISTRY,
    "D.R3",
    "Disconnect of what the responder does not know",
    clause="D.1 rule 3",
    requirements=[
        "FCVI-D-R3-a1", "FCVI-D-R3-a3", "FCVI-5.3.5-02", "FCVI-5.9.4.6-04", "FCVI-5.9.4.6-06", "FCVI-5.9.7.3.2-11",
        "FCVI-5.9.10-06", "FCVI-6.13.1-01", "FCVI-6.13.2-05", "FCVI-6.13.2-11", "FCVI-T12-4Ah",
    ],  # fmt: skip
    errata=["E03", "E05", "E06", "E170"],
    tags=["disconnect"],
    applies="client or server",
    variants=[
        Variant(f"{role}/{name}", {"role": role, "abort": abort, "app": app, "connected": connected}, pics)
        for role, pics in _ROLES
        for name, abort, app, connected in (
            ("setup-abort", 1, 1, False),
            ("established", 0, 1, False),
            ("by-provider", 0, 0, False),
            ("setup-abort-beside-a-connection", 1, 0, True),
            ("established-beside-a-connection", 0, 1, True),
        )
    ],
)
def disconnect_unknown(t: Scenario) -> None:
    """Neither FCVI_HANDLE nor FCVI_CONNECTION_ID is known: the answer says so and repeats flags and id.

    A connection that exists beside it is not touched, though its FCVI_HANDLE differs in one bit alone.
    """
    setup = connect(t) if t.params["connected"] else None
    abort = int(t.params["abort"])
    connection_id = t.rng.randrange(1, UNASSIGNED) if abort else 0
    if abort:
        _of_nobody(t, UNASSIGNED, connection_id)
    elif setup is None:
        _of_nobody(t, 0x7E57AB1E, connection_id)
    else:
        for half in (0, 16):
            bits = [bit for bit in range(half, half + 16) if setup.dut_handle ^ 1 << bit != UNASSIGNED]
            _of_nobody(t, setup.dut_handle ^ 1 << t.rng.choice(bits), connection_id)
    if setup is not None:
        check_state(t, setup.vi, "connected", "FCVI-8.2-d1")
    else:
        control_setup(t)


def _of_nobody(t: Scenario, handle: int, connection_id: int) -> None:
    """The answer to a Disconnect of what is not there."""
    abort, app = int(t.params["abort"]), int(t.params["app"])
    exchange = send_disconnect_rqst(t, handle=handle, connection_id=connection_id, abort=abort, app=app)
    resp = expect_disconnect_resp(t, exchange, connection_id=connection_id, abort=abort, app=app)
    if abort:
        t.equal(resp, "FCVI_HANDLE", UNASSIGNED, "FCVI-6.13.2-03")
    else:  # E06: the body has no rule, annex D fills the gap
        t.equal(resp, "FCVI_HANDLE", UNASSIGNED, "FCVI-D-R3-a1")
    check_reason(t, resp, DOES_NOT_EXIST, "FCVI-5.9.7.3.2-11")


@case(
    REGISTRY,
    "D.R6",
    "Setup abort with a known handle and an unknown FCVI_CONNECTION_ID",
    clause="D.1 rule 6",
    requirements=[
        "FCVI-D-R6-a1", "FCVI-D-R6-a2", "FCVI-D-R6-a3", "FCVI-5.3.5-02", "FCVI-5.9.4.6-04", "FCVI-5.9.4.6-06",
        "FCVI-5.9.7.3.2-09", "FCVI-6.13.1-01", "FCVI-6.13.2-02", "FCVI-6.13.2-05", "FCVI-6.13.2-11", "FCVI-T12-48h",
    ],  # fmt: skip
    errata=["E05", "E170"],
    tags=["disconnect"],
    applies="client or server",
    variants=[
        Variant(f"{role}/{name}", {"role": role, "app": app}, pics)
        for role, pics in _ROLES
        for name, app in (("by-application", 1), ("by-provider", 0))
    ],
)
def disconnect_mixed(t: Scenario) -> None:
    """The responder reports a Protocol Error to the originator's handle and repeats flags and id."""
    setup = connect(t)
    connection_id = (setup.connection_id ^ 0x5A5A5A5A) or 1
    app = int(t.params["app"])
    exchange = send_disconnect_rqst(t, handle=setup.dut_handle, connection_id=connection_id, abort=1, app=app)
    resp = expect_disconnect_resp(
        t, exchange, connection_id=connection_id, abort=1, app=app, handle=setup.tester_handle
    )
    check_reason(t, resp, PROTOCOL_ERROR, "FCVI-5.9.7.3.2-09", (DOES_NOT_EXIST,))
