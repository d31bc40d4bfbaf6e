"""``fcvi random``: random words of calls, IUs, losses, timers and link events against a device, judged without any case.

A word is settings, a colon and letters: ``class2 reception: wait rqst accept resp2 send``. Letters in their place have to be
answered as every conforming device answers them; letters out of place only keep what holds always: the codec's and the
monitor's rules, calls that return, Descriptors that complete once, memory that nobody else writes to, connections that both
sides agreed to, and a device that can be connected when all is over.

Each finding is cut down to a short word and, with --out, written as a recording that fcvi replay plays (0: the device still does
as it did) and as the start of a case. --against plays the same words on a second device and classes every difference: a breach
(of one that breaks a rule), an erratum, a choice that the standard leaves open, or undecided.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from fcvi.engine.attachment import AttachError, DutError
from fcvi.engine.jobs import number_of_jobs
from fcvi.engine.protocol import in_force
from fcvi.engine.target import parse as parse_target
from fcvi.engine.words import complain, printable, refuse
from fcvi.random import against, write
from fcvi.random.campaign import Attachment, Found, Limits, Tally, search
from fcvi.random.play import Player
from fcvi.random.word import Word, parse
from . import place
from .line import Line
from .run import _us
from .target import target
from .values import counted, long_seconds, of_a_device


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("random", help="Play random words to a device, and judge it without any case.", description=__doc__)
    p.add_argument("--dut", default="ref", metavar="SPEC",
                   help="Play to this device: ref (the default), exec:COMMAND, unix:PATH, tcp:HOST:PORT.")  # fmt: skip
    p.add_argument("--against", metavar="SPEC", help="Play to this second device too, and class the differences between the two.")
    p.add_argument("--seed", type=int, default=1, metavar="N", help="The same seed makes the same words (default 1).")
    p.add_argument("--steps", type=counted, default=20_000, metavar="N", help="Play so many letters in all (default 20000).")
    p.add_argument("--seconds", type=long_seconds, metavar="S", help="End after so long, even if letters are left.")
    p.add_argument("--findings", type=counted, default=50, metavar="N", help="End after so many findings (default 50).")
    p.add_argument("--jobs", type=number_of_jobs, default=1, metavar="N", help="Use so many processes (ref and exec: only).")
    p.add_argument("--word", metavar="WORD", help="Play only this word, as a finding prints it, with its --seed.")
    p.add_argument("--letters", action="store_true", help="Print the letters and settings that there are, and end.")
    p.add_argument("--out", type=place.directory, metavar="DIR", help="Write the findings there.")
    place.force(p)
    p.add_argument("--json", action="store_true", help="Print one object for each finding, a line each, then the summary.")
    of_a_device(p)
    p.set_defaults(run=run, asked=[])


def _line(args: argparse.Namespace) -> Line:
    started = time.monotonic()

    def words(tally: Tally) -> str:
        rate = tally.steps / (time.monotonic() - started)
        return f"{tally.steps:,} of {args.steps:,} letters, {tally.words:,} words, {rate:,.0f}/s"

    return Line(args.progress, words)


def run(args: argparse.Namespace) -> int:
    """Play, tell, and give the exit status."""
    if args.letters:
        refuse(args.given, set(args.given) - {"--letters"}, "--letters plays nothing: leave it out")
        return _list()
    if args.word is not None:
        refuse(args.given, ("--steps", "--seconds", "--findings", "--jobs"), "--word is one word: leave it out")
    if args.against is not None:
        refuse(args.given, ("--out", "--force", "--jobs"), "--against prints what differs, in one process: leave it out")
    if args.out is not None:
        place.ready("--out", args.out, args.force, ("*/word.json", "*/frames.toml"))
    else:
        refuse(args.given, ("--force",), "goes with --out DIR")
    device = target(args)
    if args.jobs > 1 and not device.repeatable:
        complain(f"--jobs {args.jobs}: {device} is one device; only ref and exec: can be attached again")
        return 2
    attachment = Attachment(device, args.rpc_timeout, _us(args.r_a_tov))
    players: list[Player] = []
    try:
        players.append(attachment.player())
        if args.against is not None:
            other = Attachment(parse_target(args.against, option="--against"), args.rpc_timeout, _us(args.r_a_tov))
            try:
                players.append(other.player())
            except AttachError as error:
                raise type(error)(str(error).replace("--dut ", "--against ", 1)) from error
        return _work(args, attachment, players)
    finally:
        for player in players:
            player.dut.close()


def _list() -> int:
    words: Any = in_force()[0].words()
    for name, letter in sorted(words.LETTERS.items()):
        what = (letter.duty or letter.play).__doc__ or ""
        print(f"{name:20} {' '.join(what.split())}")
    print("settings: " + ", ".join(words.SETTINGS))
    return 0


def _work(args: argparse.Namespace, attachment: Attachment, players: list[Player]) -> int:
    words = players[0].words
    word = None
    if args.word is not None:
        try:
            word = parse(args.word, words.LETTERS, words.SETTINGS, args.seed)
        except ValueError as error:
            complain(f"--word: {error}")
            return 2
    if len(players) == 2:
        return _against(args, players[0], players[1], word)
    if word is not None:
        return _one(args, players[0], word)
    line = _line(args)
    try:
        found, tally = search(
            players[0], attachment, args.seed, args.jobs, Limits(args.steps, args.seconds, args.findings), line.tell
        )
    finally:
        line.end()
    for one in found:
        _tell(args, players[0], one)
    if args.json:
        print(json.dumps({"summary": {"words": tally.words, "steps": tally.steps, "findings": len(found), "errors": tally.errors,
                                      "refused": tally.refused, "letters": tally.letters}}))  # fmt: skip
    else:
        print(f"{tally.words} words, {tally.steps} letters, {len(found)} findings")
        for missing in tally.without():
            print(printable(missing))
    return 1 if found else tally.status


def _one(args: argparse.Namespace, player: Player, word: Word) -> int:
    played = player.play(word)
    if played.error:
        raise DutError(played.error)
    if played.findings:
        _tell(args, player, Found(played))
        return 1
    if played.refused:
        complain(f"no verdict: {played.refused}")
        return 4
    seen = player.play(word, judged=False)
    if args.json:
        print(json.dumps({"word": str(word), "seen": seen.outputs}))
    else:
        for letter, output in zip(seen.word.letters, seen.outputs):
            print(f"{letter:20} {' '.join(output)}")
        print("nothing that a conforming device may not do")
    return 0


def _tell(args: argparse.Namespace, player: Player, found: Found) -> None:
    directory = None
    try:
        if args.out is not None:
            with place.writing("--out", args.out):
                directory = write.write(args.out, player, found)
    finally:  # what was found is told all the same
        if args.json:
            print(json.dumps({**write.as_json(found), "directory": str(directory) if directory else None}), flush=True)
        else:
            _tell_in_words(args, found, directory)


def _tell_in_words(args: argparse.Namespace, found: Found, place: Path | None) -> None:
    first, word = found.played.findings[0], found.played.word
    where = f" in frame {first.frame}" if first.frame is not None else ""
    print(f"breach of {first.requirement}: {first.message}{where} (seen {first.seen}, required {first.required})")
    print(f"    word: {word}")
    if not found.reproduced:
        print("    not seen again with the same word: the device chose otherwise, or time mattered")
    print(f"    again: fcvi random --dut {shlex.quote(args.dut)} --seed {word.seed} --word '{word}'")
    if place is not None:
        print(f"           fcvi replay --dut {shlex.quote(args.dut)} {shlex.quote(str(place / 'word.pcapng'))}")
    sys.stdout.flush()


def _against(args: argparse.Namespace, one: Player, other: Player, word: Word | None) -> int:
    line = _line(args)
    comparison = against.Comparison(one, other)
    try:
        if word is not None:
            comparison.word(word)
        else:
            comparison.search(args.seed, Limits(args.steps, args.seconds, args.findings), line.tell)
    finally:
        line.end()
    for difference in comparison.shortest():
        if args.json:
            print(json.dumps(difference.as_json()), flush=True)
        else:
            print(difference, flush=True)
    counts = comparison.counts()
    if args.json:
        print(json.dumps({"summary": {"words": comparison.tally.words, "steps": comparison.tally.steps, **counts}}))
    else:
        told = ", ".join(f"{number} {name}" for name, number in counts.items())
        print(f"{comparison.tally.words} words, {comparison.tally.steps} letters; words that differ: {told}")
    for line_of in comparison.tally.without():
        complain(line_of)
    return 1 if counts["breach"] or counts["undecided"] else comparison.tally.status
