"""Answers what the tester's port, and the Fabric behind it, answer by themselves: Extended Link Services and the Name Server.

A case replaces or removes the handler of a kind to answer otherwise, late or not at all; the request is in the
tester's inbox either way.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Protocol

from . import build, codec, els
from .received import Exchange, Received

Handler = Callable[[Received], None]
FABRIC_NAMES = {"port_name": "200100c0dd000001", "node_name": "100000c0dd000001"}
_NOT_SUPPORTED = 0x0B
#: A port answers a request that it does not know as well (FC-FS); TEST and notices of a change have no reply.
_UNKNOWN_HERE = ("PRLI", "PRLO", "TPRLO", "RTV", "RLS", "ECHO", "REC", "SRR", "RNID", "RCS", "RES", "FDISC")
_BY_TYPE, _NOBODY_OF_TYPE = (0x0171, 0x0172), 0x07  # GID_FT, GPN_FT; any other explanation makes libfc start anew
_REGISTRATIONS = range(0x0200, 0x0300)  # RxT_ID and their like (FC-GS): a DUT may register what it likes (E84)


class Port(Protocol):
    """Whose services they are."""

    n_port_id: int
    dut_id: int
    ports: set[int]
    receive_size: int
    service_class: int
    edition: int
    answered: int

    def assign_rx_id(self, exchange: Exchange) -> None:
        """Give the Exchange an RX_ID."""

    def envelope(self, exchange: Exchange) -> build.Envelope:
        """The next Sequence of the Exchange."""
        raise NotImplementedError

    def in_class_2(self, received: Received) -> bool:
        """Whether the DUT sent this in class 2."""
        raise NotImplementedError

    def send_els(
        self, command: int, body: bytes = b"", fc: Optional[Mapping[str, int]] = None, port: Optional[int] = None,
        service_class: Optional[int] = None,
    ) -> Exchange:  # fmt: skip
        """An Extended Link Service in an Exchange of its own."""
        raise NotImplementedError

    def send_frame(self, frame: build.RawFrame) -> None:
        """Any frame."""


class Services:
    """Answers by the kind of the request."""

    def __init__(self, tester: Port, config: Mapping[str, Any]) -> None:
        self._tester = tester
        self._config = config
        #: The tester's ports: their names by N_Port Identifier, and who has which Host Address.
        self.ports: dict[int, Mapping[str, Any]] = {tester.n_port_id: config["peer"]}
        self.fabric_names: Mapping[str, Any] = FABRIC_NAMES
        self.features: Mapping[str, int] = els.C_AND_S  # of the tester's N_Port Login
        self.directory = {host: [tester.n_port_id] for host in config["peer"]["host"]}
        self.logged_out = False  # the DUT has logged out, and nobody has logged in since
        self.handlers: dict[str, Handler] = {
            **dict.fromkeys(_UNKNOWN_HERE, lambda r: self.reject(r, _NOT_SUPPORTED)),
            "PLOGI": self._plogi,
            "PDISC": self._plogi,
            "FLOGI": self._flogi,
            "LOGO": self._logo,
            "RRQ": lambda r: self.accept(r),
            "ADISC": lambda r: self.accept(r, els.adisc(self.names(r), r.fc("D_ID"))),
            "FARP_REQ": self.farp_reply,
            "FARP_REPLY": lambda r: self.accept(r),
            "SCR": lambda r: self.accept(r),
            "CT": self._ct,
        }

    def answer(self, received: Received) -> None:
        """Answer a frame that has arrived, if it is a request that somebody here serves."""
        if received.last.kind == "els" and not els.is_request(received.last):
            return
        handler = self.handlers.get(received.kind)
        if handler is not None:
            handler(received)

    def names(self, request: Received) -> Mapping[str, Any]:
        """Port_Name and Node_Name of the port that was asked; a server of the Fabric has the Fabric's."""
        return self.ports.get(request.fc("D_ID"), self.fabric_names)

    def add_port(self, n_port_id: int, names: Mapping[str, Any]) -> None:
        """A further port of the tester, or another N_Port Identifier of one."""
        self.ports[n_port_id] = names
        self._tester.ports.add(n_port_id)
        for host in names["host"]:
            self.directory.setdefault(host, []).append(n_port_id)

    # ---- replies ----

    def _logo(self, request: Received) -> None:
        self.logged_out = True
        self.accept(request)

    def accept(self, request: Received, body: bytes = b"", **fc: int) -> None:
        """LS_ACC from the address that was asked."""
        self._send(els.reply(self._envelope(request, fc), els.LS_ACC, body))

    def reject(self, request: Received, reason: int, explanation: int = 0) -> None:
        """LS_RJT."""
        self._send(els.reply(self._envelope(request, {}), els.LS_RJT, els.rejection(reason, explanation)))

    def accept_fabric_login(self, request: Received, n_port_id: int) -> None:
        """LS_ACC of the F_Port: the D_ID assigns the N_Port Identifier."""
        pixit = self._config
        fabric = pixit["topology"] in ("fabric", "public-loop")
        body = els.fabric_login(
            self.fabric_names, self._tester.receive_size, int(pixit["r_a_tov_us"]), int(pixit["e_d_tov_us"]), fabric
        )
        self.accept(request, body, D_ID=n_port_id)

    def farp_reply(self, request: Received) -> None:
        """FARP-REPLY of every port that has the Host Address (7.5); none when nobody has."""
        asked = request.payload[4:]
        host = codec.get("FARP", "Responding_IP_Address", asked.ljust(72, b"\0"))
        assert isinstance(host, bytes)
        for n_port_id in self.directory.get(host.hex(), []):
            body = els.farp_reply(asked, n_port_id, self.ports[n_port_id])
            self._tester.answered += 1
            # what was broadcast had to be in class 3; a port of 1999 may have no other class than the one it is configured for
            service_class = self._tester.service_class if self._tester.edition else 3
            self._tester.send_els(els.FARP_REPLY, body, port=n_port_id, service_class=service_class)

    def _plogi(self, request: Received) -> None:
        self.logged_out = False
        self.accept(request, els.login(self.names(request), self._tester.receive_size, self.features))

    def _flogi(self, request: Received) -> None:
        self.accept_fabric_login(request, self._tester.dut_id)

    def _ct(self, request: Received) -> None:
        command = codec.get("CT", "CT_Command", request.payload) if len(request.payload) >= 16 else 0
        assert isinstance(command, int)
        if command in _REGISTRATIONS:
            body = build.structure("CT", {"CT_Revision": 1, "GS_Type": 0xFC, "GS_Subtype": 2, "CT_Command": 0x8002})
        elif command == 0x01B1 and request.payload[16:32].hex() in self.directory:
            body = els.port_identifiers(self.directory[request.payload[16:32].hex()])
        else:
            body = els.ct_rejection(0x09, _NOBODY_OF_TYPE if command in _BY_TYPE else 0x05)
        self._send(els.ct_reply(self._envelope(request, {}), body))

    def _envelope(self, request: Received, fc: Mapping[str, int]) -> build.Envelope:
        exchange = request.exchange
        if exchange.rx_id == build.X_ID_UNASSIGNED:
            self._tester.assign_rx_id(exchange)
        envelope = self._tester.envelope(exchange)
        asked = request.fc("D_ID")
        envelope.fc = {"D_ID": request.fc("S_ID") or self._tester.dut_id, "S_ID": asked, **fc}
        envelope.seq_cnt = 0
        envelope.service_class = 2 if self._tester.in_class_2(request) else 3
        return envelope

    def _send(self, frame: build.RawFrame) -> None:
        self._tester.answered += 1
        self._tester.send_frame(frame)
