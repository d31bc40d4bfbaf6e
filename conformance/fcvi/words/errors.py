"""Says how connections end: Disconnect of either side, and Endpoints in Error (5.3.5, 8.1, 8.6, annex D)."""

from __future__ import annotations

from conformance.fcvi.steps import connection as steps, ius
from conformance.fcvi.steps.connection import DOES_NOT_EXIST
from fcvi.fc.build import UNASSIGNED

from . import client
from .letters import owed
from .world import OVER, World


def _over(world: World) -> str:
    """The connection is over; the VI can serve again when all its Descriptors have come back (VI-DG 3.3.5)."""
    slot, t = world.slot, world.t
    slot.buffers.clear()
    slot.offered = False
    came_back = t.owed(lambda: world.pending(slot.vi) == 0)
    t.completions.clear()
    world.rename(slot)
    return "idle" if came_back else "unknown"


def vipdisc(world: World) -> str:
    """VipDisconnect asks the far side, waits for its answer, returns VIP_SUCCESS and leaves the VI Idle."""
    t, slot = world.t, world.slot
    if slot.phase == "requesting":
        return client.leave(world)
    setup = slot.setup
    assert setup is not None
    if slot.phase == "connected":
        steps.disconnect_and_answer(t, setup)
        ius.check_header(t, next(r for r in reversed(t.tester.inbox) if r.kind == "DISCONNECT_RQST"))
        world.look()
        slot.farewell = None
        return _over(world)
    call = world.start("VipDisconnect", OVER, vi=slot.vi)
    t.owed(lambda: call.done or t.peek(["DISCONNECT_RQST"]) is not None)
    asked = t.peek(["DISCONNECT_RQST"])
    if asked is not None:
        asked.taken = True
        t.equal(asked, "VI_APP_DISCON", 1, "FCVI-6.12.2-08")
        ius.check_status(t, asked)
        steps.send_disconnect_resp(t, asked, setup.dut_handle)
    t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
    steps.check_state(t, slot.vi, "idle", "FCVI-8.2-e1")
    world.look()
    slot.farewell = None
    after = _over(world)
    return "unknown" if slot.phase == "error-setup" else after


@owed("vipdisc-unanswered", "connected", weight=1, when=lambda w: not w.linked)
def unanswered(world: World) -> str:
    """Nobody answers the Disconnect: ABTS, VIP_NOT_REACHABLE, Error (8.6.3 a)."""
    steps.disconnect_unanswered(world.t, _setup(world))
    world.look()
    world.slot.farewell = None
    return "unknown"


def _setup(world: World) -> steps.Setup:
    setup = world.slot.setup
    assert setup is not None
    return setup


@owed("vipdisc", "connected requesting error error-setup idle", weight=3, when=lambda w: not w.linked)
def vipdisc_anywhere(world: World) -> str:
    """The same; from Idle nothing is there to end (8.1)."""
    if world.slot.phase != "idle":
        return vipdisc(world)
    t, slot = world.t, world.slot
    call = world.start("VipDisconnect", OVER, vi=slot.vi)
    t.owed(lambda: call.done or t.peek(["DISCONNECT_RQST"]) is not None)
    rqst = t.peek(["DISCONNECT_RQST"])
    if rqst is not None:  # E76
        rqst.taken = True
        steps.send_disconnect_resp(t, rqst, rqst.dh("FCVI_HANDLE"))
    t.finish(call, "FCVI-8.1-04", returns="VIP_SUCCESS")
    steps.check_state(t, slot.vi, "idle", "FCVI-8.2-a1")
    return "idle"


def disc(world: World) -> str:
    """The far side disconnects: it is answered, the VI goes to Error, and VIP_ERROR_CONN_LOST is told."""
    t, slot = world.t, world.slot
    setup = _setup(world)
    before = len(t.errors)
    exchange = steps.send_disconnect_rqst(t, handle=setup.dut_handle, connection_id=0, abort=0)
    resp = steps.expect_disconnect_resp(t, exchange, connection_id=0, abort=0, handle=setup.tester_handle)
    ius.check_header(t, resp)
    ius.check_status(t, resp)
    steps.check_state(t, slot.vi, "error", "FCVI-8.2-d3")
    t.owed(lambda: (slot.vi, "VIP_ERROR_CONN_LOST") in t.errors[before:])
    steps.connection_lost(t, slot.vi, "FCVI-D.2-02")
    slot.buffers.clear()
    return "error"


@owed("disc", "connected error", weight=2, when=lambda w: not w.linked)
def disc_anywhere(world: World) -> str:
    """The same; a VI in Error answers as well (5.3.5), as what is over already or as what it still knows (E68)."""
    t, slot = world.t, world.slot
    if slot.phase == "connected":
        return disc(world)
    exchange = steps.send_disconnect_rqst(t, handle=_setup(world).dut_handle, connection_id=0, abort=0)
    resp = t.expect("DISCONNECT_RESP", "FCVI-5.3.5-02", exchange=exchange, why="from a VI in Error")
    ius.check_status(t, resp)
    return "error"


@owed("disc-unknown", "idle connected", weight=1, when=lambda w: not w.linked)
def disc_unknown(world: World) -> str:
    """A Disconnect of what never was: the answer says so, and what is connected stays."""
    t, slot = world.t, world.slot
    known = {s.setup.dut_handle for s in world.slots if s.setup is not None}
    handle = next(h for h in range(0x7F3A51C0, 0x7F3A5200) if h not in known)
    exchange = steps.send_disconnect_rqst(t, handle=handle, connection_id=0, abort=0)
    resp = steps.expect_disconnect_resp(t, exchange, connection_id=0, abort=0)
    t.equal(resp, "FCVI_HANDLE", UNASSIGNED, "FCVI-D-R3-a1")
    steps.check_reason(t, resp, DOES_NOT_EXIST, "FCVI-5.9.7.3.2-11")
    steps.check_state(t, slot.vi, slot.phase, "FCVI-8.2-d1" if slot.phase == "connected" else "FCVI-8.2-a1")
    return slot.phase


@owed("abort-unknown", "idle connected", weight=1, when=lambda w: not w.linked)
def abort_unknown(world: World) -> str:
    """A Disconnect of a setup that never was."""
    t, slot = world.t, world.slot
    connection_id = t.rng.randrange(1, UNASSIGNED)
    exchange = steps.send_disconnect_rqst(t, handle=UNASSIGNED, connection_id=connection_id, abort=1)
    resp = steps.expect_disconnect_resp(t, exchange, connection_id=connection_id, abort=1)
    t.equal(resp, "FCVI_HANDLE", UNASSIGNED, "FCVI-6.13.2-03")
    steps.check_reason(t, resp, DOES_NOT_EXIST, "FCVI-5.9.7.3.2-11")
    return slot.phase
