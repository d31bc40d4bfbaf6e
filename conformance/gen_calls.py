"""The part of CONFORMANCE.md that is about VIPL, whose cases make calls alone: no codec and no monitor takes part.

A case may list only what its own code names, or the steps that it calls: ``unnamed`` finds the others. Cases that need an
injector below the calls, or a second process, are told apart: without it they end inconclusive.
"""

from __future__ import annotations

import inspect
import re
import types
from typing import Any, Iterator, Mapping

from fcvi.engine.case import CaseInfo
from fcvi.engine.catalogue import Requirement, load_changes, load_errata, load_requirements

from . import claims
from .vipl.book import PROTOCOL
from .vipl.cases import all_cases
from .vipl.steps import scenario, session

_ROW = re.compile(r"[SG]\d+(?:\.\d+)*-\d+")
_HOME = "conformance.vipl."
_LACKS = re.compile(r"two processes")


def _words(code: types.CodeType) -> Iterator[str]:
    """The requirements in the constants of a code object and of those inside it; a string may name several."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _words(constant)
        else:
            for value in claims.values(constant):
                if isinstance(value, str):
                    yield from (PROTOCOL.prefix + word for word in value.split() if _ROW.fullmatch(word))


def _everywhere() -> set[str]:
    """What the steps look at in every case, whatever it does: each call's result, each completion."""
    found: set[str] = set()
    for module in (scenario, session):
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ == module.__name__:
                for member in vars(kind).values():
                    if isinstance(member, types.FunctionType):
                        found |= set(_words(member.__code__))
    return found


def _in_code(body: Any) -> set[str]:
    """What the code of a case, and each function of the book that it calls, names."""
    found: set[str] = set()
    waiting, seen = [body], set()
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        function = getattr(thing, "__wrapped__", thing)
        if isinstance(function, types.FunctionType):
            found |= set(_words(function.__code__))
            defaults = claims.values(function.__defaults__ or ())
            found |= {PROTOCOL.prefix + v for v in defaults if isinstance(v, str) and _ROW.fullmatch(v)}
            names = {name for code in claims.codes(function.__code__) for name in code.co_names}
            waiting += [function.__globals__[name] for name in names if _ours(function.__globals__.get(name))]
        elif not isinstance(thing, type):
            words = (word for value in claims.values(thing) if isinstance(value, str) for word in value.split())
            found |= {PROTOCOL.prefix + word for word in words if _ROW.fullmatch(word)}
            waiting += [value for value in claims.values(thing) if isinstance(value, types.FunctionType)]
    return found


def _ours(thing: Any) -> bool:
    home = getattr(thing, "__module__", None)
    return isinstance(thing, (dict, list, tuple, str)) or isinstance(home, str) and home.startswith(_HOME)


def _idle(case: CaseInfo) -> bool:
    """Whether the case needs something that no call can bring about: an injector, or a second process."""
    code = case.body.__code__
    constants = (c for inner in claims.codes(code) for c in inner.co_consts)
    return "fault" in case.tags or any(isinstance(c, str) and _LACKS.search(c) for c in constants)


def unnamed() -> list[str]:
    """The claims of cases of VIPL that no check bears out, one line each."""
    everywhere = _everywhere()
    return [
        f"case {case.id} lists {ident}, which no check of it names"
        for case in all_cases()
        for ident in case.requirements
        if ident not in everywhere | _in_code(case.body)
    ]


def _tested_by(r: Requirement, cases: Mapping[str, list[str]], idle: Mapping[str, list[str]]) -> str:
    if not r.testable:
        return r.observable.removeprefix("n/a: ")
    parts = ["checks in " + ", ".join(cases[r.id])] if r.id in cases else []
    parts += ["with an injector or a second process: " + ", ".join(idle[r.id])] if r.id in idle else []
    return "; ".join(parts) or "**not tested**"


def render() -> list[str]:
    """The lines of the part."""
    every = list(all_cases())
    tested: dict[str, list[str]] = {}
    idle: dict[str, list[str]] = {}
    users: dict[str, list[str]] = {}
    for case in every:
        for ident in case.requirements:
            (idle if _idle(case) else tested).setdefault(ident, []).append(case.id)
        for number in case.errata:
            users.setdefault(number, []).append(case.id)
    rows = load_requirements([PROTOCOL])
    testable = [r for r in rows if r.testable]
    lines = [
        "", f"# {PROTOCOL.name} ({PROTOCOL.standard})", "",
        f"{len(rows)} statements, {len(testable)} of them testable, {sum(r.id in tested for r in testable)} tested by checks of "
        f"{len(every)} cases; {sum(r.id in idle and r.id not in tested for r in testable)} more by cases that need an injector "
        "below the calls or a second process (harness/docs/vipl.md). `S` is the VI Architecture's text, `G` the Developer's Guide.",
    ]  # fmt: skip
    document = ""
    for r in rows:
        if r.clause.split(" ")[0] != document:
            document = r.clause.split(" ")[0]
            lines += ["", f"## {PROTOCOL.name}: {'VI Architecture' if document == 'S' else 'Developer' + chr(39) + 's Guide'}", ""]
            lines += ["| id | level | statement | tested by |", "| --- | --- | --- | --- |"]
        lines.append(f"| {r.id} | {r.level} | {_cell(r.statement)} | {_cell(_tested_by(r, tested, idle))} |")
    lines += ["", f"## {PROTOCOL.name}: rows of the catalogue that were changed", "", "| id | level before | reason |"]
    lines += ["| --- | --- | --- |", *(f"| {c.id} | {c.level_was} | {_cell(c.reason)} |" for c in load_changes([PROTOCOL]))]
    lines += ["", f"## {PROTOCOL.name}: errata", "", "| no | title | decided | cases |", "| --- | --- | --- | --- |"]
    for erratum in load_errata([PROTOCOL]).values():
        decided = " ".join(line.removeprefix("- ") for line in erratum.body.splitlines() if line)
        used = ", ".join(users.get(erratum.number, []))
        lines.append(f"| {erratum.number} | {_cell(erratum.title)} | {_cell(decided)} | {used} |")
    return lines


def _cell(words: str) -> str:
    return words.replace("|", "\\|")
