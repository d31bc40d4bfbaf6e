"""Letters as they are played wherever they come: calls, IUs of the tester's and time, without any duty."""

from __future__ import annotations

from fcvi.fc.build import FC_VI, UNASSIGNED, RawFrame
from fcvi.fc.received import Received

from conformance.fcvi.steps import connection as steps
from conformance.fcvi.steps.connection import Setup

from .letters import played
from .world import OVER, World

LASTING = ("idle", "listening", "connected", "error")  # phases that time does not end
_FIRST_WORDS = (0x10, 0x12)  # FCVI_OPCODE of FCVI_CONNECT_RQST and FCVI_DISCONNECT_RQST: a copy may be taken for another one
REFUSALS = (0x01, 0x03, 0x04, 0x05, 0x20, 0x21, 0x22, 0xF5)


# ---- calls ----


def _wait(world: World, timeout_us: int | None) -> None:
    t, slot = world.t, world.slot
    if slot.wait is None and slot.conn is None:
        within = None if timeout_us is None else timeout_us / t.r_a_tov_us
        slot.wait = world.start("VipConnectWait", within, LocalAddr=steps.dut_address(t), Timeout=timeout_us)


@played("wait", needs="server")
def wait(world: World) -> None:
    """VipConnectWait without end."""
    _wait(world, None)


@played("wait-short", needs="server")
def wait_short(world: World) -> None:
    """VipConnectWait for half of R_A_TOV."""
    _wait(world, world.t.r_a_tov_us // 2)


@played("accept", needs="server")
def accept(world: World) -> None:
    """VipConnectAccept of the request that VipConnectWait returned."""
    slot = world.slot
    if slot.conn is not None:
        slot.call = world.start("VipConnectAccept", OVER, conn=slot.conn, vi=slot.vi)
        if not (slot.call.done and slot.call.returned() == "VIP_INVALID_STATE"):
            slot.conn = None
            if slot.setup is not None:
                slot.setup.vi, slot.setup.call = slot.vi, slot.call


@played("reject", needs="server")
def reject(world: World) -> None:
    """VipConnectReject of the request that VipConnectWait returned."""
    slot = world.slot
    if slot.conn is not None:
        world.start("VipConnectReject", OVER, conn=slot.conn)
        slot.conn = None


def request_of(world: World, timeout_us: int | None) -> None:
    """VipConnectRequest, unless the slot's last one is under way."""
    t, slot = world.t, world.slot
    if slot.call is None or slot.call.done:
        slot.retries = 0
        slot.call = world.start(
            "VipConnectRequest", OVER, vi=slot.vi, LocalAddr=steps.dut_address(t), RemoteAddr=steps.tester_address(t),
            Timeout=timeout_us,
        )  # fmt: skip


@played("request", needs="client")
def request(world: World) -> None:
    """VipConnectRequest without end."""
    request_of(world, None)


@played("request-short", needs="client")
def request_short(world: World) -> None:
    """VipConnectRequest for half of R_A_TOV."""
    request_of(world, world.t.r_a_tov_us // 2)


@played("peer", needs="peer_to_peer")
def peer(world: World) -> None:
    """VipConnectPeerRequest, and VipConnectPeerWait for its result."""
    t, slot = world.t, world.slot
    if slot.call is not None and not slot.call.done:
        return
    slot.retries = 0
    first = world.start(
        "VipConnectPeerRequest", 1, vi=slot.vi, LocalAddr=steps.dut_address(t), RemoteAddr=steps.tester_address(t), Timeout=None
    )
    if first.done and first.returned() == "VIP_SUCCESS":
        slot.call = world.start("VipConnectPeerWait", None, vi=slot.vi)


@played("vipdisc")
def vipdisc(world: World) -> None:
    """VipDisconnect, unless one is under way."""
    slot = world.slot
    if slot.leaving is None:
        slot.leaving = world.start("VipDisconnect", OVER, vi=slot.vi)


@played("destroy")
def destroy(world: World) -> None:
    """VipDestroyVi, and another VI when it was taken."""
    call = world.start("VipDestroyVi", 1, vi=world.slot.vi)
    if call.done and call.returned() == "VIP_SUCCESS":
        gone = world.slot
        world.t.vis.remove(gone.vi)
        world.fresh()
        world.slots.remove(gone)


@played("other")
def other(world: World) -> None:
    """The word goes on with another VI and another address; this one stays as it is."""
    if len(world.slots) < 6:
        world.fresh()


@played("back")
def back(world: World) -> None:
    """The word goes on with the VI that it was about longest ago."""
    world.face(world.slots[0])


# ---- IUs of the tester's ----


def request_iu(world: World, **how: object) -> None:
    """FCVI_CONNECT_RQST of the tester's on a new Exchange."""
    slot = world.slot
    world.rename(slot)
    slot.setup = steps.send_rqst(world.t, **how)  # type: ignore[arg-type]
    slot.setup.vi = slot.vi


@played("rqst", needs="server")
def rqst(world: World) -> None:
    """A request for the slot's address."""
    request_iu(world)


@played("rqst-info", needs="server")
def rqst_info(world: World) -> None:
    """The same with FCVI_CONNECT_INFO."""
    request_iu(world, info=bytes(256))


@played("rqst-peer", needs="server")
def rqst_as_peer(world: World) -> None:
    """A Peer's request where a Server may wait."""
    request_iu(world, flags=steps.PEER_TO_PEER)


@played("peer-rqst", needs="peer_to_peer")
def peer_rqst(world: World) -> None:
    """A Peer's request for the slot's address, beside the device's own."""
    slot, t = world.slot, world.t
    other_setup = steps.send_rqst(t, flags=steps.PEER_TO_PEER)
    other_setup.vi = slot.vi
    if slot.setup is None:
        slot.setup = other_setup


@played("rqst-level", needs="server")
def rqst_level(world: World) -> None:
    """A request with another Reliability Level than the VI's."""
    slot, t = world.slot, world.t
    level = 3 if steps.attributes_of(t)["FCVI_RELIABILITY_LVL"] != 3 else 1
    held = t.params
    t.params = {**held, "tester_attributes": {"FCVI_RELIABILITY_LVL": level, "EnRdmaRd": 0}}
    request_iu(world)
    t.params = {**held, "handle": slot.handle}


@played("rqst-unassigned", needs="server")
def rqst_unassigned(world: World) -> None:
    """A request with FCVI_RQST_HANDLE FFFFFFFFh, which nobody may have (5.9.2, E12)."""
    t = world.t
    held = t.params
    t.params = {**held, "handle": UNASSIGNED}
    world.slot.setup = steps.send_rqst(t)
    t.params = held


@played("retry", needs="server")
def retry(world: World) -> None:
    """The tester's request again with RETRY, on a new Exchange, whether or not the first one was aborted."""
    slot = world.slot
    if slot.setup is not None and slot.setup.role == steps.SERVER:
        first = slot.setup
        slot.setup = steps.send_rqst(world.t, retry_of=first, flags=first.mode)
        slot.setup.vi, slot.setup.dut_handle = slot.vi, first.dut_handle


@played("abts")
def abts(world: World) -> None:
    """The tester aborts the Exchange of the setup."""
    if world.slot.setup is not None:
        world.slot.void = world.slot.setup.exchange
        world.t.tester.send_abts(world.slot.setup.exchange)
        world.t.settle()


@played("baacc")
def baacc(world: World) -> None:
    """The tester accepts the device's last ABTS."""
    if world.slot.abts is not None:
        world.t.tester.send_ba_acc(world.slot.abts)
        world.slot.abts = None
        world.t.settle()


def _setup(world: World, role: str) -> Setup | None:
    setup = world.slot.setup
    if setup is None or setup.exchange is world.slot.void:
        return None  # no port goes on where it has aborted
    return setup if setup.role == role or setup.mode == steps.PEER_TO_PEER else None


@played("resp1", needs="client or peer_to_peer")
def resp1(world: World) -> None:
    """The tester accepts the device's request."""
    setup = _setup(world, steps.CLIENT)
    if setup is not None:
        world.slot.offered = True
        steps.send_resp1(world.t, setup)
        world.t.settle()


def _refuse(code: int) -> None:
    @played(f"resp1-{code:02x}", needs="client or peer_to_peer")
    def refuse(world: World) -> None:
        setup = _setup(world, steps.CLIENT)
        if setup is not None:
            steps.send_resp1(world.t, setup, reason=code)
            world.t.settle()


for _code in REFUSALS:
    _refuse(_code)


@played("resp2", needs="server or peer_to_peer")
def resp2(world: World) -> None:
    """The tester acknowledges the device's answer, once it has come: before that no port could send this."""
    setup = _setup(world, steps.SERVER)
    if setup is not None and setup.exchange is world.slot.answered:
        world.slot.offered = True
        steps.send_resp2(world.t, setup)
        world.t.settle()


@played("resp2-02", needs="server or peer_to_peer")
def resp2_timeout(world: World) -> None:
    """The tester's application has given up: FCVI_CONNECT_RESP2 with Connect Timeout."""
    setup = _setup(world, steps.SERVER)
    if setup is not None and setup.exchange is world.slot.answered:
        steps.send_resp2(world.t, setup, reason=steps.CONNECT_TIMEOUT)
        world.t.settle()


@played("resp3", needs="client or peer_to_peer")
def resp3(world: World) -> None:
    """The tester ends the setup Exchange."""
    setup = _setup(world, steps.CLIENT)
    if setup is not None:
        steps.send_resp3(world.t, setup)
        world.slot.void = setup.exchange
        world.t.settle()


def disconnect(world: World, *, abort: int) -> None:
    """FCVI_DISCONNECT_RQST of the tester's."""
    setup = world.slot.setup
    if setup is not None:
        steps.send_disconnect_rqst(
            world.t, handle=setup.dut_handle, connection_id=setup.connection_id if abort else 0, abort=abort
        )
        world.t.settle()


@played("disc")
def disc(world: World) -> None:
    """The tester disconnects what it takes for an established connection."""
    disconnect(world, abort=0)


@played("disc-abort")
def disc_abort(world: World) -> None:
    """The tester aborts the setup by a Disconnect."""
    disconnect(world, abort=1)


@played("disc-unknown")
def disc_unknown(world: World) -> None:
    """A Disconnect for a handle that the device never gave out."""
    known = {s.setup.dut_handle for s in world.slots if s.setup is not None}
    handle = next(h for h in range(0x7F3A51C0, 0x7F3A5200) if h not in known)
    steps.send_disconnect_rqst(world.t, handle=handle, connection_id=0, abort=0)
    world.t.settle()


def _answer_disconnect(world: World, reason: int | None) -> None:
    slot = world.slot
    if slot.farewell is not None:
        handle = slot.setup.dut_handle if slot.setup is not None and reason != steps.DOES_NOT_EXIST else UNASSIGNED
        steps.send_disconnect_resp(world.t, slot.farewell, handle, reason)
        slot.farewell = None
        world.t.settle()


@played("discresp")
def discresp(world: World) -> None:
    """The tester answers the device's Disconnect."""
    _answer_disconnect(world, None)


@played("discresp-4a")
def discresp_unknown(world: World) -> None:
    """The tester answers the device's Disconnect: it knows of no such connection."""
    _answer_disconnect(world, steps.DOES_NOT_EXIST)


@played("again")
def again(world: World) -> None:
    """The tester's last FC-VI frame a second time, within R_A_TOV: later no copy of it can come (FC-FS)."""
    since = world.t.now_us - world.t.r_a_tov_us // 2
    trace = world.t.tester.trace[-12:]
    heard = {f.data[16:18] for f in trace if f.sender == "dut"}  # a request that is not answered yet may still be on its way
    recent = [f for f in trace if f.sender == "tester" and f.time_us >= since and f.data[16:18] in heard]
    sent = [f for f in recent if len(f.data) > 28 and f.data[8] == FC_VI and f.data[28] not in _FIRST_WORDS]
    if sent:
        world.t.tester.send_frame(RawFrame(sent[-1].data, sent[-1].sof, sent[-1].eof), "sent twice")
        world.t.settle()


# ---- time ----


def pass_time(world: World, us: int) -> None:
    """Let time pass."""
    world.t.wait(us)


@played("tick")
def tick(world: World) -> None:
    """Until the device's next timer, an eighth of R_A_TOV at least and R_A_TOV at most; half of it where nobody says."""
    t = world.t
    told = t.dut.next_us if t.dut.knows_next and not world.even else None
    due = told if told is not None else t.r_a_tov_us // 2
    pass_time(world, min(max(due + 1, t.r_a_tov_us // 8), t.r_a_tov_us))


@played("half")
def half(world: World) -> None:
    """Half of R_A_TOV."""
    pass_time(world, world.t.r_a_tov_us // 2)


@played("r-a-tov", weight=2)
def r_a_tov(world: World) -> None:
    """R_A_TOV and what a timer may be late."""
    pass_time(world, world.t.r_a_tov_us + world.t.pixit.late_us)


@played("rest", weight=2)
def rest(world: World) -> None:
    """All that began is over; logins are made again. What follows is about a new VI."""
    t = world.t
    answer_all(world)
    for _ in range(OVER):
        t.wait(t.r_a_tov_us)
        world.look()
        answer_all(world)
    for slot in world.slots:
        if slot.phase not in LASTING:
            slot.phase = "unknown"
    if len(world.slots) < 12:
        world.fresh()
    world.murky = world.shaken = False
    for received in t.tester.inbox:
        received.taken = True
    t.completions.clear()


def answer_all(world: World) -> None:
    """The tester answers ABTS and Disconnects that wait for it: as a port does by itself."""
    for slot in world.slots:
        if slot.abts is not None:
            world.t.tester.send_ba_acc(slot.abts)
            slot.abts = None
        if slot.farewell is not None and slot.setup is not None:
            steps.send_disconnect_resp(world.t, slot.farewell, slot.setup.dut_handle)
            slot.farewell = None
    world.t.settle()


def of_kind(received: list[Received], *kinds: str) -> list[Received]:
    """Those of these kinds."""
    return [r for r in received if r.kind in kinds]
