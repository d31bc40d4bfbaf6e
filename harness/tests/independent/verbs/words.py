"""Words and numbers of libibverbs, without their prefix, and how parameters of calls are read."""

from __future__ import annotations

import errno
from typing import Any, Dict, Iterable, List

Params = Dict[str, Any]

LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, MW_BIND, ZERO_BASED = 1, 2, 4, 16, 32
RIGHTS = {"LOCAL_WRITE": 1, "REMOTE_WRITE": 2, "REMOTE_READ": 4, "REMOTE_ATOMIC": 8, "MW_BIND": 16, "ZERO_BASED": 32,
          "ON_DEMAND": 64, "HUGETLB": 128, "RELAXED_ORDERING": 1 << 20}
FENCE, SIGNALED, SOLICITED, INLINE = 1, 2, 4, 8
FLAGS = {"FENCE": FENCE, "SIGNALED": SIGNALED, "SOLICITED": SOLICITED, "INLINE": INLINE, "IP_CSUM": 16}
OPCODES = ("RDMA_WRITE", "RDMA_WRITE_WITH_IMM", "SEND", "SEND_WITH_IMM", "RDMA_READ", "ATOMIC_CMP_AND_SWP",
           "ATOMIC_FETCH_AND_ADD", "LOCAL_INV", "BIND_MW", "SEND_WITH_INV", "TSO", "DRIVER1")
STATES = ("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR")
REREG = {"TRANSLATION": 1, "PD": 2, "ACCESS": 4}
TYPES = {"RC": 2, "UC": 3, "UD": 4}
WC_OPCODES = {"SEND": "SEND", "SEND_WITH_INV": "SEND", "RDMA_WRITE": "RDMA_WRITE", "RDMA_READ": "RDMA_READ",
              "LOCAL_INV": "LOCAL_INV", "BIND_MW": "BIND_MW"}
EINVAL, ENOMEM, EBUSY, EFAULT, ENODEV = errno.EINVAL, errno.ENOMEM, errno.EBUSY, errno.EFAULT, errno.ENODEV
EOPNOTSUPP, ENOTCONN, EISCONN, ECONNREFUSED, ETIMEDOUT = (
    errno.EOPNOTSUPP, errno.ENOTCONN, errno.EISCONN, errno.ECONNREFUSED, errno.ETIMEDOUT)
TOP = 1 << 64
LONGEST = (1 << 32) - 1


class BadParams(Exception):
    """A parameter is missing or has the wrong type or range (-32602)."""


class NoRoom(Exception):
    """The agent itself has no room (-32002)."""


class Refused(Exception):
    """An Immediate Error: errno, and what the answer has all the same."""

    def __init__(self, number: int, **also: Any) -> None:
        super().__init__(number)
        self.number, self.also = number, also


def number(params: Params, name: str, default: Any = None, top: int = 1 << 53) -> int:
    """A number of 0 or more."""
    value = params.get(name, default)
    if type(value) is not int or not 0 <= value < top:
        raise BadParams(f"{name}: a number of 0 or more is needed")
    return value


def optional(params: Params, name: str, top: int = 1 << 53) -> Any:
    """A number, or None where it is missing or null."""
    return None if params.get(name) is None else number(params, name, top=top)


def flag(params: Params, name: str, default: bool = False) -> bool:
    """A boolean."""
    value = params.get(name, default)
    if not isinstance(value, bool):
        raise BadParams(f"{name}: true or false is needed")
    return value


def wide(params: Params, name: str, default: Any = None) -> int:
    """A number of 64 bits, as 16 hexadecimal digits."""
    value = params.get(name, default)
    if not isinstance(value, str) or len(value) != 16:
        raise BadParams(f"{name}: 16 hexadecimal digits are needed")
    try:
        return int(value, 16)
    except ValueError:
        raise BadParams(f"{name}: 16 hexadecimal digits are needed") from None


def octets(params: Params, name: str, default: Any = None, most: int = 30_000) -> bytes:
    """A byte string in hexadecimal."""
    value = params.get(name, default)
    try:
        found = bytes.fromhex(value)
    except (TypeError, ValueError):
        raise BadParams(f"{name}: hexadecimal digits are needed") from None
    if len(found) > most:
        raise BadParams(f"{name}: at most {most} bytes")
    return found


def word(value: Any, names: Iterable[str], what: str) -> Any:
    """A word of these, or the number that stands for none."""
    listed = tuple(names)
    if isinstance(value, str) and value in listed:
        return value
    if type(value) is int and value >= 0:
        return value
    raise BadParams(f"{what}: {value!r} is no word of it")


def bits(value: Any, names: Dict[str, int], what: str) -> int:
    """A list of words (or numbers) as one number."""
    if type(value) is int and value >= 0:
        return value
    if not isinstance(value, list):
        raise BadParams(f"{what}: a list is needed")
    found = 0
    for item in value:
        one = word(item, names, what)
        found |= names[one] if isinstance(one, str) else one
    return found


def spell(value: int, names: Dict[str, int]) -> List[Any]:
    """The words of a number's bits."""
    return [name for name, bit in names.items() if value & bit]
