"""Client-Server Connection Setup: 5.3.2, 8.5 and the rules of Annex C, in both roles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from .clock import Timer
from .vi import Call, Vi
from .wire import (
    CONN_STS,
    CONNECT_RQST,
    MODE_CLIENT_SERVER,
    RESP1,
    RESP2,
    RESP3,
    RESP_INFO,
    RESP_RETRY,
    RQST_INFO,
    RQST_RETRY,
    UNASSIGNED,
    Attributes,
    ConnectPayload,
    Iu,
    NetAddress,
    reason,
)

if TYPE_CHECKING:
    from .port import Exchange, Port

NO_DISCRIMINATOR, TIMEOUT, NO_WAITING, REJECT, BAD_LOGIN, PROTOCOL = 0x01, 0x02, 0x03, 0x04, 0x20, 0x21
INFO = bytes(range(256))


def refusal(code: int) -> str:
    """The VIPL return code for a Reason Code of RESP1."""
    if code in (NO_DISCRIMINATOR, NO_WAITING):
        return "VIP_NO_MATCH"
    return "VIP_REJECT" if code < 0x20 else "VIP_NOT_REACHABLE"


def later(port: "Port", choice: str, act: Callable[[], None]) -> None:
    """Now, or after the delay that was chosen."""
    delay = port.choose.number(choice)
    if delay:
        port.clock.after(delay, act)
    else:
        act()


class ClientSetup:
    """One VipConnectRequest: T1 for the application, T3 for each CONNECT_RQST, one retry."""

    def __init__(self, port: "Port", vi: Vi, call: Call, local: NetAddress, remote: NetAddress) -> None:
        self.port, self.vi, self.call, self.local, self.remote = port, vi, call, local, remote
        self.exchange: Optional["Exchange"] = None
        self.connection_id, self.retries, self.retry = 0, 0, False
        self.resp1: Optional[Iu] = None
        self.answered = False  # by RESP2: a RESP3 that comes before it confirms nothing
        self.answer: Optional[ConnectPayload] = None
        self.t1: Optional[Timer] = None
        self.t3: Optional[Timer] = None

    def start(self, timeout: Optional[int]) -> None:
        """Idle to Pending Connect."""
        self.vi.bind(self.port.new_handle())
        self.vi.setup = self
        self.vi.become("pending-connect")
        if timeout is not None and not self.port.bad("t1-never"):
            self.t1 = self.port.clock.after(timeout, self._t1_expired)
        self.port.login.ensure(self._request, self._unreachable)

    def owns_vi(self) -> bool:
        """The application still waits for, or uses, this attempt."""
        return self.vi.setup is self

    def _unreachable(self) -> None:
        if self.owns_vi():
            self._stop_t1()
            self.vi.fail()
            self.call.reply("VIP_NOT_REACHABLE")

    def _request(self) -> None:
        if not self.owns_vi() and not self.port.bad("retry-after-t1"):
            return
        port, bad = self.port, self.port.bad
        if not (self.retry and bad("retry-same-connection-id")):
            self.connection_id = port.new_connection_id()
        reuse = self.exchange.ox_id if self.exchange and bad("retry-same-ox-id") else None
        self.resp1 = self.answer = None
        self.answered = False
        self.exchange = port.open_exchange(reuse)
        self.exchange.on_iu, self.exchange.on_error = self._received, self._failed
        self.vi.connection_id = self.connection_id
        self.vi.connection_ids.add(self.connection_id)
        own = self.vi.handle if self.vi.handle is not None else 0
        if self.retry and bad("retry-other-handle"):
            own = self.vi.handle = port.new_handle()
        with_info = port.choose.yes("connect_info")
        payload = ConnectPayload(own, self.local, self.remote, self.vi.attributes, INFO if with_info else b"")
        flags = MODE_CLIENT_SERVER | (RQST_INFO if with_info else 0) | (RQST_RETRY if self.retry else 0)
        port.send_iu(self.exchange, Iu(CONNECT_RQST, flags=flags, word7=self.connection_id,
                                       payload=payload.pack(), initiative=True))
        t3 = port.faults.scaled("t3", port.r_a_tov)
        self.t3 = port.clock.after(t3, self._failed)

    def _stop_t1(self) -> None:
        if self.t1:
            self.t1.cancel()

    def _stop_t3(self) -> None:
        if self.t3:
            self.t3.cancel()

    # What arrives

    def _received(self, iu: Iu) -> None:
        if iu.word7 != self.connection_id:
            return
        if iu.opcode == RESP1 and self.resp1 is None:
            try:
                self.answer = ConnectPayload.unpack(iu.payload, bool(iu.flags & RESP_INFO))
            except ValueError as error:
                self.port.log(f"RESP1 discarded: {error}")
                return
            if not iu.flags & CONN_STS and self.answer.handle == UNASSIGNED:
                return
            self.resp1 = iu
            self.vi.receiving = self.owns_vi() and not iu.flags & CONN_STS
            self.vi.remote_handle = self.answer.handle if self.vi.receiving else self.vi.remote_handle
            exchange = self.exchange
            later(self.port, "resp2_delay", lambda: self._answer_resp1(exchange))
        elif iu.opcode == RESP3 and self.answered and not self.port.bad("resp3-ignored"):
            self._finish(iu)

    def _refused(self) -> int:
        """The Reason Code of a refusing RESP1, 0 for an accept: only CONN_STS decides (E07)."""
        assert self.resp1
        if self.port.bad("strict-flags") and self.resp1.flags:
            return REJECT
        if self.port.bad("accepts-refusal") or not self.resp1.flags & CONN_STS:
            return 0
        return self.resp1.param >> 16 & 0xFF or PROTOCOL

    def _answer_resp1(self, exchange: Optional["Exchange"]) -> None:
        if exchange is None or exchange is not self.exchange:
            return
        self.answered = True
        code = self._refused()
        if not self.owns_vi():
            self._send_resp2(0 if self.port.bad("no-timeout-status") else TIMEOUT)
        elif code:
            self._refusal(code)
        else:
            self._stop_t1()
            self._send_resp2(0)
            self.vi.connect(False)
            assert self.answer
            self.call.reply("VIP_SUCCESS", RemoteViAttribs=self.answer.attributes)

    def _send_resp2(self, code: int) -> None:
        assert self.exchange and self.answer
        flags = RESP_RETRY if self.retry else 0
        self.port.send_iu(self.exchange, Iu(RESP2, self.answer.handle, flags | (CONN_STS if code else 0),
                                            param=reason(code), word7=self.connection_id, initiative=True))

    def _refusal(self, code: int) -> None:
        if not self.port.bad("no-resp2-after-refusal"):
            self._send_resp2(code if self.port.choose("resp2_after_refusal") == "repeat" else 0)
        if code == 0x22 and self.port.choose("reason_22") == "retry" and not self.retry:
            self._failed()
            return
        self._stop_t1()
        if code < 0x20 and not self.port.bad("error-after-refusal"):
            self.vi.release(flush=False)
        else:
            self.vi.fail()
        self.vi.setup = None
        self.call.reply(refusal(code))

    def _finish(self, iu: Iu) -> None:
        self._stop_t3()
        if self.exchange:
            self.port.close(self.exchange)
        self.exchange = None
        if not self.owns_vi() or self.vi.state != "connected":
            return
        if iu.flags & CONN_STS:
            self.vi.fail("VIP_ERROR_CONN_LOST")
        else:
            self.vi.open_fully()

    # Timers

    def _t1_expired(self) -> None:
        """The application stops waiting; the handshake goes on without it (C.5.2)."""
        self.vi.receiving = False
        self.vi.setup = None
        if self.port.bad("error-after-t1"):
            self.vi.fail()
        else:
            self.vi.release(flush=self.port.choose.yes("t1_flush"))
        self.call.reply("VIP_TIMEOUT")

    def _failed(self) -> None:
        """No RESP3 in time, or a Sequence error (8.5.3 a; C rules 2 to 5)."""
        self._stop_t3()
        exchange, port = self.exchange, self.port
        if exchange is None:
            return
        if not port.bad("retry-same-ox-id"):
            self.exchange = None
        port.kill_id(True, self.connection_id)
        state = self.vi.state if self.owns_vi() else "idle"
        if port.bad("retry-after-t1") and not self.owns_vi() and not self.retry:
            state = "retry"
        allowed = {"no-retry": 0, "two-retries": 2}.get(port.faults.name, 1)
        if state == "connected":
            port.abort(exchange)
            if not port.bad("stays-connected"):
                self.vi.cause = {"40": 0x40, "49": 0x49}.get(port.choose("lost_resp3_status"), 0)
                self.vi.fail("VIP_ERROR_CONN_LOST")
                port.disconnects.by_provider(self.vi)
        elif state == "retry" or (state.startswith("pending") and self.retries < allowed):
            self._retry(exchange)
        else:
            port.abort(exchange)
            if state.startswith("pending"):
                self._give_up()

    def _retry(self, exchange: "Exchange") -> None:
        self.retries += 1
        self.retry = True
        self.vi.receiving = False
        if self.owns_vi():
            self.vi.become("pending-connect-retry")
        self.port.abort(exchange, self._request, self.port.choose.yes("retry_waits_for_ba_acc"))

    def _give_up(self) -> None:
        self._stop_t1()
        self.vi.cause = 0x49 if self.port.choose("abort_status") == "49" else 0
        if self.port.bad("idle-after-failed-retry"):
            self.vi.release()
        else:
            self.vi.fail()
        self.call.reply("VIP_TIMEOUT" if self.port.bad("timeout-not-unreachable") else "VIP_NOT_REACHABLE")

    def stop(self, abts: bool) -> None:
        """The attempt ends from outside: VipDisconnect, a Disconnect of the peer, a logout."""
        self._stop_t1()
        self._stop_t3()
        if self.exchange and abts:
            self.port.abort(self.exchange)
        self.exchange = None
        self.call.reply("VIP_NOT_REACHABLE")


class ServerSetup:
    """One CONNECT_RQST received: T2 for RESP2, and the retry of the same request."""

    def __init__(self, setups: "Setups", exchange: "Exchange", iu: Iu, payload: ConnectPayload) -> None:
        self.setups, self.port, self.payload = setups, setups.port, payload
        self.exchange: Optional["Exchange"] = exchange
        self.connection_id, self.retry = iu.word7, bool(iu.flags & RQST_RETRY)
        self.code: Optional[int] = None
        self.vi: Optional[Vi] = None
        self.call: Optional[Call] = None
        self.t2: Optional[Timer] = None
        self.again = False
        self._attach(exchange)

    def _attach(self, exchange: "Exchange") -> None:
        exchange.on_iu, exchange.on_error, exchange.on_abts = self._received, self._t2_expired, self._aborted

    def _aborted(self) -> None:
        if self.port.choose("setup_abts") == "ends" and self.vi and self.vi.state == "pending-connect":
            self._t2_expired()
        self.exchange = None

    def is_offered(self) -> bool:
        """The application has not decided yet."""
        return self.code is None

    def retried(self, exchange: "Exchange", iu: Iu) -> None:
        """The same request again on a new Exchange: the same answer, RETRY set (C rules 8 and 9)."""
        if self.exchange:
            self.port.close(self.exchange)
        self.port.kill_id(False, self.connection_id)
        self.exchange, self.connection_id, self.retry = exchange, iu.word7, True
        self._attach(exchange)
        if self.vi:
            self._name_vi(self.vi)
        if not self.is_offered():
            self._answer()

    def _name_vi(self, vi: Vi) -> None:
        vi.connection_id = self.connection_id
        vi.connection_ids.add(self.connection_id)

    def accept(self, vi: Vi, call: Call) -> None:
        """VipConnectAccept: RESP1 goes out once the VI can receive (4.2)."""
        self.vi, self.call, self.code = vi, call, 0
        vi.bind(self.port.new_handle())
        vi.setup, vi.remote_handle, vi.receiving = self, self.payload.handle, True
        self._name_vi(vi)
        vi.become("pending-connect")
        self._answer()
        if self.port.bad("connected-before-resp2"):
            vi.connect(True)
            call.reply("VIP_SUCCESS")

    def confirm(self, vi: Vi) -> None:
        """A retry of a setup that had succeeded (C rule 9)."""
        self.vi, self.code, self.again = vi, 0, True
        self._name_vi(vi)
        self._answer()

    def refuse(self, code: int) -> None:
        """RESP1 with a Reason Code."""
        self.code = code
        self._answer()

    def _answer(self) -> None:
        exchange = self.exchange
        later(self.port, "resp1_delay", lambda: self._send_resp1(exchange))

    def _send_resp1(self, exchange: Optional["Exchange"]) -> None:
        if exchange is None or exchange is not self.exchange or self.code is None:
            return
        with_info = self.port.choose.yes("connect_info")
        handle, attributes = UNASSIGNED, replace(self.payload.attributes)
        if self.vi and self.vi.handle is not None:
            handle, attributes = self.vi.handle, self.vi.attributes
        elif self.code == REJECT and self.port.choose("refusal_resp_handle") == "other":
            handle = 0x00C0FFEE
        payload = ConnectPayload(handle, self.payload.remote, self.payload.local, attributes,
                                 INFO if with_info else b"")
        status, param = self.port.status_only(self.code)
        flags = status | (RESP_INFO if with_info else 0) | (RESP_RETRY if self.retry else 0)
        self.port.send_iu(self.exchange, Iu(RESP1, flags=flags, param=param, word7=self.connection_id,
                                            payload=payload.pack(), initiative=True))
        self._stop_t2()
        if not self.port.bad("t2-never"):
            t2 = self.port.faults.scaled("t2", 2 * self.port.r_a_tov)
            self.t2 = self.port.clock.after(t2, self._t2_expired)

    def _stop_t2(self) -> None:
        if self.t2:
            self.t2.cancel()

    def _received(self, iu: Iu) -> None:
        if iu.opcode != RESP2 or iu.word7 != self.connection_id or self.code is None or self.exchange is None:
            return
        own = self.vi.handle if self.vi and not self.code else None
        if own is not None and iu.handle != own:
            return
        self._stop_t2()
        exchange = self.exchange
        later(self.port, "resp3_delay", lambda: self._send_resp3(exchange, iu))

    def _send_resp3(self, exchange: "Exchange", resp2: Iu) -> None:
        if exchange is not self.exchange:
            return
        given_up = bool(resp2.flags & CONN_STS) and not self.port.bad("ignores-timeout-status")
        code = self.code or (resp2.param >> 16 & 0xFF or TIMEOUT if given_up else 0)
        handle = self.payload.handle
        if code and self.port.choose("resp3_handle_after_refusal") == "ffffffff":
            handle = UNASSIGNED
        repeated = code if self.port.choose("resp3_after_refusal") == "repeat" else 0
        status, param = self.port.status_only(repeated)
        flags, extra = status | (RESP_RETRY if self.retry else 0), self.port.choose.yes("resp3_initiative")
        if not self.port.bad("no-resp3"):
            self.port.send_iu(exchange, Iu(RESP3, handle, flags, param=param, word7=self.connection_id,
                                           initiative=extra, last=True))
        self._close()
        self._conclude(code)

    def _conclude(self, code: int) -> None:
        """VipConnectAccept completes (C.5.4), with VIP_TIMEOUT when the client had given up (C.5.6)."""
        if self.vi is None or self.again:
            return
        if code:
            self.vi.release(flush=False)
        else:
            self.vi.connect(True)
        if self.call:
            self.call.reply("VIP_TIMEOUT" if code else "VIP_SUCCESS")

    def _close(self) -> None:
        if self.exchange:
            self.port.close(self.exchange)
        self.exchange = None
        self.setups.drop(self)

    def _t2_expired(self) -> None:
        """No RESP2 in time, or a Sequence error (8.5.3 d, C rule 6b)."""
        self._stop_t2()
        self._close()
        self.port.kill_id(False, self.connection_id)
        if self.vi is None or self.again:
            return
        if self.port.choose("t2_state") == "idle":
            self.vi.release()
            self.port.notify("error", {"vi": self.vi.number, "code": "VIP_ERROR_CONN_LOST"})
        else:
            self.vi.fail(None if self.port.bad("t2-no-conn-lost") else "VIP_ERROR_CONN_LOST")
        if self.call:
            self.call.reply("VIP_SUCCESS" if self.port.bad("t2-success") else "VIP_TIMEOUT")

    def stop(self, abts: bool) -> None:
        """The attempt ends from outside; a responder sends no ABTS for it (E115)."""
        self._stop_t2()
        self._close()
        if self.call:
            self.call.reply("VIP_TIMEOUT")


@dataclass
class Waiter:
    """One VipConnectWait."""

    local: NetAddress
    call: Call
    t0: Optional[Timer] = None


class Setups:
    """All Connection Setups of the port."""

    def __init__(self, port: "Port") -> None:
        self.port = port
        self.waiters: List[Waiter] = []
        self.conns: Dict[int, ServerSetup] = {}
        self.served: List[ServerSetup] = []
        self._next_conn = 1

    def wait(self, local: NetAddress, timeout: Optional[int], call: Call) -> None:
        """VipConnectWait: a Connectionpoint until T0."""
        waiter = Waiter(local, call)
        self.waiters.append(waiter)
        if timeout is not None:
            waiter.t0 = self.port.clock.after(timeout, lambda: self._t0_expired(waiter))

    def _t0_expired(self, waiter: Waiter) -> None:
        self.waiters.remove(waiter)
        waiter.call.reply("VIP_TIMEOUT")

    def drop(self, setup: ServerSetup) -> None:
        """A setup is over."""
        if setup in self.served:
            self.served.remove(setup)

    def requested(self, exchange: "Exchange", iu: Iu) -> None:
        """A CONNECT_RQST has arrived."""
        try:
            payload = ConnectPayload.unpack(iu.payload, bool(iu.flags & RQST_INFO))
        except ValueError as error:
            self.port.log(f"CONNECT_RQST refused: {error}")
            here = NetAddress(self.port.hosts[0], bytes(16))
            there = NetAddress(self.port.peer_hosts[0], bytes(16))
            self._new(exchange, iu, ConnectPayload(UNASSIGNED, there, here)).refuse(PROTOCOL)
            return
        if not (iu.flags & RQST_RETRY and self._retried(exchange, iu, payload)):
            self._fresh(exchange, iu, payload)

    def _new(self, exchange: "Exchange", iu: Iu, payload: ConnectPayload) -> ServerSetup:
        setup = ServerSetup(self, exchange, iu, payload)
        self.served.append(setup)
        return setup

    def _retried(self, exchange: "Exchange", iu: Iu, payload: ConnectPayload) -> bool:
        if self.port.bad("refuses-retry"):
            self._new(exchange, iu, payload).refuse(REJECT)
            return True
        for setup in self.served:
            if setup.payload.handle == payload.handle:
                setup.retried(exchange, iu)
                return True
        for vi in self.port.vis.values():
            served = vi.state == "connected" and isinstance(vi.setup, ServerSetup)
            if served and vi.remote_handle == payload.handle:
                again = self._new(exchange, iu, payload)
                if self.port.choose("rule_9") == "accept":
                    again.confirm(vi)
                else:
                    again.refuse(PROTOCOL)
                return True
        return False

    def _fresh(self, exchange: "Exchange", iu: Iu, payload: ConnectPayload) -> None:
        setup = self._new(exchange, iu, payload)
        waiter = self._match(payload)
        code = self._objection(iu, payload) or (0 if waiter else self._no_match_code())
        if code or waiter is None:
            setup.refuse(REJECT if self.port.bad("wrong-reason") and code < 0x20 else code)
            return
        self.waiters.remove(waiter)
        if waiter.t0:
            waiter.t0.cancel()
        conn, self._next_conn = self._next_conn, self._next_conn + 1
        self.conns[conn] = setup
        waiter.call.reply("VIP_SUCCESS", conn=conn, RemoteAddr=payload.local,
                          RemoteViAttribs=payload.attributes)

    def _objection(self, iu: Iu, payload: ConnectPayload) -> int:
        mode = iu.flags & 7
        if not self.port.login.serves:
            return BAD_LOGIN
        if mode == 2:
            return self._no_match_code()
        refused = payload.handle == UNASSIGNED and self.port.choose("unassigned_handle") == "refuse"
        usable = mode == MODE_CLIENT_SERVER and not refused
        return 0 if usable and 1 <= payload.attributes.level <= 3 else PROTOCOL

    def _match(self, payload: ConnectPayload) -> Optional[Waiter]:
        """VI-DG 6.7: the client's remote address, host and Discriminator."""
        wanted = payload.remote
        for waiter in self.waiters:
            if self.port.bad("accepts-any-discriminator") or waiter.local == wanted:
                return waiter
        return None

    def _no_match_code(self) -> int:
        policy = self.port.choose("no_match")
        if policy == "each":
            return NO_DISCRIMINATOR if self.waiters else NO_WAITING
        return int(policy, 16)

    def by_id(self, connection_id: int) -> Optional[ServerSetup]:
        """An open setup by the FCVI_CONNECTION_ID of its request."""
        return next((one for one in self.served if one.connection_id == connection_id), None)

    def logged_out(self) -> None:
        """No setup survives a logout (7.7.1)."""
        for setup in list(self.served):
            setup.stop(False)
            if setup.vi and not setup.again:
                setup.vi.fail("VIP_ERROR_CONN_LOST")
        for vi in self.port.vis.values():
            if isinstance(vi.setup, ClientSetup):
                vi.setup.stop(False)
                if vi.state.startswith("pending"):
                    vi.fail("VIP_ERROR_CONN_LOST")

    def accept_error(self, setup: ServerSetup, vi: Vi) -> Optional[str]:
        """What VipConnectAccept objects to before anything is sent (VI-DG 6.7)."""
        asked, own = setup.payload.attributes, vi.attributes
        if setup.exchange is None:
            self.drop(setup)
            return "VIP_TIMEOUT"
        if setup.payload.handle == UNASSIGNED:
            setup.refuse(PROTOCOL)
            return "VIP_INVALID_PARAMETER"
        if asked.level != own.level:
            return "VIP_INVALID_RELIABILITY_LEVEL"
        if asked.max_transfer != own.max_transfer:
            return "VIP_INVALID_MTU"
        return "VIP_INVALID_QOS" if asked.pipeline_depth != own.pipeline_depth else None


def attributes_json(attributes: Attributes) -> Dict[str, Any]:
    """ViAttribs of the DUT protocol."""
    level = {2: "RELIABLE_DELIVERY", 3: "RELIABLE_RECEPTION"}.get(attributes.level, "UNRELIABLE")
    return {"ReliabilityLevel": f"VIP_SERVICE_{level}", "MaxTransferSize": attributes.max_transfer,
            "EnableRdmaWrite": attributes.rdma_write, "EnableRdmaRead": attributes.rdma_read,
            "QoS": {"PipelineDepth": attributes.pipeline_depth, "Preference": attributes.preference}}
