"""VI/TCP in captures: which PDUs the TCP segments hold, and what is wrong in them.

It comes with the extension module alone, as ``fcvi.capture.scan`` does.
"""

from __future__ import annotations

from _fcvi import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Optional

#: Why records of VI/TCP are not judged, by enum tcp_reason.
REASONS = (
    "VI/TCP: bytes of the stream are missing before it",
    "VI/TCP: its data is cut off in the capture",
    "VI/TCP: a part of a PDU of which the rest did not come",
    "VI/TCP: the stream began before the capture",
    "VI/TCP: behind a Segment Length that ends the stream",
    "TCP: libtins4.0 is not installed, which puts streams together",
)
WITHOUT = "TCP without data (VI/TCP)"


class Wishes:
    """What a command is told of VI/TCP."""

    wire: Optional[str] = None
    tcp_port = 0
    profile: Optional[str] = None


def add_options(parser: Any, every: bool = True) -> None:
    """--tcp-port, --profile and --wire."""
    if every:
        parser.add_argument("--wire", choices=("tcp",), help="Take every TCP connection for VI/TCP (default: those that begin so).")
    what = "TCP connections of this port are VI/TCP, however they begin."
    parser.add_argument("--tcp-port", type=_port, default=0, metavar="N", help=what)


def _port(value: str) -> int:
    from argparse import ArgumentTypeError

    from fcvi.engine.words import number

    found = number(value, 1, 65535)
    if found is None:
        raise ArgumentTypeError("must be a port from 1 to 65535")
    return found


class Report:
    """A PDU, or what ends a stream. findings: (where it came, struct fcvi_finding) each."""

    def __init__(self, struct: Any, data: bytes) -> None:
        self.record: int = struct.place.record
        self.time_us: int = struct.place.time_us
        self.byte: int = struct.place.byte
        self.connection: int = struct.connection
        self.direction: int = struct.direction
        self.offset: int = struct.offset
        self.length: int = struct.length
        self.broken: bool = struct.step == lib.FCVI_STREAM_BROKEN
        self.data = data
        self.found = [(struct.at[i].record, struct.at[i].time_us, struct.finding[i]) for i in range(min(struct.findings, 12))]

    def arrow(self) -> str:
        """The connection and the direction, the end that opened it on the left."""
        return f"{self.connection}{'>' if self.direction == 0 else '<'}"


class Streams:
    """The VI/TCP of one stream of records. profile: struct fcvi_profile."""

    def __init__(self, profile: Any, port: int = 0, every: bool = False, keep: bool = False, connections: bool = False) -> None:
        self.profile = profile
        options = {"profile": profile, "port": port, "every": every, "keep": keep, "connections": connections}
        self.pointer = ffi.gc(lib.fcvi_tcp_open(ffi.new("struct tcp_options *", options)), lib.fcvi_tcp_close)
        if self.pointer == ffi.NULL:
            raise MemoryError
        self._report = ffi.new("struct tcp_report *")

    def take(self, packet: bytes, whole: int, record: int, time_us: int, network: int = 0) -> None:
        """An IP packet that holds TCP. network: as its record has it. Raises MemoryError."""
        keep = ffi.from_buffer("uint8_t[]", packet)
        of = {"time_us": time_us, "network": network, "whole": whole, "frame": {"bytes": keep, "length": len(packet)}}
        if lib.fcvi_tcp_take(self.pointer, ffi.new("struct capture_record *", of), record) < 0:
            raise MemoryError

    def flush(self) -> None:
        """The capture ends."""
        if lib.fcvi_tcp_flush(self.pointer) < 0:
            raise MemoryError

    def reports(self) -> Iterator[Report]:
        """Of the last packet, or of the end."""
        index = 0
        while lib.fcvi_tcp_report(self.pointer, index, self._report):
            data = bytes(ffi.buffer(lib.fcvi_tcp_bytes(self.pointer, index), self._report.there))
            yield Report(self._report, data)
            index += 1

    def over(self) -> Iterator[Any]:
        """The connections that are over (struct tcp_connection)."""
        while True:
            found = ffi.new("struct tcp_connection *")
            if not lib.fcvi_tcp_over(self.pointer, found):
                return
            yield found

    def attempts(self) -> Iterator[Any]:
        """The SYNs that no SYN answered (struct tcp_attempt)."""
        found, index = ffi.new("struct tcp_attempt *"), 0
        while lib.fcvi_tcp_attempt(self.pointer, index, found):
            yield found
            index += 1

    def spoke_on(self) -> set[int]:
        """The numbers of connections of which an end speaks on behind a reset in its name."""
        found: set[int] = set()
        index = 0
        while number := int(lib.fcvi_tcp_spoke_on(self.pointer, index)):
            found.add(number)
            index += 1
        return found

    @property
    def tally(self) -> Any:
        """struct tcp_tally."""
        return lib.fcvi_tcp_tally(self.pointer)

    def unjudged(self) -> list[tuple[str, int, Optional[int]]]:
        """PDUs that only the codec judged: reason, how many, the record of the first."""
        found = []
        for reason in range(1, lib.FCVI_VITCP_UNJUDGED_COUNT):
            count = self.tally.monitor[reason]
            if count.records:
                words = ffi.string(lib.fcvi_vitcp_unjudged_text(reason)).decode()
                found.append((words, count.records, count.first))
        return found

    def records(self) -> tuple[int, int, dict[str, int], dict[str, int]]:
        """What became of the records: all, judged, not judged by reason, foreign by protocol."""
        t = self.tally
        not_judged = {REASONS[i]: t.unjudged[i].records for i in range(lib.TCP_REASONS) if t.unjudged[i].records}
        return t.records, t.judged, not_judged, {"TCP": t.foreign, WITHOUT: t.without}

    def summary(self, report: Report) -> str:
        """A PDU in one line."""
        view = ffi.new("struct fcvi_pdu *")
        keep = ffi.from_buffer("uint8_t[]", report.data)
        lib.fcvi_pdu_first(self.profile, keep, len(report.data), view, ffi.NULL)
        if report.broken or not view.headers:
            return "bytes that are no PDU" if report.broken else "bytes that came again"
        view.there, view.data_length = view.length, view.length - view.headers
        out = ffi.new("char[]", 512)
        lib.fcvi_pdu_print_summary(view, out, 512)
        return str(ffi.string(out), "ascii")


def profile_of(path: Optional[str]) -> Any:
    """struct fcvi_profile of a file, T0 without one. Raises ValueError with a line that says what is wrong."""
    if path is None:
        return lib.fcvi_profile_t0()
    from . import codec

    try:
        return codec.load(path).struct
    except codec.ProfileError as error:
        raise ValueError(str(error)) from error


def name_of(path: Optional[str]) -> str:
    """The name of a profile."""
    return str(ffi.string(profile_of(path).name), "ascii")
