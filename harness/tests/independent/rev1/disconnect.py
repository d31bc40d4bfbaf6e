"""Disconnect in both roles: 5.3.5, 6.10, 6.11 and clause 8."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Optional

from ..clock import Timer
from ..vi import Call
from .attempt import later
from .exchange import Exchange
from .vi import Rev1Vi
from .wire import (
    BY_APPLICATION,
    BY_KERNEL,
    CONN_ERR,
    DISCONNECT_RESP,
    DISCONNECT_RQST,
    NO_WAITING,
    UNASSIGNED,
    Iu,
)

if TYPE_CHECKING:
    from .port import Rev1Port


class Disconnect:
    """One DISCONNECT_RQST of ours, for a VipDisconnect or for the provider itself."""

    def __init__(self, port: "Rev1Port", vi: Rev1Vi, call: Optional[Call]) -> None:
        self.port, self.vi, self.call = port, vi, call
        self.timer: Optional[Timer] = None
        self.exchange: Optional[Exchange] = None
        self.last: Optional[Exchange] = None  # for a fault

    def start(self) -> None:
        """DISCONNECT_RQST with the next VI_MSG_ID (R12)."""
        port, vi = self.port, self.vi
        vi.receiving = False
        if vi.state == "connected" and port.choose("disconnecting_state") == "error":
            vi.become("error")
        by_application = self.call is not None and not port.bad("application-as-kernel")
        by_application = by_application or port.bad("kernel-as-application")
        self.exchange = self.last = port.open_exchange(peer=vi.peer_id)
        self.exchange.on_iu, self.exchange.on_abts = self._answered, self._aborted
        iu = Iu(DISCONNECT_RQST, UNASSIGNED if vi.remote_handle is None else vi.remote_handle,
                BY_APPLICATION if by_application else BY_KERNEL, vi.next_msg_id, initiative=True, cs_ctl=vi.cs_ctl)
        if not port.bad("no-disconnect-rqst"):
            port.send_iu(self.exchange, iu)
        self.timer = port.wait_response(self._expired)
        if port.bad("disconnect-without-response"):
            self._done("VIP_SUCCESS")

    def _stop(self) -> None:
        if self.timer and not self.port.bad("disconnect-timer-goes-on"):
            self.timer.cancel()

    def _answered(self, iu: Iu) -> None:
        """The connection is gone, whatever the flags (R07)."""
        if iu.opcode != DISCONNECT_RESP or self.port.bad("disconnect-resp-ignored"):
            return
        self._stop()
        if self.exchange:
            self.port.close(self.exchange)
        self.vi.gone = True
        self._done("VIP_SUCCESS")

    def _done(self, code: str, state: str = "idle") -> None:
        self.exchange = None
        if self.vi.disconnect is self:
            self.vi.disconnect = None
        call, self.call = self.call, None
        if call is None:
            return
        if state == "idle":
            self.vi.release()
        else:
            self.vi.fail()
        call.reply(code)

    def _aborted(self) -> None:
        self._stop()
        self._lost()

    def _expired(self) -> None:
        """No DISCONNECT_RESP within FCVI_ULP_TIMEOUT (clause 8)."""
        if self.last and self.port.bad("disconnect-timer-goes-on"):
            self.port.abort(self.last)
        if self.exchange and not self.port.bad("no-disconnect-abts"):
            self.port.abort(self.exchange)
        self._lost()

    def _lost(self) -> None:
        how = self.port.choose("lost_disconnect_resp")
        self.vi.gone = True
        if how == "success":
            self._done("VIP_SUCCESS")
        else:
            self._done("VIP_NOT_REACHABLE", "idle" if how == "idle" else "error")

    def take_over(self, call: Call) -> None:
        """VipDisconnect while the provider's own request is open."""
        self.call = call

    def logged_out(self) -> None:
        """Nothing is left to wait for."""
        self._stop()
        self._done("VIP_SUCCESS")


class Disconnects:
    """What the port does with Disconnect requests of both sides."""

    def __init__(self, port: "Rev1Port") -> None:
        self.port = port
        self.remembered: Dict[int, int] = {}

    def remember(self, vi: Rev1Vi) -> None:
        """An End Point goes Idle: a DISCONNECT_RQST that crosses ours still names its handle."""
        if vi.handle is not None and vi.remote_handle is not None:
            self.remembered[vi.handle] = vi.remote_handle

    def by_provider(self, vi: Rev1Vi) -> None:
        """The connection of a VI that went to Error is taken away at once, or when its application asks."""
        how = self.port.choose("error_disconnect")
        if vi.disconnect is None and (how == "always" or (how == "reliable" and vi.reliable)):
            vi.disconnect = Disconnect(self.port, vi, None)
            vi.disconnect.start()

    def request(self, vi: Rev1Vi, call: Call) -> None:
        """VipDisconnect."""
        if vi.disconnect:
            if vi.disconnect.call:
                call.reply("VIP_ERROR_RESOURCE")
            else:
                vi.disconnect.take_over(call)
        elif vi.setup:
            vi.setup.cancel()
            call.reply("VIP_SUCCESS")
        elif not self._connected(vi):
            vi.release()
            call.reply("VIP_SUCCESS")
        else:
            self.port.sender.stop(vi)
            vi.disconnect = Disconnect(self.port, vi, call)
            if self.port.login.done:
                vi.disconnect.start()
            else:  # the connection has outlived a logout (R31)
                self.port.login.ensure(vi.disconnect.start, vi.disconnect.logged_out)

    def _connected(self, vi: Rev1Vi) -> bool:
        ask = self.port.choose("disconnect_gone") == "ask" and self.port.login.done
        return vi.state in ("connected", "error") and vi.remote_handle is not None and vi.established and (not vi.gone or ask)

    def requested(self, exchange: Exchange, iu: Iu) -> None:
        """A DISCONNECT_RQST has arrived."""
        vi = self.port.vi_of(iu.handle)
        if vi and vi.remote_handle is not None:
            reply = Iu(DISCONNECT_RESP, vi.remote_handle, 0, iu.msg_id, last=True, cs_ctl=vi.cs_ctl)
            self._tear_down(vi)
        else:
            reply = self._unknown(iu)
        if not self.port.bad("no-disconnect-resp"):
            later(self.port, "disconnect_resp_delay", lambda: self._respond(exchange, reply))

    def _respond(self, exchange: Exchange, reply: Iu) -> None:
        if self.port.theirs.get((exchange.peer, exchange.ox_id)) is exchange:
            self.port.send_iu(exchange, reply)

    def _unknown(self, iu: Iu) -> Iu:
        """No such connection (R07)."""
        error = self.port.choose("disconnect_unknown") == "error"
        handle = self.remembered.get(iu.handle, UNASSIGNED)
        return Iu(DISCONNECT_RESP, handle, CONN_ERR if error else 0, iu.msg_id, NO_WAITING << 16 if error else 0, last=True)

    def _tear_down(self, vi: Rev1Vi) -> None:
        """The peer has removed the connection: Error, and the application is told."""
        if self.port.bad("survives-disconnect"):
            return
        vi.gone = True
        if vi.setup and not vi.disconnect:
            vi.setup.cancel()
            return
        self.port.sender.stop(vi)
        if vi.disconnect or vi.state != "connected":
            return
        if self.port.bad("idle-after-disconnect"):
            vi.release()
        else:
            vi.fail("VIP_ERROR_CONN_LOST")

    def logged_out(self) -> None:
        """No Disconnect can be answered any more."""
        self.remembered.clear()
        for vi in self.port.vis.values():
            if vi.disconnect:
                vi.disconnect.logged_out()
