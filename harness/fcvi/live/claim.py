"""Brings one VN2VN port to its N_Port_ID: it probes, claims, and keeps its claim by beacons (FC-BB, times as Linux has them)."""

from __future__ import annotations

from typing import Optional

from . import fip

_PROBE_US, _CLAIM_US, _BEACON_US = 100_000, 400_000, 8_000_000
_PROBES = 2


class Claim:
    """One port of ours and how far it is. Times are microseconds of the clock that ``go_on`` is given."""

    def __init__(self, port_name: int, node_name: int, n_port_id: int) -> None:
        self.port_name, self.node_name, self.n_port_id = port_name, node_name, n_port_id
        self.step = "idle"  # then "probe", "claim", "up"
        self.lost = False  # another port has the N_Port_ID
        self.due_us: Optional[int] = None
        self._probes = 0

    @property
    def identity(self) -> tuple[int, int, int]:
        """Port_Name, Node_Name and N_Port_ID."""
        return self.port_name, self.node_name, self.n_port_id

    @property
    def claimed(self) -> bool:
        """Whether the other ports have been told whose the N_Port_ID is."""
        return self.step in ("claim", "up")

    def begin(self) -> None:
        """Probe for the N_Port_ID, at once."""
        self.step, self.lost, self.due_us, self._probes = "probe", False, 0, 0

    def give_up(self) -> None:
        """Leave the N_Port_ID to another port."""
        self.step, self.lost, self.due_us = "idle", True, None

    def go_on(self, now_us: int) -> tuple[int, int]:
        """What is to be sent now: a probe, a claim or a beacon."""
        if self.step == "probe" and self._probes < _PROBES:
            self._probes += 1
            self.due_us = now_us + (_PROBE_US if self._probes < _PROBES else _CLAIM_US)
            return fip.PROBE
        if self.step == "probe":
            self.step, self.due_us = "claim", now_us + _CLAIM_US
            return fip.CLAIM
        self.step, self.due_us = "up", now_us + _BEACON_US
        return fip.BEACON
