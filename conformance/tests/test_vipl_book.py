"""The VIPL book hangs together: every testable row has a case, every other row a reason, and every id is known."""

from __future__ import annotations

import csv
import re
from pathlib import Path


from conformance.proofs.table import load
from conformance.vipl.book import PROTOCOL
from conformance.vipl.cases import all_cases
from fcvi.engine.catalogue import load_not_tested

_TABLE = Path(PROTOCOL.folder) / "requirements.tsv"


def _rows() -> dict[str, dict[str, str]]:
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file, delimiter="\t")}


def test_every_testable_row_has_a_case_and_every_other_a_reason() -> None:
    rows, claimed = _rows(), {row for case in all_cases() for row in case.requirements}
    not_tested = load_not_tested([PROTOCOL])
    assert len(rows) >= 448 and claimed <= set(rows)
    assert [row for row in claimed & set(not_tested) if not re.search(r"\(A\d", not_tested[row])] == []
    assert {proof.requirement for proof in load("vipl") if proof.device} & set(not_tested) == set()
    open_rows = {ident: row for ident, row in rows.items() if ident not in claimed | set(not_tested)}
    assert [i for i, row in open_rows.items() if row["kind"] != "untestable" or not row["observable"].startswith("n/a: ")] == []


def test_the_book_has_its_cases_each_once() -> None:
    names = [case.id for case in all_cases()]
    assert len(names) == len(set(names)) >= 151
