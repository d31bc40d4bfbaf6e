"""Memory Regions and Memory Windows (7.3 to 7.10)."""

from __future__ import annotations

from typing import Optional

from .caller import Answer, Caller
from .memory import Memory, Region, Window, bound, rights_error, settle_region
from .model import Pd
from .posting import post
from .qp import Qp
from .queues import Wqe
from .words import (EBUSY, EFAULT, EINVAL, ENOMEM, EOPNOTSUPP, FENCE, FLAGS, REREG, RIGHTS, SIGNALED, BadParams, Params,
                    Refused, bits, number, wide)


class MemoryCalls(Caller):
    """Memory Regions and Memory Windows (7.3 to 7.10)."""

    def register_mr(self, params: Params) -> Answer:
        """7.3.2.2."""
        model = self.model
        pd: Pd = self._thing(params, "pd", Pd)
        memory: Memory = self._thing(params, "mem", Memory)
        offset = number(params, "offset", 0)
        length = number(params, "length", max(0, len(memory.data) - offset))
        rights = bits(params.get("access", []), RIGHTS, "access")
        iova = wide(params, "iova") if params.get("iova") is not None else None
        if pd.users < 0 or (model.fault == "pd-one-mr" and any(isinstance(one, Region) and
                                                               one.pd is pd for one in model.objects.values())):
            raise Refused(EINVAL)
        if model.fault == "mr-no-overlap" and any(isinstance(one, Region) and one.alive and one.memory is memory
                                                  for one in model.objects.values()):
            raise Refused(EBUSY)
        region = Region(pd)
        if length > pd.context.device.attributes["max_mr_size"]:
            raise Refused(EINVAL)
        settle_region(model, region, memory, offset, length, rights, iova)
        if not pd.context.device.count("mr", "max_mr"):
            raise Refused(ENOMEM)
        if model.fault == "overlap-gives-rights":
            for one in pd.context.device.stags.local.values():
                if isinstance(one, Region) and one.memory is memory:
                    one.rights |= rights
        pd.context.device.stags.give(region)
        if model.fault == "mr-born-invalid" and pd.context.device.counts["mr"] > 2:
            region.valid = False
        return {"mr": model.keep(region), "lkey": region.lkey, "rkey": region.rkey, "va": f"{memory.va + offset:016x}"}

    def reregister_mr(self, params: Params) -> Answer:
        """7.3.2.3."""
        model, fault = self.model, self.model.fault
        region: Region = self._thing(params, "mr", Region)
        flags = bits(params.get("flags"), REREG, "flags")
        pd: Pd = self._maybe(params, "pd", Pd) or region.pd
        memory: Memory = self._maybe(params, "mem", Memory) or region.memory
        moved = bool(flags & 1)
        offset = number(params, "offset", 0) if moved else region.offset
        length = number(params, "length", max(0, len(memory.data) - offset)) if moved else region.length
        rights = bits(params["access"], RIGHTS, "access") if params.get("access") is not None else region.rights
        if model.choose.rereg == "no":
            raise Refused(EOPNOTSUPP, code=-4)
        if not flags or flags & ~7 or (moved and (not length or params.get("mem") is None)) or (flags & 2 and
                                                                                                params.get("pd") is None) or (
                flags & 4 and params.get("access") is None) or not region.alive:
            raise Refused(EINVAL, code=-1)
        if region.windows and fault != "rereg-with-window":
            raise Refused(EBUSY, code=-4)
        rights = rights if flags & 4 else region.rights
        longest = pd.context.device.attributes["max_mr_size"]
        refused = rights_error(rights) or fault == "rereg-refused" or rights & 1 and not memory.writable
        if refused or length > longest or offset + length > len(memory.data):
            if fault != "rereg-failure-keeps-old":
                self._end_stag(region)
            raise Refused(EFAULT if not rights_error(rights) else EINVAL, code=-4)
        new = (bool(moved) or model.choose.rereg_key == "new") and model.choose.rereg_key == "new"
        if new:
            if fault != "rereg-old-key-works":
                pd.context.device.stags.take(region)
            pd.context.device.stags.give(region)
        if flags & 2 and fault != "rereg-keeps-pd":
            region.pd = pd
        if flags & 4 and fault != "rereg-keeps-rights":
            region.rights = rights | region.rights & 32
        if moved and fault != "rereg-keeps-place":
            length = max(length, region.length) if fault == "rereg-keeps-length" else length
            length = min(length, region.length) if fault == "rereg-never-longer" else length
            region.place(memory, offset, length, 0 if region.rights & 32 else memory.va + offset)
        region.valid = fault != "rereg-leaves-invalid"
        return {"lkey": region.lkey, "rkey": region.rkey, "code": 0}

    def _end_stag(self, held: "Region | Window") -> None:
        if not held.alive:
            return
        held.alive = False
        stags = held.pd.context.device.stags
        fault = self.model.fault
        held.pd.context.device.less(held.kind)
        if isinstance(held, Window):
            if fault == "window-lingers" and held.valid:
                return
            if fault == "freed-window-read" and held.valid:
                stags.freed[held.rkey] = held
                stags.take(held)
                return
            stags.take(held)
            if fault == "freed-window-ties-qp" and held.qp:
                held.qp.tied = True
            if fault != "window-gone-holds":
                held.loose()
            return
        if fault == "dereg-takes-overlapping":
            for other in list(stags.local.values()):
                if isinstance(other, Region) and other.memory is held.memory:
                    other.valid = False
        if fault == "dereg-lingers-remotely":
            stags.local.pop(held.lkey, None)
        elif fault == "dereg-lingers-locally":
            stags.remote.pop(held.rkey, None)
        else:
            stags.take(held)
            held.valid = False

    def deregister_mr(self, params: Params) -> Answer:
        """7.9."""
        region: Region = self._thing(params, "mr", Region)
        bound(self.model, region, "dereg-with-window")
        if self.model.fault == "error-keeps-regions" and any(
                qp.pd is region.pd and qp.state == "ERR" for qp in region.pd.context.device.qps.values()):
            raise Refused(EBUSY)
        if self.model.fault == "invalid-region-stays" and not region.valid:
            raise Refused(EINVAL)
        for window in list(region.windows):
            window.loose()
        self._end_stag(region)
        return self._gone(params, "mr")

    def allocate_mw(self, params: Params) -> Answer:
        """7.10.1."""
        model = self.model
        pd: Pd = self._thing(params, "pd", Pd)
        sort = number(params, "type")
        if sort not in (1, 2):
            raise BadParams("type: 1 or 2")
        if model.choose.mw == "no":
            raise Refused(EOPNOTSUPP)
        device = pd.context.device
        if not device.count("mw", "max_mw"):
            raise Refused(ENOMEM)
        window = Window(pd, sort, device.stags.fresh())
        device.stags.rename(window, window.rkey)
        return {"mw": model.keep(window), "rkey": window.rkey}

    def bind_mw(self, params: Params) -> Answer:
        """ibv_bind_mw: the provider chooses the key of a type 1 window."""
        qp: Qp = self._thing(params, "qp", Qp)
        window: Window = self._thing(params, "mw", Window)
        region: Optional[Region] = self._maybe(params, "mr", Region)
        wqe = Wqe(wide(params, "wr_id"), "BIND_MW", [])
        flags = bits(params.get("flags", []), FLAGS, "flags")
        wqe.fence, wqe.signaled = bool(flags & FENCE), bool(flags & SIGNALED)
        wqe.bind = {"mw": window, "rkey": (window.rkey & ~0xff) | ((window.rkey + 1) & 0xff), "mr": region,
                    "addr": wide(params, "addr", "0" * 16), "length": number(params, "length", 0),
                    "access": bits(params.get("access", []), RIGHTS, "access")}
        if window.sort != 1:
            raise Refused(EINVAL)
        rkey = wqe.bind["rkey"]
        try:
            post(self.model, qp, [wqe], True)
        except Refused as refused:
            raise Refused(refused.number) from None
        return {"rkey": rkey}

    def deallocate_mw(self, params: Params) -> Answer:
        """7.10.4."""
        window: Window = self._thing(params, "mw", Window)
        fault = self.model.fault
        in_error = window.qp is not None and window.qp.state == "ERR"
        if window.valid and (fault == "bound-window-not-freed" or in_error and fault == "error-keeps-windows"):
            raise Refused(EBUSY)
        self._end_stag(window)
        return self._gone(params, "mw")
