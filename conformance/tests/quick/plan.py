"""Lists what is to be run, and why: cases, programs in C, and tests in Python, those first that promise most."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
#: What each book's cases are played on here: the reference port, our VIPL library, or the model of verbs.
DEVICES = {
    "": ("--dut", "ref"),
    "FC-VI": ("--dut", "ref"),
    "FC-VI Rev 1.0": ("--dut", "ref:rev1"),
    "VI/TCP": ("--dut", "ref:vitcp"),
    "VIPL": ("--dut", "api", "--agent", f"exec:{ROOT / 'build/fcvi-agent'}"),
    "RDMA verbs": ("--dut", "verbs", "--agent", "exec:/usr/bin/python3 -m harness.tests.independent.verbs.agent"),
}


@dataclass
class Plan:
    """Each part without repetitions, in the order in which it was added."""

    cases: dict[tuple[str, str], None] = field(default_factory=dict)  # name of the book, id of the case
    programs: dict[str, None] = field(default_factory=dict)  # sources of C tests
    tests: dict[str, None] = field(default_factory=dict)  # nodes of pytest
    why: list[str] = field(default_factory=list)
    not_covered: list[str] = field(default_factory=list)  # what the quick command has no test for

    def __bool__(self) -> bool:
        return bool(self.cases or self.programs or self.tests)

    def add_tests(self, nodes: list[str]) -> None:
        """Tests of Python; a node of a file that is there as a whole is there already."""
        for node in nodes:
            if node.partition("::")[0] not in self.tests:
                self.tests[node] = None
