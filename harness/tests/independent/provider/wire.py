"""The wire between the two NICs: how long it takes, what it loses at UD, and what an injector does to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from . import codes as c
from .objects import Vi, Work
from .world import ADDRESSES, World

if TYPE_CHECKING:
    from .transfer import Transfer

_TIMER_S = 0.3
_BITS = {"corrupt": c.TRANSPORT, "cut": c.TRANSPORT | c.PARTIAL}
_LOST = "VIP_ERROR_CONN_LOST"


@dataclass
class Segment:
    """A data segment."""

    va: int
    handle: int
    length: int


@dataclass
class Form:
    """A Descriptor as the NIC reads it."""

    op: int
    control: int
    immediate: int
    length: int
    remote: Optional[Segment]
    segments: list[Segment]
    error: int = 0


class Wire:
    """One of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._armed: dict[str, str] = {}
        self._hits = self._sent = 0
        self.down = False

    def arm(self, transfer: Transfer, fault: str, end: int) -> int:
        """A fault for the next message of an end, or for the link; how many were met."""
        if fault in ("link-down", "link-up"):
            self.down = fault == "link-down"
            if self.down and self._world.choices.partition_seen:
                for nic in self._world.nics:
                    for vi in nic.vis:
                        if vi.state == c.CONNECTED:
                            transfer.fail(vi, "VIP_ERROR_CATASTROPHIC" if self._world.choices.lost_as_well else _LOST)
        else:
            self._armed[list(ADDRESSES)[end]] = "" if fault == "nothing" else fault
        return self._hits

    def harm(self, sender: Optional[Vi]) -> str:
        """What becomes of the message that this end sends now; the end of a fault."""
        if self.down:
            return "lose"
        armed = self._armed.pop(sender.nic.device, "") if sender is not None else ""
        self._hits += bool(armed)
        return "repaired" if armed and sender is not None and sender.attributes.level != c.UD and (
            self._world.choices.loss_seen == "repaired") else armed

    def delay(self, vi: Vi) -> Optional[float]:
        """How long a message takes; None: it is lost."""
        choices = self._world.choices
        self._sent += 1
        if vi.attributes.level != c.UD:
            return choices.travel_s
        if choices.ud_loses and self._sent % choices.ud_loses == 0:
            return None
        return choices.travel_s * (3 if choices.ud_overtakes and self._sent % 2 else 1)

    def damaged(self, transfer: Transfer, peer: Vi, form: Form, harm: str) -> None:
        """UD: what is left of a message that was met."""
        if harm == "lose" or self._world.choices.damage == "dropped":
            return
        work = next((work for work in peer.receive.work if not work.status), None)
        plain = form.op == c.CONTROL_WRITE and not form.control & c.CONTROL_IMMEDIATE
        if work is not None and not plain:
            write = form.op == c.CONTROL_WRITE
            transfer.finish_bad(peer, work, (c.OP_REMOTE_WRITE if write else c.OP_RECEIVE) | _BITS[harm])

    def harmed(self, transfer: Transfer, vi: Vi, peer: Optional[Vi], work: Work, form: Form, operation: int, harm: str) -> None:
        """RD and RR: nothing behind it arrives. RR and Reads: the initiator's Descriptor tells."""
        if vi.attributes.level == c.RR or form.op == c.CONTROL_READ:
            transfer.finish_send(vi, work, operation | c.TRANSPORT)
            transfer.break_connection(vi, None)
            return
        transfer.finish_send(vi, work, operation, form.length)
        if peer is None:
            return
        epoch, target = vi.epoch, peer

        def seen() -> None:
            if vi.epoch == epoch and target.state == c.CONNECTED:
                transfer.break_connection(target, _LOST)
        if self.down or harm != "lose":
            seen()
        else:
            vi.gap = seen  # what is behind it is not taken: it shows the gap, or a timer does
            self._world.threads.after(_TIMER_S, seen)
