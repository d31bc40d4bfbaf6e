"""The order of the cases is the standard's folder's own: it does not depend on what a process imported before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conformance.fcvi.cases import all_cases

ROOT = Path(__file__).resolve().parents[2]
_ASK = "import conformance.fcvi.cases.{0}; from conformance.fcvi.cases import all_cases; print(*(c.id for c in all_cases()))"


def test_an_early_import_of_one_module_moves_no_case() -> None:
    paths = f"import sys; sys.path[:0] = {[str(ROOT / 'build/python'), str(ROOT / 'harness'), str(ROOT)]!r}; "
    asked = subprocess.run([sys.executable, "-c", paths + _ASK.format("annex_f")], capture_output=True, text=True, check=True)
    assert asked.stdout.split() == [case.id for case in all_cases()]
