"""``fcvi decode``: the frames of captures in words or JSON.

Reads pcap and pcapng with linktype 224 (FC_2), 225 (FC_2_WITH_FRAME_DELIMS) and Ethernet with FCoE, Cisco's port analyzer
adapter (Boardwalk) and MDS header or FCIP, as they are or compressed by gzip, zstd, xz, lz4 or bzip2, of any size; - is
standard input, of which frames are told as they come. --from hex reads hexadecimal dumps instead: one frame a line, or lines
with offsets as xxd, hexdump -C and text2pcap have them.

Of a frame that the snap length cut off what is found in its headers is said. Exit status: 0, or 2 when a capture cannot be read
to its end or holds no FC-2 frame.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from typing import Any, Optional

from fcvi.fc import codec
from fcvi.capture import confined
from fcvi.capture.hexdump import HexError, capture_of
from fcvi.capture.limits import add_options
from fcvi.capture.reader import CaptureError, Reader, Record, findings_of_cut
from fcvi.engine.jobs import each, number_of_jobs
from fcvi.engine.output import gone
from fcvi.engine.progress import Progress, wanted
from fcvi.engine.words import complain, number
from fcvi.fc.requests import Requests


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("decode", help="frames of captures in words or JSON", description=__doc__)
    p.add_argument("files", metavar="FILE", nargs="+")
    form = p.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one object per frame and line")
    form.add_argument("--summary", action="store_true", help="one line per frame")
    what = "what the files are (default capture)"
    p.add_argument("--from", dest="form", choices=("capture", "hex"), default="capture", help=what)
    link = "what a hexadecimal dump's frames begin with: frame, delimited (SOF to EOF), ethernet; default: as they look"
    p.add_argument("--link", choices=("frame", "delimited", "ethernet"), help=link)
    p.add_argument("--frames", type=_range, metavar="A-B", help="only these record numbers: 3, 3-7 or 3-")
    p.add_argument("--jobs", type=number_of_jobs, default=1, metavar="N", help="files at a time (1); the output is the same")
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


def _print(path: str, record: Record, answers: int, args: argparse.Namespace) -> None:
    frame = codec.decode(record.data, record.sof, record.eof, record.crc, answers)
    decoded = record.kind in ("frame", "cut")
    findings = findings_of_cut(record) if record.kind == "cut" else frame.findings
    if args.json:
        entry: dict[str, Any] = {"file": path, "frame": record.number, "time": record.time_us / 1e6, "record": record.kind}
        if decoded:
            entry.update(frame.json())
            entry["findings"] = [f.as_json() for f in findings]
        else:
            entry["problem"] = record.problem or None
            entry["protocol"] = record.protocol or None
        print(json.dumps(entry))
        return
    head = f"{record.number:>6} {record.time_us / 1e6:>14.6f} "
    cut = " (cut off in the capture)" if record.kind == "cut" else ""
    if not decoded:
        print(head + _words(record))
    elif args.summary:
        print(head + frame.summary() + cut)
    else:
        print(head + frame.text().rstrip("\n").replace("\n", "\n       ") + cut)
        for f in findings:
            print(f"       ! {f.requirement} [{f.cls}] {f.message}: seen {f.seen}, required {f.required}")


def _open(path: str, args: argparse.Namespace, box: confined.Box) -> Reader:
    source = nullcontext(path) if args.form == "capture" else capture_of(path, args.link)
    with source as name:
        box.enter()
        return Reader(name, args.limits)


def _decode(path: str, args: argparse.Namespace, box: confined.Box) -> int:
    low, high = args.frames or (1, None)
    requests, decoded = Requests(), 0
    seen: dict[str, int] = {}
    progress = Progress(path) if wanted() and not sys.stdout.isatty() else None
    try:
        with _open(path, args, box) as reader:
            for record in reader:
                if high is not None and record.number > high:
                    break
                answers = requests.see(record.data) if record.kind == "frame" else 0
                decoded += record.kind in ("frame", "cut", "malformed")
                words = _words(record) if record.kind in ("fip", "foreign", "part") else record.kind
                seen[words] = seen.get(words, 0) + 1
                if record.number >= low:
                    _print(path, record, answers, args)
                if not reader.is_file:
                    sys.stdout.flush()
                if gone():
                    break
                if progress is not None and record.number % _TELL == 0:
                    progress.tell(record.number, *reader.progress())
    except (CaptureError, HexError) as error:
        sys.stdout.flush()
        complain(error)
        return 2
    finally:
        if progress is not None:
            progress.end()
    if decoded == 0 and args.frames is None:
        sys.stdout.flush()
        has = ", ".join(f"{count} {words}" for words, count in seen.items()) or "no records"
        print(f"fcvi: {path}: no FC-2 frame was decoded: the capture has {has}", file=sys.stderr)
        return 2
    return 0


def run(args: argparse.Namespace) -> int:
    """Decode."""
    if args.jobs > 1 and len(args.files) > 1 and "-" not in args.files:
        statuses = list(each(lambda path: _confined([path], args, quiet=True), args.files, args.jobs))
        return max(3 if status is None else int(status) for status in statuses)
    if args.form == "capture":
        return _confined(args.files, args)
    return max(_confined([path], args) for path in args.files)  # a dump becomes a capture before its reader is confined


def _confined(paths: list[str], args: argparse.Namespace, quiet: bool = False) -> int:
    return confined.run(paths, args, lambda box: max(_decode(path, args, box) for path in paths), quiet)
