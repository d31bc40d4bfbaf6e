"""Prints for ``fcvi show --diff`` how two editions of a standard differ, from their tables."""

from __future__ import annotations

import json
import textwrap
from typing import Any, Optional

from fcvi.engine.catalogue import load_requirements
from fcvi.engine.editions import Differing, Held, differences, held, knows, other_edition, requirements_of
from fcvi.engine.protocol import Edition, Protocol, registered
from fcvi.engine.words import complain

_WIDTH = 100


def _pair(first: str, second: str) -> Optional[tuple[Protocol, Edition]]:
    """The standard and its other edition, in whichever order the two were named; None where they are no pair."""
    for name, against in ((first, second), (second, first)):
        found = other_edition(name)
        if found is not None and against == found[0].edition:
            return found
    return None


def _statement(ident: str, statement: str, words: str = "") -> str:
    text = f"{ident}{words}: {statement.removesuffix('[declarative]').strip()}"
    return textwrap.fill(text, _WIDTH, initial_indent="    ", subsequent_indent="      ")


def _fate(row: Held) -> str:
    """What became of a requirement, in words."""
    return f" (replaced by {', '.join(row.by)})" if row.by else " (has no counterpart)"


def _show_topic(part: Differing, statements: dict[str, str], first: tuple[str, bool], second: tuple[str, bool]) -> None:
    """One topic, the rows of the edition that was named first before those of the other. The flag says: the registered one."""
    print(f"{part.topic.topic}: {part.topic.title}\n")
    print(textwrap.fill(part.topic.matters, _WIDTH, initial_indent="  ", subsequent_indent="  ") + "\n")
    for name, is_base in (first, second):
        lines = [_statement(h.requirement, statements[h.requirement], _fate(h)) for h in part.base] if is_base else [
            _statement(ident, statements[ident]) for ident in part.other]  # fmt: skip
        print(f"  {name}" + ("" if lines else ": no such rule"))
        print("\n".join([*lines, ""]))


def _as_json(part: Differing, statements: dict[str, str]) -> dict[str, Any]:
    return {
        "topic": part.topic.topic,
        "title": part.topic.title,
        "matters": part.topic.matters,
        "rows": [{"requirement": h.requirement, "statement": statements[h.requirement], "status": h.status, "by": list(h.by)}
                 for h in part.base],
        "other": [{"requirement": ident, "statement": statements[ident]} for ident in part.other],
    }  # fmt: skip


def show(first: str, second: str, item: str, as_json: bool) -> int:
    """Print how these two editions differ, in one item or ("") in all. Returns the exit status: 0, or 2 for an unknown name."""
    pair = _pair(first, second)
    if pair is None:
        known = "; ".join(f"{edition.name} {p.edition}" for p in registered() for edition in p.others)
        complain(f"show --diff {first} {second}: no such pair of editions; known is: {known or 'none'}")
        return 2
    protocol, edition = pair
    if item and not knows(protocol, edition, item):
        complain(f"show --diff {first} {second} {item}: no such topic, requirement or IU; without it all topics are listed")
        return 2
    parts = differences(protocol, edition, item)
    statements = {r.id: r.statement for r in (*load_requirements([protocol]), *requirements_of(edition).values())}
    fates = [h.status for h in held(edition)]
    counts = {status: fates.count(status) for status in ("holds", "replaced", "void")}
    if as_json:
        print(json.dumps({"kind": "difference", "first": first, "second": second, "item": item, "counts": counts,
                          "topics": [_as_json(part, statements) for part in parts]}))  # fmt: skip
        return 0
    names = {protocol.edition: (protocol.standard, True), edition.name: (edition.standard, False)}
    if not item:
        print(f"{names[first][0]} and {names[second][0]} differ in these topics.\n")
        for part in parts:
            print(f"  {part.topic.topic:16} {part.topic.title}")
        print(f"\nOf {len(fates)} requirements of {protocol.standard} {counts['holds']} hold in {edition.standard}, "
              f"{counts['replaced']} are replaced and {counts['void']} have no counterpart.\n"
              f"`fcvi show --diff {first} {second} TOPIC` says what changed and why it matters.")  # fmt: skip
        return 0
    for part in parts:
        _show_topic(part, statements, names[first], names[second])
    if not parts:
        print(f"{item}: nothing differs; what {protocol.standard} says of it holds in {edition.standard}.")
    return 0
