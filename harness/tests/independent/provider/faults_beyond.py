"""Faults that show where the application does what it is asked not to do: it overruns a Completion Queue, takes Descriptors
behind the back of an entry or a handler, alters Next, closes a NIC without a shutdown."""

from __future__ import annotations

import functools
from typing import Any

from . import codes as c
from .objects import ErrorReport
from .transfer import CONTROL, SEGMENT


def _when_full(agent: Any, does: Any) -> None:
    """Of an entry for which there is no room as many as were asked for, this becomes; whether it is made all the same."""
    transfer, real = agent.transfer, agent.transfer._enter

    def enter(cq: Any, vi: Any, receive: bool) -> None:
        if len(cq.entries) < cq.room or does(cq, vi, receive):
            real(cq, vi, receive)
    transfer._enter = enter


def overrun_loses_descriptors(agent: Any) -> None:
    """With the entry goes the Descriptor."""
    def does(cq: Any, vi: Any, receive: bool) -> bool:
        queue = vi.receive if receive else vi.send
        queue.announced -= 1
        del queue.work[queue.announced]
        return False
    _when_full(agent, does)


def overrun_names_another(agent: Any) -> None:
    """The last entry comes to name the other queue of its VI."""
    def does(cq: Any, vi: Any, receive: bool) -> bool:
        cq.entries[-1] = vi, not receive
        return False
    _when_full(agent, does)


def overrun_repeats(agent: Any) -> None:
    """Each entry for which there is no room makes three."""
    def does(cq: Any, vi: Any, receive: bool) -> bool:
        cq.entries.extend([(vi, receive)] * 2)
        return True
    _when_full(agent, does)


def overrun_stops_the_cq(agent: Any) -> None:
    """A Completion Queue that was overrun gets no entry any more."""
    full: set[int] = set()
    transfer, real = agent.transfer, agent.transfer._enter

    def enter(cq: Any, vi: Any, receive: bool) -> None:
        if len(cq.entries) >= cq.room:
            full.add(id(cq))
        if id(cq) not in full:
            real(cq, vi, receive)
    transfer._enter = enter


def overrun_stops_every_cq(agent: Any) -> None:
    """When one Completion Queue is overrun, the others get no entry any more."""
    full: set[int] = set()
    transfer, real = agent.transfer, agent.transfer._enter

    def enter(cq: Any, vi: Any, receive: bool) -> None:
        if len(cq.entries) >= cq.room:
            full.add(id(cq))
        if not full - {id(cq)}:
            real(cq, vi, receive)
    transfer._enter = enter


def taken_comes_again(agent: Any) -> None:
    """With an entry whose Descriptor was taken that Descriptor is on its queue again."""
    transfer, last = agent.transfer, dict[Any, Any]()
    done, entry = transfer.done, agent._entry

    def takes(vi: Any, queue: Any) -> Any:
        work = queue.work[0] if queue.work else None
        code, va = done(vi, queue)
        if va is not None:
            last[vi, queue.receive] = work
        return code, va

    def gives(cq: Any) -> Any:
        vi, receive = cq.entries[0]
        queue = vi.receive if receive else vi.send
        if not queue.work and (vi, receive) in last:
            queue.work.append(last.pop((vi, receive)))
            queue.announced = 1
        return entry(cq)
    transfer.done, agent._entry = takes, gives


def notified_and_done(agent: Any) -> None:
    """What a handler was given is left on its queue."""
    transfer = agent.transfer

    def announce(vi: Any, queue: Any) -> None:
        while queue.announced < len(queue.work) and queue.work[queue.announced].status:
            queue.announced += 1
            if queue.cq is not None:
                transfer._enter(queue.cq, vi, queue.receive)
        if queue.handlers and queue.announced:
            transfer._hand(queue, queue.work[0].va)
        while queue.handlers and not queue.work:
            transfer._hand(queue, None)
    transfer.announce = announce


def notified_is_lost(agent: Any) -> None:
    """Done, where handlers wait, takes a Descriptor and gives none."""
    transfer, done, notify = agent.transfer, agent.transfer.done, agent.transfer.notify
    mixed: set[int] = set()

    def notifies(vi: Any, queue: Any, handler: Any) -> str:
        mixed.add(id(queue))
        code: str = notify(vi, queue, handler)
        return code

    def takes(vi: Any, queue: Any) -> Any:
        code, va = done(vi, queue)
        if va is not None and id(queue) in mixed:
            mixed.remove(id(queue))
            return c.NOT_DONE, None
        return code, va
    transfer.done, transfer.notify = takes, notifies


def next_is_followed(agent: Any) -> None:
    """What Next leads to is received into, whatever was posted."""
    transfer, consume = agent.transfer, agent.transfer._consume

    def consumes(vi: Any, form: Any, data: bytes, refused: Any) -> Any:
        work = next((work for work in vi.receive.work if not work.status), None)
        head = agent.world.space.read(work.va, 32) if work is not None else None
        altered = head is not None and work.link not in (None, head[:12])
        result = consume(vi, form, data, refused)
        if altered:
            va = CONTROL.unpack(head)[0]
            segment = agent.world.space.read(va + 32, 16)
            agent.world.space.write(SEGMENT.unpack(segment)[0], data[:16])
        return result
    transfer._consume = consumes


def next_is_sent(agent: Any) -> None:
    """Behind a Send whose Next was altered what Next leads to is sent."""
    transfer, do = agent.transfer, agent.transfer._do

    def does(vi: Any, work: Any, form: Any) -> None:
        do(vi, work, form)
        head = agent.world.space.read(work.va, 32)
        if head is not None and work.link not in (None, head[:12]) and vi.peer is not None:
            segment = agent.world.space.read(CONTROL.unpack(head)[0] + 32, 16)
            va, _, size = SEGMENT.unpack(segment)
            transfer._consume(vi.peer, form, agent.world.space.read(va, size), 0)
    transfer._do = does


def next_stops(agent: Any) -> None:
    """Behind a receive whose Next was altered nothing is received, and nobody is told."""
    transfer, consume = agent.transfer, agent.transfer._consume

    def consumes(vi: Any, form: Any, data: bytes, refused: Any) -> Any:
        work = next((work for work in vi.receive.work if not work.status), None)
        head = agent.world.space.read(work.va, 12) if work is not None else None
        if head is not None and work.link not in (None, head):
            return 0, None
        return consume(vi, form, data, refused)
    transfer._consume = consumes


def any_handle(agent: Any) -> None:
    """A Descriptor may come with the handle of any region of the right tag."""
    world, transfer = agent.world, agent.transfer

    def right(vi: Any, va: int, handle: int) -> int:
        region = vi.nic.regions.get(handle)
        if region is None or region.ptag is not vi.attributes.ptag:
            return handle
        return next((other for other, one in vi.nic.regions.items()
                     if one.va <= va < one.va + one.length and one.ptag is region.ptag), handle)
    post = transfer.post
    transfer.post = lambda vi, receive, va, handle: post(vi, receive, va, right(vi, va, handle))
    del world


def tail_unchecked(agent: Any) -> None:
    """Of a Descriptor the first 32 bytes have to lie in its region."""
    reach = agent.world.reach
    agent.world.reach = lambda nic, va, length, handle, ptag: (
        reach(nic, va, 32 if length > 32 and length % 64 == 32 or length > 4096 else length, handle, ptag))


def loss_stops_sends(agent: Any) -> None:
    """At Unreliable Delivery no Send completes behind a message that was lost."""
    transfer, finish, consume, lost = agent.transfer, agent.transfer._finish, agent.transfer._consume, set[Any]()
    harm = transfer.wire.harm

    def harms(sender: Any) -> str:
        found: str = harm(sender)
        if found == "lose" and sender.attributes.level == c.UD:
            lost.add(sender)
        return found

    def consumes(vi: Any, form: Any, data: bytes, refused: Any) -> Any:
        if vi.attributes.level == c.UD and not any(not work.status for work in vi.receive.work):
            lost.add(vi.peer)
        return consume(vi, form, data, refused)

    def finishes(vi: Any, queue: Any, *rest: Any) -> None:
        if queue.receive or vi not in lost:
            finish(vi, queue, *rest)
    transfer.wire.harm, transfer._consume, transfer._finish = harms, consumes, finishes


def reports_and_stays(agent: Any) -> None:
    """An end that tells of an empty receive queue stays Connected."""
    transfer, real = agent.transfer, agent.transfer.break_connection

    def breaks(vi: Any, code: Any) -> None:
        peer = vi.peer
        if code != "VIP_ERROR_RECVQ_EMPTY" or peer is None:
            real(vi, code)
            return
        agent.world.report(ErrorReport(code, "VIP_RESOURCE_VI", vi.nic, vi))
        transfer._far(peer)
    transfer.break_connection = breaks


def short_and_stays(agent: Any) -> None:
    """An end whose receive is too short stays Connected, and so does the other one."""
    transfer, real, consume = agent.transfer, agent.transfer.break_connection, agent.transfer._consume
    short: list[Any] = []

    def consumes(vi: Any, form: Any, data: bytes, refused: Any) -> Any:
        work = next((work for work in vi.receive.work if not work.status), None)
        result = consume(vi, form, data, refused)
        if work is not None and work.status & c.LENGTH:
            short.append(vi)
        return result
    transfer._consume = consumes
    transfer.break_connection = lambda vi, code: None if short and short.pop() is vi else real(vi, code)


def _passes_a_read(agent: Any, changed: Any) -> None:
    """What passes an RDMA Read is changed so."""
    transfer, arrive = agent.transfer, agent.transfer._arrive

    def arrives(vi: Any, peer: Any, work: Any, form: Any, data: bytes, harm: str) -> None:
        reading = any(other.started and not other.status for other in vi.send.work)
        arrive(vi, peer, work, form, changed(agent, form, data) if reading else data, harm)
    transfer._arrive = arrives


def passing_send_is_cut(agent: Any) -> None:
    """A Send that passes an RDMA Read is received without its end."""
    _passes_a_read(agent, lambda _, form, data: data[:-8] if form.op == 0 else data)


def passing_write_is_longer(agent: Any) -> None:
    """An RDMA Write that passes an RDMA Read goes on behind its target."""
    _passes_a_read(agent, lambda _, form, data: data + b"\0" * 64 if form.op == 1 else data)


def buffer_written_again(agent: Any) -> None:
    """What is received goes into the buffer of the receive before, too."""
    transfer, scatter, before = agent.transfer, agent.transfer._scatter, list[Any]()

    def scatters(segments: Any, data: bytes) -> None:
        scatter(segments, data)
        for old in before:
            scatter(old, data[:8])
        before[:] = [*before, segments][:1]
    transfer._scatter = scatters


def service_stays(agent: Any) -> None:
    """A Name Service that was not shut down is initialised for the NIC ever after, and no new handle of it can shut it down."""
    init, close, stays = agent.do_VipNSInit, agent.do_VipCloseNic, set[str]()

    def closes(p: Any) -> Any:
        nic = agent._nic(p)
        if nic.names is not None:
            stays.add(nic.device)
        return close(p)
    agent.do_VipCloseNic = closes
    agent.do_VipNSInit = lambda p: {"return": c.NAMESERVICE} if agent._nic(p).device in stays else init(p)


def needs_a_tag(agent: Any) -> None:
    """A library without VipCreatePtag wants a tag for a region all the same."""
    register, create = agent.do_VipRegisterMem, agent.do_VipCreateVi

    def wants(real: Any, name: str, p: Any) -> Any:
        return {"return": c.PTAG} if (p.get(name) or {}).get("Ptag") is None else real(p)
    agent.do_VipRegisterMem = functools.partial(wants, register, "MemAttribs")
    agent.do_VipCreateVi = functools.partial(wants, create, "ViAttribs")


def disconnected_peer_waits(agent: Any) -> None:
    """VipConnectPeerDone of a VI whose request was taken back by VipDisconnect tells that it is under way."""
    real, waits = agent.connecting.peer_done, set[Any]()
    disconnect = agent.connecting.disconnect

    def disconnects(vi: Any) -> Any:
        if any(peer.vi is vi for peer in agent.connecting._pool):
            waits.add(vi)
        return disconnect(vi)
    agent.connecting.disconnect = disconnects
    agent.connecting.peer_done = lambda vi: c.NOT_DONE if vi in waits else real(vi)
