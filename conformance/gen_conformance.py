"""Writes CONFORMANCE.md from the catalogue, the errata, the codec, the monitor and the cases.

Usage: python3 -m conformance.gen_conformance [--check]
"""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Mapping

from fcvi.fc import codec
from fcvi.engine.case import CaseInfo, load_cases

from fcvi.engine.catalogue import Requirement, load_changes, load_decided_by, load_errata, load_requirements
from fcvi.engine.protocol import Protocol, in_force

from . import gen_calls, gen_editions, register_all
from .claims import named_by_checks, unnamed

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MONITOR = HERE / "monitor/src"
TARGET = ROOT / "CONFORMANCE.md"


def codec_requirements(known: set[str]) -> set[str]:
    """Requirements that the codec enforces: those its sources and its field table name."""
    # the checks of another edition say nothing of a frame of this one, also where a requirement is the same
    files = [path for path in sorted((ROOT / "codec/src").rglob("*.[ch]")) if path.name != "check_rev1.c"]
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    named = set(re.findall(r'"(FCVI-[^"]+)"', text))
    for iu in codec.IUS:
        named |= {f"FCVI-T01-{iu}-enc", f"FCVI-T01-{iu}-pos"}
    named |= {f.requirement for f in codec.TABLE if f.kind == "rsvd"}
    return named & known


def monitor_requirements() -> dict[str, list[str]]:
    """Requirements that the monitor enforces, each with the files of its rules; those of Rev 1.0 are no rules of 2007."""
    found: dict[str, list[str]] = {}
    for path in sorted(path for path in MONITOR.rglob("*.c") if path.parent.name != "rev1"):
        for ident in sorted(set(re.findall(r'"(FCVI-[^"]+)"', path.read_text(encoding="utf-8")))):
            found.setdefault(ident, []).append(path.name)
    for iu in ("SEND_RQST", "WRITE_RQST"):
        found.setdefault(f"FCVI-T01-{iu}-pos", []).append("rules_5_5.c")
    found.setdefault("FCVI-T01-DISCONNECT_RQST-pos", []).append("mon_exchange.c")
    return found


def unknown_names(cases: list[CaseInfo]) -> list[str]:
    """What cases name that the catalogue or the errata register does not have."""
    known, errata = {r.id for r in load_requirements()}, load_errata()
    wrong = [f"case {c.id} names {r}" for c in cases for r in c.requirements if r not in known]
    wrong += [f"monitor's {f[0]} names {r}" for r, f in monitor_requirements().items() if r not in known]
    return wrong + [f"case {c.id} names {e}" for c in cases for e in c.errata if e not in errata]


@dataclass(frozen=True)
class Ways:
    """What names each requirement."""

    codec: set[str]
    monitor: Mapping[str, list[str]]
    checks: Mapping[str, list[str]]  # cases with a check that names it
    decided: Mapping[str, list[str]]  # cases that list it and have a check that decides it
    devices: Mapping[str, list[str]]  # broken devices of the banks that were made to break it

    def how(self, r: Requirement) -> list[str]:
        """Each way in words."""
        found = ["codec"] if r.id in self.codec else []
        if r.id in self.monitor:
            found.append(f"monitor ({', '.join(self.monitor[r.id])})")
        if r.id in self.checks:
            found.append("check of " + _some(self.checks[r.id]))
        elif r.id in self.decided:
            by = ", ".join(load_decided_by()[r.id].by)
            found.append(f"decided by checks of {by} in " + _some(self.decided[r.id]))
        return found


def _some(cases: list[str], most: int = 12) -> str:
    return ", ".join(cases[:most]) + (f" and {len(cases) - most} more cases" if len(cases) > most else "")


def ways(cases: list[CaseInfo], named: Mapping[str, set[str]], known: set[str]) -> Ways:
    """Of one standard: known are its requirements. named: what the checks of each case name (claims)."""
    checks: dict[str, list[str]] = {}
    decided: dict[str, list[str]] = {}
    table = load_decided_by()
    for case in cases:
        for ident in sorted(known & named[case.id] & set(case.requirements)):
            checks.setdefault(ident, []).append(case.id)
        for ident in case.requirements:
            if ident not in named[case.id] and ident in table:
                decided.setdefault(ident, []).append(case.id)
    for ident in sorted(known & set().union(*(named[c.id] for c in cases)) - set(checks)):  # no case lists it: a check all the same
        checks[ident] = [c.id for c in cases if ident in named[c.id]]
    in_monitor = {r: f for r, f in monitor_requirements().items() if r in known}
    return Ways(codec_requirements(known), in_monitor, checks, decided, broken_devices())


def broken_devices() -> dict[str, list[str]]:
    """The devices of the banks by the requirement that each was made to break; the tests run them."""
    found: dict[str, list[str]] = {}
    for entry in importlib.import_module("conformance.tests.bank.table").bank():
        for ident in entry.breaks:
            found.setdefault(ident, []).append(entry.name)
    return found


def not_tested(every: Ways, requirements: Iterable[Requirement]) -> list[Requirement]:
    """Testable `shall` rows that nothing names."""
    return [r for r in requirements if r.testable and r.level == "shall" and not every.how(r)]


def _tested_by(r: Requirement, every: Ways) -> str:
    found = every.how(r)
    if found:
        return "; ".join(found)
    if not r.testable:
        return r.observable.removeprefix("n/a: ")
    return "**not tested**" if r.level == "shall" else "not tested: breaking it fails no device"


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


def render(named: Mapping[str, set[str]]) -> str:
    """The document: the tables of each standard, in their order."""
    lines: list[str] = []
    for number, protocol in enumerate(in_force()):
        lines += ["", f"# {protocol.name} ({protocol.standard})", ""] if number else ["# Conformance", ""]
        lines += _book(protocol, named)
    return "\n".join([*lines, *gen_calls.render(), *gen_calls.render(gen_calls.VERBS)]) + "\n"


def _book(protocol: Protocol, named: Mapping[str, set[str]]) -> list[str]:
    requirements, cases = load_requirements([protocol]), load_cases([protocol])
    every = ways(cases, named, {r.id for r in requirements})
    testable = [r for r in requirements if r.testable]
    covered = [r for r in testable if every.how(r)]
    missing = [r.id for r in not_tested(every, requirements)]
    folder = protocol.folder.relative_to(ROOT).as_posix()
    lines = [
        f"Generated by `python3 -m conformance.gen_conformance` from `{folder}/requirements.tsv`, "
        f"`{folder}/errata.md`, the codec, the monitor and the cases. Do not edit.",
        "",
        f"{len(requirements)} statements, {len(testable)} of them testable, {len(covered)} tested "
        f"(named by the codec: {len(every.codec)}; by the monitor: {len(every.monitor)}; by a check of a case: "
        f"{len(every.checks)}; decided by a check that names another one: {len(set(every.decided) - set(every.checks))}).",
        "",
        "A device fails for a broken `shall`. A broken `should`, informative rule or example is reported as a notice.",
        "",
        f"A case may list only what a check in it names, what codec or monitor name, or what `{folder}/decided_by.tsv` "
        "says such a check decides: which broken device showed it stands there. The column \"seen to fail\" has devices of the "
        "bank (`conformance/tests/bank`) that break the statement; `make faults` runs them.",
        "",
        "Testable `shall` statements that nothing tests: " + (", ".join(missing) or "none") + ".",
        *_summary(list(requirements), every),
    ]
    clause = None
    for r in requirements:
        if r.clause.split(" ")[0] != clause:
            clause = r.clause.split(" ")[0]
            lines += ["", f"## Clause {clause}", "", "| id | level | statement | tested by | seen to fail |"]
            lines += ["| --- | --- | --- | --- | --- |"]
        devices = _some(every.devices.get(r.id, []), 3).replace(" cases", "")
        lines.append(f"| {r.id} | {r.level} | {_cell(r.statement)} | {_cell(_tested_by(r, every))} | {devices} |")
    changes = load_changes([protocol])
    if changes:
        lines += ["", "## Rows of the catalogue that were changed", "", "| id | kind before | reason |", "| --- | --- | --- |"]
        lines += [f"| {c.id} | {c.kind_was} | {_cell(c.reason)} |" for c in changes]
    return lines + _errata(protocol, cases) + gen_editions.render(protocol)


def _summary(requirements: list[Requirement], every: Ways) -> list[str]:
    """The contents list: each clause with its statements, how many can be tested, are tested, and were seen to fail."""
    clauses: dict[str, list[Requirement]] = {}
    for r in requirements:
        clauses.setdefault(r.clause.split(" ")[0], []).append(r)
    lines = ["", "## Contents", "", "| clause | statements | testable | tested | seen to fail |", "| --- | --- | --- | --- | --- |"]
    for clause, inside in clauses.items():
        testable = [r for r in inside if r.testable]
        tested = sum(1 for r in testable if every.how(r))
        failed = sum(1 for r in testable if r.id in every.devices)
        anchor = re.sub(r"[^a-z0-9 _-]", "", f"clause {clause}".lower()).replace(" ", "-")
        lines.append(f"| [{clause}](#{anchor}) | {len(inside)} | {len(testable)} | {tested} | {failed} |")
    return lines


def _errata(protocol: Protocol, cases: list[CaseInfo]) -> list[str]:
    errata = load_errata([protocol])
    if not errata:
        return []
    lines = ["", "## Errata", "", "What was decided where the standard contradicts itself, and the cases that touch it.", ""]
    users: dict[str, list[str]] = {}
    for case in cases:
        for number in case.errata:
            users.setdefault(number, []).append(case.id)
    lines += ["| no | title | required and tolerated | cases |", "| --- | --- | --- | --- |"]
    for erratum in errata.values():
        decided = [line for line in erratum.body.splitlines() if re.match(r"- (Send|Receive|Suite|API|Wins|Verdict)|Reading", line)]
        told = decided or [line for line in erratum.body.splitlines() if line and not line.startswith("- Shown by")][-1:]
        words = " ".join(line.removeprefix("- ") for line in told)
        lines.append(f"| {erratum.number} | {_cell(erratum.title)} | {_cell(words)} | {', '.join(users.get(erratum.number, []))} |")
    return lines


def main(argv: list[str]) -> int:
    """Write, or check that what is written is current."""
    register_all()
    cases = load_cases()
    wrong = [f"{words}, which does not exist" for words in unknown_names(cases)]
    named = named_by_checks(cases)
    on_every_frame = codec_requirements({r.id for r in load_requirements()}) | set(monitor_requirements())
    wrong += unnamed(cases, named, on_every_frame) + gen_calls.unnamed() + gen_calls.unnamed(gen_calls.VERBS)
    for words in wrong:
        print(f"gen_conformance: {words}", file=sys.stderr)
    if wrong:
        return 1
    text = render(named)
    if "--check" not in argv:
        Path(TARGET).write_text(text, encoding="utf-8")
        return 0
    if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
        print("gen_conformance: CONFORMANCE.md is stale; run python3 -m conformance.gen_conformance", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
