"""The cases of 2007 that run against a device of 1999 as they are: all that they demand holds in the draft.

Their IUs are those of the draft (harness/fcvi/fc/rev1.py), and a check of anything that does not hold says nothing
(harness/fcvi/fc/rev1_scenario.py).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Mapping

from fcvi.engine.case import CaseInfo, Variant
from fcvi.engine.catalogue import load_errata, not_held

from conformance.fcvi.cases import all_cases as all_of_2007
from conformance.rev1.book import NAME, PROTOCOL

#: Cases of 2007 that are left out although all that they demand holds, each with the reason. There is none today.
CANNOT: Mapping[str, str] = {}

#: The least Data_Field in which a connect IU has one frame (6.7, 6.8): variants with a smaller one cannot be.
_LEAST = 16 + 332
#: An item of 2007: who has Reliable Reception here streams Messages as well (5.1).
_DEPTH = re.compile(r" and pipeline_depth >= \d+")


def cases_that_hold() -> list[CaseInfo]:
    """Those cases, in their order, as cases of the draft."""
    gone = not_held(PROTOCOL)
    found = []
    for case in all_of_2007():
        if case.id in CANNOT or not case.requirements or gone & set(case.requirements):
            continue
        variants = tuple(replace(v, applies=_DEPTH.sub("", v.applies)) for v in case.variants if not _impossible(v))
        errata = tuple(e for e in case.errata if e in load_errata([PROTOCOL]))
        found.append(replace(case, protocol=NAME, variants=variants, errata=errata))
    return found


def _impossible(variant: Variant) -> bool:
    return int(variant.config.get("receive_size", _LEAST)) < _LEAST
