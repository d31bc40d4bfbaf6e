"""A stream from the tester's side, and what was received on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional

from .trace import Address
from .wire import Pdu

if TYPE_CHECKING:
    from .monitor import Monitor, Own
    from .watch import Watch

FIRST_WINDOW = 65_536
LONGEST_PIECE = 30_000
#: Places inside every field of a segment's headers: a piece may end there.
_IN_FIELDS = (1, 3, 6, 10, 14, 18, 21, 23, 25, 27, 30, 34, 38, 46, 49, 51, 60)
_IN_A_HEADER = 8  # of them are in the header that every segment has
#: How the tester divides what it sends (2.2.2.2.3): the draft leaves that to TCP.
CUTS = ("whole", "bytes", "fields", "joined", "across")


@dataclass(eq=False)
class Received:
    """A PDU of the DUT."""

    pdu: Pdu
    stream: Stream
    numbers: list[int]  # its unit in the trace
    earliest_us: int
    time_us: int
    taken: bool = False

    def __str__(self) -> str:
        return f"{self.pdu.summary()} on {self.stream.name}"


@dataclass(eq=False)
class Stream:
    """One TCP connection between tester and DUT."""

    name: str
    by: str  # "tester" or "dut": who opened it
    local: Address
    remote: Address
    watch: Watch
    own: Own
    monitor: Monitor
    time_us: int = 0  # when it was opened
    opened: bool = False
    refused: bool = False
    ended: str = ""  # how the DUT closed it: "fin" or "reset"
    ended_us: int = 0
    closed: str = ""  # how the tester closed it
    window: Optional[int] = FIRST_WINDOW  # what the DUT takes; None: without limit
    granted: Optional[int] = FIRST_WINDOW  # what the DUT may send
    cut: str = "whole"
    held: bytearray = field(default_factory=bytearray)  # to be sent in one piece with what comes behind it, or a part of that
    across: int = 0  # PDUs that were divided so that a piece ends in their header
    waiting: bytearray = field(default_factory=bytearray)  # the DUT's window is closed
    rest: bytearray = field(default_factory=bytearray)  # of the DUT, less than a PDU
    sent: int = 0
    received: int = 0
    timestamps: Optional[bool] = None  # both ends have the timestamp option of TCP; None: nobody has told
    rubbish: bool = False  # what the DUT sends can no longer be divided into PDUs
    number: int = 0  # the unit of the trace that opened it

    @property
    def over(self) -> bool:
        """Whether the DUT has closed it."""
        return bool(self.ended)

    @property
    def deaf(self) -> bool:
        """Whether nothing can be sent on it: one side has closed, or it was never open."""
        return bool(self.closed) or self.ended == "reset" or not self.opened

    @property
    def arrived(self) -> int:
        """Bytes of the DUT, those of a PDU that is not whole among them."""
        return self.received + len(self.rest)

    def pieces(self, data: bytes) -> list[bytes]:
        """How the bytes of one PDU are divided; "across": a piece has the end of one and a part of the next one's header."""
        if self.cut == "across":
            self.across += 1
            end = min(_IN_FIELDS[self.across % _IN_A_HEADER], len(data))
            piece, self.held = bytes(self.held) + data[:end], bytearray(data[end:])
            return [piece[i : i + LONGEST_PIECE] for i in range(0, len(piece), LONGEST_PIECE)]
        if self.cut == "bytes":
            return [data[i : i + 1] for i in range(len(data))]
        ends = [*(e for e in _IN_FIELDS if e < len(data)), len(data)] if self.cut == "fields" else [len(data)]
        found, begin = [], 0
        for end in ends:
            found += [data[i : min(i + LONGEST_PIECE, end)] for i in range(begin, end, LONGEST_PIECE)]
            begin = end
        return found
