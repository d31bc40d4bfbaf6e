"""The parts of CONFORMANCE.md that are about VIPL and RDMA verbs, whose cases make calls alone: no codec and no monitor takes part.

A case may list only what its own code names, or the steps that it calls: ``unnamed`` finds the others. Cases that need an
injector below the calls, or a second process, are told apart: without it they end inconclusive.
"""

from __future__ import annotations

import inspect
import re
import types
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping, Sequence

from fcvi.engine.case import CaseInfo
from fcvi.engine.catalogue import Requirement, load_changes, load_errata, load_requirements
from fcvi.engine.protocol import Protocol

from . import claims
from .verbs import book as verbs_book, cases as verbs_cases
from .verbs.steps import account, scenario as verbs_scenario, session as verbs_session
from .vipl.book import PROTOCOL
from .vipl.cases import all_cases
from .vipl.steps import scenario, session

_LACKS = re.compile(r"two processes")


@dataclass(frozen=True)
class Part:
    """A book whose cases make calls alone. heads: the headings of its documents, by the first word of a clause."""

    protocol: Protocol
    cases: Callable[[], Sequence[CaseInfo]]
    home: str
    row: re.Pattern[str]  # the id of a row without the prefix
    everywhere: tuple[types.ModuleType, ...]  # whose classes look at every case
    heads: Mapping[str, str]
    note: str

    def ids(self, text: str) -> Iterator[str]:
        """The requirements that a string of the code names."""
        return (self.protocol.prefix + word for word in text.split() if self.row.fullmatch(word))

    def has(self, thing: Any) -> bool:
        """Whether something that a case uses is the book's own, or data."""
        home = getattr(thing, "__module__", None)
        return isinstance(thing, (dict, list, tuple, str)) or isinstance(home, str) and home.startswith(self.home)


VIPL = Part(
    PROTOCOL, lambda: all_cases(), "conformance.vipl.", re.compile(r"[SG]\d+(?:\.\d+)*-\d+"), (scenario, session),
    {"S": "VI Architecture", "G": "Developer's Guide"}, "`S` is the VI Architecture's text, `G` the Developer's Guide.",
)  # fmt: skip
VERBS = Part(
    verbs_book.PROTOCOL, verbs_cases.all_cases, "conformance.verbs.", re.compile(r"\d+(?:\.\d+)*-\d+"),
    (verbs_scenario, account, verbs_session), {}, "Rows whose condition does not hold for a provider are not judged.",
)  # fmt: skip


def _words(part: Part, code: types.CodeType) -> Iterator[str]:
    """The requirements in the constants of a code object and of those inside it; a string may name several."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _words(part, constant)
        else:
            for value in claims.values(constant):
                if isinstance(value, str):
                    yield from part.ids(value)


def _everywhere(part: Part) -> set[str]:
    """What the steps look at in every case, whatever it does: each call's result, each completion."""
    found: set[str] = set()
    for module in part.everywhere:
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ == module.__name__:
                for member in vars(kind).values():
                    if isinstance(member, types.FunctionType):
                        found |= set(_words(part, member.__code__))
    return found


def _in_code(part: Part, body: Any) -> set[str]:
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
            found |= set(_words(part, function.__code__))
            defaults = claims.values(function.__defaults__ or ())
            found |= {ident for v in defaults if isinstance(v, str) for ident in part.ids(v)}
            names = {name for code in claims.codes(function.__code__) for name in code.co_names}
            waiting += [function.__globals__[name] for name in names if part.has(function.__globals__.get(name))]
        elif not isinstance(thing, type):
            found |= {ident for value in claims.values(thing) if isinstance(value, str) for ident in part.ids(value)}
            waiting += [value for value in claims.values(thing) if isinstance(value, types.FunctionType)]
    return found


def _idle(case: CaseInfo) -> bool:
    """Whether the case needs something that no call can bring about: an injector, or a second process."""
    code = case.body.__code__
    constants = (c for inner in claims.codes(code) for c in inner.co_consts)
    return "fault" in case.tags or any(isinstance(c, str) and _LACKS.search(c) for c in constants)


def unnamed(part: Part = VIPL) -> list[str]:
    """The claims of cases of a book that no check bears out, one line each."""
    everywhere = _everywhere(part)
    return [
        f"case {case.id} lists {ident}, which no check of it names"
        for case in part.cases()
        for ident in case.requirements
        if ident not in everywhere | _in_code(part, case.body)
    ]


def _tested_by(r: Requirement, cases: Mapping[str, list[str]], idle: Mapping[str, list[str]]) -> str:
    if not r.testable:
        return r.observable.removeprefix("n/a: ")
    parts = ["checks in " + ", ".join(cases[r.id])] if r.id in cases else []
    parts += ["with an injector or a second process: " + ", ".join(idle[r.id])] if r.id in idle else []
    return "; ".join(parts) or "**not tested**"


def render(part: Part = VIPL) -> list[str]:
    """The lines of a part."""
    every, protocol = list(part.cases()), part.protocol
    tested: dict[str, list[str]] = {}
    idle: dict[str, list[str]] = {}
    users: dict[str, list[str]] = {}
    for case in every:
        for ident in case.requirements:
            (idle if _idle(case) else tested).setdefault(ident, []).append(case.id)
        for number in case.errata:
            users.setdefault(number, []).append(case.id)
    rows = load_requirements([protocol])
    testable = [r for r in rows if r.testable]
    lines = [
        "", f"# {protocol.name} ({protocol.standard})", "",
        f"{len(rows)} statements, {len(testable)} of them testable, {sum(r.id in tested for r in testable)} tested by checks of "
        f"{len(every)} cases; {sum(r.id in idle and r.id not in tested for r in testable)} more by cases that need an injector "
        f"below the calls or a second process. {part.note}",
    ]  # fmt: skip
    document = None
    for r in rows:
        head = part.heads.get(r.clause.split(" ")[0], "requirements")
        if head != document:
            document = head
            lines += ["", f"## {protocol.name}: {head}", ""]
            lines += ["| id | level | statement | tested by |", "| --- | --- | --- | --- |"]
        lines.append(f"| {r.id} | {r.level} | {_cell(r.statement)} | {_cell(_tested_by(r, tested, idle))} |")
    changes = load_changes([protocol])
    if changes:
        lines += ["", f"## {protocol.name}: rows of the catalogue that were changed", "", "| id | level before | reason |"]
        lines += ["| --- | --- | --- |", *(f"| {c.id} | {c.level_was} | {_cell(c.reason)} |" for c in changes)]
    lines += ["", f"## {protocol.name}: errata", "", "| no | title | decided | cases |", "| --- | --- | --- | --- |"]
    for erratum in load_errata([protocol]).values():
        decided = " ".join(line.removeprefix("- ") for line in erratum.body.splitlines() if line)
        used = ", ".join(users.get(erratum.number, []))
        lines.append(f"| {erratum.number} | {_cell(erratum.title)} | {_cell(decided)} | {used} |")
    return lines


def _cell(words: str) -> str:
    return words.replace("|", "\\|")
