"""The DUT protocol without a wire (dut-protocol-calls.md) over the provider: numbers for handles, Descriptors from JSON."""

from __future__ import annotations

import functools
import itertools
import math
import struct
from dataclasses import dataclass, field
from types import GeneratorType
from typing import Any, Callable, Optional, TypeVar

from . import codes as c
from . import names
from .connecting import Address, Conn, Connecting
from .memory import PAGE, Block
from .objects import Attributes, Cq, ErrorReport, Nic, Ptag, Queue, Thing, Vi
from .phases import LACKING
from .threads import Steps, Thread, Threads
from .transfer import CONTROL, SEGMENT, Transfer
from .variants import Choices
from .world import World

Json = dict[str, Any]
T = TypeVar("T", bound=Thing)
OPS = {"send": 0, "recv": 0, "rdma-write": 1, "rdma-read": 2}
BLOCKING = {
    "VipConnectWait", "VipConnectAccept", "VipConnectRequest", "VipConnectPeerWait", "VipDisconnect", "VipSendWait", "VipRecvWait",
    "VipCQWait", "mem.poll",
}


NULLS = ("nic", "ptag", "vi", "conn")
NEEDED = {"VipCreateVi": ("ViAttribs",), "VipConnectWait": ("LocalAddr",), "VipCreateCQ": ("EntryCount",)}
"""Parameters that are looked for before the NIC is."""


@functools.lru_cache(64)
def _pattern(length: int, seed: int) -> bytes:
    """The bytes that follow from a seed (mem.pattern)."""
    return bytes((((i + seed) * 2654435761) & 0xFFFFFFFF) >> 24 for i in range(length))


class BadCall(Exception):
    """A protocol error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Refused(Exception):
    """The provider was given NULL or a stale handle."""


@dataclass
class Memory:
    """What ``mem`` is the number of."""

    va: int
    length: int
    block: Block
    nic: Optional[Nic] = None
    handle: int = 0


@dataclass
class Posted:
    """A Descriptor that was posted from here."""

    number: int
    segments: int
    back: bool = False
    slot: Optional[tuple[Any, int]] = None


@dataclass
class Pool:
    """The agent's own region for Descriptors of one tag."""

    handle: int
    next: int
    end: int
    free: dict[int, list[int]] = field(default_factory=dict)


class Agent:
    """One reset's worth of calls."""

    def __init__(self, choices: Choices, seed: int, threads: Threads, send: Callable[[str, Json], None]) -> None:
        self.choices, self.threads, self._send = choices, threads, send
        self.world = World(choices, seed, threads)
        self.transfer = Transfer(self.world)
        self.connecting = Connecting(self.world, self.transfer)
        self._things: dict[str, list[Any]] = {kind: [] for kind in ("nic", "ptag", "cq", "vi", "conn", "mem")}
        self._numbers: dict[Thing, int] = {}
        self._nulls: dict[str, Thing] = {}
        self._posted: dict[int, Posted] = {}
        self._pools: dict[tuple[Nic, Ptag], Pool] = {}
        self._descriptors, self._registrations = itertools.count(), itertools.count()
        self._asked: dict[int, Thread] = {}

    # ---- one call ----

    @classmethod
    def knows(cls, method: str) -> bool:
        """Whether there is such a call."""
        return hasattr(cls, cls._name(method))

    @staticmethod
    def _name(method: str) -> str:
        return "do_" + method.replace(".", "_")

    def thread(self, method: str, params: Json) -> Thread:
        """Who makes a call: the thread that it asks for, one of its own where it may block, or the one that reads the lines."""
        number = params.get("thread")
        if number is not None:
            return self._asked.setdefault(number, Thread(self.threads))
        return Thread(self.threads) if method in BLOCKING else self.threads.main

    def call(self, method: str, params: Json) -> Steps[Json]:
        """Make a call in this thread; BadCall is an error of the protocol."""
        thread, began = self.threads.current, self.threads.clock.now_us()
        thread.call = method
        try:
            if self.choices.calls_take_s and method.startswith("Vip"):
                yield self.threads.until(lambda: self.world.ended, self.choices.calls_take_s)
            result = yield from self._made(method, params)
        finally:
            thread.call = None
        if method.startswith("Vip"):
            now = self.threads.clock.now_us()
            result.update(thread=thread.number, us=now - began, at_us=now)
        return result

    def _made(self, method: str, params: Json) -> Steps[Json]:
        self._goes_on()
        try:
            for name in NEEDED.get(method, ()):
                params[name]
            if method == "VipRegisterMem" and params.get("of") is None:
                params["length"]
            result: Any = getattr(self, self._name(method))(params)
            if isinstance(result, GeneratorType):
                result = yield from result
        except Refused:
            result = {"return": c.PARAMETER}
        except KeyError as missing:
            raise BadCall(-32602, f"{missing} is missing") from None
        except (TypeError, ValueError, AttributeError, IndexError) as wrong:
            raise BadCall(-32602, f"a parameter is wrong: {wrong}") from None
        self._goes_on()
        made: Json = result
        return made

    def _goes_on(self) -> None:
        if self.world.ended:
            raise BadCall(-32001, "a reset ended the call")

    def _notify(self, method: str, params: Json) -> None:
        if not self.world.ended:
            thread = self.threads.current
            self._send(method, {**params, "at_us": self.threads.clock.now_us(), "thread": thread.number, "within": thread.call})

    # ---- numbers and parameters ----

    def _give(self, kind: str, thing: Thing) -> Json:
        number = self._numbers[thing] = len(self._things[kind])
        self._things[kind].append(thing)
        null = self.choices.null_handles and kind in NULLS and number == 0
        if null:
            self._nulls[kind] = thing
        looks = self.choices.handle_values
        live = sum(not getattr(other, "gone", False) for other in self._things[kind])
        value = 0x5600_0000_1000 + 0x40 * (live if looks == "reused" else number)
        return {kind: number, "value": f"{0 if null else 0xFFFFFFFF_FFFFFFFF - number if looks == 'high' else value:016x}"}

    def _told(self, thing: Thing) -> Optional[int]:
        """The number of a handle; None of that which is NULL."""
        return None if thing in self._nulls.values() else self._numbers.get(thing)

    def _at(self, kind: str, number: Any) -> Any:
        """What the number stands for; for null what has that handle, or None."""
        if number is None:
            return self._nulls.get(kind)
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(self._things[kind]):
            raise BadCall(-32602, f"{kind} {number} was never given")
        return self._things[kind][number]

    def _live(self, kind: str, params: Json) -> Any:
        thing = self._at(kind, params[kind])
        if thing is None or thing.gone:
            raise Refused
        return thing

    def _nic(self, params: Json) -> Nic:
        opened = self._things["nic"]
        nic = self._at("nic", params["nic"]) if "nic" in params else (opened[-1] if opened else None)
        if nic is None or nic.gone:
            raise Refused
        found: Nic = nic
        return found

    def _ptag(self, nic: Nic, params: Json, name: str) -> Optional[Ptag]:
        if self.choices.phase == "Early Adopter":
            return nic.untagged
        if name in params:
            tag: Optional[Ptag] = self._at("ptag", params[name])
            return tag
        return next((tag for tag in reversed(self._things["ptag"]) if tag.nic is nic), None)

    @staticmethod
    def _seconds(params: Json) -> Optional[float]:
        timeout = params.get("Timeout")
        if timeout is None:
            return None
        if isinstance(timeout, bool) or not isinstance(timeout, int) or timeout < 0:
            raise BadCall(-32602, "Timeout is no number of microseconds")
        return math.ceil(timeout / 1000) / 1000

    @staticmethod
    def _address(params: Json) -> Address:
        return Address(bytes.fromhex(params["host"]), bytes.fromhex(params["discriminator"]))

    def _attributes(self, nic: Nic, given: Json) -> Attributes:
        level = given.get("ReliabilityLevel", c.UD)
        if isinstance(level, str):
            level = c.LEVELS[level]
        size = given.get("MaxTransferSize", self.choices.transfer)
        return Attributes(level, size, given.get("QoS"), self._ptag(nic, given, "Ptag"),
                          given.get("EnableRdmaWrite", False), given.get("EnableRdmaRead", False))

    def _shown(self, attributes: Attributes, ptag: bool = True) -> Json:
        shown: Json = {
            "ReliabilityLevel": c.LEVEL_NAMES[attributes.level], "MaxTransferSize": attributes.size,
            "EnableRdmaWrite": attributes.write, "EnableRdmaRead": attributes.read,
        }
        if ptag and attributes.ptag is not None:
            shown["Ptag"] = self._told(attributes.ptag)
        elif not ptag and self.choices.remote_ptag != "none":
            shown["Ptag"] = None if self.choices.remote_ptag == "zero" else 0
        return shown

    # ---- NICs and tags ----

    def do_VipOpenNic(self, p: Json) -> Json:
        code, nic = self.world.open_nic(p.get("DeviceName", "VINIC"))
        return {"return": code} if nic is None else {"return": code, **self._give("nic", nic)}

    def do_VipCloseNic(self, p: Json) -> Json:
        self.connecting.close(self._nic(p))
        return {"return": c.OK}

    def do_VipQueryNic(self, p: Json) -> Json:
        nic = self._nic(p)
        own = {"Name": nic.device.ljust(63, "x") if self.choices.long_name else nic.device, "LocalNicAddress": nic.address.hex()}
        return {"return": c.OK, "NicAttribs": {**self.world.query_nic(), **own}}

    def do_VipErrorCallback(self, p: Json) -> Json:
        nic, context = self._nic(p), p.get("Context", 0)
        nic.handler = (lambda report: self._error(report, context)) if p.get("Handler", True) else None
        return {"return": c.OK}

    def _error(self, report: ErrorReport, context: int) -> None:
        vi = self._told(report.vi) if report.vi is not None else None
        pointer = None
        if report.descriptor is not None:
            posted = self._posted.get(report.descriptor)
            pointer = {"descriptor": posted.number if posted else None, "va": f"{report.descriptor:016x}"}
        self._notify("error", {
            "vi": vi, "code": report.code, "nic": self._told(report.nic), "cq": None, "DescriptorPtr": pointer,
            "OpCode": report.operation, "ResourceCode": report.resource, "Context": context,
        })

    def do_VipCreatePtag(self, p: Json) -> Json:
        code, ptag = self.world.create_ptag(self._nic(p))
        return {"return": code} if ptag is None else {"return": code, **self._give("ptag", ptag)}

    def do_VipDestroyPtag(self, p: Json) -> Json:
        nic = self._nic(p)
        return {"return": self.world.destroy_ptag(nic, self._ptag(nic, p, "ptag"))}

    # ---- memory ----

    def _rights(self, nic: Nic, p: Json) -> tuple[Optional[Ptag], bool, bool]:
        given = p.get("MemAttribs") or {"EnableRdmaWrite": p.get("rdma_write", False), "EnableRdmaRead": p.get("rdma_read", False),
                                        **({"Ptag": p["Ptag"]} if "Ptag" in p else {})}
        return self._ptag(nic, given, "Ptag"), given.get("EnableRdmaWrite", False), given.get("EnableRdmaRead", False)

    def do_VipRegisterMem(self, p: Json) -> Json:
        nic, of = self._nic(p), p.get("of")
        if of is not None:
            there = self._at("mem", of["mem"])
            memory = Memory(there.va + of.get("offset", 0), p.get("length", there.length), there.block)
        else:
            length: int = p["length"]
            block = self.world.space.allocate(p.get("align", 0) + length, p.get("pages", "read-write"))
            memory = Memory(block.base + p.get("align", 0), length, block)
            if p.get("fill"):
                pattern, start = bytes.fromhex(p["fill"]), memory.va - block.base
                block.data[start:start + length] = (pattern * (length // len(pattern) + 1))[:length]
        code, memory.handle = self.world.register(nic, memory.va, memory.length, *self._rights(nic, p))
        if code != c.OK:
            return {"return": code, "handle": memory.handle}
        memory.nic = nic
        self._things["mem"].append(memory)
        return {"return": code, "mem": len(self._things["mem"]) - 1, "va": f"{memory.va:016x}", "handle": memory.handle}

    def _region(self, p: Json) -> tuple[Nic, int, int]:
        memory = self._at("mem", p["mem"]) if "va" not in p or "handle" not in p or "mem" in p else None
        opened = self._things["nic"]
        nic = self._nic(p) if "nic" in p or memory is None or memory.nic is None else (memory.nic if opened else None)
        if nic is None or nic.gone:
            raise Refused
        va = int(p["va"], 16) if "va" in p else (memory.va if memory else 0)
        return nic, va, p["handle"] if "handle" in p else (memory.handle if memory else 0)

    def do_VipDeregisterMem(self, p: Json) -> Json:
        return {"return": self.world.deregister(*self._region(p))}

    def do_VipQueryMem(self, p: Json) -> Json:
        region = self.world.region(*self._region(p))
        if region is None:
            return {"return": c.PARAMETER}
        return {"return": c.OK, "MemAttribs": {"Ptag": self._told(region.ptag), "EnableRdmaWrite": region.write,
                                               "EnableRdmaRead": region.read}}

    def do_VipSetMemAttributes(self, p: Json) -> Json:
        region = self._region(p)
        return {"return": self.world.set_region(*region, *self._rights(region[0], {"MemAttribs": p["MemAttribs"]}))}

    def _range(self, p: Json, length: int) -> tuple[Memory, int]:
        memory = self._at("mem", p["mem"])
        start = memory.va + p.get("offset", 0) - memory.block.base
        if length < 0 or p.get("offset", 0) < 0 or p.get("offset", 0) + length > memory.length:
            raise BadCall(-32602, "the range is not in the memory")
        return memory, start

    def do_mem_read(self, p: Json) -> Json:
        if not 0 <= p["length"] <= 30000:
            raise BadCall(-32602, "length is 0 to 30000")
        memory, start = self._range(p, p["length"])
        return {"hex": memory.block.data[start:start + p["length"]].hex()}

    def do_mem_write(self, p: Json) -> Json:
        data = bytes.fromhex(p["hex"])
        if len(data) > 30000:
            raise BadCall(-32602, "hex has 30000 bytes at most")
        memory, start = self._range(p, len(data))
        memory.block.data[start:start + len(data)] = data
        return {}

    def do_mem_pattern(self, p: Json) -> Json:
        length, seed = p["length"], p["seed"]
        memory, start = self._range(p, length)
        pattern = _pattern(length, seed)
        if not p.get("check", False):
            memory.block.data[start:start + length] = pattern
            return {"wrong": 0, "first": None}
        there = memory.block.data[start:start + length]
        wrong = [i for i in range(length) if there[i] != pattern[i]] if there != pattern else []
        return {"wrong": len(wrong), "first": wrong[0] if wrong else None}

    def do_mem_poll(self, p: Json) -> Steps[Json]:
        places = [self._range(place, 4) for place in p["places"]]
        mask, value, seconds = p["mask"], p["value"], self._seconds(p)
        began, met, turns = self.threads.clock.now_us(), [], itertools.count()
        left = list(reversed(range(len(places))))

        def look() -> bool:
            turn = next(turns)
            for index in list(left):
                memory, start = places[index]
                if struct.unpack_from("<I", memory.block.data, start)[0] & mask == value:
                    left.remove(index)
                    met.append({"place": index, "round": turn, "us": self.threads.clock.now_us() - began})
            return not left
        yield from self.world.until(look, seconds)
        return {"met": met}

    # ---- VIs ----

    def do_VipCreateVi(self, p: Json) -> Json:
        nic = self._nic(p)
        queues: list[Optional[Cq]] = [self._at("cq", p.get(name)) for name in ("SendCQHandle", "RecvCQHandle")]
        code, vi = self.connecting.create_vi(nic, self._attributes(nic, p["ViAttribs"]), *queues)
        return {"return": code} if vi is None else {"return": code, **self._give("vi", vi)}

    def do_VipDestroyVi(self, p: Json) -> Json:
        return {"return": self.connecting.destroy_vi(self._live("vi", p))}

    def do_VipQueryVi(self, p: Json) -> Json:
        vi: Vi = self._live("vi", p)
        state = {"state": c.STATES[vi.state], "State": "VIP_STATE_" + vi.state}
        empty = [not queue.work or self.choices.empty_when_done and all(work.status for work in queue.work)
                 for queue in (vi.send, vi.receive)]
        return {"return": c.OK, **state, "ViAttribs": self._shown(vi.attributes),
                "ViSendQEmpty": empty[0], "ViRecvQEmpty": empty[1]}

    def do_VipSetViAttributes(self, p: Json) -> Json:
        given, vi = p["ViAttribs"], self._live("vi", p)
        return {"return": self.connecting.set_attributes(vi, self._attributes(vi.nic, given))}

    def do_VipConnectWait(self, p: Json) -> Steps[Json]:
        local, seconds = self._address(p["LocalAddr"]), self._seconds(p)
        code, conn = yield from self.connecting.wait(self._nic(p), local, seconds)
        if conn is None:
            return {"return": code, "guard": True}
        if len(conn.local.discriminator) > p.get("RemoteAddrLen", self.choices.discriminator):
            self.connecting.reject(conn)
            return {"return": c.PARAMETER, "guard": True}
        remote = {"host": conn.local.host.hex(), "discriminator": conn.local.discriminator.hex()}
        return {"return": code, **self._give("conn", conn), "RemoteAddr": remote, "guard": True,
                "RemoteViAttribs": self._shown(conn.attributes, ptag=False)}

    def do_VipConnectAccept(self, p: Json) -> Steps[Json]:
        conn, vi = self._at("conn", p["conn"]), self._at("vi", p["vi"])
        if conn is None or vi is None or vi.gone:
            return {"return": c.PARAMETER}
        if self.choices.accept_takes_s and vi.state == c.IDLE and not vi.held:
            vi.state, epoch = c.PENDING, vi.epoch
            yield self.threads.until(lambda: self.world.ended or vi.gone or vi.epoch != epoch, self.choices.accept_takes_s)
            if vi.gone or vi.epoch != epoch or vi.state != c.PENDING:
                return {"return": c.STATE}
            vi.state = c.IDLE
        code = self.connecting.accept(conn, vi)
        if self.choices.accept_returns_s and code == c.OK:
            yield self.threads.until(lambda: self.world.ended or vi.gone, self.choices.accept_returns_s)
        return {"return": code}

    def do_VipConnectReject(self, p: Json) -> Json:
        conn: Conn = self._live("conn", p)
        return {"return": self.connecting.reject(conn)}

    def _with_partner(self, vi: Vi, code: str) -> Json:
        if code != c.OK or vi.partner is None:
            return {"return": code}
        return {"return": code, "RemoteViAttribs": self._shown(vi.partner, ptag=False)}

    def do_VipConnectRequest(self, p: Json) -> Steps[Json]:
        local, remote, seconds = self._address(p["LocalAddr"]), self._address(p["RemoteAddr"]), self._seconds(p)
        vi: Vi = self._live("vi", p)
        return self._with_partner(vi, (yield from self.connecting.request(vi, local, remote, seconds)))

    def do_VipConnectPeerRequest(self, p: Json) -> Json:
        local, remote, seconds = self._address(p["LocalAddr"]), self._address(p["RemoteAddr"]), self._seconds(p)
        return {"return": self.connecting.peer_request(self._live("vi", p), local, remote, seconds)}

    def do_VipConnectPeerDone(self, p: Json) -> Json:
        vi: Vi = self._live("vi", p)
        return self._with_partner(vi, self.connecting.peer_done(vi))

    def do_VipConnectPeerWait(self, p: Json) -> Steps[Json]:
        vi: Vi = self._live("vi", p)
        return self._with_partner(vi, (yield from self.connecting.peer_wait(vi)))

    def do_VipDisconnect(self, p: Json) -> Steps[Json]:
        vi: Vi = self._live("vi", p)
        if self.choices.disconnect_takes_s:
            yield self.threads.until(lambda: self.world.ended or vi.gone, self.choices.disconnect_takes_s)
            if vi.gone:
                return {"return": c.PARAMETER}
        return {"return": self.connecting.disconnect(vi)}

    # ---- Completion Queues ----

    def do_VipCreateCQ(self, p: Json) -> Json:
        code, cq = self.connecting.create_cq(self._nic(p), p["EntryCount"])
        return {"return": code} if cq is None else {"return": code, **self._give("cq", cq)}

    def do_VipDestroyCQ(self, p: Json) -> Json:
        return {"return": self.connecting.destroy_cq(self._live("cq", p))}

    def do_VipResizeCQ(self, p: Json) -> Json:
        entries, most = p["EntryCount"], self.choices.entries
        cq: Cq = self._live("cq", p)
        code = c.OK if 0 < entries <= most else c.RESOURCE if entries else c.PARAMETER
        too_few = len(cq.entries) > entries and self.choices.cq_overrun != "none"
        if code == c.OK and (too_few or entries > cq.room and not self.choices.cq_grows):
            code = c.RESOURCE
        cq.room = entries if code == c.OK else cq.room
        while self.choices.shrinks_with_loss and len(cq.entries) > cq.room:
            cq.entries.pop()
        return {"return": code}

    def _entry(self, cq: Cq) -> Json:
        vi, receive = cq.entries.popleft()
        return {"return": c.OK, "vi": self._told(vi), "RecvQueue": receive}

    def do_VipCQDone(self, p: Json) -> Json:
        cq: Cq = self._live("cq", p)
        return self._entry(cq) if cq.entries else {"return": c.NOT_DONE}

    def do_VipCQWait(self, p: Json) -> Steps[Json]:
        seconds = self._seconds(p)
        cq: Cq = self._live("cq", p)
        yield from self.world.until(lambda: cq.gone or bool(cq.entries), seconds)
        if cq.gone:
            return {"return": c.PARAMETER}
        return self._entry(cq) if cq.entries else {"return": c.TIMEOUT}

    def do_VipCQNotify(self, p: Json) -> Json:
        cq: Cq = self._live("cq", p)
        if not p.get("Handler", True):
            return {"return": c.PARAMETER}
        handler, number = self._handler("VipCQNotify", p)
        cq.handlers.append(lambda vi, receive: handler({
            "nic": self._told(cq.nic), "vi": self._told(vi), "cq": self._numbers[cq], "RecvQueue": receive}))
        self.transfer.serve(cq)
        return {"return": c.OK, "registration": number}

    # ---- Notify ----

    def _handler(self, what: str, p: Json) -> tuple[Callable[[Json], Steps[None]], int]:
        number, count, then, context = next(self._registrations), itertools.count(1), p.get("then"), p.get("Context", 0)

        def handler(seen: Json) -> Steps[None]:
            params: Json = {"what": what, "Context": context, "registration": number, "count": next(count), **seen}
            if then is not None:
                try:
                    params["result"] = yield from self.call(then["method"], then["params"])
                except BadCall as bad:
                    params["error"] = {"code": bad.code, "message": str(bad)}
            self._notify("notify", params)
        return handler, number

    def _queue_notify(self, what: str, p: Json, receive: bool) -> Json:
        vi: Vi = self._live("vi", p)
        if not p.get("Handler", True):
            return {"return": c.PARAMETER}
        handler, number = self._handler(what, p)

        def called(va: Optional[int]) -> Steps[None]:
            seen = {"nic": self._told(vi.nic), "vi": self._told(vi), "cq": None, "DescriptorPtr": self._pointer(va)}
            return handler(seen)
        code = self.transfer.notify(vi, vi.receive if receive else vi.send, called)
        return {"return": code, "registration": number} if code == c.OK else {"return": code}

    def do_VipSendNotify(self, p: Json) -> Json:
        return self._queue_notify("VipSendNotify", p, False)

    def do_VipRecvNotify(self, p: Json) -> Json:
        return self._queue_notify("VipRecvNotify", p, True)

    # ---- Descriptors ----

    def _place(self, vi: Vi, size: int) -> tuple[int, int, Optional[tuple[Any, int]]]:
        """Address and handle of room in the agent's own region."""
        size = -(-size // 64) * 64
        assert vi.attributes.ptag is not None
        key = (vi.nic, vi.attributes.ptag)
        pool = self._pools.get(key)
        if pool is not None and pool.free.get(size):
            return pool.free[size].pop(), pool.handle, (pool, size)
        if pool is None or pool.next + size > pool.end:
            block = self.world.space.allocate(1 << 18)
            code, handle = self.world.register(vi.nic, block.base, 1 << 18, vi.attributes.ptag, False, False)
            if code != c.OK:
                raise BadCall(-32002, "no room for a Descriptor")
            pool = self._pools[key] = Pool(handle, block.base, block.base + (1 << 18))
        pool.next += size
        return pool.next - size, pool.handle, (pool, size)

    def _post(self, p: Json, receive: bool) -> Json:
        d, number = p["descriptor"], p["vi"]
        segments = [self._segment(segment) for segment in d["segments"]]
        control = OPS[d["op"]]
        remote, immediate = d.get("remote"), d.get("immediate")
        total = sum(segment[2] for segment in segments)
        control |= (c.CONTROL_IMMEDIATE if immediate is not None else 0) | (c.CONTROL_FENCE if d.get("fence") else 0)
        if remote is not None:
            segments.insert(0, (int(remote["va"], 16), remote["handle"], 0))
        vi: Vi = self._live("vi", {"vi": number})
        size = 32 + 16 * len(segments)
        slot = None
        if d.get("at") is not None:
            memory, _ = self._range(d["at"], size)
            va, handle = memory.va + d["at"].get("offset", 0), memory.handle
        else:
            va, handle, slot = self._place(vi, size)
        head = CONTROL.pack(
            int(d.get("Next", "0"), 16), d.get("NextHandle", 0), d.get("SegCount", len(segments)) & 0xFFFF,
            d.get("Control", control) & 0xFFFF, d.get("Reserved", 0), d.get("ImmediateData", immediate or 0),
            d.get("Length", total) & 0xFFFFFFFF, d.get("Status", 0))
        block = self.world.space.block(va, size)
        assert block is not None
        block.data[va - block.base:va - block.base + size] = head + b"".join(SEGMENT.pack(*segment) for segment in segments)
        return self._posting(vi, receive, va, handle, len(segments), slot)

    def _posting(self, vi: Vi, receive: bool, va: int, handle: int, segments: int, slot: Optional[tuple[Any, int]]) -> Json:
        number = next(self._descriptors)
        self._posted[va] = Posted(number, segments, slot=slot)
        return {"return": self.transfer.post(vi, receive, va, handle), "descriptor": number}

    def _segment(self, segment: Json) -> tuple[int, int, int]:
        if "mem" in segment:
            memory = self._at("mem", segment["mem"])
            va, handle = memory.va + segment.get("offset", 0), segment.get("handle", memory.handle)
        else:
            va, handle = int(segment["va"], 16), segment["handle"]
        return va, handle, segment["length"]

    def _raw(self, p: Json, receive: bool) -> Json:
        vi: Vi = self._live("vi", p)
        if p.get("mem") is not None:
            memory = self._at("mem", p["mem"])
            va, handle = memory.va + p.get("offset", 0), p.get("handle", memory.handle)
        else:
            va, handle = int(p["va"], 16), p["handle"]
        head = self.world.space.read(va, 32)
        segments = min(CONTROL.unpack(head)[2], 1024) if head else 0
        return self._posting(vi, receive, va, handle, segments, None)

    def do_VipPostSend(self, p: Json) -> Json:
        return self._post(p, False)

    def do_VipPostRecv(self, p: Json) -> Json:
        return self._post(p, True)

    def do_VipPostSendRaw(self, p: Json) -> Json:
        return self._raw(p, False)

    def do_VipPostRecvRaw(self, p: Json) -> Json:
        return self._raw(p, True)

    def _pointer(self, va: Optional[int]) -> Optional[Json]:
        if va is None:
            return None
        posted = self._posted.get(va)
        shown: Json = {"descriptor": posted.number if posted else None, "va": f"{va:016x}"}
        data = self.world.space.read(va, 32 + 16 * posted.segments if posted else 32)
        if data is None:
            return shown
        immediate, length, status = struct.unpack_from("<III", data, 20)
        shown.update(status=c.status_names(status), length=length, Status=status, hex=data.hex(),
                     immediate=immediate if status & c.IMMEDIATE else None, again=bool(posted and posted.back))
        if posted is not None:
            posted.back = True
            if posted.slot is not None:
                pool, size = posted.slot
                pool.free.setdefault(size, []).append(va)
                posted.slot = None
        return shown

    def _taken(self, code: str, va: Optional[int]) -> Json:
        return {"return": code, "DescriptorPtr": self._pointer(va)} if code in (c.OK, c.DESCRIPTOR) else {"return": code}

    def _queue(self, p: Json, receive: bool) -> tuple[Vi, Queue]:
        vi: Vi = self._live("vi", p)
        return vi, vi.receive if receive else vi.send

    def do_VipSendDone(self, p: Json) -> Json:
        return self._taken(*self.transfer.done(*self._queue(p, False)))

    def do_VipRecvDone(self, p: Json) -> Json:
        return self._taken(*self.transfer.done(*self._queue(p, True)))

    def do_VipSendWait(self, p: Json) -> Steps[Json]:
        seconds = self._seconds(p)
        return self._taken(*(yield from self.transfer.wait(*self._queue(p, False), seconds)))

    def do_VipRecvWait(self, p: Json) -> Steps[Json]:
        seconds = self._seconds(p)
        return self._taken(*(yield from self.transfer.wait(*self._queue(p, True), seconds)))

    # ---- names and the agent itself ----

    def do_VipNSInit(self, p: Json) -> Json:
        if self.choices.names_from_files and p.get("NSInitInfo") is None:
            return {"return": c.RESOURCE}
        return {"return": names.init(self._nic(p), p.get("NSInitInfo"))}

    def do_VipNSGetHostByName(self, p: Json) -> Json:
        nic = self._nic(p)
        room = None if self.choices.names_any_room else p.get("HostAddressLen", len(nic.address))
        code, address = names.by_name(nic, p["Name"], p.get("NameIndex", 0), room)
        shown = {"Address": {"host": address.hex(), "discriminator": ""}} if code == c.OK else {}
        return {"return": code, "guard": p.get("HostAddressLen", len(nic.address)) >= len(address), **shown}

    def do_VipNSGetHostByAddr(self, p: Json) -> Json:
        code, name, length = names.by_address(self._nic(p), bytes.fromhex(p["Address"]["host"]), p.get("NameLen", 256),
                                              0 if self.choices.short_name_len else 1, self.choices.last_name)
        shown = {"Name": name.upper() if self.choices.names_upper else name, "terminated": True} if code == c.OK else {}
        return {"return": code, "NameLen": length, "guard": True, **shown}

    def do_VipNSShutdown(self, p: Json) -> Json:
        return {"return": names.shutdown(self._nic(p))}

    def do_VipQuerySystemManagementInfo(self, p: Json) -> Json:
        code, number, found = names.discover(
            self._nic(p), p.get("InfoType", "VIP_SMI_AUTODISCOVERY"), p.get("NumberOfHops", 1),
            p.get("NumAdAddrs", 16), self.choices)
        shown = {"Addresses": [{"host": host.hex(), "discriminator": ""} for host in found]} if code == c.OK else {}
        return {"return": code, "NumAdAddrs": number, "guard": True, **shown}

    def do_inject(self, p: Json) -> Json:
        return {"done": True, "hits": self.transfer.wire.arm(self.transfer, p["fault"], p.get("from", 0))}

    def do_layout(self, p: Json) -> Json:
        """There is no header here: these are the sizes and numbers that one would have (G 4)."""
        members = {
            "VIP_CONTROL_SEGMENT." + name: place for name, place in (
                ("Next", [0, 8]), ("NextHandle", [8, 4]), ("SegCount", [12, 2]), ("Control", [14, 2]), ("Reserved", [16, 4]),
                ("ImmediateData", [20, 4]), ("Length", [24, 4]), ("Status", [28, 4]))
        }
        return {
            "sizes": c.SIZES, "members": members, "constants": c.CONSTANTS, "missing": sorted(LACKING[self.choices.phase]),
            "pagesize": PAGE, "processors": 1,
        }  # fmt: skip

    def do_agent_devices(self, p: Json) -> Json:
        return {"devices": ["VINIC", "VINIC1"]}

    def do_agent_state(self, p: Json) -> Json:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
        waiting = sum(not posted.back for posted in self._posted.values())
        return {"threads": 1, "memory": pages * 4096, "posted": waiting}
