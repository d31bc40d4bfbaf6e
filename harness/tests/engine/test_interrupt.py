"""Tests when a signal ends what is done: at once, and behind what is to be done whole."""

from __future__ import annotations

import subprocess

import pytest

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
