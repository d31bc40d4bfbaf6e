"""JSON as it is written down, and nothing that readers take in different ways: no NaN, no Infinity, no number beyond a double,
no member twice, no nesting without end."""

from __future__ import annotations

import json
import math
from typing import Any

DEEPEST = 64  # objects and arrays within each other


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the member {next(n for n in names if names.count(n) > 1)[:40]!r} is there twice")
    return made


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _float(word: str) -> float:
    number = float(word)
    if math.isinf(number):
        raise ValueError(f"the number {word[:20]} is too large")
    return number


def _int(word: str) -> int:
    if len(word) > 40:
        raise ValueError(f"a number of {len(word)} digits is too large")
    return int(word)


_decode = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_number, parse_float=_float, parse_int=_int).decode


def loads(text: str) -> Any:
    """The value. Raises ValueError (json.JSONDecodeError where the text is no JSON)."""
    try:
        value = _decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if text.count("[") + text.count("{") > DEEPEST and not _shallow(value):
        raise ValueError("nested too deeply")
    return value


def _shallow(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ] if isinstance(level[0], (dict, list)) else []  # fmt: skip
        if not level:
            return True
    return False
