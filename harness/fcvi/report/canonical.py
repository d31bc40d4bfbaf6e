"""JSON in one form only, and a reader that takes no other: no duplicate members, no white space, members sorted.

The form is that of RFC 8785 for the values that occur here (strings, integers, booleans, null, arrays, objects).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from fcvi.engine.files import FileError, encoded
from fcvi.engine.strict import twice


def dumps(data: Any) -> bytes:
    """The one form."""
    return encoded(json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False))


def sha256(data: Any) -> str:
    """Of the one form."""
    return hashlib.sha256(dumps(data)).hexdigest()


def loads(data: bytes, where: str) -> Any:
    """JSON without duplicate members. Raises FileError."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise FileError(f"{where}: the member {twice(name for name, _ in pairs)!r:.80} is there twice")
        return found

    def no_number(word: str) -> Any:
        raise FileError(f"{where}: {word} is no JSON")

    try:
        return json.loads(data, object_pairs_hook=members, parse_constant=no_number)
    except RecursionError as error:
        raise FileError(f"{where}: nested too deeply") from error
    except ValueError as error:
        raise FileError(f"{where}: not JSON: {' '.join(str(error).split())[:200]}") from error
