"""Says what incoming messages do (8.1.2, 8.2.2, 8.3.3; Figures 8 to 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Tuple

from .memory import Region, Window
from .queues import Wqe
from .sending import acknowledged, pump, refused, status_of
from .words import REMOTE_READ, REMOTE_WRITE

if TYPE_CHECKING:
    from .qp import Qp

Message = Tuple[Any, ...]
#: Faults of the buffers of an S-RQ, by what is wrong with one.
_UNCHECKED = {"bounds": "srq-bounds-unchecked", "stag": "srq-stag-unchecked", "rights": "srq-rights-unchecked"}
RNR_US = 40_000
LOST_US = 60_000
LAZY_US = 250_000


def message(qp: "Qp", what: Message) -> None:
    """One message of the stream."""
    kind = what[0]
    if kind == "ack":
        if qp.state == "RTS":
            acknowledged(qp, what[1])
    elif kind == "nak":
        if qp.state == "RTS":
            refused(qp, what[1], what[2])
    elif qp.model.flavour == "ib" and qp.state not in ("RTR", "RTS"):
        if kind in ("send", "write", "rreq") and qp.conn:
            qp.conn.send(("nak", what[-1], "lost"), LOST_US)
    elif kind in _END:
        _END[kind](qp)
    elif qp.state == "SQD":
        qp.stop("rst", event="QP_FATAL")
    elif qp.state in ("RTR", "RTS"):
        if qp.stalled and kind != "rresp":
            qp.stalled.append(what)
        else:
            if kind != "write":
                settle(qp)
            _DATA[kind](qp, what)


def _term(qp: "Qp") -> None:
    """Terminate Message Received: an event, and no Terminate back (6.2.2.3)."""
    if qp.model.fault == "terminated-peer-stays":
        return
    silent = qp.model.choose.peer_event == "cm" or qp.model.fault == "terminated-silent"
    qp.stop("", event="" if silent else "QP_FATAL", told=qp.model.fault != "terminated-silent")


def _rst(qp: "Qp") -> None:
    """LLP Connection Reset (6.2.2.4)."""
    if qp.model.fault == "reset-peer-stays":
        return
    silent = qp.model.choose.peer_event == "cm" or qp.model.fault == "reset-silent"
    qp.stop("", event="" if silent else "QP_FATAL", told=qp.model.fault != "reset-silent")


def _fin(qp: "Qp") -> None:
    """LLP Close received (6.2.2.2)."""
    model = qp.model
    if qp.stalled:
        qp.stalled.append(("fin",))
        return
    if model.fault == "closed-peer-stays":
        return
    if (qp.sq.items or qp.irrq) and qp.state == "RTS":
        if model.fault != "bad-llp-close-quiet":
            qp.stop("term", event="QP_FATAL")
            return
        qp.to_error()
    if model.choose.close_events == "two" and qp.conn:
        qp.conn.disconnected()
    if qp.state == "RTS":
        qp.state = "SQD"
        qp.flush_receives()
    if qp.conn:
        late = {"slow": 10_000, "time-wait": 10_000}.get(model.choose.close, 0)
        qp.conn.send(("finack",), late)
        model.closed(qp, late)


def _finack(qp: "Qp") -> None:
    if qp.state == "SQD" and qp.model.fault != "closing-for-ever":
        qp.model.closed(qp, 900_000 if qp.model.choose.close == "time-wait" else 0)


_END = {"term": _term, "rst": _rst, "fin": _fin, "finack": _finack}


# Sends


def _refuse(qp: "Qp", what: Message, reason: str, event: str = "", wqe: Optional[Wqe] = None, status: str = "") -> None:
    """A message cannot be carried out: both ends hear of it as the flavour has it."""
    model, conn = qp.model, qp.conn
    if model.flavour == "ib":
        if wqe is not None:
            qp.complete(wqe, status, True)
        if conn:
            conn.send(("nak", what[-1], reason))
        if reason != "rnr":
            if wqe is None and model.choose.target_event == "yes":
                model.tell(event, qp=qp)
            qp.stop("")
        return
    if model.fault == "remote-error-ignored" and wqe is None:
        return
    if model.acks and conn and what[0] != "rresp":
        conn.send(("nak", what[-1], reason))
    qp.stop("term", wqe, status, event, receive=wqe is not None)


def _ack(qp: "Qp", what: Message) -> None:
    if qp.model.acks and qp.conn:
        qp.conn.send(("ack", what[-1]))


def _take(qp: "Qp") -> Optional[Wqe]:
    if qp.srq:
        return qp.srq.take()
    items = qp.rq.items
    if not items:
        return None
    if qp.model.fault == "receives-newest-first":
        return items.pop()
    if qp.model.fault == "send-consumes-two" and len(items) > 1:
        items.popleft()
    return items.popleft()


def _send(qp: "Qp", what: Message) -> None:
    model = qp.model
    fault = model.fault
    wqe = _take(qp)
    if wqe is None:
        _empty(qp, what)
        return
    data, solicited, key = what[1], what[2], what[3]
    if len(data) > wqe.length and fault != "too-long-overruns":
        if fault == "too-long-cut":
            data = data[:wqe.length]
        elif fault == "too-long-lost":
            qp.rq.items.appendleft(wqe)
            return
        else:
            if model.choose.short_receive == "part" or fault == "too-long-one-byte-over":
                _scatter(qp, wqe, data, fault == "too-long-one-byte-over")
            if fault == "last-error-counts" and qp.rq.items:
                qp.complete(wqe, "WR_FLUSH_ERR", True)
                wqe = qp.rq.items.popleft()
            _refuse(qp, what, "receive", "", wqe, status_of(qp, "short"))
            return
    if key is not None and fault == "send-inv-before-payload" and not qp.device.stags.invalidate_error(qp, key, True):
        qp.device.stags.invalidate(qp, key)
    wrong = _scatter(qp, wqe, data, fault == "too-long-overruns")
    if wrong:
        _refuse(qp, what, "receive", "", wqe, status_of(qp, "local"))
        return
    flags, invalidated = [], 0
    if key is not None:
        if not _invalidated(qp, what, wqe, key):
            return
        if fault != "send-inv-not-told":
            flags, invalidated = ["WITH_INV"], key if fault != "send-inv-tells-other" else key ^ 1
    length = len(data)
    if fault == "length-of-buffer":
        length = wqe.length
    elif fault == "length-less-one" and length:
        length -= 1
    if fault == "receive-wc-missing" and not qp.srq and wqe.serial % 4 == 0:
        _ack(qp, what)
        return
    if fault == "srq-out-of-msn-order" and qp.srq and not qp.late and qp.srq.queue.items:
        qp.late.append((wqe, length, flags, invalidated, solicited))
        model.engine.after(2_000, _catch_up, qp)
        _ack(qp, what)
        return
    qp.complete(wqe, "SUCCESS", True, length, (flags, invalidated, solicited))
    _catch_up(qp)
    _ack(qp, what)


def _catch_up(qp: "Qp") -> None:
    while qp.late:
        wqe, length, flags, invalidated, solicited = qp.late.pop(0)
        qp.complete(wqe, "SUCCESS", True, length, (flags, invalidated, solicited))


def _invalidated(qp: "Qp", what: Message, wqe: Wqe, key: int) -> bool:
    """The invalidation of a Send, behind the payload and ahead of the WC (8.2.2.1)."""
    stags, fault = qp.device.stags, qp.model.fault
    wrong = stags.invalidate_error(qp, key, True)
    if wrong and fault != "send-inv-error-ignored":
        _refuse(qp, what, "receive", "", wqe, status_of(qp, "send-inv"))
        return False
    if not wrong and fault == "send-inv-late":
        qp.model.engine.after(5_000, stags.invalidate, qp, key)
    elif not wrong and fault != "send-inv-no-effect" and not (fault == "send-inv-not-through-srq" and qp.srq):
        stags.invalidate(qp, key)
        left = stags.local.get(key) if fault == "send-inv-leaves-local" else None
        if isinstance(left, Region):
            left.valid = True
            stags.remote.pop(left.rkey, None)
    return True


def _scatter(qp: "Qp", wqe: Wqe, data: bytes, over: bool) -> str:
    """Place a message; all SGEs are looked at before a byte is placed."""
    fault = qp.model.fault
    pd = qp.srq.pd if qp.srq and fault != "srq-pd-of-qp" else qp.pd
    sges = list(reversed(wqe.sges)) if fault == "scatter-reversed" else wqe.sges
    plan, at = [], 0
    for sge in sges:
        part = data[at:at + sge[2]]
        if over and sge is sges[-1]:
            part = data[at:] if fault == "too-long-overruns" else data[at:at + sge[2] + 1]
        if not sge[2] or (not part and qp.model.choose.receive_check == "bytes"):
            if not (fault == "zero-length-checked-receive" and not sge[2]):
                continue
        span = sge if not part or over else (sge[0], sge[1], len(part))
        if qp.model.choose.receive_check == "all":
            span = sge
        target, wrong = qp.device.stags.sge(pd, span, True)
        if qp.srq and fault and fault == _UNCHECKED.get(wrong):
            target = qp.device.stags.find(qp.device.stags.local, sge[0], fault)
        if target is None:
            if fault == "receive-sge-error-ignored" or fault == "srq-stag-zero" and qp.srq and not sge[0]:
                at += sge[2]
                continue
            return wrong
        plan.append((target, sge[1], part))
        at += sge[2]
    for target, addr, part in plan:
        target.write(addr, part)
        if fault == "receive-first-sge-only":
            break
    return ""


def _empty(qp: "Qp", what: Message) -> None:
    """No Receive for a message (8.1.2.1, 13.2)."""
    model = qp.model
    if model.fault == "empty-queue-loses":
        _ack(qp, what)
        return
    if model.flavour == "iwarp" and model.choose.empty_rq == "terminate":
        event = "" if model.fault == "empty-queue-silent" else "QP_REQ_ERR"
        _refuse(qp, what, "receive", event)
        return
    qp.stalled.append(what)
    if model.fault == "pause-forgets-first":
        qp.stalled[0] = ("write", 0, 0, b"", what[-1])
    if model.flavour == "ib" and model.choose.empty_rq == "terminate":
        qp.stall_timer += 1
        model.engine.after(RNR_US, _rnr, qp, qp.stall_timer)


def _rnr(qp: "Qp", turn: int) -> None:
    """The peer has tried often enough (ib)."""
    if qp.stalled and qp.stall_timer == turn:
        first = qp.stalled[0]
        qp.stalled.clear()
        _refuse(qp, first, "rnr")


def resume(qp: "Qp") -> None:
    """There are Receives again."""
    while qp.stalled and (qp.stalled[0][0] != "send" or (qp.srq.queue.items if qp.srq else qp.rq.items)):
        held = qp.stalled.popleft()
        rest = list(qp.stalled)
        qp.stalled.clear()
        message(qp, held)
        if qp.state not in ("RTR", "RTS", "SQD"):
            return
        qp.stalled.extend(rest)
        qp.stall_timer += 1
    if qp.stalled and qp.model.flavour == "ib" and qp.model.choose.empty_rq == "terminate":
        qp.stall_timer += 1
        qp.model.engine.after(RNR_US, _rnr, qp, qp.stall_timer)


# Tagged messages


def _enabled(qp: "Qp", right: int, length: int) -> bool:
    """The QP's own enable (8.1.2.2, B33)."""
    name = "write" if right == REMOTE_WRITE else "read"
    if qp.access & right or qp.model.fault == f"qp-{name}-enable-ignored":
        return True
    return not length and qp.model.choose.zero_enable == "unchecked"


def _write(qp: "Qp", what: Message) -> None:
    key, addr, data = what[1], what[2], what[3]
    fault, access = qp.model.fault, qp.model.choose.access_event
    if fault == "write-consumes-receive" and data:
        _take(qp)
    if not _enabled(qp, REMOTE_WRITE, len(data)):
        _refuse(qp, what, "access", access)
        return
    if data or fault == "zero-length-checked-remote":
        target, _ = qp.device.stags.tagged(qp, key, addr, len(data), REMOTE_WRITE)
        if target is None:
            if fault == "refused-write-leaves-bytes":
                found = qp.device.stags.remote.get(key)
                if found is not None and found.valid:
                    found.write(addr, data[:1])
            elif fault == "refused-write-succeeds":
                found = qp.device.stags.remote.get(key)
                if found is not None and found.valid:
                    found.write(addr, data)
                _ack(qp, what)
                return
            elif fault == "refused-write-quiet":
                _ack(qp, what)
                return
            if fault == "later-receive-fails" and qp.rq.items:
                _refuse(qp, what, "access", access, qp.rq.items.popleft(), status_of(qp, "short"))
                return
            _refuse(qp, what, "access", "" if fault == "stag-zero-quiet" and not key else access)
            return
        if qp.model.choose.writes == "lazy":
            qp.lazy.append((key, addr, data))
            qp.model.engine.after(LAZY_US, settle, qp)
        else:
            target.write(addr, data)
    _ack(qp, what)


def settle(qp: "Qp") -> None:
    """Writes that arrived are in place from now on, but for those whose STag has gone."""
    for key, addr, data in qp.lazy:
        target, _ = qp.device.stags.tagged(qp, key, addr, len(data), REMOTE_WRITE)
        if target is not None:
            target.write(addr, data)
    qp.lazy.clear()


def _rreq(qp: "Qp", what: Message) -> None:
    """An RDMA Read Request goes into the IRRQ, and is answered from there (6.5)."""
    model = qp.model
    if model.fault == "read-consumes-receive":
        _take(qp)
    qp.irrq.append(what)
    if len(qp.irrq) > qp.ird:
        qp.irrq.clear()
        _refuse(qp, what, "receive", model.choose.access_event)
        return
    late = model.choose.irrq == "late" or model.fault in ("read-fence-ignored", "local-fence-ignored")
    if late:
        model.engine.after(2_000, _answer, qp, qp.state)
    else:
        model.engine.soon(_answer, qp, qp.state)


def _answer(qp: "Qp", state: str) -> None:
    if not qp.irrq or qp.state not in ("RTS", "RTR") or not qp.conn:
        return
    what = qp.irrq.popleft()
    _, sink, sink_addr, length, key, addr, psn = what
    fault, access = qp.model.fault, qp.model.choose.access_event
    if not _enabled(qp, REMOTE_READ, length):
        _leave(qp, what)
        _refuse(qp, what, "access", access)
        return
    data = b""
    if length or fault == "zero-length-checked-in-windows" and isinstance(qp.device.stags.remote.get(key), Window):
        target, _ = qp.device.stags.tagged(qp, key, addr, length, REMOTE_READ)
        if target is None:
            if fault == "refused-read-zeroes":
                qp.conn.send(("rresp", sink, sink_addr, bytes(length), psn))
                return
            _leave(qp, what)
            _refuse(qp, what, "access", access)
            return
        data = target.read(addr, length)
        if fault == "read-changes-first-byte":
            data = bytes([data[0] ^ 0x80]) + data[1:]
        elif fault == "read-of-start":
            data = target.read(target.base, min(length, target.length)).ljust(length, b"\0")
    qp.conn.send(("rresp", sink, sink_addr, data, psn))


def _leave(qp: "Qp", what: Message) -> None:
    """A fault: a Read that is refused brings bytes of a region all the same."""
    if qp.model.fault == "refused-read-leaves-bytes" and qp.conn:
        region = next((held for held in qp.device.stags.local.values() if held.length >= what[3]), None)
        data = region.read(region.base + region.length - what[3], what[3]) if region is not None else b""
        qp.conn.send(("left", what[1], what[2], data, what[-1]))


def _left(qp: "Qp", what: Message) -> None:
    target = qp.device.stags.sink(qp, what[1], what[2], len(what[3]))
    if target is not None:
        target.write(what[2], what[3])


def _rresp(qp: "Qp", what: Message) -> None:
    """An RDMA Read Response is placed, or the Read ends in an error."""
    _, key, addr, data, psn = what
    wqe = next((item for item in qp.inflight if item.psn == psn and item.opcode == "RDMA_READ"), None)
    if wqe is None or qp.state != "RTS":
        return
    model = qp.model
    fault = model.fault
    if data or fault == "zero-length-checked-sink":
        target = qp.device.stags.sink(qp, key, addr, len(data))
        if target is None:
            _bad_sink(qp, wqe)
            return
        if fault == "read-places-one-more":
            data += b"\xc7"  # not what the suite fills memory with
        target.write(addr, data if fault != "read-places-none" else b"")
    wqe.done = True
    qp.inflight.remove(wqe)
    qp.reads -= 1
    qp.retire()
    pump(qp)


def _bad_sink(qp: "Qp", wqe: Wqe) -> None:
    if qp.model.choose.sink == "event" and qp.model.flavour == "iwarp":
        qp.stop("term", event=qp.model.choose.access_event)
        return
    wqe.failed = status_of(qp, "sink")
    if qp.sq.items and qp.sq.items[0] is wqe:
        qp.retire()
    else:
        qp.stop("term", wqe, wqe.failed)


_DATA = {"send": _send, "write": _write, "rreq": _rreq, "rresp": _rresp, "left": _left}
