"""``make faults``: the suite against every device of the bank, and the matrix of requirement by verdict.

Usage: python3 -m conformance.tests.bank [--jobs N] [--out DIR] [--select GLOB]... [--quiet]
Exit status: 0 everything was caught, 1 something was missed, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

from .judge import Outcome, judge
from .report import summary, write
from .table import bank


def _judge(number: int) -> Outcome:
    return judge(bank()[number])


def main(argv: list[str]) -> int:
    """Run the bank."""
    parser = argparse.ArgumentParser(prog="faults", description="the suite against every broken device of the bank")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    parser.add_argument("--out", type=Path, default=Path("build/faults"), metavar="DIR", help="where the matrix goes")
    parser.add_argument("--select", action="append", metavar="GLOB", help="devices by name, or requirements")
    parser.add_argument("--quiet", action="store_true", help="no line for each device that was not caught by name")
    options = parser.parse_args(argv)
    chosen = [
        number
        for number, entry in enumerate(bank())
        if not options.select
        or any(fnmatch(word, glob) for glob in options.select for word in (entry.name, *entry.breaks))
    ]
    if not chosen or options.jobs < 1:
        print("faults: no such device" if not chosen else "faults: --jobs takes a number above 0", file=sys.stderr)
        return 2
    outcomes = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(_judge, chosen, chunksize=4):
            outcomes.append(outcome)
            if sys.stderr.isatty():
                print(f"\r{len(outcomes)} of {len(chosen)} devices", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    write(options.out, outcomes, whole=not options.select)
    text, missed = summary(outcomes, whole=not options.select, verbose=not options.quiet)
    print(text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
