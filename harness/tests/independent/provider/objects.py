"""Holds what the handles of VIPL stand for."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from . import codes as c
from .threads import Steps, Thread


@dataclass(eq=False)
class Thing:
    """Anything with a handle; ``gone`` once it was given back."""

    gone: bool = field(default=False, init=False)


@dataclass(eq=False)
class Ptag(Thing):
    """A protection tag; ``users`` counts VIs and regions."""

    nic: Nic
    users: int = 0


@dataclass
class Region:
    """A registered range."""

    va: int
    length: int
    ptag: Ptag
    write: bool
    read: bool


@dataclass
class Attributes:
    """VIP_VI_ATTRIBUTES."""

    level: int
    size: int
    qos: Any
    ptag: Optional[Ptag]
    write: bool
    read: bool


@dataclass
class ErrorReport:
    """VIP_ERROR_DESCRIPTOR."""

    code: str
    resource: str
    nic: Nic
    vi: Optional[Vi] = None
    descriptor: Optional[int] = None
    operation: int = 0


@dataclass(eq=False)
class Nic(Thing):
    """An open instance of a NIC."""

    device: str
    address: bytes
    other: bytes
    thread: Thread
    """Which calls the error handler."""
    regions: dict[int, Region] = field(default_factory=dict)
    ptags: list[Ptag] = field(default_factory=list)
    vis: list[Vi] = field(default_factory=list)
    cqs: list[Cq] = field(default_factory=list)
    handler: Optional[Callable[[ErrorReport], None]] = None
    names: Optional[dict[str, list[bytes]]] = None
    untagged: Ptag = field(init=False)
    """What stands for NULL as a tag, in a library that has none (G 2.2.1)."""
    counted: int = 0
    """How many memory handles it has given out, where it counts its own."""

    def __post_init__(self) -> None:
        self.untagged = Ptag(self)


@dataclass(eq=False)
class Cq(Thing):
    """A Completion Queue. Its thread calls its handlers."""

    nic: Nic
    thread: Thread
    room: int = 0
    entries: deque[tuple[Vi, bool]] = field(default_factory=deque)
    handlers: deque[Callable[[Vi, bool], Optional[Steps[None]]]] = field(default_factory=deque)


@dataclass(eq=False)
class Work:
    """A posted Descriptor."""

    va: int
    handle: int
    status: int = 0
    started: bool = False
    excess: bool = False
    """One more than the queue has room for."""
    link: Optional[bytes] = None
    """Next and NextHandle, as the library has written them."""
    copy: Any = None
    """What the NIC read when it was posted, where it keeps that (A96)."""


@dataclass(eq=False)
class Queue:
    """A work queue. ``announced`` of its first Descriptors have their entry on the Completion Queue.

    Its thread calls its handlers.
    """

    receive: bool
    cq: Optional[Cq]
    thread: Thread
    work: deque[Work] = field(default_factory=deque)
    announced: int = 0
    handlers: deque[Callable[[Optional[int]], Optional[Steps[None]]]] = field(default_factory=deque)


@dataclass(eq=False)
class Vi(Thing):
    """A VI endpoint."""

    nic: Nic
    attributes: Attributes
    send: Queue
    receive: Queue
    state: str = c.IDLE
    peer: Optional[Vi] = None
    lost: bool = False
    """The other end is gone and nobody was told yet (A17)."""
    epoch: int = 0
    """Counts the connections, so that late work of an earlier one is known."""
    outcome: Optional[str] = None
    """How a peer request ended, until it was asked for."""
    partner: Optional[Attributes] = None
    gap: Optional[Callable[[], None]] = None
    """RD: the message before the next one was lost; what follows when that is seen."""
    held: Optional[str] = None
    """An error of the Idle state (S 5.1)."""
