"""VIs and their Connections (S 4, 5; G 3.2, 3.3, 6.7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

from . import codes as c
from .objects import Attributes, Cq, ErrorReport, Nic, Queue, Thing, Vi
from .threads import Steps, Thread
from .transfer import Transfer
from .world import World


@dataclass
class Address:
    """VIP_NET_ADDRESS."""

    host: bytes
    discriminator: bytes


@dataclass(eq=False)
class Conn(Thing):
    """A request that met a wait."""

    nic: Nic
    client: Vi
    local: Address
    attributes: Attributes
    result: Optional[str] = None


@dataclass(eq=False)
class Wait:
    """A VipConnectWait that blocks."""

    nic: Nic
    discriminator: bytes
    conn: Optional[Conn] = None


@dataclass(eq=False)
class Peer:
    """A peer request in the pool."""

    vi: Vi
    host: bytes
    discriminator: bytes
    epoch: int = field(default=0)


class Connecting:
    """The VIs of one world."""

    def __init__(self, world: World, transfer: Transfer) -> None:
        self.world, self.transfer = world, transfer
        self._waits: list[Wait] = []
        self._pool: list[Peer] = []

    # ---- VIs and Completion Queues ----

    def create_vi(self, nic: Nic, attributes: Attributes, send: Optional[Cq], receive: Optional[Cq]) -> tuple[str, Optional[Vi]]:
        """G 3.2.1."""
        if any(cq is not None and (cq.gone or cq.nic is not nic) for cq in (send, receive)):
            return c.PARAMETER, None
        if (code := self.world.check_attributes(nic, attributes)) != c.OK:
            return code, None
        if len(nic.vis) >= self.world.choices.most_vis:
            return c.RESOURCE, None
        threads = self.world.threads
        vi = Vi(nic, attributes, Queue(False, send, Thread(threads)), Queue(True, receive, Thread(threads)))
        assert attributes.ptag is not None
        attributes.ptag.users += 1
        nic.vis.append(vi)
        return c.OK, vi

    def destroy_vi(self, vi: Vi) -> str:
        """G 3.2.2: Idle, and nothing left to dequeue."""
        if vi.state != c.IDLE or vi.send.work or vi.receive.work:
            return self.world.choices.busy_code
        vi.gone = True
        for queue in (vi.send, vi.receive):
            queue.handlers.clear()
            if queue.cq is not None:
                queue.cq.entries = type(queue.cq.entries)(entry for entry in queue.cq.entries if entry[0] is not vi)
        assert vi.attributes.ptag is not None
        vi.attributes.ptag.users -= 1
        vi.nic.vis.remove(vi)
        return c.OK

    def set_attributes(self, vi: Vi, attributes: Attributes) -> str:
        """G 3.7.2: in Idle, all or nothing."""
        if vi.state != c.IDLE:
            return c.STATE
        if (code := self.world.check_attributes(vi.nic, attributes)) != c.OK:
            return code
        assert vi.attributes.ptag is not None and attributes.ptag is not None
        vi.attributes.ptag.users -= 1
        attributes.ptag.users += 1
        vi.attributes = attributes
        return c.OK

    def create_cq(self, nic: Nic, entries: int) -> tuple[str, Optional[Cq]]:
        """G 3.6.1; the queue is never too short for what comes (at least EntryCount)."""
        if not entries and not self.world.choices.cq_zero:
            return c.PARAMETER, None
        if entries > self.world.choices.entries or len(nic.cqs) >= self.world.choices.most_cqs:
            return c.RESOURCE, None
        nic.cqs.append(Cq(nic, Thread(self.world.threads), entries))
        return c.OK, nic.cqs[-1]

    def destroy_cq(self, cq: Cq) -> str:
        """G 3.6.2."""
        if any(cq in (vi.send.cq, vi.receive.cq) for vi in cq.nic.vis):
            return c.RESOURCE
        cq.gone = True
        cq.handlers.clear()
        cq.nic.cqs.remove(cq)
        return c.OK

    # ---- helpers ----

    def _usable(self, nic: Nic, address: Address) -> bool:
        return address.host == nic.address and self._fits(address.discriminator)

    def _fits(self, discriminator: bytes) -> bool:
        least = 0 if self.world.choices.short_discriminators else 16
        return least <= len(discriminator) <= self.world.choices.discriminator

    def _same(self, one: bytes, two: bytes) -> bool:
        """The same discriminator; here it may be padded with zeros (A48)."""
        size = max(len(one), len(two)) if self.world.choices.padded else 0
        return one.ljust(size, b"\0") == two.ljust(size, b"\0")

    def _differ(self, one: Attributes, two: Attributes) -> str:
        if one.qos != two.qos:
            return c.QOS
        if one.size != two.size and not self.world.choices.sizes_meet:
            return c.MTU
        return c.LEVEL if one.level != two.level else c.OK

    def _join(self, one: Vi, two: Vi) -> None:
        if self.world.choices.sizes_meet:
            one.attributes.size = two.attributes.size = min(one.attributes.size, two.attributes.size)
        for vi, other in ((one, two), (two, one)):
            vi.state, vi.peer, vi.lost, vi.partner = c.CONNECTED, other, False, other.attributes
            vi.epoch += 1
        for vi in (one, two):
            self.transfer.connected(vi)

    def _held(self, vi: Vi) -> bool:
        """An error of the Idle state comes out now (S 5.1)."""
        if vi.held is None:
            return False
        code, vi.held, vi.state = vi.held, None, c.PENDING
        self.transfer.fail(vi, None)
        self.world.report(ErrorReport(code, "VIP_RESOURCE_VI", vi.nic, vi))
        return True

    # ---- client and server ----

    def wait(self, nic: Nic, local: Address, seconds: Optional[float]) -> Steps[tuple[str, Optional[Conn]]]:
        """VipConnectWait (G 3.3.1)."""
        if not self._usable(nic, local):
            return c.PARAMETER, None
        wait = Wait(nic, local.discriminator)
        if self.world.choices.one_wait and any(w.nic is nic and w.discriminator == wait.discriminator for w in self._waits):
            return c.RESOURCE, None
        if seconds != 0 and self.world.choices.waits_begin_s:
            yield self.world.threads.until(lambda: self.world.ended or nic.gone, self.world.choices.waits_begin_s)
        self._waits.append(wait)
        yield from self.world.until(lambda: wait.conn is not None or nic.gone, seconds)
        if wait in self._waits:
            self._waits.remove(wait)
        if wait.conn is None:
            return (c.PARAMETER if nic.gone else c.TIMEOUT), None
        return c.OK, wait.conn

    def request(self, vi: Vi, local: Address, remote: Address, seconds: Optional[float]) -> Steps[str]:
        """VipConnectRequest (G 3.3.4)."""
        if seconds == 0:
            return self.world.choices.no_time
        if not self._usable(vi.nic, local) or not self._fits(remote.discriminator):
            return c.PARAMETER
        if vi.state != c.IDLE or self._held(vi):
            return c.STATE
        if self.transfer.wire.down and self.world.choices.partition_seen:
            return self._unreachable(vi)
        if self.transfer.wire.down or remote.host not in (vi.nic.address, vi.nic.other):
            vi.state, epoch = c.PENDING, vi.epoch
            yield from self.world.until(lambda: vi.gone or vi.epoch != epoch, seconds)
            if vi.epoch == epoch and vi.state == c.PENDING:
                vi.state = c.IDLE
            return c.TIMEOUT if vi.epoch == epoch else self.world.choices.cut_off
        waits = self._waits[::-1] if self.world.choices.last_first else self._waits
        wait = next((w for w in waits if w.conn is None and w.nic.address == remote.host
                     and self._same(w.discriminator, remote.discriminator)), None)
        if wait is None:
            return self.world.choices.no_match
        self._waits.remove(wait)
        conn = wait.conn = Conn(wait.nic, vi, local, vi.attributes)
        vi.state, epoch = c.PENDING, vi.epoch
        own = self.world.choices.wire_gives_up_s if seconds is None else 0.0
        yield from self.world.until(lambda: conn.result is not None or vi.gone or vi.epoch != epoch, own or seconds)
        if conn.result is not None:
            return conn.result
        conn.result = c.TIMEOUT
        if vi.epoch != epoch:
            return self.world.choices.cut_off
        if own and vi.attributes.level != c.UD:
            self.transfer.fail(vi, None)
        else:
            vi.state = c.IDLE
        return c.UNREACHABLE if own else c.TIMEOUT

    def _unreachable(self, vi: Vi) -> str:
        """A partition (G 3.3.4): at a reliable level the VI goes to Error."""
        if vi.attributes.level != c.UD and not self.world.choices.unreachable_idle:
            vi.state = c.PENDING
            self.transfer.fail(vi, None)
        return "VIP_NOT_REACHABLE"

    def accept(self, conn: Conn, vi: Vi) -> str:
        """VipConnectAccept (G 3.3.2): unequal attributes leave the request as it was."""
        if conn.gone or vi.nic.device != conn.nic.device:
            return c.PARAMETER
        if vi.state != c.IDLE or self._held(vi):
            return c.STATE
        if conn.result is not None:
            conn.gone = True
            if self.world.choices.late_accept_ends:
                vi.state = c.PENDING
                self.transfer.fail(vi, None)
            return c.TIMEOUT
        if self.transfer.wire.down:
            conn.gone = True
            return self._unreachable(vi) if self.world.choices.partition_seen else c.TIMEOUT
        if (code := self._differ(vi.attributes, conn.attributes)) != c.OK:
            return code
        conn.gone, conn.result = True, c.OK
        self._join(conn.client, vi)
        return c.OK

    def reject(self, conn: Conn) -> str:
        """VipConnectReject (G 3.3.3): success also when the client is gone (G 6.7)."""
        if conn.gone:
            return c.PARAMETER
        conn.gone = True
        if self.transfer.wire.down:
            return "VIP_NOT_REACHABLE" if self.world.choices.partition_seen else c.OK
        if conn.result is None:
            conn.result, conn.client.state = c.REJECT, c.IDLE
        return c.OK

    # ---- peers ----

    def peer_request(self, vi: Vi, local: Address, remote: Address, seconds: Optional[float]) -> str:
        """VipConnectPeerRequest (G 3.3.6): matched in order (G 6.7)."""
        if seconds == 0 or not self._usable(vi.nic, local) or not self._fits(remote.discriminator):
            return c.PARAMETER
        if vi.state != c.IDLE or self._held(vi):
            return c.STATE
        vi.state, vi.outcome = c.PENDING, None
        mine = Peer(vi, remote.host, remote.discriminator, vi.epoch)
        late = self.world.choices.peers_meet_late_s
        if self._partner(mine) is None or self.transfer.wire.down or late:
            self._pool.append(mine)
            if seconds is not None:
                self.world.threads.after(seconds, lambda: self._peer_late(mine))
            if late:
                self.world.threads.after(late, lambda: self._meets(mine))
            return c.OK
        return self._met(mine)

    def _partner(self, mine: Peer) -> Optional[Peer]:
        return next((p for p in self._pool if p is not mine and p.host == mine.vi.nic.address and p.vi.nic.address == mine.host
                     and self._same(p.discriminator, mine.discriminator)), None)

    def _meets(self, mine: Peer) -> None:
        if mine in self._pool and self._partner(mine) is not None and not self.transfer.wire.down:
            self._pool.remove(mine)
            self._met(mine)

    def _met(self, mine: Peer) -> str:
        vi, other = mine.vi, self._partner(mine)
        assert other is not None
        self._pool.remove(other)
        code = self._differ(vi.attributes, other.vi.attributes)
        if code != c.OK and self.world.choices.peers_one_told:
            self._pool.append(other)
            vi.outcome, vi.state = code, c.IDLE
            return c.OK
        vi.outcome = other.vi.outcome = code
        if code == c.OK:
            self._join(vi, other.vi)
        else:
            vi.state = other.vi.state = c.IDLE
        return c.OK

    def _peer_late(self, peer: Peer) -> None:
        if peer in self._pool:
            self._pool.remove(peer)
            peer.vi.outcome, peer.vi.state = c.TIMEOUT, c.IDLE

    def peer_done(self, vi: Vi) -> str:
        """VipConnectPeerDone (G 3.3.7): the outcome is given once (A32)."""
        if vi.outcome is not None:
            outcome = vi.outcome
            vi.outcome = outcome if self.world.choices.peer_again else None
            return outcome
        return c.NOT_DONE if any(peer.vi is vi for peer in self._pool) else c.STATE

    def peer_wait(self, vi: Vi) -> Steps[str]:
        """VipConnectPeerWait (G 3.3.8)."""
        yield from self.world.until(lambda: vi.gone or vi.outcome is not None or not any(p.vi is vi for p in self._pool), None)
        return c.PARAMETER if vi.gone else self.peer_done(vi)

    def disconnect(self, vi: Vi) -> str:
        """VipDisconnect, which also takes a setup back."""
        waits = any(peer.vi is vi for peer in self._pool)
        self._pool = [peer for peer in self._pool if peer.vi is not vi]
        vi.outcome = self.world.choices.cut_off if waits and self.world.choices.cut_off != c.STATE else None
        self.transfer.disconnect(vi)
        return c.OK

    def close(self, nic: Nic) -> None:
        """VipCloseNic."""
        for vi in list(nic.vis):
            self.disconnect(vi)
        self.transfer.close(nic)
