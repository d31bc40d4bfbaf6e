"""A Queue Pair: its states, and what flushing does (6.1, 6.2)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Deque, List, Optional, Tuple

from .queues import Cq, Cqe, Srq, Wqe, WorkQueue
from .words import WC_OPCODES

if TYPE_CHECKING:
    from .connections import Conn
    from .model import Context, Device, Model, Pd

IDLE = ("RESET", "INIT")
FLUSHED = "WR_FLUSH_ERR"


class Qp:
    """A Queue Pair."""

    kind = "qp"
    state: str
    access: int
    ord: int
    ird: int
    reads: int
    psn: int
    unseen: int
    stall_timer: int
    sq: WorkQueue
    rq: WorkQueue

    def __init__(self, context: "Context", pd: "Pd", cqs: Tuple[Cq, Cq], srq: Optional[Srq], number: int) -> None:
        self.context, self.pd, self.srq, self.qp_num = context, pd, srq, number
        self.send_cq, self.recv_cq = cqs
        self.device: "Device" = context.device
        self.model: "Model" = context.device.model
        self.state = "ERR" if self.model.fault == "qp-born-in-error" else "RESET"
        self.sq, self.rq = WorkQueue(self.model, 0), WorkQueue(self.model, 0)
        self.sq_sges = self.rq_sges = self.inline = 0
        self.signal_all = False
        self.access = 0
        self.ord = self.ird = 0
        self.conn: Optional["Conn"] = None
        self.reads = self.kept_reads = 0
        self.next_start = 0
        self.inflight: Deque[Wqe] = deque()
        self.irrq: Deque[Tuple[Any, ...]] = deque()
        self.stalled: Deque[Tuple[Any, ...]] = deque()
        self.lazy: List[Tuple[int, int, bytes]] = []  # Writes that are not in place yet
        self.stall_timer = 0
        self.psn = 0
        self.errors = 0
        self.unseen = 0
        self.flushing = False
        self.finishing = False
        self.delayed: Optional[Wqe] = None
        self.late_source: Optional[Wqe] = None  # whose source is still to be read
        self.destroyed = False
        self.late: List[Any] = []
        self.worn = self.tied = False
        self.last: Optional[bytes] = None  # of a Send of this stream, and of the one before, for a fault
        self.old: Optional[bytes] = None

    # Completions

    def complete(self, wqe: Wqe, status: str, receive: bool, length: int = 0, also: Optional[Any] = None) -> None:
        """A CQE for a WQE."""
        model = self.model
        fault = model.fault
        if self.destroyed and fault != "destroyed-qp-completes":
            return
        if status not in ("SUCCESS", FLUSHED):
            self.errors += 1
        if receive:
            self._scribble(wqe, length, "receive_rest" if status == "SUCCESS" else "failed_buffers")
        opcode = "RECV" if receive else WC_OPCODES.get(wqe.opcode, wqe.opcode)
        cqe = Cqe(self, wqe, status, opcode, length)
        if also:
            cqe.flags, cqe.invalidated, cqe.wakes = also
        cq = self.recv_cq if receive else self.send_cq
        if fault:
            cq = self._meddle(fault, cqe, cq, receive)
        cq.add(cqe)

    def _scribble(self, wqe: Wqe, used: int, choice: str) -> None:
        """The provider writes where its own buffers are, ahead of the WC (8.2.2)."""
        if getattr(self.model.choose, choice) != "scribbled":
            return
        used = used if choice == "receive_rest" else 0
        for key, addr, size in wqe.sges:
            rest = max(0, size - used)
            target, _ = self.device.stags.sge(self.srq.pd if self.srq else self.pd, (key, addr + size - rest, rest), True)
            if rest and target is not None:
                target.write(addr + size - rest, bytes([0xe7]) * rest)
            used = max(0, used - size)

    def _meddle(self, fault: str, cqe: Cqe, cq: Cq, receive: bool) -> Cq:
        if fault == "wr-id-short":
            cqe.wr_id &= 0xffffffff
        elif fault == "wc-opcode-wrong" and cqe.status == "SUCCESS" and cqe.opcode == "RDMA_WRITE":
            cqe.opcode = "SEND"
        elif fault == "wc-wrong-qp":
            others = [qp for qp in self.device.qps.values() if qp is not self]
            cqe.qp = others[0] if others else self
        elif fault == "receive-to-send-cq" and receive:
            return self.send_cq
        elif fault == "srq-wrong-cq" and receive and self.srq:
            return self.srq.users[0].recv_cq
        elif fault == "error-as-success" and cqe.status not in ("SUCCESS", FLUSHED):
            cqe.status, cqe.wakes = "SUCCESS", False
        elif fault == "flush-as-success" and cqe.status == FLUSHED:
            cqe.status = "SUCCESS"
        elif fault == "flush-as-error" and cqe.status == FLUSHED:
            cqe.status = "GENERAL_ERR"
        elif fault == "flush-zero-wr-id" and cqe.status == FLUSHED:
            cqe.wr_id = 0
        elif fault == "error-zero-wr-id" and cqe.status not in ("SUCCESS", FLUSHED):
            cqe.wr_id = 0
        elif fault == "flush-sends-to-receive-cq" and cqe.status == FLUSHED and not receive:
            return self.recv_cq
        elif fault == "status-outside" and cqe.status not in ("SUCCESS", FLUSHED):
            cqe.status = "RESP_TIMEOUT_ERR"
        return cq

    def retire(self) -> None:
        """WCs of the Send Queue come in posting order (8.2.2)."""
        items = self.sq.items
        fault = self.model.fault
        if fault == "writes-complete-first":
            for wqe in [item for item in items if item.done and item.opcode != "RDMA_READ"]:
                items.remove(wqe)
                self._done(wqe)
        while items:
            wqe = items[0]
            if wqe.failed:
                self.stop("term", wqe, wqe.failed)
                return
            if not wqe.done:
                return
            items.popleft()
            self._done(wqe)
        if self.finishing and not items:
            self.finishing = False
            self.model.finish_close(self)

    def _done(self, wqe: Wqe) -> None:
        fault = self.model.fault
        if wqe.signaled and fault == "signaled-silent" and wqe.opcode == "RDMA_WRITE":
            wqe.signaled = False
        if wqe.signaled or fault == "unsignaled-tells":
            self.complete(wqe, "SUCCESS", False, wqe.length)
        else:
            wqe.queue.silently(wqe)

    # The end

    def stop(self, how: str, wqe: Optional[Wqe] = None, status: str = "", event: str = "", receive: bool = False,
             told: bool = True) -> None:
        """An error ends the stream: the WR at fault gets its status, the rest is flushed, the peer hears of it.

        how: "term" (a Terminate Message), "rst" (an LLP Reset) or "" (nothing); event: what is told asynchronously.
        """
        if self.state in ("ERR", "SQE") or self.state in IDLE:
            return
        model = self.model
        fault = model.fault
        if event and not self._mute(fault, event):
            model.tell(event, qp=self)
        if wqe is not None and fault == "error-tells-twice":
            model.tell("QP_FATAL", qp=self)
        if wqe is not None and receive:
            self.complete(wqe, status, True)
        if fault == "error-stream-stays" and wqe is not None:
            if not receive:
                self.sq.items.remove(wqe)
                self.complete(wqe, status, False)
                wqe.failed = ""
            return
        conn = self.conn
        if conn and model.flavour == "iwarp":
            self.conn = None
            conn.close(how, told, fault)
        self._fall(wqe if not receive else None, status, how == "term" and model.choose.terminate != "at-once")

    def _mute(self, fault: Optional[str], event: str) -> bool:
        return fault == "access-event-missing" and event == self.model.choose.access_event

    def _fall(self, wqe: Optional[Wqe], status: str, slowly: bool) -> None:
        self.delayed = self.late_source = None
        self.irrq.clear()
        self.stalled.clear()
        self.finishing = False
        if slowly and self.model.flavour == "iwarp":
            self.state = "SQE"
            self._first_error(wqe, status)
            self.model.engine.after(900_000 if self.model.choose.terminate == "time-wait" else 4_000, self._enter_error, None, "")
        else:
            self._enter_error(wqe, status)

    def _first_error(self, wqe: Optional[Wqe], status: str) -> None:
        """The WC of the WR at fault, when the flush comes later; what is ahead of it comes before."""
        if wqe is None or wqe not in self.sq.items:
            return
        while self.sq.items:
            head = self.sq.items.popleft()
            if head is wqe:
                self.complete(head, status, False)
                return
            self._leave(head)

    def _leave(self, wqe: Wqe) -> None:
        if wqe.done:
            self._done(wqe)
        else:
            self.complete(wqe, FLUSHED, False)

    def _enter_error(self, wqe: Optional[Wqe], status: str) -> None:
        self.state = "ERR"
        self.kept_reads = self.reads if self.model.fault == "reuse-keeps-reads" else 0
        self.reads = 0
        if self.model.choose.extra_events == "yes":
            self.model.tell("QP_LAST_WQE_REACHED" if self.srq else "SQ_DRAINED", qp=self)
        if self.srq and self.model.fault == "srq-others-end":
            for other in list(self.srq.users):
                other.stop("rst", event="QP_FATAL")
        self.inflight.clear()
        if self.model.choose.flush == "late":
            self._first_error(wqe, status)
            self.flushing = True
            self.model.engine.after(3_000, self._flush, None, "")
        else:
            self._flush(wqe, status)

    def to_error(self) -> None:
        """Error, without an event (Modify QP, or after an orderly close)."""
        self._fall(None, "", False)

    def _flush(self, wqe: Optional[Wqe], status: str) -> None:
        """6.2.4: every incomplete WR has its WC."""
        self.flushing = False
        if self.state != "ERR":
            return
        fault = self.model.fault
        sends, receives = list(self.sq.items), list(self.rq.items)
        self.sq.items.clear()
        self.rq.items.clear()
        if fault == "srq-flushed" and self.srq:
            receives += list(self.srq.queue.items)
            self.srq.queue.items.clear()
        if fault and fault.startswith("flush-"):
            sends, receives = self._spoil(fault, sends, receives)
        failed = False
        if self.model.choose.flush_order == "mixed" and not fault:
            receives = receives[::-1]
            at = 0 if wqe is None else sends.index(wqe) + 1 if wqe in sends else 0
            ahead = max([at, *(place + 1 for place, item in enumerate(sends) if item.done)])
            sends[ahead:] = sends[ahead:][::-1]
        for item in sends:
            if item is wqe:
                failed = True
                self.complete(item, status, False)
                if fault == "wr-behind-error-succeeds":
                    status = "SUCCESS"
            elif item.done and not failed:
                self._done(item)
            elif fault == "wr-behind-error-succeeds" and failed:
                self.complete(item, "SUCCESS", False)
            elif fault == "error-each" and failed:
                self.complete(item, status, False)
            elif fault == "unsignaled-flush-silent" and not item.signaled:
                continue
            else:
                self.complete(item, FLUSHED, False)
        for item in receives:
            self.complete(item, FLUSHED, True)

    def flush_new(self) -> None:
        """WRs posted in Error are flushed, too (Figure 10)."""
        self._flush(None, "")

    def _spoil(self, fault: str, sends: List[Wqe], receives: List[Wqe]) -> Tuple[List[Wqe], List[Wqe]]:
        if fault == "flush-no-sends":
            return [wqe for wqe in sends if wqe.failed], receives
        if fault == "flush-no-receives":
            return sends, []
        if fault == "flush-not-the-last":
            return sends, receives[:-1]
        if fault == "flush-twice":
            return sends, receives + receives[:1]
        return sends, receives

    def flush_receives(self) -> None:
        """Closing flushes the Receive Queue, not an S-RQ (6.2.5)."""
        fault = self.model.fault
        queue = self.srq.queue if fault == "srq-flushed" and self.srq else self.rq
        items = list(queue.items)
        queue.items.clear()
        if fault == "closing-keeps-receives":
            return
        for wqe in items:
            self.complete(wqe, "SUCCESS" if fault == "closing-receives-succeed" else FLUSHED, True)

    def to_idle(self, word: str) -> None:
        """Idle: nothing is left of the stream."""
        self.state = word
        self.errors = 0
        self.reads = self.kept_reads
        self.inflight.clear()
        self.irrq.clear()
        self.stalled.clear()
        self.delayed = self.late_source = None
        self.old, self.last = self.last, None
        if self.model.fault == "reuse-never":
            self.worn = True

    def wipe(self) -> None:
        """RESET of ib: queues and their CQ entries are cleared (B51)."""
        self.send_cq.purge(self)
        self.recv_cq.purge(self)
        for queue in (self.sq, self.rq):
            queue.items.clear()
            queue.silent.clear()
            queue.used = 0
