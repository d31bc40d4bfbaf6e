"""The tester's view while a word runs: the VIs and setups it knows of, and what has come since it last looked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Call
from fcvi.fc.build import UNASSIGNED
from fcvi.fc.received import Exchange, Received

from conformance.fcvi.steps import connection as steps
from conformance.fcvi.steps.connection import Setup
from conformance.fcvi.steps.messages import Region

#: Times R_A_TOV after which whatever began has ended, whichever of the permitted ways it took.
OVER = 8
MOST_POSTED = 4  # Descriptors of a queue that a word keeps posted
_REQUESTS = ("SEND_RQST", "WRITE_RQST", "READ_RQST")


@dataclass
class Buffer:
    """A receive Descriptor that was posted."""

    region: Region
    length: int


@dataclass
class Slot:
    """One VI of the device, with an address of its own, and the setup that the tester last heard of or began for it.

    phase: where a conforming pair stands; "unknown" once a letter came out of place.
    """

    number: int
    vi: int
    discriminator: bytes
    handle: int
    phase: str = "idle"
    setup: Optional[Setup] = None
    wait: Optional[Call] = None
    conn: Optional[int] = None
    call: Optional[Call] = None  # VipConnectAccept, VipConnectRequest or VipConnectPeerWait
    leaving: Optional[Call] = None  # VipDisconnect
    farewell: Optional[Received] = None  # FCVI_DISCONNECT_RQST that the tester has not answered
    abts: Optional[Received] = None
    asked: list[Received] = field(default_factory=list)  # Message Requests that the tester has not answered
    buffers: list[Buffer] = field(default_factory=list)  # posted and not completed
    answered: Optional[Exchange] = None  # the last Exchange on which the device sent FCVI_CONNECT_RESP1
    void: Optional[Exchange] = None  # that the tester has aborted or ended out of place
    sent: int = 0  # Messages of the tester on this connection
    taken: int = 0  # Messages of the device that the tester has seen
    offered: bool = False  # the tester has sent an accepting RESP1 or RESP2 for the setup: it may be Connected
    weighed: Optional[Call] = None  # the call whose success was looked at last
    retries: int = 0
    target: Optional[Region] = None


class World:
    """A scenario with the slots of the word. judged: duties are demanded; else letters are only played."""

    def __init__(self, t: Scenario, judged: bool) -> None:
        self.t, self.judged = t, judged
        self.slots: list[Slot] = []
        self.calls: list[tuple[Call, Optional[int]]] = []  # with the longest time that they may take; None: any
        self.regions: list[tuple[Region, int, bytes]] = []  # how many bytes of it the device may write, and what was there
        self.payloads: set[bytes] = set()  # Message Data that the tester has sent
        self.linked = t.config["login"] == "explicit"  # nobody is logged in: the tester's requests need not be answered
        self.shaken = False  # a link event happened: the device may be busy with logins
        self.murky = False  # a letter came out of place since all was over: nothing is owed
        self.disturbed = False  # the same since the word began
        self.unagreed: list[Call] = []  # connect calls that succeeded though the tester had not agreed
        self.even = False  # letters last as long on every device
        self._seen = 0  # of the tester's inbox
        self.fresh()

    # ---- slots ----

    @property
    def slot(self) -> Slot:
        """The one that letters are about."""
        return self.slots[-1]

    def fresh(self) -> None:
        """A new VI with a new address."""
        t = self.t
        length = int(t.params.get("discriminator_length", 16))
        first = t.params.get("first_handle")
        handle = int(first) if first is not None and not self.slots else t.rng.randrange(1, UNASSIGNED)
        slot = Slot(len(self.slots), steps.create_vi(t), t.rng.randbytes(length), handle)
        self.slots.append(slot)
        self.face(slot)

    def face(self, slot: Slot) -> None:
        """From here on letters are about this slot."""
        self.slots.remove(slot)
        self.slots.append(slot)
        self.t.params = {**self.t.params, "discriminator": slot.discriminator, "handle": slot.handle}

    def rename(self, slot: Slot) -> None:
        """The tester gives its next Endpoint another FCVI_HANDLE."""
        slot.handle = self.t.rng.randrange(1, UNASSIGNED)
        self.t.params = {**self.t.params, "handle": slot.handle}

    def stray(self) -> None:
        """The letter that comes now is out of place: of this slot nothing is known any more."""
        self.slot.phase = "unknown"
        self.murky = self.disturbed = True

    # ---- calls ----

    def pending(self, vi: int) -> int:
        """Descriptors of this VI that are posted and have not completed."""
        t: Any = self.t
        if not hasattr(t, "posted"):
            return 0  # a case does not count them
        return sum(t.posted[vi, queue] - t.counted.by_queue[vi, queue] for queue in ("send", "recv"))

    def start(self, method: str, within: Optional[float], **params: Any) -> Call:
        """A call that may block; within: times R_A_TOV in which it returns, None: it may take for ever."""
        call = self.t.start(method, **params)
        self.calls.append((call, None if within is None else int(within * self.t.r_a_tov_us)))
        return call

    def owe(self, call: Optional[Call], within: float) -> None:
        """The same for a call that a step started."""
        if call is not None:
            self.calls.append((call, int(within * self.t.r_a_tov_us)))

    def blocked(self) -> list[Call]:
        """Calls that have not returned within their time."""
        late = self.t.pixit.late_us
        return [c for c, within in self.calls if within is not None and not c.done and self.t.now_us > c.started_us + within + late]

    # ---- what came ----

    def look(self) -> list[Received]:
        """Take note of what the device has sent, and give it."""
        inbox = self.t.tester.inbox
        new, self._seen = inbox[self._seen :], len(inbox)
        for received in new:
            self._note(received)
        for slot in self.slots:
            if slot.wait is not None and slot.wait.done:
                result = slot.wait.result()
                if result.get("return") == "VIP_SUCCESS":
                    slot.conn = slot.wait.integer("conn")
                slot.wait = None
            if slot.call is not None and slot.call.done and slot.call is not slot.weighed:
                slot.weighed = slot.call
                if slot.call.reply.result.get("return") == "VIP_SUCCESS" and not slot.offered:
                    self.unagreed.append(slot.call)
            if slot.leaving is not None and slot.leaving.done:
                slot.leaving = None
        return new

    def _note(self, received: Received) -> None:
        slot = self._slot_of(received)
        kind = received.kind
        if kind == "CONNECT_RQST":
            if slot.setup is None or slot.setup.exchange is not received.exchange:
                self.t.tester.assign_rx_id(received.exchange)
                self._adopt(slot, received)
            slot.retries += received.dh("RQST_RETRY")
        elif kind == "CONNECT_RESP1" and slot.setup is not None and slot.setup.exchange is received.exchange:
            slot.answered = received.exchange
            if not received.dh("CONN_STS"):
                slot.setup.dut_handle = received.conn_int("FCVI_RESP_HANDLE")
        elif kind == "DISCONNECT_RQST":
            slot.farewell = received
        elif kind == "ABTS":
            slot.abts = received
        elif kind in _REQUESTS and (received.fc("Last_Sequence") or received.fc("Sequence_Initiative")):
            slot.asked.append(received)

    def _adopt(self, slot: Slot, rqst: Received) -> None:
        slot.setup = Setup(
            steps.CLIENT, slot.vi, rqst.exchange, rqst.dh("FCVI_CONNECTION_ID"), rqst.conn_int("FCVI_RQST_HANDLE"), slot.handle,
            slot.call, rqst, rqst.dh("RQST_RETRY"), rqst.dh("CONN_MODE"),
        )  # fmt: skip

    def _slot_of(self, received: Received) -> Slot:
        for slot in reversed(self.slots):
            setup = slot.setup
            if setup is not None and received.exchange is setup.exchange:
                return slot
        if received.kind == "CONNECT_RQST":
            for slot in reversed(self.slots):
                if slot.discriminator in received.payload[:160]:
                    return slot
        elif received.last.kind == "iu":
            handle = received.dh("FCVI_HANDLE")
            for slot in reversed(self.slots):
                if slot.setup is not None and handle == slot.setup.tester_handle:
                    return slot
        return self.slot


def register(world: World, length: int, writable: int, **how: Any) -> Region:
    """VipRegisterMem; writable: so many bytes of it the device may write."""
    from conformance.fcvi.steps.messages import register as plain

    region = plain(world.t, length, **how)
    data: bytes = how.get("data") or b""
    world.regions.append((region, writable, data.ljust(length, b"\xa5")))
    return region
