"""Two nodes, their VIs and memory, and a connection between them: what nearly every case begins with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence

from fcvi.engine.calls_scenario import End
from fcvi.engine.upper_tester import METHOD_NOT_FOUND, Call

from .declare import CLAIMS, LEVELS, RD, UD
from .scenario import Calls

IDLE, PENDING = "VIP_STATE_IDLE", "VIP_STATE_CONNECT_PENDING"
CONNECTED, ERROR = "VIP_STATE_CONNECTED", "VIP_STATE_ERROR"
OK, BAD = "VIP_SUCCESS", "VIP_INVALID_PARAMETER"
NOT_DONE, DESC_ERROR, TIMEOUT = "VIP_NOT_DONE", "VIP_DESCRIPTOR_ERROR", "VIP_TIMEOUT"
RESOURCE, STATE = "VIP_ERROR_RESOURCE", "VIP_INVALID_STATE"
SIZE = 32768
_AT_ONCE = 30_000  # bytes that mem.read and mem.write take at most
_ASKED = 5  # times at most, where the wait has not begun
_NOBODY_WAITS = ("VIP_NO_MATCH", "VIP_REJECT", TIMEOUT)  # A24
FORMAT, PROTECTION, LENGTH = "FORMAT_ERROR", "PROTECTION_ERROR", "LENGTH_ERROR"
FLUSHED, RDMA_PROT, REMOTE_DESC = "DESC_FLUSHED_ERROR", "RDMA_PROT_ERROR", "REMOTE_DESC_ERROR"


#: Calls that take a NIC handle.
_OF_A_NIC = frozenset((
    "VipCloseNic", "VipQueryNic", "VipErrorCallback", "VipCreatePtag", "VipDestroyPtag", "VipCreateVi", "VipConnectWait",
    "VipRegisterMem", "VipDeregisterMem", "VipQueryMem", "VipSetMemAttributes", "VipCreateCQ", "VipNSInit",
    "VipNSGetHostByName", "VipNSGetHostByAddr", "VipNSShutdown", "VipQuerySystemManagementInfo",
))  # fmt: skip


def open_at(t: Calls, end: End) -> list[int]:
    """How many handles of an end's NIC were open behind each call that opened or closed one; it may be opened several times."""
    counts = [0]
    for call in t.made:
        if call.params.get("end", 0) == end.number and call.reply.done and call.reply.result.get("return") == OK:
            counts.append(counts[-1] + {"VipOpenNic": 1, "VipCloseNic": -1}.get(call.method, 0))
    return counts


class Node:
    """An open NIC with its attributes, and with a tag and an error handler where the library has such: the phase Early Adopter has
    neither, and takes NULL as the tag (G 2.2.1)."""

    def __init__(self, t: Calls, end: End, handler: bool = True) -> None:
        self.t, self.end = t, end
        before = open_at(t, end)
        opened = end.call("VipOpenNic")
        if opened.returned() == RESOURCE and before[-1] >= max(2, *before):
            t.lack("the provider has no room for another handle of a NIC")
        if opened.returned() != OK:
            t.fail("G3.1.1-01", "VipOpenNic of a device that is there", opened.returned(), OK)
        self.nic = opened.integer("nic")
        self.attribs: dict[str, Any] = self.query()
        self.host = str(self.attribs.get("LocalNicAddress", ""))
        self.missing = t.missing(end)
        made = self._where_there_is("VipCreatePtag")
        if made is not None and made.returned() != OK:
            t.fail("G3.4.1-01", "VipCreatePtag", made.returned(), OK)
        self.ptag: Optional[int] = None if made is None else made.integer("ptag")
        if self._refused is not None:
            self._demand_no_tags(self._refused)
        if handler:
            self._where_there_is("VipErrorCallback", Context=77)

    def _where_there_is(self, method: str, **params: Any) -> Optional[Call]:
        """A call on this NIC; None where the layout says that the library has none, or the agent refuses it as unknown."""
        if method in self.missing:
            return None
        with self.t.looking_at_errors():
            made = self.end.call(method, nic=self.nic, **params)
        if made.reply.error is None or made.reply.error[0] != METHOD_NOT_FOUND:
            made.returned()
            return made
        self.missing |= {method}
        self._refused = made if method == "VipCreatePtag" else None
        return None

    _refused: Optional[Call] = None

    def _demand_no_tags(self, refused: Call) -> None:
        """A library that takes NULL for a tag has none; of any other the agent alone lacks the call, which decides nothing."""
        made = self.call("VipCreateVi", ViAttribs={"ReliabilityLevel": best_level(self), "MaxTransferSize": 32768})
        if made.returned() != OK:
            refused.check()
        self.code("VipDestroyVi", vi=made.integer("vi"))

    def need(self, *calls: str) -> None:
        """End the case where the library has not all of these calls."""
        for call in calls:
            if call in self.missing:
                self.t.lack(f"the provider has no {call}")

    def same_nic(self, other: Node) -> bool:
        """Whether both ends are on one NIC. NICs of two agents may have the same name."""
        return self.end.device == other.end.device and self.host == other.host

    def query(self) -> dict[str, Any]:
        """NicAttribs."""
        asked = self.end.call("VipQueryNic", nic=self.nic)
        if asked.returned() != OK:
            self.t.fail("G3.7.1-01", "VipQueryNic of an open NIC", asked.returned(), OK)
        return asked.table("NicAttribs")

    def call(self, method: str, **params: Any) -> Call:
        """A call at this node, waited for. Unless the case says otherwise it is on this node's NIC and under its tag."""
        return self.end.call(method, **self._own(method, params))

    def _own(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method in _OF_A_NIC:
            params.setdefault("nic", self.nic)
        for name in ("ViAttribs", "MemAttribs"):
            if isinstance(params.get(name), dict):
                params[name] = {"Ptag": self.ptag, **params[name]}
        return params

    def start(self, method: str, **params: Any) -> Call:
        """A call at this node that may block."""
        return self.end.start(method, **self._own(method, params))

    def code(self, method: str, **params: Any) -> str:
        """What a call returned."""
        return self.call(method, **params).returned()

    def number(self, name: str) -> int:
        """An attribute of the NIC that is a number; 0 when there is none. A VIP_ULONG may be told as if it had a sign (A76)."""
        value = self.attribs.get(name)
        return value % (1 << 64) if isinstance(value, int) else 0

    def vi(self, level: str, *, send_cq: Optional[int] = None, recv_cq: Optional[int] = None, **attribs: Any) -> Vi:
        """A new VI. Raises Inconclusive when the provider has no room."""
        given = {"ReliabilityLevel": level, "MaxTransferSize": SIZE, **attribs}
        made = self.call("VipCreateVi", ViAttribs=given, SendCQHandle=send_cq, RecvCQHandle=recv_cq)
        code = made.returned()
        if code == RESOURCE:
            self.t.lack("the provider has no room for another VI")
        if code != OK:
            self.t.fail("G3.2.1-01", f"VipCreateVi with good attributes: {code}", code, OK)
        return Vi(self, made.integer("vi"), level, made.result().get("value"), send_cq, recv_cq)

    def ptag_new(self) -> int:
        """One more tag."""
        self.need("VipCreatePtag")
        made = self.call("VipCreatePtag")
        if made.returned() != OK:
            self.t.lack(f"there is no second protection tag: {made.returned()}")
        return made.integer("ptag")

    def mem(self, length: int, *, write: bool = True, read: Optional[bool] = None, ptag: Optional[int] = None,
            **params: Any) -> Mem:  # fmt: skip
        """A region of its own; RDMA Write is enabled, RDMA Read where the provider has it."""
        read = bool(self.attribs.get("RDMAReadSupport")) if read is None else read
        tag = self.ptag if ptag is None else ptag
        made = self.call("VipRegisterMem", length=length, fill=params.pop("fill", "00"),
                         MemAttribs={"Ptag": tag, "EnableRdmaWrite": write, "EnableRdmaRead": read}, **params)  # fmt: skip
        code = made.returned()
        if code == RESOURCE:
            self.t.lack("the provider has no room for another region")
        if code != OK:
            self.t.fail("G3.4.3-02", f"VipRegisterMem with good attributes: {code}", code, OK)
        return Mem(self, made.integer("mem"), int(made.text("va"), 16), made.integer("handle"), length)

    def cq(self, entries: int = 64) -> int:
        """A new Completion Queue. Raises Inconclusive when the provider has none."""
        self.need("VipCreateCQ")
        made = self.call("VipCreateCQ", EntryCount=entries)
        if made.returned() == RESOURCE:
            self.t.lack("the provider has no room for a Completion Queue")
        if made.returned() != OK:
            self.t.fail("G3.6.1-01", f"VipCreateCQ of {entries}", made.returned(), OK)
        return made.integer("cq")

    def address(self, discriminator: str = "") -> dict[str, str]:
        """The address of this node."""
        return {"host": self.host, "discriminator": discriminator or DISCRIMINATOR}


DISCRIMINATOR = b"the server's own".hex()
CLIENT = b"the client of it".hex()


@dataclass
class Mem:
    """A registered region."""

    node: Node
    mem: int
    va: int
    handle: int
    length: int

    def part(self, offset: int = 0, length: Optional[int] = None, **other: Any) -> dict[str, Any]:
        """A data segment."""
        return {"mem": self.mem, "offset": offset, "length": self.length - offset if length is None else length, **other}

    def remote(self, offset: int = 0, **other: Any) -> dict[str, Any]:
        """The remote end of an RDMA operation."""
        return {"va": f"{self.va + offset & 0xFFFFFFFFFFFFFFFF:016x}", "handle": self.handle, **other}

    def fill(self, seed: int, offset: int = 0, length: Optional[int] = None) -> None:
        """Bytes that follow from the seed."""
        size = self.length - offset if length is None else length
        self.node.call("mem.pattern", mem=self.mem, offset=offset, length=size, seed=seed)

    def wrong(self, seed: int, offset: int = 0, length: Optional[int] = None) -> int:
        """How many bytes are not those of the seed."""
        size = self.length - offset if length is None else length
        if size == 0:
            return 0
        return self.node.call("mem.pattern", mem=self.mem, offset=offset, length=size, seed=seed, check=True).integer("wrong")

    def wrong_around(self, seed: int, offset: int, length: int) -> int:
        """The same, but for a part that the provider may write: the buffer of a receive (G 5.5)."""
        end = offset + length
        return self.wrong(seed, 0, offset) + self.wrong(seed + end, end)

    def read(self, offset: int = 0, length: Optional[int] = None) -> bytes:
        """The bytes as they are."""
        end = self.length if length is None else offset + length
        parts = ((at, min(_AT_ONCE, end - at)) for at in range(offset, end, _AT_ONCE))
        return b"".join(
            bytes.fromhex(self.node.call("mem.read", mem=self.mem, offset=at, length=size).text("hex")) for at, size in parts
        )

    def write(self, data: bytes, offset: int = 0) -> None:
        """Put bytes there."""
        for at in range(0, len(data), _AT_ONCE):
            self.node.call("mem.write", mem=self.mem, offset=offset + at, hex=data[at : at + _AT_ONCE].hex())


@dataclass
class Got:
    """What Done or Wait gave."""

    code: str
    ptr: Optional[dict[str, Any]]

    @property
    def status(self) -> set[str]:
        """The error bits that are set, without their prefix; and IMMEDIATE, DONE."""
        return {str(s)[len("VIP_STATUS_") :] for s in (self.ptr or {}).get("status", [])}

    @property
    def errors(self) -> set[str]:
        """The error bits that are set."""
        return {s for s in self.status if s.endswith("_ERROR")}

    @property
    def good(self) -> bool:
        """Done without error."""
        return self.ptr is not None and "DONE" in self.status and not self.errors

    @property
    def descriptor(self) -> Optional[int]:
        """The number that the post gave."""
        return (self.ptr or {}).get("descriptor")

    @property
    def length(self) -> int:
        """The Length field."""
        return int((self.ptr or {}).get("length", -1))

    @property
    def immediate(self) -> Optional[int]:
        """The ImmediateData field where bit 19 is set."""
        return (self.ptr or {}).get("immediate")

    def __str__(self) -> str:
        return f"{self.code} {sorted(self.status)} length {self.length}" if self.ptr else f"{self.code} with no Descriptor"


@dataclass
class Vi:
    """A VI."""

    node: Node
    vi: int
    level: str
    value: Optional[str] = None
    send_cq: Optional[int] = None
    recv_cq: Optional[int] = None
    posted: dict[str, list[int]] = field(default_factory=lambda: {"Send": [], "Recv": []})

    @property
    def t(self) -> Calls:
        """The scenario."""
        return self.node.t

    def code(self, method: str, **params: Any) -> str:
        """What a call on this VI returned."""
        return self.node.code(method, vi=self.vi, **params)

    def query(self) -> dict[str, Any]:
        """The result of VipQueryVi."""
        asked = self.node.call("VipQueryVi", vi=self.vi)
        if asked.returned() != OK:
            self.t.fail("G3.7.3-01", "VipQueryVi of a VI that is there", asked.returned(), OK)
        return asked.result()

    def state(self) -> str:
        """The State member of VipQueryVi."""
        return str(self.query().get("State"))

    def becomes(self, states: str | Sequence[str], within_us: Optional[int] = None) -> bool:
        """Wait until VipQueryVi tells one of the states."""
        wanted = [states] if isinstance(states, str) else list(states)
        return self.t.until(lambda: self.state() in wanted, self.t.settle_us if within_us is None else within_us)

    def post(self, queue: str, op: str, segments: Sequence[Mapping[str, Any]] = (), **other: Any) -> int:
        """Post, and give the number of the Descriptor. Raises Inconclusive when the queue is as full as it may be."""
        most = self.node.number("MaxDescriptorsPerQueue")
        if 0 < most <= len(self.posted[queue]) and self._outstanding(queue) >= most:
            self.t.lack(f"the case needs more than {most} Descriptors in a queue (MaxDescriptorsPerQueue)")
        descriptor = {"op": op, "segments": list(segments), **other}
        done = self.node.call(f"VipPost{queue}", vi=self.vi, descriptor=descriptor)
        code = done.returned()
        if code != OK:
            self.t.fail(f"G3.5.{1 if queue == 'Send' else 4}-02", f"VipPost{queue} of a good Descriptor: {code}", code, OK)
        number = done.integer("descriptor")
        self.posted[queue].append(number)
        return number

    def _outstanding(self, queue: str) -> int:
        """How many Descriptors of the queue have not come back."""
        came = {found.get("descriptor") for kind, _, _, found in self.t.descriptors() if kind == queue.lower()}
        return len(set(self.posted[queue]) - came)

    def send(self, *segments: Mapping[str, Any], **other: Any) -> int:
        """Post a Send."""
        return self.post("Send", "send", segments, **other)

    def recv(self, *segments: Mapping[str, Any], **other: Any) -> int:
        """Post a receive."""
        return self.post("Recv", "recv", segments, **other)

    def rdma(self, op: str, remote: Mapping[str, Any], *segments: Mapping[str, Any], **other: Any) -> int:
        """Post an RDMA Write or Read."""
        return self.post("Send", f"rdma-{op}", segments, remote=dict(remote), **other)

    def done(self, queue: str) -> Got:
        """VipSendDone or VipRecvDone, once."""
        result = self.node.call(f"Vip{queue}Done", vi=self.vi)
        ptr = result.result().get("DescriptorPtr")
        return Got(result.returned(), ptr if isinstance(ptr, dict) else None)

    def wait(self, queue: str, us: Optional[int]) -> Got:
        """VipSendWait or VipRecvWait. One that sleeps on behind its time is a breach."""
        row = "G3.5.3-02" if queue == "Send" else "G3.5.6-01"
        result = self.node.start(f"Vip{queue}Wait", vi=self.vi, Timeout=us)
        limit = self.t.async_us if us is None else us + self.t.late_us + self.t.settle_us
        self.t.demand(self.t.until(lambda: result.done, limit), row, f"Vip{queue}Wait with a Timeout of {us} us does not return",
                      "still blocked", "returns")  # fmt: skip
        ptr = result.result().get("DescriptorPtr")
        return Got(result.returned(), ptr if isinstance(ptr, dict) else None)

    def reap(self, queue: str, within_us: Optional[int] = None) -> Got:
        """Call Done until it is not VIP_NOT_DONE; the last answer when the time is up."""
        got = [self.done(queue)]

        def there() -> bool:
            if got[-1].code == NOT_DONE:
                got.append(self.done(queue))
            return got[-1].code != NOT_DONE

        limit = self.t.settle_us if within_us is None else within_us
        end, pause = self.t.now_us + limit, 2000
        while not there() and self.t.now_us < end:
            self.t.wait(pause)
            pause = min(2 * pause, 20_000)
        return got[-1]

    def good(self, queue: str, row: str, what: str, within_us: Optional[int] = None) -> Got:
        """Take the next completion, which has to be good."""
        got = self.reap(queue, within_us)
        self.t.demand(got.good, row, what, got, "a Descriptor without error")
        return got

    def disconnect(self) -> str:
        """VipDisconnect."""
        return self.code("VipDisconnect")

    def clean(self) -> None:
        """Disconnect and take everything off both queues."""
        self.disconnect()
        for queue in ("Send", "Recv"):
            for _ in range(2000):
                if self.done(queue).ptr is None:
                    break

    def destroy(self) -> str:
        """VipDestroyVi."""
        return self.code("VipDestroyVi")


@dataclass
class Pair:
    """Two VIs that are connected, each with a source and a sink."""

    a: Vi
    b: Vi
    src: Mem  # at a
    dst: Mem  # at b
    back: Mem  # at a

    @property
    def level(self) -> str:
        """Of both."""
        return self.a.level


def nodes(t: Calls, handler: bool = True) -> tuple[Node, Node]:
    """Both ends opened."""
    t.a, t.b = Node(t, t.ends[0], handler), Node(t, t.ends[1], handler)
    return t.a, t.b


def best_level(node: Node, reliable: bool = False) -> str:
    """RD where the provider has it, else the first level that it has; with reliable only RD and RR count."""
    has = node.attribs.get("ReliabilityLevelSupport") or []
    for level in (RD, *LEVELS[2:], *(() if reliable else (UD,))):
        if level in has:
            return level
    node.t.lack("the provider has no such reliability level")


def need_level(node: Node, level: str) -> str:
    """The level, if the provider says that it has it."""
    if level not in (node.attribs.get("ReliabilityLevelSupport") or []):
        node.t.lack(f"the provider has no {CLAIMS[level].replace('_', ' ')}")
    return level


def need_read(node: Node, level: str) -> None:
    """RDMA Read at this level."""
    if level not in (node.attribs.get("RDMAReadSupport") or []):
        node.t.lack("the provider has no RDMA Read at this level")


def connect(a: Vi, b: Vi, discriminator: str = "", timeout_us: int = 5_000_000) -> None:
    """a is the client of b. What goes wrong fails the row that asks for a connection."""
    t = a.t
    asking, conn = request(a, b.node, discriminator, timeout_us)
    code = b.node.code("VipConnectAccept", conn=conn, vi=b.vi)
    t.demand(code == OK, "S5.2-01", f"VipConnectAccept of a VI that fits: {code}", code, OK)
    t.demand(t.until(lambda: asking.done, t.settle_us + timeout_us), "S5.2-01",
             "VipConnectRequest does not return though it was accepted", "still blocked", OK)  # fmt: skip
    t.demand(asking.returned() == OK, "S5.2-01", f"VipConnectRequest that was accepted: {asking.returned()}", asking.returned(), OK)
    for vi in (a, b):
        t.require(vi.becomes(CONNECTED), "S5.2-01", "the state of a VI that was connected", vi.state(), CONNECTED)


def ask_waiting(
    a: Vi, there: dict[str, str], waiting: Call, timeout_us: Optional[int], local: Optional[dict[str, str]] = None
) -> Call:
    """A request of a's on whose server a VipConnectWait was started: the call, still blocked where the wait took it.

    The thread that waits may come later than the one that asks, on a busy host much later: VIP_NO_MATCH is right then, and a asks
    again.
    """
    t = a.t
    for _ in range(_ASKED):
        t.wait(3000)
        asking = a.node.start("VipConnectRequest", vi=a.vi, LocalAddr=local or a.node.address(CLIENT), RemoteAddr=there,
                              Timeout=timeout_us)  # fmt: skip
        limit = 2 * t.settle_us if timeout_us is None else timeout_us + t.late_us
        t.until(lambda: waiting.done or asking.done, limit)  # noqa: B023
        if waiting.done or not asking.done or asking.returned() not in _NOBODY_WAITS:
            break
        t.wait(50_000)
    return asking


def request(a: Vi, server: Node, discriminator: str = "", timeout_us: int = 5_000_000) -> tuple[Call, int]:
    """A request of a's that the server's VipConnectWait has taken: the call, still blocked, and the ConnHandle."""
    t = a.t
    there = server.address(discriminator)
    waiting = server.start("VipConnectWait", LocalAddr=there, Timeout=timeout_us)
    asking = ask_waiting(a, there, waiting, timeout_us)
    t.until(lambda: waiting.done, t.settle_us)
    if not waiting.done or waiting.returned() != OK:
        seen = waiting.returned() if waiting.done else "still blocked"
        t.fail("G3.3-07", "VipConnectWait on the discriminator that a client asks for", seen, OK)
    return asking, waiting.integer("conn")


def pair(t: Calls, level: str = "", *, ends: Optional[tuple[Node, Node]] = None, size: int = SIZE, cq: bool = False,
         **attribs: Any) -> Pair:  # fmt: skip
    """Two connected VIs with RDMA enabled where there is any, and memory at both ends."""
    one, other = ends or nodes(t)
    level = level or best_level(one)
    need_level(one, level)
    need_level(other, level)
    read = level in (one.attribs.get("RDMAReadSupport") or [])
    given = {"EnableRdmaWrite": True, "EnableRdmaRead": read, "MaxTransferSize": size, **attribs}
    made = [node.vi(level, send_cq=node.cq() if cq else None, **given) for node in (one, other)]
    p = Pair(made[0], made[1], one.mem(size), other.mem(size), one.mem(size))
    connect(p.a, p.b)
    return p


def transfer(p: Pair, length: int = 100, seed: int = 1, *, row: str = "S5.3-02", back: bool = False,
             within_us: Optional[int] = None) -> None:  # fmt: skip
    """One Send, taken and compared. On UD it is tried three times (A105)."""
    a, b = (p.b, p.a) if back else (p.a, p.b)
    src, dst = (p.dst, p.back) if back else (p.src, p.dst)
    t = a.t
    number = b.recv(dst.part(0, length))
    for tried in range(3 if p.level == UD else 1):
        src.fill(seed, 0, length)
        sent = a.send(src.part(0, length))
        got = a.reap("Send", within_us)
        if not t.require(got.good and got.descriptor == sent, row, "a good Send", got, "success"):
            return
        src.fill(seed + 1, 0, length)  # it is the consumer's again (S 6.1)
        got = b.reap("Recv", within_us if within_us is not None or p.level != UD else t.settle_us // 2)
        if got.code != NOT_DONE:
            break
    if p.level == UD and got.code == NOT_DONE:
        t.lack("three messages were lost, which is right at this level (A105)")
    t.require(FLUSHED not in got.errors, "G5.2-29", "the receive of a good Send", got, "not flushed")
    t.require(got.good and got.descriptor == number and got.length == length, row, "the receive of a good Send", got,
              f"success, Length {length}")  # fmt: skip
    wrong = dst.wrong(seed, 0, length)
    t.require(wrong == 0, row, "bytes that are not those sent", wrong, 0)


def alive(t: Calls, p: Optional[Pair] = None) -> None:
    """The positive control: a message goes through, on a pair of its own unless one is given."""
    before = len(t.findings)
    p = p or pair(t)
    transfer(p, 200, 91)
    transfer(p, 300, 92, back=True)
    if len(t.findings) == before:
        t.control("a Send each way arrived")
    elif not t.controls:
        t.control("the control itself broke a rule")


def null(node: Node, rows: str, kind: str, method: str, **params: Any) -> None:
    """NULL as handle is a bad parameter, where no handle of this kind is NULL (A71)."""
    if node.t.number_of(kind, None) is not None:
        return
    code = node.code(method, **{**params, kind: None})
    for row in rows.split():
        node.t.codes(row, f"{method} with NULL", code, BAD)


def stale(t: Calls, row: str, what: str, code: str) -> None:
    """A handle that is gone is refused; with which code is open (A51)."""
    if code not in (OK, BAD):
        t.report(row, f"{what} with a handle that is gone", code, BAD, erratum="A51")
        return
    t.require(code == BAD, row, f"{what} with a handle that is gone", code, BAD)


def pending(t: Calls, node: Node, level: str, **attribs: Any) -> tuple[Vi, Call, Any]:
    """A VI of node's in Pending Connect: its blocked request, and the ConnHandle at the other end with the node there."""
    other = next(n for n in (t.a, t.b) if n is not node)
    vi = node.vi(level, **attribs)
    asking, conn = request(vi, other, timeout_us=8_000_000)
    return vi, asking, conn


def in_error(p: Pair) -> bool:
    """The first VI comes to Error by the other end's VipDisconnect and a transfer. Says whether it is."""
    p.b.disconnect()
    for _ in range(20):
        if p.a.becomes(ERROR, 100_000):
            return True
        if p.a.state() != CONNECTED:
            break
        p.a.send(p.src.part(0, 8))
    return p.a.state() == ERROR
