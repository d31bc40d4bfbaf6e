"""The fcvi command for tests that start it often: a process that has imported the suite and has run nothing of it.

For each command it makes a child that is the caller's own child (CLONE_PARENT), so that the caller waits for it and signals it
as any other. The child takes over what a program takes over that is started: descriptors, environment, working directory,
words, mask and dispositions of signals, umask and limits. Then it does what harness/fcvi.sh does. It is not a start in this:
the suite is imported already, whole, and all children of one server have the same seed of hashes and the same addresses.
``command.py`` is the other side.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import io
import os
import pickle
import pkgutil
import platform
import resource
import signal
import socket
import sys
import time
import traceback
from typing import Any

#: What a request may take; it holds an environment.
LONGEST = 1 << 22
DESCRIPTORS = 64
LIMITS = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})
_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220, "ppc64le": 120}  # the number of the call
_CLONE_PARENT = 0x8000
_FROM = 500  # descriptors that came are put here, out of the way of those that are asked for


def _import_all() -> None:
    """Every module of the suite and of the folders of standards; beside these folders are programs, which no command imports."""
    import conformance
    import fcvi
    from fcvi.engine.protocol import registered

    modules = [*pkgutil.walk_packages(fcvi.__path__, "fcvi."), *pkgutil.walk_packages(conformance.__path__, "conformance.")]
    for module in modules:
        parts = module.name.split(".")
        if "tests" in parts or parts[-1] == "__main__" or (parts[0] == "conformance" and len(parts) == 2 and not module.ispkg):
            continue
        try:
            importlib.import_module(module.name)
        except ImportError:  # what needs a package that is not here says so when it is used
            continue
    assert not registered(), "a module registers a standard when it is imported: each command would have it"


def _clone() -> int:
    """fork(), but the child is a child of our parent. Raises OSError."""
    api = ctypes.pythonapi
    api.PyOS_BeforeFork()
    pid = ctypes.PyDLL(None, use_errno=True).syscall(
        ctypes.c_long(_CLONE[platform.machine()]), ctypes.c_ulong(_CLONE_PARENT | signal.SIGCHLD), *[ctypes.c_void_p()] * 4
    )
    if pid == 0:
        api.PyOS_AfterFork_Child()
    else:
        api.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(ctypes.get_errno(), "clone")
    return int(pid)


def _streams() -> None:
    """sys.stdin, stdout and stderr of the descriptors that are there now, as Python makes them when it starts."""
    for number, name, old in ((0, "stdin", sys.stdin), (1, "stdout", sys.stdout), (2, "stderr", sys.stderr)):
        raw = io.FileIO(number, "wb" if number else "rb", closefd=False)
        raw.name = f"<{name}>"
        buffered = io.BufferedWriter(raw) if number else io.BufferedReader(raw)
        lines = number == 2 or raw.isatty()
        stream = io.TextIOWrapper(buffered, old.encoding, old.errors, newline="\n" if number else None, line_buffering=lines)
        stream.mode = "w" if number else "r"  # type: ignore[attr-defined]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _become(told: dict[str, Any], received: list[int]) -> None:
    """Take over what the caller hands over."""
    moved = [os.dup2(number, _FROM + index, inheritable=False) for index, number in enumerate(received)]
    cwd, *passed = moved
    os.fchdir(cwd)
    for number, to in zip(passed, told["descriptors"]):
        os.dup2(number, to)
    top = max(told["descriptors"])
    for number in set(range(top)) - set(told["descriptors"]):
        try:
            os.close(number)
        except OSError:
            continue
    os.closerange(top + 1, _FROM + len(moved))
    if told["session"]:
        os.setsid()
    if told["group"] >= 0:
        os.setpgid(0, told["group"])
    os.umask(told["umask"])
    for limit, values in told["limits"].items():
        if resource.getrlimit(limit) != values:
            resource.setrlimit(limit, values)
    os.environ.clear()
    os.environb.update(told["environment"])
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in told["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    sys.argv = ["-c", *map(os.fsdecode, told["words"])]
    sys.path += [path for path in os.environ.get("PYTHONPATH", "").split(":") if path]
    _streams()
    gc.enable()
    signal.pthread_sigmask(signal.SIG_SETMASK, told["mask"])


def _run() -> int:
    """The command, with what Python makes of an exception that nobody took."""
    from conformance.__main__ import main

    try:
        return main()
    except SystemExit as end:
        sys.stdout.flush()
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        return 1


def serve(descriptor: int) -> None:
    """Until the caller is gone. Each request is answered with the id of a process, or with the number of an error."""
    caller = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: it is for the tests and for their commands
    _import_all()
    gc.collect()
    gc.freeze()
    gc.disable()
    while True:
        data, descriptors, _, _ = socket.recv_fds(caller, LONGEST, DESCRIPTORS)
        if not data:
            os._exit(0)
        size = int.from_bytes(data[:4], "big")
        while len(data) < 4 + size:
            data += caller.recv(LONGEST)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            pid = _clone()
        except (OSError, KeyError) as error:
            pid = -(getattr(error, "errno", 0) or 1)
        if pid == 0:
            try:
                _become(pickle.loads(data[4:]), descriptors)
            except BaseException:
                traceback.print_exc()
                os._exit(126)
            os._exit(_run())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
        for number in descriptors:
            os.close(number)
        caller.sendall(pid.to_bytes(8, "big", signed=True))
