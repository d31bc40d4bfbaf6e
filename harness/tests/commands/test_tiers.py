"""The last line of harness/check.sh counts the stages of a tier and names those that failed or did not end in time."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ..conftest import ROOT


def tier(tmp_path: Path, rules: str, *words: str) -> tuple[int, str]:
    """The exit status and the last line of check.sh beside a Makefile that knows these rules; every other stage passes."""
    (tmp_path / "harness").mkdir()
    shutil.copy(ROOT / "harness/check.sh", tmp_path / "harness")
    (tmp_path / "Makefile").write_text(f"{rules}\n%:\n\t@true\n", encoding="utf-8")
    done = subprocess.run([str(tmp_path / "harness/check.sh"), *words], capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, (done.stdout + done.stderr).splitlines()[-1]


def test_a_tier_of_which_all_passes(tmp_path: Path) -> None:
    assert tier(tmp_path, "", "check") == (0, "4 passed, 0 failed")


def test_the_stage_that_fails_is_named_and_the_others_run(tmp_path: Path) -> None:
    assert tier(tmp_path, "check-c:\n\t@false", "check") == (1, "3 passed, 1 failed: check-c")


def test_what_does_not_end_in_time_is_named_and_nothing_is_said_for_it(tmp_path: Path) -> None:
    found = tier(tmp_path, "fuzz-replay:\n\t@sleep 200", "nightly", "3")
    assert found[0] == 0
    counts, _, names = found[1].partition("; not ended within 3 s: ")
    assert counts.endswith(" passed, 0 failed") and names.endswith("fuzz-replay check-slow")


def test_a_stage_that_is_cut_off_after_a_failure_fails(tmp_path: Path) -> None:
    found = tier(tmp_path, "check-san:\n\t@echo FAILED tests/test_some.py::test_one; sleep 200", "nightly", "5")
    assert found[0] == 1 and found[1].startswith("0 passed, 1 failed: check-san; not ended within 5 s: check-tidy ")


@pytest.mark.parametrize("words", [["weekly"], ["nightly", "0"], ["nightly", "soon"]])
def test_words_that_it_does_not_know(tmp_path: Path, words: list[str]) -> None:
    status, line = tier(tmp_path, "", *words)
    assert status == 2 and words[-1] in line
