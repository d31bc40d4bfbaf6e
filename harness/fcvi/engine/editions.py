"""Says where another edition of a standard differs from the registered one: its tables, as data.

requirements.tsv has the rows that only the other edition has, or that it has otherwise. holds.tsv says of the requirements of the
registered edition whether they hold there; one that it leaves out does not. topics.tsv groups what differs, and says why it
matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Sequence

from .catalogue import HOLDS, REQUIREMENTS, Requirement, load_requirements, rows
from .protocol import Edition, Protocol, registered

TOPICS = "topics.tsv"

#: What holds.tsv may say of a requirement. void: the other edition has no such field or procedure, or is silent.
STATUSES = ("holds", "replaced", "void")


@dataclass(frozen=True)
class Held:
    """What became of one requirement of the registered edition. by: the rows of the other edition, only where it is replaced."""

    requirement: str
    status: str
    by: tuple[str, ...]
    topic: str  # "" where it holds


@dataclass(frozen=True)
class Topic:
    """A group of differences."""

    topic: str
    title: str
    rows: tuple[str, ...]  # of the other edition
    matters: str


@dataclass(frozen=True)
class Differing:
    """A topic as far as it was asked for: the requirements of the registered edition, and those of the other one."""

    topic: Topic
    base: tuple[Held, ...]
    other: tuple[str, ...]


def other_edition(name: str) -> Optional[tuple[Protocol, Edition]]:
    """The edition of this name, with the standard that it is an edition of; None where there is none."""
    return next(((p, edition) for p in registered() for edition in p.others if edition.name == name), None)


def requirements_of(edition: Edition) -> dict[str, Requirement]:
    """The rows that only this edition has, by id."""
    return {row["id"]: Requirement(**row) for row in rows(edition.folder / REQUIREMENTS)}


def held(edition: Edition) -> tuple[Held, ...]:
    """What became of each requirement of the registered edition, in its order. What has no row does not hold there."""
    return tuple(Held(r["requirement"], r["status"], tuple(r["by"].split()), r["topic"]) for r in rows(edition.folder / HOLDS))


def topics_of(edition: Edition) -> tuple[Topic, ...]:
    """Every topic, in the order of the table."""
    return tuple(Topic(r["topic"], r["title"], tuple(r["rows"].split()), r["matters"]) for r in rows(edition.folder / TOPICS))


def differences(protocol: Protocol, edition: Edition, item: str = "") -> tuple[Differing, ...]:
    """What differs, by topic: all of it, or what concerns one topic, one requirement of either edition or one IU ("" for all).

    Nothing for an item that holds in both editions, or that does not exist: see knows.
    """
    statements = {**{r.id: r for r in load_requirements([protocol])}, **requirements_of(edition)}
    order = {ident: at for at, ident in enumerate(statements)}
    rows_held = [h for h in held(edition) if h.status != "holds"]
    found = []
    for topic in topics_of(edition):
        base = [h for h in rows_held if h.topic == topic.topic]
        other = list(topic.rows)
        if item and item != topic.topic:
            of_unit = {ident for ident, r in statements.items() if item in r.subject.split()}
            base = [h for h in base if h.requirement == item or item in h.by or h.requirement in of_unit]
            other = [r for r in other if r == item or r in of_unit]
        # what stands in the place of a row is shown with it, also where its own topic is another one
        other += [ident for h in base for ident in h.by]
        if base or other:
            found.append(Differing(topic, tuple(base), tuple(sorted(set(other), key=order.__getitem__))))
    return tuple(found)


def knows(protocol: Protocol, edition: Edition, item: str) -> bool:
    """Whether item is a topic, a requirement of either edition or what a requirement speaks of, such as an IU."""
    requirements: Sequence[Requirement] = (*load_requirements([protocol]), *requirements_of(edition).values())
    return any(t.topic == item for t in topics_of(edition)) or any(item == r.id or item in r.subject.split() for r in requirements)
