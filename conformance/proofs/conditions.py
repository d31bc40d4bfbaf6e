"""Finds what a check of a condition compares: the parts of it that have to hold, each one wrong value, and what has to come at all.

The parts are read from the words of the check in its source: ``a.good and a.length == 8`` has two. When such a check fails, the
part that does not hold is the first that is not true, in the order of the words.
"""

from __future__ import annotations

import ast
import functools
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Iterator, Mapping, Optional

from fcvi.engine import proof

HOLDS_PRIMITIVES = True  # a check is that of whoever called the recorder (proof.py)
#: Functions between a check and the recorder.
_INNER = frozenset(("note", "breach", "report", "require", "demand", "fail"))
_MOST = 6  # parts of one condition
_OWN = __package__ or ""
_LONG = 100  # characters of a part


class _Guarded(Exception):
    """A part wants to ask the device, which would be another run."""


class _Asleep:
    """The device while it is asked nothing."""

    def __init__(self, dut: Any) -> None:
        self._dut = dut

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._dut, name)
        if callable(found):
            raise _Guarded(name)
        return found


@dataclass(frozen=True)
class Part:
    """A part of a condition. words: of the check. comes: whether it holds only if something is there. each: its names for what a
    loop takes in turn. arrives: it asks itself whether a call has returned or something has come: its breach is an absence."""

    words: str
    code: CodeType
    names: frozenset[str]
    comes: bool
    each: frozenset[str]
    arrives: bool


@dataclass(frozen=True)
class Condition:
    """The parts of a condition, and the names of the arguments that it is made of where a function of the book checks it."""

    parts: tuple[Part, ...]
    frame: FrameType
    asker: Optional[FrameType]

    def things(self, part: Part) -> list[Any]:
        """The values of the names of a part. A loop over what came does not ask that it comes; one over what was asked for does."""
        found: list[Any] = []
        code = self.frame.f_code
        if any(hasattr(self.frame.f_locals.get(name), "raw") for name in code.co_varnames[: code.co_argcount]):
            return []  # the function judges each completion that came
        for frame in (self.frame, *([self.asker] if self.asker is not None else [])):
            for name in sorted(part.names):
                thing = frame.f_locals.get(name)
                if name not in part.each or hasattr(thing, "wcs") or hasattr(thing, "reply"):
                    found.append(thing)
        return found

    def broken(self) -> str:
        """The words of the first part that does not hold; "" where that cannot be told.

        What a part would have to ask the device for again is not known: it is that part if all others hold.
        """
        if len(self.parts) == 1:
            return self.parts[0].words
        scenario = _scenario_of(self.frame)
        known = {**self.frame.f_globals, **self.frame.f_locals}
        dut = scenario.dut
        scenario.dut = _Asleep(dut)
        try:
            held = [_holds(part, known) for part in self.parts]
        finally:
            scenario.dut = dut
        unknown = [at for at, one in enumerate(held) if one is None]
        first = held.index(False) if False in held else None
        if first is None:
            return self.parts[unknown[0]].words if len(unknown) == 1 else ""
        return "" if unknown and unknown[0] < first else self.parts[first].words


def _holds(part: Part, known: dict[str, Any]) -> Optional[bool]:
    """None where the device would be asked."""
    try:
        return bool(eval(part.code, known))  # the words of our own check
    except _Guarded:
        return None
    except Exception:  # it does not hold where it has no value
        return False


def _scenario_of(frame: FrameType) -> Any:
    """Of the check: what has been called to judge it."""
    inner: Optional[FrameType] = sys._getframe(1)
    while inner is not None and inner is not frame:
        found = inner.f_locals.get("self")
        if hasattr(found, "dut") and hasattr(found, "require"):
            return found
        inner = inner.f_back
    return None


def here() -> Optional[Condition]:
    """The condition of the check that is being made or reported now; None where the case reports a breach by itself."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and (
        frame.f_code.co_name in _INNER or frame.f_globals.get("__name__", "").startswith(_OWN)
    ):
        frame = frame.f_back
    if frame is None:
        return None
    back = frame.f_back
    asker = back if back is not None and proof.MARK in frame.f_globals and proof.MARK not in back.f_globals else None
    given = _place(asker) if asker is not None and _is_of_a_case(asker) else None
    parts = _parts(*_place(frame), given)
    return Condition(parts, frame, asker if given is not None else None) if parts else None


def _is_of_a_case(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("conformance.")


_Place = tuple[str, str, int, int]  # file, function, line and column at which a call ends


def _place(frame: FrameType) -> _Place:
    _, line, _, column = _positions(frame.f_code)[frame.f_lasti // 2]
    return frame.f_code.co_filename, frame.f_code.co_name, line or 0, column or 0


@functools.cache
def _positions(code: CodeType) -> list[tuple[Optional[int], Optional[int], Optional[int], Optional[int]]]:
    return list(code.co_positions())


@functools.cache
def _source(file: str) -> tuple[Mapping[tuple[int, int], ast.Call], Mapping[str, ast.FunctionDef], list[ast.For]]:
    """The calls of a module by where they end, its functions by name, and its loops."""
    nodes = list(ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))))
    calls = {(node.end_lineno or 0, node.end_col_offset or 0): node for node in nodes if isinstance(node, ast.Call)}
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    return calls, functions, [node for node in nodes if isinstance(node, ast.For)]


def _each_of(file: str, call: ast.Call) -> frozenset[str]:
    """The names for what the loops around a call take in turn."""
    around = [loop for loop in _source(file)[2] if loop.lineno < call.lineno <= (loop.end_lineno or 0)]
    return frozenset(node.id for loop in around for node in ast.walk(loop.target) if isinstance(node, ast.Name))


@functools.cache
def _parts(file: str, function: str, line: int, column: int, given: Optional[_Place]) -> tuple[Part, ...]:
    calls, functions, _ = _source(file)
    call = calls.get((line, column))
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr not in ("require", "demand") or not call.args:
        return ()
    told: dict[str, ast.expr] = {}
    asked: Optional[ast.Call] = None
    if given is not None:
        asked = _source(given[0])[0].get(given[2:])
        taken = [one.arg for one in functions[function].args.args if one.arg != "self"]
        if asked is not None:
            told = dict(zip(taken, asked.args)) | {one.arg: one.value for one in asked.keywords if one.arg is not None}
    each = _each_of(file, call) | (_each_of(given[0], asked) if given is not None and asked is not None else frozenset())
    found: dict[str, Part] = {}
    for node in _each(call.args[0], True):
        code = compile(ast.fix_missing_locations(ast.Expression(node)), f"<{file}>", "eval")
        shown = _Given(told).visit(ast.parse(ast.unparse(node), mode="eval").body)
        words = " ".join(ast.unparse(shown).split())[:_LONG]
        names = frozenset(one.id for of in (node, shown) for one in ast.walk(of) if isinstance(one, ast.Name))
        found.setdefault(words, Part(words, code, names, _comes(node), each, _arrives(node)))
    return tuple(found.values())


class _Given(ast.NodeTransformer):
    """Puts the arguments in the place of their names."""

    def __init__(self, told: Mapping[str, ast.expr]) -> None:
        self._told = told

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._told.get(node.id, node)


def _each(node: ast.expr, holds: bool) -> Iterator[ast.expr]:
    """The parts all of which are true if the node is true, or false."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from _each(node.operand, not holds)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bool" and len(node.args) == 1:
        yield from _each(node.args[0], holds)
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) == holds:
        for one in node.values:
            yield from _each(one, holds)
    elif isinstance(node, ast.BoolOp):
        ways = [list(_each(one, holds)) for one in node.values]
        every = list(product(*ways))
        if len(every) > _MOST:
            yield node if holds else ast.UnaryOp(ast.Not(), node)
        else:
            for way in every:
                yield ast.BoolOp(ast.Or(), list(way))
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq) and holds:
        yield from _members(node)
    else:
        yield node if holds else ast.UnaryOp(ast.Not(), node)


def _members(node: ast.Compare) -> Iterator[ast.expr]:
    """The members of what is compared with a tuple."""
    left, right = node.left, node.comparators[0]
    known = next((one for one in (right, left) if isinstance(one, ast.Tuple) and len(one.elts) > 1), None)
    if known is None or any(isinstance(one, ast.Starred) for one in known.elts):
        yield node
        return
    for at in range(len(known.elts)):
        pair = [one.elts[at] if isinstance(one, ast.Tuple) and at < len(one.elts) else _member(one, at) for one in (left, right)]
        yield ast.Compare(pair[0], [ast.Eq()], [pair[1]])


def _member(of: ast.expr, at: int) -> ast.expr:
    return ast.Subscript(of, ast.Constant(at), ast.Load())


def _comes(node: ast.expr) -> bool:
    """Whether it can hold only of what is there: not what denies something, and what is compared with nothing."""
    if isinstance(node, ast.UnaryOp):
        return False
    if isinstance(node, ast.BoolOp):
        return all(_comes(one) for one in node.values)
    if isinstance(node, ast.Compare):
        nothing = [one for one in (node.left, *node.comparators) if _is_nothing(one)]
        return not nothing and all(isinstance(op, (ast.Eq, ast.In, ast.Gt, ast.GtE)) for op in node.ops) or (
            bool(nothing) and all(isinstance(op, (ast.IsNot, ast.NotEq, ast.Gt)) for op in node.ops)
        )
    return True


def _arrives(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr in ("done", "until") for one in ast.walk(node))


def _is_nothing(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value in (None, 0, False, "")
    return isinstance(node, (ast.List, ast.Tuple, ast.Dict)) and not (node.keys if isinstance(node, ast.Dict) else node.elts)


class Judge(proof.Recorder):
    """Notes nothing but the breaches: where, of which requirement, and which part of the condition did not hold."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: set[tuple[str, str, str]] = set()

    def started(self, method: str, call: Any) -> None:
        """Not noted."""

    def told(self, what: str, thing: Any) -> None:
        """Not noted."""

    def look(self, what: str, thing: Any, name: str = "") -> None:
        """Not noted."""

    def note(self, *check: Any, **how: Any) -> None:
        """Not noted."""

    def breach(self, requirement: str) -> None:
        found = here()
        if found is not None:
            self.broken.add((proof.asker()[0], requirement, found.broken()))


__all__ = ["Condition", "Judge", "Part", "here"]
