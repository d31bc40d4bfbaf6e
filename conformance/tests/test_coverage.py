"""The variants of the suite cover every legal pair, triple and 4-tuple of choices; what is legal is what the standard says."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from conformance.coverage import MODELS, constant, reasons, row_of, rows_of_the_suite
from conformance.fcvi import legality
from conformance.covering import (
    Model, computed_rows, covering_file, covering_rows, legal, legal_parts, legal_rows, uncovered, written_down,
)
from conformance.fcvi.legality import DISCONNECTS, LINK_EVENTS, MESSAGES, RDMA, RETRIES, SETUPS
from fcvi.engine.protocol import Protocol, registered
from fcvi.engine.results import Verdict

from .faulty import Fault, FaultyDut
from .test_faults import VARIANTS, run_on


@pytest.mark.parametrize("book", registered(), ids=lambda b: b.book)
def test_what_has_one_value_in_a_book_has_a_reason(book: Protocol) -> None:
    assert reasons(book).keys() == constant(book).keys()


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_every_legal_combination_stands_in_a_variant(model: Model) -> None:
    rows = rows_of_the_suite(model)
    assert [size for size in range(2, model.strength + 1) if uncovered(model, rows, size)] == []


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_the_rows_alone_do_it_and_are_few(model: Model) -> None:
    rows = covering_rows(model)
    assert len(rows) <= 111 and all(legal(model, row) for row in rows)
    assert not any(uncovered(model, rows, size) for size in range(2, model.strength + 1))
    assert all(uncovered(model, [r for r in rows if r is not row], model.strength) for row in rows)  # none is for nothing


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_the_rows_that_are_kept_are_those_that_are_computed(model: Model) -> None:
    assert computed_rows(model) == covering_rows(model), "python3 -m conformance.coverage --write computes them anew"


@pytest.mark.parametrize("book", sorted({model.book for model in MODELS}))
def test_the_file_holds_nothing_else(book: str) -> None:
    models = [model for model in MODELS if model.book == book]
    assert covering_file(book).read_text(encoding="utf-8") == written_down(models)


def test_a_model_with_other_factors_than_the_file_is_computed() -> None:
    fewer = replace(LINK_EVENTS, factors={name: LINK_EVENTS.factors[name] for name in (*list(LINK_EVENTS.factors)[:-1],)})
    assert covering_rows(fewer) == computed_rows(fewer) and legality.LOGIN not in covering_rows(fewer)[0]


def test_what_is_legal_by_hand() -> None:
    """Counted without the module's own functions: 5.2.4, 5.9.4.2 and a Fabric for another order."""
    links = 4 + 2  # topologies with order, and the two of them that have a Fabric without
    kinds = {"send": 3 * 2, "rdma-write": 3 * 2, "rdma-read": 2 * 1}  # levels by Immediate Data
    assert len(legal_rows(MESSAGES)) == 2 * 2 * 2 * links * sum(kinds.values())
    pairs = {frozenset(part) for part in legal_parts(MESSAGES, 2)}
    for one, other in (
        ((legality.OPERATION, "rdma-read"), (legality.LEVEL, "unreliable")),
        ((legality.OPERATION, "rdma-read"), (legality.IMMEDIATE, "with")),
        ((legality.ORDER, "out-of-order"), (legality.TOPOLOGY, "private-loop")),
        ((legality.ORDER, "out-of-order"), (legality.TOPOLOGY, "point-to-point")),
    ):
        assert frozenset((one, other)) not in pairs
    every = sum(len(a) * len(b) for a, b in itertools.combinations(MESSAGES.factors.values(), 2))
    assert len(pairs) == every - 4


def test_the_command_prints_each_size() -> None:
    done = subprocess.run([sys.executable, "-m", "conformance.coverage"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("100.0 %") == sum(model.strength - 1 for model in MODELS)
    assert "4-tuples   2242 of  2242 legal ones" in done.stdout


@pytest.mark.parametrize("case,model", [("5.2.combined", MESSAGES), ("5.3.2.combined", SETUPS), ("5.3.5.combined", DISCONNECTS),
                                        ("5.2.4.combined", RDMA), ("8.5.4.combined", RETRIES), ("7.7.combined", LINK_EVENTS),
                                        ("TCP.3.1.t", MODELS[-2]), ("TCP.3.1.u", MODELS[-1])],
                         ids=lambda v: getattr(v, "name", str(v)))  # fmt: skip
def test_the_variants_of_the_combined_cases_are_the_covering_rows(case: str, model: Model) -> None:
    """What a variant chooses, read back from its parameters and its configuration, is the row that it was made for."""
    [found] = [c for book in registered() for c in book.cases() if c.id == case and book.book == model.book]
    made = [{name: row[name] for name in model.factors} for v in found.variants if (row := row_of(model, v)) is not None]
    assert made == [dict(row) for row in covering_rows(model)]


def test_legal_disconnects_retries_and_link_events_by_hand() -> None:
    assert len(legal_rows(DISCONNECTS)) == 2 * 3 * 3 * 2 * 4 * 2 * 2
    elsewhere = 4 * 3 * 2  # topologies, levels, logins
    assert len(legal_rows(RETRIES)) == elsewhere * (2 * (1 + 2) + (1 + 2))  # client with and without BA_ACC, server
    assert len(legal_rows(LINK_EVENTS)) == 2 * 2 * 3 * 2 * (2 * 4 + 2 * 2 + 2)  # LOGO anywhere; LR and NOS; LIP
    written = 2 * 3 * 2 * 2 * 2 * 2  # who, levels, classes, orders, Immediate Data, addresses
    reads = 2 * 2 * 2 * 2 * 2
    assert len(legal_rows(RDMA)) == 3 * written + written // 2 + 3 * reads + reads // 2  # three lengths, and one in several IUs


class WrongWhere(FaultyDut):
    """The reference port, deaf to Messages where four choices of its configuration meet, and right anywhere else."""

    def __init__(self, where: dict[str, Any]) -> None:
        self.where = where
        super().__init__(Fault("where", "", ""))

    def reset(self, config: dict[str, Any]) -> None:
        deaf = all(config[name] == value for name, value in self.where.items())
        self.fault.into = {"SEND_RQST", "WRITE_RQST", "READ_RQST"} if deaf else set()
        super().reset(config)


PLACES = [
    {
        "class": int(row[legality.CLASS]), "fabric": row[legality.ORDER], "topology": row[legality.TOPOLOGY],
        "login": row[legality.LOGIN],
    }
    for row in legal_rows(MESSAGES)
]  # fmt: skip
PLACES = [place for i, place in enumerate(PLACES) if place not in PLACES[:i]]


@pytest.mark.parametrize("where", PLACES[::4], ids=lambda w: "-".join(map(str, w.values())))
def test_a_device_that_is_wrong_where_four_choices_meet_is_caught(where: dict[str, Any]) -> None:
    verdicts = {
        (all(v.config[name] == value for name, value in where.items()), run_on(WrongWhere(where), ident).verdict)
        for ident, (case, v) in VARIANTS.items() if case.id == "5.2.combined"
    }  # fmt: skip
    assert verdicts == {(True, Verdict.FAIL), (False, Verdict.PASS)}
