"""A network namespace with a veth pair, and the processes in it. Everything ends with it."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Optional

import pytest

from ..conftest import FCVI

TESTER, DEVICE = "fcvi0", "fcvi1"
_HANDED_OVER_S = 1.5
_SETUP = (
    f"ip link add {TESTER} mtu 2500 type veth peer name {DEVICE} mtu 2500 && "
    f"for i in {TESTER} {DEVICE}; do ip link set $i up; done && echo ready && exec cat"
)


class Net:
    """The namespace: it lives as long as its first process, which ends when this object closes its input."""

    def __init__(self) -> None:
        self._user = ["-r"] if os.geteuid() else []
        self._started: list[subprocess.Popen[str]] = []
        self._holder = subprocess.Popen(
            ["unshare", *self._user, "-n", "sh", "-c", _SETUP],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._holder.stdout is not None and self._holder.stderr is not None
        if self._holder.stdout.readline() != "ready\n":
            words = self._holder.stderr.read().strip()
            self.close()
            pytest.skip(f"network namespaces are not allowed here: {words}")

    def words(self, *words: str) -> list[str]:
        """The words that start this command in the namespace."""
        return self._command(*words)

    def _command(self, *words: str) -> list[str]:
        into = ["nsenter", "-t", str(self._holder.pid), "-n"]
        return [*into, *(["-U", "--preserve-credentials"] if self._user else []), *words]

    def run(self, *words: str, timeout: float = 120, env: Optional[dict[str, str]] = None) -> subprocess.CompletedProcess[str]:
        """A command in the namespace, to its end."""
        return subprocess.run(
            self._command(*words), capture_output=True, text=True, timeout=timeout, check=False, env={**os.environ, **(env or {})}
        )

    def fcvi(self, *words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """The command of the suite."""
        return self.run(str(FCVI), *words, timeout=timeout)

    def start(self, *words: str, until: str, seconds: float = 20) -> subprocess.Popen[str]:
        """A command in the namespace that goes on; waits so long for a line of its output that matches."""
        process = subprocess.Popen(
            self._command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._started.append(process)
        assert process.stdout is not None
        deadline, seen = time.monotonic() + seconds, ""
        while select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
            line = process.stdout.readline()
            seen += line
            if re.search(until, line):
                return process
            if not line:
                break
        raise AssertionError(f"{words[0]} did not start: {seen}")

    def endpoint(self, path: Path, options: str = "") -> str:
        """The reference port on the device's end; how its control plane is reached."""
        self.start(str(FCVI), "endpoint", "--on", f"fcoe:{DEVICE}{options}", "--control", f"unix:{path}", until="control at")
        return f"unix:{path}"

    def agent(self, path: Path) -> str:
        """fcvi-agent with our libvipl on the device's end; how its control plane is reached."""
        self.start(str(FCVI.with_name("fcvi-agent")), "--on", f"fcoe:{DEVICE}", f"unix:{path}", until="listening")
        return f"unix:{path}"

    def started(self) -> list[subprocess.Popen[str]]:
        """What goes on here, in the order it was started."""
        return list(self._started)

    def stop(self, process: subprocess.Popen[str]) -> None:
        """End one that was started, and wait for it."""
        process.terminate()
        process.wait(timeout=20)

    def stop_capture(self, dumpcap: subprocess.Popen[str]) -> None:
        """End a capture; the kernel hands over what came last after a while only."""
        time.sleep(_HANDED_OVER_S)
        self.stop(dumpcap)

    def close(self) -> None:
        """End everything in the namespace."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        for pipe in (self._holder.stdin, self._holder.stdout, self._holder.stderr):
            assert pipe is not None
            pipe.close()
        self._holder.wait(timeout=20)


def available() -> Optional[str]:
    """Why there can be no namespace here; None when there may."""
    missing = [tool for tool in ("unshare", "nsenter", "ip") if shutil.which(tool) is None]
    return f"no {', '.join(missing)} here" if missing else None
