"""Hexadecimal dumps are read under the same confinement and limits as captures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import FCVI

READ = [["lint"], ["lint", "--json"], ["decode"], ["decode", "--family", "vitcp"]]


_MOST = "import resource, subprocess, sys; status = subprocess.call(sys.argv[1:]);" \
    " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10); sys.exit(status)"


def run(*words: str) -> tuple["subprocess.CompletedProcess[str]", int]:
    """The command as a process of its own, and the most memory (MiB) that it takes."""
    words = (sys.executable, "-I", "-S", "-c", _MOST, str(FCVI), *words)
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
    return done, int(done.stdout.split()[-1])


@pytest.mark.parametrize("words", READ, ids=" ".join)
def test_a_dump_takes_no_more_memory_than_its_limit(words: list[str], tmp_path: Path) -> None:
    """X7: a text of 12 MiB, of which each line is a frame, took gigabytes whatever the limit said."""
    (tmp_path / "x.txt").write_bytes(b"22 22 22 22\n" * (1 << 20))
    done, most = run(*words, "--from", "hex", "--limits", "memory=128,cpu=60", str(tmp_path / "x.txt"))
    assert done.returncode == 3 and "--limits memory=MIB gives it more" in done.stderr, (done.returncode, done.stderr)
    assert len(done.stderr.splitlines()) == 1 and most < 700, (most, done.stderr)


@pytest.mark.parametrize("words", READ, ids=" ".join)
def test_a_longer_dump_is_for_a_tool_that_makes_captures(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(b"22 " * (6 << 20))
    done, _ = run(*words, "--from", "hex", str(tmp_path / "x.txt"))
    assert done.returncode == 2 and "more than 16 MiB of text" in done.stderr


def test_a_dump_takes_no_more_time_than_its_limit(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(b"0000  22 22\n*\n*\n*\n" * 800_000)
    done, _ = run("lint", "--from", "hex", "--limits", "cpu=1", str(tmp_path / "x.txt"))
    assert done.returncode == 3 and "processor time" in done.stderr


def test_several_dumps_are_read_one_after_another(tmp_path: Path) -> None:
    """A dump that cannot be read leaves the others alone, in one process or in several."""
    frame = "22 01 02 00 00 01 01 00 01 23 00 00 00 00 00 00 12 34 ff ff 00 00 00 00"
    for name, text in (("a", frame), ("b", "no dump"), ("c", frame)):
        (tmp_path / name).write_text(text + "\n")
    for more in ([], ["--jobs", "2"]):
        done, _ = run("lint", "--from", "hex", *more, *(str(tmp_path / name) for name in "abc"))
        assert done.returncode == 2 and "b: line 1: 'no' is not hexadecimal" in done.stderr, done.stderr
