"""Faults of what has to stay, or to change: receives that wait, attributes, tags, enables, other regions, the ends of ranges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import codes as c
from .threads import Steps
from .wire import Segment


def flushed_by_a_timeout(agent: Any) -> None:
    """A request that times out flushes the receives of its VI."""
    real = agent.connecting.request

    def request(vi: Any, *rest: Any) -> Steps[str]:
        code: str = yield from real(vi, *rest)
        if code == c.TIMEOUT:
            agent.transfer.flush(vi)
        return code
    agent.connecting.request = request


def flushed_by_a_failed_accept(agent: Any) -> None:
    """An accept whose attributes do not fit flushes the receives of its VI."""
    real = agent.connecting.accept

    def accept(conn: Any, vi: Any) -> Any:
        code = real(conn, vi)
        if code in (c.LEVEL, c.MTU):
            agent.transfer.flush(vi)
        return code
    agent.connecting.accept = accept


def flushed_by_a_late_peer(agent: Any) -> None:
    """A peer request that times out flushes the receives of its VI."""
    real = agent.connecting._peer_late

    def late(peer: Any) -> None:
        waits = peer in agent.connecting._pool
        real(peer)
        if waits:
            agent.transfer.flush(peer.vi)
    agent.connecting._peer_late = late


def half_set(agent: Any) -> None:
    """VipSetViAttributes that refuses a value has set level and size."""
    real = agent.connecting.set_attributes

    def change(vi: Any, attributes: Any) -> Any:
        code = real(vi, attributes)
        if code != c.OK and vi.state == c.IDLE:
            vi.attributes.level = attributes.level if code != c.LEVEL else vi.attributes.level
            vi.attributes.size = attributes.size if code != c.MTU else vi.attributes.size
        return code
    agent.connecting.set_attributes = change


def keeps_its_first_tag(agent: Any) -> None:
    """A VI that was given another tag reaches the memory of the first one, too."""
    change, reach, first = agent.connecting.set_attributes, agent.world.reach, dict[int, Any]()

    def changes(vi: Any, attributes: Any) -> Any:
        first.setdefault(id(vi), vi.attributes.ptag)
        return change(vi, attributes)

    def reaches(nic: Any, va: int, length: int, handle: int, ptag: Any) -> Any:
        old = (first[id(vi)] for vi in nic.vis if vi.attributes.ptag is ptag and id(vi) in first)
        return next((found for tag in (ptag, *old) if (found := reach(nic, va, length, handle, tag)) is not None), None)
    agent.connecting.set_attributes, agent.world.reach = changes, reaches


def last_byte_checked(agent: Any) -> None:
    """Of the target of an RDMA the last byte alone has to lie in the region."""
    real, world = agent.transfer._remote, agent.world

    def remote(vi: Any, at: Any, length: int, read: bool) -> bool:
        last = Segment(at.va + max(length, 1) - 1, at.handle, 0)
        return bool(real(vi, last, min(length, 1), read)) and world.space.block(at.va, length) is not None
    agent.transfer._remote = remote


def first_byte_of_a_sink(agent: Any) -> None:
    """Of what a receive or an RDMA Read fills the first byte alone has to lie in the region."""
    def writable(vi: Any, segments: Any) -> bool:
        world = agent.world
        return all(
            (block := world.space.block(one.va, one.length)) is not None and block.pages == "read-write"
            and world.reach(vi.nic, one.va, 1, one.handle, vi.attributes.ptag) is not None for one in segments if one.length)
    agent.transfer._writable = writable


def reads_below_the_maximum(agent: Any) -> None:
    """An RDMA Read has to be shorter than the maximum."""
    real = agent.transfer.read

    def read(vi: Any, work: Any, sending: bool) -> Any:
        form = real(vi, work, sending)
        if form is not None and not form.error and form.op == c.CONTROL_READ and form.length == vi.attributes.size:
            form.error = c.LENGTH
        return form
    agent.transfer.read = read


def reads_of_any_length(agent: Any) -> None:
    """An RDMA Read may be longer than the maximum."""
    real = agent.transfer.read

    def read(vi: Any, work: Any, sending: bool) -> Any:
        form = real(vi, work, sending)
        whole = form is not None and form.length == sum(segment.length for segment in form.segments)
        if whole and form.op == c.CONTROL_READ and form.error == c.LENGTH:
            form.error = 0
        return form
    agent.transfer.read = read


def one_name_service(agent: Any) -> None:
    """The Name Service is one for all NICs: it is initialised once."""
    real = agent.do_VipNSInit

    def init(p: Any) -> Any:
        nic = agent._nic(p)
        others = any(one.names is not None for one in agent.world.nics if one is not nic)
        return {"return": c.NAMESERVICE} if others else real(p)
    agent.do_VipNSInit = init


def one_shutdown(agent: Any) -> None:
    """VipNSShutdown ends the Name Service of all NICs."""
    real = agent.do_VipNSShutdown

    def shutdown(p: Any) -> Any:
        result = real(p)
        for nic in agent.world.nics if result["return"] == c.OK else ():
            nic.names = None
        return result
    agent.do_VipNSShutdown = shutdown


def writes_unfenced(agent: Any) -> None:
    """The fence of an RDMA Write counts for nothing."""
    real = agent.transfer.read

    def read(vi: Any, work: Any, sending: bool) -> Any:
        form = real(vi, work, sending)
        if form is not None and sending and form.op == c.CONTROL_WRITE:
            form.control &= ~c.CONTROL_FENCE
        return form
    agent.transfer.read = read


def passes_a_short_receive(agent: Any) -> None:
    """A receive that is too short for a message is passed over when the next one is long enough."""
    real = agent.transfer._consume

    def consume(vi: Any, form: Any, data: bytes, refused: Any) -> Any:
        waiting = [work for work in vi.receive.work if not work.status][:2]
        forms = [agent.transfer.read(vi, work, False) for work in waiting]
        room = [sum(segment.length for segment in one.segments) if one is not None and not one.error else -1 for one in forms]
        if form.op != c.CONTROL_WRITE and len(room) == 2 and 0 <= room[0] < len(data) <= room[1]:
            vi.receive.work.remove(waiting[0])
            vi.receive.work.append(waiting[0])
        return real(vi, form, data, refused)
    agent.transfer._consume = consume


def overlapping_go_too(agent: Any) -> None:
    """De-registering a region ends those that overlap it in part."""
    real = agent.world.deregister

    def deregister(nic: Any, va: int, handle: int) -> Any:
        gone, code = nic.regions.get(handle), real(nic, va, handle)
        for other, one in list(nic.regions.items()) if code == c.OK else ():
            if one.va != gone.va and one.va < gone.va + gone.length and gone.va < one.va + one.length:
                real(nic, one.va, other)
        return code
    agent.world.deregister = deregister


def cq_of_sends_destroyed(agent: Any) -> None:
    """A Completion Queue that send queues alone are tied to is destroyed."""
    real = agent.connecting.destroy_cq

    def destroy(cq: Any) -> str:
        tied = [vi for vi in cq.nic.vis if vi.send.cq is cq and vi.receive.cq is not cq]
        for vi in tied:
            vi.send.cq = None
        code: str = real(cq)
        for vi in tied if code != c.OK else ():
            vi.send.cq = cq
        return code
    agent.connecting.destroy_cq = destroy


def sends_waited_for_half(agent: Any) -> None:
    """Sends take 0.2 s, and VipSendWait gives them half of its timeout."""
    agent.world.choices = replace(agent.world.choices, delay_s=0.2)
    real = agent.do_VipSendWait

    def wait(p: Any) -> Any:
        return real({**p, "Timeout": p["Timeout"] // 2} if p.get("Timeout") else p)
    agent.do_VipSendWait = wait


def handle_lives_on(agent: Any) -> None:
    """The handle of a region that is gone gives access as long as another registration has its range."""
    world, gone = agent.world, dict[int, Any]()
    deregister, reach = world.deregister, world.reach

    def ends(nic: Any, va: int, handle: int) -> Any:
        region, code = nic.regions.get(handle), deregister(nic, va, handle)
        if code == c.OK and any(one.va == region.va and one.length == region.length for one in nic.regions.values()):
            gone[handle] = region
        return code

    def reaches(nic: Any, va: int, length: int, handle: int, ptag: Any) -> Any:
        old = gone.get(handle)
        there = old is not None and old.ptag is ptag and old.va <= va and va + length <= old.va + old.length
        return old if there else reach(nic, va, length, handle, ptag)
    world.deregister, world.reach = ends, reaches


def first_enables_of_a_vi(agent: Any) -> None:
    """The enables that a VI was made with count for ever, whatever is told."""
    change, remote, first = agent.connecting.set_attributes, agent.transfer._remote, dict[int, Any]()

    def changes(vi: Any, attributes: Any) -> Any:
        first.setdefault(id(vi), vi.attributes)
        return change(vi, attributes)

    def grants(vi: Any, at: Any, length: int, read: bool) -> bool:
        now = vi.attributes
        made = first.get(id(vi), now)
        vi.attributes = replace(now, write=made.write, read=made.read)
        try:
            return bool(remote(vi, at, length, read))
        finally:
            vi.attributes = now
    agent.connecting.set_attributes, agent.transfer._remote = changes, grants


def first_enables_of_a_region(agent: Any) -> None:
    """The enables that a region was registered with count for ever, whatever is told."""
    change, remote, first = agent.world.set_region, agent.transfer._remote, dict[int, Any]()

    def changes(nic: Any, va: int, handle: int, *rest: Any) -> Any:
        if handle in nic.regions:
            first.setdefault(handle, replace(nic.regions[handle]))
        return change(nic, va, handle, *rest)

    def grants(vi: Any, at: Any, length: int, read: bool) -> bool:
        regions, made = vi.nic.regions, first.get(at.handle)
        now = regions.get(at.handle)
        if now is None or made is None:
            return bool(remote(vi, at, length, read))
        regions[at.handle] = replace(now, write=made.write, read=made.read)
        try:
            return bool(remote(vi, at, length, read))
        finally:
            regions[at.handle] = now
    agent.world.set_region, agent.transfer._remote = changes, grants


def tells_the_first_enables(agent: Any) -> None:
    """The other end is told the enables that a VI was made with."""
    change, join, first = agent.connecting.set_attributes, agent.connecting._join, dict[int, Any]()

    def changes(vi: Any, attributes: Any) -> Any:
        first.setdefault(id(vi), vi.attributes)
        return change(vi, attributes)

    def joins(one: Any, two: Any) -> None:
        join(one, two)
        one.partner, two.partner = first.get(id(two), one.partner), first.get(id(one), two.partner)
    agent.connecting.set_attributes, agent.connecting._join = changes, joins


def flushed_in_idle_without_entries(agent: Any) -> None:
    """What VipDisconnect flushes in Idle has no entry on its Completion Queue."""
    real, enter = agent.transfer.disconnect, agent.transfer._enter

    def disconnect(vi: Any) -> None:
        if vi.state == c.IDLE:
            agent.transfer._enter = lambda *entry: None
        real(vi)
        agent.transfer._enter = enter
    agent.transfer.disconnect = disconnect


def regions_of_any_nic(agent: Any) -> None:
    """A region can be queried, changed and de-registered through any NIC."""
    world = agent.world

    def of_the_owner(real: Any) -> Any:
        def call(nic: Any, va: int, handle: int, *rest: Any) -> Any:
            return real(next((one for one in world.nics if handle in one.regions), nic), va, handle, *rest)
        return call
    for name in ("region", "deregister", "set_region"):
        setattr(world, name, of_the_owner(getattr(world, name)))


def accepts_in_error(agent: Any) -> None:
    """A VI in Error accepts a request."""
    real = agent.connecting.accept

    def accept(conn: Any, vi: Any) -> Any:
        vi.state = c.IDLE if vi.state == c.ERROR else vi.state
        return real(conn, vi)
    agent.connecting.accept = accept


def old_outcome(agent: Any) -> None:
    """The outcome of a VI's first peer request is told for the later ones, too."""
    real, first = agent.connecting.peer_done, dict[int, str]()

    def done(vi: Any) -> str:
        code: str = real(vi)
        return code if code in (c.NOT_DONE, c.STATE) else first.setdefault(id(vi), code)
    agent.connecting.peer_done = done


def immediate_unfenced(agent: Any) -> None:
    """The fence of what carries Immediate Data counts for nothing."""
    real = agent.transfer.read

    def read(vi: Any, work: Any, sending: bool) -> Any:
        form = real(vi, work, sending)
        if form is not None and sending and form.control & c.CONTROL_IMMEDIATE:
            form.control &= ~c.CONTROL_FENCE
        return form
    agent.transfer.read = read
