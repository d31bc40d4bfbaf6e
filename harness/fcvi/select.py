"""``--select``: ids with globs, tags and ``not``, joined by commas: ``A.*,C.5.*,not tag:timing``."""

from __future__ import annotations

import fnmatch

from .case import CaseInfo, Variant


class SelectionError(ValueError):
    """The expression is malformed, names nothing that exists, or selects nothing."""


def _matches(term: str, case: CaseInfo, variant: Variant) -> bool:
    if term.startswith("tag:"):
        return any(fnmatch.fnmatchcase(tag, term[4:]) for tag in case.tags)
    ident = case.variant_id(variant)
    return any(fnmatch.fnmatchcase(name, term) for name in (case.id, ident))


def select(cases: list[CaseInfo], expression: str | None) -> list[tuple[CaseInfo, Variant]]:
    """The variants that the expression selects, in the order of the suite.

    A term without ``not`` adds, one with ``not`` takes away; an expression of ``not`` terms only starts from
    everything. Every term must match something: a typing error never narrows a run silently.
    """
    everything = [(c, v) for c in cases for v in c.variants]
    if expression is None or not expression.strip():
        return everything
    wanted: list[str] = []
    unwanted: list[str] = []
    for raw in expression.split(","):
        words = raw.split()
        negated = len(words) == 2 and words[0] == "not"
        if not words or (len(words) > 1 and not negated) or words[-1] in ("not", "tag:"):
            raise SelectionError(f"--select: cannot read the term {raw.strip()!r}; use ids, globs, tag:NAME, not ...")
        term = words[-1]
        if not any(_matches(term, c, v) for c, v in everything):
            raise SelectionError(f"--select: no case matches {term!r}; `fcvi list` shows what there is")
        (unwanted if negated else wanted).append(term)
    chosen = [
        (c, v)
        for c, v in everything
        if (not wanted or any(_matches(t, c, v) for t in wanted)) and not any(_matches(t, c, v) for t in unwanted)
    ]
    if not chosen:
        raise SelectionError(f"--select: {expression!r} selects no case")
    return chosen
