"""Odd but conforming devices for the cases of connections, addresses and link events."""

from __future__ import annotations

from fcvi.fc import codec
from fcvi.fc.build import UNASSIGNED

from .odd import Edit, Odd, OddDut, no_rx_id

_SECOND = 1_000_000
_NOT_FOUND = {0x01: 0x03, 0x03: 0x01}


def _dh(view: codec.Frame, buf: bytearray, **values: int) -> None:
    for name, value in values.items():
        codec.put("DH", name, buf, value, view.dh_offset)


def _exchange(view: codec.Frame) -> tuple[str, object]:
    return "refused", view.get("FC", "OX_ID")


def note_refusal(dut: OddDut, view: codec.Frame, buf: bytearray) -> None:
    """Remember the Reason Code of a refusing FCVI_CONNECT_RESP1."""
    dut.memory[_exchange(view)] = view.get("DH", "Reason_Code") if view.get("DH", "CONN_STS") else 0


def unassigned_after_refusal(dut: OddDut, view: codec.Frame, buf: bytearray) -> None:
    """FCVI_CONNECT_RESP3 after any refusal carries FFFFFFFFh (E14)."""
    if dut.memory.get(_exchange(view)):
        _dh(view, buf, FCVI_HANDLE=UNASSIGNED)


def repeat_refusal(dut: OddDut, view: codec.Frame, buf: bytearray) -> None:
    """FCVI_CONNECT_RESP3 after a refusal repeats its status (E40)."""
    code = dut.memory.get(_exchange(view))
    if code:
        _dh(view, buf, CONN_STS=1, Reason_Code=code)


def other_not_found(dut: OddDut, view: codec.Frame, buf: bytearray) -> None:
    """01h and 03h stand for each other (E78)."""
    code = view.get("DH", "Reason_Code")
    if view.get("DH", "CONN_STS") and code in _NOT_FOUND:
        assert isinstance(code, int)
        _dh(view, buf, Reason_Code=_NOT_FOUND[code])


def unknown_id(dut: OddDut, view: codec.Frame, buf: bytearray) -> None:
    """FCVI_DISCONNECT_RQST of an established connection with FFFFFFFFh (E03)."""
    if not view.get("DH", "CONN_SETUP_ABORT"):
        _dh(view, buf, FCVI_CONNECTION_ID=UNASSIGNED)


def disconnect_accept(dut: OddDut, view: codec.Frame, buf: bytearray) -> None:
    """FCVI_DISCONNECT_RESP says 4Bh where it could say nothing (E41)."""
    if not view.get("DH", "DISC_CONN_STS"):
        _dh(view, buf, DISC_CONN_STS=1, Reason_Code=0x4B)


def first_own_address(dut: OddDut, view: codec.Frame, buf: bytearray) -> None:
    """FARP-REQ gives the first of the port's own addresses, whichever the call named (E36)."""
    codec.put("FARP", "Requesting_IP_Address", buf, int(dut.host, 16), 28)


def nameless_reply(dut: OddDut, view: codec.Frame, buf: bytearray) -> None:
    """FARP-REPLY without Responding Port_Name (E35)."""
    codec.put("FARP", "Responding_Port_Name", buf, 0, 28)


def preferred(dut: OddDut, view: codec.Frame, buf: bytearray) -> None:
    """CS_CTL of an ELS asks for Preference: nothing is said about that."""
    codec.put("FC", "PREF", buf, 1)


_ELS = ("PLOGI", "FLOGI", "LOGO", "ADISC", "FARP_REQ", "FARP_REPLY", "LS_ACC", "LS_RJT", "CT")
_RESPONSES: dict[str, Edit] = {k: no_rx_id for k in ("CONNECT_RESP1", "CONNECT_RESP3", "DISCONNECT_RESP")}

ODD = [
    Odd("slow-connect-requests", "8.3", {}, {k: 50_000 for k in ("CONNECT_RQST", "DISCONNECT_RQST", "ABTS", "BA_ACC")}),
    Odd("slow-els", "FC-FS", {}, {k: _SECOND // 5 for k in _ELS}),
    Odd("adisc-later-than-the-testers", "E83", {}, {"ADISC": 3 * _SECOND // 2}),
    Odd("unassigned-after-refusal", "E14", {"CONNECT_RESP1": note_refusal, "CONNECT_RESP3": unassigned_after_refusal}),
    Odd("refusal-repeated", "E40", {"CONNECT_RESP1": note_refusal, "CONNECT_RESP3": repeat_refusal}),
    Odd("other-code-for-not-found", "E78", {"CONNECT_RESP1": other_not_found}),
    Odd("unknown-id-in-disconnect", "E03", {"DISCONNECT_RQST": unknown_id}),
    Odd("disconnect-accept", "E41", {"DISCONNECT_RESP": disconnect_accept}),
    Odd("reply-without-port-name", "E35", {"FARP_REPLY": nameless_reply}),
    Odd("responder-without-rx-id", "FC-FS", _RESPONSES),
    Odd("asks-under-its-first-address", "E36", {"FARP_REQ": first_own_address}),
    Odd("answers-disconnects-late", "E123", {}, {"DISCONNECT_RESP": 9 * _SECOND, "BA_ACC": 9 * _SECOND}),
    Odd("answers-els-late", "E123", {}, {k: 9 * _SECOND for k in ("LS_ACC", "LS_RJT", "FARP_REPLY", "ADISC")}),
    Odd("reports-late", "E123", {}, {"completion": 9 * _SECOND, "state": 9 * _SECOND, "error": _SECOND // 2}),
    Odd("els-with-preference", "5.8.2", {k: preferred for k in _ELS}),
    Odd("connect-info", "6.8.3", port={"connect_info": True}),
]
