"""The rooms of the tree use each other only as the tables of rooms.py say; `python3 -m conformance.tests.rooms` lists all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest

from . import rooms

BUILD = rooms.ROOT / "build"


def judge(found: rooms.Found, least: int) -> None:
    """Fail with one line for each thing that breaks the rule; too little to look at is a failure too."""
    assert found.seen >= least, f"only {found.seen} were found to look at"
    if found.broken:
        pytest.fail(f"{len(found.broken)} against the rule:\n" + "\n".join(found.broken), pytrace=False)


@pytest.mark.parametrize(
    "look, least", [(rooms.homeless, 100), (rooms.include_arrows, 100), (rooms.common_headers, 10), (rooms.import_arrows, 500)]
)
def test_sources_use_what_lies_below(look: Callable[[], rooms.Found], least: int) -> None:
    """Includes and imports point downward, every file is in a room, and no header is everybody's."""
    judge(look(), least)


@pytest.mark.parametrize(
    "look, least",
    [(rooms.symbol_arrows, 200), (rooms.call_cycles, 200), (rooms.file_circles, 1000), (rooms.unprefixed, 300)],
)
def test_objects_use_what_lies_below(look: Callable[[Path], rooms.Found], least: int) -> None:
    """Symbols point downward, no rooms or files use each other in a circle, and every global has a prefix of the project."""
    judge(look(BUILD), least)


def test_allowed_arrows_make_no_cycle() -> None:
    """The tables name only rooms that there are, and following them never leads back."""
    for arrows, known in ((rooms.C_ARROWS, rooms.C_ROOMS), (rooms.PY_ARROWS, rooms.PY_ROOMS)):
        names = set(known.values())
        assert set(arrows) == names
        assert all(targets <= names for targets in arrows.values())
        assert rooms._cycle(arrows) == []


def test_an_arrow_that_points_up_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header and a module of a room above, in a tree of two files each, by statement and by name."""
    for name, text in {
        "codec/src/core/low.c": '#include "../fc/high.h"\n',
        "codec/src/fc/high.h": "",
        "harness/fcvi/engine/low.py": "from ..report import high\nimport importlib\nimportlib.import_module('conformance.cases')\n",
        "harness/fcvi/report/high.py": "from fcvi.engine import low\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(rooms, "ROOT", tmp_path)
    assert rooms.include_arrows().broken == ["codec/src/core/low.c includes codec/src/fc/high.h: codec/core must not use codec/fc"]
    assert [line.split(": ")[1] for line in rooms.import_arrows().broken] == [
        "engine must not use report",
        "engine must not use conformance",
    ]


def test_a_cycle_is_found() -> None:
    """The rooms of a cycle are named in order; a graph without one has none."""
    assert rooms._cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert rooms._cycle({"a": {"b", "c"}, "b": {"c"}}) == []


def test_a_circle_of_files_is_found() -> None:
    """All files that reach each other are one circle; two of them are none, and neither is what only leads there."""
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"a"}, "e": {"a", "f"}, "f": {"e"}}
    assert rooms.circles(graph) == [["a", "b", "c", "d"]]
    assert rooms.circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
