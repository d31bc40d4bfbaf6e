"""Writes CONFORMANCE.md, the index, and that of each book, from catalogues, errata, codec, monitor, cases and proofs.

Usage: python3 -m conformance.gen_conformance [--check]
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Mapping, Sequence

from fcvi.fc import codec
from fcvi.engine.case import CaseInfo, load_cases

from fcvi.engine.catalogue import Requirement, load_decided_by, load_errata, load_requirements
from fcvi.engine.protocol import Protocol, registered
from fcvi.engine.scenario import FAILING_LEVELS

from . import gen_book, gen_calls, gen_editions, gen_index, register_all
from .claims import named_by_checks, unnamed
from .gen_book import Book
from .standing import Known

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
    return Ways(codec_requirements(known), in_monitor, checks, decided)


def not_tested(every: Ways, requirements: Iterable[Requirement]) -> list[Requirement]:
    """Testable `shall` rows that nothing names."""
    return [r for r in requirements if r.testable and r.level == "shall" and not every.how(r)]


def books(named: Mapping[str, set[str]]) -> list[Book]:
    """The five books, in the order of the index. named: what the checks of each case of FC-VI name (claims)."""
    every = {protocol.book: protocol for protocol in registered()}
    return [_of_2007(every["fcvi"], named), *(_of_cases(every[name]) for name in ("rev1", "vitcp", "vipl", "verbs"))]


def _of_2007(protocol: Protocol, named: Mapping[str, set[str]]) -> Book:
    requirements, cases = load_requirements([protocol]), load_cases([protocol])
    ways_ = ways(cases, named, {r.id for r in requirements})
    known = Known({r.id: ways_.how(r) for r in requirements})
    note = (
        "A case may list only what a check in it names, what codec or monitor name, or what `decided_by.tsv` says such a check "
        "decides. `make faults` runs the devices of the bank."
    )
    return Book(protocol, requirements, cases, known, note, lambda: gen_editions.render(protocol))


_NOTES = {
    "rev1": "The rows of this edition alone; those of 2007 that hold here stand in the page of `fcvi`.",
    "vipl": "`S` is the VI Architecture, `G` the Developer's Guide.",
    "verbs": "Rows whose condition does not hold for a provider are not judged.",
}


def _of_cases(protocol: Protocol) -> Book:
    """A book of which the cases say what they look at."""
    own = [r for r in load_requirements([protocol]) if r.id.startswith(protocol.prefix)]
    cases = load_cases([protocol])
    looked: dict[str, list[str]] = {}
    idle: dict[str, list[str]] = {}
    for case in cases:
        for ident in case.requirements:
            (idle if gen_calls.idle(case) else looked).setdefault(ident, []).append(case.id)
    words = {ident: [_some(found)] for ident, found in looked.items()}
    for ident, found in idle.items():
        words.setdefault(ident, []).append(f"with an injector or a second process: {_some(found)}")
    failing = frozenset({"shall", "may"}) if protocol.book == "verbs" else FAILING_LEVELS  # errata of verbs, 7
    known = Known(words, failing)
    return Book(protocol, own, cases, known, _NOTES.get(protocol.book, ""))


def documents(every: Sequence[Book]) -> dict[Path, str]:
    """What is generated, by its place."""
    found = {TARGET: gen_index.render(every)}
    return {**found, **{book.protocol.folder / TARGET.name: gen_book.render(book) for book in every}}


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
    written = documents(books(named))
    if "--check" not in argv:
        for path, text in written.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [path for path, text in written.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"gen_conformance: {path.relative_to(ROOT)} is stale; run python3 -m conformance.gen_conformance", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
