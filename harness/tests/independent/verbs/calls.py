"""The calls of section 3 and 4 of the protocol: the table, RNICs and Protection Domains."""

from __future__ import annotations

from typing import Any, Callable, Dict

from .caller import Answer
from .calls_cm import CmCalls
from .calls_cq import CqCalls
from .calls_memory import MemoryCalls
from .calls_qp import QpCalls
from .calls_srq import SrqCalls
from .connections import Listener
from .memory import Region, Window
from .model import PORT, Context, Model, Pd
from .qp import Qp
from .words import EBUSY, EINVAL, ENODEV, ENOMEM, BadParams, Params, Refused


class Calls(CqCalls, QpCalls, MemoryCalls, SrqCalls, CmCalls):
    """The verbs of one model."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.table: Dict[str, Callable[[Params], Any]] = {
            "OpenRnic": self.open_rnic, "QueryRnic": self.query_rnic, "CloseRnic": self.close_rnic, "AllocatePd": self.allocate_pd,
            "DeallocatePd": self.deallocate_pd, "SetCompletionEventHandler": self.set_handler,
            "ClearCompletionEventHandler": self.clear_handler, "GetEvent": self.get_event, "CreateCq": self.create_cq,
            "QueryCq": self.query_cq, "ResizeCq": self.resize_cq, "DestroyCq": self.destroy_cq, "CreateQp": self.create_qp,
            "QueryQp": self.query_qp, "ModifyQp": self.modify_qp, "DestroyQp": self.destroy_qp, "RegisterMr": self.register_mr,
            "ReregisterMr": self.reregister_mr, "DeregisterMr": self.deregister_mr, "AllocateMw": self.allocate_mw,
            "BindMw": self.bind_mw, "DeallocateMw": self.deallocate_mw, "CreateSrq": self.create_srq, "QuerySrq": self.query_srq,
            "ModifySrq": self.modify_srq,
            "DestroySrq": self.destroy_srq, "PostSq": self.post_sq, "PostRq": self.post_rq, "PostSrq": self.post_srq,
            "PollCq": self.poll_cq, "RequestNotification": self.request_notification, "Listen": self.listen,
            "Unlisten": self.unlisten,
            "Connect": self.connect, "Accept": self.accept, "Reject": self.reject, "Disconnect": self.disconnect}

    def open_rnic(self, params: Params) -> Answer:
        """5.1.2."""
        name = params.get("device")
        if not isinstance(name, str):
            raise BadParams("device: a name is needed")
        device = next((one for one in self.model.devices if one.name == name), None)
        if device is None:
            raise Refused(ENODEV)
        return {"rnic": self.model.keep(Context(device))}

    def query_rnic(self, params: Params) -> Answer:
        """5.1.3."""
        context: Context = self._thing(params, "rnic", Context)
        if self.model.fault == "query-refused":
            raise Refused(EINVAL)
        return {"attributes": context.device.shown(), "transport": self.model.flavour, "port": dict(PORT), "vectors": 2}

    def close_rnic(self, params: Params) -> Answer:
        """5.1.4: what is left under it goes with it."""
        context: Context = self._thing(params, "rnic", Context)
        order = {"qp": 0, "mw": 1, "mr": 2, "srq": 3, "cq": 4, "handler": 5, "pd": 6}
        left = [(found, held) for found, held in self.model.objects.items() if getattr(held, "context", None) is context and
                held is not context]
        for found, held in sorted(left, key=lambda pair: order.get(pair[1].kind, 7)):
            self._destroy(found, held)
        return self._gone(params, "rnic")

    def _destroy(self, found: int, held: Any) -> None:
        if isinstance(held, Qp):
            self._end_qp(held)
        elif isinstance(held, Listener):
            held.close()
        elif isinstance(held, (Region, Window)):
            self._end_stag(held)
        self.model.drop(found)

    def allocate_pd(self, params: Params) -> Answer:
        """5.2.1."""
        context: Context = self._thing(params, "rnic", Context)
        if not context.device.count("pd", "max_pd"):
            raise Refused(ENOMEM)
        return {"pd": self.model.keep(Pd(context))}

    def deallocate_pd(self, params: Params) -> Answer:
        """5.2.2."""
        pd: Pd = self._thing(params, "pd", Pd)
        users = [held for held in self.model.objects.values() if getattr(held, "pd", None) is pd]
        fault = self.model.fault or ""
        if fault.startswith("pd-freed-with-"):
            users = [held for held in users if held.kind != fault[14:]]
        if fault == "pd-freed-with-invalid-mr":
            users = [held for held in users if held.kind != "mr" or held.valid]
        if users:
            if fault == "pd-refusal-kills":
                pd.users = -1
            raise Refused(EBUSY)
        pd.context.device.less("pd")
        return self._gone(params, "pd")


def pics(model: Model) -> Answer:
    """What hello says of the provider."""
    choose = model.choose
    return {"flavour": model.flavour, "srq": choose.srq == "yes", "mw": choose.mw == "yes", "local_inv": choose.local_inv == "yes",
            "send_with_inv": choose.send_inv == "yes", "resize_cq": choose.resize_cq == "yes", "rereg_mr": choose.rereg == "yes",
            "resize_qp": choose.resize_qp == "yes", "zero_based": choose.zero_based == "yes", "cm": True, "threads": True}
