"""Conforming devices of VI/TCP and of Rev 1.0, mixed by seed from the choices of the independent endpoints; both planes are late.

Usage: python3 -m conformance.tests.liberties.strangers vitcp|rev1 [--devices N] [--first N] [--cases N]
Exit status: as of the mixer of FC-VI, whose judgement and words these are.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Callable, Mapping, Optional, Sequence

import conformance
from conformance.rev1.book import PROTOCOL as REV1
from conformance.tests.odd_latency import MS, Latency, LatentDut
from conformance.vitcp.book import PROTOCOL as VITCP
from fcvi.engine.attachment import Dut
from fcvi.engine.catalogue import load_requirements
from fcvi.engine.pics import complete
from fcvi.engine.pixit import Pixit, pixit_for
from fcvi.engine.protocol import Protocol, judging_by
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import not_applicable, run_variant
from harness.tests.independent import test_independent_rev1 as rev1
from harness.tests.independent import test_independent_vitcp as vitcp

from . import planes
from .layer import FreeDut
from .manner import LIBERTIES
from .mixer import Judged, fewest, listed, manners, together, told

#: How late a plane is: nothing, a moment, or much, drawn anew for each item up to so much.
_LATE = (0, 0, MS, 30 * MS, 200 * MS)


@dataclass(frozen=True)
class Book:
    """A book, and how its strangers are made."""

    protocol: Protocol
    values: Mapping[str, Sequence[str]]  # of each choice, without the default
    attach: Callable[[Sequence[str], Optional[str]], Dut]
    pixit: Callable[[], Pixit]
    possible: Callable[..., Sequence[tuple[Any, Any]]]
    liberties: Sequence[str] = ()  # those of FC-VI that a layer around its endpoint can take


def _of_vitcp() -> dict[str, list[str]]:
    numbers = {
        "segment": (16, 100, 777, 9_000, 65_495), "first_number": (0, 0x7FFFFFFF, 0xFFFFFFFE), "nop_delay": (1_000, 500_000),
        "is_code": (1, 255), "read_window": (0, 1, 2, 65_535), "response_delay": (1, 30_000, 900_000),
        "send_delay": (1, 30_000, 900_000), "pace": (1, 500), "retry_us": (10_000, 2_800_000), "cut": (40, 1_000, 29_999),
        "security": (4, 1_000), "code_beside_good": (1, 255), "lingers": (1_000, 300_000, 900_000), "response_segment": (20, 2_000),
        "keepalive": (7_000, 300_000), "recv_delay": (1, 30_000, 900_000), "accept_delay": (1, 900_000),
        "request_delay": (1, 900_000), "refusal_delay": (1, 900_000), "completion_delay": (1, 30_000, 900_000),
        "join": (1, 20_000), "most_vis": (1, 2), "most_waits": (1,), "largest": (32_768, 65_536, 0x8000_0000),
        "connect_delay": (1, 30_000, 900_000), "open_delay": (1, 30_000, 900_000), "again_us": (0, 2_000, 1_500_000, 8_000_000),
        "flush_delay": (1, 30_000, 900_000), "read_delay": (1, 30_000, 900_000), "timeout_returns": (1, 30_000, 900_000),
    }  # fmt: skip
    found = {}
    for name, (values, _) in vitcp.CHOICES.items():
        found[name] = [str(n) for n in numbers[name]] if values.startswith(vitcp.N) else values.split("|")[1:]
    return found


def _of_rev1(choices: Sequence[str], fault: Optional[str]) -> Dut:
    """It takes every Discriminator, so that fewer cases are undecided."""
    return rev1.inside(["short_discriminator=accept", *choices], fault)


def _variants() -> list[tuple[Any, Any]]:
    return [(case, variant) for case in VITCP.cases() for variant in case.variants]


BOOKS = {
    "vitcp": Book(VITCP, _of_vitcp(), vitcp.inside, lambda: pixit_for("virtual"), lambda *_: _variants()),
    "rev1": Book(REV1, {name: rev1.others(name) for name in rev1.CHOICES}, _of_rev1,
                 lambda: pixit_for("virtual", given=replace(rev1.GIVEN, early_us=max(_LATE))), rev1.possible,
                 [one.name for one in listed() if not (one.of_the_reference_port or one.arguable or one.of_2007)]),
}  # fmt: skip


def chosen(book: Book, seed: int) -> list[str]:
    """One to twelve choices otherwise than by default, and how late each plane is; for half of the devices some liberties."""
    rng = random.Random(seed)
    names = rng.sample(sorted(book.values), rng.randint(1, 12))
    liberties = together(rng, book.liberties) if book.liberties and rng.random() < 0.5 else []
    if any(LIBERTIES[name].make.__module__ == planes.__name__ for name in liberties):  # late once is enough
        late = [f"{plane}=0" for plane in ("told", "sent", "heard")]
        names = [name for name in names if not name.endswith("_delay")]
    else:
        late = [f"{plane}={rng.choice(_LATE)}" for plane in ("told", "sent", "heard")]
    return [f"{name}={rng.choice(book.values[name])}" for name in names] + late + liberties


def device(book: Book, settings: Sequence[str], seed: int) -> Dut:
    """The endpoint that chooses so and takes these liberties, behind these latencies."""
    late = dict(one.split("=") for one in settings if one.partition("=")[0] in ("told", "sent", "heard"))
    choices = [one for one in settings if one.partition("=")[0] not in late and one not in LIBERTIES]
    bounds = [(0, int(late.get(plane, 0))) for plane in ("told", "sent", "heard")]
    inner = book.attach(choices, None)
    taken = manners(settings, seed)
    if taken:
        inner = FreeDut(inner, taken, f"seed {seed}")
    return LatentDut(inner, Latency(f"{seed} {' '.join(settings)}", *bounds))


def _judge(book: Book, settings: Sequence[str], seed: int, case: Any, variant: Any, levels: Mapping[str, str]) -> Optional[Result]:
    dut = device(book, settings, seed)
    pics = complete(dut.pics, "hello")
    if not_applicable(case, variant, pics) is not None:
        return None
    return run_variant(dut, case, variant, pics, book.pixit(), levels, seed)


def verdict(name: str, settings: Sequence[str], seed: int, variant_id: str) -> Optional[Verdict]:
    """Of one variant on the device of these settings."""
    book = BOOKS[name]
    with judging_by(book.protocol):
        levels = {r.id: r.level for r in load_requirements([book.protocol])}
        case, variant = next((c, v) for c, v in book.possible(*settings) if c.variant_id(v) == variant_id)
        result = _judge(book, settings, seed, case, variant, levels)
    return result.verdict if result is not None else None


def _ends_so(
    book: Book, seed: int, case: Any, variant: Any, levels: Mapping[str, str], wanted: Verdict, settings: Sequence[str]
) -> bool:
    result = _judge(book, settings, seed, case, variant, levels)
    return result is not None and result.verdict is wanted


def run_device(name: str, seed: int, cases: int = 8) -> tuple[Counter[str], list[Judged]]:
    """The verdicts of a device on some variants of the book, and what did not pass."""
    book = BOOKS[name]
    settings = chosen(book, seed)
    counts: Counter[str] = Counter()
    judged = []
    with judging_by(book.protocol):
        levels = {r.id: r.level for r in load_requirements([book.protocol])}
        pics = complete(device(book, settings, seed).pics, "hello")
        possible = [(c, v) for c, v in book.possible(*settings) if not_applicable(c, v, pics) is None]
        for case, variant in random.Random(-seed).sample(possible, min(cases, len(possible))):
            result = _judge(book, settings, seed, case, variant, levels)
            if result is None:
                continue
            counts[result.verdict.value] += 1
            if result.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE):
                same = partial(_ends_so, book, seed, case, variant, levels, result.verdict)
                words = (", ".join(settings), result.id, result.verdict.value, result.reason)
                judged.append(Judged(seed, *words, fewest(settings, same)))
    return counts, judged


def main(argv: list[str]) -> int:
    """Run the devices and tell what did not pass."""
    parser = argparse.ArgumentParser(prog="strangers", description="a book against conforming devices that choose otherwise")
    parser.add_argument("book", choices=sorted(BOOKS))
    parser.add_argument("--devices", type=int, default=500, metavar="N", help="how many (500)")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="the seed of the first (1)")
    parser.add_argument("--cases", type=int, default=8, metavar="N", help="variants of cases for each (8)")
    options = parser.parse_args(argv)
    counts: Counter[str] = Counter()
    for seed in range(options.first, options.first + options.devices):
        found, judged = run_device(options.book, seed, options.cases)
        counts += found
        for one in judged:
            print(one, flush=True)
    return told(options.devices, counts)


conformance.register_all()

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
