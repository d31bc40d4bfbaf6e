"""Finds which test files reach a module by imports, nearest first; one that runs `fcvi NAME` imports that command."""

from __future__ import annotations

import json
import re
from pathlib import Path

from conformance.tests.rooms import _imports, _module
from conformance.tests.quick.plan import ROOT

_COMMAND = re.compile(r"""\bfcvi\(\s*\[?["'](\w[\w-]*)["']""")
_KEPT = ROOT / "build/quick/imports.json"
#: Every test has these: they say nothing about what it tests.
_EVERYWHERE = {"conformance", "tests.conftest", "conformance.tests.conftest"}


def is_test(path: Path) -> bool:
    """Whether pytest runs it."""
    return path.name.startswith("test_") and path.suffix == ".py"


def module_of(path: Path) -> str:
    """As rooms.py names it: what is under harness/ without that word."""
    return _module(path)


def _sources() -> list[Path]:
    return sorted(p for top in ("harness/fcvi", "harness/tests", "conformance") for p in (ROOT / top).rglob("*.py"))


def _used(path: Path, known: set[str]) -> list[str]:
    names = {name.removeprefix("harness.") for _, name in _imports(path, known)}
    if "tests" in path.parts:
        text = path.read_text(encoding="utf-8")
        names |= {f"fcvi.commands.{word.replace('-', '_')}" for word in _COMMAND.findall(text)}
    return sorted(names)


def importers() -> dict[str, set[str]]:
    """By module, the modules that import it. What was read of a file is kept until the file changes."""
    kept = json.loads(_KEPT.read_text(encoding="utf-8")) if _KEPT.exists() else {}
    paths = _sources()
    known = {module_of(path) for path in paths}
    found: dict[str, tuple[str, list[str]]] = {}
    for path in paths:
        state = f"{path.stat().st_mtime_ns}"
        had = kept.get(module_of(path), ("", []))
        found[module_of(path)] = (state, had[1] if had[0] == state else _used(path, known))
    _KEPT.parent.mkdir(parents=True, exist_ok=True)
    _KEPT.write_text(json.dumps(found), encoding="utf-8")
    backwards: dict[str, set[str]] = {}
    for module, (_, used) in found.items():
        for name in used:
            backwards.setdefault(name, set()).add(module)
    return backwards


def reaching(path: Path, most: int) -> tuple[list[str], int]:
    """The nearest test files that reach the module of this file, at most so many, and how many more there are.

    Among those that are equally near, one that shares a word with the name of the module, or of its folder, comes first.
    """
    backwards, module = importers(), module_of(path)
    files = {module_of(p): p for p in _sources() if is_test(p)}
    words = {*path.stem.split("_"), path.parent.name}
    near, seen, ordered = {module}, {module}, list[str]()
    while near:
        tests = [name for name in near if name in files]
        ordered += sorted(tests, key=lambda name: (-len(words & set(name.rpartition(".")[2].split("_"))), name))
        near = {user for name in near for user in backwards.get(name, ())} - seen - _EVERYWHERE
        seen |= near
    return [str(files[name].relative_to(ROOT)) for name in ordered[:most]], max(0, len(ordered) - most)
