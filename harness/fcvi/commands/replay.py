"""``fcvi replay``: plays one side of a capture to a device and compares its answers with the recorded ones.

FILE is a case's capture or trace in a report directory (its evidence has the VIPL calls), or any capture; then the TOML file
beside it, or --expect, names the calls. Handles, Exchange and connection ids, addresses, Message ids and times are translated.
Every field is compared but those that the device fills as it likes: OX_ID, RX_ID, SEQ_ID, its own handles and connection ids
and, in the control plane, vi, conn, mem, va and handle; they have to be used consistently, though. The exit status
is 0 when the device did the same, 1 when there are differences, 2 when the input is bad, and 3 when the attachment failed.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Mapping, Optional

from fcvi.capture.confined import ReaderLost
from fcvi.capture.limits import add_options
from fcvi.engine import declaration
from fcvi.attach import attach
from fcvi.engine.attachment import AttachError, DutError, Unavailable
from fcvi.engine.files import FileError, write_file
from fcvi.fc.trace import capture
from fcvi.engine.pics import PicsError
from fcvi.engine.pixit import Given, Pixit, pixit_for
from fcvi.engine.rejudge import rejudge_case
from fcvi.replay import bare, keep, trace
from fcvi.replay.play import Outcome, Player
from fcvi.replay.recording import Recording
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.words import complain, printable, why
from .run import _us
from .values import cases, milliseconds, own_cases, seconds

_VERDICT_STATUS = {"pass": 0, "not-applicable": 0, "fail": 1, "error": 3, "inconclusive": 4}


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("replay", help="Play a capture to a device, and compare what comes back.", description=__doc__)
    p.add_argument("file", metavar="FILE", type=Path, help="This is the capture or the trace to play.")
    p.add_argument("--dut", default="ref", metavar="SPEC", help="Play to this device, named as for fcvi run (default ref).")
    p.add_argument("--agent", default="", metavar="SPEC", help="Use this upper tester of fcoe:, named as for fcvi run.")
    p.add_argument("--side", metavar="S_ID,...",
                   help="Play the side with these N_Port Identifiers, when the file does not say which.")  # fmt: skip
    p.add_argument("--expect", metavar="TOML", type=Path,
                   help="Read the calls of a bare capture there (default: FILE's name with .toml).")  # fmt: skip
    p.add_argument("--ignore", metavar="NAME,...", default="",
                   help="Let these fields, members or frames differ too; `order` is one of them.")  # fmt: skip
    p.add_argument("--out", metavar="CAPTURE", type=Path, help="Write what crossed the wire now, with differences as comments.")
    p.add_argument("--pics", metavar="TOML", type=Path, help="Take the addresses and timers of now from the PIXIT in this file.")
    p.add_argument("--r-a-tov", type=milliseconds, metavar="MS",
                   help="R_A_TOV is this now (default as recorded, 600 with a real clock).")  # fmt: skip
    p.add_argument("--e-d-tov", type=milliseconds, metavar="MS", help="E_D_TOV is this now (default as recorded).")
    p.add_argument("--tolerance", type=milliseconds, metavar="MS", help="Wait so long for what is late (default R_A_TOV / 10).")
    p.add_argument("--rpc-timeout", type=seconds, default=5.0, metavar="S",
                   help="Give up when an answer takes longer (default 5; 20 for hello).")  # fmt: skip
    p.add_argument("--offline", action="store_true", help="Use no device; judge the recorded case again (exit status as fcvi run).")
    p.add_argument("--keep", metavar="DIR", type=Path,
                   help="Use no device; write the recording as capture and TOML, for a regression.")  # fmt: skip
    p.add_argument("--json", action="store_true", help="Print the outcome as one JSON object.")
    cases(p)
    add_options(p)
    p.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Replay, judge or keep."""
    if not own_cases(args):
        return 2
    try:
        if args.offline:
            return _offline(args)
        recording = _load(args)
        if args.keep is not None:
            return _keep(args, recording)
        given = declaration.load(args.pics, load_catalogue().levels).pixit
    except (FileError, PicsError, ValueError) as error:
        complain(error)
        return 2
    except ReaderLost as error:
        if error.args[0] != 3:  # else it is said already
            complain(f"{args.file}: {error}")
        return 3
    try:
        outcome = _play(args, recording, given)
    except (AttachError, DutError, Unavailable) as error:
        complain(error)
        return 3
    if args.out is not None:
        try:
            write_file(args.out, capture(outcome.frames, f"replay of {args.file}"))
        except OSError as error:
            complain(f"--out {args.out}: {why(error)}")
            return 2
    _tell(args, outcome)
    return 1 if outcome.differences else 0


def _load(args: argparse.Namespace) -> Recording:
    found = None if args.side or args.expect else trace.find(args.file)
    if found is not None:
        return trace.load(*found)
    try:
        side = bare.s_ids(args.side.split(",")) if args.side else None
    except ValueError as error:
        raise FileError(f"--side: {error}") from error
    return bare.load(args.file, side, args.expect, args)


def _play(args: argparse.Namespace, recording: Recording, given: Given) -> Outcome:
    dut = attach(args.dut, agent=args.agent, identity=given.dut, rpc_timeout_s=args.rpc_timeout)
    try:
        pixit = _pixit(args, recording, given, dut.clock)
        ignore = frozenset(word.strip() for word in args.ignore.split(",") if word.strip())
        return Player(dut, recording, _config(recording.config, given, pixit), pixit.late_us, ignore).run()
    finally:
        dut.close()


def _pixit(args: argparse.Namespace, recording: Recording, given: Given, clock: str) -> Pixit:
    """As for a run, but with a virtual clock the timers are those of the recording."""
    if clock == "virtual":
        r_a_tov, e_d_tov = recording.config["r_a_tov_us"], recording.config["e_d_tov_us"]
        given = replace(given, r_a_tov_us=given.r_a_tov_us or r_a_tov, e_d_tov_us=given.e_d_tov_us or e_d_tov)
    return pixit_for(clock, _us(args.r_a_tov), _us(args.e_d_tov), _us(args.tolerance), given)


def _config(recorded: Mapping[str, Any], given: Given, pixit: Pixit) -> dict[str, Any]:
    """The configuration now: the recorded one, with the timers of the PIXIT and the addresses that the lab gives."""
    config: dict[str, Any] = {**recorded, "r_a_tov_us": pixit.r_a_tov_us, "e_d_tov_us": pixit.e_d_tov_us}
    default = Given()
    if given.dut != default.dut:
        config.update(given.dut.as_json())
    if given.tester != default.tester:
        config["peer"] = given.tester.as_json()
    return config


def _tell(args: argparse.Namespace, outcome: Outcome) -> None:
    differences = outcome.differences
    if args.json:
        said: dict[str, Any] = {
            "file": str(args.file), "dut": args.dut, "same": not differences, "sent": outcome.sent, "calls": outcome.calls,
            "compared": outcome.compared, "first": differences[0].as_json() if differences else None,
            "differences": [d.as_json() for d in differences], "capture": str(args.out) if args.out else None,
        }  # fmt: skip
        print(json.dumps(said))
        return
    what = f"{outcome.sent} frames sent, {outcome.calls} calls made, {outcome.compared} frames compared"
    if not differences:
        print(f"same: {what}")
        return
    print(f"first difference: {printable(differences[0].words())}")
    print(f"{len(differences)} difference{'s' if len(differences) > 1 else ''}: {what}")


def _offline(args: argparse.Namespace) -> int:
    found = trace.find(args.file)
    if found is None:
        raise FileError(f"{args.file}: no recorded case: --offline needs a trace or a capture of a report directory")
    result = rejudge_case(*found)
    if args.json:
        print(json.dumps(result.as_json()))
    else:
        print(f"{printable(result.id)}: {result.verdict.value}" + (f" ({result.qualifier})" if result.qualifier else ""))
        if result.reason:
            print(f"  {printable(result.reason)}")
    return _VERDICT_STATUS[result.verdict.value]


def _keep(args: argparse.Namespace, recording: Recording) -> int:
    name: Optional[str] = args.file.stem
    try:
        for path in keep.keep(recording, args.keep, str(name), f"{name}"):
            print(printable(path))
    except OSError as error:
        complain(f"--keep {args.keep}: {why(error)}")
        return 2
    return 0
