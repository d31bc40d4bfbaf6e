"""``./bootstrap quick [NAME...]``: the tests of what differs from the last commit, or of names, in about ten seconds.

Usage: ./bootstrap quick [--seconds N] [--list] [NAME...]
NAME: a case (5.3.4.c), a requirement (FCVI-5.3.4-01), a module, a test, or a file. Without a name: each file that git says differs.
Exit status: 0 what ran passed, 1 something failed, 2 wrong usage or nothing to run, 3 the build failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from conformance import register_all

from . import names, play
from .plan import Plan


def _planned(words: list[str]) -> Plan:
    plan = Plan()
    for word in words:
        names.named(word, plan)
    for path in [] if words else names.differing():
        names.changed(path, plan)
    return plan


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
    parser.add_argument("--seconds", type=float, default=9.0, metavar="N", help="begin nothing after so many seconds (9)")
    parser.add_argument("--list", action="store_true", help="only say what would run")
    options = parser.parse_args(words)
    register_all()
    try:
        plan = _planned(options.names)
    except names.Unknown as error:
        print(f"quick: nothing is called {error}: name a case, a requirement, a module, a test or a file", file=sys.stderr)
        return 2
    _tell(plan)
    if not plan:
        print("quick: nothing to run; `./bootstrap check` runs all that a commit needs", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join([*(f"{book or 'FC-VI'} {ident}" for book, ident in plan.cases), *plan.programs, *plan.tests]))
        return 0
    if play.build(plan):
        print("quick: the build failed: make all says why", file=sys.stderr)
        return 3
    tally = play.Tally(begun + options.seconds)
    play.cases(plan, tally)
    play.programs(plan, tally)
    play.tests(plan, tally)
    for file, many in Counter(name.partition("::")[0] for name in tally.late).items():
        print(f"quick: no time was left for {file}" + (f" ({many})" if many > 1 else ""))
    if tally.late:
        print("quick: --seconds N gives more time")
    for name in tally.failed:
        print(f"quick: FAILED {name}")
    took = time.monotonic() - begun
    print(f"quick: {tally.passed} passed, {len(tally.failed)} failed, {len(tally.late)} not run, in {took:.1f} s")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
