"""Login and logout, with the FARP ELSs of 7.4."""

from __future__ import annotations

from typing import Any

from ..els import FARP_REQ, LS_ACC, LS_RJT, Login
from ..wire import ELS_RQST, Frame

FARP_REPLY = 0x55


class Rev1Login(Login):
    """N_Port login with the peer; the draft sets no condition on its parameters."""

    port: Any

    def _note(self, data: bytes) -> bool:
        good = super()._note(data)
        self.serves = True
        return good

    def _parameters(self, command: int) -> bytes:
        data = bytearray(super()._parameters(command))
        if self.port.in_class == 2:
            data[52:68] = data[68:84]
            data[52:54] = b"\x88\x00"
        tolerates = self.port.choose.yes("cs_ctl_tolerance")
        for start in (52, 68):  # Annex A.3: bit 22 of word 0 of class 2 and class 3
            data[start + 1] |= 0x40 if tolerates and data[start] & 0x80 else 0
        return bytes(data)

    def receive(self, frame: Frame) -> None:
        """An extended link service."""
        resolver = self.port.resolver
        if frame.data[:1] == bytes([FARP_REQ]) and frame.r_ctl == ELS_RQST:
            resolver.asked(frame)
        elif frame.d_id != self.port.n_port_id:
            return
        elif frame.data[:1] == bytes([FARP_REPLY]) and frame.r_ctl == ELS_RQST:
            good = resolver.is_reply(frame)
            self._reply(frame, bytes([LS_ACC, 0, 0, 0]) if good else bytes([LS_RJT, 0, 0, 0, 0, 0x03, 0, 0]))
            resolver.answered(frame)
        else:
            super().receive(frame)
