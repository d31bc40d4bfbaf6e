"""Frames that overtake each other: SEQ_CNT (5.4, 5.6.5) and VI_MSG_ID (5.7.5) tell the order in which they were sent.

A port may call what comes in another order an error, or wait for what is missing; that it waits for some time is FC-PH's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

from ..message import WRAP
from ..wire import END, FIRST, LAST, RESPONDER, Frame
from .wire import MESSAGE_RQST, Iu

if TYPE_CHECKING:
    from .port import Rev1Port

_PATIENCE_US = 2_000_000
Key = Tuple[int, int, int]


@dataclass(eq=False)
class Held:
    """A frame that came before its turn."""

    frame: Frame
    iu: Iu
    payload: bytes

    @property
    def key(self) -> Key:
        """The Exchange, and which side of it speaks."""
        return self.frame.s_id, self.frame.ox_id, self.frame.f_ctl & RESPONDER


class Sorter:
    """What has come before its turn."""

    def __init__(self, port: "Rev1Port") -> None:
        self.port = port
        self.due: Dict[Key, int] = {}  # the next SEQ_CNT of an Exchange of which something has come
        self.held: List[Held] = []

    def take(self, frame: Frame, iu: Iu, payload: bytes) -> None:
        """A frame has arrived."""
        now = Held(frame, iu, payload)
        if frame.sof is None or not (self.port.choose("overtaking") == "sorted" or self.port.bad("held-message-first")):
            self.port.in_turn(frame, iu, payload)
            return
        if self._new(now):
            self.due.pop(now.key, None)
        if not self._is_due(now):
            self.held.append(now)
            self.port.clock.after(_PATIENCE_US, lambda: self._give_up(now))
            return
        if self.port.bad("held-message-first"):
            self._others_first(now)
        self._pass_on(now)
        self._go_on()

    def _others_first(self, now: Held) -> None:
        """Messages that waited for this one, for a fault."""
        for one in [one for one in self.held if one.iu.handle == now.iu.handle and one.iu.msg_id != now.iu.msg_id]:
            self.held.remove(one)
            self._pass_on(one)

    def _go_on(self) -> None:
        while True:
            found = next((one for one in self.held if self._is_due(one)), None)
            if found is None:
                return
            self.held.remove(found)
            self._pass_on(found)

    def _give_up(self, now: Held) -> None:
        """What was missing does not come."""
        if now in self.held:
            first = min((one for one in self.held if one.key == now.key), key=lambda one: one.frame.seq_cnt)
            self.held.remove(first)
            self._pass_on(first)
            self._give_up(now)
            self._go_on()

    def _pass_on(self, now: Held) -> None:
        frame = now.frame
        self.due[now.key] = frame.seq_cnt + 1 & 0xFFFF
        if frame.f_ctl & END and frame.f_ctl & LAST:
            self.due.pop(now.key)
        self.port.in_turn(frame, now.iu, now.payload)

    @staticmethod
    def _begins(frame: Frame) -> bool:
        return (frame.sof or "").startswith("i")

    def _new(self, now: Held) -> bool:
        """It begins an Exchange of the other side."""
        return self._begins(now.frame) and not now.frame.seq_cnt and bool(now.frame.f_ctl & FIRST) and not now.key[2]

    def _is_due(self, now: Held) -> bool:
        if not self._message_is_due(now):
            return False
        due, frame = self.due.get(now.key, 0), now.frame
        if not self._begins(frame):
            return now.key in self.due and frame.seq_cnt == due
        exchange: Any = self.port.mine.get(frame.ox_id) if now.key[2] else self.port.theirs.get((frame.s_id, frame.ox_id))
        return frame.seq_cnt in (due, due + exchange.tx_frames if exchange else due)  # the other side may count both (R06)

    def _message_is_due(self, now: Held) -> bool:
        vi = self.port.vi_of(now.iu.handle) if now.iu.opcode in MESSAGE_RQST else None
        if vi is None or vi.state != "connected":
            return True
        if vi.incoming is not None and vi.incoming.msg_id != now.iu.msg_id:
            return False
        begun = vi.incoming is not None
        ahead = 0 if begun else (now.iu.msg_id - vi.expected) % WRAP
        return not 0 < ahead < WRAP // 2
