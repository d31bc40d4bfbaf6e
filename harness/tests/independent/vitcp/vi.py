"""A VI: its state and its queues; memory; what both need of the port."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Protocol, Tuple

if TYPE_CHECKING:
    from .connection import Connection
    from .port import Port

STATE_NAMES = {
    "idle": "VIP_STATE_IDLE", "connected": "VIP_STATE_CONNECTED", "error": "VIP_STATE_ERROR",
    "pending-connect": "VIP_STATE_CONNECT_PENDING",
}
OP_NAMES: Dict[str, List[str]] = {
    "send": [], "recv": ["VIP_STATUS_OP_RECEIVE"],
    "rdma-write": ["VIP_STATUS_OP_RDMA_WRITE"], "rdma-read": ["VIP_STATUS_OP_RDMA_READ"],
}
FLUSHED = "VIP_STATUS_DESC_FLUSHED_ERROR"
LEVELS = {
    1: "VIP_SERVICE_UNRELIABLE", 2: "VIP_SERVICE_RELIABLE_DELIVERY", 3: "VIP_SERVICE_RELIABLE_RECEPTION",
}


class Call(Protocol):
    """A call of the upper interface that waits for its answer."""

    def reply(self, code: str, **out: Any) -> None:
        """Answer once; later answers are dropped."""


@dataclass
class Attributes:
    """The VI Attributes that are used here."""

    level: int = 1
    size: int = 65536
    write: bool = False
    read: bool = False

    @property
    def reliable(self) -> bool:
        """Whether the Reliable flag is set (V15)."""
        return self.level > 1

    def as_json(self) -> Dict[str, Any]:
        """As the DUT protocol has them."""
        return {
            "ReliabilityLevel": LEVELS[self.level], "MaxTransferSize": self.size, "EnableRdmaWrite": self.write,
            "EnableRdmaRead": self.read, "QoS": {"PipelineDepth": 0, "Preference": False},
        }


@dataclass
class Memory:
    """A registered region."""

    va: int
    handle: int
    data: bytearray
    rdma_write: bool
    rdma_read: bool
    beside: Dict[int, int] = field(default_factory=dict)  # bytes that were written beside it in its pages, by their address


@dataclass
class Descriptor:
    """One posted Descriptor; `status` is set when it completes, `ready` when nothing but its place in the queue hinders it."""

    op: str
    segments: List[Tuple[int, int, int]]
    immediate: Optional[int]
    remote_va: int = 0
    remote_handle: int = 0
    status: Optional[List[str]] = None
    ready: Optional[List[str]] = None
    length: int = 0
    started: bool = False
    begun: bool = False  # some of what it reads has come
    rests: bool = False  # it has not been taken up, or is done and has not been told of
    copy: Optional[bytes] = None  # of what it sends
    named: List[str] = field(default_factory=list)  # its operation, where it is not that of the queue

    def room(self) -> int:
        """Bytes its segments span."""
        return sum(length for _, _, length in self.segments)

    def report(self) -> Dict[str, Any]:
        """As VipSendDone and VipRecvDone show it."""
        return {"status": self.status or [], "length": self.length, "immediate": self.immediate}


@dataclass
class Vi:
    """One VI."""

    port: "Port"
    number: int
    attributes: Attributes
    state: str = "idle"
    attempt: Any = None
    connection: Optional["Connection"] = None
    peer: Optional[Tuple[str, Dict[str, Any]]] = None  # how a peer's attempt ended
    waiter: Optional[Call] = None
    before: Tuple[int, int] = (0, 0)  # counts of the connection before: posted, used
    was_called: bool = False  # by VipConnectAccept, for a fault
    connections: int = 0  # so many it has had
    next_number: int = 0  # Message Number behind the last one sent
    left_open: Any = None  # by the connection before: the message that had not come whole
    left_reads: int = 0  # and its reads
    flushes_later: int = 0  # connections it has had, where it is in Error and what is posted has not been flushed yet
    sticks: bool = False  # it does not leave Error, for a fault
    first_size: int = 0  # agreed on the first connection, for a fault
    first_flow: Optional[bool] = None  # likewise
    queues: Dict[str, List[Descriptor]] = field(default_factory=lambda: {"send": [], "recv": []})

    def become(self, state: str) -> None:
        """A transition."""
        if state != self.state:
            self.state = state
            if self.port.choose.yes("state_events"):
                self.port.notify("state", {"vi": self.number, "state": state})

    def open(self, queue: str) -> List[Descriptor]:
        """Descriptors that have not completed."""
        return [d for d in self.queues[queue] if d.status is None]

    def head(self) -> Optional[Descriptor]:
        """The first receive Descriptor that is still open."""
        taken_up = [d for d in self.open("recv") if not d.rests]
        return next(iter(taken_up[:: -1 if self.port.bad("newest-receive-first") else 1]), None)

    def finish(self, descriptor: Descriptor, errors: List[str]) -> None:
        """A Descriptor of the send queue is done; it completes in the order of the queue, but for Reads that it may pass."""
        descriptor.ready, descriptor.rests = errors, False
        passes = self.port.choose("completion_order") == "processing"
        for one in self.open("send"):
            if one.ready is not None and not one.rests:
                self.complete("send", one, one.ready)
            elif not (passes and one.op == "rdma-read"):
                break

    def tell(self, descriptor: Descriptor) -> None:
        """The application is told of a Descriptor that was done some time ago."""
        if descriptor.status is None:
            self.finish(descriptor, descriptor.ready or [])

    def complete(self, queue: str, descriptor: Descriptor, errors: List[str], length: int = 0) -> None:
        """Complete a Descriptor; `length` counts for what was received."""
        if descriptor.status is not None:
            return
        names = ["VIP_STATUS_DONE"] + errors + (descriptor.named or self.op_names(descriptor.op))
        if queue == "recv":
            descriptor.length = length
            if self.port.bad("immediate-always") and descriptor.immediate is None:
                descriptor.immediate = 0
            names += ["VIP_STATUS_IMMEDIATE"] if descriptor.immediate is not None else []
        elif not errors:
            descriptor.length = descriptor.room()
        if self.port.bad("done-not-marked"):
            names.remove("VIP_STATUS_DONE")
        descriptor.status = names
        self.port.notify("completion", {"vi": self.number, "queue": queue, **descriptor.report()})

    def op_names(self, op: str) -> List[str]:
        """The name of an operation in a status, which that of a Send is not (VI-DG 5.4)."""
        if self.port.bad("write-told-as-read") and op == "rdma-write":
            op = "rdma-read"
        if self.port.bad("read-told-as-send") and op == "rdma-read":
            op = "send"
        if self.port.bad("send-told-as-write") and op == "send" or self.port.bad("receive-told-as-write") and op == "recv":
            op = "rdma-write"
        told = {"named": OP_NAMES, "receives": ("recv",), "rdma": ("rdma-write", "rdma-read"), "unnamed": ()}
        return OP_NAMES.get(op, []) if op in told[self.port.choose("operations")] else []

    def flush(self, *queues: str, first: str = FLUSHED) -> None:
        """All that is posted completes with Descriptor Flushed; what is done and was not told of completes well."""
        order = -1 if self.port.choose("flush_first") == "recv" else 1
        for queue in (queues or ("send", "recv"))[::order]:
            told = True
            for descriptor in self.open(queue):
                told = self.port.bad("flushed-as-good") or (told and descriptor.ready is not None)
                told = told or (self.port.bad("half-read-is-good") and descriptor.begun)
                self.complete(queue, descriptor, (descriptor.ready or []) if told else [first])
                first = first if told else FLUSHED

    def fail(self, code: Optional[str]) -> None:
        """To the Error state; `code` says why, and that the connection is lost is said as well, or alone."""
        if self.state == "error":
            return
        if not self.port.bad("stays-connected"):
            self.become("error")
        self.connection = None
        if self.port.choose.number("flush_delay"):
            self.flushes_later = connections = self.connections
            self.port.after("flush_delay", lambda: self.failed(code) if self.flushes_later == connections else None)
        else:
            self.failed(code)

    def failed(self, code: Optional[str]) -> None:
        """What was posted is flushed, and the application is told."""
        self.flushes_later = 0
        if self.port.choose.yes("error_first"):
            self.say(code)
        if not self.port.bad("no-flush"):
            transport = code is None and self.port.choose("lost_status") == "transport"
            queues = ("send",) if self.port.bad("close-without-flush") else ()
            self.flush(*queues, first="VIP_STATUS_TRANSPORT_ERROR" if transport else FLUSHED)
        if not self.port.choose.yes("error_first"):
            self.say(code)

    def say(self, code: Optional[str]) -> None:
        """The error handler."""
        how = self.port.choose("lost")
        codes = [code] if code else ["VIP_ERROR_CONN_LOST"]
        if code and how != "specific":
            codes.insert(len(codes) if how == "both-later" else 0, "VIP_ERROR_CONN_LOST")
        for one in codes:
            if self.port.bad("no-error-callback"):
                continue
            if one != "VIP_ERROR_CONN_LOST" or self.port.choose("conn_lost") == "told":
                whose = min(self.port.vis) if self.port.bad("error-told-of-the-first-vi") else self.number
                self.port.notify("error", {"vi": whose, "code": one})
