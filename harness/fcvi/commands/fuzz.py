"""``fcvi fuzz``: mutated frames, or PDUs of VI/TCP, against an attached device, in every state of a connection.

After each batch the device is probed: it has to make a connection, carry a Message each way and disconnect. What breaks it is
cut down and written to --out: a capture with the calls beside it, which fcvi replay plays (0: the device still does as it
did), and a file that --repeat takes; of VI/TCP the file alone. before.json has the last batches. What a later batch breaks in the
same way (the same stack on the device's standard error, the same signal, the same answer) is the same finding, and is counted. A
finding is "dead" (it ended, hung or broke the DUT protocol, or --health-cmd said that it is ill), "stuck" (the probe failed) or
"malformed" (it sent a frame that is wrong whatever it had heard).
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Optional

from fcvi.engine import pics as pics_module
from fcvi.attack.bins import Bins
from fcvi.attack.blackbox import Attack, Broken, Step
from fcvi.attack.lab_commands import Commands
from fcvi.attack.frames import Frames
from fcvi.attack.transport import Transport
from fcvi.engine.attachment import AttachError, DutError, Unavailable
from fcvi.engine.files import FileError, damage, encoded, read_json
from fcvi.engine.folder import Folder
from fcvi.engine.record import entries_of
from fcvi.engine.pixit import Profile, pixit_for
from fcvi.replay import keep, trace
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.words import complain, printable, refuse
from . import place
from .run import Progress, _us
from .target import book, target
from .values import counted, long_seconds, of_a_device, seconds, seed

_REPLAYED = 24  # bytes: what is shorter has no addresses by which a replay could know whose it is


class Find(NamedTuple):
    """When a finding was made: after so many batches and seconds of this campaign. times: how many batches did the same."""

    kind: str
    state: str
    batches: int
    seconds: float
    times: int = 1


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("fuzz", help="Attack a device with mutated frames, and cut down what breaks it.", description=__doc__)
    p.add_argument("--dut", required=True, metavar="SPEC",
                   help="Attack this device: ref, exec:COMMAND, unix:PATH, tcp:HOST:PORT, fcoe:IFACE[,...], ref:vitcp, "
                        "vitcp:HOST:PORT[,...].")  # fmt: skip
    book(p, editions=False)
    p.add_argument("--profile", metavar="FILE", help="Of VI/TCP: take the numbers that its draft leaves open from this file.")
    p.add_argument("--agent", default="", metavar="SPEC",
                   help="With --dut fcoe: or vitcp: this is the upper tester: exec:, unix: or tcp:.")  # fmt: skip
    p.add_argument("--seed", type=seed, default=1, metavar="N",
                   help="The first batch has this seed, the next the next (default 1).")  # fmt: skip
    p.add_argument("--batches", type=counted, default=100, metavar="N", help="Play so many batches (default 100).")
    p.add_argument("--frames", type=counted, default=12, metavar="N", help="A batch has so many mutated frames (default 12).")
    p.add_argument("--state", action="append", metavar="NAME", help="Attack only in this state; the option may be repeated.")
    p.add_argument("--seconds", type=long_seconds, metavar="S", help="End after so long, even if batches are left.")
    p.add_argument("--findings", type=counted, default=10, metavar="N", help="End after so many findings (default 10).")
    p.add_argument("--health-cmd", default="", metavar="COMMAND",
                   help="Run this after each batch; it fails when the device is ill.")  # fmt: skip
    p.add_argument("--restart-cmd", default="", metavar="COMMAND",
                   help="Run this when the device is dead, before attaching again.")  # fmt: skip
    p.add_argument("--restart-wait", type=seconds, default=0.0, metavar="S",
                   help="Try so long to attach again to a device that died (default: once).")  # fmt: skip
    p.add_argument("--out", type=place.directory, metavar="DIR", help="Write the findings there.")
    place.force(p)
    p.add_argument("--last", type=counted, default=8, metavar="N",
                   help="Keep the last N batches beside each finding, in before.json (default 8).")  # fmt: skip
    p.add_argument("--repeat", type=Path, metavar="FILE", help="Play only the steps of this earlier finding.")
    p.add_argument("--json", action="store_true", help="Print one object for each finding, a line each, then the summary.")
    of_a_device(p)
    p.set_defaults(run=run)


#: What a finding that is played again has already.
_OF_AN_ATTACK = ("--seed", "--batches", "--state", "--seconds", "--findings", "--out", "--force", "--last", "--json")


def as_json(found: Broken, transport: Transport) -> dict[str, Any]:
    """What --repeat reads, and --json prints."""
    return {
        "fcvi-fuzz": 1,
        "kind": found.outcome.kind,
        "reason": found.outcome.reason,
        "state": found.state,
        "seed": found.seed,
        "reproduced": found.reproduced,
        "changes": found.changes,
        "steps": _steps(found.steps, transport),
    }


def _steps(steps: list[Step], transport: Transport) -> list[dict[str, Any]]:
    return [{"wait_us": s.wait_us, **transport.to_json(s.frame), "origin": s.origin.data.hex()} for s in steps]


def _before(found: Broken, transport: Transport) -> list[dict[str, Any]]:
    """The last batches, the one of the finding among them: what --repeat reads, each by itself."""
    return [
        {"fcvi-fuzz": 1, "seed": batch.seed, "state": batch.state, "steps": _steps(batch.steps, transport)}
        for batch in found.before
    ]


def read(path: Path, transport: Transport) -> tuple[int, str, list[Step]]:
    """An earlier finding. Raises FileError, with one line, for anything else."""
    try:
        data = read_json(path)
        if data["fcvi-fuzz"] != 1:
            raise ValueError("another version")
        steps = []
        for entry in data["steps"]:
            frame, origin = transport.of_json(entry)
            if not 0 <= int(entry["wait_us"]) <= 3_600_000_000:
                raise ValueError("a step is out of range")
            steps.append(Step(frame, origin, int(entry["wait_us"])))
        return int(data["seed"]), str(data["state"]), steps
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise FileError(f"{path}: not a finding of fcvi fuzz ({damage(error)}); name a finding.json that --out wrote") from error


def _write(folder: Path, found: Broken, transport: Transport) -> Path:
    place = folder / f"{found.outcome.kind}-{found.state}-{found.seed}"
    with Folder(place, ours=True, named=False) as own:
        own.write("finding.json", encoded(json.dumps(as_json(found, transport), indent=1) + "\n"))
        own.write("before.json", encoded(json.dumps(_before(found, transport), indent=1) + "\n"))
    if transport.streams:
        return place  # a recording of streams is played from a report directory only; --repeat plays this
    comment = f"{found.outcome.kind} in state {found.state}, seed {found.seed}: {found.outcome.reason}"
    keep.keep(trace.of_entries(str(place), entries_of(found.outcome.lines)), place, "frames", comment)
    return place


def _tell(args: argparse.Namespace, found: Broken, transport: Transport) -> None:
    directory = None
    try:
        if args.out is not None:
            with place.writing("--out", args.out):
                directory = _write(args.out, found, transport)
    finally:  # what was found is told all the same
        if args.json:
            print(json.dumps({**as_json(found, transport), "directory": str(directory) if directory else None}), flush=True)
        else:
            _tell_in_words(args, found, directory, transport)


def _tell_in_words(args: argparse.Namespace, found: Broken, place: Optional[Path], transport: Transport) -> None:
    print(printable(f"{found.outcome.kind} in state {found.state}, seed {found.seed}: {found.outcome.reason}"))
    if not found.reproduced:
        print(f"    not seen again with the same {transport.unit}s: the device chose its identifiers otherwise, or time mattered")
    for words in found.changes:
        print(f"    {printable(words)}")
    if place is not None:
        device = shlex.join(["--dut", str(args.target), *args.target.options])
        profile = f" --profile {shlex.quote(args.profile)}" if args.profile else ""
        print(printable(f"    again: fcvi fuzz {device}{profile} --repeat {shlex.quote(str(place / 'finding.json'))}"))
        if not transport.streams and all(len(entry.data) >= _REPLAYED for entry in found.outcome.trace):
            print(printable(f"           fcvi replay {device} {shlex.quote(str(place / 'frames.pcapng'))}"))
    sys.stdout.flush()


def run(args: argparse.Namespace) -> int:
    """Attack, tell, and give the exit status."""
    if args.out is not None:
        place.ready("--out", args.out, args.force, ("*/finding.json",))
    else:
        refuse(args.given, ("--force",), "goes with --out DIR")
    if not args.restart_cmd:
        refuse(args.given, ("--restart-wait",), "goes with --restart-cmd COMMAND")
    if args.repeat is not None:
        refuse(args.given, _OF_AN_ATTACK, "--repeat plays the steps of its finding alone: leave it out")
    device = args.target = target(args)
    if device.book.attack is None:
        raise AttachError(f"--dut {device}: {device.book.name} ({device.book.book}) says nothing of what to attack")
    profile = device.book.profile
    if args.profile is not None and profile is None:
        raise AttachError("--profile: only VI/TCP has profiles; add --book vitcp")
    numbers = None if profile is None else profile(args.profile)
    transport = _medium(numbers)
    repeat = read(args.repeat, transport) if args.repeat is not None else None
    if device.on_a_wire and not device.agent:
        raise AttachError(f"--dut {device.kind}: needs --agent here: its upper tester brings the device into a "
                          "state, and probes it")  # fmt: skip
    log = tempfile.NamedTemporaryFile("ab", prefix="fcvi-fuzz-", suffix=".log")  # pylint: disable=consider-using-with
    dut = device.attach(rpc_timeout_s=args.rpc_timeout, log=log.fileno())
    if not device.book.streams and not pics_module.is_of_2007(dut.pics):
        dut.close()
        raise AttachError(f"--dut {device}: the frames are of FC-VI of 2007, and its hello names another edition or wire; "
                          "--book vitcp attacks VI/TCP")  # fmt: skip
    pics = pics_module.declared(dut)
    try:
        pixit = dut.settled(replace(pixit_for(dut.clock, _us(args.r_a_tov)), profile=numbers))
        care = Commands(args.health_cmd, args.restart_cmd, args.restart_wait)
        ill = care.ill()
        if ill:  # nothing that the suite does can be the cause
            complain(f"--health-cmd {args.health_cmd}: before anything was sent {ill}")
            return 3
        attack = Attack(dut, pics, pixit, load_catalogue().levels, args.frames, care=care, transport=transport,
                        bins=Bins(Path(log.name), args.last))  # fmt: skip
        if numbers is not None and not attack.understood():
            raise Unavailable(f"the device has not shown that it speaks profile {numbers.name} (V03); name its own with --profile")
        return _repeat(args, attack, *repeat) if repeat is not None else _attack(args, attack)
    except Unavailable as error:
        complain(f"--dut {args.target}: cannot be fuzzed so: {error}")
        return 3
    except DutError as error:
        complain(f"cannot attach again: {error}")
        return 3
    finally:
        dut.close()
        log.close()


def _medium(numbers: Optional[Profile]) -> Transport:
    """The wire of the device. numbers: of VI/TCP; None: it speaks FC-VI."""
    if numbers is None:
        return Frames()
    from fcvi.attack.pdus import Pdus
    from fcvi.vitcp.codec import of_text

    return Pdus(of_text(numbers.text))


def _repeat(args: argparse.Namespace, attack: Attack, seed: int, state: str, steps: list[Step]) -> int:
    if state not in attack.states():
        complain(f"{args.repeat}: this device cannot be in the state {state!r}")
        return 2
    outcome = attack.repeat(seed, state, steps)
    print(f"{outcome.kind}: {printable(outcome.reason)}" if outcome.kind else "the device is well")
    return 1 if outcome.kind else 0


def _attack(args: argparse.Namespace, attack: Attack) -> int:
    states = attack.states()
    unknown = [name for name in args.state or () if name not in states]
    if unknown:
        complain(f"--state {unknown[0]}: not one of {', '.join(states)}")
        return 2
    states = args.state or states
    missing = attack.unserved(states)
    for name, reason in missing.items():
        complain(f"state {name} is left out: {reason}")
    states = [name for name in states if name not in missing]
    if not states:
        complain(f"--dut {args.dut}: cannot be fuzzed so: the calls that are named above have to be served")
        return 4
    started = time.monotonic()
    progress = Progress(args.progress)
    finds: list[Find] = []
    keys: list[tuple[str, ...]] = []
    try:
        for i in range(args.batches):
            state = states[i % len(states)]
            broken = attack.batch(args.seed + i, state)
            if broken is not None:
                keys.append(broken.key)
                finds.append(Find(broken.outcome.kind, state, i + 1, round(time.monotonic() - started, 3)))
                _tell(args, broken, attack.transport)
            progress.update(i + 1, args.batches, state)
            late = args.seconds is not None and time.monotonic() - started > args.seconds
            if attack.gone or late or len(finds) >= args.findings:
                break
    finally:
        progress.stop()
    counts = attack.bins.counts if attack.bins is not None else {}
    finds = [find._replace(times=counts.get(key, 1)) for find, key in zip(finds, keys)]
    _summary(args, attack, finds)
    if attack.gone:
        complain(f"cannot attach again: {attack.gone}")
        return 3
    return 1 if finds else 4 if missing or attack.tally.refused else 0


def _summary(args: argparse.Namespace, attack: Attack, finds: list[Find]) -> None:
    tally = attack.tally
    if args.json:
        told: dict[str, Any] = {"batches": tally.batches, "frames": tally.frames, "findings": len(finds)}
        told |= {"states": tally.by_state, "sent": tally.by_kind, "refused": tally.refused}
        told |= {"found": [f._asdict() for f in finds]}
        print(json.dumps({"summary": told}))
        return
    print(f"{tally.batches} batches, {tally.frames} {attack.transport.unit}s, {len(finds)} findings")
    print("states: " + ", ".join(f"{name} {count}" for name, count in sorted(tally.by_state.items())))
    print("sent:   " + ", ".join(f"{name} {count}" for name, count in sorted(tally.by_kind.items())))
    for why_not, count in sorted(tally.refused.items()):
        print(printable(f"{count} batches without a verdict: {why_not}"))
    for find in finds:
        when = f"after {find.batches} batches, {find.seconds} s; {find.times} times in all"
        print(f"found:  {find.kind} in state {find.state} {when}")
