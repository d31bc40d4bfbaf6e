"""Says what a device in the role of the server owes (5.3.2, 8.5)."""

from __future__ import annotations

from conformance.fcvi.steps import connection as steps, ius
from conformance.fcvi.steps.connection import CONNECT_REJECT, CONNECT_TIMEOUT, NO_MATCH, NO_WAITING

from .letters import owed
from .plain import request_iu
from .world import OVER, World


def reachable(world: World) -> bool:
    """Whether the two ports are logged in, so that the tester's requests have to be answered."""
    return not world.linked


def _nobody_waits(world: World) -> bool:
    return reachable(world) and world.slot.wait is None and world.slot.conn is None


@owed("wait", "idle", weight=8, needs="server", when=_nobody_waits)
def wait(world: World) -> str:
    """VipConnectWait, which waits."""
    world.slot.wait = steps.start_wait(world.t)
    world.calls.append((world.slot.wait, None))
    return "listening"


def _offer(world: World) -> str:
    slot = world.slot
    assert slot.wait is not None
    slot.conn = steps.finish_wait(world.t, slot.wait)
    slot.wait, slot.offered = None, False
    return "offered"


@owed("rqst", "listening", weight=8, needs="server", when=reachable)
def rqst(world: World) -> str:
    """A matching request makes VipConnectWait return with the address of its sender."""
    request_iu(world)
    return _offer(world)


@owed("rqst-info", "listening", needs="server", when=reachable)
def rqst_info(world: World) -> str:
    """The same with FCVI_CONNECT_INFO, which is ignored (5.9.4.4)."""
    request_iu(world, info=bytes(256))
    return _offer(world)


@owed("rqst-early", "idle", weight=2, needs="server", when=_nobody_waits)
def rqst_early(world: World) -> str:
    """A request that nobody waits for is refused."""
    request_iu(world)
    return _refused(world, [NO_WAITING, NO_MATCH])


@owed("rqst-elsewhere", "listening", weight=2, needs="server", when=reachable)
def rqst_elsewhere(world: World) -> str:
    """A request for an address that nobody waits at is refused, and who waits elsewhere goes on waiting."""
    t, slot = world.t, world.slot
    held = t.params
    t.params = {**held, "discriminator": bytes(x ^ 0x5A for x in slot.discriminator)}
    request_iu(world)
    _refused(world, [NO_MATCH, NO_WAITING])
    _finish_refusal(world)
    t.params = {**held, "handle": slot.handle}
    t.require(slot.wait is not None and not slot.wait.done, "FCVI-4.2-36", "VipConnectWait returned for another address",
              "returned", "still blocked")  # fmt: skip
    return "listening"


def _refused(world: World, reasons: list[int]) -> str:
    t, setup = world.t, world.slot.setup
    assert setup is not None
    resp1 = t.expect("CONNECT_RESP1", "FCVI-6.9.1-01", exchange=setup.exchange, why="to refuse the request")
    steps.check_resp1(t, resp1, setup, refused=reasons)
    ius.check_header(t, resp1)
    ius.check_status(t, resp1)
    setup.dut_handle = resp1.conn_int("FCVI_RESP_HANDLE")
    return "refused"


def _finish_refusal(world: World) -> None:
    t, setup = world.t, world.slot.setup
    assert setup is not None
    steps.send_resp2(t, setup)
    resp3 = t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after FCVI_CONNECT_RESP2")
    steps.check_resp3(t, resp3, setup, refused=True)
    ius.check_header(t, resp3)


def resp2_refused(world: World) -> str:
    """A refused setup ends with RESP2 and RESP3 as well."""
    _finish_refusal(world)
    return "idle"


@owed("accept", "offered", weight=8, needs="server", when=reachable)
def accept(world: World) -> str:
    """VipConnectAccept sends an accepting RESP1."""
    t, slot = world.t, world.slot
    assert slot.setup is not None and slot.conn is not None
    slot.setup.vi = slot.vi
    slot.call = slot.setup.call = world.start("VipConnectAccept", OVER, conn=slot.conn, vi=slot.vi)
    slot.conn = None
    _accepted(world)
    steps.check_state(t, slot.vi, "pending", "FCVI-8.2-a2")
    return "accepting"


def _accepted(world: World) -> None:
    t, slot = world.t, world.slot
    assert slot.setup is not None
    resp1 = steps.expect_accept(t, slot.setup)
    ius.check_header(t, resp1)
    ius.check_payload(t, resp1, slot.setup)


@owed("reject", "offered", needs="server", when=reachable)
def reject(world: World) -> str:
    """VipConnectReject refuses with Connect Reject."""
    t, slot = world.t, world.slot
    call = t.call("VipConnectReject", conn=slot.conn)
    slot.conn = None
    t.require(call.returned() == "VIP_SUCCESS", "FCVI-5.9.7.2.1-04", "VipConnectReject failed", call.returned(), "VIP_SUCCESS")
    return _refused(world, [CONNECT_REJECT])


@owed("resp2", "accepting refused", weight=8, needs="server", when=reachable)
def resp2(world: World) -> str:
    """RESP2 makes the connection: RESP3, VIP_SUCCESS, Connected. After a refusal it ends the setup."""
    t, slot = world.t, world.slot
    if slot.phase == "refused":
        return resp2_refused(world)
    assert slot.setup is not None
    slot.offered = True
    steps.finish_accept(t, slot.setup)
    ius.check_header(t, next(r for r in reversed(t.tester.inbox) if r.kind == "CONNECT_RESP3"))
    steps.check_state(t, slot.vi, "connected", "FCVI-8.2-b1")
    slot.sent = slot.taken = 0
    return "connected"


@owed("resp2-02", "accepting", weight=2, needs="server", when=reachable)
def resp2_timeout(world: World) -> str:
    """The client had given up: no connection results (C.5.6)."""
    t, slot = world.t, world.slot
    setup = slot.setup
    assert setup is not None and setup.call is not None
    steps.send_resp2(t, setup, reason=CONNECT_TIMEOUT)
    resp3 = t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after RESP2 with status")
    steps.check_resp3(t, resp3, setup, refused=True)
    code = t.finish(setup.call, "FCVI-8.2-b3")
    t.require(code != "VIP_SUCCESS", "FCVI-8.2-b3", "VipConnectAccept succeeded without a connection", code, "VIP_TIMEOUT")
    steps.check_state(t, slot.vi, "idle", "FCVI-8.2-b3")
    return "unknown"


@owed("retry", "accepting", weight=3, needs="server", when=reachable)
def retry(world: World) -> str:
    """RESP1 was lost: the client aborts and asks again with RETRY; the device answers the same again (C rule 8)."""
    t, slot = world.t, world.slot
    first = slot.setup
    assert first is not None
    steps.tester_abts(t, first.exchange)
    slot.setup = steps.send_rqst(t, retry_of=first)
    slot.setup.vi, slot.setup.call = slot.vi, first.call
    _accepted(world)
    return "accepting"


@owed("t2", "accepting", weight=2, needs="server", when=reachable)
def t2(world: World) -> str:
    """RESP2 never comes: VipConnectAccept does not succeed, and the VI is no more Pending (8.5.2 c, 8.5.3 d)."""
    t, slot = world.t, world.slot
    assert slot.call is not None
    code = t.finish(slot.call, "FCVI-8.5.2-c", within_us=3 * t.r_a_tov_us)
    t.require(code != "VIP_SUCCESS", "FCVI-8.3-03", "VipConnectAccept succeeded without RESP2", code, "VIP_TIMEOUT")
    steps.check_state(t, slot.vi, "error", "FCVI-8.5.3-d", {"idle": "E61"})
    return "unknown"


@owed("disc-abort", "accepting", weight=2, needs="server", when=reachable)
def disc_abort(world: World) -> str:
    """The client gives up by a Disconnect: it is answered, and VipConnectAccept does not succeed (D rule 2)."""
    t, slot = world.t, world.slot
    setup = slot.setup
    assert setup is not None and setup.call is not None
    exchange = steps.send_disconnect_rqst(t, handle=setup.dut_handle, connection_id=setup.connection_id, abort=1)
    steps.expect_disconnect_resp(t, exchange, connection_id=setup.connection_id, abort=1, handle=setup.tester_handle)
    code = t.finish(setup.call, "FCVI-8.5.3-d")
    t.require(code != "VIP_SUCCESS", "FCVI-8.5.3-d", "VipConnectAccept succeeded after a Disconnect", code, "no success")
    steps.check_state(t, slot.vi, "error", "FCVI-6.12.1-01", {"idle": "E61"})
    return "error"
