"""Completion handlers and Completion Queues (5.3, 8.2.5, 9.3.2, 9.4.1)."""

from __future__ import annotations

from typing import Any, List, Optional

from .caller import Answer, Caller, Wait
from .model import Context
from .queues import Cq, Cqe, Handler
from .words import EBUSY, EINVAL, ENOMEM, EOPNOTSUPP, BadParams, Params, Refused, flag, number, optional


class CqCalls(Caller):
    """Completion handlers and Completion Queues (5.3, 8.2.5, 9.3.2, 9.4.1)."""

    def set_handler(self, params: Params) -> Answer:
        """9.4.1."""
        return {"handler": self.model.keep(Handler(self._thing(params, "rnic", Context)))}

    def clear_handler(self, params: Params) -> Answer:
        """ibv_destroy_comp_channel: not while a CQ has it."""
        handler: Handler = self._thing(params, "handler", Handler)
        if handler.cqs:
            raise Refused(EBUSY)
        return self._gone(params, "handler")

    def get_event(self, params: Params) -> Any:
        """One event of a channel."""
        handler: Handler = self._thing(params, "handler", Handler)
        us = optional(params, "Timeout")

        def attempt(last: bool) -> Optional[Answer]:
            if handler.events:
                return {"cq": self.model.number_of(handler.events.popleft())}
            return {"cq": None} if last else None

        return Wait(us, attempt)

    def _asked(self, params: Params) -> int:
        asked = params.get("entries")
        if not isinstance(asked, int) or isinstance(asked, bool):
            raise BadParams("entries: a number is needed")
        return asked

    def create_cq(self, params: Params) -> Answer:
        """5.3.1."""
        context: Context = self._thing(params, "rnic", Context)
        asked = self._asked(params)
        handler = self._maybe(params, "handler", Handler)
        vector = number(params, "vector", 0)
        fault = self.model.fault
        top = context.device.attributes["max_cqe"]
        if asked > top and fault == "cq-beyond-limit-cut":
            asked = top
        if asked < 1 and self.model.choose.empty_cq == "one":
            asked = 1
        if asked < 1 and fault == "cq-of-none":
            return {"cq": self.model.keep(Cq(context, 0, handler)), "entries": 0}
        if not 0 < asked <= top or params.get("vector", 0) > 1:
            if fault == "refusal-changes-limits":
                context.device.attributes["max_cqe"] -= 1
            self.model.forgets = fault == "refusal-loses-event"
            raise Refused(EINVAL)
        if not context.device.count("cq", "max_cq"):
            raise Refused(ENOMEM)
        entries = min(self._entries(asked), top)
        cq = Cq(context, entries - 1 if fault == "cq-smaller" and entries > 1 else entries, handler)
        cq.vector = vector
        if handler:
            handler.cqs.append(cq)
        found = self.model.keep(cq)
        return {"cq": found, "entries": entries + 1 if fault == "cq-entries-wrong" else cq.entries}

    def query_cq(self, params: Params) -> Answer:
        """5.3.2."""
        cq: Cq = self._thing(params, "cq", Cq)
        return {"entries": cq.entries + (5 if self.model.fault == "query-cq-wrong" else 0)}

    def resize_cq(self, params: Params) -> Answer:
        """5.3.3: no WC is lost, and never below what is on it."""
        cq: Cq = self._thing(params, "cq", Cq)
        asked = self._asked(params)
        fault = self.model.fault
        if self.model.choose.resize_cq == "no":
            raise Refused(EOPNOTSUPP)
        if not 0 < asked <= cq.context.device.attributes["max_cqe"]:
            raise Refused(EINVAL)
        if self.model.choose.resize_cq == "kept" and asked <= cq.entries:
            return {"entries": cq.entries}
        if asked < cq.held():
            if fault != "resize-below-held":
                if fault == "resize-refusal-loses":
                    cq.items.clear()
                raise Refused(EINVAL)
            while len(cq.items) > asked:
                cq.items.pop()
        if fault == "resize-loses" and cq.items:
            cq.items.popleft()
        elif fault == "resize-breaks-qps":
            for qp in list(cq.users):
                qp.stop("rst", event="QP_FATAL")
        elif fault == "resize-tells-old-entries" and cq.items and cq.handler:
            cq.handler.events.append(cq)
        elif fault == "resize-disarms":
            cq.armed = ""
        granted = self._entries(asked) if fault != "resize-smaller" else max(1, asked - 1)
        if fault != "resize-in-name-only":
            cq.entries = granted
        return {"entries": granted}

    def destroy_cq(self, params: Params) -> Answer:
        """5.3.4."""
        cq: Cq = self._thing(params, "cq", Cq)
        if cq.users and self.model.fault != "cq-destroyed-in-use":
            raise Refused(EBUSY)
        cq.dead = True
        if cq.handler:
            cq.handler.cqs.remove(cq)
            cq.handler.events = type(cq.handler.events)(other for other in cq.handler.events if other is not cq)
        cq.context.device.less("cq")
        return self._gone(params, "cq")

    def poll_cq(self, params: Params) -> Any:
        """9.3.2.1."""
        cq: Cq = self._thing(params, "cq", Cq)
        most = number(params, "max", 1)
        if not 1 <= most <= 128:
            raise BadParams("max: 1 to 128")
        us = number(params, "Timeout", 0)
        if us:
            found: List[Cqe] = []

            def attempt(last: bool) -> Optional[Answer]:
                found.extend(cq.poll(most - len(found)))
                return {"wcs": self._wcs(found)} if last or len(found) >= most else None

            return Wait(us, attempt)
        if self.model.choose.poll == "one":
            most = min(most, 1)
        return {"wcs": self._wcs(cq.poll(most))}

    def _wcs(self, found: List[Cqe]) -> List[Answer]:
        model, at = self.model, self.model.now_us()
        unwritten = model.choose.error_fields == "unwritten"
        shown = []
        for cqe in found:
            wc: Answer = {"wr_id": f"{cqe.wr_id:016x}", "status": cqe.status, "opcode": cqe.opcode, "byte_len": cqe.length,
                          "qp_num": cqe.qp.qp_num, "qp": model.number_of(cqe.qp), "flags": cqe.flags,
                          "invalidated": cqe.invalidated,
                          "vendor_err": 0, "at_us": at}
            if model.choose.sq_fields == "unwritten" and cqe.opcode != "RECV":
                wc["byte_len"] = 0x5a5a5a5a
            if model.choose.wc_flags == "more":
                wc["flags"] = ["GRH", *cqe.flags, "IP_CSUM_OK"]
            if unwritten and cqe.status != "SUCCESS":
                wc.update(opcode=0xa5a5a5a5, byte_len=0xa5a5a5a5, invalidated=0xa5a5a5a5, flags=["GRH", "WITH_INV"])
            shown.append(wc)
        return shown

    def request_notification(self, params: Params) -> Answer:
        """9.3.2.2."""
        cq: Cq = self._thing(params, "cq", Cq)
        cq.arm(flag(params, "solicited"))
        return {}
