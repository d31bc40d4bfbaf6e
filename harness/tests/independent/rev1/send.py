"""The originator of VI Messages: 5.2, 6.1 to 6.6 and clause 8."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional

from ..clock import Timer
from ..message import FORMAT, LENGTH, PROTECTION, TRANSPORT, WRAP
from ..vi import FLUSHED
from .attempt import later
from .exchange import Exchange
from .memory import accessible, gather, scatter
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

RDMA_PROT, REMOTE_DESC = "VIP_STATUS_RDMA_PROT_ERROR", "VIP_STATUS_REMOTE_DESC_ERROR"
OPCODES = {"send": SEND, "rdma-write": WRITE, "rdma-read": READ}
ANSWERS = {"send": SEND_RESP, "rdma-write": WRITE_RESP, "rdma-read": READ_RESP}
MOST_FRAMES = 0x10000


def errors_of(iu: Iu) -> List[str]:
    """Table 6: nothing is wrong unless RESP_ERR says so."""
    if not iu.flags & RESP_ERR:
        return []
    found = [name for bit, name in ((TRANS_ERR, TRANSPORT), (PROT_ERR, RDMA_PROT), (DESC_ERR, REMOTE_DESC)) if iu.flags & bit]
    return found or [TRANSPORT]


class Waiting:
    """A Request whose Response is due: an Exchange with its timer, which outlives the VI (clause 8)."""

    def __init__(self, sender: "Sender", vi: Rev1Vi, descriptor: Rev1Descriptor, exchange: Exchange, msg_id: int) -> None:
        self.sender, self.port, self.vi, self.descriptor, self.exchange = sender, sender.port, vi, descriptor, exchange
        self.msg_id, self.handle, self.opcode = msg_id, vi.handle, ANSWERS[descriptor.op]
        exchange.on_iu, exchange.on_abts, exchange.on_error = self._answered, self._aborted, self._broken
        exchange.careless = self.port.bad("read-order-not-checked")
        self.timer: Timer = self.port.wait_response(self._expired)
        if len(vi.outstanding) > 1 and self.port.bad("one-response-timed"):
            self.timer.cancel()

    def _answered(self, iu: Iu) -> None:
        bad, compared = self.port.bad, self.port.choose("response_id") == "compared"
        if iu.opcode != self.opcode or (iu.msg_id != self.msg_id and compared) or iu.handle != self.handle:
            self.port.log(f"opcode {iu.opcode:02x} answers nothing")
            return
        self.timer.cancel()
        errors = [] if bad("response-error-ignored") else errors_of(iu)
        if errors and bad("kinds-told-as-transport"):
            errors = [TRANSPORT]
        self.descriptor.data += iu.payload
        if iu.opcode == READ_RESP and not iu.last and not errors:
            self.timer = self.port.wait_response(self._expired)
            return
        self.port.close(self.exchange)
        answered = self.descriptor
        if bad("response-to-the-oldest"):
            answered = next((one for one in self.vi.outstanding if one.op == answered.op != "rdma-read"), answered)
        self.sender.finished(self.vi, answered, errors)

    def _aborted(self) -> None:
        self.timer.cancel()
        self.sender.finished(self.vi, self.descriptor, [TRANSPORT])

    def _broken(self) -> None:
        """A Sequence error in the Response: no Response that could be used."""
        if self.port.mine.get(self.exchange.ox_id) is self.exchange:
            self.timer.cancel()
            self._expired()

    def _expired(self) -> None:
        self.port.abort(self.exchange)
        self.sender.finished(self.vi, self.descriptor, [TRANSPORT])


class Sender:
    """All Messages that the port originates."""

    def __init__(self, port: "Rev1Port") -> None:
        self.port = port

    def post(self, vi: Rev1Vi, descriptor: Rev1Descriptor) -> None:
        """VipPostSend."""
        vi.queues["send"].append(descriptor)
        early = self.port.bad("sends-before-resp2") and vi.remote_handle is not None and vi.state == "pending-connect"
        if (vi.state != "connected" or vi.disconnect) and not early:
            vi.complete("send", descriptor, [FLUSHED])
            return
        vi.waiting.append(descriptor)
        if self.port.choose.yes("send_copies") and descriptor.op in ("send", "rdma-write") and not self._objection(vi, descriptor):
            descriptor.copy = gather(self.port.receiver.memory, descriptor.segments)
        later(self.port, "send_delay", lambda: self._begin(vi))

    def _begin(self, vi: Rev1Vi) -> None:
        """Nothing of FC-VI goes out before a login."""
        if self.port.login.done:
            self._next(vi)
        else:
            self.port.login.ensure(lambda: self._next(vi), lambda: self.port.broken(vi))

    def _next(self, vi: Rev1Vi) -> None:
        """What may go out now (R25: one Message at a time, or all)."""
        alone = vi.acknowledged and self.port.choose("reception") == "one"
        while vi.waiting and vi.state in ("connected", "pending-connect") and not (alone and vi.outstanding):
            descriptor = vi.waiting.pop(0)
            error = self._objection(vi, descriptor)
            if error:
                vi.complete("send", descriptor, [error])
                if vi.reliable:
                    self.port.broken(vi)
                continue
            self._transmit(vi, descriptor)

    def _objection(self, vi: Rev1Vi, descriptor: Rev1Descriptor) -> Optional[str]:
        can_read = self.port.choose.yes("rdma_read") and (vi.reliable or self.port.choose.yes("unreliable_reads"))
        rdma_wrong = descriptor.op != "send" and descriptor.remote is None
        if descriptor.op not in OPCODES or rdma_wrong or (descriptor.op == "rdma-read" and not can_read):
            return FORMAT
        if descriptor.copy is None and not accessible(self.port.receiver.memory, descriptor.segments):
            return PROTECTION
        return LENGTH if descriptor.room() > vi.attributes.max_transfer - self.port.bad("largest-refused") else None

    def _transmit(self, vi: Rev1Vi, descriptor: Rev1Descriptor) -> None:
        port, msg_id = self.port, vi.next_msg_id
        exchange = port.open_exchange(peer=vi.peer_id)
        if port.bad("one-exchange-for-all"):
            port.close(exchange)
            vi.common = exchange = vi.common or exchange
            port.mine[exchange.ox_id] = exchange
        answered = descriptor.op == "rdma-read" or vi.acknowledged
        descriptor.sent = True
        step = 2 if port.bad("msg-id-step") else 0 if port.bad("msg-id-stays") else 1
        vi.next_msg_id = (msg_id + step) % WRAP
        if port.bad("msg-id-of-8-bits"):
            vi.next_msg_id &= 0xFF
        if port.bad("msg-id-skips-reads") and descriptor.op == "rdma-read":
            vi.next_msg_id = msg_id
        if answered:
            vi.outstanding.append(descriptor)
            Waiting(self, vi, descriptor, exchange, msg_id)
        if descriptor.op == "rdma-read":
            port.send_iu(exchange, self._read_request(vi, descriptor, msg_id))
            return
        ius = self._requests(vi, descriptor, msg_id)
        for at, iu in enumerate(ius):
            iu.last = at == len(ius) - 1 and not answered and not port.bad("one-exchange-for-all")
            iu.initiative = at == len(ius) - 1 and answered
            if at and port.bad("two-exchanges-for-one"):
                exchange = port.open_exchange(peer=vi.peer_id)
            port.send_iu(exchange, iu)
        if answered and descriptor.op != "rdma-read" and port.bad("completes-before-response"):
            vi.outstanding.remove(descriptor)
            vi.complete("send", descriptor, [])
        if not answered:
            port.close(exchange)
            vi.complete("send", descriptor, [])

    def _read_request(self, vi: Rev1Vi, descriptor: Rev1Descriptor, msg_id: int) -> Iu:
        """R04 for the length."""
        assert descriptor.remote
        length = descriptor.room() if self.port.choose("read_length") == "length" else 0
        return Iu(READ, vi.remote_handle or 0, msg_id=msg_id, rmt_va=descriptor.remote[0], rmt_handle=descriptor.remote[1],
                  word7=length, initiative=True, cs_ctl=vi.cs_ctl)

    def _requests(self, vi: Rev1Vi, descriptor: Rev1Descriptor, msg_id: int) -> List[Iu]:
        """The IUs of one Send or RDMA Write, each of frames that SEQ_CNT can number (5.4)."""
        port, choose = self.port, self.port.choose
        data = descriptor.copy if descriptor.copy is not None else gather(port.receiver.memory, descriptor.segments)
        if port.bad("gathers-to-the-first-empty"):
            at = next((n for n, part in enumerate(descriptor.segments) if not part[2]), len(descriptor.segments))
            data = gather(port.receiver.memory, descriptor.segments[:at]).ljust(len(data), b"\0")
        opcode = OPCODES[descriptor.op]
        room = port.room(Iu(opcode))
        frames = max(1, -(-len(data) // room))
        most = 2 if port.bad("two-exchanges-for-one") else choose.number("message_ius")
        count = max(min(most, frames), -(-frames // MOST_FRAMES))
        each = -(-frames // count) * room
        starts = [*range(0, max(1, len(data)), each)]
        if len(starts) > 1 and choose("iu_sizes") == "uneven":
            starts[1] = room
        bounds = dict(zip(starts, [*starts[1:], len(data)]))
        remote_va, remote_handle = descriptor.remote or (0, 0)
        restart = choose("multi_iu_offset") == "restart"
        ius = []
        for start in starts:
            advanced = start if restart else 0
            to = vi.before if port.bad("handle-of-before") and vi.before is not None else vi.remote_handle
            iu = Iu(opcode, to or 0, msg_id=msg_id, payload=data[start:bounds[start]], restart=restart,
                    cs_ctl=vi.cs_ctl)
            if opcode == WRITE:
                iu.rmt_va, iu.rmt_handle = remote_va + advanced, remote_handle
                iu.word7 = len(data) if choose("write_length") == "length" else 0
            told = choose("immediate_ius")
            carries = told == "all" or start == (starts[-1] if told == "last" else starts[0])
            if descriptor.immediate is not None and carries:
                iu.flags, iu.param = IMM_DATA, descriptor.immediate
            ius.append(iu)
        if port.bad("sends-one-byte-less") and len(ius[-1].payload) > 1:
            ius[-1].payload = ius[-1].payload[:-1]
        return ius

    # Completion

    def finished(self, vi: Rev1Vi, descriptor: Rev1Descriptor, errors: List[str]) -> None:
        """The Response of one Request has come, or will not."""
        if descriptor not in vi.outstanding:
            return
        if descriptor.op == "rdma-read" and not errors:
            errors = self._read(descriptor)
        descriptor.answer = errors
        if errors:
            vi.outstanding.remove(descriptor)
            vi.complete("send", descriptor, errors)
            if not self.port.bad("unanswered-is-survived") or errors != [TRANSPORT]:
                self.port.broken(vi)
            return
        self._complete_in_order(vi)
        self._next(vi)

    def _complete_in_order(self, vi: Rev1Vi) -> None:
        """Sends and Writes in their order, and so the Reads; a Read may be passed (VI-ARCH 6.3.1)."""
        for reads in (False, True):
            for descriptor in [one for one in vi.outstanding if (one.op == "rdma-read") == reads]:
                if descriptor.answer is None:
                    break
                vi.outstanding.remove(descriptor)
                vi.complete("send", descriptor, [])

    def _read(self, descriptor: Rev1Descriptor) -> List[str]:
        got, literal = bytes(descriptor.data), self.port.choose("read_length") == "zero"
        if len(got) != descriptor.room() and not literal and not self._careless(len(got) - descriptor.room()):
            return [TRANSPORT]
        if not accessible(self.port.receiver.memory, descriptor.segments):
            return [PROTECTION]
        if self.port.bad("long-read-overflows"):
            descriptor.segments[-1:] = [(mem, offset, len(got)) for mem, offset, _ in descriptor.segments[-1:]]
        scatter(self.port.receiver.memory, descriptor.segments, got[:descriptor.room()])
        return []

    def _careless(self, more: int) -> bool:
        """So many bytes more than were asked for are no error, for a fault."""
        bad = self.port.bad
        return bad("long-read-overflows") if more > 0 else bad("short-read-is-good")

    def stop(self, vi: Rev1Vi) -> None:
        """The connection is over; Requests still wait for their Responses, or are aborted (clause 8)."""
        abandoned = [one for one in self.port.mine.values() if isinstance(getattr(one.on_iu, "__self__", None), Waiting)]
        if self.port.choose("abandoned") == "abts":
            for exchange in abandoned:
                waiting = getattr(exchange.on_iu, "__self__")
                if waiting.vi is vi:
                    waiting.timer.cancel()
                    self.port.abort(exchange)
        vi.outstanding, vi.waiting = [], []
