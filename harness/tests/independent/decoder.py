"""A second decoder, written from the tables of the standard and of FC-FS and from nothing of ours.

A frame becomes leaves: {(first bit of the frame, width): (name, value)}. Bits are counted from the first bit on the wire, so
that it does not matter in which words a table puts a field. Reserved fields have the name "Reserved".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

Leaves = Dict[Tuple[int, int], Tuple[str, int]]
Layout = List[Tuple[str, int]]  # fields as they follow each other: name ("" is Reserved), width in bits

# FC-FS, frame header; F_CTL bit by bit from 23 on, DF_CTL from 7 on
_HEADER: Layout = [
    ("R_CTL", 8), ("D_ID", 24), ("PREF", 1), ("CS_CTL bits 6-0", 7), ("S_ID", 24), ("TYPE", 8),
    ("Exchange Context", 1), ("Sequence Context", 1), ("First_Sequence", 1), ("Last_Sequence", 1),
    ("End_Sequence", 1), ("End_Connection", 1), ("CS_CTL/Priority Enable", 1), ("Sequence Initiative", 1),
    ("X_ID Reassigned", 1), ("Invalidate X_ID", 1), ("ACK_Form", 2), ("Data Compression", 1), ("Data Encryption", 1),
    ("Retransmitted Sequence", 1), ("Unidirectional Transmit", 1), ("Continue Sequence Condition", 2),
    ("Abort Sequence Condition", 2), ("Relative Offset Present", 1), ("Exchange Reassembly", 1), ("Fill Bytes", 2),
    ("SEQ_ID", 8), ("", 1), ("ESP_Header", 1), ("Network_Header", 1), ("Association_Header", 1), ("", 2),
    ("Device_Header", 2), ("SEQ_CNT", 16), ("OX_ID", 16), ("RX_ID", 16), ("Parameter", 32),
]  # fmt: skip

# Table 1: opcode, IU, bytes of Device_Header
_IUS = {
    0x00: ("FCVI_SEND_RQST", 32), 0x01: ("FCVI_WRITE_RQST", 32), 0x02: ("FCVI_READ_RQST", 32),
    0x08: ("FCVI_SEND_RESP", 16), 0x09: ("FCVI_WRITE_RESP", 16), 0x0A: ("FCVI_READ_RESP", 32),
    0x10: ("FCVI_CONNECT_RQST", 32), 0x12: ("FCVI_DISCONNECT_RQST", 32), 0x18: ("FCVI_CONNECT_RESP1", 32),
    0x19: ("FCVI_CONNECT_RESP2", 32), 0x1A: ("FCVI_CONNECT_RESP3", 32), 0x1B: ("FCVI_DISCONNECT_RESP", 32),
}  # fmt: skip

_MESSAGE_RQST = (0x00, 0x01, 0x02)
_MESSAGE_RESP = (0x08, 0x09, 0x0A)
_CONNECT_RESP = (0x18, 0x19, 0x1A)
_DISCONNECT = (0x12, 0x1B)  # Table 10 holds for both (E08)


def _flags(opcode: int) -> Layout:
    if opcode in _MESSAGE_RQST:
        return [("", 7), ("IMM_DATA", 1)]  # Table 5
    if opcode in _MESSAGE_RESP:
        return [("", 4), ("TRANS_ERR", 1), ("PROT_ERR", 1), ("DESC_ERR", 1), ("RESP_ERR", 1)]  # Table 6
    if opcode == 0x10:
        return [("", 3), ("RETRY", 1), ("FCVI_CONN_INFO", 1), ("CONN_MODE", 3)]  # Tables 7 and 8
    if opcode in _CONNECT_RESP:
        return [("", 5), ("RETRY", 1), ("FCVI_CONN_INFO", 1), ("CONN_STS", 1)]  # Table 9
    return [("", 5), ("CONN_SETUP_ABORT", 1), ("VI_APP_DISCON", 1), ("CONN_STS", 1)]  # Table 10


def _device_header(opcode: int) -> Layout:
    """Table 3, or Table 4 with its four further words."""
    message = opcode in _MESSAGE_RQST + _MESSAGE_RESP
    layout: Layout = [("FCVI_HANDLE", 32), ("FCVI_OPCODE", 8), *_flags(opcode), ("", 16), ("FCVI_MSG_ID", 32)]
    if opcode in _CONNECT_RESP + _DISCONNECT:  # Table 11
        layout += [("", 8), ("Reason Code", 8), ("Reason Explanation", 8), ("Vendor Unique", 8)]
    else:
        layout += [("FCVI_PARAMETER", 32)]
    if _IUS[opcode][1] == 32:
        layout += [("FCVI_RMT_VA", 64), ("FCVI_RMT_VA_HANDLE", 32)]
        layout += [("FCVI_TOT_LEN" if message else "FCVI_CONNECTION_ID", 32)]
    return layout


_ADDRESS: Layout = [("", 16), ("HOST_ADD_LEN", 8), ("DISCRIM_LEN", 8), ("HOST_ADD", 128), ("DISCRIM", 1024)]  # Table 15
_QOS: Layout = [  # Table 18
    ("FCVI_PREF", 8), ("", 24), ("FCVI_MAX_BANDWIDTH", 32), ("FCVI_MIN_BANDWIDTH", 32), ("FCVI_MAX_DELAY", 32),
    ("FCVI_PIPELINE_DEPTH", 32),
]  # fmt: skip
_ATTRIBUTES: Layout = [  # Tables 16 and 17
    ("", 16), ("FCVI_RELIABILITY_LVL", 8), ("", 6), ("EnRdmaWr", 1), ("EnRdmaRd", 1), ("FCVI_MAX_TRANS_SIZE", 32), *_QOS,
]  # fmt: skip


def _connect(opcode: int, info: bool) -> Layout:
    """Tables 13 and 14: Words 0 to 84 (E10), then FCVI_CONNECT_INFO."""
    handle = "FCVI_RQST_HANDLE" if opcode == 0x10 else "FCVI_RESP_HANDLE"
    layout: Layout = [("", 32), ("", 16), ("FCVI_REVISION", 16), (handle, 32), *_ADDRESS, *_ADDRESS, *_ATTRIBUTES, ("", 32)]
    return layout + ([("FCVI_CONNECT_INFO", 2048)] if info else [])


def _bits(layout: Layout) -> int:
    return sum(width for _, width in layout)


@dataclass
class Decoded:
    """What a frame says."""

    kind: str
    iu: Optional[str] = None
    leaves: Leaves = field(default_factory=dict)
    payload: Tuple[int, int] = (0, 0)  # first byte, length without fill bytes
    wrong_length: Optional[bool] = None  # of the payload of a connect IU (Tables 13 and 14); None: there is none to judge

    def add(self, raw: bytes, start: int, layout: Layout) -> None:
        """The fields of a layout that begins with this byte and is all there."""
        number = int.from_bytes(raw[start:start + _bits(layout) // 8], "big")
        left = _bits(layout)
        at = start * 8
        for name, width in layout:
            left -= width
            self.leaves[at, width] = name or "Reserved", number >> left & (1 << width) - 1
            at += width


def _kind(r_ctl: int, type_: int, esp: bool) -> str:
    """Routing, the high digit of R_CTL (FC-FS): 0 Device_Data, 2 ELS, 8 BLS, C Link_Control. TYPE 58h is FC-VI (5.8.3)."""
    routing = r_ctl >> 4
    if routing == 0x0 and type_ == 0x58 and not esp:
        return "iu"
    if routing == 0x2 and type_ == 0x01:
        return "els"
    return {0x8: "bls", 0xC: "link_control"}.get(routing, "other")


def decode(raw: bytes) -> Decoded:
    """One frame: header and Data_Field."""
    if len(raw) < 24:
        return Decoded("malformed")
    df_ctl, fill = raw[13], raw[11] & 3
    frame = Decoded(_kind(raw[0], raw[8], bool(df_ctl & 0x40)))
    frame.add(raw, 0, _HEADER)
    if frame.kind != "iu":
        return frame
    at = 24
    for bit, size in ((0x20, 16), (0x10, 32)):  # Network_Header, Association_Header: before the Device_Header
        at += size if df_ctl & bit else 0
    size = (0, 16, 32, 64)[df_ctl & 3]
    if size == 0 or at + size > len(raw):
        return frame
    opcode = raw[at + 4]
    body = at + size
    fill = fill if fill <= len(raw) - body else 0
    frame.payload = body, len(raw) - body - fill
    if opcode not in _IUS:
        return frame
    frame.iu = _IUS[opcode][0]
    layout = _device_header(opcode)
    if _bits(layout) // 8 == size:  # in another one Table 1 puts nothing
        frame.add(raw, at, layout)
        _add_connect(frame, raw, opcode, body, raw[at + 5])
    return frame


def _add_connect(frame: Decoded, raw: bytes, opcode: int, body: int, flags: int) -> None:
    """The payload of a connect IU that is whole in one frame: the last of its Sequence, at Relative Offset zero."""
    if opcode not in (0x10, 0x18) or not raw[9] & 0x08 or raw[20:24] != bytes(4):
        return
    info = bool(flags & (0x08 if opcode == 0x10 else 0x02))
    frame.wrong_length = frame.payload[1] != (596 if info else 340)
    there = len(raw) - body  # what is there is read, whatever the flag announces and whatever is called fill bytes
    if there >= 340:
        frame.add(raw, body, _connect(opcode, there >= 596))
