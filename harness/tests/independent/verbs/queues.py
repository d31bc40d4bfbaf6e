"""Work Queues, Completion Queues and their handlers, Shared Receive Queues (5.3, 6.3, 8.2)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Deque, Dict, List, Optional, Tuple

if TYPE_CHECKING:
    from .model import Context, Model, Pd
    from .qp import Qp

Sge = Tuple[int, int, int]


class Wqe:
    """What a posted WR is inside."""

    __slots__ = ("wr_id", "opcode", "fence", "signaled", "solicited", "sges", "length", "remote", "rkey", "key", "bind",
                 "inline", "queue", "serial", "started", "done", "failed", "psn")

    def __init__(self, wr_id: int, opcode: str, sges: List[Sge]) -> None:
        self.wr_id, self.opcode, self.sges = wr_id, opcode, sges
        self.length = sum(sge[2] for sge in sges)
        self.fence = self.signaled = self.solicited = self.started = self.done = False
        self.remote = self.rkey = self.key = self.serial = self.psn = 0
        self.bind: Optional[Dict[str, Any]] = None
        self.inline: Optional[bytes] = None
        self.queue: Any = None
        self.failed = ""


class WorkQueue:
    """A Send Queue, a Receive Queue, or the queue of an S-RQ. Room is free when the WC was polled (8.2.1)."""

    def __init__(self, model: "Model", size: int) -> None:
        self.model, self.size, self.shared = model, size, False
        self.items: Deque[Wqe] = deque()
        self.used = 0
        self.serial = 0
        self.silent: List[int] = []

    def room(self) -> bool:
        """May one more be posted."""
        return self.used < self.size or self.model.fault == "queue-overfull"

    def push(self, wqe: Wqe) -> None:
        """Post one."""
        self.serial += 1
        wqe.serial, wqe.queue = self.serial, self
        self.used += 1
        self.items.append(wqe)

    def reaped(self, wqe: Wqe) -> None:
        """The WC of this one was polled."""
        fault = self.model.fault
        if fault == "room-free-early" or (fault == "room-never-free" and self.serial >= self.size) or (
                fault == "srq-room-never-free" and self.shared):
            return
        self.used -= 1
        while self.silent and self.silent[0] < wqe.serial:
            self.silent.pop(0)
            self.used -= 1

    def silently(self, wqe: Wqe) -> None:
        """An unsignaled WR is done."""
        if self.model.fault in ("room-free-early", "unsignaled-room-lost"):
            return
        if self.model.choose.unsignaled_room == "done":
            self.used -= 1
        else:
            self.silent.append(wqe.serial)


class Cqe:
    """A Completion Queue Entry."""

    __slots__ = ("wqe", "wr_id", "status", "opcode", "length", "qp", "flags", "invalidated", "wakes")

    def __init__(self, qp: "Qp", wqe: Wqe, status: str, opcode: str, length: int) -> None:
        self.qp, self.wqe, self.wr_id, self.status, self.opcode, self.length = qp, wqe, wqe.wr_id, status, opcode, length
        self.flags: List[str] = []
        self.invalidated = 0
        self.wakes = status != "SUCCESS"


class Handler:
    """A completion channel."""

    kind = "handler"

    def __init__(self, context: "Context") -> None:
        self.context = context
        self.events: Deque["Cq"] = deque()
        self.cqs: List["Cq"] = []


class Cq:
    """A Completion Queue."""

    kind = "cq"

    def __init__(self, context: "Context", entries: int, handler: Optional[Handler]) -> None:
        self.context, self.entries, self.handler = context, entries, handler
        self.model: "Model" = context.device.model
        self.items: Deque[Cqe] = deque()
        self.staged: Deque[Cqe] = deque()
        self.armed = ""
        self.users: List["Qp"] = []
        self.dead = False
        self.lost = self.vector = 0  # entries that nobody frees, and the vector, for faults
        self._seen = 0
        self._tick = False

    def held(self) -> int:
        """CQEs that are on it."""
        return len(self.items) + len(self.staged)

    def add(self, cqe: Cqe) -> None:
        """A CQE, seen at once or after a while."""
        model = self.model
        if self.dead:
            return
        if len(self.items) + len(self.staged) + self.lost >= self.entries and self._overflow(cqe):
            return
        pace = model.choose.completions
        other = "sends" if cqe.opcode == "RECV" else "receives"
        if pace == "at-once" or (pace == other and not self.staged):
            self._show(cqe)
            return
        self.staged.append(cqe)
        cqe.qp.unseen += 1
        if pace in ("late", "sends", "receives"):
            model.engine.after(2_000, self._surface, 1)
        elif len(self.staged) >= 4:
            self._surface(4)
        elif not self._tick:
            self._tick = True
            model.engine.after(4_000, self._beat)

    def _beat(self) -> None:
        self._tick = False
        self._surface(len(self.staged))

    def _surface(self, count: int) -> None:
        for _ in range(min(count, len(self.staged))):
            cqe = self.staged.popleft()
            cqe.qp.unseen -= 1
            self._show(cqe)

    def settle(self) -> None:
        """What is to come comes now: after Destroy QP there are no more CQEs of it (6.1.4)."""
        self._surface(len(self.staged))

    def _overflow(self, cqe: Cqe) -> bool:
        model = self.model
        if model.fault == "overflow-spreads":
            for qp in list(self.context.device.qps.values()):
                if qp is not cqe.qp:
                    qp.stop("rst", event="QP_FATAL")
        if model.choose.overflow == "overwrite" and self.items:
            self.items.popleft()
            return False
        if model.choose.overflow == "event":
            model.tell("CQ_ERR", cq=self)
            cqe.qp.stop("term", event="QP_FATAL")
        return True

    def _show(self, cqe: Cqe) -> None:
        model = self.model
        fault = model.fault
        self._seen += 1
        if fault:
            if fault == "wc-lost" and self._seen % 5 == 0:
                return
            if fault == "wc-twice" and self._seen % 3 == 0:
                self.items.append(cqe)
            if fault == "poll-newest-first":
                self.items.appendleft(cqe)
            else:
                self.items.append(cqe)
        else:
            self.items.append(cqe)
        if self.armed:
            self._wake(cqe, fault)

    def _wake(self, cqe: Cqe, fault: Optional[str]) -> None:
        if fault == "event-never" or (fault == "event-only-first" and self._seen > 1) or (
                fault == "event-first-vector-only" and self.vector):
            return
        if fault == "event-not-for-windows" and cqe.opcode in ("LOCAL_INV", "BIND_MW"):
            return
        if fault == "event-not-for-sends" and cqe.opcode != "RECV":
            return
        if self.armed == "solicited":
            wakes = cqe.wakes
            if fault == "solicited-any":
                wakes = True
            elif fault == "solicited-not-for-errors":
                wakes = cqe.wakes and cqe.status == "SUCCESS"
            elif fault == "solicited-not-for-send-errors":
                wakes = cqe.wakes and cqe.opcode == "RECV"
            elif fault == "solicited-not-for-messages":
                wakes = cqe.status != "SUCCESS"
            if not wakes:
                return
        if cqe.qp.srq and cqe.opcode == "RECV" and (
                fault == "event-not-for-srq" or fault == "solicited-not-for-srq" and self.armed == "solicited"):
            return
        if fault == "event-lost-when-not-empty" and len(self.items) > 1:
            return
        if fault == "event-not-for-second-qp" and cqe.qp in self.users[1:]:
            return
        self._event()
        if fault == "event-twice":
            self._event()
        if fault != "event-stays-armed":
            self.armed = ""
        if fault == "event-polls" and self.items:
            self.items.popleft()

    def _event(self) -> None:
        if self.handler:
            named = self
            if self.model.fault == "event-names-other-cq":
                named = next((cq for cq in self.handler.cqs if cq is not self), self)
            if self.model.choose.comp_event == "late":
                self.model.engine.after(5_000, self._raise, named)
            else:
                self._raise(named)

    def _raise(self, named: "Cq") -> None:
        if self.handler and not named.dead and self.model.choose.channel == "last":
            self.handler.events.appendleft(named)
        elif self.handler and not named.dead:
            self.handler.events.append(named)

    def arm(self, solicited: bool) -> None:
        """Request Completion Notification (8.2.5): the next completion outranks the next solicited one."""
        fault = self.model.fault
        if fault == "arm-lost-when-not-empty" and self.items:
            return
        if not solicited or (self.armed == "any" and fault != "arm-solicited-outranks"):
            self.armed = "any"
        else:
            self.armed = "solicited"
        old = self.model.choose.arm_old == "yes" and self.model.flavour == "ib"
        if self.items and (old or fault == "event-for-old-entries"):
            self._event()
            self.armed = ""

    def poll(self, most: int) -> List[Cqe]:
        """The CQEs at the head."""
        items = self.items
        if not items and self.model.fault == "poll-disarms":
            self.armed = ""
        found: List[Cqe] = []
        backwards = self.model.fault == "receives-told-backwards"
        while items and len(found) < most:
            cqe = items.pop() if backwards and all(one.wqe.opcode == "RECV" for one in items) else items.popleft()
            cqe.wqe.queue.reaped(cqe.wqe)
            found.append(cqe)
        return found

    def purge(self, qp: "Qp") -> None:
        """Forget the CQEs of a QP."""
        for queue in (self.items, self.staged):
            kept = [cqe for cqe in queue if cqe.qp is not qp]
            queue.clear()
            queue.extend(kept)
        qp.unseen = 0


class Srq:
    """A Shared Receive Queue (6.3)."""

    kind = "srq"

    def __init__(self, context: "Context", pd: "Pd", size: int, sges: int) -> None:
        self.context, self.pd, self.sges = context, pd, sges
        self.model: "Model" = context.device.model
        self.queue = WorkQueue(self.model, size)
        self.queue.shared = True
        self.limit = 0
        self.armed = False
        self.users: List["Qp"] = []

    def arm(self, limit: int) -> None:
        """Set the limit, and arm its event (6.3.8)."""
        if self.armed and not limit and self.model.fault == "srq-limit-zero-ignored":
            return
        again = self.limit and self.model.fault == "srq-limit-arms-once"
        self.limit, self.armed = limit, bool(limit) and not again
        if self.armed and self.model.choose.limit_below == "arming" and len(self.queue.items) < limit:
            self._reached()
        elif self.armed and self.model.choose.limit_below == "never" and len(self.queue.items) < limit:
            self.armed = False

    def take(self) -> Optional[Wqe]:
        """A WQE for a message."""
        items, order = self.queue.items, self.model.choose.srq_order
        if not items:
            return None
        if order == "fifo":
            wqe = items.popleft()
        elif order == "lifo":
            wqe = items.pop()
        else:
            at = self.model.chance.randrange(len(items))
            wqe = items[at]
            del items[at]
        if self.model.fault == "srq-two-for-one" and items:
            items.popleft()
        self.check()
        return wqe

    def check(self) -> None:
        """Has the number of unused WQEs dropped below the limit?"""
        low = len(self.queue.items) < self.limit
        if self.model.fault == "srq-limit-at-equal":
            low = len(self.queue.items) <= self.limit
        if low and (self.armed or self.model.fault == "srq-limit-every-time"):
            self._reached()

    def _reached(self) -> None:
        self.armed = False
        model = self.model
        if model.choose.limit_after == "zero" and model.fault != "srq-limit-every-time":
            self.limit = 0
        if model.fault == "srq-limit-silent":
            return
        if model.fault == "srq-limit-names-qp" and self.users:
            model.tell("SRQ_LIMIT_REACHED", qp=self.users[0])
        elif model.choose.limit_event == "late":
            model.engine.after(3_000, model.tell_srq, self)
        else:
            model.tell("SRQ_LIMIT_REACHED", srq=self)
