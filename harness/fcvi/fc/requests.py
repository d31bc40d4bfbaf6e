"""Finds which request a reply answers: an LS_ACC or CT_ACC does not say itself what it holds (FC-FS, FC-GS)."""

from __future__ import annotations

from collections import OrderedDict

from . import codec
from .codes import R_CTL, TYPE

_ELS, _CT = TYPE.ELS, TYPE.CT
_ELS_REQUEST, _ELS_REPLY = R_CTL.ELS_REQUEST, R_CTL.ELS_REPLY
_CT_REQUEST, _CT_REPLY = R_CTL.UNSOLICITED_CONTROL, R_CTL.SOLICITED_CONTROL
_CT_COMMAND = slice(8, 10)
_OPEN = 65535  # requests remembered at once: the oldest was never answered
_Exchange = tuple[int, int, int, int]


class Requests:
    """The requests of a capture that have not been answered."""

    def __init__(self) -> None:
        self._open: OrderedDict[_Exchange, int] = OrderedDict()

    def see(self, data: bytes) -> int:
        """Note one frame. Returns the command of the request that it answers, 0 when it answers none that was seen."""
        if len(data) < 24 or codec.get("FC", "TYPE", data) not in (_ELS, _CT):
            return 0
        d_id, s_id, ox_id, kind, r_ctl = (
            int(codec.get("FC", name, data)) for name in ("D_ID", "S_ID", "OX_ID", "TYPE", "R_CTL")
        )
        if (kind, r_ctl) in ((_ELS, _ELS_REQUEST), (_CT, _CT_REQUEST)):
            self._remember((s_id, d_id, ox_id, kind), data[24:])
        elif (kind, r_ctl) in ((_ELS, _ELS_REPLY), (_CT, _CT_REPLY)):
            # who has just been given an N_Port Identifier asked without one
            return self._open.pop((d_id, s_id, ox_id, kind), 0) or self._open.pop((0, s_id, ox_id, kind), 0)
        return 0

    def _remember(self, exchange: _Exchange, payload: bytes) -> None:
        command = payload[:1] if exchange[3] == _ELS else payload[_CT_COMMAND]
        self._open[exchange] = int.from_bytes(command, "big")
        self._open.move_to_end(exchange)
        if len(self._open) > _OPEN:
            self._open.popitem(last=False)
