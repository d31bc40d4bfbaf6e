"""``fcvi learn``: the state machine of a device over a few letters, by active learning, as JSON, dot and SVG.

``fcvi learn --dut SPEC`` plays words of an alphabet (--role, or --letters) and asks on until a machine explains all answers
and every test of the Wp-method to --depth letters beyond it. --queries and --seconds bound it: a machine that is not
complete says so and why (exit status 4). --answers keeps what the device said, so that a later run goes on from there.

``fcvi learn diff A B`` compares two machines that --out wrote and prints the shortest words after which they differ, each
classed by the decisions that fcvi random --against uses (exit status 1 when one is undecided).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from fcvi.engine.files import encoded, read_file, write_file
from fcvi.engine.protocol import in_force
from fcvi.engine.words import complain, refuse
from fcvi.learn.draw import svg
from fcvi.learn.learner import Learner
from fcvi.learn.mealy import Mealy, differences
from fcvi.learn.teacher import Teacher
from fcvi.random.campaign import Attachment
from fcvi.random.choose import able
from fcvi.random.decided import decisions
from fcvi.report.words import plural
from . import place
from .line import Line
from .run import _us
from .target import target
from .values import counted, long_seconds, of_a_device

_ROLES = ("server", "server-timers", "client", "client-timers", "peer")


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("learn", help="Learn the state machine of a device by asking it.", description=__doc__)
    p.add_argument("what", nargs="*", metavar="diff A B", help="Compare two machines instead of learning one.")
    p.add_argument("--dut", metavar="SPEC", help="Learn this device: ref, exec:COMMAND, unix:PATH, tcp:HOST:PORT.")
    p.add_argument("--role", choices=_ROLES, default="server", help="Use the alphabet of this role (default server).")
    p.add_argument("--letters", metavar="A,B,...", help="Use these letters; fcvi random --letters lists those that there are.")
    p.add_argument("--settings", metavar="A,B,...", default="", help="Set the device so (class2, reception, ...).")
    p.add_argument("--depth", type=counted, default=2, metavar="N", help="Test so many letters beyond what is known (default 2).")
    p.add_argument("--queries", type=counted, metavar="N", help="Play no more words than this.")
    p.add_argument("--seconds", type=long_seconds, metavar="S", help="Take no more time than this.")
    p.add_argument("--answers", type=Path, metavar="FILE",
                   help="Read the answers of earlier runs there, and add those of this run.")  # fmt: skip
    p.add_argument("--out", type=place.directory, metavar="DIR", help="Write machine.json, machine.dot and machine.svg there.")
    place.force(p)
    p.add_argument("--most", type=counted, default=20, metavar="N",
                   help="With diff: print no more differences than this (default 20).")  # fmt: skip
    p.add_argument("--json", action="store_true", help="Print the machine, or one object for each difference, a line each.")
    of_a_device(p)
    p.set_defaults(run=run, asked=[])


def run(args: argparse.Namespace) -> int:
    """Learn or compare, and give the exit status."""
    if args.what:
        if len(args.what) != 3 or args.what[0] != "diff":
            return _wrong("name nothing, or: diff A B")
        refuse(args.given, set(args.given) - {"--most", "--json"}, "diff asks no device: leave it out")
        return _diff(args, Path(args.what[1]), Path(args.what[2]))
    if args.dut is None:
        return _wrong("--dut SPEC names the device; or: fcvi learn diff A B")
    refuse(args.given, ("--most",), "goes with diff A B")
    return _learn(args)


def _wrong(words: str) -> int:
    complain(f"{words}; see `fcvi learn --help`", "fcvi learn")
    return 2


def _learn(args: argparse.Namespace) -> int:
    if args.out is not None:
        place.ready("--out", args.out, args.force, ("machine.*",))
    else:
        refuse(args.given, ("--force",), "goes with --out DIR")
    if args.answers is not None:
        place.ready_file("--answers", args.answers)
    player = Attachment(target(args), args.rpc_timeout, _us(args.r_a_tov)).player()
    line = Line(args.progress, lambda states, queries: f"{states} states, {queries:,} queries")
    try:
        words = player.words
        letters = tuple(args.letters.split(",")) if args.letters else words.ALPHABETS[args.role]
        settings = tuple(name for name in args.settings.split(",") if name)
        known = able(words, player.pics)
        for name in letters:
            if name not in known or words.LETTERS[name].play is None:
                return _wrong(f"{name!r} is no letter that can be played on this device")
        for name in settings:
            if name not in words.SETTINGS or not words.applicable(name, player.pics):
                return _wrong(f"{name!r} is no setting of this device")
        teacher = Teacher(player, settings, args.queries, args.seconds)
        if args.answers is not None:
            teacher.load(args.answers)
        try:
            machine = Learner(teacher, letters, args.depth, line.tell).learn()
        finally:
            line.end()
            if args.answers is not None:
                with place.writing("--answers", args.answers):
                    teacher.save(args.answers)
        machine.device, machine.settings = f"{player.dut.implementation} {player.dut.version}", settings
    finally:
        player.dut.close()
    if args.json:
        print(json.dumps(machine.as_json()))
    else:
        size = f"{plural(machine.states, 'state')}, {plural(len(letters), 'letter')}"
        print(f"{size}; {teacher.queries} queries with {teacher.letters} letters, "
              f"{teacher.known} answers known before")  # fmt: skip
        print(f"complete to depth {args.depth}" if machine.complete else f"not complete: {machine.why}")
    sys.stdout.flush()
    if args.out is not None:
        with place.writing("--out", args.out):
            _write(args.out, machine)
    return 0 if machine.complete else 4


def _write(directory: Path, machine: Mealy) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    write_file(directory / "machine.json", encoded(json.dumps(machine.as_json(), indent=1) + "\n"))
    write_file(directory / "machine.dot", encoded(machine.dot()))
    write_file(directory / "machine.svg", encoded(svg(machine)))


def _diff(args: argparse.Namespace, one: Path, other: Path) -> int:
    a, b = (Mealy.from_json(read_file(path), str(path)) for path in (one, other))
    if not set(a.letters) & set(b.letters):
        return _wrong(f"{one} and {other} have no letter in common")
    if a.settings != b.settings:
        return _wrong(f"{one} and {other} were learned with different settings")
    alone = sorted(set(a.letters) ^ set(b.letters))
    if alone:
        complain(f"not compared, for only one of {one} and {other} has the letter: {', '.join(alone)}")
    decided = decisions(in_force()[0].words())
    undecided = told = 0
    for word, left, right in differences(a, b, args.most):
        only = (*(Counter(left) - Counter(right)).elements(), *(Counter(right) - Counter(left)).elements())
        matching = [next((d for d in decided if d.covers(word, len(word) - 1, item)), None) for item in only]
        taken = [d for d in matching if d is not None]
        cls = "undecided" if len(taken) < len(matching) else taken[0].cls
        why = "; ".join(dict.fromkeys(str(d) for d in taken)) if cls != "undecided" else ""
        undecided += cls == "undecided"
        told += 1
        if args.json:
            print(json.dumps({"word": word, "first": left, "second": right, "class": cls, "why": why}))
        else:
            print(f"{cls}: {' '.join(word)}\n    {one}: {' '.join(left)}\n    {other}: {' '.join(right)}")
            if why:
                print(f"    {why}")
    if not (a.complete and b.complete):
        print("one of the machines is not complete: there may be more", file=sys.stderr)
    if not args.json:
        print(f"{told} differences, {undecided} undecided")
    if undecided:
        return 1
    return 0 if a.complete and b.complete and set(a.letters) == set(b.letters) else 4
