"""Peer-to-Peer Connection Setup: 5.3.3 and 5.3.4."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional, Tuple

from ..clock import Timer
from ..vi import Call
from .attempt import Attempt
from .vi import Rev1Vi
from .wire import (
    CONCURRENT,
    DUPLICATE,
    DUPLICATE_06,
    NO_DISCRIMINATOR,
    NO_WAITING,
    REJECT,
    TIMEOUT,
    Attributes,
    ConnectPayload,
    NetAddress,
)

if TYPE_CHECKING:
    from .port import Rev1Port
    from .setup import ServerSetup


class PeerRequest:
    """One VipConnectPeerRequest: a VI Connection Point, and a CONNECT_RQST of its own."""

    def __init__(self, peers: "Peers", vi: Rev1Vi, local: NetAddress, remote: NetAddress) -> None:
        self.peers, self.port, self.vi, self.local, self.remote = peers, peers.port, vi, local, remote
        self.attempt = self._new_attempt()
        self.serving: Optional["ServerSetup"] = None
        self.result: Optional[Tuple[str, Optional[Attributes]]] = None
        self.calls: List[Call] = []
        self.t1: Optional[Timer] = None
        self.tries = 0

    def _new_attempt(self) -> Attempt:
        attempt = Attempt(self.port, self.vi, self.local, self.remote, True)
        attempt.on_accept, attempt.on_refusal, attempt.on_lost = self._accepted, self._refused, self._lost
        return attempt

    def _again(self) -> None:
        """5.3.3: the other peer may wait by now."""
        if self.waits and not self.attempt.open and self.vi.setup is self:
            self.attempt = self._new_attempt()
            self.attempt.send()

    def start(self, timeout: Optional[int]) -> None:
        """The VI goes to Pending Connect, the request out."""
        vi = self.vi
        vi.bind(self.port.new_handle())
        vi.setup = vi.peer = self
        vi.become("pending-connect")
        if timeout is not None and not self.port.bad("t1-never"):
            self.t1 = self.port.clock.after(timeout, self._t1_expired)
        self.port.resolver.resolve(self.remote.host, self._resolved, self._unreachable)

    @property
    def waits(self) -> bool:
        """Nothing has decided it yet."""
        return self.result is None and self.serving is None

    def _resolved(self, port_id: int) -> None:
        self.vi.peer_id = port_id
        self.port.login.ensure(self._request, self._unreachable)

    def _request(self) -> None:
        if self.waits and not self.port.bad("peer-sends-no-request"):
            self.attempt.send()

    def _unreachable(self) -> None:
        if self.result is None:
            self.finish("VIP_NOT_REACHABLE", error=self.vi.reliable)

    def finish(self, code: str, attributes: Optional[Attributes] = None, error: bool = False) -> None:
        """The result that VipConnectPeerDone and VipConnectPeerWait show once."""
        if self.t1:
            self.t1.cancel()
        self.peers.drop(self)
        self.result = code, attributes
        if self.vi.setup is self:
            self.vi.setup = None
        if error:
            self.vi.fail()
            self.vi.gone = True
        elif code != "VIP_SUCCESS":
            self.vi.release(flush=code == "VIP_TIMEOUT" and self.port.choose.yes("t1_flush"))
        calls, self.calls = self.calls, []
        if calls:
            self.vi.peer = None
        for call in calls:
            self.tell(call)

    def tell(self, call: Call) -> None:
        """Answer a call with the result."""
        assert self.result
        code, attributes = self.result
        if code == "VIP_SUCCESS":
            call.reply(code, RemoteViAttribs=attributes)
        else:
            call.reply(code)

    # What answers our own request

    def _accepted(self, payload: ConnectPayload) -> int:
        if not self.waits:
            return CONCURRENT
        problem = self.peers.objection(payload.attributes, self.vi)
        if problem:
            self.finish(problem)
            return REJECT
        self.vi.remote_handle = payload.handle
        self.vi.connect(True)
        self.finish("VIP_SUCCESS", payload.attributes)
        return 0

    def _refused(self, code: int, payload: Optional[ConnectPayload]) -> None:
        """5.3.3: the peer may ask later; only what cannot change by waiting ends the request."""
        if not self.waits:
            return
        problem = self.peers.objection(payload.attributes, self.vi) if payload and code == REJECT else None
        if problem:
            self.finish(problem)
        elif self.port.bad("peer-gives-up") and code in (NO_WAITING, NO_DISCRIMINATOR, CONCURRENT):
            self.finish("VIP_TIMEOUT")
        elif code in (DUPLICATE_06, DUPLICATE) and self.port.choose("duplicate") == "fails":
            self.finish("VIP_ERROR_RESOURCE")
        elif code in (NO_WAITING, NO_DISCRIMINATOR) and self.port.choose("peer_again") == "soon":
            self.port.clock.after(200_000, self._again)
        elif code in (NO_WAITING, NO_DISCRIMINATOR) and self.port.choose("peer_again") == "at-once" and self.tries < 3:
            self.tries += 1
            self._again()

    def _lost(self) -> None:
        """No RESP1: the peer may still ask, or it is taken for unreachable."""
        if self.waits and self.port.choose("lost_peer_resp1") == "unreachable":
            self.finish("VIP_NOT_REACHABLE", error=self.vi.reliable)

    def _t1_expired(self) -> None:
        if self.result is not None or self.serving is not None:
            return
        self.finish("VIP_TIMEOUT")
        self.attempt.give_up(TIMEOUT)

    # What answers the peer's request

    def serve(self, setup: "ServerSetup") -> None:
        """RESP1 that accepts, from this Connection Point."""
        mirror = self.port.choose("peer_resp1_addresses") == "mirror"
        local = setup.payload.remote if mirror else self.local
        remote = setup.payload.local if mirror else self.remote
        self.serving = setup
        setup.on_end = self._served
        setup.accept(self.vi, None, local, remote, bind=False)

    def _served(self, connected: bool) -> None:
        setup, self.serving = self.serving, None
        if connected and setup:
            self.finish("VIP_SUCCESS", setup.payload.attributes)
            return
        self.vi.remote_handle, self.vi.receiving = None, False
        self.finish("VIP_TIMEOUT" if self.port.choose("lost_resp2") == "idle" else "VIP_NOT_REACHABLE",
                    error=self.port.choose("lost_resp2") == "error")

    def cancel(self) -> None:
        """VipDisconnect while the request is open."""
        if self.serving:
            serving, self.serving = self.serving, None
            serving.vi = None
            serving.cancel()
        if self.result is None:
            self.finish("VIP_TIMEOUT")
        self.attempt.give_up(REJECT)

    def logged_out(self) -> None:
        """The Exchanges went with the login."""
        self.attempt.stop()
        if self.serving:
            serving, self.serving = self.serving, None
            serving.vi = None
            serving.logged_out()
        if self.result is None:
            self.finish("VIP_NOT_REACHABLE", error=True)


class Peers:
    """The Peer-to-Peer Connection Points of the port, in the order of their requests."""

    def __init__(self, port: "Rev1Port") -> None:
        self.port = port
        self.requests: List[PeerRequest] = []

    def start(self, vi: Rev1Vi, local: NetAddress, remote: NetAddress, timeout: Optional[int]) -> None:
        """VipConnectPeerRequest."""
        request = PeerRequest(self, vi, local, remote)
        self.requests.append(request)
        request.start(timeout)

    def drop(self, request: PeerRequest) -> None:
        """It is over."""
        if request in self.requests:
            self.requests.remove(request)

    def objection(self, theirs: Attributes, vi: Rev1Vi) -> Optional[str]:
        """The attributes of both have to match."""
        from .setup import mismatch
        return mismatch(self.port, theirs, vi.attributes)

    def requested(self, setup: "ServerSetup") -> None:
        """A CONNECT_RQST of a peer."""
        request = self._match(setup.payload)
        if request is None:
            known = NO_DISCRIMINATOR if self.requests and self.port.choose("no_match") in ("each", "02") else NO_WAITING
            setup.refuse(TIMEOUT if self.port.bad("wrong-reason") else known)
            return
        code = self._arbitrate(request, setup.payload) if request.attempt.open else 0
        problem = self.objection(setup.payload.attributes, request.vi)
        if code:
            setup.refuse(code, request.vi.attributes)
        elif problem:
            setup.refuse(REJECT, request.vi.attributes)
            request.finish(problem)
        else:
            request.serve(setup)

    def _match(self, theirs: ConnectPayload) -> Optional[PeerRequest]:
        """VI-DG 6.7: the hosts crosswise, and the Discriminators of both remote addresses."""
        for request in self.requests:
            hosts = request.local.host == theirs.remote.host and request.remote.host == theirs.local.host
            same = request.remote.discriminator == theirs.remote.discriminator
            if request.waits and hosts and (same or self.port.bad("accepts-any-discriminator")):
                return request
        return None

    def _arbitrate(self, request: PeerRequest, theirs: ConnectPayload) -> int:
        """5.3.4: the numerically greater Host Address accepts."""
        own, other = (int.from_bytes(address.host, "big") for address in (request.local, theirs.local))
        if self.port.bad("arbitrates-backwards"):
            own, other = other, own
        if self.port.bad("arbitrates-by-low-half"):
            own, other = own & 0xFFFFFFFF, other & 0xFFFFFFFF
        if self.port.bad("arbitrates-by-first-bytes"):
            own, other = own >> 64, other >> 64
        if self.port.bad("arbitrates-from-the-end"):
            own, other = (int.from_bytes(number.to_bytes(16, "big"), "little") for number in (own, other))
        if own > other or self.port.bad("both-accept"):
            return 0
        if own < other:
            return NO_WAITING if self.port.bad("concurrent-as-no-waiting") else CONCURRENT
        code = DUPLICATE_06 if self.port.choose("duplicate_code") == "06" else DUPLICATE
        return CONCURRENT if self.port.bad("duplicate-as-concurrent") else code

    def logged_out(self) -> None:
        """No request survives a logout."""
        for request in list(self.requests):
            request.logged_out()
