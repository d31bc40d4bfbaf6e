"""One Exchange: 5.4, 5.6.5 and 5.6.6."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Optional

from ..port import SequenceError
from ..wire import END, INITIATIVE, LAST, RO_PRESENT, Frame
from .wire import ONE_FRAME, Iu


@dataclass
class Assembly:
    """The Sequence that is being received."""

    seq_id: int
    seq_cnt: int
    iu: Iu


def _compared(iu: Iu) -> bytes:
    """What has to be the same in every frame of an IU (6.1): all but VI_RSVD, which a receiver ignores (5.7.3)."""
    return replace(iu, reserved=0).device_header()


class Exchange:
    """One Exchange seen from this port; each side counts its own frames, or both go on from each other (R06)."""

    def __init__(self, peer: int, ox_id: int, mine: bool, rx_id: int = 0xFFFF) -> None:
        self.peer, self.ox_id, self.mine, self.rx_id = peer, ox_id, mine, rx_id
        self.tx_frames = self.rx_frames = 0
        self.tx_cnt = self.tx_offset = self.rx_offset = 0
        self.sequences = self.seq_id = self.rx_seq_id = 0
        self.cs_ctl = 0
        # mistakes: frames in whatever order are taken, IUs in whatever order, or all is over with the last frame
        self.careless = self.any_iu = self.ends_early = False
        self.assembly: Optional[Assembly] = None
        self.on_iu: Callable[[Iu], None] = lambda iu: None
        self.on_error: Callable[[], None] = lambda: None
        self.on_abts: Callable[[], None] = lambda: None

    @property
    def rx_cnt(self) -> int:
        """Frames that have arrived."""
        return self.rx_frames

    def take(self, frame: Frame, iu: Iu, payload: bytes) -> Optional[Iu]:
        """One frame; the IU when it is the last of its Sequence."""
        if self.ends_early:
            return self._placed(frame, iu, payload)
        begins = self.assembly is None if frame.sof is None or self.careless else frame.sof.startswith("i")
        if begins:
            self._begin(frame, iu)
        held = self.assembly
        if held is not None and self.careless:
            frame.seq_cnt = held.seq_cnt
        if held is None or frame.seq_id != held.seq_id or frame.seq_cnt != held.seq_cnt:
            raise SequenceError("the frame continues nothing")
        if not begins and (_compared(iu) != _compared(held.iu) or held.iu.opcode in ONE_FRAME[:3]):
            raise SequenceError("the Device_Header is another within one IU")
        self._locate(frame, held.iu, payload)
        held.iu.payload += payload
        held.seq_cnt = held.seq_cnt + 1 & 0xFFFF
        self.rx_frames += 1
        self.rx_seq_id = frame.seq_id
        if not frame.f_ctl & END:
            return None
        self.assembly = None
        self.rx_offset += len(held.iu.payload)
        held.iu.last, held.iu.initiative = bool(frame.f_ctl & LAST), bool(frame.f_ctl & INITIATIVE)
        return held.iu

    def _placed(self, frame: Frame, iu: Iu, payload: bytes) -> Optional[Iu]:
        """A frame by its RLTV_OFF alone, whatever is missing, for a fault."""
        if self.assembly is None:
            iu.payload, iu.offset = b"", 0
            self.assembly = Assembly(frame.seq_id, frame.seq_cnt, iu)
        whole, end = self.assembly.iu, frame.param + len(payload)
        data = whole.payload.ljust(end, b"\0")
        whole.payload = data[:frame.param] + payload + data[end:]
        self.rx_frames += 1
        if not frame.f_ctl & END or not frame.f_ctl & (LAST | INITIATIVE):
            return None
        self.assembly = None
        whole.last, whole.initiative = bool(frame.f_ctl & LAST), bool(frame.f_ctl & INITIATIVE)
        return whole

    def _begin(self, frame: Frame, iu: Iu) -> None:
        if self.assembly:
            raise SequenceError("a Sequence begins inside another")
        own, shared = self.rx_frames & 0xFFFF, self.rx_frames + self.tx_frames & 0xFFFF
        if frame.seq_cnt not in (own, shared) and not (self.careless or self.any_iu):
            raise SequenceError(f"SEQ_CNT {frame.seq_cnt} where {own} is due")
        iu.payload = b""
        iu.offset = frame.param if frame.param in (0, self.rx_offset) or self.any_iu else self.rx_offset
        self.assembly = Assembly(frame.seq_id, frame.seq_cnt, iu)

    def _locate(self, frame: Frame, iu: Iu, payload: bytes) -> None:
        """RLTV_OFF goes on over the IUs of a Message, or begins at 0 in each (R02); R22 for Relative Offset Present."""
        due = iu.offset + len(iu.payload)
        unsaid = not frame.f_ctl & RO_PRESENT and not frame.param
        if payload and frame.param != due and not unsaid and not self.careless:
            raise SequenceError(f"RLTV_OFF {frame.param} where {due} is due")
