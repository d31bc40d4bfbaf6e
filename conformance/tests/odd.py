"""Odd but conforming devices: the reference port with another choice that the standard leaves open.

The suite fails none of them. Together with harness/tests/independent/, which has no RDMA and no reliable levels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable
from unittest.mock import patch

from fcvi.fc import codec
from fcvi.engine.attachment import Notification
from fcvi.dut.ref import RefDut
from fcvi.fc.received import kind_of
from fcvi.dut.refport import RefPort

Edit = Callable[["OddDut", codec.Frame, bytearray], None]
_DATA = ("SEND_RQST", "WRITE_RQST", "READ_RESP")


@dataclass
class Odd:
    """One choice."""

    name: str
    clause: str  # that leaves it open
    edits: dict[str, Edit] = field(default_factory=dict)  # by kind of frame
    delay_us: dict[str, int] = field(default_factory=dict)  # by kind of frame, or "completion"
    port: dict[str, Any] = field(default_factory=dict)  # members of struct fcvi_port_config


class LateDut(RefDut):
    """The reference port that sends some things later, and is configured as no reset says."""

    def __init__(self, spec: str) -> None:
        self._late: list[tuple[int, str, dict[str, Any]]] = []
        self.port: dict[str, Any] = {}  # members of struct fcvi_port_config
        super().__init__(spec)

    def reset(self, config: dict[str, Any]) -> None:
        self._late.clear()
        plain = RefPort._config

        def chosen(members: dict[str, Any]) -> Any:
            made = plain(members)
            for name, value in self.port.items():
                setattr(made, name, value)
            return made

        with patch.object(RefPort, "_config", staticmethod(chosen)):
            super().reset(config)

    def emit_after(self, delay_us: int, method: str, params: dict[str, Any]) -> None:
        """Send it after a delay, and behind what it follows."""
        if delay_us or any(m == method and self._behind(params, p) for _, m, p in self._late):
            self._late.append((self._server.now_us + delay_us, method, params))
        else:
            RefDut._emit(self, method, params)

    @staticmethod
    def _behind(params: dict[str, Any], late: dict[str, Any]) -> bool:
        """Whether this follows what is still held back: frames of one side of an Exchange (F_CTL bit 23) stay in order."""

        def side(frame: dict[str, Any]) -> tuple[str, int]:
            return frame["hex"][32:36], int(frame["hex"][18:20], 16) & 0x80

        return "hex" in params and side(params) == side(late)

    def advance(self, us: int) -> None:
        end = self._server.now_us + us
        while self._late and (due := min(d for d, _, _ in self._late)) <= end:
            super().advance(max(0, due - self._server.now_us))
            ready = [entry for entry in self._late if entry[0] <= due]
            self._late = [entry for entry in self._late if entry[0] > due]
            for _, method, params in ready:
                self.inbox.append(Notification(method, params, due, due))
        super().advance(max(0, end - self._server.now_us))
        if self._late:
            due = min(d for d, _, _ in self._late) - self.now_us
            self.next_us = due if self.next_us is None else min(due, self.next_us)


class OddDut(LateDut):
    """The reference port that makes this choice."""

    def __init__(self, odd: Odd) -> None:
        self.odd = odd
        self.memory: dict[Any, Any] = {}
        self.host = ""  # the first own Host Address
        super().__init__("odd:" + odd.name)
        self.port = odd.port

    def reset(self, config: dict[str, Any]) -> None:
        self.memory.clear()
        self.host = config["host"][0]
        super().reset(config)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        kind = method
        if method == "frame":
            view = codec.decode(bytes.fromhex(params["hex"]))
            kind = kind_of(view)
            edit = self.odd.edits.get(kind)
            if edit is not None:
                buf = bytearray(view.data)
                edit(self, view, buf)
                params = {"hex": buf.hex(), "crc": "ok"}  # the delimiters follow from the header
        self.emit_after(self.odd.delay_us.get(kind, 0), method, params)


# ---- choices ----


def _put(buf: bytearray, **values: int) -> None:
    for name, value in values.items():
        codec.put("FC", name, buf, value)


def one_iu_a_frame(dut: OddDut, view: codec.Frame, buf: bytearray) -> None:
    """Every frame of a Message is an IU of its own (6.2.1, 6.4.1, 6.7.1)."""
    first, last = view.get("FC", "SEQ_CNT") == 0, bool(view.get("FC", "End_Sequence"))
    if first and last:
        return
    seq_id = dut.memory["seq_id"] = (dut.memory.get("seq_id", 0x10) + 1) & 0xFF
    _put(buf, SEQ_ID=seq_id, End_Sequence=1, First_Sequence=int(first and view.iu != "READ_RESP"))
    if not last:
        _put(buf, Last_Sequence=0, Sequence_Initiative=0)


def immediate_last(dut: OddDut, view: codec.Frame, buf: bytearray) -> None:
    """One IU a frame, and Immediate Data in the last one only (E43)."""
    one_iu_a_frame(dut, view, buf)
    if not view.get("FC", "End_Sequence"):
        codec.put("DH", "IMM_DATA", buf, 0, view.dh_offset)
        codec.put("DH", "MSG_PARAMETER", buf, 0, view.dh_offset)


def offset_in_empty(dut: OddDut, view: codec.Frame, buf: bytearray) -> None:
    """Relative Offset Present, with 0, in frames without payload (E19)."""
    _put(buf, Relative_Offset_Present=1, Parameter=0)


def no_rx_id(dut: OddDut, view: codec.Frame, buf: bytearray) -> None:
    """A responder that assigns no RX_ID (FC-FS)."""
    _put(buf, RX_ID=0xFFFF)


_SECOND = 1_000_000
ODD = [
    Odd("one-iu-a-frame", "6.2.1", {k: one_iu_a_frame for k in _DATA}),
    Odd("immediate-in-the-last-iu", "E43", {k: immediate_last for k in _DATA}),
    Odd("offset-in-empty-frames", "E19", {k: offset_in_empty for k in ("READ_RQST", "SEND_RESP", "WRITE_RESP")}),
    Odd("slow-responses", "8.3", {}, {"SEND_RESP": 95 * _SECOND // 10, "WRITE_RESP": 95 * _SECOND // 10, "READ_RESP": _SECOND}),
    Odd("slow-completions", "VI-ARCH 6.3", {}, {"completion": 9 * _SECOND}),
    Odd("slow-requests", "5.2.1", {}, {k: 50_000 for k in ("SEND_RQST", "WRITE_RQST", "READ_RQST")}),
    Odd("ius-of-100-bytes", "5.2.1", port={"iu_size": 100}),
    Odd("ack-0", "FC-FS", port={"ack_0": True}),
    Odd("one-frame-of-credit", "FC-FS", port={"end_to_end_credit": 1}),
    Odd("connect-info", "5.9.4.4", port={"connect_info": True}),
    Odd("resp3-is-message-0", "F", port={"resp3_is_message_0": True}),
    Odd("responder-without-rx-id", "FC-FS", {k: no_rx_id for k in ("SEND_RESP", "WRITE_RESP", "READ_RESP")}),
]
