"""JSON as text, in a part of the time that ``json.dumps`` takes: evidence and report are tens of thousands of short values.

JSONEncoder.encode builds an encoder for every value. This module builds one for all of them, where Python has it in C.
"""

from __future__ import annotations

import functools
import json
from json import encoder as parts_of_json
from typing import Any, Callable

Encode = Callable[[Any], str]


@functools.cache
def encoder(between: str, behind_name: str, ascii_only: bool = True) -> Encode:
    """A function that writes a value with these separators. ascii_only: as ``ensure_ascii``."""
    plain = json.JSONEncoder(separators=(between, behind_name), ensure_ascii=ascii_only)
    make = getattr(parts_of_json, "c_make_encoder", None)
    if make is None:
        return plain.encode
    quote = getattr(parts_of_json, "encode_basestring_ascii" if ascii_only else "encode_basestring")
    parts = make(None, plain.default, quote, None, behind_name, between, False, False, True)
    return lambda value: "".join(parts(value, 0))


def _members(data: Any, between: str, line: str, ascii_only: bool) -> list[str]:
    """What is between the brackets; members without lines of their own are written together."""
    encode, told = encoder(between, ": ", ascii_only), []
    named = isinstance(data, dict)
    flat: Any = {} if named else []
    for name, value in data.items() if named else enumerate(data):
        if not value or not isinstance(value, (dict, list, tuple)):
            if named:
                flat[name] = value
            else:
                flat.append(value)
            continue
        if flat:
            told.append(encode(flat)[1:-1])
            flat.clear()
        inside = _text(value, line + " ", ascii_only)
        told.append(f"{encode(name)}: {inside}" if named else inside)
    if flat:
        told.append(encode(flat)[1:-1])
    return told


def _text(data: Any, line: str, ascii_only: bool) -> str:
    """line: a line break and the white space in front of a member of the value."""
    if not data or not isinstance(data, (dict, list, tuple)):
        return encoder(", ", ": ", ascii_only)(data)
    between = "," + line
    ends = "{}" if isinstance(data, dict) else "[]"
    return f"{ends[0]}{line}{between.join(_members(data, between, line, ascii_only))}{line[:-1]}{ends[1]}"


def indented(data: Any, ascii_only: bool = True) -> str:
    """As ``json.dumps(data, indent=1)``, byte for byte. Names of members are strings.

    The encoder in C does not indent. So it writes only runs of members without members of their own, and gets their line break
    and indent as the separator.
    """
    return _text(data, "\n ", ascii_only)
