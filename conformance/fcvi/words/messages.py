"""Messages of both sides, on a connection and off it (5.2, 6.2 to 6.7, 7.3, 8.4)."""

from __future__ import annotations

from typing import Optional

from conformance.fcvi.cases.clause_6_responses import take_read_response
from conformance.fcvi.steps import messages as steps
from conformance.fcvi.steps.message_checks import respond, respond_with, take_request
from conformance.fcvi.steps.messages import RR, UD, Region, level_of
from fcvi.fc.message import Cut, Message

from .letters import owed, played
from .world import MOST_POSTED, Buffer, World, register

_LENGTHS = (1, 20, 63, 64, 300)
_LONG = 5000
_GUARD = 64


def _posted(world: World, length: int) -> None:
    t, slot = world.t, world.slot
    region = register(world, length + _GUARD, length)
    if steps.post(t, slot.vi, "recv", region, length=length) == "VIP_SUCCESS":
        slot.buffers.append(Buffer(region, length))


@owed("recv", "connected acked", weight=4)
def recv(world: World) -> str:
    """VipPostRecv."""
    if len(world.slot.buffers) < MOST_POSTED:
        _posted(world, _LONG + _GUARD)
    return world.slot.phase


@played("recv")
def recv_anywhere(world: World) -> None:
    """VipPostRecv in any state."""
    if len(world.slot.buffers) < MOST_POSTED:
        _posted(world, 512)


def _has_buffer(world: World) -> bool:
    return bool(world.slot.buffers) and not world.linked


def _deliver(world: World, length: int, immediate: Optional[int] = None, cut: Cut = Cut()) -> str:
    t, slot = world.t, world.slot
    assert slot.setup is not None
    slot.sent += 1
    data = t.rng.randbytes(length)
    world.payloads.add(data)
    steps.deliver(t, slot.setup, Message("send", slot.sent, data, immediate), cut)
    buffer = slot.buffers.pop(0)
    done = steps.expect_good(t, slot.vi, "recv", "FCVI-6.2.1-01", length)
    t.require(done.immediate == immediate, "FCVI-6.2.2-06", "other Immediate Data arrived", done.immediate, immediate)
    seen = steps.memory(t, buffer.region, length)
    t.require(seen == data, "FCVI-6.2.1-01", "other bytes were delivered", seen[:16].hex(), data[:16].hex())
    steps.expect_connected(t, slot.setup, "FCVI-8.2-d1", "though nothing was wrong")
    return "connected"


@owed("send", "connected", weight=6, when=_has_buffer)
def send(world: World) -> str:
    """A Send of the tester's is delivered once, whole, and on Reliable Reception answered."""
    return _deliver(world, world.t.rng.choice(_LENGTHS))


@owed("send-long", "connected", weight=2, when=_has_buffer)
def send_long(world: World) -> str:
    """The same of several frames."""
    return _deliver(world, _LONG)


@owed("send-ius", "connected", weight=2, when=_has_buffer)
def send_ius(world: World) -> str:
    """The same of several IUs (6.2.1)."""
    return _deliver(world, _LONG, cut=Cut(frame=400, ius=3))


@owed("send-empty", "connected", weight=1, when=_has_buffer)
def send_empty(world: World) -> str:
    """A Send without data."""
    return _deliver(world, 0)


@owed("send-immediate", "connected", weight=2, needs="immediate_data", when=_has_buffer)
def send_immediate(world: World) -> str:
    """A Send with Immediate Data."""
    return _deliver(world, 16, world.t.rng.randrange(2**32))


def _originate(world: World, op: str, length: int, immediate: Optional[int] = None) -> str:
    t, slot = world.t, world.slot
    setup = slot.setup
    assert setup is not None
    slot.taken += 1
    data = t.rng.randbytes(length)
    read = op == "rdma-read"
    region = register(world, max(length, 1), length if read else 0, data=None if read else data)
    va, handle = t.rng.randrange(2**48), t.rng.randrange(2**32)
    remote = None if op == "send" else (va, handle)
    code = steps.post(t, slot.vi, op, region, length=length, remote=remote, immediate=immediate)
    t.require(code == "VIP_SUCCESS", "FCVI-4.2-01", f"VipPostSend returned {code}", code, "VIP_SUCCESS")
    message = Message(
        op, slot.taken, b"" if read else data, immediate, va if remote else 0, handle if remote else 0, length if read else None
    )
    taken = take_request(t, setup, message)
    if read:
        respond_with(t, setup, taken, data, Cut(frame=400))
    elif steps.answered(t, op):
        respond(t, setup, taken)
    requirement = {"send": "FCVI-6.2.1-01", "rdma-write": "FCVI-6.4.1-01", "rdma-read": "FCVI-6.6.1-01"}[op]
    steps.expect_good(t, slot.vi, "send", requirement)
    if read:
        seen = steps.memory(t, region, length)
        t.require(seen == data, "FCVI-6.7.1-01", "other bytes were read", seen[:16].hex(), data[:16].hex())
    return "connected"


@owed("post", "connected", weight=5)
def post(world: World) -> str:
    """VipPostSend of a Send."""
    return _originate(world, "send", world.t.rng.choice(_LENGTHS))


@owed("post-long", "connected", weight=2)
def post_long(world: World) -> str:
    """The same of several frames."""
    return _originate(world, "send", _LONG)


@owed("post-immediate", "connected", weight=2, needs="immediate_data")
def post_immediate(world: World) -> str:
    """The same with Immediate Data."""
    return _originate(world, "send", 16, world.t.rng.randrange(2**32))


@owed("post-write", "connected", weight=4, needs="rdma_write", when=lambda w: bool(w.t.params["attributes"]["EnRdmaWr"]))
def post_write(world: World) -> str:
    """VipPostSend of an RDMA Write."""
    return _originate(world, "rdma-write", world.t.rng.choice((*_LENGTHS, _LONG)))


@owed("post-read", "connected", weight=4, needs="rdma_read", when=lambda w: bool(w.t.params["attributes"]["EnRdmaRd"]))
def post_read(world: World) -> str:
    """VipPostSend of an RDMA Read."""
    return _originate(world, "rdma-read", world.t.rng.choice((*_LENGTHS, _LONG)))


def _target(world: World, op: str, length: int) -> tuple[Region, bytes]:
    data = world.t.rng.randbytes(length)
    write = op == "rdma-write"
    return register(world, length + _GUARD, length if write else 0, write=write, read=not write,
                    data=None if write else data + bytes(_GUARD)), data  # fmt: skip


@owed("write", "connected", weight=4, needs="rdma_write", when=lambda w: bool(w.t.params["attributes"]["EnRdmaWr"]))
def write(world: World) -> str:
    """An RDMA Write of the tester's."""
    t, slot = world.t, world.slot
    assert slot.setup is not None
    length = t.rng.choice((*_LENGTHS, _LONG))
    region, data = _target(world, "rdma-write", length)
    slot.sent += 1
    steps.deliver(t, slot.setup, Message("rdma-write", slot.sent, data, None, region.va, region.handle))
    t.owed(lambda: steps.memory(t, region, length) == data)
    seen = steps.memory(t, region, length)
    t.require(seen == data, "FCVI-6.4.1-01", "other bytes were written", seen[:16].hex(), data[:16].hex())
    return "connected"


@owed("read", "connected", weight=4, needs="rdma_read", when=lambda w: bool(w.t.params["attributes"]["EnRdmaRd"]))
def read(world: World) -> str:
    """An RDMA Read of the tester's."""
    t, slot = world.t, world.slot
    assert slot.setup is not None
    length = t.rng.choice((*_LENGTHS, _LONG))
    region, data = _target(world, "rdma-read", length)
    slot.sent += 1
    sent = steps.prepare(
        t, slot.setup, Message("rdma-read", slot.sent, b"", None, region.va, region.handle, length)
    )
    steps.transmit(t, sent.frames)
    got = b"".join(iu.payload for iu in take_read_response(t, slot.setup, sent))
    t.require(got == data, "FCVI-6.7.1-01", "other bytes were read", got[:16].hex(), data[:16].hex())
    return "connected"


# ---- Message Errors ----


@owed("hole", "connected", weight=1, when=_has_buffer)
def hole(world: World) -> str:
    """A Message is lost: the next one breaks a reliable connection; on an unreliable one it may be delivered (8.4)."""
    t, slot = world.t, world.slot
    assert slot.setup is not None
    slot.sent += 2
    sent = steps.prepare(t, slot.setup, Message("send", slot.sent, t.rng.randbytes(20)))
    world.payloads.add(sent.message.data)
    steps.transmit(t, sent.frames)
    if level_of(t) == UD:
        return "unknown"
    steps.expect_error(t, slot.setup, "FCVI-8.4.2-e", "after a lost Message")
    return "unknown"


@owed("send-unawaited", "connected", weight=1, when=lambda w: not w.slot.buffers and not w.linked)
def unawaited(world: World) -> str:
    """A Send for which no Descriptor is posted breaks a reliable connection (VI-ARCH 2.5, 8.4.2 e)."""
    t, slot = world.t, world.slot
    assert slot.setup is not None
    slot.sent += 1
    sent = steps.prepare(t, slot.setup, Message("send", slot.sent, t.rng.randbytes(20)))
    world.payloads.add(sent.message.data)
    steps.transmit(t, sent.frames)
    if level_of(t) == UD:
        return "unknown"
    if level_of(t) == RR:
        steps.expect_response(t, slot.setup, sent, flags=None)
    steps.expect_error(t, slot.setup, "FCVI-8.4.2-e", "after a Send that nobody awaits")
    return "unknown"


@played("send")
def send_anywhere(world: World) -> None:
    """A Send of the tester's for the handle of the setup, whatever became of it."""
    t, slot = world.t, world.slot
    if slot.setup is not None:
        slot.sent += 1
        data = t.rng.randbytes(40)
        world.payloads.add(data)
        steps.transmit(t, steps.prepare(t, slot.setup, Message("send", slot.sent, data)).frames)


@played("skip")
def skip(world: World) -> None:
    """A Message of the tester's is lost on its way."""
    world.slot.sent += 1


@played("post")
def post_anywhere(world: World) -> None:
    """VipPostSend in any state."""
    t, slot = world.t, world.slot
    if world.pending(slot.vi) < 2 * MOST_POSTED:
        region = register(world, 40, 0, data=t.rng.randbytes(40))
        steps.post(t, slot.vi, "send", region)
        t.wait(t.r_a_tov_us // 100)  # a port may take its time: what comes next is to find the Message on its way


@played("resp")
def resp(world: World) -> None:
    """The tester answers the device's oldest Message Request, whether or not one is due."""
    t, slot = world.t, world.slot
    if slot.asked and slot.setup is not None:
        asked = slot.asked.pop(0)
        t.tester.assign_rx_id(asked.exchange)
        dh = {"FCVI_HANDLE": slot.setup.dut_handle, "FCVI_MSG_ID": asked.dh("FCVI_MSG_ID")}
        if asked.kind != "READ_RQST":
            t.send(asked.kind.replace("RQST", "RESP"), asked.exchange, dh)
        t.settle()
