"""The cases and requirements of all books, and the broken devices that belong to them."""

from __future__ import annotations

import ast
import functools
import importlib
import re
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Iterator

from fcvi.engine import own_check
from fcvi.engine.blame import code_of
from fcvi.engine.case import CaseInfo
from fcvi.engine.catalogue import load_requirements
from fcvi.engine.protocol import Protocol
from fcvi.engine.words import near

from .plan import ROOT, Plan

_FAULTS = "conformance/tests/test_faults.py"
_REV1 = "conformance/tests/test_rev1_faults.py::test_fault_is_caught_for_its_reason"
_VITCP = "harness/tests/independent/test_independent_vitcp.py::test_every_mistake_is_named_by_its_row"
_VIPL = "harness/tests/independent/test_independent_vipl.py::test_a_fault_is_told_by_its_row"
_VERBS = "conformance/tests/test_verbs_book.py::test_a_fault_is_told_by_its_row"
#: By the folder of a book.
_CATALOGUES = {
    "fcvi": ["conformance/tests/test_claims.py", "conformance/tests/test_editions.py", "conformance/tests/test_register.py",
             "conformance/tests/test_bank.py::test_names_are_unique_and_requirements_exist",
             "conformance/tests/test_bank.py::test_every_requirement_has_a_device_or_a_reason",
             "conformance/tests/test_faults.py::test_every_case_has_a_broken_device",
             "conformance/tests/test_faults.py::test_fault_names_are_requirements"],
    "rev1": ["conformance/tests/test_rev1_cases.py", "conformance/tests/test_editions.py"],
    "vitcp": ["conformance/tests/test_register.py", "conformance/tests/test_conformance_pages.py"],
    "vipl": ["conformance/tests/test_vipl_book.py",
             "harness/tests/vipl/test_vipl_book.py::test_the_differences_from_the_first_catalogue_are_the_changes_with_a_reason"],
    "verbs": ["conformance/tests/test_verbs_book.py"],
}  # fmt: skip
#: How the books of calls name a requirement, without the prefix that they have in common.
_SHORT_ID = re.compile(r"[A-Z]?\d+(\.\d+)+-\w?\d+")


@functools.cache
def books() -> tuple[Protocol, ...]:
    """Every book of this tree, FC-VI first."""
    names = sorted((path.parent.name for path in ROOT.glob("conformance/*/book.py")), key=lambda name: (name != "fcvi", name))
    return tuple(importlib.import_module(f"conformance.{name}.book").PROTOCOL for name in names)


def cases() -> Iterator[tuple[Protocol, CaseInfo]]:
    """Each case with the book that has it of its own."""
    for book in books():
        for case in book.cases():
            if book.base is None or case.id not in {c.id for c in book.base.cases()}:
                yield book, case


def called(word: str) -> list[tuple[str, CaseInfo]]:
    """The cases of this id, of this variant, or that a glob fits."""
    return [(book.name, case) for book, case in cases()
            if case.id == word or word in case.variant_ids() or ("*" in word and fnmatch(case.id, word))]  # fmt: skip


def declared_in(path: Path) -> list[tuple[str, CaseInfo]]:
    """The cases whose functions stand in a file."""
    return [(book.name, case) for book, case in cases() if getattr(case.body, "__module__", "") == _module(path)]


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def is_requirement(word: str) -> bool:
    """Whether a catalogue has it."""
    return any(word == r.id for r in load_requirements(books()))


def listing(requirement: str) -> list[tuple[str, CaseInfo]]:
    """The cases that list it."""
    return [(book.name, case) for book, case in cases() if requirement in case.requirements]


def places(plan: Plan) -> list[tuple[str, str]]:
    """The planned cases, and file and line of each."""
    planned = [case for book, case in cases() if (book.name, case.id) in plan.cases]
    return [(case.id, f"{Path(code.co_filename).relative_to(ROOT)}:{code.co_firstlineno}")
            for case in planned if (code := code_of(case))]  # fmt: skip


def check(plan: Plan) -> None:
    """Look through the files of the cases as through those of a case of one's own. Raises FileError for the first mistake."""
    files: dict[tuple[str, ModuleType], list[CaseInfo]] = {}
    for book, case in cases():
        if (book.name, case.id) in plan.cases:
            files.setdefault((book.prefix, sys.modules[case.body.__module__]), []).append(case)
    for (prefix, module), declared in files.items():
        path = Path(str(module.__file__))
        text = path.read_bytes()
        own_check.check(path.relative_to(ROOT), text, module, declared)
        named = [(n.lineno, prefix + n.value) for n in ast.walk(ast.parse(text))
                 if isinstance(n, ast.Constant) and isinstance(n.value, str) and _SHORT_ID.fullmatch(n.value)]  # fmt: skip
        listed = [(code.co_firstlineno, row) for case in declared if (code := code_of(case)) for row in case.requirements]
        for line, row in named + listed:
            if not is_requirement(row):
                known = [r.id for r in load_requirements(books())]
                raise own_check.mistake(path.relative_to(ROOT), line, f"there is no requirement {row}{near(row, known)}")


def devices(found: list[tuple[str, CaseInfo]], requirement: str = "") -> list[str]:
    """The tests of the broken devices of these cases, or of one requirement: each fails by its row."""
    from conformance.tests import rev1_faults, test_faults, test_verbs_book
    from harness.tests.independent.provider.faults import FAULTS as VIPL
    from harness.tests.independent.vitcp.faults import BEHAVIOUR, WIRE, listing

    ids = {(book, case.id) for book, case in found}
    variants = [(book, name) for book, case in found for name in case.variant_ids()]
    rows = {row for book, case in found for row in case.requirements}

    def shows(book: str, globs: str) -> bool:
        return any(book == of and fnmatch(name, glob) for of, name in variants for glob in globs.split(","))

    fcvi = [f for f in test_faults.FAULTS if f.requirement == requirement or ("FC-VI", test_faults.VARIANTS[f.case][0].id) in ids]
    nodes = [f"{_FAULTS}::test_fault_is_caught_for_its_reason[{f.name}]" for f in fcvi]
    nodes += [f"{_FAULTS}::test_without_the_fault_the_case_passes[{case}]" for case in sorted({f.case for f in fcvi})]
    rev1 = [f for f in rev1_faults.FAULTS if f.requirement == requirement or shows("FC-VI Rev 1.0", f.case)]
    nodes += [f"{_REV1}[{f.name}]" for f in rev1]
    first = {name: listing()[name][0].split()[0] for name in {**WIRE, **BEHAVIOUR}}
    nodes += [f"{_VITCP}[{name}]" for name, row in sorted(first.items()) if row in ({requirement} if requirement else rows)]
    nodes += [f"{_VIPL}[{name}]" for name, f in VIPL.items() if f"VIPL-{f.row}" == requirement or shows("VIPL", f.cases)]
    nodes += [f"{_VERBS}[{'-'.join(f)}]" for f in test_verbs_book.FAULTS if f[1] == requirement or shows("RDMA verbs", f[2])]
    return nodes


def tests_of(table: Path) -> list[str]:
    """The tests of the catalogue of the book whose folder a table is in."""
    return _CATALOGUES.get(table.parent.name, _CATALOGUES["fcvi"])
