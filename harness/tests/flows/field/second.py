"""Judge `explain` by the stories: how often its first cause is right, whom it names, and what it says of healthy captures.

Usage: python3 -m harness.tests.flows.field.second [COUNT] prints the figures and each story of which something wrong was said.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

from fcvi.capture.limits import Limits
from fcvi.commands.flows import taken
from fcvi.flows.causes import explain
from fcvi.flows.table import Table

from . import stories


def said(path: Path) -> tuple[list[tuple[str, ...]], list[int], int]:
    """Of a file: the causes, the parties that they name, and how many Connections failed for no known reason."""
    table, status = taken("explain", [str(path)], Table, SimpleNamespace(reorder=0, limits=Limits()))
    assert status == 0
    causes, unknown = explain(table, table.finish())
    return [c.names for c in causes], [c.party for c in causes if c.party is not None], len(unknown)


def judge(name: str, seed: int, folder: Path) -> tuple[str, str]:
    """right, wrong (the first cause), accused (who did nothing), missed or false (a healthy one is broken); and in words."""
    told, data, words = stories.capture(name, seed)
    path = folder / "c.pcap"
    path.write_bytes(data)
    causes, parties, unknown = said(path)
    words = f"{name} {seed} {words}: {causes} {unknown}"
    if not told.causes:
        return ("false" if causes or unknown else "right"), words
    if set(parties) - set(told.parties):
        return "accused", words
    if not causes:
        return ("wrong" if unknown else "missed"), words
    return ("right" if set(causes[0]) & set(told.causes) else "wrong"), words


def figures(names: list[tuple[str, int]], folder: Path) -> tuple[Counter[str], list[str]]:
    """How often what was said, and what was not right."""
    counts: Counter[str] = Counter()
    bad = []
    for name, seed in names:
        verdict, words = judge(name, seed, folder)
        counts[verdict] += 1
        if verdict != "right":
            bad.append(f"{verdict}: {words}")
    return counts, bad


def broken(count: int) -> list[tuple[str, int]]:
    """So many stories with a cause."""
    names = list(stories.CAUSES)
    return [(names[n % len(names)], n // len(names)) for n in range(count)]


def main() -> None:
    """Print the figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 460
    with tempfile.TemporaryDirectory() as folder:
        for words, names in (("broken", broken(count)), ("healthy", [("healthy", n) for n in range(count)])):
            counts, bad = figures(names, Path(folder))
            print(words, len(names), dict(counts))
            print("\n".join(bad))


if __name__ == "__main__":
    main()
