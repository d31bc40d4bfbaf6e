"""The cases and requirements of all books, and the broken devices of FC-VI that belong to them."""

from __future__ import annotations

import functools
import importlib
from fnmatch import fnmatch
from pathlib import Path
from typing import Iterator

from fcvi.engine.case import CaseInfo
from fcvi.engine.catalogue import load_requirements
from fcvi.engine.protocol import Protocol

from .plan import ROOT

_FAULTS = "conformance/tests/test_faults.py"


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


def devices(of: set[str], requirement: str = "") -> list[str]:
    """The tests of the broken devices of these cases of FC-VI, or of one requirement: each fails, and passes without its fault."""
    from conformance.tests import test_faults

    found = [f for f in test_faults.FAULTS if f.requirement == requirement or test_faults.VARIANTS[f.case][0].id in of]
    caught = [f"{_FAULTS}::test_fault_is_caught_for_its_reason[{f.name}]" for f in found]
    whole = [f"{_FAULTS}::test_without_the_fault_the_case_passes[{case}]" for case in sorted({f.case for f in found})]
    return caught + whole
