"""Conforming devices with one to five liberties and some choices of their own, mixed by seed: the suite fails none of them.

Usage: python3 -m conformance.tests.liberties.mixer [--devices N] [--first N] [--cases N] [--jobs N]
       [--only NAME[,NAME]] [--case ID]
Exit status: 0 no case failed or ended in an error and at most 1 % were inconclusive, 1 otherwise, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Callable, Optional, Sequence

from fcvi.engine import pics as pics_module
from fcvi.engine.attachment import Dut
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import not_applicable, run_variant

from conformance.tests.choices import VariantDut
from conformance.tests.variants import CASES, INDEPENDENT, LEVELS, IndependentDut, setting_of

from . import again, calls, frames, habits, links, planes, services, traffic, values, words
from .layer import FreeDut
from .manner import LIBERTIES, Liberty, Manner

#: From the port outwards.
MODULES = (calls, frames, words, values, again, planes, traffic, services, links, habits)
#: Pairs that would change one thing twice.
APART = ({"frames-of-uneven-length", "one-count-of-an-exchange"},)
_MOST_INCONCLUSIVE = 0.01


@dataclass
class Judged:
    """One variant of a case on one device. blamed: the fewest of its liberties with which a new device gets the same verdict."""

    seed: int
    device: str
    case: str
    verdict: str
    reason: str
    blamed: tuple[str, ...]

    def __str__(self) -> str:
        blamed = ", ".join(self.blamed) or "nothing alone"
        return f"seed {self.seed}: {self.verdict}: {self.case}: {self.reason}\n  {self.device}\n  by {blamed}"


#: Choices of the reference port that no liberty here makes in its own way.
_OF_THE_PORT = (
    "one-iu-a-frame", "offset-in-empty", "resp3-initiative", "no-rx-id", "ius-of-100-bytes", "ack-0", "one-frame-of-credit",
    "resp3-is-message-0", "disconnect-accept", "disconnect-vendor-code", "disconnect-no-status", "nothing-said-of-unknown",
)  # fmt: skip


def choices(rng: random.Random, reference: bool, names: Sequence[str] = ()) -> list[str]:
    """Up to three things that the port itself chooses otherwise than by default: names of CHOICES, or settings NAME=VALUE.

    An answer that is late by a liberty is not late by a choice as well.
    """
    number = rng.randint(0, 3)
    if reference:
        return rng.sample(_OF_THE_PORT, number)
    timed = any(LIBERTIES[name].make.__module__ == planes.__name__ for name in names)
    possible = [name for name in sorted(INDEPENDENT) if not (timed and name.endswith("_delay"))]
    return [setting_of(rng, name) for name in rng.sample(possible, number)]


def listed() -> list[Liberty]:
    """All of them, in one order whichever module was imported first: a seed makes the same device everywhere."""
    return sorted(LIBERTIES.values(), key=lambda one: one.make.__module__)


def chosen(rng: random.Random, reference: bool) -> list[str]:
    """Some of what the reference port, or another one, can take."""
    possible = [one for one in listed() if not one.arguable and (reference or not one.of_the_reference_port)]
    return together(rng, [one.name for one in possible])


def together(rng: random.Random, possible: Sequence[str]) -> list[str]:
    """One to five of these liberties that go together."""
    names: list[str] = []
    for one in (LIBERTIES[name] for name in rng.sample(possible, rng.randint(1, 5))):
        families = {LIBERTIES[name].family for name in names}
        if one.family not in families and not any({one.name, name} in APART for name in names):
            names.append(one.name)
    return names


def _key(one: Liberty) -> int:
    """How far from the port it stands."""
    return [module.__name__ for module in MODULES].index(one.make.__module__)


def manners(names: Sequence[str], seed: int) -> list[Manner]:
    """How the device of this seed takes those of these liberties, the nearest to the port first."""
    taken = sorted((LIBERTIES[name] for name in names if name in LIBERTIES), key=_key)
    return [one.make(random.Random(f"{seed} {one.name}")) for one in taken]


def device(seed: int, names: list[str], reference: bool) -> FreeDut:
    """The reference port or the independent endpoint with these liberties; what each draws follows from the seed and its name."""
    of_port = [name for name in names if name not in LIBERTIES]
    taken = manners(names, seed)
    inner: Dut
    if reference:
        inner = VariantDut(of_port)
        for manner in taken:
            inner.port.update(manner.port)
    else:
        inner = IndependentDut(of_port)
    return FreeDut(inner, taken, f"seed {seed}")


def _judge(seed: int, names: list[str], reference: bool, index: int) -> Result:
    dut = device(seed, names, reference)
    case, variant = CASES[index]
    return run_variant(dut, case, variant, pics_module.complete(dut.pics, "hello"), pixit_for("virtual"), LEVELS, seed)


def judged_by(seed: int, names: list[str], reference: bool, variant_id: str) -> Verdict:
    """What a variant says of one device, whatever liberties there are beside its own."""
    return _judge(seed, names, reference, next(i for i, (c, v) in enumerate(CASES) if c.variant_id(v) == variant_id)).verdict


def fewest(names: list[str], same: Callable[[list[str]], bool]) -> tuple[str, ...]:
    """The fewest of these liberties with which the verdict stays the same; none where it needs the cases before it."""
    if not same(names):
        return ()
    left = list(names)
    for name in names:
        fewer = [other for other in left if other != name]
        if same(fewer):
            left = fewer
    return tuple(left)


def run_device(seed: int, cases: int = 8, only: Optional[list[str]] = None, case_id: str = "") -> tuple[Counter[str], list[Judged]]:
    """The verdicts of a device on some variants of the book, and what did not pass."""
    rng = random.Random(seed)
    reference = rng.random() < 0.7
    names = chosen(rng, reference)
    names += choices(rng, reference, names)
    if only is not None:
        names = [name for name in only if reference or not LIBERTIES[name].of_the_reference_port]
    dut = device(seed, names, reference)
    pics = pics_module.complete(dut.pics, "hello")
    numbers = [i for i, (c, v) in enumerate(CASES) if c.variant_id(v).startswith(case_id) and not_applicable(c, v, pics) is None]
    if cases:
        numbers = rng.sample(numbers, min(cases, len(numbers)))
    counts: Counter[str] = Counter()
    judged = []
    for index in numbers:
        case, variant = CASES[index]
        result = run_variant(dut, case, variant, pics, pixit_for("virtual"), LEVELS, seed)
        counts[result.verdict.value] += 1
        if result.verdict is Verdict.ERROR:
            dut.restart()
        if result.verdict is not Verdict.PASS:
            blamed = fewest(names, lambda fewer: _judge(seed, fewer, reference, index).verdict is result.verdict)  # noqa: B023
            judged.append(Judged(seed, dut.spec, result.id, result.verdict.value, result.reason, blamed))
    dut.close()
    return counts, judged


def main(argv: list[str]) -> int:
    """Run the devices and tell what they were accused of."""
    parser = argparse.ArgumentParser(prog="liberties", description="the suite against conforming devices that take liberties")
    parser.add_argument("--devices", type=int, default=2000, metavar="N", help="how many (2000)")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="the seed of the first (1)")
    parser.add_argument("--cases", type=int, default=8, metavar="N", help="variants of cases for each, 0: all (8)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    parser.add_argument("--only", metavar="NAMES", help="these liberties, with commas, instead of a mixture")
    parser.add_argument("--case", default="", metavar="ID", help="variants that begin so")
    options = parser.parse_args(argv)
    only = options.only.split(",") if options.only else None
    unknown = [name for name in only or [] if name not in LIBERTIES]
    if min(options.devices, options.jobs) < 1 or options.cases < 0 or unknown:
        words_of = f"no such liberty: {', '.join(unknown)}" if unknown else "--devices and --jobs take numbers above 0"
        print(f"liberties: {words_of}", file=sys.stderr)
        return 2
    seeds = range(options.first, options.first + options.devices)
    counts: Counter[str] = Counter()
    run = partial(run_device, cases=options.cases, only=only, case_id=options.case)
    with ProcessPoolExecutor(options.jobs) as pool:
        for found, judged in pool.map(run, seeds, chunksize=4):
            counts += found
            for one in judged:
                print(one, flush=True)
    return told(options.devices, counts)


def told(devices: int, counts: Counter[str]) -> int:
    """Print the sum; the exit status."""
    total = sum(counts.values())
    print(f"{devices} devices, {total} runs of a case: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))
    good = counts["fail"] == counts["error"] == 0 and counts["inconclusive"] <= _MOST_INCONCLUSIVE * total
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
