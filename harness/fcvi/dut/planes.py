"""A device attached by two separate planes: frames on a wire of its own, control through an upper tester.

`Frames` is the wire (a live interface); `Control` the upper tester's side of the DUT protocol (an agent, an operator).
`PlaneDut` makes one real-time device of them for the engine. Times are microseconds since the last reset, taken from one
monotonic clock of the host; a wire that has timestamps of its own (the kernel's) translates them into that clock.
"""

from __future__ import annotations

import abc
import selectors
import time
from collections import deque
from typing import Any, Deque, Mapping, Optional

from fcvi.engine.pixit import Pixit
from .base import Dut, DutError, Notification, Reply, Unavailable

_QUIET_US = 1_000  # after something came, what belongs to it follows within this time
_ASKED_US, _UNASKED_US = 700, 3_000  # time for more to come from a device that has answered, and from one nobody can ask
_LONGEST_STEP_US = 250_000  # beyond what was asked for; a device that talks on is heard in the next step


def monotonic_us() -> int:
    """The one clock of both planes."""
    return time.monotonic_ns() // 1000


class Plane(abc.ABC):
    """What passes between tester and device beside the calls. Nothing here blocks but `prepare`; every call may raise DutError."""

    wire: str  # as ``reset`` names it
    methods: frozenset[str]  # the notifications that go over it
    #: What a wire without an agent is called in the report.
    description: str = "a device on a wire"
    #: After its last word, a device that has more to say says it within this time; None: it is not known.
    settle_us: Optional[int] = None

    @abc.abstractmethod
    def fileno(self) -> int:
        """Readable when frames may have arrived."""

    def settled(self, pixit: Pixit, told: bool) -> Pixit:
        """See Dut.settled; told: the device takes the address that it is told by ``reset``."""
        return pixit

    @abc.abstractmethod
    def prepare(self, config: dict[str, Any]) -> None:
        """Before a case: take on the addresses and names of ``reset``'s config, bring the link up, and forget every
        frame that arrived before. Raises Unavailable when this link cannot be configured so."""

    def joined(self, port: Mapping[str, Any]) -> bool:
        """See Dut.joined; the port is given as ``reset`` gives the tester's own."""
        return True

    def link_event(self, event: str) -> None:
        """The device is about to have a link event (see ``link``). Raises Unavailable when its link ends elsewhere than here."""

    def streams(self, policy: str, unlimited: bool) -> None:
        """See Dut.streams."""

    @abc.abstractmethod
    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send what a notification of the DUT protocol says."""

    def sync(self) -> None:
        """Wait until what was sent before is on the wire. Raises DutError when the way to the wire itself is silent."""

    @abc.abstractmethod
    def heard(self) -> list[tuple[int, str, dict[str, Any]]]:
        """What has arrived: (time by monotonic_us, method, params)."""

    def strangers(self) -> list[dict[str, Any]]:
        """Who has spoken on this plane that is not the device, since this was last asked: ``station`` and ``count``."""
        return []

    @abc.abstractmethod
    def deadline_us(self) -> Optional[int]:
        """When `run` is to be called next, by monotonic_us; None when nothing is due."""

    @abc.abstractmethod
    def run(self) -> None:
        """Do what is due: keep-alives, beacons."""

    @abc.abstractmethod
    def restart(self) -> None:
        """After a DutError: start afresh. Raises DutError when that fails."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of the wire."""


class Frames(Plane):
    """The frame plane."""

    wire = "fc"
    methods = frozenset({"frame"})

    def tell(self, method: str, params: dict[str, Any]) -> None:
        self.send(params)

    def heard(self) -> list[tuple[int, str, dict[str, Any]]]:
        return [(at_us, "frame", params) for at_us, params in self.receive()]

    @abc.abstractmethod
    def send(self, params: dict[str, Any]) -> None:
        """Send a frame, in the form of the DUT protocol's ``frame`` notification."""

    @abc.abstractmethod
    def receive(self) -> list[tuple[int, dict[str, Any]]]:
        """The frames that have arrived: (time by monotonic_us, params of ``frame``)."""


class Control(abc.ABC):
    """The control plane: the methods of the DUT protocol but ``frame`` and the clock's. Every call may raise DutError."""

    implementation: str
    version: str
    pics: dict[str, Any]
    wires: Optional[tuple[str, ...]] = None  # as hello names them; None: nobody can be asked

    def __init__(self) -> None:
        #: The names for VipOpenNic, in the order of the ends.
        self.devices: list[str] = []
        #: The addresses of these, where hello has any.
        self.addresses: list[str] = []
        #: "completion", "error", "state" and "log" notifications: (time by monotonic_us, method, params).
        self.inbox: Deque[tuple[int, str, dict[str, Any]]] = deque()

    @abc.abstractmethod
    def fileno(self) -> Optional[int]:
        """Readable when `pump` has something to take in; None when it never has."""

    @abc.abstractmethod
    def request(self, method: str, params: dict[str, Any]) -> Reply:
        """Start a VIPL call, mem.read or mem.write. Its reply is done at once or completes in a later `pump`. A method
        that does not exist gets error -32601. Reply.time_us is set by the caller of `pump`."""

    @abc.abstractmethod
    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send ``link``."""

    @abc.abstractmethod
    def pump(self) -> None:
        """Take in what has arrived, without waiting: completes replies, fills the inbox."""

    def sync(self) -> bool:
        """Wait until the device has taken what it was sent before: a call that blocks does not say that it has begun.
        False when this device cannot be asked."""
        return False

    @abc.abstractmethod
    def reset(self, config: dict[str, Any]) -> None:
        """``reset``, waiting for its answer: every earlier reply gets error -32001, the inbox is empty. Raises
        Unavailable when the device cannot be configured so."""

    @abc.abstractmethod
    def restart(self) -> None:
        """After a DutError: attach afresh."""

    @abc.abstractmethod
    def close(self) -> None:
        """End the attachment."""


class NoControl(Control):
    """No upper tester: the device is as it is, and nobody tells it to act."""

    implementation = ""
    version = ""

    def __init__(self, identity: Optional[Mapping[str, Any]]) -> None:
        """identity: the device's, as the PIXIT has it; None: nothing of it is the suite's to say."""
        super().__init__()
        self.pics = {}
        usual = {"topology": "point-to-point", "fabric": "in-order", "class": 3, "login": "implicit"}
        self._as_it_is: dict[str, Any] = {} if identity is None else {**usual, **identity}

    def fileno(self) -> Optional[int]:
        return None

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        raise Unavailable(f"no upper tester (--agent): the case needs {method}")

    def notify(self, method: str, params: dict[str, Any]) -> None:
        raise Unavailable(f"no upper tester (--agent): the case needs a {method} event at the device")

    def be(self, identity: Mapping[str, Any]) -> None:
        """The device has turned out to be this one."""
        self._as_it_is.update(identity)

    def pump(self) -> None:
        """Nothing arrives."""

    def reset(self, config: dict[str, Any]) -> None:
        """The device stays as it is: only cases in the configuration that all cases start from can be run."""
        for name, value in self._as_it_is.items():
            if config[name] != value:
                raise Unavailable(f"no upper tester (--agent): the device cannot be told that {name} is {config[name]}")

    def restart(self) -> None:
        """Nothing to attach."""

    def close(self) -> None:
        """Nothing to end."""


class PlaneDut(Dut):
    """One device of two planes, in real time."""

    def __init__(self, spec: str, frames: Plane, control: Control) -> None:
        super().__init__()
        self.spec, self.clock = spec, "real"
        self._frames, self._control = frames, control
        self._open: list[Reply] = []
        self._unheard = False  # whether a call was made since the last frame
        self._stirred = True  # whether the device was told something, or said something, since it was last quiet
        self._since = monotonic_us()
        self._identify()

    def settled(self, pixit: Pixit) -> Pixit:
        pixit = self._frames.settled(pixit, not isinstance(self._control, NoControl))
        if isinstance(self._control, NoControl) and self._frames.wire == "fc":
            self._control.be(pixit.dut.as_json())
        return pixit

    def streams(self, policy: str, unlimited: bool) -> None:
        self._frames.streams(policy, unlimited)

    def joined(self, port: Mapping[str, Any]) -> bool:
        return self._frames.joined(port)

    def _identify(self) -> None:
        control = self._control
        self.implementation = control.implementation or self._frames.description
        self.version, self.pics = control.version, control.pics

    def _time(self, at_us: int) -> int:
        return max(0, at_us - self._since)

    def _collect(self) -> bool:
        """Take in what both planes have; true when there was something. Frames first: a device sends what a call
        causes before it says that the call is done."""
        found = self._take_frames()
        self._control.pump()
        late = self._take_frames()  # what was on the wire before the control plane spoke
        now = self._time(monotonic_us())
        for at_us, method, params in self._control.inbox:
            self.inbox.append(Notification(method, params, self._time(at_us), self._time(at_us)))
        found = found or late or bool(self._control.inbox)
        self._control.inbox.clear()
        for reply in [r for r in self._open if r.done]:
            reply.time_us, found = now, True
        self._open = [r for r in self._open if not r.done]
        return found

    def _take_frames(self) -> bool:
        arrived = self._frames.heard()
        for at_us, method, params in arrived:
            self.inbox.append(Notification(method, params, self._time(at_us), self._time(at_us)))
        for params in self._frames.strangers():
            now = self._time(monotonic_us())
            self.inbox.append(Notification("stranger", params, now, now))
        return bool(arrived)

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        self._stirred = True
        reply = self._control.request(method, params)
        if reply.done:
            reply.time_us = self._time(monotonic_us())
        else:
            self._open.append(reply)
            self._unheard = True
        self.now_us = self._time(monotonic_us())
        return reply

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._stirred = True
        if method in self._frames.methods:
            if self._unheard and any(not r.done for r in self._open):
                self._control.sync()  # or the frame might overtake the call that it is meant for
            self._unheard = False
            self._frames.tell(method, params)
        else:
            if method == "link":
                self._frames.link_event(str(params.get("event")))
            self._control.notify(method, params)
        self.now_us = self._time(monotonic_us())

    def advance(self, us: int) -> None:
        """Wait up to us, or until something arrives and what belongs to it has followed.

        Nobody waits for a device that was quiet and has been told nothing since. Else an upper tester is asked for a sign
        of life first, so that a slow device, or a slow host, has done its part however long that takes.
        """
        if us > 0:
            heard = self._listen(us)
            if not heard:  # by a device, or by a way to it that has stopped?
                self._frames.sync()
                heard = self._collect()
            self._stirred = heard or self._stirred
        elif self._stirred:
            self._frames.sync()
            asked = self._control.sync()
            settle = self._frames.settle_us
            self._stirred = False
            self._listen(settle if settle is not None else _ASKED_US if asked else _UNASKED_US)
        else:
            self._stirred = self._collect()
            self._frames.run()
        self.now_us = self._time(monotonic_us())

    def _listen(self, us: int) -> bool:
        """Take in what arrives within us; true when something did."""
        deadline, heard = monotonic_us() + us, False
        latest = deadline + _LONGEST_STEP_US
        with selectors.DefaultSelector() as selector:
            selector.register(self._frames.fileno(), selectors.EVENT_READ)
            control = self._control.fileno()
            if control is not None:
                selector.register(control, selectors.EVENT_READ)
            while True:
                if self._collect():
                    deadline, heard = min(monotonic_us() + min(us, _QUIET_US), latest), True
                self._frames.run()
                now = monotonic_us()
                if now >= deadline:
                    return heard
                due = self._frames.deadline_us()
                until = deadline if due is None else min(deadline, max(due, now))
                selector.select((until - now) / 1_000_000)

    def reset(self, config: dict[str, Any]) -> None:
        if config.get("wire", "fc") != self._frames.wire:
            raise Unavailable(f"this device is on the wire {self._frames.wire!r}; the case needs {config.get('wire', 'fc')!r}")
        self._open = []
        self._control.reset(config)
        self._frames.prepare(config)
        self._control.pump()
        self._control.inbox.clear()
        self.inbox.clear()
        self._stirred = True
        self._since = monotonic_us()
        self.now_us, self.next_us, self.knows_next = 0, None, False

    def restart(self) -> None:
        self._control.restart()
        self._frames.restart()
        self._identify()

    def close(self) -> None:
        self._control.close()
        self._frames.close()


__all__ = ["Control", "DutError", "Frames", "NoControl", "Plane", "PlaneDut", "monotonic_us"]
