"""The index and the pages of the books say how each row stands, from results alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance import gen_book, gen_index, register_all, standing
from conformance.gen_conformance import ROOT, TARGET, books
from fcvi.engine import catalogue
from fcvi.engine.catalogue import DecidedBy, Requirement, load_decided_by, load_requirements
from fcvi.engine.protocol import protocol_of

register_all()
FC_VI = protocol_of("FC-VI")
_ROW = Requirement("FCVI-1-01", "1.1 a)", "shall", "port", "A statement with a | in it.", "behaviour", "See it.", "always")
_HEAD = "step\tprimitive\tsubject\trequirement\tverdict\tvariant\tdevice\tnamed\n"


def _proof(device: str, named: str) -> str:
    """A row of proofs.tsv for FCVI-1-01."""
    return "\t".join(("a", "require", "", "FCVI-1-01", "named", "v", device, named)) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a book without tables."""
    return tmp_path


def stands(folder: Path, row: Requirement, looked: tuple[str, ...] = ()) -> standing.Standing:
    return standing.standings(replace(FC_VI, folder=folder), [row], standing.Known({row.id: looked}))[row.id]


def test_a_check_alone_is_no_test(folder: Path) -> None:
    assert stands(folder, _ROW) == standing.Standing(standing.OPEN, reason=standing.NOTHING)
    assert stands(folder, _ROW, ("check of 1.1",)).reason == standing.UNPROVED
    assert stands(folder, replace(_ROW, level="should"), ("check of 1.1",)).reason == standing.OTHER_LEVEL
    untestable = replace(_ROW, kind="untestable", observable="n/a: it is inside")
    assert stands(folder, untestable) == standing.Standing(standing.UNTESTABLE, reason="it is inside")


def test_a_device_proves_only_the_row_that_a_case_named(folder: Path) -> None:
    table = folder / "proofs.tsv"
    table.write_text(_HEAD + _proof("lost", "FCVI-9-01"), encoding="utf-8")
    assert stands(folder, _ROW).kind == standing.OPEN
    catalogue.rows.cache_clear()
    table.write_text(_HEAD + _proof("lost", "FCVI-9-01 FCVI-1-01"), encoding="utf-8")
    assert stands(folder, _ROW) == standing.Standing(standing.PROVED, ("lost",))


def test_what_nothing_can_test_has_a_reason_of_its_own(folder: Path) -> None:
    (folder / "not_tested.tsv").write_text("requirement\treason\nFCVI-1-01\tBoth are right.\n", encoding="utf-8")
    found = stands(folder, _ROW)
    assert (found.kind, found.reason) == (standing.OPEN, standing.EXPLAINED)
    assert gen_book.stands(found) == "**not tested**: Both are right."


def test_what_a_device_of_the_bank_declares_proves_nothing() -> None:
    """A device names the rows that it was made to break; only the case that names one proves it."""
    protocol = FC_VI
    named = {ident for device in catalogue.rows(protocol.folder / "proofs.tsv") for ident in device["named"].split()}
    rows = load_requirements([protocol])
    found = standing.standings(protocol, rows, standing.Known({}))
    assert [r.id for r in rows if found[r.id].kind == standing.PROVED and r.id not in named] == []
    decided = {found[ident].kind for ident in load_decided_by([protocol]) if ident not in named}
    assert decided == {standing.DECIDED, standing.OPEN}


def test_another_check_decides_only_with_its_device(folder: Path) -> None:
    (folder / "decided_by.tsv").write_text("requirement\tby\tdevice\nFCVI-1-01\tFCVI-2-01\t\n", encoding="utf-8")
    assert stands(folder, _ROW, ("decided",)).kind == standing.OPEN
    decided = DecidedBy("FCVI-1-01", ("FCVI-2-01",), "swapped")
    assert standing._standing(_ROW, standing.Known({}), (), decided) == standing.Standing("decided", ("FCVI-2-01", "swapped"))


def test_a_book_has_each_row_and_its_clause(folder: Path) -> None:
    rows = (_proof(name, "FCVI-1-01") for name in "abcd")
    (folder / "proofs.tsv").write_text(_HEAD + "".join(rows), encoding="utf-8")
    book = gen_book.Book(replace(FC_VI, folder=folder), [_ROW], [], standing.Known({}), "")
    lines = gen_book.render(book).splitlines()
    assert "| [1.1](#clause-11) | 1 | 1 | 1 | 0 | 0 |  |" in lines
    assert "| FCVI-1-01 | shall | A statement with a \\| in it. |  | proved by a, b, c and 1 more |" in lines


def test_the_index_is_one_page_and_has_the_five_books() -> None:
    every = books()
    text = gen_index.render(every)
    assert len(text.splitlines()) <= 150 and max(map(len, text.splitlines())) < 250
    assert [book.protocol.book for book in every] == ["fcvi", "rev1", "vitcp", "vipl", "verbs"]
    for book in every:
        page = book.protocol.folder / TARGET.name
        assert f"[its page]({page.relative_to(ROOT)})" in text and page.is_file()
        for row in book.requirements:
            assert f"| {row.id} |" in page.read_text(encoding="utf-8"), row.id
