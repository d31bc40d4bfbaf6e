"""PICS: what a DUT says it supports, where it is read from, and the expressions over it."""

from __future__ import annotations

import ast
import functools
from typing import Any, Mapping

BOOLEANS = (
    "client", "server", "peer_to_peer", "loopback", "unreliable_delivery", "reliable_delivery",
    "reliable_reception", "send", "rdma_write", "rdma_read", "immediate_data", "class2", "class3",
    "out_of_order_fabric", "preference", "connect_info", "explicit_login", "farp", "name_server", "loop",
    "retry_waits_for_ba_acc", "disconnect_retry", "unreliable_error_state",
)  # fmt: skip
NUMBERS = ("pipeline_depth", "max_transfer_size", "max_vis")
REVISIONS = ("2007", "rev1")


class PicsError(ValueError):
    """A PICS that cannot be used."""


def complete(given: dict[str, Any], where: str) -> dict[str, Any]:
    """A PICS with every item: what is not claimed is not supported. Raises PicsError on wrong types and unknown items."""
    pics: dict[str, Any] = {name: False for name in BOOLEANS}
    pics.update({"pipeline_depth": 0, "max_transfer_size": 32768, "max_vis": 1, "revision": "2007"})
    for name, value in given.items():
        if name in BOOLEANS:
            if not isinstance(value, bool):
                raise PicsError(f"{where}: PICS item {name} must be true or false, not {value!r}")
        elif name in NUMBERS:
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
                raise PicsError(f"{where}: PICS item {name} must be a number from 0 to 2^32-1, not {value!r}")
        elif name == "revision":
            if value not in REVISIONS:
                raise PicsError(f"{where}: PICS item revision must be one of {REVISIONS}, not {value!r}")
        else:
            raise PicsError(f"{where}: unknown PICS item {name!r}; the DUT protocol lists the items")
        pics[name] = value
    return pics


def names_in(expression: str) -> list[str]:
    """The items that an expression is about, in their order."""
    names = [node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)]
    return [item for item in (*BOOLEANS, *NUMBERS, "revision") if item in names]


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
