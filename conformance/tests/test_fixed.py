"""A device that refuses one configuration and takes another is accused of nothing (dut-protocol.md, section 7)."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from typing import Any, Callable

from fcvi.engine.pixit import DUT, Pixit, pixit_for
from fcvi.engine.results import Result, Verdict

from harness.tests.independent.choices import CHOICES
from harness.tests.independent.chosen import Choices
from harness.tests.independent.faults import Faults
from harness.tests.independent.rpc import Closed, Server
from harness.tests.inside import InsideDut

from .as_real import worker
from .variants import CASES

_PLAIN = replace(pixit_for("virtual"), free=frozenset())


class Fixed:
    """The independent endpoint that is what it is."""

    def __init__(self, write: Callable[[str], None], takes: Callable[[dict[str, Any]], bool]) -> None:
        self._inner, self._write, self._takes = Server(Choices(CHOICES, []), Faults(None), write), write, takes

    def line(self, raw: bytes) -> None:
        message = json.loads(raw)
        if message.get("method") == "reset" and not self._takes(message["params"]):
            refused = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "fixed"}}
            self._write(json.dumps(refused) + "\n")
        else:
            self._inner.line(raw)


def _run(takes: Callable[[dict[str, Any]], bool], chosen: list[Any], pixit: Pixit) -> list[Result]:
    dut = InsideDut("fixed", lambda write: Fixed(write, takes), Closed)
    of = worker(dut, pixit)
    return [of.run(case, variant) for case, variant in chosen]


def test_a_configuration_that_the_device_cannot_have_is_undecided() -> None:
    chosen = [(c, v) for c, v in CASES if c.variant_id(v) == "5.3.2/dut-server"] * 4
    asked = count()
    results = _run(lambda config: next(asked) % 2 == 0, chosen, _PLAIN)
    assert [r.verdict for r in results] == [Verdict.PASS, Verdict.INCONCLUSIVE] * 2
    assert results[1].reason == "the device cannot be configured so: fixed"


def test_fixed_names_that_the_lab_declares_are_never_drawn() -> None:
    results = _run(lambda config: config["port_name"] == DUT.port_name, CASES[::60], _PLAIN)
    assert {r.verdict for r in results} <= {Verdict.PASS, Verdict.NOT_APPLICABLE}
    drawn = _run(lambda config: config["port_name"] == DUT.port_name, CASES[::60], pixit_for("virtual"))
    assert {r.verdict for r in drawn} <= {Verdict.ERROR, Verdict.NOT_APPLICABLE}
    assert any(r.reason == "reset was answered with error -32602 (fixed)" for r in drawn)
