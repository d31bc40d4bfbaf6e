"""Says what a liberty may touch, and the list of them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Callable, Optional, Union

from fcvi.fc import codec

MS = 1_000
SECOND = 1_000 * MS

Config = dict[str, Any]
Params = dict[str, Any]
Refusal = str  # a VIPL return code


class Manner:
    """How one device uses one liberty. Every method stands for a place where it may act; here it does nothing.

    port: members of struct fcvi_port_config, for the reference port alone.
    """

    clause = ""
    name = ""
    hides_next = False  # it does not say when its next timer fires
    acks_for_themselves = False  # the ACKs to one Sequence have no order

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.port: dict[str, Any] = {}
        self.choose()

    def choose(self) -> None:
        """Draw what stays the same for the life of the device."""

    def claim(self, pics: dict[str, Any]) -> None:
        """Change what the device says of itself."""

    def begin(self, config: Config, dut: Any) -> None:
        """A reset: forget everything; config may be changed for the port behind the layer."""

    def ask(self, method: str, params: Params) -> Union[Params, Refusal]:
        """A call as the port behind takes it, or the VIPL code by which it is refused."""
        return params

    def answer(self, method: str, params: Params, result: Params) -> Params:
        """What the call returns. params are as the suite gave them to this layer."""
        return result

    def note(self, method: str, params: Params) -> Optional[Params]:
        """A notification but for frames; None: it is not given."""
        return params

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        """The frames that leave instead of this one; None: just this."""
        return None

    def delimiters(self, frame: codec.Frame, kind: str) -> Optional[dict[str, str]]:
        """SOF and EOF of a frame that leaves, where they do not follow from its header and the class."""
        return None

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        """A frame of the tester as the port behind takes it; None: the port takes no notice."""
        return frame.data

    # ---- latency: microseconds ----

    def on_the_wire(self) -> int:
        """How late this frame of the device is; the plane keeps its order."""
        return 0

    def apart(self, frame: codec.Frame, kind: str) -> int:
        """How late this frame is for its Exchange alone."""
        return 0

    def on_the_way_in(self) -> int:
        """How late a frame of the tester reaches the port; order is kept."""
        return 0

    def told(self) -> int:
        """How late returns and notifications are, all in their order."""
        return 0

    def told_apart(self, method: str, params: Params) -> Optional[tuple[str, int]]:
        """A return or notification that has an order of its own: the name of that order, how late it is."""
        return None

    def returns_first(self, method: str, params: Params) -> bool:
        """Whether the call returns VIP_SUCCESS before the port begins; what comes after it for this VI waits."""
        return False

    def begun(self, method: str) -> int:
        """How long after the call the port begins."""
        return 0


def number(frame: codec.Frame, ident: str) -> int:
    """A field of the Device_Header."""
    value = frame.get("DH", ident)
    assert isinstance(value, int), f"{ident} is no number"
    return value


def in_connect(frame: codec.Frame, kind: str, at: int, size: int) -> Optional[int]:
    """Where in the frame these bytes of a connect payload are, which may come in several frames (E44); None: not in this one."""
    start = at - frame.header("Parameter")
    inside = kind in ("CONNECT_RQST", "CONNECT_RESP1") and 0 <= start <= len(frame.payload) - size
    return frame.payload_offset + start if inside else None


@dataclass(frozen=True)
class Liberty:
    """A name, the clause that permits it, how a device uses it."""

    name: str
    clause: str
    make: Callable[[random.Random], Manner]
    of_the_reference_port: bool
    family: str
    arguable: str  # why a reader may doubt it; such a liberty is not mixed in unless it is asked for
    of_2007: bool  # it knows the layouts or the words of that edition alone


LIBERTIES: dict[str, Liberty] = {}


def liberty(
    name: str, clause: str, family: str = "", reference: bool = False, arguable: str = "", of_2007: bool = False
) -> Callable[[type[Manner]], type[Manner]]:
    """Add a manner to the list. Of one family a device uses one. reference: only the reference port can."""

    def add(kind: type[Manner]) -> type[Manner]:
        assert name not in LIBERTIES
        about = {"name": name, "clause": clause, "__module__": kind.__module__, "__doc__": kind.__doc__}
        made = type(kind.__name__, (kind,), about)
        LIBERTIES[name] = Liberty(name, clause, made, reference, family or name, arguable, of_2007)
        return kind

    return add
