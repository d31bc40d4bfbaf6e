"""Fabric logins travel in FIP, everything else as FCoE: which is which, and how the reply finds its way back."""

from __future__ import annotations

from typing import Optional

from fcvi.fc.build import EOF_T, SOF, RawFrame
from fcvi.fc.codes import ELS, R_CTL
from . import fip

_R_CTL_REQUEST, _R_CTL_REPLY = R_CTL.ELS_REQUEST, R_CTL.ELS_REPLY
_FLOGI, _LS_ACC = ELS.FLOGI, ELS.LS_ACC
_OX_ID, _ID, _COMMAND = slice(16, 18), slice(1, 4), 24
_MOST_OPEN = 256


class FipLogin:
    """The FLOGI Exchanges of one link."""

    def __init__(self) -> None:
        #: FLOGI that came by FIP and waits for its reply: OX_ID to the Ethernet address that asked.
        self._open: dict[bytes, bytes] = {}

    @staticmethod
    def is_request(frame: RawFrame) -> bool:
        """Whether this is a FLOGI."""
        return len(frame.data) > _COMMAND and frame.data[0] == _R_CTL_REQUEST and frame.data[_COMMAND] == _FLOGI

    def asker(self, frame: RawFrame) -> Optional[bytes]:
        """Whom a reply to a FLOGI goes to; None when the frame is no such reply."""
        if len(frame.data) <= _COMMAND or frame.data[0] != _R_CTL_REPLY:
            return None
        return self._open.pop(frame.data[_OX_ID], None)

    def is_reply(self, frame: RawFrame) -> bool:
        """Whether this answers a FLOGI that came by FIP."""
        return len(frame.data) > _COMMAND and frame.data[0] == _R_CTL_REPLY and frame.data[_OX_ID] in self._open

    def came(self, message: fip.Message, source: bytes) -> Optional[RawFrame]:
        """The FC-2 frame of an ELS that came by FIP."""
        data = message.els()
        if data is None or data[0] not in (_R_CTL_REQUEST, _R_CTL_REPLY):
            return None
        if message.what == fip.ELS_REQUEST:
            if len(self._open) >= _MOST_OPEN:
                self._open.clear()
            self._open[data[_OX_ID]] = source
        return RawFrame(data, SOF[3][0], EOF_T)


def accepted_id(frame: RawFrame) -> Optional[int]:
    """The N_Port_ID that an LS_ACC assigns; None for an LS_RJT."""
    if len(frame.data) <= _COMMAND or frame.data[_COMMAND] != _LS_ACC:
        return None
    return int.from_bytes(frame.data[_ID], "big")
