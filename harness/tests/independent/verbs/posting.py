"""PostSQ and PostRQ: WRs as the protocol has them, and what is refused at once (8.2.1, 8.3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional

from .memory import Memory, Region, Window
from .qp import Qp
from .queues import Sge, Srq, WorkQueue, Wqe
from .receiving import resume
from .sending import DATA, pump
from .words import (EINVAL, ENOMEM, FENCE, FLAGS, INLINE, LONGEST, MW_BIND, OPCODES, RIGHTS, SIGNALED, SOLICITED, BadParams, Params,
                    Refused, bits,
                    number, wide, word)

if TYPE_CHECKING:
    from .model import Model

MOST = 4096
SERVED = ("SEND", "SEND_WITH_INV", "RDMA_WRITE", "RDMA_READ", "LOCAL_INV", "BIND_MW")


def thing(model: "Model", params: Params, name: str, kind: Any) -> Any:
    """The object of a number that the agent gave."""
    found = model.objects.get(number(params, name))
    if not isinstance(found, kind):
        raise BadParams(f"{name}: {params.get(name)} is no such number")
    return found


class Reader:
    """Reads the WRs of a list."""

    def __init__(self, model: "Model") -> None:
        self.model = model

    def sge(self, item: Any) -> Sge:
        """One scatter/gather element."""
        if not isinstance(item, dict):
            raise BadParams("sges: a list of objects is needed")
        length = number(item, "length", top=1 << 32)
        if "addr" in item:
            addr = wide(item, "addr")
        else:
            memory: Memory = thing(self.model, item, "mem", Memory)
            addr = memory.va + number(item, "offset", 0)
        if "lkey" in item:
            return number(item, "lkey", top=1 << 32), addr, length
        region: Region = thing(self.model, item, "mr", Region)
        return region.lkey, addr, length

    def wrs(self, params: Params, send: bool) -> List[Wqe]:
        """The whole list, each WR as often as `times` says."""
        listed = params.get("wrs")
        if not isinstance(listed, list) or not listed:
            raise BadParams("wrs: a list of 1 to 4096 WRs is needed")
        found: List[Wqe] = []
        for item in listed:
            if not isinstance(item, dict):
                raise BadParams("wrs: a WR is an object")
            times = number(item, "times", 1)
            if not times or len(found) + times > MOST:
                raise BadParams("wrs: 1 to 4096 WRs")
            first = self.one(item, send)
            found.append(first)
            for count in range(1, times):
                again = self.one(item, send)
                again.wr_id = (first.wr_id + count) & 0xffffffffffffffff
                found.append(again)
        return found

    def one(self, item: Params, send: bool) -> Wqe:
        """One WR."""
        sges = item.get("sges", [])
        if not isinstance(sges, list):
            raise BadParams("sges: a list is needed")
        opcode = word(item.get("opcode"), OPCODES, "opcode") if send else "RECV"
        if isinstance(opcode, int):
            opcode = OPCODES[opcode] if opcode < len(OPCODES) else f"#{opcode}"
        wqe = Wqe(wide(item, "wr_id"), opcode, [self.sge(one) for one in sges])
        flags = bits(item.get("flags", []), FLAGS, "flags")
        wqe.fence, wqe.signaled, wqe.solicited = bool(flags & FENCE), bool(flags & SIGNALED), bool(flags & SOLICITED)
        if flags & INLINE and opcode in DATA:
            wqe.inline = b"".join(self._bytes(one) for one in wqe.sges)
        if send:
            self._rest(item, wqe)
        return wqe

    def _bytes(self, sge: Sge) -> bytes:
        _, addr, length = sge
        for memory in self.model.objects.values():
            if isinstance(memory, Memory) and memory.va <= addr and addr + length <= memory.va + len(memory.data):
                return bytes(memory.data[addr - memory.va:addr - memory.va + length])
        return bytes(length)

    def _rest(self, item: Params, wqe: Wqe) -> None:
        remote = item.get("remote")
        if remote is not None:
            if not isinstance(remote, dict):
                raise BadParams("remote: an object is needed")
            wqe.remote, wqe.rkey = wide(remote, "addr"), number(remote, "rkey", top=1 << 32)
        elif wqe.opcode in ("RDMA_WRITE", "RDMA_READ"):
            raise BadParams("remote is missing")
        if wqe.opcode in ("SEND_WITH_INV", "LOCAL_INV"):
            wqe.key = number(item, "invalidate", top=1 << 32)
        if wqe.opcode == "BIND_MW":
            bind = item.get("bind")
            if not isinstance(bind, dict):
                raise BadParams("bind is missing")
            window = thing(self.model, bind, "mw", Window)
            region = thing(self.model, bind, "mr", Region) if bind.get("mr") is not None else None
            wqe.bind = {"mw": window, "rkey": number(bind, "rkey", window.rkey, top=1 << 32), "mr": region,
                        "addr": wide(bind, "addr", "0" * 16), "length": number(bind, "length", 0),
                        "access": bits(bind.get("access", []), RIGHTS, "access")}


def _not_taken(choice: str, send: bool) -> bool:
    """Whether what is posted to this queue is refused; otherwise it is flushed."""
    return choice == "refuse" or choice == ("flush-receives" if send else "flush-sends")


def _state_error(qp: Qp, send: bool) -> bool:
    """A post that this state does not take."""
    model = qp.model
    choose, state = model.choose, qp.state
    if state == "RTS":
        return False
    if state in ("ERR", "SQE"):
        return _not_taken(choose.error_posts, send)
    if state == "SQD":
        return _not_taken(choose.closing_posts, send)
    if model.flavour == "iwarp":
        return choose.idle_sends == "refuse" if send else state == "RESET" and choose.idle_receives == "only-init"
    if send:
        return True
    if state == "RESET" and choose.idle_receives != "any":
        qp.state = "INIT"  # the agent's own move
        qp.access = MW_BIND if choose.bind_enable == "asked" else qp.access
    return False


def _wr_error(qp: Optional[Qp], wqe: Wqe, send: bool, sges: int) -> int:
    """What is wrong with a WR itself, as errno; 0: nothing."""
    if len(wqe.sges) > sges:
        return 0 if qp and qp.model.fault == "sge-count-unchecked" else EINVAL
    if not send or qp is None:
        return 0
    choose, fault = qp.model.choose, qp.model.fault
    if wqe.opcode not in SERVED or (wqe.opcode == "SEND_WITH_INV" and choose.send_inv == "no") or (
            wqe.opcode == "LOCAL_INV" and choose.local_inv == "no"):
        return EINVAL if choose.bad_opcode == "refused" else 0
    if wqe.opcode == "RDMA_READ":
        if len(wqe.sges) > qp.device.attributes["max_sge_rd"]:
            return EINVAL
        if not qp.ord and choose.ord_zero == "refused" and qp.state == "RTS":
            return EINVAL
        if fault == "ord-limits-posts" and sum(item.opcode == "RDMA_READ" for item in qp.sq.items) >= qp.ord > 0:
            return ENOMEM
    elif wqe.opcode == "BIND_MW" and wqe.bind and qp.state == "RTS":
        if choose.bind_error == "refused" and qp.device.stags.bind_error(qp, wqe.bind):
            return EINVAL
    elif wqe.opcode in DATA and choose.send_check == "refused" and wqe.inline is None:
        if wqe.length > LONGEST or any(sge[2] and qp.device.stags.sge(qp.pd, sge, False)[0] is None for sge in wqe.sges):
            return EINVAL
    if wqe.inline is not None and wqe.length > qp.inline:
        return EINVAL
    if fault == "zero-length-refused" and not wqe.length and wqe.opcode in DATA:
        return EINVAL
    return 0


def _unserved(qp: Optional[Qp], wqe: Wqe) -> None:
    """What is taken at the post and fails when it is started."""
    if qp and ((wqe.opcode == "SEND_WITH_INV" and qp.model.choose.send_inv == "no") or (
            wqe.opcode == "LOCAL_INV" and qp.model.choose.local_inv == "no")):
        wqe.opcode = f"no {wqe.opcode}"


def post(model: "Model", target: "Qp | Srq", wqes: List[Wqe], send: bool) -> Dict[str, Any]:
    """A list of WRs: in order, up to the first Immediate Error (8.2.1)."""
    qp = target if isinstance(target, Qp) else None
    fault = model.fault
    queue: WorkQueue = (qp.sq if send else qp.rq) if qp else target.queue  # type: ignore[union-attr]
    sges = (qp.sq_sges if send else qp.rq_sges) if qp else target.sges  # type: ignore[union-attr]
    if fault == "list-backwards" and len(wqes) > 1:
        wqes = wqes[::-1]
    posted, error = 0, 0
    for wqe in wqes:
        now = _refusal(model, qp, wqe, send, sges, queue)
        if now:
            error = error or now
            if fault == "refused-post-takes-room" and now != ENOMEM:
                queue.used += 1
            if fault == "list-goes-on":
                continue
            break
        if qp and (qp.signal_all or not send):
            wqe.signaled = True
        _unserved(qp, wqe)
        queue.push(wqe)
        posted += 1
    if error and fault == "list-drops-the-good":
        for _ in range(posted):
            queue.items.pop()
            queue.used -= 1
    told = posted + 1 if error and fault == "list-count-wrong" else posted
    _begin(model, target, qp, send)
    if error:
        raise Refused(error, posted=told)
    return {"posted": told}


def _refusal(model: "Model", qp: Optional[Qp], wqe: Wqe, send: bool, sges: int, queue: WorkQueue) -> int:
    if qp:
        if not send and qp.srq and model.fault != "srq-qp-post-accepted":
            return EINVAL
        if _state_error(qp, send):
            return EINVAL
    wrong = _wr_error(qp, wqe, send, sges)
    if wrong:
        return wrong
    if not queue.room() and model.fault != "srq-qp-post-accepted":
        return ENOMEM
    if model.fault == "posts-refused-after-first" and queue.used >= 1 and qp and not send:
        return ENOMEM
    if model.fault == "receives-no-overlap" and not send and any(one[1] < sge[1] + sge[2] and sge[1] < one[1] + one[2] for
                                                                 item in queue.items for one in item.sges for sge in wqe.sges):
        return EINVAL
    return 0


def _begin(model: "Model", target: "Qp | Srq", qp: Optional[Qp], send: bool) -> None:
    """Let what was posted take its course."""
    if qp is None:
        srq: Srq = target  # type: ignore[assignment]
        for user in list(srq.users):
            resume(user)
        return
    fault = model.fault
    if qp.state == "ERR":
        if fault == "error-post-lost":
            qp.sq.items.clear()
            qp.rq.items.clear()
        elif not qp.flushing:
            qp.flush_new()
    elif qp.state == "SQD":
        if send:
            qp.stop("rst", event="QP_FATAL")
        else:
            qp.flush_receives()
    elif qp.state in ("RESET", "INIT") and fault == "idle-receives-complete" and not send:
        qp.flush_receives()
    elif qp.state in ("RESET", "INIT") and fault == ("idle-sends-lost" if send else "idle-receives-lost"):
        (qp.sq if send else qp.rq).items.clear()
    elif qp.state in ("RESET", "INIT") and fault == "idle-sends-complete" and send:
        for wqe in list(qp.sq.items):
            wqe.done = True
        qp.retire()
    elif send:
        pump(qp)
    else:
        resume(qp)
