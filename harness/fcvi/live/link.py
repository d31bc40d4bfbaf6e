"""A live link: an interface and the role that is played on it, for the suite and for the reference endpoint alike."""

from __future__ import annotations

import select
import time
from typing import Any, Mapping, Optional

from fcvi.fc.build import RawFrame
from fcvi.engine.attachment import AttachError, DutError, Unavailable
from fcvi.dut.planes import monotonic_us
from fcvi.engine.pixit import Pixit
from . import fip, lldp
from .enode import ENode
from .fcf import Fcf
from .options import LiveOptions, parse
from .point_to_point import PointToPoint
from .role import Addressed, Role
from .vn2vn import Vn2Vn
from .wire import CannotCarry, Wire

_QUIET_S = 0.002  # no frame for so long: what was under way has arrived
_NO_CARRIER = "the interface has no link"  # as harness/capture/live.h has it
_CARRIER_S, _AGAIN_S = 5.0, 0.05
_HEADER = 14  # of an Ethernet frame
_MOST_DISCARDED = 20_000
_ROLES: dict[str, type[Role]] = {"point-to-point": PointToPoint, "vn2vn": Vn2Vn, "fabric": Fcf, "enode": ENode}


class Link:
    """Frames in and out of one interface."""

    def __init__(self, wire: Wire, options: LiveOptions) -> None:
        self._wire, self.options = wire, options
        self.role = _ROLES[options.role](options, wire.address)
        self._neighbour = ""  # what the other end says of itself by LLDP

    @classmethod
    def open(cls, spec: str, option: str) -> Link:
        """Open the interface of fcoe:IFACE[,...]; its carrier may be about to come. Raises AttachError."""
        options = parse(spec, option)
        deadline = time.monotonic() + _CARRIER_S
        while True:
            try:
                return cls(Wire(options.interface, f"{option} fcoe:{options.interface}"), options)
            except AttachError as error:
                if not str(error).endswith(_NO_CARRIER) or time.monotonic() >= deadline:
                    raise
            time.sleep(_AGAIN_S)

    def fileno(self) -> int:
        """Readable when frames may have arrived."""
        return self._wire.fileno()

    def configure(self, me: Mapping[str, Any], peer: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        """Be ``me``; see Role.configure."""
        self.role.configure(me, peer, config)
        self._flush()

    def settled(self, pixit: Pixit, told: bool) -> Pixit:
        """See Frames.settled. Raises DutError when nothing comes of it."""
        if self.role.seek(pixit, told):
            self._flush()
            self.bring_up()
        return self.role.found(pixit)

    def joined(self, n_port_id: int, port_name: int, node_name: int) -> bool:
        """See Frames.joined."""
        joined = self.role.joined(n_port_id, port_name, node_name)
        self.run()
        return joined

    def bring_up(self) -> None:
        """Wait until frames can cross the link, at most as long as the options say. Raises DutError."""
        self._wire.forget()
        self._wire.check()
        self.role.between = True
        deadline = monotonic_us() + int(self.options.wait_s * 1_000_000)
        while waits := self.role.waits_for():
            now = monotonic_us()
            if now >= deadline:
                also = f"; {self._neighbour}" if self._neighbour else ""
                raise DutError(f"{self._wire.interface}: no {waits} within {self.options.wait_s:g} s{also}")
            self.run()  # what follows from the configuration may be due later
            due = self.role.deadline_us()
            until = deadline if due is None else min(deadline, max(due, now))
            select.select([self.fileno()], [], [], (until - now) / 1_000_000)
            self.receive()
            self.run()

    def discard(self) -> None:
        """Forget what has arrived, and what is still under way."""
        seen = 0
        while select.select([self.fileno()], [], [], _QUIET_S)[0]:
            arrived = len(self.receive())
            seen += max(1, arrived)
            if seen > _MOST_DISCARDED:
                raise DutError("the device floods: its frames do not end between two cases")
        self._wire.lost()
        self.role.between = False

    def send(self, frame: RawFrame) -> None:
        """Send a frame. Raises DutError and Unavailable."""
        self.role.send(frame, monotonic_us())
        self._flush()

    def _flush(self) -> None:
        out, self.role.out = self.role.out, []
        for item in out:
            if not isinstance(item, Addressed):
                self._wire.send_raw(item, 0 if fip.finds_vlans(item[_HEADER:]) else self.role.vlan)
                continue
            try:
                self._wire.send(item.to, item.source, item.frame, self.role.vlan)
            except CannotCarry as error:
                raise Unavailable(f"the interface cannot carry what the case sends: {error}") from error

    def receive(self) -> list[tuple[int, RawFrame]]:
        """The frames for us that have arrived, with their times."""
        frames = []
        for arrived in self._wire.receive():
            if arrived.lldp:
                self._neighbour = lldp.told(arrived.lldp) or self._neighbour
                continue
            if arrived.vlan != self.role.vlan and (arrived.vlan or not fip.finds_vlans(arrived.fip)):
                if self.options.tester:
                    self.role.elsewhere(arrived)
                continue
            if arrived.problem:
                continue
            frame = self.role.receive(arrived, monotonic_us())
            if frame is not None:
                frames.append((arrived.time_us, frame))
        self._flush()
        back, self.role.back = self.role.back, []
        return frames + [(monotonic_us(), frame) for frame in back]

    def check(self) -> None:
        """Raises DutError when the interface is down."""
        self._wire.check()

    def lost(self) -> int:
        """Frames that the host lost since this was last asked."""
        return self._wire.lost()

    def deadline_us(self) -> Optional[int]:
        """When ``run`` has something to do."""
        return self.role.deadline_us()

    def run(self) -> None:
        """Do what is due."""
        self.role.run(monotonic_us())
        self._flush()

    def close(self) -> None:
        """Close the interface."""
        self._wire.close()
