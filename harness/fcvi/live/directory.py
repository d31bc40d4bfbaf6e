"""The Name Server of a Fabric: what an N_Port registers and asks (FC-GS), and a small one for the Fabric that we are.

FC-VI finds the N_Port_ID of a Host Address by GID_IPP (7.4, 7.6): who is to be found has to register its address, RIPP_ID.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional

from fcvi.fc import codec, els
from fcvi.fc.build import Envelope, RawFrame, structure
from fcvi.fc.codes import ELS, R_CTL, TYPE
from fcvi.fc.services import FABRIC_NAMES

GPN_ID, GNN_ID, GID_PN, GID_FT, GID_IPP = 0x0112, 0x0113, 0x0121, 0x0171, 0x01B1
RPN_ID, RNN_ID, RFT_ID, RIPP_ID = 0x0212, 0x0213, 0x0217, 0x021B
_REGISTRATIONS = range(0x0200, 0x0300)
_ACCEPT, _REJECT = 0x8002, 0x8001
_UNABLE, _NOT_SUPPORTED = 0x09, 0x0B
_NO_ID, _NO_NAME, _NO_TYPE, _NO_ADDRESS = 0x01, 0x02, 0x07, 0x0B
_LAST = 0x80
_HEADER, _CT = 24, 16
_FC_VI = TYPE.FC_VI
_OX_ID, _RX_ID = 0xFF01, 0xFF00
_RETRY_US, _TRIES = 1_000_000, 3
_LONGEST_DATA = 2112
_MOST_PORTS = 256


def _id(n_port_id: int) -> bytes:
    return n_port_id.to_bytes(4, "big")


def fc4_types() -> bytes:
    """The 32 bytes of RFT_ID with FC-VI: words of 32 types, most significant bit first in each."""
    word, bit = _FC_VI // 32, _FC_VI % 32
    return bytes(4 * word) + (1 << bit).to_bytes(4, "big") + bytes(28 - 4 * word)


class Registrar:
    """An N_Port that logs in with the Name Server, registers, and asks where its peer is. It does no I/O."""

    def __init__(self, me: Mapping[str, Any], peer: Mapping[str, Any], n_port_id: int) -> None:
        self.found: Optional[int] = None  # the peer's N_Port_ID, when the Name Server knows it
        self._n_port_id, self._at, self._tries, self._due_us = n_port_id, 0, 0, 0
        node_name, host = bytes.fromhex(me["node_name"]), bytes.fromhex(me["host"][0])
        own = _id(n_port_id)
        self._names = me
        self._queries = [
            (RNN_ID, own + node_name), (RFT_ID, own + fc4_types()), (RIPP_ID, own + host),
            (GID_PN, bytes.fromhex(peer["port_name"])),
        ]  # fmt: skip

    @property
    def done(self) -> bool:
        """Whether there is nothing left to ask, or nobody who answers."""
        return self._at > len(self._queries)

    def deadline_us(self) -> Optional[int]:
        """When to ask, or to ask again."""
        return None if self.done else self._due_us

    def run(self, now_us: int) -> Optional[RawFrame]:
        """What is to be sent now."""
        if self.done or now_us < self._due_us:
            return None
        if self._tries == _TRIES:
            self._next(self._at > 0)
            if self.done:
                return None
        self._tries += 1
        self._due_us = now_us + _RETRY_US
        envelope = Envelope(d_id=els.NAME_SERVER, s_id=self._n_port_id, ox_id=_OX_ID + self._at)
        if self._at == 0:
            return els.request(envelope, els.PLOGI, els.login(self._names, _LONGEST_DATA))
        return els.ct_request(envelope, *self._queries[self._at - 1])

    def _next(self, go_on: bool) -> None:
        """On to the next question; who has no Name Server asks none."""
        self._at = self._at + 1 if go_on else len(self._queries) + 1
        self._tries = self._due_us = 0

    def take(self, frame: RawFrame) -> bool:
        """Whether this is an answer of the Name Server to us."""
        data = frame.data
        if len(data) <= _HEADER or int.from_bytes(data[5:8], "big") != els.NAME_SERVER or not data[9] & 0x80:
            return False
        number = int.from_bytes(data[16:18], "big") - _OX_ID
        if not 0 <= number <= len(self._queries):
            return False
        if number == self._at == 0:
            self._next(data[_HEADER] == els.LS_ACC)
        elif number == self._at:
            body = data[_HEADER:]
            if self._queries[number - 1][0] == GID_PN and body[8:10] == _ACCEPT.to_bytes(2, "big") and len(body) >= _CT + 4:
                self.found = int.from_bytes(body[_CT + 1 : _CT + 4], "big")
            self._next(True)
        return True


@dataclass
class _Port:
    port_name: bytes = bytes(8)
    node_name: bytes = bytes(8)
    types: bytes = bytes(32)
    hosts: list[bytes] = field(default_factory=list)

    def has_type(self, fc4: int) -> bool:
        word = int.from_bytes(self.types[fc4 // 32 * 4 : fc4 // 32 * 4 + 4], "big")
        return bool(word >> fc4 % 32 & 1)


class NameServer:
    """The servers FFFFFCh and FFFFFDh of the Fabric that we are, for whoever asks while no case answers."""

    def __init__(self) -> None:
        self.ports: dict[int, _Port] = {}

    def add(self, port: Mapping[str, Any]) -> None:
        """A port that is there from the beginning, as ``reset`` names it."""
        hosts = [bytes.fromhex(host) for host in port["host"]]
        names = bytes.fromhex(port["port_name"]), bytes.fromhex(port["node_name"])
        self.ports[int(port["n_port_id"], 16)] = _Port(*names, fc4_types(), hosts)

    def answer(self, frame: RawFrame) -> Optional[RawFrame]:
        """The reply to a request to FFFFFCh or FFFFFDh; None for anything else."""
        data = frame.data
        if len(data) < _HEADER + 4 or int.from_bytes(data[1:4], "big") not in (els.NAME_SERVER, els.FABRIC_CONTROLLER):
            return None
        asker = int.from_bytes(data[5:8], "big")
        envelope = Envelope(
            d_id=asker, s_id=int.from_bytes(data[1:4], "big"), ox_id=int.from_bytes(data[16:18], "big"), rx_id=_RX_ID
        )
        if data[0] == R_CTL.ELS_REQUEST:
            return self._link_service(envelope, asker, data[_HEADER:])
        if (data[0], data[8]) == (R_CTL.UNSOLICITED_CONTROL, els.TYPE_CT) and len(data) >= _HEADER + _CT:
            return els.ct_reply(envelope, self._query(data[_HEADER:]))
        return None

    def _link_service(self, envelope: Envelope, asker: int, payload: bytes) -> RawFrame:
        if payload[0] == els.PLOGI and len(payload) >= 116:
            name = codec.get("LOGIN", "Port_Name", payload[4:])
            assert isinstance(name, int)
            known = self._port(asker)
            if known is not None:
                known.port_name = name.to_bytes(8, "big")
            return els.reply(envelope, els.LS_ACC, els.login(FABRIC_NAMES, _LONGEST_DATA))
        if payload[0] in (els.LOGO, ELS.SCR):
            return els.reply(envelope, els.LS_ACC)
        return els.reply(envelope, els.LS_RJT, els.rejection(_NOT_SUPPORTED))

    def _port(self, n_port_id: int) -> Optional[_Port]:
        if n_port_id not in self.ports and len(self.ports) >= _MOST_PORTS:
            return None
        return self.ports.setdefault(n_port_id, _Port())

    def _query(self, payload: bytes) -> bytes:
        command, body = int.from_bytes(payload[8:10], "big"), payload[_CT:]
        if command in _REGISTRATIONS:
            return self._register(command, body)
        if command == GID_PN:
            return _list([i for i, p in self.ports.items() if p.port_name == body[:8]][:1], _NO_NAME, control=0)
        if command == GID_FT:
            return _list([i for i, p in self.ports.items() if len(body) >= 4 and p.has_type(body[3])], _NO_TYPE)
        if command == GID_IPP:
            return _list([i for i, p in self.ports.items() if body[:16] in p.hosts], _NO_ADDRESS)
        if command in (GPN_ID, GNN_ID):
            port = self.ports.get(int.from_bytes(body[1:4], "big"))
            if port is None:
                return els.ct_rejection(_UNABLE, _NO_ID)
            return _accept(port.port_name if command == GPN_ID else port.node_name)
        return els.ct_rejection(_NOT_SUPPORTED, 0)

    def _register(self, command: int, body: bytes) -> bytes:
        port = self._port(int.from_bytes(body[1:4], "big")) if len(body) >= 4 else None
        if port is not None and command == RPN_ID and len(body) >= 12:
            port.port_name = body[4:12]
        elif port is not None and command == RNN_ID and len(body) >= 12:
            port.node_name = body[4:12]
        elif port is not None and command == RFT_ID and len(body) >= 36:
            port.types = body[4:36]
        elif port is not None and command == RIPP_ID and len(body) >= 20:
            port.hosts = [body[4:20]]
        return _accept()


def _accept(body: bytes = b"") -> bytes:
    return structure("CT", {"CT_Revision": 1, "GS_Type": 0xFC, "GS_Subtype": 2, "CT_Command": _ACCEPT}) + body


def _list(n_port_ids: list[int], explanation: int, control: int = _LAST) -> bytes:
    """Port Identifiers with the control byte of the last one, or the reject that there is none."""
    if not n_port_ids:
        return els.ct_rejection(_UNABLE, explanation)
    last = len(n_port_ids) - 1
    return _accept(b"".join(bytes([control if i == last else 0]) + one.to_bytes(3, "big") for i, one in enumerate(n_port_ids)))
