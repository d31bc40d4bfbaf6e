"""Further N_Ports of an ENode behind an FCF: each logs in by FDISC and is logged out again (FC-LS, FC-BB; NPIV)."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from fcvi.fc import els
from fcvi.fc.build import Envelope, RawFrame
from fcvi.engine.attachment import Unavailable
from . import fip
from .fip_login import accepted_id

FDISC = 0x51
_FIRST_OX_ID, _LAST_OX_ID = 0xFF01, 0xFF3F  # of these logins; the first N_Port's own FLOGI has FF00h
_RETRY_US, _VN_PORT_US = 1_000_000, 90_000_000  # of an FDISC without answer; keep-alives of a VN_Port
_LONGEST_DATA = 2112


class Further:
    """One further N_Port: how far its login is."""

    def __init__(self, port: Mapping[str, Any], ox_id: int) -> None:
        """port: port_name, node_name and the N_Port_ID that it is to have, in hexadecimal."""
        self.port, self.ox_id = port, ox_id
        self.n_port_id = int(port["n_port_id"], 16)
        self.address: Optional[bytes] = None  # once it is logged in
        self.refused = ""
        self.due_us: Optional[int] = 0

    def ask(self, now_us: int) -> fip.Message:
        """FDISC, again after a second without answer; once the port is logged in, its keep-alive is due later."""
        self.due_us = now_us + _RETRY_US
        frame = els.request(Envelope(d_id=els.F_PORT, s_id=0, ox_id=self.ox_id), FDISC, self._parameters())
        return fip.Message(fip.ELS_REQUEST, fip.FPMA, (fip.els(fip.FDISC, frame.data), fip.mac(bytes(6))))

    def _parameters(self) -> bytes:
        return els.service_parameters(self.port, _LONGEST_DATA, {})

    def alive(self, station: bytes, now_us: int) -> fip.Message:
        """The keep-alive of its VN_Port."""
        assert self.address is not None
        self.due_us = now_us + _VN_PORT_US
        vn = fip.vn_id(self.address, self.n_port_id, int(self.port["port_name"], 16))
        return fip.Message(fip.KEEP_ALIVE, fip.FPMA, (fip.mac(station), vn))

    def answered(self, frame: RawFrame, address: Optional[bytes], now_us: int) -> None:
        """The answer to FDISC. A Fabric may refuse, and it chooses the N_Port_ID."""
        granted = accepted_id(frame)
        self.due_us = None
        if granted is None:
            self.refused = "the Fabric refuses a second N_Port (FDISC)"
        elif granted != self.n_port_id or address is None:
            self.refused = f"the Fabric assigned {granted:06X}h to the second N_Port, not {self.n_port_id:06X}h"
        else:
            self.address, self.due_us = address, now_us + _VN_PORT_US

    def leave(self) -> fip.Message:
        """LOGO to the F_Port."""
        body = els.logo(self.port, self.n_port_id)
        frame = els.request(Envelope(d_id=els.F_PORT, s_id=self.n_port_id, ox_id=self.ox_id), els.LOGO, body)
        return fip.Message(fip.ELS_REQUEST, fip.FPMA, (fip.els(fip.LOGO, frame.data), fip.mac(self.address or bytes(6))))


class FurtherPorts:
    """All further N_Ports of one ENode."""

    def __init__(self) -> None:
        self._ports: dict[int, Further] = {}
        self._next_ox_id = _FIRST_OX_ID

    def joined(self, n_port_id: int, port_name: int, node_name: int) -> bool:
        """Log a port in. False while that is under way. Raises Unavailable when the Fabric does not have it so."""
        port = self._ports.get(n_port_id)
        if port is None:
            names = {"port_name": f"{port_name:016x}", "node_name": f"{node_name:016x}", "n_port_id": f"{n_port_id:06x}"}
            port = self._ports[n_port_id] = Further(names, self._next_ox_id)
            self._next_ox_id = self._next_ox_id + 1 if self._next_ox_id < _LAST_OX_ID else _FIRST_OX_ID
        if port.refused:
            raise Unavailable(port.refused)
        return port.address is not None

    def address(self, n_port_id: int) -> Optional[bytes]:
        """The Ethernet address of a further port that is logged in."""
        port = self._ports.get(n_port_id)
        return port.address if port is not None else None

    def has(self, address: bytes) -> bool:
        """Whether one of them has this Ethernet address."""
        return any(port.address == address for port in self._ports.values())

    def answered(self, frame: RawFrame, address: Optional[bytes], now_us: int) -> None:
        """An ELS reply of the F_Port."""
        for port in self._ports.values():
            if int.from_bytes(frame.data[16:18], "big") == port.ox_id and port.address is None:
                port.answered(frame, address, now_us)

    @staticmethod
    def is_theirs(ox_id: int) -> bool:
        """Whether an Exchange with the F_Port is about them."""
        return _FIRST_OX_ID <= ox_id <= _LAST_OX_ID

    def deadline_us(self) -> Optional[int]:
        """When something is due."""
        return min((p.due_us for p in self._ports.values() if p.due_us is not None), default=None)

    def run(self, station: bytes, now_us: int) -> list[tuple[bytes, fip.Message]]:
        """What is to be sent now, and from which Ethernet address. station: the ENode's own."""
        out: list[tuple[bytes, fip.Message]] = []
        for port in self._ports.values():
            if port.due_us is not None and now_us >= port.due_us:
                own = port.address
                out.append((station, port.ask(now_us)) if own is None else (own, port.alive(station, now_us)))
        return out

    def leave(self) -> list[fip.Message]:
        """All log out; what is to be sent."""
        ports, self._ports = self._ports, {}
        return [port.leave() for port in ports.values() if port.address is not None]

    def forget(self) -> None:
        """The Fabric has cleared the link: nobody is logged in any more."""
        self._ports.clear()
