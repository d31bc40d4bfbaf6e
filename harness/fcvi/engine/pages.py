"""Says what of memory is registered: whole pages (VI-DG, VipRegisterMem), so what lies behind the last page is not."""

from __future__ import annotations

#: The largest page that a host is assumed to have, in bytes.
PAGE = 1 << 16


def begin(va: int) -> int:
    """The address at which the page begins that holds this one."""
    return va // PAGE * PAGE


def behind(va: int, length: int) -> int:
    """The first address behind the last page of so many bytes from va on; length is at least 1."""
    return -(-(va + length) // PAGE) * PAGE


def left(va: int) -> int:
    """How many bytes there are from this address to the end of its page."""
    return PAGE - va % PAGE
