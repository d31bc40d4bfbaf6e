"""The Send Queue: what is started when, and what starting does (8.2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from .queues import Wqe
from .words import LONGEST

if TYPE_CHECKING:
    from .qp import Qp

DATA = ("SEND", "SEND_WITH_INV", "RDMA_WRITE")
LOCAL = ("LOCAL_INV", "BIND_MW")
SOURCE_US = 2_000
STATUS = {
    "plain": {"local": "LOC_PROT_ERR", "short": "LOC_LEN_ERR", "length": "LOC_LEN_ERR", "op": "LOC_QP_OP_ERR",
              "ord": "LOC_QP_OP_ERR",
              "bind": "MW_BIND_ERR", "inv": "LOC_PROT_ERR", "send-inv": "LOC_ACCESS_ERR", "sink": "LOC_ACCESS_ERR",
              "access": "REM_ACCESS_ERR", "receive": "REM_INV_REQ_ERR", "rnr": "RNR_RETRY_EXC_ERR",
              "lost": "RETRY_EXC_ERR"},
    "odd": {"local": "GENERAL_ERR", "short": "LOC_PROT_ERR", "length": "LOC_QP_OP_ERR", "op": "GENERAL_ERR",
            "ord": "REM_INV_RD_REQ_ERR",
            "bind": "LOC_ACCESS_ERR", "inv": "MW_BIND_ERR", "send-inv": "REM_INV_REQ_ERR", "sink": "GENERAL_ERR",
            "access": "REM_OP_ERR", "receive": "REM_OP_ERR", "rnr": "RNR_RETRY_EXC_ERR",
            "lost": "RETRY_EXC_ERR"},
}


def status_of(qp: "Qp", what: str) -> str:
    """A status of the set that Table B54 has for this."""
    return STATUS[qp.model.choose.status_words][what]


def pump(qp: "Qp") -> None:
    """Start what may be started."""
    if qp.state != "RTS" or qp.conn is None:
        return
    fault = qp.model.fault
    for wqe in list(qp.sq.items):
        if wqe.started:
            if wqe.failed:
                return
            continue
        if qp.stall_timer == -1 or not _may_start(qp, wqe, fault):
            return
        wqe.started = True
        _start(qp, wqe, fault)
        if qp.state != "RTS":
            return
        if wqe.failed:
            break
    qp.retire()


def _may_start(qp: "Qp", wqe: Wqe, fault: Optional[str]) -> bool:
    if wqe.opcode == "RDMA_READ":
        if qp.late_source:
            return False
        if qp.ord and qp.reads >= qp.ord and fault != "ord-ignored":
            if fault == "ord-stall-for-ever":
                qp.stall_timer = -1
            return False
    elif wqe.fence:
        if wqe.opcode == "LOCAL_INV":
            if fault == "local-fence-for-reads" and not qp.reads:
                return True
            return fault == "local-fence-ignored" or wqe is _first_open(qp)
        passes = fault == "read-fence-ignored" or fault == "fence-not-for-invalidations" and wqe.opcode == "SEND_WITH_INV"
        passes = passes or fault == "fence-not-for-solicited" and wqe.solicited
        if fault == "fence-not-for-unsignaled-reads":
            passes = not any(item.opcode == "RDMA_READ" and item.signaled for item in qp.inflight)
        return not qp.late_source and (passes or not qp.reads)
    return wqe.opcode in LOCAL or not qp.late_source


def _first_open(qp: "Qp") -> Optional[Wqe]:
    return next((wqe for wqe in qp.sq.items if not wqe.done), None)


def _fail(qp: "Qp", wqe: Wqe, what: str) -> None:
    """The WR cannot be carried out; what is ahead of it is done first, or flushed (B14)."""
    wqe.failed = status_of(qp, what)
    if qp.model.choose.flush_ahead == "flushed":
        qp.stop("term", wqe, wqe.failed)


def gather(qp: "Qp", wqe: Wqe) -> "bytes | str":
    """The data of the SGL, or a word for what is wrong."""
    if wqe.inline is not None:
        return wqe.inline
    fault = qp.model.fault
    parts = []
    for sge in wqe.sges:
        if not sge[2] and fault != "zero-length-checked-local":
            continue
        target, wrong = qp.device.stags.sge(qp.pd, sge, False)
        if target is None:
            return wrong
        parts.append(target.read(sge[1], sge[2]))
    if fault == "gather-first-only":
        parts = parts[:1]
    elif fault == "gather-reversed":
        parts.reverse()
    data = b"".join(parts)
    if fault == "send-changes-last-byte" and data and wqe.opcode != "RDMA_WRITE":
        data = data[:-1] + bytes([data[-1] ^ 1])
    elif fault == "write-drops-last-byte" and wqe.opcode == "RDMA_WRITE":
        data = data[:-1]
    return data


def _start(qp: "Qp", wqe: Wqe, fault: Optional[str]) -> None:
    op = wqe.opcode
    if wqe.length > LONGEST and fault != "length-sum-unchecked":
        _fail(qp, wqe, "length")
    elif op in DATA and qp.model.choose.sources == "late" and wqe.inline is None and wqe.length:
        qp.late_source = wqe
        qp.model.engine.after(SOURCE_US, _send_later, qp, wqe, fault)
    elif op in DATA:
        _send(qp, wqe, fault)
    elif op == "RDMA_READ":
        _read(qp, wqe, fault)
    elif op == "LOCAL_INV":
        _invalidate(qp, wqe, fault)
    elif op == "BIND_MW":
        _bind(qp, wqe, fault)
    else:
        _fail(qp, wqe, "short" if fault == "op-status-other" else "op")


def _send_later(qp: "Qp", wqe: Wqe, fault: Optional[str]) -> None:
    """The source of a WR is read now; what is behind it waited."""
    if qp.late_source is not wqe:
        return
    qp.late_source = None
    if qp.state == "RTS" and qp.conn is not None and wqe in qp.sq.items:
        _send(qp, wqe, fault)
        if qp.state == "RTS":
            qp.retire()
            pump(qp)


def _stag_zero(qp: "Qp", wqe: Wqe, fault: Optional[str]) -> bool:
    """STag zero is never sent to a peer (8.1.3.2.1)."""
    return not wqe.rkey and wqe.length > 0 and qp.model.flavour == "iwarp" and fault not in ("stag-zero-sent", "stag-zero-quiet")


def _send(qp: "Qp", wqe: Wqe, fault: Optional[str]) -> None:
    if wqe.opcode == "RDMA_WRITE" and _stag_zero(qp, wqe, fault):
        _fail(qp, wqe, "local")
        return
    data = gather(qp, wqe)
    if isinstance(data, str):
        if fault == "bad-sge-sends-anyway":
            data = bytes(wqe.length)
        elif fault == "bad-sge-succeeds":
            wqe.done = True
            return
        else:
            if qp.model.choose.faulty_write == "ahead" and len(wqe.sges) > 1 and wqe.opcode == "RDMA_WRITE":
                first = qp.device.stags.sge(qp.pd, wqe.sges[0], False)[0]
                if first is not None:
                    _emit(qp, wqe, ("write", wqe.rkey, wqe.remote, first.read(wqe.sges[0][1], wqe.sges[0][2])))
            _fail(qp, wqe, "local")
            return
    if wqe.opcode == "RDMA_WRITE":
        _emit(qp, wqe, ("write", wqe.rkey, wqe.remote, data))
    else:
        key = wqe.key if wqe.opcode == "SEND_WITH_INV" and fault != "send-inv-plain" else None
        solicited = wqe.solicited and fault != "solicited-not-sent"
        _emit(qp, wqe, ("send", data, solicited, key))
        if fault == "send-twice" and len(data) > 8:
            _emit(qp, wqe, ("send", data, solicited, key))
        if fault == "old-message-again":
            if qp.old is not None:
                _emit(qp, wqe, ("send", qp.old, False, None))
            qp.last, qp.old = data, None


def _emit(qp: "Qp", wqe: Wqe, message: Any) -> None:
    """Hand a message over. It is done when it is handed over (iwarp), or acknowledged (ib, B44)."""
    assert qp.conn
    qp.psn += 1
    wqe.psn = qp.psn
    late = qp.model.fault == "write-placed-late" and message[0] == "write"
    qp.conn.send(message + (qp.psn,), 3_000 if late else 0)
    if qp.model.acks:
        qp.inflight.append(wqe)
    else:
        wqe.done = True


def _read(qp: "Qp", wqe: Wqe, fault: Optional[str]) -> None:
    assert qp.conn
    if not qp.ord:
        if fault == "ord-zero-succeeds":
            wqe.done = True
        elif fault != "ord-zero-waits":
            _fail(qp, wqe, "ord")
        else:
            qp.stall_timer = -1
        return
    key, addr = (wqe.sges[0][0], wqe.sges[0][1]) if wqe.sges else (0, 0)
    if _stag_zero(qp, wqe, fault) or (wqe.length and not key):
        _fail(qp, wqe, "local")
        return
    if wqe.length and qp.model.flavour == "ib" and qp.device.stags.sink(qp, key, addr, wqe.length) is None:
        _fail(qp, wqe, "local")
        return
    if wqe.length and qp.model.choose.sink_before == "early":
        target = qp.device.stags.sink(qp, key, addr, wqe.length)
        if target is not None:
            target.write(addr, bytes([0x3a]) * wqe.length)
    qp.reads += 1
    qp.psn += 1
    wqe.psn = qp.psn
    qp.inflight.append(wqe)
    qp.conn.send(("rreq", key, addr, wqe.length, wqe.rkey, wqe.remote, qp.psn))
    if fault == "read-completes-early":
        wqe.done = True


def _invalidate(qp: "Qp", wqe: Wqe, fault: Optional[str]) -> None:
    wrong = qp.device.stags.invalidate_error(qp, wqe.key, False)
    if wrong:
        if fault == "invalidate-error-ignored":
            wqe.done = True
        else:
            _fail(qp, wqe, "inv")
        return
    if fault != "invalidate-no-effect" and (wqe.signaled or fault != "unsignaled-invalidate-no-effect"):
        qp.device.stags.invalidate(qp, wqe.key)
    if qp.model.choose.invalidate_wc == "late":
        qp.model.engine.after(2_000, _invalidated, qp, wqe)
    else:
        wqe.done = True


def _invalidated(qp: "Qp", wqe: Wqe) -> None:
    """Its WC, unless the QP has ended meanwhile."""
    if wqe in qp.sq.items and qp.state == "RTS":
        wqe.done = True
        qp.retire()
        pump(qp)


def _bind(qp: "Qp", wqe: Wqe, fault: Optional[str]) -> None:
    assert wqe.bind is not None
    wrong = qp.device.stags.bind_error(qp, wqe.bind)
    if wrong:
        if fault == "bind-error-succeeds":
            wqe.done = True
        else:
            _fail(qp, wqe, "bind")
        return
    if fault == "bind-late":
        qp.model.engine.after(3_000, qp.device.stags.bind, qp, wqe.bind)
    elif fault != "bind-no-effect" and (wqe.signaled or fault != "unsignaled-bind-no-effect"):
        qp.device.stags.bind(qp, wqe.bind)
    wqe.done = True


def acknowledged(qp: "Qp", psn: int) -> None:
    """All up to this one are at the peer (ib)."""
    for wqe in qp.inflight:
        if wqe.psn > psn:
            break
        if wqe.opcode != "RDMA_READ":
            wqe.done = True
    while qp.inflight and qp.inflight[0].done and qp.inflight[0].opcode != "RDMA_READ":  # a Read goes with its response
        qp.inflight.popleft()
    qp.retire()
    if qp.state == "RTS":
        pump(qp)  # what is fenced may wait for this


def refused(qp: "Qp", psn: int, what: str) -> None:
    """The peer could not carry one out: the WR at fault says so."""
    wqe = next((item for item in qp.inflight if item.psn == psn), None)
    if wqe is None:
        return
    for item in qp.inflight:
        if item.psn < psn and item.opcode != "RDMA_READ":
            item.done = True
    if qp.model.fault == "remote-error-as-success":
        wqe.done = True
        qp.inflight.remove(wqe)
        qp.retire()
        return
    if qp.model.flavour == "ib":
        wqe.failed = status_of(qp, what)
        qp.stop("", wqe, wqe.failed)
        return
    if qp.model.choose.remote_error == "error":
        wqe.failed = status_of(qp, "access")
        qp.stop("", wqe, wqe.failed)
    else:
        qp.stop("", event=_peer_event(qp))


def _peer_event(qp: "Qp") -> str:
    return "" if qp.model.choose.peer_event == "cm" else "QP_FATAL"
