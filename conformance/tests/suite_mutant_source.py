"""One-line mutants of the suite's own Python: where they are, and the probes that tell which tests run their lines."""

from __future__ import annotations

import ast
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Optional

_WORDS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}  # fmt: skip
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # what a statement holds that has lines of its own
_LEFT_ALONE = (ast.Import, ast.ImportFrom, ast.Raise, ast.Pass, ast.Global)
PROBE = "fcvi_probe"
DESCRIPTOR = 900  # of a probe's file: a command that the fork server begins closes those up to 563 of the server

#: The module of the probes: each notes once a process which test runs it. A command that a test starts has its environment. The
#: file is opened when the program begins, since the sandbox of the reader opens nothing.
PROBE_SOURCE = '''import fcntl
import os

_seen = set()
_low = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
try:
    _log = fcntl.fcntl(_low, fcntl.F_DUPFD_CLOEXEC, {descriptor})
    os.close(_low)  # where standard output was closed this is its number
except OSError:
    _log = _low  # few descriptors are allowed here


def hit(number):
    """Note which test runs this line."""
    who = os.environ.get("PYTEST_CURRENT_TEST") or "?"
    if (number, who) not in _seen:
        _seen.add((number, who))
        try:
            os.write(_log, f"{{number}}\\t{{who}}\\n".encode())
        except OSError:
            pass
'''


@dataclass(frozen=True)
class Mutant:
    """One line of a file, as it is and as it becomes."""

    file: str
    statement: int  # the line on which the statement begins that holds the line
    line: int
    kind: str
    old: str
    new: str


def sources(root: Path) -> list[str]:
    """The files that are mutated: the command's, and each book's cases and steps."""
    found = list((root / "harness/fcvi").rglob("*.py"))
    for part in ("cases", "steps"):
        found += (root / "conformance").glob(f"*/{part}/**/*.py")
    return sorted(path.relative_to(root).as_posix() for path in found)


def mutants_of(root: Path, name: str) -> list[Mutant]:
    """Every mutant of a file: statements inside of functions alone, since others run when a module is loaded."""
    text = (root / name).read_text(encoding="utf-8")
    lines = text.split("\n")
    found = []
    for statement in _statements(ast.parse(text).body, False, lines):
        for line, new, kind in _changes(statement, text, lines):
            if new is None or new == lines[line - 1]:
                continue
            if _parses([*lines[: line - 1], new, *lines[line:]][statement.lineno - 1 : statement.end_lineno]):
                found.append(Mutant(name, statement.lineno, line, kind, lines[line - 1], new))
    return found


def _parses(lines: list[str]) -> bool:
    try:
        ast.parse("if True:\n" + "\n".join(lines) if lines[0][:1].isspace() else "\n".join(lines))
    except SyntaxError:
        return False
    return True


def _statements(body: list[ast.stmt], inside: bool, lines: list[str]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _statements(statement.body, True, lines)
            continue
        if isinstance(statement, ast.ClassDef):
            yield from _statements(statement.body, False, lines)
            continue
        if inside and not isinstance(statement, _LEFT_ALONE):
            yield statement
        for block in ("body", "orelse", "finalbody"):
            held: list[ast.stmt] = getattr(statement, block, [])
            # no line can be put before an elif
            if held and not (isinstance(held[0], ast.If) and lines[held[0].lineno - 1].lstrip().startswith("elif")):
                yield from _statements(held, inside, lines)
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _statements(part.body, inside, lines)


def _parts(statement: ast.stmt) -> Iterator[ast.AST]:
    todo: list[object] = [value for name, value in ast.iter_fields(statement) if name not in _BLOCKS]
    while todo:
        value = todo.pop()
        if isinstance(value, list):
            todo += value
        elif isinstance(value, ast.AST) and not isinstance(value, (ast.stmt, ast.JoinedStr, ast.Lambda)):
            yield value
            todo += [held for _, held in ast.iter_fields(value)]


def _changes(statement: ast.stmt, text: str, lines: list[str]) -> Iterator[tuple[int, Optional[str], str]]:
    first = lines[statement.lineno - 1]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        if first.strip() == ast.get_source_segment(text, statement):
            yield statement.lineno, first[: len(first) - len(first.lstrip())] + "pass", "call removed"
    if isinstance(statement, ast.AugAssign) and statement.lineno == statement.end_lineno and "+=" in first:
        yield statement.lineno, first.replace("+=", "-=", 1), "augmented"
    for part in _parts(statement):
        if isinstance(part, ast.Compare) and len(part.ops) == 1:
            yield _between(part.left, part.comparators[0], *_WORDS[type(part.ops[0])], lines, "comparison")
        elif isinstance(part, ast.BoolOp) and len(part.values) == 2:
            words = ("and", "or") if isinstance(part.op, ast.And) else ("or", "and")
            yield _between(part.values[0], part.values[1], f" {words[0]} ", f" {words[1]} ", lines, "and/or")
        elif isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Add, ast.Sub)):
            words = ("+", "-") if isinstance(part.op, ast.Add) else ("-", "+")
            yield _between(part.left, part.right, *words, lines, "arithmetic")
        elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not) and part.lineno == part.end_lineno:
            row = lines[part.lineno - 1].encode()
            yield part.lineno, (row[: part.col_offset] + row[part.operand.col_offset :]).decode(), "not removed"
        elif isinstance(part, ast.Constant) and part.lineno == part.end_lineno:
            yield _constant(part, lines)


def _between(
    left: ast.expr, right: ast.expr, old: str, new: str, lines: list[str], kind: str
) -> tuple[int, Optional[str], str]:
    line = left.end_lineno or left.lineno
    row = lines[line - 1].encode()
    if line != right.lineno:
        return line, None, kind
    before, after = row[: left.end_col_offset], row[right.col_offset :]
    middle = row[left.end_col_offset : right.col_offset].decode()
    if old not in middle:
        return line, None, kind
    return line, before.decode() + middle.replace(old, new, 1) + after.decode(), kind


def _constant(part: ast.Constant, lines: list[str]) -> tuple[int, Optional[str], str]:
    row = lines[part.lineno - 1].encode()
    written = row[part.col_offset : part.end_col_offset].decode()
    new = str(not part.value) if isinstance(part.value, bool) else str(int(written) + 1) if written.isdigit() else None
    if new is None:
        return part.lineno, None, "constant"
    return part.lineno, row[: part.col_offset].decode() + new + row[part.end_col_offset :].decode(), "constant"


def chosen(root: Path, seed: int, count: int) -> list[Mutant]:
    """A seeded sample, at most one of each statement."""
    every = [mutant for name in sources(root) for mutant in mutants_of(root, name)]
    rng = random.Random(seed)
    found: dict[tuple[str, int], Mutant] = {}
    while len(found) < min(count, len({(m.file, m.statement) for m in every})):
        mutant = rng.choice(every)
        found.setdefault((mutant.file, mutant.statement), mutant)
    return list(found.values())


def put_probes(tree: Path, mutants: list[Mutant], log: Path) -> None:
    """Before each mutant's statement, in a copy of the tree, a line that notes who runs it."""
    (tree / "harness" / f"{PROBE}.py").write_text(PROBE_SOURCE.format(log=str(log), descriptor=DESCRIPTOR), encoding="utf-8")
    numbered = sorted(enumerate(mutants), key=lambda pair: -pair[1].statement)
    for number, mutant in numbered:
        path = tree / mutant.file
        lines = path.read_text(encoding="utf-8").split("\n")
        row = lines[mutant.statement - 1]
        lines.insert(mutant.statement - 1, f"{row[: len(row) - len(row.lstrip())]}__import__({PROBE!r}).hit({number})")
        path.write_text("\n".join(lines), encoding="utf-8")
    package = tree / "harness/fcvi/__init__.py"
    if package.exists():
        package.write_text(package.read_text(encoding="utf-8") + f"\n__import__({PROBE!r})\n", encoding="utf-8")


def apply(tree: Path, mutant: Mutant, back: bool = False) -> None:
    """Make the change in a copy of the tree, or take it back."""
    path = tree / mutant.file
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[mutant.line - 1] = mutant.old if back else mutant.new
    path.write_text("\n".join(lines), encoding="utf-8")
