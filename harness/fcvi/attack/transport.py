"""Says what an attack needs to know of a wire: what is sent at once, how it is changed, and what comes back.

A unit is an FC-2 frame (frames.py) or a PDU of a stream (pdus.py). It is a frozen dataclass with a member ``data``.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Mapping, Optional, Protocol, Sequence

from fcvi.engine.results import TraceFrame

if TYPE_CHECKING:
    from fcvi.engine.attachment import Dut
    from fcvi.engine.pixit import Pixit


class Transport(Protocol):
    """One wire."""

    unit: str  # what is sent at once, in a word: "frame"
    standard: str  # the name of the registered standard that says where a device can be attacked
    streams: bool  # whether the units are parts of a stream

    @property
    def hows(self) -> Sequence[int]:
        """Other SOFs, or ways to cut, that a unit may get."""

    def scenario(self, dut: Dut, pics: Mapping[str, Any], pixit: Pixit, levels: Mapping[str, str], rng: Random) -> Any:
        """A case that has not begun: it brings the device into a state, and probes it."""

    def understood(self, t: Any) -> bool:
        """Whether the device has the numbers of the run: one that has not is no worse for not understanding the attack."""

    def name_of(self, unit: Any) -> str:
        """What a unit is, in a word."""

    def mutate(self, data: bytes, seed: int) -> bytes:
        """Another unit's bytes. Equal arguments give equal bytes."""

    def made(self, data: bytes, origin: Any, how: Optional[int], crc_ok: bool) -> Any:
        """The unit of these bytes, framed like the origin but for what is said. how: one of hows."""

    def send(self, t: Any, place: Any, unit: Any, changed: bool) -> None:
        """Send it. Raises Unavailable when the path cannot carry it."""

    def wrong(self, entry: TraceFrame) -> str:
        """Why no correct device sends this, whatever it has heard; "" when one may."""

    def fields(self, data: bytes) -> tuple[str, dict[tuple[str, str, int], Any]]:
        """What a unit is, and the value of each field by structure, name and byte."""

    def to_json(self, unit: Any) -> dict[str, Any]:
        """A unit as a finding has it, without where it was made from."""

    def of_json(self, entry: Mapping[str, Any]) -> tuple[Any, Any]:
        """The unit of a finding, and the one that it was made from. Raises KeyError, TypeError or ValueError."""
