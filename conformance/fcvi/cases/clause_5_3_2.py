"""Clause 5.3.2: Client-Server Connection Setup without errors."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    accept_request,
    check_state,
    create_vi,
    finish_accept,
    finish_wait,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
    takes,
)

PART_OF_REPORT = 4

_LONG = bytes(range(1, 129))
_CHOICES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("", {}, {}),
    ("/connect-info", {"info": True}, {}),
    ("/handle-00000000", {"handle": 0}, {}),
    ("/handle-fffffffe", {"handle": 0xFFFFFFFE}, {}),
    ("/discriminator-128", {"discriminator": _LONG}, {}),
    ("/field-size-256", {}, {"receive_size": 256}),
    ("/field-size-512", {}, {"receive_size": 512}),
]


def _both(one: str, other: str) -> str:
    return f"{one} and {other}" if other else one


_VARIANTS = [
    Variant(role + suffix, {"role": role, **params}, _both(pics, takes(params.get("discriminator", b""))), config)
    for role, pics in ((CLIENT, "client"), (SERVER, "server"))
    for suffix, params, config in _CHOICES
]


@case(
    REGISTRY,
    "5.3.2",
    "Client-Server Connection Setup",
    clause="5.3.2",
    requirements=[
        "FCVI-5.3.2-01", "FCVI-5.3.2-02", "FCVI-5.3.2-03", "FCVI-5.3.2-04", "FCVI-5.3.2-06",
        "FCVI-5.3.1-02", "FCVI-5.3.1-03", "FCVI-5.3.1-05", "FCVI-4.2-03", "FCVI-4.2-04", "FCVI-5.3.2-07",
        "FCVI-5.3.2-08", "FCVI-5.3.2-09", "FCVI-5.3.2-11", "FCVI-4.2-27", "FCVI-4.2-33", "FCVI-4.2-35", "FCVI-5.8.4-04",
        "FCVI-5.8.4-05", "FCVI-5.8.6-01", "FCVI-5.9.2-03", "FCVI-5.9.4.4-01", "FCVI-5.9.4.4-03", "FCVI-5.9.4.5-06",
        "FCVI-5.9.4.5-07", "FCVI-5.9.10-04", "FCVI-6.8.1-01", "FCVI-6.8.1-04", "FCVI-6.8.3-01", "FCVI-6.8.3-04",
        "FCVI-6.8.3-05", "FCVI-6.8.3-06", "FCVI-6.9.1-01", "FCVI-6.9.1-04", "FCVI-6.9.2-09", "FCVI-6.9.3-04",
        "FCVI-6.9.3-05", "FCVI-6.9.3-06", "FCVI-6.10.1-01", "FCVI-6.10.2-02", "FCVI-6.10.2-09", "FCVI-6.11.1-01",
        "FCVI-6.11.2-02", "FCVI-6.11.2-09", "FCVI-7.2-09", "FCVI-8.2-a1", "FCVI-8.2-b1", "FCVI-T08-001",
        "FCVI-5.3.1-04", "FCVI-T01-CONNECT_RQST-pos", "FCVI-T01-CONNECT_RESP1-pos", "FCVI-T01-CONNECT_RESP2-pos",
        "FCVI-T01-CONNECT_RESP3-pos", "FCVI-4.2-43",
    ],  # fmt: skip
    errata=["E07", "E12", "E18", "E19", "E44"],
    tags=["setup"],
    applies="client or server",
    variants=_VARIANTS,
)
def client_server_setup(t: Scenario) -> None:
    """The four IUs pass on one Exchange, every field follows from the ones before it, both sides are Connected.

    Variants: provider information in the payload of the tester's IU (so that FCVI_FLAGS of an accept are not
    zero), the ends of the handle range, a Discriminator of full length, and receive sizes that cut the payload.
    """
    vi = create_vi(t)
    check_state(t, vi, "idle", "FCVI-8.2-a1")
    if t.params["role"] == CLIENT:
        _as_client(t, vi)
    else:
        _as_server(t)
    t.control("the Connection Setup completed and the VI is Connected")


def _as_client(t: Scenario, vi: int) -> None:
    setup = start_request(t, vi=vi)
    check_state(t, vi, "pending", "FCVI-8.2-a2")
    accept_request(t, setup, flags=2 if t.params.get("info") else None)
    send_resp3(t, setup)
    t.settle()
    check_state(t, vi, "connected", "FCVI-8.2-b1")


def _as_server(t: Scenario) -> None:
    wait = start_wait(t)
    t.require(not wait.done, "FCVI-4.2-33", "VipConnectWait returned before any request", "returned", "blocked")
    setup = send_rqst(t, info=bytes(range(256)) if t.params.get("info") else b"")
    conn = finish_wait(t, wait)
    start_accept(t, setup, conn)
    finish_accept(t, setup)
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")


@case(
    REGISTRY,
    "5.9.5",
    "Reserved fields are ignored by the receiver",
    clause="5.9.5",
    requirements=["FCVI-5.9.5-02", "FCVI-6.9.1-01", "FCVI-6.10.1-01"],
    errata=["E112"],
    tags=["setup"],
    applies="client or server",
    variants=[Variant(CLIENT, {"role": CLIENT}, "client"), Variant(SERVER, {"role": SERVER}, "server")],
)
def reserved_ones(t: Scenario) -> None:
    """A Connection Setup succeeds although every Reserved bit of the tester's first IU is one."""
    ones: dict[str, Any] = {"CONN_RSVD0": 0xFFFFFFFF, "CONN_RSVD1": 0xFFFF, "ATTRS_WORD_84": 0xFFFFFFFF}
    if t.params["role"] == CLIENT:
        setup = start_request(t)
        accept_request(t, setup, flags=0xF8, reserved=0xFFFF)
        send_resp3(t, setup)
        t.settle()
    else:
        wait = start_wait(t)
        setup = send_rqst(t, flags=0xE1, reserved=0xFFFF, **ones)
        conn = finish_wait(t, wait)
        start_accept(t, setup, conn)
        finish_accept(t, setup)
    check_state(t, setup.vi, "connected", "FCVI-5.9.5-02")
    t.control("the Connection Setup completed")
