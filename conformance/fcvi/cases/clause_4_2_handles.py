"""Clause 4.2: what tells the connections of a port, and the directions of one, apart."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import Variant, case
from fcvi.fc.message import Cut, Message, frames_of, send_frames
from fcvi.fc.scenario import Scenario

from .clause_7_7_1 import connect_as, wait_from
from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    Setup,
    check_state,
    finish_accept,
    finish_request,
    send_resp1,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
)
from conformance.fcvi.steps.neighbours import (
    FABRIC,
    NEEDS,
    PRIVATE_LOOP,
    TOPOLOGIES,
    add_second_port,
    login,
    takes_sequences_at_once,
)
from conformance.fcvi.steps.traffic import delivered, expect_send, post_recv, post_send, send_message

PART_OF_REPORT = 3

# ---- handles ----

_MANY = 6


def _distinct(t: Scenario, values: list[int], requirement: str, what: str) -> None:
    t.require(len(set(values)) == len(values), requirement, f"{what} of two open connections are equal",
              ", ".join(f"{v:08X}h" for v in values), "all different")  # fmt: skip


@case(
    REGISTRY,
    "4.2.9",
    "Handles of the connections of a port",
    clause="4.2",
    requirements=["FCVI-4.2-09", "FCVI-5.3.2-10", "FCVI-6.8.3-02", "FCVI-6.9.3-02", "FCVI-4.2-31", "FCVI-4.2-41", "FCVI-6.8.2-08"],
    errata=["E12", "E47"],
    tags=["setup", "handles"],
    applies=f"(client or server) and send and unreliable_delivery and max_vis >= {_MANY}",
    variants=[
        Variant(CLIENT, {"role": CLIENT}, "client"),
        Variant(SERVER, {"role": SERVER}, "server"),
        *(
            Variant(f"{SERVER}/two-ports/{topology}", {"role": SERVER, "ports": 2, "handle": 0x51}, f"server and {NEEDS[topology]}",
                    TOPOLOGIES[topology])
            for topology in (PRIVATE_LOOP, FABRIC)
        ),
    ],  # fmt: skip
)
def handles_differ(t: Scenario) -> None:
    """Connections that are open at once have different handles of the DUT; each Message goes to the VI of its handle.

    As client all setups are pending at once, with FCVI_CONNECTION_IDs that differ. As server with two remote ports,
    these use the same FCVI_RQST_HANDLE and the same FCVI_CONNECTION_IDs: they are kept apart by S_ID (E47). So are their Exchanges.
    """
    if t.params["role"] == CLIENT:
        setups = [start_request(t) for _ in range(_MANY)]
        _distinct(t, [s.connection_id for s in setups], "FCVI-5.3.2-10", "FCVI_CONNECTION_IDs")
        handles = [send_resp1(t, setup) for setup in setups]
        for setup, handle in zip(setups, handles):
            finish_request(t, setup, handle)
            send_resp3(t, setup)
        t.settle()
    else:
        setups = _as_server(t)
    _distinct(t, [s.dut_handle for s in setups], "FCVI-4.2-09", "FCVI_HANDLEs")
    _distinct(t, [s.vi for s in setups], "FCVI-4.2-31", "VIs")
    buffers = [post_recv(t, setup.vi) for setup in setups]
    for setup, buffer in reversed(list(zip(setups, buffers))):
        check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
        data = t.rng.randbytes(32)
        send_message(t, setup, 1, data)
        others = [c for c in t.completions if c.vi != setup.vi]
        t.require(not others, "FCVI-4.2-31", "a Message was delivered to another VI", others, f"to VI {setup.vi}")
        delivered(t, buffer, data, "FCVI-4.2-31")
    if t.params.get("ports") == 2 and takes_sequences_at_once(t):
        _one_ox_id(t, setups[0], setups[1])
    t.control(f"{_MANY} connections carry Messages")


def _one_ox_id(t: Scenario, *setups: Setup) -> None:
    """Message 2 from both remote ports in turn, frame by frame, with the same OX_ID and SEQ_ID: S_ID tells them apart (5.8.1)."""
    streams, buffers, datas = [], [post_recv(t, setup.vi) for setup in setups], [t.rng.randbytes(48) for _ in setups]
    ox_id, cut = t.tester.open_exchange().ox_id, Cut(frame=16, seq_id=0x5A)
    for setup, data in zip(setups, datas):
        exchange, message = t.tester.open_exchange(ox_id, setup.exchange.port or None), Message("send", 2, data)
        header = message.device_header(setup.dut_handle)
        streams.append(frames_of(t.tester, exchange, message.iu, header, data, answered=False, cut=cut))
    for frames in zip(*streams):
        send_frames(t.tester, frames)
    t.settle()
    for buffer, data in zip(buffers, datas):
        delivered(t, buffer, data, "FCVI-4.2-31")


def _as_server(t: Scenario) -> list[Setup]:
    ports: list[Any] = [None]
    if t.params.get("ports") == 2:
        ports = [None, add_second_port(t)]
        login(t, ports[1])
    setups: list[Setup] = []
    for number in range(_MANY):
        wait = start_wait(t)
        connection_id = 0x100 + number // 2 if len(ports) == 2 else None
        setup = send_rqst(t, port=ports[number % len(ports)], connection_id=connection_id)
        start_accept(t, setup, wait_from(t, wait))
        _distinct(t, [s.dut_handle for s in (*setups, setup)], "FCVI-4.2-09", "FCVI_HANDLEs")
        if len(ports) == 2 and number % 2 == 0:
            setups.append(setup)  # both setups with this FCVI_CONNECTION_ID are open at once
            continue
        for open_setup in ([setups[-1]] if len(ports) == 2 else []) + [setup]:
            finish_accept(t, open_setup)
        setups.append(setup)
    return setups


@case(
    REGISTRY,
    "4.2.13",
    "Each direction counts its own Messages",
    clause="4.2",
    requirements=["FCVI-4.2-13", "FCVI-5.9.6-03", "FCVI-5.9.6-04"],
    errata=["E93", "E100"],
    tags=["message"],
    applies="(client or server) and send and unreliable_delivery",
    variants=[
        Variant(CLIENT, {"role": CLIENT}, "client"),
        Variant(SERVER, {"role": SERVER}, "server"),
    ],
)
def counters_are_independent(t: Scenario) -> None:
    """The tester sends more Messages than the DUT, in turns: the DUT's FCVI_MSG_IDs go by its own count only."""
    setup = connect_as(t)
    received = 0
    for sent in range(1, 4):
        for _ in range(sent):
            received += 1
            buffer, data = post_recv(t, setup.vi), t.rng.randbytes(16)
            send_message(t, setup, received, data)
            delivered(t, buffer, data, "FCVI-4.2-13")
        data = t.rng.randbytes(16)
        post_send(t, setup.vi, data)
        iu = expect_send(t, setup, sent, data, "FCVI-4.2-13")
        t.equal(iu, "FCVI_MSG_ID", sent, "FCVI-4.2-13")
    t.control("Messages passed in both directions")
