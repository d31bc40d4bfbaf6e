"""``make variants``: conforming devices that choose by seed whatever the standard leaves open; the suite fails none.

Usage: python3 -m conformance.tests.variants [--seeds N] [--first N] [--cases N] [--jobs N]
Exit status: 0 no case failed, 1 one did, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Optional

from conformance.fcvi.cases import all_cases
from conformance.catalogue import load_requirements
from fcvi.engine import pics as pics_module
from fcvi.engine.attachment import Dut
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Verdict
from fcvi.engine.runner import not_applicable, run_variant

from harness.tests.independent.choices import CHOICES as INDEPENDENT
from harness.tests.independent.chosen import Choices, N
from harness.tests.independent.faults import Faults
from harness.tests.independent.rpc import Closed, Server
from harness.tests.inside import InsideDut

from .choices import pick

LEVELS = {r.id: r.level for r in load_requirements()}
CASES = [(c, v) for c in all_cases() for v in c.variants]


class IndependentDut(InsideDut):
    """The independent endpoint with these choices, and one mistake or none, in process."""

    def __init__(self, settings: list[str], fault: Optional[str] = None) -> None:
        choices, faults = Choices(INDEPENDENT, settings), Faults(fault)
        super().__init__("independent:" + ",".join(settings), lambda write: Server(choices, faults, write), Closed)


def setting_of(rng: random.Random, name: str) -> str:
    """A value for this choice of the independent endpoint."""
    values, _ = INDEPENDENT[name]
    if values.startswith(N):
        _, low, high, _ = values.split(":")
        return f"{name}={rng.choice([int(low), int(high), rng.randint(int(low), int(high))])}"
    return f"{name}={rng.choice(values.split('|'))}"


def settings_of(rng: random.Random) -> list[str]:
    """A value for every choice of the independent endpoint, its default in about every second."""
    return [setting_of(rng, name) for name in INDEPENDENT if rng.random() < 0.5]


@dataclass
class Wrong:
    """A case that did not pass."""

    seed: int
    device: str
    case: str
    verdict: str
    reason: str

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.verdict}: {self.case}: {self.reason}\n  {self.device}"


def device(seed: int) -> Dut:
    """The device of this seed: the independent endpoint, or the reference port with other choices."""
    rng = random.Random(seed)
    return IndependentDut(settings_of(rng)) if seed % 2 else pick(rng)


def run_seed(seed: int, cases: int = 0) -> tuple[int, list[Wrong]]:
    """Run the variants of cases that apply, about so many (0: all), against the device of this seed.

    Which ones follows from the seed too. A stimulus that the device's choices leave no room for is no failure of it.
    """
    dut = device(seed)
    pics = pics_module.complete(dut.pics, "hello")
    pixit = pixit_for("virtual")
    wrong = []
    chosen = [(c, v) for c, v in CASES if not_applicable(c, v, pics) is None]
    if cases:
        chosen = random.Random(seed).sample(chosen, min(cases, len(chosen)))
    for case, variant in chosen:
        result = run_variant(dut, case, variant, pics, pixit, LEVELS, seed)
        if result.verdict is Verdict.ERROR:
            dut.restart()
        if result.verdict in (Verdict.FAIL, Verdict.ERROR):
            wrong.append(Wrong(seed, dut.spec, result.id, result.verdict.value, result.reason))
    return len(chosen), wrong


def main(argv: list[str]) -> int:
    """Run the seeds."""
    parser = argparse.ArgumentParser(prog="variants", description="the suite against conforming devices chosen by seed")
    parser.add_argument("--seeds", type=int, default=1000, metavar="N", help="how many (1000)")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="the first of them (1)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    parser.add_argument("--cases", type=int, default=100, metavar="N", help="most cases of a seed, 0: all (100)")
    options = parser.parse_args(argv)
    if min(options.seeds, options.jobs) < 1 or options.cases < 0:
        print("variants: --seeds and --jobs take numbers above 0", file=sys.stderr)
        return 2
    seeds = range(options.first, options.first + options.seeds)
    bad = ran = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for done, (number, wrong) in enumerate(pool.map(partial(run_seed, cases=options.cases), seeds), 1):
            ran += number
            bad += len(wrong)
            for one in wrong:
                print(one, flush=True)
            if sys.stderr.isatty():
                print(f"\r{done} of {options.seeds} devices", end="", file=sys.stderr)
    print(f"{options.seeds} devices, {ran} runs of a case, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
