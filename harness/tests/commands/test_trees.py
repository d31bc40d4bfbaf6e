"""Every build tree with a command in it starts that command: `make mutants` runs the suite out of a tree of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ..conftest import ROOT

#: The commands that the Makefile can build, by the tree that they stand in.
COMMANDS = ("build/fcvi", "build/mut/fcvi")


def runs(command: Path) -> None:
    """It attaches the reference port, plays a case and says that it passed."""
    words = [str(command), "run", "--dut", "ref", "--select", "5.3.2/dut-client"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "1 pass" in done.stdout, (command, done.stderr)


def test_the_list_of_commands_is_whole() -> None:
    """Each rule that makes a command, in any tree, is in the list."""
    words = ["make", "--dry-run", "--print-data-base", "--question", "help"]
    made = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    targets = {line.partition(":")[0] for line in made.splitlines() if line.partition(":")[0].endswith("/fcvi")}
    assert {target for target in targets if target.startswith("build/")} == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_tree_that_is_there_starts_its_command(command: str) -> None:
    if not (ROOT / command).is_file():
        pytest.skip(f"{command} is not built here; the nightly tier builds it")
    runs(ROOT / command)


@pytest.mark.nightly
@pytest.mark.parametrize("command", COMMANDS)
def test_every_tree_starts_its_command(command: str) -> None:
    subprocess.run(["make", "--silent", "-j2", command], cwd=ROOT, check=True, capture_output=True, timeout=900)
    runs(ROOT / command)
