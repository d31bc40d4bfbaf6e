"""Words of others, as they may be shown: names of files, what a device says, what the system says of an error.

Nothing is loaded for it: the short commands use it too.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Collection, Iterable, Union


class Ending(Exception):
    """Unless somebody catches it, it ends the command: one line, and this status."""

    status = 3


class UsageError(Ending):
    """What the user named cannot be used."""

    status = 2


def printable(text: object) -> str:
    """On one line and harmless: line breaks, control characters and those that turn the direction of writing as escapes."""
    words = str(text)
    return without_commands(words if words.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words))


def without_commands(text: str) -> str:
    """The text, in which no runner of a pipeline finds a command: some take ##[ or ##NAME[ for one, wherever it stands in a line.

    The escape is one of JSON as well, where a # only stands in a string.
    """
    if "##" not in text:
        return text
    import re

    return re.sub(r"##(?=\w*\[)", r"#\\u0023", text)


def file_name(path: object) -> str:
    """The name of a file for JSON and tables, which have no bytes: those that are not UTF-8 as escapes."""
    return os.fsencode(str(path)).decode("utf-8", "backslashreplace")


def as_json(value: object, most: int = 60) -> str:
    """What a device said, as it said it: JSON in so many characters at most."""
    import json

    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = printable(value)
    return text if len(text) <= most else text[: most - 3] + "..."


def why(error: BaseException) -> str:
    """What the system says of an error, without its number."""
    if isinstance(error, OSError):
        words = error.strerror or (os.strerror(error.errno) if error.errno else "")
        if words:
            return printable(words)
    return printable(error) or type(error).__name__


def told(error: BaseException) -> str:
    """As `why`, behind the name of the file that the system names."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{printable(error.filename)}: {why(error)}"
    return why(error)


def refuse(given: Iterable[str], options: Collection[str], why: str) -> None:
    """Raises UsageError for the first of these options that was given: where it would change nothing, somebody expects it to."""
    option = next((option for option in given if option in options), None)
    if option is not None:
        raise UsageError(f"{option}: {why}")


_LONGEST_WORD = 200  # that may be a name with a mistake in it: each that is known is compared with it


def near(word: str, known: Iterable[str]) -> str:
    """Words in brackets, with a blank before them, that offer the names that are nearest to a word; empty when none is near."""
    from difflib import get_close_matches

    if len(word) > _LONGEST_WORD:
        return ""
    names = {name.lower(): name for name in known}
    swapped = [name for name in names if sorted(name) == sorted(word.lower())]  # two letters in the other order
    found = [names[name] for name in swapped[:2] or get_close_matches(word.lower(), names, 2, 0.7)]
    return f" (did you mean {' or '.join(found)}?)" if found else ""


def complain(words: object, who: str = "fcvi") -> None:
    """One line on standard error."""
    print(f"{who}: {printable(words)}", file=sys.stderr)


def port_number(value: str) -> int:
    """The number of a TCP port. Raises ValueError."""
    found = number(value, 0, 65535)
    if found is None:
        raise ValueError(f"{value[:20]!r} is no port; write HOST:PORT")
    return found


def number(value: str, least: int, most: int) -> Union[int, None]:
    """A number in decimal digits, from least to most; None when it is not."""
    digits = value[1:] if value[:1] == "-" else value
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 20):
        return None
    found = int(value)
    return found if least <= found <= most else None
