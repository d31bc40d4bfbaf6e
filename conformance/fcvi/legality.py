"""What can be combined with what: factors, their values and the constraints of the standard, each written once.

A model is covered to strength N when every legal combination of values of any N factors stands in a row. A combination of
some factors is legal when a whole row that keeps all constraints has it.
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

ROLE, OPERATION, LEVEL, CLASS, ORDER = "role", "operation", "level", "class", "fabric order"
TOPOLOGY, LOGIN, IMMEDIATE, SIZE, INFO = "topology", "login", "immediate data", "receive size", "provider information"
WHO, TRAFFIC, LENGTH, CUT, ADDRESS = "who begins", "Messages before", "length", "IUs", "virtual address"
LOST, EVENT, BA = "lost IU", "event", "answer to ABTS"
_WITH_FABRIC = ("public-loop", "fabric")


@dataclass(frozen=True)
class Constraint:
    """A rule in words, with its clause, and whether a row keeps it."""

    words: str
    holds: Callable[[Row], bool]


@dataclass(frozen=True)
class Model:
    """Factors with their values, and what rules combinations out."""

    name: str
    factors: Mapping[str, tuple[str, ...]]
    constraints: tuple[Constraint, ...]
    strength: int

    def __hash__(self) -> int:
        return hash(self.name)


_ORDER_NEEDS_A_FABRIC = Constraint(
    "frames change their order in a Fabric only, which is where a topology has one (8.4.1, 4.2)",
    lambda r: r[ORDER] == "in-order" or r[TOPOLOGY] in _WITH_FABRIC,
)
_TOPOLOGIES = ("point-to-point", "private-loop", "public-loop", "fabric")
_LEVELS = ("unreliable", "reliable-delivery", "reliable-reception")
_ROLES, _LOGINS = ("dut-client", "dut-server"), ("implicit", "explicit")

MESSAGES = Model(
    "Messages",
    {
        ROLE: _ROLES, OPERATION: ("send", "rdma-write", "rdma-read"), LEVEL: _LEVELS, CLASS: ("3", "2"),
        ORDER: ("in-order", "out-of-order"), TOPOLOGY: _TOPOLOGIES, LOGIN: _LOGINS, IMMEDIATE: ("without", "with"),
    },
    (
        Constraint("RDMA Read needs a reliable level (5.2.4)", lambda r: r[OPERATION] != "rdma-read" or r[LEVEL] != "unreliable"),
        Constraint(
            "FCVI_READ_RQST has no Immediate Data (5.9.4.2)", lambda r: r[OPERATION] != "rdma-read" or r[IMMEDIATE] == "without"
        ),
        _ORDER_NEEDS_A_FABRIC,
    ),
    4,
)  # fmt: skip
SETUPS = Model(
    "Connection Setups",
    {
        ROLE: _ROLES, CLASS: ("3", "2"), TOPOLOGY: _TOPOLOGIES, LEVEL: _LEVELS, SIZE: ("2112", "512", "256"), LOGIN: _LOGINS,
        INFO: ("without", "with"),
    },
    (),
    4,
)  # fmt: skip
DISCONNECTS = Model(
    "Disconnects",
    {
        ROLE: _ROLES, WHO: ("dut", "tester", "both"), LEVEL: _LEVELS, CLASS: ("3", "2"), TOPOLOGY: _TOPOLOGIES, LOGIN: _LOGINS,
        TRAFFIC: ("without", "with"),
    },
    (),
    4,
)  # fmt: skip


def _tester_sends_the_data(row: Row) -> bool:
    return (row[OPERATION] == "rdma-write") == (row[WHO] == "tester")


RDMA = Model(
    "RDMA",
    {
        WHO: ("dut", "tester"), OPERATION: ("rdma-write", "rdma-read"), LEVEL: _LEVELS, CLASS: ("3", "2"),
        ORDER: ("in-order", "out-of-order"), LENGTH: ("1", "200", "501"), CUT: ("one", "several"),
        IMMEDIATE: ("without", "with"), ADDRESS: ("even", "odd"),
    },
    (
        *MESSAGES.constraints[:2],
        Constraint(
            "the tester cuts what it sends itself, and a Message of one frame is one IU (5.2.3, 5.2.4)",
            lambda r: r[CUT] == "one" or (r[LENGTH] == "501" and _tester_sends_the_data(r)),
        ),
    ),
    4,
)  # fmt: skip
RETRIES = Model(
    "Retries",
    {
        ROLE: _ROLES, LOST: ("request", "response"), BA: ("BA_ACC", "none"), CLASS: ("3", "2"), TOPOLOGY: _TOPOLOGIES,
        LEVEL: _LEVELS, LOGIN: _LOGINS,
    },
    (
        Constraint(
            "in class 2 the originator misses the ACK of a lost request before its answer (FC-FS): 8.5.2 b) is another case",
            lambda r: r[LOST] == "response" or r[CLASS] == "3",
        ),
        Constraint(
            "only the tester may leave an ABTS without its answer (FC-FS)", lambda r: r[BA] == "BA_ACC" or r[ROLE] == "dut-client"
        ),
    ),
    4,
)  # fmt: skip
LINK_EVENTS = Model(
    "Link events",
    {
        ROLE: _ROLES, EVENT: ("logo-of-the-dut", "logo-of-the-tester", "lr", "nos", "lip"), CLASS: ("3", "2"),
        TOPOLOGY: _TOPOLOGIES, LEVEL: _LEVELS, LOGIN: _LOGINS,
    },
    (
        Constraint(
            "a LIP is of loops, Link Reset and NOS/OLS are not (7.7.2 to 7.7.5)",
            lambda r: r[EVENT].startswith("logo") or (r[EVENT] == "lip") == r[TOPOLOGY].endswith("loop"),
        ),
    ),
    4,
)  # fmt: skip
MODELS = (MESSAGES, SETUPS, DISCONNECTS, RDMA, RETRIES, LINK_EVENTS)


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


#: The rows of each model, as computed_rows gives them: a line with the model's name, one with its factors, and the rows.
COVERING = Path(__file__).parent / "covering.tsv"


@functools.cache
def _kept() -> dict[str, list[list[str]]]:
    models = COVERING.read_text(encoding="utf-8").split("\n\n") if COVERING.exists() else []
    return {name: [line.split("\t") for line in lines] for name, *lines in (model.splitlines() for model in models)}


@functools.cache
def covering_rows(model: Model) -> tuple[Row, ...]:
    """As computed_rows. Every command that names a case needs them, so they are kept in a file; a test holds the two together."""
    names, *rows = _kept().get(model.name, [[]])
    if names != list(model.factors):
        return computed_rows(model)
    return tuple(dict(zip(names, row)) for row in rows)


def written_down() -> str:
    """What COVERING has to hold."""
    models = [
        "\n".join([model.name, *("\t".join(row) for row in (tuple(model.factors), *(r.values() for r in computed_rows(model))))])
        for model in MODELS
    ]
    return "\n\n".join(models) + "\n"
