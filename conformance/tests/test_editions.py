"""Tests what is said of the edition of 1999: its tables are whole, agree with each other and are printed."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.catalogue import load_errata
from conformance.fcvi.book import PROTOCOL
from conformance.rev1.book import PROTOCOL as REV1
from fcvi.cli import main
from fcvi.engine.catalogue import load_requirements, not_held
from fcvi.engine.editions import STATUSES, held, requirements_of, topics_of

ROOT = Path(__file__).parents[2]
(EDITION,) = PROTOCOL.others
NEW = requirements_of(EDITION)
HELD = {row.requirement: row for row in held(EDITION)}


def test_a_requirement_of_2007_stands_at_most_once_and_in_order() -> None:
    """A row that is left out does not hold: nobody is judged by a sentence of 2007 that nobody sought in the draft."""
    assert [row.requirement for row in held(EDITION)] == [r.id for r in load_requirements([PROTOCOL]) if r.id in HELD]
    assert len(held(EDITION)) == len(HELD) >= 1008


def test_a_requirement_of_2007_that_holds_tsv_leaves_out_does_not_hold(tmp_path: Path) -> None:
    for name in ("requirements.tsv", "errata.md"):
        (tmp_path / name).write_bytes((EDITION.folder / name).read_bytes())
    lines = (EDITION.folder / "holds.tsv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "holds.tsv").write_text("".join(f"{line}\n" for line in lines if not line.startswith("FCVI-3.4-01\t")))
    short = replace(REV1, folder=tmp_path)
    assert not_held(short) - not_held(REV1) == {"FCVI-3.4-01"} and not_held(REV1) <= not_held(short)
    assert "FCVI-3.4-01" not in {r.id for r in load_requirements([short])}


def test_what_replaces_exists_and_only_what_is_replaced_names_it() -> None:
    topics = {t.topic for t in topics_of(EDITION)}
    for row in HELD.values():
        assert row.status in STATUSES
        assert bool(row.by) == (row.status == "replaced"), row
        assert set(row.by) <= set(NEW), row
        assert (row.topic in topics) == (row.status != "holds"), row


def test_every_row_of_the_draft_has_one_topic_and_every_topic_says_something() -> None:
    topics = topics_of(EDITION)
    assert Counter(ident for t in topics for ident in t.rows) == Counter(NEW.keys())
    for topic in topics:
        assert topic.title and topic.matters.endswith(".")
        assert topic.rows or any(row.topic == topic.topic for row in HELD.values())


def test_the_book_has_113_rows_of_which_112_can_be_tested() -> None:
    assert (len(NEW), sum(r.testable for r in NEW.values())) == (113, 112)
    assert all(ident.startswith("REV1-") and ident == r.id for ident, r in NEW.items())


def test_every_erratum_that_is_referred_to_is_there() -> None:
    text = (EDITION.folder / "errata.md").read_text(encoding="utf-8") + "".join(r.observable + r.statement for r in NEW.values())
    known = [number for number in load_errata([REV1]) if number.startswith(REV1.erratum)]
    assert len(known) == len(re.findall(r"^\| R\d+ ", text, re.M)) >= 20
    assert sorted(set(re.findall(r"\bR\d{2}\b", text)) - set(known)) == []
    assert sorted(set(re.findall(r"\bE\d{2,3}\b", text)) - set(load_errata())) == []


# Table 1 of the draft beside Table 1 of 2007, and what differs in the text of each clause: known without the tables above.
@pytest.mark.parametrize(
    "ident, status, by",
    [
        ("FCVI-T01-WRITE_RQST-enc", "holds", ()),
        ("FCVI-T01-SEND_RESP-enc", "holds", ()),
        ("FCVI-T01-SEND_RQST-enc", "replaced", ("REV1-5.1-05",)),
        ("FCVI-T01-CONNECT_RESP3-enc", "replaced", ("REV1-5.1-09",)),
        ("FCVI-5.9.6-03", "replaced", ("REV1-5.7.5-01",)),
        ("FCVI-T12-04h", "replaced", ("REV1-5.7.6-04",)),
        ("FCVI-5.9.10-03", "void", ()),
        ("FCVI-8.5.4-01", "void", ()),
        ("FCVI-7.5-01", "holds", ()),
        ("FCVI-T06-3", "holds", ()),
    ],
)
def test_rows_that_a_reader_of_both_documents_knows(ident: str, status: str, by: tuple[str, ...]) -> None:
    assert (HELD[ident].status, HELD[ident].by) == (status, by)


def _printed(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert main(["show", *words]) == status
    printed = capsys.readouterr()
    return printed.out if status == 0 else printed.err


def test_the_differences_are_printed_from_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    listed = _printed(capsys, "--diff", "rev1", "2007")
    assert all(f"  {t.topic} " in listed for t in topics_of(EDITION))
    counts = Counter(row.status for row in HELD.values())
    assert all(str(counts[status]) in listed for status in STATUSES)

    opcode = _printed(capsys, "--diff", "rev1", "2007", "FCVI-6.13.2-04")
    assert "1Ah is the answer to a Disconnect in Rev 1.0" in opcode.replace("\n  ", " ")
    assert opcode.index("REV1-5.1-08: ") < opcode.index("FCVI-6.13.2-04 (replaced by REV1-5.1-08): ")
    turned = _printed(capsys, "--diff", "2007", "rev1", "FCVI-6.13.2-04")
    assert turned.index("FCVI-6.13.2-04 (") < turned.index("REV1-5.1-08: ")

    assert "nothing differs" in _printed(capsys, "--diff", "rev1", "2007", "FCVI-4.2-01")
    unit = _printed(capsys, "--diff", "rev1", "2007", "FCVI_CONNECT_RESP2")
    assert "REV1-6.9-01" in unit and "FCVI-6.10.2-09 (has no counterpart)" in unit and "FCVI-6.9" not in unit


def test_every_topic_and_every_row_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for topic in topics_of(EDITION):
        printed = _printed(capsys, "--diff", "rev1", "2007", topic.topic)
        wanted = [row.requirement for row in HELD.values() if row.topic == topic.topic]
        assert [ident for ident in (*wanted, *topic.rows) if ident not in printed] == []


@pytest.mark.parametrize(
    "words, said",
    [
        (("--diff", "rev1", "1999"), "no such pair of editions; known is: rev1 2007"),
        (("--diff", "2007", "2007"), "no such pair of editions"),
        (("--diff", "rev1", "2007", "nothing"), "no such topic, requirement or IU"),
        (("--diff", "rev1", "2007", "--errata"), "show takes one of"),
    ],
)
def test_wrong_words_end_with_2(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    assert said in _printed(capsys, *words, status=2)


def test_a_row_and_an_erratum_of_the_draft_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert "1Bh does not exist" in _printed(capsys, "REV1-5.1-08")
    assert "06h is missing" in _printed(capsys, "R05")


#: Where codec and monitor say what a frame of 1999 breaks.
OF_1999 = (
    "codec/src/fc/check_rev1.c", "codec/include/fcvi/iu_rev1.h", "codec/include/fcvi/fields_rev1.def",
    *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "conformance/monitor/src/rev1").glob("*.c"))),
)  # fmt: skip


def test_what_is_judged_by_is_a_row_that_holds() -> None:
    """No frame of 1999 is accused by a row of 2007 that does not hold there, nor under an erratum that the draft does not have."""
    text = "".join((ROOT / name).read_text() for name in OF_1999)
    text += re.split("FCVI_REV1_F_CTL_TABLE", (ROOT / "codec/src/fc/f_ctl.h").read_text())[1]
    of_2007 = set(re.findall(r'"(FCVI-[^"]+)"', text))
    of_1999 = set(re.findall(r'"(REV1-[^"]+)"', text + (ROOT / "codec/src/fc/check_header.c").read_text()))
    assert {ident for ident in of_2007 if HELD[ident].status != "holds"} == set()
    assert of_1999 <= set(requirements_of(EDITION)) and len(of_1999) >= 60
    register = (ROOT / "conformance/rev1/errata.md").read_text()
    assert [name for name in sorted(set(re.findall(r'"(R\d\d)"', text))) if f"| {name} |" not in register] == []
