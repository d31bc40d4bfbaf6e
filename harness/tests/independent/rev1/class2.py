"""Class 2: ACK_1 for each Data frame (5.4; FC-PH)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Dict, List

from ..wire import END, FIRST, INITIATIVE, LAST, RESPONDER, TYPE_FCVI, Frame
from .exchange import Exchange
from .wire import PREF, split_device_header

if TYPE_CHECKING:
    from .port import Rev1Port

ACK_1, ACK_0, P_RJT, SEQUENCE_RECIPIENT, LINK_CONTROL = 0xC0, 0xC1, 0xC2, 1 << 22, 0xC0
_MOST = 250  # Sequences that are open
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


class OpenSequences:
    """SEQ_IDs of Messages and setups whose last ACK is due: none is used again, and IUs beyond them wait (4.1, 5.4).

    Some SEQ_IDs are left for management (4.1).
    """

    def __init__(self) -> None:
        self._open: Dict[int, Exchange] = {}
        self._held: List[Callable[[], None]] = []

    def holds(self, send: Callable[[], None]) -> bool:
        """Whether there is no SEQ_ID for an IU: then `send` is called when there is."""
        if len(self._open) < _MOST and not self._held:
            return False
        self._held.append(send)
        return True

    def free(self, proposed: Callable[[], int]) -> int:
        """The first that is proposed and not open."""
        found = next((one for one in (proposed() for _ in range(256)) if one not in self._open), None)
        return next(one for one in range(256) if one not in self._open) if found is None else found

    def opens(self, exchange: Exchange) -> None:
        """A Sequence of the Exchange is on its way."""
        self._open[exchange.seq_id] = exchange

    def heard(self, frame: Frame) -> None:
        """An ACK, which ends a Sequence where it is that of the last frame."""
        if frame.r_ctl in (ACK_1, ACK_0) and frame.f_ctl & END:
            self._open.pop(frame.seq_id, None)
            self._go_on()

    def forget(self, exchange: Exchange) -> None:
        """The Exchange is aborted."""
        self._open = {seq_id: other for seq_id, other in self._open.items() if other is not exchange}
        self._go_on()

    def _go_on(self) -> None:
        while self._held and len(self._open) < _MOST:
            held, self._held = self._held, []
            held.pop(0)()
            self._held = held + self._held
