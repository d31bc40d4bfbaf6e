"""``fcvi flows``: the Connections of captures, two to six lines each.

Of each Connection it says which ports and addresses have it, with what attributes, how it ended, how many Messages and bytes
went each way, how long answers took, and what the monitor found. All files are one stream, in the order given. A row of --json
has the same names and types whatever the capture shows: a number that is not known is -1, a text that is not known is empty.

With --wire tcp it lists the connections of VI/TCP instead: the two ends, the answer and what was agreed, how it was closed, and
how much went each way. Those of --tcp-port are listed however they begin. It needs files, and goes with --json alone.

-i watches an Ethernet interface instead: a terminal shows a table that is written anew every second, --exporter gives the numbers
to Prometheus, --keep keeps the frames from before a finding, and Ctrl-C ends it with what is said of a capture.
"""

from __future__ import annotations

import sys

from fcvi.capture import confined
from fcvi.capture.limits import Wishes, add_form, add_options, add_reorder, positive_ms
from fcvi.capture.scan import EDITIONS, ScanError
from fcvi.engine.words import complain, printable, refuse
from fcvi.vitcp import captured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence

    from fcvi.capture.scan import Order
    from fcvi.flows.clocks import Clocks
    from fcvi.flows.rows import Row
    from fcvi.flows.table import File, Table


class Arguments(Wishes, captured.Wishes):
    """What the command is told; of all but the files what holds when nothing is said."""

    sort = ""
    interface = keep = exporter = None
    every = 1.0
    json = csv = openmetrics = no_monitor = False
    html = fields = None
    columns: Sequence[str] = ()
    ladder = r_a_tov = 0
    edition = "auto"

    def __init__(self, files: Sequence[str]) -> None:
        self.files = list(files)
        self.filter: list[str] = []


def add_parser(commands: Any) -> None:
    """Register the command."""
    from pathlib import Path

    from fcvi.live import exporter, tap

    p = commands.add_parser("flows", help="List the Connections of captures.", description=__doc__)
    p.add_argument("files", metavar="CAPTURE", nargs="*", help="This is a capture; - is standard input.")
    tap.add_options(p)
    p.add_argument("--every", type=_seconds, default=Arguments.every, metavar="S", help="Renew what -i shows so often (default 1).")
    p.add_argument(
        "--exporter", type=exporter.address, metavar="[ADDRESS:]PORT",
        help="With -i, answer Prometheus at /metrics; on 127.0.0.1 unless an ADDRESS is named.",
    )  # fmt: skip
    p.add_argument("--sort", metavar="NAME", default="", help="Sort by this column of --json; with -NAME the largest comes first.")
    p.add_argument(
        "--filter", metavar="COND", action="append", default=[],
        help="Show only Connections of which COND holds: 'ended == refused and latency_p99_us > 1000', NAME=VALUE; of several all "
        "have to hold.",
    )  # fmt: skip
    p.add_argument("--fields", metavar="A,B,C", help="Show these columns of --json alone.")
    how = p.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="Print one object for each Connection, a line each (flows.schema.json).")
    how.add_argument("--csv", action="store_true", help="Print a table for spreadsheets.")
    how.add_argument("--openmetrics", action="store_true", help="Print samples for Prometheus.")
    p.add_argument("--html", metavar="FILE", type=Path, help="Write a page with a time line for each Connection too.")
    p.add_argument("--ladder", metavar="N", type=int, default=0, help="Open this Connection on the page.")
    what = "R_A_TOV of the ports is this, where no FLOGI shows it."
    p.add_argument("--r-a-tov", metavar="MS", type=positive_ms, default=0, help=what)
    which = "The ports speak this edition: that of 2007, Rev 1.0 of 1999, or what their frames show (the default)."
    p.add_argument("--edition", choices=tuple(EDITIONS), default=Arguments.edition, help=which)
    p.add_argument("--wire", choices=("tcp",), help="List the connections of VI/TCP.")
    captured.add_options(p, every=False)
    what = "This file has the numbers of VI/TCP that the draft leaves open (default: T0)."
    p.add_argument("--profile", metavar="FILE", help=what)
    p.add_argument("--no-monitor", action="store_true", help="Judge nothing; only count.")
    add_form(p)
    add_reorder(p)
    add_options(p)
    p.set_defaults(run=run, books=False)


def _seconds(value: str) -> float:
    from argparse import ArgumentTypeError

    try:
        found = float(value)
    except ValueError:
        found = 0.0
    if not 0.1 <= found <= 3600:
        raise ArgumentTypeError("must be between 0.1 and 3600 seconds")
    return found


def taken(command: str, files: list[str], make: Callable[[], Table], args: Any) -> tuple[Table, int]:
    """Take the files in: the table, and 0 or the exit status when one cannot be read; what was read until then stays. What the
    frames say against the order of a file, or against its clock, is heard, and the files are read a second time."""
    from fcvi.capture.scan import ANYBODY, Order

    table = make()
    asked = Order(args.reorder * 1000, renumber=True)
    status, ended = _take_in(command, files, table, {path: asked for path in files})
    if ended or args.reorder or len(table.files) != len(files):
        return table, status
    said = ""
    spans = sorted((file.span, file.path) for file in table.files if file.span)
    apart = all(one[1] <= other[0] for (one, _), (other, _) in zip(spans, spans[1:]))
    if apart and len(spans) == len(files) and [path for _, path in spans] != files:
        other = make()
        _take_in("", [path for _, path in spans], other, {path: asked for path in files})
        if (other.orphans, len(other.flows)) < (table.orphans, len(table.flows)):  # no clock was set between two files
            files, table = [path for _, path in spans], other
            said = "The files are taken in the order of their times, not in that in which they were named."
    elif not apart:
        said = ("The files overlap in time and are read one after the other. `mergecap -w ONE FILE...` brings their records in "
                "order.")  # fmt: skip
    looked = {file.path: _looked_at(file, table, args) for file in table.files}
    if any(clocks.order for clocks in looked.values()):
        table = make()
        table.is_sorted = any(c.order.window_us and not c.order.shifts for c in looked.values())
        table.blur_us = max((abs(s.us) for c in looked.values() for s in c.order.shifts if s.s_id != ANYBODY), default=0)
        _take_in("", files, table, {path: clocks.order for path, clocks in looked.items()})
    table.said = [*([said] if said else []), *(line for clocks in looked.values() for line in clocks.said)]
    return table, status


def _take_in(command: str, files: list[str], table: Table, orders: dict[str, Order]) -> tuple[int, bool]:
    """The status, and whether the user ended it. Without a command nothing is told: it was told before."""
    status = 0
    for path in files:
        try:
            table.take(path, orders[path])
        except ScanError as e:
            if command:
                complain(e, f"fcvi {command}")
            status = 2
        except KeyboardInterrupt:
            return status, True
    return status, False


def _looked_at(file: File, table: Table, args: Any) -> Clocks:
    from fcvi.flows.clocks import Clocks, look
    from fcvi.flows.silence import limit_us

    late, _, pause_us = file.clock
    is_quick = int(table.scan.tally.records) < _QUICK
    if file.is_file and (late or pause_us > limit_us(table) or (file.orphans and (is_quick or file.orphans * 4 >= file.answers))):
        return look(table.scan.source(file.path), args.limits, file.clock, limit_us(table))
    return Clocks()


_QUICK = 20_000  # records that are looked at again for a single answer without its question


def about_capture(table: Table) -> list[str]:
    """What is to be known of the capture before anything that it shows is believed, a sentence each."""
    lacks = [table.lacking.words()] if table.lacking is not None and table.lacking.count else []
    if table.flows and not table.has_times:
        lacks.append("The records have no times of their own: nothing is concluded from how long something took.")
    return [*table.said, *lacks, *(f"{said[0].upper()}{said[1:]}: it is not judged." for said in table.scan.artefacts)]


_KINDS = ("frame", "cut off", "FIP", "of other protocols", "malformed", "of TCP with a part of a frame")
_FOREIGN = 3
_MOST_NAMES = 6  # of other protocols
_TYPES = {0x00: "Basic Link Service", 0x01: "Extended Link Service", 0x08: "SCSI (FCP)", 0x20: "FC-CT", 0x05: "IP over FC",
          0x28: "NVMe", 0x58: "FC-VI"}  # fmt: skip


def instead(table: Table) -> str:
    """What a capture without FC-VI has."""
    tally = table.scan.tally
    parts = [f"{tally.kind[i]} {_KINDS[i] if i < len(_KINDS) else f'of kind {i}'}" for i in range(1, 16)
             if tally.kind[i] and not (i == _FOREIGN and table.scan.foreign)]  # fmt: skip
    named = sorted((name, count) for name, count in table.scan.foreign.items() if name != "FIP")
    named.sort(key=lambda item: -item[1])
    parts += [f"{count} {name}" for name, count in named[:_MOST_NAMES]]
    if len(named) > _MOST_NAMES:
        parts.append(f"{sum(count for _, count in named[_MOST_NAMES:])} of other protocols")
    parts += [f"{tally.type[t]} FC frames of TYPE {t:02X}h{f' ({_TYPES[t]})' if t in _TYPES else ''}"
              for t in range(256) if tally.type[t]]  # fmt: skip
    return f"{tally.records} records: {', '.join(parts)}" if parts else "no record at all"


def none_of_ours(command: str, table: Table) -> bool:
    """Whether nothing of FC-VI was seen; says what there is instead."""
    tally = table.scan.tally
    if tally.fcvi:
        return False
    complain(f"nothing of FC-VI in the capture, but {instead(table)}", f"fcvi {command}")
    return True


def _chosen(args: Any, rows: list[Row]) -> list[Row]:
    from fcvi.flows.rows import NAMES, conditions, sort_key

    holding = conditions(args.filter)
    name = args.sort.lstrip("-")
    if name and name not in NAMES:
        raise ValueError(f"--sort: {name!r} is none of: {', '.join(NAMES)}")
    kept = [r for r in rows if all(holds(r) for holds in holding)]
    return sorted(kept, key=sort_key(name), reverse=args.sort.startswith("-")) if name else kept


def _print(args: Any, rows: list[Row], table: Table) -> None:
    from fcvi.flows import rows as form

    if args.columns:
        rows = [{name: r[name] for name in args.columns} for r in rows]
    if args.json:
        import json

        for r in rows:
            print(json.dumps(r))
    elif args.csv:
        import csv

        if rows:
            writer = csv.DictWriter(sys.stdout, list(form.flat(rows[0])), lineterminator="\n")
            writer.writeheader()
            writer.writerows(map(form.flat, rows))
    elif args.openmetrics:
        print(form.openmetrics(rows), end="")
    elif args.columns:
        for r in rows:
            print("\t".join(printable(str(value)) for value in form.flat(r).values()))
    else:
        for r in rows:
            print("\n".join(form.short(r)))
        for said in about_capture(table):
            print(said)
        print(_summary(len(rows), table))


def _summary(count: int, table: Table) -> str:
    tally = table.scan.tally
    old = old_edition(table)
    again = table.doubles()
    twice = f"; {again} repeat earlier ones and count once (two capture points, or a port mirrored both ways?)" if again else ""
    return f"{tally.records} records, {tally.fcvi} of FC-VI: {connections(count)}{left_out(table)}{old}{twice}"


def old_edition(table: Table) -> str:
    """What is of the edition of 1999, behind a semicolon; empty when there is none."""
    count = table.scan.tally.rev1
    return f"; {count} IUs of Rev 1.0 (1999)" if count else ""


def left_out(table: Table) -> str:
    """What of the captures is in no Connection, behind a semicolon; empty when there is none."""
    tally = table.scan.tally
    counts = {"cut off": tally.kind[1] - tally.part, "malformed": tally.kind[4], "with a wrong CRC": tally.damaged,
              "of iFCP": sum(count for name, count in table.scan.foreign.items() if name.startswith("iFCP"))}  # fmt: skip
    lost = [f"{count} {what}" for what, count in counts.items() if count]
    part = f"; {tally.part} by their headers only: cut off" if tally.part else ""
    return part + (f"; not taken in: {', '.join(lost)}" if lost else "")


def connections(count: int) -> str:
    """So many of them."""
    return f"{count} Connection{'' if count == 1 else 's'}"


def run(args: Any) -> int:
    """List the Connections."""
    args.dumps = {}
    if args.wire == "tcp":
        from fcvi.vitcp import flows as vitcp_flows

        return vitcp_flows.run(args)
    refuse(args.given, ("--tcp-port", "--profile"), "goes with --wire tcp")
    from fcvi.engine.filters import fields_of
    from fcvi.flows.rows import NAMES

    try:
        args.columns = fields_of(args.fields, NAMES)
        _chosen(args, [])
    except ValueError as e:
        complain(e, "fcvi flows")
        return 2
    if args.interface is not None or args.keep is not None or args.exporter is not None or not args.files:
        return _watch(args)
    if args.every != Arguments.every:
        complain("--every says how often -i shows its table: it goes with -i IFACE", "fcvi flows")
        return 2
    if args.ladder and args.html is None:
        complain("--ladder says which Connection is open on the page: it goes with --html FILE", "fcvi flows")
        return 2
    return with_page(args, lambda box: _list(args, box))


def with_page(args: Any, work: Callable[[confined.Box], int]) -> int:
    """Read captures, and write the page that is handed over. Returns the exit status."""
    if args.html is not None:
        from .place import ready_file

        ready_file("--html", args.html)
    from fcvi.capture.hexdump import standing_in

    page = bytearray()
    try:
        with standing_in(args.files, args) as args.dumps:
            status = confined.take(args.files, args, work, page.extend)
    except confined.ReaderLost:
        return 3  # it has said why
    if page and status in (0, 1, 2, 4):
        from fcvi.engine.files import write_named
        from fcvi.engine.words import why

        try:
            write_named(args.html, bytes(page))
        except OSError as e:
            sys.stdout.flush()
            complain(f"--html {args.html}: cannot write it: {why(e)}")
            return 3
    return status


def _watch(args: Any) -> int:
    """List the Connections of what passes an interface, until the user ends it."""
    from fcvi.live import tap
    from fcvi.live.exporter import Exporter

    bad = tap.wrong(args, args.files)
    if bad is None and args.interface is None:
        bad = "--exporter goes with -i"
    if bad is None and args.openmetrics and args.columns:
        bad = "--openmetrics goes without --fields"
    if bad is None and (args.html is not None or args.form != "capture"):
        bad = "-i goes without --html and --from"
    if bad is not None:
        complain(bad, "fcvi flows")
        return 2
    args.files, server = ["-"], None

    def work(box: confined.Box) -> int:
        if server is not None:
            server.socket.close()
        return _list(args, box)

    def keep() -> None:
        if args.keep is not None:
            args.keep.keep()

    def handed(data: bytes) -> None:
        if server is not None:
            server.taken(data)
        else:
            keep()

    try:
        with tap.watched(args.interface, args.keep):
            if args.exporter is not None:
                server = Exporter(args.exporter, keep)
                complain(f"samples at {server.url()}")
            return confined.take(["-"], args, work, handed, most=confined.ENDLESS)
    except tap.TapError as e:
        complain(e, "fcvi flows")
    except OSError as e:
        complain(f"--exporter: {e.strerror}", "fcvi flows")
    finally:
        if server is not None:
            server.close()
    return 2


def _live(args: Any, table: Table, box: confined.Box) -> None:
    """The table tells of itself from now on."""
    import os

    from fcvi.flows.live import Live, screen
    from fcvi.flows.rows import openmetrics
    from fcvi.live.exporter import packed

    found = 0

    def tell(rows: list[Row]) -> None:
        nonlocal found
        if sys.stdout.isatty() and not (args.json or args.csv or args.openmetrics):
            size = os.get_terminal_size(sys.stdout.fileno())
            columns, lines = size.columns or 80, size.lines or 24  # a terminal that tells no size says 0
            text = screen(_chosen(args, rows), _summary(len(rows), table), columns, lines)
            sys.stdout.flush()
            os.write(sys.stdout.fileno(), text.encode())  # what moves the cursor is escaped otherwise; no word is a capture's
        if args.exporter is not None:
            box.hand_over(packed(openmetrics(_chosen(args, rows)).encode()))
        now = sum(sum(found_in.values()) for found_in in [table.findings, *(flow.findings for flow in table.flows.values())])
        if now > found and args.keep is not None:
            box.hand_over(packed(b""))
        found = now

    def begun() -> None:
        complain(f"watching {args.interface}, Ctrl-C ends")

    table.scan.tick = Live(table, args.every, tell, begun).tick


def _list(args: Any, box: confined.Box) -> int:
    """Where the captures are read. The page is handed over."""
    box.enter()
    from fcvi.flows.rows import row
    from fcvi.flows.table import Table

    def make() -> Table:
        table = Table(args.r_a_tov * 1000, not args.no_monitor, args.limits, args.edition, args.dumps)
        if args.html is not None:
            table.scan.sample()
        if args.interface is not None:
            _live(args, table, box)
        return table

    table, status = taken("flows", args.files, make, args)
    flows = table.finish()
    if not table.scan.tally.records and status:
        return status
    if none_of_ours("flows", table):
        return 2
    every = [row(table, flow, ident) for ident, flow in enumerate(flows, 1)]
    rows = _chosen(args, every)
    if args.ladder and all(r["connection"] != args.ladder for r in rows):
        complain(f"--ladder: there is no Connection {args.ladder} among the {len(rows)} that are shown", "fcvi flows")
        return 2
    _print(args, rows, table)
    if args.html is not None:
        from fcvi.engine.files import encoded
        from fcvi.flows.page import page

        box.hand_over(encoded(page(table, flows, rows, args.ladder, summary=[*about_capture(table)])))
    if status or (args.filter and every and not rows):
        if args.filter and every and not rows:
            complain("no Connection is left by --filter", "fcvi flows")
        return status or 2
    found = bool(table.findings) and any(cls != "notice" for _, cls, _ in table.findings)
    return 1 if found or any(r["violations"] for r in rows) else 0
