"""Login and logout: PLOGI and LOGO, as far as a connection needs them (5.6, 7.7.1)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Callable, List, Optional, Tuple

from .clock import Timer
from .wire import ELS_RESP, ELS_RQST, END, FIRST, INITIATIVE, LAST, RESPONDER, Frame

if TYPE_CHECKING:
    from .port import Port

LS_RJT, LS_ACC, PLOGI, LOGO, RRQ, PRLI, FARP_REQ = 0x01, 0x02, 0x03, 0x05, 0x12, 0x20, 0x54
TYPE_ELS = 1
# Common Service Parameters Word 1: bits 31 (C, see E17) and 17 (S)
C_BIT, S_BIT = 1 << 31, 1 << 17

Then = Callable[[], None]


class Login:
    """N_Port login with the peer."""

    def __init__(self, port: "Port", implicit: bool) -> None:
        self.port, self.done = port, implicit
        self.serves = True
        self._offered = not port.choose.has("prli") or port.choose("prli") == "no"  # other FC-4s: nothing more is to be said
        self._waiting: List[Tuple[Then, Then]] = []
        self._ox_id: Optional[int] = None
        self._timer: Optional[Timer] = None

    def ensure(self, then: Then, otherwise: Then) -> None:
        """Call `then` once logged in, `otherwise` when that fails or the peer does not serve (5.6)."""
        if self.done and not self._offered:
            self._offer(then, otherwise)
            return
        if self.done:
            then() if self.serves else otherwise()
            return
        self._waiting.append((then, otherwise))
        if self._ox_id is None:
            exchange = self.port.open_exchange()
            self._ox_id = exchange.ox_id
            self._timer = self.port.clock.after(2 * self.port.r_a_tov, lambda: self._settle(False))
            self._send(ELS_RQST, FIRST | END | INITIATIVE, (exchange.ox_id, 0xFFFF), self._parameters(PLOGI))

    def _offer(self, then: Then, otherwise: Then) -> None:
        """Process Login of TYPE 58h; whatever the answer is, FC-VI needs none."""
        self._waiting.append((then, otherwise))
        if self._ox_id is None:
            self._ox_id = self.port.open_exchange().ox_id
            self._timer = self.port.clock.after(self.port.r_a_tov, self._told)
            page = bytes([0x58, 0, 0x20, 0]) + bytes(12)
            self._send(ELS_RQST, FIRST | END | INITIATIVE, (self._ox_id, 0xFFFF), bytes([PRLI, 16, 0, 20]) + page)

    def _told(self) -> None:
        self._offered = True
        self._settle(True)

    def _send(self, r_ctl: int, f_ctl: int, ids: Tuple[int, int], data: bytes) -> None:
        self.port.send_link_service(r_ctl, TYPE_ELS, ids, f_ctl, data)

    def _reply(self, request: Frame, data: bytes) -> None:
        self._send(ELS_RESP, RESPONDER | LAST | END, (request.ox_id, 0xFFFF), data)

    def _parameters(self, command: int) -> bytes:
        size = self.port.receive_size
        common = struct.pack(">BBHIHHI", 0x20, 0x20, 10, C_BIT | S_BIT | size, 255, 0xCF, 2000)
        class3 = struct.pack(">HHHHHHBBH", 0x8800, 0, 0, size, 255, 0, 0, 1, 0)
        names = self.port.port_name + self.port.node_name
        return bytes([command, 0, 0, 0]) + common + names + bytes(32) + class3 + bytes(32)

    def _settle(self, success: bool) -> None:
        if self._timer:
            self._timer.cancel()
        self.done = success
        if self._ox_id is not None:
            self.port.mine.pop(self._ox_id, None)
        self._ox_id, waiting, self._waiting = None, self._waiting, []
        for then, otherwise in waiting:
            then() if success and self.serves else otherwise()

    def receive(self, frame: Frame) -> None:
        """An extended link service from the peer."""
        if frame.type != TYPE_ELS or not frame.data:
            return
        if frame.r_ctl == ELS_RQST:
            self._request(frame)
        elif frame.ox_id == self._ox_id and self.done:
            self._told()
        elif frame.ox_id == self._ox_id:
            accepted = frame.data[0] == LS_ACC and self._note(frame.data)
            self._settle(accepted)

    def _note(self, data: bytes) -> bool:
        """The peer's service parameters; FC-VI needs C and S (5.6)."""
        if len(data) < 116:
            return False
        word1 = int.from_bytes(data[8:12], "big")
        self.serves = bool(word1 & C_BIT and word1 & S_BIT)
        sizes = (word1 & 0xFFF, int.from_bytes(data[74:76], "big"))
        self.port.receive_size = min([self.port.receive_size, *(size for size in sizes if size >= 256)])
        return True

    def _request(self, frame: Frame) -> None:
        command = frame.data[0]
        if command == PLOGI and self._note(frame.data):
            if self.done:
                self.gone()
            self._reply(frame, self._parameters(LS_ACC))
            self._settle(True)
        elif command == LOGO:
            self._reply(frame, bytes([LS_ACC, 0, 0, 0]))
            self.gone()
            if self.port.choose.has("relogin") and self.port.choose("relogin") == "at-once":
                self.ensure(lambda: None, lambda: None)
        elif command == RRQ:
            self._reply(frame, bytes([LS_ACC, 0, 0, 0]))
        elif command != FARP_REQ:
            self._reply(frame, bytes([LS_RJT, 0, 0, 0, 0, 0x0B, 0, 0]))

    def gone(self) -> None:
        """Logged out, whichever side asked."""
        if not self.port.bad("connections-survive-logout"):
            self.port.logged_out()
        self.done = self.port.bad("no-plogi-after-logo")

    def logo(self) -> None:
        """An explicit LOGO to the peer."""
        if not self.done:
            return
        self.gone()
        ids = self.port.open_exchange().ox_id, 0xFFFF
        data = bytes([LOGO, 0, 0, 0, 0]) + self.port.n_port_id.to_bytes(3, "big") + self.port.port_name
        self._send(ELS_RQST, FIRST | END | INITIATIVE, ids, data)
