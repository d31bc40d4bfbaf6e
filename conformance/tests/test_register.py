"""The register of errata: one number, one entry, and no number that means nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import pytest

from conformance.catalogue import ERRATA, load_errata
from conformance.fcvi.book import PROTOCOL
from conformance.fcvi.cases import all_cases
from fcvi.engine.catalogue import Erratum
from fcvi.engine.errata import by_clause, clause_of, parts_of, severity_of

_ENTRY = re.compile(r"^(?:### |\| )(E\d+)\b", re.M)


def test_every_number_stands_once() -> None:
    found = Counter(_ENTRY.findall(ERRATA.read_text(encoding="utf-8")))
    assert len(found) > 100
    assert [number for number, times in found.items() if times > 1] == []


def test_the_catalogue_knows_every_entry() -> None:
    assert set(_ENTRY.findall(ERRATA.read_text(encoding="utf-8"))) == set(load_errata([PROTOCOL]))


def test_every_number_that_a_case_names_is_in_the_register() -> None:
    known = load_errata()
    assert [(case.id, number) for case in all_cases() for number in case.errata if number not in known] == []


def test_what_the_register_refers_to_is_there() -> None:
    text = ERRATA.read_text(encoding="utf-8")
    assert sorted(set(re.findall(r"\bE\d{2,3}\b", text)) - set(load_errata())) == []


@pytest.mark.parametrize("erratum", load_errata().values(), ids=lambda e: e.number)
def test_every_entry_says_where_what_and_what_follows(erratum: Erratum) -> None:
    """Send, receive, verdict, text and what shows it; a document erratum, on which no verdict depends, has place and text."""
    parts = parts_of(erratum)
    assert parts.get("where") and parts.get("text")
    if severity_of(erratum) == "D":
        return
    assert parts.get("verdict") or parts.get("send")
    cases = [case.id for case in all_cases() if erratum.number in case.errata]
    assert cases or parts.get("shown by"), "neither a case nor a word of the entry shows it"


def test_the_register_is_printed_by_clause() -> None:
    command = [sys.executable, "-m", "conformance", "show"]
    done = subprocess.run([*command, "--errata"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0
    numbers = re.findall(r"^  (E\d+) ", done.stdout, re.M)
    assert sorted(numbers) == sorted(load_errata()) and len(set(numbers)) == len(numbers)
    headings = [line for line in done.stdout.splitlines() if line and not line.startswith(" ")]
    places = [headings.index(clause) for clause in ("5.9.2", "5.9.10", "8.5.4", "A.5", "F")]
    assert places == sorted(places)
    for wrong in ([], ["E03", "--errata"]):
        assert subprocess.run([*command, *wrong], capture_output=True, check=False, timeout=60).returncode == 2


def test_the_parts_of_an_entry() -> None:
    entry = Erratum("E900", "[W] A", "- Where: VI-DG 3.3.2; Table 2, 8.1.\n- Says: one. Two - three.\n"
                    "- Send: a. - Receive: b.\n- Suite: c.")  # fmt: skip
    assert parts_of(entry) == {"where": "VI-DG 3.3.2; Table 2, 8.1.", "text": "one. Two - three.", "send": "a.", "receive": "b.",
                               "verdict": "c."}  # fmt: skip
    assert clause_of(entry) == "5.3.4" and severity_of(entry) == "W"
    table = Erratum("E901", "slip", "Where: 3.4\nReading used: none")
    assert parts_of(table) == {"where": "3.4", "text": "slip", "verdict": "none"} and severity_of(table) == "D"
    assert by_clause([entry, table]) == [table, entry]
