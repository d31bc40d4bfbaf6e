"""``./bootstrap quick [NAME...]``: the tests of what differs from the last commit, or of names, in about ten seconds.

Usage: ./bootstrap quick [--seconds N] [--list] [NAME...]
NAME: a case (5.3.4.c), a requirement (FCVI-5.3.4-01), a module, a test, or a file. Without a name: each file that git says differs.
Exit status: 0 what ran passed; 1 something failed, cannot be read, or nothing came to its end;
2 wrong usage or nothing to run; 3 the build failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from conformance import register_all
from fcvi.engine.files import FileError

from . import books, names, play
from .plan import ROOT, Plan


def _planned(words: list[str]) -> Plan:
    plan = Plan()
    for word in words:
        names.named(word, plan)
    for path in [] if words else names.differing():
        names.changed(path, plan)
    return plan


def _place(mistake: Exception) -> str:
    """The line of this tree that an exception came from: of whoever declares something, not of what it is declared with."""
    if isinstance(mistake, SyntaxError):
        return f"{os.path.relpath(mistake.filename or '', ROOT)}:{mistake.lineno}"
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(mistake.__traceback__)]
    ours = [frame for frame in frames if frame[0].is_relative_to(ROOT)]
    authors = [frame for frame in ours if {"cases", "tests"} & {*frame[0].parts} and "quick" not in frame[0].parts]
    path, line = [*frames, *ours, *authors][-1]
    return f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{line}"


def _tell(plan: Plan) -> None:
    for line in plan.why:
        print(f"quick: {line}")
    for line in plan.not_covered:
        print(f"quick: not here: {line}")


def main(words: list[str]) -> int:
    """Plan, build, run, and say what was not run."""
    begun = time.monotonic()
    parser = argparse.ArgumentParser(prog="./bootstrap quick", description="the tests of what changed, or of a name")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a case, requirement, module, test or file; none: what differs")
    parser.add_argument("--seconds", type=float, default=7.0, metavar="N", help="end the tests after so many (7), the build apart")
    parser.add_argument("--list", action="store_true", help="only say what would run")
    options = parser.parse_args(words)
    register_all()
    try:
        plan = _planned(options.names)
    except names.Unknown as error:
        print(f"quick: nothing is called {error}: name a case, a requirement, a module, a test or a file", file=sys.stderr)
        return 2
    except Exception as mistake:  # pylint: disable=broad-except  # in a file of the tree: cases and devices are read to find them
        words = mistake.msg if isinstance(mistake, SyntaxError) else mistake
        print(f"quick: {_place(mistake)}: {type(mistake).__name__}: {words}", file=sys.stderr)
        return 1
    _tell(plan)
    try:
        books.check(plan)
    except FileError as mistake:
        print(f"quick: {mistake}", file=sys.stderr)
        return 1
    if not plan:
        print("quick: nothing to run; `./bootstrap check` runs all that a commit needs", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join([*(f"{book or 'FC-VI'} {ident}" for book, ident in plan.cases), *plan.programs, *plan.tests]))
        return 0
    if play.build(plan):
        print("quick: the build failed: make all says why", file=sys.stderr)
        return 3
    built = time.monotonic() - begun
    tally = play.Tally(time.monotonic() + options.seconds)
    play.cases(plan, tally)
    play.programs(plan, tally)
    play.tests(plan, tally)
    for file, many in Counter(name.partition("::")[0] for name in tally.late).items():
        print(f"quick: no time was left for {file}" + (f" ({many})" if many > 1 else ""))
    if tally.late:
        print("quick: --seconds N gives more time")
    for name in tally.failed:
        print(f"quick: FAILED {name}")
    times = f"{time.monotonic() - begun - built:.1f} s after {built:.1f} s of planning and building"
    print(f"quick: {tally.passed} passed, {len(tally.failed)} failed, {len(tally.late)} not run, in {times}")
    return 0 if tally.passed and not tally.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
