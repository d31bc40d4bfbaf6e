"""Follows which timers of the device run, as far as the frames tell: FCVI_ULP_TIMEOUT, T2 and T3 (8.3, C.1), E_D_TOV (FC-FS)."""

from __future__ import annotations

from typing import Any, Mapping

from fcvi.engine.own_part import OwnPart
from . import codec, els
from .received import kind_of

_RESP1, _RESP2, _RESP3 = ("CONNECT_RESP1", "CONNECT_RESP2", "CONNECT_RESP3")
_ABORTS = ("ABTS", "DISCONNECT_RQST")


class DeviceTimers:
    """Tells the frames of both sides to what measures the suite's own part."""

    def __init__(self, own: OwnPart, config: Mapping[str, Any]) -> None:
        self._own = own
        self._r_a_tov_us, self._e_d_tov_us = int(config["r_a_tov_us"]), int(config["e_d_tov_us"])

    def came(self, view: codec.Frame, key: tuple[str, int], at_us: int, class2: bool) -> None:
        """The device has sent this. key: the originator of the Exchange and its OX_ID."""
        kind = kind_of(view)
        self._either(kind, key, at_us)
        if view.kind == "link_control":
            return
        if class2:
            self._own.runs(("acknowledged", key), at_us, self._e_d_tov_us, f"the acknowledgement of {kind}")
        asks = kind.endswith("_RQST") or kind in (_RESP1, _RESP2, "ABTS") or (view.kind == "els" and els.is_request(view))
        if asks:
            self._own.runs(("answered", key), at_us, self._r_a_tov_us, f"the answer to {kind}")
        if kind == _RESP1:
            self._own.runs(("T2", key), at_us, 2 * self._r_a_tov_us, f"{_RESP2} after {kind}")

    def sent(self, view: codec.Frame, exchange_of: tuple[str, int], now_us: int) -> None:
        """The tester's frame is on its way to the device."""
        kind, own = kind_of(view), self._own
        own.ends(("acknowledged", exchange_of), now_us)
        if view.kind == "link_control":
            return
        own.ends(("answered", exchange_of), now_us)
        if kind == _RESP2:
            own.ends(("T2", exchange_of), now_us)
        if not view.header("End_Sequence"):
            own.runs(("sequence", exchange_of), now_us, self._e_d_tov_us, f"the next frame of {kind}")
        else:
            own.ends(("sequence", exchange_of), now_us)
        self._either(kind, exchange_of, now_us)

    def _either(self, kind: str, key: tuple[str, int], at_us: int) -> None:
        if kind == "CONNECT_RQST":
            self._own.runs(("setup", key), at_us, self._r_a_tov_us, "the Connection Setup")
        elif kind in (_RESP3, "ABTS"):
            self._own.ends(("setup", key), at_us)
        if kind in _ABORTS:  # frames of what was aborted are discarded for R_A_TOV (8.5)
            self._own.runs(("discarded", key), at_us, self._r_a_tov_us, f"what follows {kind}")
