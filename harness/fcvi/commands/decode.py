"""``fcvi decode``: the frames of captures in words or JSON.

It reads pcap and pcapng with linktype 224 (FC_2), 225 (FC_2_WITH_FRAME_DELIMS) and Ethernet with FCoE, Cisco's port analyzer
adapter (Boardwalk) and MDS header or FCIP, as they are or compressed by gzip, zstd, xz, lz4 or bzip2, of any size; - is
standard input, of which frames are told as they come. --from hex reads hexadecimal dumps instead: one frame a line, or lines
with offsets as xxd, hexdump -C and text2pcap have them.

Times in words count from the first record of the file, those of --json from 1970 on. A field that is a part of its bytes has its
bits behind the offset: 9.13-12 is bits 13 to 12 of what begins at byte 9. An address of IPv6 and a Discriminator of printable
characters stand in words beside their bytes. Several files have their names before each frame. On a terminal there is colour,
unless NO_COLOR is set.

TCP connections that begin with a PDU of VI/TCP are VI/TCP: their PDUs are told where they end, with the number of the connection,
> or < for the direction (> is that of who opened it) and the byte of the stream that the PDU begins at. --tcp-port says that the
connections of a port are VI/TCP, however they begin, and --family vitcp that all are; then only PDUs are told.

With --family vitcp the PDUs of VI/TCP are decoded: --from stream reads the bytes of one direction of a TCP connection as they
are, and --from hex takes each dump for a stream. The numbers that the draft of VI/TCP never assigned are those of profile T0, or
of the file that --profile names.

Of a frame that the snap length cut off it tells what is wrong in the headers. The exit status is 0, or 2 when a capture cannot
be read to its end, or holds no FC-2 frame (no PDU) or none of the records that --frames names. It is 3 when the reader failed.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Optional

from fcvi.fc import codec
from fcvi.capture import confined
from fcvi.capture import filter_options, frame_fields
from fcvi.capture.hexdump import HexError, captures_of
from fcvi.capture.limits import add_options, add_reorder
from fcvi.capture.scan import EDITIONS, Editions, Order
from fcvi.capture.reader import CaptureError, Reader, Record, findings_of_cut
from fcvi.engine.jobs import each, number_of_jobs
from fcvi.engine.output import gone
from fcvi.engine.paint import PLAIN, Paint, paint_for
from fcvi.engine.results import Finding
from fcvi.engine.progress import Progress, wanted
from fcvi.engine.words import complain, file_name, number, printable, refuse
from fcvi.fc.requests import Requests
from fcvi.vitcp import captured
from fcvi.vitcp import codec as vitcp_codec
from fcvi.vitcp import decoding


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("decode", help="Print the frames of captures in words or JSON.", description=__doc__)
    p.add_argument("files", metavar="FILE", nargs="+", help="This is a capture; - is standard input.")
    form = p.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="Print one object for each frame, a line each.")
    form.add_argument("--summary", action="store_true", help="Print one line for each frame.")
    what = "The files are captures (the default), hexadecimal dumps or, with --family vitcp, streams."
    p.add_argument("--from", dest="form", choices=("capture", "hex", "stream"), default="capture", help=what)
    p.add_argument("--family", choices=("fc", "vitcp"), default="fc", help="The wire is that of FC-VI (the default) or VI/TCP.")
    what = "This file has the numbers of VI/TCP that the draft leaves open (default: T0)."
    p.add_argument("--profile", metavar="FILE", help=what)
    captured.add_options(p, every=False)
    link = "The frames of a hexadecimal dump begin with the Frame_Header, SOF or Ethernet (default: as they look)."
    p.add_argument("--link", choices=("frame", "delimited", "ethernet"), help=link)
    which = "The ports speak this edition: that of 2007, Rev 1.0 of 1999, or what their frames show (the default)."
    p.add_argument("--edition", choices=tuple(EDITIONS), default="auto", help=which)
    p.add_argument("--frames", type=_range, metavar="A-B", help="Print only the records with these numbers: 3, 3-7 or 3-.")
    filter_options.add_options(p, "frames and PDUs")
    p.add_argument("--jobs", type=number_of_jobs, default=1, metavar="N",
                   help="Work on so many files at a time (default 1); the output is the same.")  # fmt: skip
    add_reorder(p)
    add_options(p)
    p.set_defaults(run=run)


_TELL = 1000  # frames between two looks at the clock


def _range(value: str) -> tuple[int, Optional[int]]:
    first, dash, last = value.partition("-")
    low = number(first, 1, 2**63)
    high = number(last, 1, 2**63) if last else (None if dash else low)
    if low is None or (last and high is None) or (high is not None and high < low):
        raise argparse.ArgumentTypeError(f"{value!r} is no range; write 3, 3-7 or 3-")
    return low, high


def _words(record: Record) -> str:
    if record.kind == "malformed":
        return f"not an FC-2 frame: {record.problem}"
    if record.kind == "part":
        return "part of an FC-2 frame (FCIP)"
    return "FIP" if record.kind == "fip" else f"foreign: {record.protocol}"


class _Printer:
    """Prints the records of one file."""

    def __init__(self, path: str, args: argparse.Namespace) -> None:
        self._path, self._args = path, args
        self._paint: Paint = args.paint
        self._begin: Optional[int] = None
        self._editions = Editions(args.edition)

    def see(self, record: Record) -> None:
        """The first record is where time begins."""
        if self._begin is None:
            self._begin = record.time_us

    def take(self, record: Record, answers: int, shown: bool) -> bool:
        """One record, which is printed when it is to be shown and the filter lets it: whether it was. answers: the request that it
        answers (``Requests``)."""
        frame = codec.decode(record.data, record.sof, record.eof, record.crc, answers)
        is_iu = record.kind in ("frame", "cut") and frame.kind == "iu"
        edition = 0
        if is_iu and record.kind == "cut":
            edition = self._editions.of(frame.view, record.network, True, record.whole)
        elif is_iu:
            edition = self._editions.of(frame.view, record.network)
        if shown and edition:
            return self._show(record, codec.decode(record.data, record.sof, record.eof, record.crc, answers, edition))
        return shown and self._show(record, frame)

    def _view(self, record: Record, frame: codec.Frame, findings: list[Finding]) -> frame_fields.Fields:
        seconds = (record.time_us - (self._begin or 0)) / 1e6
        around = {"frame": record.number, "time": seconds, "record": record.kind, "network": record.network}
        return frame_fields.Fields(frame if record.kind in ("frame", "cut") else None, around, findings)

    def _show(self, record: Record, frame: codec.Frame) -> bool:
        findings = frame.findings
        if record.kind == "cut":  # of Rev 1.0 nothing is said: its headers are not checked apart from the rest
            findings = [] if frame.view.edition else findings_of_cut(record)
        wishes: frame_fields.Wishes = self._args.wishes
        view = self._view(record, frame, findings) if wishes else None
        if view is not None and not wishes.holds(view):
            return False
        if view is not None and wishes.fields and self._args.json:
            print(json.dumps({**self._head(record), "chosen": wishes.chosen(view)}))
        elif view is not None and wishes.fields:
            print(wishes.line(view))
        elif self._args.json:
            print(json.dumps(self._object(record, frame, findings)))
        else:
            self._say(record, frame, findings)
        return True

    def _head(self, record: Record) -> dict[str, Any]:
        return {"file": file_name(self._path), "frame": record.number, "time": record.time_us / 1e6, "record": record.kind}

    def _object(self, record: Record, frame: codec.Frame, findings: list[Finding]) -> dict[str, Any]:
        entry = self._head(record)
        if record.kind in ("frame", "cut"):
            return {**entry, **frame.json(), "findings": [f.as_json() for f in findings]}
        return {**entry, "problem": record.problem or None, "protocol": record.protocol or None}

    def _say(self, record: Record, frame: codec.Frame, findings: list[Finding]) -> None:
        paint = self._paint
        file = f"{printable(self._path)}: " if len(self._args.files) > 1 else ""
        seconds = (record.time_us - (self._begin or 0)) / 1e6
        head = paint(f"{file}{record.number:>6} {seconds:>12.6f} ", "place")
        cut = " (cut off in the capture)" if record.kind == "cut" else ""
        if record.kind not in ("frame", "cut"):
            print(head + paint(_words(record), "quiet"))
        elif self._args.summary:
            print(head + frame.summary() + cut)
        else:
            title, *lines = frame.text().splitlines()
            print("\n       ".join([head + paint(title, "title") + cut, *lines]))
            for f in findings:
                words = f"! {f.requirement} [{f.cls}] {f.message}: seen {f.seen}, required {f.required}"
                print(f"       {paint(words, f.cls)}")


def _open(path: str, args: argparse.Namespace, box: confined.Box) -> Reader:
    box.enter()
    name = args.dumps.get(path, path)
    if isinstance(name, Exception):
        raise name
    return Reader(name, args.limits, Order(args.reorder * 1000))


def _decode(path: str, args: argparse.Namespace, box: confined.Box) -> int:
    if args.form != "capture" and args.family == "vitcp":
        return decoding.decode(path, args, box)
    low, high = args.frames or (1, None)
    requests, decoded, shown = Requests(), 0, 0
    printer, streams = _Printer(path, args), decoding.Captured(path, args)
    seen: dict[str, int] = {}
    progress = Progress(path) if wanted() and not sys.stdout.isatty() else None
    try:
        with _open(path, args, box) as reader:
            for record in reader:
                printer.see(record)
                if high is not None and record.number > high:
                    break
                if streams.take(record, record.number >= low):
                    continue
                answers = requests.see(record.data) if record.kind == "frame" else 0
                decoded += record.kind in ("frame", "cut", "malformed")
                words = _words(record) if record.kind in ("fip", "foreign", "part") else record.kind
                seen[words] = seen.get(words, 0) + 1
                shown += printer.take(record, answers, record.number >= low and args.family == "fc")
                if not reader.is_file:
                    sys.stdout.flush()
                if gone():
                    break
                if progress is not None and record.number % _TELL == 0:
                    progress.tell(record.number, *reader.progress())
            streams.end(low, high)
    except (CaptureError, HexError) as error:
        sys.stdout.flush()
        complain(error)
        return 2
    finally:
        if progress is not None:
            progress.end()
    if streams.problem:
        sys.stdout.flush()
        complain(f"{path}: {streams.problem}")
        return 2
    if (decoded == 0 or args.family == "vitcp") and streams.pdus == 0 and args.frames is None:
        sys.stdout.flush()
        has = ", ".join(f"{count} {words}" for words, count in seen.items()) or "no records"
        what = "PDU of VI/TCP" if args.family == "vitcp" else "FC-2 frame"
        complain(f"{path}: no {what} was decoded: the capture has {has}")
        return 2
    shown += streams.shown
    if shown == 0 and args.wishes.conditions and not gone():
        sys.stdout.flush()
        complain(f"{path}: --filter: none of the {sum(seen.values()) + streams.pdus} records and PDUs is what it asks for")
        return 2
    if shown == 0 and args.frames is not None and args.family == "fc" and not gone():
        sys.stdout.flush()
        complain(f"{path}: --frames: the capture has {sum(seen.values())} records, none of them from {low} on")
        return 2
    return 0


def _misfit(args: argparse.Namespace) -> Optional[str]:
    """Why the options do not go together."""
    if args.family == "fc":
        if args.profile is not None and args.form != "capture":
            return "--profile: only VI/TCP has profiles; add --family vitcp"
        return "--from stream: only VI/TCP has streams; add --family vitcp" if args.form == "stream" else None
    return "--link: a stream of VI/TCP has no link; leave it out" if args.link is not None else None


def run(args: argparse.Namespace) -> int:
    """Decode."""
    if args.form == "capture":
        refuse(args.given, ("--link",), "a capture says what its frames begin with: it goes with --from hex")
    if misfit := _misfit(args):
        complain(misfit)
        return 2
    args.profile = vitcp_codec.load(args.profile)
    args.wishes = frame_fields.Wishes(args.filter, args.fields)
    args.paint, args.dumps = PLAIN if args.json else paint_for(sys.stdout), {}
    if args.jobs > 1 and len(args.files) > 1 and "-" not in args.files:
        statuses = list(each(lambda path: _confined([path], args, quiet=True), args.files, args.jobs))
        return max(3 if status is None else int(status) for status in statuses)
    if args.form == "capture":
        return _confined(args.files, args)
    return max(_confined([path], args) for path in args.files)  # each dump is told where it is read


def _confined(paths: list[str], args: argparse.Namespace, quiet: bool = False) -> int:
    """A dump becomes a capture before the reader of captures is confined."""
    if args.form != "hex" or args.family == "vitcp":
        return _read(paths, args, quiet)
    try:
        with captures_of(paths, args) as args.dumps:
            return _read(paths, args, quiet)
    except confined.ReaderLost:
        return 3  # it has said why


def _read(paths: list[str], args: argparse.Namespace, quiet: bool) -> int:
    return confined.run(paths, args, lambda box: max(_decode(path, args, box) for path in paths), quiet)
