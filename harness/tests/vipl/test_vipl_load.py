"""Random legal calls of 8 threads on 64 VIs of our libvipl, a few seconds each time; ``make vipl-load`` does it for an hour."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ..conftest import ROOT

BUILD = Path(os.environ.get("FCVI_BUILD", str(ROOT / "build")))
PLAIN, SANITIZED = BUILD / "vipl_load", BUILD / "san" / "vipl_load"


def load(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=200, check=False)


@pytest.mark.parametrize(
    ("program", "seconds"), [(PLAIN, "2"), pytest.param(SANITIZED, "5", marks=pytest.mark.nightly)], ids=("plain", "sanitized")
)
def test_every_invariant_holds(program: Path, seconds: str) -> None:
    done = load(program, seconds, "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "every invariant held" in done.stdout


@pytest.mark.parametrize("arguments", [("0",), ("-1",), ("5", "x"), ("5", "1", "3"), ("5", "1", "8", "more")])
def test_a_wrong_argument_is_told(arguments: tuple[str, ...]) -> None:
    done = load(PLAIN, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ") and done.stderr.count("\n") == 1
