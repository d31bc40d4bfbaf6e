"""Faults of what a provider tells of an error, and of what it takes for none."""

from __future__ import annotations

from typing import Any

from . import codes as c
from .objects import ErrorReport
from .threads import Steps


def refused_read_as_write(agent: Any) -> None:
    """The end that refuses an RDMA Read is told that it refused a Write."""
    real = agent.world.report

    def report(said: Any) -> None:
        said.code = "VIP_ERROR_RDMAW_PROT" if said.code == "VIP_ERROR_RDMAR_PROT" else said.code
        real(said)
    agent.world.report = report


def no_address(agent: Any) -> None:
    """VipQueryNic tells an address of no bytes, and that it has none."""
    real = agent.do_VipQueryNic

    def query(p: Any) -> Any:
        result = real(p)
        result["NicAttribs"].update(NicAddressLen=0, LocalNicAddress="")
        return result
    agent.do_VipQueryNic = query


def calls_behind_the_cq(agent: Any) -> None:
    """A handler that waits at a Completion Queue is called with NULL when that has gone."""
    destroy, asked = agent.connecting.destroy_cq, agent.do_VipCQNotify
    told: dict[str, Any] = {"what": "VipCQNotify", "nic": None, "vi": None, "RecvQueue": False, "count": 1}

    def asks(p: Any) -> Any:
        result = asked(p)
        told.update(cq=p.get("cq"), Context=p.get("Context", 0), registration=result.get("registration"))
        return result

    def destroys(cq: Any) -> str:
        code: str = destroy(cq)
        agent.world.threads.after(0.02, lambda: agent._notify("notify", told))
        return code
    agent.connecting.destroy_cq, agent.do_VipCQNotify = destroys, asks


def takes_a_part(agent: Any) -> None:
    """A message that was cut on its way is a good message of so many bytes."""
    harm, consume, cut = agent.transfer.wire.harm, agent.transfer._consume, [False]

    def heals(sender: Any) -> str:
        found: str = harm(sender)
        cut[0] = found == "cut"
        return "" if cut[0] else found

    def consumes(vi: Any, form: Any, data: bytes, refused: Any) -> Any:
        data, cut[0] = data[: len(data) // 2] if cut[0] else data, False
        return consume(vi, form, data, refused)
    agent.transfer.wire.harm, agent.transfer._consume = heals, consumes


def sizes_differ(agent: Any) -> None:
    """An accept joins two VIs whose maxima differ, and each keeps its own."""
    real = agent.connecting._differ

    def differ(mine: Any, theirs: Any) -> Any:
        code = real(mine, theirs)
        return c.OK if code == c.MTU else code
    agent.connecting._differ = differ


def no_host_is_any(agent: Any) -> None:
    """A request whose address has no host is successful, though nobody took it."""
    real = agent.connecting.request

    def request(vi: Any, local: Any, remote: Any, seconds: Any) -> Steps[str]:
        return c.OK if not remote.host else (yield from real(vi, local, remote, seconds))
    agent.connecting.request = request


def waits_on(agent: Any) -> None:
    """A handler of the send queue waits on when the queue has become empty."""
    real = agent.transfer._hand

    def hand(queue: Any, va: Any) -> None:
        if va is None and not queue.receive:
            queue.handlers.popleft()
        else:
            real(queue, va)
    agent.transfer._hand = hand


def closed_nic_calls(agent: Any, after_s: float = 0.02) -> None:
    """The error handler of a NIC that was closed is called for a VI that it had, so long after."""
    real = agent.connecting.close

    def close(nic: Any) -> None:
        handler, lost = nic.handler, [vi for vi in nic.vis if vi.state == c.CONNECTED]
        real(nic)
        for vi in lost if handler is not None else ():
            report = ErrorReport("VIP_ERROR_CONN_LOST", "VIP_RESOURCE_VI", nic, vi)
            agent.world.threads.after(after_s, lambda: handler(report))  # noqa: B023
    agent.connecting.close = close


def last_registration_first(agent: Any) -> None:
    """Of several handlers that wait at a Completion Queue the last one gets the first entry."""
    real = agent.transfer.serve

    def serve(cq: Any) -> None:
        if not cq.entries:
            cq.handlers.rotate(1)
        real(cq)
    agent.transfer.serve = serve


def two_waits_one_descriptor(agent: Any) -> None:
    """A completion ends every Wait on its queue, each with the same Descriptor."""
    done, waiting = agent.transfer.done, dict[int, list[list[Any]]]()

    def wait(vi: Any, queue: Any, seconds: Any) -> Steps[Any]:
        if queue.cq is not None:
            return c.RESOURCE, None
        mine: list[Any] = []
        waiting.setdefault(id(queue), []).append(mine)
        yield from agent.world.until(lambda: vi.gone or not queue.work or bool(queue.work[0].status) or bool(mine), seconds)
        waiting[id(queue)].remove(mine)
        code, va = mine[0] if mine else (c.PARAMETER, None) if vi.gone else done(vi, queue)
        if va is not None and not mine:
            for other in waiting[id(queue)]:
                other.append((code, va))
        return (c.TIMEOUT if code == c.NOT_DONE else code), va
    agent.transfer.wait = wait


def newest_entry_first(agent: Any) -> None:
    """The handler of a Completion Queue gets the newest entry."""
    real = agent.transfer.serve

    def serve(cq: Any) -> None:
        if cq.handlers and cq.entries:
            cq.entries.rotate(1)
        real(cq)
    agent.transfer.serve = serve


def notified_of_receives(agent: Any) -> None:
    """VipSendNotify on an empty send queue registers for the receives."""
    real = agent.transfer.notify
    agent.transfer.notify = lambda vi, queue, handler: real(vi, queue if queue.work else vi.receive, handler)


def endless_wait_ends(agent: Any) -> None:
    """VipCQWait without a limit ends after a second."""
    real = agent.do_VipCQWait
    agent.do_VipCQWait = lambda p: real({**p, "Timeout": 1_000_000 if p.get("Timeout") is None else p["Timeout"]})


def short_discriminators_of_peers(agent: Any) -> None:
    """Of the discriminators of peers eight bytes are compared."""
    agent.connecting._partner = lambda mine: next(
        (p for p in agent.connecting._pool if p is not mine and p.host == mine.vi.nic.address and p.vi.nic.address == mine.host
         and p.discriminator[:8] == mine.discriminator[:8]), None)


def late_peer_stays(agent: Any) -> None:
    """A peer request whose time is up still meets others."""
    def late(peer: Any) -> None:
        if peer in agent.connecting._pool:
            peer.vi.outcome, peer.vi.state = c.TIMEOUT, c.IDLE
    agent.connecting._peer_late = late


def disconnected_peer_stays(agent: Any) -> None:
    """A peer request that VipDisconnect took back still meets others."""
    real = agent.connecting.disconnect

    def disconnect(vi: Any) -> Any:
        pool = list(agent.connecting._pool)
        code = real(vi)
        agent.connecting._pool = pool
        return code
    agent.connecting.disconnect = disconnect


def destroyed_with_sends(agent: Any) -> None:
    """VipDestroyVi does not look at the send queue."""
    real = agent.connecting.destroy_vi

    def destroy(vi: Any) -> Any:
        if vi.state == c.IDLE:
            vi.send.work.clear()
        return real(vi)
    agent.connecting.destroy_vi = destroy
