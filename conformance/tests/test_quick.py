"""`./bootstrap quick`: what a name or a changed file leads to, and what it says that it did not run."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from fcvi.engine.files import FileError

from .quick import books, names, play
from .quick.__main__ import main
from .quick.plan import ROOT, Plan


def planned(word: str) -> Plan:
    plan = Plan()
    names.named(word, plan)
    return plan


@pytest.mark.parametrize("word, book", [
    ("5.3.4.c", "FC-VI"), ("5.3.2/dut-client", "FC-VI"), ("R1.5.3.4.a", "FC-VI Rev 1.0"), ("TCP.3.1.k", "VI/TCP"),
    ("VIPL.C7", "VIPL"), ("VERBS.12", "RDMA verbs"),
])  # fmt: skip
def test_a_case_is_played_on_the_device_of_its_book(word: str, book: str) -> None:
    assert list(planned(word).cases) == [(book, word.partition("/dut")[0])] and book in play.DEVICES


def test_a_case_of_fc_vi_brings_its_broken_devices() -> None:
    nodes = list(planned("C.5.9.1").tests)
    assert any("test_fault_is_caught_for_its_reason[" in node for node in nodes)
    assert any("test_without_the_fault_the_case_passes[C.5.9.1" in node for node in nodes)


@pytest.mark.parametrize("word, device", [
    ("TCP.3.1.f", "test_every_mistake_is_named_by_its_row[rx-high]"),
    ("VITCP-3.1-21", "test_every_mistake_is_named_by_its_row[rx-high]"),
    ("VIPL.X9", "test_a_fault_is_told_by_its_row[goes-on-behind-a-loss]"),
    ("VIPL-G2.4-01", "test_a_fault_is_told_by_its_row[goes-on-behind-a-loss]"),
    ("VERBS.4", "test_a_fault_is_told_by_its_row[resize-in-name-only-VERBS-5.3.3-01-VERBS.4/up]"),
    ("R1.6.5.a", "test_fault_is_caught_for_its_reason["),
])  # fmt: skip
def test_a_case_or_requirement_of_another_book_brings_its_broken_devices(word: str, device: str) -> None:
    assert [node for node in planned(word).tests if f"::{device}" in node]


def test_a_requirement_that_does_not_exist_is_a_line_of_the_case(monkeypatch: pytest.MonkeyPatch) -> None:
    of_vipl, case = next((book, case) for book, case in books.cases() if case.id == "VIPL.C7")
    wrong = replace(case, requirements=("VIPL-G3.5.1-99",))
    monkeypatch.setattr(books, "cases", lambda: iter([(of_vipl, wrong)]))
    with pytest.raises(FileError) as mistake:
        books.check(Plan(cases={("VIPL", "VIPL.C7"): None}))
    assert re.match(r"conformance/vipl/cases/\w+\.py:\d+: there is no requirement VIPL-G3\.5\.1-99", str(mistake.value))


@pytest.mark.parametrize("share", [100, pytest.param(1, marks=pytest.mark.nightly)])
def test_no_case_has_a_mistake_that_shows_when_its_file_is_read(share: int) -> None:
    books.check(Plan(cases={(book.name, case.id): None for book, case in list(books.cases())[::share]}))


def test_a_requirement_brings_the_cases_that_list_it_and_the_tests_that_name_it() -> None:
    plan = planned("FCVI-5.3.5-01")
    assert any(book == "FC-VI" for book, _ in plan.cases) and plan.tests


@pytest.mark.parametrize("word, tests, programs", [
    ("test_engine", "harness/tests/engine/test_engine.py", ""),
    ("harness/tests/engine/test_engine.py", "harness/tests/engine/test_engine.py", ""),
    ("test_a_pass_needs_a_positive_control", "harness/tests/engine/test_engine.py::test_a_pass_needs_a_positive_control", ""),
    ("fcvi.engine.blame", "harness/tests/engine/test_engine.py", ""),
    ("conformance.fcvi.cases.annex_a", "conformance/tests/test_faults.py", ""),
    ("conformance/fcvi/requirements.tsv", "conformance/tests/test_claims.py", ""),
    ("README.md", "harness/tests/commands/test_documents.py", ""),
    ("test_codec", "", "codec/tests/test_codec.c"),
    ("codec/src/core/version.h", "", "codec/tests/test_codec.c"),
    ("refimpl/src/fc2/class2.c", "", "refimpl/tests/fc2/test_class2.c"),
])  # fmt: skip
def test_a_name_leads_to_its_tests(word: str, tests: str, programs: str) -> None:
    plan = planned(word)
    assert not tests or any(node == tests or node.startswith(f"{tests}::") for node in plan.tests), list(plan.tests)
    assert not programs or programs in plan.programs


def test_the_test_that_bears_the_name_of_a_source_comes_first() -> None:
    assert next(iter(planned("refimpl/src/fc2/class2.c").programs)) == "refimpl/tests/fc2/test_class2.c"


def test_what_has_no_test_is_told_and_a_name_of_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned("Makefile").not_covered == ["Makefile: no quick test is known for it"]
    assert main(["Makefile"]) == 2 and "not here: Makefile" in capsys.readouterr().out
    assert main(["nothing-of-the-kind"]) == 2
    assert "name a case, a requirement, a module, a test or a file" in capsys.readouterr().err


def test_what_no_time_is_left_for_is_counted() -> None:
    plan, tally = planned("5.3.2"), play.Tally(time.monotonic() - 1)
    for part in (play.cases, play.programs, play.tests):
        part(plan, tally)
    assert not tally.passed and not tally.failed and len(tally.late) == 1 + len(plan.tests)


def test_what_differs_is_each_file_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"diff": ["README.md", "gone.py"], "ls-files": ["harness/new.py", "README.md"]}
    monkeypatch.setattr(names, "_git", lambda *words: said[words[0]])
    assert names.differing() == [ROOT / "README.md"] and Path(ROOT / "README.md").is_file()


@pytest.mark.parametrize("raised, words", [(ImportError("no such"), "ImportError: no such"), (KeyError("x"), "KeyError: 'x'")])
def test_a_mistake_in_a_case_is_one_line(
    raised: Exception, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(word: str, plan: Plan) -> None:
        raise raised

    monkeypatch.setattr(names, "named", broken)
    assert main(["5.3.2"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("quick: conformance/tests/test_quick.py:") and line.endswith(words)
