"""What passed between suite and device as text: lines of evidence, rows of ladders, and JSON. Written in C (harness/pytext)."""

from collections.abc import Callable, Sequence
from typing import Any, Optional

MOST_IDLE: int  # operations that one line of evidence stands for at most

class Recorder:
    """Notes what passes between the suite and a device, as lines of JSON. It is the base of RecordingDut."""

    now_us: int
    next_us: Optional[int]
    knows_next: bool
    def around(
        self, inner: object, encode: Callable[[Any], str], broken: type[Exception], unavailable: type[Exception], /
    ) -> None:
        """Note what passes to and from a device from now on. encode: writes a value as JSON without white space. broken,
        unavailable: the exceptions of a device that are noted."""

    def request(self, method: str, params: dict[str, Any], /) -> Any:
        """As Dut.request, and noted."""

    def send_frame(self, frame: Any, /) -> None:
        """As Dut.send_frame, and noted."""

    def advance(self, us: int, /) -> None:
        """As Dut.advance, and noted; of one by no time of which nothing came only the count."""

    def asked(self, text: str, /) -> None:
        """An operation begins that the caller does itself. text: the beginning of its line, an object of JSON without its last
        bracket."""

    def asked_to_reset(self, config: dict[str, Any], /) -> None:
        """A reset begins that the caller does itself. Requests are counted anew, and none is under way."""

    def came(self) -> None:
        """The operation is over: note it with all that was said meanwhile."""

    def came_to_nothing(self, error: BaseException, /) -> None:
        """The operation failed with this exception: note it."""

    def mirrored(self) -> None:
        """Take over the device's times."""

    def take(self) -> bytes:
        """What was noted since the last call: lines of JSON, each with its line break."""

def traced(
    frames: Sequence[Any], crc_ok: int, crc_bad: int, comments: Optional[Callable[[Any], bytes]], /
) -> tuple[bytes, bytes, bytes]:
    """TraceFrames as C takes them: an array of struct calls_traced, their bytes one behind the other, and so their options of
    pcapng. crc_ok, crc_bad: the codec's. comments: gives the options of a frame that has a note or findings; None for none at all.
    """

def rows(
    frames: list[Any], brief: bytes | memoryview, owed: dict[int, str], beside: list[tuple[int, str]], fields: bool, most: int,
    escape: Callable[[Any], str], /,
) -> bytes:
    """The rows of a ladder as UTF-8, with a control character for each piece of markup.

    frames: TraceFrames. brief: for each of them its summary and its fields, each with a NUL behind it. owed: by the number of a
    frame, what was awaited. beside: (behind how many frames, the row), in order. fields: whether rows show them. most: rows. escape:
    for what the suite noted.
    """

def items(values: list[Any], told: type, escape: Callable[[Any], str], encode: Callable[[Any], str], /) -> bytes:
    """Each value in words as an item of a list in HTML, as UTF-8. told: the class of values that are a time, a name and parameters.
    escape: for words that are more than printable ASCII. encode: JSON with the separators ', ' and ': ', for what is of a class of
    its own."""

def indented(value: Any, ascii_only: bool, encode: Callable[[Any], str], /) -> bytes:
    """JSON as json.dumps(value, indent=1) writes it, as UTF-8, and a line break. Names of members are strings. encode: for what is
    of a class of its own."""
