"""The cases of Rev 1.0: what they cover, which cases of 2007 are among them, and that no row that is void there is named."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

import pytest

import conformance
from conformance.fcvi.book import PROTOCOL as OF_2007
from conformance.rev1.book import NAME, PROTOCOL
from conformance.rev1.cases import all_cases
from conformance.proofs.books import BOOKS
from conformance.proofs.play import Player
from conformance.rev1.cases.of_2007 import CANNOT
from fcvi.engine.case import CaseInfo
from fcvi.engine.catalogue import load_errata, load_not_tested, load_requirements, not_held, sha256
from fcvi.engine.pixit import Given, Pixit, pixit_for
from fcvi.engine.protocol import judging_by

conformance.register_all()
OWN = [c for c in all_cases() if c.id.startswith("R1.")]
TAKEN = [c for c in all_cases() if not c.id.startswith("R1.")]
REQUIREMENTS = {r.id: r for r in load_requirements([PROTOCOL])}


@pytest.fixture(autouse=True, scope="module")
def book() -> Iterator[None]:
    """Rev 1.0 judges in these tests."""
    with judging_by(PROTOCOL):
        yield


def test_every_testable_row_of_the_draft_has_a_case_or_a_reason() -> None:
    rows = [r for r in REQUIREMENTS.values() if r.id.startswith("REV1-")]
    listed = {ident for c in OWN for ident in c.requirements}
    assert len(rows) >= 113 and sum(r.testable for r in rows) == len(rows) - 1
    reasons = load_not_tested([PROTOCOL])
    assert [r.id for r in rows if r.testable and r.id not in listed and r.id not in reasons] == []
    assert [r.id for r in rows if not r.testable and r.id in listed] == []


def test_the_cases_are_its_own_and_those_of_2007_that_hold() -> None:
    gone = not_held(PROTOCOL)
    holding = [c.id for c in OF_2007.cases() if c.requirements and not gone & set(c.requirements)]
    assert len(OWN) >= 26 and len({c.id for c in all_cases()}) == len(all_cases())
    assert [c.id for c in TAKEN] == [ident for ident in holding if ident not in CANNOT] and len(TAKEN) >= 16
    assert all(c.protocol == NAME for c in all_cases())


def test_nothing_that_is_void_is_in_the_catalogue_or_named_by_a_case() -> None:
    gone, errata = not_held(PROTOCOL), load_errata([PROTOCOL])
    assert not gone & set(REQUIREMENTS) and len(REQUIREMENTS) >= 113 + 229
    assert [ident for c in all_cases() for ident in c.requirements if ident not in REQUIREMENTS] == []
    assert [number for c in all_cases() for number in c.errata if number not in errata] == []
    assert sha256([PROTOCOL]) != sha256([OF_2007])


def test_no_setup_has_a_frame_that_is_too_small_for_its_ius() -> None:
    assert [c.variant_id(v) for c in all_cases() for v in c.variants if int(v.config.get("receive_size", 2112)) < 348] == []


@pytest.mark.parametrize("case", OWN[::8], ids=lambda c: c.id)
def test_no_check_names_a_row_that_is_void(case: CaseInfo) -> None:
    assert not Player(BOOKS["rev1"]).checked(case) & not_held(PROTOCOL)


def test_every_erratum_of_the_draft_is_shown_by_a_case_or_is_one_of_the_text() -> None:
    shown = {number for c in OWN for number in c.errata}
    text = (Path(PROTOCOL.folder) / "errata.md").read_text(encoding="utf-8")
    of_text = {m[1] for m in re.finditer(r"^\| (R\d+) \| D \|", text, re.M)}
    assert {n for n in load_errata([PROTOCOL]) if n.startswith("R")} - shown - of_text == set()


def test_the_timeout_of_the_device_is_kept_in_the_evidence() -> None:
    pixit = pixit_for("virtual", given=Given(ulp_timeout_us=3_000_000))
    assert Pixit.from_json(pixit.as_json()) == pixit
    assert "ulp_timeout_us" not in pixit_for("virtual").as_json()
