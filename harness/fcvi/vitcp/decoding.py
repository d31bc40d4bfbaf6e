"""``fcvi decode``: the PDUs of VI/TCP, of streams and of captures, in words or JSON."""

from __future__ import annotations

import json
import sys
from typing import Any, BinaryIO, Iterator

from fcvi.capture import confined
from fcvi.capture.frame_fields import Fields, Wishes
from fcvi.capture.hexdump import HexError, frames_of, text_of
from fcvi.engine.output import gone
from fcvi.engine.paint import Paint
from fcvi.engine.words import complain, file_name, printable

from . import codec
from .captured import Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fcvi.capture.reader import Record
    from .captured import Report

_PIECE = 1 << 16


class _Printer:
    """Prints the PDUs of one file."""

    def __init__(self, path: str, args: Any) -> None:
        self._path, self._args = path, args
        self._paint: Paint = args.paint

    def show(self, pdu: codec.Pdu, number: int, stream: int, offset: int) -> bool:
        """One PDU, if the filter lets it: whether it did. number: in the file; offset: in its stream."""
        head = {"file": file_name(self._path), "number": number, "stream": stream, "offset": offset}
        return self._show(pdu, head, {"frame": number}, f"{number:>6} {stream:>3}.{offset:<9} ")

    def show_captured(self, pdu: codec.Pdu, report: Report, seconds: float) -> bool:
        """One PDU of a capture, as ``show``. seconds: since its first record."""
        head = {"file": file_name(self._path), "frame": report.record, "time": report.time_us / 1e6, "record": "pdu",
                "connection": report.connection, "direction": report.direction, "offset": report.offset}  # fmt: skip
        around = {"frame": report.record, "time": seconds, "record": "pdu", "connection": report.connection}
        return self._show(pdu, head, around, f"{report.record:>6} {seconds:>12.6f} {report.arrow():>3} {report.offset:<9} ")

    def _show(self, pdu: codec.Pdu, head: dict[str, Any], around: dict[str, Any], place: str) -> bool:
        wishes: Wishes = self._args.wishes
        view = Fields(pdu, around, pdu.findings) if wishes else None
        if view is not None and not wishes.holds(view):
            return False
        if view is not None and wishes.fields:
            print(json.dumps({**head, "chosen": wishes.chosen(view)}) if self._args.json else wishes.line(view))
        elif self._args.json:
            profile = {"profile_sha256": self._args.profile.sha256}
            print(json.dumps({**head, **pdu.json(), **profile, "findings": [f.as_json() for f in pdu.findings]}))
        else:
            self._say(pdu, place)
        return True

    def _say(self, pdu: codec.Pdu, place: str) -> None:
        paint = self._paint
        file = f"{printable(self._path)}: " if len(self._args.files) > 1 else ""
        head_line = paint(file + place, "place")
        if self._args.summary:
            print(head_line + pdu.summary())
            return
        title, *lines = pdu.text().splitlines()
        print("\n       ".join([head_line + paint(title, "title"), *lines]))
        for f in pdu.findings:
            words = f"! {f.requirement} [{f.cls}] {f.message}: seen {f.seen}, required {f.required}"
            print(f"       {paint(words, f.cls)}")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read1(_PIECE) if hasattr(file, "read1") else file.read(_PIECE):
        yield piece


def _streams(path: str, file: BinaryIO, args: Any) -> list[Iterator[bytes]]:
    if args.form == "stream":
        return [_pieces(file)]
    dumps = frames_of(text_of(file, path), path, longest=None)
    return [iter([dump]) for dump in dumps]


def _end(path: str, stream: int, offset: int, pdu: codec.Pdu) -> None:
    where = f"{path}: stream {stream}: byte {offset}"
    if pdu.step == "broken":
        complain(f"{where}: Segment Length {pdu.needed} is less than a Segment Header: nothing behind it can be read")
    else:
        complain(f"{where}: the stream ends within a PDU: {len(pdu.data)} bytes are there, at least {pdu.needed} are needed")


def _decode(path: str, file: BinaryIO, args: Any) -> int:
    low, high = args.frames or (1, None)
    printer, number, status = _Printer(path, args), 0, 0
    for stream, pieces in enumerate(_streams(path, file, args), 1):
        offset = 0
        for pdu in codec.divide(pieces, args.profile):
            number += 1
            if high is not None and number > high:
                return 0
            if number >= low:
                printer.show(pdu, number, stream, offset)
            if path == "-":
                sys.stdout.flush()
            if gone():
                return 0
            if pdu.step != "pdu":
                sys.stdout.flush()
                _end(path, stream, offset, pdu)
                status = 2
            offset += len(pdu.data)
    if number < low:
        sys.stdout.flush()
        has = f"the streams have {number} PDUs, none of them from {low} on" if number else "no PDU was decoded: there are no bytes"
        complain(f"{path}: {has}")
        return 2
    return status


class Captured:
    """The VI/TCP of one capture. problem: a Segment Length that ends a stream, in one line."""

    def __init__(self, path: str, args: Any) -> None:
        self._args, self._printer = args, _Printer(path, args)
        self._streams = Streams(args.profile.struct, args.tcp_port, args.family == "vitcp", keep=True)
        self._begin: int | None = None
        self.pdus = self.shown = 0
        self.problem = ""

    def take(self, record: Record, shown: bool) -> bool:
        """One record; whether PDUs end in it. shown: print them."""
        if self._begin is None:
            self._begin = record.time_us
        if record.kind != "foreign" or record.protocol != "TCP":
            return False
        self._streams.take(record.data, record.whole, record.number, record.time_us, record.network)
        return self._tell(shown)

    def end(self, low: int, high: int | None) -> None:
        """The capture ends: what waited is told. low, high: the records that are wanted."""
        self._streams.flush()
        for report in self._streams.reports():
            self._show(report, report.record >= low and (high is None or report.record <= high))

    def _tell(self, shown: bool) -> bool:
        before = self.pdus
        for report in self._streams.reports():
            self._show(report, shown)
        return self.pdus > before

    def _show(self, report: Report, shown: bool) -> None:
        pdu = codec.first(report.data, self._args.profile)
        self.pdus += 1
        if shown:
            self.shown += self._printer.show_captured(pdu, report, (report.time_us - (self._begin or 0)) / 1e6)
        if report.broken and not self.problem:
            where = f"record {report.record}: connection {report.arrow()}: byte {report.offset}"
            self.problem = f"{where}: Segment Length {pdu.needed} is less than a Segment Header: nothing behind it can be read"


def decode(path: str, args: Any, box: confined.Box) -> int:
    """Print the PDUs of a file. Returns the exit status."""
    try:
        with open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-") as file:
            box.enter()
            return _decode(path, file, args)
    except OSError as error:
        sys.stdout.flush()
        complain(f"{path}: {error.strerror}")
    except HexError as error:
        sys.stdout.flush()
        complain(error)
    return 2
