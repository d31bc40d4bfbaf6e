"""Two devices, their QPs, CQs and memory, and a connection between them: what nearly every case begins with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence

from fcvi.engine.attachment import DutError
from fcvi.engine.upper_tester import Call

from .account import MOST, Wc, Wr, parse_wc
from .scenario import OBJECTS, End, Told, Verbs
from .sets import FLUSHED, QP_EVENTS, SUCCESS

OK, REFUSED = "success", "immediate-error"
LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, MW_BIND = "LOCAL_WRITE", "REMOTE_WRITE", "REMOTE_READ", "MW_BIND"
ALL = (LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ)
_ENOMEM = 12
_GUARD = 64
_FEW_CQS = 16  # of a device: below that each QP has one for both of its queues
_PART = 1 << 20  # of a pattern: a longer one takes an agent longer than an answer may
_WRAP = (1 << 64) - 1
_UNANSWERED = (None, "UNREACHABLE")  # what an attempt comes to whose messages are lost


def hex64(number: int) -> str:
    """A number of 64 bits as the DUT protocol has it; it wraps."""
    return f"{number & _WRAP:016x}"


def returned(call: Call) -> bool:
    """Whether a call was a success. Raises DutError for an answer that is neither."""
    code = call.returned()
    if code not in (OK, REFUSED):
        raise DutError(f"{call.method}: return is {code[:40]!r}, neither {OK!r} nor {REFUSED!r}")
    return code == OK


def said(call: Call) -> str:
    """What a call returned, in words."""
    return OK if returned(call) else f"errno {call.result().get('errno')}"


class Node:
    """An open device with a PD of its own and what it says of itself."""

    def __init__(self, t: Verbs, end: End) -> None:
        self.t, self.end = t, end
        opened = end.call("verbs.OpenRnic", device=end.device)
        t.demand(returned(opened), "5.1.2-01", "opening a device that is listed", said(opened), OK)
        self.rnic = opened.integer("rnic")
        asked = end.call("verbs.QueryRnic", rnic=self.rnic)
        t.demand(returned(asked), "5.1.3-01", "the query of a device that was just opened", said(asked), OK)
        self.attributes, self.port = asked.table("attributes"), asked.result().get("port") or {}
        self.vectors = asked.result().get("vectors")
        self.pd = self.pd_new()
        self._listener: Optional[tuple[int, int]] = None
        self._last_of_few: Optional[Cq] = None  # of CQs, of which the device has few

    # ---- calls ----

    def call(self, method: str, **params: Any) -> Call:
        """A call at this end, waited for."""
        return self.end.call(f"verbs.{method}", **params)

    def start(self, method: str, **params: Any) -> Call:
        """A call at this end that may wait."""
        return self.end.start(f"verbs.{method}", **params)

    def ok(self, method: str, **params: Any) -> bool:
        """Whether a call was a success."""
        return returned(self.call(method, **params))

    def attr(self, name: str) -> int:
        """A number of the device's attributes; 0 when there is none."""
        value = self.attributes.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    def no_room(self, call: Call) -> bool:
        """Whether a refusal is want of room: ENOMEM, or any number when there are as many as the device can have (5.1.3, B36)."""
        if call.result().get("errno") == _ENOMEM:
            return True
        return call.method in OBJECTS and 0 < self.attr(OBJECTS[call.method][1]) <= self.t.standing(call.method)

    def good(self, call: Call, row: str, what: str) -> Call:
        """A call that has to be a success; want of room lets the case end inconclusive (VERBS-5.1.3-03, 7.3-02)."""
        if not returned(call) and self.no_room(call):
            self.t.lack(f"the provider has no room: {what}")
        self.t.demand(returned(call), row, what, said(call), OK)
        return call

    # ---- objects ----

    def pd_new(self) -> int:
        """One more PD."""
        return self.good(self.call("AllocatePd", rnic=self.rnic), "9.2.2.1-01", "a PD").integer("pd")

    def handler(self) -> int:
        """A completion channel."""
        made = self.call("SetCompletionEventHandler", rnic=self.rnic)
        return self.good(made, "9.4.1-01", "a completion channel").integer("handler")

    def cq(self, entries: int = 256, handler: Optional[int] = None) -> Cq:
        """A CQ; it is larger than what a case lets complete (B22)."""
        entries = min(entries, self.attr("max_cqe") or entries)
        made = self.good(self.call("CreateCq", rnic=self.rnic, entries=entries, handler=handler), "5.3.1-03", f"a CQ of {entries}")
        return Cq(self, made.integer("cq"), made.integer("entries"), handler)

    def _one_of_few(self) -> Cq:
        """A CQ, or where there is no room for one more that of the QP before."""
        last, full = self._last_of_few, self.t.standing("verbs.CreateCq") >= self.attr("max_cq")
        if last is None or last.gone or not full:
            self._last_of_few = last = self.cq()
        return last

    def mem(self, length: int, *, access: Sequence[str] = ALL, pd: Optional[int] = None, fill: int = 0x5A, align: int = 0,
            row: str = "7.4-01") -> Mem:  # fmt: skip
        """A region with guards before and behind it, all of one byte; its rights are ALL unless the case says otherwise."""
        mem = self.raw(length + 2 * _GUARD, fill, align)
        return self.register(mem, _GUARD, length, access=access, pd=pd, fill=fill, row=row)

    def raw(self, length: int, fill: int = 0x5A, align: int = 0, pages: str = "read-write") -> int:
        """Memory that is not registered."""
        made = self.end.call("mem.new", length=length, fill=f"{fill:02x}", align=align, pages=pages)
        return made.integer("mem")

    def register(self, mem: int, offset: int, length: int, *, access: Sequence[str] = ALL, pd: Optional[int] = None,
                 fill: int = 0x5A, row: str = "7.4-01") -> Mem:  # fmt: skip
        """A region of a part of some memory. A device may tell how long a region can be (9.2.1.2)."""
        most = self.attr("max_mr_size")
        if 0 < most < length:
            self.t.lack(f"the case needs a region of {length} bytes, and max_mr_size is {most}")
        made = self.good(self.register_call(mem, offset, length, access=access, pd=pd), row,
                         f"a region of {length} bytes with {'+'.join(access) or 'no rights'}")  # fmt: skip
        return Mem(self, mem, offset, length, made.integer("mr"), made.integer("lkey"), made.integer("rkey"),
                   int(made.text("va"), 16), fill)  # fmt: skip

    def register_call(self, mem: int, offset: int, length: int, *, access: Sequence[str] = ALL, pd: Optional[int] = None,
                      **other: Any) -> Call:  # fmt: skip
        """The bare call."""
        pd = self.pd if pd is None else pd
        return self.call("RegisterMr", pd=pd, mem=mem, offset=offset, length=length, access=list(access), **other)

    def room(self, size: int) -> int:
        """So many WRs, or as many as the device says that a queue of it holds (5.1.3)."""
        return min(size, self.attr("max_qp_wr") or size)

    def qp_call(self, *, pd: Optional[int] = None, send_cq: Cq, recv_cq: Cq, **params: Any) -> Call:
        """The bare call of Create QP."""
        given = {"sq_size": 16, "rq_size": 16, "sq_sges": 1, "rq_sges": 1, **params}
        return self.call("CreateQp", pd=self.pd if pd is None else pd, send_cq=send_cq.cq, recv_cq=recv_cq.cq, **given)

    def qp(self, *, pd: Optional[int] = None, cq: Optional[Cq] = None, send_cq: Optional[Cq] = None, recv_cq: Optional[Cq] = None,
           srq: Optional[Srq] = None, signal_all: bool = False, row: str = "9.2.5.1-01", **params: Any) -> Qp:  # fmt: skip
        """A QP, by default of 16 WRs with one SGE in each queue. It has two CQs, but for those that are given; one where the
        device has few.
        """
        for limit, of in (("max_qp_wr", "size"), ("max_sge", "sges")):
            asked = max(params.get(f"{queue}_{of}", 1) for queue in ("sq", *([] if srq else ["rq"])))
            if self.attr(limit) < asked and limit in self.attributes:
                self.t.lack(f"the case needs a QP with {asked}, and {limit} is {self.attr(limit)}")
        if cq is None and 0 < self.attr("max_cq") < _FEW_CQS:
            cq = send_cq or recv_cq or self._one_of_few()
        send_cq, recv_cq = send_cq or cq or self.cq(), recv_cq or cq or self.cq()
        made = self.good(
            self.qp_call(pd=pd, send_cq=send_cq, recv_cq=recv_cq, srq=srq.srq if srq else None, signal_all=signal_all, **params),
            row, "a QP with legal attributes",
        )  # fmt: skip
        return Qp(self, made.integer("qp"), made.integer("qp_num"), made.table("cap"), send_cq, recv_cq, srq, signal_all,
                  self.pd if pd is None else pd)  # fmt: skip

    def srq(self, size: int = 16, *, pd: Optional[int] = None, sges: int = 1) -> Srq:
        """A shared receive queue."""
        if 0 < self.attr("max_srq_wr") < size:
            self.t.lack(f"the case needs an SRQ of {size}, and max_srq_wr is {self.attr('max_srq_wr')}")
        made = self.good(self.call("CreateSrq", pd=self.pd if pd is None else pd, size=size, sges=sges), "9.2.4.1-01", "an SRQ")
        return Srq(self, made.integer("srq"), made.integer("size"), made.integer("sges"))

    # ---- connections ----

    def listener(self) -> tuple[int, int]:
        """A listener of this end, and its port."""
        if self._listener is None:
            made = self.call("Listen", rnic=self.rnic)
            if not returned(made):
                self.t.lack(f"nobody can listen on the device's address: {said(made)}")
            self._listener = made.integer("listener"), made.integer("port")
        return self._listener

    def close(self) -> Call:
        """Close the device."""
        return self.call("CloseRnic", rnic=self.rnic)


@dataclass(eq=False)
class Cq:
    """A Completion Queue."""

    node: Node
    cq: int
    entries: int
    handler: Optional[int] = None
    gone: bool = False

    def __post_init__(self) -> None:
        self.node.t.account.cqs.append(self)

    def poll(self, most: int = MOST, within_us: int = 0) -> list[Wc]:
        """Poll once, or until so many have come or the time is up. Each WC goes to the account."""
        t = self.node.t
        call = self.node.start("PollCq", cq=self.cq, max=min(most, MOST), **({"Timeout": within_us} if within_us else {}))
        t.finished(call, t.patience_us + within_us)
        if not returned(call):
            t.fail("9.3.2.1-06", "polling a CQ", said(call), "0 or entries")
        found = call.result().get("wcs")
        if not isinstance(found, list):
            raise DutError("the result of verbs.PollCq has no list \"wcs\"")
        wcs = [parse_wc(raw) for raw in found]
        for wc in wcs:
            t.account.take(self, wc)
        return wcs

    def empty(self) -> list[Wc]:
        """Take everything that is there."""
        found: list[Wc] = []
        while more := self.poll():
            found += more
        return found

    def silent(self, row: str, what: str, within_us: Optional[int] = None) -> bool:
        """Nothing comes for a while."""
        t = self.node.t
        got = self.poll(1, t.quiet_us if within_us is None else within_us)
        return t.require(not got, row, what, ", ".join(map(str, got)), "nothing")

    def arm(self, solicited: bool = False) -> Call:
        """Request Completion Notification."""
        return self.node.call("RequestNotification", cq=self.cq, solicited=solicited)

    def destroy(self) -> Call:
        """Destroy CQ."""
        call = self.node.call("DestroyCq", cq=self.cq)
        self.gone = returned(call)
        return call


def event_of(node: Node, handler: int, within_us: int) -> Optional[int]:
    """The next event of a channel, and its CQ. None when there is none in time."""
    call = node.start("GetEvent", handler=handler, Timeout=within_us)
    node.t.finished(call, node.t.patience_us + within_us)
    if not returned(call):
        return None
    found = call.result().get("cq")
    return found if isinstance(found, int) else None


@dataclass(eq=False)
class Mem:
    """A registered region, with guards around it."""

    node: Node
    mem: int
    offset: int  # of the region in its memory
    length: int
    mr: int
    lkey: int
    rkey: int
    va: int
    fill: int
    watched: bool = True

    def __post_init__(self) -> None:
        self.node.t.account.mems.append(self)

    def sge(self, offset: int = 0, length: Optional[int] = None, **other: Any) -> dict[str, Any]:
        """An element of a scatter/gather list."""
        return {"mem": self.mem, "offset": self.offset + offset, "length": self.length - offset if length is None else length,
                **({} if "lkey" in other else {"mr": self.mr}), **other}  # fmt: skip

    def at(self, offset: int, length: int, **other: Any) -> dict[str, Any]:
        """An element by address: it need not lie within the region."""
        return {"addr": hex64(self.va + offset), "lkey": self.lkey, "length": length, **other}

    def remote(self, offset: int = 0, **other: Any) -> dict[str, Any]:
        """The remote end of an RDMA operation; it need not lie within the region."""
        return {"addr": hex64(self.va + offset), "rkey": self.rkey, **other}

    def pattern(self, seed: int, offset: int = 0, length: Optional[int] = None) -> None:
        """Bytes that follow from the seed."""
        size = self.length - offset if length is None else length
        for at in range(0, size, _PART):
            part = min(_PART, size - at)
            self.node.end.call("mem.pattern", mem=self.mem, offset=self.offset + offset + at, length=part, seed=seed + at)

    def wrong(self, seed: int, offset: int = 0, length: Optional[int] = None) -> int:
        """How many bytes are not those of the seed."""
        size = self.length - offset if length is None else length
        found = 0
        for at in range(0, size, _PART):
            where = {"mem": self.mem, "offset": self.offset + offset + at, "length": min(_PART, size - at)}
            found += self.node.end.call("mem.pattern", **where, seed=seed + at, check=True).integer("wrong")
        return found

    def read(self, offset: int = 0, length: Optional[int] = None) -> bytes:
        """The bytes as they are, at most 30,000. The offset may be negative: the guard."""
        size = self.length - offset if length is None else length
        if not size:
            return b""
        return bytes.fromhex(self.node.end.call("mem.read", mem=self.mem, offset=self.offset + offset, length=size).text("hex"))

    def write(self, data: bytes, offset: int = 0) -> None:
        """Put bytes there."""
        self.node.end.call("mem.write", mem=self.mem, offset=self.offset + offset, hex=data.hex())

    def untouched(self, offset: int = 0, length: Optional[int] = None) -> bool:
        """Whether the bytes are what they were at first; of a large region the first and the last 4,096."""
        size = self.length - offset if length is None else length
        for start, part in ((offset, min(size, 4096)), (offset + size - min(size, 4096), min(size, 4096))):
            if self.read(start, part) != bytes([self.fill]) * part:
                return False
        return True

    def guarded(self) -> None:
        """The guards stand. Memory that was registered without them has none."""
        if self.watched and self.offset == _GUARD:
            stands = all(self.read(at, _GUARD) == bytes([self.fill]) * _GUARD for at in (-_GUARD, self.length))
            self.node.t.require(stands, "7.6.3-05", "bytes before and behind a region", "changed", "as they were")

    def deregister(self) -> Call:
        """Deallocate its STag."""
        return self.node.call("DeregisterMr", mr=self.mr)


@dataclass(eq=False)
class Srq:
    """A shared receive queue."""

    node: Node
    srq: int
    size: int
    sges: int
    posted: int = 0

    def post(self, wrs: Sequence[Mapping[str, Any]], *, must: bool = True) -> Posted:
        """Post Receives."""
        return _post(self.node, None, self, "srq", wrs, must, "8.1.3.1-02")

    def recv(self, *sges: Mapping[str, Any]) -> Wr:
        """Post one Receive, which has to be accepted."""
        return self.post([{"sges": list(sges)}]).wrs[0]

    def query(self) -> Call:
        """Query SRQ."""
        return self.node.call("QuerySrq", srq=self.srq)

    def destroy(self) -> Call:
        """Destroy SRQ."""
        return self.node.call("DestroySrq", srq=self.srq)


@dataclass
class Posted:
    """What came of a post: the WRs that were accepted, and whether all were."""

    call: Call
    wrs: list[Wr]
    whole: bool

    @property
    def said(self) -> str:
        """In words."""
        return f"{said(self.call)}, {len(self.wrs)} accepted"


def _post(node: Node, qp: Optional[Qp], srq: Optional[Srq], queue: str, wrs: Sequence[Mapping[str, Any]], must: bool, row: str,
          thread: Optional[int] = None) -> Posted:  # fmt: skip
    t, owner = node.t, qp or srq
    made: list[tuple[int, str, bool, int]] = []
    sent: list[dict[str, Any]] = []
    assert owner is not None
    for given in wrs:
        times = int(given.get("times", 1))
        first = int(given["wr_id"], 16) if "wr_id" in given else t.account.ids(times)
        wr: dict[str, Any] = {**given, "wr_id": hex64(first)}
        signaled = True
        if queue == "sq":
            assert qp is not None
            flags: list[str] = list(given.get("flags", ["SIGNALED"]))
            wr["flags"], signaled = flags, "SIGNALED" in flags or qp.signal_all
        sent.append(wr)
        length = sum(int(sge.get("length", 0)) for sge in given.get("sges", ()))
        made += [(first + k, str(given.get("opcode", "RECV")), signaled, length) for k in range(times)]
    method = {"sq": "PostSq", "rq": "PostRq", "srq": "PostSrq"}[queue]
    which = {"qp": qp.qp} if isinstance(owner, Qp) and qp is not None else {"srq": srq.srq if srq is not None else -1}
    call = node.call(method, **which, wrs=sent, **({} if thread is None else {"thread": thread}))
    whole = returned(call)
    first = t.iwarp and queue == "rq" and qp is not None and not qp.connected and not qp.places["rq"]
    if must and first and not whole and not call.result().get("posted") and qp is not None and qp.to("INIT"):
        call = node.call(method, **which, wrs=sent)  # Idle is RESET or INIT, and only one of them may take Receives (B18)
        whole = returned(call)
    count = call.integer("posted") if "posted" in call.result() or not whole else len(made)
    if not 0 <= count <= len(made) or (whole and count != len(made)):
        t.report("8.2.1-05", f"posted of a list of {len(made)}", f"{said(call)} and {count}", "all of them on success, else the "
                 "number before the first refused")  # fmt: skip
        count = max(0, min(count, len(made)))
    accepted = []
    for wr_id, opcode, signaled, length in made[:count]:
        place = owner.posted if not isinstance(owner, Qp) else owner.places[queue]
        one = Wr(wr_id, opcode, signaled, queue, place, node.end.number, qp, srq, row, length)
        if isinstance(owner, Qp):
            owner.places[queue] += 1
        else:
            owner.posted += 1
        t.account.add(one)
        accepted.append(one)
    t.account.refused |= {(node.end.number, wr_id) for wr_id, *_ in made[count:]}
    if must and not whole and first and not count:
        t.lack("no Receive can be posted before the stream is there, so that nothing can safely be sent (B18)")
    if must and not whole:
        t.fail("9.3.1.1-01" if queue == "sq" else "8.2.1-01", f"a post of {len(made)} {made[0][1]} to a queue with room",
               said(call), OK)  # fmt: skip
    return Posted(call, accepted, whole)


@dataclass(eq=False)
class Qp:
    """A QP."""

    node: Node
    qp: int
    qp_num: int
    cap: dict[str, Any]
    send_cq: Cq
    recv_cq: Cq
    srq: Optional[Srq]
    signal_all: bool
    pd: int
    gone: bool = False
    connected: bool = False  # it has or had a stream since it was last in Idle
    places: dict[str, int] = field(default_factory=lambda: {"sq": 0, "rq": 0})

    def __post_init__(self) -> None:
        self.node.t.account.qps.append(self)

    @property
    def t(self) -> Verbs:
        """The scenario."""
        return self.node.t

    @property
    def end(self) -> int:
        """The number of its end."""
        return self.node.end.number

    def size(self, queue: str) -> int:
        """How many WRs the queue was granted."""
        value = self.cap.get(f"{queue}_size")
        if isinstance(value, bool) or not isinstance(value, int):
            raise DutError(f"cap of verbs.CreateQp has no number {queue}_size")
        return value

    # ---- work ----

    def post(self, wrs: Sequence[Mapping[str, Any]], *, queue: str = "sq", must: bool = True, row: str = "6.2.4-02") -> Posted:
        """Post a list. row: what a WC that never comes breaks. With must a refusal ends the case with a breach."""
        return _post(self.node, self, None, queue, wrs, must, row)

    def send(self, *sges: Mapping[str, Any], **other: Any) -> Wr:
        """Post a Send, which has to be accepted."""
        return self.post([{"opcode": "SEND", "sges": list(sges), **other}]).wrs[0]

    def recv(self, *sges: Mapping[str, Any], **other: Any) -> Wr:
        """Post a Receive, which has to be accepted."""
        return self.post([{"sges": list(sges), **other}], queue="rq").wrs[0]

    def write(self, remote: Mapping[str, Any], *sges: Mapping[str, Any], **other: Any) -> Wr:
        """Post an RDMA Write, which has to be accepted."""
        return self.post([{"opcode": "RDMA_WRITE", "sges": list(sges), "remote": dict(remote), **other}]).wrs[0]

    def read(self, remote: Mapping[str, Any], *sges: Mapping[str, Any], **other: Any) -> Wr:
        """Post an RDMA Read, which has to be accepted."""
        return self.post([{"opcode": "RDMA_READ", "sges": list(sges), "remote": dict(remote), **other}]).wrs[0]

    # ---- states ----

    def modify(self, **attributes: Any) -> Call:
        """Modify QP with these attributes and no others."""
        return self.node.call("ModifyQp", qp=self.qp, **attributes)

    def to(self, state: str) -> bool:
        """Modify QP with a state (and, to INIT, what that takes); whether it was a success."""
        if state != "INIT":
            return returned(self.modify(state=state))
        return self._with_rights((REMOTE_READ, REMOTE_WRITE), lambda access: self.modify(state=state, **self.init(access)))

    def _with_rights(self, access: Sequence[str], change: Callable[[Sequence[str]], Call]) -> bool:
        """Whether a call can give the QP these rights. It may bind windows, too, unless its provider refuses that flag (B62)."""
        return any(returned(change(rights)) for rights in ([*access, MW_BIND], access))

    def init(self, access: Sequence[str] = (REMOTE_READ, REMOTE_WRITE)) -> dict[str, Any]:
        """What the move to INIT takes beside the state."""
        return {"port_num": 1, "pkey_index": 0, "access": list(access)}

    def change(self, **attributes: Any) -> Call:
        """Modify QP within RTS. Figure 4 wants the next state there, and a provider of InfiniBand may want none (B107)."""
        return self.modify(**({"state": "RTS"} if self.t.iwarp else {}), **attributes)

    def has_rights(self, access: Sequence[str]) -> None:
        """It has these rights for remote access and no others: by a change in RTS, or as Connect or Accept chose them (B62)."""
        if self._with_rights(access, lambda rights: self.change(access=list(rights))):
            return
        told = (self.query().result().get("attributes") or {}).get("qp_access_flags")
        if not isinstance(told, list) or {REMOTE_READ, REMOTE_WRITE} & set(map(str, told)) != set(access):
            self.t.skip("the rights of a QP can be chosen neither before its stream nor in RTS (B62)")

    def query(self) -> Call:
        """Query QP."""
        return self.node.call("QueryQp", qp=self.qp)

    def state(self) -> str:
        """What Query QP tells; "" when it tells nothing."""
        asked = self.query()
        return str(asked.result().get("state", "")) if returned(asked) else ""

    def idle(self) -> None:
        """Make Receives possible before the connection: INIT where the flavour needs it (6.2.1)."""
        if not self.t.iwarp and not self.to("INIT"):
            self.t.fail("6.2.1.1-01", "a move of a new QP from RESET to INIT with all it takes", REFUSED, OK)

    def flush(self) -> bool:
        """To Error. A QP that was closed in good order is Idle, and a move from there to Error is legal, too."""
        return self.to("ERR")

    def ends_within(self) -> int:
        """Move it to Error; how long its flush, and what follows, may take. A close that goes on refuses the move (B80)."""
        moved = self.flush() or not self.t.iwarp or self.state() == "ERR"
        return self.t.bound_us if moved else self.t.close_us

    def reset(self, within_us: Optional[int] = None) -> bool:
        """Back to Idle, tried until it works or the time is up. What it had is no longer owed anything."""
        worked = self.t.until(lambda: self.to("RESET"), self.t.bound_us if within_us is None else within_us)
        if worked:
            self.connected = False
            self.t.account.forget(self)
        return worked

    def disconnect(self) -> Call:
        """rdma_disconnect."""
        return self.node.call("Disconnect", qp=self.qp)

    def destroy(self) -> Call:
        """Destroy QP."""
        call = self.node.call("DestroyQp", qp=self.qp)
        if returned(call):
            self.gone = True
            self.t.account.forget(self)
        return call

    def abandon(self) -> None:
        """Nothing is expected of the QP any more: the case has seen it do what it may not do, or has sacrificed it."""
        self.gone = True
        self.t.account.forget(self)

    def disconnected(self, within_us: Optional[int] = None) -> bool:
        """Whether librdmacm says in time that the stream has ended."""
        limit = self.t.bound_us if within_us is None else within_us
        return self.t.until(lambda: bool(self.t.cms(self.end, self.qp)), limit)

    def told(self, within_us: int = 0) -> list[Told]:
        """The asynchronous events of this QP that B53 takes; waits for the first one."""
        self.t.until(lambda: bool(self.t.events(self.end, self.qp)), within_us)
        return self.t.events(self.end, self.qp, QP_EVENTS)


@dataclass
class Pair:
    """Two QPs that are connected, each with memory of its own."""

    a: Qp
    b: Qp
    ma: Mem
    mb: Mem

    @property
    def t(self) -> Verbs:
        """The scenario."""
        return self.a.t

    def back(self) -> Pair:
        """The same from the other side."""
        return Pair(self.b, self.a, self.mb, self.ma)


# ---- what cases begin with ----


def nodes(t: Verbs) -> tuple[Node, Node]:
    """Both ends opened, once a case."""
    t.a, t.b = t.a or Node(t, t.ends[0]), t.b or Node(t, t.ends[1])
    return t.a, t.b


def need_read(t: Verbs) -> None:
    """The case needs a device with RDMA Read."""
    if any(node.attr("max_qp_rd_atom") < 1 or node.attr("max_qp_init_rd_atom") < 1 for node in nodes(t)):
        t.skip("the device has no RDMA Read")


def settled(p: Pair) -> None:
    """Time for everything that a sent before to be completed at b: a Read comes behind it where there are Reads (6.6.2.5)."""
    if has_read(p.t):
        p.t.reap([p.a.read(p.mb.remote(0), p.ma.sge(0, 8))])
        p.t.wait(p.t.quiet_us // 5)
    else:  # nothing tells when the messages have arrived
        p.t.wait(p.t.quiet_us)


def ended(p: Pair, row: str, what: str, wrs: Iterable[Wr]) -> None:
    """The stream of b has ended without a call at b: its Receives are flushed (iWARP; on IB nothing tells b)."""
    if p.t.iwarp:
        flushed(wrs, row, what)


def unused_key(t: Verbs, key: int) -> bool:
    """Whether no region of the case has this number."""
    return all(key not in (mem.lkey, mem.rkey) for mem in t.account.mems)


def has_read(t: Verbs) -> bool:
    """Whether the condition READ holds."""
    return all(node.attr("max_qp_rd_atom") > 0 and node.attr("max_qp_init_rd_atom") > 0 for node in nodes(t))


@dataclass
class Joined:
    """What came of an attempt to connect: of the active and of the passive side."""

    active: Call
    passive: Optional[Call]
    request: Optional[Told]

    @property
    def established(self) -> bool:
        """Both sides say so."""
        return self.passive is not None and returned(self.active) and returned(self.passive)

    @property
    def said(self) -> str:
        """In words."""
        there = "no request" if self.passive is None else f"{self.passive.result().get('event')}, {said(self.passive)}"
        return f"{self.active.result().get('event')}, {said(self.active)} and {there}"


def join(a: Qp, b: Qp, *, ord: int = 4, ird: int = 4, answer: Optional[tuple[int, int]] = None,
         access: Optional[Sequence[str]] = None, theirs: Optional[Sequence[str]] = None,
         beyond: bool = False) -> Joined:  # fmt: skip
    """A connection of two QPs: a is the active side, b the passive one.

    answer: ORD and IRD of the passive side, else those that its request offers it.

    beyond: ORD and IRD are asked for whatever the maxima are.

    access, theirs: the rights of a and of b for remote access (B62).
    """
    t = a.t
    if not t.pics["cm"]:
        t.lack("the agent has no librdmacm to connect by")
    listener, port = b.node.listener()
    if not beyond:
        ord, ird = min(ord, a.node.attr("max_qp_init_rd_atom")), min(ird, a.node.attr("max_qp_rd_atom"))
    mine, others = ({} if given is None else {"access": list(given)} for given in (access, theirs))
    before = len(t.told)
    limit = t.connects_us
    asking = a.node.start("Connect", qp=a.qp, address=b.node.end.address, port=port, ord=ord, ird=ird, Timeout=limit, **mine)

    def requests() -> list[Told]:
        new = t.told[before:]
        return [e for e in new if e.kind == "connect-request" and t.at(b.end, e) and e.get("listener") == listener]

    t.until(lambda: bool(requests()) or asking.done, limit)
    found = requests()
    if not found:
        t.finished(asking)
        return Joined(asking, None, None)
    offered = answer or (min(_count(found[0], "ord"), b.node.attr("max_qp_init_rd_atom")),
                         min(_count(found[0], "ird"), b.node.attr("max_qp_rd_atom")))  # fmt: skip
    taken = {"request": found[0].get("request"), "qp": b.qp, "ord": offered[0], "ird": offered[1]}
    taking = b.node.start("Accept", **taken, Timeout=limit, **others)
    t.finished(asking, 2 * limit)
    t.finished(taking, 2 * limit)
    a.connected = b.connected = True
    return Joined(asking, taking, found[0])


def _count(told: Told, name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) else 0


def connect(a: Qp, b: Qp, row: str = "6.2.1.2-01", **other: Any) -> Joined:
    """A connection that has to come about."""
    made = join(a, b, **other)
    if a.t.lossy and not made.established and made.active.result().get("event") in _UNANSWERED:
        a.t.lack(f"no connection came about over the link that loses frames: {made.said}")
    a.t.demand(made.established, row, "a connection to an end that listens and accepts", made.said, "ESTABLISHED at both ends")
    return made


def prime(p: Pair) -> None:
    """The active side's first message, before which the passive one may not send (iWARP); its Receive has to be posted."""
    wr = p.b.recv(p.mb.sge(0, 8))
    start(p, wr)


def start(p: Pair, wr: Wr) -> None:
    """The active side's first message, into a Receive that is there."""
    sent = p.a.send(p.ma.sge(0, 8))
    p.t.reap([sent, wr])
    p.t.demand(not wr.good or sent.wc is not None, "8.2.4-05", "the WC of a signaled Send whose message arrived", "none", "one")
    p.t.demand(sent.good and wr.good, "6.2.1.2-03", "the first message of a new stream", f"{sent.status} and {wr.status}",
               "success at both ends")  # fmt: skip


def pair(t: Verbs, size: int = 8192, *, primed: bool = True, ord: int = 4, ird: int = 4, ends: Optional[tuple[Node, Node]] = None,
         memory: Optional[tuple[Mem, Mem]] = None, access: Optional[Sequence[str]] = None,
         theirs: Optional[Sequence[str]] = None, **params: Any) -> Pair:  # fmt: skip
    """Two connected QPs of a kind, with regions of size bytes that have all rights, after a first message from a to b."""
    one, other = ends or nodes(t)
    a, b = one.qp(**params), other.qp(**params)
    ma, mb = memory or (one.mem(size), other.mem(size))
    p = Pair(a, b, ma, mb)
    first = None
    if primed:
        b.idle()
        first = b.recv(mb.sge(0, 8))
    connect(a, b, ord=ord, ird=ird, access=access, theirs=theirs)
    if first is not None:
        start(p, first)
        mb.write(bytes([mb.fill]) * 8)
    return p


def message(p: Pair, length: int = 100, seed: int = 1, *, row: str = "6.2.2-04", offset: int = 0) -> bool:
    """A Send from a to b that has to arrive with the right bytes. Says whether it did."""
    t = p.t
    got = p.b.recv(p.mb.sge(offset, length))
    p.ma.pattern(seed, offset, length)
    sent = p.a.send(p.ma.sge(offset, length))
    t.reap([sent, got])
    held = t.require(sent.good, row, "a good Send", sent.status, SUCCESS)
    held &= t.require(got.good, row, "the Receive of a good Send", got.status, SUCCESS)
    if got.wc is not None and got.good:
        t.require(got.wc.byte_len == length, "8.1.2.1-05", "byte_len of a Receive", got.wc.byte_len, length)
        held &= t.require(p.mb.wrong(seed, offset, length) == 0, row, "the bytes of a message", "wrong", "those sent")
    return held


def alive(t: Verbs, p: Optional[Pair] = None) -> None:
    """The positive control: a message each way, on a fresh pair unless one is given."""
    before = len(t.findings)
    p = p or pair(t)
    worked = message(p, 200, 91) and message(p.back(), 300, 92)
    if worked and len(t.findings) == before:
        t.control("a Send each way arrived")
    elif not t.controls:
        t.control("the control itself broke a rule")


def moved(sink: bytes, source: bytes) -> bool:
    """Whether a piece of the source lies in the sink of a Read that failed, at its place. What else is there nobody can say: until
    its WC a Read's sink holds anything (8.2.2, rule 7).
    """
    size = min(4, len(sink))
    return size > 0 and any(sink[at : at + size] == source[at : at + size] for at in range(0, len(sink) - size + 1, size))


def receives(qp: Qp, mem: Mem, count: int, length: int = 64, start: int = 0) -> list[Wr]:
    """Receives of length bytes each, one behind the other in a region."""
    wrs = [{"sges": [mem.sge(start + k * length, length)]} for k in range(count)]
    return qp.post(wrs, queue="rq").wrs


def good(wrs: Iterable[Wr], row: str, what: str) -> bool:
    """All of them complete with success."""
    found = list(wrs)
    if not found:
        return True
    t = _scenario(found[0])
    t.reap(found)
    bad = [wr.status for wr in found if not wr.good]
    return t.require(not bad, row, what, f"{len(bad)} of {len(found)}: {', '.join(sorted(set(bad)))}", SUCCESS)


def heard(t: Verbs, qp: Qp) -> bool:
    """Whether an event of the QP or of its connection came."""
    return bool(t.events(qp.end, qp.qp) or t.cms(qp.end, qp.qp))


def flushed(wrs: Iterable[Wr], row: str, what: str, also: Iterable[str] = ()) -> bool:
    """All of them have a WC that says flushed, or a status that is permitted as well."""
    found = list(wrs)
    if not found:
        return True
    t = _scenario(found[0])
    ending(t, found, row, what)
    silent = [wr for wr in found if not wr.wcs and wr.row not in (row, "6.2.4-02")]
    for late in dict.fromkeys(wr.row for wr in silent):  # what a post in Error is owed has a row of its own
        t.require(False, late, what, f"{len(silent)} of {len(found)} without a WC", FLUSHED)
    bad = [wr.status for wr in found if wr not in silent and wr.status != FLUSHED and wr.status not in set(also)]
    return t.require(not bad, row, what, f"{len(bad)} of {len(found)}: {', '.join(sorted(set(bad)))}", FLUSHED) and not silent


def ending(t: Verbs, wrs: Iterable[Wr], row: str, what: str) -> bool:
    """Poll for the WCs of a QP that dies, as long as the end of its stream may last. Says whether all of them came."""
    found = list(wrs)
    return t.reap(found) or overdue(t, found, row, what)


def overdue(t: Verbs, wrs: Iterable[Wr], row: str, what: str) -> bool:
    """Wait for what is flushed only when the close of the stream is done; whether all of it came.

    Terminate and Closing last as long as the LLP Close does, and a move to Error is refused in them, which is how they are known.
    Where the move is taken there is nothing to wait for (B80).
    """
    left = [wr for wr in wrs if not wr.wcs and wr.qp is not None and not wr.qp.gone] if t.iwarp else []
    closing = [qp for qp in dict.fromkeys(wr.qp for wr in left if wr.qp is not None) if not qp.flush()]
    left = [wr for wr in left if wr.qp in closing]
    if not left or not t.reap(left, max(qp.ends_within() for qp in closing)):
        return False
    t.notice(row, f"{what}: the time until they are flushed", f"over {t.bound_us} us", "sooner", "B80")
    return True


def to_idle(t: Verbs, qp: Qp) -> bool:
    """Back to Idle: at once, by way of Error, or when the close of the stream is done (B80)."""
    return qp.reset(t.bound_us) or qp.reset(qp.ends_within())


def _scenario(wr: Wr) -> Verbs:
    owner = wr.qp or wr.srq
    assert owner is not None
    return owner.node.t


__all__ = [
    "ALL", "Cq", "Joined", "LOCAL_WRITE", "MW_BIND", "Mem", "Node", "OK", "Pair", "Posted", "Qp", "REFUSED", "REMOTE_READ",
    "REMOTE_WRITE", "Srq", "Wc", "Wr", "alive", "connect", "ended", "ending",
    "event_of", "flushed", "good", "has_read", "hex64", "join", "message",
    "need_read", "nodes", "overdue", "pair", "prime", "receives", "returned", "said", "settled", "start",
    "to_idle", "unused_key",
]  # fmt: skip
