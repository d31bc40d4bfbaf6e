"""Queue Pairs (6.1, 6.2)."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from . import connections
from .caller import Answer, Caller
from .memory import Window
from .model import Pd
from .qp import IDLE, Qp
from .queues import Cq, Srq, WorkQueue
from .sending import pump
from .words import (EBUSY, EINVAL, ENOMEM, EOPNOTSUPP, LOCAL_WRITE, RIGHTS, STATES, TYPES, Params, Refused, bits, flag, number,
                    optional, spell, word)


class QpCalls(Caller):
    """Queue Pairs (6.1, 6.2)."""

    def create_qp(self, params: Params) -> Answer:
        """6.1.1."""
        model = self.model
        pd: Pd = self._thing(params, "pd", Pd)
        cqs: Tuple[Cq, Cq] = (self._thing(params, "send_cq", Cq), self._thing(params, "recv_cq", Cq))
        srq: Optional[Srq] = self._maybe(params, "srq", Srq)
        sizes = [number(params, name) for name in ("sq_size", "rq_size")]
        sges = [number(params, name) for name in ("sq_sges", "rq_sges")]
        inline, signal_all = number(params, "inline", 0), flag(params, "signal_all")
        sort = word(params.get("type", "RC"), TYPES, "type")
        context, device, fault = pd.context, pd.context.device, model.fault
        if sort not in ("RC", 2) or any(one.context is not context for one in (*cqs, srq or cqs[0])) or pd.users < 0:
            raise Refused(EINVAL)
        top = device.attributes["max_qp_wr"]
        if srq and fault != "srq-rq-size-checked":
            sizes[1], sges[1] = 0, 0
        if max(sizes) > top:
            if model.choose.beyond == "refused":
                if fault == "refused-qp-holds-cq":
                    cqs[0].users.append(None)  # type: ignore[arg-type]
                raise Refused(EINVAL)
            sizes = [min(size, top) for size in sizes]
        more = model.choose.receive_sges == "one-more"
        if fault == "refused-qp-holds-cq" and max(sges) > device.attributes["max_sge"]:
            cqs[0].users.append(None)  # type: ignore[arg-type]
        if max(sges[0], sges[1] - more) > device.attributes["max_sge"] and fault != "qp-sges-unchecked" or inline > 64:
            raise Refused(EINVAL)
        if (fault == "pd-one-qp" and any(qp.pd is pd for qp in device.qps.values())) or (
                fault == "cq-one-qp" and (cqs[0].users or cqs[1].users)) or (fault == "cq-not-both" and cqs[0] is cqs[1]) or (
                fault == "srq-one-qp" and srq and srq.users):
            raise Refused(EINVAL)
        if fault == "qp-sizes-must-be-equal" and sizes[0] != sizes[1] and not srq:
            raise Refused(EINVAL)
        if not device.count("qp", "max_qp"):
            raise Refused(ENOMEM)
        qp = Qp(context, pd, cqs, srq, device.qp_number())
        self._size(qp, sizes, sges, top)
        qp.inline, qp.signal_all = inline, signal_all
        device.qps[qp.qp_num] = qp
        for cq in set(cqs):
            cq.users.append(qp)
        if srq:
            srq.users.append(qp)
        return {"qp": model.keep(qp), "qp_num": qp.qp_num, "cap": self._cap(qp)}

    def _size(self, qp: Qp, sizes: List[int], sges: List[int], top: int) -> None:
        granted = [min(self._entries(size), top) if size else 0 for size in sizes]
        if self.model.fault == "qp-smaller":
            granted = [max(1, size - 1) if size else 0 for size in granted]
        qp.sq.size, qp.rq.size = granted
        if self.model.choose.sges == "more":
            sges = [max(count, min(count + 1, qp.device.attributes["max_sge"])) if count else 0 for count in sges]
        qp.sq_sges, qp.rq_sges = sges

    def _cap(self, qp: Qp) -> Answer:
        return {"sq_size": qp.sq.size, "rq_size": 0 if qp.srq else qp.rq.size, "sq_sges": qp.sq_sges, "rq_sges": qp.rq_sges,
                "inline": qp.inline}

    def query_qp(self, params: Params) -> Answer:
        """6.1.2."""
        qp: Qp = self._thing(params, "qp", Qp)
        model, fault = self.model, self.model.fault
        state = "RESET" if fault == "query-qp-always-reset" else qp.state
        if fault == "query-qp-lags" and state == "ERR":
            state = "RTS"
        cap = self._cap(qp)
        if fault == "query-qp-cap-wrong":
            cap["sq_size"] += 1
        send, receive = (qp.recv_cq, qp.send_cq) if fault == "query-qp-cqs-swapped" else (qp.send_cq, qp.recv_cq)
        told_ord = qp.conn.ord if fault == "query-qp-old-ord" and qp.conn else qp.ord + (fault == "query-qp-ord-wrong")
        told_ord = told_ord if model.choose.ord_told == "filled" else 0
        access = qp.access | (LOCAL_WRITE if model.choose.access_told == "more" else 0)
        return {"state": state, "cap": cap,
                "attributes": {"qp_access_flags": spell(access, RIGHTS), "max_rd_atomic": told_ord,
                               "max_dest_rd_atomic": qp.ird,
                               "cur_qp_state": state},
                "send_cq": model.number_of(send), "recv_cq": model.number_of(receive), "srq": model.number_of(qp.srq),
                "pd": model.number_of(qp.pd)}

    def modify_qp(self, params: Params) -> Answer:
        """6.1.3: all of it, or nothing."""
        qp: Qp = self._thing(params, "qp", Qp)
        state = params.get("state")
        if state is not None:
            state = word(state, STATES, "state")
            state = STATES[state] if isinstance(state, int) and state < len(STATES) else state
        numbers = {name: optional(params, name) for name in ("max_rd_atomic", "max_dest_rd_atomic", "sq_size", "rq_size",
                                                             "port_num",
                                                             "pkey_index")}
        access = bits(params["access"], RIGHTS, "access") if params.get("access") is not None else None
        fault = self.model.fault
        if fault == "modify-half-done" and numbers["max_rd_atomic"] is not None:
            qp.ord = numbers["max_rd_atomic"]
        before = qp.state
        if state is None and self.model.flavour == "iwarp" and self.model.choose.next_state == "required":
            raise Refused(EINVAL)
        if fault == "refused-move-to-error-moves" and state == "ERR" and before == "RTS":
            qp.stop("rst")
        self._attributes_right(qp, numbers, access)
        if state is not None:
            self._move(qp, before, state, numbers, access)
        if numbers["max_rd_atomic"] is not None and fault != "modify-ord-no-effect":
            qp.ord = numbers["max_rd_atomic"]
        if numbers["max_dest_rd_atomic"] is not None:
            qp.ird = numbers["max_dest_rd_atomic"]
        if access is not None:
            qp.access = access
        for name, queue in (("sq_size", qp.sq), ("rq_size", qp.rq)):
            if numbers[name] is not None:
                queue.size = self._entries(numbers[name]) if fault != "resize-qp-no-effect" else queue.size
        pump(qp)
        return {}

    def _attributes_right(self, qp: Qp, numbers: Dict[str, Optional[int]], access: Optional[int]) -> None:
        choose, device, fault = self.model.choose, qp.device, self.model.fault
        top = device.attributes["max_qp_rd_atom"]
        ord_, ird = numbers["max_rd_atomic"], numbers["max_dest_rd_atomic"]
        if (ord_ is not None and ord_ > top and fault != "modify-ord-beyond") or (ird is not None and ird > top):
            raise Refused(EINVAL)
        if choose.ord_increase == "ord" and ird is not None and ird > qp.ird:
            raise Refused(EOPNOTSUPP)
        if choose.ord_increase == "no" and ((ord_ is not None and ord_ > qp.ord) or (ird is not None and ird != qp.ird)):
            raise Refused(EOPNOTSUPP)
        if fault == "ord-reduction-refused" and ord_ is not None and ord_ < qp.ord:
            raise Refused(EINVAL)
        known = 0x0f if choose.bind_enable == "unknown" else 0x1f
        if access is not None and (access & ~known or (choose.access_change == "no" and qp.state == "RTS")):
            raise Refused(EINVAL)
        for name, queue in (("sq_size", qp.sq), ("rq_size", qp.rq)):
            size = numbers[name]
            if size is None:
                continue
            if choose.resize_qp == "no" or (name == "rq_size" and qp.srq):
                raise Refused(EOPNOTSUPP)
            if size > device.attributes["max_qp_wr"] or (size < queue.used and fault != "resize-qp-below-held"):
                raise Refused(EINVAL)
        if numbers["port_num"] not in (None, 1) or numbers["pkey_index"] not in (None, 0):
            raise Refused(EINVAL)

    def _illegal(self, qp: Qp) -> None:
        if self.model.fault == "refused-move-moves":
            qp.to_error()
        raise Refused(EINVAL)

    def _move(self, qp: Qp, before: str, after: str, numbers: Dict[str, Optional[int]], access: Optional[int]) -> None:
        if self.model.flavour == "ib":
            self._move_ib(qp, before, after, numbers, access)
        elif before in IDLE:
            self._from_idle(qp, after)
        elif before == "RTS":
            self._from_rts(qp, after)
        elif before == "ERR":
            self._from_error(qp, after)
        elif self.model.fault == {"SQE": "terminate-takes-modify", "SQD": "closing-takes-modify"}.get(before):
            return
        else:
            self._illegal(qp)

    def _from_idle(self, qp: Qp, after: str) -> None:
        """Figure 7."""
        fault = self.model.fault
        if after in IDLE:
            if fault == "idle-to-idle-refused":
                raise Refused(EINVAL)
            qp.state = after
        elif after == "ERR":
            if fault == "idle-to-error-refused":
                raise Refused(EINVAL)
            qp.to_error()
        elif (after == "SQD" and fault == "idle-to-closing") or (after == "SQE" and fault == "idle-to-terminate"):
            qp.to_error()
        else:
            self._illegal(qp)

    def _from_rts(self, qp: Qp, after: str) -> None:
        """Figure 8."""
        fault = self.model.fault
        if after == "RTS":
            if fault == "rts-to-rts-refused":
                raise Refused(EINVAL)
        elif after == "ERR":
            if fault == "rts-to-error-refused":
                raise Refused(EINVAL)
            qp.stop("rst")
        elif after == "SQD":
            connections.close(qp)
        elif after == "SQE":
            qp.stop("term")
        elif after in IDLE and fault == "rts-to-idle":
            qp.stop("rst")
            qp.to_idle(after)
        else:
            self._illegal(qp)

    def _from_error(self, qp: Qp, after: str) -> None:
        """Figure 10."""
        fault = self.model.fault
        if after in IDLE:
            if fault == "error-for-ever":
                raise Refused(EINVAL)
            if fault == "idle-while-flushing" and qp.flushing:
                qp.to_idle(after)
                return
            if qp.flushing or qp.unseen or qp.sq.items or qp.rq.items:
                raise Refused(EBUSY)
            qp.to_idle("RESET" if after == "RESET" else after)
        elif after == "ERR" and self.model.choose.error_to_error == "accepted":
            return
        elif (after == "SQD" and fault == "error-to-closing") or (after == "RTS" and fault == "error-to-rts"):
            qp.state = "RTS" if after == "RTS" else qp.state
        else:
            self._illegal(qp)

    def _move_ib(self, qp: Qp, before: str, after: str, numbers: Dict[str, Optional[int]], access: Optional[int]) -> None:
        """The moves that Table C has for ib."""
        fault = self.model.fault
        if after == "ERR":
            if (fault == "idle-to-error-refused" and before in IDLE) or (fault == "rts-to-error-refused" and before == "RTS"):
                raise Refused(EINVAL)
            if before != "ERR":
                qp.to_error()
        elif after == "RESET":
            if fault == "error-for-ever" and before == "ERR":
                raise Refused(EINVAL)
            if qp.flushing:
                qp.flushing = False
            qp.wipe()
            if qp.conn and qp.conn.down:
                qp.conn = None
            qp.to_idle("RESET")
        elif after == "INIT" and before in IDLE:
            lacks = numbers["port_num"] is None or numbers["pkey_index"] is None or access is None
            if before == "RESET" and lacks and fault != "modify-without-attributes":
                raise Refused(EINVAL)
            if fault == "idle-to-idle-refused":
                raise Refused(EINVAL)
            qp.state = "INIT"
        elif after == "RTS" and before == "RTS":
            if fault == "rts-to-rts-refused":
                raise Refused(EINVAL)
        elif (after == "SQD" and before in IDLE and fault == "idle-to-closing") or (after == "RTS" and before == "ERR" and
                                                                                    fault == "error-to-rts"):
            qp.state = "RTS" if after == "RTS" else "ERR"
        elif after == "SQD" and before == "ERR" and fault == "error-to-closing":
            return
        elif after == "INIT" and before == "RTS" and fault == "rts-to-idle":
            qp.to_idle("INIT")
        else:
            self._illegal(qp)

    def destroy_qp(self, params: Params) -> Answer:
        """6.1.4: in any state, but not while windows are bound to it (iwarp)."""
        qp: Qp = self._thing(params, "qp", Qp)
        fault = self.model.fault
        tied = [held for held in self.model.objects.values() if isinstance(held, Window) and held.qp is qp]
        if qp.tied or tied and self.model.flavour == "iwarp" and fault != "qp-destroyed-with-window":
            raise Refused(EBUSY)
        if (fault == "qp-busy-not-destroyed" and (qp.sq.items or qp.rq.items)) or (
                fault == "qp-in-error-not-destroyed" and qp.state == "ERR"):
            raise Refused(EBUSY)
        for window in tied:
            window.loose()
        self._end_qp(qp)
        return self._gone(params, "qp")

    def _end_qp(self, qp: Qp) -> None:
        model = self.model
        conn = qp.conn
        if model.choose.destroy_wcs == "flushed":
            for wqe in qp.rq.items:
                qp.complete(wqe, "WR_FLUSH_ERR", True)
        elif model.fault == "destroyed-qp-completes":
            for wqe in qp.rq.items:
                model.engine.after(3_000, qp.complete, wqe, "WR_FLUSH_ERR", True)
        if model.fault == "cq-keeps-destroyed":
            qp.recv_cq.lost += len(qp.rq.items)
        qp.send_cq.settle()
        qp.recv_cq.settle()
        qp.destroyed = True
        if conn:
            qp.conn = None
            if model.fault != "destroy-silent" and not conn.down:
                conn.send(("rst",) if model.flavour == "iwarp" else ("dreq",))
            if model.flavour == "iwarp":
                conn.drop()
            else:
                conn.told = conn.down = True
        qp.state = "RESET"
        qp.sq, qp.rq = WorkQueue(model, 0), WorkQueue(model, 0)
        qp.device.less("qp")
        qp.device.release(qp)
        for cq in {qp.send_cq, qp.recv_cq}:
            cq.users.remove(qp)
        if qp.srq:
            qp.srq.users.remove(qp)
