"""``--select``: ids with globs, tags and ``not``, joined by commas: ``A.*,C.5.*,not tag:timing``."""

from __future__ import annotations

import fnmatch
from typing import Mapping

from .case import CaseInfo, Variant
from .catalogue import load_requirements
from .words import UsageError, near


_TAG = "tag:"
_MOST_PATTERNS = 1000  # each of which every name is compared with; evidence has an expression, too


class SelectionError(ValueError, UsageError):
    """The expression is malformed, names nothing that exists, or selects nothing."""


Chosen = list[tuple[CaseInfo, Variant]]
_FAR = "far-side"  # the tag of cases with a port in the tester's place


def far_side(cases: list[CaseInfo]) -> list[CaseInfo]:
    """The cases that have room for a second device."""
    return [case for case in cases if _FAR in case.tags]


def select(cases: list[CaseInfo], expression: str | None, shard: tuple[int, int] = (1, 1)) -> Chosen:
    """The variants that the expression selects, in the order of the suite; of these, every shard[1]-th from shard[0] on.

    Neighbours take about as long, so that the shards do too. Raises SelectionError.
    """
    part = selected(cases, expression)[shard[0] - 1 :: shard[1]]
    if not part:
        raise SelectionError(f"--shard {shard[0]}/{shard[1]}: so many parts are more than there are cases; this one is empty")
    return part


def selected(cases: list[CaseInfo], expression: str | None) -> Chosen:
    """All variants that the expression selects, in the order of the suite.

    A term without ``not`` adds, one with ``not`` takes away; an expression of ``not`` terms only starts from
    everything. Every term must match something: a typing error never narrows a run silently.
    """
    everything = [(c, v) for c in cases for v in c.variants]
    if expression is None:
        return everything
    names: dict[str, set[int]] = {}  # of cases and of variants and their tags, and which variants they name
    for i, (case, variant) in enumerate(everything):
        for name in _names(case, variant):
            names.setdefault(name, set()).add(i)
    wanted: set[int] | None = None
    unwanted: set[int] = set()
    found_terms = _terms(expression)
    if sum(term not in names for term, _ in found_terms) > _MOST_PATTERNS:
        raise SelectionError(f"--select: more than {_MOST_PATTERNS} patterns; name the cases")
    for term, negated in found_terms:
        matching = _matching(names, term)
        if not matching:
            raise SelectionError(f"--select: no case matches {term!r}{near(term, names)}; {_instead(term)}")
        found = {i for name in matching for i in names[name]}
        if negated:
            unwanted |= found
        else:
            wanted = found | (wanted or set())
    chosen = [one for i, one in enumerate(everything) if (wanted is None or i in wanted) and i not in unwanted]
    if not chosen:
        raise SelectionError(f"--select: {expression!r} selects no case")
    return chosen


def terms(expression: str) -> list[str]:
    """What each term names, without ``not``. Raises SelectionError for an expression that cannot be read."""
    return [term for term, _ in _terms(expression)]


def matches(cases: list[CaseInfo], term: str) -> bool:
    """Whether a term names any of these cases."""
    return bool(_matching({name: None for case in cases for v in case.variants for name in _names(case, v)}, term))


def _terms(expression: str) -> list[tuple[str, bool]]:
    """Each term, and whether ``not`` stands before it."""
    if not expression.strip():
        raise SelectionError("--select: names nothing; leave it out for every case")
    found = []
    for raw in expression.split(","):
        words = raw.split()
        negated = len(words) == 2 and words[0] == "not"
        if not words or (len(words) > 1 and not negated) or words[-1] in ("not", _TAG):
            raise SelectionError(f"--select: cannot read the term {raw.strip()!r}; use ids, globs, tag:NAME, not ...")
        found.append((words[-1], negated))
    return found


def _instead(term: str) -> str:
    """Where the cases are named that somebody wants who wrote this term."""
    if term in {r.id for r in load_requirements()}:
        return f"it is a requirement, and `fcvi show {term}` names its cases"
    return "`fcvi list` shows what there is"


def _names(case: CaseInfo, variant: Variant) -> tuple[str, ...]:
    """What a term may call a variant."""
    return (case.id, case.variant_id(variant), *(f"{_TAG}{tag}" for tag in case.tags))


def _matching(names: Mapping[str, object], term: str) -> list[str]:
    """The names that a term fits: tags for a tag, ids for anything else."""
    if term in names:
        return [term]
    of_tags = term.startswith(_TAG)
    return [name for name in fnmatch.filter(names, term) if name.startswith(_TAG) == of_tags]
