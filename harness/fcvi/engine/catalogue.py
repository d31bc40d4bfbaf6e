"""The requirements and errata of the standards, as data."""

from __future__ import annotations

import csv
import functools
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, Optional, Sequence

from .protocol import Protocol, at_hand, in_force

REQUIREMENTS, ERRATA = "requirements.tsv", "errata.md"
#: Optional tables of a standard's folder.
ON_EVERY_FRAME, DECIDED_BY, CHANGED, PROOFS = "on_every_frame.tsv", "decided_by.tsv", "requirements_changed.tsv", "proofs.tsv"
EXPLAINED = "proofs_explained.tsv"
EVERY_CASE = "every call and completion"  #: the step of what is checked in every case, whatever it is about
COMES = "it comes"  #: the subject of a check that something comes at all
TURN = " :: "  #: stands in a subject before what tells one turn of a loop from the others
NOT_TESTED = "not_tested.tsv"
#: Of an edition: what became of each requirement of its base (editions.py).
HOLDS = "holds.tsv"


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
class DecidedBy:
    """A requirement that no check names by itself: checks that name these ones decide it.

    device: a broken device of the bank (conformance/tests) that broke the requirement and failed by one of them, if there is
    one; "" where the two say the same in other words.
    """

    id: str
    by: tuple[str, ...]
    device: str


@dataclass(frozen=True)
class Change:
    """A row of the catalogue that is not as it was first written: what it was, and why it was changed."""

    id: str
    kind_was: str
    observable_was: str
    reason: str
    level_was: str = ""  # of a table that has these columns
    subject_was: str = ""
    statement_was: str = ""
    condition_was: str = ""


@dataclass(frozen=True, order=True)
class Proof:
    """A check of a step, and whether a device that follows from it was failed by its requirement.

    verdict: "named" where one was, else what came of those that were tried (conformance/proofs). variant, device: of
    one run that shows it, and the requirements that failed it there; "" where none does.
    """

    step: str
    primitive: str
    subject: str
    requirement: str
    verdict: str
    variant: str
    device: str
    named: str

    @property
    def name(self) -> tuple[str, str, str, str]:
        """What tells its check from others."""
        return self.step, self.primitive, self.subject, self.requirement


def of_every_turn(name: tuple[str, str, str, str]) -> tuple[str, str, str, str]:
    """The name of a check whichever turn of a loop makes it."""
    return name[0], name[1], name[2].partition(TURN)[0], name[3]


@dataclass(frozen=True)
class Catalogue:
    """What a run needs of it: the level of each requirement, and the hash of the whole."""

    levels: dict[str, str]
    sha256: str


Chosen = Optional[Sequence[Protocol]]


@functools.cache
def rows(path: Path) -> tuple[dict[str, str], ...]:
    """The rows of a table; none where there is no such file."""
    if not path.exists():
        return ()
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@functools.cache
def _requirements(protocol: Protocol) -> tuple[Requirement, ...]:
    own = tuple(Requirement(**row) for row in rows(protocol.folder / REQUIREMENTS))
    if protocol.base is None:
        return own
    gone = not_held(protocol)
    return own + tuple(r for r in _requirements(protocol.base) if r.id not in gone)


@functools.cache
def not_held(protocol: Protocol) -> frozenset[str]:
    """The requirements of its base that are not an edition's: replaced there, void, or of no row in holds.tsv."""
    held = {row["requirement"] for row in rows(protocol.folder / HOLDS) if row["status"] == "holds"}
    return frozenset(r.id for r in (_requirements(protocol.base) if protocol.base else ()) if r.id not in held)


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
    if protocol.base is None:
        return dict(sorted(found.items(), key=lambda item: int(item[0][len(letter) :])))
    for match in re.finditer(rf"^\| ({letter}\d+) \| (\w) \| (.*?) \| (.*?) \| (.*?) \|$", text, re.M):
        found[match[1]] = Erratum(match[1], f"[{match[2]}] {match[4]}", f"- Where: {match[3]}\n- Reading used: {match[5]}")
    return {**found, **_errata(protocol.base)}


def load_requirements(protocols: Chosen = None) -> tuple[Requirement, ...]:
    """Every requirement of these standards (of those in force), in their order; one that two share is there once."""
    return tuple({r.id: r for p in _chosen(protocols) for r in _requirements(p)}.values())


def load_errata(protocols: Chosen = None) -> dict[str, Erratum]:
    """Every erratum of these standards by its number."""
    return {number: erratum for p in _chosen(protocols) for number, erratum in _errata(p).items()}


def load_decided_by(protocols: Chosen = None) -> dict[str, DecidedBy]:
    """Every row of decided_by.tsv by its requirement."""
    found = (row for p in _chosen(protocols) for row in rows(p.folder / DECIDED_BY))
    return {r["requirement"]: DecidedBy(r["requirement"], tuple(r["by"].split()), r["device"]) for r in found}


def load_on_every_frame(protocols: Chosen = None) -> dict[str, tuple[str, ...]]:
    """Wire-format requirements that no case lists, since the codec looks at them in every frame of these IUs."""
    found = (row for p in _chosen(protocols) for row in rows(p.folder / ON_EVERY_FRAME))
    return {row["requirement"]: tuple(row["ius"].split()) for row in found}


def proved_by(protocols: Chosen = None) -> dict[str, list[str]]:
    """The devices of proofs.tsv that made a case fail and name a requirement, by that requirement."""
    found: dict[str, list[str]] = {}
    for one in load_proofs(protocols):
        if one.requirement in one.named.split():
            found.setdefault(one.requirement, []).append(one.device)
    return found


def load_proofs(protocols: Chosen = None) -> tuple[Proof, ...]:
    """Every row of proofs.tsv."""
    return tuple(Proof(**row) for p in _chosen(protocols) for row in rows(p.folder / PROOFS))


def load_explained(protocols: Chosen = None) -> Mapping[tuple[str, str, str, str], str]:
    """Why no device of its own shows a check, by what tells it from others (Proof.name): proofs_explained.tsv."""
    found = (row for p in _chosen(protocols) for row in rows(p.folder / EXPLAINED))
    return {(row["step"], row["primitive"], row["subject"], row["requirement"]): row["reason"] for row in found}


def load_not_tested(protocols: Chosen = None) -> dict[str, str]:
    """Why nothing tests a row that can be seen, by its requirement."""
    return {row["requirement"]: row["reason"] for p in _chosen(protocols) for row in rows(p.folder / NOT_TESTED)}


def load_changes(protocols: Chosen = None) -> tuple[Change, ...]:
    """Every row of requirements_changed.tsv."""
    return tuple(Change(**row) for p in _chosen(protocols) for row in rows(p.folder / CHANGED))


def sha256(protocols: Chosen = None) -> str:
    """Of the catalogue: the requirements and errata of each standard, in their order; of an edition those of its base, too."""
    whole = hashlib.sha256()
    for protocol in at_hand() if protocols is None else protocols:
        folders: list[tuple[Path, tuple[str, ...]]] = [(protocol.folder, (REQUIREMENTS, ERRATA))]
        if protocol.base is not None:
            folders += [(protocol.folder, (HOLDS,)), (protocol.base.folder, (REQUIREMENTS, ERRATA))]
        for folder, names in folders:
            for name in names:
                path = folder / name
                whole.update(path.read_bytes() if path.exists() else b"")
    return whole.hexdigest()


def load_catalogue(protocols: Chosen = None) -> Catalogue:
    """The levels of the requirements, and the hash of the whole."""
    chosen = at_hand() if protocols is None else protocols
    return Catalogue({r.id: r.level for r in load_requirements(chosen)}, sha256(chosen))


def _chosen(protocols: Chosen) -> Sequence[Protocol]:
    return in_force() if protocols is None else protocols
