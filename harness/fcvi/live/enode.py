"""ENode: we are an N_Port that reaches its Fabric through an FCF, found and logged into by FIP (FC-BB).

The suite's own N_Port then registers with the Name Server and asks it for the device. A device does as it likes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional

from fcvi.fc import els
from fcvi.fc.build import Envelope, RawFrame
from fcvi.engine.attachment import DutError, Unavailable
from . import fip
from .directory import Registrar
from .fip_login import FipLogin, accepted_id
from .npiv import FurtherPorts
from .options import LiveOptions
from .role import Addressed, Role
from .wire import Arrived

_RETRY_US = 1_000_000  # of a solicitation or a login without answer
_SOLICITATIONS = 2  # without an FCF in this VLAN, before those are tried that VLAN discovery has named
_MOST_VLANS = 64  # that are tried
_VN_PORT_US = 90_000_000  # keep-alives of the VN_Port
_OUR_OX_ID = 0xFF00
_LONGEST_DATA = 2112
_SHORTEST_PERIOD_MS, _LONGEST_PERIOD_MS = 250, 90_000
_TOPOLOGIES = ("fabric", "point-to-point")  # the latter is what a case has that does not mind
_ANOTHERS = "behind an FCF the suite cannot play the Fabric, as this case does: run it with role=fabric"


@dataclass
class Forwarder:
    """The FCF that was chosen."""

    address: bytes
    priority: int
    period_us: int  # of keep-alives, 0: it wants none
    heard_us: int


class ENode(Role):
    """One N_Port behind an FCF."""

    def __init__(self, options: LiveOptions, address: bytes) -> None:
        super().__init__(options, options.mac or address)
        self._me: Mapping[str, Any] = {}
        self._forwarder: Optional[Forwarder] = None
        self._address: Optional[bytes] = None  # of the VN_Port, once it is logged in
        self._n_port_id = 0
        self._due: Optional[int] = None
        self._vn_port_us = 0
        self._peer: Mapping[str, Any] = {}
        self._registrar: Optional[Registrar] = None
        self._vlans: list[int] = []  # that were named
        self._solicited = 0  # times, in the VLAN in which we are
        self._further = FurtherPorts()

    def configure(self, me: Mapping[str, Any], peer: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        if config["topology"] == "fabric" and self.options.tester:
            raise Unavailable(_ANOTHERS)
        if config["topology"] not in _TOPOLOGIES:
            raise Unavailable(f"behind an FCF there is a Fabric, no {config['topology']}")
        self._peer = peer
        for message in self._further.leave():
            self._tell(self.address, message)
        names = ("port_name", "node_name", "n_port_id")
        if {n: me[n] for n in names} != {n: self._me.get(n) for n in names}:
            self._me, self._address, self._due = me, None, 0

    def joined(self, n_port_id: int, port_name: int, node_name: int) -> bool:
        """See Frames.joined: the Fabric delivers no frame to an N_Port that it does not know."""
        if n_port_id >= els.WELL_KNOWN:
            raise Unavailable(_ANOTHERS)
        return self._further.joined(n_port_id, port_name, node_name)

    def link_event(self, event: str) -> None:
        """The device's link ends at its switch, and so does what it sends there when the link comes back (FLOGI)."""
        if event != "logo":
            raise Unavailable(_ANOTHERS)

    def _tell(self, source: bytes, message: fip.Message) -> None:
        if self._forwarder is not None:
            self.out.append(fip.encode(self._forwarder.address, source, message))

    def waits_for(self) -> str:
        if self._forwarder is None:
            named = ", ".join(str(vlan) for vlan in self._vlans if vlan)
            also = f" (looked for in VLAN {named} as well, which VLAN discovery names)" if named else ""
            return f"advertisement of an FCF{also}"
        if self._address is None:
            return "answer to the fabric login"
        if self._n_port_id != int(self._me["n_port_id"], 16):
            raise DutError(f"the Fabric assigned the N_Port_ID {self._n_port_id:06X}h: set it in [pixit] of --pics")
        return self._directory_says()

    def _directory_says(self) -> str:
        if self._registrar is None:
            return ""
        if not self._registrar.done:
            return "answer of the Name Server"
        found, name = self._registrar.found, self._peer["port_name"]
        if found not in (None, int(self._peer["n_port_id"], 16)):
            raise DutError(f"the Name Server has Port_Name {name} at N_Port_ID {found:06X}h: set it in [pixit] of --pics")
        return ""

    # ---- time ----

    def deadline_us(self) -> Optional[int]:
        asks = self._registrar.deadline_us() if self._registrar is not None else None
        return min((t for t in (self._due, asks, self._further.deadline_us()) if t is not None), default=None)

    def run(self, now_us: int) -> None:
        if self._address is not None:
            for source, message in self._further.run(self.address, now_us):
                self._tell(source, message)
        if self._registrar is not None and self._forwarder is not None and self._address is not None:
            frame = self._registrar.run(now_us)
            if frame is not None:
                self.out.append(Addressed(self._forwarder.address, self._address, frame))
        if self._due is None or now_us < self._due:
            return
        forwarder = self._forwarder
        if forwarder is not None and forwarder.period_us and now_us - forwarder.heard_us > forwarder.period_us * 5 // 2:
            self._forwarder = forwarder = self._address = None
        if forwarder is None:
            self._solicit()
            self._due = now_us + _RETRY_US
        elif self._address is None:
            self._log_in(forwarder)
            self._due = now_us + _RETRY_US
        else:
            self._keep_alive(forwarder, now_us)
            self._due = now_us + forwarder.period_us if forwarder.period_us else None

    def _next_vlan(self) -> None:
        """FC-BB: an FCF is in one of the VLANs that discovery names, which need not be the one that has no tag."""
        others = [vlan for vlan in self._vlans if vlan != self.vlan]
        if self._solicited < _SOLICITATIONS or not others or self.options.vlan:
            return
        later = [vlan for vlan in others if vlan > self.vlan]
        self.vlan, self._solicited = (later or others)[0], 0

    def _solicit(self) -> None:
        self._next_vlan()
        self._solicited += 1
        request = fip.Message(fip.VLAN_REQUEST, fip.FPMA, (fip.mac(self.address),))
        self.out.append(fip.encode(fip.ALL_FCFS, self.address, request))
        parts = (fip.mac(self.address), fip.name(int(self._me["node_name"], 16)), fip.size())
        self.out.append(fip.encode(fip.ALL_FCFS, self.address, fip.Message(fip.SOLICITATION, fip.FPMA, parts)))

    def _log_in(self, forwarder: Forwarder) -> None:
        envelope = Envelope(d_id=els.F_PORT, s_id=0, ox_id=_OUR_OX_ID)
        self._ask(forwarder, els.request(envelope, els.FLOGI, els.service_parameters(self._me, _LONGEST_DATA, {})))

    def _ask(self, forwarder: Forwarder, frame: RawFrame) -> None:
        message = fip.Message(fip.ELS_REQUEST, fip.FPMA, (fip.els(fip.FLOGI, frame.data), fip.mac(bytes(6))))
        self.out.append(fip.encode(forwarder.address, self.address, message))

    def _keep_alive(self, forwarder: Forwarder, now_us: int) -> None:
        alive = fip.Message(fip.KEEP_ALIVE, fip.FPMA, (fip.mac(self.address),))
        self.out.append(fip.encode(forwarder.address, self.address, alive))
        if self._address is not None and now_us >= self._vn_port_us:
            self._vn_port_us = now_us + _VN_PORT_US
            vn = fip.vn_id(self._address, self._n_port_id, int(self._me["port_name"], 16))
            alive = fip.Message(fip.KEEP_ALIVE, fip.FPMA, (fip.mac(self.address), vn))
            self.out.append(fip.encode(forwarder.address, self._address, alive))

    # ---- frames ----

    def send(self, frame: RawFrame, now_us: int) -> None:
        if self._forwarder is None:
            return  # no link: the frame is lost, as on any link that is down
        if FipLogin.is_request(frame):
            if self.options.tester:
                raise Unavailable(_ANOTHERS)
            self._ask(self._forwarder, frame)
        elif self._address is not None:
            self.out.append(Addressed(self._forwarder.address, self._source(frame) or self._address, frame))

    def _source(self, frame: RawFrame) -> Optional[bytes]:
        """The Ethernet address of the N_Port that sends this. A Fabric delivers what comes from nobody else, and to one port."""
        d_id, s_id = int.from_bytes(frame.data[1:4], "big"), int.from_bytes(frame.data[5:8], "big")
        source = self._address if s_id == self._n_port_id else self._further.address(s_id)
        if self.options.tester and (source is None or d_id == els.BROADCAST):
            raise Unavailable(_ANOTHERS)
        return source

    def receive(self, arrived: Arrived, now_us: int) -> Optional[RawFrame]:
        if arrived.frame is not None:
            ours = self._address is not None and (arrived.to == self._address or self._further.has(arrived.to))
            if ours and (self._forwarder is None or arrived.source != self._forwarder.address):
                self.stranger(arrived)  # whoever is behind an FCF speaks through it (FC-BB)
                return None
            if ours and self._registrar is not None and self._registrar.take(arrived.frame):
                return None
            return arrived.frame if ours else None
        message = fip.decode(arrived.fip)
        if message is None or arrived.to not in (self.address, fip.ALL_ENODES, self._address):
            return None
        if message.what == fip.ADVERTISEMENT:
            self._advertised(message, now_us)
        elif message.what == fip.VLAN_NOTIFICATION:
            self._vlans = sorted({*self._vlans, *message.vlans()})[:_MOST_VLANS]
        elif self._forwarder is None or arrived.source != self._forwarder.address:
            self.stranger(arrived)
        elif message.what == fip.ELS_REPLY:
            return self._answered(message, now_us)
        elif message.what == fip.CLEAR_LINKS:
            self._cleared(message, now_us)
        return None

    def _advertised(self, message: fip.Message, now_us: int) -> None:
        address, priority = message.find(fip.MAC, 6), message.find(fip.PRIORITY, 2)
        period, fabric = message.find(fip.KEEP_ALIVE_PERIOD, 6), message.find(fip.FABRIC, 14)
        if address is None or priority is None or period is None or fabric is None:
            return
        known = self._forwarder
        if known is not None and known.address == address:
            known.heard_us = now_us
            return
        if not message.flags & fip.AVAILABLE or (known is not None and (self._address or known.priority <= priority[1])):
            return
        wait_ms = min(max(int.from_bytes(period[2:], "big"), _SHORTEST_PERIOD_MS), _LONGEST_PERIOD_MS)
        self._solicited = 0
        self._forwarder = Forwarder(address, priority[1], 0 if period[1] & 1 else wait_ms * 1000, now_us)
        if self._me:
            self._due = now_us

    def _answered(self, message: fip.Message, now_us: int) -> Optional[RawFrame]:
        frame = FipLogin().came(message, b"")
        if frame is None:
            return None
        ox_id = int.from_bytes(frame.data[16:18], "big")
        granted, address = accepted_id(frame), message.find(fip.MAC, 6)
        if self._further.is_theirs(ox_id):
            self._further.answered(frame, address, now_us)
            return None
        if granted is not None and address is not None and self._forwarder is not None:
            self._n_port_id, self._address, self._vn_port_us = granted, address, 0
            self._due = now_us
            if self.options.tester:
                self._registrar = Registrar(self._me, self._peer, granted)
        return None if ox_id == _OUR_OX_ID else frame

    def _cleared(self, message: fip.Message, now_us: int) -> None:
        if self._forwarder is not None and message.find(fip.MAC, 6) == self._forwarder.address:
            self._address, self._registrar, self._due = None, None, now_us
            self._further.forget()
