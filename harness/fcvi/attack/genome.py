"""A batch as a recipe: which apt frame is taken each time, and what is done to it.

Frames carry handles and Exchange Identifiers that the device chose, so their bytes mean nothing in another run. A recipe
names a frame by what it is ("the second FCVI_CONNECT_RESP3 that fits now") and a change by the seed of the mutator, and
plays in any run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any, Mapping, Optional, Sequence

from .medium import Medium

_MOST = 3  # mutations stacked on one frame


@dataclass(frozen=True)
class Gene:
    """One frame, or PDU. name, nth: which of the apt ones; seeds: mutations, one after the other; sof: another one, or on a
    stream another cut; wait: thousandths of R_A_TOV.
    """

    name: str
    nth: int = 0
    seeds: tuple[int, ...] = ()
    sof: Optional[int] = None
    crc_ok: bool = True
    wait: int = 0


Genome = tuple[Gene, ...]


def fresh(names: Sequence[str], rng: Random, hows: Sequence[int]) -> Gene:
    """A gene by chance, as often mutated and as long after the one before as in a batch without guidance.

    names: of the frames that are apt now, in their order. hows: other SOFs, or cuts.
    """
    at = rng.randrange(len(names))
    name, nth = names[at], names[:at].count(names[at])
    wait = _wait(rng)
    if rng.random() < 0.15:
        return Gene(name, nth, wait=wait)
    sof = rng.choice(hows) if rng.random() < 0.1 else None
    return Gene(name, nth, (rng.getrandbits(64),), sof, rng.random() >= 0.05, wait)


def _wait(rng: Random) -> int:
    chance = rng.random()
    return 0 if chance < 0.7 else rng.randrange(1000 if chance > 0.95 else 20)


def frame_of(gene: Gene, frames: Sequence[Any], names: Sequence[str], medium: Medium) -> tuple[Any, Any]:
    """The frame to send, and the one it was made from. Where none of that name is apt now, another takes its place."""
    fits = [frame for frame, name in zip(frames, names) if name == gene.name] or list(frames)
    origin = fits[gene.nth % len(fits)]
    data = origin.data
    for seed in gene.seeds:
        data = medium.mutate(data, seed)
    return medium.made(data, origin, gene), origin


def vary(parent: Genome, other: Genome, rng: Random, most: int) -> list[Optional[Gene]]:
    """A child of a recipe, with one to four changes. None stands for a gene that is to be chosen when its turn comes.

    other: a recipe to take a part of. At most `most` genes.
    """
    child: list[Optional[Gene]] = list(parent)
    for _ in range(1 + rng.randrange(4)):
        at = rng.randrange(len(child)) if child else 0
        way = rng.randrange(7)
        if way == 0 or not child:
            child.insert(at, None)
        elif way == 1:
            child += [None] * (1 + rng.randrange(4))  # go on from where the parent came to
        elif way == 2:
            child[at] = _otherwise(child[at], rng)
        elif way == 3:
            child.insert(at, child[at])
        elif way == 4 and len(child) > 1:
            del child[at]
        elif way == 5:
            cut = rng.randrange(len(other) + 1)
            child = child[: at + 1] + list(other[cut:])
        else:
            child[at] = None
    return child[:most]


def _otherwise(gene: Optional[Gene], rng: Random) -> Optional[Gene]:
    if gene is None:
        return None
    way = rng.randrange(4)
    if way == 0:
        return replace(gene, seeds=())
    if way == 1:
        return replace(gene, wait=_wait(rng))
    if way == 2:
        return replace(gene, sof=None, crc_ok=True)
    return replace(gene, seeds=(*gene.seeds, rng.getrandbits(64))[-_MOST:])


def as_json(genome: Genome) -> list[dict[str, Any]]:
    """For a file of a corpus."""
    return [asdict(gene) for gene in genome]


def genome_of(data: Sequence[Mapping[str, Any]]) -> Genome:
    """What as_json gave. Raises ValueError, KeyError, TypeError or AttributeError for anything else."""
    made = []
    for entry in data:
        sof = None if entry["sof"] is None else int(entry["sof"])
        gene = Gene(
            str(entry["name"]), int(entry["nth"]), tuple(int(seed) for seed in entry["seeds"])[:_MOST],
            sof, bool(entry["crc_ok"]), int(entry["wait"]),
        )  # fmt: skip
        if not 0 <= gene.wait <= 1000 or gene.nth < 0 or sof not in (None, *range(256)):
            raise ValueError("a gene is out of range")
        made.append(gene)
    return tuple(made)
