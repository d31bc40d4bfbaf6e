"""The register of errata: one number, one entry, and no number that means nothing."""

from __future__ import annotations

import re
from collections import Counter

from conformance.catalogue import ERRATA, load_errata
from conformance.fcvi.cases import all_cases

_ENTRY = re.compile(r"^(?:### |\| )(E\d+)\b", re.M)


def test_every_number_stands_once() -> None:
    found = Counter(_ENTRY.findall(ERRATA.read_text(encoding="utf-8")))
    assert len(found) > 100
    assert [number for number, times in found.items() if times > 1] == []


def test_the_catalogue_knows_every_entry() -> None:
    assert set(_ENTRY.findall(ERRATA.read_text(encoding="utf-8"))) == set(load_errata())


def test_every_number_that_a_case_names_is_in_the_register() -> None:
    known = load_errata()
    assert [(case.id, number) for case in all_cases() for number in case.errata if number not in known] == []


def test_what_the_register_refers_to_is_there() -> None:
    text = ERRATA.read_text(encoding="utf-8")
    assert sorted(set(re.findall(r"\bE\d{2,3}\b", text)) - set(load_errata())) == []
