"""Checks: Shared Receive Queues (6.3)."""

from __future__ import annotations

from .bench import Answer, Buffer, End, join
from .checks import Make, SOON, SUCCESS, check, same


class Shared:
    """Two pairs of QPs whose right ends have one SRQ."""

    def __init__(self, make: Make, foreign: bool = False, size: int = 8, limit: int = 0) -> None:
        self.pair = make(join=False)
        agent = self.agent = self.pair.agent
        self.there = agent.call("hello", protocol=2)["pics"]["srq"]
        if not self.there:
            return
        end = self.pair.right
        self.pd = agent.verb("AllocatePd", rnic=end.rnic)["pd"] if foreign else end.pd
        made = agent.verb("CreateSrq", pd=self.pd, size=size, sges=2, limit=limit)
        self.srq, self.size = made["srq"], made["size"]
        assert self.size >= size
        self.buffer = Buffer(agent, self.pd)
        self.rights = [End(agent, end.rnic, end.pd, srq=self.srq, rq_size=100_000, rq_sges=77) for _ in range(2)]
        self.lefts = [self.pair.left, End(agent, self.pair.left.rnic, self.pair.left.pd)]
        for left, right in zip(self.lefts, self.rights):
            join(left, right)

    def post(self, times: int = 1, wr_id: int = 1) -> Answer:
        """Receives for the SRQ."""
        return self.agent.call("verbs.PostSrq", srq=self.srq, wrs=[{"wr_id": f"{wr_id:016x}", "sges": [self.buffer.sge(16)],
                                                                    "times": times}])

    def send(self, which: int, wr_id: int = 1) -> None:
        """A message through one of the pairs."""
        self.lefts[which].post("SEND", [self.pair.source.sge(8)], wr_id)


@check()
def srq_use(make: Make) -> None:
    """WRs for the SRQ alone, one for each message, for whoever needs it, WCs on the QP's own CQ, room when polled (6.3.5)."""
    shared = Shared(make)
    if not shared.there:
        return
    agent, rights = shared.agent, shared.rights
    same(rights[0].receive([shared.buffer.sge(8)], 1)["return"], "immediate-error")
    same(shared.post(shared.size)["return"], "success")
    same(shared.post(1)["return"], "immediate-error")
    for index in range(shared.size - 2):
        shared.send(0, index)
    shared.send(1)
    seen = rights[0].received(shared.size - 2)
    same(len(seen), shared.size - 2)
    same({status for _, status in seen}, {SUCCESS})
    same(len(rights[1].received()), 1)
    same(shared.post(shared.size - 1)["return"], "success")
    same(shared.post(1)["return"], "immediate-error")
    asked = agent.verb("QuerySrq", srq=shared.srq)
    same((asked["size"], asked["limit"]), (shared.size, 0))
    agent.refused("DestroySrq", srq=shared.srq)
    for end in rights:
        agent.verb("DestroyQp", qp=end.qp)
    agent.verb("DestroySrq", srq=shared.srq)


@check()
def srq_order_of_a_qp(make: Make) -> None:
    """The messages of a QP complete in the order they were sent (6.3.5)."""
    shared = Shared(make)
    if not shared.there:
        return
    shared.post(5)
    for index in range(4):
        shared.lefts[0].post("SEND", [shared.pair.source.sge(4 + index)], index)
    same([wc["byte_len"] for wc in shared.rights[0].poll(shared.rights[0].rcq, 4)], [4, 5, 6, 7])


@check()
def srq_survives(make: Make) -> None:
    """The end of one QP touches neither the SRQ nor the others (6.3.6)."""
    shared = Shared(make)
    if not shared.there:
        return
    shared.post(4)
    shared.rights[0].to("ERR")
    same(shared.rights[0].received(1, SOON), [])
    for _ in range(3):
        shared.send(1)
    same([status for _, status in shared.rights[1].received(3)], [SUCCESS] * 3)


@check("iwarp")
def srq_protection(make: Make) -> None:
    """The PD of the SRQ counts for its WRs, not that of the QP (6.3.5)."""
    shared = Shared(make, foreign=True)
    if not shared.there:
        return
    shared.post(2)
    shared.send(0)
    same([status for _, status in shared.rights[0].received()], [SUCCESS])


@check()
def srq_limit(make: Make) -> None:
    """One event for each arming, when fewer than the limit are left (6.3.8)."""
    shared = Shared(make)
    if not shared.there:
        return
    agent, srq = shared.agent, shared.srq

    def seen() -> int:
        return len(agent.events("async", event="SRQ_LIMIT_REACHED", srq=srq))

    agent.refused("ModifySrq", srq=srq, limit=shared.size + 1)
    shared.post(7)
    for turn in range(2):
        agent.verb("ModifySrq", srq=srq, limit=4)
        agent.verb("ModifySrq", srq=srq, limit=5)
        same(agent.verb("QuerySrq", srq=srq)["limit"], 5)
        for count in range(2):
            shared.send(0)
            shared.rights[0].received()
        agent.rest(0.005)
        same(seen(), turn)
        for count in range(2):
            shared.send(0)
            shared.rights[0].received()
        assert agent.until(lambda: seen() == turn + 1, 0.05), f"{seen()} events"
        agent.rest(0.005)
        same(seen(), turn + 1)
        shared.post(4)


@check()
def srq_keeps_its_limit(make: Make) -> None:
    """An SRQ is not made smaller than a limit that is armed (6.3.8)."""
    pair = make(join=False, settings_also=("resize_qp=yes",))
    made = pair.agent.call("verbs.CreateSrq", pd=pair.right.pd, size=16, sges=1)
    if made["return"] == "success":
        pair.agent.verb("PostSrq", srq=made["srq"], wrs=[{"wr_id": "0" * 16, "sges": [pair.sink.sge(8)], "times": 10}])
        pair.agent.verb("ModifySrq", srq=made["srq"], limit=8)
        pair.agent.refused("ModifySrq", srq=made["srq"], size=4)


@check()
def srq_with_work_goes(make: Make) -> None:
    """An SRQ with WRs is destroyed when no QP has it (6.3.3)."""
    pair = make(join=False)
    made = pair.agent.call("verbs.CreateSrq", pd=pair.right.pd, size=4, sges=1)
    if made["return"] == "success":
        pair.agent.refused("CreateSrq", pd=pair.right.pd, size=4, sges=1, limit=9)
        pair.agent.verb("PostSrq", srq=made["srq"], wrs=[{"wr_id": "0" * 16, "sges": [pair.sink.sge(8)]}])
        pair.agent.verb("DestroySrq", srq=made["srq"])


@check()
def sizes_changed(make: Make) -> None:
    """Where a QP can be resized, both queues can, but not below what is outstanding (6.1.3)."""
    pair = make(settings_also=("resize_qp=yes",))
    if pair.agent.call("hello", protocol=2)["pics"]["resize_qp"]:
        right = pair.right
        right.receive([pair.sink.sge(8)], 1, 6)
        pair.agent.refused("ModifyQp", qp=right.qp, rq_size=3)
        pair.agent.verb("ModifyQp", qp=right.qp, rq_size=100, sq_size=40)
        same(right.receive([pair.sink.sge(8)], 10, 60)["return"], "success")
        alive_id = pair.left.post("SEND", [pair.source.sge(8)], 1)
        same(alive_id["return"], "success")
        same(right.received(), [(1, SUCCESS)])
