"""``fcvi replay``: plays one side of a capture to a device and compares its answers with the recorded ones.

FILE is a case's capture or trace in a report directory (its evidence has the VIPL calls), or any capture; then the TOML file
beside it, or --expect, names the calls. Handles, Exchange and connection ids, addresses, Message ids and times are translated.
Every field is compared but those that the device fills as it likes: OX_ID, RX_ID, SEQ_ID, its own handles and connection ids
and, in the control plane, vi, conn, mem, va and handle; they have to be used consistently, though.

Each difference has a class. It is a breach when codec or monitor find what the recorded device did not do wrong, or when the
case that was recorded fails on this device: the suite runs that case whenever something differs. It is permitted when the
standard leaves it to the device. All else is suspicious, a call that the device does not serve among it: somebody has to look.

Several files or a folder are a library: each recording gets a line unless it is the same, and the last line counts them. A
recording of a case that the device does not claim to support is not applicable. The exit status is 0 when the device did the
same or what is permitted, 1 when something is a breach (with --strict when anything differs), 2 when the input is bad, 3 when the
attachment failed, and 4 when something is suspicious, or when no calls are known of the recording and the device stayed silent:
nobody had asked it for anything. Of a library it is the gravest: 3, 2, 1, 4, 0.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Optional

from fcvi.capture.confined import ReaderLost
from fcvi.capture.limits import add_options
from fcvi.capture.scan import EDITIONS
from fcvi.engine import declaration, pcapng
from fcvi.engine.attachment import AttachError, Dut, DutError, Unavailable
from fcvi.engine.files import FileError, write_named
from fcvi.fc.trace import capture
from fcvi.engine.pics import PicsError
from fcvi.engine.pixit import Given, Pixit, pixit_for
from fcvi.engine.rejudge import rejudge_case
from fcvi.replay import bare, keep, stream_recording, trace
from fcvi.replay.difference import BREACH, CLASSES, SUSPICIOUS
from fcvi.replay.recording import Recording
from fcvi.replay.session import Played, Session, first, wires
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.protocol import judging_by
from fcvi.engine.target import Target
from fcvi.engine.words import complain, printable, refuse, why
from fcvi.vitcp.trace import LINE as stream_line
from . import place
from .run import _us
from .target import book, target
from .values import Device, cases, frames, milliseconds, own_cases, rpc_timeout

#: Options that change nothing where no device is asked.
_OF_A_DEVICE = {"--dut", "--frames", "--agent", "--side", "--expect", "--edition", "--ignore", "--strict", "--out", "--pics",
                "--r-a-tov", "--e-d-tov", "--tolerance", "--rpc-timeout"}  # fmt: skip
_VERDICT_STATUS = {"pass": 0, "not-applicable": 0, "fail": 1, "error": 3, "inconclusive": 4}


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("replay", help="Play a capture to a device, and compare what comes back.", description=__doc__)
    p.add_argument("file", metavar="FILE", type=Path, nargs="+",
                   help="This is the capture or the trace to play; of a folder all captures are played.")  # fmt: skip
    p.add_argument("--dut", action=Device, default="ref", metavar="SPEC",
                   help="Play to this device, named as for fcvi run (default ref).")  # fmt: skip
    book(p)
    frames(p)
    p.add_argument("--agent", default="", metavar="SPEC", help="Use this upper tester of fcoe: or --frames, named as for fcvi run.")
    p.add_argument("--side", metavar="S_ID,...",
                   help="Play the side with these N_Port Identifiers, when the file does not say which.")  # fmt: skip
    p.add_argument("--expect", metavar="TOML", type=Path,
                   help="Read the calls of a bare capture there (default: FILE's name with .toml).")  # fmt: skip
    p.add_argument("--edition", choices=tuple(EDITIONS), default="auto",
                   help="Both sides of a bare capture speak this edition: that of 2007, Rev 1.0 of 1999, or what their "
                   "frames show (the default).")  # fmt: skip
    p.add_argument("--ignore", metavar="NAME,...", default="",
                   help="Let these fields, members or frames differ too; `order` is one of them.")  # fmt: skip
    p.add_argument("--strict", action="store_true", help="Let differences that the standard permits count as well.")
    p.add_argument("--out", metavar="CAPTURE", type=Path, help="Write what crossed the wire now, with differences as comments.")
    p.add_argument("--pics", metavar="TOML", type=Path, help="Take the addresses and timers of now from the PIXIT in this file.")
    p.add_argument("--r-a-tov", type=milliseconds, metavar="MS",
                   help="R_A_TOV is this now (default as recorded, 600 with a real clock).")  # fmt: skip
    p.add_argument("--e-d-tov", type=milliseconds, metavar="MS", help="E_D_TOV is this now (default as recorded).")
    p.add_argument("--tolerance", type=milliseconds, metavar="MS", help="Wait so long for what is late (default R_A_TOV / 10).")
    rpc_timeout(p)
    p.add_argument("--offline", action="store_true", help="Use no device; judge the recorded case again (exit status as fcvi run).")
    p.add_argument("--keep", metavar="DIR", type=place.directory,
                   help="Use no device; write the recording as capture and TOML, for a regression.")  # fmt: skip
    p.add_argument("--json", action="store_true", help="Print the outcome as one JSON object.")
    cases(p)
    add_options(p)
    p.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Replay, judge or keep."""
    args.target = target(args)
    if args.out is not None:
        place.refuse_what_is_signed("--out", args.out.parent)
    if args.keep is not None:
        place.refuse_what_is_signed("--keep", args.keep)
    own_cases(args)
    library = len(args.file) > 1 or args.file[0].is_dir()
    if library and (args.offline or args.keep is not None or args.out is not None or args.expect is not None):
        complain("--offline, --keep, --out and --expect go with one FILE")
        return 2
    if args.offline:
        refuse(args.given, _OF_A_DEVICE, "--offline asks no device: leave it out")
    if args.keep is not None:
        refuse(args.given, _OF_A_DEVICE - {"--side", "--expect", "--edition"}, "--keep asks no device: leave it out")
    try:
        if args.offline:
            return _offline(args)
        files = _library(args.file) if library else args.file
        if args.keep is not None:
            return _keep(args, _load(args, files[0]))
        with judging_by(*wires()):
            said = declaration.load(args.pics, load_catalogue().levels)
    except ValueError as error:
        complain(error)
        return 2
    except ReaderLost as error:
        return _reader_lost(error, args.file[0])
    ignore = frozenset(word.strip() for word in args.ignore.split(",") if word.strip())
    with Session(lambda: _attach(args, said), said, partial(_pixit, args), ignore) as session:
        return _all(args, session, files) if library else _one(args, session, files[0])


def _reader_lost(error: ReaderLost, file: Path) -> int:
    if error.args[0] != 3:  # else it is said already
        complain(f"{file}: {error}")
    return 3


def _attach(args: argparse.Namespace, said: declaration.Declaration) -> Dut:
    device: Target = args.target
    return device.attach(identity=said.pixit.dut, rpc_timeout_s=args.rpc_timeout)


def _library(paths: list[Path]) -> list[Path]:
    """The recordings that these files and folders are. Raises FileError."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = sorted(p for p in path.iterdir() if p.suffix in (".pcap", ".pcapng") and p.is_file())
        if not inside:
            raise FileError(f"{path}: no recording is there; name a folder of captures (.pcapng, .pcap) or a report directory")
        found += inside
    return found


def _one(args: argparse.Namespace, session: Session, file: Path) -> int:
    try:
        played = session.play(_load(args, file))
    except ReaderLost as error:
        return _reader_lost(error, file)
    except ValueError as error:
        complain(error)
        return 2
    if args.out is not None:
        with place.writing("--out", args.out):
            write_named(args.out, _captured(played, f"replay of {file}"))
    if args.json:
        print(json.dumps(_said(args, file, played)))
    else:
        _tell(played)
    return _status(played, args.strict)


def _status(played: Played, strict: bool) -> int:
    if played.uncalled:
        return 4
    if played.count(BREACH) or (strict and played.differences):
        return 1
    return 4 if played.count(SUSPICIOUS) else 0


def _captured(played: Played, comment: str) -> bytes:
    frames = played.outcome.frames
    return pcapng.capture(frames, comment, stream_line) if played.outcome.of_streams else capture(frames, comment)


def _all(args: argparse.Namespace, session: Session, files: list[Path]) -> int:
    """A library: a line for each recording, and one for all. The status of the worst."""
    statuses, counts = {0}, Counter[str]()
    for file in files:
        try:
            played = session.play(_load(args, file))
        except (AttachError, DutError, Unavailable, ReaderLost) as error:
            statuses.add(error.status if isinstance(error, AttachError) else 3)
            counts["not played"] += 1
            complain(f"{file}: {error}")
            continue
        except (FileError, PicsError, ValueError) as error:
            statuses.add(2)
            counts["not readable"] += 1
            complain(error)
            continue
        statuses.add(_status(played, args.strict))
        counts[_word(played)] += 1
        if args.json:
            print(json.dumps(_said(args, file, played)))
        elif played.differences or played.skipped:
            found = first(played)
            print(f"{printable(file)}: {printable(played.skipped) or played.words()}"
                  + (f"; first: {found.cls}: {printable(found.words())}" if found is not None else ""))  # fmt: skip
    if not args.json:
        print(f"{len(files)} recording{'s' * (len(files) != 1)}: " + ", ".join(f"{n} {word}" for word, n in sorted(counts.items())))
    return next(status for status in (3, 2, 1, 4, 0) if status in statuses)


def _word(played: Played) -> str:
    if played.skipped:
        return "not applicable"
    if played.uncalled:
        return "without calls"
    return next((cls for cls in CLASSES if played.count(cls)), "same")


def _load(args: argparse.Namespace, file: Path) -> Recording:
    found = None if args.side or args.expect or args.edition != "auto" else trace.find(file)
    if found is not None:
        return stream_recording.load(*found) if stream_recording.is_of_streams(*found) else trace.load(*found)
    try:
        side = bare.s_ids(args.side.split(",")) if args.side else None
    except ValueError as error:
        raise FileError(f"--side: {error}") from error
    return bare.load(file, side, args.expect, args, args.edition)


def _pixit(args: argparse.Namespace, recording: Recording, given: Given, clock: str) -> Pixit:
    """As for a run, but with a virtual clock the timers are those of the recording."""
    if clock == "virtual" and "r_a_tov_us" in recording.config:
        r_a_tov, e_d_tov = recording.config["r_a_tov_us"], recording.config["e_d_tov_us"]
        given = replace(given, r_a_tov_us=given.r_a_tov_us or r_a_tov, e_d_tov_us=given.e_d_tov_us or e_d_tov)
    return pixit_for(clock, _us(args.r_a_tov), _us(args.e_d_tov), _us(args.tolerance), given)


def _said(args: argparse.Namespace, file: Path, played: Played) -> dict[str, Any]:
    found, outcome = first(played), played.outcome
    return {
        "file": str(file), "dut": str(args.target), "same": not played.differences and not played.skipped, "sent": outcome.sent,
        "calls": outcome.calls, "compared": outcome.compared, "first": found.as_json() if found is not None else None,
        "differences": [d.as_json() for d in played.differences], "capture": str(args.out) if args.out else None,
        "classes": {cls: played.count(cls) for cls in CLASSES}, "not_applicable": played.skipped or None,
        "uncalled": played.uncalled,
        "case": {"id": played.case.id, "verdict": played.case.verdict.value} if played.case is not None else None,
    }  # fmt: skip


def _tell(played: Played) -> None:
    if played.skipped:
        print(f"not applicable: {printable(played.skipped)}")
        return
    outcome, found = played.outcome, first(played)
    what = f"{outcome.sent} frames sent, {outcome.calls} calls made, {outcome.compared} frames compared"
    if found is None:
        print(f"same: {what}")
        return
    print(f"first difference: {printable(found.words())}")
    for cls in CLASSES:
        these = [d for d in played.differences if d.cls == cls]
        if these:
            why = f": {printable(these[0].why)}" if these[0].why else ""
            print(f"  {cls}: {len(these)}, such as {printable(these[0].words())}{why}")
    if played.case is not None:
        print(f"  the recorded case on this device: {printable(played.case.id)}: {played.case.verdict.value}")
    if played.uncalled:
        print("  inconclusive: the device was given no call. Name the calls in the TOML file beside the capture, or with --expect; "
              "a capture in a report directory has them in the evidence beside it.")  # fmt: skip
    print(f"{len(played.differences)} difference{'s' if len(played.differences) > 1 else ''}: {what}")


def _offline(args: argparse.Namespace) -> int:
    found = trace.find(args.file[0])
    if found is None:
        raise FileError(f"{args.file[0]}: no recorded case: --offline needs a trace or a capture of a report directory")
    result = rejudge_case(*found)
    if args.json:
        print(json.dumps(result.as_json()))
    else:
        print(f"{printable(result.id)}: {result.verdict.value}" + (f" ({result.qualifier})" if result.qualifier else ""))
        if result.reason:
            print(f"  {printable(result.reason)}")
    return _VERDICT_STATUS[result.verdict.value]


def _keep(args: argparse.Namespace, recording: Recording) -> int:
    if isinstance(recording, stream_recording.StreamRecording):
        complain("--keep: a recording of streams is played from its report directory, and has no other form; keep the directory")
        return 2
    name: Optional[str] = args.file[0].stem
    try:
        for path in keep.keep(recording, args.keep, str(name), f"{name}"):
            print(printable(path))
    except OSError as error:
        complain(f"--keep {args.keep}: cannot write there: {why(error)}")
        return 3
    return 0
