"""Fabric: we are the FCF and its F_Port for a device that is plugged in directly (FC-BB).

The login of the device sets its N_Port_ID and, by the LS_ACC, R_A_TOV and E_D_TOV. What it asks the F_Port or the Name
Server during a case the lower tester answers; between cases it is answered here, and always where there is no tester.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

from fcvi.fc import codec, els
from fcvi.fc.build import Envelope, RawFrame
from fcvi.engine.attachment import Unavailable
from fcvi.fc.services import FABRIC_NAMES
from . import fip
from .directory import NameServer
from .fip_login import FipLogin, accepted_id
from .npiv import FDISC
from .options import LiveOptions
from .role import Addressed, Role
from .wire import Arrived

_PERIOD_US = 8_000_000  # of advertisements and keep-alives
_PATIENCE_US = 500_000  # for a device to log in anew by itself, before its links are cleared
_OUR_RX_ID = 0xFF00
_LONGEST_DATA = 2112
_TOPOLOGIES = ("fabric", "point-to-point")


class Fcf(Role):
    """The FCF's end of one link with one device."""

    def __init__(self, options: LiveOptions, address: bytes) -> None:
        super().__init__(options, options.mac or address)
        self._logins = FipLogin()
        self._servers = NameServer()
        self._config: Mapping[str, Any] = {}
        self._own = 0  # our N_Port_ID
        self._wanted = (0, 0)  # Port_Name and N_Port_ID of the device
        self._login: Optional[tuple[int, int]] = None  # as it is logged in
        self._stranger = ""
        self._station: Optional[bytes] = None  # the device's own address, or that of whoever looks for an FCF
        self._device: Optional[bytes] = None  # the device's own address, once it has logged in by its Port_Name
        self._heard_us = 0
        self._advertise_us: Optional[int] = None
        self._clear_us: Optional[int] = None
        self._linked = False  # whether the device takes itself for logged in: only such a link is to be cleared

    def configure(self, me: Mapping[str, Any], peer: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        if config["topology"] not in _TOPOLOGIES:
            raise Unavailable(f"behind an FCF there is a Fabric, no {config['topology']}")
        self._config = config
        self._servers.add(me)
        self._own = int(me["n_port_id"], 16)
        wanted = int(peer["port_name"], 16), int(peer["n_port_id"], 16)
        if wanted[0] != self._wanted[0]:
            self._device = None
        self._wanted = wanted
        self._advertise_us = 0 if self._advertise_us is None else self._advertise_us
        if self._login != self._wanted:
            self._login, self._clear_us, self._stranger = None, None, ""

    def waits_for(self) -> str:
        if self._login == self._wanted:
            return ""
        return f"fabric login of Port_Name {self._wanted[0]:016x}{self._stranger}"

    # ---- time ----

    def deadline_us(self) -> Optional[int]:
        if self.back:
            return 0
        return min((t for t in (self._advertise_us, self._clear_us) if t is not None), default=None)

    def run(self, now_us: int) -> None:
        if self._advertise_us is not None and now_us >= self._advertise_us:
            self._advertise_us = now_us + _PERIOD_US
            self.out.append(fip.encode(fip.ALL_ENODES, self.address, self._advertisement(0)))
        if self._login is not None and now_us - self._heard_us > _PERIOD_US * 5 // 2:
            self._login, self._clear_us = None, now_us
        if self._login is None and self._linked and self._clear_us is None:
            self._clear_us = now_us + _PATIENCE_US
        if self._clear_us is not None and now_us >= self._clear_us:
            self._clear_us = None
            if self._login is None and self._station is not None:
                self._clear()

    def _names(self) -> tuple[int, int]:
        return int(FABRIC_NAMES["port_name"], 16), int(FABRIC_NAMES["node_name"], 16)

    def _advertisement(self, flags: int) -> fip.Message:
        fabric = bytes(3) + self.options.fc_map.to_bytes(3, "big") + self._names()[1].to_bytes(8, "big")
        period = bytes(2) + (_PERIOD_US // 1000).to_bytes(4, "big")
        parts = (
            (fip.PRIORITY, b"\0\x80"), fip.mac(self.address), fip.name(self._names()[0]), (fip.FABRIC, fabric),
            (fip.KEEP_ALIVE_PERIOD, period),
        )  # fmt: skip
        return fip.Message(fip.ADVERTISEMENT, fip.FPMA | fip.AVAILABLE | fip.FCF | flags, parts)

    def _clear(self) -> None:
        """Clear Virtual Links: the device is to log in again. One that looks for a Fabric would have to begin anew."""
        assert self._station is not None
        self._linked = False
        name, n_port_id = self._wanted
        parts = (fip.mac(self.address), fip.name(self._names()[0]), fip.vn_id(self.mapped(n_port_id), n_port_id, name))
        self.out.append(fip.encode(self._station, self.address, fip.Message(fip.CLEAR_LINKS, fip.FPMA | fip.FCF, parts)))

    # ---- frames ----

    def _at_home(self, frame: RawFrame) -> bool:
        """What the N_Port behind a device's Fabric asks that Fabric never comes to the link."""
        d_id = int.from_bytes(frame.data[1:4], "big")
        if self.options.tester or d_id < els.WELL_KNOWN or d_id == els.BROADCAST or self._logins.is_reply(frame):
            return False
        reply = self._accept(frame.data, self._own) if FipLogin.is_request(frame) else self._servers.answer(frame)
        if reply is not None:
            self.back.append(reply)
        return True

    def send(self, frame: RawFrame, now_us: int) -> None:
        if self._at_home(frame):
            return
        asker = self._logins.asker(frame)
        if asker is not None:
            self._reply(frame, asker)
        else:
            d_id = int.from_bytes(frame.data[1:4], "big")
            to = d_id if d_id < els.WELL_KNOWN else (self._login or self._wanted)[1]
            self.out.append(Addressed(self.mapped(to), self.address, frame))

    def _reply(self, frame: RawFrame, to: bytes) -> None:
        granted = accepted_id(frame)
        parts = [fip.els(fip.FLOGI, frame.data)]
        if granted is not None:
            self._linked = True
            self._login = self._wanted[0], granted  # a case may assign another identifier than the configured
            parts.append(fip.mac(self.mapped(granted)))
        self.out.append(fip.encode(to, self.address, fip.Message(fip.ELS_REPLY, fip.FPMA | fip.FCF, tuple(parts))))

    def receive(self, arrived: Arrived, now_us: int) -> Optional[RawFrame]:
        if arrived.to not in (self.address, fip.ALL_FCFS):
            return None
        if arrived.frame is not None:
            if self._is_strange(arrived):
                self.stranger(arrived)
                return None
            return self._served(arrived.frame)
        message = fip.decode(arrived.fip)
        if message is None:
            return None
        if message.what == fip.VLAN_REQUEST:
            parts = (fip.mac(self.address), fip.vlan(self.options.vlan))
            answer = fip.Message(fip.VLAN_NOTIFICATION, fip.FPMA | fip.FCF, parts)
            self.out.append(fip.encode(message.find(fip.MAC, 6) or arrived.source, self.address, answer))
        elif message.what == fip.SOLICITATION:
            station = message.find(fip.MAC, 6) or arrived.source
            self._station = self._device or station
            answer = self._advertisement(fip.SOLICITED)
            self.out.append(fip.encode(station, self.address, answer, fip.FCOE_SIZE))
        elif self._is_strange(arrived):
            self.stranger(arrived)
        elif message.what == fip.KEEP_ALIVE:
            self._heard_us, self._station, self._linked = now_us, message.find(fip.MAC, 6) or arrived.source, True
        elif message.what == fip.ELS_REQUEST:
            return self._asked(message, arrived.source, now_us)
        return None

    def _is_strange(self, arrived: Arrived) -> bool:
        """Whether this comes from elsewhere than the device sends: its own address, and those that we have granted to its N_Port.

        Until it is logged in, whoever logs in with its Port_Name is the device.
        """
        if not self.options.tester or (arrived.frame is None and self._login is None):
            return False
        granted = self._wanted if self._login is None else self._login
        return arrived.source not in (self._device, self.mapped(self._wanted[1]), self.mapped(granted[1]))

    def _served(self, frame: RawFrame) -> Optional[RawFrame]:
        """The frame, unless it was for a server of the Fabric and was answered, or says that it comes from one."""
        if not self.options.tester and int.from_bytes(frame.data[5:8], "big") >= els.WELL_KNOWN:
            return None
        reply = self._servers.answer(frame) if self.between or not self.options.tester else None
        if reply is None:
            return frame
        self.out.append(Addressed(self.mapped(int.from_bytes(reply.data[1:4], "big")), self.address, reply))
        return None

    def _asked(self, message: fip.Message, source: bytes, now_us: int) -> Optional[RawFrame]:
        frame = self._logins.came(message, source)
        if frame is None or not FipLogin.is_request(frame):
            return None if frame is not None and self._further(frame, source) else frame
        payload = frame.data[28:]
        name = codec.get("LOGIN", "Port_Name", payload) if len(payload) >= 112 else 0
        assert isinstance(name, int)
        if name != self._wanted[0]:
            self._stranger = f" ({name:016x} asked)"
            return None
        self._station = self._device = source
        self._heard_us = now_us
        if self._login is not None and self.options.tester and not self.between:
            return frame  # a login that the case is about
        self._clear_us = None
        self.send(self._accept(frame.data), now_us)
        return None

    def _further(self, frame: RawFrame, to: bytes) -> bool:
        """A second N_Port of the other end logs in (FDISC) or out; false for anything else, and where a tester answers."""
        command = frame.data[24]
        if self.options.tester or self._login is None or command not in (FDISC, els.LOGO):
            return False
        granted = self._login[1] + 1
        if command == FDISC:
            kind, more = fip.FDISC, [fip.mac(self.mapped(granted))]
            reply = self._accept(frame.data, granted)
        else:
            kind, more = fip.LOGO, []
            s_id = int.from_bytes(frame.data[5:8], "big")
            envelope = Envelope(d_id=s_id, s_id=els.F_PORT, ox_id=int.from_bytes(frame.data[16:18], "big"), rx_id=_OUR_RX_ID)
            reply = els.reply(envelope, els.LS_ACC)
        parts = (fip.els(kind, reply.data), *more)
        self.out.append(fip.encode(to, self.address, fip.Message(fip.ELS_REPLY, fip.FPMA | fip.FCF, parts)))
        return True

    def _accept(self, asked: bytes, granted: Optional[int] = None) -> RawFrame:
        to, ox_id = self._wanted[1] if granted is None else granted, int.from_bytes(asked[16:18], "big")
        envelope = Envelope(d_id=to, s_id=els.F_PORT, ox_id=ox_id, rx_id=_OUR_RX_ID)
        r_a_tov, e_d_tov = int(self._config["r_a_tov_us"]), int(self._config["e_d_tov_us"])
        body = els.fabric_login(FABRIC_NAMES, _LONGEST_DATA, r_a_tov, e_d_tov, True)
        return els.reply(envelope, els.LS_ACC, body)
