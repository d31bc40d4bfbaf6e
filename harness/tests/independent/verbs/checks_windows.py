"""Checks: Memory Windows and invalidation (7.8, 7.10)."""

from __future__ import annotations

from typing import Any, List, Tuple

from .bench import FULL, Answer, Buffer, End, join
from .checks import BIND, INVALIDATE, LOCAL, Make, SUCCESS, alive, check, ended, failing, same


class Windows:
    """A pair whose right end has a window."""

    def __init__(self, make: Make, sort: int = 2, access: Any = None, rights: Any = None) -> None:
        self.pair = make()
        agent = self.pair.agent
        pics = agent.call("hello", protocol=2)["pics"]
        self.there, self.inv, self.send_inv = pics["mw"], pics["local_inv"], pics["send_with_inv"]
        self.buffer = Buffer(agent, self.pair.right.pd, 128, access)
        self.rights = rights or ["REMOTE_READ", "REMOTE_WRITE"]
        if self.there:
            made = agent.verb("AllocateMw", pd=self.pair.right.pd, type=sort)
            self.mw, self.rkey = made["mw"], made["rkey"]

    def bind(self, wr_id: int = 1, end: Any = None, **more: Any) -> Answer:
        """Bind bytes 16 to 79 of the buffer."""
        bind = {"mw": self.mw, "rkey": self.rkey, "mr": self.buffer.mr, "addr": f"{self.buffer.va + 16:016x}", "length": 64,
                "access": self.rights, **more}
        return (end or self.pair.right).post("BIND_MW", [], wr_id, bind=bind)

    def bound(self, **more: Any) -> None:
        """The bind succeeds."""
        same(self.bind(**more)["return"], "success")
        wc = self.pair.right.poll(self.pair.right.scq)[0]
        same((wc["wr_id"], wc["status"], wc["opcode"]), (f"{1:016x}", SUCCESS, "BIND_MW"))

    def write(self, offset: int = 16, length: int = 8, rkey: Any = None, left: Any = None) -> List[Any]:
        """Write through the window."""
        remote = {"addr": f"{self.buffer.va + offset:016x}", "rkey": self.rkey if rkey is None else rkey}
        (left or self.pair.left).post("RDMA_WRITE", [self.pair.source.sge(length)], 7, remote=remote)
        found = (left or self.pair.left).sent(1, 0.1)
        self.pair.agent.rest(0.002)
        return found

    def closed(self) -> None:
        """No byte has come."""
        same(self.buffer.get(128), "00" * 128)


@check()
def windows(make: Make) -> None:
    """A bound window gives its range with its rights, whatever remote rights the region has; another key does not (7.10.2)."""
    window = Windows(make, access=["LOCAL_WRITE", "MW_BIND"])
    if not window.there:
        return
    window.write()
    window.closed()
    wrong: List[Tuple[Answer, int, int]] = [({}, 15, 8), ({}, 73, 8), ({"access": ["REMOTE_READ"]}, 16, 8)]
    for more, offset, length in wrong:
        window = Windows(make, access=["LOCAL_WRITE", "MW_BIND"])
        window.bound(**more)
        window.write(offset, length)
        window.closed()
        ended(window.pair, window.pair.left)
    window = Windows(make, access=["LOCAL_WRITE", "MW_BIND"])
    old, window.rkey = window.rkey, (window.rkey & ~0xff) | ((window.rkey + 9) & 0xff)
    window.bound()
    same(window.write(), [(7, SUCCESS)])
    same(window.buffer.get(10, 15), "00" + "a1" * 8 + "00")
    alive(window.pair)
    window.buffer.put("00" * 128)
    window.write(rkey=old)
    window.closed()


@check()
def binds_refused(make: Make) -> None:
    """7.10.6.1: what a bind checks."""
    for what in ("bind-right", "bounds", "write-right", "window-pd", "region-pd", "again", "zero-based"):
        access = {"bind-right": ["LOCAL_WRITE"], "write-right": ["MW_BIND"]}.get(what, ["LOCAL_WRITE", "MW_BIND"])
        window = Windows(make, access=access)
        if not window.there:
            return
        pair, more = window.pair, {}
        if what == "bounds":
            more = {"addr": f"{window.buffer.va + 65:016x}"}
        elif what in ("window-pd", "region-pd"):
            pd = pair.agent.verb("AllocatePd", rnic=pair.right.rnic)["pd"]
            if what == "window-pd":
                made = pair.agent.verb("AllocateMw", pd=pd, type=2)
                window.mw, window.rkey = made["mw"], made["rkey"]
            else:
                window.buffer = Buffer(pair.agent, pd, 128, access)
        elif what == "again":
            window.bound()
        elif what == "zero-based":
            if pair.agent.flavour == "ib":
                continue
            made = pair.agent.call("verbs.RegisterMr", pd=pair.right.pd, mem=window.buffer.mem, access=[*access, "ZERO_BASED"])
            if made["return"] != "success":
                continue
            more = {"mr": made["mr"], "addr": f"{16:016x}"}
        failing(pair, pair.right, window.bind(5, **more), BIND, 5)


@check("iwarp")
def window_of_one_qp(make: Make) -> None:
    """A bound window serves the QP it was bound through, and that QP is not destroyed (7.10.2, 6.1.4)."""
    window = Windows(make)
    if not window.there:
        return
    window.bound()
    pair = window.pair
    pair.agent.refused("DestroyQp", qp=pair.right.qp)
    left, right = End(pair.agent, pair.left.rnic, pair.left.pd), End(pair.agent, pair.right.rnic, pair.right.pd)
    join(left, right)
    window.write(left=left)
    window.closed()
    same(window.write(), [(7, SUCCESS)])


@check()
def window_keeps_its_region(make: Make) -> None:
    """A region with bound windows is neither deregistered nor reregistered, and stays (7.9, 7.3.2.3)."""
    window = Windows(make)
    if not window.there:
        return
    window.bound()
    agent = window.pair.agent
    agent.refused("DeregisterMr", mr=window.buffer.mr)
    agent.refused("ReregisterMr", mr=window.buffer.mr, flags=["ACCESS"], access=["LOCAL_WRITE"])
    same(window.write(), [(7, SUCCESS)])
    agent.verb("DeallocateMw", mw=window.mw)
    agent.verb("DeregisterMr", mr=window.buffer.mr)
    window.buffer.put("00" * 128)
    window.write()
    window.closed()


@check()
def window_gone(make: Make) -> None:
    """A deallocated window gives nothing (7.10.4.1)."""
    window = Windows(make)
    if window.there:
        window.bound()
        window.pair.agent.verb("DeallocateMw", mw=window.mw)
        window.write()
        window.closed()


@check()
def bind_before_later_work(make: Make) -> None:
    """A bind, and an invalidation, take effect before any later WR (8.2.2.1)."""
    window = Windows(make)
    if not window.there:
        return
    pair = window.pair
    pair.left.receive([pair.source.sge(8, 200)], 4)
    wrs = [{"wr_id": f"{1:016x}", "opcode": "BIND_MW", "flags": ["SIGNALED"],
            "bind": {"mw": window.mw, "rkey": window.rkey, "mr": window.buffer.mr, "addr": f"{window.buffer.va + 16:016x}",
                     "length": 64,
                     "access": window.rights}},
           {"wr_id": f"{2:016x}", "opcode": "SEND", "sges": [pair.sink.sge(4)], "flags": ["SIGNALED"]}]
    pair.agent.verb("PostSq", qp=pair.right.qp, wrs=wrs)
    same(pair.left.received(), [(4, SUCCESS)])
    same(window.write(), [(7, SUCCESS)])
    pair.agent.until(lambda: window.buffer.get(1, 16) == "a1", 0.05)
    same(window.buffer.get(8, 16), "a1" * 8)


@check()
def invalidated(make: Make) -> None:
    """Local Invalidate: the STag is Invalid, may be so already, can be bound again; overlapping regions stay (7.8, 7.10.4)."""
    window = Windows(make)
    if not (window.there and window.inv):
        return
    pair = window.pair
    right = pair.right
    window.bound()
    for wr_id in (2, 3):
        right.post("LOCAL_INV", [], wr_id, invalidate=window.rkey)
        same(right.sent(), [(wr_id, SUCCESS)])
    first, window.buffer = window.buffer, Buffer(pair.agent, right.pd, 128)
    window.bound(rkey=(window.rkey & ~0xff) | ((window.rkey + 1) & 0xff))
    window.rkey = (window.rkey & ~0xff) | ((window.rkey + 1) & 0xff)
    same(window.write(), [(7, SUCCESS)])
    same(window.buffer.get(8, 16), "a1" * 8)
    right.post("LOCAL_INV", [], 4, invalidate=window.rkey)
    same(right.sent(), [(4, SUCCESS)])
    window.buffer = first
    window.buffer.put("00" * 128)
    other = pair.agent.verb("RegisterMr", pd=right.pd, mem=window.buffer.mem, access=FULL)
    right.post("LOCAL_INV", [], 5, invalidate=window.buffer.rkey)
    seen = right.sent()
    if pair.agent.flavour == "ib" and seen != [(5, SUCCESS)]:
        return  # B106
    same(seen, [(5, SUCCESS)])
    pair.left.post("RDMA_WRITE", [pair.source.sge(4)], 6, remote={"addr": f"{window.buffer.va:016x}", "rkey": other["rkey"]})
    same(pair.left.sent(), [(6, SUCCESS)])
    pair.agent.rest(0.003)
    alive(pair)
    window.buffer.put("00" * 128)
    window.write()
    window.closed()
    ended(pair, pair.left)


@check()
def invalidated_region(make: Make) -> None:
    """An Invalid region gives nothing, to the peer, to SGEs or to a window (7.2.2, 7.8, 7.10.6.1)."""
    for use in ("peer", "sge", "window"):
        window = Windows(make)
        if not window.inv:
            return
        pair, buffer = window.pair, window.buffer
        pair.right.post("LOCAL_INV", [], 5, invalidate=buffer.rkey)
        seen = pair.right.sent()
        if pair.agent.flavour == "ib" and seen != [(5, SUCCESS)]:
            return  # B106
        same(seen, [(5, SUCCESS)])
        if use == "window":
            if window.there:
                failing(pair, pair.right, window.bind(6), BIND, 6)
        elif use == "sge":
            pair.left.receive([pair.source.sge(8)], 1)
            failing(pair, pair.right, pair.right.post("SEND", [buffer.sge(8)], 6), LOCAL, 6)
        else:
            window.write(rkey=buffer.rkey)
            window.closed()
        pair.agent.verb("DeregisterMr", mr=buffer.mr)


@check()
def invalidations_refused(make: Make) -> None:
    """7.8, 7.10.6.3: key, QP, PD, bound windows."""
    for what in ("key", "qp", "region-pd", "bound", "pd", "zero"):
        window = Windows(make)
        if not (window.there and window.inv):
            return
        pair, right = window.pair, window.pair.right
        key = window.buffer.rkey
        other_pd = pair.agent.verb("AllocatePd", rnic=right.rnic)["pd"]
        if what == "key":
            key ^= 1
        elif what == "zero":
            key = 0
        elif what == "region-pd":
            key = Buffer(pair.agent, other_pd).rkey
        elif what == "pd":
            key = pair.agent.verb("AllocateMw", pd=other_pd, type=2)["rkey"]
        else:
            window.bound()
            if what == "qp":
                key = window.rkey
                left, right = End(pair.agent, pair.left.rnic, pair.left.pd), End(pair.agent, right.rnic, right.pd)
                join(left, right)
        found = right.post("LOCAL_INV", [], 8, invalidate=key)
        failing(pair, right, found, INVALIDATE, 8)


@check()
def send_with_invalidate(make: Make) -> None:
    """The STag is Invalid when the Receive completes, which tells it; without remote rights it fails (7.8, 8.2.2.1, 9.3.2.1)."""
    window = Windows(make)
    if not window.send_inv:
        return
    pair, buffer = window.pair, window.buffer
    pair.right.receive([pair.sink.sge(16)], 3)
    pair.left.post("SEND_WITH_INV", [pair.source.sge(16)], 4, invalidate=buffer.rkey)
    seen = pair.left.sent()
    wc = pair.right.poll(pair.right.rcq)[0]
    if pair.agent.flavour == "ib" and (seen != [(4, SUCCESS)] or wc["status"] != SUCCESS):
        return  # B106
    same(seen, [(4, SUCCESS)])
    same((wc["status"], wc["flags"], wc["invalidated"]), (SUCCESS, ["WITH_INV"], buffer.rkey))
    same(pair.sink.get(16), "a1" * 16)
    window.write(rkey=buffer.rkey)
    window.closed()
    window = Windows(make, access=["LOCAL_WRITE"])
    pair = window.pair
    pair.right.receive([pair.sink.sge(16)], 3)
    pair.left.post("SEND_WITH_INV", [pair.source.sge(16)], 4, invalidate=window.buffer.rkey)
    seen = pair.right.received()
    assert not seen or seen[0][1] != SUCCESS, seen
    ended(pair, pair.right)


@check()
def window_in_sge(make: Make) -> None:
    """A window's STag in a local SGE is a Completion Error (8.1.3.2)."""
    window = Windows(make)
    if window.there:
        window.bound()
        sge = {"addr": f"{window.buffer.va + 16:016x}", "lkey": window.rkey, "length": 8}
        failing(window.pair, window.pair.right, window.pair.right.post("SEND", [sge], 8), LOCAL, 8)
