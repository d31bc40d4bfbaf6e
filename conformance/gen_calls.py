"""The claims of the cases of VIPL and RDMA verbs, which make calls alone: no codec and no monitor takes part.

A case may list only what its own code names, or the steps that it calls: ``unnamed`` finds the others.
"""

from __future__ import annotations

import inspect
import re
import types
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Sequence

from fcvi.engine.case import CaseInfo
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
    """A book whose cases make calls alone."""

    protocol: Protocol
    cases: Callable[[], Sequence[CaseInfo]]
    home: str
    row: re.Pattern[str]  # the id of a row without the prefix
    everywhere: tuple[types.ModuleType, ...]  # whose classes look at every case

    def ids(self, text: str) -> Iterator[str]:
        """The requirements that a string of the code names."""
        return (self.protocol.prefix + word for word in text.split() if self.row.fullmatch(word))

    def has(self, thing: Any) -> bool:
        """Whether something that a case uses is the book's own, or data."""
        home = getattr(thing, "__module__", None)
        return isinstance(thing, (dict, list, tuple, str)) or isinstance(home, str) and home.startswith(self.home)


VIPL = Part(
    PROTOCOL, lambda: all_cases(), "conformance.vipl.", re.compile(r"[SG]\d+(?:\.\d+)*-\d+"), (scenario, session),
)  # fmt: skip
VERBS = Part(
    verbs_book.PROTOCOL, verbs_cases.all_cases, "conformance.verbs.", re.compile(r"\d+(?:\.\d+)*-\d+"),
    (verbs_scenario, account, verbs_session),
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


def idle(case: CaseInfo) -> bool:
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
