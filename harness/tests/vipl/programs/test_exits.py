"""A process that ends with its NIC open, or starts another program, on every wire."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Callable

import pytest

from ...live.net import Net
from .conftest import FC, TCP, port

# how it ends, and its exit status
WAYS = {"plain": 7, "waiter": 7, "handler": 7, "midway": 7, "others": 7, "kill": -signal.SIGABRT}


@pytest.mark.parametrize("wire", ["vitcp", "2007", pytest.param("rev1", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("how", WAYS)
def test_end(how: str, wire: str, build: Callable[[str], Path], tmp_path: Path, net: Net) -> None:
    """From main, with a thread that waits, from a handler, in the middle of Sends, with children that live on, by a signal."""
    exits, conf = build("exits.c"), tmp_path / "vipl.conf"
    over_tcp = wire == "vitcp"
    conf.write_text(TCP.format(port=port()) if over_tcp else FC.format(more=f"r_a_tov=300 edition={wire}"))
    env = {**os.environ, "VIPL_CONF": str(conf), "VIPL_DEBUG": "1"}
    processes = []
    try:
        for rank in (0, 1):
            words = [str(exits), how, f"nic{rank}", str(rank)]
            started = subprocess.Popen(words if over_tcp else net.words(*words), env=env, cwd=tmp_path,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
            processes.append(started)
            assert started.stdout is not None and started.stdout.readline() == "open\n", started.communicate()
        said = [process.communicate(timeout=60)[1] for process in reversed(processes)]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [WAYS[how], 0], said
