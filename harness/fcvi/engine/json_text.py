"""JSON as it stands in evidence, reports and logs: by the encoder of Python."""

from __future__ import annotations

import json
from typing import Any

from .files import encoded

# Nothing that is written contains itself.
compact = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode  # without white space
readable = json.JSONEncoder(check_circular=False).encode  # for people, on one line


def indented(data: Any, ascii_only: bool = True) -> bytes:
    """One member a line, in UTF-8. Half a character, which no UTF-8 has, is an escape."""
    return encoded(json.dumps(data, indent=1, ensure_ascii=ascii_only) + "\n")
