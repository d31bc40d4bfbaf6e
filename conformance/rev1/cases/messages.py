"""Clauses 5.7.2, 5.7.5, 5.7.6, 6.1 and 6.2: Immediate Data, Message ids, responses."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import case

from conformance.rev1.steps.connection import (
    REGISTRY, Scenario, Setup, UD, check_state, connect, level_of, variants, with_rdma,
)  # fmt: skip
from conformance.rev1.steps.messages import (
    answered, build, check_immediate, deliver, exchange_a_send, expect_good, expect_response, memory, originate, pattern, post,
    register, respond, take, transmit, until_completed, written,
)  # fmt: skip

_MANY = 260
_ALL = ("unreliable", "reliable-delivery", "reliable-reception")
_VALUE = 0x5A17C0DE


@case(
    REGISTRY,
    "R1.5.7.2.a",
    "The bit of Immediate Data",
    clause="5.7.2, 5.7.6",
    requirements=["REV1-5.7.2-02", "REV1-5.7.2-03", "FCVI-5.9.7.1-01", "FCVI-6.2.2-06", "FCVI-6.2.2-07"],
    errata=["R42"],
    tags=["message", "fields"],
    applies="client or server",
    variants=variants(roles=("any",), levels=_ALL, pics="immediate_data", choices=[
        ("send", {"op": "send", "applies": "send"}), ("rdma-write", {"op": "rdma-write", "applies": "rdma_write"})])
    + variants(roles=("any",), levels=_ALL, pics="send", choices=[("bit-0", {"op": "bit-0"}), ("none", {"op": "none"})]),
)  # fmt: skip
def immediate(t: Scenario) -> None:
    """The DUT sends Immediate Data with flags 80h and takes them so; a Message with flags 01h that completes has none."""
    with_rdma(t)
    setup = connect(t)
    op = str(t.params["op"])
    if op == "bit-0":
        _bit_0(t, setup)
    elif op == "none":
        originate(t, setup, pattern(24))
        taken = take(t, setup, "send", pattern(24))
        check_immediate(t, taken, None)
        if answered(t):
            respond(t, setup, taken)
        done = deliver(t, setup, pattern(24))
        t.require(done.immediate is None, "REV1-5.7.2-02", "Immediate Data of a Send without any", done.immediate, None)
    else:
        _with_value(t, setup, op)
    t.control("a Message was delivered")


def _with_value(t: Scenario, setup: Setup, op: str) -> None:
    for length in (0, 24):
        data = pattern(length)
        originate(t, setup, data, op, remote=(0x9000, 5) if op == "rdma-write" else None, immediate=_VALUE)
        taken = take(t, setup, op, data)
        check_immediate(t, taken, _VALUE)
        if answered(t):
            respond(t, setup, taken)
        expect_good(t, setup.vi, "send", "FCVI-6.2.1-01" if op == "send" else "FCVI-6.4.1-01")
    for value, length in ((_VALUE, 24), (0, 24), (_VALUE, 0)):
        _value_comes(t, setup, op, value, length)


def _value_comes(t: Scenario, setup: Setup, op: str, value: int, length: int) -> None:
    """A Message of the tester brings Immediate Data, which may be zero, or all that it brings."""
    data = pattern(length, 1)
    if op == "send":
        done = deliver(t, setup, data, immediate=value)
    else:
        region = register(t, 24, write=True)
        post(t, setup.vi, "recv", register(t, 4))
        sent = build(t, setup, data, op, va=region.va, region=region.handle, immediate=value)
        transmit(t, sent)
        if answered(t):
            expect_response(t, setup, sent)
        done = expect_good(t, setup.vi, "recv", "REV1-5.7.2-02")
        t.require(written(t, region, data), "REV1-5.6.6-02", "an RDMA Write was not placed", memory(t, region).hex(), data.hex())
    for row in ("REV1-5.7.2-02", "FCVI-5.9.7.1-01"):
        t.require(done.immediate == value, row, "the Immediate Data that came", done.immediate, value)


def _bit_0(t: Scenario, setup: Setup) -> None:
    """Flags 01h: whether the Message is taken is left to the receiver (3.5); Immediate Data it does not have."""
    deliver(t, setup, pattern(8))
    post(t, setup.vi, "recv", register(t, 32))
    t.tolerate("SEND_RESP", "ABTS")
    transmit(t, build(t, setup, pattern(20), VI_FLAGS=1))
    done = until_completed(t, setup.vi, "recv")
    if done is not None and done.good:
        t.require(done.immediate is None, "REV1-5.7.2-03", "Immediate Data by bit 0", done.immediate, None)


# ---- Message ids ----


@case(
    REGISTRY,
    "R1.5.7.5.a",
    "VI_MSG_ID",
    clause="5.7.5, 6.1",
    requirements=["REV1-4.2-03", "REV1-5.7.5-01", "REV1-5.7.5-02", "REV1-5.7.5-03", "REV1-6.1-02", "FCVI-4.2-11", "FCVI-6.4.2-08",
                  "FCVI-8.4.1-01"],
    errata=["R09", "R43", "R46"],
    tags=["message", "fields", "loss"],
    applies="(client or server) and send",
    variants=variants(levels=_ALL, choices=[("count", {"what": "count"})])
    + variants(roles=("any",), levels=_ALL, choices=[("lost", {"what": "lost"})])
    + variants(roles=("any",), choices=[("many", {"what": "many"}), ("wrap", {"what": "wrap"})]),
)  # fmt: skip
def message_ids(t: Scenario) -> None:
    """Each direction counts from 0, by one for a Message of any operation; responses return the number. A lost number shows at the
    reliable levels; FFFFFFFFh is followed by 0.
    """
    with_rdma(t)
    setup = connect(t)
    {"count": _count, "lost": _lost, "many": _many, "wrap": _wrap}[str(t.params["what"])](t, setup)


def _count(t: Scenario, setup: Setup) -> None:
    for n in range(3):
        originate(t, setup, pattern(20, n))
        taken = take(t, setup, "send", pattern(20, n))
        if answered(t):
            respond(t, setup, taken)
        expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
        deliver(t, setup, pattern(20, n + 7))
        if t.pics["rdma_write"]:
            originate(t, setup, pattern(12, n), "rdma-write", remote=(0x9000, 5))
            taken = take(t, setup, "rdma-write", pattern(12, n))
            if answered(t):
                respond(t, setup, taken)
            expect_good(t, setup.vi, "send", "FCVI-6.4.1-01")
    t.control("Messages passed in both directions")


def _many(t: Scenario, setup: Setup) -> None:
    """More Messages each way than eight bits can number."""
    data = pattern(20)
    region, source = register(t, 20), register(t, 20, data=data)
    for _ in range(_MANY):
        originate(t, setup, data, region=source)
        take(t, setup, "send", data)
        expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
        post(t, setup.vi, "recv", region)
        transmit(t, build(t, setup, data))
        expect_good(t, setup.vi, "recv", "FCVI-6.2.1-01", len(data))
        for method in ("VipSendDone", "VipRecvDone"):  # make room in the queues
            t.call(method, vi=setup.vi)
    t.control("Messages passed in both directions")


def _lost(t: Scenario, setup: Setup) -> None:
    """The number after the next one: at the reliable levels no good completion, at Unreliable Delivery either."""
    deliver(t, setup, pattern(20))
    t.control("a Message was delivered")
    region = register(t, 32)
    post(t, setup.vi, "recv", region)
    setup.sent += 1
    t.tolerate("SEND_RESP", "ABTS")
    transmit(t, build(t, setup, pattern(20, 9)))
    done = until_completed(t, setup.vi, "recv")
    good = done is not None and done.good
    if level_of(t) != UD:
        t.require(not good, "FCVI-8.4.1-01", "a Message behind a lost one is delivered at a reliable level", "a completion", "none")
        return
    if good:
        t.require(memory(t, region, 20) == pattern(20, 9), "FCVI-6.2.1-01", "the Message behind a lost one has other bytes",
                  memory(t, region, 8).hex(), pattern(20, 9)[:8].hex())  # fmt: skip
    if not t.pics["unreliable_error_state"]:
        check_state(t, setup.vi, "connected", "REV1-4.2-03")


_STEPS = (0, 0x7FFFFFF0, 0xFFFFFFD0, 0xFFFFFFFE)  # each less than half the range ahead


def _wrap(t: Scenario, setup: Setup) -> None:
    """Lost Messages bring an unreliable Connection near the wrap. A DUT that takes none of those that follow a loss cannot be
    brought there. Nobody sends so many Messages within R_A_TOV: a number comes again when no frame of before can be on its way.
    """
    for at, number in enumerate([*_STEPS, 0xFFFFFFFF, 0, 1]):
        if at < len(_STEPS):
            t.wait(t.pixit.r_a_tov_us)
        region = register(t, 32)
        post(t, setup.vi, "recv", region)
        transmit(t, build(t, setup, pattern(20, number & 0xFF), number=number))
        done = until_completed(t, setup.vi, "recv")
        good = done is not None and done.good
        if at == 0:
            t.require(good, "FCVI-6.2.1-01", "the first Message was not delivered", "nothing", "a completion")
            t.control("a Message was delivered")
        elif at < len(_STEPS) and not good:
            t.step("the DUT takes no Message behind a lost one: its count cannot be brought to the wrap")
            return
        elif at >= len(_STEPS):
            t.require(good, "REV1-5.7.5-02", f"Message {number:08X}h around the wrap was not delivered", "nothing", "a completion")


# ---- lengths ----

_LENGTHS = {"32768-bytes": 32_768, "70000-bytes": 70_000}  # the second is more than 16 bits can say


@case(
    REGISTRY,
    "R1.5.5.a",
    "Messages as long as the VI allows",
    clause="5.5, 7.2",
    requirements=["FCVI-6.2.1-01", "REV1-7.2-02"],
    tags=["message"],
    applies="(client or server) and send",
    variants=variants(roles=("any",), levels=_ALL, choices=[
        (name, {"length": length, "applies": f"max_transfer_size >= {length}"}) for name, length in _LENGTHS.items()]),
)  # fmt: skip
def longest(t: Scenario) -> None:
    """A Send of MaxTransferSize passes each way, and fills its receive Descriptor; of one byte more nothing is sent."""
    length = int(t.params["length"])
    t.params = {**t.params, "attributes": {**t.params["attributes"], "FCVI_MAX_TRANS_SIZE": length}}
    setup = connect(t)
    data = pattern(length, 3)
    originate(t, setup, data)
    taken = take(t, setup, "send", data)
    if answered(t):
        respond(t, setup, taken)
    expect_good(t, setup.vi, "send", "FCVI-6.2.1-01", length)
    deliver(t, setup, data)
    t.control("Sends of MaxTransferSize passed each way")
    post(t, setup.vi, "send", register(t, length + 1))
    t.expect_nothing(["SEND_RQST"], t.r_a_tov_us // 10, "REV1-7.2-02", "longer than MaxTransferSize")
    good = [c for c in t.completions if c.vi == setup.vi and c.queue == "send" and c.good]
    t.require(not good, "REV1-7.2-02", "a Send longer than MaxTransferSize completed without error", len(good), "none")


# ---- responses at Reliable Reception ----

_STATUS = {1: None, 3: "VIP_STATUS_REMOTE_DESC_ERROR", 5: "VIP_STATUS_RDMA_PROT_ERROR", 9: "VIP_STATUS_TRANSPORT_ERROR"}
_FLAGS: list[tuple[str, dict[str, Any]]] = [
    (f"{op}/flags-{flags:02x}", {"what": "flags", "op": op, "flags": flags, "applies": pics})
    for op, pics in (("send", "send"), ("rdma-write", "rdma_write")) for flags in (3, 5, 9)
    if not (op == "send" and flags == 5)
]  # fmt: skip


@case(
    REGISTRY,
    "R1.6.2.a",
    "Responses at Reliable Reception",
    clause="6.2, 6.4, 5.7.6",
    requirements=["REV1-6.2-01", "REV1-6.2-02", "REV1-5.7.2-10", "REV1-5.7.6-02", "FCVI-5.2.2-04", "FCVI-5.2.3-04",
                  "FCVI-6.3.1-01", "FCVI-6.3.2-03", "FCVI-6.5.1-01", "FCVI-6.5.1-02", "FCVI-6.5.2-03",
                  "FCVI-T06-0"],
    tags=["message", "error"],
    applies="(client or server) and send",
    variants=variants(levels=_ALL, classes=(3, 2), choices=[("dut-answers", {"what": "answers"})])
    + variants(levels=("reliable-reception",), choices=_FLAGS),
)  # fmt: skip
def responses(t: Scenario) -> None:
    """One FCVI_SEND_RESP for each Send at Reliable Reception and none at the other levels, with VI_PARAMETER zero. Flags of a
    response become status bits of the Descriptor.
    """
    with_rdma(t)
    setup = connect(t)
    if t.params["what"] == "answers":
        for n in range(3):
            deliver(t, setup, pattern(30, n))
        t.expect_nothing(["SEND_RESP"], t.ulp_timeout_us // 10, "REV1-6.2-01", "that no Message asks for")
        if t.pics["rdma_write"]:
            region = register(t, 32, write=True)
            sent = build(t, setup, pattern(32), "rdma-write", va=region.va, region=region.handle)
            transmit(t, sent)
            if answered(t):
                expect_response(t, setup, sent)
            t.expect_nothing(["WRITE_RESP"], t.ulp_timeout_us // 10, "FCVI-6.5.1-02", "that no Message asks for")
        t.control("Messages were delivered")
        return
    exchange_a_send(t, setup)
    t.control("a Message was answered without error")
    op, flags = str(t.params["op"]), int(t.params["flags"])
    originate(t, setup, pattern(20), op, remote=(0x9000, 5) if op == "rdma-write" else None)
    taken = take(t, setup, op, pattern(20))
    respond(t, setup, taken, flags)
    done = until_completed(t, setup.vi, "send")
    status = _STATUS[flags]
    t.require(done is not None and not done.good, "FCVI-T06-0", f"a response with flags {flags:02X}h",
              "no completion" if done is None else sorted(done.status), "a completion with an error")  # fmt: skip
    if done is not None and status is not None:
        t.require(status in done.status, "REV1-5.7.2-10", f"the status after flags {flags:02X}h", sorted(done.status), status)
