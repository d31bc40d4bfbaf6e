"""Says what a device in the role of the client owes (5.3.2, 8.3, 8.5)."""

from __future__ import annotations

from conformance.fcvi.steps import connection as steps, ius

from .letters import owed
from .world import OVER, World

#: Reason Codes of a refusal: what VipConnectRequest returns (None: anything but success), and the state that follows.
ANSWERS = {
    0x01: ("VIP_NO_MATCH", "idle"), 0x03: ("VIP_NO_MATCH", "idle"), 0x04: ("VIP_REJECT", "idle"), 0x20: (None, "error"),
    0x21: (None, "error"), 0xF5: (None, None),
}  # fmt: skip


def may_ask(world: World) -> bool:
    """Whether a request of the device's can be answered."""
    return not world.shaken and (world.slot.call is None or world.slot.call.done)


def _request(world: World, timeout_us: int | None) -> None:
    t, slot = world.t, world.slot
    world.rename(slot)
    slot.retries, slot.offered = 0, False
    slot.setup = steps.start_request(t, timeout_us=timeout_us, vi=slot.vi)
    slot.call, world.linked = slot.setup.call, False
    world.owe(slot.call, OVER)
    assert slot.setup.rqst is not None
    ius.check_header(t, slot.setup.rqst)
    ius.check_payload(t, slot.setup.rqst, slot.setup)
    steps.check_state(t, slot.vi, "pending", "FCVI-8.2-a2")


@owed("request", "idle", weight=8, needs="client", when=may_ask)
def request(world: World) -> str:
    """VipConnectRequest sends FCVI_CONNECT_RQST."""
    _request(world, None)
    return "requesting"


@owed("request-short", "idle", weight=2, needs="client", when=may_ask)
def request_short(world: World) -> str:
    """The same with a Timeout of half of R_A_TOV."""
    _request(world, world.t.r_a_tov_us // 2)
    return "requesting-short"


@owed("t1", "requesting-short", weight=8, needs="client")
def t1(world: World) -> str:
    """T1: VIP_TIMEOUT, and the VI is Idle (8.2 b)."""
    t, slot = world.t, world.slot
    assert slot.call is not None
    t.finish(slot.call, "FCVI-8.2-b2", returns="VIP_TIMEOUT")
    t.expect_return(slot.call, t.r_a_tov_us // 2, "FCVI-8.2-b2")
    steps.check_state(t, slot.vi, "idle", "FCVI-8.2-b2")
    return "given-up"


def _acknowledged(world: World) -> str:
    t, slot = world.t, world.slot
    ius.check_header(t, next(r for r in reversed(t.tester.inbox) if r.kind == "CONNECT_RESP2"))
    steps.check_state(t, slot.vi, "connected", "FCVI-8.2-b1")
    slot.sent = slot.taken = 0
    return "acked"


@owed("resp1", "requesting requesting-short given-up", weight=10, needs="client")
def resp1(world: World) -> str:
    """An accept: RESP2, VIP_SUCCESS and Connected; after T1 a RESP2 with Connect Timeout (C.5.6)."""
    t, slot = world.t, world.slot
    setup = slot.setup
    assert setup is not None
    if slot.phase == "given-up":
        handle = steps.send_resp1(t, setup)
        resp2 = t.expect("CONNECT_RESP2", "FCVI-6.10.1-01", exchange=setup.exchange, why="after a RESP1 that came after T1")
        steps.check_resp2(t, resp2, setup, handle, reason=steps.CONNECT_TIMEOUT)
        ius.check_status(t, resp2)
        steps.send_resp3(t, setup)
        t.settle()
        steps.check_state(t, slot.vi, "idle", "FCVI-8.2-b2")
        return "idle"
    slot.offered = True
    steps.accept_request(t, setup)
    return _acknowledged(world)


@owed("resp1-info", "requesting", weight=2, needs="client")
def resp1_info(world: World) -> str:
    """An accept with FCVI_CONNECT_INFO: CONN_STS alone says that it is one (E07)."""
    slot = world.slot
    assert slot.setup is not None
    slot.offered = True
    steps.accept_request(world.t, slot.setup, flags=2)
    return _acknowledged(world)


def _refusal(code: int) -> None:
    @owed(f"resp1-{code:02x}", "requesting", weight=1, needs="client")
    def refuse(world: World) -> str:
        t, slot = world.t, world.slot
        setup = slot.setup
        assert setup is not None and setup.call is not None
        handle = steps.send_resp1(t, setup, reason=code)
        resp2 = t.expect("CONNECT_RESP2", "FCVI-6.10.1-01", exchange=setup.exchange, why="after a refusing RESP1")
        steps.check_resp2(t, resp2, setup, handle)
        ius.check_status(t, resp2)
        steps.send_resp3(t, setup)
        returns, state = ANSWERS[code]
        requirement = "FCVI-8.2-b5" if state == "error" else "FCVI-8.2-b3"
        returned = t.finish(setup.call, requirement)
        t.require(returned != "VIP_SUCCESS", requirement, "a refusal was taken as an accept", returned, "no success")
        if returns is not None:
            t.require(returned == returns, "FCVI-4.2-38", f"VipConnectRequest returned {returned}", returned, returns)
        if state is not None:
            steps.check_state(t, slot.vi, state, requirement)
        return state if state == "idle" else "error-setup" if state == "error" else "unknown"


for _code in ANSWERS:
    _refusal(_code)


@owed("resp3", "acked", weight=12, needs="client")
def resp3(world: World) -> str:
    """RESP3 ends the setup."""
    t, slot = world.t, world.slot
    assert slot.setup is not None
    steps.send_resp3(t, slot.setup)
    t.settle()
    steps.check_state(t, slot.vi, "connected", "FCVI-8.2-d1")
    return "connected"


@owed("t3", "requesting acked", weight=3, needs="client")
def t3(world: World) -> str:
    """T3: ABTS; from Pending one retry and then VIP_NOT_REACHABLE, from Connected the loss of the connection (8.5.3 a)."""
    t, slot = world.t, world.slot
    setup = slot.setup
    assert setup is not None and setup.rqst is not None and setup.call is not None
    steps.expect_abts(t, setup.exchange, setup.rqst, "FCVI-8.5.3-a")
    if slot.phase == "acked":
        steps.check_state(t, slot.vi, "error", "FCVI-8.5.3-a3")
        steps.connection_lost(t, slot.vi, "FCVI-C-R5-e")
        return "error-setup"
    if setup.retry:
        t.finish(setup.call, "FCVI-8.5.4-02", returns="VIP_NOT_REACHABLE")
        steps.check_state(t, slot.vi, "error", "FCVI-8.5.3-a1")
        return "error-setup"
    slot.setup = steps.expect_retry(t, setup)
    steps.check_state(t, slot.vi, "pending", "FCVI-8.5.3-a2a")
    return "requesting"


def leave(world: World) -> str:
    """VipDisconnect while Pending: the setup is aborted by a Disconnect or by ABTS, and the VI is Idle."""
    t, slot = world.t, world.slot
    call = world.start("VipDisconnect", OVER, vi=slot.vi)
    t.owed(lambda: call.done or t.peek(["DISCONNECT_RQST"]) is not None)
    rqst = t.peek(["DISCONNECT_RQST"])
    if rqst is not None:
        rqst.taken = True
        t.equal(rqst, "CONN_SETUP_ABORT", 1, "FCVI-6.12.2-06")
        assert slot.setup is not None
        steps.send_disconnect_resp(t, rqst, slot.setup.dut_handle)
    t.finish(call, "FCVI-8.1-04", within_us=4 * t.r_a_tov_us, returns="VIP_SUCCESS")
    steps.check_state(t, slot.vi, "idle", "FCVI-8.1-03")
    return "unknown"
