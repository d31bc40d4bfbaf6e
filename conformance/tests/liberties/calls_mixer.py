"""Conforming providers of VIPL and of verbs with choices mixed by seed: their books fail none of them.

Usage: python3 -m conformance.tests.liberties.calls_mixer {vipl,verbs} [--providers N] [--first N] [--cases N] [--jobs N]
       [--only NAME=VALUE[,NAME=VALUE]] [--case ID]
Exit status: 0 no case failed or ended in an error and at most 1 % were inconclusive, 1 otherwise, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Callable, Mapping, Optional, Sequence

from conformance import register_all
from conformance.vipl.book import PROTOCOL as VIPL
from conformance.verbs.book import PROTOCOL as VERBS
from fcvi.engine.attachment import Dut
from fcvi.engine.catalogue import load_requirements
from fcvi.engine.pics import complete
from fcvi.engine.pixit import pixit_for
from fcvi.engine.protocol import Protocol, judging_by
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import not_applicable, run_variant
from fcvi.engine.select import select
from harness.tests.independent.verbs.choices import CHOICES
from harness.tests.independent.provider.clock import VirtualClock
from harness.tests.independent.provider.server import Server
from harness.tests.independent.provider.variants import LIBERTIES, Choices
from harness.tests.inside import InsideDut

from ..verbs_inside import model
from .mixer import Judged, fewest

_MOST = 10  # liberties of one provider
_MOST_INCONCLUSIVE = 0.01
#: How a case begins that ends because the provider told that it has less, or agrees on one size (A07); these are counted apart.
_LACKING = ("the provider has ", "the provider says ", "the provider agrees ", "MaxSegmentsPerDesc is ")
_R_A_TOV_US = 500_000


@dataclass(frozen=True)
class Book:
    """What is mixed for a standard of calls, and how a provider with it is made."""

    protocol: Protocol
    select: str
    """Its cases that one process can serve."""
    liberties: Mapping[str, Sequence[Any]]
    make: Callable[[Sequence[str]], Dut]


def _vipl(settings: Sequence[str]) -> Dut:
    given = dict(setting.split("=") for setting in settings)
    known = {field.name: type(field.default) for field in fields(Choices)}
    choices = Choices(**{name: value == "True" if known[name] is bool else known[name](value) for name, value in given.items()})
    return InsideDut(",".join(settings), lambda write: Server("mixed", VirtualClock(), write, choices))


def _verbs(settings: Sequence[str]) -> Dut:
    flavour = next((setting.partition("=")[2] for setting in settings if setting.startswith("flavour=")), "iwarp")
    return model(flavour, [setting for setting in settings if not setting.startswith("flavour=")], None)


#: A provider of iWARP without Reregister or Modify CQ breaks a row (B61, B63): that is no liberty.
BOOKS = {
    "vipl": Book(VIPL, "VIPL.*,not VIPL.P3", LIBERTIES, _vipl),
    "verbs": Book(
        VERBS, "VERBS.*,not VERBS.16/killed,not VERBS.80/stopped,not VERBS.95/killed",
        {**{name: values[1:] for name, (values, _) in CHOICES.items() if name != "rereg"}, "resize_cq": ("kept",),
         "flavour": ("ib",)},
        _verbs,
    ),
}  # fmt: skip


def chosen(book: Book, rng: random.Random) -> list[str]:
    """One to so many liberties, a value of each."""
    names = rng.sample(sorted(book.liberties), rng.randint(1, _MOST))
    return [f"{name}={rng.choice(list(book.liberties[name]))}" for name in names]


def run_provider(
    name: str, seed: int, cases: int = 6, only: Optional[list[str]] = None, case_id: str = ""
) -> tuple[Counter[str], list[Judged]]:
    """The verdicts on a provider in some variants of its book, and who was accused."""
    register_all()
    book, rng = BOOKS[name], random.Random(f"{name} {seed}")
    settings = only or chosen(book, rng)
    levels = {row.id: row.level for row in load_requirements([book.protocol])}
    counts: Counter[str] = Counter()
    judged = []
    with judging_by(book.protocol):

        def judge(names: list[str], case: Any, variant: Any) -> Result:
            dut = book.make(names)
            try:
                return run_variant(dut, case, variant, complete(dut.pics, "hello"), pixit_for("virtual", _R_A_TOV_US), levels, seed)
            finally:
                dut.close()

        dut = book.make(settings)
        pics = complete(dut.pics, "hello")
        dut.close()
        every = select(list(book.protocol.cases()), case_id or book.select)
        possible = [(case, variant) for case, variant in every if not_applicable(case, variant, pics) is None]
        for case, variant in rng.sample(possible, min(cases, len(possible))) if cases else possible:
            result = judge(settings, case, variant)
            lacking = result.verdict is Verdict.INCONCLUSIVE and result.reason.startswith(_LACKING)
            counts["lacking" if lacking else result.verdict.value] += 1
            if result.verdict in (Verdict.FAIL, Verdict.ERROR):
                blamed = fewest(settings, lambda names: judge(names, case, variant).verdict is result.verdict)  # noqa: B023
                judged.append(Judged(seed, " ".join(settings), result.id, result.verdict.value, result.reason, blamed))
    return counts, judged


def main(argv: list[str]) -> int:
    """Run the providers and tell what they were accused of."""
    parser = argparse.ArgumentParser(prog="calls_mixer", description="books of calls against providers that take liberties")
    parser.add_argument("book", choices=sorted(BOOKS))
    parser.add_argument("--providers", type=int, default=500, metavar="N", help="how many (500)")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="the seed of the first (1)")
    parser.add_argument("--cases", type=int, default=6, metavar="N", help="variants of cases for each, 0: all (6)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    parser.add_argument("--only", metavar="SETTINGS", help="these liberties, with commas, instead of a mixture")
    parser.add_argument("--case", default="", metavar="ID", help="variants that are selected so")
    options = parser.parse_args(argv)
    if min(options.providers, options.jobs) < 1 or options.cases < 0:
        print("calls_mixer: --providers and --jobs take numbers above 0", file=sys.stderr)
        return 2
    seeds = range(options.first, options.first + options.providers)
    run = partial(run_provider, options.book, cases=options.cases, case_id=options.case,
                  only=options.only.split(",") if options.only else None)  # fmt: skip
    counts: Counter[str] = Counter()
    accused = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for found, judged in pool.map(run, seeds, chunksize=4):
            counts += found
            accused += len(judged)
            for one in judged:
                print(one, flush=True)
    print(f"{options.providers} providers of {options.book}, {sum(counts.values())} variants: {dict(counts)}")
    return 1 if accused or counts["inconclusive"] > _MOST_INCONCLUSIVE * sum(counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
