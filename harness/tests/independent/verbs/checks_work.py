"""Checks: Work Requests (8.1, 8.2)."""

from __future__ import annotations

from typing import Any, List

from .bench import Answer, Buffer
from .checks import (FLUSHED, LOCAL, Make, ORD, SHORT, SOON, SUCCESS, alive, among, check, ended, errors, failing, one_error, over,
                     reads, same, told)


@check()
def messages(make: Make) -> None:
    """A Send uses one Receive and tells its length, also in parts, and more Sends keep their order (8.1.2.1, 8.2.2)."""
    pair = make()
    left, right, agent = pair.left, pair.right, pair.agent
    for index in range(5):
        right.receive([pair.sink.sge(20, 40 * index), pair.sink.sge(20, 40 * index + 20)], (1 << 40) + index)
    for index in range(4):
        pair.source.put(f"{index:02x}" * 30 + "ee")
        left.post("SEND", [pair.source.sge(10), pair.source.sge(10, 10), pair.source.sge(8, 20), pair.source.sge(3, 28)],
                  (1 << 50) + index)
        same(left.poll(left.scq)[0]["opcode"], "SEND")
    wcs = right.poll(right.rcq, 4)
    same([int(wc["wr_id"], 16) for wc in wcs], [(1 << 40) + index for index in range(4)])
    same([wc["status"] for wc in wcs], [SUCCESS] * 4)
    same([wc["byte_len"] for wc in wcs], [31] * 4)
    same([wc["qp_num"] for wc in wcs], [right.qp_num] * 4)
    same({wc["opcode"] for wc in wcs}, {"RECV"})
    for index in range(4):
        same(pair.sink.get(40, 40 * index), f"{index:02x}" * 30 + "ee" + "00" * 9)
    same(right.received(1, SOON), [])
    same(errors(agent), [])


@check()
def wr_ids_of_64_bits(make: Make) -> None:
    """The WR ID comes back whole (9.3.2.1)."""
    pair = make()
    pair.right.receive([pair.sink.sge(8)], 0xfedcba9876543210)
    pair.left.post("SEND", [pair.source.sge(8)], 0x123456789abcdef0)
    same(pair.left.sent(), [(0x123456789abcdef0, SUCCESS)])
    same(pair.right.received(), [(0xfedcba9876543210, SUCCESS)])


@check()
def gathered(make: Make) -> None:
    """The order of the list is the order of the bytes, at both ends (8.1.3.2)."""
    pair = make()
    pair.source.put("0102030405060708")
    pair.right.receive([pair.sink.sge(3, 10), pair.sink.sge(5, 20)], 1)
    pair.left.post("SEND", [pair.source.sge(2, 4), pair.source.sge(4)], 1)
    pair.left.sent()
    pair.right.received()
    same((pair.sink.get(3, 10), pair.sink.get(5, 20)), ("050601", "0203040000"))


@check()
def writes_and_reads(make: Make) -> None:
    """Writes and Reads move what they are to move and use no Receive (8.1.2.2); WCs have the operation (9.3.2.1)."""
    pair = make()
    left = pair.left
    pair.right.receive([pair.sink.sge(8)], 3)
    pair.right.receive([pair.sink.sge(8, 8)], 4)
    pair.source.put("0a0b0c0d")
    left.post("RDMA_WRITE", [pair.source.sge(4)], 1, remote=pair.sink.remote(33))
    wc = left.poll(left.scq)[0]
    same((wc["status"], wc["opcode"], wc["qp_num"]), (SUCCESS, "RDMA_WRITE", left.qp_num))
    pair.agent.until(lambda: pair.sink.get(6, 32) == "000a0b0c0d00", 0.1)
    same(pair.sink.get(6, 32), "000a0b0c0d00")
    if reads(pair):
        pair.sink.put("f1f2f3f4", 100)
        left.post("RDMA_READ", [pair.source.sge(4, 65)], 2, remote=pair.sink.remote(100))
        wc = left.poll(left.scq)[0]
        same((wc["status"], wc["opcode"]), (SUCCESS, "RDMA_READ"))
        same(pair.source.get(6, 64), "a1f1f2f3f4a1")
    same(pair.right.received(1, SOON), [])
    alive_first = pair.left.post("SEND", [pair.source.sge(4)], 9)
    same(alive_first["return"], "success")
    same(pair.right.received(), [(3, SUCCESS)])


@check()
def empty_messages(make: Make) -> None:
    """Length zero is possible, and its STags are looked at nowhere (8.1.3.2, 7.6.3)."""
    pair = make()
    left, nowhere = pair.left, {"addr": "0000000000000001", "lkey": 0x12345678, "length": 0}
    pair.right.receive([nowhere], 1)
    left.post("SEND", [nowhere], 2)
    same(left.sent(), [(2, SUCCESS)])
    same(pair.right.received(), [(1, SUCCESS)])
    left.post("RDMA_WRITE", [nowhere], 3, remote={"addr": "0" * 16, "rkey": 0x77})
    same(left.sent(), [(3, SUCCESS)])
    if reads(pair):
        left.post("RDMA_READ", [nowhere], 4, remote={"addr": "0" * 16, "rkey": 0x77})
        same(left.sent(), [(4, SUCCESS)])
    alive(pair)


@check()
def lists(make: Make) -> None:
    """A list is posted in order up to the first bad WR; the count is told (8.2.1)."""
    pair = make()
    pair.right.receive([pair.sink.sge(8)], 1, 6)
    good = [{"wr_id": f"{index:016x}", "opcode": "SEND", "sges": [pair.source.sge(4)],
             "flags": ["SIGNALED"]} for index in range(1, 5)]
    same(pair.agent.verb("PostSq", qp=pair.left.qp, wrs=good)["posted"], 4)
    same(pair.left.sent(4), [(index, SUCCESS) for index in range(1, 5)])
    bad = dict(good[0], sges=[pair.source.sge(1)] * 5, wr_id=f"{9:016x}")
    if pair.left.cap["sq_sges"] == 4:
        same(pair.agent.refused("PostSq", qp=pair.left.qp, wrs=[*good[:2], bad, good[2]])["posted"], 2)
        same(pair.left.sent(3, 0.05), [(1, SUCCESS), (2, SUCCESS)])
    ids = [{"wr_id": f"{index:016x}", "sges": [pair.sink.sge(8)]} for index in (21, 22, 23)]
    same(pair.agent.verb("PostRq", qp=pair.right.qp, wrs=ids)["posted"], 3)


@check()
def operation_that_is_not_there(make: Make) -> None:
    """It is refused, or ends in an error that says so (9.3.1.1, B54)."""
    pair = make()
    made = pair.left.post("ATOMIC_FETCH_AND_ADD", [pair.source.sge(8)], 3, remote=pair.sink.remote())
    if made["return"] == "success":
        same([status in ("LOC_QP_OP_ERR", "GENERAL_ERR") for _, status in pair.left.sent()], [True])


@check()
def unsignaled(make: Make) -> None:
    """An unsignaled WR gives a WC in error alone, and its room comes back (8.1.3.1, 8.2.1)."""
    pair = make()
    left, sends = pair.left, pair.left.cap["sq_size"]
    for turn in range(3):
        for index in range(sends - 1):
            same(left.post("RDMA_WRITE", [pair.source.sge(4)], index, (), remote=pair.sink.remote())["return"], "success")
        same(left.post("RDMA_WRITE", [pair.source.sge(4)], 1000 + turn, remote=pair.sink.remote())["return"], "success")
        same(left.sent(), [(1000 + turn, SUCCESS)])
    same(left.sent(1, SOON), [])
    left.receive([pair.source.sge(4)], 5)
    bad = {"addr": "0" * 16, "lkey": 0, "length": 4}
    wrs: List[Answer] = [{"wr_id": f"{1:016x}", "opcode": "SEND", "sges": [bad], "flags": []},
                         {"wr_id": f"{2:016x}", "opcode": "SEND", "sges": [pair.source.sge(4)], "flags": []}]
    if pair.agent.call("verbs.PostSq", qp=left.qp, wrs=wrs)["return"] == "success":
        seen = left.sent(2)
        same([wr_id for wr_id, _ in seen], [1, 2])
        among(seen[0][1], LOCAL)
        same(seen[1][1], FLUSHED)


@check()
def order(make: Make) -> None:
    """WCs of one queue come in posting order, whatever is quicker; one for each WR (8.2.2, 8.2.4)."""
    pair = make(settings_also=("irrq=late",))
    left = pair.left
    pair.right.receive([pair.sink.sge(8, 128)], 1, 4)
    kinds = ["RDMA_READ", "RDMA_WRITE", "SEND", "RDMA_READ", "SEND", "RDMA_WRITE"] if reads(pair) else ["RDMA_WRITE", "SEND"] * 2
    for index, kind in enumerate(kinds):
        remote = {} if kind == "SEND" else {"remote": pair.sink.remote(8 * index)}
        left.post(kind, [pair.source.sge(8, 8 * index)], index, **remote)
    same(left.sent(len(kinds)), [(index, SUCCESS) for index in range(len(kinds))])
    sends = kinds.count("SEND")
    same(pair.right.received(sends), [(1 + index, SUCCESS) for index in range(sends)])
    same(left.sent(1, SOON) + pair.right.received(1, SOON), [])


@check()
def read_after_write(make: Make) -> None:
    """A Read gives what an earlier Write of the same QP has put there; a Receive tells that earlier Writes are placed (8.2.2)."""
    pair = make()
    left = pair.left
    pair.right.receive([pair.sink.sge(8, 200)], 1)
    pair.source.put("5a5b5c5d")
    left.post("RDMA_WRITE", [pair.source.sge(4)], 1, remote=pair.sink.remote(16))
    left.post("SEND", [pair.source.sge(4)], 2)
    same(pair.right.received(), [(1, SUCCESS)])
    same(pair.sink.get(4, 16), "5a5b5c5d")
    same(left.sent(2), [(1, SUCCESS), (2, SUCCESS)])
    if not reads(pair):
        return
    pair.source.put("6a6b6c6d")
    left.post("RDMA_WRITE", [pair.source.sge(4)], 3, remote=pair.sink.remote(24))
    left.post("RDMA_READ", [pair.source.sge(4, 80)], 4, remote=pair.sink.remote(24))
    same(left.sent(2), [(3, SUCCESS), (4, SUCCESS)])
    same(pair.source.get(4, 80), "6a6b6c6d")


@check()
def fences(make: Make) -> None:
    """A fenced Write waits for earlier Reads; a fenced Invalidate for everything (8.2.2.2)."""
    pair = make(settings_also=("irrq=late",))
    left, agent = pair.left, pair.agent
    if not reads(pair):
        return
    pair.sink.put("0102030405060708", 40)
    left.post("RDMA_READ", [pair.source.sge(8)], 1, remote=pair.sink.remote(40))
    left.post("RDMA_WRITE", [pair.source.sge(8, 100)], 2, ("SIGNALED", "FENCE"), remote=pair.sink.remote(40))
    same(left.sent(2), [(1, SUCCESS), (2, SUCCESS)])
    same(pair.source.get(8), "0102030405060708")
    if not agent.call("hello", protocol=2)["pics"]["local_inv"]:
        return
    extra = Buffer(agent, left.pd)
    left.post("RDMA_READ", [extra.sge(8)], 3, remote=pair.sink.remote())
    left.post("LOCAL_INV", [], 4, ("SIGNALED", "FENCE"), invalidate=extra.rkey)
    seen, wanted = left.sent(2), [(3, SUCCESS), (4, SUCCESS)]
    if agent.flavour == "ib" and seen[1:] != wanted[1:]:
        seen, wanted = seen[:1], wanted[:1]  # B106
    same(seen, wanted)


@check("iwarp")
def fenced_invalidations(make: Make) -> None:
    """A fenced Invalidate waits for a Write out of the region; a fenced Send with Invalidate for a Read of it (8.2.2.2)."""
    pair = make(settings_also=("sources=late",))
    left, agent = pair.left, pair.agent
    pics = agent.call("hello", protocol=2)["pics"]
    if pics["local_inv"]:
        extra = Buffer(agent, left.pd)
        left.post("RDMA_WRITE", [extra.sge(8)], 1, remote=pair.sink.remote())
        left.post("LOCAL_INV", [], 2, ("SIGNALED", "FENCE"), invalidate=extra.rkey)
        same(left.sent() + left.sent(), [(1, SUCCESS), (2, SUCCESS)])
    pair = make(settings_also=("irrq=late",))
    left, right = pair.left, pair.right
    if pics["send_with_inv"] and reads(pair):
        theirs = Buffer(pair.agent, right.pd)
        right.receive([pair.sink.sge(8)], 3)
        left.post("RDMA_READ", [pair.source.sge(8)], 4, remote=theirs.remote())
        left.post("SEND_WITH_INV", [pair.source.sge(8, 40)], 5, ("SIGNALED", "FENCE"), invalidate=theirs.rkey)
        same(left.sent() + left.sent(), [(4, SUCCESS), (5, SUCCESS)])
        same(right.received(), [(3, SUCCESS)])


@check()
def read_limits(make: Make) -> None:
    """Reads beyond ORD wait and go on; ORD granted is not more than asked and not zero; ORD zero is an error (6.5, 8.2.2)."""
    pair = make(wish=(1, 1), settings_also=("irrq=late",))
    if not reads(pair):
        return
    top = pair.agent.verb("QueryRnic", rnic=pair.left.rnic)["attributes"]["max_qp_rd_atom"]
    left = pair.left
    same(pair.agent.verb("QueryQp", qp=left.qp)["attributes"]["max_rd_atomic"] or 1, 1)  # 0: not filled (B28)
    for index in range(6):
        same(left.post("RDMA_READ", [pair.source.sge(4, 4 * index)], index, remote=pair.sink.remote())["return"], "success")
    same(left.sent(6), [(index, SUCCESS) for index in range(6)])
    wide = make(join=False)
    wide.agent.refused("Connect", qp=wide.left.qp, address="127.0.0.1", port=9, ord=top + 1, ird=1)
    none = make(wish=(0, 0))
    found = none.left.post("RDMA_READ", [none.source.sge(4)], 1, remote=none.sink.remote())
    failing(none, none.left, found, ORD)


@check()
def too_long(make: Make) -> None:
    """A message that its Receive cannot hold is a Completion Error, and no byte passes the buffer (8.1.2.1)."""
    pair = make()
    right, left = pair.right, pair.left
    right.receive([pair.sink.sge(32, 64)], 4)
    right.receive([pair.sink.sge(32, 128)], 5)
    left.post("SEND", [pair.source.sge(40)], 1)
    seen = right.received(2)
    same([wr_id for wr_id, _ in seen], [4, 5])
    among(seen[0][1], SHORT)
    same(seen[1][1], FLUSHED)
    same(pair.sink.get(40, 96), "00" * 40)
    ended(pair, left)
    if pair.agent.flavour == "iwarp":
        same(errors(pair.agent, qp=right.qp), [])
        assert over(pair, left), "the peer was not told"
    else:
        among(left.sent()[0][1], {"REM_OP_ERR", "REM_INV_REQ_ERR"})


@check()
def empty_queue(make: Make) -> None:
    """No Receive: the stream ends and tells it, or waits; nothing is lost behind its back (8.1.2.1, 13.2)."""
    pair = make()
    left, right = pair.left, pair.right
    left.post("SEND", [pair.source.sge(8)], 1)
    pair.agent.rest(0.005)
    if pair.agent.flavour == "iwarp" and right.state() != "RTS":
        assert told(pair, right), "no event at the receiver"
        ended(pair, left)
        return
    same(right.receive([pair.sink.sge(8)], 7)["return"], "success")
    same(right.received(), [(7, SUCCESS)])
    same(left.sent(), [(1, SUCCESS)])
    same(pair.sink.get(8), "a1" * 8)


@check("ib")
def never_a_receive(make: Make) -> None:
    """ib: RNR retries are exhausted, or go on."""
    pair = make()
    pair.left.post("SEND", [pair.source.sge(8)], 1)
    among(pair.left.sent(1, 0.1), ([], [(1, "RNR_RETRY_EXC_ERR")]))


@check()
def errors_in_the_middle(make: Make) -> None:
    """One WC in error, all behind flushed, all ahead done or flushed, the RQ flushed, no event besides (6.2.4, 8.1.3.1)."""
    pair = make(settings_also=("irrq=late",))
    left = pair.left
    left.receive([pair.source.sge(4)], 50, 3)
    pair.right.receive([pair.sink.sge(16)], 60, 6)
    bad = {"addr": "0000000000001000", "lkey": 0xdead00, "length": 4}
    kinds: List[Any] = [("RDMA_READ", [pair.source.sge(4)])] if reads(pair) else []
    kinds += [("SEND", [pair.source.sge(4)]), ("SEND", [bad]), ("SEND", [pair.source.sge(4)]), ("SEND", [pair.source.sge(4)])]
    wrs = [{"wr_id": f"{index:016x}", "opcode": kind, "sges": sges, "flags": ["SIGNALED"],
            **({"remote": pair.sink.remote()} if kind == "RDMA_READ" else {})} for index, (kind, sges) in enumerate(kinds)]
    posted = pair.agent.call("verbs.PostSq", qp=left.qp, wrs=wrs)
    if posted["return"] != "success":
        return
    seen = left.sent(len(kinds))
    same([wr_id for wr_id, _ in seen], list(range(len(kinds))))
    at = len(kinds) - 3
    among(seen[at][1], LOCAL)
    same([status for _, status in seen[at + 1:]], [FLUSHED, FLUSHED])
    for _, status in seen[:at]:
        among(status, (SUCCESS, FLUSHED))
    receives = left.received(3)
    same(receives, [(50, FLUSHED), (51, FLUSHED), (52, FLUSHED)])
    one_error(seen + receives)
    same(left.sent(1, SOON) + left.received(1, SOON), [])
    ended(pair, left)
    assert sum(status == SUCCESS for _, status in pair.right.received(6, 0.05)) <= at + 1
    if pair.agent.flavour == "iwarp":
        same(errors(pair.agent, qp=left.qp), [])
        assert over(pair, pair.right), "the peer was not told"
