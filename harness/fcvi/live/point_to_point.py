"""Point-to-point: two ends of one link, no switch, nothing to discover; both ends are told who they are."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from fcvi.engine.attachment import DutError
from fcvi.fc.build import RawFrame
from .role import Addressed, Role
from .wire import Arrived

_ID = slice(1, 4)  # D_ID in the frame header
_SOURCE_ID = slice(5, 8)


class PointToPoint(Role):
    """Addresses follow from the N_Port_IDs of each frame (FPMA), or are given."""

    def configure(self, me: Mapping[str, Any], peer: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        """Nothing depends on it."""

    def send(self, frame: RawFrame, now_us: int) -> None:
        to = self.options.peer_mac or self.mapped(int.from_bytes(frame.data[_ID], "big"))
        s_id = int.from_bytes(frame.data[_SOURCE_ID], "big")
        # who asks for an N_Port_ID has none that an address could be made of
        source = self.options.mac or (self.mapped(s_id) if s_id else self.address)
        self.out.append(Addressed(to, source, frame))

    def elsewhere(self, arrived: Arrived) -> None:
        """Nothing is discovered here: a device in another VLAN would seem to be silent."""
        if self.receive(arrived, 0) is not None and arrived.to[:3] == self.options.fc_map.to_bytes(3, "big"):
            there = f"in VLAN {arrived.vlan}: say vlan={arrived.vlan}" if arrived.vlan else "without a VLAN"
            raise DutError(f"{self.options.interface}: the device's frames come {there}, and ours go {self._where()}")

    def _where(self) -> str:
        return f"into VLAN {self.vlan}" if self.vlan else "without one"

    def receive(self, arrived: Arrived, now_us: int) -> Optional[RawFrame]:
        if self.options.peer_mac not in (None, arrived.source):
            return None
        if self.options.mac not in (None, arrived.to):
            return None
        return arrived.frame
