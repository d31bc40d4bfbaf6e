"""A case lists only what its checks bear out; a catalogue row is changed only with its reason."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from conformance import claims
from conformance.catalogue import DecidedBy, REQUIREMENTS, load_decided_by, load_on_every_frame, load_requirements
from conformance.fcvi.cases import all_cases
from conformance.gen_conformance import codec_requirements, monitor_requirements, not_tested, ways

from fcvi.fc import codec

from .bank.judge import judge
from .bank.table import bank
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


def test_a_claim_that_nothing_bears_out_is_found() -> None:
    case = next(c for c in all_cases() if c.id == "5.3.2")
    named = {case.id: claims.written_in(case)}
    codec, monitor = codec_requirements(set(KNOWN)), set(monitor_requirements())
    invented = replace(case, requirements=("FCVI-7.7.5-07",))
    assert claims.unnamed([invented], named, codec | monitor) == ["case 5.3.2 lists FCVI-7.7.5-07, which no check of it names"]
    assert claims.unnamed([replace(case, requirements=("FCVI-6.8.1-01",))], named, set()) == []


def test_a_run_names_what_no_code_has_as_a_word() -> None:
    cases = [c for c in all_cases() if c.id == "6.3"]
    run, written = claims.checked_in_a_run(cases)["6.3"], claims.written_in(cases[0])
    assert "FCVI-6.3.1-01" in run and "FCVI-6.3.2-02" in run  # made of a clause and a number
    assert "FCVI-6.2.1-01" in run & written


def test_what_decides_a_requirement_exists() -> None:
    devices = {entry.name for entry in bank()}
    for row in load_decided_by().values():
        assert {row.id, *row.by} <= set(KNOWN) and row.id not in row.by and row.by, row
        assert not row.device or row.device in devices, row


def test_every_shall_is_tested() -> None:
    cases = all_cases()
    known = load_requirements()
    assert [r.id for r in not_tested(ways(cases, claims.named_by_checks(cases), {r.id for r in known}), known)] == []


def test_what_the_codec_looks_at_in_every_frame_is_counted_where_no_case_lists_it() -> None:
    listed = {ident for case in all_cases() for ident in case.requirements}
    rows = {r.id for r in load_requirements() if r.testable and r.level == "shall"} & codec_requirements(set(KNOWN)) - listed
    table = load_on_every_frame()
    assert set(table) == rows
    assert {iu for ius in table.values() for iu in ius} <= set(codec.IUS)


ROWS = [row for row in load_decided_by().values() if row.device]


@pytest.mark.parametrize("row", ROWS[:: 1 if os.environ.get("FCVI_ALL_DEVICES") else 23], ids=lambda row: row.id)
def test_the_device_of_a_row_fails_by_a_check_of_it(row: DecidedBy) -> None:
    entry = next(e for e in bank() if e.name == row.device)
    assert row.id in entry.breaks and set(row.by) & set(judge(entry).named_instead)
