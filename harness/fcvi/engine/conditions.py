"""Finds what a check of a condition compares: the parts of it that have to hold, each one wrong value, and what has to come at all.

The parts are read from the words of the check in its source: ``a.good and a.length == 8`` has two. When such a check fails, the
part that does not hold is the first that is not true, in the order of the words.
"""

from __future__ import annotations

import ast
import functools
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Container, Iterator, Mapping, Optional

from . import proof
from .catalogue import TURN

#: Functions between a check and the recorder.
_INNER = frozenset(("note", "breach", "report", "require", "demand", "fail"))
_MOST = 6  # parts of one condition
_LONG = 100  # characters of a part
_WIDE = 8  # members of a tuple that are compared one by one


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
    loop takes in turn. arrives: it asks itself whether a call has returned or something has come: its breach is an absence.
    sides: what it compares for equality. among: its names for that in which it looks for something, or which it counts exactly:
    there an absence is another breach than a wrong value. ways: what it may be equal to, or in: the one side, and the others."""

    words: str
    code: CodeType
    names: frozenset[str]
    comes: bool
    each: frozenset[str]
    arrives: bool
    sides: tuple[CodeType, ...] = ()
    among: frozenset[str] = frozenset()
    ways: tuple[CodeType, ...] = ()


@dataclass(frozen=True)
class Condition:
    """The parts of a condition, and the names of the arguments that it is made of where a function of the book checks it."""

    parts: tuple[Part, ...]
    frame: FrameType
    asker: Optional[FrameType]
    varies: bool = False  # the words of the check are made each time that it is made

    def subject(self, part: str, turn: str) -> str:
        """The words of a part, and the turn of a loop that checks several things."""
        return f"{part}{TURN}{turn}" if self.varies and turn else part

    def things(self, part: Part) -> list[Any]:
        """The values of the names of a part. A loop over what came does not ask that it comes; one over what was asked for does."""
        return [thing for _, thing in self.named_things(part)]

    def named_things(self, part: Part) -> list[tuple[str, Any]]:
        """The same, each with its name."""
        found: list[tuple[str, Any]] = []
        code = self.frame.f_code
        if any(hasattr(self.frame.f_locals.get(name), "raw") for name in code.co_varnames[: code.co_argcount]):
            return []  # the function judges each completion that came
        for frame in (self.frame, *([self.asker] if self.asker is not None else [])):
            for name in sorted(part.names):
                thing = frame.f_locals.get(name)
                if name not in part.each or hasattr(thing, "wcs") or hasattr(thing, "reply"):
                    found.append((name, thing))
        return found

    def passing(self, part: Part) -> tuple[Any, tuple[Any, ...]]:
        """What was seen, and the other values that a part lets pass; none where it does not say which."""
        if not part.ways:
            return None, ()
        with _asleep(self.frame) as known:
            try:
                seen, *others = (eval(way, known) for way in part.ways)  # the words of our own check
            except Exception:
                return None, ()
        found: list[Any] = []
        for other in others:
            several = isinstance(other, (list, tuple, set, frozenset, range, dict))
            found += [one for one in (islice(other, _WIDE) if several else [other]) if one != seen and one not in found]
        return seen, tuple(found) if isinstance(seen, (int, str)) else ()

    def broken(self) -> str:
        """The words of the first part that does not hold; "" where that cannot be told.

        What a part would have to ask the device for again is not known: it is that part if all others hold.
        """
        if len(self.parts) == 1:
            return self.parts[0].words
        with _asleep(self.frame) as known:
            held = [_holds(part, known) for part in self.parts]
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


@contextmanager
def _asleep(frame: FrameType) -> Iterator[dict[str, Any]]:
    """The names of a check, while its device is asked nothing."""
    scenario = scenario_of(frame)
    dut = scenario.dut
    scenario.dut = _Asleep(dut)
    try:
        yield {**frame.f_globals, **frame.f_locals}
    finally:
        scenario.dut = dut


def scenario_of(frame: FrameType) -> Any:
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
    while frame is not None and frame.f_code.co_name in _INNER:
        frame = frame.f_back
    if frame is None:
        return None
    back = frame.f_back
    asker = back if back is not None and proof.MARK in frame.f_globals and proof.MARK not in back.f_globals else None
    given = _place(asker) if asker is not None and _is_of_a_case(asker) else None
    parts = _parts(*_place(frame), given)
    if not parts:
        return None
    if any(part.sides for part in parts):
        parts = tuple(one for part in parts for one in _members_of(part, frame))
    return Condition(parts, frame, asker if given is not None else None, _varies(*_place(frame)))


@functools.cache
def _varies(file: str, _: str, line: int, column: int) -> bool:
    """Whether the words of a check are no constant."""
    call = _source(file)[0][line, column]
    return len(call.args) > 2 and not isinstance(call.args[2], ast.Constant)


def _members_of(part: Part, frame: FrameType) -> Iterator[Part]:
    """A part that compares two tuples is one for each of their members; that of two lists looks in what they are made of."""
    if not part.sides:
        yield part
        return
    with _asleep(frame) as known:
        try:
            values = [eval(side, known) for side in part.sides]  # the words of our own check
        except Exception:
            values = []
    if values and all(isinstance(one, (list, set, frozenset)) for one in values):
        yield replace(part, among=part.names) if values[1] else part
    elif values and all(isinstance(one, tuple) for one in values) and len(values[0]) == len(values[1]) in range(2, _WIDE + 1):
        for at in range(len(values[0])):
            words, code = _member_words(part.code.co_filename, part.words, at)
            yield replace(part, words=words, code=code, sides=())
    else:
        yield part


@functools.cache
def _member_words(file: str, words: str, at: int) -> tuple[str, CodeType]:
    """A member of the two sides of a comparison, which are short enough to stand whole in its words."""
    node = ast.parse(words, mode="eval").body
    assert isinstance(node, ast.Compare)
    made = ast.Compare(_member(node.left, at), [ast.Eq()], [_member(node.comparators[0], at)])
    return ast.unparse(made), _compiled(made, file)


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
def _source(file: str) -> tuple[Mapping[tuple[int, int], ast.Call], Mapping[str, ast.FunctionDef], list[ast.For | ast.If]]:
    """The calls of a module by where they end, its functions by name, and its loops and questions."""
    nodes = list(ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))))
    calls = {(node.end_lineno or 0, node.end_col_offset or 0): node for node in nodes if isinstance(node, ast.Call)}
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    return calls, functions, [node for node in nodes if isinstance(node, (ast.For, ast.If))]


def _each_of(file: str, call: ast.Call) -> frozenset[str]:
    """The names for what the loops around a call take in turn, and for what is asked about before it is checked."""
    around = [one for one in _source(file)[2] if one.body[0].lineno <= call.lineno <= (one.body[-1].end_lineno or 0)]
    asked = [one.target if isinstance(one, ast.For) else one.test for one in around]
    return frozenset(node.id for of in asked for node in ast.walk(of) if isinstance(node, ast.Name))


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
    for node in _each(_named_before(file, call), True):
        code = _compiled(node, f"<{file}>")
        shown = _Given(told).visit(ast.parse(ast.unparse(node), mode="eval").body)
        words = " ".join(ast.unparse(shown).split())[:_LONG]
        names = frozenset(one.id for of in (node, shown) for one in ast.walk(of) if isinstance(one, ast.Name))
        sides = _sides(node, f"<{file}>") if not told and len(words) < _LONG else ()
        ways = _ways(node, f"<{file}>")
        found.setdefault(words, Part(words, code, names, _comes(node), each, _arrives(node), sides, _among(node), ways))
    return tuple(found.values())


def _compiled(node: ast.expr, file: str) -> CodeType:
    code: CodeType = compile(ast.fix_missing_locations(ast.Expression(node)), file, "eval")
    return code


_HARMLESS = frozenset("bool bytes dict int len list max min range set sorted str sum tuple".split())


def _sides(node: ast.expr, file: str) -> tuple[CodeType, ...]:
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
        return ()
    if not _is_harmless(node):
        return ()
    return _compiled(node.left, file), _compiled(node.comparators[0], file)


def _ways(node: ast.expr, file: str) -> tuple[CodeType, ...]:
    """The one side of a comparison with several values that pass, and those."""
    every = node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) else [node]
    compared = [one for one in every if isinstance(one, ast.Compare) and len(one.ops) == 1]
    if len(compared) < len(every) or not all(isinstance(one.ops[0], (ast.Eq, ast.In)) for one in compared):
        return ()
    sides = {ast.unparse(one.left) for one in compared}
    if len(sides) != 1 or len(every) == 1 and isinstance(compared[0].ops[0], ast.Eq) or not _is_harmless(node):
        return ()
    return tuple(_compiled(one, file) for one in (compared[0].left, *(one.comparators[0] for one in compared)))


def _is_harmless(node: ast.expr) -> bool:
    """Whether it changes nothing to ask for it again."""
    calls = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
    return all(isinstance(one, ast.Name) and one.id in _HARMLESS for one in calls)


def _named_before(file: str, call: ast.Call) -> ast.expr:
    """The condition of a check; where it is a name, what its function gives that name, if it does so once and compares there."""
    given = call.args[0]
    denied = isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.Not)
    name = given.operand if isinstance(given, ast.UnaryOp) and denied else given
    if not isinstance(name, ast.Name):
        return given
    around = [one for one in _source(file)[1].values() if one.lineno <= call.lineno <= (one.end_lineno or 0)]
    inner = max(around, key=lambda one: one.lineno, default=None)
    told = [
        one.value for one in ast.walk(inner) if isinstance(one, ast.Assign)
        and any(isinstance(of, ast.Name) and of.id == name.id for target in one.targets for of in ast.walk(target))
    ] if inner is not None else []  # fmt: skip
    if len(told) != 1 or not isinstance(told[0], (ast.BoolOp, ast.Compare)):
        return given
    return ast.UnaryOp(ast.Not(), told[0]) if denied else told[0]


_AMONG = frozenset(("any", "len", "sum"))


def _among(node: ast.expr) -> frozenset[str]:
    """The names in which it looks for something, or that it counts exactly. A call of any() may stand for itself."""
    if not (isinstance(node, ast.Compare) and all(isinstance(op, (ast.Eq, ast.In)) for op in node.ops) or _calls(node, ("any",))):
        return frozenset()
    every = list(ast.walk(node))
    within: list[ast.expr] = [one for call in every if _calls(call, _AMONG) and isinstance(call, ast.Call) for one in call.args]
    within += [one.iter for one in every if isinstance(one, ast.comprehension)]
    if isinstance(node, ast.Compare) and isinstance(node.ops[-1], ast.In):
        within.append(node.comparators[-1])
    return frozenset(one.id for of in within for one in ast.walk(of) if isinstance(one, ast.Name))


def _calls(node: ast.AST, names: Container[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


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
    """Notes nothing but the breaches: where, of which requirement, and which part of the condition did not hold, in
    which turn of a loop."""

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

    def breach(self, requirement: str, turn: str = "") -> None:
        found = here()
        if found is not None:
            self.broken.add((proof.asker()[0], requirement, found.subject(found.broken(), turn)))


__all__ = ["Condition", "Judge", "Part", "here", "scenario_of"]
