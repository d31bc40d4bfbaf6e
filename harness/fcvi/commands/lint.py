"""``fcvi lint``: strict decoding and the monitor over captures, every breach with requirement, byte and bit.

A capture may begin anywhere, miss frames and show them out of order: unless --trust says better, only what contradicts
itself is reported. What could not be judged is said at the end. Frames of different VLANs, VSANs or FCIP links belong to
different Fabrics.

Times count from the first record of the stream, those of --json from 1970 on. On a terminal there is colour, unless NO_COLOR is
set. --sarif writes the findings as SARIF 2.1.0, for code hosts and viewers.

Every record is counted as judged, not judged (with the reason) or foreign (with its protocol). Of a frame that the snap length
cut off the headers are judged: 60 bytes from the SOF on, so 64 bytes a frame are enough for most rules.

TCP connections that begin with a PDU of VI/TCP are judged as well: each PDU by itself and by its connection. --tcp-port and
--wire tcp say that others are VI/TCP too. What a capture does not show is not judged (vitcp.md).

The exit status is 0 when nothing wrong was found, and 1 after violations or malformed frames. It is 2 when a capture cannot be
read to its end or nothing of FC-VI or VI/TCP in it was judged, and 3 when the reader failed or output was lost.

Captures are read in a process that can open no file for writing, no connection and no program (captures.md).

-i watches an Ethernet interface: findings come at once, --keep keeps the frames from before them, and Ctrl-C ends it with the
status of what was seen.

Captures are pcap or pcapng, as they are or compressed by gzip, zstd, xz, lz4 or bzip2, of any size: memory depends on what goes
on at once. - is standard input, of which findings come at once: ``tcpdump -w - | fcvi lint -``.
"""

from __future__ import annotations

import sys

from fcvi.capture import confined, filter_options
from fcvi.capture.limits import Limits, Wishes, add_form, add_options, add_reorder, positive_ms
from fcvi.capture.scan import EDITIONS, Order, Records, Scan, ScanError, Watch, first_time
from fcvi.engine.output import gone
from fcvi.engine.paint import PLAIN, paint_for
from fcvi.engine.words import complain, file_name, printable, why
from fcvi.vitcp import captured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, ContextManager, Optional, Sequence

    from fcvi.capture.frame_fields import Fields
    from fcvi.capture.frame_fields import Wishes as FrameWishes
    from fcvi.capture.reader import Record
    from fcvi.engine.results import Finding
    from fcvi.live.tap import Ring

_TRUST = {"all": 1, "start": 2, "order": 4, "once": 8}


class Arguments(Wishes, captured.Wishes):
    """What the command is told; of all but the files what holds when nothing is said."""

    json = ring = False
    interface: Optional[str] = None
    keep: Optional[Ring] = None
    on_finding: Optional[Callable[[], None]] = None  # where an interface is watched: told of each
    sarif: Optional[str] = None
    edition = "auto"
    dumps: dict[str, str | Exception] = {}  # of the files that are hexadecimal dumps: their captures in memory
    trust = r_a_tov = 0
    jobs = 1
    paint = PLAIN
    fields: Optional[str] = None
    wishes: Optional[FrameWishes] = None

    def __init__(self, files: Sequence[str]) -> None:
        self.files = list(files)
        self.filter: list[str] = []


def add_parser(commands: Any) -> None:
    """Register the command."""
    from fcvi.live import tap

    p = commands.add_parser("lint", help="Check every frame of captures strictly.", description=__doc__)
    p.add_argument("files", metavar="FILE", nargs="*", help="This is a capture; - is standard input.")
    tap.add_options(p)
    p.add_argument("--json", action="store_true", help="Print one object for each finding, a line each, then a summary.")
    p.add_argument(
        "--trust", type=_trust, default=Arguments.trust, metavar="WHAT",
        help="This is certain of the capture, as a comma list: all (no frame is missing), start (no Connection is older), "
        "order (each once, as sent), once (the Fabric delivers none twice), or whole for all of it.",
    )  # fmt: skip
    unknown = "(default: taken for 10000, and no breach is judged by it)."
    p.add_argument("--r-a-tov", type=positive_ms, default=Arguments.r_a_tov, metavar="MS",
                   help=f"R_A_TOV of the ports is this {unknown}")  # fmt: skip
    add_form(p)
    which = "The ports speak this edition: that of 2007, Rev 1.0 of 1999, or what their frames show (the default)."
    p.add_argument("--edition", choices=tuple(EDITIONS), default=Arguments.edition, help=which)
    captured.add_options(p)
    what = "This file has the numbers of VI/TCP that the draft leaves open (default: T0)."
    p.add_argument("--profile", metavar="FILE", help=what)
    p.add_argument(
        "--ring", action="store_true",
        help="The files are one stream, as dumpcap, tshark and tcpdump write rings; they are taken in the order of their first "
        "frames.",
    )  # fmt: skip
    p.add_argument("--sarif", default=Arguments.sarif, metavar="FILE", help="Write the findings as SARIF 2.1.0 too.")
    filter_options.add_options(p, "findings")
    say = "Work on so many files at a time (default 1). The output is the same."
    p.add_argument("--jobs", type=_jobs, default=Arguments.jobs, metavar="N", help=say)
    add_reorder(p)
    add_options(p)
    p.set_defaults(run=run, on_finding=None, wishes=None)


def _jobs(value: str) -> int:
    from fcvi.engine.jobs import number_of_jobs

    return number_of_jobs(value)


def _trust(value: str) -> int:
    from argparse import ArgumentTypeError

    words = set(value.split(","))
    if words == {"whole"}:
        return sum(_TRUST.values())
    if not words <= set(_TRUST):
        raise ArgumentTypeError(f"must be of {', '.join(_TRUST)}, or whole")
    return sum(_TRUST[word] for word in words)


class Tally:
    """What was seen."""

    def __init__(self) -> None:
        self.frames = self.fcvi = self.violations = self.malformed = self.notices = 0
        self.not_shown = 0  # of the findings, because they are too many
        self.by_requirement: dict[str, int] = {}

    def add(self, other: Tally) -> None:
        """And what another saw."""
        for name, value in vars(other).items():
            if name != "by_requirement":
                setattr(self, name, getattr(self, name) + value)
        for requirement, times in other.by_requirement.items():
            self.by_requirement[requirement] = self.by_requirement.get(requirement, 0) + times

    def count(self, finding: Finding) -> None:
        """Count one finding by its class and its requirement."""
        self.by_requirement[finding.requirement] = self.by_requirement.get(finding.requirement, 0) + 1
        if finding.cls == "violation":
            self.violations += 1
        elif finding.cls == "malformed":
            self.malformed += 1
        else:
            self.notices += 1


class Sarif:
    """Findings for --sarif, of which a code host takes so many."""

    MOST = 5000

    def __init__(self) -> None:
        self.found: list[tuple[str, int, Finding]] = []
        self.left_off = 0

    def add(self, path: str, frame: int, finding: Finding) -> None:
        """One finding."""
        if len(self.found) < self.MOST:
            self.found.append((path, frame, finding))
        else:
            self.left_off += 1

    def plain(self) -> list[Any]:
        """What another process may be told: lists, words and numbers."""
        return [[[path, frame, vars(finding)] for path, frame, finding in self.found], self.left_off]

    @classmethod
    def of(cls, plain: Any) -> Sarif:
        """From ``plain`` of a process that nobody trusts. Raises ValueError, TypeError."""
        from fcvi.engine.results import Finding

        sarif = cls()
        found, left_off = plain
        for path, frame, members in found[: cls.MOST]:
            sarif.found.append((str(path), int(frame), Finding(**members)))
        sarif.left_off = int(left_off)
        return sarif

    def text(self, total: _Sum) -> bytes:
        """The file."""
        from fcvi import __version__
        from fcvi.engine.files import encoded
        from fcvi.report.sarif import of_captures

        summary = {**vars(total.tally), "records": total.records.as_json()}
        return encoded(of_captures(__version__, self.found, summary, self.left_off, total.status < 2))


def _write_sarif(args: Arguments, data: bytes) -> int:
    """Write the file of --sarif; gives the status."""
    from pathlib import Path

    from fcvi.engine.files import write_named

    try:
        write_named(Path(str(args.sarif)), data)
    except OSError as error:
        sys.stdout.flush()
        complain(f"cannot write {args.sarif}: {why(error)}")
        return 3
    return 0


def _finding_of(struct: Any) -> Finding:
    from fcvi.fc import codec  # most captures need none of it, and it takes a while to load

    return codec.finding_of(struct)


class Stream:
    """The files of one stream of frames: one after the other, under one monitor."""

    def __init__(self, args: Arguments) -> None:
        self.as_json: bool = args.json
        self.limits: Limits = args.limits
        self.order = Order(args.reorder * 1000)
        self.paint = args.paint
        self.sarif = Sarif() if args.sarif else None
        self.wishes, self.profile = args.wishes, args.profile
        self.dumps, self.on_finding, self.interface = args.dumps, args.on_finding, args.interface
        self.watching = args.interface
        self.tally, self.records = Tally(), Records()
        self._shown = self.unwanted = 0  # findings; unwanted: that --filter leaves out
        self.fcvi = 0  # frames of FC-VI, FARP with them
        self.watch = Watch(args.trust, args.r_a_tov * 1000, args.edition)
        self.streams = captured.Streams(captured.profile_of(args.profile), args.tcp_port, args.wire == "tcp")
        self.status, self.read = 0, False
        self.starts: list[tuple[int, str]] = []  # frames before each file
        self.over = False  # the user has seen enough
        self.begin: Optional[int] = None

    def unjudged(self) -> list[tuple[str, str, int, Optional[int]]]:
        """What could not be judged: file of the first frame, reason, how many, the first."""
        found = []
        for reason, frames, first in [*self.watch.unjudged(), *self.streams.unjudged()]:
            path, number = self._place(first) if first else (self.starts[0][1] if self.starts else "", None)
            found.append((path, reason, frames, number))
        return found

    def _place(self, number: int) -> tuple[str, Optional[int]]:
        before, path = next(start for start in reversed(self.starts) if start[0] < number)
        return path, number - before

    def take(self, path: str) -> None:
        """Judge one file."""
        self.starts.append((self.watch.frames, path))
        scan = None
        try:
            scan = self._open(path)
            self.read = True
            self._scan(scan)
        except ScanError as error:
            sys.stdout.flush()
            complain(error)
            self.status = 2
            self.watch.gap()
        if scan is None:
            return
        if scan.tally.records:
            self._begin(scan)
        self.tally.frames += scan.tally.frames
        self.tally.fcvi += scan.tally.fcvi
        self.fcvi += scan.tally.fcvi + scan.tally.services
        self.records.take(scan.tally)
        self.watch.frames += scan.tally.records
        scan.close()
        self.records.capture += scan.artefacts

    def _open(self, path: str) -> Scan:
        name = self.dumps.get(path, "-" if path == self.interface else path)
        if isinstance(name, Exception):
            raise ScanError(str(name))
        scan = Scan(name, self.limits, self.order)
        scan.path = path
        return scan

    def end(self) -> None:
        """What there is to say of the whole. Nothing found is no good news of a capture in which nothing was looked at."""
        self.streams.flush()
        self._report_streams()
        self.records.take_streams(self.streams.records())
        self.records.vitcp = int(self.streams.tally.pdus)
        if self.tally.not_shown > self.unwanted:
            sys.stdout.flush()
            more = f"{self.tally.not_shown - self.unwanted} further findings are counted and not shown"
            complain(f"{self.starts[-1][1]}: {more}; --limits findings=N shows more than {self.limits.findings}")
        if self.fcvi or self.records.vitcp or not self.read or self.status or self.tally.violations or self.tally.malformed:
            return
        sys.stdout.flush()
        complain(f"{self.starts[-1][1]}: nothing of FC-VI was judged: {self.records.instead()}")
        self.status = 2

    def _scan(self, scan: Scan) -> None:
        from fcvi.engine.progress import Progress, wanted

        progress = Progress(scan.path) if wanted() else None

        def tick() -> None:
            if self.watching:  # from here on an interrupt ends the stream and not the command
                complain(f"watching {self.watching}, Ctrl-C ends")
                self.watching = None
            if progress is not None:
                progress.tell(scan.tally.frames, *scan.progress())

        try:
            for _ in scan.stops(self.watch, tick, self.streams.pointer):
                self._report(scan)
                if not scan.is_file:
                    sys.stdout.flush()
                    if gone():
                        self.over = True
                        break
        except KeyboardInterrupt:
            if scan.is_file:
                raise
            self.over = True  # what is watched live ends so; what was seen is told
        finally:
            if progress is not None:
                progress.end()

    def _report_streams(self) -> None:
        for report in self.streams.reports():
            path, number = self._place(report.record)
            seconds = (report.time_us - (self.begin or 0)) / 1e6
            where = f"{printable(path)}: frame {number} at {seconds:.6f} s: connection {report.arrow()} byte {report.offset}: "
            found = [(*self._place(record), time_us, _finding_of(struct)) for record, time_us, struct in report.found]
            more = {"connection": report.connection, "direction": report.direction, "offset": report.offset}
            self._tell(found, self._view_of_pdu(report, number, seconds), lambda: (where, self.streams.summary(report)), more)

    def _report(self, scan: Scan) -> None:
        from fcvi.fc import codec
        from fcvi.capture.reader import record_of
        from fcvi.engine.results import Finding

        record, edition = record_of(scan.seen.record), scan.seen.frame.edition
        if record.kind == "foreign":
            self._begin(scan)
            self._report_streams()
            return
        if record.kind == "malformed":
            findings = [Finding("FCVI-5.8.1-01", "malformed", record.problem, f"{len(record.data)} bytes", "an FC-2 frame")]
        else:
            breaches = [self._breach(b) for b in scan.breaches()]
            findings = [*map(codec.finding_of, scan.findings()), *breaches, *map(codec.finding_of, scan.whole())]
        seconds = (record.time_us - self._begin(scan)) / 1e6

        def title() -> tuple[str, str]:
            return (f"{printable(scan.path)}: frame {record.number} at {seconds:.6f} s: ",
                    codec.decode(record.data, record.sof, record.eof, record.crc, edition=edition).summary())  # fmt: skip

        found = [(scan.path, record.number, record.time_us, finding) for finding in findings]
        self._tell(found, self._view(record, edition, seconds), title, {})

    def _tell(
        self, found: Sequence[tuple[str, Optional[int], int, Finding]], view: Optional[Fields],
        title: Callable[[], tuple[str, str]], more: dict[str, Any],
    ) -> None:  # fmt: skip
        """What was found in one unit: file, frame, time and finding. title: where it stands, and the unit in words."""
        if found and self.on_finding is not None:
            self.on_finding()
        wanted = [self._wants(view, finding) for *_, finding in found]
        if any(wanted) and not self.as_json and self.limits.shows(self._shown):
            place, words = title()
            print(self.paint(place, "place") + words + self._chosen(view))
        for (path, number, time_us, finding), shown in zip(found, wanted):
            self.tally.count(finding)
            if not shown:
                self.unwanted += 1
                self.tally.not_shown += 1
                continue
            if self.sarif is not None:
                self.sarif.add(path, number or 0, finding)
            if not self.limits.shows(self._shown):
                self.tally.not_shown += 1
                continue
            self._shown += 1
            if self.as_json:
                print(_as_json(path, number or 0, time_us, finding, {**more, **self._chosen_json(view)}))
            else:
                print(self.paint(_as_text(finding), finding.cls))

    # ---- what --filter and --fields want ----

    def _view(self, record: Record, edition: int, seconds: float) -> Optional[Fields]:
        if self.wishes is None:
            return None
        from fcvi.capture.frame_fields import Fields
        from fcvi.fc import codec

        view = None
        if record.kind in ("frame", "cut"):
            view = codec.decode(record.data, record.sof, record.eof, record.crc, edition=edition)
        return Fields(view, {"frame": record.number, "time": seconds, "record": record.kind, "network": record.network})

    def _view_of_pdu(self, report: captured.Report, number: Optional[int], seconds: float) -> Optional[Fields]:
        if self.wishes is None:
            return None
        from fcvi.capture.frame_fields import Fields
        from fcvi.vitcp import codec as vitcp_codec

        pdu = vitcp_codec.first(report.data, vitcp_codec.load(self.profile))
        return Fields(pdu, {"frame": number, "time": seconds, "record": "pdu", "connection": report.connection})

    def _wants(self, view: Optional[Fields], finding: Finding) -> bool:
        return self.wishes is None or view is None or self.wishes.holds(view.about(finding))

    def _chosen(self, view: Optional[Fields]) -> str:
        if self.wishes is None or view is None or not self.wishes.fields:
            return ""
        return " | " + ", ".join(f"{name} {view.shown(name) or '-'}" for name in self.wishes.fields)

    def _chosen_json(self, view: Optional[Fields]) -> dict[str, Any]:
        return {"chosen": self.wishes.chosen(view)} if self.wishes is not None and view is not None and self.wishes.fields else {}

    def _begin(self, scan: Scan) -> int:
        """When the first record of the stream was taken, in microseconds."""
        if self.begin is None:
            self.begin = int(scan.tally.first_us)
        return self.begin

    def _breach(self, breach: Any) -> Finding:
        from dataclasses import replace

        from fcvi.fc import codec

        finding = codec.finding_of(breach.what)
        if not breach.other:
            return finding
        path, number = self._place(breach.other)
        where = f" of {printable(path)}" if path != self.starts[-1][1] else ""
        return replace(finding, message=f"{finding.message} (see frame {number}{where})")


def _as_json(path: str, number: int, time_us: int, f: Finding, more: dict[str, Any]) -> str:
    import json

    return json.dumps({
        "file": file_name(path), "frame": number, "time": time_us / 1e6, "requirement": f.requirement,
        "class": f.cls, "message": f.message, "byte": f.byte, "bits": f.bits, "seen": f.seen,
        "required": f.required, "erratum": f.erratum, **more,
    })  # fmt: skip


def _as_text(f: Finding) -> str:
    where = "" if f.byte is None else f" at byte {f.byte}" + (f" bits {f.bits}" if f.bits else "")
    tolerated = f" (tolerated: {f.erratum})" if f.erratum else ""
    return f"  {f.requirement} [{f.cls}]{tolerated} {f.message}{where}: seen {f.seen}, required {f.required}"


class _Sum:
    """What all streams came to."""

    def __init__(self) -> None:
        self.tally, self.records = Tally(), Records()
        self.unjudged: list[tuple[str, str, int, Optional[int]]] = []
        self.status, self.read = 0, False
        self.fcvi = 0
        self.sarif = Sarif()

    def add(
        self,
        tally: Tally,
        records: Records,
        unjudged: list[tuple[str, str, int, Optional[int]]],
        status: int,
        read: bool,
        fcvi: int,
        sarif: Optional[Sarif] = None,
    ) -> None:
        """And one more."""
        for path, frame, finding in sarif.found if sarif is not None else ():
            self.sarif.add(path, frame, finding)
        self.sarif.left_off += sarif.left_off if sarif is not None else 0
        self.fcvi += fcvi
        self.tally.add(tally)
        self.records.add(records)
        self.unjudged += unjudged
        self.status = max(self.status, status)
        self.read |= read


def _judge(paths: list[str], args: Arguments) -> tuple[tuple[Any, ...], bool]:
    """One stream; what _Sum takes, and whether the user has seen enough."""
    stream = Stream(args)
    for path in paths:
        stream.take(path)
        if stream.over:
            break
    stream.end()
    return (stream.tally, stream.records, stream.unjudged(), stream.status, stream.read, stream.fcvi, stream.sarif), stream.over


def _in_order(paths: list[str], limits: Limits) -> list[str]:
    """The files of a ring, in the order of their first frames; what cannot be read, or holds none yet, comes last."""

    def key(path: str) -> tuple[bool, int, str]:
        try:
            time = first_time(path, limits)
        except ScanError:
            time = None
        return time is None, time or 0, path

    return sorted(paths, key=key)


def _in_jobs(args: Arguments) -> bool:
    return args.jobs > 1 and len(args.files) > 1 and not args.ring


def _elsewhere(path: str, args: Arguments) -> Optional[tuple[Any, ...]]:
    """One file, of which the findings are printed in a confined process and the rest is handed over; None when that was lost."""
    import json

    got = bytearray()

    def work(box: confined.Box) -> int:
        box.enter()
        tally, records, unjudged, status, read, fcvi, sarif = _judge([path], args)[0]
        told = None if sarif is None else sarif.plain()
        box.hand_over(json.dumps([vars(tally), vars(records), unjudged, status, read, fcvi, told]).encode())
        return 0

    try:
        with _dumps([path], args) as args.dumps:
            lost = confined.take([path], args, work, got.extend, quiet=True) != 0
    except confined.ReaderLost:
        return None
    return None if lost else _taken(bytes(got))


def _taken(data: bytes) -> Optional[tuple[Any, ...]]:
    """What a confined process handed over; None for what it cannot have meant."""
    import json

    try:
        tally, records, unjudged, status, read, fcvi, told = json.loads(data)
        sarif = None if told is None else Sarif.of(told)
        parts = Tally(), Records()
        for part, members in zip(parts, (tally, records)):
            if members.keys() != vars(part).keys():
                return None
            for name, value in members.items():
                if isinstance(getattr(part, name), list):
                    setattr(part, name, [str(word) for word in value])
                    continue
                if isinstance(getattr(part, name), dict):
                    value = {str(what): int(count) for what, count in value.items()}
                setattr(part, name, value if isinstance(value, dict) else int(value))
        whys = [(str(p), str(reason), int(frames), None if n is None else int(n)) for p, reason, frames, n in unjudged]
        return *parts, whys, max(0, min(3, int(status))), bool(read), int(fcvi), sarif
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def _all(args: Arguments) -> _Sum:
    total = _Sum()
    if args.ring:
        total.add(*_judge(_in_order(args.files, args.limits), args)[0])
    elif _in_jobs(args):
        from fcvi.engine.jobs import each

        for parts in each(lambda path: _elsewhere(path, args), args.files, args.jobs):
            total.add(*(parts or (Tally(), Records(), [], 3, False, 0)))
    else:
        for path in args.files:
            parts, over = _judge([path], args)
            total.add(*parts)
            if over:
                break
    return total


def _can_write(args: Arguments) -> None:
    """The file of --sarif can be written: said before the captures are read. Raises UsageError, OSError."""
    if args.sarif:
        from pathlib import Path

        from .place import ready_file

        ready_file("--sarif", Path(str(args.sarif)))


def run(args: Arguments) -> int:
    """Lint."""
    try:
        captured.profile_of(args.profile)
    except ValueError as error:
        complain(error)
        return 2
    if args.filter or args.fields is not None:
        from fcvi.capture.frame_fields import Wishes as FrameWishes

        args.wishes = FrameWishes(args.filter, args.fields)
    if args.interface is not None or args.keep is not None or not args.files:
        return _watch(args)
    if "-" in args.files and (args.ring or args.jobs > 1) and len(args.files) > 1:
        complain("- stands alone with --ring and --jobs; see `fcvi lint --help`", "fcvi lint")
        return 2
    _can_write(args)
    args.paint, args.dumps = PLAIN if args.json else paint_for(sys.stdout), {}
    if _in_jobs(args):
        return _lint(args, lambda data: _write_sarif(args, data))
    sarif = bytearray()

    def work(box: confined.Box) -> int:
        box.enter()
        return _lint(args, lambda data: _hand(box, data))

    try:
        with _dumps(args.files, args) as args.dumps:
            status = confined.take(args.files, args, work, sarif.extend)
    except confined.ReaderLost:
        return 3  # it has said why
    return _write_sarif(args, bytes(sarif)) or status if sarif else status


def _dumps(paths: Sequence[str], args: Arguments) -> ContextManager[dict[str, str | Exception]]:
    """What becomes of hexadecimal dumps before a reader of captures is confined. Raises ReaderLost."""
    from fcvi.capture.hexdump import standing_in

    return standing_in(paths, args)


def _watch(args: Arguments) -> int:
    """Judge what passes an interface, until the user ends it."""
    from fcvi.live import tap

    bad = tap.wrong(args, args.files)
    if bad is None and (args.sarif or args.jobs > 1 or args.ring or args.form != "capture"):
        bad = "-i goes without --sarif, --jobs, --ring and --from"
    if bad is None and args.trust & _TRUST["all"]:  # the kernel tells late of what it dropped
        bad = "--trust all: nobody can say that of a link that is watched; keep its frames (--keep), and lint the files"
    if bad is not None or args.interface is None:
        complain(f"{bad}; see `fcvi lint --help`", "fcvi lint")
        return 2
    ring, args.files, args.dumps = args.keep, [args.interface], {}
    args.paint = PLAIN if args.json else paint_for(sys.stdout)

    def work(box: confined.Box) -> int:
        if ring is not None:
            args.on_finding = lambda: box.hand_over(b"!")
        box.enter()
        return _lint(args, lambda data: 0)

    try:
        with tap.watched(args.interface, ring):
            return confined.take(["-"], args, work, lambda data: ring.keep() if ring is not None else None, most=confined.ENDLESS)
    except tap.TapError as error:
        sys.stdout.flush()
        complain(error)
        return 2


def _hand(box: confined.Box, data: bytes) -> int:
    box.hand_over(data)
    return 0


_MOST_REQUIREMENTS = 10


def _tell_requirements(tally: Tally) -> None:
    """How often which requirement was broken, the most frequent first, where that is more than one finding says."""
    if sum(tally.by_requirement.values()) < 2:
        return
    often = sorted(tally.by_requirement.items(), key=lambda item: (-item[1], item[0]))
    for requirement, times in often[:_MOST_REQUIREMENTS]:
        print(f"  {requirement}: {times} finding{'s' if times > 1 else ''}")
    if len(often) > _MOST_REQUIREMENTS:
        print(f"  and {len(often) - _MOST_REQUIREMENTS} further requirements; --json names them all")


def _tell_unjudged(unjudged: list[tuple[str, str, int, Optional[int]]], trust: int) -> None:
    """What the rules on several frames could not be held against."""
    for path, reason, frames, first in unjudged:
        print(f"{printable(path)}: not judged: {reason} ({frames} times" + (f", first in frame {first})" if first else ")"))
    if unjudged and trust != sum(_TRUST.values()):
        print("More is judged where --trust says what is certain of the capture; `--trust whole` says that it lacks nothing.")


def _lint(args: Arguments, deliver: Callable[[bytes], int]) -> int:
    """Where the captures are read. deliver: takes the SARIF, and gives a status."""
    total = _all(args)
    wrote = deliver(total.sarif.text(total)) if args.sarif else 0
    tally, unjudged = total.tally, total.unjudged
    if args.json:
        import json

        reasons = [{"file": file_name(p), "reason": r, "frames": n, "first": first} for p, r, n, first in unjudged]
        editions = total.records.editions()
        more: dict[str, Any] = {"editions": editions} if editions else {}
        if total.records.vitcp:
            more["vitcp"] = {"pdus": total.records.vitcp, "profile": captured.name_of(args.profile)}
        print(json.dumps({"summary": {**vars(tally), "records": total.records.as_json(), "not_judged": reasons, **more}}))
    if total.read and not args.json:  # of what cannot be read there is nothing to say, least of all "0 violations"
        print(total.records.text())
        for said in total.records.about_capture():
            print(said)
        if total.records.vitcp:
            print(f"VI/TCP: {total.records.vitcp} PDUs, with the numbers of profile {captured.name_of(args.profile)}")
        if total.records.rev1:
            print(total.records.editions_text())
        looked = total.fcvi or total.records.vitcp
        if looked or tally.violations or tally.malformed or tally.notices:  # nor of what was not looked at
            print(
                f"{tally.frames} frames, {tally.fcvi} of them FC-VI: {tally.violations} violations, "
                f"{tally.malformed} malformed, {tally.notices} notices"
            )
        if tally.not_shown and args.filter:
            print(f"{tally.not_shown} findings are counted and not shown: --filter")
        _tell_requirements(tally)
    if not args.json:
        _tell_unjudged(unjudged, args.trust)
    return wrote or total.status or (1 if tally.violations or tally.malformed else 0)
