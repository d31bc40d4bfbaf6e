"""An entry of a register of errata, taken apart: where, text, send, receive, verdict, and what shows it."""

from __future__ import annotations

import functools
import re
from typing import Iterable

from .catalogue import Erratum, load_requirements
from .protocol import Protocol, in_force

#: The parts of an entry in the order in which they are read, and the labels that begin them in errata.md.
PARTS = ("where", "text", "send", "receive", "verdict", "shown by")
_LABELS = {
    "Where": "where", "Says": "text", "Send": "send", "Receive": "receive", "Wins": "verdict", "Verdict": "verdict",
    "Suite": "verdict", "Reading used": "verdict", "Shown by": "shown by",
}  # fmt: skip
_BEGIN = re.compile(rf"(?:^- |(?<=\s)- |^|(?<=\. ))({'|'.join(_LABELS)}):\s", re.M)
_OTHER = re.compile(r"(?:VI-DG|VI-ARCH|FC-FS|FC-GS)[^;]*")  # clauses of other documents
_CLAUSE = re.compile(
    r"\b(\d+(?:\.\d+)+|[A-F](?:\.\d+)+)\b|\b[Aa]nnex ([A-F])\b|\b([A-F])(?:-\w+)? rules?\b|\b[Rr]ules? ([A-F])\b|Tables? (\d+)"
)
_TABLE = re.compile(r"(\S+) \(Table (\d+)\)")  # the clause of a requirement that a table makes


def parts_of(erratum: Erratum) -> dict[str, str]:
    """The parts that the entry has, by name; words before the first label and sentences without one are text."""
    found: dict[str, list[str]] = {}
    pieces = _BEGIN.split(erratum.body)
    if pieces[0].strip():
        found["text"] = [pieces[0]]
    for label, words in zip(pieces[1::2], pieces[2::2]):
        found.setdefault(_LABELS[label], []).append(words)
    if "where" in found:  # "4.2. - The text says ...": what follows the place is text
        place, *rest = re.split(r"(?:^|\s)- ", "\n".join(found["where"]), maxsplit=1)
        found["where"] = [place]
        found.setdefault("text", [])[:0] = rest
    if not any(w.strip() for w in found.get("text", [])):
        found["text"] = [re.sub(r"^\[\w\] ", "", erratum.title)]
    return {part: " ".join(" ".join(found[part]).split()).removesuffix(" -") for part in PARTS if part in found}


def clause_of(erratum: Erratum) -> str:
    """The clause or annex that the entry names first; "" when it names none."""
    for match in _CLAUSE.finditer(_OTHER.sub("", parts_of(erratum).get("where", ""))):
        *named, table = match.groups()
        found = next((n for n in named if n), _clauses_of_tables(in_force()).get(table, ""))
        if found:
            return found
    return ""


@functools.cache
def _clauses_of_tables(books: tuple[Protocol, ...]) -> dict[str, str]:
    return {m[2]: m[1] for r in load_requirements(books) if (m := _TABLE.match(r.clause))}


def severity_of(erratum: Erratum) -> str:
    """W, S or D; an entry of the table of document errata is a D."""
    match = re.match(r"\[(\w)\]", erratum.title)
    return match[1] if match else "D"


def by_clause(errata: Iterable[Erratum]) -> list[Erratum]:
    """In the order of the clauses: numbers first, then annexes; of one clause by number of the entry."""

    def place(erratum: Erratum) -> tuple[list[tuple[bool, int, str]], int]:
        steps = clause_of(erratum).split(".")
        return [(not s.isdigit(), int(s) if s.isdigit() else 0, s) for s in steps], int(re.sub(r"\D", "", erratum.number))

    return sorted(errata, key=place)
