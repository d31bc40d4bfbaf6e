"""``fcvi decode``: the frames of captures in words or JSON.

Reads pcap and pcapng with linktype 224 (FC_2), 225 (FC_2_WITH_FRAME_DELIMS) and Ethernet with FCoE, as they are or compressed
by gzip, zstd, xz, lz4 or bzip2, of any size; - is standard input, of which frames are told as they come.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Optional

from fcvi.fc import codec
from fcvi.capture.reader import CaptureError, Reader, Record
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
    p.add_argument("--frames", type=_range, metavar="A-B", help="only these record numbers: 3, 3-7 or 3-")
    p.add_argument("--jobs", type=number_of_jobs, default=1, metavar="N", help="files at a time (1); the output is the same")
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
    return {"fip": "FIP", "foreign": "no FCoE"}[record.kind]


def _print(path: str, record: Record, answers: int, args: argparse.Namespace) -> None:
    frame = codec.decode(record.data, record.sof, record.eof, record.crc, answers)
    decoded = record.kind in ("frame", "cut")
    if args.json:
        entry: dict[str, Any] = {"file": path, "frame": record.number, "time": record.time_us / 1e6, "record": record.kind}
        if decoded:
            entry.update(frame.json())
            entry["findings"] = [f.as_json() for f in frame.findings] if record.kind == "frame" else []
        else:
            entry["problem"] = record.problem or None
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
        for f in frame.findings if not cut else ():
            print(f"       ! {f.requirement} [{f.cls}] {f.message}: seen {f.seen}, required {f.required}")


def _decode(path: str, args: argparse.Namespace) -> int:
    low, high = args.frames or (1, None)
    requests = Requests()
    progress = Progress(path) if wanted() and not sys.stdout.isatty() else None
    try:
        with Reader(path) as reader:
            for record in reader:
                if high is not None and record.number > high:
                    break
                answers = requests.see(record.data)
                if record.number >= low:
                    _print(path, record, answers, args)
                if not reader.is_file:
                    sys.stdout.flush()
                if gone():
                    break
                if progress is not None and record.number % _TELL == 0:
                    progress.tell(record.number, *reader.progress())
    except CaptureError as error:
        sys.stdout.flush()
        complain(error)
        return 2
    finally:
        if progress is not None:
            progress.end()
    return 0


def run(args: argparse.Namespace) -> int:
    """Decode."""
    if args.jobs > 1 and len(args.files) > 1 and "-" not in args.files:
        statuses = list(each(lambda path: _decode(path, args), args.files, args.jobs))
    else:
        statuses = [_decode(path, args) for path in args.files]
    return max(3 if status is None else int(status) for status in statuses)
