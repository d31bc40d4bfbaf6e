"""The book of RDMA verbs hangs together: every testable row has a planned case, and who asks for the book gets it."""

from __future__ import annotations

import re

import pytest

from conformance import asked_for
from conformance.verbs.book import PROTOCOL
from fcvi.engine.catalogue import load_errata, load_requirements, rows

_BOOK = (PROTOCOL,)
_PLANNED = rows(PROTOCOL.folder / "planned_cases.tsv")


def test_every_testable_row_has_a_planned_case_and_every_other_a_reason() -> None:
    found = {row.id: row for row in load_requirements(_BOOK)}
    planned = {f"VERBS-{name}" for case in _PLANNED for name in _spread(case["requirements"])}
    testable = {row.id for row in found.values() if row.testable}
    assert (len(found), len(testable), planned) == (527, 445, testable)
    assert [row.id for row in found.values() if not row.testable and not row.observable.startswith("n/a: ")] == []


def test_the_plan_has_its_cases_each_once_in_order() -> None:
    assert [case["case"] for case in _PLANNED] == [f"VERBS.{number}" for number in range(1, 96)]


def test_every_erratum_that_a_row_cites_is_there_once() -> None:
    text = (PROTOCOL.folder / "errata.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### (B\d\d) \[[DSM]\] ", text, re.M)
    known = load_errata(_BOOK)
    assert sorted(headings) == list(known) == [f"B{number:02d}" for number in range(1, 74)]
    cited = {name for row in load_requirements(_BOOK) for name in re.findall(r"\bB\d\d\b", row.observable)}
    assert cited - set(known) == set()
    assert [number for number, erratum in known.items() if not erratum.title or "Reading used: " not in erratum.body] == []


@pytest.mark.parametrize(
    "words, wanted",
    [
        (("show", "VERBS-6.2.1-01"), True),
        (("show", "B10", "--json"), True),
        (("show", "E10"), False),
        (("run", "--dut", "verbs"), True),
        (("list", "--select", "VERBS.1"), True),
        (("run", "--dut", "api"), False),
        (("run", "B10"), False),
        ((), False),
    ],
)
def test_who_asks_for_the_book_gets_it(words: tuple[str, ...], wanted: bool) -> None:
    assert ("verbs" in asked_for(words)) == wanted


def _spread(words: str) -> list[str]:
    """The names in a list such as ``5.2-01..03 5.3-02``; a dash alone is none."""
    found = []
    for word in words.split() if words != "-" else ():
        first, _, last = word.partition("..")
        clause, _, number = first.rpartition("-")
        found += [f"{clause}-{n:02d}" for n in range(int(number), int(last or number) + 1)]
    return found
