"""Clause 5.2.2: Send in Unreliable Delivery, one IU of one or several frames."""

from __future__ import annotations


from fcvi.engine.case import Variant, case
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    SERVER,
    Setup,
    accept_request,
    connect_dut_server,
    send_resp3,
    start_request,
)

PART_OF_REPORT = 3

_ROOM = 512 - 32  # Message Data in a full frame of these variants
_SIZES = [1, _ROOM - 1, _ROOM, _ROOM + 1, 5 * _ROOM + 3]
_ROLES = [(CLIENT, "client"), (SERVER, "server")]
_VARIANTS = [
    Variant(f"{role}/{size}-bytes", {"role": role, "size": size}, pics, {"receive_size": 512})
    for role, pics in _ROLES
    for size in _SIZES
] + [
    Variant(f"{role}/immediate", {"role": role, "size": 8, "immediate": 0x01020304}, f"{pics} and immediate_data")
    for role, pics in _ROLES
]


@case(
    REGISTRY,
    "5.2.2.sends",
    "The DUT sends Messages in Unreliable Delivery",
    clause="5.2.2",
    requirements=[
        "FCVI-4.2-01", "FCVI-4.2-07", "FCVI-4.2-10", "FCVI-4.2-12", "FCVI-5.2.1-05", "FCVI-5.6-07", "FCVI-5.8.4-01",
        "FCVI-5.8.5-02", "FCVI-5.8.6-01", "FCVI-5.8.7-01", "FCVI-5.8.7-02", "FCVI-5.9.2-01", "FCVI-5.9.6-03",
        "FCVI-5.9.6-04", "FCVI-5.9.7.1-01", "FCVI-5.9.10-01", "FCVI-6.2.1-01", "FCVI-6.2.1-04", "FCVI-6.2.2-02",
        "FCVI-6.2.2-05", "FCVI-6.2.2-06", "FCVI-6.2.2-07", "FCVI-6.2.2-08", "FCVI-6.2.2-10",
    ],  # fmt: skip
    errata=["E18", "E19", "E43", "E74"],
    tags=["message"],
    applies="(client or server) and unreliable_delivery and send",
    variants=_VARIANTS,
)
def dut_sends(t: Scenario) -> None:
    """Two Messages arrive intact, each in an Exchange of its own, numbered 1 and 2, with the handle of the tester."""
    setup = connected(t)
    size = int(t.params["size"])
    immediate = t.params.get("immediate")
    for number in (1, 2):
        data = t.rng.randbytes(size)
        region = t.call(
            "VipRegisterMem", length=size, rdma_write=False, rdma_read=False, fill=None
        )
        mem = region.integer("mem")
        for at in range(0, size, 16384):
            t.call("mem.write", mem=mem, offset=at, hex=data[at : at + 16384].hex())
        t.call(
            "VipPostSend", vi=setup.vi,
            descriptor=descriptor_of("send", mem, size, immediate),
        )  # fmt: skip
        _take_message(t, setup, number, data, immediate)
        completed(t, setup, "send", size)
    t.control("two Messages arrived intact")


def descriptor_of(op: str, mem: int, size: int, immediate: object = None) -> dict[str, object]:
    return {
        "op": op,
        "segments": [{"mem": mem, "offset": 0, "length": size}],
        "remote": None,
        "immediate": immediate,
    }


def connected(t: Scenario) -> Setup:
    if t.params["role"] == SERVER:
        return connect_dut_server(t)
    setup = start_request(t)
    accept_request(t, setup)
    send_resp3(t, setup)
    t.settle()
    return setup


def _take_message(t: Scenario, setup: Setup, number: int, data: bytes, immediate: object) -> None:
    got = b""
    first: Received | None = None
    while True:
        iu = t.expect("SEND_RQST", "FCVI-6.2.1-01", why=f"of Message {number}")
        first = first or iu
        t.require(iu.exchange is first.exchange, "FCVI-4.2-02", "a Message is spread over Exchanges", iu.exchange,
                  first.exchange, at=iu)  # fmt: skip
        got += iu.payload
        if iu.fc("Last_Sequence") or len(got) >= len(data):
            break
    t.equal(iu, "Last_Sequence", 1, "FCVI-5.8.4-01")
    t.equal(iu, "FCVI_HANDLE", setup.tester_handle, "FCVI-4.2-07")
    t.equal(iu, "FCVI_MSG_ID", number, "FCVI-5.9.6-03" if number == 1 else "FCVI-5.9.6-04")
    t.equal(iu, "FCVI_TOT_LEN", len(data), "FCVI-6.2.2-10")
    t.equal(iu, "IMM_DATA", int(immediate is not None), "FCVI-6.2.2-05" if immediate else "FCVI-6.2.2-07")
    if isinstance(immediate, int):
        t.equal(iu, "MSG_PARAMETER", immediate, "FCVI-6.2.2-06")
    t.require(got == data, "FCVI-6.2.1-01", "the Message Data differ from what was posted", got[:16].hex(),
              data[:16].hex(), at=iu)  # fmt: skip


def completed(t: Scenario, setup: Setup, queue: str, size: int) -> None:
    def found() -> bool:
        return any(c.vi == setup.vi and c.queue == queue for c in t.completions)

    t.owed(found)
    done = [c for c in t.completions if c.vi == setup.vi and c.queue == queue]
    requirement = "FCVI-6.2.1-01"
    if not t.require(bool(done), requirement, f"the {queue} Descriptor did not complete", "nothing", "completion"):
        return
    t.require(done[0].good, requirement, f"the {queue} Descriptor completed in error", sorted(done[0].status), "no error")
    t.require(done[0].length == size, requirement, "wrong Length in the Descriptor", done[0].length, size)
    t.completions.remove(done[0])


@case(
    REGISTRY,
    "5.2.2.receives",
    "The DUT receives Messages in Unreliable Delivery",
    clause="5.2.2",
    requirements=[
        "FCVI-4.2-05", "FCVI-5.2.2-03", "FCVI-5.9.7.1-01", "FCVI-6.2.1-01", "FCVI-6.3.1-03",
        "FCVI-5.4-03", "FCVI-5.3.2-05",
    ],  # fmt: skip
    errata=["E82"],
    tags=["message"],
    applies="(client or server) and unreliable_delivery and send",
    variants=_VARIANTS,
)
def dut_receives(t: Scenario) -> None:
    """Two Messages are placed in the posted buffers byte for byte; no response is sent."""
    setup = connected(t)
    size = int(t.params["size"])
    immediate = t.params.get("immediate")
    for number in (1, 2):
        data = t.rng.randbytes(size)
        mem = t.call("VipRegisterMem", length=size, rdma_write=False, rdma_read=False, fill="a5").integer("mem")
        t.call("VipPostRecv", vi=setup.vi, descriptor=descriptor_of("recv", mem, size))
        exchange = t.tester.open_exchange(0x0D00)  # E82: an Exchange ID may be used again at once
        dh = {
            "FCVI_HANDLE": setup.dut_handle,
            "FCVI_MSG_ID": number,
            "FCVI_TOT_LEN": size,
            "IMM_DATA": int(immediate is not None),
            "MSG_PARAMETER": immediate or 0,
        }
        t.send("SEND_RQST", exchange, dh, data)
        t.settle()
        completed(t, setup, "recv", size)
        seen = b""
        for at in range(0, size, 16384):
            seen += bytes.fromhex(t.call("mem.read", mem=mem, offset=at, length=min(16384, size - at)).text("hex"))
        t.require(seen == data, "FCVI-6.2.1-01", "the buffer differs from the Message Data", seen[:16].hex(),
                  data[:16].hex())  # fmt: skip
    t.expect_nothing(["SEND_RESP"], t.r_a_tov_us // 10, "FCVI-6.3.1-03", "in Unreliable Delivery")
    t.control("two Messages were placed byte for byte")
