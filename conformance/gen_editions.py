"""The part of CONFORMANCE.md that tells the other editions of a standard."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import Optional

from fcvi.engine.editions import STATUSES, held, requirements_of, topics_of
from fcvi.engine.protocol import Edition, Protocol


def _book(edition: Edition) -> Optional[Protocol]:
    """The edition as a standard of its own, with cases; None where it has none."""
    name = edition.folder.name
    return import_module(f"conformance.{name}.book").PROTOCOL if (edition.folder / "book.py").is_file() else None


def _cases(edition: Edition) -> tuple[list[str], dict[str, list[str]]]:
    """What is said of its cases, and those that list each of its rows."""
    book = _book(edition)
    if book is None:
        return ["No case runs against this edition yet."], {}
    cases = list(book.cases())
    listed: dict[str, list[str]] = {}
    for case in cases:
        for ident in case.requirements:
            listed.setdefault(ident, []).append(case.id)
    assert book.base is not None
    of_base = {case.id for case in book.base.cases()}
    own, taken = [c for c in cases if c.id not in of_base], [c for c in cases if c.id in of_base]
    words = (
        f"`--revision {edition.name}` runs {len(own)} cases of its own with {sum(len(c.variants) for c in own)} variants, and of "
        f"those above the {len(taken)} that demand nothing but what holds, with {sum(len(c.variants) for c in taken)} variants: "
        f"{', '.join(c.id for c in taken)}."
    )
    return [words], listed


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def render(protocol: Protocol) -> list[str]:
    """For each other edition: what holds there by topic, and each of its own rows with what it replaces."""
    lines: list[str] = []
    for edition in protocol.others:
        rows = held(edition)
        counts = Counter(row.status for row in rows)
        lines += ["", f"## Edition {edition.name}: {edition.standard}", ""]
        said, listed = _cases(edition)
        lines += [*said, "", "Of the "
                  f"{len(rows)} statements above {', '.join(f'{counts[s]} are `{s}`' for s in STATUSES)}: "
                  f"`conformance/{edition.folder.name}/holds.tsv` says it of each.", ""]  # fmt: skip
        lines += ["| topic | its own rows | replaced | void |", "| --- | --- | --- | --- |"]
        for topic in topics_of(edition):
            of_topic = Counter(row.status for row in rows if row.topic == topic.topic)
            lines.append(f"| {topic.title} | {len(topic.rows)} | {of_topic['replaced']} | {of_topic['void']} |")
        replaces: dict[str, list[str]] = {}
        for row in rows:
            for ident in row.by:
                replaces.setdefault(ident, []).append(row.requirement)
        lines += ["", "| id | level | statement | stands in the place of | cases |", "| --- | --- | --- | --- | --- |"]
        for ident, r in requirements_of(edition).items():
            replaced = ", ".join(replaces.get(ident, [])) or "nothing: it is new"
            untestable = "none" if r.testable else f"untestable: {r.observable.removeprefix('n/a: ')}"
            cases = ", ".join(listed.get(ident, [])) or untestable
            lines.append(f"| {ident} | {r.level} | {_cell(r.statement)} | {replaced} | {_cell(cases)} |")
    return lines
