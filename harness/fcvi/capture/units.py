"""Times and numbers as all commands write them: seconds of an interval with their unit, identifiers in hexadecimal."""

from __future__ import annotations


def duration(us: int) -> str:
    """An interval: microseconds below 10 ms, milliseconds below 10 s, else seconds."""
    if us < 0:
        return f"-{duration(-us)}"
    return f"{us} us" if us < 10_000 else f"{us / 1000:g} ms" if us < 10_000_000 else f"{us / 1e6:.6g} s"
