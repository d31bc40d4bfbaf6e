"""Programs of VIPL under load: 8 processes in pairs, 16 VIs in each with a thread for every VI, memory flat; and by sanitizers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Optional

import pytest

from ...conftest import ROOT
from .conftest import port

# what is freed stays in the quarantine of the sanitizer: with little of it, memory is as flat as without
_CLEAN = {"ASAN_OPTIONS": "detect_leaks=1 quarantine_size_mb=1 thread_local_quarantine_size_kb=16",
          "TSAN_OPTIONS": "halt_on_error=1 second_deadlock_stack=1"}  # fmt: skip


def _load(program: Path, pairs: int, seconds: float, tmp_path: Path) -> None:
    """Each pair has addresses of its own; every process has to end with 0 and say nothing."""
    running, at = [], port()
    for pair in range(pairs):
        conf = tmp_path / f"vipl{pair}.conf"
        hosts = [f"127.0.{pair + 1}.{rank + 1}" for rank in (0, 1)]
        conf.write_text("".join(f"node{'ab'[r]} address={h}\nnic{r} wire=vitcp:{h}:{at}\n" for r, h in enumerate(hosts)))
        env = {**os.environ, **_CLEAN, "VIPL_CONF": str(conf), "LOAD_SECONDS": str(seconds / 2)}
        for rank in (0, 1):
            words = [str(program), "load", f"nic{rank}", str(rank), "4"]
            running.append(subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True))
    try:
        said = [process.communicate(timeout=seconds + 120)[1] for process in running]
    finally:
        for process in running:
            process.kill()
    assert [p.returncode for p in running] == [0] * len(running) and not any(said), said


def test_a_moment_of_load(program: Path, tmp_path: Path) -> None:
    _load(program, 1, 0.4, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [None, "san", "tsan"])
def test_a_minute_of_load(kind: Optional[str], program: Path, tmp_path: Path) -> None:
    """Twenty seconds plain, and as long under each sanitizer."""
    chosen = ROOT / "build" / kind / "vipl_program" if kind else program
    if not chosen.exists():
        pytest.skip(f"make build/{kind}/vipl_program builds it")
    _load(chosen, 4, 20, tmp_path)
