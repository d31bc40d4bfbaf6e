"""Prints for ``fcvi show --map`` what a thing of the VI Architecture is with RDMA verbs, and the other way round.

The table is conformance/verbs/mapping.tsv: a row has names of either side (several with "; " between, none where the other side has
nothing of the kind), the clauses that they are in, how they compare ("same", "differs" or "none"), and what changes.
"""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Callable, Optional

from fcvi.engine.catalogue import rows
from fcvi.engine.protocol import registered
from fcvi.engine.words import complain, printable

NAME = "mapping.tsv"
_WIDTH = 100


@dataclass(frozen=True)
class Pair:
    """A row of the table."""

    via: tuple[str, ...]
    via_clauses: tuple[str, ...]
    verbs: tuple[str, ...]
    verbs_clauses: tuple[str, ...]
    relation: str
    change: str

    def names(self) -> tuple[str, ...]:
        """Of either side."""
        return self.via + self.verbs


def table(path: Path) -> list[Pair]:
    """The rows of the file."""
    return [
        Pair(_split(r["via"]), _split(r["via_clauses"]), _split(r["verbs"]), _split(r["verbs_clauses"]), r["relation"], r["change"])
        for r in rows(path)
    ]


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split("; ")) if text else ()


def _alike(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())


def about(pairs: list[Pair], item: str) -> list[Pair]:
    """The rows that have this name, written with or without blanks, in any case; else those of whose names it is a part."""
    wanted = _alike(item)
    same: Callable[[str], bool] = lambda name: _alike(name) == wanted
    part: Callable[[str], bool] = lambda name: bool(wanted) and wanted in _alike(name)
    return next((found for fits in (same, part) if (found := [p for p in pairs if any(map(fits, p.names()))])), [])


def _print(pair: Pair) -> None:
    print(_side(pair.via, pair.via_clauses) if pair.via else "VIA: nothing of the kind")
    nearest = "nothing of the kind; nearest: " if pair.relation == "none" and pair.via else ""
    verbs = _side(pair.verbs, pair.verbs_clauses) if pair.verbs else "nothing of the kind"
    print(f"  verbs: {nearest if pair.verbs else ''}{verbs}")
    print(textwrap.fill(f"{pair.relation}: {pair.change}", _WIDTH, initial_indent="  ", subsequent_indent="    ") + "\n")


def _side(names: tuple[str, ...], clauses: tuple[str, ...]) -> str:
    return ", ".join(names) + (f"  ({', '.join(clauses)})" if clauses else "")


def _path() -> Optional[Path]:
    """The table, of whichever registered standard has one."""
    return next((p.folder / NAME for p in registered() if (p.folder / NAME).is_file()), None)


def show(item: str, as_json: bool) -> int:
    """Print what the table says of one name, or ("") all of it. Returns the exit status: 0, or 2 for an unknown name."""
    path = _path()
    pairs = [] if path is None else table(path)
    found = about(pairs, item) if item else pairs
    if not found:
        complain(f"show --map {printable(item)}: neither VIA nor verbs have this name; `fcvi show --map` prints the whole table")
        return 2
    if as_json:
        print(json.dumps({"kind": "mapping", "item": item, "pairs": [asdict(p) for p in found]}))
        return 0
    for pair in found:
        _print(pair)
    return 0
