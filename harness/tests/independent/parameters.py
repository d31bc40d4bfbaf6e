"""Parameters of a call in the DUT protocol, as the independent endpoints read them."""

from __future__ import annotations

from typing import Any, Dict, Optional

Params = Dict[str, Any]


class BadParams(Exception):
    """A missing member or a wrong type: error -32602."""


class Refused(Exception):
    """A value that VIPL refuses with a return code."""


def need(params: Params, name: str, kind: type, default: Any = ...) -> Any:
    """A member of the parameters, checked."""
    value = params.get(name, default)
    if value is ... or (value is not default and (not isinstance(value, kind)
                                                  or (kind is int and isinstance(value, bool)))):
        raise BadParams(f"{name} must be {kind.__name__}")
    return value


def natural(params: Params, name: str, default: Any = ...) -> int:
    """A member that is an integer of zero or more."""
    value: int = need(params, name, int, default)
    if value is not default and value < 0:
        raise BadParams(f"{name} must not be negative")
    return value


def hex_bytes(params: Params, name: str) -> bytes:
    """A member that is a byte string."""
    try:
        return bytes.fromhex(need(params, name, str))
    except ValueError:
        raise BadParams(f"{name} must be hexadecimal") from None


def timeout(params: Params) -> Optional[int]:
    """Timeout in microseconds, None for VIP_INFINITE."""
    return None if params.get("Timeout") is None else natural(params, "Timeout")
