"""Holds what answers a device that asks for a link service of which the recording knows nothing.

A port may register, ask for the other's names, or offer another FC-4 before it speaks FC-VI (E84). It waits for the answer,
so that a replay without one would see nothing of it but silence.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

from fcvi.engine.attachment import Notification
from fcvi.fc import build, codec, els
from fcvi.fc.received import Exchange, Received
from fcvi.fc.services import Services
from .frames import View

_FIRST_OX_ID, _FIRST_RX_ID = 0x7F00, 0xFF00  # not among those that the tester of a case takes


class Neighbour:
    """The tester's port and the Fabric behind it, for what was not recorded. send: puts a frame on the wire."""

    def __init__(self, config: Mapping[str, Any], edition: str, send: Callable[[build.RawFrame], None]) -> None:
        self.n_port_id, self.dut_id = int(config["peer"]["n_port_id"], 16), int(config["n_port_id"], 16)
        self.ports = {self.n_port_id}
        self.receive_size, self.service_class = int(config["receive_size"]), int(config["class"])
        self.edition = codec.EDITION[edition]
        self.answered = 0
        self._send, self._opened = send, 0
        self._services = Services(self, config)

    def asked(self, view: View, number: int, note: Notification) -> bool:
        """The device sent this frame in an Exchange of its own, which is none of the recording's; whether it is a service's."""
        if view.frame.kind not in ("els", "other") or not view.starts:
            return False
        exchange = Exchange("dut", view.frame.header("OX_ID"), port=view.frame.header("D_ID"))
        request = Received(view.kind, [number], [view.frame], exchange, note.time_us, note.time_us, view.frame.payload)
        self._services.answer(request)
        return True

    def assign_rx_id(self, exchange: Exchange) -> None:
        """As responder."""
        exchange.rx_id = _FIRST_RX_ID + self.answered % 0xFF

    def envelope(self, exchange: Exchange, fc: Optional[Mapping[str, int]] = None) -> build.Envelope:
        """One Sequence."""
        return build.Envelope(self.dut_id, exchange.port, exchange.ox_id, exchange.rx_id, seq_id=0xFF, fc=fc or {},
                              service_class=self.service_class, receive_size=self.receive_size)  # fmt: skip

    def in_class_2(self, received: Received) -> bool:
        """As the configuration has it."""
        return self.service_class == 2

    def send_els(
        self, command: int, body: bytes = b"", fc: Optional[Mapping[str, int]] = None, port: Optional[int] = None,
        service_class: Optional[int] = None,
    ) -> Exchange:  # fmt: skip
        """A FARP-REPLY."""
        exchange = Exchange("tester", _FIRST_OX_ID + self._opened % 0x100, port=self.n_port_id if port is None else port)
        self._opened += 1
        envelope = self.envelope(exchange, fc)
        envelope.service_class = service_class or self.service_class
        self.send_frame(els.request(envelope, command, body))
        return exchange

    def send_frame(self, frame: build.RawFrame) -> None:
        """Put it on the wire."""
        self._send(frame)
