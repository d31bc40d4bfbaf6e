"""Says what of memory is registered: whole pages (VI-DG, VipRegisterMem), so what lies behind the last page is not; and which host
may leave half of an address out of account.
"""

from __future__ import annotations

#: The largest page that a host is assumed to have, in bytes.
PAGE = 1 << 16


def begin(va: int) -> int:
    """The address at which the page begins that holds this one."""
    return va // PAGE * PAGE


def behind(va: int, length: int) -> int:
    """The first address behind the last page of so many bytes from va on; length is at least 1."""
    return -(-(va + length) // PAGE) * PAGE


def of_32_bits(va: int) -> bool:
    """Whether the host that gave this address may be one of 32 bits, which never looks at the upper half."""
    return va >> 32 == 0


def left(va: int) -> int:
    """How many bytes there are from this address to the end of its page."""
    return PAGE - va % PAGE
