"""Clauses 5.2, 5.7.2 and 6.2 to 6.6 with VI-ARCH 2.5: Messages that fail at the DUT."""

from __future__ import annotations

from typing import Any

from fcvi.engine import pages
from fcvi.engine.case import case
from fcvi.engine.scenario import NotThere
from fcvi.fc.received import Received

from conformance.fcvi.steps.messages import to_the_end_of_a_page
from conformance.rev1.steps.connection import (
    RD, REGISTRY, RR, UD, Scenario, Setup, check_state, connect, dut_address, level_of, tester_address, variants, with_rdma,
)  # fmt: skip
from conformance.rev1.steps.messages import (
    FILL, Region, Sent, answered, broken, build, deliver, expect_response, in_all, memory, pattern, post, provider, register,
    take_read, transmit, until_completed, untouched, written,
)  # fmt: skip

_RELIABLE = ("reliable-delivery", "reliable-reception")
_LENGTH = 64
_OF_THE_VI = "vi-not-enabled"
#: One of which bits of the address or of the memory handle is wrong: each half is looked at.
_BITS = {"handle": (0, 16), "handle-high": (16, 32), "address": (20, 32), "address-high": (32, 64)}
#: Lengths of a Read that have another sign, or nearly come round.
_LONG = {"31-bits": 0x80000040, "32-bits": 0xFFFFFFFF}
_WRONG: list[tuple[str, dict[str, Any]]] = [
    (f"{op}/{fault}", {"op": op, "fault": fault, "applies": pics, **({"only": "reliable-reception"} if op == "rdma-write" else {})})
    for op, pics in (("rdma-write", "rdma_write"), ("rdma-read", "rdma_read"))
    for fault in (*_BITS, "beyond-the-end", "one-byte-beyond", "not-enabled", "other-right", "vi-not-enabled",
                  *(_LONG if op == "rdma-read" else ()))
]  # fmt: skip
_SENDS: list[tuple[str, dict[str, Any]]] = [
    ("send/none-posted", {"op": "send", "posted": None, "applies": "send"}),
    ("send/too-short", {"op": "send", "posted": 16, "applies": "send"}),
    ("immediate/none-posted", {"op": "rdma-write", "posted": None, "applies": "rdma_write and immediate_data"}),
]


@case(
    REGISTRY,
    "R1.5.7.2.c",
    "Messages that fail at the DUT",
    clause="5.2.3, 5.7.2, 6.2, 6.4, 6.6",
    requirements=["FCVI-T06-0", "FCVI-T06-1", "FCVI-T06-2", "FCVI-5.9.4.3-01", "FCVI-5.9.4.3-02", "FCVI-5.9.7.3.1-04",
                  "FCVI-4.2-25", "FCVI-5.9.7.3.1-05", "FCVI-8.2-d3", "FCVI-8.2-e1", "REV1-4.2-03", "REV1-7.2-04"],
    errata=["R48", "R49"],
    tags=["message", "rdma", "error"],
    applies="client or server",
    variants=variants(roles=("any",), levels=_RELIABLE, choices=[*_WRONG, *_SENDS])
    + variants(roles=("any",), pics="not unreliable_error_state", choices=[(f"unreliable/{name}", how) for name, how in _SENDS]),
)  # fmt: skip
def failures(t: Scenario) -> None:
    """An RDMA operation at memory that it may not touch writes nothing and gives nothing away, and its response says RESP_ERR with
    PROT_ERR; a Send without a fitting Descriptor says DESC_ERR. An error of a Send breaks a reliable Connection (VI-ARCH 2.5), and
    none breaks an unreliable one (2.5.1).
    A VI whose EnRdmaWr or EnRdmaRd is 0 refuses the operation as well (Table 15). Another VI, which is connected before and has
    all rights, stays Connected and takes Messages.
    """
    with_rdma(t)
    other = connect(t) if t.pics["send"] and int(t.pics["max_vis"]) >= 2 else None
    if t.params.get("fault") == _OF_THE_VI:
        t.params = {**t.params, "attributes": {**t.params["attributes"], "EnRdmaWr": 0, "EnRdmaRd": 0}}
    setup = connect(t)
    op = str(t.params["op"])
    if t.params.get("fault") != _OF_THE_VI:
        _good(t, setup, op)
    if "posted" in t.params:
        _no_descriptor(t, setup, op)
    else:
        _protected(t, setup, op, str(t.params["fault"]))
    if other is not None:
        untouched(t, other, "FCVI-8.2-d3", "after an error of the first")


def _good(t: Scenario, setup: Setup, op: str) -> None:
    """The first Message of this operation is answered without error."""
    data = pattern(_LENGTH)
    if op == "send":
        deliver(t, setup, data)
    elif op == "rdma-write":
        region = register(t, _LENGTH, write=True)
        sent = build(t, setup, data, op, va=region.va, region=region.handle)
        transmit(t, sent)
        if answered(t, op):
            expect_response(t, setup, sent)
        t.require(written(t, region, data), "FCVI-6.4.1-01", "an RDMA Write was not placed", memory(t, region, 16).hex(),
                  data[:16].hex())
    else:
        region = register(t, _LENGTH, read=True, data=data)
        sent = _read_of(t, setup, region.va, region.handle)
        transmit(t, sent)
        seen = b"".join(iu.payload for iu in take_read(t, sent, _LENGTH))
        t.require(seen == data, "FCVI-6.7.1-02", "an RDMA Read got other bytes", seen[:16].hex(), data[:16].hex())
    t.control("a Message of the same operation succeeded")


def _read_of(t: Scenario, setup: Setup, va: int, handle: int, length: int = _LENGTH) -> Sent:
    return build(t, setup, b"", "rdma-read", va=va, region=handle, VI_RMT_TOT_LEN=length)


def _target(t: Scenario, op: str, fault: str) -> tuple[Region, int, int]:
    """Memory of the DUT, and the address and handle of an operation that is wrong in one point."""
    allowed = {"not-enabled": "", "other-right": "rdma-read" if op == "rdma-write" else "rdma-write"}.get(fault, op)
    rights: dict[str, Any] = {"write": allowed == "rdma-write", "read": allowed == "rdma-read"}
    region = to_the_end_of_a_page(t, **rights) if "beyond" in fault else register(t, _LENGTH, **rights)
    va, handle = region.va, region.handle
    if fault == "address-high" and pages.of_32_bits(va):
        raise NotThere("the DUT gives addresses of 32 bits: it need not look at the upper half")
    if fault in _BITS:
        bit = 1 << t.rng.randrange(*_BITS[fault])
        va, handle = (va ^ bit, handle) if "address" in fault else (va, handle ^ bit)
    elif fault == "beyond-the-end":
        va = pages.behind(va, region.length) - _LENGTH // 4
    elif fault == "one-byte-beyond":
        va = pages.behind(va, region.length) - _LENGTH + 1
    return region, va, handle


def _protected(t: Scenario, setup: Setup, op: str, fault: str) -> None:
    region, va, handle = _target(t, op, fault)
    length = _LONG.get(fault, _LENGTH)
    sent = _read_of(t, setup, va, handle, length) if op == "rdma-read" else build(t, setup, pattern(_LENGTH), op, va=va,
                                                                                  region=handle)  # fmt: skip
    t.tolerate("ABTS")
    transmit(t, sent)
    if op == "rdma-read":
        _refused_read(t, setup, sent)
    else:
        _says_why(t, expect_response(t, setup, sent, None), fault)
    if fault == _OF_THE_VI:
        t.control("a Connection Setup completed")
    # of an operation that leaves the region a part may have been done
    end = min(va - region.va, region.length) if "beyond" in fault else _LENGTH
    inside = min(end, _LENGTH)
    seen = memory(t, region, inside, end - inside)
    t.require(seen == FILL * inside, "FCVI-5.9.7.3.1-04", "memory was written in spite of its protection", seen[:16].hex(), "a5...")
    provider(t, setup)


def _refused_read(t: Scenario, setup: Setup, sent: Sent) -> None:
    """FCVI_READ_RESP with RESP_ERR; a provider that ends the Connection at Reliable Delivery has nothing more to answer."""
    kinds = ["READ_RESP", "DISCONNECT_RQST"] if level_of(t) == RD else ["READ_RESP"]
    t.owed(lambda: t.peek(kinds) is not None)
    early = t.peek(["DISCONNECT_RQST"])
    if early is not None and t.peek(["READ_RESP"], sent.exchange) is None:
        t.tolerate("READ_RESP")  # which may come behind the end, as no sentence orders the two
        return
    given = b""
    while True:  # it may find the error when it has sent a part
        resp = t.expect("READ_RESP", "FCVI-5.9.4.3-01", exchange=sent.exchange, why="to a Read of memory that may not be read")
        given += resp.payload
        if resp.fc("Last_Sequence") or resp.dh("RESP_ERR"):
            break
    t.equal(resp, "RESP_ERR", 1, "FCVI-5.9.4.3-01")
    t.equal(resp, "RESP_ERR", 1, "FCVI-T06-0")
    _says_why(t, resp, str(t.params["fault"]))
    in_all(t, [resp], "VI_MSG_ID", sent.number, "REV1-6.6-03")
    if "beyond" not in str(t.params["fault"]) and t.params["fault"] not in _LONG:  # of which a part may be read
        t.require(FILL * 8 not in given, "FCVI-5.9.7.3.1-04", "memory was given away in spite of its protection", given[:16].hex(),
                  "nothing of it")  # fmt: skip


def _says_why(t: Scenario, resp: Received, fault: str) -> None:
    """The bit that says protection; no sentence gives one to a VI that is not enabled, so there RESP_ERR is all."""
    if fault == _OF_THE_VI:
        t.equal(resp, "RESP_ERR", 1, "REV1-7.2-04")
        return
    if fault in _LONG:  # more than the VI's MaxTransferSize, which may be what it finds wrong
        return
    t.equal(resp, "PROT_ERR", 1, "FCVI-T06-2")
    t.equal(resp, "PROT_ERR", 1, "FCVI-5.9.4.3-02")


def _no_descriptor(t: Scenario, setup: Setup, op: str) -> None:
    """The Descriptor that a Send or Immediate Data need is missing, or too short: the Connection is broken at the reliable levels.
    """
    posted = int(t.params["posted"] or 0)
    region = register(t, posted + _LENGTH, write=op == "rdma-write")
    if posted:
        post(t, setup.vi, "recv", region, length=posted)
    target: dict[str, Any] = {"va": region.va, "region": region.handle, "immediate": 7} if op == "rdma-write" else {}
    sent = build(t, setup, pattern(_LENGTH, 2), op, **target)
    t.tolerate("ABTS")
    transmit(t, sent)
    if level_of(t) == RR:
        resp = expect_response(t, setup, sent, None)
        t.equal(resp, "DESC_ERR", 1, "FCVI-T06-1")
        t.equal(resp, "DESC_ERR", 1, "FCVI-5.9.4.3-02")
    if op == "send":
        behind = memory(t, region, _LENGTH, posted)
        t.require(behind == FILL * _LENGTH, "FCVI-5.9.7.3.1-05", "bytes behind a receive Descriptor were written",
                  behind[:16].hex(), "a5...")  # fmt: skip
    if level_of(t) == UD:
        _still_there(t, setup)
        return
    broken(t, setup, "FCVI-8.2-d3", "after a Message without a fitting Descriptor")
    good = [c for c in t.completions if c.vi == setup.vi and c.queue == "recv" and c.good]
    t.require(not good, "FCVI-5.9.7.3.1-05", "a Descriptor completed without error", len(good), "none")
    _in_error(t, setup)
    if t.pics["client"]:
        _stays_in_error(t, setup)
    provider(t, setup)


def _in_error(t: Scenario, setup: Setup) -> None:
    """What is posted in Error completes in error and is not sent; what comes for the Connection reaches no memory."""
    t.completions.clear()
    for queue, op in (("send", "send"), ("recv", "recv")):
        post(t, setup.vi, op, register(t, 8))
        done = until_completed(t, setup.vi, queue)
        t.require(done is not None and not done.good, "FCVI-4.2-25", f"a Descriptor posted to the {queue} queue in Error",
                  "no completion" if done is None else sorted(done.status), "a completion with an error")  # fmt: skip
    if t.pics["rdma_write"]:
        region = register(t, _LENGTH, write=True)
        t.tolerate("WRITE_RESP")
        transmit(t, build(t, setup, pattern(_LENGTH), "rdma-write", va=region.va, region=region.handle))
        seen = memory(t, region)
        t.require(seen == FILL * _LENGTH, "FCVI-8.2-d3", "an RDMA Write to a VI in Error was placed", seen[:16].hex(), "a5...")


def _still_there(t: Scenario, setup: Setup) -> None:
    """Nothing completes well, and the Connection delivers what comes next."""
    t.wait(t.ulp_timeout_us // 10)
    good = [c for c in t.completions if c.vi == setup.vi and c.queue == "recv" and c.good]
    t.require(not good, "FCVI-5.9.7.3.1-05", "a Descriptor completed without error", len(good), "none")
    check_state(t, setup.vi, "connected", "REV1-4.2-03")
    if t.completions or not t.params["posted"]:  # else the short Descriptor may still be there for the next Message
        t.completions.clear()
        deliver(t, setup, pattern(_LENGTH, 3))


def _stays_in_error(t: Scenario, setup: Setup) -> None:
    """A VI in Error is not connected again before VipDisconnect (VI-DG 3.3)."""
    call = t.start("VipConnectRequest", vi=setup.vi, LocalAddr=dut_address(t), RemoteAddr=tester_address(t), Timeout=t.r_a_tov_us)
    t.owed(lambda: call.done or t.peek(["CONNECT_RQST"]) is not None)
    seen = call.returned() if call.done else "a CONNECT_RQST"
    t.require(call.done and seen != "VIP_SUCCESS", "FCVI-8.2-e1", "VipConnectRequest with a VI in Error", seen, "an error")
