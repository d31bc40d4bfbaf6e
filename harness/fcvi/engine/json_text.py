"""JSON as it stands in evidence, reports and logs: by the encoder of Python."""

from __future__ import annotations

import json
from typing import Any, Callable

from .files import encoded


def _form(separators: tuple[str, str]) -> Callable[[Any], str]:
    """What writes one form. An encoder's own method sets its part in C up anew for each value, which takes longer than a line."""
    form = json.JSONEncoder(check_circular=False, separators=separators)  # nothing that is written contains itself
    make, escaped = (getattr(json.encoder, name, None) for name in ("c_make_encoder", "encode_basestring_ascii"))
    if make is None:
        return form.encode
    parts = make(None, form.default, escaped, None, form.key_separator, form.item_separator, False, False, True)
    return lambda data: "".join(parts(data, 0))


compact = _form((",", ":"))  # without white space
readable = _form((", ", ": "))  # for people, on one line


def indented(data: Any, ascii_only: bool = True) -> bytes:
    """One member a line, in UTF-8. What a terminal obeys, or what turns the direction of writing, is an escape: people print the
    file. So is half a character, which no UTF-8 has.
    """
    text = json.dumps(data, indent=1, ensure_ascii=ascii_only) + "\n"
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c == "\n" or c.isprintable() else _escaped(c) for c in text)
    return encoded(text)


def _escaped(character: str) -> str:
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]
