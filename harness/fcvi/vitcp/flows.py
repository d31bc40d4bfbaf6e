"""``fcvi flows --wire tcp``: the connections of VI/TCP in captures."""

from __future__ import annotations

import json
import sys
from ipaddress import ip_address
from typing import Any, Iterator, Optional

from _fcvi import ffi, lib

from fcvi.capture import confined
from fcvi.capture.limits import Limits
from fcvi.capture.scan import Order, Scan, ScanError, Watch, source_of
from fcvi.engine.words import complain, file_name, printable, refuse

from . import codec
from .captured import Streams, profile_of

_NONE = "none"


def _end(struct: Any, side: int) -> str:
    raw = bytes(ffi.buffer(struct.address[side], 16))
    address = ip_address(raw if struct.six else raw[:4])
    return f"[{address}]:{struct.port[side]}" if struct.six else f"{address}:{struct.port[side]}"


def _setup(sides: Any) -> str:
    for side in sides:
        if side.setup in (lib.FCVI_PDU_CONNECT_ACCEPT, lib.FCVI_PDU_CONNECT_REJECT, lib.FCVI_PDU_CONNECT_NO_MATCH):
            return str(codec.PDUS[side.setup])
    called = any(side.setup == lib.FCVI_PDU_CONNECT_REQUEST for side in sides)
    return str(codec.PDUS[lib.FCVI_PDU_CONNECT_REQUEST]) if called else _NONE


def _closed(c: Any) -> str:
    ends = []
    for word, flags in (("fin", c.fin), ("reset", c.reset)):
        by = [name for name, flag in zip(("caller", "called"), flags) if flag]
        if by:
            ends.append(f"{word} by {' and '.join(by)}")
    return ", ".join(ends) or "not seen"


class Seen:
    """What else a capture shows: its latest time, how many records are older than one before them, by how much at most, and the
    connections that never were, a row each."""

    newest_us = late = lag_us = 0
    is_sorted = False  # its records were taken in the order of their times

    def __init__(self) -> None:
        self.said: list[str] = []  # of its clocks, a sentence each
        self.attempts: list[dict[str, Any]] = []
        self.spoke_on: set[int] = set()  # numbers of connections of which an end speaks on behind a reset in its name


def attempt_of(path: str, a: Any) -> dict[str, Any]:
    """SYNs without an answering SYN as data."""
    return {
        "file": file_name(path), "caller": _end(a, 0), "called": _end(a, 1), "first_record": a.first_record,
        "last_record": a.last_record, "first_us": a.first_us, "last_us": a.last_us, "syns": a.syns, "refused": bool(a.refused),
    }  # fmt: skip


def row_of(path: str, c: Any) -> dict[str, Any]:
    """One connection as data (flows.schema.json beside this file)."""
    sides = (c.side[0], c.side[1])
    mtus = [side.mtu for side in sides]
    return {
        "file": file_name(path), "connection": c.number, "caller": _end(c, 0), "called": _end(c, 1),
        "begin": c.first_us / 1e6, "seconds": (c.last_us - c.first_us) / 1e6, "first_record": c.first_record,
        "last_record": c.last_record, "whole": bool(sides[0].whole and sides[1].whole),
        "missing": any(bool(side.lost) for side in sides),
        "answer": _setup(sides), "answer_seconds": (c.answer_us - c.first_us) / 1e6 if c.answer_us else -1,
        "mtu": min(mtus) if all(mtus) else -1, "reliable": all(bool(side.reliable) for side in sides),
        "flow_control": all(bool(side.flow_control) for side in sides), "closed": _closed(c),
        "foreign_reset": any(c.foreign), "stale_reset": any(c.stale), "bare_reset": any(c.bare),
        "violations": c.violations, "notices": c.notices,
        "sent": [
            {"messages": side.messages, "bytes": side.data, "errors": side.errors,
             "unfinished": bool(side.open or side.responding),
             "unanswered_reads": max(0, side.pdus[lib.FCVI_PDU_READ_REQUEST] - other.responses), "repeated": repeated,
             "repeated_though_acknowledged": deaf, "keep_alives_in_vain": probes, "unacknowledged": unacknowledged,
             "shut_segments": shut.segments, "shut_record": shut.record if shut.segments else 0,
             "shut_seconds": (shut.until_us - shut.since_us) / 1e6 if shut.segments else 0,
             "pdus": {name: side.pdus[i] for i, name in enumerate((*codec.PDUS, "unknown")) if side.pdus[i]}}
            for side, other, repeated, deaf, probes, unacknowledged, shut in zip(
                sides, sides[::-1], c.repeated, c.deaf, c.probes, c.unacknowledged, c.shut)
        ],
    }  # fmt: skip


def _text(row: dict[str, Any]) -> str:
    level = "Reliable" if row["reliable"] else "unreliable"
    flow = ", flow control" if row["flow_control"] else ""
    agreed = f", MTU {row['mtu']}, {level}{flow}" if row["mtu"] >= 0 else ""
    whole = "" if row["whole"] else "; it began before the capture"
    gap = "; bytes are missing" if row["missing"] else ""
    lines = [
        f"{row['connection']}  {row['caller']} > {row['called']}  {row['answer']}{agreed}",
        f"   {row['seconds']:.6f} s, records {row['first_record']} to {row['last_record']}; closed: {row['closed']}{whole}{gap}",
    ]
    for sign, sent in zip("><", row["sent"]):
        pdus = ", ".join(f"{count} {name}" for name, count in sent["pdus"].items()) or "no PDU"
        errors = f", {sent['errors']} with a VI Error Type" if sent["errors"] else ""
        lines.append(f"   {sign} {sent['messages']} Messages, {sent['bytes']} bytes: {pdus}{errors}")
    if row["violations"] or row["notices"]:
        lines.append(f"   {row['violations']} violations, {row['notices']} notices: `fcvi lint` names them")
    return "\n".join(lines)


def connections(path: str, limits: Limits, streams: Streams, order: Optional[Order] = None,
                seen: Optional[Seen] = None, dumps: Optional[dict[str, str | Exception]] = None,
                ) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Those of a capture, in the order in which they end. seen: is told of its times; dumps: what stands for a file."""
    rows: list[dict[str, Any]] = []

    def drain() -> None:
        rows.extend(row_of(path, c) for c in streams.over())

    scan = Scan(source_of(path, dumps or {}), limits, order)
    scan.path = path
    try:
        for _ in scan.stops(Watch(0, 0), drain, streams.pointer):
            yield from rows
            rows.clear()
    finally:
        scan.close()
        if seen is not None:
            clock = scan.tally.clock
            seen.newest_us, seen.late, seen.lag_us = int(clock.newest_us), int(clock.late), int(clock.lag_us)
    if seen is not None:
        seen.spoke_on = streams.spoke_on()
        seen.attempts = [attempt_of(path, a) for a in streams.attempts()]
    streams.flush()
    drain()
    yield from rows


def _list(args: Any, box: confined.Box) -> int:
    box.enter()
    status = found = 0
    for path in args.files:
        streams = Streams(profile_of(args.profile), args.tcp_port, connections=True)
        try:
            for row in connections(path, args.limits, streams, dumps=args.dumps):
                found += 1
                print(json.dumps(row) if args.json else _text(row))
        except ScanError as error:
            sys.stdout.flush()
            complain(error)
            status = 2
    if not found and not status:
        sys.stdout.flush()
        complain(f"{printable(args.files[-1])}: no connection of VI/TCP; --tcp-port N takes those of a port, however they begin")
        return 2
    return status


_OF_FC = ("--sort", "--filter", "--fields", "--csv", "--openmetrics", "--html", "--ladder", "--interface", "--exporter", "--keep",
          "--every", "--no-monitor", "--edition", "--r-a-tov")  # fmt: skip


def run(args: Any) -> int:
    """List them. 0, or 2 when a capture cannot be read or has none."""
    refuse(args.given, _OF_FC, "goes without --wire tcp")
    if not args.files:
        complain("--wire tcp needs captures", "fcvi flows")
        return 2
    try:
        profile_of(args.profile)
    except ValueError as error:
        complain(error)
        return 2
    from fcvi.capture.hexdump import standing_in

    try:
        with standing_in(args.files, args) as args.dumps:
            return confined.run(args.files, args, lambda box: _list(args, box))
    except confined.ReaderLost:
        return 3  # it has said why
