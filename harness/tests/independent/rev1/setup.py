"""Client-Server Connection Setup in both roles, and what the port does with every CONNECT_RQST: 5.3.2, 6.7 to 6.9."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Callable, Dict, List, Optional, Tuple

from ..clock import Timer
from ..vi import Call
from .attempt import Attempt, later, own_attributes, reason_of, setup_cs_ctl
from .exchange import Exchange
from .peer import Peers
from .vi import Rev1Vi
from .wire import (
    CLIENT_SERVER,
    CONN_ERR,
    NO_DISCRIMINATOR,
    NO_WAITING,
    PEER_TO_PEER,
    REJECT,
    RESP1,
    RESP2,
    REVISION,
    TIMEOUT,
    UNASSIGNED,
    Attributes,
    ConnectPayload,
    Iu,
    NetAddress,
    revision_of,
)

if TYPE_CHECKING:
    from .port import Rev1Port


def refusal(code: int) -> str:
    """The VIPL return code for a Reason Code of RESP1."""
    if code in (NO_DISCRIMINATOR, NO_WAITING):
        return "VIP_NO_MATCH"
    return "VIP_TIMEOUT" if code == TIMEOUT else "VIP_REJECT"


def mismatch(port: "Rev1Port", asked: Attributes, own: Attributes) -> Optional[str]:
    """VI-DG 6.7: what does not match of two sets of attributes (R29)."""
    if port.bad("accepts-any-attributes"):
        return None
    if asked.level != own.level:
        return "VIP_INVALID_RELIABILITY_LEVEL"
    if port.choose("attributes") == "level":
        return None
    if asked.max_transfer != own.max_transfer:
        return "VIP_INVALID_MTU"
    return "VIP_INVALID_QOS" if asked.preference != own.preference else None


class ClientSetup:
    """One VipConnectRequest."""

    def __init__(self, port: "Rev1Port", vi: Rev1Vi, call: Call, local: NetAddress, remote: NetAddress) -> None:
        self.port, self.vi, self.call, self.local, self.remote = port, vi, call, local, remote
        self.t1: Optional[Timer] = None
        self.tries = 0
        self.attempt = self._new_attempt()

    def _new_attempt(self) -> Attempt:
        attempt = Attempt(self.port, self.vi, self.local, self.remote, False)
        attempt.on_accept, attempt.on_refusal, attempt.on_lost = self._accepted, self._refused, self._lost
        return attempt

    def start(self, timeout: Optional[int]) -> None:
        """Idle to Pending Connect."""
        vi, port = self.vi, self.port
        vi.bind(port.handle_for(vi))
        vi.setup = self
        vi.become("pending-connect")
        if timeout is not None and not port.bad("t1-never"):
            self.t1 = port.clock.after(timeout, self._t1_expired)
        port.resolver.resolve(self.remote.host, self._resolved, self._unreachable)

    def owns_vi(self) -> bool:
        """The application still waits."""
        return self.vi.setup is self

    def _resolved(self, port_id: int) -> None:
        self.vi.peer_id = port_id
        self.port.login.ensure(self._request, self._unreachable)

    def _request(self) -> None:
        if self.owns_vi():
            self.attempt.send()

    def _unreachable(self) -> None:
        if self.owns_vi():
            self._fail("VIP_NOT_REACHABLE", self.vi.reliable)

    def _fail(self, code: str, error: bool) -> None:
        self._stop_t1()
        self.vi.setup = None
        if error:
            self.vi.fail()
        else:
            self.vi.release(flush=False)
        self.vi.gone = True
        self.call.reply(code)

    def _stop_t1(self) -> None:
        if self.t1 and not self.port.bad("t1-ends-a-connection"):
            self.t1.cancel()

    def _accepted(self, payload: ConnectPayload) -> int:
        vi = self.vi
        if payload.attributes.level != vi.attributes.level and not self.port.bad("accepts-any-attributes"):
            self._fail("VIP_REJECT", False)
            return REJECT
        self._stop_t1()
        vi.remote_handle, vi.setup = payload.handle, None
        vi.connect(True)
        self.call.reply("VIP_SUCCESS", RemoteViAttribs=payload.attributes)
        return 0

    def _refused(self, code: int, _: Optional[ConnectPayload]) -> None:
        self._fail(refusal(code), self.port.bad("error-after-refusal"))

    def _lost(self) -> None:
        """No RESP1 came; the draft ends the Exchange and says no more."""
        how = self.port.choose("lost_resp1")
        self.tries += 1
        if how == "again" and self.tries == 1:
            self.attempt = self._new_attempt()
            self.attempt.send()
        elif how == "timeout":
            self._fail("VIP_TIMEOUT", False)
        elif how != "waits" and self.owns_vi():
            self._fail("VIP_NOT_REACHABLE", self.vi.reliable)

    def _t1_expired(self) -> None:
        """The application's Timeout."""
        if not self.owns_vi():
            self.port.broken(self.vi, "VIP_ERROR_CONN_LOST")
            return
        self._end("VIP_TIMEOUT", TIMEOUT)

    def _end(self, code: str, reason: int) -> None:
        self._stop_t1()
        self.vi.setup = None
        self.vi.release(flush=self.port.choose.yes("t1_flush") or code != "VIP_TIMEOUT")
        self.attempt.give_up(reason)
        self.call.reply(code)

    def cancel(self) -> None:
        """VipDisconnect while the request is open."""
        self._end("VIP_NOT_REACHABLE", REJECT)

    def logged_out(self) -> None:
        """The Exchange went with the login."""
        self.attempt.stop()
        self._fail("VIP_NOT_REACHABLE", True)


class ServerSetup:
    """One CONNECT_RQST received, for a server or for a peer: RESP1, and RESP2 awaited."""

    def __init__(self, setups: "Setups", exchange: Exchange, iu: Iu, payload: ConnectPayload) -> None:
        self.setups, self.port, self.exchange = setups, setups.port, exchange
        self.payload: ConnectPayload = payload
        self.msg_id = iu.msg_id
        self.open, self.answered = True, False
        self.vi: Optional[Rev1Vi] = None
        self.call: Optional[Call] = None
        self.timer: Optional[Timer] = None
        self.on_end: Callable[[bool], None] = self._ended
        exchange.on_iu, exchange.on_abts = self._received, self._aborted
        exchange.on_error = lambda: None

    def accept(self, vi: Rev1Vi, call: Optional[Call], local: NetAddress, remote: NetAddress, bind: bool = True) -> None:
        """RESP1 with a handle of our own."""
        self.vi, self.call = vi, call
        if bind:
            vi.bind(self.port.handle_for(vi))
            vi.setup = self
        vi.peer_id, vi.remote_handle, vi.receiving = self.exchange.peer, self.payload.handle, True
        vi.become("pending-connect")
        handle = vi.handle if vi.handle is not None else UNASSIGNED
        self._answer(0, ConnectPayload(handle, local, remote, own_attributes(self.port, vi.attributes)))
        if self.port.bad("connected-before-resp2"):
            self._conclude(True)

    def refuse(self, code: int, own: Optional[Attributes] = None) -> None:
        """RESP1 with CONN_ERR (R11)."""
        handle = UNASSIGNED if self.port.choose("refusal_handle") == "ffffffff" else 0x00C0FFEE
        attributes = own_attributes(self.port, own or self.payload.attributes)
        if own is None and self.port.choose("refusal_attributes") == "zeros":
            attributes = Attributes(0, 0)
        self._answer(code, ConnectPayload(handle, self.payload.remote, self.payload.local, attributes))

    def _answer(self, code: int, payload: ConnectPayload) -> None:
        later(self.port, "resp1_delay", lambda: self._send_resp1(code, payload))

    def _send_resp1(self, code: int, payload: ConnectPayload) -> None:
        port = self.port
        if not self.open:
            return
        handle = self.payload.handle if port.choose("resp1_handle") == "requester" else UNASSIGNED
        self.answered = True
        if not port.bad("no-resp1"):
            payload = replace(payload, revision=port.choose.number("resp1_revision"))
            resp1 = Iu(RESP1, handle, CONN_ERR if code else 0, self.msg_id, reason_of(port, code),
                       payload=payload.pack(), initiative=True,
                       cs_ctl=setup_cs_ctl(port, self.vi))
            apart = port.bad("resp1-own-exchange")
            port.send_iu(port.open_exchange(peer=self.exchange.peer) if apart else self.exchange, resp1)
        self.timer = port.wait_response(self._expired)

    def _received(self, iu: Iu) -> None:
        if iu.opcode != RESP2 or not self.answered or not self.open:
            return
        self._close()
        bad = iu.flags & CONN_ERR and not self.port.bad("ignores-resp2-error")
        self._conclude(not bad)

    def _conclude(self, connected: bool) -> None:
        if self.vi is None:
            return
        if connected:
            self.vi.setup = None
            self.vi.connect(True)
        self.on_end(connected)

    def _ended(self, connected: bool) -> None:
        """The end of VipConnectAccept."""
        vi = self.vi
        if vi and not connected:
            vi.setup = None
            vi.release(flush=False)
        if self.call:
            self.call.reply("VIP_SUCCESS" if connected else "VIP_TIMEOUT")

    def _close(self) -> None:
        self.open = False
        if self.timer and not (self.vi and self.port.bad("resp2-timer-goes-on")):
            self.timer.cancel()
        self.port.close(self.exchange)

    def _aborted(self) -> None:
        """The client has given the Exchange up."""
        was_open = self.open
        self._close()
        if was_open and self.vi:
            self._lost()

    def _expired(self) -> None:
        """No RESP2 within FCVI_ULP_TIMEOUT (clause 8)."""
        was_open = self.open
        self._close()
        self.port.abort(self.exchange)
        if self.vi and was_open:
            self._lost()

    def _lost(self) -> None:
        """R01: the client may be Connected, this side is not."""
        vi = self.vi
        assert vi
        vi.setup = None
        if self.on_end != self._ended:
            self.on_end(False)
            return
        if self.port.choose("lost_resp2") == "error" and vi.state != "idle":
            vi.fail("VIP_ERROR_CONN_LOST")
            vi.gone = True
        else:
            vi.release()
        if self.call:
            self.call.reply("VIP_SUCCESS" if self.port.bad("accept-succeeds-without-resp2") else "VIP_TIMEOUT")

    def cancel(self) -> None:
        """VipDisconnect between RESP1 and RESP2."""
        self._close()
        self.port.abort(self.exchange)
        if self.vi:
            self.vi.setup = None
            self.vi.release()
        if self.call:
            self.call.reply("VIP_TIMEOUT")

    def logged_out(self) -> None:
        """The Exchange went with the login."""
        self._close()
        if self.vi and self.vi.setup is self:
            self._lost()


@dataclass
class Waiter:
    """One VipConnectWait: a VI Connection Point."""

    local: NetAddress
    call: Call
    t0: Optional[Timer] = None


class Setups:
    """All Connection Setups of the port."""

    def __init__(self, port: "Rev1Port") -> None:
        self.port = port
        self.waiters: List[Waiter] = []
        self.conns: Dict[int, Tuple[ServerSetup, Waiter]] = {}
        self.peers = Peers(port)
        self._next_conn = 1
        self._confirmed: Dict[int, Rev1Vi] = {}

    def wait(self, local: NetAddress, timeout: Optional[int], call: Call) -> None:
        """VipConnectWait."""
        if len(self.waiters) >= self.port.choose.number("waits"):
            call.reply("VIP_ERROR_RESOURCE")
            return
        waiter = Waiter(local, call)
        self.waiters.append(waiter)
        if timeout is not None:
            waiter.t0 = self.port.clock.after(timeout, lambda: self._t0_expired(waiter))

    def _t0_expired(self, waiter: Waiter) -> None:
        self.waiters.remove(waiter)
        waiter.call.reply("VIP_TIMEOUT")

    # R01: what the server says of a setup that the client has confirmed

    def remember(self, exchange: Exchange, vi: Rev1Vi) -> None:
        """RESP2 has left; if it is lost, the server's ABTS tells."""
        if self.port.choose("abts_after_resp2") == "lost":
            self._confirmed[exchange.ox_id] = vi

    def forget(self, ox_id: int) -> None:
        """The OX_ID stands for another Exchange now."""
        self._confirmed.pop(ox_id, None)

    def aborted_by_server(self, ox_id: int) -> None:
        """ABTS from the responder of a setup that is over for us."""
        vi = self._confirmed.pop(ox_id, None)
        if vi and vi.state == "connected":
            vi.fail("VIP_ERROR_CONN_LOST")
            self.port.sender.stop(vi)
            vi.gone = True

    # What arrives

    def requested(self, exchange: Exchange, iu: Iu) -> None:
        """A CONNECT_RQST."""
        mode = iu.flags & 7
        try:
            payload = ConnectPayload.unpack(iu.payload)
            if mode not in (CLIENT_SERVER, PEER_TO_PEER) or revision_of(iu.payload) != REVISION or payload.handle == UNASSIGNED:
                raise ValueError(f"mode {mode}, revision {revision_of(iu.payload):08x}, handle {payload.handle:08x}")
        except ValueError as error:
            self._malformed(exchange, iu, str(error))
            return
        setup = ServerSetup(self, exchange, iu, payload)
        if mode == PEER_TO_PEER:
            self.peers.requested(setup)
            return
        waiter = self._match(payload)
        if waiter is None:
            setup.refuse(self._no_match())
            return
        self._offer(setup, waiter)

    def _malformed(self, exchange: Exchange, iu: Iu, error: str) -> None:
        """R27: silence, or a refusal."""
        self.port.log(f"CONNECT_RQST: {error}")
        how = self.port.choose("malformed")
        if how == "abts":
            self.port.abort(exchange)
        if how != "refuse":
            self.port.close(exchange)
            return
        here, there = NetAddress(self.port.hosts[0], b""), NetAddress(self.port.peer_hosts[0], b"")
        ServerSetup(self, exchange, iu, ConnectPayload(UNASSIGNED, there, here)).refuse(REJECT)

    def _offer(self, setup: ServerSetup, waiter: Waiter) -> None:
        self.waiters.remove(waiter)
        if waiter.t0:
            waiter.t0.cancel()
        conn, self._next_conn = self._next_conn, self._next_conn + 1
        self.conns[conn] = setup, waiter
        waiter.call.reply("VIP_SUCCESS", conn=conn, RemoteAddr=setup.payload.local, RemoteViAttribs=setup.payload.attributes)

    def _match(self, payload: ConnectPayload) -> Optional[Waiter]:
        """VI-DG 6.7: the client's remote address, host and Discriminator."""
        if self.port.bad("oldest-wait-matches") and any(waiter.local == payload.remote for waiter in self.waiters):
            return self.waiters[0]
        for waiter in self.waiters:
            if waiter.local == payload.remote or self.port.bad("accepts-any-discriminator"):
                return waiter
            own, called = waiter.local.discriminator, payload.remote.discriminator
            if self.port.bad("host-not-compared") and own == called:
                return waiter
            hosts = waiter.local.host == payload.remote.host
            if self.port.bad("discriminator-length-ignored") and hosts and own.ljust(128, b"\0") == called.ljust(128, b"\0"):
                return waiter
            if self.port.bad("sixteen-bytes-match") and hosts and len(own) == len(called) and own[:16] == called[:16]:
                return waiter
        return None

    def _no_match(self) -> int:
        """R24."""
        policy = self.port.choose("no_match")
        if self.port.bad("wrong-reason"):
            return TIMEOUT
        if policy == "each":
            return NO_DISCRIMINATOR if self.waiters else NO_WAITING
        return int(policy, 16)

    def accept_error(self, setup: ServerSetup, vi: Rev1Vi) -> Optional[str]:
        """What VipConnectAccept objects to before anything is sent (VI-DG 6.7, R16)."""
        if not setup.open:
            return "VIP_TIMEOUT"
        problem = mismatch(self.port, setup.payload.attributes, vi.attributes)
        if problem and self.port.choose("accept_mismatch") == "reject":
            setup.refuse(REJECT, vi.attributes)
        return problem

    def logged_out(self) -> None:
        """No setup survives a logout."""
        self._confirmed.clear()
        for setup, _ in self.conns.values():
            setup.logged_out()
        for vi in self.port.vis.values():
            if isinstance(vi.setup, (ClientSetup, ServerSetup)):
                vi.setup.logged_out()
        self.peers.logged_out()
