"""The variants of the suite cover every legal pair, triple and 4-tuple of choices; what is legal is what the standard says."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from conformance.coverage import main, rows_of_the_suite
from conformance.fcvi import legality
from conformance.fcvi.legality import MESSAGES, MODELS, SETUPS, Model, covering_rows, legal, legal_parts, legal_rows, uncovered
from fcvi.engine.results import Verdict

from .faulty import Fault, FaultyDut
from .test_faults import VARIANTS, run_on


@pytest.mark.parametrize("size", (2, 3, 4))
@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_every_legal_combination_stands_in_a_variant(model: Model, size: int) -> None:
    assert uncovered(model, rows_of_the_suite(model), size) == set()


@pytest.mark.parametrize("model,most", [(MESSAGES, 107), (SETUPS, 107)], ids=lambda v: getattr(v, "name", str(v)))
def test_the_rows_alone_do_it_and_are_few(model: Model, most: int) -> None:
    rows = covering_rows(model)
    assert len(rows) <= most and all(legal(model, row) for row in rows)
    assert [len(uncovered(model, rows, size)) for size in (2, 3, 4)] == [0, 0, 0]
    assert all(uncovered(model, [r for r in rows if r is not row], model.strength) for row in rows)  # none is for nothing


def test_the_rows_are_the_same_each_time() -> None:
    covering_rows.cache_clear()
    first = covering_rows(MESSAGES)
    covering_rows.cache_clear()
    assert covering_rows(MESSAGES) == first


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


def test_the_command_prints_each_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert printed.count("100.0 %") == 6 and "4-tuples   2242 of  2242 legal ones" in printed


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
