"""From a Host Address to a Port Identifier: FARP (7.4, Annex A.4) or the Name Server (7.5)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Callable, Dict, List, Optional, Tuple

from ..clock import Timer
from ..els import FARP_REQ
from .attempt import later
from ..wire import ELS_RQST, END, FIRST, INITIATIVE, LAST, RESPONDER, Frame

if TYPE_CHECKING:
    from .port import Rev1Port

FARP_REPLY = 0x55
FARP = struct.Struct(">B3xB3sB3s8s8s8s8s16s16s")
MATCH_IP, ORIGINATE_REPLY = 0x04, 0x02
BROADCAST, NAME_SERVER, TYPE_ELS, TYPE_CT = 0xFFFFFF, 0xFFFFFC, 0x01, 0x20
GID_IPP, CT_ACCEPT = 0x01B1, 0x8002
Found = Callable[[int], None]
Failed = Callable[[], None]


class Resolver:
    """What the port knows of the Host Addresses of others, and how it asks."""

    def __init__(self, port: "Rev1Port") -> None:
        self.port = port
        self.known: Dict[bytes, int] = {}
        if port.choose("resolve") == "unknown":
            self.known = {host: port.peer_id for host in port.peer_hosts}
        self._open: Dict[bytes, Tuple[Timer, List[Tuple[Found, Failed]]]] = {}
        self._name_server: Dict[int, bytes] = {}

    def resolve(self, host: bytes, found: Found, failed: Failed) -> None:
        """Call one of both, now or later."""
        if host in self.known:
            found(self.known[host])
        elif host in self.port.hosts:
            failed()
        elif host in self._open:
            self._open[host][1].append((found, failed))
        else:
            self._open[host] = self.port.clock.after(self.port.r_a_tov, lambda: self._settle(host, None)), [(found, failed)]
            self._ask(host)
            if self.port.choose.yes("farp_again"):
                self.port.clock.after(self.port.r_a_tov // 4, lambda: self._again(host))

    def _again(self, host: bytes) -> None:
        if host in self._open and self.port.topology not in ("fabric", "public-loop"):
            self._ask(host)

    def _ask(self, host: bytes) -> None:
        """7.3: the Name Server in lieu of FARP, where there is one."""
        has_name_server = self.port.topology in ("fabric", "public-loop")
        if has_name_server and not self.port.bad("farp-in-a-fabric"):
            self._query(host)
        else:
            self._send_farp_req(host)

    def _settle(self, host: bytes, port_id: Optional[int]) -> None:
        if host not in self._open:
            return
        timer, waiting = self._open.pop(host)
        timer.cancel()
        if port_id is not None and self.port.choose("resolved") == "kept":
            self.known[host] = port_id
        for found, failed in waiting:
            failed() if port_id is None else found(port_id)

    def _id(self, number: int) -> bytes:
        return number.to_bytes(3, "big")

    def _emit(self, frame: Frame) -> None:
        self.port._delimit(frame, True, True)
        if frame.d_id == BROADCAST:
            frame.sof, frame.eof = "i3", "t"
        self.port.emit(frame)

    # FARP

    def _send_farp_req(self, host: bytes) -> None:
        port = self.port
        exchange = port.open_exchange(peer=BROADCAST)
        payload = FARP.pack(FARP_REQ, MATCH_IP, self._id(port.n_port_id), ORIGINATE_REPLY, bytes(3), port.port_name,
                            port.node_name, bytes(8), bytes(8), port.hosts[0], host)
        to = port.peer_id if port.bad("farp-req-to-the-peer") else BROADCAST
        frame = Frame(ELS_RQST, to, port.n_port_id, TYPE_ELS, FIRST | LAST | END, port._new_seq_id(), 0,
                      exchange.ox_id, 0xFFFF, data=port.faults.spoil_farp(FARP_REQ, payload))
        port.close(exchange)
        if not port.bad("no-farp-req"):
            self._emit(frame)

    def asked(self, frame: Frame) -> None:
        """A FARP-REQ: the three tests of 7.4, and silence where one of them fails."""
        if len(frame.data) < FARP.size:
            return
        _, match, asker, action, _, port_name, node_name, _, _, asker_host, host = FARP.unpack_from(frame.data)
        port = self.port
        is_set = match & 7 == MATCH_IP or (port.choose("farp_match") == "bit" and match & MATCH_IP)
        is_set = is_set or port.bad("answers-other-code-points")
        ours = host in port.hosts or (port.bad("farp-by-low-half") and host[12:] in [one[12:] for one in port.hosts])
        wrong = not ours or not is_set or (action != ORIGINATE_REPLY and not port.bad("answers-other-actions"))
        if (wrong and not port.bad("answers-any-farp")) or port.bad("no-farp-reply"):
            return
        to = int.from_bytes(asker, "big")
        own_name = port.port_name if port.choose("farp_reply_name") == "port" else bytes(8)
        payload = FARP.pack(FARP_REPLY, match, asker, action, self._id(port.n_port_id), port_name, node_name,
                            own_name, port.node_name, asker_host, port.hosts[0] if wrong else host)
        later(port, "farp_reply_delay", lambda: self._reply(to, payload))

    def _reply(self, to: int, payload: bytes) -> None:
        port = self.port
        exchange = port.open_exchange(peer=to)
        port.clock.after(port.r_a_tov, lambda: port.close(exchange))
        self._emit(Frame(ELS_RQST, to, port.n_port_id, TYPE_ELS, FIRST | END | INITIATIVE, port._new_seq_id(), 0,
                         exchange.ox_id, 0xFFFF, data=port.faults.spoil_farp(FARP_REPLY, payload)))

    def is_reply(self, frame: Frame) -> bool:
        """Whether a FARP-REPLY is whole."""
        return len(frame.data) >= FARP.size

    def answered(self, frame: Frame) -> None:
        """A FARP-REPLY."""
        if not self.is_reply(frame):
            return
        host, responder = frame.data[60:76], int.from_bytes(frame.data[9:12], "big")
        if host in self._open and responder:
            self._settle(host, responder)

    # Name Server

    def _query(self, host: bytes) -> None:
        port = self.port
        exchange = port.open_exchange(peer=NAME_SERVER)
        self._name_server[exchange.ox_id] = host
        header = struct.pack(">B3xBBBxHHxBBB", 1, 0xFC, 2, 0, GID_IPP, 0, 0, 0, 0)
        frame = Frame(0x02, NAME_SERVER, port.n_port_id, TYPE_CT, FIRST | END | INITIATIVE, port._new_seq_id(), 0,
                      exchange.ox_id, 0xFFFF, data=header + host)
        self._emit(frame)

    def answered_by_name_server(self, frame: Frame) -> None:
        """The response to a GID_IPP."""
        host = self._name_server.pop(frame.ox_id, None) if frame.f_ctl & RESPONDER else None
        if host is None:
            return
        self.port.mine.pop(frame.ox_id, None)
        accepted = len(frame.data) >= 20 and int.from_bytes(frame.data[8:10], "big") == CT_ACCEPT
        port_id = int.from_bytes(frame.data[17:20], "big") if accepted else 0
        self._settle(host, port_id or None)
