"""An N_Port of Rev 1.0: Exchanges, Sequences and ABTS; what the IUs mean is in the other files."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, List, Optional

from ..clock import Timer
from ..port import Port, SequenceError
from ..wire import ABTS, BA_ACC, BA_RJT, ELS_RESP, ELS_RQST, END, FIRST, INITIATIVE, LAST, RESPONDER, RO_PRESENT, TYPE_FCVI, Frame
from . import class2, login
from .attempt import later
from .disconnect import Disconnects
from .exchange import Exchange
from .order import Sorter
from .receive import Receiver
from .resolve import Resolver
from .send import Sender
from .setup import Setups
from .vi import Rev1Vi
from .wire import CONNECT_RQST, DISCONNECT_RQST, MESSAGE_RQST, ONE_FRAME, PREF, RESP1, SEND, WRITE, Iu, split_device_header

CT_RESP, TYPE_CT = 0x03, 0x20
BROADCAST, MOST_FRAMES = 0xFFFFFF, 0x10000
FOLLOWS, DISCARD_ONE = 0x40, 0x10  # Continue Sequence Condition 01b, Abort Sequence Condition 01b (FC-PH)


Base: Any = Port  # the classes of its Exchanges, IUs and VIs are others here


class Rev1Port(Base):  # type: ignore[misc]
    """The endpoint behind the DUT protocol, for one configuration."""

    # What the edition of 2007 has of its own classes, and this one of others
    mine: Any
    theirs: Any
    aborted: Any
    vis: Any
    setups: Any
    disconnects: Any
    messages: Any
    login: Any
    faults: Any

    def _serve(self, config: Dict[str, Any]) -> None:
        self.in_class = int(config.get("class", 3))
        self.sequences = class2.OpenSequences()
        self.topology = str(config.get("topology", "point-to-point"))
        self.ulp_timeout = self.r_a_tov
        self._queue: List[Frame] = []
        self._last_out = -1
        self._ba_acc_cs_ctl = 0
        self._has_aborted = False  # for a fault
        self.login = login.Rev1Login(self, config.get("login", "implicit") == "implicit")
        self.resolver = Resolver(self)
        self.setups = Setups(self)
        self.disconnects = Disconnects(self)
        self.sender, self.receiver, self.sorter = Sender(self), Receiver(self), Sorter(self)
        self.messages = self.receiver

    def emit(self, frame: Frame) -> None:
        """A frame leaves the port."""
        frame.cs_ctl |= self._ba_acc_cs_ctl
        pace, turns = self.choose.number("pace"), self.choose("order") == "interleaved"
        if not pace and not turns:
            super().emit(frame)
            return
        self._queue.append(frame)
        if len(self._queue) == 1:
            self.clock.after(pace or 1, self._next_frame)

    def _next_frame(self) -> None:
        """The next frame that leaves: the oldest, or one of another Exchange than the last where one waits."""
        turns = self.choose("order") == "interleaved"
        at = next((n for n, one in enumerate(self._queue) if turns and one.ox_id != self._last_out), 0)
        frame = self._queue.pop(at)
        self._last_out = frame.ox_id
        if self._queue:
            self.clock.after(self.choose.number("pace") or 1, self._next_frame)
        super().emit(frame)

    def wait_response(self, act: Callable[[], None]) -> Timer:
        """FCVI_ULP_TIMEOUT for a response IU (clause 8)."""
        timer: Timer = Timer(act) if self.bad("no-ulp-timeout") else self.clock.after(self.ulp_timeout, act)
        return timer

    # Sending

    def open_exchange(self, reuse: Optional[int] = None, peer: Optional[int] = None) -> Exchange:
        """A new Exchange."""
        exchange = Exchange(self.peer_id if peer is None else peer, self._new_ox_id() if reuse is None else reuse, True)
        self.mine[exchange.ox_id] = exchange
        self.setups.forget(exchange.ox_id)
        return exchange

    @property
    def address_bits(self) -> int:
        """Of a remote address, as many as are looked at (R49)."""
        return 32 if self.choose("memory") == "narrow" else 64

    def room(self, iu: Iu) -> int:
        """Payload bytes of one frame."""
        size: int = self.receive_size - 16 * iu.df_ctl
        return size & ~3

    def _room_of(self, iu: Iu) -> int:
        two = {CONNECT_RQST: "rqst-two-frames", RESP1: "resp1-two-frames"}.get(iu.opcode)
        return 200 if two and self.faults.name == two else self.room(iu)

    def new_handle(self) -> int:
        """A VI_HANDLE of our own (5.7.4)."""
        handle: int = 0x1000 if self.bad("one-handle-for-all") else super().new_handle()
        return handle

    def handle_for(self, vi: Rev1Vi) -> int:
        """The VI_HANDLE that a VI gives out for its next connection."""
        if vi.first_handle is None or self.choose("handle_life") == "connection":
            vi.first_handle = self.new_handle()
        return vi.first_handle

    def send_iu(self, exchange: Exchange, iu: Iu) -> None:
        """One Sequence; Last_Sequence closes the Exchange. In class 2 it may have to wait for a SEQ_ID."""
        if self.in_class == 2 and self.sequences.holds(lambda: self.send_iu(exchange, iu)):
            return
        self.faults.spoil_iu(iu)
        header, room = iu.device_header(), self._room_of(iu)
        exchange.cs_ctl = iu.cs_ctl
        pieces = self._pieces(iu, room)
        exchange.seq_id = self._new_seq_id()
        if self.in_class == 2:
            self.sequences.opens(exchange)
        base = 0 if iu.restart else exchange.tx_offset
        count = exchange.tx_frames + (exchange.rx_frames if self.choose("seq_cnt") == "shared" else 0)
        count = 0 if self.bad("seq-cnt-restarts") else count
        count += 1 if self.bad("seq-cnt-from-one") else 0
        for at, piece in enumerate(pieces):
            ends = at == len(pieces) - 1
            frame = self._frame_of(exchange, iu, piece, base, count & 0xFFFF, ends)
            bare = at and self.bad("header-in-first-frame")
            frame.df_ctl = 0 if bare else iu.df_ctl
            filler = b"\xa5" if self.choose("fill") == "rubbish" else b"\0"
            frame.data = (b"" if bare else header) + piece + filler * (-len(piece) % 4)
            self._delimit(frame, at == 0, ends)
            base, count = base + len(piece), count + (2 if self.bad("seq-cnt-jumps") else 1)
            self.emit(frame)
            if at == 0 and len(pieces) > 1 and self.bad("device-header-changes"):
                iu.msg_id ^= 1
                header = iu.device_header()
        exchange.tx_frames += len(pieces)
        exchange.tx_cnt, exchange.tx_offset = count & 0xFFFF, exchange.tx_offset + len(iu.payload)
        exchange.sequences += 1
        if iu.last:
            self.close(exchange)

    def _pieces(self, iu: Iu, room: int) -> List[bytes]:
        """The payloads of the frames of an IU; all but the last are whole words (FC-PH)."""
        payload, how = iu.payload, "full" if iu.opcode in ONE_FRAME else self.choose("frame_size")
        size = room if how == "full" else max(4, room // 2 & ~3)
        found: List[bytes] = []
        while payload:
            found.append(payload[:size])
            payload = payload[size:]
            if how == "uneven":
                size = max(4, room if size == room // 2 & ~3 else room // 2 & ~3)
        if found and iu.opcode not in ONE_FRAME and not len(found[-1]) % 4 and self.choose("empty_frames") == "last":
            found.append(b"")
        return found or [b""]

    def _frame_of(self, exchange: Exchange, iu: Iu, piece: bytes, offset: int, count: int, ends: bool) -> Frame:
        f_ctl = 0 if exchange.mine != iu.context_flip else RESPONDER
        marked = iu.opcode != DISCONNECT_RQST or self.choose.yes("disconnect_first")
        f_ctl |= FIRST if exchange.mine and not exchange.sequences and marked else 0
        f_ctl |= LAST if iu.last and (ends or self.choose("last_seq") == "all") else 0
        if ends:
            f_ctl |= END | (INITIATIVE if iu.initiative else 0) | -len(piece) % 4
            follows = not iu.last and not iu.initiative and self.choose("continue") == "follows"
            f_ctl |= FOLLOWS if follows else 0
        f_ctl |= DISCARD_ONE if f_ctl & FIRST and not exchange.tx_frames and self.choose("error_policy") == "single" else 0
        located = piece or self.choose.yes("ro_on_empty")
        present = RO_PRESENT if located and self.choose.yes("ro_present") else 0
        return Frame(iu.r_ctl, exchange.peer, self.n_port_id, iu.type, f_ctl | present, exchange.seq_id, count,
                     exchange.ox_id, exchange.rx_id, param=offset if piece else 0, cs_ctl=iu.cs_ctl)

    def _delimit(self, frame: Frame, begins: bool, ends: bool) -> None:
        name = self.in_class
        frame.sof = f"i{name}" if begins else f"n{name}"
        frame.eof = "t" if ends and name == 3 else "n"

    def _new_seq_id(self) -> int:
        return self.sequences.free(super()._new_seq_id)

    def abort(self, exchange: Exchange, *_: Any, **__: Any) -> None:
        """ABTS for an Exchange, from either side of it (clause 8, R17)."""
        self.close(exchange)
        self.sequences.forget(exchange)
        if exchange.mine:
            self.quarantine[exchange.ox_id] = self.clock.now + self.r_a_tov
        if self.bad("no-abts") or (self.bad("abts-once") and self._has_aborted):
            return
        self._has_aborted = True
        self.aborted[exchange.mine, exchange.ox_id] = None
        f_ctl = END | INITIATIVE | (0 if exchange.mine else RESPONDER)
        reused = self.choose("abts_seq_id") == "reused"
        seq_id, seq_cnt = (exchange.seq_id, exchange.tx_cnt) if reused else (self._new_seq_id(), 0)
        frame = Frame(ABTS, exchange.peer, self.n_port_id, 0, f_ctl, seq_id, seq_cnt, exchange.ox_id, exchange.rx_id)
        if self.bad("abts-other-ox-id"):
            frame.ox_id ^= 1
        frame.cs_ctl = self.link_cs_ctl(exchange.cs_ctl)
        self._delimit(frame, True, True)
        self.emit(frame)

    def link_cs_ctl(self, cs_ctl: int) -> int:
        """PREF of what is sent for an Exchange that uses it."""
        return cs_ctl if self.choose.yes("link_pref") else 0

    # Receiving

    def receive(self, frame: Frame) -> None:
        """A frame arrives from the wire."""
        in_class = 3 if frame.d_id == BROADCAST else self.in_class
        wrong_class = frame.sof is not None and not frame.sof.endswith(str(in_class))
        if frame.crc == "bad" or frame.eof in ("ni", "a") or wrong_class:
            return
        if frame.d_id not in (self.n_port_id, BROADCAST) or frame.s_id == self.n_port_id:
            return
        if self.in_class == 2:
            self.sequences.heard(frame)
        if self.in_class == 2 and frame.d_id == self.n_port_id and not class2.acknowledge(self, frame):
            return
        if frame.r_ctl in (ELS_RQST, ELS_RESP):
            self.login.receive(frame)
        elif frame.d_id == BROADCAST:
            return
        elif frame.r_ctl in (ABTS, BA_ACC, BA_RJT):
            self._link_service(frame)
        elif frame.type == TYPE_CT and frame.r_ctl == CT_RESP:
            self.resolver.answered_by_name_server(frame)
        elif frame.type == TYPE_FCVI and self.login.done:
            try:
                self.sorter.take(frame, *split_device_header(frame))
            except ValueError as error:
                self.log(f"frame discarded: {error}")

    def _link_service(self, frame: Frame) -> None:
        from_responder = bool(frame.f_ctl & RESPONDER)
        if frame.r_ctl != ABTS:
            self.aborted.pop((from_responder, frame.ox_id), None)
            return
        exchange = self._exchange_of(frame)
        if not self.bad("no-ba-acc"):
            later(self, "ba_acc_delay", partial(self._answer_abts, frame, exchange))
        if exchange:
            self.close(exchange)
            exchange.on_abts()
        elif from_responder:
            self.setups.aborted_by_server(frame.ox_id)

    def _answer_abts(self, frame: Frame, exchange: Optional[Exchange]) -> None:
        self._ba_acc_cs_ctl = self.link_cs_ctl(frame.cs_ctl & PREF)
        self._accept_abts(frame, exchange)
        self._ba_acc_cs_ctl = 0

    def in_turn(self, frame: Frame, iu: Iu, payload: bytes) -> None:
        """A frame of FC-VI whose turn it is."""
        exchange: Optional[Exchange] = self._exchange_of(frame)
        if exchange and self._begins_anew(exchange, frame):
            self.close(exchange)
            exchange.on_error()
            exchange = None
        if exchange is None and not frame.f_ctl & RESPONDER:
            exchange = self._accept(frame, iu)
        if exchange is None:
            self.log(f"opcode {iu.opcode:02x} belongs to no Exchange")
            return
        try:
            whole = exchange.take(frame, iu, payload)
        except SequenceError as error:
            self.log(f"Sequence error: {error}")
            exchange.assembly = None
            exchange.on_error()
            return
        if exchange.mine and frame.rx_id != 0xFFFF:
            exchange.rx_id = frame.rx_id
        if whole:
            if whole.last and not exchange.mine:
                self.close(exchange)
            exchange.on_iu(whole)

    def _begins_anew(self, exchange: Exchange, frame: Frame) -> bool:
        """The peer uses the OX_ID for another Exchange: the end of the one before was lost."""
        first = frame.f_ctl & FIRST and not frame.seq_cnt and not (frame.sof or "i").startswith("n")
        return bool(not exchange.mine and exchange.rx_frames and first)

    def _accept(self, frame: Frame, iu: Iu) -> Optional[Exchange]:
        """The first frame of an Exchange of the peer's (R23: First_Sequence of a Disconnect is not looked at)."""
        begun = frame.f_ctl & FIRST or iu.opcode == DISCONNECT_RQST
        if not begun or (frame.sof or "i").startswith("n") or iu.opcode not in (*MESSAGE_RQST, CONNECT_RQST, DISCONNECT_RQST):
            return None
        rx_id = self._count("rx_id", 0x8000) & 0xFFFF if self.choose("rx_id") == "assigned" else 0xFFFF
        exchange = Exchange(frame.s_id, frame.ox_id, False, rx_id)
        exchange.careless, exchange.any_iu = self.bad("order-not-checked"), self.bad("order-of-ius-not-checked")
        exchange.ends_early = self.bad("ends-at-the-last-frame") and iu.opcode in (SEND, WRITE)
        self.theirs[frame.s_id, frame.ox_id] = exchange
        exchange.on_error = partial(self.close, exchange)
        if iu.opcode == CONNECT_RQST:
            exchange.on_iu = partial(self.setups.requested, exchange)
        elif iu.opcode == DISCONNECT_RQST:
            exchange.on_iu = partial(self.disconnects.requested, exchange)
        else:
            self.receiver.begin(exchange, frame, iu)
        return exchange

    # Logout

    def logged_out(self) -> None:
        """Every connection with the peer ends, or stays where nothing is under way (R31)."""
        kept = self.choose("logout") == "kept"
        self.mine.clear()
        self.theirs.clear()
        self.aborted.clear()
        self.setups.logged_out()
        self.disconnects.logged_out()
        for vi in self.vis.values():
            if kept and vi.state == "connected" and not (vi.outstanding or vi.waiting or vi.disconnect):
                continue
            vi.gone = True
            if vi.state == "connected":
                vi.fail("VIP_ERROR_CONN_LOST")
                self.sender.stop(vi)

    def vi_of(self, handle: int) -> Optional[Rev1Vi]:
        """The VI that gave this VI_HANDLE out."""
        return next((vi for vi in self.vis.values() if vi.handle is not None and vi.handle == handle), None)

    def broken(self, vi: Rev1Vi, code: Optional[str] = None) -> None:
        """An error breaks the connection of this VI (VI-ARCH 2.5)."""
        if vi.state != "connected":
            return
        vi.fail(code)
        self.sender.stop(vi)
        self.disconnects.by_provider(vi)

    def open_vis(self) -> List[Rev1Vi]:
        """The VIs that have a VI_HANDLE out."""
        return [vi for vi in self.vis.values() if vi.handle is not None]
