"""Says how a case of RDMA verbs is declared: its rows by their short ids, and its variants."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Mapping, Optional, Sequence

from fcvi.engine.case import Body, Registry, Variant, case

REGISTRY = Registry("RDMA verbs")
#: Conditions of the rows (``errata.md``) as expressions over the PICS. READ is asked of the device: `session.need_read`.
IWARP, IB, SRQ, MW, CM, MT = "flavour == 'iwarp'", "flavour == 'ib'", "srq", "mw", "cm", "threads"


def spread(words: str) -> list[str]:
    """The ids in a list such as ``5.2-01..03 5.3-02``."""
    found = []
    for word in words.split():
        first, _, last = word.partition("..")
        clause, _, number = first.rpartition("-")
        found += [f"{clause}-{n:02d}" for n in range(int(number), int(last or number) + 1)]
    return found


def verbs(
    number: int, title: str, rows: str, *, errata: str = "", applies: str = "", variants: Optional[Sequence[Variant]] = None,
    tags: str = "",
) -> Callable[[Body], Body]:  # fmt: skip
    """Declare VERBS.<number>. rows: as `spread` reads them, without their prefix; errata: numbers with blanks between."""
    ids = spread(rows)
    clause = ", ".join(dict.fromkeys(row.rpartition("-")[0] for row in ids))
    return case(
        REGISTRY, f"VERBS.{number}", title, clause=clause, requirements=[f"VERBS-{row}" for row in ids], applies=applies,
        errata=errata.split(), variants=None if variants is None else list(variants), tags=tags.split(),
    )  # fmt: skip


def each(name: str, values: Sequence[str] | Mapping[str, Any], applies: Mapping[str, str] = {}) -> list[Variant]:
    """A variant for each value of one parameter; applies: the condition of a value, by what stands in the id."""
    given = values if isinstance(values, Mapping) else {value: value for value in values}
    return [Variant(key, {name: value}, applies.get(key, "")) for key, value in given.items()]


def product(*lists: Sequence[Variant]) -> list[Variant]:
    """Every combination of the variants of several lists."""
    return [_joined(chosen) for chosen in itertools.product(*lists)]


def pairwise(*lists: Sequence[Variant]) -> list[Variant]:
    """Combinations in which every two values of different lists meet once at least: a covering array of strength two."""
    places = [range(len(variants)) for variants in lists]
    missing = {
        (i, a, j, b) for i, j in itertools.combinations(range(len(lists)), 2) for a in places[i] for b in places[j]
    }  # fmt: skip
    rows: list[tuple[int, ...]] = []
    while missing:
        best = max(itertools.product(*places), key=lambda row: sum(pair in missing for pair in _pairs(row)))
        missing -= set(_pairs(best))
        rows.append(best)
    return [_joined([variants[k] for variants, k in zip(lists, row)]) for row in sorted(rows)]


def _pairs(row: Sequence[int]) -> list[tuple[int, int, int, int]]:
    return [(i, row[i], j, row[j]) for i, j in itertools.combinations(range(len(row)), 2)]


def _joined(chosen: Sequence[Variant]) -> Variant:
    params = {name: value for variant in chosen for name, value in variant.params.items()}
    applies = " and ".join(f"({variant.applies})" for variant in chosen if variant.applies)
    return Variant("-".join(variant.suffix for variant in chosen if variant.suffix), params, applies)
