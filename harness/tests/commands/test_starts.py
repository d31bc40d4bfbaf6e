"""A command that the server of the tests forks is what a real start is: the same words, status, files and surroundings."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from .. import starts
from ..conftest import FCVI, PCAPS

CAPTURE = str(PCAPS / "cases/3.4.pcapng")
#: Each command once for real: a fork has every module of the suite, and would not miss one that a command forgets to import.
WORDS: dict[str, list[str]] = {
    "run": ["run", "--select", "5.3.3/*", "--quiet"], "certify": ["certify", "--verify", "/nowhere"],
    "judge": ["judge", "/nowhere"], "replay": ["replay", CAPTURE],
    "report": ["report", "diff", "/nowhere", "/nowhere"], "pics": ["pics", "new"],
    "list": ["list", "--json"], "show": ["show", "C.5.9.1"], "decode": ["decode", CAPTURE], "lint": ["lint", "--json", CAPTURE],
    "flows": ["flows", CAPTURE], "explain": ["explain", CAPTURE], "new-case": ["new-case", "nonsense"],
    "fuzz": ["fuzz", "--dut", "ref", "--batches", "1", "--frames", "2"], "random": ["random", "--steps", "20", "--json"],
    "learn": ["learn", "--depth", "1", "--letters", "none"], "explore": ["explore", "--list"], "endpoint": ["endpoint"],
    "dut": ["dut", "check", "exec:false"], "": [], "--help": ["--help"], "--version": ["--version"],
    "vitcp": ["list", "--select", "TCP.4.2.b"], "rev1": ["show", "R01"], "api": ["list", "--select", "VIPL.C1"],
    "list rev1": ["list", "--revision", "rev1"], "list tcp": ["list", "--wire", "tcp", "--json"], "map": ["show", "--map"],
    "run vitcp": ["run", "--dut", "ref:vitcp", "--quiet", "--select", "TCP.2.2.2.1.*"], "verbs": ["list", "--select", "VERBS*"],
    "run rev1": ["run", "--dut", "ref:rev1", "--quiet", "--select", "R1.5.3.4.a"], "errata": ["show", "A01", "B01", "V01", "E12"],
}  # fmt: skip


def both(words: list[str], **options: Any) -> tuple[subprocess.CompletedProcess[bytes], subprocess.CompletedProcess[bytes]]:
    """A fork, and a real start."""
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": 60, "check": False, **options}
    return starts.run([FCVI, *words], **options), subprocess.run([FCVI, *words], **options)


def test_each_command_is_here() -> None:
    from fcvi.commands import NAMES

    assert set(NAMES) <= set(WORDS)


@pytest.mark.parametrize("name", WORDS)
def test_a_fork_says_what_a_real_start_says(name: str) -> None:
    fork, real = both(WORDS[name])
    assert (fork.returncode, fork.stdout, fork.stderr) == (real.returncode, real.stdout, real.stderr)


# The device of a command tells what the command gave it: its own surroundings are the command's.
TELLS = """import json, os, resource, signal, sys
limits = [resource.getrlimit(n) for n in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)]
status = [line.split() for line in open(f"/proc/{os.getppid()}/status")]
told = {line[0]: line[1] for line in status if line[0] in ("SigIgn:", "SigBlk:", "SigCgt:", "Umask:")}
env = {name: os.environ.get(name) for name in ("FORK_A", "PYTHONPATH", "PYTEST_CURRENT_TEST")}
parent = os.getppid()
json.dump([env, os.getcwd(), limits, told, sorted(map(int, os.listdir(f"/proc/{parent}/fd")))[:3]], open(sys.argv[1], "w"))
"""


def test_its_surroundings_are_those_of_a_real_start(tmp_path: Path) -> None:
    """Environment, directory, limits, umask, mask and dispositions of signals."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("only the main thread may say what a signal does")
    script = tmp_path / "tells.py"
    script.write_text(TELLS)
    found = []
    before = resource.getrlimit(resource.RLIMIT_CORE)
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    umask = os.umask(0o027)
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, before[1]))
        for run, name in ((starts.run, "fork"), (subprocess.run, "real")):
            words = ["run", "--select", "5.3.3/*", "--quiet", "--dut", f"exec:{sys.executable} {script} {tmp_path}/{name}"]
            run([FCVI, *words], cwd=tmp_path, env={**os.environ, "FORK_A": "\udcff x", "PYTHONPATH": "/a:/b"}, timeout=60,
                stdin=subprocess.DEVNULL, capture_output=True, check=False)  # fmt: skip
            found.append(json.loads((tmp_path / name).read_text()))
    finally:
        os.umask(umask)
        signal.signal(signal.SIGHUP, old)
        resource.setrlimit(resource.RLIMIT_CORE, before)
    assert found[0] == found[1]
    assert found[0][0]["FORK_A"] == "\udcff x" and "PYTEST_CURRENT_TEST" in found[0][0] and found[0][1] == str(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_is_a_child_that_is_waited_for_and_signalled(number: signal.Signals) -> None:
    """Nothing tells it from a real start: who its parent is, what a signal does, its status and its words."""
    told = []
    for start in (starts.Popen, subprocess.Popen):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with start([FCVI, "lint", "--json", "-"], **pipes) as command:  # type: ignore[call-overload]
            stat = Path(f"/proc/{command.pid}/stat").read_text().rpartition(")")[2].split()
            assert int(stat[1]) == os.getpid() and command.poll() is None
            command.stdin.write((PCAPS / "crafted/fc2-225-badcrc.pcap").read_bytes())
            command.stdin.flush()
            lines = [command.stdout.readline() for _ in range(4)]  # it reads its pipe now, and waits for more
            command.send_signal(number)
            told.append((lines, command.wait(20), command.stdout.read(), command.stderr.read()))
    assert told[0] == told[1]
    assert number != signal.SIGKILL or told[0][1] == -signal.SIGKILL


def test_no_command_sees_what_another_left() -> None:
    """Books that one registered, and its environment."""
    first = starts.run([FCVI, "list", "--json"], capture_output=True, check=True).stdout
    starts.run([FCVI, "list", "--select", "TCP.4.2.b"], capture_output=True, env={**os.environ, "COLUMNS": "40"}, check=True)
    assert starts.run([FCVI, "list", "--json"], capture_output=True, check=True).stdout == first


def test_what_a_fork_cannot_have_is_started_for_real(tmp_path: Path) -> None:
    """Another program, another locale, a function before the program."""
    for options in ({"env": {**os.environ, "LC_ALL": "C"}}, {"preexec_fn": lambda: None}):
        with starts.Popen([FCVI, "lint", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          **options) as command:  # fmt: skip
            until = time.monotonic() + 20
            words = b""
            while str(FCVI.parent).encode() not in words and time.monotonic() < until:
                words = Path(f"/proc/{command.pid}/cmdline").read_bytes()
            assert b"fork_server" not in words
            command.kill()
    assert starts.run(["true"], check=True).returncode == 0


def test_a_server_that_is_gone_is_replaced() -> None:
    starts.run([FCVI, "--version"], capture_output=True, check=True)
    assert starts._server is not None
    starts._server._process.kill()
    starts._server._process.wait()
    assert starts.run([FCVI, "--version"], capture_output=True, check=True).stdout


def test_a_server_ends_though_a_child_of_its_maker_lives() -> None:
    """A pool of processes that a test has left, for example: it has a copy of every descriptor."""
    code = (
        "import os, time\n"
        "from harness.tests import starts\n"
        "starts.run([str(starts.FCVI), '--version'])\n"
        "if os.fork() == 0:\n"
        "    time.sleep(60)\n"
        "    os._exit(0)\n"
    )
    begun = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, start_new_session=True) as made:
        try:
            assert made.wait(timeout=30) == 0 and time.monotonic() - begun < 30
        finally:
            os.killpg(made.pid, signal.SIGKILL)
