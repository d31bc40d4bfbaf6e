"""The connection IUs byte for byte, as clauses 6.8 to 6.13 and Tables 13 to 18 lay them out.

The offsets are the tables' own: what the field table of the codec says is not used here.
"""

from __future__ import annotations

from typing import Optional

from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from .connection import Setup, attributes_of, discriminator_of, dut_host, tester_host

_HEADER, _DH = 24, 24  # lengths of the frame header; offset of the Device_Header
_UNASSIGNED = "ffffffff"


def _need(
    t: Scenario, iu: Received, requirement: str, words: str, seen: bytes, required: bytes, byte: Optional[int]
) -> None:
    t.require(seen == required, requirement, f"{words} of FCVI_{iu.kind}", seen.hex(), required.hex(), at=iu, byte=byte)


#: Clause of the IU, FCVI_OPCODE, and requirements: Device_Header of 32 bytes, opcode, unassigned handle, Sequence
#: Initiative passed or Exchange ended.
_IUS = {
    "CONNECT_RQST": ("10", "FCVI-6.8.2-01", "FCVI-6.8.2-03", "FCVI-6.8.2-02", "FCVI-6.8.1-03", None),
    "CONNECT_RESP1": ("18", "FCVI-6.9.2-01", "FCVI-6.9.2-03", "FCVI-6.9.2-02", "FCVI-6.9.1-03", None),
    "CONNECT_RESP2": ("19", "FCVI-6.10.2-01", "FCVI-6.10.2-03", None, "FCVI-6.10.1-03", None),
    "CONNECT_RESP3": ("1a", "FCVI-6.11.2-01", "FCVI-6.11.2-03", None, None, "FCVI-6.11.1-03"),
    "DISCONNECT_RQST": ("12", "FCVI-6.12.2-01", "FCVI-6.12.2-04", None, "FCVI-6.12.1-03", None),
    "DISCONNECT_RESP": ("1b", "FCVI-6.13.2-01", "FCVI-6.13.2-04", None, None, "FCVI-6.13.1-03"),
}


def check_header(t: Scenario, iu: Received) -> None:
    """Frame header and Device_Header of a connection IU: TYPE, DF_CTL, F_CTL of its last frame, Words 0, 1, 4 and 5."""
    opcode, header, code, unassigned, passes, ends = _IUS[iu.kind]
    data = iu.last.data
    _need(t, iu, "FCVI-5.8.3-01", "TYPE", data[8:9], b"\x58", 8)
    _need(t, iu, header, "DF_CTL", data[13:14], b"\x02", 13)
    _need(t, iu, code, "FCVI_OPCODE", data[_DH + 4 : _DH + 5], bytes.fromhex(opcode), _DH + 4)
    if unassigned:
        _need(t, iu, unassigned, "FCVI_HANDLE", data[_DH : _DH + 4], bytes.fromhex(_UNASSIGNED), _DH)
    if passes:
        t.require(bool(data[9] & 1), passes, f"Sequence Initiative of FCVI_{iu.kind}", "0", "1", at=iu, byte=9, bits="16-16")
    if ends:
        t.require(bool(data[9] & 0x10), ends, f"Last_Sequence of FCVI_{iu.kind}", "0", "1", at=iu, byte=9, bits="20-20")
    _need(t, iu, "FCVI-3.4-03", "Words without application", data[_DH + 16 : _DH + 28], bytes(12), _DH + 16)


_STATUS = {
    "CONNECT_RESP1": "FCVI-6.9.2-06",
    "CONNECT_RESP2": "FCVI-6.10.2-06",
    "CONNECT_RESP3": "FCVI-6.11.2-06",
    "DISCONNECT_RQST": "FCVI-6.12.2-05",
    "DISCONNECT_RESP": "FCVI-6.13.2-06",
}
_CONNECT_CODES = {*range(0x01, 0x06), 0x20, 0x21, 0x22, *range(0xF0, 0x100)}
_DISCONNECT_CODES = {*range(0x40, 0x4C), *range(0xF0, 0x100)}


def check_status(t: Scenario, iu: Received) -> None:
    """With CONN_STS one a Reason Code of Table 12 for this kind of IU; reserved ones are never sent (E27)."""
    flags, code = iu.last.data[_DH + 5], iu.last.data[_DH + 13]
    if not flags & 1:
        return
    connect = iu.kind.startswith("CONNECT")
    reserved = "FCVI-5.9.7.2.1-06" if code < 0x20 else "FCVI-5.9.7.2.2-04" if code < 0x40 else _STATUS[iu.kind]
    t.require(
        code in (_CONNECT_CODES if connect else _DISCONNECT_CODES), reserved if connect else _STATUS[iu.kind],
        f"Reason Code of FCVI_{iu.kind}", f"{code:02X}h", "one that Table 12 has for it", at=iu, byte=_DH + 13,
        erratum="E11" if 0x60 <= code <= 0x6F else None,
    )  # fmt: skip


# ---- the payload of FCVI_CONNECT_RQST and FCVI_CONNECT_RESP1 ----


def _address(host: str, discriminator: bytes) -> bytes:
    """FCVI_NET_ADDRESS by Table 15, without what pads the Discriminator: that is the codec's (E31)."""
    return bytes([0, 0, 16, len(discriminator)]) + bytes.fromhex(host) + discriminator


def attributes(t: Scenario, preference: bool = False) -> bytes:
    """FCVI_ATTRIBUTES by Tables 16 to 18 of a VI with the attributes of this variant; the eighth word is the codec's (E10)."""
    a = attributes_of(t)
    flags = a["EnRdmaWr"] << 1 | a["EnRdmaRd"]
    head = bytes([0, 0, a["FCVI_RELIABILITY_LVL"], flags]) + a["FCVI_MAX_TRANS_SIZE"].to_bytes(4, "big")
    qos = bytes([0x80 if preference else 0, 0, 0, 0]) + bytes(12) + a["FCVI_PIPELINE_DEPTH"].to_bytes(4, "big")
    return head + qos


_TABLE_15 = (
    ("FCVI-T15-w0", 0, 4), ("FCVI-T15-w1", 4, 20), ("FCVI-T15-w5", 20, 148), ("FCVI-7.2-08", 2, 3),
    ("FCVI-7.2-12", 4, 20), ("FCVI-7.2-14", 3, 4),
)  # fmt: skip
_TABLES_16_TO_18 = (
    ("FCVI-T16-w0", 0, 4), ("FCVI-T16-w1", 4, 8), ("FCVI-T16-w2", 8, 28), ("FCVI-7.3-02", 2, 3), ("FCVI-7.3-03", 3, 4),
    ("FCVI-7.3-04", 4, 8), ("FCVI-T18-w0", 8, 12), ("FCVI-T18-w1", 12, 16), ("FCVI-T18-w2", 16, 20),
    ("FCVI-T18-w3", 20, 24), ("FCVI-T18-w4", 24, 28),
)  # fmt: skip


def check_payload(t: Scenario, iu: Received, setup: Setup) -> None:
    """Every word of Table 13 or 14, and the tables that it refers to."""
    rows = ["w0", "w1", "w2", "w3", "w40", "w77", "w85"]
    table = "T13" if iu.kind == "CONNECT_RQST" else "T14"
    w0, w1, w2, w3, w40, w77, w85 = (f"FCVI-{table}-{row}" for row in rows)
    payload, base = iu.payload, iu.last.payload_offset if len(iu.frames) == 1 else None

    def need(requirement: str, words: str, first: int, required: bytes) -> None:
        seen = payload[first : first + len(required)]
        _need(t, iu, requirement, words, seen, required, None if base is None else base + first)

    need(w0, "Word 0", 0, bytes(4))
    need(w1, "Word 1", 4, bytes([0, 0, 0, 1]))
    handle = int.from_bytes(payload[8:12], "big")
    wanted = setup.dut_handle
    t.require(
        handle == wanted != 0xFFFFFFFF, w2, f"handle in Word 2 of FCVI_{iu.kind}", f"{handle:08X}h", "one that is assigned",
        at=iu, byte=None if base is None else base + 8,
    )  # fmt: skip
    own, other = (_address(host, discriminator_of(t)) for host in (dut_host(t), tester_host(t)))
    for requirement, words, first, required in ((w3, "FCVI_LOC_ADDR", 12, own), (w40, "FCVI_REM_ADDR", 160, other)):
        need(requirement, words, first, required)
        for row, low, high in _TABLE_15:
            need(row, words, first + low, required[low:high])
    # a provider may use Preference though the application did not ask for it (5.8.2)
    expected = attributes(t, bool(t.params.get("preference")) or payload[316:317] == b"\x80")
    need(w77, "FCVI_LOC_ATTRS", 308, expected)
    for row, low, high in _TABLES_16_TO_18:
        need(row, "FCVI_LOC_ATTRS", 308 + low, expected[low:high])
    for bit, row in ((1, "FCVI-T17-1"), (0, "FCVI-T17-0")):
        flag, wanted_flag = payload.ljust(340, b"\0")[311] >> bit & 1, expected[3] >> bit & 1
        t.require(flag == wanted_flag, row, f"FCVI_ATTR_FLAGS bit {bit} of FCVI_{iu.kind}", flag, wanted_flag, at=iu)
    info = iu.dh("RQST_FCVI_CONN_INFO") if iu.kind == "CONNECT_RQST" else iu.dh("RESP_FCVI_CONN_INFO")
    length = 596 if info else 340
    t.require(len(payload) == length, w85, f"payload of FCVI_{iu.kind}", f"{len(payload)} bytes", f"{length} bytes", at=iu)
