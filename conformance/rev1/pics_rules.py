"""Says what a PICS of a device of 1999 may not claim together, and what it may not lack.

The rules of 2007 that hold in the draft, and those of the draft's own (5.1, 5.2.3).
"""

from __future__ import annotations

from dataclasses import replace

from fcvi.engine.catalogue import not_held
from fcvi.engine.review import PicsRule

from conformance.fcvi.pics_rules import RULES as RULES_OF_2007

from .book import PROTOCOL

_MISSING = "missing"
#: Rules of 2007 whose requirement the draft has in other words, under the name that it has here.
_RENAMED = {"FCVI-5.2.4-02": "REV1-5.2.3-01", "FCVI-7.3-04": "REV1-7.2-02"}


def _of_2007() -> list[PicsRule]:
    gone = not_held(PROTOCOL)
    renamed = [replace(r, requirement=_RENAMED[r.requirement]) for r in RULES_OF_2007 if r.requirement in _RENAMED]
    return renamed + [rule for rule in RULES_OF_2007 if rule.requirement not in gone]


RULES = (
    PicsRule("REV1-5.1-01", _MISSING, "not unreliable_delivery", "Unreliable Delivery is mandatory (5.1)", "unreliable_delivery"),
    PicsRule("REV1-5.1-01", _MISSING, "not reliable_delivery", "Reliable Delivery is mandatory (5.1)", "reliable_delivery"),
    PicsRule("REV1-6.7-04", _MISSING, "not client", "connections cannot be requested (5.1, Table 1)", "client"),
    PicsRule("REV1-6.8-02", _MISSING, "not server", "connections cannot be accepted (5.1, Table 1)", "server"),
    *_of_2007(),
)  # fmt: skip
