"""Disconnect in both roles: 5.3.5, 6.12, 6.13, 8.6 and Annex D."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Optional, Tuple

from .clock import Timer
from .setup import ClientSetup, ServerSetup, later
from .vi import Call, Vi
from .wire import APP_DISCON, DISCONNECT_RESP, DISCONNECT_RQST, SETUP_ABORT, UNASSIGNED, Iu

if TYPE_CHECKING:
    from .port import Exchange, Port

WRITE_PROTECTION, PROTOCOL_ERROR, UNKNOWN, ACCEPT, VENDOR = 0x43, 0x48, 0x4A, 0x4B, 0xF1
CODES = {"none": 0, "48": PROTOCOL_ERROR, "4a": UNKNOWN, "vendor": VENDOR}


class Disconnect:
    """One VipDisconnect that waits for its DISCONNECT_RESP."""

    def __init__(self, port: "Port", vi: Vi, call: Call) -> None:
        self.port, self.vi, self.call = port, vi, call
        self.exchange: Optional["Exchange"] = None
        self.timer: Optional[Timer] = None
        self.tries = 0
        self.aborts_setup = not vi.established

    def start(self) -> None:
        """DISCONNECT_RQST, and ABTS for a setup that is still open (E115)."""
        vi, abts_first = self.vi, self.port.choose("abort_abts") == "before"
        vi.receiving = False
        if vi.state == "connected" and self.port.choose("disconnecting_state") == "error":
            vi.become("error")
        setup = vi.setup
        if setup and abts_first:
            setup.stop(True)
        self._send()
        if setup and not abts_first:
            setup.stop(True)

    def _send(self) -> None:
        port, vi = self.port, self.vi
        self.tries += 1
        flags = (0 if port.bad("no-app-discon") else APP_DISCON) | (SETUP_ABORT if self.aborts_setup else 0)
        unknown = vi.handle if port.choose("abort_handle") == "own" else None
        handle = next((value for value in (vi.remote_handle, unknown) if value is not None), UNASSIGNED)
        established_id = UNASSIGNED if port.choose("disconnect_connection_id") == "ffffffff" else 0
        status, param = port.status_only(vi.cause)
        self.exchange = port.open_exchange()
        self.exchange.on_iu, self.exchange.on_error = self._answered, self._expired
        iu = Iu(DISCONNECT_RQST, handle, flags | status, 0 if self.aborts_setup else msg_id(port, vi), param,
                word7=vi.connection_id if self.aborts_setup else established_id, initiative=True)
        port.send_iu(self.exchange, iu)
        timeout = port.faults.scaled("disconnect-timeout", port.r_a_tov)
        if not port.bad("disconnect-timeout-never"):
            self.timer = port.clock.after(timeout, self._expired)
        if port.bad("disconnect-without-response"):
            self._done("VIP_SUCCESS")

    def _stop(self) -> None:
        if self.timer:
            self.timer.cancel()

    def _answered(self, iu: Iu) -> None:
        """Whatever its status, the peer has nothing of the connection any more (E41)."""
        if iu.opcode != DISCONNECT_RESP or self.port.bad("disconnect-resp-ignored"):
            return
        self._stop()
        if self.exchange:
            self.port.close(self.exchange)
        if self.vi.disconnect is self:
            self._done("VIP_SUCCESS")

    def _done(self, code: str) -> None:
        self.vi.disconnect = None
        self.vi.release()
        self.call.reply(code)

    def _expired(self) -> None:
        """No DISCONNECT_RESP in time, or a Sequence error (8.6.3 a)."""
        self._stop()
        if self.exchange:
            if self.port.bad("no-disconnect-abts"):
                self.port.close(self.exchange)
            else:
                self.port.abort(self.exchange)
        if self.tries == 1 and self.port.choose.yes("disconnect_retry"):
            self._send()
            return
        self.vi.disconnect = None
        if self.port.bad("idle-after-no-response"):
            self.vi.release()
        elif not (self.port.bad("connected-after-no-response") and self.vi.established):
            self.vi.fail()
        self.call.reply("VIP_SUCCESS" if self.port.bad("success-after-no-response") else "VIP_NOT_REACHABLE")

    def logged_out(self) -> None:
        """The connection went with the login: nothing is left to wait for."""
        self._stop()
        self._done("VIP_SUCCESS")


class ProviderDisconnect:
    """A DISCONNECT_RQST of the provider's own: VI_APP_DISCON zero."""

    def __init__(self, port: "Port", vi: Vi) -> None:
        self.port, self.vi, self.answered = port, vi, False
        self.tries = 2 if port.choose.yes("provider_retry") else 1
        self._ask()

    def _ask(self) -> None:
        port, vi = self.port, self.vi
        self.tries -= 1
        self.exchange = port.open_exchange()
        self.exchange.on_iu, self.exchange.on_error = self._answered, self._expired
        status, param = port.status_only(vi.cause)
        handle = UNASSIGNED if vi.remote_handle is None else vi.remote_handle
        port.send_iu(self.exchange, Iu(DISCONNECT_RQST, handle, status, msg_id(port, vi), param, word7=0, initiative=True))
        self.timer = port.clock.after(port.r_a_tov, self._expired)

    def _answered(self, iu: Iu) -> None:
        if iu.opcode == DISCONNECT_RESP:
            self.timer.cancel()
            self.answered = True
            self.port.close(self.exchange)

    def _expired(self) -> None:
        """8.6.3 a): the VI is in Error already."""
        self.timer.cancel()
        self.port.abort(self.exchange)
        if self.tries and self.vi.state == "error" and not self.vi.disconnect:
            self._ask()


def msg_id(port: "Port", vi: Vi) -> int:
    """The last Message completed, in the direction that was chosen (E28)."""
    received, sent = vi.last_received, vi.last_sent
    values = {"received": received, "sent": sent, "highest": max(received, sent)}
    return values[port.choose("disconnect_msg_id")]


class Disconnects:
    """What the port does with Disconnect requests of both sides."""

    def __init__(self, port: "Port") -> None:
        self.port = port
        self.remembered: Dict[int, Tuple[int, Vi, int]] = {}
        self.asked: Dict[int, ProviderDisconnect] = {}

    def remember(self, vi: Vi) -> None:
        """An Endpoint goes Idle: a late DISCONNECT_RQST may still name its handle (D.2, E68)."""
        if vi.handle is not None and vi.remote_handle is not None and vi.established:
            self.remembered[vi.handle] = (vi.remote_handle, vi, msg_id(self.port, vi))

    def logged_out(self) -> None:
        """No Disconnect can be answered any more."""
        self.remembered.clear()
        self.asked.clear()
        for vi in self.port.vis.values():
            if vi.disconnect:
                vi.disconnect.logged_out()

    def by_provider(self, vi: Vi) -> None:
        """The connection of a VI that has gone to Error is disconnected at once; its application has still to do so (5.3.5)."""
        if self.port.choose.yes("error_disconnect") and vi.remote_handle is not None:
            self.asked[vi.number] = ProviderDisconnect(self.port, vi)

    def request(self, vi: Vi, call: Call) -> None:
        """VipDisconnect; where the provider has had its answer already there is nothing left to ask for."""
        asked = self.asked.pop(vi.number, None)
        if vi.disconnect:
            call.reply("VIP_ERROR_RESOURCE")
        elif vi.state == "idle" or not self.port.login.done or (asked and asked.answered and vi.state == "error"):
            vi.release()
            call.reply("VIP_SUCCESS")
        else:
            vi.disconnect = Disconnect(self.port, vi, call)
            vi.disconnect.start()

    def requested(self, exchange: "Exchange", iu: Iu) -> None:
        """A DISCONNECT_RQST has arrived."""
        if iu.payload or self.port.bad("no-disconnect-resp"):
            self.port.close(exchange)
            return
        if iu.flags & SETUP_ABORT:
            reply = self._setup_abort(iu)
        else:
            reply = self._established(iu)
        later(self.port, "disconnect_resp_delay", lambda: self._respond(exchange, reply))

    def _respond(self, exchange: "Exchange", reply: Iu) -> None:
        if exchange is self.port.theirs.get((exchange.peer, exchange.ox_id)):
            self.port.send_iu(exchange, reply)

    def _reply(self, iu: Iu, handle: int, code: int, last_msg: int = 0) -> Iu:
        status, param = self.port.status_only(code)
        return Iu(DISCONNECT_RESP, handle, iu.flags & (SETUP_ABORT | APP_DISCON) | status, last_msg, param,
                  word7=iu.word7, last=True)

    def _accepted(self, iu: Iu, vi: Vi) -> Iu:
        code = ACCEPT if self.port.choose("resp_status") == "4b" else 0
        handle = UNASSIGNED if vi.remote_handle is None else vi.remote_handle
        return self._reply(iu, handle, code, 0 if iu.flags & SETUP_ABORT else msg_id(self.port, vi))

    def _unknown(self, iu: Iu) -> Iu:
        """Rule D-3, with the FCVI_CONNECTION_ID of 6.13.2."""
        code = CODES[self.port.choose("resp_unknown_status")]
        reply = self._reply(iu, UNASSIGNED, WRITE_PROTECTION if self.port.bad("no-4a") else code)
        if self.port.choose("resp_unknown_id") == "ffffffff":
            reply.word7 = UNASSIGNED
        return reply

    def _by_handle(self, handle: int) -> Optional[Vi]:
        return next((vi for vi in self.port.open_vis() if vi.handle == handle), None)

    def _established(self, iu: Iu) -> Iu:
        vi = self._by_handle(iu.handle)
        if vi:
            reply = self._accepted(iu, vi)
            self._tear_down(vi)
            return reply
        if iu.handle not in self.remembered:
            return self._unknown(iu)
        handle, old, last_msg = self.remembered[iu.handle]
        if self.port.bad("callback-when-idle"):
            self.port.notify("error", {"vi": old.number, "code": "VIP_ERROR_CONN_LOST"})
        code = {"4a": UNKNOWN, "4b": ACCEPT}.get(self.port.choose("resp_idle_status"), 0)
        return self._reply(iu, handle, code, last_msg)

    def _setup_abort(self, iu: Iu) -> Iu:
        vi = next((vi for vi in self.port.open_vis() if iu.word7 in vi.connection_ids), None)
        if vi:
            reply = self._accepted(iu, vi)
            self._tear_down(vi)
            return reply
        undecided = self.port.setups.by_id(iu.word7)
        if undecided:
            undecided.stop(False)
            code = ACCEPT if self.port.choose("resp_status") == "4b" else 0
            return self._reply(iu, undecided.payload.handle, code)
        vi = self._by_handle(iu.handle)
        if vi is None:
            return self._unknown(iu)
        if self.port.bad("r6-closes"):
            self._tear_down(vi)
        handle = UNASSIGNED if vi.remote_handle is None else vi.remote_handle
        return self._reply(iu, handle, WRITE_PROTECTION if self.port.bad("no-48") else CODES[self.port.choose("resp_mixed_status")])

    def _tear_down(self, vi: Vi) -> None:
        """The peer has ended the connection or its setup (D.2, C.5.9.2)."""
        if self.port.bad("survives-disconnect"):
            return
        was_connected = vi.state == "connected"
        if vi.setup and not was_connected:
            vi.setup.stop(isinstance(vi.setup, ClientSetup))
        elif isinstance(vi.setup, ServerSetup):
            vi.setup.stop(False)
        elif vi.setup:
            vi.setup.stop(True)
        if vi.disconnect:
            return
        if self.port.bad("idle-after-disconnect"):
            vi.release()
        elif vi.state != "error":
            told = was_connected and not self.port.bad("quiet-disconnect")
            vi.fail("VIP_ERROR_CONN_LOST" if told else None)
