"""VN2VN: two ends without a switch that claim their N_Port_IDs by FIP (FC-BB, times as Linux has them)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping, Optional

from fcvi.fc import els
from fcvi.fc.build import RawFrame
from fcvi.engine.attachment import DutError, Unavailable
from fcvi.engine.pixit import DUT, TESTER, Identity, Pixit
from . import fip
from .claim import Claim
from .fip_login import FipLogin
from .options import LiveOptions
from .role import Addressed, Role
from .wire import Arrived

_FORGET_US = 20_000_000  # a neighbour without a beacon, 2.5 periods
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
    """One end: the ports that it claims, and the table of neighbours."""

    def __init__(self, options: LiveOptions, address: bytes) -> None:
        super().__init__(options, options.mac or address)
        self._own = Claim(0, 0, 0)
        self._further: dict[int, Claim] = {}  # what a case plays besides, by N_Port_ID
        self._left: set[int] = set()  # what cases before have played: nobody answers there any more
        self._wanted: Optional[int] = None
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
        n_port_id = _from_name(me) if self._seeks else int(me.n_port_id, 16)
        self._own = Claim(int(me.port_name, 16), int(me.node_name, 16), n_port_id)
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
            while n_port_id == self._own.n_port_id:
                n_port_id = _after(n_port_id)
            device = replace(device, n_port_id=f"{n_port_id:06x}")
        self._seeks = self._anyone = False
        return replace(pixit, dut=device, tester=replace(pixit.tester, n_port_id=f"{self._own.n_port_id:06x}"))

    def _begin(self) -> None:
        self._own.begin()
        self._conflict = ""

    def configure(self, me: Mapping[str, Any], peer: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        ids = int(me["n_port_id"], 16), int(peer["n_port_id"], 16)
        if any(not 0 < one < 0xFFFF for one in ids):
            raise Unavailable("VN2VN has N_Port_IDs from 000001 to 00FFFE only (FC-BB): set them in [pixit] of --pics")
        if config["topology"] != "point-to-point":
            raise Unavailable(f"VN2VN is point-to-point, not {config['topology']}")
        self._wanted = ids[1]
        self._left.update(self._further)
        self._further.clear()
        mine = Claim(int(me["port_name"], 16), int(me["node_name"], 16), ids[0])
        if mine.identity != self._own.identity:
            self._own = mine
            self._begin()

    def joined(self, n_port_id: int, port_name: int, node_name: int) -> bool:
        """See Frames.joined: a device need not talk to an N_Port_ID that nobody has claimed (FC-BB)."""
        if n_port_id >= els.WELL_KNOWN:
            return True  # everybody hears a broadcast
        if n_port_id in self._neighbours or n_port_id == self._own.n_port_id:
            raise Unavailable(_taken(n_port_id))
        claim = self._further.get(n_port_id)
        if claim is None:
            self._left.discard(n_port_id)
            claim = self._further[n_port_id] = Claim(port_name, node_name, n_port_id)
            claim.begin()
        if claim.lost:
            raise Unavailable(_taken(n_port_id))
        return claim.step == "up"

    def waits_for(self) -> str:
        if self._conflict:
            raise DutError(self._conflict)
        if self._own.step != "up":
            return "claim of our own N_Port_ID"
        if self._wanted is None:
            return "" if self._neighbours or not self._anyone else "neighbour"
        if self._wanted in self._neighbours:
            return ""
        others = ", ".join(f"{n:06X}h" for n in self._neighbours)
        return f"neighbour with N_Port_ID {self._wanted:06X}h" + (f" (there is {others})" if others else "")

    # ---- time ----

    def _claims(self) -> tuple[Claim, ...]:
        return self._own, *self._further.values()

    def deadline_us(self) -> Optional[int]:
        return min((claim.due_us for claim in self._claims() if claim.due_us is not None), default=None)

    def run(self, now_us: int) -> None:
        for claim in self._claims():
            if claim.due_us is None or now_us < claim.due_us:
                continue
            for known in [n for n in self._neighbours.values() if now_us - n.heard_us > _FORGET_US]:
                del self._neighbours[known.n_port_id]
            what = claim.go_on(now_us)
            if what == fip.CLAIM:
                self._claim(claim)
            else:
                source = self.mapped(claim.n_port_id) if what == fip.BEACON else self.address
                self._multicast(what, self._descriptors(claim), source)

    def _descriptors(self, claim: Claim) -> tuple[tuple[int, bytes], ...]:
        vn = fip.vn_id(self.mapped(claim.n_port_id), claim.n_port_id, claim.port_name)
        return fip.mac(self.address), fip.name(claim.node_name), vn

    def _claim(self, claim: Claim) -> None:
        self._multicast(fip.CLAIM, (*self._descriptors(claim), fip.features(), fip.size()), self.address)

    def _multicast(self, what: tuple[int, int], descriptors: tuple[tuple[int, bytes], ...], source: bytes) -> None:
        self.out.append(fip.encode(fip.ALL_VN2VN, source, fip.Message(what, 0, descriptors)))

    # ---- frames ----

    def send(self, frame: RawFrame, now_us: int) -> None:
        asker = self._logins.asker(frame)
        s_id = int.from_bytes(frame.data[5:8], "big")
        vn_address = self.mapped(s_id if s_id in self._further else self._own.n_port_id)
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
        of_ours = s_id != 0 and self.options.tester  # a device has one address, whatever S_ID it takes for its own
        self.out.append(Addressed(self.options.peer_mac or to, self.mapped(s_id) if of_ours else vn_address, frame))

    def receive(self, arrived: Arrived, now_us: int) -> Optional[RawFrame]:
        if arrived.frame is not None:
            mine = arrived.to == self.mapped(self._own.n_port_id) or self._to_everyone(arrived) or self._to_another_of_ours(arrived)
            if mine and self.options.tester and not self._is_the_device(arrived.source):
                self.stranger(arrived)
                return None
            return arrived.frame if mine else None
        message = fip.decode(arrived.fip)
        if message is None or arrived.to not in (self.address, fip.ALL_VN2VN):
            return None
        if message.what in (fip.ELS_REQUEST, fip.ELS_REPLY):
            if self.options.tester and not self._is_the_device(arrived.source):
                self.stranger(arrived)
                return None
            return self._logins.came(message, arrived.source)
        self._discover(message, now_us)
        return None

    def _is_the_device(self, source: bytes) -> bool:
        """By the addresses that its claim named: of its N_Port and of its station."""
        wanted = self._wanted or 0
        known = self._neighbours.get(wanted)
        named = (known.address, known.station) if known is not None else ()
        return source in (*named, self.mapped(wanted), self.options.peer_mac)

    def _to_everyone(self, arrived: Arrived) -> bool:
        """A broadcast of another port.

        It has the group address that all VN2VN ports listen to. An end that maps every D_ID the same way, as Linux does, sends
        it to FC-MAP followed by FFFFFFh, which is taken as well.
        """
        frame = arrived.frame
        if frame is None or frame.data[1:4] != _BROADCAST.to_bytes(3, "big"):
            return False
        return arrived.to in (fip.ALL_VN2VN, self.mapped(_BROADCAST)) and arrived.source != self.mapped(self._own.n_port_id)

    def _to_another_of_ours(self, arrived: Arrived) -> bool:
        """A frame of the other end to another N_Port_ID than ours that no neighbour has claimed.

        Some cases play a second port (7.5), and what is sent in answer to a wrong S_ID comes here as well. What the device
        still has to say to the second port of a case before is not for the case that runs.
        """
        frame = arrived.frame
        if frame is None or self._wanted is None or arrived.source != self.mapped(self._wanted):
            return False
        d_id = int.from_bytes(frame.data[1:4], "big")
        return arrived.to == self.mapped(d_id) and d_id not in self._neighbours and d_id not in self._left

    def _discover(self, message: fip.Message, now_us: int) -> None:
        station, vn = message.find(fip.MAC, 6), message.vn_port()
        if station is None or vn is None or self._own.step == "idle":
            return
        _, n_port_id, port_name = vn
        rival = next((c for c in self._claims() if c.n_port_id == n_port_id and c.port_name != port_name and not c.lost), None)
        if rival is not None:
            self._collide(rival, message, station, port_name)
        elif message.what in (fip.CLAIM, fip.CLAIM_REPLY):
            if n_port_id != self._wanted and len(self._neighbours) >= _MOST_NEIGHBOURS:
                return
            known = self._neighbours.get(n_port_id)
            if known is not None and known.port_name != port_name:
                return  # whoever has claimed it keeps it, as long as its beacons come
            self._neighbours[n_port_id] = Neighbour(message, vn, now_us)
            for claim in [c for c in self._claims() if message.what == fip.CLAIM and c.claimed]:
                body = (*self._descriptors(claim), fip.features(), fip.size())
                answer = fip.Message(fip.CLAIM_REPLY, 0, body)
                self.out.append(fip.encode(station, self.address, answer, fip.FCOE_SIZE))
        elif message.what == fip.BEACON and n_port_id in self._neighbours:
            self._neighbours[n_port_id].heard_us = now_us
        elif message.what == fip.BEACON and self._own.claimed:
            self._claim(self._own)  # who it is will follow from its reply

    def _collide(self, claim: Claim, message: fip.Message, station: bytes, port_name: int) -> None:
        """Two want one N_Port_ID: who has claimed it keeps it; of two that probe the greater Port_Name."""
        wins = claim.step != "probe" or (claim.port_name > port_name and not message.flags & fip.REC)
        if message.what == fip.PROBE and wins:
            answer = fip.Message(fip.PROBE_REPLY, 0, self._descriptors(claim))
            self.out.append(fip.encode(station, self.address, answer))
        elif message.what not in (fip.PROBE, fip.PROBE_REPLY, fip.CLAIM, fip.BEACON):
            return
        elif claim is not self._own:
            claim.give_up()
        elif self._seeks:
            claim.n_port_id = _after(claim.n_port_id)
            self._begin()
        else:
            # the case needs this very identifier: another one would not be that of the configuration
            self._conflict = _taken(claim.n_port_id)


def _taken(n_port_id: int) -> str:
    return f"another port has the N_Port_ID {n_port_id:06X}h: set others in [pixit] of --pics"


def _from_name(port: Identity) -> int:
    """An N_Port_ID made of a Port_Name."""
    return _after((int(port.port_name, 16) - 1) & 0xFFFF)


def _after(n_port_id: int) -> int:
    """The next one, from 000001 to 00FFFE."""
    return n_port_id % _LAST + 1
