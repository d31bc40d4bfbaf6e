"""Point-to-point: two ends of one link, no switch, nothing to discover; both ends are told who they are.

The suite hears the device alone. That is whoever sends from the address to which the suite sends: ``peer-mac``, or the one
that FC-MAP and the device's N_Port_ID make, whatever S_ID its frames have. A port that asks for its N_Port_ID has no such
address yet: where its login has the device's Port_Name, that address is the device's as well.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

from fcvi.engine.attachment import DutError
from fcvi.fc import codec, els
from fcvi.fc.build import RawFrame
from .options import LiveOptions
from .role import Addressed, Role
from .wire import Arrived

_ID = slice(1, 4)  # D_ID in the frame header
_SOURCE_ID = slice(5, 8)
_LOGIN = 28 + 112  # bytes of a login


class PointToPoint(Role):
    """Addresses follow from the N_Port_IDs of each frame (FPMA), or are given."""

    def __init__(self, options: LiveOptions, address: bytes) -> None:
        super().__init__(options, address)
        self._me = self._peer = 0  # N_Port_IDs
        self._peer_name = 0
        self._also: Optional[bytes] = None  # another address from which the device has logged in
        self._heard = False  # whether the device has spoken from the address that is expected

    def configure(self, me: Mapping[str, Any], peer: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        self._me, self._peer, name = int(me["n_port_id"], 16), int(peer["n_port_id"], 16), int(peer["port_name"], 16)
        if name != self._peer_name:
            self._peer_name, self._also = name, None

    def send(self, frame: RawFrame, now_us: int) -> None:
        to = self.options.peer_mac or self.mapped(int.from_bytes(frame.data[_ID], "big"))
        s_id = int.from_bytes(frame.data[_SOURCE_ID], "big")
        if not self.options.tester:
            s_id = self._me  # a device has one address, whatever S_ID it takes for its own
        # who asks for an N_Port_ID has none that an address could be made of
        source = self.options.mac or (self.mapped(s_id) if s_id else self.address)
        self.out.append(Addressed(to, source, frame))

    def elsewhere(self, arrived: Arrived) -> None:
        """Nothing is discovered here: a device in another VLAN would seem to be silent."""
        if arrived.frame is not None and self._is_the_device(arrived) and arrived.to[:3] == self.options.fc_map.to_bytes(3, "big"):
            there = f"in VLAN {arrived.vlan}: say vlan={arrived.vlan}" if arrived.vlan else "without a VLAN"
            raise DutError(f"{self.options.interface}: the device's frames come {there}, and ours go {self._where()}")

    def _where(self) -> str:
        return f"into VLAN {self.vlan}" if self.vlan else "without one"

    def receive(self, arrived: Arrived, now_us: int) -> Optional[RawFrame]:
        if arrived.frame is None or self.options.mac not in (None, arrived.to):
            return None
        if self.options.tester and not self._is_the_device(arrived):
            s_id = int.from_bytes(arrived.frame.data[_SOURCE_ID], "big")
            self.stranger(arrived, as_device=s_id == self._peer and not self.options.peer_mac, device_heard=self._heard)
            return None
        self._heard = True
        return arrived.frame

    def _is_the_device(self, arrived: Arrived) -> bool:
        expected = self.options.peer_mac or self.mapped(self._peer)
        if arrived.source in (expected, self._also):
            return True
        if self.options.peer_mac is None and self._also is None and self._logs_in(arrived.frame):
            self._also = arrived.source
            return True
        return False

    def _logs_in(self, frame: Optional[RawFrame]) -> bool:
        """Whether this is a login with the device's Port_Name."""
        if frame is None or len(frame.data) < _LOGIN or frame.data[24] not in (els.FLOGI, els.PLOGI):
            return False
        return codec.get("LOGIN", "Port_Name", frame.data[28:]) == self._peer_name
