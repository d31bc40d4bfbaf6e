"""Read JSON and TOML of strangers, at a cost that grows with their length and no faster.

JSON is taken as it is written down, and nothing that readers take in different ways: no NaN, no Infinity, no number beyond a
double, no member twice, no nesting without end. The reader of TOML spends the square of a dotted key's parts: such keys are
refused before it sees them.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Iterable, Optional

DEEPEST = 64  # objects and arrays within each other
_LARGEST_JSON = 64 << 20  # characters; a list of empty lists takes twenty times as much memory as it is long


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError(f"the member {twice(name for name, _ in pairs)!r:.42} is there twice")
    return made


def twice(names: Iterable[str]) -> Optional[str]:
    """The first name that was there before; None without one."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


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
    if len(text) > _LARGEST_JSON:
        raise ValueError(f"{len(text)} characters are more than the {_LARGEST_JSON} that are read of JSON")
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


_LARGEST_TOML = 8 << 20  # bytes
_DEEPEST_KEY = 16  # parts of a dotted key
_OPEN = re.compile("\"\"\"|'''|[\"'#]")
# How each ends. A string of many lines may end with one or two quotes of its own: what took them for the beginning of the next
# string would take everything behind it for text.
_ENDS = {
    '"""': re.compile(r'\\.|"{3,5}', re.S), "'''": re.compile("'{3,5}"),
    '"': re.compile(r'\\[^\n]|["\n]'), "'": re.compile("['\n]"), "#": re.compile("\n"),
}  # fmt: skip
_CHAIN = re.compile(rf"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){{{_DEEPEST_KEY}}}")


def _bare(text: str) -> str:
    """Without strings and comments; one that does not end is one up to the end, so that no character is looked at twice."""
    found, at = [], 0
    while (begin := _OPEN.search(text, at)) is not None:
        found.append(text[at : begin.start()])
        ends = (end for end in _ENDS[begin[0]].finditer(text, begin.end()) if end[0][0] != "\\")
        last = next(ends, None)
        at = len(text) if last is None else last.start() if last[0] == "\n" else last.end()
    return "s".join([*found, text[at:]])


def toml(data: bytes) -> dict[str, Any]:
    """The tables of a file of TOML. Raises ValueError, with one line of words."""
    import tomllib

    if len(data) > _LARGEST_TOML:
        raise ValueError(f"{len(data)} bytes are more than the {_LARGEST_TOML} that are read of a file of TOML")
    try:
        text = data.decode("utf-8-sig")  # editors of Windows begin a file with the mark
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from error
    if chain := _CHAIN.search(_bare(text)):
        raise ValueError(f"the key {chain[0][:40]!r}... has more than {_DEEPEST_KEY} parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
