"""Clause 8.5.2 a): a Sequence error on the Exchange of a Connection Setup."""

from __future__ import annotations

from typing import Optional

from fcvi.fc import build
from fcvi.fc.build import UNASSIGNED
from fcvi.engine.case import Variant, case
from fcvi.fc.received import Exchange
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    Setup,
    accept_request,
    check_state,
    connect_payload,
    expect_retry,
    finish_accept,
    finish_wait,
    new_handle,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
    tester_abts,
)

PART_OF_REPORT = 4

_GAPS = (("first", 0), ("last", 1))
_FRAMES = 2  # of a connect payload in frames of 256 bytes


def send_with_gap(
    t: Scenario, name: str, exchange: Exchange, dh: dict[str, int], payload: bytes, lost: Optional[int]
) -> None:
    """An IU of several frames of which one is missing."""
    frames = build.iu_frames(name, t.tester.envelope(exchange), dh, payload)
    assert len(frames) == _FRAMES
    exchange.tester_cnt += len(frames)
    exchange.tester_offset += len(payload)
    for index, frame in enumerate(frames):
        if index != lost:
            t.tester.send_frame(frame)
    t.settle()


@case(
    REGISTRY,
    "8.5.2.a",
    "Sequence error in a Connection Setup",
    clause="8.5.2 a)",
    requirements=["FCVI-8.5.2-a", "FCVI-8.5.3-a2a", "FCVI-8.5.3-a2b", "FCVI-8.5.4-a1", "FCVI-8.5.4-b1"],
    errata=["E44"],
    tags=["setup", "loss", "retry", "timing"],
    applies="client or server",
    variants=[
        Variant(f"{role}/{name}", {"role": role, "lost": lost}, pics, {"receive_size": 256})
        for role, pics in ((CLIENT, "client"), (SERVER, "server"))
        for name, lost in _GAPS
    ]
    + [
        Variant(f"{CLIENT}/first/class2", {"role": CLIENT, "lost": 0}, "client and class2", {"receive_size": 256, "class": 2}),
        Variant(f"{SERVER}/first/class2", {"role": SERVER, "lost": 0}, "server and class2", {"receive_size": 256, "class": 2}),
    ],  # fmt: skip
)
def sequence_error(t: Scenario) -> None:
    """An IU of the setup has a gap. It is not taken as if it were whole, and the setup succeeds in a retry.

    As originator the DUT sends no FCVI_CONNECT_RESP2; it aborts the Exchange, at once or at T3, and retries. As
    responder it hands nothing to VipConnectWait, and the tester's retry connects.
    """
    lost = int(t.params["lost"])
    if t.params["role"] == CLIENT:
        first = start_request(t)
        assert first.rqst is not None
        dh = {"FCVI_HANDLE": UNASSIGNED, "FCVI_CONNECTION_ID": first.connection_id}
        send_with_gap(t, "CONNECT_RESP1", first.exchange, dh, connect_payload(t, "CONNECT_RESP1", first.tester_handle), lost)
        abts = t.expect(
            "ABTS", "FCVI-8.5.2-a", exchange=first.exchange,
            why="after a Sequence error, at the latest at T3",
        )  # fmt: skip
        t.require(
            t.peek(["CONNECT_RESP2"], first.exchange) is None, "FCVI-8.5.2-a", "RESP2 although RESP1 was not whole",
            "CONNECT_RESP2", "none",
        )  # fmt: skip
        t.tester.send_ba_acc(abts)
        retry = expect_retry(t, first)
        accept_request(t, retry)
        send_resp3(t, retry)
        t.settle()
        check_state(t, retry.vi, "connected", "FCVI-8.2-c1")
    else:
        wait = start_wait(t)
        handle = new_handle(t)
        broken = Setup(SERVER, -1, t.tester.open_exchange(), t.rng.randrange(1, UNASSIGNED), tester_handle=handle)
        dh = {"FCVI_HANDLE": UNASSIGNED, "FCVI_FLAGS": 1, "FCVI_CONNECTION_ID": broken.connection_id}
        send_with_gap(t, "CONNECT_RQST", broken.exchange, dh, connect_payload(t, "CONNECT_RQST", handle), lost)
        t.wait(t.r_a_tov_us // 2)
        t.require(not wait.done, "FCVI-8.5.2-a", "VipConnectWait returned for a request with a gap", "returned", "blocked")
        t.tolerate("ABTS")
        tester_abts(t, broken.exchange)
        retry = send_rqst(t, retry_of=broken)
        start_accept(t, retry, finish_wait(t, wait))
        finish_accept(t, retry)
        check_state(t, retry.vi, "connected", "FCVI-8.5.4-b1")
    t.control("the retry connected")
