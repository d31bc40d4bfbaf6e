"""A VI of Rev 1.0."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from ..vi import FLUSHED, Descriptor, Vi

if TYPE_CHECKING:
    from .exchange import Exchange


@dataclass
class Rev1Descriptor(Descriptor):
    """A posted Descriptor, with the remote address of an RDMA operation and what is known of its Exchange."""

    remote: Optional[Tuple[int, int]] = None
    exchange: Optional["Exchange"] = None
    copy: Optional[bytes] = None  # of what it sends
    answer: Optional[List[str]] = None  # the errors of its Response, while one before it is still open
    data: bytearray = field(default_factory=bytearray)


@dataclass
class Rev1Vi(Vi):
    """A VI and its VI End Point."""

    port: Any
    attributes: Any
    peer_id: int = 0
    peer: Any = None  # the peer request, until its result is delivered
    expected: int = 0
    incoming: Any = None
    outstanding: List[Rev1Descriptor] = field(default_factory=list)
    waiting: List[Rev1Descriptor] = field(default_factory=list)
    common: Optional["Exchange"] = None  # of all Sends, which is a mistake
    delivered: Dict[int, int] = field(default_factory=dict)  # numbers of Messages: when they began
    first_handle: Optional[int] = None
    before: Optional[int] = None  # the remote handle of the connection before
    early: List[Descriptor] = field(default_factory=list)  # posted before the connection, for a fault
    gone: bool = False  # the peer has taken the connection away

    def bind(self, handle: int) -> None:
        """A connection attempt begins with this VI_HANDLE; VI_MSG_IDs begin with 0 (5.7.5)."""
        self.before, self.handle, self.remote_handle = self.remote_handle, handle, None
        self.established = self.fully_open = self.receiving = self.gone = False
        if not self.port.bad("msg-id-goes-on") or self.before is None:
            self.next_msg_id = 1 if self.port.bad("msg-id-starts-at-one") else 0
        self.expected, self.incoming, self.delivered = 0, None, {}
        self.outstanding, self.waiting = [], []
        self.early = [one for one in self.queues["recv"] if self.port.bad("early-receives-lost")]

    def fail(self, code: Optional[str] = None) -> None:
        """To the Error state."""
        first = code if self.port.choose.yes("error_first") else None
        if first:
            self.receiving = False
            self.become("error")
            self.port.notify("error", {"vi": self.number, "code": first})
        super().fail(None if first else code)

    def flush(self) -> None:
        """All that is posted completes with Descriptor Flushed."""
        for queue in ("send", "recv") if self.port.choose("flush_first") == "send" else ("recv", "send"):
            for descriptor in self.queues[queue]:
                if descriptor.status is None:
                    self.complete(queue, descriptor, [FLUSHED])

    def head(self) -> Optional[Descriptor]:
        """The first receive Descriptor that is still open."""
        return next((one for one in self.queues["recv"] if one.status is None and all(one is not e for e in self.early)), None)

    @property
    def reliable(self) -> bool:
        """Reliable Delivery or Reliable Reception."""
        return bool(self.attributes.level != 1)

    @property
    def acknowledged(self) -> bool:
        """Reliable Reception."""
        return bool(self.attributes.level == 4)

    @property
    def cs_ctl(self) -> int:
        """PREF for every frame of a connection that uses the Preference Function (5.6.2)."""
        return 0x80 if self.attributes.preference else 0
