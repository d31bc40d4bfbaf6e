"""proofs.tsv: what came of the devices of each check. The table of a run has every device; that of a book has one for each check,
and no line numbers."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Iterable, Mapping, Sequence

from fcvi.engine.breaks import understand
from fcvi.engine.catalogue import Proof, load_explained, rows

from .books import BOOKS, Banked
from .play import ORDER, ROOT, Check, Name, Outcome

_LONG = ("check", "step", "primitive", "subject", "requirement", "device", "variant", "verdict", "named")
_SHORT = ("step", "primitive", "subject", "requirement", "verdict", "variant", "device", "named")
NO_DEVICE = "no device"
FINE = frozenset(("named", "tolerated"))
#: The verdict of a part of a condition that no device proves, whatever the devices that were tried ended with.
OPEN = "open"
#: The step of a row that no check of a case proves: codec, monitor or what looks at every case named it.
EVERYWHERE = "every frame"
#: The primitive in an explanation of why a device that takes what a check lets pass is failed by it.
CHOICE = "choice"


def long_table(checks: Iterable[Check]) -> str:
    """Every device that was played, with the place of its check."""
    lines = ["\t".join(_LONG)]
    for check in checks:
        rows = [(str(o.device), o.variant, o.verdict, " ".join(o.named)) for o in check.outcomes] or [("", "", NO_DEVICE, "")]
        lines += ["\t".join((check.place, *check.name, *row)) for row in rows]
    return "\n".join(lines) + "\n"


def proofs_of(checks: Iterable[Check], swept: Sequence[Outcome]) -> list[Proof]:
    """One line for each name of a check, with its worst verdict, and one for each requirement that is named by the way alone.

    swept: what came of fields that were altered though no check of a case compares them.
    """
    groups: dict[Name, list[Check]] = {}
    for check in checks:
        groups.setdefault(check.name, []).append(check)
    found = []
    for name, group in groups.items():
        verdict = max((check.verdict for check in group), key=(*ORDER, NO_DEVICE).index)
        verdict = OPEN if verdict not in FINE and group[0].is_part else verdict
        shown = _shown([o for check in group for o in check.outcomes if o.verdict == "named"])
        found.append(Proof(*name, verdict, *shown))
    own = {proof.requirement for proof in found if proof.device}
    for ident, outcomes in _named([o for group in groups.values() for check in group for o in check.outcomes] + [*swept]).items():
        if ident not in own:
            found.append(Proof(EVERYWHERE, "finding", "", ident, "named", *_shown(outcomes)))
    return sorted(found)


def merged(old: Iterable[Proof], new: Iterable[Proof]) -> list[Proof]:
    """A table with the proofs of some of its checks played again: of a check that others' cases make as well the better stays."""
    found = {proof.name: proof for proof in old}
    for proof in new:
        was = found.get(proof.name)
        if was is None or _worth(proof) <= _worth(was):
            found[proof.name] = proof
    own = {proof.requirement for proof in found.values() if proof.device and proof.step != EVERYWHERE}
    return sorted(proof for proof in found.values() if proof.step != EVERYWHERE or proof.requirement not in own)


def _worth(proof: Proof) -> int:
    return (*ORDER, OPEN, NO_DEVICE).index(proof.verdict)


def _shown(outcomes: Sequence[Outcome]) -> tuple[str, str, str]:
    """The run that is shown: the first that was played."""
    return (outcomes[0].variant, str(outcomes[0].device), " ".join(outcomes[0].named)) if outcomes else ("", "", "")


def _named(outcomes: Iterable[Outcome]) -> Mapping[str, list[Outcome]]:
    """The devices by the requirements that failed them."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        for ident in outcome.named:
            found.setdefault(ident, []).append(outcome)
    return found


def short_table(proofs: Iterable[Proof]) -> str:
    """The table of a book, as it is committed."""
    rows = ("\t".join((*p.name, p.verdict, p.variant, p.device, p.named)) for p in proofs)
    return "\n".join(["\t".join(_SHORT), *rows]) + "\n"


def path_of(book: str) -> Path:
    """Where the table of a book is."""
    return ROOT / "conformance" / book / "proofs.tsv"


@functools.cache
def load(book: str) -> tuple[Proof, ...]:
    """The table of a book; empty where there is none."""
    return tuple(Proof(**row) for row in rows(path_of(book)))


def shown(book: str) -> list[Banked]:
    """The devices that the table of a book names, each for the requirement and the variant that it was failed in."""
    named = (proof for proof in load(book) if proof.device)
    return [
        Banked(understand(p.device), p.requirement, (p.variant,), p.name if p.step != EVERYWHERE else None) for p in named
    ]


@functools.cache
def explained(book: str) -> Mapping[Name, str]:
    """Why a check is not named by a device of its own, by its name."""
    return load_explained([BOOKS[book].protocol])


__all__ = [
    "CHOICE", "EVERYWHERE", "NO_DEVICE", "Proof", "explained", "load", "long_table", "merged", "path_of",
    "proofs_of", "short_table",
]  # fmt: skip
