"""Class 2: ACK_1 for each Data frame (5.4; FC-PH)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..wire import END, FIRST, INITIATIVE, LAST, RESPONDER, TYPE_FCVI, Frame
from .wire import PREF, split_device_header

if TYPE_CHECKING:
    from .port import Rev1Port

ACK_1, P_RJT, SEQUENCE_RECIPIENT, LINK_CONTROL = 0xC0, 0xC2, 1 << 22, 0xC0
INVALID_DF_CTL = 0x02_0E_00_00  # not retryable, and the reason (FC-PH)
COPIED = FIRST | LAST | END | INITIATIVE


def acknowledge(port: "Rev1Port", frame: Frame) -> bool:
    """ACK_1; whether the frame is one to be looked at further."""
    if frame.r_ctl & 0xF0 == LINK_CONTROL:
        return False
    f_ctl = (~frame.f_ctl & RESPONDER) | SEQUENCE_RECIPIENT | frame.f_ctl & COPIED
    readable = port.choose("unreadable") == "discard" or _readable(frame)
    exchange = port.theirs.get((frame.s_id, frame.ox_id))
    rx_id = exchange.rx_id if exchange and not frame.f_ctl & RESPONDER else frame.rx_id
    ack = Frame(ACK_1 if readable else P_RJT, frame.s_id, port.n_port_id, 0, f_ctl, frame.seq_id, frame.seq_cnt, frame.ox_id, rx_id,
                param=1 if readable else INVALID_DF_CTL,
                cs_ctl=port.link_cs_ctl(frame.cs_ctl & PREF), sof="n2", eof="t" if frame.f_ctl & END else "n")
    port.emit(ack)
    return readable


def _readable(frame: Frame) -> bool:
    try:
        return frame.type != TYPE_FCVI or bool(split_device_header(frame))
    except ValueError:
        return False
