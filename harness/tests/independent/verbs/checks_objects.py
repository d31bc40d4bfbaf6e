"""Checks: Protection Domains, Completion Queues and Queue Pairs (5.2, 5.3, 6.1)."""

from __future__ import annotations

from .bench import Buffer
from .checks import Make, SOON, SUCCESS, alive, among, check, ended, errors, over, same


@check()
def pd_in_use(make: Make) -> None:
    """A PD that something refers to is not deallocated, and stays (5.2.2)."""
    pair = make(join=False)
    agent, end = pair.agent, pair.left
    for kind, call, params in (
            ("qp", "CreateQp", {"send_cq": end.scq, "recv_cq": end.rcq, "sq_size": 4, "rq_size": 4, "sq_sges": 1, "rq_sges": 1}),
            ("mr", "RegisterMr", {"mem": pair.source.mem, "access": []}), ("mw", "AllocateMw", {"type": 2}),
            ("srq", "CreateSrq", {"size": 4, "sges": 1})):
        pd = agent.verb("AllocatePd", rnic=end.rnic)["pd"]
        made = agent.call(f"verbs.{call}", pd=pd, **params)
        if made["return"] != "success":
            continue
        agent.refused("DeallocatePd", pd=pd)
        agent.verb("RegisterMr", pd=pd, mem=pair.sink.mem, access=["LOCAL_WRITE"])
        gone = {"qp": "DestroyQp", "mr": "DeregisterMr", "mw": "DeallocateMw", "srq": "DestroySrq"}[kind]
        agent.verb(gone, **{kind: made[kind]})
    spare = agent.verb("AllocatePd", rnic=end.rnic)["pd"]
    agent.verb("DeallocatePd", pd=spare)


@check()
def pd_shared(make: Make) -> None:
    """Several QPs and MRs share a PD; several QPs share a CQ, and one CQ serves both queues (5.2, 5.3)."""
    pair = make(join=False)
    agent, end = pair.agent, pair.left
    for _ in range(3):
        agent.verb("CreateQp", pd=end.pd, send_cq=end.scq, recv_cq=end.scq, sq_size=4, rq_size=8, sq_sges=1, rq_sges=1)
        Buffer(agent, end.pd)


@check()
def cq_sizes(make: Make) -> None:
    """At least what was asked for, and an error beyond the limit (5.3.1); Query CQ tells the same (5.3.2)."""
    pair = make(join=False)
    agent, rnic = pair.agent, pair.left.rnic
    top = agent.verb("QueryRnic", rnic=rnic)["attributes"]["max_cqe"]
    made = agent.verb("CreateCq", rnic=rnic, entries=5)
    assert made["entries"] >= 5
    same(agent.verb("QueryCq", cq=made["cq"])["entries"], made["entries"])
    agent.refused("CreateCq", rnic=rnic, entries=top + 1)
    agent.verb("CreateCq", rnic=rnic, entries=top)
    none = agent.call("verbs.CreateCq", rnic=rnic, entries=0)
    assert none["return"] != "success" or none["entries"] > 0, none


@check()
def cq_holds_what_it_says(make: Make) -> None:
    """So many WCs as entries were told are held."""
    pair = make()
    agent, end = pair.agent, pair.left
    made = agent.verb("CreateCq", rnic=end.rnic, entries=6)
    qp = agent.verb("CreateQp", pd=end.pd, send_cq=made["cq"], recv_cq=made["cq"], sq_size=16, rq_size=16, sq_sges=1,
                    rq_sges=1)["qp"]
    if pair.agent.flavour == "ib":
        agent.verb("ModifyQp", qp=qp, state="INIT", port_num=1, pkey_index=0, access=[])
    posts = min(made["entries"], 16)
    agent.verb("PostRq", qp=qp, wrs=[{"wr_id": "0" * 16, "sges": [], "times": posts}])
    agent.verb("ModifyQp", qp=qp, state="ERR")
    same(len(end.poll(made["cq"], posts, 0.3)), posts)


@check()
def cq_in_use(make: Make) -> None:
    """A CQ that a queue uses is not destroyed and goes on working (5.3.4)."""
    pair = make()
    pair.agent.refused("DestroyCq", cq=pair.left.scq)
    alive(pair)
    pair.agent.verb("DestroyQp", qp=pair.left.qp)
    most = pair.agent.verb("QueryRnic", rnic=pair.left.rnic)["attributes"]["max_sge"]
    pair.agent.refused("CreateQp", pd=pair.left.pd, send_cq=pair.left.scq, recv_cq=pair.left.scq, sq_size=4, rq_size=4,
                       sq_sges=most + 1, rq_sges=1)
    pair.agent.verb("DestroyCq", cq=pair.left.scq)


@check()
def cq_resized(make: Make) -> None:
    """A resize loses no WC and breaks nothing, and is refused below what is held (5.3.3)."""
    pair = make()
    agent, left = pair.agent, pair.left
    if not agent.call("hello", protocol=2)["pics"]["resize_cq"]:
        return
    pair.right.receive([pair.sink.sge(8)], 1, 6)
    for index in range(6):
        left.post("SEND", [pair.source.sge(8)], 10 + index)
    agent.rest(SOON)
    agent.refused("ResizeCq", cq=left.scq, entries=3)
    agent.verb("RequestNotification", cq=left.scq, solicited=False)
    entries = agent.verb("ResizeCq", cq=left.scq, entries=9)["entries"]
    assert entries >= 9
    same(agent.verb("QueryCq", cq=left.scq)["entries"], entries)
    same(left.sent(6), [(10 + index, SUCCESS) for index in range(6)])
    same(errors(agent), [])
    pair.right.received(6)
    alive(pair)
    same(agent.verb("GetEvent", handler=left.handler, Timeout=100_000)["cq"], left.scq)


@check()
def cq_overflow_stays(make: Make) -> None:
    """The overflow of a CQ leaves other CQs and QPs alone (5.3.1)."""
    pair = make()
    agent, end = pair.agent, pair.left
    made = agent.verb("CreateCq", rnic=end.rnic, entries=2)
    qp = agent.verb("CreateQp", pd=end.pd, send_cq=made["cq"], recv_cq=made["cq"], sq_size=16, rq_size=16, sq_sges=1,
                    rq_sges=1)["qp"]
    if agent.flavour == "ib":
        agent.verb("ModifyQp", qp=qp, state="INIT", port_num=1, pkey_index=0, access=[])
    agent.verb("PostRq", qp=qp, wrs=[{"wr_id": "0" * 16, "sges": [], "times": 16}])
    agent.verb("ModifyQp", qp=qp, state="ERR")
    agent.rest(SOON)
    alive(pair)


# QPs (6.1)


@check()
def qp_sizes(make: Make) -> None:
    """Sizes are at least those asked for; too many SGEs are refused; every QP has an ID of its own (6.1.1, 8.1.3.2)."""
    pair = make(join=False)
    agent, end = pair.agent, pair.left
    attributes = agent.verb("QueryRnic", rnic=end.rnic)["attributes"]
    common = {"pd": end.pd, "send_cq": end.scq, "recv_cq": end.rcq}
    made = agent.verb("CreateQp", sq_size=7, rq_size=11, sq_sges=4, rq_sges=4, **common)
    assert made["cap"]["sq_size"] >= 7 and made["cap"]["rq_size"] >= 11, made
    assert made["cap"]["sq_sges"] >= 4 and made["cap"]["rq_sges"] >= 4, made
    asked = agent.verb("QueryQp", qp=made["qp"])
    same(asked["cap"]["sq_size"], made["cap"]["sq_size"])
    same((asked["send_cq"], asked["recv_cq"], asked["pd"]), (end.scq, end.rcq, end.pd))
    agent.refused("CreateQp", sq_size=4, rq_size=4, sq_sges=attributes["max_sge"] + 1, rq_sges=1, **common)
    other = agent.verb("CreateQp", sq_size=4, rq_size=4, sq_sges=1, rq_sges=1, **common)
    assert len({made["qp_num"], other["qp_num"], pair.left.qp_num, pair.right.qp_num}) == 4
    among(asked["state"], ("RESET", "INIT"))


@check()
def limits_are_true(make: Make) -> None:
    """What Query RNIC tells can be had (5.1.3, 6.5, 8.1.3.2)."""
    pair = make(join=False)
    agent, end = pair.agent, pair.left
    told_of = agent.verb("QueryRnic", rnic=end.rnic)["attributes"]
    pics = agent.call("hello", protocol=2)["pics"]
    common = {"pd": end.pd, "send_cq": end.scq, "recv_cq": end.rcq}
    assert told_of["max_sge"] >= 4 and told_of["max_pd"] > 0
    agent.verb("CreateQp", sq_size=told_of["max_qp_wr"], rq_size=told_of["max_qp_wr"], sq_sges=told_of["max_sge"],
               rq_sges=told_of["max_sge"], **common)
    agent.verb("CreateCq", rnic=end.rnic, entries=told_of["max_cqe"])
    if pair.agent.server.model.choose.beyond == "refused":
        agent.refused("CreateQp", sq_size=told_of["max_qp_wr"] + 1, rq_size=1, sq_sges=1, rq_sges=1, **common)
    same((told_of["max_srq"] > 0, told_of["max_srq_wr"] > 0), (pics["srq"], pics["srq"]))
    same(told_of["max_qp_rd_atom"] > 0, told_of["max_qp_init_rd_atom"] > 0)
    assert told_of["max_res_rd_atom"] == 0 or told_of["max_res_rd_atom"] >= told_of["max_qp"] or not told_of["max_qp_rd_atom"]


@check()
def full_queues(make: Make) -> None:
    """A queue takes as many WRs as were granted, and the next is refused, also while WCs are unpolled (8.2.1)."""
    pair = make()
    left, right = pair.left, pair.right
    sends, receives = left.cap["sq_size"], right.cap["rq_size"]
    same(right.receive([pair.sink.sge(1)] * (right.cap["rq_sges"] + 1), 98)["return"], "immediate-error")
    same(right.receive([pair.sink.sge(8)], 1, receives)["return"], "success")
    same(right.receive([pair.sink.sge(8)], 99)["return"], "immediate-error")
    for index in range(sends):
        same(left.post("RDMA_WRITE", [pair.source.sge(8)], index, remote=pair.sink.remote())["return"], "success")
    pair.agent.rest(SOON)
    same(left.post("RDMA_WRITE", [pair.source.sge(8)], 99, remote=pair.sink.remote())["return"], "immediate-error")
    same(left.sent(), [(0, SUCCESS)])
    same(left.post("RDMA_WRITE", [pair.source.sge(8)], sends, remote=pair.sink.remote())["return"], "success")
    same(left.sent(sends), [(index, SUCCESS) for index in range(1, sends + 1)])
    same(left.post("RDMA_WRITE", [pair.source.sge(8)], 1, remote=pair.sink.remote())["return"], "success")


@check()
def destroyed_any_time(make: Make) -> None:
    """A QP goes in every state and with work; nothing completes after that, and the peer hears of it (6.1.4)."""
    pair = make()
    agent, right = pair.agent, pair.right
    right.receive([pair.sink.sge(8)], 1, 3)
    agent.verb("DestroyQp", qp=right.qp)
    while right.received(3, 0):
        pass
    same(right.received(3, SOON), [])
    if agent.flavour == "iwarp":
        assert over(pair, pair.left), "the peer was not told"
        ended(pair, pair.left)
    pair.left.to("ERR")
    agent.verb("DestroyQp", qp=pair.left.qp)


@check()
def modify_all_or_nothing(make: Make) -> None:
    """One bad attribute, and nothing has changed (6.1.3)."""
    pair = make()
    before = pair.agent.verb("QueryQp", qp=pair.left.qp)["attributes"]["max_rd_atomic"]
    assert before != 2
    pair.agent.refused("ModifyQp", qp=pair.left.qp, max_rd_atomic=2, max_dest_rd_atomic=9999)
    same(pair.agent.verb("QueryQp", qp=pair.left.qp)["attributes"]["max_rd_atomic"], before)
    pair.agent.refused("ModifyQp", qp=pair.left.qp, state="RTR")
    alive(pair)
    if pair.agent.flavour == "ib":
        pair.left.to("RESET")
        pair.agent.refused("ModifyQp", qp=pair.left.qp, state="INIT")
        same(pair.left.state(), "RESET")


@check()
def ord_reduced(make: Make) -> None:
    """ORD can be reduced in RTS, and RTS to RTS is allowed (6.5, 6.2.2.1)."""
    pair = make()
    if pair.agent.verb("QueryQp", qp=pair.left.qp)["attributes"]["max_rd_atomic"] > 1:
        pair.agent.verb("ModifyQp", qp=pair.left.qp, max_rd_atomic=1)
        same(pair.agent.verb("QueryQp", qp=pair.left.qp)["attributes"]["max_rd_atomic"], 1)
    pair.agent.refused("ModifyQp", qp=pair.left.qp, max_rd_atomic=9999)
    same(pair.left.to("RTS")["return"], "success")
    alive(pair)
