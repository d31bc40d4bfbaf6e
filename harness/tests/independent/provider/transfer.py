"""Descriptors: posting, processing, completing and dequeuing (S 2.5, 6, 7; G 3.5, 5, 6)."""

from __future__ import annotations

import struct
from typing import Callable, Optional

from . import codes as c
from .objects import Cq, ErrorReport, Nic, Queue, Vi, Work
from .threads import Job, Steps, Thread
from .wire import Form, Segment, Wire
from .world import World

CONTROL = struct.Struct("<QIHHIIII")
SEGMENT = struct.Struct("<QII")


class Transfer:
    """The work queues of one world."""

    def __init__(self, world: World) -> None:
        self.world, self.wire = world, Wire(world)

    # ---- posting ----

    def post(self, vi: Vi, receive: bool, va: int, handle: int) -> str:
        """G 3.5.1, 3.5.4: only the handle of the VI gives a code; all else is told later."""
        world, queue = self.world, vi.receive if receive else vi.send
        if va % 64 and world.choices.misaligned_refused:
            return c.PARAMETER
        if not self._writes(vi, va, handle):
            if world.choices.unfit_refused:
                return c.PARAMETER
            if world.choices.unfit_comes_back:
                queue.work.append(Work(va, handle))
            self._catastrophe(vi, "VIP_ERROR_POST_DESC", va)
            return c.OK
        over = len(queue.work) >= world.choices.per_queue
        if over and world.choices.overrun == "refused":
            return c.RESOURCE
        if over and world.choices.overrun == "catastrophe":
            self._catastrophe(vi, "VIP_ERROR_VI_OVERRUN", va)
            return c.OK
        work = Work(va, handle, excess=over and world.choices.overrun == "error")
        world.space.write(va + 28, bytes(4))
        if queue.work and world.choices.writes_next:
            queue.work[-1].link = struct.pack("<QI", va, handle)
            world.space.write(queue.work[-1].va, queue.work[-1].link)
        queue.work.append(work)
        if world.choices.copies:
            work.copy = self.read(vi, work, not receive)
        if vi.lost and not receive:
            self.fail(vi, "VIP_ERROR_CONN_LOST")
        if vi.state == c.ERROR or (not receive and vi.state != c.CONNECTED):
            late = world.choices.idle_sends_late_s if not receive and vi.state != c.ERROR else 0
            if late:
                world.threads.after(late, lambda: self._not_connected(vi, queue, work))
            elif not work.status:
                self.complete(vi, queue, work, c.FORMAT if world.choices.idle_format and vi.state != c.ERROR else c.FLUSHED)
        elif not receive:
            self._plan(vi)
        else:
            self._scribble(vi, work, "early", 0)
            self._bad_receives(vi)
        return c.OK

    def _not_connected(self, vi: Vi, queue: Queue, work: Work) -> None:
        if not work.status and not vi.gone and work in queue.work:
            self.complete(vi, queue, work, c.FLUSHED)
            if vi.state == c.CONNECTED:
                self._plan(vi)

    def _bad_receives(self, vi: Vi) -> None:
        """A receive at the head that cannot be used comes back (A88)."""
        head = next((work for work in vi.receive.work if not work.status), None)
        if head is None or not self.world.choices.bad_receives_early or vi.state != c.CONNECTED:
            return
        form = self.read(vi, head, False)
        if form is not None and form.error:
            self._finish(vi, vi.receive, head, c.OP_RECEIVE | form.error, 0)
            if vi.attributes.level != c.UD:
                self.break_connection(vi, None)
            else:
                self._bad_receives(vi)

    def _scribble(self, vi: Vi, work: Work, when: str, used: int) -> None:
        """The provider writes into the buffers of a receive that is its own (G 5.5)."""
        if self.world.choices.scribbles != when:
            return
        form = self.read(vi, work, False)
        if form is None or form.error or not self._writable(vi, form.segments):
            return
        for segment in form.segments:
            rest = max(0, segment.length - used)
            self.world.space.write(segment.va + segment.length - rest, b"\x3c" * rest)
            used = max(0, used - segment.length)

    def _writes(self, vi: Vi, va: int, handle: int) -> bool:
        """Whether a Descriptor lies where the VI can reach it."""
        there = self.world.reach(vi.nic, va, 32, handle, vi.attributes.ptag)
        return not va % 64 and there is not None and self.world.space.read(va, 32) is not None

    def _catastrophe(self, vi: Vi, code: str, va: int) -> None:
        """Reported at once, but in Idle and Pending with the connect attempt (S 5.1, G 6.3.1)."""
        if vi.state == c.IDLE:
            vi.held = code
            if self.world.choices.idle_told:
                self.world.report(ErrorReport(code, "VIP_RESOURCE_DESCRIPTOR", vi.nic, vi, va))
            return
        self.world.report(ErrorReport(code, "VIP_RESOURCE_DESCRIPTOR", vi.nic, vi, va))
        self.break_connection(vi, None)

    def _plan(self, vi: Vi) -> None:
        choices, epoch = self.world.choices, vi.epoch
        wait = choices.delay_s
        if any(work.started and not work.status for work in vi.send.work) and vi.attributes.level == c.RR:
            return  # what is under way goes on with it
        if choices.batch_s:
            wait = choices.batch_s - self.world.threads.clock.now_us() / 1e6 % choices.batch_s
        if wait:
            self.world.threads.after(wait, lambda: self._process(vi, epoch))
        else:
            self._process(vi, epoch)

    # ---- processing ----

    def _process(self, vi: Vi, epoch: int) -> None:
        """Do the send queue in order; a Read may be slow, and then only what may pass it goes on (S 6.3.1.1)."""
        travel = self.world.choices.travel_s
        slow = max(self.world.choices.reads_late_s, 2 * travel)
        for work in list(vi.send.work):
            if vi.epoch != epoch or vi.state != c.CONNECTED:
                return
            if vi.lost:
                self.fail(vi, "VIP_ERROR_CONN_LOST")
                return
            if work.status:
                continue
            reading = any(w.started and not w.status for w in vi.send.work)
            if not work.started and self._altered(vi, work):
                return
            form = None if work.started else self.read(vi, work, True)
            if form is None:
                if work.started:
                    continue
                self._lost_descriptor(vi, work)
                return
            stays = form.op == c.CONTROL_READ or form.control & c.CONTROL_FENCE or vi.attributes.level != c.RD or form.error
            if reading and stays:
                return
            takes = slow if form.op == c.CONTROL_READ else travel if vi.attributes.level == c.RR else 0
            if takes and not form.error:
                work.started = True
                self.world.threads.after(takes, self._read_later(vi, work, form, epoch))
                continue
            self._do(vi, work, form)

    def _read_later(self, vi: Vi, work: Work, form: Form, epoch: int) -> Callable[[], None]:
        def job() -> None:
            if vi.epoch == epoch and vi.state == c.CONNECTED and not work.status:
                self._do(vi, work, form)
                self._process(vi, epoch)
        return job

    def _altered(self, vi: Vi, work: Work) -> bool:
        """Whether Next is not what the library wrote, where that is looked at: a Post Descriptor Error."""
        if not self.world.choices.next_told or work.link is None or self.world.space.read(work.va, 12) in (None, work.link):
            return False
        self._catastrophe(vi, "VIP_ERROR_POST_DESC", work.va)
        return True

    def _lost_descriptor(self, vi: Vi, work: Work) -> None:
        self.world.report(ErrorReport("VIP_ERROR_COMP_PROT", "VIP_RESOURCE_DESCRIPTOR", vi.nic, vi, work.va))
        self.break_connection(vi, None)

    def read(self, vi: Vi, work: Work, sending: bool) -> Optional[Form]:
        """The Descriptor, with the error bit of what is wrong in it; None when its memory was de-registered meanwhile."""
        world, space, level = self.world, self.world.space, vi.attributes.level
        if work.copy is not None:
            copy: Form = work.copy
            return copy
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
            form.error = c.FORMAT if world.choices.many_segments_format else c.LENGTH
            return form
        if work.excess:
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
        most = vi.attributes.size if world.choices.vi_maximum else world.choices.transfer
        if not form.error and sending and (form.length != total or total > most):
            form.error = c.LENGTH
        return form

    def _gather(self, vi: Vi, segments: list[Segment]) -> Optional[bytes]:
        parts = []
        for segment in segments:
            if not segment.length and not self.world.choices.zero_checked:
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
            if segment.length or self.world.choices.zero_checked:
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
        if not length and not self.world.choices.zero_remote_checked:
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
                self.break_connection(vi, "VIP_ERROR_CONN_LOST" if self.world.choices.local_tells else None)
            return
        peer = vi.peer
        assert data is not None
        if vi.gap is not None:  # the message before was lost, and this one shows it
            seen = vi.gap
            self._finish(vi, vi.send, work, operation, len(data))
            if self.world.choices.loss_seen == "next":
                seen()
            return
        harm = self.wire.harm(vi if form.op != c.CONTROL_READ else peer)
        if peer is None or harm == "repaired":  # the end that disconnected is not heard of yet
            harm = "" if peer is not None else "lose"
        if level != c.UD and harm:
            self.wire.harmed(self, vi, peer, work, form, operation, harm)
            return
        assert peer is not None or level == c.UD
        if form.op == c.CONTROL_READ:
            assert peer is not None
            self._read(vi, peer, work, form)
            return
        if level != c.RR:
            self._finish(vi, vi.send, work, operation, len(data))
        delay = self.wire.delay(vi) if level != c.RR else 0.0
        if peer is None or delay is None:
            return
        if not delay:
            self._arrive(vi, peer, work, form, data, harm)
            return
        target, epochs, said = peer, (vi.epoch, peer.epoch), data
        stays = not self.world.choices.aborts

        def arrives() -> None:
            if target.epoch == epochs[1] and target.state == c.CONNECTED and (stays or vi.epoch == epochs[0]):
                self._arrive(vi, target, work, form, said, harm)
        self.world.threads.after(delay, arrives)

    def _arrive(self, vi: Vi, peer: Vi, work: Work, form: Form, data: bytes, harm: str) -> None:
        """A Send or Write reaches the other end. At RR its Descriptor is complete now."""
        level, operation = vi.attributes.level, {0: c.OP_SEND, 1: c.OP_WRITE}[form.op]
        if harm:
            self.wire.damaged(self, peer, form, harm)
            return
        if form.op == c.CONTROL_WRITE:
            assert form.remote is not None
            allowed = self._remote(peer, form.remote, len(data), False)
            fault, named = (0, None) if allowed else (c.RDMA_PROT, "VIP_ERROR_RDMAW_PROT")
            if form.control & c.CONTROL_IMMEDIATE:
                fault, named = self._consume(peer, form, data, None if allowed else c.PROTECTION)
                both = c.REMOTE_DESC if self.world.choices.write_both_bits else 0
                fault = c.RDMA_PROT | both if fault and not allowed and named is None else fault
            elif allowed:
                self.world.space.write(form.remote.va, data)
        else:
            fault, named = self._consume(peer, form, data, 0)
        if level == c.RR:
            self._finish(vi, vi.send, work, operation | fault, 0 if fault else len(data))
        if fault and level != c.UD:
            late = self.world.choices.empty_late_s if named == "VIP_ERROR_RECVQ_EMPTY" and level == c.RD else 0
            if late:
                epoch = peer.epoch
                vi.gap = lambda: None
                self.world.threads.after(late, lambda: peer.epoch == epoch and self.break_connection(peer, named))
                return
            self.break_connection(peer, named)
            if named is not None and self.world.choices.lost_as_well:
                self.world.report(ErrorReport("VIP_ERROR_CONN_LOST", "VIP_RESOURCE_VI", peer.nic, peer))
        elif fault and named is None and self.world.choices.ud_ends:
            self.fail(peer, None)
        elif fault and named is not None and self.world.choices.ud_tells:
            self.world.report(ErrorReport(named, "VIP_RESOURCE_VI", peer.nic, peer))

    def _consume(self, vi: Vi, form: Form, data: bytes, refused: Optional[int]) -> tuple[int, Optional[str]]:
        """A message takes the next receive Descriptor: what the initiator's Descriptor says on RR, and the target's callback."""
        work = next((work for work in vi.receive.work if not work.status), None)
        if work is None:
            return c.REMOTE_DESC, "VIP_ERROR_RECVQ_EMPTY"
        if self._altered(vi, work):
            return c.REMOTE_DESC, None
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
            self.world.space.write(work.va + 24, bytes(4))
        if error:
            self._finish(vi, vi.receive, work, operation | error, None if error == c.LENGTH else 0)
            self._bad_receives(vi)
            return c.REMOTE_DESC, None
        if write:
            assert form.remote is not None
            self.world.space.write(form.remote.va, data)
        else:
            self._scatter(there.segments, data)
            self._scribble(vi, work, "unused", len(data))
        carried = c.IMMEDIATE if form.control & c.CONTROL_IMMEDIATE else 0
        self._finish(vi, vi.receive, work, operation | carried, len(data), form.immediate if carried else None)
        self._bad_receives(vi)
        return 0, None

    def _read(self, vi: Vi, peer: Vi, work: Work, form: Form) -> None:
        assert form.remote is not None
        if self.world.choices.sink_early:
            self._scatter(form.segments, b"\x3c" * form.length)
        if not self._remote(peer, form.remote, form.length, True):
            self._finish(vi, vi.send, work, c.OP_READ | c.RDMA_PROT, 0)
            self.break_connection(peer, "VIP_ERROR_RDMAR_PROT")
            return
        data = self.world.space.read(form.remote.va, form.length) if form.length else b""
        assert data is not None
        self._scatter(form.segments, data)
        self._finish(vi, vi.send, work, c.OP_READ, form.length)

    # ---- completing ----

    def _finish(self, vi: Vi, queue: Queue, work: Work, status: int, length: Optional[int],
                immediate: Optional[int] = None) -> None:
        """Without ``length`` the Descriptor has it already."""
        choices = self.world.choices
        if choices.stale_fields and immediate is None:
            immediate = 0xC0DEC0DE
            self.world.space.write(work.va, struct.pack("<QI", 0xDEAD_BEEF_0000_0040, 0xFFFFFFFF))
        if choices.control_changed and (there := self.world.space.read(work.va + 14, 2)) is not None:
            self.world.space.write(work.va + 14, bytes([there[0] | 4, there[1]]))
        if immediate is not None:
            self.world.space.write(work.va + 20, struct.pack("<I", immediate))
        if length is not None:
            length = choices.error_length if status & c.ERRORS else length
            self.world.space.write(work.va + 24, struct.pack("<I", length))
        if status & c.ERRORS and queue.receive:
            self._scribble(vi, work, "failed", 0)
        self.complete(vi, queue, work, status)

    def finish_send(self, vi: Vi, work: Work, status: int, length: int = 0) -> None:
        """A Descriptor of the Send Queue is done."""
        self._finish(vi, vi.send, work, status, length)

    def finish_bad(self, vi: Vi, work: Work, status: int) -> None:
        """A receive ends in error."""
        self._finish(vi, vi.receive, work, status, 0)

    def complete(self, vi: Vi, queue: Queue, work: Work, status: int) -> None:
        """The status last; then the entries and handlers of what is complete at the head of the queue (G 6.1)."""
        if queue.receive and not status & 0x70000:
            status |= c.OP_RECEIVE
        choices = self.world.choices
        if status & c.ERRORS:
            status |= c.PARTIAL if choices.partial else 0
            read = status & 0x70000 == c.OP_READ
            valid = queue.receive or read or vi.attributes.level == c.RR
            if status & c.FLUSHED and choices.flushed_transport and vi.attributes.level != c.UD and valid:
                status |= c.TRANSPORT
            status &= 0xFFFF if not choices.error_operation else 0xFFFFFFFF
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
                self._enter(queue.cq, vi, queue.receive)
        while queue.handlers and queue.announced:
            self._hand(queue, self.dequeue(queue).va)
        if not queue.work:
            while queue.handlers:
                self._hand(queue, None)

    def _enter(self, cq: Cq, vi: Vi, receive: bool) -> None:
        late = self.world.choices.entries_late_s

        def enter() -> None:
            if not vi.gone and not cq.gone and (len(cq.entries) < cq.room or self.overrun(cq)):
                cq.entries.append((vi, receive))
                self.serve(cq)
        if late:
            self.world.threads.after(late, enter)
        else:
            enter()

    def overrun(self, cq: Cq) -> bool:
        """What becomes of a Completion Queue without room for one more entry; whether that one is made."""
        kind = self.world.choices.cq_overrun
        if kind == "oldest":
            cq.entries.popleft()
        elif kind == "catastrophe":
            for vi in [vi for vi in cq.nic.vis if cq in (vi.send.cq, vi.receive.cq) and vi.state == c.CONNECTED]:
                self.break_connection(vi, "VIP_ERROR_CATASTROPHIC")
        return kind in ("none", "oldest")

    def _hand(self, queue: Queue, va: Optional[int]) -> None:
        handler = queue.handlers.popleft()
        self._tell(queue.thread, lambda: handler(va))

    def _tell(self, own: Thread, job: Job) -> None:
        """A handler of Notify, in its thread, or within the call that asks for it."""
        current = self.world.threads.current
        if self.world.choices.notify_within and current.call in ("VipSendNotify", "VipRecvNotify", "VipCQNotify"):
            steps = job()
            for _ in steps or ():
                pass
        else:
            self.world.later(lambda: self._notifier(own).do(job))

    def _notifier(self, own: Thread) -> Thread:
        return self.world.notifier if self.world.choices.one_handler_thread else own

    def serve(self, cq: Cq) -> None:
        """Call the handlers of a Completion Queue."""
        while cq.handlers and cq.entries:
            self._entry(cq.thread, cq.handlers.popleft(), *cq.entries.popleft())

    def _entry(self, thread: Thread, handler: Callable[[Vi, bool], Optional[Steps[None]]], vi: Vi, receive: bool) -> None:
        self._tell(thread, lambda: handler(vi, receive))

    def flush(self, vi: Vi) -> None:
        """Each Descriptor that is not complete completes as flushed (G 3.3.5)."""
        queues = [vi.receive, vi.send] if self.world.choices.receive_flushed_first else [vi.send, vi.receive]
        for queue in queues:
            for work in list(queue.work):
                if not work.status:
                    self._scribble(vi, work, "failed", 0)
                    self.complete(vi, queue, work, c.FLUSHED)

    # ---- the end of a Connection ----

    def connected(self, vi: Vi) -> None:
        """The receives that wait are the NIC's now."""
        for work in vi.receive.work:
            if not work.status:
                self._scribble(vi, work, "early", 0)
        self._bad_receives(vi)

    def fail(self, vi: Vi, code: Optional[str]) -> None:
        """Connected to Error, with a callback when there is a code."""
        if vi.state not in (c.CONNECTED, c.PENDING):
            return
        vi.state, vi.peer, vi.lost, vi.gap = c.ERROR, None, False, None
        vi.epoch += 1
        if code is not None:
            self.world.report(ErrorReport(code, "VIP_RESOURCE_VI", vi.nic, vi))
        late = self.world.choices.flush_late_s
        if late:
            self.world.threads.after(late, lambda: vi.gone or self.flush(vi) if vi.state == c.ERROR else None)
        else:
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
            self._far(peer)

    def _far(self, peer: Vi) -> None:
        """The other end of a connection that is no more hears of it when the news has travelled."""
        epoch, travel = peer.epoch, self.world.choices.travel_s

        def heard() -> None:
            if peer.epoch == epoch:
                self.fail(peer, "VIP_ERROR_CONN_LOST")
        if travel:
            peer.peer = None
            self.world.threads.after(travel, heard)
        else:
            heard()

    def disconnect(self, vi: Vi) -> None:
        """VipDisconnect (G 3.3.5); the pending setup is the caller's to take back."""
        peer = vi.peer
        vi.state, vi.peer, vi.lost, vi.gap = c.IDLE, None, False, None
        vi.epoch += 1
        vi.held = None
        if peer is not None:
            if self.world.choices.tell_of_disconnect:
                self._far(peer)
            else:
                peer.peer, peer.lost = None, True
        self.flush(vi)

    # ---- dequeuing ----

    @staticmethod
    def dequeue(queue: Queue) -> Work:
        """Take the complete head."""
        queue.announced -= 1
        return queue.work.popleft()

    def _taken(self, vi: Vi, queue: Queue) -> None:
        """An entry for what was taken without it goes (A81)."""
        if queue.cq is None or self.world.choices.stale_entries:
            return
        entries = [entry for entry in queue.cq.entries if entry == (vi, queue.receive)]
        for entry in entries[max(0, queue.announced):]:
            queue.cq.entries.remove(entry)

    def done(self, vi: Vi, queue: Queue) -> tuple[str, Optional[int]]:
        """VipSendDone and VipRecvDone (G 3.5.2, 3.5.5)."""
        if not queue.work:
            return c.DESCRIPTOR, None
        if not queue.work[0].status:
            return c.NOT_DONE, None
        work = self.dequeue(queue)
        self._taken(vi, queue)
        if not queue.work:
            self.announce(vi, queue)
        return (c.DESCRIPTOR if work.status & c.ERRORS else c.OK), work.va

    def wait(self, vi: Vi, queue: Queue, seconds: Optional[float]) -> Steps[tuple[str, Optional[int]]]:
        """VipSendWait and VipRecvWait (G 3.5.3, 3.5.6)."""
        if queue.cq is not None:
            return self.world.choices.cq_wait_code, None
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
