"""The PICS as a proforma: every item with its meaning, its clause, how many cases it decides, and what is claimed."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any, Mapping

from fcvi.engine import pics as pics_module
from fcvi.engine.case import load_cases
from fcvi.engine.protocol import Protocol, in_force


@dataclass(frozen=True)
class Row:
    """One item. value: what is claimed, as TOML and JSON write it. cases: how many case variants it decides about."""

    item: str
    meaning: str
    clause: str
    cases: int
    value: str
    default: str

    @property
    def words(self) -> str:
        """The claim as people say it."""
        return {"true": "yes", "false": "no"}.get(self.value, self.value.strip('"'))


def decided() -> Mapping[str, int]:
    """How many case variants each item decides about."""
    return _decided(in_force())


@functools.cache
def _decided(_books: tuple[Protocol, ...]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    named: dict[str, set[str]] = {}
    for case in load_cases():
        for variant in case.variants:
            items: set[str] = set()
            for expression in (case.applies, variant.applies):
                if expression and expression not in named:
                    named[expression] = set(pics_module.names_in(expression))
                items |= named.get(expression, set())
            for item in items:
                counts[item] = counts.get(item, 0) + 1
    return counts


def rows(pics: Mapping[str, Any]) -> list[Row]:
    """Every item of the standards in force; what the PICS leaves out has the value that holds then."""
    known = pics_module.items()
    defaults: dict[str, Any] = {name: False for name in known.booleans}
    defaults |= dict(known.numbers) | {name: values[0] for name, values in known.words.items()}
    found = []
    for item, default in defaults.items():
        about = known.meanings.get(item, pics_module.Item("", ""))
        found.append(
            Row(item, about.meaning, about.clause, decided().get(item, 0), json.dumps(pics.get(item, default)), json.dumps(default))
        )
    return found
