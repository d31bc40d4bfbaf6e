"""Clauses 4.2 and 5.7.4: VipConnectWaits and VIs that are there at the same time."""

from __future__ import annotations

from fcvi.engine.case import case

from conformance.fcvi.steps.connection import OTHER_DISCRIMINATOR
from conformance.rev1.steps.connection import (
    REGISTRY, SERVER, Scenario, connect, finish_accept, finish_wait, send_rqst, start_accept, start_wait, variants,
)  # fmt: skip
from conformance.rev1.steps.messages import (
    answered, build, exchange_a_send, expect_good, expect_response, memory, pattern, post, register, transmit,
)  # fmt: skip


@case(
    REGISTRY,
    "R1.4.2.b",
    "Two VipConnectWaits",
    clause="4.2",
    requirements=["FCVI-4.2-34"],
    tags=["setup", "address"],
    applies="server and send",
    variants=variants(roles=(SERVER,)),
)
def two_waits(t: Scenario) -> None:
    """Of two Connection Points a request reaches the one whose Discriminator it has, though the other has waited longer."""
    elder = start_wait(t, discriminator=OTHER_DISCRIMINATOR)
    wait = start_wait(t)
    setup = send_rqst(t)
    t.owed(lambda: wait.done or elder.done)
    t.require(not elder.done, "FCVI-4.2-34", "VipConnectWait returned for another Discriminator", "returned", "blocked")
    start_accept(t, setup, finish_wait(t, wait))
    finish_accept(t, setup)
    exchange_a_send(t, setup)
    t.control("the Connection Point with the Discriminator was reached")


@case(
    REGISTRY,
    "R1.5.7.4.b",
    "Receive Descriptors of two VIs",
    clause="5.7.4",
    requirements=["FCVI-6.2.1-01"],
    tags=["message"],
    applies="(client or server) and send and max_vis >= 2",
    variants=variants(roles=("any",), levels=("unreliable", "reliable-reception")),
)
def two_queues(t: Scenario) -> None:
    """Two Connections have a Descriptor posted each, and a Send comes on the one that is younger, then on the other: each fills the
    Descriptor of its own VI.
    """
    row, length = "FCVI-6.2.1-01", 40
    setups = [connect(t), connect(t)]
    regions = [register(t, length) for _ in setups]
    for setup, region in zip(setups, regions):
        post(t, setup.vi, "recv", region)
    for at in (1, 0):
        data = pattern(length, at)
        sent = build(t, setups[at], data)
        transmit(t, sent)
        if answered(t):
            expect_response(t, setups[at], sent)
        expect_good(t, setups[at].vi, "recv", row, length)
        seen = memory(t, regions[at])
        t.require(seen == data, row, "the Descriptor of a VI has other bytes", seen[:16].hex(), data[:16].hex())
    t.control("a Send arrived on each Connection")
