"""FC-VI Rev 1.0 (working draft of 1999) in the words of 2007: what a step that was written for 2007 sends and reads.

A field by its name in the draft (VI_..., MODE, CONN_ERR) is taken as it is. A field by its name of 2007 has the value of 2007,
and becomes what the draft has in its place: other bits, other codes, VI_MSG_ID from 0 and not from 1, other layouts of the
connect payload. What the draft does not have (FCVI_CONNECTION_ID, RETRY) is left out, and reads as zero. The tables here are the
whole difference.
"""

from __future__ import annotations

from typing import Mapping, Union

from . import codec
from .codec import Frame

Value = Union[int, bytes]

NAMES = frozenset(codec.FIELDS["DH_REV1"])
_MASK = 0xFFFFFFFF
_MESSAGES = frozenset({"SEND_RQST", "WRITE_RQST", "READ_RQST", "SEND_RESP", "WRITE_RESP", "READ_RESP"})
_REQUESTS = frozenset({"SEND_RQST", "WRITE_RQST", "READ_RQST"})
_COUNTED = _REQUESTS
_ANSWERS = frozenset({"SEND_RESP", "WRITE_RESP", "READ_RESP", "CONNECT_RESP1", "CONNECT_RESP2", "DISCONNECT_RESP"})

#: Fields that differ in their names alone.
_SAME = {
    "FCVI_HANDLE": "VI_HANDLE", "FCVI_OPCODE": "VI_OPCODE", "FCVI_PARAMETER": "NUMBER", "MSG_PARAMETER": "NUMBER",
    "FCVI_RMT_VA": "VI_RMT_VA", "FCVI_RMT_VA_HANDLE": "VI_RMT_VA_HANDLE", "CONN_MODE": "MODE", "CONN_STS": "CONN_ERR",
    "DH_RSVD": "VI_RSVD",
}  # fmt: skip
#: Reason Codes: of 2007 (Table 12), and of the draft (Table 10). What the draft has no code for is a plain refusal.
_REASONS = {0x01: 0x02, 0x02: 0x03, 0x03: 0x04, 0x04: 0x01, 0x05: 0x05, 0x21: 0x07}
_REASONS_BACK = {draft: later for later, draft in _REASONS.items()}
_LEVELS = {1: 1, 2: 2, 3: 4}
_LEVELS_BACK = {draft: later for later, draft in _LEVELS.items()}
_PREFERENCE = 0x80  # of 2007
_DISCONNECT_BY_KERNEL, _DISCONNECT_BY_APPLICATION = 4, 5
_IMMEDIATE = 0x80
_LENGTH_2007 = codec.LENGTH["CONN"]


def device_header(iu: str, fields: Mapping[str, int]) -> dict[str, int]:
    """The Device_Header of an IU of the draft, from fields of either edition."""
    made: dict[str, int] = {}
    for name, value in fields.items():
        if name == "REASON":
            made["Reason_Code"] = value
        elif name == "Reason_Code":
            if value and iu != "DISCONNECT_RQST":
                made["Reason_Code"] = _REASONS.get(value, 0x01)
        elif name in NAMES:
            made[name] = value
        elif name in _SAME:
            made[_SAME[name]] = value
        elif name == "FCVI_MSG_ID":
            if iu in _MESSAGES:
                made["VI_MSG_ID"] = (value - 1) & _MASK
        elif name == "FCVI_FLAGS":
            made["VI_FLAGS"] = _flags(iu, value)
        elif name == "FCVI_TOT_LEN":
            if iu == "READ_RQST":
                made["VI_RMT_TOT_LEN"] = value
        elif name == "VI_APP_DISCON" and iu == "DISCONNECT_RQST":
            made["MODE"] = _DISCONNECT_BY_APPLICATION if value else _DISCONNECT_BY_KERNEL
        elif name == "DISC_CONN_STS" and iu == "DISCONNECT_RESP":
            made["CONN_ERR"] = value
    return made


def _flags(iu: str, value: int) -> int:
    if iu in _REQUESTS:
        return _IMMEDIATE if value == 1 else value & ~1
    if iu == "CONNECT_RQST":
        return value & 7
    return value & 1 if iu in ("CONNECT_RESP1", "CONNECT_RESP2", "DISCONNECT_RESP") else value


def with_message_id(iu: str, fields: Mapping[str, int], asked: int, counts: dict[int, int]) -> Mapping[str, int]:
    """VI_MSG_ID where the fields do not say it: an answer echoes what it answers (5.7.5), a Disconnect counts on (6.10)."""
    handle = fields.get("VI_HANDLE", 0)
    if iu in _COUNTED:
        counts[handle] = (fields.get("VI_MSG_ID", 0) + 1) & _MASK
    if "VI_MSG_ID" in fields:
        return fields
    if iu in _ANSWERS:
        return {**fields, "VI_MSG_ID": asked}
    return {**fields, "VI_MSG_ID": counts.get(handle, 0)} if iu == "DISCONNECT_RQST" else fields


def field(frame: Frame, name: str) -> int:
    """A field of the Device_Header by its name in either edition; zero where the draft does not have it."""
    iu = frame.iu or ""
    if name == "REASON":
        return _number(frame, "Reason_Code")
    if name == "Reason_Code":
        seen = _number(frame, name)
        return _REASONS_BACK.get(seen, seen)
    if name in NAMES:
        return _number(frame, name)
    if name in _SAME:
        return _number(frame, _SAME[name])
    if name == "FCVI_MSG_ID":
        return (_number(frame, "VI_MSG_ID") + 1) & _MASK if iu in _MESSAGES else 0
    if name == "FCVI_FLAGS":
        flags = _number(frame, "VI_FLAGS")
        return 1 if iu in _REQUESTS and flags == _IMMEDIATE else flags
    if name == "FCVI_TOT_LEN":
        return _number(frame, "VI_RMT_TOT_LEN")
    if name == "VI_APP_DISCON" and iu == "DISCONNECT_RQST":
        return int(_number(frame, "MODE") == _DISCONNECT_BY_APPLICATION)
    return _number(frame, "CONN_ERR") if name == "DISC_CONN_STS" and iu == "DISCONNECT_RESP" else 0


def where(frame: Frame, name: str) -> tuple[int, str]:
    """The byte and bits of what field reads."""
    known = {"REASON": "Reason_Code", "FCVI_MSG_ID": "VI_MSG_ID", "FCVI_FLAGS": "VI_FLAGS", "FCVI_TOT_LEN": "VI_RMT_TOT_LEN"}
    native = known.get(name, _SAME.get(name, name))
    return frame.where("DH", native if native in NAMES else "VI_FLAGS")


def _number(frame: Frame, name: str) -> int:
    value = frame.get("DH", name)
    assert isinstance(value, int)
    return value


# ---- the connect payload (Tables 11 to 15) ----

_HANDLES = {"CONNECT_RQST": "FCVI_RQST_HANDLE", "CONNECT_RESP1": "FCVI_RESP_HANDLE"}


def payload(iu: str, data: bytes) -> bytes:
    """A connect payload of 2007 as the draft has it; anything else, and one of the draft, as it is."""
    if iu not in _HANDLES or len(data) not in (_LENGTH_2007, _LENGTH_2007 + 256):
        return data
    later = data[:_LENGTH_2007]
    values: dict[str, Value] = {
        "VI_REVISION": codec.get("CONN", "FCVI_REVISION", later),
        "VI_RQST_HANDLE": codec.get("CONN", _HANDLES[iu], later),
        "VI_LOC_ADDR": _address(_blob("CONN", "FCVI_LOC_ADDR", later)),
        "VI_REM_ADDR": _address(_blob("CONN", "FCVI_REM_ADDR", later)),
        "VI_LOC_ATTRS": _attributes(_blob("CONN", "FCVI_LOC_ATTRS", later)),
    }
    return codec.pack("CONN_REV1", values, codec.LENGTH["CONN_REV1"])


def of_payload(data: bytes, name: str) -> Value:
    """A field of the connect payload by its name in either edition; zero or zeros where the payload is too short."""
    whole = data.ljust(codec.LENGTH["CONN_REV1"], b"\0")
    if name in codec.FIELDS["CONN_REV1"]:
        return codec.get("CONN_REV1", name, whole)
    if name in _HANDLES.values():
        return codec.get("CONN_REV1", "VI_RQST_HANDLE", whole)
    if name == "FCVI_REVISION":
        return codec.get("CONN_REV1", "VI_REVISION", whole)
    if name in ("FCVI_LOC_ADDR", "FCVI_REM_ADDR"):
        return _address_back(_blob("CONN_REV1", name.replace("FCVI", "VI"), whole))
    if name == "FCVI_LOC_ATTRS":
        return _attributes_back(_blob("CONN_REV1", "VI_LOC_ATTRS", whole))
    return 0


def _blob(structure: str, name: str, data: bytes) -> bytes:
    value = codec.get(structure, name, data)
    assert isinstance(value, bytes)
    return value


def _address(later: bytes) -> bytes:
    return bytes([0, later[2], 0, later[3]]) + later[4:]


def _address_back(draft: bytes) -> bytes:
    return bytes([0, 0, draft[1], draft[3]]) + draft[4:]


def _attributes(later: bytes) -> bytes:
    level = codec.get("ATTRS", "FCVI_RELIABILITY_LVL", later)
    assert isinstance(level, int)
    preference = _blob("ATTRS", "FCVI_QOS", later)[0]
    return codec.pack(
        "ATTRS_REV1",
        {
            "RELIABILITY_LVL": _LEVELS.get(level, level),
            "MAX_TRANS_SIZE": codec.get("ATTRS", "FCVI_MAX_TRANS_SIZE", later),
            "VIP_QOS": bytes([1 if preference == _PREFERENCE else preference]) + bytes(15),
            "EnRdmaWr": codec.get("ATTRS", "EnRdmaWr", later),
            "EnRdmaRd": codec.get("ATTRS", "EnRdmaRd", later),
        },
        codec.LENGTH["ATTRS_REV1"],
    )


def _attributes_back(draft: bytes) -> bytes:
    level = codec.get("ATTRS_REV1", "RELIABILITY_LVL", draft)
    assert isinstance(level, int)
    precedence = _blob("ATTRS_REV1", "VIP_QOS", draft)[0]
    return codec.pack(
        "ATTRS",
        {
            "FCVI_RELIABILITY_LVL": _LEVELS_BACK.get(level, level),
            "FCVI_MAX_TRANS_SIZE": codec.get("ATTRS_REV1", "MAX_TRANS_SIZE", draft),
            "FCVI_QOS": bytes([_PREFERENCE if precedence == 1 else precedence]) + bytes(19),
            "EnRdmaWr": codec.get("ATTRS_REV1", "EnRdmaWr", draft),
            "EnRdmaRd": codec.get("ATTRS_REV1", "EnRdmaRd", draft),
        },
        codec.LENGTH["ATTRS"],
    )


__all__ = ["NAMES", "device_header", "field", "of_payload", "payload", "where", "with_message_id"]
