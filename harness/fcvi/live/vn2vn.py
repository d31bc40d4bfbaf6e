"""VN2VN: two ends without a switch that claim their N_Port_IDs by FIP (FC-BB, times as Linux has them)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping, Optional

from fcvi.fc.build import RawFrame
from fcvi.engine.attachment import DutError, Unavailable
from fcvi.engine.pixit import DUT, TESTER, Identity, Pixit
from . import fip
from .fip_login import FipLogin
from .options import LiveOptions
from .role import Addressed, Role
from .wire import Arrived

_PROBE_US, _CLAIM_US, _BEACON_US = 100_000, 400_000, 8_000_000
_FORGET_US = 20_000_000  # a neighbour without a beacon, 2.5 periods
_PROBES = 2
_LAST = 0xFFFE  # N_Port_ID
_BROADCAST = 0xFFFFFF  # D_ID of a frame for every N_Port (FC-FS)
_MOST_NEIGHBOURS = 64  # besides the one that the case is with


class Neighbour:
    """The other end, as its claims and beacons tell it."""

    def __init__(self, message: fip.Message, vn_port: tuple[bytes, int, int], now_us: int) -> None:
        self.station, node_name = message.find(fip.MAC, 6), message.find(fip.NAME, 10)
        self.address, self.n_port_id, self.port_name = vn_port
        self.node_name = int.from_bytes(node_name[2:], "big") if node_name is not None else 0
        self.heard_us = now_us


class Vn2Vn(Role):
    """One end: probes, claims, beacons, and the table of neighbours."""

    def __init__(self, options: LiveOptions, address: bytes) -> None:
        super().__init__(options, options.mac or address)
        self._port_name = self._node_name = self._n_port_id = 0
        self._wanted: Optional[int] = None
        self._step = "idle"  # then "probe", "claim", "up"
        self._probes = 0
        self._due: Optional[int] = None
        self._neighbours: dict[int, Neighbour] = {}
        self._logins = FipLogin()
        self._conflict = ""
        self._seeks = False  # our own N_Port_ID is ours to choose
        self._anyone = False  # whoever is there is the device

    # ---- who we are ----

    def seek(self, pixit: Pixit, told: bool) -> bool:
        """Claim an N_Port_ID made of our Port_Name, as Linux makes its own, and find the device's."""
        self._seeks = pixit.tester.n_port_id == TESTER.n_port_id
        open_end = pixit.dut.n_port_id == DUT.n_port_id
        self._anyone = open_end and not told
        if not self._seeks and not open_end:
            return False
        me = pixit.tester
        self._port_name, self._node_name = int(me.port_name, 16), int(me.node_name, 16)
        self._n_port_id = _from_name(me) if self._seeks else int(me.n_port_id, 16)
        self._wanted = None
        self._begin()
        return True

    def found(self, pixit: Pixit) -> Pixit:
        if not self._seeks and not self._anyone and pixit.dut.n_port_id != DUT.n_port_id:
            return pixit
        device = pixit.dut
        if self._anyone:
            one = next(iter(self._neighbours.values()))
            names = {"port_name": f"{one.port_name:016x}", "node_name": f"{one.node_name:016x}"}
            device = replace(device, n_port_id=f"{one.n_port_id:06x}", **names)
        elif device.n_port_id == DUT.n_port_id:
            n_port_id = _from_name(device)
            while n_port_id == self._n_port_id:
                n_port_id = _after(n_port_id)
            device = replace(device, n_port_id=f"{n_port_id:06x}")
        self._seeks = self._anyone = False
        return replace(pixit, dut=device, tester=replace(pixit.tester, n_port_id=f"{self._n_port_id:06x}"))

    def _begin(self) -> None:
        self._step, self._probes, self._due, self._conflict = "probe", 0, 0, ""

    def configure(self, me: Mapping[str, Any], peer: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        ids = int(me["n_port_id"], 16), int(peer["n_port_id"], 16)
        if any(not 0 < one < 0xFFFF for one in ids):
            raise Unavailable("VN2VN has N_Port_IDs from 000001 to 00FFFE only (FC-BB): set them in [pixit] of --pics")
        if config["topology"] != "point-to-point":
            raise Unavailable(f"VN2VN is point-to-point, not {config['topology']}")
        self._wanted = ids[1]
        mine = int(me["port_name"], 16), int(me["node_name"], 16), ids[0]
        if mine != (self._port_name, self._node_name, self._n_port_id):
            self._port_name, self._node_name, self._n_port_id = mine
            self._begin()

    def waits_for(self) -> str:
        if self._conflict:
            raise DutError(self._conflict)
        if self._step != "up":
            return "claim of our own N_Port_ID"
        if self._wanted is None:
            return "" if self._neighbours or not self._anyone else "neighbour"
        if self._wanted in self._neighbours:
            return ""
        others = ", ".join(f"{n:06X}h" for n in self._neighbours)
        return f"neighbour with N_Port_ID {self._wanted:06X}h" + (f" (there is {others})" if others else "")

    def _descriptors(self) -> tuple[tuple[int, bytes], ...]:
        vn = fip.vn_id(self.mapped(self._n_port_id), self._n_port_id, self._port_name)
        return fip.mac(self.address), fip.name(self._node_name), vn

    # ---- time ----

    def deadline_us(self) -> Optional[int]:
        return self._due

    def run(self, now_us: int) -> None:
        if self._due is None or now_us < self._due:
            return
        for known in [n for n in self._neighbours.values() if now_us - n.heard_us > _FORGET_US]:
            del self._neighbours[known.n_port_id]
        if self._step == "probe" and self._probes < _PROBES:
            self._probes += 1
            self._multicast(fip.PROBE, self._descriptors(), self.address)
            self._due = now_us + (_PROBE_US if self._probes < _PROBES else _CLAIM_US)
        elif self._step == "probe":
            self._step, self._due = "claim", now_us + _CLAIM_US
            self._claim()
        else:
            self._step, self._due = "up", now_us + _BEACON_US
            self._multicast(fip.BEACON, self._descriptors(), self.mapped(self._n_port_id))

    def _claim(self) -> None:
        self._multicast(fip.CLAIM, (*self._descriptors(), fip.features(), fip.size()), self.address)

    def _multicast(self, what: tuple[int, int], descriptors: tuple[tuple[int, bytes], ...], source: bytes) -> None:
        self.out.append(fip.encode(fip.ALL_VN2VN, source, fip.Message(what, 0, descriptors)))

    # ---- frames ----

    def send(self, frame: RawFrame, now_us: int) -> None:
        asker = self._logins.asker(frame)
        vn_address = self.mapped(self._n_port_id)
        if asker is not None or self._logins.is_request(frame):
            known = self._neighbours.get(self._wanted or 0)
            to = asker or (known.station if known else None)
            if to is not None:
                what = fip.ELS_REQUEST if asker is None else fip.ELS_REPLY
                message = fip.Message(what, 0, (fip.els(fip.FLOGI, frame.data), fip.mac(vn_address)))
                self.out.append(fip.encode(to, self.address, message))
            return
        d_id = int.from_bytes(frame.data[1:4], "big")
        to = fip.ALL_VN2VN if d_id == _BROADCAST else self.mapped(d_id)
        s_id = int.from_bytes(frame.data[5:8], "big")
        self.out.append(Addressed(self.options.peer_mac or to, self.mapped(s_id) if s_id else vn_address, frame))

    def receive(self, arrived: Arrived, now_us: int) -> Optional[RawFrame]:
        if arrived.frame is not None:
            mine = arrived.to == self.mapped(self._n_port_id) or self._to_everyone(arrived) or self._to_another_of_ours(arrived)
            return arrived.frame if mine else None
        message = fip.decode(arrived.fip)
        if message is None or arrived.to not in (self.address, fip.ALL_VN2VN):
            return None
        if message.what in (fip.ELS_REQUEST, fip.ELS_REPLY):
            return self._logins.came(message, arrived.source)
        self._discover(message, now_us)
        return None

    def _to_everyone(self, arrived: Arrived) -> bool:
        """A broadcast of another port.

        It has the group address that all VN2VN ports listen to. An end that maps every D_ID the same way, as Linux does, sends
        it to FC-MAP followed by FFFFFFh, which is taken as well.
        """
        frame = arrived.frame
        if frame is None or frame.data[1:4] != _BROADCAST.to_bytes(3, "big"):
            return False
        return arrived.to in (fip.ALL_VN2VN, self.mapped(_BROADCAST)) and arrived.source != self.mapped(self._n_port_id)

    def _to_another_of_ours(self, arrived: Arrived) -> bool:
        """A frame of the other end to an N_Port_ID that nobody has claimed.

        Some cases play a second port (7.5): no claim tells of it, and the frames for it come here.
        """
        frame = arrived.frame
        if frame is None or self._wanted is None or arrived.source != self.mapped(self._wanted):
            return False
        d_id = int.from_bytes(frame.data[1:4], "big")
        return arrived.to == self.mapped(d_id) and d_id not in self._neighbours

    def _discover(self, message: fip.Message, now_us: int) -> None:
        station, vn = message.find(fip.MAC, 6), message.vn_port()
        if station is None or vn is None or self._step == "idle":
            return
        _, n_port_id, port_name = vn
        if n_port_id == self._n_port_id and port_name != self._port_name:
            self._collide(message, station, port_name)
        elif message.what in (fip.CLAIM, fip.CLAIM_REPLY):
            if n_port_id != self._wanted and len(self._neighbours) >= _MOST_NEIGHBOURS:
                return
            self._neighbours[n_port_id] = Neighbour(message, vn, now_us)
            if message.what == fip.CLAIM and self._step in ("claim", "up"):
                body = (*self._descriptors(), fip.features(), fip.size())
                answer = fip.Message(fip.CLAIM_REPLY, 0, body)
                self.out.append(fip.encode(station, self.address, answer, fip.FCOE_SIZE))
        elif message.what == fip.BEACON and n_port_id in self._neighbours:
            self._neighbours[n_port_id].heard_us = now_us
        elif message.what == fip.BEACON and self._step in ("claim", "up"):
            self._claim()  # who it is will follow from its reply

    def _collide(self, message: fip.Message, station: bytes, port_name: int) -> None:
        """Two want one N_Port_ID: who has claimed it keeps it; of two that probe the greater Port_Name."""
        wins = self._step != "probe" or (self._port_name > port_name and not message.flags & fip.REC)
        if message.what == fip.PROBE and wins:
            answer = fip.Message(fip.PROBE_REPLY, 0, self._descriptors())
            self.out.append(fip.encode(station, self.address, answer))
        elif message.what not in (fip.PROBE, fip.PROBE_REPLY, fip.CLAIM, fip.BEACON):
            return
        elif self._seeks:
            self._n_port_id = _after(self._n_port_id)
            self._begin()
        else:
            # the case needs this very identifier: another one would not be that of the configuration
            self._conflict = f"another port has the N_Port_ID {self._n_port_id:06X}h: set others in [pixit] of --pics"


def _from_name(port: Identity) -> int:
    """An N_Port_ID made of a Port_Name."""
    return _after((int(port.port_name, 16) - 1) & 0xFFFF)


def _after(n_port_id: int) -> int:
    """The next one, from 000001 to 00FFFE."""
    return n_port_id % _LAST + 1
