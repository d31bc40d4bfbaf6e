"""Starts of the fcvi command that cost a tenth: Popen and run are those of subprocess, and take the same words.

A command of ``build/fcvi`` is a child of ``fork_server.py``'s making: it has descriptors, environment, working directory, signals
and limits of a real start. Whatever a child of that cannot have is started for real, and so is every other program: a function
that runs before the program (preexec_fn), another user, another locale, and what the dynamic linker or the memory allocator reads.
Tests of how the command starts, and of what happens to its process, use subprocess itself and say why.
"""

from __future__ import annotations

import atexit
import inspect
import os
import pickle
import re
import resource
import signal
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional, Sequence

from .fork_server import LIMITS

ROOT = Path(__file__).resolve().parents[2]
FCVI = ROOT / "build/fcvi"
#: What a process reads when it starts, or a library when it is loaded: where it is not the server's, the start is a real one.
_AT_START = re.compile(r"(LD|LC|LANG|MALLOC|GLIBC|PYTHON(?!PATH)|ASAN|LSAN|UBSAN|TSAN)_?")
_RESTORED = {signal.SIGPIPE, signal.SIGXFSZ}  # Python ignores them, and gives no program that
_EXECUTE = inspect.signature(subprocess.Popen._execute_child)  # type: ignore[attr-defined]


def _started(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if _AT_START.match(name)}


class _Server:
    """The server of this process, which ends with it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.at_start = _started(dict(os.environ))
        # the program of build/fcvi, but for its last lines
        code = FCVI.read_text().split("-c '", 1)[1].split("from conformance.__main__", 1)[0]
        code += "from harness.tests.fork_server import serve\nserve(int(sys.argv[1]))"
        python = re.search(r"^exec .*?(\S+ -I -S) ", FCVI.read_text(), re.M)
        assert python is not None, "harness/fcvi.sh starts Python in another way: say here which"
        self._socket, theirs = socket.socketpair()
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with theirs:
            self._process = subprocess.Popen(
                [*python[1].split(), "-c", code, str(FCVI.parent), str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environment,
            )  # fmt: skip
        atexit.register(self.end)

    def end(self) -> None:
        """Of the process that made it. A child that was forked off meanwhile has the socket as well, so closing it ends nothing."""
        if os.getpid() == self.owner:
            with suppress(OSError):  # the server has ended
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
            self._process.wait()

    def start(self, told: dict[str, Any], descriptors: Sequence[int]) -> int:
        """The id of the process; 0 where this host lets it make none. Raises BrokenPipeError when the server is gone."""
        data = pickle.dumps(told)
        data = len(data).to_bytes(4, "big") + data
        sent = socket.send_fds(self._socket, [data], descriptors)
        self._socket.sendall(data[sent:])
        answer = self._socket.recv(8)
        if not answer:
            raise BrokenPipeError("the server of commands has ended")
        return max(0, int.from_bytes(answer, "big", signed=True))


_server: Optional[_Server] = None
_lock = threading.Lock()


def _start(told: dict[str, Any], descriptors: Sequence[int]) -> int:
    """By the server of this process: one that a fork has left to us is not ours."""
    global _server
    with _lock:
        if _server is None or _server.owner != os.getpid():
            _server = _Server()
        if _started(told["of_environment"]) != _server.at_start:
            return 0
        del told["of_environment"]
        try:
            return _server.start(told, descriptors)
        except (BrokenPipeError, ConnectionResetError):
            _server = _Server()  # a test has ended it
            return _server.start(told, descriptors)


def _umask() -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1], 8) for line in file if line.startswith("Umask:"))


class Popen(subprocess.Popen):  # type: ignore[type-arg]
    """subprocess.Popen, whose child is a fork where it can be."""

    def _execute_child(self, *given: Any) -> None:
        a = _EXECUTE.bind(self, *given).arguments
        self.pid = 0 if self._has_to_be_real(a) else self._forked(a)
        if self.pid == 0:
            super()._execute_child(*given)  # type: ignore[misc]
            return
        self._child_created = True
        ends = [a[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")]
        self._close_pipe_fds(*ends)  # type: ignore[attr-defined]

    @staticmethod
    def _has_to_be_real(a: dict[str, Any]) -> bool:
        words = a["args"]
        return (
            isinstance(words, (str, bytes, os.PathLike)) or not words or os.fspath(words[0]) != str(FCVI) or a["shell"]
            or a["executable"] is not None or a["preexec_fn"] is not None or not a["close_fds"] or not a["restore_signals"]
            or (a["gid"], a["gids"], a["uid"]) != (None, None, None)
        )  # fmt: skip

    @staticmethod
    def _forked(a: dict[str, Any]) -> int:
        """0: this one has to be a real start."""
        words = [os.fsencode(word) for word in a["args"][1:]]
        environment = dict(os.environ if a["env"] is None else a["env"])
        for word in words + [os.fsencode(value) for value in environment.values()]:
            if b"\0" in word:
                raise ValueError("embedded null byte")
        standard = (a["p2cread"], a["c2pwrite"], a["errwrite"])
        theirs = [number if number >= 0 else own for own, number in enumerate(standard)]
        passed = [number for number in map(int, a["pass_fds"]) if number > 2]
        cwd = os.open(a["cwd"] or ".", os.O_PATH | os.O_DIRECTORY)
        told = {
            "words": words, "descriptors": [0, 1, 2, *passed], "session": a["start_new_session"], "group": a["process_group"],
            "environment": {os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
            "of_environment": {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()},
            "umask": a["umask"] if a["umask"] >= 0 else _umask(), "limits": {n: resource.getrlimit(n) for n in LIMITS},
            "ignored": [n for n in signal.valid_signals() - _RESTORED if signal.getsignal(n) is signal.SIG_IGN],
            "mask": signal.pthread_sigmask(signal.SIG_BLOCK, []),
        }  # fmt: skip
        try:
            return _start(told, [cwd, *theirs, *passed])
        finally:
            os.close(cwd)


def run(
    *words: Any, input: Any = None, capture_output: bool = False, timeout: Optional[float] = None, check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """subprocess.run, with the Popen above."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = subprocess.PIPE
    with Popen(*words, **options) as process:
        try:
            stdout, stderr = process.communicate(input, timeout=timeout)
        except BaseException:  # an interrupt, too
            process.kill()
            process.wait()
            raise
    if check and process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args, stdout, stderr)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)
