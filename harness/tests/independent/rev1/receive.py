"""The responder of VI Messages: 4.2, 5.1, 5.2, 5.7.5 and 6.1 to 6.6, over an in-order Fabric."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Callable, Dict, List, Optional, Tuple

from ..message import LENGTH, PROTECTION, TRANSPORT, WRAP
from ..wire import Frame
from .attempt import later
from .exchange import Exchange
from .memory import Region, accessible, remote, scatter
from .vi import Rev1Descriptor, Rev1Vi
from .wire import (
    DESC_ERR,
    IMM_DATA,
    PROT_ERR,
    READ,
    READ_RESP,
    RESP_ERR,
    SEND,
    SEND_RESP,
    TRANS_ERR,
    WRITE,
    WRITE_RESP,
    Iu,
)

if TYPE_CHECKING:
    from .port import Rev1Port


@dataclass
class Incoming:
    """A Message on its way in: what its IUs have brought."""

    exchange: Exchange
    opcode: int
    msg_id: int
    data: bytes = b""
    immediate: Optional[int] = None
    next_va: Optional[int] = None
    held: List[Tuple[Region, int, bytes]] = field(default_factory=list)  # what is placed when the Message is whole
    refused: bool = False  # an RDMA Write that found no memory


class Receiver:
    """All Messages that the peer originates."""

    def __init__(self, port: "Rev1Port") -> None:
        self.port = port
        self.memory: Dict[int, Region] = {}

    def begin(self, exchange: Exchange, frame: Frame, iu: Iu) -> None:
        """The first frame of an Exchange with a Message Request."""
        vi = self.port.vi_of(iu.handle)
        if vi is None or not vi.receiving or vi.state != "connected" or frame.s_id != vi.peer_id:
            exchange.on_iu = lambda whole: None
            return
        if vi.incoming:
            self._lost(vi)
        if not vi.receiving or not self._is_next(vi, iu):
            exchange.on_iu = lambda whole: None
            return
        incoming = vi.incoming = Incoming(exchange, iu.opcode, iu.msg_id)
        failed = partial(self._failed, vi, incoming)
        exchange.on_iu = partial(self._taken, vi, incoming)
        exchange.on_abts = exchange.on_error = failed
        if self.port.bad("aborted-message-stays"):
            exchange.on_abts = lambda: setattr(vi, "incoming", None)
        if self.port.choose("lost_end") == "timeout":
            self.port.clock.after(self.port.ulp_timeout, failed)

    def _is_next(self, vi: Rev1Vi, iu: Iu) -> bool:
        """5.7.5: VI_MSG_ID tells of lost Messages."""
        ahead, now = (iu.msg_id - vi.expected) % WRAP, self.port.clock.now
        seen = vi.delivered.get(iu.msg_id)
        if self.port.choose("late_frames") == "remembered" and seen is not None and now < seen + self.port.r_a_tov:
            return False
        vi.delivered[iu.msg_id] = now
        careless = self.port.bad("responds-beyond-a-gap" if vi.acknowledged else "ignores-lost-messages")
        if careless or self.port.bad("held-message-first"):
            ahead = 0
        if ahead >= WRAP // 2:
            if vi.reliable and self.port.choose("old_message") == "error":
                self.port.broken(vi, "VIP_ERROR_CONN_LOST")
            return False
        if ahead and (vi.reliable or self.port.bad("unreliable-ends-at-a-gap")):
            self.port.broken(vi, "VIP_ERROR_CONN_LOST")
            return False
        vi.expected = (iu.msg_id + 1) % WRAP
        return True

    def _failed(self, vi: Rev1Vi, incoming: Incoming) -> None:
        if vi.incoming is incoming:
            self.port.close(incoming.exchange)
            incoming.exchange.on_iu = lambda whole: None
            self._lost(vi)

    def _lost(self, vi: Rev1Vi) -> None:
        """A Message that cannot become whole."""
        incoming, vi.incoming = vi.incoming, None
        if self.port.bad("delivers-partial"):
            self._deliver(vi, incoming)
            return
        head = vi.head() if incoming.opcode == SEND or incoming.immediate is not None else None
        if head and (vi.reliable or self.port.choose("partial_message") == "error"):
            vi.complete("recv", head, [TRANSPORT])
        if vi.reliable:
            self.port.broken(vi, None if head else "VIP_ERROR_CONN_LOST")

    # Whole IUs

    def _taken(self, vi: Rev1Vi, incoming: Incoming, iu: Iu) -> None:
        if vi.incoming is not incoming:
            return
        if iu.opcode != incoming.opcode or iu.msg_id != incoming.msg_id or vi.handle != iu.handle:
            self._failed(vi, incoming)
            return
        if iu.opcode == READ:
            vi.incoming = None
            if not iu.word7 and self.port.bad("empty-read-unanswered"):
                return
            self._read(vi, incoming.exchange, iu)
            return
        if iu.flags & IMM_DATA:
            incoming.immediate = iu.param
        if iu.opcode == WRITE and not self._place(vi, incoming, iu):
            self._failed(vi, incoming)
            return
        incoming.data += iu.payload
        if self.port.bad("fill-is-data"):
            incoming.data += bytes(-len(iu.payload) % 4)
        if self.port.bad("responds-to-the-first-iu") and vi.acknowledged and not iu.initiative:
            self._respond(vi, incoming, 0)
        if iu.last or iu.initiative:
            vi.incoming = None
            self._deliver(vi, incoming, iu.initiative)

    def _place(self, vi: Rev1Vi, incoming: Incoming, iu: Iu) -> bool:
        """5.6.6: VI_RMT_VA and RLTV_OFF together; False where an IU does not go on from the one before (R02)."""
        va = iu.rmt_va + iu.offset
        if incoming.next_va is not None and va != incoming.next_va:
            return False
        incoming.next_va = va + len(iu.payload)
        if not iu.payload:
            return True
        less = 1 if self.port.bad("writes-past-the-end") else 0
        where = remote(self.memory, va, iu.rmt_handle, len(iu.payload) - less, self.port.address_bits)
        enabled = vi.attributes.rdma_write or self.port.bad("write-enable-ignored")
        allowed = where and (self._may_write(where[0]) and enabled or self.port.bad("writes-anywhere"))
        if where and allowed and not incoming.refused:
            region, at = where
            step = self.port.room(iu) if self.port.bad("ignores-rltv-off") else len(iu.payload)
            for start in range(0, len(iu.payload), step):
                incoming.held.append((region, at, iu.payload[start:start + step]))
            if self.port.choose("placing") == "at-once" and not self.port.bad("reads-pass-writes"):
                self._put(incoming)
        else:
            incoming.refused = True
        return True

    def _may_write(self, region: Region) -> bool:
        return region.rdma_write or (region.rdma_read and self.port.bad("any-right-will-do"))

    @staticmethod
    def _put(incoming: Incoming) -> None:
        for region, at, piece in incoming.held:
            region.data[at:at + len(piece)] = piece[:len(region.data) - at]
        incoming.held.clear()

    # Delivery

    def _deliver(self, vi: Rev1Vi, incoming: Incoming, initiative: bool = True) -> None:
        if not incoming.refused and self.port.bad("reads-pass-writes"):
            self.port.clock.after(300, lambda: self._put(incoming))
        elif not incoming.refused:
            self._put(incoming)
        flags, code = self._consume(vi, incoming)
        if vi.acknowledged and initiative:
            self._respond(vi, incoming, flags)
        elif self.port.bad("responds-unasked") and not vi.acknowledged:
            self._respond(vi, incoming, 0)
        if flags and self.port.bad("unreliable-ends-on-errors"):
            self.port.broken(vi, code)
        if flags and vi.reliable and not self.port.bad("survives-errors"):
            self.port.broken(vi, code)

    def _consume(self, vi: Rev1Vi, incoming: Incoming) -> "tuple[int, Optional[str]]":
        """Response flags and the VipErrorCallback of a failed Message; both nothing for a good one."""
        none = incoming.immediate is None or (not incoming.data and self.port.bad("empty-write-brings-none"))
        if incoming.opcode == WRITE and none:
            return (PROT_ERR, "VIP_ERROR_RDMAW_PROT") if incoming.refused else (0, None)
        head = vi.head()
        if self.port.bad("fills-the-first-vi"):
            head = next((one.head() for one in self.port.vis.values() if one.head()), None)
        if not isinstance(head, Rev1Descriptor):
            return DESC_ERR, "VIP_ERROR_RECVQ_EMPTY"
        head.immediate = incoming.immediate
        if incoming.opcode == WRITE:
            head.op = "remote-rdma-write"
        errors, flags = self._errors(vi, incoming, head)
        if errors:
            head.immediate = None
            vi.complete("recv", head, errors)
            return flags, None
        if incoming.opcode == SEND:
            scatter(self.memory, head.segments, self._spoiled(incoming.data))
        if self.port.bad("loses-immediate") or (self.port.bad("immediate-zero-is-none") and not head.immediate):
            head.immediate = None
        vi.complete("recv", head, [], len(incoming.data))
        return 0, None

    def _spoiled(self, data: bytes) -> bytes:
        return bytes([data[0] ^ 1]) + data[1:] if data and self.port.bad("delivers-wrong-data") else data

    def _errors(self, vi: Rev1Vi, incoming: Incoming, head: Rev1Descriptor) -> "tuple[List[str], int]":
        if incoming.refused:
            return [PROTECTION], PROT_ERR
        if len(incoming.data) > vi.attributes.max_transfer - self.port.bad("largest-not-taken"):
            return [LENGTH], DESC_ERR
        if incoming.opcode == SEND and len(incoming.data) > head.room():
            return [LENGTH], DESC_ERR
        if incoming.opcode == SEND and not accessible(self.memory, head.segments):
            return [PROTECTION], DESC_ERR
        return [], 0

    def _respond(self, vi: Rev1Vi, incoming: Incoming, flags: int) -> None:
        """6.2 and 6.4: one frame that ends the Exchange (R21)."""
        port, opcode = self.port, SEND_RESP if incoming.opcode == SEND else WRITE_RESP
        told = flags | RESP_ERR if flags and not port.bad("hides-errors") else 0
        iu = Iu(opcode, vi.remote_handle or 0, told, incoming.msg_id, last=True, cs_ctl=vi.cs_ctl)
        if not port.bad("no-response"):
            later(port, "response_delay", lambda: self._send(incoming.exchange, iu))
            if port.bad("responds-twice"):
                port.send_iu(incoming.exchange, iu)

    def _read_again(self, request: Iu, part: Iu, start: int) -> None:
        """The bytes of memory as they are now."""
        where = remote(self.memory, request.rmt_va, request.rmt_handle, request.word7, self.port.address_bits)
        if where:
            begin = where[1] + start
            part.payload = bytes(where[0].data[begin:begin + len(part.payload)])

    def _send(self, exchange: Exchange, iu: Iu, fresh: Optional[Callable[[], None]] = None) -> None:
        """A Response; one that comes late only where the other side has not ended its Exchange."""
        if fresh:
            fresh()
        late = self.port.choose.number("response_delay") > 0
        if not late or self.port.theirs.get((exchange.peer, exchange.ox_id)) is exchange:
            self.port.send_iu(exchange, iu)

    # RDMA Read

    def _read(self, vi: Rev1Vi, exchange: Exchange, iu: Iu) -> None:
        """6.5 and 6.6; R14: none at Unreliable Delivery."""
        port = self.port
        if port.bad("read-length-of-16-bits"):
            iu.word7 &= 0xFFFF
        if iu.word7 >> 31 and port.bad("read-length-is-signed"):
            iu.word7 = 0
        where = remote(self.memory, iu.rmt_va, iu.rmt_handle, iu.word7, port.address_bits)
        may_read = vi.attributes.rdma_read or port.bad("read-enable-ignored")
        enabled = where and where[0].rdma_read and may_read or port.bad("reads-anywhere")
        if iu.word7 and not (where and enabled and vi.reliable) or not port.choose.yes("rdma_read"):
            flags = RESP_ERR | (TRANS_ERR if port.bad("read-error-as-transport") else PROT_ERR)
            some = b"none of your bytes" if port.choose("refused_read_data") == "some" else b""
            self._read_resp(vi, exchange, iu, some, flags)
            if vi.reliable:
                port.broken(vi, "VIP_ERROR_RDMAR_PROT")
            return
        data = bytes(where[0].data[where[1]:where[1] + iu.word7]) if where and iu.word7 else b""
        if port.bad("reads-one-byte-less"):
            data = data[:-1]
        self._read_resp(vi, exchange, iu, data, 0)

    def _read_resp(self, vi: Rev1Vi, exchange: Exchange, iu: Iu, data: bytes, flags: int) -> None:
        port = self.port
        room = port.room(Iu(READ_RESP))
        frames = max(1, -(-len(data) // room))
        each = -(-frames // min(port.choose.number("read_ius"), frames)) * room
        for start in range(0, max(1, len(data)), each):
            part = Iu(READ_RESP, vi.remote_handle or 0, flags, iu.msg_id, payload=data[start:start + each],
                      last=start + each >= len(data), cs_ctl=vi.cs_ctl, restart=port.choose("multi_iu_offset") == "restart")
            fresh = partial(self._read_again, iu, part, start) if port.choose("read_when") == "sent" and not flags else None
            later(port, "response_delay", partial(self._send, exchange, part, fresh))

    def forget(self, vi_number: int) -> None:
        """A new connection counts from the start: Rev1Vi.bind does it."""
