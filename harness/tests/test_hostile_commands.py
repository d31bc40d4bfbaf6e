"""Every command against a host that fails it: full disks, closed pipes, signals, and devices that are dead."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import FCVI, PCAPS, fcvi

CAPTURE = str(PCAPS / "cases/3.4.pcapng")
ONE = "5.3.3/dut-first/03"
#: Words that say something on standard output, and the status without anything wrong.
COMMANDS: dict[str, tuple[list[str], int]] = {
    "run": (["run", "--select", ONE], 0),
    "certify": (["certify", "--help"], 0),
    "judge": (["judge", "--help"], 0),
    "replay": (["replay", CAPTURE], 0),
    "report": (["report", "--help"], 0),
    "report matrix": (["report", "matrix", "--help"], 0),
    "pics": (["pics", "new"], 0),
    "list": (["list"], 0),
    "show": (["show", "C.5.9.1"], 0),
    "decode": (["decode", CAPTURE], 0),
    "lint": (["lint", CAPTURE], 0),
    "flows": (["flows", CAPTURE], 0),
    "explain": (["explain", CAPTURE], 0),
    "fuzz": (["fuzz", "--dut", "ref", "--batches", "1", "--frames", "2"], 0),
    "random": (["random", "--steps", "20"], 0),
    "learn": (["learn", "--depth", "1", "--letters", "none"], 2),
    "explore": (["explore", "--list"], 0),
    "endpoint": (["endpoint", "--help"], 0),
    "dut": (["dut", "check", f"exec:{FCVI} endpoint"], 0),
}
#: Those that take a device, and the words before its name.
DEVICES = {
    "run": ["run", "--select", ONE, "--dut"], "certify": ["certify", "--quiet", "--report", "REPORT", "--dut"],
    "replay": ["replay", CAPTURE, "--dut"], "fuzz": ["fuzz", "--batches", "1", "--out", "REPORT", "--dut"],
    "random": ["random", "--steps", "20", "--out", "REPORT", "--dut"], "learn": ["learn", "--depth", "1", "--dut"],
    "dut": ["dut", "check"],
}  # fmt: skip


def test_every_command_is_here() -> None:
    told = fcvi("--help").stdout
    assert set(re.findall(r"^    ([a-z]+) ", told, re.MULTILINE)) == {name.split()[0] for name in COMMANDS}


def well(status: int, error: str, wanted: set[int]) -> None:
    """One line, and a documented status."""
    assert status in wanted and len(error.splitlines()) <= 1 and "Traceback" not in error, (status, error)


@pytest.mark.parametrize("name", COMMANDS)
def test_full_and_closed_standard_output(name: str) -> None:
    words, good = COMMANDS[name]
    with open("/dev/full", "wb") as full:
        done = subprocess.run([str(FCVI), *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=100, check=False)
    well(done.returncode, done.stderr, {good} if good == 2 else {3})
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([str(FCVI), *words], stdout=write, stderr=subprocess.PIPE, text=True, timeout=100, check=False)
    os.close(write)
    well(done.returncode, done.stderr, {good})


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("device", ["exec:/bin/false", "exec:/bin/cat", "unix:/nowhere", "tcp:127.0.0.1:1"])
def test_dead_devices(name: str, device: str, tmp_path: Path) -> None:
    words = [str(tmp_path / "r") if word == "REPORT" else word for word in DEVICES[name]]
    done = fcvi(*words, device, timeout=100)
    well(done.returncode, done.stderr, {1, 2, 3} if name == "dut" else {2, 3})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
@pytest.mark.parametrize("name", [name for name in DEVICES if name != "certify"])  # which is run, over every case
def test_signals_while_a_device_is_silent(name: str, number: signal.Signals, tmp_path: Path) -> None:
    words = [str(tmp_path / "r") if word == "REPORT" else word for word in DEVICES[name]]
    ready = tmp_path / "ready"
    device = f"exec:sh -c 'touch {ready}; exec sleep 60'"
    with subprocess.Popen([str(FCVI), *words, device], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while not ready.exists() and time.monotonic() < until:
            time.sleep(0.005)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
    well(process.returncode, error, {3})
