"""The connection IUs field by field, as clauses 6.8 to 6.13 and Tables 13 to 18 have them.

Where a field stands is the codec's business, whose own tests hold its table against the standard's: optional headers of FC-FS
(5.8.5) may stand in front of the Device_Header.
"""

from __future__ import annotations

from typing import Union

from fcvi.fc import codec
from fcvi.fc.build import UNASSIGNED
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from .connection import Setup, attributes_of, discriminator_of, dut_host, tester_host

_HEADER_OF_32_BYTES = 2  # Device_Header in DF_CTL (5.8.5)

#: Reserved bits of FCVI_FLAGS (Tables 7, 9 and 10), and requirements: Device_Header of 32 bytes, flags of the table, unassigned
#: handle, Sequence Initiative passed or Exchange ended. FCVI_OPCODE needs no look: it tells which IU it is.
_IUS = {
    "CONNECT_RQST": ("FLAGS7_7_5", "FCVI-6.8.2-01", "FCVI-6.8.2-03", "FCVI-6.8.2-02", "FCVI-6.8.1-03", None),
    "CONNECT_RESP1": ("FLAGS9_7_3", "FCVI-6.9.2-01", "FCVI-6.9.2-03", "FCVI-6.9.2-02", "FCVI-6.9.1-03", None),
    "CONNECT_RESP2": ("FLAGS9_7_3", "FCVI-6.10.2-01", "FCVI-6.10.2-03", None, "FCVI-6.10.1-03", None),
    "CONNECT_RESP3": ("FLAGS9_7_3", "FCVI-6.11.2-01", "FCVI-6.11.2-03", None, None, "FCVI-6.11.1-03"),
    "DISCONNECT_RQST": ("FLAGS10_7_3", "FCVI-6.12.2-01", "FCVI-6.12.2-04", None, "FCVI-6.12.1-03", None),
    "DISCONNECT_RESP": ("FLAGS10_7_3", "FCVI-6.13.2-01", "FCVI-6.13.2-04", None, None, "FCVI-6.13.1-03"),
}


def check_header(t: Scenario, iu: Received) -> None:
    """Frame header and Device_Header of a connection IU: DF_CTL, F_CTL of its last frame, Words 0, 1, 4 and 5."""
    reserved, header, flags, unassigned, passes, ends = _IUS[iu.kind]
    t.equal(iu, "Device_Header", _HEADER_OF_32_BYTES, header)
    t.equal(iu, reserved, 0, flags)
    if unassigned:
        t.equal(iu, "FCVI_HANDLE", UNASSIGNED, unassigned)
    if passes:
        t.equal(iu, "Sequence_Initiative", 1, passes)
    if ends:
        t.equal(iu, "Last_Sequence", 1, ends)
    for name in ("FCVI_RMT_VA", "FCVI_RMT_VA_HANDLE"):  # words without application
        t.equal(iu, name, 0, "FCVI-3.4-03")


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
    connect = iu.kind.startswith("CONNECT")
    code = iu.dh("Reason_Code")
    if not iu.dh("CONN_STS" if connect else "DISC_CONN_STS"):
        return
    reserved = "FCVI-5.9.7.2.1-06" if code < 0x20 else "FCVI-5.9.7.2.2-04" if code < 0x40 else _STATUS[iu.kind]
    t.require(
        code in (_CONNECT_CODES if connect else _DISCONNECT_CODES), reserved if connect else _STATUS[iu.kind],
        f"Reason Code of FCVI_{iu.kind}", f"{code:02X}h", "one that Table 12 has for it", at=iu,
        erratum="E11" if 0x60 <= code <= 0x6F else None, **t.place(iu, "Reason_Code"),
    )  # fmt: skip


# ---- the payload of FCVI_CONNECT_RQST and FCVI_CONNECT_RESP1 ----

#: Fields of a structure, each with the rows of its table and of its clause that say it; what a table leaves out is zero.
_TABLE_15: dict[str, tuple[str, ...]] = {
    "ADDR_RSVD": ("FCVI-T15-w0",),
    "HOST_ADD_LEN": ("FCVI-T15-w0", "FCVI-7.2-08"),
    "DISCRIM_LEN": ("FCVI-T15-w0", "FCVI-7.2-14"),
    "HOST_ADD": ("FCVI-T15-w1", "FCVI-7.2-12"),
    "DISCRIM": ("FCVI-T15-w5",),
}
_TABLES_16_TO_18: dict[str, tuple[str, ...]] = {
    "ATTRS_RSVD": ("FCVI-T16-w0",),
    "FCVI_RELIABILITY_LVL": ("FCVI-T16-w0", "FCVI-7.3-02"),
    "EnRdmaWr": ("FCVI-T16-w0", "FCVI-7.3-03", "FCVI-T17-1"),
    "EnRdmaRd": ("FCVI-T16-w0", "FCVI-7.3-03", "FCVI-T17-0"),
    "FCVI_MAX_TRANS_SIZE": ("FCVI-T16-w1", "FCVI-7.3-04"),
    "FCVI_QOS.FCVI_PREF": ("FCVI-T16-w2", "FCVI-T18-w0"),
    "FCVI_QOS.QOS_RSVD": ("FCVI-T16-w2", "FCVI-T18-w0"),
    "FCVI_QOS.FCVI_MAX_BANDWIDTH": ("FCVI-T16-w2", "FCVI-T18-w1"),
    "FCVI_QOS.FCVI_MIN_BANDWIDTH": ("FCVI-T16-w2", "FCVI-T18-w2"),
    "FCVI_QOS.FCVI_MAX_DELAY": ("FCVI-T16-w2", "FCVI-T18-w3"),
    "FCVI_QOS.FCVI_PIPELINE_DEPTH": ("FCVI-T16-w2", "FCVI-T18-w4"),
}


def _words(value: Union[int, bytes]) -> str:
    return value.hex() if isinstance(value, bytes) else f"{value:X}h"


def _need(
    t: Scenario, iu: Received, requirements: tuple[str, ...], path: str, required: Union[int, bytes], significant: int = -1
) -> None:  # fmt: skip
    """A field of the connect payload; significant: so many bytes of it, where the rest is the codec's (E31)."""
    seen = iu.part("CONN", path)
    if significant >= 0 and isinstance(seen, bytes):
        seen = seen[:significant]
    for requirement in requirements:
        t.require(seen == required, requirement, f"{path} of FCVI_{iu.kind}", _words(seen), _words(required), at=iu,
                  byte=iu.byte_of("CONN", path))  # fmt: skip


def _need_address(t: Scenario, iu: Received, name: str, host: str, row: str) -> None:
    """FCVI_NET_ADDRESS by Table 15."""
    discriminator = discriminator_of(t)
    wanted: dict[str, Union[int, bytes]] = {
        "ADDR_RSVD": 0, "HOST_ADD_LEN": 16, "DISCRIM_LEN": len(discriminator), "HOST_ADD": bytes.fromhex(host),
        "DISCRIM": discriminator,
    }  # fmt: skip
    for field, rows in _TABLE_15.items():
        significant = len(discriminator) if field == "DISCRIM" else -1
        _need(t, iu, (row, *rows), f"{name}.{field}", wanted[field], significant)


def _need_attributes(t: Scenario, iu: Received, row: str) -> None:
    """FCVI_ATTRIBUTES by Tables 16 to 18 of a VI with the attributes of this variant; the eighth word is the codec's (E10)."""
    chosen = attributes_of(t)
    wanted = {
        "EnRdmaWr": chosen["EnRdmaWr"], "EnRdmaRd": chosen["EnRdmaRd"], "FCVI_RELIABILITY_LVL": chosen["FCVI_RELIABILITY_LVL"],
        "FCVI_MAX_TRANS_SIZE": chosen["FCVI_MAX_TRANS_SIZE"], "FCVI_QOS.FCVI_PIPELINE_DEPTH": chosen["FCVI_PIPELINE_DEPTH"],
    }  # fmt: skip
    # a provider may use Preference though the application did not ask for it (5.8.2)
    if t.params.get("preference") or iu.part("CONN", "FCVI_LOC_ATTRS.FCVI_QOS.FCVI_PREF") == _PREFERENCE:
        wanted["FCVI_QOS.FCVI_PREF"] = _PREFERENCE
    for field, rows in _TABLES_16_TO_18.items():
        _need(t, iu, (row, *rows), f"FCVI_LOC_ATTRS.{field}", wanted.get(field, 0))


_PREFERENCE = 0x80  # FCVI_PREF (Table 18)
_CONNECT, _INFO = codec.LENGTH["CONN"], codec.LENGTH["INFO"]


def check_payload(t: Scenario, iu: Received, setup: Setup) -> None:
    """Every word of Table 13 or 14, and the tables that it refers to."""
    rows = ["w0", "w1", "w2", "w3", "w40", "w77", "w85"]
    table, own = ("T13", "FCVI_RQST_HANDLE") if iu.kind == "CONNECT_RQST" else ("T14", "FCVI_RESP_HANDLE")
    w0, w1, w2, w3, w40, w77, w85 = (f"FCVI-{table}-{row}" for row in rows)
    _need(t, iu, (w0,), "CONN_RSVD0", 0)
    _need(t, iu, (w1,), "CONN_RSVD1", 0)
    _need(t, iu, (w1,), "FCVI_REVISION", 1)
    handle, wanted = iu.number("CONN", own), setup.dut_handle
    t.require(
        handle == wanted != UNASSIGNED, w2, f"handle in Word 2 of FCVI_{iu.kind}", f"{handle:08X}h", "one that is assigned",
        at=iu, byte=iu.byte_of("CONN", own),
    )  # fmt: skip
    _need_address(t, iu, "FCVI_LOC_ADDR", dut_host(t), w3)
    _need_address(t, iu, "FCVI_REM_ADDR", tester_host(t), w40)
    _need_attributes(t, iu, w77)
    info = iu.dh("RQST_FCVI_CONN_INFO") if iu.kind == "CONNECT_RQST" else iu.dh("RESP_FCVI_CONN_INFO")
    length = _CONNECT + _INFO if info else _CONNECT
    t.require(len(iu.payload) == length, w85, f"payload of FCVI_{iu.kind}", f"{len(iu.payload)} bytes", f"{length} bytes", at=iu)
