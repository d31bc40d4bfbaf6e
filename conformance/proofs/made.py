"""Messages that nobody asked for, made of what has passed between device and tester."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Optional

from fcvi.fc import codec
from fcvi.fc.received import kind_of

#: What each IU answers.
_ANSWERS = {
    "SEND_RESP": "SEND_RQST", "WRITE_RESP": "WRITE_RQST", "READ_RESP": "READ_RQST", "CONNECT_RESP1": "CONNECT_RQST",
    "CONNECT_RESP2": "CONNECT_RESP1", "CONNECT_RESP3": "CONNECT_RESP2", "DISCONNECT_RESP": "DISCONNECT_RQST",
}  # fmt: skip
_R_CTL = {"ABTS": 0x81, "BA_ACC": 0x84, "BA_RJT": 0x85}
_ELS = {"LS_RJT": 0x01, "LS_ACC": 0x02, "PLOGI": 0x03, "LOGO": 0x05, "PRLI": 0x20, "PRLO": 0x21, "ADISC": 0x52,
        "FARP_REQ": 0x54, "FARP_REPLY": 0x55}  # fmt: skip
_LENGTH = {"PLOGI": 116, "LS_ACC": 116, "FARP_REQ": 76, "FARP_REPLY": 76, "LOGO": 16, "PRLI": 20, "PRLO": 20, "LS_RJT": 8}
_COUNTED = frozenset(("SEND_RQST", "WRITE_RQST", "READ_RQST"))
_ANSWER = frozenset(("LS_RJT", "LS_ACC", "BA_ACC", "BA_RJT"))
_OTHER_OX_ID, _OTHER_SEQ_ID, _FIRST_OX_ID = 0x4000, 0x80, 0x3FF0
_HANDLE = 24 + 32 + 8  # where a connect payload has the handle of whoever sends it (Tables 13 and 14)


@dataclass
class Heard:
    """The last frame of each kind, from either side."""

    edition: int = 0
    own: int = 0  # N_Port_ID of the device
    other: int = 0  # and of the tester
    sent: dict[str, bytes] = field(default_factory=dict)
    came: dict[str, bytes] = field(default_factory=dict)

    def take(self, data: bytes, ours: bool) -> None:
        """A frame crossed the link."""
        if len(data) < 24:
            return
        kind = kind_of(codec.decode(data, edition=self.edition))
        where = self.sent if ours else self.came
        for name in (kind, "*"):
            where.pop(name, None)
            where[name] = data

    def first(self, kinds: str) -> str:
        """Of these kinds that which the device can be said to send best: one that it has sent before, or one that answers."""
        names = kinds.split()
        known = [name for name in names if name in self.sent or _ANSWERS.get(name) in self.came]
        return (known or names)[0]


def made(kinds: str, where: str, heard: Heard) -> Optional[bytes]:
    """A frame of one of these kinds, on the Exchange "originator:OX_ID:RX_ID" or on one of its own; None where it cannot be."""
    kind = heard.first(kinds)
    table = codec.IUS_REV1 if heard.edition else codec.IUS
    if kind not in table and kind not in _R_CTL and kind not in _ELS:
        return None
    base = _between(kind, heard)
    buf = bytearray(base)
    _opened(buf, kind, where, heard)
    if kind in heard.sent:
        if kind in _COUNTED and not where:
            _next(buf, heard.edition)
        return bytes(buf)
    return bytes(_filled(buf, kind, table))


def _next(buf: bytearray, edition: int) -> None:
    """The Message after the one that it is a copy of."""
    structure, name = ("DH_REV1", "VI_MSG_ID") if edition else ("DH", "FCVI_MSG_ID")
    codec.put(structure, name, buf, int(codec.get(structure, name, bytes(buf), 24)) + 1, 24)


def _between(kind: str, heard: Heard) -> bytes:
    """A frame from device to tester: one of this kind that was sent before, or a header and the tester's handle."""
    if kind in heard.sent:
        return heard.sent[kind]
    header = bytearray(24)
    for name, value in (("S_ID", heard.own), ("D_ID", heard.other), ("OX_ID", _FIRST_OX_ID), ("RX_ID", 0xFFFF), ("SEQ_ID", 1),
                        ("First_Sequence", 1), ("Sequence_Initiative", 1)):  # fmt: skip
        codec.put("FC", name, header, value)
    payload = heard.came.get("CONNECT_RQST") or heard.came.get("CONNECT_RESP1") or b""
    return bytes(header) + payload[_HANDLE : _HANDLE + 4].ljust(4, b"\0")


def _opened(buf: bytearray, kind: str, where: str, heard: Heard) -> None:
    """Put it on its Exchange."""
    asked = heard.came.get(_ANSWERS.get(kind, ""))
    if where:
        originator, ox_id, rx_id = where.split(":")
        values = {"OX_ID": int(ox_id, 16), "RX_ID": int(rx_id, 16), "Exchange_Context": int(originator == "tester")}
        values |= {"First_Sequence": 0, "SEQ_CNT": 0x100}
    elif asked is not None:
        originator_asks = not codec.get("FC", "Exchange_Context", asked)
        values = {name: int(codec.get("FC", name, asked)) for name in ("OX_ID", "RX_ID")}
        values |= {"Exchange_Context": int(originator_asks), "First_Sequence": 0}
    elif kind in _ANSWER and "*" in heard.came:
        values = {name: int(codec.get("FC", name, heard.came["*"])) for name in ("OX_ID", "RX_ID")}
        values["Exchange_Context"] = 1
    else:
        again = kind in ("ABTS",) and kind not in heard.sent
        other = 0 if again else _OTHER_OX_ID
        values = {"OX_ID": int(codec.get("FC", "OX_ID", bytes(buf))) ^ other, "SEQ_CNT": 0}
        values |= {} if again else {"RX_ID": 0xFFFF, "Exchange_Context": 0, "First_Sequence": 1}
    values["SEQ_ID"] = int(codec.get("FC", "SEQ_ID", bytes(buf))) ^ _OTHER_SEQ_ID
    for name, value in values.items():
        codec.put("FC", name, buf, value)


def _filled(buf: bytearray, kind: str, table: Mapping[str, codec.Iu]) -> bytearray:
    """The header, and a body of zeros, of a kind that the device has not sent before."""
    codec.put("FC", "End_Sequence", buf, 1)
    codec.put("FC", "Fill_Bytes", buf, 0)
    codec.put("FC", "Relative_Offset_Present", buf, 0)
    codec.put("FC", "Parameter", buf, 0)
    if kind in table:
        row = table[kind]
        handle = buf[24:28] if len(buf) >= 28 else bytes(4)
        body = bytearray(row.dh_size + (codec.LENGTH["CONN"] if kind in ("CONNECT_RQST", "CONNECT_RESP1") else 0))
        body[0:4] = handle
        values = {"R_CTL": row.r_ctl, "TYPE": 0x58, "Device_Header": 1 if row.dh_size == 16 else 2}
        made_of = buf[:24] + body
        codec.put("DH", "FCVI_OPCODE", made_of, row.opcode, 24)
    elif kind in _R_CTL:
        values = {"R_CTL": _R_CTL[kind], "TYPE": 0, "Device_Header": 0}
        made_of = buf[:24] + bytes(12 if kind == "BA_ACC" else 4 if kind == "BA_RJT" else 0)
    else:
        values = {"R_CTL": 0x23 if kind in _ANSWER else 0x22, "TYPE": 0x01, "Device_Header": 0}
        made_of = buf[:24] + bytes([_ELS[kind]]) + bytes(_LENGTH.get(kind, 28) - 1)
    for name, value in values.items():
        codec.put("FC", name, made_of, value)
    return made_of


__all__ = ["Heard", "made"]
