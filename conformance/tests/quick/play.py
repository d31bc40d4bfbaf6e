"""Runs a plan until its time is over, and counts what it did not come to."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Iterator, Optional

import pytest

from . import books
from .plan import DEVICES, ROOT, Plan

_AT_LEAST_S = 1.0  # that a file of tests gets when its turn comes
_ENVIRONMENT = {**os.environ, "FCVI_SRCDIR": str(ROOT), "FCVI_QUICK": "1", "FCVI_SEED_TESTS": "1"}


@dataclass
class Tally:
    """What became of the plan."""

    until: float  # time.monotonic()
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)  # not run, or not to their end

    def left(self) -> float:
        """Seconds."""
        return self.until - time.monotonic()


def build(plan: Plan) -> int:
    """Make what the plan needs; the exit status of make."""
    targets = ["all", *(f"build/tests/{name.removesuffix('.c')}" for name in plan.programs)]
    if not (ROOT / "build/pcaps/.made").exists() and any(node.startswith("harness/tests") for node in plan.tests):
        targets.append("build/pcaps/.made")
    command = ["make", "--silent", f"-j{os.cpu_count()}", *targets]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode


def cases(plan: Plan, tally: Tally) -> None:
    """Each book's on the device that it has here."""
    by_book: dict[str, list[str]] = {}
    for book, ident in plan.cases:
        by_book.setdefault(book, []).append(ident)
    for book, idents in by_book.items():
        command = [str(ROOT / "build/fcvi"), "run", *DEVICES[book], "--select", ",".join(idents)]
        if _process(f"fcvi run {' '.join(command[2:])}", command, tally):
            print("\n".join(f"quick: {ident} stands at {place}" for ident, place in books.places(plan) if ident in idents))


def programs(plan: Plan, tally: Tally) -> None:
    """The unit tests in C."""
    for name in plan.programs:
        _process(name, [str(ROOT / "build/tests" / name.removesuffix(".c"))], tally)


def _process(what: str, command: list[str], tally: Tally) -> bool:
    """Whether it failed."""
    if tally.left() <= 0:
        tally.late.append(what)
        return False
    try:
        done = subprocess.run(command, cwd=ROOT, env=_ENVIRONMENT, capture_output=True, text=True, check=False,
                              timeout=tally.left())  # fmt: skip
    except subprocess.TimeoutExpired:
        tally.late.append(what)
        return False
    if done.returncode == 0:
        tally.passed += 1
        return False
    tally.failed.append(what)
    print(f"{what}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return True


class Deadline:
    """Of pytest: nothing begins after it, and what runs then ends as if it had not begun.

    shared: what time is left when a file begins is shared by the files that are left, so that a slow one takes nobody's turn.
    """

    def __init__(self, tally: Tally, shared: bool, named: set[str]) -> None:
        self._tally, self._shared, self._named = tally, shared, named
        self._files: list[str] = []
        self._file, self._until = "", 0.0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Which files there are. Of the nightly tier only what is named one by one."""
        items[:] = [item for item in items if item.nodeid in self._named or not item.get_closest_marker("nightly")]
        self._files = list(dict.fromkeys(str(item.path) for item in items))

    def _left(self, item: pytest.Item) -> float:
        if self._file != str(item.path):
            self._file = str(item.path)
            files = len(self._files) - self._files.index(self._file)
            share = self._tally.left() / (max(1, files) if self._shared else 1)
            self._until = time.monotonic() + max(share, _AT_LEAST_S)
        return min(self._tally.left(), self._until - time.monotonic())

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Nothing begins."""
        if self._left(item) <= 0:
            self._tally.late.append(item.nodeid)
            pytest.skip("no time is left")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Nothing goes on."""

        def over(number: int, frame: Optional[FrameType]) -> None:
            self._tally.late.append(item.nodeid)
            pytest.skip("no time is left")

        before = signal.signal(signal.SIGALRM, over)
        signal.setitimer(signal.ITIMER_REAL, max(0.05, self._left(item)))
        yield
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count."""
        if report.failed:
            self._tally.failed.append(report.nodeid)
        self._tally.passed += report.passed and report.when == "call"

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be read is a failure too."""
        if report.failed:
            self._tally.failed.append(report.nodeid)


def tests(plan: Plan, tally: Tally) -> None:
    """The tests in Python, but for those of the nightly tier; then what a file had to leave to the others, while there is time."""
    if plan.tests and tally.left() <= 0:
        tally.late += plan.tests
    elif plan.tests:
        os.chdir(ROOT)
        before, tally.late = tally.late, []
        _pytest(list(plan.tests), tally, True)
        again, tally.late = tally.late, []
        if again and tally.left() > _AT_LEAST_S:
            _pytest(again, tally, False)
            again = []
        tally.late = before + again + tally.late


def _pytest(nodes: list[str], tally: Tally, shared: bool) -> None:
    words = ["-q", "--no-header", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    status = pytest.main([*words, *nodes], plugins=[Deadline(tally, shared, {*nodes})])
    if status not in (0, 1, 5) and not tally.failed:
        tally.failed.append(f"pytest ended with {int(status)}")
