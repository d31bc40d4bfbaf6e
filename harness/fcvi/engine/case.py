"""Cases: what they are called, what they test and when they apply. The registry that conformance/ fills."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Callable, Iterator, Optional, Sequence

from .protocol import Protocol, in_force

#: What a case does with its Scenario, which is of the kind that its standard makes.
Body = Callable[[Any], None]


@dataclass(frozen=True)
class Variant:
    """One way to run a case.

    suffix: what follows the case id after "/"; "" for a case without variants. params: read by the case as
    ``t.params``. applies: a PICS expression that narrows the one of the case. config: members of ``reset`` that
    differ from the base configuration (see Protocol.configuration).
    """

    suffix: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    applies: str = ""
    config: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CaseInfo:
    """One case of the suite, as ``fcvi list`` shows it."""

    id: str
    title: str
    clause: str
    purpose: str
    requirements: tuple[str, ...]
    errata: tuple[str, ...]
    tags: tuple[str, ...]
    applies: str
    variants: tuple[Variant, ...]
    body: Body
    protocol: str = ""  # the name of its standard

    def variant_ids(self) -> list[str]:
        """The ids that can be run."""
        return [self.variant_id(v) for v in self.variants]

    def variant_id(self, variant: Variant) -> str:
        """The id of one variant: "C.5.9.1/dut-client"."""
        return f"{self.id}/{variant.suffix}" if variant.suffix else self.id

    def as_json(self) -> dict[str, Any]:
        """The case as ``fcvi list --json`` prints it."""
        return {
            "id": self.id,
            "title": self.title,
            "clause": self.clause,
            "purpose": self.purpose,
            "requirements": list(self.requirements),
            "errata": list(self.errata),
            "tags": list(self.tags),
            "applies": self.applies,
            "variants": self.variant_ids(),
        }


class Registry:
    """The cases of one standard in the order in which they were declared; ids are unique."""

    def __init__(self, protocol: str = "") -> None:
        self.protocol = protocol
        self._cases: dict[str, CaseInfo] = {}
        self._taken: set[str] = set()  # ids of cases and of variants

    def add(self, case: CaseInfo) -> None:
        """Add one case. Raises ValueError when its id or a variant's is taken."""
        names = {case.id, *case.variant_ids()}
        if not names.isdisjoint(self._taken):
            raise ValueError(f"case id {min(names & self._taken)} is declared twice")
        self._taken |= names
        self._cases[case.id] = case
        if _COLLECTED:
            _COLLECTED[-1].append(case)

    def cases(self) -> list[CaseInfo]:
        """All cases."""
        return list(self._cases.values())

    def of_package(self, package: str, key: Callable[[CaseInfo], Any]) -> tuple[CaseInfo, ...]:
        """All cases once every module of the package is imported, sorted. Which module was imported first makes no difference."""
        for found in iter_modules(import_module(package).__path__):
            import_module(f"{package}.{found.name}")
        return tuple(sorted(self.cases(), key=key))


def by_numbers(name: str) -> list[tuple[bool, int, str]]:
    """What sorts names of clauses, cases or modules, with numbers as numbers: 5.10 comes behind 5.9, and both before words."""
    return [(not w.isdigit(), int(w) if w.isdigit() else 0, w) for w in re.findall(r"[0-9]+|[^0-9._]+", name)]


def case(
    registry: Registry,
    ident: str,
    title: str,
    *,
    clause: str,
    requirements: list[str],
    applies: str,
    errata: list[str] | None = None,
    tags: list[str] | None = None,
    variants: list[Variant] | None = None,
) -> Callable[[Body], Body]:
    """Declare the decorated function as a case; its docstring is the purpose. Raises TypeError for what is of the wrong kind."""
    for name, value in (("requirements", requirements), ("errata", errata), ("tags", tags), ("variants", variants)):
        if isinstance(value, str):
            raise TypeError(f"case {ident}: {name} is a list: [{value!r}]")
    strange = next((one for one in variants or [] if not isinstance(one, Variant)), None)
    if strange is not None:
        raise TypeError(f"case {ident}: {strange!r:.80} is no Variant(...)")
    if not isinstance(applies, str):
        raise TypeError(f"case {ident}: applies is an expression of PICS items in quotes, not {applies!r:.40}")

    def declare(body: Body) -> Body:
        purpose = " ".join((body.__doc__ or "").split())
        if not purpose:
            raise ValueError(f"case {ident} has no purpose: write a docstring")
        registry.add(
            CaseInfo(
                id=ident,
                title=title,
                clause=clause,
                purpose=purpose,
                requirements=tuple(requirements),
                errata=tuple(errata or []),
                tags=tuple(tags or []),
                applies=applies,
                variants=tuple(variants or [Variant()]),
                body=body,
                protocol=registry.protocol,
            )
        )
        return body

    return declare


#: Cases that are no standard's: own_cases.py has loaded them.
OWN: list[CaseInfo] = []
_COLLECTED: list[list[CaseInfo]] = []


@contextmanager
def collecting() -> Iterator[list[CaseInfo]]:
    """The cases that are declared meanwhile."""
    _COLLECTED.append([])
    try:
        yield _COLLECTED[-1]
    finally:
        _COLLECTED.pop()


def load_cases(protocols: Optional[Sequence[Protocol]] = None) -> list[CaseInfo]:
    """The cases of these standards (of those in force), in their order, and behind them the user's own."""
    chosen = in_force() if protocols is None else protocols
    own = {id(case) for case in OWN}
    names = {p.name for p in chosen}
    return [case for p in chosen for case in p.cases() if id(case) not in own] + [case for case in OWN if case.protocol in names]
