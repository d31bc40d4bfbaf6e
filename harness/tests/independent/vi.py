"""A VI: its state, its queues and what it knows of its connection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Protocol, Set, Tuple

from .wire import Attributes

if TYPE_CHECKING:
    from .port import Port

STATE_NAMES = {
    "idle": "VIP_STATE_IDLE", "connected": "VIP_STATE_CONNECTED", "error": "VIP_STATE_ERROR",
    "pending-connect": "VIP_STATE_CONNECT_PENDING", "pending-connect-retry": "VIP_STATE_CONNECT_PENDING",
}
OP_NAMES: Dict[str, List[str]] = {
    "send": [], "recv": ["VIP_STATUS_OP_RECEIVE"],
    "rdma-write": ["VIP_STATUS_OP_RDMA_WRITE"], "rdma-read": ["VIP_STATUS_OP_RDMA_READ"],
    "remote-rdma-write": ["VIP_STATUS_OP_REMOTE_RDMA_WRITE"],
}
FLUSHED = "VIP_STATUS_DESC_FLUSHED_ERROR"


class Call(Protocol):
    """A call of the upper interface that waits for its answer."""

    def reply(self, code: str, **out: Any) -> None:
        """Answer once; later answers are dropped."""


@dataclass
class Descriptor:
    """One posted Descriptor; `status` is set when it completes."""

    op: str
    segments: List[Tuple[int, int, int]]
    immediate: Optional[int]
    status: Optional[List[str]] = None
    length: int = 0
    sent: bool = False

    def room(self) -> int:
        """Bytes its segments span."""
        return sum(length for _, _, length in self.segments)

    def report(self) -> Dict[str, Any]:
        """As VipSendDone and VipRecvDone show it."""
        return {"status": self.status or [], "length": self.length, "immediate": self.immediate}


@dataclass
class Vi:
    """One VI and its FC-VI Endpoint."""

    port: "Port"
    number: int
    attributes: Attributes
    state: str = "idle"
    handle: Optional[int] = None
    remote_handle: Optional[int] = None
    connection_id: int = 0
    connection_ids: Set[int] = field(default_factory=set)
    established: bool = False
    fully_open: bool = False
    receiving: bool = False
    cause: int = 0
    setup: Any = None
    disconnect: Any = None
    next_msg_id: int = 1
    last_sent: int = 0
    last_received: int = 0
    queues: Dict[str, List[Descriptor]] = field(default_factory=lambda: {"send": [], "recv": []})

    def become(self, state: str) -> None:
        """A transition of 8.2."""
        if state == self.state:
            return
        self.state = state
        if self.port.choose.yes("state_events"):
            self.port.notify("state", {"vi": self.number, "state": state})

    def bind(self, handle: int) -> None:
        """A connection attempt begins with this FCVI_HANDLE."""
        bad = self.port.bad
        self.handle, self.remote_handle, self.cause = handle, None, 0
        self.established = self.fully_open = self.receiving = False
        self.next_msg_id = 0 if bad("msg-id-zero") else 1
        self.last_sent = self.last_received = 0
        self.connection_ids = set()
        self.port.messages.forget(self.number)

    def connect(self, fully: bool) -> None:
        """Connected; `fully` when nothing of the setup is outstanding."""
        self.established = self.receiving = True
        self.fully_open = fully or self.port.choose("send_completion") == "at-once"
        self.become("connected")

    def open_fully(self) -> None:
        """RESP3 has arrived: what was sent may complete now (C.5.1)."""
        self.fully_open = True
        for descriptor in list(self.queues["send"]):
            if descriptor.sent and descriptor.status is None:
                self.complete("send", descriptor, [])

    def fail(self, code: Optional[str] = None) -> None:
        """To the Error state; `code` is the VipErrorCallback that tells the application."""
        self.receiving = False
        self.become("error")
        if not self.port.bad("no-flush"):
            self.flush()
        if code and not self.port.bad("no-conn-lost"):
            self.port.notify("error", {"vi": self.number, "code": code})

    def release(self, flush: bool = True) -> None:
        """To the Idle state, without connection."""
        if flush:
            self.flush()
        self.port.disconnects.remember(self)
        self.receiving = self.fully_open = False
        self.handle = self.setup = None
        self.become("idle")

    def flush(self) -> None:
        """All that is posted completes with Descriptor Flushed."""
        for queue in ("send", "recv"):
            for descriptor in self.queues[queue]:
                if descriptor.status is None:
                    self.complete(queue, descriptor, [FLUSHED])

    def complete(self, queue: str, descriptor: Descriptor, errors: List[str], length: int = 0) -> None:
        """Complete a Descriptor; `length` counts for what was received."""
        names = ["VIP_STATUS_DONE"] + errors + OP_NAMES.get(descriptor.op, [])
        if queue == "recv":
            descriptor.length = length
            names += ["VIP_STATUS_IMMEDIATE"] if descriptor.immediate is not None else []
        elif not errors:
            descriptor.length = descriptor.room()
        descriptor.status = names
        self.port.notify("completion", {"vi": self.number, "queue": queue, **descriptor.report()})

    def head(self) -> Optional[Descriptor]:
        """The first receive Descriptor that is still open."""
        return next((item for item in self.queues["recv"] if item.status is None), None)
