"""A TCP connection as the DUT protocol has it: bytes in any cut, windows, two ways to end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple

from . import wire
from .wire import Malformed, Segment

if TYPE_CHECKING:
    from .port import Port

FIRST_WINDOW = 65536
LINGER_US = 500_000
Address = Tuple[bytes, int]


def address_json(address: Address) -> Dict[str, Any]:
    """As stream.open has it."""
    return {"host": address[0].hex(), "port": address[1]}


class Stream:
    """One stream. The owner is told of segments, of rubbish and of the end."""

    def __init__(self, port: "Port", name: str, local: Address, remote: Address) -> None:
        self.port, self.name, self.local, self.remote = port, name, local, remote
        self.is_open = False
        self.ended = self.closing = False  # the other side's end, ours
        self.window: Optional[int] = FIRST_WINDOW
        self._lingered = False
        self._resting = False  # it paces what it sends
        self._joining = False  # it waits for more to send
        self._read = 0  # bytes that the window has not been opened for again
        self.held = False  # what comes is kept and not looked at (V72)
        self._in = bytearray()
        self._out = bytearray()
        self.on_open: Callable[[], None] = lambda: None
        self.on_refused: Callable[[], None] = lambda: None
        self.on_segment: Callable[[Segment], None] = lambda segment: None
        self.on_rubbish: Callable[[str], None] = lambda why: self.close()
        self.on_end: Callable[[str], None] = lambda how: self.close()
        self.on_room: Callable[[], None] = lambda: None
        self.on_bytes: Callable[[], None] = lambda: None
        self.on_closed: Callable[[], None] = lambda: None  # on our side

    def opened(self) -> None:
        """TCP is established."""
        self.is_open = True
        if self.port.bad("half-a-segment-stays") or self.port.bad("half-an-answer-stays"):
            self._in += self.port.left_unread
        if self.port.choose("receive_window") == "open":
            self.port.notify("stream.window", {"stream": self.name, "bytes": None})

    @property
    def unread(self) -> bytes:
        """What has come and was not looked at."""
        return bytes(self._in)

    def forget_unread(self) -> None:
        """Lose what has come and was not looked at, for a fault."""
        self._in.clear()

    # Out

    @property
    def roomy(self) -> bool:
        """Whether a segment can be formed now: nothing waits but for more, and the window is not closed (V61)."""
        free = not self._out or (self._joining and len(self._out) < 20_000)
        return self.is_open and not self.closing and free and self.window != 0

    def write(self, segment: Segment) -> None:
        """A segment goes out as soon as the window lets it."""
        if self.is_open and not self.closing:
            if self.port.choose("unused") == "rubbish":
                _fill(segment)
            self._out += self.port.faults.bytes_of(segment)
            wait = self.port.choose.number("join")
            if wait and not self._joining:
                self._joining = True
                self.port.clock.after(wait, self._joined)
            elif not wait:
                self._flush()

    def _flush(self) -> None:
        if self._joining:
            return
        longest, pace = self.port.choose.number("cut"), self.port.choose.number("pace")
        while self._out and self.window != 0 and not self._resting:
            piece = self._out[: longest if self.window is None else min(longest, self.window)]
            del self._out[: len(piece)]
            if self.window is not None:
                self.window -= len(piece)
            self.port.notify("stream.data", {"stream": self.name, "hex": bytes(piece).hex()})
            if pace:
                self._resting = True
                self.port.clock.after(pace, self._rested)
        if not self._out and self.closing:
            self._end(self.port.choose("close"))

    def _joined(self) -> None:
        self._joining = False
        if self.is_open:
            self._flush()
            if self.roomy:
                self.on_room()

    def _rested(self) -> None:
        self._resting = False
        if self.is_open:
            self._flush()
            if self.roomy:
                self.on_room()

    def granted(self, count: Optional[int]) -> None:
        """The other side takes more bytes."""
        if count is None or self.window is None:
            self.window = None
        else:
            self.window += count
        self._flush()
        if self.roomy:
            self.on_room()

    def close(self) -> None:
        """End it, behind what was written; a stopped window does not hold it for ever (V66)."""
        if self.closing or not self.is_open:
            return
        lingers = self.port.choose.number("lingers")
        if lingers and not self._lingered:
            self._lingered = True
            self.port.clock.after(lingers, self.close)
            return
        self.closing = True
        self._joining = False
        if self._out and not self.port.choose.number("pace"):
            self.port.clock.after(LINGER_US, lambda: self._end("reset"))
        self._flush()

    def _end(self, how: str) -> None:
        if self.is_open:
            self.is_open = False
            self._out.clear()
            first, _, then = how.partition("-")
            for one in (first, then) if then else (first,):
                self.port.notify("stream.close", {"stream": self.name, "how": one})
            self.port.forget(self)
            self.on_closed()

    # In

    def take(self, data: bytes) -> None:
        """Bytes of the other side."""
        if self.closing or not self.is_open:
            return
        self._in += data
        self.on_bytes()
        self._grant(len(data))
        self.feed()

    def _grant(self, count: int) -> None:
        how, self._read = self.port.choose("receive_window"), self._read + count
        if how == "open" or (how == "slowly" and self._read < FIRST_WINDOW // 2):
            return
        if how == "slowly":
            self.port.clock.after(1000, self._give)
        else:
            self._give()

    def _give(self) -> None:
        if self.is_open and self._read:
            self.port.notify("stream.window", {"stream": self.name, "bytes": self._read})
            self._read = 0

    def feed(self) -> None:
        """Look at what has arrived."""
        while not self.held and self.is_open and not self.closing and len(self._in) >= wire.HEADER:
            try:
                total = wire.length_of(self._in)
            except Malformed as why:
                if self.port.bad("length-not-followed"):
                    del self._in[: wire.HEADER]
                    continue
                self._in.clear()
                self.on_rubbish(str(why))
                return
            if len(self._in) < total:
                return
            piece = bytes(self._in[:total])
            del self._in[:total]
            self.on_segment(wire.parse(piece))
            if self.port.bad("half-a-header-lost") and len(self._in) < wire.HEADER:
                self._in.clear()
            if self.port.bad("one-segment-a-piece"):
                self._in.clear()

    def finished(self, how: str) -> None:
        """The other side is at its end."""
        if not self.is_open:
            self.port.forget(self)
        if self.ended or not self.is_open:
            return
        self.ended = True
        if how == "reset":
            self.is_open = False
            self.port.forget(self)
            self.on_closed()
        self.on_end(how)


def _fill(segment: Segment) -> None:
    """What means nothing holds anything."""
    if not segment.flags & wire.IMMEDIATE:
        segment.immediate = 0x5AA5C33C
    if segment.kind == wire.NOP or segment.kind in wire.CE:
        segment.offset = 0 if segment.kind in wire.CE else 0x7788
        segment.number = 0xDEAD0000 | segment.rx
