"""The provider as a whole: RNICs and their limits, Protection Domains, events, numbers of objects."""

from __future__ import annotations

import random
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

from . import connections
from .choices import Choices
from .connections import Listener
from .engine import Engine, RealClock, VirtualClock
from .memory import Memory, Stags
from .qp import Qp
from .queues import Srq

Notify = Callable[[str, Dict[str, Any]], None]
CAPS = {"resize_max_wr": 1 << 0, "rnr_nak_gen": 1 << 12, "srq_resize": 1 << 13, "n_notify_cq": 1 << 14, "mem_window": 1 << 17,
        "mem_mgt_extensions": 1 << 21, "type_2a": 1 << 23, "type_2b": 1 << 24}
# The numbers are small enough to be reached by a test, and each is enforced.
LIMITS = {"max_qp": 96, "max_qp_wr": 512, "max_sge": 6, "max_sge_rd": 1, "max_cq": 64, "max_cqe": 2048, "max_mr": 256, "max_pd": 48,
          "max_qp_rd_atom": 8, "max_res_rd_atom": 96 * 8, "max_qp_init_rd_atom": 8, "max_mw": 64, "max_srq": 24, "max_srq_wr": 512,
          "max_srq_sge": 6, "max_pkeys": 1, "phys_port_cnt": 1, "max_mr_size": 1 << 40, "page_size_cap": 4096}
OTHER_LIMITS = {
    "small": {"max_qp_wr": 64, "max_sge": 4, "max_cqe": 256, "max_qp_rd_atom": 1, "max_qp_init_rd_atom": 1, "max_srq_wr": 64,
              "max_srq_sge": 1, "max_res_rd_atom": 96},
    "least": {"max_qp_wr": 16, "max_sge": 4, "max_cqe": 16, "max_srq_wr": 16, "max_pd": 2},
    "huge": {"max_qp_wr": 1 << 20, "max_sge": 64, "max_cqe": 1 << 22, "max_qp_rd_atom": 64, "max_qp_init_rd_atom": 64,
             "max_srq_wr": 1 << 20, "max_srq_sge": 64, "max_res_rd_atom": 96 * 64}}
FEW = {"max_qp": 24, "max_cq": 24, "max_mr": 48, "max_pd": 12, "max_mw": 12, "max_srq": 4}
ODD = {"max_mr_size": (1 << 64) - 1, "page_size_cap": 0xfffff000, "max_res_rd_atom": 0, "fw_ver": "", "node_guid": "0" * 16}
ZEROES = ("max_ee_rd_atom", "max_ee_init_rd_atom", "max_ee", "max_rdd", "max_raw_ipv6_qp", "max_raw_ethy_qp", "max_mcast_grp",
          "max_mcast_qp_attach", "max_total_mcast_qp_attach", "max_ah", "max_fmr", "max_map_per_fmr", "local_ca_ack_delay",
          "atomic_cap", "vendor_id", "vendor_part_id", "hw_ver")
PORT = {"state": 4, "max_mtu": 5, "active_mtu": 5, "gid_tbl_len": 1, "port_cap_flags": 0, "max_msg_sz": (1 << 32) - 1,
        "bad_pkey_cntr": 0, "qkey_viol_cntr": 0, "pkey_tbl_len": 1, "lid": 0, "sm_lid": 0, "lmc": 0, "max_vl_num": 1, "sm_sl": 0,
        "subnet_timeout": 0, "init_type_reply": 0, "active_width": 2, "active_speed": 8, "phys_state": 5, "link_layer": 2,
        "flags": 0,
        "port_cap_flags2": 0}
ROOM = 1 << 30


class Pd:
    """A Protection Domain."""

    kind = "pd"

    def __init__(self, context: "Context") -> None:
        self.context = context
        self.users = 0


class Device:
    """An RNIC."""

    def __init__(self, model: "Model", name: str, address: str) -> None:
        self.model, self.name, self.address = model, name, address
        self.stags = Stags(model)
        self.qps: Dict[int, Qp] = {}
        self.counts: Dict[str, int] = {}
        self._last = 16
        self._gone: List[int] = []
        self.attributes = self._attributes()

    def _attributes(self) -> Dict[str, Any]:
        choose, fault = self.model.choose, self.model.fault
        found: Dict[str, Any] = {"fw_ver": "1", "node_guid": "0200000000000001", "sys_image_guid": "0200000000000001"}
        found.update(LIMITS)
        found.update(dict.fromkeys(ZEROES, 0))
        found.update(OTHER_LIMITS.get(choose.limits, {}))
        found.update({"few": FEW, "four-cqs": {"max_cq": 4}}.get(choose.objects, {}))
        found.update(ODD if choose.attributes == "odd" else {})
        if choose.regions == "short":
            found["max_mr_size"] = 1 << 20
        if choose.srq == "no":
            found.update(max_srq=0, max_srq_wr=0, max_srq_sge=0)
        if choose.mw == "no":
            found["max_mw"] = 0
        if choose.reads == "no":
            found.update(max_qp_rd_atom=0, max_res_rd_atom=0, max_qp_init_rd_atom=0)
        flags = CAPS["n_notify_cq"] | CAPS["rnr_nak_gen"]
        flags |= 0 if choose.mw == "no" else CAPS["mem_window"] | CAPS["type_2b"]
        flags |= 0 if choose.local_inv == "no" else CAPS["mem_mgt_extensions"]
        flags |= 0 if choose.resize_qp == "no" else CAPS["resize_max_wr"] | CAPS["srq_resize"]
        found["device_cap_flags"] = flags
        if fault == "query-max-sge-three":
            found["max_sge"] = 3
        return found

    def shown(self) -> Dict[str, Any]:
        """What Query RNIC tells."""
        found, fault = dict(self.attributes), self.model.fault
        lies = {"query-wr-limit-low": ("max_qp_wr", LIMITS["max_qp_wr"] // 2),
                "query-cqe-limit-low": ("max_cqe", LIMITS["max_cqe"] // 2),
                "query-sge-limit-high": ("max_sge", LIMITS["max_sge"] + 2),
                "query-no-pds": ("max_pd", 0), "query-no-reads": ("max_qp_rd_atom", 0),
                "query-srq-not-told": ("max_srq", 0), "query-srq-wr-not-told": ("max_srq_wr", 0)}
        if fault in lies:
            name, value = lies[fault]
            found[name] = value
        return found

    def count(self, what: str, limit: str) -> bool:
        """One more of a kind, if there is room."""
        if self.counts.get(what, 0) >= self.attributes[limit]:
            return False
        self.counts[what] = self.counts.get(what, 0) + 1
        return True

    def less(self, what: str) -> None:
        """One less of a kind."""
        self.counts[what] -= 1

    def qp_number(self) -> int:
        """The QP ID of a new QP, unique on the RNIC (6.1.1)."""
        if self.model.fault == "qp-number-twice":
            return 17
        if self._gone and self.model.choose.qp_numbers == "reused":
            return self._gone.pop()
        self._last += 1 + self.model.chance.randrange(4)
        return 0xffffff - self._last if self.model.choose.qp_numbers == "large" else self._last

    def release(self, qp: Qp) -> None:
        """A QP is gone."""
        if self.qps.get(qp.qp_num) is qp:
            del self.qps[qp.qp_num]
        self._gone.append(qp.qp_num)


class Context:
    """An RNIC that was opened."""

    kind = "rnic"

    def __init__(self, device: Device) -> None:
        self.device = device
        self.context = self


class Model:
    """Everything since the last reset."""

    def __init__(self, flavour: str, choose: Choices, fault: Optional[str], notify: Notify, names: List[str], addresses: List[str],
                 clock: RealClock, seed: int = 0) -> None:
        self.flavour, self.choose, self.fault = flavour, choose, fault
        self._notify = notify
        self.chance = random.Random(f"{seed} {addresses[0]}")
        self.engine = Engine(clock)
        #: Whether no other process is reached.
        self.alone = isinstance(clock, VirtualClock)
        self._ports = 40_000
        self.acks = flavour == "ib" or choose.remote_error != "success"
        self.devices = [Device(self, name, address) for name, address in zip(names, addresses)]
        self.listeners: Dict[Tuple[str, int], Listener] = {}
        self.objects: Dict[int, Any] = {}
        self.numbers: Dict[int, int] = {}
        self._epoch = clock.now_us()
        self._next = 1 if choose.handles == "small" else 40_000_000 + self.chance.randrange(1000)
        self._va = 0x7f0000000000
        self._held: Optional[Deque[Tuple[str, Dict[str, Any]]]] = None
        self.forgets = False  # the next event, for a fault
        self._room = ROOM

    # Numbers

    def keep(self, thing: Any) -> int:
        """A number for an object; none is given twice."""
        found = self._next
        self._next += 1 if self.choose.handles == "small" else 1 + self.chance.randrange(5000)
        self.objects[found] = thing
        self.numbers[id(thing)] = found
        return found

    def drop(self, found: int) -> None:
        """This number means nothing any more."""
        thing = self.objects.pop(found)
        self.numbers.pop(id(thing), None)

    def number_of(self, thing: Any) -> Optional[int]:
        """The number of an object."""
        return self.numbers.get(id(thing)) if thing is not None else None

    def port(self) -> int:
        """A port that no listener has had."""
        self._ports += 1
        return self._ports

    # Time and events

    def now_us(self) -> int:
        """The agent's clock."""
        return self.engine.clock.now_us() - self._epoch

    def notify(self, method: str, params: Dict[str, Any]) -> None:
        """A notification."""
        self._notify(method, params)

    def tell(self, event: str, qp: Any = None, cq: Any = None, srq: Any = None) -> None:
        """An asynchronous event (8.3.3)."""
        if self.fault == "events-lost" or self.forgets:
            self.forgets = False
            return
        if event.startswith("QP_") and self.choose.peer_event == "both" and self.fault == "event-other-qp" and qp is not None:
            qp = next((other for other in qp.device.qps.values() if other is not qp), qp)
        params = {"event": event, "qp": self.number_of(qp), "cq": self.number_of(cq), "srq": self.number_of(srq), "rnic": None,
                  "port": None, "at_us": self.now_us()}
        if self.choose.events == "late":
            self.engine.after(30_000, self._event, params)
        else:
            self._event(params)

    def _event(self, params: Dict[str, Any]) -> None:
        params["at_us"] = self.now_us()
        if self._held is not None:
            self._held.append(("async", params))
        else:
            self._notify("async", params)

    def stray(self) -> None:
        """Events of a port, which say nothing of a QP."""
        if self.choose.stray_events == "yes":
            for event in ("GID_CHANGE", "PORT_ACTIVE", "CLIENT_REREGISTER"):
                self._event({"event": event, "qp": None, "cq": None, "srq": None, "rnic": None, "port": 1})

    def tell_srq(self, srq: Srq) -> None:
        """The limit event, late."""
        self.tell("SRQ_LIMIT_REACHED", srq=srq)

    def hold(self, held: bool) -> None:
        """Leave asynchronous events unread for a while."""
        if held:
            self._held = self._held if self._held is not None else deque()
        elif self._held is not None:
            events, self._held = self._held, None
            for method, params in events:
                self._notify(method, params)

    def cm(self, event: str, qp: Qp) -> None:
        """An event of a connection that stands."""
        if not qp.destroyed:
            self._notify("cm", {"event": event, "qp": self.number_of(qp), "status": 0, "at_us": self.now_us()})

    # Steps of a QP that connections know

    def closed(self, qp: Qp, us: int) -> None:
        """The LLP Close of a QP is done."""
        connections.closed(qp, us)

    def finish_close(self, qp: Qp) -> None:
        """The Send Queue of a QP that is to close is empty."""
        connections.finish_close(qp)

    # Memory

    def memory(self, length: int, fill: bytes, align: int, writable: bool) -> Optional[Memory]:
        """Pages of the consumer; None: there is no room."""
        if length > self._room:
            return None
        self._room -= length
        data = bytearray((fill * (length // len(fill) + 1))[:length])
        found = Memory(self._va + align, data, writable)
        self._va += (length + align + 4095) // 4096 * 4096 + 0x10000
        return found

    def end(self) -> None:
        """Let everything go."""
        for listener in list(self.listeners.values()):
            listener.close()
        for thing in list(self.objects.values()):
            if isinstance(thing, Qp):
                thing.destroyed = True
                if thing.conn:
                    thing.conn.send(("rst",) if self.flavour == "iwarp" else ("dreq",))
                    if isinstance(thing.conn.pipe, connections.SocketPipe):
                        thing.conn.pipe.shut()
        self.engine.selector.close()
