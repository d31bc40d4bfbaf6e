"""PICS: what a DUT says it supports, where it is read from, and the expressions over it."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence

from .attachment import Dut, DutError
from .protocol import Protocol, at_hand
from .words import UsageError, as_json, near


@dataclass(frozen=True)
class Item:
    """What an item means: "the device ...", and the clause that it is about."""

    meaning: str
    clause: str


@dataclass(frozen=True)
class Items:
    """The items of a standard: those that are yes or no, numbers and words with what holds when nothing is claimed.

    words: each item with the values that it may have; the first one holds when nothing is claimed.
    """

    booleans: tuple[str, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    meanings: Mapping[str, Item] = field(default_factory=dict)


class PicsError(ValueError, UsageError):
    """A PICS that cannot be used."""


class UnknownItem(PicsError):
    """An item that no standard at hand has."""


def items(protocols: Optional[Sequence[Protocol]] = None) -> Items:
    """The items of these standards (of those at hand) together."""
    given = [p.pics for p in (at_hand() if protocols is None else protocols) if p.pics is not None]
    return Items(
        tuple(dict.fromkeys(name for i in given for name in i.booleans)),
        {name: value for i in given for name, value in i.numbers.items()},
        {name: values for i in given for name, values in i.words.items()},
        {name: item for i in given for name, item in i.meanings.items()},
    )


def is_of_2007(given: dict[str, Any]) -> bool:
    """Whether a device whose hello has these items speaks FC-VI of 2007: neither the edition of 1999 nor another wire."""
    return given.get("revision", "2007") == "2007" and not given.get("tcp", False)


def of_hello(given: dict[str, Any]) -> dict[str, Any]:
    """The PICS that a device gives in its hello, with every item. Raises DutError: a wrong value is the device's fault; and
    UnknownItem: the item may be of a standard that was not asked for.
    """
    try:
        return complete(given, "hello")
    except UnknownItem:
        raise
    except PicsError as error:
        raise DutError(str(error)) from error


#: The other end's item for one of this end's, where they differ; and items that are each end's own choice.
_OPPOSITE = {"client": "server", "server": "client"}
_OWN_CHOICE = frozenset({
    "preference", "connect_info", "retry_waits_for_ba_acc", "disconnect_retry", "unreliable_error_state", "revision",
})  # fmt: skip


def together(own: Mapping[str, Any], far: Mapping[str, Any]) -> dict[str, Any]:
    """What a device can do with another one at the far side of its link: what both claim, and the smaller of two numbers."""
    found = dict(own)
    for item, claim in own.items():
        other = far.get(_OPPOSITE.get(item, item))
        if item not in _OWN_CHOICE and other is not None:
            found[item] = (claim and other) if isinstance(claim, bool) else min(claim, other)
    return found


def declared(dut: Dut) -> dict[str, Any]:
    """The PICS of a device that is attached on its hello alone. Raises DutError, after which the device is closed."""
    try:
        return of_hello(dut.pics)
    except (DutError, PicsError) as error:
        dut.close()
        raise DutError(str(error)) from error


def complete(given: dict[str, Any], where: str) -> dict[str, Any]:
    """A PICS with every item: what is not claimed is not supported. Raises PicsError on wrong types and unknown items."""
    known = items()
    pics: dict[str, Any] = {name: False for name in known.booleans}
    pics.update(known.numbers)
    pics.update({name: values[0] for name, values in known.words.items()})
    for name, value in given.items():
        if name in known.booleans:
            if not isinstance(value, bool):
                raise PicsError(f"{where}: PICS item {name} must be true or false, not {as_json(value)}")
        elif name in known.numbers:
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
                raise PicsError(f"{where}: PICS item {name} must be a number from 0 to 2^32-1, not {as_json(value)}")
        elif name in known.words:
            if value not in known.words[name]:
                raise PicsError(f"{where}: PICS item {name} must be one of {known.words[name]}, not {as_json(value)}")
        else:
            of_streams = name == "tcp"
            hint = "a device of VI/TCP is tested with --book vitcp" if of_streams else "`fcvi pics new` lists the items"
            near_it = near(name, (*known.booleans, *known.numbers, *known.words))
            raise UnknownItem(f"{where}: unknown PICS item {name!r:.60}{near_it}; {hint}")
        pics[name] = value
    return pics


def names_in(expression: str) -> list[str]:
    """The items that an expression is about, in their order."""
    names = [node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)]
    known = items()
    return [item for item in (*known.booleans, *known.numbers, *known.words) if item in names]


def _value(node: ast.expr, pics: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.BoolOp):
        parts = [bool(_value(v, pics)) for v in node.values]
        return all(parts) if isinstance(node.op, ast.And) else any(parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _value(node.operand, pics)
    if isinstance(node, ast.Name) and node.id in pics:
        return pics[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, str)):
        return node.value
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = _value(node.left, pics), _value(node.comparators[0], pics)
        operator = node.ops[0]
        if isinstance(operator, ast.GtE):
            return left >= right
        if isinstance(operator, ast.Eq):
            return left == right
    raise PicsError(f"cannot evaluate the PICS expression at {ast.unparse(node)!r}")


@functools.cache
def _parsed(expression: str) -> ast.Expression:
    return ast.parse(expression, mode="eval")


def applies(expression: str, pics: Mapping[str, Any]) -> bool:
    """Evaluate a PICS expression: items, and, or, not, parentheses, ``>=`` and ``==``. "" is true."""
    if not expression:
        return True
    try:
        tree = _parsed(expression)
    except SyntaxError as error:
        raise PicsError(f"cannot read the PICS expression {expression!r}: {error}") from error
    return bool(_value(tree.body, pics))
