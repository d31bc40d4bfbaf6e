"""The requirements and errata of the registered standards, as data."""

from __future__ import annotations

import csv
import functools
import hashlib
import re
from dataclasses import dataclass
from typing import Optional, Sequence

from .protocol import Protocol, registered

REQUIREMENTS, ERRATA = "requirements.tsv", "errata.md"


@dataclass(frozen=True)
class Requirement:
    """One normative statement."""

    id: str
    clause: str
    level: str  # shall, should, may, informative-rule or example
    subject: str
    statement: str
    kind: str
    observable: str
    condition: str

    @property
    def testable(self) -> bool:
        """Whether a tester can observe it."""
        return self.kind != "untestable"


@dataclass(frozen=True)
class Erratum:
    """One place where a standard contradicts itself, and what was decided."""

    number: str
    title: str
    body: str


@dataclass(frozen=True)
class Catalogue:
    """What a run needs of it: the level of each requirement, and the hash of the whole."""

    levels: dict[str, str]
    sha256: str


Chosen = Optional[Sequence[Protocol]]


@functools.cache
def _requirements(protocol: Protocol) -> tuple[Requirement, ...]:
    with (protocol.folder / REQUIREMENTS).open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return tuple(Requirement(**row) for row in rows)


@functools.cache
def _errata(protocol: Protocol) -> dict[str, Erratum]:
    """Every entry of errata.md by its number; those of the table in its section D as well."""
    path, letter = protocol.folder / ERRATA, protocol.erratum
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found: dict[str, Erratum] = {}
    for match in re.finditer(rf"^### ({letter}\d+)(.*?)\n(.*?)(?=^#|\Z)", text, re.M | re.S):
        found[match[1]] = Erratum(match[1], match[2].strip(), match[3].strip().removesuffix("---").strip())
    for match in re.finditer(rf"^\| ({letter}\d+) \| (.*?) \| (.*?) \| (.*?) \|$", text, re.M):
        found[match[1]] = Erratum(match[1], match[3], f"Where: {match[2]}\nReading used: {match[4]}")
    return dict(sorted(found.items(), key=lambda item: int(item[0][len(letter) :])))


def load_requirements(protocols: Chosen = None) -> tuple[Requirement, ...]:
    """Every requirement of these standards (of all that are registered), in their order."""
    return tuple(r for p in _chosen(protocols) for r in _requirements(p))


def load_errata(protocols: Chosen = None) -> dict[str, Erratum]:
    """Every erratum of these standards by its number."""
    return {number: erratum for p in _chosen(protocols) for number, erratum in _errata(p).items()}


def sha256(protocols: Chosen = None) -> str:
    """Of the catalogue: the requirements and errata of each standard, in their order."""
    whole = hashlib.sha256()
    for protocol in _chosen(protocols):
        for name in (REQUIREMENTS, ERRATA):
            path = protocol.folder / name
            whole.update(path.read_bytes() if path.exists() else b"")
    return whole.hexdigest()


def load_catalogue(protocols: Chosen = None) -> Catalogue:
    """The levels of the requirements, and the hash of the whole."""
    return Catalogue({r.id: r.level for r in load_requirements(protocols)}, sha256(protocols))


def _chosen(protocols: Chosen) -> Sequence[Protocol]:
    return registered() if protocols is None else protocols
