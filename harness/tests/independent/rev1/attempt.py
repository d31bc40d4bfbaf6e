"""One CONNECT_RQST of ours and what answers it: the part that clients and peers share (5.3, 6.7 to 6.9, clause 8)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Callable, Optional

from ..clock import Timer
from .exchange import Exchange
from .vi import Rev1Vi
from .wire import (
    CLIENT_SERVER,
    CONN_ERR,
    CONNECT_RQST,
    PEER_TO_PEER,
    PRIORITY_BYTE,
    REJECT,
    RESP1,
    RESP2,
    UNASSIGNED,
    Attributes,
    ConnectPayload,
    Iu,
    NetAddress,
)

if TYPE_CHECKING:
    from .port import Rev1Port


def later(port: "Rev1Port", choice: str, act: Callable[[], None]) -> None:
    """Now, or after the delay that was chosen."""
    delay = port.choose.number(choice)
    if delay:
        port.clock.after(delay, act)
    else:
        act()


def own_attributes(port: "Rev1Port", attributes: Attributes) -> Attributes:
    """As they go on the wire."""
    return replace(attributes, priority_byte=PRIORITY_BYTE[port.choose("priority")])


def reason_of(port: "Rev1Port", code: int) -> int:
    """VI_PARAMETER of a refusal (Table 9), 0 where nothing is refused."""
    return code << 16 | (0x2A5A if code and port.choose("reason_more") == "filled" else 0)


def setup_cs_ctl(port: "Rev1Port", vi: Optional[Rev1Vi]) -> int:
    """PREF of the setup IUs (R26)."""
    return vi.cs_ctl if vi and port.choose.yes("setup_pref") else 0


class Attempt:
    """One Exchange with a CONNECT_RQST. Whoever starts it hears how it ends, once."""

    def __init__(self, port: "Rev1Port", vi: Rev1Vi, local: NetAddress, remote: NetAddress, peer_to_peer: bool) -> None:
        self.port, self.vi, self.local, self.remote, self.peer_to_peer = port, vi, local, remote, peer_to_peer
        self.exchange: Optional[Exchange] = None
        self.last: Optional[Exchange] = None  # for a fault
        self.timer: Optional[Timer] = None
        self.given_up = 0  # the Reason Code of RESP2, when the application waits no more
        self.on_accept: Callable[[ConnectPayload], int] = lambda payload: REJECT  # the code that RESP2 refuses with, or 0
        self.on_refusal: Callable[[int, Optional[ConnectPayload]], None] = lambda code, payload: None
        self.on_lost: Callable[[], None] = lambda: None

    @property
    def open(self) -> bool:
        """No RESP1 has come."""
        return self.exchange is not None

    def send(self) -> None:
        """CONNECT_RQST, with the Sequence Initiative."""
        port = self.port
        self.exchange = self.last = port.open_exchange(peer=self.vi.peer_id)
        self.exchange.on_iu, self.exchange.on_abts = self._received, self._aborted
        own = self.vi.handle if self.vi.handle is not None else 0
        payload = ConnectPayload(own, self.local, self.remote, own_attributes(port, self.vi.attributes))
        port.send_iu(self.exchange, Iu(CONNECT_RQST, flags=PEER_TO_PEER if self.peer_to_peer else CLIENT_SERVER,
                                       payload=payload.pack(), initiative=True, cs_ctl=setup_cs_ctl(port, self.vi)))
        self.timer = port.wait_response(self._expired)

    def _stop(self) -> None:
        if self.timer and not self.port.bad("resp1-timer-goes-on"):
            self.timer.cancel()

    def _received(self, iu: Iu) -> None:
        if iu.opcode != RESP1 or self.exchange is None:
            return
        refused = bool(iu.flags & CONN_ERR) and not self.port.bad("accepts-refusal")
        payload: Optional[ConnectPayload] = None
        try:
            payload = ConnectPayload.unpack(iu.payload)
        except ValueError as error:
            self.port.log(f"RESP1: {error}")
        if not refused and (payload is None or payload.handle == UNASSIGNED):
            return
        self._stop()
        exchange, self.exchange = self.exchange, None
        if self.port.bad("resp2-behind-messages") and not (refused or payload is None or self.given_up or self.peer_to_peer):
            code, handle = self.on_accept(payload), payload.handle
            self.port.clock.after(5_000_000, lambda: self._send_resp2(exchange, iu, code, handle))
            return
        later(self.port, "resp2_delay", lambda: self._answer(exchange, iu, refused, payload))

    def _answer(self, exchange: Exchange, iu: Iu, refused: bool, payload: Optional[ConnectPayload]) -> None:
        port, bad = self.port, self.port.bad
        if port.mine.get(exchange.ox_id) is not exchange:
            return
        code = self.given_up
        if refused or payload is None:
            reason = iu.param >> 16 & 0xFF or REJECT
            self._after_refusal(exchange, iu, reason)
            if not code:
                self.on_refusal(reason, payload)
            return
        code = code or self.on_accept(payload)
        handle = payload.handle if port.choose("resp2_handle") == "responder" else UNASSIGNED
        if not (code and bad("no-resp2-after-timeout")):
            self._send_resp2(exchange, iu, 0 if code and bad("resp2-hides-timeout") else code, handle)
        port.close(exchange)
        if not code:
            port.setups.remember(exchange, self.vi)

    def _after_refusal(self, exchange: Exchange, resp1: Iu, reason: int) -> None:
        """R08: RESP2 without a code, or with the same one, or ABTS in the end."""
        port, how = self.port, self.port.choose("resp2_after_refusal")
        if how == "abts" or port.bad("no-resp2-after-refusal"):
            port.wait_response(lambda: self._abort_if_open(exchange))
        else:
            self._send_resp2(exchange, resp1, reason if how == "repeat" else 0, UNASSIGNED)

    def _abort_if_open(self, exchange: Exchange) -> None:
        if self.port.mine.get(exchange.ox_id) is exchange and not self.port.bad("no-resp2-after-refusal"):
            self.port.abort(exchange)

    def _send_resp2(self, exchange: Exchange, resp1: Iu, code: int, handle: int) -> None:
        self.port.send_iu(exchange, Iu(RESP2, handle, CONN_ERR if code else 0, resp1.msg_id, reason_of(self.port, code), last=True,
                                       cs_ctl=setup_cs_ctl(self.port, self.vi)))

    def _aborted(self) -> None:
        """The other side has given the Exchange up."""
        self._stop()
        if self.exchange:
            self.exchange = None
            self._lost()

    def _expired(self) -> None:
        """No RESP1 within FCVI_ULP_TIMEOUT (clause 8)."""
        exchange, self.exchange = self.exchange, None
        if exchange:
            self.port.abort(exchange)
            self._lost()
        elif self.last:
            self.port.abort(self.last)

    def _lost(self) -> None:
        if not self.given_up:
            self.on_lost()

    def give_up(self, code: int) -> None:
        """The application waits no more: ABTS, or RESP2 with a code to a late RESP1 (R28)."""
        self.given_up = code
        exchange = self.exchange
        if exchange and self.port.choose("give_up") == "abts":
            self._stop()
            self.exchange = None
            self.port.abort(exchange)

    def stop(self) -> None:
        """Nothing of it counts any more."""
        self._stop()
        self.exchange, self.given_up = None, REJECT
