"""``--select``: ids with globs, tags and ``not``, joined by commas: ``A.*,C.5.*,not tag:timing``."""

from __future__ import annotations

import fnmatch

from .case import CaseInfo, Variant


class SelectionError(ValueError):
    """The expression is malformed, names nothing that exists, or selects nothing."""


Chosen = list[tuple[CaseInfo, Variant]]


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
    if not expression.strip():
        raise SelectionError("--select: names nothing; leave it out for every case")
    names: dict[str, set[int]] = {}  # of cases and of variants, and which variants they name
    tags: dict[str, set[int]] = {}
    for i, (case, variant) in enumerate(everything):
        for name in (case.id, case.variant_id(variant)):
            names.setdefault(name, set()).add(i)
        for tag in case.tags:
            tags.setdefault(f"tag:{tag}", set()).add(i)
    wanted: set[int] | None = None
    unwanted: set[int] = set()
    for raw in expression.split(","):
        words = raw.split()
        negated = len(words) == 2 and words[0] == "not"
        if not words or (len(words) > 1 and not negated) or words[-1] in ("not", "tag:"):
            raise SelectionError(f"--select: cannot read the term {raw.strip()!r}; use ids, globs, tag:NAME, not ...")
        term = words[-1]
        among = tags if term.startswith("tag:") else names
        matching = [term] if term in among else fnmatch.filter(among, term)
        if not matching:
            raise SelectionError(f"--select: no case matches {term!r}; `fcvi list` shows what there is")
        found = {i for name in matching for i in among[name]}
        if negated:
            unwanted |= found
        else:
            wanted = found | (wanted or set())
    chosen = [one for i, one in enumerate(everything) if (wanted is None or i in wanted) and i not in unwanted]
    if not chosen:
        raise SelectionError(f"--select: {expression!r} selects no case")
    return chosen
