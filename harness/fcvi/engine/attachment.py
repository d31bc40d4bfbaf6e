"""The contract between the engine and an attachment, whatever carries it."""

from __future__ import annotations

import abc
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Deque, Mapping, Optional, Protocol

from .pixit import Pixit
from .words import Ending, UsageError

#: After its last word, a real-time device that has more to say says it within this time.
SETTLE_US = 20_000


class Unit(Protocol):
    """What a wire carries, as the suite itself holds it: an FC-2 frame."""

    data: bytes
    sof: int
    eof: int
    crc_ok: bool

    def params(self) -> dict[str, Any]:
        """As the DUT protocol has it."""


class DutError(Ending):
    """The attachment failed or the DUT broke the DUT protocol: verdict ``error``, never the DUT's FC-VI fault.

    The words may quote the DUT, so they are one line that can be printed, whatever it sent.
    """

    def __init__(self, words: str) -> None:
        super().__init__("".join(c if c.isprintable() else ascii(c)[1:-1] for c in words))


#: Signals that a process brings upon itself. SIGKILL, SIGTERM and the like may come from anybody.
_OF_ITS_OWN = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE")
_CRASHED = "the device crashed: "


def closed(how: str) -> DutError:
    """What to raise when the device closed the connection. how: ", killed by SIGSEGV", ", exit status 1" or ""."""
    name = how.removeprefix(", killed by ")
    return DutError(_CRASHED + name if name in _OF_ITS_OWN else f"the DUT closed the connection{how}")


def crashed(reason: str) -> str:
    """The signal and what follows, of an error that is a crash of the device itself; else ""."""
    return reason.removeprefix(_CRASHED) if reason.startswith(_CRASHED) else ""


class Unanswered(DutError):
    """A call was not answered within a time that depends on R_A_TOV."""


class HostError(DutError):
    """The suite's own host failed: verdict ``error``, unless another try goes better."""


class AttachError(UsageError):
    """The attachment cannot be made at all: what it names is no device that the suite could attach."""


class NotReached(AttachError):
    """What is named rightly cannot be started or does not answer: command not found, connection refused."""

    status = 3


class Unavailable(Ending):
    """The attachment works, yet not in the configuration that a case needs: the case ends ``inconclusive``."""


@dataclass(slots=True)
class Reply:
    """A request under way. done: answered; then either result or error (code, message) is set."""

    method: str
    done: bool = False
    result: dict[str, Any] = field(default_factory=dict)
    error: Optional[tuple[int, str]] = None
    time_us: int = 0  # DUT time when the answer was seen


class Notification:
    """Something the DUT said by itself. method: "frame", "completion", "error", "state" or "log".

    It happened after the DUT time earliest_us and not later than time_us. A device in the suite's own process gives the
    frame itself; its params are put into words when somebody reads them.
    """

    __slots__ = ("method", "earliest_us", "time_us", "frame", "_params")

    def __init__(
        self, method: str, params: Optional[dict[str, Any]], earliest_us: int, time_us: int, frame: Optional[Any] = None
    ) -> None:
        self.method, self.earliest_us, self.time_us = method, earliest_us, time_us
        self.frame, self._params = frame, params

    @property
    def params(self) -> dict[str, Any]:
        """As the DUT protocol has them."""
        if self._params is None:
            self._params = self.frame.params() if self.frame is not None else {}
        return self._params

    def __repr__(self) -> str:
        return f"Notification({self.method!r}, {self.params!r}, {self.earliest_us}, {self.time_us})"


class Dut(abc.ABC):
    """One attached device.

    Times are microseconds since the last ``reset``. With a virtual clock the device's time moves by ``advance``
    only; with a real one ``advance`` waits. Both deliver what the DUT sent meanwhile into ``inbox`` and complete
    the replies. Every call may raise DutError.
    """

    spec: str  # as given by --dut
    implementation: str
    version: str
    clock: str  # "virtual" or "real"
    pics: dict[str, Any]
    now_us: int = 0
    next_us: Optional[int] = None  # time until the DUT's next timer, where known (see knows_next)
    knows_next: bool = False  # whether the last advance told next_us
    far: Optional[Dut] = None  # a second device at the far side of the link (run --against), which a case attaches in its place

    def __init__(self) -> None:
        self.inbox: Deque[Notification] = deque()

    def settled(self, pixit: Pixit) -> Pixit:
        """The PIXIT with the addresses that the attachment found or claimed where the lab left them open."""
        return pixit

    def joined(self, port: Mapping[str, Any]) -> bool:
        """Announce a further port of the tester on a link where a port has to be known before anybody talks to it.

        False while the announcement is under way: let time pass and ask again. Raises Unavailable when the link cannot have
        the port.
        """
        return True

    def streams(self, policy: str, unlimited: bool) -> None:
        """What the tester is going to do with the TCP connections that the DUT asks for ("accept", "refuse", "silence", "close"),
        and whether the DUT may send on streams without limit. Raises Unavailable when the attachment cannot do so.
        """

    def descriptor(self) -> Optional[int]:
        """What is readable when the device may have said something; None where nothing comes but in answer to the suite."""
        return None

    def look_at(self, far: Dut) -> None:
        """A wait in real time is over, too, when this device has said something."""

    @abc.abstractmethod
    def request(self, method: str, params: dict[str, Any]) -> Reply:
        """Start a request. Its reply may be done at once, or complete during a later ``advance``."""

    @abc.abstractmethod
    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification: "frame" or "link"."""

    def send_frame(self, frame: Any) -> None:
        """A frame (see Unit) arrives at the DUT."""
        self.notify("frame", frame.params())

    @abc.abstractmethod
    def advance(self, us: int) -> None:
        """Let us microseconds pass (0: reach quiescence) and collect what the DUT sent.

        Virtual clock: clock.advance. Real clock: waits, returns early when something arrived.
        """

    @abc.abstractmethod
    def reset(self, config: dict[str, Any]) -> None:
        """Reset the DUT: time 0, empty inbox; unanswered replies get error -32001."""

    @abc.abstractmethod
    def restart(self) -> None:
        """After a DutError: attach afresh (exec: a new process). Raises DutError when that fails."""

    @abc.abstractmethod
    def close(self) -> None:
        """End the attachment and whatever it started."""


class WrappedDut(Dut):
    """A device behind something that looks at what passes, or takes part in it. What a subclass does not do, the device does."""

    def __init__(self, inner: Dut) -> None:
        super().__init__()
        self._inner = inner
        self.inbox = inner.inbox
        self._mirror()

    def _mirror(self) -> None:
        inner = self._inner
        self.spec, self.implementation, self.version = inner.spec, inner.implementation, inner.version
        self.clock, self.pics = inner.clock, inner.pics
        self._take_times()

    def _take_times(self) -> None:
        inner = self._inner
        self.now_us, self.next_us, self.knows_next = inner.now_us, inner.next_us, inner.knows_next

    def settled(self, pixit: Pixit) -> Pixit:
        return self._inner.settled(pixit)

    def joined(self, port: Mapping[str, Any]) -> bool:
        return self._inner.joined(port)

    def streams(self, policy: str, unlimited: bool) -> None:
        self._inner.streams(policy, unlimited)

    def descriptor(self) -> Optional[int]:
        return self._inner.descriptor()

    def look_at(self, far: Dut) -> None:
        self._inner.look_at(far)

    def restart(self) -> None:
        self._inner.restart()
        self._mirror()

    def close(self) -> None:
        self._inner.close()
