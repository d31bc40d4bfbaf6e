"""A call that is not served, or that the adapter fails, accuses nobody: each method of the protocol is refused in turn."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Callable, Sequence

import pytest

from conformance.fcvi.book import PROTOCOL as FCVI
from conformance.rev1.book import PROTOCOL as REV1
from conformance.verbs.book import PROTOCOL as VERBS
from conformance.vipl.book import PROTOCOL as VIPL
from conformance.vitcp.book import PROTOCOL as VITCP
from fcvi.engine.attachment import Dut
from fcvi.engine.case import CaseInfo, Variant
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.pics import complete
from fcvi.engine.pixit import pixit_for
from fcvi.engine.protocol import Protocol, judging_by
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import not_applicable, run_variant
from fcvi.engine.target import parse

from harness.tests.independent.test_independent_vipl import inside as provider

from .refusing import Refusal
from .verbs_inside import model

_ROOT = Path(__file__).resolve().parents[2]
_MODEL = f"exec:{sys.executable} -m harness.tests.independent.verbs.agent"
#: What an answer makes of the case (dut-protocol.md, section 3).
_ENDS = {-32601: "inconclusive", -32002: "inconclusive", -32602: "error", -32000: "error", -32001: "error"}
#: Not calls of a case: the suite itself makes them.
_OF_THE_SUITE = frozenset(("hello", "reset", "clock.advance", "clock.next", "agent.devices"))
#: Cases that try without a call what they would try by it: its refusal is theirs to look at.
_COPES = {("R1.7.1.a/most", "VipQueryNic", code) for code in (-32601, -32002)}
#: Every case does without: an agent that cannot tell what its library lacks is taken to lack nothing.
_DISPENSABLE = ("layout", -32601)


@dataclass(frozen=True)
class Book:
    """A book, a device that conforms to it, and how many of its variants the quick tier tries."""

    standard: Protocol
    spec: str
    agent: str
    some: int


BOOKS = (
    Book(FCVI, "ref", "", 60), Book(REV1, "ref:rev1", "", 40), Book(VITCP, "ref:vitcp", "", 40),
    Book(VIPL, "api", f"exec:{_ROOT}/build/fcvi-agent", 4), Book(VERBS, "verbs", _MODEL, 6),
)  # fmt: skip


def attached(book: Book) -> Dut:
    """The device as the command attaches it: those of calls are programs, in real time."""
    return replace(parse(book.spec), agent=book.agent).attach()


def inside(book: Book) -> Dut:
    """Models of calls in this process, on a virtual clock: nobody waits for what does not come."""
    return {VIPL: lambda: provider("plain"), VERBS: lambda: model("iwarp", (), None)}.get(book.standard, lambda: attached(book))()


class Bench:
    """A device of the book, and a word to its adapter about the call that it is to refuse."""

    def __init__(self, dut: Dut, book: Book, seed: int, some: int) -> None:
        self.dut = dut
        self.refusal = Refusal(self.dut)
        self.pixit = self.dut.settled(pixit_for(self.dut.clock))
        self.pics, self.levels = complete(self.dut.pics, "hello"), load_catalogue().levels
        of_book = [
            (c, v) for c in book.standard.cases() for v in c.variants if not_applicable(c, v, self.pics) is None
        ]  # fmt: skip
        self.variants = Random(seed).sample(of_book, min(some, len(of_book)))

    def run(self, case: CaseInfo, variant: Variant, method: str = "", code: int = 0, late: bool = False) -> Result:
        """One variant while the adapter refuses this method."""
        self.refusal.refuse(method, code, late)
        return run_variant(self.dut, case, variant, self.pics, self.pixit, self.levels, 1)


#: So begins the reason where this host had no time for the suite: that says nothing of the refusal.
_STOOD_STILL = "the suite's host stood still"


def _accused(bench: Callable[[], Bench], book: Book, codes: Callable[[int], Sequence[int]], late: Sequence[bool]) -> list[Any]:
    """What came out otherwise than it has to. codes: those to try with the method of a number."""
    with judging_by(book.standard):
        return _tried(bench(), book, codes, late)


def _tried(bench: Bench, book: Book, codes: Callable[[int], Sequence[int]], late: Sequence[bool]) -> list[Any]:
    wrong, tried, number = [], 0, 0
    try:
        for case, variant in bench.variants:
            plain = bench.run(case, variant)
            for method in sorted(bench.refusal.made - _OF_THE_SUITE):
                number += 1
                for code in codes(number):
                    for slow in late:
                        result = bench.run(case, variant, method, code, slow)
                        tried += 1
                        told = result.verdict.value == _ENDS[code] and method in result.reason and not result.broken
                        spoilt = result.verdict is Verdict.INCONCLUSIVE and _STOOD_STILL in result.reason
                        copes = (result.id, method, code) in _COPES or (method, code) == _DISPENSABLE
                        if plain.verdict.value == "pass" and not (told or spoilt or copes):
                            wrong.append((result.id, method, code, slow, result.verdict.value, result.reason))
            if book.agent == "":  # a call that is never made changes nothing
                other = bench.run(case, variant, "VipNeverMade", -32601)
                assert (other.verdict, other.reason) == (plain.verdict, plain.reason)
    finally:
        bench.dut.close()
    assert tried > 40
    return wrong


def _in_turn(number: int) -> Sequence[int]:
    return [list(_ENDS)[number % len(_ENDS)]]


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.standard.name)
def test_a_call_that_is_refused_accuses_nobody(book: Book) -> None:
    assert _accused(lambda: Bench(attached(book), book, 7, book.some), book, _in_turn, [False]) == []


@pytest.mark.nightly
@pytest.mark.parametrize("late", [False, True], ids=["at once", "a turn later"])
@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.standard.name)
def test_no_call_of_a_book_may_be_refused_to_the_devices_harm(book: Book, late: bool) -> None:
    some = 16 * book.some if book.agent or late else 10**6  # a case of calls makes many of them
    assert _accused(lambda: Bench(inside(book), book, 1, some), book, _in_turn, [late]) == []
