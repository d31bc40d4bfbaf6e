"""Tries on the model what the specification demands of a provider: a sound one passes in every legal variant, a faulty one fails.

Each check is written from a clause; none of them is a case of the suite, and none looks into the model.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable, Dict, List, Tuple

from .bench import Agent, Answer, Buffer, End, Pair

Make = Callable[..., Pair]
Check = Callable[[Make], None]
CHECKS: Dict[str, Tuple[Tuple[str, ...], Check]] = {}
FLUSHED, SUCCESS = "WR_FLUSH_ERR", "SUCCESS"
LOCAL = {"LOC_PROT_ERR", "LOC_ACCESS_ERR", "LOC_QP_OP_ERR", "LOC_LEN_ERR", "GENERAL_ERR", "FATAL_ERR"}
SHORT = {"LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_PROT_ERR", "REM_INV_REQ_ERR", "GENERAL_ERR"}
BIND = {"MW_BIND_ERR", "LOC_PROT_ERR", "LOC_ACCESS_ERR", "LOC_QP_OP_ERR"}
INVALIDATE = BIND | {"GENERAL_ERR"}
SINK = {"LOC_PROT_ERR", "LOC_ACCESS_ERR", "LOC_QP_OP_ERR", "REM_ACCESS_ERR", "GENERAL_ERR", FLUSHED}
REMOTE_IB = {"REM_ACCESS_ERR", "REM_OP_ERR", "REM_INV_REQ_ERR"}
REMOTE_IWARP = {SUCCESS, FLUSHED, "REM_ACCESS_ERR", "REM_OP_ERR", "REM_ABORT_ERR", "RETRY_EXC_ERR", "GENERAL_ERR", "FATAL_ERR"}
ORD = {"LOC_QP_OP_ERR", "REM_INV_RD_REQ_ERR", "REM_INV_REQ_ERR", "GENERAL_ERR"}
TARGET = ("QP_ACCESS_ERR", "QP_REQ_ERR", "QP_FATAL")
SOON = 0.03


def check(*flavours: str) -> Callable[[Check], Check]:
    """Register a check; without words it is for both flavours."""
    def keep(function: Check) -> Check:
        CHECKS[function.__name__] = (flavours or ("iwarp", "ib"), function)
        return function
    return keep


# Helpers


def same(found: Any, wanted: Any) -> None:
    """They are equal."""
    assert found == wanted, f"{found} is not {wanted}"


def among(found: Any, wanted: Any) -> None:
    """It is one of them."""
    assert found in wanted, f"{found} is none of {sorted(map(str, wanted))}"


def ended(pair: Pair, end: End) -> None:
    """The stream of this QP is over: a new Receive is flushed or refused."""
    found = end.receive([pair.sink.sge(8) if end is pair.right else pair.source.sge(8)], 0x77)
    if found["return"] == "success":
        seen: List[Any] = []

        def flushed() -> bool:
            seen.extend(end.received(64, 0))
            return (0x77, FLUSHED) in seen
        assert pair.agent.until(flushed, 0.4), f"a Receive after the end: {seen}"


def alive(pair: Pair, left: Any = None, right: Any = None) -> None:
    """The stream works: a message passes."""
    left, right = left or pair.left, right or pair.right
    memory = Buffer(pair.agent, right.pd)
    source = Buffer(pair.agent, left.pd, fill="c3")
    same(right.receive([memory.sge(16)], 0x55)["return"], "success")
    same(left.post("SEND", [source.sge(16)], 0x56)["return"], "success")
    same(left.sent(), [(0x56, SUCCESS)])
    same(right.received(), [(0x55, SUCCESS)])
    same(memory.get(16), "c3" * 16)


def told(pair: Pair, end: End, words: Any = TARGET) -> bool:
    """An asynchronous event names this QP."""
    return pair.agent.until(lambda: any(event["event"] in words for event in pair.agent.events("async", qp=end.qp)), 0.3)


def errors(agent: Agent, **members: Any) -> List[Answer]:
    """The events that tell an error."""
    return [event for event in agent.events("async", **members) if event["event"] in TARGET]


def over(pair: Pair, end: End) -> bool:
    """An event of either kind tells the end of this QP's stream."""
    def seen() -> bool:
        return bool(pair.agent.events("cm", event="DISCONNECTED", qp=end.qp)) or any(
            event["event"] in TARGET for event in pair.agent.events("async", qp=end.qp))
    return pair.agent.until(seen, 0.3)


def one_error(found: List[Any]) -> None:
    """At most one WC has another status than success and flushed."""
    assert sum(status not in (SUCCESS, FLUSHED) for _, status in found) <= 1, found


def failing(pair: Pair, end: End, found: Answer, statuses: Any, wr_id: int = 1) -> None:
    """A WR that has to fail: refused, or the WC says why."""
    if found["return"] == "success":
        same_id, status = (end.sent() or [(None, "no WC")])[0]
        same(same_id, wr_id)
        among(status, statuses)
        ended(pair, end)


def refused_access(make: Make, how: Callable[[Pair], Answer], untouched: bool = True, read: bool = False) -> None:
    """An access that the target refuses: no byte moves, the stream ends, and the right end hears of it (7.4.2, 8.3.3, B44, B53)."""
    pair = make()
    pair.source.put("5c" * 16)
    before = (pair.sink.get(256), pair.source.get(256))
    found = how(pair)
    same(found["return"], "success")
    seen = pair.left.sent()
    if seen:
        among(seen[0][1], REMOTE_IB if pair.agent.flavour == "ib" else REMOTE_IWARP - ({SUCCESS} if read else set()))
    elif pair.agent.flavour == "ib" or read:
        raise AssertionError("no WC")
    if pair.agent.flavour == "iwarp":
        assert told(pair, pair.right), "no event at the target"
        ended(pair, pair.right)
    ended(pair, pair.left)
    if untouched:
        same((pair.sink.get(256), pair.source.get(256)), before)


def reads(pair: Pair) -> bool:
    """Does this provider do RDMA Reads."""
    return bool(pair.agent.verb("QueryRnic", rnic=pair.left.rnic)["attributes"]["max_qp_rd_atom"])


def every() -> Dict[str, Tuple[Tuple[str, ...], Check]]:
    """All checks."""
    for name in ("objects", "states", "work", "memory", "windows", "events", "srq"):
        importlib.import_module(f".checks_{name}", __package__)
    return CHECKS
