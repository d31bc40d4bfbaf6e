"""From a name or a changed file to what tests it. The rule, for each kind:

case            it plays on the reference device of its book, and its broken devices are tried
requirement     the cases that list it, its broken devices, and every test that names it
test            that test: a file, a function, or the program of a source in C
Python module   the tests that import it, nearest first; the cases that stand in it or import it as a step
source in C     the unit tests of its room
table of a book the tests of catalogues and errata
document        the tests of documents
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from . import books, imports
from .plan import ROOT, Plan

_DOCUMENTS = ["harness/tests/commands/test_documents.py"]
#: Where the unit tests of a room are; the longest beginning of a path counts.
_UNIT_TESTS = {"codec": "codec/tests", "refimpl": "refimpl/tests", "refimpl/vipl": "refimpl/vipl/tests",
               "conformance/monitor": "conformance/monitor/tests", "harness/capture": "harness/capture/tests",
               "harness/judge": "harness/capture/tests", "harness/mutator": "harness/mutator/tests"}  # fmt: skip
_MOST_FILES = 12
_MOST_CASES = 20


class Unknown(Exception):
    """A name of nothing."""


def named(word: str, plan: Plan) -> None:
    """Plan the tests of a name. Raises Unknown."""
    if (ROOT / word).is_file():
        changed(ROOT / word, plan)
        return
    if found := books.called(word):
        _cases(found, f"{word} is a case", plan)
        return
    if books.is_requirement(word):
        _requirement(word, plan)
        return
    if tests := _tests(word):
        for path in tests:
            _test(path, plan)
        return
    for path in (ROOT / f"{word.replace('.', '/')}.py", ROOT / "harness" / f"{word.replace('.', '/')}.py"):
        if path.is_file():
            changed(path, plan)
            return
    if functions := _mentioning(f"def {word}(", ("*/test_*.py",)):
        plan.add_tests([f"{path}::{word}" for path in functions])
        plan.why.append(f"{word} is a test in {', '.join(functions)}")
        return
    raise Unknown(word)


def changed(path: Path, plan: Plan) -> None:
    """Plan the tests of a file."""
    name = str(path.relative_to(ROOT))
    if imports.is_test(path) or (path.suffix == ".c" and path.name.startswith("test_")):
        _test(path, plan)
    elif path.suffix in (".c", ".h", ".def", ".cc"):
        _unit_tests(path, plan)
    elif path.suffix == ".py" and name.startswith(("harness/fcvi/", "harness/tests/", "conformance/")):
        _module(path, plan)
    elif path.suffix == ".tsv" or path.name == "errata.md":
        plan.add_tests(books.tests_of(path))
        plan.why.append(f"{name}: the tests of its catalogue")
        plan.not_covered.append(f"{name}: `make check-docs` compares CONFORMANCE.md")
    elif path.suffix == ".md":
        plan.add_tests(_DOCUMENTS)
        plan.why.append(f"{name}: the tests of documents")
    else:
        plan.not_covered.append(f"{name}: no quick test is known for it")


def _cases(found: list[tuple[str, books.CaseInfo]], why: str, plan: Plan) -> None:
    for book, case in found[:_MOST_CASES]:
        plan.cases[book, case.id] = None
    plan.add_tests(books.devices(found[:_MOST_CASES]))
    plan.why.append(why)
    if len(found) > _MOST_CASES:
        plan.not_covered.append(f"{why}: {len(found) - _MOST_CASES} more cases")


def _requirement(word: str, plan: Plan) -> None:
    why = f"{word} is a requirement: the cases that list it, its broken devices, and the tests that name it"
    _cases(books.listing(word), why, plan)
    plan.add_tests(books.devices([], word))
    for name in _mentioning(word, ("*/test_*.py", "*/test_*.c")):
        _test(ROOT / name, plan, told=False)


def _tests(word: str) -> list[Path]:
    wanted = word if word.startswith("test_") else f"test_{word}"
    listed = _git("ls-files", "-co", "--exclude-standard", "--", "*/test_*.py", "*/test_*.c")
    return [ROOT / name for name in listed if wanted in (Path(name).name, Path(name).stem)]


def _test(path: Path, plan: Plan, told: bool = True) -> None:
    name = str(path.relative_to(ROOT))
    if path.suffix == ".py":
        plan.add_tests([name])
    else:
        plan.programs[name] = None
    if told:
        plan.why.append(f"{name} is a test")


def _unit_tests(path: Path, plan: Plan) -> None:
    name = str(path.relative_to(ROOT))
    room = max((begin for begin in _UNIT_TESTS if name.startswith(f"{begin}/")), key=len, default="")
    if not room:
        plan.not_covered.append(f"{name}: its room has no unit tests in C")
        return
    words = set(path.stem.split("_"))
    tests = sorted((ROOT / _UNIT_TESTS[room]).rglob("test_*.c"), key=lambda p: (-len(words & set(p.stem.split("_"))), p.name))
    plan.programs.update(dict.fromkeys(str(p.relative_to(ROOT)) for p in tests))
    plan.why.append(f"{name}: the unit tests of {room}")


def _module(path: Path, plan: Plan) -> None:
    name = str(path.relative_to(ROOT))
    own = books.declared_in(path) if "cases" in path.parts else []
    if "steps" in path.parts:
        users = imports.importers().get(imports.module_of(path), set())
        files = [ROOT / f"{user.replace('.', '/')}.py" for user in sorted(users) if ".cases." in user]
        own = [found for file in files for found in books.declared_in(file)]
    if own:
        _cases(own, f"{name}: its cases, or those that take steps of it", plan)
    files, more = imports.reaching(path, _MOST_FILES)
    plan.add_tests(files)
    if files:
        plan.why.append(f"{name}: the tests that import it, nearest first")
    elif not own:
        plan.not_covered.append(f"{name}: no test imports it")
    if more:
        plan.not_covered.append(f"{name}: {more} more test files reach it, from further away")


def _mentioning(text: str, where: tuple[str, ...]) -> list[str]:
    return _git("grep", "--untracked", "-lF", text, "--", *where)


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def differing() -> list[Path]:
    """The files that differ from HEAD, or that git does not know yet; one that is gone has no tests of its own."""
    names = dict.fromkeys([*_git("diff", "--name-only", "HEAD"), *_git("ls-files", "--others", "--exclude-standard")])
    return [ROOT / name for name in names if (ROOT / name).is_file()]
