"""Shared Receive Queues (6.3) and posting (9.3.1)."""

from __future__ import annotations

from .caller import Answer, Caller
from .model import Pd
from .posting import post
from .qp import Qp
from .queues import Srq
from .words import EBUSY, EINVAL, ENOMEM, EOPNOTSUPP, Params, Refused, number, optional


class SrqCalls(Caller):
    """Shared Receive Queues (6.3) and posting (9.3.1)."""

    def create_srq(self, params: Params) -> Answer:
        """6.3.1."""
        pd: Pd = self._thing(params, "pd", Pd)
        size, sges, limit = number(params, "size"), number(params, "sges"), number(params, "limit", 0)
        top = pd.context.device.attributes
        if self.model.choose.srq == "no":
            raise Refused(EOPNOTSUPP)
        if not 0 < size <= top["max_srq_wr"] or sges > top["max_srq_sge"] or (limit > size and
                                                                              self.model.fault != "srq-limit-unchecked"):
            raise Refused(EINVAL)
        if not pd.context.device.count("srq", "max_srq"):
            raise Refused(ENOMEM)
        granted = min(self._entries(size), top["max_srq_wr"])
        if self.model.choose.sges == "more":
            sges = min(sges + 1, top["max_srq_sge"])
        srq = Srq(pd.context, pd, granted - 1 if self.model.fault == "srq-smaller" and granted > 1 else granted, sges)
        return {"srq": self.model.keep(srq), "size": srq.queue.size, "sges": sges}

    def query_srq(self, params: Params) -> Answer:
        """9.2.4.2."""
        srq: Srq = self._thing(params, "srq", Srq)
        size = srq.queue.size + (1 if self.model.fault == "query-srq-wrong" else 0)
        return {"size": size, "sges": srq.sges, "limit": 0 if self.model.fault == "query-srq-no-limit" else srq.limit}

    def modify_srq(self, params: Params) -> Answer:
        """6.3.2, 6.3.8."""
        srq: Srq = self._thing(params, "srq", Srq)
        size, limit = optional(params, "size"), optional(params, "limit")
        fault = self.model.fault
        if size is not None:
            if self.model.choose.resize_qp == "no":
                raise Refused(EOPNOTSUPP)
            below = srq.armed and size < srq.limit and limit is None
            least = 1 if below and fault == "srq-below-limit" else max(1, srq.queue.used, srq.limit if below else 0)
            if not least <= size <= srq.context.device.attributes["max_srq_wr"]:
                raise Refused(EINVAL)
        if limit is not None and limit > (size or srq.queue.size) and fault != "srq-limit-unchecked":
            raise Refused(EINVAL)
        if limit == 0 and self.model.choose.limit_zero == "refused":
            raise Refused(EINVAL)
        if size is not None:
            srq.queue.size = self._entries(size)
        if limit is not None:
            srq.arm(limit)
        return {}

    def destroy_srq(self, params: Params) -> Answer:
        """6.3.3."""
        srq: Srq = self._thing(params, "srq", Srq)
        if srq.users and self.model.fault != "srq-destroyed-in-use":
            raise Refused(EBUSY)
        if srq.queue.items and self.model.fault == "srq-busy-not-destroyed":
            raise Refused(EBUSY)
        srq.context.device.less("srq")
        return self._gone(params, "srq")

    def post_sq(self, params: Params) -> Answer:
        """9.3.1.1."""
        qp: Qp = self._thing(params, "qp", Qp)
        return post(self.model, qp, self.read.wrs(params, True), True)

    def post_rq(self, params: Params) -> Answer:
        """9.3.1.2."""
        qp: Qp = self._thing(params, "qp", Qp)
        return post(self.model, qp, self.read.wrs(params, False), False)

    def post_srq(self, params: Params) -> Answer:
        """9.3.1.2, with an S-RQ."""
        srq: Srq = self._thing(params, "srq", Srq)
        return post(self.model, srq, self.read.wrs(params, False), False)
