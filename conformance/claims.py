"""Says which requirements the checks of each case name: a case may claim no other.

Two ways together, since neither sees all: what was handed to a check in a full run of the reference port (a check that passed
counts as well as one that failed), and what stands in the code that the case can reach (a check that is met only by a device
that breaks the rule is not met by the reference port). What the codec or the monitor looks at in the frames of a case is
named by them, on every frame of every case.
"""

from __future__ import annotations

import types
from typing import Any, Iterable, Iterator, Mapping

from fcvi.attach import attach
from fcvi.engine.target import parse
from fcvi.engine.case import CaseInfo
from fcvi.engine.pixit import pixit_for
from fcvi.engine.catalogue import load_catalogue, load_decided_by
from fcvi.engine.runner import run_variant

_PREFIX = "FCVI-"
_OURS = "conformance.fcvi."


def checked_in_a_run(cases: Iterable[CaseInfo], spec: str = "ref") -> dict[str, set[str]]:
    """What the checks of each case named when every variant ran against this device, by case id."""
    dut, pixit, levels = attach(parse(spec)), pixit_for("virtual"), load_catalogue().levels
    found: dict[str, set[str]] = {}
    try:
        for case in cases:
            named = found.setdefault(case.id, set())
            for variant in case.variants:
                named |= run_variant(dut, case, variant, dut.pics, pixit, levels, 1).checked
    finally:
        dut.close()
    return found


def written_in(case: CaseInfo) -> set[str]:
    """The requirement ids in the code of the case, in the steps that it calls, and in the data that they look things up in."""
    found = {s for v in case.variants for s in _strings(v.params)}
    seen: set[int] = set()
    waiting: list[Any] = [case.body]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, type):
            waiting += [m for m in vars(thing).values() if isinstance(m, (types.FunctionType, property))]
        elif isinstance(thing, property):
            waiting += [f for f in (thing.fget, thing.fset) if f is not None]
        elif isinstance(thing, types.FunctionType):
            waiting += _used(getattr(thing, "__wrapped__", thing), found)
            found |= {s for value in (thing.__defaults__ or ()) for s in _strings(value)}
        else:
            found |= set(_strings(thing))
            waiting += [f for f in values(thing) if isinstance(f, types.FunctionType)]
    return found


def _used(function: types.FunctionType, found: set[str]) -> list[Any]:
    """What the code of a function refers to among our own modules; its constants are added to found."""
    used: list[Any] = []
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        found |= {s for s in _strings(code.co_consts)}
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        for name in code.co_names:
            thing = function.__globals__.get(name)
            home = getattr(thing, "__module__", None)
            if isinstance(thing, (dict, list, tuple, str)) or (isinstance(home, str) and home.startswith(_OURS)):
                used.append(thing)
    return used


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def values(thing: Any) -> Iterator[Any]:
    """What is inside mappings and sequences, at any depth; a mapping's keys as well."""
    if isinstance(thing, Mapping):
        for key, value in thing.items():
            yield from values(key)
            yield from values(value)
    elif isinstance(thing, (list, tuple, set, frozenset)):
        for value in thing:
            yield from values(value)
    else:
        yield thing


def _strings(thing: Any) -> Iterator[str]:
    return (value for value in values(thing) if isinstance(value, str) and value.startswith(_PREFIX))


def named_by_checks(cases: Iterable[CaseInfo]) -> dict[str, set[str]]:
    """What the checks of each case name, by case id."""
    cases = list(cases)
    run = checked_in_a_run(cases)
    return {case.id: run[case.id] | written_in(case) for case in cases}


def unnamed(cases: Iterable[CaseInfo], named: Mapping[str, set[str]], on_every_frame: set[str]) -> list[str]:
    """The claims that no check bears out, one line each.

    on_every_frame: what codec and monitor name. A requirement may also be borne out by a check that names another one which it
    cannot be broken without (decided_by.tsv).
    """
    table = load_decided_by()
    wrong = []
    for case in cases:
        known = named[case.id] | on_every_frame
        wrong += [
            f"case {case.id} lists {ident}, which no check of it names"
            for ident in case.requirements
            if ident not in known and known.isdisjoint(table[ident].by if ident in table else ())
        ]
    return wrong
