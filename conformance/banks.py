"""The devices of the banks by the row that each breaks, where a test of the bank demands that just this row is named."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, Iterable, Mapping


def _of_2007() -> Iterable[tuple[str, str]]:
    for entry in import_module("conformance.tests.bank.table").bank():
        for ident in entry.breaks:
            yield ident, entry.name


def _of_rev1() -> Iterable[tuple[str, str]]:
    module = import_module("conformance.tests.rev1_faults")
    faults: list[Any] = [*module.FAULTS, *module.OF_RESP2]
    return [(fault.requirement, fault.name) for fault in faults]


def _of_vitcp() -> Iterable[tuple[str, str]]:
    """A fault with several rows is caught by any of them: it proves none."""
    faults = import_module("harness.tests.independent.vitcp.faults").listing()
    return [(rows, name) for name, (rows, _) in faults.items() if len(rows.split()) == 1]


def _of_vipl() -> Iterable[tuple[str, str]]:
    faults = import_module("harness.tests.independent.provider.faults").FAULTS
    return [(f"VIPL-{fault.row}", name) for name, fault in faults.items()]


_BANKS: Mapping[str, Callable[[], Iterable[tuple[str, str]]]] = {
    "fcvi": _of_2007, "rev1": _of_rev1, "vitcp": _of_vitcp, "vipl": _of_vipl,
}  # fmt: skip


def devices(book: str) -> dict[str, list[str]]:
    """The names of the devices of a book, by the row that each was made to break."""
    found: dict[str, list[str]] = {}
    for ident, name in _BANKS[book]() if book in _BANKS else ():
        found.setdefault(ident, []).append(name)
    return found
