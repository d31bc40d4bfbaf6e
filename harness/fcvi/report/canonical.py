"""JSON in one form only, and a reader that takes no other: no duplicate members, no white space, members sorted.

The form is that of RFC 8785 for the values that occur here (strings, integers, booleans, null, arrays, objects).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from fcvi.engine.files import encoded, parse_json


def dumps(data: Any) -> bytes:
    """The one form."""
    return encoded(json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False))


def sha256(data: Any) -> str:
    """Of the one form."""
    return hashlib.sha256(dumps(data)).hexdigest()


def loads(data: bytes, where: str) -> Any:
    """JSON, and strictly JSON; whether it has the one form is to be asked of `dumps`. Raises FileError."""
    return parse_json(data, where)
