"""Broken devices for the cases on addresses, logins and link events (clause 7)."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import codec
from fcvi.fc.received import kind_of

from .faulty import Fault, FaultyDut, FrameEdit, drop, put, state

_CONNECTED, _ERROR = "VIP_STATE_CONNECTED", "VIP_STATE_ERROR"


def farp(name: str, value: int) -> FrameEdit:
    """Set a number in a FARP payload."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        codec.put("FARP", name, buf, value, 28)

    return edit


def to_the_old_address(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """The N_Port_ID that the tester had at first."""
    codec.put("FC", "D_ID", buf, dut.tester_id)


def swap(first: int, second: int, length: int) -> FrameEdit:
    """Exchange two fields of an ELS, by their offsets behind the command word."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        a, b = slice(28 + first, 28 + first + length), slice(28 + second, 28 + second + length)
        buf[a], buf[b] = buf[b], buf[a]

    return edit


def always_again() -> FrameEdit:
    """Send a second copy in another Exchange."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
        again = bytearray(buf)
        codec.put("FC", "OX_ID", again, 0x7FFD)
        return [bytes(buf), bytes(again)]

    return edit


_STAYS = {"VipQueryVi": state(_CONNECTED, _ERROR)}


def registers(dut: Any, view: Any, buf: bytearray) -> list[bytes]:
    """SCR for every event behind each FLOGI (7.7.5)."""
    head = bytes.fromhex("22fffffd00") + bytes(buf[5:8]) + bytes.fromhex("01290000 7e000000 7e7e ffff 00000000")
    return [bytes(buf), head + bytes.fromhex("62000000 00000003")]


def _first_login_stays(dut: FaultyDut, view: codec.Frame) -> Optional[bytes]:
    """Of a second PLOGI the port does not take the service parameters."""
    if kind_of(view) != "PLOGI":
        return None
    at = view.payload_offset + 4  # of 112 bytes of service parameters
    first: bytes = dut.memory.setdefault("parameters", view.data[at : at + 112])
    return view.data[:at] + first + view.data[at + 112 :]


FAULTS = [
    Fault("size-of-the-first-login", "7.7.1.relogin/dut-server/class3/field-size-256", "FCVI-5.8.1-01", hears=_first_login_stays),
    # 7.4 to 7.6, 4.2
    Fault("farp-code-point", "7.5.request/point-to-point/known-port", "FCVI-7.5-01",
          out={"FARP_REQ": farp("Match_Code_Points", 1)}),
    Fault("farp-action", "7.5.request/unanswered", "FCVI-7.5-02", out={"FARP_REQ": farp("Responder_Action", 1)}),
    Fault("farp-of-nobody", "7.5.request/private-loop/other-port", "FCVI-7.5-03",
          out={"FARP_REQ": farp("Requesting_N_Port_Identifier", 0)}),
    Fault("farp-addresses-swapped", "7.5.request/point-to-point/known-port", "FCVI-7.5-10", out={"FARP_REQ": swap(40, 56, 16)}),
    Fault("farp-names-swapped", "7.5.request/point-to-point/known-port", "FCVI-7.5-07", out={"FARP_REQ": swap(8, 16, 8)}),
    Fault("no-farp", "7.5.request/private-loop/known-port", "FCVI-7.4-03", out={"FARP_REQ": drop()}),
    Fault("asks-the-wrong-port", "7.5.request/private-loop/other-port", "FCVI-7.4-01",
          out={"CONNECT_RQST": to_the_old_address}),
    Fault("farp-answered-twice", "7.5.reply/right", "FCVI-7.5-16", out={"FARP_REPLY": always_again()}),
    Fault("reply-without-identifier", "7.5.reply/second-address", "FCVI-7.5-20",
          out={"FARP_REPLY": farp("Responding_N_Port_Identifier", 0)}),
    Fault("reply-forgets-the-asker", "7.5.reply/right", "FCVI-7.5-21", out={"FARP_REPLY": farp("Requesting_Port_Name", 0)}),
    Fault("reply-with-another-name", "7.5.reply/right", "FCVI-7.5-24", out={"FARP_REPLY": farp("Responding_Node_Name", 1)}),
    Fault("reply-addresses-swapped", "7.5.reply/fabric/right", "FCVI-7.5-26", out={"FARP_REPLY": swap(40, 56, 16)}),
    Fault("asks-for-another-address", "7.6/fabric/known-port", "FCVI-7.6-02",
          out={"CT": lambda d, v, b: b.__setitem__(slice(40, 56), bytes(16))}),
    Fault("goes-nowhere-in-particular", "7.6/fabric/other-port", "FCVI-7.4-01",
          out={"CONNECT_RQST": to_the_old_address}),
    Fault("always-the-first-own-address", "4.2.21/dut-client/2", "FCVI-6.8.3-04",
          out={"CONNECT_RQST": lambda d, v, b: b.__setitem__(slice(72, 88), bytes.fromhex("20010db8" + "00" * 11 + "01"))}),
    # 7.7.1, 7.7.2, 8.5.3
    Fault("connections-survive-logout", "7.7.1.logout/dut-client/tester/point-to-point", "FCVI-7.7.1-05", results=_STAYS),
    Fault("no-logo-sent", "7.7.1.logout/dut-server/dut/fabric", "FCVI-7.7.1-05", out={"LOGO": drop()}),
    Fault("no-plogi-after-logo", "7.7.1.logout/dut-client/dut/private-loop", "FCVI-7.7.2-02",
          out={"PLOGI": lambda d, v, b: []}),
    Fault("logout-ends-everything", "7.7.1.other-port/fabric", "FCVI-7.7.1-05",
          results={"VipQueryVi": state(_ERROR, _CONNECTED)}),
    Fault("reset-ends-connections", "7.7.1.reset/dut-client/point-to-point", "FCVI-7.7.1-03",
          results={"VipQueryVi": state(_ERROR, _CONNECTED)}),
    Fault("connected-after-nos", "7.7.2/dut-server", "FCVI-7.7.2-01", results=_STAYS),
    Fault("id-still-resting", "8.5.3.c/by-tester", "FCVI-6.9.1-01", out={"CONNECT_RESP1": drop(2)}),
    # 7.7.3 to 7.7.5
    Fault("does-not-answer-adisc", "7.7.3/dut-client/tester-first", "FCVI-7.7.3-02",
          into={"ADISC"}, out={"ADISC": drop()}),
    Fault("adisc-with-other-name", "7.7.3/dut-server/any", "FCVI-7.7.3-02",
          out={"ADISC": lambda d, v, b: b.__setitem__(35, b[35] ^ 1)}),
    Fault("accepts-adisc-by-another-name", "7.7.3/dut-client/tester-first", "FCVI-7.7.3-02",
          out={"ADISC": drop(), "LS_ACC": lambda d, v, b: b.__setitem__(35, b[35] ^ (len(b) == 52))}),
    Fault("changed-port-connected", "7.7.3.changed/dut-server/port_name", "FCVI-7.7.1-05", results=_STAYS),
    Fault("logs-out-the-wrong-port", "7.7.3.each/dut-server/two-ports", "FCVI-7.7.3-04",
          out={"LOGO": put("FC", "D_ID", 0x0000E4)}),
    Fault("message-lost-with-the-lip", "7.7.4/dut-client", "FCVI-6.2.1-01", out={"SEND_RQST": drop()}),
    Fault("old-mapping-after-fan", "7.7.4.changed/dut-client/port_name", "FCVI-7.7.4-04",
          out={"CONNECT_RQST": put("FC", "D_ID", 0x0102E4)}),
    Fault("private-port-not-logged-out", "7.7.4.private/dut-client/node_name", "FCVI-7.7.3-04", out={"LOGO": drop()}),
    Fault("old-mapping-after-rscn", "7.7.1.rscn/dut-client", "FCVI-7.7.1-04",
          out={"FLOGI": registers, "CONNECT_RQST": to_the_old_address}),
    Fault("no-flogi-after-nos", "7.7.5/dut-server", "FCVI-7.7.5-02", out={"FLOGI": drop(2)}),
    Fault("old-mapping-after-nos", "7.7.5.changed/dut-client/n_port_id", "FCVI-7.7.5-05",
          out={"CONNECT_RQST": to_the_old_address}),
]  # fmt: skip
