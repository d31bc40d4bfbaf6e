"""Tests when a signal ends what is done: at once, and behind what is to be done whole."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from ..conftest import FCVI

#: A process of its own: the handlers are those of a command.
PROGRAM = """
import os, signal
from fcvi.engine import interrupt
interrupt.install()
reached = []
try:
    {begin}
        os.kill(os.getpid(), signal.SIGTERM)
        reached.append("the next statement")
    reached.append("what follows")
except interrupt.Interrupted as told:
    print(told, reached)
"""


@pytest.mark.parametrize("begin, reached", [("if True:", []), ("with interrupt.deferred():", ["the next statement"])])
def test_a_signal_ends_at_once_what_need_not_be_done_whole(begin: str, reached: list[str]) -> None:
    done = subprocess.run(["/usr/bin/python3", "-c", PROGRAM.format(begin=begin)], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == f"SIGTERM {reached}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_signal_while_the_command_starts_ends_it_with_a_line_at_most(number: signal.Signals, jobs: str, tmp_path: Path) -> None:
    """It ends the shell that starts Python without a word; after that it waits until the command hears it."""
    for tenth in range(0, 12):
        words = [str(FCVI), "run", "--dut", "ref", "--jobs", jobs, "--report", str(tmp_path / f"r{tenth}")]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
            time.sleep(tenth / 100)
            run.send_signal(number)
            told = run.stderr.read() if run.stderr else ""
        assert (run.returncode, told) == (-number, "") or run.returncode == 3 and len(told.splitlines()) == 1, (tenth, told)
        assert not told or f"interrupted by {number.name}" in told
