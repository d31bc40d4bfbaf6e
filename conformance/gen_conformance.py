"""Writes CONFORMANCE.md, the index, and that of each book, from catalogues, errata, codec, monitor, cases and proofs.

Usage: python3 -m conformance.gen_conformance [--check]
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import Iterator, Sequence

from fcvi.fc import codec
from fcvi.engine.case import CaseInfo, load_cases

from fcvi.engine.catalogue import load_errata, load_requirements
from fcvi.engine.protocol import Protocol, registered

from . import gen_book, gen_editions, gen_index, register_all
from .gen_book import Book
from .proofs.claims import failing_levels
from .standing import Known

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MONITOR = HERE / "monitor/src"
_LACKS = re.compile(r"two processes")
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


def _some(cases: list[str], most: int = 12) -> str:
    return ", ".join(cases[:most]) + (f" and {len(cases) - most} more cases" if len(cases) > most else "")


def books() -> list[Book]:
    """The five books, in the order of the index."""
    every = {protocol.book: protocol for protocol in registered()}
    return [_of_2007(every["fcvi"]), *(_of_cases(every[name]) for name in ("rev1", "vitcp", "vipl", "verbs"))]


def _of_2007(protocol: Protocol) -> Book:
    book = _of_cases(protocol)
    looked = {ident: list(words) for ident, words in book.known.looked.items()}
    in_codec, in_monitor = codec_requirements({r.id for r in book.requirements}), monitor_requirements()
    for r in book.requirements:
        words = ["codec"] * (r.id in in_codec) + [f"monitor ({', '.join(in_monitor[r.id])})" for _ in [0] if r.id in in_monitor]
        looked[r.id] = words + looked.get(r.id, [])
    return replace(book, known=replace(book.known, looked=looked), more=lambda: gen_editions.render(protocol))


_NOTES = {
    "fcvi": "`make faults` runs the devices of the bank.",
    "rev1": "The rows of this edition alone; those of 2007 that hold here stand in the page of `fcvi`.",
    "vipl": "`S` is the VI Architecture, `G` the Developer's Guide.",
    "verbs": "Rows whose condition does not hold for a provider are not judged.",
}


def _is_idle(case: CaseInfo) -> bool:
    """Whether the case needs something that no call can bring about: an injector, or a second process."""
    return "fault" in case.tags or any(_LACKS.search(text) for text in _texts(case.body.__code__))


def _texts(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _texts(constant)
        elif isinstance(constant, str):
            yield constant


def _of_cases(protocol: Protocol) -> Book:
    """A book of which the cases say what they look at."""
    own = [r for r in load_requirements([protocol]) if r.id.startswith(protocol.prefix)]
    cases = load_cases([protocol])
    looked: dict[str, list[str]] = {}
    idle: dict[str, list[str]] = {}
    for case in cases:
        for ident in case.requirements:
            (idle if _is_idle(case) else looked).setdefault(ident, []).append(case.id)
    words = {ident: [_some(found)] for ident, found in looked.items()}
    for ident, found in idle.items():
        words.setdefault(ident, []).append(f"with an injector or a second process: {_some(found)}")
    known = Known(words, failing_levels(protocol))
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
    for words in wrong:
        print(f"gen_conformance: {words}", file=sys.stderr)
    if wrong:
        return 1
    written = documents(books())
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
