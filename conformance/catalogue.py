"""The requirement catalogue and the errata register as data."""

from __future__ import annotations

import csv
import functools
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent / "fcvi"
REQUIREMENTS = HERE / "requirements.tsv"
ERRATA = HERE / "errata.md"
ON_EVERY_FRAME = HERE / "on_every_frame.tsv"
DECIDED_BY = HERE / "decided_by.tsv"
CHANGED = HERE / "requirements_changed.tsv"


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
    """One place where the standard contradicts itself, and what was decided."""

    number: str
    title: str
    body: str


@functools.cache
def load_requirements() -> tuple[Requirement, ...]:
    """Every row of requirements.tsv."""
    with REQUIREMENTS.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return tuple(Requirement(**row) for row in rows)


@dataclass(frozen=True)
class DecidedBy:
    """A requirement that no check names by itself: checks that name these ones decide it.

    device: a broken device of the bank (conformance/tests) that broke the requirement and failed by one of them, if there is
    one; "" where the two say the same in other words.
    """

    id: str
    by: tuple[str, ...]
    device: str


@functools.cache
def load_decided_by() -> dict[str, DecidedBy]:
    """Every row of decided_by.tsv by its requirement."""
    with DECIDED_BY.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {r["requirement"]: DecidedBy(r["requirement"], tuple(r["by"].split()), r["device"]) for r in rows}


@functools.cache
def load_on_every_frame() -> dict[str, tuple[str, ...]]:
    """Wire-format requirements that no case lists, since the codec looks at them in every frame of these IUs."""
    with ON_EVERY_FRAME.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["requirement"]: tuple(row["ius"].split()) for row in rows}


@dataclass(frozen=True)
class Change:
    """A row of the catalogue that is not as it was first written: what it was, and why it was changed."""

    id: str
    kind_was: str
    observable_was: str
    reason: str


@functools.cache
def load_changes() -> tuple[Change, ...]:
    """Every row of requirements_changed.tsv."""
    with CHANGED.open(encoding="utf-8", newline="") as file:
        return tuple(Change(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@functools.cache
def load_errata() -> dict[str, Erratum]:
    """Every entry of errata.md by its number; those of the table in its section D as well."""
    text = ERRATA.read_text(encoding="utf-8")
    found: dict[str, Erratum] = {}
    for match in re.finditer(r"^### (E\d+)(.*?)\n(.*?)(?=^#|\Z)", text, re.M | re.S):
        found[match[1]] = Erratum(match[1], match[2].strip(), match[3].strip().removesuffix("---").strip())
    for match in re.finditer(r"^\| (E\d+) \| (.*?) \| (.*?) \| (.*?) \|$", text, re.M):
        found[match[1]] = Erratum(match[1], match[3], f"Where: {match[2]}\nReading used: {match[4]}")
    return dict(sorted(found.items(), key=lambda item: int(item[0][1:])))


def sha256() -> str:
    """Of the catalogue: requirements and errata."""
    return hashlib.sha256(REQUIREMENTS.read_bytes() + ERRATA.read_bytes()).hexdigest()
