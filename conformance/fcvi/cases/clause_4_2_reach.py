"""Clause 4.2: Reliability Levels, operations and topologies that a device offers."""

from __future__ import annotations

from fcvi.fc import build
from fcvi.engine.case import Variant, case
from fcvi.fc.message import Message
from fcvi.fc.scenario import Scenario

from .clause_7_7_1 import ROLES, connect_as
from conformance.fcvi.steps.acknowledgements import check_acknowledged
from conformance.fcvi.steps.connection import REGISTRY, SERVER, Setup, check_state
from conformance.fcvi.steps.messages import deliver, expect_good, memory, post, prepare, register, transmit
from conformance.fcvi.steps.neighbours import FABRIC, NEEDS, POINT_TO_POINT, PRIVATE_LOOP, PUBLIC_LOOP, TOPOLOGIES, login
from conformance.fcvi.steps.traffic import both_ways

PART_OF_REPORT = 3

_LEVELS = (
    ("unreliable-delivery", "unreliable_delivery", 1), ("reliable-delivery", "reliable_delivery", 2),
    ("reliable-reception", "reliable_reception", 3),
)  # fmt: skip


@case(
    REGISTRY,
    "4.2.14",
    "Each Reliability Level that is offered",
    clause="4.2",
    requirements=["FCVI-4.2-14", "FCVI-4.2-01", "FCVI-4.2-17"],
    errata=["E111"],
    tags=["message", "setup"],
    applies="(client or server) and send",
    variants=[
        Variant(
            f"{name}/{role}/class{cls}", {"role": role, "attributes": {"FCVI_RELIABILITY_LVL": level}},
            f"{item} and {pics} and class{cls}", {"class": cls},
        )  # fmt: skip
        for name, item, level in _LEVELS
        for role, pics, _ in ROLES
        for cls in (3, 2)
    ],
)
def each_level(t: Scenario) -> None:
    """A connection at the level is made, and a Message passes each way with the responses that the level has."""
    setup = connect_as(t)
    both_ways(t, setup, "FCVI-4.2-14")
    check_state(t, setup.vi, "connected", "FCVI-8.2-d1")
    if t.tester.service_class == 2:
        check_acknowledged(t, "FCVI-4.2-17")
        own = [e for _, e, frame in t.crossed("dut") if frame.header("TYPE") == build.FC_VI and e.sof]
        other = [e.sof for e in own if e.sof not in build.SOF[2]]
        t.require(not other, "FCVI-4.2-17", "FC-VI frames went out in another class", f"{len(other)} of {len(own)}", "class 2")
    t.expect_nothing(["SEND_RESP"], t.r_a_tov_us // 10, "FCVI-6.3.1-03", "more than the level has")
    t.control("a Message passed each way")


@case(
    REGISTRY,
    "4.2.16",
    "Each operation that is offered",
    clause="4.2",
    requirements=["FCVI-4.2-16", "FCVI-5.8.7-03"],
    errata=["E111"],
    tags=["message"],
    applies="(client or server) and reliable_delivery",
    variants=[
        Variant(
            f"{op}/{role}", {
                "role": role, "op": op,
                "attributes": {"FCVI_RELIABILITY_LVL": 2, "EnRdmaWr": int(op == "rdma-write"), "EnRdmaRd": int(op == "rdma-read")},
            },
            f"{pics} and {op.replace('-', '_')}", {"receive_size": 512},
        )
        for op in ("send", "rdma-write", "rdma-read")
        for role, pics, _ in ROLES
    ],  # fmt: skip
)
def each_operation(t: Scenario) -> None:
    """The tester sends, writes or reads over several frames: each byte is at the address plus its Relative Offset."""
    setup: Setup = connect_as(t)
    op, size = str(t.params["op"]), 3 * 480 + 17
    data = t.rng.randbytes(size)
    if op == "send":
        region = register(t, size)
        post(t, setup.vi, "recv", region)
        deliver(t, setup, Message("send", 1, data))
        expect_good(t, setup.vi, "recv", "FCVI-4.2-16", size)
    elif op == "rdma-write":
        region = register(t, size + 64, write=True)
        deliver(t, setup, Message("rdma-write", 1, data, va=region.va + 32, region=region.handle))
        t.owed(lambda: memory(t, region, size, 32) == data)
        seen = memory(t, region)
        outside = seen[:32] + seen[32 + size :]
        t.require(set(outside) == {0xA5}, "FCVI-5.8.7-03", "bytes outside the range were written", outside[:40].hex(),
                  "a5 everywhere")  # fmt: skip
    else:
        region = register(t, size + 64, read=True, data=bytes(32) + data + bytes(32))
        sent = prepare(t, setup, Message("rdma-read", 1, va=region.va + 32, region=region.handle, total=size))
        transmit(t, sent.frames)
        got = b""
        while len(got) < size:
            response = t.expect("READ_RESP", "FCVI-4.2-16", exchange=sent.exchange, why="to FCVI_READ_RQST")
            if not response.payload:
                break
            got += response.payload
        t.require(got == data, "FCVI-5.8.7-03", "other bytes were read", got[:32].hex(), data[:32].hex())
    if op != "rdma-read":
        start = 32 if op == "rdma-write" else 0
        placed = memory(t, region, size, start)
        t.require(placed == data, "FCVI-5.8.7-03", "other bytes are at the address", placed[:32].hex(), data[:32].hex())
    check_state(t, setup.vi, "connected", "FCVI-8.2-d1")
    t.control("the connection is there, and what was transferred was looked at")


@case(
    REGISTRY,
    "4.2.18",
    "Each topology that is offered",
    clause="4.2",
    requirements=["FCVI-4.2-18"],
    tags=["link", "setup", "message"],
    applies="(client or server) and send and unreliable_delivery",
    variants=[
        Variant(f"{topology}/{role}/{login}", {"role": role},
                " and ".join(e for e in (pics, NEEDS[topology], "explicit_login" if login == "explicit" else "") if e),
                {**TOPOLOGIES[topology], "login": login})
        for topology in (POINT_TO_POINT, PRIVATE_LOOP, PUBLIC_LOOP, FABRIC)
        for role, pics, _ in ROLES
        for login in ("implicit", "explicit")
    ],  # fmt: skip
)
def each_topology(t: Scenario) -> None:
    """A Connection Setup and a Message each way, with implicit login and with PLOGI on the wire."""
    if t.config["login"] == "explicit" and t.params["role"] == SERVER:
        login(t)
    setup = connect_as(t)
    both_ways(t, setup, "FCVI-4.2-18")
    t.control("a Message passed each way")
