"""Processes measured beside each other: CPU time and elapsed time, in turn."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from typing import NamedTuple, Sequence


class Sample(NamedTuple):
    """One run. cpu and elapsed in seconds."""

    cpu: float
    elapsed: float
    output: str


def once(command: Sequence[str]) -> Sample:
    """Run a command, with its own processes counted. Raises RuntimeError when it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {process.returncode}")
    spent = time.perf_counter() - start
    return Sample(used.ru_utime + used.ru_stime, spent, output.decode(errors="replace"))


class Spread(NamedTuple):
    """Median, least and most of several rounds."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.least:.2f} to {self.most:.2f})"


def spread(values: Sequence[float]) -> Spread:
    """Of a list."""
    return Spread(statistics.median(values), min(values), max(values))


def in_turn(commands: dict[str, Sequence[str]], rounds: int) -> dict[str, list[Sample]]:
    """Each command once a round, one after the other."""
    samples: dict[str, list[Sample]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            samples[name].append(once(command))
    return samples
