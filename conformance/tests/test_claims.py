"""A case lists only what its checks bear out; a catalogue row is changed only with its reason."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Sequence

import pytest

from conformance.catalogue import REQUIREMENTS, load_on_every_frame, load_requirements
from conformance.fcvi.cases import all_cases
from conformance.gen_conformance import books, codec_requirements
from conformance.proofs.books import BOOKS
from conformance.proofs.claims import decides, rows_with_a_device, unnamed
from conformance.proofs.play import Player
from conformance.standing import OPEN

from fcvi.engine.catalogue import load_decided_by, load_not_tested, proved_by
from fcvi.fc import codec

from .first_written import unexplained

KNOWN = {r.id: r for r in load_requirements()}
#: The catalogue as it was first written, before the changes that requirements_changed.tsv gives reasons for.
FIRST_WRITTEN = "2cf69d48b911590f23f81dd41fc4961984789ec7433abb31e677a8152eee1262"


def test_the_differences_from_the_first_catalogue_are_the_changes_with_a_reason() -> None:
    assert unexplained(REQUIREMENTS.parent, FIRST_WRITTEN) == ""


def test_an_added_row_and_a_changed_one_need_their_reason(tmp_path: Path) -> None:
    """A new row, a new statement and a reason too many are found; with their lines they are not."""
    was, changed = (path.read_text(encoding="utf-8") for path in (REQUIREMENTS, REQUIREMENTS.with_name("requirements_changed.tsv")))
    book, reasons = tmp_path / REQUIREMENTS.name, tmp_path / "requirements_changed.tsv"
    new = "FCVI-4.1-99\t4.1\tshall\tport\tA new one.\tcapability\tSee it\t\n"

    def judged(rows: str, lines: str) -> str:
        book.write_text(rows, encoding="utf-8")
        reasons.write_text(lines, encoding="utf-8")
        return unexplained(tmp_path, FIRST_WRITTEN)

    assert judged(was, changed) == ""
    assert "added or changed without its reason" in judged(was + new, changed)
    assert judged(was + new, changed + "FCVI-4.1-99\t\t\tThe sentence had no row.\n") == ""
    assert "added or changed" in judged(was.replace("FCVI-3.4-01\t", "FCVI-3.4-91\t", 1), changed)
    with pytest.raises(AssertionError, match="has no reason"):
        judged(was + new, changed + "FCVI-4.1-99\t\t\t\n")
    with pytest.raises(AssertionError, match="ids never go"):
        judged(was, changed + "FCVI-4.1-99\t\t\tIt is gone.\n")


def _some(every: Sequence[Any], name: Callable[[Any], str], one_in: int) -> list[Any]:
    """One of so many, by their names, and the first where none is drawn."""
    return [one for one in every if hashlib.sha256(name(one).encode()).digest()[0] % one_in == 0] or list(every[:1])


@pytest.mark.parametrize("one_in", [32, pytest.param(1, marks=pytest.mark.nightly)], ids=["some", "all"])
@pytest.mark.parametrize("book", BOOKS)
def test_a_case_lists_only_what_results_bear_out(book: str, one_in: int) -> None:
    cases = _some(BOOKS[book].cases(), lambda case: str(case.id), one_in)
    assert unnamed(Player(BOOKS[book]), cases) == []


@pytest.mark.parametrize("book,row", [("fcvi", "FCVI-9.9-99"), ("vipl", "VIPL-G9.9.9-99")])
def test_a_claim_that_nothing_bears_out_is_found(book: str, row: str) -> None:
    player = Player(BOOKS[book])
    player.levels = {**player.levels, row: "shall"}
    case = min(BOOKS[book].cases(), key=lambda one: len(one.variants))
    assert unnamed(player, [replace(case, requirements=(*case.requirements, row))]) == [
        f"case {case.id} lists {row}, which no check of it names"
    ]


@pytest.mark.parametrize("book", [name for name in BOOKS if rows_with_a_device(BOOKS[name].protocol)])
def test_what_decides_a_row_exists(book: str) -> None:
    protocol = BOOKS[book].protocol
    known = {r.id for r in load_requirements([protocol])}
    for row in load_decided_by([protocol]).values():
        assert {row.id, *row.by} <= known and row.id not in row.by and row.by, row


@pytest.mark.parametrize("one_in", [24, pytest.param(1, marks=pytest.mark.nightly)], ids=["some", "all"])
@pytest.mark.parametrize("book", [name for name in BOOKS if rows_with_a_device(BOOKS[name].protocol)])
def test_the_device_of_a_decided_row_fails_by_the_check_that_decides(book: str, one_in: int) -> None:
    player, rows = Player(BOOKS[book]), rows_with_a_device(BOOKS[book].protocol)
    chosen = _some(rows, lambda row: str(row.id), one_in)
    assert [row for row in chosen if decides(player, row) is None] == []


@pytest.mark.parametrize("book", BOOKS)
def test_what_is_proved_has_no_reason_for_being_untested(book: str) -> None:
    protocol = BOOKS[book].protocol
    assert not load_not_tested([protocol]).keys() & (proved_by([protocol]).keys() | {r.id for r in rows_with_a_device(protocol)})


def test_every_shall_is_proved_or_decided_or_has_its_reason() -> None:
    for book in books():
        found = book.standings()
        rows = [r.id for r in book.requirements if r.level == "shall"]
        bare = [ident for ident in rows if found[ident].kind == OPEN and not found[ident].words]
        command = f"python3 -m conformance.proofs --book {book.protocol.book} --lacking --write"
        assert bare == [], f"no proof names these; {command} looks for one"


def test_what_the_codec_looks_at_in_every_frame_is_counted_where_no_case_lists_it() -> None:
    listed = {ident for case in all_cases() for ident in case.requirements}
    rows = {r.id for r in load_requirements() if r.testable and r.level == "shall"} & codec_requirements(set(KNOWN)) - listed
    table = load_on_every_frame()
    assert set(table) == rows
    assert {iu for ius in table.values() for iu in ius} <= set(codec.IUS)
