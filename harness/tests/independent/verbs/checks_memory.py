"""Checks: Memory Regions (7.2 to 7.6)."""

from __future__ import annotations

from typing import Callable, List

from .bench import FULL, Answer, Buffer, Pair
from .checks import (FLUSHED, LOCAL, Make, SINK, SOON, SUCCESS, alive, among, check, ended,
                     errors, failing, reads, refused_access, same)


@check()
def local_protection(make: Make) -> None:
    """SGEs are checked: STag with key, PD, bounds byte by byte, wrap; nothing bad is sent (7.6.3, 8.3.2)."""
    def odd(pair: Pair, what: str) -> Answer:
        buffer = Buffer(pair.agent, pair.left.pd, 64)
        sge = {"addr": f"{buffer.va:016x}", "lkey": buffer.lkey, "length": 8}
        if what == "key":
            sge["lkey"] ^= 1
        elif what == "pd":
            other = Buffer(pair.agent, pair.agent.verb("AllocatePd", rnic=pair.left.rnic)["pd"])
            sge["lkey"], sge["addr"] = other.lkey, f"{other.va:016x}"
        elif what == "start":
            sge["addr"] = f"{buffer.va - 1:016x}"
        elif what == "end":
            sge["length"] = 65
        elif what == "length":
            sge["length"] = 5000
        elif what == "wrap":
            top = pair.agent.verb("RegisterMr", pd=pair.left.pd, mem=buffer.mem, access=["LOCAL_WRITE"],
                                  iova=f"{(1 << 64) - 4096:016x}")
            sge = {"addr": f"{(1 << 64) - 4096:016x}", "lkey": top["lkey"], "length": 8192}
        elif what == "gone":
            pair.agent.verb("DeregisterMr", mr=buffer.mr)
        elif what == "read-only-ok":
            pass
        return sge

    for what in ("key", "pd", "start", "end", "length", "wrap", "gone"):
        pair = make()
        pair.right.receive([pair.sink.sge(200)], 1)
        failing(pair, pair.left, pair.left.post("SEND", [pair.source.sge(4), odd(pair, what)], 5), LOCAL, 5)
        among(pair.right.received(1, SOON), ([], [(1, FLUSHED)]))
        pair = make()
        failing(pair, pair.left, pair.left.post("RDMA_WRITE", [pair.source.sge(4), odd(pair, what)], 5,
                                                remote=pair.sink.remote()), LOCAL, 5)
        same(pair.sink.get(64), "00" * 64)


@check()
def receive_protection(make: Make) -> None:
    """SGEs of a Receive are checked the same, and for local write; no byte is placed (7.4.1, 8.3.2)."""
    for what in ("key", "pd", "end", "right", "right-none", "good"):
        pair = make()
        right, access = pair.right, ["LOCAL_WRITE"]
        pd = right.pd
        if what == "right":
            access = ["REMOTE_READ"]
        elif what == "right-none":
            access = []
        elif what == "pd":
            pd = pair.agent.verb("AllocatePd", rnic=right.rnic)["pd"]
        buffer = Buffer(pair.agent, pd, 64, access)
        sge = {"addr": f"{buffer.va:016x}", "lkey": buffer.lkey ^ (1 if what == "key" else 0), "length": 64}
        if what == "end":
            sge["addr"] = f"{buffer.va + 1:016x}"
        right.receive([sge], 3)
        pair.left.post("SEND", [pair.source.sge(64)], 1)
        seen = right.received()
        if what == "good":
            same(seen, [(3, SUCCESS)])
            same(buffer.get(64), "a1" * 64)
            continue
        same([wr_id for wr_id, _ in seen], [3])
        among(seen[0][1], LOCAL)
        same(buffer.get(64), "00" * 64)
        ended(pair, right)


def _remote(pair: Pair, what: str, right: str) -> Answer:
    """A remote address with one thing wrong about it, and its length."""
    agent, pd = pair.agent, pair.right.pd
    if what == "pd":
        pd = agent.verb("AllocatePd", rnic=pair.right.rnic)["pd"]
    access = [word for word in FULL if word != right] if what in ("right", "other-right") else FULL
    if what == "no-rights":
        access = ["LOCAL_WRITE"]
    buffer = Buffer(agent, pd, 64, access)
    remote = buffer.remote()
    if what == "key":
        remote["rkey"] ^= 1
    elif what == "start":
        remote = buffer.remote(-1)
    elif what == "end":
        remote = buffer.remote(57)
    elif what == "page":
        remote = buffer.remote(100)
    elif what == "far":
        remote = buffer.remote(62)
    elif what == "wrap":
        top = agent.verb("RegisterMr", pd=pd, mem=buffer.mem, access=FULL, iova=f"{(1 << 64) - 64 & ~4095:016x}")
        remote = {"addr": f"{(1 << 64) - 4096 + 60:016x}", "rkey": top["rkey"]}
        wide = Buffer(agent, pd, 4096, FULL, iova=f"{(1 << 64) - 4096:016x}")
        remote = {"addr": f"{(1 << 64) - 4:016x}", "rkey": wide.rkey}
    elif what == "gone":
        agent.verb("DeregisterMr", mr=buffer.mr)
    remote["buffer"] = buffer
    return remote


@check()
def remote_write_protection(make: Make) -> None:
    """A Write the target does not permit moves no byte (7.4.2, 7.6.3, 8.3.3)."""
    for what in ("key", "pd", "start", "end", "page", "far", "right", "no-rights", "wrap", "gone"):
        def write(pair: Pair, what: str = what) -> Answer:
            remote = _remote(pair, what, "REMOTE_WRITE")
            held.append(remote.pop("buffer"))
            return pair.left.post("RDMA_WRITE", [pair.source.sge(8)], 1, remote=remote)
        held: List[Buffer] = []
        refused_access(make, write)
        same(held[0].get(64), "00" * 64)


@check()
def remote_read_protection(make: Make) -> None:
    """The same for a Read."""
    for what in ("key", "pd", "start", "end", "right", "no-rights", "gone"):
        probe = make()
        if not reads(probe):
            return

        def read(pair: Pair, what: str = what) -> Answer:
            remote = _remote(pair, what, "REMOTE_READ")
            remote.pop("buffer")
            return pair.left.post("RDMA_READ", [pair.source.sge(8)], 1, remote=remote)
        refused_access(make, read, read=True)


@check()
def qp_enables(make: Make) -> None:
    """The QP's own enable is needed as well (8.1.2.2, Figure 21)."""
    def write(pair: Pair) -> Answer:
        pair.agent.verb("ModifyQp", qp=pair.right.qp, access=["REMOTE_READ"])
        return pair.left.post("RDMA_WRITE", [pair.source.sge(8)], 1, remote=pair.sink.remote())

    def read(pair: Pair) -> Answer:
        pair.agent.verb("ModifyQp", qp=pair.right.qp, access=["REMOTE_WRITE"])
        return pair.left.post("RDMA_READ", [pair.source.sge(8)], 1, remote=pair.sink.remote())
    probe = make()
    if probe.agent.call("verbs.ModifyQp", qp=probe.right.qp, access=["REMOTE_READ"])["return"] != "success":
        return
    refused_access(make, write)
    if reads(probe):
        refused_access(make, read, read=True)


@check("iwarp")
def read_sinks(make: Make) -> None:
    """The sink of a Read needs remote write, in the region and in the QP (7.4.2)."""
    for what in ("region", "qp"):
        pair = make()
        if not reads(pair):
            return
        sink = Buffer(pair.agent, pair.left.pd, 64, ["LOCAL_WRITE"] if what == "region" else FULL)
        if what == "qp":
            if pair.agent.call("verbs.ModifyQp", qp=pair.left.qp, access=["REMOTE_READ"])["return"] != "success":
                return
        pair.sink.put("77" * 8)
        pair.left.post("RDMA_READ", [sink.sge(8)], 2, remote=pair.sink.remote())
        seen = pair.left.sent()
        same([wr_id for wr_id, _ in seen], [2])
        among(seen[0][1], SINK)
        same(sink.get(8), "00" * 8)
        ended(pair, pair.left)


@check()
def read_sink_protection(make: Make) -> None:
    """The SGE of a Read is checked as any other: key, PD, bounds; nothing is placed (8.3.2)."""
    for what in ("key", "pd", "end"):
        pair = make()
        if not reads(pair):
            return
        pd = pair.agent.verb("AllocatePd", rnic=pair.left.rnic)["pd"] if what == "pd" else pair.left.pd
        sink = Buffer(pair.agent, pd, 64, FULL)
        around = pair.agent.verb("RegisterMr", pd=pd, mem=sink.mem, offset=0, length=32, access=FULL)
        sge = {"addr": f"{sink.va + (28 if what == 'end' else 0):016x}", "lkey": around["lkey"] ^ (what == "key"), "length": 8}
        failing(pair, pair.left, pair.left.post("RDMA_READ", [sge], 1, remote=pair.sink.remote()), SINK)
        same(sink.get(64), "00" * 64)


@check("ib")
def read_sinks_ib(make: Make) -> None:
    """ib: the sink of a Read needs local write, and nothing else (B29)."""
    pair = make()
    if reads(pair):
        sink = Buffer(pair.agent, pair.left.pd, 64, ["LOCAL_WRITE"])
        pair.left.post("RDMA_READ", [sink.sge(8)], 2, remote=pair.sink.remote())
        same(pair.left.sent(), [(2, SUCCESS)])


@check()
def registration(make: Make) -> None:
    """Any alignment and length; overlapping regions live and die apart; Figure 18 holds (7.3, 7.4.2, 7.4.3, 7.6.1.1, 7.9)."""
    pair = make()
    agent, pd = pair.agent, pair.right.pd
    agent.refused("RegisterMr", pd=pd, mem=pair.sink.mem, access=["REMOTE_WRITE"])
    agent.refused("RegisterMr", pd=pd, mem=agent.call("mem.new", length=64, pages="read-only")["mem"], access=["LOCAL_WRITE"])
    made = agent.verb("RegisterMr", pd=pd, mem=pair.sink.mem, offset=3, length=101, access=FULL)
    assert made["rkey"] != pair.sink.rkey and made["rkey"] >> 8, made
    remote = {"addr": f"{pair.sink.va + 3:016x}", "rkey": made["rkey"]}
    pair.left.post("RDMA_WRITE", [pair.source.sge(101)], 1, remote=remote)
    same(pair.left.sent(), [(1, SUCCESS)])
    agent.until(lambda: pair.sink.get(1, 103) == "a1", 0.1)
    same(pair.sink.get(105), "00" * 3 + "a1" * 101 + "00")
    agent.verb("DeregisterMr", mr=made["mr"])
    pair.left.post("RDMA_WRITE", [pair.source.sge(8)], 2, remote=pair.sink.remote())
    same(pair.left.sent(), [(2, SUCCESS)])
    alive(pair)


@check()
def zero_based(make: Make) -> None:
    """A zero-based region begins at offset zero (7.6.1.2)."""
    pair = make()
    made = pair.agent.call("verbs.RegisterMr", pd=pair.right.pd, mem=pair.sink.mem, offset=10, length=50, access=[*FULL,
                                                                                                                  "ZERO_BASED"])
    if made["return"] == "success":
        pair.left.post("RDMA_WRITE", [pair.source.sge(4)], 1, remote={"addr": "0" * 16, "rkey": made["rkey"]})
        same(pair.left.sent(), [(1, SUCCESS)])
        pair.agent.until(lambda: pair.sink.get(5, 10) == "a1a1a1a100", 0.1)
        same(pair.sink.get(5, 10), "a1a1a1a100")


def _usable(make: Make, prepare: Callable[[Pair, Buffer], Answer], works: bool) -> None:
    """Write to a buffer after something was done to it."""
    pair = make()
    buffer = Buffer(pair.agent, pair.right.pd, 64)
    remote = prepare(pair, buffer)
    pair.left.post("RDMA_WRITE", [pair.source.sge(8)], 1, remote=remote)
    pair.left.sent(1, 0.1)
    pair.agent.rest(0.004)
    if works:
        alive(pair)
    else:
        same(buffer.get(64), "00" * 64)
        ended(pair, pair.left)


@check()
def reregistration_locally(make: Make) -> None:
    """SGEs are checked by what the region is when they are used: rights of a posted Receive, and the PD (7.3.2.3)."""
    for what in ("rights", "pd"):
        pair = make()
        agent, right = pair.agent, pair.right
        if not agent.call("hello", protocol=2)["pics"]["rereg_mr"]:
            return
        buffer = Buffer(agent, right.pd, 64)
        if what == "rights":
            right.receive([{"addr": f"{buffer.va:016x}", "lkey": buffer.lkey, "length": 8}], 3)
            agent.verb("ReregisterMr", mr=buffer.mr, flags=["ACCESS"], access=[])
            pair.left.post("SEND", [pair.source.sge(8)], 1)
            among(right.received()[0][1], LOCAL)
            same(buffer.get(64), "00" * 64)
        else:
            pd = agent.verb("AllocatePd", rnic=right.rnic)["pd"]
            made = agent.verb("ReregisterMr", mr=buffer.mr, flags=["PD"], pd=pd)
            failing(pair, right, right.post("SEND", [{**buffer.sge(8), "lkey": made["lkey"]}], 5), LOCAL, 5)


@check()
def reregistration(make: Make) -> None:
    """Reregister takes place, PD and rights as given; a failure takes the old region away (7.3.2.3)."""
    probe = make()
    if not probe.agent.call("hello", protocol=2)["pics"]["rereg_mr"]:
        return

    def rights(pair: Pair, buffer: Buffer) -> Answer:
        made = pair.agent.verb("ReregisterMr", mr=buffer.mr, flags=["ACCESS"], access=["LOCAL_WRITE"])
        return {**buffer.remote(), "rkey": made["rkey"]}

    def domain(pair: Pair, buffer: Buffer) -> Answer:
        pd = pair.agent.verb("AllocatePd", rnic=pair.right.rnic)["pd"]
        made = pair.agent.verb("ReregisterMr", mr=buffer.mr, flags=["PD"], pd=pd)
        return {**buffer.remote(), "rkey": made["rkey"]}

    def place(pair: Pair, buffer: Buffer) -> Answer:
        made = pair.agent.verb("ReregisterMr", mr=buffer.mr, flags=["TRANSLATION"], mem=pair.sink.mem, offset=64, length=32)
        return {**buffer.remote(), "rkey": made["rkey"]}

    def moved(pair: Pair, buffer: Buffer) -> Answer:
        made = pair.agent.verb("ReregisterMr", mr=buffer.mr, flags=["TRANSLATION"], mem=pair.sink.mem, offset=64, length=32)
        return {**pair.sink.remote(64), "rkey": made["rkey"]}

    def failed(pair: Pair, buffer: Buffer) -> Answer:
        made = pair.agent.refused("ReregisterMr", mr=buffer.mr, flags=["ACCESS"], access=["REMOTE_WRITE"])
        assert made["code"], made
        return buffer.remote()

    def old(pair: Pair, buffer: Buffer) -> Answer:
        made = pair.agent.verb("ReregisterMr", mr=buffer.mr, flags=["ACCESS"], access=FULL)
        return buffer.remote() if made["rkey"] != buffer.rkey else {**buffer.remote(), "rkey": made["rkey"] ^ 1}
    for prepare, works in ((rights, False), (domain, False), (place, False), (moved, True), (failed, False), (old, False)):
        _usable(make, prepare, works)


@check("iwarp")
def stag_zero(make: Make) -> None:
    """A Write to STag zero is a Completion Error of the poster, and nothing goes out (8.1.3.2.1)."""
    pair = make()
    found = pair.left.post("RDMA_WRITE", [pair.source.sge(8)], 3, remote={"addr": "0" * 16, "rkey": 0})
    failing(pair, pair.left, found, LOCAL, 3)
    same(errors(pair.agent, qp=pair.left.qp), [])
