"""Says what a device owes as one of two Peers (5.3.3, 5.3.4)."""

from __future__ import annotations

from conformance.fcvi.steps import peers
from conformance.fcvi.steps import connection as steps

from .client import may_ask
from .letters import owed
from .world import World


@owed("peer", "idle", weight=4, needs="peer_to_peer", when=lambda w: may_ask(w) and not w.linked)
def peer(world: World) -> str:
    """VipConnectPeerRequest sends a request in Peer-to-Peer mode."""
    t, slot = world.t, world.slot
    world.rename(slot)
    slot.retries, slot.offered = 0, False
    slot.setup = peers.start_peer(t, vi=slot.vi)
    slot.call = slot.setup.call
    return "peering"


@owed("peer-accept", "peering", weight=6, needs="peer_to_peer")
def accept(world: World) -> str:
    """The other Peer accepts."""
    slot = world.slot
    assert slot.setup is not None
    slot.offered = True
    peers.accept_own(world.t, slot.setup)
    peers.connected(world.t, slot.setup, "FCVI-5.3.3-02")
    slot.sent = slot.taken = 0
    return "connected"


@owed("cross", "peering", weight=6, needs="peer_to_peer")
def cross(world: World) -> str:
    """The requests cross: the higher Port_Name accepts, the lower one waits and refuses with 05h (5.3.4)."""
    t, slot = world.t, world.slot
    own = slot.setup
    assert own is not None
    if own.retry:
        return accept(world)
    world.rename(slot)
    other = peers.send_peer_rqst(t)
    other.vi = slot.vi
    slot.offered = True
    if int(t.config["port_name"], 16) > int(t.config["peer"]["port_name"], 16):
        peers.expect_peer_accept(t, other, "FCVI-5.3.4-a")
        slot.setup = other
        peers.finish_other(t, other)
        peers.connected(t, own, "FCVI-5.3.4-05")
        peers.refuse_own(t, own, peers.CONCURRENT)
        other.call = own.call
    else:
        peers.accept_own(t, own)
        peers.expect_peer_refusal(t, other, peers.CONCURRENT, "FCVI-5.3.4-b2")
        peers.finish_other(t, other, refused=True)
        peers.connected(t, own, "FCVI-5.3.4-04")
    steps.check_state(t, slot.vi, "connected", "FCVI-5.3.4-02")
    slot.sent = slot.taken = 0
    return "connected"


@owed("peer-refuse", "peering", weight=1, needs="peer_to_peer")
def refuse(world: World) -> str:
    """The other Peer refuses: no connection results."""
    slot = world.slot
    assert slot.setup is not None and slot.setup.call is not None
    peers.refuse_own(world.t, slot.setup, steps.CONNECT_REJECT)
    peers.not_connected(world.t, slot.setup, "FCVI-5.3.3-02")
    return "unknown"


@owed("peer-t3", "peering", weight=1, needs="peer_to_peer", when=lambda w: w.slot.setup is not None and not w.slot.setup.retry)
def t3(world: World) -> str:
    """A Peer retries as a client does (8.5.3 a)."""
    t, slot = world.t, world.slot
    setup = slot.setup
    assert setup is not None and setup.rqst is not None
    steps.expect_abts(t, setup.exchange, setup.rqst, "FCVI-8.5.3-a")
    slot.setup = steps.expect_retry(t, setup)
    return "peering"
