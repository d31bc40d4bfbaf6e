"""Combinations of choices: models of what is legal, few rows that cover every combination, and what is not covered.

A model has factors, their values and constraints. It is covered to strength N when every legal combination of values of any N
factors stands in a row. A combination of some factors is legal when a whole row that keeps all constraints has it.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable, Mapping

Row = Mapping[str, str]
Part = tuple[tuple[str, str], ...]  # a combination: factors with their values, in the order of the model


@dataclass(frozen=True)
class Constraint:
    """A rule in words, with its clause, and whether a row keeps it."""

    words: str
    holds: Callable[[Row], bool]


@dataclass(frozen=True)
class Model:
    """Factors with their values, and what rules combinations out."""

    book: str  # the folder that keeps its rows
    name: str
    factors: Mapping[str, tuple[str, ...]]
    constraints: tuple[Constraint, ...]
    strength: int

    def __hash__(self) -> int:
        return hash(self.name)


def legal(model: Model, row: Row) -> bool:
    """Whether the row keeps every constraint."""
    return all(c.holds(row) for c in model.constraints)


@functools.cache
def legal_rows(model: Model) -> tuple[Row, ...]:
    """Every legal row, in the order of the values."""
    names = list(model.factors)
    every = (dict(zip(names, values)) for values in itertools.product(*model.factors.values()))
    return tuple(row for row in every if legal(model, row))


def parts(row: Row, strength: int) -> list[Part]:
    """Every combination of so many factors in the row."""
    return list(itertools.combinations(row.items(), strength))


@functools.cache
def legal_parts(model: Model, strength: int) -> frozenset[Part]:
    """Every legal combination of so many factors."""
    return frozenset(part for row in legal_rows(model) for part in parts(row, strength))


def uncovered(model: Model, rows: Iterable[Row], strength: int) -> set[Part]:
    """The legal combinations that stand in none of these rows. A row that is not legal covers what is legal in it."""
    names = list(model.factors)
    return set(legal_parts(model, strength)).difference(
        *(parts({name: row[name] for name in names}, strength) for row in rows)
    )  # fmt: skip


def _masks(model: Model, rows: tuple[Row, ...]) -> list[int]:
    """For each row the combinations in it, of the model's strength: each combination is a bit of its own."""
    names = list(model.factors)
    place = [{value: i for i, value in enumerate(values)} for values in model.factors.values()]
    values = [tuple(place[i][row[name]] for i, name in enumerate(names)) for row in rows]
    masks, first = [0] * len(rows), 0
    for factors in itertools.combinations(range(len(names)), model.strength):
        sizes = [len(place[i]) for i in factors]
        bits = [1 << first + n for n in range(math.prod(sizes))]
        steps = [math.prod(sizes[n + 1 :]) for n in range(len(sizes))]
        for at, row in enumerate(values):
            masks[at] |= bits[sum(row[i] * step for i, step in zip(factors, steps))]
        first += len(bits)
    return masks


def computed_rows(model: Model) -> tuple[Row, ...]:
    """Few legal rows that cover every legal combination of the model's strength: each the one that adds most, the first of
    equals; at the end those whose combinations all stand in others are left out."""
    rows = legal_rows(model)
    masks = _masks(model, rows)
    left, chosen = functools.reduce(int.__or__, masks), []
    most = [(-mask.bit_count(), i) for i, mask in enumerate(masks)]  # what a row adds only grows less
    heapq.heapify(most)
    while left:
        _, best = heapq.heappop(most)
        adds = (-(masks[best] & left).bit_count(), best)
        if most and adds > most[0]:
            heapq.heappush(most, adds)
            continue
        chosen.append(best)
        left &= ~masks[best]
    for index in list(chosen):
        others = 0
        for other in chosen:
            others |= masks[other] if other != index else 0
        if masks[index] & ~others == 0:
            chosen.remove(index)
    return tuple(rows[i] for i in chosen)


def covering_file(book: str) -> Path:
    """The rows of each model of a book, as computed_rows gives them: a line with the model's name, one with its factors, and the
    rows.
    """
    return Path(__file__).parent / book / "covering.tsv"


@functools.cache
def _kept(book: str) -> dict[str, list[list[str]]]:
    path = covering_file(book)
    models = path.read_text(encoding="utf-8").split("\n\n") if path.exists() else []
    return {name: [line.split("\t") for line in lines] for name, *lines in (model.splitlines() for model in models)}


@functools.cache
def covering_rows(model: Model) -> tuple[Row, ...]:
    """As computed_rows. Every command that names a case needs them, so they are kept in a file; a test holds the two together."""
    names, *rows = _kept(model.book).get(model.name, [[]])
    if names != list(model.factors):
        return computed_rows(model)
    return tuple(dict(zip(names, row)) for row in rows)


def written_down(models: Iterable[Model]) -> str:
    """What the file of these models, those of one book, has to hold."""
    texts = [
        "\n".join([model.name, *("\t".join(row) for row in (tuple(model.factors), *(r.values() for r in computed_rows(model))))])
        for model in models
    ]
    return "\n\n".join(texts) + "\n"
