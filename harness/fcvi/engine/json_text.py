"""JSON as text, in a part of the time that ``json.dumps`` takes: evidence and report are tens of thousands of short values.

JSONEncoder.encode builds an encoder for every value. This module builds one for all of them, where Python has it in C.
"""

from __future__ import annotations

import functools
import json
from json import encoder as parts_of_json
from typing import Any, Callable

import _fcvi_text

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


def indented(data: Any, ascii_only: bool = True) -> bytes:
    """As ``json.dumps(data, indent=1)``, byte for byte, in UTF-8, and a line break. Names of members are strings.

    Half a character, which no UTF-8 has, is an escape.
    """
    return _fcvi_text.indented(data, ascii_only, encoder(", ", ": ", ascii_only))
