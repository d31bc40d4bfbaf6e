"""An N_Port: Exchanges, Sequences and ABTS; what the IUs mean: setup.py, disconnect.py, message.py."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from . import els
from .chosen import Choices
from .clock import Clock, Timer
from .disconnect import Disconnects
from .faults import Faults
from .message import Messages
from .setup import Setups
from .vi import Vi
from .wire import (
    ABTS,
    BA_ACC,
    BA_RJT,
    CONNECT_IUS,
    CONNECT_RQST,
    DISCONNECT_RQST,
    ELS_RESP,
    ELS_RQST,
    END,
    FIRST,
    INITIATIVE,
    LAST,
    RESPONDER,
    RO_PRESENT,
    SEND,
    TYPE_FCVI,
    WITH_PAYLOAD,
    Frame,
    Iu,
    split_device_header,
)

Notify = Callable[[str, Dict[str, Any]], None]


class SequenceError(Exception):
    """A frame does not continue its Sequence or its Exchange (8.5.2 a, 8.6.2 a)."""


@dataclass
class Assembly:
    """The Sequence that is being received."""

    seq_id: int
    iu: Iu


class Exchange:
    """One Exchange seen from this port."""

    def __init__(self, peer: int, ox_id: int, mine: bool, rx_id: int = 0xFFFF) -> None:
        self.peer, self.ox_id, self.mine, self.rx_id = peer, ox_id, mine, rx_id
        self.tx_cnt = self.tx_offset = self.sequences = self.seq_id = 0
        self.rx_cnt = self.rx_offset = self.rx_seq_id = 0
        self.shared_count = False
        self.assembly: Optional[Assembly] = None
        self.on_iu: Callable[[Iu], None] = lambda iu: None
        self.on_error: Callable[[], None] = lambda: None
        self.on_abts: Callable[[], None] = lambda: None

    def first_frame(self, frame: Frame, iu: Iu) -> None:
        """A Sequence begins: SEQ_CNT goes on, or at first starts at 0 or goes on from ours (E18)."""
        if self.assembly:
            raise SequenceError("a Sequence begins inside another")
        if self.mine and not self.rx_cnt and self.tx_cnt and frame.seq_cnt == self.tx_cnt:
            self.shared_count = True
        if frame.seq_cnt != self.rx_cnt and not (self.shared_count and frame.seq_cnt > self.rx_cnt):
            raise SequenceError(f"SEQ_CNT {frame.seq_cnt} where {self.rx_cnt} is due")
        self.assembly = Assembly(frame.seq_id, iu)

    def take(self, frame: Frame, iu: Iu, payload: bytes) -> Optional[Iu]:
        """One frame; the IU when it is the last of its Sequence."""
        begins = self.assembly is None if frame.sof is None else frame.sof.startswith("i")
        if begins:
            self.first_frame(frame, iu)
        held = self.assembly
        if held is None or (frame.seq_id != held.seq_id or iu.device_header() != held.iu.device_header()
                            or (not begins and frame.seq_cnt != self.rx_cnt)):
            raise SequenceError("the frame continues nothing")
        if payload and frame.f_ctl & RO_PRESENT and frame.param != self.rx_offset:
            raise SequenceError(f"Relative Offset {frame.param} where {self.rx_offset} is due")
        if not begins:
            held.iu.payload += payload
        else:
            held.iu.payload = payload
        self.rx_cnt, self.rx_offset = frame.seq_cnt + 1 & 0xFFFF, self.rx_offset + len(payload)
        self.rx_seq_id = frame.seq_id
        if not frame.f_ctl & END:
            return None
        self.assembly = None
        held.iu.last, held.iu.initiative = bool(frame.f_ctl & LAST), bool(frame.f_ctl & INITIATIVE)
        return held.iu


class Port:
    """The endpoint behind the DUT protocol, for one configuration."""

    def __init__(self, config: Dict[str, Any], choose: Choices, faults: Faults, notify: Notify) -> None:
        self.choose, self.faults, self.notify = choose, faults, notify
        self.bad = faults.is_on
        self.clock = Clock()
        self.n_port_id = int(config["n_port_id"], 16)
        self.port_name = bytes.fromhex(config["port_name"])
        self.node_name = bytes.fromhex(config["node_name"])
        self.hosts = [bytes.fromhex(host) for host in config["host"]]
        peer = config["peer"]
        self.peer_id = int(peer["n_port_id"], 16)
        self.peer_hosts = [bytes.fromhex(host) for host in peer["host"]]
        self.r_a_tov = int(config.get("r_a_tov_us", 10_000_000))
        self.receive_size = int(config.get("receive_size", 2112))
        self.random = random.Random(int(config.get("seed", 1)))
        self.mine: Dict[int, Exchange] = {}
        self.theirs: Dict[Tuple[int, int], Exchange] = {}
        self.aborted: Dict[int, Tuple[Exchange, Callable[[], None], Optional[Timer]]] = {}
        self.quarantine: Dict[int, int] = {}
        self.dead_ids: Dict[Tuple[bool, int], int] = {}
        self.vis: Dict[int, Vi] = {}
        self._last: Dict[str, int] = {}
        self._seq_ids: List[int] = []
        self._used: Dict[str, Set[int]] = {}
        self._serve(config)

    def _serve(self, config: Dict[str, Any]) -> None:
        """The services of this edition."""
        self.login = els.Login(self, config.get("login", "implicit") == "implicit")
        self.setups, self.disconnects, self.messages = Setups(self), Disconnects(self), Messages(self)

    # Values an implementation is free to choose

    def _count(self, what: str, start: int, step: int = 1) -> int:
        self._last[what] = self._last.get(what, start - step) + step
        return self._last[what]

    def _unused(self, what: str, limit: int) -> int:
        used = self._used.setdefault(what, set())
        while True:
            value = self.random.randrange(limit)
            if value not in used:
                used.add(value)
                return value

    def new_handle(self) -> int:
        """A FCVI_HANDLE never used before (4.2, 8.4.2 f)."""
        policy = self.choose("handle")
        if policy == "random":
            return self._unused("handle", 0xFFFFFFFF)
        start = {"sequential": 0x1000, "zero": 0, "max": 0xFFFFFFFE}[policy]
        return self._count("handle", start, -1 if policy == "max" else 1)

    def new_connection_id(self) -> int:
        """A FCVI_CONNECTION_ID never used before (5.9.10, 8.5.3 b)."""
        policy = self.choose("connection_id")
        if policy == "random":
            return 1 + self._unused("connection_id", 0xFFFFFFFE)
        if policy == "max":
            return self._count("connection_id", 0xFFFFFFFE, -1)
        return self._count("connection_id", 1)

    def _new_ox_id(self) -> int:
        """An Exchange ID neither open nor within R_A_TOV of its ABTS (E82)."""
        policy = self.choose("ox_id")
        self.quarantine = {ox: end for ox, end in self.quarantine.items() if end > self.clock.now}
        candidate = -1
        while candidate < 0 or candidate in self.mine or candidate in self.quarantine:
            if policy == "random":
                candidate = self.random.randrange(0xFFFF)
            else:
                candidate = candidate + 1 if policy == "lowest" else self._count("ox_id", 0x0100) % 0xFFFF
        return candidate

    def _new_seq_id(self) -> int:
        policy = self.choose("seq_id")
        if policy == "random":  # none comes again before all others: its last ACK may still be due (5.5)
            self._seq_ids = self._seq_ids or self.random.sample(range(256), 256)
            return self._seq_ids[self._count("seq_id", 0) % 256]
        step, modulus = {"sequential": (1, 256), "even": (2, 256), "alternate": (1, 2)}[policy]
        return self._count("seq_id", 0, step) % modulus

    def status_only(self, code: int) -> Tuple[int, int]:
        """CONN_STS and FCVI_PARAMETER for a Reason Code, both zero for none."""
        return (1, code << 16) if code else (0, 0)

    # Sending

    def open_exchange(self, reuse: Optional[int] = None) -> Exchange:
        """A new Exchange towards the peer."""
        exchange = Exchange(self.peer_id, self._new_ox_id() if reuse is None else reuse, True)
        self.mine[exchange.ox_id] = exchange
        return exchange

    def close(self, exchange: Exchange) -> None:
        """The Exchange is over."""
        if exchange.mine and self.mine.get(exchange.ox_id) is exchange:
            del self.mine[exchange.ox_id]
        if not exchange.mine and self.theirs.get((exchange.peer, exchange.ox_id)) is exchange:
            del self.theirs[(exchange.peer, exchange.ox_id)]

    def send_iu(self, exchange: Exchange, iu: Iu) -> None:
        """One Sequence; Last_Sequence closes the Exchange."""
        self.faults.spoil_iu(iu)
        if self.bad("resp2-seq-cnt-restarts") and iu.opcode == 0x19:
            exchange.tx_cnt = 0
        header, room = iu.device_header(), self.receive_size - 32
        if iu.opcode in WITH_PAYLOAD and self.choose.number("split"):
            room = min(room, max(4, self.choose.number("split") & ~3))
        pieces = [iu.payload[at:at + room] for at in range(0, len(iu.payload), room)] or [b""]
        exchange.seq_id = self._new_seq_id()
        for at, piece in enumerate(pieces):
            frame = self._data_frame(exchange, iu, piece, at == len(pieces) - 1)
            body = piece if at and self.bad("header-in-first-frame") else header + piece
            frame.df_ctl = 0 if body is piece else iu.df_ctl
            frame.data = body + bytes(-len(piece) % 4)
            self._delimit(frame, at == 0, at == len(pieces) - 1)
            exchange.tx_cnt = exchange.tx_cnt + 1 & 0xFFFF
            exchange.tx_offset += len(piece)
            self.emit(frame)
        exchange.sequences += 1
        if iu.last:
            self.close(exchange)

    def _data_frame(self, exchange: Exchange, iu: Iu, piece: bytes, ends: bool) -> Frame:
        f_ctl = 0 if exchange.mine != iu.context_flip else RESPONDER
        f_ctl |= FIRST if exchange.mine and not exchange.sequences else 0
        f_ctl |= LAST if iu.last and (ends or self.choose("last_seq") == "all") else 0
        if ends:
            f_ctl |= END | (INITIATIVE if iu.initiative else 0) | -len(piece) % 4
        located = piece or self.choose.yes("ro_on_empty")
        return Frame(iu.r_ctl, exchange.peer, self.n_port_id, iu.type, f_ctl | (RO_PRESENT if located else 0),
                     exchange.seq_id, exchange.tx_cnt, exchange.ox_id, exchange.rx_id,
                     param=exchange.tx_offset if located else 0, cs_ctl=iu.cs_ctl)

    def _delimit(self, frame: Frame, begins: bool, ends: bool) -> None:
        frame.sof, frame.eof = "i3" if begins else "n3", "t" if ends else "n"

    def emit(self, frame: Frame) -> None:
        """A frame leaves the port."""
        self.faults.spoil_frame(frame)
        params: Dict[str, Any] = {"hex": frame.pack().hex()}
        if self.choose.yes("delimiters"):
            params.update(sof=frame.sof, eof=frame.eof, crc=frame.crc)
        elif frame.crc != "ok" or self.faults.spoils_delimiters:
            params.update(sof=frame.sof, eof=frame.eof, crc=frame.crc)
        self.notify("frame", params)

    def send_link_service(self, r_ctl: int, kind: int, ids: Tuple[int, int], f_ctl: int, data: bytes = b"",
                          seq: Optional[Tuple[int, int]] = None) -> None:
        """A single frame of a basic or extended link service; `seq` is SEQ_ID and SEQ_CNT."""
        seq_id, seq_cnt = seq or (self._new_seq_id(), 0)
        frame = Frame(r_ctl, self.peer_id, self.n_port_id, kind, f_ctl, seq_id, seq_cnt, *ids, data=data)
        self._delimit(frame, True, True)
        self.emit(frame)

    def abort(self, exchange: Exchange, then: Callable[[], None] = lambda: None, wait: bool = False) -> None:
        """ABTS for an Exchange of ours; `then` runs at once, or with `wait` at BA_ACC or after R_A_TOV."""
        self.close(exchange)
        self.quarantine[exchange.ox_id] = self.clock.now + self.r_a_tov
        timer = self.clock.after(self.r_a_tov, lambda: self._answered(exchange.ox_id)) if wait else None
        self.aborted[exchange.ox_id] = (exchange, then if wait else lambda: None, timer)
        if not self.bad("no-abts"):
            reused = (exchange.seq_id, exchange.tx_cnt) if self.choose("abts_seq_id") == "reused" else None
            self.send_link_service(ABTS, 0, (exchange.ox_id, exchange.rx_id), END | INITIATIVE, seq=reused)
        if not wait:
            then()

    def _answered(self, ox_id: int) -> None:
        exchange, then, timer = self.aborted.pop(ox_id, (None, None, None))
        if timer:
            timer.cancel()
        if exchange and then:
            then()

    # Receiving

    def receive(self, frame: Frame) -> None:
        """A frame arrives from the wire."""
        if frame.crc == "bad" or frame.eof in ("ni", "a") or frame.sof in ("i2", "n2"):
            return
        if frame.d_id != self.n_port_id or frame.s_id != self.peer_id:
            return
        if frame.r_ctl in (ABTS, BA_ACC, BA_RJT):
            self._link_service(frame)
        elif frame.r_ctl in (ELS_RQST, ELS_RESP):
            self.login.receive(frame)
        elif frame.type == TYPE_FCVI and self.login.done:
            try:
                self._device_data(frame, *split_device_header(frame))
            except ValueError as error:
                self.log(f"frame discarded: {error}")

    def log(self, text: str) -> None:
        """Something a person may want to know."""
        self.notify("log", {"text": text})

    def _link_service(self, frame: Frame) -> None:
        if frame.r_ctl != ABTS:
            self._answered(frame.ox_id)
            return
        from_responder = bool(frame.f_ctl & RESPONDER)
        exchange = self._exchange_of(frame)
        if not (exchange is None and self.bad("no-ba-acc")):
            self._accept_abts(frame, exchange)
        if exchange and not from_responder:
            self.close(exchange)
            exchange.on_abts()
        self.messages.aborted(frame.s_id, frame.ox_id)

    def _exchange_of(self, frame: Frame) -> Optional[Exchange]:
        """Exchange Context tells whose OX_ID it is."""
        if frame.f_ctl & RESPONDER:
            return self.mine.get(frame.ox_id)
        return self.theirs.get((frame.s_id, frame.ox_id))

    def _accept_abts(self, frame: Frame, exchange: Optional[Exchange]) -> None:
        valid, seq_id, high = (0, 0, 0xFFFF)
        if exchange and exchange.rx_cnt and self.choose("ba_acc_seq_id") == "valid":
            valid, seq_id, high = 0x80, exchange.rx_seq_id, frame.seq_cnt
        ids = frame.ox_id, exchange.rx_id if exchange else frame.rx_id
        words = [b.to_bytes(2, "big") for b in (valid << 8 | seq_id, 0, ids[0], ids[1], 0, high)]
        f_ctl = ~frame.f_ctl & RESPONDER | LAST | END
        self.send_link_service(BA_ACC, 0, ids, f_ctl, b"".join(words))

    def _device_data(self, frame: Frame, iu: Iu, payload: bytes) -> None:
        if iu.opcode < CONNECT_RQST:
            if iu.opcode == SEND and not frame.f_ctl & RESPONDER:
                self.messages.receive(frame, iu, payload)
            return
        if iu.opcode in (CONNECT_RQST, DISCONNECT_RQST) and not frame.f_ctl & RESPONDER:
            exchange = self.theirs.get((frame.s_id, frame.ox_id)) or self._accept_exchange(frame, iu)
        else:
            exchange = self._exchange_of(frame)
        if exchange is None:
            return
        try:
            whole = exchange.take(frame, iu, payload)
        except SequenceError as error:
            self.log(f"Sequence error: {error}")
            exchange.assembly = None
            exchange.on_error()
            return
        if whole and not self._is_dead(exchange.mine, iu):
            if exchange.mine and frame.rx_id != 0xFFFF:
                exchange.rx_id = frame.rx_id
            exchange.on_iu(whole)

    def _accept_exchange(self, frame: Frame, iu: Iu) -> Optional[Exchange]:
        if not frame.f_ctl & FIRST or (frame.sof or "i3").startswith("n"):
            return None
        rx_id = self._count("rx_id", 0x8000) & 0xFFFF if self.choose("rx_id") == "assigned" else 0xFFFF
        exchange = Exchange(frame.s_id, frame.ox_id, False, rx_id)
        self.theirs[(frame.s_id, frame.ox_id)] = exchange
        exchange.on_error = lambda: self.close(exchange)
        if iu.opcode == CONNECT_RQST:
            exchange.on_iu = lambda whole: self.setups.requested(exchange, whole)
        else:
            exchange.on_iu = lambda whole: self.disconnects.requested(exchange, whole)
        return exchange

    def kill_id(self, mine: bool, connection_id: int) -> None:
        """CSerr: setup IUs with this FCVI_CONNECTION_ID are discarded for R_A_TOV (8.5.3 a, C rule 1).

        Both ports count for themselves, so an ID is known only together with the side that chose it.
        """
        self.dead_ids[(mine, connection_id)] = self.clock.now + self.r_a_tov

    def _is_dead(self, mine: bool, iu: Iu) -> bool:
        return iu.opcode in CONNECT_IUS and self.dead_ids.get((mine, iu.word7), 0) > self.clock.now

    # Logout

    def logged_out(self) -> None:
        """Every connection with the peer ends (7.7.1); its identifiers are free again (8.4.2 g, 8.5.3 c)."""
        self.mine.clear()
        self.theirs.clear()
        self.aborted.clear()
        self.dead_ids.clear()
        self.setups.logged_out()
        self.disconnects.logged_out()
        for vi in self.vis.values():
            if vi.state == "connected":
                vi.fail("VIP_ERROR_CONN_LOST")

    def open_vis(self) -> List[Vi]:
        """The VIs that have a FCVI_HANDLE out."""
        return [vi for vi in self.vis.values() if vi.handle is not None]
