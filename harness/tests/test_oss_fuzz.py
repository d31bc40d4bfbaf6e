"""The build that OSS-Fuzz makes: its flags, its environment, and targets that start without a library path."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from .conftest import ROOT


@pytest.mark.skipif(shutil.which("clang") is None or shutil.which("zip") is None, reason="OSS-Fuzz builds with clang and zip")
def test_two_targets_build_and_start_as_oss_fuzz_has_it() -> None:
    """fuzz_frame brings the mutator along, fuzz_control the JSON library."""
    check = [str(ROOT / "fuzz/oss-fuzz/check.sh"), "fuzz_frame", "fuzz_control"]
    done = subprocess.run(check, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0 and "2 targets start" in done.stdout, done.stdout + done.stderr
