"""Clauses 4.2, 6.3, 6.5 and 8 with VI-ARCH 6.3.1.1: timers that are over, Descriptors that were first, Reads behind Writes."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import case
from fcvi.engine.scenario import Inconclusive
from fcvi.fc.message import Cut

from conformance.fcvi.steps.connection import create_vi
from conformance.rev1.steps.connection import (
    CLIENT, REGISTRY, SERVER, STATE, Scenario, Setup, connect, connect_server, disconnect, finish_accept, finish_request,
    finish_wait, send_resp1, send_rqst, start_accept, start_request, start_wait, variants, with_rdma,
)  # fmt: skip
from conformance.rev1.steps.messages import (
    answered, build, check_state, exchange_a_send, expect_good, expect_response, memory, pattern, post, register, state_of,
    take_read, transmit,
)  # fmt: skip

_OVER: list[tuple[str, dict[str, Any]]] = [("setup", {"what": "setup"}), ("disconnect", {"what": "disconnect"})]


@case(
    REGISTRY,
    "R1.8.b",
    "Timers that are over",
    clause="5.3, 8",
    requirements=["REV1-8-03", "FCVI-8.2-d1"],
    tags=["timing", "setup", "message"],
    applies="(client or server) and send",
    variants=variants(levels=("unreliable", "reliable-reception"), choices=_OVER),
)  # fmt: skip
def timers_over(t: Scenario) -> None:
    """Each IU that expects a response has got it. Nothing is aborted when FCVI_ULP_TIMEOUT passes after that, or the Timeout of
    VipConnectRequest: the VI stays Connected and Messages pass. Nor is anything aborted behind a Disconnect that was answered.
    """
    setup = _connected_in_time(t)
    exchange_a_send(t, setup)
    t.control("Messages passed")
    if t.params["what"] == "disconnect":
        disconnect(t, setup)
        _quiet(t)
        exchange_a_send(t, connect(t))
        return
    _quiet(t)
    check_state(t, setup.vi, "connected", "FCVI-8.2-d1")
    if state_of(t, setup.vi) == STATE["connected"]:
        exchange_a_send(t, setup)


def _connected_in_time(t: Scenario) -> Setup:
    """A complete setup; a client has a Timeout that ends while the Connection stands."""
    if t.params["role"] == SERVER:
        return connect_server(t)
    setup = start_request(t, t.ulp_timeout_us)
    send_resp1(t, setup)
    finish_request(t, setup)
    return setup


def _quiet(t: Scenario) -> None:
    """More than FCVI_ULP_TIMEOUT, as far as it is known, without an Exchange that is given up."""
    t.expect_nothing(["ABTS"], 2 * (t.ulp_us or t.ulp_timeout_us) + t.pixit.late_us, "REV1-8-03", "though every response has come")


@case(
    REGISTRY,
    "R1.4.2.a",
    "Receive Descriptors that are posted before the Connection",
    clause="4.2, 6.1",
    requirements=["FCVI-6.2.1-01"],
    tags=["setup", "message"],
    applies="(client or server) and send",
    variants=variants(levels=("unreliable", "reliable-reception")),
)  # fmt: skip
def posted_before(t: Scenario) -> None:
    """A Descriptor that is posted to an Idle VI takes the first Message of its Connection (VI-ARCH 2.2)."""
    vi, data = create_vi(t), pattern(40, 3)
    region = register(t, len(data))
    post(t, vi, "recv", region)
    if t.params["role"] == CLIENT:
        setup = start_request(t, vi=vi)
        send_resp1(t, setup)
        finish_request(t, setup)
    else:
        wait = start_wait(t)
        setup = send_rqst(t)
        start_accept(t, setup, finish_wait(t, wait), vi)
        finish_accept(t, setup)
    t.control("a Connection Setup completed")
    sent = build(t, setup, data)
    transmit(t, sent)
    if answered(t):
        expect_response(t, setup, sent)
    expect_good(t, vi, "recv", "FCVI-6.2.1-01", len(data))
    seen = memory(t, region, len(data))
    t.require(seen == data, "FCVI-6.2.1-01", "the Descriptor that was posted first has other bytes", seen[:16].hex(),
              data[:16].hex())  # fmt: skip


@case(
    REGISTRY,
    "R1.6.5.b",
    "An RDMA Read behind an RDMA Write",
    clause="6.3, 6.5",
    requirements=["FCVI-8.4.1-01"],
    errata=["R04"],
    tags=["message", "rdma"],
    applies="(client or server) and rdma_write and rdma_read",
    variants=variants(roles=("any",), levels=("reliable-delivery", "reliable-reception"), choices=[
        ("one-frame", {"frame": 2000}), ("many-frames", {"frame": 100})]),
)  # fmt: skip
def read_behind_a_write(t: Scenario) -> None:
    """A Read that comes right behind a Write of the same memory brings what was written: Reads do not pass Writes (VI-ARCH
    6.3.1.1).
    """
    with_rdma(t)
    setup, length = connect(t), 900
    region = register(t, length, write=True, read=True)
    for seed in range(3):
        data = pattern(length, seed)
        write = build(t, setup, data, "rdma-write", va=region.va, region=region.handle, cut=Cut(frame=int(t.params["frame"])))
        read = build(t, setup, b"", "rdma-read", va=region.va, region=region.handle, VI_RMT_TOT_LEN=length)
        transmit(t, write, read)
        if answered(t):
            expect_response(t, setup, write)
        seen = b"".join(iu.payload for iu in take_read(t, read, length, "FCVI-6.7.1-02"))
        if not seen:
            raise Inconclusive("the DUT reads nothing: it takes no length from FCVI_READ_RQST (R04)")
        t.require(seen == data, "FCVI-8.4.1-01", "an RDMA Read behind an RDMA Write has other bytes", seen[:16].hex(),
                  data[:16].hex())  # fmt: skip
    t.control("RDMA Reads were answered")
