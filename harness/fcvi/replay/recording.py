"""Holds what is played: the tester's actions and the device's answers, in the order in which they were recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterator, Union

from fcvi.fc.build import RawFrame
from fcvi.engine.files import FileError


class RecordingError(FileError):
    """A recording that can be read but not played: one line that names file and place."""


def require_method(method: object) -> str:
    """A method of the control plane that a recording may call. Raises ValueError."""
    if not isinstance(method, str) or not (method.startswith("Vip") or method in ("mem.read", "mem.write")):
        raise ValueError(f"{str(method)[:40]!r} is no VIPL call, mem.read or mem.write")
    return method


@dataclass
class FrameEvent:
    """A frame of either side. number: its place among the frames of the recording, from 1.

    together: the tester sent it right behind what it did before, and the device had no time between.
    """

    time_us: int
    sender: str  # "tester" or "dut"
    number: int
    frame: RawFrame
    crc: int = 0  # as the capture has it: codec.CRC_...
    together: bool = False


@dataclass
class CallEvent:
    """A VIPL call, or mem.read or mem.write. after: how many frames came before it."""

    time_us: int
    after: int
    call: int  # a number that ReturnEvent refers to
    method: str
    params: dict[str, Any]
    together: bool = False  # as with a frame


@dataclass
class ReturnEvent:
    """A call's answer: the members of the result, or an error code."""

    time_us: int
    after: int
    call: int
    result: dict[str, Any] = field(default_factory=dict)
    error: int | None = None
    whole: bool = True  # false: only these members of the result are known


@dataclass
class NoteEvent:
    """A notification of the device: "completion", "error" or "state"."""

    time_us: int
    after: int
    method: str
    params: dict[str, Any]


@dataclass
class LinkEvent:
    """A link event that the tester caused."""

    time_us: int
    after: int
    event: str


Event = Union[FrameEvent, CallEvent, ReturnEvent, NoteEvent, LinkEvent]


@dataclass
class Recording:
    """config: the members of ``reset`` under which it was made. case: the case of the suite that it is of, if it is."""

    path: str
    config: dict[str, Any]
    events: list[Event]
    end_us: int = 0
    ignore: frozenset[str] = frozenset()
    knows_calls: bool = True  # false: nothing is known of the control plane
    case: str = ""
    edition: str = "2007"  # or "rev1": by which the IUs of both sides are read

    def frames(self, sender: str) -> Iterator[FrameEvent]:
        """The frames of one side."""
        return (e for e in self.events if isinstance(e, FrameEvent) and e.sender == sender)

    def returns(self) -> dict[int, ReturnEvent]:
        """The answers by call."""
        return {e.call: e for e in self.events if isinstance(e, ReturnEvent)}
