"""Clause 5.9.7.2: refused Connection Setups, as responder and as originator."""

from __future__ import annotations

from fcvi.fc.build import UNASSIGNED
from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    CONNECT_REJECT,
    NO_MATCH,
    NO_WAITING,
    OTHER_DISCRIMINATOR,
    REGISTRY,
    SERVER,
    Setup,
    check_resp1,
    check_resp2,
    check_resp3,
    check_state,
    control_setup,
    finish_wait,
    send_resp1,
    send_resp2,
    send_resp3,
    send_rqst,
    start_request,
    start_wait,
    take_resp2,
)

PART_OF_REPORT = 4

_SERVER_PARAMS = {"role": SERVER}


@case(
    REGISTRY,
    "5.9.7.2.1",
    "Non-error refusals by a server",
    clause="5.9.7.2.1",
    requirements=[
        "FCVI-5.9.7.2.1-01", "FCVI-5.9.7.2.1-03", "FCVI-5.9.7.2.1-04", "FCVI-4.2-28", "FCVI-4.2-29", "FCVI-4.2-33",
        "FCVI-5.9.4.5-02", "FCVI-6.9.1-01", "FCVI-6.11.1-01", "FCVI-C.5.2-01", "FCVI-C.5.2-02", "FCVI-T12-01h",
        "FCVI-T12-03h", "FCVI-T12-04h", "FCVI-T09-0",
    ],  # fmt: skip
    errata=["E14", "E40", "E78"],
    tags=["setup", "refusal"],
    applies="server",
    variants=[
        Variant("none-waiting", {**_SERVER_PARAMS, "how": "none"}),
        Variant("other-discriminator", {**_SERVER_PARAMS, "how": "other"}),
        Variant("wait-timed-out", {**_SERVER_PARAMS, "how": "timeout"}),
        Variant("rejected", {**_SERVER_PARAMS, "how": "reject"}),
    ],
)
def server_refuses(t: Scenario) -> None:
    """The reason code says why there is no connection: none waiting, no match, or refused by the application.

    After VipConnectWait timed out the code is 03h and never 02h (C.5.2). 01h and 03h stand for each other (E78).
    All four IUs are exchanged after a refusal, too.
    """
    how = str(t.params["how"])
    allowed = {"none": [NO_WAITING, NO_MATCH], "timeout": [NO_WAITING, NO_MATCH], "other": [NO_MATCH, NO_WAITING],
               "reject": [CONNECT_REJECT]}[how]  # fmt: skip
    if how == "other":
        start_wait(t, discriminator=OTHER_DISCRIMINATOR)
    wait = start_wait(t, timeout_us=t.r_a_tov_us // 4) if how == "timeout" else None
    if wait is not None:
        t.finish(wait, "FCVI-C.5.1-04", returns="VIP_TIMEOUT")
    waiting = start_wait(t) if how == "reject" else None
    setup = send_rqst(t)
    if waiting is not None:
        reject = t.call("VipConnectReject", conn=finish_wait(t, waiting))
        t.require(
            reject.returned() == "VIP_SUCCESS", "FCVI-5.9.7.2.1-04", "VipConnectReject failed", reject.returned(),
            "VIP_SUCCESS",
        )  # fmt: skip
    _refused(t, setup, allowed)
    control_setup(t)


def _refused(t: Scenario, setup: Setup, allowed: list[int]) -> None:
    resp1 = t.expect("CONNECT_RESP1", "FCVI-6.9.1-01", exchange=setup.exchange, why="to refuse the request")
    check_resp1(t, resp1, setup, refused=allowed)
    if t.params["how"] == "timeout":
        t.equal(resp1, "Reason_Code", NO_WAITING, "FCVI-C.5.2-02")
    send_resp2(t, setup, handle=resp1.conn_int("FCVI_RESP_HANDLE"))
    resp3 = t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after the refused setup's RESP2")
    check_resp3(t, resp3, setup, refused=True)


_ANSWERS = [
    ("01", 0x01, "VIP_NO_MATCH", "idle"),
    ("03", 0x03, "VIP_NO_MATCH", "idle"),
    ("04", 0x04, "VIP_REJECT", "idle"),
    ("20", 0x20, None, "error"),
    ("21", 0x21, None, "error"),
    ("60", 0x60, None, None),
    ("f0", 0xF0, None, None),
]


@case(
    REGISTRY,
    "8.2.b",
    "A client's state after a refusal",
    clause="8.2",
    requirements=["FCVI-8.2-b3", "FCVI-8.2-b5", "FCVI-4.2-38", "FCVI-6.10.1-01", "FCVI-6.10.2-02", "FCVI-T11-b3"],
    errata=["E11", "E27", "E40", "E48", "E172"],
    tags=["setup", "refusal"],
    applies="client",
    variants=[
        Variant(name, {"role": CLIENT, "reason": reason, "code": code, "state": state})
        for name, reason, code, state in _ANSWERS
    ]
    + [
        Variant(f"{name}/vendor-unique", {"role": CLIENT, "reason": reason, "code": code, "state": state, "vendor": 0xEE})
        for name, reason, code, state in _ANSWERS
        if code is not None or state is not None
    ],
)
def client_is_refused(t: Scenario) -> None:
    """A non-error reason code leads to Idle, an error code to Error; a code without a meaning is no accept (E11).

    RESP2 answers the refusing RESP1 as well, with the handle found there. What a Vendor Unique byte beside the code
    says, the DUT need not know: it goes on as without it.
    """
    setup = start_request(t)
    vendor = t.params.get("vendor", 0)
    handle = send_resp1(t, setup, reason=t.params["reason"], handle=UNASSIGNED, vendor=vendor)
    resp2 = take_resp2(t, setup, "after a refusing RESP1")
    check_resp2(t, resp2, setup, handle)
    send_resp3(t, setup)
    assert setup.call is not None
    state, code = t.params["state"], t.params["code"]
    requirement = "FCVI-8.2-b5" if state == "error" else "FCVI-8.2-b3"
    returned = t.finish(setup.call, requirement)
    t.require(returned != "VIP_SUCCESS", requirement, "a refusal was taken as an accept", returned, "no success")
    if code is not None:
        t.require(returned == code, "FCVI-4.2-38", f"VipConnectRequest returned {returned}", returned, code)
    if state is not None:
        check_state(t, setup.vi, state, requirement)
    t.expect_nothing(["CONNECT_RQST"], 2 * t.r_a_tov_us, "FCVI-8.5.4-01", "after a refusal, which is not retried")
    control_setup(t)
