"""The build that OSS-Fuzz makes: its flags, its environment, and targets that start without a library path."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from ..conftest import ROOT

TARGETS = ("fuzz_frame", "fuzz_control")


def test_the_scripts_can_be_read() -> None:
    """Without a build, which takes a minute: they are shell, and the targets are there."""
    for script in (ROOT / "fuzz/oss-fuzz").glob("*.sh"):
        subprocess.run(["bash", "-n", str(script)], check=True)
    assert all((ROOT / f"fuzz/{target}.c").exists() for target in TARGETS)


@pytest.mark.nightly  # it builds the C parts anew with clang
@pytest.mark.skipif(shutil.which("clang") is None or shutil.which("zip") is None, reason="OSS-Fuzz builds with clang and zip")
def test_two_targets_build_and_start_as_oss_fuzz_has_it() -> None:
    """fuzz_frame brings the mutator along, fuzz_control the JSON library."""
    check = [str(ROOT / "fuzz/oss-fuzz/check.sh"), *TARGETS]
    done = subprocess.run(check, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0 and "2 targets start" in done.stdout, done.stdout + done.stderr
