"""The part of CONFORMANCE.md that tells the other editions of a standard."""

from __future__ import annotations

from collections import Counter

from fcvi.engine.editions import STATUSES, held, requirements_of, topics_of
from fcvi.engine.protocol import Protocol


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def render(protocol: Protocol) -> list[str]:
    """For each other edition: what holds there by topic, and each of its own rows with what it replaces."""
    lines: list[str] = []
    for edition in protocol.others:
        rows = held(edition)
        counts = Counter(row.status for row in rows)
        lines += ["", f"## Edition {edition.name}: {edition.standard}", ""]
        lines += ["No case runs against this edition yet. Of the "
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
        lines += ["", "| id | level | statement | stands in the place of |", "| --- | --- | --- | --- |"]
        for ident, r in requirements_of(edition).items():
            replaced = ", ".join(replaces.get(ident, [])) or "nothing: it is new"
            lines.append(f"| {ident} | {r.level} | {_cell(r.statement)} | {replaced} |")
    return lines
