"""Descriptors: posting, processing, completing and dequeuing (S 2.5, 6, 7; G 3.5, 5, 6)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Callable, Optional

from . import codes as c
from .objects import Cq, ErrorReport, Nic, Queue, Vi, Work
from .threads import Job, Steps
from .world import World

CONTROL = struct.Struct("<QIHHIIII")
SEGMENT = struct.Struct("<QII")


@dataclass
class Segment:
    """A data segment."""

    va: int
    handle: int
    length: int


@dataclass
class Form:
    """A Descriptor as the NIC reads it."""

    op: int
    control: int
    immediate: int
    length: int
    remote: Optional[Segment]
    segments: list[Segment]
    error: int = 0


class Transfer:
    """The work queues of one world."""

    def __init__(self, world: World) -> None:
        self.world = world

    # ---- posting ----

    def post(self, vi: Vi, receive: bool, va: int, handle: int) -> str:
        """G 3.5.1, 3.5.4: only the handle of the VI gives a code; all else is told later."""
        world, queue = self.world, vi.receive if receive else vi.send
        if not self._writes(vi, va, handle):
            if world.choices.unfit_comes_back:
                queue.work.append(Work(va, handle))
            self._catastrophe(vi, "VIP_ERROR_POST_DESC", va)
            return c.OK
        if len(queue.work) >= world.choices.per_queue:
            self._catastrophe(vi, "VIP_ERROR_VI_OVERRUN", va)
            return c.OK
        work = Work(va, handle)
        world.space.write(va + 28, bytes(4))
        if queue.work:
            world.space.write(queue.work[-1].va, struct.pack("<QI", va, handle))
        queue.work.append(work)
        if vi.lost and not receive:
            self.fail(vi, "VIP_ERROR_CONN_LOST")
        if vi.state == c.ERROR or (not receive and vi.state != c.CONNECTED):
            if not work.status:
                self.complete(vi, queue, work, c.FLUSHED)
        elif not receive:
            self._plan(vi)
        return c.OK

    def _writes(self, vi: Vi, va: int, handle: int) -> bool:
        """Whether a Descriptor lies where the VI can reach it."""
        there = self.world.reach(vi.nic, va, 32, handle, vi.attributes.ptag)
        return not va % 64 and there is not None and self.world.space.read(va, 32) is not None

    def _catastrophe(self, vi: Vi, code: str, va: int) -> None:
        """Reported at once, but in Idle and Pending with the connect attempt (S 5.1, G 6.3.1)."""
        if vi.state == c.IDLE:
            vi.held = code
            return
        self.world.report(ErrorReport(code, "VIP_RESOURCE_DESCRIPTOR", vi.nic, vi, va))
        self.break_connection(vi, None)

    def _plan(self, vi: Vi) -> None:
        choices, epoch = self.world.choices, vi.epoch
        wait = choices.delay_s
        if choices.batch_s:
            wait = choices.batch_s - self.world.threads.clock.now_us() / 1e6 % choices.batch_s
        if wait:
            self.world.threads.after(wait, lambda: self._process(vi, epoch))
        else:
            self._process(vi, epoch)

    # ---- processing ----

    def _process(self, vi: Vi, epoch: int) -> None:
        """Do the send queue in order; a Read may be slow, and then only what may pass it goes on (S 6.3.1.1)."""
        slow = self.world.choices.reads_late_s
        for work in list(vi.send.work):
            if vi.epoch != epoch or vi.state != c.CONNECTED:
                return
            if vi.lost:
                self.fail(vi, "VIP_ERROR_CONN_LOST")
                return
            if work.status:
                continue
            reading = any(w.started and not w.status for w in vi.send.work)
            form = None if work.started else self.read(vi, work, True)
            if form is None:
                if work.started:
                    continue
                self._lost_descriptor(vi, work)
                return
            stays = form.op == c.CONTROL_READ or form.control & c.CONTROL_FENCE or vi.attributes.level != c.RD or form.error
            if reading and stays:
                return
            if slow and form.op == c.CONTROL_READ and not form.error:
                work.started = True
                self.world.threads.after(slow, self._read_later(vi, work, form, epoch))
                continue
            self._do(vi, work, form)

    def _read_later(self, vi: Vi, work: Work, form: Form, epoch: int) -> Callable[[], None]:
        def job() -> None:
            if vi.epoch == epoch and vi.state == c.CONNECTED and not work.status:
                self._do(vi, work, form)
                self._process(vi, epoch)
        return job

    def _lost_descriptor(self, vi: Vi, work: Work) -> None:
        self.world.report(ErrorReport("VIP_ERROR_COMP_PROT", "VIP_RESOURCE_DESCRIPTOR", vi.nic, vi, work.va))
        self.break_connection(vi, None)

    def read(self, vi: Vi, work: Work, sending: bool) -> Optional[Form]:
        """The Descriptor, with the error bit of what is wrong in it; None when its memory was de-registered meanwhile."""
        world, space, level = self.world, self.world.space, vi.attributes.level
        if world.reach(vi.nic, work.va, 32, work.handle, vi.attributes.ptag) is None:
            return None
        head = space.read(work.va, 32)
        if head is None:
            return None
        _, _, count, control, reserved, immediate, length, _ = CONTROL.unpack(head)
        form = Form(control & c.CONTROL_OP, control, immediate, length, None, [])
        rdma = form.op in (c.CONTROL_READ, c.CONTROL_WRITE)
        if form.op == c.CONTROL_OP or control & c.CONTROL_RESERVED or reserved or (rdma and (not sending or not count)):
            form.error = c.FORMAT
            return form
        if form.op == c.CONTROL_READ and (level == c.UD or not world.choices.rdma_read):
            form.error = c.FORMAT
            return form
        if count > world.choices.segments:
            form.error = c.LENGTH
            return form
        tail = space.read(work.va + 32, 16 * count)
        if tail is None or world.reach(vi.nic, work.va, 32 + 16 * count, work.handle, vi.attributes.ptag) is None:
            form.error = c.PROTECTION
            return form
        for index, (va, handle, size) in enumerate(SEGMENT.iter_unpack(tail)):
            if rdma and index == 0:
                form.remote = Segment(va, handle, 0)
                form.error = c.FORMAT if size else 0
            else:
                form.segments.append(Segment(va, handle, size))
        total = sum(segment.length for segment in form.segments)
        if not form.error and sending and (form.length != total or total > vi.attributes.size):
            form.error = c.LENGTH
        return form

    def _gather(self, vi: Vi, segments: list[Segment]) -> Optional[bytes]:
        parts = []
        for segment in segments:
            if not segment.length:
                continue
            if self.world.reach(vi.nic, segment.va, segment.length, segment.handle, vi.attributes.ptag) is None:
                return None
            part = self.world.space.read(segment.va, segment.length)
            if part is None:
                return None
            parts.append(part)
        return b"".join(parts)

    def _writable(self, vi: Vi, segments: list[Segment]) -> bool:
        for segment in segments:
            if segment.length:
                block = self.world.space.block(segment.va, segment.length)
                region = self.world.reach(vi.nic, segment.va, segment.length, segment.handle, vi.attributes.ptag)
                if block is None or block.pages != "read-write" or region is None:
                    return False
        return True

    def _scatter(self, segments: list[Segment], data: bytes) -> None:
        for segment in segments:
            if segment.length and data:
                self.world.space.write(segment.va, data[:segment.length])
                data = data[segment.length:]

    def _remote(self, vi: Vi, at: Segment, length: int, read: bool) -> bool:
        """Whether the far end grants the access: VI, region, tag and pages (S 3.2.2.2)."""
        if not length:
            return True
        if not (vi.attributes.read if read else vi.attributes.write):
            return False
        region = self.world.reach(vi.nic, at.va, length, at.handle, vi.attributes.ptag)
        if region is None or not (region.read if read else region.write):
            return False
        block = self.world.space.block(at.va, length)
        return block is not None and (read or block.pages == "read-write")

    def _do(self, vi: Vi, work: Work, form: Form) -> None:
        level, operation = vi.attributes.level, {0: c.OP_SEND, 1: c.OP_WRITE, 2: c.OP_READ}.get(form.op, 0)
        data: Optional[bytes] = b""
        if not form.error and form.op == c.CONTROL_READ:
            form.error = 0 if self._writable(vi, form.segments) else c.PROTECTION
        elif not form.error:
            data = self._gather(vi, form.segments)
            form.error = c.PROTECTION if data is None else 0
        if form.error:
            self._finish(vi, vi.send, work, operation | form.error, 0)
            if level != c.UD:
                self.break_connection(vi, None)
            return
        peer = vi.peer
        assert data is not None and peer is not None
        if form.op == c.CONTROL_READ:
            self._read(vi, peer, work, form)
            return
        if form.op == c.CONTROL_WRITE:
            assert form.remote is not None
            allowed = self._remote(peer, form.remote, len(data), False)
            fault, named = (0, None) if allowed else (c.RDMA_PROT, "VIP_ERROR_RDMAW_PROT")
            if form.control & c.CONTROL_IMMEDIATE:
                fault, named = self._consume(peer, form, data, None if allowed else c.PROTECTION)
                fault = c.RDMA_PROT if fault and not allowed and named is None else fault
            elif allowed:
                self.world.space.write(form.remote.va, data)
        else:
            fault, named = self._consume(peer, form, data, 0)
        self._finish(vi, vi.send, work, operation | (fault if level == c.RR else 0), 0 if fault and level == c.RR else len(data))
        if fault and level != c.UD:
            self.break_connection(peer, named)

    def _consume(self, vi: Vi, form: Form, data: bytes, refused: Optional[int]) -> tuple[int, Optional[str]]:
        """A message takes the next receive Descriptor: what the initiator's Descriptor says on RR, and the target's callback."""
        work = next((work for work in vi.receive.work if not work.status), None)
        if work is None:
            return c.REMOTE_DESC, "VIP_ERROR_RECVQ_EMPTY"
        there = self.read(vi, work, False)
        if there is None:
            self._lost_descriptor(vi, work)
            return c.REMOTE_DESC, None
        write = form.op == c.CONTROL_WRITE
        operation = c.OP_REMOTE_WRITE if write else c.OP_RECEIVE
        error = there.error
        if not error and write:
            error = refused or 0
        elif not error and not self._writable(vi, there.segments):
            error = c.PROTECTION
        elif not error and len(data) > sum(segment.length for segment in there.segments):
            error = c.LENGTH
        if error:
            self._finish(vi, vi.receive, work, operation | error, 0)
            return c.REMOTE_DESC, None
        if write:
            assert form.remote is not None
            self.world.space.write(form.remote.va, data)
        else:
            self._scatter(there.segments, data)
        carried = c.IMMEDIATE if form.control & c.CONTROL_IMMEDIATE else 0
        self._finish(vi, vi.receive, work, operation | carried, len(data), form.immediate if carried else None)
        return 0, None

    def _read(self, vi: Vi, peer: Vi, work: Work, form: Form) -> None:
        assert form.remote is not None
        if not self._remote(peer, form.remote, form.length, True):
            self._finish(vi, vi.send, work, c.OP_READ | c.RDMA_PROT, 0)
            self.break_connection(peer, "VIP_ERROR_RDMAR_PROT")
            return
        data = self.world.space.read(form.remote.va, form.length) if form.length else b""
        assert data is not None
        self._scatter(form.segments, data)
        self._finish(vi, vi.send, work, c.OP_READ, form.length)

    # ---- completing ----

    def _finish(self, vi: Vi, queue: Queue, work: Work, status: int, length: int, immediate: Optional[int] = None) -> None:
        if immediate is not None:
            self.world.space.write(work.va + 20, struct.pack("<I", immediate))
        self.world.space.write(work.va + 24, struct.pack("<I", length))
        self.complete(vi, queue, work, status)

    def complete(self, vi: Vi, queue: Queue, work: Work, status: int) -> None:
        """The status last; then the entries and handlers of what is complete at the head of the queue (G 6.1)."""
        if queue.receive and not status & 0x70000:
            status |= c.OP_RECEIVE
        work.status = status | c.DONE | self._not_valid(vi, queue, status)
        if not self.world.choices.unfit_comes_back or self._writes(vi, work.va, work.handle):
            self.world.space.write(work.va + 28, struct.pack("<I", work.status))
        self.announce(vi, queue)

    def _not_valid(self, vi: Vi, queue: Queue, status: int) -> int:
        """What is beside an error in bits that are not valid: REMOTE_DESC below RR, RDMA_PROT at UD, TRANSPORT (G 5.2)."""
        level = vi.attributes.level
        if not self.world.choices.bits_not_valid or not status & c.ERRORS or level == c.RR:
            return 0
        read = status & c.OP_READ or not status & 0x70000
        transport = c.TRANSPORT if not queue.receive and (level == c.UD or not read) else 0
        return c.REMOTE_DESC | (c.RDMA_PROT if level == c.UD else 0) | transport

    def announce(self, vi: Vi, queue: Queue) -> None:
        """Entries and handler calls that are due."""
        while queue.announced < len(queue.work) and queue.work[queue.announced].status:
            queue.announced += 1
            if queue.cq is not None:
                queue.cq.entries.append((vi, queue.receive))
                self.serve(queue.cq)
        while queue.handlers and queue.announced:
            self._hand(queue, self.dequeue(queue).va)
        if not queue.work:
            while queue.handlers:
                self._hand(queue, None)

    def _hand(self, queue: Queue, va: Optional[int]) -> None:
        handler = queue.handlers.popleft()
        queue.thread.do(lambda: handler(va))

    def serve(self, cq: Cq) -> None:
        """Call the handlers of a Completion Queue."""
        while cq.handlers and cq.entries:
            self._entry(cq.thread.do, cq.handlers.popleft(), *cq.entries.popleft())

    @staticmethod
    def _entry(do: Callable[[Job], None], handler: Callable[[Vi, bool], Optional[Steps[None]]], vi: Vi, receive: bool) -> None:
        do(lambda: handler(vi, receive))

    def flush(self, vi: Vi) -> None:
        """Each Descriptor that is not complete completes as flushed (G 3.3.5)."""
        queues = [vi.receive, vi.send] if self.world.choices.receive_flushed_first else [vi.send, vi.receive]
        for queue in queues:
            for work in list(queue.work):
                if not work.status:
                    self.complete(vi, queue, work, c.FLUSHED)

    # ---- the end of a Connection ----

    def fail(self, vi: Vi, code: Optional[str]) -> None:
        """Connected to Error, with a callback when there is a code."""
        if vi.state not in (c.CONNECTED, c.PENDING):
            return
        vi.state, vi.peer, vi.lost = c.ERROR, None, False
        vi.epoch += 1
        if code is not None:
            self.world.report(ErrorReport(code, "VIP_RESOURCE_VI", vi.nic, vi))
        self.flush(vi)

    def break_connection(self, vi: Vi, code: Optional[str]) -> None:
        """An error found at ``vi`` (told there by ``code``) breaks the Connection; the other end gets CONN_LOST."""
        peer = vi.peer
        if code is not None and not self.world.choices.named_at_target:
            code = "VIP_ERROR_CONN_LOST"
        if vi.state == c.ERROR and code is not None:
            code = None
        self.fail(vi, code)
        if peer is not None:
            self.fail(peer, "VIP_ERROR_CONN_LOST")

    def disconnect(self, vi: Vi) -> None:
        """VipDisconnect (G 3.3.5); the pending setup is the caller's to take back."""
        peer = vi.peer
        vi.state, vi.peer, vi.lost = c.IDLE, None, False
        vi.epoch += 1
        vi.held = None
        if peer is not None:
            if self.world.choices.tell_of_disconnect:
                self.fail(peer, "VIP_ERROR_CONN_LOST")
            else:
                peer.peer, peer.lost = None, True
        self.flush(vi)

    # ---- dequeuing ----

    @staticmethod
    def dequeue(queue: Queue) -> Work:
        """Take the complete head."""
        queue.announced -= 1
        return queue.work.popleft()

    def done(self, vi: Vi, queue: Queue) -> tuple[str, Optional[int]]:
        """VipSendDone and VipRecvDone (G 3.5.2, 3.5.5)."""
        if not queue.work:
            return c.DESCRIPTOR, None
        if not queue.work[0].status:
            return c.NOT_DONE, None
        work = self.dequeue(queue)
        if not queue.work:
            self.announce(vi, queue)
        return (c.DESCRIPTOR if work.status & c.ERRORS else c.OK), work.va

    def wait(self, vi: Vi, queue: Queue, seconds: Optional[float]) -> Steps[tuple[str, Optional[int]]]:
        """VipSendWait and VipRecvWait (G 3.5.3, 3.5.6)."""
        if queue.cq is not None:
            return c.RESOURCE, None
        yield from self.world.until(lambda: vi.gone or not queue.work or bool(queue.work[0].status), seconds)
        if vi.gone:
            return c.PARAMETER, None
        code, va = self.done(vi, queue)
        return (c.TIMEOUT if code == c.NOT_DONE else code), va

    def notify(self, vi: Vi, queue: Queue, handler: Callable[[Optional[int]], Optional[Steps[None]]]) -> str:
        """VipSendNotify and VipRecvNotify (G 3.5.9, 3.5.10)."""
        if queue.cq is not None:
            return c.RESOURCE
        if not queue.work:
            return c.DESCRIPTOR
        queue.handlers.append(handler)
        self.announce(vi, queue)
        return c.OK

    def close(self, nic: Nic) -> None:
        """Everything of an open instance goes away (G 3.1.2)."""
        for vi in list(nic.vis):
            vi.send.handlers.clear()
            vi.receive.handlers.clear()
            self.disconnect(vi)
            vi.gone = True
        for cq in nic.cqs:
            cq.gone = True
            cq.handlers.clear()
        for ptag in nic.ptags:
            ptag.gone = True
        nic.gone, nic.handler = True, None
        nic.regions.clear()
        self.world.nics.remove(nic)
