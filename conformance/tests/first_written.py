"""The catalogue of a book as it was first written: what requirements_changed.tsv gives reasons for is taken back."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fcvi.engine.catalogue import CHANGED, REQUIREMENTS


def _table(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def first_written(folder: Path) -> str:
    """The SHA-256 of it. A changed row has what was there before in the columns NAME_was; an added row has nothing in them."""
    head, *rows = _table(folder / REQUIREMENTS)
    columns, *changed = _table(folder / CHANGED)
    before = {row[0]: dict(zip(columns, row)) for row in changed}
    strange = sorted(set(before) - {row[0] for row in rows})
    assert not strange, f"{CHANGED} speaks of {strange[0]}, which {REQUIREMENTS} has not: ids never go"
    kept = [head]
    for row in rows:
        was = before.get(row[0])
        if was is not None:
            old = {name.removesuffix("_was"): text for name, text in was.items() if name.endswith("_was")}
            assert was["reason"], f"{CHANGED}: {row[0]} has no reason"
            if not any(old.values()):
                continue  # added
            assert any(row[head.index(name)] != text for name, text in old.items()), f"{CHANGED}: {row[0]} is as it was"
            row = [old.get(name, text) for name, text in zip(head, row)]
        kept.append(row)
    return hashlib.sha256("".join("\t".join(row) + "\n" for row in kept).encode()).hexdigest()


def unexplained(folder: Path, sha256: str) -> str:
    """Says what to do where the catalogue was changed without a reason; "" where it was not."""
    if first_written(folder) == sha256:
        return ""
    return (
        f"{folder.name}/{REQUIREMENTS} has a row that was added or changed without its reason: `git diff` shows it; give "
        f"{folder.name}/{CHANGED} a line for it: its id, what the columns had before (nothing for a new row), and the reason"
    )
