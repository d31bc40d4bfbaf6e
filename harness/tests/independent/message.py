"""Send Messages, Unreliable Delivery, In-Order Fabric: 5.2.2, 6.2, 8.4 and rules 2 to 6 of Annex B."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Dict, List, Optional, Tuple

from .vi import FLUSHED, Descriptor, Vi
from .wire import END, IMM_DATA, LAST, RO_PRESENT, SEND, Frame, Iu

if TYPE_CHECKING:
    from .port import Port

TRANSPORT, LENGTH, PROTECTION, FORMAT = (f"VIP_STATUS_{name}_ERROR" for name in
                                         ("TRANSPORT", "LENGTH", "PROTECTION", "FORMAT"))
WRAP = 1 << 32


@dataclass
class Memory:
    """A registered region."""

    va: int
    handle: int
    data: bytearray


@dataclass
class Assembly:
    """The Message that is being received."""

    ox_id: int
    iu: Iu
    descriptor: Optional[Descriptor]
    data: bytearray = field(default_factory=bytearray)
    immediate: Optional[int] = None


@dataclass
class Stream:
    """Mexp, SCexp and Merr of one FCVI_HANDLE (B.2.2)."""

    expected: int = 1
    seq_cnt: int = 0
    open: Optional[Assembly] = None
    errors: List[Tuple[int, int, int]] = field(default_factory=list)


class Messages:
    """The data path of the port."""

    def __init__(self, port: "Port") -> None:
        self.port = port
        self.memory: Dict[int, Memory] = {}
        self._streams: Dict[int, Stream] = {}

    def forget(self, vi_number: int) -> None:
        """A new connection counts from the start."""
        self._streams[vi_number] = Stream()

    # Sending

    def post_send(self, vi: Vi, descriptor: Descriptor) -> None:
        """VipPostSend."""
        vi.queues["send"].append(descriptor)
        early = self.port.bad("sends-early") and vi.state.startswith("pending")
        if (vi.state != "connected" or vi.disconnect) and not early:
            vi.complete("send", descriptor, [FLUSHED])
            return
        error = self._objection(vi, descriptor)
        if error:
            vi.complete("send", descriptor, [error])
            return
        self._transmit(vi, descriptor)
        if vi.fully_open:
            vi.complete("send", descriptor, [])

    def _objection(self, vi: Vi, descriptor: Descriptor) -> Optional[str]:
        if descriptor.op != "send":
            return FORMAT
        if not self._accessible(descriptor):
            return PROTECTION
        return LENGTH if descriptor.room() > vi.attributes.max_transfer else None

    def _accessible(self, descriptor: Descriptor) -> bool:
        regions = ((self.memory.get(mem), offset, length) for mem, offset, length in descriptor.segments)
        return all(region and offset + length <= len(region.data) for region, offset, length in regions)

    def _transmit(self, vi: Vi, descriptor: Descriptor) -> None:
        port, bad = self.port, self.port.bad
        data = b"".join(self.memory[mem].data[at:at + length] for mem, at, length in descriptor.segments)
        ius = port.choose.number("send_ius")
        each = max(4, -(-len(data) // (4 * ius)) * 4)
        exchange = port.open_exchange()
        preferred = vi.attributes.preference or port.choose("pref") == "always"
        for at in range(0, max(1, len(data)), each):
            last = at + each >= len(data)
            iu = Iu(SEND, vi.remote_handle or 0, msg_id=vi.next_msg_id, word7=len(data),
                    payload=bytes(data[at:at + each]), last=last, cs_ctl=0x80 if preferred else 0)
            if descriptor.immediate is not None:
                iu.flags, iu.param = IMM_DATA, descriptor.immediate
            port.send_iu(exchange, iu)
        port.close(exchange)
        vi.last_sent, descriptor.sent = vi.next_msg_id, True
        vi.next_msg_id = (vi.next_msg_id + (2 if bad("msg-id-step") else 1)) % WRAP

    # Receiving

    def receive(self, frame: Frame, iu: Iu, payload: bytes) -> None:
        """One frame of a SEND_RQST."""
        vi = next((vi for vi in self.port.open_vis() if vi.handle == iu.handle and vi.receiving), None)
        if vi is None:
            return
        stream = self._streams[vi.number]
        stream.errors = [one for one in stream.errors if one[2] > self.port.clock.now]
        if any((iu.msg_id - first) % WRAP < count for first, count, _ in stream.errors):
            return
        ahead = (iu.msg_id - stream.expected) % WRAP
        if ahead >= WRAP // 2:
            self._error(vi, stream, 0)
        elif ahead:
            self._error(vi, stream, ahead + (1 if frame.seq_cnt else 0))
        if vi.receiving and not ahead and not self._continues(stream, frame, iu, payload):
            self._error(vi, stream, 1)
        elif vi.receiving and iu.msg_id == stream.expected:
            self._take(vi, stream, frame, iu, payload)

    def _continues(self, stream: Stream, frame: Frame, iu: Iu, payload: bytes) -> bool:
        held = stream.open
        if self.port.bad("delivers-corrupt") and held:
            return True
        if frame.seq_cnt != stream.seq_cnt or (held is None) != (frame.seq_cnt == 0):
            return False
        if held and (held.ox_id != frame.ox_id or held.iu.word7 != iu.word7):
            return False
        offset = len(held.data) if held else 0
        return not payload or not frame.f_ctl & RO_PRESENT or frame.param == offset

    def _take(self, vi: Vi, stream: Stream, frame: Frame, iu: Iu, payload: bytes) -> None:
        if stream.open is None:
            stream.open = Assembly(frame.ox_id, iu, vi.head())
        held = stream.open
        held.data += payload
        if iu.flags & IMM_DATA:
            held.immediate = iu.param
        stream.seq_cnt = frame.seq_cnt + 1 & 0xFFFF
        if frame.f_ctl & END and frame.f_ctl & LAST:
            if len(held.data) != iu.word7 and not self.port.bad("delivers-corrupt"):
                self._error(vi, stream, 1)
            else:
                self._deliver(vi, stream, held)

    def _deliver(self, vi: Vi, stream: Stream, held: Assembly) -> None:
        stream.expected, stream.seq_cnt, stream.open = (stream.expected + 1) % WRAP, 0, None
        descriptor = held.descriptor
        if descriptor is None or descriptor.status is not None:
            return
        if len(held.data) > min(descriptor.room(), vi.attributes.max_transfer):
            vi.complete("recv", descriptor, [LENGTH])
        elif not self._accessible(descriptor):
            vi.complete("recv", descriptor, [PROTECTION])
        else:
            self._scatter(descriptor, bytes(held.data))
            descriptor.immediate = held.immediate
            vi.last_received = held.iu.msg_id
            vi.complete("recv", descriptor, [], len(held.data))

    def _scatter(self, descriptor: Descriptor, data: bytes) -> None:
        if self.port.bad("delivers-wrong-data") and data:
            data = bytes([data[0] ^ 1]) + data[1:]
        for mem, offset, length in descriptor.segments:
            piece, data = data[:length], data[length:]
            self.memory[mem].data[offset:offset + len(piece)] = piece

    def _error(self, vi: Vi, stream: Stream, count: int) -> None:
        """Merr for `count` Messages from the expected one on (rules 3a, 4a, 6a, 6c), or rule 5a for none."""
        if count:
            stream.errors.append((stream.expected, count, self.port.clock.now + self.port.r_a_tov))
            stream.expected = (stream.expected + count) % WRAP
            held, stream.open, stream.seq_cnt = stream.open, None, 0
            if held and held.descriptor and held.descriptor.status is None:
                vi.complete("recv", held.descriptor, [TRANSPORT])
        if self.port.choose("message_error") == "error":
            vi.fail("VIP_ERROR_CONN_LOST")
            self.port.disconnects.by_provider(vi)

    def aborted(self, s_id: int, ox_id: int) -> None:
        """ABTS for a Message that is being received."""
        for vi in self.port.open_vis():
            stream = self._streams.get(vi.number)
            if s_id == self.port.peer_id and stream and stream.open and stream.open.ox_id == ox_id:
                self._error(vi, stream, 1)
