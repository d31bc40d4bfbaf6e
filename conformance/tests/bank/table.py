"""The whole bank: the tables, and the devices that were written for single cases, with what else those break."""

from __future__ import annotations

import functools
from pathlib import Path

from conformance.tests import faults_clause4, faults_link, faults_messages, faults_setup, faulty
from .device import Entry
from .language import rows
from .unbreakable import ALSO

_HERE = Path(__file__).resolve().parent
_TABLES = ("setup.txt", "messages.txt", "behaviour.txt")


@functools.cache
def bank() -> tuple[Entry, ...]:
    """Every device."""
    lists = (faulty, faults_clause4, faults_link, faults_setup, faults_messages)
    written = [fault for module in lists for fault in module.FAULTS]
    entries = []
    for fault in written:
        also = tuple(f"FCVI-{ident}" for ident in ALSO.get(fault.name, "").split())
        breaks = tuple(dict.fromkeys((fault.requirement, *also)))
        entries.append(Entry(f"case:{fault.name}", breaks, f"for case {fault.case}", fault, (fault.case,)))
    tables = [rows((_HERE / name).read_text(encoding="utf-8")) for name in _TABLES]
    return (*(entry for table in tables for entry in table), *entries)
