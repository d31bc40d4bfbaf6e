"""The order of the cases is the standard's folder's own: it does not depend on what a process imported before."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from conformance import protocols
from conformance.fcvi.cases import all_cases
from fcvi.engine.protocol import Protocol

ROOT = Path(__file__).resolve().parents[2]
_ASK = "import conformance.fcvi.cases.{0}; from conformance.fcvi.cases import all_cases; print(*(c.id for c in all_cases()))"


def test_an_early_import_of_one_module_moves_no_case() -> None:
    paths = f"import sys; sys.path[:0] = {[str(ROOT / 'build/python'), str(ROOT / 'harness'), str(ROOT)]!r}; "
    asked = subprocess.run([sys.executable, "-c", paths + _ASK.format("annex_f")], capture_output=True, text=True, check=True)
    assert asked.stdout.split() == [case.id for case in all_cases()]


@pytest.mark.parametrize("protocol", protocols(), ids=lambda protocol: protocol.book)
def test_what_a_standard_loads_later_is_there(protocol: Protocol) -> None:
    """No type checker sees the names."""
    loaded = [getattr(protocol, member.name) for member in fields(protocol)]
    named = [value.args for value in loaded if isinstance(value, partial)]
    assert len(named) >= 3
    assert [(module, name) for module, name in named if name and not hasattr(import_module(module), name)] == []
