"""A standard of three requirements about a counter: all that a second standard needs in order to be tested and reported.

It has no wire. Its device is in this folder, and so is everything else that the suite knows of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fcvi.engine.attachment import Dut
from fcvi.engine.case import Registry, case
from fcvi.engine.pics import Items
from fcvi.engine.protocol import Protocol
from fcvi.engine.review import PicsRule
from fcvi.engine.scenario import Scenario
from fcvi.engine.target import Target

from .device import Counter

REGISTRY = Registry("Dummy")


@case(REGISTRY, "Dummy.1", "The counter counts", clause="1", requirements=["DUMMY-1-01", "DUMMY-1-02"], applies="counts")
def counts(t: Scenario) -> None:
    """Each call adds one to the counter, and a reset sets it to zero."""
    first = t.call("Count").integer("value")
    t.require(first == 1, "DUMMY-1-02", "the first value after a reset", first, 1)
    second = t.call("Count").integer("value")
    t.require(second == first + 1, "DUMMY-1-01", "the next value", second, first + 1)
    t.control("the counter answered twice")


@case(REGISTRY, "Dummy.2", "The alarm", clause="2", requirements=["DUMMY-2-01"], applies="counts", errata=["Q1"])
def alarm(t: Scenario) -> None:
    """A call of Alarm returns when its time is over, and no sooner."""
    call = t.start("Alarm", after_us=t.r_a_tov_us)
    t.finish(call, "DUMMY-2-01", within_us=2 * t.r_a_tov_us, returns="DONE")
    t.expect_return(call, t.r_a_tov_us, "DUMMY-2-01")
    t.control("the alarm went off")


def _attach(target: Target, **_: Any) -> Dut:
    return Counter(str(target))


PROTOCOL = Protocol(
    name="Dummy",
    standard="The counter, an example",
    prefix="DUMMY-",
    erratum="Q",
    folder=Path(__file__).resolve().parent,
    cases=REGISTRY.cases,
    scenario=Scenario,
    pics=Items(booleans=("counts",)),
    pics_rules=lambda: (PicsRule("DUMMY-1-01", "missing", "not counts", "a counter has to count", "counts"),),
    attachments=("counter",),
    attach=_attach,
)
