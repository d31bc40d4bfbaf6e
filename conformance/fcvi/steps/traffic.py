"""Small Messages that show whether a connection lives: one frame each, at any Reliability Level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from fcvi.fc.received import Exchange, Received
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Completion

from .connection import Setup, attributes_of

FLUSHED = "VIP_STATUS_DESC_FLUSHED_ERROR"


@dataclass
class Buffer:
    """A region of the DUT's memory with a Descriptor posted for it."""

    vi: int
    mem: int
    size: int


def with_response(t: Scenario) -> bool:
    """Whether Sends and Writes of this variant are answered (Reliable Reception)."""
    return attributes_of(t)["FCVI_RELIABILITY_LVL"] == 3


def post_recv(t: Scenario, vi: int, size: int = 64) -> Buffer:
    """VipPostRecv of a buffer filled with A5h."""
    mem = t.call("VipRegisterMem", length=size, rdma_write=False, rdma_read=False, fill="a5").integer("mem")
    _post(t, "VipPostRecv", vi, "recv", mem, size)
    return Buffer(vi, mem, size)


def post_send(t: Scenario, vi: int, data: bytes) -> Buffer:
    """VipPostSend of these bytes."""
    mem = t.call("VipRegisterMem", length=len(data), rdma_write=False, rdma_read=False, fill=None).integer("mem")
    t.call("mem.write", mem=mem, offset=0, hex=data.hex())
    _post(t, "VipPostSend", vi, "send", mem, len(data))
    return Buffer(vi, mem, len(data))


def _post(t: Scenario, method: str, vi: int, op: str, mem: int, size: int) -> None:
    segments = [{"mem": mem, "offset": 0, "length": size}]
    call = t.call(method, vi=vi, descriptor={"op": op, "segments": segments, "remote": None, "immediate": None})
    code = call.returned()
    t.demand(code == "VIP_SUCCESS", "FCVI-4.2-01", f"{method} returned {code}", code, "VIP_SUCCESS")


def send_message(t: Scenario, setup: Setup, number: int, data: bytes, port: Optional[int] = None) -> Exchange:
    """A Send of the tester's to the DUT in an Exchange of its own."""
    exchange = t.tester.open_exchange(port=port if port is not None else setup.exchange.port or None)
    dh = {"FCVI_HANDLE": setup.dut_handle, "FCVI_MSG_ID": number, "FCVI_TOT_LEN": len(data)}
    fc = {"Last_Sequence": 0, "Sequence_Initiative": 1} if with_response(t) else None
    t.send("SEND_RQST", exchange, dh, data, fc)
    t.settle()
    return exchange


def delivered(t: Scenario, buffer: Buffer, data: bytes, requirement: str) -> bool:
    """The receive Descriptor of the buffer completed and the bytes are there."""
    t.owed(lambda: _completion(t, buffer.vi, "recv") is not None)
    done = _completion(t, buffer.vi, "recv")
    if not t.require(
        done is not None and done.good, requirement, "the Message was not delivered", done or "nothing", "delivered"
    ):
        return False
    assert done is not None
    t.completions.remove(done)
    seen = t.call("mem.read", mem=buffer.mem, offset=0, length=len(data)).text("hex")
    return t.require(seen == data.hex(), requirement, "other bytes were delivered", seen[:32], data.hex()[:32])


def _completion(t: Scenario, vi: int, queue: str) -> Optional[Completion]:
    return next((c for c in t.completions if c.vi == vi and c.queue == queue), None)


def expect_send(t: Scenario, setup: Setup, number: int, data: bytes, requirement: str) -> Received:
    """The DUT's Send with this number and these bytes, to the tester's handle."""
    iu = t.expect("SEND_RQST", requirement, why="after VipPostSend")
    t.equal(iu, "FCVI_HANDLE", setup.tester_handle, "FCVI-4.2-07")
    t.equal(iu, "FCVI_MSG_ID", number, "FCVI-5.9.6-04")
    seen = iu.payload
    while len(seen) < len(data) and not (iu.fc("Last_Sequence") or iu.fc("Sequence_Initiative")):
        iu = t.expect("SEND_RQST", requirement, exchange=iu.exchange, why="with the rest of the Message (6.2.1)")
        seen += iu.payload
    t.require(seen == data, requirement, "the Message Data differs", seen[:16].hex(), data[:16].hex(), at=iu)
    return iu


def answer_send(t: Scenario, setup: Setup, send: Received) -> None:
    """FCVI_SEND_RESP of the tester, in Reliable Reception."""
    if with_response(t):
        t.tester.assign_rx_id(send.exchange)
        dh = {"FCVI_HANDLE": setup.dut_handle, "FCVI_MSG_ID": send.dh("FCVI_MSG_ID")}
        t.send("SEND_RESP", send.exchange, dh)
        t.settle()


def take_response(t: Scenario, exchange: Exchange, requirement: str) -> None:
    """FCVI_SEND_RESP of the DUT, in Reliable Reception."""
    if with_response(t):
        t.expect("SEND_RESP", requirement, exchange=exchange, why="in Reliable Reception")


def both_ways(t: Scenario, setup: Setup, requirement: str, number: int = 1) -> None:
    """A Message each way: the connection lives."""
    buffer = post_recv(t, setup.vi)
    data = t.rng.randbytes(64)
    take_response(t, send_message(t, setup, number, data), requirement)
    delivered(t, buffer, data, requirement)
    data = t.rng.randbytes(48)
    post_send(t, setup.vi, data)
    send = expect_send(t, setup, number, data, requirement)
    answer_send(t, setup, send)
    t.owed(lambda: _completion(t, setup.vi, "send") is not None)
    done = _completion(t, setup.vi, "send")
    t.require(done is not None, requirement, "the send Descriptor did not complete", "nothing", "completion")
    if done is not None:
        t.completions.remove(done)


def flushed(t: Scenario, vi: int, requirement: str) -> None:
    """The receive Descriptor that was posted completed as flushed."""
    t.owed(lambda: _completion(t, vi, "recv") is not None)
    done = _completion(t, vi, "recv")
    t.require(
        done is not None and FLUSHED in done.status, requirement, "the posted receive Descriptor was not flushed",
        sorted(done.status) if done else "still posted", FLUSHED,
    )  # fmt: skip
    if done:
        t.completions.remove(done)
