"""IUs of FC-VI Rev 1.0 (1999) that are no Messages, as the table of Connections has those of 2007.

A setup has three phases, and FCVI_CONNECT_RESP2 ends it (5.3.2). There is no RETRY, no FCVI_CONNECTION_ID and no abort of a setup.
"""

from __future__ import annotations

from .names import REASONS_1999

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAMES = {
    0x10: "CONNECT_RQST", 0x12: "DISCONNECT_RQST", 0x18: "CONNECT_RESP1", 0x19: "CONNECT_RESP2", 0x1A: "DISCONNECT_RESP",
}  # fmt: skip
HEADER = 16  # bytes of the Device_Header of all of these
_PAYLOAD, _ADDRESS, _ATTRIBUTES = 332, 148, 304  # of Tables 11 and 12
_LEVELS = {1: 1, 2: 2, 4: 3}  # RELIABILITY_LVL has the bits of the Developer's Guide (7.2)
_BY_APPLICATION, _BY_PROVIDER = 5, 4  # MODE of FCVI_DISCONNECT_RQST (Table 7)


def fields(opcode: int, flags: int, code: int) -> dict[str, Any]:
    """What the flags and VI_PARAMETER of such an IU say. reason: as 2007 numbers it; said: the code itself."""
    what: dict[str, Any] = {"connection_id": 0xFFFFFFFF, "retry": 0}
    if opcode == 0x12:
        what.update(refused=0, reason=0, setup_abort=0, by_application=int(flags & 7 == _BY_APPLICATION),
                    by_provider=int(flags & 7 == _BY_PROVIDER))  # fmt: skip
    elif opcode != 0x10:
        what.update(refused=flags & 1, reason=REASONS_1999.get(code, (code | 0x80, ""))[0] if flags & 1 else 0)
        if flags & 1:
            what["said"] = code
    return what


def as_of_2007(payload: bytes) -> bytes:
    """The payload of a connect IU in the layout of 2007 (Tables 13 to 16); of one that is cut off the handle alone."""
    head = bytes(6) + b"\0\1" + payload[4:8]
    if len(payload) < _PAYLOAD:
        return head if len(payload) >= 8 else b""
    own, other = (payload[at : at + _ADDRESS] for at in (8, 8 + _ADDRESS))
    attributes = payload[_ATTRIBUTES:_PAYLOAD]
    found = bytes([0, 0, _LEVELS.get(attributes[0], 0), attributes[24] & 3]) + attributes[4:8] + bytes(24)
    return head + b"".join(bytes([0, 0, a[1], a[3]]) + a[4:] for a in (own, other)) + found


def reason(code: int) -> str:
    """Its name in Table 10."""
    return REASONS_1999.get(code, (0, "a reserved reason"))[1]
