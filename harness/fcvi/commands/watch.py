"""``fcvi run --watch``: runs again what changed, whenever a file changes that the run depends on."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Callable, Optional

from fcvi.engine import interrupt, own_cases
from fcvi.engine.words import Ending, UsageError, complain, refuse

_EVERY_S = 0.3
Times = dict[Path, int]


def watched(args: argparse.Namespace) -> list[Path]:
    """The files that the run depends on: its own cases, the words of the device's command that are files, the PICS."""
    found = [] if args.cases is None else own_cases.files_of(args.cases)
    if args.target.kind == "exec":
        try:
            found += [Path(word) for word in shlex.split(args.target.rest) if Path(word).is_file()]
        except ValueError:
            pass  # the run says so
    return found + ([args.pics] if args.pics is not None else [])


def times(paths: list[Path]) -> Times:
    """When each was written, in nanoseconds; a file that is gone is left out."""
    found = {}
    for path in paths:
        try:
            found[path] = path.stat().st_mtime_ns
        except OSError:
            continue
    return found


def changed(before: Times, now: Times) -> set[Path]:
    """The files that are new, gone or other ones."""
    return {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}


def again(args: argparse.Namespace, files: set[Path]) -> Optional[str]:
    """The selection of the next run: the cases of the files that changed, or what was selected when anything else did."""
    selected: Optional[str] = args.select
    if args.cases is None or any(path.parent != args.cases for path in files):
        return selected
    declared = own_cases.load(args.cases)
    idents = [case.id for path, cases in declared.items() if path in files for case in cases]
    return ",".join(idents) or selected


def watch(args: argparse.Namespace, once: Callable[[argparse.Namespace], int]) -> int:
    """Run, and again at each change, until the user interrupts it. The status is that of the last run."""
    status, files = 0, set[Path]()
    refuse(args.given, ("--resume",), "--watch runs anew at each change: leave one out")
    seen = times(watched(args))
    if not seen:
        raise UsageError("--watch: no file that the run depends on could change: name --pics, --cases, or a program by exec:PATH")
    while True:
        status, stopped = _round(args, files, once)
        if stopped:
            return status
        complain(f"status {status}; waiting for a change of {len(seen)} files, Ctrl-C ends")
        try:
            while not (files := changed(seen, now := times(watched(args)))):
                time.sleep(_EVERY_S)
        except KeyboardInterrupt:
            return status
        seen = now


def _round(args: argparse.Namespace, files: set[Path], once: Callable[[argparse.Namespace], int]) -> tuple[int, bool]:
    """One run, in a process of its own: what it loads is loaded anew in the next one. Its status, and whether it is the last."""
    sys.stdout.flush()
    pid = interrupt.fork()
    if pid == 0:
        status = 3
        try:
            if files:
                args.select = again(args, files)
            status = once(args)
            sys.stdout.flush()
        except Ending as error:
            complain(error)
            status = error.status
        except KeyboardInterrupt:
            status = 3
        finally:
            os._exit(status)
    stopped = False
    while True:
        try:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), stopped
        except KeyboardInterrupt as stop:  # the run ends in order, and says what it has
            stopped = True
            if interrupt.words(stop) != "SIGINT":  # which a terminal sends to both
                os.kill(pid, signal.SIGTERM)
