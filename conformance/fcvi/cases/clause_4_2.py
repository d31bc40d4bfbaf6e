"""Clause 4.2: no Message without a connection, no connection between unequal Endpoints."""

from __future__ import annotations

from fcvi.fc.build import structure
from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    accept_request,
    connection_attributes,
    control_setup,
    create_vi,
    finish_wait,
    send_resp3,
    send_rqst,
    start_request,
    start_wait,
)

PART_OF_REPORT = 2


@case(
    REGISTRY,
    "4.2.25",
    "No Message before the connection",
    clause="4.2",
    requirements=["FCVI-4.2-01", "FCVI-4.2-25", "FCVI-5.9.3-03"],
    errata=["E74"],
    tags=["message", "setup"],
    applies="client and unreliable_delivery and send",
    variants=[Variant("idle", {"role": CLIENT, "pending": False}), Variant("pending", {"role": CLIENT, "pending": True})],
)
def no_message_before_connection(t: Scenario) -> None:
    """A Send posted while the VI is Idle, or while its setup is pending, puts no Message on the wire."""
    mem = t.call("VipRegisterMem", length=8, rdma_write=False, rdma_read=False, fill="77").integer("mem")
    descriptor = {
        "op": "send", "segments": [{"mem": mem, "offset": 0, "length": 8}], "remote": None, "immediate": None,
    }  # fmt: skip
    if t.params["pending"]:
        setup = start_request(t)
        t.call("VipPostSend", vi=setup.vi, descriptor=descriptor)
        t.expect_nothing(["SEND_RQST"], t.r_a_tov_us // 20, "FCVI-5.9.3-03", "before RESP2 was sent")
        accept_request(t, setup)
        send_resp3(t, setup)
        t.tolerate("SEND_RQST")  # whether it is sent now or was completed in error is not FC-VI's to say
        t.settle()
        t.control("the Connection Setup completed")
        return
    vi = create_vi(t)
    t.call("VipPostSend", vi=vi, descriptor=descriptor)
    t.expect_nothing(["SEND_RQST"], t.r_a_tov_us // 4, "FCVI-4.2-25", "without a connection")
    t.used.add(vi)  # the case has done with it: a DUT of one VI has room again
    control_setup(t)


@case(
    REGISTRY,
    "4.2.39",
    "Endpoints with different attributes are not connected",
    clause="4.2",
    requirements=["FCVI-4.2-39"],
    errata=["E77"],
    tags=["setup"],
    applies="server",
    variants=[
        Variant("reliability", {"role": SERVER, "fields": {"FCVI_RELIABILITY_LVL": 2}, "code": "RELIABILITY_LEVEL"}),
    ],
)
def unequal_attributes(t: Scenario) -> None:
    """VipConnectAccept with a VI of another Reliability Level fails, and no accepting RESP1 is sent."""
    fields = {**connection_attributes(t), **t.params["fields"]}
    wait = start_wait(t)
    setup = send_rqst(t, FCVI_LOC_ATTRS=structure("ATTRS", fields))
    conn = finish_wait(t, wait, alike=False)
    vi = create_vi(t)
    accept = t.start("VipConnectAccept", conn=conn, vi=vi)
    t.owed(lambda: accept.done or t.peek(["CONNECT_RESP1"], setup.exchange) is not None, 2)
    resp1 = t.peek(["CONNECT_RESP1"], setup.exchange)
    if resp1 is not None:
        t.equal(resp1, "CONN_STS", 1, "FCVI-4.2-39")
        resp1.taken = True
    wanted = f"VIP_INVALID_{t.params['code']}"
    if accept.done:
        code = accept.returned()
        t.require(code != "VIP_SUCCESS", "FCVI-4.2-39", "unequal Endpoints were connected", code, wanted)
    t.tolerate("CONNECT_RESP1", "CONNECT_RESP3")
    control_setup(t)
